//! The tests offered to a search, as the engine that was chosen for them sees them.

use super::params::{Engine, Params};
use crate::budget::{Budget, Stop, Ticker};
use crate::constraint::full;
use crate::data::{BinaryTable, Dataset, RankedTable, Thresholds, equal_rows};
use crate::error::{Error, Result};
use crate::tree::Test;
#[cfg(feature = "python")]
use crate::tree::packed::pack;

/// What the choice of an engine depends on.
struct Size {
    cases: usize,
    /// With all thresholds.
    tests: usize,
    /// Each test of a nominal column is one.
    columns: usize,
    n_classes: usize,
}

impl Size {
    /// Up to so many tests per column, on average, pairs of tests are counted faster than cuts are tried: at depth
    /// three with a thousand cases the two meet between 64 and 70 (`benches/continuous.rs`).
    const FEW: usize = 64;

    /// The same, where all thresholds were asked for and there are more than the binarizer would offer by itself.
    const VERY_FEW: usize = 8;

    /// Up to so many cells of rows and tests, trees of a few nodes that may be deep are found faster over tests: there
    /// the continuous engine solves the same branches again, in other orders of the cuts that lead to them.
    const SMALL: usize = 1 << 18;

    /// Seconds after which a search that nothing limits is taken for hopeless.
    const HOPELESS: f64 = 300.0;

    /// Bytes that are too many where no limit is given. Not the memory of the machine: what is offered, and so what is
    /// optimal, must not depend on it.
    const MEMORY: u64 = 4 << 30;

    /// The most classes that the continuous engine tells apart.
    const MOST_CLASSES: usize = u16::MAX as usize;

    /// As many classes are looked at all at once, and more take no longer.
    const MANY: f64 = 64.0;

    /// About how long the continuous engine takes: at depth three 3 microseconds for each case and class but one, times
    /// the number of columns to the power of 3/2 (0.3 to 5.5 on seventeen tables), and a hundred times as long for each
    /// further level. With bounds of trees that may have smaller leaves than asked for, ten times that.
    fn seconds(&self, params: &Params) -> f64 {
        let others = (self.n_classes.saturating_sub(1) as f64).min(Self::MANY);
        let at_three = 3e-6 * self.cases as f64 * (self.columns as f64).powf(1.5) * others;
        let levels = params.max_depth.min(params.max_nodes.map_or(u32::MAX, |nodes| nodes.min(64) as u32));
        let relaxed = if params.min_leaf > 1 || params.min_leaf_mass > 0.0 { 10.0 } else { 1.0 };
        at_three * relaxed * 100f64.powi(levels as i32 - 3)
    }

    /// The number of tests up to which the engine over tests is faster. The other one works on pairs of classes, has
    /// weak bounds where leaves must not be small, and forgets solved branches.
    fn few(&self, params: &Params) -> usize {
        let budget_binds = params.max_nodes.is_some_and(|nodes| nodes < full(params.max_depth.min(20)));
        let is_deep = params.max_depth > 3 && params.max_nodes.is_none_or(|nodes| nodes > 3);
        let is_small = self.cases.saturating_mul(self.tests) <= Self::SMALL;
        match params.min_leaf > 1 || params.min_leaf_mass > 0.0 || budget_binds && is_deep && is_small {
            true => usize::MAX,
            false => (Self::FEW * self.columns).saturating_mul(self.n_classes.saturating_sub(1).max(1)),
        }
    }

    /// About what the continuous engine holds at once, if it keeps all that saves it much time.
    fn bytes(&self, params: &Params) -> u64 {
        let (cases, columns) = (self.cases as u64, self.columns as u64);
        let (index, levels) = (if cases < 50_000 { 2 } else { 4 }, u64::from(params.max_depth.max(1)));
        let others = self.n_classes.saturating_sub(1) as u64;
        // Ranks and orders; of each node on a path, orders and cuts.
        let of_cell = 4 + 3 * index + levels * (2 * index + 13);
        let of_nodes = cases.saturating_mul(columns * of_cell);
        if others >= Self::MANY as u64 {
            return of_nodes.saturating_add(levels * 32 * cases.saturating_mul(columns));
        }
        // Lists of each column and pair of classes, and the places of ranks along them.
        let with_lists = levels.max(2) - 1;
        let entries = columns * others.saturating_mul(others + 1) / 2;
        let lists = (cases * others).saturating_mul(columns * (index + 4) * 5 / 4);
        let tables = entries.saturating_mul(500 + 24 * columns.div_ceil(4));
        of_nodes.saturating_add(with_lists * lists.saturating_add(tables))
    }

    /// The engine that was asked for; where the choice is free, the one over tests where all thresholds are few, or
    /// where thresholds may be thinned and too much memory is needed for all of them, or too much time and nothing
    /// limits that; else the continuous one. Rows are looked at only where it depends on how many of them differ.
    fn engine(mut self, params: &Params, data: &Dataset, budget: &Budget) -> std::result::Result<Engine, Stop> {
        let binarizer = &params.binarizer;
        let memory = params.limits.memory.map_or(Self::MEMORY, |bytes| bytes / 2);
        let thinned =
            binarizer.max_thresholds.is_some() || !matches!(binarizer.thresholds, Thresholds::Auto | Thresholds::All);
        Ok(match params.engine {
            Engine::Auto if thinned || self.n_classes > Self::MOST_CLASSES => Engine::Tests,
            Engine::Auto if self.tests <= binarizer.max_tests.min(self.few(params)) => Engine::Tests,
            Engine::Auto if binarizer.thresholds == Thresholds::All && self.tests <= Self::VERY_FEW * self.columns => {
                Engine::Tests
            }
            Engine::Auto if binarizer.thresholds == Thresholds::All => Engine::Continuous,
            Engine::Auto if self.bytes(params) > memory => Engine::Tests,
            // Nothing would be thinned.
            Engine::Auto if budget.is_limited() || self.tests <= binarizer.max_tests => Engine::Continuous,
            Engine::Auto if self.seconds(params) <= Self::HOPELESS => Engine::Continuous,
            Engine::Auto => {
                self.cases = distinct_rows(data, budget)?;
                if self.seconds(params) > Self::HOPELESS { Engine::Tests } else { Engine::Continuous }
            }
            chosen => chosen,
        })
    }
}

