//! Entropy, in bits times mass.

use super::exact_gain::PartMasses;
use super::{ClassImpurity, ClassStats, ExactGain, Impurity};
use crate::budget::{Stop, Ticker};

/// x log2 x, times a power of two, in integers.
///
/// Tabulated logarithms are sums of the logarithms of prime factors. So two sums of x log2 x that are equal as real
/// numbers (that is, if the products of x^x have the same prime factors) are equal as integers too, and ties between
/// splits of different class masses are recognised. Logarithms beyond the table are rounded one by one.
#[derive(Debug)]
pub(crate) struct Entropy {
    table: Vec<i64>,
    /// Whether some masses are not tabulated.
    is_rounded: bool,
    /// Binary digits after the point.
    digits: i32,
    scale: f64,
    n_classes: usize,
}

impl Entropy {
    /// The greatest tabulated mass.
    const MOST_TABULATED: u64 = 1 << 22;

    /// For sets of at most this mass. Masses up to `tabulated` are looked up, at most [`Self::MOST_TABULATED`] of them.
    ///
    /// Complexity: O(n log log n) for n tabulated masses.
    pub fn new(most: u64, tabulated: u64, n_classes: usize, ticker: &mut Ticker) -> Result<Self, Stop> {
        let bits = 64 - most.leading_zeros() as i32;
        // The greatest value stays below 2^61, so that the difference of two sums stays in range.
        let digits = 61 - bits - (32 - bits.leading_zeros() as i32);
        let n = tabulated.min(most).min(Self::MOST_TABULATED) as usize;
        let mut table = vec![0i64; n + 1];
        // First the logarithms: each prime power adds the logarithm of its prime to its multiples.
        for x in 2..=n {
            if table[x] == 0 {
                let log = rounded(log2(x as u64), 60 - digits);
                let mut power = x;
                while power <= n {
                    (power..=n).step_by(power).for_each(|multiple| table[multiple] += log);
                    ticker.tick(100 + 4 * n / power)?;
                    power *= x;
                }
            }
        }
        (0..).zip(&mut table).for_each(|(x, log)| *log *= x);
        Ok(Entropy { is_rounded: most >= table.len() as u64, table, digits, scale: 2f64.powi(digits), n_classes })
    }

    /// Bytes of the table of [`Entropy::new`].
    pub fn bytes(most: u64, tabulated: u64) -> u64 {
        8 * (tabulated.min(most).min(Self::MOST_TABULATED) + 1)
    }

    /// x log2 x in fixed point.
    #[inline(always)]
    fn x_log_x(&self, x: u64) -> i64 {
        match self.table.get(x as usize) {
            Some(&value) => value,
            None => self.compute(x),
        }
    }

    #[inline(never)]
    fn compute(&self, x: u64) -> i64 {
        // log2 has 60 digits after the point. x < 2^62, so that the product has at most 128 bits.
        if x < 2 { 0 } else { rounded(u128::from(x) * log2(x), 60 - self.digits) }
    }
}

/// A number without its last `digits` binary digits (at least one), rounded to the nearest.
fn rounded(x: u128, digits: i32) -> i64 {
    ((x >> (digits - 1)) as i64 + 1) >> 1
}

impl Impurity for Entropy {
    type Response = usize;
    type Stats = ClassStats;

    #[inline(always)]
    fn add(&self, stats: &mut ClassStats, class: usize, mass: u64) {
        let old = stats.masses[class];
        stats.masses[class] = old + mass;
        stats.total += mass;
        stats.logs += self.x_log_x(old + mass) - self.x_log_x(old);
    }

    #[inline(always)]
    fn remove(&self, stats: &mut ClassStats, class: usize, mass: u64) {
        let old = stats.masses[class];
        stats.masses[class] = old - mass;
        stats.total -= mass;
        stats.logs += self.x_log_x(old - mass) - self.x_log_x(old);
    }

    #[inline(always)]
    fn purity(&self, stats: &ClassStats) -> i64 {
        stats.logs - self.x_log_x(stats.total)
    }

