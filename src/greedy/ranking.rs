//! The columns of a case set in the order of their splits, as far as they were asked for (`ranks` finds them).
//!
//! The worth of a column at a case set does not depend on the other columns (Assumption 4 of Ruggieri, JMLR 2019). So a
//! ranking serves trees over any of them: the best split over some columns is that of the first of them in it.

use smallvec::SmallVec;

use super::split::Found;
use crate::bits;
use crate::criterion::roughly::MARGIN;

/// A bit per column, without an allocation where columns are few.
type Words = SmallVec<[u64; 2]>;

/// Columns with their splits.
pub(super) type Added = Vec<(u32, Found)>;

/// What is known of the columns at a case set.
#[derive(Debug)]
pub(crate) struct Ranking {
    /// Columns that are known to have no split here or to be in the ranking, or behind all that are.
    pub(super) evaluated: Words,
    /// Columns that have one value here, and so in every part of these cases.
    pub(super) constant: Words,
    /// The columns that split the set, best first; ties: the first column.
    pub(super) places: SmallVec<[Place; 1]>,
    /// Their splits, in the same order.
    pub(super) found: SmallVec<[Found; 1]>,
    /// Columns whose split is known roughly, and their gains per unit of the mass of the set.
    pub(super) rough: SmallVec<[(u32, f32); 4]>,
    /// Whether columns were dropped at the end.
    pub(super) is_cut: bool,
}

/// What is asked of a column in the ranking most often.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub column: u32,
    /// Whether the split leaves no impurity.
    pub is_perfect: bool,
    /// About the gain per unit of the mass of the set.
    pub gain: f32,
}

/// Above this many columns a ranking keeps the best [`KEPT`] only.
pub(super) const MANY_COLUMNS: usize = 512;
pub(super) const KEPT: usize = 64;

impl Ranking {
    /// A ranking without any column, for a part of a set with another; `fixed`: a column with one value in this part.
    pub fn part_of(whole: &Ranking, fixed: Option<u32>) -> Self {
        let mut constant = whole.constant.clone();
        fixed.into_iter().for_each(|column| bits::set(&mut constant, column as usize));
        Self::new(constant)
    }

    /// A ranking for the set of all cases.
    pub fn empty(n_columns: usize) -> Self {
        Self::new(SmallVec::from_elem(0, bits::words(n_columns)))
    }

    /// A ranking where nothing will be asked.
    pub fn none() -> Self {
        Self::new(Words::new())
    }

    fn new(constant: Words) -> Self {
        let (places, found, rough) = (SmallVec::new(), SmallVec::new(), SmallVec::new());
        Ranking { evaluated: constant.clone(), constant, places, found, rough, is_cut: false }
    }

    /// The split at a place.
    pub fn found(&self, place: usize) -> (u32, &Found) {
        (self.places[place].column, &self.found[place])
    }

    /// About how many bytes it takes.
    pub fn bytes(&self) -> usize {
        let places = if self.places.spilled() { self.places.capacity() } else { 0 };
        let places = places * (size_of::<Place>() + size_of::<Found>());
        let heap: usize = self.found.iter().map(Found::heap).sum();
        let rough = if self.rough.spilled() { self.rough.capacity() * size_of::<(u32, f32)>() } else { 0 };
        16 * self.evaluated.len() + places + heap + rough
    }

    /// The place of the best of some columns: `Ok(None)` if none of them splits the set, `Err` if that is not known.
    #[inline]
    pub fn best(&self, allowed: &[u64]) -> Result<Option<usize>, ()> {
        let place = self.places.iter().position(|place| bits::get(allowed, place.column as usize));
        // A perfect split can be equalled by earlier columns only.
        let end = place.map(|place| self.places[place]).filter(|place| place.is_perfect);
        let unknown = allowed.iter().zip(&self.evaluated).enumerate().any(|(word, (allowed, evaluated))| {
            let open = allowed & !evaluated;
            open != 0 && end.is_none_or(|end| word * 64 + (open.trailing_zeros() as usize) < end.column as usize)
        });
        let is_ahead =
            |&(column, gain): &(u32, f32)| bits::get(allowed, column as usize) && self.may_beat(place, column, gain);
        let unknown = unknown || self.rough.iter().any(is_ahead);
        match (unknown, place) {
            (true, _) => Err(()),
            // What was dropped may be among them.
            (false, None) if self.is_cut => Err(()),
            (false, place) => Ok(place),
        }
    }

