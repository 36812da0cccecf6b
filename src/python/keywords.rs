//! Objects that their keyword arguments make again: how they print, and how they pickle.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// The arguments that make `object` again: for each name what its getter says.
fn keywords<'py, T>(object: &Bound<'py, T>, names: &[&str]) -> PyResult<Bound<'py, PyDict>> {
    let keywords = PyDict::new(object.py());
    for name in names {
        keywords.set_item(name, object.as_any().getattr(*name)?)?;
    }
    Ok(keywords)
}

/// The call that makes `object` again.
pub(super) fn repr<T>(object: &Bound<'_, T>, names: &[&str]) -> PyResult<String> {
    let keywords = keywords(object, names)?;
    let shown = keywords.iter().map(|(name, value)| Ok(format!("{name}={}", value.repr()?)));
    let class = object.as_any().get_type().name()?;
    Ok(format!("{class}({})", shown.collect::<PyResult<Vec<_>>>()?.join(", ")))
}

/// What pickle calls the class with.
pub(super) type NewArguments<'py> = (Bound<'py, PyTuple>, Bound<'py, PyDict>);

/// What `__getnewargs_ex__` returns.
pub(super) fn new_arguments<'py, T>(object: &Bound<'py, T>, names: &[&str]) -> PyResult<NewArguments<'py>> {
    Ok((PyTuple::empty(object.py()), keywords(object, names)?))
}
