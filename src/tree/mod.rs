//! Trees: immutable, with all nodes in one list, and without a trace of how they were grown.
//!
//! A [`Tree`] carries the [`Schema`] of the table it was grown on, so that it can read a second table by the names of
//! columns and levels, and print itself in the names of the first. Nodes stand in preorder: a node, then its first
//! child's subtree, then the next child's; node 0 is the root. That order, with sorted level sets, is the canonical
//! form that equality and hash are defined by.
//!
//! Where a case without a value takes a branch, the condition says so: `age > 30 or missing`.
//!
//! ```text
//! validate    checks of new trees                    preorder   the list of nodes that exports walk over
//! canonical   equality and hash                      summary    the place, mass and prediction of each node
//! simplify    removes splits without effect          importance how much each feature lowered the impurity
//! predict/    classes, numbers, leaves of rows       explain    the path of one row in words
//! fact        what a branch says of a column         condition  the same as an object, with names
//! format      conditions, leaves, values as text     times      dates and times as text
//! rules       one rule per leaf                      export/    text, DOT, JSON
//! packed      long lists of tests in few bytes       fixtures   trees and tables for the tests of this folder
//! ```
//!
//! To add a kind of test: a variant of [`Test`]; what its branches say in `fact.rs`; its text in `format.rs`, its
//! question in `condition.rs`; its check in `validate.rs`; its bytes in `canonical.rs`; how rows pass it in
//! `predict/compiled.rs`; a line in the format history of `export/json.rs`.

mod canonical;
mod condition;
mod explain;
mod export;
mod fact;
#[cfg(test)]
mod fixtures;
mod format;
mod importance;
#[cfg(any(feature = "python", test))]
pub(crate) mod packed;
mod predict;
mod preorder;
mod rules;
mod simplify;
mod summary;
mod times;
mod validate;

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

pub use crate::data::{Test, Threshold};
pub use condition::{Condition, Limit, Operator, Question};
pub use format::{condition, test_words};
pub use importance::ImpurityMeasure;
pub use predict::{NumberArray, Rows};
pub use rules::Rule;
pub use summary::NodeSummary;

use crate::data::Schema;
use crate::error::Result;
use predict::CompiledTree;

/// How a missing value passes a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingPolicy {
    /// The case takes the default branch of the node.
    Default,
    /// The case goes down all branches in part, in proportion to their masses (C4.5).
    Fractional,
}

/// How a level that the schema does not know passes a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unseen {
    /// The case takes the branch of greatest mass; ties: the first.
    Majority,
    /// The level is treated as a missing value.
    Missing,
    /// Prediction fails and names the level.
    Error,
}

/// The rules of a tree for missing values and unseen levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Policies {
    /// Missing values.
    pub missing: MissingPolicy,
    /// Unseen levels.
    pub unseen: Unseen,
}

/// An internal node.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    /// The test.
    pub test: Test,
    /// One node per branch; branch 0 is taken by cases that pass.
    pub children: Box<[u32]>,
    /// The training mass that took each branch.
    pub masses: Box<[f64]>,
    /// The branch of a case without a value, under [`MissingPolicy::Default`].
    pub default: u32,
    /// Whether training cases without a value came here and took the default branch.
    pub missing: bool,
}

/// A leaf: what it predicts, and the training mass behind that.
#[derive(Debug, Clone, PartialEq)]
pub enum Leaf {
    /// A class.
    Class {
        /// The predicted class.
        label: u32,
        /// Training mass per class; those of the parent where no training case came here.
        masses: Box<[f64]>,
        /// Whether no training case came here.
        empty: bool,
    },
    /// A number.
    Number {
        /// The predicted number.
        mean: f64,
        /// Training mass; 0 where no training case came here.
        mass: f64,
    },
}

/// A node of a tree.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// An internal node.
    Split(Split),
    /// A leaf.
    Leaf(Leaf),
}

