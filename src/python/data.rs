//! `Dataset`.

use std::sync::Arc;

use numpy::PyReadonlyArray1;
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PySlice, PyTuple};

use super::argument::{Flag, Names, Real, Whole};
use super::encoded::{decode, encode, encode_costs, encode_target, table_module};
use super::keywords::refuse;
use super::schema::{PySchema, of_table, schema_json, schema_of_json};
use super::tree::PyTree;
use crate::data::{Dataset, Schema};

/// A table: typed columns, a target, repetitions, weights, and what labels cost in each row.
///
/// Parameters
/// ----------
/// table : polars or pandas DataFrame, pyarrow Table, object with ``__arrow_c_stream__``, or mapping of columns
///     Shape (n_rows, any). A pandas index is ignored. For arrays see :meth:`Dataset.from_arrays`.
/// target : str, array-like of shape (n_rows,), or None
///     The column to predict, or the labels themselves. None: a table to predict on (with `like`, the target is taken
///     from the table if it is there).
/// task : {"classes", "numbers"} or None, default=None
///     None: floats that are not all whole mean numbers, everything else means classes.
/// nominal : sequence of str, default=()
///     Columns to be taken as named levels without order, whatever their dtype.
/// ordinal : mapping of str to sequence, or sequence of str, default=()
///     Columns to be taken as ordered levels: in the order given, else in the order of the Enum or the values.
/// counts : str, array-like of shape (n_rows,), or None, default=None
///     Repetitions: integers >= 0. They count toward rows, `min_cases` and `min_leaf`. 0 means absent.
/// weight : str, array-like of shape (n_rows,), or None, default=None
///     Weights: finite, >= 0. They enter only gains and objectives. 0 means absent.
/// drop : sequence of str, default=()
///     Columns to leave out. They, and all that `like` does not know, may hold anything: they are not converted.
/// like : Dataset, Schema, Tree or None, default=None
///     Map columns by name, and levels as they are written, onto this schema. `nominal` and `ordinal` must agree with
///     it.
/// max_missing : float or None, default=None
///     Leave out columns of which a larger share of rows than this, from 0 to 1, is missing. None: keep all. With
///     `like` the columns are those that it has.
/// costs : sequence of str, frame, array-like of shape (n_rows, n_labels), mapping, or None, default=None
///     What each label costs in each row: finite numbers of any sign, which searches with ``objective="costs"``
///     minimise. Names of columns of the table, which are no features then; or a frame; or a mapping of label to column
///     or values. Columns are named by label: there is one for each class, matched by text, and others are labels of
///     their own, which only leaves have. An array has a column for each class, in their order; without a target labels
///     are "0", "1", ... None: rows have no costs of their own. With `like` costs are not needed.
/// rewards : as `costs`, default=None
///     What each label is worth in each row: the same with the opposite sign. :class:`PolicyTreeSearch` maximises them.
///
/// Notes
/// -----
/// Kinds follow from dtypes: floats, integers, dates and times are continuous; strings, categoricals and booleans
/// nominal; enums ordinal. Integers, instants, durations and times of day are exact; decimals are read as 64-bit
/// floats. Null and NaN are missing; infinities are ordinary values.
///
/// A column of strings that are numbers but for ``NA``, ``N/A``, ``NaN``, ``null``, ``None``, ``?``, an empty cell and
/// the like is a column of numbers, and these are missing; ``print(data)`` says so. Under `nominal` they are levels.
///
/// With `like`, booleans match ``True`` and ``False``, ``true`` and ``false``, 1 and 0, as values and as text. A
/// ``UserWarning`` names a column with a level that is not in `like`, the level and the number of rows. Another says
/// that a target of more than 20 different whole numbers was taken for classes, if `task` does not. Complexity:
/// O(cells), plus sorting the distinct levels.
///
/// Raises
/// ------
/// DataError
///     A name is unknown or occurs twice, a cell, label or cost cannot be used: the text names column, row and value.
/// ParameterError
///     `task` is unknown, kinds are given that contradict `like`, or there are `costs` and `rewards`.
/// TypeError
///     `table` is no table with column names.
#[pyclass(frozen, module = "lattree", name = "Dataset")]
pub struct PyDataset(pub(super) Dataset);

