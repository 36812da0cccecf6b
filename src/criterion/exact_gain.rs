//! Exact gains, to compare gains that are closer than the rounding error.

use std::cmp::Ordering;
use std::sync::Arc;

use num_bigint::BigUint;
use smallvec::SmallVec;

use super::Costs;
use super::difference::Difference;
use super::fraction::{Fraction, wide_product};
use crate::scale::common_divisor;

/// An exact gain.
#[derive(Debug, Clone)]
pub(crate) enum ExactGain {
    /// A fraction in 128 bits.
    Fraction(Fraction),
    /// Such a fraction divided by a power of two, given by its exponent.
    Scaled(Fraction, u32),
    /// A fraction of any size, kept as the masses it is computed from.
    Quotients(Quotients),
    /// The sum of x log2 x over the class masses x of the parts, less that over the masses of the parts, less the same
    /// for the whole.
    Logs(PartMasses),
}

/// The class masses of the parts of a whole.
#[derive(Debug, Clone)]
pub(crate) struct PartMasses {
    /// Class masses, part after part.
    masses: SmallVec<[u64; 4]>,
    n_classes: u32,
}

impl PartMasses {
    /// Copies the masses of the parts.
    pub fn new<'m>(parts: impl Iterator<Item = &'m [u64]>) -> Self {
        let (mut masses, mut n_classes) = (SmallVec::new(), 0);
        for part in parts {
            n_classes = part.len() as u32;
            masses.extend_from_slice(part);
        }
        PartMasses { masses, n_classes }
    }

    fn each(&self) -> impl Iterator<Item = &[u64]> {
        self.masses.chunks((self.n_classes as usize).max(1))
    }

    /// The class masses of the whole.
    fn whole(&self) -> impl Iterator<Item = u64> + '_ {
        let k = self.n_classes as usize;
        (0..k).map(move |class| self.masses.iter().skip(class).step_by(k.max(1)).sum::<u64>())
    }

    /// The gain as a sum of c x log2 x over (x, c), times a sign.
    fn terms(&self, sign: i64) -> impl Iterator<Item = (u64, i64)> + '_ {
        let whole = self.whole().map(move |mass| (mass, -sign));
        let parts = self.masses.iter().map(move |&mass| (mass, sign));
        let totals = self.each().map(move |part| (part.iter().sum(), -sign));
        whole.chain(parts).chain(totals).chain([(self.masses.iter().sum(), sign)])
    }
}

/// A gain that is a sum of quotients, kept as the masses it is computed from.
#[derive(Debug, Clone)]
pub(crate) struct Quotients {
    parts: PartMasses,
    /// `None`: purities are sums of squared masses over the mass. Else they are minus the sums of costs times products
    /// of two masses, over the mass.
    costs: Option<Arc<Costs>>,
    /// Masses are in units of 2^-digits.
    digits: u32,
}

impl Quotients {
    pub fn new<'m>(parts: impl Iterator<Item = &'m [u64]>, costs: Option<Arc<Costs>>) -> Self {
        Quotients { parts: PartMasses::new(parts), costs, digits: 0 }
    }

    /// The purity of a set (or its impurity, with costs) as a fraction; 0 for the empty set.
    fn of(&self, masses: &[u64]) -> (BigUint, BigUint) {
        let total = masses.iter().map(|&mass| u128::from(mass)).sum::<u128>();
        let square = |&mass: &u64| u128::from(mass) * u128::from(mass);
        let products = match &self.costs {
            None => BigUint::from(masses.iter().map(square).sum::<u128>()),
            Some(costs) => (0..masses.len()).fold(BigUint::ZERO, |sum, k| {
                let row = (0..masses.len()).map(|j| u128::from(masses[j]) * costs.of(k, j)).sum::<u128>();
                sum + BigUint::from(row) * masses[k]
            }),
        };
        (products, BigUint::from(total.max(1)))
    }

    fn difference(&self) -> Difference {
        let whole: Vec<u64> = self.parts.whole().collect();
        let parts = self.parts.each().map(|part| self.of(part));
        Difference::new(parts, self.of(&whole), self.costs.is_some()).over(self.digits)
    }
}

