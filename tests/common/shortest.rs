//! The constants of thresholds in other words than the library's: by exact rationals, and all decimals tried.

use lattree::data::{Kind, NumericType, Value};
use lattree::tree::Threshold;
use num_bigint::BigInt;
use num_rational::BigRational;

fn ten_to(exponent: u32) -> BigRational {
    BigRational::from(BigInt::from(10).pow(exponent))
}

/// The decimal that a text in scientific notation is.
fn decimal(text: &str) -> BigRational {
    let (number, exponent) = text.split_once('e').expect("scientific notation");
    let (whole, places) = number.split_once('.').unwrap_or((number, ""));
    let digits: BigInt = format!("{whole}{places}").parse().expect("digits");
    let exponent = exponent.parse::<i32>().expect("an exponent") - places.len() as i32;
    let power = ten_to(exponent.unsigned_abs());
    if exponent < 0 { BigRational::from(digits) / power } else { BigRational::from(digits) * power }
}

/// The middle half of a gap, and its middle.
struct Half {
    low: BigRational,
    high: BigRational,
    middle: BigRational,
}

impl Half {
    fn of(below: &BigRational, above: &BigRational) -> Self {
        let quarter = (above - below) / BigInt::from(4);
        Half { low: below + &quarter, high: above - &quarter, middle: (below + above) / BigInt::from(2) }
    }

    /// Of the multiples of a step in it, those that are allowed and nearest to the middle; ties: the smaller.
    fn nearest(&self, step: &BigRational, allowed: impl Fn(&BigInt) -> bool) -> Option<BigRational> {
        let first = (&self.middle / step).floor().to_integer();
        let around = (-2..=2).map(|i: i32| &first + BigInt::from(i)).filter(allowed);
        let inside = around.map(|n| BigRational::from(n) * step).filter(|x| self.low <= *x && *x <= self.high);
        inside.min_by_key(|x| (self.distance(x), x.clone()))
    }

    fn distance(&self, x: &BigRational) -> BigRational {
        let difference = x - &self.middle;
        if difference < BigRational::from(BigInt::from(0)) { -difference } else { difference }
    }

    /// The whole number of fewest digits before its last zeros.
    fn whole(&self) -> Option<BigRational> {
        self.nearest(&ten_to(0), |_| true)?;
        let n_digits = |x: &BigRational| x.to_integer().magnitude().to_string().len() as u32;
        let (low, high) = (n_digits(&self.low), n_digits(&self.high));
        let zero = BigRational::from(BigInt::from(0));
        let (least, most_zeros) = (if self.low < zero && zero < self.high { 0 } else { low.min(high) }, low.max(high));
        (1..400).find_map(|digits| {
            let most = BigInt::from(10).pow(digits);
            let few = |n: &BigInt| -&most < *n && *n < most;
            let of_step = |zeros| self.nearest(&ten_to(zeros), few);
            // Digits and zeros together are no fewer than the numbers of the half have.
            (least.saturating_sub(digits)..=most_zeros)
                .filter_map(of_step)
                .min_by_key(|x| (self.distance(x), x.clone()))
        })
    }

    fn shortest(&self) -> BigRational {
        let of_places = |places| self.nearest(&(ten_to(0) / ten_to(places)), |_| true);
        self.whole().or_else(|| (1..400).find_map(of_places)).expect("some decimal")
    }
}

/// Two floats given by their shortest digits: the shortest decimal in the middle half of their gap.
fn between(below: &str, above: &str) -> f64 {
    let t = Half::of(&decimal(below), &decimal(above)).shortest();
    let mut digits = 0;
    while !(&t * ten_to(digits)).is_integer() {
        digits += 1;
    }
    format!("{}e-{digits}", (&t * ten_to(digits)).to_integer()).parse().expect("a number")
}

pub fn float_between(below: f64, above: f64) -> f64 {
    if below.is_infinite() || above.is_infinite() {
        return below;
    }
    let t = between(&format!("{below:e}"), &format!("{above:e}"));
    if t < above { t } else { below }
}

pub fn single_between(below: f32, above: f32) -> f64 {
    between(&format!("{below:e}"), &format!("{above:e}"))
}

/// Of integers, dates, or times without a zone.
pub fn integer_between(number: NumericType, below: i64, above: i64) -> i64 {
    let rational = |x: i64| BigRational::from(BigInt::from(x));
    let half = Half::of(&rational(below), &rational(above));
    let of_unit = |unit: i64| half.nearest(&rational(unit), |_| true);
    let t = match (number, number.per_second()) {
        (_, Some(second)) => {
            let parts = (1..=9).map(|digits| second / 10i64.pow(digits)).filter(|&part| part > 0);
            [86_400, 3_600, 60, 1].into_iter().map(|seconds| seconds * second).chain(parts).find_map(of_unit)
        }
        (NumericType::Date, None) => of_unit(1),
        (_, None) => half.whole(),
    };
    t.map_or(below, |t| t.to_integer().try_into().expect("between integers of 64 bits"))
}

/// The constant between two values of a column, all of whose values are given, ascending; `None` before missing ones.
pub fn threshold(kind: &Kind, below: Value, above: Value, column: &[Value]) -> Option<Threshold> {
    // The values next to the middle.
    let around = |up_to_middle: &dyn Fn(&Value) -> bool| {
        let place = column.iter().rposition(up_to_middle).expect("the value below");
        (column[place], column[place + 1])
    };
    match (below, above) {
        (Value::Float(a), Value::Float(b)) => {
            let middle = Some(a / 2.0 + b / 2.0).filter(|&middle| a <= middle && middle < b).unwrap_or(a);
            match around(&|value| matches!(value, Value::Float(x) if *x <= middle)) {
                (Value::Float(a), Value::Float(b)) => Some(Threshold::Float(float_between(a, b))),
                other => panic!("{other:?} are not two values of one column"),
            }
        }
        (Value::Integer(a), Value::Integer(b)) => {
            let middle = (i128::from(a) + i128::from(b)).div_euclid(2) as i64;
            match (kind, around(&|value| matches!(value, Value::Integer(x) if *x <= middle))) {
                (Kind::Continuous(number), (Value::Integer(a), Value::Integer(b))) => {
                    Some(Threshold::Integer(integer_between(*number, a, b)))
                }
                other => panic!("{other:?} are not two values of one column"),
            }
        }
        (Value::Level(below), Value::Level(_)) => Some(Threshold::Level(below)),
        (_, Value::Missing) => None,
        other => panic!("{other:?} are not two values of one column"),
    }
}
