//! Greedy trees over subsets of the features: all distinct ones, the best, and those that elimination leads to.
//!
//! DT(S) is the tree that [`greedy`](crate::greedy) grows over the features S. Two properties of it carry everything here
//! (Ruggieri, *Complete search for feature selection in decision trees*, JMLR 2019, section 4.1): the split of a node is
//! the best of a total order that does not depend on S (Assumption 4), and a leaf stays a leaf over fewer features
//! (Assumption 5). So DT(S') = DT(S) wherever features(DT(S)) is in S' and S' in S (Lemma 6): a feature that a tree does
//! not use can be taken away for nothing.
//!
//! # Searches
//!
//! - [`distinct`] and [`count`]: every tree that some subset leads to, once (Algorithm 2).
//! - [`acceptable`]: a subset whose error is within delta of the least of all subsets (Algorithms 3 and 4).
//! - [`eliminate`]: sequential backward elimination, tree by tree or with what the trees share (section 6).
//! - [`exhaust`]: one tree per subset, for comparison.
//!
//! # Map
//!
//! `ground`: what a search stands on. `features`: sets of features. `held_out`, `mixture`, `pessimistic`: what trees
//! are judged by. `graph`: case sets, the rankings of their columns and where their splits lead; `sets`: how they are
//! found, each once; `weight`, `room`: what they take and how long they are kept. `trees`: trees that share subtrees, and features taken away from
//! them. `stack`: how deep these may be. `frontier`: the order of a visit. `distinct`, `enumerate`: the visit, and its threads. `goal`, `wide`:
//! what subsets are compared by. `bounds`, `inseparable`: what no tree of a part of the lattice can beat. `rounds`: parts of the
//! lattice for threads to take, in an order of their own. docs/subsets.md tells the whole in words.

mod acceptable;
mod bounds;
mod deal;
mod distinct;
mod elimination;
mod enumerate;
mod exhaustive;
mod features;
mod frontier;
mod goal;
mod graph;
mod ground;
mod held_out;
mod inseparable;
mod mixture;
mod pessimistic;
mod room;
mod rounds;
mod sets;
mod stack;
mod trees;
mod weight;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::budget::{Budget, Status, Stop};
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::greedy;
use crate::greedy::engine::GrownNode;
use crate::threads::lock;
use crate::tree::Tree;
pub use acceptable::acceptable;
pub use elimination::eliminate;
pub use enumerate::{count, distinct};
pub use exhaustive::exhaust;
use ground::Ground;

/// What all searches over subsets ask for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Params {
    /// How trees are grown. `max_leaves` and rows dropped for missing values are refused: with them a split depends on
    /// more than its cases.
    pub greedy: greedy::Params,
    /// Features that are in every subset, by position. [`distinct`] lists the trees that use them all.
    pub required: Vec<usize>,
    /// Features that may be in a subset; `None`: all others.
    pub candidates: Option<Vec<usize>>,
}

/// Parameters that were checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    params: Params,
    greedy: greedy::Checked,
}

/// In which order the features of a tree are taken away. Every order leads to the same trees; some build more duplicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// By how many features hang on each (Definitions 8 and 9): next to no duplicates. Ties: the first column comes last.
    #[default]
    Frontier,
    /// By the cases at the nodes that each splits, ascending (Ruggieri, ICML 2017); ties: the first column.
    FrontierCases,
    /// [`Order::Frontier`] from its end.
    Reverse,
    /// By position, from the last.
    Fixed,
}

/// How the error of a tree is estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Estimator {
    /// The error of its predictions for a search set, cases with missing values imputed by distribution as everywhere;
    /// with costs, what the errors cost.
    #[default]
    Search,
    /// As `Search`, for the cases that it was grown on.
    Training,
    /// C4.5's estimate from the training cases of its leaves: the upper limit of a confidence interval of 25 %.
    Pessimistic,
}

/// What a subset is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Goal {
    /// The estimated error.
    pub error: Estimator,
    /// How far from the least error a subset may be, as a fraction of all cases (or of what they cost at one per case).
    pub delta: f64,
    /// What each feature that the tree uses adds to its error, as such a fraction.
    pub feature_penalty: f64,
}

/// What an enumeration counted.
#[derive(Debug, Clone, PartialEq)]
pub struct Counts {
    /// Trees built.
    pub built: u64,
    /// Trees listed: no two are equal.
    pub distinct: u64,
    /// Of those, how many use 0, 1, 2, ... features.
    pub by_size: Vec<u64>,
    /// `complete`, or the limit that struck.
    pub status: Status,
    /// Seconds of wall clock.
    pub seconds: f64,
}

