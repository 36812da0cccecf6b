//! What is counted: the rows of a problem, in groups of equal class and mass.
//!
//! A count of bits counts cases of equal mass. Rows are merged already, so their masses differ: a row of mass 5 becomes
//! two *instances*, one in the group of mass 4 and one in that of mass 1 (a *plane* per bit of the mass), or five in
//! the group of mass 1, or one in a group of all masses of 5, whichever makes less to count. Where all of these are
//! many, as with masses of many digits, instances are *weighed*: a group per class, and each instance has its own mass.
//!
//! **Cancellation.** The least of a row's class masses costs the same in whatever leaf the row ends: that much of all K
//! classes is taken away from every row, and K - 1 times it is a constant of all trees. Case counts do not survive
//! this, so with `min_leaf` above 1 nothing is cancelled. For two classes this is the equivalent-points bound, exactly.

use std::ops::Range;

use super::super::params::Counting;
use super::super::problem::{Mass, Problem};
use super::accumulator::Accumulator;
use super::bit_table::Layout;
use super::pair_shape::{MassGroup, PairShape};
use crate::bits;
use crate::budget::{Reserved, Stop, Ticker};

/// What is counted of a problem.
pub(in crate::optimal) struct Instances {
    pub(super) n_tests: usize,
    pub(super) n_classes: usize,
    /// Classes, and one more if cases have to be counted apart from masses.
    pub(super) channels: usize,
    /// In order of channels.
    pub(super) groups: Vec<MassGroup>,
    /// The groups of each channel.
    pub(super) of_channel: Vec<Range<usize>>,
    /// The row of each instance.
    pub(super) rows: Vec<u32>,
    /// The mass of each instance, if they are weighed; else empty.
    pub(super) masses: Vec<u64>,
    /// Whether they may be weighed roughly first.
    pub(super) is_rough: bool,
    /// The instances of each row, in order of rows.
    of_row: Vec<u32>,
    of_row_starts: Vec<u32>,
}

/// A row's mass in a channel.
struct RowMass {
    channel: u32,
    row: u32,
    mass: u64,
}

impl Instances {
    /// `lane` is the number of bytes that a sum of masses is kept in. What is kept is charged to `charged`. Complexity:
    /// O(n log n + instances), n being rows x classes.
    pub(in crate::optimal) fn new<M: Mass>(
        problem: &Problem<M>,
        lane: usize,
        counting: Counting,
        ticker: &mut Ticker,
        charged: &mut Reserved,
    ) -> Result<Self, Stop> {
        // Entries, which grow by doubling, and their masses or order.
        let _passing = ticker.budget().reserve(problem.n_masses() as u64 * (3 * size_of::<RowMass>() as u64 + 8))?;
        let (channels, mut entries) = entries(problem, ticker)?;
        entries.sort_unstable_by_key(|entry| (entry.channel, entry.row));
        let mut instances = Instances {
            n_tests: problem.n_tests,
            n_classes: problem.n_classes,
            channels,
            groups: Vec::new(),
            of_channel: Vec::new(),
            rows: Vec::new(),
            masses: Vec::new(),
            is_rough: matches!(counting, Counting::Estimated | Counting::Roughly),
            of_row: Vec::new(),
            of_row_starts: Vec::new(),
        };
        let of_channels = || entries.chunk_by(|a, b| a.channel == b.channel);
        let ways: Vec<(usize, Way)> = of_channels().map(|entries| Way::best(entries, lane)).collect();
        let counted = ways.iter().map(|&(work, _)| work).fold(0, usize::saturating_add);
        let is_weighed = match counting {
            Counting::Estimated => of_channels().map(|entries| Way::weighed(entries, lane)).sum::<usize>() < counted,
            Counting::Groups => false,
            Counting::Weighed | Counting::Roughly => true,
        };
        let of_way = |(entries, &(_, way)): (&[RowMass], &(usize, Way))| {
            if is_weighed { entries.len() as u64 } else { way.instances(entries) }
        };
        let n_instances = of_channels().zip(&ways).map(of_way).fold(0, u64::saturating_add);
        // Rows, their masses, and instances by row; with room to grow.
        let of_instance = if is_weighed { 12 } else { 4 };
        charged.grow(n_instances.saturating_mul(of_instance + 4).saturating_add(8 * (problem.n_rows as u64 + 2)))?;
        instances.rows.reserve_exact(n_instances as usize);
        if is_weighed {
            instances.masses.reserve_exact(n_instances as usize);
        }
        for (entries, (_, way)) in of_channels().zip(ways) {
            if is_weighed {
                instances.masses.extend(entries.iter().map(|entry| entry.mass));
                instances.add_group(entries[0].channel, 1, entries.iter().map(|entry| (entry.row, 1)), ticker)?;
            } else {
                instances.add_channel(entries, way, ticker)?;
            }
        }
        for channel in 0..channels {
            let start = instances.groups.partition_point(|group| group.channel < channel);
            let end = instances.groups.partition_point(|group| group.channel <= channel);
            instances.of_channel.push(start..end);
        }
        instances.index_rows(problem.n_rows);
        Ok(instances)
    }

