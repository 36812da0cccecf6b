//! Masses of many digits: added up row by row where groups of equal mass would be too many to count.
//!
//! What passes a test is listed, and for each instance of the list its mass goes to all other tests that its row
//! passes: a few of them at once, by the bits of a word of the row. Rows are in the order of positions, so that sums
//! come in it too. Where fewer instances do not pass than pass, these are listed, and their sums are taken from those
//! of all instances.

use std::ops::Range;

use super::accumulator::Accumulator;
use super::aligned::Aligned;
use super::bit_table::BitColumns;
use crate::simd::{Instructions, WORD, WeighedRows};

/// Instances that have a mass each.
#[derive(Debug)]
pub(super) struct Weighed<'a, L> {
    /// A bit per position, in whole words.
    pub(super) rows: &'a [u32],
    /// Which of them are counted, if not all: a bit each.
    pub(super) set: Option<&'a [u32]>,
    /// Where each group of them starts, and where the last ends.
    pub(super) starts: &'a [usize],
    pub(super) masses: &'a [L],
}

impl<L> Clone for Weighed<'_, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L> Copy for Weighed<'_, L> {}

/// Buffers.
#[derive(Debug, Default)]
pub(super) struct WeightedSums<L> {
    /// For each word of the columns: the bits that are counted, and the instance of its first bit.
    words: Vec<(u32, u32)>,
    picks: Vec<u32>,
    /// Of all instances that are counted, by part of the groups and position.
    all: Vec<[L; WORD]>,
    /// For each instance, its mass at each position that it passes; if they are `spread_out`.
    lanes: Vec<[L; WORD]>,
    is_spread_out: bool,
    /// By position, in whole words.
    pub(super) of: Aligned<L>,
}

/// Masses are spread out over the positions of their rows where that takes at most so many bytes.
pub(super) const SPREAD_OUT: usize = 1 << 18;

impl<L: Accumulator> Weighed<'_, L> {
    /// Readies the buffers for sums over these instances.
    #[inline(always)]
    pub(super) fn begin(self, columns: &BitColumns, sums: &mut WeightedSums<L>) {
        let WeightedSums { words, picks, of, is_spread_out, .. } = sums;
        *is_spread_out = false;
        words.clear();
        for (group, bounds) in self.starts.windows(2).enumerate() {
            for (at, word) in (columns.starts[group]..columns.starts[group + 1]).enumerate() {
                let in_use = columns.in_use(word, group, bounds[1] - bounds[0]);
                let counted = in_use & self.set.map_or(u32::MAX, |set| set[word]);
                words.push((counted, (bounds[0] + 32 * at) as u32));
            }
        }
        // Room for the bits of a whole word behind the last.
        let most = self.starts.last().copied().unwrap_or(0) + 32;
        if picks.len() < most {
            picks.resize(most, 0);
        }
        of.grow(columns.stride.next_multiple_of(WORD));
    }

    /// Adds up the masses of the instances of some groups that are counted and that a mask has set, for each position
    /// from about `first` on. [`begin`](Self::begin) was called before. If there is a `part`, so was
    /// [`sum_all`](Self::sum_all), and these groups are that part: what the mask has not set may be taken from its sums.
    #[inline(always)]
    pub(super) fn sum<P: Instructions>(
        self,
        columns: &BitColumns,
        groups: Range<usize>,
        mask: impl Fn(usize) -> u32,
        (first, part): (usize, Option<usize>),
        sums: &mut WeightedSums<L>,
    ) {
        let WeightedSums { words, picks, all, lanes, is_spread_out, of } = sums;
        let lanes = (!P::CHOOSES_LANES && *is_spread_out).then_some(&lanes[..]);
        let (start, end) = (columns.starts[groups.start], columns.starts[groups.end]);
        let words = &words[start..end];
        let n_words = columns.stride.div_ceil(WORD);
        let by_rest = part.is_some() && {
            let (mut n_set, mut n) = (0, 0);
            for (word, &(counted, _)) in (start..).zip(words) {
                n_set += (mask(word) & counted).count_ones();
                n += counted.count_ones();
            }
            2 * n_set > n
        };
        let flip = if by_rest { u32::MAX } else { 0 };
        let mut end = 0;
        for (word, &(counted, first)) in (start..).zip(words) {
            let room = picks[end..].first_chunk_mut().expect("no more bits than instances");
            end += P::positions((mask(word) ^ flip) & counted, first, room);
        }
        let all = part.filter(|_| by_rest).map(|part| &all[part * n_words..(part + 1) * n_words]);
        let of = &mut of.as_chunks_mut::<WORD>().0[..n_words];
        let (picks, word) = (&picks[..end], first / WORD);
        write_sums::<P, L>(WeighedRows { rows: self.rows, n_words, word, picks, masses: self.masses }, lanes, all, of);
    }

    /// Adds up the masses of all instances that are counted, for each of these parts of the groups. Calls
    /// [`begin`](Self::begin).
    #[inline(always)]
    pub(super) fn sum_all<P: Instructions>(
        self,
        columns: &BitColumns,
        parts: impl Iterator<Item = Range<usize>>,
        sums: &mut WeightedSums<L>,
    ) {
        self.begin(columns, sums);
        self.spread_out::<P>(columns, sums);
        sums.all.clear();
        for groups in parts {
            self.sum::<P>(columns, groups, |_| u32::MAX, (0, None), sums);
            sums.all.extend_from_slice(&sums.of.as_chunks().0[..columns.stride.div_ceil(WORD)]);
        }
    }

    /// Spreads masses out, if that is not too much: each is added up for many tests, and where no instruction chooses
    /// lanes by bits it takes longer to choose them than to read them.
    #[inline(always)]
    fn spread_out<P: Instructions>(self, columns: &BitColumns, sums: &mut WeightedSums<L>) {
        let n_words = columns.stride.div_ceil(WORD);
        let len = self.starts.last().map_or(0, |&n| n * n_words);
        sums.is_spread_out = !P::CHOOSES_LANES && len * size_of::<[L; WORD]>() <= SPREAD_OUT;
        if !sums.is_spread_out {
            return;
        }
        if sums.lanes.len() < len {
            sums.lanes.resize(len, [L::default(); WORD]);
        }
        for (row, lanes) in (0u32..).zip(sums.lanes[..len].chunks_exact_mut(n_words)) {
            let rows = WeighedRows { rows: self.rows, n_words, word: 0, picks: &[row], masses: self.masses };
            write_sums::<P, L>(rows, None, None, lanes);
        }
    }
}

