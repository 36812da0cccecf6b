//! Names as [`crate::names`] prints them, for what Python prints.

use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::names::{Of, quoted, quoted_utf16, shown};

/// A name in double quotes, with what does not show escaped.
#[pyfunction]
#[pyo3(signature = (name, /))]
pub(super) fn _quoted(name: &Bound<'_, PyString>) -> PyResult<String> {
    match name.to_str() {
        Ok(name) => Ok(quoted(name)),
        Err(_) => {
            // Half of a pair of UTF-16, which no text in Rust can hold.
            let bytes: Vec<u8> = name.call_method1("encode", ("utf-16-le", "surrogatepass"))?.extract()?;
            let units = bytes.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
            Ok(quoted_utf16(&units.collect::<Vec<_>>()))
        }
    }
}

/// A name of a column, or of a class, as it stands in trees: in quotes only where it could be misread.
#[pyfunction]
#[pyo3(signature = (name, /, *, is_class=false))]
pub(super) fn _shown(name: &Bound<'_, PyString>, is_class: bool) -> PyResult<String> {
    match name.to_str() {
        Ok(name) => Ok(shown(name, if is_class { Of::Class } else { Of::Column }).into_owned()),
        Err(_) => _quoted(name),
    }
}
