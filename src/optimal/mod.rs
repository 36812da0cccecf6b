//! Optimal trees: of all trees over the tests offered, within the limits given, one of least cost, and the proof.
//!
//! # The search
//!
//! 1. [`crate::data::BinaryTable`]: columns become 0/1 tests; equal rows merge; repeated tests go.
//! 2. `problem`: masses become integers, tests are oriented so that rows are sparse.
//! 3. `dense`: from depth three on, if its pair counts fit into memory.
//! 4. Else the plain search, which is also the reference: `start` gives a greedy tree; then the best trees of depth two,
//!    three and so on give upper bounds. `plain`, `branch`: branch and bound by recursion over root tests. `depth_two`
//!    (over `pairs`) ends the recursion: it finds all best trees of depth two from pair counts (Algorithm 4 of Demirovic
//!    et al., *MurTree*, JMLR 2022). `bounds` and `cache` cut branches short.
//! 5. `rebuild`: the canonical tree, from least costs; `grow` gives it masses and labels.
//! 6. `anytime`: the incumbent and the bound, at any moment.
//!
//! Threads share the tests of a node; the incumbent, the bounds and the cache are common to all. Differences from the
//! paper: costs are integer masses of any number of classes, not counts of two; the similarity bound comes from the pair
//! counts of a node rather than from an archive of earlier sets.

mod binary;
mod cache;
mod continuous;
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
pub use binary::{Counting, Order};
pub use cache::CacheKind;
pub use offered::OfferedTests;
pub use params::{Checked, Engine, Params, Rank, Switches};
pub use progress::{Board, Progress};
#[doc(hidden)]
pub use search::measure_parts;
pub use search::{Outcome, search, search_objective};
