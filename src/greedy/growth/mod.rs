//! Growth of one tree: nodes are split until none can be split, on one thread or several, or by greatest gain.
//!
//! While all cases of a node are whole, it has its part of every presorted column (`presorted`). Below a split for
//! which some case has no value, cases come in fractions, and columns are counted or sorted anew (`histogram`).
//!
//! `choose`: the best split of a node. `branches`: its branches. `best_first`: growth to a number of leaves.
//! `workspace`: buffers of a thread.

mod best_first;
mod branches;
mod choose;
mod workspace;

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};

use rayon::Scope;
use rayon::prelude::*;

use super::case_set::CaseSet;
use super::chain::{Chain, ChainLimits, ChainLinks};
use super::class_sums::ClassSums;
use super::data::GrowthData;
use super::dispatch::ImpurityVisitor;
use super::params::Params;
use super::split::SplitRule;
use super::types::{CodedTest, Entry, EntryLayout};
use crate::budget::{Budget, Reserved, Stop, Ticker};
use crate::criterion::{ClassImpurity, ClassStats};
use crate::threads::lock;
use workspace::Workspace;

// With these two limits, two threads are 1.4 times as fast as one on trees of 10 ms, and 1.9 times on trees of a
// second.
/// Cases times columns from which the columns of a node are distributed to threads.
const PARALLEL_COLUMNS: usize = 1 << 17;
/// Cases times columns from which another thread may take a node.
const PARALLEL_NODES: usize = 1 << 13;

/// A column is counted rather than presorted if the table has this many cases for each of its codes and classes.
const COUNTED: usize = 8;

/// A node of a grown tree.
#[derive(Debug, Clone)]
pub(crate) struct GrownNode {
    /// Mass per class, in the units of whole or fractional cases.
    pub masses: ClassSums,
    pub whole: bool,
    /// The number of rows, whole or in part.
    pub rows: u32,
    pub split: Option<GrownSplit>,
}

/// The split of a grown node.
#[derive(Debug, Clone)]
pub(crate) struct GrownSplit {
    pub column: u32,
    pub test: CodedTest,
    /// The number of the first branch's node; those of the other branches follow.
    pub first: u32,
    /// Whether the node has a case whose missing value is a value of its own.
    pub own: bool,
}

/// The growth of one tree over a table.
pub(crate) struct Growth<'t> {
    table: &'t GrowthData,
    columns: Vec<usize>,
    budget: &'t Budget,
    threads: usize,
    max_leaves: Option<u64>,
    chains: ChainLimits,
    /// Whether the table keeps its presorted columns for other trees.
    keeps_columns: bool,
}

/// What all threads of a growth share.
struct Grower<'t, I> {
    table: &'t GrowthData,
    /// For nodes of whole cases, and for nodes with fractional cases.
    rules: [SplitRule<I>; 2],
    layout: EntryLayout,
    budget: &'t Budget,
    threads: usize,
    chains: ChainLimits,
    /// The number of the next node.
    next: AtomicU32,
    /// Why growth had to stop.
    stop: OnceLock<Stop>,
    workspaces: Mutex<Vec<Workspace<'t>>>,
}

/// A node that is still to be split, or made a leaf.
struct OpenNode<'t> {
    id: u32,
    depth: u64,
    stats: ClassStats,
    /// Whether all cases are whole.
    whole: bool,
    /// The number of cases: counts times fractions.
    count: u64,
    /// The number of rows.
    rows: usize,
    /// Presorted columns that are not constant here.
    presorted: Vec<(u32, &'t mut [Entry])>,
    /// Other columns; and the cases, which only these need.
    others: Vec<u32>,
    set: CaseSet,
    /// At a node of a chain, all columns.
    chain: Option<Box<Chain<'t>>>,
    links: ChainLinks,
    /// The memory of the cases and the masses, if that is much.
    held: Option<Reserved<'t>>,
}

impl<'t> Growth<'t> {
    /// Over all columns.
    pub fn new(table: &'t GrowthData, params: &Params, budget: &'t Budget, threads: usize) -> Self {
        let columns = (0..table.columns.len()).collect();
        Growth {
            table,
            columns,
            budget,
            threads,
            max_leaves: params.max_leaves,
            chains: ChainLimits::default(),
            keeps_columns: false,
        }
    }

