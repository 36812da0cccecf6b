//! The cases that judge trees, coded so that each split sends them on in constant time.
//!
//! A held-out case goes the way that [`Tree::predict_codes`](crate::tree::Tree::predict_codes) sends it, to the last bit
//! of the shares of a case that goes several ways. What a tree gets wrong is a sum over its leaves of the cases that end
//! there whole, and over its splits of those that are spread from there on.

use std::cmp::Ordering;
use std::sync::OnceLock;

use super::goal::Whole;
use super::graph::Split;
use crate::budget::{Budget, Stop, Ticker};
use crate::criterion::Costs;
use crate::data::ByteMatrix;
use crate::data::dataset::MISSING;
use crate::data::{Column, Dataset, Kind, Target, Value};
use crate::error::{Error, Result, list_names};
use crate::greedy::split::Cut;
use crate::greedy::table::{Coded, NONE, Table};
use crate::greedy::{self, Missing};
use crate::names::quoted;
use crate::objective::Units;
use crate::tree::{Threshold, Unseen};

/// The code of a level that no tree knows.
const UNSEEN: u32 = NONE - 1;
/// Codes below it fit into a byte, beside the last digits of [`UNSEEN`] and [`NONE`].
const NARROW: u32 = UNSEEN & 0xff;
/// Errors of all cases together stay below this many units.
const MOST_UNITS: u64 = 1 << 62;

/// Cases with their classes.
pub(crate) struct HeldOut {
    pub n_cases: usize,
    /// Of all cases, in units.
    pub total: u64,
    n_classes: usize,
    /// The row of each case.
    rows: Vec<usize>,
    classes: Vec<u32>,
    masses: Vec<u64>,
    columns: Vec<Held>,
    /// Per case and column of few codes: the last digits of the code. Cases go from split to split, that is, from column to
    /// column.
    narrow: ByteMatrix,
    costs: Costs,
    /// Costs as trees carry them, where a case that is spread gets the class of least expected cost.
    spread_costs: Option<Box<[f64]>>,
}

/// One column.
struct Held {
    /// Per case: the rank of its value among `values`, or its level; [`NONE`] or [`UNSEEN`].
    codes: Vec<u32>,
    /// Its place among the columns of few codes.
    narrow: Option<usize>,
    /// The values that occur, ascending; none for nominal columns.
    values: Vec<Value>,
    /// Per value of the building cases: how many of these are less, and how many at most as great.
    up_to: OnceLock<Vec<[u32; 2]>>,
}

/// Where a case goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Down a branch that building cases took.
    Branch(usize),
    /// To a branch that none took: it predicts as the node would.
    Empty,
    /// Down all branches.
    Spread,
}

/// What a split does with codes.
#[derive(Debug)]
pub(super) struct Ways {
    /// Where values are ordered: codes below the first take the first branch, from the second on the other, and what is
    /// in between goes by the threshold.
    bounds: [u32; 2],
    threshold: Option<Threshold>,
    missing: Way,
    unseen: Way,
}

impl HeldOut {
    /// Takes the classes and masses of the cases in.
    ///
    /// # Errors
    /// If the schema is not that of the table that trees are grown on, or there is no case.
    pub fn new(
        building: &Dataset,
        data: &Dataset,
        params: &greedy::Params,
        costs: &Costs,
        budget: &Budget,
    ) -> Result<std::result::Result<Self, Stop>> {
        let (units, classes) = check(building, data, costs)?;
        // What is known of each case, and the places of those that come to the root.
        match budget.reserve((8 + 4 + 8 + 4) * data.n_rows() as u64) {
            Ok(reserved) => reserved.keep(),
            Err(stop) => return Ok(Err(stop)),
        }
        let rows: Vec<usize> = (0..data.n_rows()).filter(|&row| units.mass(data, row) > 0).collect();
        let masses: Vec<u64> = rows.iter().map(|&row| units.mass(data, row)).collect();
        let total = masses.iter().sum::<u64>();
        let spreads = params.missing == Missing::Fractional;
        let uneven = params.costs.as_ref().filter(|costs| spreads && !greedy::finish::are_equal(costs));
        Ok(Ok(HeldOut {
            n_cases: rows.len(),
            total,
            n_classes: data.schema().labels().map_or(0, |labels| labels.len()),
            classes: rows.iter().map(|&row| classes[row]).collect(),
            rows,
            masses,
            columns: Vec::new(),
            narrow: ByteMatrix::new(0, 0),
            costs: costs.clone(),
            spread_costs: uneven.map(|costs| costs.iter().flatten().copied().collect()),
        }))
    }

