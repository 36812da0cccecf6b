//! What the integration tests share: seeded random tables, and an oracle that tries all trees.

#![allow(dead_code)] // each test binary uses its part

pub mod shortest;
pub mod tables;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lattree::bits::mix;
use lattree::data::{Column, Dataset, Feature, Kind, Labels, NumericType, Schema, Target, TargetSchema, Task};
use lattree::optimal::{CacheKind, Counting, Outcome, Params, RootOrder, Switches};
use lattree::tree::{Leaf, Node, Test, Tree};

/// A seeded generator, the same on every platform.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(mix(seed))
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = mix(self.0);
        self.0 % n
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len() as u64) as usize]
    }
}

fn feature(name: String, kind: Kind) -> Feature {
    Feature { name, kind, dtype: String::new() }
}

/// A column of any kind, with ties, and sometimes constant or with missing cells.
fn random_column(random: &mut Random, name: String, n_rows: usize, n_values: u64) -> (Feature, Column) {
    let missing = *random.pick(&[0, 0, 20, 60]);
    let values: Vec<Option<u64>> =
        (0..n_rows).map(|_| Some(random.below(n_values)).filter(|_| !random.chance(missing))).collect();
    let levels: Vec<String> = (0..n_values + 1).map(|level| format!("l{level}")).collect();
    let codes = || values.iter().map(|v| v.map_or(u32::MAX, |v| v as u32)).collect();
    match random.below(5) {
        0 => {
            // Neighbouring floats, infinities, and numbers far apart.
            let scale = [-f64::INFINITY, -1.0, 0.0, f64::MIN_POSITIVE, 1.0, 1.0 + f64::EPSILON, 1e300, f64::INFINITY];
            let cells = values.iter().map(|v| v.map_or(f64::NAN, |v| scale[v as usize])).collect();
            (feature(name, Kind::Continuous(NumericType::Float)), Column::Floats(cells))
        }
        1 => {
            let scale = [i64::MIN, -5, 0, 1 << 53, (1 << 53) + 1, 1 << 60, i64::MAX - 1, i64::MAX];
            let column = Column::Integers {
                values: values.iter().map(|v| v.map_or(0, |v| scale[v as usize])).collect(),
                missing: (missing > 0).then(|| values.iter().map(Option::is_none).collect()),
            };
            (feature(name, Kind::Continuous(NumericType::Integer)), column)
        }
        2 => (feature(name, Kind::Ordinal(levels)), Column::Levels { codes: codes(), unseen: vec![] }),
        _ => (feature(name, Kind::Nominal(levels)), Column::Levels { codes: codes(), unseen: vec![] }),
    }
}

/// A small table: 1 to 24 rows, 0 to 4 columns of all kinds, 1 to 5 classes, sometimes counts and weights.
pub fn random_table(random: &mut Random) -> Dataset {
    let n_rows = if random.chance(10) { 1 + random.below(3) } else { 4 + random.below(30) } as usize;
    let n_columns = if random.chance(3) { 0 } else { 1 + random.below(5) };
    let mut features: Vec<Feature> = Vec::new();
    let mut columns: Vec<Column> = Vec::new();
    for index in 0..n_columns {
        let name = format!("x{index}");
        if index > 0 && random.chance(10) {
            // The same column again.
            let of = random.below(index) as usize;
            features.push(feature(name, features[of].kind.clone()));
            columns.push(columns[of].clone());
            continue;
        }
        let n_values = *random.pick(&[1, 2, 2, 2, 3, 4]);
        let (feature, column) = random_column(random, name, n_rows, n_values);
        features.push(feature);
        columns.push(column);
    }
    let n_classes = *random.pick(&[1, 2, 2, 2, 3, 3, 4, 5]);
    let used = if random.chance(10) { 1 } else { n_classes };
    // Labels that the cells explain, but for some noise: else a leaf would often be best.
    let (salt, noise) = (random.below(u64::MAX), *random.pick(&[0, 10, 30, 100]));
    let classes: Vec<u32> = (0..n_rows)
        .map(|row| {
            let cells = columns.iter().map(|column| format!("{:?}", column.value(row, u32::MAX)));
            let explained = cells.fold(salt, |hash, cell| cell.bytes().fold(hash, |h, byte| mix(h ^ u64::from(byte))));
            (if random.chance(noise) { random.below(used) } else { explained % used }) as u32
        })
        .collect();
    let counts = random.chance(30).then(|| (0..n_rows).map(|_| random.below(4)).collect::<Vec<u64>>());
    let weights = random.chance(40).then(|| {
        const PALETTES: [&[f64]; 4] =
            [&[0.0, 1.0, 2.0], &[0.0, 0.25, 0.5, 1.5, 3.0], &[0.1, 0.3, 1e-3, 7.7], &[1e6, 1e-9]];
        let palette = random.pick(&PALETTES);
        (0..n_rows).map(|_| *random.pick(palette)).collect::<Vec<f64>>()
    });
    let target = TargetSchema {
        name: "y".into(),
        task: Task::Classes(Labels::Integers((0..n_classes as i64).collect())),
        dtype: String::new(),
    };
    let schema = Schema { features, target: Some(target) }.checked().expect("the names are distinct");
    Dataset::new(Arc::new(schema), columns, n_rows, Target::Classes(classes.into()), counts, weights)
        .expect("the table is well formed")
}