impl ExactGain {
    /// The order of two gains; `None` if it is unknown: gains of different kinds, or logarithms too close to decide.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        let difference = |exact: &ExactGain| match exact {
            ExactGain::Fraction(fraction) => Some(fraction.difference(0)),
            ExactGain::Scaled(fraction, digits) => Some(fraction.difference(*digits)),
            ExactGain::Quotients(quotients) => Some(quotients.difference()),
            ExactGain::Logs(_) => None,
        };
        match (self, other) {
            (ExactGain::Fraction(a), ExactGain::Fraction(b)) => Some(a.cmp(b)),
            (ExactGain::Logs(a), ExactGain::Logs(b)) => {
                // Most sums that are 0 have every term twice, with opposite signs.
                let terms = merged(a.terms(1).chain(b.terms(-1)).collect());
                if terms.is_empty() {
                    return Some(Ordering::Equal);
                }
                sign(&terms).or_else(|| is_zero(&terms).then_some(Ordering::Equal))
            }
            (a, b) => Some(difference(a)?.compare(&difference(b)?)),
        }
    }

    /// Whether the gain is positive, if that is known.
    pub fn is_positive(&self) -> Option<bool> {
        match self {
            ExactGain::Fraction(gain) | ExactGain::Scaled(gain, _) => Some(gain.is_positive()),
            ExactGain::Quotients(gain) => Some(gain.difference().sign().is_gt()),
            ExactGain::Logs(_) => None,
        }
    }

    /// Whether every part is known to have one class only.
    pub fn is_pure(&self) -> bool {
        let has_one_class = |part: &[u64]| part.iter().filter(|&&mass| mass > 0).nth(1).is_none();
        matches!(self, ExactGain::Logs(parts) if parts.each().all(has_one_class))
    }

    /// Bytes on the heap.
    pub fn heap(&self) -> usize {
        match self {
            ExactGain::Logs(parts) | ExactGain::Quotients(Quotients { parts, .. }) if parts.masses.spilled() => {
                8 * parts.masses.capacity()
            }
            _ => 0,
        }
    }

    /// The gain in units that nodes of whole cases and nodes of fractional cases share. `digits`: binary digits of the
    /// fraction of a case.
    pub fn in_common(self, is_whole: bool, digits: u32) -> Self {
        match self {
            ExactGain::Fraction(gain) if !is_whole => {
                gain.over(digits).map_or(ExactGain::Scaled(gain, digits), ExactGain::Fraction)
            }
            ExactGain::Quotients(gain) if !is_whole => ExactGain::Quotients(Quotients { digits, ..gain }),
            // A multiple of all masses multiplies the gain.
            ExactGain::Logs(mut parts) if is_whole => {
                parts.masses.iter_mut().for_each(|mass| *mass <<= digits);
                ExactGain::Logs(parts)
            }
            same => same,
        }
    }
}

/// The sign of a sum of c x log2 x that is not 0; `None` if 120 binary digits do not tell.
fn sign(terms: &[(u64, i64)]) -> Option<Ordering> {
    let (mut plus, mut minus) = (BigUint::ZERO, BigUint::ZERO);
    for &(x, c) in terms.iter().filter(|(x, _)| *x > 1) {
        let product = log2(x) * x * c.unsigned_abs();
        let sum = if c > 0 { &mut plus } else { &mut minus };
        *sum += product;
    }
    let order = plus.cmp(&minus);
    let difference = if order.is_lt() { minus - plus } else { plus - minus };
    // The error of a logarithm is below 2^4 units of its last digit; each term has fewer than 2^64 of them.
    let doubt = 64 + 4 + usize::BITS - terms.len().leading_zeros();
    (difference.bits() > doubt.into()).then_some(order)
}

/// log2 x times 2^128; the error is a few units.
fn log2(x: u64) -> BigUint {
    let mut z = u128::from(x) << (64 + x.leading_zeros()); // 127 digits after the point, in [1, 2)
    let mut log = 0u128;
    for bit in (0..128).rev() {
        // Squaring doubles the logarithm; its integer part is the next digit.
        let (high, low) = wide_product(z, z); // 126 digits after the point, in [1, 4)
        if high >> 127 == 1 {
            log |= 1 << bit;
            z = high;
        } else {
            z = high << 1 | low >> 127;
        }
    }
    (BigUint::from(63 - x.leading_zeros()) << 128) + log
}

/// The same sum of c x log2 x over (x, c) with each x once, without terms that are 0.
fn merged(mut terms: Vec<(u64, i64)>) -> Vec<(u64, i64)> {
    terms.sort_unstable();
    let equal = |group: &[(u64, i64)]| (group[0].0, group.iter().map(|(_, c)| c).sum());
    let each = terms.chunk_by(|a, b| a.0 == b.0).map(equal);
    each.filter(|&(x, c)| x > 1 && c != 0).collect()
}

