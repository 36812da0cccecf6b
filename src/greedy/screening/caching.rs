//! Screened columns in the cache of the splits of a case set.

use super::{Screen, ScreenedColumn, ScreenedNode};
use crate::bits;
use crate::budget::{Stop, Ticker};
use crate::criterion::ClassImpurity;
use crate::greedy::split::{Scratch, SplitCandidate, SplitOf};
use crate::greedy::split_cache::SplitCache;

/// The columns of a case set that are about to enter its cache.
#[derive(Debug, Default)]
pub(in crate::greedy) struct Entering {
    /// Columns to be evaluated exactly, ascending.
    pub columns: Vec<usize>,
    /// Columns with splits, to be ranked.
    pub added: Vec<SplitOf>,
}

impl Screen {
    /// Screens columns of a case set: `entering` keeps those to be evaluated exactly, and gets the best split with its
    /// ties. Returns the number of columns that were screened, and why the survey ended early, if it did.
    pub fn survey_into<I: ClassImpurity>(
        &mut self,
        cache: &mut SplitCache,
        node: &ScreenedNode<I>,
        entering: &mut Entering,
        scratch: &mut Scratch,
        ticker: &mut Ticker,
    ) -> (u64, Result<(), Stop>) {
        let mut n_screened = 0;
        let saw = |column: usize, screened: &ScreenedColumn| {
            n_screened += 1;
            if !matches!(screened, ScreenedColumn::Unclear) {
                bits::set(&mut cache.evaluated, column);
            }
            if matches!(screened, ScreenedColumn::Constant) {
                bits::set(&mut cache.constant, column);
            }
        };
        let Entering { columns, added } = entering;
        let (best, outcome) = self.survey(node, columns, scratch, ticker, saw);
        added.extend(best);
        added.append(&mut self.ties);
        columns.clone_from(&self.unclear);
        columns.iter().for_each(|&column| bits::clear(&mut cache.evaluated, column));
        cache.pending.extend(&self.gains);
        (n_screened, outcome)
    }
}

impl SplitCache {
    /// Moves the pending columns that may be the best of those allowed to `columns`, ascending, to be evaluated
    /// exactly.
    pub(in crate::greedy) fn take_pending(&mut self, is_allowed: impl Fn(u32) -> bool, columns: &mut Vec<usize>) {
        let evaluated = &mut self.evaluated;
        self.pending.take_best(is_allowed, |column| {
            columns.push(column as usize);
            bits::clear(evaluated, column as usize);
        });
        columns.sort_unstable();
    }

    /// Moves the columns with a screened split that cannot be told from another split, of which at least one is added,
    /// to `columns`, ascending, to be evaluated exactly. The first `n_ties` of those added tie with each other.
    pub(in crate::greedy) fn take_doubtful(&mut self, entering: &mut Entering, n_ties: usize) {
        let Entering { columns, added } = entering;
        let splits = added.iter().map(|(_, split)| split);
        if !splits.chain(&self.splits).any(SplitCandidate::is_screened) {
            return;
        }
        let mut compare = |(a, split): (u32, &SplitCandidate), (b, other): (u32, &SplitCandidate)| {
            if split.is_in_doubt(other) {
                let screened = [(a, split), (b, other)].into_iter().filter(|(_, split)| split.is_screened());
                columns.extend(screened.map(|(column, _)| column as usize));
            }
        };
        for (position, (column, split)) in added.iter().enumerate() {
            let next = if position < n_ties { n_ties } else { position + 1 };
            added[next..].iter().for_each(|(other, of_other)| compare((*column, split), (*other, of_other)));
            let ranked = self.ranked.iter().map(|ranked| ranked.column).zip(&self.splits);
            ranked.for_each(|other| compare((*column, split), other));
        }
        if columns.is_empty() {
            return;
        }
        columns.sort_unstable();
        columns.dedup();
        added.retain(|(column, _)| !columns.contains(&(*column as usize)));
        for &column in &*columns {
            bits::clear(&mut self.evaluated, column);
            if let Some(position) = self.ranked.iter().position(|ranked| ranked.column as usize == column) {
                self.ranked.remove(position);
                self.splits.remove(position);
            }
        }
    }
}
