//! The best subset, and those that come close to it, against all subsets.

use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lattree::budget::Status;
use lattree::subsets::{Estimator, Goal, Outcome};
use lattree::tree::Tree;

use crate::brute::{Lattice, Set, columns, set_of};
use crate::calls::{accept, remove, try_all};
use crate::common::{Random, for_seeds};
use crate::judge::Judge;
use crate::problem::Problem;

/// All trees of a problem, and how they are judged: by their error and a penalty for each feature that they use.
pub struct Judged<'a> {
    pub lattice: Lattice<'a>,
    pub judge: Judge<'a>,
    /// The least sum of error and penalty.
    pub least: f64,
}

impl<'a> Judged<'a> {
    /// `None` if no tree can be grown.
    pub fn new(problem: &'a Problem, goal: Goal) -> Option<Self> {
        let lattice = Lattice::new(&problem.data, &problem.params);
        if !lattice.is_sound() {
            return None;
        }
        let judge = Judge::new(problem, goal.error);
        let worth = |set: Set| {
            let tree = lattice.tree(set);
            judge.error(&tree) + goal.feature_penalty * f64::from(lattice.used(&tree).count_ones())
        };
        let least = lattice.subsets().into_iter().map(worth).fold(f64::INFINITY, f64::min);
        Some(Judged { lattice, judge, least })
    }

    /// The tolerance when two such sums are compared.
    pub fn slack(&self) -> f64 {
        self.judge.tolerance() * self.least.max(1.0)
    }

    /// Checks that an outcome is a subset with its tree and its value, and returns the value.
    pub fn check(&self, outcome: &Outcome, goal: Goal, say: &dyn Fn(&str) -> String) -> f64 {
        let (used, selected) = (self.lattice.used(&outcome.tree), set_of(&outcome.features));
        assert_eq!(outcome.features, columns(selected), "{}", say("features ascend"));
        assert_eq!(selected & !(self.lattice.required | self.lattice.candidates), 0, "{}", say("features not offered"));
        let error = self.judge.error(&outcome.tree);
        let far = (outcome.error - error).abs() > self.judge.tolerance() * error.max(1e-300);
        assert!(!far, "{}", say(&format!("the error is {}, not {error}", outcome.error)));
        assert!(outcome.lower_bound <= self.least + self.slack(), "{}", say("the bound exceeds the least"));
        error + goal.feature_penalty * f64::from(used.count_ones())
    }

    /// The tree over the features selected. Those that are required need not be listed where it does not use them.
    pub fn tree_of(&self, outcome: &Outcome) -> Rc<Tree> {
        self.lattice.tree(set_of(&outcome.features) | self.lattice.required)
    }
}

/// Checks that the tree uses every feature that was selected, unless it is required.
fn uses_its_features(judged: &Judged, outcome: &Outcome, say: &dyn Fn(&str) -> String) {
    let [used, selected] = [judged.lattice.used(&outcome.tree), set_of(&outcome.features)];
    assert_eq!(selected & !used & !judged.lattice.required, 0, "{}", say("features that the tree does not use"));
    assert!(*judged.tree_of(outcome) == outcome.tree, "{}", say("the tree is not that of the features"));
}

pub fn random_goal(random: &mut Random) -> Goal {
    Goal {
        error: *random.pick(&[Estimator::Search, Estimator::Search, Estimator::Training, Estimator::Pessimistic]),
        delta: 0.0,
        feature_penalty: *random.pick(&[0.0, 0.0, 0.0, 0.01, 0.0625, 0.1, 0.3]),
    }
}

#[test]
fn the_best_subset_is_found_and_others_are_acceptable() {
    let [problems, not_all, acceptable] = [0; 3].map(AtomicU64::new);
    for_seeds(3_000, |seed| {
        let problem = Problem::random(seed);
        let mut random = Random::new(10_000_000 + seed);
        let best = random_goal(&mut random);
        let Some(judged) = Judged::new(&problem, best) else { return };
        let near = Goal { delta: *random.pick(&[0.01, 0.02, 0.1, 0.1, 0.25, 0.5, 2.0]), ..best };
        let search = (best.error == Estimator::Search).then_some(&problem.search);
        let eliminated = remove(&problem.data, search, &problem.params, best.error, true);
        for goal in [best, near] {
            let mut first: Option<Outcome> = None;
            for threads in [1, 2, 4] {
                let say = |what: &str| {
                    format!(
                        "seed {seed}, {goal:?}, {threads} threads, least {}: {what}\n{}",
                        judged.least,
                        problem.words()
                    )
                };
                let outcome = accept(&problem.data, search, &problem.with_threads(threads), goal);
                let worth = judged.check(&outcome, goal, &say);
                uses_its_features(&judged, &outcome, &say);
                let used = outcome.tree.features().len();
                let n_eliminated = eliminated.tree.features().len();
                let by_elimination = judged.judge.error(&eliminated.tree) + goal.feature_penalty * n_eliminated as f64;
                // The search starts from elimination; of two subsets of one value it keeps the smaller one.
                assert!(worth <= by_elimination + judged.slack(), "{}", say("worse than elimination"));
                let is_tie = worth >= by_elimination - judged.slack();
                assert!(!is_tie || used <= n_eliminated, "{}", say("more features than elimination for the same"));
                let found = format!("found {worth}, {:?}, bound {}", outcome.status, outcome.lower_bound);
                assert!(worth <= judged.least + goal.delta + judged.slack(), "{}", say(&found));
                assert!(worth <= outcome.lower_bound + goal.delta + judged.slack(), "{}", say(&found));
                match outcome.status {
                    Status::Optimal => assert!(worth <= outcome.lower_bound + judged.slack(), "{}", say(&found)),
                    Status::Acceptable => assert!(goal.delta > 0.0, "{}", say(&found)),
                    _ => panic!("{}", say(&found)),
                }
                acceptable.fetch_add(u64::from(outcome.status == Status::Acceptable), Relaxed);
                let Some(first) = &first else {
                    first = Some(outcome);
                    continue;
                };
                assert_eq!(outcome.features, first.features, "{}", say("features depend on threads"));
                assert_eq!(outcome.error, first.error, "{}", say("the error depends on threads"));
                assert!(outcome.tree.to_json() == first.tree.to_json(), "{}", say("the tree depends on threads"));
            }
        }
        problems.fetch_add(1, Relaxed);
        let whole = judged.lattice.tree(judged.lattice.required | judged.lattice.candidates);
        let used = f64::from(judged.lattice.used(&whole).count_ones());
        let of_all = judged.judge.error(&whole) + best.feature_penalty * used;
        not_all.fetch_add(u64::from(of_all > judged.least + judged.slack()), Relaxed);
    });
    let [problems, not_all, acceptable] = [problems, not_all, acceptable].map(AtomicU64::into_inner);
    println!("{problems} tables, some subset better than all features in {not_all}; {acceptable} not proved optimal");
    assert!(problems < 1_000 || (5 * not_all > problems && 50 * acceptable > problems));
}

