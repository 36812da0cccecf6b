//! One source, several instruction sets: hot loops are written once, as plain loops over fixed-size blocks, and
//! compiled for each set that pays. Which one runs is decided when the program does.
//!
//! The only `unsafe` of the crate is here: calling code that was compiled for instructions the processor was asked for.
//! The scalar twin is the same source compiled for the baseline; tests run every kernel under every set there is and
//! compare (valgrind runs them too, with the sets that it knows).

#![allow(unsafe_code)]
// Lanes of several blocks are worked on side by side: an index says it best, and compiles to vectors.
#![allow(clippy::needless_range_loop)]

mod lanes;
mod weigh;
#[cfg(target_arch = "x86_64")]
mod x86;
#[cfg(target_arch = "x86_64")]
mod x86_lanes;

use std::sync::OnceLock;

use crate::error::{Error, Result};

pub(crate) use lanes::{LANES, LaneSums, Lines, Step};
pub(crate) use weigh::WeighedRows;

/// A loop worth compiling for several instruction sets. `run` and all that it calls must be `#[inline(always)]`: only
/// what is inlined is compiled for the set.
pub(crate) trait Kernel {
    /// The result.
    type Output;
    /// Does the work, with the instructions of `P`.
    fn run<P: Instructions>(self) -> Self::Output;
}

/// The number of columns that are counted at a time.
pub(crate) const BLOCK: usize = 16;

/// The bits of a word.
pub(crate) const WORD: usize = 32;

/// Columns of bits to count: word w of column c is `words[w * stride + c]`, and is counted where `masks[w * step]` is
/// set.
pub(crate) struct Masked<'a> {
    words: &'a [u32],
    stride: usize,
    n_words: usize,
    masks: &'a [u32],
    step: usize,
}

impl<'a> Masked<'a> {
    #[inline(always)]
    pub(crate) fn new(words: &'a [u32], stride: usize, n_words: usize, masks: &'a [u32], step: usize) -> Self {
        assert!(stride.is_multiple_of(BLOCK) && words.len() == n_words * stride);
        assert!(n_words == 0 || masks.len() > (n_words - 1) * step);
        Masked { words, stride, n_words, masks, step }
    }

    /// Word `word` of the columns of a block, and its mask.
    #[inline(always)]
    fn at(&self, word: usize, block: usize) -> (&[u32; BLOCK], u32) {
        debug_assert!(word < self.n_words && (block + 1) * BLOCK <= self.stride);
        // SAFETY: the loops below stay within `n_words` words and `stride / BLOCK` blocks, and `new` has checked that
        // so many words and masks are there. Checks here cost a third of the whole search: the loop has six
        // instructions.
        unsafe {
            let columns = self.words.as_ptr().add(word * self.stride + block * BLOCK).cast();
            (&*columns, *self.masks.get_unchecked(word * self.step))
        }
    }
}

/// 16 lines of 16 numbers.
pub(crate) type Tile<L> = [[L; BLOCK]; BLOCK];

/// 32 words of bits in each of 16 lanes.
pub(crate) type Square = [[u32; BLOCK]; 32];

/// A run of words that are counted in the same way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WordRun {
    /// The first word, and the one after the last.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Whether to subtract counts.
    pub(crate) negative: bool,
    /// By what to multiply the counts after these words, modulo 2^32.
    pub(crate) times: u32,
}

/// The columns of a block, word by word, each with 16 masks: what a tile is counted from.
#[derive(Clone, Copy)]
pub(crate) struct MaskedTile<'a> {
    pub(crate) words: &'a [u32],
    pub(crate) masks: &'a [[u32; BLOCK]],
    pub(crate) stride: usize,
    pub(crate) block: usize,
    pub(crate) runs: &'a [WordRun],
}

impl MaskedTile<'_> {
    /// The words of a run, with their masks.
    #[inline(always)]
    fn words(&self, start: usize, end: usize) -> impl Iterator<Item = (&[u32; BLOCK], &[u32; BLOCK])> {
        let first = self.block * BLOCK;
        let column = move |word| {
            let word: &[u32] = word;
            word[first..].first_chunk::<BLOCK>().expect("words are whole blocks")
        };
        let words = &self.words[start * self.stride..end * self.stride];
        words.chunks_exact(self.stride).map(column).zip(&self.masks[start..end])
    }
}

