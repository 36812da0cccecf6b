//! Greedy trees, as C4.5 and CART grow them: at each node the best split by a [`Criterion`], and no way back.
//!
//! # Which tree
//!
//! The tree is defined, not merely computed: it depends on the table and the parameters, not on threads, run or
//! platform. Masses are integers ([`crate::objective::Units`]); the quality of a split is an integer too
//! ([`crate::criterion`]). At a node with the cases C:
//!
//! - It is a leaf if its depth is `max_depth`, if fewer than `min_cases` cases came (counts times fractions, weights do
//!   not matter), if all its mass is of one class, or if no column has a split.
//! - A *split* of column a sends the cases of C that have a value there down two or more branches, and leaves at least
//!   two of them non-empty; every non-empty one has `min_leaf` cases or more, two have `min_branch`, cases without a
//!   value not counted; its gain is positive, exactly, and at least `min_gain` per unit of the mass of C.
//! - The *gain* is the decrease of total impurity (mass times impurity) over the cases with a value: C4.5's gain,
//!   discounted by the fraction that is known, times the mass of C. Gain ratio divides it by the split information,
//!   where the cases without a value are one more branch.
//! - The split of one column: `x <= t` with t between neighbouring values that occur in C (of the cuts of the whole
//!   column between them the one nearest to half way), by the greatest gain, ties to the smaller t; a branch per level;
//!   `x is level`, ties to the first level; or `x in levels`.
//! - The split of the node: greatest quality (gain, or gain ratio); ties to the first column. So it is the argmax over
//!   a total order that does not depend on the other columns (Assumption 4 of Ruggieri, JMLR 2019), and a node without
//!   a split has none over fewer columns (Assumption 5).
//! - A case without a value goes down every branch with a share of its fraction, in proportion to the masses of the
//!   cases with one: multiples of a fixed unit, rounded down; what is left goes to the branch of greatest mass, ties to
//!   the first. Prediction imputes in the same proportions.
//! - A leaf predicts the class of greatest mass or, with costs, of least expected cost; ties to the first. A branch
//!   that no case took predicts as its parent would.
//!
//! # Map
//!
//! `params`: parameters. `data`: the training table, columns as codes, with `weigh` (masses), `impute` and `exact_mean`
//! (missing values), `byte_codes` (narrow columns, case by case). `types`: tests, bins and entries in codes.
//! `dispatch`: the impurity, chosen once.
//!
//! At one node: `case_set` has its cases, `histogram` the class masses of a column, `presorted` its part of sorted
//! columns, `chain` columns that are updated while a few cases leave at each split. `split` finds the best split of a
//! column. `screening` approximates the splits of many columns, so that few are computed exactly. `partition` sends
//! cases to the branches.
//!
//! `growth` grows one tree, with threads; `class_sums` are the masses of its nodes; `to_tree` makes the public tree.
//! `split_cache` and `split_evaluator` keep and find the splits of case sets for searches over many trees, which see
//! all of this through `engine`. docs/greedy.md explains the whole in words.

mod byte_codes;
mod case_set;
mod chain;
mod class_sums;
mod data;
mod dispatch;
pub(crate) mod engine;
mod exact_mean;
mod growth;
mod histogram;
mod impute;
mod params;
mod partition;
mod presorted;
mod screening;
mod split;
mod split_cache;
mod split_evaluator;
mod to_tree;
mod types;
mod weigh;

use crate::budget::{Budget, Status};
pub use crate::criterion::Criterion;
use crate::data::Dataset;
use crate::error::Result;
pub use crate::objective::ClassWeight;
use crate::threads;
use crate::tree::Tree;
use data::GrowthData;
use growth::Growth;
pub use params::{Checked, Missing, NominalSplits, Params};
pub use weigh::MOST_FRACTIONAL;

/// The result of growth.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The tree.
    pub tree: Tree,
    /// `complete`, or the limit that stopped growth: nodes that were still to be split are leaves.
    pub status: Status,
    /// Seconds of wall clock.
    pub seconds: f64,
}

/// Grows a tree.
///
/// Complexity: O(columns x rows x log rows) once, then O(columns x rows) per level of the tree.
///
/// # Errors
/// If the target has no classes, no row is present, `class_weight` or `costs` do not fit the classes, or a level is
/// unseen by the schema.
pub fn search(data: &Dataset, checked: &Checked, budget: &Budget) -> Result<Outcome> {
    params::check_target(data)?;
    let params = checked.params();
    let costs = params::checked_costs(data, params)?;
    let threads = checked.threads_on(data);
    threads::with_pool(threads, |threads| {
        let single_leaf = |stop| {
            let tree = to_tree::single_leaf(data, params, &costs)?;
            Ok(Outcome { tree, status: Status::from(stop), seconds: budget.seconds() })
        };
        let table = match GrowthData::new(data, params, budget, threads > 1)? {
            Ok(table) => table,
            Err(stop) => return single_leaf(stop),
        };
        let _impurities = match budget.reserve(dispatch::bytes(&table, params)) {
            Ok(held) => held,
            Err(stop) => return single_leaf(stop),
        };
        let growth = Growth::new(&table, params, budget, threads);
        let (grown, stop) = match dispatch::dispatch(&table, params, &costs, budget, growth) {
            Ok(grown) => grown,
            Err(stop) => return single_leaf(stop),
        };
        let tree = to_tree::to_tree(data, &table, params, &costs, &grown)?;
        Ok(Outcome { tree, status: stop.map_or(Status::Complete, Status::from), seconds: budget.seconds() })
    })
}
