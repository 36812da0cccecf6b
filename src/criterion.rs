//! How good a greedy split is, in integers: information gain, Gini, errors, and their forms with costs.
//!
//! The *purity* of a set of cases is minus its total impurity, up to a constant: mass times impurity, in fixed point. The
//! total gain of a split is the purity of its branches less that of the cases they share out. Every purity is a function
//! of class masses alone, sums of them do not depend on the order of summation, and so equal masses have equal gains on
//! every platform: with floats the last bit would depend on who adds first, and ties would fall at random.
//!
//! What is rounded, and how far: x log2 x and the quotients of the Gini index, each by a few units in the last place
//! (of 62 bits, for the whole table) or 2^-51 of the node. Whether a gain is zero is therefore never read off the
//! rounded gain: [`Impurity::is_gain`] compares class shares by cross-multiplication.

/// How greedy splits are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Criterion {
    /// The decrease of entropy, in bits.
    #[default]
    InformationGain,
    /// Information gain over split information (C4.5).
    GainRatio,
    /// The decrease of the Gini index; with costs, of sum L(k, k') p(k) p(k').
    Gini,
    /// The decrease of the error of a leaf; with costs, of its expected cost.
    Error,
}

/// The class masses of a set of cases, and what an [`Impurity`] keeps to follow changes in constant time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Side {
    /// Mass per class.
    pub masses: Vec<u64>,
    /// Their sum.
    pub total: u64,
    sum: Sum,
}

/// A sum over classes of a function of each one's mass.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    logs: i64,
    squares: u128,
}

impl Side {
    /// Makes it the set of no case again.
    pub fn clear(&mut self) {
        self.masses.fill(0);
        (self.total, self.sum) = (0, Sum::default());
    }

    /// Copies another set without allocating.
    pub fn copy_from(&mut self, other: &Side) {
        self.masses.clone_from(&other.masses);
        (self.total, self.sum) = (other.total, other.sum);
    }
}

/// Purities of sets of cases.
pub(crate) trait Impurity: Sync {
    /// Adds mass of a class.
    fn add(&self, side: &mut Side, class: usize, mass: u64);
    /// Takes mass of a class away.
    fn remove(&self, side: &mut Side, class: usize, mass: u64);
    /// Minus the total impurity; a constant times the mass may be added.
    fn purity(&self, side: &Side) -> i64;
    /// The purity of unit masses of two classes.
    fn pair(&self, first: u64, second: u64) -> i64;
    /// A total gain above this is positive without doubt, where that many branches share out this mass.
    fn noise(&self, total: u64, branches: usize) -> i64;
    /// Whether a split has a positive gain, decided exactly: `part` is one of two branches, or every branch but one in
    /// turn, of the cases in `whole`.
    fn is_gain(&self, part: &Side, whole: &Side, gain: i64) -> bool;
    /// The purity that a gain of one per unit of mass comes to.
    fn unit(&self) -> f64;
    /// The gain that leaves no impurity, where it is exact.
    fn perfect(&self, _: &Side) -> Option<i64> {
        None
    }
    /// A set of these class masses.
    fn side(&self, masses: Vec<u64>) -> Side {
        let mut side = Side { masses: vec![0; masses.len()], ..Side::default() };
        masses.into_iter().enumerate().for_each(|(class, mass)| self.add(&mut side, class, mass));
        side
    }
    /// The total split information of branches of these masses; only where the criterion asks for it.
    fn split_information(&self, _: impl Iterator<Item = u64>) -> i64 {
        0
    }
}

/// Whether the class shares of a part differ from those of the whole.
fn shares_differ(part: &Side, whole: &Side) -> bool {
    let cross = |(&part_mass, &whole_mass): (&u64, &u64)| {
        u128::from(part_mass) * u128::from(whole.total) != u128::from(whole_mass) * u128::from(part.total)
    };
    part.masses.iter().zip(&whole.masses).any(cross)
}

