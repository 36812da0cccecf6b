//! The best set of levels of two classes if branches have a least size.
//!
//! Purities are convex functions of class masses, so without a least size a best set takes levels in the order of one
//! class's share (Breiman et al. 1984, theorem 4.5). With it, these *prefixes* may be inadmissible, and the best
//! admissible set lies between them. It is found as the core of a knapsack problem is.
//!
//! Levels are ordered by descending share of class 1, and sets are points (mass, mass of class 1). No set is above the
//! *chain*, the polygon through the points of the prefixes; by symmetry of the two branches it suffices to look at sets
//! near the chain, since complements mirror it. Let a mass lie on the *edge* of the chain that belongs to level c. A
//! set with this mass differs from the prefix before c by some levels, and lies below the line through the edge by the
//! sum of their *losses*: by how much the mass of class 1 of each differs from what it would be with the share of c. At
//! a fixed mass the purity does not fall as the mass of class 1 rises above its share in the whole, and so what is
//! better than the best set so far lies above a threshold, found by bisection. The levels with losses up to the
//! difference are the *core* of the edge; other levels are as in the prefix. Sets over the core are enumerated level by
//! level; of those with the same mass and number of cases only the greatest mass of class 1 is kept.
//!
//! This is exact: an edge is left only when no better set is possible on it. Rounding is allowed for at every
//! threshold, and which of two sets is better is decided as elsewhere. The work is that of subset sums, at most levels
//! x cases per edge if cases have mass one, and usually far less; with arbitrary masses it may be exponential in the
//! size of the core.

use super::binary_scan::BinaryScan;
use super::rule::{NodeStats, SplitRule};
use crate::budget::{Reserved, Stop, Ticker};
use crate::criterion::{ClassImpurity, ClassStats};
use crate::greedy::types::Bin;

/// The masses of a level, or of a set of levels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct LevelMasses {
    mass: u64,
    /// The mass of class 1.
    ones: u64,
    /// The number of cases.
    count: u64,
}

impl LevelMasses {
    fn of(bins: &[Bin]) -> Self {
        bins.iter().fold(LevelMasses::default(), |sums, bin| {
            let ones = if bin.class == 1 { bin.mass } else { 0 };
            sums.plus(LevelMasses { mass: bin.mass, ones, count: bin.count })
        })
    }

    fn plus(self, other: Self) -> Self {
        LevelMasses { mass: self.mass + other.mass, ones: self.ones + other.ones, count: self.count + other.count }
    }

    fn minus(self, other: Self) -> Self {
        LevelMasses { mass: self.mass - other.mass, ones: self.ones - other.ones, count: self.count - other.count }
    }
}

/// The first number of levels of a core; doubled until the core is complete.
const FIRST_CORE: usize = 16;
/// Memory for sets is reserved if it takes more bytes than this.
const FREE: u64 = 1 << 16;

/// The search for a set of levels.
pub(super) struct LevelSubsets<'s, I> {
    rule: &'s SplitRule<I>,
    groups: &'s [&'s [Bin]],
    /// The levels by descending share of class 1, as indices of groups, and their sums.
    order: Vec<usize>,
    levels: Vec<LevelMasses>,
    whole: LevelMasses,
    /// The fewest cases of a branch, and the least mass that a branch of so many cases can have.
    least_count: u64,
    least_mass: u64,
    rounding_error: i64,
    /// The levels of the best set that was found, as indices of groups.
    best: Option<Vec<usize>>,
}

/// An edge of the chain.
struct Edge {
    /// Its level, in the order.
    level: usize,
    /// The prefix before the level.
    prefix: LevelMasses,
    /// The range of masses of admissible sets that lie on it.
    from: u64,
    to: u64,
}

/// A level of the core, its loss, and whether the prefix has it.
struct CoreLevel {
    level: usize,
    loss: f64,
    is_in_prefix: bool,
}

/// A set of levels that differs from a prefix by levels of the core.
#[derive(Clone, Copy)]
struct Set {
    sums: LevelMasses,
    /// The set from which it differs by one level, and that level; none for the prefix itself.
    parent: u32,
    level: u32,
}

/// A list of sets that grows without being copied, so that it never takes more memory than was charged for it.
#[derive(Default)]
struct SetList {
    chunks: Vec<Vec<Set>>,
    len: usize,
}

impl SetList {
    const CHUNK: usize = 1 << 10;

