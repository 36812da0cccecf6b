//! Trees over a set of features, and trees from which features are removed.
//!
//! Removing a feature builds anew what hangs on the nodes that it splits, copies the path to them, and shares all else
//! with the tree it came from. (The paper, section 4.2, property 3, clones the tree and builds these subtrees.)

use std::rc::Rc;

use smallvec::SmallVec;

use super::CaseGraph;
use super::node::{BranchTarget, CaseNode, CaseSplit, Subtree};
use crate::budget::{Budget, Stop, Ticker};
use crate::greedy::engine::{GrownNode, GrownSplit, Partitioner};
use crate::subsets::error_estimator::ErrorEstimator;
use crate::subsets::feature_set::FeatureSet;

/// The features that are removed from a tree, and the error that it may still make. Once it errs on more, nothing more
/// is built, and the tree stays unfinished.
struct Allowance<'a, S> {
    /// `None`: it erred on more.
    error: Option<u64>,
    removed: &'a S,
}

impl<S: FeatureSet> Allowance<'_, S> {
    fn spend(&mut self, error: u64) {
        self.error = self.error.and_then(|left| left.checked_sub(error));
    }

    fn is_exceeded(&self) -> bool {
        self.error.is_none()
    }
}

impl<S: FeatureSet> CaseGraph<'_, S> {
    /// DT(features).
    pub fn tree(&mut self, features: &S) -> Result<Rc<Subtree<S>>, Stop> {
        self.begin()?;
        let root = self.root.clone().expect("made with the graph");
        let removed = &S::empty(self.n_features());
        self.build(&root, features, &mut Allowance { error: Some(u64::MAX), removed })
    }

    /// DT(features), made from the tree over these and one more feature.
    pub fn tree_without(
        &mut self,
        tree: &Rc<Subtree<S>>,
        feature: usize,
        features: &S,
    ) -> Result<Rc<Subtree<S>>, Stop> {
        let removed = S::of(self.n_features(), &[feature]);
        self.tree_within(tree, &removed, features, u64::MAX)
    }

    /// DT(features), made from a tree over these and the `removed` features that may be unfinished. It is given up, and
    /// comes back unfinished, once it is known to err on more than `most` beside its [`Subtree::kept_error`].
    pub fn tree_within(
        &mut self,
        tree: &Rc<Subtree<S>>,
        removed: &S,
        features: &S,
        most: u64,
    ) -> Result<Rc<Subtree<S>>, Stop> {
        self.begin()?;
        self.remove(tree, features, &mut Allowance { error: Some(most), removed })
    }

    /// Begins a tree: makes room for it in memory, and checks that there is room on the stack.
    fn begin(&mut self) -> Result<(), Stop> {
        self.evict_if_full();
        self.depth.begin()
    }

    /// The tree over `features` on a case set.
    fn build(
        &mut self,
        node: &Rc<CaseNode<S>>,
        features: &S,
        allowance: &mut Allowance<S>,
    ) -> Result<Rc<Subtree<S>>, Stop> {
        if allowance.is_exceeded() {
            let mut unfinished = self.leaf(node, 0, S::empty(self.n_features()))?;
            unfinished.is_finished = false;
            return Ok(Rc::new(unfinished));
        }
        if self.context.keeps_recent {
            let fits = |tree: &Subtree<S>| tree.used.is_subset(features) && tree.ahead.is_disjoint(features);
            if let Some(tree) = node.recent.find(fits) {
                allowance.spend(tree.error);
                return Ok(tree);
            }
        }
        let place = self.best(node, features)?;
        let mut ahead = S::empty(self.n_features());
        node.ranking.borrow().ahead(place, ahead.as_mut());
        let tree = match place {
            None => {
                allowance.spend(node.leaf_error);
                Rc::new(self.leaf(node, node.leaf_error, ahead)?)
            }
            Some(place) => {
                let split = self.split(node, place)?;
                allowance.spend(split.certain_error());
                let mut children = SmallVec::new();
                for branch in &split.branches {
                    children.push(match branch {
                        BranchTarget::Leaf(leaf) => leaf.clone(),
                        BranchTarget::Node(node) => self.build(node, features, allowance)?,
                    });
                }
                self.join(node, &split, children, ahead, allowance)?
            }
        };
        if self.context.keeps_recent && tree.is_finished {
            node.recent.keep(tree.clone());
        }
        Ok(tree)
    }

    /// Removes features from a tree. Its [`Subtree::kept_error`] is not spent again.
    fn remove(
        &mut self,
        tree: &Rc<Subtree<S>>,
        features: &S,
        allowance: &mut Allowance<S>,
    ) -> Result<Rc<Subtree<S>>, Stop> {
        if allowance.is_exceeded() || tree.is_without(allowance.removed) {
            return Ok(tree.clone());
        }
        let Some(split) = tree.split.as_ref().filter(|split| !allowance.removed.has(split.column as usize)) else {
            return self.build(&tree.node, features, allowance);
        };
        let mut children = SmallVec::with_capacity(tree.children.len());
        for child in &tree.children {
            children.push(self.remove(child, features, allowance)?);
        }
        self.join(&tree.node, split, children, tree.root_ahead.clone(), allowance)
    }

    /// The tree of a split and of trees on its branches.
    fn join(
        &mut self,
        node: &Rc<CaseNode<S>>,
        split: &Rc<CaseSplit<S>>,
        children: SmallVec<[Rc<Subtree<S>>; 2]>,
        root_ahead: S,
        allowance: &mut Allowance<S>,
    ) -> Result<Rc<Subtree<S>>, Stop> {
        self.charge(Subtree::<S>::bytes(self.n_features(), children.len()))?;
        let mut tree = Subtree::inner(node, split, children, root_ahead, self.n_features());
        tree.is_finished = tree.is_without(allowance.removed);
        if tree.is_finished {
            match self.spread_error(&tree, split, allowance)? {
                Some(error) => tree.error += error,
                None => tree.is_finished = false,
            }
        }
        Ok(Rc::new(tree))
    }

    /// The error on the held-out cases that are spread at the root of a tree; `None` if that exceeds the allowance.
    fn spread_error(
        &mut self,
        tree: &Subtree<S>,
        split: &CaseSplit<S>,
        allowance: &mut Allowance<S>,
    ) -> Result<Option<u64>, Stop> {
        let ErrorEstimator::Holdout(holdout) = &self.context.estimator else { return Ok(Some(0)) };
        let mut error = 0;
        for &case in &split.spread {
            if allowance.is_exceeded() {
                return Ok(None);
            }
            let label = self.label_of_spread(tree, case, |_| true)?;
            let of_case = holdout.error(case, label.expect("every node was let through"));
            error += of_case;
            allowance.spend(of_case);
        }
        Ok((split.spread.is_empty() || !allowance.is_exceeded()).then_some(error))
    }

    /// A leaf. `ahead`: the features that may split the case set.
    fn leaf(&mut self, node: &Rc<CaseNode<S>>, error: u64, ahead: S) -> Result<Subtree<S>, Stop> {
        self.charge(Subtree::<S>::bytes(self.n_features(), 0))?;
        Ok(Subtree::leaf(node, error, ahead))
    }

    /// The nodes of a tree as growth would give them, but for their numbering. Complexity: O(nodes x classes), and
    /// O(cases x depth) where leaves are shared.
    pub fn grown(&self, tree: &Rc<Subtree<S>>) -> Vec<GrownNode> {
        let of_node = |node: &CaseNode<S>| GrownNode {
            masses: node.masses.to_vec().into(),
            whole: node.whole,
            rows: node.rows,
            split: None,
        };
        let mut grown = vec![of_node(&tree.node)];
        let mut splitter = Partitioner::default();
        let mut pending = vec![(0, tree)];
        while let Some((id, tree)) = pending.pop() {
            let Some(split) = &tree.split else { continue };
            let first = grown.len();
            match self.context.keeps_leaf_masses {
                true => grown.extend(tree.children.iter().map(|child| of_node(&child.node))),
                false => {
                    // A tree that was built is shown, whatever the limits of its search.
                    let unlimited = Budget::unlimited();
                    let ticker = &mut Ticker::new(&unlimited);
                    let (table, column) = (&self.context.table, split.column as usize);
                    let parts = splitter.partition(&tree.node.cases, table, column, &split.cut, ticker, |_| false);
                    let parts = parts.expect("the budget has no limit").into_iter();
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
