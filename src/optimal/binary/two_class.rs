//! Trees of depth two for two classes, where leaves have no least size: from differences between the classes.
//!
//! Let a cell hold n cases, and one class d more than the other: a leaf errs on (n - |d|) / 2 of them. In the branch
//! where g passes, the cells of a stump on h have differences d and D - d, D being that of the branch: |d| + |D - d| is
//! the greater of |D| and |2d - D|, so only the greatest and the least d over all h can give the best stump. One matrix
//! of differences is all that is needed, and two operations a side.
//!
//! The matrix lies in tiles of 16 x 16 tests: tile (i, j), i <= j, holds the tests of block i by those of block j, a
//! line per test of block i; where a position has no test it holds zeros, as for a test that nothing passes. A tile is
//! counted at once: 16 sums stay in registers while the words of the cases pass by.

use super::accumulator::Accumulator;
use super::bit_table::BitColumns;
use super::pair_counts::Counted;
use super::pair_shape::{Block, PairShape, blocks};
use super::singles::Singles;
use super::stumps::{BestStumps, DifferenceExtremes, Stumps, smallest};
use super::weighted_counts::{Weighed, WeightedSums};
use crate::budget::Stop;
use crate::simd::{BLOCK, Instructions, Kernel, MaskedTile, Tile, WordRun};

#[inline(always)]
fn tile_at(n_blocks: usize, i: usize, j: usize) -> usize {
    (i * n_blocks + j) * BLOCK * BLOCK
}

/// Nothing yet: no difference is less than the greatest, or greater than the least.
#[inline(always)]
fn nothing<L: Accumulator>() -> [Block<L>; 4] {
    [[L::LEAST; BLOCK], [L::MOST; BLOCK], [L::LEAST; BLOCK], [L::MOST; BLOCK]]
}

impl<L: Accumulator> BestStumps<'_, '_, L> {
    /// Finds them from differences; those of the rest if `REST`.
    #[inline(always)]
    pub(super) fn by_difference<P: Instructions, const REST: bool>(self) -> Result<u64, Stop> {
        let BestStumps { shape, count, pairs, keeps, whole, singles, live, enough, stumps, ticker } = self;
        let n_blocks = shape.stride / BLOCK;
        let Stumps { true_side, false_side, extremes, masks: of_test, sums, .. } = stumps;
        let DifferenceExtremes { single, of, lines, masks, runs } = extremes;
        true_side.fill_with(shape.stride, L::MAX);
        false_side.fill_with(shape.stride, L::MAX);
        single.clear();
        single.extend((0..n_blocks).map(|block| difference_of(&singles.true_side, block)));
        of.clear();
        of.resize(n_blocks, nothing());
        lines.resize(4, [[L::default(); BLOCK]; BLOCK]);
        // Whatever passes a test or does not is all.
        let all = single[0][0].plus(difference_of(&singles.false_side, 0)[0]);
        if let Some(counted) = count {
            runs_of(shape, counted, runs);
        }
        let n_words = count.map_or(0, |counted| counted.columns.n_words());
        of_test.resize(n_words, 0);
        if let Some(Counted { columns, weighed: Some(weighed), .. }) = count {
            weighed.sum_all::<P>(columns, std::iter::once(0..shape.groups.len()), sums);
        }
        let mut least = u64::MAX;
        for rows in live.chunk_by(|a, b| a / BLOCK as u32 == b / BLOCK as u32) {
            let i = rows[0] as usize / BLOCK;
            let start = if keeps { tile_at(n_blocks, i, i) } else { 0 };
            let line = start..start + tile_at(n_blocks, 0, n_blocks - i);
            if let Some(counted) = count {
                let tiles = pairs[line.clone()].as_chunks_mut::<BLOCK>().0.as_chunks_mut::<BLOCK>().0;
                if let Some(weighed) = counted.weighed {
                    weigh_tiles::<P, L>(shape, (counted, weighed), rows, tiles, (of_test, sums));
                } else {
                    counted.masks_of(i, masks);
                    for (j, tile) in (i..).zip(tiles) {
                        count_tile::<P, L>(shape, counted, (masks, runs), j, tile);
                    }
                }
            }
            let part = as_tiles(&pairs[line.clone()]);
            let rest = match whole {
                Some(whole) if REST => as_tiles(&whole[line]),
                _ => part,
            };
            take_extremes::<L, REST>(part, rest, (&single[i], &single[i..]), lines, &mut of[i..]);
            // All pairs of these tests are in.
            let mut extremes = of[i];
            let [a, b, c, d] = [
                L::greatest_of_lines::<P>(&lines[0]),
                L::least_of_lines::<P>(&lines[1]),
                L::greatest_of_lines::<P>(&lines[2]),
                L::least_of_lines::<P>(&lines[3]),
            ];
            for lane in 0..BLOCK {
                extremes[0][lane] = extremes[0][lane].greater(a[lane]);
                extremes[1][lane] = extremes[1][lane].lesser(b[lane]);
                extremes[2][lane] = extremes[2][lane].greater(c[lane]);
                extremes[3][lane] = extremes[3][lane].lesser(d[lane]);
            }
            let sides = (&mut true_side[i * BLOCK..], &mut false_side[i * BLOCK..]);
            least = least.min(smallest(&errors(&extremes, all, &single[i], singles, i, sides)).get());
            if enough.is_some_and(|enough| least <= enough) {
                break;
            }
            let words = count.map_or(0, Counted::words);
            ticker.tick(rows.len() * (n_blocks - i) * (words + 4))?;
        }
        Ok(least)
    }
}

