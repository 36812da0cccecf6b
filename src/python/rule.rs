//! `Rule` and `Condition`.

use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::pickle::{from_json, reduced, to_json};
use super::schema::labels_to_list;
use crate::data::{Labels, NumericType};
use crate::error::Error;
use crate::tree::{Condition, Leaf, Limit, Rule};

/// A condition on one column; ``str`` gives it in words. Pickles.
///
/// Attributes
/// ----------
/// column : str
///     The column's name.
/// operator : {"<=", ">", "is", "is not", "in", "not in", "is missing", "is known"}
///     What is said of its value. "in" no levels is what no value meets.
/// threshold : float, int, numpy.datetime64, numpy.timedelta64 (times of day: since midnight), str or None
///     For "<=" and ">": a number, a date or time without a zone, or a level of an ordinal column.
/// levels : list of str
///     For "is", "is not", "in" and "not in"; else empty.
/// or_missing : bool
///     Whether a row without a value meets the condition too.
#[pyclass(frozen, eq, module = "lattree", name = "Condition")]
#[derive(PartialEq)]
pub struct PyCondition(pub(super) Condition);

#[pymethods]
impl PyCondition {
    #[getter]
    fn column(&self) -> &str {
        &self.0.column
    }
    #[getter]
    fn operator(&self) -> &'static str {
        self.0.operator.name()
    }
    #[getter]
    fn threshold<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.limit.as_ref().map(|limit| limit_value(py, limit)).transpose()
    }
    #[getter]
    fn levels(&self) -> Vec<String> {
        self.0.levels.clone()
    }
    #[getter]
    fn or_missing(&self) -> bool {
        self.0.or_missing
    }
    fn __str__(&self) -> String {
        self.0.to_string()
    }
    fn __repr__(&self) -> String {
        format!("<Condition: {}>", self.0)
    }
    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0.to_string().hash(&mut hasher);
        hasher.finish()
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        reduced(py, "_condition_from_json", (to_json(&self.0),))
    }
}

/// The value of a threshold.
pub(super) fn limit_value<'py>(py: Python<'py>, limit: &Limit) -> PyResult<Bound<'py, PyAny>> {
    let of_numpy = |class: &str, t: i64, unit: &str| py.import("numpy")?.getattr(class)?.call1((t, unit));
    match *limit {
        Limit::Float(t) => Ok(t.into_pyobject(py)?.into_any()),
        Limit::Level(ref level) => Ok(level.into_pyobject(py)?.into_any()),
        Limit::Integer(t, number) => match number {
            NumericType::Float | NumericType::Integer => Ok(t.into_pyobject(py)?.into_any()),
            NumericType::Date => of_numpy("datetime64", t, "D"),
            NumericType::DatetimeMs => of_numpy("datetime64", t, "ms"),
            NumericType::DatetimeUs => of_numpy("datetime64", t, "us"),
            NumericType::DatetimeNs => of_numpy("datetime64", t, "ns"),
            NumericType::DurationMs => of_numpy("timedelta64", t, "ms"),
            NumericType::DurationUs => of_numpy("timedelta64", t, "us"),
            NumericType::DurationNs | NumericType::Time => of_numpy("timedelta64", t, "ns"),
        },
    }
}

/// For pickle.
#[pyfunction]
pub(super) fn _condition_from_json(text: &str) -> PyResult<PyCondition> {
    Ok(PyCondition(from_json("condition", text)?))
}

/// One leaf of a tree as a rule: if all conditions hold, predict. ``str`` gives it in words. Pickles.
///
/// Attributes
/// ----------
/// conditions : list of Condition
///     Conditions on one column are merged. Empty for a tree that is a single leaf. A missing value meets a condition
///     that says "or missing" or "is missing", and no other.
/// leaf : int
///     The position of the leaf among the tree's nodes.
/// prediction : label or float
///     What is predicted, in the target's values.
/// n_rows : int or None
///     How many training rows came to this leaf, whole or in part; None for trees of files that do not tell.
/// mass : float
///     Training mass that came to this leaf.
/// errors : float
///     The part of it with another class than the predicted one; 0 where a number is predicted.
/// masses : list of float
///     Training mass per class, in the order of ``schema.classes``; empty where a number is predicted.
#[pyclass(frozen, eq, module = "lattree", name = "Rule")]
#[derive(PartialEq)]
pub struct PyRule {
    rule: Rule,
    labels: Option<Labels>,
}

