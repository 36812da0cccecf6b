//! Splits of one column at one node: what they are, what they are worth, which are admissible.

use std::cmp::Ordering;

use super::cells::Cell;
use super::ordered::Worth;
use super::{NominalSplits, table::Coded};
use crate::budget::{Stop, Ticker};
use crate::criterion::roughly::MARGIN;
use crate::criterion::{Exact, Impurity, Side};

/// The better of the splits of two columns; ties: the first column.
pub(crate) fn better(a: Option<(u32, Found)>, b: Option<(u32, Found)>) -> Option<(u32, Found)> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.1.cmp(&a.1).then(a.0.cmp(&b.0)).is_gt() { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// What is asked of a column, in its codes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Up to `below`, or from `above` on: neighbouring codes at the node.
    AtMost { below: u32, above: u32 },
    /// One branch for each of these codes, ascending.
    Each(Box<[u32]>),
    /// This code, or another.
    Is(u32),
    /// One of these codes, ascending, or another.
    In(Box<[u32]>),
}

impl Cut {
    /// How many branches cases of training take.
    pub fn n_branches(&self) -> usize {
        match self {
            Cut::Each(codes) => codes.len(),
            _ => 2,
        }
    }
}

/// A split of one column.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    /// What splits of different columns are compared by: greater is better.
    pub quality: i64,
    /// The total gain.
    pub gain: i64,
    /// How far rounding may be wrong about which quality is greater; then gains are compared as they are, if they are
    /// known.
    pub slack: u64,
    pub exact: Option<Box<Exact>>,
    /// Whether it leaves no impurity, where gains are known roughly only.
    pub is_perfect: bool,
    pub cut: Cut,
}

impl Found {
    /// As a split of this column: what is apart from the last code, if that is a missing value's, is a missing value.
    pub fn of(self, coded: &Coded) -> Self {
        match (&self.cut, coded.own) {
            (Cut::AtMost { above, .. }, Some(own)) if *above == own => Found { cut: Cut::Is(own), ..self },
            _ => self,
        }
    }

    /// Bytes apart from its own.
    pub fn heap(&self) -> usize {
        let cut = match &self.cut {
            Cut::Each(codes) | Cut::In(codes) => 4 * codes.len(),
            _ => 0,
        };
        cut + self.exact.as_ref().map_or(0, |exact| size_of::<Exact>() + exact.heap())
    }

    /// Whether gain and quality are known roughly only.
    pub fn is_rough(&self) -> bool {
        self.slack > 0 && self.exact.is_none()
    }

    fn is_close_to(&self, other: &Self) -> bool {
        self.quality.abs_diff(other.quality) <= self.slack.max(other.slack)
    }

    /// Whether more has to be known to say which is better.
    pub fn is_in_doubt(&self, other: &Self) -> bool {
        (self.is_rough() || other.is_rough()) && self.is_close_to(other)
    }

    /// Which is better; not if that is in doubt.
    pub fn cmp(&self, other: &Self) -> Ordering {
        let close = self.is_close_to(other);
        let exact = self.exact.as_ref().zip(other.exact.as_ref()).filter(|_| close).and_then(|(a, b)| a.compare(b));
        exact.unwrap_or_else(|| self.quality.cmp(&other.quality))
    }
}

/// What came of the look at a column.
pub(super) enum Look {
    Constant,
    NoSplit,
    Splits(Found),
}

impl From<Option<Found>> for Look {
    fn from(found: Option<Found>) -> Self {
        found.map_or(Look::NoSplit, Look::Splits)
    }
}

/// How splits are judged and which are admissible, in the units of one kind of node.
#[derive(Debug)]
pub(crate) struct Rule<I> {
    pub impurity: I,
    /// Whether quality is the gain ratio.
    pub ratio: bool,
    pub max_depth: u64,
    pub min_cases: u64,
    pub min_branch: u64,
    pub min_leaf: u64,
    pub min_gain: f64,
    pub nominal: NominalSplits,
    /// Whether taking levels in the order of a class's share finds the best subset of two classes.
    pub shares_order: bool,
}

/// The cases at a node that have a value in the column.
pub(crate) struct Known<'a> {
    pub side: &'a Side,
    /// How many they are.
    pub count: u64,
    /// The mass of all cases at the node.
    pub node_mass: u64,
}

/// Room for the work, kept between nodes.
#[derive(Debug, Default)]
pub(crate) struct Sides {
    pub(super) left: Side,
    right: Side,
    best_left: Vec<u64>,
    pub(super) cuts: Vec<[u64; 4]>,
    pub(super) narrow_cuts: Vec<[u32; 4]>,
    pub(super) worth: Worth,
}

impl Look {
    /// The split.
    pub fn found(self) -> Option<Found> {
        match self {
            Look::Splits(found) => Some(found),
            _ => None,
        }
    }
}