    /// What so many sets take.
    fn bytes(n_sets: usize) -> usize {
        n_sets.next_multiple_of(Self::CHUNK) * size_of::<Set>()
    }

    fn clear(&mut self) {
        self.chunks.iter_mut().for_each(Vec::clear);
        self.len = 0;
    }

    fn push(&mut self, set: Set) {
        let chunk = self.len / Self::CHUNK;
        if chunk == self.chunks.len() {
            self.chunks.push(Vec::with_capacity(Self::CHUNK));
        }
        self.chunks[chunk].push(set);
        self.len += 1;
    }

    fn get(&self, set: u32) -> Set {
        self.chunks[set as usize / Self::CHUNK][set as usize % Self::CHUNK]
    }
}

/// Buffers of the enumeration of sets, and what is charged for them.
struct SetEnumeration<'b> {
    sets: SetList,
    /// The sets to go on with, ascending by mass and count.
    open: Vec<u32>,
    next: Vec<u32>,
    held: Reserved<'b>,
}

impl<'s, I: ClassImpurity> LevelSubsets<'s, I> {
    /// `order`: groups by ascending share of class 1.
    pub fn new(rule: &'s SplitRule<I>, groups: &'s [&'s [Bin]], order: &[usize], known: &NodeStats) -> Self {
        let order: Vec<usize> = order.iter().rev().copied().collect();
        let levels: Vec<LevelMasses> = order.iter().map(|&group| LevelMasses::of(groups[group])).collect();
        let whole = LevelMasses { mass: known.stats.total, ones: known.stats.masses[1], count: known.count };
        let least_count = rule.min_side();
        let least_mass = least_mass(&levels, least_count);
        let rounding_error = rule.impurity.rounding_error(whole.mass, 2);
        LevelSubsets { rule, groups, order, levels, whole, least_count, least_mass, rounding_error, best: None }
    }

    /// The groups of an admissible set that is better than the best that `scan` has seen, and the best of all; `None`
    /// if there is none. `scan` has seen all prefixes.
    pub fn search(mut self, scan: &mut BinaryScan<I>, ticker: &mut Ticker) -> Result<Option<Vec<usize>>, Stop> {
        if 2 * u128::from(self.least_count) > self.whole.count.into() {
            return Ok(None);
        }
        let most_mass = self.whole.mass - self.least_mass;
        let held = ticker.budget().reserve(0)?;
        let buffers = &mut SetEnumeration { sets: SetList::default(), open: Vec::new(), next: Vec::new(), held };
        let mut prefix = LevelMasses::default();
        for level in 0..self.levels.len() {
            let next = prefix.plus(self.levels[level]);
            let (from, to) = (prefix.mass.max(self.least_mass), next.mass.min(most_mass));
            // Between two prefixes that were seen, the purity of the chain, which is convex, is at most theirs.
            if from <= to && !(self.is_admissible(prefix) && self.is_admissible(next)) {
                self.search_edge(&Edge { level, prefix, from, to }, scan, buffers, ticker)?;
            }
            prefix = next;
        }
        Ok(self.best)
    }

    fn is_admissible(&self, set: LevelMasses) -> bool {
        set.count >= self.least_count && self.whole.count - set.count >= self.least_count
    }

    /// Finds the best set with a mass on an edge, if it is better than all that `scan` has seen.
    fn search_edge(
        &mut self,
        edge: &Edge,
        scan: &mut BinaryScan<I>,
        buffers: &mut SetEnumeration,
        ticker: &mut Ticker,
    ) -> Result<(), Stop> {
        let mut size = FIRST_CORE;
        loop {
            ticker.tick(100 * self.levels.len())?;
            let slacks = [edge.from, edge.to].map(|mass| self.slack(edge, mass, scan));
            if slacks == [None, None] {
                return Ok(());
            }
            // The slack is a convex function of the mass, so the greatest is at an end. Floats may be off by a little.
            let slack =
                slacks.into_iter().flatten().fold(0.0, f64::max) + 2.0 + self.whole.mass as f64 * 2f64.powi(-45);
            let mut core = self.core(edge, slack);
            let is_complete = core.len() <= size;
            core.sort_by(|a, b| a.loss.total_cmp(&b.loss));
            core.truncate(size);
            self.search_core(edge, core, slack, scan, buffers, ticker)?;
            if is_complete {
                return Ok(());
            }
            size *= 2;
        }
    }

    /// The mass of class 1 of the line through an edge at a mass, times the mass of its level.
    fn line(&self, edge: &Edge, mass: u64) -> i128 {
        let LevelMasses { mass: level_mass, ones, .. } = self.levels[edge.level];
        let more = i128::from(mass) - i128::from(edge.prefix.mass);
        i128::from(edge.prefix.ones) * i128::from(level_mass) + i128::from(ones) * more
    }

    /// How far a better set of this mass can be below an edge; `None` if there is none.
    fn slack(&self, edge: &Edge, mass: u64, scan: &BinaryScan<I>) -> Option<f64> {
        let (line, level_mass) = (self.line(edge, mass), i128::from(self.levels[edge.level].mass));
        let (floor, rest) = ((line / level_mass) as u64, line % level_mass);
        if rest == 0 && !self.is_better(mass, floor, scan) {
            return None;
        }
        // The least mass of class 1 with a purity that may be better than the best.
        let least = scan.best_purity().saturating_sub(4 * self.rounding_error + 1);
        let may_be_better = |ones: u64| self.purity(mass, ones) >= least;
        let mut high = (floor + u64::from(rest > 0)).min(mass).min(self.whole.ones);
        if !may_be_better(high) {
            return None;
        }
        let product = u128::from(mass) * u128::from(self.whole.ones);
        let mut low = (product / u128::from(self.whole.mass)) as u64;
        if may_be_better(low) {
            high = low;
        }
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            (low, high) = if may_be_better(middle) { (low, middle) } else { (middle, high) };
        }
        Some((line - i128::from(high) * level_mass) as f64 / level_mass as f64)
    }

