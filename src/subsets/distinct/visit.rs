//! DTdistinct (Algorithm 2 of the paper) on one thread.

use std::rc::Rc;

use crate::budget::{Budget, Stop};
use crate::subsets::case_graph::{CaseGraph, Subtree};
use crate::subsets::context::SearchContext;
use crate::subsets::feature_set::FeatureSet;
use crate::subsets::frontier::FeatureRanker;
use crate::subsets::params::Order;
use crate::subsets::progress::Board;
use crate::subsets::stack::Stack;
use crate::subsets::sublattice::{Sublattice, SublatticeParts};

/// Called with each tree that is listed; `false` ends the visit.
pub(super) type Sink<'s, S> = &'s mut dyn FnMut(&CaseGraph<'_, S>, &Rc<Subtree<S>>) -> bool;

/// What a worker counted.
#[derive(Debug, Clone, Default)]
pub(super) struct VisitCounts {
    pub built: u64,
    pub distinct: u64,
    pub by_size: Vec<u64>,
    /// The part of all subsets whose trees were listed since the last report.
    covered: f64,
}

impl VisitCounts {
    pub fn new(n_features: usize) -> Self {
        VisitCounts { by_size: vec![0; n_features + 1], ..VisitCounts::default() }
    }

    pub fn add(&mut self, other: &VisitCounts) {
        self.built += other.built;
        self.distinct += other.distinct;
        self.by_size.iter_mut().zip(&other.by_size).for_each(|(a, b)| *a += b);
    }
}

/// Why a visit ended before all trees were listed.
pub(super) enum VisitEnd {
    Stop(Stop),
    /// The caller has enough trees.
    Enough,
}

impl From<Stop> for VisitEnd {
    fn from(stop: Stop) -> Self {
        VisitEnd::Stop(stop)
    }
}

/// The visit of one worker.
pub(super) struct DistinctVisit<'g, S: FeatureSet> {
    pub graph: CaseGraph<'g, S>,
    context: &'g SearchContext,
    ranker: FeatureRanker<S>,
    pub counts: VisitCounts,
    /// The number of optional features of the whole search.
    n_optional: usize,
    board: &'g Board,
    /// The trees built and listed at the last report.
    reported: (u64, u64),
}

/// Trees between two reports to the board.
const REPORT_EVERY: u64 = 256;
/// The work on a tree beside that on its nodes.
const PER_TREE: usize = 100;

impl<'g, S: FeatureSet> DistinctVisit<'g, S> {
    /// A visit by one of so many workers.
    pub fn new(
        context: &'g SearchContext,
        order: Order,
        workers: usize,
        budget: &'g Budget,
        board: &'g Board,
        stack: Stack,
    ) -> Result<Self, Stop> {
        let graph = CaseGraph::new(context, budget, stack, workers, None)?;
        let n = context.n_features();
        Ok(DistinctVisit {
            context,
            graph,
            ranker: FeatureRanker::new(order, n),
            counts: VisitCounts::new(n),
            n_optional: context.optional.len(),
            board,
            reported: (0, 0),
        })
    }

    /// Algorithm 2 from its line 1.
    pub fn run(&mut self, part: &Sublattice<S>, sink: Sink<'_, S>) -> Result<(), VisitEnd> {
        let tree = self.graph.tree(&part.features())?;
        self.dt_distinct(&tree, part, sink)
    }

    /// The call for a part alone, without the calls that it makes.
    pub fn run_alone(&mut self, part: &Sublattice<S>, sink: Sink<'_, S>) -> Result<(), VisitEnd> {
        let tree = self.graph.tree(&part.features())?;
        self.list(&tree, part, sink)
    }

    /// Algorithm 2, DTdistinct(R, S), with its tree T = DT(R ∪ S).
    fn dt_distinct(&mut self, tree: &Rc<Subtree<S>>, part: &Sublattice<S>, sink: Sink<'_, S>) -> Result<(), VisitEnd> {
        // Lines 3 to 5.
        self.list(tree, part, sink)?;
        // Lines 6 to 12.
        for (feature, child) in self.children(tree, part)? {
            let tree = self.graph.tree_without(tree, feature, &child.features())?;
            self.dt_distinct(&tree, &child, sink)?;
        }
        Ok(())
    }

    /// Lines 3 to 5 of Algorithm 2: lists a tree if it uses all required features.
    fn list(&mut self, tree: &Rc<Subtree<S>>, part: &Sublattice<S>, sink: Sink<'_, S>) -> Result<(), VisitEnd> {
        self.counts.built += 1;
        // All subsets that differ in unused features alone have this tree.
        let n_unused = part.optional.count() - part.optional.count_and(&tree.used);
        self.counts.covered += 2f64.powi(n_unused as i32 - self.n_optional as i32);
        if self.counts.built.is_multiple_of(REPORT_EVERY) {
            self.graph.ticker.tick(PER_TREE * REPORT_EVERY as usize)?;
            self.report();
        }
        if part.required.is_subset(&tree.used) {
            self.counts.distinct += 1;
            self.counts.by_size[tree.used.count()] += 1;
            if !sink(&self.graph, tree) {
                return Err(VisitEnd::Enough);
            }
        }
        Ok(())
    }

    /// Lines 6 to 12 of Algorithm 2: the features to remove, in their order, with the call that each leads to.
    pub fn children(&mut self, tree: &Rc<Subtree<S>>, part: &Sublattice<S>) -> Result<SublatticeParts<S>, Stop> {
        let candidates = part.optional.intersection(&tree.used);
        let order = self.ranker.order(tree, &candidates, &self.context.table, &mut self.graph.ticker)?;
        Ok(part.parts(&candidates, order))
    }

    /// Adds to the board what was counted since the last report.
    pub fn report(&mut self) {
        let (built, distinct) = (self.counts.built, self.counts.distinct);
        self.board.count(built - self.reported.0, distinct - self.reported.1);
        self.board.cover(std::mem::take(&mut self.counts.covered));
        self.reported = (built, distinct);
    }
}
