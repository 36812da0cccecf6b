//! Sets of bits in 64-bit words, and transposition of bit matrices.

use std::ops::Range;

/// How many 64-bit words hold `n` bits.
pub fn words(n: usize) -> usize {
    n.div_ceil(64)
}

/// Whether bit `i` is set.
#[inline]
pub fn get(bits: &[u64], i: usize) -> bool {
    bits[i / 64] >> (i % 64) & 1 == 1
}

/// Sets bit `i`.
#[inline]
pub fn set(bits: &mut [u64], i: usize) {
    bits[i / 64] |= 1 << (i % 64);
}

/// Clears a bit.
#[inline]
pub fn clear(bits: &mut [u64], i: usize) {
    bits[i / 64] &= !(1 << (i % 64));
}

/// Sets the bits `start..end`, whole words at a time.
pub fn set_range(bits: &mut [u64], start: usize, end: usize) {
    if start >= end {
        return;
    }
    let (first, last) = (start / 64, (end - 1) / 64);
    let low = !0u64 << (start % 64);
    let high = !0u64 >> (63 - (end - 1) % 64);
    if first == last {
        bits[first] |= low & high;
        return;
    }
    bits[first] |= low;
    bits[first + 1..last].fill(!0);
    bits[last] |= high;
}

/// The `length` bits from `start` on, at most 32.
#[inline]
pub fn field(bits: &[u64], start: usize, length: usize) -> u32 {
    let (word, shift) = (start / 64, start % 64);
    let next = bits.get(word + 1).map_or(0, |&next| (next << 1) << (63 - shift));
    let all = bits[word] >> shift | next;
    (all & !(!0u64 << length)) as u32
}

/// The positions of the set bits, ascending.
pub fn ones(bits: &[u64]) -> impl Iterator<Item = usize> + '_ {
    ones_in(bits, 0..64 * bits.len())
}

/// The positions of the set bits in a range, ascending.
#[inline]
pub fn ones_in(bits: &[u64], range: Range<usize>) -> impl Iterator<Item = usize> + '_ {
    let words = range.start / 64..range.end.div_ceil(64);
    words.flat_map(move |i| {
        let mut rest = bits[i];
        if i == range.start / 64 {
            rest &= !0 << (range.start % 64);
        }
        if 64 * (i + 1) > range.end {
            rest &= !(!0 << (range.end % 64));
        }
        std::iter::from_fn(move || {
            let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
            rest &= rest - 1;
            Some(i * 64 + bit)
        })
    })
}

/// Transposes 64 lines of 64 bits: bit `j` of line `i` becomes bit `i` of line `j`.
///
/// Swaps ever smaller squares across the diagonal (Warren, *Hacker's Delight*, 2nd ed., section 7-3).
pub fn transpose(lines: &mut [u64; 64]) {
    let (mut width, mut low) = (32, 0x0000_0000_ffff_ffff_u64);
    while width > 0 {
        for pair in lines.chunks_exact_mut(2 * width) {
            let (upper, lower) = pair.split_at_mut(width);
            for (a, b) in upper.iter_mut().zip(lower) {
                let swap = (*a >> width ^ *b) & low;
                *a ^= swap << width;
                *b ^= swap;
            }
        }
        width /= 2;
        low ^= low << width;
    }
}

/// Columns `64 * block ..` of the matrix with these lines, one after the other: column `j` of the block has the bits
/// `lines[0][64 * block + j], lines[1][64 * block + j], ...`, in `words(lines.len())` words. Writes what `columns`
/// holds, at most 64 columns.
pub fn transpose_block(lines: &[&[u64]], block: usize, columns: &mut [u64]) {
    let words = words(lines.len()).max(1);
    for (word, lines) in lines.chunks(64).enumerate() {
        let mut square = [0; 64];
        square.iter_mut().zip(lines).for_each(|(to, line)| *to = line[block]);
        transpose(&mut square);
        columns.chunks_exact_mut(words).zip(square).for_each(|(column, bits)| column[word] = bits);
    }
}

/// A well mixed 64-bit number for each `x`: the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
#[inline]
pub fn mix(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranges_equal_single_bits(start in 0usize..200, length in 0usize..200) {
            let end = (start + length).min(200);
            let mut fast = vec![0; words(200)];
            let mut slow = fast.clone();
            set_range(&mut fast, start, end);
            (start..end).for_each(|i| set(&mut slow, i));
            prop_assert_eq!(&fast, &slow);
            prop_assert_eq!(ones(&fast).collect::<Vec<_>>(), (start..end).collect::<Vec<_>>());
            prop_assert_eq!(ones_in(&[!0; 4], start..end).collect::<Vec<_>>(), (start..end).collect::<Vec<_>>());
            prop_assert_eq!(ones_in(&fast, end..200).next(), None);
            prop_assert!((0..200).all(|i| get(&fast, i) == (start..end).contains(&i)));
        }

        #[test]
        fn transposed_bits_are_the_same_bits(seed: u64, n_lines in 0usize..150) {
            let lines: Vec<Vec<u64>> =
                (0..n_lines as u64).map(|i| (0..3).map(|j| mix(seed ^ mix(3 * i + j))).collect()).collect();
            let lines: Vec<&[u64]> = lines.iter().map(Vec::as_slice).collect();
            for (block, n_columns) in [(0, 64), (2, 17)] {
                let mut columns = vec![0; n_columns * words(n_lines)];
                transpose_block(&lines, block, &mut columns);
                for (j, column) in columns.chunks(words(n_lines).max(1)).enumerate() {
                    prop_assert!((0..n_lines).all(|i| get(column, i) == get(lines[i], 64 * block + j)));
                    prop_assert!((n_lines..64 * column.len()).all(|i| !get(column, i)));
                }
            }
        }
    }
}
