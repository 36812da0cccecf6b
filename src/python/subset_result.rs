//! The results of searches over subsets of the features: `SubsetResult`, `Removal`, `DistinctCounts`, `SubsetProgress`.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::pickle::{Reduced, reduced};
use super::result::gap_of;
use super::tree::PyTree;
use crate::names::{Of, listed};
use crate::subsets::{Counts, Outcome, Progress, Stats};
use crate::tree::Tree;

/// A running search over subsets, as a progress callback sees it. Pickles.
///
/// Attributes
/// ----------
/// seconds : float
///     Since the start.
/// built : int
///     Trees built.
/// distinct : int
///     Trees listed; 0 where none are.
/// covered : float
///     The part of all subsets that is done with, from 0 to 1. The search is not even: time left does not follow from
///     it.
/// error : float or None
///     The least estimated error so far, with the penalty of features; None before there is one, and where none is
///     estimated.
/// lower_bound : float
///     No subset can be better.
#[pyclass(frozen, eq, module = "lattree", name = "SubsetProgress")]
#[derive(PartialEq)]
pub struct PySubsetProgress(pub(super) Progress);

#[pymethods]
impl PySubsetProgress {
    #[getter]
    fn seconds(&self) -> f64 {
        self.0.seconds
    }
    #[getter]
    fn built(&self) -> u64 {
        self.0.built
    }
    #[getter]
    fn distinct(&self) -> u64 {
        self.0.distinct
    }
    #[getter]
    fn covered(&self) -> f64 {
        self.0.covered
    }
    #[getter]
    fn error(&self) -> Option<f64> {
        self.0.error
    }
    #[getter]
    fn lower_bound(&self) -> f64 {
        self.0.lower_bound
    }
    fn __repr__(&self) -> String {
        let Progress { seconds, built, distinct, covered, error, lower_bound } = self.0;
        let error = error.map_or("None".into(), |error| error.to_string());
        format!(
            "SubsetProgress(seconds={seconds:.2}, built={built}, distinct={distinct}, covered={covered}, error={error}, \
             lower_bound={lower_bound})"
        )
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let Progress { seconds, built, distinct, covered, error, lower_bound } = self.0;
        reduced(py, "_subset_progress_from_parts", (seconds, built, distinct, covered, error, lower_bound))
    }
}

/// For pickle.
#[pyfunction]
pub(super) fn _subset_progress_from_parts(
    seconds: f64,
    built: u64,
    distinct: u64,
    covered: f64,
    error: Option<f64>,
    lower_bound: f64,
) -> PySubsetProgress {
    PySubsetProgress(Progress { seconds, built, distinct, covered, error, lower_bound })
}

/// How many distinct trees there are. Pickles.
///
/// Attributes
/// ----------
/// built : int
///     Trees built.
/// distinct : int
///     Trees listed: no two are equal.
/// overhead : float or None
///     ``built / distinct``; None where no tree was listed.
/// by_size : list of int
///     ``by_size[k]`` of the trees listed use k features.
/// seconds : float
///     Wall clock.
/// status : str or None
///     "complete", or what ended the search: "time_limit", "memory_limit", "interrupted"; the counts are then those of
///     the trees so far. None while it goes on.
#[pyclass(frozen, eq, module = "lattree", name = "DistinctCounts")]
#[derive(PartialEq)]
pub struct PyDistinctCounts {
    #[pyo3(get)]
    pub(super) built: u64,
    #[pyo3(get)]
    pub(super) distinct: u64,
    #[pyo3(get)]
    pub(super) by_size: Vec<u64>,
    #[pyo3(get)]
    pub(super) seconds: f64,
    #[pyo3(get)]
    pub(super) status: Option<String>,
}

impl From<Counts> for PyDistinctCounts {
    fn from(counts: Counts) -> Self {
        let Counts { built, distinct, by_size, status, seconds } = counts;
        PyDistinctCounts { built, distinct, by_size, seconds, status: Some(status.name().into()) }
    }
}

#[pymethods]
impl PyDistinctCounts {
    #[getter]
    fn overhead(&self) -> Option<f64> {
        (self.distinct > 0).then(|| self.built as f64 / self.distinct as f64)
    }
    fn __repr__(&self) -> String {
        let Self { built, distinct, by_size, seconds, status } = self;
        let status = status.as_deref().unwrap_or("running");
        format!("DistinctCounts: {status}, {distinct} distinct of {built} built, {seconds:.3} s, by size {by_size:?}")
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let numbers = (self.built, self.distinct, self.seconds);
        reduced(py, "_distinct_counts_from_parts", (numbers, &self.by_size, &self.status))
    }
}

/// For pickle.
#[pyfunction]
pub(super) fn _distinct_counts_from_parts(
    numbers: (u64, u64, f64),
    by_size: Vec<u64>,
    status: Option<String>,
) -> PyDistinctCounts {
    let (built, distinct, seconds) = numbers;
    PyDistinctCounts { built, distinct, by_size, seconds, status }
}

/// A step of backward elimination. Pickles.
///
/// Attributes
/// ----------
/// feature : str
///     The feature taken away.
/// error : float
///     The estimated error of the tree over what is left.
#[pyclass(frozen, eq, module = "lattree", name = "Removal")]
#[derive(Clone, PartialEq)]
pub struct PyRemoval {
    #[pyo3(get)]
    feature: String,
    #[pyo3(get)]
    error: f64,
}

