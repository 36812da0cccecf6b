//! `Dataset`.

use std::ops::Range;
use std::sync::Arc;

use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArray};
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PySlice, PyTuple};

use super::argument::{Flag, Names, Real, Whole};
use super::cells::{EncodedCells, with_rows};
use super::keywords::refuse;
use super::run::by_rows;
use super::schema::{
    PySchema, kind_of, labels_to_list, number_name, of_table, schema_json, schema_of_json, target_schema,
};
use super::tree::{PyTree, unseen_name};
use crate::data::{CaseCosts, Column, Dataset, Feature, Kind, Number, Schema, Target};
use crate::names::quoted;
use crate::tree::Rows;

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
///     Map columns by name, and levels as they are written, onto this schema. `nominal` and `ordinal` must agree with it.
/// max_missing : float or None, default=None
///     Leave out columns of which a larger share of rows than this, from 0 to 1, is missing. None: keep all. With `like`
///     the columns are those that it has.
/// costs : sequence of str, frame, array-like of shape (n_rows, n_labels), mapping, or None, default=None
///     What each label costs in each row: finite numbers of any sign, which searches with ``objective="costs"`` minimise.
///     Names of columns of the table, which are no features then; or a frame; or a mapping of label to column or values.
///     Columns are named by label: there is one for each class, matched by text, and others are labels of their own, which
///     only leaves have. An array has a column for each class, in their order; without a target labels are "0", "1", ...
///     None: rows have no costs of their own. With `like` costs are not needed.
/// rewards : as `costs`, default=None
///     What each label is worth in each row: the same with the opposite sign. :class:`PolicyTreeSearch` maximises them.
///
/// Notes
/// -----
/// Kinds follow from dtypes: floats, integers, dates and times are continuous; strings, categoricals and booleans
/// nominal; enums ordinal. Integers, instants, durations and times of day are exact; decimals are read as 64-bit floats.
/// Null and NaN are missing; infinities are ordinary values.
///
/// A column of strings that are numbers but for ``NA``, ``N/A``, ``NaN``, ``null``, ``None``, ``?``, an empty cell and the
/// like is a column of numbers, and these are missing; ``print(data)`` says so. Under `nominal` they are levels.
///
/// With `like`, booleans match ``True`` and ``False``, ``true`` and ``false``, 1 and 0, as values and as text. A
/// ``UserWarning`` names a column with a level that is not in `like`, the level and the number of rows. Another says that
/// a target of more than 20 different whole numbers was taken for classes, if `task` does not.
/// Complexity: O(cells), plus sorting the distinct levels.
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

fn table_module(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import("lattree._table")
}

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
        Self::from_encoded(&encoded, schema)
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
        Self::from_encoded(&encoded, schema)
    }

    /// Names, kinds and levels of the columns, and what is to be predicted.
    #[getter]
    fn schema(&self) -> PySchema {
        PySchema(self.0.schema().clone())
    }

    /// What is to be predicted: a polars Series in the values and dtype it came with, or None.
    #[getter]
    fn target<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let target = self.encode_target(py)?;
        target.map(|target| table_module(py)?.getattr("decode_target")?.call1((target,))).transpose()
    }

    /// What each label costs in each row: a polars DataFrame with a column per label, named by its text, or None. Rewards
    /// are costs with the opposite sign.
    #[getter]
    fn costs<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let costs = self.encode_costs(py)?;
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

    /// The table again, in the values and dtypes it came with: features, target, ``counts`` and ``weight``. Costs of rows
    /// are in `costs`.
    fn to_polars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let encoded = self.to_encoded(py)?;
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
        Ok((restore, (self.to_encoded(py)?, schema_json(self.0.schema())).into_pyobject(py)?))
    }
}

/// For pickle.
#[pyfunction]
pub(super) fn _dataset_from_parts(encoded: &Bound<'_, PyAny>, schema: &str) -> PyResult<PyDataset> {
    PyDataset::from_encoded(encoded, Some(schema_of_json(schema)?))
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

/// `_table.Column`.
#[derive(FromPyObject)]
struct EncodedColumn<'py> {
    name: String,
    kind: String,
    dtype: String,
    values: Bound<'py, PyAny>,
    missing: Option<PyReadonlyArray1<'py, bool>>,
    levels: Vec<String>,
    unseen: Vec<String>,
}

/// `_table.Target`.
#[derive(FromPyObject)]
struct EncodedTarget<'py> {
    name: String,
    kind: String,
    dtype: String,
    values: Bound<'py, PyAny>,
    labels: Bound<'py, PyAny>,
}

#[derive(FromPyObject)]
enum EncodedColumns<'py> {
    Each(Vec<EncodedColumn<'py>>),
    Cells(EncodedCells<'py>),
}

/// `_table.Encoded`.
#[derive(FromPyObject)]
struct Encoded<'py> {
    columns: EncodedColumns<'py>,
    n_rows: usize,
    target: Option<EncodedTarget<'py>>,
    counts: Option<PyReadonlyArray1<'py, u64>>,
    weight: Option<PyReadonlyArray1<'py, f64>>,
}

