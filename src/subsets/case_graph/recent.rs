//! A small cache of the trees that were built last.

use std::cell::Cell;
use std::rc::Rc;

use smallvec::SmallVec;

/// The last few trees built on a case set. Most searches keep none, so that it is a thin pointer.
pub(crate) struct RecentTrees<T>(Cell<Option<Box<Ring<T>>>>);

/// A ring buffer.
struct Ring<T> {
    trees: SmallVec<[Rc<T>; CAPACITY]>,
    next: usize,
}

/// How many trees are kept: more do not pay.
const CAPACITY: usize = 4;

impl<T> Default for RecentTrees<T> {
    fn default() -> Self {
        RecentTrees(Cell::new(None))
    }
}

impl<T> RecentTrees<T> {
    /// The first tree that fits.
    pub fn find(&self, fits: impl Fn(&T) -> bool) -> Option<Rc<T>> {
        let ring = self.0.take()?;
        let found = ring.trees.iter().find(|tree| fits(tree)).cloned();
        self.0.set(Some(ring));
        found
    }

    /// Keeps a tree, in place of the oldest if there are as many as can be.
    pub fn keep(&self, tree: Rc<T>) {
        let mut ring = self.0.take().unwrap_or_else(|| Box::new(Ring { trees: SmallVec::new(), next: 0 }));
        if ring.trees.len() < CAPACITY {
            ring.trees.push(tree);
        } else {
            ring.trees[ring.next] = tree;
            ring.next = (ring.next + 1) % CAPACITY;
        }
        self.0.set(Some(ring));
    }

    pub fn clear(&self) {
        self.0.set(None);
    }
}
