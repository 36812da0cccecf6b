//! Growth to a number of leaves: splits of greatest total gain first.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::{Grower, OpenNode};
use crate::budget::{Stop, Ticker};
use crate::criterion::{ClassImpurity, ExactGain};
use crate::greedy::split::Precision;
use crate::greedy::types::CodedTest;

impl<'t, I: ClassImpurity> Grower<'t, I> {
    /// Splits the node of greatest total gain, again and again; ties: the node that was made first. A split into more
    /// leaves than are left is skipped.
    pub(super) fn grow_best_first(&self, root: OpenNode<'t>, most: u64) {
        let mut workspace = self.workspace();
        let mut ticker = Ticker::new(self.budget);
        let mut leaves = 1;
        let mut heap = BinaryHeap::new();
        // Memory of exact gains.
        let mut held = self.budget.reserve(0).expect("zero bytes always fit");
        let mut fresh = vec![root];
        loop {
            for mut node in fresh.drain(..) {
                // Gains of different nodes are compared: screened ones are not enough.
                let split = self.choose(&mut node, &mut workspace, &mut ticker).and_then(|(column, split)| {
                    Some((column, self.with_exact_gain(&node, column, split, &mut workspace, &mut ticker)?))
                });
                match split {
                    Some((column, split)) => {
                        let fraction_bits = if node.whole { 0 } else { self.table.digits };
                        // Fixed-point gains of nodes of whole cases and of fractional ones have scales that are a power
                        // of two apart.
                        let impurity = &self.rule(&node).impurity;
                        let scale_bits = impurity.scale_bits() - self.rules[0].impurity.scale_bits();
                        let common = |gain: i64| i128::from(gain) << (32 - scale_bits - fraction_bits as i32);
                        let exact = match split.precision {
                            Precision::Exact { gain, .. } => Some(gain.in_common(node.whole, self.table.digits)),
                            _ => None,
                        };
                        let rounding_error = impurity.rounding_error(node.stats.total, split.test.n_branches());
                        let gain =
                            TotalGain { exact, rounded: common(split.gain), rounding_error: common(rounding_error) };
                        if held.grow(gain.exact.as_ref().map_or(0, ExactGain::heap) as u64).is_err() {
                            let _ = self.stop.set(Stop::Memory);
                        }
                        heap.push(SplittableNode { gain, node, column, test: split.test });
                    }
                    None => workspace.grown.push((node.id, node.leaf())),
                }
            }
            let Some(SplittableNode { node, column, test, .. }) = heap.pop() else { break };
            let more = self.table.columns[column as usize].n_branches(&test) - 1;
            if self.has_stopped() || leaves + more > most {
                workspace.grown.push((node.id, node.leaf()));
                continue;
            }
            leaves += more;
            fresh = self.split(node, column, test, &mut workspace, &mut ticker);
        }
        self.give_back(workspace);
    }
}

/// A node with its split, ordered by total gain; ties: the node that was made first.
struct SplittableNode<'t> {
    gain: TotalGain,
    node: OpenNode<'t>,
    column: u32,
    test: CodedTest,
}

/// The total gain of a split, in units that all nodes share.
struct TotalGain {
    /// The exact gain, if rounding matters.
    exact: Option<ExactGain>,
    rounded: i128,
    /// The greatest rounding error.
    rounding_error: i128,
}

impl TotalGain {
    /// Compares exact gains only if the rounded ones are too close: exact comparison is slow.
    fn compare(&self, other: &Self) -> Ordering {
        let rounded = self.rounded.cmp(&other.rounded);
        if (self.rounded - other.rounded).abs() > self.rounding_error + other.rounding_error {
            return rounded;
        }
        let exact = self.exact.as_ref().zip(other.exact.as_ref()).and_then(|(a, b)| a.compare(b));
        exact.unwrap_or(rounded)
    }
}

impl Ord for SplittableNode<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.gain.compare(&other.gain).then(other.node.id.cmp(&self.node.id))
    }
}

impl PartialOrd for SplittableNode<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for SplittableNode<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for SplittableNode<'_> {}
