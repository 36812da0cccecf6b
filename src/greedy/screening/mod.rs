//! Screening of the columns of a node with two classes: which of them may have the best split.
//!
//! Of many columns only the best is wanted. So the gain of each is approximated in floats of four bytes
//! ([`approximate`]), and computed exactly only where that leaves a doubt. This saves logarithms, above all those of
//! masses of fractional cases, which are too many for a table, and exact comparisons. It never decides which of two
//! splits is better.
//!
//! The whole is optional: [`ScreenedNode::new`] says whether a node can be screened, and everything works without.
//!
//! `approximate`: gains in floats, many at a time. `column`: the approximate splits of one column. `collect`: the
//! masses of a column, by `byte_histogram` (narrow columns), sums, or `small_sort`. `growth`: the best split of a node.
//! `pending` and `caching`: screened columns of cached case sets.

mod approximate;
mod byte_histogram;
mod caching;
mod collect;
mod column;
mod growth;
mod pending;
mod small_sort;

pub(super) use caching::Entering;
pub(super) use growth::ExactBuffers;
pub(super) use pending::{PendingColumns, RatedColumn};

use super::case_set::CaseSet;
use super::data::GrowthData;
use super::params::NominalSplits;
use super::split::{ColumnSplit, NodeStats, Scratch, SplitCandidate, SplitOf, SplitRule, TwoClassCut};
use super::types::Bin;
use crate::budget::{Stop, Ticker};
use crate::criterion::{ClassImpurity, ClassStats};
use crate::simd::Isa;
use approximate::{CutPurities, MARGIN, SetPurities};
use byte_histogram::ByteHistogram;
use column::ColumnSplits;
use small_sort::SmallSort;

/// A node whose columns can be screened.
pub(super) struct ScreenedNode<'a, I> {
    rule: &'a SplitRule<I>,
    table: &'a GrowthData,
    cases: &'a CaseSet,
    /// Only the class masses and their sum are read by [`Screen::survey`].
    stats: &'a ClassStats,
    count: u64,
}

impl<'a, I: ClassImpurity> ScreenedNode<'a, I> {
    /// `None` if the node cannot be screened.
    pub fn new(
        rule: &'a SplitRule<I>,
        table: &'a GrowthData,
        cases: &'a CaseSet,
        stats: &'a ClassStats,
        count: u64,
    ) -> Option<Self> {
        let fits = rule.impurity.is_screened()
            && !rule.ratio
            && table.n_classes == 2
            && table.has_unit_weights()
            && stats.total < 1 << 31;
        fits.then_some(ScreenedNode { rule, table, cases, stats, count })
    }

    fn whole(&self) -> [u32; 2] {
        [self.stats.masses[0] as u32, self.stats.masses[1] as u32]
    }
}

/// Buffers for screening, kept between nodes, and the result of the last survey.
#[derive(Debug, Default)]
pub(super) struct Screen {
    isa: Isa,
    /// The purity of the node.
    node_purity: f32,
    /// Per case of the node: its mass, in the half of the word that belongs to its class.
    masses: Vec<u64>,
    /// Masses of narrow columns.
    byte_histogram: ByteHistogram,
    /// Masses per code of other columns, and a bit per code that occurs; all zero between uses.
    sums: Vec<u64>,
    occurs: Vec<u64>,
    /// Codes with positions in the node.
    keys: Vec<u64>,
    small_sort: SmallSort,
    this: ColumnSplits,
    /// The splits of the column of greatest gain.
    best: ColumnSplits,
    bins: Vec<Bin>,
    /// The cases with a value in the column evaluated last.
    known: ClassStats,
    /// Of the last survey: the columns that may have a split, apart from the best, and their approximate gains per unit
    /// of the mass of the node.
    gains: Vec<(u32, f32)>,
    /// Of the last survey: the columns that cannot be screened, ascending.
    unclear: Vec<usize>,
    /// Of the last survey: the columns that tie with the best (same branch masses), with their splits. They are in
    /// `gains` too.
    ties: Vec<SplitOf>,
}

/// The result of screening one column.
pub(super) enum ScreenedColumn {
    /// All cases have one value.
    Constant,
    NoSplit,
    /// The approximate gain per unit of the mass of the node.
    Gain(f32),
    /// Such columns cannot be screened.
    Unclear,
}

/// The best of the screened columns.
enum Best {
    /// None has a split.
    None,
    Split(SplitOf),
    /// The split computed exactly turned out to be none.
    NoSplit(usize),
    /// Another method has to evaluate the column.
    Unclear(usize),
}

impl Screen {
    /// Prepares for the columns of a node.
    pub fn enter<I: ClassImpurity>(&mut self, node: &ScreenedNode<I>) {
        let [first, second] = node.whole();
        self.node_purity = approximate::purity(first, second);
        self.masses.clear();
        let half = |case: u32| 32 * node.table.classes[case as usize];
        let cases = node.cases.cases();
        match node.cases.fractions() {
            None => self.masses.extend(cases.iter().map(|&case| 1 << half(case))),
            Some(fractions) => {
                let masses = cases.iter().zip(fractions);
                self.masses.extend(masses.map(|(&case, &fraction)| u64::from(fraction) << half(case)));
            }
        }
        self.best.gain = f32::NEG_INFINITY;
        self.known.masses.clear();
    }

