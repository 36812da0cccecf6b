//! The best cut of an ordered column of two classes, again and again, while cases leave one by one.
//!
//! The purity of the two branches of a cut is a convex function of the class masses below the cut. So among the cuts of
//! a run of values, a best one has masses that are a corner of the convex hull of the masses of all of them. A tree of
//! runs keeps these hulls relative to the start of each run, so that they do not change when cases before the run
//! leave. The cuts of all runs whose hull comes near the best purity are then evaluated one by one: which cut is the
//! best, and which of equals comes first, is decided by the same comparison as at other nodes.
//!
//! Complexity: O(log^2 n) for a choice and for a case that leaves, as long as hulls are small. They are if values and
//! classes are nearly independent, which is where chains come from.

use crate::greedy::split::TwoClassCut;
use crate::greedy::types::Bin;

/// The number of values of a leaf of the tree.
const RUN: usize = 32;
/// Hulls of more corners are not kept: their runs are searched part by part.
const MOST_CORNERS: usize = 64;

/// Masses of the two classes.
type Point = [u64; 2];

fn sum(a: Point, b: Point) -> Point {
    [a[0] + b[0], a[1] + b[1]]
}

/// The values of a column, ascending, with the masses of the cases that are still there, and a tree of runs of them.
#[derive(Debug)]
pub(super) struct HullTree {
    pub codes: Vec<u32>,
    /// Masses and number of cases per value.
    of_codes: Vec<(Point, u64)>,
    /// Node 1 is the root; nodes 2i and 2i + 1 are the halves of node i; the second half of all nodes are leaves.
    nodes: Vec<HullRun>,
    /// Leaves with changes.
    changed: Vec<u32>,
}

/// A run of values.
#[derive(Debug, Clone, Default)]
struct HullRun {
    mass: Point,
    count: u64,
    /// The corners of the hull of the masses from the start of the run up to each of its values, ascending; empty if
    /// they are too many.
    corners: Vec<Point>,
}

/// The admissible cuts, and their purity.
pub(super) struct AdmissibleCuts<F> {
    /// The number of all cases, and the fewest of a branch.
    pub count: u64,
    pub least: u64,
    /// The purity of the two branches of a cut with these masses below it.
    pub purity: F,
}

/// Whether none, some or all cuts of a run are admissible.
#[derive(PartialEq)]
enum Admission {
    None,
    Some,
    All,
}

impl<F: Fn(Point) -> i64> AdmissibleCuts<F> {
    fn admission(&self, run: &HullRun, before: u64) -> Admission {
        let (first, last, end) = (before + 1, before + run.count, self.count.saturating_sub(self.least));
        match () {
            () if run.count == 0 || last < self.least || first > end => Admission::None,
            () if first >= self.least && last <= end => Admission::All,
            () => Admission::Some,
        }
    }

    fn admits(&self, count: u64) -> bool {
        count >= self.least && count + self.least <= self.count
    }
}

impl HullTree {
    /// At most about this many bytes for a column of so many values.
    pub fn bytes(n_values: usize) -> usize {
        // The number of leaves is a power of two.
        n_values * 28 + 4 * n_values.div_ceil(RUN) * (size_of::<HullRun>() + 16 * MOST_CORNERS / 2) + 1024
    }

    /// From bins that ascend by code.
    pub fn new(bins: impl Iterator<Item = Bin>) -> Self {
        let (mut codes, mut of_codes): (Vec<u32>, Vec<(Point, u64)>) = (Vec::new(), Vec::new());
        for bin in bins {
            if codes.last() != Some(&bin.code) {
                codes.push(bin.code);
                of_codes.push(([0; 2], 0));
            }
            if let Some((mass, count)) = of_codes.last_mut() {
                mass[bin.class as usize] += bin.mass;
                *count += bin.count;
            }
        }
        let half = codes.len().div_ceil(RUN).next_power_of_two();
        let mut hulls = HullTree { codes, of_codes, nodes: vec![HullRun::default(); 2 * half], changed: Vec::new() };
        (half..2 * half).for_each(|node| hulls.add_up(node));
        (1..half).rev().for_each(|node| hulls.join(node));
        hulls
    }

