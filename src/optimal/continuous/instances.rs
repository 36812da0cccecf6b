//! The search's view of the data: instances of one class and one mass, ranked and ordered by each column.

use super::super::label_masses::ClassMasses;
use super::super::run::Run;
use super::stump::{Index, part_length};
use crate::budget::{Reserved, Stop, Ticker};
use crate::data::RankedTable;
use crate::simd::Step;

/// A column of ranks.
pub(super) struct InstanceColumn<I> {
    /// One per instance, and one more for the instance that fills up lanes.
    pub(super) ranks: Vec<I>,
    /// Instances by rank; ties in order.
    pub(super) order: Vec<I>,
    /// How many cuts are tests: all, or all but the last.
    pub(super) n_cuts: usize,
    /// The number of its first test.
    first_test: u32,
    /// The cut that asks for missing values: who passes it is on the right.
    missing_cut: Option<usize>,
}

impl<I> InstanceColumn<I> {
    /// Whether the test at a cut is passed on the left.
    pub(super) fn passes_left(&self, cut: usize) -> bool {
        self.missing_cut != Some(cut)
    }
}

/// How many columns' ranks stand side by side.
pub(super) const GROUP: usize = 4;

/// Patterns, taken apart by class.
///
/// **Cancellation.** The least of a pattern's class masses costs the same in whatever leaf the pattern ends: that much
/// of all classes is taken away, and classes - 1 times it is a constant of all trees. Where `min_leaf` matters nothing
/// is cancelled, since cases have to be counted. A pattern of which nothing is left keeps an instance of mass 0: a
/// split that tells only such patterns apart is a split.
///
/// **Units.** Where few masses are more than 1, an instance of mass m becomes m instances of mass 1: masses need not be
/// looked up then.
pub(super) struct RankedInstances<'b, I> {
    pub(super) columns: Vec<InstanceColumn<I>>,
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
    /// How many cases an instance stands for, or what mass counts as such; empty where that does not matter.
    pub(super) cases: Vec<u64>,
    /// The pairs of classes, and for each column and pair whether instances of both have equal ranks, or ranks between
    /// which there is no test. Both empty where stumps are not looked for by pairs of classes.
    pub(super) pairs: Vec<(u32, u32)>,
    pub(super) mixed: Vec<bool>,
    /// How many entries a column has: one per pair, or one for all classes.
    pub(super) per_column: usize,
    pub(super) min_leaf: u64,
    pub(super) penalty: i64,
    /// What all trees cost besides.
    pub(super) constant: u64,
    charged: Reserved<'b>,
}

impl<I> RankedInstances<'_, I> {
    /// The test that separates ranks of a column up to this one from the next.
    pub(super) fn test(&self, column: usize, rank: usize) -> u32 {
        self.columns[column].first_test + rank as u32
    }

    /// How many tests there are.
    pub(super) fn n_tests(&self) -> u64 {
        self.columns.last().map_or(0, |last| u64::from(last.first_test) + last.n_cuts as u64)
    }

    /// The column of a test, and the last rank before it.
    pub(super) fn column_and_rank(&self, test: u32) -> (usize, usize) {
        let column = self.columns.partition_point(|column| column.first_test <= test) - 1;
        (column, (test - self.columns[column].first_test) as usize)
    }
}

