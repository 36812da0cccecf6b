//! A table as an exact search over 0/1 tests sees it: its distinct rows of bits.

use rustc_hash::FxHashMap;

use super::binarize::{Binarizer, CodedColumn, Passes, PreparedColumns};
use super::bit_planes::unpack;
use super::dataset::Dataset;
use super::interner::Interner;
use super::test::Test;
use crate::bits;
use crate::budget::{Budget, Reserved, Stop, Ticker};
use crate::error::Result;

/// The distinct rows of a table, as bits. Rows that no test tells apart are one *pattern*.
#[derive(Debug, Clone)]
pub struct BinaryTable {
    /// The tests offered, in column-then-cut order: none constant, no two equal or complementary on these cases.
    pub tests: Vec<Test>,
    /// Whether every ordered column has a test between all its neighbouring values.
    pub exact_thresholds: bool,
    /// Words of bits per pattern.
    pub words: usize,
    /// One pattern after the other: a bit for each test, set where the pattern passes it.
    pub bits: Vec<u64>,
    /// The pattern of each row; [`ABSENT`] where its count or weight is 0.
    pub pattern_of: Vec<u32>,
    /// How many patterns there are.
    pub n_patterns: usize,
}

/// The pattern of a row that is absent.
pub const ABSENT: u32 = u32::MAX;

impl BinaryTable {
    /// Codes the columns, merges equal rows, and drops tests that are constant or repeat an earlier one (or its
    /// complement). The outer result is the call's, the inner one the budget's.
    ///
    /// With `parallel`, columns are shared out in the rayon pool that this is called in.
    ///
    /// Complexity: O(n) per column of two values and O(n log n) per other one, then O(n x tests / 64).
    pub fn new(
        data: &Dataset,
        binarizer: &Binarizer,
        budget: &Budget,
        parallel: bool,
    ) -> Result<std::result::Result<Self, Stop>> {
        let prepared = binarizer.prepare(data, budget, parallel)?;
        Ok(prepared.and_then(|prepared| Self::of(data, binarizer, prepared, budget, parallel)))
    }

    /// As [`BinaryTable::new`], of columns that are prepared.
    pub(crate) fn of(
        data: &Dataset,
        binarizer: &Binarizer,
        prepared: PreparedColumns,
        budget: &Budget,
        parallel: bool,
    ) -> std::result::Result<Self, Stop> {
        let (columns, exact_thresholds) = binarizer.code(data, prepared, budget, parallel)?;
        Self::merge(data, columns, exact_thresholds, budget)
    }

    fn merge(
        data: &Dataset,
        columns: Vec<CodedColumn>,
        exact_thresholds: bool,
        budget: &Budget,
    ) -> std::result::Result<Self, Stop> {
        let mut ticker = Ticker::new(budget);
        budget.reserve(4 * data.n_rows() as u64)?.keep();
        let planes: Vec<&[u64]> = columns.iter().flat_map(|column| column.codes.planes()).collect();
        let DistinctRows { pattern_of, patterns, held, n_patterns } = merge_rows(data, &planes, &mut ticker)?;
        let n_planes = planes.len();
        let of_planes = budget.reserve(8 * (n_planes * bits::words(n_patterns)) as u64)?;
        let planes = transposed(&patterns, n_patterns, n_planes, &mut ticker)?;
        drop((patterns, held));
        let n_tests: usize = columns.iter().map(|column| column.tests.len()).sum();
        budget.reserve((n_tests * size_of::<Test>()) as u64)?.keep();
        let mut tests: Vec<Test> = columns.iter().flat_map(|column| column.tests.iter().cloned()).collect();
        // A line of bits per test, the codes of one column, and the hashes of tests.
        let bytes = n_tests.saturating_mul(8 * bits::words(n_patterns) + 64).saturating_add(4 * n_patterns);
        let _of_lines = budget.reserve(bytes as u64)?;
        let mut lines = pattern_lines(&columns, &planes, n_patterns, &mut ticker)?;
        let keep = distinct_tests(&lines, n_patterns, &mut ticker)?;
        drop((planes, of_planes));
        let words = bits::words(keep.len());
        if keep.len() < tests.len() {
            // Kept lines move to the front.
            let length = bits::words(n_patterns);
            keep.iter()
                .enumerate()
                .for_each(|(to, &from)| lines.copy_within(from * length..(from + 1) * length, to * length));
            lines.truncate(keep.len() * length);
            tests = keep.iter().map(|&test| tests[test].clone()).collect();
        }
        budget.reserve(8 * (n_patterns as u64).saturating_mul(words as u64))?.keep();
        let bits = transposed(&lines, tests.len(), n_patterns, &mut ticker)?;
        Ok(BinaryTable { tests, exact_thresholds, words, bits, pattern_of, n_patterns })
    }

    /// The bits of one pattern.
    pub fn pattern(&self, pattern: usize) -> &[u64] {
        &self.bits[pattern * self.words..(pattern + 1) * self.words]
    }
}

/// The columns of a matrix of bits that is given line by line.
fn transposed(
    lines: &[u64],
    n_lines: usize,
    n_columns: usize,
    ticker: &mut Ticker,
) -> std::result::Result<Vec<u64>, Stop> {
    let (length, words) = (bits::words(n_columns), bits::words(n_lines));
    let lines: Vec<&[u64]> = lines.chunks_exact(length.max(1)).collect();
    let mut columns = vec![0; n_columns * words];
    for (block, columns) in columns.chunks_mut((64 * words).max(1)).enumerate() {
        bits::transpose_block(&lines, block, columns);
        ticker.tick(300 * words)?;
    }
    Ok(columns)
}

