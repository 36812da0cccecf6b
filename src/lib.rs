//! # lattree: decision trees that are provably best
//!
//! There are three searches. [`optimal`] finds a tree of least cost and proves it; [`greedy`] grows one from the root
//! as C4.5 and CART do; [`subsets`] searches the greedy trees over all subsets of the features. They share one data
//! model ([`data`]), one tree model ([`tree`]), one budget of time and memory that can be cancelled ([`budget`]), and
//! one shape of result.
//!
//! ```
//! use std::sync::Arc;
//! use lattree::data::{Column, Dataset, Feature, Kind, Labels, NumericType, Schema, Target, TargetSchema, Task};
//! use lattree::optimal::{Board, Params, search};
//!
//! # fn main() -> lattree::Result<()> {
//! let age = Feature { name: "age".into(), kind: Kind::Continuous(NumericType::Integer), dtype: String::new() };
//! let labels = Labels::Strings(vec!["no".into(), "yes".into()]);
//! let target = TargetSchema { name: "buys".into(), task: Task::Classes(labels), dtype: String::new() };
//! let schema = Arc::new(Schema { features: vec![age], target: Some(target) }.checked()?);
//! let ages = Column::Integers { values: vec![23, 31, 40, 58], missing: None };
//! let data = Dataset::new(schema, vec![ages], 4, Target::Classes(vec![0, 1, 1, 0].into()), None, None)?;
//!
//! let params = Params { max_depth: 2, ..Params::default() }.checked()?;
//! let found = search(&data, &params, &params.budget(), &Board::new())?;
//! let expected = "age <= 27: no (1)\nage > 27 or missing\n|   age <= 50 or missing: yes (2)\n|   age > 50: no (1)";
//! assert_eq!(found.tree.to_text(None), expected);
//! # Ok(())
//! # }
//! ```
//!
//! # Words
//!
//! *case*: a row, as often as its count says. *node*: an internal node. *depth*: splits from root to leaf; 0 is a
//! single leaf. *test*: a question about one column that a case passes or fails. *mass*: count times weight. *cost*:
//! what is minimised, such as the mass of the cases that a tree gets wrong, and its penalty. *incumbent*: the best tree
//! so far. *lower bound*: no tree costs less. *min_leaf*: the fewest cases in a branch of a split. *gain*: by how much
//! a greedy split lowers the impurity of its cases.
//!
//! # Map
//!
//! Each layer uses those below it:
//!
//! ```text
//! python                             the Python module, behind the feature of that name
//! optimal, subsets                   searches, which also start the threads
//! greedy                             the search that the two above build on
//! objective, constraint, criterion, threads
//! tree                               trees, predictions, exports
//! data                               tables, and the tests that they offer
//! budget, bits, simd, scale, error, names
//! ```
//!
//! A tree does not know how it was grown, nor data who reads them, and nothing but `python` knows Python.

pub mod bits;
pub mod budget;
pub mod constraint;
pub mod criterion;
pub mod data;
pub mod error;
pub mod greedy;
mod names;
pub mod objective;
pub mod optimal;
mod scale;
mod simd;
pub mod subsets;
mod threads;
pub mod tree;

#[cfg(feature = "python")]
mod python;

pub use error::{Error, Result};
