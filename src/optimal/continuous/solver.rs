//! The continuous engine, as the driver sees it.

use smallvec::smallvec;

use super::super::driver::{Root, Solver, TreeLimits};
use super::super::progress::Anytime;
use super::super::shape::Shape;
use super::interval::{End, Interval};
use super::node::CutSide;
use super::parallel::RootSearch;
use super::search::{IntervalSearch, Query};
use super::stump::Index;
use crate::budget::{Budget, Stop};

/// The engine at work for the driver.
pub(super) struct ContinuousSolver<'g, I> {
    pub(super) workers: Vec<IntervalSearch<'g, I>>,
    /// What is left of the last search of all cases, once the least cost is proved.
    open: Option<Open>,
}

/// A node on the path that the first worker is on. A branch takes the level below that of its node, in place of the
/// branch that was there; the worker goes down to it once more is asked than a leaf or a stump.
pub(super) struct ContinuousNode {
    level: usize,
    leaf: i64,
    /// The side of a cut at that level which the worker has not gone to.
    side: Option<CutSide>,
}

/// The cuts of a search of all cases, of this depth, that may reach its least cost.
struct Open {
    depth: u32,
    cost: u64,
    cuts: Vec<Interval>,
}

impl<'g, I: Index> ContinuousSolver<'g, I> {
    pub(super) fn new(workers: Vec<IntervalSearch<'g, I>>) -> Self {
        ContinuousSolver { workers, open: None }
    }

    /// All cases.
    pub(super) fn root(&self) -> ContinuousNode {
        ContinuousNode { level: 0, leaf: self.workers[0].nodes.at(0).leaf(), side: None }
    }

    /// Goes to a node, and returns its level.
    fn go_to(&mut self, node: &mut ContinuousNode) -> usize {
        if let Some(CutSide { column, cut, right }) = node.side.take() {
            self.workers[0].descend_to(node.level, column, cut, right);
            node.level += 1;
        }
        node.level
    }

    /// Goes to a node, and returns its level, the column of a test, and the cut of the node that the test makes there.
    fn cut_of(&mut self, node: &mut ContinuousNode, test: u32) -> (usize, usize, usize) {
        let level = self.go_to(node);
        let worker = &mut self.workers[0];
        let (column, rank) = worker.ground().column_and_rank(test);
        worker.nodes.open(level, column);
        let cut = worker.nodes.opened(level, column).ranks.partition_point(|at| at.get() <= rank);
        (level, column, cut)
    }

    /// The cuts that may reach the least cost of all cases, under limits of the same depth: with fewer nodes there are
    /// no others. `None` where that is not known; at depth two what they know of stumps is soon gone.
    fn open_within(&self, TreeLimits { depth, nodes }: TreeLimits) -> Option<Vec<Interval>> {
        let open = self.open.as_ref().filter(|open| open.depth == depth && depth > 2)?;
        let n_shares = IntervalSearch::<I>::shares(depth, nodes).len();
        // A branch costs no less with fewer nodes than with any share it had.
        let end =
            |end: &End| End { costs: smallvec![end.costs.iter().copied().min().unwrap_or(0); n_shares], ..end.clone() };
        let within = |open: &Interval| Interval { left: end(&open.left), right: end(&open.right), ..open.clone() };
        Some(open.cuts.iter().map(within).collect())
    }

    fn ask(&self, TreeLimits { depth, nodes }: TreeLimits, target: u64, ties: bool) -> Query {
        let target = target.min(i64::MAX as u64 / 4) as i64;
        Query { depth, nodes, target, ties, relaxed: self.workers[0].ground().min_leaf <= 1 }
    }
}

