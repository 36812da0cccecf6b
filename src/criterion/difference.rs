//! Differences of fractions of integers of any size, for the few comparisons that 128 bits cannot decide.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use num_bigint::BigUint;
use num_integer::Integer;
use smallvec::SmallVec;

/// To bring this many fractions to lowest terms takes longer than to multiply them as they are.
const FEW: usize = 3;

/// The sum of fractions: first those of equal denominators, in lowest terms unless they are few, then pairs, so that most
/// products are of small numbers.
fn sum_of_fractions(quotients: impl Iterator<Item = (BigUint, BigUint)>) -> (BigUint, BigUint) {
    let quotients: SmallVec<[_; FEW]> = quotients.collect();
    let are_few = quotients.len() <= FEW;
    let mut of_denominators: BTreeMap<BigUint, BigUint> = BTreeMap::new();
    for (numerator, denominator) in quotients {
        let common = if are_few { BigUint::ONE } else { numerator.gcd(&denominator) };
        *of_denominators.entry(denominator / &common).or_default() += numerator / common;
    }
    let mut sums: Vec<(BigUint, BigUint)> = of_denominators.into_iter().map(|(b, a)| (a, b)).collect();
    while sums.len() > 1 {
        let add = |pair: &[(BigUint, BigUint)]| match pair {
            [(a, b), (c, d)] => (a * d + c * b, b * d),
            rest => rest[0].clone(),
        };
        sums = sums.chunks(2).map(add).collect();
    }
    sums.pop().unwrap_or((BigUint::ZERO, BigUint::from(1u32)))
}

/// A difference of two fractions of integers with positive denominators.
#[derive(Debug, Clone)]
pub(super) struct Difference {
    plus: (BigUint, BigUint),
    minus: (BigUint, BigUint),
}

impl Difference {
    /// The sum of some fractions less another fraction, or that one less the sum if `is_other_first`.
    pub fn new(sum: impl Iterator<Item = (BigUint, BigUint)>, other: (BigUint, BigUint), is_other_first: bool) -> Self {
        let sum = sum_of_fractions(sum);
        let (plus, minus) = if is_other_first { (other, sum) } else { (sum, other) };
        Difference { plus, minus }
    }

    /// The difference divided by 2^digits.
    pub fn over(self, digits: u32) -> Self {
        let over = |(a, b): (BigUint, BigUint)| (a, b << digits);
        Difference { plus: over(self.plus), minus: over(self.minus) }
    }

    /// The sign, and the numerator and denominator of the absolute value.
    fn signed(&self) -> (Ordering, BigUint, BigUint) {
        let (plus, minus) = (&self.plus.0 * &self.minus.1, &self.minus.0 * &self.plus.1);
        let sign = plus.cmp(&minus);
        let size = if sign.is_lt() { minus - plus } else { plus - minus };
        (sign, size, &self.plus.1 * &self.minus.1)
    }

    pub fn sign(&self) -> Ordering {
        (&self.plus.0 * &self.minus.1).cmp(&(&self.minus.0 * &self.plus.1))
    }

    pub fn compare(&self, other: &Self) -> Ordering {
        let ((sign, a, b), (other_sign, c, d)) = (self.signed(), other.signed());
        sign.cmp(&other_sign).then_with(|| {
            let sizes = (a * d).cmp(&(c * b));
            if sign.is_lt() { sizes.reverse() } else { sizes }
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn differences(a in 0u64..1000, b in 1u64..1000, c in 0u64..1000, d in 1u64..1000, k in 1u64..) {
            let quotient = |x: u64, y: u64| (BigUint::from(x) * k, BigUint::from(y) * k);
            let difference = |a, b, c, d| Difference::new([quotient(a, b)].into_iter(), quotient(c, d), false);
            let order = (a * d).cmp(&(c * b));
            let this = difference(a, b, c, d);
            prop_assert_eq!(this.sign(), order);
            prop_assert_eq!(this.compare(&difference(c, d, a, b)), order);
            prop_assert_eq!(this.compare(&this), Ordering::Equal);
            prop_assert_eq!(this.compare(&difference(a + b, b, c, d)), Ordering::Less);
        }

        #[test]
        fn sums_of_quotients(terms in prop::collection::vec((0u32..50, 1u32..50), 0..9)) {
            let quotients = terms.iter().map(|&(a, b)| (BigUint::from(a), BigUint::from(b)));
            let (sum, over) = sum_of_fractions(quotients.clone());
            let (expected, below) = quotients.fold((BigUint::ZERO, BigUint::from(1u32)), |(a, b), (c, d)| {
                (a * &d + c * &b, b * d)
            });
            prop_assert_eq!(sum * below, expected * over);
        }
    }
}
