//! Sums of the masses of rows of bits: for each bit, of the rows that have it set.

use super::WORD;

/// Rows of bits that have a mass each: those picked, of `n_words` words a row, from the word `word` on.
pub(crate) struct WeighedRows<'a, L> {
    pub(crate) rows: &'a [u32],
    pub(crate) n_words: usize,
    pub(crate) word: usize,
    pub(crate) picks: &'a [u32],
    pub(crate) masses: &'a [L],
}

impl<'a, L: Copy> WeighedRows<'a, L> {
    /// Some words of each row, and its mass.
    #[inline(always)]
    pub(super) fn rows<const WORDS: usize>(&self) -> impl Iterator<Item = (&'a [u32; WORDS], L)> {
        let &WeighedRows { rows, n_words, word, picks, masses } = self;
        picks.iter().map(move |&pick| {
            let row = rows[pick as usize * n_words + word..]
                .first_chunk()
                .expect("a row has `n_words` words, and `word + WORDS` is no more");
            (row, masses[pick as usize])
        })
    }
}

/// A mass, and for each byte its bits, each as a mass whose bits are all the same.
pub(super) trait LaneMass: Copy + 'static {
    const NONE: Self;
    const MASKS: &'static [[Self; 8]; 256];
    /// The sum, modulo what fits, with those bits of a mass that are set in the mask.
    fn plus(self, mass: Self, mask: Self) -> Self;
}

macro_rules! mass {
    ($($int:ty),*) => {$(
        impl LaneMass for $int {
            const NONE: Self = 0;
            const MASKS: &'static [[Self; 8]; 256] = &{
                let mut masks = [[0; 8]; 256];
                let mut at = 0;
                while at < 8 * 256 {
                    masks[at / 8][at % 8] = if at / 8 >> (at % 8) & 1 == 1 { <$int>::MAX } else { 0 };
                    at += 1;
                }
                masks
            };
            #[inline(always)]
            fn plus(self, mass: Self, mask: Self) -> Self {
                self.wrapping_add(mass & mask)
            }
        }
    )*};
}
mass!(u16, u32, u64);

/// Writes the sums of at most four words, a byte of each at a time: where no instruction chooses lanes by bits, to look
/// masks up is faster than to make them.
#[inline(always)]
pub(super) fn by_byte<L: LaneMass, const WORDS: usize>(of: &WeighedRows<L>, sums: &mut [[L; WORD]; WORDS]) {
    for bit in (0..WORD).step_by(8) {
        // One by one: of a loop, compilers put the words side by side and not their bits.
        let [mut a, mut b, mut c, mut d] = [[L::NONE; 8]; 4];
        for (row, mass) in of.rows::<WORDS>() {
            add(&mut a, row[0] >> bit, mass);
            if WORDS > 1 {
                add(&mut b, row[1] >> bit, mass);
            }
            if WORDS > 2 {
                add(&mut c, row[2] >> bit, mass);
            }
            if WORDS > 3 {
                add(&mut d, row[3] >> bit, mass);
            }
        }
        for (to, of_word) in sums.iter_mut().zip([a, b, c, d]) {
            to[bit..bit + 8].copy_from_slice(&of_word);
        }
    }
}

#[inline(always)]
fn add<L: LaneMass>(sums: &mut [L; 8], bits: u32, mass: L) {
    let masks = &L::MASKS[(bits & 0xff) as usize];
    for at in 0..8 {
        sums[at] = sums[at].plus(mass, masks[at]);
    }
}
