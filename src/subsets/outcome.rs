//! The result of a search for the best subset.

use super::context::SearchContext;
use super::params::{Checked, Estimator};
use crate::budget::{Budget, Status, Stop};
use crate::data::Dataset;
use crate::error::Result;
use crate::tree::Tree;

/// The result of a search for a subset.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The features selected, ascending: those that the tree uses, and those that are required.
    pub features: Vec<usize>,
    /// The tree over them.
    pub tree: Tree,
    /// Its estimated error as a fraction.
    pub error: f64,
    /// The error with the penalty of the features that the tree uses: what is minimised.
    pub objective: f64,
    /// A lower bound on the objective of every subset; 0 where a heuristic proves nothing.
    pub lower_bound: f64,
    /// `optimal`, `acceptable` (within delta), `complete` (a heuristic ended), or the limit that ended the search.
    pub status: Status,
    /// The features that backward elimination removed, in order, each with the error left.
    pub path: Vec<Removal>,
    /// Counts of the work done.
    pub stats: Stats,
    /// Seconds of wall clock.
    pub seconds: f64,
}

/// A step of backward elimination.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Removal {
    /// The feature removed.
    pub feature: usize,
    /// The estimated error of the tree over the remaining features.
    pub error: f64,
}

/// Counts of the work that a search for a subset did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Trees built, or begun.
    pub built: u64,
    /// Parts of the lattice that a bound ruled out; in backward elimination, trees that were given up.
    pub pruned: u64,
    /// How often the best split of a column at a case set was evaluated.
    pub evaluations: u64,
    /// Case sets created.
    pub case_sets: u64,
    /// How often memory was full and the case sets that no tree used were evicted.
    pub flushes: u64,
}

impl Outcome {
    /// The tree of one leaf, where there was no time even to code the table.
    pub(super) fn without_time(
        data: &Dataset,
        search: Option<&Dataset>,
        checked: &Checked,
        error: Estimator,
        stop: Stop,
        budget: &Budget,
    ) -> Result<Self> {
        let (tree, error) = SearchContext::single_leaf(data, search, checked, error)?;
        let mut features = checked.params().required.clone();
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
    pub(super) fn add(&mut self, other: &Stats) {
        self.built += other.built;
        self.pruned += other.pruned;
        self.evaluations += other.evaluations;
        self.case_sets += other.case_sets;
        self.flushes += other.flushes;
    }
}
