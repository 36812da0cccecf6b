//! From grown nodes to the public tree: tests, masses, labels, and the branches of missing values.

use std::cmp::Reverse;

use super::data::{GrowthData, ListedBranches, TrainingColumn};
use super::growth::{GrownNode, GrownSplit};
use super::params::{Missing, Params};
use super::types::CodedTest;
use super::weigh::class_masses;
use crate::criterion::Costs;
use crate::data::Dataset;
use crate::error::Result;
use crate::tree::{Leaf, MissingPolicy, Node, Policies, Split, Test, Tree};

/// The test of a split, and for each of its branches the branch of growth, if a training case took it.
fn test_of(coded: &TrainingColumn, GrownSplit { column: feature, test, .. }: &GrownSplit) -> (Test, Vec<Option<u32>>) {
    let feature = *feature;
    let two = vec![Some(0), Some(1)];
    match test {
        CodedTest::AtMost { below, above } => {
            (Test::AtMost { feature, threshold: coded.threshold(*below, *above) }, two)
        }
        CodedTest::Is(code) if Some(*code) == coded.own => (Test::Missing { feature }, two),
        CodedTest::Is(level) => (Test::Is { feature, level: *level }, two),
        CodedTest::In(codes) => {
            let levels = codes.iter().copied().filter(|&code| Some(code) != coded.own).collect();
            (Test::In { feature, levels }, two)
        }
        CodedTest::Each(codes) => {
            let ListedBranches { levels, missing, others } = coded.listed(codes);
            let branch = |code: u32| codes.binary_search(&code).ok().map(|branch| branch as u32);
            let mut branches: Vec<Option<u32>> = levels.iter().map(|&level| branch(level)).collect();
            branches.extend(missing.then(|| coded.own.and_then(branch)));
            branches.extend(others.then_some(None));
            match missing || others {
                true => (Test::EachOf { feature, levels, missing }, branches),
                false => (Test::EachLevel { feature }, branches),
            }
        }
    }
}

/// The tree of a single leaf, for a table that the budget did not allow to code.
pub(crate) fn single_leaf(data: &Dataset, params: &Params, costs: &Costs) -> Result<Tree> {
    let (masses, units, n_rows) = class_masses(data, params)?;
    let label = costs.leaf(&masses).1;
    let masses = masses.into_iter().map(|mass| units.value(mass)).collect();
    let leaf = Node::Leaf(Leaf::Class { label, masses, empty: false });
    let tree = Tree::new(data.schema().clone(), policies(params), vec![leaf])?;
    with_costs(tree.with_rows(vec![n_rows as u64])?, params)
}

/// Whether all errors have the same cost.
pub(crate) fn have_equal_costs(costs: &[Vec<f64>]) -> bool {
    let mut errors = (0..costs.len()).flat_map(|i| (0..costs.len()).filter(move |&j| j != i).map(move |j| costs[i][j]));
    let first = errors.next();
    errors.all(|cost| Some(cost) == first)
}

fn policies(params: &Params) -> Policies {
    let missing = match params.missing {
        Missing::Fractional | Missing::Drop => MissingPolicy::Fractional,
        _ => MissingPolicy::Default,
    };
    Policies { missing, unseen: params.unseen }
}

/// A mass of whole or fractional cases, as trees show it.
pub(crate) fn mass_value(table: &GrowthData, mass: u64, whole: bool) -> f64 {
    // Division by a power of two is exact.
    table.units.value_of(if whole { mass as f64 } else { mass as f64 / f64::from(1u32 << table.digits) })
}

/// The tree of grown nodes, in preorder. Complexity: O(nodes x classes), without recursion.
pub(crate) fn to_tree(
    data: &Dataset,
    table: &GrowthData,
    params: &Params,
    costs: &Costs,
    grown: &[GrownNode],
) -> Result<Tree> {
    let value = |mass: u64, whole: bool| mass_value(table, mass, whole);
    let leaf = |node: &GrownNode, empty: bool| {
        let all = node.masses.all();
        let masses = all.iter().map(|&mass| value(mass, node.whole)).collect();
        Node::Leaf(Leaf::Class { label: costs.leaf(&all).1, masses, empty })
    };
    let by_imputation = matches!(params.missing, Missing::Mean | Missing::ClassMean);
    let (mut nodes, mut rows): (Vec<Node>, Vec<u64>) = (Vec::new(), Vec::new());
    // Grown nodes; whether an empty branch of the node is meant; the parent in the tree and its branch to the node.
    let mut pending = vec![(0u32, false, None)];
    while let Some((id, empty, parent)) = pending.pop() {
        let index = nodes.len() as u32;
        if let Some((parent, branch)) = parent
            && let Some(Node::Split(split)) = nodes.get_mut::<usize>(parent)
        {
            let split: &mut Split = split;
            let branch: usize = branch;
            split.children[branch] = index;
        }
        let node = &grown[id as usize];
        rows.push(if empty { 0 } else { node.rows.into() });
        let Some(split) = node.split.as_ref().filter(|_| !empty) else {
            nodes.push(leaf(node, empty));
            continue;
        };
        let coded = &table.columns[split.column as usize];
        let (test, branches) = test_of(coded, split);
        let mass = |branch: &Option<u32>| {
            branch.map_or(0.0, |branch| {
                let child = &grown[(split.first + branch) as usize];
                value(child.masses.total(), child.whole)
            })
        };
        // In units, since the masses that trees show may be rounded.
        let units = |branch: &Option<u32>| {
            branch.map_or(0, |branch| {
                let child = &grown[(split.first + branch) as usize];
                child.masses.total() << if child.whole { table.digits } else { 0 }
            })
        };
        let heaviest = (0..branches.len()).max_by_key(|&branch| (units(&branches[branch]), Reverse(branch)));
        let mut made = Split {
            children: vec![0; branches.len()].into(),
            masses: branches.iter().map(mass).collect(),
            default: heaviest.unwrap_or(0) as u32,
            missing: false,
            test,
        };
        let of_missing = match (&coded.imputed, &split.test) {
            (Some(imputed), _) if by_imputation => made.test.branch(*imputed),
            (_, CodedTest::In(codes)) if split.own => Some(usize::from(codes.last().copied() != coded.own)),
            (_, CodedTest::AtMost { .. } | CodedTest::Is(_))
                if split.own && !matches!(made.test, Test::Missing { .. }) =>
            {
                Some(1)
            }
            _ => None,
        };
        if let Some(branch) = of_missing {
            (made.default, made.missing) = (branch as u32, true);
        }
        for (branch, child) in branches.iter().enumerate().rev() {
            pending.push(match child {
                Some(child) => (split.first + child, false, Some((index as usize, branch))),
                None => (id, true, Some((index as usize, branch))),
            });
        }
        nodes.push(Node::Split(made));
    }
    with_costs(Tree::new(data.schema().clone(), policies(params), nodes)?.with_rows(rows)?, params)
}

/// Adds the costs by which the tree labels mixtures of leaves, unless all errors have the same cost.
fn with_costs(tree: Tree, params: &Params) -> Result<Tree> {
    match &params.costs {
        // If all errors have the same cost, the most probable class has the least.
        Some(costs) if !have_equal_costs(costs) => tree.with_costs(costs),
        _ => Ok(tree),
    }
}
