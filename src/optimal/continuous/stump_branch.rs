//! One branch of a cut at depth two: its masses and the best stump on it.

use super::interval::Bounds;

/// Marks an entry whose stump was not looked for.
pub(super) const UNKNOWN: i64 = i64::MIN;

/// One branch of a cut.
#[derive(Debug, Default)]
pub(super) struct StumpBranch {
    /// The mass of each class.
    pub(super) classes: Vec<i64>,
    pub(super) mass: i64,
    /// The cost of a leaf.
    pub(super) leaf: i64,
    /// No two labels cost less.
    pub(super) two_labels: i64,
    /// Bounds of entries.
    pub(super) bounds: Bounds,
    /// For each bound, what the entry's stump was found to cost, or a better bound, or [`UNKNOWN`].
    pub(super) found: Vec<i64>,
    /// What the best stump costs, or a leaf; without the penalty of the stump, in which a leaf is at an advantage.
    pub(super) best: i64,
    /// The entry of the best stump.
    pub(super) entry: Option<u32>,
}

impl StumpBranch {
    pub(super) fn set(&mut self, classes: &[i64]) {
        self.classes.clear();
        self.classes.extend_from_slice(classes);
        let (mut sum, mut most, mut second) = (0, 0, 0);
        for &mass in classes {
            sum += mass;
            second = second.max(mass.min(most));
            most = most.max(mass);
        }
        (self.mass, self.leaf, self.two_labels) = (sum, sum - most, sum - most - second);
    }

    pub(super) fn start(&mut self, bounds: Bounds, penalty: i64) {
        self.bounds = bounds;
        self.found.clear();
        self.found.resize(bounds.length, UNKNOWN);
        (self.best, self.entry) = (self.leaf - penalty, None);
    }

    /// What the best stump costs, or a leaf.
    pub(super) fn stump(&self, penalty: i64) -> i64 {
        self.best + penalty
    }

    pub(super) fn take(&mut self, place: usize, entry: u32, cost: i64) {
        self.found[place] = cost;
        if cost < self.best {
            (self.best, self.entry) = (cost, Some(entry));
        }
    }
}
