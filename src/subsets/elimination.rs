//! Sequential backward elimination, as a black box and by what trees share (Ruggieri, JMLR 2019, section 6).

use std::rc::Rc;

use super::features::{Set, WithSets, with_sets};
use super::ground::{Ground, threads_of};
use super::trees::{Forest, Subtree};
use super::{Board, Checked, Estimator, Outcome, Removal, Stats};
use crate::budget::{Budget, Status, Stop};
use crate::data::Dataset;
use crate::error::Result;
use crate::tree::Tree;

/// Backward elimination: takes away the feature whose absence leaves the smallest error, until that error would grow.
/// Ties: a feature that the tree does not use, then the first. `white_box`: by what the trees share (DTsbe); else every
/// tree is grown on its own, with the same outcome.
///
/// Complexity: O(features^2) trees; by what they share, one is built anew only where the feature taken away last was used
/// in it.
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
    let ground = match Ground::new(building, search, checked, Some(error), budget)? {
        Ok(ground) => ground,
        Err(stop) => return Outcome::without_time(building, search, checked, error, (stop, budget)),
    };
    let run = Elimination { ground: &ground, threads: threads_of(checked), budget, board };
    let done = match white_box {
        true => with_sets(ground.n_features(), run),
        false => run.black_box(),
    };
    let Done { features, tree, error, path, stats, stopped } = done;
    let path = path.into_iter().map(|(feature, error)| Removal { feature, error: ground.fraction(error) }).collect();
    Ok(Outcome {
        features,
        tree,
        error: ground.fraction(error),
        objective: ground.fraction(error),
        lower_bound: 0.0,
        status: stopped.map_or(Status::Complete, Status::from),
        path,
        stats,
        seconds: budget.seconds(),
    })
}

pub(super) struct Elimination<'a> {
    pub ground: &'a Ground,
    pub threads: usize,
    pub budget: &'a Budget,
    pub board: &'a Board,
}

/// What elimination came to, in units.
pub(super) struct Done {
    features: Vec<usize>,
    tree: Tree,
    error: u64,
    path: Vec<(usize, u64)>,
    stats: Stats,
    stopped: Option<Stop>,
}

impl WithSets for Elimination<'_> {
    type Outcome = Done;

    fn run<S: Set + Send + Sync>(self) -> Done {
        let pool = self.ground.pool(self.threads);
        self.ground.deep(|| {
            let mut forest = Forest::<S>::new(self.ground, self.budget, 1, pool);
            let (mut stats, mut path) = (Stats::default(), Vec::new());
            let (required, optional) = self.ground.sets::<S>();
            let (left, stopped) = self.white_box(&mut forest, required.union(&optional), &mut path, &mut stats);
            stats.evaluations = forest.evaluations();
            (stats.case_sets, stats.flushes) = (forest.case_sets, forest.flushes);
            let (features, tree, error) = match &left {
                Some((features, tree)) => (features.list(), self.ground.finish(&forest.grown(tree)), tree.error),
                // Not even the first tree was done.
                None => {
                    let tree = self.grow(&[]);
                    let error = self.ground.error_of(&tree);
                    (self.ground.required.clone(), tree, error)
                }
            };
            Done { features, tree, error, path, stats, stopped }
        })
    }
}

/// The features left, and the tree over them.
pub(super) type Left<S> = (S, Rc<Subtree<S>>);

