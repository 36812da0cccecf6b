//! One tree per subset: what the other searches are measured and tested against.

use super::goal::Objective;
use super::ground::Ground;
use super::{Board, Checked, Goal, Outcome, Stats};
use crate::budget::{Budget, Status};
use crate::data::Dataset;
use crate::error::{Error, Result};

/// Grows a tree for every subset of up to `max_features` features, required ones included. Best: the least error and
/// penalty, then the fewest features used, then the first in the order of binary counting, where the first feature is the
/// lowest digit. `goal.delta` is not used.
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
    let ground = match Ground::new(building, search, checked, Some(goal.error), budget)? {
        Ok(ground) => ground,
        Err(stop) => return Outcome::without_time(building, search, checked, goal.error, (stop, budget)),
    };
    let objective = Objective::new(&goal, &ground);
    if let Some(most) = max_features.filter(|&most| most < ground.required.len()) {
        return Err(Error::InvalidParameter {
            name: "max_features",
            expected: format!("at least {}, the number of required features", ground.required.len()),
            got: most.to_string(),
        });
    }
    let most = max_features.unwrap_or(usize::MAX) - ground.required.len();
    let mut stats = Stats::default();
    let (empty, error) = ground.root();
    let mut best = (u128::MAX, usize::MAX, empty, error);
    let mut shown = budget.reserve(0);
    let mut status = Status::Optimal;
    let mut subset = vec![false; ground.optional.len()];
    loop {
        if let Err(stop) = budget.check() {
            status = stop.into();
            break;
        }
        let chosen = subset.iter().zip(&ground.optional).filter(|(is_in, _)| **is_in).map(|(_, &feature)| feature);
        let mut features: Vec<usize> = ground.required.iter().copied().chain(chosen).collect();
        features.sort_unstable();
        let grown = ground.grow(&features, budget).and_then(|tree| Ok((ground.error_of(&tree, budget)?, tree)));
        let grown = grown.and_then(|(error, tree)| {
            let used = tree.features().len();
            let value = objective.value(error, used);
            if (value, used) < (best.0, best.1) {
                // It stays, beside the next ones.
                shown.as_mut().map_err(|stop| *stop)?.resize(ground.shown_bytes(tree.nodes().len()))?;
                best = (value, used, tree, error);
                board.publish(objective.fraction(value), 0.0);
            }
            Ok(())
        });
        match grown {
            Ok(()) => {}
            Err(stop) => {
                status = stop.into();
                break;
            }
        }
        stats.built += 1;
        board.count(1, 0);
        // The next binary number; of those with the most digits allowed, the next that has no more.
        let is_full = subset.iter().filter(|is_in| **is_in).count() >= most;
        let lowest = if is_full { subset.iter().position(|is_in| *is_in).unwrap_or(subset.len()) } else { 0 };
        let Some(place) = (lowest..subset.len()).find(|&place| !subset[place]) else { break };
        subset[..place].fill(false);
        subset[place] = true;
    }
    let (_, used, tree, error) = best;
    let value = if used == usize::MAX { 0.0 } else { objective.fraction(objective.value(error, used)) };
    Ok(Outcome {
        features: ground.with_required(&tree),
        error: ground.fraction(error),
        objective: objective.fraction(objective.value(error, tree.features().len())),
        lower_bound: if status == Status::Optimal { value } else { 0.0 },
        tree,
        status,
        path: Vec::new(),
        stats,
        seconds: budget.seconds(),
    })
}
