//! Distinct trees on one thread or on several, listed in the same order.
//!
//! With several threads, one goes down the calls of Algorithm 2 as far as they are large, and hands out the parts below
//! as tasks of a few thousand subsets, in the order of the visit. Each worker takes the next task, with a case graph of
//! its own, and lists trees into the queue of the task; the caller reads the queues one after the other. The queues and
//! the number of tasks ahead are bounded, so that a slow caller makes workers wait. A worker waits with the task it
//! has, never for one before it, so the first task that is not done always goes on.

use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

use super::tasks::{Batch, TaskProducer, VisitTask};
use super::visit::{DistinctVisit, Sink, VisitCounts, VisitEnd};
use super::{DistinctTree, Listing};
use crate::budget::{Budget, Stop};
use crate::greedy::engine::GrownNode;
use crate::subsets::case_graph::{CaseGraph, Subtree};
use crate::subsets::context::SearchContext;
use crate::subsets::feature_set::FeatureSet;
use crate::subsets::params::Order;
use crate::subsets::progress::Board;
use crate::subsets::stack::Stack;
use crate::subsets::sublattice::Sublattice;
use crate::threads::lock;

/// An enumeration of distinct trees.
pub(super) struct Enumeration<'a> {
    pub context: Arc<SearchContext>,
    pub order: Order,
    pub workers: usize,
    pub budget: &'a Budget,
    pub board: &'a Board,
}

/// What an enumeration counted, and why it ended early, if it did.
pub(super) type VisitResult = (VisitCounts, Result<(), VisitEnd>);

/// Where the queues of tasks are sent, for the caller to read.
struct Queues {
    /// Whether each task has a queue of its own; otherwise all share one.
    ordered: bool,
    readers: SyncSender<Receiver<Batch>>,
}

/// The most trees of a batch.
const BATCH: usize = 64;
/// Bytes of a tree that waits with its nodes, if there is memory for so many trees.
const TREE_BYTES: u64 = 1 << 14;
/// Trees that may wait at the caller.
const AT_CALLER: usize = 256;
/// Batches that a task may be ahead of its reader.
const BATCHES: usize = 4;
/// Tasks that may be ahead, for every thread.
const TASKS: usize = 4;

