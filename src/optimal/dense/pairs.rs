//! Pair counts, and the best trees of depth two that they give (Algorithm 4 of MurTree, all pairs at once).
//!
//! For tests g and h and a channel c, `pairs[(c * stride + g) * stride + h]` is the mass that passes both. Only blocks of 16
//! columns from that of g on are filled: (h, g) is (g, h). From it and the counts of single tests follow all four cells
//! of (g, h), and from those the errors of a stump on h in either branch of g, and of a stump on g in either branch of h.

use std::ops::Range;

use super::instances::Group;
use super::lane::Lane;
use super::simd::{BLOCK, Kernel, Popcount};
use super::table::Columns;
use crate::budget::{Stop, Ticker};

/// The sizes that pair counts have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape<'a> {
    pub(super) stride: usize,
    pub(super) n_classes: usize,
    /// Classes, and one more if cases are counted apart.
    pub(super) channels: usize,
    pub(super) groups: &'a [Group],
    /// The groups of each channel.
    pub(super) of_channel: &'a [Range<usize>],
    pub(super) min_leaf: u64,
}

impl Shape<'_> {
    /// The size of a matrix of pair counts.
    pub(super) fn n_pairs(self) -> usize {
        self.channels * self.stride * self.stride
    }
}

/// Counts of single tests: `true_side[c * stride + h]` passes h, `false_side` does not.
#[derive(Debug, Default)]
pub(super) struct Singles<L> {
    pub(super) true_side: Vec<L>,
    pub(super) false_side: Vec<L>,
}

impl<L: Lane> Singles<L> {
    /// Their errors as leaves, and whether both sides of a test are large enough for a split.
    #[inline(always)]
    fn side(&self, shape: Shape, side: bool, position: usize) -> (u64, bool) {
        let counts = if side { &self.true_side } else { &self.false_side };
        let at = |channel: usize| counts[channel * shape.stride + position].get();
        let (mut sum, mut most) = (0, 0);
        for class in 0..shape.n_classes {
            sum += at(class);
            most = most.max(at(class));
        }
        let cases = if shape.channels > shape.n_classes { at(shape.n_classes) } else { sum };
        (sum - most, shape.min_leaf <= 1 || cases >= shape.min_leaf)
    }

    /// The errors of the leaf on this side of a test.
    pub(super) fn leaf(&self, shape: Shape, side: bool, position: usize) -> u64 {
        self.side(shape, side, position).0
    }

    /// Whether a test splits the cases into branches that are large enough.
    pub(super) fn admissible(&self, shape: Shape, position: usize) -> bool {
        self.side(shape, true, position).1 && self.side(shape, false, position).1
    }
}

/// The least errors of a stump in the branches of each test; [`Lane::MAX`] where no stump is admissible.
#[derive(Debug, Default)]
pub(super) struct Stumps<L> {
    pub(super) true_side: Vec<L>,
    pub(super) false_side: Vec<L>,
}

/// Counts a matrix of pairs.
pub(super) struct CountPairs<'a, 'b, L> {
    pub(super) shape: Shape<'a>,
    pub(super) columns: &'a Columns,
    pub(super) live: &'a [u32],
    pub(super) pairs: &'a mut [L],
    pub(super) ticker: &'a mut Ticker<'b>,
}

impl<L: Lane> Kernel for CountPairs<'_, '_, L> {
    type Output = Result<(), Stop>;

    #[inline(always)]
    fn run<P: Popcount>(self) -> Self::Output {
        for &g in self.live {
            count_row::<P, L>(self.shape, self.columns, g as usize, self.pairs);
            self.ticker.tick(row_work(self.shape, self.columns, g as usize))?;
        }
        Ok(())
    }
}

/// About how many nanoseconds a row of pairs takes to count and use.
#[inline(always)]
fn row_work(shape: Shape, columns: &Columns, g: usize) -> usize {
    (shape.stride - g) * (columns.n_words() + 4 * shape.channels) / BLOCK
}

