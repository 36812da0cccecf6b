//! Checks that a list of nodes is a tree over a schema. Every [`Tree`](super::Tree) has passed it, also one from a
//! damaged or hostile file, so that trees are walked, printed and predicted with without further checks.

use super::{Leaf, Node, Split, Test, Threshold};
use crate::data::{Feature, Kind, Labels, NumericType, Schema, Task};
use crate::error::{Error, Result};
use crate::names::quoted;

/// The error says what is wrong; the caller adds where.
type Check<T = ()> = std::result::Result<T, String>;

/// Checks all nodes. Complexity: O(nodes + branches + masses), without recursion.
pub(super) fn check(schema: &Schema, nodes: &[Node]) -> Result<()> {
    let bad = |problem: String| Error::BadTree { problem };
    if nodes.is_empty() {
        return Err(bad("it has no node".into()));
    }
    if u32::try_from(nodes.len()).is_err() {
        return Err(bad(format!("it has {} nodes, the most is 2^32 - 1", nodes.len())));
    }
    let classes = schema.labels().map(|labels| match labels {
        Labels::WithExtra { classes, .. } => classes,
        labels => labels,
    });
    if let Some(Labels::Floats(labels)) = classes
        && let Some(label) = labels.iter().find(|label| !label.is_finite())
    {
        return Err(bad(format!("the class label {label} is not finite"))); // the file format cannot hold it
    }
    // The children announce the preorder: the node that must come next is on top. Every node is popped exactly once, so
    // it has one parent, can be reached from the root, and is on no cycle.
    let mut announced = vec![0];
    for (index, node) in nodes.iter().enumerate() {
        check_node(schema, nodes.len(), index, node, &mut announced)
            .map_err(|problem| bad(format!("node {index}: {problem}")))?;
    }
    match announced.pop() {
        None => Ok(()),
        Some(child) => Err(bad(format!("node {child} is the child of two nodes, or of one node twice"))),
    }
}

fn check_node(schema: &Schema, n_nodes: usize, index: usize, node: &Node, announced: &mut Vec<usize>) -> Check {
    match announced.pop() {
        Some(next) if next == index => {}
        Some(next) => return Err(format!("nodes must stand in preorder, and node {next} is expected here")),
        None => return Err("no node leads here".into()),
    }
    match node {
        Node::Leaf(leaf) => check_leaf(schema, leaf),
        Node::Split(split) => {
            check_split(schema, split)?;
            for &child in split.children.iter().rev() {
                match child as usize {
                    child if child >= n_nodes => return Err(format!("its child {child} does not exist")),
                    child if child <= index => return Err(format!("its child {child} does not come after it")),
                    child => announced.push(child),
                }
            }
            Ok(())
        }
    }
}

fn check_split(schema: &Schema, split: &Split) -> Check {
    let feature = split.test.feature();
    let feature = schema.features.get(feature as usize).ok_or_else(|| {
        format!("it asks about feature {feature}, and the schema has {} features", schema.features.len())
    })?;
    let branches =
        check_test(feature, &split.test).map_err(|why| format!("column {}: {why}", quoted(&feature.name)))?;
    if split.children.len() != branches {
        return Err(format!("it has {} children, its test has {branches} branches", split.children.len()));
    }
    if split.masses.len() != branches {
        return Err(format!("it has {} masses, its test has {branches} branches", split.masses.len()));
    }
    if split.default as usize >= branches {
        return Err(format!("its default branch is {}, its test has {branches} branches", split.default));
    }
    if split.missing && split.test.asks_missing() {
        return Err("it asks whether a value is missing, and says that cases did not answer".into());
    }
    check_masses(&split.masses)
}

/// Whether a feature of the schema can have the test.
#[cfg(any(feature = "python", test))]
pub(super) fn is_test_of(schema: &Schema, test: &Test) -> bool {
    schema.features.get(test.feature() as usize).is_some_and(|feature| check_test(feature, test).is_ok())
}

/// The number of branches of a test, if the feature can have it.
fn check_test(feature: &Feature, test: &Test) -> Check<usize> {
    let levels = feature.kind.levels();
    let known = |&level: &u32| match (level as usize) < levels.len() {
        true => Ok(()),
        false => Err(format!("level {level} does not exist, there are {}", levels.len())),
    };
    let branches = test.n_branches(levels.len());
    match (test, &feature.kind) {
        (Test::Missing { .. }, _) => Ok(branches),
        (Test::AtMost { threshold: Threshold::Float(t), .. }, Kind::Continuous(NumericType::Float)) => match t.is_nan()
        {
            true => Err("the threshold is not a number".into()),
            false => Ok(branches),
        },
        (Test::AtMost { threshold: Threshold::Integer(_), .. }, Kind::Continuous(number))
            if *number != NumericType::Float =>
        {
            Ok(branches)
        }
        (Test::AtMost { threshold: Threshold::Level(level), .. }, Kind::Ordinal(_)) => known(level).map(|()| branches),
        (Test::Is { level, .. }, Kind::Nominal(_)) => known(level).map(|()| branches),
        (Test::In { levels: set, .. }, Kind::Nominal(_))
        | (Test::EachOf { levels: set, .. }, Kind::Nominal(_) | Kind::Ordinal(_)) => {
            if set.is_empty() {
                return Err("the set of levels is empty".into());
            }
            if !set.windows(2).all(|pair| pair[0] < pair[1]) {
                return Err("the set of levels is not ascending".into());
            }
            set.iter().try_for_each(known).map(|()| branches)
        }
        (Test::EachLevel { .. }, Kind::Nominal(_) | Kind::Ordinal(_)) => match branches {
            0 => Err("there is no level to branch on".into()),
            branches => Ok(branches),
        },
        (test, kind) => {
            let kind = match kind {
                Kind::Continuous(number) => format!("{number:?}"),
                levels => levels.name().into(),
            };
            Err(format!("the test {} does not fit a column of kind {}", tag(test), kind.to_lowercase()))
        }
    }
}