/// The schema that `like` refers to.
fn schema_of(like: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Arc<Schema>>> {
    let Some(like) = like else { return Ok(None) };
    if let Ok(data) = like.cast::<PyDataset>() {
        return Ok(Some(data.get().0.schema().clone()));
    }
    if let Ok(schema) = like.cast::<PySchema>() {
        return Ok(Some(of_table(&schema.get().0)));
    }
    if let Ok(tree) = like.cast::<PyTree>() {
        return Ok(Some(of_table(tree.get().0.schema())));
    }
    Err(PyTypeError::new_err("`like` must be a Dataset, a Schema, a Tree or None"))
}

#[pymethods]
impl PyDataset {
    #[new]
    #[pyo3(signature = (table, target=None, *, task=None, nominal=None, ordinal=None, counts=None, weight=None, drop=None, like=None, max_missing=None, costs=None, rewards=None, **unknown))]
    #[pyo3(
        text_signature = "(table, target=None, *, task=None, nominal=(), ordinal=(), counts=None, weight=None, drop=(), like=None, max_missing=None, costs=None, rewards=None)"
    )]
    #[allow(clippy::too_many_arguments)] // they are Python's keyword arguments
    fn new(
        py: Python<'_>,
        table: &Bound<'_, PyAny>,
        target: Option<&Bound<'_, PyAny>>,
        task: Option<&str>,
        nominal: Option<&Bound<'_, PyAny>>,
        ordinal: Option<&Bound<'_, PyAny>>,
        counts: Option<&Bound<'_, PyAny>>,
        weight: Option<&Bound<'_, PyAny>>,
        drop: Option<&Bound<'_, PyAny>>,
        like: Option<&Bound<'_, PyAny>>,
        max_missing: Option<&Bound<'_, PyAny>>,
        costs: Option<&Bound<'_, PyAny>>,
        rewards: Option<&Bound<'_, PyAny>>,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        refuse(&py.get_type::<Self>(), unknown)?;
        let schema = schema_of(like)?;
        let options = options(py, task, nominal, ordinal, counts, weight, &schema)?;
        options.set_item("max_missing", max_missing)?;
        options.set_item("costs", costs)?;
        options.set_item("rewards", rewards)?;
        options.set_item("drop", or_empty(py, drop))?;
        let encoded = table_module(py)?.getattr("encode")?.call((table, target), Some(&options))?;
        Ok(PyDataset(decode(&encoded, schema)?))
    }

    /// Make a dataset of a two-dimensional array.
    ///
    /// Parameters
    /// ----------
    /// X : array-like of shape (n_rows, n_features)
    ///     A numpy array of any dtype, or a list of rows.
    /// y : array-like of shape (n_rows,) or (n_rows, 1), or None
    ///     The labels.
    /// feature_names : sequence of str or None, default=None
    ///     None: ``x0``, ``x1``, ...; with `like` the names there.
    ///
    /// The other parameters, and errors, are those of :class:`Dataset`.
    #[staticmethod]
    #[pyo3(signature = (X, y=None, feature_names=None, *, task=None, nominal=None, ordinal=None, counts=None, weight=None, like=None, max_missing=None, costs=None, rewards=None))]
    #[pyo3(
        text_signature = "(X, y=None, feature_names=None, *, task=None, nominal=(), ordinal=(), counts=None, weight=None, like=None, max_missing=None, costs=None, rewards=None)"
    )]
    #[allow(clippy::too_many_arguments, non_snake_case)]
    fn from_arrays(
        py: Python<'_>,
        X: &Bound<'_, PyAny>,
        y: Option<&Bound<'_, PyAny>>,
        feature_names: Option<&Bound<'_, PyAny>>,
        task: Option<&str>,
        nominal: Option<&Bound<'_, PyAny>>,
        ordinal: Option<&Bound<'_, PyAny>>,
        counts: Option<&Bound<'_, PyAny>>,
        weight: Option<&Bound<'_, PyAny>>,
        like: Option<&Bound<'_, PyAny>>,
        max_missing: Option<&Bound<'_, PyAny>>,
        costs: Option<&Bound<'_, PyAny>>,
        rewards: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let schema = schema_of(like)?;
        let options = options(py, task, nominal, ordinal, counts, weight, &schema)?;
        options.set_item("max_missing", max_missing)?;
        options.set_item("costs", costs)?;
        options.set_item("rewards", rewards)?;
        let encoded = table_module(py)?.getattr("encode_arrays")?.call((X, y, feature_names), Some(&options))?;
        Ok(PyDataset(decode(&encoded, schema)?))
    }

    /// Names, kinds and levels of the columns, and what is to be predicted.
    #[getter]
    fn schema(&self) -> PySchema {
        PySchema(self.0.schema().clone())
    }

    /// What is to be predicted: a polars Series in the values and dtype it came with, or None.
    #[getter]
    fn target<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let target = encode_target(py, &self.0)?;
        target.map(|target| table_module(py)?.getattr("decode_target")?.call1((target,))).transpose()
    }

    /// What each label costs in each row: a polars DataFrame with a column per label, named by its text, or None.
    /// Rewards are costs with the opposite sign.
    #[getter]
    fn costs<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let costs = encode_costs(py, &self.0)?;
        costs.map(|costs| table_module(py)?.getattr("decode_costs")?.call1((costs,))).transpose()
    }

    /// How many rows there are, repetitions not counted.
    #[getter]
    fn n_rows(&self) -> usize {
        self.0.n_rows()
    }

    /// How many columns tests may ask about.
    #[getter]
    fn n_features(&self) -> usize {
        self.0.columns().len()
    }

    fn __len__(&self) -> usize {
        self.0.n_rows()
    }

    /// The rows given, in that order; a row may occur more than once.
    ///
    /// Parameters
    /// ----------
    /// rows : array-like of int, or slice
    ///     Zero-based; negative ones count from the end. A slice is that of a list.
    ///
    /// Raises
    /// ------
    /// IndexError
    ///     A row does not exist.
    /// TypeError
    ///     `rows` are no whole numbers.
    fn take(&self, py: Python<'_>, rows: &Bound<'_, PyAny>) -> PyResult<Self> {
        let numpy = py.import("numpy")?;
        let given = rows;
        let rows = match given.cast::<PySlice>() {
            Ok(slice) => numpy.getattr("arange")?.call1((self.0.n_rows(),))?.get_item(slice)?,
            Err(_) => numpy.getattr("asarray")?.call1((given,))?,
        };
        if rows.getattr("ndim")?.extract::<usize>()? != 1 {
            let text = format!("`rows` must be a sequence of whole numbers or a slice, got {}", given.repr()?);
            return Err(PyTypeError::new_err(text));
        }
        let (kind, length): (String, usize) = (rows.getattr("dtype")?.getattr("kind")?.extract()?, rows.len()?);
        // A mask or a list of floats is more likely a mistake than a list of rows.
        if !matches!(kind.as_str(), "i" | "u") && length > 0 {
            return Err(PyTypeError::new_err(
                "`rows` must be whole numbers or a slice; for a mask pass numpy.flatnonzero(mask)",
            ));
        }
        let rows: PyReadonlyArray1<'_, i64> = rows.call_method1("astype", ("int64",))?.extract()?;
        let n = self.0.n_rows() as i64;
        let position = |&row: &i64| match row {
            row if (0..n).contains(&row) => Ok(row as usize),
            row if (-n..0).contains(&row) => Ok((row + n) as usize),
            row => Err(PyIndexError::new_err(format!("row {row} does not exist: the table has {n} rows"))),
        };
        let rows = rows.as_array().iter().map(position).collect::<PyResult<Vec<usize>>>()?;
        Ok(PyDataset(self.0.take(&rows)))
    }

    /// The columns named, in that order, with target, counts, weights and costs.
    ///
    /// Parameters
    /// ----------
    /// features : str or sequence of str
    ///     Names of columns.
    ///
    /// Raises
    /// ------
    /// DataError
    ///     A name is unknown or given twice.
    fn select(&self, features: Names) -> PyResult<Self> {
        Ok(PyDataset(self.0.select(&features.list())?))
    }

    /// Split the rows into a part to learn from and a part to test on.
    ///
    /// Parameters
    /// ----------
    /// fraction : float, default=0.25
    ///     The share of rows in the second part; 0 to 1. Rows are dealt whole, with their repetitions.
    /// seed : int, default=0
    ///     The same seed gives the same parts on every platform.
    /// stratify : bool, default=True
    ///     Whether each class is split in that proportion.
    ///
    /// Returns
    /// -------
    /// tuple of Dataset
    ///     ``(1 - fraction, fraction)``, both in the table's row order and with its schema.
    ///
    /// Raises
    /// ------
    /// ParameterError
    ///     `fraction` or `seed` is out of range.
    #[pyo3(signature = (fraction=Real(0.25), *, seed=Whole::from(0), stratify=Flag(true)))]
    #[pyo3(text_signature = "(self, fraction=0.25, *, seed=0, stratify=True)")]
    fn split(&self, fraction: Real, seed: Whole, stratify: Flag) -> PyResult<(Self, Self)> {
        let (learn, test) = self.0.split(fraction.0, seed.at_least(0, "seed", "from 0 to 2^64 - 1")?, stratify.0)?;
        Ok((PyDataset(learn), PyDataset(test)))
    }

    /// The rows in `k` folds, each once held out: pairs of (the other folds, this fold).
    ///
    /// Parameters
    /// ----------
    /// k : int, default=5
    ///     From 2 to the number of rows.
    /// seed, stratify
    ///     As in :meth:`split`.
    ///
    /// Raises
    /// ------
    /// ParameterError
    ///     `k` or `seed` is out of range.
    #[pyo3(signature = (k=Whole::from(5), *, seed=Whole::from(0), stratify=Flag(true)))]
    #[pyo3(text_signature = "(self, k=5, *, seed=0, stratify=True)")]
    fn folds(&self, k: Whole, seed: Whole, stratify: Flag) -> PyResult<Vec<(Self, Self)>> {
        let k = k.at_least(0, "k", "at least 2")?;
        let folds = self.0.folds(k, seed.at_least(0, "seed", "from 0 to 2^64 - 1")?, stratify.0)?;
        Ok(folds.into_iter().map(|(learn, test)| (PyDataset(learn), PyDataset(test))).collect())
    }

    /// The table again, in the values and dtypes it came with: features, target, ``counts`` and ``weight``. Costs of
    /// rows are in `costs`.
    fn to_polars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let encoded = encode(py, &self.0)?;
        let part = |name: &str| encoded.getattr(name);
        table_module(py)?.getattr("decode")?.call1((
            part("columns")?,
            part("target")?,
            part("counts")?,
            part("weight")?,
        ))
    }

    fn __repr__(slf: Bound<'_, Self>) -> PyResult<String> {
        table_module(slf.py())?.getattr("describe")?.call1((slf,))?.extract()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let restore = py.import("lattree._core")?.getattr("_dataset_from_parts")?;
        Ok((restore, (encode(py, &self.0)?, schema_json(self.0.schema())).into_pyobject(py)?))
    }
}

