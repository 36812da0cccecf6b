//! Greedy trees under the same limits: the least that a search which could not finish gives back.
//!
//! Where limits are tight, the search may not come to a tree of its own: the table may be too large to be set up in the
//! time or memory there is. A greedy tree takes a small part of that. It is grown before the search where the time is
//! limited and growing takes a part of it that counts, else after the search, if that was stopped: a proof that is found
//! soon does not wait for it.

use super::params::Params;
use super::run::Run;
use super::shape::Shape;
use crate::budget::{Budget, Limits, Status, Stop};
use crate::constraint::full;
use crate::criterion::Criterion;
use crate::data::{Dataset, Feature, Kind, MissingTests, Thresholds};
use crate::greedy::{self, Missing, NominalSplits};
use crate::objective::{self, ClassWeight, Loss, RewardReader};
use crate::tree::{Node, Test, Tree};

/// A tree by its tests.
pub(super) struct Fallback {
    pub(super) shape: Shape,
    pub(super) tests: Vec<Test>,
    /// Its errors and its penalty, in units.
    pub(super) cost: u64,
    /// Whether it was grown to the end.
    pub(super) is_complete: bool,
}

impl Fallback {
    /// Seconds that may pass after a limit has struck.
    const GRACE: f64 = 0.1;
    /// The part of the limits after which no more trees are grown before the search.
    const BEFORE: f64 = 0.25;
    /// The part of the time that may be held back for trees after the search.
    const HELD_BACK: f64 = 0.1;
    /// Bytes per cell from which on there is room for threads, and for more than one tree after the other: what one
    /// leaves behind is not free at once.
    const ROOMY: u64 = 128;

    /// Grows the tree before the search, if the time is limited and no small part of it is enough after the search.
    /// That part is held back.
    pub(super) fn early(run: &Run) -> Option<Self> {
        let limit = run.params.params.limits.seconds?;
        let of_one = seconds(run.data);
        if of_one <= Self::GRACE / 4.0 {
            return None;
        }
        // Deep trees, and slow machines, take more.
        let of_all = 2.0 * of_one * Criterion::ALL.len() as f64;
        if of_all <= limit * Self::HELD_BACK {
            run.budget.hold_back(of_all);
            return None;
        }
        Self::grow(run, run.budget, Self::BEFORE)
    }

    /// Grows the tree after the search: in what is left of the time, or was held back, or in the moment that may pass
    /// after its end.
    pub(super) fn late(run: &Run) -> Option<Self> {
        run.budget.resume();
        if run.budget.check().is_ok() {
            return Self::grow(run, run.budget, f64::INFINITY);
        }
        let limits = Limits { seconds: Some(Self::GRACE), memory: Some(run.budget.available()), nodes: None };
        (seconds(run.data) <= Self::GRACE / 4.0).then(|| Self::grow(run, &Budget::new(limits), f64::INFINITY)).flatten()
    }

    /// The best of the trees by each criterion, until `most` of the limits is used up, or the first where memory is
    /// short. `None` where some of the tests that they need are not offered to the search, or the table cannot be grown
    /// on.
    fn grow(run: &Run, budget: &Budget, most: f64) -> Option<Self> {
        let constraints = &run.constraints;
        let params = &run.params.params;
        if constraints.max_depth == 0 || constraints.max_nodes == 0 || !offers_all(run.data, params) {
            return None;
        }
        let binds = constraints.max_nodes < full(constraints.max_depth);
        let cells = (run.data.n_rows() * run.data.columns().len()) as u64;
        let is_roomy = cells.saturating_mul(Self::ROOMY) <= budget.available();
        let params_by = |criterion: Criterion| greedy::Params {
            criterion,
            max_depth: Some(constraints.max_depth.into()),
            max_leaves: binds.then_some(constraints.max_nodes + 1),
            min_leaf: params.min_leaf,
            min_leaf_mass: params.min_leaf_mass,
            nominal_splits: NominalSplits::OneVsRest,
            missing: Missing::Level,
            unseen: params.unseen,
            // Each thread keeps memory of its own.
            threads: Some(if is_roomy { run.threads } else { 1 }),
            ..greedy::Params::default()
        };
        // Rewards of all labels and rows take their time.
        budget.check().ok()?;
        let relabelled = relabelled(run);
        let data = match &relabelled {
            // Its masses are other ones.
            Some(_) if params.min_leaf_mass > 0.0 => return None,
            Some(data) => data,
            None => run.data,
        };
        let criteria = if is_roomy { &Criterion::ALL[..] } else { &Criterion::ALL[..1] };
        let (mut best, mut is_complete): (Option<Self>, bool) = (None, true);
        for (place, &criterion) in criteria.iter().enumerate() {
            is_complete &= place == 0 || budget.used() <= most;
            if !is_complete {
                break;
            }
            let grown = {
                let _growth = budget.scope();
                greedy::search(data, &params_by(criterion).checked().ok()?, budget).ok()?
            };
            is_complete = grown.status == Status::Complete;
            if let Ok(Some((shape, tests, cost))) = Self::of(run, &grown.tree, budget)
                && best.as_ref().is_none_or(|best| cost < best.cost)
            {
                best = Some(Fallback { shape, tests, cost, is_complete });
            }
        }
        best.map(|best| Fallback { is_complete, ..best })
    }

