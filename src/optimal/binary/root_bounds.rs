//! Lower bounds on the roots of a node, raised as roots are solved.
//!
//! Let v_k(A) be the least cost on a set A at level k, and w(A) its mass.
//!
//! **Similarity** (MurTree, section 4.4). A best tree on B, applied to A, errs in addition at most on what A has and B
//! has not: v_k(A) <= v_k(B) + w(A \ B), so v_k(B) >= v_k(A) - w(A \ B). A branch that no case of A takes can be cut
//! out, so this holds for any A and B; node penalties are the same on both sides. Under `min_leaf` the tree must stay
//! admissible on A, which is certain only if B is a subset of A: then every branch keeps all of its cases. After
//! cancellation w is what is left of the masses, and the argument stands: a case costs at most its whole mass.
//!
//! **Transposition.** The branch g = t of the branch f = s is the branch f = s of the branch g = t. What a solved child
//! has learned of its own roots bounds the roots of children that come later ([`GrandchildBounds`]), be it the same set
//! or a similar one: from child A to child B, v(B and g) >= v(A and g) - w((A and g) \ B), and the two sides of g
//! together lose no more than w(A \ B). One level further down the same holds for sets that three tests make
//! ([`GreatGrandchildBounds`]).
//!
//! **Refined bound** (section 4.5.3). A node that fails to beat its cutoff is bounded by the least bound of its roots.

use std::ops::Range;

use smallvec::SmallVec;

use super::accumulator::Accumulator;
use super::aligned::Aligned;
use super::counts::NONE;
use super::node::Node;
use super::node_budgets::{BudgetQuery, NodeBudgets};
use super::pair_counts::CountShared;
use super::pair_shape::PairShape;
use super::weighted_counts::WeightedSums;
use crate::simd::{BLOCK, Instructions, Isa, Kernel};

/// Bounds on the two branches of each root, for each level of a branch, and on their sum for each level of the node.
#[derive(Debug, Default)]
pub(super) struct RootBounds<L> {
    pub(super) stride: usize,
    /// `[side][level * stride + position]`; side 0 is the false one.
    pub(super) sides: [Vec<L>; 2],
    /// `[level * stride + position]`
    pub(super) sums: Vec<L>,
}

impl<L: Accumulator> RootBounds<L> {
    /// Nothing is known.
    pub(super) fn reset(&mut self, stride: usize, levels: usize, branch_levels: usize) {
        self.stride = stride;
        for side in &mut self.sides {
            side.clear();
            side.resize(branch_levels * stride, L::default());
        }
        self.sums.clear();
        self.sums.resize(levels * stride, L::default());
    }

    /// What is known of a branch at a level.
    #[inline]
    pub(super) fn of(&self, side: usize, level: usize, root: usize) -> u64 {
        self.sides[side][level * self.stride + root].get()
    }

    /// Raises what is known.
    #[inline]
    pub(super) fn raise(&mut self, side: usize, level: usize, root: usize, bound: u64) {
        let known = &mut self.sides[side][level * self.stride + root];
        *known = (*known).max(L::of(bound));
    }

    /// Raises the bounds on the branches of all roots to what others, laid out alike, say in another unit.
    pub(super) fn raise_to<K: Accumulator>(&mut self, others: &RootBounds<K>, in_mass: impl Fn(u64) -> u64) {
        for (bounds, others) in self.sides.iter_mut().zip(&others.sides) {
            for (bound, &other) in bounds.iter_mut().zip(others) {
                *bound = (*bound).max(L::of(in_mass(other.get())));
            }
        }
    }

    /// The least cost of the branches of a root together that is not ruled out.
    pub(super) fn least(&self, levels: NodeBudgets, branch: NodeBudgets, level: usize, root: usize) -> u64 {
        let pairs = levels.pairs(level, branch).map(|(i, j)| self.of(1, i, root) + self.of(0, j, root));
        pairs.min().unwrap_or(u64::MAX).max(self.sums[level * self.stride + root].get())
    }

