//! Counts of what passes two tests, a row of tests at a time.

use std::ops::Range;

use super::accumulator::Accumulator;
use super::bit_table::BitColumns;
use super::pair_shape::{Block, PairShape, blocks};
use super::weighted_counts::{Weighed, WeightedSums};
use crate::budget::{Stop, Ticker};
use crate::simd::{BLOCK, Instructions, Kernel, Masked};

/// Counts a matrix of pairs.
pub(super) struct CountPairs<'a, 'b, L> {
    pub(super) shape: PairShape<'a>,
    pub(super) counted: Counted<'a, L>,
    pub(super) live: &'a [u32],
    pub(super) pairs: &'a mut [L],
    pub(super) sums: &'a mut WeightedSums<L>,
    pub(super) ticker: &'a mut Ticker<'b>,
}

impl<L: Accumulator> Kernel for CountPairs<'_, '_, L> {
    type Output = Result<(), Stop>;

    #[inline(always)]
    fn run<P: Instructions>(self) -> Self::Output {
        let length = self.shape.row();
        self.counted.weigh_all::<P>(self.shape, self.sums);
        for &g in self.live {
            let masks = self.counted.passing(g as usize, &mut []);
            let row = &mut self.pairs[g as usize * length..][..length];
            count_row::<P, L, true>(self.shape, self.counted, masks, g as usize / BLOCK, row, self.sums);
            self.ticker.tick(self.counted.work(self.shape, g as usize))?;
        }
        Ok(())
    }
}

/// Counts, per position and channel, what passes a test, or what there is at all.
pub(super) struct CountRow<'a, L> {
    pub(super) shape: PairShape<'a>,
    pub(super) counted: Counted<'a, L>,
    pub(super) of: Option<usize>,
    pub(super) row: &'a mut [L],
    pub(super) sums: &'a mut WeightedSums<L>,
}

impl<L: Accumulator> Kernel for CountRow<'_, L> {
    type Output = ();

    #[inline(always)]
    fn run<P: Instructions>(self) {
        let CountRow { shape, counted, of, row, sums } = self;
        let masks = match of {
            Some(test) => counted.passing(test, &mut []),
            None => Masks { words: &[u32::MAX], step: 0 },
        };
        counted.begin(sums);
        count_row::<P, L, false>(shape, counted, masks, 0, row, sums);
    }
}

/// [`Counted::begin`] was called before; if `REST`, [`Counted::weigh_all`].
#[inline(always)]
pub(super) fn count_row<P: Instructions, L: Accumulator, const REST: bool>(
    shape: PairShape,
    counted: Counted<L>,
    masks: Masks,
    first: usize,
    row: &mut [L],
    sums: &mut WeightedSums<L>,
) {
    for channel in 0..shape.channels {
        let row = Lanes { blocks: row.as_chunks_mut::<BLOCK>().0, pitch: shape.channels, channel };
        let groups = shape.of_channel[channel].clone();
        add_groups::<P, L>(shape, counted, (groups, REST.then_some(channel)), masks, first, row, sums);
    }
}

/// The blocks of one channel of a row.
struct Lanes<'a, L> {
    blocks: &'a mut [[L; BLOCK]],
    pitch: usize,
    channel: usize,
}

/// A set of instances: a word for each word of the columns, and how far these are apart.
#[derive(Clone, Copy)]
pub(super) struct Masks<'a> {
    words: &'a [u32],
    step: usize,
}

impl Masks<'_> {
    #[inline(always)]
    pub(super) fn at(self, word: usize) -> u32 {
        self.words[word * self.step]
    }
}

/// What to count: all instances of some columns, or a set of them.
#[derive(Debug)]
pub(super) struct Counted<'a, L> {
    pub(super) columns: &'a BitColumns,
    /// Where instances have a mass each.
    pub(super) weighed: Option<Weighed<'a, L>>,
    pub(super) set: Option<&'a [u32]>,
}

impl<L> Clone for Counted<'_, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L> Copy for Counted<'_, L> {}

impl<'a, L> Counted<'a, L> {
    /// About how many nanoseconds the pairs of a test take to count and use.
    #[inline(always)]
    pub(super) fn work(self, shape: PairShape, g: usize) -> usize {
        (shape.stride - g) * (self.words() + 4 * shape.channels) / BLOCK
    }

    /// How many words there are, or take as long to count as what is weighed.
    #[inline(always)]
    pub(super) fn words(self) -> usize {
        self.columns.n_words() * if self.weighed.is_some() { 16 } else { 1 }
    }

    /// The instances that pass g. `buffer` is as long as there are words.
    #[inline(always)]
    pub(super) fn passing<'b>(self, g: usize, buffer: &'b mut [u32]) -> Masks<'b>
    where
        'a: 'b,
    {
        let BitColumns { stride, words, .. } = self.columns;
        let Some(set) = self.set else {
            return Masks { words: words.get(g..).unwrap_or_default(), step: *stride };
        };
        let buffer = &mut buffer[..set.len()];
        for (word, mask) in buffer.iter_mut().enumerate() {
            *mask = words[word * stride + g] & set[word];
        }
        Masks { words: buffer, step: 1 }
    }
}

