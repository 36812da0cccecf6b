//! A compact table of bits: some instances by some tests, by rows (to gather from) and by columns (to count).
//!
//! *Rows.* A row is `lanes` words of `per_lane` bits. *Columns.* Word-major: word w of all columns stands together, 32
//! instances of one group to a word. A 32 x 32 transposition turns one into the other for up to 16 lanes at once; the
//! bit b of lane l of a row becomes column `b * lanes + l`, its *position*, so that nothing is ever shuffled: the order
//! of positions is as good as any. Positions without a test hold a test that nothing passes.

use super::aligned::Aligned;
use crate::simd::{BLOCK, Instructions, Isa, Kernel, Square, WORD};

/// How tests are laid out in rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Layout {
    /// Words per row: 1, 2, 4, 8 or a multiple of 16.
    pub(super) lanes: usize,
    /// Tests per word, at most 32.
    pub(super) per_lane: usize,
}

impl Layout {
    pub(super) fn new(n_tests: usize) -> Self {
        let words = n_tests.div_ceil(32).max(1);
        let lanes = if words <= 16 { words.next_power_of_two() } else { words.next_multiple_of(16) };
        Layout { lanes, per_lane: n_tests.div_ceil(lanes) }
    }

    /// Positions, padded to whole blocks.
    pub(super) fn stride(self) -> usize {
        (self.lanes * self.per_lane).next_multiple_of(BLOCK).max(BLOCK)
    }

    /// The lane and bit of the test of this index.
    pub(super) fn place(self, index: usize) -> (u32, u32) {
        ((index / self.per_lane) as u32, (index % self.per_lane) as u32)
    }

    /// The position of the test of this index.
    pub(super) fn position(self, index: usize) -> usize {
        let (lane, bit) = self.place(index);
        bit as usize * self.lanes + lane as usize
    }
}

/// The columns of some instances, in groups that start at whole words.
#[derive(Debug, Default)]
pub(super) struct BitColumns {
    pub(super) stride: usize,
    /// `words[w * stride + position]`.
    pub(super) words: Aligned<u32>,
    /// The first word of each group, and the end of the last.
    pub(super) starts: Vec<usize>,
}

impl BitColumns {
    /// All words.
    pub(super) fn n_words(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    /// The bits of word `word` that belong to instances, if groups have these sizes.
    #[inline(always)]
    pub(super) fn in_use(&self, word: usize, group: usize, size: usize) -> u32 {
        let before = (word - self.starts[group]) * 32;
        if size - before >= 32 { u32::MAX } else { (1u32 << (size - before)) - 1 }
    }

    /// Fills the columns from picked rows. `ends` are where each group ends among `picked`.
    pub(super) fn gather(&mut self, isa: Isa, rows: &[u32], layout: Layout, picked: &[u32], group_starts: &[usize]) {
        self.stride = layout.stride();
        self.starts.clear();
        let mut word = 0;
        for bounds in group_starts.windows(2) {
            self.starts.push(word);
            word += (bounds[1] - bounds[0]).div_ceil(32);
        }
        self.starts.push(word);
        self.words.grow(word * self.stride);
        isa.run(Gather { rows, layout, picked, group_starts, columns: self });
    }
}

struct Gather<'a> {
    rows: &'a [u32],
    layout: Layout,
    picked: &'a [u32],
    group_starts: &'a [usize],
    columns: &'a mut BitColumns,
}

impl Kernel for Gather<'_> {
    type Output = ();

    #[inline(always)]
    fn run<P: Instructions>(mut self) {
        match self.layout.lanes {
            1 => self.narrow::<P, 1>(),
            2 => self.narrow::<P, 2>(),
            4 => self.narrow::<P, 4>(),
            8 => self.narrow::<P, 8>(),
            _ => self.wide::<P>(),
        }
    }
}

/// Fills rows from columns: the way back.
pub(super) struct BitRows<'a> {
    pub(super) columns: &'a BitColumns,
    pub(super) layout: Layout,
    /// Where each group starts among the rows, and where the last ends.
    pub(super) starts: &'a [usize],
    pub(super) rows: &'a mut [u32],
}

impl Kernel for BitRows<'_> {
    type Output = ();

    #[inline(always)]
    fn run<P: Instructions>(self) {
        let Layout { lanes, per_lane } = self.layout;
        let width = lanes.min(BLOCK);
        let stride = self.columns.stride;
        let mut square: Square = [[0; BLOCK]; 32];
        for (bounds, &first) in self.starts.windows(2).zip(&self.columns.starts) {
            let rows = &mut self.rows[bounds[0] * lanes..bounds[1] * lanes];
            for (at, rows) in rows.chunks_mut(32 * lanes).enumerate() {
                let word = &self.columns.words[(first + at) * stride..(first + at + 1) * stride];
                for part in (0..lanes).step_by(BLOCK) {
                    for (bit, row) in square[..per_lane].iter_mut().enumerate() {
                        row[..width].copy_from_slice(&word[bit * lanes + part..][..width]);
                    }
                    square[per_lane..].fill([0; BLOCK]);
                    P::transpose(&mut square);
                    for (row, from) in rows.chunks_exact_mut(lanes).zip(&square) {
                        row[part..part + width].copy_from_slice(&from[..width]);
                    }
                }
            }
        }
    }
}

/// Fills rows whose bits are in the order of positions.
pub(super) struct RowsByPosition<'a> {
    pub(super) columns: &'a BitColumns,
    /// Where each group starts among the rows, and where the last ends.
    pub(super) starts: &'a [usize],
    pub(super) rows: &'a mut [u32],
}

