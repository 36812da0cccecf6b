//! Costs of errors, and the cost of a leaf as an impurity.

use super::{Exact, Fraction, Impurity, Side};
use crate::error::{Error, Result};
use crate::scale::{Scale, common_divisor};

/// Costs of errors as integers: `costs[i][j]` of taking class i for class j.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Costs {
    /// `None`: every error costs one.
    costs: Option<Vec<Vec<u64>>>,
    /// How many units are one.
    per_one: f64,
    /// The same as a ratio of whole numbers, times a power of two.
    ratio: (u64, u64, i32),
}

impl Costs {
    /// Costs have at most this many units.
    const MOST: f64 = (1u64 << 40) as f64;
    /// By what part of itself a cost may be rounded.
    const MOST_ERROR: f64 = 1.0 / (1u64 << 20) as f64;

    /// Every error costs one.
    pub fn errors() -> Self {
        Costs { costs: None, per_one: 1.0, ratio: (1, 1, 0) }
    }

    /// Finite costs, not negative, 0 on the diagonal, as multiples of a unit.
    ///
    /// # Errors
    /// If there is no unit under which they are below 2^40, and rounding to the finest such would change one by more than
    /// 2^-20 of itself.
    pub fn new(costs: &[Vec<f64>]) -> Result<Self> {
        let positive = || costs.iter().flatten().copied().filter(|&cost| cost > 0.0);
        let most = positive().fold(0.0, f64::max);
        let scale = match Scale::exact(positive, most, 2.0 * Self::MOST, 1023) {
            _ if most == 0.0 => Scale::ONE,
            Some(scale) => scale,
            None => {
                let grid = Scale::grid(most, 2.0 * Self::MOST);
                if let Some(cost) = positive().find(|&cost| !grid.is_close(cost, Self::MOST_ERROR)) {
                    let expected = format!(
                        "0 or at least 2^-20 of the greatest, {most:?}, or multiples of a unit of which that is less than 2^40"
                    );
                    return Err(Error::InvalidParameter { name: "costs", expected, got: format!("{cost:?}") });
                }
                grid
            }
        };
        let in_units = |&cost: &f64| if cost > 0.0 { scale.whole(cost) } else { 0 };
        let mut costs: Vec<Vec<u64>> = costs.iter().map(|row| row.iter().map(in_units).collect()).collect();
        // Costs of 1000 and 5000 are costs of 1 and 5: small numbers leave room for masses.
        let divisor = costs.iter().flatten().copied().fold(0, common_divisor).max(1);
        costs.iter_mut().flatten().for_each(|cost| *cost /= divisor);
        let scale = scale.divided(divisor);
        let (numerator, denominator) = scale.unit();
        Ok(Costs { costs: Some(costs), per_one: denominator / numerator, ratio: scale.per_one() })
    }

    /// How many classes there are, if costs tell them apart.
    pub(super) fn n_classes(&self) -> usize {
        self.costs.as_ref().map_or(0, Vec::len)
    }

    /// Binary digits of the greatest cost in units.
    pub(super) fn bits(&self) -> u32 {
        64 - self.costs.iter().flatten().flatten().max().map_or(1, |&most| most).leading_zeros()
    }

    /// What it costs to take one class for another, in units.
    #[inline]
    pub fn of(&self, class: usize, taken_for: usize) -> u128 {
        self.costs.as_ref().map_or(u128::from(class != taken_for), |costs| costs[class][taken_for].into())
    }

    /// The greatest cost, in units.
    pub fn greatest(&self) -> u128 {
        self.costs.as_ref().map_or(1, |costs| costs.iter().flatten().copied().max().unwrap_or(0).into())
    }

    /// How many units are one: a whole number over another, times a power of two.
    pub fn ratio(&self) -> (u64, u64, i32) {
        self.ratio
    }

    /// How many units are one.
    pub fn per_one(&self) -> f64 {
        self.per_one
    }

    /// The class of least expected cost, and that cost times the mass; ties: the first.
    pub fn leaf(&self, masses: &[u64]) -> (u128, u32) {
        let sum = |terms: &mut dyn Iterator<Item = u128>| terms.sum::<u128>();
        let by_class = || masses.iter().map(|&mass| u128::from(mass));
        let total = if self.costs.is_none() { sum(&mut by_class()) } else { 0 };
        let expected = |class: usize| match &self.costs {
            None => total - u128::from(masses[class]),
            Some(costs) => sum(&mut by_class().zip(costs).map(|(mass, costs)| mass * u128::from(costs[class]))),
        };
        (0..masses.len()).map(expected).zip(0..).min().unwrap_or((0, 0))
    }
}

/// The cost of the best leaf.
#[derive(Debug)]
pub(crate) struct LeafCost {
    costs: Costs,
    /// Binary digits to drop so that the cost of all cases stays below 2^62; none unless masses are huge.
    drop: u32,
}

impl LeafCost {
    /// For sets of at most this mass.
    pub fn new(costs: Costs, most: u64) -> Self {
        // Where every error costs one, costs are masses.
        let bits = 64 - most.leading_zeros() + if costs.costs.is_some() { costs.bits() } else { 0 };
        LeafCost { costs, drop: bits.saturating_sub(62) }
    }
}

impl LeafCost {
    fn in_range(&self, cost: u128) -> i64 {
        (cost >> self.drop) as i64
    }

