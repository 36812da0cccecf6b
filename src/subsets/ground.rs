//! What a search stands on: the coded table, the judge of trees, the features to choose from, and the way back to trees and
//! errors that users see.

use std::sync::Arc;
use std::thread::{Scope, ScopedJoinHandle};

use rayon::ThreadPool;

use super::features::Set;
use super::goal::Whole;
use super::held_out::HeldOut;
use super::pessimistic::Scale;
use super::stack::{self, Stack};
use super::{Checked, DistinctTree, Estimator};
use crate::bits;
use crate::budget::{Budget, Stop, Ticker};
use crate::criterion::{Costs, Criterion};
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::greedy;
use crate::greedy::engine::{self, CaseSet, GrownNode, Growth, GrowthData, single_leaf, to_tree};
use crate::threads;
use crate::tree::{Leaf, Node, Tree};

/// What trees are judged by.
#[derive(Clone)]
pub(super) enum Judge {
    /// Nothing: trees have no error.
    None,
    /// Cases that they predict.
    HeldOut(Arc<HeldOut>),
    /// What building cases say of their leaves.
    Pessimistic(Scale),
}

/// What all workers of a search share.
pub(super) struct Ground {
    pub data: Dataset,
    pub table: Arc<GrowthData>,
    pub params: greedy::Params,
    pub costs: Costs,
    pub judge: Judge,
    /// The table of [`Judge::HeldOut`].
    pub judged: Option<Dataset>,
    /// Whether trees on the same cases are kept to be found again: that pays where neighbours in the lattice come one
    /// after the other.
    pub keeps_recent: bool,
    /// Whether trees are shown, with the masses of their leaves.
    pub lists: bool,
    /// Bytes for the case sets of all workers.
    pub cache_of_all: usize,
    /// Nominal columns of more than a few levels, with how many codes they have.
    pub many_levels: Vec<(usize, usize)>,
    /// Features that every subset has, ascending, and those that it may have.
    pub required: Vec<usize>,
    pub optional: Vec<usize>,
}

/// Case sets may take this many bytes, and [`CACHE_PER_CELL`] for every cell of the table, if the budget allows. More
/// hardly pays.
const CACHE: u64 = 64 << 20;
const CACHE_PER_CELL: u64 = 64;
/// Bytes of stack beside those of levels, at most, and at least where the system has room for less.
const STACK: usize = 16 << 20;
const MOST_STACK: usize = 1 << 30;
const LEAST_STACK: usize = 1 << 20;
/// Levels of a column that are few.
const FEW_LEVELS: usize = 16;
/// Bytes for each case, of the room in which a column of a set is looked at.
const PER_CASE: u64 = 96;
/// Rows that are predicted at a time.
const ROWS: usize = 1 << 12;
/// Cells from which the columns of a case set may be shared out to threads.
const PARALLEL_CELLS: usize = 1 << 17;

impl Ground {
    /// Codes the table. The outer result is the call's, the inner one the budget's.
    pub fn new(
        data: &Dataset,
        search: Option<&Dataset>,
        checked: &Checked,
        error: Option<Estimator>,
        budget: &Budget,
    ) -> Result<std::result::Result<Self, Stop>> {
        engine::check_target(data).map_err(|error| match error {
            Error::WrongTarget { needs, got, .. } => Error::WrongTarget { search: "a search over subsets", needs, got },
            error => error,
        })?;
        let params = checked.params().greedy.clone();
        let costs = engine::checked_costs(data, &params)?;
        let (required, optional) = features(data, checked)?;
        let judged = judged(data, search, error)?;
        let threads = checked.greedy.threads_on(data);
        let code = |threads| GrowthData::new(data, &params, budget, threads > 1);
        let table = match threads::with_pool(threads, code)? {
            Ok(table) => Arc::new(table),
            Err(stop) => return Ok(Err(stop)),
        };
        table.reserve_byte_codes(budget);
        let judge = match (error, judged) {
            (Some(Estimator::Pessimistic), _) => Judge::Pessimistic(Scale::of(table.units.value(table.total))),
            (_, Some(judged)) => {
                let held_out = match HeldOut::new(data, judged, &params, &costs, budget)? {
                    Ok(held_out) => held_out.code(judged, &table, params.unseen, &mut Ticker::new(budget))?,
                    Err(stop) => Err(stop),
                };
                match held_out {
                    Ok(held_out) => Judge::HeldOut(Arc::new(held_out)),
                    Err(stop) => return Ok(Err(stop)),
                }
            }
            _ => Judge::None,
        };
        let cells = (table.n_cases * table.columns.len()) as u64;
        // The other half is for the trees that stand on them, and for what grows beyond it.
        let cache_of_all = (budget.available() / 2).min(CACHE + CACHE_PER_CELL * cells) as usize;
        let columns = table.columns.iter().enumerate();
        let many = columns.filter(|(_, coded)| !coded.ordered && coded.n_codes as usize > FEW_LEVELS);
        let many_levels = many.map(|(column, coded)| (column, coded.n_codes as usize)).collect();
        let judged = judged.cloned();
        let data = data.clone();
        Ok(Ok(Ground {
            data,
            table,
            params,
            costs,
            judge,
            judged,
            keeps_recent: false,
            lists: false,
            cache_of_all,
            many_levels,
            required,
            optional,
        }))
    }

