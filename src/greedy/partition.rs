//! The partition of the cases of a node among the branches of a split.

use smallvec::SmallVec;

use super::case_set::CaseSet;
use super::data::{GrowthData, Weights};
use super::types::{CodedTest, MISSING, MassByClass};
use crate::budget::{Stop, Ticker};

/// The cases that a branch of a split gets.
#[derive(Debug)]
pub(crate) struct BranchCases {
    /// Class masses, in the units of whole cases or of fractional ones.
    pub masses: MassByClass,
    /// The number of cases: counts times fractions.
    pub count: u64,
    /// The number of rows.
    pub rows: usize,
    /// Whether all cases are whole.
    pub whole: bool,
    /// The cases, if the caller asked for them.
    pub set: CaseSet,
}

impl BranchCases {
    /// The whole table.
    pub fn all(table: &GrowthData) -> Self {
        let set = CaseSet::all(table);
        let (masses, count) = set.masses(table);
        BranchCases { masses, count, rows: set.cases().len(), whole: true, set }
    }

    fn scale(&mut self, scale: impl Fn(u64) -> u64) {
        self.masses.iter_mut().chain([&mut self.count]).for_each(|mass| *mass = scale(*mass));
    }
}

/// Memory for a split is reserved if it takes at least this many bytes.
const RESERVED: u64 = 1 << 16;

/// Partitions the cases of nodes among the branches of their splits; with buffers kept between nodes.
#[derive(Debug, Default)]
pub(crate) struct Partitioner {
    /// The branch of each code.
    branch_of: Vec<u32>,
    /// The branch of each case of the set; without a value, one more than the last branch.
    branches: Vec<u32>,
    /// Masses per branch and class; numbers of cases and of rows per branch.
    masses: Vec<u64>,
    counts: Vec<u64>,
    rows: Vec<BranchRows>,
    /// The next free position of each branch in `cases`.
    ends: Vec<usize>,
    cases: Vec<u32>,
    fractions: Vec<u32>,
}

/// The number of rows of a branch, and whether some of them came in part.
#[derive(Debug, Clone, Copy, Default)]
struct BranchRows {
    all: u32,
    has_parts: bool,
}

impl Partitioner {
    /// The cases that each branch of a split gets; of branches that are not `wanted`, only their masses. A case without
    /// a value goes to every branch, with shares of its fraction in proportion to the masses of the cases with a value,
    /// rounded down; the branch of greatest mass, ties to the first, gets the rest. Fails if the budget has no memory
    /// for the branches, or is exhausted.
    ///
    /// Complexity: O(cases + branches x classes), and O(branches) for every case without a value, in time and memory.
    pub fn partition(
        &mut self,
        set: &CaseSet,
        table: &GrowthData,
        column: usize,
        test: &CodedTest,
        ticker: &mut Ticker,
        wanted: impl Fn(&BranchCases) -> bool,
    ) -> Result<SmallVec<[BranchCases; 2]>, Stop> {
        let (n_branches, k) = (test.n_branches(), table.n_classes);
        // Class masses, here and in the branches.
        let _masses = match n_branches.saturating_mul(20 * k) as u64 {
            0..RESERVED => None,
            bytes => Some(ticker.budget().reserve(bytes)?),
        };
        self.mark(set, table, column, test);
        let is_distributed = n_branches == 2 && self.distribute_in_two(set, table);
        if !is_distributed {
            self.add_up(set, table, n_branches);
        }
        let missing = self.rows[n_branches].all as usize;
        // At most for the fractions of cases without a value.
        let _held = match missing.saturating_mul(16 * n_branches) as u64 {
            0..RESERVED => None,
            bytes => Some(ticker.budget().reserve(bytes)?),
        };
        let mut shares = Shares::default();
        if missing > 0 {
            ticker.tick(missing * n_branches)?;
            let masses = self.masses.chunks_exact(k).take(n_branches).map(|masses| masses.iter().sum());
            shares = Shares::new(masses.collect());
            self.add_up_shares(set, table, n_branches, &mut shares);
        }
        let branches = self.masses.chunks_exact(k).zip(&self.counts).zip(&self.rows).take(n_branches);
        let mut branches: SmallVec<[BranchCases; 2]> = branches
            .map(|((masses, &count), rows)| {
                let whole = !rows.has_parts;
                let mut branch = BranchCases {
                    masses: masses.into(),
                    count,
                    rows: rows.all as usize,
                    whole,
                    set: CaseSet::default(),
                };
                // If all cases of the branch are whole, its masses are in units of whole cases again.
                if whole && (missing > 0 || set.has_fractions()) {
                    branch.scale(|mass| mass >> table.digits);
                }
                branch
            })
            .collect();
        let wanted: SmallVec<[bool; 8]> = branches.iter().map(wanted).collect();
        if wanted.contains(&true) {
            if !is_distributed {
                self.distribute(set, 1 << table.digits, &wanted, &mut shares);
            }
            for ((branch, wanted), &end) in branches.iter_mut().zip(wanted).zip(&self.ends) {
                if wanted {
                    let range = end - branch.rows..end;
                    let fractions = if branch.whole { &[] } else { &self.fractions[range.clone()] };
                    branch.set = CaseSet::with_fractions(&self.cases[range], fractions);
                }
            }
        }
        Ok(branches)
    }

