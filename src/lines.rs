//! Small numbers of several columns, row by row: what is asked of one row lies together, in one line of the cache if columns
//! are few.

/// A byte per row and column.
pub(crate) struct Lines {
    bytes: Vec<u8>,
    /// Bytes from one row to the next: a multiple of eight, so that few rows lie in two lines of the cache.
    width: usize,
}

impl Lines {
    /// All zero.
    pub(crate) fn new(n_rows: usize, n_columns: usize) -> Self {
        let width = n_columns.next_multiple_of(8);
        Lines { bytes: vec![0; n_rows * width], width }
    }

    /// Writes a column, of which there is one at least.
    pub(crate) fn fill(&mut self, column: usize, of_rows: impl Iterator<Item = u8>) {
        self.bytes.chunks_exact_mut(self.width).zip(of_rows).for_each(|(line, byte)| line[column] = byte);
    }

    /// The bytes of a row.
    #[inline(always)]
    pub(crate) fn line(&self, row: u32) -> &[u8] {
        &self.bytes[row as usize * self.width..][..self.width]
    }
}
