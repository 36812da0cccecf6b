//! Gains as the numbers they are: rationals, or sums of x log2 x over whole x, compared exactly.
//!
//! Logarithms are taken to 128 bits, and that orders nearly all pairs. Whether two sums are equal is decided without
//! them: whole numbers are written as products of pairwise coprime ones, whose logarithms are linearly independent over
//! the rationals (unique factorisation), so a sum is 0 if and only if all its coefficients are.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::HashMap;

use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;

/// A sum of c x log2 x.
#[derive(Debug, Clone, Default)]
pub struct Bits {
    terms: Vec<(u128, i64)>,
    /// The sum, times 2^48, but for an error below 2^-40.
    fixed: BigInt,
}

/// How good a split is.
#[derive(Debug, Clone)]
pub enum Amount {
    Exact(BigRational),
    Bits(Bits),
    /// Gain over split information.
    Ratio(Bits, Bits),
}

const FIXED: usize = 48;
/// What the library may round: this part of a unit.
pub const CLOSE: usize = 20;

impl Bits {
    /// Adds `times` x log2 x.
    pub fn add(&mut self, times: i64, x: u128) {
        if x > 1 {
            self.terms.push((x, times));
            self.fixed += x_log_x(x) * times;
        }
    }

    fn float(&self) -> f64 {
        float(&BigRational::new(self.fixed.clone(), BigInt::from(1u64 << FIXED)))
    }

    /// As powers: x, and the exponent c x.
    fn powers(&self) -> impl Iterator<Item = (u128, BigInt)> + '_ {
        self.terms.iter().map(|&(x, c)| (x, BigInt::from(x) * c))
    }

    fn equals(&self, other: &Bits) -> bool {
        let powers = self.powers().map(|(x, e)| (x, vec![e])).chain(other.powers().map(|(x, e)| (x, vec![-e])));
        coprime(powers).iter().all(|exponents| exponents[0] == BigInt::ZERO)
    }
}

impl Amount {
    pub fn float(&self) -> f64 {
        match self {
            Amount::Exact(x) => float(x),
            Amount::Bits(bits) => bits.float(),
            Amount::Ratio(gain, info) => gain.float() / info.float(),
        }
    }

    /// Which is greater, and whether the library may see it otherwise: they differ, but by 2^-20 of `one` at most.
    pub fn compare(&self, other: &Amount, one: u128) -> (Ordering, bool) {
        match (self, other) {
            (Amount::Exact(a), Amount::Exact(b)) => {
                let order = a.cmp(b);
                let difference = if order.is_lt() { b - a } else { a - b };
                let close = difference * BigInt::from(1 << CLOSE) <= BigRational::from_integer(one.into());
                (order, close && order.is_ne())
            }
            (Amount::Bits(a), Amount::Bits(b)) => {
                let order = a.fixed.cmp(&b.fixed);
                let close = (&a.fixed - &b.fixed).magnitude() <= &(BigUint::from(one) << (FIXED - CLOSE));
                if close && a.equals(b) { (Ordering::Equal, false) } else { (order, close) }
            }
            (Amount::Ratio(gain_a, info_a), Amount::Ratio(gain_b, info_b)) => {
                let (a, b) = (self.float(), other.float());
                // What an error of that size in gain and split information does to the ratio; not less than floats
                // tell.
                let margin = |ratio: f64, info: &Bits| one as f64 / (1 << CLOSE) as f64 * (1.0 + ratio) / info.float();
                let close = (a - b).abs() <= (margin(a, info_a) + margin(b, info_b)).max(1e-9);
                if close && same_ratio([gain_a, info_a, gain_b, info_b]) {
                    (Ordering::Equal, false)
                } else {
                    ((&gain_a.fixed * &info_b.fixed).cmp(&(&gain_b.fixed * &info_a.fixed)), close)
                }
            }
            _ => panic!("amounts of two kinds"),
        }
    }