/// For pickle.
#[pyfunction]
pub(super) fn _dataset_from_parts(encoded: &Bound<'_, PyAny>, schema: &str) -> PyResult<PyDataset> {
    Ok(PyDataset(decode(encoded, Some(schema_of_json(schema)?))?))
}

fn or_empty<'py>(py: Python<'py>, value: Option<&Bound<'py, PyAny>>) -> Bound<'py, PyAny> {
    value.cloned().unwrap_or_else(|| PyTuple::empty(py).into_any())
}

fn options<'py>(
    py: Python<'py>,
    task: Option<&str>,
    nominal: Option<&Bound<'py, PyAny>>,
    ordinal: Option<&Bound<'py, PyAny>>,
    counts: Option<&Bound<'py, PyAny>>,
    weight: Option<&Bound<'py, PyAny>>,
    schema: &Option<Arc<Schema>>,
) -> PyResult<Bound<'py, PyDict>> {
    let options = PyDict::new(py);
    options.set_item("task", task)?;
    options.set_item("nominal", or_empty(py, nominal))?;
    options.set_item("ordinal", or_empty(py, ordinal))?;
    options.set_item("counts", counts)?;
    options.set_item("weight", weight)?;
    options.set_item("schema", schema.clone().map(PySchema))?;
    Ok(options)
}

impl PyDataset {
    /// A table to search, given as the argument of this name.
    pub(super) fn to_search<'a>(data: &'a Bound<'_, PyAny>, name: &str) -> PyResult<&'a Dataset> {
        let Ok(data) = data.cast::<PyDataset>() else {
            let got = data.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "`{name}` must be a lattree.Dataset, got {got}; make one: lattree.Dataset(table, \"target\")"
            )));
        };
        Ok(&data.get().0)
    }
}
