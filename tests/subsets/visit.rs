//! Algorithm 2 of the paper, word by word, with the orders of its line 8.

use std::collections::{BTreeMap, HashSet};

use lattree::subsets::Order;
use lattree::tree::{Node, Tree};

use crate::brute::{Lattice, Set, columns};
use crate::calls::ORDERS;
use crate::common::for_seeds;
use crate::problem::Problem;

/// What the visit listed, as sets of features in order, and how many trees it built.
#[derive(Debug, Default, PartialEq)]
pub struct Visit {
    pub listed: Vec<Set>,
    pub built: u64,
}

impl Visit {
    pub fn of(lattice: &Lattice, order: Order) -> Self {
        let mut visit = Visit::default();
        visit.call(lattice, order, lattice.required, lattice.candidates);
        visit
    }

    /// DTdistinct(R, S).
    fn call(&mut self, lattice: &Lattice, order: Order, r: Set, s: Set) {
        let tree = lattice.tree(r | s);
        self.built += 1;
        let u = lattice.used(&tree);
        if r & !u == 0 {
            self.listed.push(u);
        }
        let (mut r, mut s, ranked) = (r | (s & u), s & !u, rank(lattice, &tree, order, r, s & u));
        for a in ranked {
            r &= !(1 << a);
            self.call(lattice, order, r, s);
            s |= 1 << a;
        }
    }
}

/// The features of `rest` in the order in which they are removed.
fn rank(lattice: &Lattice, tree: &Tree, order: Order, r: Set, rest: Set) -> Vec<usize> {
    match order {
        Order::Frontier => rk_frontier(lattice, tree, r, rest),
        Order::Reverse => rk_frontier(lattice, tree, r, rest).into_iter().rev().collect(),
        Order::Fixed => columns(rest).into_iter().rev().collect(),
        Order::FrontierCases => {
            let mut cases: BTreeMap<usize, f64> = BTreeMap::new();
            for node in tree.nodes() {
                if let Node::Split(split) = node {
                    let a = columns(feature(lattice, tree, split.test.feature()))[0];
                    *cases.entry(a).or_default() += split.masses.iter().sum::<f64>();
                }
            }
            let mut ranked: Vec<usize> = columns(rest);
            ranked.sort_by(|a, b| cases[a].total_cmp(&cases[b])); // stable
            ranked
        }
    }
}

/// Definition 9: from the last to the first, the one of greatest frontier; ties: the first column.
fn rk_frontier(lattice: &Lattice, tree: &Tree, r: Set, rest: Set) -> Vec<usize> {
    let (mut required, mut rest, mut ranked) = (r, rest, Vec::new());
    while rest != 0 {
        let sizes: Vec<(usize, u32)> =
            columns(rest).into_iter().map(|a| (a, frontier(lattice, tree, required, a))).collect();
        let most = sizes.iter().map(|&(_, size)| size).max().expect("a feature");
        let (a, _) = sizes.into_iter().find(|&(_, size)| size == most).expect("the greatest");
        ranked.insert(0, a);
        required |= 1 << a;
        rest &= !(1 << a);
    }
    ranked
}

/// Definition 8: how many distinct features not in R' the subtrees at a-frontier nodes use.
fn frontier(lattice: &Lattice, tree: &Tree, required: Set, a: usize) -> u32 {
    let mut found = 0;
    let mut todo = vec![0];
    while let Some(node) = todo.pop() {
        let Node::Split(split) = &tree.nodes()[node as usize] else { continue };
        let asked = feature(lattice, tree, split.test.feature());
        if asked & required != 0 {
            // Not yet at the frontier.
            todo.extend(&split.children);
        } else if asked == 1 << a {
            found |= below(lattice, tree, node);
        }
    }
    (found & !required).count_ones()
}

/// The features that a subtree uses.
fn below(lattice: &Lattice, tree: &Tree, node: u32) -> Set {
    match &tree.nodes()[node as usize] {
        Node::Leaf(_) => 0,
        Node::Split(split) => {
            let own = feature(lattice, tree, split.test.feature());
            split.children.iter().fold(own, |set, &child| set | below(lattice, tree, child))
        }
    }
}

fn feature(lattice: &Lattice, tree: &Tree, feature: u32) -> Set {
    lattice.column(&tree.schema().features[feature as usize].name)
}

/// Theorem 7, checked for this visit itself: in any order it lists all distinct trees, each once.
#[test]
fn the_visit_lists_every_distinct_tree_once() {
    for_seeds(500, |seed| {
        let problem = Problem::random(seed);
        let lattice = Lattice::new(&problem.data, &problem.params);
        if !lattice.is_sound() {
            return;
        }
        let expected = lattice.distinct();
        for order in ORDERS {
            let visit = Visit::of(&lattice, order);
            let trees = visit.listed.iter().map(|&set| lattice.tree(set));
            assert!(visit.listed.len() == expected.len() && trees.collect::<HashSet<_>>() == expected, "seed {seed}");
        }
    });
}
