//! The rows that a tree predicts for, given as any table.

use std::ops::Range;
use std::sync::Arc;

use numpy::PyUntypedArray;
use pyo3::prelude::*;

use super::cells::with_rows;
use super::data::PyDataset;
use super::encoded::{decode, table_module};
use super::run::by_rows;
use super::schema::PySchema;
use super::tree::unseen_name;
use crate::data::{Dataset, Feature, Kind, NumericType, Schema};
use crate::tree::{Rows, Tree};

/// The rows to predict for: a dataset, given or made, or an array with the dtype of its numbers, read in place.
pub(super) enum PredictOn<'py> {
    Given(Bound<'py, PyDataset>),
    Made(PyDataset),
    Numbers(Bound<'py, PyAny>, String),
}

impl<'py> PredictOn<'py> {
    /// Rows of an array that are predicted for before other threads of Python have their turn.
    const TURN: usize = 1 << 18;

    /// Takes a dataset as it is, and reads anything else by the names that the tree uses.
    pub(super) fn of(table: &Bound<'py, PyAny>, tree: &Tree) -> PyResult<Self> {
        if let Ok(data) = table.cast::<PyDataset>() {
            return Ok(PredictOn::Given(data.clone()));
        }
        let (py, schema) = (table.py(), tree.schema());
        let used: Vec<&Feature> = tree.features().iter().map(|&f| &schema.features[f as usize]).collect();
        let is_number = |f: &Feature| {
            matches!(f.kind, Kind::Continuous(NumericType::Float | NumericType::Integer))
                && f.dtype != "Time" // trees of version 0.1 have these in seconds
                && !f.dtype.starts_with("Duration")
        };
        if table.cast::<PyUntypedArray>().is_ok() && used.iter().all(|f| is_number(f)) {
            let read = table_module(py)?.getattr("exact_floats")?.call1((table, schema.features.len()))?;
            if let Some(dtype) = read.extract()? {
                return Ok(PredictOn::Numbers(table.clone(), dtype));
            }
        }
        let names: Vec<String> = used.iter().map(|feature| feature.name.clone()).collect();
        let encode = table_module(py)?.getattr("encode_for_prediction")?;
        let encoded = encode.call1((table, PySchema(schema.clone()), names, unseen_name(tree.policies().unseen)))?;
        let used = Arc::new(Schema { features: used.into_iter().cloned().collect(), target: schema.target.clone() });
        Ok(PredictOn::Made(PyDataset(decode(&encoded, Some(used))?)))
    }

    pub(super) fn n_rows(&self) -> PyResult<usize> {
        match self {
            PredictOn::Given(data) => Ok(data.get().0.n_rows()),
            PredictOn::Made(data) => Ok(data.0.n_rows()),
            PredictOn::Numbers(array, _) => array.len(),
        }
    }

    /// One value or more for each row. The interpreter stays busy while an array is read, since other threads could
    /// change it.
    pub(super) fn predict<T: Send>(
        &self,
        py: Python<'_>,
        work: impl Fn(&dyn Rows, Range<usize>) -> crate::Result<Vec<T>> + Sync,
    ) -> PyResult<Vec<T>> {
        let with = |data: &Dataset| Ok(py.detach(|| by_rows(0..data.n_rows(), |rows| work(data, rows)))?);
        match self {
            PredictOn::Given(data) => with(&data.get().0),
            PredictOn::Made(data) => with(&data.0),
            PredictOn::Numbers(array, dtype) => with_rows(array, dtype, |all| {
                let mut joined = Vec::new();
                for start in (0..all.n_rows()).step_by(Self::TURN) {
                    if start > 0 {
                        py.detach(|| ());
                        py.check_signals()?;
                    }
                    let part = by_rows(start..all.n_rows().min(start + Self::TURN), |rows| work(all, rows))?;
                    if start == 0 { joined = part } else { joined.extend(part) }
                }
                Ok(joined)
            }),
        }
    }
}