impl Kernel for RowsByPosition<'_> {
    type Output = ();

    #[inline(always)]
    fn run<P: Instructions>(self) {
        let stride = self.columns.stride;
        let n_words = stride.div_ceil(WORD);
        for (bounds, &first) in self.starts.windows(2).zip(&self.columns.starts) {
            let rows = &mut self.rows[bounds[0] * n_words..bounds[1] * n_words];
            for (at, rows) in rows.chunks_mut(WORD * n_words).enumerate() {
                let column = &self.columns.words[(first + at) * stride..(first + at + 1) * stride];
                for (part, positions) in column.chunks(WORD * BLOCK).enumerate() {
                    let mut square: Square = [[0; BLOCK]; 32];
                    for (lane, positions) in positions.chunks(WORD).enumerate() {
                        for (row, &word) in square.iter_mut().zip(positions) {
                            row[lane] = word;
                        }
                    }
                    P::transpose(&mut square);
                    let width = positions.len().div_ceil(WORD);
                    for (row, from) in rows.chunks_exact_mut(n_words).zip(&square) {
                        row[part * BLOCK..][..width].copy_from_slice(&from[..width]);
                    }
                }
            }
        }
    }
}

impl Gather<'_> {
    /// Up to 8 lanes: several words of a group at once, side by side.
    #[inline(always)]
    fn narrow<P: Instructions, const LANES: usize>(&mut self) {
        let BitColumns { stride, words, starts } = &mut *self.columns;
        let per_lane = self.layout.per_lane;
        let mut square: Square = [[0; BLOCK]; 32];
        let (rows, _) = self.rows.as_chunks::<LANES>();
        for (bounds, &first) in self.group_starts.windows(2).zip(starts.iter()) {
            let picked = &self.picked[bounds[0]..bounds[1]];
            for (at, picked) in picked.chunks(32 * BLOCK / LANES).enumerate() {
                for (part, picked) in picked.chunks(32).enumerate() {
                    for (row, &instance) in square.iter_mut().zip(picked) {
                        row[part * LANES..(part + 1) * LANES].copy_from_slice(&rows[instance as usize]);
                    }
                    for row in &mut square[picked.len()..] {
                        row[part * LANES..(part + 1) * LANES].fill(0);
                    }
                }
                P::transpose(&mut square);
                for part in 0..picked.len().div_ceil(32) {
                    let start = (first + at * (BLOCK / LANES) + part) * *stride;
                    let word = &mut words[start..start + *stride];
                    for (to, from) in word.as_chunks_mut::<LANES>().0.iter_mut().zip(&square[..per_lane]) {
                        to.copy_from_slice(&from[part * LANES..(part + 1) * LANES]);
                    }
                    word[per_lane * LANES..].fill(0);
                }
            }
        }
    }

    /// 16 lanes and more: a word at a time, in pieces of 16 lanes.
    #[inline(always)]
    fn wide<P: Instructions>(&mut self) {
        let BitColumns { stride, words, starts } = &mut *self.columns;
        let Layout { lanes, per_lane } = self.layout;
        let mut square: Square = [[0; BLOCK]; 32];
        for (bounds, &first) in self.group_starts.windows(2).zip(starts.iter()) {
            let picked = &self.picked[bounds[0]..bounds[1]];
            for (at, picked) in picked.chunks(32).enumerate() {
                let word = &mut words[(first + at) * *stride..(first + at + 1) * *stride];
                for part in (0..lanes).step_by(BLOCK) {
                    for (row, &instance) in square.iter_mut().zip(picked) {
                        let start = instance as usize * lanes + part;
                        row.copy_from_slice(&self.rows[start..start + BLOCK]);
                    }
                    square[picked.len()..].fill([0; BLOCK]);
                    P::transpose(&mut square);
                    for (bit, from) in square[..per_lane].iter().enumerate() {
                        word[bit * lanes + part..bit * lanes + part + BLOCK].copy_from_slice(from);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::mix;

    #[test]
    fn columns_are_rows_transposed() {
        for isa in Isa::all() {
            for n_tests in [1, 5, 31, 32, 33, 64, 65, 100, 129, 255, 257, 511, 513, 700, 1100] {
                for sizes in [[0usize, 1, 0], [31, 32, 33], [100, 0, 700], [1, 2, 3]] {
                    let layout = Layout::new(n_tests);
                    let total = 900usize;
                    let bit = |instance: usize, test: usize| mix((instance * 7919 + test) as u64) & 1;
                    let mut rows = vec![0u32; total * layout.lanes];
                    for instance in 0..total {
                        for test in 0..n_tests {
                            let (lane, at) = layout.place(test);
                            rows[instance * layout.lanes + lane as usize] |= (bit(instance, test) as u32) << at;
                        }
                    }
                    let mut picked: Vec<u32> = Vec::new();
                    let mut starts = vec![0];
                    for size in sizes {
                        picked.extend((0..size).map(|i| (i * 13 % total) as u32));
                        starts.push(picked.len());
                    }
                    // Left over from another table.
                    let mut columns = BitColumns::default();
                    columns.words.fill_with(5000, u32::MAX);
                    columns.gather(isa, &rows, layout, &picked, &starts);
                    for group in 0..3 {
                        for test in 0..n_tests {
                            let position = layout.position(test);
                            for (k, &instance) in picked[starts[group]..starts[group + 1]].iter().enumerate() {
                                let word = columns.words[(columns.starts[group] + k / 32) * columns.stride + position];
                                assert_eq!(u64::from(word >> (k % 32) & 1), bit(instance as usize, test));
                            }
                        }
                    }
                    let tests: Vec<usize> = (0..n_tests).map(|test| layout.position(test)).collect();
                    for position in (0..columns.stride).filter(|position| !tests.contains(position)) {
                        assert!(
                            (0..columns.n_words()).all(|word| columns.words[word * columns.stride + position] == 0)
                        );
                    }
                }
            }
        }
    }
}
