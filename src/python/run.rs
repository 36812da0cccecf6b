//! Long work beside a free interpreter: Ctrl-C, cancelling, progress callbacks, threads for prediction.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, Weak};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use pyo3::PyClass;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;

use super::argument::choice;
use super::error::interrupted;
use crate::budget::{Budget, Status};
use crate::data::Dataset;
use crate::threads::{self, lock};

/// How often signals are looked for: Ctrl-C is answered within this time and that of a [`crate::budget::Ticker`].
pub(super) const POLL: Duration = Duration::from_millis(50);
/// How often progress is reported.
pub(super) const REPORT: Duration = Duration::from_millis(100);

/// What Ctrl-C does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnInterrupt {
    /// `KeyboardInterrupt` is raised once the workers have stopped.
    Raise,
    /// The best result so far comes back. Where the work was done before it heard of it, `KeyboardInterrupt` is raised
    /// with the result all the same: who returns it could not tell that there was one.
    Return,
}

impl OnInterrupt {
    /// The choice that Python names so.
    pub(super) fn named(name: &str) -> PyResult<Self> {
        choice("on_interrupt", &[("raise", OnInterrupt::Raise), ("return", OnInterrupt::Return)], name)
    }

    /// What a call comes to after its work: an error that was raised, or the outcome, if there is one.
    fn conclude<T>(self, py: Python<'_>, raised: Option<PyErr>, outcome: Option<T>) -> PyResult<Done<T>> {
        let is_interrupt = |error: &PyErr| error.is_instance_of::<PyKeyboardInterrupt>(py);
        match (raised, outcome) {
            (Some(error), _) if !is_interrupt(&error) => Err(error),
            (interrupt, Some(value)) => Ok(Done { value, interrupt, on_interrupt: self }),
            (Some(error), None) if self == OnInterrupt::Raise => Err(error),
            _ => Err(panicked()),
        }
    }
}

/// The outcome of work, and the Ctrl-C that was heard meanwhile.
pub(super) struct Done<T> {
    value: T,
    interrupt: Option<PyErr>,
    on_interrupt: OnInterrupt,
}

impl<T> Done<T> {
    /// The result that `make` makes of the outcome; raised with the Ctrl-C, if there was one and the result does not say
    /// so.
    pub(super) fn deliver<'py, R>(self, py: Python<'py>, make: impl FnOnce(T) -> PyResult<R>) -> PyResult<Bound<'py, R>>
    where
        R: PyClass + Into<PyClassInitializer<R>>,
    {
        let made = make(self.value).and_then(|result| Bound::new(py, result));
        match (self.interrupt, made) {
            (None, made) => made,
            (Some(error), Ok(result)) => {
                let says_so = self.on_interrupt == OnInterrupt::Return
                    && result.as_any().getattr("status")?.eq(Status::Interrupted.name())?;
                if says_so { Ok(result) } else { Err(interrupted(py, error, result.into_any())) }
            }
            (Some(error), Err(_)) => Err(error),
        }
    }
}

/// What is raised where the core has a bug.
pub(super) fn panicked() -> PyErr {
    PyRuntimeError::new_err("internal error: the search panicked; please report it")
}

/// What is called about ten times a second while work goes on, on the thread that waits for it.
pub(super) type Report<'a> = &'a dyn Fn(&Budget) -> PyResult<()>;

/// The runs of one search that are under way, for any thread to stop them.
#[derive(Default)]
pub(super) struct Running(Mutex<Vec<Weak<Budget>>>);

