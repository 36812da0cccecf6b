//! The set of cases at a node, whole or in fractions.

use super::data::GrowthData;
use super::types::MassByClass;

/// The cases of a node, ascending. A case that came in part has a fraction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CaseSet {
    /// The cases, followed by their fractions unless all are whole.
    words: Box<[u32]>,
    n: u32,
}

impl CaseSet {
    /// Whole cases.
    pub fn whole(cases: Vec<u32>) -> Self {
        CaseSet { n: cases.len() as u32, words: cases.into() }
    }

    /// Cases with their fractions; all are whole if there are no fractions.
    pub fn with_fractions(cases: &[u32], fractions: &[u32]) -> Self {
        let words = if fractions.is_empty() { cases.into() } else { [cases, fractions].concat().into() };
        CaseSet { n: cases.len() as u32, words }
    }

    /// All cases of the table.
    pub fn all(table: &GrowthData) -> Self {
        CaseSet::whole((0..table.n_cases as u32).collect())
    }

    pub fn cases(&self) -> &[u32] {
        &self.words[..self.n as usize]
    }

    /// The fraction of each case, in units of 2^-[`GrowthData::digits`]; `None` if all are whole. Masses of nodes of
    /// whole cases are those of the table, and masses of other nodes are in these units: all that is compared at one
    /// node has the same unit.
    pub fn fractions(&self) -> Option<&[u32]> {
        Some(&self.words[self.n as usize..]).filter(|_| self.has_fractions())
    }

    pub fn has_fractions(&self) -> bool {
        self.words.len() > self.n as usize
    }

    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        4 * self.words.len()
    }

    /// Calls `visit` with the number, mass and count of each case.
    #[inline]
    pub fn each(&self, table: &GrowthData, mut visit: impl FnMut(u32, u64, u64)) {
        match self.fractions() {
            None => self.cases().iter().for_each(|&case| visit(case, table.mass(case), table.count(case))),
            Some(fractions) => self.cases().iter().zip(fractions).for_each(|(&case, &fraction)| {
                let fraction = u64::from(fraction);
                visit(case, table.mass(case) * fraction, table.count(case) * fraction);
            }),
        }
    }

    /// The class masses and the number of cases.
    pub fn masses(&self, table: &GrowthData) -> (MassByClass, u64) {
        let (mut masses, mut n) = (MassByClass::from_elem(0, table.n_classes), 0);
        self.each(table, |case, mass, count| {
            masses[table.classes[case as usize] as usize] += mass;
            n += count;
        });
        (masses, n)
    }
}
