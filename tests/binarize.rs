//! The tests that a table offers, against their definition.

mod common;

use std::sync::Arc;

use common::shortest::{float_between, integer_between, single_between};
use common::{Random, random_table};
use lattree::Error;
use lattree::budget::{Budget, Limits};
use lattree::data::binary::ABSENT;
use lattree::data::{
    Binarizer, BinaryTable, Column, Dataset, Feature, Kind, Labels, MissingTests, Nominal, NumericType, Schema, Target,
    TargetSchema, Task, Thresholds, Value,
};
use lattree::tree::{Test, Threshold, test_words};
use proptest::prelude::*;

fn offered(data: &Dataset, binarizer: &Binarizer) -> BinaryTable {
    BinaryTable::new(data, binarizer, &Budget::new(Limits::default()), false).expect("a good table").expect("no limit")
}

/// Which present rows pass each candidate, in column-then-cut order, by the words of the documentation.
fn candidates(data: &Dataset, rows: &[usize], nominal: Nominal, missing: MissingTests) -> Vec<Vec<bool>> {
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
                if missing == MissingTests::Own {
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
        if missing == MissingTests::Own {
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
        let missing = *random.pick(&[MissingTests::Own, MissingTests::None]);
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
        many += usize::from(expected.len() > 4);
    }
    assert!(many > 1_000, "{many}");
}

fn numbers(values: Vec<f64>) -> Dataset {
    let n_rows = values.len();
    let feature = Feature { name: "x".into(), kind: Kind::Continuous(NumericType::Float), dtype: String::new() };
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

/// What separates the values of a column of this type.
fn thresholds(number: NumericType, dtype: &str, column: Column) -> Vec<Threshold> {
    let n_rows = column.len();
    let feature = Feature { name: "x".into(), kind: Kind::Continuous(number), dtype: dtype.into() };
    let schema = Arc::new(Schema { features: vec![feature], target: None });
    let data = Dataset::new(schema, vec![column], n_rows, Target::None, None, None).expect("a good table");
    let binarizer = Binarizer { thresholds: Thresholds::All, ..Binarizer::default() };
    let threshold = |test: &Test| match test {
        Test::AtMost { threshold, .. } => *threshold,
        other => panic!("{other:?} in a column of numbers"),
    };
    offered(&data, &binarizer).tests.iter().map(threshold).collect()
}

fn floats(dtype: &str, values: &[f64]) -> Vec<f64> {
    let float = |threshold| if let Threshold::Float(t) = threshold { t } else { panic!("{threshold:?}") };
    thresholds(NumericType::Float, dtype, Column::Floats(values.to_vec())).into_iter().map(float).collect()
}

fn integers(number: NumericType, dtype: &str, values: &[i64]) -> Vec<i64> {
    let integer = |threshold| if let Threshold::Integer(t) = threshold { t } else { panic!("{threshold:?}") };
    let column = Column::Integers { values: values.to_vec(), missing: None };
    thresholds(number, dtype, column).into_iter().map(integer).collect()
}

#[test]
fn fault_s_thresholds_are_the_shortest_decimals() {
    for (below, above, t) in [
        (4.9, 5.0, 4.95),
        (0.61107, 0.61109, 0.61108),
        (0.344, 0.3443, 0.3441),
        (0.9, 1.3, 1.0),
        (1.1, 1.4, 1.2),
        (0.25, 2.0, 1.0),
        (1.0, 2.0, 1.5),
        (0.0, 13.0, 6.0),
        (-0.5, 13.5, 6.0),
        (10.0, 27.0, 20.0),
        (1000.0, 2000.0, 1500.0),
        (0.06, 0.11, 0.08),
        (0.06, 0.1, 0.08),
        (0.05, 0.13, 0.1),
        (-1.0, 1.0, 0.0),
        (-2.0, 1.0, -1.0),
        (-1000.0, 3000.0, 1000.0),
        (-1e-300, 1e-300, 0.0),
        (1e-300, 2.5, 1.0),
        (-1e-300, 2e300, 1e300),
        (0.0, 1e-300, 5e-301),
        (1e22, 3e22, 2e22),
        (0.0, 5e-324, 0.0),
        (-5e-324, 0.0, -5e-324),
        (1.0, 1.0 + f64::EPSILON, 1.0),
        (1.0, f64::INFINITY, 1.0),
        (f64::NEG_INFINITY, 1.0, f64::NEG_INFINITY),
        (-f64::MAX, f64::MAX, 0.0),
    ] {
        assert_eq!(floats("Float64", &[below, above]), [t], "between {below} and {above}");
    }
    for (below, above, t) in [
        (3, 4, 3),
        (3, 5, 4),
        (18, 26, 20),
        (-4, -3, -4),
        (-1, 2, 0),
        (1_234, 2_567, 2_000),
        (i64::MAX - 1, i64::MAX, i64::MAX - 1),
        (i64::MIN, i64::MAX, -1), // as near as 0
        ((1 << 53) + 1, (1 << 53) + 3, (1 << 53) + 2),
    ] {
        assert_eq!(integers(NumericType::Integer, "Int64", &[below, above]), [t], "between {below} and {above}");
    }
}

#[test]
fn fault_s_floats_of_32_bits_show_no_digits_that_they_do_not_have() {
    let single = |a: f32, b: f32| floats("Float32", &[a.into(), b.into()])[0];
    assert_eq!(single(0.1, 0.2), 0.15);
    assert_eq!(single(0.3, 0.3f32.next_up()), 0.30000002);
    assert_eq!(single(f32::MAX.next_down(), f32::MAX), 3.4028233e38);
    assert_eq!(single(0.1, f32::INFINITY), 0.100000003);
}

#[test]
fn fault_j_times_are_cut_at_whole_units_of_their_clock() {
    const HOUR: i64 = 3_600_000_000;
    let tokyo = r#"Datetime["us", "Asia/Tokyo"]"#;
    let berlin = r#"Datetime["us", "Europe/Berlin"]"#;
    let words = |number, dtype: &str, values: &[i64]| {
        let feature = Feature { name: "x".into(), kind: Kind::Continuous(number), dtype: dtype.into() };
        let schema = Schema { features: vec![feature], target: None };
        let threshold = Threshold::Integer(integers(number, dtype, values)[0]);
        test_words(&schema, &Test::AtMost { feature: 0, threshold })
    };
    for (number, dtype, values, text) in [
        (NumericType::DatetimeUs, tokyo, [0, 10 * HOUR], "x <= 1970-01-01 14:00:00+09:00"), // from 9 to 19 o'clock
        (NumericType::DatetimeUs, tokyo, [0, 27 * HOUR], "x <= 1970-01-02 00:00:00+09:00"),
        // The clock is changed between the middle and midnight.
        (NumericType::DatetimeUs, berlin, [475_247 * HOUR, 475_793 * HOUR], "x <= 2024-03-31 00:00:00+01:00"),
        (NumericType::DatetimeUs, berlin, [480_142 * HOUR, 480_979 * HOUR], "x <= 2024-10-27 00:00:00+02:00"),
        (NumericType::DatetimeUs, "", [0, 47 * HOUR], "x <= 1970-01-02 00:00:00"),
        (NumericType::DatetimeUs, "", [0, HOUR], "x <= 1970-01-01 00:30:00"),
        (NumericType::DatetimeUs, "", [0, 1_000_000], "x <= 1970-01-01 00:00:00.5"),
        (NumericType::DatetimeUs, "", [7, 8], "x <= 1970-01-01 00:00:00.000007"),
        (NumericType::DatetimeUs, "", [i64::MIN, i64::MAX], "x <= 1970-01-01 00:00:00"),
        (NumericType::Time, "Time", [47_699_000_000_000, 47_702_000_000_000], "x <= 13:15:00"),
        (NumericType::Time, "Time", [0, 1], "x <= 00:00:00"),
        (NumericType::DurationUs, "", [20 * HOUR, 31 * HOUR], "x <= 1 day"),
        (NumericType::DurationUs, "", [-31 * HOUR, -20 * HOUR], "x <= -1 day"),
        (NumericType::Date, "Date", [0, 9], "x <= 1970-01-05"),
        (NumericType::Date, "Date", [0, 1], "x <= 1970-01-01"),
    ] {
        assert_eq!(words(number, dtype, &values), text, "between {values:?}");
    }
}

/// Numbers as people write them, their neighbours, and all others.
fn any_float() -> impl Strategy<Value = f64> {
    let written =
        (-99_999i32..99_999, 0u32..7).prop_map(|(digits, places)| f64::from(digits) / 10f64.powi(places as i32));
    let apart =
        (1i32..10, -320i32..309).prop_map(|(digit, power)| format!("{digit}e{power}").parse().expect("a number"));
    let next = written.clone().prop_map(f64::next_up);
    let all = any::<f64>().prop_filter("a number", |x| !x.is_nan()).prop_map(|x| x + 0.0);
    prop_oneof![8 => written, 2 => next, 1 => apart, 1 => all, 1 => (0u64..99).prop_map(f64::from_bits)]
}

proptest! {
    #[test]
    fn fault_s_no_decimal_is_shorter(values in [any_float(), any_float()]) {
        let [a, b] = values;
        prop_assume!(a != b);
        let (below, above) = (a.min(b), a.max(b));
        let t = floats("Float64", &[below, above])[0];
        prop_assert!(below <= t && t < above && !(t == 0.0 && t.is_sign_negative()));
        prop_assert_eq!(t, float_between(below, above), "between {} and {}", below, above);
    }

    #[test]
    fn fault_s_no_decimal_of_32_bits_is_shorter(values in [any_float(), any_float()], near: bool) {
        let [a, b] = values.map(|x| x as f32 + 0.0);
        let b = if near { a.next_up() } else { b };
        prop_assume!(a != b && a.is_finite() && b.is_finite());
        let (below, above) = (a.min(b), a.max(b));
        let t = floats("Float32", &[below.into(), above.into()])[0];
        prop_assert!(f64::from(below) <= t && t < f64::from(above));
        prop_assert!(below <= t as f32 && (t as f32) < above, "{} is {} in 32 bits", t, t as f32);
        let shortest = single_between(below, above);
        if f64::from(below) <= shortest && (shortest as f32) < above {
            prop_assert_eq!(t, shortest, "between {} and {}", below, above);
        }
    }

    #[test]
    fn fault_s_no_integer_is_shorter(values in prop_oneof![any::<[i64; 2]>(), [-300i64..300, -300i64..300]]) {
        let [a, b] = values;
        prop_assume!(a != b);
        let (below, above) = (a.min(b), a.max(b));
        let t = integers(NumericType::Integer, "Int64", &[below, above])[0];
        prop_assert!(below <= t && t < above);
        prop_assert_eq!(t, integer_between(NumericType::Integer, below, above), "between {} and {}", below, above);
    }

    #[test]
    fn fault_j_no_unit_is_longer(values in prop_oneof![any::<[i64; 2]>(), [-300i64..300, -300i64..300]], which in 0usize..7) {
        let [a, b] = values;
        prop_assume!(a != b);
        let (below, above) = (a.min(b), a.max(b));
        let (number, dtype) = [
            (NumericType::Date, "Date"),
            (NumericType::DatetimeMs, r#"Datetime["ms", "Europe/Berlin"]"#),
            (NumericType::DatetimeNs, r#"Datetime["ns", "America/St_Johns"]"#),
            (NumericType::DatetimeUs, r#"Datetime["us", null]"#),
            (NumericType::Time, "Time"),
            (NumericType::DurationMs, r#"Duration["ms"]"#),
            (NumericType::DurationNs, r#"Duration["ns"]"#),
        ][which];
        let t = integers(number, dtype, &[below, above])[0];
        prop_assert!(below <= t && t < above);
        if dtype.contains('/') {
            // By a clock of its own, so all that is known here is that it is in the middle half, where that holds a
            // unit.
            let (t, a, b) = (i128::from(t), i128::from(below), i128::from(above));
            prop_assert!((4 * t - 2 * (a + b)).abs() <= b - a || b - a == 1);
        } else {
            prop_assert_eq!(t, integer_between(number, below, above), "between {} and {}", below, above);
        }
    }
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
