//! The tasks of a search for the best subset: which is next, what it starts from, what came of it.
//!
//! A task starts from what the tasks before it, but for the last few, have found, so that neither the number of threads nor
//! who was faster matters.

use std::cmp::Reverse;
use std::sync::{Condvar, Mutex, MutexGuard};

use super::distinct::Call;
use super::features::Set;
use crate::budget::Stop;
use crate::threads::{held, lock};

/// A task does not know what the last few before it found: they may be under way.
const WINDOW: usize = 16;

/// The best subset so far.
#[derive(Debug, Clone)]
pub(super) struct Incumbent<S> {
    /// What it is worth, with the penalty.
    pub value: u128,
    pub features: S,
}

impl<S: Set> Incumbent<S> {
    /// Ties: fewer features, then the one found first.
    pub fn is_better(&self, other: &Self) -> bool {
        (self.value, self.features.count()) < (other.value, other.features.count())
    }
}

/// A call to come, with what its trees are worth at least.
pub(super) struct Open<S> {
    /// The places of the calls that lead here among those of their callers: the order of the visit.
    pub path: Vec<u32>,
    pub call: Call<S>,
    pub bound: u128,
}

impl<S: Set> Open<S> {
    fn size(&self) -> (usize, Reverse<&[u32]>) {
        (self.call.optional.count(), Reverse(&self.path))
    }
}

impl<S: Set> PartialEq for Open<S> {
    fn eq(&self, other: &Self) -> bool {
        self.size() == other.size()
    }
}
impl<S: Set> Eq for Open<S> {}
impl<S: Set> PartialOrd for Open<S> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<S: Set> Ord for Open<S> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.size().cmp(&other.size())
    }
}

/// The tasks, and what came of them.
pub(super) struct Rounds<'t, S> {
    pub tasks: &'t [Open<S>],
    state: Mutex<State<S>>,
    changed: Condvar,
    /// What was pruned before the tasks is worth at least this.
    floor: u128,
}

pub(super) struct State<S> {
    pub start: Incumbent<S>,
    next: usize,
    /// Per task that is done: the best subset that it knew of at its end, and what it pruned is worth at least.
    pub done: Vec<Option<(Incumbent<S>, u128)>>,
    /// How many from the first on are done.
    first_open: usize,
    pub stopped: Option<Stop>,
    /// What was found in a task that did not end.
    found: Vec<Incumbent<S>>,
}

impl<'t, S: Set> Rounds<'t, S> {
    pub fn new(tasks: &'t [Open<S>], start: Incumbent<S>, floor: u128) -> Self {
        let done = tasks.iter().map(|_| None).collect();
        let state = State { start, next: 0, done, first_open: 0, stopped: None, found: Vec::new() };
        Rounds { tasks, state: Mutex::new(state), changed: Condvar::new(), floor }
    }

    pub fn lock(&self) -> MutexGuard<'_, State<S>> {
        lock(&self.state)
    }

    /// The next task, and the incumbent that it starts from.
    pub fn next(&self) -> Option<(usize, Incumbent<S>)> {
        let mut state = self.lock();
        if state.stopped.is_some() || state.next == self.tasks.len() {
            return None;
        }
        let place = state.next;
        state.next += 1;
        let known = (place + 1).saturating_sub(WINDOW);
        while state.first_open < known {
            if state.stopped.is_some() {
                return None;
            }
            state = held(self.changed.wait(state));
        }
        Some((place, state.best_of_first(known).clone()))
    }

    /// Takes in what a task came to; the best value and a bound so far.
    pub fn done(&self, place: usize, best: Incumbent<S>, floor: u128, stop: Option<Stop>) -> (u128, u128) {
        let mut state = self.lock();
        match stop {
            Some(stop) => {
                state.stopped.get_or_insert(stop);
                state.found.push(best);
            }
            None => state.done[place] = Some((best, floor)),
        }
        while state.first_open < self.tasks.len() && state.done[state.first_open].is_some() {
            state.first_open += 1;
        }
        self.changed.notify_all();
        let value = state.best(self.tasks.len()).value;
        let bounds = self.tasks.iter().zip(&state.done);
        let bounds = bounds.map(|(task, done)| done.as_ref().map_or(task.bound, |(_, floor)| *floor));
        (value, bounds.min().unwrap_or(0).min(value).min(self.floor))
    }
}

impl<S: Set> State<S> {
    /// The best subset that the first tasks and what came before them found.
    fn best_of_first(&self, n: usize) -> &Incumbent<S> {
        let found = self.done[..n].iter().flatten().map(|(incumbent, _)| incumbent);
        found.fold(&self.start, |best, found| if found.is_better(best) { found } else { best })
    }

    /// The best of all.
    pub fn best(&self, n: usize) -> &Incumbent<S> {
        let best = self.best_of_first(n);
        self.found.iter().fold(best, |best, found| if found.is_better(best) { found } else { best })
    }
}
