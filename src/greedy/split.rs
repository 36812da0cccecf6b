//! The best split of one column at one node, by the kind of the column.

use std::cmp::Ordering;

use super::cells::Cell;
use super::{NominalSplits, table::Coded};
use crate::criterion::{Fraction, Impurity, Side};

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

/// The branch of each code.
pub(crate) enum Branches {
    AtMost(u32),
    Is(u32),
    Table(Vec<u32>),
}

impl Cut {
    /// How many branches cases of training take.
    pub fn n_branches(&self) -> usize {
        match self {
            Cut::Each(codes) => codes.len(),
            _ => 2,
        }
    }

    /// The branch of each code that came to the node.
    pub fn branches(&self, n_codes: u32) -> Branches {
        match self {
            Cut::AtMost { below, .. } => Branches::AtMost(*below),
            Cut::Is(code) => Branches::Is(*code),
            Cut::In(codes) => {
                let mut table = vec![1; n_codes as usize];
                codes.iter().for_each(|&code| table[code as usize] = 0);
                Branches::Table(table)
            }
            Cut::Each(codes) => {
                let mut table = vec![0; n_codes as usize];
                (0..).zip(codes).for_each(|(branch, &code)| table[code as usize] = branch);
                Branches::Table(table)
            }
        }
    }
}

impl Branches {
    /// The branch of a code that came to the node.
    #[inline]
    pub fn of(&self, code: u32) -> usize {
        match self {
            Branches::AtMost(below) => usize::from(code > *below),
            Branches::Is(same) => usize::from(code != *same),
            Branches::Table(table) => table[code as usize] as usize,
        }
    }
}

/// A split of one column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// What splits of different columns are compared by: greater is better.
    pub quality: i64,
    /// The total gain.
    pub gain: i64,
    /// The gain, if rounding matters: then this is what is compared.
    pub exact: Option<Fraction>,
    pub cut: Cut,
}

impl Found {
    /// Which is better.
    pub fn cmp(&self, other: &Self) -> Ordering {
        match (self.exact, other.exact) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => self.quality.cmp(&other.quality),
        }
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

/// The cases below a cut of two classes: their mass, that of class 1, how many, and the greatest code.
#[derive(Debug, Clone, Copy, Default)]
struct Below {
    mass: u64,
    ones: u64,
    count: u64,
    code: u32,
}

/// In how many bits masses are kept.
trait Width: Copy + Default + Into<u64> {
    /// What is known to fit.
    fn narrow(x: u64) -> Self;
}

impl Width for u32 {
    #[inline]
    fn narrow(x: u64) -> Self {
        x as u32
    }
}

impl Width for u64 {
    #[inline]
    fn narrow(x: u64) -> Self {
        x
    }
}

/// Room for the work, kept between nodes.
#[derive(Debug, Default)]
pub(crate) struct Sides {
    left: Side,
    right: Side,
    cuts: Vec<[u64; 3]>,
    narrow_cuts: Vec<[u32; 3]>,
}

/// Up to this many levels at a node all their subsets are tried.
const EXHAUSTIVE: usize = 12;

impl<I: Impurity> Rule<I> {
    /// The fewest cases of a branch where there are two.
    pub fn min_side(&self) -> u64 {
        self.min_leaf.max(self.min_branch)
    }

    /// Whether a node cannot be split whatever its columns are like (so that Assumption 5 holds).
    pub fn is_leaf(&self, side: &Side, count: u64, depth: u64) -> bool {
        let pure = side.masses.iter().filter(|&&mass| mass > 0).count() <= 1;
        pure || depth >= self.max_depth || count < self.min_cases
    }

    /// A total gain and what it is worth, if it is enough.
    pub fn found(
        &self,
        known: &Known,
        (gain, exact): (i64, Option<Fraction>),
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
            if ((gain + noise) as f64) < self.min_gain * known.node_mass as f64 * self.impurity.unit() {
                return None;
            }
        }
        let quality = match self.ratio {
            // A ratio is at most one, apart from rounding.
            true => (i128::from(gain) << 60).checked_div(i128::from(information)).unwrap_or(0) as i64,
            false => gain,
        };
        Some(Found { quality, gain, exact, cut: cut() })
    }

