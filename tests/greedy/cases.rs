//! The cases of a table as the contract reads them: who is present, with what mass, and what its values are once
//! missing ones were dealt with.

use lattree::data::{Dataset, Kind, NumericType, Target, Value};
use lattree::greedy::{ClassWeight, Missing, Params};
use num_bigint::BigInt;
use num_rational::BigRational;

use crate::amount::as_written;

/// The numbers that floats stand for, where that is not what they are written as.
#[derive(Debug, Clone, Default)]
pub struct Meant {
    /// Per row.
    pub weights: Option<Vec<BigRational>>,
    /// Per class.
    pub factors: Option<Vec<BigRational>>,
    pub costs: Option<Vec<Vec<BigRational>>>,
}

pub struct Case {
    pub class: usize,
    pub count: u128,
    /// In units.
    pub mass: u128,
    pub values: Vec<Value>,
}

pub struct Cases {
    pub cases: Vec<Case>,
    /// What a unit of mass is worth.
    pub unit: BigRational,
    pub n_classes: usize,
    /// Per column: what an imputed case has, if some case lacked a value.
    pub imputed: Vec<Option<Value>>,
    /// The fraction of a whole case: 2^k.
    pub one: u128,
    /// Whether the library can have the same integers.
    pub is_exact: bool,
}

/// Why there is nothing to grow from.
#[derive(Debug, PartialEq, Eq)]
pub enum Unfit {
    NoCase,
    /// Masses of more digits than are handled here.
    TooWide,
}

impl Cases {
    pub fn new(data: &Dataset, params: &Params, meant: &Meant) -> Result<Self, Unfit> {
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

        let one = BigRational::from(BigInt::from(1));
        let weights: Vec<BigRational> = match (&meant.weights, data.weights()) {
            (Some(weights), _) => weights.clone(),
            (None, Some(weights)) => weights.iter().map(|&weight| as_written(weight)).collect(),
            (None, None) => vec![one.clone(); data.n_rows()],
        };
        let factors = match (&params.class_weight, &meant.factors) {
            (ClassWeight::Equal, _) => vec![one; n_classes],
            (ClassWeight::Each(_), Some(factors)) => factors.clone(),
            (ClassWeight::Each(factors), None) => factors.iter().map(|&factor| as_written(factor)).collect(),
            (ClassWeight::Balanced, _) => balanced(
                n_classes,
                rows.iter().map(|&row| (classes[row] as usize, &weights[row] * BigInt::from(data.count(row)))),
            ),
        };
        let zero = BigRational::from(BigInt::ZERO);
        let masses = rows.iter().map(|&row| (row, &weights[row] * &factors[classes[row] as usize]));
        let (rows, masses): (Vec<usize>, Vec<BigRational>) = masses.filter(|(_, mass)| *mass > zero).unzip();
        if rows.is_empty() {
            return Err(Unfit::NoCase);
        }
        let (whole, unit) = in_units(&masses).ok_or(Unfit::TooWide)?;
        let mut cases: Vec<Case> = rows
            .into_iter()
            .zip(&whole)
            .map(|(row, &mass)| Case {
                class: classes[row] as usize,
                count: data.count(row).into(),
                mass,
                values: values(row),
            })
            .collect();
        let (count, mass) =
            cases.iter().fold((0, 0u128), |(count, mass), case| (count + case.count, mass + case.mass * case.count));
        let greatest: u128 = mass.max(count);
        let bits = u128::BITS - greatest.leading_zeros();
        let shares_out = params.missing == Missing::Fractional
            && (0..n_columns).any(|column| cases.iter().any(|case| case.values[column] == Value::Missing));
        let is_exact = bits < if shares_out { 49 } else { 61 };
        // With rounded masses shares have 20 digits, unless some mass is very small beside the others.
        let is_coarse = shares_out && !is_exact && whole.iter().any(|&least| least < mass >> 22);
        if bits > 100 || is_coarse || shares_out && (49..52).contains(&bits) {
            return Err(Unfit::TooWide);
        }
        let one = if is_exact { 1 << 20.min(62 - bits) } else { 1 << 20 };
        for case in &mut cases {
            case.mass *= case.count;
        }
        let imputed = (0..n_columns).map(|column| impute(data, params, &mut cases, column)).collect();
        Ok(Cases { cases, unit, n_classes, imputed, one, is_exact })
    }
}

/// Whole numbers in these proportions, without a common divisor, and what one of them is worth.
fn in_units(masses: &[BigRational]) -> Option<(Vec<u128>, BigRational)> {
    let gcd = |mut a: BigInt, mut b: BigInt| {
        while b != BigInt::ZERO {
            (a, b) = (b.clone(), a % b);
        }
        a
    };
    let multiple = masses.iter().fold(BigInt::from(1), |multiple, mass| {
        let common = gcd(multiple.clone(), mass.denom().clone());
        multiple / common * mass.denom()
    });
    let whole: Vec<BigInt> = masses.iter().map(|mass| (mass * &multiple).to_integer()).collect();
    let common = whole.iter().fold(BigInt::ZERO, |common, mass| gcd(common, mass.clone()));
    let small = whole.iter().map(|mass| u128::try_from(mass / &common).ok().filter(|mass| *mass < 1 << 100));
    Some((small.collect::<Option<Vec<u128>>>()?, BigRational::new(common, multiple)))
}

/// The mass of all, over how many classes there are and each one's, where classes are those that have any.
fn balanced(n_classes: usize, masses_of: impl Iterator<Item = (usize, BigRational)>) -> Vec<BigRational> {
    let zero = BigRational::from(BigInt::ZERO);
    let mut masses = vec![zero.clone(); n_classes];
    masses_of.for_each(|(class, mass)| masses[class] += mass);
    let present = BigInt::from(masses.iter().filter(|&mass| *mass > zero).count());
    let total: BigRational = masses.iter().sum();
    let of =
        |mass: &BigRational| if *mass > zero { &total / (mass * &present) } else { BigRational::from(BigInt::from(1)) };
    masses.iter().map(of).collect()
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
        NumericType::Float => {
            let digits = (mean * BigInt::from(10).pow(1100)).to_integer();
            Value::Float(format!("{digits}e-1100").parse::<f64>().expect("a number") + 0.0)
        }
        _ => Value::Integer((mean + half).floor().to_integer().try_into().expect("between integers of 64 bits")),
    })
}
