//! One tree: nodes are grown until none can be split, on one thread or several, or by greatest gain.
//!
//! While all cases of a node are whole, it has its part of every sorted column (`orders`). Below a split that some case
//! had no value for, cases come in parts, and columns are counted or sorted anew (`cells`).

mod choose;

use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};

use rayon::Scope;
use rayon::prelude::*;
use smallvec::SmallVec;

use super::Params;
use super::cases::{CaseSet, Part, Splitter};
use super::cells::Cells;
use super::orders::{self, Entry, Layout};
use super::rough::Rough;
use super::rules::WithRules;
use super::split::{Cut, Rule, Sides};
use super::table::{Coded, Table};
use crate::bits;
use crate::budget::{Budget, Stop, Ticker};
use crate::criterion::{Exact, Impurity, Side};
use crate::threads::lock;

// With these two threads are 1.4 times faster than one on trees of 10 ms, and 1.9 times on trees of a second.
/// Cases times columns from which the columns of a node are shared out to threads.
const PARALLEL_COLUMNS: usize = 1 << 17;
/// Cases times columns from which a node is another thread's to take.
const PARALLEL_NODES: usize = 1 << 13;

/// A column is counted rather than kept sorted if the table has this many cases for each of its codes and classes.
const COUNTED: usize = 8;

/// A node of a grown tree.
#[derive(Debug, Clone)]
pub(crate) struct Grown {
    /// Mass per class, in units, or in those of fractions.
    pub masses: Vec<u64>,
    pub whole: bool,
    pub split: Option<GrownSplit>,
}

#[derive(Debug, Clone)]
pub(crate) struct GrownSplit {
    pub column: u32,
    pub cut: Cut,
    /// The number of the first branch's node; the next ones follow.
    pub first: u32,
    /// Whether a case came here whose missing value counts as one.
    pub own: bool,
}

/// The growth of one tree over a table.
pub(crate) struct Growth<'t> {
    table: &'t Table,
    columns: Vec<usize>,
    budget: &'t Budget,
    threads: usize,
    max_leaves: Option<u64>,
}

/// What all workers of a growth share.
struct Grower<'t, I> {
    table: &'t Table,
    /// For nodes of whole cases, and for nodes of parts.
    rules: [Rule<I>; 2],
    layout: Layout,
    budget: &'t Budget,
    threads: usize,
    next: AtomicU32,
    /// About the bytes of all nodes.
    bytes: AtomicU64,
    /// Why growth had to stop.
    stop: OnceLock<Stop>,
    rooms: Mutex<Vec<Room>>,
}

/// A node to be grown.
struct Task<'t> {
    id: u32,
    depth: u64,
    side: Side,
    /// Whether cases are whole.
    whole: bool,
    /// How many cases came: counts times fractions.
    count: u64,
    /// How many rows did.
    rows: usize,
    /// Sorted columns that are not constant here.
    orders: Vec<(u32, &'t mut [Entry])>,
    /// Other columns, and the cases, which only they need.
    others: Vec<u32>,
    set: CaseSet,
}

/// Room for the work on a node, and the nodes that were grown in it.
#[derive(Default)]
struct Room {
    cells: Cells,
    rough: Rough,
    sides: Sides,
    buffer: Vec<Entry>,
    goes_right: Vec<u64>,
    branches: Vec<u32>,
    splitter: Splitter,
    grown: Vec<(u32, Grown)>,
}

impl<'t> Growth<'t> {
    /// Over all columns.
    pub fn new(table: &'t Table, params: &Params, budget: &'t Budget, threads: usize) -> Self {
        let columns = (0..table.columns.len()).collect();
        Growth { table, columns, budget, threads, max_leaves: params.max_leaves }
    }

    /// Over these columns alone.
    pub fn over(self, columns: Vec<usize>) -> Self {
        Growth { columns, ..self }
    }
}

impl WithRules for Growth<'_> {
    type Outcome = (Vec<Grown>, Option<Stop>);

    fn run<I: Impurity + Send + 'static>(self, rules: [Rule<I>; 2]) -> Self::Outcome {
        let Growth { table, columns, budget, threads, max_leaves } = self;
        let grower = Grower {
            table,
            rules,
            layout: Layout::new(table.n_classes),
            budget,
            threads,
            next: AtomicU32::new(1),
            bytes: AtomicU64::new(0),
            stop: OnceLock::new(),
            rooms: Mutex::default(),
        };
        grower.grow(columns, max_leaves)
    }
}

