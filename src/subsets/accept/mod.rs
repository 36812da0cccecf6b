//! DTaccept: a feature subset whose error is within delta of the least of all subsets, with a proof.
//!
//! The visit is that of DTdistinct, without the parts of the lattice in which no tree is better than the incumbent by
//! more than delta. Backward elimination gives the first incumbent. The calls of most optional features are expanded
//! until there are enough subproblems to share out; these are tasks, numbered in the order of the visit. A task starts
//! from what the tasks before it found, except for the last few, and goes on with what it finds itself. So the outcome
//! is the same on every number of threads.
//!
//! `worker`: Algorithms 3 and 4 (section 5 of the paper). `tasks`: the order of the subproblems.

mod tasks;
mod worker;

use std::collections::BinaryHeap;
use std::thread::ScopedJoinHandle;

use tasks::{BestSubset, Gap, NextTask, Subproblem, TaskQueue, TaskResult};
use worker::{AcceptWorker, FoundTree};

use super::backward::white_box::{Remaining, dt_sbe};
use super::context::SearchContext;
use super::feature_set::{FeatureSet, WithFeatureSet, with_feature_set};
use super::holdout::equivalent_points::EquivalentPoints;
use super::objective::SubsetObjective;
use super::outcome::{Outcome, Stats};
use super::params::{Checked, Goal};
use super::progress::Board;
use super::stack::Stack;
use super::sublattice::Sublattice;
use crate::budget::{Budget, Status, Stop};
use crate::data::Dataset;
use crate::error::Result;

/// Finds a subset whose error, with the penalty of the features its tree uses, is within delta of the least of all
/// subsets, and proves it. `search` is needed for [`Estimator::Search`](super::Estimator::Search) and not read
/// otherwise; its schema must be that of `building`.
///
/// Complexity: exponential in the number of features at worst; a limit leaves the best subset so far and a true bound.
///
/// # Errors
/// As [`eliminate`](super::eliminate()).
pub fn acceptable(
    building: &Dataset,
    search: Option<&Dataset>,
    checked: &Checked,
    goal: Goal,
    budget: &Budget,
    board: &Board,
) -> Result<Outcome> {
    let goal = goal.checked()?;
    let context = match SearchContext::new(building, search, checked, Some(goal.error), budget) {
        Ok(context) => context,
        Err(error) => {
            return Outcome::without_time(building, search, checked, goal.error, error.stop()?, budget);
        }
    };
    let objective = SubsetObjective::new(&goal, context.estimator.units(), context.n_features());
    let depth = match context.table.n_cases {
        0..500 => 2,
        500..5000 => 1,
        _ => 0,
    };
    let points = context.estimator.holdout().map_or(0, EquivalentPoints::bytes);
    // As many workers as there is memory for.
    let threads = context.workers(checked.threads(), points, budget);
    Ok(with_feature_set(
        context.n_features(),
        AcceptSearch { context: &context, objective, depth, threads, budget, board },
    ))
}

struct AcceptSearch<'a> {
    context: &'a SearchContext,
    objective: SubsetObjective,
    /// How many choices on a path the relaxed bound follows: where case sets are small, it costs less than it saves.
    depth: u32,
    threads: usize,
    budget: &'a Budget,
    board: &'a Board,
}

/// Calls are expanded into so many tasks, if there are as many.
const TASKS: usize = 256;

/// The result of a worker.
struct Worked<S> {
    stats: Stats,
    found: Option<FoundTree<S>>,
}

impl WithFeatureSet for AcceptSearch<'_> {
    type Output = Outcome;

    fn run<S: FeatureSet + Send + Sync>(self) -> Outcome {
        self.context.on_deep_stack(|stack| self.search::<S>(stack))
    }
}

impl<'a> AcceptSearch<'a> {
    fn search<S: FeatureSet + Send + Sync>(&self, stack: Stack) -> Outcome {
        let all = self.context.all_subsets();
        let incumbent = BestSubset { value: u128::MAX, features: all.features() };
        let mut worker = match AcceptWorker::new(self, incumbent.clone(), stack) {
            Ok(worker) => worker,
            Err(stop) => return self.outcome(incumbent, Vec::new(), 0, Stats::default(), Some(stop)),
        };
        worker.keeps_bounds = true;
        let mut open = BinaryHeap::new();
        let mut stopped = self.prepare(&mut worker, all, &mut open).err();
        let mut tasks = open.into_vec();
        tasks.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        let mut stats = worker.stats();
        let mut found: Vec<FoundTree<S>> = worker.found().into_iter().collect();
        let (start, floor) = (worker.incumbent.clone(), worker.floor);
        drop(worker);
        let queue = TaskQueue::new(&tasks, start, floor);
        if stopped.is_none() && !tasks.is_empty() {
            stopped = self.work(&queue, stack, &mut stats, &mut found);
        }
        self.outcome(queue.best(), found, queue.bound(), stats, stopped)
    }

