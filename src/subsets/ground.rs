//! What a search stands on: the coded table, the judge of trees, the features to choose from, and the way back to trees and
//! errors that users see.

use std::sync::{Arc, Mutex};
use std::thread::{Scope, ScopedJoinHandle};

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::features::Set;
use super::held_out::HeldOut;
use super::pessimistic;
use super::{Checked, DistinctTree, Estimator};
use crate::bits;
use crate::budget::{Budget, Stop, Ticker};
use crate::criterion::Costs;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::greedy::finish::{finish, single_leaf};
use crate::greedy::growth::{Grown, Growth};
use crate::greedy::table::Table;
use crate::greedy::{self, rules};
use crate::threads;
use crate::threads::lock;
use crate::tree::{Leaf, Node, Tree};

/// What trees are judged by.
#[derive(Clone)]
pub(super) enum Judge {
    /// Nothing: trees have no error.
    None,
    /// Cases that they predict.
    HeldOut(Arc<HeldOut>),
    /// What building cases say of their leaves.
    Pessimistic,
}

/// What all workers of a search share.
pub(super) struct Ground {
    pub data: Dataset,
    pub table: Arc<Table>,
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
    /// Features that every subset has, ascending, and those that it may have.
    pub required: Vec<usize>,
    pub optional: Vec<usize>,
}

