//! Trees as Graphviz graphs.

use std::fmt::Write;

use crate::tree::format::{branch_words, feature_words, leaf_words, test_words};
use crate::tree::preorder::hidden_words;
use crate::tree::{Node, Test, Tree};

impl Tree {
    /// A graph for the `dot` program: tests in boxes with edges `yes` and `no` (or one per level), leaves rounded.
    ///
    /// The text is valid for any names, and the same for the same tree. `max_depth`, masses, names and missing values
    /// are as in [`Tree::to_text`]: the edge that a case without a value takes says `yes or missing`. Complexity:
    /// O(nodes) lines.
    pub fn to_dot(&self, max_depth: Option<usize>) -> String {
        let mut dot = String::from("digraph tree {\n  node [shape=box, fontname=\"sans-serif\"];\n");
        dot.push_str("  edge [fontname=\"sans-serif\"];\n");
        let mut line = |text: std::fmt::Arguments| writeln!(dot, "  {text};").expect("writing to a string cannot fail");
        let or_missing = self.or_missing_branches();
        for entry in self.preorder(max_depth) {
            let index = entry.node;
            match &self.nodes[index] {
                Node::Leaf(leaf) => line(format_args!(
                    "n{index} [label={}, style=rounded]",
                    quoted(&leaf_words(self.schema.labels(), leaf))
                )),
                Node::Split(_) if entry.hidden > 0 => {
                    line(format_args!("n{index} [label={}, shape=plaintext]", quoted(&hidden_words(entry.hidden))))
                }
                Node::Split(split) => {
                    let label = match split.test {
                        Test::EachLevel { feature } | Test::EachOf { feature, .. } => {
                            feature_words(&self.schema, feature).into_owned()
                        }
                        _ => test_words(&self.schema, &split.test),
                    };
                    line(format_args!("n{index} [label={}]", quoted(&label)))
                }
            }
            if let Some((parent, branch)) = entry.parent {
                let label = match &self.nodes[parent] {
                    Node::Split(split) => match split.test {
                        Test::EachLevel { .. } | Test::EachOf { .. } => {
                            let words = branch_words(&self.schema, split, branch, or_missing[parent]);
                            quoted(words.strip_prefix("is ").unwrap_or(&words))
                        }
                        _ => {
                            let answer = if branch == 0 { "yes" } else { "no" };
                            match or_missing[parent] == Some(branch) {
                                true => quoted(&format!("{answer} or missing")),
                                false => answer.into(),
                            }
                        }
                    },
                    Node::Leaf(_) => unreachable!("only splits are parents"),
                };
                line(format_args!("n{parent} -> n{index} [label={label}]"));
            }
        }
        dot.push_str("}\n");
        dot
    }
}

/// A Graphviz string. [`crate::names`] has escaped invisible characters; this escapes quotes, backslashes (labels have
/// escapes of their own) and ampersands (labels may hold HTML entities).
fn quoted(words: &str) -> String {
    format!("\"{}\"", words.replace('\\', "\\\\").replace('"', "\\\"").replace('&', "&amp;"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tree::fixtures;

    #[test]
    fn iris() {
        let expected = r#"digraph tree {
  node [shape=box, fontname="sans-serif"];
  edge [fontname="sans-serif"];
  n0 [label="petal_length <= 2.45"];
  n1 [label="Iris-setosa (50)", style=rounded];
  n0 -> n1 [label=yes];
  n2 [label="... (1 node)", shape=plaintext];
  n0 -> n2 [label="no or missing"];
}
"#;
        assert_eq!(fixtures::iris().to_dot(Some(1)), expected);
        assert_eq!(fixtures::iris().to_dot(None).lines().count(), 4 + 5 + 4);
        assert!(fixtures::chain(100_000).to_dot(None).ends_with("}\n"));
    }

    #[test]
    fn names_are_escaped() {
        assert_eq!(quoted(r#""g\\h" > "#), r#""\"g\\\\h\" > ""#);
        assert_eq!(quoted("e&amp; <b>"), r#""e&amp;amp; <b>""#);
        let tree = fixtures::stump(Test::EachLevel { feature: 10 }, 3);
        let dot = Tree::new(fixtures::schema(), fixtures::DEFAULT, tree).unwrap().to_dot(None);
        for part in [r#"[label="🌳"]"#, r#"[label="\"{}\" or missing"]"#, r#"[label="\"\\\"\""]"#, r#"[label="🌲"]"#]
        {
            assert!(dot.contains(part), "{part} in {dot}");
        }
    }

    #[test]
    fn edges_of_many_branches_say_what_takes_them() {
        let test = Test::EachOf { feature: 9, levels: vec![0, 3], missing: true };
        let dot = Tree::new(fixtures::schema(), fixtures::DEFAULT, fixtures::stump(test, 4)).unwrap().to_dot(None);
        let labels: Vec<&str> = dot.lines().filter(|line| line.contains("->")).map(str::trim).collect();
        let expected = [
            r#"n0 -> n1 [label="3 speed"];"#,
            r#"n0 -> n2 [label="\"missing\""];"#,
            r#"n0 -> n3 [label="missing"];"#,
            r#"n0 -> n4 [label="not in {3 speed, \"missing\"}"];"#,
        ];
        assert_eq!(labels, expected);
    }

    /// The line without its strings, which are read as Graphviz does: without control characters, and closed on the
    /// line.
    fn outside_of_strings(line: &str) -> String {
        let (mut outside, mut inside, mut chars) = (String::new(), false, line.chars());
        while let Some(c) = chars.next() {
            assert!(!c.is_control());
            match c {
                '"' => inside = !inside,
                '\\' if inside => assert!(matches!(chars.next(), Some('"' | '\\'))),
                _ if inside => {}
                c => outside.push(c),
            }
        }
        assert!(!inside);
        outside
    }

    proptest! {
        #[test]
        fn any_tree_is_a_valid_graph(tree in fixtures::any_tree()) {
            let dot = tree.to_dot(None);
            for line in dot.lines() {
                let plain = outside_of_strings(line);
                prop_assert!(plain.is_ascii() && !plain.contains(['<', '&', '\\', '\n']), "{}", line);
            }
        }
    }
}
