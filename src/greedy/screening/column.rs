//! The approximate splits of one column.

use super::ScreenedNode;
use super::approximate::MARGIN;
use crate::criterion::ClassImpurity;
use crate::greedy::data::GrowthData;
use crate::greedy::split::{Precision, SplitCandidate, SplitOf};
use crate::greedy::types::CodedTest;

/// The splits of a column: its cuts if it is ordered, else the sets of its levels.
#[derive(Debug, Default)]
pub(super) struct ColumnSplits {
    pub column: usize,
    /// The approximate gain per unit of the mass of the node.
    pub gain: f32,
    /// The number of codes that occur. The buffers below may be longer.
    pub n: usize,
    pub codes: Vec<u32>,
    /// Masses of the two classes, per code; cumulative if the column is ordered.
    pub masses: [Vec<u32>; 2],
    /// Class masses of the cases with a value.
    pub known: [u32; 2],
    pub purities: Vec<f32>,
    /// The greatest purity, if the column is ordered.
    pub greatest: f32,
}

impl ColumnSplits {
    /// The split at a cut of an ordered column, or the split of a nominal one, with its gain as screened.
    pub fn candidate<I: ClassImpurity>(&self, node: &ScreenedNode<I>, cut: usize, is_perfect: bool) -> SplitCandidate {
        let (column, codes) = (&node.table.columns[self.column], &self.codes[..self.n]);
        let test = match column.ordered {
            true => CodedTest::AtMost { below: codes[cut], above: codes[cut + 1] },
            false => CodedTest::Each(codes.into()),
        };
        let unit = node.stats.total as f64 * node.rule.impurity.scale();
        let (gain, error) = ((f64::from(self.gain) * unit) as i64, (f64::from(MARGIN) * unit) as u64);
        let precision = Precision::Screened { error, is_perfect };
        SplitCandidate { quality: gain, gain, precision, test }.of(column)
    }

    /// The mass of the cases with a value.
    pub fn known_mass(&self) -> u64 {
        self.known.iter().map(|&mass| u64::from(mass)).sum()
    }

    /// The cuts of an ordered column that may be its best.
    pub fn near_cuts(&self) -> impl Iterator<Item = usize> {
        let purities = &self.purities[..self.n - 1];
        let least = self.greatest - self.known_mass() as f32 * MARGIN;
        (0..self.n - 1).filter(move |&cut| purities[cut] >= least && purities[cut].is_finite())
    }

    /// The cut that is certainly the best; ties: the first. Any number for a nominal column, which has one split.
    pub fn certain_cut(&self, table: &GrowthData) -> Option<usize> {
        if !table.columns[self.column].ordered {
            return Some(0);
        }
        let mut near = self.near_cuts();
        let cut = near.next()?;
        let branches = self.branches(cut);
        near.all(|other| self.branches(other) == branches).then_some(cut)
    }

    /// The class masses of the two branches of a cut, in ascending order: they determine its gain.
    fn branches(&self, cut: usize) -> [[u32; 2]; 2] {
        let [first, second] = &self.masses;
        let one = [first[cut], second[cut]];
        let mut branches = [one, [self.known[0] - one[0], self.known[1] - one[1]]];
        branches.sort_unstable();
        branches
    }

    /// The best split, if it is certain and has two branches: its cut and [`ColumnSplits::branches`].
    pub fn best_in_two(&self, table: &GrowthData) -> Option<(usize, [[u32; 2]; 2])> {
        let is_in_two = table.columns[self.column].ordered || self.n == 2;
        let cut = self.certain_cut(table).filter(|_| is_in_two)?;
        Some((cut, self.branches(cut)))
    }

    /// The split of the column, if it leaves no impurity.
    pub fn perfect_split<I: ClassImpurity>(&self, node: &ScreenedNode<I>) -> Option<SplitOf> {
        let ColumnSplits { column, gain, n, masses: [first, second], known: [all_first, all_second], purities, .. } =
            self;
        if self.known_mass() != node.stats.total || *gain <= node.rule.min_gain as f32 + MARGIN {
            return None;
        }
        let mut pairs = first.iter().zip(second).take(*n);
        let cut = match node.table.columns[*column].ordered {
            // One class below the cut, the other one above it.
            true => {
                let cut = pairs.position(|(&a, &b)| (a, b) == (*all_first, 0) || (a, b) == (0, *all_second))?;
                purities[cut].is_finite().then_some(cut)?
            }
            false => pairs.all(|(&first, &second)| first == 0 || second == 0).then_some(0)?,
        };
        Some((*column as u32, self.candidate(node, cut, true)))
    }
}
