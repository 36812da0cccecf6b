//! Running sums in lanes, with the greatest and the least so far: of steps whose rank is below a cut, and of the
//! others.

use std::ops::Add;

/// The number of sums that run at the same time.
pub(crate) const LANES: usize = 32;

/// The integer that holds the sum of one lane.
pub(crate) trait Step: Copy + Ord + Default + Into<i64> {
    /// The integer that holds the sum over all lanes.
    type Total: Copy + Ord + Default + Add<Output = Self::Total> + From<Self> + Into<i64>;
    /// A sum in a lane is at most this, up or down.
    const MOST: i64;
    /// Added to a sum, or taken away from it, keeps it from being the least, or the greatest.
    const TIE: Self;
    fn of(step: i64) -> Self;
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    /// The steps as 16-bit integers, if they are.
    fn narrow(_: &[Self]) -> Option<&[i16]> {
        None
    }
}

macro_rules! step {
    ($($int:ty, $total:ty, $most:expr, $tie:expr, $add:ident, $subtract:ident, {$($more:item)*});*) => {$(
        impl Step for $int {
            type Total = $total;
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
            $($more)*
        }
    )*};
}
// A sum with a tie added or taken away fits, or stays at the end of the range, and is beyond all other sums.
step!(i16, i32, i16::MAX / 2, i16::MAX, saturating_add, saturating_sub, {
        #[inline(always)]
        fn narrow(all: &[Self]) -> Option<&[i16]> {
            Some(all)
        }
    };
    i32, i64, i32::MAX / 8, i32::MAX / 2, wrapping_add, wrapping_sub, {};
    i64, i64, i64::MAX / 4, i64::MAX / 2, wrapping_add, wrapping_sub, {});

/// Steps in lines of [`LANES`], each with a rank.
#[derive(Clone, Copy)]
pub(crate) struct Lines<'a, R, S> {
    pub(crate) ranks: &'a [[R; LANES]],
    pub(crate) steps: &'a [[S; LANES]],
    /// [`Step::TIE`] where the sum is not to be looked at, else 0; not read without `TIES`.
    pub(crate) ties: &'a [[S; LANES]],
    /// Ranks below this are on the left.
    pub(crate) cut: R,
}

/// The sums of each lane after the last line, and the greatest and least of those that were looked at: beyond
/// [`Step::MOST`] where none was. No sum may be beyond that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LaneSums<S> {
    pub(crate) sum: [S; LANES],
    pub(crate) greatest: [S; LANES],
    pub(crate) least: [S; LANES],
}

impl<S: Step> LaneSums<S> {
    /// The sums of no line. Greatest and least are as after a tie: no sum was looked at.
    #[inline(always)]
    pub(crate) fn none() -> Self {
        let (zero, tie) = (S::default(), S::TIE);
        LaneSums { sum: [zero; LANES], greatest: [zero.minus(tie); LANES], least: [tie; LANES] }
    }

    #[inline(always)]
    fn add<const TIES: bool>(&mut self, lane: usize, step: S, tie: S) {
        let sum = self.sum[lane].plus(step);
        self.sum[lane] = sum;
        let (high, low) = if TIES { (sum.minus(tie), sum.plus(tie)) } else { (sum, sum) };
        self.greatest[lane] = self.greatest[lane].max(high);
        self.least[lane] = self.least[lane].min(low);
    }

    /// The greatest and the least sum of all lanes, one after the other; 0, of no step, is one too.
    #[inline(always)]
    pub(crate) fn extremes(&self) -> (i64, i64) {
        let zero = S::Total::default();
        let mut before = [zero; LANES];
        for lane in 1..LANES {
            before[lane] = before[lane - 1] + S::Total::from(self.sum[lane - 1]);
        }
        let (mut greatest, mut least) = (zero, zero);
        for lane in 0..LANES {
            let (high, low) = (self.greatest[lane], self.least[lane]);
            greatest = greatest.max(if high.into() >= -S::MOST { before[lane] + S::Total::from(high) } else { zero });
            least = least.min(if low.into() <= S::MOST { before[lane] + S::Total::from(low) } else { zero });
        }
        (greatest.into(), least.into())
    }
}

impl<R: Copy + Ord, S: Step> Lines<'_, R, S> {
    /// The sums of either side that is wanted, as every processor can find them.
    #[inline(always)]
    pub(crate) fn portable<const LEFT: bool, const RIGHT: bool, const TIES: bool>(&self) -> [LaneSums<S>; 2] {
        let (mut left, mut right) = (LaneSums::none(), LaneSums::none());
        for ((ranks, steps), ties) in self.ranks.iter().zip(self.steps).zip(self.ties) {
            for lane in 0..LANES {
                let (step, zero) = (steps[lane], S::default());
                let (on_left, on_right) = if ranks[lane] < self.cut { (step, zero) } else { (zero, step) };
                if LEFT {
                    left.add::<TIES>(lane, on_left, ties[lane]);
                }
                if RIGHT {
                    right.add::<TIES>(lane, on_right, ties[lane]);
                }
            }
        }
        [left, right]
    }
}
