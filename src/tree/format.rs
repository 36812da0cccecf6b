//! Conditions, tests, leaves and values as text, in the names of the user's columns: `petal width <= 0.8`,
//! `color in {red, blue}`, `age > 30 or missing`.
//!
//! A condition says "or missing" where a case without a value takes its branch. Names are written as [`crate::names`]
//! says.

use std::borrow::Cow;

use super::fact::{BranchFact, Fact};
use super::times::whole;
use super::{Leaf, Split, Test, Threshold};
use crate::data::{Labels, Schema, Value};
use crate::names::{Of, shown};

/// The branch for all levels that a test does not list names the listed ones, if they are at most this many.
const LISTED: usize = 4;

/// The condition under which a case with a value takes a branch: `size <= medium`, `size > medium`, `color is not red`.
/// It does not say where cases without a value go; [`Tree::to_text`](super::Tree::to_text) does.
///
/// Panics if the split does not fit the schema; the splits of a [`Tree`](super::Tree) fit its own.
pub fn condition(schema: &Schema, split: &Split, branch: usize) -> String {
    branch_condition(schema, split, branch, None)
}

/// As [`condition`], with "or missing" if the branch is the one given as `or_missing`.
pub(super) fn branch_condition(schema: &Schema, split: &Split, branch: usize, or_missing: Option<usize>) -> String {
    format!("{} {}", feature_words(schema, split.test.feature()), branch_words(schema, split, branch, or_missing))
}

/// As [`branch_condition`], without the feature's name.
pub(super) fn branch_words(schema: &Schema, split: &Split, branch: usize, or_missing: Option<usize>) -> String {
    let BranchFact { fact, or_missing } = BranchFact::of(split, branch, or_missing);
    let words = match &fact {
        Fact::NotAmong(codes) if codes.len() > LISTED && matches!(split.test, Test::EachOf { .. }) => {
            "is any other".into()
        }
        fact => predicate(fact, schema, split.test.feature()),
    };
    with_missing(words, or_missing)
}

/// The condition under which a case passes a test; for one with a branch per level: `each level of color`, or
/// `each of {red, blue} of color`.
///
/// Panics if the test does not fit the schema.
pub fn test_words(schema: &Schema, test: &Test) -> String {
    match test {
        Test::EachLevel { feature } => format!("each level of {}", feature_words(schema, *feature)),
        Test::EachOf { feature, levels, missing } => {
            let or_missing = if *missing { ", or missing" } else { "" };
            let set = set_words(schema, *feature, levels);
            format!("each of {set} of {}{or_missing}", feature_words(schema, *feature))
        }
        test => fact_words(schema, test.feature(), &BranchFact { fact: Fact::of(test, 0), or_missing: false }),
    }
}

/// A fact in words, with the feature's name.
pub(super) fn fact_words(schema: &Schema, feature: u32, of: &BranchFact) -> String {
    let predicate = with_missing(predicate(&of.fact, schema, feature), of.or_missing);
    format!("{} {predicate}", feature_words(schema, feature))
}

fn with_missing(predicate: String, or_missing: bool) -> String {
    if or_missing { predicate + " or missing" } else { predicate }
}

/// The words of a fact after the feature's name.
fn predicate(fact: &Fact, schema: &Schema, feature: u32) -> String {
    let set = |codes: &[u32]| set_words(schema, feature, codes);
    match fact {
        Fact::AtMost(t) => format!("<= {}", constant(schema, feature, *t)),
        Fact::Above(t) => format!("> {}", constant(schema, feature, *t)),
        Fact::Among(codes) if codes.len() == 1 => format!("is {}", level_words(schema, feature, codes[0])),
        Fact::NotAmong(codes) if codes.len() == 1 => format!("is not {}", level_words(schema, feature, codes[0])),
        Fact::Among(codes) => format!("in {}", set(codes)),
        Fact::NotAmong(codes) => format!("not in {}", set(codes)),
        Fact::Missing(true) => "is missing".into(),
        Fact::Missing(false) => "is known".into(),
        Fact::Never => "in {}".into(),
    }
}

pub(super) fn feature_words(schema: &Schema, feature: u32) -> Cow<'_, str> {
    shown(&schema.features[feature as usize].name, Of::Column)
}