    /// Screens columns in their order, up to the first perfect split or until the budget is exhausted. `saw` is told
    /// the result for each column. Returns the best split as far as columns were screened (screened only, if no other
    /// column but ties comes near it), and why the survey ended early, if it did. What is known of other columns is
    /// left in `gains`, `unclear` and `ties`.
    pub fn survey<I: ClassImpurity>(
        &mut self,
        node: &ScreenedNode<I>,
        columns: &[usize],
        scratch: &mut Scratch,
        ticker: &mut Ticker,
        mut saw: impl FnMut(usize, &ScreenedColumn),
    ) -> (Option<SplitOf>, Result<(), Stop>) {
        self.enter(node);
        let (byte_codes, cases) = (node.table.byte_codes(), node.cases.cases());
        let narrow = columns.iter().filter_map(|&column| byte_codes.column(column));
        self.byte_histogram.add_up(byte_codes, cases, &self.masses, narrow);
        self.gains.clear();
        self.unclear.clear();
        self.ties.clear();
        let (mut best, mut outcome) = (None, Ok(()));
        // The gain of a split that leaves no impurity, less the margin.
        let perfect = -self.node_purity / node.stats.total as f32 - MARGIN;
        for &column in columns {
            outcome = ticker.tick(2 * cases.len());
            if outcome.is_err() {
                break;
            }
            let screened = self.screen(node, column);
            saw(column, &screened);
            match screened {
                ScreenedColumn::Constant | ScreenedColumn::NoSplit => {}
                ScreenedColumn::Unclear => self.unclear.push(column),
                ScreenedColumn::Gain(gain) => {
                    self.gains.push((column as u32, gain));
                    self.note_tie(node, column);
                    if gain >= perfect {
                        best = self.best.perfect_split(node);
                        if best.is_some() {
                            // Later columns cannot beat it.
                            break;
                        }
                    }
                }
            }
        }
        let least = self.best.gain - MARGIN;
        let near = self.gains.iter().filter(|(_, gain)| *gain >= least).count();
        let is_alone = self.unclear.is_empty() && near == 1 + self.ties.len();
        let best = match best {
            Some(perfect) => Best::Split(perfect),
            None => match self.best_split(node, scratch, ticker, is_alone) {
                Ok(best) => best,
                Err(stop) => return (None, Err(stop)),
            },
        };
        let column = match &best {
            Best::None => return (None, outcome),
            Best::Split((column, _)) => *column as usize,
            Best::NoSplit(column) | Best::Unclear(column) => *column,
        };
        if !(is_alone && matches!(&best, Best::Split((_, split)) if split.is_screened())) {
            self.ties.clear();
        }
        let is_known = |other: u32| other as usize == column || self.ties.iter().any(|(tie, _)| *tie == other);
        self.gains.retain(|&(other, _)| !is_known(other));
        match best {
            Best::Split(split) => (Some(split), outcome),
            Best::Unclear(column) => {
                self.unclear.push(column);
                self.unclear.sort_unstable();
                (None, outcome)
            }
            Best::None | Best::NoSplit(_) => (None, outcome),
        }
    }

    /// Notes that a column, the one screened last, ties with the best because its branches have the same masses.
    fn note_tie<I: ClassImpurity>(&mut self, node: &ScreenedNode<I>, column: usize) {
        let (this, best) = (&self.this, &self.best);
        if best.column == column {
            // The column is itself the best.
            self.ties.clear();
        } else if this.gain == best.gain
            && let Some((cut, branches)) = this.best_in_two(node.table)
            && best.best_in_two(node.table).is_some_and(|(_, of_best)| of_best == branches)
        {
            self.ties.push((column as u32, this.candidate(node, cut, false)));
        }
    }

    /// Screens a column of the node entered and computes its best split exactly, or only its test if `test_suffices`
    /// and the test is certain. `None` if the column cannot be screened.
    pub fn evaluate<I: ClassImpurity>(
        &mut self,
        node: &ScreenedNode<I>,
        column: usize,
        scratch: &mut Scratch,
        ticker: &mut Ticker,
        test_suffices: bool,
    ) -> Result<Option<ColumnSplit>, Stop> {
        self.best.gain = f32::NEG_INFINITY;
        let byte_codes = node.table.byte_codes();
        let narrow = byte_codes.column(column).into_iter();
        self.byte_histogram.add_up(byte_codes, node.cases.cases(), &self.masses, narrow);
        Ok(match self.screen(node, column) {
            ScreenedColumn::Constant => Some(ColumnSplit::Constant),
            ScreenedColumn::NoSplit => Some(ColumnSplit::NoSplit),
            ScreenedColumn::Gain(_) => match self.best_split(node, scratch, ticker, test_suffices)? {
                Best::Split((_, split)) => Some(ColumnSplit::Split(split)),
                Best::NoSplit(_) => Some(ColumnSplit::NoSplit),
                Best::None | Best::Unclear(_) => None,
            },
            ScreenedColumn::Unclear => None,
        })
    }

