//! Trees as lists of rules: the conditions on the path to each leaf, with those on one feature merged.

use rustc_hash::FxHashMap;

use super::fact::{Aspect, BranchFact, Fact};
use super::format::leaf_words;
use super::{Condition, Leaf, Node, Tree};
use crate::data::{Labels, Schema};

/// One leaf of a tree as a rule: if all conditions hold, the prediction of the leaf follows.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// Conditions in the order of the path, those on one feature merged: `x <= 5` and `x <= 3` become `x <= 3`. Empty
    /// for a tree that is a single leaf.
    pub conditions: Vec<Condition>,
    /// The leaf's index among the tree's nodes.
    pub leaf: u32,
    /// The leaf itself.
    pub prediction: Leaf,
    /// Training mass that came to the leaf.
    pub mass: f64,
    /// The part of that mass with another class than the predicted one; 0 where a number is predicted.
    pub errors: f64,
    /// How many training rows came to the leaf, whole or in part, if the tree knows.
    pub n_rows: Option<u64>,
}

impl Rule {
    /// `if age > 30 and (size <= medium or missing): yes (54/5)`, or `always: yes (54/5)`; `labels` are those of the
    /// tree's schema. The leaf is written as in [`Tree::to_text`].
    pub fn words(&self, labels: Option<&Labels>) -> String {
        let several = self.conditions.len() > 1;
        let words = |condition: &Condition| match several && condition.or_missing {
            true => format!("({condition})"), // or it would read as the other half of an "or"
            false => condition.to_string(),
        };
        let conditions = match self.conditions.is_empty() {
            true => "always".into(),
            false => format!("if {}", self.conditions.iter().map(words).collect::<Vec<_>>().join(" and ")),
        };
        format!("{conditions}: {}", leaf_words(labels, &self.prediction))
    }
}

/// The merged facts on the path to a node, and what is needed to undo the last branches.
#[derive(Default)]
struct Path {
    /// Facts with their features.
    facts: Vec<(u32, BranchFact)>,
    /// Where in `facts` the fact of a feature and an aspect is.
    places: FxHashMap<(u32, Aspect), usize>,
    /// For each branch taken the place in `facts` that it changed, and the fact that was there before.
    taken: Vec<(usize, Option<BranchFact>)>,
}

impl Path {
    fn take(&mut self, feature: u32, said: BranchFact) {
        let next = self.facts.len();
        let place = *self.places.entry((feature, said.fact.aspect())).or_insert(next);
        if place == next {
            self.facts.push((feature, said));
            self.taken.push((place, None));
        } else {
            let before = &self.facts[place].1;
            let or_missing = before.or_missing && said.or_missing;
            let merged = BranchFact { fact: before.fact.and(&said.fact), or_missing };
            self.taken.push((place, Some(std::mem::replace(&mut self.facts[place].1, merged))));
        }
    }

    fn take_back(&mut self) {
        match self.taken.pop() {
            Some((place, Some(before))) => self.facts[place].1 = before,
            Some((_, None)) => {
                if let Some((feature, said)) = self.facts.pop() {
                    self.places.remove(&(feature, said.fact.aspect()));
                }
            }
            None => {}
        }
    }

    /// The facts as conditions. Each condition on a feature says "or missing" if all facts on the feature allow missing
    /// values, and none does if one of them rules these out. So `x > 3 or missing` and `x is missing` become
    /// `x is missing`.
    fn conditions(&self, schema: &Schema) -> Vec<Condition> {
        let said = |feature: u32, fact: Fact| {
            self.places.get(&(feature, fact.aspect())).is_some_and(|&place| self.facts[place].1.fact == fact)
        };
        let of = |feature: u32, test: &dyn Fn(&BranchFact) -> bool| {
            self.facts
                .iter()
                .filter(|(f, said)| *f == feature && said.fact.aspect() != Aspect::Missing)
                .all(|(_, s)| test(s))
        };
        let condition = |(feature, one): &(u32, BranchFact)| {
            let is_missing = said(*feature, Fact::Missing(true));
            let allowed = of(*feature, &|said| said.or_missing);
            if one.or_missing && is_missing && allowed {
                return None; // a missing value took the branch of the test of a value
            }
            let or_missing = one.or_missing && allowed && !said(*feature, Fact::Missing(false));
            Some(Condition::new(schema, *feature, &BranchFact { fact: one.fact.clone(), or_missing }))
        };
        self.facts.iter().filter_map(condition).collect()
    }
}

