//! `OptimalResult` and `Progress`.

use std::collections::BTreeMap;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use super::pickle::reduced;
use super::tree::PyTree;
use crate::budget::Status;
use crate::data::Schema;
use crate::optimal::{OfferedTests, Outcome, Progress};
use crate::tree::packed::unpack;
use crate::tree::{Tree, test_words};

/// The share of the objective that is not proved: 0 for an optimal tree. Of the greater in size of objective and bound,
/// since costs may be negative; where none is, that is the objective.
pub(super) fn gap_of(objective: f64, lower_bound: f64) -> f64 {
    match objective > lower_bound {
        true => (objective - lower_bound) / objective.abs().max(lower_bound.abs()),
        false => 0.0,
    }
}

/// A running search, as a progress callback sees it. Pickles.
///
/// Attributes
/// ----------
/// seconds : float
///     Since the start.
/// objective : float or None
///     That of the best tree so far; None before there is one.
/// lower_bound : float
///     No tree has a smaller objective.
/// gap : float or None
///     ``(objective - lower_bound) / objective``, of negative costs over the size of the bound; 0 if proved.
/// nodes : int
///     Search nodes visited; of a greedy search, which has no objective and no bound, nodes of the tree.
#[pyclass(frozen, eq, module = "lattree", name = "Progress")]
#[derive(PartialEq)]
pub struct PyProgress(pub(super) Progress);

#[pymethods]
impl PyProgress {
    #[getter]
    fn seconds(&self) -> f64 {
        self.0.seconds
    }
    #[getter]
    fn objective(&self) -> Option<f64> {
        self.0.objective
    }
    #[getter]
    fn lower_bound(&self) -> f64 {
        self.0.lower_bound
    }
    #[getter]
    fn gap(&self) -> Option<f64> {
        self.0.objective.map(|objective| gap_of(objective, self.0.lower_bound))
    }
    #[getter]
    fn nodes(&self) -> u64 {
        self.0.nodes
    }
    fn __repr__(&self) -> String {
        let objective = self.0.objective.map_or("None".into(), |objective| objective.to_string());
        format!("Progress(seconds={:.2}, objective={objective}, lower_bound={})", self.0.seconds, self.0.lower_bound)
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let Progress { seconds, objective, lower_bound, nodes } = self.0;
        reduced(py, "_progress_from_parts", (seconds, objective, lower_bound, nodes))
    }
}

/// For pickle.
#[pyfunction]
pub(super) fn _progress_from_parts(seconds: f64, objective: Option<f64>, lower_bound: f64, nodes: u64) -> PyProgress {
    PyProgress(Progress { seconds, objective, lower_bound, nodes })
}

