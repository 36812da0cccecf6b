//! One source, several instruction sets: hot loops are written once, as plain loops over fixed-size blocks, and compiled
//! for each set that pays. Which one runs is decided when the program does.
//!
//! The only `unsafe` of the crate is here: calling code that was compiled for instructions the processor was asked for.
//! The scalar twin is the same source compiled for the baseline; tests run every kernel under every set there is and
//! compare (valgrind runs them too, with the sets that it knows).

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// A loop worth compiling for several instruction sets. `run` and all that it calls must be `#[inline(always)]`: only
/// what is inlined is compiled for the set.
pub(super) trait Kernel {
    /// What it computes.
    type Output;
    /// Does the work, counting bits as `P` does.
    fn run<P: Popcount>(self) -> Self::Output;
}

/// How many columns are counted at a time.
pub(super) const BLOCK: usize = 16;

/// Columns of bits to count: word w of column c is `words[w * stride + c]`, and is counted where `masks[w * step]` is set.
pub(in crate::optimal) struct Masked<'a> {
    words: &'a [u32],
    stride: usize,
    n_words: usize,
    masks: &'a [u32],
    step: usize,
}

impl<'a> Masked<'a> {
    #[inline(always)]
    pub(super) fn new(words: &'a [u32], stride: usize, n_words: usize, masks: &'a [u32], step: usize) -> Self {
        assert!(stride.is_multiple_of(BLOCK) && words.len() == n_words * stride);
        assert!(n_words == 0 || masks.len() > (n_words - 1) * step);
        Masked { words, stride, n_words, masks, step }
    }

    /// Word `word` of the columns of a block, and its mask.
    #[inline(always)]
    fn at(&self, word: usize, block: usize) -> (&[u32; BLOCK], u32) {
        debug_assert!(word < self.n_words && (block + 1) * BLOCK <= self.stride);
        // SAFETY: the loops below stay within `n_words` words and `stride / BLOCK` blocks, and `new` has checked that so
        // many words and masks are there. Checks here cost a third of the whole search: the loop has six instructions.
        unsafe {
            let columns = self.words.as_ptr().add(word * self.stride + block * BLOCK).cast();
            (&*columns, *self.masks.get_unchecked(word * self.step))
        }
    }
}

/// 16 lines of 16 numbers.
pub(in crate::optimal) type Tile<L> = [[L; BLOCK]; BLOCK];

/// The columns of a block, word by word, each with 16 masks: what a tile is counted from.
pub(in crate::optimal) struct MaskedTile<'a> {
    pub(super) words: &'a [u32],
    pub(super) masks: &'a [[u32; BLOCK]],
    pub(super) stride: usize,
    pub(super) block: usize,
    /// Whether to subtract counts.
    pub(super) negative: bool,
}

impl MaskedTile<'_> {
    #[inline(always)]
    fn words(&self) -> impl Iterator<Item = (&[u32; BLOCK], &[u32; BLOCK])> {
        let start = self.block * BLOCK;
        let column = move |word| {
            let word: &[u32] = word;
            word[start..].first_chunk::<BLOCK>().expect("words are whole blocks")
        };
        self.words.chunks_exact(self.stride).map(column).zip(self.masks)
    }
}

/// What compilers do not find by themselves.
pub(in crate::optimal) trait Popcount {
    /// Counts the bits of `N` neighbouring blocks of columns.
    fn count<const N: usize>(masked: &Masked, block: usize) -> [[u32; BLOCK]; N];

    /// Adds to a tile the number of bits that each of 16 masks shares with each of 16 columns, times `1 << shift`.
    fn add_tile(of: &MaskedTile, shift: u32, tile: &mut Tile<u32>);

    /// The tile of two sets of words.
    #[inline(always)]
    fn tile_of_two(one: &MaskedTile, two: &MaskedTile) -> Tile<u32> {
        let mut tile = [[0; BLOCK]; BLOCK];
        Self::add_tile(one, 0, &mut tile);
        Self::add_tile(two, 0, &mut tile);
        tile
    }

    /// The greatest of 16 signed numbers.
    #[inline(always)]
    fn greatest(block: &[i16; BLOCK]) -> i16 {
        block.iter().fold(i16::MIN, |greatest, &x| greatest.max(x))
    }

    /// The least of 16 signed numbers.
    #[inline(always)]
    fn least(block: &[i16; BLOCK]) -> i16 {
        block.iter().fold(i16::MAX, |least, &x| least.min(x))
    }
}

