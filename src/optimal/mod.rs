//! Optimal trees: of all trees over the tests offered, within the limits given, one of least cost, and the proof.
//!
//! # The search
//!
//! 1. [`crate::data::BinaryTable`]: columns become 0/1 tests; equal rows merge; repeated tests go.
//! 2. `problem`: masses become integers, tests are oriented so that rows are sparse.
//! 3. `dense`: from depth three on, if its pair counts fit into memory.
//! 4. Else the plain search, which is also the reference: `start` gives a greedy tree; then the best trees of depth two,
//!    three and so on give upper bounds. `plain`, `branch`: branch and bound by recursion over root tests. `depth_two`
//!    (over `pairs`) ends the recursion: it finds all best trees of depth two from pair counts (Algorithm 4 of Demirovic
//!    et al., *MurTree*, JMLR 2022). `bounds` and `cache` cut branches short.
//! 5. `rebuild`: the canonical tree, from least costs; `grow` gives it masses and labels.
//! 6. `anytime`: the incumbent and the bound, at any moment.
//!
//! Threads share the tests of a node; the incumbent, the bounds and the cache are common to all. Differences from the
//! paper: costs are integer masses of any number of classes, not counts of two; the similarity bound comes from the pair
//! counts of a node rather than from an archive of earlier sets.

mod anytime;
mod bounds;
mod branch;
mod cache;
mod continuous;
mod dense;
mod depth_two;
mod fallback;
mod grow;
mod masses;
mod offered;
mod pairs;
mod plain;
mod problem;
mod rebuild;
mod start;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

pub use anytime::{Board, Progress};
pub use cache::CacheKind;
#[doc(hidden)]
pub use dense::parts::Measure;
pub use dense::{Counting, Order};

use crate::budget::{Budget, Limits, Status, Stop, Ticker};
use crate::constraint::{Constraints, check_min_leaf_mass};
use crate::data::{Binarizer, BinaryTable, Dataset, Labels, Schema, Target, Thresholds};
use crate::error::{Error, Result};
use crate::greedy::{ClassWeight, check_class_weight};
use crate::objective::{LabelCosts, Loss, Objective, Units};
use crate::threads;
use crate::tree::{Tree, Unseen};
use anytime::{Anytime, Incumbent, RootWatch};
use fallback::Fallback;
use masses::{ClassMasses, class_masses};
use offered::Offered;
pub use offered::OfferedTests;
use pairs::PairCounts;
use plain::{Counters, PlainSearch};
use problem::{Mass, Problem};
use rebuild::Shape;

/// What to search for, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Params {
    /// The longest path from the root to a leaf, in splits; 0 to 20.
    pub max_depth: u32,
    /// The most internal nodes; `None`: as many as the depth allows.
    pub max_nodes: Option<u64>,
    /// The fewest cases in a branch of a split.
    pub min_leaf: u64,
    /// The least mass in a branch of a split: weights counted, not cases. 0: no limit; else `min_leaf` is 1.
    pub min_leaf_mass: f64,
    /// What is minimised.
    pub objective: Loss,
    /// How much cases of each class matter.
    pub class_weight: ClassWeight,
    /// What a leaf costs, per unit of mass, whose label says "don't know"; `None`: no leaf says so.
    pub abstain: Option<f64>,
    /// What an internal node costs, in units of the objective.
    pub node_penalty: f64,
    /// Which of the trees of least cost.
    pub rank: Rank,
    /// The tests offered.
    pub binarizer: Binarizer,
    /// Which search does the work.
    pub engine: Engine,
    /// What the tree does with levels it never saw.
    pub unseen: Unseen,
    /// Time, nodes, memory.
    pub limits: Limits,
    /// The most discrepancies of the passes that look for good trees before the proof starts; `None`: no passes.
    pub discrepancies: Option<u32>,
    /// `None`: all that the process may use.
    pub threads: Option<usize>,
    /// For study and tests; proven results do not depend on it.
    pub switches: Switches,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            max_depth: 4,
            max_nodes: None,
            min_leaf: 1,
            min_leaf_mass: 0.0,
            objective: Loss::Errors,
            class_weight: ClassWeight::Equal,
            abstain: None,
            node_penalty: 0.0,
            rank: Rank::default(),
            binarizer: Binarizer::default(),
            engine: Engine::Auto,
            unseen: Unseen::Majority,
            limits: Limits::default(),
            discrepancies: None,
            threads: None,
            switches: Switches::default(),
        }
    }
}

