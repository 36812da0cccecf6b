//! Backward elimination: DTsbe and SBE against a literal loop.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lattree::budget::Status;
use lattree::data::{Column, Dataset, Kind, NumericType};
use lattree::greedy::{self, Missing};
use lattree::subsets::{Estimator, Outcome, Params};

use crate::brute::{Lattice, columns, set_of};
use crate::calls::remove;
use crate::common::tables::{feature, levels, random_params, random_table_of, table};
use crate::common::{Random, for_seeds};
use crate::judge::Judge;
use crate::problem::Problem;

/// The path of removals, what it leaves, and its error: smallest error, then a feature that the tree does not use, then
/// the lowest column, until the error would grow.
fn literal(lattice: &Lattice, judge: &Judge) -> (Vec<(usize, f64)>, Vec<usize>, f64) {
    let mut set = lattice.required | lattice.candidates;
    let mut path = Vec::new();
    loop {
        let tree = lattice.tree(set);
        let used = lattice.used(&tree);
        let removable = columns(set & !lattice.required);
        let next = removable.into_iter().map(|column| {
            let fewer = lattice.tree(set & !(1 << column));
            (judge.mistakes(&fewer), used >> column & 1, column)
        });
        match next.min() {
            Some((mistakes, _, column)) if mistakes <= judge.mistakes(&tree) => {
                set &= !(1 << column);
                path.push((column, judge.error(&lattice.tree(set))));
            }
            _ => return (path, columns(set), judge.error(&tree)),
        }
    }
}

/// As [`literal`], but follows a path that was given, where errors are no fractions: no step may be worse than another
/// by more than rounding, and no improvement is left.
fn retrace(lattice: &Lattice, judge: &Judge, outcome: &Outcome, say: &dyn Fn(&str) -> String) {
    let mut set = lattice.required | lattice.candidates;
    let near = |a: f64, b: f64| a <= b + judge.tolerance() * b;
    for step in 0..=outcome.path.len() {
        let error = judge.error(&lattice.tree(set));
        let removable = columns(set & !lattice.required);
        let errors = removable.iter().map(|&column| judge.error(&lattice.tree(set & !(1 << column))));
        let least = errors.fold(f64::INFINITY, f64::min);
        let Some(removal) = outcome.path.get(step) else {
            let stops = least > error || !near(least, error * (1.0 - 2.0 * judge.tolerance()));
            return assert!(stops, "{}", say(&format!("{least} after {error}, and it stopped")));
        };
        assert!(set & !lattice.required & 1 << removal.feature != 0, "{}", say("not there to remove"));
        set &= !(1 << removal.feature);
        let left = judge.error(&lattice.tree(set));
        assert!(near(left, least) && near(left, error), "{}", say(&format!("{error}, then {left}, not {least}")));
        assert!(near(left, removal.error) && near(removal.error, left), "{}", say("the error of a step"));
    }
}

fn steps(outcome: &Outcome) -> Vec<(usize, f64)> {
    outcome.path.iter().map(|removal| (removal.feature, removal.error)).collect()
}

fn same(white: &Outcome, black: &Outcome, say: &dyn Fn(&str) -> String) {
    assert_eq!(steps(white), steps(black), "{}", say("white and black paths"));
    assert_eq!((&white.features, white.error), (&black.features, black.error), "{}", say("white and black outcomes"));
    assert!(white.tree.to_json() == black.tree.to_json(), "{}", say("white and black trees"));
    assert_eq!([white.status, black.status], [Status::Complete; 2], "{}", say("status"));
    assert_eq!([white.lower_bound, black.lower_bound], [0.0; 2], "{}", say("a heuristic proves nothing"));
}

