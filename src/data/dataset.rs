//! Typed columns of one table, with its target, counts and weights.

use std::sync::Arc;

use super::schema::{Kind, NumericType, Schema, TargetSchema, Task};
use crate::bits;
use crate::error::{Error, Result, list_names};
use crate::names::quoted;

/// The code of a missing level.
pub const MISSING: u32 = u32::MAX;

/// The cells of one column. Shared between the parts of a table, never changed.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// NaN is missing; `-0.0` is stored as `0.0`; infinities are ordinary values.
    Floats(Vec<f64>),
    /// Integers, dates or times, exact.
    Integers {
        /// One value per row; those of missing cells mean nothing.
        values: Vec<i64>,
        /// Whether each cell is missing; `None` if no cell is.
        missing: Option<Vec<bool>>,
    },
    /// Positions in the levels of the schema.
    Levels {
        /// One code per row: a level of the schema, [`MISSING`], or `levels.len() + j` for the j-th unseen level.
        codes: Vec<u32>,
        /// Levels that the schema does not know; only in a table that was mapped onto the schema of another.
        unseen: Vec<String>,
    },
}

/// One cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// No value.
    Missing,
    /// A float.
    Float(f64),
    /// An integer, date or time.
    Integer(i64),
    /// A level of the schema.
    Level(u32),
    /// A level that the schema does not know: its position among the column's unseen levels.
    Unseen(u32),
}

impl Column {
    /// How many rows it has.
    pub fn len(&self) -> usize {
        match self {
            Column::Floats(values) => values.len(),
            Column::Integers { values, .. } => values.len(),
            Column::Levels { codes, .. } => codes.len(),
        }
    }

    /// Whether it has no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The cell at `row`; `n_levels` is the number of levels the schema gives this column.
    #[inline]
    pub fn value(&self, row: usize, n_levels: u32) -> Value {
        match self {
            Column::Floats(values) if values[row].is_nan() => Value::Missing,
            Column::Floats(values) => Value::Float(values[row]),
            Column::Integers { missing: Some(missing), .. } if missing[row] => Value::Missing,
            Column::Integers { values, .. } => Value::Integer(values[row]),
            Column::Levels { codes, .. } => match codes[row] {
                MISSING => Value::Missing,
                code if code < n_levels => Value::Level(code),
                code => Value::Unseen(code - n_levels),
            },
        }
    }

    /// How many cells are missing.
    pub fn n_missing(&self) -> usize {
        match self {
            Column::Floats(values) => values.iter().filter(|v| v.is_nan()).count(),
            Column::Integers { missing, .. } => missing.as_ref().map_or(0, |m| m.iter().filter(|&&x| x).count()),
            Column::Levels { codes, .. } => codes.iter().filter(|&&c| c == MISSING).count(),
        }
    }

    fn take(&self, rows: &[usize]) -> Self {
        match self {
            Column::Floats(values) => Column::Floats(rows.iter().map(|&r| values[r]).collect()),
            Column::Integers { values, missing } => Column::Integers {
                values: rows.iter().map(|&r| values[r]).collect(),
                missing: missing.as_ref().map(|m| rows.iter().map(|&r| m[r]).collect()),
            },
            Column::Levels { codes, unseen } => {
                Column::Levels { codes: rows.iter().map(|&r| codes[r]).collect(), unseen: unseen.clone() }
            }
        }
    }
}

/// The target: what is to be predicted for each row.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// Codes into the labels of the schema.
    Classes(Arc<[u32]>),
    /// Numbers, finite.
    Numbers(Arc<[f64]>),
    /// No target: a table to predict for.
    None,
}

/// What each label costs in each case.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseCosts {
    /// The labels, by the text of classes where they are classes.
    pub labels: Arc<[String]>,
    /// Finite; row after row, a cost for each label.
    values: Arc<[f64]>,
}

