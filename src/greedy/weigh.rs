//! The cases to learn from, and their masses in integers.

use crate::bits;
use crate::data::dataset::MISSING;
use crate::data::{Column, Dataset, Target, Value};
use crate::error::{Error, Result};
use crate::objective::{self, ClassWeight, Units, Weighing};

use super::params::{Missing, Params};

/// The total of real masses has fewer units than this if cases may be fractional, or are used for evaluation: that
/// leaves digits for fractions of cases, and for costs.
pub const MOST_FRACTIONAL: f64 = (1u64 << 42) as f64;
/// If that is too coarse, this limit is used, and fractions have fewer digits.
const MOST_SHARED: f64 = (1u64 << 50) as f64;

/// The rows to learn from, a bit per row of the data that is among them, and the unit of mass.
pub(crate) fn weighed(data: &Dataset, params: &Params) -> Result<(Dataset, Vec<u64>, Units)> {
    let present = learnable(data, params)?;
    let rows: Vec<usize> = bits::ones(&present).collect();
    let cases = taken(data.without_costs(), &rows);
    let (totals, error) = precision(shares_out(data, params, &rows));
    let units = Weighing::new(&cases, &params.class_weight, Some(&rows)).units_within(totals, error)?;
    Ok((cases, present, units))
}

/// The mass of each class over the rows to learn from, the unit of mass, and the number of these rows; no column is
/// copied.
pub(crate) fn class_masses(data: &Dataset, params: &Params) -> Result<(Vec<u64>, Units, usize)> {
    let rows: Vec<usize> = bits::ones(&learnable(data, params)?).collect();
    let cases = taken(data.select(&[])?.without_costs(), &rows);
    let (totals, error) = precision(shares_out(data, params, &rows));
    let units = Weighing::new(&cases, &params.class_weight, Some(&rows)).units_within(totals, error)?;
    let mut masses = vec![0; data.schema().labels().map_or(0, |labels| labels.len())];
    if let Target::Classes(classes) = cases.target() {
        classes.iter().enumerate().for_each(|(row, &class)| masses[class as usize] += units.mass(&cases, row));
    }
    Ok((masses, units, rows.len()))
}

/// These rows, in ascending order: the table as it is if they are all of its rows.
fn taken(data: Dataset, rows: &[usize]) -> Dataset {
    if rows.len() == data.n_rows() { data } else { data.take(rows) }
}

/// The totals below which masses may be, and by what part of itself one may be rounded.
fn precision(shares_out: bool) -> (&'static [f64], f64) {
    match shares_out {
        true => (&[MOST_FRACTIONAL, MOST_SHARED], objective::COARSE),
        false => (&[objective::MOST_UNITS], objective::FINE),
    }
}

/// Whether cases may become fractional.
fn shares_out(data: &Dataset, params: &Params, rows: &[usize]) -> bool {
    let is_missing = |column: &Column, row: usize| column.value(row, MISSING) == Value::Missing;
    let has_gaps = |column: &Column| column.n_missing() > 0 && rows.iter().any(|&row| is_missing(column, row));
    params.missing == Missing::Fractional && data.columns().iter().any(|column| has_gaps(column))
}

/// The rows that are present, have mass, and are not left out for a missing value.
fn learnable(data: &Dataset, params: &Params) -> Result<Vec<u64>> {
    let mut present = data.cases()?;
    if params.missing == Missing::Drop {
        let all: Vec<usize> = bits::ones(&present).collect();
        for column in data.columns().iter().filter(|column| column.n_missing() > 0) {
            let is_missing = |row: &&usize| column.value(**row, MISSING) == Value::Missing;
            // A column without any value leaves out no row.
            if !all.iter().all(|row| is_missing(&row)) {
                all.iter().filter(is_missing).for_each(|&row| bits::clear(&mut present, row));
            }
        }
        if present.iter().all(|&word| word == 0) {
            return Err(Error::NoCases { reason: "every row has a missing value, and missing is \"drop\"" });
        }
    }
    let Target::Classes(classes) = data.target() else { panic!("the search checked that the target has classes") };
    if let ClassWeight::Each(factors) = &params.class_weight {
        let n_classes = data.schema().labels().map_or(0, |labels| labels.len());
        if factors.len() != n_classes {
            return Err(Error::InvalidParameter {
                name: "class_weight",
                expected: format!("a weight for each of the {n_classes} classes"),
                got: format!("{} weights", factors.len()),
            });
        }
        let nothing: Vec<usize> = bits::ones(&present).filter(|&row| factors[classes[row] as usize] == 0.0).collect();
        nothing.into_iter().for_each(|row| bits::clear(&mut present, row));
        if present.iter().all(|&word| word == 0) {
            return Err(Error::NoCases { reason: "every row left has weight 0" });
        }
    }
    Ok(present)
}
