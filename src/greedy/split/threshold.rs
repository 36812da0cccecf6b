//! The best threshold of an ordered column.

use super::binary_scan::{BinaryScan, is_greater};
use super::candidate::SplitCandidate;
use super::rule::{Gain, NodeStats, SplitRule};
use super::scratch::{ClassAtCut, CutApproximations, Scratch, TwoClassCut};
use crate::budget::{Stop, Ticker};
use crate::criterion::ClassImpurity;
use crate::greedy::types::{Bin, CodedTest};

/// The cases below a cut of two classes: their mass, that of class 1, their number, and the greatest code.
#[derive(Debug, Clone, Copy, Default)]
struct Below {
    mass: u64,
    ones: u64,
    count: u64,
    code: u32,
}

/// Up to this many cuts are all evaluated exactly.
const FEW_CUTS: usize = 4;

/// An integer type for masses.
trait MassWidth: Copy + Default + Into<u64> {
    /// Narrows a number that is known to fit.
    fn narrow(x: u64) -> Self;
}

impl MassWidth for u32 {
    #[inline]
    fn narrow(x: u64) -> Self {
        x as u32
    }
}

impl MassWidth for u64 {
    #[inline]
    fn narrow(x: u64) -> Self {
        x
    }
}

impl<I: ClassImpurity> SplitRule<I> {
    /// The best threshold of an ordered column; ties: the first. `bins` ascend by code, of which there are two or more.
    /// Complexity: O(bins), times what the impurity takes: O(classes) for errors and where errors have costs.
    pub fn best_threshold(
        &self,
        bins: impl Iterator<Item = Bin> + Clone,
        known: &NodeStats,
        scratch: &mut Scratch,
        ticker: &mut Ticker,
    ) -> Result<Option<SplitCandidate>, Stop> {
        if known.stats.masses.len() == 2 {
            let approximations = &mut scratch.approximations.by_cut;
            let split = match u32::try_from(known.stats.total) {
                Ok(_) => self.best_of_two_classes(bins.clone(), known, &mut scratch.narrow_cuts, approximations),
                Err(_) => self.best_of_two_classes(bins.clone(), known, &mut scratch.cuts, approximations),
            };
            if split.is_some() || self.impurity.rounding_error(known.stats.total, 2) == 0 {
                return Ok(split);
            }
        }
        match self.impurity.has_approximation(known.stats.total) && bins.clone().nth(FEW_CUTS).is_some() {
            true => self.best_of_classes::<true>(bins, known, scratch, ticker),
            false => self.best_of_classes::<false>(bins, known, scratch, ticker),
        }
    }

    /// [`SplitRule::best_threshold`] for any number of classes; if `APPROXIMATE`, cuts that approximations rule out are
    /// not evaluated exactly.
    fn best_of_classes<const APPROXIMATE: bool>(
        &self,
        bins: impl Iterator<Item = Bin> + Clone,
        known: &NodeStats,
        scratch: &mut Scratch,
        ticker: &mut Ticker,
    ) -> Result<Option<SplitCandidate>, Stop> {
        let mut approximations = std::mem::take(&mut scratch.approximations);
        let least = if APPROXIMATE { self.approximate_cuts(bins.clone(), known, &mut approximations) } else { 0.0 };
        let mut scan = BinaryScan::<I, APPROXIMATE>::new(self, known, scratch);
        let (mut found, mut below, mut cut) = (None, u32::MAX, 0);
        let n_classes = known.stats.masses.len();
        for bin in bins {
            if below != bin.code {
                ticker.tick(n_classes)?;
                let is_near = !APPROXIMATE || approximations.by_cut[cut] >= least;
                if is_near && scan.count > 0 && scan.improves() {
                    found = Some((CodedTest::AtMost { below, above: bin.code }, scan.left.total));
                }
                (below, cut) = (bin.code, cut + 1);
            }
            scan.move_left(bin);
        }
        let best = found.map(|found| (found, scan.best_gain()));
        scratch.approximations = approximations;
        let Some(((test, mass), best)) = best else { return Ok(None) };
        Ok(self.candidate(known, best, known.branch_masses(mass), || test))
    }

