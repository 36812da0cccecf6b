//! The splits that rankings lack: looked for roughly where that is enough, in several columns at a time where sets are large.

use std::sync::{Arc, Mutex};

use rayon::ThreadPool;
use rayon::prelude::*;
use smallvec::SmallVec;

use super::cases::CaseSet;
use super::cells::{Cell, Cells};
use super::orders::Layout;
use super::ranking::{Added, KEPT, MANY_COLUMNS, Place, Ranking};
use super::rough::{Rough, RoughLook};
use super::rules::WithRules;
use super::split::{Look, Rule, Sides};
use super::table::Table;
use crate::bits;
use crate::budget::{Stop, Ticker};
use crate::criterion::{Impurity, Side};
use crate::threads::{held, lock};

/// Cases times columns from which columns are shared out to threads.
const PARALLEL: usize = 1 << 17;

/// Finds the splits that rankings lack.
pub(crate) trait Ranks: Send {
    /// Whether a set cannot be split whatever its columns are like.
    fn is_leaf(&self, masses: &[u64], whole: bool, count: u64, depth: u64) -> bool;
    /// Looks for splits of a set, of these class masses and that many cases, until the best of the allowed columns is known.
    fn rank(
        &mut self,
        ranking: &mut Ranking,
        set: (&CaseSet, &[u64], u64),
        allowed: &[u64],
        ticker: &mut Ticker,
    ) -> Result<(), Stop>;
    /// How often the best split of a column at a set was looked for.
    fn evaluations(&self) -> u64;
}

/// The way to [`Ranks`] under any impurity.
pub(crate) struct NewRanks {
    pub table: Arc<Table>,
    /// For the columns of large case sets.
    pub pool: Option<Arc<ThreadPool>>,
}

/// For the work on one column.
type Room = Box<(Cells, Sides)>;

struct RanksBy<I> {
    table: Arc<Table>,
    rules: [Rule<I>; 2],
    pool: Option<Arc<ThreadPool>>,
    rooms: Mutex<Vec<Room>>,
    rough: Rough,
    /// Room for the class masses of a set, for columns, and for their splits.
    side: Side,
    columns: Vec<usize>,
    added: Added,
    evaluations: u64,
}

impl WithRules for NewRanks {
    type Outcome = Box<dyn Ranks>;

    fn run<I: Impurity + Send + 'static>(self, rules: [Rule<I>; 2]) -> Self::Outcome {
        let NewRanks { table, pool } = self;
        let (rooms, rough, side) = (Mutex::default(), Rough::default(), Side::default());
        let (columns, added) = (Vec::new(), Vec::new());
        Box::new(RanksBy { table, rules, pool, rooms, rough, side, columns, added, evaluations: 0 })
    }
}

/// The class masses of a set and their sum; what an impurity keeps beside them is found when it is needed.
struct Unsettled {
    side: Side,
    is_settled: bool,
}

impl Unsettled {
    fn settle<I: Impurity>(&mut self, rule: &Rule<I>) -> &Side {
        if !std::mem::replace(&mut self.is_settled, true) {
            rule.impurity.settle(&mut self.side);
        }
        &self.side
    }
}

impl<I: Impurity> RanksBy<I> {
    fn look(
        &self,
        column: usize,
        (set, side, count): (&CaseSet, &Side, u64),
        room: &mut Room,
        ticker: &mut Ticker,
    ) -> Result<Look, Stop> {
        let (cells, sides) = &mut **room;
        let rule = &self.rules[usize::from(set.has_fractions())];
        let coded = &self.table.columns[column];
        let (layout, k) = (Layout::new(self.table.n_classes), self.table.n_classes);
        let fits = coded.ordered && layout.fits(coded.n_codes);
        if fits && let Some(keys) = cells.keys(&self.table, column, set, layout) {
            let cell = |&key: &u32| layout.cell(key);
            return Ok(match (keys.first(), keys.last()) {
                (Some(first), Some(last)) if cell(first).code != cell(last).code => {
                    rule.best_cut(coded, keys.iter().map(cell), (side, count), sides, ticker)?.into()
                }
                _ => Look::Constant,
            });
        }
        if coded.ordered
            && let Some(tallies) = cells.tallies(&self.table, column, set)
        {
            let of_code = (0..).zip(tallies.chunks_exact(k)).filter(|(_, of_code)| of_code.iter().any(|&n| n > 0));
            if of_code.clone().nth(1).is_none() {
                return Ok(Look::Constant);
            }
            let of_code =
                of_code.flat_map(|(code, of_code)| (0..).zip(of_code).map(move |(class, &n)| (code, class, n)));
            let cells = of_code.filter(|(.., n)| *n > 0);
            let cells = cells.map(|(code, class, n)| Cell { code, class, mass: n.into(), count: n.into() });
            return Ok(rule.best_cut(coded, cells, (side, count), sides, ticker)?.into());
        }
        cells.collect(&self.table, column, set);
        let cells = &cells.cells;
        Ok(match cells.first().map(|cell| cell.code) == cells.last().map(|cell| cell.code) {
            true => Look::Constant,
            false => rule.best(coded, cells, (side, count), sides, ticker)?.into(),
        })
    }
}

