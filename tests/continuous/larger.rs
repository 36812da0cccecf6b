//! Tables of 60 to 400 rows against the search over all tests: some wrong bounds show on no smaller ones.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lattree::budget::Limits;
use lattree::data::{Binarizer, Thresholds};
use lattree::optimal::{Engine, Params, Rank};

use crate::common::{Random, for_seeds};
use crate::tables::{Size, random_cuts};
use crate::{check_proved, continuous, offered, random_params, run};

#[test]
fn equals_the_search_over_all_tests() {
    let (problems, imperfect) = (AtomicU64::new(0), AtomicU64::new(0));
    for_seeds(400, |seed| {
        let mut random = Random::new(12_000_000 + seed);
        let columns = *random.pick(&[(2, 2), (2, 4), (3, 6)]);
        let values = *random.pick(&[(1, 60), (40, 100), (60, 200), (100, 400)]);
        let size = Size { rows: (60, *random.pick(&[100, 200, 400])), columns, values };
        let data = random_cuts(&mut random, size);
        let mut params = random_params(&mut random, &[2, 3, 3, 3, 4]);
        params.min_leaf = *random.pick(&[1, 1, 1, 2, 5, 20]);
        let Ok(tests) = offered(&data, &params.binarizer) else { return };
        params.max_depth = params.max_depth.min(affordable(tests.len()));
        let reference = run(&data, &params).expect("a good table");
        for params in continuous(&mut random, &params) {
            let outcome = run(&data, &params).expect("a good table");
            check_proved(&outcome, &reference, &data, &params, &|| format!("seed {seed}, {params:?}\n{data:?}"));
        }
        problems.fetch_add(1, Relaxed);
        imperfect.fetch_add(u64::from(reference.objective > 0.0 && reference.tree.n_nodes() > 0), Relaxed);
    });
    println!("{imperfect:?} of {problems:?} have errors left");
    assert!(2 * imperfect.into_inner() > problems.into_inner(), "too few problems have errors left");
}

/// The greatest depth at which the search over so many tests takes a fraction of a second.
fn affordable(n_tests: usize) -> u32 {
    match n_tests {
        0..60 => 4,
        60..800 => 3,
        _ => 2,
    }
}

/// Depths beyond those that are solved directly. Without `min_leaf`: bounds are weaker under it, and such problems
/// would take minutes; brute force has some of depth five.
#[test]
fn equals_the_search_over_all_tests_at_greater_depth() {
    for_seeds(120, |seed| {
        let mut random = Random::new(13_000_000 + seed);
        let values = (1, *random.pick(&[2, 3, 4]));
        let data = random_cuts(&mut random, Size { rows: (20, 50), columns: (1, 5), values });
        let params = random_params(&mut random, &[4, 5, 6]);
        let max_nodes = random.chance(50).then(|| random.below(20));
        let params = Params { max_nodes, min_leaf: 1, rank: Rank::Objective, ..params };
        let Ok(reference) = run(&data, &params) else { return };
        for params in continuous(&mut random, &params) {
            let outcome = run(&data, &params).expect("a good table");
            check_proved(&outcome, &reference, &data, &params, &|| format!("seed {seed}, {params:?}\n{data:?}"));
        }
    });
}

/// By default no threshold is left out, though there are more tests than `max_tests`.
#[test]
fn the_default_is_exact() {
    for_seeds(20, |seed| {
        let mut random = Random::new(18_000_000 + seed);
        let data = random_cuts(&mut random, Size { rows: (400, 500), columns: (5, 6), values: (400, 500) });
        let binarizer = Binarizer { thresholds: Thresholds::All, ..Binarizer::default() };
        let reference = Params { max_depth: 2, engine: Engine::Tests, binarizer, ..Params::default() };
        let tests = offered(&data, &reference.binarizer).expect("a good table");
        let expected = run(&data, &reference).expect("a good table");
        let say = || format!("seed {seed}, {} tests\n{data:?}", tests.len());
        for thresholds in [Thresholds::Auto, Thresholds::All] {
            let binarizer = Binarizer { thresholds, ..Binarizer::default() };
            let params = Params { engine: Engine::Auto, binarizer, ..reference.clone() };
            let outcome = run(&data, &params).expect("a good table");
            check_proved(&outcome, &expected, &data, &params, &say);
            // A test may be listed that repeats one of an earlier column.
            let mut listed = outcome.tests.list();
            listed.retain(|test| tests.contains(test));
            assert!(listed == tests, "{}", say());
        }
    });
}

/// Where memory does not hold all thresholds they are thinned, unless all are asked for; a limit of time keeps them.
#[test]
fn under_a_limit_thresholds_are_thinned_only_where_memory_does_not_hold_all() {
    let data =
        random_cuts(&mut Random::new(19_000_000), Size { rows: (2_000, 2_000), columns: (8, 8), values: (900, 2_000) });
    let little = Some(4_000_000);
    for (thresholds, memory, exact) in
        [(Thresholds::Auto, None, true), (Thresholds::Auto, little, false), (Thresholds::All, little, true)]
    {
        let binarizer = Binarizer { thresholds, ..Binarizer::default() };
        let limits = Limits { seconds: Some(0.5), memory, ..Limits::default() };
        let outcome =
            run(&data, &Params { max_depth: 10, binarizer, limits, ..Params::default() }).expect("a good table");
        assert_eq!(outcome.exact_thresholds, exact);
        assert_eq!(outcome.tests.list().len() <= Binarizer::default().max_tests, !exact);
        assert!(outcome.lower_bound <= outcome.tests_bound && outcome.tests_bound <= outcome.objective);
    }
}
