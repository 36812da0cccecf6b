//! A matrix of costs by class and label, as integers.

use super::Rewards;
use crate::data::Labels;
use crate::error::{Error, Result};
use crate::scale::{Scale, common_divisor};

/// Costs in a matrix have at most this many units.
const MOST_COST: f64 = (1u64 << 40) as f64;
/// By what part of itself the difference of two costs in a matrix may be rounded.
const MOST_ERROR: f64 = 1.0 / (1u64 << 20) as f64;

/// A cost matrix in units.
pub(super) struct Matrix {
    /// Per class the labels that save something.
    pub(super) rewards: Vec<Rewards>,
    /// Per class what the dearest label costs.
    pub(super) base: Vec<i128>,
    pub(super) unit: (f64, f64),
}

impl Matrix {
    /// Errors cost one, and the label after the classes less.
    pub(super) fn of_errors(n_classes: usize, price: f64) -> Result<Self> {
        // Of one class among others, and the label that abstains.
        let one = Matrix::new(&[vec![0.0, 1.0, price]])?;
        let of_class = |class: usize| {
            let rewards = one.rewards[0].iter().filter(|&&(label, _)| label != 1);
            rewards.map(|&(label, reward)| (if label == 0 { class } else { n_classes } as u32, reward)).collect()
        };
        let base = vec![one.base[0]; n_classes];
        Ok(Matrix { rewards: (0..n_classes).map(of_class).collect(), base, unit: one.unit })
    }

    pub(super) fn new(costs: &[Vec<f64>]) -> Result<Self> {
        let cells = || costs.iter().flatten().copied();
        let greatest = cells().map(f64::abs).fold(0.0, f64::max);
        let differs = |row: &Vec<f64>| {
            let (least, most) = extremes(row);
            most - least
        };
        let range = costs.iter().map(differs).fold(0.0, f64::max);
        let exact = || Scale::exact(|| cells().map(f64::abs).filter(|&x| x > 0.0), greatest, 2.0 * MOST_COST, 1023);
        let scale = match greatest > 0.0 {
            false => Scale::ONE,
            true => exact().unwrap_or_else(|| Scale::grid(if range > 0.0 { range } else { greatest }, 2.0 * MOST_COST)),
        };
        let (mut rewards, mut base) = (Vec::new(), Vec::new());
        for row in costs {
            let in_units: Vec<i128> = row.iter().map(|&cost| scale.signed(cost)).collect();
            let dearest = in_units.iter().copied().max().unwrap_or(0);
            let mut ascending: Vec<(f64, i128)> = row.iter().copied().zip(in_units.iter().copied()).collect();
            ascending.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            let (numerator, denominator) = scale.unit();
            for pair in ascending.windows(2) {
                let (difference, whole) = (pair[1].0 - pair[0].0, (pair[1].1 - pair[0].1) as f64);
                if (whole * numerator / denominator - difference).abs() > MOST_ERROR * difference {
                    let expected = format!(
                        "costs whose differences in a row are 0 or at least 2^-20 of the greatest, {range:?}, or multiples of a \
                         unit of which all costs are less than 2^40"
                    );
                    let got = format!("{:?} and {:?}", pair[0].0, pair[1].0);
                    return Err(Error::InvalidParameter { name: "objective", expected, got });
                }
            }
            let saves = (0u32..).zip(&in_units).map(|(label, &units)| (label, (dearest - units) as u64));
            rewards.push(saves.filter(|&(_, reward)| reward > 0).collect::<Rewards>());
            base.push(dearest);
        }
        // Costs of 1000 and 5000 are costs of 1 and 5: small numbers leave room for masses.
        let bases = base.iter().map(|&base| u64::try_from(base.unsigned_abs()).unwrap_or(1));
        let saved = rewards.iter().flatten().map(|&(_, reward)| reward);
        let common = bases.chain(saved).fold(0, common_divisor).max(1);
        rewards.iter_mut().flatten().for_each(|(_, reward)| *reward /= common);
        base.iter_mut().for_each(|base| *base /= i128::from(common));
        Ok(Matrix { rewards, base, unit: scale.divided(common).unit() })
    }
}

fn extremes(costs: &[f64]) -> (f64, f64) {
    costs.iter().copied().fold((f64::INFINITY, f64::NEG_INFINITY), widen)
}

/// Fails unless there is a finite cost for each class and label.
pub(super) fn check_matrix(costs: &[Vec<f64>], extra: &[String], labels: Option<&Labels>) -> Result<()> {
    let n_classes = labels.map_or(0, Labels::len);
    let n_labels = n_classes + extra.len();
    let invalid = |expected: String, got: String| Err(Error::InvalidParameter { name: "objective", expected, got });
    if costs.len() != n_classes {
        return invalid(
            format!("costs with a row for each of the {n_classes} classes"),
            format!("{} rows", costs.len()),
        );
    }
    for (class, row) in costs.iter().enumerate() {
        if row.len() != n_labels {
            let expected = format!("costs with {n_labels} columns, one for each label");
            return invalid(expected, format!("{} in row {class}", row.len()));
        }
        if let Some(cost) = row.iter().find(|cost| !cost.is_finite()) {
            return invalid("finite costs".into(), format!("{cost:?} in row {class}"));
        }
    }
    Ok(())
}

/// A range that has a number in it too.
pub(super) fn widen((least, most): (f64, f64), x: f64) -> (f64, f64) {
    (least.min(x), most.max(x))
}
