//! How splits are judged, and which are admissible.

use super::candidate::{Precision, SplitCandidate};
use crate::criterion::{ClassImpurity, ClassStats, ExactGain};
use crate::greedy::params::NominalSplits;
use crate::greedy::types::CodedTest;

/// How splits are judged and which are admissible, with masses and counts in the units of one kind of node (whole
/// cases, or fractional ones).
#[derive(Debug)]
pub(crate) struct SplitRule<I> {
    pub impurity: I,
    /// Whether quality is the gain ratio.
    pub ratio: bool,
    pub max_depth: u64,
    pub min_cases: u64,
    pub min_branch: u64,
    pub min_leaf: u64,
    pub min_gain: f64,
    pub nominal: NominalSplits,
    /// Whether the purity of a set of two classes is a convex function of its masses, so that the best subset of levels
    /// is a prefix of the levels in the order of a class's share.
    pub is_convex: bool,
}

/// The cases of a node that are split: all of them, or those with a value in a column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NodeStats<'a> {
    pub stats: &'a ClassStats,
    /// The number of cases.
    pub count: u64,
    /// The mass of all cases of the node.
    pub node_mass: u64,
}

impl<'a> NodeStats<'a> {
    /// All cases of a node.
    pub fn all(stats: &'a ClassStats, count: u64) -> Self {
        NodeStats { stats, count, node_mass: stats.total }
    }

    /// The masses of two branches, of which the first has this mass.
    pub fn branch_masses(&self, first: u64) -> impl Iterator<Item = u64> + use<> {
        [first, self.stats.total - first].into_iter()
    }
}

/// A total gain, rounded and, if needed, exact.
pub(crate) struct Gain {
    pub rounded: i64,
    pub exact: Option<ExactGain>,
}

impl<I: ClassImpurity> SplitRule<I> {
    /// Whether a split leaves no impurity. A rounded gain may only appear to be perfect.
    pub fn is_perfect(&self, split: &SplitCandidate, node: &ClassStats) -> bool {
        let has_perfect_gain = || !self.ratio && self.impurity.perfect_gain(node) == Some(split.gain);
        match &split.precision {
            Precision::Fixed => has_perfect_gain(),
            Precision::Exact { gain, .. } => has_perfect_gain() && gain.is_pure(),
            Precision::Screened { is_perfect, .. } => *is_perfect,
        }
    }

    /// The gain of a split per unit of the mass of its node, as a float.
    pub fn relative_gain(&self, split: &SplitCandidate, node: &ClassStats) -> f32 {
        (split.gain as f64 / (self.impurity.scale() * node.total as f64)) as f32
    }

    /// The fewest cases of a branch if there are two.
    pub fn min_side(&self) -> u64 {
        self.min_leaf.max(self.min_branch)
    }

    /// Whether a node is a leaf whatever its columns are (so that Assumption 5 holds).
    pub fn is_leaf(&self, masses: &[u64], count: u64, depth: u64) -> bool {
        let pure = masses.iter().filter(|&&mass| mass > 0).count() <= 1;
        pure || depth >= self.max_depth || count < self.min_cases
    }

    /// The split with this gain, if the gain is at least `min_gain`. `masses`: of the branches.
    pub fn candidate(
        &self,
        known: &NodeStats,
        Gain { rounded: gain, exact }: Gain,
        masses: impl Iterator<Item = u64>,
        test: impl FnOnce() -> CodedTest,
    ) -> Option<SplitCandidate> {
        let mut branches = 0;
        let masses = masses.inspect(|_| branches += 1);
        let information = match self.ratio {
            true => self.impurity.split_information(masses.chain([known.node_mass - known.stats.total])),
            false => masses.map(|_| 0).sum(),
        };
        if self.min_gain > 0.0 {
            let rounding_error = self.impurity.rounding_error(known.node_mass, branches);
            // The product of floats may be a little above the gain that is meant.
            let least = self.min_gain * known.node_mass as f64 * self.impurity.scale();
            if ((gain + rounding_error) as f64) < least * (1.0 - 2f64.powi(-40)) {
                return None;
            }
        }
        let quality = match self.ratio {
            // A ratio is at most one, apart from rounding.
            true => (i128::from(gain) << 60).checked_div(i128::from(information)).unwrap_or(0) as i64,
            false => gain,
        };
        let precision = match exact.filter(|_| !self.ratio) {
            None => Precision::Fixed,
            Some(exact) => Precision::Exact {
                rounding_error: self.impurity.rounding_error(known.node_mass, branches) as u64,
                gain: exact.into(),
            },
        };
        Some(SplitCandidate { quality, gain, precision, test: test() })
    }

    /// The exact gain of a split into parts of these class masses, if the rounded one is not enough.
    pub(super) fn exact_gain<'m>(
        &self,
        known: &NodeStats,
        parts: impl Iterator<Item = &'m [u64]>,
    ) -> Option<ExactGain> {
        if self.impurity.is_rounded() { self.impurity.exact_gain(parts, &known.stats.masses) } else { None }
    }
}
