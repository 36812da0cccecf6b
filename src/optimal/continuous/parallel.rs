//! The search of the root: workers that take the interval of least bound from a common heap.

use std::collections::BinaryHeap;
use std::sync::{Condvar, Mutex};

use super::super::progress::Anytime;
use super::interval::Charge;
use super::interval::Interval;
use super::search::{BestTree, IntervalSearch, Query};
use super::stump::Index;
use crate::budget::Stop;
use crate::threads::{held, lock};

/// What workers share.
struct Shared<'b> {
    heap: BinaryHeap<Interval>,
    /// Cuts that were tried and may cost as much as the best tree.
    ties: Vec<Interval>,
    /// The accounts of both.
    charges: [Charge<'b>; 2],
    /// The bounds of the intervals being worked on.
    active: Vec<i64>,
    best: i64,
    stop: Option<Stop>,
}

impl Shared<'_> {
    /// Takes in what is left of an interval, and the cut that was tried if it may tie.
    fn take(&mut self, halves: impl IntoIterator<Item = Interval>, tie: Option<Interval>) -> Result<(), Stop> {
        let [of_heap, of_ties] = &mut self.charges;
        for half in halves {
            self.heap.reserve_exact(of_heap.more(self.heap.len(), self.heap.capacity())?);
            self.heap.push(half);
        }
        if let Some(tie) = tie {
            self.ties.reserve_exact(of_ties.more(self.ties.len(), self.ties.capacity())?);
            self.ties.push(tie);
        }
        Ok(())
    }

    /// No tree that was not found yet costs less, or less than the best.
    fn bound(&self) -> i64 {
        let waiting = self.heap.peek().map(|interval| interval.lower);
        self.active.iter().copied().chain(waiting).min().unwrap_or(self.best).min(self.best)
    }
}

/// Ends the other workers where one panics: they would wait for what it works on. The panic goes on to the caller.
struct EndsAll<'a, 'b>(&'a Mutex<Shared<'b>>, &'a Condvar);

impl Drop for EndsAll<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            lock(self.0).stop = Some(Stop::Cancelled);
            self.1.notify_all();
        }
    }
}

/// A search of all instances.
pub(super) struct RootSearch<'a> {
    pub(super) anytime: &'a Anytime<'a>,
    pub(super) ask: Query,
    /// Whether bounds of this search are bounds on all trees asked for.
    pub(super) proves: bool,
}

impl RootSearch<'_> {
    /// The least cost, if it is less than `known`, else `known`; and the cuts that may reach it, if ties were asked
    /// for.
    pub(super) fn search<'b, I: Index>(
        &self,
        workers: &mut [IntervalSearch<'b, I>],
        known: i64,
    ) -> Result<(i64, Vec<Interval>), Stop> {
        let n_shares = IntervalSearch::<I>::shares(self.ask.depth, self.ask.nodes).len();
        let first = &mut workers[0];
        first.stumps.clear();
        let heap = (0..first.nodes.ground.columns.len()).map(|column| first.whole(column, n_shares)).collect();
        let charges = [first.charge(n_shares), first.charge(n_shares)];
        let shared = Mutex::new(Shared { heap, ties: vec![], charges, active: vec![], best: known, stop: None });
        let wake = Condvar::new();
        // Bounds of entries are kept by the worker that found them: trees of depth two are one worker's.
        match workers {
            [_, _, ..] if self.ask.depth > 2 => rayon::scope(|scope| {
                for worker in workers {
                    scope.spawn(|_| self.work(worker, &shared, &wake));
                }
            }),
            _ => self.work(&mut workers[0], &shared, &wake),
        }
        let mut shared = held(shared.into_inner());
        if let Some(stop) = shared.stop {
            return Err(stop);
        }
        let cost = shared.best;
        let heap = std::mem::take(&mut shared.heap);
        for interval in heap.into_iter().filter(|interval| interval.lower <= cost) {
            shared.take(None, Some(interval))?;
        }
        let mut open = std::mem::take(&mut shared.ties);
        open.retain(|interval| interval.lower <= cost);
        Ok((cost, open))
    }

    fn work<'b, I: Index>(&self, search: &mut IntervalSearch<'b, I>, shared: &Mutex<Shared<'b>>, wake: &Condvar) {
        // A better root whose tree was not made yet, and how many cuts were tried since one was.
        let (mut pending, mut since): (Option<BestTree>, u32) = (None, BETWEEN_TREES);
        let _ends = EndsAll(shared, wake);
        let mut state = lock(shared);
        loop {
            if state.stop.is_some() {
                return;
            }
            let best = state.best;
            let next = state.heap.peek().is_some_and(|interval| interval.lower < best);
            let Some(interval) = (if next { state.heap.pop() } else { None }) else {
                if let Some(best) = pending.take() {
                    drop(state);
                    let offered = self.offer(search, &best);
                    state = lock(shared);
                    state.stop = state.stop.or(offered.err());
                    continue;
                }
                if state.active.is_empty() {
                    wake.notify_all();
                    return;
                }
                state = held(wake.wait(state));
                continue;
            };
            let lower = interval.lower;
            state.active.push(lower);
            drop(state);
            let mut found = BestTree::leaf(best);
            let tried = search.step(0, &self.ask, interval.clone(), &mut found);
            since += 1;
            let cost = found.cost;
            if cost < best {
                pending = Some(found);
            }
            // Above depth two the tree is there already; at depth two its stumps have to be looked for.
            let may_offer = self.ask.depth > 2 || since >= BETWEEN_TREES;
            let offered = match pending.take_if(|_| may_offer && tried.is_ok()) {
                Some(best) => {
                    since = 0;
                    self.offer(search, &best)
                }
                None => Ok(()),
            };
            state = lock(shared);
            let place = state
                .active
                .iter()
                .position(|&other| other == lower)
                .expect("this worker put its bound there before the step");
            state.active.swap_remove(place);
            state.best = state.best.min(cost);
            match offered.and(tried) {
                Err(stop) => {
                    state.heap.push(interval);
                    state.stop = Some(stop);
                }
                Ok(Some(tried)) => {
                    let may_tie = self.ask.ties && tried.itself.lower <= cost;
                    let tie = Some(tried.itself).filter(|_| may_tie);
                    if let Err(stop) = state.take(tried.halves.into_iter().flatten(), tie) {
                        // Nothing that is open may be lost.
                        state.heap.push(interval);
                        state.stop = Some(stop);
                    }
                }
                Ok(None) => {}
            }
            if self.proves {
                self.anytime.prove(state.bound().max(0) as u64);
            }
            wake.notify_all();
        }
    }

    /// Makes the tree of the best root, for users to see.
    fn offer<I: Index>(&self, search: &mut IntervalSearch<I>, best: &BestTree) -> Result<(), Stop> {
        let shape = search.shape(0, best, &self.ask)?;
        self.anytime.offer(shape, best.cost as u64);
        Ok(())
    }
}

/// How many cuts are tried, at depth two, before another tree is made.
const BETWEEN_TREES: u32 = 16;
