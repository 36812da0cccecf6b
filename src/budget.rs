//! The budget of a run (time, search nodes, memory), how it is stopped, and how it ended.
//!
//! One [`Budget`] per run, shared by its workers. A worker owns a [`Ticker`]: it adds up work locally and looks at the
//! clock and the flags about every tenth of a millisecond, so that a limit or a Ctrl-C is kept within milliseconds at
//! a cost that cannot be measured.
//!
//! Memory is charged before it is allocated: code that makes something that grows with rows, tests, classes or levels
//! estimates its bytes and calls [`Budget::reserve`] first.

mod system;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// How a run ended. A limit is an outcome, not an error: the best tree so far and a true bound come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The result is proved best.
    Optimal,
    /// The result is proved best over the tests that the search chose to be offered, which were not all.
    OptimalOverTests,
    /// The result is proved to be within the tolerance asked for.
    Acceptable,
    /// A heuristic or an enumeration went to its end.
    Complete,
    /// The time was spent.
    TimeLimit,
    /// The search nodes were spent.
    NodeLimit,
    /// Data that the search must hold at once did not fit (a full cache is no reason to stop).
    MemoryLimit,
    /// Cancelled, by Ctrl-C or by another thread.
    Interrupted,
    /// No tree meets the constraints.
    Infeasible,
}

impl Status {
    /// The name users see: `"optimal"`, `"time_limit"`, ...
    pub fn name(self) -> &'static str {
        match self {
            Status::Optimal => "optimal",
            Status::OptimalOverTests => "optimal_over_tests",
            Status::Acceptable => "acceptable",
            Status::Complete => "complete",
            Status::TimeLimit => "time_limit",
            Status::NodeLimit => "node_limit",
            Status::MemoryLimit => "memory_limit",
            Status::Interrupted => "interrupted",
            Status::Infeasible => "infeasible",
        }
    }
}

/// Why a run has to stop before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The time was spent.
    Time,
    /// The search nodes were spent.
    Nodes,
    /// Live state does not fit into the memory allowed.
    Memory,
    /// [`Budget::cancel`] was called.
    Cancelled,
}

impl Stop {
    const ALL: [Self; 4] = [Stop::Time, Stop::Nodes, Stop::Memory, Stop::Cancelled];
}

impl From<Stop> for Status {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Time => Status::TimeLimit,
            Stop::Nodes => Status::NodeLimit,
            Stop::Memory => Status::MemoryLimit,
            Stop::Cancelled => Status::Interrupted,
        }
    }
}

/// Limits of a run; `None` means none, except for memory: [`Budget::default_memory`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Limits {
    /// Seconds of wall clock, from the start of the run.
    pub seconds: Option<f64>,
    /// Search nodes.
    pub nodes: Option<u64>,
    /// Bytes of live state and caches.
    pub memory: Option<u64>,
}

impl Limits {
    /// Checks ranges: seconds finite and not negative.
    pub fn checked(self) -> Result<Self> {
        match self.seconds {
            Some(s) if !(s.is_finite() && s >= 0.0) => Err(Error::InvalidParameter {
                name: "time_limit",
                expected: "a finite number of seconds, not negative, or None".into(),
                got: s.to_string(),
            }),
            _ => Ok(self),
        }
    }
}

/// A callback that workers poll, each on its own thread; if it returns false the run is cancelled.
struct Listener {
    goes_on: Box<dyn Fn() -> bool + Send + Sync>,
    /// Milliseconds.
    every: u64,
    /// Milliseconds from the start of the run to the last call.
    asked: AtomicU64,
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener").field("every", &self.every).finish_non_exhaustive()
    }
}

/// The shared account of one run.
#[derive(Debug)]
pub struct Budget {
    start: Instant,
    deadline: Option<Instant>,
    /// Microseconds before the deadline at which the run has to stop.
    held_back: AtomicU64,
    node_limit: u64,
    memory_limit: u64,
    /// Bytes reserved.
    reserved: AtomicU64,
    nodes: AtomicU64,
    grown: AtomicU64,
    cancelled: AtomicBool,
    listener: Option<Listener>,
    /// Why the first worker had to stop, in [`Stop::ALL`] from 1 on; 0 while none had to. Then all must, and work that
    /// was handed out must not start.
    stopped: AtomicU8,
}

impl Budget {
    /// Bytes allowed where no limit is given and the size of the machine is not known: 1 GiB.
    pub const DEFAULT_MEMORY: u64 = 1 << 30;