impl<'b, I: Index> RankedInstances<'b, I> {
    /// Complexity: O(patterns x columns + patterns x classes).
    pub(super) fn new(
        run: &Run,
        table: &RankedTable,
        masses_of: &ClassMasses,
        ticker: &mut Ticker<'b>,
    ) -> Result<Self, Stop> {
        let min_leaf = run.constraints.min_leaf;
        // An instance per entry of a pattern, or a quarter more; lists of them grow by doubling, and are copied.
        let most = masses_of.n_entries() as u64 * 5 / 4 + 1;
        let of_instance = (size_of::<u16>() + size_of::<i64>() + size_of::<u64>()) as u64;
        let mut charged = ticker.budget().reserve(most * of_instance)?;
        let passing = ticker.budget().reserve(most * (2 * of_instance + 3 * size_of::<usize>() as u64))?;
        let counts_cases = min_leaf > 1;
        let mut code_of = vec![None; run.objective.n_labels()];
        (0..table.n_patterns).flat_map(|pattern| masses_of.of(pattern)).for_each(|&(class, _)| {
            code_of[class as usize] = Some(0);
        });
        // Where no label saves anything they are all alike.
        let n_classes = code_of.iter().flatten().count().max(1);
        debug_assert!(n_classes <= usize::from(u16::MAX), "the choice of the engine saw to that");
        code_of.iter_mut().flatten().zip(0..).for_each(|(code, place)| *code = place);
        let (mut patterns, mut classes, mut masses, mut cases) = (vec![], vec![], vec![], vec![]);
        let mut constant = 0;
        for pattern in 0..table.n_patterns {
            let all = masses_of.of(pattern);
            let least = match counts_cases || all.len() < n_classes {
                true => 0,
                false => all.iter().map(|&(_, mass)| mass).min().unwrap_or(0),
            };
            constant += least * (n_classes as u64 - 1);
            let before = patterns.len();
            for (place, &(class, mass)) in all.iter().enumerate() {
                if mass > least || counts_cases {
                    patterns.push(pattern);
                    classes.push(code_of[class as usize].unwrap_or(0u16));
                    masses.push((mass - least) as i64);
                    cases.extend(masses_of.supports_of(pattern).get(place));
                }
            }
            if patterns.len() == before {
                patterns.push(pattern);
                classes.push(0);
                masses.push(0);
            }
            ticker.tick(10 + 4 * all.len())?;
        }
        let (all, many) = (masses.len() as i64, masses.iter().map(|&mass| mass.max(1)).sum::<i64>());
        if cases.is_empty() && many > all && many < all + all / 4 && masses.iter().all(|&mass| mass > 0) {
            let times = |of: usize| std::iter::repeat_n(of, masses[of] as usize);
            let of: Vec<usize> = (0..masses.len()).flat_map(times).collect();
            patterns = of.iter().map(|&of| patterns[of]).collect();
            classes = of.iter().map(|&of| classes[of]).collect();
            masses = vec![1; of.len()];
        }
        drop(passing);
        ticker.tick(20 * patterns.len())?;
        let n = patterns.len();
        // Ranks and order of each column, and ranks side by side.
        let cells = (n as u64 + 1) * (2 * table.columns.len() + GROUP * table.columns.len().div_ceil(GROUP)) as u64;
        charged.grow(cells * size_of::<I>() as u64)?;
        // The instance that fills up lanes.
        classes.push(0);
        let mut first_test = 0;
        let mut columns = Vec::with_capacity(table.columns.len());
        let mut places: Vec<u32> = Vec::new();
        for column in &table.columns {
            let mut ranks: Vec<I> = patterns.iter().map(|&pattern| I::of(column.ranks[pattern] as usize)).collect();
            places.clear();
            charged.grow(4 * (column.n_ranks + 1).saturating_sub(places.capacity()) as u64)?;
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
            columns.push(InstanceColumn { ranks, order, n_cuts, first_test, missing_cut });
            first_test += n_cuts as u32;
            ticker.tick(6 * n)?;
        }
        let side_by_side = |columns: &[InstanceColumn<I>]| -> Vec<[I; GROUP]> {
            let mut group = vec![[I::of(0); GROUP]; n + 1];
            for (k, column) in columns.iter().enumerate() {
                group.iter_mut().zip(&column.ranks).for_each(|(ranks, &rank)| ranks[k] = rank);
            }
            group
        };
        let mut groups = Vec::with_capacity(columns.len().div_ceil(GROUP));
        for columns in columns.chunks(GROUP) {
            groups.push(side_by_side(columns));
            ticker.tick(4 * n * columns.len())?;
        }
        Ok(RankedInstances {
            columns,
            groups,
            n,
            n_classes,
            classes,
            unit: masses.iter().all(|&mass| mass == 1),
            masses: [masses, vec![0]].concat(),
            cases,
            pairs: Vec::new(),
            mixed: Vec::new(),
            per_column: 1,
            min_leaf,
            penalty: run.objective.scale().node_penalty as i64,
            constant,
            charged,
        })
    }

