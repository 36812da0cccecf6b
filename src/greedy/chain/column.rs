//! A column of a chain: its cases in the order of values, and a summary from which the best split is found.

use smallvec::SmallVec;

use super::RemovedCases;
use super::box_tree::BoxTree;
use super::hull_tree::{AdmissibleCuts, HullTree};
use super::level_sums::LevelSums;
use crate::bits;
use crate::budget::{Stop, Ticker};
use crate::criterion::{ClassImpurity, ClassStats};
use crate::greedy::data::GrowthData;
use crate::greedy::split::{NodeStats, Scratch, SplitCandidate, SplitRule};
use crate::greedy::types::{Bin, Entry, EntryLayout, MISSING, case_of};

/// Values times classes up to which a column is summarised value by value.
pub(super) const FEW_SUMS: usize = 256;

/// A column of a chain.
pub(super) struct ChainColumn<'t> {
    pub id: u32,
    pub entries: ColumnEntries<'t>,
    /// The range of entries of cases that are still at the node; others may be in between.
    pub range: std::ops::Range<usize>,
    summary: ColumnSummary,
}

/// The cases at the start of the chain, in the order of values.
pub(super) enum ColumnEntries<'t> {
    /// The node's part of a presorted column.
    OfNode(&'t mut [Entry]),
    Own(Vec<Entry>),
}

impl ColumnEntries<'_> {
    pub fn all(&self) -> &[Entry] {
        match self {
            ColumnEntries::OfNode(entries) => entries,
            ColumnEntries::Own(entries) => entries,
        }
    }
}

/// How a column is summarised.
#[derive(Clone, Copy)]
pub(super) enum SummaryKind {
    Hulls,
    Boxes,
    Levels,
    Sums,
}

impl SummaryKind {
    /// At most this many bytes for a column with so many values.
    pub fn bytes(self, n_values: usize, n_classes: usize) -> usize {
        match self {
            SummaryKind::Hulls => HullTree::bytes(n_values),
            SummaryKind::Boxes => BoxTree::bytes(n_values, n_classes),
            SummaryKind::Levels => LevelSums::bytes(n_values, n_classes),
            SummaryKind::Sums => FEW_SUMS * 20,
        }
    }
}

/// The masses of the values of a column, so that cases can be removed and the best split found without reading all of
/// them.
enum ColumnSummary {
    Hulls(HullTree),
    Boxes(BoxTree),
    Levels(LevelSums),
    Sums(ValueSums),
}

/// Sums per value, for columns of few values.
struct ValueSums {
    /// Ascending.
    codes: Vec<u32>,
    n_classes: usize,
    /// Mass and number of cases, per code and class.
    sums: Vec<(u64, u64)>,
}

impl ValueSums {
    /// From bins that ascend by code.
    fn new(bins: impl Iterator<Item = Bin>, n_classes: usize) -> Self {
        let (mut codes, mut sums): (Vec<u32>, Vec<(u64, u64)>) = (Vec::new(), Vec::new());
        for bin in bins {
            if codes.last() != Some(&bin.code) {
                codes.push(bin.code);
                sums.resize(sums.len() + n_classes, (0, 0));
            }
            let index = sums.len() - n_classes + bin.class as usize;
            let (mass, count) = &mut sums[index];
            (*mass, *count) = (*mass + bin.mass, *count + bin.count);
        }
        ValueSums { codes, n_classes, sums }
    }

    fn bins(&self) -> SmallVec<[Bin; 64]> {
        let of_code = self.codes.iter().zip(self.sums.chunks_exact(self.n_classes));
        let bins = of_code.flat_map(|(&code, sums)| {
            let bins = (0..).zip(sums).filter(|(_, (_, count))| *count > 0);
            bins.map(move |(class, &(mass, count))| Bin { code, class, mass, count })
        });
        bins.collect()
    }

    fn remove(&mut self, bin: Bin) {
        if let Ok(index) = self.codes.binary_search(&bin.code) {
            let (mass, count) = &mut self.sums[index * self.n_classes + bin.class as usize];
            (*mass, *count) = (*mass - bin.mass, *count - bin.count);
        }
    }
}

/// The cases of a node with a value in a column, from their class masses and their number.
fn known<'a, I: ClassImpurity>(
    impurity: &I,
    node: &NodeStats<'a>,
    (masses, count): (&[u64], u64),
    with_value: &'a mut Option<ClassStats>,
) -> NodeStats<'a> {
    if count == node.count {
        return *node;
    }
    NodeStats { stats: with_value.insert(impurity.stats(masses.to_vec())), count, ..*node }
}

