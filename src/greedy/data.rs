//! The training table as growth sees it: cases in a row with their classes and masses, and columns as codes in the
//! order of their values.

use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use super::byte_codes::ByteCodes;
use super::impute::impute;
use super::params::{Missing, Params};
use super::types::{Bin, CodedTest, Entry, EntryLayout, MISSING, case_of};
use super::weigh::weighed;
use crate::bits;
use crate::budget::{Budget, Stop, Ticker};
use crate::data::{Column, Dataset, Kind, Notation, Ordered, Sorter, Target, Value};
use crate::error::Result;
use crate::objective::ClassWeight;
use crate::objective::Units;
use crate::tree::Threshold;

/// The number of cases that each row stands for, and their mass.
#[derive(Debug)]
pub(crate) enum Weights {
    /// Each row is one case of mass one.
    Unit,
    /// Counts that are also the masses.
    Counts(Vec<u64>),
    /// Counts and masses.
    Masses(Vec<u64>, Vec<u64>),
}

/// A column of the training table.
pub(crate) struct TrainingColumn {
    /// Whether values have an order.
    pub ordered: bool,
    /// One more than the greatest code. Missing values that are a value of their own have the last code.
    pub n_codes: u32,
    /// The code of missing values, if they are a value of their own.
    pub own: Option<u32>,
    /// Whether every case has a code.
    pub is_complete: bool,
    /// The value imputed for missing ones in prediction.
    pub imputed: Option<Value>,
    values: ColumnValues,
    codes: OnceLock<Vec<u32>>,
    entries: OnceLock<Vec<Entry>>,
}

enum ColumnValues {
    Ordered(Ordered, Notation, usize),
    Nominal(Arc<Column>),
}

impl TrainingColumn {
    /// Per case: the rank of its value, or its level; [`MISSING`] without a value.
    pub fn codes(&self) -> &[u32] {
        match &self.values {
            ColumnValues::Nominal(column) if self.own.is_none() => match &**column {
                Column::Levels { codes, .. } => codes,
                _ => unreachable!("nominal columns hold levels"),
            },
            ColumnValues::Nominal(column) => self.codes.get_or_init(|| match (&**column, self.own) {
                (Column::Levels { codes, .. }, Some(own)) => codes.iter().map(|&code| code.min(own)).collect(),
                _ => unreachable!("nominal columns hold levels"),
            }),
            ColumnValues::Ordered(ordered, _, n_cases) => self.codes.get_or_init(|| {
                let mut codes = vec![self.own.unwrap_or(MISSING); *n_cases];
                for rank in 0..ordered.n_values() {
                    ordered.rows_of(rank).iter().for_each(|&case| codes[case as usize] = rank as u32);
                }
                codes
            }),
        }
    }

    /// Whether [`TrainingColumn::codes`] need not be computed first.
    pub fn has_codes(&self) -> bool {
        matches!(self.values, ColumnValues::Nominal(_)) && self.own.is_none() || self.codes.get().is_some()
    }

    /// The cases with a value and their codes, in the order of values; missing values are left out even if they have a
    /// code. Panics on a nominal column.
    pub fn in_order(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let ColumnValues::Ordered(ordered, ..) = &self.values else { panic!("nominal columns have no order") };
        (0..ordered.n_values()).flat_map(|rank| ordered.rows_of(rank).iter().map(move |&case| (case, rank as u32)))
    }

    /// [`TrainingColumn::in_order`] as entries of a presorted column, of a column whose codes fit. Panics on a nominal
    /// column.
    pub fn entries(&self, layout: EntryLayout, classes: &[u32]) -> &[Entry] {
        let entry = |(case, code): (u32, u32)| layout.entry(code, classes[case as usize], case);
        self.entries.get_or_init(|| self.in_order().map(entry).collect())
    }

    /// A copy of [`TrainingColumn::entries`] to be partitioned. `keeps`: whether the column keeps the original for
    /// other trees.
    pub fn entries_for(&self, layout: EntryLayout, classes: &[u32], keeps: bool) -> Vec<Entry> {
        match keeps || self.entries.get().is_some() {
            true => self.entries(layout, classes).to_vec(),
            false => self.in_order().map(|(case, code)| layout.entry(code, classes[case as usize], case)).collect(),
        }
    }