impl Running {
    /// Runs `work` under a budget that [`Running::cancel`] can reach: on the calling thread, if there are signals for
    /// that and nothing to report, else beside it; but on the calling thread, with signals and without reports, where
    /// the system has no more threads.
    pub(super) fn run<T: Send>(
        &self,
        py: Python<'_>,
        budget: Budget,
        signals: Option<Signals>,
        report: Option<Report<'_>>,
        on_interrupt: OnInterrupt,
        work: impl FnOnce(&Budget) -> T + Send,
    ) -> PyResult<Done<T>> {
        std::thread::scope(|scope| {
            let signals = signals.filter(|_| report.is_none());
            // Its budget is told to a thread once there is one: a budget that hears signals is another.
            let beside = if signals.is_none() { Beside::start(scope) } else { None };
            match beside {
                Some(beside) => {
                    let budget = self.add(budget);
                    let shared = budget.clone();
                    beside.run(py, &budget, report, on_interrupt, move || work(&shared))
                }
                None => {
                    let signals = signals.unwrap_or_default();
                    let budget = self.add(signals.heard_by(py, budget)?);
                    signals.run(py, on_interrupt, || work(&budget))
                }
            }
        })
    }

    /// Makes a budget one that [`Running::cancel`] reaches.
    pub(super) fn add(&self, budget: Budget) -> Arc<Budget> {
        let budget = Arc::new(budget);
        let mut running = lock(&self.0);
        running.retain(|budget| budget.strong_count() > 0);
        running.push(Arc::downgrade(&budget));
        budget
    }

    /// Stops them all.
    pub(super) fn cancel(&self) {
        lock(&self.0).iter().filter_map(Weak::upgrade).for_each(|budget| budget.cancel());
    }
}

/// Runs `work` on a thread of its own, if there is one, with the interpreter free. Ctrl-C is raised.
pub(super) fn interruptible<T: Send>(py: Python<'_>, budget: &Budget, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let raise = OnInterrupt::Raise;
    let done = std::thread::scope(|scope| match Beside::start(scope) {
        Some(beside) => beside.run(py, budget, None, raise, work),
        None => raise.conclude(py, None, py.detach(|| catch_unwind(AssertUnwindSafe(work)).ok())),
    })?;
    done.interrupt.map_or(Ok(done.value), Err)
}

/// A thread that waits for work.
struct Beside<'s, W, T> {
    work: SyncSender<W>,
    done: Receiver<T>,
    worker: ScopedJoinHandle<'s, ()>,
}

impl<'s, T: Send + 's, W: FnOnce() -> T + Send + 's> Beside<'s, W, T> {
    /// `None` where the system has no more threads.
    fn start(scope: &'s Scope<'s, '_>) -> Option<Self> {
        let (work, todo) = sync_channel::<W>(1);
        let (outcome, done) = sync_channel(1);
        let wait = move |_| {
            if let Ok(work) = todo.recv() {
                drop(outcome.send(work()));
            }
        };
        let worker = threads::start(scope, [None], wait).ok()?;
        Some(Beside { work, done, worker })
    }

    /// Runs `work` with the interpreter free. The calling thread waits, looks for signals and reports progress;
    /// whatever Python raises meanwhile cancels the budget and is raised once `work` has stopped.
    fn run(
        self,
        py: Python<'_>,
        budget: &Budget,
        report: Option<Report<'_>>,
        on_interrupt: OnInterrupt,
        work: W,
    ) -> PyResult<Done<T>> {
        let Beside { work: give, done: mut inbox, worker } = self;
        // It waits for nothing else.
        drop(give.send(work));
        let mut raised: Option<PyErr> = None;
        let mut reported = Instant::now();
        let outcome = loop {
            let inbox = &mut inbox; // a shared `&Receiver` is not `Send`
            match py.detach(move || inbox.recv_timeout(POLL)) {
                Ok(value) => break Some(value),
                Err(RecvTimeoutError::Disconnected) => break None, // `work` panicked
                Err(RecvTimeoutError::Timeout) if raised.is_some() => {}
                Err(RecvTimeoutError::Timeout) => {
                    let mut heard = py.check_signals();
                    if let (Ok(()), Some(report), true) = (&heard, report, reported.elapsed() >= REPORT) {
                        reported = Instant::now();
                        heard = report(budget);
                    }
                    if let Err(error) = heard {
                        budget.cancel();
                        raised = Some(error);
                    }
                }
            }
        };
        let joined = py.detach(move || worker.join().is_ok());
        on_interrupt.conclude(py, raised, outcome.filter(|_| joined))
    }
}