    /// Finds a first incumbent by elimination, and expands calls until there are tasks enough.
    fn prepare<S: FeatureSet>(
        &self,
        worker: &mut AcceptWorker<'_, S>,
        all: Sublattice<S>,
        open: &mut BinaryHeap<Subproblem<S>>,
    ) -> std::result::Result<(), Stop> {
        open.push(Subproblem { path: Vec::new(), part: all.clone(), bound: 0 });
        let eliminated = dt_sbe(self.context, &mut worker.graph, all.features(), self.budget, self.board);
        worker.stats.built += eliminated.built;
        if let Some(tree) = eliminated.remaining.map(Remaining::into_tree) {
            worker.improve(&tree)?;
        }
        eliminated.stopped.map_or(Ok(()), Err)?;
        let n = self.context.n_features();
        let of_child = size_of::<Subproblem<S>>() + 2 * (16 + n / 8) + 64;
        while open.len() < TASKS
            && let Some(next) = open.pop()
        {
            let children = worker.tree(&next.part).and_then(|tree| {
                let mut children = Vec::new();
                worker.expand(&tree, &next.part, &mut |_, _, part, bound| {
                    children.push((part.clone(), bound));
                    Ok(())
                })?;
                self.budget.reserve((of_child * children.len()) as u64)?.keep();
                Ok(children)
            });
            match children {
                Ok(children) => open.extend((0..).zip(children).map(|(place, (part, bound))| Subproblem {
                    path: [&next.path[..], &[place]].concat(),
                    part,
                    bound: bound.max(next.bound),
                })),
                Err(stop) => {
                    open.push(next);
                    return Err(stop);
                }
            }
        }
        Ok(())
    }

    /// Runs all tasks, on this thread and as many others as there can be. Returns what stopped them, if anything did.
    fn work<S: FeatureSet + Send + Sync>(
        &self,
        queue: &TaskQueue<'_, S>,
        stack: Stack,
        stats: &mut Stats,
        found: &mut Vec<FoundTree<S>>,
    ) -> Option<Stop> {
        let work = |stack: Stack| -> std::result::Result<Worked<S>, Stop> {
            let mut worker = AcceptWorker::new(self, queue.start().clone(), stack)?;
            while let Some(NextTask { place, incumbent }) = queue.next() {
                (worker.incumbent, worker.floor) = (incumbent, u128::MAX);
                let part = &queue.tasks[place].part;
                let ended = worker.tree(part).and_then(|tree| worker.dt_accept(&tree, part));
                let result = TaskResult { best: worker.incumbent.clone(), floor: worker.floor };
                let Gap { value, bound } = queue.finish(place, result, ended.err());
                self.board.publish(self.objective.fraction(value), self.objective.fraction(bound));
                self.board.cover(1.0 / queue.tasks.len() as f64);
            }
            Ok(Worked { stats: worker.stats(), found: worker.found() })
        };
        let worked: Vec<std::result::Result<Worked<S>, Stop>> = std::thread::scope(|scope| {
            let beside = |bytes| work(Stack::here(bytes));
            let others: Vec<_> = (1..self.threads).map_while(|_| self.context.spawn(scope, beside).ok()).collect();
            let here = work(stack);
            let join =
                |other: ScopedJoinHandle<'_, _>| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            others.into_iter().map(join).chain([here]).collect()
        });
        // One worker that could begin has done all tasks.
        let not_begun = worked.iter().all(|worked| worked.is_err()).then(|| self.budget.why_not_begun());
        for worked in worked.into_iter().flatten() {
            stats.add(&worked.stats);
            found.extend(worked.found);
        }
        queue.stopped().or(not_begun)
    }

    fn outcome<S: FeatureSet>(
        &self,
        best: BestSubset<S>,
        found: Vec<FoundTree<S>>,
        floor: u128,
        stats: Stats,
        stopped: Option<Stop>,
    ) -> Outcome {
        let (tree, error) = match found.iter().find(|found| found.subset.features == best.features) {
            Some(found) => (self.context.finish(&found.nodes), found.error),
            // Not even the first tree was finished.
            None => self.context.root(),
        };
        let value = self.objective.value(error, tree.features().len());
        let bound = floor.min(value);
        let status = match stopped {
            Some(stop) => stop.into(),
            None if bound == value => Status::Optimal,
            None => Status::Acceptable,
        };
        Outcome {
            features: self.context.with_required(&tree),
            tree,
            error: self.context.fraction(error),
            objective: self.objective.fraction(value),
            lower_bound: self.objective.fraction(bound),
            status,
            path: Vec::new(),
            stats,
            seconds: self.budget.seconds(),
        }
    }
}
