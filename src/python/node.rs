//! `Node` and `NodeTest`.

use std::hash::{DefaultHasher, Hash, Hasher};

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::pickle::{from_json, reduced, to_json};
use super::rule::{PyCondition, limit_value, masses, prediction};
use super::schema::{labels_to_list, n_extra};
use super::tree::PyTree;
use crate::data::Task;
use crate::error::Error;
use crate::tree::{Leaf, Limit, Node, NodeSummary, Question, Split, Tree};

/// The test of a node; ``str`` gives it in words, as the condition of the first branch. Pickles.
///
/// Attributes
/// ----------
/// column : str
///     The column's name.
/// feature : int
///     Its position in ``schema.features``.
/// kind : {"at_most", "is", "in", "each_level", "each_of", "missing"}
///     Rows whose value is at most the threshold, the one level, or one of the levels, and with "missing" those without
///     a value, go to the first child, others to the second. "each_level": a child per level; "each_of": a child per
///     level listed, then one for rows without a value if there is one, then one for all other levels.
/// threshold : float, int, numpy.datetime64, numpy.timedelta64 (times of day: since midnight), str or None
///     For "at_most": a number, a date or time without a zone, or a level of an ordinal column.
/// levels : list of str
///     For "is", "in" and "each_of" those listed, for "each_level" all; else empty.
/// missing : int or None
///     The position among the children of the one where a row without a value goes; None where it goes to all in part.
#[pyclass(frozen, eq, module = "lattree", name = "NodeTest")]
#[derive(PartialEq)]
pub struct PyNodeTest(Question);

#[pymethods]
impl PyNodeTest {
    #[getter]
    fn column(&self) -> &str {
        &self.0.column
    }
    #[getter]
    fn feature(&self) -> u32 {
        self.0.feature
    }
    #[getter]
    fn kind(&self) -> &str {
        &self.0.kind
    }
    #[getter]
    fn threshold<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.limit.as_ref().map(|limit| limit_value(py, limit)).transpose()
    }
    #[getter]
    fn levels(&self) -> Vec<String> {
        self.0.levels.clone()
    }
    #[getter]
    fn missing(&self) -> Option<u32> {
        self.0.missing
    }
    fn __str__(&self) -> String {
        self.0.to_string()
    }
    fn __repr__(&self) -> String {
        format!("<NodeTest: {}>", self.0)
    }
    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0.to_string().hash(&mut hasher);
        hasher.finish()
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        reduced(py, "_node_test_from_json", (to_json(&self.0),))
    }
}

/// For pickle.
#[pyfunction]
pub(super) fn _node_test_from_json(text: &str) -> PyResult<PyNodeTest> {
    Ok(PyNodeTest(from_json("test", text)?))
}

/// A node of a tree. Nodes are equal if they stand at the same place of equal trees. Pickles, with its tree.
///
/// Attributes
/// ----------
/// tree : Tree
///     The tree.
/// index : int
///     The position in ``tree.nodes()``, which :meth:`Tree.apply` gives for leaves; 0 is the root.
/// depth : int
///     Nodes above it; 0 for the root.
/// is_leaf : bool
///     Whether it has no children.
/// parent : Node or None
///     The node above; None for the root.
/// children : list of Node
///     In the order of the branches; empty for a leaf.
/// condition : Condition or None
///     What rows meet that come here from the parent; None for the root.
/// test : NodeTest or None
///     What is asked here; None for a leaf.
/// prediction : label or float
///     What the tree predicts here; of a node with children, what it would predict if it were a leaf: the class of
///     greatest mass or, with costs, the label of least cost, ties to the first, or the mean.
/// n_rows : int or None
///     How many training rows came here, whole or in part, whatever they weigh and however often they count; those of
///     weight or count 0 are left out. None for trees of files that do not tell.
/// mass : float
///     The training mass that came here: rows by count, weight and class weight.
/// masses : list of float
///     The same per class, in the order of ``tree.schema.classes``; empty where a number is predicted.
/// share : float
///     The part of the mass of the root, from 0 to 1.
/// errors : float
///     Training mass of other classes than the one predicted; 0 where a number is predicted.
/// costs : dict of label to float, or None
///     What each label would have cost in the training cases that came here, times their counts, weights and class
///     weights; None unless the search minimised costs that cases have of their own.
#[pyclass(frozen, eq, module = "lattree", name = "Node")]
pub struct PyNode {
    tree: Py<PyTree>,
    index: u32,
}

