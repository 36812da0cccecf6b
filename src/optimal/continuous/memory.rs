//! What one worker may keep of what it can make again.

use crate::bits;

/// What one worker may keep.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MemoryShares {
    /// Columns, at each node on the path, whose order is kept, and whose cuts are.
    pub(super) orders: usize,
    pub(super) opened: usize,
    /// Groups of columns whose ranks along a list are known at a time.
    pub(super) slots: usize,
    /// Ranks along lists, at each node on the path.
    pub(super) along: usize,
    /// Bounds of entries.
    pub(super) bounds: usize,
    /// Intervals that wait at one node.
    pub(super) intervals: usize,
}

/// Which columns are kept, of at most so many.
#[derive(Debug)]
pub(super) struct Kept {
    most: usize,
    columns: Vec<u32>,
    next: usize,
}

impl Kept {
    pub(super) fn new(most: usize) -> Self {
        Kept { most: most.max(1), columns: Vec::new(), next: 0 }
    }

    /// Takes a column, and says which has to go for it. Not the oldest: columns that are gone through again and again
    /// would all be gone before their turn.
    pub(super) fn admit(&mut self, column: usize) -> Option<usize> {
        if self.columns.len() < self.most {
            self.columns.push(column as u32);
            return None;
        }
        self.next = self.next.wrapping_add(1);
        let place = bits::mix(self.next as u64) as usize % self.most;
        Some(std::mem::replace(&mut self.columns[place], column as u32) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_columns_are_kept_as_may_be() {
        let mut kept = Kept::new(3);
        assert_eq!([0, 1, 2].map(|column| kept.admit(column)), [None; 3]);
        let mut held = [0, 1, 2];
        for column in 3..40 {
            let gone = kept.admit(column).expect("there are enough");
            let place = held.iter().position(|&other| other == gone).expect("it was kept");
            held[place] = column;
        }
    }
}
