//! From least costs to a tree: the canonical one.
//!
//! It is defined top-down from least costs alone, so that it depends on no order of search, thread or platform: at a
//! node with its remaining limits a leaf, if a leaf costs the least; else the first test in column-then-cut order whose
//! branches' least costs add up to the node's; then the passing branch, then the failing one. Where a node budget binds,
//! the passing branch gets the smallest share that allows the cost, be it 0, and the failing one the rest.

use super::super::problem::{Cases, Mass};
use super::super::shape::Shape;
use super::engine::ReferenceEngine;
use super::node::{Branching, Found, Goal};
use crate::budget::Stop;
use crate::constraint::{shares, usable};

impl<M: Mass> ReferenceEngine<'_, M> {
    /// The canonical tree over these cases, given its cost, which is the least.
    pub(in crate::optimal) fn rebuild(&self, cases: &Cases, depth: u32, nodes: u64, cost: u64) -> Result<Shape, Stop> {
        let (depth, nodes) = usable(depth, nodes);
        if cost == self.problem.leaf(&self.problem.totals(cases)) {
            return Ok(Shape::Leaf);
        }
        let found = if self.depth_two && depth <= 2 {
            self.first_of_depth_two(cases, depth, nodes, cost)?
        } else {
            Branching::new(self, cases, depth, nodes, Goal::First(cost), None).first()?
        };
        let root = found.expect("a cost below that of a leaf is that of some split");
        let sides = self.problem.split(cases, root.test);
        let passing = self.problem.passing_side(root.test);
        self.rebuild_below(root, [&sides[passing], &sides[1 - passing]], depth)
    }

    /// The canonical tree under a root that was found, given the cases of its branches, passing first.
    pub(in crate::optimal) fn rebuild_below(
        &self,
        root: Found,
        branches: [&Cases; 2],
        depth: u32,
    ) -> Result<Shape, Stop> {
        let pass = self.rebuild(branches[0], depth - 1, root.share.0, root.costs.0)?;
        let fail = self.rebuild(branches[1], depth - 1, root.share.1, root.costs.1)?;
        Ok(Shape::Split(root.test as u32, Box::new([pass, fail])))
    }

    /// [`Branching::first`] for depth one and two, from pair counts.
    fn first_of_depth_two(&self, cases: &Cases, depth: u32, nodes: u64, cost: u64) -> Result<Option<Found>, Stop> {
        self.with_scratch(|scratch| {
            self.roots(cases, depth, scratch)?;
            let roots = &scratch.roots;
            for test in 0..self.problem.n_tests {
                let passing = self.problem.passing_side(test);
                let costs = |share: (u64, u64)| {
                    (roots.branch_cost(test, passing, share.0), roots.branch_cost(test, 1 - passing, share.1))
                };
                let reaches = |&share: &(u64, u64)| {
                    let (pass, fail) = costs(share);
                    pass + fail + self.problem.node_penalty == cost
                };
                if let Some(share) = shares(depth, nodes, true).find(reaches) {
                    // A test that all cases pass, or all fail, is no split.
                    if self.problem.split(cases, test).iter().all(|side| !side.rows.is_empty()) {
                        return Ok(Some(Found { test, share, costs: costs(share) }));
                    }
                }
            }
            Ok(None)
        })
    }
}
