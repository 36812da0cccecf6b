//! From the parameters to the impurity, chosen once: all that follows is compiled for it.

use super::data::GrowthData;
use super::params::Params;
use super::split::SplitRule;
use crate::budget::{Budget, Stop, Ticker};
use crate::criterion::{ClassImpurity, CostGini, Costs, Criterion, Entropy, Gini, LeafCost};

/// Work that is done under one of the impurities.
pub(crate) trait ImpurityVisitor {
    type Output;
    /// Does the work, with a rule for nodes of whole cases and one for nodes with fractional cases.
    fn visit<I: ClassImpurity + Send + 'static>(self, rules: [SplitRule<I>; 2]) -> Self::Output;
}

/// Tabulated logarithms per case: all masses are tabulated if cases have mass one. A row with a count is that many
/// cases, so that it is rounded as its repetitions are.
const TABULATED_PER_CASE: u64 = 16;

/// If the mass of all cases is at least this, no logarithm is tabulated.
const MOST_TABULATED: u64 = 1 << 40;

/// The number of tabulated logarithms for nodes of whole cases. With weights, a table of all masses takes longer than
/// growth and is hardly read; masses of many digits are not among the smallest.
fn tabulated(table: &GrowthData) -> u64 {
    if table.total < MOST_TABULATED { table.count.saturating_mul(TABULATED_PER_CASE) } else { 0 }
}

/// Bytes of the impurities that [`dispatch`] makes: the table of logarithms, or the costs of both rules.
pub(crate) fn bytes(table: &GrowthData, params: &Params) -> u64 {
    match params.criterion {
        Criterion::InformationGain | Criterion::GainRatio => Entropy::bytes(table.total, tabulated(table)),
        _ => params.costs.as_ref().map_or(0, |costs| 16 * (costs.len() * costs.len()) as u64),
    }
}

/// Does work under the impurity that the parameters ask for. Fails if a limit strikes before it begins.
pub(crate) fn dispatch<V: ImpurityVisitor>(
    table: &GrowthData,
    params: &Params,
    costs: &Costs,
    budget: &Budget,
    visitor: V,
) -> Result<V::Output, Stop> {
    let most = [table.total, table.total << table.digits];
    let n_classes = table.n_classes;
    Ok(match (params.criterion, params.costs.is_some()) {
        (Criterion::InformationGain | Criterion::GainRatio, _) => {
            // Nodes with fractional cases have too many different masses for a table.
            let ticker = &mut Ticker::new(budget);
            let whole = Entropy::new(most[0], tabulated(table), n_classes, ticker)?;
            let fractional = Entropy::new(most[1], 0, n_classes, ticker)?;
            visitor.visit(rules(table, params, [whole, fractional]))
        }
        (Criterion::Gini, false) => visitor.visit(rules(table, params, most.map(Gini::new))),
        (Criterion::Gini, true) => {
            visitor.visit(rules(table, params, most.map(|most| CostGini::new(costs.clone(), most))))
        }
        (Criterion::Error, _) => {
            visitor.visit(rules(table, params, most.map(|most| LeafCost::new(costs.clone(), most))))
        }
    })
}

fn rules<I>(table: &GrowthData, params: &Params, [whole, fractional]: [I; 2]) -> [SplitRule<I>; 2] {
    let rule = |impurity, digits: u32| {
        let cases = |n: u64| n.saturating_mul(1 << digits);
        let (min_cases, min_leaf) = match params.min_leaf_mass {
            0.0 => (params.min_cases, params.min_leaf),
            // With a limit on mass, mass takes the place of counts. A single case is pure anyway.
            mass => (0, table.units.at_least(mass)),
        };
        SplitRule {
            impurity,
            ratio: params.criterion == Criterion::GainRatio,
            max_depth: params.max_depth.unwrap_or(u64::MAX),
            min_cases: cases(min_cases),
            min_branch: cases(params.min_branch.unwrap_or(0)),
            min_leaf: cases(min_leaf),
            min_gain: params.min_gain,
            nominal: params.nominal_splits,
            is_convex: params.costs.is_none() || params.criterion != Criterion::Gini,
        }
    };
    [rule(whole, 0), rule(fractional, table.digits)]
}