    /// The purity of the two branches of a set.
    fn purity(&self, mass: u64, ones: u64) -> i64 {
        let (rest, rest_ones) = (self.whole.mass - mass, self.whole.ones - ones);
        let impurity = &self.rule.impurity;
        impurity.purity_of_two(mass - ones, ones) + impurity.purity_of_two(rest - rest_ones, rest_ones)
    }

    /// Whether a set with these masses would be better than the best that `scan` has seen, exactly.
    fn is_better(&self, mass: u64, ones: u64, scan: &BinaryScan<I>) -> bool {
        if self.purity(mass, ones) < scan.best_purity().saturating_sub(4 * self.rounding_error + 1) {
            return false;
        }
        let stats = |mass: u64, ones: u64| -> ClassStats { self.rule.impurity.stats(vec![mass - ones, ones]) };
        let rest = stats(self.whole.mass - mass, self.whole.ones - ones);
        scan.better_gain(&stats(mass, ones), &rest).is_some()
    }

    /// The levels of an edge with losses up to the slack.
    fn core(&self, edge: &Edge, slack: f64) -> Vec<CoreLevel> {
        let of_edge = self.levels[edge.level];
        let levels = self.levels.iter().enumerate().map(|(level, sums)| {
            let cross =
                i128::from(sums.ones) * i128::from(of_edge.mass) - i128::from(of_edge.ones) * i128::from(sums.mass);
            let loss = cross.unsigned_abs() as f64 / of_edge.mass as f64;
            CoreLevel { level, loss, is_in_prefix: level < edge.level }
        });
        levels.filter(|level| level.loss <= slack).collect()
    }

