//! Evaluation of the splits that a cache lacks: screened if that is enough, and on several threads if the set is large.

use std::sync::{Arc, Mutex};

use rayon::ThreadPool;
use rayon::prelude::*;

use super::case_set::CaseSet;
use super::data::GrowthData;
use super::dispatch::ImpurityVisitor;
use super::histogram::Histogram;
use super::screening::{Entering, RatedColumn, Screen, ScreenedNode};
use super::split::{ColumnSplit, NodeStats, Scratch, SplitRule};
use super::split_cache::SplitCache;
use super::types::{Bin, EntryLayout};
use crate::bits;
use crate::budget::{Budget, Stop, Ticker};
use crate::criterion::{ClassImpurity, ClassStats};
use crate::threads::{held, lock};

/// Cases times columns from which columns are distributed to threads.
const PARALLEL: usize = 1 << 17;

/// A set of cases that may be split.
pub(crate) struct CasesToSplit<'a> {
    pub cases: &'a CaseSet,
    /// Their class masses.
    pub masses: &'a [u64],
    /// Their number.
    pub count: u64,
}

/// Evaluates the splits that caches lack.
pub(crate) trait SplitEvaluator: Send {
    /// Whether a set is a leaf whatever its columns are.
    fn is_leaf(&self, masses: &[u64], whole: bool, count: u64, depth: u64) -> bool;
    /// Evaluates splits of a set until the best of the allowed columns is known.
    fn evaluate(
        &mut self,
        cache: &mut SplitCache,
        set: &CasesToSplit,
        allowed: &[u64],
        ticker: &mut Ticker,
    ) -> Result<(), Stop>;
    /// The number of evaluations so far, of one column at one set each.
    fn evaluations(&self) -> u64;
}

/// Makes a [`SplitEvaluator`] for any impurity.
pub(crate) struct NewEvaluator {
    pub table: Arc<GrowthData>,
    /// Threads for the columns of large case sets.
    pub pool: Option<Arc<ThreadPool>>,
}

/// Buffers for the evaluation of one column.
type Buffers = Box<(Histogram, Scratch)>;

struct Evaluator<I> {
    exact: ExactEvaluator<I>,
    screen: Screen,
    /// Buffers for the statistics of a set, and for columns.
    stats: ClassStats,
    entering: Entering,
    evaluations: u64,
}

/// Evaluates single columns exactly; shared by threads.
struct ExactEvaluator<I> {
    table: Arc<GrowthData>,
    rules: [SplitRule<I>; 2],
    pool: Option<Arc<ThreadPool>>,
    buffers: Mutex<Vec<Buffers>>,
}

impl ImpurityVisitor for NewEvaluator {
    type Output = Box<dyn SplitEvaluator>;

    fn visit<I: ClassImpurity + Send + 'static>(self, rules: [SplitRule<I>; 2]) -> Self::Output {
        let NewEvaluator { table, pool } = self;
        Box::new(Evaluator {
            exact: ExactEvaluator { table, rules, pool, buffers: Mutex::default() },
            screen: Screen::default(),
            stats: ClassStats::default(),
            entering: Entering::default(),
            evaluations: 0,
        })
    }
}

/// A set of cases with its statistics. At first these are the class masses and their sum; the running sums of the
/// impurity are computed when they are needed.
struct LazySet<'a> {
    cases: &'a CaseSet,
    count: u64,
    stats: ClassStats,
    is_complete: bool,
}

impl<'a> LazySet<'a> {
    fn new(set: &CasesToSplit<'a>, mut stats: ClassStats) -> Self {
        stats.masses.clear();
        stats.masses.extend_from_slice(set.masses);
        stats.total = set.masses.iter().sum();
        LazySet { cases: set.cases, count: set.count, stats, is_complete: false }
    }

    fn complete<I: ClassImpurity>(&mut self, impurity: &I) {
        if !std::mem::replace(&mut self.is_complete, true) {
            impurity.recompute(&mut self.stats);
        }
    }

    fn node(&self) -> NodeStats<'_> {
        NodeStats::all(&self.stats, self.count)
    }
}

impl<I: ClassImpurity + Send> SplitEvaluator for Evaluator<I> {
    fn is_leaf(&self, masses: &[u64], whole: bool, count: u64, depth: u64) -> bool {
        self.exact.rules[usize::from(!whole)].is_leaf(masses, count, depth)
    }

    fn evaluate(
        &mut self,
        cache: &mut SplitCache,
        set: &CasesToSplit,
        allowed: &[u64],
        ticker: &mut Ticker,
    ) -> Result<(), Stop> {
        let mut set = LazySet::new(set, std::mem::take(&mut self.stats));
        let mut entering = std::mem::take(&mut self.entering);
        let mut outcome = Ok(());
        while outcome.is_ok() && cache.best(allowed).is_err() {
            entering.columns.clear();
            outcome = self.extend(cache, &mut set, allowed, &mut entering, ticker);
        }
        (self.stats, self.entering) = (set.stats, entering);
        outcome
    }

