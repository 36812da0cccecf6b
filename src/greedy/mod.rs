//! Greedy trees, as C4.5 and CART grow them: at each node the best split by a [`Criterion`], and no way back.
//!
//! # Which tree
//!
//! The tree is defined, not merely computed: it depends on the table and the parameters, not on threads, run or
//! platform. Masses are integers ([`crate::objective::Units`]); the quality of a split is an integer too
//! ([`crate::criterion`]). At a node with the cases C:
//!
//! - It is a leaf if its depth is `max_depth`, if fewer than `min_cases` cases came (counts times fractions, weights do
//!   not matter), if all its mass is of one class, or if no column has a split.
//! - A *split* of column a sends the cases of C that have a value there down two or more branches, and leaves at least
//!   two of them non-empty; every non-empty one has `min_leaf` cases or more, two have `min_branch`, cases without a
//!   value not counted; its gain is positive, exactly, and at least `min_gain` per unit of the mass of C.
//! - The *gain* is the decrease of total impurity (mass times impurity) over the cases with a value: C4.5's gain,
//!   discounted by the fraction that is known, times the mass of C. Gain ratio divides it by the split information,
//!   where the cases without a value are one more branch.
//! - The split of one column: `x <= t` with t between neighbouring values that occur in C (of the cuts of the whole
//!   column between them the one nearest to half way), by the greatest gain, ties to the smaller t; a branch per level;
//!   `x is level`, ties to the first level; or `x in levels`.
//! - The split of the node: greatest quality (gain, or gain ratio); ties to the first column. So it is the argmax over
//!   a total order that does not depend on the other columns (Assumption 4 of Ruggieri, JMLR 2019), and a node without
//!   a split has none over fewer columns (Assumption 5).
//! - A case without a value goes down every branch with a share of its fraction, in proportion to the masses of the
//!   cases with one: multiples of a fixed unit, rounded down; what is left goes to the branch of greatest mass, ties to
//!   the first. Prediction imputes in the same proportions.
//! - A leaf predicts the class of greatest mass or, with costs, of least expected cost; ties to the first. A branch
//!   that no case took predicts as its parent would.
//!
//! # Map
//!
//! `table`: columns as codes, sorted once. `cells`: the masses of one column over the cases of a node, in the order of
//! its values. `split`: what splits are worth; `ordered`, `nominal`: the best one of a column. `rough`: which columns are
//! worth it, with `grid`, the codes of narrow columns case by case, and `few`, small sets in order. `cases`: the cases of
//! a node and their way down. `ranking`, `ranks`: the columns of a case set in the order of their splits, for searches over
//! many trees.
//! `orders`: sorted columns that are split along with the node. `chain`: columns of nodes that lose a few cases at each
//! split. `growth`: one tree, with threads. `finish`: masses and
//! labels. docs/greedy.md tells the whole in words.

pub(crate) mod cases;
pub(crate) mod cells;
mod chain;
mod few;
pub(crate) mod finish;
pub(crate) mod grid;
pub(crate) mod growth;
pub(crate) mod mean;
pub(crate) mod nominal;
pub(crate) mod ordered;
pub(crate) mod orders;
pub(crate) mod ranking;
pub(crate) mod ranks;
mod rough;
pub(crate) mod rules;
pub(crate) mod split;
pub(crate) mod sums;
pub(crate) mod table;
pub(crate) mod weigh;

use crate::budget::{Budget, Limits, Status};
use crate::constraint::check_min_leaf_mass;
pub use crate::criterion::Criterion;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::threads;
use crate::tree::{Tree, Unseen};
use growth::Growth;
use table::Table;
pub use weigh::MOST_UNITS;
pub(crate) use weigh::class_weighed;

/// How nominal columns are split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NominalSplits {
    /// A branch per level (C4.5).
    #[default]
    Multiway,
    /// One level against the others.
    OneVsRest,
    /// A set of levels against the others (CART): the best of all for two classes or up to 12 levels at the node, else
    /// the best of those that take levels in the order of one class's share, for one of the 32 most frequent classes.
    Subsets,
}

/// What becomes of missing values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missing {
    /// A case goes down every branch, in part (C4.5); so it does in prediction.
    #[default]
    Fractional,
    /// Rows with a missing value are left out of training; prediction as `Fractional`.
    Drop,
    /// The column's mean, or its most frequent level.
    Mean,
    /// In training the mean, or most frequent level, of the row's class; in prediction that of all rows.
    ClassMean,
    /// A value of its own: a level, or what is beyond the greatest number.
    Level,
}

/// How much cases of each class matter.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum ClassWeight {
    /// All the same.
    #[default]
    Equal,
    /// Each class as much in total: rows / (classes x rows of the class), by mass.
    Balanced,
    /// A factor per class, in the order of the labels.
    Each(Vec<f64>),
}

/// Checks that weights of classes are finite and not negative.
pub(crate) fn check_class_weight(class_weight: &ClassWeight) -> Result<()> {
    let ClassWeight::Each(weights) = class_weight else { return Ok(()) };
    match weights.iter().find(|weight| !(weight.is_finite() && **weight >= 0.0)) {
        None => Ok(()),
        Some(weight) => Err(Error::InvalidParameter {
            name: "class_weight",
            expected: "finite and not negative for every class".into(),
            got: weight.to_string(),
        }),
    }
}

