//! The branches of a root: nodes of their own if they are deep, else trees of depth two from pair counts.

use std::sync::atomic::Ordering::Relaxed;

use smallvec::smallvec;

use super::super::bound_check::Reason;
use super::super::cache::Known;
use super::super::problem::{Cases, Mass};
use super::accumulator::Accumulator;
use super::multi_class::depth_two_costs;
use super::node::{Node, Parent};
use super::node_budgets::NodeBudgets;
use super::pair_shape::PairShape;
use super::singles::SplitSingles;
use super::stumps::BestStumps;
use super::workspace::{
    BinaryEngine, BudgetCosts, BudgetQuery, ChildBuffers, Inherited, NodeBuffers, NodeState, NodeTask, read, write,
};
use crate::budget::{Stop, Ticker};

impl<M: Mass, L: Accumulator> BinaryEngine<'_, M, L> {
    /// Solves a branch, and raises its bounds to what was found.
    pub(super) fn solve_branch(
        &self,
        run: &NodeTask<L>,
        root: usize,
        side: usize,
        cutoffs: BudgetCosts,
        floors: BudgetCosts,
        cell: &mut ChildBuffers<L>,
    ) -> Result<(), Stop> {
        let raise = |values: &[u64]| {
            let mut state = write(run.state);
            for (level, &value) in values.iter().enumerate().take(run.branch.len()) {
                state.bounds.raise(side, level, root, value);
            }
            self.check_roots(Reason::Solved, run.node, run.ask, &state.bounds);
        };
        if run.ask.depth == 3 {
            raise(&self.solve_depth_two(run, root, side, &floors, cell)?);
        } else {
            raise(&self.solve_deep(run, root, side, cutoffs, floors, cell)?);
        }
        Ok(())
    }

    /// The costs of a branch of depth three or more, by level.
    fn solve_deep(
        &self,
        run: &NodeTask<L>,
        root: usize,
        side: usize,
        cutoffs: BudgetCosts,
        floors: BudgetCosts,
        cell: &mut ChildBuffers<L>,
    ) -> Result<BudgetCosts, Stop> {
        let node = run.node;
        let mut child = self.nodes.take();
        let mut picked = std::mem::take(&mut child.picked);
        node.pick(self.isa, (root, side == 1), &mut picked, &mut child.node.starts);
        child.node.keeps = node.keeps;
        child.node.ids.clear();
        child.node.ids.extend(picked.iter().map(|&row| node.ids[row as usize]));
        let depth = run.ask.depth - 1;
        let ask = BudgetQuery { depth, levels: run.branch, cutoffs, floors };
        let mut path = run.path.to_vec();
        path.push(2 * node.test[root] + side as u32);
        let result = self.solve_child(run, root, side, &ask, &mut child, &picked, &path, cell);
        child.picked = picked;
        self.nodes.give(child);
        result
    }

    #[expect(clippy::too_many_arguments, reason = "one call, from the function above")]
    fn solve_child(
        &self,
        run: &NodeTask<L>,
        root: usize,
        side: usize,
        ask: &BudgetQuery,
        child: &mut NodeBuffers<L>,
        picked: &[u32],
        path: &[u32],
        cell: &mut ChildBuffers<L>,
    ) -> Result<BudgetCosts, Stop> {
        let levels = ask.levels.len();
        let leaf = self.leaf_of(&child.node.ids, &child.node.starts);
        if ask.floors.iter().all(|&floor| leaf <= floor) {
            return Ok(smallvec![leaf; levels]);
        }
        // Nodes of equal cases are siblings' children at the soonest: before that bounds do better.
        let cached = (path.len() >= 2 && self.max_depth > 4).then(|| {
            let mut key = path.to_vec();
            key.sort_unstable();
            Cases { rows: child.node.ids.clone(), path: key }
        });
        if let Some(known) = cached.as_ref().and_then(|cases| self.known(cases, ask)) {
            self.stats.cache_hits.fetch_add(1, Relaxed);
            return Ok(known);
        }
        let node = run.node;
        let parent = Parent { rows: &node.rows, layout: node.layout, live: &node.live, test: &node.test, picked };
        child.node.build(self.isa, &self.instances, &parent, &mut Ticker::new(self.budget))?;
        let shape = self.shape(node);
        let knows = self.inherit(&read(run.state), (root, side), (shape, node), ask, cell);
        let values = self.solve(child, ask, knows.then_some(&cell.inherited), None, path)?;
        let mut state = write(run.state);
        // A child that needed no roots has learned nothing of them.
        if state.keeps_grand && child.state.has_bounds {
            state.grand.keep(root, side, &child.node.place_of, &child.state.bounds);
            if state.keeps_great && child.state.keeps_grand {
                state.great.keep(root, side, &child.node.place_of, &child.state.grand);
            }
        }
        drop(state);
        if let Some(cases) = cached {
            for (level, &cost) in values.iter().enumerate() {
                let known = Known { cost, exact: cost < ask.cutoffs[level] };
                self.cache.put(&cases, ask.depth, ask.levels.nodes(ask.depth, level), known);
            }
        }
        Ok(values)
    }

    /// What a node knows of the roots of a child, and whether it knows anything. `cell.both` is of the root.
    pub(super) fn inherit(
        &self,
        state: &NodeState<L>,
        child: (usize, usize),
        (shape, node): (PairShape, &Node<L>),
        ask: &BudgetQuery,
        cell: &mut ChildBuffers<L>,
    ) -> bool {
        let NodeState { grand, bounds, great, .. } = state;
        if state.keeps_grand {
            let of = (ask.levels, ask.levels.branch(ask.depth));
            let ChildBuffers { both, overlaps, inherited: Inherited { bounds: inherited, before }, .. } = cell;
            let at = (self.isa, shape, node);
            let neighbours = grand.bounds_of(child, at, of, bounds, both, overlaps, inherited);
            before.clear();
            if state.keeps_great {
                great.before(child, &neighbours, before);
            }
        }
        state.keeps_grand
    }

    /// What the cache knows, if that is enough for every level.
    fn known(&self, cases: &Cases, ask: &BudgetQuery) -> Option<BudgetCosts> {
        let of = |level: usize| {
            let known = self.cache.get(cases, ask.depth, ask.levels.nodes(ask.depth, level))?;
            (known.exact || known.cost >= ask.cutoffs[level]).then_some(known.cost)
        };
        (0..ask.levels.len()).map(of).collect()
    }

    /// Gathers the smaller branch, and counts single tests in both.
    fn open_cell(&self, node: &Node<L>, shape: PairShape, root: usize, small: usize, cell: &mut ChildBuffers<L>) {
        (cell.is_open, cell.is_counted) = (true, false);
        let passing = node.passing[root].get();
        let picked = if small == 1 { passing } else { node.mass - passing }.min(node.ids.len() as u64);
        cell.is_compact = pays_to_gather(node, picked);
        if cell.is_compact {
            node.pick(self.isa, (root, small == 1), &mut cell.picked, &mut cell.starts);
            cell.columns.gather(self.isa, &node.rows, node.layout, &cell.picked, &cell.starts);
        } else {
            node.select(root, small == 1, &mut cell.set);
        }
        cell.pairs.grow(shape.room(node.keeps));
        self.isa.run(SplitSingles {
            shape,
            root,
            totals: &node.totals,
            both: &cell.both,
            singles: &node.singles.true_side,
            sides: &mut cell.singles,
        });
    }

    /// The costs of a branch at depth two, by level. The pairs of the smaller branch are counted; those of the larger
    /// are what is left of the node's (section 4.3.3).
    fn solve_depth_two(
        &self,
        run: &NodeTask<L>,
        root: usize,
        side: usize,
        floors: &[u64],
        cell: &mut ChildBuffers<L>,
    ) -> Result<[u64; 4], Stop> {
        let node = run.node;
        let shape = self.shape(node);
        let small = match self.switches.subtraction {
            true => 1 - node.larger_side(root),
            false => side,
        };
        if !(cell.is_open && self.switches.subtraction) {
            self.open_cell(node, shape, root, small, cell);
        }
        let singles = &cell.singles[side];
        let leaf = node.singles.leaf(shape, side == 1, root);
        let floor = floors[run.branch.top()];
        if leaf <= floor {
            return Ok([leaf; 4]);
        }
        self.stats.depth_two.fetch_add(1, Relaxed);
        let two_stumps =
            matches!(run.branch, NodeBudgets::Free) && self.problem.node_penalty == 0 && shape.min_leaf <= 1;
        let least = self.isa.run(BestStumps {
            shape,
            count: (!cell.is_counted).then_some(match cell.is_compact {
                true => node.part(&cell.columns, &cell.picked, &cell.starts),
                false => node.counted(Some(&cell.set)),
            }),
            pairs: &mut cell.pairs,
            keeps: node.keeps,
            whole: (side != small).then_some(if shape.by_difference() { &node.differences } else { &node.pairs }),
            singles,
            live: &node.live,
            enough: two_stumps.then_some(floor),
            stumps: &mut cell.stumps,
            ticker: &mut Ticker::new(self.budget),
        })?;
        if two_stumps {
            // Stopped early, the pairs are not all counted.
            cell.is_counted |= least > floor;
            return Ok([least.min(leaf); 4]);
        }
        cell.is_counted = true;
        let costs =
            depth_two_costs(shape, &node.live, singles, &cell.stumps, leaf, self.problem.node_penalty, |_, _| {});
        Ok(if matches!(run.branch, NodeBudgets::Free) { [costs[3]; 4] } else { costs })
    }
}

/// Whether the words that counting saves in a branch of so many instances cost more than gathering it (in cycles,
/// about).
fn pays_to_gather<L: Accumulator>(node: &Node<L>, picked: u64) -> bool {
    if node.is_weighed() {
        return true; // whatever is looked at is listed
    }
    let (words, stride) = (node.columns.n_words() as u64, node.layout.stride() as u64);
    let gathered = picked / 32 + node.starts.len() as u64 / 2;
    let saved = words.saturating_sub(gathered) * stride * (stride + 16) / 32 * 3 / 2;
    let lanes = node.layout.lanes as u64;
    saved > picked * (8 + lanes) + gathered * (100 + 50 * lanes)
}
