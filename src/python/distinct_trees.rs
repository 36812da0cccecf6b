//! `DistinctTrees` and `DistinctTree`: an iterator over the trees that a search on a thread of its own lists.
//!
//! The thread of the search never touches Python; the thread that waits for trees looks for signals.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Instant;

use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

use super::error::interrupted;
use super::pickle::reduced;
use super::progress::Reporter;
use super::run::{REPORT, Running, Signals, panicked};
use super::subset_result::{PyDistinctCounts, PySubsetProgress};
use super::tree::PyTree;
use super::tree_queue::{SearchEnd, StreamState, TreeQueue};
use crate::budget::{Budget, Status};
use crate::data::{Dataset, Schema};
use crate::subsets::{Board, Checked, DistinctTree, Order, distinct};
use crate::threads::lock;
use crate::tree::Tree;

/// A tree that some subset of the features leads to. Pickles.
///
/// Attributes
/// ----------
/// features : tuple of str
///     The features it uses, in the order of the table. No two trees of a search use the same.
/// tree : Tree
///     The tree itself, made when it is first asked for.
#[pyclass(frozen, module = "lattree", name = "DistinctTree")]
pub struct PyDistinctTree {
    /// `None` in an object from a pickle, which has its tree.
    grown: Option<(DistinctTree, Arc<Schema>)>,
    tree: PyOnceLock<Py<PyTree>>,
}

#[pymethods]
impl PyDistinctTree {
    #[getter]
    fn features<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        match &self.grown {
            Some((grown, schema)) => PyTuple::new(py, grown.features.iter().map(|&f| schema.features[f].name.as_str())),
            None => {
                let tree = &self.tree(py)?.get().0;
                PyTuple::new(py, tree.features().iter().map(|&f| tree.schema().features[f as usize].name.as_str()))
            }
        }
    }
    #[getter]
    fn tree<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyTree>> {
        let make = || {
            let (grown, _) = self.grown.as_ref().expect("what was not grown here has its tree");
            Py::new(py, PyTree(py.detach(|| grown.tree())))
        };
        Ok(self.tree.get_or_try_init(py, make)?.bind(py))
    }
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let text = self.tree(py)?.get().0.to_text(Some(5));
        Ok(format!("DistinctTree: features {}\n{text}", self.features(py)?.repr()?))
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        reduced(py, "_distinct_tree_from_json", (self.tree(py)?.get().0.to_json(),))
    }
}

/// For pickle.
#[pyfunction]
pub(super) fn _distinct_tree_from_json(py: Python<'_>, tree: &str) -> PyResult<PyDistinctTree> {
    let kept = PyOnceLock::new();
    kept.get_or_try_init(py, || Py::new(py, PyTree(Tree::from_json(tree)?)))?;
    Ok(PyDistinctTree { grown: None, tree: kept })
}

/// The distinct trees of a table, one after the other: an iterator, and a context manager that closes it.
///
/// A thread looks for them and waits while a few hundred are not taken, so memory stays bounded however many there are.
/// Where the system has no more threads all are found first, or as many as the memory limit has room for. It ends with
/// the iteration, by :meth:`close`, with the last reference, by ``cancel()`` of the search, or by a limit: then the
/// iteration ends after the trees found so far, and `status` says so. Ctrl-C while it waits for a tree closes it and
/// raises :class:`Interrupted`, whose `result` are the counts so far; in a ``with`` block it does so wherever Ctrl-C
/// strikes.
#[pyclass(frozen, module = "lattree", name = "DistinctTrees")]
pub struct PyDistinctTrees {
    queue: Arc<TreeQueue>,
    budget: Arc<Budget>,
    board: Arc<Board>,
    schema: Arc<Schema>,
    thread: Mutex<Option<JoinHandle<()>>>,
    process: u32,
    /// The receiver of progress reports, until the end, and the time of the last report.
    watch: Mutex<Option<(Arc<Reporter>, Instant)>>,
}

