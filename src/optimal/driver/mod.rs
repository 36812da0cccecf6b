//! One driver for all engines: first trees, deepening, the proof, and the tree that users get.
//!
//! A [`Solver`] answers questions about subproblems: what trees within given limits cost at least on some cases, and
//! which root comes first among those that reach a cost. The driver asks them in order: `limited` for first trees, then
//! the least cost for one depth after the other, with `local` for better trees where a limit allows no proof, then
//! `canonical` for the tree that is defined by least costs alone, and `smallest` for the one of the fewest nodes.

mod canonical;
mod limited;
mod local;
mod smallest;

use std::collections::BTreeMap;

use super::params::{Effort, Rank};
use super::progress::Anytime;
use super::shape::Shape;
use crate::budget::{Budget, Stop};
use crate::constraint::{full, usable};

pub(super) use canonical::{canonical, canonical_below};
pub(super) use smallest::{Ties, by_ties};

/// The most depth and internal nodes of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TreeLimits {
    pub(super) depth: u32,
    pub(super) nodes: u64,
}

impl TreeLimits {
    /// What a tree within these limits can make use of.
    pub(super) fn new(depth: u32, nodes: u64) -> Self {
        let (depth, nodes) = usable(depth, nodes);
        TreeLimits { depth, nodes }
    }

    /// As many nodes as the depth allows.
    pub(super) fn of_depth(depth: u32) -> Self {
        TreeLimits { depth, nodes: full(depth) }
    }

    /// Whether only the depth limits the nodes.
    pub(super) fn is_free(self) -> bool {
        self.nodes >= full(self.depth)
    }

    /// The limits of a branch that is given so many nodes.
    pub(super) fn branch(self, nodes: u64) -> Self {
        TreeLimits::new(self.depth - 1, nodes)
    }
}

/// A root that reaches a cost: for its passing and its failing branch, the nodes it is given and its least cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Root {
    pub(super) test: u32,
    pub(super) nodes: [u64; 2],
    pub(super) costs: [u64; 2],
}

/// An engine, as the driver sees it. Costs are without what the engine took away from those of all trees.
pub(super) trait Solver {
    /// The cases of a subproblem, with what is known of them.
    type Node;

    fn budget(&self) -> &Budget;

    /// What an internal node costs.
    fn node_penalty(&self) -> u64;

    /// The cost of a leaf.
    fn leaf(&self, node: &Self::Node) -> u64;

    /// The least cost of a tree, if that is below the cutoff; else a lower bound that is not.
    fn solve(&mut self, node: &mut Self::Node, limits: TreeLimits, cutoff: u64) -> Result<u64, Stop>;

    /// The first test, in column-then-cut order, whose branches' least costs add up to the node's, which is given and
    /// below that of a leaf. Where the number of nodes binds, the passing branch gets the smallest share that allows
    /// the cost.
    fn first_root(&mut self, node: &mut Self::Node, limits: TreeLimits, cost: u64) -> Result<Root, Stop>;

    /// The cases that pass a test of the node, or those that fail it.
    fn branch(&mut self, node: &mut Self::Node, test: u32, passes: bool) -> Result<Self::Node, Stop>;

    /// Takes back the buffers of a node.
    fn release(&mut self, _node: Self::Node) {}

    /// A tree of least cost, whichever, and its cost, if that is below the cutoff.
    fn best_tree(
        &mut self,
        node: &mut Self::Node,
        limits: TreeLimits,
        cutoff: u64,
    ) -> Result<Option<(Shape, u64)>, Stop> {
        let cost = self.solve(node, limits, cutoff)?;
        Ok(if cost < cutoff { Some((canonical(self, node, limits, cost)?, cost)) } else { None })
    }

    /// How many tests there are.
    fn n_tests(&self) -> u64;

    /// Up to which depth trees are found fast enough to be found again and again.
    fn exact_depth(&self) -> u32 {
        2
    }

    /// Whether a test splits the cases of a node into branches that are large enough.
    fn splits(&mut self, node: &mut Self::Node, test: u32) -> Result<bool, Stop>;

    /// The roots of the best trees of depth two, the best first, no more than `most`; each splits the cases.
    fn promising(&mut self, node: &mut Self::Node, limits: TreeLimits, most: usize) -> Result<Vec<u32>, Stop>;

    /// Whether a search of this depth takes so long that first trees are worth looking for.
    fn is_long(&self, depth: u32) -> bool;

    /// The depth of the first of the searches that end with one of this depth: shallower ones take a small part of the
    /// time and give incumbents that cut the deeper ones short.
    fn first_depth(&self, depth: u32) -> u32;

    /// How many times as long the search for one more level takes, at least and at most, as a rule.
    fn times_per_level(&self) -> [f64; 2];

    /// The least cost for all cases, if that is below `known`, else `known`. Offers the trees that it finds on the way;
    /// if `proves`, its bounds are bounds on all trees asked for.
    fn deepen(
        &mut self,
        root: &mut Self::Node,
        limits: TreeLimits,
        known: u64,
        anytime: &Anytime,
        proves: bool,
    ) -> Result<u64, Stop>;

    /// The fewest nodes of a tree of this cost, which is the least, given that so many are enough.
    fn fewest_nodes(&mut self, node: &mut Self::Node, limits: TreeLimits, cost: u64, enough: u64) -> Result<u64, Stop> {
        // Algorithm 7 of MurTree.
        let mut fewest = enough;
        while fewest > 0 && self.solve(node, TreeLimits::new(limits.depth, fewest - 1), cost + 1)? == cost {
            fewest -= 1;
        }
        Ok(fewest)
    }

