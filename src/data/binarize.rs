//! Binarization: the 0/1 tests that a table offers to an exact search.
//!
//! *Optimal always means: over the tests offered.* Tests stand in column-then-cut order: columns as in the table; per
//! column its cuts ascending or its levels in order (subsets by size, then by level), last its test for missing.

use rayon::prelude::*;

use super::bit_planes::BitPlanes;
use super::dataset::{Column, Dataset, MISSING, Target};
use super::notation::Notation;
use super::schema::Kind;
use super::sorting::Sorter;
use super::test::Test;
use super::thresholds::Ordered;
use crate::bits;
use crate::budget::{Budget, Reserved, Stop, Ticker};
use crate::error::{Error, Result};

/// How the cuts of ordered columns are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Thresholds {
    /// [`Thresholds::All`] while the table has at most `max_tests` tests, else [`Thresholds::Quantile`].
    Auto,
    /// Between all neighbouring values.
    All,
    /// At quantiles: `max_thresholds` a column, or as many as keep the table within `max_tests`.
    Quantile,
    /// By the minimum description length principle (Fayyad and Irani 1993); needs classes.
    Mdlp,
}

/// The tests of nominal columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Nominal {
    /// `x is level`, for each level that occurs.
    OneVsRest,
    /// `x in levels`, for each proper subset of the levels that occur (at most [`Binarizer::MAX_SUBSET_LEVELS`]).
    Subsets,
}

/// Whether a column offers a test for missing values. A missing value fails every test of a value in either case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MissingTests {
    /// A column with missing values has the test `x is missing`.
    Own,
    /// No test asks for missing values.
    None,
}

/// How the columns of a table become tests.
///
/// `max_tests` bounds thresholds only: nominal levels and missing values always have their tests, and an ordered
/// column at least one cut.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Binarizer {
    /// How the cuts of ordered columns are chosen.
    pub thresholds: Thresholds,
    /// The number of tests up to which [`Thresholds::Auto`] offers all cuts.
    pub max_tests: usize,
    /// The most cuts of one column, under `Auto` and `Quantile`.
    pub max_thresholds: Option<usize>,
    /// Tests of nominal columns.
    pub nominal: Nominal,
    /// Tests for missing values.
    pub missing: MissingTests,
}

impl Default for Binarizer {
    fn default() -> Self {
        Binarizer {
            thresholds: Thresholds::Auto,
            max_tests: 1000,
            max_thresholds: None,
            nominal: Nominal::OneVsRest,
            missing: MissingTests::Own,
        }
    }
}

/// The tests of a column, and a code for each cell: cells that no test tells apart have the same code.
pub(super) struct CodedColumn {
    /// The tests, in column-then-cut order.
    pub(super) tests: Vec<Test>,
    /// One code per row; those of absent rows mean nothing.
    pub(super) codes: BitPlanes,
    /// Which tests a code passes.
    pub(super) passes: Passes,
}

/// The columns of a table, sorted or coded, before it is decided how many cuts each may have and which engine runs.
pub(crate) struct PreparedColumns<'b>(pub(super) Vec<(Prepared, Reserved<'b>)>);

impl PreparedColumns<'_> {
    /// How many tests all thresholds make, and how many ranked columns: one per ordered column and per nominal test.
    pub(crate) fn n_tests_and_columns(&self) -> (usize, usize) {
        let of = |column: &Prepared| match column {
            Prepared::Nominal(coded) => (coded.tests.len(), coded.tests.len()),
            Prepared::Ordered(order) => (order.n_cuts() + usize::from(order.missing), 1),
        };
        self.0.iter().map(|(column, _)| of(column)).fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1))
    }
}

/// One prepared column: a nominal one has its tests, an ordered one is sorted.
pub(super) enum Prepared {
    Nominal(CodedColumn),
    Ordered(Ordered),
}

impl Prepared {
    fn n_cuts(&self) -> usize {
        match self {
            Prepared::Nominal(_) => 0,
            Prepared::Ordered(order) => order.n_cuts(),
        }
    }
}