impl CaseCosts {
    /// Checks that labels are distinct and costs finite, and that there is a cost for each row and label.
    ///
    /// Errors: [`Error::BadCosts`], naming row and label. Complexity: O(rows x labels).
    pub fn new(labels: Vec<String>, values: Vec<f64>, n_rows: usize) -> Result<Self> {
        let bad = |problem: String| Err(Error::BadCosts { problem });
        if labels.is_empty() {
            return bad("they are for no label; at least one is needed".into());
        }
        let mut seen = rustc_hash::FxHashSet::default();
        if let Some(label) = labels.iter().find(|label| !seen.insert(label.as_str())) {
            return bad(format!("the label {} is there twice", quoted(label)));
        }
        if values.len() != n_rows * labels.len() {
            let (got, n_labels) = (values.len(), labels.len());
            return bad(format!("there are {got} for {n_rows} rows and {n_labels} labels, of which each needs one"));
        }
        if let Some(place) = values.iter().position(|cost| !cost.is_finite()) {
            let (row, label) = (place / labels.len(), quoted(&labels[place % labels.len()]));
            return bad(format!("that of label {label} in row {row} is {:?}; costs must be finite", values[place]));
        }
        Ok(CaseCosts { labels: labels.into(), values: values.into() })
    }

    /// The costs of all labels in a row.
    #[inline]
    pub fn of(&self, row: usize) -> &[f64] {
        let n = self.labels.len();
        &self.values[row * n..(row + 1) * n]
    }

    fn take(&self, rows: &[usize]) -> Self {
        CaseCosts { labels: self.labels.clone(), values: rows.iter().flat_map(|&row| self.of(row)).copied().collect() }
    }
}

/// A table: schema, columns, target, repetitions, weights and costs.
///
/// `counts` are repetitions: they count toward rows, `min_cases` and `min_leaf`. `weights` enter only gains and
/// objectives. A case of count 0 or weight 0 is absent.
#[derive(Debug, Clone)]
pub struct Dataset {
    schema: Arc<Schema>,
    columns: Vec<Arc<Column>>,
    n_rows: usize,
    target: Target,
    counts: Option<Arc<[u64]>>,
    weights: Option<Arc<[f64]>>,
    costs: Option<CaseCosts>,
}

impl Dataset {
    /// Checks lengths, codes, counts and weights, and takes the columns in.
    ///
    /// `n_rows` says how long the table is when it has no column. Complexity: O(cells).
    pub fn new(
        schema: Arc<Schema>,
        mut columns: Vec<Column>,
        n_rows: usize,
        target: Target,
        counts: Option<Vec<u64>>,
        weights: Option<Vec<f64>>,
    ) -> Result<Self> {
        if columns.len() != schema.features.len() {
            return Err(Error::BadLength {
                what: "the list of columns".into(),
                got: columns.len(),
                expected: schema.features.len(),
            });
        }
        for (feature, column) in schema.features.iter().zip(&mut columns) {
            let length = |what: String, got| match got == n_rows {
                true => Ok(()),
                false => Err(Error::BadLength { what, got, expected: n_rows }),
            };
            length(format!("column {}", quoted(&feature.name)), column.len())?;
            let wrong = |got: &str| Error::WrongKind {
                column: feature.name.clone(),
                expected: format!("a {} column", feature.kind.name()),
                got: got.into(),
            };
            match (&feature.kind, column) {
                // Float columns may be read where integers were trained on, and the other way round.
                (Kind::Continuous(_), Column::Floats(values)) => {
                    values.iter_mut().for_each(|v| *v += 0.0); // -0.0 + 0.0 = 0.0
                }
                (Kind::Continuous(_), Column::Integers { missing, .. }) => {
                    if let Some(missing) = missing {
                        length(format!("the missing mask of column {}", quoted(&feature.name)), missing.len())?;
                    }
                }
                (Kind::Continuous(_), Column::Levels { .. }) => return Err(wrong("a column of levels")),
                (kind, Column::Levels { codes, unseen }) => {
                    let end = (kind.levels().len() + unseen.len()) as u32;
                    if codes.iter().any(|&c| c != MISSING && c >= end) {
                        return Err(wrong("a column with a code that is no level"));
                    }
                }
                (_, _) => return Err(wrong("a column of numbers")),
            }
        }
        let (what, got) = match &target {
            Target::Classes(codes) => ("the target", codes.len()),
            Target::Numbers(values) => ("the target", values.len()),
            Target::None => ("", n_rows),
        };
        if got != n_rows {
            return Err(Error::BadLength { what: what.into(), got, expected: n_rows });
        }
        check_target(&schema, &target)?;
        if let Some(counts) = &counts {
            if counts.len() != n_rows {
                return Err(Error::BadLength { what: "counts".into(), got: counts.len(), expected: n_rows });
            }
            let mut total = 0u64;
            for (row, &count) in counts.iter().enumerate() {
                total = total.checked_add(count).filter(|&t| t < 1 << 53).ok_or(Error::BadWeight {
                    what: "count",
                    row,
                    got: count.to_string(),
                    expected: "such that all counts sum to less than 2^53",
                })?;
            }
        }
        if let Some(weights) = &weights {
            if weights.len() != n_rows {
                return Err(Error::BadLength { what: "weight".into(), got: weights.len(), expected: n_rows });
            }
            for (row, &weight) in weights.iter().enumerate() {
                if !(weight.is_finite() && weight >= 0.0) {
                    return Err(Error::BadWeight {
                        what: "weight",
                        row,
                        got: format!("{weight:?}"),
                        expected: "finite and not negative",
                    });
                }
            }
        }
        Ok(Dataset {
            schema,
            columns: columns.into_iter().map(Arc::new).collect(),
            n_rows,
            target,
            counts: counts.map(Arc::from),
            weights: weights.map(Arc::from),
            costs: None,
        })
    }

