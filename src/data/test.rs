//! Tests: the questions that a node can ask of a case.

use serde::{Deserialize, Serialize};

use super::dataset::Value;

/// The constant of a test `x <= t`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Threshold {
    /// The constant of a column of floats.
    Float(#[serde(with = "super::serde_float")] f64),
    /// The constant of a column of integers, dates or times.
    Integer(i64),
    /// The constant of an ordinal column: a position in its levels.
    Level(u32),
}

/// A question about one feature. Cases that pass take branch 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Test {
    /// `x <= t`.
    AtMost {
        /// Position of the feature in the schema.
        feature: u32,
        /// The constant.
        threshold: Threshold,
    },
    /// `x is level`.
    Is {
        /// Position of the feature in the schema.
        feature: u32,
        /// Position of the level.
        level: u32,
    },
    /// `x in levels`.
    In {
        /// Position of the feature in the schema.
        feature: u32,
        /// Positions of the levels, ascending.
        levels: Vec<u32>,
    },
    /// One branch per level, in the order of the levels.
    EachLevel {
        /// Position of the feature in the schema.
        feature: u32,
    },
    /// One branch per listed level, in their order; then, if asked for, one for cases without a value; then, if the
    /// schema has levels that are not listed, one for all of them.
    EachOf {
        /// Position of the feature in the schema.
        feature: u32,
        /// Positions of the levels, ascending.
        levels: Vec<u32>,
        /// Whether cases without a value have a branch of their own.
        missing: bool,
    },
    /// `x is missing`.
    Missing {
        /// Position of the feature in the schema.
        feature: u32,
    },
}

impl Test {
    /// The kind of test, as tree files have it.
    pub fn kind(&self) -> &'static str {
        match self {
            Test::AtMost { .. } => "at_most",
            Test::Is { .. } => "is",
            Test::In { .. } => "in",
            Test::EachLevel { .. } => "each_level",
            Test::EachOf { .. } => "each_of",
            Test::Missing { .. } => "missing",
        }
    }

    /// The position of the feature asked about.
    pub fn feature(&self) -> u32 {
        match *self {
            Test::AtMost { feature, .. }
            | Test::Is { feature, .. }
            | Test::In { feature, .. }
            | Test::EachLevel { feature }
            | Test::EachOf { feature, .. }
            | Test::Missing { feature } => feature,
        }
    }

    /// How many branches the test has on a column of `n_levels` levels (0 for a column of numbers).
    pub fn n_branches(&self, n_levels: usize) -> usize {
        match self {
            Test::EachLevel { .. } => n_levels,
            Test::EachOf { levels, missing, .. } => {
                levels.len() + usize::from(*missing) + usize::from(levels.len() < n_levels)
            }
            _ => 2,
        }
    }

    /// Whether the test has a branch for cases without a value.
    pub fn asks_missing(&self) -> bool {
        matches!(self, Test::Missing { .. } | Test::EachOf { missing: true, .. })
    }

    /// The branch a value takes; `None` where the test does not say: for a missing value (unless that is what is
    /// asked), for an unseen level, and for a value of another kind than the test's.
    #[inline]
    pub fn branch(&self, value: Value) -> Option<usize> {
        let pass = |passes: bool| Some(usize::from(!passes));
        match (self, value) {
            (Test::Missing { .. }, value) => pass(value == Value::Missing),
            (Test::EachOf { levels, missing: true, .. }, Value::Missing) => Some(levels.len()),
            (_, Value::Missing | Value::Unseen(_)) => None,
            (Test::AtMost { threshold, .. }, value) => threshold.at_least(value).and_then(pass),
            (Test::Is { level, .. }, Value::Level(code)) => pass(code == *level),
            (Test::In { levels, .. }, Value::Level(code)) => pass(levels.binary_search(&code).is_ok()),
            (Test::EachLevel { .. }, Value::Level(code)) => Some(code as usize),
            (Test::EachOf { levels, missing, .. }, Value::Level(code)) => {
                Some(levels.binary_search(&code).unwrap_or(levels.len() + usize::from(*missing)))
            }
            _ => None,
        }
    }
}

impl Threshold {
    /// Whether `value <= self`, exactly also between integers and floats; `None` between numbers and levels.
    #[inline]
    pub fn at_least(&self, value: Value) -> Option<bool> {
        match (value, *self) {
            (Value::Float(x), Threshold::Float(t)) => Some(x <= t),
            (Value::Integer(x), Threshold::Integer(t)) => Some(x <= t),
            (Value::Level(x), Threshold::Level(t)) => Some(x <= t),
            (Value::Float(x), Threshold::Integer(t)) => Some(float_at_most_integer(x, t)),
            // x <= t, with t a float: x <= floor(t).
            (Value::Integer(x), Threshold::Float(t)) => Some(!float_less_than_integer(t, x)),
            _ => None,
        }
    }
}

/// 2^63: the least float above every i64.
const BEYOND: f64 = 9_223_372_036_854_775_808.0;

/// `x <= t` without rounding `t` to a float.
fn float_at_most_integer(x: f64, t: i64) -> bool {
    match x.ceil() {
        c if c >= BEYOND => false,
        c if c < -BEYOND => true,
        c => c as i64 <= t,
    }
}

/// `t < x` without rounding `x` to a float.
fn float_less_than_integer(t: f64, x: i64) -> bool {
    match t.floor() {
        f if f >= BEYOND => false,
        f if f < -BEYOND => true,
        f => (f as i64) < x,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_per_listed_level_one_for_missing_one_for_the_rest() {
        let of = |missing| Test::EachOf { feature: 0, levels: vec![1, 4], missing };
        let branches = |test: Test| {
            [Value::Level(0), Value::Level(1), Value::Level(4), Value::Level(5), Value::Missing, Value::Unseen(1)]
                .map(|value| test.branch(value))
        };
        assert_eq!(branches(of(false)), [Some(2), Some(0), Some(1), Some(2), None, None]);
        assert_eq!(branches(of(true)), [Some(3), Some(0), Some(1), Some(3), Some(2), None]);
        assert_eq!(of(true).branch(Value::Integer(1)), None);
        assert_eq!([of(false).n_branches(6), of(true).n_branches(6)], [3, 4]);
        assert_eq!([of(false).n_branches(2), of(true).n_branches(2)], [2, 3]); // all are listed
        assert_eq!([of(false).asks_missing(), of(true).asks_missing()], [false, true]);
    }
}
