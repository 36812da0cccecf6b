//! Trees that share subtrees, and features taken away from them.
//!
//! A tree is immutable. Taking a feature away builds anew what hangs on the nodes that it splits, copies the path to them,
//! and shares all else with the tree it came from (section 4.2 of Ruggieri, JMLR 2019, clones and builds instead).

use std::rc::Rc;
use std::sync::Arc;

use rayon::ThreadPool;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::deal::Deal;
use super::features::Set;
use super::graph::{CaseNode, Child, Judged, Split};
use super::ground::{Ground, Judge};
use super::held_out::HeldOut;
use super::mixture::Mixture;
use super::stack::Stack;
use super::weight::Account;
use crate::budget::{Budget, Reserved, Stop, Ticker};
use crate::greedy::engine::{
    self, BranchCases, GrownNode, GrownSplit, NewEvaluator, Partitioner, SplitCache, SplitEvaluator,
};

/// A tree on the cases of a set.
pub(super) struct Subtree<S> {
    pub set: Rc<CaseNode<S>>,
    /// Its root; `None`: a leaf.
    pub split: Option<Rc<Split<S>>>,
    /// One for each branch that building cases took.
    pub children: SmallVec<[Rc<Subtree<S>>; 2]>,
    /// The features that its nodes split by.
    pub used: S,
    /// Features that would have gone ahead at some node, or may have: it is the tree over every set of features that has
    /// all that are used and none of these.
    pub ahead: S,
    /// Those of the root.
    root_ahead: S,
    /// Its error, in the units of the judge.
    pub error: u64,
    /// What it weighs, its parts not counted.
    bytes: usize,
}

impl<S: Set> Subtree<S> {
    /// A leaf, with the features that may split the set.
    pub(super) fn leaf(set: &Rc<CaseNode<S>>, error: u64, ahead: S) -> Self {
        let n_columns = 64 * ahead.as_ref().len();
        let (used, bytes) = (S::empty(n_columns), Self::bytes(n_columns, 0));
        set.weight.enter(bytes);
        let (split, children) = (None, SmallVec::new());
        Subtree { set: set.clone(), split, children, used, root_ahead: ahead.clone(), ahead, error, bytes }
    }

    /// About how many bytes one takes, for so many columns and branches.
    pub fn bytes(n_columns: usize, n_branches: usize) -> usize {
        let sets = if n_columns > 256 { 3 * (16 + n_columns / 8) } else { 0 };
        size_of::<Self>() + 32 + sets + if n_branches > 2 { 8 * n_branches } else { 0 }
    }
}

impl<S> Subtree<S> {
    /// The feature that splits the root.
    pub fn column(&self) -> Option<usize> {
        self.split.as_ref().map(|split| split.column as usize)
    }
}

impl<S> Drop for Subtree<S> {
    fn drop(&mut self) {
        self.set.weight.leave(self.bytes);
    }
}

/// How much a tree that is being built may still err on. Once it errs on more, nothing more is built: what is missing has
/// features that are taken, and so has a node where cases are spread and were not all looked at.
struct Allowance<'a, S> {
    left: Option<u64>,
    taken: &'a S,
}

impl<S: Set> Allowance<'_, S> {
    fn spend(&mut self, error: u64) {
        self.left = self.left.and_then(|left| left.checked_sub(error));
    }

    /// Whether all of a tree is built.
    fn has_all(&self, tree: &Subtree<S>) -> bool {
        tree.used.is_apart_from(self.taken)
    }
}

/// A worker's case graph, and the trees on it.
pub(super) struct Forest<'g, S: Set> {
    pub(super) ground: &'g Ground,
    pub(super) ranks: Box<dyn SplitEvaluator>,
    pub(super) splitter: Partitioner,
    pub(super) deal: Deal,
    pub ticker: Ticker<'g>,
    pub(super) root: Option<Rc<CaseNode<S>>>,
    /// What all of it takes, about.
    pub(super) account: Rc<Account>,
    /// What is charged for that, and for what does not change.
    pub(super) held: Reserved<'g>,
    _fixed: Reserved<'g>,
    /// So many bytes of case sets and splits may be in memory; beyond so many they are looked through.
    pub(super) cache: usize,
    pub(super) flush_at: usize,
    stack: Stack,
    /// Bytes of it in use where a tree was begun; and the most levels that a tree had.
    begun_at: usize,
    deepest: u64,
    /// Leaves that are shared, by class and error.
    pub(super) pure: FxHashMap<(usize, u64), Rc<Subtree<S>>>,
    pub case_sets: u64,
    pub flushes: u64,
    mixture: Mixture,
}

