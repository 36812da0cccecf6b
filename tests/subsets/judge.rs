//! The error of a tree, counted again: exactly, where it is a sum of masses or costs.

use lattree::data::{Dataset, Target};
use lattree::objective::Units;
use lattree::subsets::Estimator;
use lattree::tree::{Leaf, Node, Tree};

use crate::problem::Problem;

/// How an error is counted: on cases, or from the masses of leaves.
pub enum Judge<'a> {
    Cases { cases: &'a Dataset, units: Units, costs: Option<&'a [Vec<f64>]> },
    Leaves,
}

/// Costs of the tests are multiples of this.
const COST: f64 = 0.5;

impl<'a> Judge<'a> {
    pub fn new(problem: &'a Problem, estimator: Estimator) -> Self {
        let by = |cases: &'a Dataset| {
            let units = Units::new(cases, 0.0).expect("small weights");
            Judge::Cases { cases, units, costs: problem.params.greedy.costs.as_deref() }
        };
        match estimator {
            Estimator::Search => by(&problem.search),
            Estimator::Training => by(&problem.data),
            Estimator::Pessimistic => Judge::Leaves,
        }
    }

    /// The cost of the errors of a tree, in multiples of the unit of mass times `COST`.
    pub fn mistakes(&self, tree: &Tree) -> u128 {
        let Judge::Cases { cases, units, costs } = self else { panic!("no sum of masses") };
        let Target::Classes(classes) = cases.target() else { panic!("a target of classes") };
        let codes = tree.predict_codes(*cases, 0..cases.n_rows()).expect("the same columns");
        let cost = |class: u32, taken_for: u32| match costs {
            None => f64::from(u8::from(class != taken_for)),
            Some(costs) => costs[class as usize][taken_for as usize],
        };
        (0..cases.n_rows())
            .map(|row| u128::from(units.mass(cases, row)) * (cost(classes[row], codes[row]) / COST) as u128)
            .sum()
    }

    /// The error as a fraction.
    pub fn error(&self, tree: &Tree) -> f64 {
        match self {
            Judge::Cases { units, .. } => self.mistakes(tree) as f64 * COST / units.total as f64,
            Judge::Leaves => pessimistic(tree),
        }
    }

    /// The relative tolerance between two computations of one error.
    pub fn tolerance(&self) -> f64 {
        match self {
            Judge::Cases { .. } => 1e-12,
            Judge::Leaves => 1e-5,
        }
    }
}

/// C4.5's estimate (J. R. Quinlan, *C4.5: Programs for Machine Learning*, 1993, section 4.2 and `confid.c`): the errors
/// of each leaf and those that it adds to them, over the mass of all.
fn pessimistic(tree: &Tree) -> f64 {
    let (mut errors, mut total) = (0.0, 0.0);
    for node in tree.nodes() {
        if let Node::Leaf(leaf @ Leaf::Class { empty: false, .. }) = node {
            total += leaf.mass();
            errors += leaf.errors() + added(leaf.mass(), leaf.errors());
        }
    }
    errors / total
}

/// The errors to add to `e` of `n` cases, at C4.5's confidence of 25 %.
pub fn added(n: f64, e: f64) -> f64 {
    const CONFIDENCE: f64 = 0.25;
    // Quinlan's table of deviations, 0.84 at 20 % and 0.25 at 40 %, between which he interpolates.
    let coefficient: f64 = (0.84 + (0.25 - 0.84) * (CONFIDENCE - 0.2) / (0.4 - 0.2)).powi(2);
    let of_none = || n * (1.0 - (CONFIDENCE.ln() / n).exp());
    if e < 1e-6 {
        of_none()
    } else if e < 0.9999 {
        of_none() + e * (added(n, 1.0) - of_none())
    } else if e + 0.5 >= n {
        0.67 * (n - e)
    } else {
        let spread = coefficient * ((e + 0.5) * (1.0 - (e + 0.5) / n) + coefficient / 4.0);
        n * (e + 0.5 + coefficient / 2.0 + spread.sqrt()) / (n + coefficient) - e
    }
}

/// From the book, section 4.2: U25%(0, 6) = 0.206, U25%(0, 9) = 0.143, U25%(0, 1) = 0.750, U25%(1, 16) = 0.157, and for
/// 15 democrats of 16: 2.512 errors.
#[test]
fn the_estimate_of_the_book() {
    for (n, e, expected) in [(6.0, 0.0, 0.206), (9.0, 0.0, 0.143), (1.0, 0.0, 0.750), (16.0, 1.0, 0.157)] {
        let limit = (e + added(n, e)) / n;
        assert!((limit - expected).abs() < 0.0006, "U({e}, {n}) = {limit}");
    }
    assert!((1.0 + added(16.0, 1.0) - 2.512).abs() < 0.01);
    assert!((0.5 + added(8.0, 0.5) - (added(8.0, 0.0) + 1.0 + added(8.0, 1.0)) / 2.0).abs() < 1e-12);
    assert_eq!(added(2.0, 1.5), 0.67 * 0.5);
}