fn tag(test: &Test) -> &'static str {
    match test {
        Test::AtMost { threshold: Threshold::Float(_), .. } => "at_most float",
        Test::AtMost { threshold: Threshold::Integer(_), .. } => "at_most integer",
        Test::AtMost { threshold: Threshold::Level(_), .. } => "at_most level",
        Test::Is { .. } => "is",
        Test::In { .. } => "in",
        Test::EachLevel { .. } => "each_level",
        Test::EachOf { .. } => "each_of",
        Test::Missing { .. } => "missing",
    }
}

fn check_leaf(schema: &Schema, leaf: &Leaf) -> Check {
    match (leaf, schema.target.as_ref().map(|target| &target.task)) {
        (Leaf::Class { label, masses, .. }, Some(Task::Classes(labels))) => {
            if *label as usize >= labels.len() {
                return Err(format!("its class {label} does not exist, there are {}", labels.len()));
            }
            if masses.len() != labels.len() {
                return Err(format!("it has {} masses, there are {} classes", masses.len(), labels.len()));
            }
            check_masses(masses)
        }
        (Leaf::Number { mean, mass }, Some(Task::Numbers)) => match mean.is_finite() {
            true => check_masses(&[*mass]),
            false => Err(format!("its mean is {mean}, it must be finite")),
        },
        (_, None) => Err("it predicts, but the schema has no target".into()),
        (Leaf::Class { .. }, _) => Err("it predicts a class, but the target holds numbers".into()),
        (Leaf::Number { .. }, _) => Err("it predicts a number, but the target holds classes".into()),
    }
}

