//! The best split of a nominal column: a branch per level, one level against the others, or a set of levels.

use std::cmp::Reverse;

use super::binary_scan::BinaryScan;
use super::candidate::SplitCandidate;
use super::level_subsets::LevelSubsets;
use super::rule::{Gain, NodeStats, SplitRule};
use super::scratch::Scratch;
use crate::budget::{Stop, Ticker};
use crate::criterion::{ClassImpurity, ExactGain};
use crate::greedy::types::{Bin, CodedTest};

/// Up to this many levels at a node all their subsets are tried.
const EXHAUSTIVE: usize = 12;
/// Beyond that, levels are ordered by the shares of at most this many classes.
const ORDERS: usize = 32;
/// Memory for a column is reserved if it takes at least this many bytes.
const LARGE: usize = 1 << 16;

impl<I: ClassImpurity> SplitRule<I> {
    /// A branch per level. Complexity: O(bins + levels x classes).
    pub fn multiway(
        &self,
        bins: &[Bin],
        known: &NodeStats,
        scratch: &mut Scratch,
        ticker: &mut Ticker,
    ) -> Result<Option<SplitCandidate>, Stop> {
        let n_classes = known.stats.masses.len();
        let bytes = if self.impurity.is_rounded() { 16 * n_classes * groups(bins).count() } else { 0 };
        let _held = if bytes < LARGE { None } else { Some(ticker.budget().reserve(bytes as u64)?) };
        let part = &mut scratch.left;
        part.copy_from(known.stats);
        let (mut gain, mut large, mut differs) = (-self.impurity.purity(known.stats), 0, false);
        let (mut codes, mut masses, mut by_class) = (Vec::new(), Vec::new(), Vec::new());
        for group in groups(bins) {
            ticker.tick(n_classes)?;
            part.masses.fill(0);
            group.iter().for_each(|bin| part.masses[bin.class as usize] += bin.mass);
            self.impurity.recompute(part);
            let count = group.iter().map(|bin| bin.count).sum::<u64>();
            if count < self.min_leaf {
                return Ok(None);
            }
            large += u32::from(count >= self.min_branch);
            gain += self.impurity.purity(part);
            differs = differs || self.impurity.is_gain(part, known.stats, 0);
            codes.push(group[0].code);
            masses.push(part.total);
            if self.impurity.is_rounded() {
                by_class.extend_from_slice(&part.masses);
            }
        }
        let exact = self.exact_gain(known, by_class.chunks_exact(n_classes));
        let is_gain = exact.as_ref().and_then(ExactGain::is_positive).unwrap_or_else(|| {
            let noise = self.impurity.rounding_error(known.stats.total, codes.len());
            gain > noise || differs || self.impurity.is_gain(part, known.stats, gain)
        });
        if large < 2 || !is_gain {
            return Ok(None);
        }
        Ok(self.candidate(known, Gain { rounded: gain, exact }, masses.into_iter(), || CodedTest::Each(codes.into())))
    }

    /// One level against the others; ties: the first level. Complexity: O(bins + levels x classes).
    pub fn one_vs_rest(
        &self,
        bins: &[Bin],
        known: &NodeStats,
        scratch: &mut Scratch,
        ticker: &mut Ticker,
    ) -> Result<Option<SplitCandidate>, Stop> {
        let mut scan = BinaryScan::<I>::new(self, known, scratch);
        let mut found = None;
        for group in groups(bins) {
            ticker.tick(known.stats.masses.len())?;
            scan.restart();
            group.iter().for_each(|&bin| scan.move_left(bin));
            if scan.improves() {
                found = Some((group[0].code, scan.left.total));
            }
        }
        let Some((code, mass)) = found else { return Ok(None) };
        let best = scan.best_gain();
        Ok(self.candidate(known, best, known.branch_masses(mass), || CodedTest::Is(code)))
    }

