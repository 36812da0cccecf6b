//! Seeded random problems: a building set, a search set, parameters, and the features that may be used.

use lattree::data::dataset::MISSING;
use lattree::data::{Column, Dataset, Kind, Target};
use lattree::greedy::{self, Missing};
use lattree::subsets::Params;
use lattree::tree::Unseen;

use crate::common::Random;
use crate::common::tables::{random_params, random_table_of};

pub struct Problem {
    pub data: Dataset,
    pub search: Dataset,
    pub params: Params,
}

const MODES: [Missing; 5] =
    [Missing::Fractional, Missing::Fractional, Missing::Mean, Missing::ClassMean, Missing::Level];

impl Problem {
    /// At most nine features that may be used, of up to 90.
    pub fn random(seed: u64) -> Self {
        let mut random = Random::new(9_000_000 + seed);
        let wide = random.chance(4);
        // On many tables no tree uses more than a column or two: most problems are drawn until one does.
        let least = *random.pick(&[0, 2, 3, 3, 4, 4]);
        let mut drawn = (0..30).map(|_| random_growth(&mut random, wide));
        let enough = |(data, greedy): &(Dataset, greedy::Params)| {
            let checked = greedy.clone().checked().expect("good parameters");
            let outcome = greedy::search(data, &checked, &checked.budget());
            outcome.is_ok_and(|outcome| outcome.tree.features().len() >= least)
        };
        let found = if least == 0 { drawn.next() } else { drawn.find(enough) };
        let (data, greedy) = found.unwrap_or_else(|| random_growth(&mut random, wide));
        // Searches take other paths on large tables.
        let data = match seed % 64 {
            31 => repeated(&data, 500),
            63 => repeated(&data, 5_000),
            _ => data,
        };
        let n = data.columns().len();
        let mut params = Params { greedy, ..Params::default() };
        if wide || random.chance(35) {
            let mut order: Vec<usize> = (0..n).collect();
            (1..n).for_each(|i| order.swap(i, random.below(i as u64 + 1) as usize));
            let most = n.min(9);
            let n_required = random.below(most.min(3) as u64 + 1) as usize;
            let n_candidates = random.below((most - n_required) as u64 + 1) as usize;
            params.required = order[..n_required].to_vec();
            let all_others = !wide && random.chance(40);
            params.candidates = (!all_others).then(|| order[n_required..n_required + n_candidates].to_vec());
        }
        let knows_all = params.greedy.unseen == Unseen::Error;
        let search = random_search_set(&mut random, &data, knows_all);
        Problem { data, search, params }
    }

    pub fn with_threads(&self, threads: usize) -> Params {
        let greedy = greedy::Params { threads: Some(threads), ..self.params.greedy.clone() };
        Params { greedy, ..self.params.clone() }
    }

    /// For messages of failed assertions.
    pub fn words(&self) -> String {
        format!("{:?}\nbuilding {:?}\nsearch {:?}", self.params, self.data, self.search)
    }
}

/// A table and how trees grow on it.
fn random_growth(random: &mut Random, wide: bool) -> (Dataset, greedy::Params) {
    let missing = *random.pick(&MODES);
    let finite = matches!(missing, Missing::Mean | Missing::ClassMean);
    let n_columns = |random: &mut Random| match wide {
        true => 10 + random.below(81),
        false => *random.pick(&[1, 2, 3, 3, 4, 4, 5, 5, 5, 6, 6, 6, 7, 7, 7, 8, 9]),
    };
    let data = random_table_of(random, n_columns, finite);
    let drawn = random_params(random, missing, &data);
    let large = random.chance(10).then(|| *random.pick(&[4, 5, 6, 7, 12, 30, 1000]));
    let min_cases = large.unwrap_or(drawn.min_cases);
    (data, greedy::Params { max_leaves: None, threads: Some(1), min_cases, ..drawn })
}

/// The table with so many percent of its cells missing, or more.
pub fn with_gaps(random: &mut Random, data: &Dataset, percent: u64) -> Dataset {
    let gone = |random: &mut Random| (0..data.n_rows()).map(|_| random.chance(percent)).collect::<Vec<_>>();
    let columns = data.columns().iter().map(|column| {
        let gone = gone(random);
        match Column::clone(column) {
            Column::Floats(mut values) => {
                values.iter_mut().zip(gone).filter(|(_, gone)| *gone).for_each(|(x, _)| *x = f64::NAN);
                Column::Floats(values)
            }
            Column::Integers { values, missing } => {
                let was = missing.unwrap_or_else(|| vec![false; values.len()]);
                let missing = was.into_iter().zip(gone).map(|(was, gone)| was || gone).collect();
                Column::Integers { values, missing: Some(missing) }
            }
            Column::Levels { mut codes, unseen } => {
                codes.iter_mut().zip(gone).filter(|(_, gone)| *gone).for_each(|(code, _)| *code = MISSING);
                Column::Levels { codes, unseen }
            }
        }
    });
    let (columns, target) = (columns.collect(), data.target().clone());
    let (counts, weights) = (data.counts().map(<[u64]>::to_vec), data.weights().map(<[f64]>::to_vec));
    Dataset::new(data.schema().clone(), columns, data.n_rows(), target, counts, weights).expect("a good table")
}