/// The levels of one variant: engine, cache, bounds, transpositions, refined bound, subtraction, matrices, dynamic
/// order, order of tests, counting, baseline instructions, threads, discrepancies.
pub type Levels = [usize; 13];

/// How many levels each has.
pub const LEVELS: Levels =
    [2, CacheKind::ALL.len(), 2, 2, 2, 2, 2, 2, RootOrder::ALL.len(), Counting::ALL.len(), 2, 2, 3];

pub fn variant(levels: Levels, params: &Params) -> Params {
    let [
        engine,
        cache,
        bounds,
        transpositions,
        refined,
        subtraction,
        matrices,
        dynamic,
        order,
        counting,
        baseline,
        threads,
        discrepancies,
    ] = levels;
    let switches = Switches {
        reference: engine == 1,
        cache: CacheKind::ALL[cache],
        bounds: bounds == 1,
        transpositions: transpositions == 1,
        refined: refined == 1,
        subtraction: subtraction == 1,
        matrices: matrices == 1,
        dynamic_order: dynamic == 1,
        order: RootOrder::ALL[order],
        counting: Counting::ALL[counting],
        baseline: baseline == 1,
        parallel_work: 0,
    };
    let discrepancies = [None, Some(0), Some(2)][discrepancies];
    Params { switches, threads: Some([1, 4][threads]), discrepancies, ..params.clone() }
}

/// A table of whole numbers of few values, 20 to 200 rows, 3 to 14 columns, 2 to 6 classes that some columns explain.
pub fn random_numbers(random: &mut Random) -> Dataset {
    let most = *random.pick(&[30, 100, 180]);
    let n_rows = 20 + random.below(most) as usize;
    let n_columns = 3 + random.below(12) as usize;
    let n_values: Vec<u64> = (0..n_columns).map(|_| *random.pick(&[1, 2, 2, 2, 2, 3, 4])).collect();
    let mut cells: Vec<Vec<i64>> = Vec::new();
    for (column, &n_values) in n_values.iter().enumerate() {
        // A column that repeats, complements or nearly repeats an earlier one.
        let of = random.chance(20) && column > 0;
        let (of, flip, noise) =
            (of.then(|| random.below(column as u64) as usize), random.chance(50), random.chance(70));
        let cell = |row: usize, random: &mut Random, cells: &[Vec<i64>]| match of {
            Some(of) if !(noise && random.chance(5)) => {
                if flip {
                    1 - cells[of][row]
                } else {
                    cells[of][row]
                }
            }
            _ => random.below(n_values) as i64,
        };
        let values = (0..n_rows).map(|row| cell(row, random, &cells)).collect();
        cells.push(values);
    }
    let n_classes = *random.pick(&[2, 2, 2, 3, 4, 6]);
    let (a, b, c) = (random.below(n_columns as u64), random.below(n_columns as u64), random.below(n_columns as u64));
    let noise = *random.pick(&[0, 10, 30, 100]);
    let classes: Vec<u32> = (0..n_rows)
        .map(|row| {
            let value = |column: u64| cells[column as usize][row].rem_euclid(4) as u64;
            let explained = value(a) ^ (value(b) & value(c));
            (if random.chance(noise) { random.below(n_classes) } else { explained % n_classes }) as u32
        })
        .collect();
    let counts = random.chance(30).then(|| (0..n_rows).map(|_| 1 + random.below(12)).collect::<Vec<u64>>());
    let weights = random.chance(25).then(|| {
        const PALETTES: [&[f64]; 5] =
            [&[0.0, 1.0, 2.0], &[0.25, 0.5, 1.5, 300.0], &[0.1, 0.3, 7.7], &[1e5, 3.0, 1.0], &[]];
        let palette = random.pick(&PALETTES);
        let weight = |_| match palette.is_empty() {
            true => (1 + random.below(1 << 40)) as f64 / (1u64 << 38) as f64, // of many digits
            false => *random.pick(palette),
        };
        (0..n_rows).map(weight).collect::<Vec<f64>>()
    });
    let features = (0..n_columns).map(|j| feature(format!("x{j}"), Kind::Continuous(NumericType::Integer))).collect();
    let target = TargetSchema {
        name: "y".into(),
        task: Task::Classes(Labels::Integers((0..n_classes as i64).collect())),
        dtype: String::new(),
    };
    let schema = Schema { features, target: Some(target) }.checked().expect("the names are distinct");
    let columns = cells.into_iter().map(|values| Column::Integers { values, missing: None }).collect();
    Dataset::new(Arc::new(schema), columns, n_rows, Target::Classes(classes.into()), counts, weights)
        .expect("the table is well formed")
}

