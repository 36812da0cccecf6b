//! A worker of DTaccept: Algorithms 3 and 4 of the paper (section 5).

use std::rc::Rc;

use super::AcceptSearch;
use super::tasks::BestSubset;
use crate::budget::{Reserved, Stop};
use crate::greedy::engine::GrownNode;
use crate::subsets::case_graph::{Bounded, CaseGraph, OpenNodeBound, Relaxation, Subtree};
use crate::subsets::context::SearchContext;
use crate::subsets::feature_set::FeatureSet;
use crate::subsets::frontier::FeatureRanker;
use crate::subsets::holdout::equivalent_points::EquivalentPoints;
use crate::subsets::objective::SubsetObjective;
use crate::subsets::outcome::Stats;
use crate::subsets::params::Order;
use crate::subsets::progress::Board;
use crate::subsets::stack::Stack;
use crate::subsets::sublattice::Sublattice;

/// Searches parts of the lattice on one thread.
pub(super) struct AcceptWorker<'g, S: FeatureSet> {
    context: &'g SearchContext,
    objective: SubsetObjective,
    /// How many choices on a path the relaxed bound follows.
    depth: u32,
    pub graph: CaseGraph<'g, S>,
    ranker: FeatureRanker<S>,
    /// Over the features of the current call.
    points: Option<EquivalentPoints<'g>>,
    _points_bytes: Reserved<'g>,
    board: &'g Board,
    pub incumbent: BestSubset<S>,
    /// The best subset that this worker found, and its tree.
    found: Option<(BestSubset<S>, Rc<Subtree<S>>)>,
    /// What is charged for showing that tree.
    shown: Reserved<'g>,
    /// A lower bound on the value of what was pruned.
    pub floor: u128,
    /// Whether the bounds of calls are kept, and so are to be as great as they can be.
    pub keeps_bounds: bool,
    pub stats: Stats,
}

/// A tree that a worker found, in a form that other threads can read.
pub(super) struct FoundTree<S> {
    pub subset: BestSubset<S>,
    /// Its error, in units.
    pub error: u64,
    pub nodes: Vec<GrownNode>,
}

/// Called with the worker, a feature to remove, the call that this leads to, and a bound on its trees.
type Descend<'d, 'g, S> = &'d mut dyn FnMut(&mut AcceptWorker<'g, S>, usize, &Sublattice<S>, u128) -> Result<(), Stop>;

/// The work of a call beside that on its trees and bounds.
const PER_CALL: usize = 200;

impl<'g, S: FeatureSet> AcceptWorker<'g, S> {
    pub fn new(search: &AcceptSearch<'g>, incumbent: BestSubset<S>, stack: Stack) -> Result<Self, Stop> {
        let &AcceptSearch { context, objective, depth, threads, budget, board } = search;
        let holdout = context.estimator.holdout();
        Ok(AcceptWorker {
            _points_bytes: budget.reserve(holdout.map_or(0, EquivalentPoints::bytes))?,
            context,
            objective,
            depth,
            graph: CaseGraph::new(context, budget, stack, threads, None)?,
            ranker: FeatureRanker::new(Order::Frontier, context.n_features()),
            points: holdout.map(EquivalentPoints::new),
            board,
            incumbent,
            found: None,
            shown: budget.reserve(0)?,
            floor: u128::MAX,
            keeps_bounds: false,
            stats: Stats::default(),
        })
    }

    pub fn stats(&self) -> Stats {
        let (evaluations, case_sets) = (self.graph.evaluations(), self.graph.case_sets);
        Stats { evaluations, case_sets, flushes: self.graph.flushes(), ..self.stats }
    }

    /// The best tree that was found here.
    pub fn found(&self) -> Option<FoundTree<S>> {
        let (subset, tree) = self.found.as_ref()?;
        Some(FoundTree { subset: subset.clone(), error: tree.error, nodes: self.graph.grown(tree) })
    }

    /// The tree of a call that the visit begins with.
    pub fn tree(&mut self, part: &Sublattice<S>) -> Result<Rc<Subtree<S>>, Stop> {
        let features = part.features();
        self.points.iter_mut().for_each(|points| points.set_features(&features));
        self.graph.tree(&features)
    }

