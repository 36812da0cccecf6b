//! `Feature` and `Schema`.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use super::pickle::reduced;
use crate::data::{Feature, Kind, Labels, NumericType, Schema, TargetSchema, Task};
use crate::error::Error;
use crate::names::quoted;

/// The name of a number kind that Python sees.
pub(super) fn number_name(number: NumericType) -> &'static str {
    match number {
        NumericType::Float => "float",
        NumericType::Integer => "integer",
        NumericType::Date => "date",
        NumericType::DatetimeMs => "datetime_ms",
        NumericType::DatetimeUs => "datetime_us",
        NumericType::DatetimeNs => "datetime_ns",
        NumericType::Time => "time",
        NumericType::DurationMs => "duration_ms",
        NumericType::DurationUs => "duration_us",
        NumericType::DurationNs => "duration_ns",
    }
}

/// The kind of a column that Python's `_table` names so; `None` for a name that is none.
pub(super) fn kind_of(name: &str, levels: Vec<String>) -> Option<Kind> {
    Some(match name {
        "float" => Kind::Continuous(NumericType::Float),
        "integer" => Kind::Continuous(NumericType::Integer),
        "date" => Kind::Continuous(NumericType::Date),
        "datetime_ms" => Kind::Continuous(NumericType::DatetimeMs),
        "datetime_us" => Kind::Continuous(NumericType::DatetimeUs),
        "datetime_ns" => Kind::Continuous(NumericType::DatetimeNs),
        "time" => Kind::Continuous(NumericType::Time),
        "duration_ms" => Kind::Continuous(NumericType::DurationMs),
        "duration_us" => Kind::Continuous(NumericType::DurationUs),
        "duration_ns" => Kind::Continuous(NumericType::DurationNs),
        "ordinal" => Kind::Ordinal(levels),
        "nominal" => Kind::Nominal(levels),
        _ => return None,
    })
}

/// One column that tests may ask about. Pickles.
///
/// Attributes
/// ----------
/// name : str
///     The column's name.
/// kind : {"continuous", "ordinal", "nominal"}
///     Which tests it can have: ``x <= t``, ``x <= level``, ``x is level``.
/// number : str or None
///     How the numbers of a continuous column are stored and printed: ``float``, ``integer``, ``date``, ``time``, or
///     ``datetime_`` or ``duration_`` with the unit, ``ms``, ``us`` or ``ns``.
/// levels : list of str
///     The levels of an ordinal column in order, or of a nominal one; empty for a continuous one.
/// dtype : str
///     The polars dtype the column came with, as text; with what stood for missing cells, as a list, if it was read
///     from text: ``Int64["NA"]``.
#[pyclass(frozen, eq, hash, module = "lattree", name = "Feature")]
#[derive(PartialEq, Hash)]
pub struct PyFeature(pub(super) Feature);

#[pymethods]
impl PyFeature {
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind.name()
    }
    #[getter]
    fn number(&self) -> Option<&'static str> {
        match self.0.kind {
            Kind::Continuous(number) => Some(number_name(number)),
            _ => None,
        }
    }
    #[getter]
    fn levels(&self) -> Vec<String> {
        self.0.kind.levels().to_vec()
    }
    #[getter]
    fn dtype(&self) -> &str {
        &self.0.dtype
    }
    fn __repr__(&self) -> String {
        format!("Feature({}, {:?})", quoted(&self.0.name), self.0.kind.name())
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let json = serde_json::to_string(&self.0).expect("a feature holds only what JSON can hold");
        reduced(py, "_feature_from_json", (json,))
    }
}

/// Names, kinds and levels of a table's columns, and what is to be predicted.
///
/// Shared by all parts of a table and carried by the trees grown on it. A second table is mapped onto it by column name
/// and level name: ``Dataset(table, like=data)``.
///
/// Attributes
/// ----------
/// features : list of Feature
///     The columns that tests may ask about, in table order.
/// feature_names : list of str
///     Their names.
/// target : str or None
///     The name of the column to predict.
/// task : {"classes", "numbers"} or None
///     What the target holds.
/// target_dtype : str or None
///     The polars dtype the target came with, as text.
/// classes : list
///     The class labels in ascending order, as they came; empty without classes. Of a tree whose leaves may have labels
///     that are no classes, such as "abstain", these follow as text.
#[pyclass(frozen, module = "lattree", name = "Schema", eq)]
#[derive(PartialEq)]
pub struct PySchema(pub(super) Arc<Schema>);

