//! The search on columns as they are: against brute force, a second method and the search over tests, and under limits.
//!
//! `LATTREE_PROBLEMS=100000 LATTREE_FIRST=0 cargo test --release --test continuous -- --nocapture` runs as many random
//! problems as wanted from a first seed on.

mod common;

#[path = "continuous/brute.rs"]
mod brute;
#[path = "continuous/larger.rs"]
mod larger;
#[path = "continuous/many_classes.rs"]
mod many_classes;
#[path = "continuous/one_column.rs"]
mod one_column;
#[path = "continuous/second.rs"]
mod second;
#[path = "continuous/small.rs"]
mod small;
#[path = "continuous/stopped.rs"]
mod stopped;
#[path = "continuous/sweep.rs"]
mod sweep;
#[path = "continuous/tables.rs"]
mod tables;

use common::{Random, cost_of};
use lattree::Result;
use lattree::budget::{Budget, Limits, Status};
use lattree::data::{Binarizer, BinaryTable, Dataset, MissingTests, Nominal, Thresholds};
use lattree::optimal::{Board, Engine, Outcome, Params, Rank, Switches, search};
use lattree::tree::Test;

fn run(data: &Dataset, params: &Params) -> Result<Outcome> {
    let checked = params.clone().checked()?;
    search(data, &checked, &checked.budget(), &Board::new())
}

/// Parameters of all kinds for the search over all tests, which is the reference.
fn random_params(random: &mut Random, depths: &[u32]) -> Params {
    let max_depth = *random.pick(depths);
    Params {
        max_depth,
        max_nodes: random.chance(35).then(|| random.below(2 + (1 << max_depth.min(4)))),
        min_leaf: *random.pick(&[1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 5]),
        node_penalty: *random.pick(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.05, 0.25, 0.5, 1.0, 1e18]),
        rank: *random.pick(&[Rank::Objective, Rank::Objective, Rank::ObjectiveThenNodes]),
        binarizer: Binarizer {
            thresholds: Thresholds::All,
            nominal: *random.pick(&[Nominal::OneVsRest, Nominal::OneVsRest, Nominal::Subsets]),
            missing: *random.pick(&[MissingTests::Own, MissingTests::Own, MissingTests::None]),
            ..Binarizer::default()
        },
        engine: Engine::Tests,
        threads: Some(1),
        ..Params::default()
    }
}

/// The same search on the columns as they are: with one thread and as it comes, and with several that all work, even on
/// a small table, and perhaps without the instructions that not every processor has.
fn continuous(random: &mut Random, params: &Params) -> [Params; 2] {
    let one = Params { engine: Engine::Continuous, threads: Some(1), ..params.clone() };
    let switches = Switches { parallel_work: 0, baseline: random.chance(50), ..Switches::default() };
    let thresholds = *random.pick(&[Thresholds::All, Thresholds::Auto]);
    let binarizer = Binarizer { thresholds, ..params.binarizer.clone() };
    [one.clone(), Params { switches, binarizer, threads: Some(2), ..one }]
}

/// The tests that a tree may ask, in their order.
fn offered(data: &Dataset, binarizer: &Binarizer) -> Result<Vec<Test>> {
    let budget = Budget::new(Limits::default());
    let table = BinaryTable::new(data, binarizer, &budget, false)?.expect("no limit");
    assert!(table.exact_thresholds, "the reference must have all thresholds");
    Ok(table.tests)
}

/// Fails unless a search proved what the reference did.
fn check_proved(outcome: &Outcome, reference: &Outcome, data: &Dataset, params: &Params, say: &dyn Fn() -> String) {
    assert_eq!(outcome.status, Status::Optimal, "{}", say());
    assert_eq!(outcome.objective, reference.objective, "{}", say());
    assert_eq!(outcome.lower_bound, reference.objective, "{}", say());
    assert_eq!(outcome.resolution, reference.resolution, "{}", say());
    assert!(outcome.exact_thresholds, "{}", say());
    // Their texts hold every threshold to its last bit.
    assert_eq!(outcome.tree.to_json(), reference.tree.to_json(), "{}", say());
    assert_eq!(cost_of(data, outcome, params.node_penalty), outcome.objective, "the tree's cost is another, {}", say());
    if let Some(&(_, objective, bound)) = outcome.trace.last() {
        assert_eq!((objective, bound), (outcome.objective, outcome.objective), "what was published, {}", say());
    }
}
