//! What to search for, and how.

use super::cache::CacheKind;
use crate::budget::{Budget, Limits};
use crate::constraint::{Constraints, check_min_leaf_mass};
use crate::data::{Binarizer, Thresholds};
use crate::error::{Error, Result};
use crate::objective::{ClassWeight, Loss, check_class_weight};
use crate::tree::Unseen;
use crate::{simd, threads};

/// What to search for, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Params {
    /// The longest path from the root to a leaf, in splits; 0 to 20.
    pub max_depth: u32,
    /// The most internal nodes; `None`: as many as the depth allows.
    pub max_nodes: Option<u64>,
    /// The fewest cases in a branch of a split.
    pub min_leaf: u64,
    /// The least mass in a branch of a split: weights counted, not cases. 0: no limit; else `min_leaf` is 1.
    pub min_leaf_mass: f64,
    /// What is minimised.
    pub objective: Loss,
    /// How much cases of each class matter.
    pub class_weight: ClassWeight,
    /// What a leaf costs, per unit of mass, whose label says "don't know"; `None`: no leaf says so.
    pub abstain: Option<f64>,
    /// What an internal node costs, in units of the objective.
    pub node_penalty: f64,
    /// Which of the trees of least cost.
    pub rank: Rank,
    /// The tests offered.
    pub binarizer: Binarizer,
    /// Which search does the work.
    pub engine: Engine,
    /// What the tree does with levels it never saw.
    pub unseen: Unseen,
    /// Time, nodes, memory.
    pub limits: Limits,
    /// The most discrepancies of the passes that look for good trees before the proof starts; `None`: no passes.
    pub discrepancies: Option<u32>,
    /// What the limits are spent on.
    pub effort: Effort,
    /// Where the random numbers of the neighbourhood search start.
    pub seed: u64,
    /// `None`: all that the process may use.
    pub threads: Option<usize>,
    /// For study and tests; proven results do not depend on it.
    pub switches: Switches,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            max_depth: 4,
            max_nodes: None,
            min_leaf: 1,
            min_leaf_mass: 0.0,
            objective: Loss::Errors,
            class_weight: ClassWeight::Equal,
            abstain: None,
            node_penalty: 0.0,
            rank: Rank::default(),
            binarizer: Binarizer::default(),
            engine: Engine::Auto,
            unseen: Unseen::Majority,
            limits: Limits::default(),
            discrepancies: None,
            effort: Effort::Proof,
            seed: 0,
            threads: None,
            switches: Switches::default(),
        }
    }
}

/// What is best among trees, in order of importance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rank {
    /// The least cost; of those the canonical tree.
    Objective,
    /// The least cost, then the fewest internal nodes; of those the canonical tree within that many nodes.
    #[default]
    ObjectiveThenNodes,
}

/// Parts of the search that can be turned off to see what they buy.
#[derive(Debug, Clone, PartialEq)]
pub struct Switches {
    /// Whether the reference does all of the work over tests, in place of the binary engine.
    pub reference: bool,
    /// What is remembered.
    pub cache: CacheKind,
    /// Whether lower bounds from similar sets prune (MurTree, section 4.4).
    pub bounds: bool,
    /// Whether what a solved branch learned of its roots bounds those of later branches.
    pub transpositions: bool,
    /// Whether a node that fails is bounded by its roots (section 4.5.3), or by its cutoff alone.
    pub refined: bool,
    /// Whether the counts of the larger branch are what the smaller one leaves (section 4.3.3).
    pub subtraction: bool,
    /// Whether nodes keep the counts of all pairs of tests, if they fit into half of the memory. Else they are counted
    /// a few tests at a time, and not by subtraction.
    pub matrices: bool,
    /// Whether the branch to solve first is chosen by what the branches are like (section 4.7).
    pub dynamic_order: bool,
    /// In which order roots are tried (section 4.7).
    pub order: RootOrder,
    /// How masses that differ are added up.
    pub counting: Counting,
    /// Whether to use only the instructions that every processor has.
    pub baseline: bool,
    /// Work (in nanoseconds, about) below which a node stays on one thread.
    pub parallel_work: u64,
}

/// What the limits are spent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Effort {
    /// The proof, and better trees where it is out of reach.
    #[default]
    Proof,
    /// The best tree that can be found within the limits, or by a fixed amount of work where time and nodes have none;
    /// nothing is proved above the depth that the neighbourhood search solves exactly.
    Tree,
}

/// Which search does the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Engine {
    /// The faster one, by how many values the columns have.
    #[default]
    Auto,
    /// The one over 0/1 tests: of each column, as many thresholds as the binarizer offers.
    Tests,
    /// The one on the columns as they are: all thresholds.
    Continuous,
}

