//! StumpSearch as branches of a root: the least cost of either branch of one cut.
//!
//! Each column and pair of classes is an *entry*: a stump on that column with these labels. Entries have bounds, which
//! hold for all cuts of an interval by the argument of nested sets, and are looked at by ascending bound until no other
//! can be better than the best. With more than two classes an entry's stump also costs no less than the mass of all
//! other classes. Where classes are too many for pairs, each column is an entry, and a stump has any two labels.

use super::instances::RankedInstances;
use super::interval::Bounds;
use super::memory::MemoryShares;
use super::node::{Nodes, Side};
use super::scan::Scan;
use super::stump::{Index, Sides, make_room};
use super::stump_branch::{StumpBranch, UNKNOWN};
use crate::budget::{Stop, Ticker};
use crate::simd::Isa;

/// A bound of an entry's stump, without the penalty.
pub(super) type Bound = (i64, u32);

/// The bounds of a search of depth two, and room to find better ones.
pub(super) struct StumpSearch<I> {
    bounds: Vec<Bound>,
    /// There may be so many, and those of nothing known.
    most: usize,
    scan: Scan<I>,
    /// Where an entry stands among the bounds of the right branch.
    place_of: Vec<u32>,
    changed: Vec<Bound>,
    pub(super) branches: [StumpBranch; 2],
    pub(super) scans: u64,
    pub(super) isa: Isa,
}

impl<I: Index> StumpSearch<I> {
    pub(super) fn new(n_entries: usize, isa: Isa, room: &MemoryShares) -> Self {
        StumpSearch {
            bounds: (0..n_entries as u32).map(|entry| (0, entry)).collect(),
            most: n_entries + room.bounds,
            scan: Scan::default(),
            place_of: vec![u32::MAX; n_entries],
            changed: Vec::new(),
            branches: Default::default(),
            scans: 0,
            isa,
        }
    }

    /// Forgets all bounds but those of nothing known.
    pub(super) fn clear(&mut self) {
        self.bounds.truncate(self.place_of.len());
    }

    /// Of nothing known.
    pub(super) fn trivial(&self) -> Bounds {
        Bounds { start: 0, length: self.place_of.len() }
    }

    /// Finds the best stump of the branches that are wanted, given their bounds; see [`StumpBranch`].
    pub(super) fn evaluate(
        &mut self,
        nodes: &mut Nodes<I>,
        level: usize,
        side: Side<I>,
        bounds: [Option<Bounds>; 2],
        ticker: &mut Ticker,
    ) -> Result<(), Stop> {
        let ground = nodes.ground;
        let [left, right] = &mut self.branches;
        for (branch, bounds) in [&mut *left, &mut *right].into_iter().zip(bounds) {
            branch.start(bounds.unwrap_or_default(), ground.penalty);
        }
        let right_bounds = &self.bounds[right.bounds.start..][..right.bounds.length];
        (0..).zip(right_bounds).for_each(|(place, &(_, entry))| self.place_of[entry as usize] = place);
        ticker.tick(left.bounds.length + right.bounds.length)?;
        for place in 0..left.bounds.length {
            let (bound, entry) = self.bounds[left.bounds.start + place];
            if bound >= left.best {
                break;
            }
            let Some(totals) = worth(ground, left, entry, bound, place) else { continue };
            // The other branch comes at less than a second look, if it will be wanted.
            let other = self.place_of[entry as usize];
            let totals_right = (other != u32::MAX).then(|| {
                let bound = right_bounds[other as usize].0;
                (bound < right.best).then(|| worth(ground, right, entry, bound, other as usize)).flatten()
            });
            let totals_right = totals_right.flatten();
            let costs = if ground.by_pairs() {
                let sides = if totals_right.is_some() { Sides::Both } else { Sides::Left };
                let (list, along) = nodes.along(level, side.column, entry as usize);
                let [of_left, of_right] = list.steps.extremes(self.isa, along, side.cut, sides);
                let scanned = along.len();
                self.scans += scanned as u64;
                ticker.tick(scanned / 8 + nodes.work())?;
                let on_right = totals_right.as_ref().map_or(0, |totals| totals.best(of_right.greatest, of_right.least));
                [left.mass - totals.best(of_left.greatest, of_left.least), right.mass - on_right]
            } else {
                nodes.order(level, entry as usize);
                let branches = [Some(&*left), totals_right.is_some().then_some(&*right)];
                let (costs, work) = self.scan.costs(nodes, level, side, entry as usize, branches);
                self.scans += nodes.at(level).n as u64;
                ticker.tick(work + nodes.work())?;
                costs
            };
            left.take(place, entry, costs[0]);
            if totals_right.is_some() {
                right.take(other as usize, entry, costs[1]);
            }
        }
        for (place, &(bound, entry)) in right_bounds.iter().enumerate() {
            if bound >= right.best {
                break;
            }
            if right.found[place] != UNKNOWN {
                continue;
            }
            let Some(totals) = worth(ground, right, entry, bound, place) else { continue };
            let cost = if ground.by_pairs() {
                let (list, along) = nodes.along(level, side.column, entry as usize);
                let [_, of_right] = list.steps.extremes(self.isa, along, side.cut, Sides::Right);
                let scanned = along.len();
                self.scans += scanned as u64;
                ticker.tick(scanned / 8 + nodes.work())?;
                right.mass - totals.best(of_right.greatest, of_right.least)
            } else {
                nodes.order(level, entry as usize);
                let (costs, work) = self.scan.costs(nodes, level, side, entry as usize, [None, Some(&*right)]);
                self.scans += nodes.at(level).n as u64;
                ticker.tick(work + nodes.work())?;
                costs[1]
            };
            right.take(place, entry, cost);
        }
        right_bounds.iter().for_each(|&(_, entry)| self.place_of[entry as usize] = u32::MAX);
        Ok(())
    }

