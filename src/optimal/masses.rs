//! The classes of each pattern and their mass.

use crate::budget::{Reserved, Stop, Ticker};
use crate::data::binary::ABSENT;
use crate::data::{Dataset, Target};

/// (class, mass) of each pattern.
#[derive(Debug)]
pub(super) struct ClassMasses<'b> {
    /// Where the entries of each pattern begin; one more closes the last.
    starts: Vec<usize>,
    entries: Vec<(u32, u64)>,
    _charged: Reserved<'b>,
}

impl ClassMasses<'_> {
    /// (class, mass) of one pattern.
    #[inline]
    pub(super) fn of(&self, pattern: usize) -> &[(u32, u64)] {
        &self.entries[self.starts[pattern]..self.starts[pattern + 1]]
    }

    /// How many entries all patterns have together.
    pub(super) fn n_entries(&self) -> usize {
        self.entries.len()
    }
}

/// Per pattern the classes of its cases with their mass, `mass(row)` summed, in the order of their first case. Panics
/// without a class target: the search checked it. O(rows + classes).
pub(super) fn class_masses<'b>(
    data: &Dataset,
    pattern_of: &[u32],
    n_patterns: usize,
    mass: impl Fn(usize) -> u64,
    ticker: &mut Ticker<'b>,
) -> Result<ClassMasses<'b>, Stop> {
    let Target::Classes(classes) = data.target() else { panic!("the search checked that the target has classes") };
    let n_classes = data.schema().labels().map_or(0, |labels| labels.len());
    let (of_pattern, of_row) = (2 * size_of::<usize>() as u64, size_of::<(u32, u64)>() as u64);
    let kept = of_pattern * (n_patterns as u64 + 1) + of_row * pattern_of.len() as u64;
    let mut charged = ticker.budget().reserve(kept)?;
    let passing =
        ticker.budget().reserve(4 * pattern_of.len() as u64 + size_of::<usize>() as u64 * n_classes as u64)?;
    // Rows by pattern: `ends[p]` is where those of pattern p begin, then, once they are placed, where they end.
    let mut ends = vec![0usize; n_patterns + 1];
    let rows = || (0u32..).zip(pattern_of).filter(|&(_, &pattern)| pattern != ABSENT);
    rows().for_each(|(_, &pattern)| ends[pattern as usize + 1] += 1);
    (1..ends.len()).for_each(|i| ends[i] += ends[i - 1]);
    ticker.tick(2 * pattern_of.len())?;
    let mut by_pattern = vec![0u32; ends[n_patterns]];
    for (row, &pattern) in rows() {
        let end = &mut ends[pattern as usize];
        by_pattern[*end] = row;
        *end += 1;
    }
    ticker.tick(2 * pattern_of.len())?;
    let (mut starts, mut entries) = (Vec::with_capacity(n_patterns + 1), Vec::with_capacity(by_pattern.len()));
    // One more than the entry of each class, if that is one of the pattern at hand.
    let mut entry_of = vec![0usize; n_classes];
    let mut first = 0;
    for &end in &ends[..n_patterns] {
        let start = entries.len();
        starts.push(start);
        for rows in by_pattern[first..end].chunks(1 << 12) {
            for &row in rows {
                let (class, mass) = (classes[row as usize], mass(row as usize));
                let entry = &mut entry_of[class as usize];
                if *entry <= start {
                    entries.push((class, 0));
                    *entry = entries.len();
                }
                entries[*entry - 1].1 += mass;
            }
            ticker.tick(8 * rows.len())?;
        }
        first = end;
    }
    starts.push(entries.len());
    drop((ends, by_pattern, entry_of, passing));
    entries.shrink_to_fit();
    charged.resize(size_of::<usize>() as u64 * (n_patterns as u64 + 1) + of_row * entries.len() as u64)?;
    Ok(ClassMasses { starts, entries, _charged: charged })
}