impl Tree {
    /// One rule per leaf, in preorder.
    ///
    /// A case whose levels the schema knows meets the conditions of exactly one rule, that of its leaf. Other cases go
    /// as [`Unseen`](super::Unseen) says. A missing value meets conditions that say "or missing" or "is missing", and
    /// no others. Where cases without a value go down all branches in part
    /// ([`MissingPolicy::Fractional`](super::MissingPolicy::Fractional)) no condition says so, and several rules share
    /// in the prediction. The rule of a leaf that no value can reach says so: `color in {}`.
    ///
    /// Complexity: O(nodes + square of the conditions of a rule).
    pub fn rules(&self) -> Vec<Rule> {
        let mut rules = Vec::new();
        let mut path = Path::default();
        for entry in self.preorder(None) {
            if let Some((parent, branch)) = entry.parent
                && let Node::Split(split) = &self.nodes[parent]
            {
                while path.taken.len() >= entry.depth {
                    path.take_back();
                }
                let or_missing = self.default_branch(split).filter(|_| !split.test.asks_missing());
                path.take(split.test.feature(), BranchFact::of(split, branch, or_missing));
            }
            if let Node::Leaf(leaf) = &self.nodes[entry.node] {
                rules.push(Rule {
                    conditions: path.conditions(&self.schema),
                    leaf: entry.node as u32,
                    prediction: leaf.clone(),
                    mass: leaf.mass(),
                    errors: leaf.errors(),
                    n_rows: self.rows().map(|rows| rows[entry.node]),
                });
            }
        }
        rules
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Test, fixtures};
    use super::*;

    fn conditions(tree: &Tree) -> Vec<String> {
        let words = |rule: &Rule| rule.conditions.iter().map(Condition::to_string).collect::<Vec<_>>().join(" and ");
        tree.rules().iter().map(words).collect()
    }

    /// Fault U: a rule shows its leaf as the text does, the errors where there are any and no more digits.
    #[test]
    fn fault_u_rules_show_leaves_as_texts_do() {
        let tree = fixtures::iris();
        let words = |tree: &Tree| tree.rules().iter().map(|rule| rule.words(tree.schema.labels())).collect::<Vec<_>>();
        assert_eq!(
            words(&tree),
            [
                "if petal_length <= 2.45: Iris-setosa (50)",
                "if (petal_length > 2.45 or missing) and (petal width <= 1.75 or missing): Iris-versicolor (54/5)",
                "if (petal_length > 2.45 or missing) and petal width > 1.75: Iris-virginica (46/1)",
            ]
        );
        assert_eq!(words(&fixtures::iris_leaf()), ["always: Iris-setosa (150/100)"]);
        let thirds = fixtures::class_leaf(0, [1.0 / 3.0, 2.0 / 3.0, 0.0]);
        let leaf = Tree::new(fixtures::schema(), fixtures::DEFAULT, vec![thirds]).unwrap();
        assert_eq!(words(&leaf), ["always: Iris-setosa (1/0.66667)"]);
        assert_eq!(leaf.to_text(None), "Iris-setosa (1/0.66667)");
    }

    /// The first test's second branch leads to the second test, and so on.
    fn list(tests: &[Test]) -> Tree {
        let mut nodes = Vec::new();
        for (i, test) in (0..).zip(tests) {
            nodes.push(fixtures::split(test.clone(), &[2 * i + 1, 2 * i + 2], &[1.0, 1.0], 0));
            nodes.push(fixtures::leaf(0));
        }
        nodes.push(fixtures::leaf(1));
        Tree::new(fixtures::schema(), fixtures::DEFAULT, nodes).unwrap()
    }

    #[test]
    fn a_missing_value_is_told_apart_as_far_as_the_path_does() {
        let mut nodes = list(&[
            fixtures::below(0, 2.0),
            fixtures::below(0, 4.0),
            Test::Missing { feature: 0 },
            fixtures::below(0, 6.0),
        ])
        .nodes;
        for index in [0, 2] {
            if let Node::Split(split) = &mut nodes[index] {
                (split.default, split.missing) = (1, true);
            }
        }
        let tree = Tree::new(fixtures::schema(), fixtures::DEFAULT, nodes).unwrap();
        assert_eq!(
            conditions(&tree),
            [
                "petal_length <= 2",
                "petal_length > 2 and petal_length <= 4",
                "petal_length is missing",
                "petal_length > 4 and petal_length is known and petal_length <= 6",
                "petal_length > 6 and petal_length is known",
            ]
        );
        assert!(tree.to_text(None).contains("petal_length > 2 or missing\n|   petal_length <= 4"));
        assert!(tree.to_dot(None).contains("label=\"no or missing\""));
        assert_eq!(Tree::from_json(&tree.to_json()).unwrap(), tree);
    }