/// What a search for a subset came to.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The features selected, ascending: those that the tree uses, and those that are required.
    pub features: Vec<usize>,
    /// The tree over them.
    pub tree: Tree,
    /// Its estimated error as a fraction.
    pub error: f64,
    /// The same with the penalty of the features that it uses: what is minimised.
    pub objective: f64,
    /// No subset has a smaller objective; 0 where a heuristic proves nothing.
    pub lower_bound: f64,
    /// `optimal`, `acceptable` (within delta), `complete` (a heuristic ended), or the limit that struck.
    pub status: Status,
    /// What backward elimination took away, and the error that was left.
    pub path: Vec<Removal>,
    /// What it took.
    pub stats: Stats,
    /// Seconds of wall clock.
    pub seconds: f64,
}

/// A step of backward elimination.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Removal {
    /// The feature taken away.
    pub feature: usize,
    /// The estimated error of the tree over what is left.
    pub error: f64,
}

/// What a search for a subset took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Trees built, or begun.
    pub built: u64,
    /// Parts of the lattice that a bound ruled out; in backward elimination, trees that were given up.
    pub pruned: u64,
    /// How often the best split of a column at a case set was looked for.
    pub evaluations: u64,
    /// Case sets made.
    pub case_sets: u64,
    /// How often memory was full and the case sets that no tree used were dropped.
    pub flushes: u64,
}

/// A tree that an enumeration lists.
#[derive(Clone)]
pub struct DistinctTree {
    /// The features it uses, ascending.
    pub features: Vec<usize>,
    /// Its nodes, unless they are many.
    grown: Option<Vec<GrownNode>>,
    ground: Arc<Ground>,
}

/// What is known of a run while it goes on; for any thread to read.
#[derive(Debug, Default)]
pub struct Board {
    built: AtomicU64,
    distinct: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    covered: f64,
    error: Option<f64>,
    lower_bound: f64,
}

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Seconds since the start.
    pub seconds: f64,
    /// Trees built so far.
    pub built: u64,
    /// Trees listed so far.
    pub distinct: u64,
    /// The part of all subsets that is done with, from 0 to 1.
    pub covered: f64,
    /// The least error so far, with the penalty of features.
    pub error: Option<f64>,
    /// What no subset can be better than.
    pub lower_bound: f64,
}

impl Board {
    /// An empty board.
    pub fn new() -> Self {
        Self::default()
    }

    /// What is known now.
    pub fn progress(&self, budget: &Budget) -> Progress {
        let state = self.lock();
        Progress {
            seconds: budget.seconds(),
            built: self.built.load(Relaxed),
            distinct: self.distinct.load(Relaxed),
            covered: state.covered,
            error: state.error,
            lower_bound: state.lower_bound,
        }
    }

    fn count(&self, built: u64, distinct: u64) {
        self.built.fetch_add(built, Relaxed);
        self.distinct.fetch_add(distinct, Relaxed);
    }

    fn cover(&self, part: f64) {
        self.lock().covered += part;
    }

    fn publish(&self, error: f64, lower_bound: f64) {
        let mut state = self.lock();
        (state.error, state.lower_bound) = (Some(error), lower_bound);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl Params {
    /// Checks every parameter that does not depend on a table.
    pub fn checked(self) -> Result<Checked> {
        let refuse = |name, got: String, why: &str| {
            let expected = format!("{why}: the split of a node must not depend on more than its cases");
            Err(Error::InvalidParameter { name, expected, got })
        };
        if let Some(most) = self.greedy.max_leaves {
            return refuse("max_leaves", most.to_string(), "None for trees over subsets of the columns");
        }
        if self.greedy.missing == greedy::Missing::Drop {
            return refuse("missing", "drop".into(), "other than \"drop\" for trees over subsets of the columns");
        }
        let greedy = self.greedy.clone().checked()?;
        Ok(Checked { params: self, greedy })
    }
}

impl Checked {
    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// A budget for one run; its clock starts now.
    pub fn budget(&self) -> Budget {
        self.greedy.budget()
    }
}

impl Outcome {
    /// Where there was no time even to code the table: the tree of one leaf.
    fn without_time(
        data: &Dataset,
        search: Option<&Dataset>,
        checked: &Checked,
        error: Estimator,
        (stop, budget): (Stop, &Budget),
    ) -> Result<Self> {
        let (tree, error) = Ground::leaf(data, search, checked, error)?;
        let mut features = checked.params.required.clone();
        features.sort_unstable();
        features.dedup();
        Ok(Outcome {
            features,
            tree,
            error,
            objective: error,
            lower_bound: 0.0,
            status: stop.into(),
            path: Vec::new(),
            stats: Stats::default(),
            seconds: budget.seconds(),
        })
    }
}

impl Stats {
    fn add(&mut self, other: &Stats) {
        self.built += other.built;
        self.pruned += other.pruned;
        self.evaluations += other.evaluations;
        self.case_sets += other.case_sets;
        self.flushes += other.flushes;
    }
}
