//! Every way a call can be wrong. Running out of time or memory is an outcome, not an error: see
//! [`crate::budget::Status`].

use crate::names::quoted;

/// A wrong call: what was given, where, and what would be accepted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter is out of range.
    #[error("`{name}` must be {expected}, got {got}")]
    InvalidParameter {
        /// The parameter as the caller spells it.
        name: &'static str,
        /// What would be accepted.
        expected: String,
        /// What was given.
        got: String,
    },
    /// A name that is not a column.
    #[error("there is no column {}; the columns are {known}", quoted(.name))]
    UnknownColumn {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// Two columns of one name.
    #[error("two columns are named {}; names must be distinct, rename one of them", quoted(.name))]
    DuplicateColumn {
        /// The name that occurs twice.
        name: String,
    },
    /// Columns, labels, counts or weights of another length than the table.
    #[error("{what} has {got} rows, the table has {expected}")]
    BadLength {
        /// What has the wrong length.
        what: String,
        /// Its length.
        got: usize,
        /// The table's length.
        expected: usize,
    },
    /// A count or weight that is negative, not finite, or too large.
    #[error("the {what} at row {row} is {got}; it must be {expected}")]
    BadWeight {
        /// `count` or `weight`.
        what: &'static str,
        /// Zero-based row.
        row: usize,
        /// The value there.
        got: String,
        /// What would be accepted.
        expected: &'static str,
    },
    /// Costs of labels that do not fit the table, or each other.
    #[error("the costs of labels cannot be used: {problem}")]
    BadCosts {
        /// What is wrong, where, and what would be accepted.
        problem: String,
    },
    /// A case without a label.
    #[error("the target {} is missing at row {row}; drop that row or give it a label", quoted(.column))]
    MissingTarget {
        /// The target's name.
        column: String,
        /// Zero-based row.
        row: usize,
    },
    /// A search that needs another kind of target.
    #[error("{search} needs {needs}, but the target is {got}")]
    WrongTarget {
        /// The search.
        search: &'static str,
        /// The kind of target it needs.
        needs: &'static str,
        /// The kind of target the data have.
        got: &'static str,
    },
    /// A search needs at least one case of positive count and weight.
    #[error("the data have no case to learn from: {reason}")]
    NoCases {
        /// Why there is none.
        reason: &'static str,
    },
    /// A nominal column with too many levels for what was asked.
    #[error("column {} has {levels} levels; {why}", quoted(.column))]
    TooManyLevels {
        /// The column.
        column: String,
        /// How many levels it has.
        levels: usize,
        /// The limit, its reason, and what to do.
        why: String,
    },
    /// A level that the schema does not know, where it is an error.
    #[error("column {} has the unseen level {} at row {row}; known levels are {known}", quoted(.column), quoted(.level))]
    UnseenLevel {
        /// The column.
        column: String,
        /// Zero-based row.
        row: usize,
        /// The level.
        level: String,
        /// The levels there are.
        known: String,
    },
    /// A column whose values do not fit the schema or the operation.
    #[error("column {} is {got}; expected {expected}", quoted(.column))]
    WrongKind {
        /// The column.
        column: String,
        /// What is needed.
        expected: String,
        /// What was found.
        got: String,
    },
    /// A tree file that is not one, or is damaged.
    #[error("this is not a valid lattree tree: {problem}")]
    BadTree {
        /// What is wrong, and where.
        problem: String,
    },
    /// A tree file of a format this version does not know.
    #[error("this tree has {found}; this version of lattree reads {supported}")]
    UnsupportedTree {
        /// The format or tag found.
        found: String,
        /// What can be read.
        supported: String,
    },
}

/// The result of a call that may be wrong.
pub type Result<T> = std::result::Result<T, Error>;

/// A list of names for an error text: all of them, or the first ten and how many more.
pub(crate) fn list_names<S: AsRef<str>>(names: &[S]) -> String {
    const SHOWN: usize = 10;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|n| quoted(n.as_ref())).collect();
    match names.len() {
        0 => "none".into(),
        n if n > SHOWN => format!("{} and {} more", shown.join(", "), n - SHOWN),
        _ => shown.join(", "),
    }
}
