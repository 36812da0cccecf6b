//! The best cut of an ordered column.

use super::cells::Cell;
use super::split::{Cut, Found, Known, Pair, Rule, Sides, is_greater};
use crate::budget::{Stop, Ticker};
use crate::criterion::Impurity;

/// The cases below a cut of two classes: their mass, that of class 1, how many, and the greatest code.
#[derive(Debug, Clone, Copy, Default)]
struct Below {
    mass: u64,
    ones: u64,
    count: u64,
    code: u32,
}

/// Up to this many cuts are all looked at exactly.
const FEW_CUTS: usize = 4;

/// What cuts are about worth, with room for the work.
#[derive(Debug, Default)]
pub(super) struct Worth {
    /// Per class: the masses below and above a cut, and what they are worth.
    of_classes: Vec<(u64, u64, f64)>,
    of_cuts: Vec<f64>,
}

/// In how many bits masses are kept.
trait Width: Copy + Default + Into<u64> {
    /// What is known to fit.
    fn narrow(x: u64) -> Self;
}

impl Width for u32 {
    #[inline]
    fn narrow(x: u64) -> Self {
        x as u32
    }
}

impl Width for u64 {
    #[inline]
    fn narrow(x: u64) -> Self {
        x
    }
}

impl<I: Impurity> Rule<I> {
    /// The best cut of an ordered column; ties: the first. `cells` ascend by code, of which there are two or more.
    /// Complexity: O(cells), times what the impurity takes: O(classes) for errors and where errors have costs.
    pub fn ordered(
        &self,
        cells: impl Iterator<Item = Cell> + Clone,
        known: &Known,
        sides: &mut Sides,
        ticker: &mut Ticker,
    ) -> Result<Option<Found>, Stop> {
        if known.side.masses.len() == 2 {
            let worth = &mut sides.worth.of_cuts;
            let found = match u32::try_from(known.side.total) {
                Ok(_) => self.ordered_of_two::<u32>(cells.clone(), known, &mut sides.narrow_cuts, worth),
                Err(_) => self.ordered_of_two::<u64>(cells.clone(), known, &mut sides.cuts, worth),
            };
            if found.is_some() || self.impurity.noise(known.side.total, 2) == 0 {
                return Ok(found);
            }
        }
        match self.impurity.is_slow(known.side.total) && cells.clone().nth(FEW_CUTS).is_some() {
            true => self.ordered_of_many::<true>(cells, known, sides, ticker),
            false => self.ordered_of_many::<false>(cells, known, sides, ticker),
        }
    }

    /// [`Rule::ordered`] for any number of classes; if `LAZY`, exactly only where a rough look leaves a doubt.
    fn ordered_of_many<const LAZY: bool>(
        &self,
        cells: impl Iterator<Item = Cell> + Clone,
        known: &Known,
        sides: &mut Sides,
        ticker: &mut Ticker,
    ) -> Result<Option<Found>, Stop> {
        let mut worth = std::mem::take(&mut sides.worth);
        let least = if LAZY { self.look_roughly(cells.clone(), known, &mut worth) } else { 0.0 };
        let mut pair = Pair::<I, LAZY>::new(self, known, sides);
        let (mut found, mut below, mut cut) = (None, u32::MAX, 0);
        let n_classes = known.side.masses.len();
        for cell in cells {
            if below != cell.code {
                ticker.tick(n_classes)?;
                let is_near = !LAZY || worth.of_cuts[cut] >= least;
                if is_near && pair.count > 0 && pair.is_better() {
                    found = Some((below, cell.code, pair.left.total));
                }
                (below, cut) = (cell.code, cut + 1);
            }
            pair.pass(cell);
        }
        let best = found.map(|_| pair.best_gain());
        sides.worth = worth;
        let Some(((below, above, mass), best)) = found.zip(best) else { return Ok(None) };
        Ok(self.found(known, best, self.two(known, mass), || Cut::AtMost { below, above }))
    }

    /// What the branches of each cut are about worth together; nothing where they are too small. Cuts worth less than what
    /// is returned are not the best.
    fn look_roughly(&self, cells: impl Iterator<Item = Cell>, known: &Known, worth: &mut Worth) -> f64 {
        let (impurity, all) = (&self.impurity, known.side.total);
        let Worth { of_classes, of_cuts } = worth;
        of_classes.clear();
        of_classes.extend(known.side.masses.iter().map(|&mass| (0, mass, impurity.about(mass))));
        of_cuts.clear();
        let mut sum: f64 = of_classes.iter().map(|(.., about)| about).sum();
        let (mut mass, mut count, mut n, mut code) = (0, 0, 0, u32::MAX);
        for cell in cells {
            if cell.code != code {
                let is_admissible = count.min(known.count - count) >= self.min_side().max(1);
                let this = sum - impurity.about(mass) - impurity.about(all - mass);
                of_cuts.push(if is_admissible { this } else { f64::NEG_INFINITY });
                code = cell.code;
            }
            let (below, above, about) = &mut of_classes[cell.class as usize];
            *below += cell.mass;
            *above -= cell.mass;
            let now = impurity.about(*below) + impurity.about(*above);
            sum += now - std::mem::replace(about, now);
            (mass, count, n) = (mass + cell.mass, count + cell.count, n + 1);
        }
        self.least_worth(of_cuts, known, n)
    }

