//! A node of the search: the instances on one side of a cut of its parent, of which each column's view is made only when
//! it is first looked at.

use super::ground::Ground;
use super::stump::{Index, Steps, laid_length, places};

/// The side of a cut that a node has of its parent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Side<I> {
    pub(super) column: usize,
    /// Ranks below this are on the left.
    pub(super) cut: I,
    pub(super) right: bool,
}

impl<I: Index> Side<I> {
    #[inline(always)]
    pub(super) fn has(&self, rank: I) -> bool {
        (rank < self.cut) != self.right
    }
}

/// What is made once per node, and told to be that node's by its epoch.
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
    /// Masses of classes among the first 0, [`Opened::EVERY`], ... instances.
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
    const EVERY: usize = 16;

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
    /// Where in the order of a column the instances of each class stand.
    by_class: Vec<Lazy<Vec<Vec<I>>>>,
    /// Ranks of one column along a list; where those of (column, list) begin, or `NOWHERE`.
    along: Vec<I>,
    along_at: Vec<Lazy<usize>>,
    along_epoch: u64,
    scratch: (Vec<I>, Vec<i64>, Vec<bool>),
}

impl<I: Index> Node<I> {
    pub(super) fn new() -> Self {
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
            along: vec![],
            along_at: vec![],
            along_epoch: 0,
            scratch: Default::default(),
        }
    }

    /// The cost of a leaf.
    pub(super) fn leaf(&self) -> i64 {
        self.mass - self.classes.iter().max().copied().unwrap_or(0)
    }
}

/// The nodes on the path of a search: each is a side of a cut of the one before.
pub(super) struct Nodes<'g, I> {
    pub(super) ground: &'g Ground<I>,
    nodes: Vec<Node<I>>,
    epoch: u64,
    /// The most elements of [`Node::along`] before all are forgotten.
    most_along: usize,
}

impl<'g, I: Index> Nodes<'g, I> {
    /// Of so many levels, the first being that of all instances.
    pub(super) fn new(ground: &'g Ground<I>, levels: usize, most_along: usize) -> Self {
        let mut nodes: Vec<Node<I>> = (0..levels).map(|_| Node::new()).collect();
        let root = &mut nodes[0];
        root.n = ground.n;
        root.classes = vec![0; ground.n_classes];
        ground.classes.iter().zip(&ground.masses).for_each(|(&class, &mass)| root.classes[class as usize] += mass);
        root.mass = root.classes.iter().sum();
        for node in &mut nodes {
            node.orders.resize_with(ground.columns.len(), || Lazy { epoch: 0, value: vec![] });
            node.opened.resize_with(ground.columns.len(), Default::default);
        }
        nodes[0].epoch = 1;
        nodes[0].along_epoch = 1;
        Nodes { ground, nodes, epoch: 1, most_along }
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
        let mut order = std::mem::take(&mut self.nodes[level].orders[column].value);
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
        let mut opened = std::mem::take(&mut self.nodes[level].opened[column].value);
        let Opened { ranks, before, mass, cases, classes, last } = &mut opened;
        ranks.clear();
        before.clear();
        mass.clear();
        cases.clear();
        classes.clear();
        let ground = self.ground;
        let of = &ground.columns[column].ranks[..];
        let mut sums = vec![0i64; ground.n_classes];
        let (mut sum, mut sum_of_cases) = (0, 0);
        let counts = !ground.cases.is_empty();
        let order = self.ordered(level, column);
        for (i, &instance) in order.iter().enumerate() {
            let instance = instance.get();
            if i % Opened::<I>::EVERY == 0 {
                classes.extend_from_slice(&sums);
            }
            let rank = of[instance];
            if ranks.last() != Some(&rank) {
                ranks.push(rank);
                before.push(i as u32);
                mass.push(sum);
                if counts {
                    cases.push(sum_of_cases);
                }
            }
            if counts {
                sum_of_cases += ground.cases[instance];
            }
            sum += ground.masses[instance];
            sums[ground.classes[instance] as usize] += ground.masses[instance];
        }
        before.push(order.len() as u32);
        mass.push(sum);
        if counts {
            cases.push(sum_of_cases);
        }
        let n = ranks.len();
        *last = n.saturating_sub(1);
        if n > 1 && !ground.offers(column, ranks[n - 2].get()) {
            *last -= 1;
        }
        self.nodes[level].opened[column].value = opened;
    }

