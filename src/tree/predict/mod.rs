//! Predictions for the rows of a table, which may be another than the one the tree was grown on.
//!
//! ```text
//! rows      what can be predicted for: tables and arrays      walk      the paths of rows down the tree
//! cells     the cells of a block of rows                      compiled  the tree in the form that rows walk down fastest
//! ```
//!
//! Every method takes a range of rows, so that a caller with threads can cut a table into parts.

mod cells;
mod compiled;
mod rows;
mod walk;

use std::ops::Range;

pub(super) use compiled::CompiledTree;
pub use rows::{NumberArray, Rows};
pub(super) use walk::RowPaths;

use super::{Leaf, Node, Tree};
use crate::data::Task;
use crate::error::{Error, Result};

/// The number of rows that walk down together; a `u8` numbers them.
const BLOCK: usize = 1 << 8;

impl Tree {
    /// The class predicted for each row, as a position in the labels of the tree's schema.
    ///
    /// A row that ends in one leaf gets the leaf's class. One that was spread over several (a missing value under
    /// [`MissingPolicy::Fractional`](super::MissingPolicy::Fractional)) gets the most probable class or,
    /// with costs, the one of least expected cost; ties: the first.
    ///
    /// Errors: [`Error::WrongTarget`] if the tree predicts numbers; [`Error::UnknownColumn`] if the table lacks a
    /// column that a test uses; [`Error::WrongKind`] if it holds another kind of value there;
    /// [`Error::UnseenLevel`] under [`Unseen::Error`](super::Unseen::Error); [`Error::InvalidParameter`] if a row does
    /// not exist.
    ///
    /// Complexity: O(rows x depth), and O(rows x nodes) at worst for rows that are spread.
    pub fn predict_codes(&self, data: &(impl Rows + ?Sized), rows: Range<usize>) -> Result<Vec<u32>> {
        let n_classes = self.n_classes()?;
        let mut mixture = vec![0.0; n_classes];
        let mut codes = Vec::with_capacity(rows.len());
        self.walk(data, rows, |walk, row, node| {
            codes.push(match self.compiled().leaf(node) {
                Some(label) => label,
                None => {
                    mixture.fill(0.0);
                    walk.spread(node, row, &mut |leaf, share| self.mix(leaf, share, &mut mixture))?;
                    self.best_class(&mixture)
                }
            });
            Ok(())
        })?;
        Ok(codes)
    }

    /// The number predicted for each row; for a row spread over several leaves, the mean of theirs by share.
    ///
    /// Errors: as [`Tree::predict_codes`], with [`Error::WrongTarget`] if the tree predicts classes.
    pub fn predict_numbers(&self, data: &(impl Rows + ?Sized), rows: Range<usize>) -> Result<Vec<f64>> {
        if self.n_classes().is_ok() {
            return Err(Error::WrongTarget { search: "predicting numbers", needs: "numbers", got: "classes" });
        }
        let mut numbers = Vec::with_capacity(rows.len());
        self.walk(data, rows, |walk, row, node| {
            let mut sum = 0.0;
            walk.spread(node, row, &mut |leaf, share| {
                if let Node::Leaf(Leaf::Number { mean, .. }) = &self.nodes[leaf as usize] {
                    sum += share * mean;
                }
            })?;
            numbers.push(sum);
            Ok(())
        })?;
        Ok(numbers)
    }

    /// The probability of each class for each row: row after row, classes in the order of the labels.
    ///
    /// A leaf gives its class masses over their sum, or its class alone if all are 0; several leaves are mixed by
    /// share. Errors: as [`Tree::predict_codes`]. Complexity: O(rows x (depth + classes)).
    pub fn probabilities(&self, data: &(impl Rows + ?Sized), rows: Range<usize>) -> Result<Vec<f64>> {
        let n_classes = self.n_classes()?;
        let mut probabilities = vec![0.0; rows.len() * n_classes];
        let mut mixtures = probabilities.chunks_exact_mut(n_classes);
        self.walk(data, rows, |walk, row, node| {
            let mixture = mixtures.next().expect("as many as there are rows");
            walk.spread(node, row, &mut |leaf, share| self.mix(leaf, share, mixture))
        })?;
        Ok(probabilities)
    }

