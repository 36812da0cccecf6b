//! The binary engine, as the driver sees it.

use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;

use smallvec::smallvec;

use super::super::driver::{Root, Solver, Ties, TreeLimits, by_ties, canonical_below};
use super::super::problem::{Cases, Mass};
use super::super::progress::Anytime;
use super::super::shape::Shape;
use super::accumulator::Accumulator;
use super::canonical::Wanted;
use super::counts::NONE;
use super::node::Node;
use super::node_budgets::{BudgetCosts, BudgetQuery, NodeBudgets};
use super::subproblem::BinaryNode;
use super::workspace::{BinaryEngine, Improvement, NodeBuffers, Observer};
use crate::budget::{Budget, Stop};
use crate::threads::lock;

/// Trees of depth two that are always allowed to look for ties, besides as many as the proof took.
const TIES: u64 = 1000;

impl<M: Mass, L: Accumulator> BinaryEngine<'_, M, L> {
    /// For each position of a node over all tests: the first test that splits its cases as it does.
    fn first_tests(&self, node: &Node<L>) -> Vec<u32> {
        let mut first_tests = vec![u32::MAX; node.layout.stride()];
        for test in 0..self.problem.n_tests {
            let place = node.place_of[self.layout.position(test)];
            if place != NONE {
                let first = &mut first_tests[place as usize / 2];
                *first = (*first).min(test as u32);
            }
        }
        first_tests
    }
}

/// The engine at work for the driver.
pub(in crate::optimal) struct BinarySolver<'e, 'a, M, L> {
    pub(super) engine: &'e BinaryEngine<'a, M, L>,
    /// How many trees of depth two there may be before the search for ties gives up.
    most_for_ties: u64,
}

impl<'e, 'a, M: Mass, L: Accumulator> BinarySolver<'e, 'a, M, L> {
    pub(super) fn new(engine: &'e BinaryEngine<'a, M, L>) -> Self {
        BinarySolver { engine, most_for_ties: 0 }
    }
}

impl<M: Mass, L: Accumulator> Solver for BinarySolver<'_, '_, M, L> {
    type Node = BinaryNode<L>;

    fn budget(&self) -> &Budget {
        self.engine.budget
    }

    fn node_penalty(&self) -> u64 {
        self.engine.problem.node_penalty
    }

    fn leaf(&self, node: &BinaryNode<L>) -> u64 {
        let ids = self.engine.ids(node);
        self.engine.leaf_of(ids, &self.engine.instances.starts(ids))
    }

    fn solve(&mut self, node: &mut BinaryNode<L>, limits: TreeLimits, cutoff: u64) -> Result<u64, Stop> {
        self.engine.least(node, limits, cutoff)
    }

    fn first_root(&mut self, node: &mut BinaryNode<L>, limits: TreeLimits, cost: u64) -> Result<Root, Stop> {
        let root = self.engine.next_reaching(node, Wanted { limits, cost, after: None, only_telling: false })?;
        Ok(root.expect("a cost below that of a leaf is that of some split"))
    }

    fn branch(&mut self, node: &mut BinaryNode<L>, test: u32, passes: bool) -> Result<BinaryNode<L>, Stop> {
        let problem = self.engine.problem;
        let [zero, one] = problem.split(&node.cases, test as usize);
        let side = problem.passing_side(test as usize) ^ usize::from(!passes);
        Ok(BinaryNode::new(if side == 1 { one } else { zero }, self.engine.nodes.take()))
    }

    fn n_tests(&self) -> u64 {
        self.engine.problem.n_tests as u64
    }

    fn exact_depth(&self) -> u32 {
        3
    }

    fn splits(&mut self, node: &mut BinaryNode<L>, test: u32) -> Result<bool, Stop> {
        let problem = self.engine.problem;
        let sides = problem.split(&node.cases, test as usize);
        let is_large = |side: &Cases| !side.rows.is_empty() && problem.admissible(&problem.totals(side));
        Ok(sides.iter().all(is_large))
    }

    fn release(&mut self, node: BinaryNode<L>) {
        self.engine.nodes.give(node.buffers);
    }

    fn promising(&mut self, node: &mut BinaryNode<L>, limits: TreeLimits, most: usize) -> Result<Vec<u32>, Stop> {
        self.engine.shallow_costs(node, limits.depth)?;
        let NodeBuffers { node, roots, .. } = &mut *node.buffers;
        roots.sort_unstable();
        Ok(roots.iter().take(most).map(|root| node.test[root.position as usize]).collect())
    }

    fn is_long(&self, depth: u32) -> bool {
        self.engine.instances.work(depth) > LONG
    }

    fn times_per_level(&self) -> [f64; 2] {
        [10.0, 100.0]
    }

    fn first_depth(&self, depth: u32) -> u32 {
        depth.min(4)
    }