    /// Algorithm 3, DTaccept(R, S), with its tree T = DT(R ∪ S).
    pub fn dt_accept(&mut self, tree: &Rc<Subtree<S>>, part: &Sublattice<S>) -> Result<(), Stop> {
        self.expand(tree, part, &mut |worker, feature, child, _| {
            // Line 13, and line 2 of the call.
            let tree = worker.graph.tree_without(tree, feature, &child.features())?;
            worker.points.iter_mut().for_each(|points| points.remove(feature));
            worker.dt_accept(&tree, child)?;
            worker.points.iter_mut().for_each(|points| points.put_back(feature));
            Ok(())
        })
    }

    /// Algorithm 3 without its recursion, which is left to `descend`. Each call is bounded before it is made, which is
    /// not in the paper, and neither are [`AcceptWorker::needed`] and the bound on the whole call.
    pub fn expand(
        &mut self,
        tree: &Rc<Subtree<S>>,
        part: &Sublattice<S>,
        descend: Descend<'_, 'g, S>,
    ) -> Result<(), Stop> {
        self.stats.built += 1;
        self.board.count(1, 0);
        self.graph.ticker.tick(PER_CALL)?;
        // Lines 4 to 7.
        self.improve(tree)?;
        let mut candidates = part.optional.intersection(&tree.used);
        if candidates.is_empty() {
            return Ok(());
        }
        let Needed { features: needed, has_equal_cases } = self.needed(tree, part, &candidates)?;
        candidates.subtract(&needed);
        let part = part.requiring(&needed);
        let features = if has_equal_cases { part.features().list() } else { Vec::new() };
        let bound = self.bound(tree, &Bounded { part: &part, removed: None }, &features)?;
        if self.rules_out(bound) {
            return Ok(());
        }
        // Lines 8 to 10.
        let order = self.ranker.order(tree, &candidates, &self.context.table, &mut self.graph.ticker)?;
        let kept = self.greedy_delta(tree, &candidates, &order, &features)?;
        let mut rest = part.requiring(&kept);
        // Lines 11 to 15.
        for feature in order.into_iter().map(|feature| feature as usize).filter(|&feature| kept.has(feature)) {
            rest.remove(feature);
            let bound = self.bound(tree, &Bounded { part: &rest, removed: Some(feature) }, &features)?;
            if !self.rules_out(bound) {
                descend(self, feature, &rest, bound)?;
            }
            rest.put_back(feature);
        }
        Ok(())
    }

    /// Lines 4 to 7 of Algorithm 3: makes a tree the incumbent if it is the best so far. It is kept, since it is to be
    /// shown.
    pub fn improve(&mut self, tree: &Rc<Subtree<S>>) -> Result<(), Stop> {
        let value = self.objective.value(tree.error, tree.used.count());
        if value > self.incumbent.value {
            return Ok(());
        }
        let new = BestSubset { value, features: tree.used.clone() };
        if !new.is_better(&self.incumbent) {
            return Ok(());
        }
        // A task may start from less than what this worker found in earlier tasks.
        if self.found.as_ref().is_none_or(|(found, _)| new.is_better(found)) {
            let n_nodes = tree.size(usize::MAX).unwrap_or(usize::MAX);
            self.shown.resize(self.context.shown_bytes(n_nodes))?;
            self.found = Some((new.clone(), tree.clone()));
        }
        self.incumbent = new;
        Ok(())
    }

    /// Whether no tree of this value or a greater one is better than the incumbent by more than delta.
    fn is_ruled_out(&self, value: u128) -> bool {
        self.incumbent.value <= value.saturating_add(self.objective.delta)
    }

    /// The same, for a part of the lattice that is pruned if so.
    fn rules_out(&mut self, value: u128) -> bool {
        let rules_out = self.is_ruled_out(value);
        if rules_out {
            self.floor = self.floor.min(value);
            self.stats.pruned += 1;
        }
        rules_out
    }

    /// Algorithm 4, greedy_delta: the candidates that remain when as many as can be, in their order, are not removed at
    /// all, because no tree without them is better than the incumbent by more than delta.
    fn greedy_delta(
        &mut self,
        tree: &Subtree<S>,
        candidates: &S,
        order: &[u32],
        features: &[usize],
    ) -> Result<S, Stop> {
        let mut kept = candidates.clone();
        let mut open = S::empty(self.context.n_features());
        for &feature in order {
            open.insert(feature as usize);
            let bound = self.lberr(tree, &open, features)?;
            match self.rules_out(bound) {
                true => kept.remove(feature as usize),
                false => open.remove(feature as usize),
            }
        }
        Ok(kept)
    }

