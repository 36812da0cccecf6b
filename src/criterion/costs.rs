//! Costs of errors, and the cost of a leaf as an impurity.

use super::exact::common_divisor;
use super::{Impurity, Side};

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
    /// Costs have fewer units than this. What is no multiple of a binary or decimal unit is rounded to one, but no cost to
    /// nothing.
    const MOST: f64 = (1u64 << 40) as f64;

    /// Every error costs one.
    pub fn errors() -> Self {
        Costs { costs: None, per_one: 1.0, ratio: (1, 1, 0) }
    }

    /// Finite costs, not negative, 0 on the diagonal.
    pub fn new(costs: &[Vec<f64>]) -> Self {
        let most = costs.iter().flatten().fold(0.0f64, |a, &b| a.max(b));
        // Brought near one by a power of two, which loses nothing, in two steps, since one may be out of range.
        let places = if most > 0.0 { -most.log2().floor() as i32 } else { 0 };
        let near_one = |cost: f64| cost * 2f64.powi(places / 2) * 2f64.powi(places - places / 2);
        let (near, scale) = if places.abs() > 100 { (places, true) } else { (0, false) };
        let scaled = |cost: f64| if scale { near_one(cost) } else { cost };
        let finest = if most > 0.0 { 2f64.powi((Self::MOST / scaled(most)).log2().floor() as i32) } else { 1.0 };
        let all = || costs.iter().flatten().map(|&cost| scaled(cost));
        let whole = |unit: f64| all().all(|cost| (cost * unit).round() / unit == cost);
        let units = (0..=40).map(|digits| 2f64.powi(digits)).chain((1..=9).map(|digits| 10f64.powi(digits)));
        let unit = units.into_iter().find(|&unit| unit <= finest && whole(unit)).unwrap_or(finest);
        let in_units = |&cost: &f64| ((scaled(cost) * unit).round() as u64).max(u64::from(cost > 0.0));
        let mut costs: Vec<Vec<u64>> = costs.iter().map(|row| row.iter().map(in_units).collect()).collect();
        // Costs of 1000 and 5000 are costs of 1 and 5: small numbers leave room for masses.
        let divisor = costs.iter().flatten().copied().fold(0, common_divisor).max(1);
        costs.iter_mut().flatten().for_each(|cost| *cost /= divisor);
        // A power of ten, or else of two.
        let is_ten = unit.fract() == 0.0 && unit.log2().fract() != 0.0;
        let ratio = if is_ten { (unit as u64, divisor, near) } else { (1, divisor, unit.log2() as i32 + near) };
        Costs { costs: Some(costs), per_one: unit * 2f64.powi(near) / divisor as f64, ratio }
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
        let bits = 64 - most.leading_zeros() + costs.bits();
        LeafCost { costs, drop: bits.saturating_sub(62) }
    }
}

impl LeafCost {
    fn in_range(&self, cost: u128) -> i64 {
        (cost >> self.drop) as i64
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

    fn is_gain(&self, _: &Side, _: &Side, gain: i64) -> bool {
        self.drop == 0 && gain > 0
    }

    fn unit(&self) -> f64 {
        self.costs.per_one / 2f64.powi(self.drop as i32)
    }

    fn perfect(&self, side: &Side) -> Option<i64> {
        (self.drop == 0).then(|| -self.purity(side))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(costs: &[[f64; 2]; 2]) -> (Vec<Vec<u64>>, f64) {
        let costs = Costs::new(&costs.map(|row| row.to_vec()));
        (costs.costs.expect("a matrix"), costs.per_one)
    }

    #[test]
    fn costs_are_small_whole_numbers() {
        assert_eq!(units(&[[0.0, 5.0], [1.0, 0.0]]), (vec![vec![0, 5], vec![1, 0]], 1.0));
        assert_eq!(units(&[[0.0, 5000.0], [1000.0, 0.0]]), (vec![vec![0, 5], vec![1, 0]], 1e-3));
        assert_eq!(units(&[[0.0, 0.1], [0.25, 0.0]]), (vec![vec![0, 2], vec![5, 0]], 20.0));
        assert_eq!(units(&[[0.0, 0.0], [0.0, 0.0]]).0, [[0, 0], [0, 0]]);
        // Whatever their size and ratio, none of them vanishes.
        for (large, small) in
            [(1e7, 1.0), (1e20, 1.0), (1e300, 1e-300), (5e-324, 5e-324), (1e-305, 3e-306), (f64::MAX, 1.0)]
        {
            let (costs, _) = units(&[[0.0, large], [small, 0.0]]);
            assert!(
                costs[1][0] >= 1 && costs[0][1] >= costs[1][0] && costs[0][1] <= 1 << 41,
                "{large} {small} {costs:?}"
            );
        }
    }
}