impl Elimination<'_> {
    /// DTsbe. A tree T_a without the feature a is that of the step before unless the feature b taken away since was used
    /// in it: DT(S - b - a) = DT(S - a) where b is not in features(DT(S - a)), and = DT(S - b) where a is not in
    /// features(DT(S - b)), both by Lemma 6.
    pub fn white_box<S: Set>(
        &self,
        forest: &mut Forest<'_, S>,
        mut features: S,
        path: &mut Vec<(usize, u64)>,
        stats: &mut Stats,
    ) -> (Option<Left<S>>, Option<Stop>) {
        stats.built = 1;
        let mut tree = match forest.tree(&features) {
            Ok(tree) => tree,
            Err(stop) => return (None, Some(stop)),
        };
        let required = S::of(forest.n_features(), &self.ground.required);
        let mut without: Vec<Option<Rc<Subtree<S>>>> = vec![None; forest.n_features()];
        loop {
            self.publish(tree.error);
            let mut best: Option<(u64, usize)> = None;
            for feature in tree.used.minus(&required).list() {
                let without = &mut without[feature];
                if without.is_none() {
                    let mut rest = features.clone();
                    rest.remove(feature);
                    stats.built += 1;
                    self.board.count(1, 0);
                    match forest.without(&tree, feature, &rest) {
                        Ok(tree) => *without = Some(tree),
                        Err(stop) => return (Some((features, tree)), Some(stop)),
                    }
                }
                let error = without.as_ref().map_or(u64::MAX, |without| without.error);
                if best.is_none_or(|(least, _)| error < least) {
                    best = Some((error, feature));
                }
            }
            // Without a feature that is not used the tree is the same; such come first where errors are equal.
            let unused = crate::bits::ones(features.minus(&tree.used).minus(&required).as_ref()).next();
            if let Some(unused) = unused.filter(|_| best.is_none_or(|(least, _)| tree.error <= least)) {
                best = Some((tree.error, unused));
            }
            let Some((error, feature)) = best.filter(|(error, _)| *error <= tree.error) else {
                return (Some((features, tree)), None);
            };
            features.remove(feature);
            path.push((feature, error));
            if tree.used.has(feature) {
                tree = without[feature].take().expect("it was built");
            }
            // T_a now lacks b too: that is taken away from it, which touches less of the tree than a does, or else the tree
            // was not the best. What is not used any more is built anew if it comes to be asked for.
            for (other, without) in without.iter_mut().enumerate() {
                if let Some(old) = without.take_if(|without| without.used.has(feature))
                    && tree.used.has(other)
                {
                    let mut rest = features.clone();
                    rest.remove(other);
                    stats.built += 1;
                    self.board.count(1, 0);
                    match forest.without(&old, feature, &rest) {
                        Ok(new) => *without = Some(new),
                        Err(stop) => return (Some((features, tree)), Some(stop)),
                    }
                }
            }
        }
    }

    /// SBE: every tree is grown on its own.
    fn black_box(&self) -> Done {
        let (mut stats, mut path) = (Stats::default(), Vec::new());
        let mut grow = |features: &[usize]| {
            stats.built += 1;
            self.board.count(1, 0);
            let tree = self.ground.grow(features, self.budget)?;
            let error = self.ground.error_of(&tree);
            Ok::<_, Stop>((tree, error))
        };
        let mut features = [&self.ground.required[..], &self.ground.optional].concat();
        features.sort_unstable();
        let (mut tree, mut error, mut stopped) = match grow(&features) {
            Ok((tree, error)) => (tree, error, None),
            // Not even the first tree was done.
            Err(stop) => {
                features.clone_from(&self.ground.required);
                let tree = self.grow(&[]);
                let error = self.ground.error_of(&tree);
                (tree, error, Some(stop))
            }
        };
        while stopped.is_none() {
            self.publish(error);
            let used = tree.features();
            let mut best: Option<((u64, bool, usize), Tree)> = None;
            for &feature in features.iter().filter(|feature| !self.ground.required.contains(feature)) {
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
                    path.push((feature, least));
                    (tree, error) = (without, least);
                }
            }
        }
        Done { features, tree, error, path, stats, stopped }
    }

    /// A tree that is shown, whatever time is left.
    fn grow(&self, features: &[usize]) -> Tree {
        self.ground.grow(features, &Budget::unlimited()).expect("without a limit")
    }

    fn publish(&self, error: u64) {
        self.board.publish(self.ground.fraction(error), 0.0);
    }
}
