//! The binary engine against variants of itself, against the continuous one, which shares nothing with it but the
//! driver, and against the reference, where these end soon: on problems too large for the oracle, of depth 3 to 6 and
//! up to 200 rows.
//!
//! `LATTREE_PROBLEMS=100000 LATTREE_FIRST=0 cargo test --release --test engines -- --nocapture` runs as many problems
//! as wanted from a first seed on, and says how far it came: a run that was interrupted goes on from there.

mod common;

use common::{LEVELS, Random, for_seeds, random_numbers, variant};
use lattree::budget::Status;
use lattree::data::{Binarizer, Dataset, Thresholds};
use lattree::optimal::{Board, Engine, Outcome, Params, Rank, search};

fn run(data: &Dataset, params: &Params) -> Outcome {
    let checked = params.clone().checked().expect("good parameters");
    search(data, &checked, &checked.budget(), &Board::new()).expect("a good table")
}

#[test]
fn the_engines_agree() {
    for_seeds(1_500, |seed| {
        if seed.is_multiple_of(1_000) {
            println!("seeds below {seed} agree, but for those at work");
        }
        check_problem(seed);
    });
}

fn check_problem(seed: u64) {
    let mut random = Random::new(2_000_000 + seed);
    let data = random_numbers(&mut random);
    let max_depth = *random.pick(&[3, 3, 4, 4, 4, 5, 5, 6]);
    let params = Params {
        max_depth,
        max_nodes: random.chance(40).then(|| 1 + random.below(if max_depth == 6 { 12 } else { 20 })),
        min_leaf: *random.pick(&[1, 1, 1, 2, 5, 20]),
        node_penalty: *random.pick(&[0.0, 0.0, 0.0, 1.0, 0.3]),
        binarizer: Binarizer { thresholds: Thresholds::All, ..Binarizer::default() },
        threads: Some(1),
        engine: Engine::Tests,
        rank: *random.pick(&[Rank::Objective, Rank::Objective, Rank::ObjectiveThenNodes]),
        ..Params::default()
    };
    let expected = run(&data, &params);
    let levels = LEVELS.map(|n| random.below(n as u64) as usize);
    let mut others = vec![variant(levels, &params)];
    others[0].switches.reference = false;
    // The continuous engine takes long where trees are deep and leaves or nodes are limited.
    if max_depth == 3 || max_depth == 4 && params.min_leaf == 1 && params.max_nodes.is_none() {
        others.push(Params { engine: Engine::Continuous, ..params.clone() });
    }
    // The reference tries all trees.
    let (n_tests, n_rows) = (expected.tests.list().len() as u64, data.n_rows() as u64);
    if n_tests.pow(max_depth) * n_rows < 2_000_000 {
        others.push(variant(levels, &params));
        others.last_mut().expect("it was put there").switches.reference = true;
    }
    for params in others {
        let outcome = run(&data, &params);
        let say = || format!("seed {seed}, {params:?}\n{data:?}");
        assert_eq!(outcome.status, Status::Optimal, "{}", say());
        assert_eq!(outcome.objective, expected.objective, "{}", say());
        assert_eq!(outcome.lower_bound, expected.objective, "{}", say());
        assert_eq!(outcome.tree.to_json(), expected.tree.to_json(), "{}", say());
    }
}
