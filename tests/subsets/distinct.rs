//! Every distinct tree once, in the order of Algorithm 2.

use std::collections::HashSet;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lattree::budget::{Budget, Limits, Status};
use lattree::greedy::ClassWeight;
use lattree::subsets::{Board, Counts, DistinctTree, Order, count, distinct};
use lattree::tree::Tree;

use crate::brute::{Lattice, columns, set_of};
use crate::calls::{ORDERS, checked, list};
use crate::common::{Random, for_seeds};
use crate::problem::Problem;
use crate::visit::Visit;

/// Counts without the time they took.
fn figures(counts: &Counts) -> (u64, u64, Vec<u64>, Status) {
    (counts.built, counts.distinct, counts.by_size.clone(), counts.status)
}

fn features(listed: &[DistinctTree]) -> Vec<Vec<usize>> {
    listed.iter().map(|tree| tree.features.clone()).collect()
}

#[test]
fn all_distinct_trees_are_listed_once() {
    let [problems, trees, duplicates] = [0; 3].map(AtomicU64::new);
    for_seeds(3_000, |seed| {
        let problem = Problem::random(seed);
        let (data, params) = (&problem.data, &problem.params);
        let lattice = Lattice::new(data, params);
        if !lattice.is_sound() {
            let checked = checked(params);
            let counts = count(data, &checked, Order::Frontier, &checked.budget(), &Board::new());
            return assert!(counts.is_err(), "seed {seed}: no case is present\n{}", problem.words());
        }
        let expected = lattice.distinct();
        for order in ORDERS {
            let say = |what: &str| format!("seed {seed}, {order:?}: {what}\n{}", problem.words());
            let (listed, counts) = list(data, params, order, true);
            let mut found = HashSet::new();
            for tree in &listed {
                let grown = tree.tree();
                assert_eq!(tree.features, columns(lattice.used(&grown)), "{}", say("features"));
                assert!(found.insert(Rc::new(grown)), "{}", say("a tree twice"));
            }
            assert!(found == expected, "{}", say(&format!("{} trees, not {}", found.len(), expected.len())));
            let visit = Visit::of(&lattice, order);
            let wanted: Vec<Vec<usize>> = visit.listed.iter().map(|&set| columns(set)).collect();
            let same_order = features(&listed) == wanted;
            // Cases are counts, not weights: the twin reads them from the masses of trees.
            let weighs = data.weights().is_some() || params.greedy.class_weight != ClassWeight::Equal;
            let reads_cases = order != Order::FrontierCases || !weighs;
            assert!(same_order || !reads_cases, "{}\nwanted {wanted:?}", say(&format!("{:?}", features(&listed))));
            if reads_cases {
                assert_eq!(counts.built, visit.built, "{}", say("trees built"));
            }
            let by_size: Vec<u64> = (0..=columns(lattice.required | lattice.candidates).len())
                .map(|size| listed.iter().filter(|tree| tree.features.len() == size).count() as u64)
                .collect();
            let at = |counts: &[u64], size: usize| counts.get(size).copied().unwrap_or(0);
            assert!((0..130).all(|size| at(&by_size, size) == at(&counts.by_size, size)), "{}", say("sizes"));
            assert_eq!((counts.distinct, counts.status), (listed.len() as u64, Status::Complete), "{}", say("counts"));
            let budget = Budget::new(Limits::default());
            let board = Board::new();
            let counted = count(data, &checked(params), order, &budget, &board).expect("a good table");
            assert_eq!(figures(&counted), figures(&counts), "{}", say("counting"));
            let progress = board.progress(&budget);
            assert_eq!((progress.built, progress.distinct), (counts.built, counts.distinct), "{}", say("progress"));
            assert!((progress.covered - 1.0).abs() < 1e-9, "{}", say(&format!("covered {}", progress.covered)));
            trees.fetch_add(counts.distinct, Relaxed);
            if order == Order::Frontier {
                duplicates.fetch_add(counts.built - counts.distinct, Relaxed);
            }
        }
        problems.fetch_add(1, Relaxed);
        threads_do_not_matter(seed, &problem);
    });
    let [problems, trees, duplicates] = [problems, trees, duplicates].map(AtomicU64::into_inner);
    println!("{problems} tables, {} distinct trees, {duplicates} built and not listed", trees / 4);
    assert!(trees / 4 + 200 > 10 * problems, "too few trees to tell anything");
}

fn threads_do_not_matter(seed: u64, problem: &Problem) {
    let mut random = Random::new(seed);
    let (order, threads) = (*random.pick(&ORDERS), *random.pick(&[2, 4]));
    let say = |what: &str| format!("seed {seed}, {order:?}, {threads} threads: {what}\n{}", problem.words());
    let (first, counts) = list(&problem.data, &problem.params, order, true);
    let params = problem.with_threads(threads);
    let (listed, again) = list(&problem.data, &params, order, true);
    assert!(features(&listed) == features(&first), "{}", say("order"));
    assert!(listed.iter().zip(&first).all(|(a, b)| a.tree().to_json() == b.tree().to_json()), "{}", say("trees"));
    assert_eq!(figures(&again), figures(&counts), "{}", say("counts"));
    let (unordered, again) = list(&problem.data, &params, order, false);
    let set = |listed: &[DistinctTree]| listed.iter().map(DistinctTree::tree).collect::<HashSet<Tree>>();
    assert!(unordered.len() == first.len() && set(&unordered) == set(&first), "{}", say("set"));
    assert_eq!(figures(&again), figures(&counts), "{}", say("counts, unordered"));
}

/// A visit that was told to stop listed the first trees, in order.
#[test]
fn a_visit_stops_where_it_is_told_to() {
    let stopped = AtomicU64::new(0);
    for_seeds(500, |seed| {
        let problem = Problem::random(seed);
        let mut random = Random::new(seed);
        let params = problem.with_threads(*random.pick(&[1, 2, 4]));
        if !Lattice::new(&problem.data, &params).is_sound() {
            return;
        }
        let (all, _) = list(&problem.data, &params, Order::Frontier, true);
        let most = 1 + random.below(20) as usize;
        for ordered in [true, false] {
            let mut listed = Vec::new();
            let mut visit = |tree: DistinctTree| {
                listed.push(tree);
                listed.len() < most
            };
            let (checked, board) = (checked(&params), Board::new());
            distinct(&problem.data, &checked, Order::Frontier, ordered, &checked.budget(), &board, &mut visit)
                .expect("a good table");
            assert_eq!(listed.len(), most.min(all.len()), "seed {seed}\n{}", problem.words());
            if ordered {
                assert_eq!(features(&listed), features(&all)[..listed.len()], "seed {seed}\n{}", problem.words());
            } else {
                let sets =
                    |listed: &[DistinctTree]| listed.iter().map(|tree| set_of(&tree.features)).collect::<HashSet<_>>();
                assert!(sets(&listed).len() == listed.len() && sets(&listed).is_subset(&sets(&all)), "seed {seed}");
            }
        }
        stopped.fetch_add(u64::from(most < all.len()), Relaxed);
    });
    assert!(stopped.into_inner() > 0 || std::env::var("LATTREE_PROBLEMS").is_ok());
}
