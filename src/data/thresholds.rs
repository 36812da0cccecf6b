//! Cuts of an ordered column: between all values, at quantiles, or by the minimum description length principle.
//!
//! A column is seen as its cases in ascending order of value. A *cut* is named by the rank of the value below it among
//! the column's distinct values, so that all rules work alike on floats, integers, dates and ordered levels.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::bit_planes::{BitPlanes, unpack};
use super::dataset::{Column, MISSING};
use super::notation::{Notation, float_key, integer_key};
use super::sorting::Sorter;
use super::test::Threshold;
use crate::bits;
use crate::budget::{Stop, Ticker};

/// An ordered column: its present cases in the order of their values.
pub(crate) struct Ordered {
    order: CellOrder,
    /// The keys of the distinct values, ascending.
    keys: Vec<u64>,
    /// Whether a present case has no value.
    pub(crate) missing: bool,
}

/// The cases of a column by value: sorted or, with at most two values, as a bit per row.
enum CellOrder {
    Sorted {
        /// Row, by ascending value; ties by row.
        rows: Vec<u32>,
        /// `starts[r]` is where the r-th distinct value begins in `rows`; one more entry closes the last.
        starts: Vec<u32>,
    },
    /// For at most two values: the codes that [`Ordered::code`] returns for all cuts.
    Coded(BitPlanes),
}

/// A column with at most two values, coded in one pass without sorting; `None` if there are more values.
fn two_valued<T: Copy + PartialEq>(cells: &[T], present: &[u64], key: impl Fn(T) -> Option<u64>) -> Option<Ordered> {
    let with_key = |cell: T| Some((cell, key(cell)?));
    let Some((first_cell, first)) = bits::ones(present).find_map(|row| with_key(cells[row])) else {
        let missing = present.iter().any(|&word| word != 0);
        let codes = BitPlanes::of_planes(present.to_vec(), present.len());
        return Some(Ordered { order: CellOrder::Coded(codes), keys: vec![], missing });
    };
    let mut second = None;
    let mut planes = vec![0u64; 2 * present.len()];
    let (others, without) = planes.split_at_mut(present.len());
    for (word, (block, &present)) in cells.chunks(64).zip(present).enumerate() {
        loop {
            let (known_cell, known) = second.unwrap_or((first_cell, first));
            // Nearly all blocks have these two values and no other.
            let (mut other, mut is_known) = (0u64, true);
            for (place, &cell) in block.iter().enumerate() {
                let is_other = cell == known_cell;
                is_known &= is_other | (cell == first_cell);
                other |= u64::from(is_other) << place;
            }
            if is_known {
                others[word] = if second.is_some() { other & present } else { 0 };
                break;
            }
            // The two known keys differ in this bit, which says which of them a key must be; another key is unknown.
            let difference = first ^ known;
            let bit = difference.trailing_zeros() % 64;
            let (mut other, mut none, mut unknown) = (0u64, 0u64, 0u64);
            for &cell in block {
                let (key, is_none) = key(cell).map_or((first, 1), |key| (key, 0));
                let is_other = (key ^ first) >> bit & 1;
                unknown |= key ^ first ^ (difference & is_other.wrapping_neg());
                other = (other | is_other).rotate_right(1);
                none = (none | is_none).rotate_right(1);
            }
            let place = |bits: u64| bits.rotate_right(64 - block.len() as u32) & present;
            (others[word], without[word]) = (place(other), place(none));
            if unknown == 0 {
                break;
            }
            let third = |&row: &usize| key(block[row]).is_some_and(|key| key != first && key != known);
            match (bits::ones(&[present]).find(third), second) {
                (None, _) => break, // the unknown value is an absent row's
                (Some(row), None) => second = with_key(block[row]),
                (Some(_), Some(_)) => return None,
            }
        }
    }
    let second = second.map(|(_, key)| key);
    let mut keys: Vec<u64> = [first].into_iter().chain(second).collect();
    if second.is_some_and(|second| second < first) {
        keys.reverse();
        others
            .iter_mut()
            .zip(&*without)
            .zip(present)
            .for_each(|((other, none), present)| *other = !*other & !none & present);
    }
    let missing = without.iter().any(|&none| none != 0);
    match (second, missing) {
        (_, false) => planes.truncate(present.len()),
        (None, true) => drop(planes.drain(..present.len())),
        (Some(_), true) => {}
    }
    Some(Ordered { order: CellOrder::Coded(BitPlanes::of_planes(planes, present.len())), keys, missing })
}

