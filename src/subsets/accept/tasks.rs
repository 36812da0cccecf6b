//! The subproblems of a search for the best subset, as tasks: which is next, what it starts from, and its result.
//!
//! A task starts from the best subset that the tasks before it found, except for the last few of them. So neither the
//! number of threads nor their speed matters.

use std::cmp::Reverse;
use std::sync::{Condvar, Mutex, MutexGuard};

use crate::budget::Stop;
use crate::subsets::feature_set::FeatureSet;
use crate::subsets::sublattice::Sublattice;
use crate::threads::{held, lock};

/// The last few tasks before a task may be under way: it does not learn what they find.
const WINDOW: usize = 16;

/// The best subset so far.
#[derive(Debug, Clone)]
pub(super) struct BestSubset<S> {
    /// Its value: error and penalty.
    pub value: u128,
    /// The features that its tree uses.
    pub features: S,
}

impl<S: FeatureSet> BestSubset<S> {
    /// Ties: fewer features, then the subset found first.
    pub fn is_better(&self, other: &Self) -> bool {
        (self.value, self.features.count()) < (other.value, other.features.count())
    }
}

/// A call of Algorithm 3 to come, with a lower bound on the value of all its trees.
pub(super) struct Subproblem<S> {
    /// The position of the call among those of its caller, and so on from the root: the order of the visit.
    pub path: Vec<u32>,
    pub part: Sublattice<S>,
    pub bound: u128,
}

impl<S: FeatureSet> Subproblem<S> {
    /// Calls of many optional features are expanded first, then those that the visit comes to first.
    fn priority(&self) -> (usize, Reverse<&[u32]>) {
        (self.part.optional.count(), Reverse(&self.path))
    }
}

impl<S: FeatureSet> PartialEq for Subproblem<S> {
    fn eq(&self, other: &Self) -> bool {
        self.priority() == other.priority()
    }
}
impl<S: FeatureSet> Eq for Subproblem<S> {}
impl<S: FeatureSet> PartialOrd for Subproblem<S> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<S: FeatureSet> Ord for Subproblem<S> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.priority().cmp(&other.priority())
    }
}

/// A task that a worker takes.
pub(super) struct NextTask<S> {
    /// Its position among all tasks.
    pub place: usize,
    /// The best subset that it starts from.
    pub incumbent: BestSubset<S>,
}

/// The result of a task.
pub(super) struct TaskResult<S> {
    /// The best subset that it knew of at its end.
    pub best: BestSubset<S>,
    /// A lower bound on the value of what it pruned.
    pub floor: u128,
}

/// The value of the best subset so far, and a lower bound on that of every subset.
pub(super) struct Gap {
    pub value: u128,
    pub bound: u128,
}

/// The tasks of a search, in their order, and their results.
pub(super) struct TaskQueue<'t, S> {
    pub tasks: &'t [Subproblem<S>],
    start: BestSubset<S>,
    /// A lower bound on the value of what was pruned before the tasks.
    floor: u128,
    state: Mutex<QueueState<S>>,
    changed: Condvar,
}

struct QueueState<S> {
    next: usize,
    results: Vec<Option<TaskResult<S>>>,
    /// How many tasks are done, from the first to the first that is not.
    n_done: usize,
    stopped: Option<Stop>,
    /// The best subsets of tasks that did not end.
    of_unfinished: Vec<BestSubset<S>>,
}

impl<'t, S: FeatureSet> TaskQueue<'t, S> {
    pub fn new(tasks: &'t [Subproblem<S>], start: BestSubset<S>, floor: u128) -> Self {
        let results = tasks.iter().map(|_| None).collect();
        let state = QueueState { next: 0, results, n_done: 0, stopped: None, of_unfinished: Vec::new() };
        TaskQueue { tasks, start, floor, state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState<S>> {
        lock(&self.state)
    }

    /// The best subset known before the first task.
    pub fn start(&self) -> &BestSubset<S> {
        &self.start
    }

    /// The next task, once all those whose results it starts from are done.
    pub fn next(&self) -> Option<NextTask<S>> {
        let mut state = self.lock();
        if state.stopped.is_some() || state.next == self.tasks.len() {
            return None;
        }
        let place = state.next;
        state.next += 1;
        let known = (place + 1).saturating_sub(WINDOW);
        while state.n_done < known {
            if state.stopped.is_some() {
                return None;
            }
            state = held(self.changed.wait(state));
        }
        Some(NextTask { place, incumbent: self.best_of_first(known, &state).clone() })
    }

    /// Takes the result of a task, and what stopped it.
    pub fn finish(&self, place: usize, result: TaskResult<S>, stop: Option<Stop>) -> Gap {
        let mut state = self.lock();
        match stop {
            Some(stop) => {
                state.stopped.get_or_insert(stop);
                state.of_unfinished.push(result.best);
            }
            None => state.results[place] = Some(result),
        }
        while state.n_done < self.tasks.len() && state.results[state.n_done].is_some() {
            state.n_done += 1;
        }
        self.changed.notify_all();
        let value = self.best_of_all(&state).value;
        Gap { value, bound: self.bound_of(&state).min(value) }
    }

    /// The limit that stopped the tasks, if one did.
    pub fn stopped(&self) -> Option<Stop> {
        self.lock().stopped
    }

    /// The best subset of all tasks and before them.
    pub fn best(&self) -> BestSubset<S> {
        self.best_of_all(&self.lock()).clone()
    }

    /// A lower bound on the value of all that was pruned or is still open.
    pub fn bound(&self) -> u128 {
        self.bound_of(&self.lock())
    }

    fn bound_of(&self, state: &QueueState<S>) -> u128 {
        let bounds = self.tasks.iter().zip(&state.results);
        let bounds = bounds.map(|(task, result)| result.as_ref().map_or(task.bound, |result| result.floor));
        bounds.fold(self.floor, u128::min)
    }

    /// The best subset of the first `n` tasks, which are done, and before them.
    fn best_of_first<'s>(&'s self, n: usize, state: &'s QueueState<S>) -> &'s BestSubset<S> {
        let found = state.results[..n].iter().flatten().map(|result| &result.best);
        found.fold(&self.start, better)
    }

    fn best_of_all<'s>(&'s self, state: &'s QueueState<S>) -> &'s BestSubset<S> {
        state.of_unfinished.iter().fold(self.best_of_first(self.tasks.len(), state), better)
    }
}

/// The better of two subsets; ties: the first.
fn better<'s, S: FeatureSet>(best: &'s BestSubset<S>, found: &'s BestSubset<S>) -> &'s BestSubset<S> {
    if found.is_better(best) { found } else { best }
}
