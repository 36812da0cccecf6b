//! C4.5's pessimistic estimate of the error of a leaf (J. R. Quinlan, *C4.5: Programs for Machine Learning*, 1993,
//! section 4.2): the upper limit of a 25 % confidence interval for its error rate, times its cases.

use super::error_units::ErrorUnits;
use crate::tree::{Leaf, Node, Tree};

/// Estimates errors in units of a power of two. Sums of estimates are sums of integers, so that they do not depend on
/// the order of the leaves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PessimisticError {
    /// The mass of all cases.
    mass: f64,
    /// An error of one case is two to this power of units.
    exponent: i32,
}

/// The square of the normal deviate of 25 %, as C4.5 interpolates it between those of 20 % (0.84) and 40 % (0.25).
const COEFFICIENT: f64 = 0.6925 * 0.6925;

/// Binary digits after the point where a case weighs about one.
const DIGITS: i32 = 20;
/// The error of all cases together has at least [`FEWEST`] binary digits, where they are few or weigh little, and at
/// most [`MOST`], where they weigh much.
const FEWEST: i32 = 20;
const MOST: i32 = 59;

impl PessimisticError {
    /// For cases of this mass together, which is positive.
    pub fn new(mass: f64) -> Self {
        let size = mass.log2().floor() as i32;
        PessimisticError { mass, exponent: DIGITS.max(FEWEST - size).min(MOST - size) }
    }

    /// The units of the error of all cases.
    pub fn units(&self) -> ErrorUnits {
        let units = ErrorUnits::of_float(self.mass);
        ErrorUnits { exponent: units.exponent + self.exponent, ..units }
    }

    /// The estimated error of a leaf of `n` cases that gets `errors` of them wrong, in units.
    fn estimate(&self, n: f64, errors: f64) -> u64 {
        // In two steps, because one power of two may be out of range.
        let half = self.exponent / 2;
        let scaled = (errors + added(n, errors)) * 2f64.powi(half) * 2f64.powi(self.exponent - half);
        // For less than one case, C4.5 may add more than there is.
        (scaled.round() as u64).min(1 << MOST)
    }

    /// The estimated error of a leaf with these class masses that predicts the class `label`.
    pub fn of_leaf(&self, masses: impl Iterator<Item = f64>, label: u32) -> u64 {
        let (mut total, mut right) = (0.0, 0.0);
        masses.zip(0..).for_each(|(mass, class)| {
            total += mass;
            right += if class == label { mass } else { 0.0 };
        });
        self.estimate(total, total - right)
    }

    /// The estimated error of a tree, in units.
    pub fn of_tree(&self, tree: &Tree) -> u64 {
        let of_node = |node: &Node| match node {
            Node::Leaf(Leaf::Class { label, masses, empty: false }) => self.of_leaf(masses.iter().copied(), *label),
            _ => 0,
        };
        tree.nodes().iter().map(of_node).sum()
    }
}

/// The square of a mass below this is a finite float.
const LARGE: f64 = 1e150;

/// The number of errors that C4.5 adds to those observed.
fn added(n: f64, errors: f64) -> f64 {
    // Without errors: the rate p with (1 - p)^n = 1/4.
    let none = || n * (1.0 - power_of_two(-2.0 / n));
    if errors < 1e-6 {
        none()
    } else if errors < 0.9999 {
        let none = none();
        none + errors * (added(n, 1.0) - none)
    } else if errors + 0.5 >= n {
        0.67 * (n - errors)
    } else {
        let e = errors + 0.5;
        let root = (COEFFICIENT * (e * (1.0 - e / n) + COEFFICIENT / 4.0)).sqrt();
        let rate = e + COEFFICIENT / 2.0 + root;
        // The product of greater masses may be out of range.
        if n < LARGE { n * rate / (n + COEFFICIENT) - errors } else { n / (n + COEFFICIENT) * rate - errors }
    }
}

/// 2^x for x <= 0, by additions and products alone, which give the same result on every platform.
fn power_of_two(x: f64) -> f64 {
    let whole = x.floor();
    if whole < -1000.0 {
        return 0.0;
    }
    let y = (x - whole) * std::f64::consts::LN_2;
    let (mut term, mut sum) = (1.0, 1.0);
    for i in 1..=20 {
        term *= y / f64::from(i);
        sum += term;
    }
    sum * f64::from_bits(((whole as i64 + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_book() {
        // Section 4.2: U25%(0, 6) = 0.206, U25%(0, 9) = 0.143, U25%(0, 1) = 0.750, U25%(1, 16) = 0.157, U25%(7, 168) is
        // not given; 15 errors of 168 come to 0.068 with 7.
        let rate = |n: f64, errors: f64| {
            PessimisticError::new(n).units().fraction(PessimisticError::new(n).estimate(n, errors))
        };
        for (n, errors, expected) in [(6.0, 0.0, 0.206), (9.0, 0.0, 0.143), (1.0, 0.0, 0.750), (16.0, 1.0, 0.157)] {
            assert!((rate(n, errors) - expected).abs() < 6e-4, "{} for {errors} of {n}", rate(n, errors));
        }
    }

    #[test]
    fn powers_are_those_of_the_library() {
        for i in 0..10_000 {
            let x = -f64::from(i) / 700.0;
            assert!((power_of_two(x) / x.exp2() - 1.0).abs() < 1e-14);
        }
    }
}
