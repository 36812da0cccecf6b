//! The nodes of the case graph: case sets, their splits, and the trees on them. The three refer to each other.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use smallvec::SmallVec;

use super::memory::AccountedBytes;
use super::recent::RecentTrees;
use crate::greedy::engine::{CaseSet, CodedTest, MassByClass, SplitCache};
use crate::subsets::feature_set::FeatureSet;
use crate::subsets::holdout::routing::Routing;

/// Held-out cases, without an allocation for a few.
pub(crate) type HeldOutCases = SmallVec<[u32; 4]>;

/// A case set.
pub(crate) struct CaseNode<S> {
    /// The building cases; empty where the set is a leaf of every tree.
    pub cases: CaseSet,
    /// Their class masses.
    pub masses: MassByClass,
    /// The number of cases: counts times fractions.
    pub count: u64,
    /// The number of rows, whole or in part.
    pub rows: u32,
    pub depth: u32,
    /// Whether masses are those of whole cases.
    pub whole: bool,
    /// The class of a leaf with these cases.
    pub label: u32,
    /// Held-out cases that come here whole.
    pub held_out: HeldOutCases,
    /// The error of a leaf: on the held-out cases, or an estimate from the building cases.
    pub leaf_error: u64,
    /// Class shares, where held-out cases are spread. Behind a thin pointer, since few case sets have them.
    pub shares: OnceCell<Box<Box<[f64]>>>,
    /// The splits of the columns that trees asked for, best first.
    pub ranking: RefCell<SplitCache>,
    /// The splits that trees took, with the case sets that they lead to.
    pub splits: RefCell<SmallVec<[Rc<CaseSplit<S>>; 1]>>,
    /// The trees that were built on these cases last.
    pub recent: RecentTrees<Subtree<S>>,
    /// The bytes of all this but the trees.
    pub bytes: AccountedBytes,
}

/// A split of a case set, and the case sets that it leads to.
pub(crate) struct CaseSplit<S> {
    pub column: u32,
    pub cut: CodedTest,
    /// Whether a building case came whose missing value counts as a value.
    pub own: bool,
    pub branches: SmallVec<[BranchTarget<S>; 2]>,
    /// The mass of each branch, as trees show it.
    pub masses: SmallVec<[f64; 2]>,
    /// Where held-out cases go, if there are any.
    pub routing: Option<Routing>,
    /// Held-out cases that come whole and go down all branches.
    pub spread: Box<[u32]>,
    /// The branches by ascending mass, if there are such cases.
    pub by_mass: Box<[u32]>,
    /// The error on held-out cases that go down a branch that no building case took.
    pub empty_error: u64,
}

/// What a branch of a split leads to.
pub(crate) enum BranchTarget<S> {
    /// A case set that is a leaf of every tree.
    Leaf(Rc<Subtree<S>>),
    /// A case set that columns may split.
    Node(Rc<CaseNode<S>>),
}

/// A tree on a case set. Trees are immutable and share subtrees.
pub(crate) struct Subtree<S> {
    pub node: Rc<CaseNode<S>>,
    /// The split at its root; `None`: a leaf.
    pub split: Option<Rc<CaseSplit<S>>>,
    /// One for each branch that building cases took.
    pub children: SmallVec<[Rc<Subtree<S>>; 2]>,
    /// The features that its splits use.
    pub used: S,
    /// Features whose split would have been, or may have been, better at some node: this is the tree over every set of
    /// features that contains all of `used` and none of these.
    pub ahead: S,
    /// Those of the root.
    pub root_ahead: S,
    /// Its error, in units; of an unfinished tree, that of its finished parts.
    pub error: u64,
    /// Its bytes, without its subtrees.
    bytes: u32,
    /// Whether all of it was built. A tree that errs on too much is given up, and lacks the parts that were to be built
    /// next.
    pub is_finished: bool,
}

/// There may be millions of these. With the two counts of their `Rc` they fill size classes of the allocator, of 384
/// and 96 bytes.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<CaseNode<[u64; 1]>>() <= 368 && size_of::<Subtree<[u64; 1]>>() <= 80);

impl<S> CaseNode<S> {
    /// About how many bytes it takes before it is split, its trees not counted.
    pub fn unsplit_bytes(&self) -> usize {
        let ranking = self.ranking.borrow().bytes();
        let masses = if self.masses.spilled() { 8 * self.masses.len() } else { 0 };
        let held_out = if self.held_out.spilled() { 4 * self.held_out.len() } else { 0 };
        // With the headers of the allocator and the counts of the `Rc`.
        size_of::<Self>() + 64 + self.cases.bytes() + held_out + masses + ranking
    }

    /// Drops the splits that are not to be kept.
    pub fn retain_splits(&self, is_kept: impl Fn(&Rc<CaseSplit<S>>) -> bool) {
        self.splits.borrow_mut().retain(|split| {
            let is_kept = is_kept(split);
            if !is_kept {
                self.bytes.resize(split.bytes(), 0);
            }
            is_kept
        });
    }

