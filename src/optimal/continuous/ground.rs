//! The search's view of the data: instances of one class and one mass, ranked and ordered by each column.

use super::super::Run;
use super::stump::Index;
use crate::budget::{Stop, Ticker};
use crate::data::RankedTable;
use crate::data::binary::{ClassMasses, class_masses};

/// A column of ranks.
pub(super) struct Column<I> {
    /// One per instance, and one more for the instance that fills up lanes.
    pub(super) ranks: Vec<I>,
    /// Instances by rank; ties in order.
    pub(super) order: Vec<I>,
    /// How many cuts are tests: all, or all but the last.
    pub(super) n_cuts: usize,
    /// The number of its first test.
    pub(super) first_test: u32,
    /// The cut that asks for missing values: who passes it is on the right.
    missing_cut: Option<usize>,
}

impl<I> Column<I> {
    /// Whether the test at a cut is passed on the left.
    pub(super) fn passes_left(&self, cut: usize) -> bool {
        self.missing_cut != Some(cut)
    }
}

/// How many columns' ranks stand side by side.
pub(super) const GROUP: usize = 4;

/// Patterns, taken apart by class.
///
/// **Cancellation.** The least of a pattern's class masses costs the same in whatever leaf the pattern ends: that much of
/// all classes is taken away, and classes - 1 times it is a constant of all trees. Where `min_leaf` matters nothing is
/// cancelled, since cases have to be counted. A pattern of which nothing is left keeps an instance of mass 0: a split that
/// tells only such patterns apart is a split.
///
/// **Units.** Where few masses are more than 1, an instance of mass m becomes m instances of mass 1: masses need not be
/// looked up then.
pub(super) struct Ground<I> {
    pub(super) columns: Vec<Column<I>>,
    /// The ranks of [`GROUP`] columns, instance by instance: what one look-up finds of several columns.
    pub(super) groups: Vec<Vec<[I; GROUP]>>,
    pub(super) n: usize,
    /// Classes that occur; more than 0.
    pub(super) n_classes: usize,
    /// One per instance, and one more.
    pub(super) classes: Vec<u16>,
    /// Whether all masses are 1.
    pub(super) unit: bool,
    masses: Vec<i64>,
    /// How many cases an instance stands for; empty where that does not matter.
    pub(super) cases: Vec<u64>,
    /// The pairs of classes, and for each column and pair whether instances of both have equal ranks, or ranks between
    /// which there is no test.
    pub(super) pairs: Vec<(u32, u32)>,
    pub(super) mixed: Vec<bool>,
    pub(super) min_leaf: u64,
    pub(super) penalty: i64,
    /// What all trees cost besides.
    pub(super) constant: u64,
}

impl<I: Index> Ground<I> {
    /// Complexity: O(patterns x columns + patterns x classes).
    pub(super) fn new(
        run: &Run,
        table: &RankedTable,
        masses_of: &ClassMasses,
        ticker: &mut Ticker,
    ) -> Result<Self, Stop> {
        let (data, min_leaf) = (run.data, run.params.constraints.min_leaf);
        let counts_of =
            (min_leaf > 1).then(|| class_masses(data, &table.pattern_of, table.n_patterns, |row| data.count(row)));
        let n_labels = data.schema().labels().map_or(0, |labels| labels.len());
        let mut code_of = vec![None; n_labels];
        (0..table.n_patterns).flat_map(|pattern| masses_of.of(pattern)).for_each(|&(class, _)| {
            code_of[class as usize] = Some(0);
        });
        let n_classes = code_of.iter().flatten().count();
        // Pairs of classes are few enough to be listed, and classes to be numbered, before they are.
        let n_pairs = n_classes as u64 * n_classes.saturating_sub(1) as u64 / 2;
        if n_classes > usize::from(u16::MAX) || n_pairs * (8 + table.columns.len() as u64) > ticker.memory_limit() / 2 {
            return Err(Stop::Memory);
        }
        code_of.iter_mut().flatten().zip(0..).for_each(|(code, place)| *code = place);
        let (mut patterns, mut classes, mut masses, mut cases) = (vec![], vec![], vec![], vec![]);
        let mut constant = 0;
        for pattern in 0..table.n_patterns {
            let all = masses_of.of(pattern);
            let least = match counts_of.is_some() || all.len() < n_classes {
                true => 0,
                false => all.iter().map(|&(_, mass)| mass).min().unwrap_or(0),
            };
            constant += least * (n_classes as u64 - 1);
            let before = patterns.len();
            for (place, &(class, mass)) in all.iter().enumerate() {
                if mass > least || counts_of.is_some() {
                    patterns.push(pattern);
                    classes.push(code_of[class as usize].unwrap_or(0u16));
                    masses.push((mass - least) as i64);
                    cases.extend(counts_of.as_ref().map(|counts| counts.of(pattern)[place].1));
                }
            }
            if patterns.len() == before {
                patterns.push(pattern);
                classes.push(0);
                masses.push(0);
            }
        }
        let (all, many) = (masses.len() as i64, masses.iter().map(|&mass| mass.max(1)).sum::<i64>());
        if cases.is_empty() && many > all && many < all + all / 4 && masses.iter().all(|&mass| mass > 0) {
            let times = |of: usize| std::iter::repeat_n(of, masses[of] as usize);
            let of: Vec<usize> = (0..masses.len()).flat_map(times).collect();
            patterns = of.iter().map(|&of| patterns[of]).collect();
            classes = of.iter().map(|&of| classes[of]).collect();
            masses = vec![1; of.len()];
        }
        ticker.tick(20 * patterns.len())?;
        let n = patterns.len();
        // The instance that fills up lanes.
        classes.push(0);
        let mut first_test = 0;
        let mut columns = Vec::with_capacity(table.columns.len());
        let mut places: Vec<u32> = Vec::new();
        for column in &table.columns {
            let mut ranks: Vec<I> = patterns.iter().map(|&pattern| I::of(column.ranks[pattern] as usize)).collect();
            places.clear();
            places.resize(column.n_ranks + 1, 0);
            ranks.iter().for_each(|rank| places[rank.get() + 1] += 1);
            (1..places.len()).for_each(|rank| places[rank] += places[rank - 1]);
            let mut order = vec![I::of(0); n];
            for (instance, rank) in ranks.iter().enumerate() {
                let place = &mut places[rank.get()];
                order[*place as usize] = I::of(instance);
                *place += 1;
            }
            ranks.push(I::of(0));
            let n_cuts = column.n_cuts;
            let missing_cut = Some(n_cuts - 1).filter(|&cut| !column.test(cut).1);
            columns.push(Column { ranks, order, n_cuts, first_test, missing_cut });
            first_test += n_cuts as u32;
            ticker.tick(6 * n)?;
        }
        let side_by_side = |columns: &[Column<I>]| -> Vec<[I; GROUP]> {
            let mut group = vec![[I::of(0); GROUP]; n + 1];
            for (k, column) in columns.iter().enumerate() {
                group.iter_mut().zip(&column.ranks).for_each(|(ranks, &rank)| ranks[k] = rank);
            }
            group
        };
        let groups = columns.chunks(GROUP).map(side_by_side).collect();
        ticker.tick(4 * n * columns.len())?;
        let pairs: Vec<(u32, u32)> =
            (0..n_classes as u32).flat_map(|a| (a + 1..n_classes as u32).map(move |b| (a, b))).collect();
        let mut ground = Ground {
            columns,
            groups,
            n,
            n_classes,
            classes,
            unit: masses.iter().all(|&mass| mass == 1),
            masses: [masses, vec![0]].concat(),
            cases,
            pairs,
            mixed: Vec::new(),
            min_leaf,
            penalty: run.units.node_penalty as i64,
            constant,
        };
        for column in 0..ground.columns.len() {
            let mixed = ground.mixed_pairs(column);
            ground.mixed.extend(mixed);
            ticker.tick(4 * n)?;
        }
        Ok(ground)
    }

