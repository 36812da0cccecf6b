//! A common unit of real numbers: what weights, penalties and costs are whole multiples of, so that sums of them are
//! exact.
//!
//! Numbers that come as floats were rounded once or twice before: a tenth is no float, and w times c for all w of a
//! table are not quite in proportion to the w. So a unit is looked for in this order, the first that fits is taken:
//!
//! 1. a power of two or of ten, where every number is a *short* multiple of it, as written;
//! 2. a part of the least number, where every number is within 2^-50 of a multiple of it, in relation to its size, which is
//!    what a handful of roundings can do; numbers that differ stay different;
//! 3. a power of two of which all are multiples as the floats they are, however many digits that takes.
//!
//! Proportional numbers become the same integers by the first two, but for a common factor.

use rustc_hash::FxHashMap;

use crate::bits::mix;

/// How real numbers become integers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    /// A number is divided by this, then multiplied by `times`, and rounded.
    divisor: f64,
    times: f64,
    /// All integers that come out are multiples of this, and divided by it.
    common: u64,
}

/// Decimals that numbers may be taken for, the coarsest first.
const DECIMALS: [f64; 9] = [1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];
/// Totals of decimals are whole numbers that floats hold.
const MOST_DECIMAL: f64 = (1u64 << 53) as f64;
/// Multiples of a power of two or of ten below this are short: most numbers are none but for rounding.
const SHORT: f64 = (1u64 << 44) as f64;
/// How far, in relation to its size, a number may be off a multiple: eight roundings.
const CLOSE: f64 = 8.0 / (1u64 << 53) as f64;
/// The unit is this part of the least number at least.
const FINEST_PART: u64 = 1 << 30;

impl Scale {
    /// Every number is the integer it is.
    pub const ONE: Scale = Scale { divisor: 1.0, times: 1.0, common: 1 };

    /// A unit of which all of these positive numbers are multiples, under which a sum of `total` stays below half of
    /// `most`, at most 2^62; `None` if there is none. A power of two is at most two to the `coarsest`.
    pub fn exact<V: Iterator<Item = f64>>(
        values: impl Fn() -> V,
        total: f64,
        most: f64,
        coarsest: i32,
    ) -> Option<Self> {
        let (mut finest, mut greatest) = (coarsest, 0.0f64);
        values().for_each(|x| (finest, greatest) = (finest.min(lowest_bit(x)), greatest.max(x)));
        let needed = coarsest_needed(total, most);
        let resolution = power_of_two(finest.max(needed));
        // Small counts are fast ones.
        let fits = |&decimal: &f64| {
            decimal * resolution < 1.0 && decimal * greatest < SHORT && decimal * total < MOST_DECIMAL.min(most)
        };
        let is_whole = |x: f64, decimal: f64| nearest(x * decimal) as f64 / decimal == x;
        let decimal = DECIMALS.into_iter().filter(fits).find(|&decimal| values().all(|x| is_whole(x, decimal)));
        if let Some(times) = decimal {
            return Some(Scale { times, ..Self::ONE });
        }
        let binary = (finest >= needed).then_some(Scale { divisor: resolution, ..Self::ONE });
        match binary {
            Some(binary) if greatest / resolution < SHORT => Some(binary),
            _ => Self::part_of_least(values, total, most).or(binary),
        }
    }

    /// The finest power of two under which a sum of `total` stays below half of `most`: numbers are rounded.
    pub fn grid(total: f64, most: f64) -> Self {
        Scale { divisor: power_of_two(coarsest_needed(total, most)), ..Self::ONE }
    }

    /// Numbers are rounded to multiples of this.
    pub fn by(unit: f64) -> Self {
        Scale { divisor: unit, ..Self::ONE }
    }

    /// A part of the least number of which all are multiples, but for roundings.
    fn part_of_least<V: Iterator<Item = f64>>(values: impl Fn() -> V, total: f64, most: f64) -> Option<Self> {
        let least = values().fold(f64::INFINITY, f64::min);
        let multiple = |x: f64, parts: u64| x / least * parts as f64;
        let (mut parts, mut last) = (1u64, 0.0);
        for x in values() {
            // Neighbours are often the same.
            if x != last {
                last = x;
                let x = multiple(x, parts);
                if !is_near(x) {
                    parts = parts.checked_mul(denominator(x)?).filter(|&parts| parts <= FINEST_PART)?;
                }
            }
        }
        // What was near stays near, but for the sake of certainty.
        let mut common = 0;
        last = 0.0;
        for x in values() {
            if x != last {
                last = x;
                let multiple = multiple(x, parts);
                if !is_near(multiple) {
                    return None;
                }
                common = common_divisor(common, multiple.round() as u64);
            }
        }
        let whole = |x: f64| multiple(x, parts).round() as u64;
        if !stay_different(&values, &whole, 0, 0) {
            return None;
        }
        // The least number itself is among the multiples.
        let parts = parts / common.max(1);
        let fits = (total / least) * parts as f64 <= most / 2.0;
        // A power of ten is written as one.
        let unit = least / parts as f64;
        let power = (1..=22).map(|places| 10f64.powi(places)).find(|power| 1.0 / power == unit);
        let (divisor, times) = power.map_or((least, parts as f64), |power| (1.0, power));
        fits.then_some(Scale { divisor, times, common: 1 })
    }