    /// The error, as a fraction of all cases, of a tree of one leaf.
    ///
    /// # Errors
    /// As [`HeldOut::new`].
    pub fn error_of_leaf(building: &Dataset, data: &Dataset, costs: &Costs, label: u32) -> Result<f64> {
        let (units, classes) = check(building, data, costs)?;
        let masses = || (0..data.n_rows()).map(|row| units.mass(data, row));
        let error = |(mass, &class): (u64, &u32)| mass * costs.of(class as usize, label as usize) as u64;
        let (factor, divisor, two) = costs.ratio();
        let whole = Whole { total: masses().sum(), factor, divisor, two };
        Ok(whole.fraction(masses().zip(classes).map(error).sum()))
    }

    /// Codes the columns, for cases to go down splits. The outer result is the call's, the inner one the budget's.
    ///
    /// # Errors
    /// If a level is unseen and that is an error.
    pub fn code(
        mut self,
        data: &Dataset,
        table: &Table,
        unseen: Unseen,
        ticker: &mut Ticker,
    ) -> Result<std::result::Result<Self, Stop>> {
        let n = self.n_cases as u64;
        for index in 0..data.columns().len() {
            // Codes; values twice and their order while they are sorted.
            let reserved = ticker.tick(20 * self.n_cases).and_then(|()| ticker.budget().reserve(48 * n));
            let mut reserved = match reserved {
                Ok(reserved) => reserved,
                Err(stop) => return Ok(Err(stop)),
            };
            let held = Held::new(data, index, &self.rows, unseen)?;
            let up_to = if table.columns[index].ordered { 8 * u64::from(table.columns[index].n_codes) } else { 0 };
            if let Err(stop) = reserved.resize(4 * n + 16 * held.values.len() as u64 + up_to) {
                return Ok(Err(stop));
            }
            reserved.keep();
            self.columns.push(held);
        }
        let mut n_narrow = 0;
        for held in self.columns.iter_mut().filter(|held| held.is_narrow()) {
            held.narrow = Some(n_narrow);
            n_narrow += 1;
        }
        match ticker.budget().reserve(n * n_narrow.next_multiple_of(8) as u64) {
            Ok(reserved) => reserved.keep(),
            Err(stop) => return Ok(Err(stop)),
        }
        self.narrow = ByteMatrix::new(self.n_cases, n_narrow);
        for held in &self.columns {
            if let Err(stop) = ticker.tick(2 * self.n_cases) {
                return Ok(Err(stop));
            }
            if let Some(place) = held.narrow {
                self.narrow.fill(place, held.codes.iter().map(|&code| code as u8));
            }
        }
        Ok(Ok(self))
    }

    /// What taking a case for one of a class costs, in units.
    #[inline]
    pub fn error(&self, case: u32, label: u32) -> u64 {
        // What is no error costs nothing. It is not asked for: which cases are errors is nothing that a processor could guess.
        self.masses[case as usize] * self.costs.of(self.classes[case as usize] as usize, label as usize) as u64
    }

    /// The codes of a column, case by case.
    pub fn codes(&self, column: usize) -> &[u32] {
        &self.columns[column].codes
    }

    /// Whether two cases have the same values in these columns.
    pub fn are_equal(&self, a: u32, b: u32, columns: &[usize]) -> bool {
        columns.iter().all(|&column| {
            let codes = &self.columns[column].codes;
            codes[a as usize] == codes[b as usize]
        })
    }

    pub fn n_classes(&self) -> usize {
        self.n_classes
    }

    pub fn class(&self, case: u32) -> u32 {
        self.classes[case as usize]
    }

    pub fn mass(&self, case: u32) -> u64 {
        self.masses[case as usize]
    }

