//! The best stump on one column for the instances on one side of a cut of another: the loop that the search spends its
//! time in.
//!
//! Instances of two classes stand in the order of column h. A cut of h with label a on its left and b on its right gets
//! right what there is of b, and the sum of the *steps* before it: + mass for an instance of a, - mass for one of b. The
//! best cut is where the sum is greatest (or least, for the other labels). To leave out what lies on the wrong side of a
//! cut of column g, the ranks of g lie *along* the order of h: an instance with the wrong rank makes no step.
//!
//! The order is cut into [`LANES`] equal parts that are walked through at the same time, one in each lane of a vector
//! register; in the end the parts are put together. Within equal ranks of h there is no cut: there *ties* keep the sum
//! from being looked at.

use super::super::simd::{Isa, Kernel, Popcount};

/// How many parts of the order are walked through at the same time.
pub(super) const LANES: usize = 32;

/// Numbers of instances and ranks.
pub(in crate::optimal) trait Index:
    Copy + Default + Ord + Send + Sync + std::fmt::Debug + 'static
{
    /// Instances must be fewer than this.
    const MOST: usize;
    fn of(index: usize) -> Self;
    fn get(self) -> usize;
}

impl Index for u16 {
    const MOST: usize = u16::MAX as usize;
    #[inline(always)]
    fn of(index: usize) -> Self {
        debug_assert!(index <= Self::MOST);
        index as u16
    }
    #[inline(always)]
    fn get(self) -> usize {
        self as usize
    }
}

impl Index for u32 {
    const MOST: usize = u32::MAX as usize;
    #[inline(always)]
    fn of(index: usize) -> Self {
        index as u32
    }
    #[inline(always)]
    fn get(self) -> usize {
        self as usize
    }
}

/// What a sum of masses in one lane is kept in.
pub(super) trait Step: Copy + Ord + Default + Into<i64> {
    /// A sum in a lane is at most this, up or down.
    const MOST: i64;
    /// Added to a sum, or taken away from it, keeps it from being the least, or the greatest.
    const TIE: Self;
    fn of(step: i64) -> Self;
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
}

macro_rules! step {
    ($($int:ty, $most:expr, $tie:expr, $add:ident, $subtract:ident);*) => {$(
        impl Step for $int {
            const MOST: i64 = $most as i64;
            const TIE: Self = $tie;
            #[inline(always)]
            fn of(step: i64) -> Self {
                step as $int
            }
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.$add(other)
            }
            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.$subtract(other)
            }
        }
    )*};
}
// A sum with a tie added or taken away fits, or stays at the end of the range, and is beyond all other sums.
step!(i16, i16::MAX / 2, i16::MAX, saturating_add, saturating_sub;
    i32, i32::MAX / 8, i32::MAX / 2, wrapping_add, wrapping_sub;
    i64, i64::MAX / 8, i64::MAX / 2, wrapping_add, wrapping_sub);

/// Steps in lanes: element `LANES * i + j` is number i of part j.
#[derive(Debug, Default)]
pub(super) struct Laid<S> {
    steps: Vec<S>,
    /// [`Step::TIE`] or 0; empty where there are no ties.
    ties: Vec<S>,
}

/// The steps of a list, as narrow as its masses allow.
#[derive(Debug)]
pub(super) enum Steps {
    Narrow(Laid<i16>),
    Middle(Laid<i32>),
    Wide(Laid<i64>),
}

impl Default for Steps {
    fn default() -> Self {
        Steps::Narrow(Laid::default())
    }
}

/// How many elements the lanes of `n` instances have.
pub(super) fn laid_length(n: usize) -> usize {
    n.div_ceil(LANES) * LANES
}

/// Where element `k` of an order of `n` lies in lanes.
#[inline]
pub(super) fn places(n: usize) -> impl Iterator<Item = usize> {
    let length = n.div_ceil(LANES).max(1);
    (0..n).map(move |k| (k % length) * LANES + k / length)
}

