//! The case graph: the case sets that trees over subsets of the features meet, and what is known of them.
//!
//! A case set keeps the ranking of its columns, which grows as trees ask for more of them, and the case sets that each
//! column it was split by leads to. A tree over other features takes the best of its own in the ranking, and follows
//! pointers where an earlier tree went the same way: nothing is evaluated twice. Case sets are reached from the root by
//! one path each; equal ones on different paths are not looked for, since that costs what it saves.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use smallvec::SmallVec;

use super::held_out::Ways;
use super::trees::Subtree;
use super::weight::Weight;
use crate::greedy::engine::{CaseSet, CodedTest, MassByClass, SplitCache};

/// Held-out cases, without an allocation for a few.
pub(super) type Judged = SmallVec<[u32; 4]>;

/// A case set.
pub(super) struct CaseNode<S> {
    /// The building cases; none where nothing more is asked of them.
    pub cases: CaseSet,
    /// Their class masses.
    pub masses: MassByClass,
    /// How many they are: counts times fractions.
    pub count: u64,
    /// How many rows they are, whole or in part.
    pub rows: u32,
    pub depth: u32,
    /// Whether masses are those of whole cases.
    pub whole: bool,
    /// The class of a leaf with these cases.
    pub label: u32,
    /// Held-out cases that come here whole.
    pub judged: Judged,
    /// The error of a leaf: theirs, or an estimate from the building cases.
    pub leaf_error: u64,
    /// Class shares, where held-out cases are spread. Behind a thin pointer, since few case sets have them.
    pub shares: OnceCell<Box<Box<[f64]>>>,
    pub ranking: RefCell<SplitCache>,
    /// Where the splits that trees asked for lead.
    pub splits: RefCell<SmallVec<[Rc<Split<S>>; 1]>>,
    /// Trees that were built on these cases of late.
    pub recent: Recent<S>,
    /// Bytes of all this but the trees.
    pub weight: Weight,
}

/// There may be millions: with the counts of their `Rc` they fill a size class of the allocator, of 384 bytes.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<CaseNode<[u64; 1]>>() <= 368);

/// A split of a case set, and the case sets that it leads to.
pub(super) struct Split<S> {
    pub column: u32,
    pub cut: CodedTest,
    pub is_ordered: bool,
    /// Whether building cases came whose missing value counts as one.
    pub own: bool,
    pub children: SmallVec<[Child<S>; 2]>,
    /// The mass of each branch, as trees show it.
    pub masses: SmallVec<[f64; 2]>,
    /// What becomes of held-out cases, if there are any.
    pub ways: Option<Ways>,
    /// Held-out cases that came whole and go several ways.
    pub spread: Box<[u32]>,
    /// The branches, the lightest first, if there are such cases.
    pub by_mass: Box<[u32]>,
    /// The error of those that go where no building case went.
    pub empty_error: u64,
}

/// What a branch leads to.
pub(super) enum Child<S> {
    /// A case set that no column splits.
    Leaf(Rc<Subtree<S>>),
    Set(Rc<CaseNode<S>>),
}

/// The last few trees built on a case set, each with the features it depends on. Most searches keep none.
pub(super) struct Recent<S>(Cell<Option<Box<Trees<S>>>>);

struct Trees<S> {
    trees: SmallVec<[Rc<Subtree<S>>; RECENT]>,
    next: usize,
}

/// How many are kept: more do not pay.
const RECENT: usize = 4;

impl<S> Default for Recent<S> {
    fn default() -> Self {
        Recent(Cell::new(None))
    }
}

impl<S> Recent<S> {
    /// The first tree that fits.
    pub fn find(&self, fits: impl Fn(&Subtree<S>) -> bool) -> Option<Rc<Subtree<S>>> {
        let kept = self.0.take()?;
        let found = kept.trees.iter().find(|tree| fits(tree)).cloned();
        self.0.set(Some(kept));
        found
    }

    /// Keeps a tree, if need be in place of the oldest.
    pub fn keep(&self, tree: Rc<Subtree<S>>) {
        let mut kept = self.0.take().unwrap_or_else(|| Box::new(Trees { trees: SmallVec::new(), next: 0 }));
        if kept.trees.len() < RECENT {
            kept.trees.push(tree);
        } else {
            kept.trees[kept.next] = tree;
            kept.next = (kept.next + 1) % RECENT;
        }
        self.0.set(Some(kept));
    }

    pub fn clear(&self) {
        self.0.set(None);
    }
}

impl<S> CaseNode<S> {
    /// About how many bytes it takes before it is split, its trees not counted.
    pub fn bytes(&self) -> usize {
        let ranking = self.ranking.borrow().bytes();
        // Counts of the allocator and of references included.
        let masses = if self.masses.spilled() { 8 * self.masses.len() } else { 0 };
        let judged = if self.judged.spilled() { 4 * self.judged.len() } else { 0 };
        size_of::<Self>() + 64 + self.cases.bytes() + judged + masses + ranking
    }

    /// Drops splits.
    pub fn keep_splits(&self, is_kept: impl Fn(&Rc<Split<S>>) -> bool) {
        self.splits.borrow_mut().retain(|split| {
            let is_kept = is_kept(split);
            if !is_kept {
                self.weight.resize(split.bytes(), 0);
            }
            is_kept
        });
    }

    /// The split by a column, if a tree asked for it.
    pub fn split_by(&self, column: u32) -> Option<Rc<Split<S>>> {
        self.splits.borrow().iter().find(|split| split.column == column).cloned()
    }
}

impl<S> Split<S> {
    /// About how many bytes it takes, the case sets it leads to not counted.
    pub fn bytes(&self) -> usize {
        let codes = match &self.cut {
            CodedTest::Each(codes) | CodedTest::In(codes) => 4 * codes.len(),
            _ => 0,
        };
        size_of::<Self>() + 64 + 24 * self.children.len() + 4 * (self.spread.len() + self.by_mass.len()) + codes
    }
}
