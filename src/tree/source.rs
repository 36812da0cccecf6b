//! Where the cells of rows come from: a table, whose columns and levels are found by name, or an array of numbers.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::steps::BLOCK;
use super::walk::{Visit, Walk};
use super::{Tree, Unseen};
use crate::data::dataset::MISSING;
use crate::data::{Column, Dataset, Kind, Number, Value};
use crate::error::{Error, Result};

/// Rows that a tree can predict for: a [`Dataset`] or [`Numbers`].
pub trait Rows: Sync {
    /// How many there are.
    fn n_rows(&self) -> usize;

    /// Walks some of them down the tree; for this crate only.
    #[doc(hidden)]
    fn walk(&self, tree: &Tree, rows: Range<usize>, visit: &mut Visit<'_>) -> Result<()>;
}

/// The cells of a block of rows. Columns are numbered as the features that the tree uses, rows from the block's first.
pub(super) trait Source {
    /// Turns to a block of rows.
    fn turn_to(&mut self, rows: Range<usize>);

    /// A number, or a level of the tree as a number; NaN where there is neither. Integers may be rounded.
    fn cell(&self, column: u32, lane: u8) -> f64;

    /// The cell as it is, in the codes of the tree.
    fn value(&self, column: usize, lane: u8) -> Value;

    /// Whether NaN may stand for a level that is unseen.
    fn has_unseen(&self) -> bool {
        false
    }

    /// The name of an unseen level.
    fn level(&self, column: usize, code: u32) -> &str;
}

/// From this number of columns on, cells are read where they are: a row meets few of them.
const WIDE: usize = 64;

impl Rows for Dataset {
    fn n_rows(&self) -> usize {
        self.n_rows()
    }

    fn walk(&self, tree: &Tree, rows: Range<usize>, visit: &mut Visit<'_>) -> Result<()> {
        let features = &tree.steps().features;
        let readers = (0..).zip(features).map(|(rank, &feature)| reader(tree, feature, self, rank));
        let table = Table::new(readers.collect::<Result<Vec<_>>>()?);
        match features.len() < WIDE {
            true => Walk::each(tree, Block::new(table, rows.len()), rows, visit),
            false => Walk::each(tree, table, rows, visit),
        }
    }
}

/// A two-dimensional array of numbers: all columns of the tree's schema, in its order. NaN is missing.
#[derive(Debug, Clone, Copy)]
pub struct Numbers<'a, T> {
    cells: &'a [T],
    n_rows: usize,
    n_columns: usize,
    by_row: bool,
}

impl<'a, T> Numbers<'a, T> {
    /// Cells in the order of rows or, if not `by_row`, of columns.
    ///
    /// Errors: [`Error::BadLength`] if there are not `n_rows` times `n_columns`.
    pub fn new(cells: &'a [T], n_rows: usize, n_columns: usize, by_row: bool) -> Result<Self> {
        if n_rows.checked_mul(n_columns) != Some(cells.len()) {
            let what = format!("an array of {n_columns} columns and {} cells", cells.len());
            return Err(Error::BadLength { what, got: cells.len() / n_columns.max(1), expected: n_rows });
        }
        Ok(Numbers { cells, n_rows, n_columns, by_row })
    }
}

impl<T: Copy + Into<f64> + Sync> Rows for Numbers<'_, T> {
    fn n_rows(&self) -> usize {
        self.n_rows
    }

    fn walk(&self, tree: &Tree, rows: Range<usize>, visit: &mut Visit<'_>) -> Result<()> {
        let (schema, features) = (&tree.schema, &tree.steps().features);
        if self.n_columns != schema.features.len() {
            return Err(Error::InvalidParameter {
                name: "rows",
                expected: format!("an array with the {} columns of the tree's schema", schema.features.len()),
                got: format!("one with {}", self.n_columns),
            });
        }
        if let Some(other) = features.iter().map(|&f| &schema.features[f as usize]).find(|f| !is_plain(&f.kind)) {
            let (column, expected) = (other.name.clone(), kind_words(&other.kind));
            return Err(Error::WrongKind { column, expected, got: "a column of numbers".into() });
        }
        let (row, column) = if self.by_row { (self.n_columns, 1) } else { (1, self.n_rows) };
        let columns = features.iter().map(|&feature| feature as usize * column).collect();
        Walk::each(tree, Array { cells: self.cells, columns, row, first: 0 }, rows, visit)
    }
}

