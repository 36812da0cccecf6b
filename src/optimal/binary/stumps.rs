//! The best stumps in the branches of all tests of a node: what is asked and what is found. `two_class` and
//! `multi_class` find them.

use super::accumulator::Accumulator;
use super::aligned::Aligned;
use super::pair_counts::Counted;
use super::pair_shape::{Block, PairShape};
use super::singles::Singles;
use super::weighted_counts::WeightedSums;
use crate::budget::{Stop, Ticker};
use crate::simd::{BLOCK, Instructions, Kernel, Tile, WordRun};

/// Buffers of the search by differences between two classes.
#[derive(Debug, Default)]
pub(super) struct DifferenceExtremes<L> {
    /// By how much the classes differ where each test passes.
    pub(super) single: Vec<Block<L>>,
    /// For each test, by blocks: the greatest and least difference where it and another test pass, and where the other
    /// passes alone.
    pub(super) of: Vec<[Block<L>; 4]>,
    /// The same for the tests of one block, each a line over the blocks of the others.
    pub(super) lines: Vec<Tile<L>>,
    pub(super) masks: Vec<[u32; BLOCK]>,
    pub(super) runs: Vec<WordRun>,
}

/// The least errors of a stump in the branches of each test; no less than those of a leaf where none is admissible.
#[derive(Debug, Default)]
pub(super) struct Stumps<L> {
    pub(super) true_side: Aligned<L>,
    pub(super) false_side: Aligned<L>,
    pub(super) extremes: DifferenceExtremes<L>,
    pub(super) most: [Aligned<L>; 2],
    /// What passes a test.
    pub(super) masks: Vec<u32>,
    pub(super) sums: WeightedSums<L>,
}

/// Finds the best stumps in the branches of all tests of some cases.
pub(super) struct BestStumps<'a, 'b, L> {
    pub(super) shape: PairShape<'a>,
    /// Where to count the pairs from, if they are not counted yet.
    pub(super) count: Option<Counted<'a, L>>,
    /// The pair counts of the cases, or of those that `whole` has and they do not.
    pub(super) pairs: &'a mut [L],
    /// Whether `pairs` has room for all. Else what is counted is not kept: it holds those of a test, or of a block of
    /// tests.
    pub(super) keeps: bool,
    pub(super) whole: Option<&'a [L]>,
    pub(super) singles: &'a Singles<L>,
    pub(super) live: &'a [u32],
    /// Stop at a test whose two stumps together err no more than this.
    pub(super) enough: Option<u64>,
    pub(super) stumps: &'a mut Stumps<L>,
    pub(super) ticker: &'a mut Ticker<'b>,
}

impl<L: Accumulator> Kernel for BestStumps<'_, '_, L> {
    /// The least errors of two stumps under a root.
    type Output = Result<u64, Stop>;

    #[inline(always)]
    fn run<P: Instructions>(self) -> Self::Output {
        match (self.shape.by_difference(), self.whole.is_some()) {
            (true, false) => self.by_difference::<P, false>(),
            (true, true) => self.by_difference::<P, true>(),
            (false, false) => self.by_class::<P, false>(),
            (false, true) => self.by_class::<P, true>(),
        }
    }
}

#[inline(always)]
pub(super) fn smallest<L: Accumulator>(block: &Block<L>) -> L {
    block.iter().fold(block[0], |least, &x| least.min(x))
}
