//! Counts of single tests, at a node and on both sides of a root.

use super::accumulator::Accumulator;
use super::aligned::Aligned;
use super::pair_shape::{Block, PairShape, blocks};
use crate::simd::{BLOCK, Instructions, Kernel};

/// Counts of single tests, a row each: of who passes and of who does not.
#[derive(Debug, Default)]
pub(super) struct Singles<L> {
    pub(super) true_side: Aligned<L>,
    pub(super) false_side: Aligned<L>,
}

impl<L: Accumulator> Singles<L> {
    /// Their errors as leaves, and whether both sides of a test are large enough for a split.
    #[inline(always)]
    fn side(&self, shape: PairShape, side: bool, position: usize) -> (u64, bool) {
        let counts = if side { &self.true_side } else { &self.false_side };
        let at = |channel: usize| counts[shape.slot(channel, position)].get();
        let (mut sum, mut most) = (0, 0);
        for class in 0..shape.n_classes {
            sum += at(class);
            most = most.max(at(class));
        }
        let cases = if shape.channels > shape.n_classes { at(shape.n_classes) } else { sum };
        (sum - most, shape.min_leaf <= 1 || cases >= shape.min_leaf)
    }

    /// The mass on this side of a test.
    #[inline(always)]
    pub(super) fn mass(&self, shape: PairShape, side: bool, position: usize) -> L {
        let counts = if side { &self.true_side } else { &self.false_side };
        (0..shape.n_classes).fold(L::default(), |sum, class| sum.plus(counts[shape.slot(class, position)]))
    }

    /// The errors of the leaf on this side of a test.
    pub(super) fn leaf(&self, shape: PairShape, side: bool, position: usize) -> u64 {
        self.side(shape, side, position).0
    }

    /// Whether a test splits the cases into branches that are large enough.
    pub(super) fn admissible(&self, shape: PairShape, position: usize) -> bool {
        self.side(shape, true, position).1 && self.side(shape, false, position).1
    }
}

/// Counts single tests on both sides of a root.
pub(super) struct SplitSingles<'a, L> {
    pub(super) shape: PairShape<'a>,
    pub(super) root: usize,
    pub(super) totals: &'a [L],
    /// How much passes the root and each other test.
    pub(super) both: &'a [L],
    /// How much passes each test.
    pub(super) singles: &'a [L],
    /// Of the false and of the true side.
    pub(super) sides: &'a mut [Singles<L>; 2],
}

impl<L: Accumulator> Kernel for SplitSingles<'_, L> {
    type Output = ();

    #[inline(always)]
    fn run<P: Instructions>(self) {
        let SplitSingles { shape, root, totals, both, singles, sides: [on_false, on_true] } = self;
        for singles in [&mut *on_false, &mut *on_true] {
            singles.true_side.grow(shape.row());
            singles.false_side.grow(shape.row());
        }
        let (ff, ft) = (&mut on_false.false_side[..shape.row()], &mut on_false.true_side[..shape.row()]);
        let (tf, tt) = (&mut on_true.false_side[..shape.row()], &mut on_true.true_side[..shape.row()]);
        for (block, start) in (0..shape.row()).step_by(BLOCK).enumerate() {
            let channel = block % shape.channels;
            let on_root = singles[shape.slot(channel, root)];
            let off_root = totals[channel].minus(on_root);
            let both: Block<L> = blocks(both)[block];
            let (mut only, mut rest, mut neither) = (blocks(singles)[block], both, both);
            for lane in 0..BLOCK {
                only[lane] = only[lane].minus(both[lane]);
                rest[lane] = on_root.minus(both[lane]);
                neither[lane] = off_root.minus(only[lane]);
            }
            tt[start..start + BLOCK].copy_from_slice(&both);
            tf[start..start + BLOCK].copy_from_slice(&rest);
            ft[start..start + BLOCK].copy_from_slice(&only);
            ff[start..start + BLOCK].copy_from_slice(&neither);
        }
    }
}