/// What an exact search found. Pickles.
///
/// Attributes
/// ----------
/// tree : Tree
///     The best tree. If `status` is "optimal" it is the canonical one: the same for every number of threads.
/// objective : float
///     Its cost: what the labels of its leaves cost, such as the mass of training cases it gets wrong, and
///     `node_penalty` per internal node.
/// lower_bound : float
///     No tree within the limits costs less: over all thresholds, or over the tests offered where the binarizer says
///     which these are.
/// tests_bound : float
///     No tree over the tests offered costs less. It is greater than `lower_bound` only where the search chose to thin
///     thresholds out: then the latter is what rows that are equal cost in any tree.
/// gap : float
///     ``(objective - lower_bound) / objective``, where costs are negative over the greater in size of both; 0 if
///     proved.
/// status : str
///     "optimal"; "optimal_over_tests" where the search thinned thresholds out, and the tree is proved best over those
///     left; or what stopped the search: "time_limit", "node_limit", "memory_limit", "interrupted". A limit may
///     strike after the proof and before the canonical tree is found: then the gap is 0. "complete" under
///     ``effort="tree"``: the search for a good tree went to its end, and nothing is proved.
/// tests : list of str
///     The tests offered, in column-then-cut order. The continuous engine lists all cuts of a column, also those that
///     split the cases as a cut of an earlier column does.
/// exact_thresholds : bool
///     Whether every ordered column had a test between all its neighbouring values. True for the continuous engine;
///     False where thresholds were thinned out: optimal then means over those in `tests`.
/// resolution : float
///     All masses and costs are multiples of this: a power of two, or one over a power of ten, or a part of the least
///     weight; 1 for errors of unweighted cases without a penalty.
/// seconds : float
///     Wall clock.
/// trace : list of (seconds, objective, lower_bound)
///     One entry per change.
/// stats : dict of str to int
///     Counters: search nodes (`nodes`), distinct rows (`patterns`), `threads`, steps of the search for better trees
///     where a limit allows no proof (`steps`). The engine over tests adds depth-two problems solved (`depth_two`, and
///     `rough_bounds` where masses of many digits are rounded first), cache hits and bytes, and nodes cut by bounds; the
///     continuous engine adds thresholds tried (`cuts_tried`) and rows read in looking for the best single splits
///     (`instances_scanned`).
#[pyclass(frozen, module = "lattree", name = "OptimalResult")]
pub struct PyOptimalResult {
    tree: Py<PyTree>,
    tests: Tests,
    #[pyo3(get)]
    objective: f64,
    #[pyo3(get)]
    lower_bound: f64,
    #[pyo3(get)]
    tests_bound: f64,
    #[pyo3(get)]
    status: String,
    #[pyo3(get)]
    exact_thresholds: bool,
    #[pyo3(get)]
    resolution: f64,
    #[pyo3(get)]
    seconds: f64,
    #[pyo3(get)]
    trace: Vec<(f64, f64, f64)>,
    #[pyo3(get)]
    stats: BTreeMap<String, u64>,
}

/// The tests offered: put into words only when asked for, since there may be millions.
enum Tests {
    Offered(OfferedTests, Arc<Schema>),
    /// As they come from a pickle.
    Packed(Vec<u8>, Arc<Schema>),
    /// From a pickle of version 0.1: words only.
    Words(Vec<String>),
}

impl Tests {
    fn words(&self) -> PyResult<Vec<String>> {
        let mut words = Vec::new();
        match self {
            Tests::Offered(tests, schema) => tests.each(|test| words.push(test_words(schema, test))),
            Tests::Packed(packed, schema) => unpack(packed, schema, |test| words.push(test_words(schema, &test)))?,
            Tests::Words(all) => words.clone_from(all),
        }
        Ok(words)
    }

    fn packed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let packed = match self {
            Tests::Offered(tests, _) => PyBytes::new(py, &tests.packed()),
            Tests::Packed(packed, _) => PyBytes::new(py, packed),
            Tests::Words(words) => return Ok(words.clone().into_pyobject(py)?.into_any()),
        };
        Ok(packed.into_any())
    }
}

/// What a pickle has of the tests.
#[derive(FromPyObject)]
pub(super) enum PickledTests<'py> {
    Packed(Bound<'py, PyBytes>),
    Words(Vec<String>),
}

impl PyOptimalResult {
    pub(super) fn new(py: Python<'_>, outcome: Outcome) -> PyResult<Self> {
        Ok(PyOptimalResult {
            tests: Tests::Offered(outcome.tests, outcome.tree.schema().clone()),
            tree: Py::new(py, PyTree(outcome.tree))?,
            objective: outcome.objective,
            lower_bound: outcome.lower_bound,
            tests_bound: outcome.tests_bound,
            status: outcome.status.name().into(),
            exact_thresholds: outcome.exact_thresholds,
            resolution: outcome.resolution,
            seconds: outcome.seconds,
            trace: outcome.trace,
            stats: outcome.stats.into_iter().map(|(name, count)| (name.into(), count)).collect(),
        })
    }
}

