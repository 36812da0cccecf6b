//! The best level of a nominal column to split off, while cases leave one by one: levels of the same class masses have
//! the same gain, and the first of them is the best. If levels are many, there are few different ones.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::greedy::types::Bin;

/// Mass per class, and the number of cases.
type Sums = (Box<[u64]>, u64);

/// The levels of the cases that are there.
pub(super) struct LevelSums {
    /// Sums and number of rows per level.
    of_levels: FxHashMap<u32, (Sums, usize)>,
    /// LevelSums by what they hold.
    alike: BTreeMap<Sums, BTreeSet<u32>>,
    all: Sums,
}

impl LevelSums {
    /// At most about this many bytes for a column of so many levels.
    pub fn bytes(n_levels: usize, n_classes: usize) -> usize {
        n_levels * 2 * (8 * n_classes + 80)
    }

    /// From bins that ascend by code.
    pub fn new(bins: impl Iterator<Item = Bin>, n_classes: usize) -> Self {
        let nothing = || (vec![0; n_classes].into(), 0);
        let mut levels = LevelSums { of_levels: FxHashMap::default(), alike: BTreeMap::new(), all: nothing() };
        for bin in bins {
            let (sums, rows) = levels.of_levels.entry(bin.code).or_insert_with(|| (nothing(), 0));
            for (masses, count) in [sums, &mut levels.all] {
                masses[bin.class as usize] += bin.mass;
                *count += bin.count;
            }
            *rows += 1;
        }
        for (&level, (sums, _)) in &levels.of_levels {
            levels.alike.entry(sums.clone()).or_default().insert(level);
        }
        levels
    }

    /// The masses and the number of all cases.
    pub fn all(&self) -> (&[u64], u64) {
        (&self.all.0, self.all.1)
    }

    /// The number of rows of a level.
    pub fn rows_of(&self, level: u32) -> usize {
        self.of_levels.get(&level).map_or(0, |(_, rows)| *rows)
    }

    /// The bins of the first level of each group of levels with the same sums; `None` if there is only one level.
    pub fn bins(&self) -> Option<Vec<Bin>> {
        if self.of_levels.len() < 2 {
            return None;
        }
        let mut firsts: Vec<(u32, &Sums)> =
            self.alike.iter().filter_map(|(sums, levels)| Some((*levels.first()?, sums))).collect();
        firsts.sort_unstable_by_key(|(level, _)| *level);
        let of_level = |(code, (masses, count)): (u32, &Sums)| {
            let mut count = *count;
            let there = (0..).zip(&masses[..]).filter(|(_, mass)| **mass > 0);
            // The count of the level is given to its first bin.
            there.map(|(class, &mass)| Bin { code, class, mass, count: std::mem::take(&mut count) }).collect::<Vec<_>>()
        };
        Some(firsts.into_iter().flat_map(of_level).collect())
    }

    /// Removes a case.
    pub fn remove(&mut self, bin: Bin) {
        let Some((sums, rows)) = self.of_levels.get_mut(&bin.code) else { return };
        if let Some(levels) = self.alike.get_mut(sums) {
            levels.remove(&bin.code);
            if levels.is_empty() {
                self.alike.remove(sums);
            }
        }
        for (masses, count) in [&mut *sums, &mut self.all] {
            masses[bin.class as usize] -= bin.mass;
            *count -= bin.count;
        }
        *rows -= 1;
        match *rows {
            0 => drop(self.of_levels.remove(&bin.code)),
            _ => drop(self.alike.entry(sums.clone()).or_default().insert(bin.code)),
        }
    }
}
