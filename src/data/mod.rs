//! One data model for every search: a [`Schema`], typed columns, a target, counts and weights.

pub mod binarize;
pub mod binary;
mod codes;
pub mod dataset;
#[cfg(any(feature = "python", test))]
mod listing;
mod notation;
mod numbering;
pub mod ranked;
pub mod schema;
mod sorting;
pub mod split;
mod thresholds;

pub use binarize::{Binarizer, Nominal, OwnTests, Thresholds};
pub use binary::BinaryTable;
pub use dataset::{CaseCosts, Column, Dataset, Target, Value};
#[cfg(feature = "python")]
pub(crate) use listing::{list_tests, passes};
pub(crate) use notation::Notation;
pub use ranked::RankedTable;
pub use schema::{Feature, Kind, Labels, Number, Schema, TargetSchema, Task};
pub(crate) use sorting::Sorter;
pub(crate) use thresholds::Ordered;
