//! The search's view of the data: rows of oriented tests with integer masses.

use std::ops::{AddAssign, Sub};

use super::label_masses::ClassMasses;
use crate::bits;
use crate::budget::{Stop, Ticker};
use crate::constraint::Constraints;
use crate::data::BinaryTable;
use crate::objective::{self, Objective};

/// An unsigned integer wide enough for the total mass: u32 where it fits, for half the memory traffic, else u64.
pub(super) trait Mass: Copy + Default + Ord + AddAssign + Sub<Output = Self> + Into<u64> + Send + Sync {
    /// A mass that is known to fit.
    fn of(mass: u64) -> Self;
}

impl Mass for u32 {
    fn of(mass: u64) -> Self {
        debug_assert!(mass <= u64::from(u32::MAX));
        mass as u32
    }
}

impl Mass for u64 {
    fn of(mass: u64) -> Self {
        mass
    }
}

/// Distinct rows, each with the mass of its classes.
///
/// Tests are *oriented*: `true` is the rarer side, so that what is listed of a row is short. Channel c < classes holds
/// the mass of class c; where `min_leaf` matters one more channel holds the support: the number of cases, or their
/// mass.
pub(super) struct Problem<M> {
    pub(super) n_tests: usize,
    pub(super) n_classes: usize,
    pub(super) n_rows: usize,
    /// Classes, and one more if cases are counted.
    pub(super) channels: usize,
    pub(super) min_leaf: u64,
    pub(super) node_penalty: u64,
    words: usize,
    bits: Vec<u64>,
    flipped: Vec<bool>,
    mass_starts: Vec<usize>,
    masses: Vec<(u32, M)>,
}

/// The cases at a node: rows in ascending order, and the branches taken to get here.
#[derive(Debug, Clone, Default)]
pub(super) struct Cases {
    pub(super) rows: Vec<u32>,
    /// `2 * test + side` for each oriented test on the path, ascending.
    pub(super) path: Vec<u32>,
}

impl<M: Mass> Problem<M> {
    /// Bytes of a problem besides the bits of its table.
    pub(super) fn bytes(n_rewards: usize, table: &BinaryTable, min_leaf: u64) -> u64 {
        let (rows, patterns) = (n_rewards as u64, table.n_patterns as u64);
        // Each reward is an entry at most, and each pattern one more where cases are counted; lines for a while, and
        // rows.
        let entries = rows + if min_leaf > 1 { patterns } else { 0 };
        entries * size_of::<(u32, M)>() as u64 + patterns * (16 + 8 + 4) + 64 * table.tests.len() as u64
    }

    /// Takes the bits out of `table`. Complexity: O(patterns x tests / 64 + tests passed).
    pub(super) fn new(
        table: &mut BinaryTable,
        objective: &dyn Objective,
        masses: &ClassMasses,
        constraints: &Constraints,
        ticker: &mut Ticker,
    ) -> Result<Self, Stop> {
        let (n_tests, n_rows, words) = (table.tests.len(), table.n_patterns, table.words);
        let n_classes = objective.n_labels();
        let min_leaf = constraints.min_leaf;
        let channels = n_classes + usize::from(min_leaf > 1);
        let mut passes = vec![0u32; n_tests];
        let lines: Vec<&[u64]> = table.bits.chunks_exact(words.max(1)).collect();
        for lines in lines.chunks(64) {
            for word in 0..words {
                let mut square = [0; 64];
                bits::transpose_block(lines, word, &mut square);
                passes[64 * word..].iter_mut().zip(square).for_each(|(passes, column)| *passes += column.count_ones());
            }
            ticker.tick(300 * words)?;
        }
        let flipped: Vec<bool> = passes.iter().map(|&passes| 2 * passes as usize > n_rows).collect();
        let mut flips = vec![0u64; words];
        (0..n_tests).filter(|&t| flipped[t]).for_each(|t| bits::set(&mut flips, t));
        let mut problem = Problem {
            n_tests,
            n_classes,
            n_rows,
            channels,
            min_leaf,
            node_penalty: objective.scale().node_penalty,
            words,
            bits: std::mem::take(&mut table.bits),
            flipped,
            mass_starts: vec![0],
            masses: Vec::new(),
        };
        for row in 0..n_rows {
            let row_bits = &mut problem.bits[row * words..(row + 1) * words];
            row_bits.iter_mut().zip(&flips).for_each(|(bits, flip)| *bits ^= flip);
            ticker.tick(words)?;
        }
        problem.mass_starts.reserve_exact(n_rows);
        problem.masses.reserve_exact(masses.n_entries() + if min_leaf > 1 { n_rows } else { 0 });
        for row in 0..n_rows {
            problem.masses.extend(masses.of(row).iter().map(|&(class, mass)| (class, M::of(mass))));
            if min_leaf > 1 {
                let support = masses.supports_of(row).iter().sum();
                problem.masses.push((n_classes as u32, M::of(support)));
            }
            problem.mass_starts.push(problem.masses.len());
            ticker.tick(4 + 2 * masses.of(row).len())?;
        }
        Ok(problem)
    }

