//! The tests that a table offers, against their definition.

mod common;

use std::sync::Arc;

use common::{Random, random_table};
use lattree::Error;
use lattree::budget::{Budget, Limits};
use lattree::data::binary::ABSENT;
use lattree::data::binary::class_masses;
use lattree::data::{
    Binarizer, BinaryTable, Column, Dataset, Feature, Kind, Labels, Nominal, Number, OwnTests, Schema, Target,
    TargetSchema, Task, Thresholds, Value,
};
use lattree::tree::test_words;

fn offered(data: &Dataset, binarizer: &Binarizer) -> BinaryTable {
    BinaryTable::new(data, binarizer, &Budget::new(Limits::default()), false).expect("a good table").expect("no limit")
}

/// Which present rows pass each candidate, in column-then-cut order, by the words of the documentation.
fn candidates(data: &Dataset, rows: &[usize], nominal: Nominal, missing: OwnTests) -> Vec<Vec<bool>> {
    let mut all = Vec::new();
    for (feature, column) in data.schema().features.iter().zip(data.columns()) {
        let n_levels = feature.kind.levels().len() as u32;
        let cells: Vec<Value> = rows.iter().map(|&row| column.value(row, n_levels)).collect();
        let at_most = |a: &Value, b: &Value| match (a, b) {
            (Value::Integer(a), Value::Integer(b)) => a <= b,
            (Value::Float(a), Value::Float(b)) => a <= b,
            (Value::Level(a), Value::Level(b)) => a <= b,
            _ => panic!("cells of one column are alike"),
        };
        let known: Vec<Value> = cells.iter().copied().filter(|cell| *cell != Value::Missing).collect();
        let mut distinct: Vec<Value> = Vec::new();
        for cell in &known {
            if !distinct.contains(cell) {
                distinct.push(*cell);
            }
        }
        distinct.sort_by(|a, b| if at_most(a, b) { std::cmp::Ordering::Less } else { std::cmp::Ordering::Greater });
        match feature.kind {
            Kind::Nominal(_) => {
                let mut sets: Vec<Vec<Value>> = match nominal {
                    Nominal::OneVsRest => distinct.iter().map(|level| vec![*level]).collect(),
                    Nominal::Subsets => (1usize..1 << distinct.len())
                        .map(|set| (0..distinct.len()).filter(|i| set >> i & 1 == 1).map(|i| distinct[i]).collect())
                        .collect(),
                };
                let codes = |set: &Vec<Value>| {
                    set.iter().map(|level| if let Value::Level(code) = level { *code } else { 0 }).collect::<Vec<u32>>()
                };
                // Whether a cell has a value at all is asked by its own test, if there is one.
                if missing == OwnTests::Yes {
                    sets.retain(|set| set.len() < distinct.len());
                }
                sets.sort_by(|a, b| a.len().cmp(&b.len()).then_with(|| codes(a).cmp(&codes(b))));
                all.extend(sets.iter().map(|set| cells.iter().map(|cell| set.contains(cell)).collect()));
            }
            // Between neighbouring values: none above the greatest.
            _ => all.extend(distinct.iter().rev().skip(1).rev().map(|value| {
                cells.iter().map(|cell| *cell != Value::Missing && at_most(cell, value)).collect::<Vec<bool>>()
            })),
        }
        if missing == OwnTests::Yes {
            all.push(cells.iter().map(|cell| *cell == Value::Missing).collect());
        }
    }
    all
}

#[test]
fn all_tests_are_offered_once_in_order() {
    let mut many = 0;
    for seed in 0..4_000 {
        let mut random = Random::new(2_000_000 + seed);
        let data = random_table(&mut random);
        let rows: Vec<usize> = (0..data.n_rows()).filter(|&row| data.count(row) > 0).collect();
        if rows.is_empty() {
            continue;
        }
        let nominal = *random.pick(&[Nominal::OneVsRest, Nominal::Subsets]);
        let missing = *random.pick(&[OwnTests::Yes, OwnTests::No]);
        let binarizer = Binarizer { thresholds: Thresholds::All, nominal, missing, ..Binarizer::default() };
        let table = offered(&data, &binarizer);
        let mut expected: Vec<Vec<bool>> = Vec::new();
        for candidate in candidates(&data, &rows, nominal, missing) {
            let complement: Vec<bool> = candidate.iter().map(|pass| !pass).collect();
            let constant = candidate.iter().all(|pass| *pass == candidate[0]);
            if !constant && !expected.contains(&candidate) && !expected.contains(&complement) {
                expected.push(candidate);
            }
        }
        // By the tests themselves, and by the bits.
        let by_tests: Vec<Vec<bool>> = table
            .tests
            .iter()
            .map(|test| {
                let feature = test.feature() as usize;
                let n_levels = data.schema().features[feature].kind.levels().len() as u32;
                let cell = |row: usize| data.columns()[feature].value(row, n_levels);
                rows.iter().map(|&row| test.branch(cell(row)) == Some(0)).collect()
            })
            .collect();
        let by_bits: Vec<Vec<bool>> = (0..table.tests.len())
            .map(|test| {
                let pattern = |&row: &usize| table.pattern(table.pattern_of[row] as usize);
                rows.iter().map(|row| lattree::bits::get(pattern(row), test)).collect()
            })
            .collect();
        assert_eq!(by_tests, expected, "seed {seed}\n{data:?}");
        assert_eq!(by_bits, expected, "seed {seed}\n{data:?}");
        assert!(table.exact_thresholds);
        let present = |row: usize| table.pattern_of[row] != ABSENT;
        assert!((0..data.n_rows()).all(|row| present(row) == (data.count(row) > 0)));
        let Target::Classes(classes) = data.target() else { panic!("classes") };
        let masses = class_masses(&data, &table.pattern_of, table.n_patterns, |row| data.count(row));
        for pattern in 0..table.n_patterns {
            let mut expected: Vec<(u32, u64)> = Vec::new();
            for &row in rows.iter().filter(|&&row| table.pattern_of[row] as usize == pattern) {
                match expected.iter_mut().find(|entry| entry.0 == classes[row]) {
                    Some(entry) => entry.1 += data.count(row),
                    None => expected.push((classes[row], data.count(row))),
                }
            }
            assert_eq!(masses.of(pattern), expected);
        }
        many += usize::from(expected.len() > 4);
    }
    assert!(many > 1_000, "{many}");
}