impl Ordered {
    /// Bytes per row, at most: its number, the key of its value, and where that value begins.
    pub(crate) const BYTES: u64 = 16;
    /// Further bytes per row while the column is sorted; [`Ordered::new`] charges them.
    const SORTING_BYTES: u64 = 24;

    /// Brings the cases of the rows whose bit is set in `present` in order. O(n) for integers of a small range and for
    /// two values, else O(n log n).
    ///
    /// Without `sorted`, a column with at most two values is coded in one pass instead, and [`Ordered::mdlp`] cannot be
    /// called on it.
    pub(crate) fn new(
        column: &Column,
        present: &[u64],
        sorted: bool,
        sorter: &mut Sorter,
        ticker: &mut Ticker,
    ) -> Result<Self, Stop> {
        let float = |x: f64| (!x.is_nan()).then(|| float_key(x));
        let level = |code: u32| (code != MISSING).then_some(u64::from(code));
        if !sorted {
            let coded = match column {
                Column::Floats(values) => two_valued(values, present, float),
                Column::Integers { missing: Some(_), .. } => None,
                Column::Integers { values, missing: None } => two_valued(values, present, |x| Some(integer_key(x))),
                Column::Levels { codes, .. } => two_valued(codes, present, level),
            };
            ticker.tick(2 * column.len())?;
            if let Some(coded) = coded {
                return Ok(coded);
            }
        }
        let _sorting = ticker.budget().reserve(Self::SORTING_BYTES * column.len() as u64)?;
        // Rows without a value have a key, which is never read.
        let Sorter { keys, words, .. } = sorter;
        keys.clear();
        words.clear();
        let rows = || bits::ones(present).map(|row| row as u64);
        match column {
            Column::Floats(values) => {
                keys.extend(values.iter().map(|&x| float_key(x)));
                words.extend(rows().filter(|&row| !values[row as usize].is_nan()));
            }
            Column::Integers { values, missing } => {
                keys.extend(values.iter().map(|&x| integer_key(x)));
                words.extend(rows().filter(|&row| missing.as_ref().is_none_or(|missing| !missing[row as usize])));
            }
            Column::Levels { codes, .. } => {
                keys.extend(codes.iter().map(|&code| u64::from(code)));
                words.extend(rows().filter(|&row| codes[row as usize] != MISSING));
            }
        }
        let n = words.len();
        let missing = n < present.iter().map(|word| word.count_ones() as usize).sum();
        sorter.sort(ticker)?;
        let mut rows = Vec::with_capacity(n);
        let (mut starts, mut keys) = (Vec::with_capacity(n + 1), Vec::with_capacity(n));
        for (place, (row, key)) in (0..).zip(sorter.sorted()) {
            rows.push(row);
            if keys.last() != Some(&key) {
                keys.push(key);
                starts.push(place);
            }
        }
        starts.push(n as u32);
        starts.shrink_to_fit();
        keys.shrink_to_fit();
        Ok(Ordered { order: CellOrder::Sorted { rows, starts }, keys, missing })
    }

    /// How many cuts there are between distinct values.
    pub(super) fn n_cuts(&self) -> usize {
        self.keys.len().saturating_sub(1)
    }

    /// How many distinct values there are.
    pub(crate) fn n_values(&self) -> usize {
        self.keys.len()
    }

