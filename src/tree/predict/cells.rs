//! The cells of a block of rows, from a table or an array, in the codes of the tree.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::BLOCK;
use crate::data::dataset::MISSING;
use crate::data::{Column, Dataset, Kind, NumericType, Value};
use crate::error::{Error, Result};
use crate::tree::{Tree, Unseen};

/// The cells of a block of rows. Columns are numbered by their place among the features that the tree uses, rows from
/// the first of the block.
pub(super) trait CellSource {
    /// Moves on to another block of rows.
    fn turn_to(&mut self, rows: Range<usize>);

    /// A number, or the code of a level of the tree as a number; NaN where there is neither. Integers may be rounded.
    fn cell(&self, column: u32, row: u8) -> f64;

    /// The cell as it is, in the codes of the tree.
    fn value(&self, column: usize, row: u8) -> Value;

    /// Whether NaN may stand for a level that is unseen.
    fn has_unseen(&self) -> bool {
        false
    }

    /// The name of an unseen level.
    fn level(&self, column: usize, code: u32) -> &str;
}

/// The cells of an array of numbers, read in place.
pub(super) struct ArrayCells<'a, T> {
    cells: &'a [T],
    /// Where each column begins.
    columns: Vec<usize>,
    /// From one row to the next.
    stride: usize,
    /// Where the block begins.
    first: usize,
}

impl<'a, T> ArrayCells<'a, T> {
    /// Cells of which each of `columns` begins at the place given and has its rows `stride` apart.
    pub(super) fn new(cells: &'a [T], columns: Vec<usize>, stride: usize) -> Self {
        ArrayCells { cells, columns, stride, first: 0 }
    }
}

impl<T: Copy + Into<f64>> CellSource for ArrayCells<'_, T> {
    fn turn_to(&mut self, rows: Range<usize>) {
        self.first = rows.start * self.stride;
    }

    #[inline(always)]
    fn cell(&self, column: u32, row: u8) -> f64 {
        // A leaf reads a cell, too, even if the tree uses no column.
        let column = self.columns.get(column as usize).copied();
        column.map_or(f64::NAN, |column| self.cells[column + self.first + row as usize * self.stride].into())
    }

    fn value(&self, column: usize, row: u8) -> Value {
        match self.cell(column as u32, row) {
            x if x.is_nan() => Value::Missing,
            x => Value::Float(x),
        }
    }

    fn level(&self, _: usize, _: u32) -> &str {
        ""
    }
}

/// The cells of the columns of a table that a tree uses, read in place.
pub(super) struct TableCells<'a> {
    readers: Vec<ColumnReader<'a>>,
    rows: Range<usize>,
    has_unseen: bool,
}

impl<'a> TableCells<'a> {
    /// Finds the columns that the tree uses, by name, and their levels, by name.
    ///
    /// Errors: a column is missing or of another kind. Complexity: O(columns + levels).
    pub(super) fn new(tree: &Tree, data: &'a Dataset) -> Result<Self> {
        let features = (0..).zip(&tree.compiled().features);
        let readers = features.map(|(rank, &feature)| ColumnReader::new(tree, feature, data, rank));
        let readers: Vec<ColumnReader> = readers.collect::<Result<_>>()?;
        let has_unseen = readers.iter().any(|reader| reader.levels.iter().any(|v| matches!(v, Value::Unseen(_))));
        Ok(TableCells { readers, rows: 0..0, has_unseen })
    }
}

impl CellSource for TableCells<'_> {
    fn turn_to(&mut self, rows: Range<usize>) {
        self.rows = rows;
    }

    #[inline(always)]
    fn cell(&self, column: u32, row: u8) -> f64 {
        self.readers.get(column as usize).map_or(f64::NAN, |reader| reader.number(self.rows.start + row as usize))
    }

    fn value(&self, column: usize, row: u8) -> Value {
        self.readers[column].value(self.rows.start + row as usize)
    }

    fn has_unseen(&self) -> bool {
        self.has_unseen
    }

    fn level(&self, column: usize, code: u32) -> &str {
        let ColumnReader { known, column, .. } = &self.readers[column];
        match (known.get(code as usize), column) {
            (Some(level), _) => level,
            (None, Column::Levels { unseen, .. }) => &unseen[code as usize - known.len()],
            (None, _) => unreachable!("only levels are unseen"),
        }
    }
}

/// The cells of a table, copied block by block into one array of floats.
pub(super) struct CopiedCells<'a> {
    table: TableCells<'a>,
    cells: Vec<f64>,
    /// Each column takes 2^shift places.
    shift: u32,
}

impl<'a> CopiedCells<'a> {
    /// `n_rows` is how many rows there are in all.
    pub(super) fn new(table: TableCells<'a>, n_rows: usize) -> Self {
        let shift = n_rows.clamp(1, BLOCK).next_power_of_two().trailing_zeros();
        CopiedCells { cells: vec![f64::NAN; table.readers.len().max(1) << shift], shift, table }
    }
}

