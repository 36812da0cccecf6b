//! DTdistinct: every tree that some subset of the features leads to, once.

use std::rc::Rc;

use super::features::Set;
use super::frontier::Ranker;
use super::ground::Ground;
use super::stack::Stack;
use super::trees::{Forest, Subtree};
use super::{Board, Order};
use crate::budget::{Budget, Stop};

/// A call of Algorithm 2: the trees over `required` and any subset of `optional`.
#[derive(Debug, Clone)]
pub(super) struct Call<S> {
    pub required: S,
    pub optional: S,
}

impl<S: Set> Call<S> {
    /// The features that its own tree is built over.
    pub fn features(&self) -> S {
        self.required.union(&self.optional)
    }
}

/// Where trees are listed. A `false` ends the visit.
pub(super) type Sink<'s, S> = &'s mut dyn FnMut(&Forest<'_, S>, &Rc<Subtree<S>>) -> bool;

/// What a worker counted and did not report yet.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    pub built: u64,
    pub distinct: u64,
    pub by_size: Vec<u64>,
    /// The part of all subsets whose trees are listed, since the last report.
    pub covered: f64,
}

impl Tally {
    pub fn new(n_features: usize) -> Self {
        Tally { by_size: vec![0; n_features + 1], ..Tally::default() }
    }

    pub fn add(&mut self, other: &Tally) {
        self.built += other.built;
        self.distinct += other.distinct;
        self.by_size.iter_mut().zip(&other.by_size).for_each(|(a, b)| *a += b);
    }
}

/// Why a visit ended before its end.
pub(super) enum End {
    Stop(Stop),
    /// The caller has enough.
    Enough,
}

impl From<Stop> for End {
    fn from(stop: Stop) -> Self {
        End::Stop(stop)
    }
}

/// A worker.
pub(super) struct Visit<'g, S: Set> {
    pub forest: Forest<'g, S>,
    ground: &'g Ground,
    ranker: Ranker<S>,
    pub tally: Tally,
    /// How many subsets there are, as a power of two.
    n_optional: usize,
    board: &'g Board,
    reported: (u64, u64),
}

/// Trees between two reports.
const REPORT_EVERY: u64 = 256;

impl<'g, S: Set> Visit<'g, S> {
    pub fn new(
        ground: &'g Ground,
        order: Order,
        n_optional: usize,
        workers: usize,
        (budget, board, stack): (&'g Budget, &'g Board, Stack),
    ) -> Result<Self, Stop> {
        let forest = Forest::new(ground, (budget, stack), workers, None)?;
        let n = forest.n_features();
        Ok(Visit {
            ground,
            forest,
            ranker: Ranker::new(order, n),
            tally: Tally::new(n),
            n_optional,
            board,
            reported: (0, 0),
        })
    }

    /// Algorithm 2 from its first line.
    pub fn run(&mut self, call: &Call<S>, sink: Sink<'_, S>) -> Result<(), End> {
        let tree = self.forest.tree(&call.features())?;
        self.distinct(&tree, call, sink)
    }

    /// A call with all below it, or alone.
    pub fn run_part(&mut self, call: &Call<S>, below: bool, sink: Sink<'_, S>) -> Result<(), End> {
        if below {
            return self.run(call, sink);
        }
        let tree = self.forest.tree(&call.features())?;
        self.list(&tree, call, sink)
    }

    /// Algorithm 2, DTdistinct(R, S), with T = DT(R + S).
    fn distinct(&mut self, tree: &Rc<Subtree<S>>, call: &Call<S>, sink: Sink<'_, S>) -> Result<(), End> {
        self.list(tree, call, sink)?;
        for (feature, child) in self.children(tree, call)? {
            let tree = self.forest.without(tree, feature, &child.features())?;
            self.distinct(&tree, &child, sink)?;
        }
        Ok(())
    }

    /// Lines 3 to 5: lists the tree of a call if it uses all that it must.
    pub fn list(&mut self, tree: &Rc<Subtree<S>>, call: &Call<S>, sink: Sink<'_, S>) -> Result<(), End> {
        self.tally.built += 1;
        // All subsets that differ in unused features alone have this tree.
        let same = call.optional.count() - call.optional.count_and(&tree.used);
        self.tally.covered += 2f64.powi(same as i32 - self.n_optional as i32);
        if self.tally.built.is_multiple_of(REPORT_EVERY) {
            self.forest.ticker.tick(100 * REPORT_EVERY as usize)?;
            self.report();
        }
        if call.required.is_in(&tree.used) {
            self.tally.distinct += 1;
            self.tally.by_size[tree.used.count()] += 1;
            if !sink(&self.forest, tree) {
                return Err(End::Enough);
            }
        }
        Ok(())
    }

    /// Lines 6 to 12: the features to take away, and the calls that this leads to.
    pub fn children(&mut self, tree: &Rc<Subtree<S>>, call: &Call<S>) -> Result<Children<S>, Stop> {
        let candidates = call.optional.and(&tree.used);
        let order = self.ranker.order(tree, &candidates, &self.ground.table, &mut self.forest.ticker)?;
        let (required, optional) = (call.required.union(&candidates), call.optional.minus(&candidates));
        Ok(Children { order: order.into_iter(), required, optional })
    }

    /// Tells the board what was counted since the last time.
    pub fn report(&mut self) {
        let (built, distinct) = (self.tally.built, self.tally.distinct);
        self.board.count(built - self.reported.0, distinct - self.reported.1);
        self.board.cover(std::mem::take(&mut self.tally.covered));
        self.reported = (built, distinct);
    }
}

/// The calls that a call makes, with the feature that each takes away.
pub(super) struct Children<S> {
    order: smallvec::IntoIter<[u32; 16]>,
    required: S,
    optional: S,
}

impl<S: Set> Iterator for Children<S> {
    type Item = (usize, Call<S>);

    fn next(&mut self) -> Option<Self::Item> {
        let feature = self.order.next()? as usize;
        self.required.remove(feature);
        let call = Call { required: self.required.clone(), optional: self.optional.clone() };
        self.optional.insert(feature);
        Some((feature, call))
    }
}
