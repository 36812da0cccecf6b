//! What is counted: the rows of a problem, in groups of equal class and mass.
//!
//! A count of bits counts cases of equal mass. Rows are merged already, so their masses differ: a row of mass 5 becomes
//! two *instances*, one in the group of mass 4 and one in that of mass 1 (a *plane* per bit of the mass), or five in the
//! group of mass 1, whichever makes less to count.
//!
//! **Cancellation.** The least of a row's class masses costs the same in whatever leaf the row ends: that much of all K
//! classes is taken away from every row, and K - 1 times it is a constant of all trees. Case counts do not survive this,
//! so with `min_leaf` above 1 nothing is cancelled. For two classes this is the equivalent-points bound, exactly.

use std::ops::Range;

use super::super::problem::{Mass, Problem};
use super::lane::Lane;
use super::pairs::Shape;
use super::table::Layout;
use crate::bits;
use crate::budget::{Stop, Ticker};

/// Instances of one channel and one mass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    /// A class, or the channel of case counts after the classes.
    pub(super) channel: usize,
    /// Each instance has the mass `1 << shift`.
    pub(super) shift: u32,
    pub(super) instances: Range<usize>,
}

/// What is counted of a problem.
pub(super) struct Instances {
    pub(super) n_tests: usize,
    pub(super) n_classes: usize,
    /// Classes, and one more if cases have to be counted apart from masses.
    pub(super) channels: usize,
    /// In order of channels.
    pub(super) groups: Vec<Group>,
    /// The groups of each channel.
    pub(super) of_channel: Vec<Range<usize>>,
    /// The row of each instance.
    pub(super) rows: Vec<u32>,
    /// The instances of each row, in order of rows.
    of_row: Vec<u32>,
    of_row_starts: Vec<u32>,
}

impl Instances {
    /// About how many instances there are, if all masses are split into planes. O(rows x classes).
    pub(super) fn in_planes<M: Mass>(problem: &Problem<M>) -> u64 {
        let of_row = |row: u32| problem.masses(row).iter().map(|&(_, mass)| u64::from(mass.into().count_ones()));
        (0..problem.n_rows as u32).flat_map(of_row).sum()
    }

    /// Complexity: O(rows x classes + instances).
    pub(super) fn new<M: Mass>(problem: &Problem<M>, ticker: &mut Ticker) -> Result<Self, Stop> {
        let n_classes = problem.n_classes;
        let mut masses: Vec<(u32, u32, u64)> = Vec::new(); // (channel, row, mass)
        let mut unit = true;
        for row in 0..problem.n_rows as u32 {
            let all = problem.masses(row);
            ticker.tick(4 * all.len())?;
            let classes = all.iter().filter(|&&(channel, _)| (channel as usize) < n_classes);
            let present = classes.clone().filter(|&&(_, mass)| mass.into() > 0).count();
            let least = match problem.min_leaf > 1 || present < n_classes {
                true => 0,
                false => classes.clone().map(|&(_, mass)| mass.into()).min().unwrap_or(0),
            };
            let mut mass_of_classes = 0;
            for &(channel, mass) in all {
                let mass: u64 = mass.into();
                if (channel as usize) < n_classes {
                    mass_of_classes += mass;
                    if mass > least {
                        masses.push((channel, row, mass - least));
                    }
                } else {
                    unit &= mass == mass_of_classes;
                    masses.push((channel, row, mass));
                }
            }
        }
        // Where every case has mass 1 the sum over classes counts the cases.
        let channels = if problem.channels > n_classes && !unit { n_classes + 1 } else { n_classes };
        masses.retain(|&(channel, _, _)| (channel as usize) < channels);
        masses.sort_unstable_by_key(|&(channel, row, _)| (channel, row));
        let mut instances = Instances {
            n_tests: problem.n_tests,
            n_classes,
            channels,
            groups: Vec::new(),
            of_channel: Vec::new(),
            rows: Vec::new(),
            of_row: Vec::new(),
            of_row_starts: Vec::new(),
        };
        for of_channel in masses.chunk_by(|a, b| a.0 == b.0) {
            instances.add_channel(of_channel, ticker)?;
        }
        for channel in 0..channels {
            let start = instances.groups.partition_point(|group| group.channel < channel);
            let end = instances.groups.partition_point(|group| group.channel <= channel);
            instances.of_channel.push(start..end);
        }
        instances.index_rows(problem.n_rows);
        Ok(instances)
    }

