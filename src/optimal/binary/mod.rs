//! The fast engine over 0/1 tests: all pair counts of a node in a matrix, counted sixteen columns at a time.
//!
//! `instances` says what is counted and `bit_table` how its bits lie; `node` makes the cases of a node compact.
//! `pair_counts` and, where masses have many digits, `weighted_counts` add up what passes two tests, in the integers of an
//! `accumulator` and the sizes of a `pair_shape`. `two_class` and `multi_class` find trees of depth two from that.
//! `root_bounds` learns from solved roots what others cannot undercut. `search` tries the roots of a node, `child` solves
//! their branches under all `node_budgets` at once, in the buffers of a `workspace`, and `canonical` finds the tree that users
//! get. `crate::simd` compiles the hot loops for several instruction sets; `bench_hooks` has them measured.

// Lanes of several blocks are worked on side by side: an index says it best, and compiles to vectors.
#![allow(clippy::needless_range_loop)]

mod accumulator;
mod aligned;
pub(super) mod bench_hooks;
mod bit_table;
mod canonical;
mod child;
mod instances;
mod multi_class;
mod node;
mod node_budgets;
mod pair_counts;
mod pair_shape;
mod root_bounds;
mod search;
mod singles;
mod stumps;
mod two_class;
mod weighted_counts;
mod workspace;

use std::sync::Mutex;

use smallvec::smallvec;

use super::params::{BinarySwitches, Order, Rank};
use super::problem::{Cases, Mass, Problem};
use super::progress::Anytime;
use super::reference::engine::ReferenceEngine;
use super::shape::Shape;
use crate::bits;
use crate::budget::{Budget, Stop, Ticker};
use crate::constraint::usable;
use crate::simd::{BLOCK, Isa};
use crate::threads::lock;
pub(super) use accumulator::Accumulator;
use bit_table::Layout;
use canonical::Found;
pub(super) use instances::Instances;
use node::Node;
use node_budgets::NodeBudgets;
use workspace::{BinaryEngine, BudgetCosts, Counters, Improvement, NodeBuffers, Observer, Pool, Query};

/// About how many bytes a search needs at once if its masses are kept in lanes of `lane` bytes, and nodes keep the counts
/// of all pairs of tests, or none.
pub(super) fn bytes(instances: &Instances, lane: usize, keeps_pairs: bool, depth: u32, threads: usize) -> u64 {
    let layout = Layout::new(instances.n_tests);
    let (stride, lane, n) = (layout.stride() as u64, lane as u64, instances.rows.len() as u64);
    // Per node: its matrices and counts of single tests; its instances as rows, and as columns of the parent's tests and
    // its own, in words of one group each. Per thread: the nodes of a path, and a cell. Buffers have a quarter to spare.
    let (tests, channels) = (if keeps_pairs { stride } else { BLOCK as u64 }, instances.channels as u64);
    let matrices = stride.saturating_mul(tests).saturating_mul(channels + 1).saturating_mul(lane);
    let singles = stride * (8 * channels + 16) * lane + 64 * stride;
    let words = n / 32 + instances.groups.len() as u64;
    let rows = n * (4 * layout.lanes as u64 + 16 + lane) + words * (8 * stride + 64);
    let of_node = matrices.saturating_add(singles + rows);
    let all_rows = n * 4 * layout.lanes as u64;
    (of_node + of_node / 4).saturating_mul(u64::from(depth - 1) * threads as u64).saturating_add(all_rows)
}

