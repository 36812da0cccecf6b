//! One tree: nodes are grown until none can be split, on one thread or several, or by greatest gain.
//!
//! While all cases of a node are whole, it has its part of every sorted column (`orders`). Below a split that some case
//! had no value for, cases come in parts, and columns are counted or sorted anew (`cells`).

mod best_first;
mod choose;

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};

use rayon::Scope;
use rayon::prelude::*;
use smallvec::SmallVec;

use super::Params;
use super::cases::{CaseSet, Part, Splitter};
use super::cells::Cells;
use super::chain::{Chain, Chains, Ended, Left, Links};
use super::orders::{self, Entry, Layout};
use super::rough::Rough;
use super::rules::WithRules;
use super::split::{Cut, Rule, Sides};
use super::sums::ClassSums;
use super::table::Table;
use crate::bits;
use crate::budget::{Budget, Reserved, Stop, Ticker};
use crate::criterion::{Impurity, Side};
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
    pub masses: ClassSums,
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
    chains: Chains,
    /// Whether the table keeps its sorted columns for other trees.
    keeps: bool,
}

/// What all workers of a growth share.
struct Grower<'t, I> {
    table: &'t Table,
    /// For nodes of whole cases, and for nodes of parts.
    rules: [Rule<I>; 2],
    layout: Layout,
    budget: &'t Budget,
    threads: usize,
    chains: Chains,
    next: AtomicU32,
    /// Why growth had to stop.
    stop: OnceLock<Stop>,
    rooms: Mutex<Vec<Room<'t>>>,
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
    /// All columns instead, at a node of a chain.
    chain: Option<Box<Chain<'t>>>,
    links: Links,
    /// The memory of the cases and the masses, where that is much.
    held: Option<Reserved<'t>>,
}

/// Room for the work on a node, and the nodes that were grown in it.
#[derive(Default)]
struct Room<'t> {
    cells: Cells,
    rough: Rough,
    sides: Sides,
    buffer: Vec<Entry>,
    goes_right: Vec<u64>,
    branches: Vec<u32>,
    splitter: Splitter,
    grown: Vec<(u32, Grown)>,
    /// Memory for what was grown, and how much of it is left.
    held: Vec<Reserved<'t>>,
    left: u64,
}

/// Memory for nodes is asked for in pieces of this size, where there is as much.
const PIECE: u64 = 1 << 16;
/// The bytes of a node, grown and finished, apart from its class masses.
const NODE_BYTES: u64 = 500;

impl<'t> Room<'t> {
    /// Charges what is about to be grown.
    fn charge(&mut self, budget: &'t Budget, bytes: u64) -> Result<(), Stop> {
        if bytes > self.left {
            let more = bytes - self.left;
            let piece = budget.reserve(more.max(PIECE)).or_else(|_| budget.reserve(more))?;
            self.left += piece.bytes();
            self.held.push(piece);
        }
        self.left -= bytes;
        Ok(())
    }
}

impl<'t> Growth<'t> {
    /// Over all columns.
    pub fn new(table: &'t Table, params: &Params, budget: &'t Budget, threads: usize) -> Self {
        let columns = (0..table.columns.len()).collect();
        Growth {
            table,
            columns,
            budget,
            threads,
            max_leaves: params.max_leaves,
            chains: Chains::default(),
            keeps: false,
        }
    }

    /// With chains that begin and end elsewhere.
    #[cfg(test)]
    pub fn with_chains(self, chains: Chains) -> Self {
        Growth { chains, ..self }
    }

    /// Over these columns alone, and not for the last time.
    pub fn over(self, columns: Vec<usize>) -> Self {
        Growth { columns, keeps: true, ..self }
    }
}

impl<'t> Growth<'t> {
    /// Whether a column is kept sorted: not one of so few values that counting beats that at large nodes.
    fn is_sorted(&self, column: usize, layout: Layout) -> bool {
        let coded = &self.table.columns[column];
        let is_counted = coded.n_codes as usize * self.table.n_classes * COUNTED <= self.table.n_cases;
        coded.ordered && coded.is_complete && layout.fits(coded.n_codes) && !is_counted
    }

