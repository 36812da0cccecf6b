//! The values of held-out cases in one column, as codes.

use std::cmp::Ordering;
use std::sync::OnceLock;

use crate::data::dataset::MISSING;
use crate::data::{Column, Dataset, Kind, Value};
use crate::error::{Error, Result, list_names};
use crate::greedy::engine::TrainingColumn;
use crate::tree::{Threshold, Unseen};

/// The code of a level that no tree knows.
pub(super) const UNSEEN: u32 = MISSING - 1;
/// Codes below it fit into a byte, beside the last bytes of [`UNSEEN`] and [`MISSING`].
pub(super) const NARROW: u32 = UNSEEN & 0xff;

/// One column of the held-out cases.
pub(super) struct HoldoutColumn {
    /// Per case: the rank of its value among `values`, or its level; [`MISSING`] or [`UNSEEN`].
    pub codes: Vec<u32>,
    /// Its position among the columns of few codes.
    pub narrow: Option<usize>,
    /// The values that occur, ascending; empty for nominal columns.
    pub values: Vec<Value>,
    /// Per value of the building cases: how many of `values` are less, and how many at most as great.
    n_up_to: OnceLock<Vec<[u32; 2]>>,
}

impl HoldoutColumn {
    /// Codes a column for the cases at these rows.
    pub fn new(data: &Dataset, index: usize, rows: &[usize], unseen: Unseen) -> Result<Self> {
        let (feature, column) = (&data.schema().features[index], &*data.columns()[index]);
        let levels = feature.kind.levels();
        let values: Vec<Value> = rows.iter().map(|&row| column.value(row, levels.len() as u32)).collect();
        let (codes, values) = match column {
            Column::Levels { unseen: names, .. } => {
                let code = |(value, &row): (Value, &usize)| match (value, unseen) {
                    (Value::Level(level), _) => Ok(level),
                    (Value::Unseen(_), Unseen::Majority) => Ok(UNSEEN),
                    (Value::Unseen(code), Unseen::Error) => Err(Error::UnseenLevel {
                        column: feature.name.clone(),
                        row,
                        level: names[code as usize].clone(),
                        known: list_names(levels),
                    }),
                    _ => Ok(MISSING),
                };
                let codes = values.into_iter().zip(rows).map(code).collect::<Result<_>>()?;
                let n_ordered = if matches!(feature.kind, Kind::Ordinal(_)) { levels.len() as u32 } else { 0 };
                (codes, (0..n_ordered).map(Value::Level).collect())
            }
            _ => ranks(&values),
        };
        Ok(HoldoutColumn { codes, narrow: None, values, n_up_to: OnceLock::new() })
    }

    /// Whether all codes fit into a byte.
    pub fn is_narrow(&self) -> bool {
        self.codes.iter().all(|&code| !(NARROW..UNSEEN).contains(&code))
    }

    /// Per value of the building cases: how many of `values` are less, and how many at most as great.
    pub fn n_up_to(&self, coded: &TrainingColumn) -> &[[u32; 2]] {
        self.n_up_to.get_or_init(|| {
            let mut n = 0;
            let n_up_to = |code: u32| {
                let value = coded.value(code);
                n += self.values[n..].iter().take_while(|&&other| value.at_least(other) == Some(true)).count();
                let occurs = n > 0 && is_same(value, self.values[n - 1]);
                [(n - usize::from(occurs)) as u32, n as u32]
            };
            (0..coded.n_codes - u32::from(coded.own.is_some())).map(n_up_to).collect()
        })
    }
}

/// The rank of each value among those that occur, and these, ascending. Missing values get [`MISSING`].
fn ranks(values: &[Value]) -> (Vec<u32>, Vec<Value>) {
    let mut order: Vec<usize> = (0..values.len()).filter(|&case| values[case] != Value::Missing).collect();
    order.sort_unstable_by(|&a, &b| compare(values[a], values[b]));
    let mut codes = vec![MISSING; values.len()];
    let mut distinct: Vec<Value> = Vec::new();
    for case in order {
        if distinct.last().is_none_or(|&last| compare(last, values[case]).is_lt()) {
            distinct.push(values[case]);
        }
        codes[case] = distinct.len() as u32 - 1;
    }
    distinct.shrink_to_fit();
    (codes, distinct)
}

/// Whether a value equals a threshold; false where they are of different kinds.
fn is_same(threshold: Threshold, value: Value) -> bool {
    match (threshold, value) {
        (Threshold::Float(t), Value::Float(x)) => x == t,
        (Threshold::Integer(t), Value::Integer(x)) => x == t,
        (Threshold::Level(t), Value::Level(x)) => x == t,
        _ => false,
    }
}

/// Compares numbers of one column, which are of the same kind.
fn compare(a: Value, b: Value) -> Ordering {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => a.total_cmp(&b),
        (Value::Integer(a), Value::Integer(b)) => a.cmp(&b),
        _ => Ordering::Equal,
    }
}
