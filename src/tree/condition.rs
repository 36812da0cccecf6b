//! Conditions and questions as objects: what a branch says of a column, and what a node asks about it. Names of columns
//! and levels are written out, so that both can be read without a schema.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::fact::{BranchFact, Fact};
use super::format::{branch_condition, fact_words};
use super::{Split, Test, Threshold, Tree, test_words};
use crate::data::{Kind, NumericType, Schema};

/// The comparison that a condition makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operator {
    /// The value is at most the limit.
    AtMost,
    /// The value is above the limit.
    Above,
    /// The value is the one level.
    Is,
    /// The value is not the one level.
    IsNot,
    /// The value is one of the levels. There are none if no value can meet the condition.
    In,
    /// The value is none of the levels.
    NotIn,
    /// There is no value.
    IsMissing,
    /// There is a value.
    IsKnown,
}

impl Operator {
    /// The operator as conditions write it: `<=`, `>`, `is`, `is not`, `in`, `not in`, `is missing`, `is known`.
    pub fn name(self) -> &'static str {
        match self {
            Operator::AtMost => "<=",
            Operator::Above => ">",
            Operator::Is => "is",
            Operator::IsNot => "is not",
            Operator::In => "in",
            Operator::NotIn => "not in",
            Operator::IsMissing => "is missing",
            Operator::IsKnown => "is known",
        }
    }
}

/// The constant of a test `x <= t`, in the terms of its column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The limit of a column of floats.
    Float(#[serde(with = "crate::data::serde_float")] f64),
    /// The limit of a column of integers, dates or times, in the unit of the column.
    Integer(i64, NumericType),
    /// A level of an ordinal column.
    Level(String),
}

impl Limit {
    fn of(schema: &Schema, feature: u32, threshold: Threshold) -> Self {
        match (threshold, &schema.features[feature as usize].kind) {
            (Threshold::Float(t), _) => Limit::Float(t),
            (Threshold::Integer(t), Kind::Continuous(number)) => Limit::Integer(t, *number),
            (Threshold::Integer(t), _) => Limit::Integer(t, NumericType::Integer),
            (Threshold::Level(level), kind) => Limit::Level(kind.levels()[level as usize].clone()),
        }
    }
}

/// A condition on one column. It prints as in [`Tree::to_text`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// The name of the column.
    pub column: String,
    /// The comparison.
    pub operator: Operator,
    /// The limit, for [`Operator::AtMost`] and [`Operator::Above`].
    pub limit: Option<Limit>,
    /// The names of levels, for [`Operator::Is`], [`Operator::IsNot`], [`Operator::In`] and [`Operator::NotIn`].
    pub levels: Vec<String>,
    /// Whether a case without a value meets it too.
    pub or_missing: bool,
    words: String,
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl Condition {
    pub(super) fn new(schema: &Schema, feature: u32, said: &BranchFact) -> Self {
        Self::with_words(schema, feature, said, fact_words(schema, feature, said))
    }

    fn with_words(schema: &Schema, feature: u32, BranchFact { fact, or_missing }: &BranchFact, words: String) -> Self {
        let limit = |threshold: &Threshold| Some(Limit::of(schema, feature, *threshold));
        let (operator, limit, levels): (_, _, &[u32]) = match fact {
            Fact::AtMost(threshold) => (Operator::AtMost, limit(threshold), &[]),
            Fact::Above(threshold) => (Operator::Above, limit(threshold), &[]),
            Fact::Among(levels) => (if levels.len() == 1 { Operator::Is } else { Operator::In }, None, levels),
            Fact::NotAmong(levels) => (if levels.len() == 1 { Operator::IsNot } else { Operator::NotIn }, None, levels),
            Fact::Missing(true) => (Operator::IsMissing, None, &[]),
            Fact::Missing(false) => (Operator::IsKnown, None, &[]),
            Fact::Never => (Operator::In, None, &[]),
        };
        let column = schema.features[feature as usize].name.clone();
        let levels = level_names(schema, feature, levels);
        Condition { column, operator, limit, levels, or_missing: *or_missing, words }
    }
}

fn level_names(schema: &Schema, feature: u32, codes: &[u32]) -> Vec<String> {
    let levels = schema.features[feature as usize].kind.levels();
    codes.iter().map(|&code| levels[code as usize].clone()).collect()
}