    fn rounding_error(&self, total: u64, branches: usize) -> i64 {
        // The error of a tabulated logarithm is half a unit for each of its at most log2 x factors, times x; that of a
        // computed one is less than two units. There is a term per class and one for the sum, in every branch and in
        // the whole.
        let bits = 64 - i64::from(total.leading_zeros());
        let tabulated = 2 * bits * total.min(self.table.len() as u64) as i64;
        tabulated + 2 * (self.n_classes as i64 + 1) * (branches as i64 + 1)
    }

    fn is_gain(&self, part: &ClassStats, whole: &ClassStats, _: i64) -> bool {
        part.has_other_shares_than(whole)
    }

    fn scale(&self) -> f64 {
        self.scale
    }

    fn perfect_gain(&self, stats: &ClassStats) -> Option<i64> {
        Some(-self.purity(stats))
    }
}

impl ClassImpurity for Entropy {
    #[inline(always)]
    fn purity_of_two(&self, first: u64, second: u64) -> i64 {
        self.x_log_x(first) + self.x_log_x(second) - self.x_log_x(first + second)
    }

    #[inline(always)]
    fn approximate(&self, mass: u64) -> f64 {
        approximate_x_log_x(mass) * self.scale
    }

    fn has_approximation(&self, total: u64) -> bool {
        total >= self.table.len() as u64
    }

    fn is_screened(&self) -> bool {
        true
    }

    fn is_rounded(&self) -> bool {
        self.is_rounded
    }

    fn exact_gain<'m>(&self, parts: impl Iterator<Item = &'m [u64]>, _: &[u64]) -> Option<ExactGain> {
        Some(ExactGain::Logs(PartMasses::new(parts)))
    }

    fn split_information(&self, masses: impl Iterator<Item = u64>) -> i64 {
        let (sum, total) = masses.fold((0, 0), |(sum, total), mass| (sum + self.x_log_x(mass), total + mass));
        self.x_log_x(total) - sum
    }
}

/// Numbers in [1, 2) are looked up by their first binary digits, of this number.
const STEP: u32 = 11;

/// For i < 2^11: log2(1 + i/2^11), 63 binary digits, and 2^64/(2^11 + i).
static LOGS: [(u64, u64); 1 << STEP] = {
    let mut logs = [(0, 0); 1 << STEP];
    let mut i = 0;
    while i < 1 << STEP {
        // Digit by digit: squaring doubles the logarithm, and its integer part is the next digit.
        let mut z = ((1 << STEP) + i as u64) << (63 - STEP); // 63 digits after the point, in [1, 2)
        let mut bit = 63;
        while bit > 0 {
            bit -= 1;
            let square = z as u128 * z as u128; // 126 digits after the point, in [1, 4)
            if square >> 127 == 1 {
                logs[i].0 |= 1 << bit;
                z = (square >> 64) as u64;
            } else {
                z = (square >> 63) as u64;
            }
        }
        logs[i].1 = ((1u128 << 64) / ((1 << STEP) + i as u128)) as u64;
        i += 1;
    }
    logs
};

/// 1/(j ln 2) for j = 1, ..., 5, 63 binary digits.
const SERIES: [u64; 5] = {
    const LOG2_E: u64 = 0xb8aa_3b29_5c17_f0bc; // 1/ln 2 = log2 e
    [LOG2_E, LOG2_E / 2, LOG2_E / 3, LOG2_E / 4, LOG2_E / 5]
};

/// An approximation of x log2 x, within 2^-33 x.
#[inline(always)]
fn approximate_x_log_x(x: u64) -> f64 {
    let value = x as f64;
    // The exponent, and the mantissa in [1, 2): its first digits, times 1 + r with r < 2^-11.
    let exponent = (value.to_bits() >> 52) as i32 - 1023;
    let place = (value.to_bits() >> (52 - STEP)) as usize & ((1 << STEP) - 1);
    let mantissa = f64::from_bits(value.to_bits() & ((1 << 52) - 1) | 1023 << 52);
    let (log, reciprocal) = FLOAT_LOGS[place];
    let r = mantissa * reciprocal - 1.0;
    let log2_e = std::f64::consts::LOG2_E;
    // The product is 0 for x = 0, whatever its exponent.
    value * (f64::from(exponent) + log + r * (log2_e - r * (log2_e / 2.0 - r * (log2_e / 3.0))))
}

