//! Costs that each case has of its own, as integers.

use super::matrix::widen;
use super::units::{self, MOST_UNITS, Units};
use super::{Rewards, sum};
use crate::data::{CaseCosts, Dataset, Schema};
use crate::error::{Error, Result};
use crate::names::quoted;
use crate::scale::Scale;

/// Costs of each case by label. Where masses and costs have too many digits to be multiplied as integers, costs come
/// times the weight of their row, once for each that it counts.
#[derive(Debug)]
pub(super) struct CaseTable {
    /// For each label its column in the costs of the data, or none for the label that abstains.
    pub(super) columns: Vec<Option<usize>>,
    /// The weight of each row, where it goes into the costs.
    pub(super) weights: Option<Vec<f64>>,
    pub(super) scale: Scale,
    /// What the label that abstains costs.
    pub(super) abstain: f64,
}

impl CaseTable {
    /// What a label costs in a case, times its weight where that goes into costs.
    pub(super) fn cost(&self, data: &Dataset, row: usize, label: usize) -> f64 {
        let cost =
            self.columns[label].map_or(self.abstain, |column| data.costs().map_or(0.0, |costs| costs.of(row)[column]));
        self.weights.as_ref().map_or(cost, |weights| cost * weights[row])
    }

    fn n_labels(&self) -> usize {
        self.columns.len()
    }

    /// Rewards in units, of a case that counts once; returns what the dearest label costs.
    pub(super) fn rewards(&self, data: &Dataset, row: usize, rewards: &mut Rewards) -> i128 {
        rewards.clear();
        let cost = |label: usize| self.scale.signed(self.cost(data, row, label));
        let dearest = (0..self.n_labels()).map(cost).max().unwrap_or(0);
        let saves = (0..self.n_labels()).map(|label| (label as u32, (dearest - cost(label)) as u64));
        rewards.extend(saves.filter(|&(_, reward)| reward > 0));
        dearest
    }

    /// What the labels of a row cost.
    fn costs_of<'a>(&'a self, data: &'a Dataset, row: usize) -> impl Iterator<Item = f64> + 'a {
        (0..self.n_labels()).map(move |label| self.cost(data, row, label))
    }

    /// The unit of which all costs are multiples, if there is one under which rewards, each so many times as its row is
    /// taken, have a total in range.
    pub(super) fn exact_scale(&self, data: &Dataset, times: &dyn Fn(usize) -> u64) -> Result<Option<Scale>> {
        let rows = || (0..data.n_rows()).filter(|&row| data.count(row) > 0);
        let of_row = |row: usize| times(row) as f64 * self.costs_of(data, row).map(f64::abs).sum::<f64>();
        // The dearest label and the others.
        let total = rows().map(of_row).sum::<f64>() * (self.n_labels() + 1) as f64;
        if !(2.0 * total).is_finite() {
            return Err(Error::BadCosts {
                problem: "their sum over all rows, times weights and counts, is not below 8e307; use smaller units"
                    .into(),
            });
        }
        let costs = || rows().flat_map(|row| self.costs_of(data, row)).map(f64::abs).filter(|&cost| cost > 0.0);
        Ok(if total > 0.0 { Scale::exact(costs, total, MOST_UNITS, 1023) } else { Some(Scale::ONE) })
    }

    /// The finest power of two under which the rewards have a total in range.
    pub(super) fn rounding_scale(&self, data: &Dataset) -> Scale {
        let of_row = |row: usize| {
            let dearest = self.costs_of(data, row).fold(f64::NEG_INFINITY, f64::max);
            data.count(row) as f64 * self.costs_of(data, row).map(|cost| dearest - cost).sum::<f64>()
        };
        let saved: f64 = (0..data.n_rows()).filter(|&row| data.count(row) > 0).map(of_row).sum();
        Scale::grid(if saved > 0.0 { saved } else { 1.0 }, MOST_UNITS)
    }

    /// The total of all rewards, and what trees cost besides.
    pub(super) fn totals(&self, data: &Dataset, times: &dyn Fn(usize) -> u64) -> Result<(u64, i128)> {
        let (mut rewards, mut total, mut offset) = (Rewards::new(), 0u128, 0i128);
        for row in (0..data.n_rows()).filter(|&row| data.count(row) > 0) {
            let dearest = self.rewards(data, row, &mut rewards);
            let (least, most) = self.costs_of(data, row).fold((f64::INFINITY, f64::NEG_INFINITY), widen);
            if rewards.is_empty() && most > least {
                let problem = format!(
                    "those of row {row} differ by {:?}, which is lost beside those of the other rows; round all to fewer \
                     digits, or leave that row out",
                    most - least
                );
                return Err(Error::BadCosts { problem });
            }
            let of_row = sum(&rewards);
            total += u128::from(times(row)) * u128::from(of_row);
            let besides = (dearest - i128::from(of_row)).checked_mul(i128::from(times(row)));
            let all = besides.and_then(|besides| offset.checked_add(besides));
            offset = all.ok_or_else(too_much_in_common)?;
        }
        debug_assert!(total < 1 << 62);
        Ok((total as u64, offset))
    }
}

/// What costs all trees alike leaves no room for what tells them apart.
pub(super) fn too_much_in_common() -> Error {
    let problem = "what they have in common is too large beside their differences; subtract it".into();
    Error::BadCosts { problem }
}

/// The column of each class, then those of other labels, whose names come back too.
pub(super) fn columns_of(costs: &CaseCosts, schema: &Schema) -> Result<(Vec<Option<usize>>, Vec<String>)> {
    let labels = schema.labels();
    let classes: Vec<String> =
        labels.map_or(vec![], |labels| (0..labels.len()).map(|code| labels.text(code)).collect());
    let column = |class: &String| costs.labels.iter().position(|label| label == class);
    let mut columns = Vec::with_capacity(costs.labels.len());
    for class in &classes {
        let Some(column) = column(class) else {
            let problem = format!("there is none for the class {}; each class needs a column", quoted(class));
            return Err(Error::BadCosts { problem });
        };
        columns.push(Some(column));
    }
    let others = || (0..).zip(costs.labels.iter()).filter(|(_, label)| !classes.contains(label));
    columns.extend(others().map(|(column, _)| Some(column)));
    Ok((columns, others().map(|(_, label)| label.clone()).collect()))
}

impl Units {
    /// The weight of a row: what it weighs in units, without its count, as a number.
    pub(super) fn weight(&self, data: &Dataset, row: usize) -> f64 {
        match data.count(row) {
            0 => 0.0,
            count => units::value_of(self.unit(), (self.mass(data, row) / count) as f64),
        }
    }
}
