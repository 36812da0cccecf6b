//! The best split of one column at a node.
//!
//! `rule`: how splits are judged, which are admissible. `candidate`: a split and the order of splits. `threshold`:
//! ordered columns. `nominal`: nominal columns, with `level_subsets` for sets of levels of two classes under a least
//! branch size. `binary_scan`: splits into two branches, bin by bin. `scratch`: buffers.

mod binary_scan;
mod candidate;
mod level_subsets;
mod nominal;
mod rule;
mod scratch;
mod threshold;

pub(crate) use binary_scan::BinaryScan;
pub(crate) use candidate::{ColumnSplit, Precision, SplitCandidate, SplitOf, better};
pub(crate) use rule::{NodeStats, SplitRule};
pub(crate) use scratch::{Scratch, TwoClassCut};

use super::data::TrainingColumn;
use super::params::NominalSplits;
use super::types::Bin;
use crate::budget::{Stop, Ticker};
use crate::criterion::{ClassImpurity, ClassStats};

impl<I: ClassImpurity> SplitRule<I> {
    /// The best split of a column of any kind from its bins at a node.
    pub fn best(
        &self,
        column: &TrainingColumn,
        bins: &[Bin],
        node: &NodeStats,
        scratch: &mut Scratch,
        ticker: &mut Ticker,
    ) -> Result<Option<SplitCandidate>, Stop> {
        match (bins.first(), bins.last()) {
            (Some(first), Some(last)) if first.code != last.code => {}
            _ => return Ok(None),
        }
        if column.ordered {
            return self.best_of_ordered(column, bins.iter().copied(), node, scratch, ticker);
        }
        let mut with_value = ClassStats::default();
        let known = &self.known(column, bins.iter().copied(), node, &mut with_value);
        match self.nominal {
            NominalSplits::Multiway => self.multiway(bins, known, scratch, ticker),
            NominalSplits::OneVsRest => self.one_vs_rest(bins, known, scratch, ticker),
            NominalSplits::Subsets => self.subsets(bins, known, scratch, ticker),
        }
    }

    /// The best split of an ordered column from its bins, which have at least two codes.
    pub fn best_of_ordered(
        &self,
        column: &TrainingColumn,
        bins: impl Iterator<Item = Bin> + Clone,
        node: &NodeStats,
        scratch: &mut Scratch,
        ticker: &mut Ticker,
    ) -> Result<Option<SplitCandidate>, Stop> {
        let mut with_value = ClassStats::default();
        let known = &self.known(column, bins.clone(), node, &mut with_value);
        Ok(self.best_threshold(bins, known, scratch, ticker)?.map(|split| split.of(column)))
    }

    /// The cases of a node with a value in a column with these bins.
    fn known<'a>(
        &self,
        column: &TrainingColumn,
        bins: impl Iterator<Item = Bin> + Clone,
        node: &NodeStats<'a>,
        with_value: &'a mut ClassStats,
    ) -> NodeStats<'a> {
        let count = if column.is_complete { node.count } else { bins.clone().map(|bin| bin.count).sum::<u64>() };
        if count == node.count {
            return *node;
        }
        *with_value = self.impurity.stats(vec![0; node.stats.masses.len()]);
        bins.for_each(|bin| with_value.masses[bin.class as usize] += bin.mass);
        self.impurity.recompute(with_value);
        NodeStats { stats: with_value, count, ..*node }
    }
}