    /// Cuts worth less than this are not the best, where [`Impurity::about`] was added up over so many cells.
    fn least_worth(&self, of_cuts: &[f64], known: &Known, n_cells: u32) -> f64 {
        let (impurity, all) = (&self.impurity, known.side.total);
        let slack = if impurity.rounds() { impurity.noise(all, 2) } else { 0 };
        // A cell adds twice to a sum that is less than 2^6 times the mass, with 53 binary digits.
        let digits = 2f64.powi(-28) + f64::from(n_cells) * 2f64.powi(-45);
        let doubt = all as f64 * impurity.unit() * digits + 4.0 * slack as f64;
        of_cuts.iter().copied().fold(f64::NEG_INFINITY, f64::max) - doubt
    }

    /// [`Rule::ordered`] for two classes, whose masses alone say all of a set. The impurities at hand are concave, so
    /// that of the cuts within a run of values of one class only the first and the last can be best: those next to the
    /// other class, and those that the least size of a branch makes first or last (Fayyad and Irani, *On the handling of
    /// continuous-valued attributes in decision tree generation*, 1992).
    ///
    /// `None` if no gain is positive without doubt.
    fn ordered_of_two<M: Width>(
        &self,
        mut cells: impl Iterator<Item = Cell>,
        known: &Known,
        cuts: &mut Vec<[M; 4]>,
        worth: &mut Vec<f64>,
    ) -> Option<Found> {
        let n = known.count;
        let least = self.min_side().max(1);
        let impurity = &self.impurity;
        let (all, all_ones) = (known.side.total, known.side.masses[1]);
        // Cuts are collected before they are looked at: which ones are is nothing that a processor could guess.
        let mut n_cuts = 0;
        let (mut below, mut cut) = (Below::default(), Below::default());
        // What the value below the cut is: of one class, or of both (2).
        let mut kind_below = 2;
        let mut last = None;
        loop {
            let cell = cells.next();
            let code = cell.map_or(u32::MAX, |cell| cell.code);
            if code != below.code {
                // A value ends here. Was the cut below it worth a look?
                let (ones, mass) = (below.ones - cut.ones, below.mass - cut.mass);
                let kind = if ones == 0 { 0 } else { 2 - u32::from(ones == mass) };
                if cut.count >= least && cut.count + least <= n {
                    if n_cuts == cuts.len() {
                        cuts.resize(2 * n_cuts + 64, [M::default(); 4]);
                    }
                    let this = [cut.mass, cut.ones, cut.code.into(), below.code.into()].map(M::narrow);
                    cuts[n_cuts] = this;
                    n_cuts += usize::from(kind != kind_below || kind == 2 || last.is_none());
                    last = Some(this);
                }
                (kind_below, cut) = (kind, below);
            }
            let Some(cell) = cell else { break };
            below.mass += cell.mass;
            below.ones += cell.mass * u64::from(cell.class);
            below.count += cell.count;
            below.code = code;
        }
        if let Some(last) = last {
            if n_cuts == cuts.len() {
                cuts.push([M::default(); 4]);
            }
            cuts[n_cuts] = last;
            n_cuts += 1;
        }
        let cuts = &mut cuts[..n_cuts];
        if impurity.is_slow(all) && cuts.len() > FEW_CUTS {
            // Cuts that are not near the best by a rough look are not the best.
            let about = |cut: &[M; 4]| {
                let [mass, ones, ..] = cut.map(M::into);
                let (above, ones_above) = (all - mass, all_ones - ones);
                let pair = |zeros: u64, ones: u64, mass: u64| {
                    impurity.about(zeros) + impurity.about(ones) - impurity.about(mass)
                };
                pair(mass - ones, ones, mass) + pair(above - ones_above, ones_above, above)
            };
            worth.clear();
            worth.extend(cuts.iter().map(about));
            let least = self.least_worth(worth, known, 0);
            n_cuts = 0;
            for (place, &worth) in worth.iter().enumerate() {
                if worth >= least {
                    cuts.swap(n_cuts, place);
                    n_cuts += 1;
                }
            }
        }
        self.best_of_two(cuts[..n_cuts].iter().map(|cut| cut.map(M::into)), known)
    }

    /// The best of some cuts of two classes: the mass below, that of class 1, and the codes next to it. Ties: the first.
    /// `None` if no gain is positive without doubt.
    pub(super) fn best_of_two(&self, cuts: impl Iterator<Item = [u64; 4]>, known: &Known) -> Option<Found> {
        let impurity = &self.impurity;
        let (all, all_ones) = (known.side.total, known.side.masses[1]);
        let base = impurity.pair(all - all_ones, all_ones);
        let noise = impurity.noise(all, 2);
        let slack = if impurity.rounds() { noise } else { 0 };
        let (mut best, mut found) = (base + noise, None::<[u64; 4]>);
        let exact = |mass: u64, ones: u64| {
            let parts = [[mass - ones, ones], [all - mass - (all_ones - ones), all_ones - ones]];
            impurity.exact_gain(parts.iter().map(|part| &part[..]), &known.side.masses)
        };
        for cut in cuts {
            let [mass, ones, ..] = cut;
            let (above, ones_above) = (all - mass, all_ones - ones);
            let value = impurity.pair(mass - ones, ones) + impurity.pair(above - ones_above, ones_above);
            let is_close = value <= best + slack;
            if value > best - slack
                && (!is_close || is_greater(value, best, || exact(mass, ones).zip(exact(found?[0], found?[1]))))
            {
                (best, found) = (value, Some(cut));
            }
        }
        let [mass, ones, below, above] = found?;
        let (below, above) = (below as u32, above as u32);
        let best_exact = if slack > 0 { exact(mass, ones) } else { None };
        self.found(known, (best - base, best_exact), self.two(known, mass), || Cut::AtMost { below, above })
    }
}
