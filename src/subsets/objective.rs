//! What a search minimises: the error of a tree plus a penalty for its features, in integers.
//!
//! The value of a tree is e + k P: e error units, k features, and P units for each feature. P is a ratio of whole
//! numbers that may have hundreds of digits. A search depends on the order of such values only. Two of them compare as
//! e does with j P, where e is a difference of errors and j a difference of numbers of features. So P may be replaced
//! by any P' whose first multiples compare with whole numbers as those of P do. That holds if no fraction with a
//! denominator up to the greatest j lies between P and P' or equals one of them. If P has such a denominator itself, it
//! stays what it is. Otherwise its neighbours among those fractions (the Farey sequence) follow from its continued
//! fraction, and P' is their mediant, whose denominator is at most twice the greatest j. From then on values are
//! integers of 128 bits.

use num_bigint::BigUint;
use num_integer::Integer;

use super::error_units::ErrorUnits;
use super::params::Goal;

/// Errors and penalties in a common unit. `delta` and `feature_penalty` are taken for the decimals that they print as:
/// 0.1 is a tenth.
#[derive(Debug, Clone, Copy)]
pub(super) struct SubsetObjective {
    /// The value of an error of one unit.
    per_error: u128,
    /// The value of a feature.
    penalty: u128,
    /// How far from the least value a subset may be.
    pub delta: u128,
    units: ErrorUnits,
    /// The penalty of a feature, as the fraction that was given.
    feature_penalty: f64,
    most_features: u64,
}

/// Errors are below this number of units.
const MOST_ERRORS: u128 = 1 << 62;
/// The penalty of a feature that costs more than all errors together: any such penalty leads to the same order.
const MOST_PENALTY: u128 = 1 << 64;

impl SubsetObjective {
    /// For trees of at most `most_features` features, with errors in these units.
    pub fn new(goal: &Goal, units: ErrorUnits, most_features: usize) -> Self {
        let most_features = most_features as u64;
        let [(penalty, penalty_places), (delta, delta_places)] = [goal.feature_penalty, goal.delta].map(decimal);
        let places = penalty_places.min(delta_places).min(0);
        // Both as multiples of one over a common divisor.
        let tens = |places: i32| BigUint::from(10u32).pow(places as u32);
        let per_one = (BigUint::from(units.total) * units.factor) << units.exponent.max(0);
        let divisor = (BigUint::from(units.divisor) << -units.exponent.min(0)) * tens(-places);
        let multiple = |digits: u64, of: i32| &per_one * digits * tens(of - places);
        let (penalty, delta) = (multiple(penalty, penalty_places), multiple(delta, delta_places));
        // With delta, features differ by up to twice their number.
        let (scaled_penalty, per_error) = same_order(&penalty, &divisor, 2 * most_features.max(1));
        let mut objective = SubsetObjective {
            per_error,
            penalty: scaled_penalty,
            delta: 0,
            units,
            feature_penalty: goal.feature_penalty,
            most_features,
        };
        objective.delta = objective.within(&delta, &penalty, &divisor);
        objective
    }

    /// The greatest difference of two values that is not more than delta.
    fn within(&self, delta: &BigUint, penalty: &BigUint, divisor: &BigUint) -> u128 {
        if *delta == BigUint::ZERO {
            return 0;
        }
        let most = if self.penalty == 0 { 0 } else { self.most_features as i64 };
        let value =
            |errors: i128, features: i64| errors * self.per_error as i128 + i128::from(features) * self.penalty as i128;
        let greatest = (-most..=most).filter_map(|features| {
            let of_features = penalty * features.unsigned_abs();
            // The most errors that may come with this difference of features.
            let errors = if features <= 0 {
                times(&(delta + of_features), divisor).0.min(MOST_ERRORS) as i128
            } else if of_features <= *delta {
                times(&(delta - of_features), divisor).0.min(MOST_ERRORS) as i128
            } else {
                let (n, rest) = Some(times(&(of_features - delta), divisor)).filter(|(n, _)| *n < MOST_ERRORS)?;
                -(n as i128 + i128::from(rest != BigUint::ZERO))
            };
            Some(value(errors, features))
        });
        greatest.max().unwrap_or(0).max(0) as u128
    }

    /// The value of an error in units and a number of features.
    #[inline]
    pub fn value(&self, error: u64, n_features: usize) -> u128 {
        u128::from(error) * self.per_error + self.penalty * n_features as u128
    }

