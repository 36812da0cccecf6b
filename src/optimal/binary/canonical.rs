//! From least costs to the canonical tree, which is defined in [`super::super::reference::canonical`].
//!
//! The tests of a node are tried in order with a cutoff just above its cost: those before the first that reaches it are
//! ruled out, mostly by bounds already known. A test may split the cases although it tells no instances apart, if all
//! that it tells apart was cancelled; then it is a split all the same, of a branch that costs nothing.

use smallvec::smallvec;

use super::super::problem::{Cases, Mass};
use super::super::shape::Shape;
use super::accumulator::Accumulator;
use super::multi_class::branch_costs;
use super::node::NONE;
use super::node_budgets::NodeBudgets;
use super::workspace::{BinaryEngine, BudgetCosts, NodeBuffers, Query};
use crate::bits;
use crate::budget::Stop;
use crate::constraint::{shares, usable};

/// A root, with the nodes and the costs of its passing and failing branch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub(super) test: usize,
    pub(super) share: (u64, u64),
    pub(super) costs: (u64, u64),
}

impl<M: Mass, L: Accumulator> BinaryEngine<'_, M, L> {
    /// The canonical tree over these cases, given its cost (without what was cancelled), which is the least.
    pub(super) fn rebuild(&self, cases: &Cases, depth: u32, nodes: u64, cost: u64) -> Result<Shape, Stop> {
        let (depth, nodes) = usable(depth, nodes);
        let ids = self.instances.of_rows(&cases.rows);
        if cost == self.leaf_of(&ids, &self.instances.starts(&ids)) {
            return Ok(Shape::Leaf);
        }
        let mut at = self.nodes.take();
        self.root_node(ids, &mut at.node)?;
        let found = self.first(cases, &mut at, depth, nodes, cost, false);
        self.nodes.give(at);
        self.rebuild_below(cases, found?, depth)
    }

    /// The canonical tree under a root that was found.
    pub(super) fn rebuild_below(&self, cases: &Cases, found: Found, depth: u32) -> Result<Shape, Stop> {
        let sides = self.problem.split(cases, found.test);
        let passing = self.problem.passing_side(found.test);
        let pass = self.rebuild(&sides[passing], depth - 1, found.share.0, found.costs.0)?;
        let fail = self.rebuild(&sides[1 - passing], depth - 1, found.share.1, found.costs.1)?;
        Ok(Shape::Split(found.test as u32, Box::new([pass, fail])))
    }

    /// The first test that reaches the cost. The node covers all tests; if `is_open`, its state holds true bounds.
    pub(super) fn first(
        &self,
        cases: &Cases,
        at: &mut NodeBuffers<L>,
        depth: u32,
        nodes: u64,
        cost: u64,
        is_open: bool,
    ) -> Result<Found, Stop> {
        let shape = self.shape(&at.node);
        let levels = NodeBudgets::new(depth, nodes);
        let costs = self.shallow(at)?;
        let mut cutoffs: BudgetCosts = smallvec![0; levels.len()];
        cutoffs[levels.top()] = cost + 1;
        let ask = Query { depth, levels, floors: smallvec![0; levels.len()], cutoffs };
        if depth > 2 {
            if !is_open {
                self.open(at, &ask, None);
            }
            at.state.best.clone_from(&ask.cutoffs);
        }
        let mut alone = Vec::new();
        let mut ruled_out = vec![false; at.node.layout.stride()];
        for test in 0..self.problem.n_tests {
            let place = at.node.place_of[self.layout.position(test)];
            if place == NONE {
                // Where a split costs something, or nothing was cancelled, such a test is no good.
                if self.problem.node_penalty == 0 && self.problem.min_leaf <= 1 {
                    let of = (cases, &at.node.ids[..]);
                    if let Some(found) = self.first_without(of, test, (depth, nodes), cost, &costs, &mut alone)? {
                        return Ok(found);
                    }
                }
                continue;
            }
            let (root, swapped) = (place as usize / 2, place as usize & 1);
            if ruled_out[root] || !at.node.singles.admissible(shape, root) {
                continue;
            }
            ruled_out[root] = true;
            let passing = self.problem.passing_side(test) ^ swapped;
            let found = match depth > 2 {
                true => self.reaches((at, &cases.path), &ask, root, passing, nodes, cost)?,
                false => {
                    let branches = branch_costs(shape, &at.node.singles, &at.stumps, self.problem.node_penalty, root);
                    let [one, zero] = branches.expect("the root is admissible");
                    let (pass, fail) = if passing == 1 { (one, zero) } else { (zero, one) };
                    let of =
                        |branch: (u64, u64), share: u64| if share == 0 || depth == 1 { branch.0 } else { branch.1 };
                    shares(depth, nodes, true)
                        .map(|share| (share, (of(pass, share.0), of(fail, share.1))))
                        .find(|(_, costs)| costs.0 + costs.1 + self.problem.node_penalty == cost)
                }
            };
            if let Some((share, costs)) = found {
                return Ok(Found { test, share, costs });
            }
        }
        unreachable!("a cost below that of a leaf is that of some split")
    }

    /// The shares and costs of the branches of a root, if it reaches the cost.
    fn reaches(
        &self,
        (at, path): (&mut NodeBuffers<L>, &[u32]),
        ask: &Query,
        root: usize,
        passing: usize,
        nodes: u64,
        cost: u64,
    ) -> Result<Option<(Pair, Pair)>, Stop> {
        let branch = ask.levels.branch(ask.depth);
        let penalty = self.problem.node_penalty;
        if at.state.bounds.least(ask.levels, branch, ask.levels.top(), root) + penalty > cost {
            return Ok(None);
        }
        // In the order of the canonical tree: the smallest share for the passing branch first.
        let shares: Vec<Pair> = shares(ask.depth, nodes, true).collect();
        let levels = |share: Pair| (branch.of(share.0), branch.of(share.1));
        let by_side = |share: &Pair| {
            let (pass, fail) = levels(*share);
            if passing == 1 { (pass, fail) } else { (fail, pass) }
        };
        self.try_pairs((at, path), ask, root, &shares.iter().map(by_side).collect::<Vec<_>>(), cost + 1 - penalty)?;
        let of = |side: usize, level: usize| at.state.bounds.of(side, level, root);
        Ok(shares.into_iter().find_map(|share| {
            let (pass, fail) = levels(share);
            let costs = (of(passing, pass), of(1 - passing, fail));
            (costs.0 + costs.1 + penalty == cost).then_some((share, costs))
        }))
    }

    /// A test that tells no instances apart, but cases: the branch of all instances must reach the cost alone, and the
    /// other costs nothing. `alone` remembers which numbers of nodes are enough for that.
    fn first_without(
        &self,
        (cases, ids): (&Cases, &[u32]),
        test: usize,
        (depth, nodes): (u32, u64),
        cost: u64,
        costs: &[u64; 4],
        alone: &mut Vec<(u64, bool)>,
    ) -> Result<Option<Found>, Stop> {
        let sides = self.problem.split(cases, test);
        if sides.iter().any(|side| side.rows.is_empty()) {
            return Ok(None);
        }
        let row = self.instances.rows[ids[0] as usize];
        let all = usize::from(bits::get(self.problem.bits(row), test));
        let passes = all == self.problem.passing_side(test);
        for share in shares(depth, nodes, true) {
            let of_all = if passes { share.0 } else { share.1 };
            let known = alone.iter().find(|known| known.0 == of_all).map(|known| known.1);
            let reaches = match known {
                Some(reaches) => reaches,
                None => {
                    let reaches = self.reaches_alone((cases, ids), (depth - 1, of_all), cost, costs)?;
                    alone.push((of_all, reaches));
                    reaches
                }
            };
            if reaches {
                return Ok(Some(Found { test, share, costs: if passes { (cost, 0) } else { (0, cost) } }));
            }
        }
        Ok(None)
    }

    /// Whether a tree within smaller limits costs as little. `costs` are those of trees of depth two.
    fn reaches_alone(
        &self,
        (cases, ids): (&Cases, &[u32]),
        limits: (u32, u64),
        cost: u64,
        costs: &[u64; 4],
    ) -> Result<bool, Stop> {
        let (depth, nodes) = usable(limits.0, limits.1);
        if depth <= 2 {
            return Ok(costs[nodes as usize] == cost);
        }
        let levels = NodeBudgets::new(depth, nodes);
        let mut cutoffs: BudgetCosts = smallvec![0; levels.len()];
        cutoffs[levels.top()] = cost + 1;
        let ask = Query { depth, levels, floors: smallvec![0; levels.len()], cutoffs };
        let mut at = self.nodes.take();
        self.root_node(ids.to_vec(), &mut at.node)?;
        let values = self.solve(&mut at, &ask, None, None, &cases.path)?;
        self.nodes.give(at);
        Ok(values[levels.top()] == cost)
    }
}

type Pair = (u64, u64);