    /// Bytes that a step of a list takes at most.
    pub(super) fn step_bytes(&self) -> usize {
        let all = if self.unit { part_length(self.n) as i64 } else { self.masses.iter().sum() };
        match all {
            all if all <= <i16 as Step>::MOST => 2,
            all if all <= <i32 as Step>::MOST => 4,
            _ => 8,
        }
    }

    /// How many pairs of classes there are.
    pub(super) fn n_pairs(&self) -> usize {
        self.n_classes * self.n_classes.saturating_sub(1) / 2
    }

    /// From now on stumps are looked for by pairs of classes. O(columns x (instances + pairs)).
    pub(super) fn pair_classes(&mut self, ticker: &mut Ticker) -> Result<(), Stop> {
        let n_pairs = self.n_pairs();
        self.charged.grow((n_pairs * (8 + self.columns.len())) as u64)?;
        self.per_column = n_pairs;
        let n_classes = self.n_classes as u32;
        self.pairs.reserve_exact(n_pairs);
        self.pairs.extend((0..n_classes).flat_map(|a| (a + 1..n_classes).map(move |b| (a, b))));
        self.mixed = vec![false; n_pairs * self.columns.len()];
        for column in 0..self.columns.len() {
            let mut mixed = std::mem::take(&mut self.mixed);
            let found = self.mix_pairs(column, &mut mixed[column * n_pairs..][..n_pairs], ticker);
            self.mixed = mixed;
            found?;
        }
        Ok(())
    }

    /// Whether stumps are looked for by pairs of classes.
    #[inline(always)]
    pub(super) fn by_pairs(&self) -> bool {
        !self.pairs.is_empty()
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
    fn mix_pairs(&self, column: usize, mixed: &mut [bool], ticker: &mut Ticker) -> Result<(), Stop> {
        let of = &self.columns[column];
        let mut left = mixed.len();
        let rank = |instance: I| of.ranks[instance.get()].get();
        // Ranks beyond the last test are one.
        let joined = |&a: &I, &b: &I| rank(a).min(of.n_cuts) == rank(b).min(of.n_cuts);
        let class = |instance: I| u32::from(self.classes[instance.get()]);
        let mut seen: Vec<u32> = Vec::new();
        let mut is_seen = vec![false; self.n_classes];
        // A column without equal ranks has no run of two instances, at which the loop would look at the clock.
        ticker.tick(2 * self.n)?;
        for run in of.order.chunk_by(joined).filter(|run| run.len() > 1) {
            ticker.tick(4 * run.len())?;
            seen.clear();
            for class in run.iter().map(|&instance| class(instance)) {
                if std::mem::replace(&mut is_seen[class as usize], true) {
                    continue;
                }
                for &other in &seen {
                    left -= usize::from(!std::mem::replace(&mut mixed[self.pair(class, other)], true));
                }
                ticker.tick(2 * seen.len())?;
                seen.push(class);
            }
            seen.iter().for_each(|&class| is_seen[class as usize] = false);
            if left == 0 {
                break;
            }
        }
        Ok(())
    }

    /// The number of a pair of two classes.
    fn pair(&self, a: u32, b: u32) -> usize {
        let (a, b) = (a.min(b) as usize, a.max(b) as usize);
        a * (2 * self.n_classes - a - 1) / 2 + b - a - 1
    }

    /// How many (column, pair of classes) there are, or columns.
    pub(super) fn n_entries(&self) -> usize {
        self.columns.len() * self.per_column
    }
}
