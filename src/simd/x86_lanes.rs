//! Running sums in lanes with AVX2 and AVX-512: kept in registers, which compilers do not do by themselves.

use std::arch::x86_64::*;

use super::lanes::{LANES, LaneSums, Lines};

/// A line of lanes in AVX2 registers.
type Halves = [__m256i; 2];

#[inline(always)]
fn halves(line: &[i16; LANES]) -> Halves {
    // SAFETY: arrays of the same size without padding, any bits of which are a value.
    unsafe { std::mem::transmute::<[i16; LANES], Halves>(*line) }
}

#[inline(always)]
fn line(halves: Halves) -> [i16; LANES] {
    // SAFETY: as above.
    unsafe { std::mem::transmute::<Halves, [i16; LANES]>(halves) }
}

/// The sums of one side of the cut.
#[derive(Clone, Copy)]
struct Sums256 {
    sum: Halves,
    greatest: Halves,
    least: Halves,
}

impl Sums256 {
    #[inline(always)]
    fn none() -> Self {
        let LaneSums { sum, greatest, least } = LaneSums::none();
        Sums256 { sum: halves(&sum), greatest: halves(&greatest), least: halves(&least) }
    }

    /// # Safety
    /// The processor must have AVX2.
    #[inline(always)]
    unsafe fn add<const TIES: bool>(&mut self, half: usize, step: __m256i, tie: __m256i) {
        // SAFETY: the caller has the instructions.
        unsafe {
            let sum = _mm256_add_epi16(self.sum[half], step);
            let (high, low) =
                if TIES { (_mm256_subs_epi16(sum, tie), _mm256_adds_epi16(sum, tie)) } else { (sum, sum) };
            self.sum[half] = sum;
            self.greatest[half] = _mm256_max_epi16(self.greatest[half], high);
            self.least[half] = _mm256_min_epi16(self.least[half], low);
        }
    }

    #[inline(always)]
    fn lanes(self) -> LaneSums<i16> {
        LaneSums { sum: line(self.sum), greatest: line(self.greatest), least: line(self.least) }
    }
}

/// See [`Lines::portable`].
///
/// # Safety
/// The processor must have AVX2.
#[inline(always)]
pub(crate) unsafe fn avx2<const LEFT: bool, const RIGHT: bool, const TIES: bool>(
    of: &Lines<u16, i16>,
) -> [LaneSums<i16>; 2] {
    // SAFETY: the caller has the instructions.
    unsafe {
        let (mut left, mut right) = (Sums256::none(), Sums256::none());
        let (cut, zero) = (_mm256_set1_epi16(of.cut as i16), _mm256_setzero_si256());
        for ((ranks, steps), ties) in of.ranks.iter().zip(of.steps).zip(of.ties) {
            let (steps, ties) = (halves(steps), if TIES { halves(ties) } else { [zero; 2] });
            for half in 0..2 {
                let ranks = _mm256_loadu_si256(ranks.as_ptr().add(16 * half).cast());
                // What is left of the cut above the rank: nothing on the right.
                let is_right = _mm256_cmpeq_epi16(_mm256_subs_epu16(cut, ranks), zero);
                if LEFT {
                    left.add::<TIES>(half, _mm256_andnot_si256(is_right, steps[half]), ties[half]);
                }
                if RIGHT {
                    right.add::<TIES>(half, _mm256_and_si256(is_right, steps[half]), ties[half]);
                }
            }
        }
        [left.lanes(), right.lanes()]
    }
}

/// The sums of one side of the cut.
#[derive(Clone, Copy)]
struct Sums512 {
    sum: __m512i,
    greatest: __m512i,
    least: __m512i,
}

#[inline(always)]
fn whole(line: &[i16; LANES]) -> __m512i {
    // SAFETY: arrays of the same size without padding, any bits of which are a value.
    unsafe { std::mem::transmute::<[i16; LANES], __m512i>(*line) }
}

#[inline(always)]
fn line_of(whole: __m512i) -> [i16; LANES] {
    // SAFETY: as above.
    unsafe { std::mem::transmute::<__m512i, [i16; LANES]>(whole) }
}

impl Sums512 {
    #[inline(always)]
    fn none() -> Self {
        let LaneSums { sum, greatest, least } = LaneSums::none();
        Sums512 { sum: whole(&sum), greatest: whole(&greatest), least: whole(&least) }
    }

    /// # Safety
    /// The processor must have AVX-512 with BW.
    #[inline(always)]
    unsafe fn add<const TIES: bool>(&mut self, of: __mmask32, step: __m512i, looked_at: __mmask32) {
        // SAFETY: the caller has the instructions.
        unsafe {
            let sum = _mm512_mask_add_epi16(self.sum, of, self.sum, step);
            self.sum = sum;
            if TIES {
                self.greatest = _mm512_mask_max_epi16(self.greatest, looked_at, self.greatest, sum);
                self.least = _mm512_mask_min_epi16(self.least, looked_at, self.least, sum);
            } else {
                self.greatest = _mm512_max_epi16(self.greatest, sum);
                self.least = _mm512_min_epi16(self.least, sum);
            }
        }
    }

    #[inline(always)]
    fn lanes(self) -> LaneSums<i16> {
        LaneSums { sum: line_of(self.sum), greatest: line_of(self.greatest), least: line_of(self.least) }
    }
}

/// See [`Lines::portable`].
///
/// # Safety
/// The processor must have AVX-512 with BW.
#[inline(always)]
pub(crate) unsafe fn avx512<const LEFT: bool, const RIGHT: bool, const TIES: bool>(
    of: &Lines<u16, i16>,
) -> [LaneSums<i16>; 2] {
    // SAFETY: the caller has the instructions.
    unsafe {
        let (mut left, mut right) = (Sums512::none(), Sums512::none());
        let cut = _mm512_set1_epi16(of.cut as i16);
        for ((ranks, steps), ties) in of.ranks.iter().zip(of.steps).zip(of.ties) {
            let (ranks, steps) = (_mm512_loadu_si512(ranks.as_ptr().cast()), whole(steps));
            let looked_at = if TIES { _mm512_testn_epi16_mask(whole(ties), whole(ties)) } else { !0 };
            let is_left = _mm512_cmplt_epu16_mask(ranks, cut);
            if LEFT {
                left.add::<TIES>(is_left, steps, looked_at);
            }
            if RIGHT {
                right.add::<TIES>(!is_left, steps, looked_at);
            }
        }
        [left.lanes(), right.lanes()]
    }
}
