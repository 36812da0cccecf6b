//! Exhaustive search: one tree for each subset, for comparison with the other searches.

use super::context::SearchContext;
use super::objective::SubsetObjective;
use super::outcome::{Outcome, Stats};
use super::params::{Checked, Goal};
use super::progress::Board;
use crate::budget::{Budget, Status};
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::tree::Tree;

/// Grows a tree for every subset of up to `max_features` features, required ones included. The best has the least error
/// and penalty, then the fewest features used, then comes first in the order of binary counting, in which the first
/// feature is the lowest digit. `goal.delta` is not used. (Algorithm 1 of the paper lists the same subsets in another
/// order.)
///
/// Complexity: 2^features trees.
///
/// # Errors
/// As [`eliminate`](super::eliminate()); if fewer features are allowed than are required.
pub fn exhaust(
    building: &Dataset,
    search: Option<&Dataset>,
    checked: &Checked,
    goal: Goal,
    max_features: Option<usize>,
    budget: &Budget,
    board: &Board,
) -> Result<Outcome> {
    let goal = goal.checked()?;
    let context = match SearchContext::new(building, search, checked, Some(goal.error), budget) {
        Ok(context) => context,
        Err(error) => {
            return Outcome::without_time(building, search, checked, goal.error, error.stop()?, budget);
        }
    };
    let objective = SubsetObjective::new(&goal, context.estimator.units(), context.n_features());
    if let Some(most) = max_features.filter(|&most| most < context.required.len()) {
        return Err(Error::InvalidParameter {
            name: "max_features",
            expected: format!("at least {}, the number of required features", context.required.len()),
            got: most.to_string(),
        });
    }
    let most = max_features.unwrap_or(usize::MAX) - context.required.len();
    let mut stats = Stats::default();
    let (empty, error) = context.root();
    // Any tree of a subset is better.
    let mut best = ExhaustiveBest { value: u128::MAX, n_used: usize::MAX, tree: empty, error };
    let mut shown = budget.reserve(0);
    let mut subset = vec![false; context.optional.len()];
    let stopped = loop {
        if let Err(stop) = budget.check() {
            break Some(stop);
        }
        let chosen = subset.iter().zip(&context.optional).filter(|(is_in, _)| **is_in).map(|(_, &feature)| feature);
        let mut features: Vec<usize> = context.required.iter().copied().chain(chosen).collect();
        features.sort_unstable();
        let grown = context.grow(&features, budget).and_then(|tree| {
            let error = context.estimator.error_of(&tree, budget)?;
            let n_used = tree.features().len();
            let value = objective.value(error, n_used);
            if (value, n_used) < (best.value, best.n_used) {
                // It stays in memory beside the trees that follow.
                shown.as_mut().map_err(|stop| *stop)?.resize(context.shown_bytes(tree.nodes().len()))?;
                best = ExhaustiveBest { value, n_used, tree, error };
                board.publish(objective.fraction(value), 0.0);
            }
            Ok(())
        });
        if let Err(stop) = grown {
            break Some(stop);
        }
        stats.built += 1;
        board.count(1, 0);
        if !next_subset(&mut subset, most) {
            break None;
        }
    };
    let ExhaustiveBest { tree, error, .. } = best;
    let value = objective.fraction(objective.value(error, tree.features().len()));
    Ok(Outcome {
        features: context.with_required(&tree),
        error: context.fraction(error),
        objective: value,
        lower_bound: if stopped.is_none() { value } else { 0.0 },
        tree,
        status: stopped.map_or(Status::Optimal, Status::from),
        path: Vec::new(),
        stats,
        seconds: budget.seconds(),
    })
}

/// The best tree so far.
struct ExhaustiveBest {
    value: u128,
    /// How many features it uses.
    n_used: usize,
    tree: Tree,
    /// Its error in units.
    error: u64,
}

/// Goes to the next subset in the order of binary counting that has `most` features at most. Returns `false` after the
/// last.
fn next_subset(subset: &mut [bool], most: usize) -> bool {
    // With as many features as can be, the next one with no more: the lowest run of ones is carried.
    let is_full = subset.iter().filter(|is_in| **is_in).count() >= most;
    let lowest = if is_full { subset.iter().position(|is_in| *is_in).unwrap_or(subset.len()) } else { 0 };
    let Some(place) = (lowest..subset.len()).find(|&place| !subset[place]) else { return false };
    subset[..place].fill(false);
    subset[place] = true;
    true
}