    /// The rows of the r-th distinct value, ascending. Panics on a column that was coded and not sorted.
    pub(crate) fn rows_of(&self, rank: usize) -> &[u32] {
        let CellOrder::Sorted { rows, starts } = &self.order else { panic!("asked for rows of a column not sorted") };
        &rows[starts[rank] as usize..starts[rank + 1] as usize]
    }

    /// For each row the number of `cuts` below its value; one more than there are cuts where it has no value.
    pub(super) fn code(self, cuts: &[u32], n_rows: usize) -> BitPlanes {
        let (rows, starts) = match self.order {
            CellOrder::Coded(codes) => return codes,
            CellOrder::Sorted { rows, starts } => (rows, starts),
        };
        let mut codes = vec![if self.missing { cuts.len() as u32 + 1 } else { 0 }; n_rows];
        let mut code = 0;
        for (rank, bounds) in (0..).zip(starts.windows(2)) {
            for &row in &rows[bounds[0] as usize..bounds[1] as usize] {
                codes[row as usize] = code;
            }
            if cuts.get(code as usize) == Some(&rank) {
                code += 1;
            }
        }
        BitPlanes::pack(&codes)
    }

    /// The constant of the test that separates the values up to rank `cut` from those above it.
    pub(super) fn threshold(&self, notation: &Notation, cut: u32) -> Threshold {
        notation.between(self.keys[cut as usize], self.keys[cut as usize + 1])
    }

    /// The constant that separates the values of two ranks of which other values of the column may lie between: that of
    /// the last cut that is not above the middle of the two.
    pub(crate) fn threshold_between(&self, notation: &Notation, below: u32, above: u32) -> Threshold {
        let keys = &self.keys[below as usize..=above as usize];
        let middle = notation.middle(keys[0], keys[keys.len() - 1]);
        self.threshold(notation, below + keys.partition_point(|&key| key <= middle) as u32 - 1)
    }

    /// The value of a rank.
    pub(crate) fn value(&self, notation: &Notation, rank: u32) -> Threshold {
        notation.value(self.keys[rank as usize])
    }

    /// The rank of each row's value among the distinct values, one more than the greatest rank where it has none; and
    /// the keys of the distinct values.
    pub(super) fn ranks(self, n_rows: usize) -> (Vec<u32>, Vec<u64>) {
        let missing = self.keys.len() as u32;
        let ranks = match self.order {
            // The codes are those for all cuts, also if no case has a value.
            CellOrder::Coded(codes) => unpack(&codes.planes().collect::<Vec<_>>(), n_rows),
            CellOrder::Sorted { rows, starts } => {
                let mut ranks = vec![if self.missing { missing } else { 0 }; n_rows];
                for (rank, bounds) in (0..).zip(starts.windows(2)) {
                    rows[bounds[0] as usize..bounds[1] as usize].iter().for_each(|&row| ranks[row as usize] = rank);
                }
                ranks
            }
        };
        (ranks, self.keys)
    }

    /// All cuts.
    pub(super) fn all(&self) -> Vec<u32> {
        (0..self.n_cuts() as u32).collect()
    }

