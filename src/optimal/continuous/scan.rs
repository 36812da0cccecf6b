//! The best stump on a column for the instances on either side of a cut, whatever their classes: where classes are too
//! many for pairs of them, or lists of pairs too large.

use super::node::{Nodes, Side};
use super::stump::Index;
use super::stump_branch::StumpBranch;

/// The greatest of some masses that fall, one after the other.
///
/// It is known without a look at all of them as long as one that is as great is left, or the one that fell last is
/// still as great as any other can be.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Greatest {
    pub(super) most: i64,
    /// At least so many are as great.
    equal: usize,
    /// Those that are less are no more than this.
    others: i64,
    known: bool,
}

impl Greatest {
    pub(super) fn of(masses: &[i64]) -> Self {
        let mut greatest = Greatest { known: true, ..Self::default() };
        for &mass in masses {
            if mass > greatest.most {
                (greatest.others, greatest.most, greatest.equal) = (greatest.most, mass, 1);
            } else if mass == greatest.most {
                greatest.equal += 1;
            } else {
                greatest.others = greatest.others.max(mass);
            }
        }
        greatest
    }

    /// A mass fell from `before` to `after`.
    #[inline(always)]
    pub(super) fn fell(&mut self, before: i64, after: i64) {
        if before < self.most || before == after {
            return;
        }
        self.equal = self.equal.saturating_sub(1);
        if self.equal > 0 {
            self.others = self.others.max(after);
        } else if after >= self.others {
            // It is the greatest still.
            (self.most, self.equal) = (after, 1);
        } else {
            self.known = false;
        }
    }

    /// The greatest of these masses; and whether that took a look at all of them.
    #[inline(always)]
    pub(super) fn get(&mut self, masses: &[i64]) -> (i64, bool) {
        let looks = !self.known;
        if looks {
            *self = Self::of(masses);
        }
        (self.most, looks)
    }
}

/// Masses of classes on either side of the cuts of a column, among the instances on one side of a cut of another.
#[derive(Debug, Default)]
struct CutSums<I> {
    left: Vec<i64>,
    right: Vec<i64>,
    most_left: i64,
    most_right: Greatest,
    last: Option<I>,
    /// The most mass that a stump gets right.
    best: i64,
}

impl<I: Index> CutSums<I> {
    fn start(&mut self, classes: &[i64], leaf: i64) {
        self.left.clear();
        self.left.resize(classes.len(), 0);
        self.right.clear();
        self.right.extend_from_slice(classes);
        (self.most_left, self.most_right, self.last, self.best) = (0, Greatest::of(classes), None, leaf);
    }
}

/// Looks at whole columns.
#[derive(Debug, Default)]
pub(super) struct Scan<I> {
    sums: [CutSums<I>; 2],
}

impl<I: Index> Scan<I> {
    /// What the best stump on a column costs, or a leaf, without the penalty, in each branch that is wanted. The order
    /// of the column must be there. O(instances + classes), and O(classes) now and then. Returns the work, too.
    pub(super) fn costs(
        &mut self,
        nodes: &Nodes<I>,
        level: usize,
        side: Side<I>,
        column: usize,
        branches: [Option<&StumpBranch>; 2],
    ) -> ([i64; 2], usize) {
        let ground = nodes.ground;
        for (sums, branch) in self.sums.iter_mut().zip(branches) {
            if let Some(branch) = branch {
                sums.start(&branch.classes, branch.mass - branch.leaf);
            }
        }
        let (of_side, ranks) = (&ground.columns[side.column].ranks[..], &ground.columns[column].ranks[..]);
        let order = nodes.ordered(level, column);
        let (wanted, mut looks) = (branches.map(|branch| branch.is_some()), 0);
        for &instance in order {
            let at = instance.get();
            let on = usize::from(of_side[at] >= side.cut);
            if !wanted[on] {
                continue;
            }
            let (sums, rank) = (&mut self.sums[on], ranks[at]);
            if let Some(last) = sums.last
                && last != rank
                && ground.offers(column, last.get())
            {
                let (most_right, looked) = sums.most_right.get(&sums.right);
                looks += usize::from(looked);
                sums.best = sums.best.max(sums.most_left + most_right);
            }
            sums.last = Some(rank);
            let (class, mass) = (usize::from(ground.classes[at]), ground.mass(at));
            let left = &mut sums.left[class];
            *left += mass;
            sums.most_left = sums.most_left.max(*left);
            let right = &mut sums.right[class];
            sums.most_right.fell(*right, *right - mass);
            *right -= mass;
        }
        let of = |on: usize| branches[on].map_or(0, |branch| branch.mass - self.sums[on].best);
        ([of(0), of(1)], 3 * order.len() + (4 + looks) * ground.n_classes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_greatest_is_known_as_masses_fall(
            masses in proptest::collection::vec(0i64..6, 1..8),
            falls in proptest::collection::vec((0usize..8, 0i64..4, any::<bool>()), 0..40),
        ) {
            let mut masses = masses;
            let mut greatest = Greatest::of(&masses);
            for (class, fall, asks) in falls {
                let class = class % masses.len();
                let (before, after) = (masses[class], (masses[class] - fall).max(0));
                greatest.fell(before, after);
                masses[class] = after;
                if asks {
                    prop_assert_eq!(greatest.get(&masses).0, masses.iter().copied().max().unwrap_or(0));
                }
            }
            prop_assert_eq!(greatest.get(&masses).0, masses.iter().copied().max().unwrap_or(0));
        }
    }
}
