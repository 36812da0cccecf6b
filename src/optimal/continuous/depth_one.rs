//! The best stump of a node, or of a branch of one of its cuts, found by going through its instances in order: once per
//! tree, and wherever leaves must not be small.

use smallvec::{SmallVec, smallvec};

use super::node::Side;
use super::scan::Greatest;
use super::search::IntervalSearch;
use super::stump::Index;
use crate::budget::Stop;

impl<I: Index> IntervalSearch<'_, I> {
    /// The first stump of least cost on one side of a cut of a node, or on the whole node, on one column or on any;
    /// `None` if a leaf costs no more. No stump costs less than `least`: the first that costs as much ends the search.
    /// Columns with a cut must be open.
    ///
    /// Complexity: O(columns x instances), and O(classes) per cut.
    pub(super) fn best_stump(
        &mut self,
        level: usize,
        side: Option<Side<I>>,
        only: Option<usize>,
        relaxed: bool,
        least: i64,
    ) -> Result<(i64, Option<(usize, usize)>), Stop> {
        let ground = self.ground();
        let node = self.nodes.at(level);
        let mut all: SmallVec<[i64; 8]> = SmallVec::from_slice(&node.classes);
        let n = node.n;
        if let Some(Side { column, cut, right }) = side {
            let cut = self.nodes.opened(level, column).ranks.partition_point(|&rank| rank < cut);
            self.nodes.classes_left(level, column, cut, &mut self.classes);
            all.iter_mut().zip(&self.classes).for_each(|(all, left)| *all = if right { *all - left } else { *left });
        }
        let side = side.map(|side| (side, &ground.columns[side.column].ranks[..]));
        let has = |instance: I| side.is_none_or(|(side, ranks)| side.has(ranks[instance.get()]));
        let cases_of = |instance: I| if relaxed { 0 } else { ground.cases[instance.get()] };
        let most = |masses: &[i64]| masses.iter().fold(0, |most, &mass| most.max(mass));
        let mass: i64 = all.iter().sum();
        let mut best = (mass - most(&all), None);
        for column in only.map_or(0..ground.columns.len(), |column| column..column + 1) {
            self.nodes.order(level, column);
            self.ticker.tick(3 * n + self.nodes.work())?;
            let order = self.nodes.ordered(level, column);
            let members = || order.iter().copied().filter(|&instance| has(instance));
            let cases: u64 = if relaxed { 0 } else { members().map(cases_of).sum() };
            let enough = |left: u64| relaxed || left >= ground.min_leaf && cases - left >= ground.min_leaf;
            let (mut left, mut right): (SmallVec<[i64; 8]>, _) = (smallvec![0; ground.n_classes], all.clone());
            let (mut most_left, mut most_right, mut looks) = (0, Greatest::of(&all), 0);
            let (ranks, mut cases_left, mut last) = (&ground.columns[column].ranks[..], 0, None::<I>);
            for instance in members() {
                let rank = ranks[instance.get()];
                if let Some(last) = last.filter(|&last| last != rank && ground.offers(column, last.get())) {
                    let (greatest, looked) = most_right.get(&right);
                    looks += usize::from(looked);
                    let cost = ground.penalty + mass - most_left - greatest;
                    if cost < best.0 && enough(cases_left) {
                        best = (cost, Some((column, last.get())));
                        if cost <= least {
                            return Ok(best);
                        }
                    }
                }
                let (class, mass) = (usize::from(ground.classes[instance.get()]), ground.mass(instance.get()));
                left[class] += mass;
                most_left = most_left.max(left[class]);
                most_right.fell(right[class], right[class] - mass);
                right[class] -= mass;
                cases_left += cases_of(instance);
                last = Some(rank);
            }
            self.ticker.tick((2 + looks) * ground.n_classes)?;
        }
        Ok(best)
    }
}