    /// lberr of Algorithm 4, with the penalty of features: a lower bound on the value of all trees that have the nodes
    /// of this one except those that split by `open` features. `features`: those of the call, or none if no held-out
    /// cases are equal in them.
    fn lberr(&mut self, tree: &Subtree<S>, open: &S, features: &[usize]) -> Result<u128, Stop> {
        let mut used = S::empty(self.context.n_features());
        let enough = self.enough();
        let points = self.points.as_mut().filter(|_| !features.is_empty());
        let at_open_nodes = &mut points.map(|points| OpenNodeBound { points, features, enough });
        let error = self.graph.lberr(tree, open, at_open_nodes, &mut used)?;
        Ok(self.objective.value(error, used.count()))
    }

    /// A lower bound on the value of the trees of a part. It is computed without a choice first, then with one on a
    /// path, and so on: most parts are ruled out by what costs less.
    fn bound(&mut self, tree: &Subtree<S>, bounded: &Bounded<'_, S>, features: &[usize]) -> Result<u128, Stop> {
        let mut open = bounded.part.optional.intersection(&tree.used);
        bounded.removed.into_iter().for_each(|removed| open.insert(removed));
        let mut bound = self.lberr(tree, &open, features)?;
        let enough = self.enough();
        // With a penalty, fewer errors may be enough.
        let needed = if self.keeps_bounds || self.objective.penalizes() { 0 } else { enough };
        for depth in 1..=self.depth {
            if self.is_ruled_out(bound) {
                break;
            }
            let mut used = S::empty(self.context.n_features());
            let points = self.points.as_mut().filter(|_| !features.is_empty());
            let at_open_nodes = &mut points.map(|points| OpenNodeBound { points, features, enough });
            let relaxation = Relaxation { depth, needed };
            let error = self.graph.relaxed_error(tree, bounded, relaxation, at_open_nodes, &mut used)?;
            bound = bound.max(self.objective.value(error, used.count()));
        }
        Ok(bound)
    }

    /// The fewest errors that rule a part of the lattice out, without any penalty.
    fn enough(&self) -> u64 {
        self.objective.errors_of(self.incumbent.value.saturating_sub(self.objective.delta))
    }

    /// The candidates without which too many held-out cases are decided wrongly or cannot be told apart: they are in
    /// every subset that is worth a look.
    fn needed(&mut self, tree: &Subtree<S>, part: &Sublattice<S>, candidates: &S) -> Result<Needed<S>, Stop> {
        let mut needed = S::empty(self.context.n_features());
        let Some(mut points) = self.points.take() else {
            return Ok(Needed { features: needed, has_equal_cases: false });
        };
        let enough = self.enough();
        points.decide_all();
        let decided = self.graph.decided_error(tree, &part.required, &mut points)?;
        let all = part.features();
        // If the errors without all candidates are not enough, those without one of them are not.
        let list = candidates.list();
        self.graph.ticker.tick(points.n_cases() * list.len())?;
        list.iter().for_each(|&feature| points.remove(feature));
        let most = points.errors(&all.minus(candidates).list(), enough, &mut self.graph.ticker)?;
        list.iter().for_each(|&feature| points.put_back(feature));
        if self.is_ruled_out(self.objective.value(decided + most, 0)) {
            for &feature in &list {
                let mut rest = all.clone();
                rest.remove(feature);
                points.remove(feature);
                let enough = enough.saturating_sub(decided);
                let errors = points.errors(&rest.list(), enough, &mut self.graph.ticker)?;
                points.put_back(feature);
                if self.rules_out(self.objective.value(decided + errors, 0)) {
                    needed.insert(feature);
                }
            }
        }
        self.points = Some(points);
        Ok(Needed { features: needed, has_equal_cases: most > 0 })
    }
}

/// The candidates that every subset worth a look has, and whether any held-out cases are equal without all candidates.
struct Needed<S> {
    features: S,
    has_equal_cases: bool,
}
