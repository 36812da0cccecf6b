//! Datasets from `lattree._table` and back: columns, target, counts, weights and costs as arrays.

use std::sync::Arc;

use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::cells::EncodedCells;
use super::schema::{kind_of, labels_to_list, number_name, target_schema};
use crate::data::{CaseCosts, Column, Dataset, Feature, Kind, Schema, Target};
use crate::names::quoted;

/// The Python module that encodes and decodes tables.
pub(super) fn table_module(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import("lattree._table")
}

/// `_table.Column`.
#[derive(FromPyObject)]
struct EncodedColumn<'py> {
    name: String,
    kind: String,
    dtype: String,
    values: Bound<'py, PyAny>,
    missing: Option<PyReadonlyArray1<'py, bool>>,
    levels: Vec<String>,
    unseen: Vec<String>,
}

/// `_table.Target`.
#[derive(FromPyObject)]
struct EncodedTarget<'py> {
    name: String,
    kind: String,
    dtype: String,
    values: Bound<'py, PyAny>,
    labels: Bound<'py, PyAny>,
}

#[derive(FromPyObject)]
enum EncodedColumns<'py> {
    Each(Vec<EncodedColumn<'py>>),
    Cells(EncodedCells<'py>),
}

/// `_table.Encoded`.
#[derive(FromPyObject)]
struct Encoded<'py> {
    columns: EncodedColumns<'py>,
    n_rows: usize,
    target: Option<EncodedTarget<'py>>,
    counts: Option<PyReadonlyArray1<'py, u64>>,
    weight: Option<PyReadonlyArray1<'py, f64>>,
}

/// `_case_costs.CaseCosts`.
#[derive(FromPyObject)]
struct EncodedCosts<'py> {
    labels: Vec<String>,
    values: PyReadonlyArray2<'py, f64>,
}

impl EncodedColumn<'_> {
    /// The cells and, if `with_feature`, the feature.
    fn decode(self, with_feature: bool) -> PyResult<(Option<Feature>, Column)> {
        let column = match self.kind.as_str() {
            "ordinal" | "nominal" => Column::Levels { codes: copied(&self.values)?, unseen: self.unseen },
            "float" => Column::Floats(copied(&self.values)?),
            _ => Column::Integers {
                values: copied(&self.values)?,
                missing: self.missing.map(|missing| missing.as_array().to_vec()),
            },
        };
        if !with_feature {
            return Ok((None, column));
        }
        let unknown = || PyTypeError::new_err(format!("unknown kind {:?} of column {}", self.kind, quoted(&self.name)));
        let kind = kind_of(&self.kind, self.levels).ok_or_else(unknown)?;
        Ok((Some(Feature { name: self.name, kind, dtype: self.dtype }), column))
    }
}

fn copied<T: numpy::Element + Copy>(values: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    let array: PyReadonlyArray1<'_, T> = values.extract()?;
    Ok(array.as_array().to_vec())
}

