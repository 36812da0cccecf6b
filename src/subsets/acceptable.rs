//! DTaccept: a feature subset whose error is within delta of the least of all, proved.
//!
//! The visit is that of DTdistinct, less what no tree better than the incumbent by more than delta is in. Backward
//! elimination gives the first incumbent. The calls of most optional features are expanded until there are enough others
//! to share out; these are tasks, numbered in the order of the visit. A task starts from what the tasks before it, but for
//! the last few, have found, and goes on with what it finds itself. So the outcome is the same on every number of threads.

use std::collections::BinaryHeap;
use std::rc::Rc;
use std::thread::ScopedJoinHandle;

use super::bounds::Inside;
use super::distinct::Call;
use super::elimination::{Elimination, Left};
use super::features::{Set, WithSets, with_sets};
use super::frontier::Ranker;
use super::goal::Objective;
use super::ground::{Ground, Judge, threads_of};
use super::inseparable::Inseparable;
use super::rounds::{Incumbent, Open, Rounds};
use super::stack::Stack;
use super::trees::{Forest, Subtree};
use super::{Board, Checked, Goal, Order, Outcome, Stats};
use crate::budget::{Budget, Reserved, Status, Stop};
use crate::data::Dataset;
use crate::error::Result;
use crate::greedy::engine::GrownNode;

/// Finds a subset whose error, with the penalty of the features its tree uses, is within delta of the least of all
/// subsets, and proves it. `search` is needed for [`Estimator::Search`](super::Estimator::Search) and not looked at else;
/// its schema must be that of `building`.
///
/// Complexity: exponential in the number of features at worst; a limit leaves the best subset so far and a true bound.
///
/// # Errors
/// As [`eliminate`](super::eliminate()).
pub fn acceptable(
    building: &Dataset,
    search: Option<&Dataset>,
    checked: &Checked,
    goal: Goal,
    budget: &Budget,
    board: &Board,
) -> Result<Outcome> {
    let goal = goal.checked()?;
    let ground = match Ground::new(building, search, checked, Some(goal.error), budget)? {
        Ok(ground) => ground,
        Err(stop) => return Outcome::without_time(building, search, checked, goal.error, (stop, budget)),
    };
    let objective = Objective::new(&goal, &ground);
    let depth = match ground.table.n_cases {
        0..500 => 2,
        500..5000 => 1,
        _ => 0,
    };
    // As many workers as there is room for.
    let inseparable = match &ground.judge {
        Judge::HeldOut(held_out) => Inseparable::bytes(held_out),
        _ => 0,
    };
    let threads = ground.workers(threads_of(checked), inseparable, budget);
    Ok(with_sets(ground.n_features(), Accept { ground: &ground, objective, depth, threads, budget, board }))
}

struct Accept<'a> {
    ground: &'a Ground,
    objective: Objective,
    /// How many choices on a path the relaxed bound follows: it costs less than it saves where case sets are small.
    depth: u32,
    threads: usize,
    budget: &'a Budget,
    board: &'a Board,
}

/// Tasks that calls are expanded into, if there are as many.
const TASKS: usize = 256;

/// A worker.
struct Search<'g, S: Set> {
    ground: &'g Ground,
    objective: Objective,
    depth: u32,
    forest: Forest<'g, S>,
    ranker: Ranker<S>,
    /// Over the features of the call at hand.
    inseparable: Option<Inseparable>,
    _inseparable_bytes: Reserved<'g>,
    board: &'g Board,
    incumbent: Incumbent<S>,
    /// The best that this worker found, and what is charged for showing it.
    found: Option<(Incumbent<S>, Rc<Subtree<S>>)>,
    shown: Reserved<'g>,
    /// The least that was pruned is worth at least this.
    floor: u128,
    /// Whether the bounds of calls are kept.
    keeps_bounds: bool,
    stats: Stats,
}

impl WithSets for Accept<'_> {
    type Outcome = Outcome;

    fn run<S: Set + Send + Sync>(self) -> Outcome {
        self.ground.deep(|stack| self.accept::<S>(stack))
    }
}

/// A tree that a worker found, with its error in units, on its way to another thread.
struct Shown<S> {
    incumbent: Incumbent<S>,
    error: u64,
    nodes: Vec<GrownNode>,
}

