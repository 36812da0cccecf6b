//! In which order the features of a tree are taken away.

use std::rc::Rc;

use smallvec::SmallVec;

use super::Order;
use super::features::Set;
use super::trees::Subtree;
use crate::budget::{Stop, Ticker};
use crate::greedy::engine::GrowthData;

/// Room for the work, kept between trees.
pub(super) struct Ranker<S> {
    order: Order,
    /// Per feature: its place among the candidates.
    slots: Vec<u32>,
    /// Per candidate: the last of its frontier nodes, as a place in the list of all.
    heads: Vec<u32>,
    /// Per candidate: the features below its frontier nodes.
    below: Vec<S>,
    /// Per feature: the cases at the nodes that it splits.
    cases: Vec<u128>,
}

const NONE: u32 = u32::MAX;

/// The frontier nodes found so far, each with the one of the same feature before it.
type Nodes<'t, S> = SmallVec<[(&'t Subtree<S>, u32); 32]>;

impl<S: Set> Ranker<S> {
    pub fn new(order: Order, n_features: usize) -> Self {
        Ranker {
            order,
            slots: vec![0; n_features],
            heads: Vec::new(),
            below: Vec::new(),
            cases: vec![0; if order == Order::FrontierCases { n_features } else { 0 }],
        }
    }

    /// The candidates, all of them used by the tree, in the order of their removal.
    pub fn order(
        &mut self,
        tree: &Rc<Subtree<S>>,
        candidates: &S,
        table: &GrowthData,
        ticker: &mut Ticker,
    ) -> Result<SmallVec<[u32; 16]>, Stop> {
        let mut order: SmallVec<[u32; 16]> = SmallVec::new();
        match self.order {
            Order::Frontier | Order::Reverse => {
                self.last_first(tree, candidates, &mut order, ticker)?;
                if self.order == Order::Frontier {
                    order.reverse();
                }
            }
            Order::FrontierCases => {
                self.cases.fill(0);
                self.count_cases(tree, candidates, table);
                order.extend(crate::bits::ones(candidates.as_ref()).map(|feature| feature as u32));
                order.sort_by_key(|&feature| self.cases[feature as usize]);
            }
            Order::Fixed => {
                order.extend(crate::bits::ones(candidates.as_ref()).map(|feature| feature as u32));
                order.reverse();
            }
        }
        Ok(order)
    }

    /// Definition 9, from the last position to the first: at each the feature a of greatest frontier(T, R', a), where R'
    /// is all but the candidates that have no position yet; ties: the first feature.
    fn last_first(
        &mut self,
        tree: &Subtree<S>,
        candidates: &S,
        order: &mut SmallVec<[u32; 16]>,
        ticker: &mut Ticker,
    ) -> Result<(), Stop> {
        self.heads.clear();
        for (slot, feature) in crate::bits::ones(candidates.as_ref()).enumerate() {
            self.slots[feature] = slot as u32;
            self.heads.push(NONE);
            match self.below.get_mut(slot) {
                Some(below) => below.as_mut().fill(0),
                None => self.below.push(S::empty(self.slots.len())),
            }
        }
        let mut rest = candidates.clone();
        let mut nodes: Nodes<'_, S> = SmallVec::new();
        self.open(tree, &rest, &mut nodes);
        loop {
            // Definition 8: the features outside of R' in the subtrees of a's frontier nodes.
            let (mut best, mut most) = (usize::MAX, 0);
            for feature in crate::bits::ones(rest.as_ref()) {
                let frontier = self.below[self.slots[feature] as usize].count_and(&rest);
                if best == usize::MAX || frontier > most {
                    (best, most) = (feature, frontier);
                }
            }
            if best == usize::MAX {
                return Ok(());
            }
            // What is left is looked through at every step.
            ticker.tick(candidates.as_ref().len() * (self.heads.len() - order.len()))?;
            rest.remove(best);
            order.push(best as u32);
            let mut place = self.heads[self.slots[best] as usize];
            while place != NONE {
                let (tree, previous) = nodes[place as usize];
                tree.children.iter().for_each(|child| self.open(child, &rest, &mut nodes));
                place = previous;
            }
        }
    }

    /// Adds the frontier nodes of a subtree: those that are the first on their path to split by a feature of the rest.
    fn open<'t>(&mut self, tree: &'t Subtree<S>, rest: &S, nodes: &mut Nodes<'t, S>) {
        if tree.used.is_apart_from(rest) {
            return;
        }
        let column = tree.column().expect("it uses features");
        if rest.has(column) {
            let slot = self.slots[column] as usize;
            nodes.push((tree, self.heads[slot]));
            self.heads[slot] = nodes.len() as u32 - 1;
            self.below[slot].add(&tree.used);
        } else {
            tree.children.iter().for_each(|child| self.open(child, rest, nodes));
        }
    }

    fn count_cases(&mut self, tree: &Subtree<S>, candidates: &S, table: &GrowthData) {
        if tree.used.is_apart_from(candidates) {
            return;
        }
        let digits = if tree.set.whole { table.digits } else { 0 };
        self.cases[tree.column().expect("it uses features")] += u128::from(tree.set.count) << digits;
        tree.children.iter().for_each(|child| self.count_cases(child, candidates, table));
    }
}
