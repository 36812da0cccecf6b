//! The exact search, from a table of numbers to the canonical tree, and its parts: what binarisation, depth and the
//! switches cost. One thread, so that runs compare.
//!
//! `cargo bench --bench optimal`; with a profiler: `cargo bench --bench optimal -- --profile-time 10`.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use lattree::bits::mix;
use lattree::budget::{Budget, Limits, Stop};
use lattree::data::{
    Binarizer, BinaryTable, CaseCosts, Column, Dataset, Feature, Kind, Labels, NumericType, Schema, Target,
    TargetSchema, Task, Thresholds,
};
use lattree::objective::Loss;
use lattree::optimal::{Board, CacheKind, Counting, Outcome, Params, Rank, RootOrder, Switches, measure_parts, search};

/// The allocator of the Python package, which the feature `python` sets already.
#[cfg(not(feature = "python"))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn table(columns: Vec<Vec<f64>>, classes: Vec<u32>) -> Dataset {
    let feature =
        |j| Feature { name: format!("x{j}"), kind: Kind::Continuous(NumericType::Float), dtype: String::new() };
    let labels = Labels::Integers(vec![0, 1]);
    let target = TargetSchema { name: "y".into(), task: Task::Classes(labels), dtype: String::new() };
    let schema = Schema { features: (0..columns.len()).map(feature).collect(), target: Some(target) };
    let n_rows = classes.len();
    let columns = columns.into_iter().map(Column::Floats).collect();
    Dataset::new(Arc::new(schema), columns, n_rows, Target::Classes(classes.into()), None, None).expect("a good table")
}

/// Blank-separated 0/1 features, the label first.
fn murtree(text: &str) -> Dataset {
    let rows: Vec<Vec<f64>> = text
        .lines()
        .map(|line| line.split_ascii_whitespace().map(|cell| cell.parse().expect("a number")).collect())
        .collect();
    let columns = (1..rows[0].len()).map(|j| rows.iter().map(|row| row[j]).collect()).collect();
    table(columns, rows.iter().map(|row| row[0] as u32).collect())
}

/// Uniform numbers; a class that two of them explain, but for a tenth.
fn numbers(n_rows: usize, n_columns: usize) -> Dataset {
    let cell = |row: usize, column: usize| mix((row * n_columns + column) as u64) as f64 / u64::MAX as f64;
    let columns = (0..n_columns).map(|c| (0..n_rows).map(|row| cell(row, c)).collect()).collect();
    let class = |row| u32::from((cell(row, 0) > 0.3) ^ (cell(row, 1) > 0.6) ^ mix(row as u64 ^ 7).is_multiple_of(10));
    table(columns, (0..n_rows).map(class).collect())
}

fn sets() -> [(&'static str, Dataset); 3] {
    [
        ("hepatitis", murtree(include_str!("../tests/data/hepatitis.txt"))),
        ("vote", murtree(include_str!("../tests/data/vote.txt"))),
        ("numbers_2000x8", numbers(2_000, 8)),
    ]
}

fn run(data: &Dataset, max_depth: u32, switches: Switches) -> Outcome {
    let binarizer = Binarizer { max_tests: 64, ..Binarizer::default() };
    let params =
        Params { max_depth, binarizer, threads: Some(1), switches, rank: Rank::Objective, ..Params::default() };
    let params = params.checked().expect("good parameters");
    search(data, &params, &params.budget(), &Board::new()).expect("a good table")
}

fn depths(c: &mut Criterion) {
    for depth in [2, 3, 4, 5] {
        let mut group = c.benchmark_group(format!("optimal/depth{depth}"));
        group.sample_size(10);
        for (name, data) in sets() {
            if depth == 5 && name.starts_with("numbers") {
                continue; // minutes
            }
            group.bench_with_input(BenchmarkId::from_parameter(name), &data, |b, data| {
                b.iter(|| black_box(run(data, depth, Switches::default())));
            });
        }
    }
}

/// Node budgets that bind, on noise: the hardest for bounds.
fn node_budgets(c: &mut Criterion) {
    let mut group = c.benchmark_group("optimal/node_budget_depth4");
    group.sample_size(10);
    let cell = |row: usize, column: usize| mix((row * 5 + column) as u64) as f64 / u64::MAX as f64;
    let columns = (0..5).map(|column| (0..200).map(|row| cell(row, column)).collect()).collect();
    let data = table(columns, (0..200).map(|row| mix(row ^ 1 << 40) as u32 & 1).collect());
    for nodes in [4, 5, 7] {
        let limited = Params { max_nodes: Some(nodes), threads: Some(1), rank: Rank::Objective, ..Params::default() };
        let params = limited.checked().expect("good parameters");
        let run = || search(&data, &params, &params.budget(), &Board::new()).expect("a good table");
        group.bench_function(BenchmarkId::from_parameter(nodes), |b| b.iter(|| black_box(run())));
    }
}

/// What other objectives than errors cost.
fn costs(c: &mut Criterion) {
    let uniform = |place: usize| mix(place as u64 ^ 5) as f64 / u64::MAX as f64;
    for (name, data) in sets().into_iter().filter(|(name, _)| !name.starts_with("numbers")) {
        let mut group = c.benchmark_group(format!("optimal/costs_depth4/{name}"));
        group.sample_size(10);
        let Target::Classes(classes) = data.target().clone() else { panic!("classes") };
        let per_case = |cost: &dyn Fn(usize) -> f64| {
            let of = |place: usize| if classes[place / 2] as usize == place % 2 { 0.0 } else { cost(place) };
            let costs =
                CaseCosts::new(vec!["0".into(), "1".into()], (0..2 * classes.len()).map(of).collect(), classes.len());
            data.clone().with_costs(costs.expect("finite")).expect("a cost for each row and label")
        };
        let matrix = Loss::Matrix { costs: vec![vec![0.0, 3.0], vec![7.0, 0.0]], extra: vec![] };
        for (objective, loss, data) in [
            ("errors", Loss::Errors, data.clone()),
            ("balanced_errors", Loss::BalancedErrors, data.clone()),
            ("matrix", matrix, data.clone()),
            ("whole_case_costs", Loss::PerCase, per_case(&|place| (10.0 * uniform(place)).ceil())),
            ("real_case_costs", Loss::PerCase, per_case(&uniform)),
        ] {
            let params = Params { objective: loss, threads: Some(1), rank: Rank::Objective, ..Params::default() };
            let params = params.checked().expect("good parameters");
            let run = || search(&data, &params, &params.budget(), &Board::new()).expect("a good table");
            group.bench_function(objective, |b| b.iter(|| black_box(run())));
        }
    }
}

/// A node made from its cases, and the best trees of depth two at it: from pairs that are stored, counted or left over.
fn parts(c: &mut Criterion) {
    for (name, data) in sets() {
        let mut group = c.benchmark_group(format!("optimal/parts_{name}"));
        let binarizer = Binarizer { max_tests: 64, ..Binarizer::default() };
        let params =
            Params { binarizer, rank: Rank::Objective, ..Params::default() }.checked().expect("good parameters");
        let mut measure = |part: &'static str, act: &mut dyn FnMut() -> Result<(), Stop>| {
            group.bench_function(part, |b| b.iter(|| act().expect("no limit")));
        };
        assert_eq!(measure_parts(&data, &params, &mut measure).expect("a good table"), None);
    }
}

