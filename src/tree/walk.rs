//! The way of a row through a tree. Columns and levels are found by name, once per call; then blocks of rows walk down
//! by [`Steps`], and what those leave open is decided here, by the tests themselves.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::steps::{BLOCK, Cells, Lanes, Steps};
use super::{Leaf, MissingPolicy, Node, Split, Tree, Unseen};
use crate::data::dataset::MISSING;
use crate::data::{Column, Dataset, Kind, Number, Value};
use crate::error::{Error, Result, list_names};

/// A tree tied to the columns of a table, and to a block of its rows.
pub(super) struct Walk<'a> {
    tree: &'a Tree,
    data: &'a Dataset,
    steps: &'a Steps,
    /// The columns that tests use.
    readers: Vec<Reader<'a>>,
    cells: Cells,
    /// The rows of the block.
    rows: Range<usize>,
    /// Room for the work of [`Walk::spread`].
    pending: Vec<(u32, f64)>,
}

/// A column of the table in the codes of the tree's schema.
struct Reader<'a> {
    column: &'a Column,
    /// The column's position in the table.
    position: usize,
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

    /// The cells of some rows as [`Cells`] has them.
    fn read(&self, rows: Range<usize>, to: &mut [f64]) {
        match self.column {
            Column::Floats(values) => to[..rows.len()].copy_from_slice(&values[rows]),
            Column::Integers { values, missing: None } => {
                to.iter_mut().zip(&values[rows]).for_each(|(to, &value)| *to = value as f64);
            }
            _ => to.iter_mut().zip(rows).for_each(|(to, row)| {
                *to = match self.value(row) {
                    Value::Level(code) => f64::from(code),
                    Value::Integer(value) => value as f64,
                    _ => f64::NAN,
                }
            }),
        }
    }
}

impl<'a> Walk<'a> {
    /// Calls `visit` for each row, in order, with its place in the walk's block and the node where it ends: a leaf, or a
    /// split that it leaves by several branches.
    pub(super) fn each(
        tree: &'a Tree,
        data: &'a Dataset,
        rows: Range<usize>,
        mut visit: impl FnMut(&mut Self, u8, u32) -> Result<()>,
    ) -> Result<()> {
        if rows.end > data.n_rows() {
            return Err(Error::InvalidParameter {
                name: "rows",
                expected: format!("within the {} rows of the table", data.n_rows()),
                got: format!("{rows:?}"),
            });
        }
        let steps = tree.steps();
        let readers = (0..).zip(&steps.features).map(|(rank, &feature)| reader(tree, feature, data, rank));
        let readers = readers.collect::<Result<Vec<_>>>()?;
        let mut cells = Cells::new(readers.len(), rows.len());
        cells.unseen = readers.iter().any(|reader| reader.levels.iter().any(|v| matches!(v, Value::Unseen(_))));
        let mut walk = Walk { tree, data, steps, readers, cells, rows: 0..0, pending: Vec::new() };
        for start in rows.clone().step_by(BLOCK) {
            let (nodes, mut failed) = walk.block(start..rows.end.min(start + BLOCK));
            for lane in 0..walk.rows.len() {
                match &mut failed {
                    Some((at, error)) if *at == lane => return Err(error.clone()),
                    _ => visit(&mut walk, lane as u8, nodes[lane])?,
                }
            }
        }
        Ok(())
    }

    /// Where the rows of the next block end, and the first that does not.
    fn block(&mut self, rows: Range<usize>) -> ([u32; BLOCK], Option<(usize, Error)>) {
        self.rows = rows.clone();
        self.readers.iter().zip(self.cells.columns()).for_each(|(reader, to)| reader.read(rows.clone(), to));
        let mut lanes = Lanes::new(rows.len());
        let mut open: Vec<u8> = (0..rows.len()).map(|lane| lane as u8).collect();
        let mut failed: Option<(usize, Error)> = None;
        while lanes.is_moving() {
            self.steps.run(&self.cells, &mut lanes);
            open.retain(|&lane| match self.leave(lanes.nodes[lane as usize], lane) {
                Ok(Some(child)) => {
                    lanes.resume(lane, child);
                    true
                }
                Ok(None) => false,
                Err(error) => {
                    if failed.as_ref().is_none_or(|(first, _)| (lane as usize) < *first) {
                        failed = Some((lane as usize, error));
                    }
                    false
                }
            });
        }
        (lanes.nodes, failed)
    }

