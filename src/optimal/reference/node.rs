//! One node of the search: try its tests as roots, solve their branches, keep the best.

use std::sync::Mutex;
use std::sync::atomic::{
    AtomicBool, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};

use super::super::cache::Known;
use super::super::problem::{Cases, Mass};
use super::engine::ReferenceEngine;
use super::pair_counts::PairCounts;
use super::similarity::BranchBounds;
use crate::budget::{Stop, Ticker};
use crate::constraint::{full, shares};
use crate::threads::{held, lock};

/// What a node is asked for.
#[derive(Clone, Copy)]
pub(in crate::optimal) enum Goal {
    /// The least cost, if below the cutoff; `leaf` is that of no split.
    Cost { leaf: u64, cutoff: u64 },
    /// The first test, in column-then-cut order, that reaches this cost, which is the least and below that of a leaf.
    First(u64),
}

/// A root, with the nodes given to its passing and failing branch and the least costs of those branches.
#[derive(Clone, Copy)]
pub(in crate::optimal) struct Found {
    pub(in crate::optimal) test: usize,
    pub(in crate::optimal) share: (u64, u64),
    pub(in crate::optimal) costs: (u64, u64),
}

/// Observer of one node: told of better trees and bounds.
pub(in crate::optimal) trait Observer: Sync {
    /// A better tree: its root, and the cases of its two branches, passing first.
    fn improved(&self, root: Found, branches: [&Cases; 2]);
    /// No tree costs less than this.
    fn bounded(&self, bound: u64);
}

/// A node at work. Shared by the threads that try its tests.
pub(in crate::optimal) struct Branching<'a, 's, M> {
    search: &'a ReferenceEngine<'s, M>,
    cases: &'a Cases,
    depth: u32,
    nodes: u64,
    goal: Goal,
    watch: Option<&'a dyn Observer>,
    /// The least cost found, or the cutoff if none is below it.
    incumbent: AtomicU64,
    /// The least bound of a test that did not improve on the incumbent (the refined bound, section 4.5.3).
    refined: AtomicU64,
    bounds: BranchBounds,
    done: Vec<AtomicBool>,
    found: Mutex<Option<Found>>,
}

impl<'a, 's, M: Mass> Branching<'a, 's, M> {
    pub(in crate::optimal) fn new(
        search: &'a ReferenceEngine<'s, M>,
        cases: &'a Cases,
        depth: u32,
        nodes: u64,
        goal: Goal,
        watch: Option<&'a dyn Observer>,
    ) -> Self {
        let n_tests = search.problem.n_tests;
        let incumbent = match goal {
            Goal::Cost { leaf, cutoff } => leaf.min(cutoff),
            Goal::First(cost) => cost + 1,
        };
        Branching {
            search,
            cases,
            depth,
            nodes,
            goal,
            watch,
            incumbent: AtomicU64::new(incumbent),
            refined: AtomicU64::new(u64::MAX),
            bounds: BranchBounds::new(n_tests),
            done: (0..n_tests).map(|_| AtomicBool::new(false)).collect(),
            found: Mutex::new(None),
        }
    }

    /// The least cost, if below the cutoff, else a bound not below it. Only for [`Goal::Cost`].
    pub(in crate::optimal) fn run(self) -> Result<u64, Stop> {
        let Goal::Cost { leaf, cutoff } = self.goal else { unreachable!("`first` serves the other goal") };
        self.try_all()?;
        let best = self.incumbent.load(Relaxed);
        Ok(if best < cutoff { best } else { leaf.min(self.refined.load(Relaxed)).max(cutoff) })
    }

    /// The first test that reaches the cost. Only for [`Goal::First`].
    pub(in crate::optimal) fn first(self) -> Result<Option<Found>, Stop> {
        self.try_all()?;
        Ok(held(self.found.into_inner()))
    }

    fn try_all(&self) -> Result<(), Stop> {
        let search = self.search;
        let useful = (search.bounds && self.depth >= 2) || (search.depth_two && self.depth == 3);
        if !(useful && search.counts_fit()) {
            return self.try_in_order(&(0..search.problem.n_tests).collect::<Vec<_>>(), None);
        }
        search.with_scratch(|scratch| {
            let mut ticker = Ticker::new(search.budget);
            scratch.counts.count(search.problem, self.cases, 0..search.problem.n_tests, &mut ticker)?;
            let mut order: Vec<usize> = (0..search.problem.n_tests).collect();
            if let (Goal::Cost { leaf, .. }, true) = (self.goal, search.depth_two) {
                // The order of tests (section 4.7 takes them as they come): by the cost of the best tree of depth two.
                scratch.roots.start(search.problem, &scratch.counts);
                scratch.roots.improve(search.problem, &scratch.counts, &mut ticker)?;
                self.incumbent.fetch_min(scratch.roots.values(leaf)[self.nodes.min(3) as usize], Relaxed);
                order.sort_by_key(|&test| scratch.roots.cost(test));
            }
            self.try_in_order(&order, Some(&scratch.counts))
        })
    }

