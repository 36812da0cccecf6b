//! The search against a second method, which shares nothing with it. `examples/confirm.rs` asks that of larger tables.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lattree::budget::Status;
use lattree::data::{Binarizer, Column, Dataset, Kind, NumericType, Thresholds};
use lattree::optimal::{Engine, Params};

use crate::brute::Brute;
use crate::common::tables::{feature, table};
use crate::common::{Random, for_seeds};
use crate::sweep::least_errors;
use crate::{offered, run};

/// Columns with ties, and two classes that follow cuts of some of them, but for noise.
fn random_problem(random: &mut Random, n_rows: u64, n_columns: u64) -> (Vec<Vec<f64>>, Vec<u32>) {
    let column = |random: &mut Random| {
        let most = *random.pick(&[3, 10, n_rows, 4 * n_rows]);
        let n_values = 1 + random.below(most);
        (0..n_rows).map(|_| random.below(n_values) as f64 / 8.0 - 1.0).collect::<Vec<f64>>()
    };
    let columns: Vec<Vec<f64>> = (0..n_columns).map(|_| column(random)).collect();
    let mut classes = vec![0; n_rows as usize];
    for _ in 0..random.below(6) {
        let column = random.pick(&columns);
        let at = *random.pick(column);
        classes.iter_mut().zip(column).for_each(|(class, &value)| *class ^= u32::from(value > at));
    }
    let noise = *random.pick(&[0, 5, 20, 50]);
    classes.iter_mut().for_each(|class| *class ^= u32::from(random.chance(noise)));
    (columns, classes)
}

fn dataset(columns: &[Vec<f64>], classes: &[u32]) -> Dataset {
    let column = |(index, cells): (usize, &Vec<f64>)| {
        (feature(&format!("x{index}"), Kind::Continuous(NumericType::Float)), Column::Floats(cells.clone()))
    };
    table(columns.iter().enumerate().map(column).collect(), 2, classes.to_vec(), None, None)
}

#[test]
fn equals_the_second_method() {
    let imperfect = AtomicU64::new(0);
    for_seeds(300, |seed| {
        let mut random = Random::new(20_000_000 + seed);
        let (n_rows, n_columns) = (20 + random.below(281), 1 + random.below(5));
        let (columns, classes) = random_problem(&mut random, n_rows, n_columns);
        let data = dataset(&columns, &classes);
        for max_depth in 0..=3 {
            let params = Params { max_depth, engine: Engine::Continuous, threads: Some(1), ..Params::default() };
            let outcome = run(&data, &params).expect("a good table");
            assert_eq!(outcome.status, Status::Optimal, "seed {seed}");
            let errors = outcome.objective as u32;
            let say = || format!("seed {seed}, depth {max_depth}\n{data:?}");
            assert_eq!(least_errors(&columns, &classes, max_depth, u32::MAX), Some(errors), "{}", say());
            assert_eq!(least_errors(&columns, &classes, max_depth, errors + 1), Some(errors), "{}", say());
            assert_eq!(least_errors(&columns, &classes, max_depth, errors), None, "{}", say());
            imperfect.fetch_add(u64::from(max_depth == 3 && errors > 0), Relaxed);
        }
    });
    assert!(std::env::var("LATTREE_PROBLEMS").is_ok() || imperfect.into_inner() > 150, "too few have errors left");
}

#[test]
fn the_second_method_equals_brute_force() {
    for_seeds(1_000, |seed| {
        let mut random = Random::new(21_000_000 + seed);
        let (n_rows, n_columns) = (1 + random.below(24), 1 + random.below(3));
        let (columns, classes) = random_problem(&mut random, n_rows, n_columns);
        let data = dataset(&columns, &classes);
        let tests = offered(&data, &Binarizer { thresholds: Thresholds::All, ..Binarizer::default() });
        let mut brute = Brute::new(&data, &tests.expect("a good table"), 1.0, 1, 0.0);
        for depth in 0..=4 {
            let least = *brute.costs(brute.rows(), depth).last().expect("a leaf") as u32;
            let found = least_errors(&columns, &classes, depth, u32::MAX);
            assert_eq!(found, Some(least), "seed {seed}, depth {depth}\n{data:?}");
        }
    });
}
