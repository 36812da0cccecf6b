//! What subsets are compared by: the error of a tree and a penalty for its features, in integers.

use super::Goal;
use super::ground::Ground;
use crate::error::{Error, Result};

impl Goal {
    /// Checks ranges: fractions finite and not negative.
    pub fn checked(self) -> Result<Self> {
        for (name, value) in [("delta", self.delta), ("feature_penalty", self.feature_penalty)] {
            if !(value.is_finite() && value >= 0.0) {
                let expected = "finite and not negative".into();
                return Err(Error::InvalidParameter { name, expected, got: value.to_string() });
            }
        }
        Ok(self)
    }
}

/// Errors and penalties in a common unit. Fractions are taken for the decimals that they print as: 0.1 is a tenth.
#[derive(Debug, Clone, Copy)]
pub(super) struct Objective {
    /// How many of these units an error unit has.
    scale: u128,
    /// What a feature costs.
    penalty: u128,
    /// How far from the least value is near enough.
    pub delta: u128,
    /// How many units an error of one has.
    whole: f64,
}

/// Decimals of a penalty that are kept exactly.
const MOST_DECIMALS: u32 = 12;
/// The scale where a penalty has more.
const BINARY: u128 = 1 << 32;
/// Nothing is worth more.
const MOST: u128 = 1 << 120;
/// The greatest parts of the ratio that all is scaled by.
const MOST_WHOLE: u128 = 1 << 60;
const MOST_DIVISOR: u128 = 1 << 20;

impl Objective {
    pub fn new(goal: &Goal, ground: &Ground) -> Self {
        let (whole, ratio) = ground.whole();
        let ratio = ratio.filter(|(n, d)| *n < MOST_WHOLE && *d < MOST_DIVISOR);
        let (digits, decimals) = decimal(goal.feature_penalty);
        let exact = ratio.filter(|_| decimals <= MOST_DECIMALS && digits < MOST_WHOLE);
        let (scale, penalty, all) = match exact {
            // All of it times the divisor, and times a power of ten.
            Some((n, d)) => (10u128.pow(decimals) * d, digits * n, Some(n * 10u128.pow(decimals))),
            None => (BINARY, bounded(goal.feature_penalty * whole * BINARY as f64), None),
        };
        let (digits, decimals) = decimal(goal.delta);
        let product = all.and_then(|all| digits.checked_mul(all)).zip(10u128.checked_pow(decimals));
        let delta = match product {
            Some((product, divisor)) => product / divisor,
            None => bounded((goal.delta * whole * scale as f64).floor()),
        };
        Objective { scale, penalty, delta: delta.min(MOST), whole }
    }

    /// The value of an error in units and a number of features.
    #[inline]
    pub fn value(&self, error: u64, n_features: usize) -> u128 {
        u128::from(error) * self.scale + self.penalty * n_features as u128
    }

    /// Whether features cost anything.
    pub fn penalizes(&self) -> bool {
        self.penalty > 0
    }

    /// The fewest errors that are worth a value at least, without a feature.
    pub fn errors_of(&self, value: u128) -> u64 {
        value.div_ceil(self.scale).min(u128::from(u64::MAX)) as u64
    }

    /// A value as a fraction of all cases.
    pub fn fraction(&self, value: u128) -> f64 {
        value as f64 / self.scale as f64 / self.whole
    }
}

fn bounded(x: f64) -> u128 {
    (x as u128).min(MOST >> 32)
}

/// The digits and how many of them are decimals, of the shortest decimal that a float prints as.
fn decimal(x: f64) -> (u128, u32) {
    let text = format!("{x:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: u128 = format!("{whole}{part}").parse().unwrap_or(0);
    let decimals = part.len() as i32 - exponent.parse::<i32>().unwrap_or(0);
    match u32::try_from(decimals) {
        Ok(decimals) => (digits, decimals),
        // At most MOST: no fraction of that size leaves anything to search for.
        Err(_) => (digits.saturating_mul(10u128.saturating_pow(decimals.unsigned_abs())).min(MOST), 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_the_decimals_they_print_as() {
        let cases = [(0.0, (0, 0)), (0.1, (1, 1)), (0.025, (25, 3)), (3.0, (3, 0)), (1e-7, (1, 7)), (20.0, (20, 0))];
        for (x, expected) in cases {
            assert_eq!(decimal(x), expected);
        }
    }
}
