//! The bounds of intervals against the reference.

use std::ops::Range;

use super::super::bound_check::{BoundCheck, Reason};
use super::super::driver::TreeLimits;
use super::super::problem::Problem;
use super::instances::RankedInstances;
use super::interval::{Interval, least};
use super::search::{IntervalSearch, Query};
use super::stump::Index;

impl<I: Index> RankedInstances<'_, I> {
    /// The problem as the reference sees it: a row per instance, over all tests. `min_leaf` is left out, as bounds
    /// leave it out.
    pub(super) fn problem(&self) -> Problem<u64> {
        let n_tests = self.columns.iter().map(|column| column.n_cuts).sum();
        let passed = |instance: usize| -> Vec<usize> {
            let of_column = |(place, column): (usize, &super::instances::InstanceColumn<I>)| {
                let rank = column.ranks[instance].get();
                (rank..column.n_cuts).map(move |cut| self.test(place, cut) as usize)
            };
            self.columns.iter().enumerate().flat_map(of_column).collect()
        };
        let row = |instance: usize| ((self.classes[instance].into(), self.mass(instance) as u64), passed(instance));
        Problem::of_single((n_tests, self.n_classes), self.penalty as u64, (0..self.n).map(row))
    }
}

impl<I: Index> IntervalSearch<'_, I> {
    /// Names the reason of the bounds of an interval; checks them, where bounds are checked. At depth two stumps that
    /// cannot make a tree of less than `bar` are not looked for: there bounds of branches alone say nothing, and those
    /// of trees no more than that.
    #[inline(always)]
    pub(super) fn check_interval(&self, reason: Reason, level: usize, ask: &Query, interval: &Interval, bar: i64) {
        if let Some(check) = self.check {
            let cuts = interval.first..interval.last + 1;
            self.each_cut(level, ask, interval.column, cuts, |cut, left, right| {
                let say = || format!("cut {cut} of column {}, {ask:?}", interval.column);
                let branches = [(&interval.left.costs, left), (&interval.right.costs, right)];
                for (bounds, costs) in branches.into_iter().filter(|_| ask.depth > 2) {
                    bounds.iter().zip(costs).for_each(|(&bound, &cost)| {
                        check.compare(reason, bound.max(0) as u64, cost as u64, say);
                    });
                }
                let penalty = self.ground().penalty;
                let lowest = left.iter().zip(right).map(|(left, right)| left + right).min().unwrap_or(0);
                check.compare(reason, interval.lower.min(bar).max(0) as u64, (penalty + lowest) as u64, say);
            });
        }
    }

    /// Names the reason why cuts of a column are passed over: none costs less than `bar`.
    #[inline(always)]
    pub(super) fn check_passed_over(
        &self,
        reason: Reason,
        level: usize,
        ask: &Query,
        (column, cuts): (usize, Range<usize>),
        bar: i64,
    ) {
        if let Some(check) = self.check {
            self.each_cut(level, ask, column, cuts, |cut, left, right| {
                let penalty = self.ground().penalty;
                let lowest = penalty + least(&left.iter().copied().collect(), &right.iter().copied().collect());
                check.compare(reason, bar.max(0) as u64, lowest as u64, || {
                    format!("cut {cut} of column {column}, {ask:?}")
                });
            });
        }
    }

    /// Calls `tell` with each of these cuts, and the least costs of its left and right branch for each share of the
    /// nodes.
    #[cold]
    fn each_cut(
        &self,
        level: usize,
        ask: &Query,
        column: usize,
        cuts: Range<usize>,
        mut tell: impl FnMut(usize, &[i64], &[i64]),
    ) {
        let check: &BoundCheck<u64> = self.check.expect("the callers return where there is no check");
        let shares = Self::shares(ask.depth, ask.nodes);
        let opened = self.nodes.opened(level, column);
        let order = self.nodes.ordered(level, column);
        for cut in cuts.start.max(1)..cuts.end.min(opened.last + 1) {
            let (left, right) = order.split_at(opened.before[cut] as usize);
            let of = |side: &[I], nodes: u64| {
                let mut rows: Vec<u32> = side.iter().map(|instance| instance.get() as u32).collect();
                rows.sort_unstable();
                check.least(&rows, TreeLimits::new(ask.depth - 1, nodes)) as i64
            };
            let on_left: Vec<i64> = shares.iter().map(|share| of(left, share.0)).collect();
            let on_right: Vec<i64> = shares.iter().map(|share| of(right, share.1)).collect();
            tell(cut, &on_left, &on_right);
        }
    }
}