/// What a worker came to.
type Worked<S> = (Stats, Option<Shown<S>>);

impl Accept<'_> {
    fn accept<S: Set + Send + Sync>(&self, stack: Stack) -> Outcome {
        let (required, optional) = self.ground.sets::<S>();
        let all = Call { required, optional };
        let incumbent = Incumbent { value: u128::MAX, features: all.features() };
        let mut search = match self.search(incumbent.clone(), stack) {
            Ok(search) => search,
            Err(stop) => return self.outcome(incumbent, Vec::new(), 0, Stats::default(), Some(stop)),
        };
        search.keeps_bounds = true;
        let mut open = BinaryHeap::new();
        let stop = self.prepare(&mut search, all, &mut open).err();
        let mut tasks = open.into_vec();
        tasks.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        let (mut incumbent, mut floor, mut stats) = (search.incumbent.clone(), search.floor, search.stats());
        let mut shown: Vec<Shown<S>> = search.shown().into_iter().collect();
        let mut stopped = stop;
        let least_open = |open: &mut dyn Iterator<Item = &Open<S>>| open.map(|open| open.bound).min();
        if stop.is_some() {
            floor = floor.min(least_open(&mut tasks.iter()).unwrap_or(0));
        } else if !tasks.is_empty() {
            drop(search);
            let rounds = Rounds::new(&tasks, incumbent.clone(), floor);
            stopped = self.work(&rounds, stack, &mut stats, &mut shown);
            let state = rounds.lock();
            incumbent = state.best(tasks.len()).clone();
            for (task, done) in tasks.iter().zip(&state.done) {
                floor = floor.min(done.as_ref().map_or(task.bound, |(_, floor)| *floor));
            }
        }
        self.outcome(incumbent, shown, floor, stats, stopped)
    }

    fn search<S: Set>(&self, incumbent: Incumbent<S>, stack: Stack) -> std::result::Result<Search<'_, S>, Stop> {
        let inseparable = match &self.ground.judge {
            Judge::HeldOut(held_out) => Some(held_out.clone()),
            _ => None,
        };
        let bytes = inseparable.as_ref().map_or(0, |held_out| Inseparable::bytes(held_out));
        Ok(Search {
            _inseparable_bytes: self.budget.reserve(bytes)?,
            ground: self.ground,
            objective: self.objective,
            depth: self.depth,
            forest: Forest::new(self.ground, (self.budget, stack), self.threads, None)?,
            ranker: Ranker::new(Order::Frontier, self.ground.n_features()),
            inseparable: inseparable.map(Inseparable::new),
            board: self.board,
            incumbent,
            found: None,
            shown: self.budget.reserve(0)?,
            floor: u128::MAX,
            keeps_bounds: false,
            stats: Stats::default(),
        })
    }

    /// Finds a first incumbent by elimination, and expands calls until there are tasks enough.
    fn prepare<S: Set>(
        &self,
        search: &mut Search<'_, S>,
        all: Call<S>,
        open: &mut BinaryHeap<Open<S>>,
    ) -> std::result::Result<(), Stop> {
        open.push(Open { path: Vec::new(), call: all.clone(), bound: 0 });
        let elimination =
            Elimination { ground: self.ground, threads: self.threads, budget: self.budget, board: self.board };
        let mut stats = Stats::default();
        let (left, stop) = elimination.white_box(&mut search.forest, all.features(), &mut Vec::new(), &mut stats);
        search.stats.built += stats.built;
        if let Some(Left { tree, shown, .. }) = left {
            drop(shown);
            search.improve(&tree)?;
        }
        stop.map_or(Ok(()), Err)?;
        let n = self.ground.n_features();
        let of_child = size_of::<Open<S>>() + 2 * (16 + n / 8) + 64;
        while open.len() < TASKS
            && let Some(next) = open.pop()
        {
            let outcome = search.tree(&next.call).and_then(|tree| {
                let mut children = Vec::new();
                search.expand(&tree, &next.call, &mut |_, _, call, bound| {
                    children.push((call.clone(), bound));
                    Ok(())
                })?;
                self.budget.reserve((of_child * children.len()) as u64)?.keep();
                Ok(children)
            });
            match outcome {
                Ok(children) => open.extend((0..).zip(children).map(|(place, (call, bound))| Open {
                    path: [&next.path[..], &[place]].concat(),
                    call,
                    bound: bound.max(next.bound),
                })),
                Err(stop) => {
                    open.push(next);
                    return Err(stop);
                }
            }
        }
        Ok(())
    }

    /// Runs all tasks, on this thread and as many others as there can be; what stopped them, if anything did.
    fn work<S: Set + Send + Sync>(
        &self,
        rounds: &Rounds<'_, S>,
        stack: Stack,
        stats: &mut Stats,
        shown: &mut Vec<Shown<S>>,
    ) -> Option<Stop> {
        let worker = |stack: Stack| -> std::result::Result<Worked<S>, Stop> {
            let start = rounds.lock().start.clone();
            let mut search = self.search(start, stack)?;
            while let Some((place, incumbent)) = rounds.next() {
                (search.incumbent, search.floor) = (incumbent, u128::MAX);
                let call = &rounds.tasks[place].call;
                let outcome = search.tree(call).and_then(|tree| search.accept(&tree, call));
                let (value, bound) = rounds.done(place, search.incumbent.clone(), search.floor, outcome.err());
                self.board.publish(self.objective.fraction(value), self.objective.fraction(bound));
                self.board.cover(1.0 / rounds.tasks.len() as f64);
            }
            Ok((search.stats(), search.shown()))
        };
        let worked: Vec<std::result::Result<Worked<S>, Stop>> = std::thread::scope(|scope| {
            let beside = |bytes| worker(Stack::here(bytes));
            let others: Vec<_> = (1..self.threads).map_while(|_| self.ground.spawn(scope, beside).ok()).collect();
            let here = worker(stack);
            let join =
                |other: ScopedJoinHandle<'_, _>| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            others.into_iter().map(join).chain([here]).collect()
        });
        let state = rounds.lock();
        // One that had room has done them all.
        let stop = worked.iter().all(|worked| worked.is_err()).then_some(Stop::Memory);
        for (its_stats, its_tree) in worked.into_iter().flatten() {
            stats.add(&its_stats);
            shown.extend(its_tree);
        }
        state.stopped.or(stop)
    }

    fn outcome<S: Set>(
        &self,
        best: Incumbent<S>,
        shown: Vec<Shown<S>>,
        floor: u128,
        stats: Stats,
        stopped: Option<Stop>,
    ) -> Outcome {
        let (tree, error) = match shown.iter().find(|shown| shown.incumbent.features == best.features) {
            Some(shown) => (self.ground.finish(&shown.nodes), shown.error),
            // Not even the first tree was done.
            None => self.ground.root(),
        };
        let value = self.objective.value(error, tree.features().len());
        let bound = floor.min(value);
        let status = match stopped {
            Some(stop) => stop.into(),
            None if bound == value => Status::Optimal,
            None => Status::Acceptable,
        };
        Outcome {
            features: self.ground.with_required(&tree),
            tree,
            error: self.ground.fraction(error),
            objective: self.objective.fraction(value),
            lower_bound: self.objective.fraction(bound),
            status,
            path: Vec::new(),
            stats,
            seconds: self.budget.seconds(),
        }
    }
}

