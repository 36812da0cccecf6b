//! The best cut of an ordered column of several classes, over and over, while cases leave one by one.
//!
//! As in `hull`, by a tree of runs of values; with more than two classes hulls have too many corners. The class masses up to
//! each value of a run lie near the straight way from its start to its end: a box says how far off they are. What the
//! branches of a cut are worth together is convex, and so is at most what a corner of the box is worth at either end of the
//! way. Runs are opened by that bound until none that is left comes near the best.

use std::collections::BinaryHeap;

use crate::budget::{Stop, Ticker};
use crate::criterion::{Impurity, Side};
use crate::greedy::cells::Cell;
use crate::greedy::split::{Cut, Found, Known, Pair, Rule, Sides};

/// Values of a run at the bottom.
const RUN: usize = 32;
/// Boxes of more classes have too many corners.
pub(super) const MOST_CLASSES: usize = 6;

/// The values that came, ascending, with the masses of their cases that are still there.
pub(super) struct Boxes {
    k: usize,
    codes: Vec<u32>,
    /// Value after value, and how many cases.
    masses: Vec<u64>,
    counts: Vec<u64>,
    /// Node 1 is the root, nodes 2i and 2i + 1 are the halves of node i; those from the middle on are runs.
    nodes: Vec<Run>,
    changed: Vec<u32>,
}

/// A run of values: its masses, how many cases, and how far masses up to a value are from the way, at least and at most.
#[derive(Debug, Clone)]
struct Run {
    mass: Box<[u64]>,
    count: u64,
    off: Box<[(i64, i64)]>,
}

/// A run to be opened: its bound, its node, and what is below it.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Open {
    bound: i64,
    node: usize,
    before: u64,
    start: Vec<u64>,
}

/// A cut that was looked at: the value below it, the masses and the count.
struct Near {
    worth: i64,
    place: usize,
    count: u64,
    masses: Vec<u64>,
}

impl Boxes {
    /// About the most bytes that a column of so many values takes.
    pub fn bytes(n_values: usize, k: usize) -> usize {
        n_values * (12 + 8 * k) + 4 * n_values.div_ceil(RUN) * (size_of::<Run>() + 24 * k + 32) + 1024
    }

    /// Of cells that ascend by code.
    pub fn new(cells: impl Iterator<Item = Cell>, k: usize) -> Self {
        let (mut codes, mut masses, mut counts): (Vec<u32>, Vec<u64>, Vec<u64>) = Default::default();
        for cell in cells {
            if codes.last() != Some(&cell.code) {
                codes.push(cell.code);
                masses.resize(masses.len() + k, 0);
                counts.push(0);
            }
            let last = codes.len() - 1;
            masses[last * k + cell.class as usize] += cell.mass;
            counts[last] += cell.count;
        }
        let half = codes.len().div_ceil(RUN).next_power_of_two();
        let run = Run { mass: vec![0; k].into(), count: 0, off: vec![(0, 0); k].into() };
        let mut boxes = Boxes { k, codes, masses, counts, nodes: vec![run; 2 * half], changed: Vec::new() };
        (half..2 * half).for_each(|node| boxes.add_up(node));
        (1..half).rev().for_each(|node| boxes.join(node));
        boxes
    }

    /// The masses of all, and how many they are.
    pub fn all(&self) -> (&[u64], u64) {
        (&self.nodes[1].mass, self.nodes[1].count)
    }

    /// How many cases of a value are there.
    pub fn count_of(&self, code: u32) -> u64 {
        self.codes.binary_search(&code).map_or(0, |place| self.counts[place])
    }

    /// What is there.
    fn cells(&self) -> impl Iterator<Item = Cell> + Clone {
        let there = (0..self.codes.len()).filter(|&place| self.counts[place] > 0);
        there.flat_map(move |place| {
            let masses = (0..).zip(&self.masses[place * self.k..][..self.k]).filter(|(_, mass)| **mass > 0);
            // The count of the value comes with its first cell.
            let mut count = self.counts[place];
            let code = self.codes[place];
            masses.map(move |(class, &mass)| Cell { code, class, mass, count: std::mem::take(&mut count) })
        })
    }

    /// Takes a case away; to be followed by [`Boxes::settle`].
    pub fn remove(&mut self, cell: Cell) {
        let Ok(place) = self.codes.binary_search(&cell.code) else { return };
        self.masses[place * self.k + cell.class as usize] -= cell.mass;
        self.counts[place] -= cell.count;
        self.changed.push((self.nodes.len() / 2 + place / RUN) as u32);
    }

