//! The reference engine: branch and bound by recursion over tests, with MurTree's depth-two solver at its ends.
//!
//! It is the reference that faster searches are tested against: small, exact, and complete in what it can be asked.
//! Every function that takes a `cutoff` returns the least cost if that is below the cutoff, else a lower bound that is
//! not below it.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;

use super::super::cache::Known;
use super::super::params::Rank;
use super::super::problem::{Cases, Mass};
use super::super::progress::Anytime;
use super::depth_two::Roots;
use super::engine::{ReferenceEngine, Workspace};
use super::node::{Branching, Found, Goal, Observer};
use super::pair_counts::PairCounts;
use super::similarity;
use crate::budget::{Stop, Ticker};
use crate::constraint::usable;
use crate::threads::lock;

impl<M: Mass> ReferenceEngine<'_, M> {
    /// The least cost over these cases of a tree of at most this depth and number of nodes.
    pub(in crate::optimal) fn solve(&self, cases: &Cases, depth: u32, nodes: u64, cutoff: u64) -> Result<u64, Stop> {
        self.solve_watched(cases, depth, nodes, cutoff, None)
    }

    /// [`ReferenceEngine::solve`], telling `watch` of improvements and bounds at this node.
    pub(in crate::optimal) fn solve_watched(
        &self,
        cases: &Cases,
        depth: u32,
        nodes: u64,
        cutoff: u64,
        watch: Option<&dyn Observer>,
    ) -> Result<u64, Stop> {
        self.budget.visit()?;
        let (depth, nodes) = usable(depth, nodes);
        let leaf = self.problem.leaf(&self.problem.totals(cases));
        if depth == 0 {
            return Ok(leaf);
        }
        let floor = if self.bounds { similarity::equivalent_points(self.problem, cases) } else { 0 };
        let with_split = floor + self.problem.node_penalty;
        if leaf <= with_split {
            return Ok(leaf);
        }
        if with_split >= cutoff {
            self.stats.bounded.fetch_add(1, Relaxed);
            return Ok(with_split);
        }
        if let Some(known) = self.cache.get(cases, depth, nodes).filter(|k| k.exact || k.cost >= cutoff) {
            self.stats.cache_hits.fetch_add(1, Relaxed);
            return Ok(known.cost);
        }
        let known = if self.depth_two && depth <= 2 {
            Known { cost: self.depth_two(cases, depth)?[nodes as usize], exact: true }
        } else {
            let cost = Branching::new(self, cases, depth, nodes, Goal::Cost { leaf, cutoff }, watch).run()?;
            Known { cost, exact: cost < cutoff }
        };
        self.cache.put(cases, depth, nodes, known);
        Ok(known.cost)
    }

    /// Least costs with at most 0, 1, 2 and 3 nodes, of depth one or two (Algorithm 4).
    pub(in crate::optimal) fn depth_two(&self, cases: &Cases, depth: u32) -> Result<[u64; 4], Stop> {
        self.with_scratch(|scratch| self.depth_two_with(cases, depth, scratch))
    }

    /// [`ReferenceEngine::depth_two`] in the buffers given.
    pub(in crate::optimal) fn depth_two_with(
        &self,
        cases: &Cases,
        depth: u32,
        scratch: &mut Workspace<M>,
    ) -> Result<[u64; 4], Stop> {
        self.roots(cases, depth, scratch)?;
        Ok(scratch.roots.values(self.problem.leaf(&scratch.counts.totals)))
    }

    /// Fills `scratch.roots`, and `scratch.counts` with at least the counts of single tests.
    pub(in crate::optimal) fn roots(&self, cases: &Cases, depth: u32, scratch: &mut Workspace<M>) -> Result<(), Stop> {
        let mut ticker = Ticker::new(self.budget);
        let Workspace { counts, roots } = scratch;
        if depth < 2 {
            counts.count(self.problem, cases, 0..0, &mut ticker)?;
            roots.start(self.problem, counts);
            return Ok(());
        }
        self.stats.depth_two.fetch_add(1, Relaxed);
        let blocks = self.blocks(cases);
        if let [block] = &blocks[..] {
            counts.count(self.problem, cases, block.clone(), &mut ticker)?;
            roots.start(self.problem, counts);
            return roots.improve(self.problem, counts, &mut ticker);
        }
        counts.count(self.problem, cases, 0..0, &mut ticker)?;
        roots.start(self.problem, counts);
        let all = Mutex::new(roots);
        let solve_block = |block: &Range<usize>| {
            self.with_scratch(|part| {
                let mut ticker = Ticker::new(self.budget);
                part.counts.count(self.problem, cases, block.clone(), &mut ticker)?;
                part.roots.start(self.problem, &part.counts);
                part.roots.improve(self.problem, &part.counts, &mut ticker)?;
                lock(&all).merge(&part.roots);
                Ok(())
            })
        };
        match self.threads {
            1 => blocks.iter().try_for_each(solve_block),
            _ => blocks.par_iter().try_for_each(solve_block),
        }
    }

    /// The pair counts of a node in pieces that fit the memory allowed, and enough of them for all threads if there is
    /// work for them.
    fn blocks(&self, cases: &Cases) -> Vec<Range<usize>> {
        let n_tests = self.problem.n_tests;
        let whole = PairCounts::bytes(self.problem, &(0..n_tests));
        let pieces = match self.work(cases, 2) > self.parallel_work {
            true => 4 * self.threads,
            false => 1,
        };
        let most = if self.threads == 1 { self.pair_bytes } else { self.pair_bytes.min(whole / pieces + 1) };
        if whole <= most {
            return std::iter::once(0..n_tests).collect();
        }
        let mut blocks: Vec<Range<usize>> = Vec::new();
        let mut start = 0;
        while start < n_tests {
            // At least one row, however little memory there is; PairCounts::bytes grows with the block.
            let end = (start + 1..=n_tests).rev().find(|&end| PairCounts::bytes(self.problem, &(start..end)) <= most);
            let end = end.unwrap_or(start + 1);
            blocks.push(start..end);
            start = end;
        }
        blocks
    }

    /// Whether the pair counts of a node may be kept as a whole.
    pub(in crate::optimal) fn counts_fit(&self) -> bool {
        PairCounts::bytes(self.problem, &(0..self.problem.n_tests)) <= self.pair_bytes
    }

    /// An estimate of the pair additions below a node.
    pub(in crate::optimal) fn work(&self, cases: &Cases, depth: u32) -> u64 {
        let entries = self.problem.mean_entries() as u64;
        let node = cases.rows.len() as u64 * (1 + entries * entries / 2) + 4 * (self.problem.n_tests as u64).pow(2);
        (0..depth.saturating_sub(2)).fold(node, |work, _| work.saturating_mul(self.problem.n_tests as u64))
    }

    /// Lends buffers to `act`. Work that a thread steals while it waits takes others.
    pub(in crate::optimal) fn with_scratch<T>(&self, act: impl FnOnce(&mut Workspace<M>) -> T) -> T {
        let pool = || lock(&self.scratch);
        let taken = pool().pop();
        let mut scratch = taken.unwrap_or_else(|| Workspace { counts: PairCounts::new(), roots: Roots::default() });
        let result = act(&mut scratch);
        pool().push(scratch);
        result
    }
}

