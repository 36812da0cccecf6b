//! The case graph: the case sets that trees over subsets of the features meet, and the trees on them.
//!
//! A case set keeps the ranking of its columns, which grows as trees ask for more of them, and the case sets that each
//! split it took leads to. A tree over other features takes the best of its own features in the ranking, and follows
//! pointers where an earlier tree went the same way: nothing is evaluated twice. Every case set has one path from the
//! root; equal ones on different paths are not looked for, since that costs what it saves.
//!
//! - `node`: case sets, splits and trees. `recent`: a small cache of trees.
//! - `expand`: rankings and splits, computed when a tree asks for them.
//! - `build`: DT(S), and the tree without some features, which shares the rest with the tree it came from.
//! - `fractional`: the class of a held-out case that goes down several branches.
//! - `bounds`: lower bounds on the errors of all trees of a part of the lattice.
//! - `memory`, `evict`: bytes, and what is dropped where they run short.

mod bounds;
mod build;
mod evict;
mod expand;
mod fractional;
mod memory;
mod node;
mod recent;

use std::rc::Rc;
use std::sync::Arc;

pub(super) use bounds::{Bounded, OpenNodeBound, Relaxation};
use evict::Eviction;
use fractional::FractionalVote;
use memory::MemoryAccount;
pub(super) use node::Subtree;
use node::{CaseNode, HeldOutCases};
use rayon::ThreadPool;
use rustc_hash::FxHashMap;

use super::context::SearchContext;
use super::error_estimator::ErrorEstimator;
use super::feature_set::FeatureSet;
use super::holdout::partition::HoldoutPartition;
use super::stack::Stack;
use crate::budget::{Budget, Reserved, Stop, Ticker};
use crate::greedy::engine::{self, BranchCases, NewEvaluator, Partitioner, SplitCache, SplitEvaluator};

/// The case graph of one worker.
pub(super) struct CaseGraph<'g, S: FeatureSet> {
    context: &'g SearchContext,
    pub ticker: Ticker<'g>,
    root: Option<Rc<CaseNode<S>>>,
    ranks: Box<dyn SplitEvaluator>,
    splitter: Partitioner,
    partition: HoldoutPartition,
    vote: FractionalVote,
    /// Leaves of one class, which are shared, by class and error.
    pure: FxHashMap<(usize, u64), Rc<Subtree<S>>>,
    account: Rc<MemoryAccount>,
    eviction: Eviction<'g>,
    /// What is charged for everything of constant size.
    _fixed: Reserved<'g>,
    depth: DepthLimit,
    pub case_sets: u64,
}

/// Ends a search before the stack of its thread overflows.
struct DepthLimit {
    stack: Stack,
    /// Bytes of the stack in use where the current tree was begun.
    begun_at: usize,
    /// The depth of the deepest tree so far.
    deepest: u64,
}

impl<'g, S: FeatureSet> CaseGraph<'g, S> {
    /// A graph of the root alone, for a search of so many `workers`, on the stack of this thread. The columns of large
    /// case sets are shared out to the threads of the pool.
    pub fn new(
        context: &'g SearchContext,
        budget: &'g Budget,
        stack: Stack,
        workers: usize,
        pool: Option<Arc<ThreadPool>>,
    ) -> Result<Self, Stop> {
        let table = context.table.clone();
        let threads = pool.as_ref().map_or(1, |pool| pool.current_num_threads());
        let fixed = budget.reserve(context.worker_bytes(threads))?;
        budget.check()?;
        let ranks = NewEvaluator { table: table.clone(), pool };
        let mut graph = CaseGraph {
            context,
            ticker: Ticker::new(budget),
            root: None,
            ranks: engine::dispatch(&table, &context.params, &context.costs, budget, ranks)?,
            splitter: Partitioner::default(),
            partition: HoldoutPartition::default(),
            vote: FractionalVote::default(),
            pure: FxHashMap::default(),
            account: Rc::default(),
            eviction: Eviction::new(budget.reserve(0)?, context.cache_bytes(workers)),
            _fixed: fixed,
            depth: DepthLimit { stack, begun_at: 0, deepest: 0 },
            case_sets: 0,
        };
        let held_out = match &context.estimator {
            ErrorEstimator::Holdout(holdout) => (0..holdout.n_cases as u32).collect(),
            _ => HeldOutCases::new(),
        };
        let root = BranchCases::all(&table);
        let is_leaf = graph.ranks.is_leaf(&root.masses, root.whole, root.count, 0);
        graph.root = Some(match is_leaf {
            // No column can split it, so none is looked at.
            true => Rc::new(graph.leaf_node(root, held_out, 0)),
            false => graph.inner_node(root, held_out, 0, SplitCache::empty(table.columns.len())),
        });
        Ok(graph)
    }