    /// Follows what was taken away.
    pub fn settle(&mut self) {
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

    /// The best cut: [`Rule::ordered`] over those that may be the best.
    pub fn best<I: Impurity>(
        &self,
        rule: &Rule<I>,
        known: &Known,
        sides: &mut Sides,
        ticker: &mut Ticker,
    ) -> Result<Option<Found>, Stop> {
        let impurity = &rule.impurity;
        let noise = impurity.noise(known.side.total, 2);
        let near = self.near(rule, known, 4 * noise);
        let Some(best) = near.iter().map(|near| near.worth).max() else { return Ok(None) };
        if best <= impurity.purity(known.side) + noise {
            // Perhaps there is a gain that rounding hides.
            return rule.ordered(self.cells(), known, sides, ticker);
        }
        let mut pair = Pair::<I>::new(rule, known, sides);
        let mut found = None;
        for Near { place, count, masses, .. } in near.iter().filter(|near| near.worth >= best - 4 * noise) {
            pair.restart();
            let mut count = *count;
            for (class, &mass) in (0..).zip(masses).filter(|(_, mass)| **mass > 0) {
                pair.pass(Cell { code: 0, class, mass, count: std::mem::take(&mut count) });
            }
            if pair.is_better() {
                found = Some((self.codes[*place], self.above(*place), pair.left.total));
            }
        }
        let Some((below, above, mass)) = found else { return Ok(None) };
        let best = pair.best_gain();
        Ok(rule.found(known, best, rule.two(known, mass), || Cut::AtMost { below, above }))
    }

    /// Cuts in order, among them all that are worth as much as the best, or less by this much at most.
    fn near<I: Impurity>(&self, rule: &Rule<I>, known: &Known, slack: i64) -> Vec<Near> {
        let least = rule.min_side().max(1);
        let admits = |count: u64| count >= least && count + least <= known.count;
        let mut sides = [Side::default(), Side::default()];
        let mut worth = |left: &[u64]| -> i64 {
            let [a, b] = &mut sides;
            a.masses.clear();
            a.masses.extend_from_slice(left);
            b.masses.clear();
            b.masses.extend(known.side.masses.iter().zip(left).map(|(all, part)| all - part));
            rule.impurity.settle(a);
            rule.impurity.settle(b);
            rule.impurity.purity(a) + rule.impurity.purity(b)
        };
        let mut near: Vec<Near> = Vec::new();
        let mut best = i64::MIN;
        let mut open = BinaryHeap::from([Open { bound: i64::MAX, node: 1, before: 0, start: vec![0; self.k] }]);
        while let Some(Open { bound, node, before, start }) = open.pop() {
            if bound < best.saturating_sub(slack) {
                break;
            }
            if node >= self.nodes.len() / 2 {
                let (mut masses, mut count) = (start, before);
                for place in self.places(node) {
                    let of_value = &self.masses[place * self.k..][..self.k];
                    masses.iter_mut().zip(of_value).for_each(|(sum, mass)| *sum += mass);
                    count += self.counts[place];
                    if admits(count) {
                        let worth = worth(&masses);
                        best = best.max(worth);
                        if worth >= best.saturating_sub(slack) {
                            near.push(Near { worth, place, count, masses: masses.clone() });
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
                    let bound = run.bound(&start, &known.side.masses, &mut worth);
                    open.push(Open { bound, node: child, before, start });
                }
            }
        }
        near.sort_unstable_by_key(|near| near.place);
        near
    }

    /// The values of a run at the bottom that are there.
    fn places(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let start = ((node - self.nodes.len() / 2) * RUN).min(self.codes.len());
        let end = (start + RUN).min(self.codes.len());
        (start..end).filter(|&place| self.counts[place] > 0)
    }

    /// The next value that is there.
    fn above(&self, place: usize) -> u32 {
        let half = self.nodes.len() / 2;
        let mut next = place + 1;
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
        for place in self.places(node) {
            mass.iter_mut().zip(&self.masses[place * k..][..k]).for_each(|(sum, mass)| *sum += mass);
            count += self.counts[place];
        }
        let mut off: Box<[(i64, i64)]> = vec![(0, 0); k].into();
        let mut below = vec![0; k];
        for place in self.places(node) {
            below.iter_mut().zip(&self.masses[place * k..][..k]).for_each(|(sum, mass)| *sum += mass);
            for (off, this) in off.iter_mut().zip(off_way(&below, &mass)) {
                *off = (off.0.min(this.0), off.1.max(this.1));
            }
        }
        self.nodes[node] = Run { mass, count, off };
    }

    fn join(&mut self, node: usize) {
        let (left, right) = (&self.nodes[2 * node], &self.nodes[2 * node + 1]);
        let mass: Box<[u64]> = left.mass.iter().zip(&right.mass).map(|(a, b)| a + b).collect();
        // The ways of the halves lead over a place that is off the way of both.
        let off = off_way(&left.mass, &mass)
            .zip(left.off.iter().zip(&right.off))
            .map(|(this, (a, b))| (this.0.min(0) + a.0.min(b.0), this.1.max(0) + a.1.max(b.1)));
        let off = off.collect();
        self.nodes[node] = Run { count: left.count + right.count, mass, off };
    }
}

/// How far masses are off the way to others, with the same share of the sum: rounded down, and up.
fn off_way<'m>(part: &'m [u64], whole: &'m [u64]) -> impl Iterator<Item = (i64, i64)> + 'm {
    let (sum, all) = (part.iter().sum::<u64>(), whole.iter().sum::<u64>().max(1));
    part.iter().zip(whole).map(move |(&part, &whole)| {
        let on_way = i128::from(whole) * i128::from(sum);
        let (floor, rest) = (on_way.div_euclid(i128::from(all)), on_way.rem_euclid(i128::from(all)));
        let high = i128::from(part) - floor;
        ((high - i128::from(rest > 0)) as i64, high as i64)
    })
}

impl Run {
    /// What no cut within is worth more than.
    fn bound(&self, start: &[u64], all: &[u64], worth: &mut impl FnMut(&[u64]) -> i64) -> i64 {
        let k = start.len();
        // Per class: the least and the greatest mass at the start of the way, and at its end. Where that is less than
        // nothing or more than all, the way says nothing of that class.
        let mut ends = [[[0u64; 2]; MOST_CLASSES]; 2];
        for class in 0..k {
            let (from, to) = (start[class], start[class] + self.mass[class]);
            let off = [self.off[class].0, self.off[class].1];
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
                bound = bound.max(worth(&corner[..k]));
            }
        }
        bound
    }
}
