//! The exact search against an oracle that tries all trees.

mod common;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use common::{LEVELS, Oracle, Random, cost_of, for_seeds, random_numbers, random_table, shape_of, value, variant};
use lattree::budget::{Limits, Status};
use lattree::data::{Binarizer, BinaryTable, Column, Dataset, MissingTests, Nominal, Thresholds};
use lattree::optimal::{Board, Engine, Outcome, Params, Rank, search};

fn run(data: &Dataset, params: &Params) -> Outcome {
    let checked = params.clone().checked().expect("good parameters");
    search(data, &checked, &checked.budget(), &Board::new()).expect("a good table")
}

fn random_params(random: &mut Random) -> Params {
    let max_depth = *random.pick(&[0, 1, 2, 2, 3, 3, 3, 3]);
    Params {
        max_depth,
        max_nodes: random.chance(40).then(|| random.below(8)),
        min_leaf: *random.pick(&[1, 1, 1, 1, 2, 3, 5, 30]),
        node_penalty: *random.pick(&[0.0, 0.0, 0.0, 0.0, 0.25, 0.5, 1.0, 0.05, 0.05, 1e18]),
        binarizer: Binarizer {
            thresholds: *random.pick(&[Thresholds::Auto, Thresholds::All, Thresholds::Quantile]),
            max_tests: *random.pick(&[1, 6, 1000]),
            nominal: *random.pick(&[Nominal::OneVsRest, Nominal::OneVsRest, Nominal::Subsets]),
            missing: *random.pick(&[MissingTests::Own, MissingTests::Own, MissingTests::None]),
            ..Binarizer::default()
        },
        threads: Some(1),
        rank: Rank::Objective,
        ..Params::default()
    }
}

/// Twenty thousand problems, each under the default and six seeded variants.
#[test]
fn every_search_equals_brute_force() {
    const PROBLEMS: u64 = 20_000;
    let next = AtomicU64::new(0);
    let pairs: Mutex<BTreeMap<[usize; 4], u64>> = Mutex::default();
    let solved: Mutex<BTreeMap<u32, u64>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..lattree_threads() {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Relaxed);
                    if seed >= PROBLEMS {
                        break;
                    }
                    check_problem(seed, &pairs, &solved);
                }
            });
        }
    });
    let pairs = pairs.into_inner().expect("no panic");
    for (a, levels_a) in LEVELS.into_iter().enumerate() {
        for (b, levels_b) in LEVELS.into_iter().enumerate().skip(a + 1) {
            for level_a in 0..levels_a {
                for level_b in 0..levels_b {
                    let seen = pairs.get(&[a, level_a, b, level_b]).copied().unwrap_or(0);
                    assert!(seen > 1000, "factor {a} at {level_a} met factor {b} at {level_b} only {seen} times");
                }
            }
        }
    }
    // The random problems do grow trees of every size.
    let solved = solved.into_inner().expect("no panic");
    assert!((0..=4).all(|nodes| solved.get(&nodes).is_some_and(|&n| n > 200)), "{solved:?}");
}

