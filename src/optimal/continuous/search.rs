//! Branch and bound over intervals of cuts, of all columns at once, the least bound first.

use std::collections::BinaryHeap;

use smallvec::{SmallVec, smallvec};

use super::super::bound_check::{BoundCheck, Reason};
use super::super::shape::Shape;
use super::depth_two::StumpSearch;
use super::instances::RankedInstances;
use super::interval::Charge;
use super::interval::{Bounds, End, Interval, ShareCosts, least};
use super::memory::MemoryShares;
use super::node::{Nodes, Side};
use super::stump::Index;
use crate::budget::{Budget, Stop, Ticker};
use crate::constraint::{shares, usable};
use crate::simd::Isa;

/// What is asked of a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Query {
    pub(super) depth: u32,
    pub(super) nodes: u64,
    /// Trees that cost as much or more are of no interest.
    pub(super) target: i64,
    /// Whether trees that cost as much as the best in hand are of interest.
    pub(super) ties: bool,
    /// Whether branches may have any number of cases. Bounds by nested sets hold for such trees only.
    pub(super) relaxed: bool,
}

impl Query {
    /// What a tree has to undercut.
    fn bar(&self, best: &BestTree) -> i64 {
        self.target.min(best.cost + i64::from(self.ties))
    }
}

/// What was found out about a node.
#[derive(Debug)]
pub(super) struct Solved {
    /// No tree costs less, if that is less than the target; else none costs less than the target.
    pub(super) lower: i64,
    /// What the best tree in hand costs.
    pub(super) upper: i64,
    /// That tree, if it costs less than the target.
    pub(super) shape: Option<Shape>,
}

/// The best tree of a node so far.
#[derive(Debug)]
pub(super) struct BestTree {
    pub(super) cost: i64,
    root: Option<BestRoot>,
}

/// A root, and its branches as far as they are known.
#[derive(Debug)]
struct BestRoot {
    side: (usize, usize),
    /// At depth two, the entries of the branches' stumps, and their costs; `None` for a leaf.
    entries: [Option<(u32, i64)>; 2],
    /// Above, the branches.
    branches: Option<Box<[Shape; 2]>>,
}

impl BestTree {
    pub(super) fn leaf(cost: i64) -> Self {
        BestTree { cost, root: None }
    }

    /// Column and cut of the root; `None` for a leaf.
    pub(super) fn root(&self) -> Option<(usize, usize)> {
        self.root.as_ref().map(|root| root.side)
    }
}

/// The nodes and the costs of a left and a right branch.
pub(super) type Branches = ((u64, u64), (i64, i64));

/// A cut that was tried.
pub(super) struct Tried {
    pub(super) cut: usize,
    /// The best tree with this root in hand, and the share and costs of its branches.
    pub(super) upper: i64,
    pub(super) branches: Branches,
    /// The cuts on its left and right that are still open.
    pub(super) halves: [Option<Interval>; 2],
    /// The cut itself.
    pub(super) itself: Interval,
}

/// One worker's search.
pub(super) struct IntervalSearch<'g, I> {
    pub(super) nodes: Nodes<'g, I>,
    pub(super) stumps: StumpSearch<I>,
    pub(super) budget: &'g Budget,
    pub(super) ticker: Ticker<'g>,
    /// Room for the masses of classes on the left of a cut.
    pub(super) classes: Vec<i64>,
    pub(super) tried: u64,
    /// What bounds are compared with, if they are checked.
    pub(super) check: Option<&'g BoundCheck<'g, u64>>,
    room: MemoryShares,
}

impl<'g, I: Index> IntervalSearch<'g, I> {
    pub(super) fn new(
        ground: &'g RankedInstances<'g, I>,
        depth: u32,
        isa: Isa,
        budget: &'g Budget,
        room: MemoryShares,
        check: Option<&'g BoundCheck<'g, u64>>,
    ) -> Self {
        IntervalSearch {
            nodes: Nodes::new(ground, depth.max(1) as usize, &room),
            stumps: StumpSearch::new(ground.n_entries(), isa, &room),
            budget,
            ticker: Ticker::new(budget),
            classes: Vec::new(),
            tried: 0,
            check,
            room,
        }
    }

