//! Optimal trees: of all trees over the tests offered, within the limits given, one of least cost, and the proof.
//!
//! # The search
//!
//! 1. `search`: an [`Objective`](crate::objective::Objective) says what labels cost, `offered` which tests there are and which
//!    engine takes them. `label_masses`: what each label saves in each set of equal rows, which the engines see as the
//!    masses of classes.
//! 2. `continuous`: the engine for columns of many values, on all thresholds.
//! 3. `run`: the engines over 0/1 tests, on a [`BinaryTable`](crate::data::BinaryTable) made into a `problem`: `binary`, if what it
//!    needs fits into memory; else `reference`, against which the others are tested. What is solved goes to a `cache`.
//! 4. `driver`: what is asked of an engine, from first trees to the proof and the tree that users get. `bound_check`: why
//!    bounds hold.
//! 5. `to_tree`: masses and labels for that tree, whose tests an engine found from least costs alone.
//! 6. `progress`: the incumbent and the bound, at any moment. `fallback`: a greedy tree, where a limit left none that is better.
//!
//! Threads share the tests of a node; the incumbent, the bounds and the cache are common to all. Differences from the
//! papers: costs are integers of any number of labels, not counts of two classes; the similarity bound comes from the
//! pair counts of a node rather than from an archive of earlier sets.

mod binary;
mod bound_check;
mod cache;
mod continuous;
mod driver;
mod fallback;
mod label_masses;
mod offered;
mod params;
mod problem;
mod progress;
mod reference;
mod run;
mod search;
mod shape;
mod to_tree;

#[doc(hidden)]
pub use binary::bench_hooks::Measure;
pub use cache::CacheKind;
pub use offered::OfferedTests;
pub use params::{Checked, Counting, Effort, Engine, Params, Rank, RootOrder, Switches};
pub use progress::{Board, Progress};
#[doc(hidden)]
pub use search::measure_parts;
pub use search::{Outcome, search, search_objective};