/// What is best among trees, in order of importance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rank {
    /// The least cost; of those the canonical tree.
    Objective,
    /// The least cost, then the fewest internal nodes; of those the canonical tree within that many nodes.
    #[default]
    ObjectiveThenNodes,
}

/// Parts of the search that can be turned off to see what they buy.
#[derive(Debug, Clone, PartialEq)]
pub struct Switches {
    /// Whether the plain search, the reference, does all of the work of the engine over tests. Else the dense search does
    /// it from depth three on.
    pub plain: bool,
    /// What is remembered.
    pub cache: CacheKind,
    /// Whether lower bounds from similar sets prune (MurTree, section 4.4).
    pub bounds: bool,
    /// Whether what a solved branch learned of its roots bounds those of later branches.
    pub transpositions: bool,
    /// Whether a node that fails is bounded by its roots (section 4.5.3), or by its cutoff alone.
    pub refined: bool,
    /// Whether the counts of the larger branch are what the smaller one leaves (section 4.3.3).
    pub subtraction: bool,
    /// Whether nodes keep the counts of all pairs of tests, if they fit into half of the memory. Else they are counted a
    /// few tests at a time, and not by subtraction.
    pub matrices: bool,
    /// Whether the branch to solve first is chosen by what the branches are like (section 4.7).
    pub dynamic_order: bool,
    /// In which order roots are tried (section 4.7).
    pub order: Order,
    /// Whether trees of depth two are found from pair counts. The dense search cannot do otherwise.
    pub depth_two: bool,
    /// How masses that differ are added up.
    pub counting: Counting,
    /// Whether to use only the instructions that every processor has.
    pub baseline: bool,
    /// Work (in nanoseconds, about) below which a node stays on one thread.
    pub parallel_work: u64,
}

/// Which search does the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Engine {
    /// The faster one, by how many values the columns have.
    #[default]
    Auto,
    /// The one over 0/1 tests: of each column, as many thresholds as the binarizer offers.
    Tests,
    /// The one on the columns as they are: all thresholds.
    Continuous,
}

impl Default for Switches {
    fn default() -> Self {
        Switches {
            plain: false,
            cache: CacheKind::Cases,
            bounds: true,
            transpositions: true,
            refined: true,
            subtraction: true,
            matrices: true,
            dynamic_order: true,
            order: Order::DepthTwo,
            depth_two: true,
            counting: Counting::Estimated,
            baseline: false,
            parallel_work: 1_000_000,
        }
    }
}

impl Switches {
    fn dense(&self, keeps_pairs: bool) -> dense::Switches {
        dense::Switches {
            cache: self.cache,
            similarity: self.bounds,
            transpositions: self.transpositions,
            refined: self.refined,
            subtraction: self.subtraction,
            keeps_pairs,
            dynamic_order: self.dynamic_order,
            order: self.order,
            baseline: self.baseline,
            parallel_work: self.parallel_work,
        }
    }
}

