//! The exact search over all thresholds of continuous columns, from a table to the canonical tree: by depth and number
//! of classes, with ties, kinds and missing values mixed, and beside the search over tests by how many values a column
//! has. One thread, so that runs compare.
//!
//! `cargo bench --bench continuous`; beside other programs: `benches/peers/continuous.py`.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, criterion_group, criterion_main};
use lattree::bits::mix;
use lattree::data::dataset::MISSING;
use lattree::data::{
    Binarizer, Column, Dataset, Feature, Kind, Labels, NumericType, Schema, Target, TargetSchema, Task, Thresholds,
};
use lattree::optimal::{Board, Engine, Outcome, Params, Rank, search};

/// The allocator of the Python package, which the feature `python` sets already.
#[cfg(not(feature = "python"))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Uniform in [0, 1).
fn uniform(row: usize, column: usize) -> f64 {
    mix((row << 8 | column) as u64) as f64 / 2.0f64.powi(64)
}

/// Classes that two of the columns explain, but for a tenth of the rows.
fn class(row: usize, n_classes: u32) -> u32 {
    let (x, y) = (uniform(row, 0), uniform(row, 1));
    let explained = u32::from(x > 0.3) * 2 + u32::from(y > 0.6) + u32::from(x + y > 1.5);
    if uniform(row, 255) < 0.1 { mix(row as u64) as u32 % n_classes } else { explained % n_classes }
}

fn table(columns: Vec<(Kind, Column)>, classes: Vec<u32>, n_classes: u32) -> Dataset {
    let n_rows = classes.len();
    let (kinds, columns): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    let feature = |(j, kind)| Feature { name: format!("x{j}"), kind, dtype: String::new() };
    let task = Task::Classes(Labels::Integers((0..n_classes.into()).collect()));
    let target = Some(TargetSchema { name: "y".into(), task, dtype: String::new() });
    let schema = Schema { features: kinds.into_iter().enumerate().map(feature).collect(), target };
    Dataset::new(Arc::new(schema), columns, n_rows, Target::Classes(classes.into()), None, None).expect("a good table")
}

fn floats(n_rows: usize, cell: impl Fn(usize) -> f64) -> (Kind, Column) {
    (Kind::Continuous(NumericType::Float), Column::Floats((0..n_rows).map(cell).collect()))
}

/// Columns of numbers: all different, or of so many values.
fn numbers(n_rows: usize, n_columns: usize, n_values: Option<u32>, n_classes: u32) -> Dataset {
    let cell = |row, column| match n_values {
        None => uniform(row, column),
        Some(n) => (uniform(row, column) * f64::from(n)).floor(),
    };
    let columns = (0..n_columns).map(|j| floats(n_rows, |row| cell(row, j))).collect();
    table(columns, (0..n_rows).map(|row| class(row, n_classes)).collect(), n_classes)
}

/// Numbers, some missing, of which one column is whole; ordered and unordered levels, and a truth value.
fn mixed(n_rows: usize) -> Dataset {
    let names = |n: u32| (0..n).map(|level| level.to_string()).collect::<Vec<_>>();
    let missing = |row, column| uniform(row + n_rows, column) < 0.05;
    let levels = |column, n: u32| {
        let code = |row| if missing(row, column) { MISSING } else { (uniform(row, column) * f64::from(n)) as u32 };
        Column::Levels { codes: (0..n_rows).map(code).collect(), unseen: Vec::new() }
    };
    let columns = vec![
        floats(n_rows, |row| if missing(row, 0) { f64::NAN } else { uniform(row, 0) }),
        floats(n_rows, |row| uniform(row, 1)),
        floats(n_rows, |row| (uniform(row, 2) * 40.0).floor()),
        (Kind::Ordinal(names(6)), levels(3, 6)),
        (Kind::Nominal(names(8)), levels(4, 8)),
        (Kind::Nominal(names(2)), levels(5, 2)),
    ];
    table(columns, (0..n_rows).map(|row| class(row, 2)).collect(), 2)
}

/// 0/1 columns of a file, the label first: each has one cut.
fn bits(text: &str) -> Dataset {
    let rows: Vec<Vec<f64>> = text
        .lines()
        .map(|line| line.split_ascii_whitespace().map(|cell| cell.parse().expect("a number")).collect())
        .collect();
    let columns = (1..rows[0].len()).map(|j| floats(rows.len(), |row| rows[row][j])).collect();
    table(columns, rows.iter().map(|row| row[0] as u32).collect(), 2)
}

fn run(data: &Dataset, max_depth: u32, engine: Engine) -> Outcome {
    let binarizer = Binarizer { thresholds: Thresholds::All, ..Binarizer::default() };
    let params = Params { max_depth, binarizer, engine, threads: Some(1), rank: Rank::Objective, ..Params::default() };
    let params = params.checked().expect("good parameters");
    search(data, &params, &params.budget(), &Board::new()).expect("a good table")
}

/// Few samples: a run takes up to a tenth of a second, and all of this a minute or two.
fn short<'c>(c: &'c mut Criterion, name: &str) -> BenchmarkGroup<'c, WallTime> {
    let mut group = c.benchmark_group(name);
    group.sample_size(10).warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(3));
    group
}

fn depths(c: &mut Criterion) {
    let sets = [
        ("two_classes_2000x8", numbers(2_000, 8, None, 2)),
        ("five_classes_1000x6", numbers(1_000, 6, None, 5)),
        ("ties_2000x8", numbers(2_000, 8, Some(30), 2)),
        ("mixed_2000x6", mixed(2_000)),
        ("bits_vote", bits(include_str!("../tests/data/vote.txt"))),
    ];
    for depth in [2, 3] {
        let mut group = short(c, &format!("continuous/depth{depth}"));
        for (name, data) in &sets {
            group.bench_with_input(BenchmarkId::from_parameter(name), data, |b, data| {
                b.iter(|| black_box(run(data, depth, Engine::Continuous)));
            });
        }
    }
}

/// What the choice between the engines rests on.
fn engines(c: &mut Criterion) {
    let mut group = short(c, "continuous/values_per_column_depth3");
    for n_values in [2, 8, 32, 64, 128] {
        let data = numbers(1_000, 8, Some(n_values), 2);
        for (name, engine) in [("continuous", Engine::Continuous), ("tests", Engine::Tests)] {
            group.bench_with_input(BenchmarkId::new(name, n_values), &data, |b, data| {
                b.iter(|| black_box(run(data, 3, engine)));
            });
        }
    }
}

criterion_group!(benches, depths, engines);
criterion_main!(benches);
