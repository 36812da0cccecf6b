//! Case sets and what their splits lead to, found when a tree asks for it.

use std::cell::OnceCell;
use std::rc::Rc;

use smallvec::SmallVec;

use super::features::Set;
use super::graph::{CaseNode, Child, Judged, Recent, Split};
use super::ground::Judge;
use super::trees::{Forest, Subtree};
use super::weight::Weight;
use crate::budget::Stop;
use crate::greedy::Missing;
use crate::greedy::engine::{BranchCases, CasesToSplit, CodedTest, MISSING, SplitCache, mass_value};

/// Bytes that are charged without being looked at closely.
const SMALL: usize = 1 << 16;

impl<S: Set> Forest<'_, S> {
    /// The place of the best split of a set in its ranking.
    #[inline]
    pub fn best(&mut self, set: &CaseNode<S>, features: &S) -> Result<Option<usize>, Stop> {
        if let Ok(place) = set.ranking.borrow().best(features.as_ref()) {
            return Ok(place);
        }
        self.charge(self.ranking_bytes(set, features))?;
        let mut ranking = set.ranking.borrow_mut();
        let bytes = ranking.bytes();
        let cases = CasesToSplit { cases: &set.cases, masses: &set.masses, count: set.count };
        let outcome = self.ranks.evaluate(&mut ranking, &cases, features.as_ref(), &mut self.ticker);
        set.weight.resize(bytes, ranking.bytes());
        outcome?;
        Ok(ranking.best(features.as_ref()).expect("it is known now"))
    }

    /// Bytes of the splits of these columns, at most.
    fn ranking_bytes(&self, set: &CaseNode<S>, features: &S) -> usize {
        let (ground, rows) = (self.ground, set.cases.cases().len());
        // Gains that are compared as they are keep the class masses of every branch.
        let branch = if ground.keeps_masses(&set.cases) { 8 * ground.table.n_classes } else { 0 };
        let levels = ground.many_levels.iter().filter(|(column, _)| features.has(*column));
        let of_levels = levels.map(|&(_, n_levels)| n_levels.min(rows).saturating_mul(4 + branch));
        of_levels.fold(features.count().saturating_mul(128 + 2 * branch), usize::saturating_add)
    }

    /// Bytes of a split and of the case sets that it leads to, and of the work on it, at most.
    fn split_bytes(&self, set: &CaseNode<S>, column: usize, n_branches: usize) -> usize {
        let (ground, rows) = (self.ground, set.cases.cases().len());
        let table = &ground.table;
        let masses = 8usize.saturating_mul(table.n_classes);
        let of_branch = size_of::<CaseNode<S>>() + Subtree::<S>::bytes(self.n_features(), 0) + 256 + 2 * masses;
        let words = table.columns.len() / 4;
        // A case without a value goes down every branch.
        let each = rows.saturating_mul(8).saturating_mul(n_branches);
        let spread = match table.columns[column].is_complete {
            true => 0,
            false if each < SMALL => each,
            false => {
                let codes = table.columns[column].codes();
                let is_missing = |case: &&u32| codes[**case as usize] == MISSING;
                8 * n_branches * set.cases.cases().iter().filter(is_missing).count()
            }
        };
        n_branches.saturating_mul(of_branch + words) + spread + 8 * rows + 8 * set.judged.len()
    }

    /// The split at a place of the ranking of a set.
    pub fn split(&mut self, set: &Rc<CaseNode<S>>, place: usize) -> Result<Rc<Split<S>>, Stop> {
        self.make_room();
        let (column, cut) = {
            let ranking = set.ranking.borrow();
            let (column, best) = ranking.split(place);
            if let Some(split) = set.split_by(column) {
                return Ok(split);
            }
            (column, best.test.clone())
        };
        let ground = self.ground;
        let table = &ground.table;
        let coded = &table.columns[column as usize];
        let depth = u64::from(set.depth) + 1;
        self.go_down(depth)?;
        self.charge(self.split_bytes(set, column as usize, cut.n_branches()))?;
        let wanted = |part: &BranchCases| !self.ranks.is_leaf(&part.masses, part.whole, part.count, depth);
        let parts = self.splitter.partition(&set.cases, table, column as usize, &cut, &mut self.ticker, wanted)?;
        let own = coded.has_own(set.cases.cases());
        let masses = parts.iter().map(|part| mass_value(table, part.masses.iter().sum(), part.whole)).collect();
        let mut deal = std::mem::take(&mut self.deal);
        let mut split = Split {
            column,
            cut,
            is_ordered: coded.ordered,
            own,
            children: SmallVec::new(),
            masses,
            ways: None,
            spread: Box::default(),
            by_mass: Box::default(),
            empty_error: 0,
        };
        if let Judge::HeldOut(held_out) = &ground.judge {
            let fractional = ground.params.missing == Missing::Fractional;
            split.ways = Some(held_out.ways(coded, (column, &split.cut), &split.masses, own, fractional));
            deal.deal(held_out, &split, &set.judged, parts.len());
            split.empty_error = held_out.errors(deal.of(parts.len()), set.label);
            split.spread = deal.of(parts.len() + 1).into();
            if !split.spread.is_empty() {
                split.by_mass = (0..parts.len() as u32).collect();
                split.by_mass.sort_by(|&a, &b| split.masses[a as usize].total_cmp(&split.masses[b as usize]));
            }
        }
        let fixed = (!coded.ordered && matches!(split.cut, CodedTest::Each(_))).then_some(column);
        let children = parts.into_iter().enumerate().map(|(branch, part)| {
            let judged = if split.ways.is_some() { deal.of(branch) } else { &[] };
            // Only what may be split was wanted.
            if part.set.cases().is_empty() {
                return Child::Leaf(self.leaf(part, judged, depth));
            }
            let ranking = SplitCache::part_of(&set.ranking.borrow(), fixed);
            Child::Set(self.case_node(part, judged.into(), depth, ranking))
        });
        let children = children.collect();
        let split = Rc::new(Split { children, ..split });
        self.deal = deal;
        set.weight.resize(0, split.bytes());
        set.splits.borrow_mut().push(split.clone());
        Ok(split)
    }

    /// A leaf of cases that no column can split. Where nobody sees their masses, those of one class and error are one: by
    /// class, not by label, since cases that are spread mix the shares of classes.
    fn leaf(&mut self, part: BranchCases, judged: &[u32], depth: u64) -> Rc<Subtree<S>> {
        let mut classes = part.masses.iter().enumerate().filter(|(_, mass)| **mass > 0).map(|(class, _)| class);
        let (class, is_pure) = (classes.next().unwrap_or(0), classes.next().is_none());
        let (label, error) = self.leaf_error(&part, judged);
        let is_shared = is_pure && !self.ground.lists && !matches!(self.ground.judge, Judge::Pessimistic(_));
        if let Some(leaf) = self.pure.get(&(class, error)).filter(|_| is_shared) {
            return leaf.clone();
        }
        let set = Rc::new(self.new_node(part, Judged::new(), (label, error), depth, SplitCache::none()));
        let leaf = Rc::new(Subtree::leaf(&set, error, S::empty(self.n_features())));
        if is_shared {
            self.pure.insert((class, error), leaf.clone());
        }
        leaf
    }

    /// A case set that columns may split.
    pub(super) fn case_node(
        &mut self,
        part: BranchCases,
        judged: Judged,
        depth: u64,
        ranking: SplitCache,
    ) -> Rc<CaseNode<S>> {
        let leaf = self.leaf_error(&part, &judged);
        let node = Rc::new(self.new_node(part, judged, leaf, depth, ranking));
        self.case_sets += 1;
        node
    }

    pub(super) fn new_node(
        &self,
        part: BranchCases,
        judged: Judged,
        (label, leaf_error): (u32, u64),
        depth: u64,
        ranking: SplitCache,
    ) -> CaseNode<S> {
        let node = CaseNode {
            cases: part.set,
            masses: part.masses,
            count: part.count,
            rows: part.rows as u32,
            depth: depth as u32,
            whole: part.whole,
            label,
            judged,
            leaf_error,
            shares: OnceCell::new(),
            ranking: ranking.into(),
            splits: Default::default(),
            recent: Recent::default(),
            weight: Weight::new(&self.account),
        };
        node.weight.resize(0, node.bytes());
        node
    }

    /// The class of a leaf, and its error on the cases that come there whole, or an estimate from its own.
    pub(super) fn leaf_error(&self, part: &BranchCases, judged: &[u32]) -> (u32, u64) {
        let label = self.ground.costs.leaf(&part.masses).1;
        let error = match &self.ground.judge {
            Judge::None => 0,
            Judge::HeldOut(held_out) => held_out.errors(judged, label),
            Judge::Pessimistic(scale) => {
                let value = |&mass: &u64| mass_value(&self.ground.table, mass, part.whole);
                scale.of_leaf(part.masses.iter().map(value), label)
            }
        };
        (label, error)
    }
}
