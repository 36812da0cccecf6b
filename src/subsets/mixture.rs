//! Held-out cases that go several ways: they get the class of greatest share among those of the leaves they come to.

use smallvec::SmallVec;

use super::graph::CaseNode;
use super::held_out::{HeldOut, Way};
use super::trees::Subtree;
use crate::greedy::finish::mass_value;
use crate::greedy::table::Table;

/// The class shares of such a case; kept as room for the next.
#[derive(Default)]
pub(super) struct Mixture(Vec<f64>);

impl Mixture {
    /// The class of a case that is spread at the root of a tree; `None` if it comes to a node that is not `let_through`.
    pub fn label_of<S>(
        &mut self,
        (table, held_out): (&Table, &HeldOut),
        tree: &Subtree<S>,
        case: u32,
        let_through: impl Fn(&Subtree<S>) -> bool,
    ) -> Option<u32> {
        self.0.clear();
        self.0.resize(table.n_classes, 0.0);
        let mut pending: SmallVec<[(&Subtree<S>, f64); 16]> = SmallVec::new();
        pending.push((tree, 1.0));
        while let Some((mut tree, share)) = pending.pop() {
            // In the order of the leaves, and with the products of shares, that prediction has.
            loop {
                let Some(split) = &tree.split else {
                    self.add(table, &tree.set, share);
                    break;
                };
                if !let_through(tree) {
                    return None;
                }
                match held_out.way(split, case) {
                    Way::Branch(branch) => tree = &tree.children[branch],
                    Way::Empty => {
                        self.add(table, &tree.set, share);
                        break;
                    }
                    Way::Spread => {
                        let total: f64 = split.masses.iter().sum();
                        let branches = tree.children.iter().zip(&split.masses).rev();
                        pending.extend(branches.map(|(child, mass)| (&**child, share * (mass / total))));
                        break;
                    }
                }
            }
        }
        Some(held_out.label_of(&self.0))
    }

    /// Adds the class shares of a leaf, times a share.
    fn add<S>(&mut self, table: &Table, set: &CaseNode<S>, share: f64) {
        let shares = set.shares.get_or_init(|| {
            let masses: SmallVec<[f64; 2]> =
                set.masses.iter().map(|&mass| mass_value(table, mass, set.whole)).collect();
            let total: f64 = masses.iter().sum();
            masses.iter().map(|mass| mass / total).collect()
        });
        self.0.iter_mut().zip(shares).for_each(|(p, of_leaf)| *p += share * of_leaf);
    }
}
