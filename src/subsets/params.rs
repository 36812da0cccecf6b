//! What the searches over subsets are asked for: parameters, and how a subset is judged.

use crate::budget::Budget;
use crate::error::{Error, Result};
use crate::greedy;

/// Parameters that all searches over subsets share.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Params {
    /// How trees are grown. `max_leaves` and rows dropped for missing values are refused, because with them a split
    /// depends on more than the cases at its node.
    pub greedy: greedy::Params,
    /// Features that are in every subset, by position. [`distinct`](super::distinct()) lists the trees that use them
    /// all.
    pub required: Vec<usize>,
    /// Features that may be in a subset; `None`: all others.
    pub candidates: Option<Vec<usize>>,
}

/// Parameters that were checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    params: Params,
    pub(super) greedy: greedy::Checked,
}

/// The order in which the features of a tree are removed. Every order leads to the same set of trees; some build more
/// duplicates on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// rk_frontier: ascending by the number of features used below the frontier nodes of each (Definitions 8 and 9),
    /// which builds next to no duplicates. Ties: the first column is removed last.
    #[default]
    Frontier,
    /// Ascending by the cases at the nodes that each feature splits (Ruggieri, ICML 2017). Ties: the first column.
    FrontierCases,
    /// The reverse of [`Order::Frontier`].
    Reverse,
    /// By position, from the last.
    Fixed,
}

/// How the error of a tree is estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Estimator {
    /// The error of its predictions for a search set, with missing values distributed or imputed as in any prediction;
    /// with costs, the cost of the errors.
    #[default]
    Search,
    /// As `Search`, for the cases that the tree was grown on.
    Training,
    /// C4.5's pessimistic estimate from the training cases of the leaves: the upper limit of a confidence interval of
    /// 25 %.
    Pessimistic,
}

/// How a subset is judged.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Goal {
    /// How the error is estimated.
    pub error: Estimator,
    /// How far from the least error a subset may be, as a fraction of all cases (or of their cost at one per case).
    pub delta: f64,
    /// What each feature that the tree uses adds to its error, as such a fraction.
    pub feature_penalty: f64,
}

impl Params {
    /// Checks every parameter that does not depend on a table.
    ///
    /// # Errors
    /// If a parameter is out of range, or makes splits depend on more than the cases at a node.
    pub fn checked(self) -> Result<Checked> {
        let refuse = |name, got: String, why: &str| {
            let expected = format!("{why}: the split of a node must not depend on more than its cases");
            Err(Error::InvalidParameter { name, expected, got })
        };
        if let Some(most) = self.greedy.max_leaves {
            return refuse("max_leaves", most.to_string(), "None for trees over subsets of the columns");
        }
        if self.greedy.missing == greedy::Missing::Drop {
            return refuse("missing", "drop".into(), "other than \"drop\" for trees over subsets of the columns");
        }
        let greedy = self.greedy.clone().checked()?;
        Ok(Checked { params: self, greedy })
    }
}

impl Checked {
    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// A budget for one run; its clock starts now.
    pub fn budget(&self) -> Budget {
        self.greedy.budget()
    }

    /// The number of threads of a search.
    pub(super) fn threads(&self) -> usize {
        crate::threads::resolve(self.params.greedy.threads)
    }
}

impl Goal {
    /// Checks that fractions are finite and not negative.
    ///
    /// # Errors
    /// If one is not.
    pub fn checked(self) -> Result<Self> {
        for (name, value) in [("delta", self.delta), ("feature_penalty", self.feature_penalty)] {
            if !(value.is_finite() && value >= 0.0) {
                let expected = "finite and not negative".into();
                return Err(Error::InvalidParameter { name, expected, got: value.to_string() });
            }
        }
        Ok(self)
    }
}
