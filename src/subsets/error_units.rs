//! The unit of errors: how many integer units make an error of one.

use crate::scale::{lowest_bit, power_of_two};

/// How many units an error of one is, that is, an error on all cases: `total * factor / divisor * 2^exponent`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ErrorUnits {
    pub total: u64,
    pub factor: u64,
    pub divisor: u64,
    pub exponent: i32,
}

impl ErrorUnits {
    /// For a finite positive number of units.
    pub fn of_float(units: f64) -> Self {
        let exponent = lowest_bit(units);
        ErrorUnits { total: (units / power_of_two(exponent)) as u64, factor: 1, divisor: 1, exponent }
    }

    /// An error in units as a fraction of all cases.
    pub fn fraction(&self, error: u64) -> f64 {
        let fraction = error as f64 / (self.total as f64 * (self.factor as f64 / self.divisor as f64));
        // In two steps, because one power of two may be out of range.
        fraction * 2f64.powi(-self.exponent / 2) * 2f64.powi(-self.exponent - -self.exponent / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_taken_exactly() {
        for units in [1.0, 0.75, 12.0, 1e-300, 1e300, f64::MAX, f64::MIN_POSITIVE, 5e-324] {
            let ErrorUnits { total, exponent, .. } = ErrorUnits::of_float(units);
            assert!(total < 1 << 53 && total % 2 == 1, "{units}");
            assert_eq!(total as f64 * power_of_two(exponent), units);
        }
        assert_eq!(ErrorUnits::of_float(12.0).fraction(3), 0.25);
        assert!((ErrorUnits::of_float(1e-300).fraction(3) / 3e300 - 1.0).abs() < 1e-15);
    }
}