    /// A set of levels against the others; the set of the first branch has the first level.
    ///
    /// For two classes the best set takes levels in the order of one class's share (Breiman et al., *Classification and
    /// Regression Trees*, 1984, theorem 4.5), unless a branch would be too small. Then, and for more classes, all sets
    /// are tried up to [`EXHAUSTIVE`] levels. Beyond that, the sets that take levels in the order of some class's share
    /// are tried, for each of the [`ORDERS`] most frequent classes in turn: for two classes with a least size of
    /// branches this is followed by an exact search ([`LevelSubsets`]), for more classes it is a heuristic. Ties: the
    /// first set tried.
    ///
    /// Complexity: O(2^levels x bins), or per class O(bins + levels log levels + levels x classes).
    pub fn subsets(
        &self,
        bins: &[Bin],
        known: &NodeStats,
        scratch: &mut Scratch,
        ticker: &mut Ticker,
    ) -> Result<Option<SplitCandidate>, Stop> {
        let groups: Vec<&[Bin]> = groups(bins).collect();
        let n_classes = known.stats.masses.len();
        let by_shares = n_classes == 2 && self.is_convex && self.min_side() <= 1;
        let mut scan = BinaryScan::<I>::new(self, known, scratch);
        let mut first_branch: Option<Vec<usize>> = None;
        if groups.len() <= EXHAUSTIVE && !by_shares {
            // Bit i - 1 of a set is group i; group 0 is always in it.
            for set in 0..(1u32 << (groups.len() - 1)) - 1 {
                ticker.tick(bins.len() + n_classes)?;
                scan.restart();
                let members = (0..groups.len()).filter(|&i| i == 0 || set >> (i - 1) & 1 == 1);
                members.clone().for_each(|i| groups[i].iter().for_each(|&bin| scan.move_left(bin)));
                if scan.improves() {
                    first_branch = Some(members.collect());
                }
            }
        } else {
            for class in if by_shares { vec![1] } else { frequent(&known.stats.masses) } {
                ticker.tick(bins.len() + 10 * groups.len())?;
                let order = by_share(&groups, class);
                scan.restart();
                for (i, &group) in order[..order.len() - 1].iter().enumerate() {
                    ticker.tick(n_classes)?;
                    groups[group].iter().for_each(|&bin| scan.move_left(bin));
                    if scan.improves() {
                        first_branch = Some(order[..=i].to_vec());
                    }
                }
            }
            if n_classes == 2 && !by_shares {
                let order = by_share(&groups, 1);
                let better = LevelSubsets::new(self, &groups, &order, known).search(&mut scan, ticker)?;
                first_branch = better.or(first_branch);
            }
        }
        let Some(first_branch) = first_branch else { return Ok(None) };
        let gain = scan.best_gain();
        let mut is_in = vec![false; groups.len()];
        first_branch.iter().for_each(|&group| is_in[group] = true);
        let mass = first_branch.iter().flat_map(|&group| groups[group]).map(|bin| bin.mass).sum();
        // The branch with the first level is the first.
        let first = is_in[0];
        let codes = groups.iter().zip(&is_in).filter(|(_, is_in)| **is_in == first).map(|(group, _)| group[0].code);
        Ok(self.candidate(known, gain, known.branch_masses(mass), || CodedTest::In(codes.collect())))
    }
}

/// The [`ORDERS`] classes of greatest mass, ties to the first, in their order.
fn frequent(masses: &[u64]) -> Vec<u32> {
    let mut classes: Vec<u32> = (0..masses.len() as u32).filter(|&class| masses[class as usize] > 0).collect();
    classes.sort_by_key(|&class| Reverse(masses[class as usize]));
    classes.truncate(ORDERS);
    classes.sort_unstable();
    classes
}

/// Groups of bins in ascending order of the share of one class; ties: the first.
fn by_share(groups: &[&[Bin]], class: u32) -> Vec<usize> {
    let sums: Vec<(u128, u128)> = groups
        .iter()
        .map(|group| {
            let of = |class: Option<u32>| {
                let bins = group.iter().filter(|bin| class.is_none_or(|class| bin.class == class));
                bins.map(|bin| u128::from(bin.mass)).sum::<u128>()
            };
            (of(Some(class)), of(None))
        })
        .collect();
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by(|&a, &b| (sums[a].0 * sums[b].1).cmp(&(sums[b].0 * sums[a].1)));
    order
}

fn groups(bins: &[Bin]) -> impl Iterator<Item = &[Bin]> {
    bins.chunk_by(|a, b| a.code == b.code)
}