impl Steps {
    /// Lays out steps that are in order; `ties` says after which of them there is no cut, and is empty if there is always
    /// one.
    pub(super) fn lay(&mut self, steps: &[i64], ties: &[bool]) {
        let length = steps.len().div_ceil(LANES).max(1);
        let most = steps.chunks(length).map(|part| part.iter().map(|step| step.abs()).sum::<i64>()).max().unwrap_or(0);
        if most <= <i16 as Step>::MOST {
            if !matches!(self, Steps::Narrow(_)) {
                *self = Steps::Narrow(Laid::default());
            }
        } else if most <= <i32 as Step>::MOST {
            if !matches!(self, Steps::Middle(_)) {
                *self = Steps::Middle(Laid::default());
            }
        } else {
            *self = Steps::Wide(Laid::default());
        }
        match self {
            Steps::Narrow(laid) => laid.lay(steps, ties),
            Steps::Middle(laid) => laid.lay(steps, ties),
            Steps::Wide(laid) => laid.lay(steps, ties),
        }
    }

    /// The greatest and the least sum of steps of instances whose rank in `along` is below `cut`, or, for the second, is
    /// not: for either side that is wanted.
    #[inline]
    pub(super) fn extremes<I: Index>(&self, isa: Isa, along: &[I], cut: I, sides: Sides) -> [Extremes; 2] {
        match self {
            Steps::Narrow(laid) => isa.run(Scan { along, laid, cut, sides }),
            Steps::Middle(laid) => isa.run(Scan { along, laid, cut, sides }),
            Steps::Wide(laid) => isa.run(Scan { along, laid, cut, sides }),
        }
    }
}

impl<S: Step> Laid<S> {
    fn lay(&mut self, steps: &[i64], ties: &[bool]) {
        self.steps.clear();
        self.steps.resize(laid_length(steps.len()), S::default());
        places(steps.len()).zip(steps).for_each(|(place, &step)| self.steps[place] = S::of(step));
        self.ties.clear();
        if !ties.is_empty() {
            self.ties.resize(self.steps.len(), S::default());
            places(ties.len()).zip(ties).filter(|(_, tie)| **tie).for_each(|(place, _)| self.ties[place] = S::TIE);
        }
    }
}

/// Which sides of a cut are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sides {
    Left,
    Right,
    Both,
}

/// The greatest and the least sum of the first steps, 0 of none included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Extremes {
    pub(super) greatest: i64,
    pub(super) least: i64,
}

struct Scan<'a, I, S> {
    along: &'a [I],
    laid: &'a Laid<S>,
    cut: I,
    sides: Sides,
}

impl<I: Index, S: Step> Kernel for Scan<'_, I, S> {
    type Output = [Extremes; 2];

    #[inline(always)]
    fn run<P: Popcount>(self) -> [Extremes; 2] {
        match (self.sides, self.laid.ties.is_empty()) {
            (Sides::Left, true) => self.scan::<true, false, false>(),
            (Sides::Left, false) => self.scan::<true, false, true>(),
            (Sides::Right, true) => self.scan::<false, true, false>(),
            (Sides::Right, false) => self.scan::<false, true, true>(),
            (Sides::Both, true) => self.scan::<true, true, false>(),
            (Sides::Both, false) => self.scan::<true, true, true>(),
        }
    }
}

/// Sums of one side, in each lane.
#[derive(Clone, Copy)]
struct Sums<S> {
    sum: [S; LANES],
    greatest: [S; LANES],
    least: [S; LANES],
}

impl<S: Step> Sums<S> {
    #[inline(always)]
    fn new() -> Self {
        // Until the first sum that is looked at: as if of a tie.
        let tie = S::TIE;
        Sums { sum: [S::default(); LANES], greatest: [S::default().minus(tie); LANES], least: [tie; LANES] }
    }

