//! Trees as Graphviz graphs.

use std::fmt::Write;

use super::outline::hidden_words;
use super::words::{branch_words, feature_words, leaf_words};
use super::{Node, Test, Tree, test_words};

impl Tree {
    /// A graph for the `dot` program: tests in boxes with edges `yes` and `no` (or one per level), leaves rounded.
    ///
    /// Valid for any names; the same text for the same tree. `max_depth`, masses, names and missing values as in
    /// [`Tree::to_text`]: the edge that a case without a value takes says `yes or missing`. Complexity: O(nodes) lines.
    pub fn to_dot(&self, max_depth: Option<usize>) -> String {
        let mut dot = String::from("digraph tree {\n  node [shape=box, fontname=\"sans-serif\"];\n");
        dot.push_str("  edge [fontname=\"sans-serif\"];\n");
        let mut line = |text: std::fmt::Arguments| writeln!(dot, "  {text};").expect("writing to a string cannot fail");
        let ways = self.ways();
        for entry in self.outline(max_depth) {
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
                            let words = branch_words(&self.schema, split, branch, ways[parent]);
                            quoted(words.strip_prefix("is ").unwrap_or(&words))
                        }
                        _ => {
                            let answer = if branch == 0 { "yes" } else { "no" };
                            match ways[parent] == Some(branch) {
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

/// A Graphviz string. What does not show is escaped by `names.rs` before; what is left are the quote, the backslash
/// (labels have escapes of their own) and the ampersand (labels may hold HTML entities).
fn quoted(words: &str) -> String {
    format!("\"{}\"", words.replace('\\', "\\\\").replace('"', "\\\"").replace('&', "&amp;"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::sample;
    use super::*;

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
        assert_eq!(sample::iris().to_dot(Some(1)), expected);
        assert_eq!(sample::iris().to_dot(None).lines().count(), 4 + 5 + 4);
        assert!(sample::chain(100_000).to_dot(None).ends_with("}\n"));
    }

    #[test]
    fn names_are_escaped() {
        assert_eq!(quoted(r#""g\\h" > "#), r#""\"g\\\\h\" > ""#);
        assert_eq!(quoted("e&amp; <b>"), r#""e&amp;amp; <b>""#);
        let tree = sample::stump(Test::EachLevel { feature: 10 }, 3);
        let dot = Tree::new(sample::schema(), sample::DEFAULT, tree).unwrap().to_dot(None);
        for part in [r#"[label="🌳"]"#, r#"[label="\"{}\" or missing"]"#, r#"[label="\"\\\"\""]"#, r#"[label="🌲"]"#]
        {
            assert!(dot.contains(part), "{part} in {dot}");
        }
    }

    #[test]
    fn edges_of_many_branches_say_what_takes_them() {
        let test = Test::EachOf { feature: 9, levels: vec![0, 3], missing: true };
        let dot = Tree::new(sample::schema(), sample::DEFAULT, sample::stump(test, 4)).unwrap().to_dot(None);
        let labels: Vec<&str> = dot.lines().filter(|line| line.contains("->")).map(str::trim).collect();
        let expected = [
            r#"n0 -> n1 [label="3 speed"];"#,
            r#"n0 -> n2 [label="\"missing\""];"#,
            r#"n0 -> n3 [label="missing"];"#,
            r#"n0 -> n4 [label="not in {3 speed, \"missing\"}"];"#,
        ];
        assert_eq!(labels, expected);
    }

    /// What Graphviz's scanner takes for strings: no control character inside, and all closed on their line.
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
        fn any_tree_is_a_valid_graph(tree in sample::any_tree()) {
            let dot = tree.to_dot(None);
            for line in dot.lines() {
                let plain = outside_of_strings(line);
                prop_assert!(plain.is_ascii() && !plain.contains(['<', '&', '\\', '\n']), "{}", line);
            }
        }
    }
}
