//! The cases of a node, and their way down a split.

use smallvec::SmallVec;

use super::split::Cut;
use super::table::{NONE, Table, Weights};
use crate::budget::{Stop, Ticker};

/// Mass per class, without an allocation for two.
pub(crate) type Masses = SmallVec<[u64; 2]>;

/// Cases that came to a node, ascending. A case of which only a part came has a fraction below a whole one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CaseSet {
    /// The cases and, unless all are whole, as many fractions.
    words: Box<[u32]>,
    n: u32,
}

impl CaseSet {
    /// Cases that are whole.
    pub fn whole(cases: Vec<u32>) -> Self {
        CaseSet { n: cases.len() as u32, words: cases.into() }
    }

    fn parts(cases: &[u32], fractions: &[u32]) -> Self {
        let words = if fractions.is_empty() { cases.into() } else { [cases, fractions].concat().into() };
        CaseSet { n: cases.len() as u32, words }
    }

    /// The whole table.
    pub fn all(table: &Table) -> Self {
        CaseSet::whole((0..table.n_cases as u32).collect())
    }

    pub fn cases(&self) -> &[u32] {
        &self.words[..self.n as usize]
    }

    /// Per case, in units of 2^-[`Table::digits`]; `None` where all are whole. Then masses are those of the table, and
    /// else multiples of such units: what is compared at one node is in the same units.
    pub fn fractions(&self) -> Option<&[u32]> {
        Some(&self.words[self.n as usize..]).filter(|_| self.has_fractions())
    }

    pub fn has_fractions(&self) -> bool {
        self.words.len() > self.n as usize
    }

    /// About how many bytes it takes.
    pub fn bytes(&self) -> usize {
        4 * self.words.len()
    }

    /// Calls `visit` with each case, its mass and its count.
    #[inline]
    pub fn each(&self, table: &Table, mut visit: impl FnMut(u32, u64, u64)) {
        match self.fractions() {
            None => self.cases().iter().for_each(|&case| visit(case, table.mass(case), table.count(case))),
            Some(fractions) => self.cases().iter().zip(fractions).for_each(|(&case, &fraction)| {
                let fraction = u64::from(fraction);
                visit(case, table.mass(case) * fraction, table.count(case) * fraction);
            }),
        }
    }

    /// Class masses, and how many cases.
    pub fn masses(&self, table: &Table) -> (Masses, u64) {
        let (mut masses, mut n) = (Masses::from_elem(0, table.n_classes), 0);
        self.each(table, |case, mass, count| {
            masses[table.classes[case as usize] as usize] += mass;
            n += count;
        });
        (masses, n)
    }
}

/// What a branch of a split gets.
#[derive(Debug)]
pub(crate) struct Part {
    /// Class masses, in the units of whole cases or of parts.
    pub masses: Masses,
    /// How many cases: counts times fractions.
    pub count: u64,
    /// How many rows.
    pub rows: usize,
    /// Whether all cases are whole.
    pub whole: bool,
    /// The cases, if they are wanted.
    pub set: CaseSet,
}

impl Part {
    /// The whole table.
    pub fn all(table: &Table) -> Self {
        let set = CaseSet::all(table);
        let (masses, count) = set.masses(table);
        Part { masses, count, rows: set.cases().len(), whole: true, set }
    }

    fn scale(&mut self, scale: impl Fn(u64) -> u64) {
        self.masses.iter_mut().chain([&mut self.count]).for_each(|mass| *mass = scale(*mass));
    }
}

/// Less memory than this is not asked for anew at each split.
const ASKED: u64 = 1 << 16;

/// Sends cases down splits; with room for the work, kept between sets.
#[derive(Debug, Default)]
pub(crate) struct Splitter {
    /// Per code: its branch.
    branch_of: Vec<u32>,
    /// Per case of the set: its branch; one more than the last without a value.
    branches: Vec<u32>,
    /// Per branch and class: masses; per branch: how many cases and rows.
    masses: Vec<u64>,
    counts: Vec<u64>,
    rows: Vec<Rows>,
    /// Where the next case of each branch comes to lie among all.
    ends: Vec<usize>,
    cases: Vec<u32>,
    fractions: Vec<u32>,
}

/// How many rows, and whether of some only a part.
#[derive(Debug, Clone, Copy, Default)]
struct Rows {
    all: u32,
    has_parts: bool,
}