/// The errors of the best stumps of a block of tests, and of both branches together.
#[inline(always)]
fn errors<L: Accumulator>(
    [both_most, both_least, only_most, only_least]: &[Block<L>; 4],
    all: L,
    single: &Block<L>,
    singles: &Singles<L>,
    block: usize,
    (true_side, false_side): (&mut [L], &mut [L]),
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

/// The extremes of each line of a row of tiles, in `lines`; those of the columns are added to `of`.
#[inline(always)]
fn take_extremes<L: Accumulator, const REST: bool>(
    part: &[Tile<L>],
    rest: &[Tile<L>],
    (single_i, single): (&Block<L>, &[Block<L>]),
    lines: &mut [Tile<L>],
    of: &mut [[Block<L>; 4]],
) {
    // As many lines at a time as stay in registers along the row.
    for line in (0..BLOCK).step_by(4) {
        let [mut k, mut l, mut m, mut n] = [nothing(); 4];
        for (((part, rest), single_j), of) in part.iter().zip(rest).zip(single).zip(of.iter_mut()) {
            // Copies, so that the compiler need not ask whether what is written overlaps what is read.
            let (single_j, mut column) = (*single_j, *of);
            take_line::<L, REST>((&part[line], &rest[line]), single_i[line], &single_j, &mut k, &mut column);
            take_line::<L, REST>(
                (&part[line + 1], &rest[line + 1]),
                single_i[line + 1],
                &single_j,
                &mut l,
                &mut column,
            );
            take_line::<L, REST>(
                (&part[line + 2], &rest[line + 2]),
                single_i[line + 2],
                &single_j,
                &mut m,
                &mut column,
            );
            take_line::<L, REST>(
                (&part[line + 3], &rest[line + 3]),
                single_i[line + 3],
                &single_j,
                &mut n,
                &mut column,
            );
            *of = column;
        }
        for (kind, lines) in lines.iter_mut().enumerate() {
            lines[line..line + 4].copy_from_slice(&[k[kind], l[kind], m[kind], n[kind]]);
        }
    }
}

/// Adds a line of a tile to the extremes of that line and of the columns.
#[inline(always)]
fn take_line<L: Accumulator, const REST: bool>(
    (part, rest): (&Block<L>, &Block<L>),
    d_g: L,
    d_h: &Block<L>,
    of_line: &mut [Block<L>; 4],
    of_column: &mut [Block<L>; 4],
) {
    for lane in 0..BLOCK {
        let both = if REST { rest[lane].minus(part[lane]) } else { part[lane] };
        let only_h = d_h[lane].minus(both);
        let only_g = d_g.minus(both);
        of_line[0][lane] = of_line[0][lane].greater(both);
        of_line[1][lane] = of_line[1][lane].lesser(both);
        of_line[2][lane] = of_line[2][lane].greater(only_h);
        of_line[3][lane] = of_line[3][lane].lesser(only_h);
        of_column[0][lane] = of_column[0][lane].greater(both);
        of_column[1][lane] = of_column[1][lane].lesser(both);
        of_column[2][lane] = of_column[2][lane].greater(only_g);
        of_column[3][lane] = of_column[3][lane].lesser(only_g);
    }
}

#[inline(always)]
fn as_tiles<L>(cells: &[L]) -> &[Tile<L>] {
    cells.as_chunks::<BLOCK>().0.as_chunks::<BLOCK>().0
}

impl<L> Counted<'_, L> {
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

/// The groups of what is counted, in an order in which the sum of all counts times their masses comes by Horner's rule:
/// after each group its sum is multiplied by the ratio of its mass and that of the next one. The ratio of odd numbers
/// is a whole number modulo 2^32, in which the sums fit, and masses that are divisible by higher powers of two come
/// first. None if masses may not fit into 32 bits.
#[inline(always)]
fn runs_of<L: Accumulator>(shape: PairShape, counted: Counted<L>, runs: &mut Vec<WordRun>) {
    runs.clear();
    if L::WIDE {
        return;
    }
    let any = shape.groups.iter().fold(0, |any, group| any | lowest_bit(group.mass));
    let mut last_mass = 0;
    for bit in (0..32).rev().map(|bit| 1 << bit).filter(|bit| any & bit != 0) {
        for (of, words) in shape.groups.iter().zip(counted.columns.starts.windows(2)) {
            if lowest_bit(of.mass) != bit || words[0] == words[1] {
                continue;
            }
            let mass = of.mass as u32;
            if let Some(last) = runs.last_mut() {
                last.times = ratio(last_mass, mass);
            }
            runs.push(WordRun { start: words[0], end: words[1], negative: of.channel > 0, times: mass });
            last_mass = mass;
        }
    }
}

#[inline(always)]
fn lowest_bit(mass: u64) -> u64 {
    mass & mass.wrapping_neg()
}

/// `a / b` modulo 2^32, where `a` is divisible by the powers of two that divide `b`.
#[inline(always)]
fn ratio(a: u32, b: u32) -> u32 {
    let zeros = b.trailing_zeros();
    let odd = b >> zeros;
    // Newton's iteration: three bits are right at first, and twice as many after each step.
    let inverse = (0..4).fold(odd, |inverse, _| inverse.wrapping_mul(2u32.wrapping_sub(odd.wrapping_mul(inverse))));
    (a >> zeros).wrapping_mul(inverse)
}

/// Counts the differences of a tile: of the tests that the masks are of by those of block `j`.
#[inline(always)]
fn count_tile<P: Instructions, L: Accumulator>(
    shape: PairShape,
    counted: Counted<L>,
    (masks, runs): (&[[u32; BLOCK]], &[WordRun]),
    j: usize,
    tile: &mut Tile<L>,
) {
    let BitColumns { stride, ref words, ref starts } = *counted.columns;
    let of = MaskedTile { words, masks, stride, block: j, runs };
    if !runs.is_empty() {
        L::count_tile::<P>(&of, tile);
        return;
    }
    *tile = [[L::default(); BLOCK]; BLOCK];
    for (group, range) in shape.groups.iter().zip(starts.windows(2)).filter(|(_, range)| range[0] < range[1]) {
        let run = WordRun { start: range[0], end: range[1], negative: false, times: 1 };
        let sums = P::tile(&MaskedTile { runs: &[run], ..of });
        let mass = L::of(group.mass);
        for (cell, &sum) in tile.as_flattened_mut().iter_mut().zip(sums.as_flattened()) {
            let count = L::of_count(sum, mass);
            *cell = if group.channel == 0 { cell.plus(count) } else { cell.minus(count) };
        }
    }
}

/// Weighs the differences of a row of tiles: of some tests of one block by those of that block and all after it.
#[inline(always)]
fn weigh_tiles<P: Instructions, L: Accumulator>(
    shape: PairShape,
    (counted, weighed): (Counted<L>, Weighed<L>),
    tests: &[u32],
    tiles: &mut [Tile<L>],
    (masks, sums): (&mut [u32], &mut WeightedSums<L>),
) {
    let first = tests[0] as usize / BLOCK;
    tiles.as_flattened_mut().fill([L::default(); BLOCK]);
    for &g in tests {
        let masks = counted.passing(g as usize, masks);
        let (groups, at) = (0..shape.groups.len(), (first * BLOCK, Some(0)));
        weighed.sum::<P>(counted.columns, groups, |word| masks.at(word), at, sums);
        for (tile, sums) in tiles.iter_mut().zip(&blocks(&sums.of)[first..]) {
            tile[g as usize % BLOCK] = *sums;
        }
    }
}

/// Takes the differences between two classes from a matrix of pair counts.
pub(super) struct Differences<'a, L> {
    pub(super) shape: PairShape<'a>,
    pub(super) pairs: &'a [L],
    pub(super) differences: &'a mut [L],
}

