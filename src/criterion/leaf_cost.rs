//! The cost of the best leaf as an impurity: its errors, or its expected cost.

use super::fraction::Fraction;
use super::{ClassImpurity, ClassStats, Costs, ExactGain, Impurity};

/// The cost of the best leaf as an impurity.
#[derive(Debug)]
pub(crate) struct LeafCost {
    costs: Costs,
    /// Binary digits dropped so that the cost of all cases stays below 2^62; 0 unless masses are huge.
    dropped_bits: u32,
}

impl LeafCost {
    /// For sets of at most this mass.
    pub fn new(costs: Costs, most: u64) -> Self {
        // Where every error costs one, costs are masses.
        let bits = 64 - most.leading_zeros() + if costs.matrix().is_some() { costs.bits() } else { 0 };
        LeafCost { costs, dropped_bits: bits.saturating_sub(62) }
    }

    fn in_range(&self, cost: u128) -> i64 {
        (cost >> self.dropped_bits) as i64
    }

    /// The decrease of cost by a split into these parts.
    fn gain<'m>(&self, parts: impl Iterator<Item = &'m [u64]>, whole: &[u64]) -> i128 {
        let cost = |masses: &[u64]| self.costs.leaf(masses).0 as i128;
        cost(whole) - parts.map(cost).sum::<i128>()
    }
}

impl Impurity for LeafCost {
    type Response = usize;
    type Stats = ClassStats;

    #[inline(always)]
    fn add(&self, stats: &mut ClassStats, class: usize, mass: u64) {
        stats.masses[class] += mass;
        stats.total += mass;
        if let Some(costs) = self.costs.matrix() {
            stats.expected_costs.resize(stats.masses.len(), 0);
            let sums = stats.expected_costs.iter_mut().zip(&costs[class]);
            sums.for_each(|(sum, &cost)| *sum += u128::from(mass) * u128::from(cost));
        }
    }

    #[inline(always)]
    fn remove(&self, stats: &mut ClassStats, class: usize, mass: u64) {
        stats.masses[class] -= mass;
        stats.total -= mass;
        if let Some(costs) = self.costs.matrix() {
            let sums = stats.expected_costs.iter_mut().zip(&costs[class]);
            sums.for_each(|(sum, &cost)| *sum -= u128::from(mass) * u128::from(cost));
        }
    }

    fn purity(&self, stats: &ClassStats) -> i64 {
        match self.costs.matrix() {
            None => stats.masses.iter().max().map_or(0, |&most| most) as i64 - stats.total as i64,
            Some(_) => -self.in_range(stats.expected_costs.iter().min().map_or(0, |&least| least)),
        }
    }

    fn rounding_error(&self, _: u64, branches: usize) -> i64 {
        if self.dropped_bits == 0 { 0 } else { branches as i64 + 1 }
    }

    fn is_gain(&self, part: &ClassStats, whole: &ClassStats, gain: i64) -> bool {
        if self.dropped_bits == 0 {
            return gain > 0;
        }
        // With two branches, the rest is the other one. With several, a gain of the part beside the rest is a gain of
        // the split; if there is none, the caller asks for the exact gain.
        let rest: Vec<u64> = whole.masses.iter().zip(&part.masses).map(|(all, part)| all - part).collect();
        self.gain([&part.masses[..], &rest].into_iter(), &whole.masses) > 0
    }

    fn scale(&self) -> f64 {
        self.costs.per_one() / 2f64.powi(self.dropped_bits as i32)
    }

    fn scale_bits(&self) -> i32 {
        -(self.dropped_bits as i32)
    }

    fn perfect_gain(&self, stats: &ClassStats) -> Option<i64> {
        (self.dropped_bits == 0).then(|| -self.purity(stats))
    }
}

impl ClassImpurity for LeafCost {
    #[inline]
    fn purity_of_two(&self, first: u64, second: u64) -> i64 {
        match self.costs.matrix() {
            None => -(first.min(second) as i64),
            Some(_) => -self.in_range(self.costs.leaf(&[first, second]).0),
        }
    }

    fn is_rounded(&self) -> bool {
        self.dropped_bits > 0
    }

    fn exact_gain<'m>(&self, parts: impl Iterator<Item = &'m [u64]>, whole: &[u64]) -> Option<ExactGain> {
        Fraction::new(self.gain(parts, whole), 1).map(ExactGain::Fraction)
    }
}