/// What a search did.
pub(super) struct Report {
    pub(super) stop: Option<Stop>,
    pub(super) counters: [(&'static str, u64); 6],
}

/// Bytes for what can be forgotten: solved nodes, and bounds of children.
#[derive(Debug, Clone, Copy)]
pub(super) struct CacheRoom {
    pub(super) cache: u64,
    pub(super) bounds: u64,
}

/// Finds a tree of least cost of depth three or more, and the canonical one.
#[expect(clippy::too_many_arguments, reason = "one call")]
pub(super) fn search<M: Mass, L: Accumulator>(
    reference: &ReferenceEngine<M>,
    instances: Instances,
    switches: BinarySwitches,
    root: &Cases,
    limits: (u32, u64),
    rank: Rank,
    anytime: &Anytime,
    room: CacheRoom,
) -> Result<Report, Stop> {
    let mut search = BinaryEngine::<M, L>::new(
        reference.problem,
        instances,
        reference.budget,
        switches,
        reference.threads,
        limits.0,
        room,
    )?;
    let started = reference.budget.seconds();
    let mut rebuild_seconds = 0.0;
    let stop = search.prove_and_rebuild(reference, root, limits, rank, anytime, &mut rebuild_seconds).err();
    let proof = reference.budget.seconds() - started - rebuild_seconds;
    let Counters { nodes, depth_two, bounded, cache_hits } = &search.stats;
    let load = |counter: &std::sync::atomic::AtomicU64| counter.load(std::sync::atomic::Ordering::Relaxed);
    Ok(Report {
        stop,
        counters: [
            ("deep_nodes", load(nodes)),
            ("depth_two", load(depth_two)),
            ("bounded", load(bounded)),
            ("cache_hits", load(cache_hits)),
            ("proof_us", (proof * 1e6) as u64),
            ("rebuild_us", (rebuild_seconds * 1e6) as u64),
        ],
    })
}

impl<'a, M: Mass, L: Accumulator> BinaryEngine<'a, M, L> {
    fn new(
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
        let mut test = vec![node::NONE; layout.stride()];
        (0..problem.n_tests).for_each(|t| test[layout.position(t)] = t as u32);
        let live = (0..layout.stride() as u32).filter(|&position| test[position as usize] != node::NONE).collect();
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
        })
    }

    fn prove_and_rebuild(
        &mut self,
        reference: &ReferenceEngine<M>,
        root: &Cases,
        (depth, mut nodes): (u32, u64),
        rank: Rank,
        anytime: &Anytime,
        rebuild_seconds: &mut f64,
    ) -> Result<(), Stop> {
        let is_long = reference.work(root, depth) > LONG;
        if is_long {
            let (shape, cost, _) = reference.greedy(root, depth, nodes)?;
            anytime.offer(shape, cost);
        }
        let mut at = self.nodes.take();
        let ids = self.instances.of_rows(&root.rows);
        self.root_node(ids, &mut at.node)?;
        self.rank_tests(&at.node);
        let leaf = self.problem.leaf(&self.problem.totals(root));
        // What every tree costs, and was cancelled.
        let constant = leaf - at.node.leaf(self.instances.n_classes);
        if is_long {
            let (depth, nodes) = usable(2, nodes);
            let cost = self.shallow(&mut at)?[nodes as usize];
            if cost + constant < anytime.cost() {
                let found = self.first(root, &mut at, depth, nodes, cost, false)?;
                anytime.offer(self.rebuild_below(root, found, depth)?, cost + constant);
            }
        }
        let mut cost = leaf - constant;
        // Shallower trees take a small part of the time, and give incumbents that cut the deeper search short.
        let last = depth;
        for depth in last.min(4)..=last {
            let found = Mutex::default();
            let is_last = depth == last;
            let places = if is_last { self.places(&at.node) } else { vec![0; at.node.layout.stride()] };
            let watch =
                RootObserver { search: self, root, anytime, constant, depth, is_last, builds: is_long, places, found };
            let levels = NodeBudgets::new(depth, nodes);
            let mut cutoffs: BudgetCosts = smallvec![0; levels.len()];
            cutoffs[levels.top()] = cost.min(anytime.cost() - constant);
            let ask = Query { depth, levels, floors: smallvec![0; levels.len()], cutoffs };
            let values = self.solve(&mut at, &ask, None, Some(&watch), &[])?;
            cost = values[levels.top()].min(ask.cutoffs[levels.top()]);
        }
        anytime.prove(cost + constant);
        let started = self.budget.seconds();
        let mut shape = Shape::Leaf;
        if cost < leaf - constant {
            let is_open = at.state.has_bounds;
            let found = self.first(root, &mut at, depth, nodes, cost, is_open)?;
            shape = self.rebuild_below(root, found, depth)?;
        }
        if rank == Rank::ObjectiveThenNodes {
            anytime.replace(shape.clone(), cost + constant);
            let fewest = self.fewest_nodes(&mut at, depth, shape.n_nodes(), cost)?;
            if fewest < shape.n_nodes() {
                nodes = fewest;
                shape = self.rebuild(root, depth, nodes, cost)?;
            }
        }
        *rebuild_seconds = self.budget.seconds() - started;
        self.nodes.give(at);
        anytime.replace(shape, cost + constant);
        anytime.prove(cost + constant);
        Ok(())
    }

