//! The splits that a column offers at a node, in the order in which ties are decided.

use std::cmp::Ordering;

use lattree::data::{Kind, Value};
use lattree::greedy::{Criterion, Missing, NominalSplits, Params};
use lattree::tree::Test;
use num_rational::BigRational;

use crate::common::shortest::threshold;
use crate::impurity::Masses;

/// The cases of a node with one value.
#[derive(Debug, Clone)]
pub struct Group {
    /// `Missing` only where that is a level.
    pub value: Value,
    pub masses: Masses,
    /// Counts times fractions.
    pub cases: u128,
}

/// A test, and the branch of cases without a value where they have one that the test does not name.
#[derive(Debug, Clone)]
pub struct Candidate {
    pub test: Test,
    pub without: Option<usize>,
}

impl Candidate {
    pub fn branch(&self, value: Value) -> Option<usize> {
        self.test.branch(value).or(self.without)
    }
}

/// The levels of one branch of a test that was offered.
#[derive(Debug)]
pub struct OfferedSet {
    pub feature: usize,
    pub levels: Vec<u32>,
    /// Whether cases without a value take that branch.
    pub has_missing: bool,
}

impl OfferedSet {
    /// As a set of groups, if these have all of its levels, and the first group is in it.
    fn of(&self, groups: &[Group]) -> Option<Vec<usize>> {
        let is_in = |group: &Group| match group.value {
            Value::Level(level) => self.levels.contains(&level),
            _ => self.has_missing,
        };
        let set: Vec<usize> = (0..groups.len()).filter(|&place| is_in(&groups[place])).collect();
        let n_levels = set.iter().filter(|&&place| groups[place].value != Value::Missing).count();
        (set.first() == Some(&0) && set.len() < groups.len() && n_levels == self.levels.len()).then_some(set)
    }
}

/// Up to so many groups all subsets of them are tried.
const ALL_SUBSETS: usize = 12;
/// Up to so many levels a column has a branch for each, present or not.
const EACH_LEVEL: usize = 32;

/// `groups` ascend; `Missing` comes last. So do `values`, all that the column has. `whole`: no case is here in part.
pub fn candidates(
    feature: usize,
    (kind, values): (&Kind, &[Value]),
    groups: &[Group],
    (n_classes, offered): (usize, &[&OfferedSet]),
    whole: bool,
    params: &Params,
) -> Vec<Candidate> {
    let feature = feature as u32;
    if groups.len() < 2 {
        return vec![];
    }
    let level_of = |group: &Group| match group.value {
        Value::Level(level) => Some(level),
        _ => None,
    };
    match (kind, params.nominal_splits) {
        (Kind::Continuous(_) | Kind::Ordinal(_), _) => groups
            .windows(2)
            .map(|pair| match threshold(kind, pair[0].value, pair[1].value, values) {
                Some(threshold) => with(Test::AtMost { feature, threshold }, Some(1)),
                None => with(Test::Missing { feature }, None),
            })
            .collect(),
        (Kind::Nominal(levels), NominalSplits::Multiway) => {
            let missing = groups.iter().any(|group| group.value == Value::Missing);
            let few = levels.len() <= EACH_LEVEL;
            let listed = match few {
                true => (0..levels.len() as u32).collect(),
                false => groups.iter().filter_map(level_of).collect(),
            };
            let each = Test::EachLevel { feature };
            vec![with(if few && !missing { each } else { Test::EachOf { feature, levels: listed, missing } }, None)]
        }
        (Kind::Nominal(_), NominalSplits::OneVsRest) => groups
            .iter()
            .map(|group| match level_of(group) {
                Some(level) => with(Test::Is { feature, level }, Some(1)),
                None => with(Test::Missing { feature }, None),
            })
            .collect(),
        (Kind::Nominal(_), NominalSplits::Subsets) => sets(groups, n_classes, offered, whole, params)
            .into_iter()
            .map(|set| {
                let levels = set.iter().filter_map(|&place| level_of(&groups[place])).collect();
                let missing_too = set.iter().any(|&place| groups[place].value == Value::Missing);
                with(Test::In { feature, levels }, Some(usize::from(!missing_too)))
            })
            .collect(),
    }
}

fn with(test: Test, without: Option<usize>) -> Candidate {
    Candidate { test, without }
}

/// The sets of groups to try, each with the first group in it. `whole`: no case is here in part.
fn sets(groups: &[Group], n_classes: usize, offered: &[&OfferedSet], whole: bool, params: &Params) -> Vec<Vec<usize>> {
    // Prefixes are the best sets if the impurity is concave and every set is allowed. A set that holds less than one
    // case is not.
    let concave = params.criterion != Criterion::Gini || params.costs.is_none();
    let all_allowed = whole && params.min_leaf == 1 && params.min_branch.is_none_or(|least| least == 1);
    if n_classes == 2 && concave && all_allowed {
        prefixes(groups, 1)
    } else if groups.len() <= ALL_SUBSETS {
        all_sets(groups.len())
    } else {
        let prefixes = (0..n_classes).flat_map(|class| prefixes(groups, class));
        prefixes.chain(offered.iter().filter(|_| n_classes == 2).filter_map(|set| set.of(groups))).collect()
    }
}

/// In the order of the numbers whose bits they are.
pub fn all_sets(n: usize) -> Vec<Vec<usize>> {
    let masks = (1..(1u32 << n) - 1).filter(|mask| mask & 1 == 1);
    masks.map(|mask| (0..n).filter(|&place| mask >> place & 1 == 1).collect()).collect()
}

/// By ascending share of one class, ties in the order of groups.
fn prefixes(groups: &[Group], class: usize) -> Vec<Vec<usize>> {
    let share = |&place: &usize| {
        let masses = &groups[place].masses;
        BigRational::new(masses[class].into(), masses.iter().sum::<u128>().into())
    };
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by_key(share); // stable
    (1..groups.len())
        .map(|n| {
            let (below, above) = order.split_at(n);
            let mut set = if below.contains(&0) { below.to_vec() } else { above.to_vec() };
            set.sort_unstable();
            set
        })
        .collect()
}

/// The order of the values of one column.
pub fn order(a: Value, b: Value) -> Ordering {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(&b).expect("no NaN"),
        (Value::Integer(a), Value::Integer(b)) => a.cmp(&b),
        (Value::Level(a), Value::Level(b)) => a.cmp(&b),
        (a, b) => (a == Value::Missing).cmp(&(b == Value::Missing)),
    }
}

/// Whether cases without a value are a group.
pub fn missing_is_a_level(params: &Params) -> bool {
    params.missing == Missing::Level
}