    /// The masses and the number of all cases.
    pub fn all(&self) -> (Point, u64) {
        (self.nodes[1].mass, self.nodes[1].count)
    }

    /// The number of cases of a value.
    pub fn count_of(&self, code: u32) -> u64 {
        self.codes.binary_search(&code).map_or(0, |position| self.of_codes[position].1)
    }

    /// The bins of the cases that are there.
    pub fn bins(&self) -> impl Iterator<Item = Bin> + Clone {
        let of_class = |(&code, &(mass, count)): (&u32, &(Point, u64)), class: u32| {
            // The count of the value is given to the bin of its first class.
            let with_count = class == 0 || mass[0] == 0;
            Bin { code, class, mass: mass[class as usize], count: if with_count { count } else { 0 } }
        };
        let there = self.codes.iter().zip(&self.of_codes).filter(|(_, (_, count))| *count > 0);
        there.flat_map(move |value| [0, 1].map(|class| of_class(value, class))).filter(|bin| bin.mass > 0)
    }

    /// Removes a case; to be followed by [`HullTree::update`].
    pub fn remove(&mut self, bin: Bin) {
        let Ok(position) = self.codes.binary_search(&bin.code) else { return };
        let (mass, count) = &mut self.of_codes[position];
        mass[bin.class as usize] -= bin.mass;
        *count -= bin.count;
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

    /// Whether the class shares up to each value are those of all cases.
    pub fn is_even(&self) -> bool {
        let root = &self.nodes[1];
        let cross = |a: u64, b: u64| u128::from(a) * u128::from(b);
        let is_even = |corner: &Point| cross(corner[0], root.mass[1]) == cross(corner[1], root.mass[0]);
        !root.corners.is_empty() && root.corners.iter().all(is_even)
    }

    /// The greatest purity of an admissible cut, apart from rounding.
    pub fn best<F: Fn(Point) -> i64>(&self, cuts: &AdmissibleCuts<F>) -> Option<i64> {
        let mut best = None;
        let mut stack = vec![(1, [0; 2], 0)];
        while let Some((node, start, before)) = stack.pop() {
            let run = &self.nodes[node];
            let mut look = |point: Point| best = best.max(Some((cuts.purity)(sum(start, point))));
            match cuts.admission(run, before) {
                Admission::None => {}
                Admission::All if !run.corners.is_empty() => run.corners.iter().for_each(|&corner| look(corner)),
                _ if node >= self.nodes.len() / 2 => {
                    let points = self.points(node).filter(|(.., count)| cuts.admits(before + count));
                    points.for_each(|(_, point, _)| look(point));
                }
                _ => {
                    let left = &self.nodes[2 * node];
                    stack.push((2 * node + 1, sum(start, left.mass), before + left.count));
                    stack.push((2 * node, start, before));
                }
            }
        }
        best
    }

    /// The admissible cuts with a purity of at least `least`, in order; if `first`, only the first of them.
    pub fn near<F: Fn(Point) -> i64>(
        &self,
        cuts: &AdmissibleCuts<F>,
        least: i64,
        first: bool,
        near: &mut Vec<TwoClassCut<u64>>,
    ) {
        near.clear();
        let mut stack = vec![(1, [0; 2], 0)];
        while let Some((node, start, before)) = stack.pop() {
            let run = &self.nodes[node];
            let admission = cuts.admission(run, before);
            let corners = || run.corners.iter().map(|&corner| (cuts.purity)(sum(start, corner)));
            if admission == Admission::None
                || admission == Admission::All && !run.corners.is_empty() && corners().all(|purity| purity < least)
            {
                continue;
            }
            if node < self.nodes.len() / 2 {
                let left = &self.nodes[2 * node];
                stack.push((2 * node + 1, sum(start, left.mass), before + left.count));
                stack.push((2 * node, start, before));
                continue;
            }
            for (position, point, count) in self.points(node) {
                let [zeros, ones] = sum(start, point);
                if cuts.admits(before + count) && (cuts.purity)([zeros, ones]) >= least {
                    let (below, above) = (self.codes[position].into(), self.above(position).into());
                    near.push(TwoClassCut { mass: zeros + ones, ones, below, above });
                    if first {
                        return;
                    }
                }
            }
        }
    }

    /// The values of a leaf that are there, with the masses and the number of cases from its start up to each.
    fn points(&self, node: usize) -> impl Iterator<Item = (usize, Point, u64)> + '_ {
        let start = (node - self.nodes.len() / 2) * RUN;
        let end = (start + RUN).min(self.codes.len());
        let there = (start.min(end)..end).filter(|&position| self.of_codes[position].1 > 0);
        there.scan(([0; 2], 0), |(mass, count), position| {
            let (more, n) = self.of_codes[position];
            (*mass, *count) = (sum(*mass, more), *count + n);
            Some((position, *mass, *count))
        })
    }

