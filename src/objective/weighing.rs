//! The masses of cases: counts, weights and class weights as integers, in the proportions that are meant.
//!
//! The mass of a row is its count, times its weight in units, times an integer factor for its class. So the masses of a
//! class stay in proportion whatever its factor is, and a column that is independent of the class has no gain in
//! integers either: factors cancel out of class shares. Balanced classes have exactly the same mass: their factors are
//! the least common multiple of the class masses over each of them.
//!
//! If that does not fit the range, the factors of the classes are rounded, and if that is not enough, the masses of
//! rows; each by a small part of itself, or the call is refused. The common divisor of all masses is divided out, so
//! that proportional weights have the same masses, and fractions of cases the same digits.

use rustc_hash::FxHashMap;

use super::units::{ClassScale, FINE, MOST_UNITS, Units, too_small};
use crate::data::{Dataset, Target};
use crate::error::{Error, Result};
use crate::scale::{Scale, common_divisor};

/// Class factors have fewer units than this.
const MOST_FACTOR: f64 = (1u64 << 42) as f64;

/// How much cases of each class matter.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum ClassWeight {
    /// All classes the same.
    #[default]
    Equal,
    /// The same total for each class: rows / (classes x rows of the class), by mass.
    Balanced,
    /// A factor per class, in the order of the labels.
    Each(Vec<f64>),
}

/// Checks that weights of classes are finite and not negative.
pub(crate) fn check_class_weight(class_weight: &ClassWeight) -> Result<()> {
    let ClassWeight::Each(weights) = class_weight else { return Ok(()) };
    match weights.iter().find(|weight| !(weight.is_finite() && **weight >= 0.0)) {
        None => Ok(()),
        Some(weight) => Err(Error::InvalidParameter {
            name: "class_weight",
            expected: "finite and not negative for every class".into(),
            got: weight.to_string(),
        }),
    }
}

/// Masses of cases with those of their classes, below `most` units in all, a power of two. Panics without a class
/// target.
///
/// # Errors
/// As growth has: where masses cannot be brought to a common unit.
pub(crate) fn class_weighed(data: &Dataset, class_weight: &ClassWeight, most: f64) -> Result<Units> {
    Weighing::new(data, class_weight, None).units_within(&[most], FINE)
}

/// A table whose masses are to be found.
pub(crate) struct Weighing<'a> {
    cases: &'a Dataset,
    classes: &'a [u32],
    n_classes: usize,
    class_weight: &'a ClassWeight,
    /// The numbers of its rows in the data, for errors, if they are others.
    rows: Option<&'a [usize]>,
}

/// Class factors as integers, and the value of one unit of them as a fraction (numerator, denominator).
type Factors = (Vec<u64>, (f64, f64));

impl<'a> Weighing<'a> {
    pub(crate) fn new(cases: &'a Dataset, class_weight: &'a ClassWeight, rows: Option<&'a [usize]>) -> Self {
        let Target::Classes(classes) = cases.target() else { panic!("the search checked that the target has classes") };
        let n_classes = cases.schema().labels().map_or(0, |labels| labels.len());
        Weighing { cases, classes, n_classes, class_weight, rows }
    }

    /// The unit of mass by the first method that fits: exact below the first of these totals, exact below the next,
    /// rounded.
    pub(crate) fn units_within(&self, rooms: &[f64], most_error: f64) -> Result<Units> {
        if self.is_equal() && self.cases.weights().is_none() {
            // Counts are integers, with a sum below 2^62.
            return self.finished(Scale::ONE, &[1], (1.0, 1.0), MOST_UNITS).ok_or_else(|| self.refuse(0));
        }
        let total = self.total_of(|row| self.weight(row))?;
        if let ClassWeight::Each(factors) = self.class_weight {
            let in_all = self.total_of(|row| self.weight(row) * factors[self.classes[row] as usize])?;
            if in_all < f64::MIN_POSITIVE {
                return Err(Error::InvalidParameter {
                    name: "class_weight",
                    expected: "such that masses are not below 2e-308, together with the weights of cases".into(),
                    got: format!("{factors:?}"),
                });
            }
        }
        let weights = |most: f64| match self.cases.weights() {
            None => Some(Scale::ONE),
            Some(weights) => Scale::exact(|| self.present().map(|row| weights[row]), total, most, 1023),
        };
        for &most in rooms {
            if let Some(scale) = weights(most)
                && let Some((factors, unit)) = self.exact_factors(&scale)
                && let Some(units) = self.finished(scale, &factors, unit, most)
            {
                return Ok(units);
            }
        }
        if *self.class_weight == ClassWeight::Balanced {
            let grid = |most: f64| Scale::grid(total, most);
            for &most in rooms {
                // Coarser weights leave digits for a common multiple; else classes are made equal by small changes.
                for scale in [10, 20, 30].map(|digits| grid(most / 2f64.powi(digits))) {
                    if self.cases.weights().is_some_and(|w| self.present().all(|row| scale.error(w[row]) <= most_error))
                        && let Some((factors, unit)) = self.exact_factors(&scale)
                        && let Some(units) = self.finished(scale, &factors, unit, most)
                    {
                        return Ok(units);
                    }
                }
                if let Some(units) = self.equal_classes(total, most, most_error) {
                    return Ok(units);
                }
            }
        }
        let factors = self.factors()?;
        let mut worst = 0;
        for &most in rooms {
            if let Some(scale) = weights(most)
                && let Some((factors, unit)) = self.rounded_factors(&scale, &factors, most, most_error)
                && let Some(units) = self.finished(scale, &factors, unit, most)
            {
                return Ok(units);
            }
            match self.row_by_row(&factors, most, most_error)? {
                Ok(units) => return Ok(units),
                Err(row) => worst = row,
            }
        }
        Err(self.refuse(worst))
    }