    /// The smallest tree of this cost, which is the least, from the roots that tie, if there is one of at most so many
    /// nodes. The outer option is `None` where the engine does not look for ties, or gives up.
    fn smallest_by_ties(
        &mut self,
        _node: &mut Self::Node,
        _limits: TreeLimits,
        _cost: u64,
        _most: u64,
    ) -> Result<Option<Option<Shape>>, Stop> {
        Ok(None)
    }
}

/// Which of the trees, and how thoroughly to look for good ones before the proof.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    pub(super) limits: TreeLimits,
    pub(super) rank: Rank,
    /// The most discrepancies of the passes before the proof; `None`: no passes.
    pub(super) discrepancies: Option<u32>,
    pub(super) effort: Effort,
    /// Of the neighbourhood search.
    pub(super) seed: u64,
}

/// What the parts of a search took: seconds, and steps of the neighbourhood search.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Timing {
    pub(super) proof: f64,
    pub(super) rebuild: f64,
    pub(super) steps: u64,
}

impl Timing {
    /// Adds them to the counters of a run, in microseconds.
    pub(super) fn tell(self, stats: &mut BTreeMap<&'static str, u64>) {
        stats.insert("proof_us", (self.proof * 1e6) as u64);
        stats.insert("rebuild_us", (self.rebuild * 1e6) as u64);
    }
}

/// The part of the limits that is for better trees where those allow no proof, and where they may.
const FOR_TREES: f64 = 0.85;
const BESIDE_PROOF: f64 = 0.1;

/// The part where there is to be no proof: what is left is for the tree as users see it.
const FOR_TREES_ALONE: f64 = 0.95;
/// Steps of the neighbourhood search where there is to be no proof, and no limit of time or nodes.
const STEPS: u64 = 2000;

/// Finds a tree of least cost, proves it, and leaves the tree that users get with `anytime`; or what it had when a
/// limit struck.
pub(super) fn search<S: Solver>(
    solver: &mut S,
    root: &mut S::Node,
    request: Request,
    anytime: &Anytime,
    timing: &mut Timing,
) -> Result<(), Stop> {
    let Request { limits, rank, discrepancies, effort, seed } = request;
    solver.budget().check()?;
    // Down to that depth a proof takes no longer than a good tree, and the neighbourhood search has no limit of nodes.
    if effort == Effort::Tree && limits.depth > solver.exact_depth() && limits.is_free() {
        return find(solver, root, request, anytime, &mut timing.steps);
    }
    let started = solver.budget().seconds();
    let mut cost = solver.leaf(root);
    if limits.depth > 0 && cost > solver.node_penalty() {
        // A tree of depth three is found about as fast.
        let first = (limits.depth > 3 && solver.is_long(limits.depth)).then_some(0);
        if let Some(most) = discrepancies.max(first) {
            limited::offer(solver, root, limits, most, anytime)?;
        }
        let first_depth = solver.first_depth(limits.depth);
        // Which part of the limits the last depth took.
        let mut took = 0.0;
        for depth in first_depth..=limits.depth {
            let (used, levels) = (solver.budget().used(), limits.depth + 1 - depth);
            let needs = |times: f64| took * times.powi(levels as i32);
            let [least, most] = solver.times_per_level();
            if depth > first_depth && needs(most) > 1.0 - used {
                // The proof may be out of reach, or is: better trees are not.
                let part = if needs(least) > 1.0 - used { FOR_TREES } else { BESIDE_PROOF };
                let all = (1.0 - used) * part;
                let spent = |budget: &Budget, _| (budget.used() - used) / all;
                local::improve(solver, root, limits, anytime, seed, spent, &mut timing.steps)?;
            }
            let (is_last, started) = (depth == limits.depth, solver.budget().used());
            let known = cost.min(anytime.cost());
            cost = solver.deepen(root, TreeLimits::new(depth, limits.nodes), known, anytime, is_last)?;
            took = solver.budget().used() - started;
        }
    }
    anytime.prove(cost);
    timing.proof = solver.budget().seconds() - started;
    let mut shape = canonical(solver, root, limits, cost)?;
    if rank == Rank::ObjectiveThenNodes {
        anytime.replace(shape.clone(), cost);
        if let Some(smaller) = smallest::smaller(solver, root, limits, cost, shape.n_nodes())? {
            shape = smaller;
        }
    }
    anytime.replace(shape, cost);
    timing.rebuild = solver.budget().seconds() - started - timing.proof;
    Ok(())
}

/// Finds as good a tree as the limits allow, and proves nothing: from looking ahead and from the best tree of the depth
/// that is found exactly, by the neighbourhood search. That a limit strikes is its end.
fn find<S: Solver>(
    solver: &mut S,
    root: &mut S::Node,
    request: Request,
    anytime: &Anytime,
    steps: &mut u64,
) -> Result<(), Stop> {
    let Request { limits, discrepancies, seed, .. } = request;
    let mut look = || {
        limited::offer(solver, root, limits, discrepancies.unwrap_or(0), anytime)?;
        let shallow = TreeLimits::of_depth(solver.exact_depth());
        if let Some((shape, cost)) = solver.best_tree(root, shallow, anytime.cost())? {
            anytime.offer(shape, cost);
        }
        let used = solver.budget().used();
        let spent = |budget: &Budget, steps: u64| match budget.is_limited() {
            true => (budget.used() - used) / ((1.0 - used) * FOR_TREES_ALONE),
            false => steps as f64 / STEPS as f64,
        };
        local::improve(solver, root, limits, anytime, seed, spent, steps)
    };
    match look() {
        Err(Stop::Time | Stop::Nodes) => Ok(()),
        result => result,
    }
}
