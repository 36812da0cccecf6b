//! Python exceptions: the conversion from [`Error`], so that `?` works in every method.

use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};

use crate::error::Error;

static DATA: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static PARAMETER: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static TREE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static INTERRUPTED: PyOnceLock<Py<PyType>> = PyOnceLock::new();

const INTERRUPTED_DOC: &str = "\
Ctrl-C ended a search; what it had found is in `result`.

A KeyboardInterrupt, and no LattreeError: what handles errors lets it pass.

Attributes
----------
result : OptimalResult, GreedyResult, SubsetResult, DistinctCounts, or what the functions of lattree.experiments return
    What ``on_interrupt=\"return\"`` would have returned, with ``status == \"interrupted\"``; of trees that were being
    listed, how many there were; of experiments, the folds that were done. None if there was nothing yet.
";

/// Adds the exceptions to the module. Each also derives from the built-in exception that a caller would expect.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let base = add_class(module, "LattreeError", "Any error of lattree.", &[py.get_type::<PyException>()])?;
    for (cell, name, doc) in [
        (&DATA, "DataError", "These columns, labels or rows cannot be used; the text says which, and why."),
        (&PARAMETER, "ParameterError", "A parameter is out of range; the text names it and what would be accepted."),
        (&TREE, "TreeError", "This is no tree, or one of a format that this version does not know."),
    ] {
        let class = add_class(module, name, doc, &[base.clone(), py.get_type::<PyValueError>()])?;
        // If the module is imported a second time in one process, the first class is kept.
        let _ = cell.set(py, class.unbind());
    }
    let class = add_class(module, "Interrupted", INTERRUPTED_DOC, &[py.get_type::<PyKeyboardInterrupt>()])?;
    class.setattr("result", py.None())?;
    let _ = INTERRUPTED.set(py, class.unbind());
    Ok(())
}

fn add_class<'py>(
    module: &Bound<'py, PyModule>,
    name: &str,
    doc: &str,
    bases: &[Bound<'py, PyType>],
) -> PyResult<Bound<'py, PyType>> {
    let py = module.py();
    let body = PyDict::new(py);
    body.set_item("__module__", "lattree")?;
    body.set_item("__doc__", doc)?;
    let class = py.get_type::<PyType>().call1((name, PyTuple::new(py, bases)?, body))?.cast_into::<PyType>()?;
    module.add(name, &class)?;
    Ok(class)
}

/// Ctrl-C, with what the search had found by then. What a signal handler or a callback has raised of its own kind stays
/// what it is.
pub(super) fn interrupted<'py>(py: Python<'py>, error: PyErr, result: Bound<'py, PyAny>) -> PyErr {
    let Some(class) = INTERRUPTED.get(py).filter(|_| error.get_type(py).is(py.get_type::<PyKeyboardInterrupt>()))
    else {
        return error;
    };
    let new = PyErr::from_type(class.bind(py).clone(), "what the search had found is in `.result` of this exception");
    new.set_traceback(py, error.traceback(py));
    // A KeyboardInterrupt that a callback has raised may carry a message.
    if error.value(py).getattr("args").and_then(|args| args.is_truthy()).unwrap_or(false) {
        new.set_cause(py, Some(error.clone_ref(py)));
    }
    match new.value(py).setattr("result", result) {
        Ok(()) => new,
        Err(_) => error,
    }
}

fn raise(cell: &PyOnceLock<Py<PyType>>, text: String) -> PyErr {
    Python::attach(|py| match cell.get(py) {
        Some(class) => PyErr::from_type(class.bind(py).clone(), text),
        None => PyValueError::new_err(text),
    })
}

impl From<Error> for PyErr {
    fn from(error: Error) -> PyErr {
        let text = error.to_string();
        match error {
            Error::InvalidParameter { .. } => raise(&PARAMETER, text),
            Error::BadTree { .. } | Error::UnsupportedTree { .. } => raise(&TREE, text),
            _ => raise(&DATA, text),
        }
    }
}

/// The values that a parameter may have, in words.
pub(super) fn any_of(accepted: &[&str]) -> String {
    let values = accepted.iter().map(|a| format!("{a:?}")).collect::<Vec<_>>().join(", ");
    if accepted.len() == 1 { values } else { format!("one of {values}") }
}

/// A parameter that has none of the values it may have.
pub(super) fn one_of(name: &'static str, accepted: &[&str], got: &str) -> PyErr {
    Error::InvalidParameter { name, expected: any_of(accepted), got: format!("{got:?}") }.into()
}
