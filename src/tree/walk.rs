//! The way of a row through a tree. Columns and levels are found by name, once per call; then each row walks down
//! without allocating.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::{Leaf, MissingPolicy, Node, Split, Test, Threshold, Tree, Unseen};
use crate::data::dataset::MISSING;
use crate::data::{Column, Dataset, Kind, Number, Value};
use crate::error::{Error, Result, list_names};

/// A tree tied to the columns of a table.
pub(super) struct Walk<'a> {
    tree: &'a Tree,
    data: &'a Dataset,
    steps: Vec<Step<'a>>,
    /// The columns that tests use.
    readers: Vec<Reader<'a>>,
}

/// A node tied to its column.
enum Step<'a> {
    Leaf,
    /// The common case, without a detour through [`Value`].
    FloatAtMost {
        values: &'a [f64],
        threshold: f64,
        children: [u32; 2],
        split: &'a Split,
    },
    Ask {
        split: &'a Split,
        reader: usize,
    },
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
}

impl<'a> Walk<'a> {
    pub(super) fn new(tree: &'a Tree, data: &'a Dataset, rows: &Range<usize>) -> Result<Self> {
        if rows.end > data.n_rows() {
            return Err(Error::InvalidParameter {
                name: "rows",
                expected: format!("within the {} rows of the table", data.n_rows()),
                got: format!("{rows:?}"),
            });
        }
        let features = tree.features();
        let readers = features.iter().map(|&feature| reader(tree, feature, data)).collect::<Result<Vec<_>>>()?;
        let steps = tree.nodes.iter().map(|node| {
            let Node::Split(split) = node else {
                return Step::Leaf;
            };
            let reader = features.partition_point(|&feature| feature < split.test.feature());
            match (&split.test, readers[reader].column) {
                (Test::AtMost { threshold: Threshold::Float(threshold), .. }, Column::Floats(values)) => {
                    let children = [split.children[0], split.children[1]];
                    Step::FloatAtMost { values, threshold: *threshold, children, split }
                }
                _ => Step::Ask { split, reader },
            }
        });
        Ok(Walk { tree, data, steps: steps.collect(), readers })
    }

    /// Where a row ends that starts at `node`: a leaf, or a split that it leaves by several branches.
    #[inline]
    pub(super) fn descend(&self, mut node: usize, row: usize) -> Result<usize> {
        loop {
            let branch = match &self.steps[node] {
                Step::Leaf => return Ok(node),
                Step::FloatAtMost { values, threshold, children, split } => {
                    let value = values[row];
                    if !value.is_nan() {
                        node = children[usize::from(value > *threshold)] as usize;
                        continue;
                    }
                    self.without_value(split)
                }
                Step::Ask { split, reader } => {
                    let reader = &self.readers[*reader];
                    let value = reader.value(row);
                    match (split.test.branch(value), value) {
                        (None, Value::Unseen(code)) => Some(self.without_level(split, reader, code, row)?),
                        (None, _) => self.without_value(split),
                        (branch, _) => branch,
                    }
                }
            };
            match (branch, &self.tree.nodes[node]) {
                (Some(branch), Node::Split(split)) => node = split.children[branch] as usize,
                _ => return Ok(node),
            }
        }
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

    /// Calls `visit` with each leaf that a row reaches, in preorder, and the share of the row that does.
    /// `pending` is room for the work, kept by the caller between rows.
    pub(super) fn spread(
        &self,
        row: usize,
        pending: &mut Vec<(usize, f64)>,
        mut visit: impl FnMut(&Leaf, f64),
    ) -> Result<()> {
        pending.clear();
        pending.push((0, 1.0));
        while let Some((node, share)) = pending.pop() {
            match &self.tree.nodes[self.descend(node, row)?] {
                Node::Leaf(leaf) => visit(leaf, share),
                Node::Split(split) => {
                    let total: f64 = split.masses.iter().sum();
                    let branches = split.children.iter().zip(&split.masses).rev().filter(|(_, mass)| **mass > 0.0);
                    pending.extend(branches.map(|(&child, mass)| (child as usize, share * (mass / total))));
                }
            }
        }
        Ok(())
    }
}

/// Finds a feature of the tree in the table. Complexity: O(columns + levels).
fn reader<'a>(tree: &Tree, feature: u32, data: &'a Dataset) -> Result<Reader<'a>> {
    let asked = &tree.schema.features[feature as usize];
    let position = match data.schema().features.get(feature as usize) {
        Some(same) if same.name == asked.name => feature as usize,
        _ => data.schema().feature_index(&asked.name)?,
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
