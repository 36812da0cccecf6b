//! The best cut of an ordered column of several classes, again and again, while cases leave one by one.
//!
//! As `hull_tree`, with a tree of runs of values; hulls of more than two classes have too many corners. The class
//! masses up to each value of a run lie near the straight line from its start to its end, and a box says how far off
//! they are. The purity of the two branches of a cut is convex, so it is at most that of a corner of the box at either
//! end of the line. Runs are opened in the order of this bound until no other run comes near the best purity.

use std::collections::BinaryHeap;

use crate::budget::{Stop, Ticker};
use crate::criterion::{ClassImpurity, ClassStats};
use crate::greedy::split::{BinaryScan, NodeStats, Scratch, SplitCandidate, SplitRule};
use crate::greedy::types::{Bin, CodedTest};

/// The number of values of a leaf of the tree.
const RUN: usize = 32;
/// BoxTree of more classes have too many corners.
pub(super) const MOST_CLASSES: usize = 6;

/// The values of a column, ascending, with the masses of the cases that are still there, and a tree of runs of them.
pub(super) struct BoxTree {
    k: usize,
    codes: Vec<u32>,
    /// Class masses, value after value; and the number of cases per value.
    masses: Vec<u64>,
    counts: Vec<u64>,
    /// Node 1 is the root; nodes 2i and 2i + 1 are the halves of node i; the second half of all nodes are leaves.
    nodes: Vec<BoxedRun>,
    /// Leaves with changes.
    changed: Vec<u32>,
}

/// A run of values: its masses, its number of cases, and the least and greatest offset of the masses up to a value from
/// the line.
#[derive(Debug, Clone)]
struct BoxedRun {
    mass: Box<[u64]>,
    count: u64,
    offsets: Box<[(i64, i64)]>,
}

/// A run to be opened: the bound of its purity, its node, and the number and masses of the cases before it.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct OpenRun {
    bound: i64,
    node: usize,
    before: u64,
    start: Vec<u64>,
}

/// An evaluated cut: its purity, the position of the value below it, and the number and masses of the cases below.
struct NearCut {
    purity: i64,
    position: usize,
    count: u64,
    masses: Vec<u64>,
}

impl BoxTree {
    /// At most about this many bytes for a column of so many values.
    pub fn bytes(n_values: usize, k: usize) -> usize {
        n_values * (12 + 8 * k) + 4 * n_values.div_ceil(RUN) * (size_of::<BoxedRun>() + 24 * k + 32) + 1024
    }

    /// From bins that ascend by code.
    pub fn new(bins: impl Iterator<Item = Bin>, k: usize) -> Self {
        let (mut codes, mut masses, mut counts): (Vec<u32>, Vec<u64>, Vec<u64>) = Default::default();
        for bin in bins {
            if codes.last() != Some(&bin.code) {
                codes.push(bin.code);
                masses.resize(masses.len() + k, 0);
                counts.push(0);
            }
            let last = codes.len() - 1;
            masses[last * k + bin.class as usize] += bin.mass;
            counts[last] += bin.count;
        }
        let half = codes.len().div_ceil(RUN).next_power_of_two();
        let run = BoxedRun { mass: vec![0; k].into(), count: 0, offsets: vec![(0, 0); k].into() };
        let mut boxes = BoxTree { k, codes, masses, counts, nodes: vec![run; 2 * half], changed: Vec::new() };
        (half..2 * half).for_each(|node| boxes.add_up(node));
        (1..half).rev().for_each(|node| boxes.join(node));
        boxes
    }

    /// The masses and the number of all cases.
    pub fn all(&self) -> (&[u64], u64) {
        (&self.nodes[1].mass, self.nodes[1].count)
    }

    /// The number of cases of a value.
    pub fn count_of(&self, code: u32) -> u64 {
        self.codes.binary_search(&code).map_or(0, |position| self.counts[position])
    }

    /// The bins of the cases that are there.
    fn bins(&self) -> impl Iterator<Item = Bin> + Clone {
        let there = (0..self.codes.len()).filter(|&position| self.counts[position] > 0);
        there.flat_map(move |position| {
            let masses = (0..).zip(&self.masses[position * self.k..][..self.k]).filter(|(_, mass)| **mass > 0);
            // The count of the value is given to its first bin.
            let mut count = self.counts[position];
            let code = self.codes[position];
            masses.map(move |(class, &mass)| Bin { code, class, mass, count: std::mem::take(&mut count) })
        })
    }

    /// Removes a case; to be followed by [`BoxTree::update`].
    pub fn remove(&mut self, bin: Bin) {
        let Ok(position) = self.codes.binary_search(&bin.code) else { return };
        self.masses[position * self.k + bin.class as usize] -= bin.mass;
        self.counts[position] -= bin.count;
        self.changed.push((self.nodes.len() / 2 + position / RUN) as u32);
    }

