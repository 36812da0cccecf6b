//! The best tree so far and what is proved so far, published while the search runs.

use std::sync::{Mutex, MutexGuard};

use super::shape::Shape;
use crate::budget::Budget;
use crate::objective::{CostScale, Objective};
use crate::threads::{held, lock};

/// What a running search can tell. Objective and bound are in the user's numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Seconds since the start.
    pub seconds: f64,
    /// The objective of the best tree so far; `None` before there is one.
    pub objective: Option<f64>,
    /// No tree has a smaller objective.
    pub lower_bound: f64,
    /// Search nodes visited.
    pub nodes: u64,
}

/// Where a search publishes; others read it at any time.
#[derive(Debug, Default)]
pub struct Board {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    objective: Option<f64>,
    lower_bound: f64,
    /// Bounds are told no higher than this, if tests were left out.
    most: Option<f64>,
    trace: Vec<(f64, f64, f64)>,
}

impl Board {
    /// An empty board: no tree, bound 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a bound before there is a tree.
    pub(super) fn begin(&self, lower_bound: f64) {
        self.lock().lower_bound = lower_bound;
    }

    /// From now on tells bounds no higher than this: those of the search are about the tests offered, which are not all.
    pub(super) fn cap(&self, most: f64) {
        self.lock().most = Some(most);
    }

    /// What is known now.
    pub fn progress(&self, budget: &Budget) -> Progress {
        let state = self.lock();
        Progress {
            seconds: budget.seconds(),
            objective: state.objective,
            lower_bound: state.lower_bound,
            nodes: budget.nodes(),
        }
    }

    /// (seconds, objective, lower bound) at each change, in order of time.
    pub fn trace(&self) -> Vec<(f64, f64, f64)> {
        self.lock().trace.clone()
    }

    pub(super) fn publish(&self, seconds: f64, objective: f64, lower_bound: f64) {
        let mut state = self.lock();
        // A greedy tree may have been better than those that the search has come to.
        let objective = state.objective.map_or(objective, |best| best.min(objective));
        let lower_bound = lower_bound.min(objective).min(state.most.unwrap_or(f64::INFINITY));
        if state.objective != Some(objective) || state.lower_bound != lower_bound {
            (state.objective, state.lower_bound) = (Some(objective), lower_bound);
            state.trace.push((seconds, objective, lower_bound));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// The best tree so far.
#[derive(Debug, Clone)]
pub(super) struct Incumbent {
    pub(super) shape: Shape,
    pub(super) cost: u64,
    pub(super) bound: u64,
}

/// Keeps the incumbent of a search and publishes it. Engines tell it costs without `constant`, which all trees cost.
pub(super) struct Anytime<'a> {
    incumbent: Mutex<Incumbent>,
    constant: u64,
    board: &'a Board,
    budget: &'a Budget,
    scale: &'a CostScale,
}

impl<'a> Anytime<'a> {
    /// Starts from a single leaf of this cost and a bound on all trees.
    pub(super) fn new(
        leaf: u64,
        bound: u64,
        objective: &'a dyn Objective,
        board: &'a Board,
        budget: &'a Budget,
    ) -> Self {
        let incumbent = Incumbent { shape: Shape::Leaf, cost: leaf, bound: bound.min(leaf) };
        let anytime =
            Anytime { incumbent: Mutex::new(incumbent), constant: 0, board, budget, scale: objective.scale() };
        anytime.update(|_| {});
        anytime
    }

    /// From now on costs are told without this, which an engine took away from those of all trees.
    pub(super) fn without(&mut self, constant: u64) {
        self.constant = constant;
    }

    /// The cost of the best tree.
    pub(super) fn cost(&self) -> u64 {
        self.lock().cost - self.constant
    }

    /// The best tree.
    pub(super) fn shape(&self) -> Shape {
        self.lock().shape.clone()
    }

    pub(super) fn finish(self) -> Incumbent {
        held(self.incumbent.into_inner())
    }

    /// Takes a tree if it is the best so far.
    pub(super) fn offer(&self, shape: Shape, cost: u64) {
        let cost = cost + self.constant;
        self.update(|incumbent| {
            if cost < incumbent.cost {
                (incumbent.shape, incumbent.cost) = (shape, cost);
            }
        });
    }

    /// Takes a tree in place of the best so far, of the same cost.
    pub(super) fn replace(&self, shape: Shape, cost: u64) {
        let cost = cost + self.constant;
        self.update(|incumbent| {
            debug_assert!(cost <= incumbent.cost);
            (incumbent.shape, incumbent.cost) = (shape, cost);
        });
    }

    /// Takes a bound on all trees. It cannot exceed the cost of a tree in hand.
    pub(super) fn prove(&self, bound: u64) {
        let bound = bound.saturating_add(self.constant);
        self.update(|incumbent| incumbent.bound = incumbent.bound.max(bound.min(incumbent.cost)));
    }

    fn update(&self, change: impl FnOnce(&mut Incumbent)) {
        let mut incumbent = self.lock();
        change(&mut incumbent);
        let (objective, bound) = (self.scale.value(incumbent.cost), self.scale.value(incumbent.bound));
        self.board.publish(self.budget.seconds(), objective, bound);
    }

    fn lock(&self) -> MutexGuard<'_, Incumbent> {
        lock(&self.incumbent)
    }
}
