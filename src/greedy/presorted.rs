//! Presorted columns: a node of whole cases has its part of every sorted column, partitioned along with the node, so
//! that nothing is sorted twice. Only for columns without missing values.

use smallvec::SmallVec;

use super::data::GrowthData;
use super::split::{NodeStats, Scratch, SplitCandidate, SplitRule};
use super::types::{Entry, EntryLayout, case_of};
use crate::bits;
use crate::budget::{Stop, Ticker};
use crate::criterion::ClassImpurity;

impl<I: ClassImpurity> SplitRule<I> {
    /// The best threshold of a presorted column.
    pub fn best_presorted(
        &self,
        table: &GrowthData,
        layout: EntryLayout,
        entries: &[Entry],
        node: &NodeStats,
        scratch: &mut Scratch,
        ticker: &mut Ticker,
    ) -> Result<Option<SplitCandidate>, Stop> {
        if layout.is_constant(entries) {
            return Ok(None);
        }
        match table.has_unit_weights() {
            true => {
                let bins = entries.iter().map(|&entry| layout.unit_bin((entry >> 32) as u32));
                self.best_threshold(bins, node, scratch, ticker)
            }
            false => {
                let bins = entries.iter().map(|&entry| table.bin(layout, entry));
                self.best_threshold(bins, node, scratch, ticker)
            }
        }
    }
}

/// Partitions a presorted column between two branches, stably and in place. `goes_right` has a bit per case.
///
/// Complexity: O(entries).
pub(super) fn partition_in_two<'e>(
    entries: &'e mut [Entry],
    goes_right: &[u64],
    buffer: &mut Vec<Entry>,
) -> [&'e mut [Entry]; 2] {
    buffer.resize(entries.len().max(buffer.len()), 0);
    let (mut left, mut right) = (0, 0);
    for i in 0..entries.len() {
        let entry = entries[i];
        let goes_right = usize::from(bits::get(goes_right, case_of(entry) as usize));
        // Both positions are written, and the wrong one overwritten by the next entry: this avoids an unpredictable
        // branch.
        entries[left] = entry;
        buffer[right] = entry;
        left += 1 - goes_right;
        right += goes_right;
    }
    let (to_left, to_right) = entries.split_at_mut(left);
    to_right.copy_from_slice(&buffer[..right]);
    [to_left, to_right]
}

/// As [`partition_in_two`], between branches of these lengths. `branches` has the branch of each case.
pub(super) fn partition<'e>(
    mut entries: &'e mut [Entry],
    branches: &[u32],
    lengths: &[usize],
    buffer: &mut Vec<Entry>,
) -> SmallVec<[&'e mut [Entry]; 2]> {
    buffer.resize(entries.len().max(buffer.len()), 0);
    let mut ends: Vec<usize> =
        lengths.iter().scan(0, |end, length| Some(std::mem::replace(end, *end + length))).collect();
    for &entry in &*entries {
        let end = &mut ends[branches[case_of(entry) as usize] as usize];
        buffer[*end] = entry;
        *end += 1;
    }
    entries.copy_from_slice(&buffer[..entries.len()]);
    let mut parts = SmallVec::with_capacity(lengths.len());
    for &length in lengths {
        let (part, rest) = entries.split_at_mut(length);
        parts.push(part);
        entries = rest;
    }
    parts
}