/// Counts of bits as every processor can do them.
pub(super) struct Portable;

impl Popcount for Portable {
    #[inline(always)]
    fn add_tile(of: &MaskedTile, shift: u32, tile: &mut Tile<u32>) {
        for (column, masks) in of.words() {
            for (line, &mask) in tile.iter_mut().zip(masks) {
                for lane in 0..BLOCK {
                    let count = (column[lane] & mask).count_ones() << shift;
                    line[lane] =
                        if of.negative { line[lane].wrapping_sub(count) } else { line[lane].wrapping_add(count) };
                }
            }
        }
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

/// How many words of byte counts add up as bytes: times 8 bits that stays below 256.
#[cfg(target_arch = "x86_64")]
const MOST: usize = 31;

/// The bits of each byte.
///
/// # Safety
/// The processor must have AVX2.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn byte_counts(bytes: __m256i) -> __m256i {
    // SAFETY: the caller has the instructions.
    unsafe {
        let table = _mm256_setr_epi8(
            0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,
        );
        let low = _mm256_set1_epi8(15);
        let high = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), low);
        let of_low = _mm256_shuffle_epi8(table, _mm256_and_si256(bytes, low));
        _mm256_add_epi8(of_low, _mm256_shuffle_epi8(table, high))
    }
}

/// The sum of the four bytes of each word.
///
/// # Safety
/// The processor must have AVX2.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn sum_of_bytes(bytes: __m256i) -> __m256i {
    // SAFETY: the caller has the instructions.
    unsafe { _mm256_madd_epi16(_mm256_maddubs_epi16(bytes, _mm256_set1_epi8(1)), _mm256_set1_epi16(1)) }
}

/// Counts of nibbles by table look-up, added up as bytes for as long as they cannot overflow.
#[cfg(target_arch = "x86_64")]
pub(super) struct ByNibble;

#[cfg(target_arch = "x86_64")]
impl Popcount for ByNibble {
    #[inline(always)]
    fn add_tile(of: &MaskedTile, shift: u32, tile: &mut Tile<u32>) {
        const LINES: usize = 4; // as many as there are registers for
        // SAFETY: as below.
        unsafe {
            let shift = _mm_cvtsi32_si128(shift as i32);
            for (part, lines) in tile.as_chunks_mut::<LINES>().0.iter_mut().enumerate() {
                let mut counts = [[_mm256_setzero_si256(); 2]; LINES];
                let chunks = of.words.chunks(MOST * of.stride).zip(of.masks.chunks(MOST));
                for (words, masks) in chunks {
                    let mut bytes = [[_mm256_setzero_si256(); 2]; LINES];
                    for (column, masks) in (MaskedTile { words, masks, ..*of }).words() {
                        let halves = [0, 8].map(|at| _mm256_loadu_si256(column.as_ptr().add(at).cast()));
                        for (bytes, &mask) in bytes.iter_mut().zip(&masks[part * LINES..]) {
                            let mask = _mm256_set1_epi32(mask as i32);
                            for (bytes, half) in bytes.iter_mut().zip(halves) {
                                *bytes = _mm256_add_epi8(*bytes, byte_counts(_mm256_and_si256(half, mask)));
                            }
                        }
                    }
                    for (counts, bytes) in counts.as_flattened_mut().iter_mut().zip(bytes.as_flattened()) {
                        *counts = _mm256_add_epi32(*counts, sum_of_bytes(*bytes));
                    }
                }
                for (half, counts) in
                    lines.as_flattened_mut().as_chunks_mut::<8>().0.iter_mut().zip(counts.as_flattened())
                {
                    let (counts, half) = (_mm256_sll_epi32(*counts, shift), half.as_mut_ptr().cast());
                    let before = _mm256_loadu_si256(half);
                    let after =
                        if of.negative { _mm256_sub_epi32(before, counts) } else { _mm256_add_epi32(before, counts) };
                    _mm256_storeu_si256(half, after);
                }
            }
        }
    }