#[pymethods]
impl PyDistinctTrees {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<PyDistinctTree>> {
        self.report(py)?;
        loop {
            match self.queue.pop() {
                (Some(tree), _) => {
                    let grown = Some((tree, self.schema.clone()));
                    return Ok(Some(PyDistinctTree { grown, tree: PyOnceLock::new() }));
                }
                (None, false) => return self.finish(py).map(|()| None),
                (None, true) => self.wait(py)?,
            }
        }
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*error))]
    fn __exit__(&self, py: Python<'_>, error: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)?;
        match error.get_item(1) {
            Ok(error) if error.is_exact_instance_of::<PyKeyboardInterrupt>() => {
                Err(self.interrupted(py, PyErr::from_value(error)))
            }
            _ => Ok(()),
        }
    }

    /// Stop the search, and forget the trees that were not taken. Iteration then ends; closing again does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.stop(py);
        self.end_watch(py)
    }

    /// How many trees there are so far, as DistinctCounts: those taken and, while the search goes on, the few hundred
    /// that wait to be. What was built is ahead of them.
    #[getter]
    fn counts(&self) -> PyDistinctCounts {
        let (state, progress) = (lock(&self.queue.state), self.board.progress(&self.budget));
        let (built, seconds) = match &state.end {
            Some(SearchEnd::Counted(counts)) => (counts.built, counts.seconds),
            _ => (progress.built, progress.seconds),
        };
        let (distinct, by_size) = (state.by_size.iter().sum(), state.by_size.clone());
        PyDistinctCounts { built: built.max(distinct), distinct, by_size, seconds, status: Self::status_of(&state) }
    }

    /// None while there may be more trees; then "complete", or what ended the search or the iteration before:
    /// "time_limit", "memory_limit" or "interrupted".
    #[getter]
    fn status(&self) -> Option<String> {
        Self::status_of(&lock(&self.queue.state))
    }

    fn __repr__(&self) -> String {
        let counts = self.counts();
        let status = counts.status.unwrap_or("running".into());
        format!("<DistinctTrees: {status}, {} so far>", counts.distinct)
    }
}

impl PyDistinctTrees {
    /// Ends the search.
    fn stop(&self, py: Python<'_>) {
        // A forked child process has the queue, which may be locked, but not the thread.
        if std::process::id() != self.process {
            return;
        }
        {
            let mut state = lock(&self.queue.state);
            state.cut |= state.end.is_none() || !state.trees.is_empty();
            state.closed = true;
            state.trees.clear();
        }
        self.budget.cancel();
        self.queue.room.notify_all();
        self.join(py);
    }

    /// Reports progress if it is time to; an exception ends the search.
    fn report(&self, py: Python<'_>) -> PyResult<()> {
        let reporter = match &mut *lock(&self.watch) {
            Some((reporter, last)) if last.elapsed() >= REPORT => {
                *last = Instant::now();
                reporter.clone() // the callback may call a method of these trees
            }
            _ => return Ok(()),
        };
        let Some(callback) = reporter.callback(py) else { return Ok(()) };
        let told = callback.call1((PySubsetProgress(self.board.progress(&self.budget)),));
        told.map(drop).or_else(|error| self.fail(py, error))
    }

    /// Sends no more progress reports.
    fn end_watch(&self, py: Python<'_>) -> PyResult<()> {
        let watch = lock(&self.watch).take();
        let Some((reporter, _)) = watch else { return Ok(()) };
        reporter.close(py, Some(Bound::new(py, self.counts())?.as_any()))
    }

    /// Ends the search because of what Python raised.
    fn fail(&self, py: Python<'_>, error: PyErr) -> PyResult<()> {
        self.close(py)?;
        Err(self.interrupted(py, error))
    }

    /// Ctrl-C with the counts, or another error as it is.
    fn interrupted(&self, py: Python<'_>, error: PyErr) -> PyErr {
        match Bound::new(py, self.counts()) {
            Ok(counts) => interrupted(py, error, counts.into_any()),
            Err(_) => error,
        }
    }