fn lattree_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn check_problem(seed: u64, pairs: &Mutex<BTreeMap<[usize; 4], u64>>, solved: &Mutex<BTreeMap<u32, u64>>) {
    let mut random = Random::new(seed);
    let data = random_table(&mut random);
    let mut params = random_params(&mut random);
    if (0..data.n_rows()).all(|row| data.count(row) == 0) {
        let checked = params.checked().expect("good parameters");
        assert!(search(&data, &checked, &checked.budget(), &Board::new()).is_err(), "no case, seed {seed}");
        return;
    }
    let budget = lattree::budget::Budget::new(Limits::default());
    let table = BinaryTable::new(&data, &params.binarizer, &budget, false).expect("a good table").expect("no limit");
    if table.tests.len() > 9 {
        params.max_depth = params.max_depth.min(2); // the oracle tries all trees
    } else if table.tests.len() <= 4 && params.max_depth == 3 {
        params.max_depth = 4; // so that branches of roots that tie have roots that tie
    }
    let default = run(&data, &params);
    let oracle = Oracle::new(&data, &default.tests.list(), default.resolution, params.min_leaf, params.node_penalty);
    let rows = oracle.rows();
    let costs = oracle.costs(&rows, params.max_depth);
    let nodes = params.max_nodes.map_or(costs.len() - 1, |n| (n as usize).min(costs.len() - 1));
    let least = value(costs[nodes] as u64, default.resolution);
    let shape = oracle.canonical(&rows, params.max_depth, nodes);
    let say = |what: &str| format!("{what}, seed {seed}, {params:?}\n{data:?}");
    let check = |outcome: &Outcome, what: &str| {
        assert_eq!(outcome.status, Status::Optimal, "{}", say(what));
        assert_eq!(outcome.objective, least, "{}", say(what));
        assert_eq!(outcome.lower_bound, least, "{}", say(what));
        assert_eq!(shape_of(&outcome.tree, &outcome.tests.list(), 0), shape, "{}", say(what));
    };
    check(&default, "canonical");
    // By default the tree is the canonical one of the least node budget that allows the same cost.
    let fewest = costs.iter().position(|&cost| cost == costs[nodes]).expect("it is among them");
    let shape_of_smallest = oracle.canonical(&rows, params.max_depth, fewest);
    let by_nodes = Params { rank: Rank::default(), ..params.clone() };
    let levels = LEVELS.map(|n| random.below(n as u64) as usize);
    for params in [by_nodes.clone(), variant(levels, &by_nodes)] {
        let smallest = run(&data, &params);
        assert_eq!(smallest.status, Status::Optimal, "{}", say("smallest"));
        assert_eq!([smallest.objective, smallest.lower_bound], [least; 2], "{}", say("smallest"));
        assert_eq!(shape_of(&smallest.tree, &smallest.tests.list(), 0), shape_of_smallest, "{}", say("smallest"));
    }
    assert_eq!(
        cost_of(&data, &default, params.node_penalty),
        least,
        "{}",
        say("the tree does not cost what it should")
    );
    for _ in 0..6 {
        let levels = LEVELS.map(|n| random.below(n as u64) as usize);
        let outcome = run(&data, &variant(levels, &params));
        check(&outcome, &format!("variant {levels:?}"));
        assert_eq!(outcome.tree, default.tree, "{}", say("another tree"));
        let mut pairs = pairs.lock().expect("no panic");
        for a in 0..LEVELS.len() {
            for b in a + 1..LEVELS.len() {
                *pairs.entry([a, levels[a], b, levels[b]]).or_default() += 1;
            }
        }
    }
    *solved.lock().expect("no panic").entry(default.tree.n_nodes() as u32).or_default() += 1;
}

/// A table with other weights.
fn with_weights(data: &Dataset, weights: Vec<f64>) -> Dataset {
    let columns = data.columns().iter().map(|column| Column::clone(column)).collect();
    let (schema, counts) = (data.schema().clone(), data.counts().map(<[u64]>::to_vec));
    Dataset::new(schema, columns, data.n_rows(), data.target().clone(), counts, Some(weights)).expect("good weights")
}

/// Weights and penalties that are whole numbers in proportion give the tree that these give, whatever their scale and
/// whatever floats make of it.
#[test]
fn trees_do_not_depend_on_the_scale_of_weights_and_penalties() {
    const FACTORS: [f64; 7] =
        [1.0 / 3.0, 0.1, std::f64::consts::PI, (1u64 << 50) as f64, 1.0 / (1u64 << 50) as f64, 1e-290, 1e290];
    common::for_seeds(1_000, |seed| {
        let mut random = Random::new(11_000_000 + seed);
        let data = random_table(&mut random);
        let mut params = random_params(&mut random);
        params.max_depth = params.max_depth.min(2);
        let most = *random.pick(&[3, 10, 1000]);
        let mut whole: Vec<u64> = (0..data.n_rows()).map(|_| 1 + random.below(most)).collect();
        if random.chance(20) {
            whole[0] = 0;
        }
        // The penalty is a fraction of one.
        let (p, q) = (random.below(8), *random.pick(&[1, 3, 7]));
        let exact = with_weights(&data, whole.iter().map(|weight| (weight * q) as f64).collect());
        if (0..data.n_rows()).all(|row| exact.count(row) == 0) {
            return;
        }
        let (mut expected, mut least) = (None, 0);
        for factor in FACTORS {
            let scaled = with_weights(&data, whole.iter().map(|&weight| weight as f64 * factor).collect());
            let params = Params { node_penalty: p as f64 / q as f64 * factor, ..params.clone() };
            let outcome = run(&scaled, &params);
            let tests = outcome.tests.list();
            if expected.is_none() {
                let oracle = Oracle::new(&exact, &tests, 1.0, params.min_leaf, p as f64);
                let rows = oracle.rows();
                let nodes = params.max_nodes.map_or(3, |n| n.min(3) as usize).min((1 << params.max_depth) - 1);
                least = oracle.costs(&rows, params.max_depth)[nodes];
                expected = Some(oracle.canonical(&rows, params.max_depth, nodes));
            }
            let say = || format!("seed {seed}, times {factor}, {params:?}\n{data:?}\n{outcome:?}");
            assert_eq!(outcome.status, Status::Optimal, "{}", say());
            assert_eq!(Some(shape_of(&outcome.tree, &tests, 0)), expected, "{}", say());
            let objective = least as f64 / q as f64 * factor;
            assert!((outcome.objective - objective).abs() <= 1e-12 * objective, "{}", say());
        }
    });
}