/// Called with a tree, a feature to take away, and the call that this leads to with its bound.
type Descend<'d, 'g, S> = &'d mut dyn FnMut(&mut Search<'g, S>, usize, &Call<S>, u128) -> std::result::Result<(), Stop>;

impl<'g, S: Set> Search<'g, S> {
    fn stats(&self) -> Stats {
        let (case_sets, flushes) = (self.forest.case_sets, self.forest.flushes);
        Stats { evaluations: self.forest.evaluations(), case_sets, flushes, ..self.stats }
    }

    /// The tree of a call that the visit begins with.
    fn tree(&mut self, call: &Call<S>) -> std::result::Result<Rc<Subtree<S>>, Stop> {
        let features = call.features();
        self.inseparable.iter_mut().for_each(|inseparable| inseparable.set(&features));
        self.forest.tree(&features)
    }

    /// Lines 4 to 7: takes a tree in if it is the best so far. It is kept, since it is to be shown.
    fn improve(&mut self, tree: &Rc<Subtree<S>>) -> std::result::Result<(), Stop> {
        let value = self.objective.value(tree.error, tree.used.count());
        if value > self.incumbent.value {
            return Ok(());
        }
        let new = Incumbent { value, features: tree.used.clone() };
        if !new.is_better(&self.incumbent) {
            return Ok(());
        }
        // The start of a task may be behind what was found in those before.
        if self.found.as_ref().is_none_or(|(found, _)| new.is_better(found)) {
            let n_nodes = Forest::size(tree, usize::MAX).unwrap_or(usize::MAX);
            self.shown.resize(self.ground.shown_bytes(n_nodes))?;
            self.found = Some((new.clone(), tree.clone()));
        }
        self.incumbent = new;
        Ok(())
    }