impl PartialEq for PyNode {
    fn eq(&self, other: &Self) -> bool {
        self.index == other.index && (self.tree.as_ptr() == other.tree.as_ptr() || self.inner() == other.inner())
    }
}

impl PyNode {
    /// Panics later if the tree has no such node.
    pub(super) fn of(tree: &Bound<'_, PyTree>, index: u32) -> Self {
        PyNode { tree: tree.clone().unbind(), index }
    }

    fn at(&self, py: Python<'_>, index: u32) -> Self {
        PyNode { tree: self.tree.clone_ref(py), index }
    }

    fn inner(&self) -> &Tree {
        &self.tree.get().0
    }

    fn summary(&self) -> &NodeSummary {
        &self.inner().summaries()[self.index as usize]
    }

    fn split(&self) -> Option<&Split> {
        match &self.inner().nodes()[self.index as usize] {
            Node::Split(split) => Some(split),
            Node::Leaf(_) => None,
        }
    }
}

#[pymethods]
impl PyNode {
    #[getter]
    fn tree(&self, py: Python<'_>) -> Py<PyTree> {
        self.tree.clone_ref(py)
    }
    #[getter]
    fn index(&self) -> u32 {
        self.index
    }
    #[getter]
    fn depth(&self) -> u32 {
        self.summary().depth
    }
    #[getter]
    fn is_leaf(&self) -> bool {
        self.split().is_none()
    }
    #[getter]
    fn parent(&self, py: Python<'_>) -> Option<Self> {
        self.summary().parent.map(|(parent, _)| self.at(py, parent))
    }
    #[getter]
    fn children(&self, py: Python<'_>) -> Vec<Self> {
        let children = self.split().map_or(&[][..], |split| &split.children[..]);
        children.iter().map(|&child| self.at(py, child)).collect()
    }
    #[getter]
    fn condition(&self) -> Option<PyCondition> {
        self.inner().condition_at(self.index).map(PyCondition)
    }
    #[getter]
    fn test(&self) -> Option<PyNodeTest> {
        self.split().map(|split| PyNodeTest(self.inner().question(split)))
    }
    #[getter]
    fn prediction<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        prediction(py, &self.summary().leaf, self.inner().schema().labels())
    }
    #[getter]
    fn n_rows(&self) -> Option<u64> {
        self.inner().rows().map(|rows| rows[self.index as usize])
    }
    #[getter]
    fn mass(&self) -> f64 {
        self.summary().leaf.mass()
    }
    #[getter]
    fn masses(&self) -> Vec<f64> {
        masses(&self.summary().leaf)
    }
    #[getter]
    fn share(&self) -> f64 {
        share(self.inner().summaries(), self.summary())
    }
    #[getter]
    fn errors(&self) -> f64 {
        self.summary().leaf.errors()
    }
    #[getter]
    fn costs<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(costs) = self.inner().label_costs(self.index as usize) else { return Ok(None) };
        let of_label = PyDict::new(py);
        for (label, cost) in labels_to_list(py, self.inner().schema().labels())?.iter().zip(costs) {
            of_label.set_item(label, cost)?;
        }
        Ok(Some(of_label))
    }
    fn __repr__(&self) -> String {
        format!("<Node {}: {}>", self.index, self.inner().words_at(self.index))
    }
    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.inner(), self.index).hash(&mut hasher);
        hasher.finish()
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        reduced(py, "_node_of", (self.tree.clone_ref(py), self.index))
    }
}

/// For pickle.
#[pyfunction]
pub(super) fn _node_of(tree: &Bound<'_, PyTree>, index: u32) -> PyResult<PyNode> {
    if index as usize >= tree.get().0.nodes().len() {
        return Err(Error::BadTree { problem: format!("it has no node {index}") }.into());
    }
    Ok(PyNode::of(tree, index))
}

fn share(summaries: &[NodeSummary], summary: &NodeSummary) -> f64 {
    match summaries[0].leaf.mass() {
        0.0 => 0.0,
        all => summary.leaf.mass() / all,
    }
}

