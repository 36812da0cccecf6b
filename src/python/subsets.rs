//! `DistinctTreeSearch`, `AcceptableSubsetSearch`, `BackwardEliminationSearch` and `ExhaustiveSubsetSearch`.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::argument::name_of;
use super::data::PyDataset;
use super::distinct_trees::PyDistinctTrees;
use super::keywords::Keywords;
use super::subset_result::{PyDistinctCounts, PySubsetResult};
use super::subset_search::PySubsetSearch;
use crate::budget::Budget;
use crate::subsets::{Board, Checked, Estimator, Goal, Order, acceptable, count, eliminate, exhaust};

const ORDERS: [(&str, Order); 4] = [
    ("frontier", Order::Frontier),
    ("frontier_cases", Order::FrontierCases),
    ("reverse", Order::Reverse),
    ("fixed", Order::Fixed),
];
const ESTIMATORS: [(&str, Estimator); 3] =
    [("search", Estimator::Search), ("training", Estimator::Training), ("pessimistic", Estimator::Pessimistic)];

/// List all distinct trees that greedy growth leads to over the subsets of the features, each once.
///
/// Many subsets lead to the same tree: a feature that a tree does not use can be taken away for nothing. A tree is
/// listed if it uses all features that are required.
///
/// Parameters
/// ----------
/// required : str or sequence of str, default=()
///     Features that are in every subset; only trees that use them all are listed.
/// candidates : str or sequence of str, or None, default=None
///     Features that may be in a subset beside those; None: all others.
/// order : {"frontier", "frontier_cases", "reverse", "fixed"}, default="frontier"
///     In which order the features of a tree are taken away. The trees are the same; their order and what it takes are
///     not. "frontier": by how many features hang on each, which builds next to no tree twice. "frontier_cases": by the
///     cases at the nodes that each splits. "reverse": "frontier" from its end. "fixed": by position, from the last.
/// ordered : bool, default=True
///     Whether :meth:`run` gives the trees in an order that does not depend on threads. False: as they come, which may
///     be faster.
/// memory_limit : int or None, default=None
///     Bytes for all that the search makes. When they are used up, what no tree needs is forgotten and the search is
///     slower; when what is needed does not fit it ends, and says so. None: a quarter of the machine's memory, or less
///     where limits of the process say so (1 GiB where that is not known).
///
/// The other parameters, and errors, are those of :class:`GreedyTreeSearch`, but for two: there is no `max_leaves`, and
/// `missing` must not be "drop", because with these the split of a node depends on more than its cases.
///
/// Notes
/// -----
/// There may be very many trees: up to 2 to the number of features. Source: Ruggieri, *Complete search for feature
/// selection in decision trees*, JMLR 2019, algorithm 2; "frontier" is its definitions 8 and 9.
#[pyclass(frozen, extends = PySubsetSearch, module = "lattree", name = "DistinctTreeSearch")]
pub struct PyDistinctTreeSearch {
    order: Order,
    #[pyo3(get)]
    ordered: bool,
}