    /// Takes what a parent knows, which is by its own positions.
    pub(super) fn inherit(&mut self, from: &RootBounds<L>, origin: &[u32]) {
        let take = |to: &mut Vec<L>, from_all: &[L], stride: usize| {
            for (to, from) in to.chunks_exact_mut(stride).zip(from_all.chunks_exact(from.stride)) {
                for (to, &origin) in to.iter_mut().zip(origin) {
                    if origin != NONE {
                        *to = (*to).max(from[origin as usize]);
                    }
                }
            }
        };
        let stride = self.stride;
        for side in 0..2 {
            take(&mut self.sides[side], &from.sides[side], stride);
        }
        take(&mut self.sums, &from.sums, stride);
    }
}

/// Raises the bounds of all roots by their similarity to the branches of a solved one.
pub(super) struct Spread<'a, L> {
    pub(super) shape: PairShape<'a>,
    pub(super) bounds: &'a mut RootBounds<L>,
    pub(super) counts: RootCounts<'a, L>,
    pub(super) root: usize,
    /// Levels below this are known exactly.
    pub(super) n_known: usize,
}

impl<L: Accumulator> Kernel for Spread<'_, L> {
    type Output = ();

    #[inline(always)]
    fn run<P: Instructions>(self) {
        match self.shape.min_leaf <= 1 {
            true => self.spread::<false>(),
            false => self.spread::<true>(),
        }
    }
}

impl<L: Accumulator> Spread<'_, L> {
    #[inline(always)]
    fn spread<const SUBSETS: bool>(self) {
        let Spread { shape, bounds, counts, root, n_known } = self;
        let stride = shape.stride;
        let classes = 0..shape.n_classes;
        let cases = if shape.channels > shape.n_classes { shape.n_classes..shape.channels } else { classes.clone() };
        let branch_levels = bounds.sides[0].len() / stride;
        let [on_false, on_true] = &mut bounds.sides;
        let levels = (n_known..branch_levels)
            .map(|level| (level, on_true[level * stride + root], on_false[level * stride + root]));
        let levels: SmallVec<[(usize, L, L); 4]> = levels.collect();
        for start in (0..stride).step_by(BLOCK) {
            // What is on one side of the root but not on one side of another test, by side of the root and of the test.
            let mass = Overlap::of(shape, classes.clone(), counts, root, start).differences();
            let [[f_f, f_t], [t_f, t_t]] = mass;
            let mut allowed = [[[true; BLOCK]; 2]; 2];
            if SUBSETS {
                let count = Overlap::of(shape, cases.clone(), counts, root, start);
                allowed = count.is_subset();
            }
            for &(level, v1, v0) in &levels {
                let at = level * stride + start;
                let mut on_false_side = *blocks(&on_false[at..]);
                let mut on_true_side = *blocks(&on_true[at..]);
                for lane in 0..BLOCK {
                    let none = L::default();
                    let mut from = [
                        v0.minus_floored(f_f[lane]),
                        v1.minus_floored(t_f[lane]),
                        v0.minus_floored(f_t[lane]),
                        v1.minus_floored(t_t[lane]),
                    ];
                    if SUBSETS {
                        from[0] = if allowed[0][0][lane] { from[0] } else { none };
                        from[1] = if allowed[1][0][lane] { from[1] } else { none };
                        from[2] = if allowed[0][1][lane] { from[2] } else { none };
                        from[3] = if allowed[1][1][lane] { from[3] } else { none };
                    }
                    on_false_side[lane] = on_false_side[lane].max(from[0]).max(from[1]);
                    on_true_side[lane] = on_true_side[lane].max(from[2]).max(from[3]);
                }
                on_false[at..at + BLOCK].copy_from_slice(&on_false_side);
                on_true[at..at + BLOCK].copy_from_slice(&on_true_side);
            }
        }
    }
}

#[inline(always)]
fn blocks<L>(from: &[L]) -> &[L; BLOCK] {
    from.first_chunk().expect("rows are whole blocks")
}

