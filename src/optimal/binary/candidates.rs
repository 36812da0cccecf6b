//! Exact costs of the few trees of depth two that rough masses do not rule out.
//!
//! Rough masses bound the best two stumps under each test, not only under the best one. Where that leaves a few tests,
//! the masses that pass each of these and any other test are added up: one row of the matrix of pairs for each, in
//! place of the whole matrix.

use super::super::problem::Mass;
use super::accumulator::Accumulator;
use super::child::{Branch, BranchBuffers};
use super::node::Node;
use super::pair_counts::Counted;
use super::pair_shape::{PairShape, blocks};
use super::singles::Singles;
use super::stumps::Stumps;
use super::two_class::{difference_of, mass_of, spread};
use super::weighted_counts::WeightedSums;
use super::workspace::{BinaryEngine, ChildBuffers, ChildCounts, NodeBuffers};
use crate::budget::{Stop, Ticker};
use crate::simd::{BLOCK, Instructions, Kernel};

/// More candidates than one in so many tests take longer than all pairs.
const FEW: usize = 3;

/// Tests whose two stumps may cost less than a cutoff.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// A bound on the cost of their stumps, and their position; in this order.
    tests: Vec<(u64, u32)>,
    /// A bound on the cost of the stumps of all other tests.
    rest: u64,
}

impl Candidates {
    /// Lists them by the rough stumps of all tests.
    fn list<L: Accumulator>(&mut self, node: &Node<L>, stumps: &Stumps<u16>, cutoff: u64) {
        self.tests.clear();
        self.rest = u64::MAX;
        for &test in &node.live {
            let of = |side: &[u16]| u64::from(side[test as usize]);
            let bound = node.rough.bound(of(&stumps.true_side) + of(&stumps.false_side));
            if bound < cutoff {
                self.tests.push((bound, test));
            } else {
                self.rest = self.rest.min(bound);
            }
        }
        self.tests.sort_unstable();
    }
}

/// Finds the least cost of two stumps under a test: exact if it is below the cutoff, else a bound. `None` if there are
/// many candidates once the first is known.
struct StumpsOfCandidates<'a, 'b, L> {
    shape: PairShape<'a>,
    candidates: &'a Candidates,
    /// The cases, or those that `whole` has and they do not.
    counted: Counted<'a, L>,
    whole: Option<Counted<'a, L>>,
    singles: &'a Singles<L>,
    live: &'a [u32],
    /// Stop at a test whose two stumps cost no more than this.
    enough: u64,
    masks: &'a mut Vec<u32>,
    sums: [&'a mut WeightedSums<L>; 2],
    ticker: &'a mut Ticker<'b>,
}

impl<L: Accumulator> Kernel for StumpsOfCandidates<'_, '_, L> {
    type Output = Result<Option<u64>, Stop>;