impl<'t, I: Impurity> Grower<'t, I> {
    /// Grows the whole tree; node 0 is the root. With a limit on leaves the split of greatest gain comes first.
    pub fn grow(&self, columns: Vec<usize>, max_leaves: Option<u64>) -> (Vec<Grown>, Option<Stop>) {
        let is_sorted = |column: &usize| {
            let coded = &self.table.columns[*column];
            coded.ordered && coded.is_complete && self.layout.fits(coded.n_codes) && !self.is_counted(coded)
        };
        let (sorted, others): (Vec<usize>, Vec<usize>) = columns.into_iter().partition(is_sorted);
        let of_table = |column: usize| self.table.columns[column].entries(self.layout, &self.table.classes).to_vec();
        let entries = |&column: &usize| (column as u32, of_table(column));
        let mut orders: Vec<(u32, Vec<Entry>)> = match self.threads > 1 {
            true => sorted.par_iter().map(entries).collect(),
            false => sorted.iter().map(entries).collect(),
        };
        let set = CaseSet::all(self.table);
        let (masses, count) = set.masses(self.table);
        let root = Task {
            id: 0,
            depth: 0,
            side: self.rules[0].impurity.side(masses.into_vec()),
            whole: true,
            count,
            rows: self.table.n_cases,
            orders: orders.iter_mut().map(|(column, entries)| (*column, &mut entries[..])).collect(),
            others: others.into_iter().map(|column| column as u32).collect(),
            set,
        };
        match max_leaves {
            _ if self.is_leaf(&root) => self.give_back(Room { grown: vec![(0, root.leaf())], ..Room::default() }),
            Some(most) => self.by_gain(root, most),
            None if self.threads > 1 => rayon::scope(|scope| self.run(Some(scope), root)),
            None => self.run(None, root),
        }
        let mut nodes: Vec<Option<Grown>> = vec![None; self.next.load(Relaxed) as usize];
        let rooms = std::mem::take(&mut *lock(&self.rooms));
        rooms.into_iter().flat_map(|room| room.grown).for_each(|(id, grown)| nodes[id as usize] = Some(grown));
        (nodes.into_iter().flatten().collect(), self.stop.get().copied())
    }