    /// At most `most` cuts, each the nearest to one of the quantiles i/(most + 1) of the mass; ties: the lower cut.
    /// Where a frequent value makes quantiles coincide, the heaviest parts are halved until there are as many.
    pub(super) fn quantiles(&self, most: usize, mass: impl Fn(usize) -> u64) -> Vec<u32> {
        if self.n_cuts() <= most {
            return self.all();
        }
        // below[r]: the mass of the values up to rank r.
        let mut below: Vec<u128> = Vec::with_capacity(self.keys.len());
        let mut sum = 0u128;
        for rank in 0..self.keys.len() {
            sum += self.rows_of(rank).iter().map(|&row| u128::from(mass(row as usize))).sum::<u128>();
            below.push(sum);
        }
        let parts = most as u128 + 1;
        let mut cuts: Vec<u32> = (1..parts).map(|i| nearest(&below, 0..self.keys.len(), i * sum, parts)).collect();
        cuts.dedup();
        // Parts of at least two values, the heaviest first; ties: the first.
        let part = |start: usize, end: usize| {
            let before = if start == 0 { 0 } else { below[start - 1] };
            (end - start > 1).then(|| (below[end - 1] - before, Reverse(start), end))
        };
        let ends = cuts.iter().map(|&cut| cut as usize + 1).chain([self.keys.len()]);
        let starts = [0].into_iter().chain(cuts.iter().map(|&cut| cut as usize + 1));
        let mut heap: BinaryHeap<_> = starts.zip(ends).filter_map(|(start, end)| part(start, end)).collect();
        while let Some((mass, Reverse(start), end)) = heap.pop().filter(|_| cuts.len() < most) {
            let cut = nearest(&below, start..end, 2 * below[end - 1] - mass, 2);
            cuts.push(cut);
            heap.extend([part(start, cut as usize + 1), part(cut as usize + 1, end)].into_iter().flatten());
        }
        cuts.sort_unstable();
        cuts
    }

    /// The cuts of Fayyad and Irani, *Multi-interval discretization of continuous-valued attributes*, IJCAI 1993: the
    /// cut of least class entropy, taken if its gain pays for its description, then both sides alike.
    pub(super) fn mdlp(
        &self,
        n_classes: usize,
        class: impl Fn(usize) -> u32,
        mass: impl Fn(usize) -> f64,
        ticker: &mut Ticker,
    ) -> Result<Vec<u32>, Stop> {
        let mut cuts = Vec::new();
        let mut todo = vec![(0, self.keys.len())];
        let add = |counts: &mut [f64], rank: usize| {
            for &row in self.rows_of(rank) {
                counts[class(row as usize) as usize] += mass(row as usize);
            }
        };
        while let Some((start, end)) = todo.pop() {
            let mut all = vec![0.0; n_classes];
            (start..end).for_each(|rank| add(&mut all, rank));
            ticker.tick(n_classes + 4 * (end - start))?;
            let mut left = vec![0.0; n_classes];
            let mut best: Option<(f64, usize, Vec<f64>)> = None;
            for cut in start..end.saturating_sub(1) {
                add(&mut left, cut);
                ticker.tick(20 + 10 * n_classes)?;
                let right: Vec<f64> = all.iter().zip(&left).map(|(a, l)| a - l).collect();
                let bits = entropy_bits(&left) + entropy_bits(&right);
                if best.as_ref().is_none_or(|(least, ..)| bits < *least) {
                    best = Some((bits, cut, left.clone()));
                }
            }
            let Some((bits, cut, left)) = best else { continue };
            let right: Vec<f64> = all.iter().zip(&left).map(|(a, l)| a - l).collect();
            let n: f64 = all.iter().sum();
            let part = |counts: &[f64]| {
                let present = counts.iter().filter(|&&c| c > 0.0).count() as f64;
                let mass: f64 = counts.iter().sum();
                (present, if mass > 0.0 { entropy_bits(counts) / mass } else { 0.0 })
            };
            let ((k, h), (k1, h1), (k2, h2)) = (part(&all), part(&left), part(&right));
            let delta = (3f64.powf(k) - 2.0).log2() - (k * h - k1 * h1 - k2 * h2);
            if entropy_bits(&all) - bits > (n - 1.0).log2() + delta {
                cuts.push(cut as u32);
                todo.extend([(start, cut + 1), (cut + 1, end)]);
            }
        }
        cuts.sort_unstable();
        Ok(cuts)
    }
}

