//! Means that depend on the values and their masses alone, not on the order of rows or on how they are repeated.

/// The mean of floats by mass; masses are below 2^62 in all. With an infinite value it is that infinity, with both, 0.
/// `None` without mass.
///
/// Mantissas of one exponent are summed exactly, the sums in the order of exponents with a hundred digits.
/// Complexity: O(values).
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
    // In units of the greatest exponent that occurs, so that nothing overflows before the division.
    let Some(greatest) = sums.iter().rposition(|&sum| sum != 0) else { return Some(0.0) };
    let greatest = greatest.max(1) as i32;
    let (mut high, mut low) = (0.0, 0.0);
    for (exponent, &sum) in (0..).zip(&sums) {
        // Beyond this the digits are lost anyway, and the scale would be no normal number.
        if sum == 0 || greatest - exponent > 900 {
            continue;
        }
        let scale = 2f64.powi(exponent.max(1) - greatest);
        let mut rest = sum;
        while rest != 0 {
            let part = rest as f64;
            rest -= part as i128;
            add(&mut high, &mut low, part * scale);
        }
    }
    let total = total as f64; // below 2^53, or a rounding no greater than the others
    let quotient = (high + low) / total;
    let left = (-quotient).mul_add(total, high) + low;
    let mean = quotient + left / total;
    // Two steps: the power alone may be out of range.
    let scale = greatest - 1075;
    Some(mean * 2f64.powi(scale / 2) * 2f64.powi(scale - scale / 2))
}

/// Adds to a sum of two floats, the second of which is what rounding the first left out.
fn add(high: &mut f64, low: &mut f64, x: f64) {
    let sum = *high + x;
    let of_x = sum - *high;
    let error = (*high - (sum - of_x)) + (x - of_x);
    (*high, *low) = (sum, *low + error);
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
