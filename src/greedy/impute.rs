//! Imputation of missing values: the mean or the most frequent level of a column, overall or by class.

use std::cmp::Reverse;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::exact_mean;
use super::types::MISSING;
use crate::budget::{Stop, Ticker};
use crate::data::{Column, Kind, NumericType, Value};

/// Fills the missing cells of a column with its mean or most frequent level; with `classes`, with that of the case's
/// class, if the class has a value. Returns the column, and the value over all cases, which prediction imputes; without
/// a value there is nothing to impute.
pub(super) fn impute(
    kind: &Kind,
    column: Arc<Column>,
    classes: Option<&[u32]>,
    mass: &dyn Fn(usize) -> u64,
    ticker: &mut Ticker,
) -> Result<(Arc<Column>, Option<Value>), Stop> {
    let imputed = mean_or_mode(kind, &column, mass, &mut (0..column.len()));
    ticker.tick(10 * column.len())?;
    let Some(overall) = imputed else { return Ok((column, None)) };
    let Some(classes) = classes else { return Ok((Arc::new(filled(&column, |_| overall)), imputed)) };
    let mut cases: Vec<u32> = (0..column.len() as u32).collect();
    cases.sort_by_key(|&case| classes[case as usize]);
    let n_classes = classes.iter().max().map_or(0, |&class| class as usize + 1);
    let mut by_class = vec![overall; n_classes];
    for of_class in cases.chunk_by(|&a, &b| classes[a as usize] == classes[b as usize]) {
        let mean = mean_or_mode(kind, &column, mass, &mut of_class.iter().map(|&case| case as usize));
        by_class[classes[of_class[0] as usize] as usize] = mean.unwrap_or(overall);
        ticker.tick(4000 + 10 * of_class.len())?;
    }
    Ok((Arc::new(filled(&column, |case| by_class[classes[case] as usize])), imputed))
}

/// The mean of a column over some cases, by mass, or its level of greatest mass, ties to the first; `None` without a
/// value. Means of integers and dates are rounded, since their thresholds are whole numbers.
fn mean_or_mode(
    kind: &Kind,
    column: &Column,
    mass: &dyn Fn(usize) -> u64,
    cases: &mut dyn Iterator<Item = usize>,
) -> Option<Value> {
    let known = cases.map(|case| (column.value(case, MISSING), mass(case)));
    match kind {
        Kind::Continuous(NumericType::Float) => {
            let float = |(value, mass)| if let Value::Float(x) = value { Some((x, mass)) } else { None };
            exact_mean::of_floats(known.filter_map(float)).map(Value::Float)
        }
        Kind::Continuous(_) => {
            let integer = |(value, mass)| if let Value::Integer(x) = value { Some((x, mass)) } else { None };
            exact_mean::of_integers(known.filter_map(integer)).map(Value::Integer)
        }
        Kind::Nominal(_) | Kind::Ordinal(_) => {
            // Only levels that occur: the schema may have many more.
            let mut masses: FxHashMap<u32, u64> = FxHashMap::default();
            for (value, mass) in known {
                if let Value::Level(level) = value {
                    *masses.entry(level).or_default() += mass;
                }
            }
            let (most, Reverse(level)) = masses.into_iter().map(|(level, mass)| (mass, Reverse(level))).max()?;
            (most > 0).then_some(Value::Level(level))
        }
    }
}

/// A column with its missing bins filled.
fn filled(column: &Column, with: impl Fn(usize) -> Value) -> Column {
    match column {
        Column::Floats(values) => Column::Floats(
            (0..values.len())
                .map(|case| match (values[case], with(case)) {
                    (x, Value::Float(mean)) if x.is_nan() => mean,
                    (x, _) => x,
                })
                .collect(),
        ),
        Column::Integers { values, missing } => Column::Integers {
            values: (0..values.len())
                .map(|case| match with(case) {
                    Value::Integer(mean) if missing.as_ref().is_some_and(|missing| missing[case]) => mean,
                    _ => values[case],
                })
                .collect(),
            missing: None,
        },
        Column::Levels { codes, .. } => Column::Levels {
            codes: (0..codes.len())
                .map(|case| match (codes[case], with(case)) {
                    (MISSING, Value::Level(level)) => level,
                    (code, _) => code,
                })
                .collect(),
            unseen: Vec::new(),
        },
    }
}