    /// Whether a split that is known roughly may be better than that at a place.
    fn may_beat(&self, place: Option<usize>, column: u32, gain: f32) -> bool {
        let Some(place) = place.map(|place| self.places[place]) else { return true };
        gain >= place.gain - MARGIN && !(place.is_perfect && column > place.column)
    }

    /// Forgets the columns, of those that are allowed and known roughly, that may be the best of them, and puts them into
    /// `columns`, ascending.
    pub(super) fn take_rough(&mut self, is_allowed: impl Fn(u32) -> bool, columns: &mut Vec<usize>) {
        let allowed = self.rough.iter().filter(|(column, _)| is_allowed(*column));
        let greatest = allowed.map(|(_, gain)| *gain).fold(f32::NEG_INFINITY, f32::max);
        self.rough.retain(|&mut (column, gain)| {
            let is_taken = is_allowed(column) && gain >= greatest - MARGIN;
            if is_taken {
                columns.push(column as usize);
                bits::clear(&mut self.evaluated, column as usize);
            }
            !is_taken
        });
        columns.sort_unstable();
    }

    /// Forgets the columns with a split whose gain is known roughly and in doubt beside that of another, of which one at
    /// least is `added`, and puts them into `columns`, ascending. The first `n_ties` of those added gain the same.
    pub(super) fn take_doubtful(&mut self, added: &mut Added, n_ties: usize, columns: &mut Vec<usize>) {
        let added_found = added.iter().map(|(_, found)| found);
        if !added_found.chain(&self.found).any(Found::is_rough) {
            return;
        }
        let mut compare = |(a, found): (u32, &Found), (b, other): (u32, &Found)| {
            if found.is_in_doubt(other) {
                let rough = [(a, found), (b, other)].into_iter().filter(|(_, found)| found.is_rough());
                columns.extend(rough.map(|(column, _)| column as usize));
            }
        };
        for (place, (column, found)) in added.iter().enumerate() {
            let next = if place < n_ties { n_ties } else { place + 1 };
            added[next..].iter().for_each(|(other, of_other)| compare((*column, found), (*other, of_other)));
            let placed = self.places.iter().map(|place| place.column).zip(&self.found);
            placed.for_each(|other| compare((*column, found), other));
        }
        if columns.is_empty() {
            return;
        }
        columns.sort_unstable();
        columns.dedup();
        added.retain(|(column, _)| !columns.contains(&(*column as usize)));
        for &column in &*columns {
            bits::clear(&mut self.evaluated, column);
            if let Some(place) = self.places.iter().position(|place| place.column as usize == column) {
                self.places.remove(place);
                self.found.remove(place);
            }
        }
    }

    /// Sets the bits of all columns that may be ahead of the one at `place` (or may split the set at all): only over
    /// some of them can the best be another.
    pub fn ahead(&self, place: Option<usize>, ahead: &mut [u64]) {
        ahead.iter_mut().zip(&self.evaluated).for_each(|(ahead, evaluated)| *ahead = !evaluated);
        let end = place.unwrap_or(self.places.len());
        self.places[..end].iter().for_each(|place| bits::set(ahead, place.column as usize));
        let rough = self.rough.iter().filter(|&&(column, gain)| self.may_beat(place, column, gain));
        rough.for_each(|&(column, _)| bits::set(ahead, column as usize));
        if let Some(Place { column, is_perfect: true, .. }) = place.map(|place| self.places[place]) {
            // Later columns cannot beat it; those before it in the ranking are earlier ones.
            let first = column as usize + 1;
            ahead.iter_mut().skip(first.div_ceil(64)).for_each(|word| *word = 0);
            if !first.is_multiple_of(64) {
                ahead[first / 64] &= !(!0 << (first % 64));
            }
        }
    }
}
