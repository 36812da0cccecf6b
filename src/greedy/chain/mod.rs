//! Chains of nodes: if split after split takes only a few cases away, the columns of the large branch are updated
//! rather than partitioned and read anew. A tree with as many nodes as cases then takes O(n log^2 n) per column rather
//! than O(n^2).
//!
//! The splits are those that all cases would give: columns are summarised in a way that tells which splits may be the
//! best (`hull_tree`, `box_tree`), and these few are compared as at other nodes. Only nodes of whole cases are in
//! chains, and only if each column can be summarised: ordered columns of a few classes, nominal columns whose levels
//! are split off one by one (`level_sums`), and columns of few values. `column`: a column of a chain.

mod box_tree;
mod column;
mod hull_tree;
mod level_sums;

use super::case_set::CaseSet;
use super::data::GrowthData;
use super::params::NominalSplits;
use super::split::{NodeStats, Scratch, SplitOf, SplitRule, better};
use super::types::{Bin, CodedTest, Entry, EntryLayout, MISSING, case_of};
use crate::bits;
use crate::budget::{Reserved, Stop, Ticker};
use crate::criterion::ClassImpurity;
use column::{ChainColumn, ColumnEntries, FEW_SUMS, SummaryKind};

/// Where chains begin and end.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChainLimits {
    /// A chain begins after this many splits with a small branch.
    pub links: u32,
    /// Nodes of fewer rows are read anew: that takes no longer.
    pub few_rows: usize,
    /// A branch is small if less than one in this many of the cases takes it.
    pub small: usize,
}

impl Default for ChainLimits {
    fn default() -> Self {
        ChainLimits { links: 12, few_rows: 4096, small: 32 }
    }
}

/// The number of splits with a small branch that lead to a node; `None` if the node cannot be in a chain.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ChainLinks(Option<u32>);

impl ChainLinks {
    /// For the root.
    pub fn none() -> Self {
        ChainLinks(Some(0))
    }

    /// For a branch with `rows` of the `all` rows of its node.
    pub fn of_branch(self, limits: ChainLimits, rows: usize, all: usize) -> Self {
        // A branch of fractional cases may have them all.
        let is_large = all.saturating_sub(rows) * limits.small < all;
        ChainLinks(match self.0 {
            Some(links) if is_large => Some(links + 1),
            // A node below one that could not be in a chain cannot be either, unless it is much smaller.
            None if is_large => None,
            _ => Some(0),
        })
    }

    /// Whether a chain begins at a node.
    pub fn makes_chain(self, limits: ChainLimits, rows: usize) -> bool {
        self.0.is_some_and(|links| links >= limits.links) && rows >= limits.few_rows
    }

    /// For a node that could not be in a chain.
    pub fn refused() -> Self {
        ChainLinks(None)
    }
}

/// The columns of a node in a chain.
pub(super) struct Chain<'t> {
    /// A bit per case of the table: whether it is at the node.
    is_here: Vec<u64>,
    rows: usize,
    columns: Vec<ChainColumn<'t>>,
    layout: EntryLayout,
    limits: ChainLimits,
    _held: Reserved<'t>,
}

/// The columns of a node of whole cases.
pub(super) struct NodeColumns<'n, 't> {
    pub presorted: &'n mut Vec<(u32, &'t mut [Entry])>,
    /// Other columns; and the cases, which are there only if there are other columns.
    pub others: &'n [u32],
    pub cases: &'n CaseSet,
    pub rows: usize,
}

/// What the parameters say of the columns of a chain.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChainRule {
    pub layout: EntryLayout,
    pub limits: ChainLimits,
    pub nominal: NominalSplits,
    /// Whether purities are convex functions of class masses.
    pub is_convex: bool,
}

impl ChainRule {
    /// The summary of a column with so many values at the node, if it can be summarised.
    fn kind(&self, table: &GrowthData, column: u32, n_values: usize, rows: usize) -> Option<SummaryKind> {
        let coded = &table.columns[column as usize];
        let k = table.n_classes;
        match () {
            () if n_values * k <= FEW_SUMS => Some(SummaryKind::Sums),
            () if !self.layout.fits(coded.n_codes) => None,
            () if coded.ordered && k == 2 => Some(SummaryKind::Hulls),
            () if coded.ordered && k <= box_tree::MOST_CLASSES && self.is_convex => Some(SummaryKind::Boxes),
            () if !coded.ordered && self.nominal == NominalSplits::OneVsRest => {
                (n_values * k <= 16 * rows).then_some(SummaryKind::Levels)
            }
            () => None,
        }
    }
}

