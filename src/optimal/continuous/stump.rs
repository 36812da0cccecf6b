//! The best stump on one column for the instances on one side of a cut of another: the loop that the search spends its
//! time in.
//!
//! Instances of two classes stand in the order of column h. A cut of h with label a on its left and b on its right gets
//! right what there is of b, and the sum of the *steps* before it: + mass for an instance of a, - mass for one of b.
//! The best cut is where the sum is greatest (or least, for the other labels). To leave out what lies on the wrong side
//! of a cut of column g, the ranks of g lie *along* the order of h: an instance with the wrong rank makes no step.
//!
//! The order is cut into [`LANES`] equal parts that are walked through at the same time, one in each lane of a vector
//! register; in the end the parts are put together. Within equal ranks of h there is no cut: there *ties* keep the sum
//! from being looked at.

use crate::simd::{Instructions, Isa, Kernel, LANES, LaneSums, Lines, Step};

/// Numbers of instances and ranks.
pub(in crate::optimal) trait Index:
    Copy + Default + Ord + Send + Sync + std::fmt::Debug + 'static
{
    /// Instances must be fewer than this.
    const MOST: usize;
    fn of(index: usize) -> Self;
    fn get(self) -> usize;
    /// The same, where it is narrow.
    fn narrow(_: &[Self]) -> Option<&[u16]> {
        None
    }
}

impl Index for u16 {
    const MOST: usize = u16::MAX as usize;
    #[inline(always)]
    fn narrow(all: &[Self]) -> Option<&[u16]> {
        Some(all)
    }
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

/// How long a part of an order of `n` is.
pub(super) fn part_length(n: usize) -> usize {
    n.div_ceil(LANES)
}

/// Room for so many elements, of which there are at most `most`: again as much as there was, if that is more than
/// enough.
pub(super) fn make_room<T>(of: &mut Vec<T>, needed: usize, most: usize) {
    if of.capacity() < needed {
        let room = (2 * of.capacity()).clamp(needed, most.max(needed));
        of.reserve_exact(room - of.len());
    }
}

/// Writes an order of `n` into lanes; `filler` fills them up.
pub(super) fn lay<T: Copy>(laid: &mut Vec<T>, n: usize, of: impl Fn(usize) -> T, filler: T) {
    let length = part_length(n);
    laid.clear();
    laid.resize(length * LANES, filler);
    let lines = laid.as_chunks_mut::<LANES>().0;
    for part in 0..LANES {
        for (line, place) in lines.iter_mut().zip(part * length..n) {
            line[part] = of(place);
        }
    }
}

impl Steps {
    /// Sets the steps of `n` instances in order; `tie` says after which of them there is no cut. No part of the order
    /// sums up to more than `most` in absolute steps.
    pub(super) fn lay(
        &mut self,
        n: usize,
        most: i64,
        step: impl Fn(usize) -> i64,
        tie: Option<impl Fn(usize) -> bool>,
    ) {
        match self {
            Steps::Narrow(_) if most <= <i16 as Step>::MOST => {}
            Steps::Middle(_) if most > <i16 as Step>::MOST && most <= <i32 as Step>::MOST => {}
            _ if most <= <i16 as Step>::MOST => *self = Steps::Narrow(Laid::default()),
            _ if most <= <i32 as Step>::MOST => *self = Steps::Middle(Laid::default()),
            _ => *self = Steps::Wide(Laid::default()),
        }
        match self {
            Steps::Narrow(laid) => laid.lay(n, step, tie),
            Steps::Middle(laid) => laid.lay(n, step, tie),
            Steps::Wide(laid) => laid.lay(n, step, tie),
        }
    }

