//! The cases of a node, and their way down a split.

use super::split::Cut;
use super::table::{NONE, Table};
use crate::budget::{Stop, Ticker};

/// Cases that came to a node, ascending. A case of which only a part came has a fraction below a whole one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CaseSet {
    pub cases: Vec<u32>,
    /// Per case, in units of 2^-[`Table::digits`]; `None` where all are whole. Then masses are those of the table, and
    /// else multiples of such units: what is compared at one node is in the same units.
    pub fractions: Option<Vec<u32>>,
}

impl CaseSet {
    /// The whole table.
    pub fn all(table: &Table) -> Self {
        CaseSet { cases: (0..table.n_cases as u32).collect(), fractions: None }
    }

    /// Calls `visit` with each case, its mass and its count.
    #[inline]
    pub fn each(&self, table: &Table, mut visit: impl FnMut(u32, u64, u64)) {
        match &self.fractions {
            None => self.cases.iter().for_each(|&case| visit(case, table.mass(case), table.count(case))),
            Some(fractions) => self.cases.iter().zip(fractions).for_each(|(&case, &fraction)| {
                let fraction = u64::from(fraction);
                visit(case, table.mass(case) * fraction, table.count(case) * fraction);
            }),
        }
    }

    /// Class masses, and how many cases.
    pub fn masses(&self, table: &Table) -> (Vec<u64>, u64) {
        let (mut masses, mut n) = (vec![0; table.n_classes], 0);
        self.each(table, |case, mass, count| {
            masses[table.classes[case as usize] as usize] += mass;
            n += count;
        });
        (masses, n)
    }

    /// The cases that each branch of a split gets; only the masses of those that are not `wanted`. A case without a value
    /// goes down every branch, with shares of its fraction in proportion to the masses of the cases with one, rounded
    /// down; the branch of greatest mass, the first of such, gets what is left. Fails where the parts would not fit into
    /// memory, or the budget says so.
    ///
    /// Complexity: O(cases + branches x classes), and O(branches) for every case without a value, in time and memory.
    pub fn split(
        &self,
        table: &Table,
        column: usize,
        cut: &Cut,
        ticker: &mut Ticker,
        wanted: impl Fn(&Part) -> bool,
    ) -> Result<Vec<Part>, Stop> {
        let coded = &table.columns[column];
        let codes = coded.codes();
        let branches = cut.branches(coded.n_codes);
        let (n_branches, k, whole) = (cut.n_branches(), table.n_classes, 1u32 << table.digits);
        let mut parts: Vec<Part> = (0..n_branches).map(|_| Part::new(k)).collect();
        let mut missing = 0usize;
        self.each(table, |case, mass, count| match codes[case as usize] {
            NONE => missing += 1,
            code => parts[branches.of(code)].add(table.classes[case as usize], mass, count),
        });
        // What the parts of cases take, at most.
        if (missing.saturating_mul(8 * n_branches)) as u64 > ticker.memory_limit() {
            return Err(Stop::Memory);
        }
        let masses: Vec<u64> = parts.iter().map(|part| part.masses.iter().sum()).collect();
        let mut shares = Shares::new(masses);
        let fraction = |place: usize| self.fractions.as_ref().map_or(whole, |fractions| fractions[place]);
        if missing > 0 && self.fractions.is_none() {
            parts.iter_mut().for_each(|part| part.scale(|mass| mass << table.digits));
        }
        let mut partial = vec![false; n_branches];
        for (place, &case) in self.cases.iter().enumerate() {
            if codes[case as usize] != NONE {
                if self.fractions.is_some() {
                    partial[branches.of(codes[case as usize])] |= fraction(place) < whole;
                }
            } else {
                ticker.tick(n_branches)?;
                for ((part, partial), &share) in parts.iter_mut().zip(&mut partial).zip(shares.of(fraction(place))) {
                    if share > 0 {
                        let (mass, count) = (table.mass(case) * u64::from(share), table.count(case) * u64::from(share));
                        part.add(table.classes[case as usize], mass, count);
                        *partial |= share < whole;
                    }
                }
            }
        }
        for (part, partial) in parts.iter_mut().zip(partial) {
            // Where no part of a case came, all are whole again.
            part.whole = !partial;
            if part.whole && (missing > 0 || self.fractions.is_some()) {
                part.scale(|mass| mass >> table.digits);
            }
            if wanted(part) {
                part.set.cases.reserve_exact(part.rows);
                part.set.fractions = partial.then(|| Vec::with_capacity(part.rows));
                part.is_wanted = true;
            }
        }
        for (place, &case) in self.cases.iter().enumerate() {
            match codes[case as usize] {
                NONE => {
                    shares.of(fraction(place)).iter().zip(&mut parts).for_each(|(&share, part)| part.push(case, share))
                }
                code => parts[branches.of(code)].push(case, fraction(place)),
            }
        }
        Ok(parts)
    }
}

/// What a branch of a split gets.
#[derive(Debug)]
pub(crate) struct Part {
    /// Class masses, in the units of whole cases or of parts.
    pub masses: Vec<u64>,
    /// How many cases: counts times fractions.
    pub count: u64,
    /// How many rows.
    pub rows: usize,
    /// Whether all cases are whole.
    pub whole: bool,
    /// The cases, if they are wanted.
    pub set: CaseSet,
    is_wanted: bool,
}

impl Part {
    /// The whole table.
    pub fn all(table: &Table) -> Self {
        let set = CaseSet::all(table);
        let (masses, count) = set.masses(table);
        Part { masses, count, rows: set.cases.len(), whole: true, set, is_wanted: true }
    }

    fn new(n_classes: usize) -> Self {
        let set = CaseSet { cases: Vec::new(), fractions: None };
        Part { masses: vec![0; n_classes], count: 0, rows: 0, whole: true, set, is_wanted: false }
    }

    #[inline]
    fn add(&mut self, class: u32, mass: u64, count: u64) {
        self.masses[class as usize] += mass;
        self.count += count;
        self.rows += 1;
    }

    fn scale(&mut self, scale: impl Fn(u64) -> u64) {
        self.masses.iter_mut().chain([&mut self.count]).for_each(|mass| *mass = scale(*mass));
    }

    #[inline]
    fn push(&mut self, case: u32, fraction: u32) {
        if self.is_wanted && fraction > 0 {
            self.set.cases.push(case);
            if let Some(fractions) = &mut self.set.fractions {
                fractions.push(fraction);
            }
        }
    }
}

/// The shares of cases without a value. Those of one fraction are the same, and come one after the other.
struct Shares {
    masses: Vec<u64>,
    total: u64,
    heaviest: usize,
    fraction: u32,
    shares: Vec<u32>,
}

impl Shares {
    fn new(masses: Vec<u64>) -> Self {
        let heaviest = (0..masses.len()).rev().max_by_key(|&branch| masses[branch]).unwrap_or(0);
        Shares { total: masses.iter().sum(), heaviest, fraction: 0, shares: vec![0; masses.len()], masses }
    }

    fn of(&mut self, fraction: u32) -> &[u32] {
        if self.fraction != fraction {
            self.fraction = fraction;
            let mut left = fraction;
            for (share, &mass) in self.shares.iter_mut().zip(&self.masses) {
                *share = match u64::from(fraction).checked_mul(mass) {
                    Some(product) => product / self.total,
                    None => (u128::from(fraction) * u128::from(mass) / u128::from(self.total)) as u64,
                } as u32;
                left -= *share;
            }
            self.shares[self.heaviest] += left;
        }
        &self.shares
    }
}