/// [`LOGS`] as floats: log2(1 + i/2^11), and 1/(1 + i/2^11).
static FLOAT_LOGS: [(f64, f64); 1 << STEP] = {
    let mut floats = [(0.0, 0.0); 1 << STEP];
    let mut i = 0;
    while i < 1 << STEP {
        floats[i] = (LOGS[i].0 as f64 / (1u64 << 63) as f64, (1 << STEP) as f64 / ((1 << STEP) + i) as f64);
        i += 1;
    }
    floats
};

/// log2 x for x >= 1 with 60 binary digits after the point; the error is a few units of the last digit. Integers only.
#[inline]
fn log2(x: u64) -> u128 {
    let times = |a: u64, b: u64| ((u128::from(a) * u128::from(b)) >> 64) as u64;
    let exponent = 63 - x.leading_zeros();
    let normal = x << x.leading_zeros(); // in [2^63, 2^64)
    let (log, reciprocal) = LOGS[(normal >> (63 - STEP)) as usize & ((1 << STEP) - 1)];
    // normal / 2^63 = (1 + i/2^11) (1 + r), and r < 2^-11 has 64 digits.
    let r = times(normal << (STEP + 1), reciprocal);
    // log2(1 + r) = r/ln 2 - r^2/(2 ln 2) + ..., by Horner's rule; the next term is below 2^-67.
    let [a, b, c, d, e] = SERIES;
    let sum = a - times(r, b - times(r, c - times(r, d - times(r, e))));
    (u128::from(exponent) << 60) + u128::from((log + times(r, sum)) >> 3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;

    fn unlimited(most: u64, tabulated: u64) -> Entropy {
        Entropy::new(most, tabulated, 2, &mut Ticker::new(&Budget::unlimited())).expect("without a limit")
    }

    #[test]
    fn logarithms() {
        for x in (1..3000).chain((0..62).flat_map(|i| [1 << i, (1 << i) + 1, (3 << i) / 2, (1 << (i + 1)) - 1])) {
            let got = log2(x) as f64 / (1u64 << 60) as f64;
            assert!((got - (x as f64).log2()).abs() < 1e-14, "{x}: {got} {}", (x as f64).log2());
        }
        // Of powers they are exact but for the last digits.
        for (base, power) in [(3u64, 4), (5, 3), (7, 5), (10, 6), (1001, 2)] {
            let (one, all) = (log2(base) * u128::from(power), log2(base.pow(power)));
            assert!(one.abs_diff(all) < 64, "{base}^{power}: {one} {all}");
        }
    }

    #[test]
    fn float_approximations_are_within_their_error() {
        assert_eq!(approximate_x_log_x(0), 0.0);
        for x in (1..3000).chain((0..62).flat_map(|i| [1 << i, (1 << i) + 1, (3 << i) / 2, (1 << (i + 1)) - 1])) {
            let exact = x as f64 * (x as f64).log2();
            assert!((approximate_x_log_x(x) - exact).abs() <= x as f64 * 2f64.powi(-33), "{x}");
        }
    }

    #[test]
    fn equal_products_have_equal_sums() {
        // 1^1 2^2 ... as logarithms: 4^4 = 2^8, so 4 log 4 = 8 log 2; 6^6 = 2^6 3^6.
        let entropy = unlimited(1 << 20, 1 << 20);
        let log = |x: u64| entropy.x_log_x(x) / x as i64;
        for (a, b) in [(4u64, 9), (12, 35), (1000, 1001), (1024, 1023)] {
            assert_eq!(log(a * b), log(a) + log(b));
        }
        for x in (2..200).chain([9_973, 65_536, 1 << 20]) {
            let (tabulated, computed) = (entropy.x_log_x(x), entropy.compute(x));
            assert!(tabulated.abs_diff(computed) <= x * 11, "{x}: {tabulated} {computed}");
        }
    }

    #[test]
    fn sums_stay_in_range() {
        for most in (0..62).map(|bits| 1u64 << bits).chain([3, 1000, (1 << 62) - 1]) {
            let entropy = unlimited(most, 1 << 10);
            let value = entropy.x_log_x(most);
            assert!((0..1 << 61).contains(&value), "{most}: {value}");
            let expected = most as f64 * (most as f64).log2() * entropy.scale();
            assert!((value as f64 - expected).abs() <= 1e-9 * expected + 1.0, "{most}: {value} {expected}");
        }
    }
}
