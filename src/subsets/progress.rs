//! Progress of a running search, which any thread may read.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};

use crate::budget::Budget;
use crate::threads::lock;

/// Counters and bounds of a running search. Workers write them, any thread may read them.
#[derive(Debug, Default)]
pub struct Board {
    built: AtomicU64,
    distinct: AtomicU64,
    state: Mutex<BoardState>,
}

#[derive(Debug, Default)]
struct BoardState {
    covered: f64,
    error: Option<f64>,
    lower_bound: f64,
}

/// A snapshot of a running search.
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
    /// A lower bound on the objective of every subset.
    pub lower_bound: f64,
}

impl Board {
    /// An empty board.
    pub fn new() -> Self {
        Self::default()
    }

    /// A snapshot of the current state.
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

    pub(super) fn count(&self, built: u64, distinct: u64) {
        self.built.fetch_add(built, Relaxed);
        self.distinct.fetch_add(distinct, Relaxed);
    }

    pub(super) fn cover(&self, part: f64) {
        self.lock().covered += part;
    }

    pub(super) fn publish(&self, error: f64, lower_bound: f64) {
        let mut state = self.lock();
        (state.error, state.lower_bound) = (Some(error), lower_bound);
    }

    fn lock(&self) -> MutexGuard<'_, BoardState> {
        lock(&self.state)
    }
}