/// The cut between values of these ranks with the mass below it nearest to `target / parts`; ties: the lower cut.
fn nearest(below: &[u128], ranks: Range<usize>, target: u128, parts: u128) -> u32 {
    let last = ranks.end - 2;
    let at = ranks.start + below[ranks.clone()].partition_point(|&b| b * parts < target);
    let at = at.min(last);
    let distance = |cut: usize| (below[cut] * parts).abs_diff(target);
    if at > ranks.start && distance(at - 1) <= distance(at) { at as u32 - 1 } else { at as u32 }
}

/// The class entropy of a set, times its mass, in bits.
fn entropy_bits(counts: &[f64]) -> f64 {
    let n: f64 = counts.iter().sum();
    counts.iter().filter(|&&c| c > 0.0).map(|&c| c * (n / c).log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::{Budget, Limits};
    use proptest::prelude::*;

    fn ordered(values: &[f64]) -> Ordered {
        in_order(&Column::Floats(values.to_vec()))
    }

    fn in_order(column: &Column) -> Ordered {
        of(column, &[!0, !0], true)
    }

    fn of(column: &Column, present: &[u64], sorted: bool) -> Ordered {
        let n = column.len();
        let mut present = present[..bits::words(n)].to_vec();
        (n..64 * present.len()).for_each(|row| present[row / 64] &= !(1 << (row % 64)));
        let budget = Budget::new(Limits::default());
        Ordered::new(column, &present, sorted, &mut Sorter::default(), &mut Ticker::new(&budget)).expect("no limit")
    }

    fn mdlp(order: &Ordered, n_classes: usize, class: impl Fn(usize) -> u32) -> Vec<u32> {
        let budget = Budget::new(Limits::default());
        order.mdlp(n_classes, class, |_| 1.0, &mut Ticker::new(&budget)).expect("no limit")
    }

    fn codes(order: Ordered, cuts: &[u32], n: usize) -> Vec<u32> {
        unpack(&order.code(cuts, n).planes().collect::<Vec<_>>(), n)
    }

    #[test]
    fn thresholds_separate_neighbours() {
        let above_one = 1.0 + f64::EPSILON;
        let values = vec![f64::NEG_INFINITY, -f64::MAX, -1.0, 0.0, 5e-324, 1.0, above_one, f64::MAX, f64::INFINITY];
        let order = ordered(&values);
        for cut in order.all() {
            let Threshold::Float(t) = order.threshold(&Notation::Double, cut) else { panic!("a float column") };
            let (below, above) = (values[cut as usize], values[cut as usize + 1]);
            assert!(below <= t && t < above, "{below} <= {t} < {above}");
        }
        let integers = vec![i64::MIN, -3, -2, 1 << 53, (1 << 53) + 1, i64::MAX];
        let column = Column::Integers { values: integers.clone(), missing: None };
        let order = in_order(&column);
        for cut in order.all() {
            let Threshold::Integer(t) = order.threshold(&Notation::Integer, cut) else { panic!("an integer column") };
            assert!(integers[cut as usize] <= t && t < integers[cut as usize + 1]);
        }
    }

    #[test]
    fn quantiles_halve_the_mass() {
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(ordered(&values).quantiles(3, |_| 1), [24, 49, 74]);
        assert_eq!(ordered(&values).quantiles(1, |row| if row < 10 { 100 } else { 1 }), [4]);
        assert_eq!(ordered(&[1.0, 1.0, 2.0]).quantiles(5, |_| 1), [0]);
        // Nine tenths are 0: the rest is cut all the same, in halves.
        let skewed: Vec<f64> = (0..100).map(|i| f64::from((i - 89).max(0))).collect();
        assert_eq!(ordered(&skewed).quantiles(3, |_| 1), [0, 2, 5]);
        assert_eq!(ordered(&skewed).quantiles(9, |_| 1).len(), 9);
    }

    #[test]
    fn mdlp_cuts_where_classes_change_and_nowhere_else() {
        let values: Vec<f64> = (0..90).map(f64::from).collect();
        assert_eq!(mdlp(&ordered(&values), 3, |row| row as u32 / 30), [29, 59]);
        assert_eq!(mdlp(&ordered(&values), 2, |row| row as u32 % 2), [] as [u32; 0]);
        assert_eq!(mdlp(&ordered(&[]), 2, |_| 0), [] as [u32; 0]);
    }

    proptest! {
        #[test]
        fn rows_of_each_value_in_order(
            values in proptest::collection::vec(
                prop_oneof![Just(f64::NAN), (-9i32..9).prop_map(f64::from), any::<f64>(), (0u64..9).prop_map(f64::from_bits)],
                0..700,
            ),
            absent in proptest::collection::vec(any::<bool>(), 700),
        ) {
            // As a dataset has them.
            let values: Vec<f64> = values.into_iter().map(|x| x + 0.0).collect();
            let mut present = vec![0; bits::words(values.len())];
            (0..values.len()).filter(|&row| !absent[row]).for_each(|row| bits::set(&mut present, row));
            let order = of(&Column::Floats(values.clone()), &present, true);
            let here: Vec<usize> = (0..values.len()).filter(|&row| !absent[row]).collect();
            let mut sorted: Vec<usize> = here.iter().copied().filter(|&row| !values[row].is_nan()).collect();
            sorted.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
            prop_assert_eq!(order.missing, sorted.len() < here.len());
            let expected: Vec<Vec<u32>> = sorted
                .chunk_by(|&a, &b| values[a] == values[b])
                .map(|rows| rows.iter().map(|&row| row as u32).collect())
                .collect();
            let found: Vec<Vec<u32>> = (0..order.n_values()).map(|rank| order.rows_of(rank).to_vec()).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn codes_count_the_cuts_below(values in proptest::collection::vec(prop_oneof![Just(f64::NAN), (-5i32..5).prop_map(f64::from)], 0..30)) {
            let order = ordered(&values);
            let cuts: Vec<u32> = order.all().into_iter().step_by(2).collect();
            let thresholds: Vec<Threshold> = cuts.iter().map(|&cut| order.threshold(&Notation::Double, cut)).collect();
            let without = cuts.len() as u32 + 1;
            for (value, code) in values.iter().zip(codes(order, &cuts, values.len())) {
                let below = thresholds.iter().filter(|threshold| matches!(threshold, Threshold::Float(t) if t < value));
                prop_assert_eq!(code, if value.is_nan() { without } else { below.count() as u32 });
            }
        }

        #[test]
        fn two_values_need_no_sorting(
            cells in proptest::collection::vec(0u32..3, 0..150),
            values in [-3i64..3, -3i64..3],
            kind in 0..3,
            present: [u64; 3],
            all: bool,
        ) {
            let cell = |c: u32| values.get(c as usize).copied(); // 2 is missing
            let column = match kind {
                0 => Column::Integers { values: cells.iter().map(|&c| values[c as usize % 2]).collect(), missing: None },
                1 => Column::Floats(cells.iter().map(|&c| cell(c).map_or(f64::NAN, |x| x as f64)).collect()),
                _ => Column::Levels {
                    codes: cells.iter().map(|&c| cell(c).map_or(MISSING, |x| (x + 3) as u32)).collect(),
                    unseen: vec![],
                },
            };
            let present = if all { [!0; 3] } else { present };
            let [fast, sorted] = [false, true].map(|sort| of(&column, &present, sort));
            prop_assert!(matches!(fast.order, CellOrder::Coded(_)));
            prop_assert_eq!(&fast.keys, &sorted.keys);
            prop_assert_eq!(fast.missing, sorted.missing);
            let cuts = sorted.all();
            let [fast, sorted] = [fast, sorted].map(|order| codes(order, &cuts, cells.len()));
            for row in (0..cells.len()).filter(|&row| bits::get(&present, row)) {
                prop_assert_eq!(fast[row], sorted[row]);
            }
        }
    }
}
