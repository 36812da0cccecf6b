//! The loops with instructions that compilers do not find by themselves: AVX2, and AVX-512 with counts of bits.

use std::arch::x86_64::*;

use super::{BLOCK, Instructions, LaneSums, Lines, Masked, MaskedTile, Square, Tile, WORD, WeighedRows, x86_lanes};

/// The number of words whose byte counts can be added up in bytes: times 8 bits it stays below 256.
const MOST: usize = 31;

/// The bits of each byte.
///
/// # Safety
/// The processor must have AVX2.
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
#[inline(always)]
unsafe fn sum_of_bytes(bytes: __m256i) -> __m256i {
    // SAFETY: the caller has the instructions.
    unsafe { _mm256_madd_epi16(_mm256_maddubs_epi16(bytes, _mm256_set1_epi8(1)), _mm256_set1_epi16(1)) }
}

/// Counts of nibbles by table look-up, added up as bytes for as long as they cannot overflow.
pub(crate) struct ByNibble;

impl Instructions for ByNibble {
    #[inline(always)]
    fn weigh_u16<const WORDS: usize>(of: &WeighedRows<u16>, to: &mut [[u16; WORD]; WORDS]) {
        // SAFETY: as below. 32 sums of 16 bits are two registers.
        unsafe {
            let bits = _mm256_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, -32768);
            let mut sums = [[_mm256_setzero_si256(); 2]; WORDS];
            for (row, mass) in of.rows::<WORDS>() {
                let mass = _mm256_set1_epi16(mass as i16);
                for (sums, &word) in sums.iter_mut().zip(row) {
                    for (half, sums) in sums.iter_mut().enumerate() {
                        let word = _mm256_set1_epi16((word >> (16 * half)) as i16);
                        let is_set = _mm256_cmpeq_epi16(_mm256_and_si256(word, bits), bits);
                        *sums = _mm256_add_epi16(*sums, _mm256_and_si256(is_set, mass));
                    }
                }
            }
            for (to, sums) in to.as_flattened_mut().as_chunks_mut::<16>().0.iter_mut().zip(sums.as_flattened()) {
                _mm256_storeu_si256(to.as_mut_ptr().cast(), *sums);
            }
        }
    }

    #[inline(always)]
    fn sums<const LEFT: bool, const RIGHT: bool, const TIES: bool>(of: &Lines<u16, i16>) -> [LaneSums<i16>; 2] {
        // SAFETY: as below.
        unsafe { x86_lanes::avx2::<LEFT, RIGHT, TIES>(of) }
    }

    #[inline(always)]
    fn tile(of: &MaskedTile) -> Tile<u32> {
        const LINES: usize = 4; // as many as there are registers for
        let mut tile = [[0; BLOCK]; BLOCK];
        // SAFETY: as below.
        unsafe {
            for (part, lines) in tile.as_chunks_mut::<LINES>().0.iter_mut().enumerate() {
                let mut counts = [[_mm256_setzero_si256(); 2]; LINES];
                for run in of.runs {
                    for start in (run.start..run.end).step_by(MOST) {
                        let mut bytes = [[_mm256_setzero_si256(); 2]; LINES];
                        for (column, masks) in of.words(start, run.end.min(start + MOST)) {
                            let halves = [0, 8].map(|at| _mm256_loadu_si256(column.as_ptr().add(at).cast()));
                            for (bytes, &mask) in bytes.iter_mut().zip(&masks[part * LINES..]) {
                                let mask = _mm256_set1_epi32(mask as i32);
                                for (bytes, half) in bytes.iter_mut().zip(halves) {
                                    *bytes = _mm256_add_epi8(*bytes, byte_counts(_mm256_and_si256(half, mask)));
                                }
                            }
                        }
                        for (counts, bytes) in counts.as_flattened_mut().iter_mut().zip(bytes.as_flattened()) {
                            let sums = sum_of_bytes(*bytes);
                            *counts = if run.negative {
                                _mm256_sub_epi32(*counts, sums)
                            } else {
                                _mm256_add_epi32(*counts, sums)
                            };
                        }
                    }
                    if run.times != 1 {
                        let times = _mm256_set1_epi32(run.times as i32);
                        for counts in counts.as_flattened_mut() {
                            *counts = _mm256_mullo_epi32(*counts, times);
                        }
                    }
                }
                let halves = lines.as_flattened_mut().as_chunks_mut::<8>().0;
                for (half, counts) in halves.iter_mut().zip(counts.as_flattened()) {
                    _mm256_storeu_si256(half.as_mut_ptr().cast(), *counts);
                }
            }
        }
        tile
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
    fn greatest_of_lines(tile: &Tile<u16>) -> [u16; BLOCK] {
        // SAFETY: as above.
        unsafe { extremes_of_lines::<true>(tile) }
    }

    #[inline(always)]
    fn least_of_lines(tile: &Tile<u16>) -> [u16; BLOCK] {
        // SAFETY: as above.
        unsafe { extremes_of_lines::<false>(tile) }
    }
}

