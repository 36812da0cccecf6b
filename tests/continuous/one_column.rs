//! Tables of one column, of any length: a tree of depth d cuts its values into at most 2^d parts, and how to do that
//! best is found part by part, by dynamic programming. No other reference goes beyond 65,536 values.

use lattree::budget::Status;
use lattree::data::{Column, Dataset, Kind, NumericType};
use lattree::optimal::{Engine, Params, Switches};

use crate::common::tables::{feature, table};
use crate::common::{Random, cost_of, for_seeds};
use crate::run;

/// Cases of one value, and their masses by class.
type Group = Vec<u64>;

/// The least errors of at most so many parts. O(values x parts x classes).
fn segmentation(groups: &[Group], parts: usize) -> u64 {
    let n_classes = groups[0].len();
    // The least errors up to here, by how many parts there are and what the last one predicts.
    let mut least = vec![vec![u64::MAX; n_classes]; parts];
    for (index, group) in groups.iter().enumerate() {
        let total: u64 = group.iter().sum();
        for part in (0..parts).rev() {
            let begins = match (index, part) {
                (0, 0) => 0,
                (0, _) | (_, 0) => u64::MAX,
                _ => *least[part - 1].iter().min().expect("a class"),
            };
            for (class, cost) in least[part].iter_mut().enumerate() {
                let before = if index == 0 { begins } else { (*cost).min(begins) };
                *cost = before.saturating_add(total - group[class]);
            }
        }
    }
    *least.iter().flatten().min().expect("a part")
}

#[test]
fn parts_of_few_values() {
    assert_eq!(segmentation(&[vec![2, 1], vec![0, 3], vec![4, 0]], 1), 4);
    assert_eq!(segmentation(&[vec![2, 1], vec![0, 3], vec![4, 0]], 2), 2);
    assert_eq!(segmentation(&[vec![2, 1], vec![0, 3], vec![4, 0]], 3), 1);
    assert_eq!(segmentation(&[vec![2, 1], vec![0, 3], vec![4, 0]], 8), 1);
}

/// Rows in random order, of so many values each standing for `repeats` rows, and the groups that they form.
fn one_column(random: &mut Random, n_values: usize, repeats: usize, n_classes: usize) -> (Dataset, Vec<Group>) {
    let n_rows = n_values * repeats;
    let mut ranks: Vec<usize> = (0..n_rows).map(|row| row / repeats).collect();
    (1..n_rows).for_each(|row| ranks.swap(row, random.below(row as u64 + 1) as usize));
    let ends: Vec<usize> = (0..12).map(|_| random.below(n_values as u64) as usize).collect();
    let noise = *random.pick(&[1, 10, 40]);
    let class = |random: &mut Random, rank: usize| match random.chance(noise) {
        true => random.below(n_classes as u64) as u32,
        false => (ends.iter().filter(|&&end| end < rank).count() % n_classes) as u32,
    };
    let classes: Vec<u32> = ranks.iter().map(|&rank| class(random, rank)).collect();
    let weights: Option<Vec<f64>> =
        random.chance(40).then(|| (0..n_rows).map(|_| *random.pick(&[1.0, 2.0, 50.0])).collect());
    let mut groups = vec![vec![0; n_classes]; n_values];
    for (row, &rank) in ranks.iter().enumerate() {
        groups[rank][classes[row] as usize] += weights.as_ref().map_or(1, |weights| weights[row] as u64);
    }
    // The same tests again, and none: what only looks like more columns.
    let values = ranks.iter().map(|&rank| 1.0 + rank as f64 * f64::EPSILON).collect();
    let again = ranks.iter().map(|&rank| -(rank as i64)).collect();
    let columns = vec![
        (feature("constant", Kind::Continuous(NumericType::Float)), Column::Floats(vec![1.5; n_rows])),
        (feature("x", Kind::Continuous(NumericType::Float)), Column::Floats(values)),
        (feature("again", Kind::Continuous(NumericType::Integer)), Column::Integers { values: again, missing: None }),
    ];
    (table(columns, n_classes, classes, None, weights), groups)
}

fn check(random: &mut Random, data: &Dataset, groups: &[Group], max_depth: u32, say: &dyn Fn() -> String) {
    for threads in [1, 2] {
        let switches = Switches { parallel_work: *random.pick(&[0, 1_000_000]), ..Switches::default() };
        let engine = Engine::Continuous;
        let params = Params { max_depth, engine, threads: Some(threads), switches, ..Params::default() };
        let outcome = run(data, &params).expect("a good table");
        let least = segmentation(groups, 1 << max_depth) as f64;
        assert_eq!(outcome.status, Status::Optimal, "{}", say());
        assert_eq!((outcome.objective, outcome.lower_bound), (least, least), "{}", say());
        assert_eq!(cost_of(data, &outcome, 0.0), least, "{}", say());
        assert!(outcome.exact_thresholds && outcome.tree.depth() <= max_depth as usize, "{}", say());
        // The column again has the same tests: the first one is asked.
        assert!(outcome.tree.features().iter().all(|&feature| feature == 1), "{}", say());
    }
}

#[test]
fn one_column_is_a_segmentation() {
    for_seeds(150, |seed| {
        let mut random = Random::new(14_000_000 + seed);
        let (n_values, repeats) = (2 + random.below(600) as usize, *random.pick(&[1, 1, 2, 5]));
        let n_classes = *random.pick(&[2, 2, 3, 5]);
        let (data, groups) = one_column(&mut random, n_values, repeats, n_classes);
        let max_depth = 1 + random.below(3) as u32;
        check(&mut random, &data, &groups, max_depth, &|| format!("seed {seed}, depth {max_depth}"));
    });
}

/// More rows and more values than 16 bits can number.
#[test]
fn one_column_of_many_values() {
    for (max_depth, n_values, repeats, n_classes) in [(1, 70_000, 1, 3), (2, 70_000, 1, 2), (2, 40_000, 2, 2)] {
        let mut random = Random::new(15_000_000 + u64::from(max_depth));
        let (data, groups) = one_column(&mut random, n_values, repeats, n_classes);
        check(&mut random, &data, &groups, max_depth, &|| format!("{n_values} values, depth {max_depth}"));
    }
}
