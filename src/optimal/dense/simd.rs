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

/// Columns of bits to count: word w of column c is `words[w * stride + c]`, and is counted where `masks[w * step]` is set.
pub(super) struct Masked<'a> {
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

/// How bits are counted best.
pub(super) trait Popcount {
    /// Counts the bits of `N` neighbouring blocks of columns.
    fn count<const N: usize>(masked: &Masked, block: usize) -> [[u32; BLOCK]; N];

    /// Counts all blocks of two tables from `first` on and hands each pair to `take`.
    #[inline(always)]
    fn count_both(masked: [&Masked; 2], first: usize, mut take: impl FnMut(usize, [&[u32; BLOCK]; 2])) {
        let blocks = masked[0].stride / BLOCK;
        let mut block = first;
        while block + 2 <= blocks {
            let [one, two] = [Self::count::<2>(masked[0], block), Self::count::<2>(masked[1], block)];
            take(block, [&one[0], &two[0]]);
            take(block + 1, [&one[1], &two[1]]);
            block += 2;
        }
        if block < blocks {
            let [one, two] = [Self::count::<1>(masked[0], block), Self::count::<1>(masked[1], block)];
            take(block, [&one[0], &two[0]]);
        }
    }

    /// Counts all blocks from `first` on and hands each to `take`.
    #[inline(always)]
    fn count_all(masked: &Masked, first: usize, mut take: impl FnMut(usize, &[u32; BLOCK])) {
        let blocks = masked.stride / BLOCK;
        let mut block = first;
        while block + 2 <= blocks {
            let [one, two] = Self::count::<2>(masked, block);
            take(block, &one);
            take(block + 1, &two);
            block += 2;
        }
        if block < blocks {
            take(block, &Self::count::<1>(masked, block)[0]);
        }
    }
}

/// Counts of whole words, for sets that have an instruction for them.
pub(super) struct ByWord;

impl Popcount for ByWord {
    #[inline(always)]
    fn count<const N: usize>(masked: &Masked, block: usize) -> [[u32; BLOCK]; N] {
        let mut counts = [[0u32; BLOCK]; N];
        for word in 0..masked.n_words {
            for part in 0..N {
                let (column, mask) = masked.at(word, block + part);
                for lane in 0..BLOCK {
                    counts[part][lane] += (column[lane] & mask).count_ones();
                }
            }
        }
        counts
    }
}

/// Counts of bytes, added up as bytes for as long as they cannot overflow: byte counts are table look-ups everywhere.
pub(super) struct ByByte;

impl Popcount for ByByte {
    #[inline(always)]
    fn count<const N: usize>(masked: &Masked, block: usize) -> [[u32; BLOCK]; N] {
        const MOST: usize = 31; // times 8 bits stays below 256
        let mut counts = [[0u32; BLOCK]; N];
        let mut start = 0;
        while start < masked.n_words {
            let end = masked.n_words.min(start + MOST);
            let mut bytes = [[[0u8; 4]; BLOCK]; N];
            for word in start..end {
                for part in 0..N {
                    let (column, mask) = masked.at(word, block + part);
                    let mut both = [[0u8; 4]; BLOCK];
                    for lane in 0..BLOCK {
                        both[lane] = (column[lane] & mask).to_ne_bytes();
                    }
                    for (sum, byte) in bytes[part].as_flattened_mut().iter_mut().zip(both.as_flattened()) {
                        *sum += byte.count_ones() as u8;
                    }
                }
            }
            for part in 0..N {
                for lane in 0..BLOCK {
                    let four = u32::from_ne_bytes(bytes[part][lane]);
                    let two = (four & 0x00ff_00ff) + ((four >> 8) & 0x00ff_00ff);
                    counts[part][lane] += (two + (two >> 16)) & 0xffff;
                }
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
