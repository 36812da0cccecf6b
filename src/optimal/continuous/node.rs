//! A node of the search: the instances on one side of a cut of its parent, of which each column's view is made only
//! when it is first looked at.

use super::arena::{Arena, Place};
use super::instances::{GROUP, RankedInstances};
use super::memory::{Kept, MemoryShares};
use super::stump::{Index, Steps, lay, make_room, part_length};
use crate::bits;
use crate::simd::LANES;

/// The side of a cut that a node has of its parent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Side<I> {
    pub(super) column: usize,
    /// Ranks below this are on the left.
    pub(super) cut: I,
    pub(super) right: bool,
}

/// The side of a cut of an open column, the cut by its number.
#[derive(Debug, Clone, Copy)]
pub(super) struct CutSide {
    pub(super) column: usize,
    pub(super) cut: usize,
    pub(super) right: bool,
}

impl<I: Index> Side<I> {
    #[inline(always)]
    pub(super) fn has(&self, rank: I) -> bool {
        (rank < self.cut) != self.right
    }
}

/// A per-node value that is built on first use; it is valid while its epoch equals the node's.
#[derive(Debug, Default)]
struct Lazy<T> {
    epoch: u64,
    value: T,
}

impl<T> Lazy<T> {
    /// Whether it has to be made; from now on it is taken to be there.
    fn renew(&mut self, epoch: u64) -> bool {
        std::mem::replace(&mut self.epoch, epoch) != epoch
    }
}

/// A column as a root: its distinct ranks in the node, and what is to the left of each.
///
/// Cut j, from 1 on, has the distinct ranks before the j-th on its left.
#[derive(Debug)]
pub(super) struct Opened<I> {
    pub(super) ranks: Vec<I>,
    /// Instances with a lower rank, for each rank and for all.
    pub(super) before: Vec<u32>,
    /// And their mass.
    pub(super) mass: Vec<i64>,
    /// And how many cases they are; empty where that does not matter.
    cases: Vec<u64>,
    /// Masses of classes among the first 0, [`Opened::every`], ... instances.
    classes: Vec<i64>,
    /// The last cut that is a test.
    pub(super) last: usize,
}

impl<I> Default for Opened<I> {
    fn default() -> Self {
        Opened { ranks: vec![], before: vec![], mass: vec![], cases: vec![], classes: vec![], last: 0 }
    }
}

impl<I> Opened<I> {
    /// How far the places are apart before which masses of classes are summed up: the more classes, the farther.
    pub(super) fn every(n_classes: usize) -> usize {
        16.max(n_classes / 4)
    }

    /// The first and the last cut with so many cases on either side.
    pub(super) fn admissible(&self, cases: u64) -> (usize, usize) {
        let all = self.cases.last().copied().unwrap_or(0);
        let first = self.cases.partition_point(|&before| before < cases);
        let last = self.cases.partition_point(|&before| before + cases <= all);
        (first, last.saturating_sub(1))
    }
}

/// The instances of a pair of classes in the order of a column, in lanes.
#[derive(Debug, Default)]
pub(super) struct List<I> {
    rows: Vec<I>,
    pub(super) steps: Steps,
}

/// Where the ranks of a group of columns are.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    place: Place,
    group: u32,
}

/// A node, in memory that serves one node after the other at the same depth.
pub(super) struct Node<I> {
    pub(super) n: usize,
    pub(super) mass: i64,
    /// The mass of each class.
    pub(super) classes: Vec<i64>,
    side: Side<I>,
    epoch: u64,
    orders: Vec<Lazy<Vec<I>>>,
    opened: Vec<Lazy<Opened<I>>>,
    lists: Vec<Lazy<List<I>>>,
    /// Where in the order of a column the instances of each class stand: a bit per place, class after class.
    by_class: Vec<Lazy<Vec<u64>>>,
    /// The columns that have an order, and those that are open: where not all can be kept, others take their place.
    with_order: Kept,
    with_opened: Kept,
    /// Ranks of columns along lists, and where those of a group of columns along a list are: of as many groups at a
    /// time as there are slots.
    along: Arena<I>,
    along_at: Vec<Lazy<Slot>>,
    along_epoch: u64,
    scratch: Vec<I>,
}

impl<I: Index> Node<I> {
    fn new(room: &MemoryShares) -> Self {
        Node {
            n: 0,
            mass: 0,
            classes: vec![],
            side: Side { column: 0, cut: I::of(0), right: false },
            epoch: 0,
            orders: vec![],
            opened: vec![],
            lists: vec![],
            by_class: vec![],
            with_order: Kept::new(room.orders),
            with_opened: Kept::new(room.opened),
            along: Arena::new(room.along),
            along_at: vec![],
            along_epoch: 0,
            scratch: vec![],
        }
    }

