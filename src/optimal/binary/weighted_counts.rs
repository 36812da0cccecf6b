//! Masses of many digits: added up row by row where groups of equal mass would be too many to count.
//!
//! What passes a test is listed, and for each instance of the list its mass goes to all other tests that its row
//! passes: a few of them at once, by the bits of a word of the row. A word of a row holds every `lanes`-th position, so
//! sums come in the order of rows and are written by position in the end. Where fewer instances do not pass than pass,
//! these are listed, and their sums are taken from those of all instances.

use std::ops::Range;

use super::accumulator::Accumulator;
use super::bit_table::{BitColumns, Layout};
use crate::simd::Instructions;

/// Instances of a node that have a mass each.
#[derive(Debug)]
pub(super) struct Weighed<'a, L> {
    pub(super) rows: &'a [u32],
    pub(super) layout: Layout,
    /// Which instances of the node these are, if not all.
    pub(super) picked: Option<&'a [u32]>,
    /// Which of them are counted, if not all: a bit each.
    pub(super) set: Option<&'a [u32]>,
    /// Where each group of them starts, and where the last ends.
    pub(super) starts: &'a [usize],
    pub(super) masses: &'a [L],
    /// The same with those of the second of two classes subtracted.
    pub(super) signed: &'a [L],
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
    picks: Vec<u32>,
    /// Of all instances that are counted, by part of the groups and position.
    all: Vec<L>,
    /// By position.
    pub(super) of: Vec<L>,
}

impl<L: Accumulator> Weighed<'_, L> {
    /// Differences between two classes in place of masses.
    #[inline(always)]
    pub(super) fn signed(self) -> Self {
        Weighed { masses: self.signed, ..self }
    }

    /// Adds up the masses of the instances of some groups that are counted and that a mask has set, for each position
    /// from about `first` on. If there is a `part`, [`sum_all`](Self::sum_all) was called before, and these groups are
    /// that part: what the mask has not set may be taken from its sums.
    #[inline(always)]
    pub(super) fn sum<P: Instructions>(
        self,
        columns: &BitColumns,
        groups: Range<usize>,
        mask: impl Fn(usize) -> u32,
        (first, part): (usize, Option<usize>),
        sums: &mut WeightedSums<L>,
    ) {
        let WeightedSums { picks, all, of } = sums;
        let all = part.map(|part| &all[part * columns.stride..][..columns.stride]);
        let counted = |group: usize, word: usize| {
            let size = self.starts[group + 1] - self.starts[group];
            columns.in_use(word, group, size) & self.set.map_or(u32::MAX, |set| set[word])
        };
        let words = |group: usize| columns.starts[group]..columns.starts[group + 1];
        let count = |bits: u32| bits.count_ones() as usize;
        let by_rest = all.is_some() && {
            let (mut n_set, mut n) = (0, 0);
            for group in groups.clone() {
                for word in words(group) {
                    let counted = counted(group, word);
                    n_set += count(mask(word) & counted);
                    n += count(counted);
                }
            }
            2 * n_set > n
        };
        of.clear();
        match all.filter(|_| by_rest) {
            Some(all) => of.extend_from_slice(all),
            None => of.resize(columns.stride, L::default()),
        }
        // Room for the bits of a whole word behind the last.
        let most = self.starts[groups.end] - self.starts[groups.start] + 32;
        if picks.len() < most {
            picks.resize(most, 0);
        }
        let mut end = 0;
        for group in groups {
            for (at, word) in words(group).enumerate() {
                let bits = if by_rest { !mask(word) } else { mask(word) } & counted(group, word);
                let room = picks[end..].first_chunk_mut().expect("no more bits than instances");
                end += P::positions(bits, (self.starts[group] + 32 * at) as u32, room);
            }
        }
        let picks = &mut picks[..end];
        if let Some(picked) = self.picked {
            picks.iter_mut().for_each(|pick| *pick = picked[*pick as usize]);
        }
        match self.layout.lanes {
            1 => self.add_rows::<P, 1>(picks, by_rest, first, of),
            2 => self.add_rows::<P, 2>(picks, by_rest, first, of),
            _ => self.add_rows::<P, 4>(picks, by_rest, first, of),
        }
    }

    /// Adds up the masses of all instances that are counted, for each of these parts of the groups.
    #[inline(always)]
    pub(super) fn sum_all<P: Instructions>(
        self,
        columns: &BitColumns,
        parts: impl Iterator<Item = Range<usize>>,
        sums: &mut WeightedSums<L>,
    ) {
        sums.all.clear();
        for groups in parts {
            self.sum::<P>(columns, groups, |_| u32::MAX, (0, None), sums);
            sums.all.extend_from_slice(&sums.of);
        }
    }

    /// `WORDS` words of the rows at a time, 1, 2 or 4.
    #[inline(always)]
    fn add_rows<P: Instructions, const WORDS: usize>(self, picks: &[u32], negative: bool, first: usize, of: &mut [L]) {
        let Weighed { rows, layout, masses, .. } = self;
        for part in (0..layout.lanes).step_by(WORDS) {
            if let Some(sums) = L::weigh::<P, WORDS>(rows, layout.lanes, part, picks, masses) {
                add_by_position(layout, &sums, (0, part), negative, of);
                continue;
            }
            // Masses of 64 bytes at a time, or of 32 if they are narrow; without masks, a byte of bits.
            match size_of::<L>() {
                4 if P::HAS_MASKS => self.add_words::<P, 16, WORDS>(picks, part, negative, first, of),
                _ => self.add_words::<P, 8, WORDS>(picks, part, negative, first, of),
            }
        }
    }

    /// `BITS` bits of each word at a time.
    #[inline(always)]
    fn add_words<P: Instructions, const BITS: usize, const WORDS: usize>(
        self,
        picks: &[u32],
        part: usize,
        negative: bool,
        first: usize,
        of: &mut [L],
    ) {
        let Layout { lanes, per_lane } = self.layout;
        let first_bit = first / lanes / BITS * BITS;
        for bit in (first_bit..per_lane).step_by(BITS) {
            // One by one: of a loop, compilers put the words side by side and not their bits.
            let [mut a, mut b, mut c, mut d] = [[L::default(); BITS]; 4];
            for &pick in picks {
                let row: &[u32; WORDS] = self.rows[pick as usize * lanes + part..]
                    .first_chunk()
                    .expect("a row has `lanes` words, and `part + WORDS` is no more");
                let mass = self.masses[pick as usize];
                a = add_where::<P, _, BITS>(a, row[0] >> bit, mass);
                if WORDS > 1 {
                    b = add_where::<P, _, BITS>(b, row[1] >> bit, mass);
                }
                if WORDS > 2 {
                    c = add_where::<P, _, BITS>(c, row[2] >> bit, mass);
                    d = add_where::<P, _, BITS>(d, row[3] >> bit, mass);
                }
            }
            let sums: &[_; WORDS] = &[a, b, c, d].first_chunk().copied().expect("WORDS is at most four");
            add_by_position(self.layout, sums, (bit, part), negative, of);
        }
    }
}

