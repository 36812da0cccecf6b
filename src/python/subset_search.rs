//! The base class of searches over subsets of the features: keywords, positions of named columns, runs.

use pyo3::PyClass;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::argument::Names;
use super::data::PyDataset;
use super::greedy_base::PyGreedyBase;
use super::keywords::Keywords;
use super::progress::Reporter;
use super::run::{OnInterrupt, Report};
use super::subset_result::{PySubsetProgress, PySubsetResult};
use crate::budget::Budget;
use crate::data::Dataset;
use crate::subsets::{Board, Checked, Outcome, Params};

/// The base class of searches over subsets of the features.
#[pyclass(frozen, subclass, extends = PyGreedyBase, module = "lattree._core", name = "_SubsetSearch")]
pub struct PySubsetSearch {
    required: Vec<String>,
    candidates: Option<Vec<String>>,
}

#[pymethods]
impl PySubsetSearch {
    #[getter]
    fn required<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.required)
    }
    #[getter]
    fn candidates<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.candidates.as_ref().map(|names| PyTuple::new(py, names)).transpose()
    }
}

impl PySubsetSearch {
    /// Takes the last keywords, those of all searches over subsets. `own` names all but those of all greedy searches.
    pub(super) fn init(keywords: Keywords<'_>, own: &'static [&'static str]) -> PyResult<PyClassInitializer<Self>> {
        let required = keywords.get::<Names>("required")?.map_or_else(Vec::new, Names::list);
        let candidates = keywords.get::<Option<Names>>("candidates")?.flatten().map(Names::list);
        let base = PyGreedyBase::new(&keywords, own)?;
        keywords.end()?;
        Params { greedy: base.params.clone(), ..Params::default() }.checked()?;
        Ok(PyClassInitializer::from(base).add_subclass(PySubsetSearch { required, candidates }))
    }

    /// The parameters for a table: names of its columns and labels have become positions.
    pub(super) fn checked(slf: &Bound<'_, Self>, data: &Dataset) -> PyResult<Checked> {
        let (schema, this) = (data.schema(), slf.get());
        let positions = |names: &Vec<String>| names.iter().map(|name| schema.feature_index(name)).collect();
        let required = positions(&this.required)?;
        let candidates = this.candidates.as_ref().map(positions).transpose()?;
        let greedy = slf.as_super().get().params_for(slf.py(), schema.labels())?;
        Ok(Params { greedy, required, candidates }.checked()?)
    }

    /// Runs `work` on a thread of its own, with reports of what it says on its board, and makes a result of its
    /// outcome.
    pub(super) fn run<'py, T: Send, R: PyClass + Into<PyClassInitializer<R>>>(
        slf: &Bound<'py, Self>,
        data: &Dataset,
        progress: Option<&Bound<'_, PyAny>>,
        on_interrupt: &str,
        work: impl FnOnce(&Checked, &Budget, &Board) -> crate::Result<T> + Send,
        make: impl FnOnce(T) -> PyResult<R>,
    ) -> PyResult<Bound<'py, R>> {
        let (py, on_interrupt) = (slf.py(), OnInterrupt::named(on_interrupt)?);
        let (checked, board) = (Self::checked(slf, data)?, Board::new());
        let reporter = Reporter::of(py, progress)?;
        let call = reporter.callback(py);
        let call = call
            .as_ref()
            .map(|callback| |budget: &Budget| callback.call1((PySubsetProgress(board.progress(budget)),)).map(drop));
        let report = call.as_ref().map(|call| call as Report<'_>);
        let work = |budget: &Budget| work(&checked, budget, &board);
        let running = &slf.as_super().get().running;
        let done = running.run(py, checked.budget(), None, report, on_interrupt, work);
        reporter.closed(done.and_then(|done| done.deliver(py, |outcome| make(outcome?))), py)
    }

    /// As [`PySubsetSearch::run`], for a search that estimates errors on a second table.
    pub(super) fn select<'py>(
        slf: &Bound<'py, Self>,
        (building, search): (&Bound<'_, PyAny>, Option<&Bound<'_, PyAny>>),
        progress: Option<&Bound<'_, PyAny>>,
        on_interrupt: &str,
        work: impl FnOnce(&Dataset, Option<&Dataset>, &Checked, &Budget, &Board) -> crate::Result<Outcome> + Send,
    ) -> PyResult<Bound<'py, PySubsetResult>> {
        let building = PyDataset::to_search(building, "building")?;
        let search = search.map(|search| PyDataset::to_search(search, "search")).transpose()?;
        let work = |checked: &Checked, budget: &Budget, board: &Board| work(building, search, checked, budget, board);
        Self::run(slf, building, progress, on_interrupt, work, |outcome| PySubsetResult::new(slf.py(), outcome))
    }
}
