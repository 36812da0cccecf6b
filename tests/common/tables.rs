//! Seeded random tables and parameters for greedy trees, one by one or over subsets of the columns.

use std::sync::Arc;

use lattree::bits::mix;
use lattree::data::dataset::MISSING;
use lattree::data::{Column, Dataset, Feature, Kind, Labels, NumericType, Schema, Target, TargetSchema, Task, Value};
use lattree::greedy::{ClassWeight, Criterion, Missing, NominalSplits, Params};
use lattree::tree::Unseen;

use super::Random;

pub fn feature(name: &str, kind: Kind) -> Feature {
    Feature { name: name.into(), kind, dtype: String::new() }
}

/// A table of classes 0, 1, ...
pub fn table(
    columns: Vec<(Feature, Column)>,
    n_classes: usize,
    classes: Vec<u32>,
    counts: Option<Vec<u64>>,
    weights: Option<Vec<f64>>,
) -> Dataset {
    let task = Task::Classes(Labels::Integers((0..n_classes as i64).collect()));
    let target = TargetSchema { name: "y".into(), task, dtype: String::new() };
    let (features, columns) = columns.into_iter().unzip();
    let schema = Schema { features, target: Some(target) }.checked().expect("the names are distinct");
    let n_rows = classes.len();
    Dataset::new(Arc::new(schema), columns, n_rows, Target::Classes(classes.into()), counts, weights)
        .expect("the table is well formed")
}

/// A column of nominal or ordinal codes; `None` is missing.
pub fn levels(codes: &[Option<u32>]) -> Column {
    Column::Levels { codes: codes.iter().map(|code| code.unwrap_or(MISSING)).collect(), unseen: vec![] }
}

pub fn level_names(n: u64) -> Vec<String> {
    (0..n).map(|level| format!("l{level}")).collect()
}

/// Values that are hard to keep apart.
const FLOATS: [&[f64]; 4] = [
    &[-1.5, 0.0, 0.5, 1.0, 1.25, 2.0, 3.0],
    &[1.0, 1.0 + f64::EPSILON, 1.0 + 2.0 * f64::EPSILON, 1.0 - f64::EPSILON / 2.0],
    &[-0.0, 0.0, 5e-324, -1.0, 1e300, -1e300, 7.1],
    &[f64::NEG_INFINITY, f64::INFINITY, f64::MAX, -f64::MAX, 0.0, 1.0],
];
const INTEGERS: [&[i64]; 3] = [
    &[-3, -2, 0, 1, 2, 3, 10, 11],
    &[1 << 53, (1 << 53) + 1, (1 << 53) + 2, -(1 << 60), (1 << 60) + 1],
    &[i64::MIN, i64::MIN + 1, -1, 0, i64::MAX - 1, i64::MAX],
];

