//! The held-out cases of a case set, partitioned by a split.

use super::routing::{Route, Router};

/// The cases that go down each branch of a split. Its buffers are kept from split to split.
#[derive(Debug, Default)]
pub(crate) struct HoldoutPartition {
    n_branches: usize,
    /// Per case: its branch; behind the branches come a group for those on an empty branch, and one for those that are
    /// spread.
    groups: Vec<u32>,
    /// Where the cases of each group begin, and where the last end.
    starts: Vec<usize>,
    cases: Vec<u32>,
}

impl HoldoutPartition {
    /// Partitions some cases. Complexity: O(cases x log branches).
    pub fn fill(&mut self, router: Router, cases: &[u32], n_branches: usize) {
        self.n_branches = n_branches;
        let HoldoutPartition { groups, starts, cases: partitioned, .. } = self;
        groups.clear();
        groups.extend(cases.iter().map(|&case| match router.route(case) {
            Route::Branch(branch) => branch,
            Route::Empty => n_branches as u32,
            Route::Spread => n_branches as u32 + 1,
        }));
        starts.clear();
        starts.resize(n_branches + 3, 0);
        groups.iter().for_each(|&group| starts[group as usize + 1] += 1);
        (1..starts.len()).for_each(|group| starts[group] += starts[group - 1]);
        partitioned.resize(cases.len().max(partitioned.len()), 0);
        for (&case, &group) in cases.iter().zip(&*groups) {
            let place = &mut starts[group as usize];
            partitioned[*place] = case;
            *place += 1;
        }
        // Each start has moved on to the next one.
        starts.rotate_right(1);
        starts[0] = 0;
    }

    /// The cases that go down a branch, ascending.
    pub fn branch(&self, branch: usize) -> &[u32] {
        &self.cases[self.starts[branch]..self.starts[branch + 1]]
    }

    /// The cases that go down a branch that no building case took.
    pub fn on_empty_branch(&self) -> &[u32] {
        self.branch(self.n_branches)
    }

    /// The cases that go down all branches.
    pub fn spread(&self) -> &[u32] {
        self.branch(self.n_branches + 1)
    }
}