/// The greater of each pair of numbers, or the lesser.
///
/// # Safety
/// The processor must have AVX2.
#[inline(always)]
unsafe fn extreme<const GREATEST: bool>(a: __m256i, b: __m256i) -> __m256i {
    // SAFETY: the caller has the instructions.
    unsafe { if GREATEST { _mm256_max_epi16(a, b) } else { _mm256_min_epi16(a, b) } }
}

/// The greatest number of each line, or the least. Two registers are folded into one until there is only one left, in
/// which each line has a place.
///
/// # Safety
/// The processor must have AVX2.
#[inline(always)]
unsafe fn extremes_of_lines<const GREATEST: bool>(tile: &Tile<u16>) -> [u16; BLOCK] {
    // SAFETY: a line of 16 numbers is a register; the caller has the instructions.
    unsafe {
        let mut fold = [_mm256_setzero_si256(); 8];
        // Of the lines i and i + 8, eight numbers each.
        for i in 0..8 {
            let a = _mm256_loadu_si256(tile[i].as_ptr().cast());
            let b = _mm256_loadu_si256(tile[i + 8].as_ptr().cast());
            let (low, high) = (_mm256_permute2x128_si256::<0x20>(a, b), _mm256_permute2x128_si256::<0x31>(a, b));
            fold[i] = extreme::<GREATEST>(low, high);
        }
        // And of i + 4, four each.
        for i in 0..4 {
            let (a, b) = (fold[i], fold[i + 4]);
            fold[i] = extreme::<GREATEST>(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
        }
        // And of i + 2, two each.
        for i in 0..2 {
            let (a, b) = (_mm256_castsi256_ps(fold[i]), _mm256_castsi256_ps(fold[i + 2]));
            let even = _mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(a, b));
            let odd = _mm256_castps_si256(_mm256_shuffle_ps::<0b11_01_11_01>(a, b));
            fold[i] = extreme::<GREATEST>(even, odd);
        }
        // The first has those of lines 0, 4, 2, 6 and of these + 8, the second those of the lines behind them.
        let (a, b) = (fold[0], fold[1]);
        let one = extreme::<GREATEST>(
            _mm256_blend_epi16::<0b1010_1010>(a, _mm256_slli_epi32::<16>(b)),
            _mm256_blend_epi16::<0b1010_1010>(_mm256_srli_epi32::<16>(a), b),
        );
        std::mem::transmute::<__m256i, [u16; BLOCK]>(_mm256_shuffle_epi32::<0b11_01_10_00>(one))
    }
}

/// Counts of words by the instruction for it.
pub(crate) struct ByWord;

impl Instructions for ByWord {
    const CHOOSES_LANES: bool = true;

    #[inline(always)]
    fn weigh_u16<const WORDS: usize>(of: &WeighedRows<u16>, to: &mut [[u16; WORD]; WORDS]) {
        // SAFETY: as below. 32 sums of 16 bits are a register, and the bits of a word choose which of them are added to:
        // compilers do not find that for 16 bits, and take ten times as long.
        unsafe {
            let mut sums = [_mm512_setzero_si512(); WORDS];
            for (row, mass) in of.rows::<WORDS>() {
                let mass = _mm512_set1_epi16(mass as i16);
                for (sums, &word) in sums.iter_mut().zip(row) {
                    *sums = _mm512_mask_add_epi16(*sums, word, *sums, mass);
                }
            }
            for (to, sums) in to.iter_mut().zip(sums) {
                _mm512_storeu_si512(to.as_mut_ptr().cast(), sums);
            }
        }
    }

