//! Masses of cases as integers, so that sums of them compare exactly on every platform.
//!
//! Real weights and penalties become integers in [`Units`]: multiples of a common unit (`scale`). Optimal refers to
//! those integers; where every weight is a multiple of the unit, as integers, numbers of few digits and proportional
//! ones are, nothing is lost. Where there is no such unit the finest one is taken under which the total stays in range,
//! and what it would change by more than a small part of itself is refused.

use super::CostScale;
use crate::data::{Dataset, Target};
use crate::error::{Error, Result};
use crate::scale::Scale;

/// Integer masses of cases, and what one unit is worth.
#[derive(Debug, Clone, PartialEq)]
pub struct Units {
    /// The value of one unit; 1 for unweighted cases without a penalty.
    pub resolution: f64,
    /// The same as a ratio, of which each is a float without rounding where possible.
    unit: (f64, f64),
    /// From weights to units: the same for all classes, or one for each.
    scales: Box<[ClassScale]>,
    /// The mass of a weight of one under each scale: most tables have no weights.
    of_one: Box<[u64]>,
    /// The penalty per internal node, in units; never more than the total mass and one.
    pub node_penalty: u64,
    /// The mass of all cases, in units, below 2^62.
    pub total: u64,
}

/// What a weight is worth in a class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ClassScale {
    pub scale: Scale,
    /// A whole number: masses of a class stay in proportion.
    pub times: u64,
    /// Units that cases of these weights have more, so that the class has what it should in all.
    pub more: [(f64, i64); 2],
}

impl ClassScale {
    pub fn new(scale: Scale, times: u64) -> Self {
        ClassScale { scale, times, more: [(0.0, 0); 2] }
    }

    /// Of this weight, in units.
    #[inline]
    pub fn mass(&self, weight: f64) -> u64 {
        let more = |(of, units): (f64, i64)| if weight == of { units } else { 0 };
        (self.scale.whole(weight) * self.times).wrapping_add_signed(more(self.more[0]) + more(self.more[1]))
    }
}

/// Masses and penalties stay below 2^62 units, so that a handful of them add up in a u64.
pub(crate) const MOST_UNITS: f64 = (1u64 << 62) as f64;

/// By what part of itself a weight or a penalty may be rounded, where searches have the whole range for masses.
pub(crate) const FINE: f64 = 1.0 / (1u64 << 24) as f64;
/// The same where some of the range is needed for other things.
pub(crate) const COARSE: f64 = 1.0 / (1u64 << 16) as f64;

impl Units {
    /// Chooses the coarsest power of two or of ten of which all weights and the penalty are multiples, or else a part
    /// of the least of them, or else the finest power of two under which the total stays in range. A weight of 0.1 is a
    /// tenth, though the float is not quite: the float next to a decimal of few digits is taken for it.
    ///
    /// # Errors
    /// If a weight or the penalty is so small beside the total that the finest unit would change it by more than 2^-24
    /// of itself, or the total is beyond the range of floats.
    pub fn new(data: &Dataset, node_penalty: f64) -> Result<Self> {
        if data.counts().is_none() && data.weights().is_none() && node_penalty == 0.0 {
            return Ok(Self::plain(data.n_rows() as u64));
        }
        let total = total_of(data)?;
        // A penalty of more than the total mass allows no split at all: how much more does not matter, nor its digits.
        let forbids = node_penalty > 0.0 && node_penalty >= 2.0 * total;
        let penalty = if forbids { 0.0 } else { node_penalty };
        let values = || weights_of(data).chain((penalty > 0.0).then_some(penalty));
        let scale = match Scale::exact(values, total, MOST_UNITS, 0) {
            Some(scale) => scale,
            None => {
                let grid = Scale::grid(total, MOST_UNITS);
                check(data, &grid, FINE)?;
                if penalty > 0.0 && grid.error(penalty) > FINE {
                    let least = total / 2f64.powi(36);
                    return Err(Error::InvalidParameter {
                        name: "node_penalty",
                        expected: format!("0, or at least {least:?} beside cases of a mass of {total:?}"),
                        got: format!("{node_penalty:?}"),
                    });
                }
                grid
            }
        };
        let mut units = Self::of(scale, data);
        units.node_penalty = if forbids { units.total + 1 } else { scale.whole(penalty).min(units.total + 1) };
        Ok(units)
    }

