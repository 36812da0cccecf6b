//! Twenty thousand small problems against brute force.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use lattree::data::{Binarizer, Column, Dataset, Nominal, Target, Thresholds, Value};
use lattree::optimal::{Engine, Params, Rank};

use crate::brute::Brute;
use crate::common::{Random, for_seeds, random_table, shape_of, shown, tables};
use crate::tables::{Size, random_cuts};
use crate::{check_proved, continuous, offered, random_params, run};

/// How often each of these was met, by name.
type Seen = Mutex<BTreeMap<String, u64>>;

fn random_problem(random: &mut Random) -> Dataset {
    let values = (1, *random.pick(&[2, 3, 4, 6, 12, 64]));
    match random.below(20) {
        0 => random_table(random),
        1..=3 => tables::random_table(random, false),
        4 => random_cuts(random, Size { rows: (1, 8), columns: (1, 3), values }),
        5..=8 => random_cuts(random, Size { rows: (40, Brute::MOST_ROWS as u64), columns: (1, 3), values }),
        _ => random_cuts(random, Size { rows: (8, 40), columns: (1, 5), values }),
    }
}

/// The greatest depth up to `most` at which brute force takes milliseconds.
fn affordable(n_tests: usize, n_rows: usize, most: u32) -> u32 {
    let sets = |depth: u32| (n_tests as u64).pow(depth) * n_rows as u64;
    (0..=most).rev().find(|&depth| sets(depth) < if depth > 3 { 1_000_000 } else { 20_000_000 }).unwrap_or(0)
}

#[test]
fn equals_brute_force() {
    let seen = Seen::default();
    for_seeds(20_000, |seed| check_problem(seed, &seen));
    let seen = seen.into_inner().expect("no panic");
    println!("{seen:?}");
    if std::env::var("LATTREE_PROBLEMS").is_ok() {
        return;
    }
    // The random problems do grow trees of every size.
    let expected = (0..=8).map(|n| format!("{n} nodes")).chain((0..=5).map(|n| format!("depth {n}")));
    let asked = ["ranked", "min_leaf", "budget", "penalty", "weights", "refused"];
    let met = ["missing", "constant", "one class", "ties", "one row"];
    for name in expected.chain(asked.into_iter().chain(met).map(String::from)) {
        assert!(seen.get(&name).is_some_and(|&n| n >= 50), "{name}: {seen:?}");
    }
}

fn check_problem(seed: u64, seen: &Seen) {
    let mut random = Random::new(10_000_000 + seed);
    let data = random_problem(&mut random);
    let mut params = random_params(&mut random, &[0, 1, 2, 2, 2, 3, 3, 3, 3, 3, 4, 4, 4, 5]);
    let count = |name: String| *seen.lock().expect("no panic").entry(name).or_default() += 1;
    let tests = match offered(&data, &params.binarizer) {
        Ok(tests) => tests,
        Err(error) => {
            // No case, or too many levels for subsets: both searches say the same.
            for params in continuous(&mut random, &params).iter().chain([&params]) {
                assert_eq!(run(&data, params).expect_err("no search").to_string(), error.to_string(), "seed {seed}");
            }
            return count("refused".into());
        }
    };
    params.max_depth = affordable(tests.len(), data.n_rows(), params.max_depth);
    let say = || format!("seed {seed}, {params:?}\n{data:?}");
    let reference = run(&data, &params).expect("a good table");
    let mut brute = Brute::new(&data, &tests, reference.resolution, params.min_leaf, params.node_penalty);
    let rows = brute.rows();
    let costs = brute.costs(rows, params.max_depth);
    let most = params.max_nodes.map_or(costs.len() - 1, |n| (n as usize).min(costs.len() - 1));
    let nodes = match params.rank {
        Rank::Objective => most,
        Rank::ObjectiveThenNodes => costs.iter().position(|&cost| cost == costs[most]).expect("it is among them"),
    };
    let shape = brute.canonical(rows, params.max_depth, nodes);
    for params in continuous(&mut random, &params) {
        let say = || format!("seed {seed}, {params:?}\n{data:?}");
        let outcome = run(&data, &params).expect("a good table");
        assert_eq!(shown(costs[nodes], &outcome), outcome.objective, "{}", say());
        assert_eq!(shape_of(&outcome.tree, &tests, 0), shape, "{}", say());
        check_proved(&outcome, &reference, &data, &params, &say);
    }
    // Brute force has no bounds that could be wrong, the reference has: it may differ from neither.
    assert_eq!(shape_of(&reference.tree, &tests, 0), shape, "the reference, {}", say());
    kinds_of(&data).into_iter().for_each(|kind| count(kind.into()));
    let n_nodes = reference.tree.n_nodes();
    count(format!("{n_nodes} nodes"));
    count(format!("depth {}", params.max_depth));
    if n_nodes > 0 {
        let facts = [
            ("ranked", params.rank == Rank::ObjectiveThenNodes && nodes < most),
            ("min_leaf", params.min_leaf > 1),
            ("budget", most < costs.len() - 1 && costs[most] > *costs.last().expect("a cost")),
            ("penalty", params.node_penalty > 0.0),
            ("weights", data.weights().is_some()),
        ];
        facts.iter().filter(|(_, holds)| *holds).for_each(|(name, _)| count(name.to_string()));
    }
}

