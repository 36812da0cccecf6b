//! The reference: a search that tries every test as a root and every share of the nodes, by recursion.
//!
//! It is what the fast engines are tested against: short enough to be seen to be right, and complete in what it can be
//! asked. It knows one bound, that of cases which no test tells apart, and one memory, a [`Cache`]; both can be turned
//! off. Users meet it only where the memory that is left does not hold what the binary engine needs.
//!
//! DL8.5 (Aglin, Nijssen and Schaus, *Learning optimal decision trees using caching branch-and-bound search*, AAAI
//! 2020), Algorithm 1, with numbers of nodes beside the depth.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::cache::{Cache, Known};
use super::driver::{Root, Solver, TreeLimits, canonical};
use super::problem::{Cases, Mass, Problem};
use super::progress::Anytime;
use crate::budget::{Budget, Stop, Ticker};
use crate::constraint::shares;

/// One run of the reference.
pub(super) struct Reference<'a, M> {
    pub(super) problem: &'a Problem<M>,
    pub(super) budget: &'a Budget,
    pub(super) cache: Box<dyn Cache>,
    /// Whether cases that no test tells apart bound what trees cost.
    pub(super) bounds: bool,
    pub(super) stats: ReferenceCounters,
}

/// What happened during a run.
#[derive(Default)]
pub(super) struct ReferenceCounters {
    pub(super) cache_hits: AtomicU64,
    pub(super) bounded: AtomicU64,
}

impl<M: Mass> Reference<'_, M> {
    /// The least cost, if that is below the cutoff; else a lower bound that is not.
    pub(super) fn least(&self, cases: &Cases, limits: TreeLimits, cutoff: u64) -> Result<u64, Stop> {
        self.budget.visit()?;
        let (problem, penalty) = (self.problem, self.problem.node_penalty);
        let leaf = problem.leaf(&problem.totals(cases));
        let floor = if self.bounds { problem.equivalent_points(&cases.rows) } else { 0 };
        if limits.depth == 0 || leaf <= floor + penalty {
            return Ok(leaf);
        }
        if floor + penalty >= cutoff {
            self.stats.bounded.fetch_add(1, Relaxed);
            return Ok(floor + penalty);
        }
        let TreeLimits { depth, nodes } = limits;
        if let Some(known) = self.cache.get(cases, depth, nodes).filter(|known| known.exact || known.cost >= cutoff) {
            self.stats.cache_hits.fetch_add(1, Relaxed);
            return Ok(known.cost);
        }
        let (mut best, ticker) = (leaf.min(cutoff), &mut Ticker::new(self.budget));
        for test in 0..problem.n_tests {
            ticker.tick(4 * cases.rows.len())?;
            let Some([fail, pass]) = self.split(cases, test) else { continue };
            for (of_pass, of_fail) in shares(depth, nodes, false) {
                // What is left for a branch: nothing, where the other one takes all.
                let left = best.saturating_sub(penalty);
                let cost = self.least(&pass, limits.branch(of_pass), left)?;
                if cost < left {
                    best = best.min(cost + self.least(&fail, limits.branch(of_fail), left - cost)? + penalty);
                }
            }
        }
        self.cache.put(cases, depth, nodes, Known { cost: best, exact: best < cutoff });
        Ok(best)
    }

    /// The cases that fail a test and those that pass it, if a tree may split them so.
    fn split(&self, cases: &Cases, test: usize) -> Option<[Cases; 2]> {
        let problem = self.problem;
        let mut sides = problem.split(cases, test);
        if problem.passing_side(test) == 0 {
            sides.swap(0, 1);
        }
        let is_admissible = |side: &Cases| !side.rows.is_empty() && problem.admissible(&problem.totals(side));
        sides.iter().all(is_admissible).then_some(sides)
    }
}

impl<M: Mass> Solver for &Reference<'_, M> {
    type Node = Cases;

    fn budget(&self) -> &Budget {
        self.budget
    }

    fn node_penalty(&self) -> u64 {
        self.problem.node_penalty
    }

    fn leaf(&self, cases: &Cases) -> u64 {
        self.problem.leaf(&self.problem.totals(cases))
    }

    fn solve(&mut self, cases: &mut Cases, limits: TreeLimits, cutoff: u64) -> Result<u64, Stop> {
        self.least(cases, limits, cutoff)
    }

    fn first_root(&mut self, cases: &mut Cases, limits: TreeLimits, cost: u64) -> Result<Root, Stop> {
        let ticker = &mut Ticker::new(self.budget);
        for test in 0..self.problem.n_tests {
            ticker.tick(4 * cases.rows.len())?;
            let Some([fail, pass]) = self.split(cases, test) else { continue };
            for (of_pass, of_fail) in shares(limits.depth, limits.nodes, true) {
                let left = (cost + 1).saturating_sub(self.problem.node_penalty);
                let on_pass = self.least(&pass, limits.branch(of_pass), left)?;
                if on_pass >= left {
                    continue;
                }
                let on_fail = self.least(&fail, limits.branch(of_fail), left - on_pass)?;
                if on_pass + on_fail < left {
                    return Ok(Root { test: test as u32, nodes: [of_pass, of_fail], costs: [on_pass, on_fail] });
                }
            }
        }
        unreachable!("a cost below that of a leaf is that of some split")
    }

    fn branch(&mut self, cases: &mut Cases, test: u32, passes: bool) -> Result<Cases, Stop> {
        let [fail, pass] = self.split(cases, test as usize).expect("a root splits its cases");
        Ok(if passes { pass } else { fail })
    }

    fn n_tests(&self) -> u64 {
        self.problem.n_tests as u64
    }

    /// The reference finds no tree fast.
    fn exact_depth(&self) -> u32 {
        u32::MAX
    }

    fn splits(&mut self, cases: &mut Cases, test: u32) -> Result<bool, Stop> {
        Ok(self.split(cases, test as usize).is_some())
    }

    /// The one of least cost as a root over two leaves.
    fn promising(&mut self, cases: &mut Cases, _limits: TreeLimits, _most: usize) -> Result<Vec<u32>, Stop> {
        let (mut best, ticker) = (None, &mut Ticker::new(self.budget));
        for test in 0..self.problem.n_tests {
            ticker.tick(8 * cases.rows.len())?;
            let Some(sides) = self.split(cases, test) else { continue };
            let cost = sides.iter().map(|side| self.leaf(side)).sum::<u64>();
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, test as u32));
            }
        }
        Ok(best.map(|(_, test)| test).into_iter().collect())
    }

    fn is_long(&self, _depth: u32) -> bool {
        true
    }

    fn times_per_level(&self) -> [f64; 2] {
        [1.0, 1.0]
    }

    fn first_depth(&self, _depth: u32) -> u32 {
        1
    }

    fn deepen(
        &mut self,
        root: &mut Cases,
        limits: TreeLimits,
        known: u64,
        anytime: &Anytime,
        _proves: bool,
    ) -> Result<u64, Stop> {
        let cost = self.least(root, limits, known)?;
        if cost < known {
            anytime.offer(canonical(self, root, limits, cost)?, cost);
        }
        Ok(cost.min(known))
    }
}