/// How much there is, per channel: in all, passing each test, and passing both a root and each test.
#[derive(Clone, Copy)]
pub(super) struct RootCounts<'a, L> {
    pub(super) totals: &'a [L],
    pub(super) passing: &'a [L],
    pub(super) both: &'a [L],
}

/// Masses or numbers of cases: of all, on the true side of a root, of a block of other tests, of both.
#[derive(Clone, Copy)]
struct Overlap<L> {
    all: L,
    f: L,
    h: [L; BLOCK],
    both: [L; BLOCK],
}

impl<L: Accumulator> Overlap<L> {
    #[inline(always)]
    fn of(
        shape: PairShape,
        channels: Range<usize>,
        RootCounts { totals, passing, both }: RootCounts<L>,
        root: usize,
        start: usize,
    ) -> Self {
        let none = L::default();
        let mut overlap = Overlap { all: none, f: none, h: [none; BLOCK], both: [none; BLOCK] };
        for channel in channels {
            let row = shape.slot(channel, start);
            overlap.all = overlap.all.plus(totals[channel]);
            overlap.f = overlap.f.plus(passing[shape.slot(channel, root)]);
            for lane in 0..BLOCK {
                overlap.h[lane] = overlap.h[lane].plus(passing[row + lane]);
                overlap.both[lane] = overlap.both[lane].plus(both[row + lane]);
            }
        }
        overlap
    }

    /// What is on one side of the root but not on one side of the other test: `[side of the root][side of the test]`.
    #[inline(always)]
    fn differences(&self) -> [[[L; BLOCK]; 2]; 2] {
        let mut only = [[[L::default(); BLOCK]; 2]; 2];
        for lane in 0..BLOCK {
            let (h, t) = (self.h[lane], self.both[lane]);
            let only_h = h.minus(t);
            only[0][0][lane] = only_h;
            only[0][1][lane] = self.all.minus(self.f).minus(only_h);
            only[1][0][lane] = t;
            only[1][1][lane] = self.f.minus(t);
        }
        only
    }

    /// Whether one side of the other test has only cases of one side of the root.
    #[inline(always)]
    fn is_subset(&self) -> [[[bool; BLOCK]; 2]; 2] {
        let (mut subset, none) = ([[[false; BLOCK]; 2]; 2], L::default());
        for lane in 0..BLOCK {
            let (h, t) = (self.h[lane], self.both[lane]);
            let only_h = h.minus(t);
            subset[0][0][lane] = self.f.minus(t) == none;
            subset[0][1][lane] = t == none;
            subset[1][0][lane] = self.all.minus(self.f).minus(only_h) == none;
            subset[1][1][lane] = only_h == none;
        }
        subset
    }
}

/// A node, the sizes of its counts, and the instructions to work on it with.
#[derive(Clone, Copy)]
pub(super) struct ShapedNode<'n, L> {
    pub(super) isa: Isa,
    pub(super) shape: PairShape<'n>,
    pub(super) node: &'n Node<L>,
}

/// What the children of a node, once solved, know of their own roots.
#[derive(Debug, Default)]
pub(super) struct GrandchildBounds<L> {
    stride: usize,
    levels: usize,
    /// `[child][(level * 2 + side) * stride + position]`, where child is twice a root and its side.
    known: Vec<L>,
    solved: Vec<bool>,
    /// What was known before any child was solved, laid out alike; empty if nothing.
    before: Vec<L>,
}

/// Buffers of [`GrandchildBounds::bounds_of`].
#[derive(Debug, Default)]
pub(super) struct Overlaps<L> {
    set: Vec<u32>,
    shared: Aligned<L>,
    sums: WeightedSums<L>,
    /// The least sum of a similar child's bounds, by root.
    least: Vec<L>,
}

/// What the children of a node, once solved, know of the roots of their own children: bounds on sets that three tests
/// make, which other orders of the three lead to. `[child]` is laid out as a [`GrandchildBounds`], by the positions of
/// the node. Only where nodes are not counted.
#[derive(Debug, Default)]
pub(super) struct GreatGrandchildBounds<L> {
    stride: usize,
    known: Vec<Vec<L>>,
}

