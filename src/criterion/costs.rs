//! Costs of errors as integers.

use crate::error::{Error, Result};
use crate::scale::{Scale, common_divisor};

/// Costs of errors as integers: `matrix[i][j]` is the cost of predicting class j for a case of class i.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Costs {
    /// `None`: every error costs one.
    matrix: Option<Vec<Vec<u64>>>,
    /// Units in a cost of one.
    per_one: f64,
    /// The same number as a fraction of integers (numerator, denominator) times a power of two (exponent).
    ratio: (u64, u64, i32),
}

impl Costs {
    /// The greatest cost has at most this many units.
    const MOST: f64 = (1u64 << 40) as f64;
    /// The greatest relative rounding error of a cost.
    const MOST_ERROR: f64 = 1.0 / (1u64 << 20) as f64;

    /// Every error costs one.
    pub fn errors() -> Self {
        Costs { matrix: None, per_one: 1.0, ratio: (1, 1, 0) }
    }

    /// Expresses finite, non-negative costs with 0 on the diagonal as multiples of a unit.
    ///
    /// # Errors
    /// If no unit keeps all costs below 2^40 units exactly, and rounding to the finest such unit would change one of
    /// them by more than 2^-20 of itself.
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
        // Costs of 1000 and 5000 become 1 and 5: small numbers leave more digits for masses.
        let divisor = costs.iter().flatten().copied().fold(0, common_divisor).max(1);
        costs.iter_mut().flatten().for_each(|cost| *cost /= divisor);
        let scale = scale.divided(divisor);
        let (numerator, denominator) = scale.unit();
        Ok(Costs { matrix: Some(costs), per_one: denominator / numerator, ratio: scale.per_one() })
    }

    /// `[i][j]`: the cost of predicting class j for a case of class i; `None` if every error costs one.
    pub(super) fn matrix(&self) -> Option<&[Vec<u64>]> {
        self.matrix.as_deref()
    }

    /// The number of classes; 0 if every error costs one.
    pub(super) fn n_classes(&self) -> usize {
        self.matrix.as_ref().map_or(0, Vec::len)
    }

    /// Binary digits of the greatest cost, in units.
    pub(super) fn bits(&self) -> u32 {
        64 - self.matrix.iter().flatten().flatten().max().map_or(1, |&most| most).leading_zeros()
    }

    /// The cost of predicting one class for another, in units.
    #[inline]
    pub fn of(&self, class: usize, predicted: usize) -> u128 {
        self.matrix.as_ref().map_or(u128::from(class != predicted), |costs| costs[class][predicted].into())
    }

    /// The greatest cost, in units.
    pub fn greatest(&self) -> u128 {
        self.matrix.as_ref().map_or(1, |costs| costs.iter().flatten().copied().max().unwrap_or(0).into())
    }

    /// Units in a cost of one: numerator, denominator, and the exponent of a power of two.
    pub fn ratio(&self) -> (u64, u64, i32) {
        self.ratio
    }

    /// Units in a cost of one.
    pub fn per_one(&self) -> f64 {
        self.per_one
    }

    /// The least expected cost of a leaf, times its mass, and the class with that cost; ties: the first class.
    pub fn leaf(&self, masses: &[u64]) -> (u128, u32) {
        let sum = |terms: &mut dyn Iterator<Item = u128>| terms.sum::<u128>();
        let by_class = || masses.iter().map(|&mass| u128::from(mass));
        let total = if self.matrix.is_none() { sum(&mut by_class()) } else { 0 };
        let expected = |class: usize| match &self.matrix {
            None => total - u128::from(masses[class]),
            Some(costs) => sum(&mut by_class().zip(costs).map(|(mass, costs)| mass * u128::from(costs[class]))),
        };
        (0..masses.len()).map(expected).zip(0..).min().unwrap_or((0, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(costs: &[[f64; 2]; 2]) -> (Vec<Vec<u64>>, f64) {
        let costs = Costs::new(&costs.map(|row| row.to_vec())).expect("near each other");
        (costs.matrix.expect("a matrix"), costs.per_one)
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
