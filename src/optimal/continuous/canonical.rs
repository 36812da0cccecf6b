//! From least costs to the canonical tree, which is defined in [`super::super::reference::canonical`].
//!
//! Columns are gone through in order, and the cuts of each from the left: intervals are halved until the first cut is
//! found that reaches the cost, with a target just above it.

use super::super::shape::Shape;
use super::interval::Interval;
use super::node::Side;
use super::search::{BestTree, Branches, IntervalSearch, Query};
use super::stump::Index;
use crate::budget::Stop;
use crate::constraint::{shares, usable};

impl<I: Index> IntervalSearch<'_, I> {
    /// The canonical tree of a node, given its cost, which is the least. `open` are the cuts that may reach it; all, if
    /// `None`.
    pub(super) fn canonical(
        &mut self,
        level: usize,
        (depth, nodes): (u32, u64),
        cost: i64,
        open: Option<Vec<Interval>>,
    ) -> Result<Shape, Stop> {
        let (depth, nodes) = usable(depth, nodes);
        let relaxed = self.nodes.ground.min_leaf <= 1;
        if self.nodes.at(level).leaf() == cost {
            return Ok(Shape::Leaf);
        }
        if depth == 1 {
            let (found, stump) = self.best_stump(level, None, None, relaxed, cost)?;
            debug_assert_eq!(found, cost);
            return Ok(stump.map_or(Shape::Leaf, |stump| self.stump_shape(stump)));
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
        let of = &self.nodes.ground.columns[column];
        let passes_left = of.passes_left(self.nodes.opened(level, column).ranks[cut - 1].get());
        let ((left, right), costs) = match shares(depth, nodes, true).nth(1) {
            None => branches,
            Some(_) => self.smallest_share(level, (column, cut, passes_left), (depth, nodes), cost)?,
        };
        if depth == 2 && relaxed {
            let on_left = self.canonical_stump(level, (column, cut, false), left, costs.0)?;
            let on_right = self.canonical_stump(level, (column, cut, true), right, costs.1)?;
            self.nodes.open(level, column);
            return Ok(self.split(level, column, cut, [on_left, on_right]));
        }
        self.descend_to(level, column, cut, false);
        let on_left = self.canonical(level + 1, (depth - 1, left), costs.0, None)?;
        self.descend_to(level, column, cut, true);
        let on_right = self.canonical(level + 1, (depth - 1, right), costs.1, None)?;
        self.nodes.open(level, column);
        Ok(self.split(level, column, cut, [on_left, on_right]))
    }

    /// The canonical stump on one side of a cut: on the first column that has one of this cost.
    fn canonical_stump(
        &mut self,
        level: usize,
        (column, cut, right): (usize, usize, bool),
        nodes: u64,
        cost: i64,
    ) -> Result<Shape, Stop> {
        self.nodes.open(level, column);
        let side = Side { column, cut: self.nodes.opened(level, column).ranks[cut], right };
        let mut classes = Vec::new();
        self.nodes.classes_left(level, column, cut, &mut classes);
        self.set_branches(level, &classes);
        if nodes == 0 || self.stumps.branches[usize::from(right)].leaf == cost {
            return Ok(Shape::Leaf);
        }
        let on = self.stumps.first_column(&mut self.nodes, level, side, cost, &mut self.ticker)?;
        let (found, stump) = self.best_stump(level, Some(side), on, true, cost)?;
        debug_assert_eq!(found, cost);
        Ok(stump.map_or(Shape::Leaf, |stump| self.stump_shape(stump)))
    }

    /// The smallest share of nodes for the passing branch of a root that reaches the cost, and the costs of its branches:
    /// of the left branch first.
    fn smallest_share(
        &mut self,
        level: usize,
        (column, cut, passes_left): (usize, usize, bool),
        (depth, nodes): (u32, u64),
        cost: i64,
    ) -> Result<Branches, Stop> {
        let target = cost + 1 - self.nodes.ground.penalty;
        for (pass, fail) in shares(depth, nodes, true) {
            let share = if passes_left { (pass, fail) } else { (fail, pass) };
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
