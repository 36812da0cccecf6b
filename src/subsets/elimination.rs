//! Sequential backward elimination, as a black box and by what trees share (Ruggieri, JMLR 2019, section 6).

use std::cmp::Reverse;
use std::rc::Rc;

use super::features::{Set, WithSets, with_sets};
use super::ground::{Ground, threads_of};
use super::trees::{Forest, Subtree, kept_error};
use super::{Board, Checked, Estimator, Outcome, Removal, Stats};
use crate::budget::{Budget, Reserved, Status, Stop};
use crate::data::Dataset;
use crate::error::Result;
use crate::tree::Tree;

/// Backward elimination: takes away the feature whose absence leaves the smallest error, until that error would grow.
/// Ties: a feature that the tree does not use, then the first. `white_box`: by what the trees share (DTsbe); else every
/// tree is grown on its own, with the same outcome.
///
/// Complexity: O(features^2) trees; by what they share, one is built anew only where the feature taken away last was used
/// in it, and only as far as it may be the best.
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
        let pool = self.ground.pool(self.threads, self.budget);
        self.ground.deep(|stack| {
            let (mut stats, mut path) = (Stats::default(), Vec::new());
            let mut forest = match Forest::<S>::new(self.ground, (self.budget, stack), 1, pool) {
                Ok(forest) => forest,
                Err(stop) => return self.nothing(path, stats, stop),
            };
            let (required, optional) = self.ground.sets::<S>();
            let (left, stopped) = self.white_box(&mut forest, required.union(&optional), &mut path, &mut stats);
            stats.evaluations = forest.evaluations();
            (stats.case_sets, stats.flushes) = (forest.case_sets, forest.flushes);
            match &left {
                Some(Left { features, tree, .. }) => {
                    let (features, error) = (features.list(), tree.error);
                    let tree = self.ground.finish(&forest.grown(tree));
                    Done { features, tree, error, path, stats, stopped }
                }
                // Not even the first tree was done.
                None => self.nothing(path, stats, stopped.unwrap_or(Stop::Memory)),
            }
        })
    }
}

/// The features left, the tree over them, and what is charged for showing it.
pub(super) struct Left<'b, S> {
    pub features: S,
    pub tree: Rc<Subtree<S>>,
    pub shown: Reserved<'b>,
}

/// What is known of the tree without a feature: a tree from which others are still to be taken, that may lack parts.
struct Without<S> {
    tree: Rc<Subtree<S>>,
    taken: S,
    /// What it may err on: as the last one that was whole.
    estimate: u64,
}

impl<S: Set> Without<S> {
    /// Whether it is the tree. DT(S - b) = DT(S) where b is not in features(DT(S)), by Lemma 6.
    fn is_built(&self) -> bool {
        self.tree.used.is_apart_from(&self.taken)
    }

    fn kept(&self) -> u64 {
        kept_error(&self.tree, &self.taken)
    }
}

impl<'a> Elimination<'a> {
    /// DTsbe. The tree T_a without the feature a is that of a step before, less the features b taken away since; nothing is
    /// to be done where it uses none of them. It is built no further than it may be the best: where the leaves that it has
    /// err on more than the best tree so far it is given up, and the next step goes on from there.
    pub fn white_box<S: Set>(
        &self,
        forest: &mut Forest<'_, S>,
        features: S,
        path: &mut Vec<(usize, u64)>,
        stats: &mut Stats,
    ) -> (Option<Left<'a, S>>, Option<Stop>) {
        stats.built = 1;
        let n = forest.n_features();
        // What is known of the tree without each feature.
        let work = self.budget.reserve((n * (size_of::<Option<Without<S>>>() + 2 * (16 + n / 8))) as u64);
        let first = forest.tree(&features).and_then(|tree| Ok((work?, self.shown(&tree)?, tree)));
        let mut left = match first {
            Ok((work, shown, tree)) => (Left { features, tree, shown }, work),
            Err(stop) => return (None, Some(stop)),
        };
        let stop = self.eliminate(forest, &mut left.0, path, stats).err();
        (Some(left.0), stop)
    }