impl Params {
    /// Checks every parameter, so that a search starts only with ones that make sense.
    pub fn checked(self) -> Result<Checked> {
        let constraints = Constraints::checked(self.max_depth, self.max_nodes, self.min_leaf)?;
        check_min_leaf_mass(self.min_leaf_mass, self.min_leaf > 1)?;
        if !(self.node_penalty.is_finite() && self.node_penalty >= 0.0) {
            return Err(Error::InvalidParameter {
                name: "node_penalty",
                expected: "finite and not negative".into(),
                got: self.node_penalty.to_string(),
            });
        }
        if let Some(price) = self.abstain.filter(|price| !price.is_finite()) {
            return Err(Error::InvalidParameter {
                name: "abstain",
                expected: "a finite cost, or None for no such label".into(),
                got: price.to_string(),
            });
        }
        check_class_weight(&self.class_weight)?;
        if let Some(n) = self.discrepancies.filter(|&n| n > 100) {
            return Err(Error::InvalidParameter {
                name: "discrepancies",
                expected: "from 0 to 100, or None for no passes".into(),
                got: n.to_string(),
            });
        }
        self.limits.checked()?;
        threads::checked(self.threads)?;
        let binarizer = self.binarizer.clone().checked()?;
        let all =
            matches!(binarizer.thresholds, Thresholds::Auto | Thresholds::All) && binarizer.max_thresholds.is_none();
        if self.engine == Engine::Continuous && !all {
            return Err(Error::InvalidParameter {
                name: "engine",
                expected: "\"auto\" or \"tests\" where the binarizer thins thresholds (\"continuous\" tries all)"
                    .into(),
                got: "\"continuous\"".into(),
            });
        }
        Ok(Checked { params: Params { binarizer, ..self }, constraints })
    }
}

/// Parameters that were checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    params: Params,
    constraints: Constraints,
}

impl Checked {
    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// A budget for one run; its clock starts now.
    pub fn budget(&self) -> Budget {
        Budget::new(self.params.limits)
    }
}

/// How much more work than a node's pays for a pool of threads: some ten milliseconds.
const POOL: u64 = 20;

/// Cells of a table above which sorting its columns is worth a pool of threads.
const PARALLEL_CELLS: usize = 1 << 19;

/// What a search found.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The best tree.
    pub tree: Tree,
    /// Its cost: what the labels of its leaves cost, such as the mass of cases it gets wrong, and its penalty.
    pub objective: f64,
    /// No tree costs less.
    pub lower_bound: f64,
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
    let costs = LabelCosts::new(data, loss, class_weight, abstain, node_penalty)?;
    let of_labels = Labelled { data: costs.data(), units: costs.units(), schema: costs.schema(), objective: &costs };
    let outcome = of_labels.search(params, budget, board)?;
    Ok(Outcome { tree: costs.priced(outcome.tree, loss, abstain)?, ..outcome })
}

/// The same for an objective of one's own, whose labels are the classes of the data or fewer. `objective`, `class_weight`,
/// `abstain` and `node_penalty` of the parameters are not looked at.
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
        let offered =
            threads::with_pool(pool, |threads| Offered::new(data, n_labels, &params.params, budget, threads > 1))?;
        // Where the search chose to be offered fewer thresholds than there are, its best tree may be worse than a greedy one.
        let is_thinned = offered.as_ref().is_ok_and(Offered::is_thinned);
        let early = early.or_else(|| is_thinned.then(|| Fallback::late(&run)).flatten());
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
        let (incumbent, stop) = match found {
            Ok((incumbent, stop)) => (incumbent, stop),
            // Not even the problem could be set up: a leaf is what there is.
            Err(stop) => {
                let cost = grow::leaf_cost(&run);
                (Incumbent { shape: Shape::Leaf, cost, bound: 0 }, Some(stop))
            }
        };
        let greedy = early.or_else(|| stop.and_then(|_| Fallback::late(&run)));
        // Greedy growth, and a search that ended early, have not looked for splits that decide nothing.
        let (tree, cost, is_simple) = match greedy.filter(|greedy| greedy.cost < incumbent.cost) {
            Some(Fallback { shape, tests, cost }) => {
                let test_of = |test: u32| tests[test as usize].clone();
                let pattern_of = Fallback::pattern_of(data);
                (grow::grow(&run, &pattern_of, test_of, &shape)?, cost, false)
            }
            None => {
                let pattern_of = offered.as_ref().map_or(&[][..], Offered::pattern_of);
                let test_of = |test: u32| offered.as_ref().expect("a tree has tests that were offered").test(test);
                let tree = grow::grow(&run, pattern_of, test_of, &incumbent.shape)?;
                (tree, incumbent.cost, stop.is_none())
            }
        };
        let (tree, cost) = match is_simple {
            true => (tree, cost),
            false => {
                let simplified = tree.simplified();
                let saved = (tree.n_nodes() - simplified.n_nodes()) as u64;
                (simplified, cost - saved * scale.node_penalty)
            }
        };
        let bound = incumbent.bound.min(cost);
        let (objective, lower_bound) = (scale.value(cost), scale.value(bound));
        board.publish(budget.seconds(), objective, lower_bound);
        let (tests, exact_thresholds) = offered.map_or((OfferedTests::default(), false), Offered::tests);
        stats.insert("nodes", budget.nodes());
        Ok(Outcome {
            tree,
            objective,
            lower_bound,
            status: stop.map_or(Status::Optimal, Status::from),
            exact_thresholds,
            tests,
            resolution: scale.resolution,
            seconds: budget.seconds(),
            trace: board.trace(),
            stats,
        })
    }
}

