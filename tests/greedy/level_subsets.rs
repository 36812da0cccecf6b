//! The best set of levels of two classes if branches have a least size, against all sets.

use std::cmp::Ordering;

use lattree::data::{Dataset, Kind};
use lattree::greedy::{Criterion, NominalSplits, Params};
use lattree::tree::{Leaf, Node, Test};

use crate::common::{Random, for_seeds};
use crate::run;
use crate::tables::{feature, level_names, levels, table};

/// Masses of classes 0 and 1, and the number of cases, of a level or a set.
type Sums = [u64; 3];

fn plus(a: Sums, b: Sums) -> Sums {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// The purity of two branches: exact as a fraction, or a float for entropy.
#[derive(Debug, Clone, Copy)]
enum Purity {
    Fraction(i128, i128),
    Float(f64),
}

impl Purity {
    fn of(criterion: Criterion, costs: Option<[u64; 2]>, branches: [Sums; 2]) -> Self {
        let [first, second] = branches.map(|[a, b, _]| [i128::from(a), i128::from(b)]);
        let masses = [first[0] + first[1], second[0] + second[1]];
        match (criterion, costs) {
            (Criterion::Gini, None) => {
                let squares = |[a, b]: [i128; 2]| a * a + b * b;
                let numerator = squares(first) * masses[1] + squares(second) * masses[0];
                Purity::Fraction(numerator, masses[0] * masses[1])
            }
            // The sum of L(0, 1) p(0) p(1) and L(1, 0) p(1) p(0).
            (Criterion::Gini, Some([of_zero, of_one])) => {
                let cost = i128::from(of_zero + of_one);
                let product = |[a, b]: [i128; 2]| a * b;
                let numerator = product(first) * masses[1] + product(second) * masses[0];
                Purity::Fraction(-cost * numerator, masses[0] * masses[1])
            }
            (Criterion::Error, costs) => {
                let [of_zero, of_one] = costs.unwrap_or([1, 1]).map(i128::from);
                let cost = |[a, b]: [i128; 2]| (a * of_zero).min(b * of_one);
                Purity::Fraction(-cost(first) - cost(second), 1)
            }
            _ => {
                let x_log_x = |x: i128| if x == 0 { 0.0 } else { x as f64 * (x as f64).log2() };
                let purity = |[a, b]: [i128; 2]| x_log_x(a) + x_log_x(b) - x_log_x(a + b);
                Purity::Float(purity(first) + purity(second))
            }
        }
    }

    /// Floats that are as good as equal are equal.
    fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (Purity::Fraction(a, b), Purity::Fraction(c, d)) => (a * d).cmp(&(c * b)),
            (Purity::Float(a), Purity::Float(b)) if (a - b).abs() < 1e-9 * (1.0 + a.abs()) => Ordering::Equal,
            (Purity::Float(a), Purity::Float(b)) => a.total_cmp(&b),
            _ => unreachable!("of one criterion"),
        }
    }
}

/// The purity of the best admissible set of levels that gains something, by trying all.
fn best_of_all(groups: &[Sums], least: u64, purity: impl Fn([Sums; 2]) -> Purity) -> Option<Purity> {
    let whole = groups.iter().copied().fold([0; 3], plus);
    let rest = |set: Sums| [whole[0] - set[0], whole[1] - set[1], whole[2] - set[2]];
    // Of a set with the shares of the whole: what gains nothing.
    let shares_differ = |[a, b, _]: Sums| u128::from(a) * u128::from(whole[1]) != u128::from(b) * u128::from(whole[0]);
    let mut sums = vec![[0; 3]; 1 << groups.len()];
    let mut best: Option<Purity> = None;
    for set in 1..sums.len() - 1 {
        let level = set.trailing_zeros() as usize;
        sums[set] = plus(sums[set & (set - 1)], groups[level]);
        let this = sums[set];
        // One of a set and its complement.
        if set & 1 == 1 && this[2] >= least && rest(this)[2] >= least && shares_differ(this) {
            let purity = purity([this, rest(this)]);
            if best.is_none_or(|best| purity.compare(best).is_gt()) {
                best = Some(purity);
            }
        }
    }
    best
}