    fn deepen(
        &mut self,
        root: &mut BinaryNode<L>,
        limits: TreeLimits,
        known: u64,
        anytime: &Anytime,
        proves: bool,
    ) -> Result<u64, Stop> {
        let (engine, TreeLimits { depth, nodes }) = (self.engine, limits);
        if depth <= 2 {
            return Ok(engine.least(root, limits, known)?.min(known));
        }
        engine.build(root)?;
        let node = &root.buffers.node;
        let first_tests = if proves { engine.first_tests(node) } else { vec![0; node.layout.stride()] };
        let (cases, found, builds) = (root.cases.clone(), Mutex::default(), self.is_long(depth));
        let watch = RootObserver { engine, cases, anytime, limits, proves, builds, first_tests, found };
        let levels = NodeBudgets::new(depth, nodes);
        let (mut cutoffs, floors): (BudgetCosts, _) = (smallvec![0; levels.len()], smallvec![0; levels.len()]);
        cutoffs[levels.top()] = known;
        let values = engine.values(root, &BudgetQuery { depth, levels, cutoffs, floors }, Some(&watch))?;
        Ok(values[levels.top()].min(known))
    }

    /// Algorithm 7 of MurTree, for all numbers of nodes at once.
    fn fewest_nodes(
        &mut self,
        node: &mut BinaryNode<L>,
        limits: TreeLimits,
        cost: u64,
        enough: u64,
    ) -> Result<u64, Stop> {
        let costs = self.engine.shallow_costs(node, limits.depth)?;
        // Trees of one and of two nodes are no deeper than two.
        if let Some(nodes) = (1..=2.min(u64::from(limits.depth))).find(|&nodes| costs[nodes as usize] == cost) {
            return Ok(nodes);
        }
        let TreeLimits { depth, nodes: most } = TreeLimits::new(limits.depth, enough - 1);
        if depth < 3 {
            return Ok(enough);
        }
        let levels = NodeBudgets::UpTo(most as usize);
        let (cutoffs, floors) = (smallvec![cost + 1; levels.len()], smallvec![cost; levels.len()]);
        let values = self.engine.values(node, &BudgetQuery { depth, levels, cutoffs, floors }, None)?;
        Ok(values.iter().position(|&value| value == cost).map_or(enough, |nodes| nodes as u64))
    }

    fn smallest_by_ties(
        &mut self,
        node: &mut BinaryNode<L>,
        limits: TreeLimits,
        cost: u64,
        most: u64,
    ) -> Result<Option<Option<Shape>>, Stop> {
        // Where no case is lost any test may tie, and what few nodes cost at least says more.
        if !limits.is_free() || cost == 0 {
            return Ok(None);
        }
        self.most_for_ties = 2 * self.engine.stats.depth_two.load(Relaxed) + TIES;
        let found = by_ties(self, node, limits.depth, cost, most)?;
        Ok(if self.gives_up() { None } else { Some(found) })
    }
}

impl<M: Mass, L: Accumulator> Ties for BinarySolver<'_, '_, M, L> {
    fn next_root(
        &mut self,
        node: &mut BinaryNode<L>,
        depth: u32,
        cost: u64,
        after: Option<u32>,
    ) -> Result<Option<Root>, Stop> {
        let limits = TreeLimits::of_depth(depth);
        self.engine.next_reaching(node, Wanted { limits, cost, after, only_telling: true })
    }

    fn n_cases(&self, node: &BinaryNode<L>) -> usize {
        node.cases.rows.len()
    }

    fn gives_up(&self) -> bool {
        self.engine.stats.depth_two.load(Relaxed) > self.most_for_ties
    }
}

/// Nanoseconds, about and before bounds, from which trees are built while the search runs; a search of less is over in
/// milliseconds. Not a time: what a limit of nodes leaves must not depend on the clock.
const LONG: u64 = 2_000_000;

/// Watches the root of the search.
struct RootObserver<'r, 'e, M, L> {
    engine: &'r BinaryEngine<'e, M, L>,
    cases: Cases,
    anytime: &'r Anytime<'r>,
    limits: TreeLimits,
    /// Whether bounds at this depth are bounds on all trees asked for.
    proves: bool,
    /// Whether to build trees while the search runs.
    builds: bool,
    /// For each position, the first test that splits as it does.
    first_tests: Vec<u32>,
    /// The best root so far whose tree was not built yet.
    found: Mutex<Option<Root>>,
}

impl<M: Mass, L: Accumulator> Observer<L> for RootObserver<'_, '_, M, L> {
    fn place(&self, root: usize) -> u32 {
        self.first_tests[root]
    }

    fn improved(&self, node: &Node<L>, levels: NodeBudgets, found: Improvement) {
        let test = node.test[found.root];
        let of = |level: usize| levels.nodes(self.limits.depth - 1, level);
        let (mut nodes, mut costs) = ([of(found.levels.0), of(found.levels.1)], [found.costs.0, found.costs.1]);
        if self.engine.problem.passing_side(test as usize) == 0 {
            nodes.swap(0, 1);
            costs.swap(0, 1);
        }
        *lock(&self.found) = Some(Root { test, nodes, costs });
    }

    fn bounded(&self, bound: u64) {
        if self.proves {
            self.anytime.prove(bound);
        }
        let found = if self.builds { lock(&self.found).take() } else { None };
        let Some(found) = found else { return };
        let cost = found.costs[0] + found.costs[1] + self.engine.problem.node_penalty;
        if cost < self.anytime.cost() {
            let mut node = BinaryNode::new(self.cases.clone(), Box::default());
            // A limit may strike here: then the tree before this one is the best in hand.
            if let Ok(shape) = canonical_below(&mut BinarySolver::new(self.engine), &mut node, self.limits, found) {
                self.anytime.offer(shape, cost);
            }
        }
    }
}
