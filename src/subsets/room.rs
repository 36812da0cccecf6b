//! Memory: case sets and splits are kept as long as trees stand on them, and longer while there is room.

use std::rc::Rc;

use super::features::Set;
use super::graph::{CaseNode, Child};
use super::trees::{Forest, Subtree};
use crate::budget::Stop;

impl<S: Set> Forest<'_, S> {
    /// Where case sets take more than they may, drops all that no living tree stands on. Fails if what is left does not
    /// fit into the memory allowed.
    pub(super) fn make_room(&mut self) -> Result<(), Stop> {
        if self.bytes <= self.cache {
            return Ok(());
        }
        let alive = self.root.clone().map_or(0, |root| {
            if self.ground.keeps_recent {
                // Trees and the case sets that keep them refer to each other.
                clear_recent(&root);
            }
            drop_unused(&root)
        });
        self.flushes += 1;
        // What is alive may be more than there is room for: then it is not looked at at every step.
        self.bytes = alive.min(self.cache / 2);
        if alive as u64 > self.ticker.memory_limit() / self.workers as u64 { Err(Stop::Memory) } else { Ok(()) }
    }

    /// Drops a tree and, where they take much room, the splits and case sets that no other tree stands on: what is built
    /// next takes their place while it is near. Complexity: O(nodes that are dropped).
    pub fn let_go(&mut self, tree: Rc<Subtree<S>>) {
        if self.bytes > self.cache / 4 {
            self.drop_tree(tree);
        }
    }

    fn drop_tree(&mut self, tree: Rc<Subtree<S>>) {
        // Unless another tree has it too.
        let Ok(Subtree { set, split, children, .. }) = Rc::try_unwrap(tree) else { return };
        children.into_iter().for_each(|child| self.drop_tree(child));
        // The case set knows of the split, and nobody else.
        let Some(split) = split.filter(|split| Rc::strong_count(split) == 2) else { return };
        set.splits.borrow_mut().retain(|other| !Rc::ptr_eq(other, &split));
        let bytes = split.children.iter().map(|child| match child {
            Child::Set(set) if Rc::strong_count(set) == 1 => set.bytes(),
            _ => 0,
        });
        self.bytes = self.bytes.saturating_sub(split.bytes() + bytes.sum::<usize>());
    }
}

/// Forgets the trees that are kept with a case set and its parts.
fn clear_recent<S>(set: &CaseNode<S>) {
    set.recent.borrow_mut().clear();
    each_part(set, clear_recent);
}

/// Drops the splits, of a case set and its parts, that no tree has. Returns about how many bytes the sets take that are
/// left.
fn drop_unused<S>(set: &CaseNode<S>) -> usize {
    set.splits.borrow_mut().retain(|split| Rc::strong_count(split) > 1);
    let mut alive = set.bytes();
    each_part(set, |part| alive += drop_unused(part));
    alive
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