impl<I: Impurity> Rule<I> {
    /// A split of which nothing but its cut is known for sure, and its gain per unit of this mass within half the margin of
    /// rough gains.
    pub fn roughly(&self, cut: Cut, (gain, is_perfect): (f32, bool), mass: u64) -> Found {
        let unit = mass as f64 * self.impurity.unit();
        let (gain, slack) = ((f64::from(gain) * unit) as i64, (f64::from(MARGIN) * unit) as u64);
        Found { quality: gain, gain, slack, exact: None, is_perfect, cut }
    }

    /// Whether a split leaves no impurity: what is rounded may only seem to.
    pub fn is_perfect(&self, found: &Found, node: &Side) -> bool {
        let seems = || !self.ratio && !found.is_rough() && self.impurity.perfect(node) == Some(found.gain);
        found.is_perfect || seems() && found.exact.as_ref().is_none_or(|exact| exact.is_pure())
    }

    /// About the gain of a split per unit of the mass of its node.
    pub fn rough_gain(&self, found: &Found, node: &Side) -> f32 {
        (found.gain as f64 / (self.impurity.unit() * node.total as f64)) as f32
    }

    /// The fewest cases of a branch where there are two.
    pub fn min_side(&self) -> u64 {
        self.min_leaf.max(self.min_branch)
    }

    /// Whether a node cannot be split whatever its columns are like (so that Assumption 5 holds).
    pub fn is_leaf(&self, masses: &[u64], count: u64, depth: u64) -> bool {
        let pure = masses.iter().filter(|&&mass| mass > 0).count() <= 1;
        pure || depth >= self.max_depth || count < self.min_cases
    }

    /// A total gain and what it is worth, if it is enough.
    pub fn found(
        &self,
        known: &Known,
        (gain, exact): (i64, Option<Exact>),
        masses: impl Iterator<Item = u64>,
        cut: impl FnOnce() -> Cut,
    ) -> Option<Found> {
        let mut branches = 0;
        let masses = masses.inspect(|_| branches += 1);
        let information = match self.ratio {
            true => self.impurity.split_information(masses.chain([known.node_mass - known.side.total])),
            false => masses.map(|_| 0).sum(),
        };
        if self.min_gain > 0.0 {
            let noise = self.impurity.noise(known.node_mass, branches);
            // A product of floats may come out a little above the gain that it means.
            let least = self.min_gain * known.node_mass as f64 * self.impurity.unit();
            if ((gain + noise) as f64) < least * (1.0 - 2f64.powi(-40)) {
                return None;
            }
        }
        let quality = match self.ratio {
            // A ratio is at most one, apart from rounding.
            true => (i128::from(gain) << 60).checked_div(i128::from(information)).unwrap_or(0) as i64,
            false => gain,
        };
        let exact = exact.filter(|_| !self.ratio);
        let slack = if exact.is_some() { self.impurity.noise(known.node_mass, branches) as u64 } else { 0 };
        let (exact, is_perfect) = (exact.map(Box::new), false);
        Some(Found { quality, gain, slack, exact, is_perfect, cut: cut() })
    }

    /// The best split of a column of any kind from its cells, at a node of these class masses and that many cases.
    pub fn best(
        &self,
        coded: &Coded,
        cells: &[Cell],
        (node, count): (&Side, u64),
        sides: &mut Sides,
        ticker: &mut Ticker,
    ) -> Result<Option<Found>, Stop> {
        match (cells.first(), cells.last()) {
            (Some(first), Some(last)) if first.code != last.code => {}
            _ => return Ok(None),
        }
        if coded.ordered {
            return self.best_cut(coded, cells.iter().copied(), (node, count), sides, ticker);
        }
        let mut with_value = Side::default();
        let known = &self.known(coded, cells.iter().copied(), node, count, &mut with_value);
        match self.nominal {
            NominalSplits::Multiway => self.multiway(cells, known, sides, ticker),
            NominalSplits::OneVsRest => self.one_vs_rest(cells, known, sides, ticker),
            NominalSplits::Subsets => self.subsets(cells, known, sides, ticker),
        }
    }

    /// The best split of an ordered column from its cells, which have at least two codes.
    pub fn best_cut(
        &self,
        coded: &Coded,
        cells: impl Iterator<Item = Cell> + Clone,
        (node, count): (&Side, u64),
        sides: &mut Sides,
        ticker: &mut Ticker,
    ) -> Result<Option<Found>, Stop> {
        let mut with_value = Side::default();
        let known = &self.known(coded, cells.clone(), node, count, &mut with_value);
        Ok(self.ordered(cells, known, sides, ticker)?.map(|found| found.of(coded)))
    }

