//! What subsets are compared by: the error of a tree and a penalty for its features, in integers.
//!
//! The worth of a tree is e + k P: e errors in units, k features, and P units for each feature, a ratio of whole numbers that
//! may have hundreds of digits. Nothing but the order of such sums matters to a search. Two of them compare as e does with
//! j P, where e is a difference of errors and j one of features. So any P' will do for P that has the same whole numbers, and
//! none that P has not, among its first multiples; and that is so if no fraction of a denominator up to the greatest j lies
//! between P and P', nor is one of them. If P has such a denominator itself it stays what it is. Else its neighbours among
//! those fractions (Farey's) are found from its continued fraction, and their mediant is taken, which has at most twice that
//! denominator. From then on the order is that of sums of 128 bits.

use num_bigint::BigUint;
use num_integer::Integer;

use super::Goal;
use super::ground::Ground;
use crate::error::{Error, Result};

impl Goal {
    /// Checks ranges: fractions finite and not negative.
    pub fn checked(self) -> Result<Self> {
        for (name, value) in [("delta", self.delta), ("feature_penalty", self.feature_penalty)] {
            if !(value.is_finite() && value >= 0.0) {
                let expected = "finite and not negative".into();
                return Err(Error::InvalidParameter { name, expected, got: value.to_string() });
            }
        }
        Ok(self)
    }
}

/// How many units an error of one is: a ratio of whole numbers, times a power of two.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Whole {
    pub total: u64,
    pub factor: u64,
    pub divisor: u64,
    pub two: i32,
}

impl Whole {
    /// As many as this float says, which is finite and positive.
    pub fn of_float(x: f64) -> Self {
        let bits = x.to_bits();
        let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
        let (total, two) = if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) };
        Whole { total, factor: 1, divisor: 1, two }
    }

    /// Errors in units as a fraction of all.
    pub fn fraction(&self, errors: u64) -> f64 {
        let fraction = errors as f64 / (self.total as f64 * (self.factor as f64 / self.divisor as f64));
        // In two steps, since one may be out of range.
        fraction * 2f64.powi(-self.two / 2) * 2f64.powi(-self.two - -self.two / 2)
    }
}

/// Errors and penalties in a common unit. Fractions are taken for the decimals that they print as: 0.1 is a tenth.
#[derive(Debug, Clone, Copy)]
pub(super) struct Objective {
    /// How many of these units an error unit has.
    scale: u128,
    /// What a feature costs.
    penalty: u128,
    /// How far from the least value is near enough.
    pub delta: u128,
    whole: Whole,
    /// What a feature costs, as the fraction that was given.
    feature_penalty: f64,
    most_features: u64,
}

/// Errors are less.
const MOST_ERRORS: u128 = 1 << 62;
/// A feature that costs more than all errors may as well cost so much.
const MOST_PENALTY: u128 = 1 << 64;

impl Objective {
    pub fn new(goal: &Goal, ground: &Ground) -> Self {
        Self::of(goal, ground.whole(), ground.n_features() as u64)
    }

    /// For trees of at most so many features.
    fn of(goal: &Goal, whole: Whole, most_features: u64) -> Self {
        let [(penalty, penalty_places), (delta, delta_places)] = [goal.feature_penalty, goal.delta].map(decimal);
        let places = penalty_places.min(delta_places).min(0);
        // Both as multiples of one over a common divisor.
        let tens = |places: i32| BigUint::from(10u32).pow(places as u32);
        let units = (BigUint::from(whole.total) * whole.factor) << whole.two.max(0);
        let divisor = (BigUint::from(whole.divisor) << -whole.two.min(0)) * tens(-places);
        let multiple = |digits: u64, of: i32| &units * digits * tens(of - places);
        let (penalty, delta) = (multiple(penalty, penalty_places), multiple(delta, delta_places));
        // Differences of features on either side.
        let like = like(&penalty, &divisor, 2 * most_features.max(1));
        let mut objective = Objective {
            scale: like.1,
            penalty: like.0,
            delta: 0,
            whole,
            feature_penalty: goal.feature_penalty,
            most_features,
        };
        objective.delta = objective.within(&delta, &penalty, &divisor);
        objective
    }

