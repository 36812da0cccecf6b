//! The columns of a case set in the order of their splits, found as they are asked for.
//!
//! The worth of a column at a case set does not depend on the other columns (Assumption 4 of Ruggieri, JMLR 2019). So a
//! ranking serves trees over any of them: the best split over some columns is that of the first of them in it.

use std::sync::{Arc, Mutex};

use rayon::ThreadPool;
use rayon::prelude::*;
use smallvec::SmallVec;

use super::cases::CaseSet;
use super::cells::{Cell, Cells};
use super::orders::Layout;
use super::rough::{Columns, Rough, RoughLook, Survey};
use super::rules::WithRules;
use super::split::{Found, Look, Rule, Sides};
use super::table::Table;
use crate::bits;
use crate::budget::{Stop, Ticker};
use crate::criterion::roughly::MARGIN;
use crate::criterion::{Impurity, Side};
use crate::threads::lock;

/// A bit per column, without an allocation where columns are few.
type Words = SmallVec<[u64; 2]>;

/// Columns with their splits.
type Added = SmallVec<[(u32, Found); 2]>;

/// What is known of the columns at a case set.
#[derive(Debug)]
pub(crate) struct Ranking {
    /// Columns that are known to have no split here or to be in the ranking, or behind all that are.
    evaluated: Words,
    /// Columns that have one value here, and so in every part of these cases.
    constant: Words,
    /// The columns that split the set, best first; ties: the first column.
    places: SmallVec<[Place; 1]>,
    /// Their splits, in the same order.
    found: SmallVec<[Found; 1]>,
    /// Columns whose split is known roughly, and their gains per unit of the mass of the set.
    rough: Vec<(u32, f32)>,
    /// Whether columns were dropped at the end.
    is_cut: bool,
}

/// What is asked of a column in the ranking most often.
#[derive(Debug, Clone, Copy)]
struct Place {
    column: u32,
    /// Whether the split leaves no impurity.
    is_perfect: bool,
    /// About the gain per unit of the mass of the set.
    gain: f32,
}

/// Above this many columns a ranking keeps the best [`KEPT`] only.
const MANY_COLUMNS: usize = 512;
const KEPT: usize = 64;
/// Cases times columns from which columns are shared out to threads.
const PARALLEL: usize = 1 << 17;

impl Ranking {
    /// A ranking without any column, for a part of a set with another; `fixed`: a column with one value in this part.
    pub fn part_of(whole: &Ranking, fixed: Option<u32>) -> Self {
        let mut constant = whole.constant.clone();
        fixed.into_iter().for_each(|column| bits::set(&mut constant, column as usize));
        Self::new(constant)
    }

    /// A ranking for the set of all cases.
    pub fn empty(n_columns: usize) -> Self {
        Self::new(SmallVec::from_elem(0, bits::words(n_columns)))
    }

    /// A ranking where nothing will be asked.
    pub fn none() -> Self {
        Self::new(Words::new())
    }

    fn new(constant: Words) -> Self {
        let (places, found, rough) = (SmallVec::new(), SmallVec::new(), Vec::new());
        Ranking { evaluated: constant.clone(), constant, places, found, rough, is_cut: false }
    }

    /// The split at a place.
    pub fn found(&self, place: usize) -> (u32, &Found) {
        (self.places[place].column, &self.found[place])
    }

    /// About how many bytes it takes.
    pub fn bytes(&self) -> usize {
        let places = if self.places.spilled() { self.places.capacity() } else { 0 };
        let places = places * (size_of::<Place>() + size_of::<Found>());
        16 * self.evaluated.len() + places + self.rough.capacity() * size_of::<(u32, f32)>()
    }

