//! The class `Tree`, and its choices of what unseen levels do; for its methods see `tree_methods`.

use pyo3::prelude::*;

use super::argument::name_of;
use crate::tree::{Tree, Unseen};

/// A decision tree: immutable, hashable, and silent about how it was grown.
///
/// Trees come from searches and from :meth:`Tree.from_json`; a tree pickles through its JSON. Two trees are equal if
/// they ask the same questions of the same columns, in the same order, and predict the same: class and class shares, or
/// number, in each leaf, and the ways of missing values and unseen levels. How many rows they were grown on does not
/// count.
///
/// Notes
/// -----
/// Where values are missing, or levels were never seen: a tree from a greedy search does as its `missing` says; by
/// default a row goes down every branch in part, :meth:`predict` and :meth:`predict_proba` mix the leaves it comes to,
/// and :meth:`apply` follows the heaviest branch. In a tree from an exact search a missing value fails every value test
/// and passes ``x is missing``, as in training; where the column had no missing values in training it goes to the
/// node's heavier child (unless the search was told that missing values just fail, ``missing="fails"``). What is
/// printed says which branch that is: "or missing" stands at one branch of every node that such a row can come to.
/// Where it stands at none, the row goes down every branch in part. Levels that the schema does not know follow
/// `unseen`.
#[pyclass(frozen, module = "lattree", name = "Tree", eq)]
#[derive(PartialEq)]
pub struct PyTree(pub(super) Tree);

/// What happens to a level that the schema does not know, by the names that Python uses.
pub(super) const UNSEEN: [(&str, Unseen); 3] =
    [("majority", Unseen::Majority), ("missing", Unseen::Missing), ("error", Unseen::Error)];

/// The name of a choice of [`UNSEEN`].
pub(super) fn unseen_name(unseen: Unseen) -> &'static str {
    name_of(&UNSEEN, &unseen)
}