/// x log2 x, times a power of two, rounded to an integer.
#[derive(Debug)]
pub(crate) struct Entropy {
    table: Vec<i64>,
    /// Binary digits after the point.
    digits: i32,
    n_classes: usize,
}

impl Entropy {
    /// Masses up to this are looked up.
    const MOST_TABULATED: u64 = 1 << 22;

    /// For sets of at most this mass. `tabulated` masses are looked up, at most [`Self::MOST_TABULATED`].
    pub fn new(most: u64, tabulated: u64, n_classes: usize) -> Self {
        let bits = 64 - most.leading_zeros() as i32;
        // The greatest value stays below 2^61, so that the difference of two sums stays in range.
        let digits = 61 - bits - (32 - bits.leading_zeros() as i32);
        let mut logs = Entropy { table: Vec::new(), digits, n_classes };
        logs.table = (0..=tabulated.min(most).min(Self::MOST_TABULATED)).map(|x| logs.compute(x)).collect();
        logs
    }

    /// x log2 x in units.
    #[inline(always)]
    pub fn x_log_x(&self, x: u64) -> i64 {
        match self.table.get(x as usize) {
            Some(&value) => value,
            None => self.compute(x),
        }
    }

    #[inline(never)]
    fn compute(&self, x: u64) -> i64 {
        if x < 2 {
            return 0;
        }
        // log2 has 60 digits after the point. x < 2^62, so that the product has at most 128 bits.
        let product = u128::from(x) * log2(x);
        let drop = 60 - self.digits;
        ((product >> (drop - 1)) as i64 + 1) >> 1
    }
}

impl Impurity for Entropy {
    #[inline(always)]
    fn add(&self, side: &mut Side, class: usize, mass: u64) {
        let old = side.masses[class];
        side.masses[class] = old + mass;
        side.total += mass;
        side.sum.logs += self.x_log_x(old + mass) - self.x_log_x(old);
    }

    #[inline(always)]
    fn remove(&self, side: &mut Side, class: usize, mass: u64) {
        let old = side.masses[class];
        side.masses[class] = old - mass;
        side.total -= mass;
        side.sum.logs += self.x_log_x(old - mass) - self.x_log_x(old);
    }

    #[inline(always)]
    fn purity(&self, side: &Side) -> i64 {
        side.sum.logs - self.x_log_x(side.total)
    }

    #[inline(always)]
    fn pair(&self, first: u64, second: u64) -> i64 {
        self.x_log_x(first) + self.x_log_x(second) - self.x_log_x(first + second)
    }

    fn noise(&self, _: u64, branches: usize) -> i64 {
        // Every logarithm is rounded by less than two units.
        2 * (self.n_classes as i64 + 1) * (branches as i64 + 1)
    }

    fn is_gain(&self, part: &Side, whole: &Side, _: i64) -> bool {
        shares_differ(part, whole)
    }

    fn unit(&self) -> f64 {
        2f64.powi(self.digits)
    }

    fn perfect(&self, side: &Side) -> Option<i64> {
        Some(-self.purity(side))
    }

    fn split_information(&self, masses: impl Iterator<Item = u64>) -> i64 {
        let (sum, total) = masses.fold((0, 0), |(sum, total), mass| (sum + self.x_log_x(mass), total + mass));
        self.x_log_x(total) - sum
    }
}

/// Numbers in [1, 2) are looked up by this many binary digits.
const STEP: u32 = 11;

/// For i < 2^11: log2(1 + i/2^11), 63 binary digits, and 2^64/(2^11 + i).
static LOGS: [(u64, u64); 1 << STEP] = {
    let mut logs = [(0, 0); 1 << STEP];
    let mut i = 0;
    while i < 1 << STEP {
        // Digit by digit: squaring doubles the logarithm, and its integer part is the next digit.
        let mut z = ((1 << STEP) + i as u64) << (63 - STEP); // 63 digits after the point, in [1, 2)
        let mut bit = 63;
        while bit > 0 {
            bit -= 1;
            let square = z as u128 * z as u128; // 126 digits after the point, in [1, 4)
            if square >> 127 == 1 {
                logs[i].0 |= 1 << bit;
                z = (square >> 64) as u64;
            } else {
                z = (square >> 63) as u64;
            }
        }
        logs[i].1 = ((1u128 << 64) / ((1 << STEP) + i as u128)) as u64;
        i += 1;
    }
    logs
};