    /// The first column with a stump of this cost on one side of a cut, whose masses are set. `None` if it has to be
    /// looked for column by column.
    pub(super) fn first_column(
        &mut self,
        nodes: &mut Nodes<I>,
        level: usize,
        side: Side<I>,
        cost: i64,
        ticker: &mut Ticker,
    ) -> Result<Option<usize>, Stop> {
        let ground = nodes.ground;
        if !ground.by_pairs() {
            return Ok(None);
        }
        let branch = &mut self.branches[usize::from(side.right)];
        branch.start(Bounds::default(), ground.penalty);
        // What is no better than this is not looked at.
        branch.best = cost + 1 - ground.penalty;
        branch.found.push(UNKNOWN);
        for entry in 0..ground.n_entries() as u32 {
            let Some(totals) = worth(ground, branch, entry, 0, 0) else { continue };
            let (list, along) = nodes.along(level, side.column, entry as usize);
            let sides = if side.right { Sides::Right } else { Sides::Left };
            let extremes = list.steps.extremes(self.isa, along, side.cut, sides)[usize::from(side.right)];
            let scanned = along.len();
            self.scans += scanned as u64;
            ticker.tick(scanned / 8 + nodes.work())?;
            if branch.mass - totals.best(extremes.greatest, extremes.least) < branch.best {
                return Ok(Some(entry as usize / ground.per_column));
            }
        }
        Ok(None)
    }

    /// Bounds for the cuts on one side of the one evaluated: of entries that may be part of a tree that costs less than
    /// the cap allows. At these cuts a branch has lost instances of at most this mass.
    pub(super) fn derive(&mut self, branch: usize, lost: i64, cap: i64) -> Bounds {
        let StumpBranch { bounds: old, found, .. } = &self.branches[branch];
        let (old, start) = (*old, self.bounds.len());
        if start + old.length > self.most {
            // What holds for all cuts of an interval holds for a part of them.
            return old;
        }
        make_room(&mut self.bounds, start + old.length, self.most);
        self.changed.clear();
        let old_bounds = old.start..old.start + old.length;
        for (&(bound, entry), &found) in self.bounds[old_bounds.clone()].iter().zip(found) {
            let bound = bound.max(found.saturating_sub(lost));
            if found != UNKNOWN && bound < cap {
                self.changed.push((bound, entry));
            }
        }
        self.changed.sort_unstable();
        let mut changed = self.changed.iter().copied().peekable();
        for (place, _) in old_bounds.zip(found).filter(|&(_, &found)| found == UNKNOWN) {
            let kept = self.bounds[place];
            if kept.0 >= cap {
                break;
            }
            while let Some(bound) = changed.next_if(|bound| bound.0 <= kept.0) {
                self.bounds.push(bound);
            }
            self.bounds.push(kept);
        }
        self.bounds.extend(changed);
        Bounds { start, length: self.bounds.len() - start }
    }
}

/// The masses of the two classes of an entry.
struct Totals(i64, i64);

impl Totals {
    /// The mass that the best stump gets right.
    fn best(&self, greatest: i64, least: i64) -> i64 {
        (self.1 + greatest).max(self.0 - least)
    }
}

/// The totals of an entry, if its stump may be better than the best; else notes the bound that says it is not.
#[inline(always)]
fn worth<I: Index>(
    ground: &RankedInstances<I>,
    branch: &mut StumpBranch,
    entry: u32,
    bound: i64,
    place: usize,
) -> Option<Totals> {
    let (totals, least) = match ground.by_pairs() {
        true => {
            let (a, b) = ground.pairs[entry as usize % ground.pairs.len()];
            let totals = Totals(branch.classes[a as usize], branch.classes[b as usize]);
            let least = branch.mass - totals.0 - totals.1;
            (totals, least)
        }
        false => (Totals(0, 0), branch.two_labels),
    };
    let bound = bound.max(least);
    if bound >= branch.best {
        branch.found[place] = bound;
        return None;
    }
    Some(totals)
}
