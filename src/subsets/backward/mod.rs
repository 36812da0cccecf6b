//! Sequential backward elimination (section 6 of the paper), as a black box (SBE) and by what trees share (DTsbe).

pub(super) mod white_box;

use white_box::{Eliminated, EliminationStep, dt_sbe};

use super::case_graph::CaseGraph;
use super::context::SearchContext;
use super::feature_set::{FeatureSet, WithFeatureSet, with_feature_set};
use super::outcome::{Outcome, Removal, Stats};
use super::params::{Checked, Estimator};
use super::progress::Board;
use crate::budget::{Budget, Status, Stop};
use crate::data::Dataset;
use crate::error::Result;
use crate::tree::Tree;

/// Backward elimination: removes the feature whose absence leaves the least error, until that error would grow. Ties: a
/// feature that the tree does not use, then the first. `white_box`: by what the trees share (DTsbe); otherwise every
/// tree is grown on its own (SBE), with the same outcome.
///
/// Complexity: O(features^2) trees; in DTsbe, one is built anew only where it uses the feature removed last, and only
/// as far as it may be the best.
///
/// # Errors
/// As [`distinct`](super::distinct()); if there is no search set where one is needed, its schema differs or it has no
/// case.
pub fn eliminate(
    building: &Dataset,
    search: Option<&Dataset>,
    checked: &Checked,
    error: Estimator,
    white_box: bool,
    budget: &Budget,
    board: &Board,
) -> Result<Outcome> {
    let context = match SearchContext::new(building, search, checked, Some(error), budget) {
        Ok(context) => context,
        Err(failed) => return Outcome::without_time(building, search, checked, error, failed.stop()?, budget),
    };
    let run = BackwardElimination { context: &context, threads: checked.threads(), budget, board };
    let selected = match white_box {
        true => with_feature_set(context.n_features(), run),
        false => run.black_box(),
    };
    let Selected { features, tree, error, path, stats, stopped } = selected;
    let removal = |EliminationStep { error, feature }| Removal { feature, error: context.fraction(error) };
    let error = context.fraction(error);
    Ok(Outcome {
        features,
        tree,
        error,
        objective: error,
        lower_bound: 0.0,
        status: stopped.map_or(Status::Complete, Status::from),
        path: path.into_iter().map(removal).collect(),
        stats,
        seconds: budget.seconds(),
    })
}

struct BackwardElimination<'a> {
    context: &'a SearchContext,
    threads: usize,
    budget: &'a Budget,
    board: &'a Board,
}

/// The features selected and their tree, with its error in units.
struct Selected {
    features: Vec<usize>,
    tree: Tree,
    error: u64,
    path: Vec<EliminationStep>,
    stats: Stats,
    stopped: Option<Stop>,
}

impl WithFeatureSet for BackwardElimination<'_> {
    type Output = Selected;

    fn run<S: FeatureSet + Send + Sync>(self) -> Selected {
        let pool = self.context.pool(self.threads, self.budget);
        self.context.on_deep_stack(|stack| {
            let mut graph = match CaseGraph::<S>::new(self.context, self.budget, stack, 1, pool) {
                Ok(graph) => graph,
                Err(stop) => return self.nothing(Stats::default(), stop),
            };
            let features = self.context.all_subsets::<S>().features();
            let Eliminated { remaining, path, built, pruned, stopped } =
                dt_sbe(self.context, &mut graph, features, self.budget, self.board);
            let (evaluations, case_sets) = (graph.evaluations(), graph.case_sets);
            let stats = Stats { built, pruned, evaluations, case_sets, flushes: graph.flushes() };
            match &remaining {
                Some(remaining) => Selected {
                    features: remaining.features.list(),
                    tree: self.context.finish(&graph.grown(&remaining.tree)),
                    error: remaining.tree.error,
                    path,
                    stats,
                    stopped,
                },
                None => self.nothing(stats, stopped.unwrap_or(Stop::Memory)),
            }
        })
    }
}

impl BackwardElimination<'_> {
    /// SBE: every tree is grown on its own.
    fn black_box(&self) -> Selected {
        let (mut stats, mut path) = (Stats::default(), Vec::new());
        let mut grow = |features: &[usize]| {
            stats.built += 1;
            self.board.count(1, 0);
            let tree = self.context.grow(features, self.budget)?;
            let error = self.context.estimator.error_of(&tree, self.budget)?;
            Ok::<_, Stop>((tree, error))
        };
        let mut features = [&self.context.required[..], &self.context.optional].concat();
        features.sort_unstable();
        let (mut tree, mut error, mut stopped) = match grow(&features) {
            Ok((tree, error)) => (tree, error, None),
            // Not even the first tree was finished.
            Err(stop) => return self.nothing(stats, stop),
        };
        while stopped.is_none() {
            self.board.publish(self.context.fraction(error), 0.0);
            let used = tree.features();
            let mut best: Option<((u64, bool, usize), Tree)> = None;
            for &feature in features.iter().filter(|feature| !self.context.required.contains(feature)) {
                let rest: Vec<usize> = features.iter().copied().filter(|&other| other != feature).collect();
                match grow(&rest) {
                    Ok((tree, error)) => {
                        let key = (error, used.contains(&(feature as u32)), feature);
                        if best.as_ref().is_none_or(|(least, _)| key < *least) {
                            best = Some((key, tree));
                        }
                    }
                    Err(stop) => {
                        stopped = Some(stop);
                        break;
                    }
                }
            }
            match best.filter(|((least, ..), _)| stopped.is_none() && *least <= error) {
                None => break,
                Some(((least, _, feature), without)) => {
                    features.retain(|&other| other != feature);
                    path.push(EliminationStep { error: least, feature });
                    (tree, error) = (without, least);
                }
            }
        }
        Selected { features, tree, error, path, stats, stopped }
    }

    /// A leaf, where there was no time or memory for a tree.
    fn nothing(&self, stats: Stats, stop: Stop) -> Selected {
        let (tree, error) = self.context.root();
        let features = self.context.required.clone();
        Selected { features, tree, error, path: Vec::new(), stats, stopped: Some(stop) }
    }
}
