//! The tree file format.
//!
//! One JSON object: `format`, `version`, `library` (who wrote it; not read), `schema`, `policies`, `nodes`. Nodes refer
//! to each other, to features, levels and classes by position, from 0, and stand in preorder; from version 2 on `costs`
//! may stand before them, a row for each class; `rows`, the number of training rows that came to each node, and
//! `label_costs`, what each label would have cost in these, may stand there too:
//! ```json
//! {"test":{"at_most":{"feature":2,"threshold":{"float":2.45}}},"children":[1,2],"masses":[50,100],"default":1}
//! {"label":0,"masses":[50,0,0]}
//! {"label":0,"masses":[50,0,0],"empty":true}
//! {"mean":3.25,"mass":12}
//! ```
//! Tests: `at_most` (threshold `float`, `integer` or `level`), `is`, `in`, `each_level`, `each_of`, `missing`. Integers
//! are exact to 64 bits, floats have the shortest digits that give them back; infinite thresholds are the strings
//! `"inf"` and `"-inf"`. Unknown keys are ignored at the top and refused in nodes, where ignoring one could change a
//! prediction.
//!
//! History. Version 1: all of the above; `each_of` came after the others. `tests/data/tree_v1.json` and, with that tag,
//! `tree_v1_each_of.json` must load for ever. A new tag (test, threshold, policy, kind) keeps the version, as an older
//! reader refuses the tag; a change of meaning raises it. Version 2: `costs`; trees without them are still written as
//! version 1. `rows` and `label_costs` came later and keep the version: they tell nothing that predicts, and older
//! readers pass over them. The tag `with_extra` of class labels came with `label_costs`.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::node_record::{CheckedNode, NodeRecord};
use crate::data::{Labels, Schema};
use crate::error::{Error, Result};
use crate::names::quoted;
use crate::tree::{Policies, Tree};

const FORMAT: &str = "lattree.tree";
/// The version of trees without costs.
const PLAIN: u64 = 1;
/// The version of trees with costs.
const WITH_COSTS: u64 = 2;

#[derive(Deserialize)]
struct Header {
    format: String,
    version: u64,
}

#[derive(Deserialize)]
struct Body {
    schema: Schema,
    policies: Policies,
    #[serde(default)]
    costs: Option<Vec<Vec<f64>>>,
    #[serde(default)]
    rows: Option<Vec<u64>>,
    #[serde(default)]
    label_costs: Option<Vec<Vec<f64>>>,
    nodes: Vec<CheckedNode>,
}

impl Tree {
    /// The tree in the format of tree files, one node per line; [`Tree::from_json`] gives an equal tree back.
    ///
    /// Complexity: O(schema + nodes).
    pub fn to_json(&self) -> String {
        let nodes: Vec<String> = self.nodes.iter().map(|node| json(&NodeRecord::from(node))).collect();
        let n_classes = self.schema.labels().map_or(0, Labels::len);
        let by_class = |name: &str, costs: &Option<Box<[f64]>>| {
            let by_class = |costs: &[f64]| json(&costs.chunks(n_classes.max(1)).collect::<Vec<_>>());
            costs.as_ref().map_or(String::new(), |costs| format!("\"{name}\":{},\n", by_class(costs)))
        };
        let (costs, label_costs) = (by_class("costs", &self.costs), by_class("label_costs", &self.label_costs));
        let rows = self.rows.as_ref().map_or(String::new(), |rows| format!("\"rows\":{},\n", json(rows)));
        let version = if self.costs.is_some() { WITH_COSTS } else { PLAIN };
        format!(
            "{{\"format\":{},\"version\":{version},\"library\":{},\n\"schema\":{},\n\"policies\":{},\n{costs}{rows}{label_costs}\"nodes\":[\n{}\n]}}\n",
            json(FORMAT),
            json(env!("CARGO_PKG_VERSION")),
            json(&*self.schema),
            json(&self.policies),
            nodes.join(",\n"),
        )
    }

