//! How many threads a search may use, and the pool it uses them in.
//!
//! Each search has its own rayon pool: the global one hangs in a forked child.

use std::sync::{LockResult, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};

/// The environment variable that caps the number of threads where none is given.
pub const VARIABLE: &str = "LATTREE_NUM_THREADS";

/// The number of threads to use: the one asked for, else the parallelism available to the process (affinity, cgroup),
/// capped by [`VARIABLE`].
pub fn resolve(asked: Option<usize>) -> usize {
    asked.unwrap_or_else(|| {
        let available = std::thread::available_parallelism().map_or(1, usize::from);
        let cap = std::env::var(VARIABLE).ok().and_then(|v| v.trim().parse::<usize>().ok()).filter(|&n| n > 0);
        cap.map_or(available, |cap| available.min(cap))
    })
}

/// Checks a number of threads asked for.
pub fn checked(asked: Option<usize>) -> Result<Option<usize>> {
    match asked {
        Some(n) if !(1..=1024).contains(&n) => Err(Error::InvalidParameter {
            name: "threads",
            expected: "from 1 to 1024, or None for all that the process may use".into(),
            got: n.to_string(),
        }),
        _ => Ok(asked),
    }
}

/// Runs `work` in a pool of its own and tells it the number of threads it has: one, right here, if one is enough or no
/// pool can be had.
pub fn with_pool<T: Send>(threads: usize, work: impl FnOnce(usize) -> T + Send) -> T {
    if threads <= 1 {
        return work(1);
    }
    match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => pool.install(|| work(threads)),
        Err(_) => work(1),
    }
}

/// What a lock holds. A thread that panicked with it leaves nothing half done that others would read: they go on.
pub(crate) fn held<T>(lock: LockResult<T>) -> T {
    lock.unwrap_or_else(PoisonError::into_inner)
}

/// What a mutex holds, as [`held`].
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    held(mutex.lock())
}