impl PyRule {
    pub(super) fn new(rule: Rule, labels: Option<Labels>) -> Self {
        PyRule { rule, labels }
    }
}

#[pymethods]
impl PyRule {
    #[getter]
    fn conditions(&self) -> Vec<PyCondition> {
        self.rule.conditions.iter().cloned().map(PyCondition).collect()
    }
    #[getter]
    fn leaf(&self) -> u32 {
        self.rule.leaf
    }
    #[getter]
    fn prediction<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        prediction(py, &self.rule.prediction, self.labels.as_ref())
    }
    #[getter]
    fn n_rows(&self) -> Option<u64> {
        self.rule.n_rows
    }
    #[getter]
    fn mass(&self) -> f64 {
        self.rule.mass
    }
    #[getter]
    fn errors(&self) -> f64 {
        self.rule.errors
    }
    #[getter]
    fn masses(&self) -> Vec<f64> {
        masses(&self.rule.prediction)
    }
    fn __repr__(&self) -> String {
        self.rule.words(self.labels.as_ref())
    }
    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.rule.words(self.labels.as_ref()), self.rule.leaf, self.rule.mass.to_bits()).hash(&mut hasher);
        hasher.finish()
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let Rule { conditions, leaf, prediction, mass, errors, n_rows } = &self.rule;
        let (class, number) = match prediction {
            Leaf::Class { label, masses, empty } => (Some((*label, masses.to_vec(), *empty)), None),
            Leaf::Number { mean, mass } => (None, Some((*mean, *mass))),
        };
        let parts = (to_json(conditions), (*leaf, *n_rows), class, number, (*mass, *errors), to_json(&self.labels));
        reduced(py, "_rule_from_parts", parts)
    }
}

/// The prediction of a leaf, in the target's values.
pub(super) fn prediction<'py>(py: Python<'py>, leaf: &Leaf, labels: Option<&Labels>) -> PyResult<Bound<'py, PyAny>> {
    match leaf {
        Leaf::Class { label, .. } => labels_to_list(py, labels)?.get_item(*label as usize),
        Leaf::Number { mean, .. } => Ok(mean.into_pyobject(py)?.into_any()),
    }
}

/// The mass of each class in a leaf; none where a number is predicted.
pub(super) fn masses(leaf: &Leaf) -> Vec<f64> {
    match leaf {
        Leaf::Class { empty: false, masses, .. } => masses.to_vec(),
        Leaf::Class { masses, .. } => vec![0.0; masses.len()],
        Leaf::Number { .. } => Vec::new(),
    }
}

/// For pickle.
#[pyfunction]
pub(super) fn _rule_from_parts(
    conditions: &str,
    place: (u32, Option<u64>),
    class: Option<(u32, Vec<f64>, bool)>,
    number: Option<(f64, f64)>,
    of_mass: (f64, f64),
    labels: &str,
) -> PyResult<PyRule> {
    let ((leaf, n_rows), (mass, errors)) = (place, of_mass);
    let labels: Option<Labels> = from_json("labels", labels)?;
    let n_classes = labels.as_ref().map_or(0, Labels::len);
    let prediction = match (class, number) {
        (Some((label, masses, empty)), None) if (label as usize) < n_classes => {
            Leaf::Class { label, masses: masses.into(), empty }
        }
        (None, Some((mean, mass))) => Leaf::Number { mean, mass },
        _ => {
            let problem = "its rule predicts no class of its target, and no number".into();
            return Err(Error::BadTree { problem }.into());
        }
    };
    let conditions = from_json("conditions", conditions)?;
    Ok(PyRule { rule: Rule { conditions, leaf, prediction, mass, errors, n_rows }, labels })
}
