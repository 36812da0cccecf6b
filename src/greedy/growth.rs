//! One tree: nodes are grown until none can be split, on one thread or several, or by greatest gain.
//!
//! While all cases of a node are whole, it has its part of every sorted column (`orders`). Below a split that some case
//! had no value for, cases come in parts, and columns are counted or sorted anew (`cells`).

mod best_first;
mod branches;
mod choose;

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};

use rayon::Scope;
use rayon::prelude::*;

use super::Params;
use super::cases::{CaseSet, Splitter};
use super::cells::Cells;
use super::chain::{Chain, Chains, Links};
use super::orders::{Entry, Layout};
use super::rough::Rough;
use super::rules::WithRules;
use super::split::{Cut, Rule, Sides};
use super::sums::ClassSums;
use super::table::Table;
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
    /// How many rows came, whole or in part.
    pub rows: u32,
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
}

impl Task<'_> {
    /// Cells to be read: about what the node costs.
    fn work(&self) -> usize {
        self.rows * (self.orders.len() + self.others.len()).max(1)
    }

    fn leaf(self) -> Grown {
        Grown { masses: self.side.masses.into(), whole: self.whole, rows: self.rows as u32, split: None }
    }
}
