//! The codes of a column that occur at a node, with their class masses.

use super::Screen;
use super::byte_histogram::ReadBins;
use super::column::ColumnSplits;
use super::small_sort::SmallSort;
use crate::greedy::case_set::CaseSet;
use crate::greedy::data::{GrowthData, TrainingColumn};
use crate::greedy::types::MISSING;
use crate::simd::BLOCK;

/// Masses are summed per code up to this many codes, and this many more for each case.
const CODES: usize = 1024;
const CODES_PER_CASE: usize = 128;

/// Codes below this fit into a word of four bytes together with positions of [`SmallSort`].
const MOST_WITH_POSITION: u32 = u32::MAX / SmallSort::MOST as u32;

/// The masses of two classes in the halves of a word.
fn halves(masses: u64) -> [u32; 2] {
    [masses as u32, (masses >> 32) as u32]
}

impl Screen {
    /// Collects the codes of a column that occur at a node, ascending, and their masses; of an ordered column the
    /// cumulative masses.
    pub(super) fn collect(&mut self, table: &GrowthData, column: usize, cases: &CaseSet) {
        let coded = &table.columns[column];
        let (n, n_codes) = (cases.cases().len(), coded.n_codes as usize);
        let ColumnSplits { codes: occurring, masses: [first, second], purities, .. } = &mut self.this;
        let most = (n.min(n_codes) + 2).next_multiple_of(BLOCK);
        if occurring.len() < most {
            for buffer in [&mut *occurring, &mut *first, &mut *second] {
                buffer.resize(most, 0);
            }
            purities.resize(most, 0.0);
        }
        let (n_occurring, sum) = match table.byte_codes().column(column) {
            Some(narrow) => {
                let (codes, masses) = (&mut occurring[..], [&mut first[..], &mut second[..]]);
                let sums = self.byte_histogram.bins_of(narrow);
                self.isa.run(ReadBins { sums, is_ordered: coded.ordered, codes, masses })
            }
            None if n_codes <= CODES_PER_CASE * n + CODES => self.collect_sums(coded, cases),
            None => self.collect_in_order(coded, cases),
        };
        (self.this.n, self.this.known) = (n_occurring, halves(sum));
    }

    /// [`Screen::collect`] of a column that is not narrow, by sums per code. Returns the number of codes that occur,
    /// and the mass of all.
    fn collect_sums(&mut self, coded: &TrainingColumn, cases: &CaseSet) -> (usize, u64) {
        let (codes, n_codes) = (coded.codes(), coded.n_codes as usize);
        let ColumnSplits { codes: occurring, masses: [first, second], .. } = &mut self.this;
        let (mut end, mut sum) = (0, 0);
        self.sums.resize(self.sums.len().max(n_codes + 1), 0);
        self.occurs.resize(self.occurs.len().max(n_codes / 64 + 1), 0);
        for (&case, &mass) in cases.cases().iter().zip(&self.masses) {
            let code = codes[case as usize].min(coded.n_codes);
            let sum = &mut self.sums[code as usize];
            // Always written, and overwritten if the code occurred before: this avoids an unpredictable branch.
            occurring[end] = code;
            end += usize::from(*sum == 0);
            *sum += mass;
        }
        occurring[..end].iter().for_each(|&code| self.occurs[code as usize / 64] |= 1 << (code % 64));
        // The last sum is that of missing values.
        self.sums[n_codes] = 0;
        self.occurs[n_codes / 64] &= !(1 << (n_codes % 64));
        end = 0;
        for (word, occurs) in self.occurs[..n_codes / 64 + 1].iter_mut().enumerate() {
            let mut left = std::mem::take(occurs);
            while left != 0 {
                let code = word * 64 + left.trailing_zeros() as usize;
                left &= left - 1;
                let masses = std::mem::take(&mut self.sums[code]);
                sum += masses;
                occurring[end] = code as u32;
                [first[end], second[end]] = halves(if coded.ordered { sum } else { masses });
                end += 1;
            }
        }
        (end, sum)
    }

    /// [`Screen::collect_sums`] of a column with many codes, by sorting the cases.
    fn collect_in_order(&mut self, coded: &TrainingColumn, set: &CaseSet) -> (usize, u64) {
        let codes = coded.codes();
        let cases = (0u32..).zip(set.cases()).map(|(position, &case)| (codes[case as usize], position));
        let cases = cases.filter(|&(code, _)| coded.is_complete || code != MISSING);
        let ColumnSplits { codes: occurring, masses: [first, second], .. } = &mut self.this;
        let (mut end, mut sum, mut before, mut last) = (0, 0, 0, MISSING);
        let mut take = |code: u32, position: u32| {
            if code != last {
                (last, before, occurring[end]) = (code, sum, code);
                end += 1;
            }
            sum += self.masses[position as usize];
            [first[end - 1], second[end - 1]] = halves(if coded.ordered { sum } else { sum - before });
        };
        if set.cases().len() <= SmallSort::MOST && coded.n_codes < MOST_WITH_POSITION {
            const MOST: u32 = SmallSort::MOST as u32;
            self.small_sort.keys.clear();
            self.small_sort.keys.extend(cases.map(|(code, position)| code * MOST + position));
            let sorted = self.small_sort.sorted(|ranks| self.isa.run(ranks));
            sorted.iter().for_each(|key| take(key / MOST, key % MOST));
        } else {
            self.keys.clear();
            self.keys.extend(cases.map(|(code, position)| u64::from(code) << 32 | u64::from(position)));
            self.keys.sort_unstable();
            self.keys.iter().for_each(|&key| take((key >> 32) as u32, key as u32));
        }
        (end, sum)
    }
}
