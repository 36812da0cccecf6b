//! Brute force on up to 64 rows: all trees, but each set of rows once.
//!
//! The definition is that of the oracle of all tests (`common::Oracle`), which knows no sets and is therefore slower; a
//! test compares the two.

use std::rc::Rc;

use lattree::bits;
use lattree::data::{Dataset, Target};
use lattree::tree::Test;
use rustc_hash::FxHashMap;

use crate::common::{Oracle, Random, Shape, for_seeds, mass_of, passes, units};
use crate::tables::{Size, random_cuts};
use crate::{offered, random_params};

/// Tries all trees over the tests of a table.
pub struct Brute {
    /// Per test the rows that pass.
    passes: Vec<u64>,
    /// Per row.
    classes: Vec<u32>,
    masses: Vec<u64>,
    counts: Vec<u64>,
    n_classes: usize,
    min_leaf: u64,
    penalty: u64,
    /// The least costs of a set of rows at a depth, by the number of nodes.
    known: FxHashMap<(u64, u32), Rc<[u64]>>,
}

impl Brute {
    pub const MOST_ROWS: usize = 64;

    pub fn new(data: &Dataset, tests: &[Test], resolution: f64, min_leaf: u64, node_penalty: f64) -> Self {
        let Target::Classes(classes) = data.target() else { panic!("classes") };
        let masses: Vec<u64> = (0..data.n_rows()).map(|row| mass_of(data, row, resolution)).collect();
        let set_of = |test| (0..data.n_rows()).fold(0, |set, row| set | u64::from(passes(data, test, row)) << row);
        Brute {
            passes: tests.iter().map(set_of).collect(),
            classes: classes.to_vec(),
            // Beyond the total mass no split pays.
            penalty: units(node_penalty, resolution).min(masses.iter().sum::<u64>() + 1),
            masses,
            counts: (0..data.n_rows()).map(|row| data.count(row)).collect(),
            n_classes: data.schema().labels().expect("classes").len(),
            min_leaf,
            known: FxHashMap::default(),
        }
    }

    /// The rows that are there.
    pub fn rows(&self) -> u64 {
        (0..self.counts.len()).filter(|&row| self.counts[row] > 0).fold(0, |set, row| set | 1 << row)
    }

    fn leaf(&self, rows: u64) -> (u64, u32) {
        let mut masses = [0; 8];
        bits::ones(&[rows]).for_each(|row| masses[self.classes[row] as usize] += self.masses[row]);
        let masses = &masses[..self.n_classes];
        let most = *masses.iter().max().expect("a class");
        (masses.iter().sum::<u64>() - most, masses.iter().position(|&m| m == most).expect("the greatest") as u32)
    }

    /// Passing and failing rows, if the test splits these rows.
    fn split(&self, rows: u64, test: usize) -> Option<[u64; 2]> {
        let sides = [rows & self.passes[test], rows & !self.passes[test]];
        let cases = |rows: u64| bits::ones(&[rows]).map(|row| self.counts[row]).sum::<u64>();
        let fits = |rows: u64| rows != 0 && (self.min_leaf == 1 || cases(rows) >= self.min_leaf);
        sides.iter().all(|&rows| fits(rows)).then_some(sides)
    }

    /// The least cost of a tree of this depth with at most 0, 1, 2, ... nodes.
    pub fn costs(&mut self, rows: u64, depth: u32) -> Rc<[u64]> {
        if let Some(costs) = self.known.get(&(rows, depth)) {
            return costs.clone();
        }
        let mut costs = vec![self.leaf(rows).0; 1 << depth];
        for test in 0..if depth > 0 { self.passes.len() } else { 0 } {
            let Some([pass, fail]) = self.split(rows, test) else { continue };
            let (pass, fail) = (self.costs(pass, depth - 1), self.costs(fail, depth - 1));
            for (p, cost_p) in pass.iter().enumerate() {
                for (f, cost_f) in fail.iter().enumerate() {
                    let cost = &mut costs[p + f + 1];
                    *cost = (*cost).min(cost_p + cost_f + self.penalty);
                }
            }
        }
        (1..costs.len()).for_each(|k| costs[k] = costs[k].min(costs[k - 1]));
        self.known.entry((rows, depth)).insert_entry(costs.into()).get().clone()
    }

    /// The canonical tree within so many nodes, by its definition.
    pub fn canonical(&mut self, rows: u64, depth: u32, nodes: usize) -> Shape {
        let (leaf, label) = self.leaf(rows);
        let full = (1 << depth) - 1;
        let least = self.costs(rows, depth)[nodes.min(full)];
        if least == leaf {
            return Shape::Leaf(label);
        }
        let below = (1 << (depth - 1)) - 1;
        for test in 0..self.passes.len() {
            let Some([pass, fail]) = self.split(rows, test) else { continue };
            let (costs_p, costs_f) = (self.costs(pass, depth - 1), self.costs(fail, depth - 1));
            let budgets = match nodes >= full {
                true => vec![(below, below)],
                false => (0..=below.min(nodes - 1)).map(|p| (p, below.min(nodes - 1 - p))).collect(),
            };
            for (p, f) in budgets {
                if costs_p[p] + costs_f[f] + self.penalty == least {
                    let (pass, fail) = (self.canonical(pass, depth - 1, p), self.canonical(fail, depth - 1, f));
                    return Shape::Split(test, Box::new(pass), Box::new(fail));
                }
            }
        }
        panic!("some split has the least cost");
    }
}

#[test]
fn brute_force_is_the_oracle() {
    for_seeds(2_000, |seed| {
        let mut random = Random::new(30_000_000 + seed);
        let data = random_cuts(&mut random, Size { rows: (1, 20), columns: (1, 3), values: (1, 4) });
        let params = random_params(&mut random, &[0, 1, 2, 3]);
        let Ok(tests) = offered(&data, &params.binarizer) else { return };
        let depth = if tests.len() > 6 { params.max_depth.min(2) } else { params.max_depth };
        let resolution = lattree::objective::Units::new(&data, params.node_penalty).expect("weights").resolution;
        let oracle = Oracle::new(&data, &tests, resolution, params.min_leaf, params.node_penalty);
        let mut brute = Brute::new(&data, &tests, resolution, params.min_leaf, params.node_penalty);
        let (rows, set) = (oracle.rows(), brute.rows());
        let costs = oracle.costs(&rows, depth);
        let of_brute: Vec<i64> = brute.costs(set, depth).iter().map(|&cost| cost as i64).collect();
        assert_eq!(costs, of_brute, "seed {seed}");
        for nodes in 0..costs.len() {
            assert_eq!(oracle.canonical(&rows, depth, nodes), brute.canonical(set, depth, nodes), "seed {seed}");
        }
    });
}