    /// What cases of these class masses cost when they are all taken for the class where that is the least.
    pub fn least_error(&self, masses: &[u64]) -> u64 {
        self.costs.leaf(masses).0 as u64
    }

    /// The errors of cases that a leaf of this class gets.
    pub fn errors(&self, cases: &[u32], label: u32) -> u64 {
        cases.iter().map(|&case| self.error(case, label)).sum()
    }

    /// The errors of a tree that takes the rows of the table, from this one on, for these classes.
    pub fn errors_of(&self, first: usize, labels: &[u32]) -> u64 {
        let place = |row: usize| self.rows.partition_point(|&other| other < row);
        let cases = place(first)..place(first + labels.len());
        cases.map(|case| self.error(case as u32, labels[self.rows[case] - first])).sum()
    }

    /// How many units an error of one is for all cases.
    pub fn whole(&self) -> Whole {
        let (factor, divisor, two) = self.costs.ratio();
        Whole { total: self.total, factor, divisor, two }
    }

    /// What a split does with the values of its column.
    pub fn ways(&self, coded: &Coded, split: (u32, &Cut), masses: &[f64], own_came: bool, fractional: bool) -> Ways {
        let (column, cut) = split;
        let held = &self.columns[column as usize];
        let (bounds, threshold) = match cut {
            Cut::AtMost { below, above } => {
                let up_to = held.up_to(coded);
                let bounds = [up_to[*below as usize][1], up_to[*above as usize][0]];
                let is_asked = bounds[0] < bounds[1] || coded.imputed.is_some();
                (bounds, is_asked.then(|| coded.threshold(*below, *above)))
            }
            _ => ([0; 2], None),
        };
        let passes = |value: Value| threshold.is_some_and(|threshold| threshold.at_least(value) == Some(true));
        // As the tree's own nodes have it: the first branch of greatest mass.
        let heaviest =
            (0..masses.len()).fold(0, |best, branch| if masses[branch] > masses[best] { branch } else { best });
        let heaviest = Way::Branch(heaviest);
        let own = coded.own.filter(|_| own_came);
        let missing = match (cut, own, coded.imputed) {
            _ if fractional => Way::Spread,
            (Cut::Is(code), ..) if Some(*code) == coded.own => Way::Branch(0), // it asks for missing values
            (Cut::Each(_) | Cut::In(_), Some(own), _) => nominal(cut, own),
            (_, Some(_), _) => Way::Branch(1),
            (_, None, Some(Value::Level(level))) if !coded.ordered => nominal(cut, level),
            (_, None, Some(value)) => Way::Branch(usize::from(!passes(value))),
            (_, None, None) => heaviest,
        };
        let asks_missing = matches!(cut, Cut::Is(code) if Some(*code) == coded.own);
        Ways { bounds, threshold, missing, unseen: if asks_missing { Way::Branch(1) } else { heaviest } }
    }

    /// Where a case goes at a split.
    #[inline(always)]
    pub fn way<S>(&self, split: &Split<S>, case: u32) -> Way {
        let ways = split.ways.as_ref().expect("made with the split");
        let held = &self.columns[split.column as usize];
        let code = match held.narrow {
            Some(place) => match u32::from(self.narrow.line(case)[place]) {
                code if code >= NARROW => code | !0xff,
                code => code,
            },
            None => held.codes[case as usize],
        };
        match (code, &split.cut) {
            (NONE, _) => ways.missing,
            (UNSEEN, _) => ways.unseen,
            (_, Cut::AtMost { .. }) => {
                let [below, above] = ways.bounds;
                Way::Branch(match ways.threshold {
                    Some(threshold) if code >= below && code < above => {
                        usize::from(threshold.at_least(held.values[code as usize]) != Some(true))
                    }
                    _ => usize::from(code >= above),
                })
            }
            (_, cut) if split.is_ordered => {
                debug_assert!(matches!(cut, Cut::Is(_)));
                Way::Branch(1)
            }
            (_, cut) => nominal(cut, code),
        }
    }

    /// Whether the class of a case that is spread may be another than that of greatest share.
    pub fn has_uneven_costs(&self) -> bool {
        self.spread_costs.is_some()
    }

