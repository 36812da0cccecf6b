//! The fast engine over 0/1 tests: all pair counts of a node in a matrix, counted sixteen columns at a time.
//!
//! `instances` says what is counted and `bit_table` how its bits lie; `node` makes the cases of a node compact.
//! `pair_counts` and, where masses have many digits, `weighted_counts` add up what passes two tests, in the integers of
//! an `accumulator` and the sizes of a `pair_shape`; `counts` keeps what is counted at a node, and `rough` the same of
//! rounded masses. `two_class` and `multi_class` find trees of depth two from that, `candidates` the exact cost of the
//! few that rounded masses leave. `root_bounds` learns from solved roots what others cannot undercut. `search` tries the
//! roots of a node, and `child` solves their branches under all `node_budgets` at once, in the buffers of a `workspace`.
//! `solver` is the engine as the driver sees it, which asks about a `subproblem`; `canonical` finds the roots of the tree
//! that users get, and `check` compares bounds with the reference. `crate::simd` compiles the hot loops for several
//! instruction sets; `bench_hooks` has them measured.

// Lanes of several blocks are worked on side by side: an index says it best, and compiles to vectors.
#![allow(clippy::needless_range_loop)]

mod accumulator;
mod aligned;
pub(super) mod bench_hooks;
mod bit_table;
mod candidates;
mod canonical;
mod check;
mod child;
mod counts;
mod instances;
mod multi_class;
mod node;
mod node_budgets;
mod pair_counts;
mod pair_shape;
mod root_bounds;
mod rough;
mod search;
mod singles;
mod solver;
mod stumps;
mod subproblem;
mod two_class;
mod weighted_counts;
mod workspace;

use std::sync::atomic::Ordering::Relaxed;

use super::bound_check::BoundCheck;
use super::driver::{self, Request, Timing};
use super::params::{BinarySwitches, RootOrder};
use super::problem::{Cases, Mass, Problem};
use super::progress::Anytime;
use crate::bits;
use crate::budget::{Budget, Stop, Ticker};
use crate::simd::{BLOCK, Isa};
pub(super) use accumulator::Accumulator;
use bit_table::Layout;
pub(super) use instances::Instances;
use node::Node;
use solver::BinarySolver;
use subproblem::BinaryNode;
pub(super) use workspace::BinaryEngine;
use workspace::{Counters, Pool};

/// About how many bytes a search needs at once if its masses are kept in lanes of `lane` bytes, and nodes keep the
/// counts of all pairs of tests, or none.
pub(super) fn bytes(instances: &Instances, lane: usize, keeps_pairs: bool, depth: u32, threads: usize) -> u64 {
    let layout = Layout::new(instances.n_tests);
    // Beside masses of many digits, rough ones.
    let rough = if lane > size_of::<u16>() && !instances.masses.is_empty() { size_of::<u16>() } else { 0 };
    let (stride, lane, n) = (layout.stride() as u64, (lane + rough) as u64, instances.rows.len() as u64);
    // Per node: its matrices and counts of single tests; its instances as rows, and as columns of the parent's tests
    // and its own, in words of one group each. Per thread: the nodes of a path, and a cell. Buffers have a quarter to
    // spare.
    let (tests, channels) = (if keeps_pairs { stride } else { BLOCK as u64 }, instances.channels as u64);
    let matrices = stride.saturating_mul(tests).saturating_mul(channels + 1).saturating_mul(lane);
    // Among the counts of single tests, the sums of all instances that are weighed, at the node and per thread.
    let singles = stride * (10 * channels + 16) * lane + 80 * stride;
    let words = n / 32 + instances.groups.len() as u64;
    // Weighed instances in the order of positions too, at the node and per thread, and each with its word; lists of
    // those that are added up, for exact pairs of a branch and of its node and for rough pairs; and masses that are
    // spread out over positions, exact and rough.
    let of_lists = 3 * (4 * n + 8 * words) + (n * stride * lane).min(2 * weighted_counts::SPREAD_OUT as u64);
    let of_positions = n * (8 * stride.div_ceil(32) + 2 * lane) + 8 * words;
    let weighed = if instances.masses.is_empty() { 0 } else { of_positions + of_lists };
    let rows = n * (4 * layout.lanes as u64 + 16 + 2 * lane) + weighed + words * (8 * stride + 64);
    let of_node = matrices.saturating_add(singles + rows);
    let all_rows = n * 4 * layout.lanes as u64;
    (of_node + of_node / 4).saturating_mul(u64::from(depth.max(2) - 1) * threads as u64).saturating_add(all_rows)
}

