//! The tasks of an enumeration: parts of the visit of Algorithm 2 that workers take.

use std::rc::Rc;
use std::sync::mpsc::SyncSender;

use super::DistinctTree;
use super::visit::DistinctVisit;
use crate::budget::Stop;
use crate::subsets::case_graph::Subtree;
use crate::subsets::feature_set::FeatureSet;
use crate::subsets::sublattice::Sublattice;

/// A task has at most two to the power of [`TASK`] subsets, and there are at least two to the power of [`SPLIT`] tasks,
/// if there are as many subsets.
const TASK: usize = 12;
const SPLIT: usize = 8;
/// The most calls of a task.
const CALLS: usize = 64;
/// Beyond this many features, tasks are the calls of one level.
const MANY_FEATURES: usize = 64;
const LEVELS: usize = 3;
/// The work on a call that is not left to tasks.
const PER_CALL: usize = 1000;

/// A part of the visit, for one worker.
pub(super) struct VisitTask<S> {
    pub calls: Vec<TaskCall<S>>,
    /// Where its trees are listed, if they are.
    pub queue: Option<SyncSender<Batch>>,
}

/// A call of Algorithm 2 that is part of a task.
pub(super) struct TaskCall<S> {
    pub part: Sublattice<S>,
    /// Whether the task has the calls that this one makes too.
    pub with_children: bool,
}

/// Trees on their way to the caller.
pub(super) type Batch = Vec<DistinctTree>;

/// Goes down the large calls of Algorithm 2, and makes tasks of the calls below.
pub(super) struct TaskProducer<'g, S: FeatureSet, F> {
    visit: DistinctVisit<'g, S>,
    /// Calls with at most this many optional features are left to tasks as a whole.
    size: usize,
    /// Whether features are so many that most are never used, and their number says nothing: then all calls of one
    /// level are left to tasks.
    by_level: bool,
    calls: Vec<TaskCall<S>>,
    /// The subsets of these calls, at most.
    n_subsets: u64,
    /// Hands a task over, and returns whether more are wanted.
    send: F,
}

impl<'g, S: FeatureSet, F: FnMut(Vec<TaskCall<S>>) -> bool> TaskProducer<'g, S, F> {
    /// A producer for this many optional features. `visit` makes the trees of large calls, and counts nothing.
    pub fn new(visit: DistinctVisit<'g, S>, n_optional: usize, send: F) -> Self {
        TaskProducer {
            visit,
            size: TASK.min(n_optional.saturating_sub(SPLIT)),
            by_level: n_optional > MANY_FEATURES,
            calls: Vec::new(),
            n_subsets: 0,
            send,
        }
    }

    /// Makes tasks of a call and all below it.
    pub fn run(&mut self, part: &Sublattice<S>) -> Result<(), Stop> {
        let tree = self.visit.graph.tree(&part.features())?;
        if self.go_down(&tree, part, 0)? {
            self.send_rest();
        }
        Ok(())
    }

    /// Makes tasks of a call and all below it, given its tree. Returns whether more tasks are wanted.
    fn go_down(&mut self, tree: &Rc<Subtree<S>>, part: &Sublattice<S>, level: usize) -> Result<bool, Stop> {
        self.visit.graph.ticker.tick(PER_CALL)?;
        if !self.push(part, false) {
            return Ok(false);
        }
        for (feature, child) in self.visit.children(tree, part)? {
            let is_small = if self.by_level { level + 1 >= LEVELS } else { child.optional.count() <= self.size };
            let goes_on = if is_small {
                self.push(&child, true)
            } else {
                let tree = self.visit.graph.tree_without(tree, feature, &child.features())?;
                self.go_down(&tree, &child, level + 1)?
            };
            if !goes_on {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Adds a call to the next task.
    fn push(&mut self, part: &Sublattice<S>, with_children: bool) -> bool {
        self.calls.push(TaskCall { part: part.clone(), with_children });
        let size = part.optional.count().min(self.size);
        self.n_subsets += if with_children { 1 << size } else { 1 };
        (self.n_subsets < 1 << self.size && self.calls.len() < CALLS) || self.send_rest()
    }

    fn send_rest(&mut self) -> bool {
        self.n_subsets = 0;
        let calls = std::mem::take(&mut self.calls);
        calls.is_empty() || (self.send)(calls)
    }
}