    /// As [`Units::new`] without a penalty, with the total below `most` units, a power of two of at most 2^62, where
    /// weights are not whole. A weight may be changed by 2^-16 of itself.
    pub fn within(data: &Dataset, most: f64) -> Result<Self> {
        if data.counts().is_none() && data.weights().is_none() {
            return Ok(Self::plain(data.n_rows() as u64));
        }
        let total = total_of(data)?;
        let values = || weights_of(data);
        let exact = Scale::exact(values, total, most, 0);
        // Whole weights stay as they are while they fit at all.
        let whole = || Some(Scale::ONE).filter(|_| 2.0 * total <= MOST_UNITS && values().all(|x| x.fract() == 0.0));
        if let Some(scale) = exact.or_else(whole) {
            return Ok(Self::of(scale, data));
        }
        let grid = Scale::grid(total, most);
        check(data, &grid, COARSE)?;
        Ok(Self::of(grid, data))
    }

    /// Cases of mass one.
    fn plain(total: u64) -> Self {
        Units { total, ..Self::with_classes([ClassScale::new(Scale::ONE, 1)].into(), (1.0, 1.0)) }
    }

    fn of(scale: Scale, data: &Dataset) -> Self {
        let scales = [ClassScale::new(scale, 1)].into();
        let mut units = Self::with_classes(scales, scale.unit());
        units.total = (0..data.n_rows()).map(|row| units.mass(data, row)).sum();
        units
    }

    /// Units with a scale for each class, or one for all; no total yet.
    pub(crate) fn with_classes(scales: Box<[ClassScale]>, unit: (f64, f64)) -> Self {
        // A weight of one is out of range only where all weights of the table are far below one. No mass is asked of it
        // there, since `of_one` serves tables without weights.
        let in_range = |of: &&ClassScale| of.scale.whole(1.0).checked_mul(of.times).is_some();
        let of_one = scales.iter().map(|of| Some(of).filter(in_range).map_or(0, |of| of.mass(1.0))).collect();
        Units { resolution: unit.0 / unit.1, unit, scales, of_one, node_penalty: 0, total: 0 }
    }

    /// The mass of one row in units: its count times its weight, and that of its class. 0 for an absent row.
    pub fn mass(&self, data: &Dataset, row: usize) -> u64 {
        let class = match (&*self.scales, data.target()) {
            ([_], _) => 0,
            (_, Target::Classes(classes)) => classes[row] as usize,
            _ => 0,
        };
        // The weight is rounded, the count multiplied: two cases are exactly twice one.
        let of_case = data.weights().map_or(self.of_one[class], |weights| self.scales[class].mass(weights[row]));
        data.count(row) * of_case
    }

    /// The mass of each row, where all are alike.
    pub(crate) fn of_every_row(&self, data: &Dataset) -> Option<u64> {
        let is_uniform = self.scales.len() == 1 && data.counts().is_none() && data.weights().is_none();
        is_uniform.then(|| self.of_one[0])
    }

    /// The fewest units that are worth so much, and one at least. A part of 10^-12 may be missing: three times a weight
    /// of 0.1 is 0.3 to who asks for it, whatever floats make of the product.
    pub fn at_least(&self, value: f64) -> u64 {
        ((value / self.resolution * (1.0 - 1e-12)).ceil() as u64).max(1)
    }

    /// A cost in units as the number users see.
    pub fn value(&self, cost: u64) -> f64 {
        self.value_of(cost as f64)
    }

