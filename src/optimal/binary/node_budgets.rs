//! Node budgets: a node of the search is asked for the least costs under several budgets at once.
//!
//! Where the budget does not bind there is one *level*, the cost with all nodes that the depth allows. Where it does,
//! level k is the cost with at most k nodes, and a split combines the levels i and j of its branches, i + j = k - 1.

use smallvec::SmallVec;

use crate::constraint::full;

/// A cost per level; few unless nodes are counted in deep trees.
pub(super) type BudgetCosts = SmallVec<[u64; 4]>;

/// What is asked of a node.
#[derive(Debug, Clone)]
pub(super) struct BudgetQuery {
    pub(super) depth: u32,
    pub(super) levels: NodeBudgets,
    pub(super) cutoffs: BudgetCosts,
    /// What is known: no value is below.
    pub(super) floors: BudgetCosts,
}

/// The budgets that a node is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeBudgets {
    /// As many nodes as the depth allows.
    Free,
    /// At most 0, 1, ... up to this many nodes.
    UpTo(usize),
}

impl NodeBudgets {
    /// Those of a tree of this depth and number of nodes, of which the last is the one asked for.
    pub(super) fn new(depth: u32, nodes: u64) -> Self {
        if nodes >= full(depth) { NodeBudgets::Free } else { NodeBudgets::UpTo(nodes as usize) }
    }

    /// How many there are.
    pub(super) fn len(self) -> usize {
        match self {
            NodeBudgets::Free => 1,
            NodeBudgets::UpTo(most) => most + 1,
        }
    }

    /// The last one.
    pub(super) fn top(self) -> usize {
        self.len() - 1
    }

    /// The level of a branch or tree that may use this many nodes.
    pub(super) fn of(self, nodes: u64) -> usize {
        (nodes as usize).min(self.top())
    }

    /// How many levels of the branches of a node are known exactly, from its trees of depth two: those of a leaf and of
    /// a stump.
    pub(super) fn n_known(self) -> usize {
        self.first(2)
    }

    /// How many levels of a node are settled by its trees of depth two: trees of at most two nodes are no deeper.
    pub(super) fn n_shallow(self) -> usize {
        self.first(3)
    }

    fn first(self, levels: usize) -> usize {
        match self {
            NodeBudgets::Free => 0,
            NodeBudgets::UpTo(_) => levels.min(self.len()),
        }
    }

    /// The nodes that a tree of this depth may have at a level.
    pub(super) fn nodes(self, depth: u32, level: usize) -> u64 {
        match self {
            NodeBudgets::Free => full(depth),
            NodeBudgets::UpTo(_) => level as u64,
        }
    }

    /// Those of the branches of a tree of this depth.
    pub(super) fn branch(self, depth: u32) -> Self {
        match self {
            NodeBudgets::Free => NodeBudgets::Free,
            NodeBudgets::UpTo(most) => NodeBudgets::UpTo((most.max(1) - 1).min(full(depth - 1) as usize)),
        }
    }

    /// The pairs of branch levels that make up a level of a split, given the branches' levels.
    pub(super) fn pairs(self, level: usize, branch: NodeBudgets) -> impl Iterator<Item = (usize, usize)> + Clone {
        let (range, sum) = match self {
            NodeBudgets::Free => (0..1, 0),
            NodeBudgets::UpTo(_) if level == 0 => (0..0, 0),
            NodeBudgets::UpTo(_) => {
                let sum = (level - 1).min(2 * branch.top());
                (sum.saturating_sub(branch.top())..sum.min(branch.top()) + 1, sum)
            }
        };
        range.map(move |first| (first, sum - first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_use_up_the_nodes() {
        let levels = NodeBudgets::new(3, 5);
        let branch = levels.branch(3);
        assert_eq!((levels, branch), (NodeBudgets::UpTo(5), NodeBudgets::UpTo(3)));
        assert_eq!(levels.pairs(0, branch).count(), 0);
        assert_eq!(levels.pairs(1, branch).collect::<Vec<_>>(), [(0, 0)]);
        assert_eq!(levels.pairs(5, branch).collect::<Vec<_>>(), [(1, 3), (2, 2), (3, 1)]);
        assert_eq!(NodeBudgets::new(3, 7), NodeBudgets::Free);
        assert_eq!(NodeBudgets::Free.pairs(0, NodeBudgets::Free).collect::<Vec<_>>(), [(0, 0)]);
    }
}
