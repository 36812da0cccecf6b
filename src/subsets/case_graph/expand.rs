//! Expansion of case sets: the best split over some features, and the case sets that it leads to, computed when a tree
//! asks.

use std::cell::OnceCell;
use std::rc::Rc;

use super::CaseGraph;
use super::memory::AccountedBytes;
use super::node::{BranchTarget, CaseNode, CaseSplit, HeldOutCases, Subtree};
use super::recent::RecentTrees;
use crate::budget::Stop;
use crate::greedy::Missing;
use crate::greedy::engine::{BranchCases, CasesToSplit, CodedTest, MISSING, SplitCache, mass_value};
use crate::subsets::error_estimator::ErrorEstimator;
use crate::subsets::feature_set::FeatureSet;

/// An estimate of fewer bytes need not be close.
const SMALL: usize = 1 << 16;

/// The class that a leaf predicts, and its error.
struct LeafPrediction {
    label: u32,
    error: u64,
}

impl<S: FeatureSet> CaseGraph<'_, S> {
    /// The position, in the ranking of a case set, of the best split by one of these features.
    #[inline]
    pub(super) fn best(&mut self, node: &CaseNode<S>, features: &S) -> Result<Option<usize>, Stop> {
        if let Ok(place) = node.ranking.borrow().best(features.as_ref()) {
            return Ok(place);
        }
        self.charge(self.ranking_bytes(node, features))?;
        let mut ranking = node.ranking.borrow_mut();
        let bytes = ranking.bytes();
        let cases = CasesToSplit { cases: &node.cases, masses: &node.masses, count: node.count };
        let ranked = self.ranks.evaluate(&mut ranking, &cases, features.as_ref(), &mut self.ticker);
        node.bytes.resize(bytes, ranking.bytes());
        ranked?;
        Ok(ranking.best(features.as_ref()).expect("all of these features were ranked just now"))
    }

    /// An upper bound on the bytes of the splits of these columns in a ranking.
    fn ranking_bytes(&self, node: &CaseNode<S>, features: &S) -> usize {
        let (context, rows) = (self.context, node.cases.cases().len());
        // Exact gains keep the class masses of every branch.
        let per_branch = if context.keeps_exact_gains(&node.cases) { 8 * context.table.n_classes } else { 0 };
        let columns = context.columns_of_many_levels.iter().filter(|column| features.has(column.position));
        let of_levels = columns.map(|column| column.n_levels.min(rows).saturating_mul(4 + per_branch));
        of_levels.fold(features.count().saturating_mul(128 + 2 * per_branch), usize::saturating_add)
    }

    /// An upper bound on the bytes of a split, of the case sets that it leads to, and of the work on it.
    fn split_bytes(&self, node: &CaseNode<S>, column: usize, n_branches: usize) -> usize {
        let rows = node.cases.cases().len();
        let table = &self.context.table;
        let masses = 8usize.saturating_mul(table.n_classes);
        let per_branch = size_of::<CaseNode<S>>() + Subtree::<S>::bytes(self.n_features(), 0) + 256 + 2 * masses;
        let words = table.columns.len() / 4;
        // A case without a value goes down every branch.
        let everywhere = rows.saturating_mul(8).saturating_mul(n_branches);
        let spread = match table.columns[column].is_complete {
            true => 0,
            false if everywhere < SMALL => everywhere,
            false => {
                let codes = table.columns[column].codes();
                let is_missing = |case: &&u32| codes[**case as usize] == MISSING;
                8 * n_branches * node.cases.cases().iter().filter(is_missing).count()
            }
        };
        n_branches.saturating_mul(per_branch + words) + spread + 8 * rows + 8 * node.held_out.len()
    }

    /// The split at a position of the ranking of a case set, with the case sets that it leads to.
    pub(super) fn split(&mut self, node: &Rc<CaseNode<S>>, place: usize) -> Result<Rc<CaseSplit<S>>, Stop> {
        self.evict_if_full();
        let (column, cut) = {
            let ranking = node.ranking.borrow();
            let (column, found) = ranking.split(place);
            if let Some(split) = node.split_by(column) {
                return Ok(split);
            }
            (column, found.test.clone())
        };
        let context = self.context;
        let table = &context.table;
        let coded = &table.columns[column as usize];
        let depth = u64::from(node.depth) + 1;
        self.depth.go_down(depth)?;
        self.charge(self.split_bytes(node, column as usize, cut.n_branches()))?;
        let may_split = |part: &BranchCases| !self.ranks.is_leaf(&part.masses, part.whole, part.count, depth);
        let parts = self.splitter.partition(&node.cases, table, column as usize, &cut, &mut self.ticker, may_split)?;
        let own = coded.has_own(node.cases.cases());
        let mut split = CaseSplit {
            column,
            own,
            branches: Default::default(),
            masses: parts.iter().map(|part| mass_value(table, part.masses.iter().sum(), part.whole)).collect(),
            cut,
            routing: None,
            spread: Box::default(),
            by_mass: Box::default(),
            empty_error: 0,
        };
        self.route_held_out(node, &mut split);
        let constant = (!coded.ordered && matches!(split.cut, CodedTest::Each(_))).then_some(column);
        let partition = std::mem::take(&mut self.partition);
        let branches = parts.into_iter().enumerate().map(|(branch, part)| {
            let held_out = if split.routing.is_some() { partition.branch(branch) } else { &[] };
            // The cases of a part are listed only if it may be split.
            if part.set.cases().is_empty() {
                return BranchTarget::Leaf(self.leaf_of_all(part, held_out, depth));
            }
            let ranking = SplitCache::part_of(&node.ranking.borrow(), constant);
            BranchTarget::Node(self.inner_node(part, held_out.into(), depth, ranking))
        });
        split.branches = branches.collect();
        self.partition = partition;
        let split = Rc::new(split);
        node.bytes.resize(0, split.bytes());
        node.splits.borrow_mut().push(split.clone());
        Ok(split)
    }

    /// Partitions the held-out cases of a case set by a split.
    fn route_held_out(&mut self, node: &CaseNode<S>, split: &mut CaseSplit<S>) {
        let context = self.context;
        let ErrorEstimator::Holdout(holdout) = &context.estimator else { return };
        let (cut, n_branches) = (&split.cut, split.masses.len());
        let fractional = context.params.missing == Missing::Fractional;
        let routing = holdout.routing(&context.table, (split.column, cut), &split.masses, split.own, fractional);
        self.partition.fill(holdout.router(&routing, cut), &node.held_out, n_branches);
        split.routing = Some(routing);
        split.empty_error = holdout.errors(self.partition.on_empty_branch(), node.label);
        split.spread = self.partition.spread().into();
        if !split.spread.is_empty() {
            split.by_mass = (0..n_branches as u32).collect();
            split.by_mass.sort_by(|&a, &b| split.masses[a as usize].total_cmp(&split.masses[b as usize]));
        }
    }

    /// The leaf of cases that are a leaf of every tree. Where leaf masses are not shown, leaves of one class and error
    /// are shared: of one class, not of one label, since cases that are spread mix the shares of classes.
    fn leaf_of_all(&mut self, part: BranchCases, held_out: &[u32], depth: u64) -> Rc<Subtree<S>> {
        let mut classes = part.masses.iter().enumerate().filter(|(_, mass)| **mass > 0).map(|(class, _)| class);
        let (class, is_pure) = (classes.next().unwrap_or(0), classes.next().is_none());
        let is_pessimistic = matches!(self.context.estimator, ErrorEstimator::Pessimistic(_));
        let is_shared = is_pure && !self.context.keeps_leaf_masses && !is_pessimistic;
        let prediction = self.prediction(&part, held_out);
        let error = prediction.error;
        if let Some(leaf) = self.pure.get(&(class, error)).filter(|_| is_shared) {
            return leaf.clone();
        }
        let node = Rc::new(self.case_node(part, HeldOutCases::new(), prediction, depth, SplitCache::none()));
        let leaf = Rc::new(Subtree::leaf(&node, error, S::empty(self.n_features())));
        if is_shared {
            self.pure.insert((class, error), leaf.clone());
        }
        leaf
    }

    /// A case set that columns may split.
    pub(super) fn inner_node(
        &mut self,
        part: BranchCases,
        held_out: HeldOutCases,
        depth: u64,
        ranking: SplitCache,
    ) -> Rc<CaseNode<S>> {
        self.case_sets += 1;
        let prediction = self.prediction(&part, &held_out);
        Rc::new(self.case_node(part, held_out, prediction, depth, ranking))
    }

    /// A case set that no column splits.
    pub(super) fn leaf_node(&self, part: BranchCases, held_out: HeldOutCases, depth: u64) -> CaseNode<S> {
        let prediction = self.prediction(&part, &held_out);
        self.case_node(part, held_out, prediction, depth, SplitCache::none())
    }

    fn case_node(
        &self,
        part: BranchCases,
        held_out: HeldOutCases,
        prediction: LeafPrediction,
        depth: u64,
        ranking: SplitCache,
    ) -> CaseNode<S> {
        let node = CaseNode {
            label: prediction.label,
            cases: part.set,
            masses: part.masses,
            count: part.count,
            rows: part.rows as u32,
            depth: depth as u32,
            whole: part.whole,
            held_out,
            leaf_error: prediction.error,
            shares: OnceCell::new(),
            ranking: ranking.into(),
            splits: Default::default(),
            recent: RecentTrees::default(),
            bytes: AccountedBytes::new(&self.account),
        };
        node.bytes.resize(0, node.unsplit_bytes());
        node
    }

    /// The class of a leaf, and its error on the held-out cases that come whole, or the estimate from its own cases.
    fn prediction(&self, part: &BranchCases, held_out: &[u32]) -> LeafPrediction {
        let label = self.context.costs.leaf(&part.masses).1;
        let error = match &self.context.estimator {
            ErrorEstimator::None => 0,
            ErrorEstimator::Holdout(holdout) => holdout.errors(held_out, label),
            ErrorEstimator::Pessimistic(pessimistic) => {
                let value = |&mass: &u64| mass_value(&self.context.table, mass, part.whole);
                pessimistic.of_leaf(part.masses.iter().map(value), label)
            }
        };
        LeafPrediction { label, error }
    }
}
