//! Distinct trees for callers: on one thread, or on several, listed in the same order.
//!
//! With several threads, one goes down the calls of Algorithm 2 as far as they are large, and hands out what is below, in
//! the order of the visit: tasks of a few thousand subsets. Workers take the next task each, with a case graph of their
//! own, and list into its queue; the caller reads the queues one after the other. Queues and the tasks ahead are bounded,
//! so a caller that is slow makes workers wait. A worker waits with the task it has, never for one before, so the first
//! task that is not done always goes on.

use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

use super::distinct::{Call, End, Tally, Visit};
use super::features::{Set, WithSets, with_sets};
use super::ground::{Ground, threads_of};
use super::stack::Stack;
use super::trees::{Forest, Subtree};
use super::{Board, Checked, Counts, DistinctTree, Order};
use crate::budget::{Budget, Status, Stop};
use crate::data::Dataset;
use crate::error::Result;
use crate::greedy::engine::GrownNode;
use crate::threads::lock;

/// Calls `visit` with every distinct tree over the subsets, once, on the calling thread, until it says no.
///
/// With required features these are the trees that use them all: DTdistinct(R, S) of Algorithm 2. `ordered`: in the order
/// of the visit, which does not depend on threads; else as they come.
///
/// Complexity: the number of trees may be exponential in that of features. At any time as many trees are in memory as
/// there are features, for every thread, and caches of bounded size.
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
    run(data, checked, order, budget, board, Some((ordered, visit)))
}

/// Counts the distinct trees.
///
/// # Errors
/// As [`distinct`].
pub fn count(data: &Dataset, checked: &Checked, order: Order, budget: &Budget, board: &Board) -> Result<Counts> {
    run(data, checked, order, budget, board, None)
}

type Listing<'v> = (bool, &'v mut (dyn FnMut(DistinctTree) -> bool + Send));

fn run(
    data: &Dataset,
    checked: &Checked,
    order: Order,
    budget: &Budget,
    board: &Board,
    listing: Option<Listing<'_>>,
) -> Result<Counts> {
    let (tally, end) = match Ground::new(data, None, checked, None, budget)? {
        Ok(ground) => {
            let ground = Arc::new(Ground { keeps_recent: true, lists: listing.is_some(), ..ground });
            let threads = threads_of(checked);
            let n_optional = ground.optional.len();
            let n_features = ground.n_features();
            // One more deals.
            let workers = match threads {
                1 => 1,
                _ if n_optional < PARALLEL_FEATURES => 1,
                _ => (ground.workers(threads + 1, 0, budget) - 1).max(1),
            };
            let enumeration = Enumeration { ground, order, n_optional, workers, budget, board };
            with_sets(n_features, Run { enumeration, listing })
        }
        Err(stop) => (Tally::new(data.columns().len()), Err(End::Stop(stop))),
    };
    let status = match end {
        Ok(()) => Status::Complete,
        Err(End::Enough) => Status::Interrupted,
        Err(End::Stop(stop)) => stop.into(),
    };
    let Tally { built, distinct, by_size, .. } = tally;
    Ok(Counts { built, distinct, by_size, status, seconds: budget.seconds() })
}

struct Enumeration<'a> {
    ground: Arc<Ground>,
    order: Order,
    n_optional: usize,
    workers: usize,
    budget: &'a Budget,
    board: &'a Board,
}

struct Run<'a, 'v> {
    enumeration: Enumeration<'a>,
    listing: Option<Listing<'v>>,
}

/// The most trees of a batch.
const BATCH: usize = 64;
/// Bytes of a tree that waits, if there is room for so many trees.
const TREE_BYTES: u64 = 1 << 14;
/// Trees that may wait where they are taken.
const AT_CALLER: usize = 256;
/// Batches that a task may be ahead of its reader.
const BATCHES: usize = 4;
/// Tasks that may be ahead, for every thread.
const TASKS: usize = 4;
/// A task has at most 2^12 subsets, and there are at least 2^8 tasks, if there are as many subsets.
const TASK: usize = 12;
const SPLIT: usize = 8;
/// The most calls of a task.
const CALLS: usize = 64;
/// Beyond this many features tasks are the calls of a level.
const MANY_FEATURES: usize = 64;
const LEVELS: usize = 3;
/// Features from which a second thread pays.
const PARALLEL_FEATURES: usize = 10;

/// A part of the visit: calls, each with all below it or alone.
struct Task<S> {
    calls: Vec<(Call<S>, bool)>,
    queue: Option<SyncSender<Vec<DistinctTree>>>,
}

type Ended = (Tally, std::result::Result<(), End>);

impl WithSets for Run<'_, '_> {
    type Outcome = Ended;

