//! From the shape of a tree to the tree that users see: masses, labels, and where cases without a value go.

use super::run::Run;
use super::shape::Shape;
use crate::data::{Labels, MissingTests, Target, Value};
use crate::error::Result;
use crate::objective::{self, RewardReader};
use crate::tree::{Leaf, MissingPolicy, Node, Policies, Split, Test, Tree};

/// Sends all cases down the shape, which is a leaf where patterns are not known: the tree, and what its leaves cost.
/// O(patterns x depth + cases).
pub(super) fn grow(run: &Run, pattern_of: &[u32], test_of: impl Fn(u32) -> Test, shape: &Shape) -> Result<(Tree, u64)> {
    let (data, units, params) = (run.data, run.units, &run.params.params);
    // Cases of one pattern go one way, be it with a value or without. The first of them, in whose order patterns are
    // numbered, goes for all.
    let mut firsts: Vec<u32> = Vec::new();
    for (row, &pattern) in (0..).zip(pattern_of) {
        if pattern as usize == firsts.len() {
            firsts.push(row);
        }
    }
    let values = |test: &Test| {
        let (feature, firsts) = (test.feature() as usize, &firsts);
        let n_levels = data.schema().features[feature].kind.levels().len() as u32;
        let column = &data.columns()[feature];
        move |pattern: u32| column.value(firsts[pattern as usize] as usize, n_levels)
    };
    // Masses come later.
    let mut nodes: Vec<Node> = Vec::new();
    let mut leaf_of = vec![0; firsts.len()];
    let mut todo = vec![(shape, (0..firsts.len() as u32).collect::<Vec<u32>>(), None)];
    while let Some((shape, patterns, parent)) = todo.pop() {
        let index = nodes.len();
        if let Some((parent, branch)) = parent
            && let Node::Split(split) = &mut nodes[parent]
        {
            let split: &mut Split = split;
            split.children[branch] = index as u32;
        }
        let Shape::Split(test, branches) = shape else {
            patterns.iter().for_each(|&pattern| leaf_of[pattern as usize] = index);
            nodes.push(Node::Leaf(Leaf::Class { label: 0, masses: [].into(), empty: false }));
            continue;
        };
        let test = test_of(*test);
        let value = values(&test);
        let (pass, fail): (Vec<u32>, Vec<u32>) =
            patterns.into_iter().partition(|&pattern| test.branch(value(pattern)) == Some(0));
        let missing =
            !matches!(test, Test::Missing { .. }) && fail.iter().any(|&pattern| value(pattern) == Value::Missing);
        nodes.push(Node::Split(Split { test, children: [0, 0].into(), masses: [].into(), default: 0, missing }));
        // A stack: what is pushed last comes first, as preorder wants.
        todo.push((&branches[1], fail, Some((index, 1))));
        todo.push((&branches[0], pass, Some((index, 0))));
    }
    // In training a missing value failed every value test; where there was none it will go with the majority.
    let fails = |test: &Test| {
        let value = values(test);
        params.binarizer.missing == MissingTests::None
            || (0..firsts.len() as u32).any(|pattern| value(pattern) == Value::Missing)
    };
    let n_labels = run.objective.n_labels();
    let leaf_of = |row: usize| pattern_of.get(row).map_or(0, |&pattern| leaf_of[pattern as usize]);
    let LeafSums { rewards, mut rows, masses, mut totals } = LeafSums::of(run, nodes.len(), leaf_of);
    let n_classes = run.schema.labels().map_or(0, Labels::len);
    let mut cost = 0;
    for (index, node) in nodes.iter_mut().enumerate().rev() {
        match node {
            Node::Leaf(leaf) => {
                let (of_leaf, label) = objective::leaf(&rewards[index * n_labels..(index + 1) * n_labels]);
                cost += of_leaf;
                let mut shown = vec![0.0; n_classes];
                match &masses {
                    Some(masses) => {
                        let n = masses.len() / rows.len();
                        let of_leaf = &masses[index * n..(index + 1) * n];
                        shown.iter_mut().zip(of_leaf).for_each(|(shown, &mass)| *shown = units.value(mass));
                    }
                    // Where cases have no class, all of a leaf are what it says.
                    None => shown[label as usize] = units.value(totals[index]),
                }
                *leaf = Leaf::Class { label, masses: shown.into(), empty: false };
            }
            Node::Split(split) => {
                let [pass, fail] = [0, 1].map(|branch| totals[split.children[branch] as usize]);
                totals[index] = pass + fail;
                rows[index] = split.children.iter().map(|&child| rows[child as usize]).sum();
                split.masses = [units.value(pass), units.value(fail)].into();
                split.default = match &split.test {
                    Test::Missing { .. } => 0,
                    test => u32::from(fail > pass || split.missing || fails(test)),
                };
            }
        }
    }
    let policies = Policies { missing: MissingPolicy::Default, unseen: params.unseen };
    Ok((Tree::new(run.schema.clone(), policies, nodes)?.with_rows(rows)?, cost))
}

/// What the cases of groups add up to.
struct LeafSums {
    /// Per group and label, group after group.
    rewards: Vec<u64>,
    /// How many rows there are.
    rows: Vec<u64>,
    /// Mass per group and class, group after group, where cases have classes.
    masses: Option<Vec<u64>>,
    /// Mass per group.
    totals: Vec<u64>,
}

impl LeafSums {
    fn of(run: &Run, n_groups: usize, group_of: impl Fn(usize) -> usize) -> Self {
        let (data, n_labels) = (run.data, run.objective.n_labels());
        let n_classes = data.schema().labels().map_or(0, Labels::len);
        let classes = match data.target() {
            Target::Classes(classes) => Some(classes),
            _ => None,
        };
        let mut sums = LeafSums {
            rewards: vec![0; n_groups * n_labels],
            rows: vec![0; n_groups],
            masses: classes.map(|_| vec![0; n_groups * n_classes]),
            totals: vec![0; n_groups],
        };
        let mut rewards = RewardReader::new(run.objective);
        let of_every_row = run.units.of_every_row(data);
        for row in (0..data.n_rows()).filter(|&row| data.count(row) > 0) {
            let mass = of_every_row.unwrap_or_else(|| run.units.mass(data, row));
            let group = group_of(row);
            rewards
                .of(row)
                .iter()
                .for_each(|&(label, reward)| sums.rewards[group * n_labels + label as usize] += reward);
            if let (Some(masses), Some(classes)) = (&mut sums.masses, classes) {
                masses[group * n_classes + classes[row] as usize] += mass;
            }
            sums.rows[group] += 1;
            sums.totals[group] += mass;
        }
        sums
    }
}
