//! Few numbers brought in order without a branch to guess: the rank of each is counted.

use crate::simd::{BLOCK, Instructions, Kernel};

/// Beyond, sorting is faster.
pub(super) const FEW: usize = 128;

/// Numbers to sort; with room for the work, kept between uses.
#[derive(Debug, Default)]
pub(super) struct Few {
    /// All different.
    pub keys: Vec<u32>,
    ranks: Vec<u32>,
    sorted: Vec<u32>,
}

impl Few {
    /// The keys, ascending. Complexity: O(keys^2), as many at a time as a vector has lanes.
    pub fn sorted(&mut self, run: impl FnOnce(Ranks)) -> &[u32] {
        let Few { keys, ranks, sorted } = self;
        let n = keys.len();
        let rounded = n.next_multiple_of(BLOCK);
        // What stands behind the keys has ranks that nobody asks for.
        keys.resize(rounded, u32::MAX);
        ranks.resize(rounded, 0);
        run(Ranks { keys, n, ranks });
        sorted.resize(n, 0);
        keys.iter().zip(&*ranks).take(n).for_each(|(&key, &rank)| sorted[rank as usize] = key);
        sorted
    }
}

/// Counts of how many of the first `n` keys are less than each.
pub(super) struct Ranks<'a> {
    keys: &'a [u32],
    n: usize,
    ranks: &'a mut [u32],
}

impl Kernel for Ranks<'_> {
    type Output = ();

    #[inline(always)]
    fn run<P: Instructions>(self) {
        let Ranks { keys, n, ranks } = self;
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
    fn all_sets_of_instructions_sort() {
        let mut few = Few::default();
        for n in [0, 1, 2, 15, 16, 17, 40, 127, FEW] {
            let mut keys: Vec<u32> = (0..n as u64).map(|i| ((mix(i) >> 40) as u32) << 7 | i as u32).collect();
            for isa in Isa::all() {
                few.keys.clone_from(&keys);
                let sorted = few.sorted(|ranks| isa.run(ranks)).to_vec();
                keys.sort_unstable();
                assert_eq!(sorted, keys);
            }
        }
    }
}