    fn run<S: Set + Send + Sync>(self) -> Ended {
        let Run { enumeration, mut listing } = self;
        let (required, optional) = enumeration.ground.sets::<S>();
        let call = Call { required, optional };
        if enumeration.workers > 1
            && let Some(ended) = enumeration.together(&call, &mut listing)
        {
            return ended;
        }
        let alone = Enumeration { workers: 1, ..enumeration };
        alone.ground.deep(|stack| alone.alone(&call, stack, &mut listing))
    }
}

impl Enumeration<'_> {
    fn visit<S: Set>(&self, stack: Stack) -> std::result::Result<Visit<'_, S>, Stop> {
        let forests = self.workers + usize::from(self.workers > 1);
        Visit::new(&self.ground, self.order, self.n_optional, forests, (self.budget, self.board, stack))
    }

    /// How many nodes trees may have that wait as such. What they take is charged, as if as many waited as can.
    fn waiting_nodes(&self) -> usize {
        let in_queues = if self.workers > 1 { TASKS * self.workers * (BATCHES + 2) * BATCH } else { 0 };
        let trees = (in_queues + AT_CALLER) as u64;
        let bytes = (trees * TREE_BYTES).min(self.budget.available() / 8);
        match self.budget.reserve(bytes) {
            Ok(reserved) => reserved.keep(),
            Err(_) => return 0,
        }
        let of_node = size_of::<GrownNode>() + 8 * self.ground.table.n_classes;
        (bytes / trees) as usize / of_node
    }

    fn listed_tree<S: Set>(&self, forest: &Forest<'_, S>, tree: &Rc<Subtree<S>>, most: usize) -> DistinctTree {
        // A large tree is grown again when it is asked for: trees wait in queues, and all of them are in memory then.
        let grown = Forest::size(tree, most).map(|_| forest.grown(tree));
        DistinctTree { features: tree.used.list(), grown, ground: self.ground.clone() }
    }

    /// On one thread.
    fn alone<S: Set>(&self, call: &Call<S>, stack: Stack, listing: &mut Option<Listing<'_>>) -> Ended {
        let most = if listing.is_some() { self.waiting_nodes() } else { 0 };
        let mut worker = match self.visit::<S>(stack) {
            Ok(worker) => worker,
            Err(stop) => return (Tally::new(self.ground.n_features()), Err(End::Stop(stop))),
        };
        let end = match listing {
            None => worker.run(call, &mut |_, _| true),
            Some((_, visit)) => worker.run(call, &mut |forest, tree| visit(self.listed_tree(forest, tree, most))),
        };
        worker.report();
        (worker.tally, end)
    }

    /// On several threads, listing on this one. `None` if they cannot be started.
    ///
    /// One hands tasks to workers, and puts the queue of each where this one finds them in their order.
    fn together<S: Set + Send + Sync>(&self, call: &Call<S>, listing: &mut Option<Listing<'_>>) -> Option<Ended> {
        let (tasks, todo) = sync_channel::<Task<S>>(TASKS * self.workers);
        let todo = Mutex::new(Some(todo));
        let (queues, next) = match listing {
            None => (None, None),
            Some((ordered, _)) => {
                let (queues, next) = sync_channel(TASKS * self.workers);
                (Some((*ordered, queues)), Some(next))
            }
        };
        let most = if listing.is_some() { self.waiting_nodes() } else { 0 };
        let active = AtomicUsize::new(self.workers);
        // Tasks that nobody will take have queues that would be waited for.
        let leave = |n: usize| {
            if active.fetch_sub(n, Relaxed) == n {
                drop(lock(&todo).take());
            }
        };
        std::thread::scope(|scope| {
            // `None` where there is no room for one more worker.
            let work = |bytes: Option<usize>| -> Option<Ended> {
                let _leaving = Leaving(|| leave(1));
                let mut worker = self.visit::<S>(Stack::here(bytes)).ok()?;
                let mut end = Ok(());
                // The lock is given back before the task is begun.
                while let Some(Ok(task)) = { lock(&todo).as_ref().map(|todo| todo.recv()) } {
                    end = self.work(&mut worker, task, most);
                    if end.is_err() {
                        break;
                    }
                }
                worker.report();
                Some((worker.tally, end))
            };
            let workers: Vec<_> = (0..self.workers).map_while(|_| self.ground.spawn(scope, work).ok()).collect();
            if workers.len() < self.workers {
                leave(self.workers - workers.len());
            }
            let deal = |bytes| self.deal(call, Stack::here(bytes), tasks, queues);
            let dealer =
                Some(deal).filter(|_| !workers.is_empty()).and_then(|deal| self.ground.spawn(scope, deal).ok())?;
            let mut enough = false;
            if let (Some(next), Some((_, visit))) = (next, listing) {
                // A queue that is dropped tells its worker to end.
                'all: for queue in next {
                    for tree in queue.into_iter().flatten() {
                        if !visit(tree) {
                            enough = true;
                            break 'all;
                        }
                    }
                }
            }
            let mut all = Tally::new(self.ground.n_features());
            let (mut end, mut n_worked) = (Ok(()), 0);
            for worker in workers {
                let worked = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                let Some((tally, its_end)) = worked else { continue };
                n_worked += 1;
                all.add(&tally);
                end = end.and(its_end);
            }
            // No worker takes tasks any more, so the dealer does not wait.
            let dealt = dealer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            end = end.and(dealt.map_err(End::Stop));
            if n_worked == 0 {
                end = end.and(Err(End::Stop(Stop::Memory)));
            }
            Some((all, if enough { Err(End::Enough) } else { end }))
        })
    }

    fn work<S: Set>(
        &self,
        worker: &mut Visit<'_, S>,
        task: Task<S>,
        most_nodes: usize,
    ) -> std::result::Result<(), End> {
        let Some(queue) = task.queue else {
            return task.calls.iter().try_for_each(|(call, below)| worker.run_part(call, *below, &mut |_, _| true));
        };
        // The first batches are small, so that the first trees come soon.
        let (mut batch, mut size) = (Vec::new(), 1);
        let mut sink = |forest: &Forest<'_, S>, tree: &Rc<Subtree<S>>| {
            batch.push(self.listed_tree(forest, tree, most_nodes));
            if batch.len() < size {
                return true;
            }
            size = BATCH.min(2 * size);
            queue.send(std::mem::take(&mut batch)).is_ok()
        };
        task.calls.iter().try_for_each(|(call, below)| worker.run_part(call, *below, &mut sink))?;
        if queue.send(batch).is_ok() { Ok(()) } else { Err(End::Enough) }
    }

    /// Goes down the large calls and makes tasks of what is below.
    fn deal<S: Set>(
        &self,
        call: &Call<S>,
        stack: Stack,
        tasks: SyncSender<Task<S>>,
        queues: Option<(bool, SyncSender<Receiver<Vec<DistinctTree>>>)>,
    ) -> std::result::Result<(), Stop> {
        let mut shared = None;
        if let Some((false, queues)) = &queues {
            // Not in order: one queue for all.
            let (queue, reader) = sync_channel(BATCHES * self.workers);
            shared = queues.send(reader).is_ok().then_some(queue);
        }
        let mut dealer = Dealer {
            // It counts nothing, and keeps no trees for others.
            visit: self.visit(stack)?,
            size: TASK.min(self.n_optional.saturating_sub(SPLIT)),
            by_level: self.n_optional > MANY_FEATURES,
            calls: Vec::new(),
            weight: 0,
            send: |calls| {
                let queue = match &queues {
                    Some((true, queues)) => {
                        let (queue, reader) = sync_channel(BATCHES);
                        if queues.send(reader).is_err() {
                            return false;
                        }
                        Some(queue)
                    }
                    _ => shared.clone(),
                };
                tasks.send(Task { calls, queue }).is_ok()
            },
        };
        let tree = dealer.visit.forest.tree(&call.features())?;
        if dealer.call(&tree, call, 0)? {
            dealer.send_rest();
        }
        Ok(())
    }
}

