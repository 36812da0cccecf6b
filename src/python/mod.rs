//! The Python module `lattree._core`: wraps the core, computes nothing itself.
//!
//! Data come in through `lattree._table`, which turns any table into plain arrays; they are copied here, so that the
//! searches never touch Python. Results are plain frozen objects that pickle.

mod argument;
mod binarizer;
mod cells;
mod costs;
mod data;
mod distinct_trees;
mod encoded;
mod error;
mod greedy;
mod greedy_base;
mod keywords;
mod names;
mod node;
mod offered;
mod pickle;
mod predict_on;
mod progress;
mod result;
mod rule;
mod run;
mod schema;
mod search;
mod subset_result;
mod subset_search;
mod subsets;
mod tree;
mod tree_methods;
mod tree_queue;

use pyo3::prelude::*;

/// The allocator of the module. A Rust program that uses the crate chooses its own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[pymodule(gil_used = false)]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    error::register(module)?;
    module.add_class::<schema::PyFeature>()?;
    module.add_class::<schema::PySchema>()?;
    module.add_class::<data::PyDataset>()?;
    module.add_class::<binarizer::PyBinarizer>()?;
    module.add_class::<offered::PyOfferedTests>()?;
    module.add_class::<rule::PyCondition>()?;
    module.add_class::<rule::PyRule>()?;
    module.add_class::<node::PyNodeTest>()?;
    module.add_class::<node::PyNode>()?;
    module.add_class::<tree::PyTree>()?;
    module.add_class::<result::PyProgress>()?;
    module.add_class::<result::PyOptimalResult>()?;
    module.add_class::<search::PyOptimalTreeSearch>()?;
    module.add_class::<greedy_base::PyGreedyBase>()?;
    module.add_class::<greedy::PyGreedyResult>()?;
    module.add_class::<greedy::PyGreedyTreeSearch>()?;
    module.add_class::<subset_result::PySubsetProgress>()?;
    module.add_class::<subset_result::PyDistinctCounts>()?;
    module.add_class::<subset_result::PyRemoval>()?;
    module.add_class::<subset_result::PySubsetResult>()?;
    module.add_class::<distinct_trees::PyDistinctTree>()?;
    module.add_class::<distinct_trees::PyDistinctTrees>()?;
    module.add_class::<subset_search::PySubsetSearch>()?;
    module.add_class::<subsets::PyDistinctTreeSearch>()?;
    module.add_class::<subsets::PyAcceptableSubsetSearch>()?;
    module.add_class::<subsets::PyBackwardEliminationSearch>()?;
    module.add_class::<subsets::PyExhaustiveSubsetSearch>()?;
    module.add_function(wrap_pyfunction!(names::_quoted, module)?)?;
    module.add_function(wrap_pyfunction!(names::_shown, module)?)?;
    module.add_function(wrap_pyfunction!(schema::_feature_from_json, module)?)?;
    module.add_function(wrap_pyfunction!(schema::_schema_from_json, module)?)?;
    module.add_function(wrap_pyfunction!(data::_dataset_from_parts, module)?)?;
    module.add_function(wrap_pyfunction!(offered::_offered_tests_from_parts, module)?)?;
    module.add_function(wrap_pyfunction!(rule::_condition_from_json, module)?)?;
    module.add_function(wrap_pyfunction!(rule::_rule_from_parts, module)?)?;
    module.add_function(wrap_pyfunction!(node::_node_test_from_json, module)?)?;
    module.add_function(wrap_pyfunction!(node::_node_of, module)?)?;
    module.add_function(wrap_pyfunction!(result::_progress_from_parts, module)?)?;
    module.add_function(wrap_pyfunction!(result::_result_from_parts, module)?)?;
    module.add_function(wrap_pyfunction!(greedy::_greedy_result_from_parts, module)?)?;
    module.add_function(wrap_pyfunction!(subset_result::_distinct_counts_from_parts, module)?)?;
    module.add_function(wrap_pyfunction!(subset_result::_subset_progress_from_parts, module)?)?;
    module.add_function(wrap_pyfunction!(subset_result::_removal_from_parts, module)?)?;
    module.add_function(wrap_pyfunction!(subset_result::_subset_result_from_parts, module)?)?;
    module.add_function(wrap_pyfunction!(distinct_trees::_distinct_tree_from_json, module)?)?;
    // PyO3 would list the helpers for pickle there, too; `lattree/__init__.py` says what is public.
    module.delattr("__all__")
}
