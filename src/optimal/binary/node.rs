//! The cases at a node of the search, made compact: only the tests that tell them apart, each once.
//!
//! A test that all cases pass, or none, is no split here, and of tests that split alike one is enough. Both are found
//! from the columns: equal digests first, then the bits. A node is built from its parent's rows and lives in buffers
//! that are used again.

use super::accumulator::Accumulator;
use super::bit_table::{BitColumns, BitRows, Layout, RowsByPosition};
use super::counts::{NONE, NodeBits, NodeCounts};
use super::instances::Instances;
use super::pair_counts::Counted;
use super::pair_shape::PairShape;
use super::rough::RoughCounts;
use crate::budget::{Stop, Ticker};
use crate::simd::{Instructions, Isa, Kernel, WORD};

/// The cases at a node.
#[derive(Debug, Default)]
pub(super) struct Node<L> {
    /// Instances, ascending.
    pub(super) ids: Vec<u32>,
    /// Where each group starts among `ids`, and where the last ends.
    pub(super) starts: Vec<usize>,
    pub(super) layout: Layout,
    pub(super) rows: Vec<u32>,
    /// The same in the order of positions, if instances are weighed.
    pub(super) rows_by_position: Vec<u32>,
    pub(super) columns: BitColumns,
    /// Positions with a test, ascending.
    pub(super) live: Vec<u32>,
    /// For each position: that of its test in the parent.
    pub(super) origin: Vec<u32>,
    /// For each position: its test.
    pub(super) test: Vec<u32>,
    /// For each position of the parent: twice the position that splits these cases alike, and 1 if its sides are
    /// swapped; [`NONE`] if no case, or all, are on its true side.
    pub(super) place_of: Vec<u32>,
    pub(super) counts: NodeCounts<L>,
    /// The same of rough masses.
    pub(super) rough: RoughCounts,
    /// Whether rough masses are counted first. Then pairs are counted exactly only when they are needed.
    pub(super) is_rough: bool,
    /// Mass of all classes.
    pub(super) mass: u64,
    /// Whether there is room for all pairs.
    pub(super) keeps: bool,
    /// For each position: the mass that passes.
    pub(super) passing: Vec<L>,
    scratch: GatherBuffers,
}

#[derive(Debug, Default)]
struct GatherBuffers {
    wide: BitColumns,
    digests: Vec<u32>,
    seen: [Vec<u32>; 2],
    table: Vec<u32>,
}

/// Where a node comes from.
pub(super) struct Parent<'a> {
    pub(super) rows: &'a [u32],
    pub(super) layout: Layout,
    pub(super) live: &'a [u32],
    pub(super) test: &'a [u32],
    /// Which of its rows the node has, ascending.
    pub(super) picked: &'a [u32],
}