    /// Reads what [`Tree::to_json`] wrote, in this version or an earlier one.
    ///
    /// Errors: [`Error::UnsupportedTree`] for a version, or a tag of a test, policy or kind, that is not known here;
    /// [`Error::BadTree`] for all else. Safe on any text. Complexity: O(length of the text), in time and memory.
    pub fn from_json(text: &str) -> Result<Self> {
        let bad = |problem: String| Error::BadTree { problem };
        let header: Header = parse(text)?; // first and alone: a later version may change the rest
        if header.format != FORMAT {
            return Err(bad(format!("its format is {}, not {FORMAT:?}", quoted(&header.format))));
        }
        if !(PLAIN..=WITH_COSTS).contains(&header.version) {
            return Err(Error::UnsupportedTree {
                found: format!("format version {}", header.version),
                supported: format!("versions {PLAIN} and {WITH_COSTS}"),
            });
        }
        let body: Body = parse(text)?;
        let schema = body.schema.checked().map_err(|error| bad(format!("in its schema, {error}")))?;
        if schema.labels().is_some_and(|labels| !distinct(labels)) {
            return Err(bad("in its schema, a class label occurs twice".into()));
        }
        let nodes = body.nodes.into_iter().map(|CheckedNode(node)| node).collect();
        let mut tree = Tree::new(Arc::new(schema), body.policies, nodes)?;
        if let Some(rows) = body.rows {
            tree = tree.with_rows(rows)?;
        }
        if let Some(costs) = body.label_costs {
            tree = tree.with_label_costs(costs.into_iter().flatten().collect())?;
        }
        match body.costs.filter(|_| header.version == WITH_COSTS) {
            Some(costs) => tree.with_costs(&costs),
            None => Ok(tree),
        }
    }
}

fn json<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).expect("strings, numbers and lists of them have a JSON form")
}

fn parse<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| {
        let problem = error.to_string();
        // serde has no kind for this error; a test below holds its wording.
        match problem.strip_prefix("unknown variant ").and_then(|rest| rest.split_once(", expected ")) {
            Some((tag, known)) => {
                Error::UnsupportedTree { found: format!("the unknown tag {tag}"), supported: known.into() }
            }
            None => Error::BadTree { problem },
        }
    })
}

fn distinct(labels: &Labels) -> bool {
    let mut seen = rustc_hash::FxHashSet::default();
    (0..labels.len()).all(|code| seen.insert(labels.text(code)))
}

#[cfg(test)]
mod tests {
    use std::mem::size_of;

    use proptest::prelude::*;

    use super::*;
    use crate::data::{TargetSchema, Task};
    use crate::tree::{Leaf, MissingPolicy, Node, Test, Threshold, fixtures};

    const GOLDEN: &str = include_str!("../../../tests/data/tree_v1.json");

    fn problem(text: &str) -> String {
        match Tree::from_json(text) {
            Err(Error::BadTree { problem }) => problem,
            other => panic!("{other:?} from {text}"),
        }
    }

    fn unsupported(text: &str) -> String {
        match Tree::from_json(text) {
            Err(error @ Error::UnsupportedTree { .. }) => error.to_string(),
            other => panic!("{other:?} from {text}"),
        }
    }

    fn assert_round_trip(tree: &Tree) {
        let text = tree.to_json();
        let back = Tree::from_json(&text).unwrap();
        assert_eq!(&back, tree);
        assert_eq!(back.schema(), tree.schema());
        assert_eq!(back.nodes(), tree.nodes());
        assert_eq!(back.to_json(), text);
    }

    /// This file and this test stay as they are; a new version gets a new file.
    #[test]
    fn a_file_of_version_1_loads_for_ever() {
        let tree = Tree::from_json(GOLDEN).unwrap();
        assert_eq!((tree.n_nodes(), tree.n_leaves(), tree.depth()), (9, 11, 9));
        assert_round_trip(&tree);
        for tag in ["float", "integer", "level", "at_most", "is", "in", "each_level", "missing", "empty"] {
            assert!(tree.to_json().contains(&format!("{tag:?}:")), "{tag}");
        }
        assert_eq!(tree.to_text(None).lines().next(), Some("age is missing: -1 (3)"));
        let exact = Test::AtMost { feature: 1, threshold: Threshold::Integer(9_007_199_254_740_993) };
        assert!(tree.nodes().iter().any(|node| matches!(node, Node::Split(split) if split.test == exact)));
        let infinite = Test::AtMost { feature: 0, threshold: Threshold::Float(f64::INFINITY) };
        assert!(tree.nodes().iter().any(|node| matches!(node, Node::Split(split) if split.test == infinite)));
    }