/// Case sets may take this many bytes, and [`CACHE_PER_CELL`] for every cell of the table, if the budget allows. More
/// hardly pays.
const CACHE: u64 = 64 << 20;
const CACHE_PER_CELL: u64 = 64;
/// Bytes of stack per level of a tree, and apart from that.
const STACK_PER_LEVEL: usize = 1 << 10;
const STACK: usize = 16 << 20;
const MOST_STACK: usize = 1 << 30;
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
        rules::check_target(data)?;
        let params = checked.params().greedy.clone();
        let costs = rules::costs(data, &params)?;
        let (required, optional) = features(data, checked)?;
        let judged = judged(data, search, error)?;
        let threads = checked.greedy.threads_on(data);
        let code = |threads| Table::new(data, &params, budget, threads > 1);
        let table = match threads::with_pool(threads, code)? {
            Ok(table) => Arc::new(table),
            Err(stop) => return Ok(Err(stop)),
        };
        table.plan_grid(budget);
        let judge = match (error, judged) {
            (Some(Estimator::Pessimistic), _) => Judge::Pessimistic,
            (_, Some(judged)) => {
                let held_out = HeldOut::new(data, judged, &params, &costs)?;
                match held_out.code(judged, params.unseen, &mut Ticker::new(budget))? {
                    Ok(held_out) => Judge::HeldOut(Arc::new(held_out)),
                    Err(stop) => return Ok(Err(stop)),
                }
            }
            _ => Judge::None,
        };
        let cells = (table.n_cases * table.columns.len()) as u64;
        let cache_of_all = budget.memory_limit().min(CACHE + CACHE_PER_CELL * cells) as usize;
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
            required,
            optional,
        }))
    }

    /// The tree of one leaf and its error as a fraction, where there was no time for more.
    pub fn leaf(data: &Dataset, search: Option<&Dataset>, checked: &Checked, error: Estimator) -> Result<(Tree, f64)> {
        let params = &checked.params().greedy;
        let costs = rules::costs(data, params)?;
        let tree = single_leaf(data, params, &costs)?;
        let error = match judged(data, search, Some(error))? {
            Some(judged) => {
                let held_out = HeldOut::new(data, judged, params, &costs)?;
                let labels = tree.predict_codes(judged, 0..judged.n_rows())?;
                held_out.errors_of(&labels) as f64 / held_out.whole().0
            }
            None => {
                let masses = tree.nodes().iter().flat_map(|node| match node {
                    Node::Leaf(Leaf::Class { masses, .. }) => masses.to_vec(),
                    _ => Vec::new(),
                });
                pessimistic::errors_of(&tree) as f64 / pessimistic::PER_ONE / masses.sum::<f64>()
            }
        };
        Ok((tree, error))
    }

    /// Bytes for the case sets of one of so many workers.
    pub fn cache(&self, workers: usize) -> usize {
        self.cache_of_all / workers
    }

    pub fn n_features(&self) -> usize {
        self.table.columns.len()
    }

    /// The nodes of a tree that was grown, as users see it.
    pub fn finish(&self, grown: &[Grown]) -> Tree {
        finish(&self.data, &self.table, &self.params, &self.costs, grown).expect("grown nodes make a tree")
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
        match rules::with_rules(&self.table, &self.params, &self.costs, growth) {
            (_, Some(stop)) => Err(stop),
            (grown, None) => Ok(self.finish(&grown)),
        }
    }

    /// The error of a tree in units, from its predictions or leaves.
    pub fn error_of(&self, tree: &Tree) -> u64 {
        match (&self.judge, &self.judged) {
            (Judge::HeldOut(held_out), Some(judged)) => {
                let labels = tree.predict_codes(judged, 0..judged.n_rows()).expect("the schema is the tree's");
                held_out.errors_of(&labels)
            }
            (Judge::Pessimistic, _) => pessimistic::errors_of(tree),
            _ => 0,
        }
    }

    /// How many units an error of one is: all cases, or what they cost at one for each; and as a ratio of whole numbers
    /// where it is one of small ones.
    pub fn whole(&self) -> (f64, Option<(u128, u128)>) {
        match &self.judge {
            Judge::None => (1.0, Some((1, 1))),
            Judge::HeldOut(held_out) => held_out.whole(),
            Judge::Pessimistic => {
                let whole = self.table.units.value(self.table.total) * pessimistic::PER_ONE;
                (whole, Some(whole).filter(|whole| whole.fract() == 0.0).map(|whole| (whole as u128, 1)))
            }
        }
    }

    /// An error in units as a fraction.
    pub fn fraction(&self, error: u64) -> f64 {
        error as f64 / self.whole().0
    }

    /// The sets of required and optional features.
    pub fn sets<S: Set>(&self) -> (S, S) {
        (S::of(self.n_features(), &self.required), S::of(self.n_features(), &self.optional))
    }

    /// A pool for the columns of case sets, if there are sets that it pays for.
    pub fn pool(&self, threads: usize) -> Option<Arc<ThreadPool>> {
        if threads <= 1 || self.table.n_cases * self.table.columns.len() < PARALLEL_CELLS {
            return None;
        }
        ThreadPoolBuilder::new().num_threads(threads).build().ok().map(Arc::new)
    }

    /// Runs work that recurs as deep as trees are, on a thread of its own.
    pub fn deep<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            self.spawn(scope, work).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// A thread with the stack that trees need or, where the system has no room for that, with the usual one.
    pub fn spawn<'s, 'e, T: Send + 's>(
        &self,
        scope: &'s Scope<'s, 'e>,
        work: impl FnOnce() -> T + Send + 's,
    ) -> ScopedJoinHandle<'s, T> {
        let levels = self.params.max_depth.unwrap_or(u64::MAX).min(self.table.n_cases as u64) as usize;
        let stack = (STACK + STACK_PER_LEVEL.saturating_mul(levels)).min(MOST_STACK);
        // Work that a thread could not be made for is lost with it, so it is fetched from here.
        let work = Arc::new(Mutex::new(Some(work)));
        match std::thread::Builder::new().stack_size(stack).spawn_scoped(scope, fetch(work.clone())) {
            Ok(thread) => thread,
            Err(_) => scope.spawn(fetch(work)),
        }
    }
}

/// Does work that is done by whoever comes first.
fn fetch<T, W: FnOnce() -> T>(work: Arc<Mutex<Option<W>>>) -> impl FnOnce() -> T {
    move || {
        let work = lock(&work).take();
        work.map(|work| work()).expect("one thread fetches it")
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
}
