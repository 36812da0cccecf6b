//! One run of a search: what all engines are given, and the search over 0/1 tests.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use super::label_masses::{ClassMasses, class_masses};
use super::params::Checked;
use super::problem::{self, Mass, Problem};
use super::progress::{Anytime, Board, Incumbent};
use super::reference::engine::{Counters, ReferenceEngine};
use super::reference::pair_counts::PairCounts;
use super::{binary, reference};
use crate::budget::{Budget, Stop, Ticker};
use crate::constraint::Constraints;
use crate::data::{BinaryTable, Dataset, Schema};
use crate::objective::{Objective, Units};
use crate::threads;

/// How much more work than a node's pays for a pool of threads: some ten milliseconds.
const POOL: u64 = 20;

/// What all engines are given.
pub(super) struct Run<'a> {
    pub(super) data: &'a Dataset,
    pub(super) units: &'a Units,
    pub(super) schema: &'a Arc<Schema>,
    pub(super) objective: &'a dyn Objective,
    pub(super) params: &'a Checked,
    pub(super) constraints: Constraints,
    pub(super) budget: &'a Budget,
    pub(super) board: &'a Board,
    pub(super) threads: usize,
}

impl<'a> Run<'a> {
    /// The rewards of each pattern, and the support of its rows where that matters.
    pub(super) fn class_masses(
        &self,
        pattern_of: &[u32],
        n_patterns: usize,
        ticker: &mut Ticker<'a>,
    ) -> Result<ClassMasses<'a>, Stop> {
        let support = |row: usize| self.constraints.support(self.data, self.units, row);
        let support = (self.constraints.min_leaf > 1).then_some(&support as &dyn Fn(usize) -> u64);
        class_masses(self.objective, pattern_of, n_patterns, support, ticker)
    }

    /// The search over 0/1 tests.
    pub(super) fn search_tests(
        &self,
        table: &mut BinaryTable,
        stats: &mut BTreeMap<&'static str, u64>,
    ) -> Result<(Incumbent, Option<Stop>), Stop> {
        let n_cases: u64 = (0..self.data.n_rows()).map(|row| self.data.count(row)).sum();
        let widest = self.objective.total().max(self.units.total).max(n_cases);
        // Four times the total: the depth-two solver adds up four cells and penalties.
        match widest < u64::from(u32::MAX) / 4 {
            true => self.search::<u32>(table, stats),
            false => self.search::<u64>(table, stats),
        }
    }

    /// The best tree, and why the search ended early if it did. Fails if a limit struck before there was any tree.
    fn search<M: Mass>(
        &self,
        table: &mut BinaryTable,
        stats: &mut BTreeMap<&'static str, u64>,
    ) -> Result<(Incumbent, Option<Stop>), Stop> {
        let constraints = &self.constraints;
        let switches = &self.params.params.switches;
        let (depth, nodes) = crate::constraint::usable(constraints.max_depth, constraints.max_nodes);
        let mut ticker = Ticker::new(self.budget);
        let masses = self.class_masses(&table.pattern_of, table.n_patterns, &mut ticker)?;
        let _problem = self.budget.reserve(Problem::<M>::bytes(masses.n_entries(), table, constraints.min_leaf))?;
        let problem: Problem<M> = Problem::new(table, self.objective, &masses, constraints, &mut ticker)?;
        drop(masses);
        // Half of the memory is the cache's; the rest is for the nodes on the stacks of all threads, of which each has
        // cases, counts of single tests and bounds, and then pairs.
        let (available, scratches) =
            (self.budget.available(), |threads: usize| (threads * (depth as usize + 2)) as u64);
        let of_node = (PairCounts::bytes_besides(&problem) + 128 * problem.n_tests + 16 * problem.n_rows) as u64;
        let mut reference_threads = self.threads;
        while reference_threads > 1 && scratches(reference_threads) * of_node > available / 4 {
            reference_threads /= 2;
        }
        let for_nodes = available / 2 / scratches(reference_threads);
        let mut search = ReferenceEngine {
            problem: &problem,
            budget: self.budget,
            cache: switches.cache.build(problem.n_rows, available / 2),
            bounds: switches.bounds,
            depth_two: switches.depth_two,
            threads: reference_threads,
            parallel_work: switches.parallel_work,
            pair_bytes: for_nodes.saturating_sub(of_node) as usize,
            scratch: Mutex::new(Vec::new()),
            stats: Counters::default(),
        };
        if of_node > for_nodes || PairCounts::bytes(&problem, &(0..1.min(problem.n_tests))) > search.pair_bytes {
            return Err(Stop::Memory);
        }
        let root = problem.root();
        let leaf = problem.leaf(&problem.totals(&root));
        let floor = reference::similarity::equivalent_points(&problem, &root);
        let anytime = Anytime::new(leaf, floor, self.objective, self.board, self.budget);
        if let Some(most) = self.params.params.discrepancies
            && let Err(stop) = search.offer_limited(&root, (depth, nodes), most, &anytime)
        {
            return Ok((anytime.finish(), Some(stop)));
        }
        if let Some(stop) = self.binary(&mut search, &root, (depth, nodes), &anytime, stats) {
            // A limit before the search proper leaves the trees found so far.
            return Ok((anytime.finish(), stop.unwrap_or_else(Some)));
        }
        let _nodes = self.budget.reserve(self.budget.available())?;
        let threads = if search.work(&root, depth) / POOL > switches.parallel_work { reference_threads } else { 1 };
        let stop = threads::with_pool(threads, |threads| {
            search.threads = threads;
            let stop = search.prove_and_rebuild(&root, depth, nodes, self.params.params.rank, &anytime).err();
            stats.insert("depth_two", search.stats.depth_two.load(Relaxed));
            stats.insert("cache_hits", search.stats.cache_hits.load(Relaxed));
            stats.insert("cache_bytes", search.cache.bytes());
            stats.insert("bounded", search.stats.bounded.load(Relaxed));
            stats.insert("patterns", problem.n_rows as u64);
            stats.insert("threads", threads as u64);
            stop
        });
        Ok((anytime.finish(), stop))
    }
}