    #[inline(always)]
    fn count<const N: usize>(masked: &Masked, block: usize) -> [[u32; BLOCK]; N] {
        // SAFETY: only run in a function compiled for AVX2, which `Isa::run` calls if the processor has it. An array of
        // 16 words is two registers.
        unsafe {
            let mut counts = [[_mm256_setzero_si256(); 2]; N];
            let mut start = 0;
            while start < masked.n_words {
                let end = masked.n_words.min(start + MOST);
                let mut bytes = [[_mm256_setzero_si256(); 2]; N];
                for word in start..end {
                    for (part, bytes) in bytes.iter_mut().enumerate() {
                        let (column, mask) = masked.at(word, block + part);
                        let mask = _mm256_set1_epi32(mask as i32);
                        for (half, bytes) in bytes.iter_mut().enumerate() {
                            let column = _mm256_loadu_si256(column.as_ptr().add(8 * half).cast());
                            *bytes = _mm256_add_epi8(*bytes, byte_counts(_mm256_and_si256(column, mask)));
                        }
                    }
                }
                for (counts, bytes) in counts.as_flattened_mut().iter_mut().zip(bytes.as_flattened()) {
                    *counts = _mm256_add_epi32(*counts, sum_of_bytes(*bytes));
                }
                start = end;
            }
            counts.map(|counts| std::mem::transmute::<[__m256i; 2], [u32; BLOCK]>(counts))
        }
    }

    #[inline(always)]
    fn greatest(block: &[i16; BLOCK]) -> i16 {
        // SAFETY: as above.
        unsafe { least_of(|a, b| _mm_max_epi16(a, b), block, i16::MAX) }
    }

    #[inline(always)]
    fn least(block: &[i16; BLOCK]) -> i16 {
        // SAFETY: as above.
        unsafe { least_of(|a, b| _mm_min_epi16(a, b), block, i16::MIN) }
    }
}

/// The first of 16 signed numbers in the order that `flip` turns into that of unsigned ones, by the instruction that
/// finds the least of eight; `first` finds it of two.
///
/// # Safety
/// The processor must have SSE 4.1.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn least_of(first: impl Fn(__m128i, __m128i) -> __m128i, block: &[i16; BLOCK], flip: i16) -> i16 {
    // SAFETY: 16 numbers are two registers; the caller has the instructions.
    unsafe {
        let half = |at: usize| _mm_loadu_si128(block.as_ptr().add(at).cast());
        let eight = _mm_xor_si128(first(half(0), half(8)), _mm_set1_epi16(flip));
        _mm_extract_epi16::<0>(_mm_minpos_epu16(eight)) as i16 ^ flip
    }
}

/// Counts of words by the instruction for it.
#[cfg(target_arch = "x86_64")]
pub(super) struct ByWord;

#[cfg(target_arch = "x86_64")]
impl Popcount for ByWord {
    #[inline(always)]
    fn tile_of_two(one: &MaskedTile, two: &MaskedTile) -> Tile<u32> {
        // SAFETY: as below.
        unsafe {
            let mut counts = [_mm512_setzero_si512(); BLOCK];
            for of in [one, two] {
                for (column, masks) in of.words() {
                    let column = _mm512_loadu_si512(column.as_ptr().cast());
                    for (counts, &mask) in counts.iter_mut().zip(masks) {
                        let both = _mm512_and_si512(column, _mm512_set1_epi32(mask as i32));
                        let count = _mm512_popcnt_epi32(both);
                        *counts = if of.negative {
                            _mm512_sub_epi32(*counts, count)
                        } else {
                            _mm512_add_epi32(*counts, count)
                        };
                    }
                }
            }
            std::mem::transmute::<[__m512i; BLOCK], Tile<u32>>(counts)
        }
    }

    #[inline(always)]
    fn add_tile(of: &MaskedTile, shift: u32, tile: &mut Tile<u32>) {
        // SAFETY: as below.
        unsafe {
            let mut counts = [_mm512_setzero_si512(); BLOCK];
            for (column, masks) in of.words() {
                let column = _mm512_loadu_si512(column.as_ptr().cast());
                for (counts, &mask) in counts.iter_mut().zip(masks) {
                    let both = _mm512_and_si512(column, _mm512_set1_epi32(mask as i32));
                    *counts = _mm512_add_epi32(*counts, _mm512_popcnt_epi32(both));
                }
            }
            let shift = _mm_cvtsi32_si128(shift as i32);
            for (line, counts) in tile.iter_mut().zip(counts) {
                let (counts, line) = (_mm512_sll_epi32(counts, shift), line.as_mut_ptr().cast());
                let before = _mm512_loadu_si512(line);
                let after =
                    if of.negative { _mm512_sub_epi32(before, counts) } else { _mm512_add_epi32(before, counts) };
                _mm512_storeu_si512(line, after);
            }
        }
    }

