//! The tests that one table offers, to be put to others: what `lattree.sklearn.Binarizer` learns.

use std::sync::Arc;

use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use super::data::PyDataset;
use super::pickle::reduced;
use super::run::interruptible;
use super::schema::{PySchema, schema_json, schema_of_json};
use crate::budget::{Budget, Stop, Ticker};
use crate::data::{Schema, passes};
use crate::error::Error;
use crate::tree::packed::{pack, unpack};
use crate::tree::{Test, test_words};

/// Tests in column-then-cut order, and the schema of the table that offered them. Pickles.
///
/// Attributes
/// ----------
/// schema : Schema
///     What tables are mapped onto before :meth:`passes`.
#[pyclass(frozen, module = "lattree._core", name = "_OfferedTests")]
pub struct PyOfferedTests {
    schema: Arc<Schema>,
    tests: Vec<Test>,
}

impl PyOfferedTests {
    pub(super) fn new(schema: &Arc<Schema>, tests: Vec<Test>) -> Self {
        PyOfferedTests { schema: schema.clone(), tests }
    }
}

#[pymethods]
impl PyOfferedTests {
    #[getter]
    fn schema(&self) -> PySchema {
        PySchema(self.schema.clone())
    }
    fn __len__(&self) -> usize {
        self.tests.len()
    }

    /// The tests in words, by the columns' own names or, in the same order, by others.
    #[pyo3(signature = (names=None))]
    pub(super) fn words(&self, py: Python<'_>, names: Option<Vec<String>>) -> PyResult<Vec<String>> {
        let mut schema = self.schema.clone();
        for (feature, name) in Arc::make_mut(&mut schema).features.iter_mut().zip(names.unwrap_or_default()) {
            feature.name = name;
        }
        let budget = Budget::unlimited();
        let work = || {
            let mut ticker = Ticker::new(&budget);
            // An interrupt is raised below, so an incomplete list is never returned.
            let goes_on = |_: &&Test| ticker.tick(500).is_ok();
            self.tests.iter().take_while(goes_on).map(|test| test_words(&schema, test)).collect()
        };
        interruptible(py, &budget, work)
    }

    /// Which tests each row of a table passes: int8 of shape (n_rows, n_tests). Missing values and unseen levels pass
    /// no test on a value.
    fn passes<'py>(&self, py: Python<'py>, data: &PyDataset) -> PyResult<Bound<'py, PyArray2<i8>>> {
        if data.0.schema().features != self.schema.features {
            let expected = "a table of the same schema: Dataset(table, like=schema)".into();
            return Err(Error::InvalidParameter { name: "data", expected, got: "a table of another".into() }.into());
        }
        let budget = Budget::unlimited();
        let work = || passes(&self.tests, &data.0, &budget);
        let cells: Result<Vec<i8>, Stop> = interruptible(py, &budget, work)?;
        let cells = cells.expect("an interrupt was raised, and nothing else stops it");
        let cells = Array2::from_shape_vec((data.0.n_rows(), self.tests.len()), cells).expect("a row of cells per row");
        Ok(cells.into_pyarray(py))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let tests = pack(self.tests.iter().cloned());
        reduced(py, "_offered_tests_from_parts", (schema_json(&self.schema), PyBytes::new(py, &tests)))
    }
}

/// For pickle.
#[pyfunction]
pub(super) fn _offered_tests_from_parts(schema: &str, tests: &[u8]) -> PyResult<PyOfferedTests> {
    let schema = schema_of_json(schema)?;
    let mut unpacked = Vec::new();
    unpack(tests, &schema, |test| unpacked.push(test))?;
    Ok(PyOfferedTests { schema, tests: unpacked })
}
