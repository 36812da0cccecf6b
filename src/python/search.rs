//! `OptimalTreeSearch`.

use std::borrow::Cow;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use super::argument::{Names, Real, choice, name_of, wrong_type};
use super::binarizer::PyBinarizer;
use super::costs::Costs;
use super::data::PyDataset;
use super::error::any_of;
use super::greedy_base::{class_weight_for, class_weight_of, given_class_weight};
use super::keywords::{Keywords, NewArguments, named, new_arguments, repr};
use super::progress::Reporter;
use super::result::{PyOptimalResult, PyProgress};
use super::run::{OnInterrupt, Report, Running, Signals};
use super::tree::{UNSEEN, unseen_name};
use crate::budget::{Budget, Limits};
use crate::data::{Binarizer, Labels};
use crate::error::Error;
use crate::greedy::ClassWeight;
use crate::objective::{LabelCosts, Loss};
use crate::optimal::{Board, Checked, Effort, Engine, Params, Rank, search};

const ENGINES: [(&str, Engine); 3] =
    [("auto", Engine::Auto), ("tests", Engine::Tests), ("continuous", Engine::Continuous)];
const EFFORTS: [(&str, Effort); 2] = [("proof", Effort::Proof), ("tree", Effort::Tree)];
/// Objectives that have a name of their own.
const OBJECTIVES: [(&str, &Loss); 3] =
    [("errors", &Loss::Errors), ("balanced_errors", &Loss::BalancedErrors), ("costs", &Loss::PerCase)];
const KEYWORDS: [&str; 19] = [
    "max_depth",
    "max_nodes",
    "min_leaf",
    "min_leaf_mass",
    "objective",
    "class_weight",
    "abstain",
    "node_penalty",
    "rank",
    "binarizer",
    "engine",
    "unseen",
    "time_limit",
    "node_limit",
    "memory_limit",
    "discrepancies",
    "effort",
    "seed",
    "threads",
];

