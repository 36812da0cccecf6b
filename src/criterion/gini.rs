//! The Gini index, plain and with costs. Purities are quotients.

use std::sync::Arc;

use smallvec::SmallVec;

use super::exact::Quotients;
use super::{Costs, Exact, Fraction, Impurity, Side, shares_differ};

/// Quotients are in units of 2^-digits.
#[derive(Debug)]
struct Fixed {
    digits: i32,
    unit: f64,
}

impl Fixed {
    /// For quotients of at most this many binary digits.
    fn new(bits: u32) -> Self {
        let digits = 62 - bits as i32;
        Fixed { digits, unit: 2f64.powi(digits) }
    }

    /// A quotient. Division of floats is exact to the last bit by their standard, on every platform.
    #[inline(always)]
    fn quotient(&self, dividend: f64, divisor: u64) -> i64 {
        if divisor == 0 { 0 } else { (dividend / divisor as f64 * self.unit) as i64 }
    }

    fn noise(&self, most: f64, branches: usize) -> i64 {
        (2f64.powi(self.digits - 51) * most) as i64 + branches as i64 + 2
    }
}

/// The purities of the parts less that of the whole, in small numbers where these do; `None` there if terms are too large.
fn gain_of_quotients<'m>(
    parts: impl Iterator<Item = &'m [u64]>,
    whole: &[u64],
    purity: impl Fn(&[u64]) -> Option<Fraction>,
) -> Option<Exact> {
    let mut gain = purity(whole)?.negative();
    for part in parts {
        gain = gain.plus(purity(part)?)?;
    }
    Some(Exact::Fraction(gain))
}

/// Masses below this have gains in small numbers, most often.
const SMALL: u64 = 1 << 31;

/// The Gini index: purity is the sum of squared masses over the mass.
#[derive(Debug)]
pub(crate) struct Gini(Fixed);

impl Gini {
    /// For sets of at most this mass.
    pub fn new(most: u64) -> Self {
        Gini(Fixed::new(64 - most.leading_zeros()))
    }
}

impl Impurity for Gini {
    #[inline(always)]
    fn add(&self, side: &mut Side, class: usize, mass: u64) {
        let old = u128::from(side.masses[class]);
        side.masses[class] += mass;
        side.total += mass;
        side.sum.products += u128::from(mass) * (2 * old + u128::from(mass));
    }

    #[inline(always)]
    fn remove(&self, side: &mut Side, class: usize, mass: u64) {
        let old = u128::from(side.masses[class]);
        side.masses[class] -= mass;
        side.total -= mass;
        side.sum.products -= u128::from(mass) * (2 * old - u128::from(mass));
    }

    #[inline(always)]
    fn purity(&self, side: &Side) -> i64 {
        // The conversion of 128 bits is a call.
        let squares = match u64::try_from(side.sum.products) {
            Ok(squares) => squares as f64,
            Err(_) => side.sum.products as f64,
        };
        self.0.quotient(squares, side.total)
    }

    #[inline(always)]
    fn pair(&self, first: u64, second: u64) -> i64 {
        let square = |x: u64| x as f64 * x as f64;
        self.0.quotient(square(first) + square(second), first + second)
    }

    fn noise(&self, total: u64, branches: usize) -> i64 {
        self.0.noise(total as f64, branches)
    }

    fn is_gain(&self, part: &Side, whole: &Side, _: i64) -> bool {
        shares_differ(part, whole)
    }

    fn rounds(&self) -> bool {
        true
    }

    fn exact_gain<'m>(&self, parts: impl Iterator<Item = &'m [u64]>, whole: &[u64]) -> Option<Exact> {
        let parts: SmallVec<[&[u64]; 2]> = parts.collect();
        let small = || {
            gain_of_quotients(parts.iter().copied(), whole, |masses| {
                let squares = masses.iter().map(|&mass| u128::from(mass) * u128::from(mass)).sum::<u128>();
                Fraction::new(squares.try_into().ok()?, masses.iter().sum())
            })
        };
        let is_small = whole.iter().sum::<u64>() < SMALL;
        let exact = if is_small { small() } else { None };
        Some(exact.unwrap_or_else(|| Exact::Quotients(Quotients::new(parts.iter().copied(), None))))
    }

    fn unit(&self) -> f64 {
        self.0.unit
    }
}

/// The Gini index with costs: sum L(k, k') p(k) p(k'), times the mass (equation 8 of the lecture notes).
#[derive(Debug)]
pub(crate) struct CostGini {
    costs: Arc<Costs>,
    /// Binary digits of masses to drop so that products stay in range; none unless masses are huge.
    drop: u32,
    fixed: Fixed,
}