/// Whatever stops a search, the tree is valid, costs what is said, and the bound is below the least cost.
#[test]
fn limits_leave_a_valid_tree_and_a_true_bound() {
    let mut stopped = BTreeMap::new();
    for seed in 0..6_000 {
        let mut random = Random::new(1_000_000 + seed);
        let data = random_table(&mut random);
        let mut params = random_params(&mut random);
        params.limits = match random.below(8) {
            0 => Limits { seconds: Some(0.0), ..Limits::default() },
            1 => Limits { memory: Some(random.below(20_000)), ..Limits::default() },
            _ => Limits { nodes: Some(random.below(60)), ..Limits::default() },
        };
        let levels = LEVELS.map(|n| random.below(n as u64) as usize);
        let params = variant(levels, &params);
        let checked = params.clone().checked().expect("good parameters");
        let budget = checked.budget();
        if random.chance(5) {
            budget.cancel();
        }
        let Ok(outcome) = search(&data, &checked, &budget, &Board::new()) else {
            assert!((0..data.n_rows()).all(|row| data.count(row) == 0), "seed {seed}");
            continue;
        };
        *stopped.entry(outcome.status.name()).or_insert(0u64) += 1;
        let exact = run(&data, &Params { limits: Limits::default(), ..params.clone() });
        let say = || format!("seed {seed}, {params:?}\n{data:?}\n{outcome:?}");
        // Where memory was short, fewer thresholds may have been offered, and the best tree over them be a worse one.
        let is_thinned = params.limits.memory.is_some() && !outcome.exact_thresholds && exact.exact_thresholds;
        assert!(outcome.lower_bound <= exact.objective, "{}", say());
        assert!(outcome.lower_bound <= outcome.tests_bound && outcome.tests_bound <= outcome.objective, "{}", say());
        assert!(exact.objective <= outcome.objective, "{}", say());
        // What was published is what comes back.
        if let Some(&(_, objective, bound)) = outcome.trace.last() {
            assert_eq!((outcome.objective, outcome.lower_bound), (objective, bound), "{}", say());
        }
        assert_eq!(cost_of(&data, &outcome, params.node_penalty), outcome.objective, "{}", say());
        if outcome.status == Status::Optimal {
            match is_thinned {
                true => assert_eq!(outcome.objective, exact.objective, "{}", say()),
                false => assert_eq!(outcome.tree, exact.tree, "{}", say()),
            }
        }
        let nodes = outcome.tree.n_nodes() as u64;
        assert!(nodes <= params.max_nodes.unwrap_or(u64::MAX), "{}", say());
        assert!(outcome.tree.depth() <= params.max_depth as usize, "{}", say());
        for pair in outcome.trace.windows(2) {
            assert!(pair[0].1 >= pair[1].1 && pair[0].2 <= pair[1].2, "{}", say());
        }
    }
    for status in ["optimal", "node_limit", "time_limit", "interrupted", "memory_limit"] {
        assert!(stopped.get(status).is_some_and(|&n| n > 20), "{status}: {stopped:?}");
    }
}

/// Under a limit of nodes that allows no proof a neighbourhood search finds better trees: valid ones, the same in each
/// run, no better than the best there is, and on most tables better than those of the proof alone.
#[test]
fn limits_of_nodes_leave_good_trees() {
    let (tried, best, optimal) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    for_seeds(600, |seed| {
        let mut random = Random::new(12_000_000 + seed);
        let data = random_numbers(&mut random);
        let engine = *random.pick(&[Engine::Tests, Engine::Continuous]);
        let params = Params {
            max_depth: if engine == Engine::Tests { 5 } else { 4 },
            min_leaf: *random.pick(&[1, 1, 1, 2, 5]),
            node_penalty: *random.pick(&[0.0, 0.0, 0.5]),
            engine,
            threads: Some(1),
            rank: Rank::Objective,
            ..Params::default()
        };
        let exact = run(&data, &params);
        let limits = Limits { nodes: Some(*random.pick(&[300, 1_000, 3_000])), ..Limits::default() };
        let params = Params { limits, ..params };
        let [outcome, again] = [run(&data, &params), run(&data, &params)];
        let say = || format!("seed {seed}, {params:?}\n{data:?}\n{outcome:?}");
        assert_eq!((&outcome.tree, outcome.objective), (&again.tree, again.objective), "{}", say());
        assert_eq!(cost_of(&data, &outcome, params.node_penalty), outcome.objective, "{}", say());
        assert!(outcome.lower_bound <= exact.objective && exact.objective <= outcome.objective, "{}", say());
        assert!(outcome.tree.depth() <= params.max_depth as usize, "{}", say());
        if outcome.status == Status::Optimal {
            assert_eq!(outcome.tree, exact.tree, "{}", say());
        }
        if outcome.stats.get("steps").is_some_and(|&steps| steps > 0) {
            tried.fetch_add(1, Relaxed);
            best.fetch_add(u64::from(outcome.objective == exact.objective), Relaxed);
            optimal.fetch_add(u64::from(outcome.status == Status::Optimal), Relaxed);
        }
    });
    let [tried, best, optimal] = [tried, best, optimal].map(AtomicU64::into_inner);
    println!("{tried} with steps, {best} at the least cost, {optimal} proved");
    assert!(tried > 150 && 2 * best > tried, "{tried} with steps, {best} at the least cost");
}