    /// The greatest and the least sum of steps of instances whose rank in `along` is below `cut`, or, for the second,
    /// is not: for either side that is wanted.
    #[inline]
    pub(super) fn extremes<I: Index>(&self, isa: Isa, along: &[I], cut: I, sides: Sides) -> [Extremes; 2] {
        match self {
            Steps::Narrow(laid) => isa.run(StumpScan { along, laid, cut, sides }),
            Steps::Middle(laid) => isa.run(StumpScan { along, laid, cut, sides }),
            Steps::Wide(laid) => isa.run(StumpScan { along, laid, cut, sides }),
        }
    }
}

impl<S: Step> Laid<S> {
    fn lay(&mut self, n: usize, step: impl Fn(usize) -> i64, tie: Option<impl Fn(usize) -> bool>) {
        let laid = part_length(n) * LANES;
        self.steps.clear();
        make_room(&mut self.steps, laid, laid + laid / 4);
        lay(&mut self.steps, n, |place| S::of(step(place)), S::default());
        self.ties.clear();
        if let Some(tie) = tie {
            make_room(&mut self.ties, laid, laid + laid / 4);
            lay(&mut self.ties, n, |place| if tie(place) { S::TIE } else { S::default() }, S::default());
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

struct StumpScan<'a, I, S> {
    along: &'a [I],
    laid: &'a Laid<S>,
    cut: I,
    sides: Sides,
}

impl<I: Index, S: Step> Kernel for StumpScan<'_, I, S> {
    type Output = [Extremes; 2];

    #[inline(always)]
    fn run<P: Instructions>(self) -> [Extremes; 2] {
        match (self.sides, self.laid.ties.is_empty()) {
            (Sides::Left, true) => self.scan::<P, true, false, false>(),
            (Sides::Left, false) => self.scan::<P, true, false, true>(),
            (Sides::Right, true) => self.scan::<P, false, true, false>(),
            (Sides::Right, false) => self.scan::<P, false, true, true>(),
            (Sides::Both, true) => self.scan::<P, true, true, false>(),
            (Sides::Both, false) => self.scan::<P, true, true, true>(),
        }
    }
}

impl<I: Index, S: Step> StumpScan<'_, I, S> {
    #[inline(always)]
    fn scan<P: Instructions, const LEFT: bool, const RIGHT: bool, const TIES: bool>(&self) -> [Extremes; 2] {
        let StumpScan { along, laid: Laid { steps, ties }, cut, .. } = self;
        let ties = if TIES { ties } else { steps };
        match (I::narrow(along), I::narrow(std::slice::from_ref(cut)), S::narrow(steps), S::narrow(ties)) {
            (Some(along), Some(&[cut]), Some(steps), Some(ties)) => {
                of_sides::<_, LEFT, RIGHT>(&P::sums::<LEFT, RIGHT, TIES>(&lines(along, steps, ties, cut)))
            }
            _ => of_sides::<_, LEFT, RIGHT>(&lines(along, steps, ties, *cut).portable::<LEFT, RIGHT, TIES>()),
        }
    }
}

#[inline(always)]
fn lines<'a, I, S>(ranks: &'a [I], steps: &'a [S], ties: &'a [S], cut: I) -> Lines<'a, I, S> {
    Lines { ranks: ranks.as_chunks().0, steps: steps.as_chunks().0, ties: ties.as_chunks().0, cut }
}

/// The extremes of the sides that are wanted.
#[inline(always)]
fn of_sides<S: Step, const LEFT: bool, const RIGHT: bool>([left, right]: &[LaneSums<S>; 2]) -> [Extremes; 2] {
    let of = |wanted: bool, sums: &LaneSums<S>| {
        let (greatest, least) = if wanted { sums.extremes() } else { (0, 0) };
        Extremes { greatest, least }
    };
    [of(LEFT, left), of(RIGHT, right)]
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
            let most = order.chunks(part_length(order.len()).max(1)).map(|part| part.iter().map(|x| x.abs()).sum()).max();
            steps.lay(order.len(), most.unwrap_or(0), |k| order[k], with_ties.then_some(|k: usize| ties[k]));
            let mut along = Vec::new();
            lay(&mut along, ranks.len(), |k| ranks[k], 0u16);
            let expected = [twin(&order, &ties, &ranks, |r| r < cut), twin(&order, &ties, &ranks, |r| r >= cut)];
            for isa in Isa::all() {
                prop_assert_eq!(steps.extremes(isa, &along, cut, Sides::Both), expected);
                prop_assert_eq!(steps.extremes(isa, &along, cut, Sides::Left)[0], expected[0]);
                prop_assert_eq!(steps.extremes(isa, &along, cut, Sides::Right)[1], expected[1]);
            }
        }
    }
}
