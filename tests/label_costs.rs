//! Costs of labels against an oracle that tries all trees: cost matrices, costs of each case, abstention, weights of
//! classes and balanced errors, on every engine.

mod common;

use std::collections::BTreeMap;
use std::sync::Mutex;

use common::{LEVELS, Oracle, Random, for_seeds, random_table, shape_of, variant};
use lattree::budget::Status;
use lattree::data::{Binarizer, BinaryTable, CaseCosts, Column, Dataset, MissingTests, Schema, Target, Thresholds};
use lattree::greedy::ClassWeight;
use lattree::objective::{CostScale, Loss, Objective, Rewards};
use lattree::optimal::{Board, Engine, Outcome, Params, Rank, search, search_objective};
use lattree::tree::{Leaf, Node};

/// What labels cost, as whole numbers and as the library is told.
struct Problem {
    data: Dataset,
    /// The same with the rows that the search has to leave out.
    cases: Dataset,
    params: Params,
    /// Per row and label, in units.
    costs: Vec<Vec<i64>>,
    penalty: i64,
    unit: f64,
}

fn run(data: &Dataset, params: &Params) -> lattree::Result<Outcome> {
    let checked = params.clone().checked()?;
    search(data, &checked, &checked.budget(), &Board::new())
}

/// A table of these columns and classes, or without classes.
fn table(data: &Dataset, has_classes: bool, counts: Option<Vec<u64>>, weights: Option<Vec<f64>>) -> Dataset {
    let columns = data.columns().iter().map(|column| Column::clone(column)).collect();
    let schema = match has_classes {
        true => data.schema().clone(),
        false => Schema { target: None, ..(**data.schema()).clone() }.into(),
    };
    let target = if has_classes { data.target().clone() } else { Target::None };
    Dataset::new(schema, columns, data.n_rows(), target, counts, weights).expect("a good table")
}

/// Numbers whose multiples are no floats, or are.
fn factor(random: &mut Random) -> f64 {
    *random.pick(&[1.0, 1.0, 0.1, 0.25, 1.0 / 3.0, 1e-7, 4096.0])
}

