//! What one run of the reference engine has: its problem, cache, buffers and counters.

use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use super::super::cache::Cache;
use super::super::problem::Problem;
use super::depth_two::Roots;
use super::pair_counts::PairCounts;
use crate::budget::Budget;

/// One run of the reference engine.
pub(in crate::optimal) struct ReferenceEngine<'a, M> {
    pub(in crate::optimal) problem: &'a Problem<M>,
    pub(in crate::optimal) budget: &'a Budget,
    pub(in crate::optimal) cache: Box<dyn Cache>,
    /// Whether to prune by the bounds of [`super::similarity`].
    pub(in crate::optimal) bounds: bool,
    /// Whether to solve depth two from pair counts.
    pub(in crate::optimal) depth_two: bool,
    pub(in crate::optimal) threads: usize,
    /// Estimated work (in pair additions) above which a node's tests are shared out among threads.
    pub(in crate::optimal) parallel_work: u64,
    /// Bytes that the pair counts of one node may take.
    pub(in crate::optimal) pair_bytes: usize,
    pub(in crate::optimal) scratch: Mutex<Vec<Workspace<M>>>,
    pub(in crate::optimal) stats: Counters,
}

/// Buffers of one node at work, used again and again.
pub(in crate::optimal) struct Workspace<M> {
    pub(in crate::optimal) counts: PairCounts<M>,
    pub(in crate::optimal) roots: Roots,
}

/// What happened during a search.
#[derive(Default)]
pub(in crate::optimal) struct Counters {
    pub(in crate::optimal) depth_two: AtomicU64,
    pub(in crate::optimal) cache_hits: AtomicU64,
    pub(in crate::optimal) bounded: AtomicU64,
}