#[pymethods]
impl PyDistinctTreeSearch {
    #[new]
    #[pyo3(signature = (*positional, **keywords))]
    #[pyo3(
        text_signature = "(*, required=(), candidates=None, order='frontier', ordered=True, criterion='information_gain', min_cases=2, min_branch=None, min_leaf=1, min_leaf_mass=0.0, max_depth=None, min_gain=0.0, nominal_splits='multiway', missing='fractional', class_weight=None, costs=None, unseen='majority', time_limit=None, memory_limit=None, threads=None)"
    )]
    fn new<'py>(
        positional: &Bound<'py, PyTuple>,
        keywords: Option<Bound<'py, PyDict>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let keywords = Keywords::new::<Self>(positional, keywords)?;
        let order = keywords.choice("order", &ORDERS, Order::default())?;
        let ordered = keywords.flag("ordered", true)?;
        let base = PySubsetSearch::init(keywords, &["required", "candidates", "order", "ordered"])?;
        Ok(base.add_subclass(PyDistinctTreeSearch { order, ordered }))
    }

    #[getter]
    fn order(&self) -> &'static str {
        name_of(&ORDERS, &self.order)
    }

    /// Look for the trees on a thread of its own, and give them one by one.
    ///
    /// Parameters
    /// ----------
    /// data : Dataset
    ///     With a target of classes.
    /// progress : bool, callable or None, default=None
    ///     As in :meth:`count`, while trees are asked for; it is let go when the iteration ends.
    ///
    /// Returns
    /// -------
    /// DistinctTrees
    ///     An iterator over :class:`DistinctTree`.
    ///
    /// Raises
    /// ------
    /// DataError
    ///     `required` or `candidates` name what is no column, the target has no classes, no row is present, or a level
    ///     is unseen by the schema.
    /// ParameterError
    ///     `class_weight` names a label that is none, or `costs` has not one row and one column per class.
    #[pyo3(signature = (data, *, progress=None))]
    fn run(
        slf: &Bound<'_, Self>,
        data: &Bound<'_, PyAny>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyDistinctTrees> {
        let (data, this, base) = (PyDataset::to_search(data, "data")?, slf.get(), slf.as_super());
        let checked = PySubsetSearch::checked(base, data)?;
        let (order, running) = ((this.order, this.ordered), &base.as_super().get().running);
        PyDistinctTrees::start(slf.py(), data.clone(), checked, order, running, progress)
    }

    /// Count the trees.
    ///
    /// Parameters
    /// ----------
    /// data : Dataset
    ///     With a target of classes.
    /// progress : bool, callable or None, default=None
    ///     As in :meth:`OptimalTreeSearch.run`, with a :class:`SubsetProgress`.
    /// on_interrupt : {"raise", "return"}, default="raise"
    ///     What Ctrl-C does, within half a second: raise :class:`Interrupted` with the counts so far as its
    ///     `result`, or return them, with ``status == "interrupted"``. Where the search had ended by then it is
    ///     raised all the same.
    ///
    /// Returns
    /// -------
    /// DistinctCounts
    ///
    /// Raises
    /// ------
    /// DataError, ParameterError
    ///     As in :meth:`run`.
    #[pyo3(signature = (data, *, progress=None, on_interrupt="raise"))]
    fn count<'py>(
        slf: &Bound<'py, Self>,
        data: &Bound<'_, PyAny>,
        progress: Option<&Bound<'_, PyAny>>,
        on_interrupt: &str,
    ) -> PyResult<Bound<'py, PyDistinctCounts>> {
        let (data, order) = (PyDataset::to_search(data, "data")?, slf.get().order);
        let work = |checked: &Checked, budget: &Budget, board: &Board| count(data, checked, order, budget, board);
        PySubsetSearch::run(slf.as_super(), data, progress, on_interrupt, work, |counts| Ok(counts.into()))
    }
}

/// Find a subset of the features whose tree has an error within `delta` of the least of all subsets, and prove it.
///
/// The error is estimated, and the estimate is what is least: by default it is that for the cases of a second table.
///
/// Parameters
/// ----------
/// required : str or sequence of str, default=()
///     Features that are in every subset.
/// candidates : str or sequence of str, or None, default=None
///     Features that may be in a subset beside those; None: all others.
/// delta : float, default=0
///     How far from the least error, and penalty, that of the subset may be, as a fraction of all cases; finite, >= 0.
/// feature_penalty : float, default=0
///     What each feature that the tree uses adds to its error, as such a fraction; finite, >= 0.
/// error : {"search", "training", "pessimistic"}, default="search"
///     "search": the error of the predictions for the search set that :meth:`run` is given; with `costs`, what they
///     cost. "training": that for the cases the tree is grown on. "pessimistic": C4.5's estimate from the training
///     cases of its leaves, the upper limit of a confidence interval of 25 %.
/// memory_limit : int or None, default=None
///     Bytes for all that the search makes. When they are used up, what no tree needs is forgotten and the search is
///     slower; when what is needed does not fit it ends, and says so. None: a quarter of the machine's memory, or less
///     where limits of the process say so (1 GiB where that is not known).
///
/// The other parameters, and errors, are those of :class:`GreedyTreeSearch`, but for two: there is no `max_leaves`, and
/// `missing` must not be "drop", because with these the split of a node depends on more than its cases.
///
/// Notes
/// -----
/// Backward elimination comes first: a limit gives what that came to, or better. An error that is least on one
/// search set is an optimistic estimate for other rows: keep a third part of the rows for that. Source: Ruggieri,
/// *Complete search for feature selection in decision trees*, JMLR 2019, algorithms 3 and 4.
#[pyclass(frozen, extends = PySubsetSearch, module = "lattree", name = "AcceptableSubsetSearch")]
pub struct PyAcceptableSubsetSearch(Goal);