impl<L: Accumulator> GreatGrandchildBounds<L> {
    /// Bytes for a node of this stride.
    pub(super) fn bytes(stride: usize) -> usize {
        8 * stride * stride * stride * size_of::<L>()
    }

    /// Whether they save more than they cost. A child's are read and written some dozen times; beyond half a megabyte
    /// that takes longer than to count the pairs of the few cases that they rule out, unless cases take many words.
    pub(super) fn pay(stride: usize, words: usize) -> bool {
        4 * stride * stride * size_of::<L>() <= 1 << 19 || words >= 32
    }

    pub(super) fn reset(&mut self, stride: usize) {
        self.stride = stride;
        self.known.resize(2 * stride, Vec::new());
        self.known.iter_mut().for_each(Vec::clear);
    }

    /// Takes the bounds of a solved child.
    pub(super) fn keep(&mut self, root: usize, side: usize, place_of: &[u32], grand: &GrandchildBounds<L>) {
        let stride = self.stride;
        let known = &mut self.known[2 * root + side];
        known.clear();
        known.reserve_exact(4 * stride * stride);
        known.resize(4 * stride * stride, L::default());
        let places = || place_of.iter().enumerate().filter(|&(_, &place)| place != NONE);
        for (g, &place_g) in places() {
            for of_g in 0..2 {
                let child = 2 * (place_g as usize / 2) + (of_g ^ (place_g as usize & 1));
                let from = match grand.solved[child] {
                    true => grand.child(child),
                    false if grand.before.is_empty() => continue,
                    false => &grand.before[2 * child * grand.stride..2 * (child + 1) * grand.stride],
                };
                for of_h in 0..2 {
                    let to = &mut known[(2 * (2 * g + of_g) + of_h) * stride..][..stride];
                    for (h, &place_h) in places() {
                        let of = of_h ^ (place_h as usize & 1);
                        to[h] = from[of * grand.stride + place_h as usize / 2];
                    }
                }
            }
        }
    }

    /// What is known beforehand of the roots of the children of a child, by the positions of the node. `neighbours` are
    /// similar children, with what they have and this one has not.
    pub(super) fn before(&self, (root, side): (usize, usize), neighbours: &[(usize, u64)], before: &mut Vec<L>) {
        let stride = self.stride;
        before.clear();
        before.reserve_exact(4 * stride * stride);
        before.resize(4 * stride * stride, L::default());
        for (other, known) in self.known.iter().enumerate().filter(|(_, known)| !known.is_empty()) {
            // Set by other, this one and h: as the branch h of other, and as the branch other of h.
            let row = &known[2 * (2 * root + side) * stride..2 * (2 * root + side + 1) * stride];
            let to = &mut before[2 * other * stride..2 * (other + 1) * stride];
            for (to, &bound) in to.iter_mut().zip(row) {
                *to = (*to).max(bound);
            }
            for of_h in 0..2 {
                for h in 0..stride {
                    let to = &mut before[(2 * (2 * h + of_h) + other % 2) * stride + other / 2];
                    *to = (*to).max(row[of_h * stride + h]);
                }
            }
        }
        for &(other, only_there) in neighbours.iter().take(8).filter(|(other, _)| !self.known[*other].is_empty()) {
            let lost = L::of(only_there);
            for (to, &bound) in before.iter_mut().zip(&self.known[other]) {
                *to = (*to).max(bound.minus_floored(lost));
            }
        }
    }
}

/// How many similar children are looked at.
const NEIGHBOURS: usize = 16;

impl<L: Accumulator> GrandchildBounds<L> {
    /// Bytes for a node of this stride, with branches of branches of so many levels.
    pub(super) fn bytes(stride: usize, levels: usize) -> usize {
        4 * stride * stride * levels * size_of::<L>()
    }

