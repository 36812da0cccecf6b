//! Approximate entropies of many sets of two classes at once.
//!
//! They are computed in floats of four bytes without a table, in loops that compilers turn into vector instructions.
//! For masses below 2^31 the error of the logarithm is at most 2^-18.5, and rounding of it and of its product adds
//! 2^-19 each: the error of x log2 x is at most 2^-17.5 x, and that of the purity of a set 2^-16 of its mass. The error
//! of a gain, which is the purity of the branches less that of the node, is below 2^-14 of the mass. So of two gains
//! that differ by
//! [`MARGIN`], the greater one is certain.

use crate::simd::{BLOCK, Instructions, Kernel};

/// Gains per unit of mass that differ by this much are in the right order.
pub(super) const MARGIN: f32 = 1.0 / 8192.0;

/// Coefficients of log2(1 + t) / t for t in [0, 1), from t^0 on.
const SERIES: [f32; 6] = [1.442_534_8, -0.718_033_6, 0.457_158_12, -0.277_341_63, 0.121_472_95, -0.025_792_345];

/// An approximation of x log2 x for a mass below 2^31.
#[inline(always)]
fn x_log_x(x: u32) -> f32 {
    let value = x as i32 as f32;
    let bits = value.to_bits() as i32;
    // The exponent and the mantissa. The product is 0 for a mass of 0, whatever its exponent.
    let exponent = ((bits >> 23) - 127) as f32;
    let t = f32::from_bits((bits & 0x007f_ffff | 0x3f80_0000) as u32) - 1.0;
    let [a, b, c, d, e, f] = SERIES;
    value * (exponent + t * (a + t * (b + t * (c + t * (d + t * (e + t * f))))))
}

/// An approximation of the purity of a set of these class masses: minus its entropy in bits, times its mass.
#[inline(always)]
pub(super) fn purity(first: u32, second: u32) -> f32 {
    x_log_x(first) + x_log_x(second) - x_log_x(first.wrapping_add(second))
}

/// Computes the purities of sets with these masses of the first and second class; returns their sum.
pub(super) struct SetPurities<'a> {
    /// The number of sets. Masses and purities are padded by less than a block.
    pub n: usize,
    pub first: &'a [u32],
    pub second: &'a [u32],
    pub purities: &'a mut [f32],
}

impl Kernel for SetPurities<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<P: Instructions>(self) -> f64 {
        for ((first, second), purities) in
            blocks(self.first).zip(blocks(self.second)).zip(blocks_mut(self.purities, self.n))
        {
            for lane in 0..BLOCK {
                purities[lane] = purity(first[lane], second[lane]);
            }
        }
        self.purities[..self.n].iter().map(|&purity| f64::from(purity)).sum()
    }
}

/// Computes, for each cut, the sum of the purities of the two sets that it makes: one with these masses, and the rest
/// of `whole`; minus infinity if either has less mass than `least`. Returns the greatest sum.
pub(super) struct CutPurities<'a> {
    /// As for [`SetPurities`].
    pub n: usize,
    pub first: &'a [u32],
    pub second: &'a [u32],
    pub purities: &'a mut [f32],
    pub whole: [u32; 2],
    pub least: u32,
}

impl Kernel for CutPurities<'_> {
    type Output = f32;

    #[inline(always)]
    fn run<P: Instructions>(self) -> f32 {
        let CutPurities { n, first, second, purities, whole: [all_first, all_second], least } = self;
        let all = all_first + all_second;
        let mut greatest = [f32::NEG_INFINITY; BLOCK];
        let mut at = 0;
        for ((first, second), purities) in blocks(first).zip(blocks(second)).zip(blocks_mut(purities, n)) {
            for lane in 0..BLOCK {
                let (a, b) = (first[lane], second[lane]);
                // Wrapping, since the padding has arbitrary masses.
                let below = a.wrapping_add(b);
                let both = purity(a, b) + purity(all_first.wrapping_sub(a), all_second.wrapping_sub(b));
                let is_cut = below >= least && all.wrapping_sub(below) >= least && at + lane < n;
                let purity = if is_cut { both } else { f32::NEG_INFINITY };
                purities[lane] = purity;
                greatest[lane] = if purity > greatest[lane] { purity } else { greatest[lane] };
            }
            at += BLOCK;
        }
        greatest.iter().fold(f32::NEG_INFINITY, |greatest, &purity| greatest.max(purity))
    }
}

#[inline(always)]
fn blocks(masses: &[u32]) -> impl Iterator<Item = &[u32; BLOCK]> {
    masses.as_chunks().0.iter()
}

#[inline(always)]
fn blocks_mut(purities: &mut [f32], n: usize) -> impl Iterator<Item = &mut [f32; BLOCK]> {
    purities[..n.next_multiple_of(BLOCK)].as_chunks_mut().0.iter_mut()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::mix;
    use crate::simd::Isa;

    #[test]
    fn approximations_are_within_their_error() {
        let exact = |x: u32| f64::from(x) * f64::from(x.max(1)).log2();
        let near = |a: u32, b: u32| exact(a) + exact(b) - exact(a + b);
        let steps = (0..3000).chain((0..31).flat_map(|i| [1 << i, (1 << i) + 1, (3u32 << i) / 2, (1 << (i + 1)) - 1]));
        let masses: Vec<u32> = steps.filter(|&x| x < 1 << 30).collect();
        for (i, &a) in masses.iter().enumerate() {
            assert!((f64::from(x_log_x(a)) - exact(a)).abs() <= f64::from(a) * 2f64.powf(-17.5), "{a}");
            for &b in masses.iter().skip(i % 7).step_by(7) {
                let error = (f64::from(purity(a, b)) - near(a, b)).abs();
                assert!(error <= f64::from(a + b) * 2f64.powi(-16), "{a} {b}: {error}");
            }
        }
    }

    #[test]
    fn all_instruction_sets_agree_with_the_definition() {
        for n in [1, 2, 15, 16, 17, 40] {
            let mass = |seed: u64| (mix(seed) >> 40) as u32;
            let masses: Vec<[u32; 2]> = (0..n).map(|i| [mass(2 * i), mass(2 * i + 1) * u32::from(i % 3 > 0)]).collect();
            // The padding has arbitrary masses.
            let of = |class: usize| {
                let rest = (0..BLOCK as u64).map(|i| mix(1000 + i) as u32);
                masses.iter().map(|masses| masses[class]).chain(rest).collect::<Vec<u32>>()
            };
            let (n, first, second) = (n as usize, of(0), of(1));
            let whole = [1 << 26, 1 << 27];
            for isa in Isa::all() {
                let mut purities = vec![7.0; n + BLOCK];
                let sum = isa.run(SetPurities { n, first: &first, second: &second, purities: &mut purities });
                let expected: Vec<f32> = masses.iter().map(|&[a, b]| purity(a, b)).collect();
                assert_eq!(purities[..n], expected);
                assert_eq!(sum, expected.iter().map(|&purity| f64::from(purity)).sum::<f64>());
                for least in [0, 1 << 24] {
                    let purities = &mut purities[..];
                    let greatest = isa.run(CutPurities { n, first: &first, second: &second, purities, whole, least });
                    let pair = |&[a, b]: &[u32; 2]| match a + b < least {
                        true => f32::NEG_INFINITY,
                        false => purity(a, b) + purity(whole[0] - a, whole[1] - b),
                    };
                    let expected: Vec<f32> = masses.iter().map(pair).collect();
                    assert_eq!(purities[..n], expected);
                    assert_eq!(greatest, expected.iter().copied().fold(f32::NEG_INFINITY, f32::max));
                }
            }
        }
    }
}