#[pymethods]
impl PyRemoval {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let feature: String = self.feature.as_str().into_pyobject(py)?.repr()?.extract()?;
        Ok(format!("Removal(feature={feature}, error={})", self.error))
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        reduced(py, "_removal_from_parts", (&self.feature, self.error))
    }
}

/// For pickle.
#[pyfunction]
pub(super) fn _removal_from_parts(feature: String, error: f64) -> PyRemoval {
    PyRemoval { feature, error }
}

/// The result of a search for a subset of the features. Pickles.
///
/// Attributes
/// ----------
/// features : tuple of str
///     The features selected, in the order of the table: those that the tree uses, and those that are required.
/// tree : Tree
///     The tree that grows over them.
/// error : float
///     Its estimated error as a fraction of all cases, without the penalty of features; with costs, what its errors
///     cost per case.
/// objective : float
///     What is minimised: the error, and the penalty of each feature that the tree uses.
/// lower_bound : float
///     No subset has a smaller objective. 0 where nothing is proved.
/// gap : float
///     ``(objective - lower_bound) / objective``: 0 if it is the least, 1 if nothing is proved.
/// status : str
///     "optimal": no subset is better; "acceptable": none is better by more than `delta`; "complete": backward
///     elimination ended, which proves nothing; or what stopped the search: "time_limit", "memory_limit",
///     "interrupted".
/// path : list of Removal
///     What backward elimination took away, in that order.
/// stats : dict of str to int
///     Counters: trees built or begun, parts of the lattice that a bound ruled out or, in backward elimination, trees
///     that were given up (pruned), best splits of a column looked for (evaluations), case sets made, and how often
///     memory was full (flushes).
/// seconds : float
///     Wall clock.
#[pyclass(frozen, module = "lattree", name = "SubsetResult")]
pub struct PySubsetResult {
    features: Vec<String>,
    tree: Py<PyTree>,
    #[pyo3(get)]
    error: f64,
    #[pyo3(get)]
    objective: f64,
    #[pyo3(get)]
    lower_bound: f64,
    #[pyo3(get)]
    status: String,
    #[pyo3(get)]
    path: Vec<PyRemoval>,
    #[pyo3(get)]
    stats: BTreeMap<String, u64>,
    #[pyo3(get)]
    seconds: f64,
}

impl PySubsetResult {
    pub(super) fn new(py: Python<'_>, outcome: Outcome) -> PyResult<Self> {
        let Outcome { features, tree, error, objective, lower_bound, status, path, stats, seconds } = outcome;
        let name = |feature: usize| tree.schema().features[feature].name.clone();
        let Stats { built, pruned, evaluations, case_sets, flushes } = stats;
        let named = [
            ("built", built),
            ("pruned", pruned),
            ("evaluations", evaluations),
            ("case_sets", case_sets),
            ("flushes", flushes),
        ];
        Ok(PySubsetResult {
            features: features.into_iter().map(name).collect(),
            error,
            objective,
            lower_bound,
            status: status.name().into(),
            path: path.iter().map(|r| PyRemoval { feature: name(r.feature), error: r.error }).collect(),
            stats: named.into_iter().map(|(name, count)| (name.into(), count)).collect(),
            seconds,
            tree: Py::new(py, PyTree(tree))?,
        })
    }
}

/// The numbers of a result: error, objective, lower bound, seconds.
type ResultNumbers = (f64, f64, f64, f64);

#[pymethods]
impl PySubsetResult {
    #[getter]
    fn features<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.features)
    }
    #[getter]
    fn tree(&self, py: Python<'_>) -> Py<PyTree> {
        self.tree.clone_ref(py)
    }
    #[getter]
    fn gap(&self) -> f64 {
        gap_of(self.objective, self.lower_bound)
    }
    fn __repr__(&self) -> String {
        let Self { features, status, seconds, .. } = self;
        let rounded = |value: f64| (value * 1e6).round() / 1e6;
        let [error, objective, lower_bound] = [self.error, self.objective, self.lower_bound].map(rounded);
        let penalized = if objective == error { String::new() } else { format!(", with penalty {objective}") };
        let tree = &self.tree.get().0;
        let (selected, all, names) = (features.len(), tree.schema().features.len(), listed(features, Of::Column));
        format!(
            "SubsetResult: {status}, error {error}{penalized}, lower bound {lower_bound}, {selected} of {all} features, \
             {seconds:.3} s\nfeatures: {names}\n{}",
            tree.to_text(None)
        )
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let numbers: ResultNumbers = (self.error, self.objective, self.lower_bound, self.seconds);
        let path: Vec<_> = self.path.iter().map(|r| (&r.feature, r.error)).collect();
        let tree = self.tree.get().0.to_json();
        reduced(py, "_subset_result_from_parts", (tree, &self.features, numbers, &self.status, path, &self.stats))
    }
}

/// For pickle.
#[pyfunction]
pub(super) fn _subset_result_from_parts(
    py: Python<'_>,
    tree: &str,
    features: Vec<String>,
    numbers: ResultNumbers,
    status: String,
    path: Vec<(String, f64)>,
    stats: BTreeMap<String, u64>,
) -> PyResult<PySubsetResult> {
    let (error, objective, lower_bound, seconds) = numbers;
    let tree = Py::new(py, PyTree(Tree::from_json(tree)?))?;
    let path = path.into_iter().map(|(feature, error)| PyRemoval { feature, error }).collect();
    Ok(PySubsetResult { features, tree, error, objective, lower_bound, status, path, stats, seconds })
}
