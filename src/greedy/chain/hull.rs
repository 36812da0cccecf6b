//! The best cut of an ordered column of two classes, over and over, while cases leave one by one.
//!
//! What the two branches of a cut are worth together is a convex function of the class masses below the cut: so among
//! the cuts of a run of values one is best whose masses are a corner of the convex hull of all of them. A tree of runs
//! holds these hulls relative to where each run starts, so that they stay as they are when cases before the run leave. The
//! cuts of all runs whose hull comes near the best are then looked at one by one: which is the best, and which of equals
//! comes first, is decided by the same comparison as elsewhere.
//!
//! Complexity: O(log^2 n) for a choice, and for a case that leaves, as long as hulls are small; they are where values
//! and classes have little to do with each other, which is where chains come from.

use crate::greedy::cells::Cell;

/// Values of a run at the bottom.
const RUN: usize = 32;
/// Hulls of more corners are not kept: their runs are looked at part by part.
const MOST_CORNERS: usize = 64;

/// Masses of either class.
type Point = [u64; 2];

fn sum(a: Point, b: Point) -> Point {
    [a[0] + b[0], a[1] + b[1]]
}

/// The values that came, ascending, with the masses of their cases that are still there.
#[derive(Debug)]
pub(super) struct Hulls {
    pub codes: Vec<u32>,
    of_codes: Vec<(Point, u64)>,
    /// Node 1 is the root, nodes 2i and 2i + 1 are the halves of node i; those from the middle on are runs.
    nodes: Vec<Run>,
    changed: Vec<u32>,
}

/// A run of values.
#[derive(Debug, Clone, Default)]
struct Run {
    mass: Point,
    count: u64,
    /// The corners of the hull of the masses up to each value that is there, from the start of the run, ascending; nothing
    /// if they are too many.
    corners: Vec<Point>,
}

/// Which cuts are looked at.
pub(super) struct Cuts<F> {
    /// Cases in all, and the fewest of a branch.
    pub count: u64,
    pub least: u64,
    /// What a cut with these masses below is worth.
    pub worth: F,
}

/// How the cuts of a run lie to what is admissible.
#[derive(PartialEq)]
enum Range {
    Outside,
    Partly,
    Inside,
}

impl<F: Fn(Point) -> i64> Cuts<F> {
    fn range(&self, run: &Run, before: u64) -> Range {
        let (first, last, end) = (before + 1, before + run.count, self.count.saturating_sub(self.least));
        match () {
            () if run.count == 0 || last < self.least || first > end => Range::Outside,
            () if first >= self.least && last <= end => Range::Inside,
            () => Range::Partly,
        }
    }

    fn admits(&self, count: u64) -> bool {
        count >= self.least && count + self.least <= self.count
    }
}

impl Hulls {
    /// About the most bytes that a column of so many values takes.
    pub fn bytes(n_values: usize) -> usize {
        // Runs are filled up to a power of two.
        n_values * 28 + 4 * n_values.div_ceil(RUN) * (size_of::<Run>() + 16 * MOST_CORNERS / 2) + 1024
    }

    /// Of cells that ascend by code.
    pub fn new(cells: impl Iterator<Item = Cell>) -> Self {
        let (mut codes, mut of_codes): (Vec<u32>, Vec<(Point, u64)>) = (Vec::new(), Vec::new());
        for cell in cells {
            if codes.last() != Some(&cell.code) {
                codes.push(cell.code);
                of_codes.push(([0; 2], 0));
            }
            if let Some((mass, count)) = of_codes.last_mut() {
                mass[cell.class as usize] += cell.mass;
                *count += cell.count;
            }
        }
        let half = codes.len().div_ceil(RUN).next_power_of_two();
        let mut hulls = Hulls { codes, of_codes, nodes: vec![Run::default(); 2 * half], changed: Vec::new() };
        (half..2 * half).for_each(|node| hulls.add_up(node));
        (1..half).rev().for_each(|node| hulls.join(node));
        hulls
    }

    /// The masses of all, and how many they are.
    pub fn all(&self) -> (Point, u64) {
        (self.nodes[1].mass, self.nodes[1].count)
    }

    /// How many cases of a value are there.
    pub fn count_of(&self, code: u32) -> u64 {
        self.codes.binary_search(&code).map_or(0, |place| self.of_codes[place].1)
    }

    /// What is there.
    pub fn cells(&self) -> impl Iterator<Item = Cell> + Clone {
        let of_class = |(&code, &(mass, count)): (&u32, &(Point, u64)), class: u32| {
            // Counts are those of the value: they come with the first class that is there.
            let with_count = class == 0 || mass[0] == 0;
            Cell { code, class, mass: mass[class as usize], count: if with_count { count } else { 0 } }
        };
        let there = self.codes.iter().zip(&self.of_codes).filter(|(_, (_, count))| *count > 0);
        there.flat_map(move |value| [0, 1].map(|class| of_class(value, class))).filter(|cell| cell.mass > 0)
    }