    fn try_in_order(&self, order: &[usize], counts: Option<&PairCounts<M>>) -> Result<(), Stop> {
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(&test) = order.get(next.fetch_add(1, Relaxed)) {
                self.try_root(test, counts)?;
                self.done[test].store(true, Release); // after what it did to the incumbent
                self.tell_bound();
            }
            Ok(())
        };
        let search = self.search;
        if search.threads == 1 || self.depth < 3 || search.work(self.cases, self.depth) <= search.parallel_work {
            return work();
        }
        let stopped = Mutex::new(Ok(()));
        rayon::scope(|scope| {
            for _ in 0..search.threads {
                scope.spawn(|_| {
                    if let Err(stop) = work() {
                        *lock(&stopped) = Err(stop);
                    }
                });
            }
        });
        held(stopped.into_inner())
    }

    /// Solves the two branches of a test as far as they can matter.
    fn try_root(&self, test: usize, counts: Option<&PairCounts<M>>) -> Result<(), Stop> {
        let (search, penalty) = (self.search, self.search.problem.node_penalty);
        if self.is_beaten(test) || self.prune(self.bounds.of(test).iter().sum::<u64>() + penalty) {
            return Ok(());
        }
        let sides = search.problem.split(self.cases, test);
        if sides.iter().any(|side| side.rows.is_empty() || !search.problem.admissible(&search.problem.totals(side))) {
            return Ok(());
        }
        if self.depth == 3 && search.depth_two {
            self.try_depth_two_branches(test, &sides, counts)?;
        } else {
            self.try_deep_branches(test, &sides)?;
        }
        if let Some(counts) = counts.filter(|_| search.bounds) {
            self.bounds.spread(search.problem, counts, test);
        }
        Ok(())
    }

    /// Both branches have depth two: their costs for all numbers of nodes come from pair counts, of which those of the
    /// larger branch are what the smaller one leaves of the node's (section 4.3.3).
    fn try_depth_two_branches(
        &self,
        test: usize,
        sides: &[Cases; 2],
        counts: Option<&PairCounts<M>>,
    ) -> Result<(), Stop> {
        let (search, penalty) = (self.search, self.search.problem.node_penalty);
        let most = full(2).min(self.nodes - 1);
        let small = usize::from(sides[1].rows.len() < sides[0].rows.len());
        let solve = |part: &mut PairCounts<M>, side: usize, is_part: bool| -> Result<[u64; 4], Stop> {
            search.budget.visit()?;
            if let Some(values) = self.cached_values(&sides[side], most) {
                search.stats.cache_hits.fetch_add(1, Relaxed);
                return Ok(values);
            }
            let values = search.with_scratch(|scratch| {
                let Some(whole) = counts else {
                    return search.depth_two_with(&sides[side], 2, scratch);
                };
                let mut ticker = Ticker::new(search.budget);
                part.count_all_once(search.problem, &sides[small], &mut ticker)?;
                let counts = match is_part {
                    true => &*part,
                    false => {
                        scratch.counts.subtract(whole, part, &mut ticker)?;
                        &scratch.counts
                    }
                };
                search.stats.depth_two.fetch_add(1, Relaxed);
                scratch.roots.start(search.problem, counts);
                scratch.roots.improve(search.problem, counts, &mut ticker)?;
                Ok(scratch.roots.values(search.problem.leaf(&counts.totals)))
            })?;
            self.remember_values(&sides[side], most, &values);
            Ok(values)
        };
        let values = search.with_scratch(|part| {
            part.counts.forget();
            let values_small = solve(&mut part.counts, small, true)?;
            self.bounds.raise(test, small, values_small[most as usize]);
            if self.prune(self.bounds.of(test).iter().sum::<u64>() + penalty) {
                return Ok(None);
            }
            let values_large = solve(&mut part.counts, 1 - small, false)?;
            self.bounds.raise(test, 1 - small, values_large[most as usize]);
            Ok(Some((values_small, values_large)))
        })?;
        let Some((values_small, values_large)) = values else { return Ok(()) };
        let passing = search.problem.passing_side(test);
        let (pass, fail) = if passing == small { (values_small, values_large) } else { (values_large, values_small) };
        let mut least: Option<Found> = None;
        for share in shares(self.depth, self.nodes, self.wants_smallest_share()) {
            let costs = (pass[share.0 as usize], fail[share.1 as usize]);
            if least.is_none_or(|known| costs.0 + costs.1 < known.costs.0 + known.costs.1) {
                least = Some(Found { test, share, costs });
            }
        }
        if let Some(found) = least {
            self.offer(found, sides);
        }
        Ok(())
    }

    /// What the cache knows of a set at depth two, for 0 to `most` nodes.
    fn cached_values(&self, cases: &Cases, most: u64) -> Option<[u64; 4]> {
        let mut values = [self.search.problem.leaf(&self.search.problem.totals(cases)); 4];
        // With fewer nodes than a free branch needs, all budgets are asked for.
        let fewest = if self.nodes >= full(3) { most } else { 1 };
        for nodes in fewest..=most {
            let known = self.search.cache.get(cases, 2, nodes).filter(|known| known.exact)?;
            values[nodes as usize] = known.cost;
        }
        Some(values)
    }

    fn remember_values(&self, cases: &Cases, most: u64, values: &[u64; 4]) {
        let fewest = if self.nodes >= full(3) { most } else { 1 };
        for nodes in fewest..=most {
            self.search.cache.put(cases, 2, nodes, Known { cost: values[nodes as usize], exact: true });
        }
    }

    /// The larger branch first, each with what the other leaves of the incumbent as its cutoff.
    fn try_deep_branches(&self, test: usize, sides: &[Cases; 2]) -> Result<(), Stop> {
        let (search, penalty) = (self.search, self.search.problem.node_penalty);
        let passing = search.problem.passing_side(test);
        let first = usize::from(sides[1].rows.len() > sides[0].rows.len());
        let most = full(self.depth - 1).min(self.nodes - 1);
        for share in shares(self.depth, self.nodes, self.wants_smallest_share()) {
            let lower = self.bounds.of(test);
            let incumbent = self.incumbent.load(Relaxed);
            if self.prune(lower[0] + lower[1] + penalty) {
                return Ok(());
            }
            let nodes = |side: usize| if side == passing { share.0 } else { share.1 };
            let solve = |side: usize, cutoff: u64| -> Result<u64, Stop> {
                let cost = search.solve(&sides[side], self.depth - 1, nodes(side), cutoff)?;
                // With all the nodes a branch may ever have, its cost bounds it under every budget.
                if nodes(side) == most {
                    self.bounds.raise(test, side, cost);
                }
                Ok(cost)
            };
            // Not pruned, so what is left for each branch is positive.
            let cutoff = incumbent - penalty - lower[1 - first];
            let cost = solve(first, cutoff)?;
            if cost >= cutoff {
                self.prune(cost + lower[1 - first] + penalty);
                continue;
            }
            let other = solve(1 - first, incumbent - penalty - cost)?;
            if cost + other + penalty >= incumbent {
                self.prune(cost + other + penalty);
                continue;
            }
            let costs = if first == passing { (cost, other) } else { (other, cost) };
            self.offer(Found { test, share, costs }, sides);
            if self.wants_smallest_share() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The canonical tree gives its passing branch the smallest budget that allows the cost.
    fn wants_smallest_share(&self) -> bool {
        matches!(self.goal, Goal::First(_))
    }

    /// A root whose branches were solved.
    fn offer(&self, root: Found, sides: &[Cases; 2]) {
        let cost = root.costs.0 + root.costs.1 + self.search.problem.node_penalty;
        if self.prune(cost) {
            return;
        }
        if self.wants_smallest_share() {
            let mut found = lock(&self.found);
            if found.is_none_or(|found| root.test < found.test) {
                *found = Some(root);
            }
            return;
        }
        let improved = cost < self.incumbent.fetch_min(cost, Relaxed);
        if let Some(watch) = self.watch.filter(|_| improved) {
            let passing = self.search.problem.passing_side(root.test);
            watch.improved(root, [&sides[passing], &sides[1 - passing]]);
        }
    }

    /// Whether a bound rules a test out; if so it counts toward the refined bound.
    fn prune(&self, bound: u64) -> bool {
        let pruned = bound >= self.incumbent.load(Relaxed);
        if pruned {
            self.refined.fetch_min(bound, Relaxed);
        }
        pruned
    }

    /// Whether an earlier test already reached the cost.
    fn is_beaten(&self, test: usize) -> bool {
        self.wants_smallest_share() && lock(&self.found).is_some_and(|found| found.test < test)
    }

    /// What is proved so far: no tree costs less than the incumbent and the bounds of the tests not yet done.
    fn tell_bound(&self) {
        if let Some(watch) = self.watch {
            let open = (0..self.done.len()).filter(|&test| !self.done[test].load(Acquire));
            let least = open.map(|test| self.bounds.of(test).iter().sum::<u64>()).min();
            let penalty = self.search.problem.node_penalty;
            watch.bounded(least.map_or(u64::MAX, |bound| bound + penalty).min(self.incumbent.load(Relaxed)));
        }
    }
}
