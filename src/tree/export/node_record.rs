//! A node as tree files have it.

use serde::{Deserialize, Serialize, Serializer};

use crate::tree::{Leaf, Node, Split, Test};

/// A node as it is written: the keys of all kinds of nodes, of which each kind uses some.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NodeRecord {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    test: Option<Test>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    children: Option<Box<[u32]>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    masses: Option<Vec<Amount>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    default: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    missing: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    empty: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mean: Option<Amount>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mass: Option<Amount>,
}

/// A node with the keys of one kind. Nodes are checked while they are read, so that a long list of `{}` fails at the
/// first.
#[derive(Deserialize)]
#[serde(try_from = "NodeRecord")]
pub(super) struct CheckedNode(pub(super) Node);

impl TryFrom<NodeRecord> for CheckedNode {
    type Error = &'static str;

    fn try_from(written: NodeRecord) -> std::result::Result<Self, Self::Error> {
        let floats = |amounts: Vec<Amount>| amounts.into_iter().map(|Amount(x)| x).collect();
        match written {
            NodeRecord {
                test: Some(test),
                children: Some(children),
                masses: Some(masses),
                default: Some(default),
                missing,
                label: None,
                empty: None,
                mean: None,
                mass: None,
            } => Ok(CheckedNode(Node::Split(Split {
                test,
                children,
                masses: floats(masses),
                default,
                missing: missing.unwrap_or(false),
            }))),
            NodeRecord {
                label: Some(label),
                masses: Some(masses),
                empty,
                test: None,
                children: None,
                default: None,
                missing: None,
                mean: None,
                mass: None,
            } => {
                let empty = empty.unwrap_or(false);
                Ok(CheckedNode(Node::Leaf(Leaf::Class { label, masses: floats(masses), empty })))
            }
            NodeRecord {
                mean: Some(Amount(mean)),
                mass: Some(Amount(mass)),
                test: None,
                children: None,
                label: None,
                masses: None,
                default: None,
                missing: None,
                empty: None,
            } => Ok(CheckedNode(Node::Leaf(Leaf::Number { mean, mass }))),
            _ => Err("a node has the keys test, children, masses, default, or label, masses, or mean, mass"),
        }
    }
}

impl From<&Node> for NodeRecord {
    fn from(node: &Node) -> Self {
        let amounts = |floats: &[f64]| Some(floats.iter().copied().map(Amount).collect());
        match node {
            Node::Split(split) => NodeRecord {
                test: Some(split.test.clone()),
                children: Some(split.children.clone()),
                masses: amounts(&split.masses),
                default: Some(split.default),
                missing: split.missing.then_some(true),
                ..NodeRecord::default()
            },
            Node::Leaf(Leaf::Class { label, masses, empty }) => NodeRecord {
                label: Some(*label),
                masses: amounts(masses),
                empty: empty.then_some(true),
                ..NodeRecord::default()
            },
            Node::Leaf(Leaf::Number { mean, mass }) => {
                NodeRecord { mean: Some(Amount(*mean)), mass: Some(Amount(*mass)), ..NodeRecord::default() }
            }
        }
    }
}

/// A finite float, written without a fraction where it has none: `50`, not `50.0`.
#[derive(Clone, Copy, Deserialize)]
struct Amount(f64);

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self.0 {
            x if x.fract() == 0.0 && x.abs() < 9e15 => serializer.serialize_i64(x as i64), // exact below 2^53
            x => serializer.serialize_f64(x),
        }
    }
}
