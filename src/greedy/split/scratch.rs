//! Buffers for the search for splits, kept between nodes.

use crate::criterion::ClassStats;

/// Buffers for the search for splits of a column.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(super) left: ClassStats,
    pub(super) right: ClassStats,
    pub(super) best_left: Vec<u64>,
    pub(crate) cuts: Vec<TwoClassCut<u64>>,
    pub(super) narrow_cuts: Vec<TwoClassCut<u32>>,
    pub(super) approximations: CutApproximations,
}

/// A cut between neighbouring values of an ordered column at a node with two classes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TwoClassCut<M> {
    /// The mass below the cut, and that of class 1.
    pub mass: M,
    pub ones: M,
    /// The codes next to the cut.
    pub below: M,
    pub above: M,
}

impl<M: Into<u64>> TwoClassCut<M> {
    /// The same cut with masses and codes in 64 bits.
    #[inline]
    pub fn widened(self) -> TwoClassCut<u64> {
        let TwoClassCut { mass, ones, below, above } = self;
        TwoClassCut { mass: mass.into(), ones: ones.into(), below: below.into(), above: above.into() }
    }
}

/// Approximate purities of the branches of cuts.
#[derive(Debug, Default)]
pub(super) struct CutApproximations {
    pub by_class: Vec<ClassAtCut>,
    pub by_cut: Vec<f64>,
}

/// The mass of a class below and above a cut, and the sum of its two terms
/// ([`crate::criterion::ClassImpurity::approximate`]).
#[derive(Debug)]
pub(super) struct ClassAtCut {
    pub below: u64,
    pub above: u64,
    pub terms: f64,
}