    /// The class of a case that is spread, from the shares that it has of each; ties: the first.
    pub fn label_of(&self, shares: &[f64]) -> u32 {
        let greatest = |values: &[f64]| {
            (1..values.len()).fold(0, |best, class| match values[class].partial_cmp(&values[best]) {
                Some(Ordering::Greater) => class,
                _ => best,
            })
        };
        let Some(costs) = &self.spread_costs else { return greatest(shares) as u32 };
        let n = shares.len();
        let expected = |class: usize| (0..n).map(|of| shares[of] * costs[of * n + class]).sum::<f64>();
        let savings: Vec<f64> = (0..n).map(|class| -expected(class)).collect();
        greatest(&savings) as u32
    }
}

/// The unit of mass: as fine as errors have room for, beside costs.
///
/// # Errors
/// Where weights and costs have more digits together than an error has.
fn units(data: &Dataset, costs: &Costs) -> Result<Units> {
    let room = u128::from(MOST_UNITS) / costs.greatest().max(1);
    let units = Units::within(data, (1u64 << room.ilog2()) as f64)?;
    // What is rounded is a part of 2^42 of the whole at most.
    let is_exact = |row: usize| {
        data.weights().is_none_or(|weights| {
            let count = data.count(row);
            // A unit that is part of a weight is a float too.
            let near = |x: f64| (x - weights[row]).abs() <= weights[row] * 4.0 * f64::EPSILON;
            count == 0 || near(units.value(units.mass(data, row) / count))
        })
    };
    let is_fine = room >= greedy::MOST_UNITS as u128 || (0..data.n_rows()).all(is_exact);
    if u128::from(units.total) * costs.greatest() < u128::from(MOST_UNITS) && is_fine {
        return Ok(units);
    }
    // A decimal that all weights are multiples of, or a power of two.
    Err(Error::InvalidParameter {
        name: "costs",
        expected: format!(
            "of fewer digits, or the weights of the search set: costs in units of their common divisor, times the sum of the \
             weights in units of theirs, must be less than 2^62, and the greatest cost is {} units",
            costs.greatest()
        ),
        got: "costs and weights of more digits".into(),
    })
}

/// The branch of a level.
#[inline]
fn nominal(cut: &Cut, code: u32) -> Way {
    match cut {
        Cut::Is(same) => Way::Branch(usize::from(code != *same)),
        Cut::In(codes) => Way::Branch(usize::from(codes.binary_search(&code).is_err())),
        // Most often all levels come, or all up to this one.
        Cut::Each(codes) if codes.get(code as usize) == Some(&code) => Way::Branch(code as usize),
        Cut::Each(codes) => codes.binary_search(&code).map_or(Way::Empty, Way::Branch),
        Cut::AtMost { .. } => unreachable!("levels without an order have no threshold"),
    }
}

impl Held {
    fn new(data: &Dataset, index: usize, rows: &[usize], unseen: Unseen) -> Result<Self> {
        let (feature, column) = (&data.schema().features[index], &*data.columns()[index]);
        let n_levels = feature.kind.levels().len() as u32;
        let values: Vec<Value> = rows.iter().map(|&row| column.value(row, n_levels)).collect();
        if let Some(levels) = Some(feature.kind.levels()).filter(|_| matches!(column, Column::Levels { .. })) {
            let mut codes = Vec::with_capacity(rows.len());
            for (value, &row) in values.into_iter().zip(rows) {
                codes.push(match (value, unseen) {
                    (Value::Level(level), _) => level,
                    (Value::Unseen(_), Unseen::Majority) => UNSEEN,
                    (Value::Unseen(code), Unseen::Error) => {
                        let Column::Levels { unseen, .. } = column else { unreachable!("it has unseen levels") };
                        return Err(Error::UnseenLevel {
                            column: feature.name.clone(),
                            row,
                            level: unseen[code as usize].clone(),
                            known: list_names(levels),
                        });
                    }
                    _ => NONE,
                });
            }
            let ordered = matches!(feature.kind, Kind::Ordinal(_));
            let values = (0..n_levels).map(Value::Level).take(if ordered { n_levels as usize } else { 0 });
            return Ok(Held { codes, narrow: None, values: values.collect(), up_to: OnceLock::new() });
        }
        let mut order: Vec<usize> = (0..values.len()).filter(|&case| values[case] != Value::Missing).collect();
        order.sort_unstable_by(|&a, &b| compare(values[a], values[b]));
        let mut codes = vec![NONE; values.len()];
        let mut ranked: Vec<Value> = Vec::new();
        for case in order {
            if ranked.last().is_none_or(|&last| compare(last, values[case]).is_lt()) {
                ranked.push(values[case]);
            }
            codes[case] = ranked.len() as u32 - 1;
        }
        ranked.shrink_to_fit();
        Ok(Held { codes, narrow: None, values: ranked, up_to: OnceLock::new() })
    }

