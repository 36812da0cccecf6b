//! Columns in the order of their values, split along with the node: every node of whole cases has its part of each sorted
//! column, so that nothing is sorted twice. For columns without missing values.

use smallvec::SmallVec;

use super::cells::Cell;
use super::split::{Found, Known, Rule, Sides};
use super::table::{Table, Weights};
use crate::bits;
use crate::budget::{Stop, Ticker};
use crate::criterion::Impurity;

/// A case in a sorted column: its code and class in the upper half, its number in the lower.
pub(crate) type Entry = u64;

/// How classes and codes share the upper half of an [`Entry`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    class_bits: u32,
}

/// The number of the case.
#[inline]
pub(crate) fn case(entry: Entry) -> u32 {
    entry as u32
}

impl Layout {
    /// For this many classes.
    pub fn new(n_classes: usize) -> Self {
        Layout { class_bits: usize::BITS - n_classes.saturating_sub(1).leading_zeros() }
    }

    /// Whether a column has few enough codes.
    pub fn fits(self, n_codes: u32) -> bool {
        u64::from(n_codes) << self.class_bits <= 1 << 32
    }

    /// The entry of a case.
    #[inline]
    pub fn entry(self, code: u32, class: u32, case: u32) -> Entry {
        Entry::from(self.upper(code, class)) << 32 | Entry::from(case)
    }

    /// The upper half of an entry.
    #[inline]
    pub fn upper(self, code: u32, class: u32) -> u32 {
        code << self.class_bits | class
    }

    #[inline]
    pub fn code(self, entry: Entry) -> u32 {
        (entry >> 32 >> self.class_bits) as u32
    }

    #[inline]
    pub fn class(self, entry: Entry) -> u32 {
        (entry >> 32) as u32 & ((1 << self.class_bits) - 1)
    }

    /// A case of mass one, from the upper half of its entry.
    #[inline]
    pub fn cell(self, upper: u32) -> Cell {
        let entry = Entry::from(upper) << 32;
        Cell { code: self.code(entry), class: self.class(entry), mass: 1, count: 1 }
    }

    /// A case of any mass.
    #[inline]
    pub fn cell_of(self, table: &Table, entry: Entry) -> Cell {
        let case = case(entry);
        let (code, class) = (self.code(entry), self.class(entry));
        Cell { code, class, mass: table.mass(case), count: table.count(case) }
    }

    /// Whether two entries have different codes.
    pub fn differ(self, a: Entry, b: Entry) -> bool {
        self.code(a) != self.code(b)
    }

    /// Whether all entries have one code.
    pub fn is_constant(self, entries: &[Entry]) -> bool {
        match (entries.first(), entries.last()) {
            (Some(&first), Some(&last)) => self.code(first) == self.code(last),
            _ => true,
        }
    }

    /// The best cut of a sorted column.
    pub fn best<I: Impurity>(
        self,
        rule: &Rule<I>,
        table: &Table,
        entries: &[Entry],
        known: &Known,
        (sides, ticker): (&mut Sides, &mut Ticker),
    ) -> Result<Option<Found>, Stop> {
        if self.is_constant(entries) {
            return Ok(None);
        }
        match matches!(table.weights, Weights::Unit) {
            true => rule.ordered(entries.iter().map(|&entry| self.cell((entry >> 32) as u32)), known, sides, ticker),
            false => {
                let cells = entries.iter().map(|&entry| self.cell_of(table, entry));
                rule.ordered(cells, known, sides, ticker)
            }
        }
    }
}

/// Parts a sorted column between two branches, in place and without a change of order. `goes_right` has a bit per case.
/// Complexity: O(entries).
pub(crate) fn part_in_two<'e>(
    entries: &'e mut [Entry],
    goes_right: &[u64],
    buffer: &mut Vec<Entry>,
) -> [&'e mut [Entry]; 2] {
    buffer.resize(entries.len().max(buffer.len()), 0);
    let (mut left, mut right) = (0, 0);
    for i in 0..entries.len() {
        let entry = entries[i];
        let goes_right = usize::from(bits::get(goes_right, case(entry) as usize));
        // Both are written, and one of them again by the next: no branch to guess.
        entries[left] = entry;
        buffer[right] = entry;
        left += 1 - goes_right;
        right += goes_right;
    }
    let (to_left, to_right) = entries.split_at_mut(left);
    to_right.copy_from_slice(&buffer[..right]);
    [to_left, to_right]
}

/// As [`part_in_two`], between branches of these lengths. `branches` has one for each case.
pub(crate) fn part<'e>(
    mut entries: &'e mut [Entry],
    branches: &[u32],
    lengths: &[usize],
    buffer: &mut Vec<Entry>,
) -> SmallVec<[&'e mut [Entry]; 2]> {
    buffer.resize(entries.len().max(buffer.len()), 0);
    let mut ends: Vec<usize> =
        lengths.iter().scan(0, |end, length| Some(std::mem::replace(end, *end + length))).collect();
    for &entry in &*entries {
        let end = &mut ends[branches[case(entry) as usize] as usize];
        buffer[*end] = entry;
        *end += 1;
    }
    entries.copy_from_slice(&buffer[..entries.len()]);
    let mut parts = SmallVec::with_capacity(lengths.len());
    for &length in lengths {
        let (part, rest) = entries.split_at_mut(length);
        parts.push(part);
        entries = rest;
    }
    parts
}
