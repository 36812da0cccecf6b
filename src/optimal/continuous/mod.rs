//! The engine for columns of many values: all thresholds, no 0/1 tests.
//!
//! `instances` is the data as instances in the order of each column, `node` what a column looks like among the
//! instances of a branch. `interval` has the bounds that carry the search; `search` is branch and bound over intervals;
//! at depth two `depth_two` finds the best stumps of a cut's branches, by the loop in `stump` or, where classes are
//! many, that in `scan`, and `depth_one` the cuts of those that are in a tree. `parallel` shares the root out among
//! threads, `canonical` finds the roots of the tree that users get, `solver` is the engine as the driver sees it, and
//! `plan` says what may be kept in memory.
//!
//! Differences from Brița, van der Linden and Demirović, *Optimal classification trees for continuous feature data
//! using dynamic programming with branch-and-bound* (AAAI 2025), whose bounds by nested sets these are: intervals of
//! all columns compete in one heap; what a branch is asked is exactly what would end its neighbours; stumps are found
//! by a loop over presorted instances in the lanes of vector registers, those of several classes as pairs of classes;
//! thresholds are as fine as floats, and columns of all kinds, weights, budgets and penalties are searched alike.

mod arena;
mod canonical;
mod check;
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
mod solver;
mod stump;
mod stump_branch;

use std::collections::BTreeMap;

use super::bound_check::BoundCheck;
use super::driver::{self, Timing};
use super::label_masses::ClassMasses;
use super::progress::{Anytime, Incumbent};
use super::run::Run;
use crate::budget::{Stop, Ticker};
use crate::data::RankedTable;
use crate::simd::Isa;
use crate::threads;
use instances::RankedInstances;
use plan::Plan;
use search::IntervalSearch;
use solver::ContinuousSolver;
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
    let depth = run.request().limits.depth;
    let mut ground: RankedInstances<I> = RankedInstances::new(run, table, &masses, ticker)?;
    drop(masses);
    // The ground has them in its own way.
    table.columns.iter_mut().for_each(|column| column.ranks = Vec::new());
    let isa = if run.params.params.switches.baseline { Isa::all()[0] } else { Isa::best() };
    let most_threads = if depth > 2 { run.threads } else { 1 };
    let Plan { by_pairs, threads, room, charged: _charged } = Plan::new(&ground, depth, most_threads, run.budget)?;
    if by_pairs {
        ground.pair_classes(ticker)?;
    }
    let problem = BoundCheck::<u64>::IS_ON.then(|| ground.problem());
    let check = problem.as_ref().and_then(|problem| BoundCheck::new(problem, depth));
    threads::with_pool(threads, |threads| {
        let workers: Vec<IntervalSearch<I>> =
            (0..threads).map(|_| IntervalSearch::new(&ground, depth, isa, run.budget, room, check.as_ref())).collect();
        let leaf = workers[0].nodes.at(0).leaf();
        let constant = ground.constant;
        let mut anytime = Anytime::new(leaf as u64 + constant, constant, run.objective, run.board, run.budget);
        anytime.without(constant);
        let mut solver = ContinuousSolver::new(workers);
        let mut root = solver.root();
        let mut timing = Timing::default();
        let stop = driver::search(&mut solver, &mut root, run.request(), &anytime, &mut timing).err();
        let workers = solver.workers;
        if let Some(check) = &check {
            stats.insert("bounds_checked", check.n_checked());
        }
        stats.insert("patterns", table.n_patterns as u64);
        stats.insert("threads", threads as u64);
        stats.insert("steps", timing.steps);
        stats.insert("cuts_tried", workers.iter().map(|worker| worker.tried).sum());
        stats.insert("instances_scanned", workers.iter().map(|worker| worker.stumps.scans).sum());
        Ok((anytime.finish(), stop))
    })
}
