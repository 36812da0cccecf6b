//! The table as growth sees it: cases in a row, their classes and masses, columns as codes in the order of their values.

use std::cmp::Reverse;
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::cases::CaseSet;
use super::grid::Grid;
use super::orders::{Entry, Layout};
use super::split::Cut;
use super::weigh::weighed;
use super::{ClassWeight, Missing, Params, mean};
use crate::bits;
use crate::budget::{Budget, Stop, Ticker};
use crate::data::dataset::MISSING;
use crate::data::{Column, Dataset, Kind, Notation, NumericType, Ordered, Sorter, Target, Value};
use crate::error::Result;
use crate::objective::Units;
use crate::tree::Threshold;

/// The code of a case without a value.
pub(crate) const NONE: u32 = MISSING;

/// How many cases one row stands for, and what mass.
#[derive(Debug)]
pub(crate) enum Weights {
    /// One case of mass one.
    Unit,
    /// As many cases as mass.
    Counts(Vec<u64>),
    /// Counts, and masses apart.
    Masses(Vec<u64>, Vec<u64>),
}

/// One column.
pub(crate) struct Coded {
    /// Whether its values have an order.
    pub ordered: bool,
    /// One more than the greatest code. A missing value that counts as one has the last code.
    pub n_codes: u32,
    /// The code of a missing value that counts as one.
    pub own: Option<u32>,
    /// Whether every case has a value, be it that of missing ones.
    pub is_complete: bool,
    /// What stands for a missing value in prediction.
    pub imputed: Option<Value>,
    values: Values,
    codes: OnceLock<Vec<u32>>,
    entries: OnceLock<Vec<Entry>>,
}

enum Values {
    Ordered(Ordered, Notation, usize),
    Nominal(Arc<Column>),
}

impl Coded {
    /// Per case: the rank of its value, or its level; [`NONE`] without one.
    pub fn codes(&self) -> &[u32] {
        match &self.values {
            Values::Nominal(column) if self.own.is_none() => match &**column {
                Column::Levels { codes, .. } => codes,
                _ => unreachable!("nominal columns hold levels"),
            },
            Values::Nominal(column) => self.codes.get_or_init(|| match (&**column, self.own) {
                (Column::Levels { codes, .. }, Some(own)) => codes.iter().map(|&code| code.min(own)).collect(),
                _ => unreachable!("nominal columns hold levels"),
            }),
            Values::Ordered(ordered, _, n_cases) => self.codes.get_or_init(|| {
                let mut codes = vec![self.own.unwrap_or(NONE); *n_cases];
                for rank in 0..ordered.n_values() {
                    ordered.rows_of(rank).iter().for_each(|&case| codes[case as usize] = rank as u32);
                }
                codes
            }),
        }
    }

    /// Whether [`Coded::codes`] are at hand, and need not be made first.
    pub fn has_codes(&self) -> bool {
        matches!(self.values, Values::Nominal(_)) && self.own.is_none() || self.codes.get().is_some()
    }

    /// The cases with a value, in its order, and their codes; a missing value that counts as one is not among them.
    /// Panics on a nominal column.
    pub fn in_order(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let Values::Ordered(ordered, ..) = &self.values else { panic!("nominal columns have no order") };
        (0..ordered.n_values()).flat_map(|rank| ordered.rows_of(rank).iter().map(move |&case| (case, rank as u32)))
    }

    /// The cases with a value as entries of a sorted column, of a column whose codes fit; a missing value that counts as
    /// one is not among them. Panics on a nominal column.
    pub fn entries(&self, layout: Layout, classes: &[u32]) -> &[Entry] {
        let entry = |(case, code): (u32, u32)| layout.entry(code, classes[case as usize], case);
        self.entries.get_or_init(|| self.in_order().map(entry).collect())
    }

    /// [`Coded::entries`] to be changed; kept too for others to come, if that is asked for.
    pub fn entries_for(&self, layout: Layout, classes: &[u32], keeps: bool) -> Vec<Entry> {
        match keeps || self.entries.get().is_some() {
            true => self.entries(layout, classes).to_vec(),
            false => self.in_order().map(|(case, code)| layout.entry(code, classes[case as usize], case)).collect(),
        }
    }

