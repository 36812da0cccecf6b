//! The case graph: what is known of the case sets that trees over subsets of the columns meet.
//!
//! The worth of a column at a case set does not depend on the other columns (Assumption 4 of Ruggieri, JMLR 2019). So a
//! case set keeps a ranking of its columns, which grows as trees ask for more of them, and the case sets that each column
//! it was split by leads to. A tree over other columns takes the best of its own in the ranking, and follows pointers
//! where an earlier tree went the same way: nothing is evaluated twice.
//!
//! Case sets are reached from the root by one path each; equal ones on different paths are not looked for, since that
//! costs what it saves.

use std::sync::Arc;

use super::cases::CaseSet;
use super::cells::Cells;
use super::finish::finish;
use super::growth::{Grown, GrownSplit};
use super::rules::{self, WithRules};
use super::split::{Cut, Found, Rule, Sides};
use super::table::Table;
use super::{Checked, Missing};
use crate::bits;
use crate::budget::{Budget, Stop, Ticker};
use crate::criterion::{Costs, Impurity, Side};
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::tree::Tree;

/// Greedy trees over many subsets of the columns of one table.
///
/// Every tree is the one that [`search`](super::search) grows on the table with these columns alone, but asks of the table
/// only what no tree before it asked.
pub struct CaseGraph {
    data: Dataset,
    params: Checked,
    costs: Costs,
    table: Arc<Table>,
    graph: Box<dyn Grows + Send>,
}

impl CaseGraph {
    /// The graph of a table, with nothing but its root. The outer result is the call's, the inner one the budget's.
    ///
    /// # Errors
    /// As [`search`](super::search); and for parameters under which the split of a node depends on more than its cases:
    /// `max_leaves` (the best first may be anywhere in the tree), and dropping rows, which depends on the columns.
    pub fn new(data: &Dataset, params: &Checked, budget: &Budget) -> Result<std::result::Result<Self, Stop>> {
        let given = params.params();
        let refuse = |name, got: String, why: &str| {
            let expected = format!("{why}: the split of a node must not depend on more than its cases");
            Err(Error::InvalidParameter { name, expected, got })
        };
        if let Some(most) = given.max_leaves {
            return refuse("max_leaves", most.to_string(), "None for trees over subsets of the columns");
        }
        if given.missing == Missing::Drop {
            return refuse("missing", "drop".into(), "other than \"drop\" for trees over subsets of the columns");
        }
        rules::check_target(data)?;
        let costs = rules::costs(data, given)?;
        let table = match Table::new(data, given, budget, false)? {
            Ok(table) => table,
            Err(stop) => return Ok(Err(stop)),
        };
        let table = Arc::new(table);
        let graph = rules::with_rules(&table, given, &costs, NewGraph(table.clone()));
        Ok(Ok(CaseGraph { data: data.clone(), params: params.clone(), costs, table, graph }))
    }

    /// The tree over these columns, by position. When the case sets take more than the memory of the budget, the graph
    /// starts anew with the next tree. The outer result is the call's, the inner one the budget's.
    ///
    /// Complexity: what [`search`](super::search) takes for the case sets that are new, O(1) for each node that is not.
    ///
    /// # Errors
    /// If a position is that of no column.
    pub fn tree(&mut self, columns: &[usize], budget: &Budget) -> Result<std::result::Result<Tree, Stop>> {
        let n_columns = self.data.columns().len();
        let mut allowed = vec![0; bits::words(n_columns)];
        for &column in columns {
            if column >= n_columns {
                return Err(Error::InvalidParameter {
                    name: "columns",
                    expected: format!("positions below {n_columns}"),
                    got: column.to_string(),
                });
            }
            bits::set(&mut allowed, column);
        }
        if self.graph.stats().bytes > budget.memory_limit() {
            self.graph.clear();
        }
        match self.graph.grow(&allowed, &mut Ticker::new(budget)) {
            Ok(grown) => finish(&self.data, &self.table, self.params.params(), &self.costs, &grown).map(Ok),
            Err(stop) => Ok(Err(stop)),
        }
    }

    /// What the graph holds and did.
    pub fn stats(&self) -> GraphStats {
        self.graph.stats()
    }
}

/// What a [`CaseGraph`] holds and did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GraphStats {
    /// Case sets in memory.
    pub sets: usize,
    /// Their bytes, about.
    pub bytes: u64,
    /// How often the best split of a column at a case set was looked for.
    pub evaluations: u64,
}

struct NewGraph(Arc<Table>);

impl WithRules for NewGraph {
    type Outcome = Box<dyn Grows + Send>;

    fn run<I: Impurity + Send + 'static>(self, rules: [Rule<I>; 2]) -> Self::Outcome {
        let mut graph = Graph {
            table: self.0,
            rules,
            sets: Vec::new(),
            cells: Cells::default(),
            sides: Sides::default(),
            stats: GraphStats::default(),
        };
        graph.clear();
        Box::new(graph)
    }
}

/// A graph under any impurity.
trait Grows {
    /// The tree over the columns of which a bit is set.
    fn grow(&mut self, allowed: &[u64], ticker: &mut Ticker) -> std::result::Result<Vec<Grown>, Stop>;
    /// Forgets all but the root.
    fn clear(&mut self);
    fn stats(&self) -> GraphStats;
}

/// A case set and what is known of it.
struct Node {
    cases: CaseSet,
    side: Side,
    /// How many cases: counts times fractions.
    count: u64,
    depth: u64,
    /// Whether no column can split it.
    is_leaf: bool,
    /// The columns that were evaluated.
    evaluated: Vec<u64>,
    /// Those of them that split it, best first.
    ranking: Vec<(u32, Found)>,
    /// For each column that it was split by: the first of its branches' sets, which follow each other.
    branches: Vec<(u32, u32)>,
}