/// Whether a row passes a test. A missing value fails every value test.
pub fn passes(data: &Dataset, test: &Test, row: usize) -> bool {
    let feature = test.feature() as usize;
    let n_levels = data.schema().features[feature].kind.levels().len() as u32;
    test.branch(data.columns()[feature].value(row, n_levels)) == Some(0)
}

/// A number in units of the resolution.
pub fn units(x: f64, resolution: f64) -> u64 {
    (x / resolution).round() as u64
}

/// The mass of a row in units of the resolution; 0 of an absent one.
pub fn mass_of(data: &Dataset, row: usize, resolution: f64) -> u64 {
    data.count(row) * units(data.weights().map_or(1.0, |weights| weights[row]), resolution)
}

/// A cost as a number, rounded once: a resolution is a power of two, or one over a power of ten.
pub fn value(cost: u64, resolution: f64) -> f64 {
    if resolution < 1.0 { cost as f64 / (1.0 / resolution).round() } else { cost as f64 * resolution }
}

/// The cost of the tree that a search found, from its predictions.
pub fn cost_of(data: &Dataset, outcome: &Outcome, node_penalty: f64) -> f64 {
    let predicted = outcome.tree.predict_codes(data, 0..data.n_rows()).expect("the same table");
    let Target::Classes(classes) = data.target() else { panic!("classes") };
    let wrong = (0..data.n_rows()).filter(|&row| predicted[row] != classes[row]);
    let wrong: u64 = wrong.map(|row| mass_of(data, row, outcome.resolution)).sum();
    let nodes = outcome.tree.n_nodes() as u64;
    shown(wrong + if nodes > 0 { nodes * units(node_penalty, outcome.resolution) } else { 0 }, outcome)
}

/// A cost as the number that an outcome would show for it. A resolution that is a ratio is rounded itself: then an
/// objective of as many units says more exactly what they are; of more units than floats tell apart, one of about as
/// many.
pub fn shown(cost: u64, outcome: &Outcome) -> f64 {
    let found = units(outcome.objective, outcome.resolution);
    let is_it = if cost < 1 << 50 { cost == found } else { cost.abs_diff(found) <= cost >> 50 };
    if is_it { outcome.objective } else { value(cost, outcome.resolution) }
}

/// Tries all trees. Short, slow, obviously right.
pub struct Oracle {
    /// Per row: whether it passes each test.
    passes: Vec<Vec<bool>>,
    /// Per row: what each label costs, in units.
    costs: Vec<Vec<i64>>,
    counts: Vec<u64>,
    n_tests: usize,
    min_leaf: u64,
    penalty: i64,
}

/// A tree as the oracle sees it.
#[derive(Debug, PartialEq, Eq)]
pub enum Shape {
    Leaf(u32),
    Split(usize, Box<Shape>, Box<Shape>),
}

impl Oracle {
    /// An error costs the mass of its case.
    pub fn new(data: &Dataset, tests: &[Test], resolution: f64, min_leaf: u64, node_penalty: f64) -> Self {
        let Target::Classes(classes) = data.target() else { panic!("classes") };
        let masses: Vec<u64> = (0..data.n_rows()).map(|row| mass_of(data, row, resolution)).collect();
        let labels = 0..data.schema().labels().expect("classes").len() as u32;
        let cost = |row: usize, label: u32| if label == classes[row] { 0 } else { masses[row] as i64 };
        let costs = (0..data.n_rows()).map(|row| labels.clone().map(|label| cost(row, label)).collect()).collect();
        // Beyond the total mass no split pays.
        let penalty = units(node_penalty, resolution).min(masses.iter().sum::<u64>() + 1);
        Self::with_costs(data, tests, costs, min_leaf, penalty as i64)
    }

    /// What each label costs is said for each row.
    pub fn with_costs(data: &Dataset, tests: &[Test], costs: Vec<Vec<i64>>, min_leaf: u64, penalty: i64) -> Self {
        let passes = |row: usize| tests.iter().map(|test| passes(data, test, row)).collect();
        Oracle {
            passes: (0..data.n_rows()).map(passes).collect(),
            costs,
            counts: (0..data.n_rows()).map(|row| data.count(row)).collect(),
            n_tests: tests.len(),
            min_leaf,
            penalty,
        }
    }

