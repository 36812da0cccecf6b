//! The branches of a root: nodes of their own if they are deep, else trees of depth two from pair counts.

use std::sync::atomic::Ordering::Relaxed;

use smallvec::smallvec;

use super::super::bound_check::Reason;
use super::super::cache::Known;
use super::super::problem::{Cases, Mass};
use super::accumulator::Accumulator;
use super::bit_table::BitColumns;
use super::candidates::{Candidates, StumpsOfCandidates};
use super::counts::{NodeBits, NodeCounts};
use super::multi_class::depth_two_costs;
use super::node::{Node, Parent};
use super::node_budgets::{BudgetCosts, BudgetQuery, NodeBudgets};
use super::pair_counts::Counted;
use super::pair_shape::PairShape;
use super::root_bounds::ShapedNode;
use super::singles::SplitSingles;
use super::stumps::{BestStumps, Stumps};
use super::weighted_counts::{Weighed, WeightedSums};
use super::workspace::{
    BinaryEngine, ChildBuffers, ChildCounts, Inherited, NodeBuffers, NodeState, NodeTask, read, write,
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
        match run.ask.depth {
            3 => {
                let costs = self.solve_depth_two(run, (root, side), &cutoffs, &floors, cell)?;
                self.raise(Reason::Solved, run, (root, side), &costs);
            }
            _ => {
                let costs = self.solve_deep(run, root, side, cutoffs, floors, cell)?;
                self.raise(Reason::Solved, run, (root, side), &costs);
            }
        }
        Ok(())
    }

    /// Raises the bounds of a branch, by level.
    fn raise(&self, reason: Reason, run: &NodeTask<L>, (root, side): (usize, usize), values: &[u64]) {
        let mut state = write(run.state);
        for (level, &value) in values.iter().enumerate().take(run.branch.len()) {
            state.bounds.raise(side, level, root, value);
        }
        self.check_roots(reason, run.node, run.ask, &state.bounds);
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
        let depth = run.ask.depth - 1;
        let ask = BudgetQuery { depth, levels: run.branch, cutoffs, floors };
        (child.node.keeps, child.node.is_rough) = (node.keeps, self.counts_roughly(&ask));
        child.node.ids.clear();
        child.node.ids.extend(picked.iter().map(|&row| node.ids[row as usize]));
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

    /// What a node knows of the roots of a child, and whether it knows anything. `cell.exact.both` is of the root.
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
            let ChildBuffers { exact, overlaps, inherited: Inherited { bounds: inherited, before }, .. } = cell;
            let at = ShapedNode { isa: self.isa, shape, node };
            let neighbours = grand.bounds_of(child, at, ask, bounds, &exact.both, overlaps, inherited);
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

    /// Gathers the smaller branch.
    fn open_cell(&self, node: &Node<L>, root: usize, small: usize, cell: &mut ChildBuffers<L>) {
        cell.is_open = true;
        cell.forget_counts();
        let passing = node.passing[root].get();
        let picked = if small == 1 { passing } else { node.mass - passing }.min(node.ids.len() as u64);
        cell.is_compact = pays_to_gather(node, picked);
        if cell.is_compact {
            node.pick(self.isa, (root, small == 1), &mut cell.picked, &mut cell.starts);
            cell.columns.gather(self.isa, &node.rows, node.layout, &cell.picked, &cell.starts);
            if node.counts.is_weighed() {
                node.pick_rows(&cell.picked, &mut cell.rows);
            }
        } else {
            node.select(root, small == 1, &mut cell.set);
        }
    }

    /// The costs of a branch at depth two, by level. The pairs of the smaller branch are counted; those of the larger
    /// are what is left of the node's (section 4.3.3). Where rough masses leave few candidates, a cost that is not below
    /// the cutoff is a bound.
    fn solve_depth_two(
        &self,
        run: &NodeTask<L>,
        (root, side): (usize, usize),
        cutoffs: &[u64],
        floors: &[u64],
        cell: &mut ChildBuffers<L>,
    ) -> Result<[u64; 4], Stop> {
        let (node, shape) = (run.node, self.shape(run.node));
        let leaf = node.counts.singles.leaf(shape, side == 1, root);
        let (cutoff, floor) = (cutoffs[run.branch.top()], floors[run.branch.top()]);
        if leaf <= floor {
            return Ok([leaf; 4]);
        }
        self.stats.depth_two.fetch_add(1, Relaxed);
        if node.is_rough
            && let Some(least) = self.candidates_of_branch(node, (root, side), floor, cutoff, cell)?
        {
            return Ok([least.min(leaf); 4]);
        }
        let (branch, BranchBuffers { exact, .. }) = self.branch_at(node, (root, side), cell);
        let two_stumps = self.asks_for_two_stumps(run.ask.levels);
        let least = self.best_stumps(&branch, &node.counts, exact, two_stumps.then_some(floor))?;
        if two_stumps {
            return Ok([least.min(leaf); 4]);
        }
        let (singles, stumps) = (&exact.singles[side], &exact.stumps);
        let costs = depth_two_costs(shape, &node.live, singles, stumps, leaf, self.problem.node_penalty, |_, _| {});
        Ok(if matches!(run.branch, NodeBudgets::Free) { [costs[3]; 4] } else { costs })
    }

    /// The least cost of a branch of depth two, if it is below the cutoff; else a bound that is not. `None` if rough masses
    /// leave many candidates.
    fn candidates_of_branch(
        &self,
        node: &Node<L>,
        (root, side): (usize, usize),
        enough: u64,
        cutoff: u64,
        cell: &mut ChildBuffers<L>,
    ) -> Result<Option<u64>, Stop> {
        if !self.shape(node).by_difference() {
            return Ok(None);
        }
        let (branch, buffers) = self.branch_at(node, (root, side), cell);
        let BranchBuffers { exact, rough, candidates, whole_sums } = buffers;
        // Its stumps may be those of the other branch, or those of a few tests.
        self.best_stumps(&branch, &node.rough.counts, rough, None)?;
        candidates.list(&node.live, &node.rough, &rough.stumps, cutoff);
        self.split_singles(&branch, &node.counts, exact);
        let Branch { shape, bits, small, .. } = branch;
        let ChildCounts { masses, singles, stumps: Stumps { masks, sums, .. }, .. } = exact;
        self.isa.run(StumpsOfCandidates {
            shape,
            candidates,
            counted: branch.counted(&node.counts, masses),
            whole: (side != small).then(|| node.counts.counted_for_stumps((shape, bits), None)),
            singles: &singles[side],
            live: &node.live,
            enough,
            masks,
            sums: [sums, whole_sums],
            ticker: &mut Ticker::new(self.budget),
        })
    }

    /// Raises the bound of a branch of depth two by rough masses, if that is more than the floor.
    pub(super) fn bound_branch(
        &self,
        run: &NodeTask<L>,
        root: usize,
        side: usize,
        floor: u64,
        cell: &mut ChildBuffers<L>,
    ) -> Result<(), Stop> {
        let (node, shape) = (run.node, self.shape(run.node));
        let (branch, BranchBuffers { rough, .. }) = self.branch_at(node, (root, side), cell);
        let leaf = node.counts.singles.leaf(shape, side == 1, root);
        if leaf > floor {
            self.stats.rough.fetch_add(1, Relaxed);
            let enough = node.rough.below(floor);
            let least = self.best_stumps(&branch, &node.rough.counts, rough, Some(enough))?;
            // Else the floor says as much, and not all stumps were looked at.
            if least > enough {
                let least = least.min(node.rough.counts.singles.leaf(shape, side == 1, root));
                write(run.state).rough.raise(side, 0, root, least);
                self.raise(Reason::Rough, run, (root, side), &[node.rough.bound(least)]);
            }
        }
        Ok(())
    }

    /// A branch of depth two, once the smaller branch of its root is in the buffers; and the buffers of its counts.
    fn branch_at<'a>(
        &'a self,
        node: &'a Node<L>,
        (root, side): (usize, usize),
        cell: &'a mut ChildBuffers<L>,
    ) -> (Branch<'a>, BranchBuffers<'a, L>) {
        let small = match self.switches.subtraction {
            true => 1 - node.larger_side(root),
            false => side,
        };
        if !(cell.is_open && self.switches.subtraction) {
            self.open_cell(node, root, small, cell);
        }
        let ChildBuffers {
            is_compact, set, picked, starts, columns, rows, exact, rough, candidates, whole_sums, ..
        } = cell;
        let gathered = is_compact.then_some(Gathered { columns, rows, picked, starts });
        let (shape, bits) = (self.shape(node), node.bits());
        let branch = Branch { shape, bits, keeps: node.keeps, root, side, small, gathered, set };
        (branch, BranchBuffers { exact, rough, candidates, whole_sums })
    }

    /// Whether a branch of depth two is its best two stumps: nodes cost nothing, nor does their number matter, and
    /// leaves have no least size.
    pub(super) fn asks_for_two_stumps(&self, levels: NodeBudgets) -> bool {
        matches!(levels, NodeBudgets::Free) && self.problem.node_penalty == 0 && self.problem.min_leaf <= 1
    }

    /// Counts the pairs of a root with each other test, by some counts of the node.
    pub(super) fn count_root<K: Accumulator>(
        &self,
        of_node: (PairShape, NodeBits),
        root: usize,
        counts: &NodeCounts<K>,
        child: &mut ChildCounts<K>,
    ) {
        if !child.has_both {
            child.has_both = true;
            counts.pairs_of(self.isa, of_node, root, &mut child.both, &mut child.stumps.sums);
        }
    }

    /// Counts single tests in both branches of a root, by some counts of the node.
    fn split_singles<K: Accumulator>(
        &self,
        &Branch { shape, bits, root, .. }: &Branch,
        counts: &NodeCounts<K>,
        child: &mut ChildCounts<K>,
    ) {
        self.count_root((shape, bits), root, counts, child);
        if !child.has_singles {
            child.has_singles = true;
            self.isa.run(SplitSingles {
                shape,
                root,
                totals: &counts.totals,
                both: &child.both,
                singles: &counts.singles.true_side,
                sides: &mut child.singles,
            });
        }
    }

    /// The least errors of two stumps in a branch, by some counts of the node. Once no more than `enough` is found, the
    /// rest is not looked at.
    fn best_stumps<K: Accumulator>(
        &self,
        branch: &Branch,
        counts: &NodeCounts<K>,
        child: &mut ChildCounts<K>,
        enough: Option<u64>,
    ) -> Result<u64, Stop> {
        let &Branch { shape, bits, keeps, side, small, .. } = branch;
        self.split_singles(branch, counts, child);
        let ticker = &mut Ticker::new(self.budget);
        let whole = (side != small).then(|| counts.matrix(self.isa, (shape, bits), ticker)).transpose()?;
        let ChildCounts { is_counted, pairs, singles, stumps, masses, .. } = child;
        pairs.grow(shape.room(keeps));
        let count = (!*is_counted).then(|| branch.counted(counts, masses));
        let least = self.isa.run(BestStumps {
            shape,
            count,
            pairs,
            keeps,
            whole: whole.map(|matrix| &matrix.for_stumps(shape)[..]),
            singles: &singles[side],
            live: bits.live,
            enough,
            stumps,
            ticker,
        })?;
        // Stopped early, the pairs are not all counted.
        *is_counted |= enough.is_none_or(|enough| least > enough);
        Ok(least)
    }
}

