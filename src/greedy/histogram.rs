//! The masses of one column over the cases of a node, in the order of its codes.
//!
//! There are four ways to collect them; the size of the node relative to the number of codes decides. All give the same
//! masses per code.

use super::case_set::CaseSet;
use super::data::{GrowthData, TrainingColumn, Weights};
use super::types::{Bin, EntryLayout, MISSING, case_of};

/// The bins of one column at a node, and buffers kept between nodes.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    pub bins: Vec<Bin>,
    /// Per case of the node: its class, its mass, and the cases that it stands for if that is not its mass.
    classes: Vec<u32>,
    masses: Vec<u64>,
    counts: Vec<u64>,
    /// Sums of masses, and of counts, per code and class.
    sums: Vec<u64>,
    count_sums: Vec<u64>,
    keys: Vec<u64>,
    /// Keys of four bytes, or counts per code and class.
    short: Vec<u32>,
    /// Per case of the table: whether it is in the node, between [`Histogram::enter_for_keys`] and
    /// [`Histogram::leave`].
    is_here: Vec<bool>,
    /// Where the cases of each code begin; after the pass, where they end.
    ends: Vec<u32>,
    /// Per case of the table: one more than its position in the node; 0 for cases of other nodes.
    positions: Vec<u32>,
}

/// Sums per code and class are used up to this many of them for each case.
const SUMS_PER_CASE: usize = 3;
/// Cases are put in buckets, one per code, up to this many buckets for each case.
const BUCKETS_PER_CASE: usize = 2;
/// The presorted column is filtered if the node has at least one case in this many of the table.
const FILTER: usize = 10;

impl Histogram {
    /// As [`Histogram::enter`], also for [`Histogram::keys`]; followed by [`Histogram::leave`].
    pub fn enter_for_keys(&mut self, table: &GrowthData, node: &CaseSet) {
        self.enter(table, node);
        self.is_here.resize(table.n_cases, false);
        node.cases().iter().for_each(|&case| self.is_here[case as usize] = true);
    }

    /// Reads classes and masses of the cases of a node, for all of its columns. Complexity: O(cases).
    pub fn enter(&mut self, table: &GrowthData, node: &CaseSet) {
        self.classes.clear();
        self.masses.clear();
        self.counts.clear();
        self.classes.extend(node.cases().iter().map(|&case| table.classes[case as usize]));
        let has_counts = matches!(table.weights, Weights::Masses(..));
        node.each(table, |_, mass, count| {
            self.masses.push(mass);
            if has_counts {
                self.counts.push(count);
            }
        });
    }

    /// The upper halves of the entries ([`EntryLayout`]) of the cases of a node, ascending; cases without a value are
    /// left out. Only for ordered columns of many codes, if every case is whole and of mass one, after
    /// [`Histogram::enter_for_keys`].
    ///
    /// Complexity: O(cases log cases), or O(rows of the table) where cases are many.
    pub fn keys(&mut self, table: &GrowthData, column: usize, node: &CaseSet, layout: EntryLayout) -> Option<&[u32]> {
        let coded = &table.columns[column];
        let (n, n_codes) = (node.cases().len(), coded.n_codes as usize);
        let is_unit = table.has_unit_weights() && !node.has_fractions();
        if !is_unit || !coded.ordered || n_codes * table.n_classes <= SUMS_PER_CASE * n + 16 {
            return None;
        }
        self.short.clear();
        if coded.own.is_none() && n * (usize::BITS - n.leading_zeros()) as usize >= table.n_cases {
            let entries = coded.entries(layout, &table.classes);
            self.short.resize(n + 1, 0);
            let mut end = 0;
            for &entry in entries {
                // Always written, and overwritten if the case is not in the node: this avoids an unpredictable branch.
                self.short[end] = (entry >> 32) as u32;
                end += usize::from(self.is_here[case_of(entry) as usize]);
            }
            self.short.truncate(end);
        } else {
            let codes = coded.codes();
            let keys = node.cases().iter().zip(&self.classes);
            let keys = keys.map(|(&case, &class)| (codes[case as usize], class));
            let key = |(code, class): (u32, u32)| layout.upper(code, class);
            match coded.is_complete {
                true => self.short.extend(keys.map(key)),
                false => self.short.extend(keys.filter(|&(code, _)| code != MISSING).map(key)),
            }
            self.short.sort_unstable();
        }
        Some(&self.short)
    }

    /// The number of cases per code and class, code after code; cases without a value are left out. Only for columns of
    /// few codes, if every case is whole and of mass one.
    ///
    /// Complexity: O(cases + codes x classes).
    pub fn counts_by_code(&mut self, table: &GrowthData, column: usize, node: &CaseSet) -> Option<&[u32]> {
        let coded = &table.columns[column];
        let (n, k, n_codes) = (node.cases().len(), table.n_classes, coded.n_codes as usize);
        let is_unit = table.has_unit_weights() && !node.has_fractions();
        if !is_unit || n_codes * k > SUMS_PER_CASE * n + 16 {
            return None;
        }
        self.short.clear();
        self.short.resize(n_codes * k, 0);
        let codes = coded.codes();
        for (&case, &class) in node.cases().iter().zip(&self.classes) {
            let code = codes[case as usize];
            if code != MISSING {
                self.short[code as usize * k + class as usize] += 1;
            }
        }
        Some(&self.short)
    }

