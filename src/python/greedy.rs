//! `GreedyTreeSearch` and `GreedyResult`.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::data::PyDataset;
use super::greedy_base::PyGreedyBase;
use super::keywords::Keywords;
use super::progress::Reporter;
use super::result::PyProgress;
use super::run::{OnInterrupt, Report, Signals};
use super::tree::PyTree;
use crate::budget::Budget;
use crate::error::Error;
use crate::greedy::{Outcome, search};
use crate::optimal::Progress;
use crate::tree::Tree;

/// The result of a greedy search. Pickles.
///
/// Attributes
/// ----------
/// tree : Tree
///     The same for every number of threads.
/// status : str
///     "complete", or what stopped the growth: "time_limit", "memory_limit" or "interrupted". Nodes that were still to
///     be split then are leaves.
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
///     column by the ratio, as C4.5 does, but leaves out no column for a gain below the average: that would make a
///     split depend on the other columns. `min_gain` is in place of that rule; without it very uneven splits can win.
///     With `costs`, "gini" weights pairs of classes by what they cost, "error" is the expected cost, and the other two
///     grow as without. Where no split has a positive gain a node is a leaf: "error" stops early.
/// min_cases : int, default=2
///     A node of fewer cases (repetitions counted, weights not) is a leaf.
/// min_branch : int or None, default=None
///     A split needs two branches of at least this many cases: ``-m`` of the C4.5 program, there 2. None: no such rule,
///     and multiway trees may become very large.
/// min_leaf : int, default=1
///     The fewest cases in each branch of a split that is not empty. Here and in `min_branch` only cases with a value
///     in the column count, parts of cases as parts.
/// min_leaf_mass : float, default=0
///     The least mass in each branch of a split that is not empty: weights and class weights count, not cases; finite,
///     >= 0. 0: no limit. Where there is one, cases are not counted: `min_cases`, `min_branch` and `min_leaf` have to
///     be left as they are by default.
/// max_depth : int or None, default=None
///     The longest path from the root to a leaf, in splits; 0 gives a single leaf. None: no limit.
/// min_gain : float, default=0
///     The least gain of a split per unit of mass at its node (of the node, not of the table): bits for the entropies
///     (the gain, not the ratio), errors or costs otherwise; finite, >= 0. The gain is always positive.
/// max_leaves : int or None, default=None
///     The most leaves. The splits of greatest gain, summed over cases, come first. A split with more branches than
///     leaves are left is not made, and its node stays a leaf: with few leaves use "subsets". None: no limit.
/// nominal_splits : {"multiway", "one_vs_rest", "subsets"}, default="multiway"
///     A branch per level, ``x is level``, or ``x in levels``. Subsets are the best of all with two classes or up to 12
///     levels at the node, else the best of those that take the levels in the order of one class's share. A branch per
///     level is one for each of up to 32 levels; of more, for those that came, and one for all others.
/// missing : {"fractional", "drop", "mean", "class_mean", "level"}, default="fractional"
///     What becomes of missing values. "fractional": a case goes down every branch in part, as in C4.5, also in
///     prediction, where the shares of all leaves it comes to are mixed. Parts are multiples of 2^-20, or of more for
///     huge masses. "drop": rows with a missing value are left out of training (a column without any value does not
///     count), and prediction is as with "fractional". "mean": the column's mean, rounded for integers and dates, or
///     its most frequent level. "class_mean": in training that of the row's class, in prediction that of all rows; this
///     tells the tree the class of rows with missing values, and where they are many it does badly on new ones.
///     "level": a value of its own, a level or one beyond the greatest number. With these three a value that is missing
///     where training had none takes the heavier branch.
/// class_weight : "balanced", mapping of label to float, or None, default=None
///     How much the cases of each class matter: a factor >= 0 for the mass of each class, 1 where none is given.
///     "balanced": all classes have the same mass. Leaves then show weighted masses. None: all cases matter the same.
/// costs : array-like of shape (n_classes, n_classes), Costs, frame or None, default=None
///     ``costs[i][j]`` is what it costs to take a case of class i for one of class j, with classes in the order of
///     ``schema.classes``; :class:`Costs`, and frames as it takes them, are read by the names of the classes. Finite,
///     >= 0, and 0 on the diagonal. Predictions are the classes of least expected cost, by the masses that
///     `class_weight` gives. None: 1 for every error.
/// unseen : {"majority", "missing", "error"}, default="majority"
///     What the tree does with a level that its schema does not know: take the heavier child, treat it as missing, or
///     raise DataError.
/// time_limit : float or None, default=None
///     Seconds of wall clock for all of :meth:`run`; when spent, the tree so far comes back with
///     ``status == "time_limit"``. Such a tree does not repeat exactly: how far a search comes depends on the machine.
/// memory_limit : int or None, default=None
///     Bytes for what the search holds at once; what does not fit ends it with the tree so far and
///     ``status == "memory_limit"``. None: a quarter of the memory that the machine and the control group of the
///     process have, and no more than half of what its limits (``ulimit -v``, ``-d``) leave; 1 GiB where that is not
///     known.
/// threads : int or None, default=None
///     None: all that the process may use, capped by the environment variable LATTREE_NUM_THREADS. Of those asked for
///     no more than four per core are started, or 16 where that is more; fewer where the system allows no more.
///
/// Raises
/// ------
/// ParameterError
///     A parameter is out of range; the text names it and what would be accepted.
///
/// Notes
/// -----
/// Of equally good splits of a node the one of the first column is taken, and of one column the smallest threshold or
/// the first level. The tree does not depend on threads, run or platform. Trees are not pruned. Sources: Quinlan,
/// *C4.5: programs for machine learning*, 1993; Breiman et al., *Classification and regression trees*, 1984; Ruggieri,
/// *Complete search for feature selection in decision trees*, JMLR 2019, for what the order of splits guarantees.
#[pyclass(frozen, extends = PyGreedyBase, module = "lattree", name = "GreedyTreeSearch")]
pub struct PyGreedyTreeSearch;

