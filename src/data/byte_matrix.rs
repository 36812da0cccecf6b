//! A matrix of bytes by row: the small codes of several columns of one case lie together, in one cache line where the
//! columns are few.

/// A byte for each row and column.
pub(crate) struct ByteMatrix {
    bytes: Vec<u8>,
    /// Bytes from one row to the next: a multiple of eight, so that few rows straddle two cache lines.
    width: usize,
}

impl ByteMatrix {
    /// A matrix of zeros.
    pub(crate) fn new(n_rows: usize, n_columns: usize) -> Self {
        let width = n_columns.next_multiple_of(8);
        ByteMatrix { bytes: vec![0; n_rows * width], width }
    }

    /// Writes one column. The matrix must have at least one.
    pub(crate) fn fill(&mut self, column: usize, of_rows: impl Iterator<Item = u8>) {
        self.bytes.chunks_exact_mut(self.width).zip(of_rows).for_each(|(line, byte)| line[column] = byte);
    }

    /// The bytes of one row.
    #[inline(always)]
    pub(crate) fn line(&self, row: u32) -> &[u8] {
        &self.bytes[row as usize * self.width..][..self.width]
    }
}