    /// The same table where labels cost so much in each case.
    ///
    /// Errors: [`Error::BadCosts`] unless there are costs for all rows.
    pub fn with_costs(self, costs: CaseCosts) -> Result<Self> {
        if costs.values.len() != self.n_rows * costs.labels.len() {
            let got = costs.values.len() / costs.labels.len();
            return Err(Error::BadCosts { problem: format!("they are for {got} rows, and there are {}", self.n_rows) });
        }
        Ok(Dataset { costs: Some(costs), ..self })
    }

    /// The same table without costs of labels, for searches that do not ask for them.
    pub(crate) fn without_costs(&self) -> Self {
        Dataset { costs: None, ..self.clone() }
    }

    /// The same table with other weights, finite and not negative, one for each row.
    pub(crate) fn reweighted(&self, weights: Vec<f64>) -> Self {
        debug_assert_eq!(weights.len(), self.n_rows);
        Dataset { weights: Some(weights.into()), ..self.clone() }
    }

    /// The same table with another target, which fits the schema given; columns are shared.
    pub(crate) fn retargeted(&self, target: TargetSchema, codes: Vec<u32>) -> Self {
        debug_assert_eq!(codes.len(), self.n_rows);
        let schema = Schema { features: self.schema.features.clone(), target: Some(target) };
        Dataset { schema: schema.into(), target: Target::Classes(codes.into()), ..self.clone() }
    }

    /// Names, kinds and levels.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The columns, in the order of the schema's features.
    pub fn columns(&self) -> &[Arc<Column>] {
        &self.columns
    }

    /// How many rows the table has, repetitions not counted.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// The target.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Repetitions, if given.
    pub fn counts(&self) -> Option<&[u64]> {
        self.counts.as_deref()
    }

    /// Weights, if given.
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// What labels cost in each case, if given.
    pub fn costs(&self) -> Option<&CaseCosts> {
        self.costs.as_ref()
    }

    /// The count of one row: 0 where its weight is 0.
    pub fn count(&self, row: usize) -> u64 {
        match &self.weights {
            Some(weights) if weights[row] == 0.0 => 0,
            _ => self.counts.as_ref().map_or(1, |counts| counts[row]),
        }
    }

    /// A bit per row: whether its count is not 0.
    pub(crate) fn present(&self) -> Vec<u64> {
        let mut present = vec![0; bits::words(self.n_rows)];
        match (&self.counts, &self.weights) {
            (None, None) => bits::set_range(&mut present, 0, self.n_rows),
            _ => (0..self.n_rows).filter(|&row| self.count(row) > 0).for_each(|row| bits::set(&mut present, row)),
        }
        present
    }

    /// The rows to learn from, a bit per row, or an error if there are none.
    pub(crate) fn cases(&self) -> Result<Vec<u64>> {
        let present = self.present();
        if present.iter().any(|&word| word != 0) {
            return Ok(present);
        }
        let reason = match self.n_rows {
            0 => "the table has no row",
            _ => "every row has count or weight 0",
        };
        Err(Error::NoCases { reason })
    }

