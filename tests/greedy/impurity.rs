//! The gain of a split, from its definition, and whether it is positive.

use lattree::greedy::Criterion;
use num_bigint::BigInt;
use num_rational::BigRational;

use crate::amount::{Amount, Bits};

/// Masses per class.
pub type Masses = Vec<u128>;

pub struct Impurity {
    pub criterion: Criterion,
    /// Whole numbers.
    pub costs: Option<Vec<Vec<BigRational>>>,
    /// How many of their units are one; 1 without them.
    pub per_one: BigRational,
}

pub fn rational(x: impl Into<BigInt>) -> BigRational {
    BigRational::from_integer(x.into())
}

impl Impurity {
    pub fn new(criterion: Criterion, costs: Option<Vec<Vec<BigRational>>>) -> Self {
        let all = || costs.iter().flatten().flatten();
        let per_one = all().fold(rational(1), |unit, cost| &unit * (cost * &unit).denom());
        let costs = costs
            .as_ref()
            .map(|costs| costs.iter().map(|row| row.iter().map(|cost| cost * &per_one).collect()).collect());
        Impurity { criterion, costs, per_one }
    }

    /// The greatest cost, at least 1.
    pub fn greatest(&self) -> u128 {
        let greatest = self.costs.iter().flatten().flatten().max().map_or(BigInt::ZERO, BigRational::to_integer);
        u128::try_from(greatest).unwrap_or(u128::MAX).clamp(1, 1 << 64)
    }

    /// Whether gains are counted in costs.
    pub fn is_cost(&self) -> bool {
        self.criterion == Criterion::Error || self.criterion == Criterion::Gini
    }

    /// What it costs to take cases of these masses for class `j`.
    fn cost(&self, masses: &[u128], j: usize) -> BigRational {
        match &self.costs {
            Some(costs) => masses.iter().zip(costs).map(|(&mass, row)| rational(mass) * &row[j]).sum(),
            None => rational(masses.iter().sum::<u128>() - masses[j]),
        }
    }

    /// The least cost and its class. Ties: the first.
    pub fn label(&self, masses: &[u128]) -> u32 {
        let least = (0..masses.len()).map(|j| self.cost(masses, j)).min().expect("a class");
        (0..masses.len()).position(|j| self.cost(masses, j) == least).expect("the least") as u32
    }

    /// Mass times impurity, where that is rational.
    fn total(&self, masses: &[u128]) -> BigRational {
        let mass: u128 = masses.iter().sum();
        if mass == 0 {
            return rational(0);
        }
        match (self.criterion, &self.costs) {
            (Criterion::Error, _) => (0..masses.len()).map(|j| self.cost(masses, j)).min().expect("a class"),
            (Criterion::Gini, Some(_)) => {
                // sum over i, j of L(i, j) m(i) m(j) / m
                (0..masses.len()).map(|j| self.cost(masses, j) * BigInt::from(masses[j])).sum::<BigRational>()
                    / BigInt::from(mass)
            }
            (Criterion::Gini, None) => {
                let squares: BigInt = masses.iter().map(|&m| BigInt::from(m) * m).sum();
                rational(mass) - BigRational::new(squares, mass.into())
            }
            (Criterion::InformationGain | Criterion::GainRatio, _) => panic!("entropies are not rational"),
        }
    }

    /// Total impurity before less total impurity after. `None` if that is not positive.
    pub fn gain(&self, branches: &[Masses]) -> Option<Amount> {
        let all = (0..branches[0].len()).map(|class| branches.iter().map(|masses| masses[class]).sum()).collect();
        match self.criterion {
            Criterion::InformationGain | Criterion::GainRatio => {
                // m H = m log m - sum of m_k log m_k; no gain if and only if all branches are alike.
                let alike = |masses: &Masses| {
                    let (m, of): (u128, u128) = (masses.iter().sum(), all_mass(&all));
                    masses
                        .iter()
                        .zip(&all)
                        .all(|(&part, &whole): (&u128, &u128)| BigInt::from(part) * of == BigInt::from(whole) * m)
                };
                let mut gain = Bits::default();
                let mut entropy = |masses: &Masses, sign: i64| {
                    gain.add(sign, masses.iter().sum());
                    masses.iter().for_each(|&mass| gain.add(-sign, mass));
                };
                entropy(&all, 1);
                branches.iter().for_each(|masses| entropy(masses, -1));
                (!branches.iter().all(alike)).then_some(Amount::Bits(gain))
            }
            Criterion::Gini | Criterion::Error => {
                let after: BigRational = branches.iter().map(|masses| self.total(masses)).sum();
                Some(self.total(&all) - after).filter(|gain| *gain > rational(0)).map(Amount::Exact)
            }
        }
    }

    /// What the splits of different columns are compared by. `missing` is the mass without a value.
    pub fn quality(&self, gain: &Amount, branches: &[Masses], missing: u128) -> Amount {
        let (Criterion::GainRatio, Amount::Bits(gain)) = (self.criterion, gain) else { return gain.clone() };
        let mut info = Bits::default();
        let masses: Vec<u128> = branches.iter().map(all_mass).chain([missing]).collect();
        info.add(1, all_mass(&masses));
        masses.iter().for_each(|&mass| info.add(-1, mass));
        Amount::Ratio(gain.clone(), info)
    }
}

fn all_mass(masses: &Masses) -> u128 {
    masses.iter().sum()
}