/// Writes the sums of the words of the rows from `rows.word` on, or what is left of `all` without them; from masses that
/// are spread out, if there are.
#[inline(always)]
fn write_sums<P: Instructions, L: Accumulator>(
    mut rows: WeighedRows<L>,
    lanes: Option<&[[L; WORD]]>,
    all: Option<&[[L; WORD]]>,
    of: &mut [[L; WORD]],
) {
    while rows.word < rows.n_words {
        rows.word += match rows.n_words - rows.word {
            1 => write_words::<P, L, 1>(&rows, lanes, all, of),
            2 => write_words::<P, L, 2>(&rows, lanes, all, of),
            3 => write_words::<P, L, 3>(&rows, lanes, all, of),
            _ => write_words::<P, L, 4>(&rows, lanes, all, of),
        };
    }
}

/// The same of as many words as are added up at once. Returns how many words those are.
#[inline(always)]
fn write_words<P: Instructions, L: Accumulator, const WORDS: usize>(
    rows: &WeighedRows<L>,
    lanes: Option<&[[L; WORD]]>,
    all: Option<&[[L; WORD]]>,
    of: &mut [[L; WORD]],
) -> usize {
    let to: &mut [_; WORDS] = of[rows.word..]
        .first_chunk_mut()
        .expect("`rows.word + WORDS` is no more than the words of a row, and so many sums");
    match lanes {
        Some(lanes) => {
            let mut sums = [[L::default(); WORD]; WORDS];
            for &pick in rows.picks {
                let row: &[_; WORDS] = lanes[pick as usize * rows.n_words + rows.word..]
                    .first_chunk()
                    .expect("each row is spread out over `n_words` words");
                for (sums, row) in sums.iter_mut().zip(row) {
                    for lane in 0..WORD {
                        sums[lane] = sums[lane].plus(row[lane]);
                    }
                }
            }
            *to = sums;
        }
        None => L::weigh::<P, WORDS>(rows, to),
    }
    if let Some(all) = all {
        for (to, all) in to.iter_mut().zip(&all[rows.word..]) {
            for bit in 0..WORD {
                to[bit] = all[bit].minus(to[bit]);
            }
        }
    }
    WORDS
}

#[cfg(test)]
mod tests {
    use super::super::bit_table::{Layout, RowsByPosition};
    use super::*;
    use crate::bits::mix;
    use crate::simd::{Isa, Kernel};