    /// The code of the next value that is there.
    fn above(&self, position: usize) -> u32 {
        let half = self.nodes.len() / 2;
        let mut next = position + 1;
        while next < self.codes.len() && self.of_codes[next].1 == 0 {
            let is_empty = next.is_multiple_of(RUN) && self.nodes[half + next / RUN].count == 0;
            next += if is_empty { RUN } else { 1 };
        }
        self.codes.get(next).copied().unwrap_or(u32::MAX)
    }

    fn add_up(&mut self, node: usize) {
        let mut run = HullRun { corners: std::mem::take(&mut self.nodes[node].corners), ..HullRun::default() };
        run.corners.clear();
        for (_, point, count) in self.points(node) {
            run.corners.push(point);
            (run.mass, run.count) = (point, count);
        }
        keep_corners(&mut run.corners);
        self.nodes[node] = run;
    }

    fn join(&mut self, node: usize) {
        let mut corners = std::mem::take(&mut self.nodes[node].corners);
        corners.clear();
        let (left, right) = (&self.nodes[2 * node], &self.nodes[2 * node + 1]);
        let is_known = |run: &HullRun| run.count == 0 || !run.corners.is_empty();
        if is_known(left) && is_known(right) {
            corners.extend_from_slice(&left.corners);
            corners.extend(right.corners.iter().map(|&corner| sum(left.mass, corner)));
            keep_corners(&mut corners);
            if corners.len() > MOST_CORNERS {
                corners = Vec::new();
            }
        }
        self.nodes[node] = HullRun { mass: sum(left.mass, right.mass), count: left.count + right.count, corners };
    }
}

