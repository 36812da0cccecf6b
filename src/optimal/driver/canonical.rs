//! From least costs to a tree: the canonical one.
//!
//! It is defined top-down from least costs alone, so that it depends on no order of search, thread or platform: at a
//! node with its remaining limits a leaf, if a leaf costs the least; else the first test in column-then-cut order whose
//! branches' least costs add up to the node's; then the passing branch, then the failing one. Where a node budget
//! binds, the passing branch gets the smallest share that allows the cost, be it 0, and the failing one the rest.

use super::{Root, Solver, TreeLimits};
use crate::budget::Stop;
use crate::optimal::shape::Shape;

/// The canonical tree of a node, given its cost, which is the least.
pub(in crate::optimal) fn canonical<S: Solver + ?Sized>(
    solver: &mut S,
    node: &mut S::Node,
    limits: TreeLimits,
    cost: u64,
) -> Result<Shape, Stop> {
    if limits.depth == 0 || solver.leaf(node) == cost {
        return Ok(Shape::Leaf);
    }
    let root = solver.first_root(node, limits, cost)?;
    canonical_below(solver, node, limits, root)
}

/// The canonical tree under a root that was found.
pub(in crate::optimal) fn canonical_below<S: Solver + ?Sized>(
    solver: &mut S,
    node: &mut S::Node,
    limits: TreeLimits,
    root: Root,
) -> Result<Shape, Stop> {
    let mut below = |side: usize| {
        let limits = limits.branch(root.nodes[side]);
        if limits.depth == 0 {
            return Ok(Shape::Leaf);
        }
        let mut branch = solver.branch(node, root.test, side == 0)?;
        let shape = canonical(solver, &mut branch, limits, root.costs[side]);
        solver.release(branch);
        shape
    };
    Ok(Shape::Split(root.test, Box::new([below(0)?, below(1)?])))
}