impl<'t> ChainColumn<'t> {
    /// Complexity: O(entries log entries).
    pub fn new(
        id: u32,
        entries: ColumnEntries<'t>,
        kind: SummaryKind,
        table: &GrowthData,
        layout: EntryLayout,
    ) -> Self {
        let bins = || entries.all().iter().map(|&entry| table.bin(layout, entry));
        let summary = match kind {
            SummaryKind::Hulls => ColumnSummary::Hulls(HullTree::new(bins())),
            SummaryKind::Boxes => ColumnSummary::Boxes(BoxTree::new(bins(), table.n_classes)),
            SummaryKind::Levels => ColumnSummary::Levels(LevelSums::new(bins(), table.n_classes)),
            SummaryKind::Sums => ColumnSummary::Sums(ValueSums::new(bins(), table.n_classes)),
        };
        ChainColumn { id, range: 0..entries.all().len(), entries, summary }
    }

    /// The number of cases of a code.
    pub fn count_of(&self, code: u32, n_classes: usize) -> u64 {
        match &self.summary {
            ColumnSummary::Hulls(hulls) => hulls.count_of(code),
            ColumnSummary::Boxes(boxes) => boxes.count_of(code),
            ColumnSummary::Levels(levels) => levels.rows_of(code) as u64,
            ColumnSummary::Sums(sums) => match sums.codes.binary_search(&code) {
                Ok(index) => sums.sums[index * n_classes..][..n_classes].iter().map(|(_, count)| count).sum(),
                Err(_) => 0,
            },
        }
    }

    /// The number of cases with a value.
    pub fn known(&self) -> u64 {
        match &self.summary {
            ColumnSummary::Hulls(hulls) => hulls.all().1,
            ColumnSummary::Boxes(boxes) => boxes.all().1,
            ColumnSummary::Levels(levels) => levels.all().1,
            ColumnSummary::Sums(sums) => sums.sums.iter().map(|(_, count)| count).sum(),
        }
    }

    /// The best split.
    pub fn best<I: ClassImpurity>(
        &self,
        table: &GrowthData,
        rule: &SplitRule<I>,
        node: &NodeStats,
        scratch: &mut Scratch,
        ticker: &mut Ticker,
    ) -> Result<Option<SplitCandidate>, Stop> {
        let coded = &table.columns[self.id as usize];
        let mut with_value = None;
        match &self.summary {
            ColumnSummary::Sums(sums) => rule.best(coded, &sums.bins(), node, scratch, ticker),
            ColumnSummary::Levels(levels) => {
                let known = known(&rule.impurity, node, levels.all(), &mut with_value);
                let Some(bins) = levels.bins() else { return Ok(None) };
                rule.one_vs_rest(&bins, &known, scratch, ticker)
            }
            ColumnSummary::Boxes(boxes) => {
                let known = known(&rule.impurity, node, boxes.all(), &mut with_value);
                Ok(boxes.best(rule, &known, scratch, ticker)?.map(|split| split.of(coded)))
            }
            ColumnSummary::Hulls(hulls) => {
                let (masses, count) = hulls.all();
                let known = known(&rule.impurity, node, (&masses, count), &mut with_value);
                Ok(best_cut(hulls, rule, &known, scratch, ticker)?.map(|split| split.of(coded)))
            }
        }
    }

    /// The cases of the smaller branch of a cut below `above`, if there are at most `most`.
    pub fn smaller_branch(
        &mut self,
        is_here: &[u64],
        layout: EntryLayout,
        above: u32,
        most: usize,
    ) -> Option<RemovedCases> {
        let entries = self.entries.all();
        let is_gone = |place: usize| !bits::get(is_here, case_of(entries[place]) as usize);
        let (mut start, mut end) = (self.range.start, self.range.end);
        while start < end && is_gone(start) {
            start += 1;
        }
        while start < end && is_gone(end - 1) {
            end -= 1;
        }
        let cut = start + entries[start..end].partition_point(|&entry| layout.code(entry) < above);
        // From both ends by turns, so that the work is that of the smaller branch.
        let mut branches = [Vec::new(), Vec::new()];
        let mut step = 0;
        let branch = loop {
            if start + step >= cut {
                break 0;
            }
            if end - step <= cut {
                break 1;
            }
            for (branch, position) in branches.iter_mut().zip([start + step, end - step - 1]) {
                if !is_gone(position) {
                    branch.push(case_of(entries[position]));
                }
            }
            step += 1;
            if branches.iter().all(|branch| branch.len() > most) {
                self.range = start..end;
                return None;
            }
        };
        let [left, right] = branches;
        let cases = if branch == 0 { left } else { right };
        let is_few = cases.len() <= most;
        // Cases that leave are not read again.
        self.range = match branch {
            0 if is_few => cut..end,
            1 if is_few => start..cut,
            _ => start..end,
        };
        is_few.then_some(RemovedCases { cases, branch })
    }

