//! Exact means: they depend on the values and their masses alone, not on the order of rows or on repetitions.

/// The mean of floats by mass; the sum of masses is below 2^62. With an infinite value it is that infinity, and with
/// both infinities 0. `None` without mass.
///
/// Exact, except that the result is rounded to the nearest float (twice, if it is subnormal). Complexity: O(values).
pub(crate) fn of_floats(values: impl Iterator<Item = (f64, u64)>) -> Option<f64> {
    let (mut sums, mut total) = ([0i128; 2048], 0);
    let mut infinite = [false; 2];
    for (x, mass) in values {
        total += mass;
        if x.is_infinite() {
            infinite[usize::from(x > 0.0)] |= mass > 0;
            continue;
        }
        let (bits, exponent) = (x.to_bits(), (x.to_bits() >> 52) as usize & 2047);
        let mantissa = (bits & ((1 << 52) - 1)) as i128 | if exponent > 0 { 1 << 52 } else { 0 };
        // 53 digits times 62.
        sums[exponent] += i128::from(mass) * if x < 0.0 { -mantissa } else { mantissa };
    }
    if total == 0 {
        return None;
    }
    match infinite {
        [true, true] => return Some(0.0),
        [true, false] => return Some(f64::NEG_INFINITY),
        [false, true] => return Some(f64::INFINITY),
        _ => {}
    }
    // Sums of either sign as multiples of 2^-128 times the least float; the greater less the smaller.
    let mut totals = [[0u64; LIMBS]; 2];
    for (exponent, &sum) in sums.iter().enumerate().filter(|(_, sum)| **sum != 0) {
        add(&mut totals[usize::from(sum < 0)], sum.unsigned_abs(), 128 + exponent.max(1) - 1);
    }
    let [more, less] = &totals;
    let is_negative = more.iter().rev().lt(less.iter().rev());
    let (mut magnitude, less) = if is_negative { (*less, more) } else { (*more, less) };
    let mut borrow = false;
    for (a, &b) in magnitude.iter_mut().zip(less) {
        let (difference, first) = a.overflowing_sub(b);
        let (difference, second) = difference.overflowing_sub(u64::from(borrow));
        (*a, borrow) = (difference, first | second);
    }
    let mut remainder = 0u128;
    for limb in magnitude.iter_mut().rev() {
        let part = remainder << 64 | u128::from(*limb);
        (*limb, remainder) = ((part / u128::from(total)) as u64, part % u128::from(total));
    }
    let Some(top) = magnitude.iter().rposition(|&limb| limb != 0) else { return Some(0.0) };
    // Rounding to the nearest float needs the first 64 digits, and whether any later one is not 0.
    let (high, low) = (magnitude[top], if top > 0 { magnitude[top - 1] } else { 0 });
    let shift = high.leading_zeros();
    let both = (u128::from(high) << 64 | u128::from(low)) << shift;
    let others = both as u64 != 0 || remainder != 0 || magnitude[..top.saturating_sub(1)].iter().any(|&limb| limb != 0);
    let digits = ((both >> 64) as u64 | u64::from(others)) as f64;
    let scale = 64 * top as i32 - shift as i32 - 128 - 1074;
    // In two steps, since the power alone may be out of range.
    let mean = digits * 2f64.powi(scale / 2) * 2f64.powi(scale - scale / 2);
    Some(if is_negative { -mean } else { mean })
}

/// Words of a sum of floats by mass: 2046 exponents, 53 digits and 62, and 128 for the quotient.
const LIMBS: usize = (2046usize + 53 + 62 + 128 + 64).div_ceil(64);

/// Adds `x << shift`.
fn add(limbs: &mut [u64; LIMBS], x: u128, shift: usize) {
    let (start, bits) = (shift / 64, shift % 64);
    let parts =
        [(x as u64) << bits, ((x << bits) >> 64) as u64, if bits == 0 { 0 } else { (x >> (128 - bits)) as u64 }];
    let mut carry = false;
    for (i, limb) in limbs[start..].iter_mut().enumerate() {
        let (sum, first) = limb.overflowing_add(parts.get(i).copied().unwrap_or(0));
        let (sum, second) = sum.overflowing_add(u64::from(carry));
        (*limb, carry) = (sum, first | second);
        if i >= parts.len() && !carry {
            break;
        }
    }
}

/// The mean of integers by mass, rounded to the nearest, halves up. `None` without mass.
pub(crate) fn of_integers(values: impl Iterator<Item = (i64, u64)>) -> Option<i64> {
    let add = |(sum, total): (i128, i128), (x, mass): (i64, u64)| {
        (sum + i128::from(x) * i128::from(mass), total + i128::from(mass))
    };
    // 63 digits times 62.
    let (sum, total) = values.fold((0, 0), add);
    (total > 0).then(|| (sum.div_euclid(total) + i128::from(2 * sum.rem_euclid(total) >= total)) as i64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn means() {
        let mean = |values: &[f64]| of_floats(values.iter().map(|&x| (x, 1))).unwrap();
        assert_eq!(mean(&[0.1, 0.2, 0.3]), 0.2);
        assert_eq!(mean(&[1e300, -1e300, 3.0]), 1.0);
        assert_eq!(mean(&[f64::MAX, f64::MAX]), f64::MAX);
        assert_eq!(mean(&[5e-324, 5e-324]), 5e-324);
        assert_eq!(mean(&[0.0, 0.0]), 0.0);
        assert_eq!(mean(&[-1.0, 0.0, -2.0]), -1.0);
        // Half way between two floats, but for the least of all.
        assert_eq!(mean(&[1.0, 1.0 + f64::EPSILON]), 1.0);
        assert_eq!(mean(&[1.0, 1.0 + f64::EPSILON, 5e-324, 0.0]) * 2.0, 1.0 + f64::EPSILON);
        assert_eq!(mean(&[1.0, f64::INFINITY]), f64::INFINITY);
        assert_eq!(mean(&[f64::NEG_INFINITY, f64::INFINITY]), 0.0);
        assert_eq!(of_floats([].into_iter()), None);
        assert_eq!(of_integers([(i64::MAX, 1 << 61), (i64::MAX - 1, 1 << 61)].into_iter()), Some(i64::MAX));
        assert_eq!(of_integers([(-3, 1), (-2, 1)].into_iter()), Some(-2));
        assert_eq!(of_integers([].into_iter()), None);
    }

    proptest! {
        #[test]
        fn counts_are_repetitions(values in prop::collection::vec((-1e3f64..1e3, 0u64..4), 1..30)) {
            let repeated: Vec<f64> = values.iter().rev().flat_map(|&(x, n)| std::iter::repeat_n(x, n as usize)).collect();
            let once = of_floats(values.iter().copied());
            prop_assert_eq!(once, of_floats(repeated.iter().map(|&x| (x, 1))));
            if let Some(mean) = once {
                let plain = repeated.iter().sum::<f64>() / repeated.len() as f64;
                prop_assert!((mean - plain).abs() <= 1e-12 * 1e3, "{} {}", mean, plain);
            }
        }
    }
}
