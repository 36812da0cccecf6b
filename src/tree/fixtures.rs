//! Trees and tables for the tests of this module.

use std::sync::Arc;

use proptest::prelude::*;

use super::{Leaf, MissingPolicy, Node, Policies, Split, Test, Threshold, Tree, Unseen};
use crate::data::{Feature, Kind, Labels, NumericType, Schema, TargetSchema, Task};

pub(super) const DEFAULT: Policies = Policies { missing: MissingPolicy::Default, unseen: Unseen::Majority };

/// Positions in [`schema`].
pub(super) const COLOR: u32 = 2;
pub(super) const SIZE: u32 = 3;

fn feature(name: &str, kind: Kind) -> Feature {
    Feature { name: name.into(), kind, dtype: "test".into() }
}

fn levels(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
}

/// A schema with every kind of column, under names that are hard to print.
pub(super) fn schema() -> Arc<Schema> {
    let features = vec![
        feature("petal_length", Kind::Continuous(NumericType::Float)),
        feature("petal width", Kind::Continuous(NumericType::Float)),
        feature("color", Kind::Nominal(levels(&["red", "green", "blue"]))),
        feature("size", Kind::Ordinal(levels(&["small", "medium", "large"]))),
        feature("a\"b", Kind::Continuous(NumericType::Integer)),
        feature("c<d", Kind::Continuous(NumericType::Date)),
        feature("e&f;", Kind::Continuous(NumericType::DatetimeMs)),
        feature("g\\h", Kind::Continuous(NumericType::DatetimeUs)),
        feature("two\nlines", Kind::Continuous(NumericType::DatetimeNs)),
        feature("", Kind::Nominal(levels(&["3 speed", "", "a,b", "missing", "not red", " x"]))),
        feature("🌳", Kind::Nominal(levels(&["{}", "\"", "🌲"]))),
    ];
    let task = Task::Classes(Labels::Strings(levels(&["Iris-setosa", "Iris-versicolor", "Iris-virginica"])));
    let target = Some(TargetSchema { name: "class".into(), task, dtype: "String".into() });
    Arc::new(Schema { features, target }.checked().unwrap())
}

/// The same columns with numbers to predict.
pub(super) fn number_schema() -> Arc<Schema> {
    let target = Some(TargetSchema { name: "y".into(), task: Task::Numbers, dtype: "Float64".into() });
    Arc::new(Schema { target, ..(*schema()).clone() })
}

pub(super) fn leaf(label: u32) -> Node {
    let mut masses = [1.0, 1.5, 0.0];
    masses[label as usize] += 8.0;
    Node::Leaf(Leaf::Class { label, masses: masses.into(), empty: false })
}

pub(super) fn class_leaf(label: u32, masses: [f64; 3]) -> Node {
    Node::Leaf(Leaf::Class { label, masses: masses.into(), empty: false })
}

pub(super) fn split(test: Test, children: &[u32], masses: &[f64], default: u32) -> Node {
    Node::Split(Split { test, children: children.into(), masses: masses.into(), default, missing: false })
}

/// One split; branch b leads to a leaf of class b mod 3 and has mass b + 1; branch 0 is the default.
pub(super) fn stump(test: Test, branches: usize) -> Vec<Node> {
    let range = 1..=branches as u32;
    let masses: Vec<f64> = range.clone().map(f64::from).collect();
    let mut nodes = vec![split(test, &range.clone().collect::<Vec<_>>(), &masses, 0)];
    nodes.extend(range.map(|b| leaf((b - 1) % 3)));
    nodes
}

pub(super) fn below(feature: u32, t: f64) -> Test {
    Test::AtMost { feature, threshold: Threshold::Float(t) }
}

/// The well-known tree of the iris data.
pub(super) fn iris() -> Tree {
    let nodes = vec![
        split(below(0, 2.45), &[1, 2], &[50.0, 100.0], 1),
        class_leaf(0, [50.0, 0.0, 0.0]),
        split(below(1, 1.75), &[3, 4], &[54.0, 46.0], 0),
        class_leaf(1, [0.0, 49.0, 5.0]),
        class_leaf(2, [0.0, 1.0, 45.0]),
    ];
    Tree::new(schema(), DEFAULT, nodes).unwrap()
}

pub(super) fn iris_leaf() -> Tree {
    Tree::new(schema(), DEFAULT, vec![class_leaf(0, [50.0, 50.0, 50.0])]).unwrap()
}

