//! Costs of errors, and the cost of a leaf as an impurity.

use super::{Impurity, Side};

/// Costs of errors as integers: `costs[i][j]` of taking class i for class j.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Costs {
    /// `None`: every error costs one.
    costs: Option<Vec<Vec<u64>>>,
    /// How many units are one.
    per_one: f64,
}

impl Costs {
    /// Costs that are not multiples of a unit of 20 binary or some decimal digits are rounded to one.
    const MOST: f64 = (1 << 20) as f64;

    /// Every error costs one.
    pub fn errors() -> Self {
        Costs { costs: None, per_one: 1.0 }
    }

    /// Finite costs, not negative, 0 on the diagonal.
    pub fn new(costs: &[Vec<f64>]) -> Self {
        let most = costs.iter().flatten().fold(0.0f64, |a, &b| a.max(b));
        let finest = if most > 0.0 { 2f64.powi((Self::MOST / most).log2().floor().min(1000.0) as i32) } else { 1.0 };
        let whole = |per_one: f64| costs.iter().flatten().all(|cost| (cost * per_one).round() / per_one == *cost);
        let units = (0..=20).map(|digits| 2f64.powi(digits)).chain((1..=6).map(|digits| 10f64.powi(digits)));
        let per_one = units.into_iter().find(|&unit| unit <= finest && whole(unit)).unwrap_or(finest);
        let units = |row: &Vec<f64>| row.iter().map(|cost| (cost * per_one).round() as u64).collect();
        Costs { costs: Some(costs.iter().map(units).collect()), per_one }
    }

    /// What it costs to take one class for another, in units.
    #[inline]
    pub(super) fn of(&self, class: usize, taken_for: usize) -> u128 {
        self.costs.as_ref().map_or(u128::from(class != taken_for), |costs| costs[class][taken_for].into())
    }

    /// How many units are one.
    pub(super) fn per_one(&self) -> f64 {
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
        let greatest = costs.costs.iter().flatten().flatten().max().map_or(1, |&cost| u128::from(cost));
        let bits = 128 - (u128::from(most) * greatest).leading_zeros();
        LeafCost { costs, drop: bits.saturating_sub(62) }
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
        if self.costs.costs.is_none() {
            let most = side.masses.iter().max().map_or(0, |&most| most);
            return most as i64 - side.total as i64;
        }
        -((self.costs.leaf(&side.masses).0 >> self.drop) as i64)
    }

    #[inline(always)]
    fn pair(&self, first: u64, second: u64) -> i64 {
        if self.costs.costs.is_none() {
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
