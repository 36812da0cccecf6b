//! Held-out cases that go several ways: they get the class of greatest share among those of the leaves they come to.

use smallvec::SmallVec;

use super::graph::CaseNode;
use super::held_out::{HeldOut, Way};
use super::trees::Subtree;
use crate::greedy::engine::{GrowthData, mass_value};

/// Sums of shares that differ by more are not equal, in whatever order they are added up.
const MARGIN: f64 = 1e-9;

/// The class shares of up to so many classes are kept with a set, once they are known.
const KEPT_CLASSES: usize = 32;

/// The class shares of such a case; kept as room for the next.
#[derive(Default)]
pub(super) struct Mixture {
    shares: Vec<f64>,
    work: usize,
}

impl Mixture {
    /// The class of a case that is spread at the root of a tree; `None` if that may depend on a node it comes to that is
    /// not `let_through`.
    pub fn label_of<S>(
        &mut self,
        on: (&GrowthData, &HeldOut),
        tree: &Subtree<S>,
        case: u32,
        let_through: impl Fn(&Subtree<S>) -> bool,
    ) -> Option<u32> {
        // A few heavy branches decide most often between two classes. Among more it takes longer to find that out.
        let by_heaviest = on.0.n_classes == 2 && !on.1.has_uneven_costs();
        self.work = 0;
        let label = if by_heaviest { self.walk::<S, true>(on, tree, case, &let_through) } else { None };
        label.or_else(|| self.walk::<S, false>(on, tree, case, &let_through))
    }

    /// What the last case took.
    pub fn work(&self) -> usize {
        self.work
    }

    /// Adds up shares in the order of the leaves, and with the products of shares, that prediction has; or, if
    /// `HEAVIEST`, those of the heaviest branches first, as far as what is left cannot change which of two classes it is (`None`
    /// if it always can).
    fn walk<S, const HEAVIEST: bool>(
        &mut self,
        (table, held_out): (&GrowthData, &HeldOut),
        tree: &Subtree<S>,
        case: u32,
        let_through: &impl Fn(&Subtree<S>) -> bool,
    ) -> Option<u32> {
        self.shares.clear();
        self.shares.resize(table.n_classes, 0.0);
        let mut left = 1.0;
        let mut pending: SmallVec<[(&Subtree<S>, f64); 16]> = SmallVec::new();
        pending.push((tree, 1.0));
        while let Some((mut tree, share)) = pending.pop() {
            let leaf = loop {
                let Some(split) = &tree.split else { break Some(&tree.set) };
                if !let_through(tree) {
                    if HEAVIEST {
                        break None;
                    }
                    return None;
                }
                match held_out.way(split, case) {
                    Way::Branch(branch) => tree = &tree.children[branch],
                    Way::Empty => break Some(&tree.set),
                    Way::Spread => {
                        let total: f64 = split.masses.iter().sum();
                        let branch = |branch: usize| (&*tree.children[branch], share * (split.masses[branch] / total));
                        // What is wanted first is pushed last.
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
            left -= share;
            if HEAVIEST && let Some(label) = self.leader(left + MARGIN) {
                return Some(label);
            }
        }
        if HEAVIEST { None } else { Some(held_out.label_of(&self.shares)) }
    }

    /// The one of two classes that is ahead of the other by more than so much.
    fn leader(&self, by: f64) -> Option<u32> {
        let ahead = self.shares[0] - self.shares[1];
        (ahead.abs() > by).then_some(u32::from(ahead < 0.0))
    }

    /// Adds the class shares of a leaf, times a share.
    fn add<S>(&mut self, table: &GrowthData, set: &CaseNode<S>, share: f64) {
        let masses = || set.masses.iter().map(|&mass| mass_value(table, mass, set.whole));
        let total = || masses().sum::<f64>();
        if table.n_classes > KEPT_CLASSES {
            let total = total();
            self.shares.iter_mut().zip(masses()).for_each(|(p, mass)| *p += share * (mass / total));
            return;
        }
        let shares = set.shares.get_or_init(|| {
            let total = total();
            Box::new(masses().map(|mass| mass / total).collect())
        });
        self.shares.iter_mut().zip(shares.iter()).for_each(|(p, of_leaf)| *p += share * of_leaf);
    }
}