impl Enumeration<'_> {
    fn visit<S: FeatureSet>(&self, stack: Stack) -> Result<DistinctVisit<'_, S>, Stop> {
        // One thread more hands out the tasks.
        let graphs = self.workers + usize::from(self.workers > 1);
        DistinctVisit::new(&self.context, self.order, graphs, self.budget, self.board, stack)
    }

    /// The most nodes of a tree that waits with its nodes. The memory for as many such trees as can wait is charged.
    fn waiting_nodes(&self) -> usize {
        let in_queues = if self.workers > 1 { TASKS * self.workers * (BATCHES + 2) * BATCH } else { 0 };
        let trees = (in_queues + AT_CALLER) as u64;
        let bytes = (trees * TREE_BYTES).min(self.budget.available() / 8);
        match self.budget.reserve(bytes) {
            Ok(reserved) => reserved.keep(),
            Err(_) => return 0,
        }
        let of_node = size_of::<GrownNode>() + 8 * self.context.table.n_classes;
        (bytes / trees) as usize / of_node
    }

    /// A tree as it is listed: with its nodes, if they are at most `most`. A larger tree is grown again when it is
    /// asked for, since all trees that wait in queues are in memory at once.
    fn listed<S: FeatureSet>(&self, graph: &CaseGraph<'_, S>, tree: &Rc<Subtree<S>>, most: usize) -> DistinctTree {
        let grown = tree.size(most).map(|_| graph.grown(tree));
        DistinctTree { features: tree.used.list(), grown, context: self.context.clone() }
    }

    /// Lists all trees on this thread.
    pub fn on_one_thread<S: FeatureSet>(
        &self,
        all: &Sublattice<S>,
        stack: Stack,
        listing: &mut Option<Listing<'_>>,
    ) -> VisitResult {
        let most = if listing.is_some() { self.waiting_nodes() } else { 0 };
        let mut worker = match self.visit::<S>(stack) {
            Ok(worker) => worker,
            Err(stop) => return (VisitCounts::new(self.context.n_features()), Err(stop.into())),
        };
        let end = match listing {
            None => worker.run(all, &mut |_, _| true),
            Some(listing) => worker.run(all, &mut |graph, tree| (listing.visit)(self.listed(graph, tree, most))),
        };
        worker.report();
        (worker.counts, end)
    }

    /// Finds all trees on several threads, and lists them on this one. `None` if the threads cannot be started.
    ///
    /// One thread hands tasks to workers, and sends the queue of each task to this one, in their order.
    pub fn on_threads<S: FeatureSet + Send + Sync>(
        &self,
        all: &Sublattice<S>,
        listing: &mut Option<Listing<'_>>,
    ) -> Option<VisitResult> {
        let (tasks, waiting) = sync_channel::<VisitTask<S>>(TASKS * self.workers);
        let waiting = Mutex::new(Some(waiting));
        let (queues, readers) = match listing {
            None => (None, None),
            Some(Listing { ordered, .. }) => {
                let (queues, readers) = sync_channel(TASKS * self.workers);
                (Some(Queues { ordered: *ordered, readers: queues }), Some(readers))
            }
        };
        let most_nodes = if listing.is_some() { self.waiting_nodes() } else { 0 };
        let active = AtomicUsize::new(self.workers);
        // The last worker that leaves drops the tasks that nobody will take: their queues would be waited for.
        let leave = |n: usize| {
            if active.fetch_sub(n, Relaxed) == n {
                drop(lock(&waiting).take());
            }
        };
        std::thread::scope(|scope| {
            // `None` where there is no memory for one more worker.
            let work = |bytes: Option<usize>| -> Option<VisitResult> {
                let _leaving = OnDrop(|| leave(1));
                let mut worker = self.visit::<S>(Stack::here(bytes)).ok()?;
                let mut end = Ok(());
                // The lock is released before the task is begun.
                while let Some(Ok(task)) = { lock(&waiting).as_ref().map(|waiting| waiting.recv()) } {
                    end = self.work(&mut worker, task, most_nodes);
                    if end.is_err() {
                        break;
                    }
                }
                worker.report();
                Some((worker.counts, end))
            };
            let workers: Vec<_> = (0..self.workers).map_while(|_| self.context.spawn(scope, work).ok()).collect();
            if workers.len() < self.workers {
                leave(self.workers - workers.len());
            }
            let produce = |bytes| self.produce(all, Stack::here(bytes), tasks, queues);
            let produce = Some(produce).filter(|_| !workers.is_empty());
            let producer = produce.and_then(|produce| self.context.spawn(scope, produce).ok())?;
            let is_enough = match (readers, listing) {
                (Some(readers), Some(listing)) => !listing.read(readers),
                _ => false,
            };
            let mut counts = VisitCounts::new(self.context.n_features());
            let (mut end, mut n_worked) = (Ok(()), 0);
            for worker in workers {
                let worked = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                let Some((of_worker, its_end)) = worked else { continue };
                n_worked += 1;
                counts.add(&of_worker);
                end = end.and(its_end);
            }
            // No worker takes tasks any more, so the producer does not wait.
            let produced = producer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            end = end.and(produced.map_err(VisitEnd::Stop));
            if n_worked == 0 {
                end = end.and(Err(VisitEnd::Stop(self.budget.why_not_begun())));
            }
            Some((counts, if is_enough { Err(VisitEnd::Enough) } else { end }))
        })
    }

    /// Runs a task, and lists its trees into its queue.
    fn work<S: FeatureSet>(
        &self,
        worker: &mut DistinctVisit<'_, S>,
        task: VisitTask<S>,
        most_nodes: usize,
    ) -> Result<(), VisitEnd> {
        let mut run_calls = |sink: Sink<'_, S>| {
            task.calls.iter().try_for_each(|call| match call.with_children {
                true => worker.run(&call.part, &mut *sink),
                false => worker.run_alone(&call.part, &mut *sink),
            })
        };
        let Some(queue) = task.queue else { return run_calls(&mut |_, _| true) };
        // The first batches are small, so that the first trees come soon.
        let (mut batch, mut size) = (Vec::new(), 1);
        run_calls(&mut |graph, tree| {
            batch.push(self.listed(graph, tree, most_nodes));
            if batch.len() < size {
                return true;
            }
            size = BATCH.min(2 * size);
            queue.send(std::mem::take(&mut batch)).is_ok()
        })?;
        if queue.send(batch).is_ok() { Ok(()) } else { Err(VisitEnd::Enough) }
    }

    /// Makes the tasks, and sends the queue of each.
    fn produce<S: FeatureSet>(
        &self,
        all: &Sublattice<S>,
        stack: Stack,
        tasks: SyncSender<VisitTask<S>>,
        queues: Option<Queues>,
    ) -> Result<(), Stop> {
        let mut shared = None;
        if let Some(Queues { ordered: false, readers }) = &queues {
            let (queue, reader) = sync_channel(BATCHES * self.workers);
            shared = readers.send(reader).is_ok().then_some(queue);
        }
        let send = |calls| {
            let queue = match &queues {
                Some(Queues { ordered: true, readers }) => {
                    let (queue, reader) = sync_channel(BATCHES);
                    if readers.send(reader).is_err() {
                        return false;
                    }
                    Some(queue)
                }
                _ => shared.clone(),
            };
            tasks.send(VisitTask { calls, queue }).is_ok()
        };
        TaskProducer::new(self.visit(stack)?, self.context.optional.len(), send).run(all)
    }
}

impl Listing<'_> {
    /// Lists the trees of one queue after the other. Returns `false` if the caller had enough; the queues are dropped
    /// then, which tells the workers to end.
    fn read(&mut self, readers: Receiver<Receiver<Batch>>) -> bool {
        readers.into_iter().all(|queue| queue.into_iter().flatten().all(|tree| (self.visit)(tree)))
    }
}

/// Calls a function when it is dropped, be it in a panic.
struct OnDrop<F: Fn()>(F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