    /// With other limits of chains.
    #[cfg(test)]
    pub(super) fn with_chains(self, chains: ChainLimits) -> Self {
        Growth { chains, ..self }
    }

    /// Over some columns only; presorted columns are kept for other trees.
    pub fn over(self, columns: Vec<usize>) -> Self {
        Growth { columns, keeps_columns: true, ..self }
    }

    /// Whether a column is presorted: not if it has so few values that counting is faster at large nodes.
    fn is_presorted(&self, column: usize, layout: EntryLayout) -> bool {
        let coded = &self.table.columns[column];
        let is_counted = coded.n_codes as usize * self.table.n_classes * COUNTED <= self.table.n_cases;
        coded.ordered && coded.is_complete && layout.fits(coded.n_codes) && !is_counted
    }

    /// Reserves memory for presorted columns, for codes of the others, for the cases of the root, and for workspaces;
    /// returns whether there is enough for a workspace per thread. Columns that there is no memory to sort are moved to
    /// the others.
    fn reserve(&self, sorted: &mut Vec<usize>, others: &mut Vec<usize>) -> Result<(Reserved<'t>, bool), Stop> {
        let (table, n) = (self.table, self.table.n_cases as u64);
        if !self.keeps_columns && others.iter().any(|&column| !table.columns[column].is_complete) {
            table.reserve_byte_codes(self.budget);
        }
        let is_wide = u32::try_from(table.total).is_err();
        // Buffers for cuts and partitions; and for bins and cases, if columns are counted.
        let workspace_bytes = |others: usize| n * (if is_wide { 60 } else { 40 } + if others > 0 { 80 } else { 0 });
        let codes = |others: &[usize]| {
            4 * n * others.iter().filter(|&&column| !table.columns[column].has_codes()).count() as u64
        };
        let mut held = self.budget.reserve(4 * n + workspace_bytes(others.len()) + codes(others))?;
        let n_sorted = sorted.iter().take_while(|_| held.grow(8 * n).is_ok()).count();
        if n_sorted < sorted.len() {
            others.extend(sorted.drain(n_sorted..));
            others.sort_unstable();
            let all = |others: &[usize], n_sorted: usize| {
                4 * n + workspace_bytes(others.len()) + codes(others) + 8 * n * n_sorted as u64
            };
            while held.resize(all(others, sorted.len())).is_err() {
                others.push(sorted.pop().ok_or(Stop::Memory)?);
                others.sort_unstable();
            }
        }
        let more = workspace_bytes(others.len()) * (self.threads as u64 - 1);
        let is_parallel = held.grow(more).is_ok();
        // The table keeps codes.
        let of_codes = codes(others);
        held.resize(held.bytes() - of_codes)?;
        self.budget.reserve(of_codes)?.keep();
        Ok((held, is_parallel))
    }
}

impl ImpurityVisitor for Growth<'_> {
    type Output = (Vec<GrownNode>, Option<Stop>);

    fn visit<I: ClassImpurity + Send + 'static>(self, rules: [SplitRule<I>; 2]) -> Self::Output {
        let n = self.table.n_cases;
        let layout = EntryLayout::new(self.table.n_classes);
        let is_presorted = |column: &usize| self.is_presorted(*column, layout);
        let (mut sorted, mut others): (Vec<usize>, Vec<usize>) =
            self.columns.iter().partition(|column| is_presorted(column));
        let held = self.reserve(&mut sorted, &mut others);
        let Growth { table, budget, max_leaves, chains, .. } = self;
        let stop = OnceLock::new();
        let threads = match &held {
            Ok((_, true)) => self.threads,
            Ok((_, false)) => 1,
            Err(no_memory) => {
                let _ = stop.set(*no_memory);
                sorted.clear();
                1
            }
        };
        let entries = |&column: &usize| {
            let keeps = self.keeps_columns && budget.reserve(8 * n as u64).map(Reserved::keep).is_ok();
            (column as u32, table.columns[column].entries_for(layout, &table.classes, keeps))
        };
        let mut presorted: Vec<(u32, Vec<Entry>)> = match threads > 1 {
            true => sorted.par_iter().map(entries).collect(),
            false => sorted.iter().map(entries).collect(),
        };
        let (next, workspaces) = (AtomicU32::new(1), Mutex::default());
        let grower = Grower { table, rules, layout, budget, threads, chains, next, stop, workspaces };
        grower.grow(&mut presorted, others, max_leaves)
    }
}