    fn is_equal(&self) -> bool {
        *self.class_weight == ClassWeight::Equal
    }

    /// The rows that are there.
    fn present(&self) -> impl Iterator<Item = usize> + Clone {
        (0..self.cases.n_rows()).filter(|&row| self.cases.count(row) > 0)
    }

    /// The number of a row in the data.
    fn row_of(&self, row: usize) -> usize {
        self.rows.map_or(row, |rows| rows[row])
    }

    fn weight(&self, row: usize) -> f64 {
        self.cases.weights().map_or(1.0, |weights| weights[row])
    }

    /// The error for a row whose mass would be changed too much.
    fn refuse(&self, row: usize) -> Error {
        let what = match (self.is_equal(), self.cases.weights()) {
            (true, None) => "count",
            (true, _) => "weight",
            _ => "weight (and that of its class)",
        };
        too_small(what, self.row_of(row), self.weight(row))
    }

    fn total_of(&self, weight: impl Fn(usize) -> f64) -> Result<f64> {
        let total: f64 = self.present().map(|row| self.cases.count(row) as f64 * weight(row)).sum();
        if (2.0 * total).is_finite() {
            return Ok(total);
        }
        let row = self.present().max_by(|&a, &b| weight(a).total_cmp(&weight(b))).unwrap_or(0);
        Err(Error::BadWeight {
            what: "weight",
            row: self.row_of(row),
            got: format!("{:?}", self.weight(row)),
            expected: "such that all weights, times their counts and the weights of their classes, sum to less than 8e307",
        })
    }

    /// The class masses without class factors.
    fn masses(&self, scale: &Scale) -> Vec<u128> {
        let mut masses = vec![0; self.n_classes];
        for row in self.present() {
            masses[self.classes[row] as usize] +=
                u128::from(self.cases.count(row)) * u128::from(scale.whole(self.weight(row)));
        }
        masses
    }

    /// Exact class factors, if there are any.
    fn exact_factors(&self, scale: &Scale) -> Option<Factors> {
        match self.class_weight {
            ClassWeight::Equal => Some((vec![1; self.n_classes], (1.0, 1.0))),
            ClassWeight::Each(factors) => {
                let positive = || factors.iter().copied().filter(|&factor| factor > 0.0);
                let of_factors = Scale::exact(positive, positive().fold(0.0, f64::max), MOST_FACTOR, 1023)?;
                let whole = factors.iter().map(|&factor| of_factors.whole(factor)).collect();
                Some((whole, of_factors.unit()))
            }
            ClassWeight::Balanced => {
                // The mass of all cases over the number of classes and the mass of each, times the least common
                // multiple.
                let masses = self.masses(scale);
                let (mut multiple, mut n_present) = (1u128, 0);
                for &mass in masses.iter().filter(|&&mass| mass > 0) {
                    multiple = (multiple / divisor_of_both(multiple, mass)).checked_mul(mass)?;
                    n_present += 1;
                }
                // The factor of a class without cases is arbitrary.
                let of = |&mass: &u128| multiple.checked_div(mass).map_or(Some(1), |times| u64::try_from(times).ok());
                let whole = masses.iter().map(of).collect::<Option<Vec<u64>>>()?;
                let (total, below) = (masses.iter().sum::<u128>(), multiple.checked_mul(n_present)?);
                let common = divisor_of_both(total, below);
                Some((whole, ((total / common) as f64, (below / common) as f64)))
            }
        }
    }

