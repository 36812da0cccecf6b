//! `GreedyTreeSearch` and `GreedyResult`.

use numpy::{AllowTypeChange, PyArrayLike2};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyString, PyTuple};

use super::argument::Whole;
use super::binarizer::{choice, name_of};
use super::data::PyDataset;
use super::keywords::{NewArguments, new_arguments, repr};
use super::run::{OnInterrupt, Running, Signals};
use super::schema::labels_to_list;
use super::tree::{PyTree, UNSEEN, unseen_name};
use crate::budget::Limits;
use crate::data::Labels;
use crate::error::Error;
use crate::greedy::{Checked, ClassWeight, Criterion, Missing, NominalSplits, Params, search};
use crate::tree::Tree;

const CRITERIA: [(&str, Criterion); 4] = [
    ("information_gain", Criterion::InformationGain),
    ("gain_ratio", Criterion::GainRatio),
    ("gini", Criterion::Gini),
    ("error", Criterion::Error),
];
const NOMINAL_SPLITS: [(&str, NominalSplits); 3] = [
    ("multiway", NominalSplits::Multiway),
    ("one_vs_rest", NominalSplits::OneVsRest),
    ("subsets", NominalSplits::Subsets),
];
const MISSING: [(&str, Missing); 5] = [
    ("fractional", Missing::Fractional),
    ("drop", Missing::Drop),
    ("mean", Missing::Mean),
    ("class_mean", Missing::ClassMean),
    ("level", Missing::Level),
];
const KEYWORDS: [&str; 14] = [
    "criterion",
    "min_cases",
    "min_branch",
    "min_leaf",
    "max_depth",
    "min_gain",
    "max_leaves",
    "nominal_splits",
    "missing",
    "class_weight",
    "costs",
    "unseen",
    "time_limit",
    "threads",
];

/// What a greedy search grew. Pickles.
///
/// Attributes
/// ----------
/// tree : Tree
///     The same for every number of threads.
/// status : str
///     "complete", or what stopped the growth: "time_limit", "interrupted", or "memory_limit" where nodes, which hold a
///     mass per class, would take more than a quarter of the machine. Nodes that were still to be split then are leaves.
/// seconds : float
///     Wall clock.
#[pyclass(frozen, module = "lattree", name = "GreedyResult")]
pub struct PyGreedyResult {
    #[pyo3(get)]
    tree: Py<PyTree>,
    #[pyo3(get)]
    status: String,
    #[pyo3(get)]
    seconds: f64,
}

#[pymethods]
impl PyGreedyResult {
    fn __repr__(&self) -> String {
        let (tree, status, seconds) = (&self.tree.get().0, &self.status, self.seconds);
        let (leaves, depth) = (tree.n_leaves(), tree.depth());
        format!("GreedyResult: {status}, {leaves} leaves, depth {depth}, {seconds:.3} s\n{}", tree.to_text(None))
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let restore = py.import("lattree._core")?.getattr("_greedy_result_from_parts")?;
        let parts = (self.tree.get().0.to_json(), &self.status, self.seconds);
        Ok((restore, parts.into_pyobject(py)?))
    }
}

/// For pickle.
#[pyfunction]
pub(super) fn _greedy_result_from_parts(
    py: Python<'_>,
    tree: &str,
    status: String,
    seconds: f64,
) -> PyResult<PyGreedyResult> {
    Ok(PyGreedyResult { tree: Py::new(py, PyTree(Tree::from_json(tree)?))?, status, seconds })
}

