//! How the error of a tree is estimated, ready to be applied.

use super::error_units::ErrorUnits;
use super::holdout::HoldoutSet;
use super::params::Estimator;
use super::pessimistic::PessimisticError;
use crate::budget::{Budget, Stop};
use crate::criterion::Costs;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::tree::{Leaf, Node, Tree};

/// An estimator of the errors of trees, in integer units.
pub(super) enum ErrorEstimator {
    /// Trees have no error: an enumeration does not compare them.
    None,
    /// The error on cases that the trees predict.
    Holdout(Box<HoldoutSet>),
    /// An estimate from the building cases of the leaves.
    Pessimistic(PessimisticError),
}

impl ErrorEstimator {
    /// The error of a tree, in units.
    pub fn error_of(&self, tree: &Tree, budget: &Budget) -> std::result::Result<u64, Stop> {
        match self {
            ErrorEstimator::None => Ok(0),
            ErrorEstimator::Holdout(holdout) => holdout.errors_of_tree(tree, budget),
            ErrorEstimator::Pessimistic(pessimistic) => Ok(pessimistic.of_tree(tree)),
        }
    }

    /// The units of the error of all cases.
    pub fn units(&self) -> ErrorUnits {
        match self {
            ErrorEstimator::None => ErrorUnits::of_float(1.0),
            ErrorEstimator::Holdout(holdout) => holdout.units(),
            ErrorEstimator::Pessimistic(pessimistic) => pessimistic.units(),
        }
    }

    /// The held-out cases, if errors are counted on such.
    pub fn holdout(&self) -> Option<&HoldoutSet> {
        match self {
            ErrorEstimator::Holdout(holdout) => Some(holdout.as_ref()),
            _ => None,
        }
    }

    /// The error of a tree of one leaf as a fraction, without any preparation.
    ///
    /// # Errors
    /// As [`HoldoutSet::new`].
    pub fn error_of_leaf(
        estimator: Estimator,
        data: &Dataset,
        search: Option<&Dataset>,
        costs: &Costs,
        leaf: &Tree,
    ) -> Result<f64> {
        let Some(Node::Leaf(Leaf::Class { label, masses, .. })) = leaf.nodes().first() else {
            unreachable!("it is a leaf of a class")
        };
        match holdout_data(estimator, data, search)? {
            Some(holdout) => HoldoutSet::error_of_leaf(data, holdout, costs, *label),
            None => {
                let pessimistic = PessimisticError::new(masses.iter().sum());
                Ok(pessimistic.units().fraction(pessimistic.of_tree(leaf)))
            }
        }
    }
}

/// The table of the cases that trees are tested on, if the estimator tests them.
///
/// # Errors
/// If it needs a search set and there is none.
pub(super) fn holdout_data<'d>(
    estimator: Estimator,
    data: &'d Dataset,
    search: Option<&'d Dataset>,
) -> Result<Option<&'d Dataset>> {
    match (estimator, search) {
        (Estimator::Search, None) => Err(Error::InvalidParameter {
            name: "search",
            expected: "a dataset of held-out cases, or another estimator of the error, \"training\" or \"pessimistic\""
                .into(),
            got: "None".into(),
        }),
        (Estimator::Search, Some(search)) => Ok(Some(search)),
        (Estimator::Training, _) => Ok(Some(data)),
        (Estimator::Pessimistic, _) => Ok(None),
    }
}