/// A proof that is found soon does not wait for greedy trees, which may be needed in the end, unless the limit is so
/// close that they have to come first.
#[test]
fn greedy_trees_do_not_delay_a_proof() {
    let (first, last) = (AtomicU64::new(0), AtomicU64::new(0));
    for_seeds(20, |seed| {
        let mut random = Random::new(13_000_000 + seed);
        let small = random_numbers(&mut random);
        let n_rows = 300_000 / small.columns().len();
        let data = small.take(&(0..n_rows).map(|row| row % small.n_rows()).collect::<Vec<_>>());
        let params = Params { max_depth: 2, threads: Some(1), rank: Rank::Objective, ..Params::default() };
        let grown = |limits: Limits| {
            let checked = Params { limits, ..params.clone() }.checked().expect("good parameters");
            let budget = checked.budget();
            let outcome = search(&data, &checked, &budget, &Board::new()).expect("a good table");
            (outcome, budget.grown())
        };
        let (proved, of_none) = grown(Limits::default());
        let (outcome, of_far) = grown(Limits { seconds: Some(1e4), ..Limits::default() });
        assert_eq!((outcome.status, &outcome.tree), (proved.status, &proved.tree), "seed {seed}");
        assert_eq!((of_none, of_far), (0, 0), "seed {seed}");
        let (_, of_close) = grown(Limits { seconds: Some(1.0), ..Limits::default() });
        first.fetch_add(u64::from(of_close > 0), Relaxed);
        let (outcome, of_few) = grown(Limits { nodes: Some(0), ..Limits::default() });
        assert!(outcome.status == Status::NodeLimit || of_few == 0, "seed {seed}");
        last.fetch_add(u64::from(of_few > 0), Relaxed);
    });
    let [first, last] = [first, last].map(AtomicU64::into_inner);
    assert!(first > 10 && last > 10, "{first} grew trees first, {last} last");
}

/// A table whose rows weigh, and one whose rows are counted: `min_leaf_mass` of the first is `min_leaf` of the second.
#[test]
fn mass_takes_the_place_of_cases() {
    let bound = AtomicU64::new(0);
    for_seeds(3_000, |seed| {
        let mut random = Random::new(9_000_000 + seed);
        let data = if random.chance(50) { random_table(&mut random) } else { random_numbers(&mut random) };
        let unit = *random.pick(&[1.0, 0.1, 1.0 / 3.0, 2f64.powi(-40), 1e30]);
        let masses: Vec<u64> = (0..data.n_rows()).map(|_| random.below(5)).collect();
        if masses.iter().all(|&mass| mass == 0) {
            return;
        }
        let again = |counts, weights| {
            let columns = data.columns().iter().map(|column| Column::clone(column)).collect();
            let target = data.target().clone();
            Dataset::new(data.schema().clone(), columns, data.n_rows(), target, counts, weights).expect("a good table")
        };
        let weights = masses.iter().map(|&mass| mass as f64 * unit).collect();
        let (counted, weighted) = (again(Some(masses), None), again(None, Some(weights)));
        let min_leaf = 2 + random.below(6);
        let engine = *random.pick(&[Engine::Auto, Engine::Tests, Engine::Continuous]);
        let max_depth = 1 + random.below(3) as u32;
        let params = Params { max_depth, engine, threads: Some(1), rank: Rank::Objective, ..Params::default() };
        let of_cases = run(&counted, &Params { min_leaf, ..params.clone() });
        let of_mass = run(&weighted, &Params { min_leaf_mass: min_leaf as f64 * unit, ..params.clone() });
        let shape = |outcome: &Outcome| shape_of(&outcome.tree, &outcome.tests.list(), 0);
        let free = run(&counted, &params);
        bound.fetch_add(u64::from(shape(&free) != shape(&of_cases)), Relaxed);
        assert_eq!(shape(&of_mass), shape(&of_cases), "seed {seed}, unit {unit}, {min_leaf}, {params:?}\n{data:?}");
    });
    assert!(bound.into_inner() > 100, "the limit decides in many of them");
    let refused = Params { min_leaf: 2, min_leaf_mass: 1.0, rank: Rank::Objective, ..Params::default() }.checked();
    assert!(refused.is_err_and(|error| error.to_string().contains("min_leaf_mass")));
}