    /// Of all lanes, one after the other.
    #[inline(always)]
    fn extremes(&self) -> Extremes {
        let (mut sum, mut all) = (0i64, Extremes::default());
        for j in 0..LANES {
            let (greatest, least) = (self.greatest[j].into(), self.least[j].into());
            all.greatest = all.greatest.max(if greatest >= -S::MOST { sum + greatest } else { 0 });
            all.least = all.least.min(if least <= S::MOST { sum + least } else { 0 });
            sum += self.sum[j].into();
        }
        all
    }
}

impl<I: Index, S: Step> Scan<'_, I, S> {
    #[inline(always)]
    fn scan<const LEFT: bool, const RIGHT: bool, const TIES: bool>(&self) -> [Extremes; 2] {
        let (mut left, mut right) = (Sums::<S>::new(), Sums::<S>::new());
        let ties = if TIES { &self.laid.ties[..] } else { &self.laid.steps[..] };
        let blocks = self.along.as_chunks::<LANES>().0.iter();
        for ((ranks, steps), ties) in
            blocks.zip(self.laid.steps.as_chunks::<LANES>().0).zip(ties.as_chunks::<LANES>().0)
        {
            let add = |sums: &mut Sums<S>, j: usize, step: S| {
                let sum = sums.sum[j].plus(step);
                sums.sum[j] = sum;
                let (high, low) = if TIES { (sum.minus(ties[j]), sum.plus(ties[j])) } else { (sum, sum) };
                sums.greatest[j] = sums.greatest[j].max(high);
                sums.least[j] = sums.least[j].min(low);
            };
            if LEFT {
                for j in 0..LANES {
                    add(&mut left, j, if ranks[j] < self.cut { steps[j] } else { S::default() });
                }
            }
            if RIGHT {
                for j in 0..LANES {
                    add(&mut right, j, if ranks[j] < self.cut { S::default() } else { steps[j] });
                }
            }
        }
        [
            if LEFT { left.extremes() } else { Extremes::default() },
            if RIGHT { right.extremes() } else { Extremes::default() },
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same, step by step.
    fn twin(steps: &[i64], ties: &[bool], along: &[u16], of: impl Fn(u16) -> bool) -> Extremes {
        let (mut sum, mut all) = (0, Extremes::default());
        for (i, &step) in steps.iter().enumerate() {
            sum += if of(along[i]) { step } else { 0 };
            if !ties.get(i).copied().unwrap_or(false) {
                all.greatest = all.greatest.max(sum);
                all.least = all.least.min(sum);
            }
        }
        all
    }

    proptest! {
        #[test]
        fn lanes_equal_steps(
            cells in proptest::collection::vec((-3i64..4, 0u16..9, any::<bool>()), 0..300),
            cut in 0u16..10,
            with_ties: bool,
            scale in prop_oneof![Just(1i64), Just(1_000), Just(1 << 27), Just(1 << 40)],
        ) {
            let order: Vec<i64> = cells.iter().map(|&(step, _, _)| step * scale).collect();
            let mut ties: Vec<bool> = cells.iter().map(|&(_, _, tie)| tie && with_ties).collect();
            // After the last instance there is a cut.
            if let Some(last) = ties.last_mut() { *last = false; }
            if !with_ties { ties.clear(); }
            let ranks: Vec<u16> = cells.iter().map(|&(_, rank, _)| rank).collect();
            let mut steps = Steps::default();
            steps.lay(&order, &ties);
            let mut along = vec![0u16; laid_length(order.len())];
            places(order.len()).zip(&ranks).for_each(|(place, &rank)| along[place] = rank);
            let expected = [twin(&order, &ties, &ranks, |r| r < cut), twin(&order, &ties, &ranks, |r| r >= cut)];
            for isa in Isa::all() {
                prop_assert_eq!(steps.extremes(isa, &along, cut, Sides::Both), expected);
                prop_assert_eq!(steps.extremes(isa, &along, cut, Sides::Left)[0], expected[0]);
                prop_assert_eq!(steps.extremes(isa, &along, cut, Sides::Right)[1], expected[1]);
            }
        }
    }
}
