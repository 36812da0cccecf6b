//! Codes of narrow columns, a byte each, case by case: what is asked of one case lies together in memory.

use super::types::MISSING;
use crate::data::ByteMatrix;

/// The codes of the narrow columns of a table.
pub(crate) struct ByteCodes {
    /// Per column; `None` if it is wide.
    columns: Vec<Option<ByteColumn>>,
    /// Per case and narrow column: the code; one more than the greatest code without a value.
    codes: ByteMatrix,
}

/// A narrow column, and its bins in a histogram of all narrow columns: one for each code, and one for missing values.
#[derive(Debug, Clone, Copy)]
pub(super) struct ByteColumn {
    /// The index among the narrow columns.
    pub index: usize,
    /// The first bin.
    pub start: usize,
    pub n_codes: usize,
}

impl ByteCodes {
    /// Narrow columns have at most this many codes.
    const MOST_CODES: u32 = u8::MAX as u32;
    /// The histogram has at most this many bins.
    pub(super) const MOST_BINS: usize = 2048;
    /// The bins of a column start at a multiple of this number.
    pub(super) const GROUP: usize = 8;

    /// Treats every column as wide, for lack of memory.
    pub fn none(n_columns: usize) -> Self {
        ByteCodes { columns: vec![None; n_columns], codes: ByteMatrix::new(0, 0) }
    }

    /// Bytes for columns with these numbers of codes.
    pub fn bytes(n_codes: impl Iterator<Item = u32>, n_cases: usize) -> u64 {
        let n_narrow = Self::narrow(n_codes).iter().flatten().count();
        (n_cases * n_narrow.next_multiple_of(8)) as u64
    }

    fn narrow(n_codes: impl Iterator<Item = u32>) -> Vec<Option<ByteColumn>> {
        let (mut start, mut n_narrow) = (0, 0);
        n_codes
            .map(|n_codes| {
                let end = start + (n_codes as usize + 1).next_multiple_of(Self::GROUP);
                let column = ByteColumn { index: n_narrow, start, n_codes: n_codes as usize };
                (n_codes <= Self::MOST_CODES && end <= Self::MOST_BINS).then(|| {
                    (start, n_narrow) = (end, n_narrow + 1);
                    column
                })
            })
            .collect()
    }

    /// Copies the codes of narrow columns. `n_codes`: per column; `codes_of`: the codes of a column, case by case.
    ///
    /// Complexity: O(cases x narrow columns).
    pub fn new<'c>(n_codes: impl Iterator<Item = u32>, n_cases: usize, codes_of: impl Fn(usize) -> &'c [u32]) -> Self {
        let columns = Self::narrow(n_codes);
        let n_narrow = columns.iter().flatten().count();
        let mut codes = ByteMatrix::new(n_cases, n_narrow);
        for (column, narrow) in columns.iter().enumerate() {
            if let Some(ByteColumn { index, n_codes, .. }) = *narrow {
                codes.fill(index, codes_of(column).iter().map(|&code| code.min(n_codes as u32) as u8));
            }
        }
        ByteCodes { columns, codes }
    }

    /// The codes of some cases in a column.
    pub(super) fn codes_of(&self, column: ByteColumn, cases: &[u32]) -> impl Iterator<Item = u32> {
        let missing = column.n_codes as u32;
        cases.iter().map(move |&case| match u32::from(self.codes.line(case)[column.index]) {
            code if code == missing => MISSING,
            code => code,
        })
    }

    /// The codes of a case in all narrow columns.
    #[inline(always)]
    pub(super) fn codes_of_case(&self, case: u32) -> &[u8] {
        self.codes.line(case)
    }

    /// A column, if it is narrow.
    pub(super) fn column(&self, column: usize) -> Option<ByteColumn> {
        self.columns[column]
    }
}
