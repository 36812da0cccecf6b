//! The best split of a nominal column: a branch per level, one level against the others, or a set of them.

use std::cmp::Reverse;

use super::cells::Cell;
use super::split::{Cut, Found, Known, Pair, Rule, Sides};
use crate::budget::{Stop, Ticker};
use crate::criterion::{Exact, Impurity};

/// Up to this many levels at a node all their subsets are tried.
const EXHAUSTIVE: usize = 12;
/// Beyond, levels are ordered by the shares of at most this many classes.
const ORDERS: usize = 32;
/// Bytes from which memory for the work on a column is charged.
const LARGE: usize = 1 << 16;

impl<I: Impurity> Rule<I> {
    /// A branch per level. Complexity: O(cells + levels x classes).
    pub fn multiway(
        &self,
        cells: &[Cell],
        known: &Known,
        sides: &mut Sides,
        ticker: &mut Ticker,
    ) -> Result<Option<Found>, Stop> {
        let n_classes = known.side.masses.len();
        let bytes = if self.impurity.rounds() { 16 * n_classes * groups(cells).count() } else { 0 };
        let _held = if bytes < LARGE { None } else { Some(ticker.budget().reserve(bytes as u64)?) };
        let part = &mut sides.left;
        part.copy_from(known.side);
        let (mut gain, mut large, mut differs) = (-self.impurity.purity(known.side), 0, false);
        let (mut codes, mut masses, mut by_class) = (Vec::new(), Vec::new(), Vec::new());
        for group in groups(cells) {
            ticker.tick(n_classes)?;
            part.masses.fill(0);
            group.iter().for_each(|cell| part.masses[cell.class as usize] += cell.mass);
            self.impurity.settle(part);
            let count = group.iter().map(|cell| cell.count).sum::<u64>();
            if count < self.min_leaf {
                return Ok(None);
            }
            large += u32::from(count >= self.min_branch);
            gain += self.impurity.purity(part);
            differs = differs || self.impurity.is_gain(part, known.side, 0);
            codes.push(group[0].code);
            masses.push(part.total);
            if self.impurity.rounds() {
                by_class.extend_from_slice(&part.masses);
            }
        }
        let exact = self.exact(known, by_class.chunks_exact(n_classes));
        let is_gain = exact.as_ref().and_then(Exact::is_positive).unwrap_or_else(|| {
            let noise = self.impurity.noise(known.side.total, codes.len());
            gain > noise || differs || self.impurity.is_gain(part, known.side, gain)
        });
        if large < 2 || !is_gain {
            return Ok(None);
        }
        Ok(self.found(known, (gain, exact), masses.into_iter(), || Cut::Each(codes.into())))
    }

    /// One level against the others; ties: the first level. Complexity: O(cells + levels x classes).
    pub fn one_vs_rest(
        &self,
        cells: &[Cell],
        known: &Known,
        sides: &mut Sides,
        ticker: &mut Ticker,
    ) -> Result<Option<Found>, Stop> {
        let mut pair = Pair::<I>::new(self, known, sides);
        let mut found = None;
        for group in groups(cells) {
            ticker.tick(known.side.masses.len())?;
            pair.restart();
            group.iter().for_each(|&cell| pair.pass(cell));
            if pair.is_better() {
                found = Some((group[0].code, pair.left.total));
            }
        }
        let Some((code, mass)) = found else { return Ok(None) };
        let best = pair.best_gain();
        Ok(self.found(known, best, self.two(known, mass), || Cut::Is(code)))
    }

    /// A set of levels against the others; the one that passes has the first level.
    ///
    /// For two classes the best set takes levels in the order of one class's share (Breiman et al., *Classification and
    /// Regression Trees*, 1984, theorem 4.5), unless a branch may be too small or costs bend the impurity; then, and for
    /// more classes, all sets are tried up to [`EXHAUSTIVE`] levels. Beyond that the sets that take levels in the order of
    /// some class's share are tried, for each of the [`ORDERS`] most frequent classes in turn: a heuristic. Ties: the first
    /// set tried.
    ///
    /// Complexity: O(2^levels x cells), or per class O(cells + levels log levels + levels x classes).
    pub fn subsets(
        &self,
        cells: &[Cell],
        known: &Known,
        sides: &mut Sides,
        ticker: &mut Ticker,
    ) -> Result<Option<Found>, Stop> {
        let groups: Vec<&[Cell]> = groups(cells).collect();
        let n_classes = known.side.masses.len();
        let by_shares = n_classes == 2 && self.shares_order && self.min_side() <= 1;
        let mut pair = Pair::<I>::new(self, known, sides);
        let mut passes: Option<(Vec<usize>, u64)> = None;
        if groups.len() <= EXHAUSTIVE && !by_shares {
            // Bit i - 1 of a set is group i; group 0 is always there.
            for set in 0..(1u32 << (groups.len() - 1)) - 1 {
                ticker.tick(cells.len() + n_classes)?;
                pair.restart();
                let members = (0..groups.len()).filter(|&i| i == 0 || set >> (i - 1) & 1 == 1);
                members.clone().for_each(|i| groups[i].iter().for_each(|&cell| pair.pass(cell)));
                if pair.is_better() {
                    passes = Some((members.collect(), pair.left.total));
                }
            }
        } else {
            for class in if by_shares { vec![1] } else { frequent(&known.side.masses) } {
                ticker.tick(cells.len() + 10 * groups.len())?;
                let order = by_share(&groups, class);
                pair.restart();
                for (i, &group) in order[..order.len() - 1].iter().enumerate() {
                    ticker.tick(n_classes)?;
                    groups[group].iter().for_each(|&cell| pair.pass(cell));
                    if pair.is_better() {
                        passes = Some((order[..=i].to_vec(), pair.left.total));
                    }
                }
            }
        }
        let Some((passes, mass)) = passes else { return Ok(None) };
        let best = pair.best_gain();
        let mut is_in = vec![false; groups.len()];
        passes.iter().for_each(|&group| is_in[group] = true);
        let first = is_in[0];
        let codes = groups.iter().zip(&is_in).filter(|(_, is_in)| **is_in == first).map(|(group, _)| group[0].code);
        Ok(self.found(known, best, self.two(known, mass), || Cut::In(codes.collect())))
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

/// Groups of cells in ascending order of the share of one class; ties: the first.
fn by_share(groups: &[&[Cell]], class: u32) -> Vec<usize> {
    let sums: Vec<(u128, u128)> = groups
        .iter()
        .map(|group| {
            let of = |class: Option<u32>| {
                let cells = group.iter().filter(|cell| class.is_none_or(|class| cell.class == class));
                cells.map(|cell| u128::from(cell.mass)).sum::<u128>()
            };
            (of(Some(class)), of(None))
        })
        .collect();
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by(|&a, &b| (sums[a].0 * sums[b].1).cmp(&(sums[b].0 * sums[a].1)));
    order
}

fn groups(cells: &[Cell]) -> impl Iterator<Item = &[Cell]> {
    cells.chunk_by(|a, b| a.code == b.code)
}