    #[inline(always)]
    fn run<P: Instructions>(self) -> Self::Output {
        let StumpsOfCandidates { shape, candidates, counted, whole, singles, live, enough, masks, sums, ticker } = self;
        let [part_sums, whole_sums] = sums;
        counted.begin(part_sums);
        if let Some(whole) = whole {
            whole.begin(whole_sums);
        }
        masks.resize(counted.columns.n_words().max(masks.len()), 0);
        let Candidates { tests, rest } = candidates;
        let mut least = u64::MAX;
        for (n_known, &(bound, g)) in tests.iter().enumerate() {
            if bound >= least || least <= enough {
                break;
            }
            if n_known == 1 && (tests.partition_point(|&(bound, _)| bound < least) - 1) * FEW > live.len() {
                return Ok(None);
            }
            let g = g as usize;
            counted.weigh_row::<P>(shape, g, masks, part_sums);
            if let Some(whole) = whole {
                whole.weigh_row::<P>(shape, g, masks, whole_sums);
            }
            let at = |side: &[L]| (difference_of(side, g / BLOCK)[g % BLOCK], mass_of(side, g / BLOCK)[g % BLOCK]);
            let [(d, in_true), (rest, in_false)] = [at(&singles.true_side), at(&singles.false_side)];
            let [mut both_most, mut both_least] = [[L::LEAST; BLOCK], [L::MOST; BLOCK]];
            let [mut only_most, mut only_least] = [both_most, both_least];
            for block in 0..shape.stride / BLOCK {
                let (part, single) = (&blocks(&part_sums.of)[block], difference_of(&singles.true_side, block));
                let whole = whole.map(|_| &blocks(&whole_sums.of)[block]);
                for lane in 0..BLOCK {
                    let both = whole.map_or(part[lane], |whole| whole[lane].minus(part[lane]));
                    let only = single[lane].minus(both);
                    both_most[lane] = both_most[lane].greater(both);
                    both_least[lane] = both_least[lane].lesser(both);
                    only_most[lane] = only_most[lane].greater(only);
                    only_least[lane] = only_least[lane].lesser(only);
                }
            }
            let greatest = |of: [L; BLOCK]| of.into_iter().fold(L::LEAST, L::greater);
            let smallest = |of: [L; BLOCK]| of.into_iter().fold(L::MOST, L::lesser);
            let on_true = in_true.minus(spread(d, greatest(both_most), smallest(both_least))).halved();
            let on_false = in_false.minus(spread(rest, greatest(only_most), smallest(only_least))).halved();
            least = least.min(on_true.get() + on_false.get());
            ticker.tick(shape.stride / BLOCK * (counted.words() + whole.map_or(0, Counted::words)))?;
        }
        Ok(Some(least.min(*rest)))
    }
}

impl<M: Mass, L: Accumulator> BinaryEngine<'_, M, L> {
    /// The least cost of trees of depth two at a node whose rough stumps are known, if it is below the cutoff; else a
    /// bound that is not. `None` if rough masses leave many candidates.
    pub(super) fn candidates_of_node(
        &self,
        at: &mut NodeBuffers<L>,
        enough: u64,
        cutoff: u64,
    ) -> Result<Option<u64>, Stop> {
        let NodeBuffers { node, stumps, rough_stumps, candidates, .. } = at;
        let shape = self.shape(node);
        if !shape.by_difference() {
            return Ok(None);
        }
        candidates.list(node, rough_stumps, cutoff);
        let Stumps { masks, sums, .. } = stumps;
        let least = self.isa.run(StumpsOfCandidates {
            shape,
            candidates,
            counted: node.counts.counted_for_stumps((shape, node.bits()), None),
            whole: None,
            singles: &node.counts.singles,
            live: &node.live,
            enough,
            masks,
            sums: [sums, &mut WeightedSums::default()],
            ticker: &mut Ticker::new(self.budget),
        })?;
        Ok(least.map(|least| least.min(node.leaf(self.instances.n_classes))))
    }

    /// The same of a branch of depth two.
    pub(super) fn candidates_of_branch(
        &self,
        node: &Node<L>,
        (root, side): (usize, usize),
        enough: u64,
        cutoff: u64,
        cell: &mut ChildBuffers<L>,
    ) -> Result<Option<u64>, Stop> {
        if !self.shape(node).by_difference() {
            return Ok(None);
        }
        let (branch, buffers) = self.branch_at(node, (root, side), cell);
        let BranchBuffers { exact, rough, candidates, whole_sums } = buffers;
        // Its stumps may be those of the other branch, or those of a few tests.
        self.best_stumps(&branch, &node.rough.counts, rough, None)?;
        candidates.list(node, &rough.stumps, cutoff);
        self.split_singles(&branch, &node.counts, exact);
        let Branch { shape, bits, small, .. } = branch;
        let ChildCounts { masses, singles, stumps: Stumps { masks, sums, .. }, .. } = exact;
        self.isa.run(StumpsOfCandidates {
            shape,
            candidates,
            counted: branch.counted(&node.counts, masses),
            whole: (side != small).then(|| node.counts.counted_for_stumps((shape, bits), None)),
            singles: &singles[side],
            live: &node.live,
            enough,
            masks,
            sums: [sums, whole_sums],
            ticker: &mut Ticker::new(self.budget),
        })
    }
}
