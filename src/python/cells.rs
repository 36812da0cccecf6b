//! A whole two-dimensional array as typed columns, in one pass.

use numpy::ndarray::Axis;
use numpy::{Element, PyReadonlyArray2};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::data::{Column, Feature, Kind, Number};

/// `_frames.Cells`.
#[derive(FromPyObject)]
pub(super) struct EncodedCells<'py> {
    array: Bound<'py, PyAny>,
    columns: Vec<String>,
    dtype: String,
}

/// Rows copied at a time: few enough to stay in the cache.
const BLOCK: usize = 256;

impl EncodedCells<'_> {
    /// Copies the array. O(cells).
    pub(super) fn decode(self) -> PyResult<(Vec<Feature>, Vec<Column>)> {
        if self.dtype == "Boolean" {
            return self.decode_booleans();
        }
        let (kind, columns) = numbers(&self.array, &self.dtype, None)?;
        let feature = |name| Feature { name, kind: Kind::Continuous(kind), dtype: self.dtype.clone() };
        Ok((self.columns.into_iter().map(feature).collect(), columns))
    }

    /// The levels are those that occur.
    fn decode_booleans(self) -> PyResult<(Vec<Feature>, Vec<Column>)> {
        let bytes = self.array.call_method1("view", ("uint8",))?; // a bool that is neither 0 nor 1 is none for Rust
        let columns = copied(&bytes, None, |byte: u8| u32::from(byte != 0))?;
        let decode = |(mut codes, name): (Vec<u32>, String)| {
            let levels = [false, true].map(|level| codes.contains(&u32::from(level)).then(|| level.to_string()));
            if levels[0].is_none() {
                codes.fill(0);
            }
            let kind = Kind::Nominal(levels.into_iter().flatten().collect());
            (Feature { name, kind, dtype: self.dtype.clone() }, Column::Levels { codes, unseen: Vec::new() })
        };
        Ok(columns.into_iter().zip(self.columns).map(decode).unzip())
    }
}

/// The columns of an array of numbers, or those at some positions; `dtype` is the text of its polars dtype.
pub(super) fn numbers(
    array: &Bound<'_, PyAny>,
    dtype: &str,
    positions: Option<&[u32]>,
) -> PyResult<(Number, Vec<Column>)> {
    fn floats<T: Element + Copy>(
        (array, positions): (&Bound<'_, PyAny>, Option<&[u32]>),
        float: impl Fn(T) -> f64,
    ) -> PyResult<(Number, Vec<Column>)> {
        Ok((Number::Float, copied(array, positions, float)?.into_iter().map(Column::Floats).collect()))
    }
    fn integers<T: Element + Copy>(
        (array, positions): (&Bound<'_, PyAny>, Option<&[u32]>),
        integer: impl Fn(T) -> i64,
    ) -> PyResult<(Number, Vec<Column>)> {
        let columns = copied(array, positions, integer)?;
        Ok((Number::Integer, columns.into_iter().map(|values| Column::Integers { values, missing: None }).collect()))
    }
    let cells = (array, positions);
    match dtype {
        "Float32" => floats(cells, f32::into),
        "Float64" => floats(cells, |x: f64| x),
        "Int8" => integers(cells, i8::into),
        "Int16" => integers(cells, i16::into),
        "Int32" => integers(cells, i32::into),
        "Int64" => integers(cells, |x: i64| x),
        "UInt8" => integers(cells, u8::into),
        "UInt16" => integers(cells, u16::into),
        "UInt32" => integers(cells, u32::into),
        "UInt64" => integers(cells, |x: u64| x as i64), // `_frames` checked the range
        dtype => Err(PyTypeError::new_err(format!("unknown dtype {dtype:?} of an array"))),
    }
}

/// The columns of an array, or those at some positions.
fn copied<T: Element + Copy, U: Copy + Default>(
    array: &Bound<'_, PyAny>,
    positions: Option<&[u32]>,
    value: impl Fn(T) -> U,
) -> PyResult<Vec<Vec<U>>> {
    let array: PyReadonlyArray2<'_, T> = array.extract()?;
    let cells = array.as_array();
    let (n_rows, n_columns) = cells.dim();
    let positions: Vec<usize> = match positions {
        None => (0..n_columns).collect(),
        Some(positions) => positions.iter().map(|&position| position as usize).collect(),
    };
    if let Some(cells) = cells.t().as_slice() {
        let column = |&position: &usize| cells[position * n_rows..][..n_rows].iter().map(|&cell| value(cell)).collect();
        return Ok(positions.iter().map(column).collect());
    }
    // Zeros first: what is in the cache already, in order, takes scattered writes at a third of the time.
    let mut columns: Vec<Vec<U>> = positions.iter().map(|_| vec![U::default(); n_rows]).collect();
    for (index, block) in cells.axis_chunks_iter(Axis(0), BLOCK).enumerate() {
        let block = block.as_standard_layout(); // copies only what is not in the order of rows
        let rows = block.as_slice().expect("the standard layout is a slice");
        for (&position, to) in positions.iter().zip(&mut columns) {
            let cells = rows[position..].iter().step_by(n_columns);
            to[index * BLOCK..].iter_mut().zip(cells).for_each(|(to, &cell)| *to = value(cell));
        }
    }
    Ok(columns)
}