    /// The best tree that was found here.
    fn shown(&self) -> Option<Shown<S>> {
        let (incumbent, tree) = self.found.as_ref()?;
        Some(Shown { incumbent: incumbent.clone(), error: tree.error, nodes: self.forest.grown(tree) })
    }

    fn is_ruled_out(&self, value: u128) -> bool {
        self.incumbent.value <= value.saturating_add(self.objective.delta)
    }

    /// Whether no tree of this value is better than the incumbent by more than delta. Then it is pruned.
    fn rules_out(&mut self, value: u128) -> bool {
        let rules_out = self.is_ruled_out(value);
        if rules_out {
            self.floor = self.floor.min(value);
            self.stats.pruned += 1;
        }
        rules_out
    }

    /// Algorithm 3, DTaccept(R, S), with T = DT(R + S).
    fn accept(&mut self, tree: &Rc<Subtree<S>>, call: &Call<S>) -> std::result::Result<(), Stop> {
        self.expand(tree, call, &mut |search, feature, child, _| {
            let tree = search.forest.without(tree, feature, &child.features())?;
            search.inseparable.iter_mut().for_each(|inseparable| inseparable.take_away(feature));
            search.accept(&tree, child)?;
            search.inseparable.iter_mut().for_each(|inseparable| inseparable.put_back(feature));
            Ok(())
        })
    }

    /// Algorithm 3 but for its recursion, and with a bound for each call before it is made.
    fn expand(
        &mut self,
        tree: &Rc<Subtree<S>>,
        call: &Call<S>,
        descend: Descend<'_, 'g, S>,
    ) -> std::result::Result<(), Stop> {
        self.stats.built += 1;
        self.board.count(1, 0);
        self.forest.ticker.tick(200)?;
        self.improve(tree)?;
        let mut candidates = call.optional.and(&tree.used);
        if candidates.is_empty() {
            return Ok(());
        }
        let (needed, are_alike) = self.needed(tree, call, &candidates)?;
        candidates.subtract(&needed);
        let call = &Call { required: call.required.union(&needed), optional: call.optional.minus(&needed) };
        let features = if are_alike { call.features().list() } else { Vec::new() };
        let bound = self.bound(tree, (&call.required, &call.optional, None), &features)?;
        if self.rules_out(bound) {
            return Ok(());
        }
        let order = self.ranker.order(tree, &candidates, &self.ground.table, &mut self.forest.ticker)?;
        let kept = self.greedy(tree, &candidates, &order, &features)?;
        let mut required = call.required.union(&kept);
        let mut optional = call.optional.minus(&kept);
        for feature in order.into_iter().map(|feature| feature as usize) {
            if !kept.has(feature) {
                continue;
            }
            required.remove(feature);
            let bound = self.bound(tree, (&required, &optional, Some(feature)), &features)?;
            if !self.rules_out(bound) {
                descend(self, feature, &Call { required: required.clone(), optional: optional.clone() }, bound)?;
            }
            optional.insert(feature);
        }
        Ok(())
    }