    pub(super) fn reset(&mut self, stride: usize, levels: usize) {
        (self.stride, self.levels) = (stride, levels);
        self.solved.clear();
        self.solved.resize(2 * stride, false);
        self.before.clear();
        let needed = Self::bytes(stride, levels) / size_of::<L>();
        if self.known.len() < needed {
            self.known.reserve_exact(needed - self.known.len());
            self.known.resize(needed, L::default());
        }
    }

    fn child(&self, child: usize) -> &[L] {
        let length = 2 * self.levels * self.stride;
        &self.known[child * length..(child + 1) * length]
    }

    /// Takes what is known before any child is solved, by the positions of the parent.
    pub(super) fn start_from(&mut self, before: &[L], parent_stride: usize, origin: &[u32]) {
        let stride = self.stride;
        self.before.reserve_exact(4 * stride * stride);
        self.before.resize(4 * stride * stride, L::default());
        let places = || origin.iter().enumerate().filter(|&(_, &origin)| origin != NONE);
        for (g, &origin_g) in places() {
            for side in 0..4 {
                let from = &before[(4 * origin_g as usize + side) * parent_stride..][..parent_stride];
                let to = &mut self.before[(4 * g + side) * stride..][..stride];
                for (h, &origin_h) in places() {
                    to[h] = from[origin_h as usize];
                }
            }
        }
    }

    /// Takes the bounds of a solved child.
    pub(super) fn keep(&mut self, root: usize, side: usize, place_of: &[u32], bounds: &RootBounds<L>) {
        let (stride, levels) = (self.stride, self.levels);
        let length = 2 * levels * stride;
        let child = 2 * root + side;
        self.solved[child] = true;
        let known = &mut self.known[child * length..(child + 1) * length];
        for level in 0..levels {
            for (position, &place) in place_of.iter().enumerate() {
                for of in 0..2 {
                    known[(2 * level + of) * stride + position] = match place {
                        NONE => L::default(),
                        _ => bounds.sides[of ^ (place as usize & 1)][level * bounds.stride + place as usize / 2],
                    };
                }
            }
        }
    }

    /// What is known beforehand of the roots of a child; returns the similar children that were looked at. Complexity:
    /// O(tests + neighbours x words x tests / 16).
    #[expect(clippy::too_many_arguments, reason = "three of a kind each")]
    pub(super) fn bounds_of(
        &self,
        (root, side): (usize, usize),
        at: ShapedNode<L>,
        ask: &BudgetQuery,
        known: &RootBounds<L>,
        both: &[L],
        overlaps: &mut Overlaps<L>,
        bounds: &mut RootBounds<L>,
    ) -> Vec<(usize, u64)> {
        let ShapedNode { shape, node, .. } = at;
        let (stride, branch) = (self.stride, ask.levels.branch(ask.depth));
        bounds.reset(stride, ask.levels.len(), branch.len());
        for &g in &node.live {
            let g = g as usize;
            for of in (0..2).filter(|&of| self.solved[2 * g + of]) {
                let from = self.child(2 * g + of);
                for level in branch.n_known()..self.levels {
                    bounds.sides[of][level * stride + g] = from[(2 * level + side) * stride + root];
                }
            }
        }
        if !self.before.is_empty() {
            for of in 0..2 {
                let start = (2 * (2 * root + side) + of) * stride;
                for (bound, &before) in bounds.sides[of].iter_mut().zip(&self.before[start..start + stride]) {
                    *bound = (*bound).max(before);
                }
            }
        }
        // Under min_leaf only subsets would do, and those are few.
        if shape.min_leaf > 1 {
            return Vec::new();
        }
        let neighbours = self.neighbours((root, side), (shape, node), known, both);
        for &(child, only_there) in &neighbours {
            self.inherit_from((child, only_there), (root, side), at, ask, overlaps, bounds);
        }
        neighbours
    }

