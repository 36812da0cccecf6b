//! Running sums in lanes, with the greatest and the least so far: of steps whose rank is below a cut, and of the others.

/// How many sums run at the same time.
pub(in crate::optimal) const LANES: usize = 32;

/// Steps in lines of [`LANES`], each with a rank.
#[derive(Clone, Copy)]
pub(in crate::optimal) struct Lines<'a> {
    pub(in crate::optimal) ranks: &'a [[u16; LANES]],
    pub(in crate::optimal) steps: &'a [[i16; LANES]],
    /// `i16::MAX` where the sum is not to be looked at, else 0; not read without `TIES`.
    pub(in crate::optimal) ties: &'a [[i16; LANES]],
    /// Ranks below this are on the left.
    pub(in crate::optimal) cut: u16,
}

/// The sums of each lane after the last line, and the greatest and least of those that were looked at: below -16,383 and
/// above 16,383 where none was. No sum may be beyond that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::optimal) struct LaneSums {
    pub(in crate::optimal) sum: [i16; LANES],
    pub(in crate::optimal) greatest: [i16; LANES],
    pub(in crate::optimal) least: [i16; LANES],
}

impl LaneSums {
    pub(super) const NONE: Self = LaneSums { sum: [0; LANES], greatest: [-i16::MAX; LANES], least: [i16::MAX; LANES] };

    #[inline(always)]
    fn add<const TIES: bool>(&mut self, lane: usize, step: i16, tie: i16) {
        let sum = self.sum[lane].wrapping_add(step);
        self.sum[lane] = sum;
        let (high, low) = if TIES { (sum.saturating_sub(tie), sum.saturating_add(tie)) } else { (sum, sum) };
        self.greatest[lane] = self.greatest[lane].max(high);
        self.least[lane] = self.least[lane].min(low);
    }
}

impl Lines<'_> {
    /// The sums of either side that is wanted, as every processor can find them.
    #[inline(always)]
    pub(super) fn portable<const LEFT: bool, const RIGHT: bool, const TIES: bool>(&self) -> [LaneSums; 2] {
        let (mut left, mut right) = (LaneSums::NONE, LaneSums::NONE);
        for ((ranks, steps), ties) in self.ranks.iter().zip(self.steps).zip(self.ties) {
            for lane in 0..LANES {
                let (on_left, on_right) = if ranks[lane] < self.cut { (steps[lane], 0) } else { (0, steps[lane]) };
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