/// Reduces points that ascend in both masses to the corners of their convex hull.
fn keep_corners(points: &mut Vec<Point>) {
    if points.len() <= 2 {
        return;
    }
    let turn = |a: Point, b: Point, c: Point| {
        let to = |from: Point, to: Point, class: usize| i128::from(to[class]) - i128::from(from[class]);
        to(a, b, 0) * to(a, c, 1) - to(a, b, 1) * to(a, c, 0)
    };
    // The positions of the corners of the lower side, then of the upper one.
    let mut scratch = [Vec::with_capacity(16), Vec::with_capacity(16)];
    for (side, sign) in scratch.iter_mut().zip([1, -1]) {
        for (position, &point) in points.iter().enumerate() {
            while let [.., a, b] = side[..] {
                let (a, b): (usize, usize) = (a, b);
                if turn(points[a], points[b], point) * sign > 0 {
                    break;
                }
                side.pop();
            }
            side.push(position);
        }
    }
    let [lower, upper] = scratch;
    let (mut below, mut above) = (lower.into_iter().peekable(), upper.into_iter().peekable());
    let mut n = 0;
    // Positions ascend, and none is before its destination.
    loop {
        let position = match (below.peek(), above.peek()) {
            (Some(&a), Some(&b)) => a.min(b),
            (Some(&a), None) | (None, Some(&a)) => a,
            (None, None) => break,
        };
        below.next_if_eq(&position);
        above.next_if_eq(&position);
        points[n] = points[position];
        n += 1;
    }
    points.truncate(n);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::mix;

    /// Two classes, `n` cases, up to `n_codes` values, masses up to `most`.
    fn bins(seed: u64, n: u64, n_codes: u64, most: u64) -> Vec<Bin> {
        let bin = |i: u64| {
            let r = mix(seed * 1000 + i);
            let mass = 1 + (r >> 20) % most;
            Bin { code: (r % n_codes) as u32, class: (r >> 50) as u32 % 2, mass, count: 1 }
        };
        let mut bins: Vec<Bin> = (0..n).map(bin).collect();
        bins.sort_by_key(|bin| bin.code);
        bins
    }

    /// A convex function: the Gini index, in units.
    fn purity(all: Point) -> impl Fn(Point) -> i64 {
        move |[a, b]: Point| {
            let of_branch = |a: u64, b: u64| match a + b {
                0 => 0.0,
                n => (a as f64 * a as f64 + b as f64 * b as f64) / n as f64,
            };
            ((of_branch(a, b) + of_branch(all[0] - a, all[1] - b)) * 1e6) as i64
        }
    }

    #[test]
    fn hulls_find_the_best_cuts_while_cases_leave() {
        for seed in 0..60 {
            let mut left = bins(seed, 20 + seed * 7, 1 + seed * 5 % 300, if seed % 2 == 0 { 1 } else { 1 << 40 });
            let mut hulls = HullTree::new(left.iter().copied());
            for step in 0.. {
                let (all, count) = hulls.all();
                assert_eq!(count, left.len() as u64);
                let least = 1 + seed % 4;
                let cuts = AdmissibleCuts { count, least, purity: purity(all) };
                // All cuts, one by one.
                let mut expected: Vec<(TwoClassCut<u64>, i64)> = Vec::new();
                let (mut below, mut n) = ([0; 2], 0);
                for (bin, next) in left.iter().zip(left.iter().skip(1)) {
                    below[bin.class as usize] += bin.mass;
                    n += 1;
                    if bin.code != next.code && n >= least && count - n >= least {
                        let (mass, ones) = (below[0] + below[1], below[1]);
                        let cut = TwoClassCut { mass, ones, below: bin.code.into(), above: next.code.into() };
                        expected.push((cut, purity(all)(below)));
                    }
                }
                let best = expected.iter().map(|(_, purity)| *purity).max();
                // Rounding may hide which of two is greater by one.
                assert!(hulls.best(&cuts).is_some() == best.is_some());
                assert!(best.zip(hulls.best(&cuts)).is_none_or(|(a, b)| a.abs_diff(b) <= 2), "{seed}");
                if let Some(best) = best {
                    let mut near = Vec::new();
                    hulls.near(&cuts, best - 50, false, &mut near);
                    let expected: Vec<TwoClassCut<u64>> =
                        expected.iter().filter(|(_, purity)| *purity >= best - 50).map(|(cut, _)| *cut).collect();
                    // A run is left out only if all of its corners have less purity.
                    assert!(
                        near == expected || expected.iter().filter(|cut| !near.contains(cut)).count() == 0,
                        "{seed}"
                    );
                    hulls.near(&cuts, best, true, &mut near);
                    assert!(near.len() <= 1);
                }
                if left.is_empty() {
                    break;
                }
                for i in 0..1 + step % 3 {
                    if !left.is_empty() {
                        let position = mix(seed + 99 * step + i) as usize % left.len();
                        hulls.remove(left.remove(if step % 5 == 0 { position } else { 0 }));
                    }
                }
                hulls.update();
                let there: u64 = hulls.bins().map(|bin| bin.count).sum();
                assert_eq!(there, left.len() as u64);
            }
        }
    }

    #[test]
    fn corners() {
        let mut line: Vec<Point> = (1..9).map(|i| [i, 2 * i]).collect();
        keep_corners(&mut line);
        assert_eq!(line, [[1, 2], [8, 16]]);
        let mut steps: Vec<Point> = (1u64..100).map(|i| [i / 2, i.div_ceil(2)]).collect();
        keep_corners(&mut steps);
        assert_eq!(steps, [[0, 1], [1, 1], [49, 49], [49, 50]]);
    }
}
