//! Vectors that start at a cache line: a block of columns is then a line, and loading it touches no other.

use std::ops::{Deref, DerefMut};

/// A vector whose first element is at a multiple of 64 bytes.
#[derive(Debug, Default)]
pub(super) struct Aligned<T> {
    data: Vec<T>,
    start: usize,
    len: usize,
}

impl<T: Copy + Default> Aligned<T> {
    const LINE: usize = 64;

    /// Makes it at least this long. What it holds is left over from before.
    pub(super) fn grow(&mut self, len: usize) {
        let spare = Self::LINE / size_of::<T>();
        if self.data.len() < len + spare {
            // What it held goes first: both would be there for a moment.
            self.data = Vec::new();
            // Some more, since nodes of one depth differ little in size.
            self.data = vec![T::default(); len + len / 4 + spare];
            self.start = self.data.as_ptr().align_offset(Self::LINE).min(spare);
        }
        self.len = self.len.max(len);
    }

    /// Makes it exactly this long, each element `value`.
    pub(super) fn fill_with(&mut self, len: usize, value: T) {
        self.grow(len);
        self.len = len;
        self.fill(value);
    }
}

impl<T> Deref for Aligned<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.data[self.start..self.start + self.len]
    }
}

impl<T> DerefMut for Aligned<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.data[self.start..self.start + self.len]
    }
}
