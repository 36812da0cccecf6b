//! The engine for columns of many values: all thresholds, no 0/1 tests.
//!
//! `instances` is the data as instances in the order of each column, `node` what a column looks like among the instances of a
//! branch. `interval` has the bounds that carry the search; `search` is branch and bound over intervals, `start` a first
//! tree; at depth two `depth_two` finds the best stumps of a cut's branches, by the loop in `stump` or, where classes are
//! many, that in `scan`, and `depth_one` the cuts of those that are in a tree. `parallel` shares the root out among threads,
//! `canonical` finds the tree that users get, and `plan` says
//! what may be kept in memory.
//!
//! Differences from Brița, van der Linden and Demirović, *Optimal classification trees for continuous feature data using
//! dynamic programming with branch-and-bound* (AAAI 2025), whose bounds by nested sets these are: intervals of all columns
//! compete in one heap; what a branch is asked is exactly what would end its neighbours; stumps are found by a loop over
//! presorted instances in the lanes of vector registers, those of several classes as pairs of classes; thresholds are as
//! fine as floats, and columns of all kinds, weights, budgets and penalties are searched alike.

mod arena;
mod canonical;
mod depth_one;
mod depth_two;
mod instances;
mod interval;
mod memory;
mod node;
mod parallel;
mod plan;
mod scan;
mod search;
mod start;
mod stump;
mod stump_branch;

use std::collections::BTreeMap;

use super::label_masses::ClassMasses;
use super::params::Rank;
use super::progress::{Anytime, Incumbent};
use super::run::Run;
use crate::budget::{Stop, Ticker};
use crate::constraint::usable;
use crate::data::RankedTable;
use crate::simd::Isa;
use crate::threads;
use instances::RankedInstances;
use parallel::RootSearch;
use plan::Plan;
use search::{IntervalSearch, Query};
use stump::Index;

/// The best tree, and why the search ended early if it did. Fails if a limit struck before there was any tree.
pub(super) fn search(
    run: &Run,
    table: &mut RankedTable,
    stats: &mut BTreeMap<&'static str, u64>,
) -> Result<(Incumbent, Option<Stop>), Stop> {
    let mut ticker = Ticker::new(run.budget);
    let masses = run.class_masses(&table.pattern_of, table.n_patterns, &mut ticker)?;
    // As units they may be a quarter more.
    let n = masses.n_entries();
    match n + n / 4 < u16::MOST {
        true => with_index::<u16>(run, table, masses, stats, &mut ticker),
        false => with_index::<u32>(run, table, masses, stats, &mut ticker),
    }
}

fn with_index<'b, I: Index>(
    run: &Run<'b>,
    table: &mut RankedTable,
    masses: ClassMasses<'b>,
    stats: &mut BTreeMap<&'static str, u64>,
    ticker: &mut Ticker<'b>,
) -> Result<(Incumbent, Option<Stop>), Stop> {
    let constraints = &run.constraints;
    let limits = usable(constraints.max_depth, constraints.max_nodes);
    let mut ground: RankedInstances<I> = RankedInstances::new(run, table, &masses, ticker)?;
    drop(masses);
    // The ground has them in its own way.
    table.columns.iter_mut().for_each(|column| column.ranks = Vec::new());
    let isa = if run.params.params.switches.baseline { Isa::all()[0] } else { Isa::best() };
    let most_threads = if limits.0 > 2 { run.threads } else { 1 };
    let Plan { by_pairs, threads, room, charged: _charged } = Plan::new(&ground, limits.0, most_threads, run.budget)?;
    if by_pairs {
        ground.pair_classes(ticker)?;
    }
    threads::with_pool(threads, |threads| {
        let mut workers: Vec<IntervalSearch<I>> =
            (0..threads).map(|_| IntervalSearch::new(&ground, limits.0, isa, run.budget, room)).collect();
        let leaf = workers[0].nodes.at(0).leaf();
        let anytime =
            Anytime::new(leaf as u64 + ground.constant, ground.constant, run.objective, run.board, run.budget);
        let whole = Whole { anytime: &anytime, limits, rank: run.params.params.rank };
        let stop = whole.search(&ground, &mut workers).err();
        stats.insert("patterns", table.n_patterns as u64);
        stats.insert("threads", threads as u64);
        stats.insert("cuts_tried", workers.iter().map(|worker| worker.tried).sum());
        stats.insert("instances_scanned", workers.iter().map(|worker| worker.stumps.scans).sum());
        Ok((anytime.finish(), stop))
    })
}

/// The search of a whole table.
struct Whole<'a> {
    anytime: &'a Anytime<'a>,
    limits: (u32, u64),
    rank: Rank,
}

impl Whole<'_> {
    fn search<'g, I: Index>(
        &self,
        ground: &'g RankedInstances<'g, I>,
        workers: &mut [IntervalSearch<'g, I>],
    ) -> Result<(), Stop> {
        workers[0].budget.check()?;
        let ((depth, nodes), constant) = (self.limits, ground.constant);
        let relaxed = ground.min_leaf <= 1;
        let mut cost = workers[0].nodes.at(0).leaf();
        let mut open = None;
        if depth > 0 && cost > ground.penalty {
            // A tree of depth three is found about as fast.
            if depth > 3 {
                let (shape, found) = workers[0].look_ahead(0, (depth, nodes))?;
                self.anytime.offer(shape, found as u64 + constant);
                cost = cost.min(found);
            }
            // Shallower trees take a small part of the time and give incumbents that cut the deeper search short.
            for shallow in 2..=depth {
                let is_last = shallow == depth;
                let (depth, nodes) = usable(shallow, nodes);
                let ask = Query { depth, nodes, target: i64::MAX / 4, ties: is_last, relaxed };
                let root = RootSearch { anytime: self.anytime, constant, ask, proves: is_last };
                let (found, ties) = root.search(workers, cost)?;
                cost = found;
                open = is_last.then_some(ties);
            }
            if depth == 1 {
                let stump = workers[0].solve(0, &Query { depth, nodes, target: cost, ties: false, relaxed })?;
                cost = stump.upper.min(cost);
            }
        }
        let worker = &mut workers[0];
        self.anytime.prove(cost as u64 + constant);
        let mut shape = worker.canonical(0, (depth, nodes), cost, open)?;
        if self.rank == Rank::ObjectiveThenNodes {
            self.anytime.replace(shape.clone(), cost as u64 + constant);
            // Algorithm 7 of MurTree.
            let mut fewest = shape.n_nodes();
            let mut reaches = |nodes: u64| -> Result<bool, Stop> {
                let ask = Query { depth, nodes, target: cost + 1, ties: false, relaxed };
                Ok(worker.solve(0, &ask)?.upper == cost)
            };
            while fewest > 0 && reaches(fewest - 1)? {
                fewest -= 1;
            }
            if fewest < shape.n_nodes() {
                shape = worker.canonical(0, (depth, fewest), cost, None)?;
            }
        }
        self.anytime.replace(shape, cost as u64 + constant);
        Ok(())
    }
}
