//! The list of tests that a table offers, made without the matrix of rows and tests, which may grow with the square of
//! the rows.
//!
//! Tests are compared by fingerprints: two 64-bit sums, over the rows that pass, of a hash of the row. One pass over a
//! column finds the fingerprints of all its cuts. Tests that different rows pass have equal fingerprints with a
//! probability of 2^-128.

use rustc_hash::FxHashSet;

use super::binarize::{Binarizer, CodedColumn, Passes};
use super::bit_planes::unpack;
#[cfg(feature = "python")]
use super::dataset::Column;
use super::dataset::Dataset;
use super::test::Test;
use crate::bits;
use crate::budget::{Budget, Stop, Ticker};
use crate::error::Result;

/// The fingerprint of a set of rows: how many they are, and two sums of their hashes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Fingerprint(u32, [u64; 2]);

impl Fingerprint {
    fn of_row(row: usize) -> Self {
        let first = bits::mix(row as u64);
        Fingerprint(1, [first, bits::mix(first ^ 0x9e37_79b9_7f4a_7c15)])
    }

    fn plus(self, other: Self) -> Self {
        Fingerprint(self.0 + other.0, [0, 1].map(|i| self.1[i].wrapping_add(other.1[i])))
    }

    fn without(self, other: Self) -> Self {
        Fingerprint(self.0 - other.0, [0, 1].map(|i| self.1[i].wrapping_sub(other.1[i])))
    }
}

/// The tests of [`BinaryTable::new`](super::BinaryTable::new). The outer result is the call's, the inner one the
/// budget's.
///
/// Complexity: O(n log n) per column, and O(tests), in time; O(cells + tests) in memory.
pub(crate) fn list_tests(
    data: &Dataset,
    binarizer: &Binarizer,
    budget: &Budget,
) -> Result<std::result::Result<Vec<Test>, Stop>> {
    let prepared = binarizer.prepare(data, budget, false)?;
    let coded = prepared.and_then(|prepared| binarizer.code(data, prepared, budget, false));
    Ok(coded.and_then(|(columns, _)| distinct(data, columns, &mut Ticker::new(budget))))
}

/// A matrix of rows and tests, row by row: 1 where the row passes the test, else 0. A missing value and an unseen level
/// pass no test of a value.
///
/// The table must have the columns that the tests ask about. Complexity: O(rows x tests).
#[cfg(feature = "python")]
pub(crate) fn passes(tests: &[Test], data: &Dataset, budget: &Budget) -> std::result::Result<Vec<i8>, Stop> {
    let mut ticker = Ticker::new(budget);
    let mut cells = Vec::with_capacity(data.n_rows() * tests.len());
    let asked: Vec<(&Test, &Column, u32)> = tests
        .iter()
        .map(|test| {
            let feature = test.feature() as usize;
            let n_levels = data.schema().features[feature].kind.levels().len();
            (test, &*data.columns()[feature], n_levels as u32)
        })
        .collect();
    for row in 0..data.n_rows() {
        ticker.tick(tests.len())?;
        let pass =
            |&(test, column, n_levels): &(&Test, &Column, u32)| test.branch(column.value(row, n_levels)) == Some(0);
        cells.extend(asked.iter().map(|of_test| i8::from(pass(of_test))));
    }
    Ok(cells)
}