    /// The place of the best of some columns: `Ok(None)` if none of them splits the set, `Err` if that is not known.
    #[inline]
    pub fn best(&self, allowed: &[u64]) -> Result<Option<usize>, ()> {
        let place = self.places.iter().position(|place| bits::get(allowed, place.column as usize));
        // A perfect split can be equalled by earlier columns only.
        let end = place.map(|place| self.places[place]).filter(|place| place.is_perfect);
        let unknown = allowed.iter().zip(&self.evaluated).enumerate().any(|(word, (allowed, evaluated))| {
            let open = allowed & !evaluated;
            open != 0 && end.is_none_or(|end| word * 64 + (open.trailing_zeros() as usize) < end.column as usize)
        });
        let is_ahead =
            |&(column, gain): &(u32, f32)| bits::get(allowed, column as usize) && self.may_beat(place, column, gain);
        let unknown = unknown || self.rough.iter().any(is_ahead);
        match (unknown, place) {
            (true, _) => Err(()),
            // What was dropped may be among them.
            (false, None) if self.is_cut => Err(()),
            (false, place) => Ok(place),
        }
    }

    /// Whether a split that is known roughly may be better than that at a place.
    fn may_beat(&self, place: Option<usize>, column: u32, gain: f32) -> bool {
        let Some(place) = place.map(|place| self.places[place]) else { return true };
        gain >= place.gain - MARGIN && !(place.is_perfect && column > place.column)
    }

    /// Forgets the columns, of those that are allowed and known roughly, that may be the best of them; ascending.
    fn take_rough(&mut self, is_allowed: impl Fn(u32) -> bool) -> Columns {
        let allowed = self.rough.iter().filter(|(column, _)| is_allowed(*column));
        let greatest = allowed.map(|(_, gain)| *gain).fold(f32::NEG_INFINITY, f32::max);
        let mut taken = Columns::new();
        self.rough.retain(|&(column, gain)| {
            let is_taken = is_allowed(column) && gain >= greatest - MARGIN;
            if is_taken {
                taken.push(column as usize);
                bits::clear(&mut self.evaluated, column as usize);
            }
            !is_taken
        });
        taken.sort_unstable();
        taken
    }

    /// Sets the bits of all columns that may be ahead of the one at `place` (or may split the set at all): only over
    /// some of them can the best be another.
    pub fn ahead(&self, place: Option<usize>, ahead: &mut [u64]) {
        ahead.iter_mut().zip(&self.evaluated).for_each(|(ahead, evaluated)| *ahead = !evaluated);
        let end = place.unwrap_or(self.places.len());
        self.places[..end].iter().for_each(|place| bits::set(ahead, place.column as usize));
        let rough = self.rough.iter().filter(|&&(column, gain)| self.may_beat(place, column, gain));
        rough.for_each(|&(column, _)| bits::set(ahead, column as usize));
        if let Some(Place { column, is_perfect: true, .. }) = place.map(|place| self.places[place]) {
            // Later columns cannot beat it; those before it in the ranking are earlier ones.
            let first = column as usize + 1;
            ahead.iter_mut().skip(first.div_ceil(64)).for_each(|word| *word = 0);
            if !first.is_multiple_of(64) {
                ahead[first / 64] &= !(!0 << (first % 64));
            }
        }
    }
}

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
type Room = (Cells, Sides);

struct RanksBy<I> {
    table: Arc<Table>,
    rules: [Rule<I>; 2],
    pool: Option<Arc<ThreadPool>>,
    rooms: Mutex<Vec<Room>>,
    rough: Rough,
    /// Room for the class masses of a set.
    side: Side,
    evaluations: u64,
}

impl WithRules for NewRanks {
    type Outcome = Box<dyn Ranks>;

    fn run<I: Impurity + Send + 'static>(self, rules: [Rule<I>; 2]) -> Self::Outcome {
        let NewRanks { table, pool } = self;
        let (rooms, rough, side) = (Mutex::default(), Rough::default(), Side::default());
        Box::new(RanksBy { table, rules, pool, rooms, rough, side, evaluations: 0 })
    }
}

