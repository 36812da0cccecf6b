//! The branches of a node that was split, with their cases and their parts of the sorted columns.

use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;
use smallvec::SmallVec;

use super::{Grower, Grown, GrownSplit, NODE_BYTES, PIECE, Room, Task};
use crate::bits;
use crate::budget::{Reserved, Stop, Ticker};
use crate::criterion::Impurity;
use crate::greedy::cases::{CaseSet, Part};
use crate::greedy::chain::{Chain, Ended, Left, Links};
use crate::greedy::orders::{self, Entry};
use crate::greedy::split::Cut;
use crate::greedy::sums::ClassSums;

impl<'t, I: Impurity> Grower<'t, I> {
    /// Splits a node, and gives those of its branches that may be split in turn, in order.
    pub(super) fn split(
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
        let first = self.numbers_for(cut.n_branches() as u32);
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
        let (masses, rows) = (task.side.masses.into(), task.rows as u32);
        room.grown.push((task.id, Grown { masses, whole: task.whole, rows, split: Some(split) }));
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
        let first = self.numbers_for(2);
        for (id, branch) in (first..).zip(&mut branches) {
            branch.id = id;
        }
        let split = GrownSplit { column, cut, first, own };
        let (masses, rows) = (task.side.masses.into(), task.rows as u32);
        room.grown.push((task.id, Grown { masses, whole: true, rows, split: Some(split) }));
        Ok(self.children(branches, room))
    }

    /// Numbers for the nodes of new branches: the first of them.
    fn numbers_for(&self, branches: u32) -> u32 {
        self.budget.count_grown(branches.into());
        self.next.fetch_add(branches, Relaxed)
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