    pub(super) fn ground(&self) -> &'g RankedInstances<'g, I> {
        self.nodes.ground
    }

    /// The shares of the nodes under a root, that of its left branch first.
    pub(super) fn shares(depth: u32, nodes: u64) -> SmallVec<[(u64, u64); 2]> {
        shares(depth, nodes, false).collect()
    }

    /// All cuts of a column.
    pub(super) fn whole(&self, column: usize, shares: usize) -> Interval {
        let end = || End { costs: smallvec![0; shares], stumps: self.stumps.trivial() };
        // The last cut is known once the column is open.
        let (lower, first, last) = (self.ground().penalty, 1, usize::MAX);
        Interval { lower, column, first, last, left: end(), right: end() }
    }

    /// The best tree of a node, if one costs less than the target.
    pub(super) fn solve(&mut self, level: usize, ask: &Query) -> Result<Solved, Stop> {
        let (depth, nodes) = usable(ask.depth, ask.nodes);
        let ask = &Query { depth, nodes, relaxed: ask.relaxed || self.ground().min_leaf <= 1, ..*ask };
        let leaf = self.nodes.at(level).leaf();
        let shape = |upper: i64| (upper < ask.target).then_some(Shape::Leaf);
        if depth == 0 || leaf <= self.ground().penalty {
            return Ok(Solved { lower: leaf, upper: leaf, shape: shape(leaf) });
        }
        if ask.target <= 0 {
            return Ok(Solved { lower: 0, upper: leaf, shape: None });
        }
        if depth == 1 {
            let (cost, stump) = self.best_stump(level, None, None, ask.relaxed, 0)?;
            let shape = (cost < ask.target).then(|| stump.map_or(Shape::Leaf, |cut| self.stump_shape(cut)));
            return Ok(Solved { lower: cost, upper: cost, shape });
        }
        let best = self.best(level, ask)?;
        let shape = match best.cost < ask.target {
            true => Some(self.shape(level, &best, ask)?),
            false => None,
        };
        Ok(Solved { lower: best.cost.min(ask.target), upper: best.cost, shape })
    }

    /// The best root of a node, of a depth of at least two, if a tree with it costs less than the target.
    pub(super) fn best(&mut self, level: usize, ask: &Query) -> Result<BestTree, Stop> {
        if ask.depth == 2 {
            self.stumps.clear();
        }
        let n_shares = Self::shares(ask.depth, ask.nodes).len();
        let columns = 0..self.ground().columns.len();
        let whole = columns.map(|column| self.whole(column, n_shares)).collect();
        self.best_among(level, ask, whole)
    }

    /// The same among the cuts of some intervals.
    pub(super) fn best_among(
        &mut self,
        level: usize,
        ask: &Query,
        mut heap: BinaryHeap<Interval>,
    ) -> Result<BestTree, Stop> {
        let mut best = BestTree::leaf(self.nodes.at(level).leaf());
        let mut charge = self.charge(Self::shares(ask.depth, ask.nodes).len());
        while let Some(interval) = heap.pop() {
            if interval.lower >= ask.bar(&best) {
                break;
            }
            if let Some(tried) = self.step(level, ask, interval, &mut best)? {
                for half in tried.halves.into_iter().flatten() {
                    heap.reserve_exact(charge.more(heap.len(), heap.capacity())?);
                    heap.push(half);
                }
            }
        }
        Ok(best)
    }