    /// The cost of a leaf.
    pub(super) fn leaf(&self) -> i64 {
        self.mass - self.classes.iter().max().copied().unwrap_or(0)
    }
}

/// The nodes on the path of a search: each is a side of a cut of the one before.
pub(super) struct Nodes<'g, I> {
    pub(super) ground: &'g RankedInstances<'g, I>,
    nodes: Vec<Node<I>>,
    epoch: u64,
    /// How many groups of columns have ranks along a list at a time.
    slots: usize,
    /// Nanoseconds, about, spent on views since the last look.
    work: usize,
}

impl<'g, I: Index> Nodes<'g, I> {
    /// Of so many levels, the first being that of all instances.
    pub(super) fn new(ground: &'g RankedInstances<'g, I>, levels: usize, room: &MemoryShares) -> Self {
        let mut nodes: Vec<Node<I>> = (0..levels).map(|_| Node::new(room)).collect();
        let root = &mut nodes[0];
        root.n = ground.n;
        root.classes = vec![0; ground.n_classes];
        (0..ground.n).for_each(|i| root.classes[usize::from(ground.classes[i])] += ground.mass(i));
        root.mass = root.classes.iter().sum();
        for node in &mut nodes {
            node.orders.resize_with(ground.columns.len(), || Lazy { epoch: 0, value: vec![] });
            node.opened.resize_with(ground.columns.len(), Default::default);
        }
        nodes[0].epoch = 1;
        nodes[0].along_epoch = 1;
        Nodes { ground, nodes, epoch: 1, slots: room.slots, work: 0 }
    }

    /// What was spent on views since the last call, in units of a ticker.
    pub(super) fn work(&mut self) -> usize {
        std::mem::take(&mut self.work)
    }

    pub(super) fn at(&self, level: usize) -> &Node<I> {
        &self.nodes[level]
    }

    pub(super) fn opened(&self, level: usize, column: usize) -> &Opened<I> {
        &self.nodes[level].opened[column].value
    }

    /// Makes the node after `level` one side of its cut.
    pub(super) fn descend(&mut self, level: usize, side: Side<I>, n: usize, classes: &[i64]) {
        self.epoch += 1;
        let node = &mut self.nodes[level + 1];
        (node.n, node.side, node.epoch, node.along_epoch) = (n, side, self.epoch, self.epoch);
        node.along.clear();
        node.classes.clear();
        node.classes.extend_from_slice(classes);
        node.mass = classes.iter().sum();
    }

    /// The instances of a node by rank of a column. Call [`Nodes::order`] before.
    pub(super) fn ordered(&self, level: usize, column: usize) -> &[I] {
        match level {
            0 => &self.ground.columns[column].order,
            _ => &self.nodes[level].orders[column].value,
        }
    }

    /// Sees to it that the order of a column is there. O(instances of the parent).
    pub(super) fn order(&mut self, level: usize, column: usize) {
        let epoch = self.nodes[level].epoch;
        if level == 0 || !self.nodes[level].orders[column].renew(epoch) {
            return;
        }
        self.order(level - 1, column);
        self.work += 2 * self.nodes[level - 1].n;
        let node = &mut self.nodes[level];
        let mut order = std::mem::take(&mut node.orders[column].value);
        if order.capacity() == 0
            && let Some(other) = node.with_order.admit(column)
        {
            order = std::mem::take(&mut node.orders[other]).value;
        }
        make_room(&mut order, node.n + 1, self.ground.n + 1);
        let (parent, node) = (self.ordered(level - 1, column), &self.nodes[level]);
        let (side, ranks) = (node.side, &self.ground.columns[node.side.column].ranks[..]);
        // Each is written, and kept by moving on: which are kept cannot be foreseen.
        order.resize(node.n + 1, I::of(0));
        let mut kept = 0;
        if side.right {
            for &instance in parent {
                order[kept] = instance;
                kept += usize::from(ranks[instance.get()] >= side.cut);
            }
        } else {
            for &instance in parent {
                order[kept] = instance;
                kept += usize::from(ranks[instance.get()] < side.cut);
            }
        }
        debug_assert_eq!(kept, node.n);
        order.truncate(kept);
        self.nodes[level].orders[column].value = order;
    }

