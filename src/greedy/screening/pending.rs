//! Columns of a cached case set whose splits are known by screening only.

use smallvec::SmallVec;

use super::approximate::MARGIN;

/// A column among the splits of a case set: what searches ask of it most often.
#[derive(Debug, Clone, Copy)]
pub(in crate::greedy) struct RatedColumn {
    pub column: u32,
    /// Whether the split leaves no impurity.
    pub is_perfect: bool,
    /// The gain per unit of the mass of the set, as a float.
    pub gain: f32,
}

/// Columns that may have a split, with their approximate gains per unit of the mass of the set.
#[derive(Debug, Default)]
pub(in crate::greedy) struct PendingColumns {
    columns: SmallVec<[(u32, f32); 4]>,
}

impl PendingColumns {
    /// Bytes on the heap.
    pub fn heap(&self) -> usize {
        if self.columns.spilled() { self.columns.capacity() * size_of::<(u32, f32)>() } else { 0 }
    }

    pub(super) fn extend(&mut self, gains: &[(u32, f32)]) {
        self.columns.reserve_exact(gains.len());
        self.columns.extend_from_slice(gains);
    }

    /// The columns that may be better than a ranked one, or that may split the set if there is none.
    #[inline]
    pub fn ahead_of(&self, ranked: Option<RatedColumn>) -> impl Iterator<Item = u32> {
        let may_beat = move |(column, gain): (u32, f32)| {
            ranked.is_none_or(|ranked| gain >= ranked.gain - MARGIN && !(ranked.is_perfect && column > ranked.column))
        };
        self.columns.iter().copied().filter(move |&pending| may_beat(pending)).map(|(column, _)| column)
    }

    /// Removes, of the columns that are allowed, those that may be the best of them, and calls `take` with each.
    pub(super) fn take_best(&mut self, is_allowed: impl Fn(u32) -> bool, mut take: impl FnMut(u32)) {
        let allowed = self.columns.iter().filter(|(column, _)| is_allowed(*column));
        let greatest = allowed.map(|(_, gain)| *gain).fold(f32::NEG_INFINITY, f32::max);
        self.columns.retain(|&mut (column, gain)| {
            let is_taken = is_allowed(column) && gain >= greatest - MARGIN;
            if is_taken {
                take(column);
            }
            !is_taken
        });
    }
}
