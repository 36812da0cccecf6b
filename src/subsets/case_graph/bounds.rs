//! Lower bounds on the errors of all trees of a part of the lattice.
//!
//! A part R, S stands for the trees DT(V) with R ⊆ V ⊆ R ∪ S. At a case set where the best split of R ∪ S is by a
//! feature of R, that is the split of every DT(V) (Assumption 4); where R ∪ S has no split, every DT(V) has a leaf
//! (Assumption 5). So the errors that depend on such *decided* nodes alone are errors of every DT(V), and no error is
//! negative. A held-out case that is spread over several leaves counts only if all of these are decided. Nodes that are
//! not decided, and what is below them, are *open*.

use std::rc::Rc;

use super::CaseGraph;
use super::node::{BranchTarget, CaseNode, Subtree};
use crate::budget::{Stop, Ticker};
use crate::subsets::error_estimator::ErrorEstimator;
use crate::subsets::feature_set::FeatureSet;
use crate::subsets::holdout::equivalent_points::EquivalentPoints;
use crate::subsets::sublattice::Sublattice;

/// The work on one node.
const PER_NODE: usize = 20;

/// The equivalent-points bound for open nodes.
pub(crate) struct OpenNodeBound<'p, 'h> {
    pub points: &'p mut EquivalentPoints<'h>,
    /// The current features.
    pub features: &'p [usize],
    /// Counting may end at so many errors.
    pub enough: u64,
}

/// The part of the lattice that is bounded by means of a tree over its features, or over these and the feature
/// `removed`.
pub(crate) struct Bounded<'p, S> {
    pub part: &'p Sublattice<S>,
    pub removed: Option<usize>,
}

/// The choices that the relaxed bound follows.
#[derive(Clone, Copy)]
pub(crate) struct Relaxation {
    /// The most choices on a path.
    pub depth: u32,
    /// A bound below this is of no use, so it need not be as great as it could be.
    pub needed: u64,
}

/// The least error on the cases of an open node.
fn at_open_node<S>(
    node: &CaseNode<S>,
    bound: &mut Option<OpenNodeBound<'_, '_>>,
    ticker: &mut Ticker,
) -> Result<u64, Stop> {
    match bound {
        Some(bound) if node.held_out.len() > 1 => {
            bound.points.errors_at_node(&node.held_out, bound.features, bound.enough, ticker)
        }
        _ => Ok(0),
    }
}