/// A branch of a root, as the instances of a node.
struct Branch<'a> {
    shape: PairShape<'a>,
    bits: NodeBits<'a>,
    /// Whether there is room for all pairs.
    keeps: bool,
    root: usize,
    /// Which branch it is, and which one the buffers hold.
    side: usize,
    small: usize,
    /// The latter, if it was gathered; else a bit for each of its instances.
    gathered: Option<Gathered<'a>>,
    set: &'a [u32],
}

impl<'a> Branch<'a> {
    /// What to count of the branch that the buffers hold, for trees of depth two. Its masses, if instances are weighed,
    /// are written to `masses`.
    fn counted<'c, L: Accumulator>(&self, counts: &'c NodeCounts<L>, masses: &'c mut Vec<L>) -> Counted<'c, L>
    where
        'a: 'c,
    {
        let Some(Gathered { columns, rows, picked, starts }) = self.gathered else {
            return counts.counted_for_stumps((self.shape, self.bits), Some(self.set));
        };
        let weighed = counts.is_weighed().then(|| {
            let of_node = counts.masses_for_stumps(self.shape);
            masses.clear();
            masses.extend(picked.iter().map(|&instance| of_node[instance as usize]));
            Weighed { rows, set: None, starts, masses: &*masses }
        });
        Counted { columns, weighed, set: None }
    }
}

/// Buffers to solve a branch of depth two.
struct BranchBuffers<'a, L> {
    exact: &'a mut ChildCounts<L>,
    rough: &'a mut ChildCounts<u16>,
    candidates: &'a mut Candidates,
    whole_sums: &'a mut WeightedSums<L>,
}

/// Instances of a node with columns of their own.
#[derive(Clone, Copy)]
struct Gathered<'a> {
    columns: &'a BitColumns,
    rows: &'a [u32],
    picked: &'a [u32],
    starts: &'a [usize],
}

/// Whether the words that counting saves in a branch of so many instances cost more than gathering it (in cycles,
/// about).
fn pays_to_gather<L: Accumulator>(node: &Node<L>, picked: u64) -> bool {
    if node.counts.is_weighed() {
        return true; // whatever is looked at is listed
    }
    let (words, stride) = (node.columns.n_words() as u64, node.layout.stride() as u64);
    let gathered = picked / 32 + node.starts.len() as u64 / 2;
    let saved = words.saturating_sub(gathered) * stride * (stride + 16) / 32 * 3 / 2;
    let lanes = node.layout.lanes as u64;
    saved > picked * (8 + lanes) + gathered * (100 + 50 * lanes)
}
