//! The bounds of a node against the reference.

use super::super::bound_check::{BoundCheck, Reason};
use super::super::driver::TreeLimits;
use super::super::problem::{Cases, Mass};
use super::accumulator::Accumulator;
use super::node::Node;
use super::node_budgets::{BudgetCosts, BudgetQuery};
use super::root_bounds::RootBounds;
use super::workspace::BinaryEngine;

impl<M: Mass, L: Accumulator> BinaryEngine<'_, M, L> {
    /// Names the reason of bounds on the roots of a node that were raised; checks them, where bounds are checked.
    #[inline(always)]
    pub(super) fn check_roots(&self, reason: Reason, node: &Node<L>, ask: &BudgetQuery, bounds: &RootBounds<L>) {
        if let Some(check) = &self.check {
            self.compare_roots(check, reason, node, ask, bounds);
        }
    }

    /// Names the reason of the values of a node; checks them alike.
    #[inline(always)]
    pub(super) fn check_values(&self, reason: Reason, node: &Node<L>, ask: &BudgetQuery, values: &BudgetCosts) {
        if let Some(check) = &self.check {
            let rows = self.rows_of(node);
            for (level, &value) in values.iter().enumerate() {
                let limits = TreeLimits::new(ask.depth, ask.levels.nodes(ask.depth, level));
                let least = check.least(&rows, limits) - self.cancelled(check, node, &rows);
                check.compare(reason, value, least, || format!("{limits:?} of rows {rows:?}"));
                let is_exact = value < ask.cutoffs[level];
                assert!(!is_exact || value == least, "{value} below the cutoff is not {least}");
            }
        }
    }

    #[cold]
    fn compare_roots(
        &self,
        check: &BoundCheck<M>,
        reason: Reason,
        node: &Node<L>,
        ask: &BudgetQuery,
        bounds: &RootBounds<L>,
    ) {
        let (depth, branch) = (ask.depth, ask.levels.branch(ask.depth));
        let shape = self.shape(node);
        let cases = Cases { rows: self.rows_of(node), path: vec![] };
        for root in node.live.iter().map(|&root| root as usize) {
            if !node.counts.singles.admissible(shape, root) {
                continue;
            }
            let sides = self.problem.split(&cases, node.test[root] as usize).map(|side| side.rows);
            let cancelled = [0, 1].map(|side| self.cancelled(check, node, &sides[side]));
            let least = |side: usize, level: usize| {
                let limits = TreeLimits::new(depth - 1, branch.nodes(depth - 1, level));
                check.least(&sides[side], limits) - cancelled[side]
            };
            let say = |what: String| format!("{what} of root {} of rows {:?}", node.test[root], cases.rows);
            for side in 0..2 {
                for level in 0..branch.len() {
                    let bound = bounds.of(side, level, root);
                    check.compare(reason, bound, least(side, level), || say(format!("side {side}, level {level}")));
                }
            }
            for level in 0..ask.levels.len() {
                let pairs = ask.levels.pairs(level, branch).map(|(one, zero)| least(1, one) + least(0, zero));
                let sum = bounds.sums[level * bounds.stride + root].get();
                check.compare(reason, sum, pairs.min().unwrap_or(u64::MAX), || say(format!("sum, level {level}")));
            }
        }
    }

    fn rows_of(&self, node: &Node<L>) -> Vec<u32> {
        let mut rows: Vec<u32> = node.ids.iter().map(|&id| self.instances.rows[id as usize]).collect();
        rows.sort_unstable();
        rows.dedup();
        rows
    }

    /// What was taken away from the costs of rows of a node.
    fn cancelled(&self, check: &BoundCheck<M>, node: &Node<L>, rows: &[u32]) -> u64 {
        let has = |&id: &u32| rows.binary_search(&self.instances.rows[id as usize]).is_ok();
        let ids: Vec<u32> = node.ids.iter().copied().filter(has).collect();
        check.leaf(rows) - self.leaf_of(&ids, &self.instances.starts(&ids))
    }
}