impl<I: Index> Solver for ContinuousSolver<'_, I> {
    type Node = ContinuousNode;

    fn budget(&self) -> &Budget {
        self.workers[0].budget
    }

    fn node_penalty(&self) -> u64 {
        self.workers[0].ground().penalty as u64
    }

    fn leaf(&self, node: &ContinuousNode) -> u64 {
        node.leaf as u64
    }

    fn solve(&mut self, node: &mut ContinuousNode, limits: TreeLimits, cutoff: u64) -> Result<u64, Stop> {
        let (level, ask) = (self.go_to(node), self.ask(limits, cutoff, false));
        let is_known = level == 0 && self.open.as_ref().is_some_and(|open| cutoff <= open.cost + 1);
        if let Some(open) = is_known.then(|| self.open_within(limits)).flatten() {
            let budget = self.workers[0].budget;
            let _copied = budget.reserve(open.len() as u64 * Interval::BYTES)?;
            return Ok(self.workers[0].best_among(0, &ask, open.into())?.cost.min(ask.target) as u64);
        }
        let solved = self.workers[0].solve(level, &ask)?;
        Ok(if solved.upper < ask.target { solved.upper } else { solved.lower } as u64)
    }

    fn first_root(&mut self, node: &mut ContinuousNode, limits: TreeLimits, cost: u64) -> Result<Root, Stop> {
        if let (Some(side), 1, true) = (node.side, limits.depth, self.workers[0].ground().min_leaf <= 1) {
            return self.workers[0].first_stump(node.level, side, cost as i64);
        }
        let level = self.go_to(node);
        let open = match (level, limits.depth) {
            // What they know of stumps is there until another search of depth two begins.
            (0, 2) => self.open.take_if(|open| open.depth == 2).map(|open| open.cuts),
            (0, _) => self.open_within(limits),
            _ => None,
        };
        let budget = self.workers[0].budget;
        let _copied = budget.reserve(open.as_ref().map_or(0, Vec::len) as u64 * Interval::BYTES)?;
        self.workers[0].first_root(level, limits, cost as i64, open)
    }

    fn best_tree(
        &mut self,
        node: &mut ContinuousNode,
        limits: TreeLimits,
        cutoff: u64,
    ) -> Result<Option<(Shape, u64)>, Stop> {
        let (level, ask) = (self.go_to(node), self.ask(limits, cutoff, false));
        let solved = self.workers[0].solve(level, &ask)?;
        Ok(solved.shape.map(|shape| (shape, solved.upper as u64)))
    }

    fn n_tests(&self) -> u64 {
        self.workers[0].ground().n_tests()
    }

    fn splits(&mut self, node: &mut ContinuousNode, test: u32) -> Result<bool, Stop> {
        let (level, column, cut) = self.cut_of(node, test);
        let worker = &self.workers[0];
        let (opened, min_leaf) = (worker.nodes.opened(level, column), worker.ground().min_leaf);
        let (first, last) = if min_leaf > 1 { opened.admissible(min_leaf) } else { (1, opened.last) };
        Ok(cut >= first && cut <= last.min(opened.last))
    }

    fn branch(&mut self, node: &mut ContinuousNode, test: u32, passes: bool) -> Result<ContinuousNode, Stop> {
        let (level, column, cut) = self.cut_of(node, test);
        let worker = &mut self.workers[0];
        let (_, rank) = worker.ground().column_and_rank(test);
        let right = worker.ground().columns[column].passes_left(rank) != passes;
        let mut classes = Vec::new();
        worker.nodes.classes_left(level, column, cut, &mut classes);
        worker.set_branches(level, &classes);
        let leaf = worker.stumps.branches[usize::from(right)].leaf;
        Ok(ContinuousNode { level, leaf, side: Some(CutSide { column, cut, right }) })
    }

    fn promising(&mut self, node: &mut ContinuousNode, limits: TreeLimits, _most: usize) -> Result<Vec<u32>, Stop> {
        if limits.depth < 2 {
            return Ok(vec![]);
        }
        let (level, ask) = (self.go_to(node), self.ask(limits, u64::MAX, false));
        let worker = &mut self.workers[0];
        let Some((column, cut)) = worker.best(level, &ask)?.root() else { return Ok(vec![]) };
        // Where memory is tight it may have been forgotten.
        worker.nodes.open(level, column);
        let rank = worker.nodes.opened(level, column).ranks[cut - 1].get();
        Ok(vec![worker.ground().test(column, rank)])
    }

    fn is_long(&self, _depth: u32) -> bool {
        true
    }

    fn times_per_level(&self) -> [f64; 2] {
        [30.0, 100.0]
    }

    fn first_depth(&self, depth: u32) -> u32 {
        depth.min(2)
    }

    fn deepen(
        &mut self,
        root: &mut ContinuousNode,
        limits: TreeLimits,
        known: u64,
        anytime: &Anytime,
        proves: bool,
    ) -> Result<u64, Stop> {
        if limits.depth == 1 {
            return Ok(self.solve(root, limits, known)?.min(known));
        }
        let ask = self.ask(limits, u64::MAX, proves);
        let search = RootSearch { anytime, ask, proves };
        let (cost, cuts) = search.search(&mut self.workers, known as i64)?;
        let (depth, cost) = (limits.depth, cost as u64);
        self.open = proves.then_some(Open { depth, cost, cuts });
        Ok(cost)
    }
}