#[pymethods]
impl PyAcceptableSubsetSearch {
    #[new]
    #[pyo3(signature = (*positional, **keywords))]
    #[pyo3(
        text_signature = "(*, required=(), candidates=None, delta=0.0, feature_penalty=0.0, error='search', criterion='information_gain', min_cases=2, min_branch=None, min_leaf=1, min_leaf_mass=0.0, max_depth=None, min_gain=0.0, nominal_splits='multiway', missing='fractional', class_weight=None, costs=None, unseen='majority', time_limit=None, memory_limit=None, threads=None)"
    )]
    fn new<'py>(
        positional: &Bound<'py, PyTuple>,
        keywords: Option<Bound<'py, PyDict>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let keywords = Keywords::new::<Self>(positional, keywords)?;
        let delta = keywords.real("delta", 0.0)?;
        let goal = goal(&keywords, delta)?;
        let own = &["required", "candidates", "delta", "feature_penalty", "error"];
        Ok(PySubsetSearch::init(keywords, own)?.add_subclass(PyAcceptableSubsetSearch(goal)))
    }

    #[getter]
    fn delta(&self) -> f64 {
        self.0.delta
    }
    #[getter]
    fn feature_penalty(&self) -> f64 {
        self.0.feature_penalty
    }
    #[getter]
    fn error(&self) -> &'static str {
        name_of(&ESTIMATORS, &self.0.error)
    }

    /// Search the subsets of the features of a table.
    ///
    /// May be called again, and from several threads at once. The interpreter is free meanwhile.
    ///
    /// Parameters
    /// ----------
    /// building : Dataset
    ///     The cases that trees are grown on, with a target of classes.
    /// search : Dataset or None, default=None
    ///     The cases that errors are estimated on, for ``error="search"``; of the same schema, as parts of one table
    ///     are.
    /// progress : bool, callable or None, default=None
    ///     As in :meth:`OptimalTreeSearch.run`, with a :class:`SubsetProgress`.
    /// on_interrupt : {"raise", "return"}, default="raise"
    ///     What Ctrl-C does, within half a second: raise :class:`Interrupted` with the best subset so far as
    ///     its `result`, or return that, with ``status == "interrupted"``. Where the search had ended by then it is raised
    ///     all the same.
    ///
    /// Returns
    /// -------
    /// SubsetResult
    ///
    /// Raises
    /// ------
    /// DataError
    ///     `required` or `candidates` name what is no column, the target has no classes, no row is present, a level is
    ///     unseen by the schema, or the search set has another schema.
    /// ParameterError
    ///     There is no search set to estimate errors on, `class_weight` names a label that is none, or `costs` has not
    ///     one row and one column per class.
    #[pyo3(signature = (building, search=None, *, progress=None, on_interrupt="raise"))]
    fn run<'py>(
        slf: &Bound<'py, Self>,
        building: &Bound<'_, PyAny>,
        search: Option<&Bound<'_, PyAny>>,
        progress: Option<&Bound<'_, PyAny>>,
        on_interrupt: &str,
    ) -> PyResult<Bound<'py, PySubsetResult>> {
        let goal = slf.get().0;
        PySubsetSearch::select(
            slf.as_super(),
            (building, search),
            progress,
            on_interrupt,
            |b, s, checked, budget, board| acceptable(b, s, checked, goal, budget, board),
        )
    }
}

