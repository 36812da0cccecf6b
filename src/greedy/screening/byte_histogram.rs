//! Histograms of all narrow columns in one pass over a case set.

use crate::greedy::byte_codes::{ByteCodes, ByteColumn};
use crate::simd::{Instructions, Kernel};

/// Bins of the histogram: so many stay in the first cache level.
const BINS: usize = ByteCodes::MOST_BINS;
/// Bins are read in groups of this size.
const GROUP: usize = ByteCodes::GROUP;

/// Masses per bin: those of the first class in the lower half of a word, those of the second in the upper half.
#[derive(Debug)]
pub(super) struct ByteHistogram {
    /// Zero except in the columns that were added up and not yet read.
    sums: Box<[u64; BINS]>,
    added: Vec<ByteColumn>,
    /// The number of added columns that were read or skipped.
    n_read: usize,
}

impl Default for ByteHistogram {
    fn default() -> Self {
        ByteHistogram { sums: Box::new([0; BINS]), added: Vec::new(), n_read: 0 }
    }
}

impl ByteHistogram {
    /// Adds up the masses of cases by their codes in some columns, and forgets the columns of the call before.
    pub fn add_up(
        &mut self,
        byte_codes: &ByteCodes,
        cases: &[u32],
        masses: &[u64],
        columns: impl Iterator<Item = ByteColumn>,
    ) {
        self.skip(self.added.len());
        let ByteHistogram { sums, added, n_read } = self;
        added.clear();
        added.extend(columns);
        *n_read = 0;
        for columns in added.chunks(ADD_UP.len()) {
            ADD_UP[columns.len() - 1](sums, byte_codes, cases, masses, columns);
        }
    }

    /// The bins of a column that was added up, to be read and cleared by [`ReadBins`]. Columns are read in the order in
    /// which they were added; some may be skipped.
    pub fn bins_of(&mut self, column: ByteColumn) -> &mut [[u64; GROUP]] {
        let n_skipped = self.added[self.n_read..].iter().take_while(|added| added.start != column.start).count();
        self.skip(n_skipped);
        self.n_read += 1;
        self.sums[column.start + column.n_codes] = 0;
        &mut self.sums.as_chunks_mut().0[groups(column)]
    }

    /// Clears the next `n` columns, or all that are left.
    fn skip(&mut self, n: usize) {
        let end = self.added.len().min(self.n_read + n);
        for &column in &self.added[self.n_read..end] {
            self.sums.as_chunks_mut::<GROUP>().0[groups(column)].as_flattened_mut().fill(0);
        }
        self.n_read = end;
    }
}

/// The groups of bins of a column.
fn groups(column: ByteColumn) -> std::ops::Range<usize> {
    column.start / GROUP..(column.start + column.n_codes) / GROUP + 1
}

type AddUp = fn(&mut [u64; BINS], &ByteCodes, &[u32], &[u64], &[ByteColumn]);

/// [`add_up`] for each number of columns up to 8: with fewer columns in a pass, the next case waits for the sums of the
/// one before.
const ADD_UP: [AddUp; 8] =
    [add_up::<1>, add_up::<2>, add_up::<3>, add_up::<4>, add_up::<5>, add_up::<6>, add_up::<7>, add_up::<8>];

/// Adds up the masses of cases by their codes in `N` columns.
fn add_up<const N: usize>(
    sums: &mut [u64; BINS],
    byte_codes: &ByteCodes,
    cases: &[u32],
    masses: &[u64],
    columns: &[ByteColumn],
) {
    let columns: [ByteColumn; N] = *columns.first_chunk().expect("there are N of them");
    for (&case, &mass) in cases.iter().zip(masses) {
        let codes = byte_codes.codes_of_case(case);
        for column in columns {
            // No bin is out of range; the remainder spares the check.
            sums[(column.start + usize::from(codes[column.index])) % BINS] += mass;
        }
    }
}

/// Reads the codes with mass, ascending, and their class masses from bins, and clears the bins; of an ordered column
/// the cumulative masses. Returns the number of codes with mass, and the mass of all.
pub(super) struct ReadBins<'a> {
    pub sums: &'a mut [[u64; GROUP]],
    pub is_ordered: bool,
    /// Output, long enough for all codes.
    pub codes: &'a mut [u32],
    pub masses: [&'a mut [u32]; 2],
}

impl Kernel for ReadBins<'_> {
    type Output = (usize, u64);

    #[inline(always)]
    fn run<P: Instructions>(self) -> (usize, u64) {
        let ReadBins { sums, is_ordered, codes, masses: [first, second] } = self;
        let (mut end, mut sum) = (0, 0);
        for (group, sums) in (0u32..).zip(sums) {
            let mut left = (0..GROUP).fold(0u32, |left, i| left | u32::from(sums[i] != 0) << i);
            while left != 0 {
                let i = left.trailing_zeros();
                left &= left - 1;
                let masses = sums[i as usize % GROUP];
                sum += masses;
                let masses = if is_ordered { sum } else { masses };
                codes[end] = group * GROUP as u32 + i;
                (first[end], second[end]) = (masses as u32, (masses >> 32) as u32);
                end += 1;
            }
            *sums = [0; GROUP];
        }
        (end, sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::mix;
    use crate::simd::Isa;

    #[test]
    fn all_instruction_sets_read_the_same_bins() {
        for seed in 0..40 {
            let n_groups = 1 + seed as usize % 5;
            let mass = |bin: u64| match mix(100 * seed + bin) {
                x if x % 3 == 0 => 0,
                x => (x >> 8 & 0xffff) << (32 * (x >> 40 & 1)),
            };
            let sums: Vec<u64> = (0..(GROUP * n_groups) as u64).map(mass).collect();
            for isa in Isa::all() {
                for is_ordered in [false, true] {
                    let mut left = sums.clone();
                    let (mut codes, mut first, mut second) = (vec![7; 99], vec![7; 99], vec![7; 99]);
                    let (n, sum) = isa.run(ReadBins {
                        sums: left.as_chunks_mut().0,
                        is_ordered,
                        codes: &mut codes,
                        masses: [&mut first, &mut second],
                    });
                    assert!(left.iter().all(|&mass| mass == 0));
                    let came: Vec<usize> = (0..sums.len()).filter(|&code| sums[code] > 0).collect();
                    let up_to = |code: usize| sums[..=code].iter().sum::<u64>();
                    assert_eq!((n, sum), (came.len(), sums.iter().sum()));
                    for (place, code) in came.into_iter().enumerate() {
                        let mass = if is_ordered { up_to(code) } else { sums[code] };
                        assert_eq!(codes[place] as usize, code);
                        assert_eq!([first[place], second[place]], [mass as u32, (mass >> 32) as u32]);
                    }
                }
            }
        }
    }
}