    /// Class factors as floats.
    fn factors(&self) -> Result<Vec<f64>> {
        match self.class_weight {
            ClassWeight::Equal => Ok(vec![1.0; self.n_classes]),
            ClassWeight::Each(factors) => Ok(factors.clone()),
            ClassWeight::Balanced => {
                // Relative to their sum, so that they are in range.
                let total = self.total_of(|row| self.weight(row))?;
                let mut masses = vec![0.0; self.n_classes];
                for row in self.present() {
                    masses[self.classes[row] as usize] += self.cases.count(row) as f64 * (self.weight(row) / total);
                }
                let n_present = masses.iter().filter(|&&mass| mass > 0.0).count() as f64;
                Ok(masses.iter().map(|&mass| if mass > 0.0 { 1.0 / (n_present * mass) } else { 1.0 }).collect())
            }
        }
    }

    /// Class factors rounded to integers as large as the limit allows, unless that changes one too much.
    fn rounded_factors(&self, scale: &Scale, factors: &[f64], most: f64, most_error: f64) -> Option<Factors> {
        let masses = self.masses(scale);
        let greatest = factors.iter().copied().fold(0.0, f64::max);
        let total: f64 = masses.iter().zip(factors).map(|(&mass, factor)| mass as f64 * (factor / greatest)).sum();
        let one = (most / 4.0 / total).floor();
        let whole: Vec<u64> = factors.iter().map(|factor| (factor / greatest * one).round() as u64).collect();
        let is_close = |(&whole, &factor): (&u64, &f64)| {
            factor == 0.0 || (whole as f64 / (factor / greatest * one) - 1.0).abs() <= most_error
        };
        whole.iter().zip(factors).all(is_close).then_some((whole, (greatest, one)))
    }

    /// The unit with masses rounded row by row; else a row that this changes too much.
    fn row_by_row(&self, factors: &[f64], most: f64, most_error: f64) -> Result<std::result::Result<Units, usize>> {
        let mass = |row: usize| self.weight(row) * factors[self.classes[row] as usize];
        let total = self.total_of(mass)?;
        let (unit, one) = Scale::grid(total, most).unit();
        let scales: Box<[ClassScale]> = match self.is_equal() {
            true => [ClassScale::new(Scale::by(unit), 1)].into(),
            false => factors.iter().map(|factor| ClassScale::new(Scale::by(unit / factor), 1)).collect(),
        };
        let is_wrong = |&row: &usize| {
            let of_class = &scales[if scales.len() == 1 { 0 } else { self.classes[row] as usize }];
            !of_class.scale.is_close(self.weight(row), most_error)
        };
        if let Some(row) = self.present().find(is_wrong) {
            return Ok(Err(row));
        }
        Ok(self.divided(scales, (unit, one), most).ok_or(0))
    }

    /// Balanced classes of exactly the same mass: masses are rounded row by row, and the difference is distributed to
    /// the cases of one or two weights. `None` if that changes a mass too much, or the counts do not allow it.
    fn equal_classes(&self, total: f64, most: f64, most_error: f64) -> Option<Units> {
        // Per class: its mass, and the number of cases of each weight.
        let mut classes: Vec<(f64, FxHashMap<u64, u64>)> = vec![Default::default(); self.n_classes];
        for row in self.present() {
            let (mass, counts) = &mut classes[self.classes[row] as usize];
            *mass += self.cases.count(row) as f64 * (self.weight(row) / total);
            *counts.entry(self.weight(row).to_bits()).or_default() += self.cases.count(row);
        }
        let n_present = classes.iter().filter(|(_, counts)| !counts.is_empty()).count() as u64;
        // Sums of counts are multiples of their common divisor.
        let divisor = |counts: &FxHashMap<u64, u64>| counts.values().copied().fold(0, common_divisor);
        let multiple = classes.iter().map(|(_, counts)| divisor(counts)).filter(|&divisor| divisor > 0);
        let multiple = multiple.fold(1u128, |all, divisor| {
            let divisor = u128::from(divisor);
            (all / divisor_of_both(all, divisor)).saturating_mul(divisor)
        });
        let each = (most / 4.0) as u128 / u128::from(n_present) / multiple * multiple;
        if each == 0 {
            return None;
        }
        let mut scales = Vec::with_capacity(self.n_classes);
        for (mass, counts) in &classes {
            let scale = Scale::by(total * mass / each as f64);
            let mut of_class = ClassScale::new(scale, 1);
            if !counts.is_empty() {
                let mut counts: Vec<(f64, u64)> =
                    counts.iter().map(|(&weight, &n)| (f64::from_bits(weight), n)).collect();
                counts.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
                let sum: i128 = counts.iter().map(|&(weight, n)| i128::from(scale.whole(weight)) * i128::from(n)).sum();
                of_class.more = shared_out(&counts, each as i128 - sum)?;
                let is_close = |&(weight, _): &(f64, u64)| {
                    let exact = weight / (total * mass / each as f64);
                    (of_class.mass(weight) as f64 / exact - 1.0).abs() <= most_error
                };
                if !counts.iter().all(is_close) {
                    return None;
                }
            }
            scales.push(of_class);
        }
        // Each class has an equal part of the total.
        let mut units = Units::with_classes(scales.into(), (total, n_present as f64 * each as f64));
        units.total = (u128::from(n_present) * each).try_into().ok()?;
        Some(units)
    }

