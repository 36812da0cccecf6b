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
//! `features`: sets of features. `held_out`: the cases that judge a tree. `graph`: case sets, the rankings of their
//! columns and where their splits lead, each found once. `trees`: trees that share subtrees, and features taken away from
//! them. `frontier`: the order of a visit. `bounds`: what no tree of a part of the lattice can beat. `tasks`: parts of the
//! lattice for threads to take, in an order of their own. docs/subsets.md tells the whole in words.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::budget::{Budget, Status};
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::greedy;
use crate::tree::Tree;

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
    /// By how many features hang on each (Definitions 8 and 9): next to no duplicates.
    #[default]
    Frontier,
    /// By the cases at the nodes that each splits, ascending (Ruggieri, ICML 2017).
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
    /// The features selected, ascending.
    pub features: Vec<usize>,
    /// The tree over them.
    pub tree: Tree,
    /// Its estimated error as a fraction, without the penalty of its features.
    pub error: f64,
    /// No subset has a smaller error and penalty together; 0 where a heuristic proves nothing.
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
    /// Trees built.
    pub built: u64,
    /// Parts of the lattice that a bound ruled out.
    pub pruned: u64,
    /// How often the best split of a column at a case set was looked for.
    pub evaluations: u64,
    /// Case sets made.
    pub case_sets: u64,
    /// How often memory was full and the case sets that no tree used were dropped.
    pub flushes: u64,
}

/// A tree that an enumeration lists.
#[derive(Debug, Clone)]
pub struct DistinctTree {
    /// The features it uses, ascending.
    pub features: Vec<usize>,
    grown: (),
}

impl DistinctTree {
    /// The tree. Complexity: O(nodes x classes).
    pub fn tree(&self) -> Tree {
        todo!()
    }
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
        let state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        Progress {
            seconds: budget.seconds(),
            built: self.built.load(Relaxed),
            distinct: self.distinct.load(Relaxed),
            covered: state.covered,
            error: state.error,
            lower_bound: state.lower_bound,
        }
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

impl Goal {
    /// Checks ranges: fractions finite and not negative.
    pub fn checked(self) -> Result<Self> {
        for (name, value) in [("delta", self.delta), ("feature_penalty", self.feature_penalty)] {
            if !(value.is_finite() && value >= 0.0) {
                let expected = "finite and not negative".into();
                return Err(Error::InvalidParameter { name, expected, got: value.to_string() });
            }
        }
        Ok(self)
    }
}

/// Calls `visit` with every distinct tree over the subsets, once, on the calling thread, until it says no.
///
/// `ordered`: in the order of the visit, which does not depend on threads; else as they come.
///
/// # Errors
/// As [`greedy::search`]; if a position is that of no column or is given twice.
pub fn distinct(
    data: &Dataset,
    checked: &Checked,
    order: Order,
    ordered: bool,
    budget: &Budget,
    board: &Board,
    visit: &mut dyn FnMut(DistinctTree) -> bool,
) -> Result<Counts> {
    todo!()
}

/// Counts the distinct trees.
///
/// # Errors
/// As [`distinct`].
pub fn count(data: &Dataset, checked: &Checked, order: Order, budget: &Budget, board: &Board) -> Result<Counts> {
    todo!()
}

/// Finds a subset whose error is within delta of the least of all subsets, and proves it. `search` is needed for
/// [`Estimator::Search`] and not looked at else; its schema must be that of `building`.
///
/// # Errors
/// As [`distinct`]; if there is no search set, its schema differs or it has no case.
pub fn acceptable(
    building: &Dataset,
    search: Option<&Dataset>,
    checked: &Checked,
    goal: Goal,
    budget: &Budget,
    board: &Board,
) -> Result<Outcome> {
    todo!()
}

/// Backward elimination: takes away the feature whose absence leaves the smallest error, until that error would grow.
/// Ties: a feature that the tree does not use, then the first. `white_box`: by what the trees share; else every tree is
/// grown on its own, with the same outcome.
///
/// # Errors
/// As [`acceptable`].
pub fn eliminate(
    building: &Dataset,
    search: Option<&Dataset>,
    checked: &Checked,
    error: Estimator,
    white_box: bool,
    budget: &Budget,
    board: &Board,
) -> Result<Outcome> {
    todo!()
}

/// Grows a tree for every subset of up to `max_features` features. Best: the least error and penalty, then the fewest
/// features used, then the first in the order of binary counting. `goal.delta` is not used.
///
/// # Errors
/// As [`acceptable`].
pub fn exhaust(
    building: &Dataset,
    search: Option<&Dataset>,
    checked: &Checked,
    goal: Goal,
    max_features: Option<usize>,
    budget: &Budget,
    board: &Board,
) -> Result<Outcome> {
    todo!()
}