/// Numbers where they are.
struct Array<'a, T> {
    cells: &'a [T],
    /// Where each column begins.
    columns: Vec<usize>,
    /// From one row to the next.
    row: usize,
    /// Where the block begins.
    first: usize,
}

impl<T: Copy + Into<f64>> Source for Array<'_, T> {
    fn turn_to(&mut self, rows: Range<usize>) {
        self.first = rows.start * self.row;
    }

    #[inline(always)]
    fn cell(&self, column: u32, lane: u8) -> f64 {
        // A tree that is a single leaf asks about no column, and yet for a cell.
        let column = self.columns.get(column as usize).copied();
        column.map_or(f64::NAN, |column| self.cells[column + self.first + lane as usize * self.row].into())
    }

    fn value(&self, column: usize, lane: u8) -> Value {
        match self.cell(column as u32, lane) {
            x if x.is_nan() => Value::Missing,
            x => Value::Float(x),
        }
    }

    fn level(&self, _: usize, _: u32) -> &str {
        ""
    }
}

/// The columns of a table that a tree uses, where they are.
struct Table<'a> {
    readers: Vec<Reader<'a>>,
    rows: Range<usize>,
    has_unseen: bool,
}

impl<'a> Table<'a> {
    fn new(readers: Vec<Reader<'a>>) -> Self {
        let has_unseen = readers.iter().any(|reader| reader.levels.iter().any(|v| matches!(v, Value::Unseen(_))));
        Table { readers, rows: 0..0, has_unseen }
    }
}

impl Source for Table<'_> {
    fn turn_to(&mut self, rows: Range<usize>) {
        self.rows = rows;
    }

    #[inline(always)]
    fn cell(&self, column: u32, lane: u8) -> f64 {
        self.readers.get(column as usize).map_or(f64::NAN, |reader| reader.number(self.rows.start + lane as usize))
    }

    fn value(&self, column: usize, lane: u8) -> Value {
        self.readers[column].value(self.rows.start + lane as usize)
    }

    fn has_unseen(&self) -> bool {
        self.has_unseen
    }

    fn level(&self, column: usize, code: u32) -> &str {
        let Reader { known, column, .. } = &self.readers[column];
        match (known.get(code as usize), column) {
            (Some(level), _) => level,
            (None, Column::Levels { unseen, .. }) => &unseen[code as usize - known.len()],
            (None, _) => unreachable!("only levels are unseen"),
        }
    }
}

/// A table, with the cells of a block copied side by side: all of one type, and near each other.
struct Block<'a> {
    table: Table<'a>,
    cells: Vec<f64>,
    /// Each column has room for 2^shift rows.
    shift: u32,
}

impl<'a> Block<'a> {
    fn new(table: Table<'a>, n_rows: usize) -> Self {
        let shift = n_rows.clamp(1, BLOCK).next_power_of_two().trailing_zeros();
        Block { cells: vec![f64::NAN; table.readers.len().max(1) << shift], shift, table }
    }
}

impl Source for Block<'_> {
    fn turn_to(&mut self, rows: Range<usize>) {
        let columns = self.cells.chunks_exact_mut(1 << self.shift);
        self.table.readers.iter().zip(columns).for_each(|(reader, to)| reader.copy(rows.clone(), to));
        self.table.turn_to(rows);
    }

    #[inline(always)]
    fn cell(&self, column: u32, lane: u8) -> f64 {
        self.cells[(column as usize) << self.shift | lane as usize]
    }

    fn value(&self, column: usize, lane: u8) -> Value {
        self.table.value(column, lane)
    }

    fn has_unseen(&self) -> bool {
        self.table.has_unseen()
    }

    fn level(&self, column: usize, code: u32) -> &str {
        self.table.level(column, code)
    }
}