/// The tests that are not constant and differ from every earlier one and its complement.
fn distinct(data: &Dataset, columns: Vec<CodedColumn>, ticker: &mut Ticker) -> std::result::Result<Vec<Test>, Stop> {
    let present = data.present();
    let all = bits::ones(&present).map(Fingerprint::of_row).fold(Fingerprint::default(), Fingerprint::plus);
    let first = bits::ones(&present).next();
    let mut known: FxHashSet<[u64; 2]> = FxHashSet::default();
    let mut tests = Vec::new();
    for CodedColumn { tests: of_column, codes, passes } in columns {
        ticker.tick(20 * data.n_rows())?;
        ticker.budget().reserve(40 * of_column.len() as u64)?.keep();
        let _codes = ticker.budget().reserve(4 * data.n_rows() as u64)?;
        let codes = unpack(&codes.planes().collect::<Vec<_>>(), data.n_rows());
        let n_codes = codes.iter().max().map_or(0, |&code| code as usize + 1);
        let mut by_code = vec![Fingerprint::default(); n_codes];
        for row in bits::ones(&present) {
            let sums = &mut by_code[codes[row] as usize];
            *sums = sums.plus(Fingerprint::of_row(row));
        }
        let mut passing = vec![Fingerprint::default(); of_column.len()];
        match &passes {
            Passes::Cuts(n) => {
                let mut below = Fingerprint::default();
                for (cut, sums) in passing.iter_mut().enumerate() {
                    below = below.plus(by_code.get(cut).copied().unwrap_or_default());
                    // The test for missing values comes last.
                    *sums = if cut < *n { below } else { by_code.get(n + 1).copied().unwrap_or_default() };
                }
            }
            Passes::Table(passes) => {
                for (sums, tests) in by_code.iter().zip(passes) {
                    ticker.tick(1 + tests.len())?;
                    tests.iter().for_each(|&test| passing[test as usize] = passing[test as usize].plus(*sums));
                }
            }
        }
        let first_code = first.map_or(0, |row| codes[row] as usize);
        for (place, (test, sums)) in of_column.into_iter().zip(passing).enumerate() {
            ticker.tick(20)?;
            // A test and its complement look alike once flipped to fail on the first row.
            let flipped = if passes.test(first_code, place) { all.without(sums) } else { sums };
            if flipped.0 > 0 && known.insert(flipped.1) {
                tests.push(test);
            }
        }
    }
    Ok(tests)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::data::{
        BinaryTable, Column, Feature, Kind, MissingTests, Nominal, NumericType, Schema, Target, Thresholds,
    };

    #[test]
    fn fault_x2_the_tests_listed_are_those_of_the_table() {
        let mut n_tests = 0;
        for seed in 0..400u64 {
            let random = |i: u64, j: u64| bits::mix(seed * 7919 + 131 * i + j) >> 9;
            let (n, n_columns) = (1 + random(0, 0) % 40, 1 + random(0, 1) % 5);
            let (mut features, mut columns) = (Vec::new(), Vec::new());
            for column in 0..n_columns {
                let n_values = 1 + random(1, column) % 8;
                let has_missing = random(2, column) % 2 == 0;
                let cell =
                    |row: u64| (random(10 + row, column % 3) % n_values, has_missing && random(10 + row, 50) % 7 == 0);
                let (kind, cells) = match random(3, column) % 2 {
                    0 => {
                        let value = |row| if cell(row).1 { f64::NAN } else { cell(row).0 as f64 };
                        (Kind::Continuous(NumericType::Float), Column::Floats((0..n).map(value).collect()))
                    }
                    _ => {
                        let levels = (0..8).map(|level| level.to_string()).collect();
                        let code = |row| if cell(row).1 { u32::MAX } else { cell(row).0 as u32 };
                        (Kind::Nominal(levels), Column::Levels { codes: (0..n).map(code).collect(), unseen: vec![] })
                    }
                };
                features.push(Feature { name: format!("x{column}"), kind, dtype: String::new() });
                columns.push(cells);
            }
            let schema = Arc::new(Schema { features, target: None });
            let counts = (0..n).map(|row| u64::from(row == 0 || random(row, 99) % 4 > 0)).collect();
            let data = Dataset::new(schema, columns, n as usize, Target::None, Some(counts), None).unwrap();
            let binarizer = Binarizer {
                thresholds: [Thresholds::All, Thresholds::Quantile][seed as usize % 2],
                max_tests: 10,
                nominal: [Nominal::OneVsRest, Nominal::Subsets][seed as usize / 2 % 2],
                missing: [MissingTests::Own, MissingTests::None][seed as usize / 4 % 2],
                ..Binarizer::default()
            };
            let budget = Budget::unlimited();
            let table = BinaryTable::new(&data, &binarizer, &budget, false).unwrap().unwrap();
            assert_eq!(list_tests(&data, &binarizer, &budget).unwrap().unwrap(), table.tests, "seed {seed}");
            n_tests += table.tests.len();
        }
        assert!(n_tests > 2000, "{n_tests}");
    }
}
