//! From the shape of a tree to the tree that users see: masses, labels, and where cases without a value go.

use super::Params;
use super::rebuild::Shape;
use crate::data::{Dataset, OwnTests, Target, Value};
use crate::error::Result;
use crate::objective::{self, Units};
use crate::tree::{Leaf, MissingPolicy, Node, Policies, Split, Test, Tree};

/// The cost of a single leaf.
pub(super) fn leaf_cost(data: &Dataset, units: &Units) -> u64 {
    objective::leaf(&masses(data, units, &present(data))).0
}

/// Sends all cases down the shape. O(cases x depth).
pub(super) fn grow(data: &Dataset, tests: &[Test], units: &Units, params: &Params, shape: &Shape) -> Result<Tree> {
    let cases = present(data);
    let value = |test: &Test, row: u32| {
        let feature = test.feature() as usize;
        let n_levels = data.schema().features[feature].kind.levels().len() as u32;
        data.columns()[feature].value(row as usize, n_levels)
    };
    // In training a missing value failed every value test; where there was none it will go with the majority.
    let fails = |test: &Test| {
        params.binarizer.missing == OwnTests::No || cases.iter().any(|&row| value(test, row) == Value::Missing)
    };
    let mut nodes: Vec<Node> = Vec::new();
    let mut todo = vec![(shape, cases.clone(), None)];
    while let Some((shape, rows, parent)) = todo.pop() {
        let index = nodes.len();
        if let Some((parent, branch)) = parent
            && let Node::Split(split) = &mut nodes[parent]
        {
            let split: &mut Split = split;
            split.children[branch] = index as u32;
        }
        let Shape::Split(test, branches) = shape else {
            let masses = masses(data, units, &rows);
            let label = objective::leaf(&masses).1;
            let masses = masses.iter().map(|&mass| units.value(mass)).collect();
            nodes.push(Node::Leaf(Leaf::Class { label, masses, empty: false }));
            continue;
        };
        let test = &tests[*test as usize];
        let (pass, fail): (Vec<u32>, Vec<u32>) =
            rows.into_iter().partition(|&row| test.branch(value(test, row)) == Some(0));
        let missing =
            !matches!(test, Test::Missing { .. }) && fail.iter().any(|&row| value(test, row) == Value::Missing);
        let mass = |rows: &[u32]| rows.iter().map(|&row| units.mass(data, row as usize)).sum::<u64>();
        let (pass_mass, fail_mass) = (mass(&pass), mass(&fail));
        let default = match test {
            Test::Missing { .. } => 0,
            test if fails(test) => 1,
            _ => u32::from(fail_mass > pass_mass),
        };
        nodes.push(Node::Split(Split {
            test: test.clone(),
            children: [0, 0].into(),
            masses: [units.value(pass_mass), units.value(fail_mass)].into(),
            default,
            missing,
        }));
        // A stack: what is pushed last comes first, as preorder wants.
        todo.push((&branches[1], fail, Some((index, 1))));
        todo.push((&branches[0], pass, Some((index, 0))));
    }
    let policies = Policies { missing: MissingPolicy::Default, unseen: params.unseen };
    Tree::new(data.schema().clone(), policies, nodes)
}

fn present(data: &Dataset) -> Vec<u32> {
    (0..data.n_rows()).filter(|&row| data.count(row) > 0).map(|row| row as u32).collect()
}

/// Mass per class. Panics without a class target: the search checked it.
fn masses(data: &Dataset, units: &Units, rows: &[u32]) -> Vec<u64> {
    let Target::Classes(classes) = data.target() else { panic!("the search checked that the target has classes") };
    let mut masses = vec![0; data.schema().labels().map_or(0, |labels| labels.len())];
    rows.iter().for_each(|&row| masses[classes[row as usize] as usize] += units.mass(data, row as usize));
    masses
}