impl<'g, S: Set> Forest<'g, S> {
    /// A graph with nothing but its root, one of so many at a time, on the stack of this thread. The columns of large case
    /// sets are shared out to the threads of the pool.
    pub fn new(
        ground: &'g Ground,
        (budget, stack): (&'g Budget, Stack),
        workers: usize,
        pool: Option<Arc<ThreadPool>>,
    ) -> Result<Self, Stop> {
        let table = ground.table.clone();
        let threads = pool.as_ref().map_or(1, |pool| pool.current_num_threads());
        let fixed = budget.reserve(ground.worker_bytes(threads))?;
        budget.check()?;
        let ranks = NewEvaluator { table: table.clone(), pool };
        let mut forest = Forest {
            ground,
            ranks: engine::dispatch(&table, &ground.params, &ground.costs, ranks),
            splitter: Partitioner::default(),
            deal: Deal::default(),
            ticker: Ticker::new(budget),
            root: None,
            account: Rc::default(),
            held: budget.reserve(0)?,
            _fixed: fixed,
            cache: ground.cache(workers),
            flush_at: ground.cache(workers),
            stack,
            begun_at: 0,
            deepest: 0,
            pure: FxHashMap::default(),
            case_sets: 0,
            flushes: 0,
            mixture: Mixture::default(),
        };
        let judged = match &ground.judge {
            Judge::HeldOut(held_out) => (0..held_out.n_cases as u32).collect(),
            _ => Judged::new(),
        };
        let root = BranchCases::all(&table);
        let is_leaf = forest.ranks.is_leaf(&root.masses, root.whole, root.count, 0);
        forest.root = Some(match is_leaf {
            // No column can split it, so none is looked at.
            true => {
                let leaf = forest.leaf_error(&root, &judged);
                Rc::new(forest.new_node(root, judged, leaf, 0, SplitCache::none()))
            }
            false => forest.case_node(root, judged, 0, SplitCache::empty(table.columns.len())),
        });
        Ok(forest)
    }

    /// Begins a tree: makes room for it, and looks whether that is there on the stack too.
    fn begin(&mut self) -> Result<(), Stop> {
        self.make_room();
        self.begun_at = self.stack.used();
        if self.stack.has_room(self.begun_at, self.deepest) { Ok(()) } else { Err(Stop::Memory) }
    }

    /// Whether a tree may have so many levels.
    pub(super) fn go_down(&mut self, depth: u64) -> Result<(), Stop> {
        self.deepest = self.deepest.max(depth);
        let has_room = self.stack.has_room(self.begun_at, depth) && self.stack.has_room(self.stack.used(), 0);
        if has_room { Ok(()) } else { Err(Stop::Memory) }
    }

    /// A leaf, with the features that may split the set.
    fn leaf_of(&mut self, set: &Rc<CaseNode<S>>, error: u64, ahead: S) -> Result<Subtree<S>, Stop> {
        self.charge(Subtree::<S>::bytes(self.n_features(), 0))?;
        Ok(Subtree::leaf(set, error, ahead))
    }

    pub fn n_features(&self) -> usize {
        self.ground.table.columns.len()
    }

    pub fn judge(&self) -> Judge {
        self.ground.judge.clone()
    }

    pub fn evaluations(&self) -> u64 {
        self.ranks.evaluations()
    }

    /// DT(features).
    pub fn tree(&mut self, features: &S) -> Result<Rc<Subtree<S>>, Stop> {
        self.begin()?;
        let root = self.root.clone().expect("made with the forest");
        self.build(&root, features)
    }

    /// The tree over `features`, which are those of another tree but for one.
    pub fn without(&mut self, tree: &Rc<Subtree<S>>, feature: usize, features: &S) -> Result<Rc<Subtree<S>>, Stop> {
        let taken = S::of(self.n_features(), &[feature]);
        self.without_all(tree, &taken, features, u64::MAX)
    }

    /// The tree over `features`, which are those of another tree but for those `taken`. It is given up where it is known to
    /// err on more than `most` beside what is kept ([`kept_error`]): what is not built then keeps features that are taken.
    pub fn without_all(
        &mut self,
        tree: &Rc<Subtree<S>>,
        taken: &S,
        features: &S,
        most: u64,
    ) -> Result<Rc<Subtree<S>>, Stop> {
        self.begin()?;
        self.remove(tree, features, &mut Allowance { left: Some(most), taken })
    }

    /// The tree over `features` on the cases of a set.
    pub fn build(&mut self, set: &Rc<CaseNode<S>>, features: &S) -> Result<Rc<Subtree<S>>, Stop> {
        let taken = &S::empty(self.n_features());
        self.build_within(set, features, &mut Allowance { left: Some(u64::MAX), taken })
    }

    fn build_within(
        &mut self,
        set: &Rc<CaseNode<S>>,
        features: &S,
        allowance: &mut Allowance<S>,
    ) -> Result<Rc<Subtree<S>>, Stop> {
        if allowance.left.is_none() {
            let none = S::empty(self.n_features());
            let mut missing = self.leaf_of(set, 0, none)?;
            missing.used.clone_from(allowance.taken);
            return Ok(Rc::new(missing));
        }
        if self.ground.keeps_recent {
            let fits = |tree: &Subtree<S>| tree.used.is_in(features) && tree.ahead.is_apart_from(features);
            if let Some(tree) = set.recent.find(fits) {
                allowance.spend(tree.error);
                return Ok(tree);
            }
        }
        let place = self.best(set, features)?;
        let mut ahead = S::empty(self.n_features());
        set.ranking.borrow().ahead(place, ahead.as_mut());
        let tree = match place {
            None => {
                allowance.spend(set.leaf_error);
                Rc::new(self.leaf_of(set, set.leaf_error, ahead)?)
            }
            Some(place) => {
                let split = self.split(set, place)?;
                let at_leaves = split.children.iter().map(|child| match child {
                    Child::Leaf(leaf) => leaf.error,
                    Child::Set(_) => 0,
                });
                allowance.spend(split.empty_error + at_leaves.sum::<u64>());
                let mut children = SmallVec::new();
                for child in &split.children {
                    children.push(match child {
                        Child::Leaf(leaf) => leaf.clone(),
                        Child::Set(set) => self.build_within(set, features, allowance)?,
                    });
                }
                self.join(set, split, children, ahead, allowance)?
            }
        };
        if self.ground.keeps_recent && allowance.has_all(&tree) {
            set.recent.keep(tree.clone());
        }
        Ok(tree)
    }

    /// Takes features from a tree; [`kept_error`] is not spent again.
    fn remove(
        &mut self,
        tree: &Rc<Subtree<S>>,
        features: &S,
        allowance: &mut Allowance<S>,
    ) -> Result<Rc<Subtree<S>>, Stop> {
        if allowance.left.is_none() || allowance.has_all(tree) {
            return Ok(tree.clone());
        }
        let Some(split) = tree.split.as_ref().filter(|split| !allowance.taken.has(split.column as usize)) else {
            return self.build_within(&tree.set, features, allowance);
        };
        let mut children = SmallVec::with_capacity(tree.children.len());
        for child in &tree.children {
            children.push(self.remove(child, features, allowance)?);
        }
        self.join(&tree.set, split.clone(), children, tree.root_ahead.clone(), allowance)
    }

    /// The tree of a split and of trees on its branches. While it lacks parts its error is that of those it has.
    fn join(
        &mut self,
        set: &Rc<CaseNode<S>>,
        split: Rc<Split<S>>,
        children: SmallVec<[Rc<Subtree<S>>; 2]>,
        root_ahead: S,
        allowance: &mut Allowance<S>,
    ) -> Result<Rc<Subtree<S>>, Stop> {
        let bytes = Subtree::<S>::bytes(self.n_features(), children.len());
        self.charge(bytes)?;
        set.weight.enter(bytes);
        let (mut used, mut ahead) = (S::empty(self.n_features()), root_ahead.clone());
        used.insert(split.column as usize);
        let mut error = split.empty_error;
        for child in &children {
            used.add(&child.used);
            ahead.add(&child.ahead);
            error += child.error;
        }
        let mut tree =
            Subtree { set: set.clone(), split: Some(split.clone()), children, used, ahead, root_ahead, error, bytes };
        if let (Judge::HeldOut(held_out), false) = (&self.ground.judge, split.spread.is_empty())
            && allowance.has_all(&tree)
        {
            let held_out = held_out.clone();
            let mut error = 0;
            let mut cases = split.spread.iter();
            while let (Some(_), Some(&case)) = (allowance.left, cases.next()) {
                let label = self.label_of(&held_out, &tree, case, |_| true)?;
                let wrong = held_out.error(case, label.expect("every node was let through"));
                error += wrong;
                allowance.spend(wrong);
            }
            match allowance.left {
                Some(_) => tree.error += error,
                // As if a part was missing.
                None => tree.used.add(allowance.taken),
            }
        }
        Ok(Rc::new(tree))
    }

    /// The class of a held-out case that is spread at the root of a tree; `None` if it comes to a node that is not
    /// `let_through`.
    pub fn label_of(
        &mut self,
        held_out: &HeldOut,
        tree: &Subtree<S>,
        case: u32,
        let_through: impl Fn(&Subtree<S>) -> bool,
    ) -> Result<Option<u32>, Stop> {
        let label = self.mixture.label_of((&self.ground.table, held_out), tree, case, let_through);
        self.ticker.tick(self.mixture.work())?;
        Ok(label)
    }

    /// How many nodes and leaves a tree has, if no more than so many.
    pub fn size(tree: &Rc<Subtree<S>>, most: usize) -> Option<usize> {
        let (mut size, mut pending) = (0, vec![tree]);
        while let Some(tree) = pending.pop() {
            size += 1;
            pending.extend(&tree.children);
            if size + pending.len() > most {
                return None;
            }
        }
        Some(size)
    }

    /// The nodes of a tree as growth would give them, but for the order of their numbers. Complexity: O(nodes x classes),
    /// and O(cases x depth) where leaves are shared.
    pub fn grown(&self, tree: &Rc<Subtree<S>>) -> Vec<GrownNode> {
        let of_set = |set: &CaseNode<S>| GrownNode {
            masses: set.masses.to_vec().into(),
            whole: set.whole,
            rows: set.rows,
            split: None,
        };
        let mut grown = vec![of_set(&tree.set)];
        let mut splitter = Partitioner::default();
        let mut pending = vec![(0, tree)];
        while let Some((id, tree)) = pending.pop() {
            let Some(split) = &tree.split else { continue };
            let first = grown.len();
            match self.ground.lists {
                true => grown.extend(tree.children.iter().map(|child| of_set(&child.set))),
                false => {
                    // A tree that was built is shown, whatever the limits of its search.
                    let (unlimited, column) = (Budget::unlimited(), split.column as usize);
                    let (table, ticker) = (&self.ground.table, &mut Ticker::new(&unlimited));
                    let parts = splitter.partition(&tree.set.cases, table, column, &split.cut, ticker, |_| false);
                    let parts = parts.expect("without a limit").into_iter();
                    grown.extend(parts.map(|part| GrownNode {
                        masses: part.masses.into_vec().into(),
                        whole: part.whole,
                        rows: part.rows as u32,
                        split: None,
                    }));
                }
            }
            pending.extend(tree.children.iter().enumerate().map(|(branch, child)| (first + branch, child)));
            let (column, test, own) = (split.column, split.cut.clone(), split.own);
            grown[id].split = Some(GrownSplit { column, test, first: first as u32, own });
        }
        grown
    }
}

/// The errors of a tree that stay whatever is built where it splits by features that are taken, or was not built: a bound
/// on the tree without them.
pub(super) fn kept_error<S: Set>(tree: &Subtree<S>, taken: &S) -> u64 {
    if tree.used.is_apart_from(taken) {
        return tree.error;
    }
    match tree.split.as_ref().filter(|split| !taken.has(split.column as usize)) {
        Some(split) => split.empty_error + tree.children.iter().map(|child| kept_error(child, taken)).sum::<u64>(),
        None => 0,
    }
}

impl<S: Set> Drop for Forest<'_, S> {
    /// Without recursion, however deep trees are.
    fn drop(&mut self) {
        let mut pending: Vec<Rc<CaseNode<S>>> = self.root.take().into_iter().collect();
        while let Some(set) = pending.pop() {
            // Trees and the case sets that keep them refer to each other.
            set.recent.clear();
            for split in set.splits.take() {
                let parts = split.children.iter().filter_map(|child| match child {
                    Child::Set(part) => Some(part.clone()),
                    Child::Leaf(_) => None,
                });
                pending.extend(parts);
            }
        }
    }
}