/// `_case_costs.CaseCosts`.
#[derive(FromPyObject)]
struct EncodedCosts<'py> {
    labels: Vec<String>,
    values: PyReadonlyArray2<'py, f64>,
}

impl EncodedColumn<'_> {
    /// The cells, and what they are if that is asked for.
    fn decode(self, with_feature: bool) -> PyResult<(Option<Feature>, Column)> {
        let column = match self.kind.as_str() {
            "ordinal" | "nominal" => Column::Levels { codes: copied(&self.values)?, unseen: self.unseen },
            "float" => Column::Floats(copied(&self.values)?),
            _ => Column::Integers {
                values: copied(&self.values)?,
                missing: self.missing.map(|missing| missing.as_array().to_vec()),
            },
        };
        if !with_feature {
            return Ok((None, column));
        }
        let unknown = || PyTypeError::new_err(format!("unknown kind {:?} of column {}", self.kind, quoted(&self.name)));
        let kind = kind_of(&self.kind, self.levels).ok_or_else(unknown)?;
        Ok((Some(Feature { name: self.name, kind, dtype: self.dtype }), column))
    }
}

fn copied<T: numpy::Element + Copy>(values: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    let array: PyReadonlyArray1<'_, T> = values.extract()?;
    Ok(array.as_array().to_vec())
}

impl PyDataset {
    /// Copies what `_table` encoded. With a schema, the columns are already in its terms.
    pub(super) fn from_encoded(encoded: &Bound<'_, PyAny>, schema: Option<Arc<Schema>>) -> PyResult<Self> {
        // Pickles of version 0.1 have none.
        let costs =
            encoded.getattr_opt("costs")?.map(|costs| costs.extract::<Option<EncodedCosts<'_>>>()).transpose()?;
        let encoded: Encoded<'_> = encoded.extract()?;
        let (features, columns) = match encoded.columns {
            EncodedColumns::Cells(cells) => cells.decode()?,
            EncodedColumns::Each(columns) => {
                // Kinds and levels are the schema's, if there is one.
                let decoded: PyResult<Vec<_>> = columns.into_iter().map(|c| c.decode(schema.is_none())).collect();
                let (features, columns): (Vec<_>, Vec<_>) = decoded?.into_iter().unzip();
                (features.into_iter().flatten().collect(), columns)
            }
        };
        let (target_schema, target) = match encoded.target {
            None => (None, Target::None),
            Some(target) => {
                let values = match target.kind.as_str() {
                    "classes" => Target::Classes(copied(&target.values)?.into()),
                    _ => Target::Numbers(copied(&target.values)?.into()),
                };
                // What the labels are is in the schema, if there is one.
                let made = || target_schema(target.name, &target.kind, target.dtype, &target.labels);
                (schema.is_none().then(made).transpose()?, values)
            }
        };
        let schema = match schema {
            Some(schema) => schema,
            None => Arc::new(Schema { features, target: target_schema }.checked()?),
        };
        let counts = encoded.counts.map(|counts| counts.as_array().to_vec());
        let weights = encoded.weight.map(|weight| weight.as_array().to_vec());
        let data = Dataset::new(schema, columns, encoded.n_rows, target, counts, weights)?;
        Ok(PyDataset(match costs.flatten() {
            Some(EncodedCosts { labels, values }) => {
                let values = values.as_array().iter().copied().collect();
                data.with_costs(CaseCosts::new(labels, values, encoded.n_rows)?)?
            }
            None => data,
        }))
    }

    /// `_table.Encoded` again.
    fn to_encoded<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (module, data) = (table_module(py)?, &self.0);
        let columns = PyList::empty(py);
        for (feature, column) in data.schema().features.iter().zip(data.columns()) {
            let none = || py.None().into_bound(py);
            let (values, missing) = match &**column {
                Column::Floats(values) => (values.clone().into_pyarray(py).into_any(), none()),
                Column::Levels { codes, .. } => (codes.clone().into_pyarray(py).into_any(), none()),
                Column::Integers { values, missing } => (
                    values.clone().into_pyarray(py).into_any(),
                    missing.as_ref().map_or_else(none, |missing| missing.clone().into_pyarray(py).into_any()),
                ),
            };
            let (kind, unseen) = match (&feature.kind, &**column) {
                (Kind::Continuous(_), Column::Floats(_)) => ("float", vec![]),
                (Kind::Continuous(number), _) => (number_name(*number), vec![]),
                (kind, Column::Levels { unseen, .. }) => (kind.name(), unseen.clone()),
                (kind, _) => (kind.name(), vec![]),
            };
            let column = (&feature.name, kind, &feature.dtype, values, missing, feature.kind.levels().to_vec(), unseen);
            columns.append(module.getattr("Column")?.call1(column)?)?;
        }
        let target = self.encode_target(py)?;
        let counts = data.counts().map(|counts| counts.to_vec().into_pyarray(py));
        let weight = data.weights().map(|weight| weight.to_vec().into_pyarray(py));
        module.getattr("Encoded")?.call1((columns, data.n_rows(), target, counts, weight, self.encode_costs(py)?))
    }

