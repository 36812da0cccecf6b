//! Proven optima of small public data sets (tests/data/SOURCES.md), as MurTree, DL8.5 and STreeD report them.

use std::sync::Arc;

use lattree::budget::Status;
use lattree::data::{
    Binarizer, Column, Dataset, Feature, Kind, Labels, NumericType, Schema, Target, TargetSchema, Task, Thresholds,
};
use lattree::optimal::{Board, CacheKind, Params, Rank, Switches, search};

/// Blank-separated integers, the label first.
fn read(text: &str) -> Dataset {
    let rows: Vec<Vec<i64>> = text
        .lines()
        .map(|line| line.split_ascii_whitespace().map(|cell| cell.parse().expect("an integer")).collect())
        .collect();
    let feature =
        |j| Feature { name: format!("x{j}"), kind: Kind::Continuous(NumericType::Integer), dtype: String::new() };
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
    let params = Params { max_depth, max_nodes, binarizer, rank: Rank::Objective, ..Params::default() }
        .checked()
        .expect("good parameters");
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

/// The oracle is for small tables; on real ones the search is compared with itself, stripped of all it can do without.
#[test]
fn switches_do_not_matter_on_real_data() {
    let sets =
        [include_str!("data/hepatitis.txt"), include_str!("data/lymph.txt"), include_str!("data/primary-tumor.txt")];
    for (index, data) in sets.map(read).iter().enumerate() {
        for (min_leaf, max_nodes, node_penalty) in [
            (1, None, 0.0),
            (5, None, 0.0),
            (20, None, 0.0),
            (1, Some(4), 0.0),
            (3, Some(5), 0.0),
            (1, Some(6), 0.7),
            (1, None, 1.5),
        ] {
            let params = Params {
                max_depth: 3,
                max_nodes,
                min_leaf,
                node_penalty,
                threads: Some(1),
                rank: Rank::Objective,
                ..Params::default()
            };
            let run = |threads, switches: Switches| {
                let params = Params { threads: Some(threads), switches, ..params.clone() }.checked().expect("good");
                search(data, &params, &params.budget(), &Board::new()).expect("a good table")
            };
            let plain = run(1, Switches { cache: CacheKind::Off, bounds: false, ..Switches::default() });
            let default = run(1, Switches::default());
            let parallel = run(4, Switches { parallel_work: 0, ..Switches::default() });
            for outcome in [&default, &parallel] {
                assert_eq!(outcome.status, Status::Optimal);
                assert_eq!(outcome.objective, plain.objective, "set {index}, {params:?}");
                assert_eq!(outcome.tree.to_json(), plain.tree.to_json(), "set {index}, {params:?}");
            }
        }
    }
}
