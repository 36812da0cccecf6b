//! Cases over all tests, as the driver asks about them.

use std::cell::OnceCell;

use smallvec::smallvec;

use super::super::driver::TreeLimits;
use super::super::problem::{Cases, Mass};
use super::accumulator::Accumulator;
use super::counts::NodeCounts;
use super::multi_class::depth_two_costs;
use super::node::{Node, leaf};
use super::node_budgets::{BudgetCosts, BudgetQuery, NodeBudgets};
use super::stumps::Stumps;
use super::workspace::{BinaryEngine, NodeBuffers, Observer, RootCandidate};
use crate::budget::Stop;

/// Cases over all tests, with what is known of them.
#[derive(Debug)]
pub(in crate::optimal) struct BinaryNode<L> {
    pub(super) cases: Cases,
    /// Their instances, ascending, once they were asked for.
    ids: OnceCell<Vec<u32>>,
    pub(super) buffers: Box<NodeBuffers<L>>,
    is_built: bool,
    /// The least costs of trees of at most 0 to 3 nodes and this depth: one or two.
    shallow: Option<(u32, [u64; 4])>,
    /// The depth and node budgets for which the state has bounds.
    pub(super) open: Option<(u32, NodeBudgets)>,
    /// By position: roots that were tried on the way to the last one found.
    pub(super) is_tried: Vec<bool>,
}

impl<L: Accumulator> BinaryNode<L> {
    pub(super) fn new(cases: Cases, buffers: Box<NodeBuffers<L>>) -> Self {
        let (ids, is_tried) = (OnceCell::new(), Vec::new());
        BinaryNode { cases, ids, buffers, is_built: false, shallow: None, open: None, is_tried }
    }
}

impl<M: Mass, L: Accumulator> BinaryEngine<'_, M, L> {
    pub(super) fn ids<'n>(&self, node: &'n BinaryNode<L>) -> &'n [u32] {
        node.ids.get_or_init(|| self.instances.of_rows(&node.cases.rows))
    }

    pub(super) fn build(&self, node: &mut BinaryNode<L>) -> Result<(), Stop> {
        if !node.is_built {
            let BinaryNode { cases, ids, buffers, .. } = &mut *node;
            self.root_node(ids.get_or_init(|| self.instances.of_rows(&cases.rows)), &mut buffers.node)?;
            node.is_built = true;
        }
        Ok(())
    }

    /// The least costs of trees of at most 0 to 3 nodes and a depth of one or two, whatever the depth asked for above
    /// that.
    pub(super) fn shallow_costs(&self, node: &mut BinaryNode<L>, depth: u32) -> Result<[u64; 4], Stop> {
        let depth = depth.min(2);
        if let Some((_, costs)) = node.shallow.filter(|&(known, _)| known >= depth) {
            return Ok(costs);
        }
        self.budget.visit()?;
        self.build(node)?;
        let costs = if depth < 2 { self.stump_costs(&mut node.buffers) } else { self.shallow(&mut node.buffers)? };
        node.shallow = Some((depth, costs));
        Ok(costs)
    }

    /// The least costs of a leaf and of a single node. Its roots stay in `at.roots`, with leaves in place of their
    /// stumps.
    fn stump_costs(&self, at: &mut NodeBuffers<L>) -> [u64; 4] {
        let NodeBuffers { node, stumps, roots, .. } = at;
        let shape = self.shape(node);
        for (side, stumps) in [(true, &mut stumps.true_side), (false, &mut stumps.false_side)] {
            stumps.fill_with(shape.stride, L::default());
            for &root in &node.live {
                stumps[root as usize] = L::of(node.counts.singles.leaf(shape, side, root as usize));
            }
        }
        self.depth_two_costs(node, &node.counts, stumps, roots)
    }

    /// The least costs of trees of depth two by some counts of a node, given the best stumps of all roots, which are
    /// listed.
    pub(super) fn depth_two_costs<K: Accumulator>(
        &self,
        node: &Node<L>,
        counts: &NodeCounts<K>,
        stumps: &Stumps<K>,
        roots: &mut Vec<RootCandidate>,
    ) -> [u64; 4] {
        roots.clear();
        let (leaf, penalty) = (leaf(&counts.totals[..self.instances.n_classes]), self.problem.node_penalty);
        let by_cost = self.switches.order == super::RootOrder::DepthTwo;
        depth_two_costs(self.shape(node), &node.live, &counts.singles, stumps, leaf, penalty, |root, cost| {
            let rank = self.rank[node.test[root as usize] as usize];
            roots.push(RootCandidate { cost: if by_cost { cost } else { 0 }, rank, position: root });
        })
    }

    /// The least cost of a node, if that is below the cutoff; else a lower bound that is not.
    pub(super) fn least(&self, node: &mut BinaryNode<L>, limits: TreeLimits, cutoff: u64) -> Result<u64, Stop> {
        let TreeLimits { depth, nodes } = limits;
        if depth <= 2 {
            return Ok(self.shallow_costs(node, depth)?[nodes as usize]);
        }
        let levels = NodeBudgets::new(depth, nodes);
        let (mut cutoffs, floors): (BudgetCosts, _) = (smallvec![0; levels.len()], smallvec![0; levels.len()]);
        cutoffs[levels.top()] = cutoff;
        self.values(node, &BudgetQuery { depth, levels, cutoffs, floors }, None).map(|values| values[levels.top()])
    }

    /// Solves a node of depth three or more.
    pub(super) fn values(
        &self,
        node: &mut BinaryNode<L>,
        ask: &BudgetQuery,
        watch: Option<&dyn Observer<L>>,
    ) -> Result<BudgetCosts, Stop> {
        self.build(node)?;
        node.open = None;
        let values = self.solve(&mut node.buffers, ask, None, watch, &node.cases.path)?;
        node.shallow = Some((2, node.buffers.costs));
        node.open = node.buffers.state.has_bounds.then_some((ask.depth, ask.levels));
        Ok(values)
    }
}
