//! # lattree
//!
//! Decision trees, three ways: grown greedily, over all feature subsets, or provably optimal.

pub mod bits;
pub mod budget;
pub mod constraint;
pub mod data;
pub mod error;
pub mod objective;
pub mod optimal;
mod threads;
pub mod tree;

#[cfg(feature = "python")]
mod python;

pub use error::{Error, Result};
