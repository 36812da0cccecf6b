//! First trees: within milliseconds one grown greedily by Gini impurity and cut back where a leaf costs no more; if asked
//! for, better ones by limited discrepancy search.

use super::super::problem::{Cases, Mass};
use super::super::progress::Anytime;
use super::super::shape::Shape;
use super::depth_two::INADMISSIBLE;
use super::engine::ReferenceEngine;
use crate::budget::{Stop, Ticker};
use crate::constraint::usable;

impl<M: Mass> ReferenceEngine<'_, M> {
    /// A tree within the limits, and its cost. O(depth x ones of all cases).
    pub(in crate::optimal) fn greedy(&self, cases: &Cases, depth: u32, nodes: u64) -> Result<(Shape, u64, u64), Stop> {
        let (depth, nodes) = usable(depth, nodes);
        let totals = self.problem.totals(cases);
        let leaf = self.problem.leaf(&totals);
        let as_leaf = (Shape::Leaf, leaf, 0);
        if depth == 0 || leaf <= self.problem.node_penalty {
            return Ok(as_leaf);
        }
        let Some(test) = self.purest_split(cases)? else { return Ok(as_leaf) };
        let passing = self.problem.passing_side(test);
        let sides = self.problem.split(cases, test);
        // Half of the nodes left for the passing branch; the failing one may use what that did not.
        let (pass, pass_cost, used) = self.greedy(&sides[passing], depth - 1, (nodes - 1).div_ceil(2))?;
        let (fail, fail_cost, used_too) = self.greedy(&sides[1 - passing], depth - 1, nodes - 1 - used)?;
        let cost = pass_cost + fail_cost + self.problem.node_penalty;
        if cost >= leaf {
            return Ok(as_leaf);
        }
        Ok((Shape::Split(test as u32, Box::new([pass, fail])), cost, 1 + used + used_too))
    }

    /// The admissible test of least Gini impurity; ties: the first. It only orders work: floats will do.
    fn purest_split(&self, cases: &Cases) -> Result<Option<usize>, Stop> {
        self.with_scratch(|scratch| {
            let (counts, ticker) = (&mut scratch.counts, &mut Ticker::new(self.budget));
            counts.count(self.problem, cases, 0..0, ticker)?;
            let as_float = |mass: M| {
                let mass: u64 = mass.into();
                mass as f64
            };
            let classes = 0..self.problem.n_classes;
            // Sum of squared masses over mass: the greater, the purer.
            let purity = |masses: &dyn Fn(usize) -> f64| {
                let (sum, squares) = classes.clone().map(masses).fold((0.0, 0.0), |(s, q), m| (s + m, q + m * m));
                (sum > 0.0).then(|| squares / sum)
            };
            let mut best: Option<(f64, usize)> = None;
            let mut rest: Vec<M> = Vec::new();
            for test in 0..self.problem.n_tests {
                ticker.tick(8 * self.problem.channels)?;
                let ones = counts.single(test);
                rest.clear();
                rest.extend(counts.totals.iter().zip(ones).map(|(&all, &one)| all - one));
                if !(self.problem.admissible(ones) && self.problem.admissible(&rest)) {
                    continue;
                }
                let (Some(one), Some(zero)) = (purity(&|c| as_float(ones[c])), purity(&|c| as_float(rest[c]))) else {
                    continue; // no mass on one side
                };
                if best.is_none_or(|(purest, _)| one + zero > purest) {
                    best = Some((one + zero, test));
                }
            }
            Ok(best.map(|(_, test)| test))
        })
    }

    /// Passes of limited discrepancy search, each more thorough than the last: pass k looks at the trees whose choices
    /// on any path lie, all together, at most k places behind the best by a look ahead of depth two (Harvey and
    /// Ginsberg 1995; for decision trees Kiossou et al. 2022).
    pub(in crate::optimal) fn offer_limited(
        &self,
        root: &Cases,
        (depth, nodes): (u32, u64),
        most: u32,
        anytime: &Anytime,
    ) -> Result<(), Stop> {
        for discrepancies in 0..=most {
            let (shape, cost, _) = self.limited(root, depth, nodes, discrepancies)?;
            anytime.offer(shape, cost);
        }
        Ok(())
    }

    /// The best of these trees, its cost and its number of nodes. O(discrepancies ^ (depth - 2)) trees of depth two.
    fn limited(&self, cases: &Cases, depth: u32, nodes: u64, discrepancies: u32) -> Result<(Shape, u64, u64), Stop> {
        self.budget.visit()?;
        let shallow = usable(depth.min(2), nodes);
        let (mut cost, order) = self.with_scratch(|scratch| {
            let cost = self.depth_two_with(cases, shallow.0, scratch)?[shallow.1 as usize];
            let mut order: Vec<(u64, usize)> =
                (0..self.problem.n_tests).map(|test| (scratch.roots.cost(test), test)).collect();
            order.retain(|&(cost, _)| cost < INADMISSIBLE);
            order.sort_unstable();
            order.truncate(discrepancies as usize + 1);
            Ok((cost, order))
        })?;
        let mut shape = self.rebuild(cases, shallow.0, shallow.1, cost)?;
        let (depth, nodes) = usable(depth, nodes);
        if depth <= 2 || cost == 0 {
            let n_nodes = shape.n_nodes();
            return Ok((shape, cost, n_nodes));
        }
        for ((_, test), left) in order.into_iter().zip((0..=discrepancies).rev()) {
            let passing = self.problem.passing_side(test);
            let sides = self.problem.split(cases, test);
            if sides.iter().any(|side| side.rows.is_empty()) {
                continue; // no split
            }
            // As in the greedy tree.
            let (pass, pass_cost, used) = self.limited(&sides[passing], depth - 1, (nodes - 1).div_ceil(2), left)?;
            let (fail, fail_cost, _) = self.limited(&sides[1 - passing], depth - 1, nodes - 1 - used, left)?;
            let found = pass_cost + fail_cost + self.problem.node_penalty;
            if found < cost {
                (shape, cost) = (Shape::Split(test as u32, Box::new([pass, fail])), found);
            }
        }
        let n_nodes = shape.n_nodes();
        Ok((shape, cost, n_nodes))
    }
}
