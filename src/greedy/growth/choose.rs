//! The best split of a node while a tree grows.

use rayon::prelude::*;

use super::workspace::Workspace;
use super::{Grower, OpenNode};
use crate::budget::Ticker;
use crate::criterion::ClassImpurity;
use crate::greedy::chain::{Chain, ChainLinks, ChainRule, NodeColumns};
use crate::greedy::screening::{ExactBuffers, ScreenedNode};
use crate::greedy::split::{NodeStats, Precision, SplitCandidate, SplitOf, better};
use crate::greedy::types::{Bin, CodedTest, Entry};

/// Columns that threads evaluate before the best of them is kept.
const COLUMNS_AT_ONCE: usize = 64;

fn chunk<T>(all: &[T], start: usize) -> &[T] {
    &all[start.min(all.len())..(start + COLUMNS_AT_ONCE).min(all.len())]
}

impl<'t, I: ClassImpurity> Grower<'t, I> {
    /// The best split of a node; ties: the first column. `None` also if growth has to stop. Columns that are constant
    /// at the node, and so below it, are removed from the node.
    pub(super) fn choose(
        &self,
        node: &mut OpenNode<'t>,
        workspace: &mut Workspace,
        ticker: &mut Ticker<'t>,
    ) -> Option<SplitOf> {
        if self.has_stopped() {
            return None;
        }
        if let Some(split) = self.choose_in_chain(node, workspace, ticker) {
            return split;
        }
        let rule = self.rule(node);
        let (stats, set, n_cells) = (&node.stats, &node.set, 2 * node.rows);
        let all = NodeStats::all(stats, node.count);
        // Once the budget is exhausted, no split is found.
        let of_presorted = |(column, entries): &(u32, &mut [Entry]), workspace: &mut Workspace, ticker: &mut Ticker| {
            self.unless_stopped(ticker.tick(n_cells))?;
            let scratch = &mut workspace.scratch;
            let split = rule.best_presorted(self.table, self.layout, entries, &all, scratch, ticker);
            self.unless_stopped(split)?.map(|split| (*column, split))
        };
        // The split, and whether the column varies. The histogram has entered the node.
        let of_other = |&column: &u32, workspace: &mut Workspace, ticker: &mut Ticker| {
            if self.unless_stopped(ticker.tick(n_cells)).is_none() {
                return (None, true);
            }
            workspace.histogram.collect(self.table, column as usize, set);
            let (coded, bins) = (&self.table.columns[column as usize], &workspace.histogram.bins);
            let split = self.unless_stopped(rule.best(coded, bins, &all, &mut workspace.scratch, ticker)).flatten();
            let varies = bins.first().map(|bin| bin.code) != bins.last().map(|bin| bin.code);
            (split.map(|split| (column, split)), varies)
        };
        if self.is_parallel(node) {
            let of_presorted = |column| {
                self.with_workspace(|workspace| of_presorted(column, workspace, &mut Ticker::new(self.budget)))
            };
            let of_other = |column| {
                self.with_workspace(|workspace| {
                    workspace.histogram.enter(self.table, set);
                    of_other(column, workspace, &mut Ticker::new(self.budget))
                })
            };
            // Only so many at a time, since exact gains hold class masses. Each kind of column is folded in the order
            // that one thread has.
            let (mut best_presorted, mut best_other) = (None, None);
            let mut varies = Vec::with_capacity(node.others.len());
            for start in (0..node.presorted.len().max(node.others.len())).step_by(COLUMNS_AT_ONCE) {
                let (presorted, others) = rayon::join(
                    || chunk(&node.presorted, start).par_iter().map(of_presorted).collect::<Vec<_>>(),
                    || chunk(&node.others, start).par_iter().map(of_other).collect::<Vec<_>>(),
                );
                best_presorted = presorted.into_iter().fold(best_presorted, better);
                for (split, varies_here) in others {
                    best_other = better(best_other, split);
                    varies.push(varies_here);
                }
            }
            let mut varies = varies.into_iter();
            node.others.retain(|_| varies.next() != Some(false));
            return better(best_presorted, best_other).filter(|_| !self.has_stopped());
        }
        if set.has_fractions()
            && let Some(screened) = ScreenedNode::new(rule, self.table, set, stats, node.count)
        {
            let buffers = ExactBuffers { histogram: &mut workspace.histogram, scratch: &mut workspace.scratch };
            let split = workspace.screen.best_of_node(&screened, &mut node.others, buffers, ticker);
            return self.unless_stopped(split).flatten().filter(|_| !self.has_stopped());
        }
        // A perfect split can only be equalled, which matters for earlier columns alone.
        let is_perfect = |(_, split): &SplitOf| rule.is_perfect(split, stats);
        let mut best = None;
        for column in &node.presorted {
            best = better(best, of_presorted(column, workspace, ticker));
            if self.has_stopped() {
                return None;
            }
            if best.as_ref().is_some_and(is_perfect) {
                break;
            }
        }
        if !node.others.is_empty() {
            workspace.histogram.enter(self.table, set);
        }
        node.others.retain(|column| {
            if self.has_stopped() || best.as_ref().is_some_and(|best| is_perfect(best) && best.0 < *column) {
                return true;
            }
            let (split, varies) = of_other(column, workspace, ticker);
            best = better(best.take(), split);
            varies
        });
        best.filter(|_| !self.has_stopped())
    }