    /// Rows of a single class and mass, given which tests each passes: for checks.
    pub(super) fn of_single(
        (n_tests, n_classes): (usize, usize),
        node_penalty: u64,
        rows: impl Iterator<Item = ((u32, M), Vec<usize>)>,
    ) -> Self {
        let words = bits::words(n_tests);
        let (mut bits, mut masses) = (Vec::new(), Vec::new());
        for (mass, passed) in rows {
            let start = bits.len();
            bits.resize(start + words, 0);
            passed.into_iter().for_each(|test| bits::set(&mut bits[start..], test));
            masses.push(mass);
        }
        Problem {
            n_tests,
            n_classes,
            n_rows: masses.len(),
            channels: n_classes,
            min_leaf: 1,
            node_penalty,
            words,
            bits,
            flipped: vec![false; n_tests],
            mass_starts: (0..=masses.len()).collect(),
            masses,
        }
    }

    /// All cases.
    pub(super) fn root(&self) -> Cases {
        Cases { rows: (0..self.n_rows as u32).collect(), path: Vec::new() }
    }

    /// The oriented tests of a row, a bit each.
    pub(super) fn bits(&self, row: u32) -> &[u64] {
        &self.bits[row as usize * self.words..(row as usize + 1) * self.words]
    }

    /// The channels of a row with their mass.
    #[inline]
    pub(super) fn masses(&self, row: u32) -> &[(u32, M)] {
        &self.masses[self.mass_starts[row as usize]..self.mass_starts[row as usize + 1]]
    }

    /// How many masses all rows have together.
    pub(super) fn n_masses(&self) -> usize {
        self.masses.len()
    }

    /// Which oriented side passes a test in the user's sense.
    pub(super) fn passing_side(&self, test: usize) -> usize {
        usize::from(!self.flipped[test])
    }

    /// The cases on the false and on the true side of an oriented test.
    pub(super) fn split(&self, cases: &Cases, test: usize) -> [Cases; 2] {
        // Both sides get each row, and one of them keeps it: which one cannot be foreseen, and a wrong guess costs
        // more.
        let mut rows = [0, 1].map(|_| vec![0; cases.rows.len()]);
        let mut lengths = [0, 0];
        for &row in &cases.rows {
            let side = usize::from(bits::get(&self.bits[row as usize * self.words..], test));
            (rows[0][lengths[0]], rows[1][lengths[1]]) = (row, row);
            lengths[side] += 1;
        }
        let mut side = 0;
        rows.map(|mut rows| {
            rows.truncate(lengths[side]);
            let literal = 2 * test as u32 + side as u32;
            let mut path = cases.path.clone();
            path.insert(path.partition_point(|&l| l < literal), literal);
            side += 1;
            Cases { rows, path }
        })
    }

    /// Mass per channel.
    pub(super) fn totals(&self, cases: &Cases) -> Vec<M> {
        let mut totals = vec![M::default(); self.channels];
        for &row in &cases.rows {
            for &(channel, mass) in self.masses(row) {
                totals[channel as usize] += mass;
            }
        }
        totals
    }

    /// The greatest mass or cost that a search adds up, given what all labels save.
    pub(super) fn greatest(&self, total: u64) -> u64 {
        self.totals(&self.root()).into_iter().map(M::into).max().unwrap_or(0).max(total)
    }

    /// The cost of the best leaf.
    pub(super) fn leaf(&self, totals: &[M]) -> u64 {
        objective::leaf(&totals[..self.n_classes]).0
    }

    /// What every tree costs on some rows: cases that no test tells apart end in one leaf, where all but those of their
    /// most frequent class are errors.
    pub(super) fn equivalent_points(&self, rows: &[u32]) -> u64 {
        let errors = |&row: &u32| {
            let masses = self.masses(row).iter().filter(|entry| (entry.0 as usize) < self.n_classes);
            let (sum, most) =
                masses.fold((0, 0), |(sum, most): (u64, u64), &(_, mass)| (sum + mass.into(), most.max(mass.into())));
            sum - most
        };
        rows.iter().map(errors).sum()
    }

    /// Whether cases of these totals may stand in a branch of a split.
    #[inline]
    pub(super) fn admissible(&self, totals: &[M]) -> bool {
        self.channels == self.n_classes || totals[self.n_classes].into() >= self.min_leaf
    }
}