    /// Enumerates the sets that differ from the prefix of an edge by levels of a core, and shows those that may be
    /// better to `scan`.
    fn search_core(
        &mut self,
        edge: &Edge,
        mut core: Vec<CoreLevel>,
        slack: f64,
        scan: &mut BinaryScan<I>,
        buffers: &mut SetEnumeration,
        ticker: &mut Ticker,
    ) -> Result<(), Stop> {
        let SetEnumeration { sets, open, next, held } = buffers;
        // Large levels first: what is left to change the mass soon excludes most sets.
        core.sort_by_key(|level| (std::cmp::Reverse(self.levels[level.level].mass), level.level));
        let (mut more, mut less) = (LevelMasses::default(), LevelMasses::default());
        for level in &core {
            let sums = if level.is_in_prefix { &mut less } else { &mut more };
            *sums = sums.plus(self.levels[level.level]);
        }
        sets.clear();
        sets.push(Set { sums: edge.prefix, parent: u32::MAX, level: u32::MAX });
        open.clear();
        open.push(0);
        let level_mass = i128::from(self.levels[edge.level].mass);
        for CoreLevel { level, is_in_prefix, .. } in core {
            ticker.tick(10 * open.len())?;
            let change = self.levels[level];
            let left = if is_in_prefix { &mut less } else { &mut more };
            *left = left.minus(change);
            let n = sets.len;
            let end = u32::try_from(n + open.len()).map_err(|_| Stop::Memory)?;
            let lists = open.capacity() + next.capacity() + 2 * open.len();
            let bytes = (SetList::bytes(end as usize) + lists * size_of::<u32>()) as u64;
            if bytes > held.bytes().max(FREE) {
                held.resize(bytes)?;
            }
            next.clear();
            next.reserve_exact(2 * open.len());
            for &set in &*open {
                let sums = sets.get(set).sums;
                let sums = if is_in_prefix { sums.minus(change) } else { sums.plus(change) };
                sets.push(Set { sums, parent: set, level: level as u32 });
            }
            let is_open = |set: &LevelMasses| {
                let most = (set.mass + more.mass, set.count + more.count);
                let least = (set.mass.saturating_sub(less.mass), set.count.saturating_sub(less.count));
                let loss = (self.line(edge, set.mass) - i128::from(set.ones) * level_mass) as f64;
                most.0 >= edge.from
                    && least.0 <= edge.to
                    && most.1 >= self.least_count
                    && least.1 <= self.whole.count - self.least_count
                    && loss <= slack * level_mass as f64
            };
            merge(sets, open, n as u32..end, next);
            next.retain(|&set| is_open(&sets.get(set).sums));
            std::mem::swap(open, next);
        }
        for &set in &*open {
            let sums = sets.get(set).sums;
            let is_on_edge = (edge.from..=edge.to).contains(&sums.mass) && self.is_admissible(sums);
            if is_on_edge && self.is_better(sums.mass, sums.ones, scan) {
                self.show(edge, sets, set, scan);
            }
            ticker.tick(2)?;
        }
        Ok(())
    }

    /// Shows a set to `scan`, and keeps it if it is the best.
    fn show(&mut self, edge: &Edge, sets: &SetList, set: u32, scan: &mut BinaryScan<I>) {
        let mut is_in: Vec<bool> = (0..self.levels.len()).map(|level| level < edge.level).collect();
        let mut at = sets.get(set);
        while at.parent != u32::MAX {
            is_in[at.level as usize] ^= true;
            at = sets.get(at.parent);
        }
        let members = || (0..self.levels.len()).filter(|&level| is_in[level]).map(|level| self.order[level]);
        scan.restart();
        members().for_each(|group| self.groups[group].iter().for_each(|&bin| scan.move_left(bin)));
        if scan.improves() {
            self.best = Some(members().collect());
        }
    }
}

/// Merges two lists of sets that ascend by mass and count; of sets with both the same, that of greater mass of class 1
/// is kept (ties: the first list's).
fn merge(sets: &SetList, first: &[u32], second: std::ops::Range<u32>, merged: &mut Vec<u32>) {
    let key = |set: u32| (sets.get(set).sums.mass, sets.get(set).sums.count);
    let ones = |set: u32| sets.get(set).sums.ones;
    merged.clear();
    let (mut first, mut second) = (first.iter().copied().peekable(), second.peekable());
    loop {
        let set = match (first.peek(), second.peek()) {
            (None, None) => break,
            (Some(&a), Some(&b)) if key(a) == key(b) => {
                first.next();
                second.next();
                if ones(b) > ones(a) { b } else { a }
            }
            (Some(&a), Some(&b)) if key(a) > key(b) => second.next().unwrap_or(b),
            (Some(_), _) => first.next().unwrap_or_default(),
            (None, Some(_)) => second.next().unwrap_or_default(),
        };
        merged.push(set);
    }
}

/// A lower bound of the mass of a set of so many cases.
fn least_mass(levels: &[LevelMasses], count: u64) -> u64 {
    let mut order: Vec<LevelMasses> = levels.to_vec();
    let product = |mass: u64, count: u64| u128::from(mass) * u128::from(count);
    order.sort_by(|a, b| product(a.mass, b.count).cmp(&product(b.mass, a.count)));
    let mut sums = LevelMasses::default();
    for level in order {
        if sums.count + level.count >= count {
            let part = product(level.mass, count - sums.count) / u128::from(level.count.max(1));
            return sums.mass + part as u64;
        }
        sums = sums.plus(level);
    }
    sums.mass
}
