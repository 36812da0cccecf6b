//! A rough look at the columns of a set of cases of two classes: which of them may have the best split.
//!
//! Of many columns one is wanted. So the gain of each is computed to a few digits ([`roughly`]), and exactly only where that
//! leaves a doubt: logarithms, most of all those of masses of parts, which are too many for a table, and comparisons.

use super::NominalSplits;
use super::cases::CaseSet;
use super::cells::Cell;
use super::few::{FEW, Few};
use super::grid::{Take, Tally};
use super::ranking::Added;
use super::split::{Cut, Found, Known, Look, Rule, Sides};
use super::table::{Coded, NONE, Table, Weights};
use crate::budget::{Stop, Ticker};
use crate::criterion::roughly::{self, Cuts, MARGIN, Sets};
use crate::criterion::{Impurity, Side};
use crate::simd::{BLOCK, Isa};

/// Masses per code are kept while there are at most this many codes, and so many more for each case.
const CODES: usize = 1024;
const CODES_PER_CASE: usize = 128;

/// Codes below it and places among [`FEW`] fit into one word.
const MOST_WITH_PLACE: u32 = u32::MAX / FEW as u32;

/// A column and its split; an error where that takes another look.
type Best = (usize, Result<Option<Found>, ()>);

/// Room for the work, kept between sets.
#[derive(Debug, Default)]
pub(super) struct Rough {
    isa: Isa,
    /// The masses of the set, and its purity.
    whole: ([u32; 2], f32),
    /// Per case of the set: its mass, in the half of its class.
    masses: Vec<u64>,
    /// Of columns that are narrow.
    tally: Tally,
    /// Of the others: masses per code, and a bit for each that came; none of them in between.
    sums: Vec<u64>,
    is_there: Vec<u64>,
    /// Codes and places in the set.
    keys: Vec<u64>,
    few: Few,
    this: Candidates,
    /// Those of the column of greatest gain.
    best: Candidates,
    cells: Vec<Cell>,
    /// The cases of the set with a value in the column that was looked at last.
    known: Side,
    /// Of the columns surveyed last, those that may have a split but for the best: about what they gain per unit of the
    /// mass of the set.
    pub gains: Vec<(u32, f32)>,
    /// And those that take an exact look, ascending.
    pub unclear: Vec<usize>,
    /// And those that gain what the best does, since their branches have the same masses: also with their splits.
    pub ties: Added,
}

/// The splits of a column: the sets below its cuts if it is ordered, or else those of its levels.
#[derive(Debug, Default)]
struct Candidates {
    column: usize,
    gain: f32,
    /// How many codes came. What follows is longer, to be used again.
    n: usize,
    codes: Vec<u32>,
    /// Masses of either class.
    masses: [Vec<u32>; 2],
    /// Of the cases with a value.
    known: [u32; 2],
    purities: Vec<f32>,
    /// The greatest of these, if the column is ordered.
    greatest: f32,
}

impl Candidates {
    /// The split between two codes of an ordered column, or that of a nominal one, in a set of this mass.
    fn found<I: Impurity>(&self, rule: &Rule<I>, table: &Table, cut: usize, is_perfect: bool, mass: u64) -> Found {
        let (coded, codes) = (&table.columns[self.column], &self.codes[..self.n]);
        match coded.ordered {
            true => {
                let cut = Cut::AtMost { below: codes[cut], above: codes[cut + 1] };
                rule.roughly(cut, (self.gain, is_perfect), mass).of(coded)
            }
            false => rule.roughly(Cut::Each(codes.into()), (self.gain, is_perfect), mass),
        }
    }

    /// The mass of the cases with a value.
    fn known_mass(&self) -> u64 {
        self.known.iter().map(|&mass| u64::from(mass)).sum()
    }

    /// The cuts of an ordered column that may be its best.
    fn near(&self) -> impl Iterator<Item = usize> {
        let purities = &self.purities[..self.n - 1];
        let least = self.greatest - self.known_mass() as f32 * MARGIN;
        (0..self.n - 1).filter(move |&cut| purities[cut] >= least && purities[cut].is_finite())
    }

