//! Columns in the order of their values, split along with the node: every node of whole cases has its part of each sorted
//! column, so that nothing is sorted twice. For columns without missing values.

use smallvec::SmallVec;

use super::cells::Cell;
use super::split::{Cut, Found, Known, Rule, Sides};
use super::table::{Table, Weights};
use crate::bits;
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

    /// The entries of a column. Complexity: O(cases).
    pub fn entries(self, table: &Table, column: usize) -> Vec<Entry> {
        let entry = |(case, code): (u32, u32)| {
            let class = u64::from(table.classes[case as usize]);
            (u64::from(code) << self.class_bits | class) << 32 | u64::from(case)
        };
        table.columns[column].in_order().map(entry).collect()
    }

    #[inline]
    pub fn code(self, entry: Entry) -> u32 {
        (entry >> 32 >> self.class_bits) as u32
    }

    #[inline]
    pub fn class(self, entry: Entry) -> u32 {
        (entry >> 32) as u32 & ((1 << self.class_bits) - 1)
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
        sides: &mut Sides,
        cuts: &mut Vec<(u32, u32)>,
    ) -> Option<Found> {
        if self.is_constant(entries) {
            return None;
        }
        let unit = matches!(table.weights, Weights::Unit);
        if unit && table.n_classes == 2 {
            let found = self.best_of_two_classes(rule, entries, known, cuts);
            if found.is_some() || rule.impurity.noise(known.side.total, 2) == 0 {
                return found;
            }
        }
        let (code, class) = (|entry| self.code(entry), |entry| self.class(entry));
        match unit {
            true => {
                let cell = |&entry: &Entry| Cell { code: code(entry), class: class(entry), mass: 1, count: 1 };
                rule.ordered(entries.iter().map(cell), known, sides)
            }
            false => {
                let cell = |&entry: &Entry| {
                    let case = case(entry);
                    Cell { code: code(entry), class: class(entry), mass: table.mass(case), count: table.count(case) }
                };
                rule.ordered(entries.iter().map(cell), known, sides)
            }
        }
    }

    /// For two classes and cases of mass one, a set is two counts. The impurities at hand are convex along a run of cases
    /// of one class, so of the cuts within such a run only the first and the last can be best: those next to another
    /// class, and those that the least size of a branch makes first or last (Fayyad and Irani, *On the handling of
    /// continuous-valued attributes in decision tree generation*, 1992).
    ///
    /// `None` if no gain is positive without doubt.
    fn best_of_two_classes<I: Impurity>(
        self,
        rule: &Rule<I>,
        entries: &[Entry],
        known: &Known,
        cuts: &mut Vec<(u32, u32)>,
    ) -> Option<Found> {
        let n = entries.len();
        let least = rule.min_side() as usize;
        if n < 2 * least {
            return None;
        }
        // Per cut: how many cases are below it, and how many of them are of class 1.
        cuts.resize(n + 2, (0, 0));
        let (mut n_cuts, mut last) = (0, None);
        let (mut start, mut ones_before, mut ones) = (0, 0, 0);
        // What the run of equal values below the cut is: 0 or 1 if it is of that class alone, else 2.
        let mut below = 2;
        let mut code = self.code(entries[0]);
        for i in 1..=n {
            ones += entries[i - 1] >> 32 & 1;
            let next = entries.get(i).map_or(u32::MAX, |&entry| self.code(entry));
            if next == code {
                continue;
            }
            let kind = match (ones - ones_before) as usize {
                0 => 0,
                all if all == i - start => 1,
                _ => 2,
            };
            if start >= least && start + least <= n {
                cuts[n_cuts] = (start as u32, ones_before as u32);
                last = Some(cuts[n_cuts]);
                let is_first = n_cuts == 0;
                n_cuts += usize::from(kind != below || kind == 2 || is_first);
            }
            (below, start, ones_before, code) = (kind, i, ones, next);
        }
        let impurity = &rule.impurity;
        let (all, all_ones) = (n as u64, ones);
        let base = impurity.pair(all - all_ones, all_ones);
        let mut best = base + impurity.noise(all, 2);
        let mut at = None;
        for &(n_below, ones) in cuts[..n_cuts].iter().chain(&last) {
            let (n_below, ones) = (u64::from(n_below), u64::from(ones));
            let (n_above, ones_above) = (all - n_below, all_ones - ones);
            let value = impurity.pair(n_below - ones, ones) + impurity.pair(n_above - ones_above, ones_above);
            if value > best {
                best = value;
                at = Some(n_below as usize);
            }
        }
        let at = at?;
        let (below, above) = (self.code(entries[at - 1]), self.code(entries[at]));
        let masses = [at as u64, (n - at) as u64].into_iter();
        rule.found(known, best - base, masses, || Cut::AtMost { below, above })
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
    let mut ends: Vec<usize> = lengths.iter().scan(0, |end, length| Some(std::mem::replace(end, *end + length))).collect();
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