/// Operations that compilers do not vectorise well by themselves.
pub(crate) trait Instructions {
    /// Whether an instruction adds to the lanes that bits choose.
    const CHOOSES_LANES: bool = false;

    /// Counts the bits of `N` neighbouring blocks of columns.
    fn count<const N: usize>(masked: &Masked, block: usize) -> [[u32; BLOCK]; N];

    /// Counts the bits that each of 16 masks shares with each of 16 columns.
    fn tile(of: &MaskedTile) -> Tile<u32>;

    /// The same, where the counts are differences that fit into 16 bits.
    #[inline(always)]
    fn narrow_tile(of: &MaskedTile, tile: &mut Tile<u16>) {
        for (line, counts) in tile.iter_mut().zip(Self::tile(of)) {
            *line = counts.map(|count| count as u16);
        }
    }

    /// The greatest number of each line, read as signed ones.
    #[inline(always)]
    fn greatest_of_lines(tile: &Tile<u16>) -> [u16; BLOCK] {
        tile.map(|line| line.iter().fold(i16::MIN, |greatest, &x| greatest.max(x as i16)) as u16)
    }

    /// The least number of each line, read as signed ones.
    #[inline(always)]
    fn least_of_lines(tile: &Tile<u16>) -> [u16; BLOCK] {
        tile.map(|line| line.iter().fold(i16::MAX, |least, &x| least.min(x as i16)) as u16)
    }

    /// Transposes the 32 x 32 bits of each lane: bit i of word k becomes bit k of word i.
    #[inline(always)]
    fn transpose(square: &mut Square) {
        let mut mask = 0x0000_ffffu32;
        let mut width = 16;
        while width > 0 {
            for start in (0..32).step_by(2 * width) {
                for k in start..start + width {
                    for lane in 0..BLOCK {
                        let (low, high) = (square[k][lane], square[k + width][lane]);
                        let swapped = ((low >> width) ^ high) & mask;
                        square[k][lane] = low ^ (swapped << width);
                        square[k + width][lane] = high ^ swapped;
                    }
                }
            }
            width /= 2;
            mask ^= mask << width.max(1);
        }
    }

    /// Running sums of steps on either side of a cut that is wanted: see [`LaneSums`].
    #[inline(always)]
    fn sums<const LEFT: bool, const RIGHT: bool, const TIES: bool>(of: &Lines<u16, i16>) -> [LaneSums<i16>; 2] {
        of.portable::<LEFT, RIGHT, TIES>()
    }

    /// Writes, for each bit of at most four words of rows, the masses of the rows that have it set, added up modulo 2^16.
    #[inline(always)]
    fn weigh_u16<const WORDS: usize>(of: &WeighedRows<u16>, sums: &mut [[u16; WORD]; WORDS]) {
        weigh::by_byte(of, sums);
    }

    /// The same modulo 2^32.
    #[inline(always)]
    fn weigh_u32<const WORDS: usize>(of: &WeighedRows<u32>, sums: &mut [[u32; WORD]; WORDS]) {
        weigh::by_byte(of, sums);
    }

    /// The same modulo 2^64.
    #[inline(always)]
    fn weigh_u64<const WORDS: usize>(of: &WeighedRows<u64>, sums: &mut [[u64; WORD]; WORDS]) {
        weigh::by_byte(of, sums);
    }

    /// Writes `first` plus the number of each bit that is set, ascending; returns how many there are. What lies behind
    /// them is overwritten too.
    #[inline(always)]
    fn positions(mut bits: u32, first: u32, positions: &mut [u32; 32]) -> usize {
        let count = bits.count_ones() as usize;
        for position in &mut positions[..count] {
            *position = first + bits.trailing_zeros();
            bits &= bits - 1;
        }
        count
    }
}

/// The operations for any processor.
pub(crate) struct Portable;

impl Instructions for Portable {
    #[inline(always)]
    fn tile(of: &MaskedTile) -> Tile<u32> {
        let mut tile = [[0u32; BLOCK]; BLOCK];
        for run in of.runs {
            for (column, masks) in of.words(run.start, run.end) {
                for (line, &mask) in tile.iter_mut().zip(masks) {
                    for lane in 0..BLOCK {
                        let count = (column[lane] & mask).count_ones();
                        line[lane] =
                            if run.negative { line[lane].wrapping_sub(count) } else { line[lane].wrapping_add(count) };
                    }
                }
            }
            if run.times != 1 {
                tile.as_flattened_mut().iter_mut().for_each(|count| *count = count.wrapping_mul(run.times));
            }
        }
        tile
    }

