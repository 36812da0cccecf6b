//! Trees as lists of rules: the conditions on the way to each leaf, made as short as they can be.

use rustc_hash::FxHashMap;

use super::words::{Fact, Said, leaf_words};
use super::{Condition, Leaf, Node, Threshold, Tree};
use crate::data::{Labels, Schema};

/// If all conditions hold, the leaf's prediction follows.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// In the order of the path, those on one feature merged: `x <= 5` and `x <= 3` are `x <= 3`. None for a tree
    /// that is a single leaf.
    pub conditions: Vec<Condition>,
    /// The leaf's index among the tree's nodes.
    pub leaf: u32,
    /// What the leaf predicts.
    pub prediction: Leaf,
    /// Training mass that came to the leaf.
    pub mass: f64,
    /// Training mass that came there with another class; 0 where a number is predicted.
    pub errors: f64,
    /// How many training rows came there, whole or in part, if the tree tells.
    pub n_rows: Option<u64>,
}

impl Rule {
    /// `if age > 30 and (size <= medium or missing): yes (54/5)`, or `always: yes (54/5)`; `labels` are those of the tree's
    /// schema. The leaf stands as in [`Tree::to_text`].
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

/// What can be said of a feature at once: an upper and a lower limit, a set of levels, whether it is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Aspect {
    Upper,
    Lower,
    Levels,
    Missing,
}

/// The merged facts on the way to a node, and how to take the last ones back.
#[derive(Default)]
struct Path {
    facts: Vec<(u32, Said)>,
    places: FxHashMap<(u32, Aspect), usize>,
    /// Per branch taken: the place it changed, and what was there before.
    taken: Vec<(usize, Option<Said>)>,
}