    fn add_channel(&mut self, entries: &[RowMass], way: Way, ticker: &mut Ticker) -> Result<(), Stop> {
        let channel = entries[0].channel;
        match way {
            Way::Copies(unit) => {
                self.add_group(channel, unit, entries.iter().map(|entry| (entry.row, entry.mass / unit)), ticker)
            }
            Way::Planes(unit) => {
                bits_of(entries.iter().fold(0, |any, entry| any | (entry.mass / unit))).try_for_each(|bit| {
                    let of_plane = entries.iter().map(|entry| (entry.row, (entry.mass / unit) >> bit & 1));
                    self.add_group(channel, unit << bit, of_plane, ticker)
                })
            }
            Way::Values => {
                let mut order: Vec<&RowMass> = entries.iter().collect();
                order.sort_by_key(|entry| entry.mass);
                order.chunk_by(|a, b| a.mass == b.mass).try_for_each(|equal| {
                    self.add_group(channel, equal[0].mass, equal.iter().map(|entry| (entry.row, 1)), ticker)
                })
            }
        }
    }

    /// Adds rows, each so many times.
    fn add_group(
        &mut self,
        channel: u32,
        mass: u64,
        rows: impl Iterator<Item = (u32, u64)>,
        ticker: &mut Ticker,
    ) -> Result<(), Stop> {
        let start = self.rows.len();
        for (row, times) in rows {
            self.rows.extend(std::iter::repeat_n(row, times as usize));
            ticker.tick(2 + times as usize)?;
        }
        if self.rows.len() > start {
            self.groups.push(MassGroup { channel: channel as usize, mass, instances: start..self.rows.len() });
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
        let n_rows = self.of_row_starts.len() - 1;
        if rows.len() == n_rows {
            return (0..self.rows.len() as u32).collect();
        }
        let instances = rows.iter().flat_map(of);
        // Of many rows, to mark the instances is faster than to sort them.
        if rows.len() > n_rows / 16 {
            let mut marked = vec![false; self.rows.len()];
            instances.for_each(|instance| marked[instance as usize] = true);
            return (0u32..).zip(marked).filter_map(|(instance, is_marked)| is_marked.then_some(instance)).collect();
        }
        let mut instances: Vec<u32> = instances.collect();
        instances.sort_unstable();
        instances
    }

    /// About how many nanoseconds a search of this depth takes, before bounds.
    pub(in crate::optimal) fn work(&self, depth: u32) -> u64 {
        let (words, tests) = ((self.rows.len() / 32 + self.groups.len()) as u64, self.n_tests as u64);
        let pairs = (words + 8 * self.channels as u64) * tests * tests / 128;
        (2..depth).fold(pairs, |work, _| work.saturating_mul(tests))
    }

    /// The shape of pair counts of this stride.
    pub(super) fn shape(&self, stride: usize, min_leaf: u64) -> PairShape<'_> {
        let Instances { n_classes, channels, ref groups, ref of_channel, .. } = *self;
        PairShape { stride, n_classes, channels, groups, of_channel, min_leaf }
    }

    /// Mass of each channel, over instances in ascending order.
    pub(super) fn totals<L: Accumulator>(&self, instances: &[u32], starts: &[usize]) -> Vec<L> {
        let mut totals = vec![L::default(); self.channels];
        for (group, ends) in self.groups.iter().zip(starts.windows(2)) {
            let total = &mut totals[group.channel];
            if self.masses.is_empty() {
                *total = total.plus(L::of_count((ends[1] - ends[0]) as u32, L::of(group.mass)));
            } else {
                let masses = instances[ends[0]..ends[1]].iter().map(|&i| L::of(self.masses[i as usize]));
                *total = masses.fold(*total, L::plus);
            }
        }
        totals
    }

