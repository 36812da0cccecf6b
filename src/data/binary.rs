//! A table as an exact search over 0/1 tests sees it: distinct rows of bits, each with its classes.

use rustc_hash::FxHashMap;

use super::binarize::{Binarizer, CodedColumn, Passes};
use super::dataset::{Dataset, MISSING, Target};
use crate::bits;
use crate::budget::{Budget, Stop, Ticker};
use crate::error::{Error, Result};
use crate::tree::Test;

/// Rows that no test tells apart are one *pattern*; what is known of a pattern is its bits and the cases behind it.
#[derive(Debug, Clone)]
pub struct BinaryTable {
    /// The tests offered, in column-then-cut order: none constant, no two equal or complementary on these cases.
    pub tests: Vec<Test>,
    /// Whether every ordered column has a test between all its neighbouring values.
    pub exact_thresholds: bool,
    /// Words of bits per pattern.
    pub words: usize,
    /// Pattern after pattern: whether it passes each test.
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
    /// Complexity: O(n log n) per column, then O(patterns x tests / 64 + bits set).
    pub fn new(
        data: &Dataset,
        binarizer: &Binarizer,
        budget: &Budget,
        parallel: bool,
    ) -> Result<std::result::Result<Self, Stop>> {
        if !(0..data.n_rows()).any(|row| data.count(row) > 0) {
            let reason = match data.n_rows() {
                0 => "the table has no row",
                _ => "every row has count or weight 0",
            };
            return Err(Error::NoCases { reason });
        }
        let (columns, exact_thresholds) = match binarizer.code(data, budget, parallel)? {
            Ok(coded) => coded,
            Err(stop) => return Ok(Err(stop)),
        };
        Ok(Self::merge(data, columns, exact_thresholds, budget))
    }

    fn merge(
        data: &Dataset,
        columns: Vec<CodedColumn>,
        exact_thresholds: bool,
        budget: &Budget,
    ) -> std::result::Result<Self, Stop> {
        let mut ticker = Ticker::new(budget);
        let (pattern_of, first_rows) = merge_rows(data, &columns, &mut ticker)?;
        let n_patterns = first_rows.len();
        let tests: Vec<Test> = columns.iter().flat_map(|column| column.tests.iter().cloned()).collect();
        let words = bits::words(tests.len());
        let bytes = (words * n_patterns * 8) as u64;
        if bytes > budget.memory_limit() {
            return Err(Stop::Memory);
        }
        let mut table = vec![0u64; words * n_patterns];
        let mut offset = 0;
        for column in &columns {
            for (pattern, &row) in first_rows.iter().enumerate() {
                let pattern_bits = &mut table[pattern * words..(pattern + 1) * words];
                match (&column.passes, column.codes[row as usize]) {
                    (Passes::Cuts(n), MISSING) if *n < column.tests.len() => bits::set(pattern_bits, offset + n),
                    (Passes::Cuts(_), MISSING) => {}
                    (Passes::Cuts(n), code) => bits::set_range(pattern_bits, offset + code as usize, offset + n),
                    (Passes::Table(passes), code) => {
                        let code = if code == MISSING { passes.len() - 1 } else { code as usize };
                        passes[code].iter().for_each(|&test| bits::set(pattern_bits, offset + test as usize));
                    }
                }
            }
            ticker.tick(n_patterns * (1 + column.tests.len() / 64))?;
            offset += column.tests.len();
        }
        let keep = distinct_tests(&table, words, tests.len(), &mut ticker)?;
        if keep.len() == tests.len() {
            return Ok(BinaryTable { tests, exact_thresholds, words, bits: table, pattern_of, n_patterns });
        }
        let kept_words = bits::words(keep.len());
        let mut kept = vec![0u64; kept_words * n_patterns];
        for pattern in 0..n_patterns {
            let from = &table[pattern * words..(pattern + 1) * words];
            let to = &mut kept[pattern * kept_words..(pattern + 1) * kept_words];
            for (new, &old) in keep.iter().enumerate() {
                if bits::get(from, old) {
                    bits::set(to, new);
                }
            }
            ticker.tick(keep.len())?;
        }
        let tests = keep.into_iter().map(|old| tests[old].clone()).collect();
        Ok(BinaryTable { tests, exact_thresholds, words: kept_words, bits: kept, pattern_of, n_patterns })
    }

    /// The bits of one pattern.
    pub fn pattern(&self, pattern: usize) -> &[u64] {
        &self.bits[pattern * self.words..(pattern + 1) * self.words]
    }

