//! The class masses of a set of cases, with the running sums from which impurities follow changes in constant time.

/// The class masses of a set of cases, and the running sums of an [`Impurity`](super::Impurity).
#[derive(Debug, Clone, Default)]
pub(crate) struct ClassStats {
    /// Mass per class.
    pub masses: Vec<u64>,
    /// Mass of all classes.
    pub total: u64,
    /// The sum of the terms x log2 x of the class masses, in fixed point (entropy).
    pub(super) logs: i64,
    /// The sum of products of class masses: squares, or products of pairs times their costs (Gini).
    pub(super) products: u128,
    /// The expected cost of predicting each class, times the mass (costs of leaves).
    pub(super) expected_costs: Vec<u128>,
}

impl ClassStats {
    /// Empties the set.
    pub fn clear(&mut self) {
        self.masses.fill(0);
        self.clear_sums();
    }

    /// Copies another set without allocating.
    pub fn copy_from(&mut self, other: &ClassStats) {
        self.masses.clone_from(&other.masses);
        self.expected_costs.clone_from(&other.expected_costs);
        (self.total, self.logs, self.products) = (other.total, other.logs, other.products);
    }

    /// Whether the class shares of this part differ from those of the whole.
    pub(super) fn has_other_shares_than(&self, whole: &ClassStats) -> bool {
        let cross = |(&part_mass, &whole_mass): (&u64, &u64)| {
            u128::from(part_mass) * u128::from(whole.total) != u128::from(whole_mass) * u128::from(self.total)
        };
        self.masses.iter().zip(&whole.masses).any(cross)
    }

    /// Zeroes everything but the class masses.
    pub(super) fn clear_sums(&mut self) {
        (self.total, self.logs, self.products) = (0, 0, 0);
        // An empty vector has an address that is not mapped. Filling it is a store whose mask is empty, which takes some
        // processors hundreds of cycles at such an address.
        if !self.expected_costs.is_empty() {
            self.expected_costs.fill(0);
        }
    }
}