impl<I: Impurity + Send> Ranks for RanksBy<I> {
    fn is_leaf(&self, masses: &[u64], whole: bool, count: u64, depth: u64) -> bool {
        self.rules[usize::from(!whole)].is_leaf(masses, count, depth)
    }

    fn rank(
        &mut self,
        ranking: &mut Ranking,
        (cases, masses, count): (&CaseSet, &[u64], u64),
        allowed: &[u64],
        ticker: &mut Ticker,
    ) -> Result<(), Stop> {
        let mut side = std::mem::take(&mut self.side);
        let (mut columns, mut added) = (std::mem::take(&mut self.columns), std::mem::take(&mut self.added));
        side.masses.clear();
        side.masses.extend_from_slice(masses);
        side.total = masses.iter().sum();
        let (mut node, mut outcome) = (Unsettled { side, is_settled: false }, Ok(()));
        while outcome.is_ok() && ranking.best(allowed).is_err() {
            columns.clear();
            let set = (cases, &mut node, count);
            outcome = self.extend(ranking, set, allowed, (&mut columns, &mut added), ticker);
        }
        (self.side, self.columns, self.added) = (node.side, columns, added);
        outcome
    }

    fn evaluations(&self) -> u64 {
        self.evaluations
    }
}

impl<I: Impurity> RanksBy<I> {
    /// Takes columns that were not looked at, or roughly only, into a ranking or, if there are none, starts it anew.
    fn extend(
        &mut self,
        ranking: &mut Ranking,
        (cases, node, count): (&CaseSet, &mut Unsettled, u64),
        allowed: &[u64],
        (columns, added): (&mut Vec<usize>, &mut Added),
        ticker: &mut Ticker,
    ) -> Result<(), Stop> {
        let is_allowed = |column: u32| bits::get(allowed, column as usize);
        let end = ranking.places.iter().find(|place| is_allowed(place.column)).filter(|place| place.is_perfect);
        let end = end.map_or(usize::MAX, |place| place.column as usize);
        let unknown = |ranking: &Ranking, columns: &mut Vec<usize>| {
            let before = bits::ones(allowed).take_while(|&column| column < end);
            columns.extend(before.filter(|&column| !bits::get(&ranking.evaluated, column)));
        };
        unknown(ranking, columns);
        let is_few = ranking.evaluated.len() * 64 <= MANY_COLUMNS && self.sharing(cases, columns.len()).is_none();
        let (mut outcome, mut is_alone) = (Ok(()), false);
        if !columns.is_empty() && is_few && Rough::fits(self.rule(cases), &self.table, &node.side) {
            outcome = self.look_roughly(ranking, (cases, &node.side), columns, added, ticker);
        } else if columns.is_empty() {
            ranking.take_rough(is_allowed, columns);
            is_alone = columns.len() == 1;
            if columns.is_empty() {
                // What was dropped is looked at anew.
                ranking.evaluated.clone_from(&ranking.constant);
                (ranking.places, ranking.found, ranking.is_cut) = (SmallVec::new(), SmallVec::new(), false);
                unknown(ranking, columns);
            }
        }
        // A cut alone is enough where no other column comes near.
        let mut n_ties = added.len();
        loop {
            if outcome.is_ok() && !columns.is_empty() {
                let set = (cases, node.settle(self.rule(cases)), count);
                outcome = self.look_exactly(ranking, set, columns, is_alone, added, ticker);
            }
            columns.clear();
            ranking.take_doubtful(added, n_ties, columns);
            (is_alone, n_ties) = (false, 0);
            if columns.is_empty() || outcome.is_err() {
                break;
            }
        }
        // What was looked at until then is in its place.
        if added.iter().any(|(_, found)| !found.is_rough()) {
            node.settle(self.rule(cases));
        }
        self.place(ranking, (cases, &node.side), added);
        outcome
    }

    /// The threads that so many columns of a set are shared out to, if that pays.
    fn sharing(&self, set: &CaseSet, n_columns: usize) -> Option<&ThreadPool> {
        self.pool.as_deref().filter(|_| set.cases().len() * n_columns > PARALLEL)
    }

    fn rule(&self, set: &CaseSet) -> &Rule<I> {
        &self.rules[usize::from(set.has_fractions())]
    }

