//! The canonical form of a tree: bytes that two trees share exactly when they are equal. Equality and hash both read
//! them, so they cannot disagree.
//!
//! The form has what is asked and what is predicted, and nothing else of training: not how many rows there were, nor
//! what they weighed. So shares stand for masses, and defaults only where a case can meet them. Shares are the floats
//! that prediction gives out: whole masses that are multiples of each other have the same ones; weights that are no
//! whole numbers may round otherwise when they are scaled.

use std::hash::{Hash, Hasher};

use super::{Leaf, MissingPolicy, Node, Split, Test, Threshold, Tree, Unseen};
use crate::data::{Feature, Kind, Labels, NumericType, Task};

impl PartialEq for Tree {
    fn eq(&self, other: &Self) -> bool {
        self.policies == other.policies
            && self.nodes.len() == other.nodes.len()
            && self.canonical() == other.canonical()
    }
}

impl Eq for Tree {}

impl Hash for Tree {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.stable_hash());
    }
}

impl Tree {
    /// A hash that equal trees share, the same in every run and on every platform, from version 0.2 on. (FNV-1a, 64
    /// bits, over the canonical form: not meant to resist an adversary.)
    ///
    /// Complexity: O(nodes + branches + masses + levels of the features used).
    pub fn stable_hash(&self) -> u64 {
        self.canonical()
            .iter()
            .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
    }

    /// The canonical form. Features are numbered and described where they are first used, so neither unused features
    /// nor the order of columns changes it.
    fn canonical(&self) -> Vec<u8> {
        let mut bytes = Bytes(Vec::new());
        bytes.byte(match self.policies.missing {
            MissingPolicy::Default => 0,
            MissingPolicy::Fractional => 1,
        });
        bytes.byte(match self.policies.unseen {
            Unseen::Majority => 0,
            Unseen::Missing => 1,
            Unseen::Error => 2,
        });
        match self.schema.target.as_ref().map(|target| &target.task) {
            None => bytes.byte(0),
            Some(Task::Numbers) => bytes.byte(1),
            Some(Task::Classes(labels)) => bytes.labels(labels),
        }
        let mut numbers = vec![None; self.schema.features.len()];
        let mut n_used = 0;
        for (node, or_missing) in self.nodes.iter().zip(self.or_missing_branches()) {
            match node {
                Node::Leaf(leaf) => bytes.leaf(leaf),
                Node::Split(split) => {
                    let feature = split.test.feature() as usize;
                    let number = *numbers[feature].get_or_insert_with(|| {
                        n_used += 1;
                        n_used
                    });
                    bytes.split(split, number);
                    bytes.or_missing(or_missing);
                    if self.is_spread(split) {
                        bytes.shares(&split.masses);
                    }
                    if self.asks_majority(split) {
                        bytes.int(split.heaviest() as u64);
                    }
                    if number == n_used {
                        bytes.feature(&self.schema.features[feature]);
                    }
                }
            }
        }
        // Preorder says where the nodes end, so that no length is needed before the costs.
        // Without fractions no row ends in several leaves, and costs decide nothing.
        let costs = self.costs.iter().filter(|_| self.policies.missing == MissingPolicy::Fractional);
        costs.for_each(|costs| bytes.list(costs, |bytes, cost| bytes.float(*cost)));
        bytes.0
    }

    /// Whether cases may go down all branches of a split in part.
    fn is_spread(&self, split: &Split) -> bool {
        self.missing_branch(split).is_none()
    }

    /// Whether some cases take the heaviest branch.
    fn asks_majority(&self, split: &Split) -> bool {
        let has_levels = !self.schema.features[split.test.feature() as usize].kind.levels().is_empty();
        let of_unseen = self.policies.unseen == Unseen::Majority && has_levels;
        self.is_spread(split) || of_unseen && !matches!(split.test, Test::Missing { .. })
    }
}

/// The bytes of a canonical form. Lists are preceded by their length and variants by a tag, so that different trees
/// never have the same bytes.
struct Bytes(Vec<u8>);

