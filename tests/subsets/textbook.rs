//! The examples of the paper.

use lattree::data::{Column, Dataset, Kind, NumericType};
use lattree::greedy::{Criterion, Missing};
use lattree::subsets::{Board, Estimator, Goal, Order, Params, acceptable, count, distinct, eliminate, exhaust};
use lattree::tree::{Node, Tree};
use lattree::{Error, greedy};

use crate::brute::Lattice;
use crate::calls::{ORDERS, accept, checked, list};
use crate::common::tables::{feature, table};
use crate::visit::Visit;

/// Columns a1, a2, ... of whole numbers; the class is the last.
fn numbers<const N: usize>(rows: &[[i64; N]], counts: Option<Vec<u64>>) -> Dataset {
    let column = |j: usize| {
        let values = rows.iter().map(|row| row[j]).collect();
        let name = format!("a{}", j + 1);
        (feature(&name, Kind::Continuous(NumericType::Integer)), Column::Integers { values, missing: None })
    };
    table((0..N - 1).map(column).collect(), 2, rows.iter().map(|row| row[N - 1] as u32).collect(), counts, None)
}

/// Class 1 takes so many of 20 cases for each a1, a2, a3: a1 has no discriminatory power unless data has been split by
/// a3.
fn example_1() -> Dataset {
    let (mut rows, mut counts) = (vec![], vec![]);
    for (a1, a3, n) in [(0, 0, 10), (1, 0, 4), (0, 1, 10), (1, 1, 16)] {
        for (a2, n) in [(0, n - 2), (1, n + 2)] {
            rows.extend([[a1, a2, a3, 0], [a1, a2, a3, 1]]);
            counts.extend([20 - n, n]);
        }
    }
    numbers(&rows, Some(counts))
}

/// Figure 2: eight trees are built by descending position, six by frontier, of which six are distinct either way.
#[test]
fn example_1_and_2() {
    let (data, params) = (example_1(), Params::default());
    let lattice = Lattice::new(&data, &params);
    let tree = |set: u128| lattice.tree(set);
    assert!(tree(0b011) == tree(0b010) && tree(0b001) == tree(0b000) && tree(0b101) != tree(0b100));
    let (listed, counts) = list(&data, &params, Order::Fixed, true);
    // {a1, a2} and {a1} are built, and not listed before {a2} and {} are.
    let expected: [&[usize]; 6] = [&[0, 1, 2], &[0, 2], &[1, 2], &[1], &[2], &[]];
    assert_eq!(listed.iter().map(|tree| &tree.features[..]).collect::<Vec<_>>(), expected);
    assert_eq!((counts.built, counts.distinct, &counts.by_size[..]), (8, 6, &[1, 2, 2, 1][..]));
    let (listed, counts) = list(&data, &params, Order::Frontier, true);
    assert_eq!((counts.built, counts.distinct), (6, 6));
    // a3 goes last, so that a1 and a2 are left: a1 is unused there.
    let expected: [&[usize]; 2] = [&[1], &[]];
    assert_eq!(listed[4..].iter().map(|tree| &tree.features[..]).collect::<Vec<_>>(), expected);
}

/// Figure 3 (a): a1 at the root, a2 (with a1 below it) on one side, a3 with a4 below it on the other.
const FIGURE_3: [[i64; 5]; 8] = [
    [0, 0, 1, 0, 0],
    [2, 1, 1, 0, 0],
    [2, 1, 1, 1, 1],
    [2, 1, 0, 0, 1],
    [1, 0, 0, 1, 1],
    [2, 0, 0, 0, 1],
    [1, 1, 0, 1, 0],
    [1, 1, 1, 1, 0],
];

fn asked(tree: &Tree, node: u32) -> Option<u32> {
    match &tree.nodes()[node as usize] {
        Node::Split(split) => Some(split.test.feature()),
        Node::Leaf(_) => None,
    }
}

/// Features are removed in the order a4, a2, a3, a1.
#[test]
fn example_3_and_4() {
    let (data, params) = (numbers(&FIGURE_3, None), Params::default());
    let (listed, counts) = list(&data, &params, Order::Frontier, true);
    let tree = listed[0].tree();
    let in_preorder: Vec<u32> = (0..tree.nodes().len() as u32).filter_map(|node| asked(&tree, node)).collect();
    assert_eq!(in_preorder, [0, 1, 0, 2, 3], "{}", tree.to_text(None));
    let missing_one = |listed: &[lattree::subsets::DistinctTree]| -> Vec<usize> {
        let three = listed.iter().filter(|tree| tree.features.len() == 3);
        three.map(|tree| (0..4).find(|column| !tree.features.contains(column)).expect("one is missing")).collect()
    };
    assert_eq!(missing_one(&listed), [3, 1, 2, 0]);
    assert_eq!(missing_one(&list(&data, &params, Order::Reverse, true).0), [0, 2, 1, 3]);
    assert_eq!(missing_one(&list(&data, &params, Order::Fixed, true).0), [3, 2, 1, 0]);
    let visit = Visit::of(&Lattice::new(&data, &params), Order::Frontier);
    assert_eq!((counts.built, counts.distinct), (visit.built, visit.listed.len() as u64));
}