/// A table with one nominal column, its levels, and parameters with a least size of branches.
fn random_problem(seed: u64) -> (Dataset, Vec<Sums>, Params) {
    let mut random = Random::new(5_000_000 + seed);
    let n_levels = 13 + random.below(3);
    let (most_cases, most_weight) = (*random.pick(&[1, 2, 2, 3, 6]), *random.pick(&[1, 1, 1, 2, 9, 1000]));
    let pure = *random.pick(&[0, 0, 40, 80, 100]);
    let has_counts = random.chance(30);
    let (mut codes, mut classes, mut counts, mut weights) = (vec![], vec![], vec![], vec![]);
    let mut groups = vec![[0; 3]; n_levels as usize];
    for level in 0..n_levels {
        let class = random.below(2);
        let of_level = if random.chance(pure) { [class, class] } else { [0, 1] };
        for _ in 0..1 + random.below(most_cases) * if random.chance(10) { 4 } else { 1 } {
            let class = *random.pick(&of_level);
            let count = if has_counts { 1 + random.below(4) } else { 1 };
            let weight = 1 + random.below(most_weight);
            codes.push(Some(level as u32));
            classes.push(class as u32);
            counts.push(count);
            weights.push(weight as f64);
            let group = &mut groups[level as usize];
            group[class as usize] += count * weight;
            group[2] += count;
        }
    }
    let n_cases: u64 = groups.iter().map(|group| group[2]).sum();
    let least = 2 + random.below((n_cases / 2).max(2));
    let column = (feature("x", Kind::Nominal(level_names(n_levels))), levels(&codes));
    let weights = (most_weight > 1).then_some(weights);
    let data = table(vec![column], 2, classes, has_counts.then_some(counts), weights);
    let criterion = *random.pick(&[Criterion::InformationGain, Criterion::Gini, Criterion::Error]);
    let costs = (criterion != Criterion::InformationGain && random.chance(30))
        .then(|| vec![vec![0.0, 1.0 + random.below(3) as f64], vec![1.0 + random.below(3) as f64, 0.0]]);
    let is_leaf = random.chance(50);
    let params = Params {
        criterion,
        costs,
        nominal_splits: NominalSplits::Subsets,
        max_depth: Some(1),
        min_leaf: if is_leaf { least } else { 1 },
        min_branch: (!is_leaf).then_some(least),
        ..Params::default()
    };
    (data, groups, params)
}

/// The levels of the first branch of the root, if it was split.
fn first_branch(data: &Dataset, params: &Params) -> Option<Vec<u32>> {
    let tree = run(data, params).expect("a good table").tree;
    match &tree.nodes()[0] {
        Node::Split(split) => match &split.test {
            Test::In { levels, .. } => Some(levels.clone()),
            other => panic!("{other:?}"),
        },
        Node::Leaf(_) => None,
    }
}

#[test]
fn fault_e_the_best_of_all_sets_of_levels_is_found() {
    for_seeds(600, |seed| {
        let (data, groups, params) = random_problem(seed);
        let least = params.min_leaf.max(params.min_branch.unwrap_or(1));
        let costs = params.costs.as_ref().map(|costs| [costs[0][1] as u64, costs[1][0] as u64]);
        let purity = |branches| Purity::of(params.criterion, costs, branches);
        let whole = groups.iter().copied().fold([0; 3], plus);
        let gains = |best: &Purity| match params.criterion {
            // Only a lower cost is a gain.
            Criterion::Error => {
                let [of_zero, of_one] = costs.unwrap_or([1, 1]).map(i128::from);
                let cost = (i128::from(whole[0]) * of_zero).min(i128::from(whole[1]) * of_one);
                best.compare(Purity::Fraction(-cost, 1)).is_gt()
            }
            _ => true,
        };
        let is_pure = whole[0] == 0 || whole[1] == 0;
        let expected = best_of_all(&groups, least, purity).filter(gains).filter(|_| !is_pure);
        let found = first_branch(&data, &params);
        assert_eq!(found.is_some(), expected.is_some(), "seed {seed}: {groups:?}, {params:?}");
        let Some((found, expected)) = found.zip(expected) else { return };
        let first = found.iter().map(|&level| groups[level as usize]).fold([0; 3], plus);
        let rest = [whole[0] - first[0], whole[1] - first[1], whole[2] - first[2]];
        assert!(found.contains(&0) && first[2] >= least && rest[2] >= least, "seed {seed}: {found:?}");
        let purity = purity([first, rest]);
        assert!(purity.compare(expected).is_eq(), "seed {seed}: {found:?}, {purity:?} < {expected:?}, {groups:?}");
    });
}