fn random_problem(random: &mut Random) -> Problem {
    let base = random_table(random);
    let n_rows = base.n_rows();
    let Target::Classes(classes) = base.target().clone() else { panic!("classes") };
    let n_classes = base.schema().labels().expect("classes").len();
    let counts = random.chance(25).then(|| (0..n_rows).map(|_| random.below(4)).collect::<Vec<u64>>());
    let (of_weight, most_weight) = (factor(random), *random.pick(&[2, 5, 300]));
    let weights = random.chance(35).then(|| (0..n_rows).map(|_| random.below(most_weight)).collect::<Vec<u64>>());
    let weight = |row: usize| weights.as_ref().map_or(1, |weights| weights[row]);
    let count = |row: usize| if weight(row) == 0 { 0 } else { counts.as_ref().map_or(1, |counts| counts[row]) };
    let kind = random.below(8);
    let has_classes = kind < 7;
    // Factors of classes as whole numbers, and what one is worth.
    let is_balanced = kind == 1;
    let (class_weight, mut of_class, of_factor) = match random.below(if is_balanced || !has_classes { 1 } else { 4 }) {
        1 => {
            let worth = factor(random);
            let whole: Vec<i64> = (0..n_classes).map(|_| 1 + random.below(4) as i64).collect();
            (ClassWeight::Each(whole.iter().map(|&of| of as f64 * worth).collect()), whole, worth)
        }
        2 if random.chance(30) => {
            let mut whole = vec![1; n_classes];
            whole[0] = 0;
            (ClassWeight::Each(whole.iter().map(|&of| of as f64).collect()), whole, 1.0)
        }
        3 => (ClassWeight::Balanced, vec![], 1.0),
        _ => (ClassWeight::Equal, vec![1; n_classes], 1.0),
    };
    let mut unit = of_factor * if weights.is_some() { of_weight } else { 1.0 };
    if is_balanced || class_weight == ClassWeight::Balanced {
        let mut masses = vec![0i64; n_classes];
        (0..n_rows).for_each(|row| masses[classes[row] as usize] += count(row) as i64 * weight(row) as i64);
        let present = masses.iter().filter(|&&mass| mass > 0).count() as f64;
        let total: i64 = masses.iter().sum();
        let gcd = |mut a: i64, mut b: i64| {
            while b > 0 {
                (a, b) = (b, a % b);
            }
            a
        };
        let multiple = masses.iter().filter(|&&mass| mass > 0).fold(1, |all, &mass| all / gcd(all, mass) * mass);
        of_class = masses.iter().map(|&mass| if mass > 0 { multiple / mass } else { 1 }).collect();
        // Errors are a share of all; weights are a part of the total.
        let all = if is_balanced { 1.0 } else { total as f64 * unit };
        unit = all / (present * multiple as f64);
    }
    let whole_cost = |random: &mut Random| match random.below(6) {
        0 => 0,
        1 => -(random.below(6) as i64),
        _ => {
            let most = *random.pick(&[2, 6, 40]);
            random.below(most) as i64
        }
    };
    let n_extra = if kind >= 3 { random.below(3) as usize } else { 0 };
    let n_labels = n_classes + n_extra;
    let of_cost = if kind >= 3 { factor(random) } else { 1.0 };
    let extra: Vec<String> = (0..n_extra).map(|label| format!("extra {label}")).collect();
    let mut q = 1;
    let (loss, mut costs, case_costs) = match kind {
        0..=2 => {
            let loss = if is_balanced { Loss::BalancedErrors } else { Loss::Errors };
            let of = |row: usize| (0..n_labels).map(|label| i64::from(label != classes[row] as usize)).collect();
            (loss, (0..n_rows).map(of).collect::<Vec<Vec<i64>>>(), None)
        }
        3 | 4 => {
            let matrix: Vec<Vec<i64>> =
                (0..n_classes).map(|_| (0..n_labels).map(|_| whole_cost(random)).collect()).collect();
            let costs = matrix.iter().map(|row| row.iter().map(|&cost| cost as f64 * of_cost).collect()).collect();
            let of = |row: usize| matrix[classes[row] as usize].clone();
            (Loss::Matrix { costs, extra }, (0..n_rows).map(of).collect(), None)
        }
        _ => {
            let whole: Vec<Vec<i64>> =
                (0..n_rows).map(|_| (0..n_labels).map(|_| whole_cost(random)).collect()).collect();
            let labels: Vec<String> = (0..n_classes).map(|class| class.to_string()).chain(extra).collect();
            let values = whole.iter().flatten().map(|&cost| cost as f64 * of_cost).collect();
            (Loss::PerCase, whole, Some(CaseCosts::new(labels, values, n_rows).expect("finite costs")))
        }
    };
    unit *= of_cost;
    let mut abstain = None;
    if random.chance(if kind == 2 { 100 } else { 20 }) {
        // Tenths of an error, or of a unit of cost.
        let tenths = 1 + random.below(8) as i64;
        abstain = Some(tenths as f64 / 10.0 * of_cost);
        q *= 10;
        costs.iter_mut().for_each(|costs| {
            costs.iter_mut().for_each(|cost| *cost *= 10);
            costs.push(tenths);
        });
    }
    // The penalty is a fraction of a unit.
    let (penalty, parts) = (*random.pick(&[0, 0, 0, 0, 1, 2, 5]), *random.pick(&[1, 2, 3]));
    let node_penalty = (penalty * q) as f64 / (parts * q) as f64 * unit;
    let factors: Vec<i64> = (0..n_rows)
        .map(|row| {
            let of_class = if has_classes { of_class[classes[row] as usize] } else { 1 };
            count(row) as i64 * weight(row) as i64 * of_class
        })
        .collect();
    let costs = costs.iter().zip(&factors).map(|(costs, by)| costs.iter().map(|cost| cost * by * parts).collect());
    let costs: Vec<Vec<i64>> = costs.collect();
    let real = weights.as_ref().map(|weights| weights.iter().map(|&of| of as f64 * of_weight).collect::<Vec<f64>>());
    let data = table(&base, has_classes, counts.clone(), real);
    let data = match case_costs {
        Some(costs) => data.with_costs(costs).expect("costs for each row"),
        None => data,
    };
    let present = (0..n_rows).map(|row| if factors[row] == 0 { 0.0 } else { 1.0 }).collect();
    let cases = table(&base, has_classes, counts, Some(present));
    let max_depth = *random.pick(&[0, 1, 2, 2, 3, 3, 3]);
    let params = Params {
        max_depth,
        max_nodes: random.chance(35).then(|| random.below(8)),
        min_leaf: *random.pick(&[1, 1, 1, 1, 2, 3, 5]),
        objective: loss,
        class_weight,
        abstain,
        node_penalty,
        binarizer: Binarizer {
            thresholds: Thresholds::All,
            missing: *random.pick(&[MissingTests::Own, MissingTests::Own, MissingTests::None]),
            ..Binarizer::default()
        },
        engine: Engine::Tests,
        threads: Some(1),
        rank: Rank::Objective,
        ..Params::default()
    };
    Problem { data, cases, params, costs, penalty: penalty * q, unit: unit / (parts * q) as f64 }
}

