//! How much stack a thread has left: searches recur as deep as trees are.

use std::hint::black_box;

/// The stack of a thread, from where the work on it began.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stack {
    base: usize,
    bytes: usize,
}

/// Bytes for each level of a tree, for functions that recur along it.
pub(super) const PER_LEVEL: usize = 1 << 10;
/// Bytes that are left for work that does not recur.
const MARGIN: usize = 96 << 10;
/// Bytes that a thread of unknown size is assumed to have: threads of C libraries have 128 KB to 8 MB, those of Rust 2
/// MB.
const UNKNOWN: usize = 256 << 10;

impl Stack {
    /// The stack of this thread, which has so many bytes; `None`: unknown.
    pub fn here(bytes: Option<usize>) -> Self {
        Stack { base: address(), bytes: bytes.unwrap_or(UNKNOWN) }
    }

    /// Bytes in use.
    pub fn used(&self) -> usize {
        address().abs_diff(self.base)
    }

    /// Whether there is room for so many levels of a tree, from where `used` bytes are in use.
    pub fn has_room(&self, used: usize, levels: u64) -> bool {
        let levels = usize::try_from(levels).unwrap_or(usize::MAX).saturating_mul(PER_LEVEL);
        used.saturating_add(MARGIN).saturating_add(levels) <= self.bytes
    }
}

/// The address of the current frame, about.
#[inline(never)]
fn address() -> usize {
    let here = 0u8;
    std::ptr::from_ref(black_box(&here)).addr()
}

#[cfg(test)]
mod tests {
    /// Work that no thread can be started for is done by the caller.
    #[test]
    fn fault_x4_work_comes_back_where_no_thread_can_be_started() {
        std::thread::scope(|scope| {
            // No system has so much memory.
            let work = |bytes: Option<usize>| bytes;
            let Err(work) = crate::threads::start(scope, [Some(usize::MAX / 2), Some(usize::MAX / 4)], work) else {
                panic!("there is no such stack")
            };
            assert_eq!(work(None), None);
            let started = crate::threads::start(scope, [Some(usize::MAX / 2), Some(1 << 20)], work);
            assert_eq!(started.ok().expect("a thread").join().expect("no panic"), Some(1 << 20));
        });
    }
}