/// Has parts of the dense search measured at the root of a table of fewer than 2^15 cases: for benches. Returns the limit
/// that ended it early, if one did.
#[doc(hidden)]
pub fn measure_parts(data: &Dataset, params: &Checked, measure: Measure) -> Result<Option<Stop>> {
    let costs = LabelCosts::new(data, &Loss::Errors, &ClassWeight::Equal, None, params.params.node_penalty)?;
    let budget = params.budget();
    let table = BinaryTable::new(data, &params.params.binarizer, &budget, false)?;
    let measure_table = |mut table: BinaryTable| {
        let ticker = &mut Ticker::new(&budget);
        let masses = class_masses(&costs, &table.pattern_of, table.n_patterns, None, ticker)?;
        let problem: Problem<u32> = Problem::new(&mut table, &costs, &masses, &params.constraints, ticker)?;
        dense::parts::measure::<u32, u16>(&problem, &budget, params.params.switches.dense(true), measure)
    };
    Ok(table.and_then(measure_table).err())
}

struct Run<'a> {
    data: &'a Dataset,
    units: &'a Units,
    schema: &'a Arc<Schema>,
    objective: &'a dyn Objective,
    params: &'a Checked,
    constraints: Constraints,
    budget: &'a Budget,
    board: &'a Board,
    threads: usize,
}