#[inline(always)]
fn count_row<P: Popcount, L: Lane>(shape: Shape, columns: &Columns, g: usize, pairs: &mut [L]) {
    let stride = shape.stride;
    for channel in 0..shape.channels {
        let row = &mut pairs[(channel * stride + g) * stride..][..stride];
        let groups = shape.of_channel[channel].clone();
        for (block, row) in row.as_chunks_mut::<BLOCK>().0.iter_mut().enumerate().skip(g / BLOCK) {
            let mut counts = [L::default(); BLOCK];
            for group in groups.clone() {
                let (start, end) = (columns.starts[group], columns.starts[group + 1]);
                if start == end {
                    continue;
                }
                let words = &columns.words[start * stride..end * stride];
                let mask = |word: usize| words[word * stride + g];
                let of_group = P::count(&words[block * BLOCK..], stride, mask, end - start);
                let shift = shape.groups[group].shift;
                for lane in 0..BLOCK {
                    counts[lane] = counts[lane].plus(L::of_count(of_group[lane], shift));
                }
            }
            *row = counts;
        }
    }
}

/// Counts, per position, the mass that a set of instances (a bit each) shares with a column, over all classes.
pub(super) struct CountShared<'a, L> {
    pub(super) shape: Shape<'a>,
    pub(super) columns: &'a Columns,
    pub(super) set: &'a [u32],
    pub(super) shared: &'a mut [L],
}

impl<L: Lane> Kernel for CountShared<'_, L> {
    type Output = ();

    #[inline(always)]
    fn run<P: Popcount>(self) {
        let Shape { stride, n_classes, .. } = self.shape;
        for (block, shared) in self.shared.as_chunks_mut::<BLOCK>().0.iter_mut().enumerate() {
            let mut counts = [L::default(); BLOCK];
            for group in self.shape.of_channel[..n_classes].iter().flat_map(|groups| groups.clone()) {
                let (start, end) = (self.columns.starts[group], self.columns.starts[group + 1]);
                if start == end {
                    continue;
                }
                let words = &self.columns.words[start * stride + block * BLOCK..end * stride];
                let of_group = P::count(words, stride, |word| self.set[start + word], end - start);
                let shift = self.shape.groups[group].shift;
                for lane in 0..BLOCK {
                    counts[lane] = counts[lane].plus(L::of_count(of_group[lane], shift));
                }
            }
            *shared = counts;
        }
    }
}

/// Finds the best stumps in the branches of all tests of some cases.
pub(super) struct BestStumps<'a, 'b, L> {
    pub(super) shape: Shape<'a>,
    /// Where to count the pairs from, if they are not counted yet.
    pub(super) count: Option<&'a Columns>,
    /// The pair counts of the cases, or of those that `whole` has and they do not.
    pub(super) pairs: &'a mut [L],
    pub(super) whole: Option<&'a [L]>,
    pub(super) singles: &'a Singles<L>,
    pub(super) live: &'a [u32],
    /// Stop at a test whose two stumps together err no more than this.
    pub(super) enough: Option<u64>,
    pub(super) stumps: &'a mut Stumps<L>,
    pub(super) ticker: &'a mut Ticker<'b>,
}

impl<L: Lane> Kernel for BestStumps<'_, '_, L> {
    /// The least errors of two stumps under a root.
    type Output = Result<u64, Stop>;

    #[inline(always)]
    fn run<P: Popcount>(self) -> Self::Output {
        let two = self.shape.n_classes == 2 && self.shape.min_leaf <= 1;
        match (two, self.whole.is_some()) {
            (true, false) => self.find::<P, true, false>(),
            (true, true) => self.find::<P, true, true>(),
            (false, false) => self.find::<P, false, false>(),
            (false, true) => self.find::<P, false, true>(),
        }
    }
}