/// Adds sums of bits from `bit` on, of words from `part` on, to those of positions: one bit of all words after the
/// other.
#[inline(always)]
fn add_by_position<L: Accumulator, const BITS: usize, const WORDS: usize>(
    Layout { lanes, per_lane }: Layout,
    sums: &[[L; BITS]; WORDS],
    (bit, part): (usize, usize),
    negative: bool,
    of: &mut [L],
) {
    let mut by_bit = [[L::default(); WORDS]; BITS];
    for at in 0..BITS {
        for word in 0..WORDS {
            by_bit[at][word] = sums[word][at];
        }
    }
    let n_bits = BITS.min(per_lane - bit);
    let to = &mut of[bit * lanes + part..];
    if lanes == WORDS {
        let to = &mut to[..n_bits * WORDS];
        to.iter_mut().zip(by_bit.as_flattened()).for_each(|(to, &sum)| *to = add_or_take(*to, sum, negative));
    } else {
        for (to, of_bit) in to.chunks_mut(lanes).zip(&by_bit[..n_bits]) {
            to.iter_mut().zip(of_bit).for_each(|(to, &sum)| *to = add_or_take(*to, sum, negative));
        }
    }
}

#[inline(always)]
fn add_or_take<L: Accumulator>(sum: L, mass: L, negative: bool) -> L {
    if negative { sum.minus(mass) } else { sum.plus(mass) }
}

/// Adds a mass where a bit is set.
#[inline(always)]
fn add_where<P: Instructions, L: Accumulator, const BITS: usize>(mut sums: [L; BITS], bits: u32, mass: L) -> [L; BITS] {
    if BITS == 8 && !P::HAS_MASKS {
        // To look masks up is faster than to make them.
        let masks = &L::BYTE_MASKS[(bits & 0xff) as usize];
        for at in 0..BITS {
            sums[at] = sums[at].plus(mass.masked(masks[at]));
        }
        return sums;
    }
    for at in 0..BITS {
        sums[at] = sums[at].plus(if bits & (1 << at) == 0 { L::default() } else { mass });
    }
    sums
}

#[cfg(test)]
mod tests {
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
            if self.rest {
                weighed.sum_all::<P>(columns, [0..1, 0..2].into_iter(), sums);
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
            let mut rows = vec![0u32; total * layout.lanes];
            for (row, test) in (0..total).flat_map(|row| (0..n_tests).map(move |test| (row, test))) {
                let (lane, bit) = layout.place(test);
                rows[row * layout.lanes + lane as usize] |= u32::from(passes(row, test)) << bit;
            }
            for sizes in [[0usize, 1], [33, 0], [100, 64], [31, 90]] {
                let starts = [0, sizes[0], sizes[0] + sizes[1]];
                let picked: Vec<u32> = (0..starts[2]).map(|i| (i * 13 % total) as u32).collect();
                let cases = Isa::all().into_iter().flat_map(|isa| (0..6).map(move |case| (isa, case)));
                for (isa, case) in cases {
                    let mut columns = BitColumns::default();
                    columns.gather(isa, &rows, layout, &picked, &starts);
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
                    let weighed = Weighed {
                        rows: &rows,
                        layout,
                        picked: Some(&picked),
                        set,
                        starts: &starts,
                        masses: &masses,
                        signed: &[],
                    };
                    let first = if n_tests > 64 { 48 } else { 0 };
                    // Left over from another node.
                    let old = || vec![L::MAX; 3000];
                    for rest in [false, true] {
                        let mut sums = WeightedSums { picks: vec![7; 50], all: old(), of: old() };
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
                                    expected = expected.plus(masses[row as usize]);
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