impl<'a> Run<'a> {
    /// The rewards of each pattern, and the support of its rows where that matters.
    fn class_masses(
        &self,
        pattern_of: &[u32],
        n_patterns: usize,
        ticker: &mut Ticker<'a>,
    ) -> std::result::Result<ClassMasses<'a>, Stop> {
        let support = |row: usize| self.constraints.support(self.data, self.units, row);
        let support = (self.constraints.min_leaf > 1).then_some(&support as &dyn Fn(usize) -> u64);
        class_masses(self.objective, pattern_of, n_patterns, support, ticker)
    }

    /// The search over 0/1 tests.
    fn search_tests(
        &self,
        table: &mut BinaryTable,
        stats: &mut BTreeMap<&'static str, u64>,
    ) -> std::result::Result<(Incumbent, Option<Stop>), Stop> {
        let n_cases: u64 = (0..self.data.n_rows()).map(|row| self.data.count(row)).sum();
        let widest = self.objective.total().max(self.units.total).max(n_cases);
        // Four times the total: the depth-two solver adds up four cells and penalties.
        match widest < u64::from(u32::MAX) / 4 {
            true => self.search::<u32>(table, stats),
            false => self.search::<u64>(table, stats),
        }
    }

    /// The best tree, and why the search ended early if it did. Fails if a limit struck before there was any tree.
    fn search<M: Mass>(
        &self,
        table: &mut BinaryTable,
        stats: &mut BTreeMap<&'static str, u64>,
    ) -> std::result::Result<(Incumbent, Option<Stop>), Stop> {
        let constraints = &self.constraints;
        let switches = &self.params.params.switches;
        let (depth, nodes) = crate::constraint::usable(constraints.max_depth, constraints.max_nodes);
        let mut ticker = Ticker::new(self.budget);
        let masses = self.class_masses(&table.pattern_of, table.n_patterns, &mut ticker)?;
        let _problem = self.budget.reserve(Problem::<M>::bytes(masses.n_entries(), table, constraints.min_leaf))?;
        let problem: Problem<M> = Problem::new(table, self.objective, &masses, constraints, &mut ticker)?;
        drop(masses);
        // Half of the memory is the cache's; the rest is for the nodes on the stacks of all threads, of which each has
        // cases, counts of single tests and bounds, and then pairs.
        let (available, scratches) =
            (self.budget.available(), |threads: usize| (threads * (depth as usize + 2)) as u64);
        let of_node = (PairCounts::bytes_besides(&problem) + 128 * problem.n_tests + 16 * problem.n_rows) as u64;
        let mut plain_threads = self.threads;
        while plain_threads > 1 && scratches(plain_threads) * of_node > available / 4 {
            plain_threads /= 2;
        }
        let for_nodes = available / 2 / scratches(plain_threads);
        let mut search = PlainSearch {
            problem: &problem,
            budget: self.budget,
            cache: switches.cache.build(problem.n_rows, available / 2),
            bounds: switches.bounds,
            depth_two: switches.depth_two,
            threads: plain_threads,
            parallel_work: switches.parallel_work,
            pair_bytes: for_nodes.saturating_sub(of_node) as usize,
            scratch: Mutex::new(Vec::new()),
            stats: Counters::default(),
        };
        if of_node > for_nodes || PairCounts::bytes(&problem, &(0..1.min(problem.n_tests))) > search.pair_bytes {
            return Err(Stop::Memory);
        }
        let root = problem.root();
        let leaf = problem.leaf(&problem.totals(&root));
        let floor = bounds::equivalent_points(&problem, &root);
        let anytime = Anytime::new(leaf, floor, self.objective, self.board, self.budget);
        if let Some(most) = self.params.params.discrepancies
            && let Err(stop) = search.offer_limited(&root, (depth, nodes), most, &anytime)
        {
            return Ok((anytime.finish(), Some(stop)));
        }
        if let Some(stop) = self.dense(&mut search, &root, (depth, nodes), &anytime, stats) {
            // A limit before the search proper leaves the trees found so far.
            return Ok((anytime.finish(), stop.unwrap_or_else(Some)));
        }
        let _nodes = self.budget.reserve(self.budget.available())?;
        let threads = if search.work(&root, depth) / POOL > switches.parallel_work { plain_threads } else { 1 };
        let stop = threads::with_pool(threads, |threads| {
            search.threads = threads;
            let stop = search.prove_and_rebuild(&root, depth, nodes, self.params.params.rank, &anytime).err();
            stats.insert("depth_two", search.stats.depth_two.load(Relaxed));
            stats.insert("cache_hits", search.stats.cache_hits.load(Relaxed));
            stats.insert("cache_bytes", search.cache.bytes());
            stats.insert("bounded", search.stats.bounded.load(Relaxed));
            stats.insert("patterns", problem.n_rows as u64);
            stats.insert("threads", threads as u64);
            stop
        });
        Ok((anytime.finish(), stop))
    }
}