    /// Approximates the purities of the two branches of each cut, together; minus infinity if the cut is inadmissible.
    /// Returns the least value with which a cut may be the best.
    fn approximate_cuts(
        &self,
        bins: impl Iterator<Item = Bin>,
        known: &NodeStats,
        approximations: &mut CutApproximations,
    ) -> f64 {
        let (impurity, all) = (&self.impurity, known.stats.total);
        let CutApproximations { by_class, by_cut } = approximations;
        by_class.clear();
        by_class.extend(known.stats.masses.iter().map(|&mass| ClassAtCut {
            below: 0,
            above: mass,
            terms: impurity.approximate(mass),
        }));
        by_cut.clear();
        let mut sum: f64 = by_class.iter().map(|class| class.terms).sum();
        let (mut mass, mut count, mut n, mut code) = (0, 0, 0, u32::MAX);
        for bin in bins {
            if bin.code != code {
                let is_admissible = count.min(known.count - count) >= self.min_side().max(1);
                let purity = sum - impurity.approximate(mass) - impurity.approximate(all - mass);
                by_cut.push(if is_admissible { purity } else { f64::NEG_INFINITY });
                code = bin.code;
            }
            let class = &mut by_class[bin.class as usize];
            class.below += bin.mass;
            class.above -= bin.mass;
            let terms = impurity.approximate(class.below) + impurity.approximate(class.above);
            sum += terms - std::mem::replace(&mut class.terms, terms);
            (mass, count, n) = (mass + bin.mass, count + bin.count, n + 1);
        }
        self.least_approximation(by_cut, known, n)
    }

    /// The least approximate purity with which a cut may be the best, if [`ClassImpurity::approximate`] was added up
    /// over so many bins.
    fn least_approximation(&self, by_cut: &[f64], known: &NodeStats, n_bins: u32) -> f64 {
        let (impurity, all) = (&self.impurity, known.stats.total);
        let tolerance = if impurity.is_rounded() { impurity.rounding_error(all, 2) } else { 0 };
        // A bin adds twice to a sum that is less than 2^6 times the mass, with 53 binary digits.
        let digits = 2f64.powi(-28) + f64::from(n_bins) * 2f64.powi(-45);
        let error = all as f64 * impurity.scale() * digits + 4.0 * tolerance as f64;
        by_cut.iter().copied().fold(f64::NEG_INFINITY, f64::max) - error
    }