    pub fn n_features(&self) -> usize {
        self.context.n_features()
    }

    /// How often the best split of a column was evaluated.
    pub fn evaluations(&self) -> u64 {
        self.ranks.evaluations()
    }

    /// How often everything that no tree uses was evicted.
    pub fn flushes(&self) -> u64 {
        self.eviction.flushes
    }

    /// The class of a held-out case that is spread at the root of a tree; `None` if it comes to a node that is not
    /// `let_through`.
    fn label_of_spread(
        &mut self,
        tree: &Subtree<S>,
        case: u32,
        let_through: impl Fn(&Subtree<S>) -> bool,
    ) -> Result<Option<u32>, Stop> {
        let ErrorEstimator::Holdout(holdout) = &self.context.estimator else { return Ok(None) };
        let label = self.vote.label_of(&self.context.table, holdout, tree, case, let_through);
        self.ticker.tick(self.vote.work())?;
        Ok(label)
    }
}

impl DepthLimit {
    /// Begins a tree, which may be as deep as the deepest so far. Fails if the stack has no room for that.
    fn begin(&mut self) -> Result<(), Stop> {
        self.begun_at = self.stack.used();
        if self.stack.has_room(self.begun_at, self.deepest) { Ok(()) } else { Err(Stop::Memory) }
    }

    /// Fails if the stack has no room for a tree of this depth.
    fn go_down(&mut self, depth: u64) -> Result<(), Stop> {
        self.deepest = self.deepest.max(depth);
        let has_room = self.stack.has_room(self.begun_at, depth) && self.stack.has_room(self.stack.used(), 0);
        if has_room { Ok(()) } else { Err(Stop::Memory) }
    }
}

impl<S: FeatureSet> Drop for CaseGraph<'_, S> {
    /// Drops the graph without recursion, however deep it is.
    fn drop(&mut self) {
        let mut pending: Vec<Rc<CaseNode<S>>> = self.root.take().into_iter().collect();
        while let Some(node) = pending.pop() {
            // Trees and the case sets that keep them refer to each other.
            node.recent.clear();
            for split in node.splits.take() {
                pending.extend(split.nodes().cloned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Limits;
    use crate::data::{Column, Dataset, Feature, Kind, Labels, NumericType, Schema, Target, TargetSchema, Task};
    use crate::subsets::params::{Estimator, Params};

    /// Alternating classes make a chain of splits.
    fn chain(n: i64) -> Dataset {
        let task = Task::Classes(Labels::Booleans(vec![false, true]));
        let target = TargetSchema { name: "y".into(), task, dtype: String::new() };
        let feature = Feature { name: "x".into(), kind: Kind::Continuous(NumericType::Integer), dtype: String::new() };
        let schema = Schema { features: vec![feature], target: Some(target) };
        let column = Column::Integers { values: (0..n).collect(), missing: None };
        let classes = Target::Classes((0..n).map(|x| (x % 2) as u32).collect());
        Dataset::new(schema.into(), vec![column], n as usize, classes, None, None).expect("a good table")
    }

    /// Fault X4: where there is no stack for a tree, a search ends as if memory was spent; and what it built can be
    /// dropped.
    #[test]
    fn fault_x4_a_short_stack_ends_a_search() {
        let data = chain(2_000);
        let checked = Params::default().checked().expect("good parameters");
        let budget = Budget::new(Limits { memory: Some(1 << 30), ..Limits::default() });
        let context = SearchContext::new(&data, None, &checked, Some(Estimator::Training), &budget);
        let context = context.unwrap_or_else(|_| panic!("a good call"));
        let depth = |stack: Stack| {
            let mut graph = CaseGraph::<[u64; 1]>::new(&context, &budget, stack, 1, None)?;
            let tree = graph.tree(&<[u64; 1]>::of(1, &[0]))?;
            let tree = context.finish(&graph.grown(&tree));
            Ok::<usize, Stop>(tree.nodes().len())
        };
        let whole = context.on_deep_stack(depth).expect("there is room");
        assert!(whole > 1_000);
        let on = |bytes: usize| {
            std::thread::scope(|scope| {
                let work = |bytes: Option<usize>| depth(Stack::here(bytes));
                let thread = crate::threads::start(scope, [Some(bytes)], work).ok().expect("a thread");
                thread.join().expect("no panic")
            })
        };
        assert_eq!((on(256 << 10), on(512 << 10)), (Err(Stop::Memory), Err(Stop::Memory)));
        assert_eq!(on(8 << 20), Ok(whole));
        assert_eq!(budget.check(), Ok(()));
    }
}