impl<L: Accumulator> Counted<'_, L> {
    /// Readies the buffers where instances have a mass each.
    #[inline(always)]
    pub(super) fn begin(self, sums: &mut WeightedSums<L>) {
        if let Some(weighed) = self.weighed {
            weighed.begin(self.columns, sums);
        }
    }

    /// Adds up, over all groups, the masses of what passes both g and each other test, where instances have a mass each.
    /// [`begin`](Self::begin) was called before.
    #[inline(always)]
    pub(super) fn weigh_row<P: Instructions>(
        self,
        shape: PairShape,
        g: usize,
        buffer: &mut [u32],
        sums: &mut WeightedSums<L>,
    ) {
        let weighed = self.weighed.expect("the caller's instances have a mass each");
        let masks = self.passing(g, buffer);
        weighed.sum::<P>(self.columns, 0..shape.groups.len(), |word| masks.at(word), (0, None), sums);
    }

    /// Adds up all that is counted of each channel where instances have a mass each, from which what does not pass a
    /// test is taken.
    #[inline(always)]
    pub(super) fn weigh_all<P: Instructions>(self, shape: PairShape, sums: &mut WeightedSums<L>) {
        if let Some(weighed) = self.weighed {
            weighed.sum_all::<P>(self.columns, shape.of_channel[..shape.channels].iter().cloned(), sums);
        }
    }
}

/// Adds up the masses of the instances of some groups that `masks` has set; of a channel whose sums over all instances
/// are there, if one is given.
#[inline(always)]
fn add_groups<P: Instructions, L: Accumulator>(
    shape: PairShape,
    counted: Counted<L>,
    (groups, channel): (Range<usize>, Option<usize>),
    masks: Masks,
    first: usize,
    row: Lanes<L>,
    sums: &mut WeightedSums<L>,
) {
    let Some(weighed) = counted.weighed else {
        return count_groups::<P, L>(shape, counted.columns, groups, masks, first, row);
    };
    weighed.sum::<P>(counted.columns, groups, |word| masks.at(word), (first * BLOCK, channel), sums);
    let to = row.blocks.iter_mut().skip(first * row.pitch + row.channel).step_by(row.pitch);
    to.zip(&blocks(&sums.of)[first..]).for_each(|(to, sums)| *to = *sums);
}

/// Counts the instances of some groups that `masks` has set.
#[inline(always)]
fn count_groups<P: Instructions, L: Accumulator>(
    shape: PairShape,
    columns: &BitColumns,
    groups: Range<usize>,
    masks: Masks,
    first: usize,
    row: Lanes<L>,
) {
    let stride = shape.stride;
    let Lanes { blocks, pitch, channel } = row;
    let n_blocks = stride / BLOCK;
    let rest = first * pitch + channel;
    let mut is_first = true;
    for group in groups {
        if columns.starts[group] == columns.starts[group + 1] {
            continue;
        }
        let masked = masked(columns, masks, group);
        let mass = shape.groups[group].mass;
        if is_first && mass == 1 {
            let mut block = first;
            while block + 2 <= n_blocks {
                let [one, two] = P::count::<2>(&masked, block);
                blocks[block * pitch + channel] = lanes_of(&one);
                blocks[(block + 1) * pitch + channel] = lanes_of(&two);
                block += 2;
            }
            if block < n_blocks {
                blocks[block * pitch + channel] = lanes_of(&P::count::<1>(&masked, block)[0]);
            }
        } else {
            if is_first {
                blocks.iter_mut().skip(rest).step_by(pitch).for_each(|block| *block = [L::default(); BLOCK]);
            }
            for block in first..n_blocks {
                let [counts] = P::count::<1>(&masked, block);
                let row = &mut blocks[block * pitch + channel];
                for lane in 0..BLOCK {
                    row[lane] = row[lane].plus(L::of_count(counts[lane], L::of(mass)));
                }
            }
        }
        is_first = false;
    }
    if is_first {
        blocks.iter_mut().skip(rest).step_by(pitch).for_each(|block| *block = [L::default(); BLOCK]);
    }
}

/// Counts, per position, the mass that a set of instances (a bit each) shares with a column, over all classes.
pub(super) struct CountShared<'a, L> {
    pub(super) shape: PairShape<'a>,
    pub(super) counted: Counted<'a, L>,
    pub(super) shared: &'a mut [L],
    pub(super) sums: &'a mut WeightedSums<L>,
}

impl<L: Accumulator> Kernel for CountShared<'_, L> {
    type Output = ();

    #[inline(always)]
    fn run<P: Instructions>(self) {
        let groups = match self.shape.of_channel[..self.shape.n_classes] {
            [ref first, .., ref last] => first.start..last.end,
            [ref only] => only.clone(),
            [] => 0..0,
        };
        let CountShared { shape, counted, shared, sums } = self;
        let row = Lanes { blocks: shared.as_chunks_mut::<BLOCK>().0, pitch: 1, channel: 0 };
        let masks = Masks { words: counted.set.unwrap_or_default(), step: 1 };
        counted.begin(sums);
        add_groups::<P, L>(shape, counted, (groups, None), masks, 0, row, sums);
    }
}

#[inline(always)]
fn lanes_of<L: Accumulator>(counts: &[u32; BLOCK]) -> Block<L> {
    let mut lanes = [L::default(); BLOCK];
    for lane in 0..BLOCK {
        lanes[lane] = L::of_count(counts[lane], L::of(1));
    }
    lanes
}

/// The columns of a group, where `masks` is set.
#[inline(always)]
fn masked<'a>(columns: &'a BitColumns, masks: Masks<'a>, group: usize) -> Masked<'a> {
    let (start, end, stride) = (columns.starts[group], columns.starts[group + 1], columns.stride);
    let words = &columns.words[start * stride..end * stride];
    let masks_of_group = masks.words.get(start * masks.step..).unwrap_or_default();
    Masked::new(words, stride, end - start, masks_of_group, masks.step)
}