/// The distinct rows of a table of codes, numbered in order of first occurrence.
struct DistinctRows<'b> {
    /// The number of each row of the table.
    pattern_of: Vec<u32>,
    /// The distinct rows, as rows of bits.
    patterns: Vec<u64>,
    /// The memory charged for `patterns`.
    held: Reserved<'b>,
    n_patterns: usize,
}

fn merge_rows<'b>(
    data: &Dataset,
    planes: &[&[u64]],
    ticker: &mut Ticker<'b>,
) -> std::result::Result<DistinctRows<'b>, Stop> {
    let words = bits::words(planes.len());
    let mut held = ticker.budget().reserve(0)?;
    let mut pattern_of = vec![ABSENT; data.n_rows()];
    let mut patterns: Vec<u64> = Vec::new();
    let mut interner = Interner::new();
    let mut rows = vec![0; 64 * words];
    for (block, &present) in data.present().iter().enumerate() {
        bits::transpose_block(planes, block, &mut rows);
        for i in bits::ones(&[present]) {
            let row = &rows[i * words..(i + 1) * words];
            let hash = row.iter().fold(0, |hash, &word| bits::mix(hash ^ word));
            let equals = |pattern: usize| patterns[pattern * words..(pattern + 1) * words] == *row;
            let known = interner.len();
            pattern_of[64 * block + i] = interner.number(hash, equals);
            if interner.len() > known {
                if patterns.len() + words > patterns.capacity() {
                    // Room for half as many more patterns, and their numbers.
                    let more = (patterns.capacity() / 2).max(64 * words);
                    held.grow((8 * more + 24 * (more / words.max(1))) as u64)?;
                    patterns.reserve_exact(more);
                }
                patterns.extend_from_slice(row);
            }
        }
        ticker.tick(64 * 20 + 400 * words)?;
    }
    Ok(DistinctRows { pattern_of, patterns, held, n_patterns: interner.len() })
}

/// For each test a line of bits: which patterns pass it. `planes` has the codes of the patterns, column by column.
fn pattern_lines(
    columns: &[CodedColumn],
    planes: &[u64],
    n_patterns: usize,
    ticker: &mut Ticker,
) -> std::result::Result<Vec<u64>, Stop> {
    let length = bits::words(n_patterns);
    let mut planes = planes.chunks_exact(length);
    let mut lines = vec![0u64; length * columns.iter().map(|column| column.tests.len()).sum::<usize>()];
    let mut rest = &mut lines[..];
    for CodedColumn { tests, codes, passes } in columns {
        let (lines, after) = rest.split_at_mut(length * tests.len());
        rest = after;
        let planes: Vec<&[u64]> = planes.by_ref().take(codes.width()).collect();
        if let [plane] = planes[..] {
            for (test, line) in lines.chunks_exact_mut(length).enumerate() {
                let [zeros, ones] = [0, 1].map(|code| if passes.test(code, test) { !0u64 } else { 0 });
                line.iter_mut().zip(plane).for_each(|(to, bits)| *to = ones & bits | zeros & !bits);
                line[length - 1] &= last_word(n_patterns);
            }
            ticker.tick(lines.len())?;
            continue;
        }
        for (pattern, &code) in unpack(&planes, n_patterns).iter().enumerate() {
            let mut pass = |test: usize| bits::set(&mut lines[test * length..], pattern);
            match passes {
                // The first cut that is passed; the loop below adds those after it.
                Passes::Cuts(n) if (code as usize) < *n => pass(code as usize),
                Passes::Cuts(n) if code as usize > *n && *n < tests.len() => pass(*n),
                Passes::Cuts(_) => {}
                Passes::Table(passes) => passes[code as usize].iter().for_each(|&test| pass(test as usize)),
            }
        }
        if let Passes::Cuts(n) = passes {
            for cut in 1..*n {
                let (before, line) = lines.split_at_mut(cut * length);
                let before = &before[(cut - 1) * length..];
                line.iter_mut().zip(before).for_each(|(to, bits)| *to |= bits);
                ticker.tick(length)?;
            }
        }
        ticker.tick(4 * n_patterns)?;
    }
    Ok(lines)
}

/// The bits in use of the last of the words that hold `n` bits.
fn last_word(n: usize) -> u64 {
    !0 >> ((64 - n % 64) % 64)
}

/// The tests that are not constant and differ from every earlier one and its complement, given a line of bits each.
fn distinct_tests(lines: &[u64], n_patterns: usize, ticker: &mut Ticker) -> std::result::Result<Vec<usize>, Stop> {
    let length = bits::words(n_patterns);
    // A test and its complement look alike once flipped to fail on the first pattern.
    let flipped = |test: usize| {
        let line = &lines[test * length..(test + 1) * length];
        let flip = if line[0] & 1 == 1 { !0 } else { 0 };
        let last = last_word(n_patterns);
        line.iter().enumerate().map(move |(i, bits)| (bits ^ flip) & if i + 1 == length { last } else { !0 })
    };
    let mut kept: Vec<usize> = Vec::new();
    let mut buckets: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
    for test in 0..lines.len() / length {
        let (hash, any) = flipped(test).fold((0, 0), |(hash, any), word| (bits::mix(hash ^ word), any | word));
        ticker.tick(5 * length)?;
        if any == 0 {
            continue;
        }
        let bucket = buckets.entry(hash).or_default();
        let mut repeats = false;
        for &earlier in bucket.iter() {
            repeats |= flipped(test).eq(flipped(earlier));
            ticker.tick(2 * length)?;
        }
        if !repeats {
            bucket.push(test);
            kept.push(test);
        }
    }
    Ok(kept)
}
