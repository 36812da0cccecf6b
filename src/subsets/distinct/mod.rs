//! All distinct trees over the subsets of the features (DTdistinct, Algorithm 2 of the paper).
//!
//! `visit`: the algorithm, as one worker runs it. `tasks`: the parts of it that workers take. `parallel`: the workers,
//! with the trees in the same order.

mod parallel;
mod tasks;
mod visit;

use std::sync::Arc;

use parallel::{Enumeration, VisitResult};
use visit::{VisitCounts, VisitEnd};

use super::context::SearchContext;
use super::feature_set::{FeatureSet, WithFeatureSet, with_feature_set};
use super::params::{Checked, Order};
use super::progress::Board;
use crate::budget::{Budget, Status};
use crate::data::Dataset;
use crate::error::Result;
use crate::greedy::engine::GrownNode;
use crate::tree::Tree;

/// What an enumeration counted.
#[derive(Debug, Clone, PartialEq)]
pub struct Counts {
    /// Trees built.
    pub built: u64,
    /// Trees listed: no two are equal.
    pub distinct: u64,
    /// Of those, how many use 0, 1, 2, ... features.
    pub by_size: Vec<u64>,
    /// `complete`, or the limit that ended the enumeration.
    pub status: Status,
    /// Seconds of wall clock.
    pub seconds: f64,
}

/// A tree that an enumeration lists.
#[derive(Clone)]
pub struct DistinctTree {
    /// The features it uses, ascending.
    pub features: Vec<usize>,
    /// Its nodes, unless they are many.
    grown: Option<Vec<GrownNode>>,
    context: Arc<SearchContext>,
}

impl DistinctTree {
    /// The tree. Complexity: O(nodes x classes); for a large tree, that of growing it.
    pub fn tree(&self) -> Tree {
        match &self.grown {
            Some(grown) => self.context.finish(grown),
            None => self.context.grow(&self.features, &Budget::unlimited()).expect("without a limit"),
        }
    }

    /// Drops the nodes: the tree is grown again when it is asked for.
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

/// Calls `visit` with every distinct tree over the subsets, once, on the calling thread, until it returns `false`.
///
/// With required features these are the trees that use them all: DTdistinct(R, S) of Algorithm 2. `ordered`: in the
/// order of the visit, which does not depend on threads; otherwise as they come.
///
/// Complexity: the number of trees may be exponential in that of features. At any time each thread holds as many trees
/// as there are features, and a cache of bounded size.
///
/// # Errors
/// As [`greedy::search`](crate::greedy::search); if a position is that of no column.
pub fn distinct(
    data: &Dataset,
    checked: &Checked,
    order: Order,
    ordered: bool,
    budget: &Budget,
    board: &Board,
    visit: &mut (dyn FnMut(DistinctTree) -> bool + Send),
) -> Result<Counts> {
    enumerate(data, checked, order, budget, board, Some(Listing { ordered, visit }))
}

/// Counts the distinct trees.
///
/// # Errors
/// As [`distinct`].
pub fn count(data: &Dataset, checked: &Checked, order: Order, budget: &Budget, board: &Board) -> Result<Counts> {
    enumerate(data, checked, order, budget, board, None)
}

/// Who the trees are listed to.
struct Listing<'v> {
    /// Whether they are listed in the order of the visit.
    ordered: bool,
    visit: &'v mut (dyn FnMut(DistinctTree) -> bool + Send),
}

/// The number of features from which a second thread pays.
const PARALLEL_FEATURES: usize = 10;

fn enumerate(
    data: &Dataset,
    checked: &Checked,
    order: Order,
    budget: &Budget,
    board: &Board,
    listing: Option<Listing<'_>>,
) -> Result<Counts> {
    let (counts, end) = match SearchContext::new(data, None, checked, None, budget) {
        Ok(mut context) => {
            (context.keeps_recent, context.keeps_leaf_masses) = (true, listing.is_some());
            let context = Arc::new(context);
            let threads = checked.threads();
            let (n_optional, n_features) = (context.optional.len(), context.n_features());
            // One thread more hands out the tasks.
            let workers = match threads {
                1 => 1,
                _ if n_optional < PARALLEL_FEATURES => 1,
                _ => (context.workers(threads + 1, 0, budget) - 1).max(1),
            };
            let enumeration = Enumeration { context, order, workers, budget, board };
            with_feature_set(n_features, ListedEnumeration { enumeration, listing })
        }
        Err(error) => (VisitCounts::new(data.columns().len()), Err(VisitEnd::Stop(error.stop()?))),
    };
    let status = match end {
        Ok(()) => Status::Complete,
        Err(VisitEnd::Enough) => Status::Interrupted,
        Err(VisitEnd::Stop(stop)) => stop.into(),
    };
    let VisitCounts { built, distinct, by_size, .. } = counts;
    Ok(Counts { built, distinct, by_size, status, seconds: budget.seconds() })
}

struct ListedEnumeration<'a, 'v> {
    enumeration: Enumeration<'a>,
    listing: Option<Listing<'v>>,
}

impl WithFeatureSet for ListedEnumeration<'_, '_> {
    type Output = VisitResult;

    fn run<S: FeatureSet + Send + Sync>(self) -> VisitResult {
        let ListedEnumeration { enumeration, mut listing } = self;
        let all = enumeration.context.all_subsets::<S>();
        if enumeration.workers > 1
            && let Some(ended) = enumeration.on_threads(&all, &mut listing)
        {
            return ended;
        }
        let alone = Enumeration { workers: 1, ..enumeration };
        alone.context.on_deep_stack(|stack| alone.on_one_thread(&all, stack, &mut listing))
    }
}
