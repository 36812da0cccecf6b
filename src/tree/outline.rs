//! A tree as a list of entries, which is what every export walks over: no export recurses, however deep the tree.

use super::{MissingPolicy, Node, Split, Tree};
use crate::data::Value;

/// A node as an export shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    /// Its index.
    pub node: usize,
    /// The node above it and the branch that leads here; none for the root.
    pub parent: Option<(usize, usize)>,
    /// Splits above it.
    pub depth: usize,
    /// How many internal nodes stand in for here, where the tree was cut off; 0 where the node itself is shown.
    pub hidden: usize,
}

impl Tree {
    /// The nodes in preorder; below `max_depth` splits each subtree becomes one entry that counts what it hides.
    ///
    /// Complexity: O(nodes).
    pub(super) fn outline(&self, max_depth: Option<usize>) -> Vec<Entry> {
        let mut entries = Vec::new();
        let mut pending = vec![Entry { node: 0, parent: None, depth: 0, hidden: 0 }];
        while let Some(mut entry) = pending.pop() {
            if let Node::Split(split) = &self.nodes[entry.node] {
                if max_depth.is_some_and(|max| entry.depth >= max) {
                    // In preorder a subtree ends where the next pending one begins.
                    let end = pending.last().map_or(self.nodes.len(), |next| next.node);
                    entry.hidden = self.nodes[entry.node..end].iter().filter(|n| matches!(n, Node::Split(_))).count();
                } else {
                    pending.extend(split.children.iter().enumerate().rev().map(|(branch, &child)| Entry {
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

    /// The one branch that a case without a value takes at a split that does not ask for that; `None` where it takes
    /// all of them that have mass.
    pub(super) fn without_value(&self, split: &Split) -> Option<usize> {
        match self.policies.missing {
            MissingPolicy::Fractional if split.masses.iter().any(|&mass| mass > 0.0) => None,
            _ => Some(split.default as usize),
        }
    }

    /// As [`Tree::without_value`], also at splits that do ask for it.
    pub(super) fn way_without_value(&self, split: &Split) -> Option<usize> {
        split.test.branch(Value::Missing).or_else(|| self.without_value(split))
    }

    /// Whether a case without a value may go down a branch.
    fn lets_in(&self, split: &Split, branch: usize) -> bool {
        match self.way_without_value(split) {
            Some(way) => branch == way,
            None => split.masses[branch] > 0.0,
        }
    }

    /// What the exports say of missing values: per node, the branch whose condition ends in "or missing". None at
    /// leaves, where the test asks for missing values itself, where a case without a value goes down all branches, and
    /// where no such case can come, as it took another branch further up.
    ///
    /// Complexity: O(nodes + features).
    pub(super) fn ways(&self) -> Vec<Option<usize>> {
        let mut ways = vec![None; self.nodes.len()];
        // Per feature: how many branches of the path let no case in that lacks its value; and which these are.
        let mut shut = vec![0u32; self.schema.features.len()];
        let mut path: Vec<(usize, u32)> = Vec::new();
        for entry in self.outline(None) {
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
                ways[entry.node] = self.without_value(split);
            }
        }
        ways
    }
}

/// `... (3 nodes)`: what is shown in place of hidden nodes.
pub(super) fn hidden_words(hidden: usize) -> String {
    format!("... ({hidden} node{})", if hidden == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::super::{MissingPolicy, Policies, Test, Tree, sample};

    #[test]
    fn whole_trees_are_listed_in_preorder() {
        let entries = sample::iris().outline(None);
        assert_eq!(entries.iter().map(|e| e.node).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        assert_eq!(entries.iter().map(|e| e.depth).collect::<Vec<_>>(), [0, 1, 1, 2, 2]);
        assert_eq!(entries[3].parent, Some((2, 0)));
        assert!(entries.iter().all(|e| e.hidden == 0));
    }

    #[test]
    fn fault_d_a_missing_value_is_told_its_way_wherever_it_can_come() {
        let x = |t| sample::below(0, t);
        let tree = |policies| {
            let nodes = vec![
                sample::split(x(4.0), &[1, 4], &[2.0, 4.0], 1),
                sample::split(x(2.0), &[2, 3], &[1.0, 1.0], 0), // it went the other way
                sample::leaf(0),
                sample::leaf(1),
                sample::split(x(6.0), &[5, 8], &[2.0, 2.0], 0),
                sample::split(Test::Missing { feature: 0 }, &[6, 7], &[0.0, 0.0], 1), // it is asked
                sample::leaf(0),
                sample::leaf(1),
                sample::split(sample::below(1, 0.0), &[9, 10], &[0.0, 0.0], 1), // another column
                sample::leaf(0),
                sample::leaf(1),
            ];
            Tree::new(sample::schema(), policies, nodes).unwrap()
        };
        let at = |policies| tree(policies).ways().into_iter().enumerate().filter_map(|(i, way)| way.map(|w| (i, w)));
        assert_eq!(at(sample::DEFAULT).collect::<Vec<_>>(), [(0, 1), (4, 0), (8, 1)]);
        let fractional = Policies { missing: MissingPolicy::Fractional, ..sample::DEFAULT };
        assert_eq!(at(fractional).collect::<Vec<_>>(), [(8, 1)]); // without mass to share by, it is the default
    }

    #[test]
    fn cut_subtrees_count_what_they_hide() {
        let entries = sample::iris().outline(Some(1));
        assert_eq!(entries.iter().map(|e| (e.node, e.hidden)).collect::<Vec<_>>(), [(0, 0), (1, 0), (2, 1)]);
        assert_eq!(sample::chain(50).outline(Some(10)).iter().map(|e| e.hidden).sum::<usize>(), 40);
        assert_eq!(sample::iris().outline(Some(0))[0].hidden, 2);
        assert_eq!(sample::iris_leaf().outline(Some(0))[0].hidden, 0);
    }
}
