//! Searches that a limit ended: the tree is valid and costs what is said, the bound is below the least cost.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use lattree::Error;
use lattree::budget::{Budget, Limits, Status};
use lattree::data::{Column, Dataset, Feature, Kind, Labels, Nominal, NumericType, Schema, Target, TargetSchema, Task};
use lattree::optimal::{Board, Engine, Outcome, Params, search};
use lattree::tree::{Node, Tree};

use crate::common::{Random, cost_of, for_seeds, passes};
use crate::tables::{Size, random_cuts};
use crate::{continuous, random_params, run};

/// A budget that is spent at once, or soon.
fn stingy(random: &mut Random) -> Budget {
    let none = Limits::default();
    match random.below(12) {
        0 | 1 => Budget::new(Limits { seconds: Some(*random.pick(&[0.0, 1e-5, 1e-4, 1e-3, 5e-3])), ..none }),
        2 | 3 => Budget::new(Limits { memory: Some(*random.pick(&[0, 300, 3_000, 30_000, 300_000])), ..none }),
        4 => {
            let cancelled = Budget::new(none);
            cancelled.cancel();
            cancelled
        }
        5..=7 => {
            // Asked on every look at the budget, and told to stop on one of the first.
            let looks = AtomicU64::new(*random.pick(&[1, 5, 10, 15, 20, 30]));
            Budget::new(none).asking(Duration::ZERO, move || looks.fetch_sub(1, Relaxed) > 1)
        }
        _ => Budget::new(Limits { nodes: Some(*random.pick(&[0, 1, 2, 3, 5, 10, 30, 100, 300])), ..none }),
    }
}

/// Whether every split of these rows leaves enough cases on both sides.
fn splits_fit(data: &Dataset, tree: &Tree, node: usize, rows: &[usize], min_leaf: u64) -> bool {
    let Node::Split(split) = &tree.nodes()[node] else { return true };
    let (pass, fail): (Vec<usize>, Vec<usize>) = rows.iter().partition(|&&row| passes(data, &split.test, row));
    [pass, fail].iter().zip(&split.children).all(|(rows, &child)| {
        let cases: u64 = rows.iter().map(|&row| data.count(row)).sum();
        cases >= min_leaf.max(1) && splits_fit(data, tree, child as usize, rows, min_leaf)
    })
}

fn check_honest(outcome: &Outcome, exact: &Outcome, data: &Dataset, params: &Params, say: &dyn Fn() -> String) {
    assert!(outcome.lower_bound <= exact.objective && exact.objective <= outcome.objective, "{}", say());
    assert_eq!(cost_of(data, outcome, params.node_penalty), outcome.objective, "{}", say());
    assert!(outcome.tree.n_nodes() as u64 <= params.max_nodes.unwrap_or(u64::MAX), "{}", say());
    assert!(outcome.tree.depth() <= params.max_depth as usize, "{}", say());
    let rows: Vec<usize> = (0..data.n_rows()).filter(|&row| data.count(row) > 0).collect();
    assert!(splits_fit(data, &outcome.tree, 0, &rows, params.min_leaf), "{}", say());
    if outcome.status == Status::Optimal {
        assert_eq!(outcome.objective, outcome.lower_bound, "{}", say());
        assert_eq!(outcome.tree.to_json(), exact.tree.to_json(), "{}", say());
    }
    // What was published is what comes back, and it never got worse.
    if let Some(&(_, objective, bound)) = outcome.trace.last() {
        assert_eq!((outcome.objective, outcome.lower_bound), (objective, bound), "{}", say());
    }
    for pair in outcome.trace.windows(2) {
        assert!(pair[0].1 >= pair[1].1 && pair[0].2 <= pair[1].2, "{}", say());
    }
}

#[test]
fn a_stopped_search_is_honest() {
    let ended: Mutex<BTreeMap<&str, [u64; 2]>> = Mutex::default();
    for_seeds(1_500, |seed| {
        let mut random = Random::new(16_000_000 + seed);
        // The largest take longer than the limits, the smallest do not.
        let sizes = [((1, 20), (1, 4)), ((1, 20), (4, 12)), ((40, 150), (1, 12)), ((40, 150), (10, 60))];
        let (rows, values) = if random.chance(15) { ((150, 300), (60, 200)) } else { *random.pick(&sizes) };
        let data = random_cuts(&mut random, Size { rows, columns: (1, 5), values });
        let mut reference = random_params(&mut random, &[1, 2, 3, 3, 3]);
        reference.binarizer.nominal = Nominal::OneVsRest; // a thousand subsets would take minutes without a limit
        let Ok(exact) = run(&data, &reference) else { return };
        for params in continuous(&mut random, &reference) {
            let checked = params.clone().checked().expect("good parameters");
            let (budget, board) = (stingy(&mut random), Board::new());
            let outcome = search(&data, &checked, &budget, &board).expect("a good table");
            check_honest(&outcome, &exact, &data, &params, &|| {
                format!("seed {seed}, {params:?}\n{data:?}\n{outcome:?}")
            });
            // Of those that were stopped, some had found a tree that is more than a leaf.
            let mut ended = ended.lock().expect("no panic");
            ended.entry(outcome.status.name()).or_default()[usize::from(outcome.tree.n_nodes() > 0)] += 1;
        }
    });
    let ended = ended.into_inner().expect("no panic");
    println!("[leaves, larger trees]: {ended:?}");
    for status in ["optimal", "node_limit", "time_limit", "interrupted", "memory_limit"] {
        let [leaves, larger] = ended.get(status).copied().unwrap_or_default();
        assert!(leaves + larger > 20, "{status}: {ended:?}");
    }
    for status in ["node_limit", "time_limit", "interrupted"] {
        assert!(ended.get(status).is_some_and(|&[_, larger]| larger > 20), "{status}: {ended:?}");
    }
}