/// Find a tree of least cost over the tests offered, and prove it.
///
/// Parameters
/// ----------
/// max_depth : int, default=4
///     The longest path from the root to a leaf, in splits; 0 gives a single leaf. Range 0 to 20.
/// max_nodes : int or None, default=None
///     The most internal nodes; None: as many as the depth allows.
/// min_leaf : int, default=1
///     The fewest cases (repetitions counted, weights not) in each branch of a split. The single leaf is always
///     admissible.
/// min_leaf_mass : float, default=0
///     The least mass in each branch of a split: weights count, not cases; finite, >= 0. 0: no limit; else `min_leaf`
///     has to be 1.
/// objective : {"errors", "balanced_errors", "costs"} or Costs, default="errors"
///     What is minimised. "errors": the mass of misclassified cases. "balanced_errors": the mean over the classes of
///     the share of their mass that is misclassified, which is one less the balanced accuracy. :class:`Costs`: what it
///     costs to give cases of each class each label, times their mass. "costs": what each label costs in each case, as
///     the dataset says (``Dataset(..., costs=...)``), times its mass; such a dataset needs no target.
/// class_weight : "balanced", mapping of label to float, or None, default=None
///     How much the cases of each class matter: a factor >= 0 for the mass of each class, 1 where none is given.
///     "balanced": all classes have the same mass. Leaves then show weighted masses. None: all cases matter the same.
///     Not for "balanced_errors", which has weights of its own.
/// abstain : float or None, default=None
///     What a leaf costs, per unit of mass, whose label is "abstain": a label of its own, for cases of which the tree
///     does not decide; finite. :meth:`Tree.predict` says what is predicted then. Beside errors a price of 1 or more is
///     never paid. None: there is no such label.
/// node_penalty : float, default=0
///     What each internal node costs, in units of the objective; finite, >= 0.
/// rank : str, sequence of str, or None, default=("objective", "nodes")
///     What is best among trees, in order of importance. ``("objective", "nodes")``: the least cost, then the fewest
///     internal nodes of all trees of that cost. The second is a proof of its own, which may take longer than the
///     first; where a limit strikes during it, the status names the limit although `lower_bound` equals `objective`.
///     ``"objective"``: the least cost alone, for whom speed matters more than a small tree. None: the default.
/// binarizer : Binarizer or None, default=None
///     The tests offered; None: ``Binarizer()``.
/// engine : {"auto", "tests", "continuous"}, default="auto"
///     Which search does the work. "continuous" takes the columns as they are: it offers a threshold between all
///     neighbouring values, however many there are, so that thresholds are always exact; the binarizer's `thresholds`
///     must be "auto" or "all" then, and its `max_thresholds` None. "tests" works on 0/1 tests, and is exact where the
///     binarizer lists all thresholds: under "all", and under "auto" while there are at most `max_tests` tests. "auto"
///     takes "tests" if the binarizer thins thresholds out or tests are few: at most `max_tests`, and 64 a column on
///     average, times one less than there are classes, or any number if `min_leaf` is above 1; or, under "all", 8 a
///     column. Else it takes "continuous". Under thresholds "auto" it goes back to "tests", with thresholds thinned out
///     to `max_tests`, where a search over all of them is hopeless: more bytes than half of `memory_limit` (4 GiB if
///     that is None), or, if there is neither a `time_limit` nor a `node_limit`, five minutes or more, as estimated
///     from distinct rows, columns, classes, depth, nodes and `min_leaf`. :attr:`OptimalResult.exact_thresholds` says
///     whether it did. Where both engines offer all thresholds, the
///     tree that is proved does not depend on the choice.
/// unseen : {"majority", "missing", "error"}, default="majority"
///     What the tree does with a level that its schema does not know: take the heavier child, treat it as missing, or
///     raise DataError.
/// time_limit : float or None, default=None
///     Seconds of wall clock for all of :meth:`run`; when spent, the best tree so far comes back with
///     ``status == "time_limit"``. Where the time allows no proof most of it goes into better trees. How far a search comes in a time depends on the machine and what else runs there:
///     such a result does not repeat exactly.
/// node_limit : int or None, default=None
///     The most search nodes. With ``threads=1`` a result under it repeats exactly, on every machine.
/// memory_limit : int or None, default=None
///     Bytes for live state and cache; None: a quarter of the memory there is (see :class:`GreedyTreeSearch`). A full
///     cache only slows the search.
/// discrepancies : int or None, default=None
///     Look for good trees before the proof starts, by limited discrepancy search: passes 0, 1, ... up to this many,
///     where pass k sees the trees whose splits on any path lie, all together, at most k places behind the best by a
///     look ahead of two levels. Range 0 to 100; worth it under a limit of time. None: no passes. Results that are
///     proved do not depend on it. The continuous engine has no such passes: from depth four on it starts from a tree
///     by such a look ahead.
/// effort : {"proof", "tree"}, default="proof"
///     What the limits are spent on. "proof": on the proof, and on better trees where it seems out of reach. "tree": on
///     the tree alone, by a neighbourhood search: until `time_limit` or `node_limit` is spent, or for 2,000 steps where
///     neither is given. It ends with ``status == "complete"`` and a bound that says little. Trees up to depth three
///     (two over all thresholds), and those whose `max_nodes` is less than the depth allows, are proved all the same.
/// seed : int, default=0
///     Where the random numbers of the neighbourhood search start; 0 to 2**64 - 1. Results that are proved do not
///     depend on it.
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
/// The tree is the canonical one: at each node a leaf if that costs the least, else the first test in column-then-cut
/// order whose branches' least costs add up to the node's. It does not depend on threads, run or platform. Source:
/// Demirovic et al., *MurTree: optimal decision trees via dynamic programming and search*, JMLR 2022.
#[pyclass(frozen, module = "lattree", name = "OptimalTreeSearch")]
pub struct PyOptimalTreeSearch {
    /// Without costs and weights of named classes: their order is that of a table.
    params: Checked,
    costs: Option<Py<PyAny>>,
    weights: Option<Py<PyDict>>,
    rank: Vec<String>,
    running: Running,
}

