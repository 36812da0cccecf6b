//! What is known of every node: where it stands, which training cases came to it, what it would predict as a leaf; and
//! how much each feature did for that.

use std::sync::OnceLock;

use super::predict::cheapest;
use super::words::leaf_words;
use super::{Condition, Leaf, Node, Split, Tree, test_words};
use crate::error::{Error, Result};

/// A node in its tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// The node above it and the branch that leads here; none for the root.
    pub parent: Option<(u32, u32)>,
    /// Splits above it.
    pub depth: u32,
    /// Of a split: the branch whose condition says "or missing", if one does.
    pub way: Option<u32>,
    /// The leaf that would stand here: of a leaf, itself. Its masses are those of the leaves below; its class is the one of
    /// greatest mass or, with costs, of least cost, ties to the first; its number their mean by mass. Empty, with
    /// the class of its first leaf, where no mass came.
    pub leaf: Leaf,
}

/// What makes cases of several classes impure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// How often two cases differ in class.
    Gini,
    /// The entropy of the classes.
    Entropy,
    /// The share of cases of other classes than the most frequent one.
    Errors,
}

impl Tree {
    /// The same tree with the number of rows that came to each node in training, whole or in part.
    ///
    /// Errors: [`Error::BadTree`] unless there is a number for each node, none greater than that of the node above.
    pub fn with_rows(self, rows: Vec<u64>) -> Result<Self> {
        let bad = |problem: String| Err(Error::BadTree { problem });
        if rows.len() != self.nodes.len() {
            return bad(format!("it has {} nodes, and numbers of rows for {}", self.nodes.len(), rows.len()));
        }
        for (index, node) in self.nodes.iter().enumerate() {
            if let Node::Split(split) = node
                && let Some(child) = split.children.iter().find(|&&child| rows[child as usize] > rows[index])
            {
                return bad(format!("more rows came to node {child} than to node {index} above it"));
            }
        }
        Ok(Tree { rows: Some(rows.into()), ..self })
    }

    /// The same tree with what each label would have cost in the training cases of each node, node after node: for objectives
    /// where cases have costs of their own.
    ///
    /// Errors: [`Error::BadTree`] unless there is a finite number for each node and label.
    pub fn with_label_costs(self, costs: Vec<f64>) -> Result<Self> {
        let n_labels = self.schema.labels().map_or(0, |labels| labels.len());
        if costs.len() != self.nodes.len() * n_labels || !costs.iter().all(|cost| cost.is_finite()) {
            let n_nodes = self.nodes.len();
            let problem = format!("its costs of labels are not {n_labels} finite numbers for each of {n_nodes} nodes");
            return Err(Error::BadTree { problem });
        }
        Ok(Tree { label_costs: Some(costs.into()), places: OnceLock::new(), ..self })
    }

    /// What each label would have cost in the training cases of a node, if cases had costs of their own. Panics if there is
    /// no such node.
    pub fn label_costs(&self, node: usize) -> Option<&[f64]> {
        let n_labels = self.schema.labels().map_or(0, |labels| labels.len());
        self.label_costs.as_ref().map(|costs| &costs[node * n_labels..(node + 1) * n_labels])
    }

    /// How many rows came to each node in training, whole or in part, whatever they weighed and counted; those of weight or
    /// count 0 are left out. `None` in trees of files that do not tell.
    pub fn rows(&self) -> Option<&[u64]> {
        self.rows.as_deref()
    }

    /// Where each node stands, in preorder; made when first asked for. Complexity: O(nodes x classes) once.
    pub fn places(&self) -> &[Place] {
        self.places.get_or_init(|| self.new_places().into())
    }

    fn new_places(&self) -> Vec<Place> {
        let ways = self.ways();
        let place = |entry: super::outline::Entry| Place {
            parent: entry.parent.map(|(parent, branch)| (parent as u32, branch as u32)),
            depth: entry.depth as u32,
            way: ways[entry.node].map(|branch| branch as u32),
            leaf: match &self.nodes[entry.node] {
                Node::Leaf(leaf) => leaf.clone(),
                Node::Split(_) => Leaf::Number { mean: 0.0, mass: 0.0 }, // replaced below
            },
        };
        let mut places: Vec<Place> = self.outline(None).into_iter().map(place).collect();
        // Children stand after their parents.
        for index in (0..places.len()).rev() {
            if let Node::Split(split) = &self.nodes[index] {
                places[index].leaf = self.leaf_of(index, split, &places);
            }
        }
        places
    }