    /// The unit of these scales and factors, if the total fits.
    fn finished(&self, scale: Scale, factors: &[u64], unit: (f64, f64), most: f64) -> Option<Units> {
        let (of_scale, of_factors) = (scale.unit(), unit);
        let unit = match of_scale.0 * of_factors.0 {
            x if x < 1e250 => (x, of_scale.1 * of_factors.1),
            _ => (of_scale.0 * (of_factors.0 / of_factors.1), of_scale.1),
        };
        let scales = match self.is_equal() {
            true => [ClassScale::new(scale, 1)].into(),
            false => factors.iter().map(|&times| ClassScale::new(scale, times)).collect(),
        };
        self.divided(scales, unit, most)
    }

    /// The unit with the common divisor of all masses divided out, if the total is below `most`.
    fn divided(&self, mut scales: Box<[ClassScale]>, unit: (f64, f64), most: f64) -> Option<Units> {
        let mut common = vec![0; self.n_classes.max(1)];
        let mut total = 0u128;
        for row in self.present() {
            let class = self.classes[row] as usize;
            let of_class = &scales[if scales.len() == 1 { 0 } else { class }];
            let weight = of_class.scale.whole(self.weight(row));
            common[class] = common_divisor(common[class], weight);
            total += u128::from(self.cases.count(row)) * u128::from(weight) * u128::from(of_class.times);
        }
        let in_class = |class: usize| scales[if scales.len() == 1 { 0 } else { class }];
        let divisors = (0..self.n_classes).map(|class| common[class].checked_mul(in_class(class).times));
        let all = divisors.collect::<Option<Vec<u64>>>()?.into_iter().fold(0, common_divisor).max(1);
        if total / u128::from(all) >= most as u128 {
            return None;
        }
        if all > 1 {
            let divided = |(of_class, &common): (&ClassScale, &u64)| match common {
                0 => *of_class,
                _ => ClassScale::new(of_class.scale.divided(common), common * of_class.times / all),
            };
            scales = match self.is_equal() {
                true => [ClassScale::new(scales[0].scale.divided(all), scales[0].times)].into(),
                false => scales.iter().zip(&common).map(divided).collect(),
            };
        }
        let unit = (unit.0 * all as f64, unit.1);
        let mut units = Units::with_classes(scales, unit);
        units.total = (total / u128::from(all)) as u64;
        Some(units)
    }
}

/// Distributes units (or takes them away) evenly to the cases of one weight or two. `counts`: weights with their
/// numbers of cases. Returns the units for each case of these weights.
fn shared_out(counts: &[(f64, u64)], units: i128) -> Option<[(f64, i64); 2]> {
    let few = |units: i128| i64::try_from(units).ok().filter(|units| units.abs() < 1 << 40);
    if units == 0 {
        return Some([(0.0, 0); 2]);
    }
    if let Some(&(weight, n)) = counts.iter().find(|&&(_, n)| units % i128::from(n) == 0) {
        return Some([(weight, few(units / i128::from(n))?), (0.0, 0)]);
    }
    // Only the heaviest weights are tried.
    let heaviest = &counts[..counts.len().min(32)];
    for (i, &(first, a)) in heaviest.iter().enumerate() {
        for &(second, b) in &heaviest[i + 1..] {
            let common = common_divisor(a, b);
            if units % i128::from(common) == 0 && b / common < 1 << 20 {
                let (a, b, units) = (i128::from(a / common), i128::from(b / common), units / i128::from(common));
                // x a + y b = units, for the least x.
                let x = (0..b).find(|x| (units - x * a) % b == 0)?;
                return Some([(first, few(x)?), (second, few((units - x * a) / b)?)]);
            }
        }
    }
    None
}

fn divisor_of_both(mut a: u128, mut b: u128) -> u128 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}
