//! What searches over many greedy trees (`crate::subsets`) use of growth: the training table, case sets and their
//! partition, cached splits, and the way to public trees. Everything else in `greedy` is private.

pub(crate) use super::case_set::CaseSet;
pub(crate) use super::data::{GrowthData, TrainingColumn};
pub(crate) use super::dispatch::{bytes as impurity_bytes, dispatch};
pub(crate) use super::growth::{GrownNode, GrownSplit, Growth};
pub(crate) use super::params::{check_target, checked_costs};
pub(crate) use super::partition::{BranchCases, Partitioner};
pub(crate) use super::split_cache::SplitCache;
pub(crate) use super::split_evaluator::{CasesToSplit, NewEvaluator, SplitEvaluator};
pub(crate) use super::to_tree::{have_equal_costs, mass_value, single_leaf, to_tree};
pub(crate) use super::types::{CodedTest, MISSING, MassByClass};
