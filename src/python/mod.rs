//! The Python module `lattree._core`: wraps the core, computes nothing itself.
//!
//! Data come in through `lattree._table`, which turns any table into plain arrays; they are copied here, so that the
//! searches never touch Python. Results are plain frozen objects that pickle.

mod argument;
mod binarizer;
mod cells;
mod costs;
mod data;
mod error;
mod greedy;
mod grower;
mod keywords;
mod names;
mod node;
mod offered;
mod progress;
mod result;
mod rule;
mod run;
mod schema;
mod search;
mod stream;
mod subset_result;
mod subset_search;
mod subsets;
mod tree;

use pyo3::prelude::*;

/// Of this module only: a program in Rust chooses its own.
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
    module.add_class::<grower::PyGrower>()?;
    module.add_class::<greedy::PyGreedyResult>()?;
    module.add_class::<greedy::PyGreedyTreeSearch>()?;
    module.add_class::<subset_result::PySubsetProgress>()?;
    module.add_class::<subset_result::PyDistinctCounts>()?;
    module.add_class::<subset_result::PyRemoval>()?;
    module.add_class::<subset_result::PySubsetResult>()?;
    module.add_class::<stream::PyDistinctTree>()?;
    module.add_class::<stream::PyDistinctTrees>()?;
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
    module.add_function(wrap_pyfunction!(stream::_distinct_tree_from_json, module)?)?;
    // PyO3 lists helpers for pickle there too; what is public stands in `lattree/__init__.py`.
    module.delattr("__all__")
}