    #[inline(always)]
    fn count<const N: usize>(masked: &Masked, block: usize) -> [[u32; BLOCK]; N] {
        let mut counts = [[0; BLOCK]; N];
        for word in 0..masked.n_words {
            for (part, counts) in counts.iter_mut().enumerate() {
                let (column, mask) = masked.at(word, block + part);
                for lane in 0..BLOCK {
                    counts[lane] += (column[lane] & mask).count_ones();
                }
            }
        }
        counts
    }
}

/// An instruction set that this processor has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Isa(InstructionSet);

impl Default for Isa {
    fn default() -> Self {
        Isa::best()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InstructionSet {
    /// The instructions that every processor of the target has.
    Baseline,
    /// AVX2 and the bit instructions that came with it.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 with counts of bits.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Isa {
    /// All sets that this processor has, the best last.
    pub(crate) fn all() -> Vec<Isa> {
        let mut sets = vec![Isa(InstructionSet::Baseline)];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("popcnt")
            {
                sets.push(Isa(InstructionSet::Avx2));
                if is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vpopcntdq")
                {
                    sets.push(Isa(InstructionSet::Avx512));
                }
            }
        }
        sets
    }

    /// The best set of this processor, but none beyond what [`VARIABLE`] names.
    pub(crate) fn best() -> Isa {
        static BEST: OnceLock<Isa> = OnceLock::new();
        // [`checked`] has refused a variable that names no set.
        *BEST.get_or_init(|| named().ok().flatten().unwrap_or_else(Isa::of_processor))
    }

    fn of_processor() -> Isa {
        *Isa::all().last().expect("there is always the baseline")
    }

    /// What [`VARIABLE`] calls it.
    fn name(self) -> &'static str {
        match self.0 {
            InstructionSet::Baseline => "portable",
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => "avx512",
        }
    }

    /// Runs a kernel compiled for this set.
    #[inline]
    pub(crate) fn run<K: Kernel>(self, kernel: K) -> K::Output {
        match self.0 {
            InstructionSet::Baseline => kernel.run::<Portable>(),
            // SAFETY: `Isa::all` is the only maker of this value, and makes it only if the processor has the features
            // that the function was compiled for.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => unsafe { avx2(kernel) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => unsafe { avx512(kernel) },
        }
    }
}

/// The environment variable that names the instruction set to use, for study: what a processor without the best ones
/// would take. It is read once.
pub(crate) const VARIABLE: &str = "LATTREE_ISA";

/// The set that [`VARIABLE`] names, if it is set. Fails if this processor has no such set.
fn named() -> Result<Option<Isa>> {
    let Some(value) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) else { return Ok(None) };
    let text = value.to_string_lossy();
    let names: Vec<String> = Isa::all().iter().map(|isa| format!("{:?}", isa.name())).collect();
    match Isa::all().into_iter().find(|isa| isa.name() == text) {
        Some(isa) => Ok(Some(isa)),
        None => Err(Error::InvalidParameter {
            name: VARIABLE,
            expected: format!("{}, the instruction sets of this processor that there is code for", names.join(" or ")),
            got: format!("{text:?}"),
        }),
    }
}

