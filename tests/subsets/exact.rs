//! The best subset in exact rational numbers, with weights, costs, penalties and deltas over the whole range of floats.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lattree::Error;
use lattree::budget::Status;
use lattree::data::{Column, Dataset, Kind, NumericType, Target};
use lattree::greedy;
use lattree::subsets::{Board, Estimator, Goal, Outcome, Params, acceptable, exhaust};
use lattree::tree::Tree;
use num_bigint::BigInt;
use num_rational::BigRational;

use crate::brute::Lattice;
use crate::calls::checked;
use crate::common::tables::{feature, table};
use crate::common::{Random, for_seeds};
use crate::problem::Problem;

/// The decimal that a float prints as.
fn decimal(x: f64) -> BigRational {
    let text = format!("{x:e}");
    let (mantissa, exponent) = text.split_once('e').expect("an exponent");
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: BigInt = format!("{whole}{part}").parse().expect("digits");
    let places = exponent.parse::<i32>().expect("a number") - part.len() as i32;
    BigRational::from(digits) * BigRational::from(BigInt::from(10)).pow(places)
}

/// The error of a tree, and that of all cases at a cost of one: exact weights times exact costs.
struct Errors<'a> {
    cases: &'a Dataset,
    weights: &'a [BigRational],
    costs: Option<Vec<Vec<BigRational>>>,
}

impl Errors<'_> {
    fn whole(&self) -> BigRational {
        self.weights.iter().sum()
    }

    fn of(&self, tree: &Tree) -> BigRational {
        let Target::Classes(classes) = self.cases.target() else { panic!("a target of classes") };
        let codes = tree.predict_codes(self.cases, 0..self.cases.n_rows()).expect("the same columns");
        let wrong = (0..self.cases.n_rows()).filter(|&row| codes[row] != classes[row]);
        wrong
            .map(|row| match &self.costs {
                None => self.weights[row].clone(),
                Some(costs) => &self.weights[row] * &costs[classes[row] as usize][codes[row] as usize],
            })
            .sum()
    }
}

/// Multiples of a unit, as floats and as the numbers that they are.
fn random_weights(random: &mut Random, n: usize) -> (Vec<f64>, Vec<BigRational>) {
    let multiples: Vec<u64> = (0..n).map(|_| *random.pick(&[1, 1, 2, 3, 7, 1000, 123_457])).collect();
    let two = BigRational::from(BigInt::from(2));
    let places = random.below(1900) as i32 - 950;
    match random.below(3) {
        // From about 1e-286 to 1e286.
        0 => (
            multiples.iter().map(|&m| m as f64 * 2f64.powi(places)).collect(),
            multiples.iter().map(|&m| BigRational::from(BigInt::from(m)) * two.pow(places)).collect(),
        ),
        // All equal, and as large or small as floats can be.
        1 => {
            let weight = *random.pick(&[1e100, 1e300, 1e-300, 2e9, 1.0 / 3.0, 5e-324]);
            (vec![weight; n], vec![BigRational::from(BigInt::from(1)); n])
        }
        _ => {
            let unit: f64 = *random.pick(&[1.0, 0.1, 0.001, 1e-6]);
            let multiples: Vec<f64> = multiples.iter().map(|&m| (m as f64 / (1.0 / unit).round()).min(1e6)).collect();
            let exact = multiples.iter().map(|&m| decimal(m)).collect();
            (multiples, exact)
        }
    }
}

fn random_fraction(random: &mut Random) -> f64 {
    match random.below(4) {
        0 => *random.pick(&[0.0, 1e-300, 1e-100, 1e-9, 1e100, 1e300, 5e-324, f64::MAX]),
        1 => *random.pick(&[0.1, 0.25, 0.6, 0.123456789, 1.0 / 3.0, 2.0 / 7.0, 0.05, 0.005]),
        2 => (1 + random.below(40)) as f64 / (1 + random.below(200)) as f64,
        _ => random.below(1 << 53) as f64 / (1u64 << 53) as f64,
    }
}

/// One column of whole numbers, and classes.
fn small(x: &[i64], classes: &[u32], weights: Option<Vec<f64>>) -> Dataset {
    let column = Column::Integers { values: x.to_vec(), missing: None };
    table(vec![(feature("x", Kind::Continuous(NumericType::Integer)), column)], 2, classes.to_vec(), None, weights)
}