fn level_words(schema: &Schema, feature: u32, code: u32) -> Cow<'_, str> {
    shown(&schema.features[feature as usize].kind.levels()[code as usize], Of::Level)
}

fn set_words(schema: &Schema, feature: u32, codes: &[u32]) -> String {
    let levels: Vec<_> = codes.iter().map(|&code| level_words(schema, feature, code)).collect();
    format!("{{{}}}", levels.join(", "))
}

/// A leaf with its training mass: `Iris-virginica (46/1)` with the errors where there are any, `= 3.25 (12)`.
pub(super) fn leaf_words(labels: Option<&Labels>, leaf: &Leaf) -> String {
    let prediction = match (leaf, labels) {
        (Leaf::Class { label, .. }, Some(labels)) => class_words(labels, *label),
        (Leaf::Class { label, .. }, None) => label.to_string(),
        (Leaf::Number { mean, .. }, _) => format!("= {}", rounded(*mean)),
    };
    let (mass, errors) = (leaf.mass(), leaf.errors());
    match errors > 0.0 {
        true => format!("{prediction} ({}/{})", rounded(mass), float(to_places(errors, places_of(mass)))),
        false => format!("{prediction} ({})", rounded(mass)),
    }
}

/// The name of a class. Panics if there is no such class.
pub(super) fn class_words(labels: &Labels, class: u32) -> String {
    shown(&labels.text(class as usize), Of::Class).into_owned()
}

fn constant(schema: &Schema, feature: u32, threshold: Threshold) -> String {
    match threshold {
        Threshold::Float(t) => float(t),
        Threshold::Level(t) => level_words(schema, feature, t).into_owned(),
        Threshold::Integer(t) => whole(&schema.features[feature as usize], t),
    }
}

/// The value of a cell. Panics if it is missing, or a level that the schema does not know.
pub(super) fn value_words(schema: &Schema, feature: u32, value: Value) -> String {
    match value {
        Value::Integer(x) => whole(&schema.features[feature as usize], x),
        // A float of 32 bits has no more digits than these.
        Value::Float(x) if schema.features[feature as usize].dtype == "Float32" && f64::from(x as f32) == x => {
            float((x as f32).to_string().parse().unwrap_or(x))
        }
        Value::Float(x) => float(x),
        Value::Level(code) => level_words(schema, feature, code).into_owned(),
        Value::Missing | Value::Unseen(_) => unreachable!("the caller says that in other words"),
    }
}

/// The shortest digits that give the float back, in scientific notation where plain digits would be long.
pub(super) fn float(x: f64) -> String {
    match x.abs() {
        size if size != 0.0 && size.is_finite() && !(1e-5..1e16).contains(&size) => format!("{x:e}"),
        _ => x.to_string(),
    }
}

/// Six significant digits; whole numbers in full.
pub(super) fn rounded(x: f64) -> String {
    float(to_places(x, places_of(x)))
}

/// How many of six significant digits come after the decimal point; negative if the last of them stands before it.
fn places_of(x: f64) -> i32 {
    // Of the rounded number: 9.9999999 is rounded to 10, which has one more digit before the point.
    let text = format!("{x:.5e}");
    5 - text.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0)
}

/// Rounds to `places` digits after the decimal point, or to the first significant digit if that comes later. Whole
/// numbers are kept.
fn to_places(x: f64, places: i32) -> f64 {
    if x.fract() == 0.0 {
        return x;
    }
    let first = 5 - places_of(x); // the place of the first significant digit
    let digits = (places + first).clamp(0, 16) as usize;
    format!("{x:.digits$e}").parse().unwrap_or(x)
}

#[cfg(test)]
mod tests {
    use super::super::fixtures;
    use super::*;

    fn both(test: Test) -> (String, String) {
        let schema = fixtures::schema();
        let split = Split { test, children: [1, 2].into(), masses: [1.0, 1.0].into(), default: 0, missing: false };
        (condition(&schema, &split, 0), condition(&schema, &split, 1))
    }

    fn pair(a: &str, b: &str) -> (String, String) {
        (a.into(), b.into())
    }

