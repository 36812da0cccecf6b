//! Greedy trees against their twin, which counts everything again and rounds nothing, and against textbooks.
//!
//! `LATTREE_PROBLEMS=100000 LATTREE_FIRST=0 cargo test --release --test greedy -- --nocapture` runs as many random
//! problems as wanted from a first seed on.

mod common;

#[path = "greedy/amount.rs"]
mod amount;
#[path = "greedy/candidates.rs"]
mod candidates;
#[path = "greedy/cases.rs"]
mod cases;
#[path = "greedy/extreme.rs"]
mod extreme;
#[path = "greedy/impurity.rs"]
mod impurity;
#[path = "greedy/level_subsets.rs"]
mod level_subsets;
#[path = "greedy/properties.rs"]
mod properties;
#[path = "greedy/textbook.rs"]
mod textbook;
#[path = "greedy/twin.rs"]
mod twin;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use common::{Random, for_seeds, tables};
use lattree::Result;
use lattree::budget::Status;
use lattree::data::{Dataset, Kind};
use lattree::greedy::{Criterion, Missing, NominalSplits, Outcome, Params, search};
use lattree::tree::{Leaf, Node};
use tables::{random_params, random_table};
use twin::Twin;

fn run(data: &Dataset, params: &Params) -> Result<Outcome> {
    let checked = params.clone().checked().expect("good parameters");
    search(data, &checked, &checked.budget())
}

/// What a node is, roughly.
fn kind_of(node: &Node) -> String {
    match node {
        Node::Leaf(Leaf::Class { empty, .. }) => if *empty { "empty leaf" } else { "leaf" }.into(),
        Node::Leaf(Leaf::Number { .. }) => panic!("trees of classes"),
        Node::Split(split) => {
            let test = format!("{:?}", split.test);
            let name = test.split(' ').next().expect("a name").to_string();
            if split.missing { name + ", some without a value" } else { name }
        }
    }
}

const MODES: [Missing; 6] =
    [Missing::Fractional, Missing::Fractional, Missing::Drop, Missing::Mean, Missing::ClassMean, Missing::Level];

fn random_problem(seed: u64) -> (Dataset, Params) {
    let mut random = Random::new(3_000_000 + seed);
    let missing = *random.pick(&MODES);
    let finite = matches!(missing, Missing::Mean | Missing::ClassMean);
    let data = random_table(&mut random, finite);
    let params = random_params(&mut random, missing, &data);
    (data, params)
}

#[test]
fn the_twin_grows_the_same_trees() {
    let [grown, split, close, excused] = [0; 4].map(AtomicU64::new);
    let kinds: Mutex<BTreeMap<String, u64>> = Mutex::default();
    for_seeds(5_000, |seed| {
        let (data, params) = random_problem(seed);
        let outcome = run(&data, &params);
        let Some(mut twin) = Twin::new(&data, &params) else {
            assert!(outcome.is_err(), "seed {seed}: no case is present, {params:?}\n{data:?}");
            return;
        };
        let outcome = outcome.expect("a good table");
        assert_eq!(outcome.status, Status::Complete, "seed {seed}");
        twin.offer(&outcome.tree);
        let expected = twin.grow();
        grown.fetch_add(1, Relaxed);
        split.fetch_add(u64::from(expected.n_nodes() > 0), Relaxed);
        close.fetch_add(u64::from(twin.close.get()), Relaxed);
        for node in expected.nodes() {
            *kinds.lock().expect("no panic").entry(kind_of(node)).or_default() += 1;
        }
        if outcome.tree == expected && outcome.tree.nodes() == expected.nodes() {
            return;
        }
        let texts = [&outcome.tree, &expected].map(|tree| format!("{}\n{:?}", tree.to_text(None), tree.nodes()));
        let [found, wanted] = texts;
        assert!(twin.close.get(), "seed {seed}, {params:?}\n{data:?}\nfound\n{found}\nthe twin\n{wanted}");
        excused.fetch_add(1, Relaxed);
    });
    let [grown, split, close, excused] = [grown, split, close, excused].map(AtomicU64::into_inner);
    let kinds = kinds.into_inner().expect("no panic");
    println!("{grown} trees, {split} with a split; in {close} some gains were close, and {excused} then differed");
    println!("{kinds:?}");
    // Everything a tree can hold was held by some.
    assert!(grown < 4_000 || kinds.len() == 13, "{kinds:?}");
    assert!(3 * split + 9 > grown && 100 * close <= grown + 900 && 1000 * excused <= grown + 900);
}

/// Of two classes the twin, too, tries only sets that take levels in the order of shares: none is better.
#[test]
fn no_set_of_levels_is_better_than_all_prefixes() {
    let (found, problems) = (AtomicU64::new(0), AtomicU64::new(0));
    for_seeds(1_000, |seed| {
        problems.fetch_add(1, Relaxed);
        let mut random = Random::new(4_000_000 + seed);
        let data = random_table(&mut random, false);
        let params = random_params(&mut random, Missing::Fractional, &data);
        let params = Params {
            nominal_splits: NominalSplits::Subsets,
            min_leaf: 1,
            min_branch: None,
            min_gain: 0.0,
            costs: params.costs.filter(|_| params.criterion != Criterion::Gini),
            ..params
        };
        let Some(twin) = Twin::new(&data, &params) else { return };
        for (column, feature) in data.schema().features.iter().enumerate() {
            let nominal = matches!(&feature.kind, Kind::Nominal(levels) if (3..=8).contains(&levels.len()));
            if nominal && data.schema().labels().expect("classes").len() == 2 {
                twin.no_set_is_better(column);
                found.fetch_add(1, Relaxed);
            }
        }
    });
    assert!(10 * found.into_inner() + 90 > problems.into_inner());
}

/// The twin by itself: at every split the branches hold what came, in fractions or whole.
#[test]
fn the_twin_loses_no_case() {
    for_seeds(2_000, |seed| {
        let (data, params) = random_problem(seed);
        let Some(twin) = Twin::new(&data, &params) else { return };
        let tree = twin.grow();
        let mass = |node: u32| match &tree.nodes()[node as usize] {
            Node::Split(split) => split.masses.iter().sum::<f64>(),
            Node::Leaf(leaf) => leaf.mass(),
        };
        for node in tree.nodes() {
            if let Node::Split(split) = node {
                for (&child, &expected) in split.children.iter().zip(&split.masses) {
                    let found = mass(child);
                    assert!((found - expected).abs() <= 1e-9 * expected, "seed {seed}: {found} of {expected}");
                }
            }
        }
    });
}
