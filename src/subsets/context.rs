//! What all workers of a search share: the coded table, the estimator of errors, the features to choose from, and the
//! way back to trees that users see.

use std::sync::Arc;
use std::thread::{Scope, ScopedJoinHandle};

use rayon::ThreadPool;

use super::error_estimator::{ErrorEstimator, holdout_data};
use super::feature_set::FeatureSet;
use super::holdout::HoldoutSet;
use super::params::{Checked, Estimator};
use super::pessimistic::PessimisticError;
use super::setup::SetupError;
use super::stack::{self, Stack};
use super::sublattice::Sublattice;
use crate::bits;
use crate::budget::{Budget, Stop, Ticker};
use crate::criterion::{Costs, Criterion};
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::greedy;
use crate::greedy::engine::{self, CaseSet, GrownNode, Growth, GrowthData, single_leaf, to_tree};
use crate::threads;
use crate::tree::Tree;

/// What all workers of a search share.
pub(super) struct SearchContext {
    data: Dataset,
    pub table: Arc<GrowthData>,
    pub params: greedy::Params,
    pub costs: Costs,
    pub estimator: ErrorEstimator,
    /// Whether each case set keeps the trees that were built on it last. It pays where neighbours in the lattice come
    /// one after the other.
    pub keeps_recent: bool,
    /// Whether every leaf keeps its class masses, for trees that are shown; otherwise leaves are shared.
    pub keeps_leaf_masses: bool,
    /// Bytes for the case sets of all workers.
    cache_bytes: usize,
    pub columns_of_many_levels: Vec<NominalColumn>,
    /// Features that every subset has, ascending, and those that it may have.
    pub required: Vec<usize>,
    pub optional: Vec<usize>,
}

/// A nominal column, and the number of its codes.
pub(super) struct NominalColumn {
    pub position: usize,
    pub n_levels: usize,
}

/// Case sets may take this many bytes, and [`CACHE_PER_CELL`] for every cell of the table, if the budget allows. More
/// hardly pays.
const CACHE: u64 = 64 << 20;
const CACHE_PER_CELL: u64 = 64;
/// Bytes of stack beside those of the levels of a tree; the most for one thread, and the least where the system has no
/// more.
const STACK: usize = 16 << 20;
const MOST_STACK: usize = 1 << 30;
const LEAST_STACK: usize = 1 << 20;
/// Columns of up to so many levels are not counted one by one in estimates of memory.
const FEW_LEVELS: usize = 16;
/// Bytes for each case while a column of a case set is evaluated.
const PER_CASE: u64 = 96;
/// Cells of the table from which the columns of a case set may be shared out to threads.
const PARALLEL_CELLS: usize = 1 << 17;

impl SearchContext {
    /// Codes the table and the held-out cases.
    ///
    /// # Errors
    /// If the call is wrong, or a limit is reached.
    pub fn new(
        data: &Dataset,
        search: Option<&Dataset>,
        checked: &Checked,
        estimator: Option<Estimator>,
        budget: &Budget,
    ) -> std::result::Result<Self, SetupError> {
        engine::check_target(data).map_err(|error| match error {
            Error::WrongTarget { needs, got, .. } => Error::WrongTarget { search: "a search over subsets", needs, got },
            error => error,
        })?;
        let params = checked.params().greedy.clone();
        let costs = engine::checked_costs(data, &params)?;
        let (required, optional) = required_and_optional(data, checked)?;
        let holdout = estimator.map(|estimator| holdout_data(estimator, data, search)).transpose()?;
        let threads = checked.greedy.threads_on(data);
        let code = |threads| GrowthData::new(data, &params, budget, threads > 1);
        let table = Arc::new(threads::with_pool(threads, code)??);
        table.reserve_byte_codes(budget);
        let estimator = match holdout {
            None => ErrorEstimator::None,
            Some(None) => ErrorEstimator::Pessimistic(PessimisticError::new(table.units.value(table.total))),
            Some(Some(holdout)) => {
                let holdout = HoldoutSet::new(data, holdout, &params, &costs, budget)?;
                ErrorEstimator::Holdout(holdout.code(&table, &params, &mut Ticker::new(budget))?.into())
            }
        };
        let cells = (table.n_cases * table.columns.len()) as u64;
        let columns = table.columns.iter().enumerate();
        let of_many_levels = columns.filter(|(_, coded)| !coded.ordered && coded.n_codes as usize > FEW_LEVELS);
        let columns_of_many_levels = of_many_levels
            .map(|(position, coded)| NominalColumn { position, n_levels: coded.n_codes as usize })
            .collect();
        Ok(SearchContext {
            data: data.clone(),
            table,
            params,
            costs,
            estimator,
            keeps_recent: false,
            keeps_leaf_masses: false,
            // The other half is for the trees on the case sets, and for what grows beyond the cache.
            cache_bytes: (budget.available() / 2).min(CACHE + CACHE_PER_CELL * cells) as usize,
            columns_of_many_levels,
            required,
            optional,
        })
    }