/// What to grow, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Params {
    /// How splits are judged.
    pub criterion: Criterion,
    /// A node of fewer cases is a leaf (C4.5's and the papers' m).
    pub min_cases: u64,
    /// A split needs two branches of at least this many cases (the -m of C4.5's program).
    pub min_branch: Option<u64>,
    /// Every branch of a split that is not empty has at least this many cases.
    pub min_leaf: u64,
    /// Every branch of a split that is not empty has at least this mass: weights and those of classes counted, not cases.
    /// 0: no limit; else `min_cases`, `min_branch` and `min_leaf` are left as they are by default.
    pub min_leaf_mass: f64,
    /// The longest path from the root to a leaf, in splits.
    pub max_depth: Option<u64>,
    /// The least gain of a split, per unit of mass at its node; it must be positive in any case.
    pub min_gain: f64,
    /// The most leaves; the splits of greatest total gain come first.
    pub max_leaves: Option<u64>,
    /// Nominal columns.
    pub nominal_splits: NominalSplits,
    /// Missing values.
    pub missing: Missing,
    /// Weights of classes.
    pub class_weight: ClassWeight,
    /// `costs[i][j]`: what it costs to take a case of class i for one of class j. The diagonal is 0.
    pub costs: Option<Vec<Vec<f64>>>,
    /// What the tree does with levels it never saw.
    pub unseen: Unseen,
    /// Time, and memory for nodes.
    pub limits: Limits,
    /// `None`: all that the process may use.
    pub threads: Option<usize>,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            criterion: Criterion::InformationGain,
            min_cases: 2,
            min_branch: None,
            min_leaf: 1,
            min_leaf_mass: 0.0,
            max_depth: None,
            min_gain: 0.0,
            max_leaves: None,
            nominal_splits: NominalSplits::Multiway,
            missing: Missing::Fractional,
            class_weight: ClassWeight::Equal,
            costs: None,
            unseen: Unseen::Majority,
            limits: Limits::default(),
            threads: None,
        }
    }
}

impl Params {
    /// Checks every parameter, so that growth starts only with ones that make sense. What depends on the classes of a
    /// table is checked when there is one.
    pub fn checked(self) -> Result<Checked> {
        let invalid =
            |name, expected: &str, got: String| Error::InvalidParameter { name, expected: expected.into(), got };
        for (name, value) in [("min_cases", self.min_cases), ("min_leaf", self.min_leaf)] {
            if value == 0 {
                return Err(invalid(name, "at least 1", "0".into()));
            }
        }
        if self.min_branch == Some(0) {
            return Err(invalid("min_branch", "at least 1, or None", "0".into()));
        }
        let counts_cases = self.min_cases > 2 || self.min_branch.is_some() || self.min_leaf > 1;
        check_min_leaf_mass(self.min_leaf_mass, counts_cases)?;
        if self.max_leaves == Some(0) {
            return Err(invalid("max_leaves", "at least 1, or None", "0".into()));
        }
        if !(self.min_gain.is_finite() && self.min_gain >= 0.0) {
            return Err(invalid("min_gain", "finite and not negative", self.min_gain.to_string()));
        }
        check_class_weight(&self.class_weight)?;
        for (i, row) in self.costs.iter().flatten().enumerate() {
            for (j, &cost) in row.iter().enumerate() {
                if !(cost.is_finite() && cost >= 0.0 && (i != j || cost == 0.0)) {
                    let expected = "finite, not negative, and 0 on the diagonal";
                    return Err(invalid("costs", expected, format!("{cost} in row {i}, column {j}")));
                }
            }
        }
        self.limits.checked()?;
        threads::checked(self.threads)?;
        Ok(Checked(self))
    }
}

/// Parameters that were checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked(Params);

impl Checked {
    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.0
    }

    /// A budget for one run; its clock starts now.
    pub fn budget(&self) -> Budget {
        Budget::new(self.0.limits)
    }

    /// How many threads growth on a table uses: one if it is small.
    pub fn threads_on(&self, data: &Dataset) -> usize {
        match data.n_rows() * data.columns().len() {
            cells if cells < PARALLEL_CELLS => 1,
            _ => threads::resolve(self.0.threads),
        }
    }
}

/// What growth came to.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The tree.
    pub tree: Tree,
    /// `complete`, or the limit that struck: nodes that were to be split then are leaves.
    pub status: Status,
    /// Seconds of wall clock.
    pub seconds: f64,
}

/// Grows a tree.
///
/// Complexity: O(columns x rows x log rows) once, then O(columns x rows) per level of the tree.
///
/// # Errors
/// If the target has no classes, no row is present, `class_weight` or `costs` do not fit the classes, or a level is
/// unseen by the schema.
pub fn search(data: &Dataset, checked: &Checked, budget: &Budget) -> Result<Outcome> {
    rules::check_target(data)?;
    let params = checked.params();
    let costs = rules::costs(data, params)?;
    let threads = checked.threads_on(data);
    threads::with_pool(threads, |threads| {
        let table = match Table::new(data, params, budget, threads > 1)? {
            Ok(table) => table,
            Err(stop) => {
                let tree = finish::single_leaf(data, params, &costs)?;
                return Ok(Outcome { tree, status: stop.into(), seconds: budget.seconds() });
            }
        };
        let _rules = match budget.reserve(rules::bytes(&table, params)) {
            Ok(held) => held,
            Err(stop) => {
                let tree = finish::single_leaf(data, params, &costs)?;
                return Ok(Outcome { tree, status: stop.into(), seconds: budget.seconds() });
            }
        };
        let growth = Growth::new(&table, params, budget, threads);
        let (grown, stop) = rules::with_rules(&table, params, &costs, growth);
        let tree = finish::finish(data, &table, params, &costs, &grown)?;
        Ok(Outcome { tree, status: stop.map_or(Status::Complete, Status::from), seconds: budget.seconds() })
    })
}

/// Cells of a table above which a pool of threads pays.
const PARALLEL_CELLS: usize = 1 << 15;