    #[test]
    fn what_is_missing_and_known_is_no_case() {
        let missing = || Test::Missing { feature: 0 };
        let mut nodes = vec![fixtures::split(missing(), &[1, 4], &[1.0, 1.0], 0)];
        nodes.push(fixtures::split(missing(), &[2, 3], &[1.0, 1.0], 0));
        nodes.extend([0, 1, 2].map(fixtures::leaf));
        let tree = Tree::new(fixtures::schema(), fixtures::DEFAULT, nodes).unwrap();
        assert_eq!(conditions(&tree), ["petal_length is missing", "petal_length in {}", "petal_length is known"]);
    }

    #[test]
    fn iris() {
        let rules = fixtures::iris().rules();
        assert_eq!(
            conditions(&fixtures::iris()),
            [
                "petal_length <= 2.45",
                "petal_length > 2.45 or missing and petal width <= 1.75 or missing",
                "petal_length > 2.45 or missing and petal width > 1.75"
            ]
        );
        assert_eq!((rules[1].leaf, rules[1].mass, rules[1].errors), (3, 54.0, 5.0));
        assert_eq!(fixtures::iris_leaf().rules()[0].conditions.len(), 0);
    }

    #[test]
    fn limits_are_merged() {
        let x = |t| fixtures::below(0, t);
        let tree = list(&[x(1.0), fixtures::below(1, 7.0), x(5.0), x(3.0)]);
        assert_eq!(
            conditions(&tree),
            [
                "petal_length <= 1 or missing",
                "petal_length > 1 and petal width <= 7 or missing",
                "petal_length > 1 and petal width > 7 and petal_length <= 5",
                "petal_length > 5 and petal width > 7 and petal_length <= 3",
                "petal_length > 5 and petal width > 7",
            ]
        );
    }

    #[test]
    fn sets_are_merged() {
        let (feature, is) = (fixtures::COLOR, |level| Test::Is { feature: fixtures::COLOR, level });
        assert_eq!(
            conditions(&list(&[is(0), is(2), Test::In { feature, levels: vec![0, 1] }, Test::Missing { feature }])),
            [
                "color is red or missing",
                "color is blue",
                "color is green",
                "color not in {red, green, blue} and color is missing",
                "color not in {red, green, blue} and color is known",
            ]
        );
        assert_eq!(conditions(&list(&[is(0), is(0)]))[1], "color in {}");
    }

    /// The text says "any other" where a list is long; a rule says the fact, so that its conditions can be merged.
    #[test]
    fn rules_name_all_levels() {
        let test = Test::EachOf { feature: 9, levels: vec![0, 1, 2, 3, 4], missing: true };
        let tree = Tree::new(fixtures::schema(), fixtures::DEFAULT, fixtures::stump(test, 7)).unwrap();
        assert_eq!(
            conditions(&tree)[5..],
            [r#""" is missing"#, r#""" not in {3 speed, "", "a,b", "missing", "not red"}"#]
        );
        assert!(tree.to_text(None).contains(r#""" is any other: "#));
    }

    #[test]
    fn deep_trees_have_short_rules() {
        let rules = fixtures::chain(100_000).rules();
        let words: Vec<String> = rules[99_999].conditions.iter().map(Condition::to_string).collect();
        assert_eq!(words, ["petal_length > 99998", "petal_length <= 99999"]);
    }

    proptest! {
        #[test]
        fn one_rule_per_leaf_with_at_most_one_condition_per_split(tree in fixtures::any_tree()) {
            let rules = tree.rules();
            prop_assert_eq!(rules.len(), tree.n_leaves());
            for entry in tree.preorder(None) {
                if let Some(rule) = rules.iter().find(|rule| rule.leaf as usize == entry.node) {
                    prop_assert!(rule.conditions.len() <= entry.depth);
                }
            }
        }
    }
}