/// A decision tree.
///
/// Two trees are equal if they have the same policies and class labels (or both predict numbers), the same tests in the
/// same order, the same branches for missing values and unseen levels, and the same class and class shares, or number,
/// in each leaf. Features are compared by name and kind. Features that no test uses are ignored: a tree grown on some
/// of the columns equals the same tree grown on all. The numbers of training rows and their mass are ignored, so the
/// same tree from rows taken twice is equal; so are the names of targets, and dtypes.
#[derive(Debug, Clone)]
pub struct Tree {
    schema: Arc<Schema>,
    policies: Policies,
    /// What errors cost: `costs[i * classes + j]` for a case of class i that is taken for one of class j.
    costs: Option<Box<[f64]>>,
    nodes: Vec<Node>,
    /// How many rows came to each node in training, if known.
    rows: Option<Box<[u64]>>,
    /// What each label would have cost in the training cases of each node, node after node, if cases had costs of their
    /// own.
    label_costs: Option<Box<[f64]>>,
    /// The tree compiled for prediction, at the first one.
    compiled: OnceLock<Arc<CompiledTree>>,
    /// A summary of each node, made at the first call for them.
    summaries: OnceLock<Arc<[NodeSummary]>>,
}

impl Tree {
    /// Makes a tree of nodes, which are checked against each other and against the schema.
    ///
    /// Nodes must stand in preorder, so that a tree has one form only; `-0.0` becomes `0.0`. The schema must have
    /// passed [`Schema::checked`]; of it only float labels are checked, which must be finite. No method panics on a
    /// tree that has passed.
    ///
    /// Errors: [`Error::BadTree`](crate::Error::BadTree), naming the node. Complexity: O(nodes + branches + masses).
    pub fn new(schema: Arc<Schema>, policies: Policies, mut nodes: Vec<Node>) -> Result<Self> {
        nodes.iter_mut().for_each(Node::drop_negative_zeros);
        validate::check(&schema, &nodes)?;
        Ok(Tree {
            schema,
            policies,
            costs: None,
            nodes,
            rows: None,
            label_costs: None,
            compiled: OnceLock::new(),
            summaries: OnceLock::new(),
        })
    }

    /// The same tree where it costs `costs[i][j]` to take a case of class i for one of class j: a row that ends in
    /// several leaves gets the class of least expected cost, not the most probable one, and so does a split
    /// ([`NodeSummary::leaf`]). Leaves keep their labels.
    ///
    /// Errors: [`Error::BadTree`](crate::Error::BadTree) unless there is a finite cost for each pair of classes.
    pub fn with_costs(self, costs: &[Vec<f64>]) -> Result<Self> {
        let n_classes = self.schema.labels().map_or(0, |labels| labels.len());
        let is_cost = |cost: &f64| cost.is_finite();
        if costs.len() != n_classes || costs.iter().any(|row| row.len() != n_classes || !row.iter().all(is_cost)) {
            let problem = format!("its costs are not {n_classes} rows of {n_classes} finite numbers");
            return Err(crate::Error::BadTree { problem });
        }
        let costs = Some(costs.iter().flatten().map(|cost| cost + 0.0).collect());
        Ok(Tree { costs, summaries: OnceLock::new(), ..self })
    }

    /// The schema of the table the tree was grown on.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The rules for missing values and unseen levels.
    pub fn policies(&self) -> Policies {
        self.policies
    }

    /// All nodes, leaves included, in preorder; node 0 is the root.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// How many internal nodes there are. Complexity: O(nodes).
    pub fn n_nodes(&self) -> usize {
        self.splits().count()
    }

    /// How many leaves there are. Complexity: O(nodes).
    pub fn n_leaves(&self) -> usize {
        self.nodes.len() - self.n_nodes()
    }

    /// The most splits on a path from the root to a leaf; 0 for a single leaf. Complexity: O(nodes).
    pub fn depth(&self) -> usize {
        self.preorder(None).iter().map(|entry| entry.depth).max().unwrap_or(0)
    }

    /// Positions of the features that some test asks about, ascending. Complexity: O(nodes + features) once.
    pub fn features(&self) -> Vec<u32> {
        self.compiled().features.clone()
    }

    fn compiled(&self) -> &CompiledTree {
        self.compiled.get_or_init(|| Arc::new(CompiledTree::new(self)))
    }

