//! A scan over splits into two branches: bins move from the right branch to the left one.

use super::rule::{Gain, NodeStats, SplitRule};
use super::scratch::Scratch;
use crate::criterion::{ClassImpurity, ClassStats, ExactGain};
use crate::greedy::types::Bin;

/// The two branches of a split while bins move from the right one to the left one, and the best split so far. If
/// `LAZY`, only class masses are kept up to date, and the rest is computed for the splits that are looked at: for scans
/// that look at few.
pub(crate) struct BinaryScan<'s, I, const LAZY: bool = false> {
    rule: &'s SplitRule<I>,
    whole: &'s ClassStats,
    pub left: &'s mut ClassStats,
    right: &'s mut ClassStats,
    /// The purity of the whole.
    base: i64,
    rounding_error: i64,
    /// Gains that differ by no more than this are compared exactly.
    tolerance: i64,
    /// The number of cases on the left, and of all.
    pub count: u64,
    n: u64,
    /// The greatest gain so far, and the class masses on the left.
    best: i64,
    best_left: &'s mut Vec<u64>,
}

impl<'s, I: ClassImpurity, const LAZY: bool> BinaryScan<'s, I, LAZY> {
    /// All cases are on the right.
    pub fn new(rule: &'s SplitRule<I>, known: &NodeStats<'s>, scratch: &'s mut Scratch) -> Self {
        let whole = known.stats;
        let (base, rounding_error) = (rule.impurity.purity(whole), rule.impurity.rounding_error(whole.total, 2));
        let mut scan = BinaryScan {
            rule,
            whole,
            left: &mut scratch.left,
            right: &mut scratch.right,
            base,
            rounding_error,
            tolerance: if rule.impurity.is_rounded() { rounding_error } else { 0 },
            count: 0,
            n: known.count,
            best: i64::MIN,
            best_left: &mut scratch.best_left,
        };
        scan.restart();
        scan
    }

    /// Moves all cases to the right.
    pub fn restart(&mut self) {
        self.left.masses.resize(self.whole.masses.len(), 0);
        self.left.clear();
        self.right.copy_from(self.whole);
        self.count = 0;
    }

    /// Moves a bin to the left.
    #[inline]
    pub fn move_left(&mut self, bin: Bin) {
        let class = bin.class as usize;
        if LAZY {
            self.left.masses[class] += bin.mass;
            self.right.masses[class] -= bin.mass;
        } else {
            self.rule.impurity.add(self.left, class, bin.mass);
            self.rule.impurity.remove(self.right, class, bin.mass);
        }
        self.count += bin.count;
    }

    /// Whether the split is admissible and gains more than all before; if so, it is the best from now on.
    #[inline]
    pub fn improves(&mut self) -> bool {
        let min_side = self.rule.min_side();
        if self.count < min_side || self.n - self.count < min_side {
            return false;
        }
        if LAZY {
            self.rule.impurity.recompute(self.left);
            self.rule.impurity.recompute(self.right);
        }
        let Some(gain) = self.better_gain(self.left, self.right) else { return false };
        self.best = gain;
        self.best_left.clone_from(&self.left.masses);
        true
    }

    /// The gain of a split into these branches, if it is positive and greater than that of all splits before.
    #[inline]
    pub fn better_gain(&self, left: &ClassStats, right: &ClassStats) -> Option<i64> {
        let gain = self.rule.impurity.purity(left) + self.rule.impurity.purity(right) - self.base;
        if gain <= self.best.saturating_sub(self.tolerance) {
            return None;
        }
        // Gains that rounding may have made positive, or greater than the best, are decided exactly.
        if gain <= self.rounding_error && !self.rule.impurity.is_gain(left, self.whole, gain) {
            return None;
        }
        if gain <= self.best.saturating_add(self.tolerance) && self.tolerance > 0 && self.best > i64::MIN {
            let exact = || self.exact_gain(&left.masses).zip(self.exact_gain(self.best_left));
            if !is_greater(gain, self.best, exact) {
                return None;
            }
        }
        Some(gain)
    }

    /// The purity of the branches of the best split so far; without one, of the whole.
    pub fn best_purity(&self) -> i64 {
        self.base + self.best.max(0)
    }

    /// The best gain, also exactly if that is needed.
    pub fn best_gain(&self) -> Gain {
        let exact = if self.tolerance > 0 { self.exact_gain(self.best_left) } else { None };
        Gain { rounded: self.best, exact }
    }

    /// The exact gain with these class masses on the left.
    fn exact_gain(&self, left: &[u64]) -> Option<ExactGain> {
        let right: Vec<u64> = self.whole.masses.iter().zip(left).map(|(all, part)| all - part).collect();
        self.rule.impurity.exact_gain([left, &right].into_iter(), &self.whole.masses)
    }
}

/// Whether a gain is greater than another one close to it: by their exact values if these are known, else by the
/// rounded ones.
pub(super) fn is_greater(gain: i64, other: i64, exact: impl FnOnce() -> Option<(ExactGain, ExactGain)>) -> bool {
    let exact = exact().and_then(|(a, b)| a.compare(&b));
    exact.unwrap_or_else(|| gain.cmp(&other)).is_gt()
}