/// Whether a merged sum is 0, that is, whether the product of x^(c x) is 1. All x are factored into pairwise coprime
/// numbers; a product of powers of these is 1 only if all exponents are 0 (unique factorisation).
fn is_zero(terms: &[(u64, i64)]) -> bool {
    let mut pending: Vec<(u64, i128)> = terms.iter().map(|&(x, c)| (x, i128::from(c) * i128::from(x))).collect();
    let mut coprime: Vec<(u64, i128)> = Vec::new();
    while let Some((x, exponent)) = pending.pop() {
        match coprime.iter().position(|&(base, _)| common_divisor(base, x) > 1) {
            _ if x == 1 => {}
            None => coprime.push((x, exponent)),
            Some(place) => {
                let (base, other) = coprime.swap_remove(place);
                let common = common_divisor(base, x);
                pending.extend([(common, exponent + other), (x / common, exponent), (base / common, other)]);
            }
        }
    }
    coprime.iter().all(|&(_, exponent)| exponent == 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sums_that_are_zero() {
        assert!(is_zero(&merged(vec![])));
        assert!(is_zero(&merged(vec![(5, 2), (1, 7), (5, -2)])));
        // 4 log 4 = 8 log 2 = 4 (2 log 2); 6 log 6 = 6 log 2 + 6 log 3.
        assert!(is_zero(&merged(vec![(4, 1), (2, -4)])));
        assert!(is_zero(&merged(vec![(6, 1), (2, -3), (3, -2)])));
        assert!(!is_zero(&merged(vec![(6, 1), (2, -3), (3, -1)])));
        assert!(!is_zero(&merged(vec![(1 << 40, 1), ((1 << 40) + 1, -1)])));
        // x^x y^y = z^z in whole numbers (Ko Chao 1940): 2^12 3^6, 2^8 3^8 and 2^11 3^7.
        let (x, y, z) = ((1 << 12) * 729, 256 * 6561, 2048 * 2187);
        assert!(is_zero(&merged(vec![(x, 1), (y, 1), (z, -1)])));
    }

    #[test]
    fn signs_of_sums() {
        // 190537 log2 3 is 301994, but for 10^-7.
        for (more, c) in [(3, 1), (2, -1)] {
            let terms: Vec<(u64, i64)> = vec![(1 << 20, more), (1 << 21, c)];
            let float: f64 = terms.iter().map(|&(x, c)| c as f64 * x as f64 * (x as f64).log2()).sum();
            assert_eq!(sign(&terms), float.partial_cmp(&0.0));
        }
        let close = |twos: i64| (0..1).map(|_| (3, 190537)).chain([(2, -twos)]).collect::<Vec<(u64, i64)>>();
        let (three, two) = (3.0 * 190537.0 * 3f64.log2(), 2.0);
        let twos = (three / two).floor() as i64;
        assert_eq!(sign(&close(twos)), Some(Ordering::Greater));
        assert_eq!(sign(&close(twos + 1)), Some(Ordering::Less));
        // (2^62 - 1) log (2^62 - 1) + (2^62 - 1) log 2^62 lies between twice either.
        let (a, b) = ((1 << 62) - 1, 1 << 62);
        assert_eq!(sign(&[(a, 2), (b, -1), (a, -1)]), Some(Ordering::Less));
        assert_eq!(sign(&[]), None);
    }

    #[test]
    fn logarithms_have_128_digits() {
        assert_eq!(log2(1 << 40), BigUint::from(40u32) << 128);
        for (base, power) in [(3u64, 20), (10, 10), (1001, 5)] {
            let (one, all) = (log2(base) * power, log2(base.pow(power)));
            let difference = if one < all { all - one } else { one - all };
            assert!(difference.bits() < 8, "{base}^{power}: {difference:?}");
        }
    }

    proptest! {
        #[test]
        fn zero_is_what_floats_cannot_tell_from_it(terms in prop::collection::vec((1u64..40, -3i64..4), 0..6)) {
            let sum: f64 = terms.iter().map(|&(x, c)| c as f64 * x as f64 * (x as f64).log2()).sum();
            // Sums of so few small terms are 0 or far from it.
            prop_assert_eq!(is_zero(&merged(terms)), sum.abs() < 1e-9);
        }
    }
}
