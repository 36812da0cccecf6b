//! Cuts of one column that were not tried yet, between two that were.
//!
//! **Nested sets.** What lies left of a cut grows with the cut, and a set costs no less than its subsets: the
//! restriction of a best tree to a subset is a tree for the subset. For each cut between a and b, then, the left branch
//! costs no less than that of a, and the right branch no less than that of b. Where the two sum up to what a tree in
//! hand costs, no cut between a and b has to be tried.
//!
//! **Radius.** A cut that lies behind instances of mass m from a cut that was tried costs less than that by m at most:
//! one branch grows, the other loses these instances, of which each is one error at most.

use std::cmp::Ordering;

use smallvec::SmallVec;

use super::node::Opened;
use super::stump::Index;
use crate::budget::{Budget, Reserved, Stop};

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

/// Keeps account of a list of intervals, and of those that wait at one node: more than were foreseen are charged.
#[derive(Debug)]
pub(super) struct Charge<'b> {
    budget: &'b Budget,
    charged: Option<Reserved<'b>>,
    /// Bytes that were foreseen.
    free: u64,
    /// Bytes of one interval.
    each: u64,
}

impl<'b> Charge<'b> {
    pub(super) fn new(budget: &'b Budget, foreseen: usize, shares: usize) -> Self {
        // Costs of more than two shares are not in the interval itself.
        let outside = if shares > 2 { 2 * 8 * shares as u64 } else { 0 };
        Charge { budget, charged: None, free: foreseen as u64 * Interval::BYTES, each: Interval::BYTES + outside }
    }

    /// For how many more a list has to make room before it takes one.
    #[inline]
    pub(super) fn more(&mut self, length: usize, capacity: usize) -> Result<usize, Stop> {
        if length < capacity { Ok(0) } else { self.grow(length) }
    }

    #[cold]
    fn grow(&mut self, length: usize) -> Result<usize, Stop> {
        let more = length.max(8);
        // What grows is copied: for a moment both are there.
        let bytes = ((2 * length + more) as u64 * self.each).saturating_sub(self.free);
        if bytes > 0 {
            match &mut self.charged {
                Some(charged) => charged.resize(bytes)?,
                None => self.charged = Some(self.budget.reserve(bytes)?),
            }
        }
        Ok(more)
    }
}