    struct Sum<'a, 'b, L> {
        weighed: Weighed<'a, L>,
        columns: &'a BitColumns,
        masks: &'a [u32],
        first: usize,
        rest: bool,
        sums: &'b mut WeightedSums<L>,
    }

    impl<L: Accumulator> Kernel for Sum<'_, '_, L> {
        type Output = ();

        #[inline(always)]
        fn run<P: Instructions>(self) {
            let Sum { weighed, columns, masks, first, sums, .. } = self;
            match self.rest {
                true => weighed.sum_all::<P>(columns, [0..1, 0..2].into_iter(), sums),
                false => weighed.begin(columns, sums),
            }
            weighed.sum::<P>(columns, 0..2, |word| masks[word], (first, self.rest.then_some(1)), sums);
        }
    }

    fn check<L: Accumulator>(most: u64) {
        let total = 200usize;
        let masses: Vec<L> = (0..total).map(|row| L::of(mix(9_000 + row as u64) % most)).collect();
        for n_tests in [1, 5, 32, 33, 64, 65, 100, 129, 257, 513, 700] {
            let layout = Layout::new(n_tests);
            let passes = |row: usize, test: usize| mix((row * 7919 + test) as u64).is_multiple_of(3);
            let mut packed = vec![0u32; total * layout.lanes];
            for (row, test) in (0..total).flat_map(|row| (0..n_tests).map(move |test| (row, test))) {
                let (lane, bit) = layout.place(test);
                packed[row * layout.lanes + lane as usize] |= u32::from(passes(row, test)) << bit;
            }
            for sizes in [[0usize, 1], [33, 0], [100, 64], [31, 90]] {
                let starts = [0, sizes[0], sizes[0] + sizes[1]];
                let picked: Vec<u32> = (0..starts[2]).map(|i| (i * 13 % total) as u32).collect();
                let masses: Vec<L> = picked.iter().map(|&row| masses[row as usize]).collect();
                let cases = Isa::all().into_iter().flat_map(|isa| (0..6).map(move |case| (isa, case)));
                for (isa, case) in cases {
                    let mut columns = BitColumns::default();
                    columns.gather(isa, &packed, layout, &picked, &starts);
                    let mut rows = vec![u32::MAX; picked.len() * columns.stride.div_ceil(WORD)];
                    isa.run(RowsByPosition { columns: &columns, starts: &starts, rows: &mut rows });
                    // Beyond the last instance of a group too; of few, half or most instances.
                    let word = |word: usize| mix(word as u64) as u32;
                    let masks: Vec<u32> = (0..columns.n_words())
                        .map(|at| match case % 3 {
                            0 => word(at) & word(at + 1_000),
                            1 => word(at),
                            _ => word(at) | word(at + 1_000),
                        })
                        .collect();
                    let set: Option<Vec<u32>> =
                        (case > 2).then(|| (0..columns.n_words()).map(|at| word(at + 2_000)).collect());
                    let set = set.as_deref();
                    let weighed = Weighed { rows: &rows, set, starts: &starts, masses: &masses };
                    let first = if n_tests > 64 { 48 } else { 0 };
                    for rest in [false, true] {
                        // Left over from another node.
                        let mut of = Aligned::default();
                        of.fill_with(3000, L::MAX);
                        let mut sums = WeightedSums {
                            words: vec![(7, 7); 50],
                            picks: vec![7; 50],
                            all: vec![[L::MAX; WORD]; 9],
                            lanes: vec![[L::MAX; WORD]; 9],
                            is_spread_out: true,
                            of,
                        };
                        isa.run(Sum { weighed, columns: &columns, masks: &masks, first, rest, sums: &mut sums });
                        for (test, position) in (0..n_tests).map(|test| (test, layout.position(test))) {
                            if position < first {
                                continue;
                            }
                            let mut expected = L::default();
                            for (at, &row) in picked.iter().enumerate() {
                                let group = usize::from(at >= starts[1]);
                                let word = columns.starts[group] + (at - starts[group]) / 32;
                                let bits = masks[word] & set.map_or(u32::MAX, |set| set[word]);
                                let is_set = bits >> ((at - starts[group]) % 32) & 1 == 1;
                                if is_set && passes(row as usize, test) {
                                    expected = expected.plus(masses[at]);
                                }
                            }
                            assert!(
                                sums.of[position] == expected,
                                "{isa:?}, {n_tests} tests, test {test}, {sizes:?}, case {case}, rest: {rest}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn all_sets_of_instructions_weigh_as_defined() {
        check::<u16>(1 << 7);
        check::<u32>(1 << 20);
        check::<u64>(1 << 52);
    }
}
