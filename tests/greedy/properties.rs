//! What holds for every table: over fewer columns, for more threads, for counts, for trees as deep as a table is long.

use lattree::data::{Column, Dataset, Feature, Kind, NumericType};
use lattree::greedy::{ClassWeight, Criterion, Missing, NominalSplits, Params};
use lattree::tree::{Node, Test, Threshold, Tree};

use crate::common::{Random, for_seeds};
use crate::tables::{feature, level_names, levels, random_params, random_table, table};
use crate::{MODES, random_problem, run};

/// Lemma 6 of S. Ruggieri, *Complete search for feature selection in decision trees*, JMLR 20, 2019: a tree over some
/// columns is the tree over any of them that include those it uses.
///
/// Not so with rows dropped: which are depends on the columns. Nor with a limit on leaves, unless all splits have two
/// branches and come in the order of what they are chosen by: a node that stays a leaf because its best split has too
/// many branches, or less gain than its ratio promised, may be split where that column is gone.
#[test]
fn columns_that_a_tree_does_not_use_do_not_matter() {
    for_seeds(2_000, |seed| {
        let mut random = Random::new(5_000_000 + seed);
        let missing = *random.pick(&MODES.map(|mode| if mode == Missing::Drop { Missing::Fractional } else { mode }));
        let finite = matches!(missing, Missing::Mean | Missing::ClassMean);
        let data = random_table(&mut random, finite);
        let mut params = random_params(&mut random, missing, &data);
        if params.criterion == Criterion::GainRatio || params.nominal_splits == NominalSplits::Multiway {
            params.max_leaves = None;
        }
        let Ok(outcome) = run(&data, &params) else { return };
        let used = outcome.tree.features();
        let keep = |(column, _): &(usize, _)| used.contains(&(*column as u32)) || random.chance(40);
        let names: Vec<String> =
            data.schema().features.iter().enumerate().filter(keep).map(|(_, feature)| feature.name.clone()).collect();
        let fewer = data.select(&names).expect("names of columns");
        let tree = run(&fewer, &params).expect("a good table").tree;
        assert_eq!(tree, outcome.tree, "seed {seed}, {names:?}, {params:?}\n{data:?}");
    });
}

/// A table with its counts times a factor.
fn counted(data: &Dataset, factor: u64) -> Dataset {
    let columns = data.columns().iter().map(|column| Column::clone(column)).collect();
    let counts = data.counts().map(|counts| counts.iter().map(|count| count * factor).collect());
    let weights = data.weights().map(<[f64]>::to_vec);
    Dataset::new(data.schema().clone(), columns, data.n_rows(), data.target().clone(), counts, weights)
        .expect("a good table")
}

/// The rows of a table, each as often as its count.
fn repeated(data: &Dataset) -> Dataset {
    let rows: Vec<usize> = (0..data.n_rows())
        .flat_map(|row| std::iter::repeat_n(row, data.counts().map_or(1, |counts| counts[row]) as usize))
        .collect();
    let all = data.take(&rows);
    let columns = all.columns().iter().map(|column| Column::clone(column)).collect();
    let weights = all.weights().map(<[f64]>::to_vec);
    Dataset::new(all.schema().clone(), columns, rows.len(), all.target().clone(), None, weights).expect("a good table")
}

/// Rows that weigh as much as others are counted: `min_leaf_mass` of the first is `min_leaf` of the second, also where
/// cases come in parts.
#[test]
fn mass_takes_the_place_of_cases() {
    for_seeds(2_000, |seed| {
        let (data, params) = random_problem(6_500_000 + seed);
        let Some(counts) = data.counts() else { return };
        let unit = [1.0, 0.1, 1.0 / 3.0, 2f64.powi(-40), 1e30][seed as usize % 5];
        let again = |counts, weights| {
            let columns = data.columns().iter().map(|column| Column::clone(column)).collect();
            let target = data.target().clone();
            Dataset::new(data.schema().clone(), columns, data.n_rows(), target, counts, weights).expect("a good table")
        };
        let weights = counts.iter().map(|&count| count as f64 * unit).collect();
        let (counted, weighted) = (again(Some(counts.to_vec()), None), again(None, Some(weights)));
        let class_weight = ClassWeight::Equal;
        let params = Params { class_weight, min_cases: 2, min_branch: None, min_leaf: 1 + seed % 7, ..params };
        let of_mass = Params { min_leaf: 1, min_leaf_mass: params.min_leaf as f64 * unit, ..params.clone() };
        let nodes = |params: &Params, data: &Dataset| {
            run(data, params).map(|outcome| {
                let test = |node: &Node| match node {
                    Node::Split(split) => Some((split.test.clone(), split.children.clone())),
                    Node::Leaf(_) => None,
                };
                outcome.tree.nodes().iter().map(test).collect::<Vec<_>>()
            })
        };
        match (nodes(&params, &counted), nodes(&of_mass, &weighted)) {
            (Ok(a), Ok(b)) => assert_eq!(a, b, "seed {seed}, unit {unit}, {params:?}\n{data:?}"),
            (a, b) => assert!(a.is_err() && b.is_err(), "seed {seed}, {params:?}\n{data:?}"),
        }
    });
    let refused = Params { min_branch: Some(2), min_leaf_mass: 1.0, ..Params::default() }.checked();
    assert!(refused.is_err_and(|error| error.to_string().contains("min_leaf_mass")));
}

