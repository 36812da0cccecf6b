//! A table as an exact search over all thresholds sees it: its distinct rows of ranks.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::binarize::{Binarizer, MissingTests, Prepared, PreparedColumns};
use super::binary::ABSENT;
use super::bit_planes::unpack;
use super::dataset::Dataset;
use super::interner::Interner;
use super::notation::Notation;
use super::test::Test;
use crate::bits;
use crate::budget::{Budget, Reserved, Stop, Ticker};

/// The distinct rows of a table, as ranks. Rows that no test tells apart are one *pattern*.
#[derive(Debug, Clone)]
pub struct RankedTable {
    /// The columns in column-then-cut order: none constant, no two equal.
    pub columns: Vec<RankedColumn>,
    /// The pattern of each row, in the order of their first rows; [`ABSENT`] where its count or weight is 0.
    pub pattern_of: Vec<u32>,
    /// How many patterns there are.
    pub n_patterns: usize,
}

/// A column of ranks. Cut k has the ranks up to k on its left and those above k on its right.
#[derive(Debug, Clone)]
pub struct RankedColumn {
    /// The rank of each pattern.
    pub ranks: Vec<u32>,
    /// Ranks are below this.
    pub n_ranks: usize,
    /// How many cuts are tests: all between neighbouring ranks, or all but the last.
    pub n_cuts: usize,
    ranked_by: RankedBy,
}

/// Where the ranks of a column come from.
#[derive(Debug, Clone)]
enum RankedBy {
    /// The values of an ordered column, given as keys. A missing value has the rank after theirs.
    Values { feature: u32, notation: Notation, keys: Vec<u64> },
    /// A test of a nominal column: cases that pass it have rank 0, the others rank 1.
    Test(Test),
}

impl RankedColumn {
    /// The test that a cut stands for, and whether the cases on its left pass it.
    pub fn test(&self, cut: usize) -> (Test, bool) {
        match &self.ranked_by {
            RankedBy::Values { feature, notation, keys } => match (keys.get(cut), keys.get(cut + 1)) {
                (Some(&below), Some(&above)) => {
                    (Test::AtMost { feature: *feature, threshold: notation.between(below, above) }, true)
                }
                _ => (Test::Missing { feature: *feature }, false),
            },
            RankedBy::Test(test) => (test.clone(), true),
        }
    }
}

/// The ranked columns that one data column yields: one for an ordered column, one per test for a nominal one.
struct Ranked {
    /// One code per row, equal where no test tells cells apart. Empty if there is one ranked column: then its ranks.
    codes: Vec<u32>,
    /// How many distinct codes there are, or 0 if that is not known.
    n_codes: usize,
    columns: Vec<RankedColumn>,
}

impl Ranked {
    fn codes(&self) -> &[u32] {
        if self.codes.is_empty() { &self.columns[0].ranks } else { &self.codes }
    }
}

impl RankedTable {
    /// Ranks the cells of ordered columns, makes columns of two ranks of the tests of nominal ones, merges equal rows,
    /// and drops columns that are constant or repeat an earlier one. All thresholds are offered.
    ///
    /// With `parallel`, columns are shared out in the rayon pool that this is called in.
    ///
    /// Complexity: O(n) per column.
    pub(crate) fn of(
        data: &Dataset,
        binarizer: &Binarizer,
        prepared: PreparedColumns,
        budget: &Budget,
        parallel: bool,
    ) -> std::result::Result<Self, Stop> {
        let columns: Vec<(usize, (Prepared, Reserved))> = prepared.0.into_iter().enumerate().collect();
        // The memory charged for a column is given back once the column is ranked.
        let rank = |(index, (column, _held)): (usize, (Prepared, Reserved))| {
            budget.check()?;
            rank_column(data, binarizer, index, column, &mut Ticker::new(budget))
        };
        let ranked: std::result::Result<Vec<Ranked>, Stop> = match parallel {
            true => columns.into_par_iter().map(rank).collect(),
            false => columns.into_iter().map(rank).collect(),
        };
        Self::merge(data, ranked?, &data.present(), &mut Ticker::new(budget))
    }

