//! A first tree, within milliseconds: grown by looking ahead.

use super::super::shape::Shape;
use super::search::{IntervalSearch, Query};
use super::stump::Index;
use crate::budget::Stop;
use crate::constraint::usable;

impl<I: Index> IntervalSearch<'_, I> {
    /// A tree whose roots are those of best trees of depth two, and its cost. At most depth times the work of one such
    /// tree of all instances, about.
    pub(super) fn look_ahead(&mut self, level: usize, (depth, nodes): (u32, u64)) -> Result<(Shape, i64), Stop> {
        let (depth, nodes) = usable(depth, nodes);
        let (shallow, of_shallow) = usable(depth.min(2), nodes);
        let ground = self.nodes.ground;
        let relaxed = ground.min_leaf <= 1;
        let ask = Query { depth: shallow, nodes: of_shallow, target: i64::MAX / 4, ties: false, relaxed };
        if depth <= 2 || self.nodes.at(level).leaf() <= ground.penalty {
            let solved = self.solve(level, &ask)?;
            return Ok((solved.shape.unwrap_or(Shape::Leaf), solved.upper));
        }
        let best = self.best(level, &ask)?;
        let shape = self.shape(level, &best, &ask)?;
        let Some((column, cut)) = best.root() else { return Ok((shape, best.cost)) };
        self.descend_to(level, column, cut, false);
        let (left, cost_left) = self.look_ahead(level + 1, (depth - 1, (nodes - 1).div_ceil(2)))?;
        self.descend_to(level, column, cut, true);
        let (right, cost_right) = self.look_ahead(level + 1, (depth - 1, nodes - 1 - left.n_nodes()))?;
        let cost = ground.penalty + cost_left + cost_right;
        self.nodes.open(level, column);
        Ok(match cost < best.cost {
            true => (self.split(level, column, cut, [left, right]), cost),
            false => (shape, best.cost),
        })
    }
}