/// The cases that leave a chain at a split.
pub(super) struct RemovedCases {
    /// Ascending.
    pub cases: Vec<u32>,
    /// The branch that they take.
    pub branch: usize,
}

/// The columns of the last node of a chain.
pub(super) struct EndedChain<'t> {
    pub presorted: Vec<(u32, &'t mut [Entry])>,
    pub others: Vec<u32>,
    pub cases: CaseSet,
}

impl<'t> Chain<'t> {
    /// Takes the columns of a node. They stay there, and there is no chain, if some column cannot be summarised or
    /// there is no memory for it. Fails if the budget is exhausted otherwise.
    ///
    /// Complexity: O(rows log rows) per column.
    pub fn new(
        table: &GrowthData,
        rule: ChainRule,
        columns: NodeColumns<'_, 't>,
        ticker: &mut Ticker<'t>,
    ) -> Result<Option<Self>, Stop> {
        let budget = ticker.budget();
        let NodeColumns { presorted, others, cases, rows } = columns;
        let layout = rule.layout;
        let of_presorted = presorted.iter().map(|(id, entries)| (*id, layout.n_codes(entries), false));
        let of_other = |&id: &u32| (id, (table.columns[id as usize].n_codes as usize).min(rows), true);
        let mut kinds: Vec<SummaryKind> = Vec::new();
        let (mut bytes, mut codes) = (bits::words(table.n_cases) * 8, 0);
        for (id, n_values, is_other) in of_presorted.chain(others.iter().map(of_other)) {
            let Some(kind) = rule.kind(table, id, n_values, rows) else { return Ok(None) };
            // Codes of all cases are computed on first use.
            codes += if table.columns[id as usize].has_codes() { 0 } else { 4 * table.n_cases };
            bytes += 200 + if is_other { 8 * rows } else { 0 } + kind.bytes(n_values, table.n_classes);
            kinds.push(kind);
        }
        let Ok(held) = budget.reserve(bytes as u64) else { return Ok(None) };
        // The table keeps codes once they are computed.
        let Ok(codes) = budget.reserve(codes as u64) else { return Ok(None) };
        codes.keep();
        let mut is_here = vec![0; bits::words(table.n_cases)];
        match presorted.first() {
            _ if !others.is_empty() => cases.cases().iter().for_each(|&case| bits::set(&mut is_here, case as usize)),
            Some((_, entries)) => entries.iter().for_each(|&entry| bits::set(&mut is_here, case_of(entry) as usize)),
            None => return Ok(None),
        }
        let own = |&id: &u32| {
            let codes = table.columns[id as usize].codes();
            let known = cases.cases().iter().filter(|&&case| codes[case as usize] != MISSING);
            let entry = |&case: &u32| layout.entry(codes[case as usize], table.classes[case as usize], case);
            let mut entries: Vec<Entry> = known.map(entry).collect();
            entries.sort_unstable();
            (id, ColumnEntries::Own(entries))
        };
        let of_node = std::mem::take(presorted).into_iter().map(|(id, entries)| (id, ColumnEntries::OfNode(entries)));
        let mut columns: Vec<ChainColumn> = Vec::with_capacity(kinds.len());
        for ((id, entries), kind) in of_node.chain(others.iter().map(own)).zip(kinds) {
            ticker.tick(30 * rows)?;
            columns.push(ChainColumn::new(id, entries, kind, table, layout));
        }
        columns.sort_by_key(|column| column.id);
        Ok(Some(Chain { is_here, rows, columns, layout, limits: rule.limits, _held: held }))
    }

    /// All columns, ascending.
    pub fn columns(&self) -> Vec<u32> {
        self.columns.iter().map(|column| column.id).collect()
    }

    /// Whether the node is so small that the chain should end.
    pub fn is_short(&self) -> bool {
        self.rows < self.limits.few_rows
    }

