//! The constant that separates two values of an ordered column: the shortest in the middle half of their gap.
//!
//! The gap of neighbours a < b has the middle half [a + (b - a)/4, b - (b - a)/4]. Of the constants in it that a test
//! `x <= t` can have, the one that is shortest *as the column is written* is taken: for floats the decimal of fewest
//! digits after the point, then of fewest significant digits; for integers that of fewest significant digits; for times
//! a whole day, else a whole hour, minute, second, tenth of a second, and so on. Of several the nearest to the middle,
//! of two as near the smaller. Where there is none, as between 3 and 4 in a column of integers, it is a.
//!
//! Floats are taken for the decimals that they are read from and printed as, so that 0.9 and 1.3 have the middle half
//! [1.0, 1.2], which holds 1; floats of 32 bits for the shorter decimals that 32 bits need.
//!
//! Where a node knows two neighbours with values of the whole column between them, one of the gaps there is chosen
//! first: the one that holds the middle.
//!
//! Always a <= t < b, whatever is rounded; in a column of 32-bit floats also if t is rounded to 32 bits, as programs do
//! that compare such a column with a constant.
//!
//! The middle half is symmetric, so it holds a multiple of some step if and only if it holds the multiple nearest to
//! the middle: steps are tried from long to short. Cost: less than a microsecond, without allocation but for digits.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::schema::{Feature, Kind, NumericType};
use super::test::Threshold;

/// How the values of an ordered column are written. Values are given as keys, integers of the same order.
#[derive(Debug, Clone)]
pub(crate) enum Notation {
    /// Floats of 64 bits.
    Double,
    /// Floats of 32 bits.
    Single,
    Integer,
    /// Whole days.
    Date,
    /// Instants and lengths of time, by units of the column a second. Days and hours are those of the zone.
    Time {
        per_second: i64,
        zone: Option<TimeZone>,
    },
    /// Positions of levels.
    Level,
}

/// Maps an f64 that is not NaN to a u64 of the same order.
pub(super) fn float_key(x: f64) -> u64 {
    let bits = x.to_bits();
    bits ^ ((bits as i64 >> 63) as u64 | 1 << 63)
}

fn float_of(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key & !(1 << 63) } else { !key })
}

pub(super) fn integer_key(x: i64) -> u64 {
    x as u64 ^ 1 << 63
}

fn integer_of(key: u64) -> i64 {
    (key ^ 1 << 63) as i64
}

impl Notation {
    pub(crate) fn of(feature: &Feature) -> Self {
        match &feature.kind {
            Kind::Continuous(NumericType::Float) if feature.dtype == "Float32" => Notation::Single,
            Kind::Continuous(NumericType::Float) => Notation::Double,
            Kind::Continuous(NumericType::Date) => Notation::Date,
            Kind::Continuous(number) => match number.per_second() {
                Some(per_second) => Notation::Time { per_second, zone: feature.zone() },
                None => Notation::Integer,
            },
            Kind::Ordinal(_) | Kind::Nominal(_) => Notation::Level,
        }
    }

    /// The constant of the test `x <= t` that separates the values of two keys, which differ.
    pub(crate) fn between(&self, below: u64, above: u64) -> Threshold {
        let whole = |steps: &dyn Fn(i128, i128) -> Option<i128>| {
            let (below, above) = (integer_of(below), integer_of(above));
            Threshold::Integer(steps(below.into(), above.into()).map_or(below, |t| t as i64))
        };
        match self {
            Notation::Double => Threshold::Float(double_between(float_of(below), float_of(above))),
            Notation::Single => Threshold::Float(single_between(float_of(below), float_of(above))),
            Notation::Integer => whole(&|below, above| first_whole(below, above, powers_of_ten(below + above, 0))),
            Notation::Date => whole(&|below, above| first_whole(below, above, [1])),
            Notation::Time { per_second, zone } => whole(&|below, above| {
                let by_clock =
                    |shift| first_whole(below + shift, above + shift, units(*per_second)).map(|t: i128| t - shift);
                let Some(zone) = zone else { return by_clock(0) };
                let shift_at = |instant| offset(zone, instant, *per_second);
                let shift = shift_at((below + above).div_euclid(2));
                let t = by_clock(shift)?;
                // The clock may be put forward or back between the constant and the middle.
                let own = shift_at(t);
                let again = by_clock(own).filter(|&again| own != shift && shift_at(again) == own);
                again.or(Some(t))
            }),
            Notation::Level => Threshold::Level(below as u32),
        }
    }

    /// The key in the middle of two, so that `below <= key < above`.
    pub(crate) fn middle(&self, below: u64, above: u64) -> u64 {
        match self {
            Notation::Double | Notation::Single => {
                let (a, b) = (float_of(below), float_of(above));
                let middle = a / 2.0 + b / 2.0;
                if (a..b).contains(&middle) { float_key(middle + 0.0) } else { below }
            }
            Notation::Level => below,
            _ => below + (above - below) / 2,
        }
    }

    /// The value of a key as a constant.
    pub(crate) fn value(&self, key: u64) -> Threshold {
        match self {
            Notation::Double | Notation::Single => Threshold::Float(float_of(key)),
            Notation::Level => Threshold::Level(key as u32),
            _ => Threshold::Integer(integer_of(key)),
        }
    }
}

