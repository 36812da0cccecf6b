//! Why bounds hold, and whether they do.
//!
//! Every place that raises a bound names its [`Reason`]. With the feature `check-bounds`, and in the unit tests, the
//! bound is compared with what the reference finds, there and then, on problems that are small enough for that: a bound
//! that is wrong does not pass for being harmless, because a greater one hides it or because no root was ruled out by
//! it.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::cache::CacheKind;
use super::driver::TreeLimits;
use super::problem::{Cases, Mass, Problem};
use super::reference::Reference;
use crate::budget::Budget;

/// Why no tree costs less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Reason {
    /// A branch that is given no node is a leaf.
    Leaf,
    /// The branch was solved.
    Solved,
    /// Its masses were rounded down.
    Rough,
    /// A similar branch was solved (MurTree, section 4.4).
    Similarity,
    /// The same or a similar set was solved by way of other tests.
    Transposition,
    /// No root of the node costs less (section 4.5.3).
    Refined,
    /// A subset was solved.
    NestedSets,
    /// A cut nearby was tried.
    Radius,
}

/// The reference at hand, to compare bounds with.
pub(super) struct BoundCheck<'a, M> {
    problem: &'a Problem<M>,
    reference: Reference<'a, M>,
    n_checked: AtomicU64,
}

/// Steps of the reference up to which a problem is small.
const SMALL: u64 = 50_000;

impl<'a, M: Mass> BoundCheck<'a, M> {
    /// Whether bounds are checked at all.
    pub(super) const IS_ON: bool = cfg!(any(test, feature = "check-bounds"));

    /// `None` unless bounds are to be checked, and the problem is small.
    pub(super) fn new(problem: &'a Problem<M>, max_depth: u32) -> Option<Self> {
        static UNLIMITED: LazyLock<Budget> = LazyLock::new(Budget::unlimited);
        let steps = || (problem.n_tests as u64).saturating_pow(max_depth).saturating_mul(problem.n_rows as u64);
        (Self::IS_ON && steps() <= SMALL).then(|| BoundCheck {
            problem,
            reference: Reference {
                problem,
                budget: &UNLIMITED,
                cache: CacheKind::Cases.build(problem.n_rows, 1 << 28),
                bounds: false,
                stats: Default::default(),
            },
            n_checked: AtomicU64::new(0),
        })
    }

    /// The least cost for some rows.
    pub(super) fn least(&self, rows: &[u32], limits: TreeLimits) -> u64 {
        let cases = Cases { rows: rows.to_vec(), path: vec![] };
        self.reference.least(&cases, limits, u64::MAX / 4).expect("the budget of a check has no limit")
    }

    /// The cost of a leaf of some rows.
    pub(super) fn leaf(&self, rows: &[u32]) -> u64 {
        self.problem.leaf(&self.problem.totals(&Cases { rows: rows.to_vec(), path: vec![] }))
    }

    /// Fails if the bound is greater than the least cost.
    pub(super) fn compare(&self, reason: Reason, bound: u64, least: u64, say: impl FnOnce() -> String) {
        self.n_checked.fetch_add(1, Relaxed);
        assert!(bound <= least, "a bound of {bound} by {reason:?}, but the least cost is {least}: {}", say());
    }

    /// How many bounds were compared.
    pub(super) fn n_checked(&self) -> u64 {
        self.n_checked.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::bits::mix;
    use crate::data::{
        Binarizer, Column, Dataset, Feature, Kind, Labels, NumericType, Schema, Target, TargetSchema, Task, Thresholds,
    };
    use crate::optimal::{Board, Counting, Engine, Params, RootOrder, Switches, search};

    /// A table of whole numbers of few values and some weights, from a seed, and how to search it.
    fn problem(seed: u64) -> (Dataset, Params) {
        let mut state = mix(seed);
        let mut below = |n: u64| {
            state = mix(state);
            state % n
        };
        let (n_rows, n_columns, n_classes) = (6 + below(20) as usize, 3 + below(3), 2 + below(3) as i64);
        let mut column = |n_values: u64| -> Vec<i64> { (0..n_rows).map(|_| below(n_values) as i64).collect() };
        let cells: Vec<Vec<i64>> = (0..n_columns).map(|place| column(2 + u64::from(place == 0))).collect();
        let noise = column(3);
        let classes = (0..n_rows).map(|row| {
            let explained = cells[0][row] ^ (cells[1][row] & cells[2][row]);
            ((explained + i64::from(noise[row] == 0)) % n_classes) as u32
        });
        let target = Target::Classes(classes.collect::<Vec<u32>>().into());
        let is_weighed = column(3)[0] == 0;
        let weights = is_weighed.then(|| column(4).into_iter().map(|weight| weight as f64 / 2.0 + 0.5).collect());
        let continuous = |place: u64| Feature {
            name: format!("x{place}"),
            kind: Kind::Continuous(NumericType::Integer),
            dtype: String::new(),
        };
        let task = Task::Classes(Labels::Integers((0..n_classes).collect()));
        let target_schema = TargetSchema { name: "y".into(), task, dtype: String::new() };
        let schema = Schema { features: (0..n_columns).map(continuous).collect(), target: Some(target_schema) };
        let columns = cells.into_iter().map(|values| Column::Integers { values, missing: None }).collect();
        let data = Dataset::new(Arc::new(schema), columns, n_rows, target, None, weights).expect("a good table");
        let max_depth = [3, 4, 4, 5][below(4) as usize];
        let params = Params {
            max_depth,
            max_nodes: (below(3) == 0).then(|| 2 + below(8)),
            min_leaf: [1, 1, 1, 2][below(4) as usize],
            node_penalty: [0.0, 0.0, 0.5][below(3) as usize],
            binarizer: Binarizer { thresholds: Thresholds::All, ..Binarizer::default() },
            engine: [Engine::Tests, Engine::Continuous][below(2) as usize],
            threads: Some(1 + below(2) as usize),
            switches: Switches {
                parallel_work: 0,
                matrices: below(4) > 0,
                counting: Counting::ALL[below(4) as usize],
                order: RootOrder::ALL[below(4) as usize],
                ..Switches::default()
            },
            ..Params::default()
        };
        (data, params)
    }

    /// `LATTREE_PROBLEMS=20000 cargo test --release --lib bounds_hold` checks as many problems as wanted.
    #[test]
    fn bounds_hold() {
        let wanted = std::env::var("LATTREE_PROBLEMS").ok().and_then(|n| n.parse().ok()).unwrap_or(1_000);
        let (mut n_checked, mut n_problems) = (0, 0);
        for seed in 0..wanted {
            let (data, params) = problem(seed);
            let checked = params.checked().expect("good parameters");
            let outcome = search(&data, &checked, &checked.budget(), &Board::new()).expect("a good table");
            let of_problem = outcome.stats.get("bounds_checked").copied().unwrap_or(0);
            n_checked += of_problem;
            n_problems += u64::from(of_problem > 0);
        }
        println!("{n_checked} bounds of {n_problems} problems out of {wanted}");
        assert!(n_problems > wanted / 4 && n_checked > 100 * n_problems, "{n_checked} of {n_problems}");
    }

    #[test]
    #[should_panic(expected = "a bound of 3 by Similarity, but the least cost is 2: here")]
    fn a_wrong_bound_is_told() {
        let problem: Problem<u32> = Problem::of_single((1, 2), 0, [((0, 1), vec![0])].into_iter());
        let check = BoundCheck::new(&problem, 3).expect("small");
        check.compare(Reason::Similarity, 2, 2, String::new);
        check.compare(Reason::Similarity, 3, 2, || "here".into());
    }
}
