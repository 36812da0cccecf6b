//! The roots that reach a cost, in the order of the canonical tree.
//!
//! The tests of a node are tried in order with a cutoff just above its cost: those before the first that reaches it are
//! ruled out, mostly by bounds already known. A test may split the cases although it tells no instances apart, if all
//! that it tells apart was cancelled; then it is a split all the same, of a branch that costs nothing.

use smallvec::smallvec;

use super::super::driver::{Root, TreeLimits};
use super::super::problem::Mass;
use super::accumulator::Accumulator;
use super::counts::NONE;
use super::multi_class::branch_costs;
use super::node_budgets::{BudgetCosts, BudgetQuery, NodeBudgets};
use super::subproblem::BinaryNode;
use super::workspace::BinaryEngine;
use crate::bits;
use crate::budget::Stop;
use crate::constraint::shares;

/// Which roots that reach a cost are asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) limits: TreeLimits,
    pub(super) cost: u64,
    /// Those behind this test; `None`: any.
    pub(super) after: Option<u32>,
    /// Whether to leave out tests that tell no instances apart.
    pub(super) only_telling: bool,
}

/// A test that is tried as the root of a node: its position there, and which side of that passes the test.
struct PlacedTest {
    test: usize,
    root: usize,
    passing: usize,
}

impl<M: Mass, L: Accumulator> BinaryEngine<'_, M, L> {
    /// The first test wanted that reaches the cost.
    pub(super) fn next_reaching(&self, node: &mut BinaryNode<L>, wanted: Wanted) -> Result<Option<Root>, Stop> {
        let Wanted { limits, cost, after, only_telling } = wanted;
        let TreeLimits { depth, nodes } = limits;
        let levels = NodeBudgets::new(depth, nodes);
        let costs = self.shallow_costs(node, depth)?;
        let mut cutoffs: BudgetCosts = smallvec![0; levels.len()];
        cutoffs[levels.top()] = cost + 1;
        let ask = BudgetQuery { depth, levels, floors: smallvec![0; levels.len()], cutoffs };
        if depth > 2 {
            if node.open != Some((depth, levels)) {
                self.open(&mut node.buffers, &ask, None)?;
                node.open = Some((depth, levels));
            }
            node.buffers.state.best.clone_from(&ask.cutoffs);
        }
        if after.is_none() {
            node.is_tried.clear();
            node.is_tried.resize(node.buffers.node.layout.stride(), false);
        }
        let mut alone = Vec::new();
        for test in after.map_or(0, |after| after as usize + 1)..self.problem.n_tests {
            let place = node.buffers.node.place_of[self.layout.position(test)];
            if place == NONE {
                // Where a split costs something, or nothing was cancelled, such a test is no good.
                if !only_telling
                    && self.problem.node_penalty == 0
                    && self.problem.min_leaf <= 1
                    && let Some(root) = self.root_without(node, test, limits, cost, &costs, &mut alone)?
                {
                    return Ok(Some(root));
                }
                continue;
            }
            let (root, swapped) = (place as usize / 2, place as usize & 1);
            let shape = self.shape(&node.buffers.node);
            if std::mem::replace(&mut node.is_tried[root], true)
                || !node.buffers.node.counts.singles.admissible(shape, root)
            {
                continue;
            }
            let passing = self.problem.passing_side(test) ^ swapped;
            let found = match depth > 2 {
                true => self.reaches(node, &ask, PlacedTest { test, root, passing }, nodes, cost)?,
                false => {
                    let (of, penalty) = (&node.buffers, self.problem.node_penalty);
                    let branches = branch_costs(shape, &of.node.counts.singles, &of.stumps, penalty, root);
                    let [one, zero] = branches.expect("the root is admissible");
                    let (pass, fail) = if passing == 1 { (one, zero) } else { (zero, one) };
                    let of =
                        |branch: (u64, u64), share: u64| if share == 0 || depth == 1 { branch.0 } else { branch.1 };
                    let with = |(on_pass, on_fail)| Root {
                        test: test as u32,
                        nodes: [on_pass, on_fail],
                        costs: [of(pass, on_pass), of(fail, on_fail)],
                    };
                    shares(depth, nodes, true).map(with).find(|root| root.costs[0] + root.costs[1] + penalty == cost)
                }
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// A root, if it reaches the cost.
    fn reaches(
        &self,
        node: &mut BinaryNode<L>,
        ask: &BudgetQuery,
        PlacedTest { test, root, passing }: PlacedTest,
        nodes: u64,
        cost: u64,
    ) -> Result<Option<Root>, Stop> {
        let branch = ask.levels.branch(ask.depth);
        let penalty = self.problem.node_penalty;
        let BinaryNode { cases, buffers: at, .. } = node;
        if at.state.bounds.least(ask.levels, branch, ask.levels.top(), root) + penalty > cost {
            return Ok(None);
        }
        // In the order of the canonical tree: the smallest share for the passing branch first.
        let shares: Vec<(u64, u64)> = shares(ask.depth, nodes, true).collect();
        let levels = |(pass, fail): (u64, u64)| (branch.of(pass), branch.of(fail));
        let by_side = |&share: &(u64, u64)| {
            let (pass, fail) = levels(share);
            if passing == 1 { (pass, fail) } else { (fail, pass) }
        };
        let by_side: Vec<(usize, usize)> = shares.iter().map(by_side).collect();
        self.try_pairs((at, &cases.path), ask, root, &by_side, cost + 1 - penalty)?;
        let of = |side: usize, level: usize| at.state.bounds.of(side, level, root);
        Ok(shares.into_iter().find_map(|share| {
            let (pass, fail) = levels(share);
            let costs = [of(passing, pass), of(1 - passing, fail)];
            let nodes = [share.0, share.1];
            (costs[0] + costs[1] + penalty == cost).then_some(Root { test: test as u32, nodes, costs })
        }))
    }

    /// A test that tells no instances apart, but cases: the branch of all instances must reach the cost alone, and the
    /// other costs nothing. `alone` remembers which numbers of nodes are enough for that; `costs` are those of trees of
    /// depth two.
    fn root_without(
        &self,
        node: &BinaryNode<L>,
        test: usize,
        limits: TreeLimits,
        cost: u64,
        costs: &[u64; 4],
        alone: &mut Vec<(u64, bool)>,
    ) -> Result<Option<Root>, Stop> {
        if self.problem.split(&node.cases, test).iter().any(|side| side.rows.is_empty()) {
            return Ok(None);
        }
        let row = self.instances.rows[node.buffers.node.ids[0] as usize];
        let all = usize::from(bits::get(self.problem.bits(row), test));
        let passes = all == self.problem.passing_side(test);
        for (on_pass, on_fail) in shares(limits.depth, limits.nodes, true) {
            let of_all = if passes { on_pass } else { on_fail };
            let known = alone.iter().find(|known| known.0 == of_all).map(|known| known.1);
            let reaches = match known {
                Some(reaches) => reaches,
                None => {
                    let below = limits.branch(of_all);
                    let least = match below.depth <= 2 {
                        true => costs[below.nodes as usize],
                        false => {
                            let mut copy = BinaryNode::new(node.cases.clone(), self.nodes.take());
                            let least = self.least(&mut copy, below, cost + 1)?;
                            self.nodes.give(copy.buffers);
                            least
                        }
                    };
                    alone.push((of_all, least == cost));
                    least == cost
                }
            };
            if reaches {
                let costs = if passes { [cost, 0] } else { [0, cost] };
                return Ok(Some(Root { test: test as u32, nodes: [on_pass, on_fail], costs }));
            }
        }
        Ok(None)
    }
}
