//! Objects that their keyword arguments make: how these are read, and how they print and pickle.

use std::ffi::CString;

use pyo3::PyTypeInfo;
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::{PyDeprecationWarning, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};

use super::argument::{Flag, Real, Whole, choice, wrong_type};
use super::error::any_of;

/// The keywords of a call that are not read yet. Each is taken once, so that what is left is unknown.
pub(super) struct Keywords<'py> {
    class: Bound<'py, PyType>,
    given: Bound<'py, PyDict>,
}

impl<'py> Keywords<'py> {
    /// Of the constructor of `T`, which takes nothing but keywords.
    pub(super) fn new<T: PyTypeInfo>(
        positional: &Bound<'py, PyTuple>,
        given: Option<Bound<'py, PyDict>>,
    ) -> PyResult<Self> {
        let py = positional.py();
        let class = py.get_type::<T>();
        if !positional.is_empty() {
            return Err(explanation(&class, "positional", positional.as_any()));
        }
        // A copy: callers in C may pass a dict of their own, which they use again.
        let given = given.map_or_else(|| Ok(PyDict::new(py)), |given| given.copy())?;
        Ok(Keywords { class, given })
    }

    pub(super) fn get<T: FromPyObjectOwned<'py>>(&self, name: &str) -> PyResult<Option<T>> {
        let Some(value) = self.given.get_item(name)? else { return Ok(None) };
        self.given.del_item(name)?;
        let read = value.extract().map(Some).map_err(Into::into);
        read.map_err(|error| named(value.py(), name, error))
    }

    /// Takes an earlier word for a choice as the present one, with a warning.
    pub(super) fn rename(&self, name: &str, earlier: &str, word: &str) -> PyResult<()> {
        let Some(given) = self.given.get_item(name)? else { return Ok(()) };
        if given.is_instance_of::<PyString>() && given.eq(earlier)? {
            let py = given.py();
            let text = format!("`{name}=\"{earlier}\"` is now called \"{word}\"");
            PyErr::warn(py, &py.get_type::<PyDeprecationWarning>(), &CString::new(text)?, 1)?;
            self.given.set_item(name, word)?;
        }
        Ok(())
    }

    pub(super) fn choice<T: Copy>(&self, name: &'static str, choices: &[(&str, T)], default: T) -> PyResult<T> {
        let Some(given) = self.get::<Bound<'_, PyAny>>(name)? else { return Ok(default) };
        match given.cast::<PyString>() {
            Ok(word) => choice(name, choices, &word.to_string_lossy()),
            Err(_) => {
                let accepted: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
                Err(named(given.py(), name, wrong_type(&any_of(&accepted), given.as_borrowed())))
            }
        }
    }

    /// A whole number from `least` on.
    pub(super) fn whole<T>(&self, name: &'static str, default: T, least: T, expected: &str) -> PyResult<T>
    where
        T: Copy + PartialOrd + TryFrom<i128>,
    {
        Ok(self.get::<Whole>(name)?.map_or(Ok(default), |n| n.at_least(least, name, expected))?)
    }

    /// A whole number that may be `None`: no limit.
    pub(super) fn limit<T>(&self, name: &'static str, least: T) -> PyResult<Option<T>>
    where
        T: Copy + PartialOrd + std::fmt::Display + TryFrom<i128>,
    {
        let given = self.get::<Option<Whole>>(name)?.flatten();
        Ok(given.map(|n| n.at_least(least, name, &format!("at least {least}, or None"))).transpose()?)
    }

    pub(super) fn real(&self, name: &str, default: f64) -> PyResult<f64> {
        Ok(self.get::<Real>(name)?.map_or(default, |Real(value)| value))
    }

    pub(super) fn flag(&self, name: &str, default: bool) -> PyResult<bool> {
        Ok(self.get::<Flag>(name)?.map_or(default, |Flag(value)| value))
    }

    /// Refuses what was not read.
    pub(super) fn end(self) -> PyResult<()> {
        refuse(&self.class, Some(&self.given))
    }
}

/// Puts the name of an argument before what is wrong with its type.
pub(super) fn named(py: Python<'_>, name: &str, error: PyErr) -> PyErr {
    match error.is_instance_of::<PyTypeError>(py) {
        true => PyTypeError::new_err(format!("`{name}` {}", error.value(py))),
        false => error,
    }
}

/// Refuses keywords that a class does not have, and suggests one that it has.
pub(super) fn refuse(class: &Bound<'_, PyType>, unknown: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
    match unknown.and_then(|unknown| unknown.keys().iter().next()) {
        Some(name) => Err(explanation(class, "unexpected", &name)),
        None => Ok(()),
    }
}

/// What `lattree._calls` says about a wrong call, as it does for functions and methods.
fn explanation(class: &Bound<'_, PyType>, of: &str, about: &Bound<'_, PyAny>) -> PyErr {
    let explain = || class.py().import("lattree._calls")?.getattr(of)?.call1((class, about));
    explain().map_or_else(|error| error, PyErr::from_value)
}

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
