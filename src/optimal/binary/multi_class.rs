//! Pair counts, and the best trees of depth two that they give (Algorithm 4 of MurTree, all pairs at once).
//!
//! For tests g and h and a channel c, the mass that passes both is in row g of the pairs, at [`PairShape::slot`] of c
//! and h: blocks of 16 tests, for each of which the channels stand side by side. Only blocks from that of g on are
//! filled: (h, g) is (g, h). From it and the counts of single tests follow all four cells of (g, h), and from those the
//! errors of a stump on h in either branch of g, and of a stump on g in either branch of h.

use super::accumulator::Accumulator;
use super::pair_counts::count_row;
use super::pair_shape::{Block, PairShape, blocks};
use super::singles::Singles;
use super::stumps::{BestStumps, Stumps};
use crate::budget::Stop;
use crate::simd::{BLOCK, Instructions};

impl<L: Accumulator> BestStumps<'_, '_, L> {
    /// A stump errs on all but the greatest class of each cell: the most cases that the two cells of a branch get right
    /// are what is looked for.
    #[inline(always)]
    pub(super) fn by_class<P: Instructions, const REST: bool>(self) -> Result<u64, Stop> {
        let BestStumps { shape, count, pairs, keeps, whole, singles, live, enough, stumps, ticker } = self;
        let Stumps { true_side, false_side, most: [on_true, on_false], masks, sums, .. } = stumps;
        let n_words = count.map_or(0, |counted| counted.columns.n_words());
        masks.resize(n_words, 0);
        if let Some(counted) = count {
            counted.weigh_all::<P>(shape, sums);
        }
        for side in [&mut *true_side, &mut *false_side] {
            side.fill_with(shape.stride, L::MAX);
        }
        for side in [&mut *on_true, &mut *on_false] {
            side.fill_with(shape.stride, L::default());
        }
        let mut least = u64::MAX;
        for &g in live {
            let g = g as usize;
            let row = if keeps { g * shape.row()..(g + 1) * shape.row() } else { 0..shape.row() };
            if let Some(counted) = count {
                let masks = counted.passing(g, masks);
                count_row::<P, L, true>(shape, counted, masks, g / BLOCK, &mut pairs[row.clone()], sums);
            }
            let pairs = &pairs[row.clone()];
            let row = Row { shape, pairs, whole: whole.map_or(pairs, |whole| &whole[row]), singles, g };
            let start = g / BLOCK * BLOCK;
            let of_others = (&mut on_true[start..shape.stride], &mut on_false[start..shape.stride]);
            let (in_true, in_false) = match shape.min_leaf <= 1 {
                true => row.most_right::<REST, false>(start, of_others),
                false => row.most_right::<REST, true>(start, of_others),
            };
            // All pairs of this test are in.
            true_side[g] = singles.mass(shape, true, g).minus(in_true.max(on_true[g]));
            false_side[g] = singles.mass(shape, false, g).minus(in_false.max(on_false[g]));
            least = least.min(true_side[g].get() + false_side[g].get());
            if enough.is_some_and(|enough| least <= enough) {
                break;
            }
            ticker.tick(count.map_or(4 * shape.row() / BLOCK, |counted| counted.work(shape, g)))?;
        }
        Ok(least)
    }
}

/// The pairs of one test g with all tests.
struct Row<'a, L> {
    shape: PairShape<'a>,
    pairs: &'a [L],
    whole: &'a [L],
    singles: &'a Singles<L>,
    g: usize,
}

#[inline(always)]
fn greatest<L: Accumulator>(block: &Block<L>) -> L {
    block.iter().fold(block[0], |greatest, &x| greatest.max(x))
}