/// `length` splits, each the second child of the one before: x <= 0, x <= 1, ...
pub(super) fn chain(length: u32) -> Tree {
    let mut nodes = Vec::new();
    for i in 0..length {
        nodes.push(split(below(0, f64::from(i)), &[2 * i + 1, 2 * i + 2], &[1.0, f64::from(length - i)], 1));
        nodes.push(leaf(i % 3));
    }
    nodes.push(leaf(2));
    Tree::new(schema(), DEFAULT, nodes).unwrap()
}

/// Trees over [`schema`] or [`number_schema`], with every kind of test and policy.
pub(super) fn any_tree() -> impl Strategy<Value = Tree> {
    (any::<bool>(), any_policies(), prop::collection::vec((any::<u64>(), -9.0..9.0f64), 0..40)).prop_map(
        |(classes, policies, choices)| {
            let schema = if classes { schema() } else { number_schema() };
            let mut nodes = Vec::new();
            grow(&schema, classes, &mut choices.into_iter(), 5, &mut nodes);
            Tree::new(schema, policies, nodes).unwrap()
        },
    )
}

fn any_policies() -> impl Strategy<Value = Policies> {
    let missing = prop_oneof![Just(MissingPolicy::Default), Just(MissingPolicy::Fractional)];
    let unseen = prop_oneof![Just(Unseen::Majority), Just(Unseen::Missing), Just(Unseen::Error)];
    (missing, unseen).prop_map(|(missing, unseen)| Policies { missing, unseen })
}

/// One subtree, as long as there are choices and depth; each choice makes one node. Returns its mass.
fn grow(
    schema: &Schema,
    classes: bool,
    choices: &mut impl Iterator<Item = (u64, f64)>,
    depth: usize,
    nodes: &mut Vec<Node>,
) -> f64 {
    let (mut bits, number) = choices.next().unwrap_or((0, 1.0));
    let mut pick = |n: usize| {
        let choice = bits % n as u64;
        bits /= n as u64;
        choice as u32
    };
    let index = nodes.len();
    if depth == 0 || pick(4) == 0 {
        let masses = [f64::from(pick(3)), f64::from(pick(50)), number.abs()];
        nodes.push(Node::Leaf(match classes {
            true => Leaf::Class { label: pick(3), masses: masses.into(), empty: pick(8) == 0 },
            false => Leaf::Number { mean: number * 1e-3, mass: masses[0] },
        }));
        return match &nodes[index] {
            Node::Leaf(leaf) => leaf.mass(),
            Node::Split(_) => unreachable!(),
        };
    }
    let feature = pick(schema.features.len());
    let kind = &schema.features[feature as usize].kind;
    let n_levels = kind.levels().len();
    let test = match (kind, pick(4)) {
        (_, 0) => Test::Missing { feature },
        (Kind::Continuous(NumericType::Float), 1) => below(feature, f64::NEG_INFINITY),
        (Kind::Continuous(NumericType::Float), _) => below(feature, number),
        (Kind::Continuous(_), 1) => Test::AtMost { feature, threshold: Threshold::Integer(i64::MIN) },
        (Kind::Continuous(_), _) => Test::AtMost { feature, threshold: Threshold::Integer((number * 1.1e15) as i64) },
        (_, 1) => match pick(2) {
            0 => Test::EachLevel { feature },
            _ => {
                let (missing, first) = (pick(2) == 0, pick(n_levels));
                let levels = (0..n_levels as u32).filter(|&code| code == first || pick(2) == 0).collect();
                Test::EachOf { feature, levels, missing }
            }
        },
        (Kind::Ordinal(_), _) => Test::AtMost { feature, threshold: Threshold::Level(pick(n_levels)) },
        (Kind::Nominal(_), 2) => Test::Is { feature, level: pick(n_levels) },
        (Kind::Nominal(_), _) => Test::In { feature, levels: (pick(2)..2 + pick(n_levels - 1)).collect() },
    };
    let branches = test.n_branches(n_levels);
    let default = pick(branches);
    nodes.push(leaf(0)); // replaced below
    let (mut children, mut masses) = (Vec::new(), Vec::new());
    for _ in 0..branches {
        children.push(nodes.len() as u32);
        masses.push(grow(schema, classes, choices, depth - 1, nodes));
    }
    let missing = !test.asks_missing() && pick(2) == 0;
    nodes[index] = split(test, &children, &masses, default);
    if let Node::Split(split) = &mut nodes[index] {
        split.missing = missing;
    }
    masses.iter().sum()
}
