//! One run of a search: what all engines are given, and the search over 0/1 tests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use smallvec::SmallVec;

use super::binary::{self, Accumulator, BinaryEngine, Instances};
use super::driver::{self, Request, Timing, TreeLimits};
use super::label_masses::{ClassMasses, class_masses};
use super::params::{Checked, Params, Switches};
use super::problem::{Mass, Problem};
use super::progress::{Anytime, Board, Incumbent};
use super::reference::Reference;
use crate::budget::{Budget, Stop, Ticker};
use crate::constraint::Constraints;
use crate::data::{BinaryTable, Dataset, Schema, equal_rows};
use crate::objective::{Objective, Units, leaf};
use crate::threads;

/// By how much less work than a node's, before bounds, a pool of threads pays.
const POOL: u64 = 10;

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
        let mut ticker = Ticker::new(self.budget);
        let masses = self.class_masses(&table.pattern_of, table.n_patterns, &mut ticker)?;
        let _problem = self.budget.reserve(Problem::<M>::bytes(masses.n_entries(), table, constraints.min_leaf))?;
        let problem: Problem<M> = Problem::new(table, self.objective, &masses, constraints, &mut ticker)?;
        drop(masses);
        let root = problem.root();
        let (leaf, floor) = (problem.leaf(&problem.totals(&root)), problem.equivalent_points(&root.rows));
        let mut anytime = Anytime::new(leaf, floor, self.objective, self.board, self.budget);
        stats.insert("patterns", problem.n_rows as u64);
        let stop = match self.binary(&problem, &mut anytime, stats) {
            Some(result) => result.err(),
            None => self.reference(&problem, &anytime, stats).err(),
        };
        Ok((anytime.finish(), stop))
    }

    /// What rows that are equal cost in every tree, whatever tests there are; 0 where the limits do not allow to tell.
    pub(super) fn cost_of_equal_rows(&self) -> u64 {
        let _scope = self.budget.scope();
        let ticker = &mut Ticker::new(self.budget);
        let mut cost = || {
            let (number_of, distinct) = equal_rows(self.data, ticker)?;
            let masses = class_masses(self.objective, &number_of, distinct, None, ticker)?;
            let of_leaf = |number: usize| -> u64 {
                let masses: SmallVec<[u64; 8]> = masses.of(number).iter().map(|&(_, mass)| mass).collect();
                leaf(&masses).0
            };
            let mut cost = 0;
            for number in 0..distinct {
                cost += of_leaf(number);
                ticker.tick(10 + masses.of(number).len())?;
            }
            Ok::<u64, Stop>(cost)
        };
        cost().unwrap_or(0)
    }

    pub(super) fn request(&self) -> Request {
        let Params { rank, discrepancies, effort, seed, .. } = self.params.params;
        let limits = TreeLimits::new(self.constraints.max_depth, self.constraints.max_nodes);
        Request { limits, rank, discrepancies, effort, seed }
    }

    /// Runs the reference.
    fn reference<M: Mass>(
        &self,
        problem: &Problem<M>,
        anytime: &Anytime,
        stats: &mut BTreeMap<&'static str, u64>,
    ) -> Result<(), Stop> {
        // Half of the memory is the cache's, the rest for the cases of the nodes on the stack.
        let available = self.budget.available();
        let _held = self.budget.reserve(available)?;
        let depth = u64::from(self.constraints.max_depth);
        if (problem.n_rows as u64).saturating_mul(16 * (depth + 1)) > available / 2 {
            return Err(Stop::Memory);
        }
        let Switches { ref cache, bounds, .. } = self.params.params.switches;
        let reference = Reference {
            problem,
            budget: self.budget,
            cache: cache.build(problem.n_rows, available / 2),
            bounds,
            stats: Default::default(),
        };
        let (mut root, timing) = (problem.root(), &mut Timing::default());
        let result = driver::search(&mut &reference, &mut root, self.request(), anytime, timing);
        stats.insert("cache_hits", reference.stats.cache_hits.load(Relaxed));
        stats.insert("cache_bytes", reference.cache.bytes());
        stats.insert("bounded", reference.stats.bounded.load(Relaxed));
        stats.insert("threads", 1);
        result
    }

    /// Runs the binary engine. `None` if the memory does not hold what it needs.
    fn binary<M: Mass>(
        &self,
        problem: &Problem<M>,
        anytime: &mut Anytime,
        stats: &mut BTreeMap<&'static str, u64>,
    ) -> Option<Result<(), Stop>> {
        // A leaf needs no engine.
        let is_leaf = problem.n_tests == 0 || self.request().limits.depth == 0;
        if self.params.params.switches.reference || is_leaf {
            return None;
        }
        // Half the range, for differences.
        let lane = match problem.greatest(self.objective.total()) {
            most if most < 1 << 15 => 2,
            most if most < 1 << 31 => 4,
            _ => 8,
        };
        let ticker = &mut Ticker::new(self.budget);
        let counting = self.params.params.switches.counting;
        let instances = self
            .budget
            .reserve(0)
            .and_then(|mut charged| Ok((Instances::new(problem, lane, counting, ticker, &mut charged)?, charged)));
        let (instances, _charged) = match instances {
            Ok(made) => made,
            // The reference needs no instances.
            Err(Stop::Memory) => return None,
            Err(stop) => return Some(Err(stop)),
        };
        match lane {
            2 => self.binary_in::<M, u16>(problem, instances, anytime, stats),
            4 => self.binary_in::<M, u32>(problem, instances, anytime, stats),
            _ => self.binary_in::<M, u64>(problem, instances, anytime, stats),
        }
    }

    /// Runs the binary engine in lanes of this kind.
    fn binary_in<M: Mass, L: Accumulator>(
        &self,
        problem: &Problem<M>,
        instances: Instances,
        anytime: &mut Anytime,
        stats: &mut BTreeMap<&'static str, u64>,
    ) -> Option<Result<(), Stop>> {
        let (switches, request) = (&self.params.params.switches, self.request());
        // Half of the memory is for nodes, at the cost of their pairs, then of threads, and all of it before the engine
        // is given up; a quarter for the cache, if it is left.
        let available = self.budget.available();
        let needs = |keeps_pairs: bool, threads: usize| {
            binary::bytes(&instances, size_of::<L>(), keeps_pairs, request.limits.depth, threads)
        };
        let fits = |&(keeps_pairs, threads): &(bool, usize)| needs(keeps_pairs, threads) <= available / 2;
        let fewer =
            std::iter::successors(Some(self.threads), |&threads| Some(threads / 2).filter(|&threads| threads > 0));
        // Trees of depth two need no pairs but those at hand.
        let keeps = switches.matrices && request.limits.depth > 2;
        let ways = [(keeps, self.threads)].into_iter().chain(fewer.map(|threads| (false, threads)));
        let in_all = || (needs(false, 1) <= available).then_some((false, 1));
        let (keeps_pairs, most_threads) = ways.into_iter().find(fits).or_else(in_all)?;
        let for_nodes = needs(keeps_pairs, most_threads);
        let left = available - for_nodes;
        let room = binary::CacheRoom { cache: left.min(available / 4), bounds: left.saturating_sub(available / 4) };
        let _nodes = match self.budget.reserve(available) {
            Ok(nodes) => nodes,
            Err(stop) => return Some(Err(stop)),
        };
        let pays = request.limits.depth > 2
            && instances.work(request.limits.depth).saturating_mul(POOL) > switches.parallel_work;
        Some(threads::with_pool(if pays { most_threads } else { 1 }, |threads| {
            let switches = switches.binary(keeps_pairs);
            let mut engine = BinaryEngine::<M, L>::new(
                problem,
                instances,
                self.budget,
                switches,
                threads,
                request.limits.depth,
                room,
            )?;
            let mut timing = Timing::default();
            let result = engine.search(problem.root(), request, anytime, &mut timing);
            stats.extend(engine.counts());
            stats.insert("threads", threads as u64);
            stats.insert("steps", timing.steps);
            if request.limits.depth > 2 {
                timing.tell(stats);
            }
            result
        }))
    }
}
