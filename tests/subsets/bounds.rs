//! The lower bound of a search that ends early never exceeds the least value of all subsets.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lattree::greedy::{self, Missing};
use lattree::subsets::{Goal, Params};

use crate::acceptable::{Judged, random_goal};
use crate::calls::accept;
use crate::common::{Random, for_seeds};
use crate::problem::{Problem, repeated, with_gaps};

/// With so large a delta the first bound ends the search, and is returned as it is. Required features make the bound
/// positive. Cases with many missing values count only where all their leaves are decided, so that a wrong bound shows
/// up with these. Large tables get another bound than small ones.
#[test]
fn bounds_never_exceed_the_least() {
    let [bounds, positive] = [0; 2].map(AtomicU64::new);
    for_seeds(3_000, |seed| {
        let mut random = Random::new(16_000_000 + seed);
        let Problem { data, search, params } = Problem::random(16_000_000 + 64 * seed);
        if data.columns().len() > 9 {
            return;
        }
        let fractional = Missing::Fractional;
        let missing = if random.chance(80) { fractional } else { params.greedy.missing };
        let search = with_gaps(&mut random, &search, if missing == fractional { 30 } else { 5 });
        let data = match random.below(30) {
            0 => repeated(&data, 5_000),
            1 | 2 => repeated(&data, 500),
            _ => data,
        };
        let (required, free): (Vec<usize>, Vec<usize>) = (0..data.columns().len()).partition(|_| random.chance(60));
        let params = Params {
            greedy: greedy::Params { missing, min_gain: 0.0, min_cases: 2, max_depth: None, ..params.greedy },
            required,
            candidates: Some(free),
        };
        let problem = Problem { data, search, params };
        let goal = Goal { delta: *random.pick(&[100.0, 100.0, 0.1, 0.05, 0.02]), ..random_goal(&mut random) };
        let Some(judged) = Judged::new(&problem, goal) else { return };
        let outcome = accept(&problem.data, Some(&problem.search), &problem.params, goal);
        let say = |what: &str| {
            format!("seed {seed}, {goal:?}, {} for {}: {what}\n{}", outcome.lower_bound, judged.least, problem.words())
        };
        let worth = judged.check(&outcome, goal, &say);
        assert!(worth <= judged.least + goal.delta + judged.slack(), "{}", say("not acceptable"));
        bounds.fetch_add(1, Relaxed);
        positive.fetch_add(u64::from(outcome.lower_bound > 0.0 && outcome.lower_bound < worth), Relaxed);
    });
    let [bounds, positive] = [bounds, positive].map(AtomicU64::into_inner);
    println!("{bounds} bounds, {positive} of them positive and less than what was found");
    assert!(20 * positive + 100 > bounds);
}