/// All rows, repeated until there are as many as wanted.
pub fn repeated(data: &Dataset, n_rows: usize) -> Dataset {
    data.take(&(0..n_rows.next_multiple_of(data.n_rows())).map(|row| row % data.n_rows()).collect::<Vec<_>>())
}

/// Cases like those of the table, some cells apart: missing, levels and numbers that do not occur there, numbers
/// between and beyond those that do, floats for integers, levels that the schema does not have unless it has to know
/// all.
fn random_search_set(random: &mut Random, data: &Dataset, knows_all: bool) -> Dataset {
    let Target::Classes(classes) = data.target() else { panic!("a target of classes") };
    let n_classes = data.schema().labels().expect("classes").len() as u64;
    let n_rows = if random.chance(10) { 1 + random.below(3) } else { 4 + random.below(40) } as usize;
    let rows: Vec<usize> = (0..n_rows).map(|_| random.below(data.n_rows() as u64) as usize).collect();
    let like = data.take(&rows);
    let (changed, noise) = (*random.pick(&[0, 10, 30]), *random.pick(&[0, 10, 30]));
    let columns = like.columns().iter().zip(&data.schema().features);
    let columns = columns.map(|(column, feature)| change(random, column, &feature.kind, changed, knows_all)).collect();
    let classes: Vec<u32> = rows
        .iter()
        .map(|&row| if random.chance(noise) { random.below(n_classes) as u32 } else { classes[row] })
        .collect();
    let counts = random.chance(30).then(|| (0..n_rows).map(|_| *random.pick(&[0, 1, 1, 2, 3, 7])).collect());
    let weights = random.chance(30).then(|| (0..n_rows).map(|_| *random.pick(&[0.0, 0.25, 0.5, 1.0, 3.0])).collect());
    let build = |counts: Option<Vec<u64>>, weights| {
        let target = Target::Classes(classes.clone().into());
        let columns: &Vec<Column> = &columns;
        Dataset::new(data.schema().clone(), columns.clone(), n_rows, target, counts, weights).expect("a good table")
    };
    let search = build(counts, weights);
    let has_case = (0..n_rows).any(|row| search.count(row) > 0);
    if has_case { search } else { build(None, None) }
}

/// The column with some cells drawn anew.
fn change(random: &mut Random, column: &Column, kind: &Kind, percent: u64, knows_all: bool) -> Column {
    let n_levels = kind.levels().len() as u64 + if knows_all { 0 } else { 2 };
    match column {
        Column::Floats(values) => Column::Floats(
            values
                .iter()
                .map(|&x| match random.chance(percent).then(|| random.below(5)) {
                    None => x,
                    Some(0) => f64::NAN,
                    Some(1) => f64::MAX,
                    Some(2) => -1e300,
                    Some(_) => random.below(60) as f64 / 16.0 - 0.5,
                })
                .collect(),
        ),
        Column::Integers { values, missing } => {
            let mut missing = missing.clone().unwrap_or_else(|| vec![false; values.len()]);
            let values = values
                .iter()
                .zip(&mut missing)
                .map(|(&x, missing)| match random.chance(percent).then(|| random.below(5)) {
                    None => x,
                    Some(0) => {
                        *missing = true;
                        x
                    }
                    Some(1) => i64::MAX,
                    Some(2) => x.saturating_sub(1),
                    Some(_) => random.below(60) as i64 - 5,
                })
                .collect();
            if percent == 0 || random.chance(80) {
                return Column::Integers { values, missing: Some(missing) };
            }
            let cells = values.into_iter().zip(missing);
            Column::Floats(cells.map(|(x, gone)| if gone { f64::NAN } else { x as f64 + 0.5 }).collect())
        }
        Column::Levels { codes, .. } => Column::Levels {
            codes: codes
                .iter()
                .map(|&code| match random.chance(percent).then(|| random.below(3)) {
                    None => code,
                    Some(0) => MISSING,
                    Some(_) => random.below(n_levels) as u32,
                })
                .collect(),
            unseen: if knows_all { vec![] } else { vec!["new".into(), "newer".into()] },
        },
    }
}
