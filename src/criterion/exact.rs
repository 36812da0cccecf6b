//! Gains that are not rounded, to compare those that rounding cannot tell apart.

use std::cmp::Ordering;

use smallvec::SmallVec;

use super::Fraction;

/// A gain as the number it is.
#[derive(Debug, Clone)]
pub(crate) enum Exact {
    /// A rational number.
    Fraction(Fraction),
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

    /// The gain as a sum of c x log2 x over (x, c), times a sign.
    fn terms(&self, sign: i64) -> impl Iterator<Item = (u64, i64)> + '_ {
        let k = self.n_classes as usize;
        let of_class = move |class: usize| self.masses.iter().skip(class).step_by(k.max(1)).sum::<u64>();
        let whole = (0..k).map(move |class| (of_class(class), -sign));
        let parts = self.masses.iter().map(move |&mass| (mass, sign));
        let totals = self.masses.chunks(k.max(1)).map(move |part| (part.iter().sum(), -sign));
        whole.chain(parts).chain(totals).chain([(self.masses.iter().sum(), sign)])
    }
}

impl Exact {
    /// How two gains compare; `None` if they differ, and their rounded values say how.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Exact::Fraction(a), Exact::Fraction(b)) => Some(a.cmp(b)),
            (Exact::Logs(a), Exact::Logs(b)) => {
                is_zero(a.terms(1).chain(b.terms(-1)).collect()).then_some(Ordering::Equal)
            }
            _ => None,
        }
    }

    /// Whether the gain is positive, if that can be said.
    pub fn is_positive(&self) -> Option<bool> {
        match self {
            Exact::Fraction(gain) => Some(gain.is_positive()),
            Exact::Logs(_) => None,
        }
    }

    /// Bytes apart from its own.
    pub fn heap(&self) -> usize {
        match self {
            Exact::Logs(Parts { masses, .. }) if masses.spilled() => 8 * masses.capacity(),
            _ => 0,
        }
    }

    /// The gain of masses that are in units of a power of two below one.
    pub fn over(self, digits: u32) -> Option<Self> {
        match self {
            Exact::Fraction(gain) => gain.over(digits).map(Exact::Fraction),
            // Sums in one unit compare with each other alone.
            logs => (digits > 0).then_some(logs),
        }
    }
}

/// Whether a sum of c x log2 x is 0: whether the product of x^(c x) is one. All x are written as products of pairwise
/// coprime numbers; such numbers have no other product of one than that of their powers of 0 (unique factorisation).
fn is_zero(mut terms: Vec<(u64, i64)>) -> bool {
    terms.sort_unstable();
    // Most sums that are 0 have every term twice, with either sign.
    let equal = |group: &[(u64, i64)]| (group[0].0, group.iter().map(|(_, c)| i128::from(*c)).sum::<i128>());
    let mut pending: Vec<(u64, i128)> = terms.chunk_by(|a, b| a.0 == b.0).map(equal).collect();
    pending.retain(|&(x, c)| x > 1 && c != 0);
    pending.iter_mut().for_each(|(x, c)| *c *= i128::from(*x));
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

/// The greatest number that divides both; that of 0 and another is the other.
pub(super) fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sums_that_are_zero() {
        assert!(is_zero(vec![]));
        assert!(is_zero(vec![(5, 2), (1, 7), (5, -2)]));
        // 4 log 4 = 8 log 2 = 4 (2 log 2); 6 log 6 = 6 log 2 + 6 log 3.
        assert!(is_zero(vec![(4, 1), (2, -4)]));
        assert!(is_zero(vec![(6, 1), (2, -3), (3, -2)]));
        assert!(!is_zero(vec![(6, 1), (2, -3), (3, -1)]));
        assert!(!is_zero(vec![(1 << 40, 1), ((1 << 40) + 1, -1)]));
        // x^x y^y = z^z in whole numbers (Ko Chao 1940): 2^12 3^6, 2^8 3^8 and 2^11 3^7.
        let (x, y, z) = ((1 << 12) * 729, 256 * 6561, 2048 * 2187);
        assert!(is_zero(vec![(x, 1), (y, 1), (z, -1)]));
    }

    proptest! {
        #[test]
        fn zero_is_what_floats_cannot_tell_from_it(terms in prop::collection::vec((1u64..40, -3i64..4), 0..6)) {
            let sum: f64 = terms.iter().map(|&(x, c)| c as f64 * x as f64 * (x as f64).log2()).sum();
            // Sums of so few small terms are 0 or far from it.
            prop_assert_eq!(is_zero(terms), sum.abs() < 1e-9);
        }
    }
}