    /// The leaf in place of a split whose children are known.
    fn leaf_of(&self, index: usize, split: &Split, places: &[Place]) -> Leaf {
        let children = || split.children.iter().map(|&child| &places[child as usize].leaf);
        match &places[split.children[0] as usize].leaf {
            Leaf::Class { label, masses, .. } => {
                let mut sums = vec![0.0; masses.len()];
                for child in children() {
                    if let Leaf::Class { masses, empty: false, .. } = child {
                        sums.iter_mut().zip(masses).for_each(|(sum, mass)| *sum += mass);
                    }
                }
                let empty = sums.iter().all(|&mass| mass == 0.0);
                let label = match self.label_costs(index) {
                    _ if empty => *label,
                    Some(costs) => cheapest(costs),
                    None => self.best_class(&sums),
                };
                Leaf::Class { label, masses: sums.into(), empty }
            }
            Leaf::Number { mean, .. } => {
                let total: f64 = children().map(Leaf::mass).sum();
                let part = |child: &Leaf| match child {
                    Leaf::Number { mean, mass } => mean * (mass / total),
                    Leaf::Class { .. } => 0.0,
                };
                Leaf::Number { mean: if total > 0.0 { children().map(part).sum() } else { *mean }, mass: total }
            }
        }
    }

    /// The condition of the branch that leads to a node, as the text has it; none for the root. Panics if there is no such
    /// node.
    pub fn condition_at(&self, node: u32) -> Option<Condition> {
        let (parent, branch) = self.places()[node as usize].parent?;
        let way = self.places()[parent as usize].way.map(|branch| branch as usize);
        match &self.nodes[parent as usize] {
            Node::Split(split) => Some(self.condition_of(split, branch as usize, way)),
            Node::Leaf(_) => None,
        }
    }

    /// What a node is, in short: `petal_length <= 2.45, Iris-setosa (150/100)` or, for a leaf, `Iris-setosa (50)`. Panics if
    /// there is no such node.
    pub fn words_at(&self, node: u32) -> String {
        let leaf = leaf_words(self.schema.labels(), &self.places()[node as usize].leaf);
        match &self.nodes[node as usize] {
            Node::Split(split) => format!("{}, {leaf}", test_words(&self.schema, &split.test)),
            Node::Leaf(_) => leaf,
        }
    }

    /// The paths to some nodes, one after the other, and where each begins; what comes after the last ends the list.
    ///
    /// Complexity: O(nodes on all paths).
    pub fn paths_to(&self, ends: &[u32]) -> (Vec<i64>, Vec<i64>) {
        let places = self.places();
        let (mut starts, mut nodes) = (vec![0], Vec::new());
        for &end in ends {
            let start = nodes.len();
            let above = |&node: &i64| places[node as usize].parent.map(|(parent, _)| i64::from(parent));
            nodes.extend(std::iter::successors(Some(i64::from(end)), above));
            nodes[start..].reverse();
            starts.push(nodes.len() as i64);
        }
        (starts, nodes)
    }

    /// The nodes from the root to `node`, both included. Panics if there is no such node.
    pub fn path_to(&self, node: u32) -> Vec<u32> {
        self.paths_to(&[node]).1.into_iter().map(|node| node as u32).collect()
    }

    /// How much each feature of the schema lowered the impurity: at every split the mass that came there times its impurity,
    /// less the same of its branches; added up by feature, over the sum of all. All 0 where no split lowers it. In a tree
    /// that predicts numbers the impurity is the variance of the predictions, whatever the measure: what a split lowers
    /// in that of the training numbers is the same.
    ///
    /// Masses have class weights and case weights in them; costs of errors do not count. Source: Breiman, Friedman, Olshen
    /// and Stone, Classification and Regression Trees, 1984, without surrogates; as `feature_importances_` of scikit-learn.
    ///
    /// Complexity: O(nodes x classes + features).
    pub fn importances(&self, measure: Measure) -> Vec<f64> {
        let places = self.places();
        let mut gains = vec![0.0; self.schema.features.len()];
        for (place, node) in places.iter().zip(&self.nodes) {
            if let Node::Split(split) = node {
                let children = || split.children.iter().map(|&child| &places[child as usize].leaf);
                let gain = match &place.leaf {
                    Leaf::Class { .. } => {
                        measure.of(&place.leaf) - children().map(|child| measure.of(child)).sum::<f64>()
                    }
                    Leaf::Number { mean, .. } => {
                        let spread = |child: &Leaf| match child {
                            Leaf::Number { mean: of_child, mass } => mass * (of_child - mean).powi(2),
                            Leaf::Class { .. } => 0.0,
                        };
                        children().map(spread).sum()
                    }
                };
                gains[split.test.feature() as usize] += gain.max(0.0); // less only by rounding
            }
        }
        let total: f64 = gains.iter().sum();
        if total > 0.0 {
            gains.iter_mut().for_each(|gain| *gain /= total);
        }
        gains
    }
}

