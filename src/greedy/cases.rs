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

    /// The cases that each branch of a split gets. A case without a value goes down every branch, with shares of its
    /// fraction in proportion to the masses of the cases with one, rounded down; the branch of greatest mass, the first
    /// of such, gets what is left. Fails where the parts would not fit into memory, or the budget says so.
    ///
    /// Complexity: O(cases), and O(branches) for every case without a value, in time and memory.
    pub fn split(&self, table: &Table, column: usize, cut: &Cut, ticker: &mut Ticker) -> Result<Vec<CaseSet>, Stop> {
        let coded = &table.columns[column];
        let codes = coded.codes();
        let branches = cut.branches(coded.n_codes);
        let n_branches = cut.n_branches();
        let mut masses = vec![0u128; n_branches];
        let mut lengths = vec![0; n_branches];
        let mut missing = 0usize;
        self.each(table, |case, mass, _| match codes[case as usize] {
            NONE => missing += 1,
            code => {
                let branch = branches.of(code);
                masses[branch] += u128::from(mass);
                lengths[branch] += 1;
            }
        });
        // What the parts of cases take, at most.
        if (missing.saturating_mul(8 * n_branches)) as u64 > ticker.memory_limit() {
            return Err(Stop::Memory);
        }
        let mut parts: Vec<CaseSet> = lengths
            .iter()
            .map(|&length| CaseSet {
                cases: Vec::with_capacity(length),
                fractions: (missing > 0 || self.fractions.is_some()).then(|| Vec::with_capacity(length)),
            })
            .collect();
        let total: u128 = masses.iter().sum();
        let heaviest = (0..n_branches).rev().max_by_key(|&branch| masses[branch]).unwrap_or(0);
        let whole = 1u32 << table.digits;
        for (place, &case) in self.cases.iter().enumerate() {
            let fraction = self.fractions.as_ref().map_or(whole, |fractions| fractions[place]);
            let code = codes[case as usize];
            if code != NONE {
                parts[branches.of(code)].push(case, fraction);
                continue;
            }
            ticker.tick(n_branches)?;
            let share = |branch: usize| (u128::from(fraction) * masses[branch] / total) as u32;
            let left = fraction - (0..n_branches).map(share).sum::<u32>();
            for (branch, part) in parts.iter_mut().enumerate() {
                let share = share(branch) + if branch == heaviest { left } else { 0 };
                if share > 0 {
                    part.push(case, share);
                }
            }
        }
        for part in &mut parts {
            // Where no part of a case came, all are whole again.
            if part.fractions.as_ref().is_some_and(|fractions| fractions.iter().all(|&fraction| fraction == whole)) {
                part.fractions = None;
            }
        }
        Ok(parts)
    }

    fn push(&mut self, case: u32, fraction: u32) {
        self.cases.push(case);
        if let Some(fractions) = &mut self.fractions {
            fractions.push(fraction);
        }
    }
}