    /// Of units of which some are parts.
    pub(crate) fn value_of(&self, cost: f64) -> f64 {
        value_of(self.unit, cost)
    }

    /// How costs in these units become the costs that users see, where errors cost their mass.
    pub fn cost_scale(&self) -> CostScale {
        CostScale::new(self.unit, self.node_penalty)
    }

    /// The value of one unit, as a ratio.
    pub(super) fn unit(&self) -> (f64, f64) {
        self.unit
    }
}

/// A number of units that are each worth `numerator / denominator`.
pub(super) fn value_of((numerator, denominator): (f64, f64), number: f64) -> f64 {
    // The product may be out of range; brought near one and back by a power of two, which loses nothing.
    let near = match numerator {
        x if x >= 1e200 => 2f64.powi(700),
        x if x < 1e-100 => 2f64.powi(-700),
        _ => 1.0,
    };
    number * (numerator / near) / denominator * near
}

/// The weights of the rows that are there.
fn weights_of(data: &Dataset) -> impl Iterator<Item = f64> {
    let n_rows = if data.weights().is_some() { data.n_rows() } else { 1 };
    let rows = (0..n_rows).filter(|&row| data.weights().is_none() || data.count(row) > 0);
    rows.map(|row| data.weights().map_or(1.0, |weights| weights[row]))
}

/// The mass of a table, about.
fn total_of(data: &Dataset) -> Result<f64> {
    let weight = |row: usize| data.weights().map_or(1.0, |weights| weights[row]);
    let total: f64 =
        (0..data.n_rows()).filter(|&row| data.count(row) > 0).map(|row| data.count(row) as f64 * weight(row)).sum();
    // Beyond half the greatest float the units would overflow.
    if (2.0 * total).is_finite() {
        return Ok(total);
    }
    let row = (0..data.n_rows()).max_by(|&a, &b| weight(a).total_cmp(&weight(b))).unwrap_or(0);
    Err(Error::BadWeight {
        what: "weight",
        row,
        got: format!("{:?}", weight(row)),
        expected: "such that all weights, times their counts, sum to less than 8e307",
    })
}

/// Fails where rounding changes a weight by more than this part of itself.
fn check(data: &Dataset, scale: &Scale, most: f64) -> Result<()> {
    let Some(weights) = data.weights() else { return Ok(()) };
    match (0..data.n_rows()).find(|&row| data.count(row) > 0 && scale.error(weights[row]) > most) {
        None => Ok(()),
        Some(row) => Err(too_small("weight", row, weights[row])),
    }
}

/// A weight that is too small beside the others.
pub(crate) fn too_small(what: &'static str, row: usize, got: f64) -> Error {
    let expected = "at least 2^-36 of the sum of all (2^-33 where cases are shared out to branches or judged), or a multiple \
                    of a unit of which all are, with a sum below 2^61 (2^50) of it: leave that row out, or round weights to \
                    fewer digits";
    Error::BadWeight { what, row, got: format!("{got:?}"), expected }
}