fn numbers(values: Vec<f64>) -> Dataset {
    let n_rows = values.len();
    let feature = Feature { name: "x".into(), kind: Kind::Continuous(Number::Float), dtype: String::new() };
    let labels = Labels::Booleans(vec![false, true]);
    let target = TargetSchema { name: "y".into(), task: Task::Classes(labels), dtype: String::new() };
    let schema = Arc::new(Schema { features: vec![feature], target: Some(target) });
    let classes: Vec<u32> = (0..n_rows).map(|row| u32::from(row >= n_rows / 2)).collect();
    Dataset::new(schema, vec![Column::Floats(values)], n_rows, Target::Classes(classes.into()), None, None)
        .expect("a good table")
}

fn words(data: &Dataset, binarizer: Binarizer) -> Vec<String> {
    offered(data, &binarizer).tests.iter().map(|test| test_words(data.schema(), test)).collect()
}

#[test]
fn thresholds_follow_the_mode() {
    let data = numbers((0..100).map(f64::from).collect());
    let auto = Binarizer::default();
    assert_eq!(words(&data, auto.clone()).len(), 99);
    let few = Binarizer { max_tests: 3, ..auto.clone() };
    assert_eq!(words(&data, few.clone()), ["x <= 24.5", "x <= 49.5", "x <= 74.5"]);
    assert!(!offered(&data, &few).exact_thresholds);
    let two = Binarizer { thresholds: Thresholds::Quantile, max_thresholds: Some(1), ..auto.clone() };
    assert_eq!(words(&data, two), ["x <= 49.5"]);
    let mdlp = Binarizer { thresholds: Thresholds::Mdlp, ..auto.clone() };
    assert_eq!(words(&data, mdlp), ["x <= 49.5"]);
    let all = Binarizer { thresholds: Thresholds::All, max_tests: 3, ..auto };
    assert_eq!(words(&data, all).len(), 99);
}

#[test]
fn bad_parameters_are_named() {
    for (bad, name) in [
        (Binarizer { max_tests: 0, ..Binarizer::default() }, "max_tests"),
        (Binarizer { max_thresholds: Some(0), ..Binarizer::default() }, "max_thresholds"),
        (Binarizer { thresholds: Thresholds::All, max_thresholds: Some(3), ..Binarizer::default() }, "max_thresholds"),
    ] {
        assert!(matches!(bad.checked(), Err(Error::InvalidParameter { name: n, .. }) if n == name));
    }
}

#[test]
fn parts_share_rows_out() {
    for seed in 0..300 {
        let mut random = Random::new(3_000_000 + seed);
        let data = random_table(&mut random);
        let Target::Classes(classes) = data.target() else { panic!("classes") };
        let n_classes = data.schema().labels().expect("classes").len();
        let sizes = |data: &Dataset| {
            let Target::Classes(classes) = data.target() else { panic!("classes") };
            let mut sizes = vec![0usize; n_classes];
            classes.iter().for_each(|&class| sizes[class as usize] += 1);
            sizes
        };
        let (learn, test) = data.split(0.25, seed, true).expect("a good fraction");
        for ((all, learned), tested) in sizes(&data).iter().zip(sizes(&learn)).zip(sizes(&test)) {
            assert_eq!(*all, learned + tested);
            assert!((tested as f64 - *all as f64 / 4.0).abs() <= 1.0, "seed {seed}");
        }
        let k = 2 + random.below(3) as usize;
        match data.folds(k, seed, true) {
            Err(_) => assert!(k > data.n_rows()),
            Ok(folds) => {
                let total: Vec<usize> = folds.iter().fold(vec![0; n_classes], |sum, (_, held_out)| {
                    sum.iter().zip(sizes(held_out)).map(|(a, b)| a + b).collect()
                });
                assert_eq!(total, sizes(&data));
                assert!(folds.iter().all(|(a, b)| a.n_rows() + b.n_rows() == classes.len()));
                let rows = folds.iter().map(|(_, held_out)| held_out.n_rows());
                assert!(rows.clone().max().expect("folds") - rows.min().expect("folds") <= 1);
            }
        }
    }
}