/// Grow a tree from the root, at each node by the best split of its cases, as C4.5 and CART do.
///
/// Parameters
/// ----------
/// criterion : {"information_gain", "gain_ratio", "gini", "error"}, default="information_gain"
///     What makes a split good: the decrease of entropy, that over the entropy of the split itself, the decrease of the
///     Gini index (CART), or of the errors of a leaf. "gain_ratio" takes the threshold of a column by the gain and the
///     column by the ratio, as C4.5 does, but leaves out no column for a gain below the average: that would make a split
///     depend on the other columns. `min_gain` is in place of that rule; without it very uneven splits can win. With
///     `costs`, "gini" weights pairs of classes by what they cost, "error" is the expected cost, and the other two grow
///     as without. Where no split has a positive gain a node is a leaf: "error" stops early.
/// min_cases : int, default=2
///     A node of fewer cases (repetitions counted, weights not) is a leaf.
/// min_branch : int or None, default=None
///     A split needs two branches of at least this many cases: ``-m`` of the C4.5 program, there 2. None: no such rule,
///     and multiway trees may become very large.
/// min_leaf : int, default=1
///     The fewest cases in each branch of a split that is not empty. Here and in `min_branch` only cases with a value in
///     the column count, parts of cases as parts.
/// max_depth : int or None, default=None
///     The longest path from the root to a leaf, in splits; 0 gives a single leaf. None: no limit.
/// min_gain : float, default=0
///     The least gain of a split per unit of mass at its node (of the node, not of the table): bits for the entropies
///     (the gain, not the ratio), errors or costs otherwise; finite, >= 0. The gain is always positive.
/// max_leaves : int or None, default=None
///     The most leaves. The splits of greatest gain, summed over cases, come first. A split with more branches than leaves
///     are left is not made, and its node stays a leaf: with few leaves use "subsets". None: no limit.
/// nominal_splits : {"multiway", "one_vs_rest", "subsets"}, default="multiway"
///     A branch per level, ``x is level``, or ``x in levels``. Subsets are the best of all with two classes or up to 12
///     levels at the node, else the best of those that take the levels in the order of one class's share. A branch per
///     level is one for each of up to 32 levels; of more, for those that came, and one for all others.
/// missing : {"fractional", "drop", "mean", "class_mean", "level"}, default="fractional"
///     What becomes of missing values. "fractional": a case goes down every branch in part, as in C4.5, also in
///     prediction, where the shares of all leaves it comes to are mixed. Parts are multiples of 2^-20, or of more for
///     huge masses. "drop": rows with a missing value are left out of training (a column without any value does not
///     count), and prediction is as with "fractional". "mean": the column's mean, rounded for integers and dates, or its
///     most frequent level. "class_mean": in training that of the row's class, in prediction that of all rows; this tells
///     the tree the class of rows with missing values, and where they are many it does badly on new ones. "level": a
///     value of its own, a level or one beyond the greatest number. With these three a value that is missing where
///     training had none takes the heavier branch.
/// class_weight : "balanced", mapping of label to float, or None, default=None
///     How much the cases of each class matter: a factor >= 0 for the mass of each class, 1 where none is given.
///     "balanced": all classes have the same mass. Leaves then show weighted masses. None: all cases matter the same.
/// costs : array-like of shape (n_classes, n_classes) or None, default=None
///     ``costs[i][j]`` is what it costs to take a case of class i for one of class j, with classes in the order of
///     ``schema.classes``; finite, >= 0, and 0 on the diagonal. Predictions are the classes of least expected cost, by the
///     masses that `class_weight` gives. None: 1 for every error.
/// unseen : {"majority", "missing", "error"}, default="majority"
///     What the tree does with a level that its schema does not know: take the heavier child, treat it as missing, or
///     raise DataError.
/// time_limit : float or None, default=None
///     Seconds of wall clock for all of :meth:`run`; when spent, the tree so far comes back with
///     ``status == "time_limit"``.
/// threads : int or None, default=None
///     None: all that the process may use, capped by the environment variable LATTREE_NUM_THREADS.
///
/// Raises
/// ------
/// ParameterError
///     A parameter is out of range; the text names it and what would be accepted.
///
/// Notes
/// -----
/// Of equally good splits of a node the one of the first column is taken, and of one column the smallest threshold or
/// the first level. The tree does not depend on threads, run or platform. Trees are not pruned. Sources: Quinlan, *C4.5:
/// programs for machine learning*, 1993; Breiman et al., *Classification and regression trees*, 1984; Ruggieri, *Complete
/// search for feature selection in decision trees*, JMLR 2019, for what the order of splits guarantees.
#[pyclass(frozen, module = "lattree", name = "GreedyTreeSearch")]
pub struct PyGreedyTreeSearch {
    /// Without the weights of named classes: their order is that of a table.
    params: Checked,
    weights: Option<Py<PyDict>>,
    running: Running,
}

