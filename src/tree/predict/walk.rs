//! The paths of rows through a tree: blocks of rows walk down a [`CompiledTree`]; where it leaves a case open, the test
//! itself and the policies of the tree decide here.

use std::ops::Range;

use super::BLOCK;
use super::cells::CellSource;
use super::compiled::{CompiledTree, MovingRows};
use crate::data::Value;
use crate::error::{Error, Result, list_names};
use crate::tree::{Node, Split, Tree, Unseen};

/// Called for each row, in order, with its number in the block and the node where it stops: a leaf, or a split that it
/// leaves by several branches.
pub type RowVisitor<'v> = dyn FnMut(&mut dyn RowPaths, u8, u32) -> Result<()> + 'v;

/// The paths of the rows of a block, from any node on.
pub trait RowPaths {
    /// The child that a row goes to from a split; `None` at a leaf, and where it goes to several.
    fn child(&self, node: u32, row: u8) -> Result<Option<u32>>;

    /// What a row has in the column that a split asks about, and the name of the level if it is unseen.
    fn value(&self, split: &Split, row: u8) -> (Value, Option<&str>);

    /// The node where a row stops that starts at `node`.
    fn descend(&self, node: u32, row: u8) -> Result<u32>;

    /// Calls `visit` with each leaf that a row reaches from `node`, where it stopped, in preorder, and with the share
    /// of the row that goes there.
    fn spread(&mut self, node: u32, row: u8, visit: &mut dyn FnMut(u32, f64)) -> Result<()>;
}

/// A tree, and a block of rows that walk down it.
pub(super) struct Walk<'a, S> {
    tree: &'a Tree,
    compiled: &'a CompiledTree,
    source: S,
    /// The rows of the block.
    rows: Range<usize>,
    /// A buffer for [`RowPaths::spread`].
    pending: Vec<(u32, f64)>,
}

impl<'a, S: CellSource> Walk<'a, S> {
    /// Walks rows down, one block after the other.
    pub(super) fn each(tree: &'a Tree, source: S, rows: Range<usize>, visit: &mut RowVisitor<'_>) -> Result<()> {
        let mut walk = Walk { tree, compiled: tree.compiled(), source, rows: 0..0, pending: Vec::new() };
        for start in rows.clone().step_by(BLOCK) {
            let (nodes, failed) = walk.block(start..rows.end.min(start + BLOCK));
            for (row, &node) in nodes[..walk.rows.len()].iter().enumerate() {
                match &failed {
                    Some((at, error)) if *at == row => return Err(error.clone()),
                    _ => visit(&mut walk, row as u8, node)?,
                }
            }
        }
        Ok(())
    }

    /// The nodes where the rows of a block stop, and the first row that fails, with its error.
    fn block(&mut self, rows: Range<usize>) -> ([u32; BLOCK], Option<(usize, Error)>) {
        self.rows = rows.clone();
        self.source.turn_to(rows.clone());
        let mut moving = MovingRows::new(rows.len());
        let mut open: Vec<u8> = (0..rows.len()).map(|row| row as u8).collect();
        let mut failed: Option<(usize, Error)> = None;
        while moving.is_moving() {
            self.compiled.run(&self.source, &mut moving);
            open.retain(|&row| match self.leave(moving.nodes[row as usize], row) {
                Ok(Some(child)) => {
                    moving.resume(row, child);
                    true
                }
                Ok(None) => false,
                Err(error) => {
                    if failed.as_ref().is_none_or(|(first, _)| (row as usize) < *first) {
                        failed = Some((row as usize, error));
                    }
                    false
                }
            });
        }
        (moving.nodes, failed)
    }

    /// The child that a row goes to from a node where it stopped; `None` at a leaf, and where it goes to several.
    fn leave(&self, node: u32, row: u8) -> Result<Option<u32>> {
        if self.compiled.leaf(node).is_some() {
            return Ok(None);
        }
        let Node::Split(split) = &self.tree.nodes[node as usize] else { return Ok(None) };
        let rank = self.rank(split);
        let value = self.source.value(rank, row);
        let branch = match (split.test.branch(value), value) {
            (None, Value::Unseen(code)) => {
                Some(self.branch_of_unseen(split, self.source.level(rank, code), self.rows.start + row as usize)?)
            }
            (None, _) => self.tree.default_branch(split),
            (branch, _) => branch,
        };
        Ok(branch.map(|branch| split.children[branch]))
    }

    /// The place of the column that a split asks about among those that the tree uses.
    fn rank(&self, split: &Split) -> usize {
        self.compiled.features.partition_point(|&feature| feature < split.test.feature())
    }

    /// The branch of an unseen level. Under [`Unseen::Missing`] there are none: they are read as missing.
    #[cold]
    fn branch_of_unseen(&self, split: &Split, level: &str, row: usize) -> Result<usize> {
        if self.tree.policies.unseen != Unseen::Error {
            return Ok(split.heaviest());
        }
        let feature = &self.tree.schema.features[split.test.feature() as usize];
        let (column, known) = (feature.name.clone(), list_names(feature.kind.levels()));
        Err(Error::UnseenLevel { column, row, level: level.into(), known })
    }
}

impl<S: CellSource> RowPaths for Walk<'_, S> {
    fn child(&self, node: u32, row: u8) -> Result<Option<u32>> {
        self.leave(node, row)
    }

    fn value(&self, split: &Split, row: u8) -> (Value, Option<&str>) {
        let rank = self.rank(split);
        match self.source.value(rank, row) {
            Value::Unseen(code) => (Value::Unseen(code), Some(self.source.level(rank, code))),
            value => (value, None),
        }
    }

    fn descend(&self, mut node: u32, row: u8) -> Result<u32> {
        loop {
            node = self.compiled.descend(node, &self.source, row);
            match self.leave(node, row)? {
                Some(child) => node = child,
                None => return Ok(node),
            }
        }
    }

    fn spread(&mut self, node: u32, row: u8, visit: &mut dyn FnMut(u32, f64)) -> Result<()> {
        let mut pending = std::mem::take(&mut self.pending);
        pending.clear();
        let (mut node, mut share) = (node, 1.0);
        loop {
            match &self.tree.nodes[node as usize] {
                Node::Leaf(_) => visit(node, share),
                Node::Split(split) => {
                    let total: f64 = split.masses.iter().sum();
                    let branches = split.children.iter().zip(&split.masses).rev().filter(|(_, mass)| **mass > 0.0);
                    pending.extend(branches.map(|(&child, mass)| (child, share * (mass / total))));
                }
            }
            let Some(next) = pending.pop() else { break };
            (node, share) = (self.descend(next.0, row)?, next.1);
        }
        self.pending = pending;
        Ok(())
    }
}
