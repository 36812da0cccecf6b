//! Trees of depth two for two classes, where leaves have no least size: from differences between the classes.
//!
//! Let a cell hold n cases, and one class d more than the other: a leaf errs on (n - |d|) / 2 of them. In the branch where g
//! passes, the cells of a stump on h have differences d and D - d, D being that of the branch: |d| + |D - d| is the greater
//! of |D| and |2d - D|, so only the greatest and the least d over all h can give the best stump. One matrix of differences
//! is all that is needed, and two operations a side.
//!
//! The matrix lies in tiles of 16 x 16 tests: tile (i, j), i <= j, holds the tests of block i by those of block j, a line per
//! test of block i; where a position has no test it holds zeros, as for a test that nothing passes. A tile is counted at once: 16 sums stay in registers while the words of the cases pass by.

use super::instances::Group;
use super::lane::Lane;
use super::pairs::{BestStumps, Block, Counted, Shape, Singles};
use super::simd::{BLOCK, Kernel, MaskedTile, Popcount, Tile};
use crate::budget::Stop;

/// Buffers.
#[derive(Debug, Default)]
pub(super) struct Extremes<L> {
    /// By how much the classes differ where each test passes.
    single: Vec<Block<L>>,
    /// For each test, by blocks: the greatest and least difference where it and another test pass, and where the other
    /// passes alone.
    of: Vec<[Block<L>; 4]>,
    /// The same for the tests of one block, each a line over the blocks of the others.
    lines: Vec<[Block<L>; 4]>,
    masks: Vec<[u32; BLOCK]>,
}

/// The size of the matrix.
pub(super) fn n_cells(stride: usize) -> usize {
    stride * stride
}

#[inline(always)]
fn tile_at(n_blocks: usize, i: usize, j: usize) -> usize {
    (i * n_blocks + j) * BLOCK * BLOCK
}

/// Nothing yet: no difference is less than the greatest, or greater than the least.
#[inline(always)]
fn nothing<L: Lane>() -> [Block<L>; 4] {
    [[L::LEAST; BLOCK], [L::MOST; BLOCK], [L::LEAST; BLOCK], [L::MOST; BLOCK]]
}

impl<L: Lane> BestStumps<'_, '_, L> {
    /// Finds them from differences; those of the rest if `REST`.
    #[inline(always)]
    pub(super) fn by_difference<P: Popcount, const REST: bool>(self) -> Result<u64, Stop> {
        let BestStumps { shape, count, pairs, whole, singles, live, enough, stumps, ticker } = self;
        let n_blocks = shape.stride / BLOCK;
        let Extremes { single, of, lines, masks } = &mut stumps.extremes;
        stumps.true_side.fill_with(shape.stride, L::MAX);
        stumps.false_side.fill_with(shape.stride, L::MAX);
        single.clear();
        single.extend((0..n_blocks).map(|block| difference_of(&singles.true_side, block)));
        of.clear();
        of.resize(n_blocks, nothing());
        lines.resize(BLOCK, nothing());
        // Whatever passes a test or does not is all.
        let all = single[0][0].plus(difference_of(&singles.false_side, 0)[0]);
        let n_words = count.map_or(0, |counted| counted.columns.n_words());
        let mut least = u64::MAX;
        for rows in live.chunk_by(|a, b| a / BLOCK as u32 == b / BLOCK as u32) {
            let i = rows[0] as usize / BLOCK;
            if let Some(counted) = count {
                counted.masks_of(i, masks);
            }
            lines.fill(nothing());
            for j in i..n_blocks {
                let at = tile_at(n_blocks, i, j);
                let part: &mut Tile<L> = as_tile_mut(&mut pairs[at..at + BLOCK * BLOCK]);
                if let Some(counted) = count {
                    count_tile::<P, L>(shape, counted, masks, j, part);
                }
                let rest = match whole {
                    Some(whole) if REST => as_tile(&whole[at..at + BLOCK * BLOCK]),
                    _ => &*part,
                };
                take_extremes::<L, REST>(part, rest, &single[i], &single[j], lines, &mut of[j]);
            }
            // All pairs of these tests are in.
            let mut extremes = of[i];
            for &g in rows {
                let lane = g as usize % BLOCK;
                let [a, b, c, d] = &lines[lane];
                extremes[0][lane] = extremes[0][lane].greater(L::greatest::<P>(a));
                extremes[1][lane] = extremes[1][lane].lesser(L::least::<P>(b));
                extremes[2][lane] = extremes[2][lane].greater(L::greatest::<P>(c));
                extremes[3][lane] = extremes[3][lane].lesser(L::least::<P>(d));
            }
            let (true_side, false_side) = (&mut stumps.true_side[i * BLOCK..], &mut stumps.false_side[i * BLOCK..]);
            let sums = errors(&extremes, all, &single[i], singles, i, true_side, false_side);
            // Sums of masses are below half the range: the same signed or not.
            least = least.min(L::least::<P>(&sums).get());
            if enough.is_some_and(|enough| least <= enough) {
                break;
            }
            ticker.tick(rows.len() * (n_blocks - i) * (n_words + 4))?;
        }
        Ok(least)
    }
}

