//! Removes splits whose branches predict the same.

use std::sync::OnceLock;

use super::{Leaf, Node, Split, Tree};

impl Tree {
    /// The tree without splits whose branches predict the same: leaves of one label become one leaf, branches that are
    /// the same subtree become one. Rows that take one path are predicted as before; the class shares are those of the
    /// joined leaves.
    ///
    /// Complexity: O(nodes x depth).
    pub(crate) fn simplified(&self) -> Tree {
        let (nodes, rows) = (self.nodes.clone(), self.rows.as_ref().map(|rows| rows.to_vec()));
        debug_assert!(self.label_costs.is_none(), "trees are told what labels cost once they are simple");
        let mut joined = Joined { nodes, rows, stands_for: (0..self.nodes.len()).collect() };
        // Children stand after their parents.
        (0..self.nodes.len()).rev().for_each(|index| joined.join(index));
        let (nodes, rows) = joined.in_preorder();
        Tree {
            schema: self.schema.clone(),
            policies: self.policies,
            costs: self.costs.clone(),
            nodes,
            rows,
            label_costs: None,
            compiled: OnceLock::new(),
            summaries: OnceLock::new(),
        }
    }
}

/// The nodes of a tree, some of which have been replaced by others.
struct Joined {
    nodes: Vec<Node>,
    /// How many training rows came to each node, if known.
    rows: Option<Vec<u64>>,
    /// The node that replaces each node: itself at first.
    stands_for: Vec<usize>,
}

impl Joined {
    fn children(&self, split: &Split) -> Vec<usize> {
        split.children.iter().map(|&child| self.stands_for[child as usize]).collect()
    }

    /// Joins the branches of a node if all predict the same. The nodes below must have been joined before.
    fn join(&mut self, index: usize) {
        let Node::Split(split) = &self.nodes[index] else { return };
        let children = self.children(split);
        let (&first, others) = children.split_first().expect("a split has branches");
        if !others.iter().all(|&other| self.agree(first, other)) {
            return;
        }
        others.iter().for_each(|&other| self.add(first, other));
        if let Some(rows) = &mut self.rows {
            rows[first] = rows[index];
        }
        self.stands_for[index] = first;
    }

    /// Whether two subtrees have the same tests and predictions.
    fn agree(&self, a: usize, b: usize) -> bool {
        match (&self.nodes[a], &self.nodes[b]) {
            (Node::Leaf(Leaf::Class { label: a, .. }), Node::Leaf(Leaf::Class { label: b, .. })) => a == b,
            (Node::Leaf(Leaf::Number { mean: a, .. }), Node::Leaf(Leaf::Number { mean: b, .. })) => a == b,
            (Node::Split(a), Node::Split(b)) => {
                let pairs = || self.children(a).into_iter().zip(self.children(b));
                let same_branches = a.default == b.default && a.heaviest() == b.heaviest();
                a.test == b.test && same_branches && pairs().all(|(a, b)| self.agree(a, b))
            }
            _ => false,
        }
    }

    /// Adds the masses and rows of one subtree to those of another that agrees with it.
    fn add(&mut self, to: usize, from: usize) {
        if let Some(rows) = &mut self.rows {
            rows[to] += rows[from];
        }
        match (self.nodes[from].clone(), &mut self.nodes[to]) {
            (
                Node::Leaf(Leaf::Class { masses: from, empty: false, .. }),
                Node::Leaf(Leaf::Class { masses, empty, .. }),
            ) => match std::mem::replace(empty, false) {
                true => *masses = from,
                false => masses.iter_mut().zip(&from).for_each(|(mass, more)| *mass += more),
            },
            (Node::Leaf(Leaf::Number { mass: more, .. }), Node::Leaf(Leaf::Number { mass, .. })) => *mass += more,
            (Node::Split(from), Node::Split(split)) => {
                split.masses.iter_mut().zip(&from.masses).for_each(|(mass, more)| *mass += more);
                split.missing |= from.missing;
                let to = split.children.clone();
                for (&to, &from) in to.iter().zip(&from.children) {
                    self.add(self.stands_for[to as usize], self.stands_for[from as usize]);
                }
            }
            _ => {}
        }
    }