/// The features of each example are offered with others before, between and after them, beyond 64 columns.
#[test]
fn positions_do_not_matter() {
    let rows = FIGURE_3.map(|row| {
        let mut wide = [0; 201];
        [(3, 0), (64, 1), (127, 2), (199, 3), (200, 4)].iter().for_each(|&(to, of)| wide[to] = row[of]);
        wide
    });
    let data = numbers(&rows, None);
    for candidates in [None, Some(vec![3, 64, 127, 199])] {
        let params = Params { candidates, ..Params::default() };
        let narrow = numbers(&FIGURE_3, None);
        for order in ORDERS {
            let (wide, counts) = list(&data, &params, order, true);
            let (listed, expected) = list(&narrow, &Params::default(), order, true);
            let places = [3, 64, 127, 199];
            let moved =
                listed.iter().map(|tree| tree.features.iter().map(|&column| places[column]).collect::<Vec<_>>());
            assert!(wide.iter().map(|tree| tree.features.clone()).eq(moved), "{order:?}");
            assert_eq!((counts.built, counts.distinct), (expected.built, expected.distinct), "{order:?}");
        }
    }
    let params = Params { required: vec![127], candidates: Some(vec![64, 199]), ..Params::default() };
    let (listed, _) = list(&data, &params, Order::Frontier, true);
    assert!(!listed.is_empty() && listed.iter().all(|tree| tree.features.contains(&127)));
}

/// There is one tree where the table has no feature, or none is offered.
#[test]
fn one_tree_over_no_feature() {
    let data = numbers(&FIGURE_3, None);
    let nothing = Params { candidates: Some(vec![]), ..Params::default() };
    for (data, params) in [(&data, &nothing), (&data.select(&[]).expect("no name"), &Params::default())] {
        for order in ORDERS {
            let (listed, counts) = list(data, params, order, true);
            assert_eq!((listed.len(), counts.built, counts.distinct), (1, 1, 1));
            assert!(listed[0].features.is_empty() && listed[0].tree().n_nodes() == 0);
        }
        let outcome = accept(data, Some(data), params, Goal::default());
        assert!(outcome.features.is_empty() && (outcome.error, outcome.lower_bound) == (0.5, 0.5));
    }
}

/// The name of the parameter that was refused.
fn refused<T>(outcome: Result<T, Error>) -> &'static str {
    match outcome {
        Err(Error::InvalidParameter { name, .. }) => name,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("not refused"),
    }
}

#[test]
fn calls_that_are_wrong_are_refused() {
    let with = |greedy: greedy::Params| Params { greedy, ..Params::default() }.checked();
    assert_eq!(refused(with(greedy::Params { max_leaves: Some(3), ..Default::default() })), "max_leaves");
    assert_eq!(refused(with(greedy::Params { missing: Missing::Drop, ..Default::default() })), "missing");
    assert_eq!(refused(with(greedy::Params { min_cases: 0, ..Default::default() })), "min_cases");
    for bad in [-0.1, f64::NAN, f64::INFINITY] {
        assert_eq!(refused(Goal { delta: bad, ..Goal::default() }.checked()), "delta");
        assert_eq!(refused(Goal { feature_penalty: bad, ..Goal::default() }.checked()), "feature_penalty");
    }
    let data = numbers(&FIGURE_3, None);
    let of = |required: &[usize], candidates: Option<&[usize]>| Params {
        required: required.to_vec(),
        candidates: candidates.map(<[usize]>::to_vec),
        greedy: greedy::Params { criterion: Criterion::Gini, ..Default::default() },
    };
    for (params, name) in [
        (of(&[4], None), "required"),
        (of(&[0, usize::MAX], Some(&[1])), "required"),
        (of(&[], Some(&[0, usize::MAX])), "candidates"),
        (of(&[1], Some(&[0, 4])), "candidates"),
    ] {
        let checked = checked(&params);
        let (budget, board, goal) = (checked.budget(), Board::new(), Goal::default());
        let listed = distinct(&data, &checked, Order::Frontier, true, &budget, &board, &mut |_| true);
        assert_eq!(refused(listed), name, "{params:?}");
        assert_eq!(refused(count(&data, &checked, Order::Fixed, &budget, &board)), name, "{params:?}");
        assert_eq!(refused(acceptable(&data, Some(&data), &checked, goal, &budget, &board)), name, "{params:?}");
        let removed = eliminate(&data, Some(&data), &checked, goal.error, true, &budget, &board);
        assert_eq!(refused(removed), name, "{params:?}");
        assert_eq!(refused(exhaust(&data, Some(&data), &checked, goal, None, &budget, &board)), name, "{params:?}");
    }
    // Positions are sets: repeats do not matter, and a required feature is no candidate.
    let trees = |params: Params| {
        let (listed, counts) = list(&data, &params, Order::Frontier, true);
        (listed.into_iter().map(|tree| tree.features).collect::<Vec<_>>(), counts.built)
    };
    assert_eq!(trees(of(&[2, 2], Some(&[0, 2, 1, 0]))), trees(of(&[2], Some(&[0, 1]))));
    let checked = checked(&of(&[1], Some(&[0, 2])));
    let (budget, board) = (checked.budget(), Board::new());
    let renamed = data.select(&["a1", "a3", "a2", "a4"].map(String::from)).expect("names of columns");
    for search in [None, Some(&data.take(&[])), Some(&renamed)] {
        for error in [Estimator::Search, Estimator::Training] {
            let goal = Goal { error, ..Goal::default() };
            let found = [
                acceptable(&data, search, &checked, goal, &budget, &board).is_ok(),
                eliminate(&data, search, &checked, error, true, &budget, &board).is_ok(),
                eliminate(&data, search, &checked, error, false, &budget, &board).is_ok(),
                exhaust(&data, search, &checked, goal, None, &budget, &board).is_ok(),
            ];
            assert_eq!(found, [error == Estimator::Training; 4], "{error:?}, {search:?}");
        }
    }
}
