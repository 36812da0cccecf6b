//! Memory: case sets and splits are kept as long as trees use them, and longer while there is room.
//!
//! Whatever grows with cases, classes, levels or features is charged before it is made. The charge goes to the bytes
//! that the worker holds of the budget, which grow in steps. Where the budget has no more, everything is evicted that
//! no living tree uses.

use std::rc::Rc;

use super::CaseGraph;
use super::node::{CaseNode, Subtree};
use crate::budget::{Reserved, Stop};
use crate::subsets::feature_set::FeatureSet;

/// How much a worker may keep, and when it evicts.
pub(super) struct Eviction<'g> {
    /// The bytes of the budget that the worker holds for its graph.
    held: Reserved<'g>,
    /// So many bytes of case sets and splits may be kept.
    cache: usize,
    /// Beyond so many bytes they are evicted.
    flush_at: usize,
    pub flushes: u64,
}

/// Bytes that a worker asks the budget for beyond what it needs.
const STEP: usize = 1 << 18;

impl<'g> Eviction<'g> {
    pub fn new(held: Reserved<'g>, cache: usize) -> Self {
        Eviction { held, cache, flush_at: cache, flushes: 0 }
    }
}

impl<S: FeatureSet> CaseGraph<'_, S> {
    /// Evicts all that no living tree uses, if case sets take more than they may.
    pub(super) fn evict_if_full(&mut self) {
        if self.account.case_sets() > self.eviction.flush_at {
            self.flush();
        }
    }

    /// Charges bytes that are about to be allocated. Fails if they do not fit into the memory allowed.
    #[inline]
    pub(super) fn charge(&mut self, more: usize) -> Result<(), Stop> {
        if (self.account.total() + more) as u64 <= self.eviction.held.bytes() { Ok(()) } else { self.hold(more) }
    }

    /// Holds more of the budget, after an eviction if need be.
    #[cold]
    fn hold(&mut self, more: usize) -> Result<(), Stop> {
        let Eviction { held, cache, .. } = &mut self.eviction;
        let needed = (self.account.total() + more) as u64;
        let step = STEP.min(*cache / 8) as u64;
        if held.resize(needed + step).or_else(|_| held.resize(needed)).is_ok() {
            return Ok(());
        }
        self.flush();
        let held = &mut self.eviction.held;
        let needed = (self.account.total() + more) as u64;
        let available = held.bytes() + self.ticker.budget().available();
        // With less to spare there would be an eviction at every step.
        if needed > available - available / 8 { Err(Stop::Memory) } else { held.resize(needed) }
    }

    fn flush(&mut self) {
        if let Some(root) = self.root.clone() {
            if self.context.keeps_recent {
                // Trees and the case sets that keep them refer to each other.
                clear_recent(&root);
            }
            drop_unused(&root);
        }
        self.pure.retain(|_, leaf| Rc::strong_count(leaf) > 1);
        let Eviction { cache, flush_at, flushes, .. } = &mut self.eviction;
        *flushes += 1;
        // Living trees may need more than the cache: then the next eviction waits until there is something to evict.
        *flush_at = (*cache).max(self.account.case_sets() + *cache / 2);
    }

    /// Drops a tree and, where case sets take much memory, the splits and case sets that no other tree uses: what is
    /// built next takes their place in memory that was touched recently. Complexity: O(nodes dropped).
    pub fn release(&mut self, tree: Rc<Subtree<S>>) {
        if self.account.case_sets() > self.eviction.cache / 4 {
            drop_tree(tree);
        }
    }
}

fn drop_tree<S>(tree: Rc<Subtree<S>>) {
    // Unless another tree shares it.
    let Ok(mut tree) = Rc::try_unwrap(tree) else { return };
    std::mem::take(&mut tree.children).into_iter().for_each(drop_tree);
    // Only the case set has the split too.
    let Some(split) = tree.split.take().filter(|split| Rc::strong_count(split) == 2) else { return };
    tree.node.retain_splits(|other| !Rc::ptr_eq(other, &split));
}

/// Forgets the recent trees of a case set and of those below it.
fn clear_recent<S>(node: &CaseNode<S>) {
    node.recent.clear();
    node.splits.borrow().iter().flat_map(|split| split.nodes()).for_each(|below| clear_recent(below));
}

/// Drops the splits that no tree has, of a case set and of those below it.
fn drop_unused<S>(node: &CaseNode<S>) {
    node.retain_splits(|split| Rc::strong_count(split) > 1);
    node.splits.borrow().iter().flat_map(|split| split.nodes()).for_each(|below| drop_unused(below));
}