#[pymethods]
impl PyGreedyTreeSearch {
    #[new]
    #[pyo3(signature = (*, criterion="information_gain", min_cases=Whole::from(2), min_branch=None, min_leaf=Whole::from(1), max_depth=None, min_gain=0.0, max_leaves=None, nominal_splits="multiway", missing="fractional", class_weight=None, costs=None, unseen="majority", time_limit=None, threads=None))]
    #[pyo3(
        text_signature = "(*, criterion='information_gain', min_cases=2, min_branch=None, min_leaf=1, max_depth=None, min_gain=0.0, max_leaves=None, nominal_splits='multiway', missing='fractional', class_weight=None, costs=None, unseen='majority', time_limit=None, threads=None)"
    )]
    #[allow(clippy::too_many_arguments)] // they are Python's keyword arguments
    fn new(
        criterion: &str,
        min_cases: Whole,
        min_branch: Option<Whole>,
        min_leaf: Whole,
        max_depth: Option<Whole>,
        min_gain: f64,
        max_leaves: Option<Whole>,
        nominal_splits: &str,
        missing: &str,
        class_weight: Option<&Bound<'_, PyAny>>,
        costs: Option<&Bound<'_, PyAny>>,
        unseen: &str,
        time_limit: Option<f64>,
        threads: Option<Whole>,
    ) -> PyResult<Self> {
        let (class_weight, weights) = class_weight.map_or(Ok((ClassWeight::Equal, None)), class_weight_of)?;
        let params = Params {
            criterion: choice("criterion", &CRITERIA, criterion)?,
            min_cases: min_cases.at_least(1, "min_cases", "at least 1")?,
            min_branch: min_branch.map(|n| n.at_least(1, "min_branch", "at least 1, or None")).transpose()?,
            min_leaf: min_leaf.at_least(1, "min_leaf", "at least 1")?,
            max_depth: max_depth.map(|n| n.at_least(0, "max_depth", "at least 0, or None")).transpose()?,
            min_gain,
            max_leaves: max_leaves.map(|n| n.at_least(1, "max_leaves", "at least 1, or None")).transpose()?,
            nominal_splits: choice("nominal_splits", &NOMINAL_SPLITS, nominal_splits)?,
            missing: choice("missing", &MISSING, missing)?,
            class_weight,
            costs: costs.map(rows_of).transpose()?,
            unseen: choice("unseen", &UNSEEN, unseen)?,
            limits: Limits { seconds: time_limit, ..Limits::default() },
            threads: threads.map(|n| n.at_least(1, "threads", "at least 1")).transpose()?,
        };
        Ok(PyGreedyTreeSearch { params: params.checked()?, weights, running: Running::default() })
    }

    #[getter]
    fn criterion(&self) -> &'static str {
        name_of(&CRITERIA, &self.get().criterion)
    }
    #[getter]
    fn min_cases(&self) -> u64 {
        self.get().min_cases
    }
    #[getter]
    fn min_branch(&self) -> Option<u64> {
        self.get().min_branch
    }
    #[getter]
    fn min_leaf(&self) -> u64 {
        self.get().min_leaf
    }
    #[getter]
    fn max_depth(&self) -> Option<u64> {
        self.get().max_depth
    }
    #[getter]
    fn min_gain(&self) -> f64 {
        self.get().min_gain
    }
    #[getter]
    fn max_leaves(&self) -> Option<u64> {
        self.get().max_leaves
    }
    #[getter]
    fn nominal_splits(&self) -> &'static str {
        name_of(&NOMINAL_SPLITS, &self.get().nominal_splits)
    }
    #[getter]
    fn missing(&self) -> &'static str {
        name_of(&MISSING, &self.get().missing)
    }
    #[getter]
    fn class_weight<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(match (&self.weights, &self.get().class_weight) {
            (Some(weights), _) => Some(weights.bind(py).copy()?.into_any()),
            (None, ClassWeight::Balanced) => Some(PyString::new(py, BALANCED).into_any()),
            _ => None,
        })
    }
    #[getter]
    fn costs(&self) -> Option<Vec<Vec<f64>>> {
        self.get().costs.clone()
    }
    #[getter]
    fn unseen(&self) -> &'static str {
        unseen_name(self.get().unseen)
    }
    #[getter]
    fn time_limit(&self) -> Option<f64> {
        self.get().limits.seconds
    }
    #[getter]
    fn threads(&self) -> Option<usize> {
        self.get().threads
    }

    /// Grow a tree on a table.
    ///
    /// May be called again, and from several threads at once. The interpreter is free meanwhile.
    ///
    /// Parameters
    /// ----------
    /// data : Dataset
    ///     With a target of classes.
    /// on_interrupt : {"raise", "return"}, default="raise"
    ///     What Ctrl-C does, within half a second: raise KeyboardInterrupt, or return the tree so far with
    ///     ``status == "interrupted"``.
    ///
    /// Returns
    /// -------
    /// GreedyResult
    ///
    /// Raises
    /// ------
    /// DataError
    ///     The target has no classes, no row is present, or a level is unseen by the schema.
    /// ParameterError
    ///     `class_weight` names a label that is none, or `costs` has not one row and one column per class.
    #[pyo3(signature = (data, *, on_interrupt="raise"))]
    fn run(&self, py: Python<'_>, data: &Bound<'_, PyAny>, on_interrupt: &str) -> PyResult<PyGreedyResult> {
        let on_interrupt = OnInterrupt::named(on_interrupt)?;
        let data = PyDataset::to_search(data)?;
        let params = self.params_for(py, data.schema().labels())?;
        let signals = Signals::of(data, Some(self.params.threads_on(data)));
        let work = |budget: &_| search(data, &params, budget);
        let outcome = self.running.run(py, params.budget(), signals, None, on_interrupt, work)??;
        let tree = Py::new(py, PyTree(outcome.tree))?;
        Ok(PyGreedyResult { tree, status: outcome.status.name().into(), seconds: outcome.seconds })
    }

    /// Stop all runs of this search that are under way, from any thread; each returns its tree so far, with
    /// ``status == "interrupted"``.
    fn cancel(&self) {
        self.running.cancel();
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        repr(slf, &KEYWORDS)
    }

    fn __getnewargs_ex__<'py>(slf: &Bound<'py, Self>) -> PyResult<NewArguments<'py>> {
        new_arguments(slf, &KEYWORDS)
    }
}