impl Default for Switches {
    fn default() -> Self {
        Switches {
            reference: false,
            cache: CacheKind::Cases,
            bounds: true,
            transpositions: true,
            refined: true,
            subtraction: true,
            matrices: true,
            dynamic_order: true,
            order: RootOrder::DepthTwo,
            counting: Counting::Estimated,
            baseline: false,
            parallel_work: 1_000_000,
        }
    }
}

impl Switches {
    pub(super) fn binary(&self, keeps_pairs: bool) -> BinarySwitches {
        BinarySwitches {
            cache: self.cache,
            similarity: self.bounds,
            transpositions: self.transpositions,
            refined: self.refined,
            subtraction: self.subtraction,
            keeps_pairs,
            dynamic_order: self.dynamic_order,
            order: self.order,
            baseline: self.baseline,
            parallel_work: self.parallel_work,
        }
    }
}

impl Params {
    /// Checks every parameter, so that a search starts only with ones that make sense.
    pub fn checked(self) -> Result<Checked> {
        let constraints = Constraints::checked(self.max_depth, self.max_nodes, self.min_leaf)?;
        check_min_leaf_mass(self.min_leaf_mass, self.min_leaf > 1)?;
        if !(self.node_penalty.is_finite() && self.node_penalty >= 0.0) {
            return Err(Error::InvalidParameter {
                name: "node_penalty",
                expected: "finite and not negative".into(),
                got: self.node_penalty.to_string(),
            });
        }
        if let Some(price) = self.abstain.filter(|price| !price.is_finite()) {
            return Err(Error::InvalidParameter {
                name: "abstain",
                expected: "a finite cost, or None for no such label".into(),
                got: price.to_string(),
            });
        }
        check_class_weight(&self.class_weight)?;
        if let Some(n) = self.discrepancies.filter(|&n| n > 100) {
            return Err(Error::InvalidParameter {
                name: "discrepancies",
                expected: "from 0 to 100, or None for no passes".into(),
                got: n.to_string(),
            });
        }
        self.limits.checked()?;
        threads::checked(self.threads)?;
        simd::checked()?;
        let binarizer = self.binarizer.clone().checked()?;
        let all =
            matches!(binarizer.thresholds, Thresholds::Auto | Thresholds::All) && binarizer.max_thresholds.is_none();
        if self.engine == Engine::Continuous && !all {
            return Err(Error::InvalidParameter {
                name: "engine",
                expected: "\"auto\" or \"tests\" where the binarizer thins thresholds (\"continuous\" tries all)"
                    .into(),
                got: "\"continuous\"".into(),
            });
        }
        Ok(Checked { params: Params { binarizer, ..self }, constraints })
    }
}

/// Parameters that were checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    pub(super) params: Params,
    pub(super) constraints: Constraints,
}

impl Checked {
    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// A budget for one run; its clock starts now.
    pub fn budget(&self) -> Budget {
        Budget::new(self.params.limits)
    }
}

/// How masses that differ are added up. Results do not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Counting {
    /// In groups, unless weighing is estimated to be faster.
    #[default]
    Estimated,
    /// Groups of equal mass are counted, and counts multiplied.
    Groups,
    /// Each row is weighed.
    Weighed,
    /// The same, and where masses have many digits trees of depth two are bounded by their first ones.
    Roughly,
}

impl Counting {
    /// Every way.
    pub const ALL: [Self; 4] = [Counting::Estimated, Counting::Groups, Counting::Weighed, Counting::Roughly];
}

/// In which order the roots of a node are tried. Results do not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RootOrder {
    /// By the best tree of depth two with that root; ties by Gini impurity.
    #[default]
    DepthTwo,
    /// As the tests come.
    AsGiven,
    /// By the Gini impurity of a split of all cases.
    Gini,
    /// At random, from a fixed seed.
    Random,
}

impl RootOrder {
    /// Every order.
    pub const ALL: [Self; 4] = [RootOrder::DepthTwo, RootOrder::AsGiven, RootOrder::Gini, RootOrder::Random];
}

/// Parts of the fast search that can be turned off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct BinarySwitches {
    pub(super) cache: CacheKind,
    pub(super) similarity: bool,
    pub(super) transpositions: bool,
    pub(super) refined: bool,
    pub(super) subtraction: bool,
    pub(super) keeps_pairs: bool,
    pub(super) dynamic_order: bool,
    pub(super) order: RootOrder,
    pub(super) baseline: bool,
    pub(super) parallel_work: u64,
}
