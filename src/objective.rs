//! What an exact search minimises, in integers, so that costs compare exactly on every platform.
//!
//! The cost of a tree is the mass of the cases it gets wrong plus a penalty per internal node. Real weights and
//! penalties become integers in [`Units`]: multiples of a power of two or of ten. Optimal refers to those integers; where
//! every weight is a multiple of the unit, as integers and numbers of few digits are, nothing is lost.

use crate::data::Dataset;
use crate::error::{Error, Result};

/// What is minimised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Objective {
    /// The mass of misclassified cases.
    #[default]
    Errors,
}

/// Integer masses of cases, and what one unit is worth.
#[derive(Debug, Clone, PartialEq)]
pub struct Units {
    /// The value of one unit: a power of two or of ten; 1 for unweighted cases without a penalty.
    pub resolution: f64,
    /// How many units are one, if that is a power of ten; else 0.
    decimal: f64,
    /// A weight of 1, in units.
    one: u64,
    /// The penalty per internal node, in units; never more than the total mass and one.
    pub node_penalty: u64,
    /// The mass of all cases, in units, below 2^62.
    pub total: u64,
}

/// Masses and penalties stay below 2^62 units, so that a handful of them add up in a u64.
const MOST_UNITS: f64 = (1u64 << 62) as f64;

/// Decimals that weights may be taken for, the coarsest first.
const DECIMALS: [f64; 9] = [1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];
/// Totals of decimals are whole numbers that floats hold.
const MOST_DECIMAL: f64 = (1u64 << 53) as f64;

impl Units {
    /// Chooses the coarsest power of two or of ten of which all weights and the penalty are multiples, or else the finest
    /// power of two under which the total stays in range. A weight of 0.1 is a tenth, though the float is not quite: the
    /// float next to a decimal of few digits is taken for it.
    pub fn new(data: &Dataset, node_penalty: f64) -> Result<Self> {
        Self::within(data, node_penalty, MOST_UNITS)
    }

    /// As [`Units::new`], with the total below `most` units, a power of two of at most 2^62, where weights are not whole.
    pub fn within(data: &Dataset, node_penalty: f64, most: f64) -> Result<Self> {
        if data.counts().is_none() && data.weights().is_none() && node_penalty == 0.0 {
            return Ok(Units { resolution: 1.0, decimal: 0.0, one: 1, node_penalty: 0, total: data.n_rows() as u64 });
        }
        let weight = |row: usize| data.weights().map_or(1.0, |weights| weights[row]);
        let rows = || (0..data.n_rows()).filter(|&row| data.count(row) > 0);
        let total: f64 = rows().map(|row| data.count(row) as f64 * weight(row)).sum();
        // Beyond half the greatest float the units below would overflow.
        if !(2.0 * total).is_finite() {
            let row = rows().max_by(|&a, &b| weight(a).total_cmp(&weight(b))).unwrap_or(0);
            return Err(Error::BadWeight {
                what: "weight",
                row,
                got: format!("{:?}", weight(row)),
                expected: "such that all weights, times their counts, sum to less than 8e307",
            });
        }
        let finest = match data.weights() {
            None => 0,
            Some(_) => rows().map(|row| lowest_bit(weight(row))).min().unwrap_or(0).min(0),
        };
        // A penalty of more than the total mass allows no split at all: how much more does not matter, nor its digits.
        let forbids = node_penalty > 0.0 && node_penalty >= 2.0 * total;
        let penalty = if forbids { 0.0 } else { node_penalty };
        let finest = if penalty > 0.0 { finest.min(lowest_bit(penalty)) } else { finest };
        // Half the range is kept free for what rounding adds.
        let within = |most: f64| (2.0 * total / most).log2().ceil().max(-1074.0) as i32;
        // Whole weights stay as they are while they fit at all.
        let coarsest_needed = within(MOST_UNITS).max(within(most).min(0));
        let resolution = power_of_two(finest.max(coarsest_needed));
        let mut units = Units { resolution, decimal: 0.0, one: 0, node_penalty: 0, total: 0 };
        // Small counts are fast ones.
        let fits = |&decimal: &f64| decimal * resolution < 1.0 && decimal * total < MOST_DECIMAL.min(most);
        let is_whole = |x: f64, decimal: f64| (x * decimal).round() / decimal == x;
        let decimal = DECIMALS.into_iter().filter(fits).find(|&decimal| {
            is_whole(penalty, decimal)
                && data.weights().is_none_or(|_| rows().all(|row| is_whole(weight(row), decimal)))
        });
        if let Some(decimal) = decimal {
            (units.decimal, units.resolution) = (decimal, 1.0 / decimal);
        }
        units.one = units.of(1.0);
        units.total = rows().map(|row| units.mass(data, row)).sum();
        units.node_penalty = if forbids { units.total + 1 } else { units.of(penalty).min(units.total + 1) };
        Ok(units)
    }

    fn of(&self, x: f64) -> u64 {
        (if self.decimal > 0.0 { x * self.decimal } else { x / self.resolution }).round() as u64
    }