    /// The cut that is the best without doubt; ties: the first. Any, for a column that has one split alone.
    fn sure_cut(&self, table: &Table) -> Option<usize> {
        if !table.columns[self.column].ordered {
            return Some(0);
        }
        let mut near = self.near();
        let cut = near.next()?;
        let branches = self.branches(cut);
        near.all(|other| self.branches(other) == branches).then_some(cut)
    }

    /// The class masses of the two branches of a cut, in the order of their numbers: they alone say what it gains.
    fn branches(&self, cut: usize) -> [[u32; 2]; 2] {
        let [first, second] = &self.masses;
        let one = [first[cut], second[cut]];
        let mut branches = [one, [self.known[0] - one[0], self.known[1] - one[1]]];
        branches.sort_unstable();
        branches
    }

    /// [`Candidates::branches`] of the best split, if that is one in two without doubt; and its cut.
    fn best_in_two(&self, table: &Table) -> Option<(usize, [[u32; 2]; 2])> {
        let is_in_two = table.columns[self.column].ordered || self.n == 2;
        let cut = self.sure_cut(table).filter(|_| is_in_two)?;
        Some((cut, self.branches(cut)))
    }
}

/// What came of a rough look.
pub(super) enum RoughLook {
    Constant,
    NoSplit,
    /// About the gain per unit of the mass of the set.
    Gain(f32),
    /// There is no rough look at such columns.
    Unclear,
}

/// Masses of two classes in the halves of a word.
fn halves(masses: u64) -> [u32; 2] {
    [masses as u32, (masses >> 32) as u32]
}

impl Rough {
    /// Whether the columns of a set can be looked at.
    pub fn fits<I: Impurity>(rule: &Rule<I>, table: &Table, side: &Side) -> bool {
        rule.impurity.is_about()
            && !rule.ratio
            && table.n_classes == 2
            && matches!(table.weights, Weights::Unit)
            && side.total < 1 << 31
    }

    /// Gets ready for the columns of a set that fits.
    pub fn enter(&mut self, table: &Table, set: &CaseSet, side: &Side) {
        let whole = [side.masses[0] as u32, side.masses[1] as u32];
        self.whole = (whole, roughly::purity(whole[0], whole[1]));
        self.masses.clear();
        let half = |case: u32| 32 * table.classes[case as usize];
        match set.fractions() {
            None => self.masses.extend(set.cases().iter().map(|&case| 1 << half(case))),
            Some(fractions) => {
                let masses = set.cases().iter().zip(fractions);
                self.masses.extend(masses.map(|(&case, &fraction)| u64::from(fraction) << half(case)));
            }
        }
        self.best.gain = f32::NEG_INFINITY;
        self.known.masses.clear();
    }

    /// Looks at columns of a set that fits, in their order: as far as the first perfect split, or until the run has to stop.
    /// `saw` gets what is known of each of them. Returns that of greatest gain, as far as was seen, and its split: roughly if
    /// no other column comes near but as a tie; and why it ended early, if it did. What is known of the others is left in
    /// `gains`, `unclear` and `ties`. Of `side` the masses and their sum are read alone.
    pub fn survey<I: Impurity>(
        &mut self,
        (rule, table): (&Rule<I>, &Table),
        (set, side): (&CaseSet, &Side),
        columns: &[usize],
        sides: &mut Sides,
        ticker: &mut Ticker,
        mut saw: impl FnMut(usize, &RoughLook),
    ) -> (Option<(u32, Found)>, Result<(), Stop>) {
        self.enter(table, set, side);
        let grid = table.grid();
        self.tally.add_up(grid, set, &self.masses, columns.iter().filter_map(|&column| grid.span(column)));
        self.gains.clear();
        self.unclear.clear();
        self.ties.clear();
        let (mut best, mut outcome) = (None, Ok(()));
        // The gain that leaves no impurity.
        let perfect = -self.whole.1 / side.total as f32 - MARGIN;
        for &column in columns {
            outcome = ticker.tick(2 * set.cases().len());
            if outcome.is_err() {
                break;
            }
            let look = self.look(rule, table, column, (set, side.total));
            saw(column, &look);
            match look {
                RoughLook::Constant | RoughLook::NoSplit => {}
                RoughLook::Unclear => self.unclear.push(column),
                RoughLook::Gain(gain) => {
                    self.gains.push((column as u32, gain));
                    self.note_tie(rule, table, column, side.total);
                    if gain < perfect {
                        continue;
                    }
                    best = self.perfect(rule, table, side.total).map(|(column, found)| (column, Ok(Some(found))));
                    if best.is_some() {
                        // Later columns cannot beat it.
                        break;
                    }
                }
            }
        }
        let least = self.best.gain - MARGIN;
        let near = self.gains.iter().filter(|(_, gain)| *gain >= least).count();
        let is_alone = self.unclear.is_empty() && near == 1 + self.ties.len();
        let (column, found) = match best {
            Some(best) => best,
            None => match self.best(rule, table, side, (sides, ticker), is_alone) {
                Ok(Some(best)) => best,
                Ok(None) => return (None, outcome),
                Err(stop) => return (None, Err(stop)),
            },
        };
        if !(is_alone && matches!(&found, Ok(Some(found)) if found.is_rough())) {
            self.ties.clear();
        }
        let is_known = |other: u32| other as usize == column || self.ties.iter().any(|(tie, _)| *tie == other);
        self.gains.retain(|&(other, _)| !is_known(other));
        if found.is_err() {
            self.unclear.push(column);
            self.unclear.sort_unstable();
        }
        (found.ok().flatten().map(|found| (column as u32, found)), outcome)
    }