/// Masses are divided by their sum in prediction, so that too must be finite.
fn check_masses(masses: &[f64]) -> Check {
    match masses.iter().find(|mass| !(mass.is_finite() && **mass >= 0.0)) {
        Some(mass) => Err(format!("a mass is {mass}, it must be finite and not negative")),
        None if masses.iter().sum::<f64>().is_finite() => Ok(()),
        None => Err("its masses have no finite sum".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Policies, Tree, fixtures};
    use super::*;

    /// The error for a changed split over two valid leaves.
    fn split_problem(change: impl FnOnce(&mut Split)) -> String {
        let mut nodes = fixtures::stump(Test::Missing { feature: 0 }, 2);
        match &mut nodes[0] {
            Node::Split(split) => change(split),
            Node::Leaf(_) => unreachable!(),
        }
        problem(nodes)
    }

    fn problem(nodes: Vec<Node>) -> String {
        match Tree::new(fixtures::schema(), fixtures::DEFAULT, nodes) {
            Err(Error::BadTree { problem }) => problem,
            other => panic!("{other:?}"),
        }
    }

    fn leaf_problem(leaf: Leaf) -> String {
        problem(vec![Node::Leaf(leaf)])
    }

    #[test]
    fn shapes_that_are_no_tree() {
        assert_eq!(problem(vec![]), "it has no node");
        let leaf = fixtures::leaf(0);
        assert_eq!(problem(vec![leaf.clone(), leaf.clone()]), "node 1: no node leads here");
        assert_eq!(split_problem(|s| s.children = [1, 3].into()), "node 0: its child 3 does not exist");
        assert_eq!(split_problem(|s| s.children = [0, 1].into()), "node 0: its child 0 does not come after it");
        assert!(split_problem(|s| s.children = [2, 1].into()).starts_with("node 1: nodes must stand in preorder"));
        assert!(split_problem(|s| s.children = [1, 1].into()).starts_with("node 2: nodes must stand in preorder"));
        let mut shared = fixtures::stump(Test::Missing { feature: 0 }, 2);
        shared.truncate(2);
        if let Node::Split(split) = &mut shared[0] {
            split.children = [1, 1].into();
        }
        assert_eq!(problem(shared), "node 1 is the child of two nodes, or of one node twice");
    }

    #[test]
    fn splits_that_do_not_fit() {
        assert!(split_problem(|s| s.test = Test::Missing { feature: 99 }).contains("feature 99"));
        assert!(split_problem(|s| s.children = [1].into()).contains("1 children"));
        assert!(split_problem(|s| s.masses = [1.0].into()).contains("1 masses"));
        assert!(split_problem(|s| s.masses = [1.0, -1.0].into()).contains("-1"));
        assert!(split_problem(|s| s.masses = [1.0, f64::NAN].into()).contains("NaN"));
        assert!(split_problem(|s| s.masses = [f64::MAX, f64::MAX].into()).contains("finite sum"));
        assert!(split_problem(|s| s.default = 2).contains("default"));
        assert!(split_problem(|s| s.test = Test::EachLevel { feature: fixtures::COLOR }).contains("3 branches"));
        let each_of = |levels| Test::EachOf { feature: fixtures::COLOR, levels, missing: true };
        assert!(split_problem(|s| s.test = each_of(vec![0])).contains("3 branches"));
        assert!(split_problem(|s| s.missing = true).contains("did not answer"));
        let answered = split_problem(|s| {
            let (children, masses) = ([1, 2, 3].into(), [1.0; 3].into());
            *s = Split { test: each_of(vec![0]), children, masses, default: 0, missing: true };
        });
        assert!(answered.contains("did not answer"));
    }

    #[test]
    fn every_pair_of_test_and_kind() {
        let schema = fixtures::schema();
        let n_features = schema.features.len() as u32;
        let at_most = |feature, threshold| Test::AtMost { feature, threshold };
        for feature in 0..n_features {
            let kind = &schema.features[feature as usize].kind;
            let (float, number) = match kind {
                Kind::Continuous(number) => (*number == NumericType::Float, *number != NumericType::Float),
                _ => (false, false),
            };
            let (ordinal, nominal) = (matches!(kind, Kind::Ordinal(_)), matches!(kind, Kind::Nominal(_)));
            for (test, fits) in [
                (at_most(feature, Threshold::Float(f64::INFINITY)), float),
                (at_most(feature, Threshold::Float(f64::NAN)), false),
                (at_most(feature, Threshold::Integer(i64::MIN)), number),
                (at_most(feature, Threshold::Level(0)), ordinal),
                (at_most(feature, Threshold::Level(1 << 20)), false),
                (Test::Is { feature, level: 0 }, nominal),
                (Test::Is { feature, level: 1 << 20 }, false),
                (Test::In { feature, levels: vec![0, 1] }, nominal),
                (Test::In { feature, levels: vec![] }, false),
                (Test::In { feature, levels: vec![1, 0] }, false),
                (Test::In { feature, levels: vec![1, 1] }, false),
                (Test::In { feature, levels: vec![1, 1 << 20] }, false),
                (Test::EachLevel { feature }, ordinal || nominal),
                (Test::EachOf { feature, levels: vec![0, 2], missing: false }, ordinal || nominal),
                (Test::EachOf { feature, levels: vec![0, 1, 2], missing: true }, ordinal || nominal),
                (Test::EachOf { feature, levels: vec![], missing: true }, false),
                (Test::EachOf { feature, levels: vec![1, 0], missing: false }, false),
                (Test::EachOf { feature, levels: vec![1, 1], missing: false }, false),
                (Test::EachOf { feature, levels: vec![1, 1 << 20], missing: false }, false),
                (Test::Missing { feature }, true),
            ] {
                let branches = test.n_branches(kind.levels().len());
                let tree = Tree::new(schema.clone(), fixtures::DEFAULT, fixtures::stump(test.clone(), branches));
                assert_eq!(tree.is_ok(), fits, "{test:?} on {kind:?}: {tree:?}");
            }
        }
    }

    #[test]
    fn leaves_that_do_not_fit() {
        let class = |label, masses: &[f64]| Leaf::Class { label, masses: masses.into(), empty: false };
        assert!(leaf_problem(class(3, &[1.0, 1.0, 1.0])).contains("class 3"));
        assert!(leaf_problem(class(0, &[1.0])).contains("1 masses"));
        assert!(leaf_problem(class(0, &[1.0, f64::INFINITY, 0.0])).contains("inf"));
        assert!(leaf_problem(Leaf::Number { mean: 1.0, mass: 1.0 }).contains("holds classes"));
        let number = |leaf| Tree::new(fixtures::number_schema(), fixtures::DEFAULT, vec![Node::Leaf(leaf)]);
        assert!(number(Leaf::Number { mean: -1.5, mass: 0.0 }).is_ok());
        assert!(number(Leaf::Number { mean: f64::NAN, mass: 0.0 }).is_err());
        assert!(number(Leaf::Number { mean: 0.0, mass: -1.0 }).is_err());
        assert!(number(class(0, &[1.0, 1.0, 1.0])).is_err());
        let untold = Schema { target: None, ..(*fixtures::schema()).clone() };
        assert!(Tree::new(untold.into(), fixtures::DEFAULT, vec![fixtures::leaf(0)]).is_err());
    }

    #[test]
    fn labels_must_be_finite() {
        let mut schema = (*fixtures::schema()).clone();
        if let Some(target) = &mut schema.target {
            target.task = Task::Classes(Labels::Floats(vec![0.0, 1.0, f64::INFINITY]));
        }
        let policies: Policies = fixtures::DEFAULT;
        assert!(Tree::new(schema.into(), policies, vec![fixtures::leaf(0)]).is_err());
    }
}
