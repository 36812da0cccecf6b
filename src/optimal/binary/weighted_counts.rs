//! Masses of many digits: added up row by row where groups of equal mass would be too many to count.
//!
//! What passes a test is listed, and for each instance of the list its mass goes to all other tests that its row
//! passes: a few of them at once, by the bits of a word of the row. A word of a row holds every `lanes`-th position, so
//! sums come in the order of rows and are written by position in the end.

use super::accumulator::Accumulator;
use super::bit_table::{BitColumns, Layout};
use crate::simd::Instructions;

/// Instances of a node that have a mass each.
#[derive(Debug)]
pub(super) struct Weighed<'a, L> {
    pub(super) rows: &'a [u32],
    pub(super) layout: Layout,
    /// Which instances of the node are counted, if not all.
    pub(super) picked: Option<&'a [u32]>,
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
    picks: Vec<u32>,
    /// By position.
    pub(super) of: Vec<L>,
}

impl<L: Accumulator> Weighed<'_, L> {
    /// Adds up the masses of the instances that a mask has set, for each position from about `first` on. Groups that
    /// are `negative` are subtracted.
    #[inline(always)]
    pub(super) fn sum<P: Instructions>(
        self,
        columns: &BitColumns,
        groups: impl Iterator<Item = (usize, bool)>,
        mask: impl Fn(usize) -> u32,
        first: usize,
        sums: &mut WeightedSums<L>,
    ) {
        let WeightedSums { picks, of } = sums;
        of.clear();
        of.resize(columns.stride, L::default());
        for (group, negative) in groups {
            let size = self.starts[group + 1] - self.starts[group];
            // Room for the bits of a whole word behind the last.
            picks.resize(picks.len().max(size + 32), 0);
            let mut end = 0;
            for word in columns.starts[group]..columns.starts[group + 1] {
                let bits = mask(word) & columns.in_use(word, group, size);
                let start = self.starts[group] + 32 * (word - columns.starts[group]);
                let room = picks[end..].first_chunk_mut().expect("no more bits than instances");
                end += P::positions(bits, start as u32, room);
            }
            let picks = &mut picks[..end];
            if let Some(picked) = self.picked {
                picks.iter_mut().for_each(|pick| *pick = picked[*pick as usize]);
            }
            // Masses of 64 bytes at a time, or of 32 if they are narrow.
            match size_of::<L>() {
                8 => self.add_bits::<8>(picks, negative, first, of),
                _ => self.add_bits::<16>(picks, negative, first, of),
            }
        }
    }

    #[inline(always)]
    fn add_bits<const BITS: usize>(self, picks: &[u32], negative: bool, first: usize, of: &mut [L]) {
        match self.layout.lanes {
            1 => self.add_words::<BITS, 1>(picks, negative, first, of),
            2 => self.add_words::<BITS, 2>(picks, negative, first, of),
            _ => self.add_words::<BITS, 4>(picks, negative, first, of),
        }
    }

    /// `WORDS` words of the rows at a time, 1, 2 or 4, and `BITS` bits of each.
    #[inline(always)]
    fn add_words<const BITS: usize, const WORDS: usize>(
        self,
        picks: &[u32],
        negative: bool,
        first: usize,
        of: &mut [L],
    ) {
        let Layout { lanes, per_lane } = self.layout;
        let first_bit = first / lanes / BITS * BITS;
        for bit in (first_bit..per_lane).step_by(BITS) {
            for part in (0..lanes).step_by(WORDS) {
                // One by one: of a loop, compilers put the words side by side and not their bits.
                let [mut a, mut b, mut c, mut d] = [[L::default(); BITS]; 4];
                for &pick in picks {
                    let row: &[u32; WORDS] =
                        self.rows[pick as usize * lanes + part..].first_chunk().expect("rows have so many words");
                    let mass = self.masses[pick as usize];
                    a = add_where(a, row[0] >> bit, mass);
                    if WORDS > 1 {
                        b = add_where(b, row[1] >> bit, mass);
                    }
                    if WORDS > 2 {
                        c = add_where(c, row[2] >> bit, mass);
                        d = add_where(d, row[3] >> bit, mass);
                    }
                }
                for at in 0..BITS.min(per_lane - bit) {
                    let to = of[(bit + at) * lanes + part..].first_chunk_mut::<WORDS>().expect("positions of a row");
                    for (to, sum) in to.iter_mut().zip([a[at], b[at], c[at], d[at]]) {
                        *to = if negative { to.minus(sum) } else { to.plus(sum) };
                    }
                }
            }
        }
    }
}

/// Adds a mass where a bit is set.
#[inline(always)]
fn add_where<L: Accumulator, const BITS: usize>(mut sums: [L; BITS], bits: u32, mass: L) -> [L; BITS] {
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
        sums: &'b mut WeightedSums<L>,
    }

    impl<L: Accumulator> Kernel for Sum<'_, '_, L> {
        type Output = ();

        #[inline(always)]
        fn run<P: Instructions>(self) {
            let Sum { weighed, columns, masks, first, sums } = self;
            weighed.sum::<P>(columns, [(0, false), (1, true)].into_iter(), |word| masks[word], first, sums);
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
                for isa in Isa::all() {
                    let mut columns = BitColumns::default();
                    columns.gather(isa, &rows, layout, &picked, &starts);
                    // Beyond the last instance of a group too.
                    let masks: Vec<u32> = (0..columns.n_words()).map(|word| mix(word as u64) as u32).collect();
                    let weighed =
                        Weighed { rows: &rows, layout, picked: Some(&picked), starts: &starts, masses: &masses };
                    let first = if n_tests > 64 { 48 } else { 0 };
                    // Left over from another node.
                    let mut sums = WeightedSums { picks: vec![7; 50], of: vec![L::MAX; 3000] };
                    isa.run(Sum { weighed, columns: &columns, masks: &masks, first, sums: &mut sums });
                    for (test, position) in (0..n_tests).map(|test| (test, layout.position(test))) {
                        if position < first {
                            continue;
                        }
                        let mut expected = L::default();
                        for (at, &row) in picked.iter().enumerate() {
                            let group = usize::from(at >= starts[1]);
                            let word = columns.starts[group] + (at - starts[group]) / 32;
                            let is_set = masks[word] >> ((at - starts[group]) % 32) & 1 == 1;
                            if is_set && passes(row as usize, test) {
                                let mass = masses[row as usize];
                                expected = if group == 0 { expected.plus(mass) } else { expected.minus(mass) };
                            }
                        }
                        assert!(sums.of[position] == expected, "{isa:?}, {n_tests} tests, test {test}, {sizes:?}");
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