impl<I: Impurity> RanksBy<I> {
    fn look(&self, column: usize, (set, side, count): (&CaseSet, &Side, u64), room: &mut Room) -> Look {
        let (cells, sides) = room;
        let rule = &self.rules[usize::from(set.has_fractions())];
        let coded = &self.table.columns[column];
        let (layout, k) = (Layout::new(self.table.n_classes), self.table.n_classes);
        let fits = coded.ordered && layout.fits(coded.n_codes);
        if fits && let Some(keys) = cells.keys(&self.table, column, set, layout) {
            let cell = |&key: &u32| layout.cell(key);
            return match (keys.first(), keys.last()) {
                (Some(first), Some(last)) if cell(first).code != cell(last).code => {
                    rule.best_cut(coded, keys.iter().map(cell), side, count, sides).into()
                }
                _ => Look::Constant,
            };
        }
        if coded.ordered
            && let Some(tallies) = cells.tallies(&self.table, column, set)
        {
            let of_code = (0..).zip(tallies.chunks_exact(k)).filter(|(_, of_code)| of_code.iter().any(|&n| n > 0));
            if of_code.clone().nth(1).is_none() {
                return Look::Constant;
            }
            let of_code =
                of_code.flat_map(|(code, of_code)| (0..).zip(of_code).map(move |(class, &n)| (code, class, n)));
            let cells = of_code.filter(|(.., n)| *n > 0);
            let cells = cells.map(|(code, class, n)| Cell { code, class, mass: n.into(), count: n.into() });
            return rule.best_cut(coded, cells, side, count, sides).into();
        }
        cells.collect(&self.table, column, set);
        let cells = &cells.cells;
        match cells.first().map(|cell| cell.code) == cells.last().map(|cell| cell.code) {
            true => Look::Constant,
            false => rule.best(coded, cells, side, count, sides).into(),
        }
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
        side.masses.clear();
        side.masses.extend_from_slice(masses);
        self.rule(cases).impurity.settle(&mut side);
        let mut outcome = Ok(());
        while outcome.is_ok() && ranking.best(allowed).is_err() {
            outcome = self.extend(ranking, (cases, &side, count), allowed, ticker);
        }
        self.side = side;
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
        set: (&CaseSet, &Side, u64),
        allowed: &[u64],
        ticker: &mut Ticker,
    ) -> Result<(), Stop> {
        let is_allowed = |column: u32| bits::get(allowed, column as usize);
        let end = ranking.places.iter().find(|place| is_allowed(place.column)).filter(|place| place.is_perfect);
        let end = end.map_or(usize::MAX, |place| place.column as usize);
        let unknown = |ranking: &Ranking| -> Columns {
            let before = bits::ones(allowed).take_while(|&column| column < end);
            before.filter(|&column| !bits::get(&ranking.evaluated, column)).collect()
        };
        let mut columns = unknown(ranking);
        let mut added = Added::new();
        let is_few = ranking.evaluated.len() * 64 <= MANY_COLUMNS && self.sharing(set.0, columns.len()).is_none();
        let mut outcome = Ok(());
        if !columns.is_empty() && is_few && Rough::fits(self.rule(set.0), &self.table, set.1) {
            (columns, outcome) = self.look_roughly(ranking, set, &columns, &mut added, ticker);
        } else if columns.is_empty() {
            columns = ranking.take_rough(is_allowed);
            if columns.is_empty() {
                // What was dropped is looked at anew.
                ranking.evaluated.clone_from(&ranking.constant);
                (ranking.places, ranking.found, ranking.is_cut) = (SmallVec::new(), SmallVec::new(), false);
                columns = unknown(ranking);
            }
        }
        if outcome.is_ok() {
            outcome = self.look_exactly(ranking, set, &columns, &mut added, ticker);
        }
        // What was looked at until then is in its place.
        self.place(ranking, set, added);
        outcome
    }

    /// The threads that so many columns of a set are shared out to, if that pays.
    fn sharing(&self, set: &CaseSet, n_columns: usize) -> Option<&ThreadPool> {
        self.pool.as_deref().filter(|_| set.cases().len() * n_columns > PARALLEL)
    }

    fn rule(&self, set: &CaseSet) -> &Rule<I> {
        &self.rules[usize::from(set.has_fractions())]
    }

    /// Whether a split leaves no impurity.
    fn is_perfect(&self, (set, side, _): (&CaseSet, &Side, u64), found: &Found) -> bool {
        let rule = self.rule(set);
        !rule.ratio && rule.impurity.perfect(side) == Some(found.gain)
    }