impl Splitter {
    /// The cases that each branch of a split gets; only the masses of those that are not `wanted`. A case without a value
    /// goes down every branch, with shares of its fraction in proportion to the masses of the cases with one, rounded
    /// down; the branch of greatest mass, the first of such, gets what is left. Fails where the parts would not fit into
    /// memory, or the budget says so.
    ///
    /// Complexity: O(cases + branches x classes), and O(branches) for every case without a value, in time and memory.
    pub fn split(
        &mut self,
        set: &CaseSet,
        table: &Table,
        (column, cut): (usize, &Cut),
        ticker: &mut Ticker,
        wanted: impl Fn(&Part) -> bool,
    ) -> Result<SmallVec<[Part; 2]>, Stop> {
        let (n_branches, k) = (cut.n_branches(), table.n_classes);
        // Class masses, here and in the parts.
        let _masses = match n_branches.saturating_mul(20 * k) as u64 {
            0..ASKED => None,
            bytes => Some(ticker.budget().reserve(bytes)?),
        };
        self.mark(set, table, (column, cut));
        let is_dealt = n_branches == 2 && self.deal_in_two(set, table);
        if !is_dealt {
            self.add_up(set, table, n_branches);
        }
        let missing = self.rows[n_branches].all as usize;
        // What the parts of cases take, at most.
        let _held = match missing.saturating_mul(16 * n_branches) as u64 {
            0..ASKED => None,
            bytes => Some(ticker.budget().reserve(bytes)?),
        };
        let mut shares = Shares::default();
        if missing > 0 {
            ticker.tick(missing * n_branches)?;
            let masses = self.masses.chunks_exact(k).take(n_branches).map(|masses| masses.iter().sum());
            shares = Shares::new(masses.collect());
            self.add_up_shares(set, table, n_branches, &mut shares);
        }
        let parts = self.masses.chunks_exact(k).zip(&self.counts).zip(&self.rows).take(n_branches);
        let mut parts: SmallVec<[Part; 2]> = parts
            .map(|((masses, &count), rows)| {
                let whole = !rows.has_parts;
                let mut part =
                    Part { masses: masses.into(), count, rows: rows.all as usize, whole, set: CaseSet::default() };
                // Where no part of a case came, all are whole again.
                if whole && (missing > 0 || set.has_fractions()) {
                    part.scale(|mass| mass >> table.digits);
                }
                part
            })
            .collect();
        let wanted: SmallVec<[bool; 8]> = parts.iter().map(wanted).collect();
        if wanted.contains(&true) {
            if !is_dealt {
                self.deal(set, 1 << table.digits, &wanted, &mut shares);
            }
            for ((part, wanted), &end) in parts.iter_mut().zip(wanted).zip(&self.ends) {
                if wanted {
                    let dealt = end - part.rows..end;
                    let fractions = if part.whole { &[] } else { &self.fractions[dealt.clone()] };
                    part.set = CaseSet::parts(&self.cases[dealt], fractions);
                }
            }
        }
        Ok(parts)
    }

    /// Adds up and deals in one pass where each case of mass one, of one of two classes, goes down one of two branches.
    /// Returns whether that is so.
    fn deal_in_two(&mut self, set: &CaseSet, table: &Table) -> bool {
        let Splitter { branches, masses, counts, rows, ends, cases, fractions, .. } = self;
        let n = set.cases().len();
        // Sums of either class are in one half of a word.
        let is_narrow = !set.has_fractions() || (n as u64) << table.digits < 1 << 32;
        let is_unit = table.n_classes == 2 && matches!(table.weights, Weights::Unit);
        if !(is_narrow && is_unit) || branches.contains(&2) {
            return false;
        }
        cases.resize(cases.len().max(2 * n), 0);
        fractions.resize(fractions.len().max(2 * n), 0);
        // Which branch a case takes is hard to guess: both ends are kept at hand.
        let (mut left, mut right, mut all, mut on_right) = (0, n, 0u64, 0u64);
        let mut next = |case: u32, branch: u32, mass: u64| {
            let at = if branch == 0 { left } else { right };
            left += usize::from(branch == 0);
            right += usize::from(branch != 0);
            let mass = mass << (32 * table.classes[case as usize]);
            all += mass;
            on_right += if branch == 0 { 0 } else { mass };
            at
        };
        let of_cases = set.cases().iter().zip(&*branches);
        match set.fractions() {
            None => of_cases.for_each(|(&case, &branch)| cases[next(case, branch, 1)] = case),
            Some(parts) => of_cases.zip(parts).for_each(|((&case, &branch), &fraction)| {
                let at = next(case, branch, fraction.into());
                (cases[at], fractions[at]) = (case, fraction);
            }),
        }
        masses.clear();
        counts.clear();
        rows.clear();
        for (sum, n) in [(all - on_right, left), (on_right, right - n)] {
            let of_branch = [sum & u64::from(u32::MAX), sum >> 32];
            let count = of_branch.iter().sum();
            let has_parts = set.has_fractions() && count < (n as u64) << table.digits;
            masses.extend(of_branch);
            counts.push(count);
            rows.push(Rows { all: n as u32, has_parts });
        }
        // Those without a value.
        rows.push(Rows::default());
        ends.clear();
        ends.extend([left, right]);
        true
    }

