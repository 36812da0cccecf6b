//! From the nodes that were grown to the tree that users see: tests, masses, labels, and where missing values go.

use std::cmp::Reverse;

use super::growth::{Grown, GrownSplit};
use super::split::Cut;
use super::table::{Coded, Listed, Table};
use super::weigh::class_masses;
use super::{Missing, Params};
use crate::criterion::Costs;
use crate::data::Dataset;
use crate::error::Result;
use crate::tree::{Leaf, MissingPolicy, Node, Policies, Split, Test, Tree};

/// The test of a split, and for each of its branches the branch of growth, if a case took it.
fn test_of(coded: &Coded, GrownSplit { column: feature, cut, .. }: &GrownSplit) -> (Test, Vec<Option<u32>>) {
    let feature = *feature;
    let two = vec![Some(0), Some(1)];
    match cut {
        Cut::AtMost { below, above } => (Test::AtMost { feature, threshold: coded.threshold(*below, *above) }, two),
        Cut::Is(code) if Some(*code) == coded.own => (Test::Missing { feature }, two),
        Cut::Is(level) => (Test::Is { feature, level: *level }, two),
        Cut::In(codes) => {
            let levels = codes.iter().copied().filter(|&code| Some(code) != coded.own).collect();
            (Test::In { feature, levels }, two)
        }
        Cut::Each(codes) => {
            let Listed { levels, missing, others } = coded.listed(codes);
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

/// The tree of one leaf, for a table that there was no time to code.
pub(crate) fn single_leaf(data: &Dataset, params: &Params, costs: &Costs) -> Result<Tree> {
    let (masses, units, n_rows) = class_masses(data, params)?;
    let label = costs.leaf(&masses).1;
    let masses = masses.into_iter().map(|mass| units.value(mass)).collect();
    let leaf = Node::Leaf(Leaf::Class { label, masses, empty: false });
    let tree = Tree::new(data.schema().clone(), policies(params), vec![leaf])?;
    with_costs(tree.with_rows(vec![n_rows as u64])?, params)
}

/// Whether all errors cost the same.
pub(crate) fn are_equal(costs: &[Vec<f64>]) -> bool {
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

/// The mass of whole cases, or of parts, as trees show it.
pub(crate) fn mass_value(table: &Table, mass: u64, whole: bool) -> f64 {
    // A power of two: nothing is lost, and the product stays in range.
    table.units.value_of(if whole { mass as f64 } else { mass as f64 / f64::from(1u32 << table.digits) })
}

/// Puts the nodes in preorder. Complexity: O(nodes x classes), without recursion.
pub(crate) fn finish(data: &Dataset, table: &Table, params: &Params, costs: &Costs, grown: &[Grown]) -> Result<Tree> {
    let value = |mass: u64, whole: bool| mass_value(table, mass, whole);
    let leaf = |node: &Grown, empty: bool| {
        let all = node.masses.all();
        let masses = all.iter().map(|&mass| value(mass, node.whole)).collect();
        Node::Leaf(Leaf::Class { label: costs.leaf(&all).1, masses, empty })
    };
    let by_imputation = matches!(params.missing, Missing::Mean | Missing::ClassMean);
    let (mut nodes, mut rows): (Vec<Node>, Vec<u64>) = (Vec::new(), Vec::new());
    // A node that was grown, or one whose empty branch is meant; and the branch of the node above that leads here.
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
        // In units: what is shown of them may be rounded.
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
        let says = match (&coded.imputed, &split.cut) {
            (Some(imputed), _) if by_imputation => made.test.branch(*imputed),
            (_, Cut::In(codes)) if split.own => Some(usize::from(codes.last().copied() != coded.own)),
            (_, Cut::AtMost { .. } | Cut::Is(_)) if split.own && !matches!(made.test, Test::Missing { .. }) => Some(1),
            _ => None,
        };
        if let Some(branch) = says {
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

/// The tree with what mixtures of leaves, and nodes above leaves, are judged by.
fn with_costs(tree: Tree, params: &Params) -> Result<Tree> {
    match &params.costs {
        // Where all errors cost the same, the most probable class costs least.
        Some(costs) if !are_equal(costs) => tree.with_costs(costs),
        _ => Ok(tree),
    }
}