    /// Whether some of the cases have a missing value that is a value of its own.
    pub fn has_own(&self, cases: &[u32]) -> bool {
        self.own.is_some_and(|own| {
            let codes = self.codes();
            cases.iter().any(|&case| codes[case as usize] == own)
        })
    }

    /// The number of branches of a split in the tree, including those that no training case took.
    pub fn n_branches(&self, test: &CodedTest) -> u64 {
        match test {
            CodedTest::Each(codes) => {
                let ListedBranches { levels, missing, others } = self.listed(codes);
                levels.len() as u64 + u64::from(missing) + u64::from(others)
            }
            _ => 2,
        }
    }

    /// The branches of a split by each code. Of a column with many levels, only those that came to the node are listed.
    pub fn listed(&self, codes: &[u32]) -> ListedBranches {
        let n_levels = self.n_codes - u32::from(self.own.is_some());
        let missing = self.own.is_some() && codes.last().copied() == self.own;
        let levels: Vec<u32> = match n_levels <= ALL_LISTED {
            true => (0..n_levels).collect(),
            false => codes[..codes.len() - usize::from(missing)].to_vec(),
        };
        let others = levels.len() < n_levels as usize;
        ListedBranches { levels, missing, others }
    }

    /// The threshold between two values that are not missing. Panics on a nominal column.
    pub fn threshold(&self, below: u32, above: u32) -> Threshold {
        let (ordered, notation) = self.order();
        ordered.threshold_between(notation, below, above)
    }

    /// The value of a code, not that of missing values. Panics on a nominal column.
    pub fn value(&self, code: u32) -> Threshold {
        let (ordered, notation) = self.order();
        ordered.value(notation, code)
    }

    fn order(&self) -> (&Ordered, &Notation) {
        let ColumnValues::Ordered(ordered, notation, _) = &self.values else { panic!("nominal columns have no order") };
        (ordered, notation)
    }
}

/// A split by each level of a column with at most this many levels has a branch for every level.
const ALL_LISTED: u32 = 32;

/// The branches of a split by each code: levels, missing values, other levels.
pub(crate) struct ListedBranches {
    pub levels: Vec<u32>,
    /// Whether missing values have a branch.
    pub missing: bool,
    /// Whether levels that are not listed have a branch.
    pub others: bool,
}

/// The training table.
pub(crate) struct GrowthData {
    pub n_cases: usize,
    pub n_classes: usize,
    /// The class of each case.
    pub classes: Arc<[u32]>,
    pub weights: Weights,
    pub columns: Vec<TrainingColumn>,
    pub units: Units,
    /// Binary digits of the fraction of a case: a whole case has the fraction 2^digits.
    pub digits: u32,
    /// The mass of all cases, in units.
    pub total: u64,
    /// The number of all cases, counts included.
    pub count: u64,
    byte_codes: OnceLock<ByteCodes>,
}

impl GrowthData {
    /// Leaves absent rows out, weighs cases, imputes missing values and codes columns. The outer result reports a wrong
    /// call, the inner one an exhausted budget.
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
        // Masses may be counts although cases have weights: usually because all weights are equal.
        let are_counts = (0..cases.n_rows()).all(|row| units.mass(&cases, row) == cases.count(row));
        let weights = match (are_counts, cases.counts()) {
            (true, None) => Weights::Unit,
            (true, Some(_)) => Weights::Counts(counts()),
            // With a limit on mass, mass takes the place of counts.
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
        let code = |index: usize| code(&cases, index, params.missing, classes, &mass, budget);
        let columns: std::result::Result<Vec<TrainingColumn>, Stop> = match parallel {
            true => (0..cases.columns().len()).into_par_iter().map(code).collect(),
            false => (0..cases.columns().len()).map(code).collect(),
        };
        let bits = 64 - total.max(count).leading_zeros();
        Ok(columns.map(|columns| GrowthData {
            n_cases: cases.n_rows(),
            n_classes,
            classes: classes.clone(),
            digits: (62 - bits).min(20),
            columns,
            weights,
            units,
            total,
            count,
            byte_codes: OnceLock::new(),
        }))
    }

