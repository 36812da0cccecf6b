//! What a run consists of: the search, its nodes at work and their buffers, what is asked of a node.

use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::super::bound_check::BoundCheck;
use super::super::cache::Cache;
use super::super::problem::Problem;
use super::BinarySwitches;
use super::aligned::Aligned;
use super::bit_table::{BitColumns, Layout};
use super::candidates::Candidates;
use super::instances::Instances;
use super::node::Node;
use super::node_budgets::{BudgetCosts, BudgetQuery, NodeBudgets};
use super::root_bounds::{GrandchildBounds, GreatGrandchildBounds, Overlaps, RootBounds};
use super::singles::Singles;
use super::stumps::Stumps;
use super::weighted_counts::WeightedSums;
use crate::budget::Budget;
use crate::simd::Isa;
use crate::threads::{held, lock};

/// What happened during a search.
#[derive(Debug, Default)]
pub(in crate::optimal) struct Counters {
    pub(in crate::optimal) nodes: AtomicU64,
    pub(in crate::optimal) depth_two: AtomicU64,
    /// Branches of depth two that were bounded by rough masses.
    pub(in crate::optimal) rough: AtomicU64,
    pub(in crate::optimal) bounded: AtomicU64,
    pub(in crate::optimal) cache_hits: AtomicU64,
}

/// One run.
pub(in crate::optimal) struct BinaryEngine<'a, M, L> {
    pub(super) problem: &'a Problem<M>,
    pub(super) instances: Instances,
    pub(super) isa: Isa,
    pub(super) budget: &'a Budget,
    pub(super) cache: Box<dyn Cache>,
    pub(super) switches: BinarySwitches,
    pub(super) threads: usize,
    /// Bytes that the bounds of children may take at one node.
    pub(super) grand_bytes: usize,
    /// All instances, as rows of all tests in the order of the search.
    pub(super) rows: Vec<u32>,
    pub(super) layout: Layout,
    pub(super) live: Vec<u32>,
    /// The test of each position.
    pub(super) test: Vec<u32>,
    /// For each test: its place in the order to try tests in, where nothing better is known.
    pub(super) rank: Vec<u32>,
    /// Depth of the whole search: where nodes repeat, the cache looks.
    pub(super) max_depth: u32,
    pub(super) nodes: Pool<NodeBuffers<L>>,
    pub(super) cells: Pool<ChildBuffers<L>>,
    pub(super) stats: Counters,
    /// What bounds are compared with, if they are checked.
    pub(super) check: Option<BoundCheck<'a, M>>,
}

/// Buffers that are used again and again. A thread that steals work while it waits takes others.
#[derive(Debug)]
pub(super) struct Pool<T>(Mutex<Vec<Box<T>>>);

impl<T: Default> Pool<T> {
    pub(super) fn new() -> Self {
        Pool(Mutex::new(Vec::new()))
    }

    pub(super) fn take(&self) -> Box<T> {
        self.lock().pop().unwrap_or_default()
    }

    pub(super) fn give(&self, buffers: Box<T>) {
        self.lock().push(buffers);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Box<T>>> {
        // Buffers hold nothing that outlives a panic.
        lock(&self.0)
    }
}

/// A node with what is known of its roots.
#[derive(Debug, Default)]
pub(super) struct NodeBuffers<L> {
    pub(super) node: Node<L>,
    pub(super) state: NodeState<L>,
    pub(super) picked: Vec<u32>,
    pub(super) stumps: Stumps<L>,
    pub(super) rough_stumps: Stumps<u16>,
    pub(super) candidates: Candidates,
    /// Pairs of a few tests, where nodes do not keep them.
    pub(super) line: Aligned<L>,
    pub(super) roots: Vec<RootCandidate>,
    /// The least costs of trees of depth two with at most 0 to 3 nodes.
    pub(super) costs: [u64; 4],
}

/// An admissible root of a node; by order of trial if sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RootCandidate {
    /// The cost of the best stumps or leaves below it, if that decides the order.
    pub(super) cost: u64,
    /// Its place where nothing better is known.
    pub(super) rank: u32,
    pub(super) position: u32,
}

/// What threads share at a node.
#[derive(Debug, Default)]
pub(super) struct NodeState<L> {
    /// The least costs known, by level: of a tree, or the cutoff.
    pub(super) best: BudgetCosts,
    /// The first place, by [`Observer::place`], of a root known to reach the best at the top level.
    pub(super) first: u32,
    pub(super) bounds: RootBounds<L>,
    /// The same on rough masses, where they are counted first.
    pub(super) rough: RootBounds<u16>,
    /// Whether the bounds are those of this node: they are not if it needed no roots.
    pub(super) has_bounds: bool,
    pub(super) grand: GrandchildBounds<L>,
    pub(super) keeps_grand: bool,
    pub(super) great: GreatGrandchildBounds<L>,
    pub(super) keeps_great: bool,
    pub(super) done: Vec<bool>,
}