    /// Looks at columns roughly, and exactly at that of greatest gain. Returns those that take an exact look.
    fn look_roughly(
        &mut self,
        ranking: &mut Ranking,
        (set, side, _): (&CaseSet, &Side, u64),
        columns: &[usize],
        added: &mut Added,
        ticker: &mut Ticker,
    ) -> (Columns, Result<(), Stop>) {
        let rules = (&self.rules[usize::from(set.has_fractions())], &*self.table);
        let (mut outcome, evaluations) = (Ok(()), &mut self.evaluations);
        let mut room = lock(&self.rooms).pop().unwrap_or_default();
        let go_on = || {
            outcome = ticker.tick(2 * set.cases().len());
            *evaluations += u64::from(outcome.is_ok());
            outcome.is_ok()
        };
        let saw = |column: usize, look: &RoughLook| {
            if !matches!(look, RoughLook::Unclear) {
                bits::set(&mut ranking.evaluated, column);
            }
            if matches!(look, RoughLook::Constant) {
                bits::set(&mut ranking.constant, column);
            }
        };
        let Survey { gains, best, unclear } = self.rough.survey(rules, (set, side), columns, &mut room.1, go_on, saw);
        lock(&self.rooms).push(room);
        unclear.iter().for_each(|&column| bits::clear(&mut ranking.evaluated, column));
        added.extend(best);
        ranking.rough.reserve_exact(gains.len());
        ranking.rough.extend(gains);
        (unclear, outcome)
    }

    /// Looks at columns, if they are in order up to the first perfect split.
    fn look_exactly(
        &mut self,
        ranking: &mut Ranking,
        set: (&CaseSet, &Side, u64),
        columns: &[usize],
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
            ticker.tick(n * columns.len() / threads)?;
            let chunks = columns.par_chunks(columns.len().div_ceil(4 * threads));
            let looks = chunks.flat_map_iter(|columns| {
                let mut room = lock(&self.rooms).pop().unwrap_or_default();
                room.0.enter_for_keys(&self.table, set.0);
                let looks: Vec<Look> = columns.iter().map(|&column| self.look(column, set, &mut room)).collect();
                room.0.leave(set.0);
                lock(&self.rooms).push(room);
                looks
            });
            let looks: Vec<Look> = pool.install(|| looks.collect());
            self.evaluations += columns.len() as u64;
            columns.iter().zip(looks).for_each(|(&column, look)| take(column, look));
            return Ok(());
        }
        if columns.is_empty() {
            return Ok(());
        }
        let mut outcome = Ok(());
        let mut room = lock(&self.rooms).pop().unwrap_or_default();
        let is_rough = Rough::fits(self.rule(set.0), &self.table, set.1);
        if is_rough {
            self.rough.enter(&self.table, set.0);
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
                    self.rough.closely(rules, column, (set.0, set.1), &mut room.1)
                }
                false => None,
            };
            let look = look.unwrap_or_else(|| {
                if !is_entered {
                    room.0.enter_for_keys(&self.table, set.0);
                }
                is_entered = true;
                self.look(column, set, &mut room)
            });
            let is_end = matches!(&look, Look::Splits(found) if self.is_perfect(set, found));
            take(column, look);
            if is_end {
                break;
            }
        }
        if is_entered {
            room.0.leave(set.0);
        }
        lock(&self.rooms).push(room);
        outcome
    }

    /// Puts splits where they belong in a ranking.
    fn place(&self, ranking: &mut Ranking, set: (&CaseSet, &Side, u64), added: Added) {
        if added.is_empty() {
            return;
        }
        // What comes behind the last that was kept may be behind what was dropped too.
        let last = ranking.places.last().filter(|_| ranking.is_cut).map(|place| place.column);
        let known = ranking.places.drain(..).map(|place| place.column).zip(ranking.found.drain(..));
        let mut all = added;
        all.extend(known);
        all.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        if let Some(last) = last {
            all.truncate(all.iter().position(|(column, _)| *column == last).map_or(0, |place| place + 1));
        }
        if ranking.evaluated.len() * 64 > MANY_COLUMNS && all.len() > 2 * KEPT {
            all.truncate(KEPT);
            ranking.is_cut = true;
        }
        let rule = self.rule(set.0);
        ranking.places.extend(all.iter().map(|(column, found)| Place {
            column: *column,
            is_perfect: self.is_perfect(set, found),
            gain: rule.rough_gain(found, set.1),
        }));
        ranking.found.extend(all.into_iter().map(|(_, found)| found));
    }
}
