//! Sorting of few keys without unpredictable branches: the rank of each key is counted.

use crate::simd::{BLOCK, Instructions, Kernel};

/// Keys to sort, with buffers kept between uses.
#[derive(Debug, Default)]
pub(super) struct SmallSort {
    /// Distinct keys.
    pub keys: Vec<u32>,
    ranks: Vec<u32>,
    sorted: Vec<u32>,
}

impl SmallSort {
    /// For more keys, other methods are faster.
    pub const MOST: usize = 128;

    /// The keys, ascending. Complexity: O(keys^2), as many at a time as a vector has lanes.
    pub fn sorted(&mut self, run: impl FnOnce(CountRanks)) -> &[u32] {
        let SmallSort { keys, ranks, sorted } = self;
        let n = keys.len();
        let rounded = n.next_multiple_of(BLOCK);
        // The padding gets ranks that are not used.
        keys.resize(rounded, u32::MAX);
        ranks.resize(rounded, 0);
        run(CountRanks { keys, n, ranks });
        sorted.resize(n, 0);
        keys.iter().zip(&*ranks).take(n).for_each(|(&key, &rank)| sorted[rank as usize] = key);
        sorted
    }
}

/// Counts for each key how many of the first `n` keys are less.
pub(super) struct CountRanks<'a> {
    keys: &'a [u32],
    n: usize,
    ranks: &'a mut [u32],
}

impl Kernel for CountRanks<'_> {
    type Output = ();

    #[inline(always)]
    fn run<P: Instructions>(self) {
        let CountRanks { keys, n, ranks } = self;
        for (block, ranks) in keys.as_chunks::<BLOCK>().0.iter().zip(ranks.as_chunks_mut::<BLOCK>().0) {
            let mut less = [0; BLOCK];
            for &key in &keys[..n] {
                for lane in 0..BLOCK {
                    less[lane] += u32::from(key < block[lane]);
                }
            }
            *ranks = less;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::mix;
    use crate::simd::Isa;

    #[test]
    fn all_instruction_sets_sort() {
        let mut small_sort = SmallSort::default();
        for n in [0, 1, 2, 15, 16, 17, 40, 127, SmallSort::MOST] {
            let mut keys: Vec<u32> = (0..n as u64).map(|i| ((mix(i) >> 40) as u32) << 7 | i as u32).collect();
            for isa in Isa::all() {
                small_sort.keys.clone_from(&keys);
                let sorted = small_sort.sorted(|ranks| isa.run(ranks)).to_vec();
                keys.sort_unstable();
                assert_eq!(sorted, keys);
            }
        }
    }
}
