//! Rows that a tree can predict for: those of a table, whose columns and levels are found by name, or of an array of
//! numbers.

use std::ops::Range;

use super::cells::{ArrayCells, CopiedCells, TableCells, is_plain, kind_words};
use super::walk::{RowVisitor, Walk};
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::tree::Tree;

/// Rows that a tree can predict for: a [`Dataset`] or [`NumberArray`].
pub trait Rows: Sync {
    /// The number of rows.
    fn n_rows(&self) -> usize;

    /// Walks some of the rows down the tree; for this crate only.
    #[doc(hidden)]
    fn walk(&self, tree: &Tree, rows: Range<usize>, visit: &mut RowVisitor<'_>) -> Result<()>;
}

/// From this number of columns on, cells are read in place: a row meets few of them.
const WIDE: usize = 64;

impl Rows for Dataset {
    fn n_rows(&self) -> usize {
        self.n_rows()
    }

    fn walk(&self, tree: &Tree, rows: Range<usize>, visit: &mut RowVisitor<'_>) -> Result<()> {
        let table = TableCells::new(tree, self)?;
        match tree.compiled().features.len() < WIDE {
            true => Walk::each(tree, CopiedCells::new(table, rows.len()), rows, visit),
            false => Walk::each(tree, table, rows, visit),
        }
    }
}

/// A two-dimensional array of numbers: all columns of the tree's schema, in its order. NaN is missing.
#[derive(Debug, Clone, Copy)]
pub struct NumberArray<'a, T> {
    cells: &'a [T],
    n_rows: usize,
    n_columns: usize,
    by_row: bool,
}

impl<'a, T> NumberArray<'a, T> {
    /// Cells in the order of rows or, if not `by_row`, of columns.
    ///
    /// Errors: [`Error::BadLength`] if there are not `n_rows` times `n_columns`.
    pub fn new(cells: &'a [T], n_rows: usize, n_columns: usize, by_row: bool) -> Result<Self> {
        if n_rows.checked_mul(n_columns) != Some(cells.len()) {
            let what = format!("an array of {n_columns} columns and {} cells", cells.len());
            return Err(Error::BadLength { what, got: cells.len() / n_columns.max(1), expected: n_rows });
        }
        Ok(NumberArray { cells, n_rows, n_columns, by_row })
    }
}

impl<T: Copy + Into<f64> + Sync> Rows for NumberArray<'_, T> {
    fn n_rows(&self) -> usize {
        self.n_rows
    }

    fn walk(&self, tree: &Tree, rows: Range<usize>, visit: &mut RowVisitor<'_>) -> Result<()> {
        let (schema, features) = (&tree.schema, &tree.compiled().features);
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
        let (row_stride, column_stride) = if self.by_row { (self.n_columns, 1) } else { (1, self.n_rows) };
        let columns = features.iter().map(|&feature| feature as usize * column_stride).collect();
        Walk::each(tree, ArrayCells::new(self.cells, columns, row_stride), rows, visit)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::data::dataset::MISSING;
    use crate::data::{Column, Feature, Kind, NumericType, Schema, Target};
    use crate::tree::{Node, Test, Threshold, fixtures};

    const COLUMNS: usize = 11;

    fn numbers_tree() -> Tree {
        let nodes = vec![
            fixtures::split(fixtures::below(1, 0.5), &[1, 4], &[1.0, 2.0], 0),
            fixtures::split(fixtures::below(0, -3.0), &[2, 3], &[1.0, 0.0], 1),
            fixtures::leaf(0),
            fixtures::leaf(1),
            fixtures::split(fixtures::below(1, 7.0), &[5, 6], &[1.0, 1.0], 1),
            fixtures::leaf(2),
            fixtures::leaf(0),
        ];
        Tree::new(fixtures::schema(), fixtures::DEFAULT, nodes).unwrap()
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
                let array = NumberArray::new(cells, n_rows, COLUMNS, in_rows).unwrap();
                prop_assert_eq!(&tree.apply(&array, start..n_rows).unwrap(), &expected);
            }
        }
    }

    /// Columns of every kind, more than are copied side by side.
    #[test]
    fn wide_tables_are_read_where_they_are() {
        let tree = |copies: usize| {
            let base = fixtures::schema();
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
                    0 | 1 => fixtures::below(i, f64::from(i % 7) - 3.0),
                    2 => Test::Is { feature: i, level: i % 3 },
                    3 => Test::AtMost { feature: i, threshold: Threshold::Level(0) },
                    _ => Test::AtMost { feature: i, threshold: Threshold::Integer(-2) },
                };
                nodes.push(fixtures::split(test, &[2 * i + 1, 2 * i + 2], &[1.0, 2.0], 1));
                nodes.push(fixtures::leaf(i % 3));
            }
            nodes.push(fixtures::leaf(0));
            Tree::new(Arc::new(schema), fixtures::DEFAULT, nodes).unwrap()
        };
        let data = |tree: &Tree| {
            let bits = |row: usize, column: usize| crate::bits::mix((row * 1000 + column) as u64);
            let number = |row, column| bits(row, column) as f64 / u64::MAX as f64 * 100.0 - 3.0;
            let columns = tree.schema().features.iter().enumerate().map(|(j, feature)| match &feature.kind {
                Kind::Continuous(NumericType::Float) => Column::Floats(
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
        assert!(matches!(NumberArray::new(&[0.0f32; 5], 2, 3, true), Err(Error::BadLength { .. })));
        let narrow = NumberArray::new(&[0.0f32; 6], 2, 3, true).unwrap();
        let text = numbers_tree().apply(&narrow, 0..2).unwrap_err().to_string();
        assert_eq!(text, "`rows` must be an array with the 11 columns of the tree's schema, got one with 3");
        let is = Test::Is { feature: fixtures::COLOR, level: 0 };
        let tree = Tree::new(fixtures::schema(), fixtures::DEFAULT, fixtures::stump(is, 2)).unwrap();
        let cells = [0.0f32; COLUMNS];
        let array = NumberArray::new(&cells, 1, COLUMNS, true).unwrap();
        assert!(matches!(tree.apply(&array, 0..1), Err(Error::WrongKind { column, .. }) if column == "color"));
        assert!(matches!(numbers_tree().apply(&array, 0..2), Err(Error::InvalidParameter { name: "rows", .. })));
    }
}
