//! Trees grown with chains are the same as trees grown without.

use std::sync::Arc;

use super::ChainLimits;
use crate::bits::mix;
use crate::budget::Stop;
use crate::data::{Column, Dataset, Feature, Kind, Labels, NumericType, Schema, Target, TargetSchema, Task};
use crate::greedy::data::GrowthData;
use crate::greedy::growth::Growth;
use crate::greedy::{Criterion, Missing, NominalSplits, Params, dispatch, params, to_tree};
use crate::tree::Tree;

/// A table of columns with little to say of the classes: there a greedy tree splits off case after case.
fn table(seed: u64) -> Dataset {
    let random = |i: u64, j: u64| mix(mix(seed) ^ mix(i * 64 + j)) >> 11;
    let pick = |j: u64, n: u64| random(1 << 40, j) % n;
    let n = 30 + pick(0, 170);
    let n_classes = 2 + u64::from(pick(1, 2) == 0) * pick(2, 6);
    let n_columns = 1 + pick(3, 4);
    let with_missing = pick(4, 3) == 0;
    let (mut features, mut columns) = (Vec::new(), Vec::new());
    for column in 0..n_columns {
        let kind = random(2 << 40, column) % 6;
        let n_values = if random(3 << 40, column) % 2 == 0 { n } else { 2 + random(4 << 40, column) % 12 };
        let is_missing = |row: u64| with_missing && column % 2 == 1 && random(row, 40 + column) % 20 == 0;
        let value = |row: u64| if kind == 0 { row } else { random(row, column) % n_values };
        let level = |row: u64| if is_missing(row) { u32::MAX } else { value(row) as u32 };
        let (kind, bins) = match kind {
            0..4 => {
                let value = |row| if is_missing(row) { f64::NAN } else { value(row) as f64 };
                (Kind::Continuous(NumericType::Float), Column::Floats((0..n).map(value).collect()))
            }
            _ => {
                let levels = (0..n).map(|level| format!("{level:03}")).collect();
                (Kind::Nominal(levels), Column::Levels { codes: (0..n).map(level).collect(), unseen: vec![] })
            }
        };
        features.push(Feature { name: format!("x{column}"), kind, dtype: String::new() });
        columns.push(bins);
    }
    let is_alternating = pick(5, 2) == 0;
    let class = |row: u64| if is_alternating { row % n_classes } else { random(row, 60) % n_classes };
    let labels = Labels::Integers((0..n_classes as i64).collect());
    let target = TargetSchema { name: "y".into(), task: Task::Classes(labels), dtype: String::new() };
    let schema = Arc::new(Schema { features, target: Some(target) });
    let classes = Target::Classes((0..n).map(|row| class(row) as u32).collect());
    let counts = (pick(6, 4) == 0).then(|| (0..n).map(|row| 1 + random(row, 61) % 3).collect());
    // Proportional to small numbers, or to none.
    let part = |row: u64| if pick(8, 2) == 0 { 0.0 } else { (random(row, 63) % (1 << 20)) as f64 / (1 << 24) as f64 };
    let weight = |row: u64| (1 + random(row, 62) % 9) as f64 * 0.37 + part(row);
    let weights = (pick(7, 3) == 0).then(|| (0..n).map(weight).collect());
    Dataset::new(schema, columns, n as usize, classes, counts, weights).unwrap()
}

fn params(seed: u64, n_classes: usize) -> Params {
    let pick = |j: u64, n: usize| (mix(mix(seed ^ 7) + j) >> 20) as usize % n;
    let criteria = Criterion::ALL;
    let modes = [Missing::Level, Missing::Fractional, Missing::Mean];
    let cost = |i: usize, j: usize| if i == j { 0.0 } else { (1 + (3 * i + 5 * j) % 4) as f64 };
    let costs = || (0..n_classes).map(|i| (0..n_classes).map(|j| cost(i, j)).collect()).collect();
    Params {
        costs: (pick(8, 4) == 0).then(costs),
        criterion: criteria[pick(0, 4)],
        min_leaf: [1, 1, 1, 2, 3][pick(1, 5)],
        min_branch: [None, None, Some(2)][pick(2, 3)],
        min_cases: [2, 2, 5][pick(3, 3)],
        min_gain: [0.0, 0.0, 0.01][pick(4, 3)],
        max_leaves: [None, None, Some(20), Some(1000)][pick(5, 4)],
        nominal_splits: [NominalSplits::OneVsRest, NominalSplits::OneVsRest, NominalSplits::Multiway][pick(6, 3)],
        missing: modes[pick(7, 3)],
        ..Params::default()
    }
}

/// The tree, and why growth stopped.
fn grown(data: &Dataset, params: &Params, chains: ChainLimits, memory: Option<u64>) -> (Tree, Option<Stop>) {
    let params = Params { limits: crate::budget::Limits { memory, ..params.limits }, ..params.clone() };
    let budget = params.clone().checked().unwrap().budget();
    let costs = params::checked_costs(data, &params).unwrap();
    let table = match GrowthData::new(data, &params, &budget, false).unwrap() {
        Ok(table) => table,
        Err(stop) => return (to_tree::single_leaf(data, &params, &costs).unwrap(), Some(stop)),
    };
    let growth = Growth::new(&table, &params, &budget, 1).with_chains(chains);
    let (grown, stop) = dispatch::dispatch(&table, &params, &costs, &budget, growth).expect("no limit of time");
    (to_tree::to_tree(data, &table, &params, &costs, &grown).unwrap(), stop)
}

const NEVER: ChainLimits = ChainLimits { links: u32::MAX, few_rows: usize::MAX, small: 1 };

#[test]
fn chains_grow_the_same_trees() {
    let mut n_nodes = 0;
    for seed in 0..2000 {
        let data = table(seed);
        let params = params(seed, data.schema().labels().map_or(0, Labels::len));
        let expected = grown(&data, &params, NEVER, None);
        for chains in [
            ChainLimits { links: 0, few_rows: 2, small: 2 },
            ChainLimits { links: 1, few_rows: 10, small: 4 },
            ChainLimits { links: 2, few_rows: 20, small: 8 },
        ] {
            let found = grown(&data, &params, chains, None);
            assert_eq!(found, expected, "seed {seed}, {chains:?}, {params:?}");
        }
        n_nodes += expected.0.n_nodes();
    }
    assert!(n_nodes > 20_000, "{n_nodes}");
}

#[test]
fn without_memory_there_are_no_chains_and_the_same_tree() {
    for seed in 0..40 {
        let data = table(seed);
        let params = params(seed, data.schema().labels().map_or(0, Labels::len));
        let chains = ChainLimits { links: 0, few_rows: 2, small: 2 };
        let expected = grown(&data, &params, NEVER, None).0;
        let mut n_whole = 0;
        // The table alone takes some of it.
        for memory in (15..24).map(|bits| 1 << bits) {
            let (tree, stop) = grown(&data, &params, chains, Some(memory));
            match stop {
                None => {
                    assert_eq!(tree, expected, "seed {seed}, {memory} bytes");
                    n_whole += 1;
                }
                Some(stop) => assert_eq!(stop, Stop::Memory),
            }
        }
        assert!(n_whole > 0, "seed {seed}");
    }
}