/// 1/(j ln 2) for j = 1, ..., 5, 63 binary digits.
const SERIES: [u64; 5] = {
    const LOG2_E: u64 = 0xb8aa_3b29_5c17_f0bc; // 1/ln 2 = log2 e
    [LOG2_E, LOG2_E / 2, LOG2_E / 3, LOG2_E / 4, LOG2_E / 5]
};

/// log2 x for x >= 1, 60 binary digits after the point, wrong by a few of the last at most. Integers only.
#[inline]
fn log2(x: u64) -> u128 {
    let times = |a: u64, b: u64| ((u128::from(a) * u128::from(b)) >> 64) as u64;
    let exponent = 63 - x.leading_zeros();
    let normal = x << x.leading_zeros(); // in [2^63, 2^64)
    let (log, reciprocal) = LOGS[(normal >> (63 - STEP)) as usize & ((1 << STEP) - 1)];
    // normal / 2^63 = (1 + i/2^11) (1 + r), and r < 2^-11 has 64 digits.
    let r = times(normal << (STEP + 1), reciprocal);
    // log2(1 + r) = r/ln 2 - r^2/(2 ln 2) + ..., by Horner's rule; the next term is below 2^-67.
    let [a, b, c, d, e] = SERIES;
    let sum = a - times(r, b - times(r, c - times(r, d - times(r, e))));
    (u128::from(exponent) << 60) + u128::from((log + times(r, sum)) >> 3)
}

/// Quotients are in units of 2^-digits.
#[derive(Debug)]
struct Fixed {
    digits: i32,
    unit: f64,
}

impl Fixed {
    /// Such that `most` stays below 2^62.
    fn new(most: u64) -> Self {
        let digits = most.leading_zeros() as i32 - 2;
        Fixed { digits, unit: 2f64.powi(digits) }
    }

    /// A quotient of at most `most`. Division of floats is exact to the last bit by their standard, on every platform.
    #[inline(always)]
    fn quotient(&self, dividend: f64, divisor: u64) -> i64 {
        if divisor == 0 { 0 } else { (dividend / divisor as f64 * self.unit) as i64 }
    }

    fn noise(&self, total: u64, branches: usize) -> i64 {
        (2f64.powi(self.digits - 51) * total as f64) as i64 + branches as i64 + 2
    }
}

/// The Gini index: purity is the sum of squared masses over the mass.
#[derive(Debug)]
pub(crate) struct Gini(Fixed);

impl Gini {
    /// For sets of at most this mass.
    pub fn new(most: u64) -> Self {
        Gini(Fixed::new(most))
    }
}

impl Impurity for Gini {
    #[inline(always)]
    fn add(&self, side: &mut Side, class: usize, mass: u64) {
        let old = u128::from(side.masses[class]);
        side.masses[class] += mass;
        side.total += mass;
        side.sum.squares += u128::from(mass) * (2 * old + u128::from(mass));
    }

    #[inline(always)]
    fn remove(&self, side: &mut Side, class: usize, mass: u64) {
        let old = u128::from(side.masses[class]);
        side.masses[class] -= mass;
        side.total -= mass;
        side.sum.squares -= u128::from(mass) * (2 * old - u128::from(mass));
    }

    #[inline(always)]
    fn purity(&self, side: &Side) -> i64 {
        // The conversion of 128 bits is a call.
        let squares = match u64::try_from(side.sum.squares) {
            Ok(squares) => squares as f64,
            Err(_) => side.sum.squares as f64,
        };
        self.0.quotient(squares, side.total)
    }