    /// The tree of one leaf and its error as a fraction, where there was no time for more.
    pub fn single_leaf(
        data: &Dataset,
        search: Option<&Dataset>,
        checked: &Checked,
        estimator: Estimator,
    ) -> Result<(Tree, f64)> {
        let params = &checked.params().greedy;
        let costs = engine::checked_costs(data, params)?;
        let tree = single_leaf(data, params, &costs)?;
        let error = ErrorEstimator::error_of_leaf(estimator, data, search, &costs, &tree)?;
        Ok((tree, error))
    }

    pub fn n_features(&self) -> usize {
        self.table.columns.len()
    }

    /// The sublattice of all subsets: those that have the required features and any of the optional ones.
    pub fn all_subsets<S: FeatureSet>(&self) -> Sublattice<S> {
        let n = self.n_features();
        Sublattice { required: S::of(n, &self.required), optional: S::of(n, &self.optional) }
    }

    /// Bytes for the case sets of one of so many workers.
    pub fn cache_bytes(&self, workers: usize) -> usize {
        self.cache_bytes / workers
    }

    /// Bytes of constant size that a worker takes, if the columns of its case sets are shared out to so many threads.
    pub fn worker_bytes(&self, threads: usize) -> u64 {
        let (rows, classes, features) =
            (self.table.n_cases as u64, self.table.n_classes as u64, self.n_features() as u64);
        let held_out = self.estimator.holdout().map_or(0, |holdout| 8 * holdout.n_cases as u64);
        // The root, cases on their way down a split, and buffers for the columns of a case set.
        let of_cases = 24 * rows + held_out + threads as u64 * PER_CASE * rows;
        of_cases + 64 * classes + features * (64 + features / 8) + engine::impurity_bytes(&self.table, &self.params)
    }

    /// How many workers, of so many at most, there is memory for, where each takes `more` beside what all take.
    pub fn workers(&self, most: usize, more: u64, budget: &Budget) -> usize {
        let each = self.worker_bytes(1) + more;
        ((budget.available() / 2 / each.max(1)) as usize).clamp(1, most.max(1))
    }

    /// Whether gains at a case set are kept in an exact form, with the class masses of the branches.
    pub fn keeps_exact_gains(&self, cases: &CaseSet) -> bool {
        let is_unit = self.table.has_unit_weights() && !cases.has_fractions();
        !is_unit && self.params.criterion == Criterion::InformationGain
    }

    /// Bytes of a tree of so many nodes, as grown and as it is shown.
    pub fn shown_bytes(&self, n_nodes: usize) -> u64 {
        n_nodes as u64 * (16 * self.table.n_classes as u64 + 200)
    }

    /// DT(features), grown on its own.
    pub fn grow(&self, features: &[usize], budget: &Budget) -> std::result::Result<Tree, Stop> {
        let growth = Growth::new(&self.table, &self.params, budget, 1).over(features.to_vec());
        match engine::dispatch(&self.table, &self.params, &self.costs, budget, growth)? {
            (_, Some(stop)) => Err(stop),
            (grown, None) => Ok(self.finish(&grown)),
        }
    }

    /// The tree of these nodes, as users see it.
    pub fn finish(&self, grown: &[GrownNode]) -> Tree {
        to_tree(&self.data, &self.table, &self.params, &self.costs, grown).expect("grown nodes make a tree")
    }

    /// The tree of one leaf, and its error in units.
    pub fn root(&self) -> (Tree, u64) {
        let unlimited = Budget::unlimited();
        let tree = self.grow(&[], &unlimited).expect("without a limit");
        let error = self.estimator.error_of(&tree, &unlimited).expect("without a limit");
        (tree, error)
    }

    /// An error in units as a fraction.
    pub fn fraction(&self, error: u64) -> f64 {
        self.estimator.units().fraction(error)
    }

    /// The features that a tree uses and those that are required, ascending.
    pub fn with_required(&self, tree: &Tree) -> Vec<usize> {
        let mut features = self.required.clone();
        features.extend(tree.features().into_iter().map(|feature| feature as usize));
        features.sort_unstable();
        features.dedup();
        features
    }

    /// A pool for the columns of case sets, if the table is large enough for it to pay.
    pub fn pool(&self, threads: usize, budget: &Budget) -> Option<Arc<ThreadPool>> {
        if threads <= 1 || self.table.n_cases * self.n_features() < PARALLEL_CELLS {
            return None;
        }
        let most = budget.available() / 4 / (PER_CASE * self.table.n_cases as u64);
        threads::pool(threads.min(most as usize)).map(Arc::new)
    }

    /// Runs work that recurs as deep as trees are, on a thread of its own or, where none can be started, on this one.
    pub fn on_deep_stack<T: Send>(&self, work: impl FnOnce(Stack) -> T + Send) -> T {
        let work = |bytes: Option<usize>| work(Stack::here(bytes));
        std::thread::scope(|scope| match self.spawn(scope, work) {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(work) => work(None),
        })
    }

    /// Starts a thread with the stack that trees need or, where the system has no memory for that, with a smaller one;
    /// the work is told the size. Gives the work back where no thread can be started.
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

/// The features that every subset has, and those that it may have.
fn required_and_optional(data: &Dataset, checked: &Checked) -> Result<(Vec<usize>, Vec<usize>)> {
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
