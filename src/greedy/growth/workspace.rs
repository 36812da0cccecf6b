//! Buffers for the work on a node, with the nodes that were grown with them.

use super::GrownNode;
use crate::budget::{Budget, Reserved, Stop};
use crate::greedy::histogram::Histogram;
use crate::greedy::partition::Partitioner;
use crate::greedy::screening::Screen;
use crate::greedy::split::Scratch;
use crate::greedy::types::Entry;

/// Buffers of a thread for the work on a node, and the nodes that it grew.
#[derive(Default)]
pub(super) struct Workspace<'t> {
    pub histogram: Histogram,
    pub screen: Screen,
    pub scratch: Scratch,
    pub buffer: Vec<Entry>,
    /// A bit per case of the table: whether it goes to the second of two branches.
    pub goes_right: Vec<u64>,
    /// The branch of each case of the table.
    pub branches: Vec<u32>,
    pub partitioner: Partitioner,
    /// Grown nodes by number.
    pub grown: Vec<(u32, GrownNode)>,
    /// Memory reserved for grown nodes, and the bytes left of it.
    held: Vec<Reserved<'t>>,
    left: u64,
}

/// Memory for nodes is reserved in pieces of this size, as long as there is that much.
pub(super) const PIECE: u64 = 1 << 16;
/// The bytes of a node, grown and in the public tree, apart from its class masses.
pub(super) const NODE_BYTES: u64 = 500;

impl<'t> Workspace<'t> {
    /// With the root as a leaf.
    pub fn of_leaf(root: GrownNode) -> Self {
        Workspace { grown: vec![(0, root)], ..Workspace::default() }
    }

    /// Reserves memory for nodes that are about to be grown.
    pub fn charge(&mut self, budget: &'t Budget, bytes: u64) -> Result<(), Stop> {
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