#[pymethods]
impl PySchema {
    #[getter]
    fn features(&self) -> Vec<PyFeature> {
        self.0.features.iter().cloned().map(PyFeature).collect()
    }
    #[getter]
    fn feature_names(&self) -> Vec<String> {
        self.0.features.iter().map(|feature| feature.name.clone()).collect()
    }
    #[getter]
    fn target(&self) -> Option<&str> {
        self.0.target.as_ref().map(|target| target.name.as_str())
    }
    #[getter]
    fn task(&self) -> Option<&'static str> {
        self.0.target.as_ref().map(|target| match target.task {
            Task::Classes(_) => "classes",
            Task::Numbers => "numbers",
        })
    }
    #[getter]
    fn target_dtype(&self) -> Option<&str> {
        self.0.target.as_ref().map(|target| target.dtype.as_str())
    }
    #[getter]
    pub(super) fn classes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        labels_to_list(py, self.0.labels())
    }
    fn __repr__(&self) -> String {
        let names: Vec<&String> = self.0.features.iter().map(|feature| &feature.name).collect();
        let target = self.0.target.as_ref().map_or("no target".into(), |t| format!("target {}", quoted(&t.name)));
        format!("Schema({} features: {}; {target})", names.len(), crate::error::list_names(&names))
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let restore = py.import("lattree._core")?.getattr("_schema_from_json")?;
        Ok((restore, PyTuple::new(py, [schema_json(&self.0)])?))
    }
}

/// A list of the labels in the values they came with.
pub(super) fn labels_to_list<'py>(py: Python<'py>, labels: Option<&Labels>) -> PyResult<Bound<'py, PyList>> {
    match labels {
        None => Ok(PyList::empty(py)),
        Some(Labels::Strings(v)) => PyList::new(py, v),
        Some(Labels::Integers(v)) => PyList::new(py, v),
        Some(Labels::Floats(v)) => PyList::new(py, v),
        Some(Labels::Booleans(v)) => PyList::new(py, v),
        Some(Labels::WithExtra { classes, extra }) => {
            let labels = labels_to_list(py, Some(classes))?;
            extra.iter().try_for_each(|label| labels.append(label))?;
            Ok(labels)
        }
    }
}

/// How many labels at the end of the list are no classes, but names such as "abstain".
pub(super) fn n_extra(labels: &Labels) -> usize {
    match labels {
        Labels::WithExtra { extra, .. } => extra.len(),
        _ => 0,
    }
}

/// The schema of a table with these classes: one without the labels that only leaves have.
pub(super) fn of_table(schema: &Arc<Schema>) -> Arc<Schema> {
    match &schema.target {
        Some(TargetSchema { task: Task::Classes(Labels::WithExtra { classes, .. }), name, dtype }) => {
            let task = Task::Classes((**classes).clone());
            let target = Some(TargetSchema { name: name.clone(), task, dtype: dtype.clone() });
            Arc::new(Schema { features: schema.features.clone(), target })
        }
        _ => schema.clone(),
    }
}

pub(super) fn schema_json(schema: &Schema) -> String {
    serde_json::to_string(schema).expect("a schema holds only what JSON can hold")
}

pub(super) fn schema_of_json(text: &str) -> PyResult<Arc<Schema>> {
    let bad = |problem: String| Error::BadTree { problem: format!("its schema: {problem}") };
    let schema: Schema = serde_json::from_str(text).map_err(|error| bad(error.to_string()))?;
    Ok(Arc::new(schema.checked()?))
}

/// For pickle.
#[pyfunction]
pub(super) fn _feature_from_json(text: &str) -> PyResult<PyFeature> {
    let bad = |problem: String| Error::BadTree { problem: format!("its feature: {problem}") };
    Ok(PyFeature(serde_json::from_str(text).map_err(|error| bad(error.to_string()))?))
}

/// For pickle.
#[pyfunction]
pub(super) fn _schema_from_json(text: &str) -> PyResult<PySchema> {
    Ok(PySchema(schema_of_json(text)?))
}

/// A target's schema from the parts that `_table.Target` has.
pub(super) fn target_schema(
    name: String,
    kind: &str,
    dtype: String,
    labels: &Bound<'_, PyAny>,
) -> PyResult<TargetSchema> {
    let task = match kind {
        "classes" => Task::Classes(labels_from_list(labels)?),
        _ => Task::Numbers,
    };
    Ok(TargetSchema { name, task, dtype })
}

fn labels_from_list(labels: &Bound<'_, PyAny>) -> PyResult<Labels> {
    // Booleans come first, since in Python they are integers, and integers before floats, which would accept them.
    if let Ok(v) = labels.extract::<Vec<Bound<'_, pyo3::types::PyBool>>>() {
        return Ok(Labels::Booleans(v.iter().map(|b| b.is_true()).collect()));
    }
    if let Ok(v) = labels.extract::<Vec<i64>>() {
        return Ok(Labels::Integers(v));
    }
    if let Ok(v) = labels.extract::<Vec<f64>>() {
        return Ok(Labels::Floats(v));
    }
    Ok(Labels::Strings(labels.extract()?))
}
