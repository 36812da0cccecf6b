//! DTsbe: sequential backward elimination by what trees share (section 6 of the paper).
//!
//! The tree T_a without the feature a is that of an earlier step, without the features b removed since; nothing is to
//! be done where it uses none of them (Lemma 6). It is built no further than it may be the best: once the leaves that
//! it has err on more than the best tree so far, it is given up, and the next step goes on from there. This is not in
//! the paper.

use std::cmp::Reverse;
use std::rc::Rc;

use crate::budget::{Budget, Reserved, Stop};
use crate::subsets::case_graph::{CaseGraph, Subtree};
use crate::subsets::context::SearchContext;
use crate::subsets::feature_set::FeatureSet;
use crate::subsets::progress::Board;

/// What DTsbe came to.
pub(crate) struct Eliminated<'a, S: FeatureSet> {
    /// `None`: not even the first tree was finished.
    pub remaining: Option<Remaining<'a, S>>,
    pub path: Vec<EliminationStep>,
    /// Trees built, or begun.
    pub built: u64,
    /// Trees that were given up.
    pub pruned: u64,
    pub stopped: Option<Stop>,
}

/// The features that remain, the tree over them, and what is charged for showing it.
pub(crate) struct Remaining<'a, S: FeatureSet> {
    pub features: S,
    pub tree: Rc<Subtree<S>>,
    shown: Reserved<'a>,
}

impl<S: FeatureSet> Remaining<'_, S> {
    /// The tree, which is not to be shown as it is.
    pub fn into_tree(self) -> Rc<Subtree<S>> {
        self.tree
    }
}

/// The removal of a feature, and the error that is left, in units. Ordered by error, then by feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EliminationStep {
    pub error: u64,
    pub feature: usize,
}

/// What is known of the tree without a feature: a tree from which features are still to be removed, and that may be
/// unfinished.
struct TreeWithout<S> {
    tree: Rc<Subtree<S>>,
    /// The features still to be removed.
    removed: S,
    /// The error of the last such tree that was finished.
    estimate: u64,
}

impl<S: FeatureSet> TreeWithout<S> {
    /// Whether it is the tree without these features. DT(S \ {b}) = DT(S) where DT(S) does not use b, by Lemma 6.
    fn is_built(&self) -> bool {
        self.tree.is_without(&self.removed)
    }

    fn kept_error(&self) -> u64 {
        self.tree.kept_error(&self.removed)
    }
}

/// A feature that may be removed. In the order in which they are tried: those that promise the least error first, so
/// that others are given up soon; then those of which the greatest error is known.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct RemovalCandidate {
    estimate: u64,
    kept_error: Reverse<u64>,
    feature: usize,
}

/// The state between two steps.
struct WhiteBox<'a, 'r, 'g, S: FeatureSet> {
    context: &'a SearchContext,
    graph: &'r mut CaseGraph<'g, S>,
    budget: &'a Budget,
    board: &'a Board,
    required: S,
    remaining: Remaining<'a, S>,
    /// Per feature: what is known of the tree without it.
    without: Vec<Option<TreeWithout<S>>>,
    path: Vec<EliminationStep>,
    built: u64,
    pruned: u64,
}

/// DTsbe over some features: removes one at a time, as long as the error does not grow.
pub(crate) fn dt_sbe<'a, S: FeatureSet>(
    context: &'a SearchContext,
    graph: &mut CaseGraph<'_, S>,
    features: S,
    budget: &'a Budget,
    board: &'a Board,
) -> Eliminated<'a, S> {
    let n = context.n_features();
    // For what is known of the tree without each feature.
    let state = budget.reserve((n * (size_of::<Option<TreeWithout<S>>>() + 2 * (16 + n / 8))) as u64);
    let first = graph.tree(&features).and_then(|tree| {
        let state = state?;
        Ok((Remaining { shown: charge_shown(context, &tree, budget)?, features, tree }, state))
    });
    let (remaining, _state) = match first {
        Ok(first) => first,
        Err(stop) => {
            return Eliminated { remaining: None, path: Vec::new(), built: 1, pruned: 0, stopped: Some(stop) };
        }
    };
    let required = S::of(n, &context.required);
    let without = (0..n).map(|_| None).collect();
    let mut run =
        WhiteBox { context, graph, budget, board, required, remaining, without, path: Vec::new(), built: 1, pruned: 0 };
    let stopped = run.remove_all().err();
    let WhiteBox { remaining, path, built, pruned, .. } = run;
    Eliminated { remaining: Some(remaining), path, built, pruned, stopped }
}

/// Charges the bytes of a tree as it is shown.
fn charge_shown<'a, S: FeatureSet>(
    context: &SearchContext,
    tree: &Subtree<S>,
    budget: &'a Budget,
) -> Result<Reserved<'a>, Stop> {
    let n_nodes = tree.size(usize::MAX).unwrap_or(usize::MAX);
    budget.reserve(context.shown_bytes(n_nodes))
}