/// The question of a node. It prints as the condition of its first branch, or `each level of color`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The name of the column.
    pub column: String,
    /// Its position in the schema.
    pub feature: u32,
    /// The kind of test, as tree files have it: `at_most`, `is`, `in`, `each_level`, `each_of`, `missing`.
    pub kind: String,
    /// The limit, for `at_most`.
    pub limit: Option<Limit>,
    /// The levels listed by `is`, `in` and `each_of`; for `each_level` all levels of the column.
    pub levels: Vec<String>,
    /// The branch of a case without a value; `None` where it takes all of them in part.
    pub missing: Option<u32>,
    words: String,
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl Tree {
    /// The question of a split of this tree. Complexity: O(levels named).
    pub fn question(&self, split: &Split) -> Question {
        let (schema, feature) = (&*self.schema, split.test.feature());
        let kind = &schema.features[feature as usize].kind;
        let (limit, levels) = match &split.test {
            Test::AtMost { threshold, .. } => (Some(Limit::of(schema, feature, *threshold)), Vec::new()),
            Test::Is { level, .. } => (None, level_names(schema, feature, &[*level])),
            Test::In { levels, .. } | Test::EachOf { levels, .. } => (None, level_names(schema, feature, levels)),
            Test::EachLevel { .. } => (None, kind.levels().to_vec()),
            Test::Missing { .. } => (None, Vec::new()),
        };
        Question {
            column: schema.features[feature as usize].name.clone(),
            feature,
            kind: split.test.kind().into(),
            limit,
            levels,
            missing: self.missing_branch(split).map(|branch| branch as u32),
            words: test_words(schema, &split.test),
        }
    }

    /// The condition of a branch, as the text has it, with "or missing" if the branch is the one given as `or_missing`.
    pub(super) fn condition_of(&self, split: &Split, branch: usize, or_missing: Option<usize>) -> Condition {
        let schema = &self.schema;
        let words = branch_condition(schema, split, branch, or_missing);
        Condition::with_words(schema, split.test.feature(), &BranchFact::of(split, branch, or_missing), words)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{MissingPolicy, Node, Policies, fixtures};
    use super::*;

    #[test]
    fn questions_have_the_names_of_the_columns() {
        let question = |test: Test, policies: Policies| {
            let branches = test.n_branches(fixtures::schema().features[test.feature() as usize].kind.levels().len());
            let tree = Tree::new(fixtures::schema(), policies, fixtures::stump(test, branches)).unwrap();
            let Node::Split(split) = &tree.nodes()[0] else { panic!() };
            tree.question(split)
        };
        let (color, size) = (fixtures::COLOR, fixtures::SIZE);
        let plain = question(fixtures::below(1, 0.8), fixtures::DEFAULT);
        assert_eq!((plain.column.as_str(), plain.feature, plain.kind.as_str()), ("petal width", 1, "at_most"));
        assert_eq!((plain.limit.clone(), plain.missing), (Some(Limit::Float(0.8)), Some(0)));
        assert_eq!(plain.to_string(), "petal width <= 0.8");
        let medium = Test::AtMost { feature: size, threshold: Threshold::Level(1) };
        assert_eq!(question(medium, fixtures::DEFAULT).limit, Some(Limit::Level("medium".into())));
        let date = Test::AtMost { feature: 5, threshold: Threshold::Integer(3) };
        assert_eq!(question(date, fixtures::DEFAULT).limit, Some(Limit::Integer(3, NumericType::Date)));
        let fractional = Policies { missing: MissingPolicy::Fractional, ..fixtures::DEFAULT };
        let each_of = |missing| Test::EachOf { feature: color, levels: vec![0, 2], missing };
        let own = question(each_of(true), fractional);
        assert_eq!(
            (own.levels, own.missing, own.kind.as_str()),
            (vec!["red".into(), "blue".into()], Some(2), "each_of")
        );
        assert_eq!(question(each_of(false), fractional).missing, None);
        assert_eq!(question(Test::EachLevel { feature: color }, fixtures::DEFAULT).levels, ["red", "green", "blue"]);
        assert_eq!(question(Test::Missing { feature: color }, fractional).missing, Some(0));
    }

    proptest! {
        /// The text of a condition agrees with its fields, and it comes back from JSON.
        #[test]
        fn conditions_are_what_they_print(tree in fixtures::any_tree()) {
            for condition in tree.rules().into_iter().flat_map(|rule| rule.conditions) {
                let json = serde_json::to_string(&condition).unwrap();
                prop_assert_eq!(&serde_json::from_str::<Condition>(&json).unwrap(), &condition);
                let words = condition.to_string();
                prop_assert!(words.contains(condition.operator.name()));
                prop_assert_eq!(words.ends_with(" or missing"), condition.or_missing);
                prop_assert_eq!(condition.limit.is_some(), matches!(condition.operator, Operator::AtMost | Operator::Above));
                prop_assert_eq!(condition.levels.len() == 1, matches!(condition.operator, Operator::Is | Operator::IsNot));
            }
        }
    }
}