    #[inline(always)]
    fn weigh_u32<const WORDS: usize>(of: &WeighedRows<u32>, to: &mut [[u32; WORD]; WORDS]) {
        // SAFETY: as below. 32 sums of 32 bits are two registers.
        unsafe {
            let mut sums = [[_mm512_setzero_si512(); 2]; WORDS];
            for (row, mass) in of.rows::<WORDS>() {
                let mass = _mm512_set1_epi32(mass as i32);
                for (sums, &word) in sums.iter_mut().zip(row) {
                    sums[0] = _mm512_mask_add_epi32(sums[0], word as u16, sums[0], mass);
                    sums[1] = _mm512_mask_add_epi32(sums[1], (word >> 16) as u16, sums[1], mass);
                }
            }
            for (to, sums) in to.as_flattened_mut().as_chunks_mut::<16>().0.iter_mut().zip(sums.as_flattened()) {
                _mm512_storeu_si512(to.as_mut_ptr().cast(), *sums);
            }
        }
    }

    #[inline(always)]
    fn weigh_u64<const WORDS: usize>(of: &WeighedRows<u64>, to: &mut [[u64; WORD]; WORDS]) {
        // SAFETY: as below. 32 sums of 64 bits are four registers, and those of four words half of all there are.
        unsafe {
            let mut sums = [[_mm512_setzero_si512(); 4]; WORDS];
            for (row, mass) in of.rows::<WORDS>() {
                let mass = _mm512_set1_epi64(mass as i64);
                for (sums, &word) in sums.iter_mut().zip(row) {
                    for (sums, bits) in sums.iter_mut().zip(word.to_le_bytes()) {
                        *sums = _mm512_mask_add_epi64(*sums, bits, *sums, mass);
                    }
                }
            }
            for (to, sums) in to.as_flattened_mut().as_chunks_mut::<8>().0.iter_mut().zip(sums.as_flattened()) {
                _mm512_storeu_si512(to.as_mut_ptr().cast(), *sums);
            }
        }
    }

    #[inline(always)]
    fn sums<const LEFT: bool, const RIGHT: bool, const TIES: bool>(of: &Lines<u16, i16>) -> [LaneSums<i16>; 2] {
        // SAFETY: as below.
        unsafe { x86_lanes::avx512::<LEFT, RIGHT, TIES>(of) }
    }

    #[inline(always)]
    fn tile(of: &MaskedTile) -> Tile<u32> {
        // SAFETY: as below.
        unsafe { std::mem::transmute::<[__m512i; BLOCK], Tile<u32>>(counts_of_tile(of)) }
    }

    #[inline(always)]
    fn narrow_tile(of: &MaskedTile, tile: &mut Tile<u16>) {
        // SAFETY: as below.
        unsafe {
            for (line, counts) in tile.iter_mut().zip(counts_of_tile(of)) {
                _mm256_storeu_si256(line.as_mut_ptr().cast(), _mm512_cvtepi32_epi16(counts));
            }
        }
    }

    #[inline(always)]
    fn greatest_of_lines(tile: &Tile<u16>) -> [u16; BLOCK] {
        ByNibble::greatest_of_lines(tile)
    }

    #[inline(always)]
    fn least_of_lines(tile: &Tile<u16>) -> [u16; BLOCK] {
        ByNibble::least_of_lines(tile)
    }

    #[inline(always)]
    fn transpose(square: &mut Square) {
        // SAFETY: as below.
        unsafe {
            two_stages::<16, 8>(square);
            two_stages::<4, 2>(square);
            for [low, high] in square.as_chunks_mut::<2>().0 {
                let (a, b) = swap::<1>(load(low), load(high));
                store(low, a);
                store(high, b);
            }
        }
    }