    /// The mass of an instance.
    #[inline(always)]
    pub(super) fn mass(&self, instance: usize) -> i64 {
        if self.unit { 1 } else { self.masses[instance] }
    }

    /// The mass of each class among the first 0, `every`, 2 x `every`, ... of some instances.
    pub(super) fn class_sums(&self, instances: &[I], every: usize, sums: &mut Vec<i64>) {
        sums.clear();
        let of = |instance: I| (usize::from(self.classes[instance.get()]), self.mass(instance.get()));
        if self.n_classes == 2 {
            let (mut both, mut second) = (0, 0);
            for block in instances.chunks(every) {
                sums.extend([both, second]);
                for &instance in block {
                    let (class, mass) = of(instance);
                    both += mass;
                    second += mass * class as i64;
                }
            }
            // What stands first is of both.
            sums.as_chunks_mut::<2>().0.iter_mut().for_each(|[both, second]| *both -= *second);
            return;
        }
        let mut now = vec![0; self.n_classes];
        for block in instances.chunks(every) {
            sums.extend_from_slice(&now);
            for &instance in block {
                let (class, mass) = of(instance);
                now[class] += mass;
            }
        }
    }

    /// Whether there is a test between a rank of a column and the next.
    #[inline]
    pub(super) fn offers(&self, column: usize, rank: usize) -> bool {
        rank < self.columns[column].n_cuts
    }

    /// For each pair of classes, whether instances of both have equal ranks, or ranks between which there is no test.
    fn mixed_pairs(&self, column: usize) -> Vec<bool> {
        let of = &self.columns[column];
        let mut mixed = vec![false; self.pairs.len()];
        let mut left = mixed.len();
        let rank = |instance: I| of.ranks[instance.get()].get();
        // Ranks beyond the last test are one.
        let joined = |&a: &I, &b: &I| rank(a).min(of.n_cuts) == rank(b).min(of.n_cuts);
        let class = |instance: I| u32::from(self.classes[instance.get()]);
        let mut seen: Vec<u32> = Vec::new();
        for run in of.order.chunk_by(joined).filter(|run| run.len() > 1) {
            seen.clear();
            seen.push(class(run[0]));
            for class in run[1..].iter().map(|&instance| class(instance)) {
                if seen.contains(&class) {
                    continue;
                }
                for &other in &seen {
                    left -= usize::from(!std::mem::replace(&mut mixed[self.pair(class, other)], true));
                }
                seen.push(class);
            }
            if left == 0 {
                break;
            }
        }
        mixed
    }

    /// The number of a pair of two classes.
    fn pair(&self, a: u32, b: u32) -> usize {
        let (a, b) = (a.min(b) as usize, a.max(b) as usize);
        a * (2 * self.n_classes - a - 1) / 2 + b - a - 1
    }

    /// How many (column, pair of classes) there are.
    pub(super) fn n_entries(&self) -> usize {
        self.columns.len() * self.pairs.len()
    }
}
