//! Greedy trees of full depth, on numbers, on levels and with missing values, and what they predict. One thread, so
//! that runs compare.
//!
//! `cargo bench --bench greedy`; beside scikit-learn: `benches/peers/greedy.py`.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use lattree::bits::mix;
use lattree::data::dataset::MISSING;
use lattree::data::{Column, Dataset, Feature, Kind, Labels, NumericType, Schema, Target, TargetSchema, Task};
use lattree::greedy::{ClassWeight, Missing, NominalSplits, Params, search};
use lattree::tree::{NumberArray, Tree};

/// The allocator of the Python package, which the feature `python` sets already.
#[cfg(not(feature = "python"))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROWS: usize = 20_000;
const COLUMNS: usize = 20;

/// Uniform in [0, 1).
fn uniform(row: usize, column: usize) -> f64 {
    mix((row * COLUMNS + column) as u64) as f64 / 2.0f64.powi(64)
}

/// A class that three columns explain, but for a fifth of the rows.
fn class(row: usize) -> u32 {
    let explained = (uniform(row, 0) > 0.3) ^ (uniform(row, 1) > 0.6) ^ (uniform(row, 2) > 0.5);
    u32::from(explained ^ (uniform(row, COLUMNS - 1) < 0.2))
}

fn table(kind: Kind, column: impl Fn(usize) -> Column) -> Dataset {
    let feature = |j| Feature { name: format!("x{j}"), kind: kind.clone(), dtype: String::new() };
    let task = Task::Classes(Labels::Integers(vec![0, 1]));
    let target = Some(TargetSchema { name: "y".into(), task, dtype: String::new() });
    let schema = Schema { features: (0..COLUMNS - 1).map(feature).collect(), target };
    let columns = (0..COLUMNS - 1).map(column).collect();
    let classes: Vec<u32> = (0..ROWS).map(class).collect();
    Dataset::new(Arc::new(schema), columns, ROWS, Target::Classes(classes.into()), None, None).expect("a good table")
}

/// Numbers, a share of them missing.
fn numbers(missing: f64) -> Dataset {
    let cell = |row, column| match uniform(row + ROWS, column) < missing {
        true => f64::NAN,
        false => uniform(row, column),
    };
    table(Kind::Continuous(NumericType::Float), |j| Column::Floats((0..ROWS).map(|row| cell(row, j)).collect()))
}

/// Ten levels a column, a share of them missing.
fn levels(missing: f64) -> Dataset {
    let cell = |row, column| match uniform(row + ROWS, column) < missing {
        true => MISSING,
        false => (uniform(row, column) * 10.0) as u32,
    };
    let names = (0..10).map(|level| level.to_string()).collect();
    let column = |j| Column::Levels { codes: (0..ROWS).map(|row| cell(row, j)).collect(), unseen: Vec::new() };
    table(Kind::Nominal(names), column)
}

fn params() -> Params {
    Params { threads: Some(1), ..Params::default() }
}

fn grow(data: &Dataset, params: &Params) -> Tree {
    let checked = params.clone().checked().expect("good parameters");
    search(data, &checked, &checked.budget()).expect("a good table").tree
}

fn growth(c: &mut Criterion) {
    let mut group = c.benchmark_group("greedy/full_tree");
    group.sample_size(10);
    let subsets = Params { nominal_splits: NominalSplits::Subsets, ..params() };
    let mean = Params { missing: Missing::Mean, ..params() };
    let balanced = Params { class_weight: ClassWeight::Balanced, ..params() };
    for (name, data, params) in [
        ("numbers", numbers(0.0), params()),
        ("numbers_balanced", numbers(0.0).take(&Vec::from_iter(0..200)), balanced),
        ("numbers_missing_fractional", numbers(0.05), params()),
        ("numbers_missing_mean", numbers(0.05), mean),
        ("levels_multiway", levels(0.0), params()),
        ("levels_subsets", levels(0.0), subsets),
        ("levels_missing_fractional", levels(0.02), params()),
    ] {
        group.bench_with_input(BenchmarkId::new(name, data.n_rows()), &data, |b, data| {
            b.iter(|| black_box(grow(data, &params)));
        });
    }
}

fn prediction(c: &mut Criterion) {
    let mut group = c.benchmark_group("greedy/predict");
    let subsets = Params { nominal_splits: NominalSplits::Subsets, ..params() };
    for (name, data, params) in [
        ("numbers", numbers(0.0), params()),
        ("numbers_missing_fractional", numbers(0.05), params()),
        ("levels_multiway", levels(0.0), params()),
        ("levels_subsets", levels(0.0), subsets),
    ] {
        let tree = grow(&data, &params);
        group.bench_with_input(BenchmarkId::new(name, ROWS), &data, |b, data| {
            b.iter(|| black_box(tree.predict_codes(data, 0..ROWS)));
        });
    }
    let tree = grow(&numbers(0.0), &params());
    let width = tree.schema().features.len();
    let cells: Vec<f32> = (0..ROWS * width).map(|i| uniform(i / width, i % width) as f32).collect();
    let rows = NumberArray::new(&cells, ROWS, width, true).expect("as many cells");
    group.bench_function(BenchmarkId::new("array_of_numbers", ROWS), |b| {
        b.iter(|| black_box(tree.predict_codes(&rows, 0..ROWS)));
    });
}

criterion_group!(benches, growth, prediction);
criterion_main!(benches);
