//! A tree as a list of its nodes in preorder. All exports walk over this list, so none recurses, however deep the tree.

use super::{MissingPolicy, Node, Split, Tree};
use crate::data::Value;

/// A node in the list that exports walk over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PreorderNode {
    /// Its index among the nodes of the tree.
    pub node: usize,
    /// The node above it and the branch that leads here; none for the root.
    pub parent: Option<(usize, usize)>,
    /// Splits above it.
    pub depth: usize,
    /// If the tree is cut off here, the number of internal nodes of the subtree; 0 if the node itself is shown.
    pub hidden: usize,
}

impl Tree {
    /// The nodes in preorder; below `max_depth` splits each subtree becomes one entry with the number of its internal
    /// nodes.
    ///
    /// Complexity: O(nodes).
    pub(super) fn preorder(&self, max_depth: Option<usize>) -> Vec<PreorderNode> {
        let mut entries = Vec::new();
        let mut pending = vec![PreorderNode { node: 0, parent: None, depth: 0, hidden: 0 }];
        while let Some(mut entry) = pending.pop() {
            if let Node::Split(split) = &self.nodes[entry.node] {
                if max_depth.is_some_and(|max| entry.depth >= max) {
                    // In preorder a subtree ends where the next pending one begins.
                    let end = pending.last().map_or(self.nodes.len(), |next| next.node);
                    entry.hidden = self.nodes[entry.node..end].iter().filter(|n| matches!(n, Node::Split(_))).count();
                } else {
                    pending.extend(split.children.iter().enumerate().rev().map(|(branch, &child)| PreorderNode {
                        node: child as usize,
                        parent: Some((entry.node, branch)),
                        depth: entry.depth + 1,
                        hidden: 0,
                    }));
                }
            }
            entries.push(entry);
        }
        entries
    }

    /// The branch that a missing value takes at a split whose test does not ask for missing values; `None` if the case
    /// goes down all branches that have mass.
    pub(super) fn default_branch(&self, split: &Split) -> Option<usize> {
        match self.policies.missing {
            MissingPolicy::Fractional if split.masses.iter().any(|&mass| mass > 0.0) => None,
            _ => Some(split.default as usize),
        }
    }

    /// As [`Tree::default_branch`], also at splits whose test asks for missing values.
    pub(super) fn missing_branch(&self, split: &Split) -> Option<usize> {
        split.test.branch(Value::Missing).or_else(|| self.default_branch(split))
    }

    /// Whether a missing value may take a branch.
    fn lets_in(&self, split: &Split, branch: usize) -> bool {
        match self.missing_branch(split) {
            Some(only) => branch == only,
            None => split.masses[branch] > 0.0,
        }
    }

    /// For each node the branch whose condition says "or missing". None at leaves, where the test itself asks for
    /// missing values, where a missing value goes down all branches, and where none can come, since it took another
    /// branch further up.
    ///
    /// Complexity: O(nodes + features).
    pub(super) fn or_missing_branches(&self) -> Vec<Option<usize>> {
        let mut branches = vec![None; self.nodes.len()];
        // For each feature the number of branches on the path that no missing value takes; and for each branch of the
        // path its feature and what it added.
        let mut shut = vec![0u32; self.schema.features.len()];
        let mut path: Vec<(usize, u32)> = Vec::new();
        for entry in self.preorder(None) {
            if let Some((parent, branch)) = entry.parent
                && let Node::Split(split) = &self.nodes[parent]
            {
                path.drain(entry.depth - 1..).for_each(|(feature, by)| shut[feature] -= by);
                let (feature, by) = (split.test.feature() as usize, u32::from(!self.lets_in(split, branch)));
                shut[feature] += by;
                path.push((feature, by));
            }
            if let Node::Split(split) = &self.nodes[entry.node]
                && !split.test.asks_missing()
                && shut[split.test.feature() as usize] == 0
            {
                branches[entry.node] = self.default_branch(split);
            }
        }
        branches
    }
}

/// `... (3 nodes)`, the text for a subtree that is cut off.
pub(super) fn hidden_words(hidden: usize) -> String {
    format!("... ({hidden} node{})", if hidden == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::super::{MissingPolicy, Policies, Test, Tree, fixtures};

    #[test]
    fn whole_trees_are_listed_in_preorder() {
        let entries = fixtures::iris().preorder(None);
        assert_eq!(entries.iter().map(|e| e.node).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        assert_eq!(entries.iter().map(|e| e.depth).collect::<Vec<_>>(), [0, 1, 1, 2, 2]);
        assert_eq!(entries[3].parent, Some((2, 0)));
        assert!(entries.iter().all(|e| e.hidden == 0));
    }

    #[test]
    fn fault_d_a_missing_value_is_told_its_way_wherever_it_can_come() {
        let x = |t| fixtures::below(0, t);
        let tree = |policies| {
            let nodes = vec![
                fixtures::split(x(4.0), &[1, 4], &[2.0, 4.0], 1),
                fixtures::split(x(2.0), &[2, 3], &[1.0, 1.0], 0), // it went the other way
                fixtures::leaf(0),
                fixtures::leaf(1),
                fixtures::split(x(6.0), &[5, 8], &[2.0, 2.0], 0),
                fixtures::split(Test::Missing { feature: 0 }, &[6, 7], &[0.0, 0.0], 1), // it is asked
                fixtures::leaf(0),
                fixtures::leaf(1),
                fixtures::split(fixtures::below(1, 0.0), &[9, 10], &[0.0, 0.0], 1), // another column
                fixtures::leaf(0),
                fixtures::leaf(1),
            ];
            Tree::new(fixtures::schema(), policies, nodes).unwrap()
        };
        let at = |policies| {
            let branches = tree(policies).or_missing_branches();
            branches.into_iter().enumerate().filter_map(|(node, branch)| branch.map(|branch| (node, branch)))
        };
        assert_eq!(at(fixtures::DEFAULT).collect::<Vec<_>>(), [(0, 1), (4, 0), (8, 1)]);
        let fractional = Policies { missing: MissingPolicy::Fractional, ..fixtures::DEFAULT };
        assert_eq!(at(fractional).collect::<Vec<_>>(), [(8, 1)]); // without mass to share by, it is the default
    }

    #[test]
    fn cut_subtrees_count_what_they_hide() {
        let entries = fixtures::iris().preorder(Some(1));
        assert_eq!(entries.iter().map(|e| (e.node, e.hidden)).collect::<Vec<_>>(), [(0, 0), (1, 0), (2, 1)]);
        assert_eq!(fixtures::chain(50).preorder(Some(10)).iter().map(|e| e.hidden).sum::<usize>(), 40);
        assert_eq!(fixtures::iris().preorder(Some(0))[0].hidden, 2);
        assert_eq!(fixtures::iris_leaf().preorder(Some(0))[0].hidden, 0);
    }
}