#[pymethods]
impl PyOptimalTreeSearch {
    #[new]
    #[pyo3(signature = (*positional, **keywords))]
    #[pyo3(
        text_signature = "(*, max_depth=4, max_nodes=None, min_leaf=1, min_leaf_mass=0.0, objective='errors', class_weight=None, abstain=None, node_penalty=0.0, rank=('objective', 'nodes'), binarizer=None, engine='auto', unseen='majority', time_limit=None, node_limit=None, memory_limit=None, discrepancies=None, effort='proof', seed=0, threads=None)"
    )]
    fn new<'py>(positional: &Bound<'py, PyTuple>, keywords: Option<Bound<'py, PyDict>>) -> PyResult<Self> {
        let keywords = Keywords::new::<Self>(positional, keywords)?;
        let default = Params::default();
        let rank = keywords.get::<Option<Names>>("rank")?.flatten();
        let rank = rank.map_or_else(|| vec!["objective".into(), "nodes".into()], Names::list);
        let best = match rank.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["objective"] => Rank::Objective,
            ["objective", "nodes"] => Rank::ObjectiveThenNodes,
            _ => {
                let expected = r#""objective" or ("objective", "nodes")"#.into();
                return Err(
                    Error::InvalidParameter { name: "rank", expected, got: format!("{:?}", rank.join(", ")) }.into()
                );
            }
        };
        let objective = keywords.get::<Bound<'_, PyAny>>("objective")?;
        let (objective, costs) = objective.as_ref().map_or(Ok((default.objective, None)), objective_of)?;
        let class_weight = keywords.get::<Option<Bound<'_, PyAny>>>("class_weight")?.flatten();
        if objective == Loss::BalancedErrors && class_weight.is_some() {
            return Err(LabelCosts::weighed_twice().into());
        }
        let (class_weight, weights) =
            class_weight.as_ref().map_or(Ok((default.class_weight, None)), class_weight_of)?;
        let binarizer = keywords.get::<Option<Bound<'_, PyAny>>>("binarizer")?.flatten();
        let params = Params {
            max_depth: keywords.whole("max_depth", default.max_depth, 0, "from 0 to 20")?,
            max_nodes: keywords.limit("max_nodes", 0)?,
            min_leaf: keywords.whole("min_leaf", default.min_leaf, 1, "at least 1")?,
            min_leaf_mass: keywords.real("min_leaf_mass", default.min_leaf_mass)?,
            objective,
            class_weight,
            abstain: keywords.get::<Option<Real>>("abstain")?.flatten().map(|Real(price)| price),
            node_penalty: keywords.real("node_penalty", default.node_penalty)?,
            rank: best,
            binarizer: binarizer.as_ref().map_or(Ok(default.binarizer), binarizer_of)?,
            engine: keywords.choice("engine", &ENGINES, default.engine)?,
            unseen: keywords.choice("unseen", &UNSEEN, default.unseen)?,
            limits: Limits {
                seconds: keywords.get::<Option<Real>>("time_limit")?.flatten().map(|Real(seconds)| seconds),
                nodes: keywords.limit("node_limit", 0)?,
                memory: keywords.limit("memory_limit", 0)?,
            },
            discrepancies: keywords.limit("discrepancies", 0)?,
            effort: keywords.choice("effort", &EFFORTS, default.effort)?,
            seed: keywords.whole("seed", default.seed, 0, "from 0 to 2**64 - 1")?,
            threads: keywords.limit("threads", 1)?,
            ..Params::default()
        };
        keywords.end()?;
        Ok(PyOptimalTreeSearch { params: params.checked()?, costs, weights, rank, running: Running::default() })
    }

    #[getter]
    fn max_depth(&self) -> u32 {
        self.get().max_depth
    }
    #[getter]
    fn max_nodes(&self) -> Option<u64> {
        self.get().max_nodes
    }
    #[getter]
    fn min_leaf(&self) -> u64 {
        self.get().min_leaf
    }
    #[getter]
    fn min_leaf_mass(&self) -> f64 {
        self.get().min_leaf_mass
    }
    #[getter]
    fn objective<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        match &self.costs {
            Some(costs) => costs.bind(py).clone(),
            None => PyString::new(py, name_of(&OBJECTIVES, &&self.get().objective)).into_any(),
        }
    }
    #[getter]
    fn class_weight<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        given_class_weight(py, &self.get().class_weight, self.weights.as_ref())
    }
    #[getter]
    fn abstain(&self) -> Option<f64> {
        self.get().abstain
    }
    #[getter]
    fn node_penalty(&self) -> f64 {
        self.get().node_penalty
    }
    #[getter]
    fn rank<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.rank)
    }
    #[getter]
    fn binarizer(&self) -> PyBinarizer {
        PyBinarizer(self.get().binarizer.clone())
    }
    #[getter]
    fn engine(&self) -> &'static str {
        name_of(&ENGINES, &self.get().engine)
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
    fn node_limit(&self) -> Option<u64> {
        self.get().limits.nodes
    }
    #[getter]
    fn memory_limit(&self) -> Option<u64> {
        self.get().limits.memory
    }
    #[getter]
    fn discrepancies(&self) -> Option<u32> {
        self.get().discrepancies
    }
    #[getter]
    fn effort(&self) -> &'static str {
        name_of(&EFFORTS, &self.get().effort)
    }
    #[getter]
    fn seed(&self) -> u64 {
        self.get().seed
    }
    #[getter]
    fn threads(&self) -> Option<usize> {
        self.get().threads
    }

    /// Search a table.
    ///
    /// May be called again, and from several threads at once. The interpreter is free meanwhile.
    ///
    /// Parameters
    /// ----------
    /// data : Dataset
    ///     With a target of classes or, under ``objective="costs"``, without a target too.
    /// progress : bool, callable or None, default=None
    ///     True: show objective, bound and gap in a line on stderr, by tqdm or rich (extra ``progress``). A callable is
    ///     called with a :class:`Progress` about ten times a second, on the calling thread; what it raises stops the
    ///     search and is raised here.
    /// on_interrupt : {"raise", "return"}, default="raise"
    ///     What Ctrl-C does, within half a second: raise :class:`Interrupted` with the best tree so far as its
    ///     `result`, or return that, with ``status == "interrupted"``. Where the search had ended by then it is raised all the
    ///     same, with what was found.
    ///
    /// Returns
    /// -------
    /// OptimalResult
    ///
    /// Raises
    /// ------
    /// DataError
    ///     The target has no classes, no row is present, a level is unseen by the schema, a nominal column has too many
    ///     levels for subset tests, or costs of rows are not those of the classes.
    /// ParameterError
    ///     `class_weight` or the costs of `objective` name a class that is none, costs of a class are missing, or the
    ///     dataset has no costs that ``objective="costs"`` could minimise.
    /// ImportError
    ///     `progress` is True, and there is neither tqdm nor rich.
    ///
    /// Warns
    /// -----
    /// UserWarning
    ///     Thresholds were thinned out under ``thresholds="auto"``: the tree is the best over those that are left.
    #[pyo3(signature = (data, *, progress=None, on_interrupt="raise"))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'_, PyAny>,
        progress: Option<&Bound<'_, PyAny>>,
        on_interrupt: &str,
    ) -> PyResult<Bound<'py, PyOptimalResult>> {
        let on_interrupt = OnInterrupt::named(on_interrupt)?;
        let (data, board) = (PyDataset::to_search(data, "data")?, Board::new());
        let params = &*self.params_for(py, data.schema().labels())?;
        let reporter = Reporter::of(py, progress)?;
        let call = reporter.callback(py);
        let call = call
            .as_ref()
            .map(|callback| |budget: &Budget| callback.call1((PyProgress(board.progress(budget)),)).map(drop));
        let report = call.as_ref().map(|call| call as Report<'_>);
        let signals = Signals::of(data, self.get().threads);
        let work = |budget: &Budget| search(data, params, budget, &board);
        let done = self.running.run(py, params.budget(), signals, report, on_interrupt, work);
        let result = done.and_then(|done| done.deliver(py, |outcome| PyOptimalResult::new(py, outcome?)));
        let result = reporter.closed(result, py)?;
        if self.get().binarizer.is_left_to_search() {
            result.get().warn_of_thinned(py)?;
        }
        Ok(result)
    }

    /// Stop all runs of this search that are under way, from any thread; each returns its best tree so far, with
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

