//! The class of a held-out case that is spread over several branches: the class of its greatest share, summed over the
//! leaves that it comes to.

use smallvec::SmallVec;

use super::node::{CaseNode, Subtree};
use crate::greedy::engine::{GrowthData, mass_value};
use crate::subsets::holdout::HoldoutSet;
use crate::subsets::holdout::routing::Route;

/// Sums of shares that differ by more than this are not equal, in whatever order they are added up.
const MARGIN: f64 = 1e-9;

/// The class shares of up to so many classes are kept with a case set, once they are known.
const KEPT_CLASSES: usize = 32;

/// Adds up the class shares of one case; its buffer is kept for the next.
#[derive(Default)]
pub(crate) struct FractionalVote {
    shares: Vec<f64>,
    work: usize,
}

impl FractionalVote {
    /// The class of a case that is spread at the root of a tree; `None` if it may depend on a node that the case comes
    /// to and that is not `let_through`.
    pub fn label_of<S>(
        &mut self,
        table: &GrowthData,
        holdout: &HoldoutSet,
        tree: &Subtree<S>,
        case: u32,
        let_through: impl Fn(&Subtree<S>) -> bool,
    ) -> Option<u32> {
        // A few heavy branches mostly decide between two classes. With more classes, finding out takes longer than it
        // saves.
        let by_heaviest = table.n_classes == 2 && !holdout.has_uneven_costs();
        self.work = 0;
        let label = if by_heaviest { self.walk::<S, true>(table, holdout, tree, case, &let_through) } else { None };
        label.or_else(|| self.walk::<S, false>(table, holdout, tree, case, &let_through))
    }

    /// The work that the last case took.
    pub fn work(&self) -> usize {
        self.work
    }

    /// Adds up the shares in the order of the leaves and with the products of shares that prediction has. If
    /// `HEAVIEST`, the heaviest branches come first, until the rest cannot change which of two classes is ahead (`None`
    /// if it always can).
    fn walk<S, const HEAVIEST: bool>(
        &mut self,
        table: &GrowthData,
        holdout: &HoldoutSet,
        tree: &Subtree<S>,
        case: u32,
        let_through: &impl Fn(&Subtree<S>) -> bool,
    ) -> Option<u32> {
        self.shares.clear();
        self.shares.resize(table.n_classes, 0.0);
        let mut rest = 1.0;
        let mut pending: SmallVec<[(&Subtree<S>, f64); 16]> = SmallVec::new();
        pending.push((tree, 1.0));
        while let Some((mut tree, share)) = pending.pop() {
            let leaf = loop {
                let Some(split) = &tree.split else { break Some(&tree.node) };
                if !let_through(tree) {
                    if HEAVIEST {
                        break None;
                    }
                    return None;
                }
                let routing = split.routing.as_ref().expect("made with the split");
                match holdout.router(routing, &split.cut).route(case) {
                    Route::Branch(branch) => tree = &tree.children[branch as usize],
                    Route::Empty => break Some(&tree.node),
                    Route::Spread => {
                        let total: f64 = split.masses.iter().sum();
                        let branch = |branch: usize| (&*tree.children[branch], share * (split.masses[branch] / total));
                        // What is to come first is pushed last.
                        if HEAVIEST && !split.by_mass.is_empty() {
                            pending.extend(split.by_mass.iter().map(|&of| branch(of as usize)));
                        } else {
                            pending.extend((0..tree.children.len()).rev().map(branch));
                        }
                        break None;
                    }
                }
            };
            let Some(leaf) = leaf else { continue };
            self.work += 20 + 2 * table.n_classes;
            self.add(table, leaf, share);
            rest -= share;
            if HEAVIEST && let Some(label) = self.leader(rest + MARGIN) {
                return Some(label);
            }
        }
        if HEAVIEST { None } else { Some(holdout.label_of_shares(&self.shares)) }
    }

    /// The one of two classes that is ahead of the other by more than `by`.
    fn leader(&self, by: f64) -> Option<u32> {
        let ahead = self.shares[0] - self.shares[1];
        (ahead.abs() > by).then_some(u32::from(ahead < 0.0))
    }

    /// Adds the class shares of a leaf, times the share of the case that comes there.
    fn add<S>(&mut self, table: &GrowthData, leaf: &CaseNode<S>, share: f64) {
        let masses = || leaf.masses.iter().map(|&mass| mass_value(table, mass, leaf.whole));
        let total = || masses().sum::<f64>();
        if table.n_classes > KEPT_CLASSES {
            let total = total();
            self.shares.iter_mut().zip(masses()).for_each(|(sum, mass)| *sum += share * (mass / total));
            return;
        }
        let shares = leaf.shares.get_or_init(|| {
            let total = total();
            Box::new(masses().map(|mass| mass / total).collect())
        });
        self.shares.iter_mut().zip(shares.iter()).for_each(|(sum, of_leaf)| *sum += share * of_leaf);
    }
}