    /// Charges what it takes to show a tree.
    fn shown<S: Set>(&self, tree: &Rc<Subtree<S>>) -> std::result::Result<Reserved<'a>, Stop> {
        let n_nodes = Forest::size(tree, usize::MAX).unwrap_or(usize::MAX);
        self.budget.reserve(self.ground.shown_bytes(n_nodes))
    }

    /// The steps of it.
    fn eliminate<S: Set>(
        &self,
        forest: &mut Forest<'_, S>,
        left: &mut Left<'a, S>,
        path: &mut Vec<(usize, u64)>,
        stats: &mut Stats,
    ) -> std::result::Result<(), Stop> {
        let n = forest.n_features();
        let Left { features, tree, shown } = left;
        let required = S::of(n, &self.ground.required);
        let mut without: Vec<Option<Without<S>>> = (0..n).map(|_| None).collect();
        loop {
            self.publish(tree.error);
            // Without a feature that is not used the tree is the same; such come first where errors are equal.
            let unused = crate::bits::ones(features.minus(&tree.used).minus(&required).as_ref()).next();
            let mut best = unused.map(|feature| (tree.error, feature));
            // The error and the feature to be below.
            let mut bar = (tree.error, if unused.is_some() { 0 } else { usize::MAX });
            // From the tree of a step before or from that of the last one, whichever keeps more. Those that promise the
            // least errors first: so others are given up soon.
            let mut candidates = Vec::new();
            for feature in tree.used.minus(&required).list() {
                self.budget.check()?;
                let from_tree = Without { tree: tree.clone(), estimate: tree.error, taken: S::of(n, &[feature]) };
                let of_tree = from_tree.kept();
                let before = without[feature].take().map(|before| (before.kept(), before));
                let (kept, this) = match before {
                    None => (of_tree, from_tree),
                    Some((kept, before)) if before.is_built() || kept >= of_tree => (kept, before),
                    Some((_, before)) => {
                        forest.let_go(before.tree);
                        (of_tree, Without { estimate: before.estimate, ..from_tree })
                    }
                };
                candidates.push((this.estimate, Reverse(kept), feature));
                without[feature] = Some(this);
            }
            candidates.sort_unstable();
            for (_, Reverse(bound), feature) in candidates {
                if (bound, feature) >= bar {
                    continue;
                }
                let mut this = without[feature].take().expect("made above");
                if !this.is_built() {
                    let mut rest = features.clone();
                    rest.remove(feature);
                    // A later feature has to be better than the best.
                    let most = bar.0 - u64::from(feature > bar.1);
                    stats.built += 1;
                    self.board.count(1, 0);
                    let without = forest.without_all(&this.tree, &this.taken, &rest, most - bound)?;
                    forest.let_go(std::mem::replace(&mut this.tree, without));
                    if this.is_built() {
                        (this.estimate, this.taken) = (this.tree.error, S::empty(n));
                    } else {
                        stats.pruned += 1;
                    }
                }
                if this.is_built() && (this.tree.error, feature) < bar {
                    bar = (this.tree.error, feature);
                    best = Some(bar);
                } else if let Some((_, best)) = best {
                    // If this will not be where the next step starts, as far as can be told, it need not be kept.
                    let mut taken = this.taken.clone();
                    taken.insert(best);
                    let next = without[best].as_ref().map_or(&*tree, |best| &best.tree);
                    let of_this = S::of(n, &[feature]);
                    if kept_error(next, &of_this) > kept_error(&this.tree, &taken) {
                        forest.let_go(std::mem::replace(&mut this.tree, tree.clone()));
                        this.taken = of_this;
                    }
                }
                without[feature] = Some(this);
            }
            let Some((error, feature)) = best else { return Ok(()) };
            if tree.used.has(feature) {
                let without = without[feature].take().expect("it was built").tree;
                *shown = self.shown(&without)?;
                forest.let_go(std::mem::replace(tree, without));
            }
            features.remove(feature);
            path.push((feature, error));
            for (other, without) in without.iter_mut().enumerate() {
                match without {
                    Some(this) if tree.used.has(other) => this.taken.insert(feature),
                    // Should it be used again, it is taken from the tree of that step.
                    Some(_) => without.take().into_iter().for_each(|this| forest.let_go(this.tree)),
                    None => {}
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
            let error = self.ground.error_of(&tree, self.budget)?;
            Ok::<_, Stop>((tree, error))
        };
        let mut features = [&self.ground.required[..], &self.ground.optional].concat();
        features.sort_unstable();
        let (mut tree, mut error, mut stopped) = match grow(&features) {
            Ok((tree, error)) => (tree, error, None),
            // Not even the first tree was done.
            Err(stop) => return self.nothing(path, stats, stop),
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

    /// A leaf, where there was no time or room for a tree.
    fn nothing(&self, path: Vec<(usize, u64)>, stats: Stats, stop: Stop) -> Done {
        let (tree, error) = self.ground.root();
        Done { features: self.ground.required.clone(), tree, error, path, stats, stopped: Some(stop) }
    }

    fn publish(&self, error: u64) {
        self.board.publish(self.ground.fraction(error), 0.0);
    }
}
