//! Codes of narrow columns, case by case, for the masses of all their codes to be added up in one pass over a case set.

use super::cases::CaseSet;
use super::table::{Coded, NONE};
use crate::data::ByteMatrix;
use crate::simd::{Instructions, Kernel};

/// Columns of more codes are not narrow.
const MOST_CODES: u32 = u8::MAX as u32;
/// As many sums stay in the nearest cache.
const PLACES: usize = 2048;
/// Places are looked at so many at a time.
const GROUP: usize = 8;

/// The narrow columns of a table.
pub(crate) struct Grid {
    /// Per column; none if it is wide.
    spans: Vec<Option<Span>>,
    /// Per case and narrow column: the code; one more than the greatest without a value.
    lines: ByteMatrix,
}

/// The places of a column: one for each code, and one for no value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    /// Which of the narrow columns it is.
    index: usize,
    start: usize,
    n_codes: usize,
}

impl Span {
    fn groups(&self) -> std::ops::Range<usize> {
        self.start / GROUP..(self.start + self.n_codes) / GROUP + 1
    }
}

impl Grid {
    /// No column is narrow: where there is no memory for them.
    pub fn none(columns: &[Coded]) -> Self {
        Grid { spans: vec![None; columns.len()], lines: ByteMatrix::new(0, 0) }
    }

    /// How many bytes it takes.
    pub fn bytes(columns: &[Coded], n_cases: usize) -> u64 {
        let n_narrow = Self::spans(columns).iter().flatten().count();
        (n_cases * n_narrow.next_multiple_of(8)) as u64
    }

    fn spans(columns: &[Coded]) -> Vec<Option<Span>> {
        let (mut start, mut n_narrow) = (0, 0);
        columns
            .iter()
            .map(|coded| {
                let n_codes = coded.n_codes as usize;
                let end = start + (n_codes + 1).next_multiple_of(GROUP);
                let span = Span { index: n_narrow, start, n_codes };
                (coded.n_codes <= MOST_CODES && end <= PLACES).then(|| {
                    (start, n_narrow) = (end, n_narrow + 1);
                    span
                })
            })
            .collect()
    }

    /// Complexity: O(cases x narrow columns).
    pub fn new(columns: &[Coded], n_cases: usize) -> Self {
        let spans = Self::spans(columns);
        let n_narrow = spans.iter().flatten().count();
        let mut lines = ByteMatrix::new(n_cases, n_narrow);
        for (coded, span) in columns.iter().zip(&spans) {
            if let Some(Span { index, .. }) = *span {
                lines.fill(index, coded.codes().iter().map(|&code| code.min(coded.n_codes) as u8));
            }
        }
        Grid { spans, lines }
    }

    /// The codes of some cases in a column.
    pub(super) fn codes_of(&self, span: Span, cases: &[u32]) -> impl Iterator<Item = u32> {
        let none = span.n_codes as u32;
        cases.iter().map(move |&case| match u32::from(self.lines.line(case)[span.index]) {
            code if code == none => NONE,
            code => code,
        })
    }

    /// The places of a column; `None` if it is wide.
    pub(super) fn span(&self, column: usize) -> Option<Span> {
        self.spans[column]
    }
}

/// Masses per place.
#[derive(Debug)]
pub(super) struct Tally {
    /// Nothing where no column was added up, or was taken.
    sums: Box<[u64; PLACES]>,
    added: Vec<Span>,
    /// How many of these were taken, or left out.
    taken: usize,
}

impl Default for Tally {
    fn default() -> Self {
        Tally { sums: Box::new([0; PLACES]), added: Vec::new(), taken: 0 }
    }
}

impl Tally {
    /// Adds up the masses of the cases of a set by their codes in columns, in place of those of other columns before.
    pub fn add_up(&mut self, grid: &Grid, set: &CaseSet, masses: &[u64], columns: impl Iterator<Item = Span>) {
        self.leave_out(self.added.len());
        let Tally { sums, added, taken } = self;
        added.clear();
        added.extend(columns);
        *taken = 0;
        for spans in added.chunks(ADD_UP.len()) {
            ADD_UP[spans.len() - 1](sums, grid, set, masses, spans);
        }
    }

    /// The codes of a column that was added up and their masses, to be taken by [`Take`]. Columns are taken in the order in
    /// which they were added, some of them left out.
    pub fn of(&mut self, span: Span) -> &mut [[u64; GROUP]] {
        let left_out = self.added[self.taken..].iter().take_while(|added| added.start != span.start).count();
        self.leave_out(left_out);
        self.taken += 1;
        self.sums[span.start + span.n_codes] = 0;
        &mut self.sums.as_chunks_mut().0[span.groups()]
    }