/// All nodes as a polars frame, put together by `lattree._nodes`.
pub(super) fn frame<'py>(py: Python<'py>, tree: &Tree) -> PyResult<Bound<'py, PyAny>> {
    let (summaries, nodes) = (tree.summaries(), tree.nodes());
    let questions: Vec<Option<Question>> = nodes
        .iter()
        .map(|node| match node {
            Node::Split(split) => Some(tree.question(split)),
            Node::Leaf(_) => None,
        })
        .collect();
    let asked = || questions.iter().map(Option::as_ref);
    let leaves = || summaries.iter().map(|summary| &summary.leaf);
    let missing = nodes.iter().zip(asked()).map(|(node, question)| match node {
        Node::Split(split) => question?.missing.map(|branch| split.children[branch as usize]),
        Node::Leaf(_) => None,
    });
    let columns = PyDict::new(py);
    columns.set_item("index", (0..nodes.len() as u32).collect::<Vec<_>>())?;
    columns.set_item(
        "parent",
        summaries.iter().map(|summary| summary.parent.map(|(parent, _)| parent)).collect::<Vec<_>>(),
    )?;
    columns.set_item("depth", summaries.iter().map(|summary| summary.depth).collect::<Vec<_>>())?;
    let words = (0..nodes.len()).map(|index| tree.condition_at(index as u32).map(|condition| condition.to_string()));
    columns.set_item("condition", words.collect::<Vec<_>>())?;
    columns.set_item("test", asked().map(|q| q.map(ToString::to_string)).collect::<Vec<_>>())?;
    columns.set_item("column", asked().map(|q| q.map(|q| q.column.as_str())).collect::<Vec<_>>())?;
    columns.set_item("kind", asked().map(|q| q.map(|q| q.kind.as_str())).collect::<Vec<_>>())?;
    columns.set_item("threshold", asked().map(|q| q.and_then(number)).collect::<Vec<_>>())?;
    columns.set_item("levels", asked().map(|q| q.and_then(levels)).collect::<Vec<_>>())?;
    columns.set_item("missing", missing.collect::<Vec<_>>())?;
    columns.set_item("is_leaf", asked().map(|q| q.is_none()).collect::<Vec<_>>())?;
    columns.set_item("prediction", predictions(py, tree)?)?;
    let rows = (0..nodes.len()).map(|index| tree.rows().map(|rows| rows[index]));
    columns.set_item("n_rows", rows.collect::<Vec<_>>())?;
    columns.set_item("mass", leaves().map(Leaf::mass).collect::<Vec<_>>())?;
    columns.set_item("share", summaries.iter().map(|summary| share(summaries, summary)).collect::<Vec<_>>())?;
    columns.set_item("errors", leaves().map(Leaf::errors).collect::<Vec<_>>())?;
    columns.set_item("masses", leaves().map(masses).collect::<Vec<_>>())?;
    py.import("lattree._nodes")?.getattr("frame_of")?.call1((columns,))
}

/// A threshold as a number.
fn number(question: &Question) -> Option<f64> {
    match question.limit.as_ref()? {
        Limit::Float(t) => Some(*t),
        Limit::Integer(t, _) => Some(*t as f64),
        Limit::Level(_) => None,
    }
}

/// The levels that a test names.
fn levels(question: &Question) -> Option<Vec<String>> {
    match &question.limit {
        Some(Limit::Level(level)) => Some(vec![level.clone()]),
        _ => Some(question.levels.clone()).filter(|levels| !levels.is_empty()),
    }
}

/// The prediction of each node, as a series in the dtype of the target.
fn predictions<'py>(py: Python<'py>, tree: &Tree) -> PyResult<Bound<'py, PyAny>> {
    let module = py.import("lattree._table")?;
    let target = tree.schema().target.as_ref().expect("`Tree::new` checked that leaves fit the target");
    let leaves = tree.summaries().iter().map(|summary| &summary.leaf);
    match &target.task {
        Task::Classes(labels) => {
            let label = |leaf: &Leaf| match leaf {
                Leaf::Class { label, .. } => *label,
                Leaf::Number { .. } => 0,
            };
            let codes = leaves.map(label).collect::<Vec<u32>>().into_pyarray(py);
            let (list, n_extra) = (labels_to_list(py, Some(labels))?, n_extra(labels));
            module.getattr("label_series")?.call1(("prediction", &target.dtype, list, codes, n_extra))
        }
        Task::Numbers => {
            let mean = |leaf: &Leaf| match leaf {
                Leaf::Number { mean, .. } => *mean,
                Leaf::Class { .. } => 0.0,
            };
            let means = leaves.map(mean).collect::<Vec<f64>>().into_pyarray(py);
            module.getattr("number_series")?.call1(("prediction", &target.dtype, means))
        }
    }
}
