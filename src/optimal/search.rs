//! The search of a table: from an objective and a choice of engine to a tree and its proof.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::binary::{self, bench_hooks::Measure};
use super::fallback::Fallback;
use super::label_masses::class_masses;
use super::offered::{Offered, OfferedTests};
use super::params::{Checked, Params};
use super::problem::Problem;
use super::progress::Board;
use super::run::Run;
use super::shape::Shape;
use super::{continuous, to_tree};
use crate::budget::{Budget, Status, Stop, Ticker};
use crate::data::{BinaryTable, Dataset, Labels, Schema, Target};
use crate::error::{Error, Result};
use crate::objective::{ClassWeight, LabelCosts, Loss, Objective, Units};
use crate::threads;
use crate::tree::Tree;

/// Cells of a table above which sorting its columns is worth a pool of threads.
const PARALLEL_CELLS: usize = 1 << 19;

/// What a search found.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The best tree.
    pub tree: Tree,
    /// Its cost: what the labels of its leaves cost, such as the mass of cases it gets wrong, and its penalty.
    pub objective: f64,
    /// No tree over any tests costs less; where the user asked for the tests offered, over those.
    pub lower_bound: f64,
    /// No tree over the tests offered costs less.
    pub tests_bound: f64,
    /// `optimal`, or the limit that struck.
    pub status: Status,
    /// The tests offered. Empty if a limit struck before they were known.
    pub tests: OfferedTests,
    /// Whether ordered columns had tests between all neighbouring values.
    pub exact_thresholds: bool,
    /// The unit of which all masses and costs are multiples.
    pub resolution: f64,
    /// Seconds of wall clock.
    pub seconds: f64,
    /// (seconds, objective, lower bound) at each change.
    pub trace: Vec<(f64, f64, f64)>,
    /// Counters, by name.
    pub stats: BTreeMap<&'static str, u64>,
}

/// Finds a tree of least cost, and proves it.
///
/// Complexity: exponential in the depth, O(tests^(depth - 2)) trees of depth two in the worst case, each
/// O(cases x ones^2); bounds and the cache leave a small part of it. Sources: see the module.
///
/// # Errors
/// If the target has no classes and cases have no costs, costs do not fit the classes, no row is present, or a nominal
/// column has too many levels for subset tests.
pub fn search(data: &Dataset, params: &Checked, budget: &Budget, board: &Board) -> Result<Outcome> {
    let Params { objective: ref loss, ref class_weight, abstain, node_penalty, .. } = params.params;
    let needs = |got| Error::WrongTarget { search: "OptimalTreeSearch", needs: "classes", got };
    match data.target() {
        Target::Classes(_) => {}
        Target::None if *loss == Loss::PerCase && *class_weight == ClassWeight::Equal => {}
        Target::Numbers(_) => {
            return Err(needs("numbers (cast that column to strings or whole numbers to read it as labels)"));
        }
        Target::None => return Err(needs("absent (name it when you make the dataset)")),
    }
    data.cases()?;
    let costs = LabelCosts::new(data, loss, class_weight, abstain, node_penalty, budget)?;
    let of_labels = Labelled { data: costs.data(), units: costs.units(), schema: costs.schema(), objective: &costs };
    let outcome = of_labels.search(params, budget, board)?;
    Ok(Outcome { tree: costs.priced(outcome.tree, loss, abstain)?, ..outcome })
}

/// The same for an objective of one's own, whose labels are the classes of the data or fewer. `objective`,
/// `class_weight`, `abstain` and `node_penalty` of the parameters are not looked at.
///
/// # Errors
/// As [`search`].
pub fn search_objective(
    data: &Dataset,
    objective: &dyn Objective,
    params: &Checked,
    budget: &Budget,
    board: &Board,
) -> Result<Outcome> {
    let n_classes = data.schema().labels().map_or(0, Labels::len);
    if objective.n_labels() > n_classes {
        return Err(Error::InvalidParameter {
            name: "objective",
            expected: format!("one of at most {n_classes} labels, as many as there are classes"),
            got: format!("one of {}", objective.n_labels()),
        });
    }
    data.cases()?;
    let units = Units::new(data, 0.0)?;
    Labelled { data, units: &units, schema: data.schema(), objective }.search(params, budget, board)
}

/// A table with what labels cost in it.
#[derive(Clone, Copy)]
struct Labelled<'a> {
    data: &'a Dataset,
    /// Masses of cases, for support and for what leaves show.
    units: &'a Units,
    /// The schema of trees, whose classes are the labels.
    schema: &'a Arc<Schema>,
    objective: &'a dyn Objective,
}