    /// The child that a row goes to from a node where it stopped; `None` at a leaf, and where there are several.
    fn leave(&self, node: u32, lane: u8) -> Result<Option<u32>> {
        if self.steps.leaf(node).is_some() {
            return Ok(None);
        }
        let Node::Split(split) = &self.tree.nodes[node as usize] else { return Ok(None) };
        let rank = self.steps.features.partition_point(|&feature| feature < split.test.feature());
        let (reader, row) = (&self.readers[rank], self.rows.start + lane as usize);
        let value = reader.value(row);
        let branch = match (split.test.branch(value), value) {
            (None, Value::Unseen(code)) => Some(self.without_level(split, reader, code, row)?),
            (None, _) => self.without_value(split),
            (branch, _) => branch,
        };
        Ok(branch.map(|branch| split.children[branch]))
    }

    /// Where a row ends that starts at `node`.
    pub(super) fn descend(&self, mut node: u32, lane: u8) -> Result<u32> {
        loop {
            node = self.steps.descend(node, &self.cells, lane);
            match self.leave(node, lane)? {
                Some(child) => node = child,
                None => return Ok(node),
            }
        }
    }

    /// The class of the leaf at `node`; `None` if it is a split.
    #[inline]
    pub(super) fn label(&self, node: u32) -> Option<u32> {
        self.steps.leaf(node)
    }

    /// The branch of a missing value; `None` for all of them. With no mass to share by, it is the default.
    #[cold]
    fn without_value(&self, split: &Split) -> Option<usize> {
        match self.tree.policies.missing {
            MissingPolicy::Fractional if split.masses.iter().any(|&mass| mass > 0.0) => None,
            _ => Some(split.default as usize),
        }
    }

    /// The branch of an unseen level; [`Unseen::Missing`] was settled in the reader.
    #[cold]
    fn without_level(&self, split: &Split, reader: &Reader, code: u32, row: usize) -> Result<usize> {
        if self.tree.policies.unseen != Unseen::Error {
            return Ok(split.heaviest());
        }
        let feature = &self.tree.schema.features[split.test.feature() as usize];
        let known = self.data.schema().features[reader.position].kind.levels();
        let level = match (known.get(code as usize), reader.column) {
            (Some(level), _) => level.clone(),
            (None, Column::Levels { unseen, .. }) => unseen[code as usize - known.len()].clone(),
            (None, _) => unreachable!("only levels are unseen"),
        };
        Err(Error::UnseenLevel { column: feature.name.clone(), row, level, known: list_names(feature.kind.levels()) })
    }

    /// Calls `visit` with each leaf that a row reaches from `node`, in preorder, and the share of the row that does.
    pub(super) fn spread(&mut self, node: u32, lane: u8, mut visit: impl FnMut(&Leaf, f64)) -> Result<()> {
        if let Node::Leaf(leaf) = &self.tree.nodes[node as usize] {
            visit(leaf, 1.0);
            return Ok(());
        }
        let mut pending = std::mem::take(&mut self.pending);
        pending.clear();
        pending.push((node, 1.0));
        while let Some((node, share)) = pending.pop() {
            match &self.tree.nodes[self.descend(node, lane)? as usize] {
                Node::Leaf(leaf) => visit(leaf, share),
                Node::Split(split) => {
                    let total: f64 = split.masses.iter().sum();
                    let branches = split.children.iter().zip(&split.masses).rev().filter(|(_, mass)| **mass > 0.0);
                    pending.extend(branches.map(|(&child, mass)| (child, share * (mass / total))));
                }
            }
        }
        self.pending = pending;
        Ok(())
    }
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
    let plain = |number: &Number| matches!(number, Number::Float | Number::Integer);
    let levels = match (&asked.kind, &given.kind, column) {
        // Dates and times count in units of their own.
        (Kind::Continuous(a), Kind::Continuous(b), _) if a == b || (plain(a) && plain(b)) => Vec::new(),
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
    Ok(Reader { column, position, levels })
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
        },
        Kind::Ordinal(_) | Kind::Nominal(_) => "a column of levels",
    }
    .into()
}
