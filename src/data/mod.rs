//! One data model for every search: a [`Schema`], typed columns, a target, counts and weights.

pub mod binarize;
pub mod dataset;
pub mod schema;
pub mod split;

pub use binarize::{Binarizer, Nominal, OwnTests, Thresholds};
pub use dataset::{Column, Dataset, Target, Value};
pub use schema::{Feature, Kind, Labels, Number, Schema, TargetSchema, Task};