impl Measure {
    /// The mass of a node times its impurity.
    fn of(self, leaf: &Leaf) -> f64 {
        let Leaf::Class { masses, empty: false, .. } = leaf else { return 0.0 };
        let total: f64 = masses.iter().sum();
        let present = masses.iter().filter(|&&mass| mass > 0.0);
        match self {
            Measure::Gini => present.map(|mass| mass * (1.0 - mass / total)).sum(),
            Measure::Entropy => present.map(|mass| mass * (total / mass).log2()).sum(),
            Measure::Errors => total - masses.iter().copied().fold(0.0, f64::max),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::sample;
    use super::*;

    #[test]
    fn iris() {
        let tree = sample::iris().with_rows(vec![150, 50, 100, 54, 46]).unwrap();
        let places = tree.places();
        let all = Leaf::Class { label: 0, masses: [50.0, 50.0, 50.0].into(), empty: false };
        assert_eq!(places[0], Place { parent: None, depth: 0, way: Some(1), leaf: all });
        assert_eq!((places[3].parent, places[3].depth), (Some((2, 0)), 2));
        assert_eq!((places[2].leaf.mass(), places[2].leaf.errors()), (100.0, 50.0));
        assert_eq!(tree.path_to(4), [0, 2, 4]);
        assert_eq!(tree.paths_to(&[1, 3]), (vec![0, 2, 5], vec![0, 1, 0, 2, 3]));
        assert_eq!(tree.words_at(0), "petal_length <= 2.45, Iris-setosa (150/100)");
        assert_eq!(tree.words_at(4), "Iris-virginica (46/1)");
        assert_eq!(tree.rows(), Some(&[150, 50, 100, 54, 46][..]));
        let words = |node| tree.condition_at(node).map(|condition| condition.to_string());
        assert_eq!(words(0), None);
        assert_eq!([1, 2].map(|node| words(node).unwrap()), ["petal_length <= 2.45", "petal_length > 2.45 or missing"]);
        // 100 - 50 = 50 by the first split, 50 - (54 - (49^2 + 5^2) / 54) - (46 - (1 + 45^2) / 46) by the second.
        let second = 50.0 - (54.0 - 2426.0 / 54.0) - (46.0 - 2026.0 / 46.0);
        let gini = tree.importances(Measure::Gini);
        assert!((gini[0] - 50.0 / (50.0 + second)).abs() < 1e-12 && (gini[1] - second / (50.0 + second)).abs() < 1e-12);
        assert_eq!(gini[2..], [0.0; 9]);
        // 100 errors, then 50, then 6.
        assert_eq!(tree.importances(Measure::Errors)[..2], [50.0 / 94.0, 44.0 / 94.0]);
        assert_eq!(sample::iris_leaf().importances(Measure::Entropy), [0.0; 11]);
        assert_eq!(sample::chain(100_000).places()[200_000].depth, 100_000);
    }

    #[test]
    fn a_node_predicts_by_cost_where_the_tree_has_costs() {
        let masses = |tree: &Tree| match &tree.places()[2].leaf {
            Leaf::Class { label, .. } => *label,
            Leaf::Number { .. } => panic!(),
        };
        let costs = [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 2.0, 0.0]].map(Vec::from);
        assert_eq!(masses(&sample::iris()), 1); // 50 and 50: the first
        assert_eq!(masses(&sample::iris().with_costs(&costs).unwrap()), 2);
    }

    #[test]
    fn numbers_are_weighed_by_mass() {
        let number = |mean, mass| Node::Leaf(Leaf::Number { mean, mass });
        let split = |feature, children: &[u32]| sample::split(sample::below(feature, 0.0), children, &[1.0, 1.0], 0);
        let nodes = vec![split(0, &[1, 2]), number(1.0, 2.0), split(1, &[3, 4]), number(3.0, 1.0), number(9.0, 1.0)];
        let tree = Tree::new(sample::number_schema(), sample::DEFAULT, nodes).unwrap();
        assert_eq!(tree.places()[0].leaf, Leaf::Number { mean: 3.5, mass: 4.0 });
        // 2 (1 - 3.5)^2 + 2 (6 - 3.5)^2 = 25, and (3 - 6)^2 + (9 - 6)^2 = 18.
        assert_eq!(tree.importances(Measure::Gini)[..2], [25.0 / 43.0, 18.0 / 43.0]);
    }

    #[test]
    fn rows_must_fit_the_nodes() {
        let problem = |rows: Vec<u64>| sample::iris().with_rows(rows).unwrap_err().to_string();
        assert!(problem(vec![1]).contains("5 nodes, and numbers of rows for 1"));
        assert!(problem(vec![150, 50, 100, 101, 46]).contains("node 3 than to node 2"));
    }

    proptest! {
        #[test]
        fn masses_add_up_and_importances_are_shares(tree in sample::any_tree()) {
            let leaves = tree.nodes().iter().filter_map(|node| match node {
                Node::Leaf(leaf) => Some(leaf.mass()),
                Node::Split(_) => None,
            });
            let (sum, root): (f64, f64) = (leaves.sum(), tree.places()[0].leaf.mass());
            prop_assert!((sum - root).abs() <= 1e-9 * sum);
            for measure in [Measure::Gini, Measure::Entropy, Measure::Errors] {
                let shares = tree.importances(measure);
                let total: f64 = shares.iter().sum();
                prop_assert!(shares.iter().all(|share| (0.0..=1.0 + 1e-9).contains(share)));
                prop_assert!(total == 0.0 || (total - 1.0).abs() < 1e-9, "{total}");
                let used: Vec<u32> = tree.features();
                prop_assert!((0u32..).zip(&shares).all(|(f, share)| *share == 0.0 || used.contains(&f)));
            }
        }
    }
}
