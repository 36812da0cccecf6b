//! `Tree` and `Rule`.

use std::hash::{DefaultHasher, Hash, Hasher};

use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use super::argument::Whole;
use super::data::PyDataset;
use super::schema::{PySchema, labels_to_list};
use super::subset_result::reduced;
use crate::data::{Labels, Task};
use crate::error::Error;
use crate::tree::{Leaf, Rule, Tree, Unseen, class_words};

/// One leaf of a tree as a rule: if all conditions hold, predict. Pickles.
///
/// Attributes
/// ----------
/// conditions : list of str
///     In the words of the columns; conditions on one column are merged. Empty for a tree that is a single leaf. A
///     missing value meets a condition that says "or missing" or "is missing", and no other.
/// prediction : label or float
///     What is predicted, in the target's values.
/// mass : float
///     Training mass that came to this leaf.
/// errors : float
///     The part of it with another class than the predicted one; 0 where a number is predicted.
/// masses : list of float
///     Training mass per class, in the order of ``schema.classes``; empty where a number is predicted.
#[pyclass(frozen, eq, module = "lattree", name = "Rule")]
#[derive(PartialEq)]
pub struct PyRule {
    rule: Rule,
    labels: Option<Labels>,
}

#[pymethods]
impl PyRule {
    #[getter]
    fn conditions(&self) -> Vec<String> {
        self.rule.conditions.clone()
    }
    #[getter]
    fn prediction<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.rule.prediction {
            Leaf::Class { label, .. } => labels_to_list(py, self.labels.as_ref())?.get_item(label as usize),
            Leaf::Number { mean, .. } => Ok(mean.into_pyobject(py)?.into_any()),
        }
    }
    #[getter]
    fn mass(&self) -> f64 {
        self.rule.mass
    }
    #[getter]
    fn errors(&self) -> f64 {
        self.rule.errors
    }
    #[getter]
    fn masses(&self) -> Vec<f64> {
        match &self.rule.prediction {
            Leaf::Class { empty: false, masses, .. } => masses.to_vec(),
            Leaf::Class { masses, .. } => vec![0.0; masses.len()],
            Leaf::Number { .. } => Vec::new(),
        }
    }
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let prediction = match (&self.rule.prediction, &self.labels) {
            (Leaf::Class { label, .. }, Some(labels)) => class_words(labels, *label),
            _ => self.prediction(py)?.str()?.extract()?,
        };
        let conditions = match self.rule.conditions.is_empty() {
            true => "always".into(),
            false => {
                let several = self.rule.conditions.len() > 1;
                let condition = |text: &String| match several && text.ends_with(" or missing") {
                    true => format!("({text})"), // or it would read as the other half of an "or"
                    false => text.clone(),
                };
                format!("if {}", self.rule.conditions.iter().map(condition).collect::<Vec<_>>().join(" and "))
            }
        };
        let errors = if self.rule.errors > 0.0 { format!("/{}", self.rule.errors) } else { String::new() };
        Ok(format!("{conditions}: {prediction} ({}{errors})", self.rule.mass))
    }
    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.rule.conditions, self.rule.leaf, self.rule.mass.to_bits()).hash(&mut hasher);
        hasher.finish()
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let Rule { conditions, leaf, prediction, mass, errors } = &self.rule;
        let (class, number) = match prediction {
            Leaf::Class { label, masses, empty } => (Some((*label, masses.to_vec(), *empty)), None),
            Leaf::Number { mean, mass } => (None, Some((*mean, *mass))),
        };
        let labels = serde_json::to_string(&self.labels).expect("labels hold only what JSON can hold");
        reduced(py, "_rule_from_parts", (conditions, *leaf, class, number, (*mass, *errors), labels))
    }
}

/// For pickle.
#[pyfunction]
pub(super) fn _rule_from_parts(
    conditions: Vec<String>,
    leaf: u32,
    class: Option<(u32, Vec<f64>, bool)>,
    number: Option<(f64, f64)>,
    of_mass: (f64, f64),
    labels: &str,
) -> PyResult<PyRule> {
    let bad = |problem: String| Error::BadTree { problem: format!("its rule: {problem}") };
    let (mass, errors) = of_mass;
    let labels: Option<Labels> = serde_json::from_str(labels).map_err(|error| bad(error.to_string()))?;
    let n_classes = labels.as_ref().map_or(0, Labels::len);
    let prediction = match (class, number) {
        (Some((label, masses, empty)), None) if (label as usize) < n_classes => {
            Leaf::Class { label, masses: masses.into(), empty }
        }
        (None, Some((mean, mass))) => Leaf::Number { mean, mass },
        _ => return Err(bad("it predicts no class of its target, and no number".into()).into()),
    };
    Ok(PyRule { rule: Rule { conditions, leaf, prediction, mass, errors }, labels })
}