/// The errors of the best stumps of a block of tests, and of both branches together.
#[inline(always)]
fn errors<L: Lane>(
    [both_most, both_least, only_most, only_least]: &[Block<L>; 4],
    all: L,
    single: &Block<L>,
    singles: &Singles<L>,
    block: usize,
    true_side: &mut [L],
    false_side: &mut [L],
) -> Block<L> {
    let (in_true, in_false) = (mass_of(&singles.true_side, block), mass_of(&singles.false_side, block));
    let (mut on_true, mut on_false, mut sums) = ([L::MAX; BLOCK], [L::MAX; BLOCK], [L::MAX; BLOCK]);
    for lane in 0..BLOCK {
        let (d, rest) = (single[lane], all.minus(single[lane]));
        on_true[lane] = in_true[lane].minus(spread(d, both_most[lane], both_least[lane])).halved();
        on_false[lane] = in_false[lane].minus(spread(rest, only_most[lane], only_least[lane])).halved();
        sums[lane] = on_true[lane].plus(on_false[lane]);
    }
    true_side[..BLOCK].copy_from_slice(&on_true);
    false_side[..BLOCK].copy_from_slice(&on_false);
    sums
}

/// The extremes that a tile adds to: those of its lines, and those of its columns.
#[inline(always)]
fn take_extremes<L: Lane, const REST: bool>(
    part: &Tile<L>,
    rest: &Tile<L>,
    single_i: &Block<L>,
    single_j: &Block<L>,
    lines: &mut [[Block<L>; 4]],
    of: &mut [Block<L>; 4],
) {
    let single_j = *single_j;
    let [mut a, mut b, mut c, mut d] = *of;
    for (line, extremes) in lines[..BLOCK].iter_mut().enumerate() {
        let d_g = single_i[line];
        // Copies, so that the compiler need not ask whether what is written overlaps what is read.
        let (part, rest) = (part[line], rest[line]);
        let [mut p, mut q, mut r, mut s] = *extremes;
        for lane in 0..BLOCK {
            let both = if REST { rest[lane].minus(part[lane]) } else { part[lane] };
            let only_h = single_j[lane].minus(both);
            let only_g = d_g.minus(both);
            p[lane] = p[lane].greater(both);
            q[lane] = q[lane].lesser(both);
            r[lane] = r[lane].greater(only_h);
            s[lane] = s[lane].lesser(only_h);
            a[lane] = a[lane].greater(both);
            b[lane] = b[lane].lesser(both);
            c[lane] = c[lane].greater(only_g);
            d[lane] = d[lane].lesser(only_g);
        }
        *extremes = [p, q, r, s];
    }
    *of = [a, b, c, d];
}

#[inline(always)]
fn as_tile<L>(cells: &[L]) -> &Tile<L> {
    cells.as_chunks::<BLOCK>().0.first_chunk().expect("a tile is 256 cells")
}

#[inline(always)]
fn as_tile_mut<L>(cells: &mut [L]) -> &mut Tile<L> {
    cells.as_chunks_mut::<BLOCK>().0.first_chunk_mut().expect("a tile is 256 cells")
}

