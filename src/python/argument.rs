//! Arguments as Python has them: whole numbers of any size, one name or several.

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;

use crate::error::Error;

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
        match object.extract::<i128>() {
            Ok(value) => Ok(value.into()),
            Err(error) if error.is_instance_of::<PyOverflowError>(object.py()) => {
                Ok(Whole { value: None, text: object.str()?.extract()? })
            }
            Err(error) => Err(error),
        }
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
        object.extract().map(Names::Several).or_else(|_| {
            let got = object.get_type().name()?;
            Err(PyTypeError::new_err(format!("must be a name or a sequence of names, got {got}")))
        })
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