    /// Whether features cost anything.
    pub fn penalizes(&self) -> bool {
        self.penalty > 0
    }

    /// The fewest errors whose value is at least this one, without any feature.
    pub fn errors_of(&self, value: u128) -> u64 {
        value.div_ceil(self.per_error).min(u128::from(u64::MAX)) as u64
    }

    /// The value of a tree or a bound as a fraction of all cases. Complexity: O(features).
    pub fn fraction(&self, value: u128) -> f64 {
        // Any errors and features that make up this value will do.
        let errors = |features: u64| {
            let rest = value.checked_sub(self.penalty * u128::from(features))?;
            let is_sum = rest % self.per_error == 0 && rest / self.per_error < MOST_ERRORS;
            is_sum.then_some((rest / self.per_error, features))
        };
        let (errors, features) = (0..=self.most_features).find_map(errors).unwrap_or((value / self.per_error, 0));
        self.units.fraction(errors.min(u64::MAX.into()) as u64) + features as f64 * self.feature_penalty
    }
}

/// The quotient and the remainder of two numbers. Quotients are cut off at 2^100, which is as good as infinite here.
fn times(dividend: &BigUint, divisor: &BigUint) -> (u128, BigUint) {
    let (quotient, rest) = dividend.div_rem(divisor);
    (u128::try_from(quotient).map_or(1 << 100, |quotient| quotient.min(1 << 100)), rest)
}

/// A ratio of whole numbers that compares with all fractions of a denominator up to `most` as `a` over `b` does: the
/// same ratio, if it has such a denominator. Ratios above [`MOST_PENALTY`] are replaced by it.
fn same_order(a: &BigUint, b: &BigUint, most: u64) -> (u128, u128) {
    let most = u128::from(most);
    // The last two convergents, the later one first.
    let [mut last, mut before] = [(1, 0), (0, 1)];
    let (mut dividend, mut divisor) = (a.clone(), b.clone());
    while divisor != BigUint::ZERO {
        let (quotient, rest) = times(&dividend, &divisor);
        if last == (1, 0) && quotient >= MOST_PENALTY {
            return (MOST_PENALTY, 1);
        }
        if last.1 > 0 && quotient > (most - before.1) / last.1 {
            // The neighbours of the ratio are the last convergent and the semiconvergent of the greatest denominator
            // allowed.
            let times = (most - before.1) / last.1;
            let semiconvergent = (before.0 + times * last.0, before.1 + times * last.1);
            return (last.0 + semiconvergent.0, last.1 + semiconvergent.1);
        }
        (last, before) = ((quotient * last.0 + before.0, quotient * last.1 + before.1), last);
        (dividend, divisor) = (divisor, rest);
    }
    last
}