impl<L: Accumulator> Node<L> {
    /// The shape of its pair counts.
    pub(super) fn shape<'a>(&self, instances: &'a Instances, min_leaf: u64) -> PairShape<'a> {
        instances.shape(self.layout.stride(), min_leaf)
    }

    /// The cost of a leaf.
    pub(super) fn leaf(&self, n_classes: usize) -> u64 {
        leaf(&self.counts.totals[..n_classes])
    }

    /// Makes the rest from `ids`, `starts`, `keeps` and `is_rough`; pairs are counted when they are first needed, but rough
    /// ones. Complexity: O(cases x tests / 16), and O(words x tests^2 / 32) for rough pairs.
    pub(super) fn build(
        &mut self,
        isa: Isa,
        instances: &Instances,
        parent: &Parent,
        ticker: &mut Ticker,
    ) -> Result<(), Stop> {
        let NodeCounts { masses, totals, .. } = &mut self.counts;
        *totals = instances.totals(&self.ids, &self.starts);
        masses.clear();
        if !instances.masses.is_empty() {
            masses.extend(self.ids.iter().map(|&id| L::of(instances.masses[id as usize])));
        }
        self.mass = totals[..instances.n_classes].iter().map(|mass| mass.get()).sum();
        ticker.tick(self.ids.len() * (parent.layout.lanes + 2) + parent.layout.stride())?;
        let mut wide = std::mem::take(&mut self.scratch.wide);
        wide.gather(isa, parent.rows, parent.layout, parent.picked, &self.starts);
        ticker.tick(wide.n_words() * wide.stride / 4)?;
        self.find_tests(isa, &wide, parent);
        self.compact(isa, &wide, parent.test);
        self.scratch.wide = wide;
        ticker.tick(self.columns.n_words() * self.columns.stride)?;
        self.count(isa, instances, ticker)
    }

    /// Which tests of the parent tell these cases apart, each once.
    fn find_tests(&mut self, isa: Isa, wide: &BitColumns, parent: &Parent) {
        let GatherBuffers { digests, seen, table, .. } = &mut self.scratch;
        isa.run(Digest { columns: wide, starts: &self.starts, digests, seen });
        self.live.clear(); // for now: positions in the parent
        self.place_of.clear();
        self.place_of.resize(wide.stride, NONE);
        let slots = (2 * parent.live.len()).next_power_of_two();
        table.clear();
        table.resize(slots, NONE);
        for &position in parent.live {
            let at = position as usize;
            if seen[0][at] == 0 || seen[1][at] == 0 {
                continue;
            }
            let mut slot = digests[at] as usize & (slots - 1);
            loop {
                let known = table[slot];
                if known == NONE {
                    table[slot] = position;
                    self.live.push(position);
                    self.place_of[at] = 2 * position;
                    break;
                }
                let same = digests[known as usize] == digests[at];
                if let Some(swapped) = same.then(|| split_alike(wide, &self.starts, known as usize, at)).flatten() {
                    self.place_of[at] = 2 * known + u32::from(swapped);
                    break;
                }
                slot = (slot + 1) & (slots - 1);
            }
        }
    }

    /// Keeps the columns of the tests found, and their rows.
    fn compact(&mut self, isa: Isa, wide: &BitColumns, test: &[u32]) {
        let n_tests = self.live.len();
        self.layout = Layout::new(n_tests);
        let stride = self.layout.stride();
        self.origin.clear();
        self.origin.resize(stride, NONE);
        self.test.clear();
        self.test.resize(stride, NONE);
        let mut place_of_origin = std::mem::take(&mut self.scratch.table);
        place_of_origin.clear();
        place_of_origin.resize(wide.stride, NONE);
        for (index, &origin) in self.live.iter().enumerate() {
            let position = self.layout.position(index);
            self.origin[position] = origin;
            self.test[position] = test[origin as usize];
            place_of_origin[origin as usize] = position as u32;
        }
        for place in &mut self.place_of {
            if *place != NONE {
                *place = 2 * place_of_origin[*place as usize / 2] + (*place & 1);
            }
        }
        self.scratch.table = place_of_origin;
        self.live.clear();
        self.live.extend((0..stride as u32).filter(|&position| self.origin[position as usize] != NONE));
        let columns = &mut self.columns;
        columns.stride = stride;
        columns.starts.clone_from(&wide.starts);
        let n_words = wide.n_words();
        columns.words.grow(n_words * stride);
        for (to, from) in columns.words.chunks_exact_mut(stride).zip(wide.words.chunks_exact(wide.stride)).take(n_words)
        {
            for (to, &origin) in to.iter_mut().zip(&self.origin) {
                *to = if origin == NONE { 0 } else { from[origin as usize] };
            }
        }
        let needed = self.ids.len() * self.layout.lanes;
        if self.rows.len() < needed {
            self.rows.resize(needed, 0);
        }
        isa.run(BitRows { columns, layout: self.layout, starts: &self.starts, rows: &mut self.rows });
        if self.counts.is_weighed() {
            let rows = &mut self.rows_by_position;
            rows.resize(self.ids.len() * stride.div_ceil(WORD), 0);
            isa.run(RowsByPosition { columns, starts: &self.starts, rows });
        }
    }

    fn count(&mut self, isa: Isa, instances: &Instances, ticker: &mut Ticker) -> Result<(), Stop> {
        let shape = self.shape(instances, 1); // differences are not used where leaves have a least size
        let mut counts = std::mem::take(&mut self.counts);
        counts.count(isa, (shape, self.bits()));
        self.counts = counts;
        if self.is_rough {
            self.count_roughly(isa, instances, ticker)?;
        }
        self.passing.clear();
        self.passing.extend((0..shape.stride).map(|position| self.counts.singles.mass(shape, true, position)));
        Ok(())
    }

    /// Counts rough masses.
    pub(super) fn count_roughly(&mut self, isa: Isa, instances: &Instances, ticker: &mut Ticker) -> Result<(), Stop> {
        let mut rough = std::mem::take(&mut self.rough);
        let of_node = (self.shape(instances, 1), self.bits());
        let most = match of_node.0.by_difference() {
            true => self.counts.totals.iter().map(|total| total.get()).max().unwrap_or(0),
            false => self.mass,
        };
        let result = rough.count(isa, instances, &self.ids, most, of_node, ticker);
        self.rough = rough;
        result
    }

    /// Its cases as bits.
    pub(super) fn bits(&self) -> NodeBits<'_> {
        let Node { rows_by_position, columns, starts, live, origin, .. } = self;
        NodeBits { rows: rows_by_position, columns, starts, live, origin }
    }

    /// What to count of the node: all instances, or a set of them.
    pub(super) fn counted<'a>(&'a self, set: Option<&'a [u32]>) -> Counted<'a, L> {
        self.counts.counted(self.bits(), set)
    }

    /// The side of a test with more of the mass.
    pub(super) fn larger_side(&self, position: usize) -> usize {
        usize::from(2 * self.passing[position].get() > self.mass)
    }

    /// Writes to `set` the instances on one side of a test.
    pub(super) fn select(&self, position: usize, side: bool, set: &mut Vec<u32>) {
        set.clear();
        let flip = if side { 0 } else { u32::MAX };
        for (group, bounds) in self.starts.windows(2).enumerate() {
            for word in self.columns.starts[group]..self.columns.starts[group + 1] {
                let in_use = self.columns.in_use(word, group, bounds[1] - bounds[0]);
                set.push((self.columns.words[word * self.columns.stride + position] ^ flip) & in_use);
            }
        }
    }

    /// Writes to `rows` those picked, in the order of positions.
    pub(super) fn pick_rows(&self, picked: &[u32], rows: &mut Vec<u32>) {
        let n_words = self.layout.stride().div_ceil(WORD);
        rows.clear();
        // Rows of few words are copied by a few instructions each, if their number is known.
        match n_words {
            1 => pick_chunks::<1>(&self.rows_by_position, picked, rows),
            2 => pick_chunks::<2>(&self.rows_by_position, picked, rows),
            3 => pick_chunks::<3>(&self.rows_by_position, picked, rows),
            4 => pick_chunks::<4>(&self.rows_by_position, picked, rows),
            _ => picked.iter().for_each(|&row| {
                rows.extend_from_slice(&self.rows_by_position[row as usize * n_words..][..n_words]);
            }),
        }
    }

    /// Writes to `picked` the rows on one side of a test, and to `starts` where its groups start.
    pub(super) fn pick(&self, isa: Isa, of: (usize, bool), picked: &mut Vec<u32>, starts: &mut Vec<usize>) {
        isa.run(Pick { node: self, of, picked, starts });
    }
}

