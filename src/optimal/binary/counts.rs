//! What is counted at a node, in the integers of an accumulator: all that there is, what passes single tests, and what
//! passes pairs of them.

use std::sync::{Mutex, OnceLock};

use super::accumulator::Accumulator;
use super::aligned::Aligned;
use super::bit_table::BitColumns;
use super::pair_counts::{CountPairs, CountRow, Counted};
use super::pair_shape::PairShape;
use super::singles::Singles;
use super::two_class::Differences;
use super::weighted_counts::{Weighed, WeightedSums};
use crate::budget::{Stop, Ticker};
use crate::simd::{BLOCK, Isa};
use crate::threads::lock;

/// Marks an absent test or position.
pub(super) const NONE: u32 = u32::MAX;

/// The cases of a node as bits, whatever they weigh.
#[derive(Debug, Clone, Copy)]
pub(super) struct NodeBits<'a> {
    /// Rows in the order of positions, if instances are weighed.
    pub(super) rows: &'a [u32],
    pub(super) columns: &'a BitColumns,
    /// Where each group of instances starts, and where the last ends.
    pub(super) starts: &'a [usize],
    /// Positions with a test.
    pub(super) live: &'a [u32],
    /// For each position [`NONE`] if it has no test.
    pub(super) origin: &'a [u32],
}

/// Counts of the cases of a node.
#[derive(Debug, Default)]
pub(super) struct NodeCounts<L> {
    /// The mass of each instance, if they are weighed; else empty.
    pub(super) masses: Vec<L>,
    /// The same with those of the second of two classes subtracted.
    signed: Vec<L>,
    /// Mass of each channel.
    pub(super) totals: Vec<L>,
    pub(super) singles: Singles<L>,
    sums: WeightedSums<L>,
    /// All pairs, once they are counted.
    matrix: OnceLock<PairMatrix<L>>,
    /// The buffers for them until then.
    spare: Mutex<PairMatrix<L>>,
}

/// What passes pairs of tests.
#[derive(Debug, Default)]
pub(super) struct PairMatrix<L> {
    pairs: Aligned<L>,
    /// For two classes, how much more of the first than of the second.
    differences: Aligned<L>,
    sums: WeightedSums<L>,
}

impl<L: Accumulator> PairMatrix<L> {
    /// Counts all pairs.
    fn count(
        &mut self,
        isa: Isa,
        (shape, bits): (PairShape, NodeBits),
        counted: Counted<L>,
        ticker: &mut Ticker,
    ) -> Result<(), Stop> {
        let PairMatrix { pairs, differences, sums } = self;
        pairs.grow(shape.n_pairs());
        isa.run(CountPairs { shape, counted, live: bits.live, pairs, sums, ticker })?;
        // Positions without a test pass nothing, in their rows as in their columns.
        let row = shape.row();
        for position in (0..shape.stride).filter(|&position| bits.origin[position] == NONE) {
            pairs[position * row..(position + 1) * row].fill(L::default());
        }
        if shape.by_difference() {
            differences.grow(shape.room(true));
            isa.run(Differences { shape, pairs, differences });
        }
        Ok(())
    }

    /// What trees of depth two are found from.
    pub(super) fn for_stumps(&self, shape: PairShape) -> &Aligned<L> {
        if shape.by_difference() { &self.differences } else { &self.pairs }
    }

    /// The same.
    pub(super) fn for_stumps_mut(&mut self, shape: PairShape) -> &mut Aligned<L> {
        if shape.by_difference() { &mut self.differences } else { &mut self.pairs }
    }
}

impl<L: Accumulator> NodeCounts<L> {
    /// Counts single tests from masses and totals; pairs are those of another node until [`matrix`](Self::matrix) is
    /// asked for.
    pub(super) fn count(&mut self, isa: Isa, (shape, bits): (PairShape, NodeBits)) {
        if let Some(matrix) = self.matrix.take() {
            self.spare = Mutex::new(matrix);
        }
        self.signed.clear();
        if shape.by_difference() && self.is_weighed() {
            self.signed.extend_from_slice(&self.masses);
            let of_second = bits.starts[shape.of_channel[1].start]..bits.starts[shape.of_channel[1].end];
            self.signed[of_second].iter_mut().for_each(|mass| *mass = L::default().minus(*mass));
        }
        let Singles { mut true_side, mut false_side } = std::mem::take(&mut self.singles);
        let mut sums = std::mem::take(&mut self.sums);
        true_side.fill_with(shape.row(), L::default());
        false_side.fill_with(shape.row(), L::default());
        isa.run(CountRow { shape, counted: self.counted(bits, None), of: None, row: &mut true_side, sums: &mut sums });
        for position in 0..shape.stride {
            for channel in 0..shape.channels {
                let slot = shape.slot(channel, position);
                false_side[slot] = self.totals[channel].minus(true_side[slot]);
            }
        }
        (self.singles, self.sums) = (Singles { true_side, false_side }, sums);
    }

