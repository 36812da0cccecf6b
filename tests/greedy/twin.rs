//! A second mind for the greedy trees: grows them from the words of `lattree::greedy`, recounts everything from the
//! rows at every node, rounds nothing, and is as slow as that is. It shares no code with the library's growth.

use std::cell::Cell;
use std::cmp::Ordering;

use lattree::data::{Dataset, Value};
use lattree::greedy::{Missing, Params};
use lattree::tree::{Leaf, MissingPolicy, Node, Policies, Split, Test, Tree};

use crate::amount::{Amount, CLOSE, as_written, float};
use crate::candidates::{Candidate, Group, OfferedSet, all_sets, candidates, missing_is_a_level, order};
use crate::cases::{Cases, Meant, Unfit};
use crate::impurity::{Impurity, Masses};
use num_rational::BigRational;

pub struct Twin<'a> {
    data: &'a Dataset,
    params: &'a Params,
    table: Cases,
    impurity: Impurity,
    /// The gain that the library may round, times 2^20: a unit of mass, times the greatest cost.
    margin: u128,
    /// Sets of levels of the library's tree that are tried too ([`Twin::offer`]).
    offered: Vec<OfferedSet>,
    /// Whether some decision was between gains so close that the library may decide otherwise.
    pub close: Cell<bool>,
}

/// A case and its fraction.
type Part = (usize, u128);

/// A candidate, judged.
#[derive(Debug, Clone)]
pub struct Scored {
    pub candidate: Candidate,
    pub gain: Amount,
    pub quality: Amount,
}

struct Grown {
    parts: Vec<Part>,
    depth: u64,
    /// What it would be split by.
    choice: Option<Scored>,
    children: Vec<usize>,
}

impl<'a> Twin<'a> {
    /// `None` if no case is present.
    pub fn new(data: &'a Dataset, params: &'a Params) -> Option<Self> {
        match Self::meant(data, params, &Meant::default()) {
            Err(unfit) => (unfit != Unfit::NoCase).then(|| panic!("{unfit:?}")),
            Ok(twin) => Some(twin),
        }
    }

    /// Where floats stand for other numbers than those they are written as.
    pub fn meant(data: &'a Dataset, params: &'a Params, meant: &Meant) -> Result<Self, Unfit> {
        let table = Cases::new(data, params, meant)?;
        let written = |row: &Vec<f64>| row.iter().map(|&cost| as_written(cost)).collect::<Vec<_>>();
        let costs = meant.costs.clone().or_else(|| Some(params.costs.as_ref()?.iter().map(written).collect()));
        let impurity = Impurity::new(params.criterion, costs);
        let margin = table.one * impurity.greatest();
        Ok(Twin { data, params, table, impurity, margin, offered: vec![], close: Cell::new(false) })
    }

    /// Of more levels than all sets of them can be tried, with two classes and a least size of branches, the best set
    /// is not found by trying a few. So those of the library's tree are tried too, after all others; that there is no
    /// better set is tested in `level_subsets`.
    pub fn offer(&mut self, tree: &Tree) {
        let offered = tree.nodes().iter().filter_map(|node| match node {
            Node::Split(Split { test: Test::In { feature, levels }, missing, default, .. }) => Some(OfferedSet {
                feature: *feature as usize,
                levels: levels.clone(),
                has_missing: *missing && *default == 0,
            }),
            _ => None,
        });
        self.offered = offered.collect();
    }

    /// Whether the library can have the same masses, but for a factor.
    pub fn is_exact(&self) -> bool {
        self.table.is_exact
    }

    pub fn root(&self) -> Vec<Part> {
        (0..self.table.cases.len()).map(|case| (case, self.table.one)).collect()
    }