/// What is done when this goes, be it in a panic.
struct Leaving<F: Fn()>(F);

impl<F: Fn()> Drop for Leaving<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

struct Dealer<'g, S: Set, F> {
    visit: Visit<'g, S>,
    /// Calls with at most this many optional features are not gone into.
    size: usize,
    /// Whether features are so many that most are never used, and their number says nothing: then calls of the first few
    /// levels are gone into, and no others.
    by_level: bool,
    calls: Vec<(Call<S>, bool)>,
    weight: u64,
    /// Hands a task over; whether anybody wants more.
    send: F,
}

impl<S: Set, F: FnMut(Vec<(Call<S>, bool)>) -> bool> Dealer<'_, S, F> {
    /// Deals a call, of which this is the tree. `false`: nobody wants more.
    fn call(&mut self, tree: &Rc<Subtree<S>>, call: &Call<S>, level: usize) -> std::result::Result<bool, Stop> {
        self.visit.forest.ticker.tick(1000)?;
        if !self.push(call, false) {
            return Ok(false);
        }
        for (feature, child) in self.visit.children(tree, call)? {
            let is_task = if self.by_level { level + 1 >= LEVELS } else { child.optional.count() <= self.size };
            if is_task {
                if !self.push(&child, true) {
                    return Ok(false);
                }
                continue;
            }
            let tree = self.visit.forest.without(tree, feature, &child.features())?;
            if !self.call(&tree, &child, level + 1)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn push(&mut self, call: &Call<S>, below: bool) -> bool {
        self.calls.push((call.clone(), below));
        let size = call.optional.count().min(self.size);
        self.weight += if below { 1 << size } else { 1 };
        (self.weight < 1 << self.size && self.calls.len() < CALLS) || self.send_rest()
    }

    fn send_rest(&mut self) -> bool {
        self.weight = 0;
        let calls = std::mem::take(&mut self.calls);
        calls.is_empty() || (self.send)(calls)
    }
}
