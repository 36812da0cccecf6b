//! The base class of all searches that grow greedy trees: reads, keeps and shows their keywords.

use numpy::{AllowTypeChange, PyArrayLike2};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyString};

use super::argument::{Real, name_of};
use super::costs::Costs;
use super::keywords::{Keywords, NewArguments, new_arguments, repr};
use super::run::Running;
use super::schema::labels_to_list;
use super::tree::{UNSEEN, unseen_name};
use crate::budget::Limits;
use crate::data::Labels;
use crate::error::Error;
use crate::greedy::{ClassWeight, Criterion, Missing, NominalSplits, Params};
use crate::names::quoted;

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
/// The keywords that all of them have.
const SHARED: [&str; 15] = [
    "criterion",
    "min_cases",
    "min_branch",
    "min_leaf",
    "min_leaf_mass",
    "max_depth",
    "min_gain",
    "nominal_splits",
    "missing",
    "class_weight",
    "costs",
    "unseen",
    "time_limit",
    "memory_limit",
    "threads",
];

/// The base class of searches that grow greedy trees.
#[pyclass(frozen, subclass, module = "lattree._core", name = "_GreedySearch")]
pub struct PyGreedyBase {
    /// The parameters without the weights of named classes, whose order depends on the table.
    pub(super) params: Params,
    weights: Option<Py<PyDict>>,
    /// The costs of named classes: a `lattree.Costs`.
    costs: Option<Py<PyAny>>,
    /// The keywords that this search has besides the shared ones.
    own: &'static [&'static str],
    pub(super) running: Running,
}

#[pymethods]
impl PyGreedyBase {
    #[getter]
    fn criterion(&self) -> &'static str {
        name_of(&CRITERIA, &self.params.criterion)
    }
    #[getter]
    fn min_cases(&self) -> u64 {
        self.params.min_cases
    }
    #[getter]
    fn min_branch(&self) -> Option<u64> {
        self.params.min_branch
    }
    #[getter]
    fn min_leaf(&self) -> u64 {
        self.params.min_leaf
    }
    #[getter]
    fn min_leaf_mass(&self) -> f64 {
        self.params.min_leaf_mass
    }
    #[getter]
    fn max_depth(&self) -> Option<u64> {
        self.params.max_depth
    }
    #[getter]
    fn min_gain(&self) -> f64 {
        self.params.min_gain
    }
    #[getter]
    fn nominal_splits(&self) -> &'static str {
        name_of(&NOMINAL_SPLITS, &self.params.nominal_splits)
    }
    #[getter]
    fn missing(&self) -> &'static str {
        name_of(&MISSING, &self.params.missing)
    }
    #[getter]
    fn class_weight<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        given_class_weight(py, &self.params.class_weight, self.weights.as_ref())
    }
    #[getter]
    fn costs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.costs {
            Some(costs) => Ok(costs.bind(py).clone()),
            None => self.params.costs.clone().into_bound_py_any(py),
        }
    }
    #[getter]
    fn unseen(&self) -> &'static str {
        unseen_name(self.params.unseen)
    }
    #[getter]
    fn time_limit(&self) -> Option<f64> {
        self.params.limits.seconds
    }
    #[getter]
    fn memory_limit(&self) -> Option<u64> {
        self.params.limits.memory
    }
    #[getter]
    fn threads(&self) -> Option<usize> {
        self.params.threads
    }

    /// Stop all runs of this search that are under way, from any thread; each ends with what it has, and with
    /// ``status == "interrupted"``.
    fn cancel(&self) {
        self.running.cancel();
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        repr(slf, &slf.get().names())
    }

    fn __getnewargs_ex__<'py>(slf: &Bound<'py, Self>) -> PyResult<NewArguments<'py>> {
        new_arguments(slf, &slf.get().names())
    }
}

/// The number of labels that an error text lists.
const SHOWN: usize = 10;