/// Signals, heard by work on the thread that called it: a thread of its own costs as much as all of a small search.
#[derive(Default)]
pub(super) struct Signals(Arc<Mutex<Option<PyErr>>>);

impl Signals {
    /// Work on more cells than this may be long without a look at its budget, and what a thread costs does not matter.
    const CELLS: usize = 1 << 20;

    /// Signals for work that is fit for this: it stays on the thread that called it.
    pub(super) fn of(data: &Dataset, threads: Option<usize>) -> Option<Self> {
        let is_small = data.n_rows() * data.columns().len() <= Self::CELLS;
        (threads == Some(1) && is_small).then(Self::default)
    }

    /// What Python raised since the last time.
    pub(super) fn raised(&self) -> Option<PyErr> {
        lock(&self.0).take()
    }

    /// A budget that looks for signals; what Python raises cancels it. Only the main thread is told of signals: on
    /// others nothing is looked for, since that waits for the interpreter.
    pub(super) fn heard_by(&self, py: Python<'_>, budget: Budget) -> PyResult<Budget> {
        let threading = py.import("threading")?;
        let main = threading.call_method0("main_thread")?.getattr("ident")?;
        // Before Python 3.13 the main thread is taken for the one that imported `threading`. The first thread of a
        // process has its number on Linux.
        let is_first = || threading.call_method0("get_native_id")?.eq(std::process::id());
        if !threading.call_method0("get_ident")?.eq(main)? && !is_first()? {
            return Ok(budget);
        }
        let raised = self.0.clone();
        let goes_on = move || {
            let heard = Python::attach(|py| py.check_signals());
            heard.map_err(|error| *lock(&raised) = Some(error)).is_ok()
        };
        Ok(budget.asking(POLL, goes_on))
    }

    /// Runs `work`, of a budget that hears them, right here with the interpreter free.
    fn run<T: Send>(
        self,
        py: Python<'_>,
        on_interrupt: OnInterrupt,
        work: impl FnOnce() -> T + Send,
    ) -> PyResult<Done<T>> {
        let outcome = py.detach(|| catch_unwind(AssertUnwindSafe(work)).ok());
        on_interrupt.conclude(py, self.raised(), outcome)
    }
}

/// Rows per thread below which a second thread does not pay.
const ROWS_PER_THREAD: usize = 100_000;

/// Applies `work` to ranges that make up `rows`, on several threads if there are many, and joins the
/// results in order.
pub(super) fn by_rows<T: Send>(
    rows: Range<usize>,
    work: impl Fn(Range<usize>) -> crate::Result<Vec<T>> + Sync,
) -> crate::Result<Vec<T>> {
    // In this order: how many threads there are is a question to the system that takes longer than a few rows.
    let threads = match rows.len() / ROWS_PER_THREAD {
        0 | 1 => 1,
        most => threads::resolve(None).min(most),
    };
    if threads <= 1 {
        return work(rows);
    }
    let bounds: Vec<usize> = (0..=threads).map(|i| rows.start + rows.len() * i / threads).collect();
    std::thread::scope(|scope| {
        let start = |bounds: &[usize]| {
            let (rows, work) = (bounds[0]..bounds[1], &work);
            threads::start(scope, [None], move |_| work(rows))
        };
        let workers: Vec<_> = bounds.windows(2).map(start).collect();
        let mut joined = Vec::new();
        for worker in workers {
            let part = match worker {
                Ok(worker) => worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                // There is no thread for it.
                Err(work) => work(None),
            };
            joined.extend(part?);
        }
        Ok(joined)
    })
}