    #[inline(always)]
    fn count<const N: usize>(masked: &Masked, block: usize) -> [[u32; BLOCK]; N] {
        // SAFETY: only run in a function compiled for AVX-512, which `Isa::run` calls if the processor has it. An array
        // of 16 words is a register.
        unsafe {
            let mut counts = [_mm512_setzero_si512(); N];
            for word in 0..masked.n_words {
                for (part, counts) in counts.iter_mut().enumerate() {
                    let (column, mask) = masked.at(word, block + part);
                    let column = _mm512_loadu_si512(column.as_ptr().cast());
                    let both = _mm512_and_si512(column, _mm512_set1_epi32(mask as i32));
                    *counts = _mm512_add_epi32(*counts, _mm512_popcnt_epi32(both));
                }
            }
            counts.map(|counts| std::mem::transmute::<__m512i, [u32; BLOCK]>(counts))
        }
    }

    #[inline(always)]
    fn greatest(block: &[i16; BLOCK]) -> i16 {
        ByNibble::greatest(block)
    }

    #[inline(always)]
    fn least(block: &[i16; BLOCK]) -> i16 {
        ByNibble::least(block)
    }
}

/// An instruction set that this processor has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Isa(Set);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Set {
    /// What every processor of the target has.
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
    pub(super) fn all() -> Vec<Isa> {
        let mut sets = vec![Isa(Set::Baseline)];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("popcnt")
            {
                sets.push(Isa(Set::Avx2));
                if is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vpopcntdq")
                {
                    sets.push(Isa(Set::Avx512));
                }
            }
        }
        sets
    }

    /// The best set of this processor.
    pub(super) fn best() -> Isa {
        *Isa::all().last().expect("there is always the baseline")
    }

    /// Runs a kernel compiled for this set.
    #[inline]
    pub(super) fn run<K: Kernel>(self, kernel: K) -> K::Output {
        match self.0 {
            Set::Baseline => kernel.run::<Portable>(),
            // SAFETY: `Isa::all` is the only maker of this value, and makes it only if the processor has the features that
            // the function was compiled for.
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => unsafe { avx2(kernel) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => unsafe { avx512(kernel) },
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<ByNibble>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,avx512f,avx512vl,avx512bw,avx512vpopcntdq")]
fn avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<ByWord>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::mix;

    /// Everything of [`Popcount`] on some words.
    struct All<'a> {
        words: &'a [u32],
        masks: &'a [[u32; BLOCK]],
        stride: usize,
        n_words: usize,
    }

    type Counts = (Vec<[u32; BLOCK]>, Vec<Tile<u32>>, Vec<i16>);

    impl Kernel for All<'_> {
        type Output = Counts;

        #[inline(always)]
        fn run<P: Popcount>(self) -> Counts {
            let All { words, masks, stride, n_words } = self;
            let flat = masks.as_flattened();
            let masked = Masked::new(words, stride, n_words, flat, BLOCK);
            let (mut counts, mut tiles, mut extremes) = (Vec::new(), Vec::new(), Vec::new());
            for block in 0..stride / BLOCK {
                counts.extend(P::count::<1>(&masked, block));
                if (block + 2) * BLOCK <= stride {
                    counts.extend(P::count::<2>(&masked, block));
                }
                let [one, two] = [false, true].map(|negative| MaskedTile { words, masks, stride, block, negative });
                tiles.push(P::tile_of_two(&one, &two));
                tiles.push(P::tile_of_two(&one, &one));
                let mut tile = [[7; BLOCK]; BLOCK];
                P::add_tile(&one, 3, &mut tile);
                P::add_tile(&two, 1, &mut tile);
                tiles.push(tile);
            }
            for chunk in words.as_chunks::<BLOCK>().0 {
                let numbers = chunk.map(|word| word as i16);
                extremes.extend([P::greatest(&numbers), P::least(&numbers)]);
            }
            (counts, tiles, extremes)
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
                    assert_eq!(expected.1[1], std::array::from_fn(|m| std::array::from_fn(|lane| 2 * shared(m, lane))));
                    let shifted = |m, lane| 7 + 8 * shared(m, lane) - 2 * shared(m, lane);
                    assert_eq!(expected.1[2], std::array::from_fn(|m| std::array::from_fn(|lane| shifted(m, lane))));
                    for isa in Isa::all() {
                        assert_eq!(isa.run(all()), expected, "{isa:?}, {n_words} words, stride {stride}");
                    }
                }
            }
        }
    }
}