/// What each part buys.
fn switches(c: &mut Criterion) {
    let mut group = c.benchmark_group("optimal/switches_depth4");
    group.sample_size(10);
    let data = murtree(include_str!("../tests/data/vote.txt"));
    let all = Switches::default();
    for (name, switches) in [
        ("all", all.clone()),
        ("no_similarity", Switches { bounds: false, ..all.clone() }),
        ("no_transpositions", Switches { transpositions: false, ..all.clone() }),
        ("no_refined_bound", Switches { refined: false, ..all.clone() }),
        ("no_subtraction", Switches { subtraction: false, ..all.clone() }),
        ("no_matrices", Switches { matrices: false, ..all.clone() }),
        ("weighed", Switches { counting: Counting::Weighed, ..all.clone() }),
        ("no_dynamic_order", Switches { dynamic_order: false, ..all.clone() }),
        ("order_as_given", Switches { order: RootOrder::AsGiven, ..all.clone() }),
        ("order_gini", Switches { order: RootOrder::Gini, ..all.clone() }),
        ("order_random", Switches { order: RootOrder::Random, ..all.clone() }),
        ("no_cache", Switches { cache: CacheKind::Off, ..all.clone() }),
        ("branch_cache", Switches { cache: CacheKind::Branch, ..all.clone() }),
        ("baseline_instructions", Switches { baseline: true, ..all }),
    ] {
        group.bench_with_input(BenchmarkId::from_parameter(name), &switches, |b, switches| {
            b.iter(|| black_box(run(&data, 4, switches.clone())));
        });
    }
}

fn binarize(c: &mut Criterion) {
    let mut group = c.benchmark_group("data/binarize");
    group.sample_size(10);
    let data = numbers(100_000, 8);
    for (name, thresholds) in [("quantile", Thresholds::Quantile), ("mdlp", Thresholds::Mdlp)] {
        let binarizer = Binarizer { thresholds, max_tests: 64, ..Binarizer::default() };
        group.bench_with_input(BenchmarkId::new(name, "100000x8"), &binarizer, |b, binarizer| {
            b.iter(|| BinaryTable::new(&data, binarizer, &Budget::new(Limits::default()), false));
        });
    }
}

fn predict(c: &mut Criterion) {
    let mut group = c.benchmark_group("tree/predict");
    group.sample_size(10);
    let tree = run(&numbers(2_000, 8), 4, Switches::default()).tree;
    let data = numbers(1_000_000, 8);
    group.bench_function("1000000_rows_depth4", |b| b.iter(|| black_box(tree.predict_codes(&data, 0..data.n_rows()))));
}

criterion_group!(benches, depths, node_budgets, costs, parts, switches, binarize, predict);
criterion_main!(benches);