    /// The tree of one leaf and its error as a fraction, where there was no time for more.
    pub fn leaf(data: &Dataset, search: Option<&Dataset>, checked: &Checked, error: Estimator) -> Result<(Tree, f64)> {
        let params = &checked.params().greedy;
        let costs = engine::checked_costs(data, params)?;
        let tree = single_leaf(data, params, &costs)?;
        let error = match judged(data, search, Some(error))? {
            Some(judged) => {
                let label = tree.nodes().iter().find_map(|node| match node {
                    Node::Leaf(Leaf::Class { label, .. }) => Some(*label),
                    _ => None,
                });
                HeldOut::error_of_leaf(data, judged, &costs, label.expect("it is a leaf"))?
            }
            None => {
                let masses = tree.nodes().iter().flat_map(|node| match node {
                    Node::Leaf(Leaf::Class { masses, .. }) => masses.to_vec(),
                    _ => Vec::new(),
                });
                let scale = Scale::of(masses.sum());
                scale.whole().fraction(scale.errors_of(&tree))
            }
        };
        Ok((tree, error))
    }

    /// Bytes for the case sets of one of so many workers.
    pub fn cache(&self, workers: usize) -> usize {
        self.cache_of_all / workers
    }

    /// Bytes that a worker takes for what does not change, if the columns of its sets are shared out to so many threads.
    pub fn worker_bytes(&self, threads: usize) -> u64 {
        let (rows, classes, features) =
            (self.table.n_cases as u64, self.table.n_classes as u64, self.table.columns.len() as u64);
        let judged = match &self.judge {
            Judge::HeldOut(held_out) => 8 * held_out.n_cases as u64,
            _ => 0,
        };
        // The root, cases on their way down a split, and room for the columns of a set.
        let of_cases = 24 * rows + judged + threads as u64 * PER_CASE * rows;
        of_cases + 64 * classes + features * (64 + features / 8) + engine::impurity_bytes(&self.table, &self.params)
    }

    /// How many workers, of so many at most, have room, where each takes `more` beside what all take.
    pub fn workers(&self, most: usize, more: u64, budget: &Budget) -> usize {
        let each = self.worker_bytes(1) + more;
        ((budget.available() / 2 / each.max(1)) as usize).clamp(1, most.max(1))
    }

    /// Whether gains at a set are kept as they are, with the class masses of their branches.
    pub fn keeps_masses(&self, set: &CaseSet) -> bool {
        let is_unit = self.table.has_unit_weights() && !set.has_fractions();
        !is_unit && self.params.criterion == Criterion::InformationGain
    }

    /// Bytes of a tree of so many nodes, as grown and as it is shown.
    pub fn shown_bytes(&self, n_nodes: usize) -> u64 {
        n_nodes as u64 * (16 * self.table.n_classes as u64 + 200)
    }

    pub fn n_features(&self) -> usize {
        self.table.columns.len()
    }

    /// The nodes of a tree that was grown, as users see it.
    pub fn finish(&self, grown: &[GrownNode]) -> Tree {
        to_tree(&self.data, &self.table, &self.params, &self.costs, grown).expect("grown nodes make a tree")
    }

    /// The features that a tree uses and those that are required, ascending.
    pub fn with_required(&self, tree: &Tree) -> Vec<usize> {
        let mut features = self.required.clone();
        features.extend(tree.features().into_iter().map(|feature| feature as usize));
        features.sort_unstable();
        features.dedup();
        features
    }

    /// DT(features), grown on its own.
    pub fn grow(&self, features: &[usize], budget: &Budget) -> std::result::Result<Tree, Stop> {
        let growth = Growth::new(&self.table, &self.params, budget, 1).over(features.to_vec());
        match engine::dispatch(&self.table, &self.params, &self.costs, growth) {
            (_, Some(stop)) => Err(stop),
            (grown, None) => Ok(self.finish(&grown)),
        }
    }

    /// The error of a tree in units, from its predictions or leaves.
    pub fn error_of(&self, tree: &Tree, budget: &Budget) -> std::result::Result<u64, Stop> {
        match (&self.judge, &self.judged) {
            (Judge::HeldOut(held_out), Some(judged)) => {
                let mut error = 0;
                for first in (0..judged.n_rows()).step_by(ROWS) {
                    budget.check()?;
                    let rows = first..judged.n_rows().min(first + ROWS);
                    let labels = tree.predict_codes(judged, rows).expect("the schema is the tree's");
                    error += held_out.errors_of(first, &labels);
                }
                Ok(error)
            }
            (Judge::Pessimistic(scale), _) => Ok(scale.errors_of(tree)),
            _ => Ok(0),
        }
    }

    /// The tree of one leaf, and its error in units.
    pub fn root(&self) -> (Tree, u64) {
        let unlimited = Budget::unlimited();
        let tree = self.grow(&[], &unlimited).expect("without a limit");
        let error = self.error_of(&tree, &unlimited).expect("without a limit");
        (tree, error)
    }

