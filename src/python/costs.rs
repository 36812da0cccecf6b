//! Costs of labels by name: what a `lattree.Costs` comes to for the classes of a table.

use pyo3::prelude::*;

use super::schema::labels_to_list;
use crate::data::Labels;

/// `lattree.Costs`, which is written in Python.
pub(super) struct Costs;

impl Costs {
    /// The costs that an argument is, or is a labelled table of; `None` for all else, such as an array.
    pub(super) fn of<'py>(given: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let costs = given.py().import("lattree._costs")?.getattr("named")?.call1((given,))?;
        Ok(Some(costs).filter(|costs| !costs.is_none()))
    }

    /// A row per class and a column per label, and the names of the labels after the classes. `parameter` is what
    /// errors say that the costs were given as.
    pub(super) fn matrix(
        costs: &Bound<'_, PyAny>,
        parameter: &str,
        labels: &Labels,
    ) -> PyResult<(Vec<Vec<f64>>, Vec<String>)> {
        let classes = labels_to_list(costs.py(), Some(labels))?;
        costs.call_method1("_matrix_for", (classes, parameter))?.extract()
    }
}
