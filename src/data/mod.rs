//! The table that searches learn from and trees predict on, and the tests that its columns offer.
//!
//! ```text
//! schema      what the columns mean: names, kinds, levels, class labels      dataset    typed columns, target, weights
//! test        the tests that can be asked of a cell                          split      train and test parts, folds
//! binarize    which tests a table offers: cuts, levels, missing values       binary     distinct rows of 0/1 tests
//! thresholds  a sorted column, and where to cut it                           ranked     distinct rows of ranks
//! notation    which constant to write between two values                     offered    the tests alone, as a list
//! bit_planes, byte_matrix, interner, sorting, serde_float: how these are stored, sorted and numbered
//! ```

pub mod binarize;
pub mod binary;
mod bit_planes;
mod byte_matrix;
pub mod dataset;
mod equal_rows;
mod interner;
mod notation;
#[cfg(any(feature = "python", test))]
mod offered;
pub mod ranked;
pub mod schema;
pub(crate) mod serde_float;
mod sorting;
pub mod split;
mod test;
mod thresholds;

pub use binarize::{Binarizer, MissingTests, Nominal, Thresholds};
pub use binary::BinaryTable;
pub(crate) use byte_matrix::ByteMatrix;
pub use dataset::{CaseCosts, Column, Dataset, Target, Value};
pub(crate) use equal_rows::equal_rows;
pub(crate) use notation::Notation;
#[cfg(feature = "python")]
pub(crate) use offered::{list_tests, passes};
pub use ranked::RankedTable;
pub use schema::{Feature, Kind, Labels, NumericType, Schema, TargetSchema, Task};
pub(crate) use sorting::Sorter;
pub use test::{Test, Threshold};
pub(crate) use thresholds::Ordered;
