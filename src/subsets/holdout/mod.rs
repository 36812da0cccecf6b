//! Held-out cases, on which trees are tested, coded so that a split routes each of them in constant time.
//!
//! A case takes the way on which [`Tree::predict_codes`] sends it; the shares of a case that goes down several branches
//! agree to the last bit. So the error of a tree is a sum over its leaves, of the cases that reach them whole, and over
//! its splits, of the cases that are spread from there on.
//!
//! - `column`: the values of a column as codes. `routing`: where a split sends each code. `partition`: the cases of a
//!   case set that go down each branch. `equivalent_points`: cases that no tree over some features tells apart, a lower
//!   bound on errors. `validate`: checks of the table, and the unit of its masses.

mod column;
pub(super) mod equivalent_points;
pub(super) mod partition;
pub(super) mod routing;
mod validate;

use std::cmp::Ordering;

use column::HoldoutColumn;
use routing::{Router, Routing};
use validate::validate;

use super::error_units::ErrorUnits;
use super::setup::SetupError;
use crate::budget::{Budget, Stop, Ticker};
use crate::criterion::Costs;
use crate::data::ByteMatrix;
use crate::data::Dataset;
use crate::error::Result;
use crate::greedy::engine::{CodedTest, GrowthData, have_equal_costs};
use crate::greedy::{self, Missing};
use crate::tree::Tree;

/// Held-out cases with their classes, and what an error on each of them costs.
pub(super) struct HoldoutSet {
    pub n_cases: usize,
    data: Dataset,
    n_classes: usize,
    /// The row of each case.
    rows: Vec<usize>,
    classes: Vec<u32>,
    masses: Vec<u64>,
    /// The mass of all cases, in units.
    total: u64,
    columns: Vec<HoldoutColumn>,
    /// Per case and column of few codes: the last byte of the code. A case goes from split to split, that is, from
    /// column to column, so its codes lie side by side.
    narrow: ByteMatrix,
    costs: Costs,
    /// Costs as trees carry them, where a case that is spread gets the class of least expected cost.
    spread_costs: Option<Box<[f64]>>,
}

/// Rows that are predicted at a time.
const ROWS: usize = 1 << 12;

impl HoldoutSet {
    /// Reads the classes and masses of the cases. The columns are coded by [`HoldoutSet::code`].
    ///
    /// # Errors
    /// If the schema is not that of the table that trees are grown on, or there is no case; or if memory is short.
    pub fn new(
        building: &Dataset,
        data: &Dataset,
        params: &greedy::Params,
        costs: &Costs,
        budget: &Budget,
    ) -> std::result::Result<Self, SetupError> {
        let (units, classes) = validate(building, data, costs)?;
        // Row, class and mass of each case, and the list of cases at the root.
        budget.reserve((8 + 4 + 8 + 4) * data.n_rows() as u64)?.keep();
        let rows: Vec<usize> = (0..data.n_rows()).filter(|&row| units.mass(data, row) > 0).collect();
        let masses: Vec<u64> = rows.iter().map(|&row| units.mass(data, row)).collect();
        let spreads = params.missing == Missing::Fractional;
        let uneven = params.costs.as_ref().filter(|costs| spreads && !have_equal_costs(costs));
        Ok(HoldoutSet {
            n_cases: rows.len(),
            data: data.clone(),
            n_classes: data.schema().labels().map_or(0, |labels| labels.len()),
            classes: rows.iter().map(|&row| classes[row]).collect(),
            rows,
            total: masses.iter().sum(),
            masses,
            columns: Vec::new(),
            narrow: ByteMatrix::new(0, 0),
            costs: costs.clone(),
            spread_costs: uneven.map(|costs| costs.iter().flatten().copied().collect()),
        })
    }

