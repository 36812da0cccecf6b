//! The columns of a case set in the order of their splits, as far as they were asked for ([`SplitEvaluator`] finds
//! them).
//!
//! The quality of a column's split at a case set does not depend on the other columns (Assumption 4 of Ruggieri, JMLR
//! 2019). So a cache serves trees over any columns: the best split over some columns is that of the first of them in
//! the order.
//!
//! [`SplitEvaluator`]: super::split_evaluator::SplitEvaluator

use smallvec::SmallVec;

use super::screening::{PendingColumns, RatedColumn};
use super::split::{SplitCandidate, SplitOf};
use crate::bits;

/// A bit per column, without an allocation if columns are few.
type ColumnBits = SmallVec<[u64; 2]>;

/// What is known of the columns at a case set.
#[derive(Debug)]
pub(crate) struct SplitCache {
    /// Columns that were evaluated: they have no split here, are ranked, or come after all that are.
    pub(super) evaluated: ColumnBits,
    /// Columns that have one value here, and so in every part of these cases.
    pub(super) constant: ColumnBits,
    /// The columns that split the set, best first; ties: the first column.
    pub(super) ranked: SmallVec<[RatedColumn; 1]>,
    /// Their splits, in the same order.
    pub(super) splits: SmallVec<[SplitCandidate; 1]>,
    /// Evaluated columns that were screened only.
    pub(super) pending: PendingColumns,
    /// Whether columns at the end of the order were dropped.
    is_truncated: bool,
}

/// With more columns than this, a cache keeps only the best [`KEPT`].
const MANY_COLUMNS: usize = 512;
const KEPT: usize = 64;

impl SplitCache {
    /// An empty cache for a part of a set with another cache; `fixed`: a column with one value in this part.
    pub fn part_of(whole: &SplitCache, fixed: Option<u32>) -> Self {
        let mut constant = whole.constant.clone();
        fixed.into_iter().for_each(|column| bits::set(&mut constant, column as usize));
        Self::new(constant)
    }

    /// An empty cache for the set of all cases.
    pub fn empty(n_columns: usize) -> Self {
        Self::new(SmallVec::from_elem(0, bits::words(n_columns)))
    }

    /// A cache that is never asked.
    pub fn none() -> Self {
        Self::new(ColumnBits::new())
    }

    fn new(constant: ColumnBits) -> Self {
        let (ranked, splits, pending) = (SmallVec::new(), SmallVec::new(), PendingColumns::default());
        SplitCache { evaluated: constant.clone(), constant, ranked, splits, pending, is_truncated: false }
    }

    /// Whether the set has more columns than a cache keeps.
    pub(super) fn has_many_columns(&self) -> bool {
        self.evaluated.len() * 64 > MANY_COLUMNS
    }

    /// The column and split at a position of the order.
    pub fn split(&self, position: usize) -> (u32, &SplitCandidate) {
        (self.ranked[position].column, &self.splits[position])
    }

    /// The approximate size in bytes.
    pub fn bytes(&self) -> usize {
        let ranked = if self.ranked.spilled() { self.ranked.capacity() } else { 0 };
        let ranked = ranked * (size_of::<RatedColumn>() + size_of::<SplitCandidate>());
        let heap: usize = self.splits.iter().map(SplitCandidate::heap).sum();
        16 * self.evaluated.len() + ranked + heap + self.pending.heap()
    }

    /// The position of the best of some columns: `Ok(None)` if none of them splits the set, `Err` if that is not known.
    #[inline]
    pub fn best(&self, allowed: &[u64]) -> Result<Option<usize>, ()> {
        let position = self.ranked.iter().position(|ranked| bits::get(allowed, ranked.column as usize));
        let best = position.map(|position| self.ranked[position]);
        // A perfect split can only be equalled, which matters for earlier columns alone.
        let end = best.filter(|best| best.is_perfect);
        let unknown = allowed.iter().zip(&self.evaluated).enumerate().any(|(word, (allowed, evaluated))| {
            let open = allowed & !evaluated;
            open != 0 && end.is_none_or(|end| word * 64 + (open.trailing_zeros() as usize) < end.column as usize)
        });
        let unknown = unknown || self.pending.ahead_of(best).any(|column| bits::get(allowed, column as usize));
        match (unknown, position) {
            (true, _) => Err(()),
            // One of the dropped columns may be allowed.
            (false, None) if self.is_truncated => Err(()),
            (false, position) => Ok(position),
        }
    }

    /// Sets the bits of all columns that may be better than the one at `position` (or may split the set at all): only
    /// trees over some of them can have another best split.
    pub fn ahead(&self, position: Option<usize>, ahead: &mut [u64]) {
        ahead.iter_mut().zip(&self.evaluated).for_each(|(ahead, evaluated)| *ahead = !evaluated);
        let end = position.unwrap_or(self.ranked.len());
        self.ranked[..end].iter().for_each(|ranked| bits::set(ahead, ranked.column as usize));
        let best = position.map(|position| self.ranked[position]);
        self.pending.ahead_of(best).for_each(|column| bits::set(ahead, column as usize));
        if let Some(RatedColumn { column, is_perfect: true, .. }) = best {
            // Later columns cannot beat it; those before it in the order are earlier ones.
            let first = column as usize + 1;
            ahead.iter_mut().skip(first.div_ceil(64)).for_each(|word| *word = 0);
            if !first.is_multiple_of(64) {
                ahead[first / 64] &= !(!0 << (first % 64));
            }
        }
    }

    /// Forgets all splits, also which columns were evaluated.
    pub(super) fn restart(&mut self) {
        self.evaluated.clone_from(&self.constant);
        (self.ranked, self.splits, self.is_truncated) = (SmallVec::new(), SmallVec::new(), false);
    }

    /// Ranks added splits among those that are there. `ranked`: what is kept beside a split.
    pub(super) fn rank(&mut self, added: &mut Vec<SplitOf>, ranked: impl Fn(u32, &SplitCandidate) -> RatedColumn) {
        if added.is_empty() {
            return;
        }
        // A split that comes after the last one kept may also come after dropped ones.
        let last = self.ranked.last().filter(|_| self.is_truncated).map(|ranked| ranked.column);
        added.extend(self.ranked.drain(..).map(|ranked| ranked.column).zip(self.splits.drain(..)));
        added.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        if let Some(last) = last {
            added.truncate(added.iter().position(|(column, _)| *column == last).map_or(0, |position| position + 1));
        }
        if self.has_many_columns() && added.len() > 2 * KEPT {
            added.truncate(KEPT);
            self.is_truncated = true;
        }
        self.ranked.extend(added.iter().map(|(column, split)| ranked(*column, split)));
        self.splits.extend(added.drain(..).map(|(_, split)| split));
    }
}