    /// Memory for sorted columns, for codes of the others, for the cases of the root, and for rooms; and whether there is
    /// enough for a room per thread. Columns that there is no memory for in order are among the others.
    fn reserve(&self, sorted: &mut Vec<usize>, others: &mut Vec<usize>) -> Result<(Reserved<'t>, bool), Stop> {
        let (table, n) = (self.table, self.table.n_cases as u64);
        if !self.keeps && others.iter().any(|&column| !table.columns[column].is_complete) {
            table.plan_grid(self.budget);
        }
        let is_wide = u32::try_from(table.total).is_err();
        // Room for cuts and for parting; for cells and cases where they are counted or dealt.
        let room_for = |others: usize| n * (if is_wide { 60 } else { 40 } + if others > 0 { 80 } else { 0 });
        let codes = |others: &[usize]| {
            4 * n * others.iter().filter(|&&column| !table.columns[column].has_codes()).count() as u64
        };
        let mut held = self.budget.reserve(4 * n + room_for(others.len()) + codes(others))?;
        let n_sorted = sorted.iter().take_while(|_| held.grow(8 * n).is_ok()).count();
        if n_sorted < sorted.len() {
            others.extend(sorted.drain(n_sorted..));
            others.sort_unstable();
            let all = |others: &[usize], n_sorted: usize| {
                4 * n + room_for(others.len()) + codes(others) + 8 * n * n_sorted as u64
            };
            while held.resize(all(others, sorted.len())).is_err() {
                others.push(sorted.pop().ok_or(Stop::Memory)?);
                others.sort_unstable();
            }
        }
        let more = room_for(others.len()) * (self.threads as u64 - 1);
        let is_parallel = held.grow(more).is_ok();
        // The table keeps codes.
        let of_codes = codes(others);
        held.resize(held.bytes() - of_codes)?;
        self.budget.reserve(of_codes)?.keep();
        Ok((held, is_parallel))
    }
}

impl WithRules for Growth<'_> {
    type Outcome = (Vec<Grown>, Option<Stop>);

    fn run<I: Impurity + Send + 'static>(self, rules: [Rule<I>; 2]) -> Self::Outcome {
        let n = self.table.n_cases;
        let layout = Layout::new(self.table.n_classes);
        let is_sorted = |column: &usize| self.is_sorted(*column, layout);
        let (mut sorted, mut others): (Vec<usize>, Vec<usize>) =
            self.columns.iter().partition(|column| is_sorted(column));
        let held = self.reserve(&mut sorted, &mut others);
        let Growth { table, budget, max_leaves, chains, .. } = self;
        let stop = OnceLock::new();
        let threads = match &held {
            Ok((_, is_parallel)) => {
                if *is_parallel {
                    self.threads
                } else {
                    1
                }
            }
            Err(no_memory) => {
                let _ = stop.set(*no_memory);
                sorted.clear();
                1
            }
        };
        let entries = |&column: &usize| {
            let keeps = self.keeps && budget.reserve(8 * n as u64).map(Reserved::keep).is_ok();
            (column as u32, table.columns[column].entries_for(layout, &table.classes, keeps))
        };
        let mut orders: Vec<(u32, Vec<Entry>)> = match threads > 1 {
            true => sorted.par_iter().map(entries).collect(),
            false => sorted.iter().map(entries).collect(),
        };
        let (next, rooms) = (AtomicU32::new(1), Mutex::default());
        let grower = Grower { table, rules, layout, budget, threads, chains, next, stop, rooms };
        grower.grow(&mut orders, others, max_leaves)
    }
}

impl<'t, I: Impurity> Grower<'t, I> {
    /// Grows the whole tree; node 0 is the root. With a limit on leaves the split of greatest gain comes first.
    pub fn grow(
        &self,
        orders: &'t mut [(u32, Vec<Entry>)],
        others: Vec<usize>,
        max_leaves: Option<u64>,
    ) -> (Vec<Grown>, Option<Stop>) {
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
            chain: None,
            links: Links::none(),
            held: None,
        };
        match max_leaves {
            _ if self.is_leaf(&root) || self.has_stopped() => {
                self.give_back(Room { grown: vec![(0, root.leaf())], ..Room::default() })
            }
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

    fn rule(&self, task: &Task) -> &Rule<I> {
        &self.rules[usize::from(!task.whole)]
    }

    fn room(&self) -> Room<'t> {
        lock(&self.rooms).pop().unwrap_or_default()
    }