/// Checks that [`VARIABLE`], if it is set, names a set of this processor.
pub(crate) fn checked() -> Result<()> {
    named().map(drop)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<x86::ByNibble>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,avx512f,avx512vl,avx512bw,avx512vpopcntdq")]
fn avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<x86::ByWord>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::mix;

    /// Everything of [`Instructions`] on some words.
    struct All<'a> {
        words: &'a [u32],
        masks: &'a [[u32; BLOCK]],
        stride: usize,
        n_words: usize,
    }

    type Results = (Vec<[u32; BLOCK]>, Vec<Tile<u32>>, Vec<[u16; BLOCK]>, Vec<Vec<u32>>);

    impl Kernel for All<'_> {
        type Output = Results;

        #[inline(always)]
        fn run<P: Instructions>(self) -> Results {
            let All { words, masks, stride, n_words } = self;
            let flat = masks.as_flattened();
            let masked = Masked::new(words, stride, n_words, flat, BLOCK);
            let (mut counts, mut tiles, mut lines, mut positions) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            for block in 0..stride / BLOCK {
                counts.extend(P::count::<1>(&masked, block));
                if (block + 2) * BLOCK <= stride {
                    counts.extend(P::count::<2>(&masked, block));
                }
                for runs in
                    [[(false, 1), (true, 1)], [(false, 4), (true, 2)], [(true, 3_u32.wrapping_neg()), (false, 7)]]
                {
                    let all = |(negative, times)| WordRun { start: 0, end: n_words, negative, times };
                    let runs = runs.map(all);
                    let of = MaskedTile { words, masks, stride, block, runs: &runs };
                    tiles.push(P::tile(&of));
                    let mut narrow = [[7; BLOCK]; BLOCK];
                    P::narrow_tile(&of, &mut narrow);
                    tiles.push(narrow.map(|line| line.map(|count| count as i16 as u32)));
                }
            }
            for tile in words.as_chunks::<BLOCK>().0.as_chunks::<BLOCK>().0 {
                let narrow = tile.map(|line| line.map(|word| word as u16));
                lines.extend([P::greatest_of_lines(&narrow), P::least_of_lines(&narrow)]);
            }
            for &word in words {
                let mut buffer = [0; 32];
                let count = P::positions(word, 5, &mut buffer);
                positions.push(buffer[..count].to_vec());
            }
            (counts, tiles, lines, positions)
        }
    }

    #[test]
    fn all_sets_of_instructions_agree_with_the_definition() {
        for n_words in [0usize, 1, 2, 3, 30, 31, 32, 33, 62, 63, 100] {
            for stride in [16, 32, 48, 80] {
                for density in [0, 1, 2] {
                    let word = |seed: usize| match density {
                        0 => mix(seed as u64) as u32,
                        1 => u32::MAX,
                        _ => (mix(seed as u64) & mix(seed as u64 + 1)) as u32,
                    };
                    let words: Vec<u32> = (0..n_words * stride).map(word).collect();
                    let masks: Vec<[u32; BLOCK]> =
                        (0..n_words).map(|w| std::array::from_fn(|lane| word(7_000_000 + w * BLOCK + lane))).collect();
                    let all = || All { words: &words, masks: &masks, stride, n_words };
                    let expected = Isa::all()[0].run(all());
                    let shared = |mask: usize, column: usize| -> u32 {
                        (0..n_words).map(|w| (words[w * stride + column] & masks[w][mask]).count_ones()).sum()
                    };
                    assert_eq!(expected.0[0], std::array::from_fn(|lane| shared(0, lane)));
                    assert_eq!(expected.1[0], [[0; BLOCK]; BLOCK]);
                    let weighted = |mask, column| 8 * shared(mask, column) - 2 * shared(mask, column);
                    let tile = std::array::from_fn(|mask| std::array::from_fn(|lane| weighted(mask, lane)));
                    assert_eq!(expected.1[2..4], [tile, tile]);
                    let weighted = |mask, column| 21 * shared(mask, column) + 7 * shared(mask, column);
                    let tile = std::array::from_fn(|mask| std::array::from_fn(|lane| weighted(mask, lane)));
                    assert_eq!(expected.1[4], tile);
                    for (lines, words) in expected.2.chunks(2).zip(words.chunks(BLOCK * BLOCK)) {
                        let line = |at: usize| words[at * BLOCK..(at + 1) * BLOCK].iter().map(|&word| word as i16);
                        assert_eq!(lines[0], std::array::from_fn(|at| line(at).max().unwrap() as u16));
                        assert_eq!(lines[1], std::array::from_fn(|at| line(at).min().unwrap() as u16));
                    }
                    for (positions, &word) in expected.3.iter().zip(&words) {
                        let set = (0..32).filter(|bit| word >> bit & 1 == 1).map(|bit| 5 + bit);
                        assert!(set.eq(positions.iter().copied()));
                    }
                    for isa in Isa::all() {
                        assert_eq!(isa.run(all()), expected, "{isa:?}, {n_words} words, stride {stride}");
                    }
                }
            }
        }
    }
}