    /// Screens a column of the node entered. A narrow column has been added up before.
    ///
    /// Complexity: O(cases + codes), or O(cases log cases) if codes are many.
    fn screen<I: ClassImpurity>(&mut self, node: &ScreenedNode<I>, column: usize) -> ScreenedColumn {
        let ScreenedNode { rule, table, .. } = node;
        let coded = &table.columns[column];
        if !coded.ordered && rule.nominal != NominalSplits::Multiway {
            return ScreenedColumn::Unclear;
        }
        self.collect(table, column, node.cases);
        let this = &mut self.this;
        this.column = column;
        if this.n <= 1 {
            return ScreenedColumn::Constant;
        }
        let ColumnSplits { n, masses: [first, second], purities, known, .. } = this;
        let purity = match coded.ordered {
            true => {
                // The last set has all cases: there is no cut above it.
                let (n, whole, least) = (*n - 1, *known, rule.min_side().min(u32::MAX.into()) as u32);
                self.isa.run(CutPurities { n, first, second, purities, whole, least })
            }
            false => {
                let counts = || first.iter().zip(&*second).take(*n).map(|(first, second)| u64::from(first + second));
                if counts().any(|count| count < rule.min_leaf)
                    || counts().filter(|&count| count >= rule.min_branch).nth(1).is_none()
                {
                    return ScreenedColumn::NoSplit;
                }
                self.isa.run(SetPurities { n: *n, first, second, purities }) as f32
            }
        };
        if purity == f32::NEG_INFINITY {
            return ScreenedColumn::NoSplit;
        }
        // Usually all cases have a value.
        let is_complete = this.known == node.whole();
        let base = if is_complete { self.node_purity } else { approximate::purity(this.known[0], this.known[1]) };
        let gain = (purity - base) / node.stats.total as f32;
        (this.gain, this.greatest) = (gain, purity);
        if gain > self.best.gain {
            std::mem::swap(&mut self.this, &mut self.best);
        }
        ScreenedColumn::Gain(gain)
    }

    /// The best split of the column of greatest gain among those screened: exactly, or only its test if `test_suffices`
    /// and the test is certain.
    fn best_split<I: ClassImpurity>(
        &mut self,
        node: &ScreenedNode<I>,
        scratch: &mut Scratch,
        ticker: &mut Ticker,
        test_suffices: bool,
    ) -> Result<Best, Stop> {
        let ScreenedNode { rule, table, stats, .. } = node;
        let best = &self.best;
        let (column, coded) = (best.column, &table.columns[best.column]);
        if best.gain == f32::NEG_INFINITY {
            return Ok(Best::None);
        }
        // The gain is certainly positive and at least `min_gain`.
        if test_suffices
            && best.gain > rule.min_gain as f32 + MARGIN
            && let Some(cut) = best.certain_cut(table)
        {
            return Ok(Best::Split((column as u32, best.candidate(node, cut, false))));
        }
        let masses = best.known.map(u64::from);
        if self.known.masses != masses {
            self.known.masses.clear();
            self.known.masses.extend(masses);
            rule.impurity.recompute(&mut self.known);
        }
        // Cases have mass one, so masses are counts.
        let known = NodeStats { stats: &self.known, count: best.known_mass(), node_mass: stats.total };
        let [first, second] = &best.masses;
        if coded.ordered {
            let cut = |cut: usize| {
                let below = [first[cut], second[cut]].map(u64::from);
                let [code_below, code_above] = [best.codes[cut], best.codes[cut + 1]].map(u64::from);
                TwoClassCut { mass: below[0] + below[1], ones: below[1], below: code_below, above: code_above }
            };
            // If it is in doubt whether the best gain is positive, all cuts have to be evaluated.
            return Ok(match rule.best_of_cuts(best.near_cuts().map(cut), &known) {
                Some(split) => Best::Split((column as u32, split.of(coded))),
                None => Best::Unclear(column),
            });
        }
        self.bins.clear();
        for (&code, (&first, &second)) in best.codes.iter().zip(first.iter().zip(second)).take(best.n) {
            let bins = (0..).zip([first, second].map(u64::from)).filter(|&(_, mass)| mass > 0);
            self.bins.extend(bins.map(|(class, mass)| Bin { code, class, mass, count: mass }));
        }
        let split: Option<SplitCandidate> = rule.multiway(&self.bins, &known, scratch, ticker)?;
        Ok(split.map_or(Best::NoSplit(column), |split| Best::Split((column as u32, split))))
    }
}
