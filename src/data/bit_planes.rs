//! One small code per row, stored as bit planes: a column with two values takes one bit per row.
//!
//! The planes of many columns, transposed 64 rows at a time, are rows of bits.

use crate::bits;

/// A code per row. Bit `i` of the code of row `r` is bit `r` of plane `i`.
pub(super) struct BitPlanes {
    words: usize,
    /// One plane after the other, lowest bit first; as many as the greatest code needs.
    planes: Vec<u64>,
}

impl BitPlanes {
    /// Takes planes of `words` words each, one after the other.
    pub(super) fn of_planes(planes: Vec<u64>, words: usize) -> Self {
        BitPlanes { words, planes }
    }

    /// Packs one code per row. Complexity: O(rows x planes).
    pub(super) fn pack(codes: &[u32]) -> Self {
        let most = codes.iter().copied().max().unwrap_or(0);
        let (width, words) = ((u32::BITS - most.leading_zeros()) as usize, bits::words(codes.len()));
        let mut planes = vec![0; width * words];
        for (word, block) in codes.chunks(64).enumerate() {
            for bit in 0..width {
                planes[bit * words + word] = block.iter().rev().fold(0, |w, &code| w << 1 | u64::from(code >> bit & 1));
            }
        }
        BitPlanes { words, planes }
    }

    /// How many bits a code has.
    pub(super) fn width(&self) -> usize {
        self.planes().len()
    }

    pub(super) fn planes(&self) -> std::slice::ChunksExact<'_, u64> {
        self.planes.chunks_exact(self.words.max(1))
    }
}

/// The codes of rows `0..n` in these planes: what [`BitPlanes::pack`] was given.
pub(super) fn unpack(planes: &[&[u64]], n: usize) -> Vec<u32> {
    let mut codes = vec![0u32; n];
    for (bit, plane) in planes.iter().enumerate() {
        for (block, word) in codes.chunks_mut(64).zip(*plane) {
            block.iter_mut().enumerate().for_each(|(i, code)| *code |= ((word >> i & 1) as u32) << bit);
        }
    }
    codes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn codes_come_back(codes in proptest::collection::vec(0u32..40, 0..200)) {
            let packed = BitPlanes::pack(&codes);
            prop_assert_eq!(unpack(&packed.planes().collect::<Vec<_>>(), codes.len()), codes);
        }
    }
}
