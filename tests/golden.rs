//! Proven optima of small public data sets (tests/data/SOURCES.md), as MurTree, DL8.5 and STreeD report them.

use std::sync::Arc;

use lattree::budget::Status;
use lattree::data::{
    Binarizer, Column, Dataset, Feature, Kind, Labels, Number, Schema, Target, TargetSchema, Task, Thresholds,
};
use lattree::optimal::{Board, Params, search};

/// Blank-separated integers, the label first.
fn read(text: &str) -> Dataset {
    let rows: Vec<Vec<i64>> = text
        .lines()
        .map(|line| line.split_ascii_whitespace().map(|cell| cell.parse().expect("an integer")).collect())
        .collect();
    let feature = |j| Feature { name: format!("x{j}"), kind: Kind::Continuous(Number::Integer), dtype: String::new() };
    let target =
        TargetSchema { name: "y".into(), task: Task::Classes(Labels::Integers(vec![0, 1])), dtype: String::new() };
    let n_features = rows[0].len() - 1;
    let schema = Schema { features: (0..n_features).map(feature).collect(), target: Some(target) };
    let columns = (1..=n_features)
        .map(|j| Column::Integers { values: rows.iter().map(|row| row[j]).collect(), missing: None })
        .collect();
    let classes: Vec<u32> = rows.iter().map(|row| row[0] as u32).collect();
    Dataset::new(Arc::new(schema), columns, rows.len(), Target::Classes(classes.into()), None, None).expect("a table")
}

fn errors(data: &Dataset, max_depth: u32, max_nodes: Option<u64>) -> f64 {
    let binarizer = Binarizer { thresholds: Thresholds::All, ..Binarizer::default() };
    let params = Params { max_depth, max_nodes, binarizer, ..Params::default() }.checked().expect("good parameters");
    let outcome = search(data, &params, &params.budget(), &Board::new()).expect("a good table");
    assert_eq!(outcome.status, Status::Optimal);
    assert_eq!(outcome.lower_bound, outcome.objective);
    outcome.objective
}

#[test]
fn hepatitis() {
    let data = read(include_str!("data/hepatitis.txt"));
    assert_eq!([3, 4].map(|depth| errors(&data, depth, None)), [10.0, 3.0]);
}

#[test]
fn lymph() {
    let data = read(include_str!("data/lymph.txt"));
    assert_eq!([3, 4].map(|depth| errors(&data, depth, None)), [12.0, 3.0]);
}

#[test]
fn primary_tumor() {
    let data = read(include_str!("data/primary-tumor.txt"));
    assert_eq!([3, 4, 5].map(|depth| errors(&data, depth, None)), [46.0, 34.0, 26.0]);
}

#[test]
fn vote() {
    let data = read(include_str!("data/vote.txt"));
    assert_eq!([3, 4].map(|depth| errors(&data, depth, None)), [12.0, 5.0]);
    // More nodes never cost more, and 15 nodes are all that depth 4 can use.
    let front: Vec<f64> = (0..=15).map(|nodes| errors(&data, 4, Some(nodes))).collect();
    assert!(front.windows(2).all(|pair| pair[0] >= pair[1]), "{front:?}");
    assert_eq!((front[7], front[15]), (errors(&data, 4, Some(7)), 5.0));
}
