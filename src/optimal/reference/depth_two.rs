//! Phase two of MurTree's Algorithm 4: the best trees of depth two, from pair counts alone.

use super::super::problem::{Mass, Problem};
use super::pair_counts::PairCounts;
use crate::budget::{Stop, Ticker};

/// For each root test, what its two branches cost as leaves and under their best further test.
///
/// Branch 0 is the false side. Costs are those of the branches alone; [`INADMISSIBLE`] where a branch has too few cases.
#[derive(Default)]
pub(in crate::optimal) struct Roots {
    leaf: Vec<[u64; 2]>,
    /// At most `leaf`: the best of a leaf and of one more node, its penalty included.
    best: Vec<[u64; 2]>,
    node_penalty: u64,
}

/// The cost of a root with too few cases in a branch; small enough that sums of it do not overflow.
pub(in crate::optimal) const INADMISSIBLE: u64 = u64::MAX / 4;

impl Roots {
    /// Prepares all roots: branches as leaves.
    pub(in crate::optimal) fn start<M: Mass>(&mut self, problem: &Problem<M>, counts: &PairCounts<M>) {
        self.node_penalty = problem.node_penalty;
        self.leaf.clear();
        let mut rest = vec![M::default(); problem.channels];
        for test in 0..problem.n_tests {
            let ones = counts.single(test);
            for (channel, rest) in rest.iter_mut().enumerate() {
                *rest = counts.totals[channel] - ones[channel];
            }
            let splits = problem.admissible(ones) && problem.admissible(&rest);
            self.leaf.push(match splits {
                true => [problem.leaf(&rest), problem.leaf(ones)],
                false => [INADMISSIBLE; 2],
            });
        }
        self.best.clone_from(&self.leaf);
    }

    /// Tries the tests of a block as roots over all later tests, and those as roots over the block. O(pairs x classes).
    pub(in crate::optimal) fn improve<M: Mass>(
        &mut self,
        problem: &Problem<M>,
        counts: &PairCounts<M>,
        ticker: &mut Ticker,
    ) -> Result<(), Stop> {
        // Two classes without counted cases, the usual problem, are known at compile time: a third less time on some sets.
        match (problem.n_classes, problem.channels) {
            (2, 2) => self.improve_over::<M, 2>(problem, counts, ticker),
            _ => self.improve_over::<M, 0>(problem, counts, ticker),
        }
    }

    /// `CLASSES` is how many classes there are and no other channel, or 0 if that is not known.
    fn improve_over<M: Mass, const CLASSES: usize>(
        &mut self,
        problem: &Problem<M>,
        counts: &PairCounts<M>,
        ticker: &mut Ticker,
    ) -> Result<(), Stop> {
        let (n_classes, channels) =
            if CLASSES > 0 { (CLASSES, CLASSES) } else { (problem.n_classes, problem.channels) };
        let totals = &counts.totals[..channels];
        for g in counts.block.clone() {
            let single_g = &counts.single(g)[..channels];
            let mut best_g = self.best[g];
            for (i, both) in counts.row(g).chunks_exact(channels).enumerate() {
                let h = g + 1 + i;
                let (single_h, both) = (&counts.single(h)[..channels], &both[..channels]);
                // Cost of the four cells as leaves, [g][h]: sum of masses minus the greatest.
                let (mut sums, mut most) = ([0u64; 4], [M::default(); 4]);
                let cells = |c: usize| {
                    let only_g = single_g[c] - both[c];
                    let rest = totals[c] - single_h[c];
                    [rest - only_g, single_h[c] - both[c], only_g, both[c]]
                };
                for c in 0..n_classes {
                    for (k, cell) in cells(c).into_iter().enumerate() {
                        sums[k] += cell.into();
                        most[k] = most[k].max(cell);
                    }
                }
                let mut costs = [0; 4];
                for k in 0..4 {
                    costs[k] = sums[k] - most[k].into();
                }
                if channels > n_classes {
                    for (k, cases) in cells(n_classes).into_iter().enumerate() {
                        if cases.into() < problem.min_leaf {
                            costs[k] = INADMISSIBLE;
                        }
                    }
                }
                let p = self.node_penalty;
                best_g[0] = best_g[0].min(costs[0] + costs[1] + p);
                best_g[1] = best_g[1].min(costs[2] + costs[3] + p);
                let best_h = &mut self.best[h];
                best_h[0] = best_h[0].min(costs[0] + costs[2] + p);
                best_h[1] = best_h[1].min(costs[1] + costs[3] + p);
            }
            self.best[g] = best_g;
            ticker.tick(8 * (problem.n_tests - g) * channels)?;
        }
        Ok(())
    }

    /// Takes over what other blocks found.
    pub(in crate::optimal) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.best.iter_mut().zip(&other.best) {
            for side in 0..2 {
                mine[side] = mine[side].min(theirs[side]);
            }
        }
    }

    /// The least cost of a tree with this root and at most three nodes.
    pub(in crate::optimal) fn cost(&self, test: usize) -> u64 {
        self.branch_cost(test, 0, 1) + self.branch_cost(test, 1, 1) + self.node_penalty
    }

    /// The least cost of one side of a root, with at most 0 or 1 nodes there.
    pub(in crate::optimal) fn branch_cost(&self, test: usize, side: usize, nodes: u64) -> u64 {
        match self.leaf[test][side] {
            // An inadmissible root stays so, whatever its branches.
            INADMISSIBLE => INADMISSIBLE,
            leaf if nodes == 0 => leaf,
            _ => self.best[test][side],
        }
    }

    /// The least cost of a tree of depth two with at most 0, 1, 2 and 3 nodes; `leaf` is that of no node.
    pub(in crate::optimal) fn values(&self, leaf: u64) -> [u64; 4] {
        let mut values = [leaf; 4];
        for (leaf, best) in self.leaf.iter().zip(&self.best).filter(|(leaf, _)| leaf[0] != INADMISSIBLE) {
            let p = self.node_penalty;
            values[1] = values[1].min(leaf[0] + leaf[1] + p);
            values[2] = values[2].min((leaf[0] + best[1]).min(best[0] + leaf[1]) + p);
            values[3] = values[3].min(best[0] + best[1] + p);
        }
        for k in 1..4 {
            values[k] = values[k].min(values[k - 1]);
        }
        values
    }
}
