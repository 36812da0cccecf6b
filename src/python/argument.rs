//! Arguments as Python has them: whole numbers of any size, real numbers, one name or several, named choices.
//!
//! Errors of types begin with "must be"; callers put the name of the argument in front.

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString};

use super::error::one_of;
use crate::error::Error;

/// The error for an argument of another type than `expected`. It shows a short value as it is, of others the type.
pub(super) fn wrong_type(expected: &str, got: Borrowed<'_, '_, PyAny>) -> PyErr {
    const SHORT: usize = 40;
    let is_plain = got.is_none()
        || got.is_instance_of::<PyBool>()
        || got.is_instance_of::<PyInt>()
        || got.is_instance_of::<PyFloat>()
        || got.is_instance_of::<PyString>();
    let shown = if is_plain { got.repr().ok().map(|text| text.to_string()) } else { None };
    let shown = shown.filter(|text| text.chars().count() <= SHORT);
    let kind =
        || got.get_type().name().map_or_else(|_| "another object".into(), |name| format!("a value of type {name}"));
    PyTypeError::new_err(format!("must be {expected}, got {}", shown.unwrap_or_else(kind)))
}

/// Whether an object is a boolean, of Python or numpy: these pass as numbers, and are mistakes.
fn is_boolean(object: Borrowed<'_, '_, PyAny>) -> PyResult<bool> {
    let name = object.get_type().name()?;
    Ok(name == "bool" || name == "bool_")
}

/// An argument that must be a whole number.
pub(super) struct Whole {
    /// `None` beyond 128 bits.
    value: Option<i128>,
    text: String,
}

impl From<i128> for Whole {
    fn from(value: i128) -> Self {
        Whole { value: Some(value), text: value.to_string() }
    }
}

impl<'py> FromPyObject<'_, 'py> for Whole {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if is_boolean(object)? {
            return Err(wrong_type("a whole number", object));
        }
        match object.extract::<i128>() {
            Ok(value) => Ok(value.into()),
            Err(error) if error.is_instance_of::<PyOverflowError>(object.py()) => {
                Ok(Whole { value: None, text: object.str()?.extract()? })
            }
            Err(_) => Err(wrong_type("a whole number", object)),
        }
    }
}

/// An argument that must be a real number.
pub(super) struct Real(pub(super) f64);

impl<'py> FromPyObject<'_, 'py> for Real {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.extract() {
            Ok(value) if !is_boolean(object)? => Ok(Real(value)),
            _ => Err(wrong_type("a number", object)),
        }
    }
}

/// An argument that must be true or false.
pub(super) struct Flag(pub(super) bool);

impl<'py> FromPyObject<'_, 'py> for Flag {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        object.extract().map(Flag).map_err(|_| wrong_type("True or False", object))
    }
}

impl Whole {
    /// The number, if it is not below `least` and fits the type; else an error that says what is expected.
    pub(super) fn at_least<T>(self, least: T, name: &'static str, expected: &str) -> Result<T, Error>
    where
        T: Copy + PartialOrd + TryFrom<i128>,
    {
        let value = self.value.and_then(|value| T::try_from(value).ok()).filter(|value| *value >= least);
        value.ok_or_else(|| Error::InvalidParameter { name, expected: expected.into(), got: self.text })
    }
}

/// One name, or several in order.
pub(super) enum Names {
    One(String),
    Several(Vec<String>),
}

impl<'py> FromPyObject<'_, 'py> for Names {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(name) = object.extract() {
            return Ok(Names::One(name));
        }
        object.extract().map(Names::Several).map_err(|_| wrong_type("a name or a sequence of names", object))
    }
}

impl Names {
    pub(super) fn list(self) -> Vec<String> {
        match self {
            Names::One(name) => vec![name],
            Names::Several(names) => names,
        }
    }
}

/// The value of a choice that is given by its name.
pub(super) fn choice<T: Copy>(name: &'static str, choices: &[(&str, T)], got: &str) -> PyResult<T> {
    choices
        .iter()
        .find(|(text, _)| *text == got)
        .map(|(_, value)| *value)
        .ok_or_else(|| one_of(name, &choices.iter().map(|(text, _)| *text).collect::<Vec<_>>(), got))
}

/// The name of a choice.
pub(super) fn name_of<T: PartialEq>(choices: &[(&'static str, T)], value: &T) -> &'static str {
    choices.iter().find(|(_, v)| v == value).map_or("", |(text, _)| text)
}