impl<S: FeatureSet> WhiteBox<'_, '_, '_, S> {
    fn remove_all(&mut self) -> Result<(), Stop> {
        loop {
            self.board.publish(self.context.fraction(self.remaining.tree.error), 0.0);
            match self.best_removal()? {
                Some(step) => self.remove(step)?,
                None => return Ok(()),
            }
        }
    }

    /// The feature whose removal leaves the least error, if the error does not grow. Ties: a feature that the tree does
    /// not use, then the first.
    fn best_removal(&mut self) -> Result<Option<EliminationStep>, Stop> {
        let Remaining { features, tree, .. } = &self.remaining;
        let unused = features.minus(&tree.used).minus(&self.required).iter().next();
        // Without a feature that is not used the tree is the same.
        let mut best = unused.map(|feature| EliminationStep { error: tree.error, feature });
        // A candidate has to be below this.
        let mut bar = EliminationStep { error: tree.error, feature: if unused.is_some() { 0 } else { usize::MAX } };
        for RemovalCandidate { kept_error: Reverse(kept_error), feature, .. } in self.candidates()? {
            if (EliminationStep { error: kept_error, feature }) >= bar {
                continue;
            }
            let mut this =
                self.without[feature].take().expect("`candidates` lists only features whose trees are in `without`");
            if !this.is_built() {
                // A feature after that of the bar has to leave less.
                let most = bar.error - u64::from(feature > bar.feature);
                self.build(&mut this, feature, most - kept_error)?;
            }
            let step = EliminationStep { error: this.tree.error, feature };
            if this.is_built() && step < bar {
                bar = step;
                best = Some(step);
            } else if let Some(best) = best {
                self.start_over_from(best.feature, &mut this, feature);
            }
            self.without[feature] = Some(this);
        }
        Ok(best)
    }

    /// The features that the tree uses and that may be removed. Each starts from the tree of an earlier step or from
    /// that of the last one, whichever keeps more errors.
    fn candidates(&mut self) -> Result<Vec<RemovalCandidate>, Stop> {
        let tree = self.remaining.tree.clone();
        let n = self.context.n_features();
        let mut candidates = Vec::new();
        for feature in tree.used.minus(&self.required).iter() {
            self.budget.check()?;
            let from_last = TreeWithout { tree: tree.clone(), estimate: tree.error, removed: S::of(n, &[feature]) };
            let kept_by_last = from_last.kept_error();
            let earlier = self.without[feature].take().map(|earlier| (earlier.kept_error(), earlier));
            let (kept_error, start) = match earlier {
                None => (kept_by_last, from_last),
                Some((kept_error, earlier)) if earlier.is_built() || kept_error >= kept_by_last => {
                    (kept_error, earlier)
                }
                Some((_, earlier)) => {
                    self.graph.release(earlier.tree);
                    (kept_by_last, TreeWithout { estimate: earlier.estimate, ..from_last })
                }
            };
            candidates.push(RemovalCandidate { estimate: start.estimate, kept_error: Reverse(kept_error), feature });
            self.without[feature] = Some(start);
        }
        candidates.sort_unstable();
        Ok(candidates)
    }

    /// Builds the tree without a feature, until it is finished or errs on more than `most` beside what it keeps.
    fn build(&mut self, this: &mut TreeWithout<S>, feature: usize, most: u64) -> Result<(), Stop> {
        let mut rest = self.remaining.features.clone();
        rest.remove(feature);
        self.built += 1;
        self.board.count(1, 0);
        let tree = self.graph.tree_within(&this.tree, &this.removed, &rest, most)?;
        self.graph.release(std::mem::replace(&mut this.tree, tree));
        if this.is_built() {
            (this.estimate, this.removed) = (this.tree.error, S::empty(self.context.n_features()));
        } else {
            self.pruned += 1;
        }
        Ok(())
    }

    /// Drops the tree without a feature if, as far as can be told, the next step will not start from it, but from the
    /// tree without the best feature.
    fn start_over_from(&mut self, best: usize, this: &mut TreeWithout<S>, feature: usize) {
        let mut removed = this.removed.clone();
        removed.insert(best);
        let tree = &self.remaining.tree;
        let next = self.without[best].as_ref().map_or(tree, |best| &best.tree);
        let only_this = S::of(self.context.n_features(), &[feature]);
        if next.kept_error(&only_this) > this.tree.kept_error(&removed) {
            self.graph.release(std::mem::replace(&mut this.tree, tree.clone()));
            this.removed = only_this;
        }
    }

    /// Removes a feature.
    fn remove(&mut self, step: EliminationStep) -> Result<(), Stop> {
        let Remaining { features, tree, shown } = &mut self.remaining;
        if tree.used.has(step.feature) {
            let without =
                self.without[step.feature].take().expect("`best_removal` built the tree without this feature").tree;
            *shown = charge_shown(self.context, &without, self.budget)?;
            self.graph.release(std::mem::replace(tree, without));
        }
        features.remove(step.feature);
        self.path.push(step);
        for (other, without) in self.without.iter_mut().enumerate() {
            match without {
                Some(this) if tree.used.has(other) => this.removed.insert(step.feature),
                // If it is used again, it starts from the tree of that step.
                Some(_) => without.take().into_iter().for_each(|this| self.graph.release(this.tree)),
                None => {}
            }
        }
        Ok(())
    }
}
