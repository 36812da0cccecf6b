//! Rows that are equal in all columns: no test tells them apart, whichever are offered.

use super::binary::ABSENT;
use super::dataset::{Column, Dataset};
use super::interner::Interner;
use crate::bits;
use crate::budget::{Stop, Ticker};

/// A number for each row, the same for equal rows and in the order of the first ones, and how many there are;
/// [`ABSENT`] where a row's count or weight is 0. Complexity: O(rows x columns).
pub(crate) fn equal_rows(data: &Dataset, ticker: &mut Ticker) -> Result<(Vec<u32>, usize), Stop> {
    let n_rows = data.n_rows();
    // Hashes here and in the interner, its slots while they grow, the first rows and the numbers.
    let mut charged = ticker.budget().reserve(88 * n_rows as u64)?;
    let mut hashes = vec![0u64; n_rows];
    let add = |hash: &mut u64, cell: u64| *hash = bits::mix(*hash ^ cell);
    for column in data.columns() {
        match &**column {
            Column::Floats(values) => {
                hashes.iter_mut().zip(values).for_each(|(hash, &x)| add(hash, float_key(x)));
            }
            Column::Integers { values, missing } => {
                let cells = values.iter().enumerate().map(|(row, &x)| integer_key(x, missing.as_deref(), row));
                hashes.iter_mut().zip(cells).for_each(|(hash, (cell, _))| add(hash, cell));
            }
            Column::Levels { codes, .. } => {
                hashes.iter_mut().zip(codes).for_each(|(hash, &code)| add(hash, code.into()));
            }
        }
        ticker.tick(2 * n_rows)?;
    }
    let is_equal = |a: usize, b: usize| {
        data.columns().iter().all(|column| match &**column {
            Column::Floats(values) => float_key(values[a]) == float_key(values[b]),
            Column::Integers { values, missing } => {
                integer_key(values[a], missing.as_deref(), a) == integer_key(values[b], missing.as_deref(), b)
            }
            Column::Levels { codes, .. } => codes[a] == codes[b],
        })
    };
    let mut numbers = vec![ABSENT; n_rows];
    let (mut distinct, mut firsts) = (Interner::new(), Vec::<u32>::new());
    for row in bits::ones(&data.present()) {
        numbers[row] = distinct.number(hashes[row], |number| is_equal(firsts[number] as usize, row));
        if distinct.len() > firsts.len() {
            firsts.push(row as u32);
        }
        ticker.tick(20 + data.columns().len())?;
    }
    drop(hashes);
    charged.resize(4 * n_rows as u64)?;
    charged.keep();
    Ok((numbers, firsts.len()))
}

/// All missing values are alike.
fn float_key(x: f64) -> u64 {
    if x.is_nan() { u64::MAX } else { x.to_bits() }
}

fn integer_key(x: i64, missing: Option<&[bool]>, row: usize) -> (u64, bool) {
    if missing.is_some_and(|missing| missing[row]) { (u64::MAX, true) } else { (x as u64, false) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::budget::Budget;
    use crate::data::{Feature, Kind, NumericType, Schema, Target};

    proptest! {
        #[test]
        fn equal_rows_have_one_number(cells in prop::collection::vec((0u8..4, 0u8..4, 0u8..3, 0u64..3), 1..60)) {
            let feature = |name: &str, kind| Feature { name: name.into(), kind, dtype: String::new() };
            let features = vec![
                feature("x", Kind::Continuous(NumericType::Float)),
                feature("i", Kind::Continuous(NumericType::Integer)),
                feature("c", Kind::Nominal(vec!["a".into(), "b".into(), "c".into()])),
            ];
            let columns = vec![
                Column::Floats(cells.iter().map(|c| if c.0 == 3 { f64::NAN } else { f64::from(c.0) }).collect()),
                // What stands in a missing cell means nothing.
                Column::Integers {
                    values: cells.iter().enumerate().map(|(row, c)| if c.1 == 3 { row as i64 } else { i64::from(c.1) }).collect(),
                    missing: Some(cells.iter().map(|c| c.1 == 3).collect()),
                },
                Column::Levels { codes: cells.iter().map(|c| c.2.into()).collect(), unseen: vec![] },
            ];
            let counts: Vec<u64> = cells.iter().map(|c| c.3).collect();
            let schema = Arc::new(Schema { features, target: None });
            let data = Dataset::new(schema, columns, cells.len(), Target::None, Some(counts), None).unwrap();
            let (numbers, distinct) = equal_rows(&data, &mut Ticker::new(&Budget::unlimited())).unwrap();
            let mut seen = Vec::new();
            for (cell, number) in cells.iter().zip(numbers) {
                if cell.3 == 0 {
                    prop_assert_eq!(number, ABSENT);
                    continue;
                }
                let row = (cell.0, cell.1, cell.2);
                let expected = seen.iter().position(|known| *known == row).unwrap_or_else(|| {
                    seen.push(row);
                    seen.len() - 1
                });
                prop_assert_eq!(number as usize, expected);
            }
            prop_assert_eq!(distinct, seen.len());
        }
    }
}