    #[inline(always)]
    fn positions(bits: u32, first: u32, positions: &mut [u32; 32]) -> usize {
        // SAFETY: as below. The low half has at most 16 bits set, so that both stores are within the 32 positions.
        unsafe {
            let low = _mm512_add_epi32(
                _mm512_set1_epi32(first as i32),
                _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
            );
            let high = _mm512_add_epi32(low, _mm512_set1_epi32(16));
            let (first, second) = (bits as u16, (bits >> 16) as u16);
            let to = positions.as_mut_ptr();
            _mm512_storeu_si512(to.cast(), _mm512_maskz_compress_epi32(first, low));
            _mm512_storeu_si512(to.add(first.count_ones() as usize).cast(), _mm512_maskz_compress_epi32(second, high));
        }
        bits.count_ones() as usize
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
}

/// A line of words in a register.
///
/// # Safety
/// The processor must have AVX-512.
#[inline(always)]
unsafe fn load(line: &[u32; BLOCK]) -> __m512i {
    // SAFETY: 16 words are a register; the caller has the instructions.
    unsafe { _mm512_loadu_si512(line.as_ptr().cast()) }
}

/// Stores a register as a line of words.
///
/// # Safety
/// The processor must have AVX-512.
#[inline(always)]
unsafe fn store(line: &mut [u32; BLOCK], words: __m512i) {
    // SAFETY: as above.
    unsafe { _mm512_storeu_si512(line.as_mut_ptr().cast(), words) }
}

/// Swaps the high half of each `2 * WIDTH` bits of one line with the low half of the other.
///
/// # Safety
/// The processor must have AVX-512.
#[inline(always)]
unsafe fn swap<const WIDTH: u32>(low: __m512i, high: __m512i) -> (__m512i, __m512i) {
    // SAFETY: the caller has the instructions.
    unsafe {
        const FIRST_OR_SECOND: i32 = 0b1100_1010; // by the mask
        let mask = _mm512_set1_epi32((u32::MAX / ((1 << WIDTH) + 1)) as i32);
        let (up, down) = (_mm512_slli_epi32::<WIDTH>(high), _mm512_srli_epi32::<WIDTH>(low));
        (
            _mm512_ternarylogic_epi32::<FIRST_OR_SECOND>(mask, low, up),
            _mm512_ternarylogic_epi32::<FIRST_OR_SECOND>(mask, down, high),
        )
    }
}

/// Two stages of a transposition at once: four lines stay in registers for both.
///
/// # Safety
/// The processor must have AVX-512.
#[inline(always)]
unsafe fn two_stages<const WIDTH: u32, const HALF: u32>(square: &mut Square) {
    let (width, half) = (WIDTH as usize, HALF as usize);
    for start in (0..32).step_by(2 * width) {
        for k in start..start + half {
            // SAFETY: the caller has the instructions.
            unsafe {
                let (a, c) = swap::<WIDTH>(load(&square[k]), load(&square[k + width]));
                let (b, d) = swap::<WIDTH>(load(&square[k + half]), load(&square[k + width + half]));
                let ((a, b), (c, d)) = (swap::<HALF>(a, b), swap::<HALF>(c, d));
                store(&mut square[k], a);
                store(&mut square[k + half], b);
                store(&mut square[k + width], c);
                store(&mut square[k + width + half], d);
            }
        }
    }
}

/// A tile, a register per line.
///
/// # Safety
/// The processor must have AVX-512 with counts of bits.
#[inline(always)]
unsafe fn counts_of_tile(of: &MaskedTile) -> [__m512i; BLOCK] {
    // SAFETY: a block of 16 words is a register; the caller has the instructions.
    unsafe {
        let mut counts = [_mm512_setzero_si512(); BLOCK];
        for run in of.runs {
            for (column, masks) in of.words(run.start, run.end) {
                let column = _mm512_loadu_si512(column.as_ptr().cast());
                for (counts, &mask) in counts.iter_mut().zip(masks) {
                    let count = _mm512_popcnt_epi32(_mm512_and_si512(column, _mm512_set1_epi32(mask as i32)));
                    *counts =
                        if run.negative { _mm512_sub_epi32(*counts, count) } else { _mm512_add_epi32(*counts, count) };
                }
            }
            if run.times != 1 {
                let times = _mm512_set1_epi32(run.times as i32);
                for counts in &mut counts {
                    *counts = _mm512_mullo_epi32(*counts, times);
                }
            }
        }
        counts
    }
}