impl<S: FeatureSet> CaseGraph<'_, S> {
    /// lberr of Algorithm 4: the error of a tree whose nodes that split by features of `open`, which may be removed,
    /// are to be expanded. These err on nothing but cases that cannot be told apart. Adds the features of the other
    /// nodes to `used`.
    pub fn lberr(
        &mut self,
        tree: &Subtree<S>,
        open: &S,
        bound: &mut Option<OpenNodeBound<'_, '_>>,
        used: &mut S,
    ) -> Result<u64, Stop> {
        if tree.used.is_disjoint(open) {
            used.add(&tree.used);
            return Ok(tree.error);
        }
        self.ticker.tick(PER_NODE)?;
        let split = tree.split.as_ref().expect("a tree that uses a feature splits at its root");
        if open.has(split.column as usize) {
            return at_open_node(&tree.node, bound, &mut self.ticker);
        }
        used.insert(split.column as usize);
        let is_decided = |node: &Subtree<S>| node.feature().is_none_or(|feature| !open.has(feature));
        let mut error = split.empty_error + self.decided_spread_error(tree, is_decided)?;
        for child in &tree.children {
            error += self.lberr(child, open, bound, used)?;
        }
        Ok(error)
    }

    /// The errors on cases whose class is decided where these features are required. The other cases are left open,
    /// each at the node up to which its way is decided.
    pub fn decided_error(
        &mut self,
        tree: &Subtree<S>,
        required: &S,
        points: &mut EquivalentPoints,
    ) -> Result<u64, Stop> {
        let Some(split) = &tree.split else { return Ok(tree.error) };
        self.ticker.tick(PER_NODE)?;
        if !required.has(split.column as usize) {
            points.leave_open(&tree.node.held_out);
            return Ok(0);
        }
        let mut error = split.empty_error;
        if let ErrorEstimator::Holdout(holdout) = &self.context.estimator {
            let is_decided = |node: &Subtree<S>| node.feature().is_none_or(|feature| required.has(feature));
            let mut open = Vec::new();
            for &case in &split.spread {
                match self.label_of_spread(tree, case, is_decided)? {
                    Some(label) => error += holdout.error(case, label),
                    None => open.push(case),
                }
            }
            points.leave_open(&open);
        }
        for child in &tree.children {
            error += self.decided_error(child, required, points)?;
        }
        Ok(error)
    }

    /// The errors on cases that are spread at the root of a tree and come to decided nodes only.
    fn decided_spread_error(
        &mut self,
        tree: &Subtree<S>,
        is_decided: impl Fn(&Subtree<S>) -> bool,
    ) -> Result<u64, Stop> {
        let split = tree.split.as_ref().expect("the caller found a split at the root");
        let ErrorEstimator::Holdout(holdout) = &self.context.estimator else { return Ok(0) };
        let mut error = 0;
        for &case in &split.spread {
            if let Some(label) = self.label_of_spread(tree, case, &is_decided)? {
                error += holdout.error(case, label);
            }
        }
        Ok(error)
    }

    /// The relaxed bound: every open node chooses the best of its own subsets, in agreement with what was chosen above
    /// it, with at most so many choices on a path, and no errors below these. Adds the features of decided nodes to
    /// `used`.
    pub fn relaxed_error(
        &mut self,
        tree: &Subtree<S>,
        bounded: &Bounded<'_, S>,
        relaxation: Relaxation,
        bound: &mut Option<OpenNodeBound<'_, '_>>,
        used: &mut S,
    ) -> Result<u64, Stop> {
        let Bounded { part, removed } = *bounded;
        let mut open = Vec::new();
        let mut error = self.collect_open(tree, &part.required, &part.features(), used, &mut open)?;
        // The error of an open subtree without a feature that it uses may be greater; otherwise it is the most that the
        // bound can be.
        let may_grow = |tree: &Subtree<S>| removed.is_some_and(|removed| tree.used.has(removed));
        open.sort_by_key(|tree| !may_grow(tree));
        let mut most: u64 = open.iter().filter(|tree| !may_grow(tree)).map(|tree| tree.error).sum();
        for (place, tree) in open.iter().enumerate() {
            if !may_grow(tree) {
                most -= tree.error;
            }
            let is_last = open.get(place + 1).is_none_or(|next| !may_grow(next));
            let floor = if is_last { relaxation.needed.saturating_sub(error + most) } else { 0 };
            let least =
                self.least_error(&tree.node, part.clone(), Relaxation { needed: floor, ..relaxation }, bound)?;
            if least < floor {
                return Ok(error);
            }
            error += least;
        }
        Ok(error)
    }

    /// The errors that are decided where these features are required, of `all` that may be used, and the open subtrees.
    fn collect_open<'t>(
        &mut self,
        tree: &'t Subtree<S>,
        required: &S,
        all: &S,
        used: &mut S,
        open: &mut Vec<&'t Subtree<S>>,
    ) -> Result<u64, Stop> {
        if tree.used.is_subset(required) && tree.ahead.is_disjoint(all) {
            used.add(&tree.used);
            return Ok(tree.error);
        }
        self.ticker.tick(PER_NODE)?;
        match tree.split.as_ref().filter(|split| required.has(split.column as usize)) {
            Some(split) => {
                used.insert(split.column as usize);
                let is_decided = |node: &Subtree<S>| node.feature().is_none_or(|feature| required.has(feature));
                let mut error = split.empty_error + self.decided_spread_error(tree, is_decided)?;
                for child in &tree.children {
                    error += self.collect_open(child, required, all, used, open)?;
                }
                Ok(error)
            }
            None => {
                open.push(tree);
                Ok(0)
            }
        }
    }

    /// The least error, on a case set, of trees that choose among the optional features; or any number below what is
    /// needed, if it is below that.
    fn least_error(
        &mut self,
        node: &Rc<CaseNode<S>>,
        mut part: Sublattice<S>,
        relaxation: Relaxation,
        bound: &mut Option<OpenNodeBound<'_, '_>>,
    ) -> Result<u64, Stop> {
        let Relaxation { depth, needed } = relaxation;
        if matches!(self.context.estimator, ErrorEstimator::Holdout(_)) && node.held_out.is_empty() {
            return Ok(0);
        }
        let mut least = u64::MAX;
        loop {
            let Some(place) = self.best(node, &part.features())? else {
                return Ok(least.min(node.leaf_error));
            };
            let feature = node.ranking.borrow().split(place).0 as usize;
            let is_required = part.required.has(feature);
            if !is_required && depth == 0 {
                return Ok(least.min(at_open_node(node, bound, &mut self.ticker)?));
            }
            // Either the feature is in the subset, and splits the node,
            let split = self.split(node, place)?;
            let mut with = part.clone();
            with.required.insert(feature);
            with.optional.remove(feature);
            let below = Relaxation { depth: if is_required { depth } else { depth - 1 }, needed: 0 };
            let mut error = split.certain_error();
            for branch in &split.branches {
                if error >= least {
                    break;
                }
                if let BranchTarget::Node(child) = branch {
                    error += self.least_error(child, with.clone(), below, bound)?;
                }
            }
            least = least.min(error);
            if is_required || least == 0 || least < needed {
                return Ok(least);
            }
            // or it is not, and the next best feature does.
            part.optional.remove(feature);
        }
    }
}
