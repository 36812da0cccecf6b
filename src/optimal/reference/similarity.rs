//! Lower bounds: what no tree over some cases can undercut.
//!
//! Each bound below is switched off in tests, which must not change a result.
//!
//! **Equivalent points.** Cases that no test tells apart end in one leaf; all but those of their most frequent class are
//! errors of every tree.
//!
//! **Similarity** (MurTree, section 4.4). Let v(A) be the least cost on a set A under some depth and nodes, and T a best
//! tree on B. On A it errs at most on the cases of A outside B in addition: v(A) <= v(B) + w(A \ B), so
//! v(B) >= v(A) - w(A \ B). A branch of T that no case of A takes can be cut out, so this holds for any A and B. Under
//! `min_leaf` T must stay admissible on A, which is certain only if every branch keeps all its cases: if B is a subset
//! of A. Here A and B are branches of two tests at one node, and w(A \ B) comes from the pair counts.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::super::problem::{Cases, Mass, Problem};
use super::pair_counts::PairCounts;

/// The equivalent-points bound. O(cases).
pub(in crate::optimal) fn equivalent_points<M: Mass>(problem: &Problem<M>, cases: &Cases) -> u64 {
    let errors = |&row: &u32| {
        let masses = || problem.masses(row).iter().filter(|entry| (entry.0 as usize) < problem.n_classes);
        let sum: u64 = masses().map(|entry| entry.1.into()).sum();
        sum - masses().map(|entry| entry.1.into()).max().unwrap_or(0)
    };
    cases.rows.iter().map(errors).sum()
}

/// Lower bounds on the branches of all tests at one node, raised as branches are solved. Side 0 is the false one.
pub(in crate::optimal) struct BranchBounds {
    lower: Vec<[AtomicU64; 2]>,
}

impl BranchBounds {
    pub(in crate::optimal) fn new(n_tests: usize) -> Self {
        BranchBounds { lower: (0..n_tests).map(|_| Default::default()).collect() }
    }

    /// The bounds of both branches of a test.
    pub(in crate::optimal) fn of(&self, test: usize) -> [u64; 2] {
        [self.lower[test][0].load(Relaxed), self.lower[test][1].load(Relaxed)]
    }

    pub(in crate::optimal) fn raise(&self, test: usize, side: usize, bound: u64) {
        self.lower[test][side].fetch_max(bound, Relaxed);
    }

    /// Raises the bounds of all tests by their similarity to the branches of `solved`. `counts` covers all tests.
    /// O(tests x classes).
    pub(in crate::optimal) fn spread<M: Mass>(&self, problem: &Problem<M>, counts: &PairCounts<M>, solved: usize) {
        let values = self.of(solved);
        if values == [0, 0] {
            return;
        }
        let mass = |channels: &[M]| channels[..problem.n_classes].iter().map(|&m| m.into()).sum::<u64>();
        let overlap = |of: &dyn Fn(&[M]) -> u64, h: usize| Overlap {
            total: of(&counts.totals),
            f: of(counts.single(solved)),
            h: of(counts.single(h)),
            both: of(counts.pair(solved, h)),
        };
        for h in (0..problem.n_tests).filter(|&h| h != solved) {
            let masses = overlap(&mass, h);
            for (side_f, &value) in values.iter().enumerate() {
                for side_h in 0..2 {
                    let bound = value.saturating_sub(masses.only_f(side_f, side_h));
                    if bound == 0 {
                        continue;
                    }
                    let subset = problem.channels == problem.n_classes || {
                        let cases = overlap(&|channels: &[M]| channels[problem.n_classes].into(), h);
                        cases.only_h(side_f, side_h) == 0
                    };
                    if subset {
                        self.raise(h, side_h, bound);
                    }
                }
            }
        }
    }
}

/// How much passes tests f and h, each and both.
struct Overlap {
    total: u64,
    f: u64,
    h: u64,
    both: u64,
}

impl Overlap {
    /// How much is on this side of f but not on that side of h.
    fn only_f(&self, side_f: usize, side_h: usize) -> u64 {
        match (side_f, side_h) {
            (1, 1) => self.f - self.both,
            (1, _) => self.both,
            (_, 1) => self.total - self.f - (self.h - self.both),
            _ => self.h - self.both,
        }
    }

    /// How much is on that side of h but not on this side of f.
    fn only_h(&self, side_f: usize, side_h: usize) -> u64 {
        Overlap { total: self.total, f: self.h, h: self.f, both: self.both }.only_f(side_h, side_f)
    }
}