impl CostGini {
    /// For sets of at most this mass.
    pub fn new(costs: Costs, most: u64) -> Self {
        let (bits, cost_bits) = (64 - most.leading_zeros(), costs.bits());
        let drop = bits.saturating_sub((126 - cost_bits) / 2);
        CostGini { fixed: Fixed::new(bits - drop + cost_bits), costs: costs.into(), drop }
    }

    /// The sum of L(k, k') m(k) m(k').
    fn pairs(&self, masses: &[u64]) -> u128 {
        let mass = |k: usize| u128::from(masses[k] >> self.drop);
        let row = |k: usize| mass(k) * (0..masses.len()).map(|j| mass(j) * self.costs.of(k, j)).sum::<u128>();
        (0..masses.len()).map(row).sum()
    }

    fn of(&self, pairs: u128, total: u64) -> i64 {
        -self.fixed.quotient(pairs as f64, total >> self.drop)
    }

    /// How the sum of pairs changes with mass of a class, where no digits are dropped.
    fn change(&self, masses: &[u64], class: usize, mass: u64) -> u128 {
        let with = |k: usize| u128::from(masses[k]) * (self.costs.of(class, k) + self.costs.of(k, class));
        u128::from(mass) * (0..masses.len()).map(with).sum::<u128>()
    }
}

impl Impurity for CostGini {
    fn add(&self, side: &mut Side, class: usize, mass: u64) {
        if self.drop == 0 {
            side.sum.products += self.change(&side.masses, class, mass);
        }
        side.masses[class] += mass;
        side.total += mass;
    }

    fn remove(&self, side: &mut Side, class: usize, mass: u64) {
        side.masses[class] -= mass;
        side.total -= mass;
        if self.drop == 0 {
            side.sum.products -= self.change(&side.masses, class, mass);
        }
    }

    fn settle(&self, side: &mut Side) {
        // A class at a time would count pairs with the classes to come twice.
        side.total = side.masses.iter().sum();
        side.sum.products = if self.drop == 0 { self.pairs(&side.masses) } else { 0 };
    }

    fn purity(&self, side: &Side) -> i64 {
        self.of(if self.drop == 0 { side.sum.products } else { self.pairs(&side.masses) }, side.total)
    }

    fn pair(&self, first: u64, second: u64) -> i64 {
        self.of(self.pairs(&[first, second]), first + second)
    }

    fn noise(&self, total: u64, branches: usize) -> i64 {
        let greatest = 2f64.powi(self.costs.bits() as i32);
        // Each mass and the total may be wrong by one where digits are dropped, in every part and in the whole.
        let dropped = if self.drop == 0 { 0.0 } else { 3.0 * self.costs.n_classes() as f64 * (branches + 1) as f64 };
        self.fixed.noise((total >> self.drop) as f64 * greatest, branches)
            + (dropped * greatest * self.fixed.unit) as i64
    }

    fn is_gain(&self, part: &Side, whole: &Side, _: i64) -> bool {
        // Of two branches: the other one is what is left. Of several this says nothing, and the fraction is asked.
        let rest: Vec<u64> = whole.masses.iter().zip(&part.masses).map(|(all, part)| all - part).collect();
        let gain = self.exact_gain([&part.masses[..], &rest].into_iter(), &whole.masses);
        gain.is_some_and(|gain| gain.is_positive() == Some(true))
    }

    fn rounds(&self) -> bool {
        true
    }

    fn exact_gain<'m>(&self, parts: impl Iterator<Item = &'m [u64]>, whole: &[u64]) -> Option<Exact> {
        let parts: SmallVec<[&[u64]; 2]> = parts.collect();
        let small = || {
            gain_of_quotients(parts.iter().copied(), whole, |masses| {
                let pairs: i128 = self.pairs(masses).try_into().ok()?;
                Fraction::new(-pairs, masses.iter().sum())
            })
        };
        let is_small = self.drop == 0 && whole.iter().sum::<u64>() < SMALL;
        let exact = if is_small { small() } else { None };
        let quotients = || Quotients::new(parts.iter().copied(), Some(self.costs.clone()));
        Some(exact.unwrap_or_else(|| Exact::Quotients(quotients())))
    }

    fn unit(&self) -> f64 {
        self.costs.per_one() * self.fixed.unit / 2f64.powi(self.drop as i32)
    }

    fn digits(&self) -> i32 {
        self.fixed.digits - self.drop as i32
    }
}
