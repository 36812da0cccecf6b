//! Timings of the searches over subsets of the features, on tables that are made here.
//!
//! `cargo bench --bench subsets`: distinct trees counted (2^12 subsets) and listed; backward elimination, by what trees
//! share and tree by tree; the best subset on a table of numbers, where bounds look one or two choices ahead, and on
//! one of levels, where held-out cases that cannot be told apart decide.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use lattree::bits::mix;
use lattree::data::{Column, Dataset, Feature, Kind, Labels, NumericType, Schema, Target, TargetSchema, Task};
use lattree::greedy;
use lattree::subsets::{self, Board, Estimator, Goal, Order, acceptable, count, distinct, eliminate};

/// The allocator of the Python package, which the feature `python` sets already.
#[cfg(not(feature = "python"))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A table of columns of numbers, or of three levels each, of which the first few say something about the class.
fn table(n_rows: u64, n_columns: u64, numbers: bool) -> Dataset {
    let cell = |row: u64, column: u64| mix(row * 1_000 + column);
    let levels: Vec<String> = (0..3).map(|level| format!("l{level}")).collect();
    let (mut features, mut columns) = (Vec::new(), Vec::new());
    for column in 0..n_columns {
        let kind = if numbers { Kind::Continuous(NumericType::Float) } else { Kind::Nominal(levels.clone()) };
        features.push(Feature { name: format!("x{column}"), kind, dtype: String::new() });
        columns.push(match numbers {
            true => Column::Floats((0..n_rows).map(|row| (cell(row, column) % 1_000) as f64).collect()),
            false => Column::Levels {
                codes: (0..n_rows).map(|row| (cell(row, column) % 3) as u32).collect(),
                unseen: Vec::new(),
            },
        });
    }
    let class = |row: u64| {
        let sum: u64 = (0..4).map(|column| cell(row, column) % if numbers { 1_000 } else { 3 }).sum();
        let noise = mix(row).is_multiple_of(10);
        u32::from((sum > if numbers { 2_000 } else { 3 }) != noise)
    };
    let classes: Vec<u32> = (0..n_rows).map(class).collect();
    let task = Task::Classes(Labels::Integers(vec![0, 1]));
    let target = Some(TargetSchema { name: "y".into(), task, dtype: String::new() });
    let schema = Arc::new(Schema { features, target }.checked().expect("distinct names"));
    Dataset::new(schema, columns, n_rows as usize, Target::Classes(classes.into()), None, None).expect("a good table")
}

fn params() -> subsets::Checked {
    let greedy = greedy::Params { threads: Some(1), ..greedy::Params::default() };
    subsets::Params { greedy, ..subsets::Params::default() }.checked().expect("good parameters")
}

fn trees(c: &mut Criterion) {
    let mut group = c.benchmark_group("subsets/distinct");
    group.sample_size(10);
    for (name, numbers) in [("numbers", true), ("levels", false)] {
        let (data, checked) = (table(400, 12, numbers), params());
        group.bench_function(BenchmarkId::new(name, "counted"), |b| {
            b.iter(|| count(&data, &checked, Order::Frontier, &checked.budget(), &Board::new()).expect("a good table"));
        });
        group.bench_function(BenchmarkId::new(name, "listed"), |b| {
            b.iter(|| {
                let visit = &mut |tree| {
                    black_box(tree);
                    true
                };
                let (budget, board) = (checked.budget(), Board::new());
                distinct(&data, &checked, Order::Frontier, true, &budget, &board, visit).expect("a good table")
            });
        });
    }
}

fn searches(c: &mut Criterion) {
    let mut group = c.benchmark_group("subsets/search");
    group.sample_size(10);
    for (name, numbers) in [("numbers", true), ("levels", false)] {
        let data = table(600, 20, numbers);
        let (building, search) = data.split(0.3, 1, true).expect("a good fraction");
        let checked = params();
        for (box_name, white_box) in [("white_box", true), ("black_box", false)] {
            group.bench_function(BenchmarkId::new(name, box_name), |b| {
                b.iter(|| {
                    let (budget, board) = (checked.budget(), Board::new());
                    eliminate(&building, Some(&search), &checked, Estimator::Search, white_box, &budget, &board)
                        .expect("a good table")
                });
            });
        }
        group.bench_function(BenchmarkId::new(name, "best"), |b| {
            b.iter(|| {
                let (budget, board) = (checked.budget(), Board::new());
                acceptable(&building, Some(&search), &checked, Goal::default(), &budget, &board).expect("a good table")
            });
        });
    }
}

criterion_group!(benches, trees, searches);
criterion_main!(benches);