    fn give_back(&self, room: Room<'t>) {
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

    /// What came of some work; nothing, and the end of growth, where the run has to stop.
    fn go_on<T>(&self, outcome: Result<T, Stop>) -> Option<T> {
        outcome.map_err(|stop| self.stop.set(stop)).ok()
    }

    /// Does work in a room of its own.
    fn lend<T>(&self, work: impl FnOnce(&mut Room<'t>) -> T) -> T {
        let mut room = self.room();
        let done = work(&mut room);
        self.give_back(room);
        done
    }

    /// Splits a node, and gives those of its branches that may be split in turn, in order.
    fn split(
        &self,
        mut task: Task<'t>,
        column: u32,
        cut: Cut,
        room: &mut Room<'t>,
        ticker: &mut Ticker<'t>,
    ) -> Vec<Task<'t>> {
        // As grown, and as finished: class masses and the rest.
        let k = self.table.n_classes;
        let bytes = NODE_BYTES + 8 * k as u64 + ClassSums::bytes(k, task.rows);
        let n_branches = self.table.columns[column as usize].n_branches(&cut);
        if self.go_on(room.charge(self.budget, n_branches.saturating_mul(bytes))).is_none() {
            room.grown.push((task.id, task.leaf()));
            return Vec::new();
        }
        if task.chain.is_some() {
            match self.split_chain(task, column, cut.clone(), room) {
                Ok(children) => return children,
                Err(back) => task = *back,
            }
        }
        let winner = task.orders.iter().position(|(live, _)| *live == column);
        let mut own = false;
        let mut branches = match (winner, &cut) {
            (Some(winner), Cut::AtMost { below, .. }) => self.branches_of_order(&task, winner, *below, room).into(),
            _ => {
                let coded = &self.table.columns[column as usize];
                own = coded.has_own(&task.set);
                let Some(branches) = self.go_on(self.branches_of_cells(&task, column, &cut, room, ticker)) else {
                    room.grown.push((task.id, task.leaf()));
                    return Vec::new();
                };
                branches
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
        let masses = task.side.masses.into();
        room.grown.push((task.id, Grown { masses, whole: task.whole, split: Some(split) }));
        self.children(branches, room)
    }

    /// The branches that may be split in turn; others are leaves.
    fn children(&self, branches: Vec<Task<'t>>, room: &mut Room<'t>) -> Vec<Task<'t>> {
        let mut children = Vec::with_capacity(branches.len());
        for mut branch in branches {
            let bytes = branch.set.bytes() + 8 * branch.side.masses.len();
            if self.is_leaf(&branch) || !self.holds(&mut branch.held, bytes) {
                room.grown.push((branch.id, branch.leaf()));
            } else {
                children.push(branch);
            }
        }
        children
    }

    /// Charges what a node holds until it is grown, where that is much.
    fn holds(&self, held: &mut Option<Reserved<'t>>, bytes: usize) -> bool {
        if bytes < PIECE as usize / 4 {
            return true;
        }
        *held = self.go_on(self.budget.reserve(bytes as u64));
        held.is_some()
    }

    /// [`Grower::split`] at a node of a chain; gives the node back, with columns of its own, where the chain ends with it.
    fn split_chain(
        &self,
        mut task: Task<'t>,
        column: u32,
        cut: Cut,
        room: &mut Room<'t>,
    ) -> Result<Vec<Task<'t>>, Box<Task<'t>>> {
        let Some(mut chain) = task.chain.take() else { return Err(task.into()) };
        let own = chain.has_own(self.table, column);
        let (others, left) = (chain.others(), chain.part(self.table, (column, &cut), task.count));
        let Some(Left { cases, branch }) = left else {
            self.end_chain(&mut task, *chain);
            return Err(task.into());
        };
        let set = CaseSet::whole(cases);
        let (masses, count) = set.masses(self.table);
        let rest = task.side.masses.iter().zip(&masses).map(|(all, part)| all - part).collect();
        let rows = set.cases().len();
        let mut small = self.branch(&task, true, masses.into_vec(), count, rows);
        let mut large = self.branch(&task, true, rest, task.count - count, task.rows - rows);
        if !self.is_leaf(&small) {
            (small.set, small.others) = (set, others);
        }
        if !self.is_leaf(&large) {
            match chain.is_short() {
                true => self.end_chain(&mut large, *chain),
                false => large.chain = Some(chain),
            }
        }
        let mut branches = if branch == 0 { vec![small, large] } else { vec![large, small] };
        let first = self.next.fetch_add(2, Relaxed);
        for (id, branch) in (first..).zip(&mut branches) {
            branch.id = id;
        }
        let split = GrownSplit { column, cut, first, own };
        room.grown.push((task.id, Grown { masses: task.side.masses.into(), whole: true, split: Some(split) }));
        Ok(self.children(branches, room))
    }

    /// Gives a node its columns back.
    fn end_chain(&self, task: &mut Task<'t>, chain: Chain<'t>) {
        let Ended { orders, others, set } = chain.end();
        (task.orders, task.others, task.set, task.links) = (orders, others, set, Links::none());
    }

    /// The branches of a cut of a sorted column, which marks the cases that go right.
    fn branches_of_order(&self, task: &Task<'t>, winner: usize, below: u32, room: &mut Room<'t>) -> [Task<'t>; 2] {
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
        room: &mut Room<'t>,
        ticker: &mut Ticker<'t>,
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
            chain: None,
            links: task.links.of_branch(self.chains, rows, task.rows),
            held: None,
        }
    }

    /// Gives each branch that is split in turn its part of every sorted column that is not constant there.
    fn part_orders(
        &self,
        orders: Vec<(u32, &'t mut [Entry])>,
        winner: Option<usize>,
        branches: &mut [Task<'t>],
        parallel: bool,
        room: &mut Room<'t>,
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
        Grown { masses: self.side.masses.into(), whole: self.whole, split: None }
    }
}