struct Pick<'a, L> {
    node: &'a Node<L>,
    of: (usize, bool),
    picked: &'a mut Vec<u32>,
    starts: &'a mut Vec<usize>,
}

impl<L: Accumulator> Kernel for Pick<'_, L> {
    type Output = ();

    #[inline(always)]
    fn run<P: Instructions>(self) {
        let Pick { node, of: (position, side), picked, starts } = self;
        let columns = &node.columns;
        let flip = if side { 0 } else { u32::MAX };
        starts.clear();
        starts.push(0);
        // Room for the bits of a whole word behind the last.
        picked.resize(node.ids.len() + 32, 0);
        let mut end = 0;
        for (group, bounds) in node.starts.windows(2).enumerate() {
            for word in columns.starts[group]..columns.starts[group + 1] {
                let in_use = columns.in_use(word, group, bounds[1] - bounds[0]);
                let bits = (columns.words[word * columns.stride + position] ^ flip) & in_use;
                let first = (bounds[0] + (word - columns.starts[group]) * 32) as u32;
                let room = picked[end..].first_chunk_mut().expect("no more bits than instances");
                end += P::positions(bits, first, room);
            }
            starts.push(end);
        }
        picked.truncate(end);
    }
}

/// Appends rows of this many words.
fn pick_chunks<const WORDS: usize>(from: &[u32], picked: &[u32], rows: &mut Vec<u32>) {
    let from = from.as_chunks::<WORDS>().0;
    rows.resize(picked.len() * WORDS, 0);
    for (to, &row) in rows.as_chunks_mut::<WORDS>().0.iter_mut().zip(picked) {
        *to = from[row as usize];
    }
}

