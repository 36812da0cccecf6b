//! Searches over subsets of the features against brute force: a greedy tree for each of the 2^N subsets, and the
//! algorithms of S. Ruggieri, *Complete search for feature selection in decision trees*, JMLR 20, 2019, word by word.
//!
//! `LATTREE_PROBLEMS=100000 LATTREE_FIRST=0 cargo test --release --test subsets -- --nocapture` runs as many random
//! problems as wanted from a first seed on.

#![allow(clippy::mutable_key_type)] // what a tree keeps for predictions is no part of its equality and hash

mod common;

#[path = "subsets/acceptable.rs"]
mod acceptable;
#[path = "subsets/bounds.rs"]
mod bounds;
#[path = "subsets/brute.rs"]
mod brute;
#[path = "subsets/calls.rs"]
mod calls;
#[path = "subsets/distinct.rs"]
mod distinct;
#[path = "subsets/eliminate.rs"]
mod eliminate;
#[path = "subsets/exact.rs"]
mod exact;
#[path = "subsets/judge.rs"]
mod judge;
#[path = "subsets/problem.rs"]
mod problem;
#[path = "subsets/stopped.rs"]
mod stopped;
#[path = "subsets/textbook.rs"]
mod textbook;
#[path = "subsets/visit.rs"]
mod visit;
