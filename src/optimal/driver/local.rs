//! Better trees where a proof is out of reach: a neighbourhood search by simulated annealing (Kirkpatrick, Gelatt
//! and Vecchi 1983).
//!
//! A step takes a node of the tree at hand, tries another test there, keeps the tests below it, and finds the subtrees
//! of the last levels anew, exactly. It is taken if the tree becomes no worse, and now and then if it does. The search
//! only offers trees: what is proved does not depend on it.

use super::{Solver, TreeLimits};
use crate::bits::mix;
use crate::budget::{Budget, Stop};
use crate::optimal::progress::Anytime;
use crate::optimal::shape::Shape;

/// The temperature at first, as a part of the cost of the best tree.
const HEAT: f64 = 0.003;
/// How often a step goes on to a branch, and how often a test moves to one near it.
const DOWN: f64 = 0.65;
const NEAR: f64 = 0.6;
/// Steps without a better tree after which the search goes back to the best one.
const PATIENCE: u32 = 400;

/// A subtree, and what it costs on its cases.
#[derive(Debug, Clone)]
struct CostedTree {
    cost: u64,
    form: Form,
}

/// What of a subtree steps may change.
#[derive(Debug, Clone)]
enum Form {
    /// A leaf, or the last levels, which were found exactly.
    Found(Shape),
    Split(u32, Box<[CostedTree; 2]>),
}

impl CostedTree {
    fn shape(&self) -> Shape {
        match &self.form {
            Form::Found(shape) => shape.clone(),
            Form::Split(test, branches) => Shape::Split(*test, Box::new([0, 1].map(|side| branches[side].shape()))),
        }
    }
}

/// Random numbers, the same for the same seed.
struct Random(u64);

impl Random {
    /// Starts of neighbouring seeds lie far apart, since the numbers of a start are those of the counters behind it.
    fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(1);
        mix(self.0)
    }

    fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    /// From 0 to 1.
    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Improves the best tree in hand until `spent`, given the number of steps, says that all of the work given to this is
/// done: from 0 at first to 1.
/// Where the number of nodes is limited beyond what the depth does nothing is tried. Adds its steps to `steps`.
pub(super) fn improve<S: Solver>(
    solver: &mut S,
    root: &mut S::Node,
    limits: TreeLimits,
    anytime: &Anytime,
    seed: u64,
    spent: impl Fn(&Budget, u64) -> f64,
    steps: &mut u64,
) -> Result<(), Stop> {
    let mut random = Random::new(seed);
    if limits.depth <= solver.exact_depth() || solver.n_tests() == 0 || !limits.is_free() {
        return Ok(());
    }
    let Some(mut best) = settle(solver, root, &anytime.shape(), limits, u64::MAX / 4)? else { return Ok(()) };
    anytime.offer(best.shape(), best.cost);
    let (mut at, mut since) = (best.clone(), 0);
    loop {
        solver.budget().check()?;
        let spent = spent(solver.budget(), *steps);
        if spent >= 1.0 || best.cost <= solver.node_penalty() {
            return Ok(());
        }
        // How much worse a tree may become: -T ln u, for a uniform u.
        let heat = HEAT * best.cost as f64 * (1.0 - spent);
        let slack = (-heat * random.share().max(1e-12).ln()) as u64;
        step(solver, root, &mut at, limits, slack, &mut random)?;
        *steps += 1;
        since += 1;
        if at.cost < best.cost {
            (best, since) = (at.clone(), 0);
            anytime.offer(best.shape(), best.cost);
        } else if since >= PATIENCE {
            (at, since) = (best.clone(), 0);
        }
    }
}

/// Puts another test at one node of a subtree, if that costs no more than `slack`.
fn step<S: Solver>(
    solver: &mut S,
    node: &mut S::Node,
    at: &mut CostedTree,
    limits: TreeLimits,
    slack: u64,
    random: &mut Random,
) -> Result<(), Stop> {
    solver.budget().visit()?;
    let below = TreeLimits::of_depth(limits.depth - 1);
    if let Form::Split(test, branches) = &mut at.form
        && below.depth > solver.exact_depth()
        && random.share() < DOWN
    {
        let side = random.below(2) as usize;
        let mut branch = solver.branch(node, *test, side == 0)?;
        let result = step(solver, &mut branch, &mut branches[side], below, slack, random);
        solver.release(branch);
        at.cost = solver.node_penalty() + branches[0].cost + branches[1].cost;
        return result;
    }
    let (test, branches) = match at.shape() {
        Shape::Split(test, branches) => (Some(test), branches),
        Shape::Leaf => (None, Box::new([Shape::Leaf, Shape::Leaf])),
    };
    let changed = Shape::Split(other_test(solver.n_tests(), test, random), branches);
    if let Some(found) = settle(solver, node, &changed, limits, at.cost + slack + 1)? {
        *at = found;
    }
    Ok(())
}

/// Another test: one near this, in the order of their numbers, in which those of a column are neighbours, or any.
fn other_test(n_tests: u64, test: Option<u32>, random: &mut Random) -> u32 {
    match test {
        Some(test) if random.share() < NEAR => {
            let most = 1 << random.below(10);
            let step = 1 + random.below(most) as i64;
            let near = i64::from(test) + if random.below(2) == 0 { step } else { -step };
            near.clamp(0, n_tests as i64 - 1) as u32
        }
        _ => random.below(n_tests) as u32,
    }
}

/// The tree of these tests, its last levels found anew, if it costs less than the cutoff. Where a test does not split
/// the cases, its subtree is that of a look ahead.
fn settle<S: Solver>(
    solver: &mut S,
    node: &mut S::Node,
    shape: &Shape,
    limits: TreeLimits,
    cutoff: u64,
) -> Result<Option<CostedTree>, Stop> {
    let (leaf, penalty) = (solver.leaf(node), solver.node_penalty());
    let as_leaf = || Some(CostedTree { cost: leaf, form: Form::Found(Shape::Leaf) }).filter(|_| leaf < cutoff);
    if limits.depth == 0 || leaf <= penalty {
        return Ok(as_leaf());
    }
    if limits.depth <= solver.exact_depth() {
        let found = solver.best_tree(node, limits, cutoff)?;
        return Ok(found.map(|(shape, cost)| CostedTree { cost, form: Form::Found(shape) }));
    }
    let (test, shapes) = match shape {
        Shape::Split(test, shapes) if solver.splits(node, *test)? => (*test, [&shapes[0], &shapes[1]]),
        _ => match solver.promising(node, TreeLimits::of_depth(2), 1)?.first() {
            Some(&test) => (test, [&Shape::Leaf, &Shape::Leaf]),
            None => return Ok(as_leaf()),
        },
    };
    let mut cost = penalty;
    let mut branches = Vec::with_capacity(2);
    for (side, shape) in shapes.into_iter().enumerate() {
        if cost >= cutoff {
            return Ok(as_leaf());
        }
        let mut branch = solver.branch(node, test, side == 0)?;
        let below = TreeLimits::of_depth(limits.depth - 1);
        let found = settle(solver, &mut branch, shape, below, cutoff - cost);
        solver.release(branch);
        let Some(found) = found? else { return Ok(as_leaf()) };
        cost += found.cost;
        branches.push(found);
    }
    let branches: Box<[CostedTree; 2]> =
        branches.into_boxed_slice().try_into().expect("the loop has pushed a tree for either side");
    Ok(if leaf <= cost { as_leaf() } else { Some(CostedTree { cost, form: Form::Split(test, branches) }) })
}