/// Twenty thousand problems.
#[test]
fn label_costs_equal_brute_force() {
    let seen: Mutex<BTreeMap<String, u64>> = Mutex::default();
    for_seeds(20_000, |seed| check_problem(seed, &seen));
    let seen = seen.into_inner().expect("no panic");
    println!("{seen:?}");
    if std::env::var("LATTREE_PROBLEMS").is_err() {
        for name in ["Errors", "BalancedErrors", "Matrix", "PerCase", "abstains", "extra", "negative", "no classes"] {
            assert!(seen.get(name).is_some_and(|&n| n >= 200), "{name}: {seen:?}");
        }
        assert!((0..=4).all(|n| seen.get(&format!("{n} nodes")).is_some_and(|&n| n >= 200)), "{seen:?}");
    }
}

fn check_problem(seed: u64, seen: &Mutex<BTreeMap<String, u64>>) {
    let mut random = Random::new(50_000_000 + seed);
    let Problem { data, cases, mut params, costs, penalty, unit } = random_problem(&mut random);
    let budget = lattree::budget::Budget::unlimited();
    let Ok(offered) = BinaryTable::new(&cases, &params.binarizer, &budget, false) else {
        assert!(run(&data, &params).is_err(), "no case, seed {seed}");
        return;
    };
    if offered.expect("no limit").tests.len() > 9 {
        params.max_depth = params.max_depth.min(2); // the oracle tries all trees
    }
    let say = |what: &str| format!("{what}, seed {seed}, unit {unit}, {params:?}\n{costs:?}\n{data:?}");
    let default = run(&data, &params).unwrap_or_else(|error| panic!("{error}, {}", say("an error")));
    let tests = default.tests.list();
    let oracle = Oracle::with_costs(&cases, &tests, costs.clone(), params.min_leaf, penalty);
    let rows = oracle.rows();
    let least = oracle.costs(&rows, params.max_depth);
    let nodes = params.max_nodes.map_or(least.len() - 1, |n| (n as usize).min(least.len() - 1));
    let shape = oracle.canonical(&rows, params.max_depth, nodes);
    let size: i64 = rows.iter().flat_map(|&row| &costs[row]).map(|cost| cost.abs()).sum::<i64>() + penalty;
    let expected = least[nodes] as f64 * unit;
    let check = |outcome: &Outcome, what: &str| {
        assert_eq!(outcome.status, Status::Optimal, "{}", say(what));
        let error = (outcome.objective - expected).abs();
        assert!(error <= 1e-9 * size as f64 * unit, "{} instead of {expected}, {}", outcome.objective, say(what));
        assert_eq!(outcome.lower_bound, outcome.objective, "{}", say(what));
        assert_eq!(shape_of(&outcome.tree, &tests, 0), shape, "{}", say(what));
    };
    check(&default, "canonical");
    for _ in 0..3 {
        let levels = LEVELS.map(|n| random.below(n as u64) as usize);
        let outcome = run(&data, &variant(levels, &params)).expect("as before");
        check(&outcome, &format!("variant {levels:?}"));
        assert_eq!(outcome.tree, default.tree, "{}", say("another tree"));
    }
    let continuous = Params { engine: Engine::Continuous, ..params.clone() };
    let outcome = run(&data, &continuous).expect("as before");
    assert_eq!(outcome.status, Status::Optimal, "{}", say("continuous"));
    assert_eq!([outcome.objective, outcome.lower_bound], [default.objective; 2], "{}", say("continuous"));
    assert_eq!(outcome.tree.to_json(), default.tree.to_json(), "{}", say("continuous"));
    // The smallest optimal tree.
    let fewest = least.iter().position(|&cost| cost == least[nodes]).expect("it is among them");
    let smallest = run(&data, &Params { rank: Rank::default(), ..params.clone() }).expect("as before");
    let shape_of_smallest = oracle.canonical(&rows, params.max_depth, fewest);
    assert_eq!(smallest.objective, default.objective, "{}", say("smallest"));
    assert_eq!(shape_of(&smallest.tree, &tests, 0), shape_of_smallest, "{}", say("smallest"));
    let mut seen = seen.lock().expect("no panic");
    let mut count = |name: &str| *seen.entry(name.into()).or_default() += 1;
    count(&format!("{} nodes", default.tree.n_nodes()));
    count(match params.objective {
        Loss::Errors => "Errors",
        Loss::BalancedErrors => "BalancedErrors",
        Loss::Matrix { .. } => "Matrix",
        Loss::PerCase => "PerCase",
    });
    let n_labels = data.schema().labels().map_or(0, |labels| labels.len());
    let labels = default.tree.nodes().iter().filter_map(|node| match node {
        Node::Leaf(Leaf::Class { label, .. }) => Some(*label as usize),
        _ => None,
    });
    if params.abstain.is_some() && labels.clone().any(|label| label + 1 == costs[0].len()) {
        count("abstains");
    }
    if n_labels > 0 && labels.clone().any(|label| label >= n_labels) {
        count("extra");
    }
    if default.objective < 0.0 {
        count("negative");
    }
    if data.target() == &Target::None {
        count("no classes");
    }
}