    /// Takes a column, the one that was looked at last, for a tie if it gains what the best does for the same reason.
    fn note_tie<I: Impurity>(&mut self, rule: &Rule<I>, table: &Table, column: usize, mass: u64) {
        let (this, best) = (&self.this, &self.best);
        if best.column == column {
            // It is the best itself.
            self.ties.clear();
        } else if this.gain == best.gain
            && let Some((cut, branches)) = this.best_in_two(table)
            && best.best_in_two(table).is_some_and(|(_, of_best)| of_best == branches)
        {
            self.ties.push((column as u32, this.found(rule, table, cut, false, mass)));
        }
    }

    /// Looks at a column of the set entered roughly, and exactly at what may be its best split unless the cut `is_enough`;
    /// `None` if that cannot be done.
    pub fn closely<I: Impurity>(
        &mut self,
        (rule, table): (&Rule<I>, &Table),
        column: usize,
        (set, side): (&CaseSet, &Side),
        (sides, ticker): (&mut Sides, &mut Ticker),
        is_enough: bool,
    ) -> Result<Option<Look>, Stop> {
        self.best.gain = f32::NEG_INFINITY;
        self.tally.add_up(table.grid(), set, &self.masses, table.grid().span(column).into_iter());
        Ok(match self.look(rule, table, column, (set, side.total)) {
            RoughLook::Constant => Some(Look::Constant),
            RoughLook::NoSplit => Some(Look::NoSplit),
            RoughLook::Gain(_) => {
                let best = self.best(rule, table, side, (sides, ticker), is_enough)?;
                best.and_then(|(_, found)| found.ok()).map(Look::from)
            }
            RoughLook::Unclear => None,
        })
    }

    /// Looks at a column of the set entered, which is of that mass; it is added up if it is narrow.
    ///
    /// Complexity: O(cases + codes), or O(cases log cases) where codes are many.
    fn look<I: Impurity>(
        &mut self,
        rule: &Rule<I>,
        table: &Table,
        column: usize,
        (set, mass): (&CaseSet, u64),
    ) -> RoughLook {
        let coded = &table.columns[column];
        if !coded.ordered && rule.nominal != NominalSplits::Multiway {
            return RoughLook::Unclear;
        }
        self.collect(table, column, set);
        let this = &mut self.this;
        this.column = column;
        if this.n <= 1 {
            return RoughLook::Constant;
        }
        let Candidates { n, masses: [first, second], purities, known, .. } = this;
        let split = match coded.ordered {
            true => {
                // The last set has all cases, and nothing is above it.
                let (n, whole, least) = (*n - 1, *known, rule.min_side().min(u32::MAX.into()) as u32);
                self.isa.run(Cuts { n, first, second, purities, whole, least })
            }
            false => {
                let counts = || first.iter().zip(&*second).take(*n).map(|(first, second)| u64::from(first + second));
                if counts().any(|count| count < rule.min_leaf)
                    || counts().filter(|&count| count >= rule.min_branch).nth(1).is_none()
                {
                    return RoughLook::NoSplit;
                }
                self.isa.run(Sets { n: *n, first, second, purities }) as f32
            }
        };
        if split == f32::NEG_INFINITY {
            return RoughLook::NoSplit;
        }
        // Most often all cases have a value.
        let base =
            if this.known == self.whole.0 { self.whole.1 } else { roughly::purity(this.known[0], this.known[1]) };
        let gain = (split - base) / mass as f32;
        (this.gain, this.greatest) = (gain, split);
        if gain > self.best.gain {
            std::mem::swap(&mut self.this, &mut self.best);
        }
        RoughLook::Gain(gain)
    }

