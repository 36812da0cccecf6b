//! A tree compiled for prediction: 16 bytes a node, walked by many rows at once.
//!
//! A row alone waits for memory at each node: the next node is known only when this one and a cell have been read. So a
//! block of rows goes down level by level, each row one node per round, and rows that have stopped drop out: the waits
//! of a round overlap, and no branch has to be predicted. A compiled node decides what a number or a known level
//! decides, exactly; at everything else (no value, an unseen level, a threshold that a float cannot hold) the row
//! stops, and [`super::walk`] takes it over.
//!
//! Nodes stand in preorder, so the first child is the next node and only the other one is stored.
//!
//! Cost: O(depth) a row; O(nodes + branches) once per tree, at its first prediction. `benches/peers/greedy.py` times
//! it.

use std::hint::select_unpredictable;

use super::BLOCK;
use super::cells::CellSource;
use crate::bits;
use crate::data::Value;
use crate::tree::{Leaf, MissingPolicy, Node, Split, Test, Threshold, Tree};

/// Integers of a smaller size are exact as floats, so they are compared as floats.
const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53
/// A test with a branch per level becomes a table of children while that has at most this many entries beyond four per
/// branch.
const TABLE: usize = 64;

/// The operation of a compiled node: the high bits of [`CompiledNode::column`].
type Opcode = u32;
const SHIFT: u32 = 29;
const COLUMN: u32 = (1 << SHIFT) - 1;
const AT_MOST: Opcode = 0;
const IS: Opcode = 1 << SHIFT;
/// The row stays where it is: at a leaf (`LEAF`), or because the test is not compiled (`ASK`). The constant is NaN, so
/// that the code for `AT_MOST` stays, too.
const LEAF: Opcode = 2 << SHIFT;
const ASK: Opcode = 3 << SHIFT;
/// This opcode and those after it are told apart by a branch.
const IN: Opcode = 4 << SHIFT;
const JUMP: Opcode = 5 << SHIFT;
const MISSING: Opcode = 6 << SHIFT;

/// One node, compiled.
#[derive(Debug, Clone, Copy)]
struct CompiledNode {
    /// The threshold or the level; where the set or the table begins, as bits; NaN where rows stay.
    constant: f64,
    /// The child of rows that do not pass; the class of a leaf.
    other: u32,
    /// The position in [`CompiledTree::features`], and the opcode in the high bits.
    column: u32,
}

/// The nodes of a tree, compiled.
#[derive(Debug)]
pub(in crate::tree) struct CompiledTree {
    /// Positions of the features that some test asks about, ascending.
    pub features: Vec<u32>,
    nodes: Vec<CompiledNode>,
    /// Sets of levels, each as many words as its column's levels need.
    sets: Vec<u64>,
    /// Children by level.
    tables: Vec<u32>,
    /// Whether there are other tests than `x <= t`.
    mixed: bool,
    /// The class shares of each node, if rows may be spread and there are at most [`SHARES`] of them; 0 at splits.
    shares: Vec<f64>,
    n_classes: usize,
}

/// The most class shares that are kept.
const SHARES: usize = 1 << 22;

/// The rows of a block on their way down: the node where each row is, and which rows still move.
pub(super) struct MovingRows {
    pub nodes: [u32; BLOCK],
    moving: [u8; BLOCK],
    n_moving: usize,
}

impl MovingRows {
    /// All `n_rows` rows at the root.
    pub(super) fn new(n_rows: usize) -> Self {
        MovingRows { nodes: [0; BLOCK], moving: std::array::from_fn(|row| row as u8), n_moving: n_rows }
    }

    /// Lets a row that has stopped go on from `node`.
    pub(super) fn resume(&mut self, row: u8, node: u32) {
        self.nodes[row as usize] = node;
        self.moving[self.n_moving] = row;
        self.n_moving += 1;
    }

    pub(super) fn is_moving(&self) -> bool {
        self.n_moving > 0
    }
}

impl CompiledTree {
    pub(in crate::tree) fn new(tree: &Tree) -> Self {
        let mut ranks = vec![None; tree.schema.features.len()];
        tree.splits().for_each(|split| ranks[split.test.feature() as usize] = Some(0));
        let features: Vec<u32> = (0..).zip(&ranks).filter(|(_, rank)| rank.is_some()).map(|(f, _)| f).collect();
        (0..).zip(&features).for_each(|(rank, &feature)| ranks[feature as usize] = Some(rank));
        let n_classes = tree.schema.labels().map_or(0, |labels| labels.len());
        let is_spread = tree.policies.missing == MissingPolicy::Fractional;
        let n_shares = Some(tree.nodes.len() * n_classes).filter(|&n| is_spread && n <= SHARES).unwrap_or(0);
        let mut all = CompiledTree {
            features,
            nodes: Vec::new(),
            sets: Vec::new(),
            tables: Vec::new(),
            mixed: false,
            shares: vec![0.0; n_shares],
            n_classes,
        };
        if n_shares > 0 {
            for (node, shares) in tree.nodes.iter().zip(all.shares.chunks_exact_mut(n_classes)) {
                if let Node::Leaf(leaf) = node {
                    leaf.add_probabilities(1.0, shares);
                }
            }
        }
        all.nodes.reserve_exact(tree.nodes.len());
        for node in &tree.nodes {
            let compiled = match node {
                Node::Leaf(Leaf::Class { label, .. }) => {
                    CompiledNode { constant: f64::NAN, other: *label, column: LEAF }
                }
                Node::Leaf(Leaf::Number { .. }) => CompiledNode { constant: f64::NAN, other: 0, column: LEAF },
                Node::Split(split) => {
                    let feature = split.test.feature() as usize;
                    let n_levels = tree.schema.features[feature].kind.levels().len();
                    match ranks[feature] {
                        Some(rank) if rank <= COLUMN => {
                            let (kind, constant) = all.compile(split, n_levels);
                            CompiledNode {
                                constant,
                                other: split.children[split.children.len() - 1],
                                column: rank | kind,
                            }
                        }
                        _ => CompiledNode { constant: f64::NAN, other: 0, column: ASK },
                    }
                }
            };
            all.mixed |= matches!(compiled.column & !COLUMN, IS | IN | JUMP | MISSING);
            all.nodes.push(compiled);
        }
        all
    }

