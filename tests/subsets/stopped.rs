//! Runs that were stopped return a valid subset and a true bound.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lattree::budget::{Budget, Limits, Status};
use lattree::subsets::{Board, Estimator, Order, Outcome, acceptable, count, distinct, eliminate, exhaust};
use lattree::tree::Tree;

use crate::acceptable::{Judged, random_goal};
use crate::calls::{checked, remove};
use crate::common::{Random, for_seeds};
use crate::problem::Problem;

/// A budget that is spent at once or soon, and the status that it leads to. With little memory a run may still be
/// completed, because what it keeps can be evicted and computed again.
fn stingy(random: &mut Random) -> (Budget, Status) {
    let none = Limits::default();
    match random.below(6) {
        0 => (Budget::new(Limits { seconds: Some(0.0), ..none }), Status::TimeLimit),
        1 => {
            let cancelled = Budget::new(none);
            cancelled.cancel();
            (cancelled, Status::Interrupted)
        }
        2 => (Budget::new(Limits { nodes: Some(0), ..none }), Status::NodeLimit),
        3 => {
            let nodes = Some(*random.pick(&[1, 2, 3, 5, 10, 30]));
            (Budget::new(Limits { nodes, ..none }), Status::NodeLimit)
        }
        _ => {
            let memory = Some(*random.pick(&[0, 500, 2_000, 5_000, 10_000, 30_000, 100_000]));
            (Budget::new(Limits { memory, ..none }), Status::MemoryLimit)
        }
    }
}

/// Checks that the tree is that of the features, or a leaf where there was no time for any, and that the figures are
/// its own.
#[test]
fn a_stopped_search_is_honest() {
    let [runs, stopped, flushed] = [0; 3].map(AtomicU64::new);
    for_seeds(1_000, |seed| {
        let problem = Problem::random(seed);
        let mut random = Random::new(14_000_000 + seed);
        let goal = random_goal(&mut random);
        let Some(judged) = Judged::new(&problem, goal) else { return };
        let params = problem.with_threads(*random.pick(&[1, 2, 4]));
        let (checked, board) = (checked(&params), Board::new());
        let search = (goal.error == Estimator::Search).then_some(&problem.search);
        for run in 0..4 {
            let (budget, status) = stingy(&mut random);
            let say = |what: &str| format!("seed {seed}, run {run}, {goal:?}, {status:?}: {what}\n{}", problem.words());
            let outcome: Outcome = match run {
                0 => acceptable(&problem.data, search, &checked, goal, &budget, &board),
                3 => exhaust(&problem.data, search, &checked, goal, None, &budget, &board),
                _ => eliminate(&problem.data, search, &checked, goal.error, run == 1, &budget, &board),
            }
            .expect("good tables");
            let worth = judged.check(&outcome, goal, &say);
            let no_tree_yet = outcome.status == status && outcome.tree == *judged.lattice.tree(0);
            assert!(
                no_tree_yet || outcome.tree == *judged.tree_of(&outcome),
                "{}",
                say("the tree is not that of the features")
            );
            let ended = if run == 0 || run == 3 { Status::Optimal } else { Status::Complete };
            assert!([status, ended].contains(&outcome.status), "{}", say(&format!("{:?}", outcome.status)));
            if outcome.status == Status::Optimal {
                assert!((worth - outcome.lower_bound).abs() <= judged.slack(), "{}", say("the bound"));
                assert!(worth <= judged.least + judged.slack(), "{}", say("not optimal"));
            }
            if outcome.status == Status::Complete {
                let whole = remove(&problem.data, search, &problem.params, goal.error, true);
                assert_eq!((&outcome.path, &outcome.features), (&whole.path, &whole.features), "{}", say("the path"));
                assert!(outcome.tree == whole.tree, "{}", say("the tree"));
            }
            runs.fetch_add(1, Relaxed);
            stopped.fetch_add(u64::from(outcome.status == status), Relaxed);
            flushed.fetch_add(u64::from(outcome.status == ended && outcome.stats.flushes > 0), Relaxed);
        }
    });
    let [runs, stopped, flushed] = [runs, stopped, flushed].map(AtomicU64::into_inner);
    println!("{runs} runs, {stopped} stopped, {flushed} went to their end with little memory");
    assert!(3 * stopped + 100 > runs);
}

/// A stopped enumeration listed some of the distinct trees, once.
#[test]
fn a_stopped_enumeration_is_honest() {
    let stopped = AtomicU64::new(0);
    for_seeds(1_000, |seed| {
        let problem = Problem::random(seed);
        let mut random = Random::new(15_000_000 + seed);
        let goal = random_goal(&mut random);
        let Some(judged) = Judged::new(&problem, goal) else { return };
        let all: HashSet<Tree> = judged.lattice.distinct().iter().map(|tree| Tree::clone(tree)).collect();
        let params = problem.with_threads(*random.pick(&[1, 2, 4]));
        let (checked, ordered) = (checked(&params), random.chance(50));
        let (budget, status) = stingy(&mut random);
        let say = |what: &str| format!("seed {seed}, ordered {ordered}, {status:?}: {what}\n{}", problem.words());
        let mut listed = Vec::new();
        let mut visit = |tree: lattree::subsets::DistinctTree| {
            listed.push(tree.tree());
            true
        };
        let data = &problem.data;
        let counts = distinct(data, &checked, Order::Frontier, ordered, &budget, &Board::new(), &mut visit);
        let counts = counts.expect("a good table");
        let found: HashSet<Tree> = listed.iter().cloned().collect();
        assert!(found.len() == listed.len() && found.is_subset(&all), "{}", say("trees"));
        assert!(counts.distinct >= listed.len() as u64 && counts.built >= counts.distinct, "{}", say("counts"));
        assert_eq!(counts.by_size.iter().sum::<u64>(), counts.distinct, "{}", say("sizes"));
        match counts.status {
            Status::Complete => assert!(found == all, "{}", say("not complete")),
            found => assert_eq!(found, status, "{}", say("status")),
        }
        stopped.fetch_add(u64::from(counts.status == status), Relaxed);
        let (budget, status) = stingy(&mut random);
        let counts = count(data, &checked, Order::Frontier, &budget, &Board::new()).expect("a good table");
        assert!(counts.distinct <= all.len() as u64, "{}", say("counted"));
        assert!([status, Status::Complete].contains(&counts.status), "{}", say("status of the count"));
    });
    assert!(stopped.into_inner() > 0);
}