    /// Goes on behind as many columns, or all.
    fn leave_out(&mut self, n: usize) {
        let end = self.added.len().min(self.taken + n);
        for span in &self.added[self.taken..end] {
            self.sums.as_chunks_mut::<GROUP>().0[span.groups()].as_flattened_mut().fill(0);
        }
        self.taken = end;
    }
}

type AddUp = fn(&mut [u64; PLACES], &Grid, &CaseSet, &[u64], &[Span]);

/// [`add_up`] for each number of columns up to as many as are worth a pass of their own: with fewer of them the next case
/// waits for the sums of the one before.
const ADD_UP: [AddUp; 8] =
    [add_up::<1>, add_up::<2>, add_up::<3>, add_up::<4>, add_up::<5>, add_up::<6>, add_up::<7>, add_up::<8>];

/// Adds up the masses of cases by their codes in `N` columns.
fn add_up<const N: usize>(sums: &mut [u64; PLACES], grid: &Grid, set: &CaseSet, masses: &[u64], spans: &[Span]) {
    let spans: [Span; N] = *spans.first_chunk().expect("as many as that");
    for (&case, &mass) in set.cases().iter().zip(masses) {
        let line = grid.lines.line(case);
        for span in spans {
            // No place is too great: so there is nothing to check.
            sums[(span.start + usize::from(line[span.index])) % PLACES] += mass;
        }
    }
}

/// Takes the codes that came, ascending, and their masses from sums, which are nothing after it; if the codes are ordered,
/// the masses up to each. Returns how many came, and the mass of all.
pub(super) struct Take<'a> {
    pub sums: &'a mut [[u64; GROUP]],
    pub is_ordered: bool,
    /// With room for all.
    pub codes: &'a mut [u32],
    pub masses: [&'a mut [u32]; 2],
}

impl Kernel for Take<'_> {
    type Output = (usize, u64);

    #[inline(always)]
    fn run<P: Instructions>(self) -> (usize, u64) {
        let Take { sums, is_ordered, codes, masses: [first, second] } = self;
        let (mut end, mut sum) = (0, 0);
        for (group, sums) in (0u32..).zip(sums) {
            let mut left = (0..GROUP).fold(0u32, |left, i| left | u32::from(sums[i] != 0) << i);
            while left != 0 {
                let i = left.trailing_zeros();
                left &= left - 1;
                let masses = sums[i as usize % GROUP];
                sum += masses;
                let masses = if is_ordered { sum } else { masses };
                codes[end] = group * GROUP as u32 + i;
                (first[end], second[end]) = (masses as u32, (masses >> 32) as u32);
                end += 1;
            }
            *sums = [0; GROUP];
        }
        (end, sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::mix;
    use crate::simd::Isa;

    #[test]
    fn all_sets_of_instructions_take_what_came() {
        for seed in 0..40 {
            let n_groups = 1 + seed as usize % 5;
            let mass = |place: u64| match mix(100 * seed + place) {
                x if x % 3 == 0 => 0,
                x => (x >> 8 & 0xffff) << (32 * (x >> 40 & 1)),
            };
            let sums: Vec<u64> = (0..(GROUP * n_groups) as u64).map(mass).collect();
            for isa in Isa::all() {
                for is_ordered in [false, true] {
                    let mut left = sums.clone();
                    let (mut codes, mut first, mut second) = (vec![7; 99], vec![7; 99], vec![7; 99]);
                    let (n, sum) = isa.run(Take {
                        sums: left.as_chunks_mut().0,
                        is_ordered,
                        codes: &mut codes,
                        masses: [&mut first, &mut second],
                    });
                    assert!(left.iter().all(|&mass| mass == 0));
                    let came: Vec<usize> = (0..sums.len()).filter(|&code| sums[code] > 0).collect();
                    let up_to = |code: usize| sums[..=code].iter().sum::<u64>();
                    assert_eq!((n, sum), (came.len(), sums.iter().sum()));
                    for (place, code) in came.into_iter().enumerate() {
                        let mass = if is_ordered { up_to(code) } else { sums[code] };
                        assert_eq!(codes[place] as usize, code);
                        assert_eq!([first[place], second[place]], [mass as u32, (mass >> 32) as u32]);
                    }
                }
            }
        }
    }
}