/// Which tests of a column the cells of each code pass.
#[derive(PartialEq, Eq)]
pub(super) enum Passes {
    /// Code c passes the cuts `c..n_cuts`; a missing value is code `n_cuts + 1` and passes test `n_cuts`, if there is
    /// one.
    Cuts(usize),
    /// Code c passes the tests listed at c; a missing value is the last code.
    Table(Vec<Vec<u32>>),
}

impl Passes {
    /// Whether cells of this code pass the column's test.
    pub(super) fn test(&self, code: usize, test: usize) -> bool {
        match self {
            Passes::Cuts(n) if test < *n => code <= test,
            Passes::Cuts(n) => code == n + 1,
            Passes::Table(passes) => passes[code].contains(&(test as u32)),
        }
    }
}

impl Binarizer {
    /// The most levels of a nominal column under [`Nominal::Subsets`]: 10, that is 1,022 subsets.
    pub const MAX_SUBSET_LEVELS: usize = 10;

    /// Whether it is left to the search which thresholds are offered.
    pub fn is_left_to_search(&self) -> bool {
        self.thresholds == Thresholds::Auto && self.max_thresholds.is_none()
    }

    /// Checks ranges and combinations.
    pub fn checked(self) -> Result<Self> {
        let invalid =
            |name, expected: &str, got: String| Err(Error::InvalidParameter { name, expected: expected.into(), got });
        if self.max_tests == 0 {
            return invalid("max_tests", "at least 1", "0".into());
        }
        match (self.max_thresholds, self.thresholds) {
            (Some(0), _) => invalid("max_thresholds", "at least 1, or None", "0".into()),
            (Some(n), Thresholds::All | Thresholds::Mdlp) => invalid(
                "max_thresholds",
                "None where thresholds are \"all\" or \"mdlp\" (they choose their number themselves)",
                n.to_string(),
            ),
            _ => Ok(self),
        }
    }