struct Graph<I> {
    table: Arc<Table>,
    rules: [Rule<I>; 2],
    sets: Vec<Node>,
    cells: Cells,
    sides: Sides,
    stats: GraphStats,
}

impl<I: Impurity> Graph<I> {
    fn push(&mut self, cases: CaseSet, depth: u64) {
        let (masses, count) = cases.masses(&self.table);
        let rule = &self.rules[usize::from(cases.fractions.is_some())];
        let side = rule.impurity.side(masses);
        let is_leaf = rule.is_leaf(&side, count, depth);
        let words = if is_leaf { 0 } else { bits::words(self.table.columns.len()) };
        // Nothing more is asked of the cases of a leaf.
        let cases = if is_leaf { CaseSet { cases: Vec::new(), ..cases } } else { cases };
        let rows = cases.cases.len() * if cases.fractions.is_some() { 8 } else { 4 };
        self.stats.bytes += (size_of::<Node>() + rows + 8 * (words + side.masses.len())) as u64;
        let evaluated = vec![0; words];
        self.sets.push(Node {
            cases,
            side,
            count,
            depth,
            is_leaf,
            evaluated,
            ranking: Vec::new(),
            branches: Vec::new(),
        });
        self.stats.sets = self.sets.len();
    }

    /// The best split of a set over the columns allowed; ties: the first column.
    fn best(
        &mut self,
        set: usize,
        allowed: &[u64],
        ticker: &mut Ticker,
    ) -> std::result::Result<Option<(u32, Cut)>, Stop> {
        let node = &mut self.sets[set];
        if node.is_leaf {
            return Ok(None);
        }
        let rule = &self.rules[usize::from(node.cases.fractions.is_some())];
        // What leaves no impurity can only be equalled, by earlier columns.
        let perfect = rule.impurity.perfect(&node.side).filter(|_| !rule.ratio);
        let is_perfect = |found: &Found| Some(found.gain) == perfect;
        let end = node.ranking.iter().find(|(column, _)| bits::get(allowed, *column as usize));
        let mut end = end.filter(|(_, found)| is_perfect(found)).map_or(u32::MAX, |(column, _)| *column);
        let (mut has_entered, mut is_new, mut stopped) = (false, false, Ok(()));
        for column in bits::ones(allowed) {
            if column as u32 >= end {
                break;
            }
            if bits::get(&node.evaluated, column) {
                continue;
            }
            if let Err(stop) = ticker.tick(node.cases.cases.len()) {
                stopped = Err(stop);
                break;
            }
            bits::set(&mut node.evaluated, column);
            self.stats.evaluations += 1;
            if !has_entered {
                self.cells.enter(&self.table, &node.cases);
                has_entered = true;
            }
            self.cells.collect(&self.table, column, &node.cases);
            let coded = &self.table.columns[column];
            let Some(found) = rule.best(coded, &self.cells.cells, &node.side, node.count, &mut self.sides) else {
                continue;
            };
            if is_perfect(&found) {
                end = column as u32;
            }
            self.stats.bytes += size_of::<(u32, Found)>() as u64;
            node.ranking.push((column as u32, found));
            is_new = true;
        }
        if is_new {
            node.ranking.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        }
        // What was evaluated until then is in the ranking, and in its place.
        stopped?;
        let best = node.ranking.iter().find(|(column, _)| bits::get(allowed, *column as usize));
        Ok(best.map(|(column, found)| (*column, found.cut.clone())))
    }

    /// The first of the sets that a split leads to.
    fn branches(&mut self, set: usize, column: u32, cut: &Cut, ticker: &mut Ticker) -> std::result::Result<u32, Stop> {
        if let Some((_, first)) = self.sets[set].branches.iter().find(|(of, _)| *of == column) {
            return Ok(*first);
        }
        let node = &self.sets[set];
        let (parts, depth) = (node.cases.split(&self.table, column as usize, cut, ticker)?, node.depth + 1);
        let first = self.sets.len() as u32;
        parts.into_iter().for_each(|part| self.push(part, depth));
        self.sets[set].branches.push((column, first));
        Ok(first)
    }
}

impl<I: Impurity> Grows for Graph<I> {
    fn grow(&mut self, allowed: &[u64], ticker: &mut Ticker) -> std::result::Result<Vec<Grown>, Stop> {
        let mut grown: Vec<Option<Grown>> = vec![None];
        let mut pending = vec![(0usize, 0usize)];
        while let Some((id, set)) = pending.pop() {
            let mut split = None;
            if let Some((column, cut)) = self.best(set, allowed, ticker)? {
                let first_set = self.branches(set, column, &cut, ticker)? as usize;
                let (first, n_branches) = (grown.len(), cut.n_branches());
                grown.resize(first + n_branches, None);
                pending.extend((0..n_branches).map(|branch| (first + branch, first_set + branch)));
                let own = self.table.columns[column as usize].has_own(&self.sets[set].cases);
                split = Some(GrownSplit { column, cut, first: first as u32, own });
            }
            let node = &self.sets[set];
            let whole = node.cases.fractions.is_none();
            grown[id] = Some(Grown { masses: node.side.masses.clone(), whole, split });
        }
        Ok(grown.into_iter().flatten().collect())
    }

    fn clear(&mut self) {
        self.sets.clear();
        self.stats.bytes = 0;
        self.push(CaseSet::all(&self.table), 0);
    }

    fn stats(&self) -> GraphStats {
        self.stats
    }
}
