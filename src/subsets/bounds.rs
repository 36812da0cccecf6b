//! What no tree of a part of the lattice can beat.
//!
//! A part is a call R, S: the trees DT(V) with R in V and V in R + S. At a case set where the best split of R + S is by a
//! feature of R, that is the split of every DT(V) (Assumption 4); where R + S has no split, every DT(V) has a leaf
//! (Assumption 5). So errors in what hangs on such nodes alone are errors of all of them, and no error is negative. A
//! held-out case that is spread over several leaves counts only if all of these are known.

use std::rc::Rc;

use super::features::Set;
use super::graph::{CaseNode, Child};
use super::ground::Judge;
use super::inseparable::Inseparable;
use super::trees::{Forest, Subtree};
use crate::budget::{Stop, Ticker};

/// What a look at a node takes.
const PER_NODE: usize = 20;

/// What is known of open nodes: cases that the features at hand cannot tell apart.
pub(super) struct Inside<'i> {
    pub inseparable: &'i mut Inseparable,
    /// The features at hand.
    pub features: &'i [usize],
    /// More errors need not be counted.
    pub enough: u64,
}

/// The least error on the cases of an open node.
fn at_open_node<S>(set: &CaseNode<S>, inside: &mut Option<Inside<'_>>, ticker: &mut Ticker) -> Result<u64, Stop> {
    match inside {
        Some(inside) if set.judged.len() > 1 => {
            inside.inseparable.errors_at_node(&set.judged, inside.features, inside.enough, ticker)
        }
        _ => Ok(0),
    }
}

