//! The branches of a node that was split, with their cases and their parts of the presorted columns.

use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;
use smallvec::SmallVec;

use super::workspace::{NODE_BYTES, PIECE, Workspace};
use super::{Grower, GrownNode, GrownSplit, OpenNode};
use crate::bits;
use crate::budget::{Reserved, Stop, Ticker};
use crate::criterion::ClassImpurity;
use crate::greedy::case_set::CaseSet;
use crate::greedy::chain::{Chain, ChainLinks, EndedChain, RemovedCases};
use crate::greedy::class_sums::ClassSums;
use crate::greedy::partition::BranchCases;
use crate::greedy::presorted;
use crate::greedy::types::{CodedTest, Entry, case_of};

impl<'t, I: ClassImpurity> Grower<'t, I> {
    /// Splits a node, and returns those of its branches that may be split in turn, in order.
    pub(super) fn split(
        &self,
        mut node: OpenNode<'t>,
        column: u32,
        test: CodedTest,
        workspace: &mut Workspace<'t>,
        ticker: &mut Ticker<'t>,
    ) -> Vec<OpenNode<'t>> {
        // For the grown nodes and for the public tree: class masses and the rest.
        let k = self.table.n_classes;
        let bytes = NODE_BYTES + 8 * k as u64 + ClassSums::bytes(k, node.rows);
        let n_branches = self.table.columns[column as usize].n_branches(&test);
        if self.unless_stopped(workspace.charge(self.budget, n_branches.saturating_mul(bytes))).is_none() {
            workspace.grown.push((node.id, node.leaf()));
            return Vec::new();
        }
        if node.chain.is_some() {
            match self.split_chain(node, column, test.clone(), workspace) {
                Ok(children) => return children,
                Err(back) => node = *back,
            }
        }
        let winner = node.presorted.iter().position(|(live, _)| *live == column);
        let mut own = false;
        let mut branches = match (winner, &test) {
            (Some(winner), CodedTest::AtMost { below, .. }) => {
                self.branches_of_presorted(&node, winner, *below, workspace).into()
            }
            _ => {
                let coded = &self.table.columns[column as usize];
                own = coded.has_own(node.set.cases());
                let Some(branches) =
                    self.unless_stopped(self.branches_of_cases(&node, column, &test, workspace, ticker))
                else {
                    workspace.grown.push((node.id, node.leaf()));
                    return Vec::new();
                };
                branches
            }
        };
        let first = self.numbers_for(test.n_branches() as u32);
        for (id, branch) in (first..).zip(&mut branches) {
            branch.id = id;
        }
        let parallel = self.is_parallel(&node);
        let (is_leaf, is_whole) =
            (|branch: &OpenNode| self.is_leaf(branch), branches.iter().all(|branch| branch.whole));
        if !is_whole {
            // With fractional cases, all columns are counted anew.
            node.others.extend(node.presorted.drain(..).map(|(column, _)| column));
            node.others.sort_unstable();
        }
        branches.iter_mut().filter(|branch| !is_leaf(branch)).for_each(|branch| branch.others.clone_from(&node.others));
        if !branches.iter().all(is_leaf) {
            self.partition_presorted(node.presorted, winner, &mut branches, parallel, workspace);
        }
        let split = GrownSplit { column, test, first, own };
        let (masses, rows) = (node.stats.masses.into(), node.rows as u32);
        workspace.grown.push((node.id, GrownNode { masses, whole: node.whole, rows, split: Some(split) }));
        self.children(branches, workspace)
    }

    /// The branches that may be split in turn; others are leaves.
    fn children(&self, branches: Vec<OpenNode<'t>>, workspace: &mut Workspace<'t>) -> Vec<OpenNode<'t>> {
        let mut children = Vec::with_capacity(branches.len());
        for mut branch in branches {
            let bytes = branch.set.bytes() + 8 * branch.stats.masses.len();
            if self.is_leaf(&branch) || !self.holds(&mut branch.held, bytes) {
                workspace.grown.push((branch.id, branch.leaf()));
            } else {
                children.push(branch);
            }
        }
        children
    }

    /// Reserves the memory that a node holds until it is grown, if that is much.
    fn holds(&self, held: &mut Option<Reserved<'t>>, bytes: usize) -> bool {
        if bytes < PIECE as usize / 4 {
            return true;
        }
        *held = self.unless_stopped(self.budget.reserve(bytes as u64));
        held.is_some()
    }

    /// [`Grower::split`] at a node of a chain. Returns the node, with its own columns again, if the chain ends there.
    fn split_chain(
        &self,
        mut node: OpenNode<'t>,
        column: u32,
        test: CodedTest,
        workspace: &mut Workspace<'t>,
    ) -> Result<Vec<OpenNode<'t>>, Box<OpenNode<'t>>> {
        let Some(mut chain) = node.chain.take() else { return Err(node.into()) };
        let own = chain.has_own(self.table, column);
        let (others, left) = (chain.columns(), chain.remove_small_branch(self.table, column, &test, node.count));
        let Some(RemovedCases { cases, branch }) = left else {
            self.end_chain(&mut node, *chain);
            return Err(node.into());
        };
        let set = CaseSet::whole(cases);
        let (masses, count) = set.masses(self.table);
        let rest = node.stats.masses.iter().zip(&masses).map(|(all, part)| all - part).collect();
        let rows = set.cases().len();
        let mut small = self.branch(&node, true, masses.into_vec(), count, rows);
        let mut large = self.branch(&node, true, rest, node.count - count, node.rows - rows);
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
        let split = GrownSplit { column, test, first, own };
        let (masses, rows) = (node.stats.masses.into(), node.rows as u32);
        workspace.grown.push((node.id, GrownNode { masses, whole: true, rows, split: Some(split) }));
        Ok(self.children(branches, workspace))
    }

    /// Reserves numbers for new nodes; returns the first.
    fn numbers_for(&self, branches: u32) -> u32 {
        self.budget.count_grown(branches.into());
        self.next.fetch_add(branches, Relaxed)
    }

    /// Gives the columns of a chain back to its node.
    fn end_chain(&self, node: &mut OpenNode<'t>, chain: Chain<'t>) {
        let EndedChain { presorted, others, cases: set } = chain.end();
        (node.presorted, node.others, node.set, node.links) = (presorted, others, set, ChainLinks::none());
    }

    /// The branches of a threshold of a presorted column; marks the cases of the second branch in `goes_right`.
    fn branches_of_presorted(
        &self,
        node: &OpenNode<'t>,
        winner: usize,
        below: u32,
        workspace: &mut Workspace<'t>,
    ) -> [OpenNode<'t>; 2] {
        let entries = &*node.presorted[winner].1;
        let (left, right) = entries.split_at(entries.partition_point(|&entry| self.layout.code(entry) <= below));
        workspace.goes_right.resize(bits::words(self.table.n_cases), 0);
        left.iter().for_each(|&entry| bits::clear(&mut workspace.goes_right, case_of(entry) as usize));
        right.iter().for_each(|&entry| bits::set(&mut workspace.goes_right, case_of(entry) as usize));
        // The smaller branch is counted; the other one is the rest.
        let (small, large) = if left.len() <= right.len() { (left, right) } else { (right, left) };
        let mut masses = vec![0; self.table.n_classes];
        let mut count = 0;
        for &entry in small {
            masses[self.layout.class(entry) as usize] += self.table.mass(case_of(entry));
            count += self.table.count(case_of(entry));
        }
        let others = node.stats.masses.iter().zip(&masses).map(|(all, part)| all - part).collect();
        let small = self.branch(node, true, masses, count, small.len());
        let large = self.branch(node, true, others, node.count - count, large.len());
        let mut branches = if left.len() <= right.len() { [small, large] } else { [large, small] };
        if !node.others.is_empty() {
            let goes_right = |case: &&u32| bits::get(&workspace.goes_right, **case as usize);
            let left = node.set.cases().iter().filter(|case| !goes_right(case)).copied();
            branches[0].set = CaseSet::whole(left.collect());
            branches[1].set = CaseSet::whole(node.set.cases().iter().filter(goes_right).copied().collect());
        }
        branches
    }

    /// The branches of a split of another column; marks the branch of each case if presorted columns are to be
    /// partitioned.
    fn branches_of_cases(
        &self,
        node: &OpenNode<'t>,
        column: u32,
        test: &CodedTest,
        workspace: &mut Workspace<'t>,
        ticker: &mut Ticker<'t>,
    ) -> Result<Vec<OpenNode<'t>>, Stop> {
        let parts = workspace.partitioner.partition(&node.set, self.table, column as usize, test, ticker, |_| true)?;
        if !node.presorted.is_empty() && parts.iter().all(|part| part.whole) {
            if let [left, right] = &parts[..] {
                workspace.goes_right.resize(bits::words(self.table.n_cases), 0);
                left.set.cases().iter().for_each(|&case| bits::clear(&mut workspace.goes_right, case as usize));
                right.set.cases().iter().for_each(|&case| bits::set(&mut workspace.goes_right, case as usize));
            } else {
                workspace.branches.resize(self.table.n_cases, 0);
                for (branch, part) in (0..).zip(&parts) {
                    part.set.cases().iter().for_each(|&case| workspace.branches[case as usize] = branch);
                }
            }
        }
        let branch = |part: BranchCases| {
            let branch = self.branch(node, part.whole, part.masses.into_vec(), part.count, part.rows);
            OpenNode { set: part.set, ..branch }
        };
        Ok(parts.into_iter().map(branch).collect())
    }

    fn branch(&self, node: &OpenNode<'t>, whole: bool, masses: Vec<u64>, count: u64, rows: usize) -> OpenNode<'t> {
        OpenNode {
            id: 0,
            depth: node.depth + 1,
            stats: self.rules[usize::from(!whole)].impurity.stats(masses),
            whole,
            count,
            rows,
            presorted: Vec::new(),
            others: Vec::new(),
            set: CaseSet::default(),
            chain: None,
            links: node.links.of_branch(self.chains, rows, node.rows),
            held: None,
        }
    }

    /// Gives each branch that may be split in turn its part of every presorted column that is not constant there.
    fn partition_presorted(
        &self,
        columns: Vec<(u32, &'t mut [Entry])>,
        winner: Option<usize>,
        branches: &mut [OpenNode<'t>],
        parallel: bool,
        workspace: &mut Workspace<'t>,
    ) {
        let lengths: Vec<usize> = branches.iter().map(|branch| branch.rows).collect();
        let (goes_right, branch_of) = (&workspace.goes_right, &workspace.branches);
        let part = |(index, (column, entries)): (usize, (u32, &'t mut [Entry])), buffer: &mut Vec<Entry>| {
            let parts: SmallVec<[&'t mut [Entry]; 2]> = if Some(index) == winner {
                <[_; 2]>::from(entries.split_at_mut(lengths[0])).into()
            } else if lengths.len() == 2 {
                presorted::partition_in_two(entries, goes_right, buffer).into()
            } else {
                presorted::partition(entries, branch_of, &lengths, buffer)
            };
            (column, parts)
        };
        let mut give = |(column, parts): (u32, SmallVec<[&'t mut [Entry]; 2]>)| {
            for (branch, part) in branches.iter_mut().zip(parts) {
                if !self.layout.is_constant(part) && !self.is_leaf(branch) {
                    branch.presorted.push((column, part));
                }
            }
        };
        if parallel {
            let part = |column| self.with_workspace(|workspace| part(column, &mut workspace.buffer));
            let parts: Vec<_> = columns.into_par_iter().enumerate().map(part).collect();
            parts.into_iter().for_each(give);
        } else {
            columns.into_iter().enumerate().for_each(|column| give(part(column, &mut workspace.buffer)));
        }
    }
}