    #[test]
    fn conditions_read_well() {
        let (color, size) = (fixtures::COLOR, fixtures::SIZE);
        let medium = Test::AtMost { feature: size, threshold: Threshold::Level(1) };
        assert_eq!(both(fixtures::below(1, 0.8)), pair("petal width <= 0.8", "petal width > 0.8"));
        assert_eq!(both(medium), pair("size <= medium", "size > medium"));
        assert_eq!(both(Test::Is { feature: color, level: 0 }), pair("color is red", "color is not red"));
        let set = Test::In { feature: color, levels: vec![0, 2] };
        assert_eq!(both(set), pair("color in {red, blue}", "color not in {red, blue}"));
        assert_eq!(both(Test::Missing { feature: color }), pair("color is missing", "color is known"));
        assert_eq!(both(Test::EachLevel { feature: color }), pair("color is red", "color is green"));
        let schema = fixtures::schema();
        assert_eq!(test_words(&schema, &Test::EachLevel { feature: color }), "each level of color");
        assert_eq!(test_words(&schema, &fixtures::below(1, 0.8)), "petal width <= 0.8");
    }

    #[test]
    fn the_rest_of_the_levels_is_named_by_what_it_is_not() {
        let schema = fixtures::schema();
        let words = |feature, levels: &[u32], missing| {
            let test = Test::EachOf { feature, levels: levels.to_vec(), missing };
            let branches = test.n_branches(schema.features[feature as usize].kind.levels().len());
            let whole = test_words(&schema, &test);
            let split = Split {
                children: (1..=branches as u32).collect(),
                masses: vec![1.0; branches].into(),
                default: branches as u32 - 1,
                missing: false,
                test,
            };
            let or_missing = (!missing).then_some(branches - 1);
            let condition = |branch| branch_condition(&schema, &split, branch, or_missing);
            (whole, (0..branches).map(condition).collect::<Vec<_>>())
        };
        let (whole, branches) = words(fixtures::COLOR, &[0, 2], true);
        assert_eq!(whole, "each of {red, blue} of color, or missing");
        assert_eq!(branches, ["color is red", "color is blue", "color is missing", "color not in {red, blue}"]);
        let (whole, branches) = words(fixtures::COLOR, &[1], false);
        assert_eq!(whole, "each of {green} of color");
        assert_eq!(branches, ["color is green", "color is not green or missing"]);
        assert_eq!(words(9, &[0, 1, 2, 3, 5], false).1[5], r#""" is any other or missing"#);
        assert_eq!(words(9, &[0, 2, 4, 5], true).1[5], r#""" not in {3 speed, "a,b", "not red", " x"}"#);
    }

    #[test]
    fn names_are_quoted_where_needed() {
        let test = Test::In { feature: 9, levels: vec![0, 1, 2, 3] };
        assert_eq!(both(test).0, r#""" in {3 speed, "", "a,b", "missing"}"#);
        let labels = Labels::Strings(vec!["yes (3)".into(), "a\nb".into()]);
        assert_eq!([0, 1].map(|class| class_words(&labels, class)), [r#""yes (3)""#, r#""a\nb""#]);
    }

    #[test]
    fn floats_are_short_and_exact() {
        for (x, text) in [
            (2.45, "2.45"),
            (2.0, "2"),
            (-0.1, "-0.1"),
            (0.0, "0"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1e300, "1e300"),
            (5e-324, "5e-324"),
            (1e15, "1000000000000000"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(float(x), text);
            assert_eq!(text.parse::<f64>(), Ok(x));
        }
        for (x, text) in
            [(50.0, "50"), (4.1 + 0.2, "4.3"), (1234567.0, "1234567"), (1e-7, "1e-7"), (2.0 / 3.0, "0.666667")]
        {
            assert_eq!(rounded(x), text);
        }
    }

    #[test]
    fn leaves_show_mass_and_errors() {
        let schema = fixtures::schema();
        let words = |masses: [f64; 3], empty| {
            leaf_words(schema.labels(), &Leaf::Class { label: 0, masses: masses.into(), empty })
        };
        assert_eq!(words([50.0, 50.0, 50.0], false), "Iris-setosa (150/100)");
        assert_eq!(words([2.5, 0.0, 0.0], false), "Iris-setosa (2.5)");
        assert_eq!(words([2.5, 1.0, 0.0], true), "Iris-setosa (0)");
        assert_eq!(leaf_words(None, &Leaf::Number { mean: 3.25, mass: 12.0 }), "= 3.25 (12)");
    }
}