    fn is_narrow(&self) -> bool {
        self.codes.iter().all(|&code| !(NARROW..UNSEEN).contains(&code))
    }

    fn up_to(&self, coded: &Coded) -> &[[u32; 2]] {
        self.up_to.get_or_init(|| {
            let mut n = 0;
            let up_to = |code: u32| {
                let value = coded.value(code);
                n += self.values[n..].iter().take_while(|&&other| value.at_least(other) == Some(true)).count();
                let is_there = n > 0 && are_same(value, self.values[n - 1]);
                [(n - usize::from(is_there)) as u32, n as u32]
            };
            (0..coded.n_codes - u32::from(coded.own.is_some())).map(up_to).collect()
        })
    }
}

/// Whether a value is a threshold; not where they are of different kinds.
fn are_same(threshold: Threshold, value: Value) -> bool {
    match (threshold, value) {
        (Threshold::Float(t), Value::Float(x)) => x == t,
        (Threshold::Integer(t), Value::Integer(x)) => x == t,
        (Threshold::Level(t), Value::Level(x)) => x == t,
        _ => false,
    }
}

/// Numbers of one column; both are of the same kind.
fn compare(a: Value, b: Value) -> Ordering {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => a.total_cmp(&b),
        (Value::Integer(a), Value::Integer(b)) => a.cmp(&b),
        _ => Ordering::Equal,
    }
}

/// The unit of mass and the classes of a table that judges trees; fails if it cannot.
fn check<'d>(building: &Dataset, data: &'d Dataset, costs: &Costs) -> Result<(Units, &'d [u32])> {
    check_schema(building, data)?;
    if data.present().iter().all(|&word| word == 0) {
        let expected = "a table with at least one row of positive count and weight".into();
        return Err(Error::InvalidParameter { name: "search", expected, got: "none".into() });
    }
    match data.target() {
        Target::Classes(classes) => Ok((units(data, costs)?, classes)),
        _ => {
            let got = "absent in the search set (name it when you make the dataset)";
            Err(Error::WrongTarget { search: "the search set", needs: "classes", got })
        }
    }
}

/// Fails if the cases speak of other columns or classes than the table that trees are grown on.
fn check_schema(building: &Dataset, data: &Dataset) -> Result<()> {
    let (ours, theirs) = (building.schema(), data.schema());
    let expected =
        || "as in the building set; make the search set with like=building, or split one dataset".to_string();
    let names = |schema: &crate::data::Schema| {
        list_names(&schema.features.iter().map(|feature| feature.name.as_str()).collect::<Vec<_>>())
    };
    if ours.features.len() != theirs.features.len() {
        let got = format!("a search set of the columns {}", names(theirs));
        return Err(Error::InvalidParameter { name: "search", expected: expected(), got });
    }
    for (ours, theirs) in ours.features.iter().zip(&theirs.features) {
        if ours.name != theirs.name || ours.kind != theirs.kind {
            let got = match ours.name == theirs.name {
                false => format!("the column {} in place of {}", quoted(&theirs.name), quoted(&ours.name)),
                true => format!("other values or levels in the column {}", quoted(&ours.name)),
            };
            return Err(Error::InvalidParameter { name: "search", expected: expected(), got });
        }
    }
    match ours.labels() == theirs.labels() {
        true => Ok(()),
        false => Err(Error::InvalidParameter { name: "search", expected: expected(), got: "other classes".into() }),
    }
}

const _: () = assert!(MISSING == NONE);