    /// The candidates without which too many held-out cases are wrong or cannot be told apart: from here on they are in
    /// every subset. And whether any cases cannot be told apart without all candidates.
    fn needed(&mut self, tree: &Subtree<S>, call: &Call<S>, candidates: &S) -> std::result::Result<(S, bool), Stop> {
        let mut needed = S::empty(self.ground.n_features());
        let Some(mut inseparable) = self.inseparable.take() else { return Ok((needed, false)) };
        let enough = self.enough();
        inseparable.decide_all();
        let decided = self.forest.decided_error(tree, &call.required, &mut inseparable)?;
        let all = call.features();
        // If there are not enough without all of them, there are not without one.
        let list = candidates.list();
        let moved = inseparable.n_cases() * list.len();
        self.forest.ticker.tick(moved)?;
        list.iter().for_each(|&feature| inseparable.take_away(feature));
        let most = inseparable.errors(&all.minus(candidates).list(), enough, &mut self.forest.ticker)?;
        list.iter().for_each(|&feature| inseparable.put_back(feature));
        if self.is_ruled_out(self.objective.value(decided + most, 0)) {
            for &feature in &list {
                let mut rest = all.clone();
                rest.remove(feature);
                inseparable.take_away(feature);
                let enough = enough.saturating_sub(decided);
                let errors = inseparable.errors(&rest.list(), enough, &mut self.forest.ticker)?;
                inseparable.put_back(feature);
                if self.rules_out(self.objective.value(decided + errors, 0)) {
                    needed.insert(feature);
                }
            }
        }
        self.inseparable = Some(inseparable);
        Ok((needed, most > 0))
    }

    /// The fewest errors that rule a part of the lattice out, where features cost nothing.
    fn enough(&self) -> u64 {
        self.objective.errors_of(self.incumbent.value.saturating_sub(self.objective.delta))
    }

    /// Algorithm 4, greedy: the candidates that are left when as many as can be, in their order, are not taken away at
    /// all, since no tree without them is better than the incumbent by more than delta.
    fn greedy(
        &mut self,
        tree: &Subtree<S>,
        candidates: &S,
        order: &[u32],
        features: &[usize],
    ) -> std::result::Result<S, Stop> {
        let mut kept = candidates.clone();
        let mut open = S::empty(self.ground.n_features());
        for &feature in order {
            open.insert(feature as usize);
            let bound = self.partial(tree, &open, features)?;
            match self.rules_out(bound) {
                true => kept.remove(feature as usize),
                false => open.remove(feature as usize),
            }
        }
        Ok(kept)
    }

    /// What trees are worth at least that have all nodes of this one but those that split by `open` features. `features`
    /// are those of the call, or none if they tell all held-out cases apart.
    fn partial(&mut self, tree: &Subtree<S>, open: &S, features: &[usize]) -> std::result::Result<u128, Stop> {
        let mut used = S::empty(self.ground.n_features());
        let enough = self.enough();
        let inseparable = self.inseparable.as_mut().filter(|_| !features.is_empty());
        let inside = &mut inseparable.map(|inseparable| Inside { inseparable, features, enough });
        let error = self.forest.partial_error(tree, open, inside, &mut used)?;
        Ok(self.objective.value(error, used.count()))
    }

    /// What the trees of a call are worth at least, from a tree over its features or these and the one that is gone. The
    /// bound is first looked for without a choice, then with one on a path, and so on: most calls are ruled out by what
    /// costs less.
    fn bound(
        &mut self,
        tree: &Subtree<S>,
        call: (&S, &S, Option<usize>),
        features: &[usize],
    ) -> std::result::Result<u128, Stop> {
        let mut open = call.1.and(&tree.used);
        call.2.into_iter().for_each(|gone| open.insert(gone));
        let mut bound = self.partial(tree, &open, features)?;
        let enough = self.enough();
        // With a penalty less errors may do. Bounds that are kept are to be as good as can be.
        let needed = if self.keeps_bounds || self.objective.penalizes() { 0 } else { enough };
        for depth in 1..=self.depth {
            if self.is_ruled_out(bound) {
                break;
            }
            let mut used = S::empty(self.ground.n_features());
            let inseparable = self.inseparable.as_mut().filter(|_| !features.is_empty());
            let inside = &mut inseparable.map(|inseparable| Inside { inseparable, features, enough });
            let error = self.forest.relaxed(tree, call, depth, needed, inside, &mut used)?;
            bound = bound.max(self.objective.value(error, used.count()));
        }
        Ok(bound)
    }
}