    fn evaluations(&self) -> u64 {
        self.evaluations
    }
}

impl<I: ClassImpurity> Evaluator<I> {
    /// Takes columns into a cache that were not evaluated, or screened only; if there are none, starts the cache anew.
    fn extend(
        &mut self,
        cache: &mut SplitCache,
        set: &mut LazySet,
        allowed: &[u64],
        entering: &mut Entering,
        ticker: &mut Ticker,
    ) -> Result<(), Stop> {
        let is_allowed = |column: u32| bits::get(allowed, column as usize);
        let end = cache.ranked.iter().find(|ranked| is_allowed(ranked.column)).filter(|ranked| ranked.is_perfect);
        let end = end.map_or(usize::MAX, |ranked| ranked.column as usize);
        let not_evaluated = |cache: &SplitCache, columns: &mut Vec<usize>| {
            let before = bits::ones(allowed).take_while(|&column| column < end);
            columns.extend(before.filter(|&column| !bits::get(&cache.evaluated, column)));
        };
        let cases = set.cases;
        not_evaluated(cache, &mut entering.columns);
        let can_screen = !cache.has_many_columns() && self.exact.pool_for(cases, entering.columns.len()).is_none();
        let (mut outcome, mut is_alone) = (Ok(()), false);
        if entering.columns.is_empty() {
            cache.take_pending(is_allowed, &mut entering.columns);
            is_alone = entering.columns.len() == 1;
            if entering.columns.is_empty() {
                // One of the dropped columns is needed.
                cache.restart();
                not_evaluated(cache, &mut entering.columns);
            }
        } else if can_screen {
            outcome = self.screen_columns(cache, set, entering, ticker);
        }
        // The exact gain of a column is not needed if no other column comes near it.
        let mut n_ties = entering.added.len();
        loop {
            if outcome.is_ok() && !entering.columns.is_empty() {
                set.complete(&self.exact.rule(cases).impurity);
                outcome = self.evaluate_exactly(cache, set, entering, is_alone, ticker);
            }
            entering.columns.clear();
            cache.take_doubtful(entering, n_ties);
            (is_alone, n_ties) = (false, 0);
            if entering.columns.is_empty() || outcome.is_err() {
                break;
            }
        }
        // Columns that were evaluated before a stop are kept.
        let rule = self.exact.rule(cases);
        if entering.added.iter().any(|(_, split)| !split.is_screened()) {
            set.complete(&rule.impurity);
        }
        cache.rank(&mut entering.added, |column, split| RatedColumn {
            column,
            is_perfect: rule.is_perfect(split, &set.stats),
            gain: rule.relative_gain(split, &set.stats),
        });
        outcome
    }

    /// Screens the entering columns, if the set can be screened; those that need exact evaluation are left.
    fn screen_columns(
        &mut self,
        cache: &mut SplitCache,
        set: &LazySet,
        entering: &mut Entering,
        ticker: &mut Ticker,
    ) -> Result<(), Stop> {
        let mut buffers = held(self.exact.buffers.get_mut()).pop().unwrap_or_default();
        let (n_screened, outcome) = match self.exact.screened(set) {
            Some(node) => self.screen.survey_into(cache, &node, entering, &mut buffers.1, ticker),
            None => (0, Ok(())),
        };
        self.evaluations += n_screened;
        held(self.exact.buffers.get_mut()).push(buffers);
        outcome
    }

    /// Evaluates the entering columns exactly, if they ascend up to the first perfect split; if a column `is_alone`,
    /// perhaps only its test.
    fn evaluate_exactly(
        &mut self,
        cache: &mut SplitCache,
        set: &LazySet,
        entering: &mut Entering,
        is_alone: bool,
        ticker: &mut Ticker,
    ) -> Result<(), Stop> {
        let Entering { columns, added } = entering;
        let mut take = |column: usize, split: ColumnSplit| {
            bits::set(&mut cache.evaluated, column);
            match split {
                ColumnSplit::Constant => bits::set(&mut cache.constant, column),
                ColumnSplit::NoSplit => {}
                ColumnSplit::Split(split) => added.push((column as u32, split)),
            }
        };
        if let Some(pool) = self.exact.pool_for(set.cases, columns.len()) {
            for (&column, split) in
                columns.iter().zip(self.exact.splits_in_parallel(pool, columns, set, ticker.budget()))
            {
                self.evaluations += 1;
                take(column, split?);
            }
            return Ok(());
        }
        let mut buffers = held(self.exact.buffers.get_mut()).pop().unwrap_or_default();
        let (exact, screen) = (&self.exact, &mut self.screen);
        let (screened, rule) = (exact.screened(set), exact.rule(set.cases));
        if let Some(node) = &screened {
            screen.enter(node);
        }
        let (mut outcome, mut is_entered) = (Ok(()), false);
        for &column in &*columns {
            outcome = ticker.tick(2 * set.cases.cases().len());
            if outcome.is_err() {
                break;
            }
            self.evaluations += 1;
            let split = match &screened {
                Some(node) => screen.evaluate(node, column, &mut buffers.1, ticker, is_alone),
                None => Ok(None),
            };
            let split = split.and_then(|split| match split {
                Some(split) => Ok(split),
                None => {
                    if !std::mem::replace(&mut is_entered, true) {
                        buffers.0.enter_for_keys(&exact.table, set.cases);
                    }
                    exact.split_of(column, set, &mut buffers, ticker)
                }
            });
            match split {
                Ok(split) => {
                    let is_end = matches!(&split, ColumnSplit::Split(split) if rule.is_perfect(split, &set.stats));
                    take(column, split);
                    if is_end {
                        break;
                    }
                }
                Err(stop) => {
                    outcome = Err(stop);
                    break;
                }
            }
        }
        if is_entered {
            buffers.0.leave(set.cases);
        }
        held(self.exact.buffers.get_mut()).push(buffers);
        outcome
    }
}