impl Run<'_> {
    /// Runs the binary search, if it is fit for the problem.
    fn binary<M: Mass>(
        &self,
        reference: &mut ReferenceEngine<M>,
        root: &problem::Cases,
        limits: (u32, u64),
        anytime: &Anytime,
        stats: &mut BTreeMap<&'static str, u64>,
    ) -> Option<Result<Option<Stop>, Stop>> {
        let switches = &self.params.params.switches;
        let problem = reference.problem;
        if switches.plain || limits.0 < 3 || problem.n_tests == 0 {
            return None;
        }
        let most = self.objective.total().max(problem.totals(root).iter().map(|&mass| mass.into()).max().unwrap_or(0));
        // Half the range, for differences.
        let lane = if most < 1 << 15 {
            2
        } else if most < 1 << 31 {
            4
        } else {
            8
        };
        let ticker = &mut Ticker::new(self.budget);
        let instances = self.budget.reserve(0).and_then(|mut charged| {
            Ok((binary::Instances::new(problem, lane, switches.counting, ticker, &mut charged)?, charged))
        });
        let (instances, _charged) = match instances {
            Ok(made) => made,
            // The reference engine needs no instances.
            Err(Stop::Memory) => return None,
            Err(stop) => return Some(Err(stop)),
        };
        // Half of the memory is for nodes, at the cost of their pairs, then of threads; a quarter for the cache.
        let available = self.budget.available();
        let needs = |keeps_pairs: bool, threads: usize| binary::bytes(&instances, lane, keeps_pairs, limits.0, threads);
        let fits = |&(keeps_pairs, threads): &(bool, usize)| needs(keeps_pairs, threads) <= available / 2;
        let fewer =
            std::iter::successors(Some(self.threads), |&threads| Some(threads / 2).filter(|&threads| threads > 0));
        let ways = [(switches.matrices, self.threads)].into_iter().chain(fewer.map(|threads| (false, threads)));
        let (keeps_pairs, most_threads) = ways.into_iter().find(fits)?;
        let for_nodes = needs(keeps_pairs, most_threads);
        let room = binary::CacheRoom { cache: available / 4, bounds: (available * 3 / 4).saturating_sub(for_nodes) };
        let _nodes = match self.budget.reserve(available) {
            Ok(nodes) => nodes,
            Err(stop) => return Some(Err(stop)),
        };
        let threads = if reference.work(root, limits.0) / POOL > switches.parallel_work { most_threads } else { 1 };
        Some(threads::with_pool(threads, |threads| {
            reference.threads = threads;
            let (engine_switches, rank) = (switches.binary(keeps_pairs), self.params.params.rank);
            let report = match lane {
                2 => binary::search::<M, u16>(reference, instances, engine_switches, root, limits, rank, anytime, room),
                4 => binary::search::<M, u32>(reference, instances, engine_switches, root, limits, rank, anytime, room),
                _ => binary::search::<M, u64>(reference, instances, engine_switches, root, limits, rank, anytime, room),
            }?;
            stats.extend(report.counters);
            stats.insert("patterns", problem.n_rows as u64);
            stats.insert("threads", threads as u64);
            Ok(report.stop)
        }))
    }
}