    /// Weighs the tree as the search does, and cuts off what does not pay for its nodes: its shape, tests and cost.
    fn of(run: &Run, tree: &Tree, budget: &Budget) -> Result<Option<(Shape, Vec<Test>, u64)>, Stop> {
        let n_classes = run.objective.n_labels();
        let nodes = tree.nodes();
        let _held = budget.reserve((8 * nodes.len() * n_classes + 4 * run.data.n_rows()) as u64)?;
        let Ok(leaf_of) = tree.apply(run.data, 0..run.data.n_rows()) else { return Ok(None) };
        let mut masses = vec![0u64; nodes.len() * n_classes];
        let mut rewards = RewardReader::new(run.objective);
        for (row, &leaf) in leaf_of.iter().enumerate().filter(|&(row, _)| run.data.count(row) > 0) {
            let of_leaf = &mut masses[leaf as usize * n_classes..][..n_classes];
            rewards.of(row).iter().for_each(|&(label, reward)| of_leaf[label as usize] += reward);
        }
        let mut tests = Vec::new();
        let mut found: Vec<Option<(Shape, u64)>> = vec![None; nodes.len()];
        // Children stand after their parents.
        for (index, node) in nodes.iter().enumerate().rev() {
            let mut best = (Shape::Leaf, 0);
            if let Node::Split(split) = node {
                let mut branches = [Shape::Leaf, Shape::Leaf];
                best.1 = run.objective.scale().node_penalty;
                for (branch, &child) in branches.iter_mut().zip(&split.children) {
                    let (shape, cost) = found[child as usize].take().expect("a child stands after its parent");
                    (*branch, best.1) = (shape, best.1 + cost);
                    for class in 0..n_classes {
                        masses[index * n_classes + class] += masses[child as usize * n_classes + class];
                    }
                }
                best.0 = Shape::Split(tests.len() as u32, Box::new(branches));
                tests.push(split.test.clone());
            }
            let leaf = objective::leaf(&masses[index * n_classes..][..n_classes]).0;
            found[index] =
                Some(if leaf <= best.1 || matches!(node, Node::Leaf(_)) { (Shape::Leaf, leaf) } else { best });
        }
        let (shape, cost) = found[0].take().expect("the root is a node");
        Ok(Some((shape, tests, cost)))
    }

    /// Rows as they are, each its own pattern.
    pub(super) fn pattern_of(data: &Dataset) -> Vec<u32> {
        (0..data.n_rows() as u32).collect()
    }
}

/// Whether all tests that a greedy tree may have are offered: all thresholds where some column has any, or those that
/// are left to the search to choose; and tests for missing values where there are some.
fn offers_all(data: &Dataset, params: &Params) -> bool {
    let binarizer = &params.binarizer;
    let most = binarizer.max_thresholds.unwrap_or(usize::MAX);
    let all = match binarizer.thresholds {
        Thresholds::Auto | Thresholds::All => most >= data.n_rows(),
        Thresholds::Quantile => binarizer.max_thresholds.is_some() && most >= data.n_rows(),
        Thresholds::Mdlp => false,
    };
    let is_nominal = |feature: &Feature| matches!(feature.kind, Kind::Nominal(_));
    let is_complete = || data.columns().iter().all(|column| column.n_missing() == 0);
    (all || data.schema().features.iter().all(is_nominal)) && (binarizer.missing == MissingTests::Own || is_complete())
}

/// The table where each case has the label that saves most in it, and the weight of what the next best one saves less;
/// `None` where that is the table as it is.
fn relabelled(run: &Run) -> Option<Dataset> {
    let (params, data) = (&run.params.params, run.data);
    if params.objective == Loss::Errors && params.class_weight == ClassWeight::Equal && params.abstain.is_none() {
        return None;
    }
    let target = run.schema.target.clone()?;
    let mut rewards = RewardReader::new(run.objective);
    let best = |row: usize| {
        if data.count(row) == 0 {
            return (0, 0.0);
        }
        let (mut label, mut most, mut second) = (0, 0, 0);
        for &(of, reward) in rewards.of(row) {
            second = second.max(reward.min(most));
            if reward > most {
                (label, most) = (of, reward);
            }
        }
        (label, (most - second) as f64 / data.count(row) as f64)
    };
    let (codes, weights): (Vec<u32>, Vec<f64>) = (0..data.n_rows()).map(best).unzip();
    Some(data.without_costs().retargeted(target, codes).reweighted(weights))
}

/// About how long growth takes: sorting counts most.
fn seconds(data: &Dataset) -> f64 {
    1e-7 * data.n_rows() as f64 * data.columns().len() as f64
}
