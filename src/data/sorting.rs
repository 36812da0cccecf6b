//! Sorts rows by 64-bit keys: a radix sort on the highest bits, then on lower ones where rows are still tied.

use crate::budget::{Stop, Ticker};

/// Fewer rows than this are sorted by comparison.
const FEW: usize = 1 << 8;
/// The most bits of a digit.
const DIGIT: u32 = 11;
/// How many bits of a key are sorted at a time: enough to tell most values of most columns apart.
const BITS: u32 = 2 * DIGIT;
/// A word has the row in its lowest 32 bits and bits of the key above.
const ROW: u32 = 32;

/// Buffers for sorting one column after the other.
#[derive(Debug, Default)]
pub(crate) struct Sorter {
    /// The key of each row of the table.
    pub(super) keys: Vec<u64>,
    /// The rows to be sorted, ascending.
    pub(super) words: Vec<u64>,
    buffer: Vec<u64>,
}

impl Sorter {
    /// Sorts rows by their keys, ties by row. Can be interrupted.
    ///
    /// One word per row is sorted: the highest 22 bits of the range that keys have, and the row. They are
    /// sorted digit by digit from the lowest. Rows that these bits do not tell apart, though their keys differ, are
    /// sorted once more by the bits below.
    ///
    /// Complexity: O(n), with two passes for most columns of floats.
    pub(super) fn sort(&mut self, ticker: &mut Ticker) -> Result<(), Stop> {
        self.buffer.resize(self.words.len(), 0);
        sort(&mut self.words, &mut self.buffer, &self.keys, ticker)
    }

    /// The rows, and the key of each.
    pub(super) fn sorted(&self) -> impl Iterator<Item = (u32, u64)> {
        self.words.iter().map(|&word| (word as u32, self.keys[row_of(word)]))
    }
}

fn row_of(word: u64) -> usize {
    word as u32 as usize
}

fn sort(words: &mut [u64], buffer: &mut [u64], keys: &[u64], ticker: &mut Ticker) -> Result<(), Stop> {
    let key = |word: u64| keys[row_of(word)];
    let Some(first) = words.first().map(|&word| key(word)) else { return Ok(()) };
    let (mut low, mut high, mut differ) = (first, first, 0);
    for key in words.iter().map(|&word| key(word)) {
        (low, high, differ) = (low.min(key), high.max(key), differ | key ^ first);
    }
    if low == high {
        return Ok(());
    }
    let bits = u64::BITS - (high - low).leading_zeros();
    // The low bits of all keys may be the same: floats that are small whole numbers have only a few high bits.
    let below = bits.saturating_sub(BITS).max(differ.trailing_zeros());
    let with_bits = |word: u64| (key(word) - low) >> below << ROW | row_of(word) as u64;
    if words.len() < FEW {
        words.iter_mut().for_each(|word| *word = with_bits(*word));
        words.sort_unstable();
    } else {
        by_digits(words, buffer, bits - below, with_bits, ticker)?;
    }
    ticker.tick(5 * words.len())?;
    if below > differ.trailing_zeros() {
        let mut start = 0;
        for end in 1..=words.len() {
            // Most runs have one row.
            if end < words.len() && words[end] >> ROW == words[end - 1] >> ROW {
                continue;
            }
            let run = &mut words[start..end];
            if run.len() > 1 && run.iter().any(|&word| key(word) != key(run[0])) {
                sort(run, &mut buffer[start..end], keys, ticker)?;
            }
            start = end;
        }
    }
    Ok(())
}

/// Sorts words by the lowest of the bits that they are given.
fn by_digits(
    words: &mut [u64],
    buffer: &mut [u64],
    bits: u32,
    with_bits: impl Fn(u64) -> u64,
    ticker: &mut Ticker,
) -> Result<(), Stop> {
    let passes = bits.div_ceil(DIGIT);
    let width = bits.div_ceil(passes);
    let digit = |word: u64, pass: u32| (word >> (ROW + pass * width)) as usize & ((1 << width) - 1);
    // Each pass moves the words to the other buffer; the last one must end in `words`.
    let (mut from, mut to) = (words, buffer);
    if passes % 2 == 1 {
        to.copy_from_slice(from);
        (from, to) = (to, from);
    }
    let mut places = vec![0u32; (passes as usize) << width];
    for word in &mut *from {
        *word = with_bits(*word);
        for pass in 0..passes {
            places[(pass as usize) << width | digit(*word, pass)] += 1;
        }
    }
    for (pass, places) in (0..passes).zip(places.chunks_exact_mut(1 << width)) {
        let mut before = 0;
        places.iter_mut().for_each(|place| before += std::mem::replace(place, before));
        for &word in &*from {
            let place = &mut places[digit(word, pass)];
            to[*place as usize] = word;
            *place += 1;
        }
        (from, to) = (to, from);
        ticker.tick(5 * from.len())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits;
    use crate::budget::{Budget, Limits};
    use proptest::prelude::*;

    fn sorted(keys: &[u64], budget: &Budget) -> Result<Vec<(u32, u64)>, Stop> {
        let mut sorter = Sorter { keys: keys.to_vec(), words: (0..keys.len() as u64).collect(), ..Sorter::default() };
        sorter.sort(&mut Ticker::new(budget))?;
        Ok(sorter.sorted().collect())
    }

    fn check(keys: &[u64]) {
        let mut expected: Vec<(u32, u64)> = (0..).zip(keys.iter().copied()).collect();
        expected.sort_by_key(|&(_, key)| key);
        assert_eq!(sorted(keys, &Budget::new(Limits::default())), Ok(expected));
    }

    #[test]
    fn many_rows_are_sorted_and_can_be_interrupted() {
        // Of a small range, of all there is, and in clusters far apart.
        let of_shift = |shift: u32| (0..300_000).map(|row| bits::mix(row) >> shift).collect::<Vec<u64>>();
        let clusters = (0..300_000).map(|row| bits::mix(row) & 0xc000_0000_0000_ffff).collect();
        for keys in [of_shift(54), of_shift(20), of_shift(0), clusters] {
            check(&keys);
            let spent = Budget::new(Limits { seconds: Some(0.0), ..Limits::default() });
            assert_eq!(sorted(&keys, &spent), Err(Stop::Time));
        }
    }

    proptest! {
        #[test]
        fn rows_are_sorted_by_key_then_row(
            base: u64, scale in 0u32..64, keys in proptest::collection::vec((0u64..4, 0u64..4, 0u32..64), 0..700),
        ) {
            let of = |&(a, b, shift): &(u64, u64, u32)| base ^ (a << scale) ^ (b << shift);
            check(&keys.iter().map(of).collect::<Vec<_>>());
        }
    }
}