    /// Sees to it that a column can be a root. O(instances).
    pub(super) fn open(&mut self, level: usize, column: usize) {
        let epoch = self.nodes[level].epoch;
        if !self.nodes[level].opened[column].renew(epoch) {
            return;
        }
        self.order(level, column);
        self.work += 5 * self.nodes[level].n;
        let node = &mut self.nodes[level];
        let mut opened = std::mem::take(&mut node.opened[column].value);
        if opened.ranks.capacity() == 0
            && let Some(other) = node.with_opened.admit(column)
        {
            opened = std::mem::take(&mut node.opened[other]).value;
        }
        let Opened { ranks, before, mass, cases, classes, last } = &mut opened;
        let ground = self.ground;
        let of = &ground.columns[column].ranks[..];
        let order = self.ordered(level, column);
        let every = Opened::<I>::every(ground.n_classes);
        let blocks = |n: usize| n.div_ceil(every) * ground.n_classes;
        make_room(ranks, order.len(), ground.n);
        make_room(before, order.len() + 1, ground.n + 1);
        make_room(classes, blocks(order.len()), blocks(ground.n));
        // Each rank is written at its place, again and again while it is the same: when it changes cannot be foreseen.
        ranks.resize(order.len(), I::of(0));
        before.resize(order.len() + 1, 0);
        let (mut place, mut previous) = (0, of[order[0].get()]);
        for (i, &instance) in (1..).zip(order) {
            let rank = of[instance.get()];
            place += usize::from(rank != previous);
            previous = rank;
            ranks[place] = rank;
            before[place + 1] = i;
        }
        ranks.truncate(place + 1);
        before.truncate(place + 2);
        mass.clear();
        cases.clear();
        make_room(mass, before.len(), ground.n + 1);
        if !ground.cases.is_empty() {
            make_room(cases, before.len(), ground.n + 1);
        }
        if ground.unit {
            mass.extend(before.iter().map(|&before| i64::from(before)));
        } else {
            sums_before(before, mass, |place| ground.mass(order[place].get()));
        }
        if !ground.cases.is_empty() {
            sums_before(before, cases, |place| ground.cases[order[place].get()]);
        }
        ground.class_sums(order, every, classes);
        let n = ranks.len();
        *last = n.saturating_sub(1);
        if n > 1 && !ground.offers(column, ranks[n - 2].get()) {
            *last -= 1;
        }
        self.nodes[level].opened[column].value = opened;
    }

    /// The mass of each class to the left of a cut of an open column.
    pub(super) fn classes_left(&mut self, level: usize, column: usize, cut: usize, classes: &mut Vec<i64>) {
        self.order(level, column);
        let opened = self.opened(level, column);
        let (place, n) = (opened.before[cut] as usize, self.ground.n_classes);
        let every = Opened::<I>::every(n);
        self.work += 2 * (n + every);
        let opened = self.opened(level, column);
        // The last whole block may not have begun.
        let block = (place / every).min(opened.classes.len() / n - 1);
        classes.clear();
        classes.extend_from_slice(&opened.classes[block * n..(block + 1) * n]);
        for &instance in &self.ordered(level, column)[block * every..place] {
            classes[usize::from(self.ground.classes[instance.get()])] += self.ground.mass(instance.get());
        }
    }

    /// A list of an entry (column and pair of classes). O(instances), once per node.
    fn lay(&mut self, level: usize, entry: usize) {
        let ground = self.ground;
        let (epoch, n_pairs) = (self.nodes[level].epoch, ground.per_column);
        if self.nodes[level].lists.is_empty() {
            self.nodes[level].lists.resize_with(ground.n_entries(), Default::default);
            self.nodes[level].by_class.resize_with(ground.columns.len(), Default::default);
        }
        if !self.nodes[level].lists[entry].renew(epoch) {
            return;
        }
        let (column, pair) = (entry / n_pairs, ground.pairs[entry % n_pairs]);
        self.order(level, column);
        self.group(level, column);
        self.work += 5 * self.nodes[level].n;
        let mut list = std::mem::take(&mut self.nodes[level].lists[entry].value);
        let mut members = std::mem::take(&mut self.nodes[level].scratch);
        let (node, order) = (&self.nodes[level], self.ordered(level, column));
        members.clear();
        match ground.n_classes {
            2 => members.extend_from_slice(order),
            _ => {
                let words = bits::words(node.n);
                let of = |class: u32| &node.by_class[column].value[class as usize * words..][..words];
                for (word, (a, b)) in of(pair.0).iter().zip(of(pair.1)).enumerate() {
                    let mut places = a | b;
                    while places != 0 {
                        members.push(order[64 * word + places.trailing_zeros() as usize]);
                        places &= places - 1;
                    }
                }
            }
        }
        let n = members.len();
        let length = part_length(n).max(1);
        let most = match ground.unit {
            true => length as i64,
            false => {
                let mass = |part: &[I]| part.iter().map(|&instance| ground.mass(instance.get())).sum();
                members.chunks(length).map(mass).max().unwrap_or(0)
            }
        };
        // Some more than is needed: lists of a pair at one depth differ in length.
        let laid = length * LANES;
        list.rows.clear();
        make_room(&mut list.rows, laid, laid + laid / 4);
        lay(&mut list.rows, n, |place| members[place], I::of(ground.n));
        let step = |place: usize| {
            let instance = members[place].get();
            let mass = ground.mass(instance);
            if u32::from(ground.classes[instance]) == pair.0 { mass } else { -mass }
        };
        let (ranks, last) = (&ground.columns[column].ranks[..], I::of(ground.columns[column].n_cuts));
        let tie = |place: usize| {
            let rank = |place: usize| ranks[members[place].get()].min(last);
            place + 1 < n && rank(place) == rank(place + 1)
        };
        list.steps.lay(n, most, step, ground.mixed[entry].then_some(tie));
        self.nodes[level].lists[entry].value = list;
        self.nodes[level].scratch = members;
    }