/// What `objective` says. Costs come as `lattree.Costs`, beside an objective that stands for them until there is a
/// table.
fn objective_of(given: &Bound<'_, PyAny>) -> PyResult<(Loss, Option<Py<PyAny>>)> {
    if let Ok(name) = given.cast::<PyString>() {
        return Ok((choice("objective", &OBJECTIVES, &name.to_string_lossy())?.clone(), None));
    }
    match Costs::of(given)? {
        Some(costs) => Ok((Loss::Errors, Some(costs.unbind()))),
        None => {
            let names = OBJECTIVES.map(|(name, _)| name);
            let expected = format!("{}, or a lattree.Costs", any_of(&names));
            Err(named(given.py(), "objective", wrong_type(&expected, given.as_borrowed())))
        }
    }
}

fn binarizer_of(given: &Bound<'_, PyAny>) -> PyResult<Binarizer> {
    let got = || given.get_type().name();
    match given.cast::<PyBinarizer>() {
        Ok(binarizer) => Ok(binarizer.get().0.clone()),
        Err(_) => Err(PyTypeError::new_err(format!(
            "`binarizer` must be a Binarizer or None, got a value of type {}",
            got()?
        ))),
    }
}

impl PyOptimalTreeSearch {
    fn get(&self) -> &Params {
        self.params.params()
    }

    /// The parameters, with what is named by class in the order of a table's labels. A target without classes is for
    /// the search to refuse.
    fn params_for(&self, py: Python<'_>, labels: Option<&Labels>) -> PyResult<Cow<'_, Checked>> {
        if self.costs.is_none() && self.weights.is_none() {
            return Ok(Cow::Borrowed(&self.params));
        }
        let mut params = self.get().clone();
        if let Some(weights) = &self.weights {
            let none = ClassWeight::Each(vec![]);
            params.class_weight = labels.map_or(Ok(none), |labels| class_weight_for(weights.bind(py), labels))?;
        }
        if let (Some(costs), Some(labels)) = (&self.costs, labels) {
            let (costs, extra) = Costs::matrix(costs.bind(py), "objective", labels)?;
            params.objective = Loss::Matrix { costs, extra };
        }
        Ok(Cow::Owned(params.checked()?))
    }
}