    /// Where each group starts among instances in ascending order, and where the last ends.
    pub(super) fn starts(&self, instances: &[u32]) -> Vec<usize> {
        let end = |group: &MassGroup| instances.partition_point(|&i| (i as usize) < group.instances.end);
        std::iter::once(0).chain(self.groups.iter().map(end)).collect()
    }
}

/// The channels, and what of each row's masses counts in each.
fn entries<M: Mass>(problem: &Problem<M>, ticker: &mut Ticker) -> Result<(usize, Vec<RowMass>), Stop> {
    let n_classes = problem.n_classes;
    let mut entries = Vec::new();
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
                    entries.push(RowMass { channel, row, mass: mass - least });
                }
            } else {
                unit &= mass == mass_of_classes;
                entries.push(RowMass { channel, row, mass });
            }
        }
    }
    // Where every case has mass 1 the sum over classes counts the cases.
    let channels = if problem.channels > n_classes && !unit { n_classes + 1 } else { n_classes };
    entries.retain(|entry| (entry.channel as usize) < channels);
    Ok((channels, entries))
}

/// How the masses of a channel become instances of equal mass.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// Copies of this mass, of which all are multiples.
    Copies(u64),
    /// A group per bit of the multiples of this mass.
    Planes(u64),
    /// A group per mass.
    Values,
}

impl Way {
    /// The way that makes the least to count, and about how much: in eighths of a word of a node of an eighth of the
    /// cases, for all pairs of tests.
    fn best(entries: &[RowMass], lane: usize) -> (usize, Self) {
        let unit = entries.iter().fold(0, |unit, entry| gcd(unit, entry.mass)).max(1);
        // Counts of a group are multiplied by its mass: in quarters of what a word takes to count.
        let multiply = if lane == 8 { 16 } else { 1 };
        // A started word counts whole, and a group that has no case at the node takes a look.
        let group = |instances: u64| {
            let words = (instances.min(8) as usize * (4 + multiply) / 4).saturating_add((instances / 32) as usize);
            if instances == 0 { 0 } else { 1 + words }
        };
        let copies = entries.iter().fold(0u64, |sum, entry| sum.saturating_add(entry.mass / unit));
        let mut of_plane = [0u64; 64];
        for entry in entries {
            bits_of(entry.mass / unit).for_each(|bit| of_plane[bit] += 1);
        }
        let mut masses: Vec<u64> = entries.iter().map(|entry| entry.mass).collect();
        masses.sort_unstable();
        let planes = of_plane.iter().map(|&instances| group(instances)).sum();
        let values = masses.chunk_by(|a, b| a == b).map(|equal| group(equal.len() as u64)).sum();
        [(group(copies), Way::Copies(unit)), (planes, Way::Planes(unit)), (values, Way::Values)]
            .into_iter()
            .min_by_key(|&(work, _)| work)
            .expect("there are three")
    }

    /// How many instances it makes.
    fn instances(self, entries: &[RowMass]) -> u64 {
        match self {
            Way::Copies(unit) => entries.iter().fold(0, |sum, entry| sum.saturating_add(entry.mass / unit)),
            Way::Planes(unit) => entries.iter().map(|entry| u64::from((entry.mass / unit).count_ones())).sum(),
            Way::Values => entries.len() as u64,
        }
    }

    /// About how much there is to count if each instance is weighed, alike; in wide lanes roughly first.
    fn weighed(entries: &[RowMass], lane: usize) -> usize {
        1 + match lane {
            8 => entries.len() / 5,
            4 => entries.len() / 9,
            _ => entries.len() * 2 / 9,
        }
    }
}

/// The bits that are set.
fn bits_of(mut mass: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (mass != 0).then(|| mass.trailing_zeros() as usize)?;
        mass &= mass - 1;
        Some(bit)
    })
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The bits of all instances.
pub(super) fn packed_rows<M: Mass>(
    problem: &Problem<M>,
    instances: &Instances,
    layout: Layout,
    ticker: &mut Ticker,
) -> Result<Vec<u32>, Stop> {
    let mut packed = Vec::with_capacity(instances.rows.len() * layout.lanes);
    for &row in &instances.rows {
        let words = problem.bits(row);
        for lane in 0..layout.lanes {
            let start = lane * layout.per_lane;
            let end = instances.n_tests.min(start + layout.per_lane);
            packed.push(if start < end { bits::field(words, start, end - start) } else { 0 });
        }
        ticker.tick(2 * layout.lanes)?;
    }
    Ok(packed)
}
