//! Branch and bound over the roots of a node, its branches solved by recursion or, at depth two, from pair counts.
//!
//! A node is asked for its least cost at each of its levels, with a cutoff per level: a value below its cutoff is exact, any
//! other is a lower bound that is not below it.

use smallvec::{SmallVec, smallvec};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::super::cache::{Cache, Known};
use super::super::problem::{Cases, Mass, Problem};
use super::aligned::Aligned;
use super::bounds::{Grand, Great, Overlaps, RootBounds, Spread};
use super::instances::Instances;
use super::lane::Lane;
use super::levels::Levels;
use super::node::{Node, Parent, leaf};
use super::pairs::{BestStumps, Counted, Shape, Singles, SplitSingles, Stumps, branch_costs, depth_two_costs};
use super::simd::Isa;
use super::table::{Columns, Layout};
use super::{Order, Switches};
use crate::budget::{Budget, Stop, Ticker};

/// What happened during a search.
#[derive(Debug, Default)]
pub(in crate::optimal) struct Counters {
    pub(in crate::optimal) nodes: AtomicU64,
    pub(in crate::optimal) depth_two: AtomicU64,
    pub(in crate::optimal) bounded: AtomicU64,
    pub(in crate::optimal) cache_hits: AtomicU64,
}

/// One run.
pub(in crate::optimal) struct DenseSearch<'a, M, L> {
    pub(super) problem: &'a Problem<M>,
    pub(super) instances: Instances,
    pub(super) isa: Isa,
    pub(super) budget: &'a Budget,
    pub(super) cache: Box<dyn Cache>,
    pub(super) switches: Switches,
    pub(super) threads: usize,
    /// Bytes that the bounds of children may take at one node.
    pub(super) grand_bytes: usize,
    /// All instances, as rows of all tests in the order of the search.
    pub(super) rows: Vec<u32>,
    pub(super) layout: Layout,
    pub(super) live: Vec<u32>,
    /// The test of each position.
    pub(super) test: Vec<u32>,
    /// For each test: its place in the order to try tests in, where nothing better is known.
    pub(super) rank: Vec<u32>,
    /// Depth of the whole search: where nodes repeat, the cache looks.
    pub(super) max_depth: u32,
    pub(super) nodes: Pool<AtNode<L>>,
    pub(super) cells: Pool<Cell<L>>,
    pub(super) stats: Counters,
}

/// Buffers that are used again and again. A thread that steals work while it waits takes others.
#[derive(Debug)]
pub(super) struct Pool<T>(Mutex<Vec<Box<T>>>);

impl<T: Default> Pool<T> {
    pub(super) fn new() -> Self {
        Pool(Mutex::new(Vec::new()))
    }

    pub(super) fn take(&self) -> Box<T> {
        self.lock().pop().unwrap_or_default()
    }

