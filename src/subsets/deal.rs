//! Held-out cases on their way down a split, all of a case set at once.

use super::graph::Split;
use super::held_out::{HeldOut, UNSEEN, Way, Ways};
use crate::data::dataset::MISSING;
use crate::greedy::split::Cut;

/// The cases that each branch gets; with room for the work, kept between splits.
#[derive(Debug, Default)]
pub(super) struct Deal {
    /// Per level: its branch. [`MISSING`] for all in between.
    branch_of: Vec<u32>,
    /// Per case: its branch; behind the branches those that come to none, and those that go down all.
    branches: Vec<u32>,
    /// Where the cases of each begin, and where the last end.
    starts: Vec<usize>,
    cases: Vec<u32>,
}

impl Deal {
    /// Deals some cases. Complexity: O(cases + branches).
    pub fn deal<S>(&mut self, held_out: &HeldOut, (split, ways): (&Split<S>, &Ways), cases: &[u32], n_branches: usize) {
        let code = |way: Way| match way {
            Way::Branch(branch) => branch as u32,
            Way::Empty => n_branches as u32,
            Way::Spread => n_branches as u32 + 1,
        };
        let (missing, unseen) = (code(ways.missing), code(ways.unseen));
        let codes = held_out.codes(split.column as usize);
        let Deal { branch_of, branches, starts, cases: dealt } = self;
        let mut send = Send { codes, cases, branches, special: [missing, unseen] };
        match &split.cut {
            Cut::AtMost { .. } => send.by(|code| u32::from(code >= ways.bound)),
            _ if split.is_ordered => send.by(|_| 1),
            Cut::Is(same) => send.by(|code| u32::from(code != *same)),
            Cut::In(listed) => send.by(|code| u32::from(listed.binary_search(&code).is_err())),
            Cut::Each(listed) => {
                let n_levels = listed.last().map_or(0, |&last| last as usize + 1);
                branch_of.resize(branch_of.len().max(n_levels), MISSING);
                (0..).zip(listed).for_each(|(branch, &code)| branch_of[code as usize] = branch);
                let empty = n_branches as u32;
                send.by(|code| branch_of.get(code as usize).map_or(empty, |&branch| branch.min(empty)));
                listed.iter().for_each(|&code| branch_of[code as usize] = MISSING);
            }
        }
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

/// Writes the branch of each case.
struct Send<'a> {
    codes: &'a [u32],
    cases: &'a [u32],
    branches: &'a mut Vec<u32>,
    /// That of a missing value, and of an unseen level.
    special: [u32; 2],
}

impl Send<'_> {
    fn by(&mut self, branch_of: impl Fn(u32) -> u32) {
        let [missing, unseen] = self.special;
        self.branches.clear();
        self.branches.extend(self.cases.iter().map(|&case| match self.codes[case as usize] {
            MISSING => missing,
            UNSEEN => unseen,
            code => branch_of(code),
        }));
    }
}
