//! Trees as indented text, in the manner of C4.5.

use std::fmt::Write;

use crate::tree::format::{branch_condition, leaf_words};
use crate::tree::preorder::hidden_words;
use crate::tree::{Node, Tree};

/// Beyond this many bars the depth is written as a number: else the text of a deep tree would grow with the square of
/// its depth.
const MAX_BARS: usize = 40;

impl Tree {
    /// The tree as indented text, one line per branch, with a leaf on the line of its branch:
    /// `petal_width <= 1.75: Iris-versicolor (54/5)`.
    ///
    /// In parentheses stand the training mass that came to the leaf and, if there are any, the errors among it. Masses
    /// and means have six significant digits, thresholds all of theirs. Below `max_depth` splits a subtree becomes `...
    /// (3 nodes)`. Past 40 levels the depth is written as a number: `[41] `.
    ///
    /// A condition ends in "or missing" if a case without a value takes its branch, whether or not there were such
    /// cases in training. One branch of every node says so, unless the test itself asks for missing values, no such
    /// case can come to the node, or it goes down all branches in proportion to their mass
    /// ([`MissingPolicy::Fractional`](crate::tree::MissingPolicy::Fractional)).
    ///
    /// Names that could be misread, or have invisible characters, are written in double quotes with escapes, so that
    /// the text can be read in one way only.
    ///
    /// There is no newline at the end. Complexity: O(nodes) lines.
    pub fn to_text(&self, max_depth: Option<usize>) -> String {
        let mut text = String::new();
        let or_missing = self.or_missing_branches();
        for entry in self.preorder(max_depth) {
            if let Some((parent, branch)) = entry.parent
                && let Node::Split(split) = &self.nodes[parent]
            {
                if !text.is_empty() {
                    text.push('\n');
                }
                let bars = entry.depth - 1;
                text.extend(std::iter::repeat_n("|   ", bars.min(MAX_BARS)));
                if bars > MAX_BARS {
                    write!(text, "[{bars}] ").expect("writing to a string cannot fail");
                }
                text.push_str(&branch_condition(&self.schema, split, branch, or_missing[parent]));
            }
            let outcome = match &self.nodes[entry.node] {
                Node::Leaf(leaf) => leaf_words(self.schema.labels(), leaf),
                Node::Split(_) if entry.hidden > 0 => hidden_words(entry.hidden),
                Node::Split(_) => continue,
            };
            if entry.parent.is_some() {
                text.push_str(": ");
            }
            text.push_str(&outcome);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tree::{Test, fixtures};

    #[test]
    fn iris() {
        let expected = "\
petal_length <= 2.45: Iris-setosa (50)
petal_length > 2.45 or missing
|   petal width <= 1.75 or missing: Iris-versicolor (54/5)
|   petal width > 1.75: Iris-virginica (46/1)";
        assert_eq!(fixtures::iris().to_text(None), expected);
        assert_eq!(fixtures::iris().to_text(Some(2)), expected);
        assert_eq!(fixtures::iris_leaf().to_text(None), "Iris-setosa (150/100)");
    }

    #[test]
    fn cut_off() {
        let expected = "petal_length <= 2.45: Iris-setosa (50)\npetal_length > 2.45 or missing: ... (1 node)";
        assert_eq!(fixtures::iris().to_text(Some(1)), expected);
        assert_eq!(fixtures::iris().to_text(Some(0)), "... (2 nodes)");
        assert_eq!(fixtures::iris_leaf().to_text(Some(0)), "Iris-setosa (150/100)");
    }

    #[test]
    fn multiway() {
        let test = Test::EachLevel { feature: fixtures::COLOR };
        let tree = Tree::new(fixtures::schema(), fixtures::DEFAULT, fixtures::stump(test, 3)).unwrap();
        let expected = "\
color is red or missing: Iris-setosa (10.5/1.5)
color is green: Iris-versicolor (10.5/1)
color is blue: Iris-virginica (10.5/2.5)";
        assert_eq!(tree.to_text(None), expected);
    }

    #[test]
    fn a_deep_tree_has_a_short_text() {
        let text = fixtures::chain(100_000).to_text(None);
        assert!(text.len() < 100_000_000 && text.lines().count() == 200_000);
        assert!(text.lines().last().unwrap().contains("[99999] petal_length > 99999 or missing: Iris-virginica"));
    }

    proptest! {
        #[test]
        fn one_line_per_branch(tree in fixtures::any_tree()) {
            prop_assert_eq!(tree.to_text(None).lines().count(), (tree.nodes().len() - 1).max(1));
        }
    }
}