impl<L: Accumulator> Kernel for Differences<'_, L> {
    type Output = ();

    #[inline(always)]
    fn run<P: Instructions>(self) {
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
pub(super) fn difference_of<L: Accumulator>(row: &[L], block: usize) -> Block<L> {
    let row = &row[block * 2 * BLOCK..(block + 1) * 2 * BLOCK];
    let mut difference = [L::default(); BLOCK];
    for lane in 0..BLOCK {
        difference[lane] = row[lane].minus(row[BLOCK + lane]);
    }
    difference
}

/// The mass of both classes in a block of a row of counts.
#[inline(always)]
pub(super) fn mass_of<L: Accumulator>(row: &[L], block: usize) -> Block<L> {
    let row = &row[block * 2 * BLOCK..(block + 1) * 2 * BLOCK];
    let mut mass = [L::default(); BLOCK];
    for lane in 0..BLOCK {
        mass[lane] = row[lane].plus(row[BLOCK + lane]);
    }
    mass
}

/// The greatest |both| + |d - both|, given the extremes of both: as a mass, which may be more than any difference.
#[inline(always)]
pub(super) fn spread<L: Accumulator>(d: L, most: L, least: L) -> L {
    let apart = |a: L, b: L| a.greater(b).minus(a.lesser(b));
    apart(d, L::default()).max(apart(most, d.minus(most))).max(apart(least, d.minus(least)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::mix;

    #[test]
    fn ratios_times_masses_are_masses() {
        let masses = (1..200).chain((0..200).map(|seed| 1 + mix(seed) as u32 % (1 << 31)));
        for (a, b) in masses.clone().flat_map(|a| masses.clone().map(move |b| (a, b))) {
            if a.trailing_zeros() >= b.trailing_zeros() {
                assert_eq!(ratio(a, b).wrapping_mul(b), a, "{a} / {b}");
            }
        }
    }
}
