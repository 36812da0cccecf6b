//! The queue of distinct trees between a search on a thread of its own and the iterator that takes them.
//!
//! Its length is bounded, and the search waits while it is full, so that memory does not grow with trees that are not
//! taken.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard};

use super::run::POLL;
use crate::budget::{Budget, Status};
use crate::error::{Error, Result};
use crate::subsets::{Counts, DistinctTree};
use crate::threads::{held, lock};

/// The end of a search.
pub(super) enum SearchEnd {
    /// It ended with these counts.
    Counted(Counts),
    /// The call was wrong.
    Failed(Error),
    Panicked,
}

/// The state that the search and the iterator share.
#[derive(Default)]
pub(super) struct StreamState {
    /// The trees that have not been taken.
    pub(super) trees: VecDeque<DistinctTree>,
    /// How many of all trees that were listed use 0, 1, 2, ... features.
    pub(super) by_size: Vec<u64>,
    /// The iterator was closed: no more trees are taken.
    pub(super) closed: bool,
    /// The iterator was closed before all trees were taken.
    pub(super) cut: bool,
    /// There is no thread for the search: no tree is taken before it ends.
    alone: bool,
    /// There was no memory for one more tree.
    full: bool,
    pub(super) end: Option<SearchEnd>,
}

/// The queue between the search and the iterator that takes its trees.
#[derive(Default)]
pub(super) struct TreeQueue {
    pub(super) state: Mutex<StreamState>,
    /// Signals that there is a tree, or the end.
    filled: Condvar,
    /// Signals that there is room for trees again, or that the iterator was closed.
    pub(super) room: Condvar,
}

/// The most trees that wait to be taken.
const ROOM: usize = 256;

impl TreeQueue {
    /// An empty queue for the trees over so many features. `alone`: there is no thread for the search, so that all
    /// trees must be kept until it ends.
    pub(super) fn new(n_features: usize, alone: bool) -> Self {
        let state = StreamState { by_size: vec![0; n_features + 1], alone, ..StreamState::default() };
        TreeQueue { state: Mutex::new(state), ..TreeQueue::default() }
    }

    /// Adds a tree, once there is room. Returns false if no more are wanted.
    pub(super) fn push(&self, mut tree: DistinctTree, budget: &Budget) -> bool {
        let mut state = lock(&self.state);
        if state.alone {
            // All trees wait in memory: most of them without their nodes.
            if state.trees.len() >= ROOM {
                tree.forget_nodes();
            }
            match budget.reserve(tree.bytes()) {
                Ok(reserved) => reserved.keep(),
                Err(_) => state.full = true,
            }
            if state.full {
                return false;
            }
        } else if state.trees.len() >= ROOM {
            // Waits until half of them are taken: otherwise the two threads would wake each other at every tree.
            while state.trees.len() > ROOM / 2 && !state.closed {
                if budget.check().is_err() {
                    return false;
                }
                state = wait(&self.room, state);
            }
        }
        if state.closed {
            return false;
        }
        state.by_size[tree.features.len()] += 1;
        state.trees.push_back(tree);
        if state.trees.len() == 1 {
            self.filled.notify_all();
        }
        true
    }

    /// Why a tree was refused: because of a limit, or because the iterator was closed.
    pub(super) fn why_refused(&self, budget: &Budget) -> Status {
        match lock(&self.state).full {
            true => Status::MemoryLimit,
            false => budget.check().err().map_or(Status::Interrupted, Status::from),
        }
    }

    /// Says how the search ended.
    pub(super) fn end(&self, end: SearchEnd) {
        lock(&self.state).end = Some(end);
        self.filled.notify_all();
    }

    /// The first tree, if there is one, and whether there may be more.
    pub(super) fn pop(&self) -> (Option<DistinctTree>, bool) {
        let mut state = lock(&self.state);
        let tree = state.trees.pop_front();
        if state.trees.len() == ROOM / 2 {
            self.room.notify_all();
        }
        (tree, !state.closed && state.end.is_none())
    }

    /// Waits for a tree or the end, at most as long as [`POLL`].
    pub(super) fn wait(&self) {
        let state = lock(&self.state);
        if state.trees.is_empty() && state.end.is_none() && !state.closed {
            drop(wait(&self.filled, state));
        }
    }
}

fn wait<'a>(condition: &Condvar, state: MutexGuard<'a, StreamState>) -> MutexGuard<'a, StreamState> {
    held(condition.wait_timeout(state, POLL)).0
}

impl SearchEnd {
    /// `refused`: why a tree was not taken, if one was not.
    pub(super) fn of(counts: std::thread::Result<Result<Counts>>, refused: Option<Status>) -> Self {
        match counts {
            Ok(Ok(counts)) => SearchEnd::Counted(Counts { status: refused.unwrap_or(counts.status), ..counts }),
            Ok(Err(error)) => SearchEnd::Failed(error),
            Err(_) => SearchEnd::Panicked,
        }
    }
}
