//! The labels that save something in each pattern, and what they save: as if they were classes and their masses.

use crate::budget::{Reserved, Stop, Ticker};
use crate::data::binary::ABSENT;
use crate::objective::{Objective, RewardReader};

/// The rewards of each pattern: (class, mass), as the searches see them.
#[derive(Debug)]
pub(super) struct ClassMasses<'b> {
    /// Where the entries of each pattern begin; one more closes the last.
    starts: Vec<usize>,
    entries: Vec<(u32, u64)>,
    /// The support of the rows of each entry, if it was asked for: each row counts in one of its pattern's entries.
    supports: Vec<u64>,
    _charged: Reserved<'b>,
}

impl ClassMasses<'_> {
    /// (class, mass) of one pattern.
    #[inline]
    pub(super) fn of(&self, pattern: usize) -> &[(u32, u64)] {
        &self.entries[self.starts[pattern]..self.starts[pattern + 1]]
    }

    /// The supports of these, if they were asked for.
    #[inline]
    pub(super) fn supports_of(&self, pattern: usize) -> &[u64] {
        match self.supports.is_empty() {
            true => &[],
            false => &self.supports[self.starts[pattern]..self.starts[pattern + 1]],
        }
    }

    /// How many entries all patterns have together.
    pub(super) fn n_entries(&self) -> usize {
        self.entries.len()
    }
}

/// Per pattern the rewards of its cases, summed, in the order of their first case; and the support of its rows, if that
/// is asked for. O(rewards + labels).
pub(super) fn class_masses<'b>(
    objective: &dyn Objective,
    pattern_of: &[u32],
    n_patterns: usize,
    support: Option<&dyn Fn(usize) -> u64>,
    ticker: &mut Ticker<'b>,
) -> Result<ClassMasses<'b>, Stop> {
    let n_classes = objective.n_labels();
    let of_pattern = 2 * size_of::<usize>() as u64;
    let of_entry = (size_of::<(u32, u64)>() + if support.is_some() { size_of::<u64>() } else { 0 }) as u64;
    let kept = |n_entries: usize| of_pattern * (n_patterns as u64 + 1) + of_entry * n_entries as u64;
    let mut charged = ticker.budget().reserve(kept(pattern_of.len()))?;
    let passing =
        ticker.budget().reserve(4 * pattern_of.len() as u64 + size_of::<usize>() as u64 * n_classes as u64)?;
    // Rows by pattern: `ends[p]` is where those of pattern p begin, then, once they are placed, where they end.
    let mut ends = vec![0usize; n_patterns + 1];
    let rows = || (0u32..).zip(pattern_of).filter(|&(_, &pattern)| pattern != ABSENT);
    let n_rows = rows().count();
    let mut by_pattern = vec![0u32; n_rows];
    if n_rows == n_patterns {
        // One row each, and patterns are numbered in the order of their first rows.
        by_pattern.iter_mut().zip(rows()).for_each(|(to, (row, _))| *to = row);
        (1..).zip(&mut ends).for_each(|(place, end)| *end = place);
    } else {
        rows().for_each(|(_, &pattern)| ends[pattern as usize + 1] += 1);
        (1..ends.len()).for_each(|i| ends[i] += ends[i - 1]);
        ticker.tick(2 * pattern_of.len())?;
        for (row, &pattern) in rows() {
            let end = &mut ends[pattern as usize];
            by_pattern[*end] = row;
            *end += 1;
        }
    }
    ticker.tick(2 * pattern_of.len())?;
    let (mut starts, mut entries) = (Vec::with_capacity(n_patterns + 1), Vec::with_capacity(by_pattern.len()));
    let mut supports = Vec::new();
    let mut rewards = RewardReader::new(objective);
    // One more than the entry of each class, if that is one of the pattern at hand.
    let mut entry_of = vec![0usize; n_classes];
    let (mut first, mut room) = (0, entries.capacity());
    for &end in &ends[..n_patterns] {
        let start = entries.len();
        starts.push(start);
        for rows in by_pattern[first..end].chunks(1 << 12) {
            let before = entries.len();
            for &row in rows {
                let mut rewards = rewards.of(row as usize);
                if rewards.is_empty() && support.is_some() {
                    rewards = &[(0, 0)];
                }
                for &(class, mass) in rewards {
                    let entry = &mut entry_of[class as usize];
                    if *entry <= start {
                        entries.push((class, 0));
                        *entry = entries.len();
                    }
                    entries[*entry - 1].1 += mass;
                }
                if let Some(support) = support {
                    let counts_as = rewards[0].0;
                    supports.resize(entries.len(), 0);
                    supports[entry_of[counts_as as usize] - 1] += support(row as usize);
                }
            }
            ticker.tick(8 * (rows.len() + entries.len() - before))?;
            // Rows have one reward where errors are counted; where they have more, room grows by doubling.
            if entries.capacity() != room {
                room = entries.capacity();
                charged.resize(kept(room))?;
            }
        }
        first = end;
    }
    starts.push(entries.len());
    drop((ends, by_pattern, entry_of, passing));
    entries.shrink_to_fit();
    supports.shrink_to_fit();
    charged.resize(size_of::<usize>() as u64 * (n_patterns as u64 + 1) + of_entry * entries.len() as u64)?;
    Ok(ClassMasses { starts, entries, supports, _charged: charged })
}