    /// The mass of one row in units: its count times its weight. 0 for an absent row.
    pub fn mass(&self, data: &Dataset, row: usize) -> u64 {
        // The weight is rounded, the count multiplied: two cases are exactly twice one.
        data.count(row) * data.weights().map_or(self.one, |weights| self.of(weights[row]))
    }

    /// A cost in units as the number users see.
    pub fn value(&self, cost: u64) -> f64 {
        if self.decimal > 0.0 { cost as f64 / self.decimal } else { cost as f64 * self.resolution }
    }
}

/// The exponent of the lowest bit of a positive number.
fn lowest_bit(x: f64) -> i32 {
    let bits = x.to_bits();
    let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    match exponent {
        0 => fraction.trailing_zeros() as i32 - 1074,
        _ => (fraction | 1 << 52).trailing_zeros() as i32 + exponent - 1075,
    }
}

fn power_of_two(exponent: i32) -> f64 {
    // Exact also for subnormals, where powi may pass through an infinity.
    if exponent < -1022 {
        f64::from_bits(1 << (exponent + 1074))
    } else {
        f64::from_bits(((exponent + 1023) as u64) << 52)
    }
}

/// The cost of the best leaf on cases of these class masses, and its label. Ties: the smallest label.
pub fn leaf<M: Copy + Into<u64>>(masses: &[M]) -> (u64, u32) {
    let (mut sum, mut most, mut label) = (0, 0, 0);
    for (class, &mass) in masses.iter().enumerate() {
        let mass: u64 = mass.into();
        sum += mass;
        if mass > most {
            (most, label) = (mass, class as u32);
        }
    }
    (sum - most, label)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Labels, Schema, Target, TargetSchema, Task};

    fn units(weights: &[f64], node_penalty: f64) -> Result<Units> {
        let task = Task::Classes(Labels::Booleans(vec![false]));
        let target = TargetSchema { name: "y".into(), task, dtype: String::new() };
        let schema = Schema { features: vec![], target: Some(target) };
        let classes = Target::Classes(vec![0; weights.len()].into());
        let data = Dataset::new(schema.into(), vec![], weights.len(), classes, None, Some(weights.to_vec()));
        Units::new(&data.expect("good weights"), node_penalty)
    }

    #[test]
    fn exponents_are_exact() {
        for (x, exponent) in [(1.0, 0), (0.5, -1), (0.75, -2), (3.0, 0), (12.0, 2), (5e-324, -1074), (f64::MAX, 971)] {
            assert_eq!(lowest_bit(x), exponent, "{x}");
            assert_eq!(x % power_of_two(exponent), 0.0);
        }
        assert_eq!(power_of_two(-1074), 5e-324);
        assert_eq!(power_of_two(-1022), f64::MIN_POSITIVE);
    }

    #[test]
    fn weights_of_any_size_fit_or_are_refused() {
        for (weights, total) in [
            (&[1e307, 1.0][..], 1e307),
            (&[8.9e307, 1e-300], 8.9e307),
            (&[5e-324, 1e-323], 1.5e-323),
            (&[f64::MIN_POSITIVE, 1e9], 1e9),
            (&[0.1, 0.2], 0.1 + 0.2),
        ] {
            let units = units(weights, 0.0).expect("in range");
            assert!(units.total < 1 << 62);
            assert!((units.value(units.total) / total - 1.0).abs() < 1e-9, "{weights:?}: {units:?}");
        }
        for weights in [&[1e308, 1.0][..], &[f64::MAX, f64::MAX]] {
            assert!(matches!(units(weights, 0.0), Err(Error::BadWeight { row: 0 | 1, .. })));
        }
    }

    #[test]
    fn decimals_are_what_they_are_written_as() {
        for (weights, penalty, resolution, total) in [
            (&[0.1, 0.2][..], 0.0, 0.1, 3),
            (&[1.0, 2.0], 0.05, 0.01, 300),
            (&[0.25, 3.5], 0.0, 0.25, 15),
            (&[0.125, 0.1], 0.0, 0.001, 225),
            (&[1e-9, 4.0], 0.0, 1e-9, 4_000_000_001),
        ] {
            let units = units(weights, penalty).expect("in range");
            assert_eq!((units.resolution, units.total), (resolution, total), "{weights:?}");
            assert_eq!(units.value(units.node_penalty), penalty);
        }
        assert_eq!(units(&[0.1, 0.2], 0.0).expect("in range").value(3), 0.3);
        // A penalty that allows no split does not make the units finer.
        for penalty in [0.7, 1.0 / 3.0 + 1.0, 1e300] {
            let units = units(&[0.1, 0.2], penalty).expect("in range");
            assert_eq!((units.resolution, units.node_penalty), (0.1, 4), "{penalty}");
        }
        // A third is no decimal, nor is the float after a tenth.
        for weights in [&[1.0 / 3.0][..], &[0.1 + f64::EPSILON / 8.0, 0.1]] {
            assert!(units(weights, 0.0).expect("in range").resolution < 1e-15);
        }
    }

    #[test]
    fn ties_go_to_the_smallest_label() {
        assert_eq!(leaf(&[2u64, 3, 3]), (5, 1));
        assert_eq!(leaf::<u64>(&[0, 0]), (0, 0));
    }
}
