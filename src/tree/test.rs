//! The questions a node can ask of a case.

use serde::{Deserialize, Serialize};

use crate::data::Value;

/// The constant of a test `x <= t`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Threshold {
    /// For float columns.
    Float(#[serde(with = "super::json::float")] f64),
    /// For integers, dates and times.
    Integer(i64),
    /// For ordinal columns: a position in the column's levels.
    Level(u32),
}

/// A question about one feature. Branch 0 is taken by cases that pass.
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
    /// `x is missing`.
    Missing {
        /// Position of the feature in the schema.
        feature: u32,
    },
}

impl Test {
    /// The position of the feature asked about.
    pub fn feature(&self) -> u32 {
        match *self {
            Test::AtMost { feature, .. }
            | Test::Is { feature, .. }
            | Test::In { feature, .. }
            | Test::EachLevel { feature }
            | Test::Missing { feature } => feature,
        }
    }

    /// The branch a value takes; `None` where the test does not say: for a missing value (unless that is what is
    /// asked), for an unseen level, and for a value of another kind than the test's.
    #[inline]
    pub fn branch(&self, value: Value) -> Option<usize> {
        let pass = |passes: bool| Some(usize::from(!passes));
        match (self, value) {
            (Test::Missing { .. }, value) => pass(value == Value::Missing),
            (_, Value::Missing | Value::Unseen(_)) => None,
            (Test::AtMost { threshold, .. }, value) => threshold.at_least(value).and_then(pass),
            (Test::Is { level, .. }, Value::Level(code)) => pass(code == *level),
            (Test::In { levels, .. }, Value::Level(code)) => pass(levels.binary_search(&code).is_ok()),
            (Test::EachLevel { .. }, Value::Level(code)) => Some(code as usize),
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