    /// The number in units.
    #[inline]
    pub fn whole(&self, x: f64) -> u64 {
        let units = match x / self.divisor * self.times {
            units if units < MOST_NEAREST => nearest(units) as u64,
            units => units.round() as u64,
        };
        if self.common == 1 { units } else { units / self.common }
    }

    /// Any number in units, also a negative one. Beyond 2^53 units it is rounded to the digits of a float.
    #[inline]
    pub fn signed(&self, x: f64) -> i128 {
        let units = x / self.divisor * self.times;
        match units.abs() < MOST_NEAREST {
            true if self.common == 1 => nearest(units).into(),
            true => i128::from(nearest(units)) / i128::from(self.common),
            false => units.round() as i128 / i128::from(self.common),
        }
    }

    /// By how much of itself a number differs from its integer.
    pub fn error(&self, x: f64) -> f64 {
        (self.whole(x) as f64 / (x / self.divisor * self.times / self.common as f64) - 1.0).abs()
    }

    /// Whether rounding changes a number by no more than this part of itself.
    pub fn is_close(&self, x: f64, most: f64) -> bool {
        self.error(x) <= most
    }

    /// As a scale whose integers are divided by a number that divides all of them.
    pub fn divided(self, by: u64) -> Self {
        Scale { common: self.common * by, ..self }
    }

    /// What one unit is worth, as a ratio.
    pub fn unit(&self) -> (f64, f64) {
        (self.divisor * self.common as f64, self.times)
    }

    /// How many units are one: a whole number over another, times a power of two.
    pub fn per_one(&self) -> (u64, u64, i32) {
        let exponent = lowest_bit(self.divisor);
        // One of these is 1: multiples of a part of a number have no common divisor.
        let digits = (self.divisor / power_of_two(exponent)) as u64;
        (self.times as u64, digits.saturating_mul(self.common), -exponent)
    }
}

/// Numbers of a smaller magnitude have a nearest 64-bit integer.
const MOST_NEAREST: f64 = (1u64 << 62) as f64;

/// The nearest integer, halves away from zero: [`f64::round`], which is a call where the target has no instruction for
/// it.
#[inline]
fn nearest(x: f64) -> i64 {
    (x + 0.5f64.next_down().copysign(x)) as i64
}

/// So many different numbers are compared at a time.
const MOST_COMPARED: usize = 1 << 16;

/// Whether different numbers become different integers: of those numbers whose integers have a hash that begins with
/// these bits. All are looked at, or one half after the other, so that memory does not grow with the numbers.
fn stay_different<V: Iterator<Item = f64>>(
    values: &impl Fn() -> V,
    whole_of: &impl Fn(f64) -> u64,
    n_bits: u32,
    bits: u64,
) -> bool {
    let mut of: FxHashMap<u64, u64> = FxHashMap::default();
    let mut last = 0.0;
    for x in values() {
        // Neighbours are often the same.
        if x == last {
            continue;
        }
        last = x;
        let whole = whole_of(x);
        if mix(whole).checked_shr(64 - n_bits).unwrap_or(0) != bits {
            continue;
        }
        if *of.entry(whole).or_insert(x.to_bits()) != x.to_bits() {
            return false;
        }
        if of.len() > MOST_COMPARED {
            drop(of);
            return (0..2).all(|half| stay_different(values, whole_of, n_bits + 1, 2 * bits + half));
        }
    }
    true
}

fn is_near(x: f64) -> bool {
    (x - x.round()).abs() <= x * CLOSE
}

/// The least number that, times x >= 1, is near a whole one, by continued fractions; `None` beyond [`FINEST_PART`].
fn denominator(x: f64) -> Option<u64> {
    if x.is_nan() || x >= (1u64 << 61) as f64 {
        return None;
    }
    let exponent = lowest_bit(x).min(0);
    // As a fraction: x >= 1 has at most 52 digits after the point.
    let (mut a, mut b) = ((x / power_of_two(exponent)) as u128, 1u128 << -exponent);
    let (mut p, mut q) = ((0u128, 1u128), (1u128, 0u128));
    while b > 0 {
        let k = a / b;
        (p, q) = ((p.1, k * p.1 + p.0), (q.1, k * q.1 + q.0));
        if q.1 > u128::from(FINEST_PART) {
            return None;
        }
        if (x * q.1 as f64 - p.1 as f64).abs() <= x * q.1 as f64 * CLOSE {
            return Some(q.1 as u64);
        }
        (a, b) = (b, a % b);
    }
    None
}

/// Half the range is kept free for what rounding adds.
fn coarsest_needed(total: f64, most: f64) -> i32 {
    (total / (most / 2.0)).log2().ceil().max(-1074.0) as i32
}

/// The exponent of the lowest bit of a positive number.
pub(crate) fn lowest_bit(x: f64) -> i32 {
    let bits = x.to_bits();
    let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    match exponent {
        0 => fraction.trailing_zeros() as i32 - 1074,
        _ => (fraction | 1 << 52).trailing_zeros() as i32 + exponent - 1075,
    }
}

