//! How much of what a search can make again it may keep, so that it stays within its memory.
//!
//! A half of the memory is for what a node knows of its instances, a quarter for ranks along lists, an eighth for
//! bounds of entries; the rest is for intervals. Where all threads would not fit there are fewer. Where one would not,
//! stumps are looked for without lists; then columns that were not looked at for a while are forgotten.

use super::instances::{GROUP, RankedInstances};
use super::interval::Interval;
use super::memory::MemoryShares;
use super::node::Opened;
use super::stump::Index;
use crate::bits;
use crate::budget::{Budget, Reserved, Stop};
use crate::simd::LANES;

/// How a search is laid out.
pub(super) struct Plan<'b> {
    /// Whether stumps are looked for by pairs of classes.
    pub(super) by_pairs: bool,
    pub(super) threads: usize,
    pub(super) room: MemoryShares,
    /// What all workers were promised.
    pub(super) charged: Reserved<'b>,
}

/// So many pairs of classes are few, whatever the instances.
const FEW_PAIRS: usize = 200;

/// With more classes, looking at all at once takes no longer than looking at pairs of them.
const MOST_CLASSES: usize = 64;

/// The most entries, each of a column and a pair of classes.
const MOST_ENTRIES: usize = 1 << 20;

/// Bytes that a search needs.
struct Needs {
    /// Whatever is forgotten.
    fixed: u64,
    /// Per column that is kept, at all levels together: its order, and its cuts.
    order: u64,
    opened: u64,
    slots: usize,
}

impl Needs {
    fn of<I: Index>(ground: &RankedInstances<I>, depth: u32, by_pairs: bool, most_slots: u64) -> Self {
        let index = size_of::<I>() as u64;
        let (n, columns, classes) = (ground.n as u64 + 1, ground.columns.len() as u64, ground.n_classes as u64);
        let levels = u64::from(depth.max(1));
        let groups = columns.div_ceil(GROUP as u64).max(1);
        let pairs = if by_pairs { ground.n_pairs() as u64 } else { 1 };
        let entries = columns * pairs;
        // Vectors and epochs of each column and level, bounds and what was found of entries, masses of classes.
        let intervals = (2 * columns + 64) * Interval::BYTES * levels;
        let mut fixed = levels * columns * 320 + entries * 96 + intervals + 16 * 8 * classes * (levels + 2) + (1 << 14);
        let mut slots = groups;
        if by_pairs {
            let with_lists = levels.max(2) - 1;
            let (step, row) = (ground.step_bytes() as u64, 5 * n.max(1) / 4);
            let places = columns * ((classes - 1) * row + pairs * LANES as u64 * 5 / 4);
            let by_class = if classes > 2 { classes * bits::words(ground.n) as u64 * 8 } else { 0 };
            let lists = places * (index + 2 * step) + entries * 96 + columns * by_class;
            slots = (most_slots / (with_lists * entries * 24).max(1)).clamp(1, groups);
            let piece = GROUP as u64 * (n + LANES as u64) * index;
            fixed += with_lists * (lists + slots * entries * 24 + piece) + n * index;
        }
        let every = Opened::<I>::every(ground.n_classes) as u64;
        let cases = if ground.cases.is_empty() { 0 } else { 8 };
        let opened = levels * (n * (index + 4 + 8 + cases) + (n.div_ceil(every) + 1) * classes * 8);
        Needs { fixed, order: (levels - 1) * n * index, opened, slots: slots as usize }
    }

    fn all(&self, columns: usize) -> u64 {
        self.fixed + columns as u64 * (self.order + self.opened)
    }
}

impl<'b> Plan<'b> {
    /// Fails if not even a search that forgets all it can fits.
    pub(super) fn new<I: Index>(
        ground: &RankedInstances<I>,
        depth: u32,
        most_threads: usize,
        budget: &'b Budget,
    ) -> Result<Self, Stop> {
        let (columns, available) = (ground.columns.len(), budget.available());
        let half = available / 2;
        let needs = |by_pairs: bool| Needs::of(ground, depth, by_pairs, available / 8);
        let n_pairs = ground.n_pairs();
        let many = ground.n_classes > MOST_CLASSES
            || n_pairs > FEW_PAIRS && 10 * n_pairs > ground.n
            || n_pairs * columns > MOST_ENTRIES;
        let in_pairs = (!many && n_pairs > 0).then(|| needs(true));
        // Lists have to be there; orders and cuts in part.
        let in_pairs = in_pairs.filter(|needs| needs.all(columns.div_ceil(4)) <= half);
        let by_pairs = in_pairs.is_some();
        let needs = in_pairs.unwrap_or_else(|| needs(false));
        let threads = (half / needs.all(columns).max(1)).clamp(1, most_threads as u64);
        let mut room = MemoryShares { slots: needs.slots, intervals: 2 * columns + 64, ..MemoryShares::default() };
        (room.orders, room.opened) = (columns, columns);
        let mut live = needs.all(columns);
        if live > half {
            // Half of what is left for orders: they are needed more often, and take less.
            let left = half.saturating_sub(needs.fixed);
            let fitting = |bytes: u64| (left / 2 / bytes.max(1)).clamp(2, columns.max(2) as u64) as usize;
            (room.orders, room.opened) = (fitting(needs.order), fitting(needs.opened));
            live = needs.fixed + room.orders as u64 * needs.order + room.opened as u64 * needs.opened;
        }
        let levels = u64::from(depth.max(1));
        let along = if by_pairs { available / 4 / threads / levels } else { 0 };
        // A list that grows is copied: for a moment both are there.
        let bounds = available / 8 / threads / 16 * 2 / 3;
        (room.along, room.bounds) = ((along / size_of::<I>() as u64) as usize, bounds as usize);
        let mut promised = live.saturating_add(along * levels + bounds * 16 * 3 / 2).saturating_mul(threads);
        if promised > available {
            (room.along, room.bounds, promised) = (0, 0, live);
        }
        Ok(Plan { by_pairs, threads: threads as usize, room, charged: budget.reserve(promised)? })
    }
}