/// A decision tree: immutable, hashable, and silent about how it was grown.
///
/// Trees come from searches and from :meth:`Tree.from_json`. Two trees are equal if they ask the same questions of the
/// same columns, in the same order, and predict the same; a tree pickles through its JSON.
///
/// Notes
/// -----
/// Where values are missing, or levels were never seen: a tree from a greedy search does as its `missing` says; by default
/// a row goes down every branch in part, :meth:`predict` and :meth:`predict_proba` mix the leaves it comes to, and
/// :meth:`apply` follows the heaviest branch. In a tree from an exact search a missing value fails every
/// value test and passes ``x is missing``, as in training; where the column had no missing values in training it goes
/// to the node's heavier child (unless the search was told that missing values just fail, ``missing="fails"``). What is
/// printed says which branch that is: "or missing" stands at one branch of every node that such a row can come to. Where
/// it stands at none, the row goes down every branch in part. Levels that the schema does not know follow `unseen`.
#[pyclass(frozen, module = "lattree", name = "Tree", eq)]
#[derive(PartialEq)]
pub struct PyTree(pub(super) Tree);

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
        // Bytes that were no UTF-8 may stand in a Python string, as halves of surrogates.
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
    /// polars.Series of shape (n_rows,)
    ///     In the values and dtype of the training target. ``.to_numpy()`` makes it an array.
    ///
    /// Raises
    /// ------
    /// DataError
    ///     A column is missing or of another kind, or a level is unseen and `unseen` is "error".
    fn predict<'py>(&self, py: Python<'py>, data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let table = PyDataset::to_predict(data, &self.0)?;
        let tree = &self.0;
        let module = py.import("lattree._table")?;
        let target = tree.schema().target.as_ref().expect("`Tree::new` checked that leaves fit the target");
        match &target.task {
            Task::Classes(labels) => {
                let codes = table.predict(py, |data, rows| tree.predict_codes(data, rows))?;
                let labels = labels_to_list(py, Some(labels))?;
                module.getattr("label_series")?.call1((&target.name, &target.dtype, labels, codes.into_pyarray(py)))
            }
            Task::Numbers => {
                let numbers = table.predict(py, |data, rows| tree.predict_numbers(data, rows))?;
                module.getattr("number_series")?.call1((&target.name, &target.dtype, numbers.into_pyarray(py)))
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
    /// numpy.ndarray of float64, shape (n_rows, n_classes)
    ///     Training shares in each row's leaf; columns in the order of ``schema.classes``.
    ///
    /// Raises
    /// ------
    /// DataError
    ///     As in :meth:`predict`; also if the tree predicts numbers.
    fn predict_proba<'py>(&self, py: Python<'py>, data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let table = PyDataset::to_predict(data, &self.0)?;
        let shares = table.predict(py, |data, rows| self.0.probabilities(data, rows))?;
        let n_classes = self.0.schema().labels().map_or(0, Labels::len);
        let shares = Array2::from_shape_vec((table.n_rows()?, n_classes), shares).expect("a row of shares per row");
        Ok(shares.into_pyarray(py))
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
    /// numpy.ndarray of uint32, shape (n_rows,)
    ///     Positions in preorder, internal nodes counted; 0 is the root.
    fn apply<'py>(&self, py: Python<'py>, data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let table = PyDataset::to_predict(data, &self.0)?;
        Ok(table.predict(py, |data, rows| self.0.apply(data, rows))?.into_pyarray(py))
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
    #[pyo3(signature = (*, max_depth=None))]
    fn to_dot(&self, max_depth: Option<Whole>) -> PyResult<String> {
        Ok(self.0.to_dot(depth(max_depth)?))
    }

    /// The tree as JSON: everything, with a format number. Floats survive bit by bit.
    fn to_json(&self) -> String {
        self.0.to_json()
    }

    /// The tree as rules: one per leaf, in the order of the text. Each row meets the conditions of exactly one; a missing
    /// value meets those that say "or missing" or "is missing". Where the text says "or missing" nowhere, such a row goes
    /// by several rules in part.
    fn rules(&self) -> Vec<PyRule> {
        let labels = self.0.schema().labels();
        self.0.rules().into_iter().map(|rule| PyRule { rule, labels: labels.cloned() }).collect()
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

fn depth(max_depth: Option<Whole>) -> crate::Result<Option<usize>> {
    max_depth.map(|depth| depth.at_least(0, "max_depth", "at least 0, or None")).transpose()
}

pub(super) const UNSEEN: [(&str, Unseen); 3] =
    [("majority", Unseen::Majority), ("missing", Unseen::Missing), ("error", Unseen::Error)];

pub(super) fn unseen_name(unseen: Unseen) -> &'static str {
    super::binarizer::name_of(&UNSEEN, &unseen)
}