#[test]
fn both_boxes_take_the_same_path() {
    let [removals, kept, white_built, black_built] = [0; 4].map(AtomicU64::new);
    for_seeds(3_000, |seed| {
        let problem = Problem::random(seed);
        let lattice = Lattice::new(&problem.data, &problem.params);
        if !lattice.is_sound() {
            return;
        }
        let mut random = Random::new(12_000_000 + seed);
        let goal = crate::acceptable::random_goal(&mut random);
        let judge = Judge::new(&problem, goal.error);
        let search = (goal.error == Estimator::Search).then_some(&problem.search);
        let params = problem.with_threads(*random.pick(&[1, 2, 4]));
        let [white, black] = [true, false].map(|white| remove(&problem.data, search, &params, goal.error, white));
        let say = |what: &str| format!("seed {seed}, {:?}: {what}\n{}", goal.error, problem.words());
        same(&white, &black, &say);
        let left = set_of(&white.features);
        assert!(*lattice.tree(left) == white.tree, "{}", say("the tree is not that of the features"));
        assert_eq!(
            left & !lattice.required,
            lattice.used(&white.tree) & !lattice.required,
            "{}",
            say("unused are left")
        );
        match judge {
            Judge::Leaves => retrace(&lattice, &judge, &white, &say),
            Judge::Cases { .. } => {
                let (path, features, error) = literal(&lattice, &judge);
                let found = steps(&white);
                let near = |a: f64, b: f64| (a - b).abs() <= 1e-12 * b.max(1.0);
                let same =
                    found.len() == path.len() && found.iter().zip(&path).all(|(a, b)| a.0 == b.0 && near(a.1, b.1));
                assert!(same, "{}", say(&format!("{found:?}, not {path:?}")));
                assert!(white.features == features && near(white.error, error), "{}", say("what is left"));
            }
        }
        removals.fetch_add(white.path.len() as u64, Relaxed);
        kept.fetch_add(white.features.len() as u64, Relaxed);
        white_built.fetch_add(white.stats.built, Relaxed);
        black_built.fetch_add(black.stats.built, Relaxed);
    });
    let [removals, kept, white, black] = [removals, kept, white_built, black_built].map(AtomicU64::into_inner);
    println!("{removals} features removed, {kept} kept; {white} trees built of {black}");
    assert!(white < black && removals > 0 && kept > 0);
}

/// More columns than a word has bits. SBE takes every sixth column only, since the number of trees is quadratic in that
/// of columns.
#[test]
fn wide_tables() {
    for seed in 0..6 {
        let mut random = Random::new(13_000_000 + seed);
        let data = random_table_of(&mut random, |random| 129 + random.below(100), true);
        let n = data.columns().len();
        let drawn = random_params(&mut random, Missing::Fractional, &data);
        let params = Params { greedy: greedy::Params { max_leaves: None, ..drawn }, ..Params::default() };
        let [candidates, required] = [3, 1].map(|first| (first..n).step_by(6).collect::<Vec<_>>());
        let some = Params { candidates: Some(candidates), required: required.clone(), ..params.clone() };
        for error in [Estimator::Training, Estimator::Pessimistic] {
            let [white, black] = [true, false].map(|white| remove(&data, None, &some, error, white));
            same(&white, &black, &|what| format!("seed {seed}, {error:?}: {what}, {params:?}\n{data:?}"));
            assert!(required.iter().all(|column| white.features.contains(column)), "seed {seed}");
            let all = remove(&data, None, &params, error, true);
            assert_eq!(all.path.len() + all.features.len(), n, "seed {seed}");
            let used: Vec<usize> = all.tree.features().into_iter().map(|column| column as usize).collect();
            assert_eq!(all.features, used, "seed {seed}");
        }
    }
}

/// Columns of two thousand values with gaps. Some repeat another column, perhaps reversed, except for a few cells:
/// there the screening of columns decides which ones are evaluated exactly, and which are ties. Rows with counts are
/// not screened, even if all counts are one: so SBE gets such rows.
#[test]
fn many_values() {
    let [removed, parts] = [0; 2].map(AtomicU64::new);
    for_seeds(400, |seed| {
        let mut random = Random::new(14_000_000 + seed);
        let n_rows = 1_700 + random.below(600) as usize;
        let missing = *random.pick(&[0, 3, 10]);
        let n_classes = *random.pick(&[2, 2, 2, 3]);
        let mut columns = Vec::new();
        let mut signal = vec![0; n_rows];
        let mut before: Option<(u64, Vec<Option<u64>>)> = None;
        for index in 0..5 {
            let mut n_values = *random.pick(&[2, 5, 60, 100_000, 100_000]);
            let mut cells: Vec<Option<u64>> =
                (0..n_rows).map(|_| Some(random.below(n_values)).filter(|_| !random.chance(missing))).collect();
            if let Some(before) = before.take().filter(|_| random.chance(40)) {
                (n_values, cells) = before;
                if random.chance(50) {
                    cells.iter_mut().flatten().for_each(|cell| *cell = n_values - 1 - *cell);
                }
                for _ in 0..*random.pick(&[0, 1, 4, 20]) {
                    cells[random.below(n_rows as u64) as usize] = Some(random.below(n_values));
                }
            }
            before = Some((n_values, cells.clone()));
            if random.chance(60) {
                let half = |cell: &Option<u64>| cell.is_some_and(|cell| 2 * cell >= n_values);
                signal.iter_mut().zip(&cells).for_each(|(signal, cell)| *signal ^= u64::from(half(cell)));
            }
            let name = format!("x{index}");
            columns.push(if n_values <= 60 && random.chance(60) {
                let kind = Kind::Nominal((0..n_values).map(|level| format!("l{level}")).collect());
                let codes: Vec<Option<u32>> = cells.iter().map(|cell| cell.map(|cell| cell as u32)).collect();
                (feature(&name, kind), levels(&codes))
            } else {
                let values = cells.iter().map(|cell| cell.map_or(f64::NAN, |cell| cell as f64)).collect();
                (feature(&name, Kind::Continuous(NumericType::Float)), Column::Floats(values))
            });
        }
        let noise = *random.pick(&[2, 20, 100]);
        let class = |signal: &u64| if random.chance(noise) { random.below(n_classes) } else { *signal } as u32;
        let classes: Vec<u32> = signal.iter().map(class).collect();
        let [data, counted] = [None, Some(vec![1; n_rows])]
            .map(|counts| table(columns.clone(), n_classes as usize, classes.clone(), counts, None));
        let split = |data: &Dataset| data.split(0.3, seed, false).expect("there are enough rows");
        let ((building, search), (counted, _)) = (split(&data), split(&counted));
        let handling = *random.pick(&[Missing::Fractional, Missing::Fractional, Missing::Level]);
        let (min_cases, min_leaf) = (*random.pick(&[2, 8, 40]), *random.pick(&[1, 1, 3]));
        let greedy = greedy::Params { missing: handling, min_cases, min_leaf, ..greedy::Params::default() };
        let params = Params { greedy, ..Params::default() };
        let remove = |data, white| remove(data, Some(&search), &params, Estimator::Search, white);
        let black = remove(&counted, false);
        for white in [remove(&building, true), remove(&building, false), remove(&counted, true)] {
            same(&white, &black, &|what| format!("seed {seed}: {what}, {params:?}"));
        }
        removed.fetch_add(black.path.len() as u64, Relaxed);
        parts.fetch_add(u64::from(missing > 0 && handling == Missing::Fractional), Relaxed);
    });
    let [removed, parts] = [removed, parts].map(AtomicU64::into_inner);
    println!("{removed} features removed, {parts} tables of parts of cases");
    assert!(removed > 0 && parts > 0);
}

