//! From the shape of a tree to the tree that users see: masses, labels, and where cases without a value go.

use super::Params;
use super::rebuild::Shape;
use crate::data::{Dataset, MissingTests, Target, Value};
use crate::error::Result;
use crate::objective::{self, Units};
use crate::tree::{Leaf, MissingPolicy, Node, Policies, Split, Test, Tree};

/// The cost of a single leaf.
pub(super) fn leaf_cost(data: &Dataset, units: &Units) -> u64 {
    objective::leaf(&masses(data, units, 1, |_| 0).0).0
}

/// Sends all cases down the shape, which is a leaf where patterns are not known. O(patterns x depth + cases).
pub(super) fn grow(
    data: &Dataset,
    pattern_of: &[u32],
    test_of: impl Fn(u32) -> Test,
    units: &Units,
    params: &Params,
    shape: &Shape,
) -> Result<Tree> {
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
    let n_classes = data.schema().labels().map_or(0, |labels| labels.len());
    let (by_class, mut rows) =
        masses(data, units, nodes.len(), |row| pattern_of.get(row).map_or(0, |&pattern| leaf_of[pattern as usize]));
    let mut totals = vec![0; nodes.len()];
    for (index, node) in nodes.iter_mut().enumerate().rev() {
        match node {
            Node::Leaf(leaf) => {
                let masses = &by_class[index * n_classes..(index + 1) * n_classes];
                totals[index] = masses.iter().sum();
                let label = objective::leaf(masses).1;
                let masses = masses.iter().map(|&mass| units.value(mass)).collect();
                *leaf = Leaf::Class { label, masses, empty: false };
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
    Tree::new(data.schema().clone(), policies, nodes)?.with_rows(rows)
}

/// Mass per group of cases and class, group after group, and rows per group. Panics without a class target: the search checked it.
fn masses(data: &Dataset, units: &Units, n_groups: usize, group_of: impl Fn(usize) -> usize) -> (Vec<u64>, Vec<u64>) {
    let Target::Classes(classes) = data.target() else { panic!("the search checked that the target has classes") };
    let n_classes = data.schema().labels().map_or(0, |labels| labels.len());
    let (mut masses, mut rows) = (vec![0; n_groups * n_classes], vec![0; n_groups]);
    for (row, &class) in classes.iter().enumerate().filter(|&(row, _)| data.count(row) > 0) {
        let group = group_of(row);
        masses[group * n_classes + class as usize] += units.mass(data, row);
        rows[group] += 1;
    }
    (masses, rows)
}