    /// The cases of a level, if there are at most `most`; `None` if the column is not summarised by levels.
    pub fn cases_of_level(&self, is_here: &[u64], layout: EntryLayout, level: u32, most: usize) -> Option<Vec<u32>> {
        match &self.summary {
            ColumnSummary::Levels(levels) if levels.rows_of(level) <= most => {
                let entries = self.entries.all();
                let start = entries.partition_point(|&entry| layout.code(entry) < level);
                let of_level = entries[start..].iter().take_while(|&&entry| layout.code(entry) == level);
                let cases = of_level.map(|&entry| case_of(entry));
                Some(cases.filter(|&case| bits::get(is_here, case as usize)).collect())
            }
            _ => None,
        }
    }

    /// Removes cases from the summary.
    pub fn remove(&mut self, table: &GrowthData, cases: &[u32]) {
        let codes = table.columns[self.id as usize].codes();
        let bins = cases.iter().map(|&case| Bin {
            code: codes[case as usize],
            class: table.classes[case as usize],
            mass: table.mass(case),
            count: table.count(case),
        });
        let bins = bins.filter(|bin| bin.code != MISSING);
        match &mut self.summary {
            ColumnSummary::Hulls(hulls) => {
                bins.for_each(|bin| hulls.remove(bin));
                hulls.update();
            }
            ColumnSummary::Boxes(boxes) => {
                bins.for_each(|bin| boxes.remove(bin));
                boxes.update();
            }
            ColumnSummary::Levels(levels) => bins.for_each(|bin| levels.remove(bin)),
            ColumnSummary::Sums(sums) => bins.for_each(|bin| sums.remove(bin)),
        }
    }
}

/// The best cut of an ordered column of two classes: [`SplitRule::best_threshold`] over the cuts that may be the best.
fn best_cut<I: ClassImpurity>(
    hulls: &HullTree,
    rule: &SplitRule<I>,
    known: &NodeStats,
    scratch: &mut Scratch,
    ticker: &mut Ticker,
) -> Result<Option<SplitCandidate>, Stop> {
    let impurity = &rule.impurity;
    let all = &known.stats.masses;
    let (count, least) = (known.count, rule.min_side().max(1));
    let rounding_error = impurity.rounding_error(known.stats.total, 2);
    if impurity.has_approximation(known.stats.total) {
        // Approximate purities first. Their error is less than this.
        let error = (known.stats.total as f64 * impurity.scale() * 2f64.powi(-28)) as i64 + 4 * rounding_error + 4;
        let of_two = |zeros: u64, ones: u64| {
            impurity.approximate(zeros) + impurity.approximate(ones) - impurity.approximate(zeros + ones)
        };
        let purity = |[zeros, ones]: [u64; 2]| (of_two(zeros, ones) + of_two(all[0] - zeros, all[1] - ones)) as i64;
        let cuts = AdmissibleCuts { count, least, purity };
        let Some(best) = hulls.best(&cuts) else { return Ok(None) };
        if best > of_two(all[0], all[1]) as i64 + error {
            hulls.near(&cuts, best - error, false, &mut scratch.cuts);
            return Ok(rule.best_of_cuts(scratch.cuts.iter().copied(), known));
        }
    }
    let purity = |[zeros, ones]: [u64; 2]| {
        impurity.purity_of_two(zeros, ones) + impurity.purity_of_two(all[0] - zeros, all[1] - ones)
    };
    let base = impurity.purity_of_two(all[0], all[1]);
    let cuts = AdmissibleCuts { count, least, purity };
    let Some(best) = hulls.best(&cuts) else { return Ok(None) };
    if best <= base + rounding_error {
        // There may be a gain that is hidden by rounding.
        return match rounding_error == 0 || hulls.is_even() {
            true => Ok(None),
            false => rule.best_threshold(hulls.bins(), known, scratch, ticker),
        };
    }
    // Rounding can displace a cut by the rounding error.
    hulls.near(&cuts, best - 4 * rounding_error, rounding_error == 0, &mut scratch.cuts);
    Ok(rule.best_of_cuts(scratch.cuts.iter().copied(), known))
}
