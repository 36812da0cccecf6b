//! From the parameters to the rules by which nodes are split.

use super::Params;
use super::split::Rule;
use super::table::Table;
use crate::criterion::{CostGini, Costs, Criterion, Entropy, Gini, Impurity, LeafCost};
use crate::data::{Dataset, Target};
use crate::error::{Error, Result};

/// Work that is done under one of the impurities.
pub(crate) trait WithRules {
    type Outcome;
    /// With a rule for nodes of whole cases, and one for nodes of parts.
    fn run<I: Impurity + Send + 'static>(self, rules: [Rule<I>; 2]) -> Self::Outcome;
}

/// Masses whose logarithms are tabulated, for every case: all of them where cases have mass one. A count is as many cases:
/// it rounds as its repetitions do.
const TABULATED_PER_CASE: u64 = 16;

/// Masses of all cases from which none is tabulated.
const MOST_TABULATED: u64 = 1 << 40;

/// How many logarithms of masses of whole cases are tabulated. Where cases weigh, a table of all masses takes longer than
/// growth, and most of it is never read; masses of many digits are not among the smallest.
fn tabulated(table: &Table) -> u64 {
    if table.total < MOST_TABULATED { table.count.saturating_mul(TABULATED_PER_CASE) } else { 0 }
}

/// The bytes of what [`with_rules`] makes: the table of logarithms, or costs for either rule.
pub(crate) fn bytes(table: &Table, params: &Params) -> u64 {
    match params.criterion {
        Criterion::InformationGain | Criterion::GainRatio => Entropy::bytes(table.total, tabulated(table)),
        _ => params.costs.as_ref().map_or(0, |costs| 16 * (costs.len() * costs.len()) as u64),
    }
}

/// Chooses the impurity.
pub(crate) fn with_rules<W: WithRules>(table: &Table, params: &Params, costs: &Costs, work: W) -> W::Outcome {
    let most = [table.total, table.total << table.digits];
    let n_classes = table.n_classes;
    match (params.criterion, params.costs.is_some()) {
        (Criterion::InformationGain | Criterion::GainRatio, _) => {
            // Masses of parts are too many in any case.
            let tabulated = [(most[0], tabulated(table)), (most[1], 0)];
            let entropies = tabulated.map(|(most, tabulated)| Entropy::new(most, tabulated, n_classes));
            work.run(rules(table, params, entropies))
        }
        (Criterion::Gini, false) => work.run(rules(table, params, most.map(Gini::new))),
        (Criterion::Gini, true) => work.run(rules(table, params, most.map(|most| CostGini::new(costs.clone(), most)))),
        (Criterion::Error, _) => work.run(rules(table, params, most.map(|most| LeafCost::new(costs.clone(), most)))),
    }
}

fn rules<I>(table: &Table, params: &Params, [whole, parts]: [I; 2]) -> [Rule<I>; 2] {
    let rule = |impurity, digits: u32| {
        let cases = |n: u64| n.saturating_mul(1 << digits);
        let (min_cases, min_leaf) = match params.min_leaf_mass {
            0.0 => (params.min_cases, params.min_leaf),
            // What is counted is mass. A case alone is pure.
            mass => (0, table.units.at_least(mass)),
        };
        Rule {
            impurity,
            ratio: params.criterion == Criterion::GainRatio,
            max_depth: params.max_depth.unwrap_or(u64::MAX),
            min_cases: cases(min_cases),
            min_branch: cases(params.min_branch.unwrap_or(0)),
            min_leaf: cases(min_leaf),
            min_gain: params.min_gain,
            nominal: params.nominal_splits,
            shares_order: params.costs.is_none() || params.criterion != Criterion::Gini,
        }
    };
    [rule(whole, 0), rule(parts, table.digits)]
}

/// Fails without a target of classes.
pub(crate) fn check_target(data: &Dataset) -> Result<()> {
    let needs = |got| Error::WrongTarget { search: "GreedyTreeSearch", needs: "classes", got };
    match data.target() {
        Target::Classes(_) => Ok(()),
        Target::Numbers(_) => Err(needs("numbers (cast that column to strings or whole numbers to read it as labels)")),
        Target::None => Err(needs("absent (name it when you make the dataset)")),
    }
}

/// The costs of errors, if they fit the classes.
pub(crate) fn costs(data: &Dataset, params: &Params) -> Result<Costs> {
    let n_classes = data.schema().labels().map_or(0, |labels| labels.len());
    match &params.costs {
        None => Ok(Costs::errors()),
        Some(costs) if costs.len() == n_classes && costs.iter().all(|row| row.len() == n_classes) => Costs::new(costs),
        Some(costs) => {
            let lengths: Vec<String> = costs.iter().map(|row| row.len().to_string()).collect();
            Err(Error::InvalidParameter {
                name: "costs",
                expected: format!("{n_classes} rows of {n_classes} costs, one for each class"),
                got: format!("{} rows of {}", costs.len(), lengths.join(", ")),
            })
        }
    }
}