    /// [`SplitRule::best_threshold`] for two classes, where class masses alone determine a purity. The impurities are
    /// concave, so of the cuts within a run of values of one class only the first and the last can be the best: those
    /// next to the other class, and those that the least size of a branch makes first or last (Fayyad and Irani, *On
    /// the handling of continuous-valued attributes in decision tree generation*, 1992).
    ///
    /// `None` if no rounded gain is certainly positive.
    fn best_of_two_classes<M: MassWidth>(
        &self,
        mut bins: impl Iterator<Item = Bin>,
        known: &NodeStats,
        cuts: &mut Vec<TwoClassCut<M>>,
        approximations: &mut Vec<f64>,
    ) -> Option<SplitCandidate> {
        let n = known.count;
        let least = self.min_side().max(1);
        let impurity = &self.impurity;
        let (all, all_ones) = (known.stats.total, known.stats.masses[1]);
        // Cuts are collected first and evaluated afterwards: which cuts are evaluated is an unpredictable branch.
        let mut n_cuts = 0;
        let (mut below, mut cut) = (Below::default(), Below::default());
        // The classes of the value below the cut: 0, 1, or both (2).
        let mut kind_below = 2;
        let mut last = None;
        loop {
            let bin = bins.next();
            let code = bin.map_or(u32::MAX, |bin| bin.code);
            if code != below.code {
                // The cases of a value end here: decide on the cut below it.
                let (ones, mass) = (below.ones - cut.ones, below.mass - cut.mass);
                let kind = if ones == 0 { 0 } else { 2 - u32::from(ones == mass) };
                if cut.count >= least && cut.count + least <= n {
                    if n_cuts == cuts.len() {
                        cuts.resize(2 * n_cuts + 64, TwoClassCut::default());
                    }
                    let this = TwoClassCut {
                        mass: M::narrow(cut.mass),
                        ones: M::narrow(cut.ones),
                        below: M::narrow(cut.code.into()),
                        above: M::narrow(below.code.into()),
                    };
                    cuts[n_cuts] = this;
                    n_cuts += usize::from(kind != kind_below || kind == 2 || last.is_none());
                    last = Some(this);
                }
                (kind_below, cut) = (kind, below);
            }
            let Some(bin) = bin else { break };
            below.mass += bin.mass;
            below.ones += bin.mass * u64::from(bin.class);
            below.count += bin.count;
            below.code = code;
        }
        if let Some(last) = last {
            if n_cuts == cuts.len() {
                cuts.push(TwoClassCut::default());
            }
            cuts[n_cuts] = last;
            n_cuts += 1;
        }
        let cuts = &mut cuts[..n_cuts];
        if impurity.has_approximation(all) && cuts.len() > FEW_CUTS {
            // Only cuts whose approximate purity is near the best can be the best.
            let approximate = |cut: &TwoClassCut<M>| {
                let TwoClassCut { mass, ones, .. } = cut.widened();
                let (above, ones_above) = (all - mass, all_ones - ones);
                let of_branch = |zeros: u64, ones: u64, mass: u64| {
                    impurity.approximate(zeros) + impurity.approximate(ones) - impurity.approximate(mass)
                };
                of_branch(mass - ones, ones, mass) + of_branch(above - ones_above, ones_above, above)
            };
            approximations.clear();
            approximations.extend(cuts.iter().map(approximate));
            let least = self.least_approximation(approximations, known, 0);
            n_cuts = 0;
            for (position, &purity) in approximations.iter().enumerate() {
                if purity >= least {
                    cuts.swap(n_cuts, position);
                    n_cuts += 1;
                }
            }
        }
        self.best_of_cuts(cuts[..n_cuts].iter().map(|cut| cut.widened()), known)
    }

    /// The best of some cuts of two classes; ties: the first. `None` if no rounded gain is certainly positive.
    pub fn best_of_cuts(
        &self,
        cuts: impl Iterator<Item = TwoClassCut<u64>>,
        known: &NodeStats,
    ) -> Option<SplitCandidate> {
        let impurity = &self.impurity;
        let (all, all_ones) = (known.stats.total, known.stats.masses[1]);
        let base = impurity.purity_of_two(all - all_ones, all_ones);
        let rounding_error = impurity.rounding_error(all, 2);
        let tolerance = if impurity.is_rounded() { rounding_error } else { 0 };
        let (mut best, mut found) = (base + rounding_error, None::<TwoClassCut<u64>>);
        let exact = |cut: TwoClassCut<u64>| {
            let TwoClassCut { mass, ones, .. } = cut;
            let parts = [[mass - ones, ones], [all - mass - (all_ones - ones), all_ones - ones]];
            impurity.exact_gain(parts.iter().map(|part| &part[..]), &known.stats.masses)
        };
        for cut in cuts {
            let TwoClassCut { mass, ones, .. } = cut;
            let (above, ones_above) = (all - mass, all_ones - ones);
            let purity =
                impurity.purity_of_two(mass - ones, ones) + impurity.purity_of_two(above - ones_above, ones_above);
            let is_close = purity <= best + tolerance;
            if purity > best - tolerance && (!is_close || is_greater(purity, best, || exact(cut).zip(exact(found?)))) {
                (best, found) = (purity, Some(cut));
            }
        }
        let cut = found?;
        let (below, above) = (cut.below as u32, cut.above as u32);
        let gain = Gain { rounded: best - base, exact: if tolerance > 0 { exact(cut) } else { None } };
        self.candidate(known, gain, known.branch_masses(cut.mass), || CodedTest::AtMost { below, above })
    }
}
