//! Cuts of one column that were not tried yet, between two that were.
//!
//! **Nested sets.** What lies left of a cut grows with the cut, and a set costs no less than its subsets: the restriction
//! of a best tree to a subset is a tree for the subset. For each cut between a and b, then, the left branch costs no less
//! than that of a, and the right branch no less than that of b. Where the two sum up to what a tree in hand costs, no cut
//! between a and b has to be tried.
//!
//! **Radius.** A cut that lies behind instances of mass m from a cut that was tried costs less than that by m at most: one
//! branch grows, the other loses these instances, of which each is one error at most.

use std::cmp::Ordering;

use smallvec::SmallVec;

use super::node::Opened;
use super::stump::Index;

/// Costs of a branch, one per share of the nodes left.
pub(super) type ShareCosts = SmallVec<[i64; 2]>;

/// A part of the bounds that a search of depth two keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Bounds {
    pub(super) start: usize,
    pub(super) length: usize,
}

/// What is known of one branch at all cuts of an interval.
#[derive(Debug, Clone)]
pub(super) struct End {
    /// It costs no less.
    pub(super) costs: ShareCosts,
    /// Nor does, at depth two, a stump on each column.
    pub(super) stumps: Bounds,
}

/// Cuts of a column. Ordered for a heap: the one with the least bound is the greatest.
#[derive(Debug, Clone)]
pub(super) struct Interval {
    /// No tree with such a root costs less.
    pub(super) lower: i64,
    pub(super) column: usize,
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) left: End,
    pub(super) right: End,
}

impl Interval {
    pub(super) const BYTES: u64 = size_of::<Interval>() as u64;

    fn key(&self) -> (i64, usize, usize) {
        (self.lower, self.column, self.first)
    }
}

impl PartialEq for Interval {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Interval {}

impl PartialOrd for Interval {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Interval {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

/// The least sum of what two branches cost, over the shares.
pub(super) fn least(left: &ShareCosts, right: &ShareCosts) -> i64 {
    left.iter().zip(right).map(|(left, right)| left + right).min().unwrap_or(i64::MAX)
}

impl<I: Index> Opened<I> {
    /// The cut that divides the instances between two cuts most evenly.
    pub(super) fn middle(&self, first: usize, last: usize) -> usize {
        let twice = self.before[first] + self.before[last];
        let cut = first + self.before[first..=last].partition_point(|&before| 2 * before < twice);
        match cut > first && twice - 2 * self.before[cut - 1] < 2 * self.before[cut] - twice {
            true => cut - 1,
            false => cut,
        }
    }

    /// The last cut before one, and the first one after it, that more mass than this lies between.
    pub(super) fn beyond(&self, cut: usize, mass: i64) -> (usize, usize) {
        let at = self.mass[cut];
        let before = self.mass[..cut].partition_point(|&other| other < at - mass);
        (before.wrapping_sub(1), cut + self.mass[cut..].partition_point(|&other| other <= at + mass))
    }
}