    fn merge(
        data: &Dataset,
        ranked: Vec<Ranked>,
        present: &[u64],
        ticker: &mut Ticker,
    ) -> std::result::Result<Self, Stop> {
        let n_cases: usize = present.iter().map(|word| word.count_ones() as usize).sum();
        ticker.budget().reserve(4 * data.n_rows() as u64)?.keep();
        // The first row of each pattern, hashes, pattern numbers, and the ranks of a column while they are merged.
        let _held = ticker.budget().reserve(40 * n_cases as u64 + 8 * data.n_rows() as u64)?;
        let mut pattern_of = vec![ABSENT; data.n_rows()];
        // The first row of each pattern.
        let mut firsts: Vec<u32> = Vec::with_capacity(n_cases);
        if ranked.iter().any(|of| of.n_codes == n_cases) {
            // One column tells all rows apart.
            firsts.extend(bits::ones(present).map(|row| row as u32));
            (0..).zip(&firsts).for_each(|(pattern, &row)| pattern_of[row as usize] = pattern);
        } else {
            let mut hashes = vec![0u64; data.n_rows()];
            for (of, factor) in ranked.iter().zip(factors()) {
                hashes
                    .iter_mut()
                    .zip(of.codes())
                    .for_each(|(hash, &code)| *hash = hash.wrapping_add(u64::from(code) * u64::from(factor)));
                ticker.tick(hashes.len() / 2)?;
            }
            let mut patterns = Interner::new();
            for row in bits::ones(present) {
                let equals = |pattern: usize| {
                    let first = firsts[pattern] as usize;
                    ranked.iter().all(|of| of.codes()[row] == of.codes()[first])
                };
                pattern_of[row] = patterns.number(hashes[row], equals);
                if patterns.len() > firsts.len() {
                    firsts.push(row as u32);
                }
                ticker.tick(10 + ranked.len())?;
            }
        }
        let all_differ = firsts.len() == data.n_rows();
        let multipliers: Vec<u32> = factors().take(firsts.len()).collect();
        let mut columns: Vec<RankedColumn> = Vec::new();
        let mut by_hash: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
        for mut column in ranked.into_iter().flat_map(|of| of.columns) {
            if !all_differ {
                column.ranks = firsts.iter().map(|&row| column.ranks[row as usize]).collect();
            }
            ticker.tick(2 * firsts.len())?;
            if column.n_cuts == 0 || column.ranks.iter().all(|&rank| rank == column.ranks[0]) {
                continue;
            }
            // With two ranks a column and its complement tell the same rows apart.
            let flip = u32::from(column.n_ranks == 2 && column.ranks[0] == 1);
            let hashed = flipped(&column.ranks, flip).zip(&multipliers);
            let hash =
                hashed.fold(0u64, |hash, (rank, &factor)| hash.wrapping_add(u64::from(rank) * u64::from(factor)));
            let same = by_hash.entry(hash).or_default();
            let repeats = same.iter().any(|&earlier| {
                let earlier: &RankedColumn = &columns[earlier];
                let flip_earlier = u32::from(earlier.n_ranks == 2 && earlier.ranks[0] == 1);
                earlier.n_cuts == column.n_cuts
                    && flipped(&earlier.ranks, flip_earlier).eq(flipped(&column.ranks, flip))
            });
            if !repeats {
                same.push(columns.len());
                columns.push(column);
            }
        }
        Ok(RankedTable { columns, pattern_of, n_patterns: firsts.len() })
    }

    /// How many cuts all columns have: the number of tests.
    pub fn n_cuts(&self) -> usize {
        self.columns.iter().map(|column| column.n_cuts).sum()
    }

    /// The test of this number. Panics if there are not so many.
    pub fn test(&self, test: u32) -> Test {
        let mut cut = test as usize;
        for column in &self.columns {
            if cut < column.n_cuts {
                return column.test(cut).0;
            }
            cut -= column.n_cuts;
        }
        panic!("test {test} of {}", self.n_cuts())
    }

    /// The table without ranks and patterns: what is needed to list its tests.
    pub(crate) fn without_ranks(mut self) -> Self {
        self.columns.iter_mut().for_each(|column| column.ranks = Vec::new());
        self.pattern_of = Vec::new();
        self
    }

    /// All tests, in column-then-cut order.
    pub fn tests(&self) -> Vec<Test> {
        self.columns.iter().flat_map(|column| (0..column.n_cuts).map(|cut| column.test(cut).0)).collect()
    }
}

/// Random odd factors. The sum of codes times factors is a hash of a row, or of a column, whose products do not depend
/// on each other.
fn factors() -> impl Iterator<Item = u32> {
    (0u64..).map(|i| bits::mix(i) as u32 | 1)
}

fn flipped(ranks: &[u32], flip: u32) -> impl Iterator<Item = u32> {
    ranks.iter().map(move |&rank| rank ^ flip)
}

fn rank_column(
    data: &Dataset,
    binarizer: &Binarizer,
    index: usize,
    column: Prepared,
    ticker: &mut Ticker,
) -> Result<Ranked, Stop> {
    let (n_rows, budget) = (data.n_rows(), ticker.budget());
    let order = match column {
        Prepared::Ordered(order) => order,
        Prepared::Nominal(coded) => {
            let bytes = (coded.tests.len() as u64 + 1).saturating_mul(4 * n_rows as u64 + 100);
            budget.reserve(bytes)?.keep();
            let codes = unpack(&coded.codes.planes().collect::<Vec<_>>(), n_rows);
            let n_codes = codes.iter().max().map_or(0, |&code| code as usize + 1);
            let mut columns = Vec::with_capacity(coded.tests.len());
            for (place, test) in coded.tests.iter().enumerate() {
                ticker.tick(2 * n_rows + 10 * n_codes)?;
                let ranks: Vec<u32> = (0..n_codes).map(|code| u32::from(!coded.passes.test(code, place))).collect();
                columns.push(RankedColumn {
                    ranks: codes.iter().map(|&code| ranks[code as usize]).collect(),
                    n_ranks: 2,
                    n_cuts: 1,
                    ranked_by: RankedBy::Test(test.clone()),
                });
            }
            return Ok(Ranked { columns, codes, n_codes: 0 });
        }
    };
    budget.reserve(4 * n_rows as u64 + 8 * order.n_values() as u64)?.keep();
    let missing = order.missing;
    let (ranks, keys) = order.ranks(n_rows);
    let n_ranks = keys.len() + usize::from(missing);
    let offered = if missing && binarizer.missing == MissingTests::None { keys.len() } else { n_ranks };
    let notation = Notation::of(&data.schema().features[index]);
    let ranked_by = RankedBy::Values { feature: index as u32, notation, keys };
    let column = RankedColumn { ranks, n_ranks, n_cuts: offered.saturating_sub(1), ranked_by };
    Ok(Ranked { codes: vec![], n_codes: n_ranks, columns: vec![column] })
}
