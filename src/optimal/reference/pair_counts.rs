//! Phase one of MurTree's Algorithm 4: how much mass of each class passes each pair of tests.

use std::ops::Range;

use super::super::problem::{Cases, Mass, Problem};
use crate::budget::{Stop, Ticker};

/// Masses of tests and of pairs of tests, on the true sides, for the pairs (g, h) with g in a block and h > g.
///
/// All other sides follow from these (equations 2 to 5 of the paper).
pub(in crate::optimal) struct PairCounts<M> {
    /// Per channel.
    pub(in crate::optimal) totals: Vec<M>,
    /// Test-major: channels of each test.
    pub(in crate::optimal) singles: Vec<M>,
    /// The tests g that `pairs` covers.
    pub(in crate::optimal) block: Range<usize>,
    /// Row-major upper triangle: channels of each pair.
    pairs: Vec<M>,
    /// Those of the row being counted.
    entries: Vec<u32>,
    n_tests: usize,
    channels: usize,
}

impl<M: Mass> PairCounts<M> {
    /// Nothing counted, nothing allocated.
    pub(in crate::optimal) fn new() -> Self {
        PairCounts {
            totals: Vec::new(),
            singles: Vec::new(),
            block: 0..0,
            pairs: Vec::new(),
            entries: Vec::new(),
            n_tests: 0,
            channels: 0,
        }
    }

    /// How many pairs (g, h) with h > g have g in the block.
    fn pairs_in(block: &Range<usize>, n_tests: usize) -> usize {
        let above = |g: usize| g * (2 * n_tests - g - 1) / 2;
        if block.is_empty() { 0 } else { above(block.end) - above(block.start) }
    }

    /// Bytes of the pairs of a block.
    pub(in crate::optimal) fn bytes(problem: &Problem<M>, block: &Range<usize>) -> usize {
        Self::pairs_in(block, problem.n_tests) * problem.channels * size_of::<M>()
    }

    /// Where the channels of a pair (g, h), g < h, g in the block, begin in `pairs`.
    #[inline]
    fn position(&self, g: usize, h: usize) -> usize {
        (Self::pairs_in(&(self.block.start..g), self.n_tests) + h - g - 1) * self.channels
    }

    /// The channels of the pairs (g, g+1), (g, g+2), ... one after the other.
    #[inline]
    pub(in crate::optimal) fn row(&self, g: usize) -> &[M] {
        let start = self.position(g, g + 1);
        &self.pairs[start..start + (self.n_tests - g - 1) * self.channels]
    }

    /// The channels of a pair, in either order; the block must cover all tests.
    #[inline]
    pub(in crate::optimal) fn pair(&self, g: usize, h: usize) -> &[M] {
        let start = self.position(g.min(h), g.max(h));
        &self.pairs[start..start + self.channels]
    }

    /// The channels of one test.
    #[inline]
    pub(in crate::optimal) fn single(&self, test: usize) -> &[M] {
        &self.singles[test * self.channels..(test + 1) * self.channels]
    }

    /// Bytes that counting takes besides the pairs: single tests and totals.
    pub(in crate::optimal) fn bytes_besides(problem: &Problem<M>) -> usize {
        (problem.n_tests + 2) * problem.channels * size_of::<M>() + 4 * problem.n_tests
    }

    fn reset(&mut self, problem: &Problem<M>, block: Range<usize>, ticker: &mut Ticker) -> Result<(), Stop> {
        self.n_tests = problem.n_tests;
        self.channels = problem.channels;
        let (pairs, singles) = (Self::pairs_in(&block, self.n_tests) * self.channels, self.n_tests * self.channels);
        self.block = block;
        for (counts, n) in [(&mut self.pairs, pairs), (&mut self.singles, singles), (&mut self.totals, self.channels)] {
            counts.clear();
            counts.reserve_exact(n);
            // Memory that is new takes its time.
            while counts.len() < n {
                let length = n.min(counts.len() + (1 << 18));
                ticker.tick((length - counts.len()) / 4)?;
                counts.resize(length, M::default());
            }
        }
        Ok(())
    }

