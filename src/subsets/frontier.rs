//! The order in which the features of a tree are removed: rk_frontier (Definitions 8 and 9 of the paper), and others to
//! compare.

use std::rc::Rc;

use smallvec::SmallVec;

use super::case_graph::Subtree;
use super::feature_set::FeatureSet;
use super::params::Order;
use crate::budget::{Stop, Ticker};
use crate::greedy::engine::GrowthData;

/// Orders the features of trees. Its buffers are kept from tree to tree.
pub(super) struct FeatureRanker<S> {
    order: Order,
    /// Per feature: its position among the candidates.
    slots: Vec<u32>,
    /// Per candidate: its last frontier node, as a position in the list of all.
    last: Vec<u32>,
    /// Per candidate: the features in the subtrees of its frontier nodes.
    below: Vec<S>,
    /// Per feature: the cases at the nodes that it splits.
    cases: Vec<u128>,
}

/// The end of a list.
const MISSING: u32 = u32::MAX;

/// A frontier node, and the previous one of the same feature.
struct FrontierNode<'t, S> {
    tree: &'t Subtree<S>,
    previous: u32,
}

/// The frontier nodes found so far.
type FrontierNodes<'t, S> = SmallVec<[FrontierNode<'t, S>; 32]>;

impl<S: FeatureSet> FeatureRanker<S> {
    pub fn new(order: Order, n_features: usize) -> Self {
        FeatureRanker {
            order,
            slots: vec![0; n_features],
            last: Vec::new(),
            below: Vec::new(),
            cases: vec![0; if order == Order::FrontierCases { n_features } else { 0 }],
        }
    }

    /// The order in which the candidates are removed. The tree uses all of them.
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
                self.reverse_rk_frontier(tree, candidates, &mut order, ticker)?;
                if self.order == Order::Frontier {
                    order.reverse();
                }
            }
            Order::FrontierCases => {
                self.cases.fill(0);
                self.count_cases(tree, candidates, table);
                order.extend(candidates.iter().map(|feature| feature as u32));
                order.sort_by_key(|&feature| self.cases[feature as usize]);
            }
            Order::Fixed => {
                order.extend(candidates.iter().map(|feature| feature as u32));
                order.reverse();
            }
        }
        Ok(order)
    }

    /// rk_frontier of Definition 9, from the last position to the first: at each, the feature a of the greatest
    /// frontier(T, R', a), where R' has all features but the candidates without a position so far. Ties: the first
    /// feature.
    fn reverse_rk_frontier(
        &mut self,
        tree: &Subtree<S>,
        candidates: &S,
        order: &mut SmallVec<[u32; 16]>,
        ticker: &mut Ticker,
    ) -> Result<(), Stop> {
        self.last.clear();
        for (slot, feature) in candidates.iter().enumerate() {
            self.slots[feature] = slot as u32;
            self.last.push(MISSING);
            match self.below.get_mut(slot) {
                Some(below) => below.as_mut().fill(0),
                None => self.below.push(S::empty(self.slots.len())),
            }
        }
        let mut rest = candidates.clone();
        let mut nodes: FrontierNodes<'_, S> = SmallVec::new();
        self.add_frontier(tree, &rest, &mut nodes);
        loop {
            // Definition 8: the number of features outside R' in the subtrees of the a-frontier nodes.
            let (mut best, mut most) = (usize::MAX, 0);
            for feature in rest.iter() {
                let frontier = self.below[self.slots[feature] as usize].count_and(&rest);
                if best == usize::MAX || frontier > most {
                    (best, most) = (feature, frontier);
                }
            }
            if best == usize::MAX {
                return Ok(());
            }
            // The remaining candidates are compared at every step.
            ticker.tick(candidates.as_ref().len() * (self.last.len() - order.len()))?;
            rest.remove(best);
            order.push(best as u32);
            let mut place = self.last[self.slots[best] as usize];
            while place != MISSING {
                let FrontierNode { tree, previous } = nodes[place as usize];
                tree.children.iter().for_each(|child| self.add_frontier(child, &rest, &mut nodes));
                place = previous;
            }
        }
    }

    /// Adds the frontier nodes of a subtree: those that are the first on their path to split by a feature of the rest.
    fn add_frontier<'t>(&mut self, tree: &'t Subtree<S>, rest: &S, nodes: &mut FrontierNodes<'t, S>) {
        if tree.used.is_disjoint(rest) {
            return;
        }
        let feature = tree.feature().expect("a tree that uses a feature splits at its root");
        if rest.has(feature) {
            let slot = self.slots[feature] as usize;
            nodes.push(FrontierNode { tree, previous: self.last[slot] });
            self.last[slot] = nodes.len() as u32 - 1;
            self.below[slot].add(&tree.used);
        } else {
            tree.children.iter().for_each(|child| self.add_frontier(child, rest, nodes));
        }
    }

    /// Adds the cases at the nodes of a tree to the features that split them.
    fn count_cases(&mut self, tree: &Subtree<S>, candidates: &S, table: &GrowthData) {
        if tree.used.is_disjoint(candidates) {
            return;
        }
        // In units of fractions of cases.
        let digits = if tree.node.whole { table.digits } else { 0 };
        self.cases[tree.feature().expect("a tree that uses a feature splits at its root")] +=
            u128::from(tree.node.count) << digits;
        tree.children.iter().for_each(|child| self.count_cases(child, candidates, table));
    }
}