    /// The leaf that each row ends in, as an index into [`Tree::nodes`]. Under
    /// [`MissingPolicy::Fractional`](super::MissingPolicy::Fractional) a row that would be spread takes the branch of
    /// greatest mass instead; ties: the first.
    ///
    /// Errors: as [`Tree::predict_codes`], for either kind of target.
    pub fn apply(&self, data: &(impl Rows + ?Sized), rows: Range<usize>) -> Result<Vec<u32>> {
        let mut leaves = Vec::with_capacity(rows.len());
        self.walk(data, rows, |walk, row, mut node| {
            while self.compiled().leaf(node).is_none() {
                let Node::Split(split) = &self.nodes[node as usize] else { break };
                node = walk.descend(split.children[split.heaviest()], row)?;
            }
            leaves.push(node);
            Ok(())
        })?;
        Ok(leaves)
    }

    /// Walks rows down the tree. Errors: [`Error::InvalidParameter`] if a row does not exist.
    pub(super) fn walk(
        &self,
        data: &(impl Rows + ?Sized),
        rows: Range<usize>,
        mut visit: impl FnMut(&mut dyn RowPaths, u8, u32) -> Result<()>,
    ) -> Result<()> {
        if rows.end > data.n_rows() {
            return Err(Error::InvalidParameter {
                name: "rows",
                expected: format!("within the {} rows of the table", data.n_rows()),
                got: format!("{rows:?}"),
            });
        }
        data.walk(self, rows, &mut visit)
    }

    /// Adds the class shares of a leaf, times the share of a row that ends there.
    pub(super) fn mix(&self, leaf: u32, share: f64, mixture: &mut [f64]) {
        match (self.compiled().shares(leaf), &self.nodes[leaf as usize]) {
            (Some(shares), _) => mixture.iter_mut().zip(shares).for_each(|(p, of_leaf)| *p += share * of_leaf),
            (None, Node::Leaf(leaf)) => leaf.add_probabilities(share, mixture),
            (None, Node::Split(_)) => {}
        }
    }

    fn n_classes(&self) -> Result<usize> {
        match self.schema.target.as_ref().map(|target| &target.task) {
            Some(Task::Classes(labels)) => Ok(labels.len()),
            _ => Err(Error::WrongTarget { search: "predicting classes", needs: "classes", got: "numbers" }),
        }
    }
}

impl Tree {
    /// The most probable class or, with costs, that of least expected cost; ties: the first.
    pub(super) fn best_class(&self, probabilities: &[f64]) -> u32 {
        let Some(costs) = &self.costs else { return argmax(probabilities) };
        let n = probabilities.len();
        let expected = |class: usize| (0..n).map(|of| probabilities[of] * costs[of * n + class]).sum::<f64>();
        cheapest(&(0..n).map(expected).collect::<Vec<f64>>())
    }
}

/// The label that costs least; ties: the first.
pub(super) fn cheapest(costs: &[f64]) -> u32 {
    let savings: Vec<f64> = costs.iter().map(|cost| -cost).collect();
    argmax(&savings)
}

