//! # lattree: decision trees that are provably best
//!
//! Trees are grown over one kind of object and asked the same two questions of data: *which cases are here* and *how
//! good is a test on them*. So there is one data model, one tree model, one notion of cost and bound, one budget (time,
//! memory, interrupt) and one shape of result. There are three searches: [`optimal`], which proves its tree best;
//! [`greedy`], which grows one as C4.5 and CART do; and [`subsets`], which grows one for each subset of the features that
//! matters.
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
//! *case*: a row, as often as its count says. *node*: an internal node. *depth*: splits from root to leaf; 0 is a single
//! leaf. *test*: a question about one column that a case passes or fails. *mass*: count times weight. *cost*: the mass a
//! tree gets wrong, and its penalty. *incumbent*: the best tree so far. *lower bound*: what no tree can undercut.
//! *min_leaf*: the fewest cases in a branch of a split. *gain*: what a greedy split takes off the impurity of its cases.
//!
//! # Map
//!
//! ```text
//! python -> optimal, subsets -> greedy -> objective, constraint, criterion, threads -> data, tree -> budget, bits, simd, error -> names
//! ```
//!
//! Arrows go one way; [`data`] and [`tree`] share their words, a value and a test. [`tree`] does not know how it was
//! grown, [`data`] not who reads it; nothing but the `python` feature knows Python; only searches start threads.

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