impl PyGreedyBase {
    /// Takes the keywords of all searches, and `max_leaves`: only its checks can say why most of them refuse it.
    pub(super) fn new(keywords: &Keywords<'_>, own: &'static [&'static str]) -> PyResult<Self> {
        let default = Params::default();
        let class_weight = keywords.get::<Option<Bound<'_, PyAny>>>("class_weight")?.flatten();
        let (class_weight, weights) =
            class_weight.as_ref().map_or(Ok((default.class_weight, None)), class_weight_of)?;
        let costs = keywords.get::<Option<Bound<'_, PyAny>>>("costs")?.flatten();
        let named = costs.as_ref().map_or(Ok(None), Costs::of)?;
        let costs = costs.filter(|_| named.is_none());
        let params = Params {
            criterion: keywords.choice("criterion", &CRITERIA, default.criterion)?,
            min_cases: keywords.whole("min_cases", default.min_cases, 1, "at least 1")?,
            min_branch: keywords.limit("min_branch", 1)?,
            min_leaf: keywords.whole("min_leaf", default.min_leaf, 1, "at least 1")?,
            min_leaf_mass: keywords.real("min_leaf_mass", default.min_leaf_mass)?,
            max_depth: keywords.limit("max_depth", 0)?,
            min_gain: keywords.real("min_gain", default.min_gain)?,
            max_leaves: keywords.limit("max_leaves", 1)?,
            nominal_splits: keywords.choice("nominal_splits", &NOMINAL_SPLITS, default.nominal_splits)?,
            missing: keywords.choice("missing", &MISSING, default.missing)?,
            class_weight,
            costs: costs.as_ref().map(rows_of).transpose()?,
            unseen: keywords.choice("unseen", &UNSEEN, default.unseen)?,
            limits: Limits {
                seconds: keywords.get::<Option<Real>>("time_limit")?.flatten().map(|Real(seconds)| seconds),
                memory: keywords.limit("memory_limit", 0)?,
                ..default.limits
            },
            threads: keywords.limit("threads", 1)?,
        };
        params.clone().checked()?;
        Ok(PyGreedyBase { params, weights, costs: named.map(Bound::unbind), own, running: Running::default() })
    }

    fn names(&self) -> Vec<&'static str> {
        self.own.iter().chain(&SHARED).copied().collect()
    }

    /// The parameters, with the weights and costs of named classes in the order of a table's labels. A target without
    /// classes is for the search to refuse.
    pub(super) fn params_for(&self, py: Python<'_>, labels: Option<&Labels>) -> PyResult<Params> {
        let mut params = self.params.clone();
        let Some(labels) = labels else { return Ok(params) };
        if let Some(weights) = &self.weights {
            params.class_weight = class_weight_for(weights.bind(py), labels)?;
        }
        if let Some(costs) = &self.costs {
            let (costs, extra) = Costs::matrix(costs.bind(py), "costs", labels)?;
            if let Some(label) = extra.first() {
                let (expected, got) = ("costs of labels that are classes".into(), quoted(label));
                return Err(Error::InvalidParameter { name: "costs", expected, got }.into());
            }
            params.costs = Some(costs);
        }
        Ok(params)
    }
}

/// Weights by class, in the order of the classes.
pub(super) fn class_weight_for(weights: &Bound<'_, PyDict>, labels: &Labels) -> PyResult<ClassWeight> {
    let labels = labels_to_list(weights.py(), Some(labels))?;
    for label in weights.keys() {
        if !labels.contains(&label)? {
            let more = if labels.len() > SHOWN { " and more" } else { "" };
            let expected = format!("weights of labels among {}{more}", labels.get_slice(0, SHOWN).repr()?);
            let got = label.repr()?.extract()?;
            return Err(Error::InvalidParameter { name: "class_weight", expected, got }.into());
        }
    }
    let each = labels.iter().map(|label| weights.get_item(label)?.map_or(Ok(1.0), |weight| weight.extract()));
    Ok(ClassWeight::Each(each.collect::<PyResult<_>>()?))
}

/// What `class_weight` was given as.
pub(super) fn given_class_weight<'py>(
    py: Python<'py>,
    class_weight: &ClassWeight,
    named: Option<&Py<PyDict>>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    Ok(match (named, class_weight) {
        (Some(weights), _) => Some(weights.bind(py).copy()?.into_any()),
        (None, ClassWeight::Balanced) => Some(PyString::new(py, BALANCED).into_any()),
        _ => None,
    })
}

const BALANCED: &str = "balanced";

/// Reads `class_weight`. The weights of named classes come as floats by label; they are checked here, since no
/// table is known yet.
pub(super) fn class_weight_of(given: &Bound<'_, PyAny>) -> PyResult<(ClassWeight, Option<Py<PyDict>>)> {
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
        let (label, weight) = item.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
        let Ok(Real(weight)) = weight.extract() else {
            let (label, got) = (label.repr()?, weight.repr()?);
            return Err(PyTypeError::new_err(format!("`class_weight` must have numbers, got {got} for {label}")));
        };
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