    fn add_channel(&mut self, masses: &[(u32, u32, u64)], ticker: &mut Ticker) -> Result<(), Stop> {
        let channel = masses[0].0 as usize;
        let copies = masses.iter().fold(0u64, |sum, &(_, _, mass)| sum.saturating_add(mass));
        let mut of_plane = [0u64; 64];
        for &(_, _, mass) in masses {
            (0..64).filter(|bit| mass >> bit & 1 == 1).for_each(|bit| of_plane[bit] += 1);
        }
        // Words to count, in a node of an eighth of the cases; a started word counts whole.
        let words = |instances: u64| if instances == 0 { 0 } else { 1 + instances / (8 * 32) };
        let in_planes: u64 = of_plane.iter().map(|&instances| words(instances)).sum();
        let planes = in_planes < words(copies);
        for bit in 0..if planes { 64 } else { 1 } {
            let start = self.rows.len();
            for &(_, row, mass) in masses {
                let times = if planes { mass >> bit & 1 } else { mass };
                self.rows.extend(std::iter::repeat_n(row, times as usize));
                ticker.tick(2 + times as usize)?;
            }
            if self.rows.len() > start {
                self.groups.push(Group { channel, shift: bit, instances: start..self.rows.len() });
            }
        }
        Ok(())
    }

    fn index_rows(&mut self, n_rows: usize) {
        let mut starts = vec![0u32; n_rows + 1];
        self.rows.iter().for_each(|&row| starts[row as usize + 1] += 1);
        (0..n_rows).for_each(|row| starts[row + 1] += starts[row]);
        let mut next = starts.clone();
        self.of_row = vec![0; self.rows.len()];
        for (instance, &row) in self.rows.iter().enumerate() {
            self.of_row[next[row as usize] as usize] = instance as u32;
            next[row as usize] += 1;
        }
        self.of_row_starts = starts;
    }

    /// The instances of these rows, ascending.
    pub(super) fn of_rows(&self, rows: &[u32]) -> Vec<u32> {
        let of = |&row: &u32| {
            let (start, end) = (self.of_row_starts[row as usize], self.of_row_starts[row as usize + 1]);
            self.of_row[start as usize..end as usize].iter().copied()
        };
        let mut instances: Vec<u32> = rows.iter().flat_map(of).collect();
        instances.sort_unstable();
        instances
    }

    /// The shape of pair counts of this stride.
    pub(super) fn shape(&self, stride: usize, min_leaf: u64) -> Shape<'_> {
        let Instances { n_classes, channels, ref groups, ref of_channel, .. } = *self;
        Shape { stride, n_classes, channels, groups, of_channel, min_leaf }
    }

    /// Mass of each channel, over instances in ascending order.
    pub(super) fn totals<L: Lane>(&self, starts: &[usize]) -> Vec<L> {
        let mut totals = vec![L::default(); self.channels];
        for (group, ends) in self.groups.iter().zip(starts.windows(2)) {
            let of_group = L::of_count((ends[1] - ends[0]) as u32, group.shift);
            totals[group.channel] = totals[group.channel].plus(of_group);
        }
        totals
    }

    /// Where each group starts among instances in ascending order, and where the last ends.
    pub(super) fn starts(&self, instances: &[u32]) -> Vec<usize> {
        let end = |group: &Group| instances.partition_point(|&i| (i as usize) < group.instances.end);
        std::iter::once(0).chain(self.groups.iter().map(end)).collect()
    }
}

/// The bits of all instances.
pub(super) fn packed_rows<M: Mass>(problem: &Problem<M>, instances: &Instances, layout: Layout) -> Vec<u32> {
    let mut packed = Vec::with_capacity(instances.rows.len() * layout.lanes);
    for &row in &instances.rows {
        let words = problem.bits(row);
        for lane in 0..layout.lanes {
            let start = lane * layout.per_lane;
            let end = instances.n_tests.min(start + layout.per_lane);
            packed.push(if start < end { bits::field(words, start, end - start) } else { 0 });
        }
    }
    packed
}
