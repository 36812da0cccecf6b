//! Case sets and what their splits lead to, found when a tree asks for it.

use std::cell::OnceCell;
use std::rc::Rc;

use smallvec::SmallVec;

use super::features::Set;
use super::graph::{CaseNode, Child, Judged, Recent, Split};
use super::ground::Judge;
use super::pessimistic;
use super::trees::{Forest, Subtree};
use crate::budget::Stop;
use crate::greedy::Missing;
use crate::greedy::cases::Part;
use crate::greedy::finish::mass_value;
use crate::greedy::ranking::Ranking;
use crate::greedy::split::Cut;

impl<S: Set> Forest<'_, S> {
    /// The place of the best split of a set in its ranking.
    #[inline]
    pub fn best(&mut self, set: &CaseNode<S>, features: &S) -> Result<Option<usize>, Stop> {
        if let Ok(place) = set.ranking.borrow().best(features.as_ref()) {
            return Ok(place);
        }
        let mut ranking = set.ranking.borrow_mut();
        let bytes = ranking.bytes();
        let sides = (&set.cases, &set.masses[..], set.count);
        let outcome = self.ranks.rank(&mut ranking, sides, features.as_ref(), &mut self.ticker);
        self.bytes += ranking.bytes().saturating_sub(bytes);
        outcome?;
        Ok(ranking.best(features.as_ref()).expect("it is known now"))
    }

    /// The split at a place of the ranking of a set.
    pub fn split(&mut self, set: &Rc<CaseNode<S>>, place: usize) -> Result<Rc<Split<S>>, Stop> {
        self.make_room()?;
        let (column, cut) = {
            let ranking = set.ranking.borrow();
            let (column, found) = ranking.found(place);
            if let Some(split) = set.split_by(column) {
                return Ok(split);
            }
            (column, found.cut.clone())
        };
        let ground = self.ground;
        let table = &ground.table;
        let coded = &table.columns[column as usize];
        let depth = set.depth + 1;
        let wanted = |part: &Part| !self.ranks.is_leaf(&part.masses, part.whole, part.count, depth);
        let parts = self.splitter.split(&set.cases, table, (column as usize, &cut), &mut self.ticker, wanted)?;
        let own = coded.has_own(&set.cases);
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
        let fixed = (!coded.ordered && matches!(split.cut, Cut::Each(_))).then_some(column);
        let children = parts.into_iter().enumerate().map(|(branch, part)| {
            let judged = if split.ways.is_some() { deal.of(branch) } else { &[] };
            // Only what may be split was wanted.
            if part.set.cases().is_empty() {
                return Child::Leaf(self.leaf(part, judged, depth));
            }
            let ranking = Ranking::part_of(&set.ranking.borrow(), fixed);
            Child::Set(self.case_node(part, judged.into(), depth, ranking))
        });
        let children = children.collect();
        let split = Rc::new(Split { children, ..split });
        self.deal = deal;
        self.bytes += split.bytes();
        set.splits.borrow_mut().push(split.clone());
        Ok(split)
    }

    /// A leaf of cases that no column can split. Where nobody sees their masses, those of one class and error are one: by
    /// class, not by label, since cases that are spread mix the shares of classes.
    fn leaf(&mut self, part: Part, judged: &[u32], depth: u64) -> Rc<Subtree<S>> {
        let mut classes = part.masses.iter().enumerate().filter(|(_, mass)| **mass > 0).map(|(class, _)| class);
        let (class, is_pure) = (classes.next().unwrap_or(0), classes.next().is_none());
        let (label, error) = self.leaf_error(&part, judged);
        let is_shared = is_pure && !self.ground.lists && !matches!(self.ground.judge, Judge::Pessimistic);
        if let Some(leaf) = self.pure.get(&(class, error)).filter(|_| is_shared) {
            return leaf.clone();
        }
        let set = Rc::new(self.new_node(part, Judged::new(), (label, error), depth, Ranking::none()));
        let leaf = Rc::new(Subtree::leaf(&set, error, S::empty(self.n_features())));
        if is_shared {
            self.pure.insert((class, error), leaf.clone());
        } else {
            self.bytes += size_of::<CaseNode<S>>() + size_of::<Subtree<S>>() + 64 + 8 * leaf.set.masses.len();
        }
        leaf
    }

    /// A case set that columns may split.
    pub(super) fn case_node(&mut self, part: Part, judged: Judged, depth: u64, ranking: Ranking) -> Rc<CaseNode<S>> {
        let leaf = self.leaf_error(&part, &judged);
        let node = Rc::new(self.new_node(part, judged, leaf, depth, ranking));
        self.case_sets += 1;
        self.bytes += node.bytes();
        node
    }

    pub(super) fn new_node(
        &self,
        part: Part,
        judged: Judged,
        (label, leaf_error): (u32, u64),
        depth: u64,
        ranking: Ranking,
    ) -> CaseNode<S> {
        CaseNode {
            cases: part.set,
            masses: part.masses,
            count: part.count,
            depth,
            whole: part.whole,
            label,
            judged,
            leaf_error,
            shares: OnceCell::new(),
            ranking: ranking.into(),
            splits: Default::default(),
            recent: Recent::default().into(),
        }
    }

    /// The class of a leaf, and its error on the cases that come there whole, or an estimate from its own.
    pub(super) fn leaf_error(&self, part: &Part, judged: &[u32]) -> (u32, u64) {
        let label = self.ground.costs.leaf(&part.masses).1;
        let error = match &self.ground.judge {
            Judge::None => 0,
            Judge::HeldOut(held_out) => held_out.errors(judged, label),
            Judge::Pessimistic => {
                let value = |&mass: &u64| mass_value(&self.ground.table, mass, part.whole);
                pessimistic::of_leaf(part.masses.iter().map(value), label)
            }
        };
        (label, error)
    }
}