impl<L: Lane> BestStumps<'_, '_, L> {
    #[inline(always)]
    fn find<P: Popcount, const TWO: bool, const REST: bool>(self) -> Result<u64, Stop> {
        let BestStumps { shape, count, pairs, whole, singles, live, enough, stumps, ticker } = self;
        let stride = shape.stride;
        stumps.true_side.clear();
        stumps.true_side.resize(stride, L::MAX);
        stumps.false_side.clear();
        stumps.false_side.resize(stride, L::MAX);
        let n_words = count.map_or(0, Columns::n_words);
        let mut least = u64::MAX;
        for &g in live {
            let g = g as usize;
            if let Some(columns) = count {
                count_row::<P, L>(shape, columns, g, pairs);
            }
            let row = Row { shape, pairs, whole: whole.unwrap_or_default(), singles, g };
            let start = g / BLOCK * BLOCK;
            let (on_true, on_false) = (&mut stumps.true_side[start..], &mut stumps.false_side[start..]);
            let (in_true, in_false) = match TWO {
                true => row.two_classes::<REST>(start, on_true, on_false),
                false => row.many_classes::<REST>(start, on_true, on_false),
            };
            let in_true = stumps.true_side[g].min(in_true);
            let in_false = stumps.false_side[g].min(in_false);
            (stumps.true_side[g], stumps.false_side[g]) = (in_true, in_false);
            least = least.min(in_true.get().saturating_add(in_false.get()));
            if enough.is_some_and(|enough| least <= enough) {
                break;
            }
            ticker.tick((stride - g) * (n_words + 4 * shape.channels) / BLOCK)?;
        }
        Ok(least)
    }
}

/// The pairs of one test g with all tests from `start` on.
struct Row<'a, L> {
    shape: Shape<'a>,
    pairs: &'a [L],
    whole: &'a [L],
    singles: &'a Singles<L>,
    g: usize,
}

type Block<L> = [L; BLOCK];

#[inline(always)]
fn blocks<L>(row: &[L]) -> &[Block<L>] {
    row.as_chunks::<BLOCK>().0
}

#[inline(always)]
fn least<L: Lane>(block: &Block<L>) -> L {
    let mut least = *block;
    let mut width = BLOCK / 2;
    while width > 0 {
        for lane in 0..width {
            least[lane] = least[lane].min(least[lane + width]);
        }
        width /= 2;
    }
    least[0]
}

