//! The tests offered to a search, as the engine that was chosen for them sees them.

use super::{Engine, Params};
use crate::budget::{Budget, Stop};
use crate::data::{BinaryTable, Dataset, RankedTable};
use crate::error::Result;
use crate::tree::Test;

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
        params: &Params,
        budget: &Budget,
        parallel: bool,
    ) -> Result<std::result::Result<Self, Stop>> {
        let binarizer = &params.binarizer;
        Ok(match params.engine {
            Engine::Continuous => RankedTable::new(data, binarizer, budget, parallel)?.map(Offered::Thresholds),
            Engine::Tests | Engine::Auto => BinaryTable::new(data, binarizer, budget, parallel)?.map(Offered::Tests),
        })
    }

    pub(super) fn pattern_of(&self) -> &[u32] {
        match self {
            Offered::Tests(table) => &table.pattern_of,
            Offered::Thresholds(table) => &table.pattern_of,
        }
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
            Offered::Tests(table) => (OfferedTests(Tests::Listed(table.tests)), table.exact_thresholds),
            Offered::Thresholds(table) => (OfferedTests(Tests::Columns(table.without_ranks())), true),
        }
    }
}

/// The tests that a search was offered: listed only when asked for, since there may be hundreds of thousands.
#[derive(Debug, Clone, Default)]
pub struct OfferedTests(Tests);

#[derive(Debug, Clone)]
enum Tests {
    Listed(Vec<Test>),
    Columns(RankedTable),
}

impl Default for Tests {
    fn default() -> Self {
        Tests::Listed(Vec::new())
    }
}

impl OfferedTests {
    /// All of them, in column-then-cut order.
    pub fn list(&self) -> Vec<Test> {
        match &self.0 {
            Tests::Listed(tests) => tests.clone(),
            Tests::Columns(table) => table.tests(),
        }
    }
}