    /// Forgets the node.
    pub fn leave(&mut self, node: &CaseSet) {
        node.cases().iter().for_each(|&case| self.is_here[case as usize] = false);
    }

    /// Fills [`Histogram::bins`] with the bins of a column at the node entered, ascending by code. Cases without a
    /// value are left out.
    ///
    /// Complexity: O(cases + codes x classes) or O(cases + codes) where codes are few, O(rows of the table) where cases
    /// are many, else O(cases log cases).
    pub fn collect(&mut self, table: &GrowthData, column: usize, node: &CaseSet) {
        self.bins.clear();
        let coded = &table.columns[column];
        let (n, n_codes) = (node.cases().len(), coded.n_codes as usize);
        if n_codes * table.n_classes <= SUMS_PER_CASE * n + 16 {
            self.count(table.n_classes, coded, node);
        } else if n_codes <= BUCKETS_PER_CASE * n + 16 {
            self.bucket(coded, node);
        } else if coded.ordered && coded.own.is_none() && n * FILTER >= table.n_cases {
            self.filter(table, coded, node);
        } else {
            self.sort(coded, node);
        }
    }

    fn count(&mut self, k: usize, coded: &TrainingColumn, node: &CaseSet) {
        let codes = coded.codes();
        let has_counts = !self.counts.is_empty();
        let n_sums = coded.n_codes as usize * k;
        for (sums, len) in [(&mut self.sums, n_sums), (&mut self.count_sums, if has_counts { n_sums } else { 0 })] {
            sums.clear();
            sums.resize(len, 0);
        }
        for (position, &case) in node.cases().iter().enumerate() {
            let code = codes[case as usize];
            if code != MISSING {
                let at = code as usize * k + self.classes[position] as usize;
                self.sums[at] += self.masses[position];
                if has_counts {
                    self.count_sums[at] += self.counts[position];
                }
            }
        }
        let counts = if has_counts { &self.count_sums } else { &self.sums };
        for (code, (sums, counts)) in (0..).zip(self.sums.chunks_exact(k).zip(counts.chunks_exact(k))) {
            let bins = (0..).zip(sums.iter().zip(counts)).filter(|(_, (_, count))| **count > 0);
            self.bins.extend(bins.map(|(class, (&mass, &count))| Bin { code, class, mass, count }));
        }
    }

    fn bucket(&mut self, coded: &TrainingColumn, node: &CaseSet) {
        let codes = coded.codes();
        self.ends.clear();
        self.ends.resize(coded.n_codes as usize, 0);
        let known = |(position, &case): (usize, &u32)| {
            Some((position, codes[case as usize])).filter(|(_, code)| *code != MISSING)
        };
        let known = || node.cases().iter().enumerate().filter_map(known);
        known().for_each(|(_, code)| self.ends[code as usize] += 1);
        let mut n = 0;
        self.ends.iter_mut().for_each(|end| n += std::mem::replace(end, n));
        self.bins.resize(n as usize, Bin { code: 0, class: 0, mass: 0, count: 0 });
        for (position, code) in known() {
            let end = &mut self.ends[code as usize];
            self.bins[*end as usize] = bin(&self.classes, &self.masses, &self.counts, code, position);
            *end += 1;
        }
    }

    fn sort(&mut self, coded: &TrainingColumn, node: &CaseSet) {
        let codes = coded.codes();
        let known = (0u64..).zip(node.cases()).filter(|&(_, &case)| codes[case as usize] != MISSING);
        self.keys.clear();
        self.keys.extend(known.map(|(position, &case)| (u64::from(codes[case as usize]) << 32) | position));
        self.keys.sort_unstable();
        let Histogram { classes, masses, counts, .. } = self;
        let bin = |&key: &u64| bin(classes, masses, counts, (key >> 32) as u32, key as u32 as usize);
        self.bins.extend(self.keys.iter().map(bin));
    }

    fn filter(&mut self, table: &GrowthData, coded: &TrainingColumn, node: &CaseSet) {
        self.positions.resize(table.n_cases, 0);
        (1..).zip(node.cases()).for_each(|(position, &case)| self.positions[case as usize] = position);
        for (case, code) in coded.in_order() {
            let position = self.positions[case as usize] as usize;
            if position > 0 {
                self.bins.push(bin(&self.classes, &self.masses, &self.counts, code, position - 1));
            }
        }
        node.cases().iter().for_each(|&case| self.positions[case as usize] = 0);
    }
}

#[inline]
fn bin(classes: &[u32], masses: &[u64], counts: &[u64], code: u32, position: usize) -> Bin {
    let mass = masses[position];
    Bin { code, class: classes[position], mass, count: counts.get(position).copied().unwrap_or(mass) }
}