    /// Finds the branch of each case.
    fn mark(&mut self, set: &CaseSet, table: &Table, (column, cut): (usize, &Cut)) {
        let (coded, cases) = (&table.columns[column], set.cases());
        // What was read for the choice of the split is near.
        match table.made_grid().and_then(|grid| Some((grid, grid.span(column)?))) {
            Some((grid, span)) => self.mark_by(grid.codes_of(span, cases), coded.n_codes, cut),
            None => {
                let codes = coded.codes();
                self.mark_by(cases.iter().map(|&case| codes[case as usize]), coded.n_codes, cut);
            }
        }
    }

    fn mark_by(&mut self, codes: impl Iterator<Item = u32>, n_codes: u32, cut: &Cut) {
        self.branches.clear();
        match cut {
            Cut::AtMost { below, .. } => {
                self.branches.extend(codes.map(|code| u32::from(code > *below) + u32::from(code == NONE)));
            }
            Cut::Is(same) => {
                self.branches.extend(codes.map(|code| u32::from(code != *same) + u32::from(code == NONE)));
            }
            Cut::In(listed) => {
                self.branch_of.clear();
                self.branch_of.resize(n_codes as usize, 1);
                listed.iter().for_each(|&code| self.branch_of[code as usize] = 0);
                self.branches.extend(codes.map(|code| if code == NONE { 2 } else { self.branch_of[code as usize] }));
            }
            Cut::Each(listed) => {
                // Other codes do not come.
                self.branch_of.resize(self.branch_of.len().max(n_codes as usize), 0);
                (0..).zip(listed).for_each(|(branch, &code)| self.branch_of[code as usize] = branch);
                let none = listed.len() as u32;
                self.branches.extend(codes.map(|code| if code == NONE { none } else { self.branch_of[code as usize] }));
            }
        }
    }

    /// Sums of the cases with a value by branch, in units of whole cases or of parts, as the set is; and those without one.
    fn add_up(&mut self, set: &CaseSet, table: &Table, n_branches: usize) {
        let k = table.n_classes;
        let Splitter { branches, masses, counts, rows, .. } = self;
        masses.clear();
        masses.resize((n_branches + 1) * k, 0);
        counts.clear();
        rows.clear();
        rows.resize(n_branches + 1, Rows::default());
        let places = set.cases().iter().zip(&*branches).map(|(&case, &branch)| {
            let branch = branch as usize;
            (case, branch, branch * k + table.classes[case as usize] as usize)
        });
        let of_branch = |masses: &[u64]| masses.iter().sum::<u64>();
        let whole = |rows: u32| u64::from(rows) << table.digits;
        match (&table.weights, set.fractions()) {
            (Weights::Unit, None) => {
                places.for_each(|(.., place)| masses[place] += 1);
                counts.extend(masses.chunks_exact(k).map(of_branch));
                rows.iter_mut().zip(&*counts).for_each(|(rows, &count)| rows.all = count as u32);
            }
            (Weights::Unit, Some(fractions)) => {
                for ((_, branch, place), &fraction) in places.zip(fractions) {
                    masses[place] += u64::from(fraction);
                    rows[branch].all += 1;
                }
                counts.extend(masses.chunks_exact(k).map(of_branch));
                rows.iter_mut().zip(&*counts).for_each(|(rows, &count)| rows.has_parts = count < whole(rows.all));
            }
            (_, fractions) => {
                counts.resize(n_branches + 1, 0);
                for (at, (case, branch, place)) in places.enumerate() {
                    let fraction = fractions.map_or(1, |fractions| fractions[at]);
                    masses[place] += table.mass(case) * u64::from(fraction);
                    counts[branch] += table.count(case) * u64::from(fraction);
                    rows[branch].all += 1;
                    rows[branch].has_parts |= fractions.is_some() && fraction < 1 << table.digits;
                }
            }
        }
    }