    /// As above, for the tag that came later: its words and its hash, too. (Missing values go down all branches here,
    /// so none says "or missing", whatever came in training.)
    #[test]
    fn a_file_with_each_of_loads_for_ever() {
        let text = include_str!("../../../tests/data/tree_v1_each_of.json");
        let tree = Tree::from_json(text).unwrap();
        assert_round_trip(&tree);
        let each_of = |levels: &[u32], missing| Test::EachOf { feature: 0, levels: levels.to_vec(), missing };
        let tests: Vec<&Test> = tree.splits().map(|split| &split.test).collect();
        let size = Test::EachOf { feature: 1, levels: vec![1], missing: false };
        assert_eq!(tests, [&each_of(&[0, 1, 3, 4, 5], true), &size, &each_of(&[2, 6], false)]);
        assert_eq!(tree.stable_hash(), 1_031_067_375_203_169_080);
        let expected = "\
city is Aarau: no (4)
city is Basel
|   size is medium: yes (2)
|   size is not medium: no (1)
city is Chur: no (3/1)
city is Davos: no (2)
city is Ems: yes (1)
city is missing: no (5)
city is any other
|   city is Bern: yes (3)
|   city is Flims: no (2)
|   city not in {Bern, Flims}: yes (0)";
        assert_eq!(tree.to_text(None), expected);
        let incomplete = text.replace(", \"missing\":false", "");
        assert!(problem(&incomplete).contains("missing field `missing`"));
    }