    fn masses<'p>(&self, parts: impl IntoIterator<Item = &'p Part>) -> Masses {
        let mut masses = vec![0; self.table.n_classes];
        for &(case, fraction) in parts {
            masses[self.table.cases[case].class] += self.table.cases[case].mass * fraction;
        }
        masses
    }

    fn n_cases<'p>(&self, parts: impl IntoIterator<Item = &'p Part>) -> u128 {
        parts.into_iter().map(|&(case, fraction)| self.table.cases[case].count * fraction).sum()
    }

    fn value(&self, part: &Part, column: usize) -> Value {
        self.table.cases[part.0].values[column]
    }

    fn n_branches(&self, test: &Test) -> usize {
        test.n_branches(self.data.schema().features[test.feature() as usize].kind.levels().len())
    }

    /// The cases by value; those without one are a group, the last, or left out.
    fn groups(&self, parts: &[Part], column: usize) -> Vec<Group> {
        let mut sorted: Vec<Part> = parts.to_vec();
        sorted.sort_by(|a, b| order(self.value(a, column), self.value(b, column)));
        sorted
            .chunk_by(|a, b| self.value(a, column) == self.value(b, column))
            .map(|same| Group {
                value: self.value(&same[0], column),
                masses: self.masses(same),
                cases: self.n_cases(same),
            })
            .filter(|group| group.value != Value::Missing || missing_is_a_level(self.params))
            .collect()
    }

    /// The candidate with its gain, if it is a split.
    fn score(&self, candidate: Candidate, groups: &[Group], all: u128) -> Option<Scored> {
        let n_branches = self.n_branches(&candidate.test);
        let mut branches = vec![vec![0; self.table.n_classes]; n_branches];
        let mut n_cases = vec![0; n_branches];
        for group in groups {
            let branch = candidate.branch(group.value).expect("groups have values");
            branches[branch].iter_mut().zip(&group.masses).for_each(|(sum, mass)| *sum += mass);
            n_cases[branch] += group.cases;
        }
        let with_value: u128 = branches.iter().flatten().sum();
        branches.retain(|masses| masses.iter().any(|&mass| mass > 0));
        n_cases.retain(|&cases| cases > 0);
        let at_least =
            |least: u64| n_cases.iter().filter(|&&cases| cases >= u128::from(least) * self.table.one).count();
        if branches.len() < 2
            || at_least(self.params.min_leaf) < n_cases.len()
            || self.params.min_branch.is_some_and(|least| at_least(least) < 2)
        {
            return None;
        }
        let gain = self.impurity.gain(&branches)?;
        let least = as_written(self.params.min_gain);
        let least = if self.impurity.is_cost() { least * &self.impurity.per_one } else { least };
        // The library lowers what it asks for by 2^-40 of itself (docs/rounding.md).
        let margin = if self.params.min_gain > 0.0 { self.margin.max(all >> (39 - CLOSE)) } else { self.margin };
        let (enough, close) = gain.at_least(&least, all, margin);
        self.close.set(self.close.get() | close);
        let quality = self.impurity.quality(&gain, &branches, all - with_value);
        enough.then_some(Scored { candidate, gain, quality })
    }

    /// The place of the greatest; ties: the first.
    fn best<'g>(&self, amounts: impl Iterator<Item = &'g Amount>) -> Option<usize> {
        let amounts: Vec<&Amount> = amounts.collect();
        let greater = |a: usize, b: usize| amounts[a].compare(amounts[b], self.margin).0 == Ordering::Greater;
        let best = (0..amounts.len()).reduce(|best, place| if greater(place, best) { place } else { best })?;
        let close = amounts.iter().any(|amount| amount.compare(amounts[best], self.margin).1);
        self.close.set(self.close.get() | close);
        Some(best)
    }

    /// The split of one column.
    pub fn column_split(&self, parts: &[Part], column: usize) -> Option<Scored> {
        let groups = self.groups(parts, column);
        let all = self.masses(parts).iter().sum();
        let kind = &self.data.schema().features[column].kind;
        let whole = parts.iter().all(|&(_, fraction)| fraction == self.table.one);
        let values: Vec<Value> = self.groups(&self.root(), column).iter().map(|group| group.value).collect();
        let offered: Vec<&OfferedSet> = self.offered.iter().filter(|set| set.feature == column).collect();
        let classes = (self.table.n_classes, &offered[..]);
        let offered = candidates(column, (kind, &values), &groups, classes, whole, self.params);
        let splits: Vec<Scored> =
            offered.into_iter().filter_map(|candidate| self.score(candidate, &groups, all)).collect();
        let best = self.best(splits.iter().map(|scored| &scored.gain))?;
        splits.into_iter().nth(best)
    }

    /// The quality of a column's split of all cases: gain per unit of mass, or gain ratio. 0 without a split.
    pub fn root_quality(&self, column: usize) -> f64 {
        match self.column_split(&self.root(), column).map(|scored| scored.quality) {
            None => 0.0,
            Some(ratio @ Amount::Ratio(..)) => ratio.float(),
            Some(gain) => {
                let per_one = if self.impurity.is_cost() { float(&self.impurity.per_one) } else { 1.0 };
                gain.float() / per_one / self.masses(&self.root()).iter().sum::<u128>() as f64
            }
        }
    }

    /// The split of a node, if it is to have one.
    fn choose(&self, parts: &[Part], depth: u64) -> Option<Scored> {
        let is_pure = self.masses(parts).iter().filter(|&&mass| mass > 0).count() < 2;
        let is_small = self.n_cases(parts) < u128::from(self.params.min_cases) * self.table.one;
        if is_pure || is_small || self.params.max_depth.is_some_and(|most| depth >= most) {
            return None;
        }
        let columns = 0..self.data.columns().len();
        let splits: Vec<Scored> = columns.filter_map(|column| self.column_split(parts, column)).collect();
        let best = self.best(splits.iter().map(|scored| &scored.quality))?;
        splits.into_iter().nth(best)
    }

    /// The cases of each branch.
    fn send(&self, parts: &[Part], candidate: &Candidate) -> Vec<Vec<Part>> {
        let column = candidate.test.feature() as usize;
        let mut branches = vec![Vec::new(); self.n_branches(&candidate.test)];
        let branch = |part: &Part| match self.value(part, column) {
            Value::Missing if !missing_is_a_level(self.params) => None,
            value => candidate.branch(value),
        };
        for part in parts {
            branch(part).into_iter().for_each(|branch| branches[branch].push(*part));
        }
        let masses: Vec<u128> = branches.iter().map(|parts| self.masses(parts).iter().sum()).collect();
        let total: u128 = masses.iter().sum();
        let heaviest = heaviest(&masses);
        for &(case, fraction) in parts.iter().filter(|part| branch(part).is_none()) {
            let mut shares: Vec<u128> = masses.iter().map(|mass| fraction * mass / total).collect();
            shares[heaviest] += fraction - shares.iter().sum::<u128>();
            for (branch, share) in branches.iter_mut().zip(shares) {
                branch.extend((share > 0).then_some((case, share)));
            }
        }
        branches
    }

    fn node(&self, parts: Vec<Part>, depth: u64) -> Grown {
        let choice = if parts.is_empty() { None } else { self.choose(&parts, depth) };
        Grown { parts, depth, choice, children: vec![] }
    }

    /// The tree.
    pub fn grow(&self) -> Tree {
        let mut nodes = vec![self.node(self.root(), 0)];
        let (mut n_leaves, mut frontier) = (1, vec![0]);
        loop {
            frontier.retain(|&node: &usize| nodes[node].choice.is_some());
            let gains = frontier.iter().filter_map(|&node| Some(&nodes[node].choice.as_ref()?.gain));
            let next = match self.params.max_leaves {
                Some(_) => self.best(gains),
                None => (!frontier.is_empty()).then_some(0), // all are split, in whatever order
            };
            let Some(next) = next.map(|place| frontier.remove(place)) else { break };
            let candidate = nodes[next].choice.as_ref().expect("it can be split").candidate.clone();
            let n_branches = self.n_branches(&candidate.test) as u64;
            if self.params.max_leaves.is_some_and(|most| n_leaves + n_branches - 1 > most) {
                continue;
            }
            n_leaves += n_branches - 1;
            for parts in self.send(&nodes[next].parts, &candidate) {
                let (child, depth) = (nodes.len(), nodes[next].depth + 1);
                nodes.push(self.node(parts, depth));
                nodes[next].children.push(child);
                frontier.push(child);
            }
        }
        let mut written = Vec::new();
        self.write(&nodes, 0, 0, &mut written);
        let missing = match self.params.missing {
            Missing::Fractional | Missing::Drop => MissingPolicy::Fractional,
            Missing::Mean | Missing::ClassMean | Missing::Level => MissingPolicy::Default,
        };
        let policies = Policies { missing, unseen: self.params.unseen };
        let tree = Tree::new(self.data.schema().clone(), policies, written).expect("a good tree");
        match &self.params.costs {
            // Costs that are all the same change no prediction.
            Some(costs) if missing == MissingPolicy::Fractional && uneven(costs) => {
                tree.with_costs(costs).expect("good costs")
            }
            _ => tree,
        }
    }

    /// A mass as users see it.
    fn user(&self, mass: u128) -> f64 {
        float(&(&self.table.unit * BigRational::new(mass.into(), self.table.one.into())))
    }

    fn write(&self, nodes: &[Grown], node: usize, parent: usize, written: &mut Vec<Node>) {
        let grown = &nodes[node];
        if grown.children.is_empty() {
            let empty = grown.parts.is_empty();
            let masses = self.masses(if empty { &nodes[parent].parts } else { &grown.parts });
            let label = self.impurity.label(&masses);
            let masses = masses.into_iter().map(|mass| self.user(mass)).collect();
            written.push(Node::Leaf(Leaf::Class { label, masses, empty }));
            return;
        }
        let candidate = &grown.choice.as_ref().expect("it was split").candidate;
        let masses: Vec<u128> =
            grown.children.iter().map(|&child| self.masses(&nodes[child].parts).iter().sum()).collect();
        let (default, missing) = self.without(grown, candidate, &masses);
        let place = written.len();
        let children = vec![0; grown.children.len()].into();
        let masses = masses.into_iter().map(|mass| self.user(mass)).collect();
        let test = candidate.test.clone();
        written.push(Node::Split(Split { test, children, masses, default: default as u32, missing }));
        for (branch, &child) in grown.children.iter().enumerate() {
            let index = written.len() as u32;
            let Node::Split(split) = &mut written[place] else { unreachable!("pushed above") };
            split.children[branch] = index;
            self.write(nodes, child, node, written);
        }
    }

    /// The default branch, and whether cases without a value took it.
    fn without(&self, grown: &Grown, candidate: &Candidate, masses: &[u128]) -> (usize, bool) {
        let column = candidate.test.feature() as usize;
        let comes = grown.parts.iter().any(|part| self.value(part, column) == Value::Missing);
        match (self.params.missing, self.table.imputed[column]) {
            (Missing::Mean | Missing::ClassMean, Some(value)) => {
                (candidate.test.branch(value).expect("the test fits the column"), true)
            }
            (Missing::Level, _) if comes && !candidate.test.asks_missing() => {
                (candidate.without.expect("cases without a value have a branch"), true)
            }
            _ => (heaviest(masses), false),
        }
    }

    /// Panics if some set of levels has a greater gain at the root than those tried, in a table without constraints.
    pub fn no_set_is_better(&self, column: usize) {
        let (parts, groups) = (self.root(), self.groups(&self.root(), column));
        let all = self.masses(&parts).iter().sum();
        if groups.len() < 2 || groups.iter().any(|group| group.value == Value::Missing) {
            return;
        }
        let best = self.column_split(&parts, column);
        for set in all_sets(groups.len()) {
            let level = |&place: &usize| match groups[place].value {
                Value::Level(level) => level,
                other => panic!("{other:?} is no level"),
            };
            let test = Test::In { feature: column as u32, levels: set.iter().map(level).collect() };
            if let Some(scored) = self.score(Candidate { test, without: None }, &groups, all) {
                let best = best.as_ref().expect("there is a split");
                assert!(best.gain.compare(&scored.gain, 0).0.is_ge(), "{:?} beats {best:?}", scored);
            }
        }
    }
}

/// Ties: the first.
fn heaviest(masses: &[u128]) -> usize {
    let most = masses.iter().max().expect("a branch");
    masses.iter().position(|mass| mass == most).expect("the greatest")
}

fn uneven(costs: &[Vec<f64>]) -> bool {
    let mut errors = Vec::new();
    for (i, row) in costs.iter().enumerate() {
        errors.extend(row.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, cost)| *cost));
    }
    errors.windows(2).any(|pair| pair[0] != pair[1])
}
