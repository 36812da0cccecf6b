//! The searches, with what every call needs.

use lattree::data::Dataset;
use lattree::subsets::{
    Board, Checked, Counts, DistinctTree, Estimator, Goal, Order, Outcome, Params, acceptable, distinct, eliminate,
    exhaust,
};

pub const ORDERS: [Order; 4] = [Order::Frontier, Order::FrontierCases, Order::Reverse, Order::Fixed];

pub fn checked(params: &Params) -> Checked {
    params.clone().checked().expect("good parameters")
}

pub fn list(data: &Dataset, params: &Params, order: Order, ordered: bool) -> (Vec<DistinctTree>, Counts) {
    let checked = checked(params);
    let mut trees = Vec::new();
    let mut visit = |tree| {
        trees.push(tree);
        true
    };
    let counts = distinct(data, &checked, order, ordered, &checked.budget(), &Board::new(), &mut visit);
    (trees, counts.expect("a good table"))
}

pub fn accept(building: &Dataset, search: Option<&Dataset>, params: &Params, goal: Goal) -> Outcome {
    let checked = checked(params);
    acceptable(building, search, &checked, goal, &checked.budget(), &Board::new()).expect("good tables")
}

pub fn remove(
    building: &Dataset,
    search: Option<&Dataset>,
    params: &Params,
    error: Estimator,
    white_box: bool,
) -> Outcome {
    let checked = checked(params);
    eliminate(building, search, &checked, error, white_box, &checked.budget(), &Board::new()).expect("good tables")
}

pub fn try_all(
    building: &Dataset,
    search: Option<&Dataset>,
    params: &Params,
    goal: Goal,
    max_features: Option<usize>,
) -> Outcome {
    let checked = checked(params);
    exhaust(building, search, &checked, goal, max_features, &checked.budget(), &Board::new()).expect("good tables")
}