/// Fault X3: `feature_penalty` was capped, so that a subset could be "proved" that is not the best.
#[test]
fn fault_x3_the_best_subset_is_that_of_exact_rationals() {
    let [runs, refused] = [0; 2].map(AtomicU64::new);
    for_seeds(400, |seed| {
        let mut problem = Problem::random(seed);
        let mut random = Random::new(77_000_000 + seed);
        let n_classes = problem.data.schema().labels().expect("classes").len();
        if random.chance(50) {
            let cost = |random: &mut Random| *random.pick(&[1.0, 1.234567, 0.000001, 12345.678, 0.5, 1e-9]);
            let row = |i: usize, random: &mut Random| {
                (0..n_classes).map(|j| if i == j { 0.0 } else { cost(random) }).collect::<Vec<f64>>()
            };
            problem.params.greedy.costs = Some((0..n_classes).map(|i| row(i, &mut random)).collect());
        }
        let n = problem.search.n_rows();
        let (weights, exact) = random_weights(&mut random, n);
        let (columns, target) = (problem.search.columns(), problem.search.target().clone());
        let columns = columns.iter().map(|column| (**column).clone()).collect();
        let search = Dataset::new(problem.search.schema().clone(), columns, n, target, None, Some(weights));
        let search = search.expect("good weights");
        let lattice = Lattice::new(&problem.data, &problem.params);
        if !lattice.is_sound() {
            return;
        }
        let costs = problem.params.greedy.costs.as_ref();
        let costs =
            costs.map(|costs| costs.iter().map(|row| row.iter().map(|&cost| decimal(cost)).collect()).collect());
        let errors = Errors { cases: &search, weights: &exact, costs };
        let delta = if random.chance(50) { 0.0 } else { random_fraction(&mut random) };
        let goal = Goal { error: Estimator::Search, delta, feature_penalty: random_fraction(&mut random) };
        let worth = |tree: &Tree, used: u32| {
            errors.of(tree) + decimal(goal.feature_penalty) * errors.whole() * BigInt::from(used)
        };
        let of_subset = |set| {
            let tree = lattice.tree(set);
            worth(&tree, lattice.used(&tree).count_ones())
        };
        let least = lattice.subsets().into_iter().map(of_subset).min().expect("a subset");
        let (checked, board) = (checked(&problem.params), Board::new());
        for run in 0..2 {
            let outcome: Result<Outcome, Error> = match run {
                0 => acceptable(&problem.data, Some(&search), &checked, goal, &checked.budget(), &board),
                _ => exhaust(&problem.data, Some(&search), &checked, goal, None, &checked.budget(), &board),
            };
            let say = |what: &str| format!("seed {seed}, run {run}, {goal:?}: {what}\n{}", problem.words());
            let outcome = match outcome {
                Ok(outcome) => outcome,
                Err(Error::InvalidParameter { name: "costs", .. }) => {
                    refused.fetch_add(1, Relaxed);
                    continue;
                }
                Err(error) => panic!("{}", say(&error.to_string())),
            };
            runs.fetch_add(1, Relaxed);
            let found = worth(&outcome.tree, outcome.tree.features().len() as u32);
            let near = decimal(goal.delta) * errors.whole();
            let is_optimal = outcome.status == Status::Optimal;
            let allowed = if is_optimal { least.clone() } else { &least + near };
            assert!(found <= allowed, "{}", say(&format!("{found} for {least}")));
            assert!(is_optimal || run == 0 && outcome.status == Status::Acceptable, "{}", say("status"));
            assert!(outcome.lower_bound <= outcome.objective, "{}", say("the bound"));
        }
    });
    let [runs, refused] = [runs, refused].map(AtomicU64::into_inner);
    println!("{runs} runs, {refused} refused");
    assert!(runs > 10 * refused);
}

/// The inputs of fault X3.
#[test]
fn fault_x3_its_inputs() {
    let building = small(&[0, 0, 0, 1, 1, 1], &[0, 0, 0, 1, 1, 1], None);
    let heavy = small(&[0, 0, 1, 1], &[0, 0, 1, 1], Some(vec![1e100; 4]));
    let goal = Goal { feature_penalty: 0.6, ..Goal::default() };
    let costs = Some(vec![vec![0.0, 1.234567], vec![1.0, 0.0]]);
    let (x, y): (Vec<i64>, Vec<u32>) = (0..1000).map(|row| (row / 500, row as u32 / 500)).unzip();
    let many = small(&x, &y, Some(vec![2e9; 1000]));
    for (search, costs) in [(&heavy, None), (&many, costs)] {
        let params = Params { greedy: greedy::Params { costs, ..Default::default() }, ..Default::default() };
        let checked = checked(&params);
        let board = Board::new();
        let found = [
            acceptable(&building, Some(search), &checked, goal, &checked.budget(), &board).expect("good tables"),
            exhaust(&building, Some(search), &checked, goal, None, &checked.budget(), &board).expect("good tables"),
        ];
        for outcome in found {
            assert_eq!((outcome.features.len(), outcome.status), (0, Status::Optimal), "{outcome:?}");
        }
    }
}

/// C4.5's estimate of cases that weigh as little or as much as floats can, in the same proportions, leads to a tree and
/// does not overflow.
#[test]
fn estimates_of_any_weight_are_in_range() {
    for weight in [5e-324, 1e-300, 1e-9, 1e15, 1e100, 1e300] {
        let weights = Some(vec![weight; 6]);
        let data = small(&[0, 0, 0, 1, 1, 1], &[0, 0, 0, 1, 1, 1], weights);
        let checked = checked(&Params::default());
        let goal = Goal { error: Estimator::Pessimistic, ..Goal::default() };
        let outcome = acceptable(&data, None, &checked, goal, &checked.budget(), &Board::new()).expect("a good table");
        // The estimate of each leaf is rounded to a part of all, 2^-20 or less.
        let is_share = (0.0..=1.0 + 2f64.powi(-20)).contains(&outcome.error);
        assert!(is_share && outcome.lower_bound <= outcome.objective, "{outcome:?}");
        // With little weight there are few cases and the estimate is high; with much weight there are many, and it is
        // low.
        assert_eq!(outcome.error > 0.5, weight < 0.1, "{weight}: {}", outcome.error);
    }
}
