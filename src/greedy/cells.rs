//! The masses of one column over the cases of a node, in the order of its codes.
//!
//! Four ways lead there; the size of the node against the number of codes decides. All give the same masses per code.

use super::cases::CaseSet;
use super::orders::{self, Layout};
use super::table::{Coded, NONE, Table, Weights};

/// Mass of one class at one code. Several cells may speak of the same code and class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cell {
    pub code: u32,
    pub class: u32,
    pub mass: u64,
    /// How many cases: their counts times their fractions.
    pub count: u64,
}

/// Cells, and room for the work on them, kept between nodes.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    pub cells: Vec<Cell>,
    /// Per case of the node: its class and mass, and how many cases it stands for where that is not its mass.
    classes: Vec<u32>,
    masses: Vec<u64>,
    counts: Vec<u64>,
    /// Sums of masses, and of counts, per code and class.
    sums: Vec<u64>,
    count_sums: Vec<u64>,
    keys: Vec<u64>,
    short: Vec<u32>,
    /// Per case of the table: whether it is in the node, between [`Cells::enter`] and [`Cells::leave`].
    is_here: Vec<bool>,
    /// Where the cases of each code begin, then end.
    ends: Vec<u32>,
    /// One more than the place in the node of each case of the table; 0 elsewhere.
    places: Vec<u32>,
}

/// Sums per code and class are kept while there are at most this many of them for each case.
const SUMS_PER_CASE: usize = 3;
/// Cases are put in buckets, one per code, while there are at most this many of them for each case.
const BUCKETS_PER_CASE: usize = 2;
/// The sorted column is filtered if the node has at least one case in this many.
const FILTER: usize = 10;

impl Cells {
    /// Gets ready for [`Cells::keys`] too; to be left again.
    pub fn enter_for_keys(&mut self, table: &Table, node: &CaseSet) {
        self.enter(table, node);
        self.is_here.resize(table.n_cases, false);
        node.cases().iter().for_each(|&case| self.is_here[case as usize] = true);
    }

    /// Gets ready for the columns of a node. Complexity: O(cases).
    pub fn enter(&mut self, table: &Table, node: &CaseSet) {
        self.classes.clear();
        self.masses.clear();
        self.counts.clear();
        self.classes.extend(node.cases().iter().map(|&case| table.classes[case as usize]));
        let apart = matches!(table.weights, Weights::Masses(..));
        node.each(table, |_, mass, count| {
            self.masses.push(mass);
            if apart {
                self.counts.push(count);
            }
        });
    }

    /// The codes and classes of the cases of a node that was entered for it, as [`Layout`] has them in the upper half of an
    /// entry, ascending: for ordered columns of many codes, where every case is whole and of mass one. Cases without a
    /// value are left out.
    ///
    /// Complexity: O(cases log cases), or O(rows of the table) where cases are many.
    pub fn keys(&mut self, table: &Table, column: usize, node: &CaseSet, layout: Layout) -> Option<&[u32]> {
        let coded = &table.columns[column];
        let (n, n_codes) = (node.cases().len(), coded.n_codes as usize);
        let is_unit = matches!(table.weights, Weights::Unit) && !node.has_fractions();
        if !is_unit || !coded.ordered || n_codes * table.n_classes <= SUMS_PER_CASE * n + 16 {
            return None;
        }
        self.short.clear();
        if coded.own.is_none() && n * (usize::BITS - n.leading_zeros()) as usize >= table.n_cases {
            let entries = coded.entries(layout, &table.classes);
            self.short.resize(n + 1, 0);
            let mut end = 0;
            for &entry in entries {
                // Written in any case, and over if the case is not here: no branch to guess.
                self.short[end] = (entry >> 32) as u32;
                end += usize::from(self.is_here[orders::case(entry) as usize]);
            }
            self.short.truncate(end);
        } else {
            let codes = coded.codes();
            let keys = node.cases().iter().zip(&self.classes);
            let keys = keys.map(|(&case, &class)| (codes[case as usize], class));
            let key = |(code, class): (u32, u32)| layout.upper(code, class);
            match coded.is_complete {
                true => self.short.extend(keys.map(key)),
                false => self.short.extend(keys.filter(|&(code, _)| code != NONE).map(key)),
            }
            self.short.sort_unstable();
        }
        Some(&self.short)
    }