    /// A budget without limits, also of memory.
    pub fn unlimited() -> Self {
        Self::new(Limits { memory: Some(u64::MAX), ..Limits::default() })
    }

    /// Starts the clock.
    pub fn new(limits: Limits) -> Self {
        let start = Instant::now();
        Budget {
            start,
            // A limit beyond the range of the clock is no limit.
            deadline: limits
                .seconds
                .and_then(|s| Duration::try_from_secs_f64(s).ok())
                .and_then(|d| start.checked_add(d)),
            held_back: AtomicU64::new(0),
            node_limit: limits.nodes.unwrap_or(u64::MAX),
            memory_limit: limits.memory.unwrap_or_else(Self::default_memory),
            reserved: AtomicU64::new(0),
            nodes: AtomicU64::new(0),
            grown: AtomicU64::new(0),
            cancelled: AtomicBool::new(false),
            listener: None,
            stopped: AtomicU8::new(0),
        }
    }

    /// Makes workers call `goes_on` about this often, on their own thread; false cancels the run.
    pub fn asking(mut self, every: Duration, goes_on: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        let every = every.as_millis() as u64;
        self.listener = Some(Listener { goes_on: Box::new(goes_on), every, asked: AtomicU64::new(0) });
        self
    }

    /// Asks the run to stop; may be called from any thread.
    pub fn cancel(&self) {
        self.cancelled.store(true, Relaxed);
    }

    /// Seconds since the start.
    pub fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// Which part of the time or of the search nodes is used up, whichever is more; 0 where neither is limited.
    pub fn used(&self) -> f64 {
        let of_time = self.deadline.map_or(0.0, |end| match end.duration_since(self.start).as_secs_f64() {
            0.0 => 1.0,
            all => self.seconds() / all,
        });
        let of_nodes =
            if self.node_limit == u64::MAX { 0.0 } else { self.nodes() as f64 / self.node_limit.max(1) as f64 };
        of_time.max(of_nodes)
    }

    /// Whether the time or the search nodes are limited.
    pub fn is_limited(&self) -> bool {
        self.deadline.is_some() || self.node_limit != u64::MAX
    }

    /// Makes the time end this many seconds earlier: for what is done once the run has [resumed](Self::resume).
    pub fn hold_back(&self, seconds: f64) {
        self.held_back.store((seconds * 1e6) as u64, Relaxed);
    }

    /// Lets a run go on that the time or the nodes have stopped: in the time that was held back or is left, and as long
    /// as it visits no more nodes.
    pub fn resume(&self) {
        self.held_back.store(0, Relaxed);
        if matches!(self.stopped(), Some(Stop::Time | Stop::Nodes)) {
            self.stopped.store(0, Relaxed);
        }
    }

    /// Search nodes visited so far.
    pub fn nodes(&self) -> u64 {
        self.nodes.load(Relaxed)
    }

    /// Nodes of greedy trees grown so far, for reports. They have no limit.
    pub fn grown(&self) -> u64 {
        self.grown.load(Relaxed)
    }

    /// Counts nodes of a greedy tree.
    pub fn count_grown(&self, nodes: u64) {
        self.grown.fetch_add(nodes, Relaxed);
    }

    /// Bytes allowed for live state and caches.
    pub fn memory_limit(&self) -> u64 {
        self.memory_limit
    }

    /// Bytes allowed where no limit is given: a quarter of what the machine and the control group of the process have,
    /// and no more than half of what its limits (`ulimit -v`, `ulimit -d`) leave. Read once.
    pub fn default_memory() -> u64 {
        static MEMORY: OnceLock<u64> = OnceLock::new();
        *MEMORY.get_or_init(|| {
            let confined = system::confined_memory().map_or(Self::DEFAULT_MEMORY, |bytes| bytes / 4);
            confined.min(system::allowed_memory().map_or(u64::MAX, |bytes| bytes / 2))
        })
    }

