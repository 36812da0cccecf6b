//! The Gini index, plain and with costs. Purities are quotients of integers.

use std::sync::Arc;

use smallvec::SmallVec;

use super::exact_gain::Quotients;
use super::fraction::Fraction;
use super::{ClassImpurity, ClassStats, Costs, ExactGain, Impurity};

/// The fixed point of quotients, which are in units of 2^-digits.
#[derive(Debug)]
struct FixedPoint {
    digits: i32,
    scale: f64,
}

impl FixedPoint {
    /// For quotients of at most this many binary digits.
    fn new(bits: u32) -> Self {
        let digits = 62 - bits as i32;
        FixedPoint { digits, scale: 2f64.powi(digits) }
    }

    /// A quotient. IEEE 754 defines the division of floats to the last bit, so it is the same on every platform.
    #[inline(always)]
    fn quotient(&self, dividend: f64, divisor: u64) -> i64 {
        if divisor == 0 { 0 } else { (dividend / divisor as f64 * self.scale) as i64 }
    }

    fn rounding_error(&self, most: f64, branches: usize) -> i64 {
        (2f64.powi(self.digits - 51) * most) as i64 + branches as i64 + 2
    }
}

/// The purities of the parts less that of the whole, in 128 bits; `None` if a term is too large for that.
fn gain_of_quotients<'m>(
    parts: impl Iterator<Item = &'m [u64]>,
    whole: &[u64],
    purity: impl Fn(&[u64]) -> Option<Fraction>,
) -> Option<ExactGain> {
    let mut gain = purity(whole)?.negative();
    for part in parts {
        gain = gain.plus(purity(part)?)?;
    }
    Some(ExactGain::Fraction(gain))
}

/// Masses below this usually have gains that fit 128 bits.
const SMALL: u64 = 1 << 31;

/// The Gini index: purity is the sum of squared masses over the mass.
#[derive(Debug)]
pub(crate) struct Gini(FixedPoint);

impl Gini {
    /// For sets of at most this mass.
    pub fn new(most: u64) -> Self {
        Gini(FixedPoint::new(64 - most.leading_zeros()))
    }
}

impl Impurity for Gini {
    type Response = usize;
    type Stats = ClassStats;

    #[inline(always)]
    fn add(&self, stats: &mut ClassStats, class: usize, mass: u64) {
        let old = u128::from(stats.masses[class]);
        stats.masses[class] += mass;
        stats.total += mass;
        stats.products += u128::from(mass) * (2 * old + u128::from(mass));
    }

    #[inline(always)]
    fn remove(&self, stats: &mut ClassStats, class: usize, mass: u64) {
        let old = u128::from(stats.masses[class]);
        stats.masses[class] -= mass;
        stats.total -= mass;
        stats.products -= u128::from(mass) * (2 * old - u128::from(mass));
    }

    #[inline(always)]
    fn purity(&self, stats: &ClassStats) -> i64 {
        // The conversion of 128 bits is a function call: avoid it where 64 bits are enough.
        let squares = match u64::try_from(stats.products) {
            Ok(squares) => squares as f64,
            Err(_) => stats.products as f64,
        };
        self.0.quotient(squares, stats.total)
    }

    fn rounding_error(&self, total: u64, branches: usize) -> i64 {
        self.0.rounding_error(total as f64, branches)
    }

    fn is_gain(&self, part: &ClassStats, whole: &ClassStats, _: i64) -> bool {
        part.has_other_shares_than(whole)
    }

    fn scale(&self) -> f64 {
        self.0.scale
    }
}

impl ClassImpurity for Gini {
    #[inline(always)]
    fn purity_of_two(&self, first: u64, second: u64) -> i64 {
        let square = |x: u64| x as f64 * x as f64;
        self.0.quotient(square(first) + square(second), first + second)
    }

    fn is_rounded(&self) -> bool {
        true
    }

    fn exact_gain<'m>(&self, parts: impl Iterator<Item = &'m [u64]>, whole: &[u64]) -> Option<ExactGain> {
        let parts: SmallVec<[&[u64]; 2]> = parts.collect();
        let small = || {
            gain_of_quotients(parts.iter().copied(), whole, |masses| {
                let squares = masses.iter().map(|&mass| u128::from(mass) * u128::from(mass)).sum::<u128>();
                Fraction::new(squares.try_into().ok()?, masses.iter().sum())
            })
        };
        let is_small = whole.iter().sum::<u64>() < SMALL;
        let exact = if is_small { small() } else { None };
        Some(exact.unwrap_or_else(|| ExactGain::Quotients(Quotients::new(parts.iter().copied(), None))))
    }
}

/// The Gini index with costs: sum L(k, k') p(k) p(k'), times the mass (equation 8 of the lecture notes).
#[derive(Debug)]
pub(crate) struct CostGini {
    costs: Arc<Costs>,
    /// Binary digits of masses dropped so that products stay in range; 0 unless masses are huge.
    dropped_bits: u32,
    fixed: FixedPoint,
}