    /// Grows a node and all below it; large nodes are left to whoever comes first.
    fn run<'s>(&'s self, scope: Option<&Scope<'s>>, task: Task<'t>)
    where
        't: 's,
    {
        let mut room = self.room();
        let mut ticker = Ticker::new(self.budget);
        let mut stack = vec![task];
        while let Some(mut task) = stack.pop() {
            let Some((column, found)) = self.choose(&mut task, &mut room, &mut ticker) else {
                room.grown.push((task.id, task.leaf()));
                continue;
            };
            for child in self.split(task, column, found.cut, &mut room, &mut ticker) {
                match scope {
                    Some(scope) if child.work() > PARALLEL_NODES && !stack.is_empty() => {
                        scope.spawn(move |scope| self.run(Some(scope), child));
                    }
                    _ => stack.push(child),
                }
            }
        }
        self.give_back(room);
    }

    /// Splits the node of greatest total gain, again and again; ties: the node that came first. A split into more leaves
    /// than are left is passed over.
    fn by_gain(&self, root: Task<'t>, most: u64) {
        let mut room = self.room();
        let mut ticker = Ticker::new(self.budget);
        let mut leaves = 1;
        let mut heap = BinaryHeap::new();
        let mut fresh = vec![root];
        loop {
            for mut task in fresh.drain(..) {
                match self.choose(&mut task, &mut room, &mut ticker) {
                    Some((column, found)) => {
                        // Gains of different nodes are compared: a rough one is not enough.
                        let found = self.closely(&task, column, found, &mut room);
                        let digits = if task.whole { 0 } else { self.table.digits };
                        // In units that whole cases and parts share: powers of two apart.
                        let units = self.rule(&task).impurity.unit() / self.rules[0].impurity.unit();
                        let places = units.log2() as i32 + digits as i32;
                        let common = i128::from(found.gain) << (32 - places);
                        let exact = found.exact.map(|exact| exact.in_common(task.whole, self.table.digits));
                        heap.push(Candidate { gain: (exact, common), task, column, cut: found.cut });
                    }
                    None => room.grown.push((task.id, task.leaf())),
                }
            }
            let Some(Candidate { task, column, cut, .. }) = heap.pop() else { break };
            let more = self.table.columns[column as usize].n_branches(&cut) - 1;
            if self.has_stopped() || leaves + more > most {
                room.grown.push((task.id, task.leaf()));
                continue;
            }
            leaves += more;
            fresh = self.split(task, column, cut, &mut room, &mut ticker);
        }
        self.give_back(room);
    }

    /// Whether a column has so few values that counting beats a sorted column at large nodes.
    fn is_counted(&self, coded: &Coded) -> bool {
        coded.n_codes as usize * self.table.n_classes * COUNTED <= self.table.n_cases
    }

    fn rule(&self, task: &Task) -> &Rule<I> {
        &self.rules[usize::from(!task.whole)]
    }

    fn room(&self) -> Room {
        lock(&self.rooms).pop().unwrap_or_default()
    }

    fn give_back(&self, room: Room) {
        lock(&self.rooms).push(room);
    }

    fn is_parallel(&self, task: &Task) -> bool {
        self.threads > 1 && task.work() > PARALLEL_COLUMNS
    }

    fn is_leaf(&self, task: &Task) -> bool {
        self.rule(task).is_leaf(&task.side.masses, task.count, task.depth)
    }

    fn has_stopped(&self) -> bool {
        self.stop.get().is_some()
    }

    /// Asks the budget whether to go on.
    fn checks(&self) -> bool {
        self.budget.check().map_err(|stop| self.stop.set(stop)).is_ok()
    }

    /// Does work in a room of its own.
    fn lend<T>(&self, work: impl FnOnce(&mut Room) -> T) -> T {
        let mut room = self.room();
        let done = work(&mut room);
        self.give_back(room);
        done
    }

    /// Splits a node, and gives those of its branches that may be split in turn, in order.
    fn split(&self, mut task: Task<'t>, column: u32, cut: Cut, room: &mut Room, ticker: &mut Ticker) -> Vec<Task<'t>> {
        // As grown, and as finished: class masses and the rest.
        let bytes = self.table.columns[column as usize].n_branches(&cut) * (16 * self.table.n_classes as u64 + 200);
        if self.bytes.fetch_add(bytes, Relaxed) + bytes > self.budget.memory_limit() {
            let _ = self.stop.set(Stop::Memory);
        }
        let winner = task.orders.iter().position(|(live, _)| *live == column);
        let mut own = false;
        let mut branches = match (winner, &cut) {
            (Some(winner), Cut::AtMost { below, .. }) => self.branches_of_order(&task, winner, *below, room).into(),
            _ => {
                let coded = &self.table.columns[column as usize];
                own = coded.has_own(&task.set);
                match self.branches_of_cells(&task, column, &cut, room, ticker) {
                    Ok(branches) => branches,
                    Err(stop) => {
                        let _ = self.stop.set(stop);
                        room.grown.push((task.id, task.leaf()));
                        return Vec::new();
                    }
                }
            }
        };
        let first = self.next.fetch_add(cut.n_branches() as u32, Relaxed);
        for (id, branch) in (first..).zip(&mut branches) {
            branch.id = id;
        }
        let parallel = self.is_parallel(&task);
        let (is_leaf, is_whole) = (|branch: &Task| self.is_leaf(branch), branches.iter().all(|branch| branch.whole));
        if !is_whole {
            // From here on all columns are counted anew.
            task.others.extend(task.orders.drain(..).map(|(column, _)| column));
            task.others.sort_unstable();
        }
        branches.iter_mut().filter(|branch| !is_leaf(branch)).for_each(|branch| branch.others.clone_from(&task.others));
        if !branches.iter().all(is_leaf) {
            self.part_orders(task.orders, winner, &mut branches, parallel, room);
        }
        let split = GrownSplit { column, cut, first, own };
        room.grown.push((task.id, Grown { masses: task.side.masses, whole: task.whole, split: Some(split) }));
        let mut children = Vec::with_capacity(branches.len());
        for branch in branches {
            match is_leaf(&branch) {
                true => room.grown.push((branch.id, branch.leaf())),
                false => children.push(branch),
            }
        }
        children
    }

    /// The branches of a cut of a sorted column, which marks the cases that go right.
    fn branches_of_order(&self, task: &Task<'t>, winner: usize, below: u32, room: &mut Room) -> [Task<'t>; 2] {
        let entries = &*task.orders[winner].1;
        let (left, right) = entries.split_at(entries.partition_point(|&entry| self.layout.code(entry) <= below));
        room.goes_right.resize(bits::words(self.table.n_cases), 0);
        left.iter().for_each(|&entry| bits::clear(&mut room.goes_right, orders::case(entry) as usize));
        right.iter().for_each(|&entry| bits::set(&mut room.goes_right, orders::case(entry) as usize));
        // The smaller branch is counted, the other is what is left.
        let (small, large) = if left.len() <= right.len() { (left, right) } else { (right, left) };
        let mut masses = vec![0; self.table.n_classes];
        let mut count = 0;
        for &entry in small {
            masses[self.layout.class(entry) as usize] += self.table.mass(orders::case(entry));
            count += self.table.count(orders::case(entry));
        }
        let others = task.side.masses.iter().zip(&masses).map(|(all, part)| all - part).collect();
        let small = self.branch(task, true, masses, count, small.len());
        let large = self.branch(task, true, others, task.count - count, large.len());
        let mut branches = if left.len() <= right.len() { [small, large] } else { [large, small] };
        if !task.others.is_empty() {
            let goes_right = |case: &&u32| bits::get(&room.goes_right, **case as usize);
            let left = task.set.cases().iter().filter(|case| !goes_right(case)).copied();
            branches[0].set = CaseSet::whole(left.collect());
            branches[1].set = CaseSet::whole(task.set.cases().iter().filter(goes_right).copied().collect());
        }
        branches
    }

    /// The branches of a split of another column, which marks the branch of each case if orders are to follow.
    fn branches_of_cells(
        &self,
        task: &Task<'t>,
        column: u32,
        cut: &Cut,
        room: &mut Room,
        ticker: &mut Ticker,
    ) -> Result<Vec<Task<'t>>, Stop> {
        let parts = room.splitter.split(&task.set, self.table, (column as usize, cut), ticker, |_| true)?;
        if !task.orders.is_empty() && parts.iter().all(|part| part.whole) {
            if let [left, right] = &parts[..] {
                room.goes_right.resize(bits::words(self.table.n_cases), 0);
                left.set.cases().iter().for_each(|&case| bits::clear(&mut room.goes_right, case as usize));
                right.set.cases().iter().for_each(|&case| bits::set(&mut room.goes_right, case as usize));
            } else {
                room.branches.resize(self.table.n_cases, 0);
                for (branch, part) in (0..).zip(&parts) {
                    part.set.cases().iter().for_each(|&case| room.branches[case as usize] = branch);
                }
            }
        }
        let branch = |part: Part| {
            let branch = self.branch(task, part.whole, part.masses.into_vec(), part.count, part.rows);
            Task { set: part.set, ..branch }
        };
        Ok(parts.into_iter().map(branch).collect())
    }

    fn branch(&self, task: &Task<'t>, whole: bool, masses: Vec<u64>, count: u64, rows: usize) -> Task<'t> {
        Task {
            id: 0,
            depth: task.depth + 1,
            side: self.rules[usize::from(!whole)].impurity.side(masses),
            whole,
            count,
            rows,
            orders: Vec::new(),
            others: Vec::new(),
            set: CaseSet::default(),
        }
    }

    /// Gives each branch that is split in turn its part of every sorted column that is not constant there.
    fn part_orders(
        &self,
        orders: Vec<(u32, &'t mut [Entry])>,
        winner: Option<usize>,
        branches: &mut [Task<'t>],
        parallel: bool,
        room: &mut Room,
    ) {
        let lengths: Vec<usize> = branches.iter().map(|branch| branch.rows).collect();
        let (goes_right, branch_of) = (&room.goes_right, &room.branches);
        let part = |(index, (column, entries)): (usize, (u32, &'t mut [Entry])), buffer: &mut Vec<Entry>| {
            let parts: SmallVec<[&'t mut [Entry]; 2]> = if Some(index) == winner {
                <[_; 2]>::from(entries.split_at_mut(lengths[0])).into()
            } else if lengths.len() == 2 {
                orders::part_in_two(entries, goes_right, buffer).into()
            } else {
                orders::part(entries, branch_of, &lengths, buffer)
            };
            (column, parts)
        };
        let mut give = |(column, parts): (u32, SmallVec<[&'t mut [Entry]; 2]>)| {
            for (branch, part) in branches.iter_mut().zip(parts) {
                if !self.layout.is_constant(part) && !self.is_leaf(branch) {
                    branch.orders.push((column, part));
                }
            }
        };
        if parallel {
            let part = |order| self.lend(|room| part(order, &mut room.buffer));
            let parts: Vec<_> = orders.into_par_iter().enumerate().map(part).collect();
            parts.into_iter().for_each(give);
        } else {
            orders.into_iter().enumerate().for_each(|order| give(part(order, &mut room.buffer)));
        }
    }
}

impl Task<'_> {
    /// Cells to be read: about what the node costs.
    fn work(&self) -> usize {
        self.rows * (self.orders.len() + self.others.len()).max(1)
    }

    fn leaf(self) -> Grown {
        Grown { masses: self.side.masses, whole: self.whole, split: None }
    }
}

/// A node with its split, by total gain; ties: the node that came first.
struct Candidate<'t> {
    /// As it is, if rounding matters, and rounded.
    gain: (Option<Exact>, i128),
    task: Task<'t>,
    column: u32,
    cut: Cut,
}

impl Ord for Candidate<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let exact = self.gain.0.as_ref().zip(other.gain.0.as_ref()).and_then(|(a, b)| a.compare(b));
        exact.unwrap_or_else(|| self.gain.1.cmp(&other.gain.1)).then(other.task.id.cmp(&self.task.id))
    }
}

impl PartialOrd for Candidate<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate<'_> {}
