//! How good a greedy split is, in integers: information gain, Gini, errors, and their forms with costs.
//!
//! The *purity* of a set of cases is minus its total impurity, up to a constant: mass times impurity, in fixed point. The
//! total gain of a split is the purity of its branches less that of the cases they share out. Every purity is a function
//! of class masses alone, sums of them do not depend on the order of summation, and so equal masses have equal gains on
//! every platform: with floats the last bit would depend on who adds first, and ties would fall at random.
//!
//! What rounds, and what does not. Whether a gain is zero is never read off a rounded one: class shares are compared by
//! cross-multiplication. Gains that are equal though the masses are not are told to be equal: tabulated logarithms are
//! sums over prime factors, and so are equal as integers (`entropy`); others that come close are compared as products and
//! then by logarithms of 128 digits, quotients as fractions of any size (`exact`). What may be ordered by rounding: unequal
//! tabulated gains that are closer than 2^-30 of the node's mass, in tables of millions of cases, and gain ratios closer
//! than that.

mod costs;
mod difference;
mod entropy;
mod exact;
mod fraction;
mod gini;
pub(crate) mod roughly;

pub(crate) use costs::{Costs, LeafCost};
pub(crate) use entropy::Entropy;
pub(crate) use exact::Exact;
use fraction::Fraction;
pub(crate) use gini::{CostGini, Gini};

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

/// The class masses of a set of cases, and what an [`Impurity`] keeps to follow changes in constant time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Side {
    /// Mass per class.
    pub masses: Vec<u64>,
    /// Their sum.
    pub total: u64,
    sum: Sum,
    /// The expected cost of each class, times the mass.
    expected: Vec<u128>,
}

/// A sum over classes of a function of each one's mass.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    logs: i64,
    /// Of products of masses of classes, of one class or of two with what they cost.
    products: u128,
}

impl Side {
    /// Makes it the set of no case again.
    pub fn clear(&mut self) {
        self.masses.fill(0);
        self.expected.fill(0);
        (self.total, self.sum) = (0, Sum::default());
    }

    /// Copies another set without allocating.
    pub fn copy_from(&mut self, other: &Side) {
        self.masses.clone_from(&other.masses);
        self.expected.clone_from(&other.expected);
        (self.total, self.sum) = (other.total, other.sum);
    }
}

/// Purities of sets of cases.
pub(crate) trait Impurity: Sync {
    /// Adds mass of a class.
    fn add(&self, side: &mut Side, class: usize, mass: u64);
    /// Takes mass of a class away.
    fn remove(&self, side: &mut Side, class: usize, mass: u64);
    /// Minus the total impurity; a constant times the mass may be added.
    fn purity(&self, side: &Side) -> i64;
    /// The purity of unit masses of two classes.
    fn pair(&self, first: u64, second: u64) -> i64;
    /// The purity of unit masses is about the sum of this over the classes, less this of the whole, each within 2^-32 of the
    /// mass times [`Impurity::unit`]; only where [`Impurity::is_slow`].
    fn about(&self, _mass: u64) -> f64 {
        0.0
    }
    /// Whether purities of a mass like this take so long that it pays to look at most cuts by [`Impurity::about`] alone.
    fn is_slow(&self, _total: u64) -> bool {
        false
    }
    /// Whether gains of sets of two classes are about what [`roughly`] says.
    fn is_about(&self) -> bool {
        false
    }
    /// A total gain above this is positive without doubt, where that many branches share out this mass.
    fn noise(&self, total: u64, branches: usize) -> i64;
    /// Whether a split has a positive gain, decided exactly: `part` is one of two branches, or each of several in turn, of
    /// the cases in `whole`.
    fn is_gain(&self, part: &Side, whole: &Side, gain: i64) -> bool;
    /// Whether equal gains may come out unequal, so that close ones have to be compared by [`Impurity::exact_gain`].
    fn rounds(&self) -> bool {
        false
    }
    /// The gain of a split into parts of these class masses, where [`Impurity::rounds`], unless its terms are too large.
    fn exact_gain<'m>(&self, _parts: impl Iterator<Item = &'m [u64]>, _whole: &[u64]) -> Option<Exact> {
        None
    }
    /// The purity that a gain of one per unit of mass comes to.
    fn unit(&self) -> f64;
    /// The binary digits of [`Impurity::unit`], apart from a factor that is the same for all masses.
    fn digits(&self) -> i32 {
        self.unit().log2() as i32
    }
    /// The gain that leaves no impurity, where it is exact.
    fn perfect(&self, _: &Side) -> Option<i64> {
        None
    }
    /// A set of these class masses.
    fn side(&self, masses: Vec<u64>) -> Side {
        let mut side = Side { masses, ..Side::default() };
        self.settle(&mut side);
        side
    }
    /// Makes a set be what its class masses say. As it stands, for impurities where a class does not care about the others.
    fn settle(&self, side: &mut Side) {
        (side.total, side.sum) = (0, Sum::default());
        side.expected.fill(0);
        for class in 0..side.masses.len() {
            let mass = std::mem::take(&mut side.masses[class]);
            self.add(side, class, mass);
        }
    }
    /// The total split information of branches of these masses; only where the criterion asks for it.
    fn split_information(&self, _: impl Iterator<Item = u64>) -> i64 {
        0
    }
}

/// Whether the class shares of a part differ from those of the whole.
fn shares_differ(part: &Side, whole: &Side) -> bool {
    let cross = |(&part_mass, &whole_mass): (&u64, &u64)| {
        u128::from(part_mass) * u128::from(whole.total) != u128::from(whole_mass) * u128::from(part.total)
    };
    part.masses.iter().zip(&whole.masses).any(cross)
}