    /// The class shares of a leaf, if they are kept.
    pub(super) fn shares(&self, node: u32) -> Option<&[f64]> {
        self.shares.get(node as usize * self.n_classes..(node as usize + 1) * self.n_classes)
    }

    /// The opcode and the constant of a test; `ASK` if it cannot be compiled.
    fn compile(&mut self, split: &Split, n_levels: usize) -> (Opcode, f64) {
        let branches = || (0..n_levels).map(|code| split.test.branch(Value::Level(code as u32)));
        let place = |place: usize| f64::from_bits(place as u64);
        match &split.test {
            // An integer above t is at least t + 1, which is exact, so rounding it to a float leaves it above.
            Test::AtMost { threshold: Threshold::Float(t), .. } if t.is_infinite() || t.abs() < EXACT => (AT_MOST, *t),
            Test::AtMost { threshold: Threshold::Integer(t), .. } if (*t as f64).abs() < EXACT => (AT_MOST, *t as f64),
            Test::AtMost { threshold: Threshold::Level(t), .. } => (AT_MOST, f64::from(*t)),
            Test::AtMost { .. } => (ASK, f64::NAN),
            Test::Is { level, .. } => (IS, f64::from(*level)),
            Test::In { levels, .. } => {
                let start = self.sets.len();
                self.sets.resize(start + bits::words(n_levels), 0);
                levels.iter().for_each(|&level| bits::set(&mut self.sets[start..], level as usize));
                (IN, place(start))
            }
            Test::EachLevel { .. } | Test::EachOf { .. } if n_levels <= 4 * split.children.len() + TABLE => {
                let start = self.tables.len();
                let child = |branch: Option<usize>| split.children[branch.expect("a known level has a branch")];
                self.tables.extend(branches().map(child));
                (JUMP, place(start))
            }
            Test::EachLevel { .. } | Test::EachOf { .. } => (ASK, f64::NAN),
            Test::Missing { .. } => (MISSING, f64::NAN),
        }
    }

    /// The class of the leaf at `node`; `None` if it is a split.
    #[inline]
    pub(super) fn leaf(&self, node: u32) -> Option<u32> {
        let compiled = &self.nodes[node as usize];
        (compiled.column & !COLUMN == LEAF).then_some(compiled.other)
    }

    /// Moves all rows down as far as compiled nodes take them.
    pub(super) fn run(&self, source: &impl CellSource, rows: &mut MovingRows) {
        match self.mixed {
            true => self.run_with::<true>(source, rows),
            false => self.run_with::<false>(source, rows),
        }
    }

    fn run_with<const MIXED: bool>(&self, source: &impl CellSource, rows: &mut MovingRows) {
        let MovingRows { nodes, moving, n_moving } = rows;
        while *n_moving > 0 {
            let mut kept = 0u8;
            let mut last = false;
            for i in 0..*n_moving {
                let row = moving[i];
                let node = nodes[row as usize];
                let next = self.next::<MIXED>(node, source, row);
                nodes[row as usize] = next;
                moving[kept as usize] = row;
                last = next != node;
                kept = kept.wrapping_add(u8::from(last));
            }
            // Where all rows of a full block moved, the count has wrapped around to 0.
            *n_moving = if kept == 0 && last { BLOCK } else { kept as usize };
        }
    }

    /// Moves one row down from `node` as far as compiled nodes take it.
    pub(super) fn descend(&self, mut node: u32, source: &impl CellSource, row: u8) -> u32 {
        while self.leaf(node).is_none() {
            match self.next::<true>(node, source, row) {
                next if next == node => break,
                next => node = next,
            }
        }
        node
    }

    /// The node after `node`; the same one where the row stays.
    #[inline(always)]
    fn next<const MIXED: bool>(&self, node: u32, source: &impl CellSource, row: u8) -> u32 {
        let CompiledNode { constant, other, column } = self.nodes[node as usize];
        let x = source.cell(column & COLUMN, row);
        let pass = |passes: bool| select_unpredictable(passes, node + 1, other);
        match column & !COLUMN {
            kind if MIXED && kind >= IN => {
                let (place, level) = (constant.to_bits() as usize, level(x));
                match kind {
                    MISSING if x.is_nan() && source.has_unseen() => node,
                    MISSING => pass(x.is_nan()),
                    _ if x.is_nan() => node,
                    IN => pass(bits::get(&self.sets[place..], level)),
                    _ => self.tables[place + level],
                }
            }
            // No comparison holds for a missing value, nor at a node where rows stay: the next node is the same.
            kind => {
                let below = MIXED && (kind == IS) & (x < constant);
                select_unpredictable((x > constant) | below, other, node + u32::from(x <= constant))
            }
        }
    }
}

/// The level that a cell holds, from the bits of the float: a conversion would also check its sign and its range.
#[inline(always)]
fn level(x: f64) -> usize {
    (x + 0.5 * EXACT).to_bits() as u32 as usize
}
