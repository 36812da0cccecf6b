//! Tables in which classes follow cuts of ordered columns, but for noise.
//!
//! A column is drawn as ranks, from which its values come by a map that keeps their order: so floats that are
//! neighbours, integers that no float can hold, infinities and levels all stand for the same ranks.

use lattree::data::{Column, Dataset, Feature, Kind, NumericType};
use lattree::objective::Units;

use crate::common::Random;
use crate::common::tables::{feature, level_names, levels, table};

/// How large a table may be.
#[derive(Clone, Copy)]
pub struct Size {
    /// The fewest and the most rows.
    pub rows: (u64, u64),
    /// The fewest and the most columns.
    pub columns: (u64, u64),
    /// The fewest and the most values of a column drawn on its own.
    pub values: (u64, u64),
}

fn between(random: &mut Random, (least, most): (u64, u64)) -> u64 {
    least + random.below(most - least + 1)
}

/// A column by ranks: one per row, below `n_values`; `None` is missing.
#[derive(Clone)]
struct Ranks {
    of: Vec<Option<u64>>,
    n_values: u64,
}

impl Ranks {
    fn fresh(random: &mut Random, n_rows: usize, (least, most): (u64, u64)) -> Self {
        let n = n_rows as u64;
        let n_values = (*random.pick(&[1, 2, 2, 3, 4, 5, 8, 8, n / 4, n / 2, n, n, n, 4 * n])).clamp(least, most);
        let skewed = random.chance(30);
        let rank = |random: &mut Random| match skewed {
            true => random.below(n_values).min(random.below(n_values)),
            false => random.below(n_values),
        };
        let mut of: Vec<Option<u64>> = (0..n_rows).map(|_| Some(rank(random))).collect();
        if n_values == n && random.chance(50) {
            // Each value once, in any order.
            of = (0..n).map(Some).collect();
            (1..n_rows).for_each(|row| of.swap(row, random.below(row as u64 + 1) as usize));
        }
        Ranks { of, n_values }
    }

    /// One whose tests are those of another column, or nearly.
    fn like(random: &mut Random, other: &Ranks) -> Self {
        let Ranks { of, n_values } = other.clone();
        let map = |change: &dyn Fn(u64) -> u64| of.iter().map(|rank| rank.map(change)).collect::<Vec<_>>();
        let of = match random.below(4) {
            0 => of,
            1 => map(&|rank| n_values - 1 - rank),
            2 => map(&|rank| rank / 2),
            _ => {
                let near =
                    |random: &mut Random, rank: u64| (rank + random.below(3)).saturating_sub(1).min(n_values - 1);
                of.into_iter().map(|rank| rank.map(|rank| near(random, rank))).collect()
            }
        };
        Ranks { of, n_values }
    }

    /// Values of some kind in the same order; nominal ones, in any order.
    fn column(&self, random: &mut Random, name: &str) -> (Feature, Column) {
        let Ranks { of, n_values } = self;
        let floats = |value: &dyn Fn(u64) -> f64| {
            let cells = of.iter().map(|rank| rank.map_or(f64::NAN, value)).collect();
            (feature(name, Kind::Continuous(NumericType::Float)), Column::Floats(cells))
        };
        let integers = |number: NumericType, value: &dyn Fn(u64) -> i64| {
            let gone = of.iter().any(Option::is_none).then(|| of.iter().map(Option::is_none).collect());
            let values = of.iter().map(|rank| rank.map_or(7, value)).collect();
            (feature(name, Kind::Continuous(number)), Column::Integers { values, missing: gone })
        };
        let codes =
            |code: &dyn Fn(u64) -> u64| levels(&of.iter().map(|rank| rank.map(|r| code(r) as u32)).collect::<Vec<_>>());
        let (last, half) = (n_values - 1, n_values / 2);
        match random.below(14) {
            0 | 1 => floats(&|rank| 0.37 * rank as f64 - 5.0),
            // Neighbours: near 1, where only a float of 64 bits tells them apart, and around 0.
            2 => floats(&|rank| f64::from_bits(1f64.to_bits() + rank)),
            3 => floats(&|rank| 5e-324 * (rank as f64 - half as f64)),
            4 => floats(&|rank| 1.0 + 1e-9 * rank as f64),
            // Far apart, and infinite at the ends.
            5 => floats(&|rank| match rank {
                0 => f64::NEG_INFINITY,
                rank if rank == last => f64::INFINITY,
                rank if rank < half => -(f64::MAX / (rank as f64 + 1.0)),
                rank => f64::MAX / (*n_values as f64 + 1.0 - rank as f64),
            }),
            6 => integers(NumericType::Integer, &|rank| (rank * rank) as i64 - 3),
            7 => integers(NumericType::Integer, &|rank| (1 << 53) + rank as i64),
            8 => integers(NumericType::Integer, &|rank| match rank < half {
                true => i64::MIN + rank as i64,
                false => i64::MAX - (last - rank) as i64,
            }),
            9 => integers(NumericType::Date, &|rank| 18_000 + rank as i64),
            10 if *n_values <= 40 => (feature(name, Kind::Ordinal(level_names(n_values + 1))), codes(&|rank| rank)),
            11 if *n_values <= 12 => {
                let shift = random.below(*n_values);
                let code = |rank: u64| (rank + shift) % n_values;
                (feature(name, Kind::Nominal(level_names(n_values + 1))), codes(&code))
            }
            _ => floats(&|rank| 0.1 * rank as f64),
        }
    }
}

