//! Data types that the parts of greedy growth share: tests in codes, bins of a column, entries of presorted columns.

use smallvec::SmallVec;

/// The code of a case without a value.
pub(crate) use crate::data::dataset::MISSING;

/// Mass per class, without an allocation for two classes.
pub(crate) type MassByClass = SmallVec<[u64; 2]>;

/// A test of one column, in its codes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CodedTest {
    /// Codes up to `below` against codes from `above` on: neighbouring codes at the node.
    AtMost { below: u32, above: u32 },
    /// One branch for each of these codes, ascending.
    Each(Box<[u32]>),
    /// This code against all others.
    Is(u32),
    /// One of these codes, ascending, against all others.
    In(Box<[u32]>),
}

impl CodedTest {
    /// The number of branches that training cases can take.
    pub fn n_branches(&self) -> usize {
        match self {
            CodedTest::Each(codes) => codes.len(),
            _ => 2,
        }
    }

    /// Bytes on the heap.
    pub fn heap(&self) -> usize {
        match self {
            CodedTest::Each(codes) | CodedTest::In(codes) => 4 * codes.len(),
            _ => 0,
        }
    }
}

/// Mass of one class at one code of a column. Several bins may have the same code and class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bin {
    pub code: u32,
    pub class: u32,
    pub mass: u64,
    /// The number of cases: their counts times their fractions.
    pub count: u64,
}

/// A case in a presorted column: its code and class in the upper half, its number in the lower half.
pub(crate) type Entry = u64;

/// How classes and codes share the upper half of an [`Entry`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntryLayout {
    class_bits: u32,
}

/// The number of the case of an entry.
#[inline]
pub(crate) fn case_of(entry: Entry) -> u32 {
    entry as u32
}

impl EntryLayout {
    /// For this many classes.
    pub fn new(n_classes: usize) -> Self {
        EntryLayout { class_bits: usize::BITS - n_classes.saturating_sub(1).leading_zeros() }
    }

    /// Whether codes and classes of a column fit.
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

    /// The bin of a case of mass one, from the upper half of its entry.
    #[inline]
    pub fn unit_bin(self, upper: u32) -> Bin {
        let entry = Entry::from(upper) << 32;
        Bin { code: self.code(entry), class: self.class(entry), mass: 1, count: 1 }
    }

    /// Whether all of these sorted entries have one code.
    pub fn is_constant(self, entries: &[Entry]) -> bool {
        match (entries.first(), entries.last()) {
            (Some(&first), Some(&last)) => self.code(first) == self.code(last),
            _ => true,
        }
    }

    /// The number of codes of sorted entries, of which there is at least one.
    pub fn n_codes(self, entries: &[Entry]) -> usize {
        1 + entries.windows(2).filter(|pair| self.code(pair[0]) != self.code(pair[1])).count()
    }
}