    /// Starts the search, and returns when it has built a tree: what is wrong with the call is raised here. Where the
    /// system has no more threads it returns when all trees are listed, or as many as there is memory for.
    pub(super) fn start(
        py: Python<'_>,
        data: Dataset,
        checked: Checked,
        (order, ordered): (Order, bool),
        running: &Running,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let reporter = Arc::new(Reporter::of(py, progress)?);
        let (give, take) = sync_channel::<Box<dyn FnOnce() + Send>>(1);
        let wait = move || {
            if let Ok(search) = take.recv() {
                search();
            }
        };
        let thread = std::thread::Builder::new().name("distinct trees".into()).spawn(wait).ok();
        let (signals, budget) = (Signals::default(), checked.budget());
        let budget = running.add(if thread.is_some() { budget } else { signals.heard_by(py, budget)? });
        let queue = Arc::new(TreeQueue::new(data.columns().len(), thread.is_none()));
        let (board, schema) = (Arc::new(Board::new()), data.schema().clone());
        let search = {
            let (queue, budget, board) = (queue.clone(), budget.clone(), board.clone());
            move || {
                let mut refused = false;
                let mut visit = |tree| {
                    refused |= !queue.push(tree, &budget);
                    !refused
                };
                let work = || distinct(&data, &checked, order, ordered, &budget, &board, &mut visit);
                let counts = catch_unwind(AssertUnwindSafe(work));
                let refused = refused.then(|| queue.why_refused(&budget));
                queue.end(SearchEnd::of(counts, refused));
            }
        };
        match &thread {
            // The thread waits for the search that it is to run.
            Some(_) => drop(give.send(Box::new(search))),
            None => py.detach(search),
        }
        let (thread, watch) = (Mutex::new(thread), Mutex::new(Some((reporter, Instant::now()))));
        let trees = PyDistinctTrees { queue, budget, board, schema, thread, process: std::process::id(), watch };
        if let Some(error) = signals.raised() {
            trees.fail(py, error)?;
        }
        while !trees.has_begun() {
            trees.wait(py)?;
        }
        let counted = matches!(lock(&trees.queue.state).end, None | Some(SearchEnd::Counted(_)));
        if counted { Ok(trees) } else { trees.finish(py).map(|()| trees) }
    }

    fn has_begun(&self) -> bool {
        let state = lock(&self.queue.state);
        !state.trees.is_empty() || state.end.is_some() || self.board.progress(&self.budget).built > 0
    }

    /// Waits a little, and looks for signals.
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        if std::process::id() != self.process {
            return Err(PyRuntimeError::new_err("these trees come from a thread that a forked process does not have"));
        }
        py.detach(|| self.queue.wait());
        py.check_signals().or_else(|error| self.fail(py, error))?;
        self.report(py)
    }

    /// Ends the iteration: raises what the search has failed with.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        self.join(py);
        self.end_watch(py)?;
        match &lock(&self.queue.state).end {
            Some(SearchEnd::Failed(error)) => Err(error.clone().into()),
            Some(SearchEnd::Panicked) => Err(panicked()),
            _ => Ok(()),
        }
    }

    fn join(&self, py: Python<'_>) {
        let thread = lock(&self.thread).take();
        if let Some(thread) = thread {
            // The thread has caught panics.
            let _ = py.detach(|| thread.join());
        }
    }

    fn status_of(state: &StreamState) -> Option<String> {
        match &state.end {
            Some(SearchEnd::Counted(counts)) if state.trees.is_empty() => {
                let all = counts.status != Status::Complete || !state.cut;
                Some(if all { counts.status } else { Status::Interrupted }.name().into())
            }
            _ => None,
        }
    }
}

impl Drop for PyDistinctTrees {
    fn drop(&mut self) {
        if std::process::id() == self.process {
            Python::try_attach(|py| {
                self.stop(py);
                drop(self.end_watch(py)); // there is no caller to raise an error to
            });
        }
    }
}