/// What classes follow.
enum Rule {
    Class(u64),
    /// A column, the greatest rank that passes, and what follows then and else.
    Cut(usize, u64, Box<[Rule; 2]>),
}

impl Rule {
    fn new(random: &mut Random, columns: &[Ranks], n_classes: u64, depth: u32) -> Self {
        if depth == 0 || random.chance(15) {
            return Rule::Class(random.below(n_classes));
        }
        let column = random.below(columns.len() as u64) as usize;
        let cut = random.pick(&columns[column].of).unwrap_or(0).min(columns[column].n_values.saturating_sub(2));
        let mut branches = [0, 1].map(|_| Rule::new(random, columns, n_classes, depth - 1));
        if let [Rule::Class(one), Rule::Class(other)] = &mut branches
            && one == other
        {
            *other = (*one + 1) % n_classes;
        }
        Rule::Cut(column, cut, Box::new(branches))
    }

    fn class(&self, columns: &[Ranks], row: usize) -> u64 {
        match self {
            Rule::Class(class) => *class,
            Rule::Cut(column, cut, branches) => {
                let passes = columns[*column].of[row].is_some_and(|rank| rank <= *cut);
                branches[usize::from(!passes)].class(columns, row)
            }
        }
    }
}

/// Repetitions of all sizes, or none.
pub fn random_counts(random: &mut Random, n_rows: usize) -> Option<Vec<u64>> {
    const PALETTES: [&[u64]; 5] =
        [&[0, 1, 1, 2, 3, 7], &[1, 40], &[3, 1 << 13, 1 << 14], &[5, 1 << 31], &[0, 1, 1 << 40]];
    let palette = random.pick(&PALETTES);
    random.chance(30).then(|| (0..n_rows).map(|_| *random.pick(palette)).collect())
}

/// Weights of all sizes, or none.
pub fn random_weights(random: &mut Random, n_rows: usize) -> Option<Vec<f64>> {
    const PALETTES: [&[f64]; 9] = [
        &[0.0, 1.0, 2.0],
        &[0.0, 0.25, 0.5, 1.5, 3.0],
        &[0.1, 0.3, 0.75, 3.0],
        &[0.5],
        &[1.0, 7.0, 3e4],
        &[1.0, 1e5, 1e8],
        &[1e-3, 7.7],
        &[1e-9, 1e6],
        &[std::f64::consts::PI, std::f64::consts::E, 1e-3],
    ];
    let palette = random.pick(&PALETTES);
    random.chance(30).then(|| (0..n_rows).map(|_| *random.pick(palette)).collect())
}

/// A table of mostly ordered columns, 1 to 5 classes, sometimes missing cells, rows that repeat, counts and weights.
pub fn random_cuts(random: &mut Random, size: Size) -> Dataset {
    let n_rows = between(random, size.rows) as usize;
    let n_columns = between(random, size.columns);
    let mut columns: Vec<Ranks> = Vec::new();
    for index in 0..n_columns {
        let next = if index > 0 && random.chance(20) {
            let other = random.below(index) as usize;
            Ranks::like(random, &columns[other])
        } else {
            Ranks::fresh(random, n_rows, size.values)
        };
        columns.push(next);
    }
    let missing: &[u64] = if random.chance(25) { &[0, 10, 50, 100] } else { &[0] };
    let together: Vec<bool> = (0..n_rows).map(|_| random.chance(20)).collect();
    for column in &mut columns {
        let (percent, follows) = (*random.pick(missing), missing.len() > 1 && random.chance(20));
        for (rank, &gone) in column.of.iter_mut().zip(&together) {
            if random.chance(percent) || follows && gone {
                *rank = None;
            }
        }
    }
    if random.chance(20) {
        // Some rows several times.
        let from: Vec<usize> = (0..n_rows).map(|_| random.below(n_rows as u64 / 2 + 1) as usize % n_rows).collect();
        columns.iter_mut().for_each(|column| column.of = from.iter().map(|&row| column.of[row]).collect());
    }
    let n_classes = *random.pick(&[1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 4, 4, 5]);
    let used = if random.chance(2) { 1 } else { n_classes };
    let depth = *random.pick(&[1, 2, 2, 3, 3, 4]);
    let (rule, noise) = (Rule::new(random, &columns, used, depth), *random.pick(&[0, 5, 15, 30, 100]));
    let classes = (0..n_rows)
        .map(|row| (if random.chance(noise) { random.below(used) } else { rule.class(&columns, row) }) as u32)
        .collect::<Vec<u32>>();
    let columns: Vec<_> = columns.iter().enumerate().map(|(j, ranks)| ranks.column(random, &format!("x{j}"))).collect();
    let (counts, weights) = (random_counts(random, n_rows), random_weights(random, n_rows));
    let made = table(columns.clone(), n_classes as usize, classes.clone(), counts, weights);
    // What has no place beside the rest is refused: here as much as it takes to ask for these penalties is left out.
    let fits = [0.0, 0.05, 0.25, 0.5, 1.0].iter().all(|&penalty| Units::new(&made, penalty).is_ok());
    if fits { made } else { table(columns, n_classes as usize, classes, None, None) }
}