    /// Charges memory that is about to be allocated. Fails, and charges nothing, where it does not fit beside what is
    /// reserved already; the run is not stopped by that, since its caller may do with less.
    pub fn reserve(&self, bytes: u64) -> std::result::Result<Reserved<'_>, Stop> {
        let mut reserved = Reserved { budget: self, bytes: 0 };
        reserved.grow(bytes)?;
        Ok(reserved)
    }

    /// Bytes that are not reserved.
    pub fn available(&self) -> u64 {
        self.memory_limit.saturating_sub(self.reserved.load(Relaxed))
    }

    /// Begins a part of the run whose data do not live to the end of the run.
    pub fn scope(&self) -> Scope<'_> {
        Scope { budget: self, before: self.reserved.load(Relaxed) }
    }

    /// Why no worker has begun: the run had to stop, or there was no memory for any.
    pub(crate) fn why_not_begun(&self) -> Stop {
        self.check().err().unwrap_or(Stop::Memory)
    }

    /// Counts one search node. Fails if there are no more, or if any worker had to stop.
    pub fn visit(&self) -> std::result::Result<(), Stop> {
        match self.stopped() {
            Some(stop) => Err(stop),
            None if self.nodes.fetch_add(1, Relaxed) < self.node_limit => Ok(()),
            None => Err(self.stop(Stop::Nodes)),
        }
    }

    /// Fails if the run has to stop. Reads the clock: call it through a [`Ticker`] in loops.
    pub fn check(&self) -> std::result::Result<(), Stop> {
        if let Some(stop) = self.stopped() {
            return Err(stop);
        }
        if let Some(listener) = &self.listener {
            let now = self.start.elapsed().as_millis() as u64;
            if now.saturating_sub(listener.asked.load(Relaxed)) >= listener.every {
                listener.asked.store(now, Relaxed);
                if !(listener.goes_on)() {
                    self.cancel();
                }
            }
        }
        if self.cancelled.load(Relaxed) {
            return Err(self.stop(Stop::Cancelled));
        }
        let held_back = Duration::from_micros(self.held_back.load(Relaxed));
        match self.deadline {
            Some(deadline) if deadline.saturating_duration_since(Instant::now()) <= held_back => {
                Err(self.stop(Stop::Time))
            }
            _ => Ok(()),
        }
    }

    /// Why the run has to stop, if it has to.
    fn stopped(&self) -> Option<Stop> {
        let place = self.stopped.load(Relaxed).checked_sub(1)?;
        Some(Stop::ALL[place as usize])
    }

    /// Stops the run, for the first reason that any worker gave.
    fn stop(&self, stop: Stop) -> Stop {
        let place = 1 + stop as u8;
        match self.stopped.compare_exchange(0, place, Relaxed, Relaxed) {
            Ok(_) => stop,
            Err(first) => Stop::ALL[first as usize - 1],
        }
    }
}

/// Memory charged to a [`Budget`], and given back to it when this is dropped.
#[derive(Debug)]
pub struct Reserved<'b> {
    budget: &'b Budget,
    bytes: u64,
}

impl Reserved<'_> {
    /// Charges more. Fails, and charges nothing, where it does not fit.
    pub fn grow(&mut self, bytes: u64) -> std::result::Result<(), Stop> {
        let fits = |held: u64| held.checked_add(bytes).filter(|&sum| sum <= self.budget.memory_limit);
        self.budget.reserved.fetch_update(Relaxed, Relaxed, fits).map_err(|_| Stop::Memory)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Charges more or gives some back, so that this many bytes are charged.
    pub fn resize(&mut self, bytes: u64) -> std::result::Result<(), Stop> {
        match bytes.checked_sub(self.bytes) {
            Some(more) => self.grow(more),
            None => {
                self.budget.reserved.fetch_sub(self.bytes - bytes, Relaxed);
                self.bytes = bytes;
                Ok(())
            }
        }
    }

    /// Bytes charged.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Leaves the memory charged until the run ends: for data that live as long.
    pub fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.budget.reserved.fetch_sub(self.bytes, Relaxed);
    }
}

/// A part of a run. When it is dropped, what was charged in it is given back, also what was [kept](Reserved::keep). All
/// that is charged meanwhile, by any thread, is part of it.
#[derive(Debug)]
pub struct Scope<'b> {
    budget: &'b Budget,
    before: u64,
}

impl Scope<'_> {
    /// Ends it, where so many bytes stay until the run ends.
    pub fn end(mut self, bytes: u64) {
        self.before += bytes;
    }
}

impl Drop for Scope<'_> {
    fn drop(&mut self) {
        self.budget.reserved.fetch_min(self.before, Relaxed);
    }
}

/// One worker's view of a [`Budget`].
#[derive(Debug)]
pub struct Ticker<'b> {
    budget: &'b Budget,
    work: usize,
}

impl<'b> Ticker<'b> {
    /// Units of work, each about a nanosecond, between two looks at the budget.
    const POLL_EVERY: usize = 100_000;

    /// A ticker that looks at the budget at its first [`Ticker::tick`].
    pub fn new(budget: &'b Budget) -> Self {
        Ticker { budget, work: Self::POLL_EVERY }
    }

