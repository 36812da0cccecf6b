//! Checks of a table of held-out cases, and the unit of its masses.

use crate::criterion::Costs;
use crate::data::{Dataset, Schema, Target};
use crate::error::{Error, Result, list_names};
use crate::greedy;
use crate::names::quoted;
use crate::objective::{MOST_UNITS, Units};

/// The unit of mass and the classes of a table of held-out cases.
///
/// # Errors
/// If the table does not fit the one that trees are grown on, or has no case or no class.
pub(super) fn validate<'d>(building: &Dataset, data: &'d Dataset, costs: &Costs) -> Result<(Units, &'d [u32])> {
    check_schema(building.schema(), data.schema())?;
    if data.present().iter().all(|&word| word == 0) {
        let expected = "a table with at least one row of positive count and weight".into();
        return Err(Error::InvalidParameter { name: "search", expected, got: "none".into() });
    }
    match data.target() {
        Target::Classes(classes) => Ok((mass_units(data, costs)?, classes)),
        _ => {
            let got = "absent in the search set (name it when you make the dataset)";
            Err(Error::WrongTarget { search: "the search set", needs: "classes", got })
        }
    }
}

/// The unit of mass: as fine as the range of errors allows, beside costs.
///
/// # Errors
/// If weights and costs together have more digits than an error.
fn mass_units(data: &Dataset, costs: &Costs) -> Result<Units> {
    let most = MOST_UNITS as u128 / costs.greatest().max(1);
    let units = Units::within(data, (1u64 << most.ilog2()) as f64)?;
    // Rounding changes a mass by a part of 2^42 of the sum at most.
    let is_exact = |row: usize| {
        data.weights().is_none_or(|weights| {
            let count = data.count(row);
            // A unit that is a fraction of a weight is a rounded float too.
            let near = |x: f64| (x - weights[row]).abs() <= weights[row] * 4.0 * f64::EPSILON;
            count == 0 || near(units.value(units.mass(data, row) / count))
        })
    };
    let is_fine = most >= greedy::MOST_FRACTIONAL as u128 || (0..data.n_rows()).all(is_exact);
    if u128::from(units.total) * costs.greatest() < MOST_UNITS as u128 && is_fine {
        return Ok(units);
    }
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

/// Checks that held-out cases have the columns and classes of the table that trees are grown on.
fn check_schema(building: &Schema, search: &Schema) -> Result<()> {
    let refuse = |got: String| {
        let expected = "as in the building set; make the search set with like=building, or split one dataset".into();
        Err(Error::InvalidParameter { name: "search", expected, got })
    };
    if building.features.len() != search.features.len() {
        let names: Vec<&str> = search.features.iter().map(|feature| feature.name.as_str()).collect();
        return refuse(format!("a search set of the columns {}", list_names(&names)));
    }
    for (ours, theirs) in building.features.iter().zip(&search.features) {
        if ours.name != theirs.name {
            return refuse(format!("the column {} in place of {}", quoted(&theirs.name), quoted(&ours.name)));
        }
        if ours.kind != theirs.kind {
            return refuse(format!("other values or levels in the column {}", quoted(&ours.name)));
        }
    }
    if building.labels() == search.labels() { Ok(()) } else { refuse("other classes".into()) }
}