impl CellSource for CopiedCells<'_> {
    fn turn_to(&mut self, rows: Range<usize>) {
        let columns = self.cells.chunks_exact_mut(1 << self.shift);
        self.table.readers.iter().zip(columns).for_each(|(reader, to)| reader.copy(rows.clone(), to));
        self.table.turn_to(rows);
    }

    #[inline(always)]
    fn cell(&self, column: u32, row: u8) -> f64 {
        self.cells[(column as usize) << self.shift | row as usize]
    }

    fn value(&self, column: usize, row: u8) -> Value {
        self.table.value(column, row)
    }

    fn has_unseen(&self) -> bool {
        self.table.has_unseen()
    }

    fn level(&self, column: usize, code: u32) -> &str {
        self.table.level(column, code)
    }
}

/// Reads a column of the table in the codes of the tree's schema.
struct ColumnReader<'a> {
    column: &'a Column,
    /// The levels of the table's schema.
    known: &'a [String],
    /// For each code of the table: a level of the tree's schema or, of a level unseen there, the same code as unseen,
    /// or missing under [`Unseen::Missing`].
    levels: Vec<Value>,
}

impl<'a> ColumnReader<'a> {
    /// Finds a feature of the tree in the table. It is looked for first where it is in the tree's schema, and at place
    /// `rank`, where a table of just the features used has it.
    fn new(tree: &Tree, feature: u32, data: &'a Dataset, rank: usize) -> Result<Self> {
        let asked = &tree.schema.features[feature as usize];
        let is_at = |&place: &usize| data.schema().features.get(place).is_some_and(|there| there.name == asked.name);
        let position = match [feature as usize, rank].into_iter().find(is_at) {
            Some(place) => place,
            None => data.schema().feature_index(&asked.name)?,
        };
        let given = &data.schema().features[position];
        let column = &*data.columns()[position];
        let levels = match (&asked.kind, &given.kind, column) {
            // Dates and times count in units of their own.
            (a @ Kind::Continuous(_), b, _) if a == b || (is_plain(a) && is_plain(b)) => Vec::new(),
            (
                Kind::Ordinal(to) | Kind::Nominal(to),
                Kind::Ordinal(from) | Kind::Nominal(from),
                Column::Levels { unseen, .. },
            ) => level_values(to, from, unseen, tree.policies.unseen),
            (asked_kind, given_kind, _) => {
                return Err(Error::WrongKind {
                    column: asked.name.clone(),
                    expected: kind_words(asked_kind),
                    got: kind_words(given_kind),
                });
            }
        };
        Ok(ColumnReader { column, known: given.kind.levels(), levels })
    }

    #[inline]
    fn value(&self, row: usize) -> Value {
        match self.column {
            Column::Levels { codes, .. } => match codes[row] {
                MISSING => Value::Missing,
                code => self.levels[code as usize],
            },
            numbers => numbers.value(row, 0),
        }
    }

    #[inline]
    fn number(&self, row: usize) -> f64 {
        match self.column {
            Column::Floats(values) => values[row],
            _ => match self.value(row) {
                Value::Level(code) => f64::from(code),
                Value::Integer(value) => value as f64,
                _ => f64::NAN,
            },
        }
    }

    fn copy(&self, rows: Range<usize>, to: &mut [f64]) {
        match self.column {
            Column::Floats(values) => to[..rows.len()].copy_from_slice(&values[rows]),
            Column::Integers { values, missing: None } => {
                to.iter_mut().zip(&values[rows]).for_each(|(to, &value)| *to = value as f64);
            }
            _ => to.iter_mut().zip(rows).for_each(|(to, row)| *to = self.number(row)),
        }
    }
}

/// The levels `from`, and those `unseen`, as levels of `to`.
fn level_values(to: &[String], from: &[String], unseen: &[String], policy: Unseen) -> Vec<Value> {
    if to == from && unseen.is_empty() {
        return (0..to.len() as u32).map(Value::Level).collect();
    }
    let codes: FxHashMap<&str, u32> = to.iter().map(String::as_str).zip(0..).collect();
    let value = |(level, code): (&String, u32)| match codes.get(level.as_str()) {
        Some(&known) => Value::Level(known),
        None if policy == Unseen::Missing => Value::Missing,
        None => Value::Unseen(code),
    };
    from.iter().chain(unseen).zip(0..).map(value).collect()
}

/// Whether a column holds plain numbers: no dates, times or durations.
pub(super) fn is_plain(kind: &Kind) -> bool {
    matches!(kind, Kind::Continuous(NumericType::Float | NumericType::Integer))
}

/// What a column of this kind holds, for an error text.
pub(super) fn kind_words(kind: &Kind) -> String {
    match kind {
        Kind::Continuous(number) => match number {
            NumericType::Float | NumericType::Integer => "a column of numbers",
            NumericType::Date => "a column of dates",
            NumericType::DatetimeMs => "a column of times in milliseconds",
            NumericType::DatetimeUs => "a column of times in microseconds",
            NumericType::DatetimeNs => "a column of times in nanoseconds",
            NumericType::Time => "a column of times of day",
            NumericType::DurationMs => "a column of durations in milliseconds",
            NumericType::DurationUs => "a column of durations in microseconds",
            NumericType::DurationNs => "a column of durations in nanoseconds",
        },
        Kind::Ordinal(_) | Kind::Nominal(_) => "a column of levels",
    }
    .into()
}
