//! The stack of a thread, on which searches recur as deep as trees are: how much of it there is.

use std::hint::black_box;

/// A stack, from where the work on it began.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stack {
    base: usize,
    bytes: usize,
}

/// Bytes for each level of a tree, for what recurs along it.
pub(super) const PER_LEVEL: usize = 1 << 10;
/// What is left for work that does not recur.
const MARGIN: usize = 96 << 10;
/// What a thread that was not started here is taken to have left: threads of C libraries have 128 KB to 8 MB, those of Rust
/// 2 MB.
const UNKNOWN: usize = 256 << 10;

impl Stack {
    /// That of this thread, of so many bytes, or of unknown size.
    pub fn here(bytes: Option<usize>) -> Self {
        Stack { base: address(), bytes: bytes.unwrap_or(UNKNOWN) }
    }

    /// Bytes in use.
    pub fn used(&self) -> usize {
        address().abs_diff(self.base)
    }

    /// Whether there is room for so many levels of a tree, where so many bytes are in use.
    pub fn has_room(&self, used: usize, levels: u64) -> bool {
        let levels = usize::try_from(levels).unwrap_or(usize::MAX).saturating_mul(PER_LEVEL);
        used.saturating_add(MARGIN).saturating_add(levels) <= self.bytes
    }
}

/// About where the stack ends.
#[inline(never)]
fn address() -> usize {
    let here = 0u8;
    std::ptr::from_ref(black_box(&here)).addr()
}