    /// Updates the tree after removals.
    pub fn update(&mut self) {
        let mut changed = std::mem::take(&mut self.changed);
        changed.sort_unstable();
        changed.dedup();
        changed.iter().for_each(|&node| self.add_up(node as usize));
        while changed.first().is_some_and(|&node| node > 1) {
            changed.iter_mut().for_each(|node| *node /= 2);
            changed.dedup();
            changed.iter().for_each(|&node| self.join(node as usize));
        }
        changed.clear();
        self.changed = changed;
    }

    /// The best cut: [`SplitRule::best_threshold`] over those that may be the best.
    pub fn best<I: ClassImpurity>(
        &self,
        rule: &SplitRule<I>,
        known: &NodeStats,
        scratch: &mut Scratch,
        ticker: &mut Ticker,
    ) -> Result<Option<SplitCandidate>, Stop> {
        let rounding_error = rule.impurity.rounding_error(known.stats.total, 2);
        let near = self.near(rule, known, 4 * rounding_error);
        let Some(best) = near.iter().map(|near| near.purity).max() else { return Ok(None) };
        if best <= rule.impurity.purity(known.stats) + rounding_error {
            // There may be a gain that is hidden by rounding.
            return rule.best_threshold(self.bins(), known, scratch, ticker);
        }
        let mut scan = BinaryScan::<I>::new(rule, known, scratch);
        let mut found = None;
        for cut in near.iter().filter(|near| near.purity >= best - 4 * rounding_error) {
            let (NearCut { position, masses, .. }, mut count) = (cut, cut.count);
            scan.restart();
            for (class, &mass) in (0..).zip(masses).filter(|(_, mass)| **mass > 0) {
                scan.move_left(Bin { code: 0, class, mass, count: std::mem::take(&mut count) });
            }
            if scan.improves() {
                let test = CodedTest::AtMost { below: self.codes[*position], above: self.above(*position) };
                found = Some((test, scan.left.total));
            }
        }
        let Some((test, mass)) = found else { return Ok(None) };
        let best = scan.best_gain();
        Ok(rule.candidate(known, best, known.branch_masses(mass), || test))
    }

    /// Cuts in order, among them all whose purity is less than the greatest by at most `slack`.
    fn near<I: ClassImpurity>(&self, rule: &SplitRule<I>, known: &NodeStats, slack: i64) -> Vec<NearCut> {
        let least = rule.min_side().max(1);
        let admits = |count: u64| count >= least && count + least <= known.count;
        let mut branches = [ClassStats::default(), ClassStats::default()];
        let mut purity_of = |left: &[u64]| -> i64 {
            let [a, b] = &mut branches;
            a.masses.clear();
            a.masses.extend_from_slice(left);
            b.masses.clear();
            b.masses.extend(known.stats.masses.iter().zip(left).map(|(all, part)| all - part));
            rule.impurity.recompute(a);
            rule.impurity.recompute(b);
            rule.impurity.purity(a) + rule.impurity.purity(b)
        };
        let mut near: Vec<NearCut> = Vec::new();
        let mut best = i64::MIN;
        let mut open = BinaryHeap::from([OpenRun { bound: i64::MAX, node: 1, before: 0, start: vec![0; self.k] }]);
        while let Some(OpenRun { bound, node, before, start }) = open.pop() {
            if bound < best.saturating_sub(slack) {
                break;
            }
            if node >= self.nodes.len() / 2 {
                let (mut masses, mut count) = (start, before);
                for position in self.positions(node) {
                    let of_value = &self.masses[position * self.k..][..self.k];
                    masses.iter_mut().zip(of_value).for_each(|(sum, mass)| *sum += mass);
                    count += self.counts[position];
                    if admits(count) {
                        let purity = purity_of(&masses);
                        best = best.max(purity);
                        if purity >= best.saturating_sub(slack) {
                            near.push(NearCut { purity, position, count, masses: masses.clone() });
                        }
                    }
                }
                continue;
            }
            let (left, right) = (&self.nodes[2 * node], &self.nodes[2 * node + 1]);
            let after = start.iter().zip(&left.mass).map(|(sum, mass)| sum + mass).collect();
            for (child, start, before) in [(2 * node, start, before), (2 * node + 1, after, before + left.count)] {
                let run = if child % 2 == 0 { left } else { right };
                let is_outside = before + run.count < least || before + 1 + least > known.count;
                if run.count > 0 && !is_outside {
                    let bound = run.bound(&start, &known.stats.masses, &mut purity_of);
                    open.push(OpenRun { bound, node: child, before, start });
                }
            }
        }
        near.sort_unstable_by_key(|near| near.position);
        near
    }

