//! Parameters of greedy growth, and their checks.

use crate::budget::{Budget, Limits};
use crate::constraint::check_min_leaf_mass;
use crate::criterion::{Costs, Criterion};
use crate::data::{Dataset, Target};
use crate::error::{Error, Result};
use crate::objective::{ClassWeight, check_class_weight};
use crate::tree::Unseen;
use crate::{simd, threads};

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

/// How missing values are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missing {
    /// A case goes down every branch with a fraction (C4.5), in growth and in prediction.
    #[default]
    Fractional,
    /// Rows with a missing value are left out of training; prediction as `Fractional`.
    Drop,
    /// The column's mean, or its most frequent level.
    Mean,
    /// In training the mean, or most frequent level, of the row's class; in prediction that of all rows.
    ClassMean,
    /// A value of its own: a level, or a number beyond the greatest.
    Level,
}

/// Parameters of greedy growth.
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
    /// Every branch of a split that is not empty has at least this mass: weights and those of classes counted, not
    /// cases. 0: no limit; else `min_cases`, `min_branch` and `min_leaf` are left as they are by default.
    pub min_leaf_mass: f64,
    /// The longest path from the root to a leaf, in splits.
    pub max_depth: Option<u64>,
    /// The least gain of a split, per unit of mass at its node; it must be positive in any case.
    pub min_gain: f64,
    /// The most leaves; the splits of greatest total gain come first.
    pub max_leaves: Option<u64>,
    /// How nominal columns are split.
    pub nominal_splits: NominalSplits,
    /// How missing values are handled.
    pub missing: Missing,
    /// The weights of the classes.
    pub class_weight: ClassWeight,
    /// `costs[i][j]`: the cost of predicting class j for a case of class i. The diagonal is 0.
    pub costs: Option<Vec<Vec<f64>>>,
    /// What the tree predicts for levels that it never saw.
    pub unseen: Unseen,
    /// Limits of time and memory.
    pub limits: Limits,
    /// The number of threads; `None`: as many as the process may use.
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
    /// Checks every parameter, except for what depends on the classes of a table: that is checked when the table is
    /// known.
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
        simd::checked()?;
        Ok(Checked(self))
    }
}

/// Checked parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked(Params);

impl Checked {
    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.0
    }

    /// A budget for one run, whose clock starts now.
    pub fn budget(&self) -> Budget {
        Budget::new(self.0.limits)
    }

    /// The number of threads for growth on a table: one if it is small.
    pub fn threads_on(&self, data: &Dataset) -> usize {
        match data.n_rows() * data.columns().len() {
            bins if bins < PARALLEL_CELLS => 1,
            _ => threads::resolve(self.0.threads),
        }
    }
}

/// Tables of at least this many cells are worth a pool of threads.
const PARALLEL_CELLS: usize = 1 << 15;

/// Refuses a table whose target is not classes.
pub(crate) fn check_target(data: &Dataset) -> Result<()> {
    let needs = |got| Error::WrongTarget { search: "GreedyTreeSearch", needs: "classes", got };
    match data.target() {
        Target::Classes(_) => Ok(()),
        Target::Numbers(_) => Err(needs("numbers (cast that column to strings or whole numbers to read it as labels)")),
        Target::None => Err(needs("absent (name it when you make the dataset)")),
    }
}

/// The costs of errors in integers; refuses costs that do not fit the classes of the table.
pub(crate) fn checked_costs(data: &Dataset, params: &Params) -> Result<Costs> {
    let n_classes = data.schema().labels().map_or(0, |labels| labels.len());
    match &params.costs {
        None => Ok(Costs::errors()),
        Some(costs) if costs.len() == n_classes && costs.iter().all(|row| row.len() == n_classes) => Costs::new(costs),
        Some(costs) => {
            let lengths: Vec<String> = costs.iter().map(|row| row.len().to_string()).collect();
            Err(Error::InvalidParameter {
                name: "costs",
                expected: format!("{n_classes} rows of {n_classes} costs, one for each class"),
                got: format!("{} rows of {}", costs.len(), lengths.join(", ")),
            })
        }
    }
}