    /// How many units an error of one is: all cases, or what they cost at one for each.
    pub fn whole(&self) -> Whole {
        match &self.judge {
            Judge::None => Whole::of_float(1.0),
            Judge::HeldOut(held_out) => held_out.whole(),
            Judge::Pessimistic(scale) => scale.whole(),
        }
    }

    /// An error in units as a fraction.
    pub fn fraction(&self, error: u64) -> f64 {
        self.whole().fraction(error)
    }

    /// The sets of required and optional features.
    pub fn sets<S: Set>(&self) -> (S, S) {
        (S::of(self.n_features(), &self.required), S::of(self.n_features(), &self.optional))
    }

    /// A pool for the columns of case sets, if there are sets that it pays for.
    pub fn pool(&self, threads: usize, budget: &Budget) -> Option<Arc<ThreadPool>> {
        if threads <= 1 || self.table.n_cases * self.table.columns.len() < PARALLEL_CELLS {
            return None;
        }
        let most = budget.available() / 4 / (PER_CASE * self.table.n_cases as u64);
        threads::pool(threads.min(most as usize)).map(Arc::new)
    }

    /// Runs work that recurs as deep as trees are, on a thread of its own or, where none can be started, right here.
    pub fn deep<T: Send>(&self, work: impl FnOnce(Stack) -> T + Send) -> T {
        let work = |bytes: Option<usize>| work(Stack::here(bytes));
        std::thread::scope(|scope| match self.spawn(scope, work) {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(work) => work(None),
        })
    }

    /// A thread with the stack that trees need or, where the system has no room for that, with a smaller one, which its work
    /// is told; or the work back.
    pub fn spawn<'s, 'e, T: Send + 's, W: FnOnce(Option<usize>) -> T + Send + 's>(
        &self,
        scope: &'s Scope<'s, 'e>,
        work: W,
    ) -> std::result::Result<ScopedJoinHandle<'s, T>, W> {
        let levels = self.params.max_depth.unwrap_or(u64::MAX).min(self.table.n_cases as u64) as usize;
        let stack = (STACK + stack::PER_LEVEL.saturating_mul(levels)).min(MOST_STACK);
        let stacks = std::iter::successors(Some(stack), |stack| Some(stack / 4));
        threads::start(scope, stacks.take_while(|&stack| stack >= LEAST_STACK).map(Some), work)
    }
}

/// How many threads a search over subsets uses.
pub(super) fn threads_of(checked: &Checked) -> usize {
    threads::resolve(checked.params().greedy.threads)
}

/// The table of the cases that judge trees, if cases do.
fn judged<'d>(data: &'d Dataset, search: Option<&'d Dataset>, error: Option<Estimator>) -> Result<Option<&'d Dataset>> {
    match (error, search) {
        (Some(Estimator::Search), None) => Err(Error::InvalidParameter {
            name: "search",
            expected: "a dataset of held-out cases, or another estimator of the error, \"training\" or \"pessimistic\""
                .into(),
            got: "None".into(),
        }),
        (Some(Estimator::Search), Some(search)) => Ok(Some(search)),
        (Some(Estimator::Training), _) => Ok(Some(data)),
        _ => Ok(None),
    }
}

/// The features that every subset has, and those that it may have.
fn features(data: &Dataset, checked: &Checked) -> Result<(Vec<usize>, Vec<usize>)> {
    let n = data.columns().len();
    let set = |name, positions: &[usize]| {
        let mut set = vec![0; bits::words(n)];
        for &position in positions {
            if position >= n {
                let expected = format!("positions below {n}");
                return Err(Error::InvalidParameter { name, expected, got: position.to_string() });
            }
            bits::set(&mut set, position);
        }
        Ok(set)
    };
    let params = checked.params();
    let required = set("required", &params.required)?;
    let all: Vec<usize> = (0..n).collect();
    let mut optional = set("candidates", params.candidates.as_deref().unwrap_or(&all))?;
    optional.iter_mut().zip(&required).for_each(|(optional, required)| *optional &= !required);
    Ok((bits::ones(&required).collect(), bits::ones(&optional).collect()))
}

impl DistinctTree {
    /// The tree. Complexity: O(nodes x classes); of a large tree, what it takes to grow it.
    pub fn tree(&self) -> Tree {
        match &self.grown {
            Some(grown) => self.ground.finish(grown),
            None => self.ground.grow(&self.features, &Budget::unlimited()).expect("without a limit"),
        }
    }

    /// Has it grown again when it is asked for.
    pub fn forget_nodes(&mut self) {
        self.grown = None;
    }

    /// About how many bytes it takes.
    pub fn bytes(&self) -> u64 {
        let of_node = |node: &GrownNode| 100 + node.masses.held();
        let nodes: u64 = self.grown.as_ref().map_or(0, |grown| grown.iter().map(of_node).sum());
        (size_of::<Self>() + 32 + 8 * self.features.capacity()) as u64 + nodes
    }
}