    /// The positions of the values of a leaf that are there.
    fn positions(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let start = ((node - self.nodes.len() / 2) * RUN).min(self.codes.len());
        let end = (start + RUN).min(self.codes.len());
        (start..end).filter(|&position| self.counts[position] > 0)
    }

    /// The code of the next value that is there.
    fn above(&self, position: usize) -> u32 {
        let half = self.nodes.len() / 2;
        let mut next = position + 1;
        while next < self.codes.len() && self.counts[next] == 0 {
            let is_empty = next.is_multiple_of(RUN) && self.nodes[half + next / RUN].count == 0;
            next += if is_empty { RUN } else { 1 };
        }
        self.codes.get(next).copied().unwrap_or(u32::MAX)
    }

    fn add_up(&mut self, node: usize) {
        let k = self.k;
        let mut mass: Box<[u64]> = vec![0; k].into();
        let mut count = 0;
        for position in self.positions(node) {
            mass.iter_mut().zip(&self.masses[position * k..][..k]).for_each(|(sum, mass)| *sum += mass);
            count += self.counts[position];
        }
        let mut offsets: Box<[(i64, i64)]> = vec![(0, 0); k].into();
        let mut below = vec![0; k];
        for position in self.positions(node) {
            below.iter_mut().zip(&self.masses[position * k..][..k]).for_each(|(sum, mass)| *sum += mass);
            for (off, this) in offsets.iter_mut().zip(offsets_from_line(&below, &mass)) {
                *off = (off.0.min(this.0), off.1.max(this.1));
            }
        }
        self.nodes[node] = BoxedRun { mass, count, offsets };
    }

    fn join(&mut self, node: usize) {
        let (left, right) = (&self.nodes[2 * node], &self.nodes[2 * node + 1]);
        let mass: Box<[u64]> = left.mass.iter().zip(&right.mass).map(|(a, b)| a + b).collect();
        // The lines of the halves meet at a point that is off the line of the whole.
        let offsets = offsets_from_line(&left.mass, &mass)
            .zip(left.offsets.iter().zip(&right.offsets))
            .map(|(this, (a, b))| (this.0.min(0) + a.0.min(b.0), this.1.max(0) + a.1.max(b.1)));
        let offsets = offsets.collect();
        self.nodes[node] = BoxedRun { count: left.count + right.count, mass, offsets };
    }
}

/// The offsets of masses from the line to the masses of the whole, at the same share of the sum: rounded down, and up.
fn offsets_from_line<'m>(part: &'m [u64], whole: &'m [u64]) -> impl Iterator<Item = (i64, i64)> + 'm {
    let (sum, all) = (part.iter().sum::<u64>(), whole.iter().sum::<u64>().max(1));
    part.iter().zip(whole).map(move |(&part, &whole)| {
        let on_line = i128::from(whole) * i128::from(sum);
        let (floor, rest) = (on_line.div_euclid(i128::from(all)), on_line.rem_euclid(i128::from(all)));
        let high = i128::from(part) - floor;
        ((high - i128::from(rest > 0)) as i64, high as i64)
    })
}

impl BoxedRun {
    /// An upper bound of the purity of the cuts of the run.
    fn bound(&self, start: &[u64], all: &[u64], purity: &mut impl FnMut(&[u64]) -> i64) -> i64 {
        let k = start.len();
        // Per class: the least and greatest mass at the start of the line, and at its end. If one is below 0 or above
        // the mass of all cases, the bounds of the class are those of the run.
        let mut ends = [[[0u64; 2]; MOST_CLASSES]; 2];
        for class in 0..k {
            let (from, to) = (start[class], start[class] + self.mass[class]);
            let off = [self.offsets[class].0, self.offsets[class].1];
            let at = |mass: u64| off.map(|off| mass.checked_add_signed(off).filter(|&mass| mass <= all[class]));
            let both = [at(from), at(to)].map(|[low, high]| Some([low?, high?]));
            let of_class = if let [Some(a), Some(b)] = both { [a, b] } else { [[from, to]; 2] };
            (ends[0][class], ends[1][class]) = (of_class[0], of_class[1]);
        }
        let mut corner = [0; MOST_CLASSES];
        let mut bound = i64::MIN;
        for end in &ends {
            for corners in 0..1usize << k {
                for (class, mass) in corner[..k].iter_mut().enumerate() {
                    *mass = end[class][corners >> class & 1];
                }
                bound = bound.max(purity(&corner[..k]));
            }
        }
        bound
    }
}