impl<M: Mass> ReferenceEngine<'_, M> {
    /// Finds the canonical tree of the least cost, and proves it.
    pub(in crate::optimal) fn prove_and_rebuild(
        &self,
        root: &Cases,
        depth: u32,
        nodes: u64,
        rank: Rank,
        anytime: &Anytime,
    ) -> Result<(), Stop> {
        self.budget.check()?;
        let (shape, cost, _) = self.greedy(root, depth, nodes)?;
        anytime.offer(shape, cost);
        if depth > 2 && self.depth_two {
            let cost = self.solve(root, 2, nodes, u64::MAX)?;
            anytime.offer(self.rebuild(root, 2, nodes, cost)?, cost);
        }
        // Shallower trees take a small part of the time and give incumbents that cut the deeper search short.
        for depth in 3..depth {
            let watch = RootObserver { anytime, search: self, depth, proves: false };
            self.solve_watched(root, depth, nodes, anytime.cost(), Some(&watch))?;
        }
        let watch = RootObserver { anytime, search: self, depth, proves: true };
        let known = anytime.cost();
        // Not below what is known: then that is the least.
        let cost = self.solve_watched(root, depth, nodes, known, Some(&watch))?.min(known);
        anytime.prove(cost);
        let mut shape = self.rebuild(root, depth, nodes, cost)?;
        if rank == Rank::ObjectiveThenNodes {
            anytime.replace(shape.clone(), cost);
            // Algorithm 7.
            let mut fewest = shape.n_nodes();
            while fewest > 0 && self.solve(root, depth, fewest - 1, cost + 1)? == cost {
                fewest -= 1;
            }
            if fewest < shape.n_nodes() {
                shape = self.rebuild(root, depth, fewest, cost)?;
            }
        }
        anytime.replace(shape, cost);
        anytime.prove(cost);
        Ok(())
    }
}

/// Watches the root of a search.
struct RootObserver<'a, 'p, M> {
    anytime: &'a Anytime<'a>,
    search: &'a ReferenceEngine<'p, M>,
    depth: u32,
    /// Whether bounds at this depth are bounds on all trees asked for.
    proves: bool,
}

impl<M: Mass> Observer for RootObserver<'_, '_, M> {
    fn improved(&self, root: Found, branches: [&Cases; 2]) {
        let cost = root.costs.0 + root.costs.1 + self.search.problem.node_penalty;
        if cost >= self.anytime.cost() {
            return;
        }
        // A limit may strike here: then the tree before this one is the best in hand.
        if let Ok(shape) = self.search.rebuild_below(root, branches, self.depth) {
            self.anytime.offer(shape, cost);
        }
    }

    fn bounded(&self, bound: u64) {
        if self.proves {
            self.anytime.prove(bound);
        }
    }
}