    /// The places of each class in the order of a column, where there are more than two.
    fn group(&mut self, level: usize, column: usize) {
        let epoch = self.nodes[level].epoch;
        if self.ground.n_classes == 2 || !self.nodes[level].by_class[column].renew(epoch) {
            return;
        }
        let mut by_class = std::mem::take(&mut self.nodes[level].by_class[column].value);
        let words = bits::words(self.nodes[level].n);
        by_class.clear();
        by_class.resize(self.ground.n_classes * words, 0);
        for (place, &instance) in self.ordered(level, column).iter().enumerate() {
            bits::set(&mut by_class[usize::from(self.ground.classes[instance.get()]) * words..], place);
        }
        self.nodes[level].by_class[column].value = by_class;
    }

    /// The list of an entry, and the ranks of a column along it. O(instances), once per node and group of columns.
    pub(super) fn along(&mut self, level: usize, column: usize, entry: usize) -> (&List<I>, &[I]) {
        self.lay(level, entry);
        let (ground, n_entries) = (self.ground, self.ground.n_entries());
        let node = &mut self.nodes[level];
        if node.along_at.is_empty() {
            node.along_at.resize_with(self.slots * n_entries, Default::default);
        }
        let (list, group) = (&node.lists[entry].value, column / GROUP);
        let length = list.rows.len();
        let slot = if group < self.slots { group } else { group % self.slots };
        let at = slot * n_entries + entry;
        if node.along_at[at].epoch != node.along_epoch || node.along_at[at].value.group != group as u32 {
            let columns = (ground.columns.len() - group * GROUP).min(GROUP);
            if !node.along.may_take(columns * length) {
                self.epoch += 1;
                node.along_epoch = self.epoch;
                node.along.clear();
            }
            self.work += columns * length;
            let place = node.along.take(columns * length);
            node.along_at[at] = Lazy { epoch: node.along_epoch, value: Slot { place, group: group as u32 } };
            let (ranks, to) = (&ground.groups[group][..], node.along.at_mut(place));
            match columns {
                1 => look_up::<I, 1>(ranks, &list.rows, to),
                2 => look_up::<I, 2>(ranks, &list.rows, to),
                3 => look_up::<I, 3>(ranks, &list.rows, to),
                _ => look_up::<I, GROUP>(ranks, &list.rows, to),
            }
        }
        let along = &node.along.at(node.along_at[at].value.place)[column % GROUP * length..][..length];
        (&node.lists[entry].value, along)
    }
}

/// Writes the first `N` ranks of each row, those of one column after those of another.
fn look_up<I: Index, const N: usize>(ranks: &[[I; GROUP]], rows: &[I], to: &mut [I]) {
    if rows.is_empty() {
        return;
    }
    let mut columns = to.chunks_exact_mut(rows.len());
    let columns: [&mut [I]; N] = std::array::from_fn(|_| columns.next().expect("there is room for so many"));
    for (i, row) in rows.iter().enumerate() {
        let all = ranks[row.get()];
        for k in 0..N {
            columns[k][i] = all[k];
        }
    }
}

/// What is before each of these places, summed up.
fn sums_before<T: Copy + Default + std::ops::AddAssign>(before: &[u32], sums: &mut Vec<T>, of: impl Fn(usize) -> T) {
    let mut sum = T::default();
    sums.push(sum);
    for pair in before.windows(2) {
        (pair[0]..pair[1]).for_each(|place| sum += of(place as usize));
        sums.push(sum);
    }
}