/// `n` columns of which column i alone tells class i from class 0.
fn one_for_each_class(n: usize, useless: usize) -> Dataset {
    let classes: Vec<u32> = (0..=n as u32).flat_map(|class| [class; 3]).collect();
    let column = |i: usize| {
        let values = classes.iter().map(|&class| i64::from(class == i as u32 + 1)).collect();
        (feature(&format!("x{i}"), Kind::Continuous(NumericType::Integer)), Column::Integers { values, missing: None })
    };
    let constant = |i: usize| {
        let codes = vec![Some(0); classes.len()];
        (feature(&format!("z{i}"), Kind::Nominal(vec!["same".into(), "other".into()])), levels(&codes))
    };
    let columns = (0..useless).map(constant).chain((0..n).map(column)).collect();
    table(columns, n + 1, classes.clone(), None, None)
}

#[test]
fn features_that_are_all_needed_are_all_kept() {
    for (n, useless) in [(1, 0), (5, 0), (5, 3), (70, 0), (70, 3)] {
        let data = one_for_each_class(n, useless);
        for error in [Estimator::Search, Estimator::Training, Estimator::Pessimistic] {
            let [white, black] =
                [true, false].map(|white| remove(&data, Some(&data), &Params::default(), error, white));
            same(&white, &black, &|what| format!("{n} columns and {useless}, {error:?}: {what}"));
            assert_eq!(white.features, (useless..useless + n).collect::<Vec<_>>(), "{error:?}");
            let removed: Vec<usize> = white.path.iter().map(|removal| removal.feature).collect();
            assert_eq!(removed, (0..useless).collect::<Vec<_>>(), "{error:?}");
            assert_eq!(white.tree.n_leaves(), n + 1);
        }
    }
}

#[test]
fn features_that_are_all_useless_are_all_removed() {
    let n = 9;
    let column = |i: usize| {
        let values = (0..64).map(|row: i64| row >> i & 1).collect();
        (feature(&format!("x{i}"), Kind::Continuous(NumericType::Integer)), Column::Integers { values, missing: None })
    };
    // Parity, where no split gains anything; and a single class.
    let parity = (0..64u32).map(|row| row.count_ones() % 2).collect();
    for classes in [parity, vec![1; 64]] {
        let data = table((0..n).map(column).collect(), 2, classes, None, None);
        for error in [Estimator::Search, Estimator::Training, Estimator::Pessimistic] {
            let [white, black] =
                [true, false].map(|white| remove(&data, Some(&data), &Params::default(), error, white));
            same(&white, &black, &|what| format!("{error:?}: {what}"));
            assert!(white.features.is_empty() && white.tree.n_nodes() == 0);
            let removed: Vec<usize> = white.path.iter().map(|removal| removal.feature).collect();
            assert_eq!(removed, (0..n).collect::<Vec<_>>());
            assert!(white.path.iter().all(|removal| removal.error == white.error));
            assert_eq!(white.stats.built, 1);
        }
    }
}