    /// [`Grower::choose`] at a node of a chain, or one that begins here; `None` at other nodes.
    fn choose_in_chain(
        &self,
        node: &mut OpenNode<'t>,
        workspace: &mut Workspace,
        ticker: &mut Ticker<'t>,
    ) -> Option<Option<SplitOf>> {
        let rule = self.rule(node);
        if node.chain.is_none() && node.whole && node.links.makes_chain(self.chains, node.rows) {
            let OpenNode { presorted, others, set: cases, rows, .. } = node;
            let columns = NodeColumns { presorted, others, cases, rows: *rows };
            let (nominal, is_convex) = (rule.nominal, rule.is_convex);
            let chain_rule = ChainRule { layout: self.layout, limits: self.chains, nominal, is_convex };
            match Chain::new(self.table, chain_rule, columns, ticker) {
                Ok(Some(chain)) => (node.chain, node.set) = (Some(Box::new(chain)), Default::default()),
                Ok(None) => node.links = ChainLinks::refused(),
                Err(stop) => return Some(self.unless_stopped(Err(stop))),
            }
        }
        let chain = node.chain.as_ref()?;
        let all = NodeStats::all(&node.stats, node.count);
        let split = chain.choose(self.table, rule, &all, &mut workspace.scratch, ticker);
        Some(self.unless_stopped(split).flatten())
    }

    /// The split chosen for a node with its exact gain, to be compared with those of other nodes: if it was screened,
    /// or if gains are rounded, which at nodes of fractional cases happens in another way than at nodes of whole ones.
    /// The screen is still at this node. `None` if growth has to stop.
    pub(super) fn with_exact_gain(
        &self,
        node: &OpenNode,
        column: u32,
        split: SplitCandidate,
        workspace: &mut Workspace,
        ticker: &mut Ticker,
    ) -> Option<SplitCandidate> {
        let rule = self.rule(node);
        let screened = ScreenedNode::new(rule, self.table, &node.set, &node.stats, node.count);
        let split = match screened.filter(|_| split.is_screened()) {
            Some(screened) => {
                let mut buffers = ExactBuffers { histogram: &mut workspace.histogram, scratch: &mut workspace.scratch };
                let exact = workspace.screen.exact_split(&screened, column as usize, &mut buffers, ticker);
                self.unless_stopped(exact)?.unwrap_or(split)
            }
            None => split,
        };
        let is_complete = || self.table.columns.iter().all(|coded| coded.is_complete);
        if split.exact_gain().is_some() || !self.rules[0].impurity.is_rounded() && is_complete() {
            return Some(split);
        }
        // The masses are summed up here, and kept with the gain.
        let n_masses = self.table.n_classes * split.test.n_branches();
        self.unless_stopped(ticker.tick(2 * node.rows + n_masses))?;
        let _held = self.unless_stopped(self.budget.reserve(16 * n_masses as u64))?;
        let branches = self.branch_masses(node, column, &split.test, workspace);
        let whole: Vec<u64> =
            (0..self.table.n_classes).map(|class| branches.iter().map(|masses| masses[class]).sum()).collect();
        let exact = rule.impurity.exact_gain(branches.iter().map(|masses| &masses[..]), &whole);
        let exact = exact.map(|gain| Precision::Exact { rounding_error: 0, gain: gain.into() });
        Some(SplitCandidate { precision: exact.unwrap_or(Precision::Fixed), ..split })
    }

    /// Class masses of the branches of a split, of the cases with a value. Complexity: O(cases + branches x classes).
    fn branch_masses(
        &self,
        node: &OpenNode,
        column: u32,
        test: &CodedTest,
        workspace: &mut Workspace,
    ) -> Vec<Vec<u64>> {
        let mut branches = vec![vec![0; self.table.n_classes]; test.n_branches()];
        let mut add = |bin: Bin| {
            let branch = match test {
                CodedTest::AtMost { below, .. } => usize::from(bin.code > *below),
                CodedTest::Is(same) => usize::from(bin.code != *same),
                CodedTest::In(codes) => usize::from(codes.binary_search(&bin.code).is_err()),
                CodedTest::Each(codes) => codes.binary_search(&bin.code).expect("every code at the node has a branch"),
            };
            branches[branch][bin.class as usize] += bin.mass;
        };
        if let Some(chain) = &node.chain {
            chain.bins(self.table, column).for_each(add);
        } else if let Some((_, entries)) = node.presorted.iter().find(|(live, _)| *live == column) {
            entries.iter().for_each(|&entry| add(self.table.bin(self.layout, entry)));
        } else {
            workspace.histogram.enter(self.table, &node.set);
            workspace.histogram.collect(self.table, column as usize, &node.set);
            workspace.histogram.bins.iter().for_each(|&bin| add(bin));
        }
        branches
    }
}