/// The position of the greatest value; ties: the first.
fn argmax(values: &[f64]) -> u32 {
    let mut best = 0;
    for (i, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = i;
        }
    }
    best as u32
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::data::dataset::MISSING;
    use crate::data::{Column, Dataset, Kind, Schema, Target, Value};
    use crate::tree::{MissingPolicy, Policies, Split, Test, Threshold, Unseen, fixtures};

    const FRACTIONAL: Policies = Policies { missing: MissingPolicy::Fractional, unseen: Unseen::Majority };

    fn table(schema: Schema, columns: Vec<Column>) -> Dataset {
        let n_rows = columns[0].len();
        Dataset::new(Arc::new(schema), columns, n_rows, Target::None, None, None).unwrap()
    }

    /// The columns named `names` of the schema of the fixtures, in that order.
    fn schema_of(names: &[&str]) -> Schema {
        let all = fixtures::schema();
        let features = names.iter().map(|name| all.features[all.feature_index(name).unwrap()].clone()).collect();
        Schema { features, target: None }
    }

    fn color_tree(test: Test, branches: usize, policies: Policies) -> Tree {
        Tree::new(fixtures::schema(), policies, fixtures::stump(test, branches)).unwrap()
    }

    /// A table of one nominal column `color` with levels blue, violet, red, and violet's like in `unseen`.
    fn colors(codes: &[u32]) -> Dataset {
        let mut schema = schema_of(&["color"]);
        schema.features[0].kind = Kind::Nominal(["blue", "violet", "red"].map(String::from).to_vec());
        let unseen = vec!["green".into(), "black".into()];
        table(schema, vec![Column::Levels { codes: codes.to_vec(), unseen }])
    }

    const BLUE: u32 = 0;
    const VIOLET: u32 = 1;
    const RED: u32 = 2;
    const GREEN: u32 = 3;
    const BLACK: u32 = 4;

    #[test]
    fn columns_are_found_by_name() {
        let width = Column::Floats(vec![0.2, 1.75, 1.76, f64::NAN]);
        let length = Column::Integers { values: vec![2, 3, 3, 3], missing: None };
        let data = table(schema_of(&["petal width", "petal_length"]), vec![width, length]);
        let tree = fixtures::iris();
        assert_eq!(tree.predict_codes(&data, 0..4).unwrap(), [0, 1, 2, 1]);
        assert_eq!(tree.predict_codes(&data, 1..3).unwrap(), [1, 2]);
        assert_eq!(tree.apply(&data, 0..4).unwrap(), [1, 3, 4, 3]);
        let p = tree.probabilities(&data, 2..3).unwrap();
        assert_eq!(p, [0.0, 1.0 / 46.0, 45.0 / 46.0]);
    }

    #[test]
    fn levels_are_found_by_name() {
        let tree = color_tree(Test::EachLevel { feature: fixtures::COLOR }, 3, fixtures::DEFAULT);
        // red, green, blue are the tree's levels 0, 1, 2, so nodes 1, 2, 3. Missing: branch 0; unseen: the heaviest, 2.
        let rows = [BLUE, RED, GREEN, BLACK, VIOLET, MISSING];
        assert_eq!(tree.apply(&colors(&rows), 0..6).unwrap(), [3, 1, 2, 3, 3, 1]);
    }

    #[test]
    fn levels_that_are_not_listed_share_a_branch() {
        let each_of = |missing| Test::EachOf { feature: fixtures::COLOR, levels: vec![0], missing };
        let rows = [RED, BLUE, GREEN, MISSING, VIOLET];
        let two = color_tree(each_of(false), 2, fixtures::DEFAULT);
        assert_eq!(two.apply(&colors(&rows), 0..5).unwrap(), [1, 2, 2, 1, 2]);
        let three = color_tree(each_of(true), 3, fixtures::DEFAULT);
        assert_eq!(three.apply(&colors(&rows), 0..5).unwrap(), [1, 3, 3, 2, 3]);
        let unseen = Policies { missing: MissingPolicy::Fractional, unseen: Unseen::Missing };
        let own = color_tree(each_of(true), 3, unseen);
        assert_eq!(own.apply(&colors(&[VIOLET, MISSING]), 0..2).unwrap(), [2, 2]);
    }

    #[test]
    fn unseen_levels_go_by_the_policy() {
        let each = Test::EachLevel { feature: fixtures::COLOR };
        let missing = Policies { missing: MissingPolicy::Default, unseen: Unseen::Missing };
        assert_eq!(color_tree(each.clone(), 3, missing).apply(&colors(&[VIOLET, BLACK]), 0..2).unwrap(), [1, 1]);
        let own = Test::Missing { feature: fixtures::COLOR };
        assert_eq!(color_tree(own.clone(), 2, missing).apply(&colors(&[VIOLET, BLUE]), 0..2).unwrap(), [1, 2]);
        assert_eq!(color_tree(own, 2, fixtures::DEFAULT).apply(&colors(&[VIOLET, MISSING]), 0..2).unwrap(), [2, 1]);
        let error = color_tree(each, 3, Policies { unseen: Unseen::Error, ..missing });
        for (code, name) in [(VIOLET, "violet"), (BLACK, "black")] {
            let expected = Error::UnseenLevel {
                column: "color".into(),
                row: 1,
                level: name.into(),
                known: r#""red", "green", "blue""#.into(),
            };
            assert_eq!(error.apply(&colors(&[RED, code]), 0..2), Err(expected.clone()));
            assert_eq!(error.predict_codes(&colors(&[RED, code]), 1..2), Err(expected));
        }
    }

    #[test]
    fn a_missing_value_is_spread() {
        let tree = color_tree(Test::Is { feature: fixtures::COLOR, level: 0 }, 2, FRACTIONAL);
        let data = colors(&[MISSING]);
        // Branch masses 1 and 2; leaf masses 9, 1.5, 0 and 1, 9.5, 0, each of sum 10.5.
        let (a, b) = (1.0 / 3.0, 2.0 / 3.0);
        let expected = [a * (9.0 / 10.5) + b * (1.0 / 10.5), a * (1.5 / 10.5) + b * (9.5 / 10.5), 0.0];
        assert_eq!(tree.probabilities(&data, 0..1).unwrap(), expected);
        assert_eq!(tree.predict_codes(&data, 0..1).unwrap(), [1]);
        assert_eq!(tree.apply(&data, 0..1).unwrap(), [2]);
        // With costs it gets the class of least expected cost: to take 1 for 0 costs nothing, and 0 for 1 a little.
        let costs = [vec![0.0, 0.1, 9.0], vec![0.0, 0.0, 9.0], vec![9.0, 9.0, 0.0]];
        let costly = tree.clone().with_costs(&costs).unwrap();
        assert_eq!(costly.predict_codes(&data, 0..1).unwrap(), [0]);
        assert_eq!(costly.probabilities(&data, 0..1).unwrap(), expected);
        let number = |mean| Node::Leaf(Leaf::Number { mean, mass: 1.0 });
        let split = Split {
            test: Test::Is { feature: fixtures::COLOR, level: 0 },
            children: [1, 2].into(),
            masses: [1.0, 3.0].into(),
            default: 0,
            missing: false,
        };
        let with = |masses: [f64; 2]| {
            let split = Split { masses: masses.into(), ..split.clone() };
            let nodes = vec![Node::Split(split), number(10.0), number(20.0)];
            Tree::new(fixtures::number_schema(), FRACTIONAL, nodes).unwrap().predict_numbers(&data, 0..1).unwrap()
        };
        assert_eq!(with([1.0, 3.0]), [17.5]);
        assert_eq!(with([0.0, 0.0]), [10.0]); // nothing to share by: the default
    }

    #[test]
    fn a_leaf_without_mass_is_sure_of_its_class() {
        let nodes = vec![fixtures::class_leaf(2, [0.0; 3])];
        let tree = Tree::new(fixtures::schema(), fixtures::DEFAULT, nodes).unwrap();
        assert_eq!(tree.probabilities(&colors(&[RED]), 0..1).unwrap(), [0.0, 0.0, 1.0]);
    }

    #[test]
    fn wrong_calls() {
        let tree = fixtures::iris();
        let narrow = table(schema_of(&["petal_length"]), vec![Column::Floats(vec![9.0])]);
        assert!(matches!(tree.apply(&narrow, 0..1), Err(Error::UnknownColumn { name, .. }) if name == "petal width"));
        let mut schema = schema_of(&["color", "petal width"]);
        schema.features[0].name = "petal_length".into();
        let column = Column::Levels { codes: vec![0], unseen: vec![] };
        let levels = table(schema, vec![column, Column::Floats(vec![0.0])]);
        assert!(matches!(tree.apply(&levels, 0..1), Err(Error::WrongKind { column, .. }) if column == "petal_length"));
        assert!(matches!(tree.predict_numbers(&narrow, 0..1), Err(Error::WrongTarget { .. })));
        assert!(matches!(fixtures::iris_leaf().apply(&narrow, 0..2), Err(Error::InvalidParameter { .. })));
        let date = Test::AtMost { feature: 5, threshold: Threshold::Integer(0) };
        let dates = Tree::new(fixtures::schema(), fixtures::DEFAULT, fixtures::stump(date, 2)).unwrap();
        let mut schema = schema_of(&["g\\h"]);
        schema.features[0].name = "c<d".into();
        let times = table(schema, vec![Column::Integers { values: vec![0], missing: None }]);
        let text = dates.apply(&times, 0..1).unwrap_err().to_string();
        assert_eq!(text, r#"column "c<d" is a column of times in microseconds; expected a column of dates"#);
    }

    /// If several rows fail, the error is that of the first row, wherever in the tree it occurs.
    #[test]
    fn the_first_row_that_fails_is_named() {
        let policies = Policies { unseen: Unseen::Error, ..fixtures::DEFAULT };
        let is = Test::Is { feature: fixtures::COLOR, level: 0 };
        let nodes = vec![
            fixtures::split(fixtures::below(0, 0.0), &[1, 4], &[1.0, 1.0], 0),
            fixtures::split(is.clone(), &[2, 3], &[1.0, 1.0], 0),
            fixtures::leaf(0),
            fixtures::leaf(1),
            fixtures::split(fixtures::below(1, 0.0), &[5, 6], &[1.0, 1.0], 0),
            fixtures::leaf(0),
            fixtures::split(is, &[7, 8], &[1.0, 1.0], 0),
            fixtures::leaf(0),
            fixtures::leaf(1),
        ];
        let tree = Tree::new(fixtures::schema(), policies, nodes).unwrap();
        // Row 1 fails two tests later than row 2.
        let numbers = || Column::Floats(vec![1.0, 1.0, -1.0]);
        let colors = Column::Levels { codes: vec![0, 3, 4], unseen: vec!["late".into(), "early".into()] };
        let data = table(schema_of(&["petal_length", "petal width", "color"]), vec![numbers(), numbers(), colors]);
        let error = tree.predict_codes(&data, 0..3).unwrap_err();
        assert!(matches!(&error, Error::UnseenLevel { row: 1, level, .. } if level == "late"), "{error}");
        assert!(matches!(tree.apply(&data, 2..3), Err(Error::UnseenLevel { row: 2, .. })));
    }

    #[test]
    fn large_integers_are_compared_exactly() {
        const END: i64 = 1 << 53;
        for t in [END - 1, END, END + 1, i64::MAX - 1, -END, -END - 1, i64::MIN] {
            let values = vec![t.saturating_sub(1), t, t + 1, END, END + 1, 0];
            let expected: Vec<u32> = values.iter().map(|&value| u32::from(value > t)).collect();
            let integer = Test::AtMost { feature: 4, threshold: Threshold::Integer(t) };
            let tree = Tree::new(fixtures::schema(), fixtures::DEFAULT, fixtures::stump(integer, 2)).unwrap();
            let data = table(schema_of(&["a\"b"]), vec![Column::Integers { values: values.clone(), missing: None }]);
            assert_eq!(tree.predict_codes(&data, 0..6).unwrap(), expected, "{t}");
            // The same integers where a float was trained.
            let float = fixtures::below(0, t as f64);
            let tree = Tree::new(fixtures::schema(), fixtures::DEFAULT, fixtures::stump(float, 2)).unwrap();
            let data =
                table(schema_of(&["petal_length"]), vec![Column::Integers { values: values.clone(), missing: None }]);
            let above = |&value: &i64| u32::from(i128::from(value) > t as f64 as i128);
            assert_eq!(tree.predict_codes(&data, 0..6).unwrap(), values.iter().map(above).collect::<Vec<_>>(), "{t}");
        }
    }

    #[test]
    fn columns_of_many_levels() {
        let names: Vec<String> = (0..300).map(|code| format!("level {code}")).collect();
        let mut schema = (*fixtures::schema()).clone();
        schema.features[2].kind = Kind::Nominal(names);
        let feature = fixtures::COLOR;
        let codes: Vec<u32> = (0..300).chain([MISSING]).collect();
        let column = Column::Levels { codes, unseen: vec![] };
        let features = vec![schema.features[2].clone()];
        let data = table(Schema { features, target: None }, vec![column]);
        let each_of = |levels: &[u32]| Test::EachOf { feature, levels: levels.to_vec(), missing: true };
        for test in [
            Test::In { feature, levels: (0..300).step_by(7).collect() },
            Test::Is { feature, level: 299 },
            Test::EachLevel { feature },
            each_of(&[3, 200]),
            each_of(&(0..299).collect::<Vec<_>>()),
            Test::Missing { feature },
        ] {
            let branches = test.n_branches(300);
            let child = |code| 1 + test.branch(code).unwrap_or(0) as u32;
            let expected: Vec<u32> =
                (0..300).map(|code| child(Value::Level(code))).chain([child(Value::Missing)]).collect();
            let nodes = fixtures::stump(test.clone(), branches);
            let tree = Tree::new(schema.clone().into(), fixtures::DEFAULT, nodes).unwrap();
            assert_eq!(tree.apply(&data, 0..301).unwrap(), expected, "{test:?}");
        }
    }

    #[test]
    fn a_deep_tree_predicts() {
        let tree = fixtures::chain(100_000);
        let data = table(schema_of(&["petal_length"]), vec![Column::Floats(vec![-1.0, 50_000.0, 1e9, f64::NAN])]);
        assert_eq!(tree.predict_codes(&data, 0..4).unwrap(), [0, 50_000 % 3, 2, 2]);
        let fractional = Tree::new(tree.schema().clone(), FRACTIONAL, tree.nodes().to_vec()).unwrap();
        let p = fractional.probabilities(&data, 3..4).unwrap();
        assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }

    /// Class masses or the number of a row by the definition, one test at a time.
    fn by_definition(tree: &Tree, node: usize, cell: &dyn Fn(u32) -> Value) -> Vec<f64> {
        let split = match &tree.nodes()[node] {
            Node::Leaf(Leaf::Number { mean, .. }) => return vec![*mean],
            Node::Leaf(leaf) => {
                let mut p = vec![0.0; 3];
                leaf.add_probabilities(1.0, &mut p);
                return p;
            }
            Node::Split(split) => split,
        };
        let total: f64 = split.masses.iter().sum();
        let mut value = cell(split.test.feature());
        if matches!(value, Value::Unseen(_)) && tree.policies().unseen == Unseen::Missing {
            value = Value::Missing;
        }
        let only = |branch: usize| by_definition(tree, split.children[branch] as usize, cell);
        match (split.test.branch(value), value, tree.policies().missing) {
            (Some(branch), ..) => only(branch),
            (None, Value::Unseen(_), _) => only(split.heaviest()),
            (None, _, MissingPolicy::Fractional) if total > 0.0 => {
                let mut mixed = vec![0.0; 3];
                for (branch, mass) in split.masses.iter().enumerate() {
                    only(branch).iter().zip(&mut mixed).for_each(|(p, m)| *m += p * mass / total);
                }
                mixed
            }
            _ => only(split.default as usize),
        }
    }

    proptest! {
        #[test]
        fn predictions_are_those_of_the_definition(tree in fixtures::any_tree(), cells in prop::collection::vec(any::<u8>(), 11 * 6)) {
            // An error would leave nothing to compare; it has a test of its own.
            let unseen = match tree.policies().unseen {
                Unseen::Error => Unseen::Majority,
                other => other,
            };
            let tree = Tree::new(tree.schema().clone(), Policies { unseen, ..tree.policies() }, tree.nodes().to_vec()).unwrap();
            let own = tree.schema();
            // The table has the columns in reverse, and their levels too, with one that the tree does not know.
            let mut schema = Schema { target: None, ..(**own).clone() };
            schema.features.reverse();
            let mut columns = Vec::new();
            for (feature, cells) in schema.features.iter_mut().zip(cells.chunks(6)) {
                columns.push(match &mut feature.kind {
                    Kind::Continuous(crate::data::NumericType::Float) => Column::Floats(
                        cells.iter().map(|&c| if c < 50 { f64::NAN } else { f64::from(c) / 12.0 - 12.0 }).collect(),
                    ),
                    Kind::Continuous(_) => Column::Integers {
                        values: cells.iter().map(|&c| (i64::from(c) - 130) * 80_000_000_000_000).collect(),
                        missing: Some(cells.iter().map(|&c| c < 50).collect()),
                    },
                    Kind::Nominal(levels) | Kind::Ordinal(levels) => {
                        levels.reverse();
                        let n = levels.len() as u32 + 1;
                        let code = |&c: &u8| if c < 50 { MISSING } else { u32::from(c) % n };
                        Column::Levels { codes: cells.iter().map(code).collect(), unseen: vec!["new".into()] }
                    }
                });
            }
            let data = table(schema, columns);
            // Rows of several blocks at once come out as each does alone.
            let many: Vec<usize> = (0..600).map(|i| i * i % 6).collect();
            let alone: Vec<u32> = (0..6).map(|row| tree.apply(&data, row..row + 1).unwrap()[0]).collect();
            let together = tree.apply(&data.take(&many), 0..600).unwrap();
            prop_assert_eq!(together, many.iter().map(|&row| alone[row]).collect::<Vec<_>>());
            if let Ok(codes) = tree.predict_codes(&data, 0..6) {
                let together = tree.predict_codes(&data.take(&many), 0..600).unwrap();
                prop_assert_eq!(together, many.iter().map(|&row| codes[row]).collect::<Vec<_>>());
            }
            for row in 0..6 {
                let cell = |feature: u32| {
                    let n_levels = own.features[feature as usize].kind.levels().len() as u32;
                    match data.columns()[10 - feature as usize].value(row, n_levels) {
                        Value::Level(code) => Value::Level(n_levels - 1 - code),
                        value => value,
                    }
                };
                let expected = by_definition(&tree, 0, &cell);
                let got = match tree.probabilities(&data, row..row + 1) {
                    Ok(p) => p,
                    Err(_) => tree.predict_numbers(&data, row..row + 1).unwrap(),
                };
                for (a, b) in got.iter().zip(&expected) {
                    prop_assert!((a - b).abs() < 1e-9, "{:?} {:?}", got, expected);
                }
                let leaf = tree.apply(&data, row..row + 1).unwrap()[0] as usize;
                prop_assert!(matches!(tree.nodes()[leaf], Node::Leaf(_)));
                if let (MissingPolicy::Default, Node::Leaf(Leaf::Class { label, .. })) =
                    (tree.policies().missing, &tree.nodes()[leaf])
                {
                    prop_assert_eq!(tree.predict_codes(&data, row..row + 1).unwrap(), [*label]);
                }
            }
        }
    }
}
