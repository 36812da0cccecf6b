//! Growth to a number of leaves: the splits of greatest total gain first.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::{Grower, Task};
use crate::budget::{Stop, Ticker};
use crate::criterion::{Exact, Impurity};
use crate::greedy::split::Cut;

impl<'t, I: Impurity> Grower<'t, I> {
    /// Splits the node of greatest total gain, again and again; ties: the node that came first. A split into more leaves
    /// than are left is passed over.
    pub(super) fn by_gain(&self, root: Task<'t>, most: u64) {
        let mut room = self.room();
        let mut ticker = Ticker::new(self.budget);
        let mut leaves = 1;
        let mut heap = BinaryHeap::new();
        // The masses that exact gains keep.
        let mut held = self.budget.reserve(0).expect("nothing fits beside anything");
        let mut fresh = vec![root];
        loop {
            for mut task in fresh.drain(..) {
                // Gains of different nodes are compared: a rough one is not enough.
                let found = self.choose(&mut task, &mut room, &mut ticker).and_then(|(column, found)| {
                    Some((column, self.closely(&task, column, found, &mut room, &mut ticker)?))
                });
                match found {
                    Some((column, found)) => {
                        let digits = if task.whole { 0 } else { self.table.digits };
                        // In units that whole cases and parts share: powers of two apart.
                        let units = self.rule(&task).impurity.digits() - self.rules[0].impurity.digits();
                        let places = units + digits as i32;
                        let common = |gain: i64| i128::from(gain) << (32 - places);
                        let doubt = self.rule(&task).impurity.noise(task.side.total, found.cut.n_branches());
                        let gain = TotalGain {
                            exact: found.exact.map(|exact| exact.in_common(task.whole, self.table.digits)),
                            rounded: common(found.gain),
                            doubt: common(doubt),
                        };
                        if held.grow(gain.exact.as_ref().map_or(0, Exact::heap) as u64).is_err() {
                            let _ = self.stop.set(Stop::Memory);
                        }
                        heap.push(Candidate { gain, task, column, cut: found.cut });
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
}

/// A node with its split, by total gain; ties: the node that came first.
struct Candidate<'t> {
    gain: TotalGain,
    task: Task<'t>,
    column: u32,
    cut: Cut,
}

/// What a split takes off the impurity of its cases, in units that all nodes share.
struct TotalGain {
    /// As it is, if rounding matters.
    exact: Option<Exact>,
    rounded: i128,
    /// By how much rounding may have changed it.
    doubt: i128,
}

impl TotalGain {
    /// Exact gains take long to compare, and few are so close that it takes them.
    fn compare(&self, other: &Self) -> Ordering {
        let rounded = self.rounded.cmp(&other.rounded);
        if (self.rounded - other.rounded).abs() > self.doubt + other.doubt {
            return rounded;
        }
        let exact = self.exact.as_ref().zip(other.exact.as_ref()).and_then(|(a, b)| a.compare(b));
        exact.unwrap_or(rounded)
    }
}

impl Ord for Candidate<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.gain.compare(&other.gain).then(other.task.id.cmp(&self.task.id))
    }
}

impl PartialOrd for Candidate<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate<'_> {}
