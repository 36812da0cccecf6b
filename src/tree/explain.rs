//! The path of one row in words: its value at each split, and the condition that the value meets.

use super::format::{branch_condition, class_words, feature_words, float, leaf_words, rounded, value_words};
use super::predict::RowPaths;
use super::{Leaf, Node, Rows, Split, Tree, Unseen};
use crate::data::Value;
use crate::error::Result;
use crate::names::{Of, shown};

impl Tree {
    /// A line per split on the path of a row to the leaf that [`Tree::apply`] names, then the prediction:
    /// ```text
    /// petal_length = 4.9, so petal_length > 2.45
    /// petal width is missing, so petal width <= 1.75 or missing
    /// predicts Iris-versicolor (54/5)
    /// ```
    /// Where the row goes down several branches in part, the line says so and names the heaviest one, and the last line
    /// has the class of the mixture and its probability.
    ///
    /// Errors: as [`Tree::apply`]. Complexity: O(depth), and O(nodes) at worst for a row that is spread.
    pub fn explain(&self, data: &(impl Rows + ?Sized), row: usize) -> Result<String> {
        let mut lines = Vec::new();
        self.walk(data, row..row.saturating_add(1), |paths, row, stopped| {
            let mut node = 0;
            let mut is_spread = false;
            while let Node::Split(split) = &self.nodes[node as usize] {
                let next = paths.child(node, row)?;
                let is_whole = next.is_some();
                is_spread |= !is_whole;
                let child = next.unwrap_or(split.children[split.heaviest()]);
                lines.push(self.split_words(paths, split, row, child, is_whole));
                node = child;
            }
            lines.push(match is_spread {
                true => self.mixture_words(paths, stopped, row)?,
                false => self.prediction_words(node),
            });
            Ok(())
        })?;
        Ok(lines.join("\n"))
    }

    /// The line of a split: the value, and the condition of the branch to `child`. The row goes there as a `whole`, or
    /// that is the heaviest of the branches it takes.
    fn split_words(&self, paths: &dyn RowPaths, split: &Split, row: u8, child: u32, whole: bool) -> String {
        let (schema, feature) = (&*self.schema, split.test.feature());
        let name = feature_words(schema, feature);
        let branch = split.children.iter().position(|&other| other == child).expect("a row goes to a child");
        let (value, level) = paths.value(split, row);
        let is_missing = value == Value::Missing;
        let or_missing = (whole && is_missing && !split.test.asks_missing()).then_some(branch);
        let condition = branch_condition(schema, split, branch, or_missing);
        let has_levels = !schema.features[feature as usize].kind.levels().is_empty();
        let said = match (value, level) {
            (Value::Missing, _) if self.policies.unseen == Unseen::Missing && has_levels => {
                format!("{name} is missing or was never seen")
            }
            (Value::Missing, _) => format!("{name} is missing"),
            (_, Some(level)) => format!("{name} = {}, never seen in training", shown(level, Of::Level)),
            (value, None) => format!("{name} = {}", value_words(schema, feature, value)),
        };
        match (whole, level) {
            (false, _) => {
                let share = split.masses[branch] / split.masses.iter().sum::<f64>();
                format!("{said}, so all branches in part: {} of it where {condition}", rounded(share))
            }
            (true, Some(_)) if split.test.branch(value).is_none() => {
                format!("{said}, so the branch of greatest mass: {condition}")
            }
            _ => format!("{said}, so {condition}"),
        }
    }

    fn prediction_words(&self, node: u32) -> String {
        let leaf = &self.summaries()[node as usize].leaf;
        format!("predicts {}", leaf_words(self.schema.labels(), leaf).trim_start_matches("= "))
    }