    /// [`Partitioner::add_up`] and [`Partitioner::distribute`] in one pass, if cases have mass one, there are two
    /// classes and two branches, and every case has a value. Returns whether that is so.
    fn distribute_in_two(&mut self, set: &CaseSet, table: &GrowthData) -> bool {
        let Partitioner { branches, masses, counts, rows, ends, cases, fractions, .. } = self;
        let n = set.cases().len();
        // The sums of the two classes share a word.
        let is_narrow = !set.has_fractions() || (n as u64) << table.digits < 1 << 32;
        let is_unit = table.n_classes == 2 && table.has_unit_weights();
        if !(is_narrow && is_unit) || branches.contains(&2) {
            return false;
        }
        cases.resize(cases.len().max(2 * n), 0);
        fractions.resize(fractions.len().max(2 * n), 0);
        // The branch of a case is unpredictable: the positions are computed without a jump.
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
            rows.push(BranchRows { all: n as u32, has_parts });
        }
        // Cases without a value: none.
        rows.push(BranchRows::default());
        ends.clear();
        ends.extend([left, right]);
        true
    }

    /// Finds the branch of each case.
    fn mark(&mut self, set: &CaseSet, table: &GrowthData, column: usize, test: &CodedTest) {
        let (coded, cases) = (&table.columns[column], set.cases());
        // If the split was found by byte codes, these are in the cache.
        match table.computed_byte_codes().and_then(|bytes| Some((bytes, bytes.column(column)?))) {
            Some((bytes, narrow)) => self.mark_by(bytes.codes_of(narrow, cases), coded.n_codes, test),
            None => {
                let codes = coded.codes();
                self.mark_by(cases.iter().map(|&case| codes[case as usize]), coded.n_codes, test);
            }
        }
    }

    fn mark_by(&mut self, codes: impl Iterator<Item = u32>, n_codes: u32, test: &CodedTest) {
        self.branches.clear();
        match test {
            CodedTest::AtMost { below, .. } => {
                self.branches.extend(codes.map(|code| u32::from(code > *below) + u32::from(code == MISSING)));
            }
            CodedTest::Is(same) => {
                self.branches.extend(codes.map(|code| u32::from(code != *same) + u32::from(code == MISSING)));
            }
            CodedTest::In(listed) => {
                self.branch_of.clear();
                self.branch_of.resize(n_codes as usize, 1);
                listed.iter().for_each(|&code| self.branch_of[code as usize] = 0);
                self.branches.extend(codes.map(|code| if code == MISSING { 2 } else { self.branch_of[code as usize] }));
            }
            CodedTest::Each(listed) => {
                // Other codes do not occur.
                self.branch_of.resize(self.branch_of.len().max(n_codes as usize), 0);
                (0..).zip(listed).for_each(|(branch, &code)| self.branch_of[code as usize] = branch);
                let none = listed.len() as u32;
                let branch = |code| if code == MISSING { none } else { self.branch_of[code as usize] };
                self.branches.extend(codes.map(branch));
            }
        }
    }

    /// Adds up the masses of each branch, and of the cases without a value, in the units of the set (whole or
    /// fractional cases).
    fn add_up(&mut self, set: &CaseSet, table: &GrowthData, n_branches: usize) {
        let k = table.n_classes;
        let Partitioner { branches, masses, counts, rows, .. } = self;
        masses.clear();
        masses.resize((n_branches + 1) * k, 0);
        counts.clear();
        rows.clear();
        rows.resize(n_branches + 1, BranchRows::default());
        let positions = set.cases().iter().zip(&*branches).map(|(&case, &branch)| {
            let branch = branch as usize;
            (case, branch, branch * k + table.classes[case as usize] as usize)
        });
        let of_branch = |masses: &[u64]| masses.iter().sum::<u64>();
        let whole = |rows: u32| u64::from(rows) << table.digits;
        match (&table.weights, set.fractions()) {
            (Weights::Unit, None) => {
                positions.for_each(|(.., position)| masses[position] += 1);
                counts.extend(masses.chunks_exact(k).map(of_branch));
                rows.iter_mut().zip(&*counts).for_each(|(rows, &count)| rows.all = count as u32);
            }
            (Weights::Unit, Some(fractions)) => {
                for ((_, branch, position), &fraction) in positions.zip(fractions) {
                    masses[position] += u64::from(fraction);
                    rows[branch].all += 1;
                }
                counts.extend(masses.chunks_exact(k).map(of_branch));
                rows.iter_mut().zip(&*counts).for_each(|(rows, &count)| rows.has_parts = count < whole(rows.all));
            }
            (_, fractions) => {
                counts.resize(n_branches + 1, 0);
                for (at, (case, branch, position)) in positions.enumerate() {
                    let fraction = fractions.map_or(1, |fractions| fractions[at]);
                    masses[position] += table.mass(case) * u64::from(fraction);
                    counts[branch] += table.count(case) * u64::from(fraction);
                    rows[branch].all += 1;
                    rows[branch].has_parts |= fractions.is_some() && fraction < 1 << table.digits;
                }
            }
        }
    }

    /// Adds the shares of cases without a value; sums are in units of fractional cases from then on.
    fn add_up_shares(&mut self, set: &CaseSet, table: &GrowthData, n_branches: usize, shares: &mut Shares) {
        let (k, whole) = (table.n_classes, 1u32 << table.digits);
        let Partitioner { branches, masses, counts, rows, .. } = self;
        if !set.has_fractions() {
            masses.iter_mut().chain(&mut *counts).for_each(|mass| *mass <<= table.digits);
        }
        // Cases of the same fraction have the same shares: they are added together.
        let none = n_branches as u32;
        let mut left = (0..set.cases().len()).filter(|&position| branches[position] == none).peekable();
        let fraction = |position: usize| set.fractions().map_or(whole, |fractions| fractions[position]);
        let mut alike: SmallVec<[u64; 8]> = SmallVec::new();
        while let Some(&first) = left.peek() {
            let of = fraction(first);
            let (mut count, mut n) = (0, 0);
            alike.clear();
            alike.resize(k, 0);
            while let Some(position) = left.next_if(|&position| fraction(position) == of) {
                let case = set.cases()[position];
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

    /// Puts the cases of each branch, and their fractions, next to each other; cases without a value only in `wanted`
    /// branches.
    fn distribute(&mut self, set: &CaseSet, whole: u32, wanted: &[bool], shares: &mut Shares) {
        let Partitioner { branches, rows, ends, cases, fractions, .. } = self;
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
        for (position, (&case, &branch)) in all.enumerate() {
            let fraction = set.fractions().map_or(whole, |fractions| fractions[position]);
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

/// The shares of cases without a value among the branches, kept for the next case of the same fraction.
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