    /// Looks at columns roughly, and at that of greatest gain as closely as it takes. Leaves those that take an exact look.
    fn look_roughly(
        &mut self,
        ranking: &mut Ranking,
        (set, side): (&CaseSet, &Side),
        columns: &mut Vec<usize>,
        added: &mut Added,
        ticker: &mut Ticker,
    ) -> Result<(), Stop> {
        let rules = (&self.rules[usize::from(set.has_fractions())], &*self.table);
        let evaluations = &mut self.evaluations;
        let mut room = held(self.rooms.get_mut()).pop().unwrap_or_default();
        let saw = |column: usize, look: &RoughLook| {
            *evaluations += 1;
            if !matches!(look, RoughLook::Unclear) {
                bits::set(&mut ranking.evaluated, column);
            }
            if matches!(look, RoughLook::Constant) {
                bits::set(&mut ranking.constant, column);
            }
        };
        let (best, outcome) = self.rough.survey(rules, (set, side), columns, &mut room.1, ticker, saw);
        added.extend(best);
        added.append(&mut self.rough.ties);
        held(self.rooms.get_mut()).push(room);
        columns.clone_from(&self.rough.unclear);
        columns.iter().for_each(|&column| bits::clear(&mut ranking.evaluated, column));
        ranking.rough.reserve_exact(self.rough.gains.len());
        ranking.rough.extend_from_slice(&self.rough.gains);
        outcome
    }

    /// Looks at columns, if they are in order up to the first perfect split; at one that `is_alone` for its cut.
    fn look_exactly(
        &mut self,
        ranking: &mut Ranking,
        set: (&CaseSet, &Side, u64),
        columns: &[usize],
        is_alone: bool,
        added: &mut Added,
        ticker: &mut Ticker,
    ) -> Result<(), Stop> {
        let mut take = |column: usize, look: Look| {
            bits::set(&mut ranking.evaluated, column);
            match look {
                Look::Constant => bits::set(&mut ranking.constant, column),
                Look::NoSplit => {}
                Look::Splits(found) => added.push((column as u32, found)),
            }
        };
        let n = set.0.cases().len();
        if let Some(pool) = self.sharing(set.0, columns.len()) {
            let threads = pool.current_num_threads();
            let budget = ticker.budget();
            let chunks = columns.par_chunks(columns.len().div_ceil(4 * threads));
            let looks = chunks.flat_map_iter(|columns| {
                let (mut room, mut ticker) = (lock(&self.rooms).pop().unwrap_or_default(), Ticker::new(budget));
                room.0.enter_for_keys(&self.table, set.0);
                let look = |&column: &usize| {
                    ticker.tick(2 * n)?;
                    self.look(column, set, &mut room, &mut ticker)
                };
                let looks: Vec<Result<Look, Stop>> = columns.iter().map(look).collect();
                room.0.leave(set.0);
                lock(&self.rooms).push(room);
                looks
            });
            let looks: Vec<Result<Look, Stop>> = pool.install(|| looks.collect());
            for (&column, look) in columns.iter().zip(looks) {
                self.evaluations += 1;
                take(column, look?);
            }
            return Ok(());
        }
        let mut outcome = Ok(());
        let mut room = held(self.rooms.get_mut()).pop().unwrap_or_default();
        let is_rough = Rough::fits(self.rule(set.0), &self.table, set.1);
        if is_rough {
            self.rough.enter(&self.table, set.0, set.1);
        }
        let mut is_entered = false;
        for &column in columns {
            outcome = ticker.tick(2 * n);
            if outcome.is_err() {
                break;
            }
            self.evaluations += 1;
            let look = match is_rough {
                true => {
                    let rules = (&self.rules[usize::from(set.0.has_fractions())], &*self.table);
                    self.rough.closely(rules, column, (set.0, set.1), (&mut room.1, ticker), is_alone)
                }
                false => Ok(None),
            };
            let look = look.and_then(|look| match look {
                Some(look) => Ok(look),
                None => {
                    if !is_entered {
                        room.0.enter_for_keys(&self.table, set.0);
                    }
                    is_entered = true;
                    self.look(column, set, &mut room, ticker)
                }
            });
            let look = match look {
                Ok(look) => look,
                Err(stop) => {
                    outcome = Err(stop);
                    break;
                }
            };
            let is_end = matches!(&look, Look::Splits(found) if self.rule(set.0).is_perfect(found, set.1));
            take(column, look);
            if is_end {
                break;
            }
        }
        if is_entered {
            room.0.leave(set.0);
        }
        held(self.rooms.get_mut()).push(room);
        outcome
    }

    /// Puts splits where they belong in a ranking.
    fn place(&self, ranking: &mut Ranking, (set, side): (&CaseSet, &Side), added: &mut Added) {
        if added.is_empty() {
            return;
        }
        // What comes behind the last that was kept may be behind what was dropped too.
        let last = ranking.places.last().filter(|_| ranking.is_cut).map(|place| place.column);
        added.extend(ranking.places.drain(..).map(|place| place.column).zip(ranking.found.drain(..)));
        added.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        if let Some(last) = last {
            added.truncate(added.iter().position(|(column, _)| *column == last).map_or(0, |place| place + 1));
        }
        if ranking.evaluated.len() * 64 > MANY_COLUMNS && added.len() > 2 * KEPT {
            added.truncate(KEPT);
            ranking.is_cut = true;
        }
        let rule = self.rule(set);
        ranking.places.extend(added.iter().map(|(column, found)| Place {
            column: *column,
            is_perfect: rule.is_perfect(found, side),
            gain: rule.rough_gain(found, side),
        }));
        ranking.found.extend(added.drain(..).map(|(_, found)| found));
    }
}