impl Bytes {
    fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    fn int(&mut self, value: u64) {
        self.0.extend(value.to_le_bytes());
    }

    fn float(&mut self, value: f64) {
        self.int(value.to_bits());
    }

    fn text(&mut self, text: &str) {
        self.int(text.len() as u64);
        self.0.extend(text.as_bytes());
    }

    fn list<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.int(items.len() as u64);
        items.iter().for_each(|item| write(self, item));
    }

    fn labels(&mut self, labels: &Labels) {
        match labels {
            Labels::Strings(v) => {
                self.byte(2);
                self.list(v, |b, x| b.text(x));
            }
            Labels::Integers(v) => {
                self.byte(3);
                self.list(v, |b, x| b.int(*x as u64));
            }
            Labels::Floats(v) => {
                self.byte(4);
                self.list(v, |b, x| b.float(*x + 0.0));
            }
            Labels::Booleans(v) => {
                self.byte(5);
                self.list(v, |b, x| b.byte(u8::from(*x)));
            }
            Labels::WithExtra { classes, extra } => {
                self.byte(6);
                self.labels(classes);
                self.list(extra, |b, x| b.text(x));
            }
        }
    }

    fn feature(&mut self, feature: &Feature) {
        self.text(&feature.name);
        match &feature.kind {
            Kind::Continuous(number) => self.byte(match number {
                NumericType::Float => 0,
                NumericType::Integer => 1,
                NumericType::Date => 2,
                NumericType::DatetimeMs => 3,
                NumericType::DatetimeUs => 4,
                NumericType::DatetimeNs => 5,
                NumericType::Time => 8, // levels have 6 and 7
                NumericType::DurationMs => 9,
                NumericType::DurationUs => 10,
                NumericType::DurationNs => 11,
            }),
            Kind::Ordinal(levels) => {
                self.byte(6);
                self.list(levels, |b, x| b.text(x));
            }
            Kind::Nominal(levels) => {
                self.byte(7);
                self.list(levels, |b, x| b.text(x));
            }
        }
    }

    fn split(&mut self, split: &Split, feature: u64) {
        let levels = |b: &mut Self, tag, levels: &[u32]| {
            b.byte(tag);
            b.list(levels, |b, x| b.int(u64::from(*x)));
        };
        match &split.test {
            Test::AtMost { threshold: Threshold::Float(t), .. } => {
                self.byte(0);
                self.float(*t);
            }
            Test::AtMost { threshold: Threshold::Integer(t), .. } => {
                self.byte(1);
                self.int(*t as u64);
            }
            Test::AtMost { threshold: Threshold::Level(t), .. } => levels(self, 2, &[*t]),
            Test::Is { level, .. } => levels(self, 3, &[*level]),
            Test::In { levels: set, .. } => levels(self, 4, set),
            Test::EachLevel { .. } => self.byte(5),
            Test::EachOf { levels: set, missing: false, .. } => levels(self, 10, set), // leaves have 7 to 9
            Test::EachOf { levels: set, missing: true, .. } => levels(self, 11, set),
            Test::Missing { .. } => self.byte(6),
        }
        self.int(feature);
        self.list(&split.children, |b, x| b.int(u64::from(*x)));
    }

    fn or_missing(&mut self, branch: Option<usize>) {
        self.int(branch.map_or(0, |branch| branch as u64 + 1));
    }

    /// Masses as shares of their sum, as predictions have them; an empty list if all are 0.
    fn shares(&mut self, masses: &[f64]) {
        let total: f64 = masses.iter().sum();
        self.list(if total > 0.0 { masses } else { &[] }, |b, mass| b.float(mass / total));
    }

    fn leaf(&mut self, leaf: &Leaf) {
        match leaf {
            Leaf::Class { label, masses, .. } => {
                self.byte(7);
                self.int(u64::from(*label));
                self.shares(masses);
            }
            Leaf::Number { mean, .. } => {
                self.byte(9);
                self.float(*mean);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::super::{Policies, fixtures};
    use super::*;
    use crate::data::dataset::MISSING;
    use crate::data::{Column, Dataset, Schema, Target};

    /// The same tree over a table with the columns in reverse order and one more in front.
    fn over_other_columns(tree: &Tree) -> Tree {
        let old = tree.schema();
        let n = old.features.len() as u32;
        let mut features = vec![Feature { name: "unused".into(), kind: Kind::Nominal(vec![]), dtype: "".into() }];
        features.extend(old.features.iter().rev().map(|f| Feature { dtype: "other".into(), ..f.clone() }));
        let mut nodes = tree.nodes().to_vec();
        for node in &mut nodes {
            if let Node::Split(split) = node {
                match &mut split.test {
                    Test::AtMost { feature, .. }
                    | Test::Is { feature, .. }
                    | Test::In { feature, .. }
                    | Test::EachLevel { feature }
                    | Test::EachOf { feature, .. }
                    | Test::Missing { feature } => *feature = n - *feature,
                }
            }
        }
        let schema = Schema { features, target: old.target.clone() };
        Tree::new(Arc::new(schema), tree.policies(), nodes).unwrap()
    }

    proptest! {
        #[test]
        fn columns_that_are_not_used_do_not_count(tree in fixtures::any_tree()) {
            let other = over_other_columns(&tree);
            prop_assert_eq!(&other, &tree);
            prop_assert_eq!(other.stable_hash(), tree.stable_hash());
        }

        #[test]
        fn equal_trees_have_one_hash_and_predict_the_same(a in fixtures::any_tree(), b in fixtures::any_tree()) {
            if a.nodes() == b.nodes() && a.policies() == b.policies() && a.schema() == b.schema() {
                prop_assert_eq!(&a, &b);
            }
            prop_assert_eq!(a == b, a.stable_hash() == b.stable_hash());
            if a == b {
                prop_assert_eq!(predictions(&a), predictions(&b));
            }
        }

        /// Fault G: rows that are there several times, or weigh more, do not make another tree.
        #[test]
        fn fault_g_the_scale_of_masses_does_not_count(tree in fixtures::any_tree(), factor in 2..100u32) {
            let times = |mass: &mut f64| *mass = mass.round() * f64::from(factor);
            let whole = over_masses(&tree, |mass| *mass = mass.round());
            let scaled = over_masses(&tree, times);
            prop_assert_eq!(&scaled, &whole);
            prop_assert_eq!(scaled.stable_hash(), whole.stable_hash());
            prop_assert_eq!(predictions(&scaled), predictions(&whole));
            let n_nodes = whole.nodes().len();
            prop_assert_eq!(&whole.clone().with_rows(vec![7; n_nodes]).unwrap(), &whole);
        }
    }

    /// The same tree with other masses.
    fn over_masses(tree: &Tree, change: impl Fn(&mut f64)) -> Tree {
        let mut nodes = tree.nodes().to_vec();
        for node in &mut nodes {
            match node {
                Node::Split(split) => split.masses.iter_mut().for_each(&change),
                Node::Leaf(Leaf::Class { masses, .. }) => masses.iter_mut().for_each(&change),
                Node::Leaf(Leaf::Number { mass, .. }) => change(mass),
            }
        }
        Tree::new(tree.schema().clone(), tree.policies(), nodes).unwrap()
    }

    /// The predictions for a row of missing values, and for one of unseen levels.
    fn predictions(tree: &Tree) -> Vec<Result<Vec<f64>, crate::Error>> {
        let schema = tree.schema();
        [true, false]
            .map(|missing| {
                let column = |feature: &Feature| match &feature.kind {
                    Kind::Continuous(NumericType::Float) => Column::Floats(vec![if missing { f64::NAN } else { 0.5 }]),
                    Kind::Continuous(_) => Column::Integers { values: vec![3], missing: missing.then(|| vec![true]) },
                    _ => Column::Levels {
                        codes: vec![if missing { MISSING } else { feature.kind.levels().len() as u32 }],
                        unseen: vec!["unseen".into()],
                    },
                };
                let columns = schema.features.iter().map(column).collect();
                let all = Arc::new(Schema { target: None, ..(**schema).clone() });
                let data = Dataset::new(all, columns, 1, Target::None, None, None).unwrap();
                tree.probabilities(&data, 0..1).or_else(|_| tree.predict_numbers(&data, 0..1))
            })
            .into()
    }

    #[test]
    fn a_change_of_any_part_is_seen() {
        let tree = fixtures::iris();
        let with_nodes = |change: &dyn Fn(&mut Vec<Node>)| {
            let mut nodes = tree.nodes().to_vec();
            change(&mut nodes);
            Tree::new(tree.schema().clone(), tree.policies(), nodes).unwrap()
        };
        let with_schema = |change: &dyn Fn(&mut Schema)| {
            let mut schema = (**tree.schema()).clone();
            change(&mut schema);
            Tree::new(Arc::new(schema), tree.policies(), tree.nodes().to_vec()).unwrap()
        };
        let split = |nodes: &mut Vec<Node>, change: &dyn Fn(&mut Split)| match &mut nodes[0] {
            Node::Split(split) => change(split),
            Node::Leaf(_) => unreachable!(),
        };
        for other in [
            with_nodes(&|n| split(n, &|s| s.default = 1 - s.default)),
            with_nodes(&|n| split(n, &|s| s.test = Test::Missing { feature: 0 })),
            with_nodes(&|n| split(n, &|s| s.test = Test::Missing { feature: 1 })),
            with_nodes(&|n| n[1] = fixtures::leaf(2)),
            with_schema(&|s| s.features[0].name = "other".into()),
            with_schema(&|s| s.target.as_mut().unwrap().task = Task::Classes(Labels::Integers(vec![1, 2, 3]))),
            Tree::new(
                tree.schema().clone(),
                Policies { missing: MissingPolicy::Fractional, ..tree.policies() },
                tree.nodes().to_vec(),
            )
            .unwrap(),
        ] {
            assert_ne!(other, tree);
            assert_ne!(other.stable_hash(), tree.stable_hash());
        }
        assert_eq!(with_schema(&|s| s.target.as_mut().unwrap().name = "other".into()), tree);
        for same in [
            with_nodes(&|n| split(n, &|s| s.missing = true)),
            with_nodes(&|n| split(n, &|s| s.masses[0] += 1.0)), // no case is shared out here
            tree.clone().with_rows(vec![9, 5, 4, 2, 2]).unwrap(),
        ] {
            assert_eq!(same, tree);
            assert_eq!(same.stable_hash(), tree.stable_hash());
        }
        let fractional = |mass| {
            let mut nodes = tree.nodes().to_vec();
            split(&mut nodes, &|s| s.masses[0] += mass);
            Tree::new(tree.schema().clone(), Policies { missing: MissingPolicy::Fractional, ..tree.policies() }, nodes)
                .unwrap()
        };
        assert_ne!(fractional(0.0), fractional(1.0));
    }

    #[test]
    fn zeros_have_one_sign() {
        let stump = |t, mass| {
            let mut nodes = fixtures::stump(Test::AtMost { feature: 0, threshold: Threshold::Float(t) }, 2);
            if let Node::Split(split) = &mut nodes[0] {
                split.masses[1] = mass;
            }
            Tree::new(fixtures::schema(), fixtures::DEFAULT, nodes).unwrap()
        };
        assert_eq!(stump(-0.0, -0.0), stump(0.0, 0.0));
        assert_eq!(stump(-0.0, 0.0).stable_hash(), stump(0.0, -0.0).stable_hash());
    }

    /// Written down once: another number means that hashes kept by users no longer match.
    #[test]
    fn the_hash_never_changes() {
        assert_eq!(fixtures::iris().stable_hash(), 15_399_861_441_769_160_591);
    }
}
