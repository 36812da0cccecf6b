//! A two-dimensional array as a whole: copied into typed columns in one pass, or read in place as rows to predict for.

use numpy::ndarray::Axis;
use numpy::{Element, PyReadonlyArray2};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::data::{Column, Feature, Kind, NumericType};
use crate::tree::{NumberArray, Rows};

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
        let (kind, columns) = match self.dtype.as_str() {
            "Boolean" => return self.decode_booleans(),
            "Float32" => (NumericType::Float, self.floats(f32::into)?),
            "Float64" => (NumericType::Float, self.floats(|x: f64| x)?),
            "Int8" => (NumericType::Integer, self.integers(i8::into)?),
            "Int16" => (NumericType::Integer, self.integers(i16::into)?),
            "Int32" => (NumericType::Integer, self.integers(i32::into)?),
            "Int64" => (NumericType::Integer, self.integers(|x: i64| x)?),
            "UInt8" => (NumericType::Integer, self.integers(u8::into)?),
            "UInt16" => (NumericType::Integer, self.integers(u16::into)?),
            "UInt32" => (NumericType::Integer, self.integers(u32::into)?),
            "UInt64" => (NumericType::Integer, self.integers(|x: u64| x as i64)?), // `_frames` checked the range
            dtype => return Err(PyTypeError::new_err(format!("unknown dtype {dtype:?} of an array"))),
        };
        let feature = |name| Feature { name, kind: Kind::Continuous(kind), dtype: self.dtype.clone() };
        Ok((self.columns.into_iter().map(feature).collect(), columns))
    }

    fn floats<T: Element + Copy>(&self, float: impl Fn(T) -> f64) -> PyResult<Vec<Column>> {
        Ok(copied(&self.array, float)?.into_iter().map(Column::Floats).collect())
    }

    fn integers<T: Element + Copy>(&self, integer: impl Fn(T) -> i64) -> PyResult<Vec<Column>> {
        let columns = copied(&self.array, integer)?;
        Ok(columns.into_iter().map(|values| Column::Integers { values, missing: None }).collect())
    }

    /// The levels are those that occur.
    fn decode_booleans(self) -> PyResult<(Vec<Feature>, Vec<Column>)> {
        let bytes = self.array.call_method1("view", ("uint8",))?; // a byte that is neither 0 nor 1 is not a valid bool in Rust
        let columns = copied(&bytes, |byte: u8| u32::from(byte != 0))?;
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

/// Calls `work` with the rows of an array that `_frames.exact_floats` let pass; `dtype` is what it said.
pub(super) fn with_rows<R>(
    array: &Bound<'_, PyAny>,
    dtype: &str,
    work: impl FnOnce(&dyn Rows) -> PyResult<R>,
) -> PyResult<R> {
    fn read<T: Element + Copy + Into<f64> + Sync, R>(
        array: &Bound<'_, PyAny>,
        work: impl FnOnce(&dyn Rows) -> PyResult<R>,
    ) -> PyResult<R> {
        let array: PyReadonlyArray2<'_, T> = array.extract()?;
        let (cells, (n_rows, n_columns)) = (array.as_array(), array.as_array().dim());
        let (slice, by_row) = match cells.as_slice() {
            Some(slice) => (Some(slice), true),
            None => (cells.t().to_slice(), false),
        };
        let slice = slice.ok_or_else(|| PyTypeError::new_err("the array is not contiguous"))?;
        work(&NumberArray::new(slice, n_rows, n_columns, by_row)?)
    }
    match dtype {
        "Float32" => read::<f32, R>(array, work),
        "Float64" => read::<f64, R>(array, work),
        "Int8" => read::<i8, R>(array, work),
        "Int16" => read::<i16, R>(array, work),
        "Int32" => read::<i32, R>(array, work),
        "UInt8" => read::<u8, R>(array, work),
        "UInt16" => read::<u16, R>(array, work),
        "UInt32" => read::<u32, R>(array, work),
        dtype => Err(PyTypeError::new_err(format!("unknown dtype {dtype:?} of an array"))),
    }
}

/// The columns of an array.
fn copied<T: Element + Copy, U: Copy + Default>(
    array: &Bound<'_, PyAny>,
    value: impl Fn(T) -> U,
) -> PyResult<Vec<Vec<U>>> {
    let array: PyReadonlyArray2<'_, T> = array.extract()?;
    let cells = array.as_array();
    let (n_rows, n_columns) = cells.dim();
    if let Some(cells) = cells.t().as_slice() {
        return Ok(cells.chunks_exact(n_rows).map(|column| column.iter().map(|&cell| value(cell)).collect()).collect());
    }
    // Filled with zeros first: scattered writes to memory that is in the cache take a third of the time.
    let mut columns: Vec<Vec<U>> = (0..n_columns).map(|_| vec![U::default(); n_rows]).collect();
    for (index, block) in cells.axis_chunks_iter(Axis(0), BLOCK).enumerate() {
        let block = block.as_standard_layout(); // copies only what is not in the order of rows
        let rows = block.as_slice().expect("the standard layout is a slice");
        for (column, to) in columns.iter_mut().enumerate() {
            let cells = rows[column..].iter().step_by(n_columns);
            to[index * BLOCK..].iter_mut().zip(cells).for_each(|(to, &cell)| *to = value(cell));
        }
    }
    Ok(columns)
}