    /// The split by a column, if a tree took it before.
    pub fn split_by(&self, column: u32) -> Option<Rc<CaseSplit<S>>> {
        self.splits.borrow().iter().find(|split| split.column == column).cloned()
    }
}

impl<S> CaseSplit<S> {
    /// About how many bytes it takes, the case sets it leads to not counted.
    pub fn bytes(&self) -> usize {
        let codes = match &self.cut {
            CodedTest::Each(codes) | CodedTest::In(codes) => 4 * codes.len(),
            _ => 0,
        };
        size_of::<Self>() + 64 + 24 * self.branches.len() + 4 * (self.spread.len() + self.by_mass.len()) + codes
    }

    /// The error on held-out cases that every tree with this split has: on empty branches, and at leaves of every tree.
    pub fn certain_error(&self) -> u64 {
        let at_leaves = self.branches.iter().map(|branch| match branch {
            BranchTarget::Leaf(leaf) => leaf.error,
            BranchTarget::Node(_) => 0,
        });
        self.empty_error + at_leaves.sum::<u64>()
    }

    /// The case sets that columns may split, of all that the split leads to.
    pub fn nodes(&self) -> impl Iterator<Item = &Rc<CaseNode<S>>> {
        self.branches.iter().filter_map(|branch| match branch {
            BranchTarget::Node(node) => Some(node),
            BranchTarget::Leaf(_) => None,
        })
    }
}

impl<S: FeatureSet> Subtree<S> {
    /// A leaf. `ahead`: the features that may split the case set.
    pub fn leaf(node: &Rc<CaseNode<S>>, error: u64, ahead: S) -> Self {
        let n_features = 64 * ahead.as_ref().len();
        let (split, children) = (None, SmallVec::new());
        let (used, root_ahead) = (S::empty(n_features), ahead.clone());
        let (node, bytes, is_finished) = (node.clone(), 0, true);
        Subtree { node, split, children, used, ahead, root_ahead, error, bytes, is_finished }.accounted(n_features)
    }

    /// A split over the trees on its branches. `root_ahead`: the features whose split of the case set may be better.
    pub fn inner(
        node: &Rc<CaseNode<S>>,
        split: &Rc<CaseSplit<S>>,
        children: SmallVec<[Rc<Subtree<S>>; 2]>,
        root_ahead: S,
        n_features: usize,
    ) -> Self {
        let (mut used, mut ahead) = (S::empty(n_features), root_ahead.clone());
        used.insert(split.column as usize);
        let (mut error, mut is_finished) = (split.empty_error, true);
        for child in &children {
            used.add(&child.used);
            ahead.add(&child.ahead);
            error += child.error;
            is_finished &= child.is_finished;
        }
        let (node, split, bytes) = (node.clone(), Some(split.clone()), 0);
        Subtree { node, split, children, used, ahead, root_ahead, error, bytes, is_finished }.accounted(n_features)
    }

    /// Adds its bytes to the account of its case set.
    fn accounted(mut self, n_features: usize) -> Self {
        let bytes = Self::bytes(n_features, self.children.len());
        self.bytes = bytes.min(u32::MAX as usize) as u32;
        self.node.bytes.add_tree(self.bytes as usize);
        self
    }

    /// About how many bytes a tree takes, its subtrees not counted.
    pub fn bytes(n_features: usize, n_branches: usize) -> usize {
        let sets = if n_features > 256 { 3 * (16 + n_features / 8) } else { 0 };
        size_of::<Self>() + 32 + sets + if n_branches > 2 { 8 * n_branches } else { 0 }
    }

    /// Whether it is finished and uses none of these features: by Lemma 6, it is the tree without them.
    pub fn is_without(&self, removed: &S) -> bool {
        self.is_finished && self.used.is_disjoint(removed)
    }

    /// The error that remains whatever is built in place of the nodes that split by removed features, and of the parts
    /// that are not finished: a lower bound on the error of the tree without these features.
    pub fn kept_error(&self, removed: &S) -> u64 {
        if self.is_without(removed) {
            return self.error;
        }
        match self.split.as_ref().filter(|split| !removed.has(split.column as usize)) {
            Some(split) => split.empty_error + self.children.iter().map(|child| child.kept_error(removed)).sum::<u64>(),
            None => 0,
        }
    }
}

impl<S> Subtree<S> {
    /// The feature that splits the root.
    pub fn feature(&self) -> Option<usize> {
        self.split.as_ref().map(|split| split.column as usize)
    }

    /// The number of nodes and leaves, if it is at most `most`.
    pub fn size(&self, most: usize) -> Option<usize> {
        let (mut size, mut pending) = (0, vec![self]);
        while let Some(tree) = pending.pop() {
            size += 1;
            pending.extend(tree.children.iter().map(|child| &**child));
            if size + pending.len() > most {
                return None;
            }
        }
        Some(size)
    }
}

impl<S> Drop for Subtree<S> {
    fn drop(&mut self) {
        self.node.bytes.remove_tree(self.bytes as usize);
    }
}