    /// What a split into these parts takes off the cost.
    fn gain<'m>(&self, parts: impl Iterator<Item = &'m [u64]>, whole: &[u64]) -> i128 {
        let cost = |masses: &[u64]| self.costs.leaf(masses).0 as i128;
        cost(whole) - parts.map(cost).sum::<i128>()
    }
}

impl Impurity for LeafCost {
    #[inline(always)]
    fn add(&self, side: &mut Side, class: usize, mass: u64) {
        side.masses[class] += mass;
        side.total += mass;
        if let Some(costs) = &self.costs.costs {
            side.expected.resize(side.masses.len(), 0);
            side.expected
                .iter_mut()
                .zip(&costs[class])
                .for_each(|(sum, &cost)| *sum += u128::from(mass) * u128::from(cost));
        }
    }

    #[inline(always)]
    fn remove(&self, side: &mut Side, class: usize, mass: u64) {
        side.masses[class] -= mass;
        side.total -= mass;
        if let Some(costs) = &self.costs.costs {
            side.expected
                .iter_mut()
                .zip(&costs[class])
                .for_each(|(sum, &cost)| *sum -= u128::from(mass) * u128::from(cost));
        }
    }

    fn purity(&self, side: &Side) -> i64 {
        match &self.costs.costs {
            None => side.masses.iter().max().map_or(0, |&most| most) as i64 - side.total as i64,
            Some(_) => -self.in_range(side.expected.iter().min().map_or(0, |&least| least)),
        }
    }

    #[inline]
    fn pair(&self, first: u64, second: u64) -> i64 {
        match &self.costs.costs {
            None => -(first.min(second) as i64),
            Some(_) => -self.in_range(self.costs.leaf(&[first, second]).0),
        }
    }

    fn noise(&self, _: u64, branches: usize) -> i64 {
        if self.drop == 0 { 0 } else { branches as i64 + 1 }
    }

    fn is_gain(&self, part: &Side, whole: &Side, gain: i64) -> bool {
        if self.drop == 0 {
            return gain > 0;
        }
        // Of two branches: the other one is what is left. Of several that is enough, and else the exact gain is asked.
        let rest: Vec<u64> = whole.masses.iter().zip(&part.masses).map(|(all, part)| all - part).collect();
        self.gain([&part.masses[..], &rest].into_iter(), &whole.masses) > 0
    }

    fn rounds(&self) -> bool {
        self.drop > 0
    }

    fn exact_gain<'m>(&self, parts: impl Iterator<Item = &'m [u64]>, whole: &[u64]) -> Option<Exact> {
        Fraction::new(self.gain(parts, whole), 1).map(Exact::Fraction)
    }

    fn unit(&self) -> f64 {
        self.costs.per_one / 2f64.powi(self.drop as i32)
    }

    fn digits(&self) -> i32 {
        -(self.drop as i32)
    }

    fn perfect(&self, side: &Side) -> Option<i64> {
        (self.drop == 0).then(|| -self.purity(side))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(costs: &[[f64; 2]; 2]) -> (Vec<Vec<u64>>, f64) {
        let costs = Costs::new(&costs.map(|row| row.to_vec())).expect("near each other");
        (costs.costs.expect("a matrix"), costs.per_one)
    }

    #[test]
    fn costs_are_small_whole_numbers() {
        assert_eq!(units(&[[0.0, 5.0], [1.0, 0.0]]), (vec![vec![0, 5], vec![1, 0]], 1.0));
        assert_eq!(units(&[[0.0, 5000.0], [1000.0, 0.0]]), (vec![vec![0, 5], vec![1, 0]], 1e-3));
        assert_eq!(units(&[[0.0, 0.1], [0.25, 0.0]]), (vec![vec![0, 2], vec![5, 0]], 20.0));
        assert_eq!(units(&[[0.0, 0.0], [0.0, 0.0]]).0, [[0, 0], [0, 0]]);
        // Of any size, in proportion.
        assert_eq!(units(&[[0.0, 1e-305], [3e-306, 0.0]]).0, [[0, 10], [3, 0]]);
        assert_eq!(units(&[[0.0, 5e-324], [5e-324, 0.0]]).0, [[0, 1], [1, 0]]);
        assert_eq!(units(&[[0.0, f64::MAX], [f64::MAX / 4.0, 0.0]]).0, [[0, 4], [1, 0]]);
        let third = 1.0 / 3.0;
        assert_eq!(units(&[[0.0, third], [2.0 * third, 0.0]]), (vec![vec![0, 1], vec![2, 0]], 3.0));
        // Both have many digits, and the smaller keeps some of them.
        let (costs, _) = units(&[[0.0, std::f64::consts::E], [1e-5 * std::f64::consts::PI, 0.0]]);
        let ratio = costs[0][1] as f64 / costs[1][0] as f64;
        assert!((ratio * 1e-5 * std::f64::consts::PI / std::f64::consts::E - 1.0).abs() < 1e-6, "{costs:?}");
        // None of them vanishes.
        for (large, small) in [(1e20, 1.0), (1e300, 1e-300), (f64::MAX, 1.0), (std::f64::consts::PI, 1e-9)] {
            let costs = Costs::new(&[vec![0.0, large], vec![small, 0.0]]);
            assert!(matches!(costs, Err(Error::InvalidParameter { name: "costs", .. })), "{costs:?}");
        }
    }
}