    /// Whether some of the cases have a missing value that counts as one.
    pub fn has_own(&self, set: &CaseSet) -> bool {
        self.own.is_some_and(|own| {
            let codes = self.codes();
            set.cases().iter().any(|&case| codes[case as usize] == own)
        })
    }

    /// How many branches a split has, those that no case took included.
    pub fn n_branches(&self, cut: &Cut) -> u64 {
        match cut {
            Cut::Each(codes) => {
                let Listed { levels, missing, others } = self.listed(codes);
                levels.len() as u64 + u64::from(missing) + u64::from(others)
            }
            _ => 2,
        }
    }

    /// What the branches of a split by each code stand for. Columns of many levels list those that came alone.
    pub fn listed(&self, codes: &[u32]) -> Listed {
        let n_levels = self.n_codes - u32::from(self.own.is_some());
        let missing = self.own.is_some() && codes.last().copied() == self.own;
        let levels: Vec<u32> = match n_levels <= ALL_LISTED {
            true => (0..n_levels).collect(),
            false => codes[..codes.len() - usize::from(missing)].to_vec(),
        };
        let others = levels.len() < n_levels as usize;
        Listed { levels, missing, others }
    }

    /// What separates two values that do not count as missing. Panics on a nominal column.
    pub fn threshold(&self, below: u32, above: u32) -> Threshold {
        let (ordered, notation) = self.order();
        ordered.threshold_between(notation, below, above)
    }

    /// A value that does not count as missing. Panics on a nominal column.
    pub fn value(&self, code: u32) -> Threshold {
        let (ordered, notation) = self.order();
        ordered.value(notation, code)
    }

    fn order(&self) -> (&Ordered, &Notation) {
        let Values::Ordered(ordered, notation, _) = &self.values else { panic!("nominal columns have no order") };
        (ordered, notation)
    }
}

/// Columns of up to this many levels have a branch for each of them.
const ALL_LISTED: u32 = 32;

/// The branches of a split by each code, in this order.
pub(crate) struct Listed {
    pub levels: Vec<u32>,
    /// Whether missing values have a branch.
    pub missing: bool,
    /// Whether levels that are not listed have one.
    pub others: bool,
}

/// All of it.
pub(crate) struct Table {
    pub n_cases: usize,
    pub n_classes: usize,
    /// Per case.
    pub classes: Arc<[u32]>,
    pub weights: Weights,
    pub columns: Vec<Coded>,
    pub units: Units,
    /// Binary digits of the fraction of a case: a whole one has 2^digits.
    pub digits: u32,
    /// The mass of all cases, in units.
    pub total: u64,
    /// How many they are, counts added up.
    pub count: u64,
    grid: OnceLock<Grid>,
}

impl Table {
    /// Leaves absent rows out, weighs, imputes and codes. The outer result is the call's, the inner one the budget's.
    ///
    /// Complexity: O(n log n) per continuous column.
    pub fn new(
        data: &Dataset,
        params: &Params,
        budget: &Budget,
        parallel: bool,
    ) -> Result<std::result::Result<Self, Stop>> {
        if let Err(stop) = reserve_rows(data, params, budget) {
            return Ok(Err(stop));
        }
        let (cases, present, units) = weighed(data, params)?;
        (0..data.columns().len()).try_for_each(|index| data.check_learnable(index, &present))?;
        let counts = || (0..cases.n_rows()).map(|row| cases.count(row)).collect::<Vec<_>>();
        let masses = || (0..cases.n_rows()).map(|row| units.mass(&cases, row)).collect::<Vec<_>>();
        // Masses may be counts although cases weigh: all the same, most often.
        let are_counts = (0..cases.n_rows()).all(|row| units.mass(&cases, row) == cases.count(row));
        let weights = match (are_counts, cases.counts()) {
            (true, None) => Weights::Unit,
            (true, Some(_)) => Weights::Counts(counts()),
            // Cases count as much as they weigh.
            _ if params.min_leaf_mass > 0.0 => Weights::Counts(masses()),
            _ => Weights::Masses(counts(), masses()),
        };
        let count = match &weights {
            Weights::Unit => cases.n_rows() as u64,
            Weights::Counts(counts) | Weights::Masses(counts, _) => counts.iter().sum(),
        };
        let Target::Classes(classes) = cases.target() else { panic!("the search checked that the target has classes") };
        let total = units.total;
        let mass = |case: usize| match &weights {
            Weights::Unit => 1,
            Weights::Counts(masses) | Weights::Masses(_, masses) => masses[case],
        };
        let n_classes = cases.schema().labels().map_or(0, |labels| labels.len());
        let code = |index: usize| code(&cases, index, params.missing, (classes, n_classes), &mass, budget);
        let columns: std::result::Result<Vec<Coded>, Stop> = match parallel {
            true => (0..cases.columns().len()).into_par_iter().map(code).collect(),
            false => (0..cases.columns().len()).map(code).collect(),
        };
        let bits = 64 - total.max(count).leading_zeros();
        Ok(columns.map(|columns| Table {
            n_cases: cases.n_rows(),
            n_classes,
            classes: classes.clone(),
            digits: (62 - bits).min(20),
            columns,
            weights,
            units,
            total,
            count,
            grid: OnceLock::new(),
        }))
    }

