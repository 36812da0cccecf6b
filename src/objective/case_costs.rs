//! Costs that each case has of its own, as integers.

use std::cell::RefCell;

use rustc_hash::FxHashMap;

use super::matrix::widen;
use super::units::{self, MOST_UNITS, Units};
use super::{Rewards, sum};
use crate::budget::{Budget, Ticker};
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
    /// What the weights of rows are found by, where they go into the costs.
    pub(super) weights: Option<Units>,
    pub(super) scale: Scale,
    /// What the label that abstains costs.
    pub(super) abstain: f64,
}

impl CaseTable {
    /// What the labels of a row cost, times its weight where that goes into costs.
    #[inline]
    pub(super) fn costs_of<'a>(&'a self, data: &'a Dataset, row: usize) -> impl Iterator<Item = f64> + 'a {
        let costs = data.costs().map_or(&[][..], |costs| costs.of(row));
        let weight = self.weights.as_ref().map_or(1.0, |units| units.weight(data, row));
        self.columns.iter().map(move |column| column.map_or(self.abstain, |column| costs[column]) * weight)
    }

    fn n_labels(&self) -> usize {
        self.columns.len()
    }

    /// Rewards in units, of a case that counts once; returns what the dearest label costs.
    pub(super) fn rewards(&self, data: &Dataset, row: usize, rewards: &mut Rewards) -> i128 {
        rewards.clear();
        let dearest = self.scale.signed(self.costs_of(data, row).fold(f64::NEG_INFINITY, f64::max));
        let saves = |cost: f64| (dearest - self.scale.signed(cost)) as u64;
        let all = (0..).zip(self.costs_of(data, row)).map(|(label, cost)| (label, saves(cost)));
        rewards.extend(all.filter(|&(_, reward)| reward > 0));
        dearest
    }

    /// The unit of which all costs are multiples, if there is one under which rewards, each so many times as its row is
    /// taken, have a total in range. None is known where the time is over.
    pub(super) fn exact_scale(&self, data: &Dataset, times: &dyn Fn(usize) -> u64, budget: &Budget) -> Option<Scale> {
        let rows = || (0..data.n_rows()).filter(|&row| data.count(row) > 0);
        // The dearest label and the others.
        let total = self.total(data, times) * (self.n_labels() + 1) as f64;
        if total == 0.0 {
            return Some(Scale::ONE);
        }
        let ticker = RefCell::new(Ticker::new(budget));
        let in_time = |_: &usize| ticker.borrow_mut().tick(4 * self.n_labels()).is_ok();
        let costs = || rows().take_while(in_time).flat_map(|row| self.costs_of(data, row)).map(f64::abs);
        let is_in_range = (2.0 * total).is_finite();
        let scale = is_in_range.then(|| Scale::exact(|| costs().filter(|&cost| cost > 0.0), total, MOST_UNITS, 1023));
        scale.flatten().filter(|_| budget.check().is_ok())
    }

    /// The finest power of two under which the rewards have a total in range.
    pub(super) fn rounding_scale(&self, data: &Dataset) -> Result<Scale> {
        if !(2.0 * self.total(data, &|row| data.count(row)) * (self.n_labels() + 1) as f64).is_finite() {
            return Err(Error::BadCosts {
                problem: "their sum over all rows, times weights and counts, is not below 8e307; use smaller units"
                    .into(),
            });
        }
        let of_row = |row: usize| {
            let dearest = self.costs_of(data, row).fold(f64::NEG_INFINITY, f64::max);
            data.count(row) as f64 * self.costs_of(data, row).map(|cost| dearest - cost).sum::<f64>()
        };
        let saved: f64 = (0..data.n_rows()).filter(|&row| data.count(row) > 0).map(of_row).sum();
        Ok(Scale::grid(if saved > 0.0 { saved } else { 1.0 }, MOST_UNITS))
    }

    /// The magnitudes of all costs, each so many times as its row is taken.
    fn total(&self, data: &Dataset, times: &dyn Fn(usize) -> u64) -> f64 {
        let of_row = |row: usize| times(row) as f64 * self.costs_of(data, row).map(f64::abs).sum::<f64>();
        (0..data.n_rows()).filter(|&row| data.count(row) > 0).map(of_row).sum()
    }

    /// The total of all rewards, and what trees cost besides. Fails where the costs of a row differ by less than a
    /// unit, if it `refuses` that.
    pub(super) fn totals(&self, data: &Dataset, times: &dyn Fn(usize) -> u64, refuses: bool) -> Result<(u64, i128)> {
        let (mut rewards, mut total, mut offset) = (Rewards::new(), 0u128, 0i128);
        for row in (0..data.n_rows()).filter(|&row| data.count(row) > 0) {
            let dearest = self.rewards(data, row, &mut rewards);
            if rewards.is_empty() && refuses {
                let (least, most) = self.costs_of(data, row).fold((f64::INFINITY, f64::NEG_INFINITY), widen);
                if most > least {
                    let problem = format!(
                        "those of row {row} differ by {:?}, which is lost beside those of the other rows; round all to \
                         fewer digits, or leave that row out",
                        most - least
                    );
                    return Err(Error::BadCosts { problem });
                }
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
    let mut others: FxHashMap<&str, usize> = (0..).zip(costs.labels.iter()).map(|(at, label)| (&**label, at)).collect();
    let mut columns = Vec::with_capacity(costs.labels.len());
    for class in &classes {
        let Some(column) = others.remove(&**class) else {
            let problem = format!("there is none for the class {}; each class needs a column", quoted(class));
            return Err(Error::BadCosts { problem });
        };
        columns.push(Some(column));
    }
    let mut others: Vec<usize> = others.into_values().collect();
    others.sort_unstable();
    columns.extend(others.iter().map(|&column| Some(column)));
    Ok((columns, others.iter().map(|&column| costs.labels[column].clone()).collect()))
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