#[pymethods]
impl PyGreedyTreeSearch {
    #[new]
    #[pyo3(signature = (*positional, **keywords))]
    #[pyo3(
        text_signature = "(*, criterion='information_gain', min_cases=2, min_branch=None, min_leaf=1, min_leaf_mass=0.0, max_depth=None, min_gain=0.0, max_leaves=None, nominal_splits='multiway', missing='fractional', class_weight=None, costs=None, unseen='majority', time_limit=None, memory_limit=None, threads=None)"
    )]
    fn new<'py>(
        positional: &Bound<'py, PyTuple>,
        keywords: Option<Bound<'py, PyDict>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let keywords = Keywords::new::<Self>(positional, keywords)?;
        let base = PyGreedyBase::new(&keywords, &["max_leaves"])?;
        keywords.end()?;
        Ok(PyClassInitializer::from(base).add_subclass(PyGreedyTreeSearch))
    }

    #[getter]
    fn max_leaves(slf: &Bound<'_, Self>) -> Option<u64> {
        slf.as_super().get().params.max_leaves
    }

    /// Grow a tree on a table.
    ///
    /// May be called again, and from several threads at once. The interpreter is free meanwhile.
    ///
    /// Parameters
    /// ----------
    /// data : Dataset
    ///     With a target of classes.
    /// progress : bool, callable or None, default=None
    ///     As in :meth:`OptimalTreeSearch.run`; reports have `seconds` and `nodes`, those of the tree so far.
    /// on_interrupt : {"raise", "return"}, default="raise"
    ///     What Ctrl-C does, within half a second: raise :class:`Interrupted` with the tree so far as its `result`, or
    ///     return that, with ``status == "interrupted"``. Where growth had ended by then it is raised all the same.
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
    #[pyo3(signature = (data, *, progress=None, on_interrupt="raise"))]
    fn run<'py>(
        slf: &Bound<'py, Self>,
        data: &Bound<'_, PyAny>,
        progress: Option<&Bound<'_, PyAny>>,
        on_interrupt: &str,
    ) -> PyResult<Bound<'py, PyGreedyResult>> {
        let (py, base) = (slf.py(), slf.as_super().get());
        let on_interrupt = OnInterrupt::named(on_interrupt)?;
        let data = PyDataset::to_search(data, "data")?;
        let params = base.params_for(py, data.schema().labels())?.checked()?;
        let reporter = Reporter::of(py, progress)?;
        let call = reporter.callback(py);
        let call = call.as_ref().map(|callback| {
            |budget: &Budget| {
                let (seconds, nodes) = (budget.seconds(), budget.grown());
                callback.call1((PyProgress(Progress { seconds, objective: None, lower_bound: 0.0, nodes }),)).map(drop)
            }
        });
        let report = call.as_ref().map(|call| call as Report<'_>);
        let signals = Signals::of(data, Some(params.threads_on(data)));
        let work = |budget: &Budget| search(data, &params, budget);
        let done = base.running.run(py, params.budget(), signals, report, on_interrupt, work);
        let make = |outcome: Result<Outcome, Error>| {
            let Outcome { tree, status, seconds } = outcome?;
            Ok(PyGreedyResult { tree: Py::new(py, PyTree(tree))?, status: status.name().into(), seconds })
        };
        reporter.closed(done.and_then(|done| done.deliver(py, make)), py)
    }
}