    /// Codes of narrow columns, case by case; made when it is asked for.
    pub fn grid(&self) -> &Grid {
        self.grid.get_or_init(|| Grid::new(&self.columns, self.n_cases))
    }

    /// Asks for the memory of [`Table::grid`], of which it makes none if there is not enough.
    pub fn plan_grid(&self, budget: &Budget) {
        if self.grid.get().is_none() {
            match budget.reserve(Grid::bytes(&self.columns, self.n_cases)) {
                Ok(held) => held.keep(),
                Err(_) => drop(self.grid.set(Grid::none(&self.columns))),
            }
        }
    }

    /// [`Table::grid`], if it was made.
    pub fn made_grid(&self) -> Option<&Grid> {
        self.grid.get()
    }

    /// The mass of a whole case.
    #[inline]
    pub fn mass(&self, case: u32) -> u64 {
        match &self.weights {
            Weights::Unit => 1,
            Weights::Counts(masses) | Weights::Masses(_, masses) => masses[case as usize],
        }
    }

    /// How many cases a row stands for.
    #[inline]
    pub fn count(&self, case: u32) -> u64 {
        match &self.weights {
            Weights::Unit => 1,
            Weights::Counts(counts) | Weights::Masses(counts, _) => counts[case as usize],
        }
    }
}

/// Memory for what a table has of each row, and for a copy of the rows to learn from where some may be absent; until the
/// run ends.
fn reserve_rows(data: &Dataset, params: &Params, budget: &Budget) -> std::result::Result<(), Stop> {
    let of_cell = |column: &Arc<Column>| match &**column {
        Column::Floats(_) => 8,
        Column::Integers { missing, .. } => 8 + u64::from(missing.is_some()),
        Column::Levels { .. } => 4,
    };
    let is_weighed = data.counts().is_some() || data.weights().is_some() || params.class_weight != ClassWeight::Equal;
    let mut of_row = 9;
    if is_weighed {
        of_row += 40;
    }
    if is_weighed || params.missing == Missing::Drop {
        of_row += 12 + data.columns().iter().map(of_cell).sum::<u64>();
    }
    budget.reserve(of_row * data.n_rows() as u64)?.keep();
    Ok(())
}