pub(crate) fn power_of_two(exponent: i32) -> f64 {
    // Exact also for subnormals, where powi may pass through an infinity.
    if exponent < -1022 {
        f64::from_bits(1 << (exponent + 1074))
    } else {
        f64::from_bits(((exponent + 1023) as u64) << 52)
    }
}

/// The greatest number that divides both; that of 0 and another is the other.
pub(crate) fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    if a == 1 {
        return 1;
    }
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MOST: f64 = (1u64 << 62) as f64;

    fn wholes(values: &[f64]) -> Option<Vec<u64>> {
        let scale = Scale::exact(|| values.iter().copied(), values.iter().sum(), MOST, 0)?;
        Some(values.iter().map(|&x| scale.whole(x)).collect())
    }

    #[test]
    fn exponents_are_exact() {
        for (x, exponent) in [(1.0, 0), (0.5, -1), (0.75, -2), (3.0, 0), (12.0, 2), (5e-324, -1074), (f64::MAX, 971)] {
            assert_eq!(lowest_bit(x), exponent, "{x}");
            assert_eq!(x % power_of_two(exponent), 0.0);
        }
        assert_eq!(power_of_two(-1074), 5e-324);
        assert_eq!(power_of_two(-1022), f64::MIN_POSITIVE);
    }

    #[test]
    fn ratios_are_found() {
        let ninth = 1.0 / 9.0;
        assert_eq!(wholes(&[ninth, 2.0 * ninth, 2.0 * ninth, 4.0 * ninth]), Some(vec![1, 2, 2, 4]));
        assert_eq!(wholes(&[1.0 / 3.0, 1.0]), Some(vec![1, 3]));
        assert_eq!(wholes(&[0.1 / 3.0, 0.25 / 3.0, 3.0 / 3.0]), Some(vec![2, 5, 60]));
        assert_eq!(wholes(&[1e-300 / 3.0, 1e-300]), Some(vec![1, 3]));
        assert_eq!(wholes(&[1e300, 2e300, 7e300]), Some(vec![1, 2, 7]));
        // At this size a tenth is less than the last digit: all three could be tenths.
        assert_eq!(wholes(&[0.32, 0.2, 0.05].map(|x| x * 2f64.powi(50))), Some(vec![32, 20, 5]));
        // Neighbouring floats are not the same.
        let next = f64::from_bits(0.1f64.to_bits() + 1);
        let wholes = wholes(&[0.1, next]).expect("both have 56 digits");
        assert!(wholes[0] < wholes[1]);
    }

    #[test]
    fn many_numbers_stay_different() {
        let n = 3 * MOST_COMPARED as u64;
        let sevenths: Vec<f64> = (1..=n).map(|k| k as f64 / 7.0).collect();
        assert_eq!(wholes(&sevenths), Some((1..=n).collect()));
        // The float after one of them is no seventh, wherever it stands, and 2^-50 of itself from it at most.
        for place in [0, n / 2, n - 1] {
            let mut values = sevenths.clone();
            values.push(sevenths[place as usize].next_up());
            let total = values.iter().sum();
            assert_eq!(Scale::part_of_least(|| values.iter().copied(), total, MOST), None, "{place}");
        }
    }

    #[test]
    fn what_is_too_far_apart_has_no_unit() {
        assert_eq!(wholes(&[1e300, 1e-300]), None);
        // Two numbers have a unit where they are not too far apart; of more that is rare.
        let (pi, e) = (std::f64::consts::PI, std::f64::consts::E);
        assert!(wholes(&[1.0, pi * 1e-12]).is_some());
        assert_eq!(wholes(&[1.0, pi * 1e-12, e * 1e-12]), None);
    }

    proptest! {
        #[test]
        fn the_nearest_integer_is_that_of_round(x in -MOST_NEAREST..MOST_NEAREST, shift in 0i32..70) {
            let x = x / power_of_two(shift);
            for x in [x, x.round() + 0.5, (x.round() + 0.5).next_down(), (x.round() + 0.5).next_up()] {
                prop_assert_eq!(nearest(x) as f64, x.round(), "{}", x);
            }
        }

        /// Whole numbers that are scaled in floats are the same whole numbers, but for what divides all.
        #[test]
        fn proportions_survive(values in prop::collection::vec(1u64..2000, 1..20), by in 0usize..7, tenths in any::<bool>()) {
            let factor = [1.0 / 3.0, 0.1, std::f64::consts::PI, 2f64.powi(50), 2f64.powi(-50), 1e-290, 1e290][by];
            let plain = |&x: &u64| if tenths { x as f64 / 10.0 } else { x as f64 };
            let scaled: Vec<f64> = values.iter().map(|x| plain(x) * factor).collect();
            let divide = |values: Vec<u64>| {
                let common = values.iter().copied().fold(0, common_divisor);
                values.into_iter().map(|x| x / common).collect::<Vec<u64>>()
            };
            let found = wholes(&scaled).map(divide);
            prop_assert_eq!(found, Some(divide(values)), "{:?}", scaled);
        }
    }
}