#[test]
fn a_count_is_a_repetition() {
    for_seeds(2_000, |seed| {
        let (data, params) = random_problem(6_000_000 + seed);
        if data.counts().is_none() {
            return;
        }
        let data = if seed % 4 == 0 { counted(&data, 40) } else { data };
        match (run(&data, &params), run(&repeated(&data), &params)) {
            (Ok(a), Ok(b)) => assert_eq!(a.tree, b.tree, "seed {seed}, {params:?}\n{data:?}"),
            (a, b) => assert!(a.is_err() && b.is_err(), "seed {seed}, {params:?}\n{data:?}"),
        }
    });
}

/// Cases of many classes and weights in a line that reads alike from both ends, and once more from the other end: each
/// cut gains as much as another in the same column, and as two in the other. The first of the best is taken.
#[test]
fn of_cuts_that_gain_the_same_the_first_is_taken() {
    for_seeds(1_000, |seed| {
        let mut random = Random::new(7_000_000 + seed);
        let (n_half, n_classes) = (3 + random.below(30) as usize, 3 + random.below(6));
        let half: Vec<(u32, f64)> =
            (0..n_half).map(|_| (random.below(n_classes) as u32, 1.0 + random.below(1 << 40) as f64)).collect();
        let line: Vec<(u32, f64)> = half.iter().chain(half.iter().rev()).copied().collect();
        let n = line.len() as i64;
        let columns = [("x", (0..n).collect()), ("z", (0..n).rev().collect())].map(|(name, values)| {
            (feature(name, Kind::Continuous(NumericType::Integer)), Column::Integers { values, missing: None })
        });
        let (classes, weights): (Vec<u32>, Vec<f64>) = line.iter().copied().unzip();
        let data = table(columns.into(), n_classes as usize, classes, None, Some(weights));
        let outcome = run(&data, &Params { max_depth: Some(1), ..Params::default() }).expect("a good table");
        let x_log_x = |x: f64| if x > 0.0 { x * x.log2() } else { 0.0 };
        let mass = |cases: &[(u32, f64)]| cases.iter().map(|case| case.1).sum::<f64>();
        let purity = |cases: &[(u32, f64)]| {
            let of = |class| cases.iter().filter(|case| case.0 == class).map(|case| case.1).sum();
            (0..n_classes as u32).map(|class| x_log_x(of(class))).sum::<f64>() - x_log_x(mass(cases))
        };
        let gain = |cut| (purity(&line[..cut]) + purity(&line[cut..]) - purity(&line)) / mass(&line);
        let Node::Split(root) = &outcome.tree.nodes()[0] else { return };
        let Test::AtMost { feature: 0, threshold: Threshold::Integer(last) } = root.test else {
            panic!("seed {seed}: {:?}", root.test)
        };
        let cut = last as usize + 1;
        assert!(cut <= n_half, "seed {seed}: {cut} of {}", line.len());
        let most = (1..line.len()).map(gain).fold(0.0, f64::max);
        assert!(gain(cut) >= most - 1e-9, "seed {seed}: {} of {most}", gain(cut));
    });
}

/// A table large enough that threads share it out. From column 70 on they are the first ones again: ties, which threads
/// find in different batches of columns.
fn large(random: &mut Random, n_rows: usize, n_columns: usize) -> Dataset {
    let mut columns: Vec<(Feature, Column)> = Vec::new();
    for index in 0..n_columns {
        if index >= 70 {
            let (twin, column) = &columns[index - 70];
            columns.push((feature(&format!("x{index}"), twin.kind.clone()), column.clone()));
            continue;
        }
        let gone = if index % 2 == 0 { 0 } else { 3 };
        let missing: Vec<bool> = (0..n_rows).map(|_| random.chance(gone)).collect();
        let n = *random.pick(&[2, 5, 9, 1_000, 1_000_000]);
        let values: Vec<i64> = (0..n_rows).map(|_| random.below(n) as i64).collect();
        let codes = || values.iter().zip(&missing).map(|(&x, &gone)| Some(x as u32 % 9).filter(|_| !gone));
        let name = format!("x{index}");
        columns.push(match index % 3 {
            0 => (
                feature(&name, Kind::Continuous(NumericType::Integer)),
                Column::Integers { values, missing: Some(missing) },
            ),
            1 => {
                let cells = values.iter().zip(&missing).map(|(&x, &gone)| if gone { f64::NAN } else { x as f64 / 8.0 });
                (feature(&name, Kind::Continuous(NumericType::Float)), Column::Floats(cells.collect()))
            }
            _ => (feature(&name, Kind::Nominal(level_names(9))), levels(&codes().collect::<Vec<_>>())),
        });
    }
    let explained = |row: usize| {
        columns.iter().take(9).map(move |(_, column)| match column {
            Column::Integers { values, .. } => values[row] as u64 % 3,
            Column::Floats(values) => (values[row] > 2.0).into(),
            Column::Levels { codes, .. } => u64::from(codes[row] % 2),
        })
    };
    let classes =
        (0..n_rows).map(|row| if random.chance(20) { random.below(3) } else { explained(row).sum::<u64>() % 3 });
    let classes = classes.map(|class| class as u32).collect();
    table(columns, 3, classes, None, None)
}