impl<'a, L: Lane> Row<'a, L> {
    #[inline(always)]
    fn of(&self, matrix: &'a [L], channel: usize, start: usize) -> &'a [Block<L>] {
        let stride = self.shape.stride;
        let row = (channel * stride + self.g) * stride;
        blocks(&matrix[row + start..row + stride])
    }

    #[inline(always)]
    fn single(&self, side: &'a [L], channel: usize, start: usize) -> &'a [Block<L>] {
        let stride = self.shape.stride;
        blocks(&side[channel * stride + start..(channel + 1) * stride])
    }

    /// Lowers the stumps on g in the branches of the tests h, and returns the least errors of stumps on h in the
    /// branches of g. Errors of two classes are the smaller of two counts.
    #[inline(always)]
    fn two_classes<const REST: bool>(&self, start: usize, on_true: &mut [L], on_false: &mut [L]) -> (L, L) {
        let stride = self.shape.stride;
        let g1 = [self.singles.true_side[self.g], self.singles.true_side[stride + self.g]];
        let part = [0, 1].map(|channel| self.of(self.pairs, channel, start));
        let whole = [0, 1].map(|channel| if REST { self.of(self.whole, channel, start) } else { part[channel] });
        let h1 = [0, 1].map(|channel| self.single(&self.singles.true_side, channel, start));
        let h0 = [0, 1].map(|channel| self.single(&self.singles.false_side, channel, start));
        let n = part[0].len();
        let (on_true, on_false) = (on_true.as_chunks_mut::<BLOCK>().0, on_false.as_chunks_mut::<BLOCK>().0);
        let (on_true, on_false) = (&mut on_true[..n], &mut on_false[..n]);
        // One check of lengths here, none in the loop.
        let (p0, p1, w0, w1) = (&part[0][..n], &part[1][..n], &whole[0][..n], &whole[1][..n]);
        let (a0, a1, b0, b1) = (&h1[0][..n], &h1[1][..n], &h0[0][..n], &h0[1][..n]);
        let (mut in_true, mut in_false) = ([L::MAX; BLOCK], [L::MAX; BLOCK]);
        for block in 0..n {
            for lane in 0..BLOCK {
                let (mut x, mut y) = (p0[block][lane], p1[block][lane]);
                if REST {
                    (x, y) = (w0[block][lane].minus(x), w1[block][lane].minus(y));
                }
                let (x10, y10) = (g1[0].minus(x), g1[1].minus(y));
                let e11 = x.min(y);
                let e10 = x10.min(y10);
                let e01 = a0[block][lane].minus(x).min(a1[block][lane].minus(y));
                let e00 = b0[block][lane].minus(x10).min(b1[block][lane].minus(y10));
                in_true[lane] = in_true[lane].min(e11.plus(e10));
                in_false[lane] = in_false[lane].min(e01.plus(e00));
                on_true[block][lane] = on_true[block][lane].min(e11.plus(e01));
                on_false[block][lane] = on_false[block][lane].min(e10.plus(e00));
            }
        }
        (least(&in_true), least(&in_false))
    }

    /// The same for any number of classes, and for branches that must be large enough.
    #[inline(always)]
    fn many_classes<const REST: bool>(&self, start: usize, on_true: &mut [L], on_false: &mut [L]) -> (L, L) {
        let Shape { stride, n_classes, channels, min_leaf, .. } = self.shape;
        let n = (stride - start) / BLOCK;
        let (on_true, on_false) = (on_true.as_chunks_mut::<BLOCK>().0, on_false.as_chunks_mut::<BLOCK>().0);
        let (mut in_true, mut in_false) = ([L::MAX; BLOCK], [L::MAX; BLOCK]);
        let fewest = L::of(min_leaf.min(L::MAX.get()));
        for block in 0..n {
            let mut sum = [[L::default(); BLOCK]; 4];
            let mut most = [[L::default(); BLOCK]; 4];
            let mut cases = [[L::default(); BLOCK]; 4];
            for channel in 0..channels {
                let g1 = self.singles.true_side[channel * stride + self.g];
                let part = &self.of(self.pairs, channel, start)[block];
                let whole = if REST { &self.of(self.whole, channel, start)[block] } else { part };
                let h1 = &self.single(&self.singles.true_side, channel, start)[block];
                let h0 = &self.single(&self.singles.false_side, channel, start)[block];
                for lane in 0..BLOCK {
                    let both = if REST { whole[lane].minus(part[lane]) } else { part[lane] };
                    let only_g = g1.minus(both);
                    let cells = [both, only_g, h1[lane].minus(both), h0[lane].minus(only_g)];
                    for cell in 0..4 {
                        if channel < n_classes {
                            sum[cell][lane] = sum[cell][lane].plus(cells[cell]);
                            most[cell][lane] = most[cell][lane].max(cells[cell]);
                        } else {
                            cases[cell][lane] = cells[cell];
                        }
                    }
                }
            }
            if channels == n_classes {
                cases = sum;
            }
            for lane in 0..BLOCK {
                let error = |cell: usize| sum[cell][lane].minus(most[cell][lane]);
                let stump = |a: usize, b: usize| {
                    let enough = min_leaf <= 1 || (cases[a][lane].min(cases[b][lane]) >= fewest);
                    if enough { error(a).plus(error(b)) } else { L::MAX }
                };
                in_true[lane] = in_true[lane].min(stump(0, 1));
                in_false[lane] = in_false[lane].min(stump(2, 3));
                on_true[block][lane] = on_true[block][lane].min(stump(0, 2));
                on_false[block][lane] = on_false[block][lane].min(stump(1, 3));
            }
        }
        (least(&in_true), least(&in_false))
    }
}

/// The least costs over some cases of trees of depth two with at most 0, 1, 2 and 3 nodes, each node costing `penalty`.
pub(super) fn depth_two_costs<L: Lane>(
    shape: Shape,
    live: &[u32],
    singles: &Singles<L>,
    stumps: &Stumps<L>,
    leaf: u64,
    penalty: u64,
) -> [u64; 4] {
    let mut costs = [leaf; 4];
    for &root in live {
        let root = root as usize;
        let branches = branch_costs(shape, singles, stumps, penalty, root);
        if let Some([(leaf1, stump1), (leaf0, stump0)]) = branches {
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
pub(super) fn branch_costs<L: Lane>(
    shape: Shape,
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
        let stump = if stumps[root] == L::MAX { leaf } else { stumps[root].get() + penalty };
        (leaf, stump.min(leaf))
    };
    Some([branch(true, &stumps.true_side), branch(false, &stumps.false_side)])
}
