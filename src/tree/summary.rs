//! A summary of each node: where it stands in the tree, the training mass that came to it, and what it would predict as
//! a leaf.

use std::sync::OnceLock;

use super::format::leaf_words;
use super::predict::cheapest;
use super::preorder::PreorderNode;
use super::{Condition, Leaf, Node, Split, Tree, test_words};
use crate::error::{Error, Result};

/// Where a node stands in its tree, and the leaf that it would be.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeSummary {
    /// The node above it and the branch that leads here; none for the root.
    pub parent: Option<(u32, u32)>,
    /// Splits above it.
    pub depth: u32,
    /// Of a split, the branch whose condition says "or missing", if one does.
    pub or_missing: Option<u32>,
    /// The leaf that would replace the subtree; a leaf is its own. Its masses are the sums over the leaves below. Its
    /// class is the one of greatest mass or, with costs, of least cost, ties to the first; its number is the
    /// mean of theirs, weighted by mass. If no mass came, it is empty and has the class of the first leaf.
    pub leaf: Leaf,
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

    /// The same tree with what each label would have cost in the training cases of each node, node after node: for
    /// objectives where cases have costs of their own.
    ///
    /// Errors: [`Error::BadTree`] unless there is a finite number for each node and label.
    pub fn with_label_costs(self, costs: Vec<f64>) -> Result<Self> {
        let n_labels = self.schema.labels().map_or(0, |labels| labels.len());
        if costs.len() != self.nodes.len() * n_labels || !costs.iter().all(|cost| cost.is_finite()) {
            let n_nodes = self.nodes.len();
            let problem = format!("its costs of labels are not {n_labels} finite numbers for each of {n_nodes} nodes");
            return Err(Error::BadTree { problem });
        }
        Ok(Tree { label_costs: Some(costs.into()), summaries: OnceLock::new(), ..self })
    }

    /// What each label would have cost in the training cases of a node, if cases had costs of their own. Panics if
    /// there is no such node.
    pub fn label_costs(&self, node: usize) -> Option<&[f64]> {
        let n_labels = self.schema.labels().map_or(0, |labels| labels.len());
        self.label_costs.as_ref().map(|costs| &costs[node * n_labels..(node + 1) * n_labels])
    }

    /// How many rows came to each node in training, whole or in part, whatever they weighed and counted; those of
    /// weight or count 0 are left out. `None` in trees of files that do not tell.
    pub fn rows(&self) -> Option<&[u64]> {
        self.rows.as_deref()
    }

    /// A summary of each node, in preorder; made at the first call. Complexity: O(nodes x classes) once.
    pub fn summaries(&self) -> &[NodeSummary] {
        self.summaries.get_or_init(|| self.new_summaries().into())
    }

    fn new_summaries(&self) -> Vec<NodeSummary> {
        let or_missing = self.or_missing_branches();
        let summary = |entry: PreorderNode| NodeSummary {
            parent: entry.parent.map(|(parent, branch)| (parent as u32, branch as u32)),
            depth: entry.depth as u32,
            or_missing: or_missing[entry.node].map(|branch| branch as u32),
            leaf: match &self.nodes[entry.node] {
                Node::Leaf(leaf) => leaf.clone(),
                Node::Split(_) => Leaf::Number { mean: 0.0, mass: 0.0 }, // replaced below
            },
        };
        let mut summaries: Vec<NodeSummary> = self.preorder(None).into_iter().map(summary).collect();
        // Children stand after their parents.
        for index in (0..summaries.len()).rev() {
            if let Node::Split(split) = &self.nodes[index] {
                summaries[index].leaf = self.leaf_of(index, split, &summaries);
            }
        }
        summaries
    }

    /// The leaf that would replace a split, whose children have their summaries.
    fn leaf_of(&self, index: usize, split: &Split, summaries: &[NodeSummary]) -> Leaf {
        let children = || split.children.iter().map(|&child| &summaries[child as usize].leaf);
        match &summaries[split.children[0] as usize].leaf {
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

    /// The condition of the branch that leads to a node, as the text has it; none for the root. Panics if there is no
    /// such node.
    pub fn condition_at(&self, node: u32) -> Option<Condition> {
        let (parent, branch) = self.summaries()[node as usize].parent?;
        let or_missing = self.summaries()[parent as usize].or_missing.map(|branch| branch as usize);
        match &self.nodes[parent as usize] {
            Node::Split(split) => Some(self.condition_of(split, branch as usize, or_missing)),
            Node::Leaf(_) => None,
        }
    }

    /// What a node is, in short: `petal_length <= 2.45, Iris-setosa (150/100)` or, for a leaf, `Iris-setosa (50)`.
    /// Panics if there is no such node.
    pub fn words_at(&self, node: u32) -> String {
        let leaf = leaf_words(self.schema.labels(), &self.summaries()[node as usize].leaf);
        match &self.nodes[node as usize] {
            Node::Split(split) => format!("{}, {leaf}", test_words(&self.schema, &split.test)),
            Node::Leaf(_) => leaf,
        }
    }

    /// The paths to some nodes, one after the other, preceded by the list of where each begins; one more entry closes
    /// the last path.
    ///
    /// Complexity: O(nodes on all paths).
    pub fn paths_to(&self, ends: &[u32]) -> (Vec<i64>, Vec<i64>) {
        let summaries = self.summaries();
        let (mut starts, mut nodes) = (vec![0], Vec::new());
        for &end in ends {
            let start = nodes.len();
            let above = |&node: &i64| summaries[node as usize].parent.map(|(parent, _)| i64::from(parent));
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
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::fixtures;
    use super::*;

    #[test]
    fn iris() {
        let tree = fixtures::iris().with_rows(vec![150, 50, 100, 54, 46]).unwrap();
        let summaries = tree.summaries();
        let all = Leaf::Class { label: 0, masses: [50.0, 50.0, 50.0].into(), empty: false };
        assert_eq!(summaries[0], NodeSummary { parent: None, depth: 0, or_missing: Some(1), leaf: all });
        assert_eq!((summaries[3].parent, summaries[3].depth), (Some((2, 0)), 2));
        assert_eq!((summaries[2].leaf.mass(), summaries[2].leaf.errors()), (100.0, 50.0));
        assert_eq!(tree.path_to(4), [0, 2, 4]);
        assert_eq!(tree.paths_to(&[1, 3]), (vec![0, 2, 5], vec![0, 1, 0, 2, 3]));
        assert_eq!(tree.words_at(0), "petal_length <= 2.45, Iris-setosa (150/100)");
        assert_eq!(tree.words_at(4), "Iris-virginica (46/1)");
        assert_eq!(tree.rows(), Some(&[150, 50, 100, 54, 46][..]));
        let words = |node| tree.condition_at(node).map(|condition| condition.to_string());
        assert_eq!(words(0), None);
        assert_eq!([1, 2].map(|node| words(node).unwrap()), ["petal_length <= 2.45", "petal_length > 2.45 or missing"]);
        assert_eq!(fixtures::chain(100_000).summaries()[200_000].depth, 100_000);
    }

    #[test]
    fn a_node_predicts_by_cost_where_the_tree_has_costs() {
        let masses = |tree: &Tree| match &tree.summaries()[2].leaf {
            Leaf::Class { label, .. } => *label,
            Leaf::Number { .. } => panic!(),
        };
        let costs = [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 2.0, 0.0]].map(Vec::from);
        assert_eq!(masses(&fixtures::iris()), 1); // 50 and 50: the first
        assert_eq!(masses(&fixtures::iris().with_costs(&costs).unwrap()), 2);
    }

    #[test]
    fn numbers_are_weighed_by_mass() {
        let number = |mean, mass| Node::Leaf(Leaf::Number { mean, mass });
        let split =
            |feature, children: &[u32]| fixtures::split(fixtures::below(feature, 0.0), children, &[1.0, 1.0], 0);
        let nodes = vec![split(0, &[1, 2]), number(1.0, 2.0), split(1, &[3, 4]), number(3.0, 1.0), number(9.0, 1.0)];
        let tree = Tree::new(fixtures::number_schema(), fixtures::DEFAULT, nodes).unwrap();
        assert_eq!(tree.summaries()[0].leaf, Leaf::Number { mean: 3.5, mass: 4.0 });
    }

    #[test]
    fn rows_must_fit_the_nodes() {
        let problem = |rows: Vec<u64>| fixtures::iris().with_rows(rows).unwrap_err().to_string();
        assert!(problem(vec![1]).contains("5 nodes, and numbers of rows for 1"));
        assert!(problem(vec![150, 50, 100, 101, 46]).contains("node 3 than to node 2"));
    }

    proptest! {
        #[test]
        fn masses_add_up(tree in fixtures::any_tree()) {
            let leaves = tree.nodes().iter().filter_map(|node| match node {
                Node::Leaf(leaf) => Some(leaf.mass()),
                Node::Split(_) => None,
            });
            let (sum, root): (f64, f64) = (leaves.sum(), tree.summaries()[0].leaf.mass());
            prop_assert!((sum - root).abs() <= 1e-9 * sum);
        }
    }
}