    /// The best split of a column of any kind from its cells, at a node of these class masses and that many cases.
    pub fn best(&self, coded: &Coded, cells: &[Cell], node: &Side, count: u64, sides: &mut Sides) -> Option<Found> {
        match (cells.first(), cells.last()) {
            (Some(first), Some(last)) if first.code != last.code => {}
            _ => return None,
        }
        let with = cells.iter().map(|cell| cell.count).sum::<u64>();
        let is_complete = with == count;
        let mut with_value = Side::default();
        if !is_complete {
            with_value = self.impurity.side(vec![0; node.masses.len()]);
            cells.iter().for_each(|cell| self.impurity.add(&mut with_value, cell.class as usize, cell.mass));
        }
        let known = &Known { side: if is_complete { node } else { &with_value }, count: with, node_mass: node.total };
        if coded.ordered {
            let found = self.ordered(cells.iter().copied(), known, sides)?;
            return Some(match (&found.cut, coded.own) {
                (Cut::AtMost { above, .. }, Some(own)) if *above == own => Found { cut: Cut::Is(own), ..found },
                _ => found,
            });
        }
        match self.nominal {
            NominalSplits::Multiway => self.multiway(cells, known, sides),
            NominalSplits::OneVsRest => self.one_vs_rest(cells, known, sides),
            NominalSplits::Subsets => self.subsets(cells, known, sides),
        }
    }

    /// The best cut of an ordered column; ties: the first. `cells` ascend by code, of which there are two or more.
    /// Complexity: O(cells), times what the impurity takes.
    pub fn ordered(
        &self,
        cells: impl Iterator<Item = Cell> + Clone,
        known: &Known,
        sides: &mut Sides,
    ) -> Option<Found> {
        if known.side.masses.len() == 2 {
            let found = match u32::try_from(known.side.total) {
                Ok(_) => self.ordered_of_two::<u32>(cells.clone(), known, &mut sides.narrow_cuts),
                Err(_) => self.ordered_of_two::<u64>(cells.clone(), known, &mut sides.cuts),
            };
            if found.is_some() || self.impurity.noise(known.side.total, 2) == 0 {
                return found;
            }
        }
        let mut pair = Pair::new(self, known, sides);
        let (mut found, mut below) = (None, u32::MAX);
        for cell in cells {
            if below != cell.code {
                if pair.count > 0 && pair.is_better() {
                    found = Some((below, cell.code, pair.left.total));
                }
                below = cell.code;
            }
            pair.pass(cell);
        }
        let best = (pair.best, pair.best_exact);
        let (below, above, mass) = found?;
        self.found(known, best, self.two(known, mass), || Cut::AtMost { below, above })
    }

    /// [`Rule::ordered`] for two classes, whose masses alone say all of a set. The impurities at hand are concave, so
    /// that of the cuts within a run of values of one class only the first and the last can be best: those next to the
    /// other class, and those that the least size of a branch makes first or last (Fayyad and Irani, *On the handling of
    /// continuous-valued attributes in decision tree generation*, 1992).
    ///
    /// `None` if no gain is positive without doubt.
    fn ordered_of_two<M: Width>(
        &self,
        cells: impl Iterator<Item = Cell> + Clone,
        known: &Known,
        cuts: &mut Vec<[M; 3]>,
    ) -> Option<Found> {
        let n = known.count;
        let least = self.min_side().max(1);
        let impurity = &self.impurity;
        let (all, all_ones) = (known.side.total, known.side.masses[1]);
        let base = impurity.pair(all - all_ones, all_ones);
        let noise = impurity.noise(all, 2);
        let (mut best, mut best_exact, mut found) = (base + noise, None, None);
        // Cuts are collected before they are looked at: which ones are is nothing that a processor could guess.
        let mut n_cuts = 0;
        let (mut below, mut cut) = (Below::default(), Below::default());
        // What the value below the cut is: of one class, or of both (2).
        let mut kind_below = 2;
        let mut last = None;
        let mut cells_left = cells.clone();
        loop {
            let cell = cells_left.next();
            let code = cell.map_or(u32::MAX, |cell| cell.code);
            if code != below.code {
                // A value ends here. Was the cut below it worth a look?
                let (ones, mass) = (below.ones - cut.ones, below.mass - cut.mass);
                let kind = if ones == 0 { 0 } else { 2 - u32::from(ones == mass) };
                if cut.count >= least && cut.count + least <= n {
                    if n_cuts == cuts.len() {
                        cuts.resize(2 * n_cuts + 64, [M::default(); 3]);
                    }
                    cuts[n_cuts] = [cut.mass, cut.ones, cut.code.into()].map(M::narrow);
                    n_cuts += usize::from(kind != kind_below || kind == 2 || last.is_none());
                    last = Some(cut);
                }
                (kind_below, cut) = (kind, below);
            }
            let Some(cell) = cell else { break };
            below.mass += cell.mass;
            below.ones += cell.mass * u64::from(cell.class);
            below.count += cell.count;
            below.code = code;
        }
        let last = last.map(|cut| [cut.mass, cut.ones, cut.code.into()].map(M::narrow));
        for cut in cuts[..n_cuts].iter().chain(&last) {
            let [mass, ones, code] = cut.map(M::into);
            let (above, ones_above) = (all - mass, all_ones - ones);
            let value = impurity.pair(mass - ones, ones) + impurity.pair(above - ones_above, ones_above);
            if value > if I::ROUNDS { best - noise } else { best } {
                let parts = [[mass - ones, ones], [above - ones_above, ones_above]];
                let exact = self.exact(known, parts.iter().map(|part| &part[..]));
                let is_better = match (exact, best_exact) {
                    (Some(exact), Some(best)) => exact > best,
                    _ => value > best,
                };
                if is_better {
                    (best, best_exact, found) = (value, exact, Some((code as u32, mass)));
                }
            }
        }
        let (below, mass) = found?;
        let above = cells.map(|cell| cell.code).find(|&code| code > below)?;
        self.found(known, (best - base, best_exact), self.two(known, mass), || Cut::AtMost { below, above })
    }