    #[inline(always)]
    fn pair(&self, first: u64, second: u64) -> i64 {
        let square = |x: u64| x as f64 * x as f64;
        self.0.quotient(square(first) + square(second), first + second)
    }

    fn noise(&self, total: u64, branches: usize) -> i64 {
        self.0.noise(total, branches)
    }

    fn is_gain(&self, part: &Side, whole: &Side, _: i64) -> bool {
        shares_differ(part, whole)
    }

    fn unit(&self) -> f64 {
        self.0.unit
    }
}

/// Costs of errors as integers: `costs[i][j]` of taking class i for class j.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Costs {
    costs: Vec<Vec<u64>>,
    /// How many units are one.
    per_one: f64,
}

impl Costs {
    /// Costs that are not multiples of a unit of 20 binary or some decimal digits are rounded to one.
    const MOST: f64 = (1 << 20) as f64;

    /// Every error costs one.
    pub fn errors(n_classes: usize) -> Self {
        let cost = |i, j| u64::from(i != j);
        Costs { costs: (0..n_classes).map(|i| (0..n_classes).map(|j| cost(i, j)).collect()).collect(), per_one: 1.0 }
    }

    /// Finite costs, not negative, 0 on the diagonal.
    pub fn new(costs: &[Vec<f64>]) -> Self {
        let most = costs.iter().flatten().fold(0.0f64, |a, &b| a.max(b));
        let finest = if most > 0.0 { 2f64.powi((Self::MOST / most).log2().floor() as i32) } else { 1.0 };
        let whole = |per_one: f64| costs.iter().flatten().all(|cost| (cost * per_one).round() / per_one == *cost);
        let units = (0..=20).map(|digits| 2f64.powi(digits)).chain((1..=6).map(|digits| 10f64.powi(digits)));
        let per_one = units.into_iter().find(|&unit| unit <= finest && whole(unit)).unwrap_or(finest);
        let units = |row: &Vec<f64>| row.iter().map(|cost| (cost * per_one).round() as u64).collect();
        Costs { costs: costs.iter().map(units).collect(), per_one }
    }

    /// The expected cost of predicting a class for cases of these masses, times their mass.
    fn expected(&self, masses: &[u64], class: usize) -> u128 {
        masses.iter().zip(&self.costs).map(|(&mass, costs)| u128::from(mass) * u128::from(costs[class])).sum()
    }

    /// The class of least expected cost, and that cost; ties: the first.
    pub fn leaf(&self, masses: &[u64]) -> (u128, u32) {
        let costs = (0..masses.len()).map(|class| self.expected(masses, class));
        costs.zip(0..).min().unwrap_or((0, 0))
    }
}

/// The cost of the best leaf.
#[derive(Debug)]
pub(crate) struct LeafCost {
    costs: Costs,
    unit_costs: bool,
    /// Binary digits to drop so that the cost of all cases stays below 2^62; none unless masses are huge.
    drop: u32,
}

impl LeafCost {
    /// For sets of at most this mass.
    pub fn new(costs: Costs, most: u64) -> Self {
        let unit_costs = costs == Costs::errors(costs.costs.len());
        let greatest = costs.costs.iter().flatten().max().map_or(0, |&cost| u128::from(cost));
        let bits = 128 - (u128::from(most) * greatest).leading_zeros();
        LeafCost { costs, unit_costs, drop: bits.saturating_sub(62) }
    }
}

impl Impurity for LeafCost {
    #[inline(always)]
    fn add(&self, side: &mut Side, class: usize, mass: u64) {
        side.masses[class] += mass;
        side.total += mass;
    }

    #[inline(always)]
    fn remove(&self, side: &mut Side, class: usize, mass: u64) {
        side.masses[class] -= mass;
        side.total -= mass;
    }

    fn purity(&self, side: &Side) -> i64 {
        if self.unit_costs {
            let most = side.masses.iter().max().map_or(0, |&most| most);
            return most as i64 - side.total as i64;
        }
        -((self.costs.leaf(&side.masses).0 >> self.drop) as i64)
    }