/// A column of any kind. `finite`: without infinities, of which there is no mean.
fn random_column(random: &mut Random, name: &str, n_rows: usize, finite: bool) -> (Feature, Column) {
    let missing = *random.pick(&[0, 0, 0, 5, 5, 20, 60, 100]);
    let n_levels = *random.pick(&[1, 2, 2, 3, 3, 4, 5, 8, 12, 13, 15, 40, 40]);
    let n_values = *random.pick(&[1, 2, 3, 5, n_levels, n_levels]);
    let is_missing: Vec<bool> = (0..n_rows).map(|_| random.chance(missing)).collect();
    // Some levels are absent: codes above n_values, and every second one at times.
    let step = if random.chance(20) { 2 } else { 1 };
    let code = |random: &mut Random| (random.below(n_values) * step % n_levels) as u32;
    let coded = |random: &mut Random| {
        let codes: Vec<Option<u32>> = is_missing.iter().map(|&gone| Some(code(random)).filter(|_| !gone)).collect();
        levels(&codes)
    };
    match random.below(6) {
        0 => {
            let palette = FLOATS[random.below(if finite { 3 } else { 4 }) as usize];
            let many = random.chance(30);
            let cell = |random: &mut Random| if many { random.below(40) as f64 / 8.0 } else { *random.pick(palette) };
            let cells = is_missing.iter().map(|&gone| (cell(random), gone));
            let cells = cells.map(|(x, gone)| if gone { f64::NAN } else { x }).collect();
            (feature(name, Kind::Continuous(NumericType::Float)), Column::Floats(cells))
        }
        1 => {
            let palette = *random.pick(&INTEGERS);
            let many = random.chance(30);
            let cell = |random: &mut Random| if many { random.below(50) as i64 } else { *random.pick(palette) };
            let values = (0..n_rows).map(|_| cell(random)).collect();
            let number =
                *random.pick(&[NumericType::Integer, NumericType::Integer, NumericType::Date, NumericType::DatetimeMs]);
            let missing = (missing > 0).then_some(is_missing);
            (feature(name, Kind::Continuous(number)), Column::Integers { values, missing })
        }
        2 => (feature(name, Kind::Ordinal(level_names(n_levels))), coded(random)),
        3 => {
            let cells: Vec<Option<u32>> =
                is_missing.iter().map(|&gone| Some(random.below(2) as u32).filter(|_| !gone)).collect();
            (feature(name, Kind::Nominal(["false", "true"].map(String::from).to_vec())), levels(&cells))
        }
        _ => (feature(name, Kind::Nominal(level_names(n_levels))), coded(random)),
    }
}

/// 1 to 60 rows, 1 to 6 columns of all kinds, 1 to 5 classes, sometimes counts and weights.
pub fn random_table(random: &mut Random, finite: bool) -> Dataset {
    random_table_of(random, |random| 1 + random.below(6), finite)
}

/// As [`random_table`], of as many columns as are drawn.
pub fn random_table_of(random: &mut Random, n_columns: impl Fn(&mut Random) -> u64, finite: bool) -> Dataset {
    let n_rows = if random.chance(5) { 1 + random.below(3) } else { 4 + random.below(57) } as usize;
    let mut columns: Vec<(Feature, Column)> = Vec::new();
    for index in 0..n_columns(random) {
        let name = format!("x{index}");
        let next = if index > 0 && random.chance(10) {
            // The same column again.
            let (of, column) = columns[random.below(index) as usize].clone();
            (Feature { name, ..of }, column)
        } else {
            random_column(random, &name, n_rows, finite)
        };
        columns.push(next);
    }
    let n_classes = *random.pick(&[1, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 5]);
    let used = if random.chance(3) { 1 } else { n_classes };
    // Labels that some of the cells explain, but for noise.
    let (salt, noise, explain) = (random.below(u64::MAX), *random.pick(&[0, 10, 30, 100]), 1 + random.below(3));
    let classes = (0..n_rows)
        .map(|row| {
            let cells = columns.iter().take(explain as usize).map(|(_, c)| format!("{:?}", c.value(row, u32::MAX)));
            let explained = cells.fold(salt, |hash, cell| cell.bytes().fold(hash, |h, byte| mix(h ^ u64::from(byte))));
            (if random.chance(noise) { random.below(used) } else { explained % used }) as u32
        })
        .collect();
    let counts = random.chance(30).then(|| (0..n_rows).map(|_| *random.pick(&[0, 1, 1, 2, 3, 7])).collect());
    let weights = random.chance(40).then(|| {
        const PALETTES: [&[f64]; 4] = [&[0.0, 1.0, 2.0], &[0.0, 0.25, 0.5, 1.5, 3.0], &[0.1, 0.3, 0.75, 3.0], &[0.5]];
        let palette = random.pick(&PALETTES);
        (0..n_rows).map(|_| *random.pick(palette)).collect()
    });
    table(columns, n_classes as usize, classes, counts, weights)
}

/// One of the palette per class.
fn factors(random: &mut Random, n: usize, palette: &[f64]) -> Vec<f64> {
    (0..n).map(|_| *random.pick(palette)).collect()
}

