//! Held-out cases on their way down a split, all of a case set at once.

use super::graph::Split;
use super::held_out::{HeldOut, Way};

/// The cases that each branch gets; with room for the work, kept between splits.
#[derive(Debug, Default)]
pub(super) struct Deal {
    /// Per case: its branch; behind the branches those that come to none, and those that go down all.
    branches: Vec<u32>,
    /// Where the cases of each begin, and where the last end.
    starts: Vec<usize>,
    cases: Vec<u32>,
}

impl Deal {
    /// Deals some cases. Complexity: O(cases x log branches).
    pub fn deal<S>(&mut self, held_out: &HeldOut, split: &Split<S>, cases: &[u32], n_branches: usize) {
        let Deal { branches, starts, cases: dealt } = self;
        branches.clear();
        branches.extend(cases.iter().map(|&case| match held_out.way(split, case) {
            Way::Branch(branch) => branch as u32,
            Way::Empty => n_branches as u32,
            Way::Spread => n_branches as u32 + 1,
        }));
        starts.clear();
        starts.resize(n_branches + 3, 0);
        branches.iter().for_each(|&branch| starts[branch as usize + 1] += 1);
        (1..starts.len()).for_each(|branch| starts[branch] += starts[branch - 1]);
        dealt.resize(cases.len().max(dealt.len()), 0);
        for (&case, &branch) in cases.iter().zip(&*branches) {
            let place = &mut starts[branch as usize];
            dealt[*place] = case;
            *place += 1;
        }
        // Each start has moved on to the next one.
        starts.rotate_right(1);
        starts[0] = 0;
    }

    /// The cases of a branch, ascending; behind the last those that come to a branch without building cases, and then those
    /// that go down all.
    pub fn of(&self, branch: usize) -> &[u32] {
        &self.cases[self.starts[branch]..self.starts[branch + 1]]
    }
}