    pub(super) fn give(&self, buffers: Box<T>) {
        self.lock().push(buffers);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Box<T>>> {
        // Buffers hold nothing that outlives a panic.
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// A node with what is known of its roots.
#[derive(Debug, Default)]
pub(super) struct AtNode<L> {
    pub(super) node: Node<L>,
    pub(super) state: State<L>,
    picked: Vec<u32>,
    pub(super) stumps: Stumps<L>,
}

/// What threads share at a node.
#[derive(Debug, Default)]
pub(super) struct State<L> {
    /// The least costs known, by level: of a tree, or the cutoff.
    pub(super) best: Costs,
    pub(super) bounds: RootBounds<L>,
    /// Whether the bounds are those of this node: they are not if it needed no roots.
    pub(super) has_bounds: bool,
    pub(super) grand: Grand<L>,
    pub(super) keeps_grand: bool,
    great: Great<L>,
    keeps_great: bool,
    done: Vec<bool>,
}

/// Buffers to solve both branches of a root at depth two.
#[derive(Debug, Default)]
pub(super) struct Cell<L> {
    /// Whether the buffers hold the smaller branch of the root at work, and whether its pairs are counted.
    is_open: bool,
    is_counted: bool,
    /// Whether it was gathered; else `set` has its instances among those of the node.
    is_compact: bool,
    set: Vec<u32>,
    picked: Vec<u32>,
    starts: Vec<usize>,
    columns: Columns,
    pairs: Aligned<L>,
    /// Of the true and of the false branch.
    singles: [Singles<L>; 2],
    stumps: Stumps<L>,
    /// How much passes the root and each other test.
    both: Aligned<L>,
    overlaps: Overlaps<L>,
    inherited: Inherited<L>,
}

/// What a parent knows of a child before it is solved, by the parent's positions.
#[derive(Debug, Default)]
pub(super) struct Inherited<L> {
    pub(super) bounds: RootBounds<L>,
    /// Bounds on the roots of the child's children; empty if none.
    before: Vec<L>,
}

/// A cost per level; few unless nodes are counted in deep trees.
pub(super) type Costs = SmallVec<[u64; 4]>;

/// What is asked of a node.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    pub(super) depth: u32,
    pub(super) levels: Levels,
    pub(super) cutoffs: Costs,
    /// What is known: no value is below.
    pub(super) floors: Costs,
}

/// A root that gave a better tree, with the levels and costs of its branches: of the true and of the false one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Improvement {
    pub(super) root: usize,
    pub(super) levels: (usize, usize),
    pub(super) costs: (u64, u64),
}

/// Who wants to know what happens at a node.
pub(super) trait Watch<L>: Sync {
    /// A better tree at the top level.
    fn improved(&self, node: &Node<L>, branch: Levels, found: Improvement);
    /// No tree costs less than this at the top level.
    fn bounded(&self, bound: u64);
}

/// A node at work.
struct Run<'r, L> {
    node: &'r Node<L>,
    ask: &'r Ask,
    branch: Levels,
    state: &'r RwLock<State<L>>,
    watch: Option<&'r dyn Watch<L>>,
    path: &'r [u32],
}