    /// The budget that it looks at.
    pub fn budget(&self) -> &'b Budget {
        self.budget
    }

    /// Bytes allowed for live state and caches.
    pub fn memory_limit(&self) -> u64 {
        self.budget.memory_limit
    }

    /// Adds work done, and fails if the run has to stop.
    #[inline]
    pub fn tick(&mut self, work: usize) -> std::result::Result<(), Stop> {
        self.work += work;
        if self.work < Self::POLL_EVERY {
            return Ok(());
        }
        self.work = 0;
        self.budget.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_stop_a_run() {
        let spent = Budget::new(Limits { seconds: Some(0.0), ..Limits::default() });
        assert_eq!(Ticker::new(&spent).tick(0), Err(Stop::Time));
        let cancelled = Budget::new(Limits::default());
        assert_eq!((Ticker::new(&cancelled).tick(0), cancelled.why_not_begun()), (Ok(()), Stop::Memory));
        cancelled.cancel();
        assert_eq!(cancelled.why_not_begun(), Stop::Cancelled);
        assert_eq!(cancelled.check(), Err(Stop::Cancelled));
        let asks = |goes_on| Budget::new(Limits::default()).asking(Duration::ZERO, move || goes_on);
        assert_eq!([asks(true).check(), asks(false).check()], [Ok(()), Err(Stop::Cancelled)]);
        let two_nodes = Budget::new(Limits { nodes: Some(2), ..Limits::default() });
        assert_eq!(two_nodes.used(), 0.0);
        assert_eq!([two_nodes.visit(), two_nodes.visit(), two_nodes.visit()], [Ok(()), Ok(()), Err(Stop::Nodes)]);
        assert_eq!((two_nodes.used(), spent.used(), cancelled.used()), (1.5, 1.0, 0.0));
        for (stop, place) in Stop::ALL.into_iter().zip(0..) {
            assert_eq!(stop as u8, place);
        }
    }

    #[test]
    fn time_that_was_held_back_is_left_once_a_run_resumes() {
        let long = Budget::new(Limits { seconds: Some(1e4), nodes: Some(0), ..Limits::default() });
        assert_eq!(long.check(), Ok(()));
        long.hold_back(f64::MAX);
        assert_eq!([long.check(), long.visit()], [Err(Stop::Time); 2]);
        long.resume();
        assert_eq!([long.check(), long.visit(), long.check()], [Ok(()), Err(Stop::Nodes), Err(Stop::Nodes)]);
        long.resume();
        assert_eq!(long.check(), Ok(()));
        long.cancel();
        long.resume();
        assert_eq!(long.check(), Err(Stop::Cancelled));
        long.resume();
        assert_eq!(long.check(), Err(Stop::Cancelled));
        let spent = Budget::new(Limits { seconds: Some(0.0), ..Limits::default() });
        assert_eq!(spent.check(), Err(Stop::Time));
        spent.resume();
        assert_eq!(spent.check(), Err(Stop::Time));
    }

    #[test]
    fn memory_is_charged_and_given_back() {
        let budget = Budget::new(Limits { memory: Some(100), ..Limits::default() });
        let mut first = budget.reserve(60).expect("fits");
        assert_eq!(budget.reserve(41).err(), Some(Stop::Memory));
        assert_eq!((first.grow(41), budget.available()), (Err(Stop::Memory), 40));
        assert_eq!((first.resize(90), budget.available()), (Ok(()), 10));
        assert_eq!((first.resize(20), budget.available()), (Ok(()), 80));
        budget.reserve(30).expect("fits").keep();
        assert_eq!(budget.reserve(u64::MAX).err(), Some(Stop::Memory));
        drop(first);
        assert_eq!(budget.available(), 70);
        let part = budget.scope();
        budget.reserve(50).expect("fits").keep();
        assert_eq!(budget.available(), 20);
        drop(part);
        assert_eq!(budget.available(), 70);
        let part = budget.scope();
        budget.reserve(50).expect("fits").keep();
        part.end(10);
        assert_eq!(budget.available(), 60);
        assert_eq!(budget.check(), Ok(()));
    }

    #[test]
    fn limits_are_checked() {
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(Limits { seconds: Some(bad), ..Limits::default() }.checked().is_err());
        }
        // Far beyond the clock: accepted, and no limit.
        assert_eq!(Budget::new(Limits { seconds: Some(1e300), ..Limits::default() }).check(), Ok(()));
    }
}