impl Path {
    fn take(&mut self, feature: u32, said: Said) {
        let next = self.facts.len();
        let place = *self.places.entry((feature, said.fact.aspect())).or_insert(next);
        if place == next {
            self.facts.push((feature, said));
            self.taken.push((place, None));
        } else {
            let before = &self.facts[place].1;
            let or_missing = before.or_missing && said.or_missing;
            let merged = Said { fact: before.fact.and(&said.fact), or_missing };
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

    /// The facts as conditions. What all facts on a feature allow, "or missing", is said by each of them; what one of them
    /// rules out, by none. So `x > 3 or missing` and `x is missing` are `x is missing`.
    fn conditions(&self, schema: &Schema) -> Vec<Condition> {
        let said = |feature: u32, fact: Fact| {
            self.places.get(&(feature, fact.aspect())).is_some_and(|&place| self.facts[place].1.fact == fact)
        };
        let of = |feature: u32, test: &dyn Fn(&Said) -> bool| {
            self.facts
                .iter()
                .filter(|(f, said)| *f == feature && said.fact.aspect() != Aspect::Missing)
                .all(|(_, s)| test(s))
        };
        let condition = |(feature, one): &(u32, Said)| {
            let is_missing = said(*feature, Fact::Missing(true));
            let allowed = of(*feature, &|said| said.or_missing);
            if one.or_missing && is_missing && allowed {
                return None; // the value test was passed for want of a value
            }
            let or_missing = one.or_missing && allowed && !said(*feature, Fact::Missing(false));
            Some(Condition::new(schema, *feature, &Said { fact: one.fact.clone(), or_missing }))
        };
        self.facts.iter().filter_map(condition).collect()
    }
}

impl Fact {
    fn aspect(&self) -> Aspect {
        match self {
            Fact::AtMost(_) => Aspect::Upper,
            Fact::Above(_) => Aspect::Lower,
            Fact::Among(_) | Fact::NotAmong(_) => Aspect::Levels,
            Fact::Missing(_) | Fact::Never => Aspect::Missing,
        }
    }

    /// Both facts in one; they are of the same feature and aspect.
    fn and(&self, other: &Fact) -> Fact {
        let keep = |from: &[u32], set: &[u32], inside: bool| {
            from.iter().copied().filter(|code| set.binary_search(code).is_ok() == inside).collect()
        };
        match (self, other) {
            (Fact::AtMost(a), Fact::AtMost(b)) => Fact::AtMost(if below(*a, *b) { *a } else { *b }),
            (Fact::Above(a), Fact::Above(b)) => Fact::Above(if below(*a, *b) { *b } else { *a }),
            (Fact::Among(a), Fact::Among(b)) => Fact::Among(keep(a, b, true)),
            (Fact::Among(a), Fact::NotAmong(b)) => Fact::Among(keep(a, b, false)),
            (Fact::NotAmong(a), Fact::Among(b)) => Fact::Among(keep(b, a, false)),
            (Fact::NotAmong(a), Fact::NotAmong(b)) => {
                let mut all = [a.as_slice(), b].concat();
                all.sort_unstable();
                all.dedup();
                Fact::NotAmong(all)
            }
            (Fact::Missing(a), Fact::Missing(b)) if a == b => self.clone(),
            (Fact::Missing(_) | Fact::Never, _) => Fact::Never,
            (_, other) => other.clone(),
        }
    }
}

/// `a < b`; thresholds of one feature are of one kind.
fn below(a: Threshold, b: Threshold) -> bool {
    match (a, b) {
        (Threshold::Float(a), Threshold::Float(b)) => a < b,
        (Threshold::Integer(a), Threshold::Integer(b)) => a < b,
        (Threshold::Level(a), Threshold::Level(b)) => a < b,
        _ => false,
    }
}

impl Tree {
    /// One rule per leaf, in preorder.
    ///
    /// A case whose levels the schema knows meets the conditions of one rule only: that of its leaf. Others go as
    /// [`Unseen`](super::Unseen) says. Without a value a case meets a condition that says "or missing" or "is missing",
    /// and no other: such a case takes a branch of every node. But where cases without a value go down all branches ([`MissingPolicy::Fractional`](super::MissingPolicy::Fractional)), no condition says so, and
    /// several rules have a part in the prediction. A leaf that no value can reach says so: `color in {}`.
    ///
    /// Complexity: O(nodes + square of the conditions of a rule).
    pub fn rules(&self) -> Vec<Rule> {
        let mut rules = Vec::new();
        let mut path = Path::default();
        for entry in self.outline(None) {
            if let Some((parent, branch)) = entry.parent
                && let Node::Split(split) = &self.nodes[parent]
            {
                while path.taken.len() >= entry.depth {
                    path.take_back();
                }
                let way = self.without_value(split).filter(|_| !split.test.asks_missing());
                path.take(split.test.feature(), Said::of(split, branch, way));
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

    use super::super::{Test, sample};
    use super::*;

    fn conditions(tree: &Tree) -> Vec<String> {
        let words = |rule: &Rule| rule.conditions.iter().map(Condition::to_string).collect::<Vec<_>>().join(" and ");
        tree.rules().iter().map(words).collect()
    }

    /// Fault U: a rule shows its leaf as the text does, the errors where there are any and no more digits.
    #[test]
    fn fault_u_rules_show_leaves_as_texts_do() {
        let tree = sample::iris();
        let words = |tree: &Tree| tree.rules().iter().map(|rule| rule.words(tree.schema.labels())).collect::<Vec<_>>();
        assert_eq!(
            words(&tree),
            [
                "if petal_length <= 2.45: Iris-setosa (50)",
                "if (petal_length > 2.45 or missing) and (petal width <= 1.75 or missing): Iris-versicolor (54/5)",
                "if (petal_length > 2.45 or missing) and petal width > 1.75: Iris-virginica (46/1)",
            ]
        );
        assert_eq!(words(&sample::iris_leaf()), ["always: Iris-setosa (150/100)"]);
        let thirds = sample::class_leaf(0, [1.0 / 3.0, 2.0 / 3.0, 0.0]);
        let leaf = Tree::new(sample::schema(), sample::DEFAULT, vec![thirds]).unwrap();
        assert_eq!(words(&leaf), ["always: Iris-setosa (1/0.66667)"]);
        assert_eq!(leaf.to_text(None), "Iris-setosa (1/0.66667)");
    }

    /// The first test's second branch leads to the second test, and so on.
    fn list(tests: &[Test]) -> Tree {
        let mut nodes = Vec::new();
        for (i, test) in (0..).zip(tests) {
            nodes.push(sample::split(test.clone(), &[2 * i + 1, 2 * i + 2], &[1.0, 1.0], 0));
            nodes.push(sample::leaf(0));
        }
        nodes.push(sample::leaf(1));
        Tree::new(sample::schema(), sample::DEFAULT, nodes).unwrap()
    }

    #[test]
    fn a_missing_value_is_told_apart_as_far_as_the_path_does() {
        let mut nodes =
            list(&[sample::below(0, 2.0), sample::below(0, 4.0), Test::Missing { feature: 0 }, sample::below(0, 6.0)])
                .nodes;
        for index in [0, 2] {
            if let Node::Split(split) = &mut nodes[index] {
                (split.default, split.missing) = (1, true);
            }
        }
        let tree = Tree::new(sample::schema(), sample::DEFAULT, nodes).unwrap();
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
        let mut nodes = vec![sample::split(missing(), &[1, 4], &[1.0, 1.0], 0)];
        nodes.push(sample::split(missing(), &[2, 3], &[1.0, 1.0], 0));
        nodes.extend([0, 1, 2].map(sample::leaf));
        let tree = Tree::new(sample::schema(), sample::DEFAULT, nodes).unwrap();
        assert_eq!(conditions(&tree), ["petal_length is missing", "petal_length in {}", "petal_length is known"]);
    }

    #[test]
    fn iris() {
        let rules = sample::iris().rules();
        assert_eq!(
            conditions(&sample::iris()),
            [
                "petal_length <= 2.45",
                "petal_length > 2.45 or missing and petal width <= 1.75 or missing",
                "petal_length > 2.45 or missing and petal width > 1.75"
            ]
        );
        assert_eq!((rules[1].leaf, rules[1].mass, rules[1].errors), (3, 54.0, 5.0));
        assert_eq!(sample::iris_leaf().rules()[0].conditions.len(), 0);
    }

    #[test]
    fn limits_are_merged() {
        let x = |t| sample::below(0, t);
        let tree = list(&[x(1.0), sample::below(1, 7.0), x(5.0), x(3.0)]);
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
        let (feature, is) = (sample::COLOR, |level| Test::Is { feature: sample::COLOR, level });
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
        let tree = Tree::new(sample::schema(), sample::DEFAULT, sample::stump(test, 7)).unwrap();
        assert_eq!(
            conditions(&tree)[5..],
            [r#""" is missing"#, r#""" not in {3 speed, "", "a,b", "missing", "not red"}"#]
        );
        assert!(tree.to_text(None).contains(r#""" is any other: "#));
    }

    #[test]
    fn deep_trees_have_short_rules() {
        let rules = sample::chain(100_000).rules();
        let words: Vec<String> = rules[99_999].conditions.iter().map(Condition::to_string).collect();
        assert_eq!(words, ["petal_length > 99998", "petal_length <= 99999"]);
    }

    fn any_facts() -> impl Strategy<Value = (Fact, Fact)> {
        let levels = || prop::collection::btree_set(0..6u32, 0..4).prop_map(|set| set.into_iter().collect::<Vec<_>>());
        let threshold = || (0..6u32).prop_map(Threshold::Level);
        let set = || prop_oneof![levels().prop_map(Fact::Among), levels().prop_map(Fact::NotAmong)];
        prop_oneof![
            (threshold().prop_map(Fact::AtMost), threshold().prop_map(Fact::AtMost)),
            (threshold().prop_map(Fact::Above), threshold().prop_map(Fact::Above)),
            (set(), set()),
        ]
    }

    fn holds(fact: &Fact, level: u32) -> bool {
        match fact {
            Fact::AtMost(Threshold::Level(t)) => level <= *t,
            Fact::Above(Threshold::Level(t)) => level > *t,
            Fact::Among(set) => set.contains(&level),
            Fact::NotAmong(set) => !set.contains(&level),
            other => panic!("{other:?}"),
        }
    }

    proptest! {
        #[test]
        fn merged_facts_say_what_both_said((a, b) in any_facts()) {
            let both = a.and(&b);
            prop_assert_eq!(both.aspect(), a.aspect());
            for level in 0..7 {
                prop_assert_eq!(holds(&both, level), holds(&a, level) && holds(&b, level));
            }
        }

        #[test]
        fn one_rule_per_leaf_with_at_most_one_condition_per_split(tree in sample::any_tree()) {
            let rules = tree.rules();
            prop_assert_eq!(rules.len(), tree.n_leaves());
            for entry in tree.outline(None) {
                if let Some(rule) = rules.iter().find(|rule| rule.leaf as usize == entry.node) {
                    prop_assert!(rule.conditions.len() <= entry.depth);
                }
            }
        }
    }
}
