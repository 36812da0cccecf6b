//! How objects pickle: as a function of this module and plain arguments, or text in JSON.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::error::Error;

/// What `__reduce__` returns: a function, and its arguments.
pub(super) type Reduced<'py> = (Bound<'py, PyAny>, Bound<'py, PyTuple>);

/// Pickles an object as a function of this module and the arguments from which it makes the object again.
pub(super) fn reduced<'py>(
    py: Python<'py>,
    function: &str,
    parts: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error = PyErr>,
) -> PyResult<Reduced<'py>> {
    Ok((py.import("lattree._core")?.getattr(function)?, parts.into_pyobject(py)?))
}

/// JSON for a pickle.
pub(super) fn to_json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("names and finite numbers have a JSON form")
}

/// Reads what [`to_json`] wrote; errors name `what` it is.
pub(super) fn from_json<T: serde::de::DeserializeOwned>(what: &str, text: &str) -> crate::Result<T> {
    serde_json::from_str(text).map_err(|error| Error::BadTree { problem: format!("its {what}: {error}") })
}