    /// The codes of narrow columns case by case, computed on first use.
    pub fn byte_codes(&self) -> &ByteCodes {
        let codes_of = |column: usize| self.columns[column].codes();
        self.byte_codes.get_or_init(|| ByteCodes::new(self.n_codes(), self.n_cases, codes_of))
    }

    /// Reserves the memory of [`GrowthData::byte_codes`]; if there is not enough, every column is treated as wide.
    pub fn reserve_byte_codes(&self, budget: &Budget) {
        if self.byte_codes.get().is_none() {
            match budget.reserve(ByteCodes::bytes(self.n_codes(), self.n_cases)) {
                Ok(held) => held.keep(),
                Err(_) => drop(self.byte_codes.set(ByteCodes::none(self.columns.len()))),
            }
        }
    }

    /// [`GrowthData::byte_codes`], if they were computed.
    pub fn computed_byte_codes(&self) -> Option<&ByteCodes> {
        self.byte_codes.get()
    }

    fn n_codes(&self) -> impl Iterator<Item = u32> {
        self.columns.iter().map(|column| column.n_codes)
    }

    /// Whether each row is one case of mass one.
    pub fn has_unit_weights(&self) -> bool {
        matches!(self.weights, Weights::Unit)
    }

    /// The bin of a case in a presorted column.
    #[inline]
    pub fn bin(&self, layout: EntryLayout, entry: Entry) -> Bin {
        let case = case_of(entry);
        let (code, class) = (layout.code(entry), layout.class(entry));
        Bin { code, class, mass: self.mass(case), count: self.count(case) }
    }

    /// The mass of a whole case.
    #[inline]
    pub fn mass(&self, case: u32) -> u64 {
        match &self.weights {
            Weights::Unit => 1,
            Weights::Counts(masses) | Weights::Masses(_, masses) => masses[case as usize],
        }
    }

    /// The number of cases that a row stands for.
    #[inline]
    pub fn count(&self, case: u32) -> u64 {
        match &self.weights {
            Weights::Unit => 1,
            Weights::Counts(counts) | Weights::Masses(counts, _) => counts[case as usize],
        }
    }
}

/// Reserves, until the run ends, memory for what the table holds of each row, and for a copy of the rows where some may
/// be absent.
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
    classes: &[u32],
    mass: &dyn Fn(usize) -> u64,
    budget: &Budget,
) -> std::result::Result<TrainingColumn, Stop> {
    let (kind, column) = (&cases.schema().features[index].kind, &cases.columns()[index]);
    let ticker = &mut Ticker::new(budget);
    ticker.tick(4 * column.len())?;
    let n = column.len() as u64;
    if !matches!(kind, Kind::Nominal(_)) {
        budget.reserve(Ordered::BYTES * n)?.keep();
    }
    let is_missing = column.n_missing() > 0;
    let (mut column, mut imputed) = (column.clone(), None);
    if is_missing && matches!(missing, Missing::Mean | Missing::ClassMean) {
        // The filled column, and its cases by class.
        budget.reserve(16 * n)?.keep();
        let classes = (missing == Missing::ClassMean).then_some(classes);
        (column, imputed) = impute(kind, column, classes, mass, ticker)?;
    }
    let n_levels = kind.levels().len() as u32;
    let own = is_missing && missing == Missing::Level;
    let (values, n_codes, ordered) = match kind {
        Kind::Nominal(_) => (ColumnValues::Nominal(column), n_levels, false),
        _ => {
            let mut all = vec![0; bits::words(column.len())];
            bits::set_range(&mut all, 0, column.len());
            let ordered = Ordered::new(&column, &all, true, &mut Sorter::default(), ticker)?;
            let n_values = ordered.n_values() as u32;
            let notation = Notation::of(&cases.schema().features[index]);
            (ColumnValues::Ordered(ordered, notation, column.len()), n_values, true)
        }
    };
    let is_complete = match &values {
        ColumnValues::Ordered(ordered, ..) => !ordered.missing,
        ColumnValues::Nominal(column) => own || column.n_missing() == 0,
    };
    Ok(TrainingColumn {
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
