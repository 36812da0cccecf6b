//! Exact costs of the few trees of depth two that rough masses do not rule out.
//!
//! Rough masses bound the best two stumps under each test, not only under the best one. Where that leaves a few tests,
//! the masses that pass each of these and any other test are added up: one row of the matrix of pairs for each, in
//! place of the whole matrix.

use super::accumulator::Accumulator;
use super::pair_counts::Counted;
use super::pair_shape::{PairShape, blocks};
use super::rough::RoughCounts;
use super::singles::Singles;
use super::stumps::Stumps;
use super::two_class::{difference_of, mass_of, spread};
use super::weighted_counts::WeightedSums;
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
    pub(super) fn list(&mut self, live: &[u32], rough: &RoughCounts, stumps: &Stumps<u16>, cutoff: u64) {
        self.tests.clear();
        self.rest = u64::MAX;
        for &test in live {
            let of = |side: &[u16]| u64::from(side[test as usize]);
            let bound = rough.bound(of(&stumps.true_side) + of(&stumps.false_side));
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
pub(super) struct StumpsOfCandidates<'a, 'b, L> {
    pub(super) shape: PairShape<'a>,
    pub(super) candidates: &'a Candidates,
    /// The cases, or those that `whole` has and they do not.
    pub(super) counted: Counted<'a, L>,
    pub(super) whole: Option<Counted<'a, L>>,
    pub(super) singles: &'a Singles<L>,
    pub(super) live: &'a [u32],
    /// Stop at a test whose two stumps cost no more than this.
    pub(super) enough: u64,
    pub(super) masks: &'a mut Vec<u32>,
    pub(super) sums: [&'a mut WeightedSums<L>; 2],
    pub(super) ticker: &'a mut Ticker<'b>,
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