    /// Adds the shares of cases without a value, and turns sums into units of parts.
    fn add_up_shares(&mut self, set: &CaseSet, table: &Table, n_branches: usize, shares: &mut Shares) {
        let (k, whole) = (table.n_classes, 1u32 << table.digits);
        let Splitter { branches, masses, counts, rows, .. } = self;
        if !set.has_fractions() {
            masses.iter_mut().chain(&mut *counts).for_each(|mass| *mass <<= table.digits);
        }
        // Those of one fraction have the same shares: they are added together.
        let none = n_branches as u32;
        let mut left = (0..set.cases().len()).filter(|&place| branches[place] == none).peekable();
        let fraction = |place: usize| set.fractions().map_or(whole, |fractions| fractions[place]);
        let mut alike: SmallVec<[u64; 8]> = SmallVec::new();
        while let Some(&first) = left.peek() {
            let of = fraction(first);
            let (mut count, mut n) = (0, 0);
            alike.clear();
            alike.resize(k, 0);
            while let Some(place) = left.next_if(|&place| fraction(place) == of) {
                let case = set.cases()[place];
                alike[table.classes[case as usize] as usize] += table.mass(case);
                count += table.count(case);
                n += 1;
            }
            for (branch, &share) in shares.of(of).iter().enumerate().filter(|(_, share)| **share > 0) {
                let of_branch = &mut masses[branch * k..][..k];
                of_branch.iter_mut().zip(&alike).for_each(|(sum, mass)| *sum += mass * u64::from(share));
                counts[branch] += count * u64::from(share);
                rows[branch].all += n;
                rows[branch].has_parts |= share < whole;
            }
        }
    }

    /// Puts the cases of each branch, and their fractions, next to each other; cases without a value only where they are
    /// `wanted`.
    fn deal(&mut self, set: &CaseSet, whole: u32, wanted: &[bool], shares: &mut Shares) {
        let Splitter { branches, rows, ends, cases, fractions, .. } = self;
        let n_branches = wanted.len();
        let rows = rows[..n_branches].iter().map(|rows| rows.all as usize);
        let n = rows.clone().sum::<usize>();
        cases.resize(n.max(cases.len()), 0);
        fractions.resize(n.max(fractions.len()), 0);
        ends.clear();
        ends.extend(rows.scan(0, |end, rows| Some(std::mem::replace(end, *end + rows))));
        let all = set.cases().iter().zip(&*branches);
        let mut put = |branch: usize, case: u32, fraction: u32| {
            let end = &mut ends[branch];
            (cases[*end], fractions[*end]) = (case, fraction);
            *end += 1;
        };
        for (place, (&case, &branch)) in all.enumerate() {
            let fraction = set.fractions().map_or(whole, |fractions| fractions[place]);
            match branch as usize {
                branch if branch < n_branches => put(branch, case, fraction),
                _ => {
                    let shares = shares.of(fraction).iter().zip(wanted).enumerate();
                    let shares = shares.filter(|(_, (share, wanted))| **share > 0 && **wanted);
                    shares.for_each(|(branch, (&share, _))| put(branch, case, share));
                }
            }
        }
    }
}

/// The shares of cases without a value. Those of one fraction are the same, and come one after the other.
#[derive(Default)]
struct Shares {
    masses: Vec<u64>,
    total: u64,
    heaviest: usize,
    fraction: u32,
    shares: Vec<u32>,
}

impl Shares {
    fn new(masses: Vec<u64>) -> Self {
        let heaviest = (0..masses.len()).rev().max_by_key(|&branch| masses[branch]).unwrap_or(0);
        Shares { total: masses.iter().sum(), heaviest, fraction: 0, shares: vec![0; masses.len()], masses }
    }

    fn of(&mut self, fraction: u32) -> &[u32] {
        if self.fraction != fraction {
            self.fraction = fraction;
            let mut left = fraction;
            for (share, &mass) in self.shares.iter_mut().zip(&self.masses) {
                *share = match u64::from(fraction).checked_mul(mass) {
                    Some(product) => product / self.total,
                    None => (u128::from(fraction) * u128::from(mass) / u128::from(self.total)) as u64,
                } as u32;
                left -= *share;
            }
            self.shares[self.heaviest] += left;
        }
        &self.shares
    }
}
