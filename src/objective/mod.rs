//! What an exact search minimises: the sum over leaves of what their label costs in their cases, plus a penalty per
//! node.
//!
//! **Label costs.** Case i costs c_i\[k\] if it is labelled k: any real number, and as many labels as wanted. With
//! b_i = max_k c_i\[k\] and *rewards* r_i\[k\] = b_i - c_i\[k\] >= 0, the best leaf on cases S costs
//!
//! min_k sum_i c_i\[k\] = sum_i b_i - max_k R_k(S),   R_k(S) = sum_i r_i\[k\].
//!
//! Summed over the leaves of a tree, the first term is a constant, and so is the sum of all R_k. Hence the best tree
//! for the costs is the best tree of the multi-class problem in which case i has the mass r_i\[k\] in class k, and its
//! cost is the errors there plus sum_i (b_i - sum_k r_i\[k\]). That is all a search has to know: [`Objective`] gives it
//! the rewards, and [`CostScale`] turns its integers into the costs that users see.
//!
//! Errors, weights of cases and classes, balanced errors, a cost matrix, costs of each case, a label for "don't know"
//! at a price and rewards of actions are all label costs; [`Loss`] says which, and [`LabelCosts`] makes them integers.
//!
//! To add an objective: implement [`Objective`] and hand it to [`search_objective`](crate::optimal::search_objective).

mod case_costs;
mod label_costs;
mod matrix;
mod units;
mod weighing;

use smallvec::SmallVec;

pub use label_costs::{LabelCosts, Loss};
pub(crate) use units::{COARSE, FINE, MOST_UNITS};
pub use units::{Units, leaf};
pub use weighing::ClassWeight;
pub(crate) use weighing::{Weighing, check_class_weight};

/// The labels that save something in a row, each once, with what they save in units.
pub type Rewards = SmallVec<[(u32, u64); 4]>;

/// What all labels save together.
fn sum(rewards: &[(u32, u64)]) -> u64 {
    rewards.iter().map(|&(_, reward)| reward).fold(0, u64::saturating_add)
}

/// What leaves cost. Costs add up over the cases of a leaf, and a leaf takes the label that costs least.
pub trait Objective: Sync {
    /// How many labels a leaf may have.
    fn n_labels(&self) -> usize;

    /// Writes what each label saves in a row, counts and weights included, beside the label that costs most there. The
    /// total over all rows and labels is below 2^62. Nothing is asked of rows that are absent.
    fn rewards(&self, row: usize, rewards: &mut Rewards);

    /// The class of each row and a mass, where every row has one reward, which is this mass, under the label of its
    /// class. Then the rewards are not asked for row by row.
    fn class_rewards(&self) -> Option<(&[u32], u64)> {
        None
    }

    /// The rewards of all rows and labels.
    fn total(&self) -> u64;

    /// How costs in units become the costs that users see.
    fn scale(&self) -> &CostScale;
}

/// Reads the rewards of one row after the other.
pub(crate) struct RewardReader<'a> {
    objective: &'a dyn Objective,
    of_classes: Option<(&'a [u32], u64)>,
    rewards: Rewards,
}

impl<'a> RewardReader<'a> {
    pub(crate) fn new(objective: &'a dyn Objective) -> Self {
        RewardReader { objective, of_classes: objective.class_rewards(), rewards: Rewards::new() }
    }

    /// Those of a row that is present.
    #[inline]
    pub(crate) fn of(&mut self, row: usize) -> &[(u32, u64)] {
        match self.of_classes {
            Some((classes, mass)) => {
                self.rewards.clear();
                self.rewards.push((classes[row], mass));
                debug_assert!({
                    let mut rewards = Rewards::new();
                    self.objective.rewards(row, &mut rewards);
                    rewards == self.rewards
                });
            }
            None => self.objective.rewards(row, &mut self.rewards),
        }
        &self.rewards
    }
}

/// What the integers of a search are worth.
#[derive(Debug, Clone, PartialEq)]
pub struct CostScale {
    /// The value of one unit.
    pub resolution: f64,
    /// The same as a ratio, of which each is a float without rounding where possible.
    pub(crate) unit: (f64, f64),
    /// What all trees cost besides, in units: what the dearest labels cost, less the rewards of all labels.
    pub(crate) offset: i128,
    /// The penalty per internal node, in units.
    pub node_penalty: u64,
}

impl CostScale {
    /// Units of the value `numerator / denominator`, without an offset.
    pub fn new((numerator, denominator): (f64, f64), node_penalty: u64) -> Self {
        CostScale { resolution: numerator / denominator, unit: (numerator, denominator), offset: 0, node_penalty }
    }

    /// A cost in units as the number users see.
    pub fn value(&self, cost: u64) -> f64 {
        units::value_of(self.unit, (i128::from(cost) + self.offset) as f64)
    }
}
