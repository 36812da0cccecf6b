//! Gains that are not rounded, to compare those that rounding cannot tell apart.

use std::cmp::Ordering;
use std::sync::Arc;

use num_bigint::BigUint;
use smallvec::SmallVec;

use super::difference::Difference;
use super::fraction::wide_product;
use super::{Costs, Fraction};
use crate::scale::common_divisor;

/// A gain as the number it is.
#[derive(Debug, Clone)]
pub(crate) enum Exact {
    /// A rational number of few digits.
    Fraction(Fraction),
    /// The same over a power of two.
    Over(Fraction, u32),
    /// One of many digits.
    Quotients(Quotients),
    /// The sum of x log2 x over the class masses x of parts, less that over their sums, less the same for the whole.
    Logs(Parts),
}

/// The class masses of the parts of a whole.
#[derive(Debug, Clone)]
pub(crate) struct Parts {
    /// Part after part.
    masses: SmallVec<[u64; 4]>,
    n_classes: u32,
}

impl Parts {
    /// Takes the masses of the parts in.
    pub fn new<'m>(parts: impl Iterator<Item = &'m [u64]>) -> Self {
        let (mut masses, mut n_classes) = (SmallVec::new(), 0);
        for part in parts {
            n_classes = part.len() as u32;
            masses.extend_from_slice(part);
        }
        Parts { masses, n_classes }
    }

    fn each(&self) -> impl Iterator<Item = &[u64]> {
        self.masses.chunks((self.n_classes as usize).max(1))
    }

    /// Per class.
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

/// A gain that is a sum of quotients, by the masses it comes from.
#[derive(Debug, Clone)]
pub(crate) struct Quotients {
    parts: Parts,
    /// `None`: sums of squares over sums. Else minus sums of costs times products of two masses, over sums.
    costs: Option<Arc<Costs>>,
    /// Masses are in units of two to the minus so many.
    digits: u32,
}

impl Quotients {
    pub fn new<'m>(parts: impl Iterator<Item = &'m [u64]>, costs: Option<Arc<Costs>>) -> Self {
        Quotients { parts: Parts::new(parts), costs, digits: 0 }
    }

    /// The impurity or purity of a set, over its mass; 0 for no set.
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

impl Exact {
    /// How two gains compare; `None` if that cannot be said, as of gains of different kinds.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        let difference = |exact: &Exact| match exact {
            Exact::Fraction(fraction) => Some(fraction.difference(0)),
            Exact::Over(fraction, digits) => Some(fraction.difference(*digits)),
            Exact::Quotients(quotients) => Some(quotients.difference()),
            Exact::Logs(_) => None,
        };
        match (self, other) {
            (Exact::Fraction(a), Exact::Fraction(b)) => Some(a.cmp(b)),
            (Exact::Logs(a), Exact::Logs(b)) => {
                // Most sums that are 0 have every term twice, with either sign.
                let terms = merged(a.terms(1).chain(b.terms(-1)).collect());
                if terms.is_empty() {
                    return Some(Ordering::Equal);
                }
                sign(&terms).or_else(|| is_zero(&terms).then_some(Ordering::Equal))
            }
            (a, b) => Some(difference(a)?.compare(&difference(b)?)),
        }
    }

    /// Whether the gain is positive, if that can be said.
    pub fn is_positive(&self) -> Option<bool> {
        match self {
            Exact::Fraction(gain) | Exact::Over(gain, _) => Some(gain.is_positive()),
            Exact::Quotients(gain) => Some(gain.difference().sign().is_gt()),
            Exact::Logs(_) => None,
        }
    }

    /// Whether every part is known to have cases of one class alone.
    pub fn is_pure(&self) -> bool {
        let has_one_class = |part: &[u64]| part.iter().filter(|&&mass| mass > 0).nth(1).is_none();
        matches!(self, Exact::Logs(parts) if parts.each().all(has_one_class))
    }

    /// Bytes apart from its own.
    pub fn heap(&self) -> usize {
        match self {
            Exact::Logs(parts) | Exact::Quotients(Quotients { parts, .. }) if parts.masses.spilled() => {
                8 * parts.masses.capacity()
            }
            _ => 0,
        }
    }

    /// The gain at a node of whole cases, or of parts of cases with so many binary digits, in units that both share.
    pub fn in_common(self, is_whole: bool, digits: u32) -> Self {
        match self {
            Exact::Fraction(gain) if !is_whole => gain.over(digits).map_or(Exact::Over(gain, digits), Exact::Fraction),
            Exact::Quotients(gain) if !is_whole => Exact::Quotients(Quotients { digits, ..gain }),
            // The gain of masses times a number is that number times the gain.
            Exact::Logs(mut parts) if is_whole => {
                parts.masses.iter_mut().for_each(|mass| *mass <<= digits);
                Exact::Logs(parts)
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
    // A logarithm is wrong by less than 2^4 of its last digits, and comes less than 2^64 times, for each term.
    let doubt = 64 + 4 + usize::BITS - terms.len().leading_zeros();
    (difference.bits() > doubt.into()).then_some(order)
}

/// log2 x times 2^128, wrong by a few of the last digits at most.
fn log2(x: u64) -> BigUint {
    let mut z = u128::from(x) << (64 + x.leading_zeros()); // 127 digits after the point, in [1, 2)
    let mut log = 0u128;
    for bit in (0..128).rev() {
        // Squaring doubles the logarithm, and its integer part is the next digit.
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

/// A sum of c x log2 x over (x, c) with each x once, and none that adds nothing.
fn merged(mut terms: Vec<(u64, i64)>) -> Vec<(u64, i64)> {
    terms.sort_unstable();
    let equal = |group: &[(u64, i64)]| (group[0].0, group.iter().map(|(_, c)| c).sum());
    let each = terms.chunk_by(|a, b| a.0 == b.0).map(equal);
    each.filter(|&(x, c)| x > 1 && c != 0).collect()
}

/// Whether such a sum is 0: whether the product of x^(c x) is one. All x are written as products of pairwise
/// coprime numbers; such numbers have no other product of one than that of their powers of 0 (unique factorisation).
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