/// A column of the table in the codes of the tree's schema.
struct Reader<'a> {
    column: &'a Column,
    /// The levels of the table's schema.
    known: &'a [String],
    /// For each code of the table: a level of the tree's schema, or the same code as unseen, or missing where unseen
    /// levels count as that.
    levels: Vec<Value>,
}

impl Reader<'_> {
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

fn is_plain(kind: &Kind) -> bool {
    matches!(kind, Kind::Continuous(Number::Float | Number::Integer))
}

/// Finds a feature of the tree in the table, first where the table of its used columns would have it. Complexity:
/// O(columns + levels).
fn reader<'a>(tree: &Tree, feature: u32, data: &'a Dataset, rank: usize) -> Result<Reader<'a>> {
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
    Ok(Reader { column, known: given.kind.levels(), levels })
}

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

fn kind_words(kind: &Kind) -> String {
    match kind {
        Kind::Continuous(number) => match number {
            Number::Float | Number::Integer => "a column of numbers",
            Number::Date => "a column of dates",
            Number::DatetimeMs => "a column of times in milliseconds",
            Number::DatetimeUs => "a column of times in microseconds",
            Number::DatetimeNs => "a column of times in nanoseconds",
            Number::Time => "a column of times of day",
            Number::DurationMs => "a column of durations in milliseconds",
            Number::DurationUs => "a column of durations in microseconds",
            Number::DurationNs => "a column of durations in nanoseconds",
        },
        Kind::Ordinal(_) | Kind::Nominal(_) => "a column of levels",
    }
    .into()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::super::{Node, Test, Threshold, sample};
    use super::*;
    use crate::data::{Feature, Schema, Target};

    const COLUMNS: usize = 11;

    fn numbers_tree() -> Tree {
        let nodes = vec![
            sample::split(sample::below(1, 0.5), &[1, 4], &[1.0, 2.0], 0),
            sample::split(sample::below(0, -3.0), &[2, 3], &[1.0, 0.0], 1),
            sample::leaf(0),
            sample::leaf(1),
            sample::split(sample::below(1, 7.0), &[5, 6], &[1.0, 1.0], 1),
            sample::leaf(2),
            sample::leaf(0),
        ];
        Tree::new(sample::schema(), sample::DEFAULT, nodes).unwrap()
    }

    proptest! {
        /// An array, in either order, is read as the table of its columns is; so is a part of it.
        #[test]
        fn arrays_are_read_like_tables(cells in prop::collection::vec(any::<i8>(), 0..600 * COLUMNS), start in 0..300usize) {
            let n_rows = cells.len() / COLUMNS;
            let start = start.min(n_rows);
            let cell = |row: usize, column: usize| match cells[row * COLUMNS + column] {
                i8::MIN => f32::NAN,
                x => f32::from(x) / 8.0,
            };
            let by_row: Vec<f32> = (0..n_rows * COLUMNS).map(|i| cell(i / COLUMNS, i % COLUMNS)).collect();
            let by_column: Vec<f32> = (0..n_rows * COLUMNS).map(|i| cell(i % n_rows, i / n_rows)).collect();
            let tree = numbers_tree();
            let features = tree.schema().features[..2].to_vec();
            let column = |column| Column::Floats((0..n_rows).map(|row| f64::from(cell(row, column))).collect());
            let schema = Arc::new(Schema { features, target: None });
            let table = Dataset::new(schema, vec![column(0), column(1)], n_rows, Target::None, None, None).unwrap();
            let expected = tree.apply(&table, start..n_rows).unwrap();
            for (cells, in_rows) in [(&by_row, true), (&by_column, false)] {
                let array = Numbers::new(cells, n_rows, COLUMNS, in_rows).unwrap();
                prop_assert_eq!(&tree.apply(&array, start..n_rows).unwrap(), &expected);
            }
        }
    }

    /// Columns of every kind, more than are copied side by side.
    #[test]
    fn wide_tables_are_read_where_they_are() {
        let tree = |copies: usize| {
            let base = sample::schema();
            let mut schema = (*base).clone();
            schema.features.clear();
            for copy in 0..copies {
                for feature in &base.features[..5] {
                    schema.features.push(Feature { name: format!("{} {copy}", feature.name), ..feature.clone() });
                }
            }
            // A list of tests: a column each, missing values and unseen levels to the next one.
            let mut nodes = Vec::new();
            for i in 0..schema.features.len() as u32 {
                let test = match i % 5 {
                    0 | 1 => sample::below(i, f64::from(i % 7) - 3.0),
                    2 => Test::Is { feature: i, level: i % 3 },
                    3 => Test::AtMost { feature: i, threshold: Threshold::Level(0) },
                    _ => Test::AtMost { feature: i, threshold: Threshold::Integer(-2) },
                };
                nodes.push(sample::split(test, &[2 * i + 1, 2 * i + 2], &[1.0, 2.0], 1));
                nodes.push(sample::leaf(i % 3));
            }
            nodes.push(sample::leaf(0));
            Tree::new(Arc::new(schema), sample::DEFAULT, nodes).unwrap()
        };
        let data = |tree: &Tree| {
            let bits = |row: usize, column: usize| crate::bits::mix((row * 1000 + column) as u64);
            let number = |row, column| bits(row, column) as f64 / u64::MAX as f64 * 100.0 - 3.0;
            let columns = tree.schema().features.iter().enumerate().map(|(j, feature)| match &feature.kind {
                Kind::Continuous(Number::Float) => Column::Floats(
                    (0..300).map(|row| if bits(row, j) % 9 == 0 { f64::NAN } else { number(row, j) }).collect(),
                ),
                Kind::Continuous(_) => Column::Integers {
                    values: (0..300).map(|row| number(row, j) as i64).collect(),
                    missing: Some((0..300).map(|row| bits(row, j) % 9 == 0).collect()),
                },
                _ => Column::Levels {
                    codes: (0..300).map(|row| [MISSING, 0, 1, 2, 3][bits(row, j) as usize % 5]).collect(),
                    unseen: vec!["new".into()],
                },
            });
            let schema = Schema { target: None, ..(**tree.schema()).clone() };
            Dataset::new(Arc::new(schema), columns.collect(), 300, Target::None, None, None).unwrap()
        };
        for copies in [2, 20] {
            let tree = tree(copies);
            assert_eq!(tree.features().len() >= WIDE, copies == 20);
            let data = data(&tree);
            let by_tests = |row: usize| {
                let mut node = 0;
                while let Node::Split(split) = &tree.nodes()[node] {
                    let value = data.columns()[split.test.feature() as usize].value(row, 3);
                    node = split.children[split.test.branch(value).unwrap_or(1)] as usize;
                }
                node as u32
            };
            assert_eq!(tree.apply(&data, 0..300).unwrap(), (0..300).map(by_tests).collect::<Vec<_>>());
        }
    }

    #[test]
    fn arrays_that_do_not_fit() {
        assert!(matches!(Numbers::new(&[0.0f32; 5], 2, 3, true), Err(Error::BadLength { .. })));
        let narrow = Numbers::new(&[0.0f32; 6], 2, 3, true).unwrap();
        let text = numbers_tree().apply(&narrow, 0..2).unwrap_err().to_string();
        assert_eq!(text, "`rows` must be an array with the 11 columns of the tree's schema, got one with 3");
        let is = Test::Is { feature: sample::COLOR, level: 0 };
        let tree = Tree::new(sample::schema(), sample::DEFAULT, sample::stump(is, 2)).unwrap();
        let cells = [0.0f32; COLUMNS];
        let array = Numbers::new(&cells, 1, COLUMNS, true).unwrap();
        assert!(matches!(tree.apply(&array, 0..1), Err(Error::WrongKind { column, .. }) if column == "color"));
        assert!(matches!(numbers_tree().apply(&array, 0..2), Err(Error::InvalidParameter { name: "rows", .. })));
    }
}
