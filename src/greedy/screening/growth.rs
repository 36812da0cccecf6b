//! The best split of a node in the growth of one tree, by screening.

use smallvec::SmallVec;

use super::approximate::MARGIN;
use super::{Screen, ScreenedColumn, ScreenedNode};
use crate::budget::{Stop, Ticker};
use crate::criterion::ClassImpurity;
use crate::greedy::histogram::Histogram;
use crate::greedy::split::{NodeStats, Scratch, SplitCandidate, SplitOf, better};

/// Buffers for exact splits.
pub(in crate::greedy) struct ExactBuffers<'a> {
    pub histogram: &'a mut Histogram,
    pub scratch: &'a mut Scratch,
}

impl Screen {
    /// The best split of a node over some columns; ties: the first column. Only columns that may be the best are
    /// evaluated exactly, so the gain may be screened. Columns that are constant at the node are removed.
    pub fn best_of_node<I: ClassImpurity>(
        &mut self,
        node: &ScreenedNode<I>,
        columns: &mut Vec<u32>,
        mut buffers: ExactBuffers,
        ticker: &mut Ticker,
    ) -> Result<Option<SplitOf>, Stop> {
        let all: SmallVec<[usize; 32]> = columns.iter().map(|&column| column as usize).collect();
        let mut constant: SmallVec<[u32; 32]> = SmallVec::new();
        let saw = |column: usize, screened: &ScreenedColumn| {
            if matches!(screened, ScreenedColumn::Constant) {
                constant.push(column as u32);
            }
        };
        let (mut best, outcome) = self.survey(node, &all, buffers.scratch, ticker, saw);
        outcome?;
        let relative_gain = |(_, split): &SplitOf| node.rule.relative_gain(split, node.stats);
        let least = best.as_ref().map_or(f32::NEG_INFINITY, |best| relative_gain(best) - MARGIN);
        let near = self.gains.iter().filter(|(_, gain)| *gain >= least).map(|(column, _)| *column as usize);
        let mut in_doubt: SmallVec<[usize; 32]> = near.chain(self.unclear.iter().copied()).collect();
        // A screened gain cannot be compared with those of other columns.
        if !in_doubt.is_empty()
            && let Some((column, _)) = best.take_if(|(_, split)| split.is_screened())
        {
            in_doubt.push(column as usize);
        }
        for column in in_doubt {
            let split = self.exact_split(node, column, &mut buffers, ticker)?;
            best = better(best, split.map(|split| (column as u32, split)));
        }
        columns.retain(|column| !constant.contains(column));
        Ok(best)
    }

    /// The best split of a column at the node entered, with its exact gain.
    pub fn exact_split<I: ClassImpurity>(
        &mut self,
        node: &ScreenedNode<I>,
        column: usize,
        buffers: &mut ExactBuffers,
        ticker: &mut Ticker,
    ) -> Result<Option<SplitCandidate>, Stop> {
        if let Some(split) = self.evaluate(node, column, buffers.scratch, ticker, false)? {
            return Ok(split.candidate());
        }
        let ScreenedNode { rule, table, cases, stats, count } = *node;
        buffers.histogram.enter(table, cases);
        buffers.histogram.collect(table, column, cases);
        let (coded, bins) = (&table.columns[column], &buffers.histogram.bins);
        rule.best(coded, bins, &NodeStats::all(stats, count), buffers.scratch, ticker)
    }
}
