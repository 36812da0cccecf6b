//! One source, several instruction sets: hot loops are written once, as plain loops over fixed-size blocks, and compiled
//! for each set that pays. Which one runs is decided when the program does.
//!
//! The only `unsafe` of the crate is here: calling code that was compiled for instructions the processor was asked for.
//! The scalar twin is the same source compiled for the baseline; tests run every kernel under every set there is and
//! compare (valgrind runs them too, with the sets that it knows).

#![allow(unsafe_code)]

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

/// How bits are counted best.
pub(super) trait Popcount {
    /// Adds to each of 16 counts the number of bits that a column and `mask(word)` share, over the words of `columns`,
    /// which are `stride` apart.
    fn count(columns: &[u32], stride: usize, mask: impl Fn(usize) -> u32, n_words: usize) -> [u32; BLOCK];
}

#[inline(always)]
fn block(columns: &[u32], at: usize) -> &[u32; BLOCK] {
    columns[at..].first_chunk().expect("columns are padded to whole blocks")
}

/// Counts of whole words, for sets that have an instruction for them.
pub(super) struct ByWord;

impl Popcount for ByWord {
    #[inline(always)]
    fn count(columns: &[u32], stride: usize, mask: impl Fn(usize) -> u32, n_words: usize) -> [u32; BLOCK] {
        let mut counts = [0u32; BLOCK];
        for word in 0..n_words {
            let (column, mask) = (block(columns, word * stride), mask(word));
            for lane in 0..BLOCK {
                counts[lane] += (column[lane] & mask).count_ones();
            }
        }
        counts
    }
}

/// Counts of bytes, added up as bytes for as long as they cannot overflow: byte counts are table look-ups everywhere.
pub(super) struct ByByte;

impl Popcount for ByByte {
    #[inline(always)]
    fn count(columns: &[u32], stride: usize, mask: impl Fn(usize) -> u32, n_words: usize) -> [u32; BLOCK] {
        const MOST: usize = 31; // times 8 bits stays below 256
        let mut counts = [0u32; BLOCK];
        let mut start = 0;
        while start < n_words {
            let end = n_words.min(start + MOST);
            let mut bytes = [0u8; 4 * BLOCK];
            for word in start..end {
                let (column, mask) = (block(columns, word * stride), mask(word));
                let mut both = [[0u8; 4]; BLOCK];
                for lane in 0..BLOCK {
                    both[lane] = (column[lane] & mask).to_ne_bytes();
                }
                let both = both.as_flattened();
                for lane in 0..4 * BLOCK {
                    bytes[lane] += both[lane].count_ones() as u8;
                }
            }
            for lane in 0..BLOCK {
                let four = u32::from_ne_bytes([bytes[4 * lane], bytes[4 * lane + 1], bytes[4 * lane + 2], bytes[4 * lane + 3]]);
                let two = (four & 0x00ff_00ff) + ((four >> 8) & 0x00ff_00ff);
                counts[lane] += (two + (two >> 16)) & 0xffff;
            }
            start = end;
        }
        counts
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
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2") && is_x86_feature_detected!("popcnt") {
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
            Set::Baseline => kernel.run::<ByByte>(),
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
    kernel.run::<ByByte>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,avx512f,avx512vl,avx512bw,avx512vpopcntdq")]
fn avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<ByWord>()
}