    fn splits(&self) -> impl Iterator<Item = &Split> {
        self.nodes.iter().filter_map(|node| match node {
            Node::Split(split) => Some(split),
            Node::Leaf(_) => None,
        })
    }
}

impl Node {
    fn drop_negative_zeros(&mut self) {
        let positive = |x: &mut f64| *x += 0.0; // -0.0 + 0.0 = 0.0
        match self {
            Node::Split(split) => {
                if let Test::AtMost { threshold: Threshold::Float(t), .. } = &mut split.test {
                    positive(t);
                }
                split.masses.iter_mut().for_each(positive);
            }
            Node::Leaf(Leaf::Class { masses, .. }) => masses.iter_mut().for_each(positive),
            Node::Leaf(Leaf::Number { mean, mass }) => [mean, mass].into_iter().for_each(positive),
        }
    }
}

impl Split {
    /// The branch of greatest mass; ties: the first.
    pub fn heaviest(&self) -> usize {
        let mut best = 0;
        for (branch, mass) in self.masses.iter().enumerate() {
            if *mass > self.masses[best] {
                best = branch;
            }
        }
        best
    }
}

impl Leaf {
    /// Training mass that came here.
    pub fn mass(&self) -> f64 {
        match self {
            Leaf::Class { empty: true, .. } => 0.0,
            Leaf::Class { masses, .. } => masses.iter().sum(),
            Leaf::Number { mass, .. } => *mass,
        }
    }

    /// Training mass that came here with another class than the predicted one; 0 where a number is predicted.
    pub fn errors(&self) -> f64 {
        match self {
            Leaf::Class { label, masses, empty: false } => {
                // Summed without the label rather than subtracted: no rounding below 0 or above it in a pure leaf.
                masses.iter().enumerate().filter(|(class, _)| class != &(*label as usize)).map(|(_, mass)| mass).sum()
            }
            _ => 0.0,
        }
    }

    /// Adds the share of each class, times `share`: its mass over the sum of all or, if all masses are 0, one for the
    /// class predicted. Nothing where a number is predicted.
    fn add_probabilities(&self, share: f64, mixture: &mut [f64]) {
        if let Leaf::Class { label, masses, .. } = self {
            let total: f64 = masses.iter().sum();
            if total > 0.0 {
                mixture.iter_mut().zip(masses).for_each(|(p, mass)| *p += share * (mass / total));
            } else {
                mixture[*label as usize] += share;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fixtures;
    use super::*;

    #[test]
    fn counts_nodes_leaves_depth_and_features() {
        let tree = fixtures::iris();
        assert_eq!((tree.n_nodes(), tree.n_leaves(), tree.depth()), (2, 3, 2));
        assert_eq!(tree.features(), [0, 1]);
        let leaf = fixtures::iris_leaf();
        assert_eq!((leaf.n_nodes(), leaf.n_leaves(), leaf.depth()), (0, 1, 0));
        assert!(leaf.features().is_empty());
    }

    #[test]
    fn a_chain_of_100_000_nodes_is_no_problem() {
        let tree = fixtures::chain(100_000);
        assert_eq!((tree.n_nodes(), tree.n_leaves(), tree.depth()), (100_000, 100_001, 100_000));
        assert_eq!(tree.clone(), tree);
    }

    #[test]
    fn mass_and_errors_of_leaves() {
        let leaf = Leaf::Class { label: 1, masses: [1.0, 5.0, 0.5].into(), empty: false };
        assert_eq!((leaf.mass(), leaf.errors()), (6.5, 1.5));
        let empty = Leaf::Class { label: 1, masses: [1.0, 5.0, 0.5].into(), empty: true };
        assert_eq!((empty.mass(), empty.errors()), (0.0, 0.0));
        let number = Leaf::Number { mean: 3.0, mass: 2.0 };
        assert_eq!((number.mass(), number.errors()), (2.0, 0.0));
    }

    #[test]
    fn the_first_of_equally_heavy_branches_wins() {
        let split = Split {
            test: Test::EachLevel { feature: 0 },
            children: [1, 2, 3].into(),
            masses: [1.0, 2.0, 2.0].into(),
            default: 0,
            missing: false,
        };
        assert_eq!(split.heaviest(), 1);
    }
}