    /// How many cases of each class every code of a column has, code after code: where every case is whole and of mass
    /// one, and codes are few. Cases without a value are left out.
    ///
    /// Complexity: O(cases + codes x classes).
    pub fn tallies(&mut self, table: &Table, column: usize, node: &CaseSet) -> Option<&[u32]> {
        let coded = &table.columns[column];
        let (n, k, n_codes) = (node.cases().len(), table.n_classes, coded.n_codes as usize);
        let is_unit = matches!(table.weights, Weights::Unit) && !node.has_fractions();
        if !is_unit || n_codes * k > SUMS_PER_CASE * n + 16 {
            return None;
        }
        self.short.clear();
        self.short.resize(n_codes * k, 0);
        let codes = coded.codes();
        for (&case, &class) in node.cases().iter().zip(&self.classes) {
            let code = codes[case as usize];
            if code != NONE {
                self.short[code as usize * k + class as usize] += 1;
            }
        }
        Some(&self.short)
    }

    /// Ends the work on the columns of a node.
    pub fn leave(&mut self, node: &CaseSet) {
        node.cases().iter().for_each(|&case| self.is_here[case as usize] = false);
    }

    /// Fills [`Cells::cells`] with the cells of a column at the node entered, ascending by code. Cases without a value are
    /// left out.
    ///
    /// Complexity: O(cases + codes x classes) or O(cases + codes) where codes are few, O(rows of the table) where cases
    /// are many, else O(cases log cases).
    pub fn collect(&mut self, table: &Table, column: usize, node: &CaseSet) {
        self.cells.clear();
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

    fn count(&mut self, k: usize, coded: &Coded, node: &CaseSet) {
        let codes = coded.codes();
        let apart = !self.counts.is_empty();
        for sums in [&mut self.sums, &mut self.count_sums] {
            sums.clear();
            sums.resize(coded.n_codes as usize * k, 0);
        }
        for (place, &case) in node.cases().iter().enumerate() {
            let code = codes[case as usize];
            if code != NONE {
                let at = code as usize * k + self.classes[place] as usize;
                self.sums[at] += self.masses[place];
                if apart {
                    self.count_sums[at] += self.counts[place];
                }
            }
        }
        let counts = if apart { &self.count_sums } else { &self.sums };
        for (code, (sums, counts)) in (0..).zip(self.sums.chunks_exact(k).zip(counts.chunks_exact(k))) {
            let cells = (0..).zip(sums.iter().zip(counts)).filter(|(_, (_, count))| **count > 0);
            self.cells.extend(cells.map(|(class, (&mass, &count))| Cell { code, class, mass, count }));
        }
    }

    fn bucket(&mut self, coded: &Coded, node: &CaseSet) {
        let codes = coded.codes();
        self.ends.clear();
        self.ends.resize(coded.n_codes as usize, 0);
        let known =
            |(place, &case): (usize, &u32)| Some((place, codes[case as usize])).filter(|(_, code)| *code != NONE);
        let known = || node.cases().iter().enumerate().filter_map(known);
        known().for_each(|(_, code)| self.ends[code as usize] += 1);
        let mut n = 0;
        self.ends.iter_mut().for_each(|end| n += std::mem::replace(end, n));
        self.cells.resize(n as usize, Cell { code: 0, class: 0, mass: 0, count: 0 });
        for (place, code) in known() {
            let end = &mut self.ends[code as usize];
            self.cells[*end as usize] = cell(&self.classes, &self.masses, &self.counts, code, place);
            *end += 1;
        }
    }

    fn sort(&mut self, coded: &Coded, node: &CaseSet) {
        let codes = coded.codes();
        let known = (0u64..).zip(node.cases()).filter(|&(_, &case)| codes[case as usize] != NONE);
        self.keys.clear();
        self.keys.extend(known.map(|(place, &case)| (u64::from(codes[case as usize]) << 32) | place));
        self.keys.sort_unstable();
        let Cells { classes, masses, counts, .. } = self;
        let cell = |&key: &u64| cell(classes, masses, counts, (key >> 32) as u32, key as u32 as usize);
        self.cells.extend(self.keys.iter().map(cell));
    }

    fn filter(&mut self, table: &Table, coded: &Coded, node: &CaseSet) {
        self.places.resize(table.n_cases, 0);
        (1..).zip(node.cases()).for_each(|(place, &case)| self.places[case as usize] = place);
        for (case, code) in coded.in_order() {
            let place = self.places[case as usize] as usize;
            if place > 0 {
                self.cells.push(cell(&self.classes, &self.masses, &self.counts, code, place - 1));
            }
        }
        node.cases().iter().for_each(|&case| self.places[case as usize] = 0);
    }
}

#[inline]
fn cell(classes: &[u32], masses: &[u64], counts: &[u64], code: u32, place: usize) -> Cell {
    let mass = masses[place];
    Cell { code, class: classes[place], mass, count: counts.get(place).copied().unwrap_or(mass) }
}