impl<S: Set> Forest<'_, S> {
    /// lberr of Algorithm 4: the error of a tree where the nodes that split by features of `open`, which may be taken
    /// away, are to be expanded and err on nothing but cases that cannot be told apart.
    pub fn partial_error(
        &mut self,
        tree: &Subtree<S>,
        open: &S,
        inside: &mut Option<Inside<'_>>,
        used: &mut S,
    ) -> Result<u64, Stop> {
        if tree.used.is_apart_from(open) {
            used.add(&tree.used);
            return Ok(tree.error);
        }
        self.ticker.tick(PER_NODE)?;
        let split = tree.split.as_ref().expect("it uses features");
        if open.has(split.column as usize) {
            return at_open_node(&tree.set, inside, &mut self.ticker);
        }
        used.insert(split.column as usize);
        let is_fixed = |node: &Subtree<S>| node.column().is_none_or(|column| !open.has(column));
        let mut error = split.empty_error + self.spread_error(tree, is_fixed)?;
        for child in &tree.children {
            error += self.partial_error(child, open, inside, used)?;
        }
        Ok(error)
    }

    /// The errors on cases whose class is decided where these features are in every subset, the others being left open at
    /// the node that their way is known to.
    pub fn decided_error(
        &mut self,
        tree: &Subtree<S>,
        required: &S,
        inseparable: &mut Inseparable,
    ) -> Result<u64, Stop> {
        let Some(split) = &tree.split else { return Ok(tree.error) };
        self.ticker.tick(PER_NODE)?;
        if !required.has(split.column as usize) {
            inseparable.leave_open(&tree.set.judged);
            return Ok(0);
        }
        let mut error = split.empty_error;
        if let Judge::HeldOut(held_out) = self.judge() {
            let is_fixed = |node: &Subtree<S>| node.column().is_none_or(|column| required.has(column));
            let mut open = Vec::new();
            for &case in &split.spread {
                match self.label_of(&held_out, tree, case, is_fixed)? {
                    Some(label) => error += held_out.error(case, label),
                    None => open.push(case),
                }
            }
            inseparable.leave_open(&open);
        }
        for child in &tree.children {
            error += self.decided_error(child, required, inseparable)?;
        }
        Ok(error)
    }

    /// The errors on cases that are spread at the root of a tree, those that come to a node that is not fixed left out.
    fn spread_error(&mut self, tree: &Subtree<S>, is_fixed: impl Fn(&Subtree<S>) -> bool) -> Result<u64, Stop> {
        let split = tree.split.as_ref().expect("it has a split");
        let Judge::HeldOut(held_out) = self.judge() else { return Ok(0) };
        let mut error = 0;
        for &case in &split.spread {
            if let Some(label) = self.label_of(&held_out, tree, case, &is_fixed)? {
                error += held_out.error(case, label);
            }
        }
        Ok(error)
    }

    /// A bound where every case set that is not decided chooses the best of its own subsets, in agreement with what was
    /// chosen above it: at most `depth` such choices on a path, and nothing below. `tree` is over R + S, or over these and
    /// the feature that is `gone`. A bound of less than `needed` may be less than it could be: no more is looked at once
    /// that much is out of reach.
    pub fn relaxed(
        &mut self,
        tree: &Subtree<S>,
        (required, optional, gone): (&S, &S, Option<usize>),
        depth: u32,
        needed: u64,
        inside: &mut Option<Inside<'_>>,
        used: &mut S,
    ) -> Result<u64, Stop> {
        let mut open = Vec::new();
        let mut error = self.decided(tree, (required, &required.union(optional)), used, &mut open)?;
        // Without a feature that it uses, the error of a subtree may grow; else it is the most that the bound can be.
        let may_grow = |tree: &Subtree<S>| gone.is_some_and(|gone| tree.used.has(gone));
        open.sort_by_key(|tree| !may_grow(tree));
        let mut most: u64 = open.iter().filter(|tree| !may_grow(tree)).map(|tree| tree.error).sum();
        for (place, tree) in open.iter().enumerate() {
            if !may_grow(tree) {
                most -= tree.error;
            }
            let is_last = open.get(place + 1).is_none_or(|next| !may_grow(next));
            let floor = if is_last { needed.saturating_sub(error + most) } else { 0 };
            let least = self.least_error(&tree.set, required.clone(), optional.clone(), depth, floor, inside)?;
            if least < floor {
                return Ok(error);
            }
            error += least;
        }
        Ok(error)
    }

    /// The errors that are decided where these features are in every subset, and the subtrees that are not.
    fn decided<'t>(
        &mut self,
        tree: &'t Subtree<S>,
        (required, all): (&S, &S),
        used: &mut S,
        open: &mut Vec<&'t Subtree<S>>,
    ) -> Result<u64, Stop> {
        if tree.used.is_in(required) && tree.ahead.is_apart_from(all) {
            used.add(&tree.used);
            return Ok(tree.error);
        }
        self.ticker.tick(PER_NODE)?;
        match tree.split.as_ref().filter(|split| required.has(split.column as usize)) {
            Some(split) => {
                used.insert(split.column as usize);
                let is_fixed = |node: &Subtree<S>| node.column().is_none_or(|column| required.has(column));
                let mut error = split.empty_error + self.spread_error(tree, is_fixed)?;
                for child in &tree.children {
                    error += self.decided(child, (required, all), used, open)?;
                }
                Ok(error)
            }
            None => {
                open.push(tree);
                Ok(0)
            }
        }
    }

    /// The least error on a case set of trees that choose among the optional features, at most `depth` of them on a path;
    /// or any number below `floor`, if it is below that.
    fn least_error(
        &mut self,
        set: &Rc<CaseNode<S>>,
        required: S,
        mut optional: S,
        depth: u32,
        floor: u64,
        inside: &mut Option<Inside<'_>>,
    ) -> Result<u64, Stop> {
        if matches!(self.judge(), Judge::HeldOut(_)) && set.judged.is_empty() {
            return Ok(0);
        }
        let mut least = u64::MAX;
        loop {
            let Some(place) = self.best(set, &required.union(&optional))? else {
                return Ok(least.min(set.leaf_error));
            };
            let column = set.ranking.borrow().split(place).0 as usize;
            let is_required = required.has(column);
            if !is_required && depth == 0 {
                return Ok(least.min(at_open_node(set, inside, &mut self.ticker)?));
            }
            // Either the feature is in the subset, and splits here,
            let split = self.split(set, place)?;
            let (mut with, mut without) = (required.clone(), optional.clone());
            with.insert(column);
            without.remove(column);
            let mut error = split.empty_error;
            for child in &split.children {
                if let Child::Leaf(leaf) = child {
                    error += leaf.error;
                }
            }
            for child in &split.children {
                if error >= least {
                    break;
                }
                if let Child::Set(child) = child {
                    let depth = if is_required { depth } else { depth - 1 };
                    error += self.least_error(child, with.clone(), without.clone(), depth, 0, inside)?;
                }
            }
            least = least.min(error);
            if is_required || least == 0 || least < floor {
                return Ok(least);
            }
            // or it is not, and the next one does.
            optional = without;
        }
    }
}
