//! Costs of errors, and the cost of a leaf as an impurity.

use super::{Impurity, Side};

/// Costs of errors as integers: `costs[i][j]` of taking class i for class j.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Costs {
    costs: Vec<Vec<u64>>,
    /// How many units are one.
    per_one: f64,
}

impl Costs {
    /// Costs that are not multiples of a unit of 20 binary or some decimal digits are rounded to one.
    const MOST: f64 = (1 << 20) as f64;

    /// Every error costs one.
    pub fn errors(n_classes: usize) -> Self {
        let cost = |i, j| u64::from(i != j);
        Costs { costs: (0..n_classes).map(|i| (0..n_classes).map(|j| cost(i, j)).collect()).collect(), per_one: 1.0 }
    }

    /// Finite costs, not negative, 0 on the diagonal.
    pub fn new(costs: &[Vec<f64>]) -> Self {
        let most = costs.iter().flatten().fold(0.0f64, |a, &b| a.max(b));
        let finest = if most > 0.0 { 2f64.powi((Self::MOST / most).log2().floor() as i32) } else { 1.0 };
        let whole = |per_one: f64| costs.iter().flatten().all(|cost| (cost * per_one).round() / per_one == *cost);
        let units = (0..=20).map(|digits| 2f64.powi(digits)).chain((1..=6).map(|digits| 10f64.powi(digits)));
        let per_one = units.into_iter().find(|&unit| unit <= finest && whole(unit)).unwrap_or(finest);
        let units = |row: &Vec<f64>| row.iter().map(|cost| (cost * per_one).round() as u64).collect();
        Costs { costs: costs.iter().map(units).collect(), per_one }
    }

    /// What it costs to take one class for another, in units.
    #[inline]
    pub(super) fn of(&self, class: usize, taken_for: usize) -> u128 {
        self.costs[class][taken_for].into()
    }

    /// How many units are one.
    pub(super) fn per_one(&self) -> f64 {
        self.per_one
    }

    /// The expected cost of predicting a class for cases of these masses, times their mass.
    fn expected(&self, masses: &[u64], class: usize) -> u128 {
        masses.iter().zip(&self.costs).map(|(&mass, costs)| u128::from(mass) * u128::from(costs[class])).sum()
    }

    /// The class of least expected cost, and that cost; ties: the first.
    pub fn leaf(&self, masses: &[u64]) -> (u128, u32) {
        let costs = (0..masses.len()).map(|class| self.expected(masses, class));
        costs.zip(0..).min().unwrap_or((0, 0))
    }
}

/// The cost of the best leaf.
#[derive(Debug)]
pub(crate) struct LeafCost {
    costs: Costs,
    unit_costs: bool,
    /// Binary digits to drop so that the cost of all cases stays below 2^62; none unless masses are huge.
    drop: u32,
}

impl LeafCost {
    /// For sets of at most this mass.
    pub fn new(costs: Costs, most: u64) -> Self {
        let unit_costs = costs == Costs::errors(costs.costs.len());
        let greatest = costs.costs.iter().flatten().max().map_or(0, |&cost| u128::from(cost));
        let bits = 128 - (u128::from(most) * greatest).leading_zeros();
        LeafCost { costs, unit_costs, drop: bits.saturating_sub(62) }
    }
}

impl Impurity for LeafCost {
    #[inline(always)]
    fn add(&self, side: &mut Side, class: usize, mass: u64) {
        side.masses[class] += mass;
        side.total += mass;
    }

    #[inline(always)]
    fn remove(&self, side: &mut Side, class: usize, mass: u64) {
        side.masses[class] -= mass;
        side.total -= mass;
    }

    fn purity(&self, side: &Side) -> i64 {
        if self.unit_costs {
            let most = side.masses.iter().max().map_or(0, |&most| most);
            return most as i64 - side.total as i64;
        }
        -((self.costs.leaf(&side.masses).0 >> self.drop) as i64)
    }

    #[inline(always)]
    fn pair(&self, first: u64, second: u64) -> i64 {
        if self.unit_costs {
            return -(first.min(second) as i64);
        }
        -((self.costs.leaf(&[first, second]).0 >> self.drop) as i64)
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
