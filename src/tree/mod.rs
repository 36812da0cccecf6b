//! Trees: immutable, flat, and silent about how they were grown.
//!
//! A [`Tree`] carries the [`Schema`] of the table it was grown on, so that it can read a second table by column and
//! level name and speak of itself in the words of the first. Nodes stand in preorder: a node, then its first child's
//! subtree, then the next child's; node 0 is the root. That order, with sorted level sets, is the canonical form on
//! which equality and hash rest.
//!
//! To add a kind of test: a variant in [`Test`], its wording in `words.rs`, its check in `validate`, a line in the
//! format history of `json.rs`.

mod dot;
mod json;
mod predict;
mod rules;
mod test;
mod text;
mod words;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use rules::Rule;
pub use test::{Test, Threshold};

use crate::data::Schema;

/// What happens to a case that meets a test without having a value for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingPolicy {
    /// It takes the node's default branch.
    Default,
    /// It goes down all branches, in proportion to their masses (C4.5).
    Fractional,
}

/// What happens to a case with a level that the schema does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unseen {
    /// It takes the branch of greatest mass; ties: the first.
    Majority,
    /// It is treated as a missing value.
    Missing,
    /// Prediction fails and names the level.
    Error,
}

/// The rules of a tree for values that its tests do not speak of.
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
    /// What is asked.
    pub test: Test,
    /// One node per branch; branch 0 is taken by cases that pass.
    pub children: Box<[u32]>,
    /// The training mass that took each branch.
    pub masses: Box<[f64]>,
    /// The branch of a case without a value, under [`MissingPolicy::Default`].
    pub default: u32,
}

/// What a leaf predicts.
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
    /// Asks and branches.
    Split(Split),
    /// Predicts.
    Leaf(Leaf),
}

/// A decision tree.
#[derive(Debug, Clone)]
pub struct Tree {
    schema: Arc<Schema>,
    policies: Policies,
    nodes: Vec<Node>,
}