    /// `_case_costs.CaseCosts` again, if there are costs.
    fn encode_costs<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(costs) = self.0.costs() else { return Ok(None) };
        let (n_rows, n_labels) = (self.0.n_rows(), costs.labels.len());
        let values = (0..n_rows).flat_map(|row| costs.of(row)).copied().collect();
        let values = Array2::from_shape_vec((n_rows, n_labels), values).expect("a cost for each row and label");
        let costs = (costs.labels.to_vec(), values.into_pyarray(py));
        Ok(Some(table_module(py)?.getattr("CaseCosts")?.call1(costs)?))
    }

    /// `_table.Target` again, if there is one.
    fn encode_target<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(schema) = &self.0.schema().target else { return Ok(None) };
        let (kind, values) = match self.0.target() {
            Target::Classes(codes) => ("classes", codes.to_vec().into_pyarray(py).into_any()),
            Target::Numbers(numbers) => ("numbers", numbers.to_vec().into_pyarray(py).into_any()),
            Target::None => return Ok(None),
        };
        let labels = labels_to_list(py, self.0.schema().labels())?;
        let target = (&schema.name, kind, &schema.dtype, values, labels);
        Ok(Some(table_module(py)?.getattr("Target")?.call1(target)?))
    }

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

    /// A table to predict on: a dataset as it is, anything else read by the names that the tree uses.
    pub(super) fn to_predict<'py>(table: &Bound<'py, PyAny>, tree: &crate::tree::Tree) -> PyResult<PredictOn<'py>> {
        if let Ok(data) = table.cast::<PyDataset>() {
            return Ok(PredictOn::Given(data.clone()));
        }
        let (py, schema) = (table.py(), tree.schema());
        let used: Vec<&Feature> = tree.features().iter().map(|&f| &schema.features[f as usize]).collect();
        let is_number = |f: &Feature| {
            matches!(f.kind, Kind::Continuous(Number::Float | Number::Integer))
                && f.dtype != "Time" // trees of version 0.1 have these in seconds
                && !f.dtype.starts_with("Duration")
        };
        if table.cast::<PyUntypedArray>().is_ok() && used.iter().all(|f| is_number(f)) {
            let read = table_module(py)?.getattr("exact_floats")?.call1((table, schema.features.len()))?;
            if let Some(dtype) = read.extract()? {
                return Ok(PredictOn::Numbers(table.clone(), dtype));
            }
        }
        let names: Vec<String> = used.iter().map(|feature| feature.name.clone()).collect();
        let encode = table_module(py)?.getattr("encode_for_prediction")?;
        let encoded = encode.call1((table, PySchema(schema.clone()), names, unseen_name(tree.policies().unseen)))?;
        let used = Arc::new(Schema { features: used.into_iter().cloned().collect(), target: schema.target.clone() });
        Ok(PredictOn::Made(Self::from_encoded(&encoded, Some(used))?))
    }
}

/// What to predict on: a dataset, given or made, or an array with the dtype of its numbers, read where it is.
pub(super) enum PredictOn<'py> {
    Given(Bound<'py, PyDataset>),
    Made(PyDataset),
    Numbers(Bound<'py, PyAny>, String),
}

impl PredictOn<'_> {
    /// Rows of an array that are predicted for before other threads of Python have their turn.
    const TURN: usize = 1 << 18;

    pub(super) fn n_rows(&self) -> PyResult<usize> {
        match self {
            PredictOn::Given(data) => Ok(data.get().0.n_rows()),
            PredictOn::Made(data) => Ok(data.0.n_rows()),
            PredictOn::Numbers(array, _) => array.len(),
        }
    }

    /// One value or more for each row. An array could change under a free interpreter, so it is kept busy meanwhile.
    pub(super) fn predict<T: Send>(
        &self,
        py: Python<'_>,
        work: impl Fn(&dyn Rows, Range<usize>) -> crate::Result<Vec<T>> + Sync,
    ) -> PyResult<Vec<T>> {
        let with = |data: &Dataset| Ok(py.detach(|| by_rows(0..data.n_rows(), |rows| work(data, rows)))?);
        match self {
            PredictOn::Given(data) => with(&data.get().0),
            PredictOn::Made(data) => with(&data.0),
            PredictOn::Numbers(array, dtype) => with_rows(array, dtype, |all| {
                let mut joined = Vec::new();
                for start in (0..all.n_rows()).step_by(Self::TURN) {
                    if start > 0 {
                        py.detach(|| ());
                        py.check_signals()?;
                    }
                    let part = by_rows(start..all.n_rows().min(start + Self::TURN), |rows| work(all, rows))?;
                    if start == 0 { joined = part } else { joined.extend(part) }
                }
                Ok(joined)
            }),
        }
    }
}