/// Six levels of class 0, one with a case of each class, and six of class 1; `min_leaf` 7.
#[test]
fn fault_e_thirteen_levels() {
    let codes: Vec<Option<u32>> = (0..6).chain([6, 6]).chain(7..13).map(Some).collect();
    let classes = [[0; 6].as_slice(), &[0, 1], &[1; 6]].concat();
    let column = (feature("x", Kind::Nominal(level_names(13))), levels(&codes));
    let data = table(vec![column], 2, classes, None, None);
    for criterion in Criterion::ALL {
        for (min_leaf, min_branch) in [(7, None), (1, Some(7))] {
            let nominal_splits = NominalSplits::Subsets;
            let params =
                Params { criterion, nominal_splits, min_leaf, min_branch, max_depth: Some(1), ..Params::default() };
            let tree = run(&data, &params).expect("a good table").tree;
            let masses = tree.nodes().iter().filter_map(|node| match node {
                Node::Leaf(Leaf::Class { masses, .. }) => Some(masses.to_vec()),
                _ => None,
            });
            // Seven cases each, with one error.
            assert_eq!(masses.collect::<Vec<_>>(), [vec![6.0, 1.0], vec![1.0, 6.0]], "{criterion:?}");
        }
    }
}

/// Many levels, where all sets are too many to be tried: the result is at least as good as that of sets that differ
/// from a prefix by one exchange of two levels, and it takes no time to speak of.
#[test]
fn fault_e_many_levels() {
    for_seeds(20, |seed| {
        let mut random = Random::new(6_000_000 + seed);
        let n_levels = *random.pick(&[40, 200, 1000]);
        let n_rows = n_levels * (1 + random.below(5));
        let codes: Vec<u32> = (0..n_rows).map(|row| (row % n_levels) as u32).collect();
        let classes: Vec<u32> = codes.iter().map(|&code| u32::from(random.below(n_levels) < u64::from(code))).collect();
        let mut groups = vec![[0; 3]; n_levels as usize];
        for (&code, &class) in codes.iter().zip(&classes) {
            groups[code as usize][class as usize] += 1;
            groups[code as usize][2] += 1;
        }
        let column = (feature("x", Kind::Nominal(level_names(n_levels))), {
            levels(&codes.iter().copied().map(Some).collect::<Vec<_>>())
        });
        let data = table(vec![column], 2, classes, None, None);
        let least = n_rows / 2 - random.below(n_rows / 8);
        let params = Params {
            criterion: Criterion::Gini,
            nominal_splits: NominalSplits::Subsets,
            max_depth: Some(1),
            min_leaf: least,
            ..Params::default()
        };
        let whole = groups.iter().copied().fold([0; 3], plus);
        let rest = |set: Sums| [whole[0] - set[0], whole[1] - set[1], whole[2] - set[2]];
        let purity = |set: Sums| Purity::of(Criterion::Gini, None, [set, rest(set)]);
        let mut order: Vec<usize> = (0..groups.len()).collect();
        order.sort_by_key(|&level| (1_000_000 * groups[level][1] / groups[level][2], level));
        let found = first_branch(&data, &params).expect("some set is admissible");
        let found = purity(found.iter().map(|&level| groups[level as usize]).fold([0; 3], plus));
        let mut prefix = [0; 3];
        for n in 1..order.len() {
            prefix = plus(prefix, groups[order[n - 1]]);
            for from in n.saturating_sub(8)..n {
                for to in n..(n + 8).min(order.len()) {
                    let (a, b) = (groups[order[from]], groups[order[to]]);
                    let set = [prefix[0] - a[0] + b[0], prefix[1] - a[1] + b[1], prefix[2] - a[2] + b[2]];
                    if set[2] >= least && rest(set)[2] >= least {
                        assert!(found.compare(purity(set)).is_ge(), "seed {seed}");
                    }
                }
            }
        }
    });
}