impl<M: Mass, L: Lane> DenseSearch<'_, M, L> {
    /// The shape of a node's pair counts.
    pub(super) fn shape(&self, node: &Node<L>) -> Shape<'_> {
        self.instances.shape(node.layout.stride(), self.problem.min_leaf)
    }

    /// The cost of a leaf on some instances.
    pub(super) fn leaf_of(&self, starts: &[usize]) -> u64 {
        leaf(&self.instances.totals::<L>(starts)[..self.instances.n_classes])
    }

    /// Makes the node of these instances, over all tests.
    pub(super) fn root_node(&self, ids: Vec<u32>, node: &mut Node<L>) -> Result<(), Stop> {
        node.starts = self.instances.starts(&ids);
        let parent = Parent { rows: &self.rows, layout: self.layout, live: &self.live, test: &self.test, picked: &ids };
        node.ids.clone_from(&ids);
        node.build(self.isa, &self.instances, &parent, &mut Ticker::new(self.budget))
    }

    /// Solves a node that was built, at depth three or more. Its roots' bounds stay in `at.state` if it needed roots.
    pub(super) fn solve(
        &self,
        at: &mut AtNode<L>,
        ask: &Ask,
        inherited: Option<&Inherited<L>>,
        watch: Option<&dyn Watch<L>>,
        path: &[u32],
    ) -> Result<Costs, Stop> {
        let costs = self.shallow(at)?;
        let cost = |level: usize| costs[ask.levels.nodes(ask.depth, level).min(3) as usize];
        at.state.best.clear();
        at.state.best.extend((0..ask.levels.len()).map(|level| cost(level).min(ask.cutoffs[level])));
        at.state.has_bounds = false;
        if (0..ask.levels.len()).all(|level| at.state.best[level] <= ask.floors[level]) {
            return Ok((0..ask.levels.len()).map(|level| cost(level).min(ask.floors[level])).collect());
        }
        self.open(at, ask, inherited);
        let order = self.order(at);
        let branch = ask.levels.branch(ask.depth);
        let state = RwLock::new(std::mem::take(&mut at.state));
        let result = self.try_roots(&Run { node: &at.node, ask, branch, state: &state, watch, path }, &order);
        at.state = state.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        result?;
        let value = |level: usize| {
            let best = at.state.best[level];
            if best < ask.cutoffs[level] {
                return best;
            }
            if !self.switches.refined {
                return ask.cutoffs[level].max(ask.floors[level]);
            }
            let roots = order.iter().map(|&root| at.state.bounds.least(ask.levels, branch, level, root as usize));
            let refined = roots.min().unwrap_or(u64::MAX).saturating_add(self.problem.node_penalty);
            // A leaf and trees of depth two were looked at: they are in the costs.
            refined.min(cost(level)).max(ask.floors[level])
        };
        Ok((0..ask.levels.len()).map(value).collect())
    }

    /// Readies the bounds of the roots of a node.
    pub(super) fn open(&self, at: &mut AtNode<L>, ask: &Ask, inherited: Option<&Inherited<L>>) {
        self.stats.nodes.fetch_add(1, Relaxed);
        let AtNode { node, state, .. } = at;
        let branch = ask.levels.branch(ask.depth);
        let stride = node.layout.stride();
        state.has_bounds = true;
        state.bounds.reset(stride, ask.levels.len(), branch.len());
        if let Some(inherited) = inherited {
            state.bounds.inherit(&inherited.bounds, &node.origin);
        }
        if matches!(ask.levels, Levels::UpTo(_)) {
            // Level 0 of a branch is a leaf.
            let shape = self.shape(node);
            for &root in &node.live {
                for side in 0..2 {
                    state.bounds.raise(side, 0, root as usize, node.singles.leaf(shape, side == 1, root as usize));
                }
            }
        }
        let levels = branch.branch(ask.depth - 1).len();
        let fits = Grand::<L>::bytes(stride, levels) <= self.grand_bytes;
        state.keeps_grand = self.switches.transpositions && ask.depth > 3 && fits;
        if state.keeps_grand {
            state.grand.reset(stride, levels);
            if let Some(inherited) = inherited.filter(|inherited| !inherited.before.is_empty()) {
                state.grand.start_from(&inherited.before, inherited.bounds.stride, &node.origin);
            }
        }
        let fits = Great::<L>::bytes(stride) <= self.grand_bytes;
        state.keeps_great = state.keeps_grand && ask.depth > 4 && matches!(ask.levels, Levels::Free) && fits;
        if state.keeps_great {
            state.great.reset(stride);
        }
        state.done.clear();
        state.done.resize(stride, false);
    }

    /// The least costs of trees of depth two at a node that was built; its stumps stay in `at.stumps`.
    pub(super) fn shallow(&self, at: &mut AtNode<L>) -> Result<[u64; 4], Stop> {
        let AtNode { node, stumps, .. } = at;
        let leaf = node.leaf(self.instances.n_classes);
        let shape = self.shape(node);
        self.stats.depth_two.fetch_add(1, Relaxed);
        self.isa.run(BestStumps {
            shape,
            count: None,
            pairs: if shape.by_difference() { &mut node.differences } else { &mut node.pairs },
            whole: None,
            singles: &node.singles,
            live: &node.live,
            enough: None,
            stumps,
            ticker: &mut Ticker::new(self.budget),
        })?;
        Ok(depth_two_costs(shape, &node.live, &node.singles, stumps, leaf, self.problem.node_penalty))
    }

    /// The roots in the order to try them.
    fn order(&self, at: &AtNode<L>) -> Vec<u32> {
        let shape = self.shape(&at.node);
        let admissible = |&&root: &&u32| shape.min_leaf <= 1 || at.node.singles.admissible(shape, root as usize);
        let mut order: Vec<u32> = at.node.live.iter().filter(admissible).copied().collect();
        let rank = |root: u32| self.rank[at.node.test[root as usize] as usize];
        match self.switches.order {
            Order::DepthTwo => order.sort_by_cached_key(|&root| {
                let costs = branch_costs(shape, &at.node.singles, &at.stumps, self.problem.node_penalty, root as usize);
                (costs.map_or(u64::MAX, |[(_, one), (_, zero)]| one + zero), rank(root))
            }),
            _ => order.sort_by_key(|&root| rank(root)),
        }
        order
    }

    fn try_roots(&self, run: &Run<L>, order: &[u32]) -> Result<(), Stop> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut cell = self.cells.take();
            let mut result = Ok(());
            while let Some(&root) = order.get(next.fetch_add(1, Relaxed)) {
                result = self.try_root(run, root as usize, &mut cell);
                if result.is_err() {
                    break;
                }
                self.tell_bound(run, root as usize, order);
            }
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
                        *stopped.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Err(stop);
                    }
                });
            }
        });
        stopped.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// About how many nanoseconds lie below a node.
    fn work(&self, run: &Run<L>) -> u64 {
        let (words, tests) = (run.node.columns.n_words() as u64, run.node.live.len() as u64);
        let cell = (words + 8 * self.instances.channels as u64) * tests * tests / 32;
        (2..run.ask.depth).fold(cell / 4, |work, _| work.saturating_mul(tests))
    }

    /// Solves the two branches of a root as far as they matter to pairs of their levels (true branch, false branch) whose
    /// costs are below `cutoff` together.
    pub(super) fn try_pairs(
        &self,
        (at, path): (&mut AtNode<L>, &[u32]),
        ask: &Ask,
        root: usize,
        pairs: &[(usize, usize)],
        cutoff: u64,
    ) -> Result<(), Stop> {
        let state = RwLock::new(std::mem::take(&mut at.state));
        let branch = ask.levels.branch(ask.depth);
        let run = Run { node: &at.node, ask, branch, state: &state, watch: None, path };
        let mut cell = self.cells.take();
        cell.is_open = false;
        at.node.pairs_of(self.shape(&at.node), root, &mut cell.both);
        let first = self.first_side(&run, root);
        let result = [first, 1 - first].into_iter().try_for_each(|side| {
            let pairs = pairs.iter().map(|&pair| (pair, cutoff));
            let wanted = wanted(&read(&state), branch, root, side, pairs);
            wanted.map_or(Ok(()), |(cutoffs, floors)| self.solve_branch(&run, root, side, cutoffs, floors, &mut cell))
        });
        if result.is_ok() {
            self.spread(&run, root, &mut write(&state), &cell);
        }
        self.cells.give(cell);
        at.state = state.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        result
    }

    /// Solves the two branches of a root as far as they can matter.
    fn try_root(&self, run: &Run<L>, root: usize, cell: &mut Cell<L>) -> Result<(), Stop> {
        self.budget.visit()?;
        if self.is_ruled_out(run, root) {
            self.stats.bounded.fetch_add(1, Relaxed);
            return Ok(());
        }
        run.node.pairs_of(self.shape(run.node), root, &mut cell.both);
        let first = self.first_side(run, root);
        cell.is_open = false;
        for side in [first, 1 - first] {
            let wanted = {
                let state = read(run.state);
                let pairs = (0..run.ask.levels.len()).flat_map(|level| {
                    let left = state.best[level].saturating_sub(self.problem.node_penalty);
                    run.ask.levels.pairs(level, run.branch).map(move |pair| (pair, left))
                });
                wanted(&state, run.branch, root, side, pairs)
            };
            if let Some((cutoffs, floors)) = wanted {
                self.solve_branch(run, root, side, cutoffs, floors, cell)?;
            }
        }
        let mut state = write(run.state);
        self.take_value(run, root, &mut state);
        self.spread(run, root, &mut state, cell);
        Ok(())
    }

    /// Raises the bounds of all roots by what was found of one.
    fn spread(&self, run: &Run<L>, root: usize, state: &mut State<L>, cell: &Cell<L>) {
        if self.switches.similarity {
            self.isa.run(Spread {
                shape: self.shape(run.node),
                bounds: &mut state.bounds,
                totals: &run.node.totals,
                both: &cell.both,
                passing: &run.node.singles.true_side,
                root,
            });
        }
    }

    /// Whether no level of the node can become better with this root.
    fn is_ruled_out(&self, run: &Run<L>, root: usize) -> bool {
        let state = read(run.state);
        let least = |level: usize| state.bounds.least(run.ask.levels, run.branch, level, root);
        (0..run.ask.levels.len())
            .all(|level| least(level).saturating_add(self.problem.node_penalty) >= state.best[level])
    }

    /// The branch to solve first: the larger, at depth three only if it is likely to decide.
    fn first_side(&self, run: &Run<L>, root: usize) -> usize {
        let node = run.node;
        let passing = node.passing[root].get();
        let larger = usize::from(2 * passing > node.mass);
        if !self.switches.dynamic_order {
            return 1;
        }
        if run.ask.depth > 3 {
            return larger;
        }
        let shape = self.shape(node);
        let leaf = |side: usize| node.singles.leaf(shape, side == 1, root);
        if leaf(larger) > 4 * leaf(1 - larger) { larger } else { 1 - larger }
    }

    /// Whether the branches of a root, as far as they are known, make a better tree. What is below the best is exact.
    fn take_value(&self, run: &Run<L>, root: usize, state: &mut State<L>) {
        let Run { ask, branch, .. } = *run;
        let top = ask.levels.top();
        for level in 0..=top {
            let mut least = state.best[level];
            for (one, zero) in ask.levels.pairs(level, branch) {
                let costs = (state.bounds.of(1, one, root), state.bounds.of(0, zero, root));
                let cost = costs.0 + costs.1 + self.problem.node_penalty;
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

    /// Solves a branch, and raises its bounds to what was found.
    fn solve_branch(
        &self,
        run: &Run<L>,
        root: usize,
        side: usize,
        cutoffs: Costs,
        floors: Costs,
        cell: &mut Cell<L>,
    ) -> Result<(), Stop> {
        let raise = |values: &[u64]| {
            let mut state = write(run.state);
            for (level, &value) in values.iter().enumerate().take(run.branch.len()) {
                state.bounds.raise(side, level, root, value);
            }
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
        run: &Run<L>,
        root: usize,
        side: usize,
        cutoffs: Costs,
        floors: Costs,
        cell: &mut Cell<L>,
    ) -> Result<Costs, Stop> {
        let node = run.node;
        let mut child = self.nodes.take();
        let mut picked = std::mem::take(&mut child.picked);
        node.pick(root, side == 1, &mut picked, &mut child.node.starts);
        child.node.ids.clear();
        child.node.ids.extend(picked.iter().map(|&row| node.ids[row as usize]));
        let depth = run.ask.depth - 1;
        let ask = Ask { depth, levels: run.branch, cutoffs, floors };
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
        run: &Run<L>,
        root: usize,
        side: usize,
        ask: &Ask,
        child: &mut AtNode<L>,
        picked: &[u32],
        path: &[u32],
        cell: &mut Cell<L>,
    ) -> Result<Costs, Stop> {
        let levels = ask.levels.len();
        let leaf = self.leaf_of(&child.node.starts);
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
        let parent =
            Parent { rows: &node.rows, layout: node.layout, live: &node.live, test: &node.test, picked };
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
        state: &State<L>,
        child: (usize, usize),
        (shape, node): (Shape, &Node<L>),
        ask: &Ask,
        cell: &mut Cell<L>,
    ) -> bool {
        let State { grand, bounds, great, .. } = state;
        if state.keeps_grand {
            let of = (ask.levels, ask.levels.branch(ask.depth));
            let Cell { both, overlaps, inherited: Inherited { bounds: inherited, before }, .. } = cell;
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
    fn known(&self, cases: &Cases, ask: &Ask) -> Option<Costs> {
        let of = |level: usize| {
            let known = self.cache.get(cases, ask.depth, ask.levels.nodes(ask.depth, level))?;
            (known.exact || known.cost >= ask.cutoffs[level]).then_some(known.cost)
        };
        (0..ask.levels.len()).map(of).collect()
    }

    /// Gathers the smaller branch, and counts single tests in both.
    fn open_cell(&self, node: &Node<L>, shape: Shape, root: usize, small: usize, cell: &mut Cell<L>) {
        (cell.is_open, cell.is_counted) = (true, false);
        let passing = node.passing[root].get();
        let picked = if small == 1 { passing } else { node.mass - passing }.min(node.ids.len() as u64);
        cell.is_compact = pays_to_gather(node, picked);
        if cell.is_compact {
            node.pick(root, small == 1, &mut cell.picked, &mut cell.starts);
            cell.columns.gather(self.isa, &node.rows, node.layout, &cell.picked, &cell.starts);
        } else {
            node.select(root, small == 1, &mut cell.set);
        }
        cell.pairs.grow(shape.n_cells());
        self.isa.run(SplitSingles {
            shape,
            root,
            totals: &node.totals,
            both: &cell.both,
            singles: &node.singles.true_side,
            sides: &mut cell.singles,
        });
    }

    /// The costs of a branch at depth two, by level. The pairs of the smaller branch are counted; those of the larger are
    /// what is left of the node's (section 4.3.3).
    fn solve_depth_two(
        &self,
        run: &Run<L>,
        root: usize,
        side: usize,
        floors: &[u64],
        cell: &mut Cell<L>,
    ) -> Result<[u64; 4], Stop> {
        let node = run.node;
        let shape = self.shape(node);
        let small = match self.switches.subtraction {
            true => usize::from(2 * node.passing[root].get() <= node.mass),
            false => side,
        };
        if !(cell.is_open && self.switches.subtraction) {
            self.open_cell(node, shape, root, small, cell);
        }
        let singles = &cell.singles[side];
        let of_root = if side == 1 { &node.singles.true_side } else { &node.singles.false_side };
        let mass = |class: usize| of_root[shape.slot(class, root)].get();
        let (sum, most) = (0..shape.n_classes).fold((0, 0), |(sum, most): (u64, u64), class| (sum + mass(class), most.max(mass(class))));
        let leaf = sum - most;
        let floor = floors[run.branch.top()];
        if leaf <= floor {
            return Ok([leaf; 4]);
        }
        self.stats.depth_two.fetch_add(1, Relaxed);
        let two_stumps = matches!(run.branch, Levels::Free) && self.problem.node_penalty == 0 && shape.min_leaf <= 1;
        let least = self.isa.run(BestStumps {
            shape,
            count: (!cell.is_counted).then_some(match cell.is_compact {
                true => Counted { columns: &cell.columns, set: None },
                false => Counted { columns: &node.columns, set: Some(&cell.set) },
            }),
            pairs: &mut cell.pairs,
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
        let costs = depth_two_costs(shape, &node.live, singles, &cell.stumps, leaf, self.problem.node_penalty);
        Ok(if matches!(run.branch, Levels::Free) { [costs[3]; 4] } else { costs })
    }

    /// What is proved so far: no tree costs less than the best and the bounds of the roots not yet done.
    fn tell_bound(&self, run: &Run<L>, root: usize, order: &[u32]) {
        let Some(watch) = run.watch else { return };
        let top = run.ask.levels.top();
        let bound = {
            write(run.state).done[root] = true;
            let state = read(run.state);
            let open = order.iter().filter(|&&root| !state.done[root as usize]);
            let least = open.map(|&root| state.bounds.least(run.ask.levels, run.branch, top, root as usize)).min();
            least.map_or(u64::MAX, |bound| bound + self.problem.node_penalty).min(state.best[top])
        };
        watch.bounded(bound);
    }
}

/// Whether the words that counting saves in a branch of so many instances cost more than gathering it (in cycles, about).
fn pays_to_gather<L: Lane>(node: &Node<L>, picked: u64) -> bool {
    let (words, stride) = (node.columns.n_words() as u64, node.layout.stride() as u64);
    let gathered = picked / 32 + node.starts.len() as u64 / 2;
    let saved = words.saturating_sub(gathered) * stride * (stride + 16) / 32 * 3 / 2;
    let lanes = node.layout.lanes as u64;
    saved > picked * (8 + lanes) + gathered * (100 + 50 * lanes)
}

/// Below which costs a branch matters, and what is known of it, by level; `None` if it cannot matter. `pairs` are pairs of
/// levels of the true and the false branch, with what their costs together must be below.
fn wanted<L: Lane>(
    state: &State<L>,
    branch: Levels,
    root: usize,
    side: usize,
    pairs: impl Iterator<Item = ((usize, usize), u64)>,
) -> Option<(Costs, Costs)> {
    let floors: Costs = (0..branch.len()).map(|level| state.bounds.of(side, level, root)).collect();
    let mut cutoffs: Costs = smallvec![0; branch.len()];
    for ((one, zero), cutoff) in pairs {
        let (mine, other) = if side == 1 { (one, zero) } else { (zero, one) };
        cutoffs[mine] = cutoffs[mine].max(cutoff.saturating_sub(state.bounds.of(1 - side, other, root)));
    }
    let matters = (0..branch.len()).any(|level| floors[level] < cutoffs[level]);
    matters.then_some((cutoffs, floors))
}

// A panic while a lock is held ends the whole search: what the lock protects is never read again.
fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(|poisoned| poisoned.into_inner())
}