    /// Sorts ordered columns and codes nominal ones. With `parallel`, columns are shared out in the rayon pool that
    /// this is called in.
    ///
    /// O(n log n) per column. Stops when the budget says so.
    pub(crate) fn prepare<'b>(
        &self,
        data: &Dataset,
        budget: &'b Budget,
        parallel: bool,
    ) -> Result<std::result::Result<PreparedColumns<'b>, Stop>> {
        data.cases()?;
        if self.thresholds == Thresholds::Mdlp && !matches!(data.target(), Target::Classes(_)) {
            return Err(Error::WrongTarget { search: "thresholds=\"mdlp\"", needs: "classes", got: "not classes" });
        }
        let present = data.present();
        let prepare = |sorter: &mut Sorter, index: usize| match budget.check() {
            Ok(()) => self.prepare_column(data, index, &present, sorter, &mut Ticker::new(budget)),
            Err(stop) => Ok(Err(stop)),
        };
        let n_columns = data.columns().len();
        let prepared: Result<Vec<_>> = match parallel {
            true => (0..n_columns).into_par_iter().map_init(Sorter::default, prepare).collect(),
            false => {
                let mut sorter = Sorter::default();
                (0..n_columns).map(|index| prepare(&mut sorter, index)).collect()
            }
        };
        Ok(prepared?.into_iter().collect::<std::result::Result<Vec<_>, Stop>>().map(PreparedColumns))
    }

    /// The tests of each column that has any, and whether ordered columns have all their cuts.
    pub(super) fn code(
        &self,
        data: &Dataset,
        prepared: PreparedColumns,
        budget: &Budget,
        parallel: bool,
    ) -> std::result::Result<(Vec<CodedColumn>, bool), Stop> {
        let prepared = prepared.0;
        let fixed = prepared.iter().map(|(column, _)| match column {
            Prepared::Nominal(coded) => coded.tests.len(),
            Prepared::Ordered(order) => usize::from(self.has_own_test(order)),
        });
        let cuts: Vec<usize> = prepared.iter().map(|(column, _)| column.n_cuts()).collect();
        let most = self.most_cuts(&cuts, fixed.sum());
        // The memory charged for a column is given back once the column is coded.
        let cut = |(index, (column, held)): (usize, (Prepared, Reserved))| {
            budget.check()?;
            let n_cuts = column.n_cuts();
            let coded = match column {
                Prepared::Nominal(coded) => {
                    held.keep();
                    coded
                }
                Prepared::Ordered(order) => self.cut(data, index, order, most, &mut Ticker::new(budget))?,
            };
            let exact = matches!(coded.passes, Passes::Table(_)) || coded.passes == Passes::Cuts(n_cuts);
            Ok((coded, exact))
        };
        let prepared: Vec<(usize, (Prepared, Reserved))> = prepared.into_iter().enumerate().collect();
        let coded: std::result::Result<Vec<(CodedColumn, bool)>, Stop> = match parallel {
            true => prepared.into_par_iter().map(cut).collect(),
            false => prepared.into_iter().map(cut).collect(),
        };
        coded.map(|coded| {
            let exact = coded.iter().all(|(_, exact)| *exact);
            (coded.into_iter().map(|(column, _)| column).filter(|column| !column.tests.is_empty()).collect(), exact)
        })
    }

    fn prepare_column<'b>(
        &self,
        data: &Dataset,
        index: usize,
        present: &[u64],
        sorter: &mut Sorter,
        ticker: &mut Ticker<'b>,
    ) -> Result<std::result::Result<(Prepared, Reserved<'b>), Stop>> {
        let (feature, column) = (&data.schema().features[index], &data.columns()[index]);
        data.check_learnable(index, present)?;
        let levels = match (feature.kind.levels().len(), self.nominal) {
            (n, Nominal::Subsets) if n <= Self::MAX_SUBSET_LEVELS => n << n,
            (n, _) => n,
        };
        let bytes = match feature.kind {
            // Bit planes of codes, and tests with their levels.
            Kind::Nominal(_) => 8 * column.len() as u64 + (levels * (size_of::<Test>() + 40)) as u64,
            _ => Ordered::BYTES * column.len() as u64,
        };
        let held = match ticker.budget().reserve(bytes) {
            Ok(held) => held,
            Err(stop) => return Ok(Err(stop)),
        };
        Ok(match feature.kind {
            Kind::Nominal(_) => Ok((Prepared::Nominal(self.code_nominal(data, index, present)?), held)),
            _ => {
                let sorted = self.thresholds == Thresholds::Mdlp;
                Ordered::new(column, present, sorted, sorter, ticker).map(|order| (Prepared::Ordered(order), held))
            }
        })
    }

    fn has_own_test(&self, order: &Ordered) -> bool {
        order.missing && self.missing == MissingTests::Own
    }

    /// Cuts an ordered column in at most `most` places, and codes its cells.
    fn cut(
        &self,
        data: &Dataset,
        index: usize,
        order: Ordered,
        most: Option<usize>,
        ticker: &mut Ticker,
    ) -> std::result::Result<CodedColumn, Stop> {
        let (n_rows, budget) = (data.n_rows() as u64, ticker.budget());
        // Codes before they are packed, the masses of values, and the cuts.
        let _held = budget.reserve(4 * n_rows + 20 * order.n_values() as u64)?;
        let (feature, notation) = (index as u32, Notation::of(&data.schema().features[index]));
        let cuts = match (self.thresholds, data.target(), most) {
            (Thresholds::Mdlp, Target::Classes(classes), _) => {
                let mass = |row: usize| data.count(row) as f64 * data.weights().map_or(1.0, |w| w[row]);
                let n_classes = data.schema().labels().map_or(0, |labels| labels.len());
                order.mdlp(n_classes, |row| classes[row], mass, ticker)?
            }
            (_, _, None) => order.all(),
            (_, _, Some(most)) => order.quantiles(most, |row| data.count(row)),
        };
        let width = u64::from(u64::BITS - (cuts.len() as u64 + 1).leading_zeros());
        budget.reserve((cuts.len() * size_of::<Test>()) as u64 + n_rows * width / 8)?.keep();
        let mut tests: Vec<Test> =
            cuts.iter().map(|&cut| Test::AtMost { feature, threshold: order.threshold(&notation, cut) }).collect();
        if self.has_own_test(&order) {
            tests.push(Test::Missing { feature });
        }
        Ok(CodedColumn { tests, codes: order.code(&cuts, data.n_rows()), passes: Passes::Cuts(cuts.len()) })
    }

    /// The most cuts a column may have; `None` for all.
    fn most_cuts(&self, cuts: &[usize], fixed: usize) -> Option<usize> {
        let total = |most: usize| fixed + cuts.iter().map(|&n| n.min(most)).sum::<usize>();
        let fitting = || {
            let most = cuts.iter().copied().max().unwrap_or(0);
            // The largest number of cuts that keeps the table within max_tests, but at least one.
            let (mut fits, mut fails) = (1, most + 1);
            while fits + 1 < fails {
                let middle = fits + (fails - fits) / 2;
                if total(middle) <= self.max_tests { fits = middle } else { fails = middle }
            }
            fits
        };
        match self.thresholds {
            Thresholds::All | Thresholds::Mdlp => None,
            Thresholds::Quantile => Some(self.max_thresholds.unwrap_or_else(fitting)),
            Thresholds::Auto if total(usize::MAX) <= self.max_tests => self.max_thresholds,
            Thresholds::Auto => Some(fitting().min(self.max_thresholds.unwrap_or(usize::MAX))),
        }
    }

    fn code_nominal(&self, data: &Dataset, index: usize, present: &[u64]) -> Result<CodedColumn> {
        let (feature, column) = (&data.schema().features[index], &data.columns()[index]);
        let Column::Levels { codes, .. } = &**column else { unreachable!("`Dataset::new` checked the kinds") };
        let mut occurs = vec![false; feature.kind.levels().len()];
        let mut missing = false;
        for row in bits::ones(present) {
            match codes[row] {
                MISSING => missing = true,
                code => occurs[code as usize] = true,
            }
        }
        let levels: Vec<u32> = (0..occurs.len() as u32).filter(|&level| occurs[level as usize]).collect();
        let id = index as u32;
        let own_test = missing && self.missing == MissingTests::Own;
        // Without a test for missing values, the test of all levels asks whether a case has a value.
        let with_all = missing && !own_test;
        let mut tests: Vec<Test> = match self.nominal {
            Nominal::OneVsRest if levels.len() > 1 || with_all => {
                levels.iter().map(|&level| Test::Is { feature: id, level }).collect()
            }
            Nominal::OneVsRest => Vec::new(),
            Nominal::Subsets if levels.len() > Self::MAX_SUBSET_LEVELS => {
                return Err(Error::TooManyLevels {
                    column: feature.name.clone(),
                    levels: levels.len(),
                    why: format!(
                        "nominal=\"subsets\" tries every subset and takes at most {}; use \"one_vs_rest\", merge levels or drop the column",
                        Self::MAX_SUBSET_LEVELS
                    ),
                });
            }
            Nominal::Subsets => subsets(id, &levels, with_all),
        };
        if own_test {
            tests.push(Test::Missing { feature: id });
        }
        // For each level, and last for a missing value, the tests that it passes. A test names the levels that pass it.
        let mut table: Vec<Vec<u32>> = vec![Vec::new(); occurs.len() + 1];
        for (position, test) in (0u32..).zip(&tests) {
            match test {
                Test::Is { level, .. } => table[*level as usize].push(position),
                Test::In { levels, .. } => levels.iter().for_each(|&level| table[level as usize].push(position)),
                _ => table[occurs.len()].push(position),
            }
        }
        let last = occurs.len() as u32; // the code of an absent row may be an unseen level
        let codes: Vec<u32> = codes.iter().map(|&code| code.min(last)).collect();
        Ok(CodedColumn { codes: BitPlanes::pack(&codes), passes: Passes::Table(table), tests })
    }
}

/// All non-empty subsets of the levels, by size, then by level; the whole set only if asked for. (With missing values a
/// subset and its complement are two tests, since a missing value fails both.)
fn subsets(feature: u32, levels: &[u32], with_all: bool) -> Vec<Test> {
    let mut sets: Vec<Vec<u32>> = (1u32..1 << levels.len())
        .map(|set| levels.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1).map(|(_, &level)| level).collect())
        .filter(|set: &Vec<u32>| with_all || set.len() < levels.len())
        .collect();
    sets.sort_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
    sets.into_iter()
        .map(|levels| match levels[..] {
            [level] => Test::Is { feature, level },
            _ => Test::In { feature, levels },
        })
        .collect()
}
