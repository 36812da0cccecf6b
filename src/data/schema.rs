//! The meaning of columns: names, kinds, level names and their order, class labels.
//!
//! A [`Schema`] is shared by every part of one table and carried by the trees grown on it; a second table is mapped
//! onto it by column name and level name, never by position or code.

use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, list_names};
use crate::names::quoted;

/// How the numbers of a continuous column are stored and printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NumericType {
    /// 64-bit floats; NaN is missing.
    Float,
    /// 64-bit integers, exact.
    Integer,
    /// Days since 1970-01-01, printed as dates.
    Date,
    /// Milliseconds since 1970-01-01 UTC, printed as date and time.
    DatetimeMs,
    /// Microseconds since 1970-01-01 UTC.
    DatetimeUs,
    /// Nanoseconds since 1970-01-01 UTC.
    DatetimeNs,
    /// Nanoseconds since midnight, printed as times of day.
    Time,
    /// Milliseconds, printed as lengths of time.
    DurationMs,
    /// Microseconds.
    DurationUs,
    /// Nanoseconds.
    DurationNs,
}

impl NumericType {
    /// How many units of the column make a second; `None` for numbers, and for dates, which are days.
    pub fn per_second(self) -> Option<i64> {
        match self {
            NumericType::Float | NumericType::Integer | NumericType::Date => None,
            NumericType::DatetimeMs | NumericType::DurationMs => Some(1_000),
            NumericType::DatetimeUs | NumericType::DurationUs => Some(1_000_000),
            NumericType::DatetimeNs | NumericType::DurationNs | NumericType::Time => Some(1_000_000_000),
        }
    }
}

/// The kind of values in a column, which decides the tests it can have.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Numbers: tests `x <= t`.
    Continuous(NumericType),
    /// Named levels in a given order: tests `x <= level`.
    Ordinal(Vec<String>),
    /// Named levels without order: tests `x is level`, `x in levels`.
    Nominal(Vec<String>),
}

impl Kind {
    /// The levels of an ordinal or nominal column; none for a continuous one.
    pub fn levels(&self) -> &[String] {
        match self {
            Kind::Continuous(_) => &[],
            Kind::Ordinal(levels) | Kind::Nominal(levels) => levels,
        }
    }

    /// `"continuous"`, `"ordinal"` or `"nominal"`.
    pub fn name(&self) -> &'static str {
        match self {
            Kind::Continuous(_) => "continuous",
            Kind::Ordinal(_) => "ordinal",
            Kind::Nominal(_) => "nominal",
        }
    }
}

/// One column that tests may ask about.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Feature {
    /// The column's name.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// The caller's name for the column's type, kept to give values back as they came. What the core reads of it says
    /// how values are written: `Float32` that floats have 32 bits, `Datetime["us", "Asia/Tokyo"]` by which clock.
    pub dtype: String,
}

impl Feature {
    /// The clock by which instants are written, if it is not that of UTC; also where the zone is not known.
    pub(crate) fn zone(&self) -> Option<TimeZone> {
        TimeZone::get(self.zone_name()?.as_str()).ok()
    }

    /// The name of the time zone of a column of instants that has one.
    pub(crate) fn zone_name(&self) -> Option<String> {
        let arguments = self.dtype.strip_prefix("Datetime")?;
        serde_json::from_str::<(String, Option<String>)>(arguments).ok()?.1
    }
}

/// Class labels, in ascending order, as the caller gave them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Labels {
    /// Text.
    Strings(Vec<String>),
    /// Integers.
    Integers(Vec<i64>),
    /// Floats with integer values.
    Floats(Vec<f64>),
    /// `false`, `true`.
    Booleans(Vec<bool>),
    /// Classes, and labels after them that a tree may give though no case has them.
    WithExtra {
        /// The classes.
        classes: Box<Labels>,
        /// The other labels.
        extra: Vec<String>,
    },
}

impl Labels {
    /// How many classes there are.
    pub fn len(&self) -> usize {
        match self {
            Labels::Strings(v) => v.len(),
            Labels::Integers(v) => v.len(),
            Labels::Floats(v) => v.len(),
            Labels::Booleans(v) => v.len(),
            Labels::WithExtra { classes, extra } => classes.len() + extra.len(),
        }
    }

    /// Whether there is no class.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The text of one label. Panics if `code` is not below [`Labels::len`].
    pub fn text(&self, code: usize) -> String {
        match self {
            Labels::Strings(v) => v[code].clone(),
            Labels::Integers(v) => v[code].to_string(),
            Labels::Floats(v) => v[code].to_string(),
            Labels::Booleans(v) => v[code].to_string(),
            Labels::WithExtra { classes, .. } if code < classes.len() => classes.text(code),
            Labels::WithExtra { classes, extra } => extra[code - classes.len()].clone(),
        }
    }
}

/// The kind of the target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// A label out of a few.
    Classes(Labels),
    /// A real number.
    Numbers,
}

/// The column to predict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TargetSchema {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub task: Task,
    /// The caller's name for its type, kept to give labels back as they came. The core never reads it.
    pub dtype: String,
}

/// Names, kinds and levels of the columns, and what is to be predicted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    /// The columns that tests may ask about, in table order.
    pub features: Vec<Feature>,
    /// The column to predict, if the table has one.
    pub target: Option<TargetSchema>,
}

impl Schema {
    /// Checks that names, levels and class values are distinct.
    ///
    /// Complexity: O(names + levels).
    pub fn checked(self) -> Result<Self> {
        let mut seen = rustc_hash::FxHashSet::default();
        for feature in &self.features {
            if !seen.insert(feature.name.as_str()) {
                return Err(Error::DuplicateColumn { name: feature.name.clone() });
            }
            let mut levels = rustc_hash::FxHashSet::default();
            for level in feature.kind.levels() {
                if !levels.insert(level.as_str()) {
                    return Err(Error::WrongKind {
                        column: feature.name.clone(),
                        expected: "distinct level names".into(),
                        got: format!("a {} column that lists {} twice", feature.kind.name(), quoted(level)),
                    });
                }
            }
        }
        if let Some(labels) = self.labels() {
            let mut texts = rustc_hash::FxHashSet::default();
            if let Some(code) = (0..labels.len()).find(|&code| !texts.insert(labels.text(code))) {
                return Err(Error::WrongKind {
                    column: self.target.as_ref().map_or(String::new(), |target| target.name.clone()),
                    expected: "distinct class labels".into(),
                    got: format!("a target that lists {} twice", quoted(&labels.text(code))),
                });
            }
        }
        Ok(self)
    }

    /// The position of a column, or an error that lists the names there are.
    pub fn feature_index(&self, name: &str) -> Result<usize> {
        self.features.iter().position(|f| f.name == name).ok_or_else(|| Error::UnknownColumn {
            name: name.into(),
            known: list_names(&self.features.iter().map(|f| &f.name).collect::<Vec<_>>()),
        })
    }

    /// The class labels, if the target has classes.
    pub fn labels(&self) -> Option<&Labels> {
        match &self.target {
            Some(TargetSchema { task: Task::Classes(labels), .. }) => Some(labels),
            _ => None,
        }
    }
}