/// A search that is too large for its time still says something true, and soon.
#[test]
fn a_limit_of_time_is_kept() {
    let mut random = Random::new(17_000_000);
    let data = random_cuts(&mut random, Size { rows: (4_000, 4_000), columns: (12, 12), values: (500, 4_000) });
    for threads in [1, 2] {
        let limits = Limits { seconds: Some(0.3), ..Limits::default() };
        let (engine, threads) = (Engine::Continuous, Some(threads));
        let params = Params { max_depth: 6, engine, limits, threads, ..Params::default() };
        let outcome = run(&data, &params).expect("a good table");
        assert_eq!(outcome.status, Status::TimeLimit);
        // Debug assertions and busy processors take their part.
        assert!(outcome.seconds < 3.0, "{} s", outcome.seconds);
        assert!(outcome.tree.n_nodes() > 0 && outcome.lower_bound <= outcome.objective);
        assert_eq!(cost_of(&data, &outcome, 0.0), outcome.objective);
    }
}

/// Where memory is so tight that columns are forgotten, first trees are found all the same.
#[test]
fn first_trees_need_no_column_that_was_forgotten() {
    let (n_rows, n_classes) = (991, 26);
    let mut random = Random::new(19_000_000);
    let feature = |place: usize| Feature {
        name: format!("x{place}"),
        kind: Kind::Continuous(NumericType::Integer),
        dtype: String::new(),
    };
    let task = Task::Classes(Labels::Integers((0..n_classes).collect()));
    let target = Some(TargetSchema { name: "y".into(), task, dtype: String::new() });
    let features = (0..60).map(feature).collect();
    let schema = Schema { features, target }.checked().expect("distinct names");
    let mut column = |n: u64| -> Vec<i64> { (0..n_rows).map(|_| random.below(n) as i64).collect() };
    let mut values = |place: usize| column(if place == 0 { 800 } else { 2 });
    let columns = (0..60).map(|place| Column::Integers { values: values(place), missing: None }).collect();
    let classes = Target::Classes(column(n_classes as u64).into_iter().map(|class| class as u32).collect());
    let data = Dataset::new(schema.into(), columns, n_rows, classes, None, None).expect("a good table");
    for memory in (0..14).map(|step| 300_000 * 3u64.pow(step / 2) * (2 + u64::from(step % 2)) / 2) {
        let limits = Limits { memory: Some(memory), nodes: Some(500), ..Limits::default() };
        let (engine, discrepancies) = (Engine::Continuous, Some(2));
        let (max_depth, max_nodes, min_leaf, threads) = (6, Some(37), 4, Some(1));
        let params =
            Params { max_depth, max_nodes, min_leaf, engine, limits, discrepancies, threads, ..Params::default() };
        let outcome = run(&data, &params).expect("a good table");
        assert!(matches!(outcome.status, Status::MemoryLimit | Status::NodeLimit), "{:?}", outcome.status);
        assert_eq!(cost_of(&data, &outcome, 0.0), outcome.objective, "{memory} bytes");
    }
}

/// More classes than can be numbered are refused, not a crash; thousands are searched.
#[test]
fn classes_that_do_not_fit() {
    for (n_classes, memory) in [(70_000, None), (3_000, Some(50_000_000))] {
        let kind = Kind::Continuous(NumericType::Integer);
        let features = vec![Feature { name: "x".into(), kind, dtype: String::new() }];
        let task = Task::Classes(Labels::Integers((0..n_classes).collect()));
        let target = Some(TargetSchema { name: "y".into(), task, dtype: String::new() });
        let column = Column::Integers { values: (0..n_classes).collect(), missing: None };
        let classes = Target::Classes((0..n_classes as u32).collect());
        let schema = Schema { features, target }.checked().expect("distinct names");
        let data =
            Dataset::new(schema.into(), vec![column], n_classes as usize, classes, None, None).expect("a good table");
        let limits = Limits { memory, ..Limits::default() };
        let params = Params { max_depth: 2, limits, engine: Engine::Continuous, ..Params::default() };
        let outcome = run(&data, &params);
        if n_classes > 1 << 16 {
            assert!(matches!(outcome, Err(Error::InvalidParameter { name: "engine", .. })), "{outcome:?}");
        } else {
            let (outcome, least) = (outcome.expect("a good table"), (n_classes - 4) as f64);
            assert_eq!((outcome.status, outcome.objective, outcome.lower_bound), (Status::Optimal, least, least));
        }
    }
}
