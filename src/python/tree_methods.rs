//! The methods of `Tree`.

use std::hash::{DefaultHasher, Hash, Hasher};

use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use super::argument::{Whole, choice};
use super::node::{self, PyNode};
use super::predict_on::PredictOn;
use super::rule::PyRule;
use super::schema::{PySchema, labels_to_list, n_extra};
use super::tree::{PyTree, unseen_name};
use crate::data::{Labels, Task};
use crate::error::Error;
use crate::tree::{ImpurityMeasure, Tree};

#[pymethods]
impl PyTree {
    /// Read a tree from its JSON.
    ///
    /// Parameters
    /// ----------
    /// text : str
    ///     What :meth:`to_json` wrote, by this or an earlier version.
    ///
    /// Raises
    /// ------
    /// TreeError
    ///     The text is no tree, is damaged, or is of a format that this version does not know.
    #[staticmethod]
    fn from_json(py: Python<'_>, text: &Bound<'_, PyString>) -> PyResult<Self> {
        // Bytes that were not UTF-8 may have become lone surrogates in a Python string.
        let text = text.to_str().map_err(|error| Error::BadTree { problem: error.to_string() })?;
        Ok(PyTree(py.detach(|| Tree::from_json(text))?))
    }

    /// The schema of the table the tree was grown on.
    #[getter]
    fn schema(&self) -> PySchema {
        PySchema(self.0.schema().clone())
    }
    /// How many internal nodes there are.
    #[getter]
    fn n_nodes(&self) -> usize {
        self.0.n_nodes()
    }
    /// How many leaves there are.
    #[getter]
    fn n_leaves(&self) -> usize {
        self.0.n_leaves()
    }
    /// The longest path from the root to a leaf, in splits; 0 for a single leaf.
    #[getter]
    fn depth(&self) -> usize {
        self.0.depth()
    }
    /// The columns that some test asks about, in the order of the schema.
    #[getter]
    fn features(&self) -> Vec<String> {
        self.0.features().iter().map(|&f| self.0.schema().features[f as usize].name.clone()).collect()
    }
    /// What happens to levels that the schema does not know: "majority", "missing" or "error".
    #[getter]
    fn unseen(&self) -> &'static str {
        unseen_name(self.0.policies().unseen)
    }

    /// Predict the target of each row.
    ///
    /// Parameters
    /// ----------
    /// data : Dataset, or anything that Dataset takes, or array-like of shape (n_rows, n_features)
    ///     Columns are found by name, and only those that the tree asks about are needed; an array has them in the
    ///     order of the schema.
    ///
    /// Returns
    /// -------
    /// pandas.Series, polars.Series, pyarrow.Array or numpy.ndarray of shape (n_rows,)
    ///     In the values of the training target, and in the kind of `data`, so that it can be compared with a column of
    ///     it: of a pandas frame a Series with its index, of a pyarrow table an Array, of an array or a list of rows an
    ///     array; of polars frames, dicts, datasets and all else a polars Series. The dtype is that of the training
    ///     target; categories are plain values in pandas, which compares categories only with the same ones. A label
    ///     that is no class, such as "abstain", is its name where classes are text, and else null, which in numpy and
    ///     pandas makes whole numbers floats and is NaN, or None beside booleans and dates; :attr:`Node.prediction` of
    ///     the leaf has its name.
    ///
    /// Raises
    /// ------
    /// DataError
    ///     A column is missing or of another kind, or a level is unseen and `unseen` is "error".
    fn predict<'py>(&self, py: Python<'py>, data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let table = PredictOn::of(data, &self.0)?;
        let tree = &self.0;
        let target = tree.schema().target.as_ref().expect("`Tree::new` checked that leaves fit the target");
        match &target.task {
            Task::Classes(labels) => {
                let codes = table.predict(py, |data, rows| tree.predict_codes(data, rows))?;
                let (list, n_extra) = (labels_to_list(py, Some(labels))?, n_extra(labels));
                answer(py, "labels", (data, &target.name, &target.dtype, list, codes.into_pyarray(py), n_extra))
            }
            Task::Numbers => {
                let numbers = table.predict(py, |data, rows| tree.predict_numbers(data, rows))?;
                answer(py, "numbers", (data, &target.name, &target.dtype, numbers.into_pyarray(py)))
            }
        }
    }

    /// Predict the share of each class.
    ///
    /// Parameters
    /// ----------
    /// data
    ///     As in :meth:`predict`.
    ///
    /// Returns
    /// -------
    /// pandas.DataFrame, polars.DataFrame, pyarrow.Table or numpy.ndarray of float64, shape (n_rows, n_classes)
    ///     Training shares in each row's leaf, in the kind of `data` (see :meth:`predict`). Columns are in the order of
    ///     ``schema.classes`` and named by them, in pandas by the labels themselves; those of labels that are no
    ///     classes are 0, for no case has them.
    ///
    /// Raises
    /// ------
    /// DataError
    ///     As in :meth:`predict`; also if the tree predicts numbers.
    fn predict_proba<'py>(&self, py: Python<'py>, data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let table = PredictOn::of(data, &self.0)?;
        let shares = table.predict(py, |data, rows| self.0.probabilities(data, rows))?;
        let labels = self.0.schema().labels();
        let shape = (table.n_rows()?, labels.map_or(0, Labels::len));
        let shares = Array2::from_shape_vec(shape, shares).expect("a row of shares per row");
        answer(py, "shares", (data, labels_to_list(py, labels)?, shares.into_pyarray(py)))
    }

    /// Find the leaf of each row.
    ///
    /// Parameters
    /// ----------
    /// data
    ///     As in :meth:`predict`.
    ///
    /// Returns
    /// -------
    /// pandas.Series, polars.Series, pyarrow.Array or numpy.ndarray of uint32, shape (n_rows,)
    ///     Positions in preorder, internal nodes counted; 0 is the root. In the kind of `data` (see :meth:`predict`).
    ///
    /// Raises
    /// ------
    /// DataError
    ///     As in :meth:`predict`.
    fn apply<'py>(&self, py: Python<'py>, data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let table = PredictOn::of(data, &self.0)?;
        let leaves = table.predict(py, |data, rows| self.0.apply(data, rows))?;
        answer(py, "leaves", (data, leaves.into_pyarray(py)))
    }

    /// The nodes that each row goes through.
    ///
    /// Parameters
    /// ----------
    /// data
    ///     As in :meth:`predict`.
    ///
    /// Returns
    /// -------
    /// indptr : numpy.ndarray of int64, shape (n_rows + 1,)
    /// indices : numpy.ndarray of int64
    ///     Row i goes through the nodes ``indices[indptr[i]:indptr[i + 1]]``, from the root to its leaf, ascending:
    ///     ``scipy.sparse.csr_matrix((numpy.ones(len(indices)), indices, indptr))`` is the matrix of rows and nodes.
    ///
    /// Raises
    /// ------
    /// DataError
    ///     As in :meth:`predict`.
    fn decision_path<'py>(&self, py: Python<'py>, data: &Bound<'py, PyAny>) -> PyResult<Paths<'py>> {
        let table = PredictOn::of(data, &self.0)?;
        let leaves = table.predict(py, |data, rows| self.0.apply(data, rows))?;
        let (indptr, indices) = py.detach(|| self.0.paths_to(&leaves));
        Ok((indptr.into_pyarray(py), indices.into_pyarray(py)))
    }

    /// The tree as indented text: a line per branch; a leaf shows its prediction and (mass/errors) in training.
    ///
    /// A branch that rows without a value take says "or missing"; where no branch of a node does, they go down all of
    /// them in part, or never come there. Names that could be misread, or hold what does not show, stand in double
    /// quotes.
    ///
    /// Parameters
    /// ----------
    /// max_depth : int or None, default=None
    ///     Deeper parts are left out; a line says how many nodes they have.
    ///
    /// Raises
    /// ------
    /// ParameterError
    ///     `max_depth` is negative.
    #[pyo3(signature = (*, max_depth=None))]
    fn to_text(&self, max_depth: Option<Whole>) -> PyResult<String> {
        Ok(self.0.to_text(depth(max_depth)?))
    }

    /// The tree in Graphviz's language; names and missing values are as in :meth:`to_text`.
    ///
    /// Parameters
    /// ----------
    /// max_depth : int or None, default=None
    ///     Deeper parts are left out; a box says how many nodes they have.
    ///
    /// Raises
    /// ------
    /// ParameterError
    ///     `max_depth` is negative.
    #[pyo3(signature = (*, max_depth=None))]
    fn to_dot(&self, max_depth: Option<Whole>) -> PyResult<String> {
        Ok(self.0.to_dot(depth(max_depth)?))
    }

    /// The tree as JSON: everything, with a format number. Floats survive bit by bit.
    fn to_json(&self) -> String {
        self.0.to_json()
    }

    /// The tree as rules: one per leaf, in the order of the text. Each row meets the conditions of exactly one, if its
    /// levels were there in training; others go as `unseen` says, whatever the conditions. A missing value meets those
    /// that say "or missing" or "is missing". Where the text says "or missing" nowhere, such a row goes by several
    /// rules in part.
    fn rules(&self) -> Vec<PyRule> {
        let labels = self.0.schema().labels();
        self.0.rules().into_iter().map(|rule| PyRule::new(rule, labels.cloned())).collect()
    }

    /// The node where all rows start.
    #[getter]
    fn root(slf: &Bound<'_, Self>) -> PyNode {
        PyNode::of(slf, 0)
    }

    /// All nodes, leaves included, in preorder: a node, then all that is below its first child, and so on. The node at
    /// position i is the one that :meth:`apply` calls i.
    fn nodes(slf: &Bound<'_, Self>) -> Vec<PyNode> {
        (0..slf.get().0.nodes().len() as u32).map(|index| PyNode::of(slf, index)).collect()
    }

    /// The tree as a table with a row per node, in preorder.
    ///
    /// Returns
    /// -------
    /// polars.DataFrame
    ///     Columns as the attributes of :class:`Node` and :class:`NodeTest`: "index", "parent" (its index), "depth",
    ///     "condition" and "test" (as text), "column", "kind", "threshold" (a number; of dates and times in the unit of
    ///     the column since 1970-01-01; null for levels), "levels" (of an ordinal column the one of the threshold),
    ///     "missing" (the index of the child where a row without a value goes), "is_leaf", "prediction" (in the dtype
    ///     of the target), "n_rows", "mass", "share", "errors" and "masses". What a node does not have is null.
    fn to_frame<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        node::frame(py, &self.0)
    }

    /// The nodes that a row goes through.
    ///
    /// Parameters
    /// ----------
    /// row : dict of values by column, array-like of shape (n_features,), or a table of one row
    ///     Columns as for :meth:`predict`.
    ///
    /// Returns
    /// -------
    /// list of Node
    ///     From the root to the leaf that :meth:`apply` names. `condition` of each but the first is what the row met;
    ///     with a level that was not there in training it goes as `unseen` says, which need not meet it.
    ///
    /// Raises
    /// ------
    /// DataError
    ///     As in :meth:`predict`.
    /// ParameterError
    ///     There is not exactly one row.
    fn path<'py>(slf: &Bound<'py, Self>, row: &Bound<'py, PyAny>) -> PyResult<Vec<PyNode>> {
        let tree = &slf.get().0;
        let leaves = one_row(row, tree)?.predict(slf.py(), |data, rows| tree.apply(data, rows))?;
        Ok(leaves.into_iter().flat_map(|leaf| tree.path_to(leaf)).map(|index| PyNode::of(slf, index)).collect())
    }

    /// Why a row is predicted to be what it is, in words.
    ///
    /// A line per node on its way: what the row has in the column asked about, and the condition that it meets by that.
    /// The last line is the prediction, as in :meth:`to_text`. Where a missing value takes all branches in part, the
    /// line names the heaviest, with its part, and the last line has the probability of the class that is predicted.
    ///
    /// Parameters
    /// ----------
    /// row : dict of values by column, array-like of shape (n_features,), or a table of one row
    ///     Columns as for :meth:`predict`.
    ///
    /// Raises
    /// ------
    /// DataError, ParameterError
    ///     As in :meth:`path`.
    fn explain(&self, py: Python<'_>, row: &Bound<'_, PyAny>) -> PyResult<String> {
        let lines =
            one_row(row, &self.0)?.predict(py, |data, rows| rows.map(|row| self.0.explain(data, row)).collect())?;
        Ok(lines.concat())
    }

    /// How much each column did for the purity of the leaves.
    ///
    /// For every node: the training mass that came there times its impurity, less the same of its children. That is
    /// added up by column and divided by the sum of all columns. Masses have weights, class weights and counts in them;
    /// costs of errors do not count, since they change which class a leaf predicts, and not how mixed its cases are. So
    /// with costs or a criterion other than the one of the search, this is not what the search had maximised.
    ///
    /// Parameters
    /// ----------
    /// criterion : {"gini", "information_gain", "error"}, default="gini"
    ///     The impurity: Gini's, the entropy of the classes, or the share of the classes that are not the most frequent
    ///     one. In a tree of numbers it is the variance instead.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray of float64, shape (n_features,)
    ///     In the order of ``schema.features``; at least 0, and 1 in sum, or all 0 where no node lowers the impurity.
    ///
    /// Raises
    /// ------
    /// ParameterError
    ///     `criterion` is none of these.
    ///
    /// Notes
    /// -----
    /// Source: Breiman, Friedman, Olshen and Stone, Classification and Regression Trees, 1984; the definition is that
    /// of scikit-learn's ``feature_importances_``. It favours columns of many values. Complexity: O(nodes x classes).
    #[pyo3(signature = (*, criterion="gini"))]
    fn feature_importances<'py>(&self, py: Python<'py>, criterion: &str) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(self.0.importances(choice("criterion", &MEASURES, criterion)?).into_pyarray(py))
    }

    fn __str__(&self) -> String {
        self.0.to_text(None)
    }
    fn __repr__(&self) -> String {
        let (nodes, depth) = (self.0.n_nodes(), self.0.depth());
        format!("<Tree: {nodes} nodes, depth {depth}>\n{}", self.0.to_text(Some(5)))
    }
    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0.hash(&mut hasher);
        hasher.finish()
    }
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        Ok((py.get_type::<PyTree>().getattr("from_json")?, PyTuple::new(py, [slf.get().0.to_json()])?))
    }
}