/// Select features by sequential backward elimination: take away the one whose absence leaves the smallest error, until
/// that error would grow.
///
/// Of equal errors a feature that the tree does not use goes first, then the first one of the table.
///
/// Parameters
/// ----------
/// required : str or sequence of str, default=()
///     Features that are in every subset.
/// candidates : str or sequence of str, or None, default=None
///     Features that may be in a subset beside those; None: all others.
/// error : {"search", "training", "pessimistic"}, default="search"
///     How errors are estimated: as in :class:`AcceptableSubsetSearch`.
/// white_box : bool, default=True
///     Whether a tree is made from the one before, by what both share. False: every tree is grown on its own, which
///     takes much longer and leads to the same features; for comparison.
/// memory_limit : int or None, default=None
///     Bytes for all that the search makes. When they are used up, what no tree needs is forgotten and the search is
///     slower; when what is needed does not fit it ends, and says so. None: a quarter of the machine's memory, or less
///     where limits of the process say so (1 GiB where that is not known).
///
/// The other parameters, and errors, are those of :class:`GreedyTreeSearch`, but for two: there is no `max_leaves`, and
/// `missing` must not be "drop", because with these the split of a node depends on more than its cases.
///
/// Notes
/// -----
/// A heuristic: it proves nothing about other subsets. Source: Ruggieri, *Complete search for feature selection in
/// decision trees*, JMLR 2019, section 6.
#[pyclass(frozen, extends = PySubsetSearch, module = "lattree", name = "BackwardEliminationSearch")]
pub struct PyBackwardEliminationSearch {
    error: Estimator,
    #[pyo3(get)]
    white_box: bool,
}

#[pymethods]
impl PyBackwardEliminationSearch {
    #[new]
    #[pyo3(signature = (*positional, **keywords))]
    #[pyo3(
        text_signature = "(*, required=(), candidates=None, error='search', white_box=True, criterion='information_gain', min_cases=2, min_branch=None, min_leaf=1, min_leaf_mass=0.0, max_depth=None, min_gain=0.0, nominal_splits='multiway', missing='fractional', class_weight=None, costs=None, unseen='majority', time_limit=None, memory_limit=None, threads=None)"
    )]
    fn new<'py>(
        positional: &Bound<'py, PyTuple>,
        keywords: Option<Bound<'py, PyDict>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let keywords = Keywords::new::<Self>(positional, keywords)?;
        let error = keywords.choice("error", &ESTIMATORS, Estimator::default())?;
        let white_box = keywords.flag("white_box", true)?;
        let own = &["required", "candidates", "error", "white_box"];
        Ok(PySubsetSearch::init(keywords, own)?.add_subclass(PyBackwardEliminationSearch { error, white_box }))
    }

    #[getter]
    fn error(&self) -> &'static str {
        name_of(&ESTIMATORS, &self.error)
    }

    /// Eliminate features of a table.
    ///
    /// Parameters
    /// ----------
    /// building, search, progress, on_interrupt
    ///     As in :meth:`AcceptableSubsetSearch.run`, as are errors.
    ///
    /// Returns
    /// -------
    /// SubsetResult
    ///     Its `path` has what was taken away, in that order.
    ///
    /// Raises
    /// ------
    /// DataError, ParameterError
    ///     As in :meth:`AcceptableSubsetSearch.run`.
    #[pyo3(signature = (building, search=None, *, progress=None, on_interrupt="raise"))]
    fn run<'py>(
        slf: &Bound<'py, Self>,
        building: &Bound<'_, PyAny>,
        search: Option<&Bound<'_, PyAny>>,
        progress: Option<&Bound<'_, PyAny>>,
        on_interrupt: &str,
    ) -> PyResult<Bound<'py, PySubsetResult>> {
        let Self { error, white_box } = *slf.get();
        PySubsetSearch::select(
            slf.as_super(),
            (building, search),
            progress,
            on_interrupt,
            |b, s, checked, budget, board| eliminate(b, s, checked, error, white_box, budget, board),
        )
    }
}