/// How many rows differ; all, where there is no memory to tell.
fn distinct_rows(data: &Dataset, budget: &Budget) -> std::result::Result<usize, Stop> {
    let _scope = budget.scope();
    match equal_rows(data, &mut Ticker::new(budget)) {
        Ok((_, distinct)) => Ok(distinct),
        Err(Stop::Memory) => Ok(data.n_rows()),
        Err(stop) => Err(stop),
    }
}

/// A table for one of the two engines.
pub(super) enum Offered {
    /// 0/1 tests.
    Tests(BinaryTable),
    /// All thresholds.
    Thresholds(RankedTable),
}

impl Offered {
    pub(super) fn new(
        data: &Dataset,
        n_classes: usize,
        params: &Params,
        budget: &Budget,
        parallel: bool,
    ) -> Result<std::result::Result<Self, Stop>> {
        let binarizer = &params.binarizer;
        if params.engine == Engine::Continuous && n_classes > Size::MOST_CLASSES {
            return Err(Error::InvalidParameter {
                name: "engine",
                expected: format!(
                    "\"auto\" or \"tests\" for {n_classes} classes (\"continuous\" tells {} apart)",
                    Size::MOST_CLASSES
                ),
                got: "\"continuous\"".into(),
            });
        }
        let prepared = match binarizer.prepare(data, budget, parallel)? {
            Ok(prepared) => prepared,
            Err(stop) => return Ok(Err(stop)),
        };
        let size = {
            let (tests, columns) = prepared.n_tests_and_columns();
            Size { cases: data.n_rows(), tests, columns, n_classes }
        };
        Ok(size.engine(params, data, budget).and_then(|engine| match engine {
            Engine::Continuous => RankedTable::of(data, binarizer, prepared, budget, parallel).map(Offered::Thresholds),
            _ => BinaryTable::of(data, binarizer, prepared, budget, parallel).map(Offered::Tests),
        }))
    }

    pub(super) fn pattern_of(&self) -> &[u32] {
        match self {
            Offered::Tests(table) => &table.pattern_of,
            Offered::Thresholds(table) => &table.pattern_of,
        }
    }

    /// Whether some thresholds were left out.
    pub(super) fn is_thinned(&self) -> bool {
        matches!(self, Offered::Tests(table) if !table.exact_thresholds)
    }

    /// The test of this number.
    pub(super) fn test(&self, test: u32) -> Test {
        match self {
            Offered::Tests(table) => table.tests[test as usize].clone(),
            Offered::Thresholds(table) => table.test(test),
        }
    }

    /// All tests, and whether there is one between all neighbouring values of ordered columns.
    pub(super) fn tests(self) -> (OfferedTests, bool) {
        match self {
            Offered::Tests(table) => (OfferedTests(TestList::Listed(table.tests)), table.exact_thresholds),
            Offered::Thresholds(table) => (OfferedTests(TestList::Columns(table.without_ranks())), true),
        }
    }
}

/// The tests that a search was offered: listed only when asked for, since there may be hundreds of thousands.
#[derive(Debug, Clone, Default)]
pub struct OfferedTests(TestList);

#[derive(Debug, Clone)]
enum TestList {
    Listed(Vec<Test>),
    Columns(RankedTable),
}

impl Default for TestList {
    fn default() -> Self {
        TestList::Listed(Vec::new())
    }
}

impl OfferedTests {
    /// The memory they take.
    pub(super) fn bytes(&self) -> u64 {
        match &self.0 {
            TestList::Listed(tests) => (tests.len() * size_of::<Test>()) as u64,
            TestList::Columns(table) => (8 * table.n_cuts() + size_of_val(&*table.columns)) as u64,
        }
    }

    /// Calls `visit` with each of them, in column-then-cut order.
    pub fn each(&self, mut visit: impl FnMut(&Test)) {
        match &self.0 {
            TestList::Listed(tests) => tests.iter().for_each(visit),
            TestList::Columns(table) => {
                let columns = table.columns.iter();
                columns.for_each(|column| (0..column.n_cuts).for_each(|cut| visit(&column.test(cut).0)));
            }
        }
    }

    /// In few bytes, for [`unpack`](crate::tree::packed::unpack).
    #[cfg(feature = "python")]
    pub(crate) fn packed(&self) -> Vec<u8> {
        match &self.0 {
            TestList::Listed(tests) => pack(tests.iter().cloned()),
            TestList::Columns(table) => {
                let columns = table.columns.iter();
                pack(columns.flat_map(|column| (0..column.n_cuts).map(|cut| column.test(cut).0)))
            }
        }
    }

    /// All of them, in column-then-cut order.
    pub fn list(&self) -> Vec<Test> {
        match &self.0 {
            TestList::Listed(tests) => tests.clone(),
            TestList::Columns(table) => table.tests(),
        }
    }
}
