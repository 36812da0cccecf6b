//! Branch and bound over the roots of a node, its branches solved by recursion or, at depth two, from pair counts.
//!
//! A node is asked for its least cost at each of its levels, with a cutoff per level: a value below its cutoff is
//! exact, any other is a lower bound that is not below it.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, RwLock};

use smallvec::smallvec;

use super::super::bound_check::Reason;
use super::super::problem::Mass;
use super::accumulator::Accumulator;
use super::aligned::Aligned;
use super::candidates::StumpsOfCandidates;
use super::counts::NodeCounts;
use super::multi_class::branch_costs;
use super::node::{Node, Parent, leaf};
use super::node_budgets::{BudgetCosts, BudgetQuery, NodeBudgets};
use super::pair_shape::PairShape;
use super::root_bounds::{GrandchildBounds, GreatGrandchildBounds, RootBounds, RootCounts, Spread};
use super::rough::RoughCounts;
use super::stumps::{BestStumps, Stumps};
use super::weighted_counts::WeightedSums;
use super::workspace::{
    BinaryEngine, ChildBuffers, ChildCounts, Improvement, Inherited, NodeBuffers, NodeState, NodeTask, Observer,
    RootCandidate, read, write,
};
use crate::budget::{Stop, Ticker};
use crate::threads::{held, lock};