impl<I: ClassImpurity> ExactEvaluator<I> {
    /// The threads to distribute so many columns of a set to, if that pays.
    fn pool_for(&self, cases: &CaseSet, n_columns: usize) -> Option<&ThreadPool> {
        self.pool.as_deref().filter(|_| cases.cases().len() * n_columns > PARALLEL)
    }

    fn rule(&self, cases: &CaseSet) -> &SplitRule<I> {
        &self.rules[usize::from(cases.has_fractions())]
    }

    /// The set as a node to be screened, if it can be.
    fn screened<'a>(&'a self, set: &'a LazySet) -> Option<ScreenedNode<'a, I>> {
        ScreenedNode::new(self.rule(set.cases), &self.table, set.cases, &set.stats, set.count)
    }

    /// The best splits of columns, by the threads of a pool.
    fn splits_in_parallel(
        &self,
        pool: &ThreadPool,
        columns: &[usize],
        set: &LazySet,
        budget: &Budget,
    ) -> Vec<Result<ColumnSplit, Stop>> {
        let chunks = columns.par_chunks(columns.len().div_ceil(4 * pool.current_num_threads()));
        let splits = chunks.flat_map_iter(|columns| {
            let (mut buffers, mut ticker) = (lock(&self.buffers).pop().unwrap_or_default(), Ticker::new(budget));
            buffers.0.enter_for_keys(&self.table, set.cases);
            let split = |&column: &usize| {
                ticker.tick(2 * set.cases.cases().len())?;
                self.split_of(column, set, &mut buffers, &mut ticker)
            };
            let splits: Vec<Result<ColumnSplit, Stop>> = columns.iter().map(split).collect();
            buffers.0.leave(set.cases);
            lock(&self.buffers).push(buffers);
            splits
        });
        pool.install(|| splits.collect())
    }

    /// The best split of a column of a set that the histogram has entered.
    fn split_of(
        &self,
        column: usize,
        set: &LazySet,
        buffers: &mut Buffers,
        ticker: &mut Ticker,
    ) -> Result<ColumnSplit, Stop> {
        let (histogram, scratch) = &mut **buffers;
        let (rule, node, cases) = (self.rule(set.cases), &set.node(), set.cases);
        let coded = &self.table.columns[column];
        let (layout, k) = (EntryLayout::new(self.table.n_classes), self.table.n_classes);
        let fits = coded.ordered && layout.fits(coded.n_codes);
        if fits && let Some(keys) = histogram.keys(&self.table, column, cases, layout) {
            let bin = |&key: &u32| layout.unit_bin(key);
            return Ok(match (keys.first(), keys.last()) {
                (Some(first), Some(last)) if bin(first).code != bin(last).code => {
                    rule.best_of_ordered(coded, keys.iter().map(bin), node, scratch, ticker)?.into()
                }
                _ => ColumnSplit::Constant,
            });
        }
        if coded.ordered
            && let Some(counts) = histogram.counts_by_code(&self.table, column, cases)
        {
            let of_code = (0..).zip(counts.chunks_exact(k)).filter(|(_, of_code)| of_code.iter().any(|&n| n > 0));
            if of_code.clone().nth(1).is_none() {
                return Ok(ColumnSplit::Constant);
            }
            let of_code =
                of_code.flat_map(|(code, of_code)| (0..).zip(of_code).map(move |(class, &n)| (code, class, n)));
            let bins = of_code.filter(|(.., n)| *n > 0);
            let bins = bins.map(|(code, class, n)| Bin { code, class, mass: n.into(), count: n.into() });
            return Ok(rule.best_of_ordered(coded, bins, node, scratch, ticker)?.into());
        }
        histogram.collect(&self.table, column, cases);
        let bins = &histogram.bins;
        Ok(match bins.first().map(|bin| bin.code) == bins.last().map(|bin| bin.code) {
            true => ColumnSplit::Constant,
            false => rule.best(coded, bins, node, scratch, ticker)?.into(),
        })
    }
}