    /// Takes a case away; to be followed by [`Hulls::settle`].
    pub fn remove(&mut self, cell: Cell) {
        let Ok(place) = self.codes.binary_search(&cell.code) else { return };
        let (mass, count) = &mut self.of_codes[place];
        mass[cell.class as usize] -= cell.mass;
        *count -= cell.count;
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

    /// Whether the masses up to each value have the shares of all.
    pub fn is_even(&self) -> bool {
        let root = &self.nodes[1];
        let cross = |a: u64, b: u64| u128::from(a) * u128::from(b);
        let is_even = |corner: &Point| cross(corner[0], root.mass[1]) == cross(corner[1], root.mass[0]);
        !root.corners.is_empty() && root.corners.iter().all(is_even)
    }

    /// What the best admissible cut is worth, but for rounding.
    pub fn best<F: Fn(Point) -> i64>(&self, cuts: &Cuts<F>) -> Option<i64> {
        let mut best = None;
        let mut stack = vec![(1, [0; 2], 0)];
        while let Some((node, start, before)) = stack.pop() {
            let run = &self.nodes[node];
            let mut look = |point: Point| best = best.max(Some((cuts.worth)(sum(start, point))));
            match cuts.range(run, before) {
                Range::Outside => {}
                Range::Inside if !run.corners.is_empty() => run.corners.iter().for_each(|&corner| look(corner)),
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

    /// The admissible cuts worth so much at least, in order; if `first`, no other than the first: the mass below, that of
    /// class 1, and the values next to the cut.
    pub fn near<F: Fn(Point) -> i64>(&self, cuts: &Cuts<F>, least: i64, first: bool, near: &mut Vec<[u64; 4]>) {
        near.clear();
        let mut stack = vec![(1, [0; 2], 0)];
        while let Some((node, start, before)) = stack.pop() {
            let run = &self.nodes[node];
            let range = cuts.range(run, before);
            let corners = || run.corners.iter().map(|&corner| (cuts.worth)(sum(start, corner)));
            if range == Range::Outside
                || range == Range::Inside && !run.corners.is_empty() && corners().all(|worth| worth < least)
            {
                continue;
            }
            if node < self.nodes.len() / 2 {
                let left = &self.nodes[2 * node];
                stack.push((2 * node + 1, sum(start, left.mass), before + left.count));
                stack.push((2 * node, start, before));
                continue;
            }
            for (place, point, count) in self.points(node) {
                let [zeros, ones] = sum(start, point);
                if cuts.admits(before + count) && (cuts.worth)([zeros, ones]) >= least {
                    near.push([zeros + ones, ones, self.codes[place].into(), self.above(place).into()]);
                    if first {
                        return;
                    }
                }
            }
        }
    }

    /// The values of a run at the bottom that are there, with the masses and the count from its start up to each.
    fn points(&self, node: usize) -> impl Iterator<Item = (usize, Point, u64)> + '_ {
        let start = (node - self.nodes.len() / 2) * RUN;
        let end = (start + RUN).min(self.codes.len());
        let there = (start.min(end)..end).filter(|&place| self.of_codes[place].1 > 0);
        there.scan(([0; 2], 0), |(mass, count), place| {
            let (more, n) = self.of_codes[place];
            (*mass, *count) = (sum(*mass, more), *count + n);
            Some((place, *mass, *count))
        })
    }

    /// The next value that is there.
    fn above(&self, place: usize) -> u32 {
        let half = self.nodes.len() / 2;
        let mut next = place + 1;
        while next < self.codes.len() && self.of_codes[next].1 == 0 {
            let is_empty = next.is_multiple_of(RUN) && self.nodes[half + next / RUN].count == 0;
            next += if is_empty { RUN } else { 1 };
        }
        self.codes.get(next).copied().unwrap_or(u32::MAX)
    }

    fn add_up(&mut self, node: usize) {
        let mut run = Run { corners: std::mem::take(&mut self.nodes[node].corners), ..Run::default() };
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
        let is_known = |run: &Run| run.count == 0 || !run.corners.is_empty();
        if is_known(left) && is_known(right) {
            corners.extend_from_slice(&left.corners);
            corners.extend(right.corners.iter().map(|&corner| sum(left.mass, corner)));
            keep_corners(&mut corners);
            if corners.len() > MOST_CORNERS {
                corners = Vec::new();
            }
        }
        self.nodes[node] = Run { mass: sum(left.mass, right.mass), count: left.count + right.count, corners };
    }
}

/// Keeps the corners of the hull of points that ascend in both masses.
fn keep_corners(points: &mut Vec<Point>) {
    if points.len() <= 2 {
        return;
    }
    let turn = |a: Point, b: Point, c: Point| {
        let to = |from: Point, to: Point, class: usize| i128::from(to[class]) - i128::from(from[class]);
        to(a, b, 0) * to(a, c, 1) - to(a, b, 1) * to(a, c, 0)
    };
    // The lower side, then the upper one: places of corners.
    let mut sides = [Vec::with_capacity(16), Vec::with_capacity(16)];
    for (side, sign) in sides.iter_mut().zip([1, -1]) {
        for (place, &point) in points.iter().enumerate() {
            while let [.., a, b] = side[..] {
                let (a, b): (usize, usize) = (a, b);
                if turn(points[a], points[b], point) * sign > 0 {
                    break;
                }
                side.pop();
            }
            side.push(place);
        }
    }
    let [lower, upper] = sides;
    let (mut below, mut above) = (lower.into_iter().peekable(), upper.into_iter().peekable());
    let mut n = 0;
    // Places ascend, and none is before where it comes to lie.
    loop {
        let place = match (below.peek(), above.peek()) {
            (Some(&a), Some(&b)) => a.min(b),
            (Some(&a), None) | (None, Some(&a)) => a,
            (None, None) => break,
        };
        below.next_if_eq(&place);
        above.next_if_eq(&place);
        points[n] = points[place];
        n += 1;
    }
    points.truncate(n);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::mix;

    /// Two classes, `n` cases, up to `n_codes` values, masses up to `most`.
    fn cells(seed: u64, n: u64, n_codes: u64, most: u64) -> Vec<Cell> {
        let cell = |i: u64| {
            let r = mix(seed * 1000 + i);
            let mass = 1 + (r >> 20) % most;
            Cell { code: (r % n_codes) as u32, class: (r >> 50) as u32 % 2, mass, count: 1 }
        };
        let mut cells: Vec<Cell> = (0..n).map(cell).collect();
        cells.sort_by_key(|cell| cell.code);
        cells
    }

    /// A convex function: the Gini index, in units.
    fn worth(all: Point) -> impl Fn(Point) -> i64 {
        move |[a, b]: Point| {
            let side = |a: u64, b: u64| match a + b {
                0 => 0.0,
                n => (a as f64 * a as f64 + b as f64 * b as f64) / n as f64,
            };
            ((side(a, b) + side(all[0] - a, all[1] - b)) * 1e6) as i64
        }
    }

    #[test]
    fn hulls_find_the_best_cuts_while_cases_leave() {
        for seed in 0..60 {
            let mut left = cells(seed, 20 + seed * 7, 1 + seed * 5 % 300, if seed % 2 == 0 { 1 } else { 1 << 40 });
            let mut hulls = Hulls::new(left.iter().copied());
            for step in 0.. {
                let (all, count) = hulls.all();
                assert_eq!(count, left.len() as u64);
                let least = 1 + seed % 4;
                let cuts = Cuts { count, least, worth: worth(all) };
                // All cuts, one by one.
                let mut expected: Vec<([u64; 4], i64)> = Vec::new();
                let (mut below, mut n) = ([0; 2], 0);
                for (cell, next) in left.iter().zip(left.iter().skip(1)) {
                    below[cell.class as usize] += cell.mass;
                    n += 1;
                    if cell.code != next.code && n >= least && count - n >= least {
                        let cut = [below[0] + below[1], below[1], cell.code.into(), next.code.into()];
                        expected.push((cut, worth(all)(below)));
                    }
                }
                let best = expected.iter().map(|(_, worth)| *worth).max();
                // Rounding may hide which of two is greater by one.
                assert!(hulls.best(&cuts).is_some() == best.is_some());
                assert!(best.zip(hulls.best(&cuts)).is_none_or(|(a, b)| a.abs_diff(b) <= 2), "{seed}");
                if let Some(best) = best {
                    let mut near = Vec::new();
                    hulls.near(&cuts, best - 50, false, &mut near);
                    let expected: Vec<[u64; 4]> =
                        expected.iter().filter(|(_, worth)| *worth >= best - 50).map(|(cut, _)| *cut).collect();
                    // A run is left out only where all of its corners are worth less.
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
                        let place = mix(seed + 99 * step + i) as usize % left.len();
                        hulls.remove(left.remove(if step % 5 == 0 { place } else { 0 }));
                    }
                }
                hulls.settle();
                let there: u64 = hulls.cells().map(|cell| cell.count).sum();
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
