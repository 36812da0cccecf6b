//! The argument `progress` of a search: nothing, a callback, or a line that is kept up to date.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBool;

/// The receiver of progress reports.
pub(super) struct Reporter {
    call: Option<Py<PyAny>>,
    /// Whether it is a line of `lattree._progress`, which must be closed.
    is_line: bool,
}

impl Reporter {
    /// Reads the argument. If it asks for a line, that is shown from now on.
    pub(super) fn of(py: Python<'_>, progress: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let (call, is_line) = match progress {
            None => (None, false),
            Some(given) => match given.cast::<PyBool>() {
                Ok(wanted) if wanted.is_true() => {
                    (Some(py.import("lattree._progress")?.getattr("Line")?.call0()?.unbind()), true)
                }
                Ok(_) => (None, false),
                Err(_) if given.is_callable() => (Some(given.clone().unbind()), false),
                Err(_) => {
                    let got = given.get_type().name()?;
                    let expected = "True, False, a callable or None";
                    return Err(PyTypeError::new_err(format!("`progress` must be {expected}, got {got}")));
                }
            },
        };
        Ok(Reporter { call, is_line })
    }

    /// The function to be called with reports.
    pub(super) fn callback<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        self.call.as_ref().map(|call| call.bind(py).clone())
    }

    /// Closes the line, with a summary of the result if there is one.
    pub(super) fn close(&self, py: Python<'_>, result: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        match &self.call {
            Some(line) if self.is_line => line.bind(py).call_method1("close", (result,)).map(drop),
            _ => Ok(()),
        }
    }

    /// Passes the outcome of a search on, and closes the line.
    pub(super) fn closed<'py, T>(&self, outcome: PyResult<Bound<'py, T>>, py: Python<'py>) -> PyResult<Bound<'py, T>> {
        let closed = self.close(py, outcome.as_ref().ok().map(|result| result.as_any()));
        outcome.and_then(|result| closed.map(|()| result))
    }
}