/// Buffers to solve both branches of a root at depth two.
#[derive(Debug, Default)]
pub(super) struct ChildBuffers<L> {
    /// Whether the buffers hold the smaller branch of the root at work.
    pub(super) is_open: bool,
    /// Whether it was gathered; else `set` has its instances among those of the node.
    pub(super) is_compact: bool,
    pub(super) set: Vec<u32>,
    pub(super) picked: Vec<u32>,
    pub(super) starts: Vec<usize>,
    pub(super) columns: BitColumns,
    /// Its rows in the order of positions, if instances are weighed.
    pub(super) rows: Vec<u32>,
    pub(super) exact: ChildCounts<L>,
    pub(super) rough: ChildCounts<u16>,
    pub(super) candidates: Candidates,
    /// Sums of the whole node, where those of its larger branch are what is left.
    pub(super) whole_sums: WeightedSums<L>,
    pub(super) overlaps: Overlaps<L>,
    pub(super) inherited: Inherited<L>,
}

impl<L> ChildBuffers<L> {
    /// Nothing is counted of the branches at work.
    pub(super) fn forget_counts(&mut self) {
        self.exact.forget();
        self.rough.forget();
    }
}

/// Counts of both branches of a root.
#[derive(Debug, Default)]
pub(super) struct ChildCounts<L> {
    /// Whether `both` is there.
    pub(super) has_both: bool,
    /// Whether `singles` are there.
    pub(super) has_singles: bool,
    /// Whether all pairs of the smaller branch are counted.
    pub(super) is_counted: bool,
    /// The masses of the instances of the smaller branch, if they are weighed, as trees of depth two are found from them.
    pub(super) masses: Vec<L>,
    pub(super) pairs: Aligned<L>,
    /// Of the true and of the false branch.
    pub(super) singles: [Singles<L>; 2],
    pub(super) stumps: Stumps<L>,
    /// How much passes the root and each other test.
    pub(super) both: Aligned<L>,
}

impl<L> ChildCounts<L> {
    fn forget(&mut self) {
        (self.has_both, self.has_singles, self.is_counted) = (false, false, false);
    }
}

/// What a parent knows of a child before it is solved, by the parent's positions.
#[derive(Debug, Default)]
pub(super) struct Inherited<L> {
    pub(super) bounds: RootBounds<L>,
    /// Bounds on the roots of the child's children; empty if none.
    pub(super) before: Vec<L>,
}

/// A root that gave a better tree, with the levels and costs of its branches: of the true and of the false one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Improvement {
    pub(super) root: usize,
    pub(super) levels: (usize, usize),
    pub(super) costs: (u64, u64),
}

/// Observer of one node: told of better trees and bounds.
pub(super) trait Observer<L>: Sync {
    /// The place of a root among those that are as good: the first is wanted. 0 where none is.
    fn place(&self, root: usize) -> u32;
    /// A better tree at the top level.
    fn improved(&self, node: &Node<L>, branch: NodeBudgets, found: Improvement);
    /// No tree costs less than this at the top level.
    fn bounded(&self, bound: u64);
}

/// A node at work.
pub(super) struct NodeTask<'r, L> {
    pub(super) node: &'r Node<L>,
    pub(super) ask: &'r BudgetQuery,
    pub(super) branch: NodeBudgets,
    pub(super) state: &'r RwLock<NodeState<L>>,
    pub(super) watch: Option<&'r dyn Observer<L>>,
    pub(super) path: &'r [u32],
}

impl<L> NodeTask<'_, L> {
    /// Below which cost a root matters at a level. To be as good as the best is enough for one with an earlier place:
    /// so the canonical tree needs no second search.
    pub(super) fn cutoff(&self, state: &NodeState<L>, level: usize, root: usize) -> u64 {
        let counts_ties = level == self.ask.levels.top();
        let is_earlier = |watch: &dyn Observer<L>| watch.place(root) < state.first;
        state.best[level] + u64::from(counts_ties && self.watch.is_some_and(is_earlier))
    }
}

// A panic while a lock is held ends the whole search: what the lock protects is never read again.
pub(super) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    held(lock.read())
}

pub(super) fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    held(lock.write())
}