    /// The best split of the node; ties: the first column.
    pub fn choose<I: ClassImpurity>(
        &self,
        table: &GrowthData,
        rule: &SplitRule<I>,
        node: &NodeStats,
        scratch: &mut Scratch,
        ticker: &mut Ticker,
    ) -> Result<Option<SplitOf>, Stop> {
        let mut best: Option<SplitOf> = None;
        for column in &self.columns {
            if best.as_ref().is_some_and(|(_, split)| rule.is_perfect(split, node.stats)) {
                break;
            }
            ticker.tick(2000)?;
            let split = column.best(table, rule, node, scratch, ticker)?;
            best = better(best, split.map(|split| (column.id, split)));
        }
        Ok(best)
    }

    /// Removes the cases that take the smaller branch of a split of a node with `count` cases from all columns. `None`,
    /// and nothing is removed, if they are too many or some case has no value.
    pub fn remove_small_branch(
        &mut self,
        table: &GrowthData,
        id: u32,
        test: &CodedTest,
        count: u64,
    ) -> Option<RemovedCases> {
        let most = self.rows / self.limits.small;
        let (is_here, layout) = (&self.is_here, self.layout);
        let column = self.columns.iter_mut().find(|column| column.id == id)?;
        if column.known() != count {
            return None;
        }
        let coded = &table.columns[id as usize];
        let RemovedCases { mut cases, branch } = match test {
            CodedTest::AtMost { above, .. } => column.smaller_branch(is_here, layout, *above, most)?,
            CodedTest::Is(own) if coded.ordered && Some(*own) == coded.own => {
                let removed = column.smaller_branch(is_here, layout, *own, most)?;
                RemovedCases { branch: 1 - removed.branch, ..removed }
            }
            CodedTest::Is(level) => {
                RemovedCases { cases: column.cases_of_level(is_here, layout, *level, most)?, branch: 0 }
            }
            _ => return None,
        };
        cases.sort_unstable();
        cases.iter().for_each(|&case| bits::clear(&mut self.is_here, case as usize));
        self.rows -= cases.len();
        for column in &mut self.columns {
            column.remove(table, &cases);
        }
        Some(RemovedCases { cases, branch })
    }

    /// The bins of the cases of the node with a value in a column. Complexity: O(rows at the start of the chain).
    pub fn bins(&self, table: &GrowthData, id: u32) -> impl Iterator<Item = Bin> {
        let entries = self.columns.iter().filter(move |column| column.id == id);
        let entries = entries.flat_map(|column| &column.entries.all()[column.range.clone()]);
        let here = entries.filter(|&&entry| bits::get(&self.is_here, case_of(entry) as usize));
        here.map(|&entry| table.bin(self.layout, entry))
    }

    /// Whether some case has a missing value in a column where that is a value of its own.
    pub fn has_own(&self, table: &GrowthData, id: u32) -> bool {
        let Some(own) = table.columns[id as usize].own else { return false };
        self.columns.iter().filter(|column| column.id == id).any(|column| column.count_of(own, table.n_classes) > 0)
    }

    /// Gives back the columns of the last node, except for constant ones. Complexity: O(rows at the start of the chain)
    /// per column.
    pub fn end(self) -> EndedChain<'t> {
        let mut ended = EndedChain { presorted: Vec::new(), others: Vec::new(), cases: CaseSet::default() };
        for column in self.columns {
            match column.entries {
                ColumnEntries::Own(_) => ended.others.push(column.id),
                ColumnEntries::OfNode(entries) => {
                    let entries = &mut entries[column.range];
                    let mut n = 0;
                    for position in 0..entries.len() {
                        let entry = entries[position];
                        entries[n] = entry;
                        n += usize::from(bits::get(&self.is_here, case_of(entry) as usize));
                    }
                    let entries = &mut entries[..n];
                    if !self.layout.is_constant(entries) {
                        ended.presorted.push((column.id, entries));
                    }
                }
            }
        }
        if !ended.others.is_empty() {
            ended.cases = CaseSet::whole(bits::ones(&self.is_here).map(|case| case as u32).collect());
        }
        ended
    }
}

#[cfg(test)]
mod tests;
