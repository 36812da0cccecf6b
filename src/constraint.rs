//! Which trees an exact search may choose from, and what each limit implies for the others.
//!
//! `min_leaf` and `min_leaf_mass` restrict *splits*: the single leaf is always admissible. A test that all cases of a
//! node pass, or all fail, is no split.

use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::objective::Units;

/// Limits on depth, internal nodes and cases per leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Constraints {
    /// The longest path from the root to a leaf, in splits; 0 is a single leaf.
    pub max_depth: u32,
    /// The most internal nodes.
    pub max_nodes: u64,
    /// The least support of a branch of a split: cases (repetitions counted), or units of mass.
    pub min_leaf: u64,
    /// Whether support is mass.
    of_mass: bool,
}

impl Constraints {
    /// The greatest depth: beyond it no exact search ends.
    pub const MAX_DEPTH: u32 = 20;

    /// Checks ranges; `max_nodes: None` means as many as the depth allows.
    pub fn checked(max_depth: u32, max_nodes: Option<u64>, min_leaf: u64) -> Result<Self> {
        let invalid =
            |name, expected: &str, got: String| Err(Error::InvalidParameter { name, expected: expected.into(), got });
        if max_depth > Self::MAX_DEPTH {
            return invalid("max_depth", "from 0 to 20", max_depth.to_string());
        }
        if min_leaf == 0 {
            return invalid("min_leaf", "at least 1", "0".into());
        }
        let max_nodes = max_nodes.unwrap_or(u64::MAX).min(full(max_depth));
        Ok(Constraints { max_depth, max_nodes, min_leaf, of_mass: false })
    }

    /// The same with support as mass, unless `min_leaf_mass` is 0.
    pub fn with_mass(self, min_leaf_mass: f64, units: &Units) -> Self {
        match min_leaf_mass {
            0.0 => self,
            mass => Constraints { min_leaf: units.at_least(mass), of_mass: true, ..self },
        }
    }

    /// What a row adds to the support of a branch.
    pub fn support(&self, data: &Dataset, units: &Units, row: usize) -> u64 {
        if self.of_mass { units.mass(data, row) } else { data.count(row) }
    }
}

/// Checks the least mass of a branch, which takes the place of the fewest cases.
pub fn check_min_leaf_mass(min_leaf_mass: f64, counts_cases: bool) -> Result<()> {
    let expected = match min_leaf_mass {
        mass if !(mass.is_finite() && mass >= 0.0) => "finite and not negative",
        mass if mass > 0.0 && counts_cases => "0 where cases are counted by `min_leaf`, `min_cases` or `min_branch`",
        _ => return Ok(()),
    };
    let (name, got) = ("min_leaf_mass", min_leaf_mass.to_string());
    Err(Error::InvalidParameter { name, expected: expected.into(), got })
}

/// The most internal nodes of a tree of this depth.
pub fn full(depth: u32) -> u64 {
    (1 << depth) - 1
}

/// The limits that a subtree can make use of: n nodes reach no depth beyond n, depth d holds no more than 2^d - 1
/// nodes.
pub fn usable(depth: u32, nodes: u64) -> (u32, u64) {
    let depth = u64::from(depth).min(nodes) as u32;
    (depth, nodes.min(full(depth)))
}

/// The ways to give the nodes left under a split to its two branches, of depth `depth - 1` each, in ascending order of
/// the first branch's share. Where the budget does not bind there is one: all that each can use.
pub fn shares(depth: u32, nodes: u64, every: bool) -> impl Iterator<Item = (u64, u64)> {
    let (most, left) = (full(depth - 1), nodes - 1);
    let free = left >= 2 * most;
    // Shares below `left - most` waste nodes of the second branch: they matter only to who asks for the smallest first.
    let smallest = if free {
        most
    } else if every {
        0
    } else {
        left.saturating_sub(most)
    };
    (smallest..=left.min(most)).map(move |first| (first, (left - first).min(most)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_use_up_the_nodes() {
        assert_eq!(shares(3, 7, true).collect::<Vec<_>>(), [(3, 3)]);
        assert_eq!(shares(3, 5, false).collect::<Vec<_>>(), [(1, 3), (2, 2), (3, 1)]);
        assert_eq!(shares(3, 5, true).collect::<Vec<_>>(), [(0, 3), (1, 3), (2, 2), (3, 1)]);
        assert_eq!(shares(1, 1, true).collect::<Vec<_>>(), [(0, 0)]);
    }

    #[test]
    fn limits_imply_each_other() {
        assert_eq!(usable(5, 2), (2, 2));
        assert_eq!(usable(2, 9), (2, 3));
        assert_eq!(usable(3, 0), (0, 0));
    }
}
