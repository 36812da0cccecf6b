//! Distinct trees for callers: on one thread, or on several, listed in the same order.
//!
//! With several threads, one goes down the calls of Algorithm 2 as far as they are large, and hands out what is below, in
//! the order of the visit: tasks of a few thousand subsets. Workers take the next task each, with a case graph of their
//! own, and list into its queue; the caller reads the queues one after the other. Queues and the tasks ahead are bounded,
//! so a caller that is slow makes workers wait. A worker waits with the task it has, never for one before, so the first
//! task that is not done always goes on.

use std::rc::Rc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

use super::distinct::{Call, End, Tally, Visit};
use super::features::{Set, WithSets, with_sets};
use super::ground::{Ground, threads_of};
use super::trees::{Forest, Subtree};
use super::{Board, Checked, Counts, DistinctTree, Order};
use crate::budget::{Budget, Status, Stop};
use crate::data::Dataset;
use crate::error::Result;
use crate::greedy::growth::Grown;
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
            let enumeration = Enumeration { ground, order, n_optional, threads, budget, board };
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
    threads: usize,
    budget: &'a Budget,
    board: &'a Board,
}

struct Run<'a, 'v> {
    enumeration: Enumeration<'a>,
    listing: Option<Listing<'v>>,
}

/// The most trees of a batch.
const BATCH: usize = 64;
/// Bytes of a tree that waits.
const TREE_BYTES: usize = 1 << 14;
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
        let Run { enumeration, listing } = self;
        let (required, optional) = enumeration.ground.sets::<S>();
        let call = Call { required, optional };
        if enumeration.threads <= 1 || enumeration.n_optional < PARALLEL_FEATURES {
            return enumeration.ground.deep(|| enumeration.alone(&call, listing));
        }
        match listing {
            None => enumeration.together(call, None),
            Some((ordered, visit)) => enumeration.listed(call, ordered, visit),
        }
    }
}

impl Enumeration<'_> {
    fn visit<S: Set>(&self) -> Visit<'_, S> {
        let workers = self.threads + usize::from(self.threads > 1);
        Visit::new(&self.ground, self.order, self.n_optional, workers, (self.budget, self.board))
    }

    fn listed_tree<S: Set>(&self, forest: &Forest<'_, S>, tree: &Rc<Subtree<S>>) -> DistinctTree {
        // A large tree is grown again when it is asked for: trees wait in queues, and all of them are in memory then.
        let most = TREE_BYTES / (size_of::<Grown>() + 8 * self.ground.table.n_classes);
        let grown = Forest::size(tree, most).map(|_| forest.grown(tree));
        DistinctTree { features: tree.used.list(), grown, ground: self.ground.clone() }
    }

    /// On one thread.
    fn alone<S: Set>(&self, call: &Call<S>, listing: Option<Listing<'_>>) -> Ended {
        let mut worker = self.visit::<S>();
        let end = match listing {
            None => worker.run(call, &mut |_, _| true),
            Some((_, visit)) => worker.run(call, &mut |forest, tree| visit(self.listed_tree(forest, tree))),
        };
        worker.report();
        (worker.tally, end)
    }

    /// On several threads, listing on this one.
    fn listed<S: Set + Send + Sync>(
        &self,
        call: Call<S>,
        ordered: bool,
        visit: &mut (dyn FnMut(DistinctTree) -> bool + Send),
    ) -> Ended {
        std::thread::scope(|scope| {
            let (queues, next) = sync_channel::<Receiver<Vec<DistinctTree>>>(TASKS * self.threads);
            let workers = scope.spawn(move || self.together(call, Some((ordered, queues))));
            let mut enough = false;
            // A queue that is dropped tells its worker to end.
            'all: for queue in next {
                for tree in queue.into_iter().flatten() {
                    if !visit(tree) {
                        enough = true;
                        break 'all;
                    }
                }
            }
            let (tally, end) = workers.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (tally, if enough { Err(End::Enough) } else { end })
        })
    }

    /// Hands tasks to workers, and puts the queue of each into `queues` in their order.
    fn together<S: Set + Send + Sync>(
        &self,
        call: Call<S>,
        queues: Option<(bool, SyncSender<Receiver<Vec<DistinctTree>>>)>,
    ) -> Ended {
        let (tasks, todo) = sync_channel::<Task<S>>(TASKS * self.threads);
        let todo = Mutex::new(Some(todo));
        std::thread::scope(|scope| {
            let work = || {
                let mut worker = self.visit::<S>();
                let mut end = Ok(());
                // The lock is given back before the task is begun.
                while let Some(Ok(task)) = { lock(&todo).as_ref().map(|todo| todo.recv()) } {
                    end = self.work(&mut worker, task);
                    if end.is_err() {
                        break;
                    }
                }
                worker.report();
                (worker.tally, end)
            };
            let spawn = |_| self.ground.spawn(scope, work);
            let workers: Vec<_> = (0..self.threads).map(spawn).collect();
            let deal = || self.deal(call, tasks, queues);
            let dealer = self.ground.spawn(scope, deal);
            let mut all = Tally::new(self.ground.n_features());
            let mut end: std::result::Result<(), End> = Ok(());
            for worker in workers {
                let (tally, its_end) = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                all.add(&tally);
                end = end.and(its_end);
            }
            // No worker takes tasks any more, so the dealer does not wait.
            drop(lock(&todo).take());
            let dealt = dealer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (all, end.and(dealt.map_err(End::Stop)))
        })
    }

    fn work<S: Set>(&self, worker: &mut Visit<'_, S>, task: Task<S>) -> std::result::Result<(), End> {
        let Some(queue) = task.queue else {
            return task.calls.iter().try_for_each(|(call, below)| worker.run_part(call, *below, &mut |_, _| true));
        };
        // The first batches are small, so that the first trees come soon.
        let (mut batch, mut size) = (Vec::new(), 1);
        let mut sink = |forest: &Forest<'_, S>, tree: &Rc<Subtree<S>>| {
            batch.push(self.listed_tree(forest, tree));
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
        call: Call<S>,
        tasks: SyncSender<Task<S>>,
        queues: Option<(bool, SyncSender<Receiver<Vec<DistinctTree>>>)>,
    ) -> std::result::Result<(), Stop> {
        let mut shared = None;
        if let Some((false, queues)) = &queues {
            // Not in order: one queue for all.
            let (queue, reader) = sync_channel(BATCHES * self.threads);
            shared = queues.send(reader).is_ok().then_some(queue);
        }
        let mut dealer = Dealer {
            // It counts nothing, and keeps no trees for others.
            visit: self.visit(),
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
        if dealer.call(&tree, &call, 0)? {
            dealer.send_rest();
        }
        Ok(())
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
        for (feature, child) in self.visit.children(tree, call) {
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