/// The cost of the best leaf on cases of these class masses, and its label. Ties: the smallest label.
pub fn leaf<M: Copy + Into<u64>>(masses: &[M]) -> (u64, u32) {
    let (mut sum, mut most, mut label) = (0, 0, 0);
    for (class, &mass) in masses.iter().enumerate() {
        let mass: u64 = mass.into();
        sum += mass;
        if mass > most {
            (most, label) = (mass, class as u32);
        }
    }
    (sum - most, label)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Labels, Schema, Target, TargetSchema, Task};

    fn units(weights: &[f64], node_penalty: f64) -> Result<Units> {
        let task = Task::Classes(Labels::Booleans(vec![false]));
        let target = TargetSchema { name: "y".into(), task, dtype: String::new() };
        let schema = Schema { features: vec![], target: Some(target) };
        let classes = Target::Classes(vec![0; weights.len()].into());
        let data = Dataset::new(schema.into(), vec![], weights.len(), classes, None, Some(weights.to_vec()));
        Units::new(&data.expect("good weights"), node_penalty)
    }

    #[test]
    fn weights_of_any_size_fit_or_are_refused() {
        for (weights, total) in [
            (&[1e307, 3e307][..], 4e307),
            (&[5e-324, 1e-323], 1.5e-323),
            (&[std::f64::consts::PI, 1e9], 1e9),
            (&[1.0, std::f64::consts::PI * 1e-12], 1.0),
            (&[0.1, 0.2], 0.1 + 0.2),
        ] {
            let units = units(weights, 0.0).expect("in range");
            assert!(units.total < 1 << 62);
            assert!((units.value(units.total) / total - 1.0).abs() < 1e-8, "{weights:?}: {units:?}");
        }
        // The sum is out of range, or the smaller weight would be rounded to nothing, or to something else.
        for (weights, at) in [
            (&[1e308, 1.0][..], 0),
            (&[f64::MAX, f64::MAX], 1),
            (&[1e307, 1.0], 1),
            (&[f64::MIN_POSITIVE, 1e9], 0),
            (&[1.0, std::f64::consts::PI * 1e-15, std::f64::consts::E * 1e-15], 1),
        ] {
            let refused = units(weights, 0.0);
            assert!(matches!(refused, Err(Error::BadWeight { row, .. }) if row == at), "{weights:?}: {refused:?}");
        }
    }

    #[test]
    fn penalties_are_kept_or_refused() {
        for (penalty, in_units, total) in [(1.0 / 3.0, 1, 6), (2.0 / 7.0, 2, 14), (1e-12, 1, 2_000_000_000_000)] {
            let units = units(&[1.0, 1.0], penalty).expect("in range");
            assert_eq!((units.node_penalty, units.total), (in_units, total), "{penalty}");
        }
        for penalty in [1e-300, 5e-324, std::f64::consts::PI * 1e-19] {
            let refused = units(&[1.0, 1.0], penalty);
            assert!(matches!(refused, Err(Error::InvalidParameter { name: "node_penalty", .. })), "{refused:?}");
        }
    }

    #[test]
    fn decimals_are_what_they_are_written_as() {
        for (weights, penalty, resolution, total) in [
            (&[0.1, 0.2][..], 0.0, 0.1, 3),
            (&[1.0, 2.0], 0.05, 0.01, 300),
            (&[0.25, 3.5], 0.0, 0.25, 15),
            (&[0.125, 0.1], 0.0, 0.001, 225),
            (&[1e-9, 4.0], 0.0, 1e-9, 4_000_000_001),
        ] {
            let units = units(weights, penalty).expect("in range");
            assert_eq!((units.resolution, units.total), (resolution, total), "{weights:?}");
            assert_eq!(units.value(units.node_penalty), penalty);
        }
        assert_eq!(units(&[0.1, 0.2], 0.0).expect("in range").value(3), 0.3);
        // A penalty that allows no split does not make the units finer.
        for penalty in [0.7, 1.0 / 3.0 + 1.0, 1e300] {
            let units = units(&[0.1, 0.2], penalty).expect("in range");
            assert_eq!((units.resolution, units.node_penalty), (0.1, 4), "{penalty}");
        }
        // The float after a tenth is not a tenth.
        assert!(units(&[0.1 + f64::EPSILON / 8.0, 0.1], 0.0).expect("in range").resolution < 1e-15);
        // Thirds are whole thirds.
        let thirds = units(&[1.0 / 3.0, 2.0 / 3.0], 1.0 / 9.0).expect("in range");
        assert_eq!((thirds.resolution, thirds.node_penalty, thirds.total), (1.0 / 9.0, 1, 9));
    }

    #[test]
    fn ties_go_to_the_smallest_label() {
        assert_eq!(leaf(&[2u64, 3, 3]), (5, 1));
        assert_eq!(leaf::<u64>(&[0, 0]), (0, 0));
    }
}