    /// Whether it is at least `least` times `mass`, and whether the library may see it otherwise.
    pub fn at_least(&self, least: &BigRational, mass: u128, one: u128) -> (bool, bool) {
        let least = least * BigInt::from(mass);
        match self {
            Amount::Exact(_) => {
                let (order, close) = self.compare(&Amount::Exact(least), one);
                (order.is_ge(), close)
            }
            Amount::Bits(bits) => {
                let fixed = (&least * (BigInt::from(1) << FIXED)).to_integer();
                let difference = &bits.fixed - fixed;
                let close = difference.magnitude() <= &(BigUint::from(one) << (FIXED - CLOSE));
                // The sum times the denominator, less the numerator times log2 2.
                let powers = bits.powers().map(|(x, e)| (x, vec![e * least.denom()]));
                let equal = || {
                    let powers = powers.chain([(2, vec![-least.numer()])]);
                    coprime(powers).iter().all(|exponents| exponents[0] == BigInt::ZERO)
                };
                if close && equal() { (true, false) } else { (difference > BigInt::ZERO, close) }
            }
            Amount::Ratio(..) => panic!("the least gain is one of gains"),
        }
    }
}

/// The exponents of pairwise coprime numbers of the same product: b^f x^e = (b/g)^f (x/g)^e g^(e + f), g = gcd(b, x).
fn coprime(powers: impl Iterator<Item = (u128, Vec<BigInt>)>) -> Vec<Vec<BigInt>> {
    let mut todo: Vec<(u128, Vec<BigInt>)> = powers.collect();
    let mut base: Vec<(u128, Vec<BigInt>)> = Vec::new();
    while let Some((x, e)) = todo.pop() {
        match base.iter().position(|&(b, _)| gcd(b, x) > 1) {
            _ if x == 1 => {}
            None => base.push((x, e)),
            Some(place) => {
                let (b, f) = base.swap_remove(place);
                let g = gcd(b, x);
                let sum = e.iter().zip(&f).map(|(e, f)| e + f).collect();
                todo.extend([(b / g, f), (x / g, e), (g, sum)]);
            }
        }
    }
    base.into_iter().map(|(_, exponents)| exponents).collect()
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Whether a / b = c / d, that is a d = b c: as polynomials in the logarithms of coprime numbers. (If these satisfied
/// an equation of degree two, which nobody expects, the two sides would be closer than any margin here.)
fn same_ratio(sums: [&Bits; 4]) -> bool {
    let powers = sums.iter().enumerate().flat_map(|(place, bits)| {
        bits.powers().map(move |(x, e)| {
            let mut exponents = vec![BigInt::ZERO; 4];
            exponents[place] = e;
            (x, exponents)
        })
    });
    let base = coprime(powers);
    base.iter()
        .enumerate()
        .all(|(i, u)| base[i..].iter().all(|v| &u[0] * &v[3] + &v[0] * &u[3] == &u[1] * &v[2] + &v[1] * &u[2]))
}

/// The float next to a rational number, or its neighbour.
pub fn float(x: &BigRational) -> f64 {
    let (numer, denom) = (x.numer().magnitude(), x.denom().magnitude());
    // A quotient of 64 binary digits.
    let shift = 64 + denom.bits() as i64 - numer.bits() as i64;
    let quotient = if shift > 0 { (numer << shift) / denom } else { numer / (denom << -shift) };
    let size = u128::try_from(quotient).expect("65 digits") as f64;
    let size = size * 2f64.powi((-shift / 2) as i32) * 2f64.powi((-shift - (-shift / 2)) as i32);
    if *x.numer() < BigInt::ZERO { -size } else { size }
}

/// The number that a float is written as.
pub fn as_written(x: f64) -> BigRational {
    let text = format!("{x:e}");
    let (digits, exponent) = text.split_once('e').expect("an exponent");
    let exponent: i32 = exponent.parse().expect("a number");
    let places = digits.split_once('.').map_or(0, |(_, places)| places.len() as i32);
    let digits: BigInt = digits.replace('.', "").parse().expect("digits");
    let ten = |power: i32| BigRational::from(BigInt::from(10).pow(power.unsigned_abs()));
    let power = exponent - places;
    if power < 0 { BigRational::from(digits) / ten(power) } else { BigRational::from(digits) * ten(power) }
}

/// x log2 x times 2^48, rounded down. Each squaring of a mantissa in [1, 2) gives one more bit of its logarithm.
fn x_log_x(x: u128) -> BigInt {
    thread_local! { static KNOWN: RefCell<HashMap<u128, BigInt>> = RefCell::default() }
    if let Some(known) = KNOWN.with_borrow(|known| known.get(&x).cloned()) {
        return known;
    }
    let whole = x.ilog2();
    let bits = 96 + whole;
    let places = bits + 64;
    let two = BigUint::from(2u32) << places;
    let mut mantissa = (BigUint::from(x) << places) >> whole;
    let mut log = BigUint::from(whole);
    for _ in 0..bits {
        mantissa = (&mantissa * &mantissa) >> places;
        log <<= 1;
        if mantissa >= two {
            mantissa >>= 1;
            log += 1u32;
        }
    }
    let fixed = BigInt::from((log * x) >> (bits as usize - FIXED));
    KNOWN.with_borrow_mut(|known| {
        if known.len() > 200_000 {
            known.clear();
        }
        known.insert(x, fixed.clone());
    });
    fixed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(terms: &[(i64, u128)]) -> Bits {
        let mut sum = Bits::default();
        terms.iter().for_each(|&(times, x)| sum.add(times, x));
        sum
    }

    #[test]
    fn logarithms_are_those_of_floats() {
        for x in [2u128, 3, 4, 5, 6, 7, 10, 100, 12345, (1 << 40) + 7] {
            let expected = x as f64 * (x as f64).log2();
            let found = bits(&[(1, x)]).float();
            assert!((found / expected - 1.0).abs() < 1e-14, "{x}: {found}");
        }
        assert_eq!(bits(&[(1, 8)]).fixed, BigInt::from(24u64 << FIXED));
        assert_eq!(bits(&[(1, 1), (5, 0)]).fixed, BigInt::ZERO);
    }

    #[test]
    fn equal_sums_are_equal_and_others_are_not() {
        let equal = |a: &[(i64, u128)], b: &[(i64, u128)]| {
            Amount::Bits(bits(a)).compare(&Amount::Bits(bits(b)), 1) == (Ordering::Equal, false)
        };
        assert!(equal(&[(1, 8)], &[(12, 2)])); // 24 bits
        assert!(equal(&[(1, 8)], &[(3, 4)]));
        assert!(equal(&[(1, 6), (-1, 3)], &[(1, 3), (3, 2)])); // 6 + 6 log 3 - 3 log 3 = 3 log 3 + 6
        assert!(!equal(&[(1, 9)], &[(12, 2)]));
        // 190537 log2 3 is 301994, but for 10^-7: close for the library, different here.
        let (a, b) = (Amount::Bits(bits(&[(190537, 3)])), Amount::Bits(bits(&[(452991, 2)])));
        let (order, close) = a.compare(&b, 1);
        assert!(order.is_ne() && close);
        assert_eq!(a.compare(&Amount::Bits(bits(&[(190537, 3)])), 1), (Ordering::Equal, false));
    }

    #[test]
    fn ratios_and_least_gains() {
        let ratio = |a: &[(i64, u128)], b: &[(i64, u128)]| Amount::Ratio(bits(a), bits(b));
        let one = ratio(&[(1, 5), (-1, 3)], &[(1, 5), (-1, 3)]);
        assert_eq!(one.compare(&ratio(&[(1, 7)], &[(1, 7)]), 1), (Ordering::Equal, false));
        assert_eq!(one.compare(&ratio(&[(1, 7)], &[(2, 7)]), 1), (Ordering::Greater, false));
        let halves = [ratio(&[(1, 7)], &[(2, 7)]), ratio(&[(3, 5), (1, 2)], &[(6, 5), (1, 4), (-2, 2)])];
        // 2 * (15 log 5 + 2) is not 30 log 5 + 8 - 4, or is it.
        assert_eq!(halves[0].compare(&halves[1], 1), (Ordering::Equal, false));
        let gain = Amount::Bits(bits(&[(1, 4)])); // 8 bits
        assert_eq!(gain.at_least(&as_written(2.0), 4, 1), (true, false));
        assert_eq!(gain.at_least(&as_written(2.0000001), 4, 1), (false, true));
        assert_eq!(gain.at_least(&as_written(2.1), 4, 1), (false, false));
        let gain = Amount::Exact(BigRational::new(3.into(), 2.into()));
        assert_eq!(gain.at_least(&as_written(0.5), 3, 1), (true, false));
        assert_eq!(gain.at_least(&as_written(0.6), 3, 1), (false, false));
        assert_eq!(gain.float(), 1.5);
        for x in [0.1, 1.0, 1e-300, 1.7976931348623157e308, 123456.789, 5e-324, 0.0] {
            assert_eq!(float(&as_written(x)), x);
        }
        assert_eq!(as_written(0.25), BigRational::new(1.into(), 4.into()));
    }
}
