//! Tables of more classes than are looked at in pairs, and memory that does not hold what a search would keep.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lattree::budget::{Limits, Status};
use lattree::data::{Column, Dataset, Feature, Kind, Labels, NumericType, Schema, Target, TargetSchema, Task};
use lattree::optimal::{Engine, Params};

use crate::common::{Random, cost_of, for_seeds};
use crate::{check_proved, continuous, random_params, run};

/// Rows of random values below `n_values`, with classes that follow the first column but for noise, and are skewed or
/// not.
fn random_classes(random: &mut Random, n_rows: usize, n_columns: usize, n_values: u64, n_classes: u64) -> Dataset {
    let kind = || Kind::Continuous(NumericType::Integer);
    let feature = |column: usize| Feature { name: format!("x{column}"), kind: kind(), dtype: String::new() };
    let features = (0..n_columns).map(feature).collect();
    let task = Task::Classes(Labels::Integers((0..n_classes as i64).collect()));
    let target = Some(TargetSchema { name: "y".into(), task, dtype: String::new() });
    let columns: Vec<Vec<i64>> =
        (0..n_columns).map(|_| (0..n_rows).map(|_| random.below(n_values) as i64).collect()).collect();
    let (follows, skewed) = (random.chance(50), random.chance(50));
    let class = |row: usize| match follows && random.chance(70) {
        true => columns[0][row] as u64 * n_classes / n_values,
        false if skewed => random.below(n_classes).min(random.below(n_classes)).min(random.below(n_classes)),
        false => random.below(n_classes),
    };
    let classes: Vec<u32> = (0..n_rows).map(class).map(|class| class as u32).collect();
    let columns = columns.into_iter().map(|values| Column::Integers { values, missing: None }).collect();
    let schema = Schema { features, target }.checked().expect("distinct names");
    Dataset::new(schema.into(), columns, n_rows, Target::Classes(classes.into()), None, None).expect("a good table")
}

/// Stumps of all classes at once, and of pairs, are those of the search over all tests.
#[test]
fn fault_x1_many_classes_equal_the_search_over_all_tests() {
    for_seeds(200, |seed| {
        let mut random = Random::new(18_000_000 + seed);
        let (n_rows, n_columns) = (20 + random.below(60) as usize, 1 + random.below(4) as usize);
        let (n_values, n_classes) = (2 + random.below(12), *random.pick(&[3, 12, 22, 30, 70]));
        let data = random_classes(&mut random, n_rows, n_columns, n_values, n_classes);
        let reference = random_params(&mut random, &[1, 2, 2, 3, 3]);
        let expected = run(&data, &reference).expect("a good table");
        for params in continuous(&mut random, &reference) {
            let outcome = run(&data, &params).expect("a good table");
            check_proved(&outcome, &expected, &data, &params, &|| format!("seed {seed}, {params:?}\n{data:?}"));
        }
    });
}

/// From memory for next to nothing to enough: fewer columns and lists are kept, and the tree that is proved is the
/// same.
#[test]
fn fault_x1_what_is_kept_changes_no_tree() {
    let (proved, all) = (AtomicU64::new(0), AtomicU64::new(0));
    for_seeds(60, |seed| {
        let mut random = Random::new(19_000_000 + seed);
        let (n_columns, n_classes) = (*random.pick(&[3, 8, 20]), *random.pick(&[2, 3, 9, 30]));
        let data = random_classes(&mut random, 80, n_columns, 5, n_classes);
        let max_depth = *random.pick(&[2, 2, 3]);
        let params = Params { max_depth, engine: Engine::Continuous, threads: Some(1), ..Params::default() };
        let expected = run(&data, &params).expect("a good table");
        for memory in [40_000, 100_000, 150_000, 250_000, 400_000, 1_000_000] {
            let limits = Limits { memory: Some(memory), ..Limits::default() };
            let outcome = run(&data, &Params { limits, ..params.clone() }).expect("a good table");
            let say = || format!("seed {seed}, {memory} bytes\n{data:?}\n{outcome:?}");
            assert!(outcome.lower_bound <= expected.objective && expected.objective <= outcome.objective, "{}", say());
            if outcome.status == Status::Optimal {
                assert_eq!(outcome.tree.to_json(), expected.tree.to_json(), "{}", say());
                proved.fetch_add(1, Relaxed);
            } else {
                assert_eq!(outcome.status, Status::MemoryLimit, "{}", say());
            }
            all.fetch_add(1, Relaxed);
        }
    });
    println!("{proved:?} of {all:?} were proved");
    assert!(4 * proved.into_inner() > all.into_inner(), "hardly any were proved");
}

/// Three hundred classes took 5 GB where 50 MB were allowed, and a thousand one allocation of 12 GB.
#[test]
fn fault_x1_hundreds_of_classes_fit() {
    let mut random = Random::new(20_000_000);
    for (n_classes, memory, seconds) in [(300, 50_000_000, None), (1_000, 50_000_000, Some(0.5))] {
        let data = random_classes(&mut random, 1_000, 3, 1 << 40, n_classes);
        let limits = Limits { memory: Some(memory), seconds, ..Limits::default() };
        let params = Params { max_depth: 2, limits, engine: Engine::Continuous, ..Params::default() };
        let outcome = run(&data, &params).expect("a good table");
        assert!(matches!(outcome.status, Status::Optimal | Status::TimeLimit), "{outcome:?}");
        assert_eq!(outcome.status == Status::Optimal, outcome.lower_bound == outcome.objective);
        assert_eq!(cost_of(&data, &outcome, 0.0), outcome.objective);
        // Debug assertions and busy processors take their part.
        assert!(seconds.is_none() || outcome.seconds < 3.0, "{} s", outcome.seconds);
    }
}

/// Node budgets that bind at depth five and six.
#[test]
fn fault_x13_node_budgets_of_deep_trees_equal_the_search_over_all_tests() {
    for_seeds(30, |seed| {
        let mut random = Random::new(21_000_000 + seed);
        let (n_rows, n_columns) = (40 + random.below(100) as usize, 2 + random.below(5) as usize);
        let data = random_classes(&mut random, n_rows, n_columns, 2, 2);
        let (max_depth, nodes) = (*random.pick(&[5, 6]), 5 + random.below(9));
        let tests = Params { max_depth, max_nodes: Some(nodes), engine: Engine::Tests, ..Params::default() };
        let expected = run(&data, &tests).expect("a good table");
        let params = Params { engine: Engine::Continuous, ..tests };
        let outcome = run(&data, &params).expect("a good table");
        check_proved(&outcome, &expected, &data, &params, &|| format!("seed {seed}, {params:?}\n{data:?}"));
    });
}