    /// The gain as a fraction, if it is needed and in range.
    fn exact<'m>(&self, known: &Known, parts: impl Iterator<Item = &'m [u64]>) -> Option<Fraction> {
        if I::ROUNDS { self.impurity.exact_gain(parts, &known.side.masses) } else { None }
    }

    /// The masses of two branches.
    fn two(&self, known: &Known, first: u64) -> impl Iterator<Item = u64> + use<I> {
        [first, known.side.total - first].into_iter()
    }

    /// A branch per level.
    fn multiway(&self, cells: &[Cell], known: &Known, sides: &mut Sides) -> Option<Found> {
        let part = &mut sides.left;
        part.copy_from(known.side);
        let (mut gain, mut large, mut differs) = (-self.impurity.purity(known.side), 0, false);
        let (mut codes, mut masses, mut by_class) = (Vec::new(), Vec::new(), Vec::new());
        for group in groups(cells) {
            part.clear();
            group.iter().for_each(|cell| self.impurity.add(part, cell.class as usize, cell.mass));
            let count = group.iter().map(|cell| cell.count).sum::<u64>();
            if count < self.min_leaf {
                return None;
            }
            large += u32::from(count >= self.min_branch);
            gain += self.impurity.purity(part);
            differs = differs || self.impurity.is_gain(part, known.side, 0);
            codes.push(group[0].code);
            masses.push(part.total);
            if I::ROUNDS {
                by_class.push(part.masses.clone());
            }
        }
        let exact = self.exact(known, by_class.iter().map(|masses| &masses[..]));
        let is_gain = exact.map_or_else(
            || {
                let noise = self.impurity.noise(known.side.total, codes.len());
                gain > noise || differs || self.impurity.is_gain(part, known.side, gain)
            },
            Fraction::is_positive,
        );
        if large < 2 || !is_gain {
            return None;
        }
        self.found(known, (gain, exact), masses.into_iter(), || Cut::Each(codes.into()))
    }

    /// One level against the others; ties: the first level.
    fn one_vs_rest(&self, cells: &[Cell], known: &Known, sides: &mut Sides) -> Option<Found> {
        let mut pair = Pair::new(self, known, sides);
        let mut found = None;
        for group in groups(cells) {
            pair.restart();
            group.iter().for_each(|&cell| pair.pass(cell));
            if pair.is_better() {
                found = Some((group[0].code, pair.left.total));
            }
        }
        let best = (pair.best, pair.best_exact);
        let (code, mass) = found?;
        self.found(known, best, self.two(known, mass), || Cut::Is(code))
    }

    /// A set of levels against the others; the one that passes has the first level.
    ///
    /// For two classes the best set takes levels in the order of one class's share (Breiman et al., *Classification and
    /// Regression Trees*, 1984, theorem 4.5), unless a branch may be too small or costs bend the impurity; then, and for
    /// more classes, all sets are tried up to [`EXHAUSTIVE`] levels. Beyond that the sets that take levels in the order of
    /// some class's share are tried, class after class: a heuristic. Ties: the first set tried.
    fn subsets(&self, cells: &[Cell], known: &Known, sides: &mut Sides) -> Option<Found> {
        let groups: Vec<&[Cell]> = groups(cells).collect();
        let n_classes = known.side.masses.len();
        let by_shares = n_classes == 2 && self.shares_order && self.min_side() <= 1;
        let mut pair = Pair::new(self, known, sides);
        let mut passes: Option<(Vec<usize>, u64)> = None;
        if groups.len() <= EXHAUSTIVE && !by_shares {
            // Bit i - 1 of a set is group i; group 0 is always there.
            for set in 0..(1u32 << (groups.len() - 1)) - 1 {
                pair.restart();
                let members = (0..groups.len()).filter(|&i| i == 0 || set >> (i - 1) & 1 == 1);
                members.clone().for_each(|i| groups[i].iter().for_each(|&cell| pair.pass(cell)));
                if pair.is_better() {
                    passes = Some((members.collect(), pair.left.total));
                }
            }
        } else {
            for class in if by_shares { 1..2 } else { 0..n_classes } {
                let order = by_share(&groups, class as u32);
                pair.restart();
                for (i, &group) in order[..order.len() - 1].iter().enumerate() {
                    groups[group].iter().for_each(|&cell| pair.pass(cell));
                    if pair.is_better() {
                        passes = Some((order[..=i].to_vec(), pair.left.total));
                    }
                }
            }
        }
        let best = (pair.best, pair.best_exact);
        let (passes, mass) = passes?;
        let mut is_in = vec![false; groups.len()];
        passes.iter().for_each(|&group| is_in[group] = true);
        let first = is_in[0];
        let codes = groups.iter().zip(&is_in).filter(|(_, is_in)| **is_in == first).map(|(group, _)| group[0].code);
        self.found(known, best, self.two(known, mass), || Cut::In(codes.collect()))
    }
}