    /// The fewest nodes of a tree that costs no more, given that so many are enough (Algorithm 7 of MurTree, for all
    /// numbers of nodes at once).
    fn fewest_nodes(&self, at: &mut NodeBuffers<L>, depth: u32, enough: u64, cost: u64) -> Result<u64, Stop> {
        if enough < 2 {
            return Ok(enough);
        }
        let costs = self.shallow(at)?;
        // Trees of one and of two nodes are no deeper than two.
        if let Some(nodes) = (1..=2.min(u64::from(depth))).find(|&nodes| costs[nodes as usize] == cost) {
            return Ok(nodes);
        }
        let (depth, most) = usable(depth, enough - 1);
        if depth < 3 {
            return Ok(enough);
        }
        let levels = NodeBudgets::UpTo(most as usize);
        let (cutoffs, floors) = (smallvec![cost + 1; levels.len()], smallvec![cost; levels.len()]);
        let values = self.solve(at, &Query { depth, levels, cutoffs, floors }, None, None, &[])?;
        Ok(values.iter().position(|&value| value == cost).map_or(enough, |nodes| nodes as u64))
    }

    /// For each position of a node over all tests: the first test that splits its cases as it does.
    fn places(&self, node: &Node<L>) -> Vec<u32> {
        let mut places = vec![u32::MAX; node.layout.stride()];
        for test in 0..self.problem.n_tests {
            let place = node.place_of[self.layout.position(test)];
            if place != node::NONE {
                let first = &mut places[place as usize / 2];
                *first = (*first).min(test as u32);
            }
        }
        places
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
            of(&node.singles.true_side) + of(&node.singles.false_side)
        };
        let mut order: Vec<u32> = node.live.clone();
        match self.switches.order {
            Order::AsGiven => order.sort_by_key(|&root| node.test[root as usize]),
            Order::Random => order.sort_by_key(|&root| bits::mix(u64::from(node.test[root as usize]) + 1)),
            Order::DepthTwo | Order::Gini => {
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

/// Work (pair additions of the reference engine, before bounds) from which trees are built while the search runs; one of less
/// is over in milliseconds. Not a time: what a limit of nodes leaves must not depend on the clock.
const LONG: u64 = 50_000_000;

/// Watches the root of the search.
struct RootObserver<'a, 'p, M, L> {
    search: &'a BinaryEngine<'p, M, L>,
    root: &'a Cases,
    anytime: &'a Anytime<'a>,
    constant: u64,
    depth: u32,
    /// Whether bounds at this depth are bounds on all trees asked for.
    is_last: bool,
    /// Whether to build trees while the search runs.
    builds: bool,
    /// For each position, the first test that splits as it does.
    places: Vec<u32>,
    /// The best root so far whose tree was not built yet.
    found: Mutex<Option<Found>>,
}

impl<M: Mass, L: Accumulator> Observer<L> for RootObserver<'_, '_, M, L> {
    fn place(&self, root: usize) -> u32 {
        self.places[root]
    }

    fn improved(&self, node: &Node<L>, levels: NodeBudgets, found: Improvement) {
        let test = node.test[found.root] as usize;
        let nodes = |level: usize| levels.nodes(self.depth - 1, level);
        let (mut share, mut costs) = ((nodes(found.levels.0), nodes(found.levels.1)), found.costs);
        if self.search.problem.passing_side(test) == 0 {
            (share, costs) = ((share.1, share.0), (costs.1, costs.0));
        }
        *self.lock() = Some(Found { test, share, costs });
    }

    fn bounded(&self, bound: u64) {
        if self.is_last {
            self.anytime.prove(bound + self.constant);
        }
        let found = if self.builds { self.lock().take() } else { None };
        let Some(found) = found else { return };
        let cost = found.costs.0 + found.costs.1 + self.search.problem.node_penalty + self.constant;
        if cost < self.anytime.cost() {
            // A limit may strike here: then the tree before this one is the best in hand.
            if let Ok(shape) = self.search.rebuild_below(self.root, found, self.depth) {
                self.anytime.offer(shape, cost);
            }
        }
    }
}

impl<M, L> RootObserver<'_, '_, M, L> {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Found>> {
        lock(&self.found)
    }
}
