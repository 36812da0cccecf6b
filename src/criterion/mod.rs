//! Impurities of greedy splits in integers: entropy, the Gini index, errors, and their forms with costs.
//!
//! The *purity* of a set of cases is minus its total impurity, up to a constant: mass times impurity, in fixed point.
//! The total gain of a split is the purity of its branches less that of the cases they share out. A purity depends on
//! the class masses alone, and sums of integers do not depend on the order of summation, so equal masses have equal
//! gains on every platform. With floats the last bit would depend on the order of additions, and ties would fall at
//! random.
//!
//! What is rounded, and what is not. Whether a gain is zero is never read off a rounded gain: class shares are compared
//! by cross-multiplication. Equal gains of different masses are recognised as equal: tabulated logarithms are sums over
//! prime factors and so are equal as integers (`entropy`); other gains closer than the rounding error are compared
//! exactly (`exact_gain`): logarithms as products and then to 128 digits, quotients as fractions of any size. Two
//! orders may be decided by rounding: that of unequal tabulated gains closer than 2^-30 of the node's mass, in tables
//! of millions of cases, and that of gain ratios closer than that.
//!
//! `class_stats`: class masses of a set of cases, with running sums. `entropy`, `gini`, `leaf_cost`: the impurities.
//! `costs`: costs of errors as integers. `exact_gain`, `fraction`, `difference`: exact comparison of close gains.
//!
//! To add an impurity of classes: implement [`Impurity`] and [`ClassImpurity`] in a file of its own, and choose it in
//! `greedy::dispatch`.

mod class_stats;
mod costs;
mod difference;
mod entropy;
mod exact_gain;
mod fraction;
mod gini;
mod leaf_cost;

pub(crate) use class_stats::ClassStats;
pub(crate) use costs::Costs;
pub(crate) use entropy::Entropy;
pub(crate) use exact_gain::ExactGain;
pub(crate) use gini::{CostGini, Gini};
pub(crate) use leaf_cost::LeafCost;

/// How greedy splits are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Criterion {
    /// The decrease of entropy, in bits.
    #[default]
    InformationGain,
    /// Information gain over split information (C4.5).
    GainRatio,
    /// The decrease of the Gini index; with costs, of sum L(k, k') p(k) p(k').
    Gini,
    /// The decrease of the error of a leaf; with costs, of its expected cost.
    Error,
}

impl Criterion {
    /// Each of them.
    pub const ALL: [Self; 4] = [Self::InformationGain, Self::GainRatio, Self::Gini, Self::Error];
}

/// An impurity of sets of cases, in fixed point.
///
/// An impurity of another target than classes, such as the variance of numbers, implements this trait with responses
/// and statistics of its own. Growth needs [`ClassImpurity`] so far, for the search for splits and for the masses of
/// nodes.
pub(crate) trait Impurity: Sync {
    /// What the target says of a case: its class.
    type Response: Copy;
    /// What has to be known of a set of cases: sums over cases.
    type Stats: std::fmt::Debug + Clone + Default + Send + Sync;
    /// Adds mass with a response to a set.
    fn add(&self, stats: &mut Self::Stats, response: Self::Response, mass: u64);
    /// Removes mass with a response from a set.
    fn remove(&self, stats: &mut Self::Stats, response: Self::Response, mass: u64);
    /// Minus the total impurity of a set; a constant times the mass may be added.
    fn purity(&self, stats: &Self::Stats) -> i64;
    /// How far rounding can move the total gain of a split of this mass into so many branches: a gain above it is
    /// positive.
    fn rounding_error(&self, total: u64, branches: usize) -> i64;
    /// Whether a split has a positive gain, decided exactly: `part` is one of two branches, or each of several in turn,
    /// of the cases in `whole`.
    fn is_gain(&self, part: &Self::Stats, whole: &Self::Stats, gain: i64) -> bool;
    /// The total gain in fixed point that corresponds to a gain of one per unit of mass.
    fn scale(&self) -> f64;
    /// The binary logarithm of [`Impurity::scale`], up to a term that is the same for all masses.
    fn scale_bits(&self) -> i32 {
        self.scale().log2() as i32
    }
    /// The gain of a split whose branches have no impurity, if gains are exact.
    fn perfect_gain(&self, _: &Self::Stats) -> Option<i64> {
        None
    }
}

/// An impurity of class masses.
pub(crate) trait ClassImpurity: Impurity<Response = usize, Stats = ClassStats> {
    /// The purity of a set of two classes, from their masses.
    fn purity_of_two(&self, first: u64, second: u64) -> i64;
    /// An approximation of a term: the purity of a set is the sum of the terms of its class masses, less the term of
    /// their sum, with each term within 2^-32 of its mass times [`Impurity::scale`]. Used only if
    /// [`ClassImpurity::has_approximation`].
    fn approximate(&self, _mass: u64) -> f64 {
        0.0
    }
    /// Whether exact purities of sets of this mass are so slow that it pays to discard most thresholds by
    /// [`ClassImpurity::approximate`] first.
    fn has_approximation(&self, _total: u64) -> bool {
        false
    }
    /// Whether `greedy::screening` can approximate gains of this impurity for two classes.
    fn is_screened(&self) -> bool {
        false
    }
    /// Whether equal gains may be rounded to different integers, so that close ones have to be compared by
    /// [`ClassImpurity::exact_gain`].
    fn is_rounded(&self) -> bool {
        false
    }
    /// The exact gain of a split into parts of these class masses, if [`ClassImpurity::is_rounded`]; `None` if its
    /// terms are too large.
    fn exact_gain<'m>(&self, _parts: impl Iterator<Item = &'m [u64]>, _whole: &[u64]) -> Option<ExactGain> {
        None
    }
    /// The statistics of a set of these class masses.
    fn stats(&self, masses: Vec<u64>) -> ClassStats {
        let mut stats = ClassStats { masses, ..ClassStats::default() };
        self.recompute(&mut stats);
        stats
    }
    /// Recomputes all that follows from the class masses. The default adds class by class, which is right for
    /// impurities whose terms each depend on one class.
    fn recompute(&self, stats: &mut ClassStats) {
        stats.clear_sums();
        for class in 0..stats.masses.len() {
            let mass = std::mem::take(&mut stats.masses[class]);
            self.add(stats, class, mass);
        }
    }
    /// The total split information of branches of these masses. Used only by [`Criterion::GainRatio`].
    fn split_information(&self, _: impl Iterator<Item = u64>) -> i64 {
        0
    }
}