    /// The solved children most like this one, with the mass that they have and it has not: those whose cost, less that
    /// mass, is greatest.
    fn neighbours(
        &self,
        (root, side): (usize, usize),
        (shape, node): (PairShape, &Node<L>),
        known: &RootBounds<L>,
        both: &[L],
    ) -> Vec<(usize, u64)> {
        let stride = self.stride;
        let level = known.sides[0].len() / stride - 1;
        let f = node.passing[root].get();
        let mut all: Vec<(i64, usize, u64)> = Vec::new();
        for &h in node.live.iter().filter(|&&h| h as usize != root) {
            let h = h as usize;
            let h_mass = node.passing[h].get();
            let t: u64 = (0..shape.n_classes).map(|class| both[shape.slot(class, h)].get()).sum();
            for side_h in (0..2).filter(|&side_h| self.solved[2 * h + side_h]) {
                let only_h = match (side_h, side) {
                    (1, 1) => h_mass - t,
                    (1, _) => t,
                    (_, 1) => node.mass - f - (h_mass - t),
                    _ => f - t,
                };
                let gain = known.of(side_h, level, h) as i64 - only_h as i64;
                all.push((-gain, 2 * h + side_h, only_h));
            }
        }
        if all.len() > NEIGHBOURS {
            all.select_nth_unstable(NEIGHBOURS - 1);
            all.truncate(NEIGHBOURS);
        }
        all.sort_unstable();
        all.into_iter().filter(|&(loss, _, _)| loss < 0).map(|(_, child, only)| (child, only)).collect()
    }

    fn inherit_from(
        &self,
        (child, only_there): (usize, u64),
        (root, side): (usize, usize),
        at: ShapedNode<L>,
        ask: &BudgetQuery,
        Overlaps { set, shared, sums, least }: &mut Overlaps<L>,
        bounds: &mut RootBounds<L>,
    ) {
        let ShapedNode { isa, shape, node } = at;
        let (stride, branch) = (self.stride, ask.levels.branch(ask.depth));
        set.clear();
        let flip = |side: usize| if side == 1 { 0 } else { u32::MAX };
        for (group, bounds) in node.starts.windows(2).enumerate() {
            for word in node.columns.starts[group]..node.columns.starts[group + 1] {
                let at = |position: usize| node.columns.words[word * stride + position];
                let there = at(child / 2) ^ flip(child & 1);
                let here = at(root) ^ flip(side);
                set.push(there & !here & node.columns.in_use(word, group, bounds[1] - bounds[0]));
            }
        }
        shared.fill_with(stride, L::default());
        isa.run(CountShared { shape, counted: node.counted(Some(set)), shared, sums });
        let known = self.child(child);
        let lost = L::of(only_there);
        for level in branch.n_known()..self.levels {
            let [on_false, on_true] = &mut bounds.sides;
            let on_false = &mut on_false[level * stride..(level + 1) * stride];
            let on_true = &mut on_true[level * stride..(level + 1) * stride];
            let (from_false, from_true) = known[2 * level * stride..2 * (level + 1) * stride].split_at(stride);
            for position in 0..stride {
                let on = shared[position];
                on_true[position] = on_true[position].max(from_true[position].minus_floored(on));
                on_false[position] = on_false[position].max(from_false[position].minus_floored(lost.minus_floored(on)));
            }
        }
        for level in (0..ask.levels.len()).filter(|&level| ask.cutoffs[level] > 0) {
            let of = |side: usize, level: usize| &known[(2 * level + side) * stride..][..stride];
            let mut pairs = ask.levels.pairs(level, branch);
            let Some((one, zero)) = pairs.next() else { continue };
            least.clear();
            least.extend(of(1, one).iter().zip(of(0, zero)).map(|(one, zero)| one.plus(*zero)));
            for (one, zero) in pairs {
                for ((least, one), zero) in least.iter_mut().zip(of(1, one)).zip(of(0, zero)) {
                    *least = (*least).min(one.plus(*zero));
                }
            }
            for (sum, least) in bounds.sums[level * stride..][..stride].iter_mut().zip(&*least) {
                *sum = (*sum).max(least.minus_floored(lost));
            }
        }
    }
}