    /// The codes that come in a set, ascending, and their masses; if the column is ordered, those up to each code.
    fn collect(&mut self, table: &Table, column: usize, set: &CaseSet) {
        let coded = &table.columns[column];
        let (n, n_codes) = (set.cases().len(), coded.n_codes as usize);
        let Candidates { codes: came, masses: [first, second], purities, .. } = &mut self.this;
        let most = (n.min(n_codes) + 2).next_multiple_of(BLOCK);
        if came.len() < most {
            for room in [&mut *came, &mut *first, &mut *second] {
                room.resize(most, 0);
            }
            purities.resize(most, 0.0);
        }
        let (n_here, sum) = match table.grid().span(column) {
            Some(span) => {
                let (codes, masses) = (&mut came[..], [&mut first[..], &mut second[..]]);
                self.isa.run(Take { sums: self.tally.of(span), is_ordered: coded.ordered, codes, masses })
            }
            None if n_codes <= CODES_PER_CASE * n + CODES => self.collect_sums(coded, set),
            None => self.collect_in_order(coded, set),
        };
        (self.this.n, self.this.known) = (n_here, halves(sum));
    }

    /// [`Rough::collect`] of a column that is not narrow by sums of all its codes. Returns how many came, and their mass.
    fn collect_sums(&mut self, coded: &Coded, set: &CaseSet) -> (usize, u64) {
        let (codes, n_codes) = (coded.codes(), coded.n_codes as usize);
        let Candidates { codes: came, masses: [first, second], .. } = &mut self.this;
        let (mut end, mut sum) = (0, 0);
        self.sums.resize(self.sums.len().max(n_codes + 1), 0);
        self.is_there.resize(self.is_there.len().max(n_codes / 64 + 1), 0);
        for (&case, &mass) in set.cases().iter().zip(&self.masses) {
            let code = codes[case as usize].min(coded.n_codes);
            let sum = &mut self.sums[code as usize];
            // Written in any case, and over if it came before: no branch to guess.
            came[end] = code;
            end += usize::from(*sum == 0);
            *sum += mass;
        }
        came[..end].iter().for_each(|&code| self.is_there[code as usize / 64] |= 1 << (code % 64));
        // The last is that of no value.
        self.sums[n_codes] = 0;
        self.is_there[n_codes / 64] &= !(1 << (n_codes % 64));
        end = 0;
        for (word, is_there) in self.is_there[..n_codes / 64 + 1].iter_mut().enumerate() {
            let mut left = std::mem::take(is_there);
            while left != 0 {
                let code = word * 64 + left.trailing_zeros() as usize;
                left &= left - 1;
                let masses = std::mem::take(&mut self.sums[code]);
                sum += masses;
                came[end] = code as u32;
                [first[end], second[end]] = halves(if coded.ordered { sum } else { masses });
                end += 1;
            }
        }
        (end, sum)
    }

