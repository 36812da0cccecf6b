//! The sizes that counts of pairs of tests have in common, and the groups of instances that are counted together.

use std::ops::Range;

use crate::simd::BLOCK;

/// Instances of one channel and one mass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MassGroup {
    /// A class, or the channel of case counts after the classes.
    pub(super) channel: usize,
    /// The mass of each instance; of no meaning if they are weighed.
    pub(super) mass: u64,
    pub(super) instances: Range<usize>,
}

/// The sizes that pair counts have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct PairShape<'a> {
    pub(super) stride: usize,
    pub(super) n_classes: usize,
    /// Classes, and one more if cases are counted apart.
    pub(super) channels: usize,
    pub(super) groups: &'a [MassGroup],
    /// The groups of each channel.
    pub(super) of_channel: &'a [Range<usize>],
    pub(super) min_leaf: u64,
}

impl PairShape<'_> {
    /// The length of a row: a count per test and channel.
    #[inline(always)]
    pub(super) fn row(self) -> usize {
        self.channels * self.stride
    }

    /// Where the count of a test is in a row.
    #[inline(always)]
    pub(super) fn slot(self, channel: usize, position: usize) -> usize {
        (position / BLOCK * self.channels + channel) * BLOCK + position % BLOCK
    }

    /// The size of a matrix of pair counts.
    pub(super) fn n_pairs(self) -> usize {
        self.row() * self.stride
    }

    /// Whether trees of depth two are found from differences between two classes.
    #[inline(always)]
    pub(super) fn by_difference(self) -> bool {
        self.n_classes == 2 && self.channels == 2 && self.min_leaf <= 1
    }

    /// The room that trees of depth two need: for a matrix if it is kept, else for what is counted at once.
    pub(super) fn room(self, keeps: bool) -> usize {
        match (self.by_difference(), keeps) {
            (true, true) => self.stride * self.stride,
            (true, false) => BLOCK * self.stride,
            (false, true) => self.n_pairs(),
            (false, false) => self.row(),
        }
    }
}

pub(super) type Block<L> = [L; BLOCK];

#[inline(always)]
pub(super) fn blocks<L>(row: &[L]) -> &[Block<L>] {
    row.as_chunks::<BLOCK>().0
}