/// Predictions in the kind of the caller's table.
fn answer<'py>(
    py: Python<'py>,
    what: &str,
    arguments: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error = PyErr>,
) -> PyResult<Bound<'py, PyAny>> {
    py.import("lattree._answers")?.getattr(what)?.call1(arguments.into_pyobject(py)?)
}

/// The place where the nodes of each row begin, and the nodes of all rows.
type Paths<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>);

/// A table of one row, from whatever stands for a row.
fn one_row<'py>(row: &Bound<'py, PyAny>, tree: &Tree) -> PyResult<PredictOn<'py>> {
    let table = row.py().import("lattree._nodes")?.getattr("one_row")?.call1((row,))?;
    let table = PredictOn::of(&table, tree)?;
    match table.n_rows()? {
        1 => Ok(table),
        n_rows => {
            let (expected, got) = ("one row".into(), format!("{n_rows} rows"));
            Err(Error::InvalidParameter { name: "row", expected, got }.into())
        }
    }
}

const MEASURES: [(&str, ImpurityMeasure); 3] = [
    ("gini", ImpurityMeasure::Gini),
    ("information_gain", ImpurityMeasure::Entropy),
    ("error", ImpurityMeasure::Errors),
];

fn depth(max_depth: Option<Whole>) -> crate::Result<Option<usize>> {
    max_depth.map(|depth| depth.at_least(0, "max_depth", "at least 0, or None")).transpose()
}
