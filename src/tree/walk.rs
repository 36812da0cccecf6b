//! The way of rows through a tree: blocks of them walk down by [`Steps`], and what those leave open is decided here, by
//! the tests themselves.

use std::ops::Range;

use super::source::{Rows, Source};
use super::steps::{BLOCK, Lanes, Steps};
use super::{Node, Split, Tree, Unseen};
use crate::data::Value;
use crate::error::{Error, Result, list_names};

/// Called for each row, in order, with its place in the block and the node where it ends: a leaf, or a split that it
/// leaves by several branches.
pub type Visit<'v> = dyn FnMut(&mut dyn Ways, u8, u32) -> Result<()> + 'v;

/// The ways of the rows of a block from where they ended.
pub trait Ways {
    /// The child that a row goes to from a split; `None` at a leaf, and where there are several.
    fn step(&self, node: u32, lane: u8) -> Result<Option<u32>>;

    /// What a row has in the column that a split asks about, and the name of a level that is unseen.
    fn look(&self, split: &Split, lane: u8) -> (Value, Option<&str>);

    /// Where a row ends that starts at `node`.
    fn descend(&self, node: u32, lane: u8) -> Result<u32>;

    /// Calls `visit` with each leaf that a row reaches from `node`, where it ended, in preorder, and the share of the row
    /// that does.
    fn spread(&mut self, node: u32, lane: u8, visit: &mut dyn FnMut(u32, f64)) -> Result<()>;
}

/// A tree tied to a block of rows.
pub(super) struct Walk<'a, S> {
    tree: &'a Tree,
    steps: &'a Steps,
    source: S,
    /// The rows of the block.
    rows: Range<usize>,
    /// Room for the work of [`Ways::spread`].
    pending: Vec<(u32, f64)>,
}

impl Tree {
    /// Walks rows down the tree.
    pub(super) fn walk(
        &self,
        data: &(impl Rows + ?Sized),
        rows: Range<usize>,
        mut visit: impl FnMut(&mut dyn Ways, u8, u32) -> Result<()>,
    ) -> Result<()> {
        if rows.end > data.n_rows() {
            return Err(Error::InvalidParameter {
                name: "rows",
                expected: format!("within the {} rows of the table", data.n_rows()),
                got: format!("{rows:?}"),
            });
        }
        data.walk(self, rows, &mut visit)
    }
}

impl<'a, S: Source> Walk<'a, S> {
    /// Walks rows down, a block after the other.
    pub(super) fn each(tree: &'a Tree, source: S, rows: Range<usize>, visit: &mut Visit<'_>) -> Result<()> {
        let mut walk = Walk { tree, steps: tree.steps(), source, rows: 0..0, pending: Vec::new() };
        for start in rows.clone().step_by(BLOCK) {
            let (nodes, failed) = walk.block(start..rows.end.min(start + BLOCK));
            for (lane, &node) in nodes[..walk.rows.len()].iter().enumerate() {
                match &failed {
                    Some((at, error)) if *at == lane => return Err(error.clone()),
                    _ => visit(&mut walk, lane as u8, node)?,
                }
            }
        }
        Ok(())
    }

    /// Where the rows of the next block end, and the first that does not.
    fn block(&mut self, rows: Range<usize>) -> ([u32; BLOCK], Option<(usize, Error)>) {
        self.rows = rows.clone();
        self.source.turn_to(rows.clone());
        let mut lanes = Lanes::new(rows.len());
        let mut open: Vec<u8> = (0..rows.len()).map(|lane| lane as u8).collect();
        let mut failed: Option<(usize, Error)> = None;
        while lanes.is_moving() {
            self.steps.run(&self.source, &mut lanes);
            open.retain(|&lane| match self.leave(lanes.nodes[lane as usize], lane) {
                Ok(Some(child)) => {
                    lanes.resume(lane, child);
                    true
                }
                Ok(None) => false,
                Err(error) => {
                    if failed.as_ref().is_none_or(|(first, _)| (lane as usize) < *first) {
                        failed = Some((lane as usize, error));
                    }
                    false
                }
            });
        }
        (lanes.nodes, failed)
    }

    /// The child that a row goes to from a node where it stopped; `None` at a leaf, and where there are several.
    fn leave(&self, node: u32, lane: u8) -> Result<Option<u32>> {
        if self.steps.leaf(node).is_some() {
            return Ok(None);
        }
        let Node::Split(split) = &self.tree.nodes[node as usize] else { return Ok(None) };
        let rank = self.rank(split);
        let value = self.source.value(rank, lane);
        let branch = match (split.test.branch(value), value) {
            (None, Value::Unseen(code)) => {
                Some(self.without_level(split, self.source.level(rank, code), self.rows.start + lane as usize)?)
            }
            (None, _) => self.tree.without_value(split),
            (branch, _) => branch,
        };
        Ok(branch.map(|branch| split.children[branch]))
    }

    /// The number of the column that a split asks about.
    fn rank(&self, split: &Split) -> usize {
        self.steps.features.partition_point(|&feature| feature < split.test.feature())
    }

    /// The branch of an unseen level; [`Unseen::Missing`] was settled in the reader.
    #[cold]
    fn without_level(&self, split: &Split, level: &str, row: usize) -> Result<usize> {
        if self.tree.policies.unseen != Unseen::Error {
            return Ok(split.heaviest());
        }
        let feature = &self.tree.schema.features[split.test.feature() as usize];
        let (column, known) = (feature.name.clone(), list_names(feature.kind.levels()));
        Err(Error::UnseenLevel { column, row, level: level.into(), known })
    }
}

impl<S: Source> Ways for Walk<'_, S> {
    fn step(&self, node: u32, lane: u8) -> Result<Option<u32>> {
        self.leave(node, lane)
    }

    fn look(&self, split: &Split, lane: u8) -> (Value, Option<&str>) {
        let rank = self.rank(split);
        match self.source.value(rank, lane) {
            Value::Unseen(code) => (Value::Unseen(code), Some(self.source.level(rank, code))),
            value => (value, None),
        }
    }

    fn descend(&self, mut node: u32, lane: u8) -> Result<u32> {
        loop {
            node = self.steps.descend(node, &self.source, lane);
            match self.leave(node, lane)? {
                Some(child) => node = child,
                None => return Ok(node),
            }
        }
    }

    fn spread(&mut self, node: u32, lane: u8, visit: &mut dyn FnMut(u32, f64)) -> Result<()> {
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
            (node, share) = (self.descend(next.0, lane)?, next.1);
        }
        self.pending = pending;
        Ok(())
    }
}