    #[test]
    fn the_form_is_as_documented() {
        let text = fixtures::iris().to_json();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with(r#"{"format":"lattree.tree","version":1,"library":""#));
        assert_eq!(lines[2], r#""policies":{"missing":"default","unseen":"majority"},"#);
        assert_eq!(
            lines[4],
            r#"{"test":{"at_most":{"feature":0,"threshold":{"float":2.45}}},"children":[1,2],"masses":[50,100],"default":1},"#
        );
        assert_eq!(lines[5], r#"{"label":0,"masses":[50,0,0]},"#);
        let nodes = vec![Node::Leaf(Leaf::Number { mean: 3.25, mass: 12.0 })];
        let number = Tree::new(fixtures::number_schema(), fixtures::DEFAULT, nodes).unwrap();
        assert!(number.to_json().contains(r#"{"mean":3.25,"mass":12}"#));
    }

    #[test]
    fn a_deep_tree_is_kept() {
        assert_round_trip(&fixtures::chain(100_000));
    }

    #[test]
    fn labels_of_every_kind_are_kept() {
        for labels in [
            Labels::Integers(vec![i64::MIN, 9_007_199_254_740_993, i64::MAX]),
            Labels::Floats(vec![-1e300, 0.0, 3.0]),
            Labels::Strings(vec!["a\"b".into(), "two\nlines".into(), "🌳\0".into()]),
        ] {
            let target = TargetSchema { name: "y".into(), task: Task::Classes(labels), dtype: "any".into() };
            let schema = Schema { target: Some(target), ..(*fixtures::schema()).clone() };
            assert_round_trip(&Tree::new(schema.into(), fixtures::DEFAULT, vec![fixtures::leaf(1)]).unwrap());
        }
    }

    #[test]
    fn other_formats_and_versions() {
        assert!(problem("").contains("EOF"));
        assert!(problem("[]").contains("line 1"));
        assert!(problem("{}").contains("missing field `format`"));
        assert!(problem(&GOLDEN.replace("lattree.tree", "other")).contains("its format is \"other\""));
        let future = unsupported(r#"{"format":"lattree.tree","version":3,"nodes":"unlike today's"}"#);
        assert_eq!(future, "this tree has format version 3; this version of lattree reads versions 1 and 2");
        assert!(problem(r#"{"format":"lattree.tree","version":1}"#).contains("missing field `schema`"));
    }

    #[test]
    fn trees_with_costs_are_of_version_2() {
        let plain = fixtures::iris();
        let costs = vec![vec![0.0, 1.0, 2.5], vec![3.0, 0.0, 1.0], vec![1.0, 1.0, 0.0]];
        let tree = plain.clone().with_costs(&costs).unwrap();
        assert_round_trip(&tree);
        assert_eq!(tree, plain.clone().with_costs(&costs).unwrap());
        // They decide where rows end in several leaves.
        assert_eq!(tree, plain);
        let policies = Policies { missing: MissingPolicy::Fractional, ..plain.policies() };
        let mixing = Tree::new(plain.schema().clone(), policies, plain.nodes().to_vec()).unwrap();
        assert_ne!(mixing.clone().with_costs(&costs).unwrap(), mixing);
        let text = tree.to_json();
        assert!(
            text.contains("\"version\":2")
                && text.contains("\n\"costs\":[[0.0,1.0,2.5],[3.0,0.0,1.0],[1.0,1.0,0.0]],\n")
        );
        assert!(plain.to_json().contains("\"version\":1") && !plain.to_json().contains("costs"));
        // Labels may be worth something.
        let worth = vec![vec![-1.0, 1.0, 2.5], vec![3.0, -0.5, 1.0], vec![1.0, 1.0, 0.0]];
        assert_round_trip(&plain.clone().with_costs(&worth).unwrap());
        for wrong in ["[[0.0,1.0],[3.0,0.0]]", "[[0.0,1.0,2.5],[3.0,0.0,1.0]]", "[]"] {
            let text = text.replace("[[0.0,1.0,2.5],[3.0,0.0,1.0],[1.0,1.0,0.0]]", wrong);
            assert_eq!(problem(&text), "its costs are not 3 rows of 3 finite numbers");
        }
    }

    #[test]
    fn costs_of_labels_and_labels_that_are_no_classes_survive() {
        let plain = fixtures::iris();
        let mut schema = (**plain.schema()).clone();
        if let Some(target) = &mut schema.target {
            let classes = Box::new(Labels::Strings(vec!["a".into(), "b".into()]));
            target.task = Task::Classes(Labels::WithExtra { classes, extra: vec!["abstain".into()] });
        }
        let tree = Tree::new(schema.into(), plain.policies(), plain.nodes().to_vec()).unwrap();
        let tree = tree.with_label_costs((0..15).map(|x| f64::from(x) - 7.5).collect()).unwrap();
        assert_round_trip(&tree);
        let text = tree.to_json();
        assert!(text.contains("\n\"label_costs\":[[-7.5,-6.5,-5.5],["), "{text}");
        let back = Tree::from_json(&text).unwrap();
        assert_eq!((back.label_costs(4), back.to_text(None)), (tree.label_costs(4), tree.to_text(None)));
        assert!(tree.to_text(None).contains(": abstain (46/1)"));
        let short = text.replace("\"label_costs\":[[-7.5,-6.5,-5.5],", "\"label_costs\":[");
        assert_eq!(problem(&short), "its costs of labels are not 3 finite numbers for each of 5 nodes");
    }

    #[test]
    fn unknown_tags_are_unsupported_not_broken() {
        for (old, new, named) in [
            (r#""is":"#, r#""sounds_like":"#, "`sounds_like`"),
            (r#""float":2.5"#, r#""decimal":2.5"#, "`decimal`"),
            (r#""missing":"default""#, r#""missing":"surrogate""#, "`surrogate`"),
            (r#""unseen":"majority""#, r#""unseen":"nearest""#, "`nearest`"),
            (r#""nominal":"#, r#""cyclic":"#, "`cyclic`"),
            (r#""continuous":"date""#, r#""continuous":"duration""#, "`duration`"),
        ] {
            let text = GOLDEN.replacen(old, new, 1);
            assert_ne!(text, GOLDEN, "{old}");
            assert!(unsupported(&text).contains(named), "{}", unsupported(&text));
        }
    }

    #[test]
    fn unknown_keys() {
        let top = GOLDEN.replacen("\"version\"", "\"comment\":[[{}]],\"version\"", 1);
        assert_eq!(Tree::from_json(&top), Tree::from_json(GOLDEN));
        assert!(problem(&GOLDEN.replacen("\"default\":", "\"surrogate\":1,\"default\":", 1)).contains("surrogate"));
        assert!(problem(&GOLDEN.replacen("\"feature\":", "\"scale\":1,\"feature\":", 1)).contains("scale"));
    }

    #[test]
    fn hostile_files() {
        let nodes = |nodes: &str| {
            let start = GOLDEN.split("\"nodes\"").next().unwrap();
            format!("{start}\"nodes\":[{nodes}]}}")
        };
        let split = |children: &str| {
            format!(r#"{{"test":{{"missing":{{"feature":0}}}},"children":{children},"masses":[1,1],"default":0}}"#)
        };
        let leaf = r#"{"label":0,"masses":[1,1]}"#;
        assert!(Tree::from_json(&nodes(&[split("[1,2]").as_str(), leaf, leaf].join(","))).is_ok());
        for (children, rest, why) in [
            ("[0,1]", 2, "does not come after it"),
            ("[1,4294967295]", 2, "does not exist"),
            ("[1,4294967296]", 2, "invalid value"),
            ("[1,-1]", 2, "invalid value"),
            ("[1,1]", 1, "child of two nodes"),
            ("[2,1]", 2, "preorder"),
            ("[1,2]", 3, "no node leads here"),
        ] {
            let mut list = vec![split(children)];
            list.extend(vec![leaf.to_string(); rest]);
            let problem = problem(&nodes(&list.join(",")));
            assert!(problem.contains(why), "{children}: {problem}");
        }
        assert!(problem(&nodes("")).contains("no node"));
        assert!(problem(&nodes("{}")).contains("a node has the keys"));
        assert!(problem(&nodes(r#"{"label":0,"masses":[1,1],"mean":1}"#)).contains("a node has the keys"));
        assert!(problem(&nodes(r#"{"label":0,"label":0,"masses":[1,1]}"#)).contains("duplicate field"));
        assert!(problem(&nodes(r#"{"label":0,"masses":[1,1e999]}"#)).contains("out of range"));
        assert!(problem(&nodes(r#"{"label":0,"masses":[1,null]}"#)).contains("null"));
        assert!(problem(&nodes(r#"{"label":0,"masses":[1,"NaN"]}"#)).contains("NaN"));
        assert!(problem(&nodes(r#"{"mean":1,"mass":1}"#)).contains("target holds classes"));
        assert!(problem(&GOLDEN.replacen("\"inf\"", "\"nan\"", 1)).contains("expected a number"));
        assert!(problem(&GOLDEN.replacen("\"age\"", "\"color\"", 1)).contains("two columns are named"));
        assert!(problem(&GOLDEN.replacen("[-1,1]", "[1,1]", 1)).contains("twice"));
        // Nesting and lists cost no more than their text.
        assert!(problem(&"[".repeat(1_000_000)).contains("line 1"));
        assert!(problem(&nodes(&"[".repeat(1_000_000))).contains("line"));
        assert!(problem(&nodes(&vec!["{}"; 1_000_000].join(","))).contains("a node has the keys"));
        assert!(size_of::<Node>() <= 80);
        let many = (0..300_000).map(|i| format!("\"{i}\"")).collect::<Vec<_>>().join(",");
        let levels = GOLDEN.replacen("\"small\"", &many, 1);
        assert_ne!(levels, GOLDEN);
        assert!(problem(&levels).contains("branches"));
    }

    proptest! {
        #[test]
        fn every_tree_comes_back(tree in fixtures::any_tree()) {
            assert_round_trip(&tree);
        }

        #[test]
        fn float_thresholds_come_back_bit_by_bit(bits in any::<u64>()) {
            let t = f64::from_bits(bits);
            prop_assume!(!t.is_nan());
            let test = fixtures::below(0, t);
            let tree = Tree::new(fixtures::schema(), fixtures::DEFAULT, fixtures::stump(test, 2)).unwrap();
            assert_round_trip(&tree);
        }

        #[test]
        fn damaged_files_never_panic(
            tree in fixtures::any_tree(),
            cut in any::<prop::sample::Index>(),
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        ) {
            for text in [GOLDEN.to_string(), tree.to_json()] {
                let mut bytes = text.into_bytes();
                let cut = cut.index(bytes.len() - 1);
                let _ = Tree::from_json(&String::from_utf8_lossy(&bytes[..cut])).map(|t| t.to_text(None));
                for (at, byte) in &damage {
                    let at = at.index(bytes.len());
                    bytes[at] = if byte % 2 == 0 { b'0' + byte / 2 % 10 } else { *byte };
                }
                if let Ok(tree) = Tree::from_json(&String::from_utf8_lossy(&bytes)) {
                    tree.to_text(None);
                    tree.to_dot(None);
                    tree.rules();
                    assert_round_trip(&tree);
                }
            }
        }
    }
}