    #[inline(always)]
    fn pair(&self, first: u64, second: u64) -> i64 {
        if self.unit_costs {
            return -(first.min(second) as i64);
        }
        -((self.costs.leaf(&[first, second]).0 >> self.drop) as i64)
    }

    fn noise(&self, _: u64, branches: usize) -> i64 {
        if self.drop == 0 { 0 } else { branches as i64 + 1 }
    }

    fn is_gain(&self, _: &Side, _: &Side, gain: i64) -> bool {
        self.drop == 0 && gain > 0
    }

    fn unit(&self) -> f64 {
        self.costs.per_one / 2f64.powi(self.drop as i32)
    }

    fn perfect(&self, side: &Side) -> Option<i64> {
        (self.drop == 0).then(|| -self.purity(side))
    }
}

/// The Gini index with costs: sum L(k, k') p(k) p(k'), times the mass (equation 8 of the lecture notes).
#[derive(Debug)]
pub(crate) struct CostGini {
    costs: Costs,
    /// Binary digits of masses to drop so that products stay in range; none unless masses are huge.
    drop: u32,
    fixed: Fixed,
}

impl CostGini {
    /// For sets of at most this mass.
    pub fn new(costs: Costs, most: u64) -> Self {
        let drop = (64 - most.leading_zeros()).saturating_sub(42);
        // Costs take up to 20 digits.
        CostGini { costs, drop, fixed: Fixed::new((most >> drop) << 20) }
    }

    fn of(&self, masses: &[u64], total: u64) -> i64 {
        let mass = |k: usize| u128::from(masses[k] >> self.drop);
        let pairs = (0..masses.len()).map(|k| mass(k) * self.costs.expected_of(masses, k, self.drop));
        -self.fixed.quotient(pairs.sum::<u128>() as f64, total >> self.drop)
    }
}

impl Costs {
    fn expected_of(&self, masses: &[u64], k: usize, drop: u32) -> u128 {
        masses.iter().zip(&self.costs[k]).map(|(&mass, &cost)| u128::from(mass >> drop) * u128::from(cost)).sum()
    }
}

impl Impurity for CostGini {
    #[inline(always)]
    fn add(&self, side: &mut Side, class: usize, mass: u64) {
        side.masses[class] += mass;
        side.total += mass;
    }

    #[inline(always)]
    fn remove(&self, side: &mut Side, class: usize, mass: u64) {
        side.masses[class] -= mass;
        side.total -= mass;
    }

    fn purity(&self, side: &Side) -> i64 {
        self.of(&side.masses, side.total)
    }

    fn pair(&self, first: u64, second: u64) -> i64 {
        self.of(&[first, second], first + second)
    }

    fn noise(&self, total: u64, branches: usize) -> i64 {
        self.fixed.noise(total >> self.drop << 20, branches)
    }

    fn is_gain(&self, _: &Side, _: &Side, _: i64) -> bool {
        false
    }

    fn unit(&self) -> f64 {
        self.costs.per_one * self.fixed.unit / 2f64.powi(self.drop as i32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The binary digits of log2 x by squaring, 100 of them, in floats of two words: slow, and by another way.
    fn slow_log2(x: u64) -> f64 {
        (x as f64).log2()
    }

    #[test]
    fn logarithms() {
        for x in (1..3000).chain((0..62).flat_map(|i| [1 << i, (1 << i) + 1, (3 << i) / 2, (1 << (i + 1)) - 1])) {
            let got = log2(x) as f64 / (1u64 << 60) as f64;
            assert!((got - slow_log2(x)).abs() < 1e-14, "{x}: {got} {}", slow_log2(x));
        }
        // Of powers they are exact but for the last digits.
        for (base, power) in [(3u64, 4), (5, 3), (7, 5), (10, 6), (1001, 2)] {
            let (one, all) = (log2(base) * u128::from(power), log2(base.pow(power)));
            assert!(one.abs_diff(all) < 64, "{base}^{power}: {one} {all}");
        }
    }
}