    /// The account of the intervals of a node.
    pub(super) fn charge(&self, n_shares: usize) -> Charge<'g> {
        Charge::new(self.budget, self.room.intervals, n_shares)
    }

    /// Tries the middle of an interval. `None` if it has no cut.
    pub(super) fn step(
        &mut self,
        level: usize,
        ask: &Query,
        mut interval: Interval,
        best: &mut BestTree,
    ) -> Result<Option<Tried>, Stop> {
        self.budget.visit()?;
        self.tried += 1;
        let (column, ground) = (interval.column, self.ground());
        self.nodes.open(level, column);
        self.ticker.tick(200 + ground.n_classes + self.nodes.work())?;
        let opened = self.nodes.opened(level, column);
        interval.last = interval.last.min(opened.last);
        if !ask.relaxed {
            let (first, last) = opened.admissible(ground.min_leaf);
            (interval.first, interval.last) = (interval.first.max(first), interval.last.min(last));
        }
        if interval.first > interval.last {
            return Ok(None);
        }
        let cut = opened.middle(interval.first, interval.last);
        let (side, n_left) = (Side { column, cut: opened.ranks[cut], right: false }, opened.before[cut] as usize);
        let mut classes = std::mem::take(&mut self.classes);
        self.nodes.classes_left(level, column, cut, &mut classes);
        let shares = Self::shares(ask.depth, ask.nodes);
        let mut at = At { level, side, n: [n_left, self.nodes.at(level).n - n_left], classes, shares };
        let costs = match ask.depth {
            2 => self.try_stumps(&mut at, (ask, cut), &interval, best),
            _ => self.try_branches(&mut at, (ask, cut), &interval, best),
        };
        self.classes = std::mem::take(&mut at.classes);
        let Costed { left, right, upper, branches } = costs?;
        let penalty = ground.penalty;
        let score = penalty + least(&left, &right);
        let bar = ask.bar(best);
        let opened = self.nodes.opened(level, column);
        let (before, after) = match score >= bar {
            true => opened.beyond(cut, score - bar),
            false => (cut - 1, cut + 1),
        };
        if score >= bar {
            let around = interval.first.max(before.wrapping_add(1))..after.min(interval.last + 1);
            self.check_passed_over(Reason::Radius, level, ask, (column, around), bar);
        }
        let opened = self.nodes.opened(level, column);
        let mass = |cut: usize| opened.mass[cut];
        // The costs of either branch at the ends of the halves, and what a branch loses at most of what it has at the
        // cut.
        let (ends, at_cut) = ([&interval.left, &interval.right], [&left, &right]);
        let on_left = (before != usize::MAX && before >= interval.first).then(|| {
            let lost = [mass(cut) - mass(interval.first), 0];
            (interval.first..before.min(interval.last) + 1, [&ends[0].costs, at_cut[1]], lost)
        });
        let on_right = (after <= interval.last).then(|| {
            let lost = [0, mass(interval.last) - mass(cut)];
            (after.max(interval.first)..interval.last + 1, [at_cut[0], &ends[1].costs], lost)
        });
        let halves = [on_left, on_right].map(|half| {
            let (cuts, costs, lost) = half?;
            let lower = interval.lower.max(penalty + least(costs[0], costs[1]));
            if lower >= bar {
                self.check_passed_over(Reason::NestedSets, level, ask, (column, cuts), bar);
                return None;
            }
            let [left, right] = [0, 1].map(|branch| {
                let stumps = match ask.depth {
                    2 => self.stumps.derive(
                        branch,
                        lost[branch],
                        cap(&at.shares, branch, costs[1 - branch], penalty, bar),
                    ),
                    _ => Bounds::default(),
                };
                End { costs: costs[branch].clone(), stumps }
            });
            let half = Interval { lower, column, first: cuts.start, last: cuts.end - 1, left, right };
            self.check_interval(Reason::NestedSets, level, ask, &half, bar);
            Some(half)
        });
        let itself = Interval {
            lower: interval.lower.max(score),
            column,
            first: cut,
            last: cut,
            left: End { costs: left, stumps: interval.left.stumps },
            right: End { costs: right, stumps: interval.right.stumps },
        };
        self.check_interval(Reason::Solved, level, ask, &itself, bar);
        Ok(Some(Tried { cut, upper, branches, halves, itself }))
    }

    /// Tries a cut with stumps as branches.
    fn try_stumps(
        &mut self,
        at: &mut At<I>,
        (ask, cut): (&Query, usize),
        interval: &Interval,
        best: &mut BestTree,
    ) -> Result<Costed, Stop> {
        let (ground, penalty) = (self.ground(), self.ground().penalty);
        self.set_branches(at.level, &at.classes);
        let wanted = |branch: usize, end: &End| {
            at.shares.iter().any(|&(left, right)| [left, right][branch] == 1).then_some(end.stumps)
        };
        let bounds = [wanted(0, &interval.left), wanted(1, &interval.right)];
        self.stumps.evaluate(&mut self.nodes, at.level, at.side, bounds, &mut self.ticker)?;
        let branches = &self.stumps.branches;
        let cost = |branch: usize, nodes: u64| match nodes {
            0 => branches[branch].leaf,
            _ => branches[branch].stump(penalty),
        };
        let costs = |branch: usize, end: &End| -> ShareCosts {
            let of = |(&(left, right), &bound): (&(u64, u64), &i64)| cost(branch, [left, right][branch]).max(bound);
            at.shares.iter().zip(&end.costs).map(of).collect()
        };
        let (left, right) = (costs(0, &interval.left), costs(1, &interval.right));
        let mut costed = Costed { upper: i64::MAX, branches: Default::default(), left, right };
        if penalty + least(&costed.left, &costed.right) >= ask.bar(best) {
            return Ok(costed);
        }
        let (leaves, stumps) = ([0, 1].map(|b| branches[b].leaf), [0, 1].map(|b| branches[b].entry));
        // Below the bar no bound of an entry was left out that matters: the costs are those of trees.
        for share in 0..at.shares.len() {
            let nodes = at.shares[share];
            let (mut costs, mut entries) = ((costed.left[share], costed.right[share]), stumps);
            if penalty + costs.0 + costs.1 >= ask.bar(best) {
                continue;
            }
            if !ask.relaxed {
                let of = |search: &mut Self, right: bool, nodes: u64| -> Result<(i64, Option<u32>), Stop> {
                    let branch = usize::from(right);
                    if nodes == 0 {
                        return Ok((leaves[branch], None));
                    }
                    let side = Side { right, ..at.side };
                    let (cost, stump) = search.best_stump(at.level, Some(side), None, false, 0)?;
                    Ok((cost, stump.map(|(column, _)| (column * ground.per_column) as u32)))
                };
                let found = [of(self, false, nodes.0)?, of(self, true, nodes.1)?];
                (costs, entries) = ((found[0].0, found[1].0), found.map(|(_, entry)| entry));
            }
            let cost = penalty + costs.0 + costs.1;
            if cost < costed.upper {
                (costed.upper, costed.branches) = (cost, (nodes, costs));
            }
            if cost < best.cost {
                let entry = |branch: usize, nodes: u64, cost: i64| Some((entries[branch].filter(|_| nodes > 0)?, cost));
                let entries = [entry(0, nodes.0, costs.0), entry(1, nodes.1, costs.1)];
                let root = BestRoot { side: (at.side.column, cut), entries, branches: None };
                *best = BestTree { cost, root: Some(root) };
            }
        }
        Ok(costed)
    }

    /// Sets the masses of the branches of a cut, given those of classes on its left.
    pub(super) fn set_branches(&mut self, level: usize, left: &[i64]) {
        let all = &self.nodes.at(level).classes;
        let right: SmallVec<[i64; 8]> = all.iter().zip(left).map(|(all, left)| all - left).collect();
        self.stumps.branches[0].set(left);
        self.stumps.branches[1].set(&right);
    }

    /// Tries a cut with deeper branches.
    fn try_branches(
        &mut self,
        at: &mut At<I>,
        (ask, cut): (&Query, usize),
        interval: &Interval,
        best: &mut BestTree,
    ) -> Result<Costed, Stop> {
        let (penalty, relaxed) = (self.ground().penalty, ask.relaxed);
        let (mut left, mut right) = (interval.left.costs.clone(), interval.right.costs.clone());
        let mut costed =
            Costed { upper: i64::MAX, branches: Default::default(), left: smallvec![], right: smallvec![] };
        // Even shares first: they take the least time, and their trees save others some.
        let mut order: SmallVec<[usize; 2]> = (0..at.shares.len()).collect();
        order.sort_by_key(|&share| at.shares[share].0.abs_diff(at.shares[share].1));
        for share in order {
            let nodes = at.shares[share];
            let bar = ask.bar(best);
            // Bounds from both ends: where these do not allow it, no cut of the interval does.
            if penalty + left[share] + right[share] >= bar {
                continue;
            }
            let below = |other: i64| bar - penalty - other;
            let ask =
                |nodes: u64, target: i64| Query { depth: ask.depth - 1, nodes, target, ties: false, relaxed: true };
            // The branch with fewer nodes costs little time: what it leaves for the other may spare it a lot.
            let first = nodes.0 > nodes.1;
            let of = |right: bool| if right { nodes.1 } else { nodes.0 };
            let other_end = |right: bool| if right { interval.left.costs[share] } else { interval.right.costs[share] };
            let on_first = self.solve_branch(at, first, &ask(of(first), below(other_end(first))))?;
            raise(at, if first { &mut right } else { &mut left }, first, of(first), on_first.lower);
            if nodes.0 != nodes.1 && penalty + left[share] + right[share] >= bar {
                continue;
            }
            let least = if nodes.0 == nodes.1 { other_end(!first) } else { on_first.lower };
            let on_second = self.solve_branch(at, !first, &ask(of(!first), below(least)))?;
            raise(at, if first { &mut left } else { &mut right }, !first, of(!first), on_second.lower);
            let (on_left, on_right) = if first { (on_second, on_first) } else { (on_first, on_second) };
            let (mut found, mut costs) = ([on_left, on_right], (0, 0));
            if !relaxed {
                if penalty + left[share] + right[share] >= bar {
                    continue;
                }
                let restricted = |nodes: u64, target: i64| Query { relaxed: false, ..ask(nodes, target) };
                let on_left = self.solve_branch(at, false, &restricted(nodes.0, below(right[share])))?;
                if penalty + on_left.lower + right[share] >= bar {
                    continue;
                }
                let on_right = self.solve_branch(at, true, &restricted(nodes.1, below(on_left.lower)))?;
                found = [on_left, on_right];
            }
            (costs.0, costs.1) = (found[0].upper, found[1].upper);
            let cost = penalty + costs.0 + costs.1;
            if cost < costed.upper {
                (costed.upper, costed.branches) = (cost, (nodes, costs));
            }
            if let (true, [Some(on_left), Some(on_right)]) = (cost < best.cost, found.map(|of| of.shape)) {
                let branches = Some(Box::new([on_left, on_right]));
                let root = BestRoot { side: (at.side.column, cut), entries: [None, None], branches };
                *best = BestTree { cost, root: Some(root) };
            }
        }
        (costed.left, costed.right) = (left, right);
        Ok(costed)
    }

    fn solve_branch(&mut self, at: &At<I>, right: bool, ask: &Query) -> Result<Solved, Stop> {
        self.descend(at.level, Side { right, ..at.side }, at.n[usize::from(right)], &at.classes);
        self.solve(at.level + 1, ask)
    }

    /// Goes to one side of a cut, given the masses of classes on its left.
    pub(super) fn descend(&mut self, level: usize, side: Side<I>, n: usize, classes_left: &[i64]) {
        let all = &self.nodes.at(level).classes;
        let classes: SmallVec<[i64; 8]> = match side.right {
            true => all.iter().zip(classes_left).map(|(all, left)| all - left).collect(),
            false => classes_left.into(),
        };
        self.nodes.descend(level, side, n, &classes);
    }

    /// Goes to one side of a cut of an open column.
    pub(super) fn descend_to(&mut self, level: usize, column: usize, cut: usize, right: bool) {
        self.nodes.open(level, column);
        let mut classes = Vec::new();
        self.nodes.classes_left(level, column, cut, &mut classes);
        let opened = self.nodes.opened(level, column);
        let (rank, left) = (opened.ranks[cut], opened.before[cut] as usize);
        let n = if right { self.nodes.at(level).n - left } else { left };
        self.descend(level, Side { column, cut: rank, right }, n, &classes);
    }

    /// The tree of the best root.
    pub(super) fn shape(&mut self, level: usize, best: &BestTree, ask: &Query) -> Result<Shape, Stop> {
        let Some(BestRoot { side: (column, cut), entries, branches, .. }) = &best.root else { return Ok(Shape::Leaf) };
        self.nodes.open(level, *column);
        if let Some(branches) = branches {
            return Ok(self.split(level, *column, *cut, (**branches).clone()));
        }
        let mut shapes = [Shape::Leaf, Shape::Leaf];
        for (branch, entry) in entries.iter().enumerate() {
            let &Some((entry, cost)) = entry else { continue };
            let of = entry as usize / self.ground().per_column.max(1);
            let side = Side { column: *column, cut: self.nodes.opened(level, *column).ranks[*cut], right: branch == 1 };
            let (_, stump) = self.best_stump(level, Some(side), Some(of), ask.relaxed, cost)?;
            shapes[branch] = stump.map_or(Shape::Leaf, |cut| self.stump_shape(cut));
        }
        Ok(self.split(level, *column, *cut, shapes))
    }

    /// A root at a cut of a node, over its left and right branch.
    pub(super) fn split(&self, level: usize, column: usize, cut: usize, branches: [Shape; 2]) -> Shape {
        let opened = self.nodes.opened(level, column);
        self.root(column, opened.ranks[cut - 1].get(), branches)
    }

    pub(super) fn stump_shape(&self, (column, rank): (usize, usize)) -> Shape {
        self.root(column, rank, [Shape::Leaf, Shape::Leaf])
    }

    /// A root that has ranks up to this one on its left.
    fn root(&self, column: usize, rank: usize, [left, right]: [Shape; 2]) -> Shape {
        let of = &self.ground().columns[column];
        let passing_first = if of.passes_left(rank) { [left, right] } else { [right, left] };
        Shape::Split(self.ground().test(column, rank), Box::new(passing_first))
    }
}

