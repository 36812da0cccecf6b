//! The smallest of the trees of least cost, from the roots that reach it.
//!
//! Costs are ordered by what leaves cost, then by nodes. Where the number of nodes is free, each branch of a best tree
//! costs the least there is for it: else a better branch would make a better tree. So the smallest best tree of a node
//! has, below some root that reaches the least cost, the smallest best trees of both branches. Of those of equal size
//! the one with the first root is the canonical tree within so many nodes: with fewer nodes than the smallest needs no
//! branch reaches its cost, so that the shares of both are settled.

use super::{Root, Solver, TreeLimits, canonical};
use crate::budget::Stop;
use crate::optimal::shape::Shape;

/// The smallest tree of this cost, which is the least, if there is one of fewer nodes than `enough`.
pub(super) fn smaller<S: Solver>(
    solver: &mut S,
    node: &mut S::Node,
    limits: TreeLimits,
    cost: u64,
    enough: u64,
) -> Result<Option<Shape>, Stop> {
    // A tree that costs less than a leaf has a node.
    if enough < 2 {
        return Ok(None);
    }
    if let Some(found) = solver.smallest_by_ties(node, limits, cost, enough - 1)? {
        return Ok(found);
    }
    let fewest = solver.fewest_nodes(node, limits, cost, enough)?;
    if fewest == enough {
        return Ok(None);
    }
    canonical(solver, node, TreeLimits::new(limits.depth, fewest), cost).map(Some)
}

/// An engine that can tell all roots that reach a cost, one after the other.
pub(in crate::optimal) trait Ties: Solver {
    /// [`Solver::first_root`] among the tests after one, with the nodes free; `None` if there is none. A test that
    /// tells no cases apart whose labels matter is left out: a tree without it is smaller.
    fn next_root(
        &mut self,
        node: &mut Self::Node,
        depth: u32,
        cost: u64,
        after: Option<u32>,
    ) -> Result<Option<Root>, Stop>;

    /// How many cases a node has, about.
    fn n_cases(&self, node: &Self::Node) -> usize;

    /// Whether to look no further: there are too many ties.
    fn gives_up(&self) -> bool;
}

/// The smallest tree of this cost, which is the least for this depth, if it has at most so many nodes. `None` also if
/// the engine gives up.
pub(in crate::optimal) fn by_ties<S: Ties>(
    solver: &mut S,
    node: &mut S::Node,
    depth: u32,
    cost: u64,
    mut most: u64,
) -> Result<Option<Shape>, Stop> {
    if solver.leaf(node) == cost {
        return Ok(Some(Shape::Leaf));
    }
    // Trees of one and two nodes are no deeper than two, and found as those are.
    let few = if depth > 2 { 2 } else { TreeLimits::of_depth(depth).nodes };
    for nodes in 1..=few.min(most) {
        let limits = TreeLimits::new(depth, nodes);
        if solver.solve(node, limits, cost + 1)? == cost {
            return canonical(solver, node, limits, cost).map(Some);
        }
    }
    let (mut found, mut after) = (None, None);
    while most > few && !solver.gives_up() {
        let Some(root) = solver.next_root(node, depth, cost, after)? else { break };
        after = Some(root.test);
        let mut branches = [solver.branch(node, root.test, true)?, solver.branch(node, root.test, false)?];
        // A branch takes no node if a leaf does, else one at least.
        let needs = [0, 1].map(|side| u64::from(solver.leaf(&branches[side]) > root.costs[side]));
        // The smaller branch first: it takes less time.
        let first = usize::from(solver.n_cases(&branches[1]) < solver.n_cases(&branches[0]));
        let mut shapes = [None, None];
        let mut left = most - 1;
        for side in [first, 1 - first] {
            let reserved = if side == first { needs[1 - first] } else { 0 };
            let Some(left_for_it) = left.checked_sub(reserved).filter(|&left| left >= needs[side]) else { break };
            let branch = &mut branches[side];
            let Some(shape) = by_ties(solver, branch, depth - 1, root.costs[side], left_for_it)? else { break };
            left -= shape.n_nodes();
            shapes[side] = Some(shape);
        }
        branches.into_iter().for_each(|branch| solver.release(branch));
        if let [Some(pass), Some(fail)] = shapes {
            let shape = Shape::Split(root.test, Box::new([pass, fail]));
            most = shape.n_nodes() - 1;
            found = Some(shape);
        }
    }
    Ok(found)
}