/// Groups of cells in ascending order of the share of one class; ties: the first.
fn by_share(groups: &[&[Cell]], class: u32) -> Vec<usize> {
    let sums: Vec<(u128, u128)> = groups
        .iter()
        .map(|group| {
            let of = |class: Option<u32>| {
                let cells = group.iter().filter(|cell| class.is_none_or(|class| cell.class == class));
                cells.map(|cell| u128::from(cell.mass)).sum::<u128>()
            };
            (of(Some(class)), of(None))
        })
        .collect();
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by(|&a, &b| (sums[a].0 * sums[b].1).cmp(&(sums[b].0 * sums[a].1)));
    order
}

fn groups(cells: &[Cell]) -> impl Iterator<Item = &[Cell]> {
    cells.chunk_by(|a, b| a.code == b.code)
}

/// The two branches of a split while cells come over from one to the other.
struct Pair<'s, I> {
    rule: &'s Rule<I>,
    whole: &'s Side,
    left: &'s mut Side,
    right: &'s mut Side,
    base: i64,
    noise: i64,
    /// Cases on the left, and in all.
    count: u64,
    n: u64,
    /// The greatest gain so far.
    best: i64,
    best_exact: Option<Fraction>,
}

impl<'s, I: Impurity> Pair<'s, I> {
    /// All cells are on the right.
    fn new(rule: &'s Rule<I>, known: &Known<'s>, sides: &'s mut Sides) -> Self {
        let whole = known.side;
        let (base, noise) = (rule.impurity.purity(whole), rule.impurity.noise(whole.total, 2));
        let (left, right) = (&mut sides.left, &mut sides.right);
        let mut pair =
            Pair { rule, whole, left, right, base, noise, count: 0, n: known.count, best: i64::MIN, best_exact: None };
        pair.restart();
        pair
    }

    fn restart(&mut self) {
        self.left.masses.resize(self.whole.masses.len(), 0);
        self.left.clear();
        self.right.copy_from(self.whole);
        self.count = 0;
    }

    #[inline]
    fn pass(&mut self, cell: Cell) {
        self.rule.impurity.add(self.left, cell.class as usize, cell.mass);
        self.rule.impurity.remove(self.right, cell.class as usize, cell.mass);
        self.count += cell.count;
    }

    /// Whether the split is admissible and gains more than all before; if so it is the best from now on.
    #[inline]
    fn is_better(&mut self) -> bool {
        let min_side = self.rule.min_side();
        if self.count < min_side || self.n - self.count < min_side {
            return false;
        }
        let gain = self.rule.impurity.purity(self.left) + self.rule.impurity.purity(self.right) - self.base;
        if gain <= if I::ROUNDS { self.best.saturating_sub(self.noise) } else { self.best } {
            return false;
        }
        // What is positive but for rounding is looked at exactly, and so is what is better but for rounding.
        if gain <= self.noise && !self.rule.impurity.is_gain(self.left, self.whole, gain) {
            return false;
        }
        if I::ROUNDS {
            let parts = [&self.left.masses[..], &self.right.masses].into_iter();
            let exact = self.rule.impurity.exact_gain(parts, &self.whole.masses);
            let is_better = match (exact, self.best_exact) {
                (Some(exact), Some(best)) => exact > best,
                _ => gain > self.best,
            };
            if !is_better {
                return false;
            }
            self.best_exact = exact;
        }
        self.best = gain;
        true
    }
}
