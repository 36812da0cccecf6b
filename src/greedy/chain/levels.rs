//! The best level of a nominal column to be split off, while cases leave: levels of the same class masses are worth the
//! same, and of those the first is the best. There are few different ones where levels are many.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::greedy::cells::Cell;

/// Mass per class, and how many cases.
type Sums = (Box<[u64]>, u64);

/// The levels that are there.
pub(super) struct Levels {
    of_levels: FxHashMap<u32, (Sums, usize)>,
    /// Levels by what they hold.
    alike: BTreeMap<Sums, BTreeSet<u32>>,
    all: Sums,
}

impl Levels {
    /// About the most bytes that a column of so many levels takes.
    pub fn bytes(n_levels: usize, n_classes: usize) -> usize {
        n_levels * 2 * (8 * n_classes + 80)
    }

    /// Of cells that ascend by code.
    pub fn new(cells: impl Iterator<Item = Cell>, n_classes: usize) -> Self {
        let nothing = || (vec![0; n_classes].into(), 0);
        let mut levels = Levels { of_levels: FxHashMap::default(), alike: BTreeMap::new(), all: nothing() };
        for cell in cells {
            let (sums, rows) = levels.of_levels.entry(cell.code).or_insert_with(|| (nothing(), 0));
            for (masses, count) in [sums, &mut levels.all] {
                masses[cell.class as usize] += cell.mass;
                *count += cell.count;
            }
            *rows += 1;
        }
        for (&level, (sums, _)) in &levels.of_levels {
            levels.alike.entry(sums.clone()).or_default().insert(level);
        }
        levels
    }

    /// The masses of all, and how many cases they are.
    pub fn all(&self) -> (&[u64], u64) {
        (&self.all.0, self.all.1)
    }

    /// How many rows of a level there are.
    pub fn rows_of(&self, level: u32) -> usize {
        self.of_levels.get(&level).map_or(0, |(_, rows)| *rows)
    }

    /// The cells of the first of all levels that hold the same; nothing if there is one level only.
    pub fn cells(&self) -> Option<Vec<Cell>> {
        if self.of_levels.len() < 2 {
            return None;
        }
        let mut firsts: Vec<(u32, &Sums)> =
            self.alike.iter().filter_map(|(sums, levels)| Some((*levels.first()?, sums))).collect();
        firsts.sort_unstable_by_key(|(level, _)| *level);
        let of_level = |(code, (masses, count)): (u32, &Sums)| {
            let mut count = *count;
            let there = (0..).zip(&masses[..]).filter(|(_, mass)| **mass > 0);
            // The count of the level comes with its first cell.
            there
                .map(|(class, &mass)| Cell { code, class, mass, count: std::mem::take(&mut count) })
                .collect::<Vec<_>>()
        };
        Some(firsts.into_iter().flat_map(of_level).collect())
    }

    /// Takes a case away.
    pub fn remove(&mut self, cell: Cell) {
        let Some((sums, rows)) = self.of_levels.get_mut(&cell.code) else { return };
        if let Some(levels) = self.alike.get_mut(sums) {
            levels.remove(&cell.code);
            if levels.is_empty() {
                self.alike.remove(sums);
            }
        }
        for (masses, count) in [&mut *sums, &mut self.all] {
            masses[cell.class as usize] -= cell.mass;
            *count -= cell.count;
        }
        *rows -= 1;
        match *rows {
            0 => drop(self.of_levels.remove(&cell.code)),
            _ => drop(self.alike.entry(sums.clone()).or_default().insert(cell.code)),
        }
    }
}