/// How many labels an error text lists.
const SHOWN: usize = 10;

impl PyGreedyTreeSearch {
    fn get(&self) -> &Params {
        self.params.params()
    }

    /// The parameters, with the weights of named classes in the order of a table's labels. A target without classes is
    /// for the search to refuse.
    fn params_for(&self, py: Python<'_>, labels: Option<&Labels>) -> PyResult<Checked> {
        let (Some(weights), Some(_)) = (&self.weights, labels) else {
            return Ok(self.params.clone());
        };
        let (weights, labels) = (weights.bind(py), labels_to_list(py, labels)?);
        for label in weights.keys() {
            if !labels.contains(&label)? {
                let more = if labels.len() > SHOWN { " and more" } else { "" };
                let expected = format!("weights of labels among {}{more}", labels.get_slice(0, SHOWN).repr()?);
                let got = label.repr()?.extract()?;
                return Err(Error::InvalidParameter { name: "class_weight", expected, got }.into());
            }
        }
        let each = labels.iter().map(|label| weights.get_item(label)?.map_or(Ok(1.0), |weight| weight.extract()));
        let class_weight = ClassWeight::Each(each.collect::<PyResult<_>>()?);
        Ok(Params { class_weight, ..self.get().clone() }.checked()?)
    }
}

const BALANCED: &str = "balanced";

/// What `class_weight` says. The weights of named classes come as floats by label; they are checked here, since no table
/// has given them an order yet.
fn class_weight_of(given: &Bound<'_, PyAny>) -> PyResult<(ClassWeight, Option<Py<PyDict>>)> {
    let expected = "\"balanced\", a dict of labels and their weights, or None";
    if let Ok(name) = given.cast::<PyString>() {
        let got = name.repr()?.extract()?;
        return match name == BALANCED {
            true => Ok((ClassWeight::Balanced, None)),
            false => Err(Error::InvalidParameter { name: "class_weight", expected: expected.into(), got }.into()),
        };
    }
    let Ok(named) = given.cast::<PyMapping>() else {
        let got = given.get_type().name()?;
        return Err(PyTypeError::new_err(format!("`class_weight` must be {expected}, got {got}")));
    };
    let weights = PyDict::new(given.py());
    let mut each = Vec::new();
    for item in named.items()? {
        let (label, weight) = item.extract::<(Bound<'_, PyAny>, f64)>()?;
        weights.set_item(label, weight)?;
        each.push(weight);
    }
    Params { class_weight: ClassWeight::Each(each), ..Params::default() }.checked()?;
    Ok((ClassWeight::Equal, Some(weights.unbind())))
}

/// The rows of a matrix, in whatever form.
fn rows_of(costs: &Bound<'_, PyAny>) -> PyResult<Vec<Vec<f64>>> {
    match costs.extract::<PyArrayLike2<'_, f64, AllowTypeChange>>() {
        Ok(costs) => Ok(costs.as_array().rows().into_iter().map(|row| row.to_vec()).collect()),
        Err(_) => {
            let expected = "a matrix of numbers, a row and a column per class, or None".into();
            Err(Error::InvalidParameter { name: "costs", expected, got: costs.repr()?.extract()? }.into())
        }
    }
}