/// Imputes and codes one column of a table without absent rows.
fn code(
    cases: &Dataset,
    index: usize,
    missing: Missing,
    (classes, n_classes): (&[u32], usize),
    mass: &dyn Fn(usize) -> u64,
    budget: &Budget,
) -> std::result::Result<Coded, Stop> {
    let (kind, column) = (&cases.schema().features[index].kind, &cases.columns()[index]);
    let ticker = &mut Ticker::new(budget);
    ticker.tick(4 * column.len())?;
    let n = column.len() as u64;
    if !matches!(kind, Kind::Nominal(_)) {
        budget.reserve(Ordered::BYTES * n)?.keep();
    }
    let is_missing = column.n_missing() > 0;
    let mut column = column.clone();
    let mut imputed = None;
    if is_missing && matches!(missing, Missing::Mean | Missing::ClassMean) {
        // The filled column, and its cases by class.
        budget.reserve(16 * n)?.keep();
        imputed = usual(kind, &column, mass, &mut (0..column.len()));
        ticker.tick(10 * column.len())?;
        if let Some(overall) = imputed {
            let mut by_class: Vec<Value> = vec![overall; n_classes];
            if missing == Missing::ClassMean {
                let mut cases: Vec<u32> = (0..column.len() as u32).collect();
                cases.sort_by_key(|&case| classes[case as usize]);
                for of_class in cases.chunk_by(|&a, &b| classes[a as usize] == classes[b as usize]) {
                    let class = classes[of_class[0] as usize] as usize;
                    let mean = usual(kind, &column, mass, &mut of_class.iter().map(|&case| case as usize));
                    by_class[class] = mean.unwrap_or(overall);
                    ticker.tick(4000 + 10 * of_class.len())?;
                }
            }
            column = Arc::new(filled(&column, |case| by_class[classes[case] as usize]));
        }
    }
    let n_levels = kind.levels().len() as u32;
    let own = is_missing && missing == Missing::Level;
    let (values, n_codes, ordered) = match kind {
        Kind::Nominal(_) => (Values::Nominal(column), n_levels, false),
        _ => {
            let mut all = vec![0; bits::words(column.len())];
            bits::set_range(&mut all, 0, column.len());
            let ordered = Ordered::new(&column, &all, true, &mut Sorter::default(), ticker)?;
            let n_values = ordered.n_values() as u32;
            let notation = Notation::of(&cases.schema().features[index]);
            (Values::Ordered(ordered, notation, column.len()), n_values, true)
        }
    };
    let is_complete = match &values {
        Values::Ordered(ordered, ..) => !ordered.missing,
        Values::Nominal(column) => own || column.n_missing() == 0,
    };
    Ok(Coded {
        ordered,
        is_complete,
        n_codes: n_codes + u32::from(own),
        own: own.then_some(n_codes),
        imputed,
        values,
        codes: OnceLock::new(),
        entries: OnceLock::new(),
    })
}

/// The mean of a column over some cases, by mass, or its level of greatest mass, ties to the first; `None` without a
/// value. Means of integers and dates are rounded, since their thresholds are whole.
fn usual(
    kind: &Kind,
    column: &Column,
    mass: &dyn Fn(usize) -> u64,
    cases: &mut dyn Iterator<Item = usize>,
) -> Option<Value> {
    let known = cases.map(|case| (column.value(case, MISSING), mass(case)));
    match kind {
        Kind::Continuous(NumericType::Float) => {
            let float = |(value, mass)| if let Value::Float(x) = value { Some((x, mass)) } else { None };
            mean::of_floats(known.filter_map(float)).map(Value::Float)
        }
        Kind::Continuous(_) => {
            let integer = |(value, mass)| if let Value::Integer(x) = value { Some((x, mass)) } else { None };
            mean::of_integers(known.filter_map(integer)).map(Value::Integer)
        }
        Kind::Nominal(_) | Kind::Ordinal(_) => {
            // Of the levels that came alone: there may be many more.
            let mut masses: FxHashMap<u32, u64> = FxHashMap::default();
            for (value, mass) in known {
                if let Value::Level(level) = value {
                    *masses.entry(level).or_default() += mass;
                }
            }
            let (most, Reverse(level)) = masses.into_iter().map(|(level, mass)| (mass, Reverse(level))).max()?;
            (most > 0).then_some(Value::Level(level))
        }
    }
}

/// A column with its missing cells filled.
fn filled(column: &Column, with: impl Fn(usize) -> Value) -> Column {
    match column {
        Column::Floats(values) => Column::Floats(
            (0..values.len())
                .map(|case| match (values[case], with(case)) {
                    (x, Value::Float(mean)) if x.is_nan() => mean,
                    (x, _) => x,
                })
                .collect(),
        ),
        Column::Integers { values, missing } => Column::Integers {
            values: (0..values.len())
                .map(|case| match with(case) {
                    Value::Integer(mean) if missing.as_ref().is_some_and(|missing| missing[case]) => mean,
                    _ => values[case],
                })
                .collect(),
            missing: None,
        },
        Column::Levels { codes, .. } => Column::Levels {
            codes: (0..codes.len())
                .map(|case| match (codes[case], with(case)) {
                    (MISSING, Value::Level(level)) => level,
                    (code, _) => code,
                })
                .collect(),
            unseen: Vec::new(),
        },
    }
}