impl CostGini {
    /// For sets of at most this mass.
    pub fn new(costs: Costs, most: u64) -> Self {
        let (bits, cost_bits) = (64 - most.leading_zeros(), costs.bits());
        let dropped_bits = bits.saturating_sub((126 - cost_bits) / 2);
        CostGini { fixed: FixedPoint::new(bits - dropped_bits + cost_bits), costs: costs.into(), dropped_bits }
    }

    /// The sum of L(k, k') m(k) m(k').
    fn pairs(&self, masses: &[u64]) -> u128 {
        let mass = |k: usize| u128::from(masses[k] >> self.dropped_bits);
        let row = |k: usize| mass(k) * (0..masses.len()).map(|j| mass(j) * self.costs.of(k, j)).sum::<u128>();
        (0..masses.len()).map(row).sum()
    }

    fn of(&self, pairs: u128, total: u64) -> i64 {
        -self.fixed.quotient(pairs as f64, total >> self.dropped_bits)
    }

    /// The change of the sum of pairs by mass of a class, if no digits are dropped.
    fn change(&self, masses: &[u64], class: usize, mass: u64) -> u128 {
        let with = |k: usize| u128::from(masses[k]) * (self.costs.of(class, k) + self.costs.of(k, class));
        u128::from(mass) * (0..masses.len()).map(with).sum::<u128>()
    }
}

impl Impurity for CostGini {
    type Response = usize;
    type Stats = ClassStats;

    fn add(&self, stats: &mut ClassStats, class: usize, mass: u64) {
        if self.dropped_bits == 0 {
            stats.products += self.change(&stats.masses, class, mass);
        }
        stats.masses[class] += mass;
        stats.total += mass;
    }

    fn remove(&self, stats: &mut ClassStats, class: usize, mass: u64) {
        stats.masses[class] -= mass;
        stats.total -= mass;
        if self.dropped_bits == 0 {
            stats.products -= self.change(&stats.masses, class, mass);
        }
    }

    fn purity(&self, stats: &ClassStats) -> i64 {
        self.of(if self.dropped_bits == 0 { stats.products } else { self.pairs(&stats.masses) }, stats.total)
    }

    fn rounding_error(&self, total: u64, branches: usize) -> i64 {
        let greatest = 2f64.powi(self.costs.bits() as i32);
        // Where digits are dropped, each mass and the total have an error of one, in every part and in the whole.
        let dropped =
            if self.dropped_bits == 0 { 0.0 } else { 3.0 * self.costs.n_classes() as f64 * (branches + 1) as f64 };
        self.fixed.rounding_error((total >> self.dropped_bits) as f64 * greatest, branches)
            + (dropped * greatest * self.fixed.scale) as i64
    }

    fn is_gain(&self, part: &ClassStats, whole: &ClassStats, _: i64) -> bool {
        // With two branches, the rest is the other one. With several, the caller asks for the exact gain.
        let rest: Vec<u64> = whole.masses.iter().zip(&part.masses).map(|(all, part)| all - part).collect();
        let gain = self.exact_gain([&part.masses[..], &rest].into_iter(), &whole.masses);
        gain.is_some_and(|gain| gain.is_positive() == Some(true))
    }

    fn scale(&self) -> f64 {
        self.costs.per_one() * self.fixed.scale / 2f64.powi(self.dropped_bits as i32)
    }

    fn scale_bits(&self) -> i32 {
        self.fixed.digits - self.dropped_bits as i32
    }
}

impl ClassImpurity for CostGini {
    fn recompute(&self, stats: &mut ClassStats) {
        // Adding class by class would count the pairs with later classes twice.
        stats.total = stats.masses.iter().sum();
        stats.products = if self.dropped_bits == 0 { self.pairs(&stats.masses) } else { 0 };
    }

    fn purity_of_two(&self, first: u64, second: u64) -> i64 {
        self.of(self.pairs(&[first, second]), first + second)
    }

    fn is_rounded(&self) -> bool {
        true
    }

    fn exact_gain<'m>(&self, parts: impl Iterator<Item = &'m [u64]>, whole: &[u64]) -> Option<ExactGain> {
        let parts: SmallVec<[&[u64]; 2]> = parts.collect();
        let small = || {
            gain_of_quotients(parts.iter().copied(), whole, |masses| {
                let pairs: i128 = self.pairs(masses).try_into().ok()?;
                Fraction::new(-pairs, masses.iter().sum())
            })
        };
        let is_small = self.dropped_bits == 0 && whole.iter().sum::<u64>() < SMALL;
        let exact = if is_small { small() } else { None };
        let quotients = || Quotients::new(parts.iter().copied(), Some(self.costs.clone()));
        Some(exact.unwrap_or_else(|| ExactGain::Quotients(quotients())))
    }
}
