//! The cases of a table as the contract reads them: who is present, with what mass, and what its values are once
//! missing ones were dealt with.

use lattree::data::{Column, Dataset, Kind, Number, Target, Value};
use lattree::greedy::{ClassWeight, Missing, Params};
use lattree::objective::Units;
use num_bigint::BigInt;
use num_rational::BigRational;

pub struct Case {
    pub class: usize,
    pub count: u128,
    /// In units.
    pub mass: u128,
    pub values: Vec<Value>,
}

pub struct Cases {
    pub cases: Vec<Case>,
    pub units: Units,
    pub n_classes: usize,
    /// Per column: what an imputed case has, if some case lacked a value.
    pub imputed: Vec<Option<Value>>,
    /// The fraction of a whole case: 2^k.
    pub one: u128,
}

impl Cases {
    /// `None` if no case is present.
    pub fn new(data: &Dataset, params: &Params) -> Option<Self> {
        let Target::Classes(classes) = data.target() else { panic!("a target of classes") };
        let n_classes = data.schema().labels().expect("classes").len();
        let value = |row: usize, column: usize| {
            data.columns()[column].value(row, data.schema().features[column].kind.levels().len() as u32)
        };
        let n_columns = data.columns().len();
        let values = |row: usize| (0..n_columns).map(|column| value(row, column)).collect::<Vec<_>>();
        // A column without any value is no reason to drop a row.
        let is_empty =
            |column| (0..data.n_rows()).all(|row| data.count(row) == 0 || value(row, column) == Value::Missing);
        let empty: Vec<bool> = (0..n_columns).map(is_empty).collect();
        let lacks =
            |row: usize| values(row).iter().zip(&empty).any(|(value, empty)| *value == Value::Missing && !empty);
        let whole = |row: usize| params.missing != Missing::Drop || !lacks(row);
        let rows: Vec<usize> = (0..data.n_rows()).filter(|&row| data.count(row) > 0 && whole(row)).collect();

        let weight = |row: usize| data.weights().map_or(1.0, |weights| weights[row]);
        let factors = match &params.class_weight {
            ClassWeight::Equal => None,
            ClassWeight::Each(factors) => Some(factors.clone()),
            ClassWeight::Balanced => {
                Some(balanced(&rows, n_classes, |row| (classes[row] as usize, data.count(row) as f64 * weight(row))))
            }
        };
        let weighted = match &factors {
            None => data.clone(),
            Some(factors) => {
                let weights = (0..data.n_rows()).map(|row| weight(row) * factors[classes[row] as usize]).collect();
                let columns = data.columns().iter().map(|column| Column::clone(column)).collect();
                let (schema, counts) = (data.schema().clone(), data.counts().map(<[u64]>::to_vec));
                Dataset::new(schema, columns, data.n_rows(), data.target().clone(), counts, Some(weights))
                    .expect("good weights")
            }
        };
        let units = Units::new(&weighted, 0.0).expect("small weights");
        let mut cases: Vec<Case> = rows
            .into_iter()
            .filter(|&row| weighted.count(row) > 0)
            .map(|row| Case {
                class: classes[row] as usize,
                count: data.count(row).into(),
                mass: units.mass(&weighted, row).into(),
                values: values(row),
            })
            .collect();
        let (count, mass) = cases.iter().fold((0, 0), |(count, mass), case| (count + case.count, mass + case.mass));
        let greatest: u128 = mass.max(count);
        let bits = u128::BITS - greatest.leading_zeros();
        let one = 1 << 20.min(62 - bits);
        let imputed = (0..n_columns).map(|column| impute(data, params, &mut cases, column)).collect();
        (!cases.is_empty()).then_some(Cases { cases, units, n_classes, imputed, one })
    }
}

/// rows / (classes x rows of the class), by mass, where classes are those that have any.
fn balanced(rows: &[usize], n_classes: usize, mass_of: impl Fn(usize) -> (usize, f64)) -> Vec<f64> {
    let mut masses = vec![0.0; n_classes];
    for (class, mass) in rows.iter().map(|&row| mass_of(row)) {
        masses[class] += mass;
    }
    let present = masses.iter().filter(|&&mass| mass > 0.0).count() as f64;
    let total: f64 = masses.iter().sum();
    masses.iter().map(|&mass| if mass > 0.0 { total / (present * mass) } else { 1.0 }).collect()
}

/// Fills a column's missing cells in; says with what prediction does, if any is missing and one is not.
fn impute(data: &Dataset, params: &Params, cases: &mut [Case], column: usize) -> Option<Value> {
    if !matches!(params.missing, Missing::Mean | Missing::ClassMean) {
        return None;
    }
    let kind = &data.schema().features[column].kind;
    if cases.iter().all(|case| case.values[column] != Value::Missing) {
        return None;
    }
    let overall = centre(kind, cases.iter().map(|case| (case.mass, case.values[column])))?;
    let of_class = |class: usize| {
        let own = cases.iter().filter(|case| case.class == class);
        centre(kind, own.map(|case| (case.mass, case.values[column]))).unwrap_or(overall)
    };
    let n_classes = data.schema().labels().expect("classes").len();
    let fills: Vec<Value> = match params.missing {
        Missing::ClassMean => (0..n_classes).map(of_class).collect(),
        _ => vec![overall; n_classes],
    };
    for case in cases {
        if case.values[column] == Value::Missing {
            case.values[column] = fills[case.class];
        }
    }
    Some(overall)
}

/// The mean, or the level of greatest mass; ties: the first. `None` without a value.
fn centre(kind: &Kind, cells: impl Iterator<Item = (u128, Value)>) -> Option<Value> {
    let cells: Vec<(u128, Value)> = cells.filter(|&(_, value)| value != Value::Missing).collect();
    if cells.is_empty() {
        return None;
    }
    let Kind::Continuous(number) = kind else {
        let mut masses = vec![0; kind.levels().len()];
        for &(mass, value) in &cells {
            let Value::Level(level) = value else { panic!("a column of levels") };
            masses[level as usize] += mass;
        }
        let most: u128 = *masses.iter().max()?;
        return Some(Value::Level(masses.iter().position(|&mass| mass == most)? as u32));
    };
    let zero = || BigRational::from(BigInt::ZERO);
    let (mut sum, mut total) = (zero(), zero());
    for &(mass, value) in &cells {
        let mass = BigRational::from(BigInt::from(mass));
        sum += &mass
            * match value {
                Value::Float(x) => BigRational::from_float(x).expect("a finite value"),
                Value::Integer(x) => BigRational::from(BigInt::from(x)),
                other => panic!("{other:?} in a column of numbers"),
            };
        total += mass;
    }
    let mean = sum / total;
    let half = BigRational::new(1.into(), 2.into());
    Some(match number {
        // More digits than any float has: the text is read as the nearest one.
        Number::Float => {
            let digits = (mean * BigInt::from(10).pow(1100)).to_integer();
            Value::Float(format!("{digits}e-1100").parse::<f64>().expect("a number") + 0.0)
        }
        _ => Value::Integer((mean + half).floor().to_integer().try_into().expect("between integers of 64 bits")),
    })
}
