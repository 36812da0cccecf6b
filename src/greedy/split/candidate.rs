//! A split of one column at a node, and the order of such splits.

use std::cmp::Ordering;

use crate::criterion::ExactGain;
use crate::greedy::data::TrainingColumn;
use crate::greedy::types::CodedTest;

/// A split of one column.
#[derive(Debug, Clone)]
pub(crate) struct SplitCandidate {
    /// What splits of different columns are compared by: gain, or gain ratio, in fixed point. Greater is better.
    pub quality: i64,
    /// The total gain, in fixed point.
    pub gain: i64,
    pub precision: Precision,
    pub test: CodedTest,
}

/// How much is known of a gain beside its fixed-point value.
#[derive(Debug, Clone)]
pub(crate) enum Precision {
    /// The fixed-point values decide.
    Fixed,
    /// Gains that differ by no more than the rounding error are compared exactly.
    Exact { rounding_error: u64, gain: Box<ExactGain> },
    /// The gain is an approximation by `screening`, within half of this error; which of two gains is greater is unknown
    /// unless they differ by more. `is_perfect`: whether the split leaves no impurity.
    Screened { error: u64, is_perfect: bool },
}

impl SplitCandidate {
    /// As a split of this column: the last code on its own, if it is that of missing values, makes a test for missing
    /// values.
    pub fn of(self, column: &TrainingColumn) -> Self {
        match (&self.test, column.own) {
            (CodedTest::AtMost { above, .. }, Some(own)) if *above == own => {
                SplitCandidate { test: CodedTest::Is(own), ..self }
            }
            _ => self,
        }
    }

    /// Bytes on the heap.
    pub fn heap(&self) -> usize {
        let exact = self.exact_gain().map_or(0, |exact| size_of::<ExactGain>() + exact.heap());
        self.test.heap() + exact
    }

    /// The exact gain, if it is known.
    pub fn exact_gain(&self) -> Option<&ExactGain> {
        match &self.precision {
            Precision::Exact { gain, .. } => Some(gain),
            _ => None,
        }
    }

    /// Whether gain and quality are approximations by `screening`.
    pub fn is_screened(&self) -> bool {
        matches!(self.precision, Precision::Screened { .. })
    }

    fn error(&self) -> u64 {
        match self.precision {
            Precision::Fixed => 0,
            Precision::Exact { rounding_error: error, .. } | Precision::Screened { error, .. } => error,
        }
    }

    fn is_close_to(&self, other: &Self) -> bool {
        self.quality.abs_diff(other.quality) <= self.error().max(other.error())
    }

    /// Whether a screened gain has to be computed exactly to tell which split is better.
    pub fn is_in_doubt(&self, other: &Self) -> bool {
        (self.is_screened() || other.is_screened()) && self.is_close_to(other)
    }

    /// Which of two splits is better; meaningless if [`SplitCandidate::is_in_doubt`].
    pub fn cmp(&self, other: &Self) -> Ordering {
        let close = self.is_close_to(other);
        let exact = self.exact_gain().zip(other.exact_gain()).filter(|_| close).and_then(|(a, b)| a.compare(b));
        exact.unwrap_or_else(|| self.quality.cmp(&other.quality))
    }
}

/// The result of looking for the best split of a column.
pub(crate) enum ColumnSplit {
    /// All cases have one value.
    Constant,
    /// The column varies, but has no admissible split with a gain.
    NoSplit,
    Split(SplitCandidate),
}

impl From<Option<SplitCandidate>> for ColumnSplit {
    fn from(split: Option<SplitCandidate>) -> Self {
        split.map_or(ColumnSplit::NoSplit, ColumnSplit::Split)
    }
}

impl ColumnSplit {
    /// The split, if there is one.
    pub fn candidate(self) -> Option<SplitCandidate> {
        match self {
            ColumnSplit::Split(split) => Some(split),
            _ => None,
        }
    }
}

/// The split of a column of the table, by its number.
pub(crate) type SplitOf = (u32, SplitCandidate);

/// The better of the splits of two columns; ties: the first column.
pub(crate) fn better(a: Option<SplitOf>, b: Option<SplitOf>) -> Option<SplitOf> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.1.cmp(&a.1).then(a.0.cmp(&b.0)).is_gt() { b } else { a }),
        (a, b) => a.or(b),
    }
}