    /// All pairs, which are counted when they are first asked for.
    pub(super) fn matrix(
        &self,
        isa: Isa,
        (shape, bits): (PairShape, NodeBits),
        ticker: &mut Ticker,
    ) -> Result<&PairMatrix<L>, Stop> {
        if let Some(matrix) = self.matrix.get() {
            return Ok(matrix);
        }
        // Threads that ask meanwhile wait here.
        let mut spare = lock(&self.spare);
        if self.matrix.get().is_none() {
            spare.count(isa, (shape, bits), self.counted(bits, None), ticker)?;
        }
        Ok(self.matrix.get_or_init(|| std::mem::take(&mut spare)))
    }

    /// Whether all pairs are counted.
    pub(super) fn has_matrix(&self) -> bool {
        self.matrix.get().is_some()
    }

    /// Takes the pairs away, to be given back.
    pub(super) fn take_matrix(&mut self) -> Option<PairMatrix<L>> {
        self.matrix.take()
    }

    /// Gives them back.
    pub(super) fn give_matrix(&mut self, matrix: Option<PairMatrix<L>>) {
        self.matrix = matrix.map(OnceLock::from).unwrap_or_default();
    }

    /// What to count of the node: all instances, or a set of them.
    pub(super) fn counted<'a>(&'a self, bits: NodeBits<'a>, set: Option<&'a [u32]>) -> Counted<'a, L> {
        let NodeBits { rows, starts, columns, .. } = bits;
        let weighed = Weighed { rows, set, starts, masses: &self.masses };
        Counted { columns, weighed: self.is_weighed().then_some(weighed), set }
    }

    /// The same for trees of depth two.
    pub(super) fn counted_for_stumps<'a>(
        &'a self,
        (shape, bits): (PairShape, NodeBits<'a>),
        set: Option<&'a [u32]>,
    ) -> Counted<'a, L> {
        let counted = self.counted(bits, set);
        let weighed = counted.weighed.map(|weighed| Weighed { masses: self.masses_for_stumps(shape), ..weighed });
        Counted { weighed, ..counted }
    }

    /// The masses that trees of depth two are found from: for two classes, with those of the second subtracted.
    pub(super) fn masses_for_stumps(&self, shape: PairShape) -> &[L] {
        if shape.by_difference() { &self.signed } else { &self.masses }
    }

    /// Whether instances have a mass each.
    pub(super) fn is_weighed(&self) -> bool {
        !self.masses.is_empty()
    }

    /// Writes to `row` how much passes both f and each other test, per channel; from the matrix if it is there.
    pub(super) fn pairs_of(
        &self,
        isa: Isa,
        (shape, bits): (PairShape, NodeBits),
        f: usize,
        row: &mut Aligned<L>,
        sums: &mut WeightedSums<L>,
    ) {
        let length = shape.row();
        let Some(PairMatrix { pairs, .. }) = self.matrix.get() else {
            row.fill_with(length, L::default());
            isa.run(CountRow { shape, counted: self.counted(bits, None), of: Some(f), row, sums });
            return;
        };
        let start = f / BLOCK * BLOCK;
        // Tests of the blocks before, whose rows have f as a column: a line of each holds all its channels.
        row.grow(length);
        let (pairs, row): (&[L], &mut [L]) = (pairs, row);
        let column = shape.slot(0, f);
        let blocks = row.as_chunks_mut::<BLOCK>().0.chunks_exact_mut(shape.channels);
        for (of_block, to) in pairs[..start * length].chunks_exact(BLOCK * length).zip(blocks) {
            for (lane, of_test) in of_block.chunks_exact(length).enumerate() {
                for (to, &count) in to.iter_mut().zip(of_test[column..].iter().step_by(BLOCK)) {
                    to[lane] = count;
                }
            }
        }
        let start = start * shape.channels;
        row[start..length].copy_from_slice(&pairs[f * length + start..(f + 1) * length]);
    }
}