/// Parameters of all kinds, but for what is missing.
pub fn random_params(random: &mut Random, missing: Missing, data: &Dataset) -> Params {
    let n_classes = data.schema().labels().expect("classes").len();
    let class_weight = match random.below(8) {
        // Powers of two: weights of few digits stay so.
        0 => ClassWeight::Each(factors(random, n_classes, &[0.25, 0.5, 1.0, 2.0, 8.0])),
        1 => ClassWeight::Each(factors(random, n_classes, &[0.0, 1.0, 1.0, 4.0, 4.0])),
        2 | 3 if balances(data, n_classes, missing == Missing::Drop) => ClassWeight::Balanced,
        _ => ClassWeight::Equal,
    };
    let costs = random.chance(25).then(|| {
        let mut costs: Vec<Vec<f64>> =
            (0..n_classes).map(|_| factors(random, n_classes, &[0.0, 0.5, 1.0, 1.0, 2.0, 5.0, 10.0])).collect();
        (0..n_classes).for_each(|class| costs[class][class] = 0.0);
        costs
    });
    let free = Params {
        criterion: *random.pick(&[
            Criterion::InformationGain,
            Criterion::InformationGain,
            Criterion::GainRatio,
            Criterion::GainRatio,
            Criterion::Gini,
            Criterion::Gini,
            Criterion::Error,
        ]),
        nominal_splits: *random.pick(&[
            NominalSplits::Multiway,
            NominalSplits::OneVsRest,
            NominalSplits::Subsets,
            NominalSplits::Subsets,
        ]),
        missing,
        class_weight,
        costs,
        unseen: *random.pick(&[Unseen::Majority, Unseen::Missing, Unseen::Error]),
        threads: Some(*random.pick(&[1, 2])),
        ..Params::default()
    };
    if random.chance(40) {
        return free;
    }
    // Of constraints, each is rare, or few trees would grow.
    Params {
        min_cases: *random.pick(&[1, 2, 2, 2, 2, 2, 3, 8]),
        min_branch: *random.pick(&[None, None, None, None, None, Some(1), Some(2), Some(3)]),
        min_leaf: *random.pick(&[1, 1, 1, 1, 1, 2, 3]),
        max_depth: *random.pick(&[None, None, None, None, None, None, Some(0), Some(1), Some(2), Some(3)]),
        min_gain: *random.pick(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.01, 0.1, 0.25, 0.5, 1.0]),
        max_leaves: *random.pick(&[None, None, None, Some(1), Some(3), Some(5), Some(8), Some(20)]),
        ..free
    }
}

/// Whether balanced weights are of few binary digits: what they are otherwise depends on how sums round.
fn balances(data: &Dataset, n_classes: usize, drop: bool) -> bool {
    let Target::Classes(classes) = data.target() else { return false };
    let mut masses = vec![0.0; n_classes];
    let lacks_in = |column: &Column, row: usize| column.value(row, u32::MAX) == Value::Missing;
    let is_empty = |column: &Column| (0..data.n_rows()).all(|row| data.count(row) == 0 || lacks_in(column, row));
    let columns: Vec<_> = data.columns().iter().filter(|column| !is_empty(column)).collect();
    let lacks = |row: usize| columns.iter().any(|column| lacks_in(column, row));
    for (row, &class) in classes.iter().enumerate().filter(|&(row, _)| !(drop && lacks(row))) {
        masses[class as usize] += data.count(row) as f64 * data.weights().map_or(1.0, |weights| weights[row]);
    }
    let n_present = masses.iter().filter(|&&mass| mass > 0.0).count() as f64;
    let total: f64 = masses.iter().sum();
    let short = |x: f64| (x * 64.0).fract() == 0.0;
    let few = data.weights().is_none_or(|weights| weights.iter().all(|&weight| short(weight)));
    few && masses.iter().all(|&mass| mass == 0.0 || short(total / (n_present * mass)))
}