impl Labelled<'_> {
    fn search(&self, params: &Checked, budget: &Budget, board: &Board) -> Result<Outcome> {
        let &Labelled { data, units, objective, .. } = self;
        let scale = objective.scale();
        board.begin(scale.value(0));
        let threads = threads::resolve(params.params.threads);
        let mut stats = BTreeMap::new();
        let pool = if data.n_rows() * data.columns().len() > PARALLEL_CELLS { threads } else { 1 };
        let constraints = params.constraints.with_mass(params.params.min_leaf_mass, units);
        let run = Run { data, units, schema: self.schema, objective, params, constraints, budget, board, threads };
        let early = Fallback::early(&run);
        let n_labels = objective.n_labels();
        let scope = budget.scope();
        let offered =
            threads::with_pool(pool, |threads| Offered::new(data, n_labels, &params.params, budget, threads > 1))?;
        // Where the search chose to be offered fewer thresholds than there are, its best tree may be worse than a
        // greedy one.
        let is_thinned = offered.as_ref().is_ok_and(Offered::is_thinned);
        let early = early.or_else(|| is_thinned.then(|| Fallback::late(&run)).flatten());
        let of_equal_rows = match is_thinned && params.params.binarizer.is_left_to_search() {
            true => run.cost_of_equal_rows(),
            false => u64::MAX,
        };
        if of_equal_rows < u64::MAX {
            board.cap(scale.value(of_equal_rows));
        }
        if let Some(greedy) = &early {
            board.publish(budget.seconds(), scale.value(greedy.cost), scale.value(0));
        }
        let (offered, found) = match offered {
            Err(stop) => (None, Err(stop)),
            Ok(mut offered) => {
                let found = match &mut offered {
                    Offered::Tests(table) => run.search_tests(table, &mut stats),
                    Offered::Thresholds(table) => continuous::search(&run, table, &mut stats),
                };
                (Some(offered), found)
            }
        };
        // Where not even the problem could be set up a leaf is what there is.
        let (incumbent, stop) = match found {
            Ok((incumbent, stop)) => (Some(incumbent), stop),
            Err(stop) => (None, Some(stop)),
        };
        let shape = incumbent.as_ref().map_or(&Shape::Leaf, |incumbent| &incumbent.shape);
        let pattern_of = offered.as_ref().map_or(&[][..], Offered::pattern_of);
        let test_of = |test: u32| offered.as_ref().expect("a tree has tests that were offered").test(test);
        let (tree, of_leaves) = to_tree::grow(&run, pattern_of, test_of, shape)?;
        let cost = of_leaves + shape.n_nodes() * scale.node_penalty;
        debug_assert!(incumbent.as_ref().is_none_or(|incumbent| incumbent.cost == cost), "{incumbent:?}: {cost}");
        let bound = incumbent.map_or(0, |incumbent| incumbent.bound);
        // What was offered leaves its memory to greedy growth.
        let (tests, exact_thresholds) = offered.map_or((OfferedTests::default(), false), Offered::tests);
        scope.end(tests.bytes());
        let is_grown = early.as_ref().is_some_and(|greedy| greedy.is_complete);
        let is_proved = stop.is_none() && bound == cost;
        let late = if !is_proved && !is_grown { Fallback::late(&run) } else { None };
        let greedy = [early, late].into_iter().flatten().min_by_key(|greedy| greedy.cost);
        // Greedy growth, and a search that ended early, have not looked for splits that decide nothing.
        let (tree, cost, is_simple) = match greedy.filter(|greedy| greedy.cost < cost) {
            Some(Fallback { shape, tests, cost, .. }) => {
                let test_of = |test: u32| tests[test as usize].clone();
                (to_tree::grow(&run, &Fallback::pattern_of(data), test_of, &shape)?.0, cost, false)
            }
            None => (tree, cost, is_proved),
        };
        let (tree, cost) = match is_simple {
            true => (tree, cost),
            false => {
                let simplified = tree.simplified();
                let saved = (tree.n_nodes() - simplified.n_nodes()) as u64;
                (simplified, cost - saved * scale.node_penalty)
            }
        };
        let bound = bound.min(cost);
        let (objective, tests_bound) = (scale.value(cost), scale.value(bound));
        let lower_bound = scale.value(bound.min(of_equal_rows));
        board.publish(budget.seconds(), objective, lower_bound);
        let finished = match is_proved {
            true if of_equal_rows < cost => Status::OptimalOverTests,
            true => Status::Optimal,
            false => Status::Complete,
        };
        stats.insert("nodes", budget.nodes());
        Ok(Outcome {
            tree,
            objective,
            lower_bound,
            tests_bound,
            status: stop.map_or(finished, Status::from),
            exact_thresholds,
            tests,
            resolution: scale.resolution,
            seconds: budget.seconds(),
            trace: board.trace(),
            stats,
        })
    }
}

/// Has parts of the binary engine measured at the root of a table of fewer than 2^15 cases: for benches. Returns the
/// limit that ended it early, if one did.
#[doc(hidden)]
pub fn measure_parts(data: &Dataset, params: &Checked, measure: Measure) -> Result<Option<Stop>> {
    let (budget, node_penalty) = (params.budget(), params.params.node_penalty);
    let costs = LabelCosts::new(data, &Loss::Errors, &ClassWeight::Equal, None, node_penalty, &budget)?;
    let table = BinaryTable::new(data, &params.params.binarizer, &budget, false)?;
    let measure_table = |mut table: BinaryTable| {
        let ticker = &mut Ticker::new(&budget);
        let masses = class_masses(&costs, &table.pattern_of, table.n_patterns, None, ticker)?;
        let problem: Problem<u32> = Problem::new(&mut table, &costs, &masses, &params.constraints, ticker)?;
        binary::bench_hooks::measure::<u32, u16>(&problem, &budget, params.params.switches.binary(true), measure)
    };
    Ok(table.and_then(measure_table).err())
}
