//! Memory: case sets and splits are kept as long as trees stand on them, and longer while there is room.
//!
//! Before anything is made that grows with cases, classes, levels or features it is charged: to what the worker holds of the
//! budget, which grows in steps, or else to what is free once all is dropped that no living tree stands on.

use std::rc::Rc;

use super::features::Set;
use super::graph::{CaseNode, Child};
use super::trees::{Forest, Subtree};
use crate::budget::Stop;

/// Bytes that a worker asks the budget for beyond what it needs.
const STEP: usize = 1 << 18;

impl<S: Set> Forest<'_, S> {
    /// Where case sets take more than they may, drops all that no living tree stands on.
    pub(super) fn make_room(&mut self) {
        if self.account.sets() > self.flush_at {
            self.flush();
        }
    }

    /// Charges bytes that are about to be allocated. Fails if they do not fit into the memory allowed.
    #[inline]
    pub(super) fn charge(&mut self, more: usize) -> Result<(), Stop> {
        if (self.account.all() + more) as u64 <= self.held.bytes() { Ok(()) } else { self.charge_anew(more) }
    }

    #[cold]
    fn charge_anew(&mut self, more: usize) -> Result<(), Stop> {
        let needed = (self.account.all() + more) as u64;
        let step = STEP.min(self.cache / 8) as u64;
        if self.held.resize(needed + step).or_else(|_| self.held.resize(needed)).is_ok() {
            return Ok(());
        }
        self.flush();
        let needed = (self.account.all() + more) as u64;
        let room = self.held.bytes() + self.ticker.budget().available();
        // With less than that to spare it would have to be done at every step.
        if needed > room - room / 8 { Err(Stop::Memory) } else { self.held.resize(needed) }
    }

    fn flush(&mut self) {
        if let Some(root) = self.root.clone() {
            if self.ground.keeps_recent {
                // Trees and the case sets that keep them refer to each other.
                clear_recent(&root);
            }
            drop_unused(&root);
        }
        self.pure.retain(|_, leaf| Rc::strong_count(leaf) > 1);
        self.flushes += 1;
        // What is alive may be more than there is room for: then it is not looked at at every step.
        self.flush_at = self.cache.max(self.account.sets() + self.cache / 2);
    }

    /// Drops a tree and, where they take much room, the splits and case sets that no other tree stands on: what is built
    /// next takes their place while it is near. Complexity: O(nodes that are dropped).
    pub fn let_go(&mut self, tree: Rc<Subtree<S>>) {
        if self.account.sets() > self.cache / 4 {
            drop_tree(tree);
        }
    }
}

fn drop_tree<S>(tree: Rc<Subtree<S>>) {
    // Unless another tree has it too.
    let Ok(mut tree) = Rc::try_unwrap(tree) else { return };
    std::mem::take(&mut tree.children).into_iter().for_each(drop_tree);
    // The case set knows of the split, and nobody else.
    let Some(split) = tree.split.take().filter(|split| Rc::strong_count(split) == 2) else { return };
    tree.set.keep_splits(|other| !Rc::ptr_eq(other, &split));
}

/// Forgets the trees that are kept with a case set and its parts.
fn clear_recent<S>(set: &CaseNode<S>) {
    set.recent.clear();
    each_part(set, clear_recent);
}

/// Drops the splits, of a case set and its parts, that no tree has.
fn drop_unused<S>(set: &CaseNode<S>) {
    set.keep_splits(|split| Rc::strong_count(split) > 1);
    each_part(set, drop_unused);
}

/// Visits the case sets that splits of a set lead to.
fn each_part<S>(set: &CaseNode<S>, mut visit: impl FnMut(&CaseNode<S>)) {
    for split in set.splits.borrow().iter() {
        for child in &split.children {
            if let Child::Set(part) = child {
                visit(part);
            }
        }
    }
}