/// A training error is the error on the building set.
#[test]
fn the_training_error_is_that_of_a_search_set() {
    for_seeds(500, |seed| {
        let mut problem = Problem::random(seed);
        problem.params.greedy.class_weight = lattree::greedy::ClassWeight::Equal;
        if !Lattice::new(&problem.data, &problem.params).is_sound() {
            return;
        }
        let goal = |error| Goal { error, ..Goal::default() };
        let training = accept(&problem.data, None, &problem.params, goal(Estimator::Training));
        let search = accept(&problem.data, Some(&problem.data), &problem.params, goal(Estimator::Search));
        let say = format!("seed {seed}\n{}", problem.words());
        assert_eq!(training.features, search.features, "{say}");
        assert_eq!((training.error, training.lower_bound), (search.error, search.lower_bound), "{say}");
        assert!(training.tree == search.tree, "{say}");
    });
}

/// Least error and penalty, then the fewest features used, then the first in the order of binary counting.
#[test]
fn trying_all_subsets_is_brute_force() {
    for_seeds(1_000, |seed| {
        let problem = Problem::random(seed);
        let mut random = Random::new(11_000_000 + seed);
        let goal = Goal { delta: *random.pick(&[0.0, 0.5]), ..random_goal(&mut random) };
        let Some(judged) = Judged::new(&problem, goal) else { return };
        let lattice = &judged.lattice;
        let most = random.chance(30).then(|| random.below(6) as usize);
        let most = most.filter(|&most| most >= lattice.required.count_ones() as usize);
        let subsets: Vec<Set> = lattice.subsets();
        let few = |set: &Set| most.is_none_or(|most| set.count_ones() as usize <= most);
        let offered: Vec<Set> = subsets.into_iter().filter(few).collect();
        let worth = |set: Set| {
            let tree = lattice.tree(set);
            let used = lattice.used(&tree).count_ones();
            (judged.judge.error(&tree) + goal.feature_penalty * f64::from(used), used)
        };
        let least = offered.iter().map(|&set| worth(set).0).fold(f64::INFINITY, f64::min);
        let ties: Vec<Set> = offered.into_iter().filter(|&set| worth(set).0 <= least + judged.slack()).collect();
        let fewest = ties.iter().map(|&set| worth(set).1).min().expect("a subset");
        let best = ties.into_iter().find(|&set| worth(set).1 == fewest).expect("the least");
        let say = |what: &str| format!("seed {seed}, {goal:?}, up to {most:?}: {what}\n{}", problem.words());
        let search = (goal.error == Estimator::Search).then_some(&problem.search);
        let outcome = try_all(&problem.data, search, &problem.params, goal, most);
        judged.check(&Outcome { lower_bound: 0.0, ..outcome.clone() }, goal, &say);
        uses_its_features(&judged, &outcome, &say);
        // The pessimistic estimate is rounded, so it may be a little less for a larger subset.
        if goal.error != Estimator::Pessimistic {
            let selected = set_of(&outcome.features) | lattice.required;
            assert_eq!(selected, best, "{}", say(&format!("{:?}, not {:?}", columns(selected), columns(best))));
        } else {
            assert!(
                worth(set_of(&outcome.features) | lattice.required).0 <= least + judged.slack(),
                "{}",
                say("worse")
            );
        }
        if most.is_none() {
            assert!(
                (outcome.lower_bound - judged.least).abs() <= judged.slack(),
                "{}",
                say(&format!("the bound is {}, not {}", outcome.lower_bound, judged.least))
            );
            assert_eq!(outcome.status, Status::Optimal, "{}", say("status"));
        }
    });
}