    /// The greatest difference of two values that is not more than a delta.
    fn within(&self, delta: &BigUint, penalty: &BigUint, divisor: &BigUint) -> u128 {
        if *delta == BigUint::ZERO {
            return 0;
        }
        let most = if self.penalty == 0 { 0 } else { self.most_features as i64 };
        let value =
            |errors: i128, features: i64| errors * self.scale as i128 + i128::from(features) * self.penalty as i128;
        let greatest = (-most..=most).filter_map(|features| {
            let of_features = penalty * features.unsigned_abs();
            // How many errors may come with so many features.
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
        u128::from(error) * self.scale + self.penalty * n_features as u128
    }

    /// Whether features cost anything.
    pub fn penalizes(&self) -> bool {
        self.penalty > 0
    }

    /// The fewest errors that are worth a value at least, without a feature.
    pub fn errors_of(&self, value: u128) -> u64 {
        value.div_ceil(self.scale).min(u128::from(u64::MAX)) as u64
    }

    /// A value of some tree or bound as a fraction of all cases. Complexity: O(features).
    pub fn fraction(&self, value: u128) -> f64 {
        // Sums of one value are of the same worth, whichever they are.
        let errors = |features: u64| {
            let rest = value.checked_sub(self.penalty * u128::from(features))?;
            let is_sum = rest % self.scale == 0 && rest / self.scale < MOST_ERRORS;
            is_sum.then_some((rest / self.scale, features))
        };
        let (errors, features) = (0..=self.most_features).find_map(errors).unwrap_or((value / self.scale, 0));
        self.whole.fraction(errors.min(u64::MAX.into()) as u64) + features as f64 * self.feature_penalty
    }
}

/// How often a number is in another, and what is left. 2^100 times is as good as infinitely often.
fn times(dividend: &BigUint, divisor: &BigUint) -> (u128, BigUint) {
    let (quotient, rest) = dividend.div_rem(divisor);
    (u128::try_from(quotient).map_or(1 << 100, |quotient| quotient.min(1 << 100)), rest)
}

/// A ratio of whole numbers that compares as `a` over `b` does with all ratios of a denominator up to `most`: itself, if it
/// has such a denominator. Above [`MOST_PENALTY`] all are alike.
fn like(a: &BigUint, b: &BigUint, most: u64) -> (u128, u128) {
    let most = u128::from(most);
    // Convergents, the last one first.
    let [mut last, mut before] = [(1, 0), (0, 1)];
    let (mut dividend, mut divisor) = (a.clone(), b.clone());
    while divisor != BigUint::ZERO {
        let (quotient, rest) = times(&dividend, &divisor);
        if last == (1, 0) && quotient >= MOST_PENALTY {
            return (MOST_PENALTY, 1);
        }
        if last.1 > 0 && quotient > (most - before.1) / last.1 {
            // The neighbours of the ratio are the last convergent and this one, which is as near as its denominator may come.
            let times = (most - before.1) / last.1;
            let near = (before.0 + times * last.0, before.1 + times * last.1);
            return (last.0 + near.0, last.1 + near.1);
        }
        (last, before) = ((quotient * last.0 + before.0, quotient * last.1 + before.1), last);
        (dividend, divisor) = (divisor, rest);
    }
    last
}

/// The digits of the shortest decimal that a float prints as, and the power of ten that they are multiples of.
fn decimal(x: f64) -> (u64, i32) {
    let text = format!("{x:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    // At most 17 of them.
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

    fn units(whole: Whole) -> BigRational {
        let number = |x: u64| BigRational::from(BigInt::from(x));
        number(whole.total) * number(whole.factor) / number(whole.divisor)
            * BigRational::from(BigInt::from(2)).pow(whole.two)
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

    fn wholes() -> impl Strategy<Value = Whole> {
        let total = prop_oneof![1u64..30, 1u64..1 << 20, 1u64..1 << 61];
        let factor = prop_oneof![Just(1u64), Just(10), Just(1_000_000), 1u64..1 << 20];
        (total, factor, prop_oneof![Just(1u64), 1u64..1 << 40], prop_oneof![4 => Just(0i32), 1 => -1070i32..1070])
            .prop_map(|(total, factor, divisor, two)| Whole { total, factor, divisor, two })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        /// Fault X3: values compare as sums of exact rationals do, with and without delta, whatever the size of penalties.
        #[test]
        fn fault_x3_values_compare_as_rationals_do(
            penalty in floats(),
            delta in floats(),
            whole in wholes(),
            n_features in prop_oneof![1u64..8, 1u64..200],
            pairs in prop::collection::vec(((0u64..1 << 61, 0u64..200), (0u64..1 << 61, 0u64..200), 0u32..62), 20),
            near in any::<bool>(),
        ) {
            let objective = Objective::of(&Goal { delta, feature_penalty: penalty, ..Goal::default() }, whole, n_features);
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
            let whole = Whole { total, factor: 1, divisor: 1, two: 0 };
            let objective = Objective::of(&Goal { feature_penalty: penalty, ..Goal::default() }, whole, 50);
            let shown = objective.fraction(objective.value(errors, features as usize));
            let expected = errors as f64 / total as f64 + features as f64 * penalty;
            // From the size on where a feature is worth more than all errors, errors may be taken for others.
            prop_assert!((shown - expected).abs() <= 1e-12 * expected || shown == expected, "{} {}", shown, expected);
        }
    }
}