impl Counted<'_> {
    /// The instances counted that pass each test of a block, word by word.
    #[inline(always)]
    fn masks_of(self, block: usize, masks: &mut Vec<[u32; BLOCK]>) {
        masks.clear();
        let columns = self.columns;
        for word in 0..columns.n_words() {
            let start = word * columns.stride + block * BLOCK;
            let mut mask = *columns.words[start..].first_chunk::<BLOCK>().expect("columns are whole blocks");
            if let Some(set) = self.set {
                for lane in 0..BLOCK {
                    mask[lane] &= set[word];
                }
            }
            masks.push(mask);
        }
    }
}

/// Counts the differences of a tile: of the tests that `masks` are of by those of block `j`.
#[inline(always)]
fn count_tile<P: Popcount, L: Lane>(
    shape: Shape,
    counted: Counted,
    masks: &[[u32; BLOCK]],
    j: usize,
    tile: &mut Tile<L>,
) {
    let columns = counted.columns;
    let run = |group: usize, of: &Group| {
        let (start, end) = (columns.starts[group], columns.starts[group + 1]);
        let words = &columns.words[start * columns.stride..end * columns.stride];
        MaskedTile { words, masks: &masks[start..end], stride: columns.stride, block: j, negative: of.channel > 0 }
    };
    if L::WIDE {
        *tile = [[L::default(); BLOCK]; BLOCK];
        for (group, of) in shape.groups.iter().enumerate() {
            let mut sums = [[0u32; BLOCK]; BLOCK];
            P::add_tile(&MaskedTile { negative: false, ..run(group, of) }, 0, &mut sums);
            for (cell, &sum) in tile.as_flattened_mut().iter_mut().zip(sums.as_flattened()) {
                let count = L::of_count(sum, of.shift);
                *cell = if of.channel == 0 { cell.plus(count) } else { cell.minus(count) };
            }
        }
        return;
    }
    let sums = match shape.groups {
        [one, two] if one.shift == 0 && two.shift == 0 => P::tile_of_two(&run(0, one), &run(1, two)),
        groups => {
            let mut sums = [[0u32; BLOCK]; BLOCK];
            for (group, of) in groups.iter().enumerate() {
                P::add_tile(&run(group, of), of.shift, &mut sums);
            }
            sums
        }
    };
    for line in 0..BLOCK {
        for lane in 0..BLOCK {
            tile[line][lane] = L::of_difference(sums[line][lane]);
        }
    }
}

/// Takes the differences between two classes from a matrix of pair counts.
pub(super) struct Differences<'a, L> {
    pub(super) shape: Shape<'a>,
    pub(super) pairs: &'a [L],
    pub(super) differences: &'a mut [L],
}

impl<L: Lane> Kernel for Differences<'_, L> {
    type Output = ();

    #[inline(always)]
    fn run<P: Popcount>(self) {
        let Differences { shape, pairs, differences } = self;
        let n_blocks = shape.stride / BLOCK;
        for g in 0..shape.stride {
            let i = g / BLOCK;
            let row = &pairs[g * shape.row()..(g + 1) * shape.row()];
            for j in i..n_blocks {
                let at = tile_at(n_blocks, i, j) + g % BLOCK * BLOCK;
                differences[at..at + BLOCK].copy_from_slice(&difference_of(row, j));
            }
        }
    }
}

/// By how much the classes differ in a block of a row of counts.
#[inline(always)]
fn difference_of<L: Lane>(row: &[L], block: usize) -> Block<L> {
    let row = &row[block * 2 * BLOCK..(block + 1) * 2 * BLOCK];
    let mut difference = [L::default(); BLOCK];
    for lane in 0..BLOCK {
        difference[lane] = row[lane].minus(row[BLOCK + lane]);
    }
    difference
}

/// The mass of both classes in a block of a row of counts.
#[inline(always)]
fn mass_of<L: Lane>(row: &[L], block: usize) -> Block<L> {
    let row = &row[block * 2 * BLOCK..(block + 1) * 2 * BLOCK];
    let mut mass = [L::default(); BLOCK];
    for lane in 0..BLOCK {
        mass[lane] = row[lane].plus(row[BLOCK + lane]);
    }
    mass
}

/// The greatest |both| + |d - both|, given the extremes of both.
#[inline(always)]
fn spread<L: Lane>(d: L, most: L, least: L) -> L {
    let zero = L::default();
    let (most, least) = (most.plus(most).minus(d), least.plus(least).minus(d));
    d.greater(zero.minus(d)).greater(most.greater(zero.minus(most))).greater(least.greater(zero.minus(least)))
}
