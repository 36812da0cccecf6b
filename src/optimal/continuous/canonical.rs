//! The first root that reaches a cost, in the order of the canonical tree.
//!
//! Columns are gone through in order, and the cuts of each from the left: intervals are halved until the first cut is
//! found that reaches the cost, with a target just above it.

use super::super::driver::{Root, TreeLimits};
use super::interval::Interval;
use super::node::{CutSide, Side};
use super::search::{BestTree, Branches, IntervalSearch, Query};
use super::stump::Index;
use crate::budget::Stop;
use crate::constraint::shares;

impl<I: Index> IntervalSearch<'_, I> {
    /// The first root of a node that reaches the cost, which is the least and below that of a leaf. `open` are the cuts
    /// that may reach it; all, if `None`.
    pub(super) fn first_root(
        &mut self,
        level: usize,
        TreeLimits { depth, nodes }: TreeLimits,
        cost: i64,
        open: Option<Vec<Interval>>,
    ) -> Result<Root, Stop> {
        let relaxed = self.nodes.ground.min_leaf <= 1;
        if depth == 1 {
            let (found, stump) = self.best_stump(level, None, None, relaxed, cost)?;
            debug_assert_eq!(found, cost);
            return Ok(self.over_leaves(stump));
        }
        let ask = Query { depth, nodes, target: cost + 1, ties: true, relaxed };
        let n_shares = Self::shares(depth, nodes).len();
        let mut todo = open.unwrap_or_else(|| {
            if depth == 2 {
                self.stumps.clear();
            }
            (0..self.nodes.ground.columns.len()).map(|column| self.whole(column, n_shares)).collect()
        });
        // A stack: what comes last is looked at first.
        todo.sort_unstable_by_key(|interval| std::cmp::Reverse((interval.column, interval.first)));
        let (mut found, mut charge) = (None, self.charge(n_shares));
        while let Some(interval) = todo.pop() {
            if found.as_ref().is_some_and(|&(column, cut, _)| (column, cut) <= (interval.column, interval.first)) {
                break;
            }
            if interval.lower > cost {
                continue;
            }
            let column = interval.column;
            let Some(tried) = self.step(level, &ask, interval, &mut BestTree::leaf(cost + 1))? else { continue };
            let [left, right] = tried.halves;
            let right = if tried.upper == cost {
                found = Some((column, tried.cut, tried.branches));
                None
            } else {
                right
            };
            for half in right.into_iter().chain(left) {
                todo.reserve_exact(charge.more(todo.len(), todo.capacity())?);
                todo.push(half);
            }
        }
        let (column, cut, branches) = found.expect("a cost below that of a leaf is that of some split");
        self.nodes.open(level, column);
        let rank = self.nodes.opened(level, column).ranks[cut - 1].get();
        let passes_left = self.nodes.ground.columns[column].passes_left(rank);
        let ((left, right), (on_left, on_right)) = match shares(depth, nodes, true).nth(1) {
            None => branches,
            Some(_) => {
                let passing = CutSide { column, cut, right: !passes_left };
                self.smallest_share(level, passing, (depth, nodes), cost)?
            }
        };
        let (mut nodes, mut costs) = ([left, right], [on_left as u64, on_right as u64]);
        if !passes_left {
            nodes.swap(0, 1);
            costs.swap(0, 1);
        }
        Ok(Root { test: self.nodes.ground.test(column, rank), nodes, costs })
    }

    /// The same for a single node on one side of a cut, where leaves may be of any size: the worker need not go there.
    pub(super) fn first_stump(&mut self, level: usize, at: CutSide, cost: i64) -> Result<Root, Stop> {
        let CutSide { column, cut, right } = at;
        self.nodes.open(level, column);
        let side = Side { column, cut: self.nodes.opened(level, column).ranks[cut], right };
        let mut classes = Vec::new();
        self.nodes.classes_left(level, column, cut, &mut classes);
        self.set_branches(level, &classes);
        let on = self.stumps.first_column(&mut self.nodes, level, side, cost, &mut self.ticker)?;
        let (found, stump) = self.best_stump(level, Some(side), on, true, cost)?;
        debug_assert_eq!(found, cost);
        Ok(self.over_leaves(stump))
    }

    /// A root over two leaves, whose costs are of no interest.
    fn over_leaves(&self, stump: Option<(usize, usize)>) -> Root {
        let (column, rank) = stump.expect("a cost below that of a leaf is that of some split");
        Root { test: self.nodes.ground.test(column, rank), nodes: [0, 0], costs: [0, 0] }
    }

    /// The smallest share of nodes for the passing side of a root that reaches the cost, and the costs of its branches: of
    /// the left branch first.
    fn smallest_share(
        &mut self,
        level: usize,
        CutSide { column, cut, right: passes_right }: CutSide,
        (depth, nodes): (u32, u64),
        cost: i64,
    ) -> Result<Branches, Stop> {
        let target = cost + 1 - self.nodes.ground.penalty;
        for (pass, fail) in shares(depth, nodes, true) {
            let share = if passes_right { (fail, pass) } else { (pass, fail) };
            let ask = |nodes, target| Query { depth: depth - 1, nodes, target, ties: false, relaxed: false };
            // The branch with fewer nodes first: it takes less time, and leaves less to ask of the other.
            let first = share.0 > share.1;
            let of = |right: bool| if right { share.1 } else { share.0 };
            self.descend_to(level, column, cut, first);
            let cost = self.solve(level + 1, &ask(of(first), target))?.lower;
            self.descend_to(level, column, cut, !first);
            let other = self.solve(level + 1, &ask(of(!first), target - cost))?.lower;
            if cost + other < target {
                return Ok((share, if first { (other, cost) } else { (cost, other) }));
            }
        }
        unreachable!("some share reaches the cost")
    }
}