    /// Codes the columns, so that splits can route the cases.
    ///
    /// # Errors
    /// If a level is unseen and that is an error; or if a limit is reached.
    pub fn code(
        mut self,
        table: &GrowthData,
        params: &greedy::Params,
        ticker: &mut Ticker,
    ) -> std::result::Result<Self, SetupError> {
        let n = self.n_cases as u64;
        for (index, coded) in table.columns.iter().enumerate() {
            ticker.tick(20 * self.n_cases)?;
            // Codes; values twice and their order while they are sorted.
            let mut reserved = ticker.budget().reserve(48 * n)?;
            let column = HoldoutColumn::new(&self.data, index, &self.rows, params.unseen)?;
            let thresholds = if coded.ordered { 8 * u64::from(coded.n_codes) } else { 0 };
            reserved.resize(4 * n + 16 * column.values.len() as u64 + thresholds)?;
            reserved.keep();
            self.columns.push(column);
        }
        let mut n_narrow = 0;
        for column in self.columns.iter_mut().filter(|column| column.is_narrow()) {
            column.narrow = Some(n_narrow);
            n_narrow += 1;
        }
        ticker.budget().reserve(n * n_narrow.next_multiple_of(8) as u64)?.keep();
        self.narrow = ByteMatrix::new(self.n_cases, n_narrow);
        for column in &self.columns {
            ticker.tick(2 * self.n_cases)?;
            if let Some(place) = column.narrow {
                self.narrow.fill(place, column.codes.iter().map(|&code| code as u8));
            }
        }
        Ok(self)
    }

    /// The error, as a fraction of all cases, of a tree of one leaf.
    ///
    /// # Errors
    /// As [`HoldoutSet::new`].
    pub fn error_of_leaf(building: &Dataset, data: &Dataset, costs: &Costs, label: u32) -> Result<f64> {
        let (units, classes) = validate(building, data, costs)?;
        let masses = || (0..data.n_rows()).map(|row| units.mass(data, row));
        let error = |(mass, &class): (u64, &u32)| mass * costs.of(class as usize, label as usize) as u64;
        let total = error_units(masses().sum(), costs);
        Ok(total.fraction(masses().zip(classes).map(error).sum()))
    }

    /// The units of the error of all cases.
    pub fn units(&self) -> ErrorUnits {
        error_units(self.total, &self.costs)
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

    /// The cost of predicting a class for a case, in units.
    #[inline]
    pub fn error(&self, case: u32, label: u32) -> u64 {
        // A correct prediction costs 0. It is multiplied all the same, because a branch on it would be unpredictable.
        self.masses[case as usize] * self.costs.of(self.classes[case as usize] as usize, label as usize) as u64
    }

    /// The error of a leaf that predicts this class for these cases.
    pub fn errors(&self, cases: &[u32], label: u32) -> u64 {
        cases.iter().map(|&case| self.error(case, label)).sum()
    }

    /// The least error of a single class predicted for cases of these class masses.
    pub fn least_error(&self, masses: &[u64]) -> u64 {
        self.costs.leaf(masses).0 as u64
    }

    /// The error of the predictions of a tree, in units.
    pub fn errors_of_tree(&self, tree: &Tree, budget: &Budget) -> std::result::Result<u64, Stop> {
        let mut error = 0;
        let mut cases = (0..).zip(&self.rows).peekable();
        for first in (0..self.data.n_rows()).step_by(ROWS) {
            budget.check()?;
            let end = self.data.n_rows().min(first + ROWS);
            let labels = tree.predict_codes(&self.data, first..end).expect("the schema is the tree's");
            while let Some((case, &row)) = cases.next_if(|&(_, &row)| row < end) {
                error += self.error(case, labels[row - first]);
            }
        }
        Ok(error)
    }

    /// Where a split sends the values of its column. `masses`: of the branches, as trees show them; `own_came`: whether
    /// a building case came whose missing value counts as a value; `fractional`: whether cases without a value are
    /// spread.
    pub fn routing(
        &self,
        table: &GrowthData,
        split: (u32, &CodedTest),
        masses: &[f64],
        own_came: bool,
        fractional: bool,
    ) -> Routing {
        let column = split.0 as usize;
        Routing::new(&self.columns[column], &table.columns[column], split, masses, own_came, fractional)
    }

    /// Routes cases down a split.
    #[inline(always)]
    pub fn router<'a>(&'a self, routing: &'a Routing, cut: &'a CodedTest) -> Router<'a> {
        Router { column: &self.columns[routing.column as usize], narrow: &self.narrow, routing, cut }
    }

    /// Whether the class of a case that is spread may be another than that of its greatest share.
    pub fn has_uneven_costs(&self) -> bool {
        self.spread_costs.is_some()
    }

    /// The class of a case that is spread, given its share of each class. Ties: the first class.
    pub fn label_of_shares(&self, shares: &[f64]) -> u32 {
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

/// The units of the error of cases of this mass together.
fn error_units(total: u64, costs: &Costs) -> ErrorUnits {
    let (factor, divisor, exponent) = costs.ratio();
    ErrorUnits { total, factor, divisor, exponent }
}