/// An objective that only this test has: a case costs as much as its label is classes off, times a number of its own.
struct Distance<'a> {
    classes: &'a [u32],
    scale: CostScale,
}

impl Objective for Distance<'_> {
    fn n_labels(&self) -> usize {
        3
    }

    fn rewards(&self, row: usize, rewards: &mut Rewards) {
        rewards.clear();
        let of = |label: u32| (label, (2 - u64::from(self.classes[row].abs_diff(label))) * (1 + row as u64 % 3));
        rewards.extend((0..3).map(of).filter(|&(_, reward)| reward > 0));
    }

    fn total(&self) -> u64 {
        let mut rewards = Rewards::new();
        let of_row = |row: usize| {
            self.rewards(row, &mut rewards);
            rewards.iter().map(|&(_, reward)| reward).sum::<u64>()
        };
        (0..self.classes.len()).map(of_row).sum()
    }

    fn scale(&self) -> &CostScale {
        &self.scale
    }
}

/// To add an objective takes the rewards of a row: no search changes.
#[test]
fn an_objective_of_ones_own() {
    for_seeds(300, |seed| {
        let mut random = Random::new(60_000_000 + seed);
        let base = random_table(&mut random);
        let Target::Classes(classes) = base.target() else { panic!("classes") };
        if base.schema().labels().expect("classes").len() != 3 {
            return;
        }
        let data = table(&base, true, None, None);
        let max_depth = if seed % 4 == 0 { 3 } else { 2 };
        let params = Params { max_depth, rank: Rank::Objective, threads: Some(1), ..Params::default() };
        let objective = Distance { classes, scale: CostScale::new((1.0, 1.0), 0) };
        let checked = params.checked().expect("good parameters");
        let run = |engine: Engine| {
            let checked = Params { engine, ..checked.params().clone() }.checked().expect("good parameters");
            search_objective(&data, &objective, &checked, &checked.budget(), &Board::new()).expect("a good table")
        };
        let costs = |row: usize| {
            let of = |label: u32| i64::from(classes[row].abs_diff(label)) * (1 + row as i64 % 3);
            (0..3).map(of).collect::<Vec<i64>>()
        };
        let costs: Vec<Vec<i64>> = (0..data.n_rows()).map(costs).collect();
        let outcome = run(Engine::Tests);
        let tests = outcome.tests.list();
        if tests.len() > 9 && max_depth > 2 {
            return;
        }
        let oracle = Oracle::with_costs(&data, &tests, costs, 1, 0);
        let rows = oracle.rows();
        let shape = oracle.canonical(&rows, max_depth, (1 << max_depth) - 1);
        for outcome in [outcome, run(Engine::Continuous)] {
            assert_eq!(outcome.status, Status::Optimal, "seed {seed}");
            assert_eq!(shape_of(&outcome.tree, &tests, 0), shape, "seed {seed}");
        }
    });
}
