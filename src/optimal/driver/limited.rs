//! First trees, by limited discrepancy search (Harvey and Ginsberg 1995; for decision trees Kiossou et al. 2022).

use super::{Solver, TreeLimits, canonical};
use crate::budget::Stop;
use crate::optimal::progress::Anytime;
use crate::optimal::shape::Shape;

/// Passes, each more thorough than the last: pass k looks at the trees whose choices on any path lie, all together, at
/// most k places behind the best by a look ahead of depth two.
pub(super) fn offer<S: Solver>(
    solver: &mut S,
    root: &mut S::Node,
    limits: TreeLimits,
    most: u32,
    anytime: &Anytime,
) -> Result<(), Stop> {
    for discrepancies in 0..=most {
        let (shape, cost) = limited(solver, root, limits, discrepancies)?;
        anytime.offer(shape, cost);
    }
    Ok(())
}

/// The best of these trees, and its cost. O(discrepancies ^ (depth - 2)) trees of depth two.
fn limited<S: Solver>(
    solver: &mut S,
    node: &mut S::Node,
    limits: TreeLimits,
    discrepancies: u32,
) -> Result<(Shape, u64), Stop> {
    solver.budget().visit()?;
    let shallow = TreeLimits::new(limits.depth.min(2), limits.nodes);
    let mut cost = solver.solve(node, shallow, u64::MAX / 4)?;
    let mut shape = canonical(solver, node, shallow, cost)?;
    let penalty = solver.node_penalty();
    if limits.depth <= 2 || cost <= penalty {
        return Ok((shape, cost));
    }
    let roots = solver.promising(node, shallow, discrepancies as usize + 1)?;
    for (test, left) in roots.into_iter().zip((0..=discrepancies).rev()) {
        // Half of the nodes left for the passing branch; the failing one may use what that did not.
        let mut below = |passes: bool, nodes: u64| {
            let mut branch = solver.branch(node, test, passes)?;
            let found = limited(solver, &mut branch, limits.branch(nodes), left);
            solver.release(branch);
            found
        };
        let (pass, pass_cost) = below(true, (limits.nodes - 1).div_ceil(2))?;
        let (fail, fail_cost) = below(false, limits.nodes - 1 - pass.n_nodes())?;
        let found = pass_cost + fail_cost + penalty;
        if found < cost {
            (shape, cost) = (Shape::Split(test, Box::new([pass, fail])), found);
        }
    }
    Ok((shape, cost))
}