/// The cost of the best leaf on cases of these masses.
pub(super) fn leaf<L: Accumulator>(masses: &[L]) -> u64 {
    let (sum, most) = masses.iter().fold((0, 0), |(sum, most): (u64, u64), m| (sum + m.get(), most.max(m.get())));
    sum - most
}

/// Whether two columns are each the complement of the other; `None` if they are neither that nor equal.
fn split_alike(columns: &BitColumns, starts: &[usize], a: usize, b: usize) -> Option<bool> {
    let mut flip = None;
    for (group, bounds) in starts.windows(2).enumerate() {
        for word in columns.starts[group]..columns.starts[group + 1] {
            let in_use = columns.in_use(word, group, bounds[1] - bounds[0]);
            let at = |position: usize| columns.words[word * columns.stride + position] & in_use;
            let differ = at(a) ^ at(b);
            if differ != *flip.get_or_insert(if differ & 1 == 0 { 0 } else { u32::MAX }) & in_use {
                return None;
            }
        }
    }
    Some(flip.is_some_and(|flip| flip != 0))
}

/// For each column: whether any instance fails or passes it, and a hash that complements share.
struct Digest<'a> {
    columns: &'a BitColumns,
    starts: &'a [usize],
    digests: &'a mut Vec<u32>,
    seen: &'a mut [Vec<u32>; 2],
}

impl Kernel for Digest<'_> {
    type Output = ();

    #[inline(always)]
    fn run<P: Instructions>(self) {
        let Digest { columns, starts, digests, seen: [zeros, ones] } = self;
        let stride = columns.stride;
        for buffer in [&mut *digests, &mut *zeros, &mut *ones] {
            buffer.clear();
            buffer.resize(stride, 0);
        }
        // Bit 0 of the first word is an instance; columns that fail it are complemented.
        let first = columns.words.get(..stride).unwrap_or_default();
        for (group, bounds) in starts.windows(2).enumerate() {
            for word in columns.starts[group]..columns.starts[group + 1] {
                let in_use = columns.in_use(word, group, bounds[1] - bounds[0]);
                let column = &columns.words[word * stride..(word + 1) * stride];
                let (digests, zeros, ones) = (&mut digests[..stride], &mut zeros[..stride], &mut ones[..stride]);
                for position in 0..stride {
                    let bits = column[position] & in_use;
                    zeros[position] |= !column[position] & in_use;
                    ones[position] |= bits;
                    let same = (bits ^ (first[position] & 1).wrapping_neg()) & in_use;
                    let mixed = (digests[position] ^ same).wrapping_mul(0x9E37_79B1);
                    digests[position] = mixed ^ (mixed >> 15);
                }
            }
        }
    }
}
