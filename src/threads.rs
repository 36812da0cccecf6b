//! The number of threads that a search may use, and their pool.
//!
//! Each search has its own rayon pool: the global one hangs in a forked child.

use std::sync::{Arc, LockResult, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope, ScopedJoinHandle};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::{Error, Result};

/// The environment variable that caps the number of threads where none is given.
pub const VARIABLE: &str = "LATTREE_NUM_THREADS";

/// The number of threads to use: the one asked for, else the parallelism available to the process (affinity, cgroup),
/// capped by [`VARIABLE`]. Of those asked for no more than [`PER_CORE`] for each that can run at once, and [`ANYWHERE`]
/// in any case: what a thread needs to start and to work takes time and memory.
pub fn resolve(asked: Option<usize>) -> usize {
    // This reads the files of the control groups, which would slow a search of a small table down.
    let available = || std::thread::available_parallelism().map_or(1, usize::from);
    match asked {
        Some(asked) if asked <= ANYWHERE => asked,
        Some(asked) => asked.min(ANYWHERE.max(PER_CORE * available())),
        None => {
            let available = available();
            // [`checked`] has refused a variable that is no number.
            cap().ok().flatten().map_or(available, |cap| available.min(cap))
        }
    }
}

/// The cap of [`VARIABLE`]: none where it is not set, or empty.
fn cap() -> Result<Option<usize>> {
    let Some(value) = std::env::var_os(VARIABLE) else { return Ok(None) };
    let text = value.to_string_lossy();
    match (text.trim(), text.trim().parse::<usize>()) {
        ("", _) => Ok(None),
        (_, Ok(cap @ 1..)) => Ok(Some(cap)),
        _ => Err(Error::InvalidParameter {
            name: VARIABLE,
            expected: "a whole number from 1 on, as the environment variable that caps threads".into(),
            got: format!("{text:?}"),
        }),
    }
}

/// The most threads per core.
pub const PER_CORE: usize = 4;

/// The number of threads that may be asked for on any machine.
pub const ANYWHERE: usize = 16;

/// Checks a number of threads asked for, or else the cap that the environment sets.
pub fn checked(asked: Option<usize>) -> Result<Option<usize>> {
    match asked {
        Some(n) if !(1..=1024).contains(&n) => Err(Error::InvalidParameter {
            name: "threads",
            expected: "from 1 to 1024, or None for all that the process may use".into(),
            got: n.to_string(),
        }),
        None => cap().map(|_| None),
        _ => Ok(asked),
    }
}

/// Runs `work` in a pool of its own and tells it the number of threads it has: fewer where so many cannot be started,
/// and one, right here, if one is enough or no pool can be had.
pub fn with_pool<T: Send>(threads: usize, work: impl FnOnce(usize) -> T + Send) -> T {
    match pool(threads) {
        Some(pool) => {
            let threads = pool.current_num_threads();
            pool.install(|| work(threads))
        }
        None => work(1),
    }
}

/// A pool of so many threads, or of fewer where so many cannot be started; `None` if that leaves one.
pub(crate) fn pool(threads: usize) -> Option<ThreadPool> {
    let fewer = |&threads: &usize| Some(threads / 2);
    let numbers = std::iter::successors(Some(threads), fewer).take_while(|&threads| threads > 1);
    numbers.map(|threads| ThreadPoolBuilder::new().num_threads(threads).build()).find_map(std::result::Result::ok)
}

/// Starts a thread in a scope, with the first of some sizes of its stack that the system has room for (`None`: the
/// usual one), or gives its work back. The work is told the size.
pub(crate) fn start<'s, 'e, T: Send + 's, W: FnOnce(Option<usize>) -> T + Send + 's>(
    scope: &'s Scope<'s, 'e>,
    stacks: impl IntoIterator<Item = Option<usize>>,
    work: W,
) -> std::result::Result<ScopedJoinHandle<'s, T>, W> {
    // A closure that could not be started is lost, so the work is kept here and fetched by the thread.
    let shared = Arc::new(Mutex::new(Some(work)));
    for stack in stacks {
        let shared = shared.clone();
        let fetch = move || {
            let work = lock(&shared).take();
            work.map(|work| work(stack)).expect("one thread fetches it")
        };
        let builder = stack.map_or_else(Builder::new, |bytes| Builder::new().stack_size(bytes));
        if let Ok(thread) = builder.spawn_scoped(scope, fetch) {
            return Ok(thread);
        }
    }
    let work = lock(&shared).take();
    Err(work.expect("nobody fetched it"))
}

/// The contents of a lock, also if a thread has panicked while it held it: no thread leaves contents half changed.
pub(crate) fn held<T>(lock: LockResult<T>) -> T {
    lock.unwrap_or_else(PoisonError::into_inner)
}

/// Locks a mutex, as [`held`].
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    held(mutex.lock())
}