/// Bytes for what can be forgotten: solved nodes, and bounds of children.
#[derive(Debug, Clone, Copy)]
pub(super) struct CacheRoom {
    pub(super) cache: u64,
    pub(super) bounds: u64,
}

impl<'a, M: Mass, L: Accumulator> BinaryEngine<'a, M, L> {
    pub(super) fn new(
        problem: &'a Problem<M>,
        instances: Instances,
        budget: &'a Budget,
        switches: BinarySwitches,
        threads: usize,
        max_depth: u32,
        room: CacheRoom,
    ) -> Result<Self, Stop> {
        let mut ticker = Ticker::new(budget);
        let n_instances = instances.rows.len();
        let layout = Layout::new(problem.n_tests);
        let rows = instances::packed_rows(problem, &instances, layout, &mut ticker)?;
        let mut test = vec![counts::NONE; layout.stride()];
        (0..problem.n_tests).for_each(|t| test[layout.position(t)] = t as u32);
        let live = (0..layout.stride() as u32).filter(|&position| test[position as usize] != counts::NONE).collect();
        let isa = if switches.baseline { Isa::all()[0] } else { Isa::best() };
        Ok(BinaryEngine {
            problem,
            instances,
            isa,
            budget,
            cache: switches.cache.build(n_instances, room.cache),
            // What the smaller branch leaves is known only if there is a whole.
            switches: BinarySwitches { subtraction: switches.subtraction && switches.keeps_pairs, ..switches },
            threads,
            grand_bytes: room.bounds as usize / (threads * max_depth as usize),
            rows,
            layout,
            live,
            test,
            rank: (0..problem.n_tests as u32).collect(),
            max_depth,
            nodes: Pool::new(),
            cells: Pool::new(),
            stats: Counters::default(),
            check: BoundCheck::new(problem, max_depth),
        })
    }

    /// Finds a tree of least cost, and the one that users get.
    pub(super) fn search(
        &mut self,
        cases: Cases,
        request: Request,
        anytime: &mut Anytime,
        timing: &mut Timing,
    ) -> Result<(), Stop> {
        let leaf = self.problem.leaf(&self.problem.totals(&cases));
        let mut root = BinaryNode::new(cases, self.nodes.take());
        self.build(&mut root)?;
        self.rank_tests(&root.buffers.node);
        // What every tree costs, and was cancelled.
        anytime.without(leaf - root.buffers.node.leaf(self.instances.n_classes));
        driver::search(&mut BinarySolver::new(self), &mut root, request, anytime, timing)
    }

    /// What a run did, by name.
    pub(super) fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let Counters { nodes, depth_two, rough, bounded, cache_hits } = &self.stats;
        let counters = [
            ("deep_nodes", nodes),
            ("depth_two", depth_two),
            ("rough_bounds", rough),
            ("bounded", bounded),
            ("cache_hits", cache_hits),
        ];
        let n_checked = self.check.as_ref().map(|check| ("bounds_checked", check.n_checked()));
        counters.into_iter().map(|(name, count)| (name, count.load(Relaxed))).chain(n_checked)
    }

    /// The order to try tests in, where nothing better is known.
    fn rank_tests(&mut self, node: &Node<L>) {
        let shape = self.shape(node);
        let impurity = |root: u32| {
            let of = |counts: &[L]| {
                let mass = |class: usize| counts[shape.slot(class, root as usize)].get() as f64;
                let (sum, squares) = (0..shape.n_classes).map(mass).fold((0.0, 0.0), |(s, q), m| (s + m, q + m * m));
                if sum > 0.0 { sum - squares / sum } else { 0.0 }
            };
            of(&node.counts.singles.true_side) + of(&node.counts.singles.false_side)
        };
        let mut order: Vec<u32> = node.live.clone();
        match self.switches.order {
            RootOrder::AsGiven => order.sort_by_key(|&root| node.test[root as usize]),
            RootOrder::Random => order.sort_by_key(|&root| bits::mix(u64::from(node.test[root as usize]) + 1)),
            RootOrder::DepthTwo | RootOrder::Gini => {
                let key = |&root: &u32| (impurity(root), node.test[root as usize], root);
                let mut keyed: Vec<(f64, u32, u32)> = order.iter().map(key).collect();
                keyed.sort_by(|a, b| a.partial_cmp(b).expect("impurities are numbers"));
                order = keyed.into_iter().map(|(_, _, root)| root).collect();
            }
        }
        self.rank.fill(u32::MAX);
        order.iter().enumerate().for_each(|(rank, &root)| self.rank[node.test[root as usize] as usize] = rank as u32);
    }
}