/// Units of a column from UTC to the clock of the zone at an instant; 0 beyond the years that clocks know.
fn offset(zone: &TimeZone, instant: i128, per_second: i64) -> i128 {
    let second = instant.div_euclid(per_second.into()) as i64;
    let offset = Timestamp::from_second(second).map_or(0, |at| zone.to_offset(at).seconds());
    i128::from(offset) * i128::from(per_second)
}

/// Day, hour, minute, second, and tenths of the last down to the unit of the column.
fn units(per_second: i64) -> impl Iterator<Item = i128> {
    let second = i128::from(per_second);
    let parts = std::iter::successors(Some(second / 10), |unit| Some(unit / 10)).take_while(|&unit| unit > 0);
    [86_400, 3_600, 60, 1].into_iter().map(move |seconds| seconds * second).chain(parts)
}

/// Powers of ten from the greatest that is not above half of `sum`, or from 10^first if that is greater, down to 1.
fn powers_of_ten(sum: i128, first: u32) -> impl Iterator<Item = i128> {
    let first = (sum.abs() / 2).checked_ilog10().unwrap_or(0).max(first);
    (0..=first).rev().map(|exponent| 10i128.pow(exponent))
}

/// The multiple of the first step that has one in the middle half, nearest to the middle.
fn first_whole(below: i128, above: i128, steps: impl IntoIterator<Item = i128>) -> Option<i128> {
    let sum = below + above;
    let nearest = |step: i128| -step * (step - sum).div_euclid(2 * step); // ties: the smaller
    steps.into_iter().map(nearest).find(|t| (4 * t - 2 * sum).abs() <= above - below)
}

/// A number t with `below <= t < above`.
fn double_between(below: f64, above: f64) -> f64 {
    if below.is_infinite() || above.is_infinite() {
        return below; // there is no middle
    }
    let t = shortest(&format!("{below:e}"), &format!("{above:e}"));
    // The decimal lies between those of the two values, and so does the float nearest to it. If there is no float
    // between them, it may be the greater of the two.
    if t < above { t } else { below }
}

/// A number t with `below <= t < above`, and the same if t is rounded to 32 bits.
fn single_between(below: f64, above: f64) -> f64 {
    let (a, b) = (below as f32, above as f32);
    if f64::from(a) != below || f64::from(b) != above || a.is_infinite() {
        return double_between(below, above); // for instance means in place of missing values
    }
    if b.is_finite() {
        let t = shortest(&format!("{a:e}"), &format!("{b:e}"));
        if t >= below && (t as f32) < b {
            return t;
        }
    }
    // No 32-bit decimal lies between them: take the shortest one that is rounded to the value below.
    match a.next_up() {
        next if next.is_finite() => double_between(below, below + (f64::from(next) - below) / 2.0),
        _ => below,
    }
}

/// The shortest decimal in the middle half between two, as the float nearest to it.
fn shortest(below: &str, above: &str) -> f64 {
    let ((a, a_exponent), (b, b_exponent)) = match (digits(below), digits(above)) {
        ((0, _), b) => ((0, b.1), b),
        (a, (0, _)) => (a, (0, a.1)),
        both => both,
    };
    let (low, high) = (a_exponent.min(b_exponent), a_exponent.max(b_exponent));
    // The unit is one place finer than both decimals, so that the middle is a whole number of units.
    let (a, b, unit) = if high - low <= FAR {
        let scaled = |digits: i128, exponent: i32| digits * 10i128.pow((exponent - low + 1) as u32);
        (scaled(a, a_exponent), scaled(b, b_exponent), low - 1)
    } else if a_exponent > b_exponent {
        // The other value is so small that only its sign matters.
        (a * SOME_PLACES, b.signum(), high - 4)
    } else {
        (a.signum(), b * SOME_PLACES, high - 4)
    };
    let sum = a + b;
    // The decimal exponent of the first digit of the middle.
    let first = (sum.abs() / 2).checked_ilog10().unwrap_or(0) as i32 + unit;
    let t = match first {
        // Below 1 zero is the shortest decimal, if it lies in the middle half.
        ..-1 if 2 * sum.abs() <= b - a => 0,
        // Rounded up, the middle may have a digit less after the point: 0.08 becomes 0.1.
        ..0 => first_whole(a, b, powers_of_ten(sum, (first + 1 - unit) as u32)).unwrap_or(a),
        0.. => first_whole(a, b, powers_of_ten(sum, 0)).unwrap_or(a),
    };
    format!("{t}e{unit}").parse::<f64>().unwrap_or(f64::NAN) + 0.0 // no -0.0
}

/// Digits of floats are at most 17, and at most this many places apart where they are scaled to each other: so all fit.
const FAR: i32 = 17;
const SOME_PLACES: i128 = 10_000;

/// The digits of a float in scientific notation, and the power of ten that they are multiples of.
fn digits(text: &str) -> (i128, i32) {
    let (number, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let places = number.split_once('.').map_or(0, |(_, places)| places.len() as i32);
    let is_digit = |c: &u8| c.is_ascii_digit();
    let digits = number.bytes().filter(is_digit).fold(0, |digits, c| 10 * digits + i128::from(c - b'0'));
    let sign = if number.starts_with('-') { -1 } else { 1 };
    (sign * digits, exponent.parse::<i32>().unwrap_or(0) - places)
}