impl<'t, I: ClassImpurity> Grower<'t, I> {
    /// Grows the whole tree; node 0 is the root. With a limit on leaves, splits of greatest gain come first.
    pub fn grow(
        &self,
        presorted: &'t mut [(u32, Vec<Entry>)],
        others: Vec<usize>,
        max_leaves: Option<u64>,
    ) -> (Vec<GrownNode>, Option<Stop>) {
        let set = CaseSet::all(self.table);
        let (masses, count) = set.masses(self.table);
        let root = OpenNode {
            id: 0,
            depth: 0,
            stats: self.rules[0].impurity.stats(masses.into_vec()),
            whole: true,
            count,
            rows: self.table.n_cases,
            presorted: presorted.iter_mut().map(|(column, entries)| (*column, &mut entries[..])).collect(),
            others: others.into_iter().map(|column| column as u32).collect(),
            set,
            chain: None,
            links: ChainLinks::none(),
            held: None,
        };
        match max_leaves {
            _ if self.is_leaf(&root) || self.has_stopped() => self.give_back(Workspace::of_leaf(root.leaf())),
            Some(most) => self.grow_best_first(root, most),
            None if self.threads > 1 => rayon::scope(|scope| self.run(Some(scope), root)),
            None => self.run(None, root),
        }
        let mut nodes: Vec<Option<GrownNode>> = vec![None; self.next.load(Relaxed) as usize];
        let workspaces = std::mem::take(&mut *lock(&self.workspaces));
        workspaces
            .into_iter()
            .flat_map(|workspace| workspace.grown)
            .for_each(|(id, grown)| nodes[id as usize] = Some(grown));
        (nodes.into_iter().flatten().collect(), self.stop.get().copied())
    }

    /// Grows a node and all nodes below it; idle threads may take large ones.
    fn run<'s>(&'s self, scope: Option<&Scope<'s>>, node: OpenNode<'t>)
    where
        't: 's,
    {
        let mut workspace = self.workspace();
        let mut ticker = Ticker::new(self.budget);
        let mut stack = vec![node];
        while let Some(mut node) = stack.pop() {
            let Some((column, split)) = self.choose(&mut node, &mut workspace, &mut ticker) else {
                workspace.grown.push((node.id, node.leaf()));
                continue;
            };
            for child in self.split(node, column, split.test, &mut workspace, &mut ticker) {
                match scope {
                    Some(scope) if child.work() > PARALLEL_NODES && !stack.is_empty() => {
                        scope.spawn(move |scope| self.run(Some(scope), child));
                    }
                    _ => stack.push(child),
                }
            }
        }
        self.give_back(workspace);
    }

    fn rule(&self, node: &OpenNode) -> &SplitRule<I> {
        &self.rules[usize::from(!node.whole)]
    }

    fn workspace(&self) -> Workspace<'t> {
        lock(&self.workspaces).pop().unwrap_or_default()
    }

    fn give_back(&self, workspace: Workspace<'t>) {
        lock(&self.workspaces).push(workspace);
    }

    fn is_parallel(&self, node: &OpenNode) -> bool {
        self.threads > 1 && node.work() > PARALLEL_COLUMNS
    }

    fn is_leaf(&self, node: &OpenNode) -> bool {
        self.rule(node).is_leaf(&node.stats.masses, node.count, node.depth)
    }

    fn has_stopped(&self) -> bool {
        self.stop.get().is_some()
    }

    /// The outcome of some work; `None` if the budget is exhausted, which ends growth.
    fn unless_stopped<T>(&self, outcome: Result<T, Stop>) -> Option<T> {
        outcome.map_err(|stop| self.stop.set(stop)).ok()
    }

    /// Does work with a workspace of its own.
    fn with_workspace<T>(&self, work: impl FnOnce(&mut Workspace<'t>) -> T) -> T {
        let mut workspace = self.workspace();
        let done = work(&mut workspace);
        self.give_back(workspace);
        done
    }
}

impl OpenNode<'_> {
    /// Histogram to be read: about what the node costs.
    fn work(&self) -> usize {
        self.rows * (self.presorted.len() + self.others.len()).max(1)
    }

    fn leaf(self) -> GrownNode {
        GrownNode { masses: self.stats.masses.into(), whole: self.whole, rows: self.rows as u32, split: None }
    }
}