    /// The cases of a node with a value in a column of these cells.
    fn known<'a>(
        &self,
        coded: &Coded,
        cells: impl Iterator<Item = Cell> + Clone,
        node: &'a Side,
        count: u64,
        with_value: &'a mut Side,
    ) -> Known<'a> {
        let with = if coded.is_complete { count } else { cells.clone().map(|cell| cell.count).sum::<u64>() };
        if with == count {
            return Known { side: node, count: with, node_mass: node.total };
        }
        *with_value = self.impurity.side(vec![0; node.masses.len()]);
        cells.for_each(|cell| with_value.masses[cell.class as usize] += cell.mass);
        self.impurity.settle(with_value);
        Known { side: with_value, count: with, node_mass: node.total }
    }

    /// The gain as it is, if that is needed.
    pub(super) fn exact<'m>(&self, known: &Known, parts: impl Iterator<Item = &'m [u64]>) -> Option<Exact> {
        if self.impurity.rounds() { self.impurity.exact_gain(parts, &known.side.masses) } else { None }
    }

    /// The masses of two branches.
    pub(super) fn two(&self, known: &Known, first: u64) -> impl Iterator<Item = u64> + use<I> {
        [first, known.side.total - first].into_iter()
    }
}

/// The two branches of a split while cells come over from one to the other. If `LAZY`, few splits are looked at, and what is
/// kept beside class masses is found for these alone.
pub(super) struct Pair<'s, I, const LAZY: bool = false> {
    rule: &'s Rule<I>,
    whole: &'s Side,
    pub left: &'s mut Side,
    right: &'s mut Side,
    base: i64,
    noise: i64,
    /// How far rounding may be wrong about which gain is greater.
    slack: i64,
    /// Cases on the left, and in all.
    pub count: u64,
    n: u64,
    /// The greatest gain so far.
    best: i64,
    /// The class masses on the left then.
    best_left: &'s mut Vec<u64>,
}

impl<'s, I: Impurity, const LAZY: bool> Pair<'s, I, LAZY> {
    /// All cells are on the right.
    pub fn new(rule: &'s Rule<I>, known: &Known<'s>, sides: &'s mut Sides) -> Self {
        let whole = known.side;
        let (base, noise) = (rule.impurity.purity(whole), rule.impurity.noise(whole.total, 2));
        let slack = if rule.impurity.rounds() { noise } else { 0 };
        let (left, right, best_left) = (&mut sides.left, &mut sides.right, &mut sides.best_left);
        let mut pair =
            Pair { rule, whole, left, right, base, noise, slack, count: 0, n: known.count, best: i64::MIN, best_left };
        pair.restart();
        pair
    }

    pub fn restart(&mut self) {
        self.left.masses.resize(self.whole.masses.len(), 0);
        self.left.clear();
        self.right.copy_from(self.whole);
        self.count = 0;
    }

    #[inline]
    pub fn pass(&mut self, cell: Cell) {
        let class = cell.class as usize;
        if LAZY {
            self.left.masses[class] += cell.mass;
            self.right.masses[class] -= cell.mass;
        } else {
            self.rule.impurity.add(self.left, class, cell.mass);
            self.rule.impurity.remove(self.right, class, cell.mass);
        }
        self.count += cell.count;
    }

    /// Whether the split is admissible and gains more than all before; if so it is the best from now on.
    #[inline]
    pub fn is_better(&mut self) -> bool {
        let min_side = self.rule.min_side();
        if self.count < min_side || self.n - self.count < min_side {
            return false;
        }
        if LAZY {
            self.rule.impurity.settle(self.left);
            self.rule.impurity.settle(self.right);
        }
        let gain = self.rule.impurity.purity(self.left) + self.rule.impurity.purity(self.right) - self.base;
        if gain <= self.best.saturating_sub(self.slack) {
            return false;
        }
        // What is positive but for rounding is looked at exactly, and so is what is better but for rounding.
        if gain <= self.noise && !self.rule.impurity.is_gain(self.left, self.whole, gain) {
            return false;
        }
        if gain <= self.best.saturating_add(self.slack) && self.slack > 0 && self.best > i64::MIN {
            let exact = |left: &[u64]| {
                let right: Vec<u64> = self.whole.masses.iter().zip(left).map(|(all, part)| all - part).collect();
                self.rule.impurity.exact_gain([left, &right].into_iter(), &self.whole.masses)
            };
            if !is_greater(gain, self.best, || exact(&self.left.masses).zip(exact(self.best_left))) {
                return false;
            }
        }
        self.best = gain;
        self.best_left.clone_from(&self.left.masses);
        true
    }

    /// The best gain, and as it is if that is needed.
    pub fn best_gain(&self) -> (i64, Option<Exact>) {
        let right: Vec<u64> = self.whole.masses.iter().zip(&*self.best_left).map(|(all, part)| all - part).collect();
        let exact = || self.rule.impurity.exact_gain([&self.best_left[..], &right].into_iter(), &self.whole.masses);
        (self.best, if self.slack > 0 { exact() } else { None })
    }
}

/// Whether a gain is greater than another that is close: their exact values say so, or else the rounded ones.
pub(super) fn is_greater(gain: i64, other: i64, exact: impl FnOnce() -> Option<(Exact, Exact)>) -> bool {
    let exact = exact().and_then(|(a, b)| a.compare(&b));
    exact.unwrap_or_else(|| gain.cmp(&other)).is_gt()
}