/// Raises the bounds of a branch, by share: with as many nodes or fewer it costs no less.
fn raise<I>(at: &At<I>, costs: &mut ShareCosts, right: bool, nodes: u64, lower: i64) {
    for (cost, share) in costs.iter_mut().zip(&at.shares) {
        if (if right { share.1 } else { share.0 }) <= nodes {
            *cost = lower.max(*cost);
        }
    }
}

/// What a stump in one branch has to undercut, given what the other branch costs at least.
fn cap(shares: &[(u64, u64)], branch: usize, other: &ShareCosts, penalty: i64, bar: i64) -> i64 {
    let with_stump = |&(_, &(left, right)): &(usize, &(u64, u64))| [left, right][branch] == 1;
    let least = shares.iter().enumerate().filter(with_stump).map(|(share, _)| other[share]).min();
    bar - 2 * penalty - least.unwrap_or(i64::MAX / 2)
}

/// A cut that is being tried.
struct At<I> {
    level: usize,
    side: Side<I>,
    /// Instances on either side.
    n: [usize; 2],
    /// Masses of classes on its left.
    classes: Vec<i64>,
    shares: SmallVec<[(u64, u64); 2]>,
}

/// What a cut costs.
struct Costed {
    left: ShareCosts,
    right: ShareCosts,
    upper: i64,
    branches: Branches,
}
