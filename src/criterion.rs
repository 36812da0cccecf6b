//! How good a greedy split is: information gain, Gini, errors, and their forms with costs.

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