/// Find the best subset of the features by growing a tree for every one: for comparison, and for few features.
///
/// Best is the least error and penalty, then the fewest features used.
///
/// Parameters
/// ----------
/// required : str or sequence of str, default=()
///     Features that are in every subset.
/// candidates : str or sequence of str, or None, default=None
///     Features that may be in a subset beside those; None: all others.
/// feature_penalty : float, default=0
///     What each feature that the tree uses adds to its error, as a fraction of all cases; finite, >= 0.
/// error : {"search", "training", "pessimistic"}, default="search"
///     How errors are estimated: as in :class:`AcceptableSubsetSearch`.
/// max_features : int or None, default=None
///     The most features in a subset; None: no limit.
/// memory_limit : int or None, default=None
///     Bytes for all that the search makes. None: a quarter of the machine's memory, or less where limits of the
///     process say so (1 GiB where that is not known).
///
/// The other parameters, and errors, are those of :class:`GreedyTreeSearch`, but for two: there is no `max_leaves`, and
/// `missing` must not be "drop", because with these the split of a node depends on more than its cases.
///
/// Notes
/// -----
/// n features have 2^n subsets.
#[pyclass(frozen, extends = PySubsetSearch, module = "lattree", name = "ExhaustiveSubsetSearch")]
pub struct PyExhaustiveSubsetSearch {
    goal: Goal,
    #[pyo3(get)]
    max_features: Option<usize>,
}

#[pymethods]
impl PyExhaustiveSubsetSearch {
    #[new]
    #[pyo3(signature = (*positional, **keywords))]
    #[pyo3(
        text_signature = "(*, required=(), candidates=None, feature_penalty=0.0, error='search', max_features=None, criterion='information_gain', min_cases=2, min_branch=None, min_leaf=1, min_leaf_mass=0.0, max_depth=None, min_gain=0.0, nominal_splits='multiway', missing='fractional', class_weight=None, costs=None, unseen='majority', time_limit=None, memory_limit=None, threads=None)"
    )]
    fn new<'py>(
        positional: &Bound<'py, PyTuple>,
        keywords: Option<Bound<'py, PyDict>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let keywords = Keywords::new::<Self>(positional, keywords)?;
        let goal = goal(&keywords, 0.0)?;
        let max_features = keywords.limit("max_features", 0)?;
        let own = &["required", "candidates", "feature_penalty", "error", "max_features"];
        Ok(PySubsetSearch::init(keywords, own)?.add_subclass(PyExhaustiveSubsetSearch { goal, max_features }))
    }

    #[getter]
    fn feature_penalty(&self) -> f64 {
        self.goal.feature_penalty
    }
    #[getter]
    fn error(&self) -> &'static str {
        name_of(&ESTIMATORS, &self.goal.error)
    }

    /// Grow a tree for every subset of the features of a table.
    ///
    /// Parameters
    /// ----------
    /// building, search, progress, on_interrupt
    ///     As in :meth:`AcceptableSubsetSearch.run`, as are errors.
    ///
    /// Returns
    /// -------
    /// SubsetResult
    #[pyo3(signature = (building, search=None, *, progress=None, on_interrupt="raise"))]
    fn run<'py>(
        slf: &Bound<'py, Self>,
        building: &Bound<'_, PyAny>,
        search: Option<&Bound<'_, PyAny>>,
        progress: Option<&Bound<'_, PyAny>>,
        on_interrupt: &str,
    ) -> PyResult<Bound<'py, PySubsetResult>> {
        let Self { goal, max_features } = *slf.get();
        PySubsetSearch::select(
            slf.as_super(),
            (building, search),
            progress,
            on_interrupt,
            |b, s, checked, budget, board| exhaust(b, s, checked, goal, max_features, budget, board),
        )
    }
}

fn goal(keywords: &Keywords<'_>, delta: f64) -> PyResult<Goal> {
    let error = keywords.choice("error", &ESTIMATORS, Estimator::default())?;
    let feature_penalty = keywords.real("feature_penalty", 0.0)?;
    Ok(Goal { error, delta, feature_penalty }.checked()?)
}