/// What is special about a table.
fn kinds_of(data: &Dataset) -> Vec<&'static str> {
    let Target::Classes(classes) = data.target() else { panic!("classes") };
    let rows: Vec<usize> = (0..data.n_rows()).filter(|&row| data.count(row) > 0).collect();
    let of_rows = |column: &Arc<Column>| rows.iter().map(|&row| column.value(row, u32::MAX)).collect();
    let cells: Vec<Vec<Value>> = data.columns().iter().map(of_rows).collect();
    let is_constant = |cells: &Vec<Value>| cells.iter().all(|cell| *cell == cells[0]);
    let has_ties = |cells: &Vec<Value>| {
        let ties = |i: usize, j: usize| cells[i] == cells[j] && classes[rows[i]] != classes[rows[j]];
        (0..rows.len()).any(|i| cells[i] != Value::Missing && (0..i).any(|j| ties(i, j)))
    };
    let kinds = [
        ("missing", cells.iter().flatten().any(|cell| *cell == Value::Missing)),
        ("constant", cells.iter().any(is_constant)),
        ("one class", rows.iter().all(|&row| classes[row] == classes[rows[0]])),
        ("ties", cells.iter().any(has_ties)),
        ("one row", rows.len() == 1),
    ];
    kinds.into_iter().filter(|(_, holds)| *holds).map(|(kind, _)| kind).collect()
}

/// `max_tests` is how many the search over tests would be offered; here none is left out.
#[test]
fn all_thresholds_whatever_the_number_of_tests() {
    for_seeds(200, |seed| {
        let mut random = Random::new(11_000_000 + seed);
        let data = random_cuts(&mut random, Size { rows: (20, 60), columns: (2, 4), values: (20, 60) });
        let reference = Params { max_depth: 2, node_penalty: 0.0, ..random_params(&mut random, &[2]) };
        let reference =
            Params { binarizer: Binarizer { nominal: Nominal::OneVsRest, ..reference.binarizer }, ..reference };
        let Ok(expected) = run(&data, &reference) else { return };
        for thresholds in [Thresholds::Auto, Thresholds::All] {
            let binarizer = Binarizer { thresholds, max_tests: 1, ..reference.binarizer.clone() };
            let params = Params { engine: Engine::Continuous, binarizer, ..reference.clone() };
            let outcome = run(&data, &params).expect("a good table");
            check_proved(&outcome, &expected, &data, &params, &|| format!("seed {seed}, {params:?}\n{data:?}"));
        }
    });
}

/// Thresholds that are not all are another engine's.
#[test]
fn fewer_thresholds_are_refused() {
    let thinned = [(Thresholds::Quantile, None), (Thresholds::Mdlp, None), (Thresholds::Auto, Some(3))];
    for (thresholds, max_thresholds) in thinned {
        let binarizer = Binarizer { thresholds, max_thresholds, ..Binarizer::default() };
        let params = Params { binarizer, ..Params::default() };
        let error = Params { engine: Engine::Continuous, ..params.clone() }.checked().expect_err("refused");
        assert!(error.to_string().contains("`engine`"), "{error}");
        for engine in [Engine::Auto, Engine::Tests] {
            assert!(Params { engine, ..params.clone() }.checked().is_ok());
        }
    }
}