    /// Counts the pairs of a block. O(cases x entries^2 / 2 + pairs).
    ///
    /// A row is entered at the first cut of each chain that it passes; sums along the chains then give the counts of all
    /// cuts. So a column of a thousand cuts costs a row no more than one of ten.
    pub(in crate::optimal) fn count(
        &mut self,
        problem: &Problem<M>,
        cases: &Cases,
        block: Range<usize>,
        ticker: &mut Ticker,
    ) -> Result<(), Stop> {
        self.reset(problem, block, ticker)?;
        // Cuts of a chain that lie before the block are entered at its first test, where the sums begin.
        let start = self.block.start;
        let cut_through = problem.segments().iter().find(|s| s.is_chain && s.tests.contains(&start)).map(|s| &s.tests);
        let position_in_block = |entry: u32| match cut_through {
            Some(chain) if chain.contains(&(entry as usize)) => (entry as usize).max(start),
            _ => entry as usize,
        };
        let channels = self.channels;
        let mut entries = std::mem::take(&mut self.entries);
        for &row in &cases.rows {
            problem.read_entries(row, &mut entries);
            let first = entries.partition_point(|&g| position_in_block(g) < start);
            let end = entries.partition_point(|&g| position_in_block(g) < self.block.end).max(first);
            for &(channel, mass) in problem.masses(row) {
                let channel = channel as usize;
                self.totals[channel] += mass;
                for &g in &entries {
                    self.singles[g as usize * channels + channel] += mass;
                }
                for i in first..end {
                    let g = position_in_block(entries[i]);
                    let from = self.position(g, g + 1);
                    let pairs = &mut self.pairs[from..from + (self.n_tests - g - 1) * channels];
                    for &h in &entries[i + 1..] {
                        pairs[(h as usize - g - 1) * channels + channel] += mass;
                    }
                }
                ticker.tick(4 + entries.len() * (1 + end - first) / 2)?;
            }
        }
        self.entries = entries;
        for chain in problem.segments().iter().filter(|segment| segment.is_chain).map(|segment| segment.tests.clone()) {
            self.sum_along(&chain, ticker)?;
        }
        Ok(())
    }

    /// Turns the counts of first cuts of a chain into those of all its cuts.
    fn sum_along(&mut self, chain: &Range<usize>, ticker: &mut Ticker) -> Result<(), Stop> {
        let channels = self.channels;
        for i in (chain.start + 1) * channels..chain.end * channels {
            let before = self.singles[i - channels];
            self.singles[i] += before;
        }
        ticker.tick(chain.len() * channels)?;
        // As the second test of a pair: along each row of tests before the chain.
        for g in self.block.start..self.block.end.min(chain.start) {
            let from = self.position(g, chain.start);
            let sums = &mut self.pairs[from..from + chain.len() * channels];
            for i in channels..sums.len() {
                let before = sums[i - channels];
                sums[i] += before;
            }
            ticker.tick(sums.len())?;
        }
        // As the first: row on row. Two cuts of one chain are both passed by who passes the first.
        for g in self.block.start.max(chain.start)..self.block.end.min(chain.end) {
            let from = self.position(g, g + 1);
            let (above, below) = self.pairs.split_at_mut(from);
            let row = &mut below[..(self.n_tests - g - 1) * channels];
            let single = &self.singles[g * channels..(g + 1) * channels];
            let (inside, outside) = row.split_at_mut((chain.end - g - 1) * channels);
            inside.chunks_exact_mut(channels).for_each(|pair| pair.copy_from_slice(single));
            if g > self.block.start.max(chain.start) {
                let above = &above[above.len() - outside.len()..];
                outside.iter_mut().zip(above).for_each(|(sum, &before)| *sum += before);
            }
            ticker.tick(row.len())?;
        }
        Ok(())
    }

    /// Forgets what was counted, but not the memory it took.
    pub(in crate::optimal) fn forget(&mut self) {
        self.totals.clear();
    }

    /// Counts all pairs, unless that was done since [`PairCounts::forget`].
    pub(in crate::optimal) fn count_all_once(
        &mut self,
        problem: &Problem<M>,
        cases: &Cases,
        ticker: &mut Ticker,
    ) -> Result<(), Stop> {
        if self.totals.is_empty() { self.count(problem, cases, 0..problem.n_tests, ticker) } else { Ok(()) }
    }

    /// What is left of a set's counts without those of a part of it (section 4.3.3: incremental counts). Both cover all
    /// tests.
    pub(in crate::optimal) fn subtract(&mut self, whole: &Self, part: &Self, ticker: &mut Ticker) -> Result<(), Stop> {
        self.n_tests = whole.n_tests;
        self.channels = whole.channels;
        self.block = whole.block.clone();
        let difference = |to: &mut Vec<M>, a: &[M], b: &[M]| {
            to.clear();
            to.reserve_exact(a.len());
            to.extend(a.iter().zip(b).map(|(&a, &b)| a - b));
        };
        difference(&mut self.totals, &whole.totals, &part.totals);
        difference(&mut self.singles, &whole.singles, &part.singles);
        difference(&mut self.pairs, &whole.pairs, &part.pairs);
        ticker.tick(self.pairs.len())
    }
}
