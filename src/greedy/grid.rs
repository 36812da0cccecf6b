//! Codes of narrow columns, case by case, for the masses of all their codes to be added up in one pass over a case set.

use smallvec::SmallVec;

use super::cases::CaseSet;
use super::table::Coded;
use crate::simd::{Instructions, Kernel};

/// Columns of more codes are not narrow.
const MOST_CODES: u32 = 256;
/// As many sums stay in the nearest cache.
const PLACES: usize = 2048;
/// Places are looked at so many at a time.
const GROUP: usize = 8;

/// The narrow columns of a table.
pub(crate) struct Grid {
    /// Per column; none if it is wide.
    spans: Vec<Option<Span>>,
    n_narrow: usize,
    /// Per case and narrow column: the place of its code.
    places: Vec<u16>,
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
    /// Complexity: O(cases x narrow columns).
    pub fn new(columns: &[Coded], n_cases: usize) -> Self {
        let (mut start, mut n_narrow) = (0, 0);
        let spans: Vec<Option<Span>> = columns
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
            .collect();
        let mut places = vec![0; n_narrow * n_cases];
        for (coded, span) in columns.iter().zip(&spans) {
            let Some(Span { index, start, .. }) = *span else { continue };
            let lines = places.chunks_exact_mut(n_narrow);
            lines
                .zip(coded.codes())
                .for_each(|(line, &code)| line[index] = (start + code.min(coded.n_codes) as usize) as u16);
        }
        Grid { spans, n_narrow, places }
    }

    /// The places of a column; `None` if it is wide.
    pub(super) fn span(&self, column: usize) -> Option<Span> {
        self.spans[column]
    }
}

/// Masses per place.
#[derive(Debug)]
pub(super) struct Tally {
    /// Nothing where no column was added up.
    sums: Box<[u64; PLACES]>,
    added: SmallVec<[Span; 32]>,
}

impl Default for Tally {
    fn default() -> Self {
        Tally { sums: Box::new([0; PLACES]), added: SmallVec::new() }
    }
}

impl Tally {
    /// Adds up the masses of the cases of a set by their codes in columns, in place of those of other columns before.
    pub fn add_up(&mut self, grid: &Grid, set: &CaseSet, masses: &[u64], columns: impl Iterator<Item = Span>) {
        let Tally { sums, added } = self;
        added.drain(..).for_each(|span| sums.as_chunks_mut::<GROUP>().0[span.groups()].as_flattened_mut().fill(0));
        added.extend(columns);
        let lines = set.cases().iter().map(|&case| &grid.places[case as usize * grid.n_narrow..][..grid.n_narrow]);
        // No place is too great: so there is nothing to check.
        let mut add = |place: u16, mass: u64| sums[place as usize % PLACES] += mass;
        match added.len() {
            0 => {}
            n if n == grid.n_narrow => {
                lines.zip(masses).for_each(|(line, &mass)| line.iter().for_each(|&place| add(place, mass)));
            }
            _ => lines.zip(masses).for_each(|(line, &mass)| added.iter().for_each(|span| add(line[span.index], mass))),
        }
    }

    /// The codes of a column that was added up and their masses, for [`Take`].
    pub fn of(&mut self, span: Span) -> &mut [[u64; GROUP]] {
        self.sums[span.start + span.n_codes] = 0;
        &mut self.sums.as_chunks_mut().0[span.groups()]
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
