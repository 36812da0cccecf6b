//! Greedy trees over subsets of the features: all distinct trees, the best subset, and backward elimination.
//!
//! DT(S) is the tree that [`greedy`](crate::greedy) grows over the features S. Two properties of it are what every
//! search here builds on (S. Ruggieri, *Complete search for feature selection in decision trees*, JMLR 20, 2019,
//! section 4.1; "the paper" below): the split of a node is the best of a total order that does not depend on S
//! (Assumption 4), and a leaf remains a leaf over fewer features (Assumption 5). So DT(S') = DT(S) wherever
//! features(DT(S)) ⊆ S' ⊆ S (Lemma 6): removing a feature that a tree does not use leaves the tree as it is.
//!
//! # Searches
//!
//! | search | in the paper | here |
//! |---|---|---|
//! | [`distinct()`], [`count`] | DTdistinct, Algorithm 2 | `dt_distinct` in `distinct::visit` |
//! | [`acceptable`] | DTaccept, Algorithm 3; greedy, Algorithm 4 | `dt_accept`, `greedy_delta` in `accept::worker` |
//! | [`eliminate`] | SBE and DTsbe, section 6 | `black_box` in `backward`, `dt_sbe` in `backward::white_box` |
//! | [`exhaust`] | exhaustive search, the subsets of Algorithm 1 | `exhaustive` |
//!
//! # Map
//!
//! - Input and output: `params`, `outcome`, `progress`.
//! - Shared by all searches: `context` (the coded table and what all workers share), `feature_set`, `sublattice` (the
//!   pairs R, S of the paper), `frontier` (the order in which features are removed), `stack` (how deep trees may be).
//! - Errors and what is minimised: `error_estimator`, `holdout` (the cases that trees are tested on), `pessimistic`
//!   (C4.5's estimate), `error_units`, `objective` (error and penalty of features in integers).
//! - `case_graph`: case sets, their splits, and the trees on them, which share subtrees; lower bounds on parts of the
//!   lattice.
//! - The searches: `distinct`, `accept`, `backward`, `exhaustive`.
//!
//! docs/subsets.md tells the whole in words.

mod accept;
mod backward;
mod case_graph;
mod context;
mod distinct;
mod error_estimator;
mod error_units;
mod exhaustive;
mod feature_set;
mod frontier;
mod holdout;
mod objective;
mod outcome;
mod params;
mod pessimistic;
mod progress;
mod setup;
mod stack;
mod sublattice;

pub use accept::acceptable;
pub use backward::eliminate;
pub use distinct::{Counts, DistinctTree, count, distinct};
pub use exhaustive::exhaust;
pub use outcome::{Outcome, Removal, Stats};
pub use params::{Checked, Estimator, Goal, Order, Params};
pub use progress::{Board, Progress};