    /// Per pattern the classes of its cases with their mass, `mass(row)` summed; patterns without mass keep an empty
    /// list. Panics without a class target.
    pub fn class_masses(&self, data: &Dataset, mass: impl Fn(usize) -> u64) -> Vec<Vec<(u32, u64)>> {
        let Target::Classes(classes) = data.target() else { panic!("the search checked that the target has classes") };
        let mut masses: Vec<Vec<(u32, u64)>> = vec![Vec::new(); self.n_patterns];
        for (row, &pattern) in self.pattern_of.iter().enumerate().filter(|&(_, &p)| p != ABSENT) {
            let (class, entries) = (classes[row], &mut masses[pattern as usize]);
            match entries.iter_mut().find(|entry| entry.0 == class) {
                Some(entry) => entry.1 += mass(row),
                None => entries.push((class, mass(row))),
            }
        }
        masses
    }
}

/// Numbers the distinct rows of codes in order of first occurrence; returns the number of each row, and a row of each.
fn merge_rows(
    data: &Dataset,
    columns: &[CodedColumn],
    ticker: &mut Ticker,
) -> std::result::Result<(Vec<u32>, Vec<u32>), Stop> {
    let hash = |row: usize| columns.iter().fold(0u64, |h, c| bits::mix(h ^ u64::from(c.codes[row])));
    let equal = |a: usize, b: usize| columns.iter().all(|c| c.codes[a] == c.codes[b]);
    let mut pattern_of = vec![ABSENT; data.n_rows()];
    let mut first_rows: Vec<u32> = Vec::new();
    // The hash finds the bucket; the codes themselves decide. Patterns of one hash are chained.
    let mut latest: FxHashMap<u64, u32> = FxHashMap::default();
    let mut previous: Vec<u32> = Vec::new();
    for row in (0..data.n_rows()).filter(|&row| data.count(row) > 0) {
        let entry = latest.entry(hash(row));
        let head = match &entry {
            std::collections::hash_map::Entry::Occupied(head) => *head.get(),
            std::collections::hash_map::Entry::Vacant(_) => ABSENT,
        };
        let mut pattern = head;
        while pattern != ABSENT && !equal(first_rows[pattern as usize] as usize, row) {
            pattern = previous[pattern as usize];
        }
        if pattern == ABSENT {
            pattern = first_rows.len() as u32;
            first_rows.push(row as u32);
            previous.push(head);
            entry.insert_entry(pattern);
        }
        pattern_of[row] = pattern;
        ticker.tick(20 + 4 * columns.len())?;
    }
    Ok((pattern_of, first_rows))
}

/// The tests that are not constant and differ from every earlier one and its complement.
fn distinct_tests(
    table: &[u64],
    words: usize,
    n_tests: usize,
    ticker: &mut Ticker,
) -> std::result::Result<Vec<usize>, Stop> {
    if words == 0 {
        return Ok(Vec::new());
    }
    let n_patterns = table.len() / words;
    let first = &table[..words];
    // A test and its complement look alike once flipped to fail on the first pattern; the sum of random numbers over
    // the patterns where a test differs from the first one is a hash of it, 0 for a constant.
    let mut sums = vec![0u64; n_tests];
    for pattern in 1..n_patterns {
        let random = bits::mix(pattern as u64);
        let mut changed = 0;
        for word in 0..words {
            let mut rest = table[pattern * words + word] ^ first[word];
            changed += rest.count_ones() as usize;
            while rest != 0 {
                let test = word * 64 + rest.trailing_zeros() as usize;
                sums[test] = sums[test].wrapping_add(random);
                rest &= rest - 1;
            }
        }
        ticker.tick(words + changed)?;
    }
    let differs = |pattern: usize, test: usize| bits::get(&table[pattern * words..], test) != bits::get(first, test);
    let mut kept: Vec<usize> = Vec::new();
    let mut buckets: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
    for (test, &sum) in sums.iter().enumerate() {
        if sum == 0 && (1..n_patterns).all(|pattern| !differs(pattern, test)) {
            continue;
        }
        let bucket = buckets.entry(sum).or_default();
        let mut repeats = false;
        for &earlier in bucket.iter() {
            repeats |= (1..n_patterns).all(|pattern| differs(pattern, test) == differs(pattern, earlier));
            ticker.tick(2 * n_patterns)?;
        }
        if !repeats {
            bucket.push(test);
            kept.push(test);
        }
    }
    Ok(kept)
}