impl PyOptimalResult {
    /// Says that thresholds were thinned out, if they were, and how to have all.
    pub(super) fn warn_of_thinned(&self, py: Python<'_>) -> PyResult<()> {
        let mut n_tests = 0;
        match &self.tests {
            Tests::Offered(tests, _) if !self.exact_thresholds => tests.each(|_| n_tests += 1),
            _ => (),
        }
        if n_tests == 0 {
            return Ok(()); // all are there, or a limit struck before they were known
        }
        let text = format!(
            "thresholds were thinned out to {n_tests} tests, and the tree is the best over these; for all thresholds, \
             which may take much longer, use binarizer=lattree.Binarizer(thresholds=\"exact\")"
        );
        py.import("lattree._errors")?.call_method1("warn", (text,)).map(drop)
    }
}

/// The parts of a result that [`PyOptimalResult`] is made of again: the numbers after the tree, tests and trace.
#[derive(FromPyObject, IntoPyObject)]
pub(super) enum Numbers {
    /// With the bounds over all tests and over those offered.
    New(f64, (f64, f64), bool, f64, f64),
    /// From a pickle of version 0.1, with one bound.
    Old(f64, f64, bool, f64, f64),
}

#[pymethods]
impl PyOptimalResult {
    #[getter]
    fn tree(&self, py: Python<'_>) -> Py<PyTree> {
        self.tree.clone_ref(py)
    }
    #[getter]
    fn tests(&self) -> PyResult<Vec<String>> {
        self.tests.words()
    }
    #[getter]
    fn gap(&self) -> f64 {
        gap_of(self.objective, self.lower_bound)
    }
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let tree: String = self.tree.bind(py).str()?.extract()?;
        let (status, objective, bound) = (&self.status, self.objective, self.lower_bound);
        let seconds = self.seconds;
        let status = match self.exact_thresholds || status == Status::OptimalOverTests.name() {
            true => status.clone(),
            false => format!("{status} over the thresholds offered"),
        };
        Ok(format!("OptimalResult: {status}, objective {objective}, lower bound {bound}, {seconds:.3} s\n{tree}"))
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let restore = py.import("lattree._core")?.getattr("_result_from_parts")?;
        let bounds = (self.lower_bound, self.tests_bound);
        let numbers = Numbers::New(self.objective, bounds, self.exact_thresholds, self.resolution, self.seconds);
        let tree = self.tree.get().0.to_json();
        let tests = self.tests.packed(py)?;
        let parts = (tree, &self.status, numbers, tests, self.trace.clone(), self.stats.clone());
        Ok((restore, parts.into_pyobject(py)?))
    }
}

/// For pickle.
#[pyfunction]
pub(super) fn _result_from_parts(
    py: Python<'_>,
    tree: &str,
    status: String,
    numbers: Numbers,
    tests: PickledTests<'_>,
    trace: Vec<(f64, f64, f64)>,
    stats: BTreeMap<String, u64>,
) -> PyResult<PyOptimalResult> {
    let (objective, (lower_bound, tests_bound), exact_thresholds, resolution, seconds) = match numbers {
        Numbers::New(objective, bounds, exact, resolution, seconds) => (objective, bounds, exact, resolution, seconds),
        Numbers::Old(objective, bound, exact, resolution, seconds) => {
            (objective, (bound, bound), exact, resolution, seconds)
        }
    };
    let tree = Tree::from_json(tree)?;
    let tests = match tests {
        PickledTests::Packed(packed) => {
            let packed = packed.as_bytes();
            unpack(packed, tree.schema(), |_| ())?;
            Tests::Packed(packed.to_vec(), tree.schema().clone())
        }
        PickledTests::Words(words) => Tests::Words(words),
    };
    let tree = Py::new(py, PyTree(tree))?;
    Ok(PyOptimalResult {
        tree,
        objective,
        lower_bound,
        tests_bound,
        status,
        tests,
        exact_thresholds,
        resolution,
        seconds,
        trace,
        stats,
    })
}