    /// [`Rough::collect_sums`], where codes are many, by bringing the cases in their order.
    fn collect_in_order(&mut self, coded: &Coded, set: &CaseSet) -> (usize, u64) {
        let codes = coded.codes();
        let cases = (0u32..).zip(set.cases()).map(|(place, &case)| (codes[case as usize], place));
        let cases = cases.filter(|&(code, _)| coded.is_complete || code != NONE);
        let Candidates { codes: came, masses: [first, second], .. } = &mut self.this;
        let (mut end, mut sum, mut before, mut last) = (0, 0, 0, NONE);
        let mut take = |code: u32, place: u32| {
            if code != last {
                (last, before, came[end]) = (code, sum, code);
                end += 1;
            }
            sum += self.masses[place as usize];
            [first[end - 1], second[end - 1]] = halves(if coded.ordered { sum } else { sum - before });
        };
        if set.cases().len() <= FEW && coded.n_codes < MOST_WITH_PLACE {
            self.few.keys.clear();
            self.few.keys.extend(cases.map(|(code, place)| code * FEW as u32 + place));
            let sorted = self.few.sorted(|ranks| self.isa.run(ranks));
            sorted.iter().for_each(|key| take(key / FEW as u32, key % FEW as u32));
        } else {
            self.keys.clear();
            self.keys.extend(cases.map(|(code, place)| u64::from(code) << 32 | u64::from(place)));
            self.keys.sort_unstable();
            self.keys.iter().for_each(|&key| take((key >> 32) as u32, key as u32));
        }
        (end, sum)
    }

    /// The column of greatest gain among those looked at, in a set of this mass, if its split leaves no impurity.
    fn perfect<I: Impurity>(&self, rule: &Rule<I>, table: &Table, mass: u64) -> Option<(usize, Found)> {
        let Candidates { column, gain, n, masses: [first, second], known: [all_first, all_second], purities, .. } =
            &self.best;
        if self.best.known_mass() != mass || *gain <= rule.min_gain as f32 + MARGIN {
            return None;
        }
        let mut pairs = first.iter().zip(second).take(*n);
        let cut = match table.columns[*column].ordered {
            // One class below, the other above.
            true => {
                let cut = pairs.position(|(&a, &b)| (a, b) == (*all_first, 0) || (a, b) == (0, *all_second))?;
                purities[cut].is_finite().then_some(cut)?
            }
            false => pairs.all(|(&first, &second)| first == 0 || second == 0).then_some(0)?,
        };
        Some((*column, self.best.found(rule, table, cut, true, mass)))
    }

    /// The column of greatest gain among those looked at, and its split, exactly unless the cut `is_enough`;
    /// `Some((_, Err))` if it has to be looked at in another way.
    fn best<I: Impurity>(
        &mut self,
        rule: &Rule<I>,
        table: &Table,
        node: &Side,
        (sides, ticker): (&mut Sides, &mut Ticker),
        is_enough: bool,
    ) -> Result<Option<Best>, Stop> {
        let Candidates { column, gain, n, codes, masses: [first, second], known, .. } = &self.best;
        if *gain == f32::NEG_INFINITY {
            return Ok(None);
        }
        // The gain is positive and as great as it must be without doubt.
        if is_enough
            && *gain > rule.min_gain as f32 + MARGIN
            && let Some(cut) = self.best.sure_cut(table)
        {
            return Ok(Some((*column, Ok(Some(self.best.found(rule, table, cut, false, node.total))))));
        }
        let (side, known) = (&mut self.known, known.map(u64::from));
        if side.masses != known {
            side.masses.clear();
            side.masses.extend(known);
            rule.impurity.settle(side);
        }
        // Cases weigh the same, so that masses are counts.
        let known = Known { side, count: self.best.known_mass(), node_mass: node.total };
        if table.columns[*column].ordered {
            let cut = |cut: usize| {
                let below = [first[cut], second[cut]].map(u64::from);
                [below[0] + below[1], below[1], codes[cut].into(), codes[cut + 1].into()]
            };
            // Where it is in doubt whether the best gain is positive, all cuts are to be looked at.
            let found = rule.best_of_two(self.best.near().map(cut), &known);
            return Ok(Some((*column, found.map(|found| Some(found.of(&table.columns[*column]))).ok_or(()))));
        }
        self.cells.clear();
        for (&code, (&first, &second)) in codes.iter().zip(first.iter().zip(second)).take(*n) {
            let cells = (0..).zip([first, second].map(u64::from)).filter(|&(_, mass)| mass > 0);
            self.cells.extend(cells.map(|(class, mass)| Cell { code, class, mass, count: mass }));
        }
        Ok(Some((*column, Ok(rule.multiway(&self.cells, &known, sides, ticker)?))))
    }
}
