//! Fractions in 128 bits, to compare gains that are closer than the rounding error.

use std::cmp::Ordering;

use num_bigint::BigUint;

use super::difference::Difference;

/// A fraction, not necessarily in lowest terms; the denominator is positive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fraction {
    numerator: i128,
    denominator: u128,
}

impl Fraction {
    /// A purity; 0 over 0 is 0.
    pub fn new(numerator: i128, denominator: u64) -> Option<Self> {
        match denominator {
            0 => Some(Fraction { numerator: 0, denominator: 1 }),
            _ => Some(Fraction { numerator, denominator: denominator.into() }),
        }
    }

    /// The negative of the fraction.
    pub fn negative(self) -> Self {
        Fraction { numerator: -self.numerator, ..self }
    }

    /// Whether the fraction is above 0.
    pub fn is_positive(self) -> bool {
        self.numerator > 0
    }

    /// The fraction divided by 2^digits; `None` if out of range.
    pub fn over(self, digits: u32) -> Option<Self> {
        let denominator = self.denominator.checked_mul(1 << digits)?;
        Some(Fraction { denominator, ..self })
    }

    /// The sum; `None` if out of range.
    pub fn plus(self, other: Self) -> Option<Self> {
        self.sum(other).or_else(|| self.lowest().sum(other.lowest()).map(Fraction::lowest))
    }

    fn sum(self, other: Self) -> Option<Self> {
        let product = |a: i128, b: u128| a.checked_mul(b.try_into().ok()?);
        let numerator =
            product(self.numerator, other.denominator)?.checked_add(product(other.numerator, self.denominator)?)?;
        Some(Fraction { numerator, denominator: self.denominator.checked_mul(other.denominator)? })
    }

    /// The fraction divided by 2^digits, in integers of any size.
    pub(super) fn difference(self, digits: u32) -> Difference {
        let denominator = BigUint::from(self.denominator) << digits;
        let fraction = (BigUint::from(self.numerator.unsigned_abs()), denominator);
        let none = (BigUint::ZERO, BigUint::from(1u32));
        match self.numerator < 0 {
            true => Difference::new([none].into_iter(), fraction, false),
            false => Difference::new([fraction].into_iter(), none, false),
        }
    }

    fn lowest(self) -> Self {
        let (mut a, mut b) = (self.numerator.unsigned_abs(), self.denominator);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        Fraction { numerator: self.numerator / a as i128, denominator: self.denominator / a }
    }
}

impl Ord for Fraction {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.numerator.signum(), other.numerator.signum()) {
            (a, b) if a != b => a.cmp(&b),
            (sign, _) => {
                let product = |a: Self, b: Self| wide_product(a.numerator.unsigned_abs(), b.denominator);
                let sizes = product(*self, *other).cmp(&product(*other, *self));
                if sign < 0 { sizes.reverse() } else { sizes }
            }
        }
    }
}

impl PartialOrd for Fraction {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Fraction {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Fraction {}

/// The upper and lower 128 bits of a product.
pub(super) fn wide_product(a: u128, b: u128) -> (u128, u128) {
    let halves = |x: u128| (x >> 64, x & u128::from(u64::MAX));
    let ((a1, a0), (b1, b0)) = (halves(a), halves(b));
    let (low, middle, other) = (a0 * b0, a1 * b0, a0 * b1);
    let carry = halves(low).0 + halves(middle).1 + halves(other).1;
    (a1 * b1 + halves(middle).0 + halves(other).0 + halves(carry).0, (carry << 64) | halves(low).1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fraction(numerator: i128, denominator: u128) -> Fraction {
        Fraction { numerator, denominator }
    }

    #[test]
    fn sums_and_signs() {
        let half = Fraction::new(1, 2).unwrap();
        assert_eq!(half.plus(half), Fraction::new(1, 1));
        assert_eq!(half.plus(half.negative()), Fraction::new(0, 7));
        assert!(half.is_positive() && !half.negative().is_positive());
        assert!(half.negative() < Fraction::new(-1, 3).unwrap());
        assert_eq!(half.over(3), Fraction::new(1, 16));
        // Terms out of range before they are reduced, and after.
        let small = fraction(1 << 100, 1 << 110);
        assert_eq!(small.plus(small), Some(fraction(1, 1 << 9)));
        assert_eq!(fraction(i128::MAX, 1).plus(fraction(1, 1)), None);
    }

    proptest! {
        #[test]
        fn the_order_is_that_of_products(a in any::<i64>(), b in 1u64.., c in any::<i64>(), d in 1u64.., k in 1u128..1 << 60) {
            let expected = (i128::from(a) * i128::from(d)).cmp(&(i128::from(c) * i128::from(b)));
            let (x, y) = (fraction(a.into(), b.into()), fraction(c.into(), d.into()));
            prop_assert_eq!(x.cmp(&y), expected);
            // Not in lowest terms: products of 250 bits.
            let x = fraction(i128::from(a) * k as i128, u128::from(b) * k);
            prop_assert_eq!(x.cmp(&y), expected);
        }
    }
}