/// The dataset that `_table` encoded, copied. With a schema, the columns are already in its terms.
pub(super) fn decode(encoded: &Bound<'_, PyAny>, schema: Option<Arc<Schema>>) -> PyResult<Dataset> {
    // Pickles of version 0.1 have none.
    let costs = encoded.getattr_opt("costs")?.map(|costs| costs.extract::<Option<EncodedCosts<'_>>>()).transpose()?;
    let encoded: Encoded<'_> = encoded.extract()?;
    let (features, columns) = match encoded.columns {
        EncodedColumns::Cells(cells) => cells.decode()?,
        EncodedColumns::Each(columns) => {
            // With a schema, kinds and levels come from there.
            let decoded: PyResult<Vec<_>> = columns.into_iter().map(|c| c.decode(schema.is_none())).collect();
            let (features, columns): (Vec<_>, Vec<_>) = decoded?.into_iter().unzip();
            (features.into_iter().flatten().collect(), columns)
        }
    };
    let (target_schema, target) = match encoded.target {
        None => (None, Target::None),
        Some(target) => {
            let values = match target.kind.as_str() {
                "classes" => Target::Classes(copied(&target.values)?.into()),
                _ => Target::Numbers(copied(&target.values)?.into()),
            };
            // With a schema, labels come from there.
            let made = || target_schema(target.name, &target.kind, target.dtype, &target.labels);
            (schema.is_none().then(made).transpose()?, values)
        }
    };
    let schema = match schema {
        Some(schema) => schema,
        None => Arc::new(Schema { features, target: target_schema }.checked()?),
    };
    let counts = encoded.counts.map(|counts| counts.as_array().to_vec());
    let weights = encoded.weight.map(|weight| weight.as_array().to_vec());
    let data = Dataset::new(schema, columns, encoded.n_rows, target, counts, weights)?;
    Ok(match costs.flatten() {
        Some(EncodedCosts { labels, values }) => {
            let values = values.as_array().iter().copied().collect();
            data.with_costs(CaseCosts::new(labels, values, encoded.n_rows)?)?
        }
        None => data,
    })
}

/// A dataset as a `_table.Encoded` again.
pub(super) fn encode<'py>(py: Python<'py>, data: &Dataset) -> PyResult<Bound<'py, PyAny>> {
    let module = table_module(py)?;
    let columns = PyList::empty(py);
    for (feature, column) in data.schema().features.iter().zip(data.columns()) {
        let none = || py.None().into_bound(py);
        let (values, missing) = match &**column {
            Column::Floats(values) => (values.clone().into_pyarray(py).into_any(), none()),
            Column::Levels { codes, .. } => (codes.clone().into_pyarray(py).into_any(), none()),
            Column::Integers { values, missing } => (
                values.clone().into_pyarray(py).into_any(),
                missing.as_ref().map_or_else(none, |missing| missing.clone().into_pyarray(py).into_any()),
            ),
        };
        let (kind, unseen) = match (&feature.kind, &**column) {
            (Kind::Continuous(_), Column::Floats(_)) => ("float", vec![]),
            (Kind::Continuous(number), _) => (number_name(*number), vec![]),
            (kind, Column::Levels { unseen, .. }) => (kind.name(), unseen.clone()),
            (kind, _) => (kind.name(), vec![]),
        };
        let column = (&feature.name, kind, &feature.dtype, values, missing, feature.kind.levels().to_vec(), unseen);
        columns.append(module.getattr("Column")?.call1(column)?)?;
    }
    let target = encode_target(py, data)?;
    let counts = data.counts().map(|counts| counts.to_vec().into_pyarray(py));
    let weight = data.weights().map(|weight| weight.to_vec().into_pyarray(py));
    module.getattr("Encoded")?.call1((columns, data.n_rows(), target, counts, weight, encode_costs(py, data)?))
}

/// The costs of a dataset as a `_case_costs.CaseCosts` again, if there are any.
pub(super) fn encode_costs<'py>(py: Python<'py>, data: &Dataset) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(costs) = data.costs() else { return Ok(None) };
    let (n_rows, n_labels) = (data.n_rows(), costs.labels.len());
    let values = (0..n_rows).flat_map(|row| costs.of(row)).copied().collect();
    let values = Array2::from_shape_vec((n_rows, n_labels), values).expect("a cost for each row and label");
    let costs = (costs.labels.to_vec(), values.into_pyarray(py));
    Ok(Some(table_module(py)?.getattr("CaseCosts")?.call1(costs)?))
}

/// The target of a dataset as a `_table.Target` again, if there is one.
pub(super) fn encode_target<'py>(py: Python<'py>, data: &Dataset) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(schema) = &data.schema().target else { return Ok(None) };
    let (kind, values) = match data.target() {
        Target::Classes(codes) => ("classes", codes.to_vec().into_pyarray(py).into_any()),
        Target::Numbers(numbers) => ("numbers", numbers.to_vec().into_pyarray(py).into_any()),
        Target::None => return Ok(None),
    };
    let labels = labels_to_list(py, data.schema().labels())?;
    let target = (&schema.name, kind, &schema.dtype, values, labels);
    Ok(Some(table_module(py)?.getattr("Target")?.call1(target)?))
}