    /// Fails for a column that can be predicted on but not learned from: it has a level that the schema does not know,
    /// or numbers of another type. Tables that were mapped onto the schema of another can have such columns.
    pub(crate) fn check_learnable(&self, index: usize, present: &[u64]) -> Result<()> {
        let feature = &self.schema.features[index];
        let levels = feature.kind.levels();
        match (&feature.kind, &*self.columns[index]) {
            (_, Column::Levels { codes, unseen }) if !unseen.is_empty() => {
                let is_unseen = |&row: &usize| codes[row] != MISSING && codes[row] as usize >= levels.len();
                let Some(row) = bits::ones(present).find(is_unseen) else { return Ok(()) };
                let level = unseen[codes[row] as usize - levels.len()].clone();
                Err(Error::UnseenLevel { column: feature.name.clone(), row, level, known: list_names(levels) })
            }
            (Kind::Continuous(number), column)
                if (*number == NumericType::Float) != matches!(column, Column::Floats(_)) =>
            {
                let name = |floats| if floats { "floats" } else { "integers" };
                let floats = *number == NumericType::Float;
                Err(Error::WrongKind {
                    column: feature.name.clone(),
                    expected: format!("{}, as the schema says, to search on", name(floats)),
                    got: format!("a column of {}", name(!floats)),
                })
            }
            _ => Ok(()),
        }
    }

    /// Whether a column holds numbers, as the schema stores them.
    pub fn number(&self, feature: usize) -> Option<NumericType> {
        match &self.schema.features[feature].kind {
            Kind::Continuous(number) => Some(*number),
            _ => None,
        }
    }

    /// The rows given, in that order; a row may occur more than once. Panics if a row does not exist.
    ///
    /// Complexity: O(rows taken x columns).
    pub fn take(&self, rows: &[usize]) -> Self {
        Dataset {
            schema: self.schema.clone(),
            columns: self.columns.iter().map(|c| Arc::new(c.take(rows))).collect(),
            n_rows: rows.len(),
            target: match &self.target {
                Target::Classes(codes) => Target::Classes(rows.iter().map(|&r| codes[r]).collect()),
                Target::Numbers(values) => Target::Numbers(rows.iter().map(|&r| values[r]).collect()),
                Target::None => Target::None,
            },
            counts: self.counts.as_ref().map(|c| rows.iter().map(|&r| c[r]).collect()),
            weights: self.weights.as_ref().map(|w| rows.iter().map(|&r| w[r]).collect()),
            costs: self.costs.as_ref().map(|costs| costs.take(rows)),
        }
    }

    /// The columns named, in that order, with target, counts and weights. Columns are shared, not copied.
    pub fn select(&self, names: &[String]) -> Result<Self> {
        let indices = names.iter().map(|n| self.schema.feature_index(n)).collect::<Result<Vec<_>>>()?;
        let schema = Schema {
            features: indices.iter().map(|&i| self.schema.features[i].clone()).collect(),
            target: self.schema.target.clone(),
        };
        Ok(Dataset {
            schema: Arc::new(schema.checked()?),
            columns: indices.iter().map(|&i| self.columns[i].clone()).collect(),
            ..self.clone()
        })
    }
}

fn check_target(schema: &Schema, target: &Target) -> Result<()> {
    let name = || schema.target.as_ref().map_or(String::new(), |t| t.name.clone());
    let task = schema.target.as_ref().map(|t| &t.task);
    let wrong = |got: &str| {
        Err(Error::WrongKind {
            column: name(),
            expected: "the target that the schema describes".into(),
            got: got.into(),
        })
    };
    match (task, target) {
        (_, Target::None) => Ok(()),
        (Some(Task::Classes(labels)), Target::Classes(codes)) => {
            let end = labels.len();
            match codes.iter().max().is_none_or(|&greatest| (greatest as usize) < end) {
                true => Ok(()),
                false => wrong("a column with a code that is no class"),
            }
        }
        (Some(Task::Numbers), Target::Numbers(values)) => match values.iter().position(|v| !v.is_finite()) {
            None => Ok(()),
            Some(row) if values[row].is_nan() => Err(Error::MissingTarget { column: name(), row }),
            Some(row) => wrong(&format!("{} at row {row}; numbers to predict must be finite", values[row])),
        },
        (None, _) => wrong("given, but the schema has none"),
        (_, Target::Classes(_)) => wrong("classes"),
        (_, Target::Numbers(_)) => wrong("numbers"),
    }
}