    /// The prediction for a row that ends in several leaves.
    fn mixture_words(&self, paths: &mut dyn RowPaths, node: u32, row: u8) -> Result<String> {
        let n_classes = self.schema.labels().map_or(0, |labels| labels.len());
        let (mut n_leaves, mut mean, mut mixture) = (0, 0.0, vec![0.0; n_classes]);
        paths.spread(node, row, &mut |leaf, share| {
            n_leaves += 1;
            match &self.nodes[leaf as usize] {
                Node::Leaf(Leaf::Number { mean: of_leaf, .. }) => mean += share * of_leaf,
                _ => self.mix(leaf, share, &mut mixture),
            }
        })?;
        Ok(match self.schema.labels() {
            Some(labels) => {
                let class = self.best_class(&mixture);
                let share = rounded(mixture[class as usize]);
                format!("predicts {}, of probability {share} in {n_leaves} leaves", class_words(labels, class))
            }
            None => format!("predicts {}, the mean of {n_leaves} leaves", float(mean)),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{MissingPolicy, NumberArray, Policies, Test, Threshold, fixtures};
    use super::*;
    use crate::data::dataset::MISSING;
    use crate::data::{Column, Dataset, Kind, NumericType, Schema, Target};

    /// A table of the columns of the schema of the fixtures.
    fn table(columns: Vec<(u32, Column)>) -> Dataset {
        let all = fixtures::schema();
        let features = columns.iter().map(|&(feature, _)| all.features[feature as usize].clone()).collect();
        let n_rows = columns[0].1.len();
        let columns = columns.into_iter().map(|(_, column)| column).collect();
        Dataset::new(Arc::new(Schema { features, target: None }), columns, n_rows, Target::None, None, None).unwrap()
    }

    fn stump(test: Test, branches: usize, policies: Policies) -> Tree {
        Tree::new(fixtures::schema(), policies, fixtures::stump(test, branches)).unwrap()
    }

    #[test]
    fn a_row_meets_conditions() {
        let data = table(vec![(0, Column::Floats(vec![4.9, 1.0])), (1, Column::Floats(vec![f64::NAN, 2.0]))]);
        let tree = fixtures::iris();
        let expected = "\
petal_length = 4.9, so petal_length > 2.45
petal width is missing, so petal width <= 1.75 or missing
predicts Iris-versicolor (54/5)";
        assert_eq!(tree.explain(&data, 0).unwrap(), expected);
        assert_eq!(
            tree.explain(&data, 1).unwrap(),
            "petal_length = 1, so petal_length <= 2.45\npredicts Iris-setosa (50)"
        );
        assert!(tree.explain(&data, 2).is_err() && tree.explain(&data, usize::MAX).is_err());
        assert_eq!(fixtures::iris_leaf().explain(&data, 0).unwrap(), "predicts Iris-setosa (150/100)");
        let date = Test::AtMost { feature: 5, threshold: Threshold::Integer(0) };
        let dates = table(vec![(5, Column::Integers { values: vec![19_753], missing: None })]);
        let lines = stump(date, 2, fixtures::DEFAULT).explain(&dates, 0).unwrap();
        assert!(lines.starts_with("c<d = 2024-01-31, so c<d > 1970-01-01\n"), "{lines}");
    }

    #[test]
    fn numbers_of_an_array() {
        let mut schema = (*fixtures::schema()).clone();
        schema.features = vec![schema.features[4].clone()];
        assert_eq!(schema.features[0].kind, Kind::Continuous(NumericType::Integer));
        let test = Test::AtMost { feature: 0, threshold: Threshold::Integer(3) };
        let tree = Tree::new(Arc::new(schema), fixtures::DEFAULT, fixtures::stump(test, 2)).unwrap();
        let words = |x: f64| tree.explain(&NumberArray::new(&[x], 1, 1, true).unwrap(), 0).unwrap();
        assert!(words(4.0).starts_with(r#""a\"b" = 4, so "a\"b" > 3"#), "{}", words(4.0));
        assert!(words(2.5).starts_with(r#""a\"b" = 2.5, so "a\"b" <= 3"#));
        assert!(words(f64::NAN).starts_with(r#""a\"b" is missing, so "a\"b" <= 3 or missing"#));
    }

    #[test]
    fn levels_known_unseen_and_missing() {
        let column = |code| Column::Levels { codes: vec![code], unseen: vec!["a, b".into()] };
        let row = |code| table(vec![(fixtures::COLOR, column(code))]);
        let is = || Test::Is { feature: fixtures::COLOR, level: 0 };
        let tree = stump(is(), 2, fixtures::DEFAULT);
        let first = |tree: &Tree, code| tree.explain(&row(code), 0).unwrap().lines().next().unwrap().to_string();
        assert_eq!(first(&tree, 2), "color = blue, so color is not red");
        assert_eq!(
            first(&tree, 3),
            r#"color = "a, b", never seen in training, so the branch of greatest mass: color is not red"#
        );
        assert_eq!(first(&tree, MISSING), "color is missing, so color is red or missing");
        let as_missing = stump(is(), 2, Policies { unseen: Unseen::Missing, ..fixtures::DEFAULT });
        assert_eq!(first(&as_missing, 3), "color is missing or was never seen, so color is red or missing");
        let asks = stump(Test::Missing { feature: fixtures::COLOR }, 2, fixtures::DEFAULT);
        assert_eq!(first(&asks, MISSING), "color is missing, so color is missing");
        assert_eq!(first(&asks, 3), r#"color = "a, b", never seen in training, so color is known"#);
    }

    #[test]
    fn a_row_in_parts() {
        let fractional = Policies { missing: MissingPolicy::Fractional, ..fixtures::DEFAULT };
        let tree = stump(Test::EachLevel { feature: fixtures::COLOR }, 3, fractional);
        let column = Column::Levels { codes: vec![MISSING], unseen: vec![] };
        let expected = "\
color is missing, so all branches in part: 0.5 of it where color is blue
predicts Iris-versicolor, of probability 0.396825 in 3 leaves";
        assert_eq!(tree.explain(&table(vec![(fixtures::COLOR, column)]), 0).unwrap(), expected);
    }
}