impl<'a, L: Accumulator> Row<'a, L> {
    /// A row of counts, from block `start` on.
    #[inline(always)]
    fn from(&self, row: &'a [L], start: usize) -> &'a [Block<L>] {
        blocks(&row[start * self.shape.channels..self.shape.row()])
    }

    /// Raises the most cases that a stump on g gets right in the branches of the tests h, and returns the most that a
    /// stump on h does in the branches of g. Stumps with cells that are too small, if that matters, get none right.
    #[inline(always)]
    fn most_right<const REST: bool, const SIZES: bool>(
        &self,
        start: usize,
        (on_true, on_false): (&mut [L], &mut [L]),
    ) -> (L, L) {
        let PairShape { n_classes, channels, min_leaf, .. } = self.shape;
        let (on_true, on_false) = (on_true.as_chunks_mut::<BLOCK>().0, on_false.as_chunks_mut::<BLOCK>().0);
        let (mut in_true, mut in_false) = ([L::default(); BLOCK], [L::default(); BLOCK]);
        let fewest = L::of(min_leaf.min(L::MAX.get()));
        let g1 = |channel| self.singles.true_side[self.shape.slot(channel, self.g)];
        let pairs = self.from(self.pairs, start).chunks_exact(channels);
        let whole = self.from(if REST { self.whole } else { self.pairs }, start).chunks_exact(channels);
        let h1 = self.from(&self.singles.true_side, start).chunks_exact(channels);
        let h0 = self.from(&self.singles.false_side, start).chunks_exact(channels);
        for ((((pairs, whole), h1), h0), (on_true, on_false)) in
            pairs.zip(whole).zip(h1).zip(h0).zip(on_true.iter_mut().zip(on_false))
        {
            let none = [L::default(); BLOCK];
            let (mut m11, mut m10, mut m01, mut m00) = (none, none, none, none);
            let (mut c11, mut c10, mut c01, mut c00) = (none, none, none, none);
            for channel in 0..channels {
                let g1 = g1(channel);
                let (part, whole, h1, h0) = (pairs[channel], whole[channel], h1[channel], h0[channel]);
                let is_class = channel < n_classes;
                if SIZES && !is_class {
                    (c11, c10, c01, c00) = (none, none, none, none);
                }
                for lane in 0..BLOCK {
                    let both = if REST { whole[lane].minus(part[lane]) } else { part[lane] };
                    let only_g = g1.minus(both);
                    let only_h = h1[lane].minus(both);
                    let neither = h0[lane].minus(only_g);
                    if SIZES {
                        c11[lane] = c11[lane].plus(both);
                        c10[lane] = c10[lane].plus(only_g);
                        c01[lane] = c01[lane].plus(only_h);
                        c00[lane] = c00[lane].plus(neither);
                    }
                    if !SIZES || is_class {
                        m11[lane] = m11[lane].max(both);
                        m10[lane] = m10[lane].max(only_g);
                        m01[lane] = m01[lane].max(only_h);
                        m00[lane] = m00[lane].max(neither);
                    }
                }
            }
            for lane in 0..BLOCK {
                let right = |a: L, b: L, size_a: L, size_b: L| {
                    if !SIZES || size_a.min(size_b) >= fewest { a.plus(b) } else { L::default() }
                };
                let (m11, m10, m01, m00) = (m11[lane], m10[lane], m01[lane], m00[lane]);
                let (c11, c10, c01, c00) = (c11[lane], c10[lane], c01[lane], c00[lane]);
                in_true[lane] = in_true[lane].max(right(m11, m10, c11, c10));
                in_false[lane] = in_false[lane].max(right(m01, m00, c01, c00));
                on_true[lane] = on_true[lane].max(right(m11, m01, c11, c01));
                on_false[lane] = on_false[lane].max(right(m10, m00, c10, c00));
            }
        }
        (greatest(&in_true), greatest(&in_false))
    }
}

/// The least costs over some cases of trees of depth two with at most 0, 1, 2 and 3 nodes, each node costing `penalty`.
/// `tell` hears of each admissible root and the least cost of two stumps or leaves below it.
pub(super) fn depth_two_costs<L: Accumulator>(
    shape: PairShape,
    live: &[u32],
    singles: &Singles<L>,
    stumps: &Stumps<L>,
    leaf: u64,
    penalty: u64,
    mut tell: impl FnMut(u32, u64),
) -> [u64; 4] {
    let mut costs = [leaf; 4];
    for &root in live {
        let branches = branch_costs(shape, singles, stumps, penalty, root as usize);
        if let Some([(leaf1, stump1), (leaf0, stump0)]) = branches {
            tell(root, stump1 + stump0);
            costs[1] = costs[1].min(leaf1 + leaf0 + penalty);
            costs[2] = costs[2].min((leaf1 + stump0).min(stump1 + leaf0) + penalty);
            costs[3] = costs[3].min(stump1 + stump0 + penalty);
        }
    }
    for level in 1..4 {
        costs[level] = costs[level].min(costs[level - 1]);
    }
    costs
}

/// The cost of a leaf, and of the better of leaf and stump, in the true and in the false branch of a root. `None` if it
/// splits the cases into branches that are too small.
#[inline]
pub(super) fn branch_costs<L: Accumulator>(
    shape: PairShape,
    singles: &Singles<L>,
    stumps: &Stumps<L>,
    penalty: u64,
    root: usize,
) -> Option<[(u64, u64); 2]> {
    if shape.min_leaf > 1 && !singles.admissible(shape, root) {
        return None;
    }
    let branch = |side: bool, stumps: &[L]| {
        let leaf = singles.leaf(shape, side, root);
        (leaf, leaf.min(stumps[root].get() + penalty))
    };
    Some([branch(true, &stumps.true_side), branch(false, &stumps.false_side)])
}