impl<M: Mass, L: Accumulator> BinaryEngine<'_, M, L> {
    /// The shape of a node's pair counts.
    pub(super) fn shape(&self, node: &Node<L>) -> PairShape<'_> {
        self.instances.shape(node.layout.stride(), self.problem.min_leaf)
    }

    /// The cost of a leaf on some instances.
    pub(super) fn leaf_of(&self, instances: &[u32], starts: &[usize]) -> u64 {
        leaf(&self.instances.totals::<L>(instances, starts)[..self.instances.n_classes])
    }

    /// Makes the node of these instances, over all tests.
    pub(super) fn root_node(&self, ids: &[u32], node: &mut Node<L>) -> Result<(), Stop> {
        node.starts = self.instances.starts(ids);
        (node.keeps, node.is_rough) = (self.switches.keeps_pairs, false);
        let parent = Parent { rows: &self.rows, layout: self.layout, live: &self.live, test: &self.test, picked: ids };
        ids.clone_into(&mut node.ids);
        node.build(self.isa, &self.instances, &parent, &mut Ticker::new(self.budget))
    }

    /// Solves a node that was built, at depth three or more. Its roots' bounds stay in `at.state` if it needed roots.
    pub(super) fn solve(
        &self,
        at: &mut NodeBuffers<L>,
        ask: &BudgetQuery,
        inherited: Option<&Inherited<L>>,
        watch: Option<&dyn Observer<L>>,
        path: &[u32],
    ) -> Result<BudgetCosts, Stop> {
        let costs = self.shallow_below(at, ask)?;
        let cost = |level: usize| costs[ask.levels.nodes(ask.depth, level).min(3) as usize];
        at.state.best.clear();
        at.state.best.extend((0..ask.levels.len()).map(|level| cost(level).min(ask.cutoffs[level])));
        at.state.has_bounds = false;
        at.state.first = u32::MAX;
        let n_shallow = ask.levels.n_shallow();
        if (n_shallow..ask.levels.len()).all(|level| at.state.best[level] <= ask.floors[level]) {
            let value = |level| if level < n_shallow { cost(level) } else { cost(level).min(ask.floors[level]) };
            return Ok((0..ask.levels.len()).map(value).collect());
        }
        self.open(at, ask, inherited)?;
        at.roots.sort_unstable();
        let branch = ask.levels.branch(ask.depth);
        let state = RwLock::new(std::mem::take(&mut at.state));
        let result = self.try_roots(&NodeTask { node: &at.node, ask, branch, state: &state, watch, path }, &at.roots);
        at.state = held(state.into_inner());
        result?;
        let value = |level: usize| {
            if level < n_shallow {
                return cost(level);
            }
            let best = at.state.best[level];
            if best < ask.cutoffs[level] {
                return best;
            }
            if !self.switches.refined {
                return ask.cutoffs[level].max(ask.floors[level]);
            }
            let least = |root: &RootCandidate| at.state.bounds.least(ask.levels, branch, level, root.position as usize);
            let roots = at.roots.iter().map(least);
            let refined = roots.min().unwrap_or(u64::MAX).saturating_add(self.problem.node_penalty);
            // A leaf and trees of depth two were looked at: they are in the costs.
            refined.min(cost(level)).max(ask.floors[level])
        };
        let values = (0..ask.levels.len()).map(value).collect();
        self.check_values(Reason::Refined, &at.node, ask, &values);
        Ok(values)
    }

    /// Readies the bounds of the roots of a node.
    pub(super) fn open(
        &self,
        at: &mut NodeBuffers<L>,
        ask: &BudgetQuery,
        inherited: Option<&Inherited<L>>,
    ) -> Result<(), Stop> {
        self.stats.nodes.fetch_add(1, Relaxed);
        let NodeBuffers { node, state, stumps, .. } = at;
        let branch = ask.levels.branch(ask.depth);
        let stride = node.layout.stride();
        state.has_bounds = true;
        state.bounds.reset(stride, ask.levels.len(), branch.len());
        if let Some(inherited) = inherited {
            state.bounds.inherit(&inherited.bounds, &node.origin);
            self.check_roots(Reason::Transposition, node, ask, &state.bounds);
        }
        if matches!(branch, NodeBudgets::UpTo(_)) {
            let (shape, singles) = (self.shape(node), &node.counts.singles);
            for &root in &node.live {
                let known = branch_costs(shape, singles, stumps, self.problem.node_penalty, root as usize);
                for (side, (leaf, stump)) in [1, 0].into_iter().zip(known.into_iter().flatten()) {
                    for (level, cost) in [leaf, stump].into_iter().enumerate().take(branch.n_known()) {
                        state.bounds.raise(side, level, root as usize, cost);
                    }
                }
            }
            self.check_roots(Reason::Leaf, node, ask, &state.bounds);
        }
        let levels = branch.branch(ask.depth - 1).len();
        // What is known before any child is solved takes as much, here and on its way here.
        let grand_bytes = GrandchildBounds::<L>::bytes(stride, levels.max(2)).saturating_mul(3);
        let fits = grand_bytes <= self.grand_bytes;
        state.keeps_grand = self.switches.transpositions && ask.depth > 3 && fits;
        if state.keeps_grand {
            state.grand.reset(stride, levels);
            if let Some(inherited) = inherited.filter(|inherited| !inherited.before.is_empty()) {
                state.grand.start_from(&inherited.before, inherited.bounds.stride, &node.origin);
            }
        }
        let fits = GreatGrandchildBounds::<L>::bytes(stride).saturating_add(grand_bytes) <= self.grand_bytes;
        let pays = GreatGrandchildBounds::<L>::pay(stride, node.columns.n_words());
        state.keeps_great =
            state.keeps_grand && ask.depth > 4 && matches!(ask.levels, NodeBudgets::Free) && fits && pays;
        if state.keeps_great {
            state.great.reset(stride);
        }
        state.done.clear();
        state.done.resize(stride, false);
        let was_rough = std::mem::replace(&mut node.is_rough, self.counts_roughly(ask));
        if node.is_rough {
            state.rough.reset(stride, 1, 1);
            if !was_rough {
                node.count_roughly(self.isa, &self.instances, &mut Ticker::new(self.budget))?;
            }
        }
        Ok(())
    }

    /// Whether rough masses bound the branches of a node first.
    pub(super) fn counts_roughly(&self, ask: &BudgetQuery) -> bool {
        let asks = ask.depth == 3 && self.asks_for_two_stumps(ask.levels) && self.switches.subtraction;
        asks && RoughCounts::pay::<L>(&self.instances)
    }

    /// The least costs of trees of depth two at a node that was built. Where its pairs are only counted roughly so far,
    /// it is a bound on them that is not below the cutoff, if that is known; the roots are in the order of rough costs.
    fn shallow_below(&self, at: &mut NodeBuffers<L>, ask: &BudgetQuery) -> Result<[u64; 4], Stop> {
        if at.node.is_rough && !at.node.counts.has_matrix() {
            let NodeBuffers { node, rough_stumps, roots, .. } = &mut *at;
            let mut matrix = node.rough.counts.take_matrix().expect("rough pairs are counted when a node is built");
            let pairs = matrix.for_stumps_mut(self.shape(node));
            let result = self.stumps_of_node(node, &node.rough.counts, (pairs, true), rough_stumps);
            node.rough.counts.give_matrix(Some(matrix));
            result?;
            let costs = self.depth_two_costs(node, &node.rough.counts, rough_stumps, roots);
            let (bound, top) = (node.rough.bound(costs[3]), ask.levels.top());
            if bound >= ask.cutoffs[top] {
                return Ok([bound; 4]);
            }
            if let Some(least) = self.candidates_of_node(at, ask.floors[top], ask.cutoffs[top])? {
                return Ok([least; 4]);
            }
        }
        self.shallow(at)
    }

    /// The least cost of trees of depth two at a node whose rough stumps are known, if it is below the cutoff; else a
    /// bound that is not. `None` if rough masses leave many candidates.
    fn candidates_of_node(&self, at: &mut NodeBuffers<L>, enough: u64, cutoff: u64) -> Result<Option<u64>, Stop> {
        let NodeBuffers { node, stumps, rough_stumps, candidates, .. } = at;
        let shape = self.shape(node);
        if !shape.by_difference() {
            return Ok(None);
        }
        candidates.list(&node.live, &node.rough, rough_stumps, cutoff);
        let Stumps { masks, sums, .. } = stumps;
        let least = self.isa.run(StumpsOfCandidates {
            shape,
            candidates,
            counted: node.counts.counted_for_stumps((shape, node.bits()), None),
            whole: None,
            singles: &node.counts.singles,
            live: &node.live,
            enough,
            masks,
            sums: [sums, &mut WeightedSums::default()],
            ticker: &mut Ticker::new(self.budget),
        })?;
        Ok(least.map(|least| least.min(node.leaf(self.instances.n_classes))))
    }

    /// The least costs of trees of depth two at a node that was built; its stumps stay in `at.stumps`, and its roots,
    /// as they come, in `at.roots`.
    pub(super) fn shallow(&self, at: &mut NodeBuffers<L>) -> Result<[u64; 4], Stop> {
        let NodeBuffers { node, stumps, roots, line, costs, .. } = at;
        let shape = self.shape(node);
        self.stats.depth_two.fetch_add(1, Relaxed);
        if node.keeps {
            node.counts.matrix(self.isa, (shape, node.bits()), &mut Ticker::new(self.budget))?;
        }
        let mut matrix = node.counts.take_matrix();
        let (pairs, keeps) = match &mut matrix {
            Some(matrix) => (matrix.for_stumps_mut(shape), true),
            None => (line, false),
        };
        let result = self.stumps_of_node(node, &node.counts, (pairs, keeps), stumps);
        node.counts.give_matrix(matrix);
        result?;
        *costs = self.depth_two_costs(node, &node.counts, stumps, roots);
        Ok(*costs)
    }

    /// Finds the best stumps of all roots of a node by some counts: from all pairs if they are kept, else from a buffer
    /// where those of a few tests are counted at a time.
    fn stumps_of_node<K: Accumulator>(
        &self,
        node: &Node<L>,
        counts: &NodeCounts<K>,
        (pairs, keeps): (&mut Aligned<K>, bool),
        stumps: &mut Stumps<K>,
    ) -> Result<(), Stop> {
        let shape = self.shape(node);
        pairs.grow(shape.room(keeps));
        let kernel = BestStumps {
            shape,
            count: (!keeps).then(|| counts.counted_for_stumps((shape, node.bits()), None)),
            pairs,
            keeps,
            whole: None,
            singles: &counts.singles,
            live: &node.live,
            enough: None,
            stumps,
            ticker: &mut Ticker::new(self.budget),
        };
        self.isa.run(kernel).map(drop)
    }

    fn try_roots(&self, run: &NodeTask<L>, roots: &[RootCandidate]) -> Result<(), Stop> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut cell = self.cells.take();
            let result = self.try_next_roots(run, roots, &next, &mut cell);
            self.cells.give(cell);
            result
        };
        if self.threads == 1 || self.work(run) <= self.switches.parallel_work {
            return work();
        }
        let stopped = Mutex::new(Ok(()));
        rayon::scope(|scope| {
            for _ in 0..self.threads {
                scope.spawn(|_| {
                    if let Err(stop) = work() {
                        *lock(&stopped) = Err(stop);
                    }
                });
            }
        });
        held(stopped.into_inner())
    }

    /// Tries roots until none is left.
    fn try_next_roots(
        &self,
        run: &NodeTask<L>,
        roots: &[RootCandidate],
        next: &AtomicUsize,
        cell: &mut ChildBuffers<L>,
    ) -> Result<(), Stop> {
        while let Some(root) = self.next_root(run, roots, next)? {
            self.try_root(run, root, cell)?;
            self.tell_bound(run, root, roots);
        }
        Ok(())
    }

    /// The next root that is not ruled out.
    fn next_root(&self, run: &NodeTask<L>, roots: &[RootCandidate], next: &AtomicUsize) -> Result<Option<usize>, Stop> {
        let state = read(run.state);
        while let Some(root) = roots.get(next.fetch_add(1, Relaxed)) {
            self.budget.visit()?;
            let root = root.position as usize;
            // Unless no level of the node can become better with it.
            let least = |level: usize| state.bounds.least(run.ask.levels, run.branch, level, root);
            let is_better =
                |level| least(level).saturating_add(self.problem.node_penalty) < run.cutoff(&state, level, root);
            if (run.ask.levels.n_shallow()..run.ask.levels.len()).any(is_better) {
                return Ok(Some(root));
            }
            self.stats.bounded.fetch_add(1, Relaxed);
        }
        Ok(None)
    }

    /// About how many nanoseconds lie below a node.
    fn work(&self, run: &NodeTask<L>) -> u64 {
        let words = run.node.counted(None).words() as u64;
        let tests = run.node.live.len() as u64;
        let cell = (words + 8 * self.instances.channels as u64) * tests * tests / 32;
        (2..run.ask.depth).fold(cell / 4, |work, _| work.saturating_mul(tests))
    }

    /// Solves the two branches of a root as far as they matter to pairs of their levels (true branch, false branch)
    /// whose costs are below `cutoff` together.
    pub(super) fn try_pairs(
        &self,
        (at, path): (&mut NodeBuffers<L>, &[u32]),
        ask: &BudgetQuery,
        root: usize,
        pairs: &[(usize, usize)],
        cutoff: u64,
    ) -> Result<(), Stop> {
        let state = RwLock::new(std::mem::take(&mut at.state));
        let branch = ask.levels.branch(ask.depth);
        let run = NodeTask { node: &at.node, ask, branch, state: &state, watch: None, path };
        let mut cell = self.cells.take();
        let wanted = |state: &NodeState<L>, side: usize, _| {
            wanted(state, branch, root, side, pairs.iter().map(|&pair| (pair, cutoff)), false)
        };
        let result = self.solve_branches(&run, root, wanted, &mut cell);
        if result.is_ok() {
            self.spread(&run, root, &mut write(&state), &cell);
        }
        self.cells.give(cell);
        at.state = held(state.into_inner());
        result
    }

    /// Solves the two branches of a root as far as they can matter.
    fn try_root(&self, run: &NodeTask<L>, root: usize, cell: &mut ChildBuffers<L>) -> Result<(), Stop> {
        let wanted = |state: &NodeState<L>, side: usize, is_there: bool| {
            let pairs = (run.ask.levels.n_shallow()..run.ask.levels.len()).flat_map(|level| {
                let left = run.cutoff(state, level, root).saturating_sub(self.problem.node_penalty);
                run.ask.levels.pairs(level, run.branch).map(move |pair| (pair, left))
            });
            // The larger branch is solved even where the smaller one has ruled the root out: its pairs come from
            // counts that are there already, and its cost bounds other roots.
            let anyway = run.ask.depth == 3 && side == run.node.larger_side(root) && is_there;
            wanted(state, run.branch, root, side, pairs, anyway)
        };
        self.solve_branches(run, root, wanted, cell)?;
        let mut state = write(run.state);
        self.take_value(run, root, &mut state);
        self.spread(run, root, &mut state, cell);
        Ok(())
    }

    /// Solves the two branches of a root as far as they are wanted, by [`wanted`], given what is known of the roots and
    /// whether the pairs of the smaller branch are counted.
    fn solve_branches(
        &self,
        run: &NodeTask<L>,
        root: usize,
        wanted: impl Fn(&NodeState<L>, usize, bool) -> Option<(BudgetCosts, BudgetCosts)>,
        cell: &mut ChildBuffers<L>,
    ) -> Result<(), Stop> {
        let node = run.node;
        cell.is_open = false;
        cell.forget_counts();
        if !node.is_rough {
            self.count_root((self.shape(node), node.bits()), root, &node.counts, &mut cell.exact);
        }
        let first = self.first_side(run, root);
        // Rough masses bound both branches first, which rules most roots out.
        if node.is_rough {
            for side in [first, 1 - first] {
                let wanted = wanted(&read(run.state), side, self.switches.subtraction && cell.rough.is_counted);
                if let Some((_, floors)) = wanted {
                    self.bound_branch(run, root, side, floors[run.branch.top()], cell)?;
                }
            }
        }
        for side in [first, 1 - first] {
            // Where rough masses came first their costs have bounded other roots: exact ones need not.
            let is_there = self.switches.subtraction && cell.exact.is_counted && !node.is_rough;
            let wanted = wanted(&read(run.state), side, is_there);
            if let Some((cutoffs, floors)) = wanted {
                self.solve_branch(run, root, side, cutoffs, floors, cell)?;
            }
        }
        Ok(())
    }

    /// Raises the bounds of all roots by what was found of one.
    fn spread(&self, run: &NodeTask<L>, root: usize, state: &mut NodeState<L>, cell: &ChildBuffers<L>) {
        let (node, n_known) = (run.node, run.branch.n_known());
        if !self.switches.similarity {
            return;
        }
        if !node.is_rough {
            self.spread_of(node, &node.counts, &mut state.bounds, (root, n_known), &cell.exact);
        } else if cell.rough.has_both {
            self.spread_of(node, &node.rough.counts, &mut state.rough, (root, n_known), &cell.rough);
            state.bounds.raise_to(&state.rough, |rough| node.rough.bound(rough));
        }
        self.check_roots(Reason::Similarity, node, run.ask, &state.bounds);
    }

    /// The same by some counts of the node.
    fn spread_of<K: Accumulator>(
        &self,
        node: &Node<L>,
        counts: &NodeCounts<K>,
        bounds: &mut RootBounds<K>,
        (root, n_known): (usize, usize),
        child: &ChildCounts<K>,
    ) {
        self.isa.run(Spread {
            shape: self.shape(node),
            bounds,
            counts: RootCounts { totals: &counts.totals, passing: &counts.singles.true_side, both: &child.both },
            root,
            n_known,
        });
    }

    /// The branch to solve first: the larger, at depth three only if it is likely to decide.
    fn first_side(&self, run: &NodeTask<L>, root: usize) -> usize {
        let node = run.node;
        let larger = node.larger_side(root);
        if !self.switches.dynamic_order {
            return 1;
        }
        if run.ask.depth > 3 {
            return larger;
        }
        let shape = self.shape(node);
        let leaf = |side: usize| node.counts.singles.leaf(shape, side == 1, root);
        if leaf(larger) > 4 * leaf(1 - larger) { larger } else { 1 - larger }
    }

    /// Whether the branches of a root, as far as they are known, make a better tree. What is below the best is exact.
    fn take_value(&self, run: &NodeTask<L>, root: usize, state: &mut NodeState<L>) {
        let NodeTask { ask, branch, .. } = *run;
        let top = ask.levels.top();
        let place = run.watch.map_or(0, |watch| watch.place(root));
        for level in ask.levels.n_shallow()..=top {
            let mut least = state.best[level];
            for (one, zero) in ask.levels.pairs(level, branch) {
                let costs = (state.bounds.of(1, one, root), state.bounds.of(0, zero, root));
                let cost = costs.0 + costs.1 + self.problem.node_penalty;
                if level == top && cost <= least {
                    // If it is only a bound that is as good as the best, the place is no earlier.
                    state.first = if cost < least { place } else { place.min(state.first) };
                }
                if cost < least {
                    least = cost;
                    if let Some(watch) = run.watch.filter(|_| level == top) {
                        watch.improved(run.node, branch, Improvement { root, levels: (one, zero), costs });
                    }
                }
            }
            state.best[level] = least;
        }
    }

    /// What is proved so far: no tree costs less than the best and the bounds of the roots not yet done.
    fn tell_bound(&self, run: &NodeTask<L>, root: usize, roots: &[RootCandidate]) {
        let Some(watch) = run.watch else { return };
        let top = run.ask.levels.top();
        let bound = {
            write(run.state).done[root] = true;
            let state = read(run.state);
            let open = roots.iter().map(|root| root.position as usize).filter(|&root| !state.done[root]);
            let least = open.map(|root| state.bounds.least(run.ask.levels, run.branch, top, root)).min();
            least.map_or(u64::MAX, |bound| bound + self.problem.node_penalty).min(state.best[top])
        };
        watch.bounded(bound);
    }
}

/// Below which costs a branch matters, and what is known of it, by level; `None` if it cannot matter, unless it is
/// wanted `anyway`. `pairs` are pairs of levels of the true and the false branch, with what their costs together must
/// be below.
fn wanted<L: Accumulator>(
    state: &NodeState<L>,
    branch: NodeBudgets,
    root: usize,
    side: usize,
    pairs: impl Iterator<Item = ((usize, usize), u64)>,
    anyway: bool,
) -> Option<(BudgetCosts, BudgetCosts)> {
    let floors: BudgetCosts = (0..branch.len()).map(|level| state.bounds.of(side, level, root)).collect();
    let mut cutoffs: BudgetCosts = smallvec![0; branch.len()];
    for ((one, zero), cutoff) in pairs {
        let (mine, other) = if side == 1 { (one, zero) } else { (zero, one) };
        cutoffs[mine] = cutoffs[mine].max(cutoff.saturating_sub(state.bounds.of(1 - side, other, root)));
    }
    let matters = anyway || (branch.n_known()..branch.len()).any(|level| floors[level] < cutoffs[level]);
    matters.then_some((cutoffs, floors))
}