    /// The nodes that are left, in preorder, and their numbers of rows.
    fn in_preorder(&self) -> (Vec<Node>, Option<Box<[u64]>>) {
        let mut nodes: Vec<Node> = Vec::new();
        let mut rows = self.rows.as_ref().map(|_| Vec::new());
        let mut todo = vec![(self.stands_for[0], None)];
        while let Some((index, parent)) = todo.pop() {
            let place = nodes.len() as u32;
            if let Some((parent, branch)) = parent
                && let Node::Split(split) = &mut nodes[parent]
            {
                let split: &mut Split = split;
                split.children[branch] = place;
            }
            nodes.push(self.nodes[index].clone());
            if let (Some(rows), Some(all)) = (&mut rows, &self.rows) {
                rows.push(all[index]);
            }
            if let Node::Split(split) = &self.nodes[index] {
                let branches = self.children(split).into_iter().enumerate().rev();
                todo.extend(branches.map(|(branch, child)| (child, Some((place as usize, branch)))));
            }
        }
        (nodes, rows.map(Vec::into_boxed_slice))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::fixtures::{self, below, class_leaf, split};
    use super::super::{MissingPolicy, Policies};
    use super::*;
    use crate::data::Value;

    #[test]
    fn leaves_and_branches_alike_are_joined() {
        let stump = |at: u32, masses: &[f64]| split(below(1, 2.0), &[at, at + 1], masses, 0);
        let nodes = vec![
            split(below(0, 1.0), &[1, 6], &[9.0, 7.0], 0),
            split(below(1, 2.0), &[2, 5], &[6.0, 3.0], 0),
            split(below(0, 0.5), &[3, 4], &[4.0, 2.0], 0),
            class_leaf(1, [1.0, 3.0, 0.0]),
            class_leaf(1, [0.0, 2.0, 0.0]),
            class_leaf(2, [0.0, 0.0, 3.0]),
            stump(7, &[5.0, 2.0]),
            class_leaf(1, [0.0, 5.0, 0.0]),
            class_leaf(2, [0.0, 1.0, 1.0]),
        ];
        let tree = Tree::new(fixtures::schema(), fixtures::DEFAULT, nodes).unwrap();
        let expected = vec![stump(1, &[11.0, 5.0]), class_leaf(1, [1.0, 10.0, 0.0]), class_leaf(2, [0.0, 1.0, 4.0])];
        assert_eq!(tree.simplified().nodes(), expected);
    }

    /// The prediction for a row that takes one path.
    fn predicted(tree: &Tree, cell: impl Fn(u32) -> Value) -> Leaf {
        let mut index = 0;
        loop {
            match &tree.nodes()[index] {
                Node::Leaf(leaf) => return leaf.clone(),
                Node::Split(split) => {
                    let value = cell(split.test.feature());
                    let elsewhere = match value {
                        Value::Unseen(_) => split.heaviest(),
                        _ => split.default as usize,
                    };
                    index = split.children[split.test.branch(value).unwrap_or(elsewhere)] as usize;
                }
            }
        }
    }

    proptest! {
        #[test]
        fn rows_are_predicted_as_before(tree in fixtures::any_tree(), cells in prop::collection::vec(any::<u8>(), 11 * 20)) {
            // Labels that are alike more often.
            let mut nodes = tree.nodes().to_vec();
            for node in &mut nodes {
                match node {
                    Node::Leaf(Leaf::Class { label, .. }) => *label /= 2,
                    Node::Leaf(Leaf::Number { mean, .. }) => *mean = mean.signum(),
                    Node::Split(_) => {}
                }
            }
            let policies = Policies { missing: MissingPolicy::Default, ..tree.policies() };
            let tree = Tree::new(tree.schema().clone(), policies, nodes).unwrap();
            let simple = tree.simplified();
            prop_assert!(Tree::new(simple.schema().clone(), policies, simple.nodes().to_vec()).is_ok());
            prop_assert_eq!(&simple.simplified(), &simple);
            let mass = |tree: &Tree| -> f64 {
                tree.nodes().iter().map(|node| if let Node::Leaf(leaf) = node { leaf.mass() } else { 0.0 }).sum()
            };
            prop_assert!((mass(&simple) - mass(&tree)).abs() < 1e-6);
            for row in cells.chunks(11) {
                let cell = |feature: u32| {
                    let n_levels = tree.schema().features[feature as usize].kind.levels().len() as u32;
                    match (row[feature as usize], n_levels) {
                        (0..50, _) => Value::Missing,
                        (cell, 0) if feature < 2 => Value::Float(f64::from(cell) / 12.0 - 12.0),
                        (cell, 0) => Value::Integer((i64::from(cell) - 130) * 80_000_000_000_000),
                        (cell, n) if u32::from(cell) % (n + 1) == n => Value::Unseen(0),
                        (cell, n) => Value::Level(u32::from(cell) % (n + 1)),
                    }
                };
                match (predicted(&tree, cell), predicted(&simple, cell)) {
                    (Leaf::Class { label: a, .. }, Leaf::Class { label: b, .. }) => prop_assert_eq!(a, b),
                    (Leaf::Number { mean: a, .. }, Leaf::Number { mean: b, .. }) => prop_assert_eq!(a, b),
                    _ => prop_assert!(false),
                }
            }
        }
    }
}