/// The shortest decimal that a float prints as: its digits, and the power of ten that they are multiples of. This is
/// exact for every float, unlike [`Scale`](crate::scale::Scale), which takes numbers near a common unit for multiples
/// of it.
fn decimal(x: f64) -> (u64, i32) {
    let text = format!("{x:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    // There are at most 17 digits.
    let digits = format!("{whole}{part}").parse().unwrap_or(0);
    (digits, exponent.parse::<i32>().unwrap_or(0) - part.len() as i32)
}

#[cfg(test)]
mod tests {
    use num_bigint::BigInt;
    use num_rational::BigRational;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fractions_are_the_decimals_they_print_as() {
        let cases = [(0.0, (0, 0)), (0.1, (1, -1)), (0.025, (25, -3)), (3.0, (3, 0)), (1e-7, (1, -7)), (20.0, (2, 1))];
        for (x, expected) in cases {
            assert_eq!(decimal(x), expected);
        }
        assert_eq!(decimal(5e-324), (5, -324));
        assert_eq!(decimal(f64::MAX), (17976931348623157, 292));
    }

    /// The decimal that a float prints as.
    fn rational(x: f64) -> BigRational {
        let (digits, places) = decimal(x);
        BigRational::from(BigInt::from(digits)) * BigRational::from(BigInt::from(10)).pow(places)
    }

    fn units(whole: ErrorUnits) -> BigRational {
        let number = |x: u64| BigRational::from(BigInt::from(x));
        number(whole.total) * number(whole.factor) / number(whole.divisor)
            * BigRational::from(BigInt::from(2)).pow(whole.exponent)
    }

    fn floats() -> impl Strategy<Value = f64> {
        let listed = [0.0, 1e-300, 1e-9, 0.1, 0.25, 1.0 / 3.0, 0.6, 1.0, 2.5, 1e15, 1e300, 5e-324, f64::MAX];
        prop_oneof![
            prop::sample::select(listed.to_vec()),
            0.0..1.0f64,
            (-320i32..308, 1u64..1 << 53)
                .prop_map(|(places, digits)| format!("{digits}e{}", places - 16).parse::<f64>().unwrap_or(1.0)),
            (1u64..1000, 1u64..1000).prop_map(|(a, b)| a as f64 / b as f64)
        ]
        .prop_filter("finite", |x| x.is_finite())
    }

    fn wholes() -> impl Strategy<Value = ErrorUnits> {
        let total = prop_oneof![1u64..30, 1u64..1 << 20, 1u64..1 << 61];
        let factor = prop_oneof![Just(1u64), Just(10), Just(1_000_000), 1u64..1 << 20];
        (total, factor, prop_oneof![Just(1u64), 1u64..1 << 40], prop_oneof![4 => Just(0i32), 1 => -1070i32..1070])
            .prop_map(|(total, factor, divisor, exponent)| ErrorUnits { total, factor, divisor, exponent })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        /// Fault X3: values compare as sums of exact rationals do, with and without delta, whatever the size of
        /// penalties.
        #[test]
        fn fault_x3_values_compare_as_rationals_do(
            penalty in floats(),
            delta in floats(),
            whole in wholes(),
            n_features in prop_oneof![1u64..8, 1u64..200],
            pairs in prop::collection::vec(((0u64..1 << 61, 0u64..200), (0u64..1 << 61, 0u64..200), 0u32..62), 20),
            near in any::<bool>(),
        ) {
            let goal = Goal { delta, feature_penalty: penalty, ..Goal::default() };
            let objective = SubsetObjective::new(&goal, whole, n_features as usize);
            let per_feature = rational(penalty) * units(whole);
            let allowed = rational(delta) * units(whole);
            let exact = |(errors, features): (u64, u64)| {
                BigRational::from(BigInt::from(errors)) + &per_feature * BigInt::from(features)
            };
            for ((mut a, k_a), (b, k_b), bits) in pairs {
                let (k_a, k_b) = (k_a.min(n_features), k_b.min(n_features));
                let b = b >> bits;
                a >>= bits;
                if near {
                    // Errors that make up for the features, but for a unit.
                    let gap = (exact((b, k_b)) - exact((0, k_a))).floor().to_integer();
                    let close: u64 = gap.try_into().unwrap_or(a);
                    a = (close.min((1 << 61) - 2) + u64::from(bits % 3)).saturating_sub(1);
                }
                let (a, b) = ((a, k_a), (b, k_b));
                let value = |(errors, features): (u64, u64)| objective.value(errors, features as usize);
                prop_assert_eq!(value(a).cmp(&value(b)), exact(a).cmp(&exact(b)));
                prop_assert_eq!(
                    value(a) <= value(b).saturating_add(objective.delta),
                    exact(a) <= exact(b) + &allowed,
                    "{:?} {:?} delta {}", a, b, delta
                );
                let enough = objective.errors_of(value(a).saturating_sub(objective.delta));
                let least = (exact(a) - &allowed).ceil().to_integer().max(BigInt::ZERO);
                // There are no more errors.
                if least < BigInt::from(MOST_ERRORS) {
                    prop_assert!(exact((enough, 0)) + &allowed >= exact(a));
                    prop_assert!(enough == 0 || exact((enough - 1, 0)) + &allowed < exact(a));
                } else {
                    prop_assert!(u128::from(enough) >= MOST_ERRORS);
                }
            }
        }

        /// What is shown of a value is what it is, up to the rounding of floats.
        #[test]
        fn values_are_shown_as_they_are(
            penalty in floats(), total in 1u64..1 << 50, errors in 0u64..1 << 50, features in 0u64..50
        ) {
            let whole = ErrorUnits { total, factor: 1, divisor: 1, exponent: 0 };
            let objective = SubsetObjective::new(&Goal { feature_penalty: penalty, ..Goal::default() }, whole, 50);
            let shown = objective.fraction(objective.value(errors, features as usize));
            let expected = errors as f64 / total as f64 + features as f64 * penalty;
            // From the size on where a feature is worth more than all errors, errors may be taken for others.
            prop_assert!((shown - expected).abs() <= 1e-12 * expected || shown == expected, "{} {}", shown, expected);
        }
    }
}
