//! A tree as a list of entries, which is what every export walks over: no export recurses, however deep the tree.

use super::{Node, Tree};

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

    /// The words of the branch that leads from a node to its child. Panics if the node is a leaf.
    pub(super) fn branch_words(&self, (node, branch): (usize, usize)) -> String {
        match &self.nodes[node] {
            Node::Split(split) => super::condition(&self.schema, split, branch),
            Node::Leaf(_) => unreachable!("only splits are parents"),
        }
    }
}

/// `... (3 nodes)`: what is shown in place of hidden nodes.
pub(super) fn hidden_words(hidden: usize) -> String {
    format!("... ({hidden} node{})", if hidden == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::super::sample;

    #[test]
    fn whole_trees_are_listed_in_preorder() {
        let entries = sample::iris().outline(None);
        assert_eq!(entries.iter().map(|e| e.node).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        assert_eq!(entries.iter().map(|e| e.depth).collect::<Vec<_>>(), [0, 1, 1, 2, 2]);
        assert_eq!(entries[3].parent, Some((2, 0)));
        assert!(entries.iter().all(|e| e.hidden == 0));
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