impl Run<'_> {
    /// Runs the dense search, if it is fit for the problem.
    fn dense<M: Mass>(
        &self,
        plain: &mut PlainSearch<M>,
        root: &problem::Cases,
        limits: (u32, u64),
        anytime: &Anytime,
        stats: &mut BTreeMap<&'static str, u64>,
    ) -> Option<std::result::Result<Option<Stop>, Stop>> {
        let switches = &self.params.params.switches;
        let problem = plain.problem;
        if switches.plain || limits.0 < 3 || problem.n_tests == 0 {
            return None;
        }
        let most = self.objective.total().max(problem.totals(root).iter().map(|&mass| mass.into()).max().unwrap_or(0));
        // Half the range, for differences.
        let lane = if most < 1 << 15 {
            2
        } else if most < 1 << 31 {
            4
        } else {
            8
        };
        let ticker = &mut Ticker::new(self.budget);
        let instances = self.budget.reserve(0).and_then(|mut charged| {
            Ok((dense::Instances::new(problem, lane, switches.counting, ticker, &mut charged)?, charged))
        });
        let (instances, _charged) = match instances {
            Ok(made) => made,
            // The plain search needs no instances.
            Err(Stop::Memory) => return None,
            Err(stop) => return Some(Err(stop)),
        };
        // Half of the memory is for nodes, at the cost of their pairs, then of threads; a quarter for the cache.
        let available = self.budget.available();
        let needs = |keeps_pairs: bool, threads: usize| dense::bytes(&instances, lane, keeps_pairs, limits.0, threads);
        let fits = |&(keeps_pairs, threads): &(bool, usize)| needs(keeps_pairs, threads) <= available / 2;
        let fewer =
            std::iter::successors(Some(self.threads), |&threads| Some(threads / 2).filter(|&threads| threads > 0));
        let ways = [(switches.matrices, self.threads)].into_iter().chain(fewer.map(|threads| (false, threads)));
        let (keeps_pairs, most_threads) = ways.into_iter().find(fits)?;
        let for_nodes = needs(keeps_pairs, most_threads);
        let room = dense::Room { cache: available / 4, bounds: (available * 3 / 4).saturating_sub(for_nodes) };
        let _nodes = match self.budget.reserve(available) {
            Ok(nodes) => nodes,
            Err(stop) => return Some(Err(stop)),
        };
        let threads = if plain.work(root, limits.0) / POOL > switches.parallel_work { most_threads } else { 1 };
        Some(threads::with_pool(threads, |threads| {
            plain.threads = threads;
            let (dense_switches, rank) = (switches.dense(keeps_pairs), self.params.params.rank);
            let report = match lane {
                2 => dense::search::<M, u16>(plain, instances, dense_switches, root, limits, rank, anytime, room),
                4 => dense::search::<M, u32>(plain, instances, dense_switches, root, limits, rank, anytime, room),
                _ => dense::search::<M, u64>(plain, instances, dense_switches, root, limits, rank, anytime, room),
            }?;
            stats.extend(report.counters);
            stats.insert("patterns", problem.n_rows as u64);
            stats.insert("threads", threads as u64);
            Ok(report.stop)
        }))
    }
}

impl<M: Mass> PlainSearch<'_, M> {
    fn prove_and_rebuild(
        &self,
        root: &problem::Cases,
        depth: u32,
        nodes: u64,
        rank: Rank,
        anytime: &Anytime,
    ) -> std::result::Result<(), Stop> {
        self.budget.check()?;
        let (shape, cost, _) = self.greedy(root, depth, nodes)?;
        anytime.offer(shape, cost);
        if depth > 2 && self.depth_two {
            let cost = self.solve(root, 2, nodes, u64::MAX)?;
            anytime.offer(self.rebuild(root, 2, nodes, cost)?, cost);
        }
        // Shallower trees take a small part of the time and give incumbents that cut the deeper search short.
        for depth in 3..depth {
            let watch = RootWatch { anytime, search: self, depth, proves: false };
            self.solve_watched(root, depth, nodes, anytime.cost(), Some(&watch))?;
        }
        let watch = RootWatch { anytime, search: self, depth, proves: true };
        let known = anytime.cost();
        // Not below what is known: then that is the least.
        let cost = self.solve_watched(root, depth, nodes, known, Some(&watch))?.min(known);
        anytime.prove(cost);
        let mut shape = self.rebuild(root, depth, nodes, cost)?;
        if rank == Rank::ObjectiveThenNodes {
            anytime.replace(shape.clone(), cost);
            // Algorithm 7.
            let mut fewest = shape.n_nodes();
            while fewest > 0 && self.solve(root, depth, fewest - 1, cost + 1)? == cost {
                fewest -= 1;
            }
            if fewest < shape.n_nodes() {
                shape = self.rebuild(root, depth, fewest, cost)?;
            }
        }
        anytime.replace(shape, cost);
        anytime.prove(cost);
        Ok(())
    }
}