    /// The mass of each class to the left of a cut of an open column.
    pub(super) fn classes_left(&self, level: usize, column: usize, cut: usize, classes: &mut Vec<i64>) {
        let opened = self.opened(level, column);
        let (place, n) = (opened.before[cut] as usize, self.ground.n_classes);
        // The last whole block may not have begun.
        let block = (place / Opened::<I>::EVERY).min(opened.classes.len() / n - 1);
        classes.clear();
        classes.extend_from_slice(&opened.classes[block * n..(block + 1) * n]);
        for &instance in &self.ordered(level, column)[block * Opened::<I>::EVERY..place] {
            classes[self.ground.classes[instance.get()] as usize] += self.ground.masses[instance.get()];
        }
    }

    /// A list of an entry (column and pair of classes). O(instances), once per node.
    fn lay(&mut self, level: usize, entry: usize) {
        let ground = self.ground;
        let (epoch, n_pairs) = (self.nodes[level].epoch, ground.pairs.len());
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
        let mut list = std::mem::take(&mut self.nodes[level].lists[entry].value);
        let (mut members, mut steps, mut ties) = std::mem::take(&mut self.nodes[level].scratch);
        members.clear();
        match ground.n_classes {
            2 => members.extend_from_slice(self.ordered(level, column)),
            _ => {
                let places = &self.nodes[level].by_class[column].value;
                let (a, b) = (&places[pair.0 as usize], &places[pair.1 as usize]);
                merge(a, b, self.ordered(level, column), &mut members);
            }
        }
        steps.clear();
        steps.extend(members.iter().map(|&instance| {
            let mass = ground.masses[instance.get()];
            if ground.classes[instance.get()] == pair.0 { mass } else { -mass }
        }));
        ties.clear();
        if ground.mixed[entry] {
            let ranks = &ground.columns[column].ranks;
            let rank = |instance: I| ranks[instance.get()].get();
            let tied = |pair: &[I]| {
                let (this, next) = (rank(pair[0]), rank(pair[1]));
                this == next || (next == this + 1 && !ground.offers(column, this))
            };
            ties.extend(members.windows(2).map(tied));
            ties.resize(members.len(), false);
        }
        list.steps.lay(&steps, &ties);
        list.rows.clear();
        list.rows.resize(laid_length(members.len()), I::of(ground.n));
        places(members.len()).zip(&members).for_each(|(place, &instance)| list.rows[place] = instance);
        self.nodes[level].lists[entry].value = list;
        self.nodes[level].scratch = (members, steps, ties);
    }

    /// The places of each class in the order of a column, where there are more than two.
    fn group(&mut self, level: usize, column: usize) {
        let epoch = self.nodes[level].epoch;
        if self.ground.n_classes == 2 || !self.nodes[level].by_class[column].renew(epoch) {
            return;
        }
        let mut places = std::mem::take(&mut self.nodes[level].by_class[column].value);
        places.resize_with(self.ground.n_classes, Vec::new);
        places.iter_mut().for_each(Vec::clear);
        for (place, &instance) in self.ordered(level, column).iter().enumerate() {
            places[self.ground.classes[instance.get()] as usize].push(I::of(place));
        }
        self.nodes[level].by_class[column].value = places;
    }

    /// The list of an entry, and the ranks of a column along it. O(instances), once per node.
    pub(super) fn along(&mut self, level: usize, column: usize, entry: usize) -> (&List<I>, &[I]) {
        self.lay(level, entry);
        let (ground, n_entries) = (self.ground, self.ground.n_entries());
        let node = &mut self.nodes[level];
        if node.along_at.is_empty() {
            node.along_at.resize_with(ground.columns.len() * n_entries, Default::default);
        }
        let length = node.lists[entry].value.rows.len();
        let at = column * n_entries + entry;
        if node.along_at[at].epoch != node.along_epoch {
            if node.along.len() + length > self.most_along && !node.along.is_empty() {
                self.epoch += 1;
                node.along_epoch = self.epoch;
                node.along.clear();
            }
            node.along_at[at] = Lazy { epoch: node.along_epoch, value: node.along.len() };
            let ranks = &ground.columns[column].ranks[..];
            node.along.extend(node.lists[entry].value.rows.iter().map(|&row| ranks[row.get()]));
        }
        let start = node.along_at[at].value;
        (&node.lists[entry].value, &node.along[start..start + length])
    }
}

/// The members of an order at two ascending lists of places, in order.
fn merge<I: Index>(a: &[I], b: &[I], order: &[I], members: &mut Vec<I>) {
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let first = a[i] < b[j];
        members.push(order[if first { a[i] } else { b[j] }.get()]);
        i += usize::from(first);
        j += usize::from(!first);
    }
    members.extend(a[i..].iter().chain(&b[j..]).map(|place| order[place.get()]));
}