#[test]
fn threads_do_not_matter() {
    let few = large(&mut Random::new(7), 20_000, 9);
    let many = large(&mut Random::new(8), 6_000, 150);
    check_threads(&few, 12, 10);
    // Growth by errors stops early there.
    check_threads(&many, 5, 5);
}

fn check_threads(data: &Dataset, max_depth: u64, more_than: usize) {
    for (criterion, missing, max_leaves) in [
        (Criterion::InformationGain, Missing::Fractional, None),
        (Criterion::GainRatio, Missing::ClassMean, None),
        (Criterion::Gini, Missing::Level, Some(200)),
        (Criterion::Error, Missing::Drop, None),
    ] {
        let nominal_splits = if missing == Missing::Level { NominalSplits::Subsets } else { NominalSplits::Multiway };
        let params =
            Params { criterion, missing, max_leaves, nominal_splits, max_depth: Some(max_depth), ..Params::default() };
        let grow = |threads| run(data, &Params { threads: Some(threads), ..params.clone() }).expect("a table").tree;
        let tree = grow(1);
        assert!(tree.n_nodes() > more_than, "{}", tree.n_nodes());
        assert!(tree == grow(2) && tree == grow(8), "{params:?}");
    }
}

/// A path through 20,000 values of alternating classes, each cut off by itself.
#[test]
fn a_path_of_20_000_nodes_needs_no_stack() {
    const VALUES: usize = 20_000;
    let whole = move || {
        let column = Column::Integers { values: (0..VALUES as i64).collect(), missing: None };
        let classes: Vec<u32> = (0..VALUES as u32).map(|row| row % 2).collect();
        let columns = vec![(feature("x", Kind::Continuous(NumericType::Integer)), column)];
        let data = table(columns, 2, classes.clone(), None, None);
        let tree = run(&data, &Params::default()).expect("a good table").tree;
        assert_eq!(tree.n_nodes(), VALUES - 1);
        assert_eq!(tree.depth(), VALUES - 1);
        assert_eq!(tree.predict_codes(&data, 0..VALUES).expect("the same table"), classes);
        assert!(tree.to_text(None).lines().count() >= VALUES);
        assert!(tree.to_dot(None).lines().count() >= VALUES);
        assert!(Tree::from_json(&tree.to_json()).expect("its own words") == tree);
    };
    let thread = std::thread::Builder::new().stack_size(512 << 10).spawn(whole).expect("a thread");
    thread.join().expect("no panic, no overflow");
}

#[test]
fn calls_that_are_wrong_are_refused() {
    let values = Column::Integers { values: vec![1, 2], missing: None };
    let of = |weights| {
        table(
            vec![(feature("x", Kind::Continuous(NumericType::Integer)), values.clone())],
            2,
            vec![0, 1],
            None,
            weights,
        )
    };
    let grows = |data: &Dataset, params: Params| run(data, &params).is_ok();
    let each = |weights: &[f64]| Params { class_weight: ClassWeight::Each(weights.to_vec()), ..Params::default() };
    let costs = |n: usize| Params { costs: Some(vec![vec![0.0; n]; n]), ..Params::default() };
    assert!(grows(&of(None), Params::default()) && grows(&of(None), each(&[1.0, 0.0])) && grows(&of(None), costs(2)));
    assert!(
        !grows(&of(None), each(&[1.0])) && !grows(&of(None), each(&[1.0; 3])) && !grows(&of(None), each(&[0.0; 2]))
    );
    assert!(!grows(&of(None), costs(1)) && !grows(&of(None), costs(3)));
    assert!(!grows(&of(Some(vec![0.0, 0.0])), Params::default()) && !grows(&of(None).take(&[]), Params::default()));
    let unseen = Column::Levels { codes: vec![0, 1], unseen: vec!["new".into()] };
    let columns = vec![(feature("x", Kind::Nominal(level_names(1))), unseen)];
    assert!(!grows(&table(columns, 2, vec![0, 1], None, None), Params::default()));
}