    pub fn rows(&self) -> Vec<usize> {
        (0..self.counts.len()).filter(|&row| self.counts[row] > 0).collect()
    }

    fn leaf(&self, rows: &[usize]) -> (i64, u32) {
        let mut costs = vec![0; self.costs[0].len()];
        rows.iter().for_each(|&row| costs.iter_mut().zip(&self.costs[row]).for_each(|(sum, cost)| *sum += cost));
        let least = *costs.iter().min().expect("a label");
        (least, costs.iter().position(|&cost| cost == least).expect("the least") as u32)
    }

    /// Passing and failing rows, if the test splits these rows.
    fn split(&self, rows: &[usize], test: usize) -> Option<(Vec<usize>, Vec<usize>)> {
        let (pass, fail): (Vec<usize>, Vec<usize>) = rows.iter().partition(|&&row| self.passes[row][test]);
        let cases = |rows: &[usize]| rows.iter().map(|&row| self.counts[row]).sum::<u64>();
        (!pass.is_empty() && !fail.is_empty() && cases(&pass).min(cases(&fail)) >= self.min_leaf)
            .then_some((pass, fail))
    }

    /// The least cost of a tree of this depth with at most 0, 1, 2, ... nodes.
    pub fn costs(&self, rows: &[usize], depth: u32) -> Vec<i64> {
        let mut costs = vec![self.leaf(rows).0; 1 << depth];
        for (pass, fail) in (0..self.n_tests).filter_map(|test| self.split(rows, test)).filter(|_| depth > 0) {
            let (pass, fail) = (self.costs(&pass, depth - 1), self.costs(&fail, depth - 1));
            for (p, cost_p) in pass.iter().enumerate() {
                for (f, cost_f) in fail.iter().enumerate() {
                    let cost = &mut costs[p + f + 1];
                    *cost = (*cost).min(cost_p + cost_f + self.penalty);
                }
            }
        }
        (1..costs.len()).for_each(|k| costs[k] = costs[k].min(costs[k - 1]));
        costs
    }

    /// The canonical tree, by its definition.
    pub fn canonical(&self, rows: &[usize], depth: u32, nodes: usize) -> Shape {
        let (leaf, label) = self.leaf(rows);
        let full = (1 << depth) - 1;
        let least = self.costs(rows, depth)[nodes.min(full)];
        if least == leaf {
            return Shape::Leaf(label);
        }
        let below = (1 << (depth - 1)) - 1;
        for test in 0..self.n_tests {
            let Some((pass, fail)) = self.split(rows, test) else { continue };
            let (costs_p, costs_f) = (self.costs(&pass, depth - 1), self.costs(&fail, depth - 1));
            let budgets: Vec<(usize, usize)> = match nodes >= full {
                true => vec![(below, below)],
                false => (0..=below.min(nodes - 1)).map(|p| (p, below.min(nodes - 1 - p))).collect(),
            };
            for (p, f) in budgets {
                if costs_p[p] + costs_f[f] + self.penalty == least {
                    let (pass, fail) = (self.canonical(&pass, depth - 1, p), self.canonical(&fail, depth - 1, f));
                    return Shape::Split(test, Box::new(pass), Box::new(fail));
                }
            }
        }
        panic!("some split has the least cost");
    }
}

/// A tree of the library as the oracle would write it.
pub fn shape_of(tree: &Tree, tests: &[Test], node: usize) -> Shape {
    match &tree.nodes()[node] {
        Node::Leaf(Leaf::Class { label, .. }) => Shape::Leaf(*label),
        Node::Leaf(Leaf::Number { .. }) => panic!("a tree of classes"),
        Node::Split(split) => Shape::Split(
            tests.iter().position(|test| *test == split.test).expect("a test that was offered"),
            Box::new(shape_of(tree, tests, split.children[0] as usize)),
            Box::new(shape_of(tree, tests, split.children[1] as usize)),
        ),
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// Says which problem it was if its check panics.
struct At(u64);

impl Drop for At {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed {}", self.0);
        }
    }
}

/// Calls `check` with every seed, on all processors: as many as LATTREE_PROBLEMS says, from LATTREE_FIRST on.
pub fn for_seeds(default: u64, check: impl Fn(u64) + Sync) {
    let (first, problems) = (number("LATTREE_FIRST", 0), number("LATTREE_PROBLEMS", default));
    let next = AtomicU64::new(first);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Relaxed);
                    if seed >= first + problems {
                        break;
                    }
                    let _at = At(seed);
                    check(seed);
                }
            });
        }
    });
}
