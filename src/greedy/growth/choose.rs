//! The best split of a node while a tree grows.

use rayon::prelude::*;
use smallvec::SmallVec;

use super::{Grower, Room, Task};
use crate::budget::Ticker;
use crate::criterion::Impurity;
use crate::criterion::roughly::MARGIN;
use crate::greedy::cells::Cell;
use crate::greedy::chain::{Chain, Links};
use crate::greedy::orders::Entry;
use crate::greedy::rough::{Rough, RoughLook};
use crate::greedy::split::{Cut, Found, Known, better};

/// Columns that threads look at before the best of them is kept.
const COLUMNS_AT_ONCE: usize = 64;

fn chunk<T>(all: &[T], start: usize) -> &[T] {
    &all[start.min(all.len())..(start + COLUMNS_AT_ONCE).min(all.len())]
}

impl<'t, I: Impurity> Grower<'t, I> {
    /// The best split of a node; ties: the first column. None either if growth has to stop. Columns that are constant at
    /// the node, and so below it, are dropped.
    pub(super) fn choose(&self, task: &mut Task<'t>, room: &mut Room, ticker: &mut Ticker<'t>) -> Option<(u32, Found)> {
        if self.has_stopped() {
            return None;
        }
        if let Some(found) = self.choose_in_chain(task, room, ticker) {
            return found;
        }
        let rule = self.rule(task);
        let (side, count, set) = (&task.side, task.count, &task.set);
        // Where the run has to stop, nothing is found.
        let of_order = |(column, entries): &(u32, &mut [Entry]), room: &mut Room, ticker: &mut Ticker| {
            let known = Known { side, count, node_mass: side.total };
            let found = self.go_on(ticker.tick(2 * task.rows)).and_then(|()| {
                self.go_on(self.layout.best(rule, self.table, entries, &known, (&mut room.sides, ticker)))
            });
            found.flatten().map(|found| (*column, found))
        };
        // And whether the column varies. The room has entered the node.
        let of_cells = |&column: &u32, room: &mut Room, ticker: &mut Ticker| {
            if self.go_on(ticker.tick(2 * task.rows)).is_none() {
                return (None, true);
            }
            room.cells.collect(self.table, column as usize, set);
            let (coded, cells) = (&self.table.columns[column as usize], &room.cells.cells);
            let found = self.go_on(rule.best(coded, cells, (side, count), &mut room.sides, ticker)).flatten();
            let varies = cells.first().map(|cell| cell.code) != cells.last().map(|cell| cell.code);
            (found.map(|found| (column, found)), varies)
        };
        if self.is_parallel(task) {
            let of_order = |live| self.lend(|room| of_order(live, room, &mut Ticker::new(self.budget)));
            let of_cells = |live| {
                self.lend(|room| {
                    room.cells.enter(self.table, set);
                    of_cells(live, room, &mut Ticker::new(self.budget))
                })
            };
            // So many at a time: exact gains hold class masses. Each kind is folded in the order that one thread has.
            let (mut of_orders, mut of_others, mut varies) = (None, None, Vec::with_capacity(task.others.len()));
            for start in (0..task.orders.len().max(task.others.len())).step_by(COLUMNS_AT_ONCE) {
                let (orders, others) = rayon::join(
                    || chunk(&task.orders, start).par_iter().map(of_order).collect::<Vec<_>>(),
                    || chunk(&task.others, start).par_iter().map(of_cells).collect::<Vec<_>>(),
                );
                of_orders = orders.into_iter().fold(of_orders, better);
                for (found, varies_here) in others {
                    of_others = better(of_others, found);
                    varies.push(varies_here);
                }
            }
            let mut varies = varies.into_iter();
            task.others.retain(|_| varies.next() != Some(false));
            return better(of_orders, of_others).filter(|_| !self.has_stopped());
        }
        if set.has_fractions() && Rough::fits(rule, self.table, side) {
            return self.choose_roughly(task, room, ticker);
        }
        // What leaves no impurity can only be equalled, and that matters for earlier columns alone.
        let is_perfect = |(_, found): &(u32, Found)| rule.is_perfect(found, side);
        let mut best = None;
        for live in &task.orders {
            best = better(best, of_order(live, room, ticker));
            if self.has_stopped() {
                return None;
            }
            if best.as_ref().is_some_and(is_perfect) {
                break;
            }
        }
        if !task.others.is_empty() {
            room.cells.enter(self.table, set);
        }
        task.others.retain(|live| {
            if self.has_stopped() || best.as_ref().is_some_and(|best| is_perfect(best) && best.0 < *live) {
                return true;
            }
            let (found, varies) = of_cells(live, room, ticker);
            best = better(best.take(), found);
            varies
        });
        best.filter(|_| !self.has_stopped())
    }

    /// [`Growth::choose`] at a node of a chain, or one that begins here; `None` at others.
    fn choose_in_chain(
        &self,
        task: &mut Task<'t>,
        room: &mut Room,
        ticker: &mut Ticker<'t>,
    ) -> Option<Option<(u32, Found)>> {
        let rule = self.rule(task);
        if task.chain.is_none() && task.whole && task.links.make_chain(self.chains, task.rows) {
            let about = (self.table, self.layout, self.chains);
            let how = (rule.nominal, rule.shares_order);
            let others = (&task.others[..], &task.set);
            match Chain::new(about, how, &mut task.orders, others, task.rows, ticker) {
                Ok(Some(chain)) => (task.chain, task.set) = (Some(Box::new(chain)), Default::default()),
                Ok(None) => task.links = Links::refused(),
                Err(stop) => return Some(self.go_on(Err(stop))),
            }
        }
        let chain = task.chain.as_ref()?;
        let found = chain.choose((self.table, rule), (&task.side, task.count), &mut room.sides, ticker);
        Some(self.go_on(found).flatten())
    }

    /// [`Growth::choose`] at a node of parts of cases: columns that may be the best are looked at exactly.
    fn choose_roughly(&self, task: &mut Task, room: &mut Room, ticker: &mut Ticker<'t>) -> Option<(u32, Found)> {
        let (rule, side, set) = (self.rule(task), &task.side, &task.set);
        let columns: SmallVec<[usize; 32]> = task.others.iter().map(|&column| column as usize).collect();
        let mut constant: SmallVec<[u32; 32]> = SmallVec::new();
        let saw = |column: usize, look: &RoughLook| {
            if matches!(look, RoughLook::Constant) {
                constant.push(column as u32);
            }
        };
        let rules = (rule, self.table);
        let (mut best, outcome) = room.rough.survey(rules, (set, side), &columns, &mut room.sides, ticker, saw);
        self.go_on(outcome)?;
        let least = best.as_ref().map_or(f32::NEG_INFINITY, |(_, found)| rule.rough_gain(found, side) - MARGIN);
        let near = room.rough.gains.iter().filter(|(_, gain)| *gain >= least).map(|(column, _)| *column as usize);
        let mut columns: SmallVec<[usize; 32]> = near.chain(room.rough.unclear.iter().copied()).collect();
        // Beside another column a cut alone is not enough.
        if !columns.is_empty()
            && let Some((column, _)) = best.take_if(|(_, found)| found.is_rough())
        {
            columns.push(column as usize);
        }
        for column in columns {
            let found = self.look_exactly(task, column, room, ticker)?;
            best = better(best, found.map(|found| (column as u32, found)));
        }
        task.others.retain(|column| !constant.contains(column));
        best.filter(|_| !self.has_stopped())
    }

    /// The split chosen for a node with its gain as it is, to be compared with those of other nodes: if it was known roughly
    /// only, or gains round, as those of nodes of parts do in another way than those of nodes of whole cases. The rough look
    /// is still at this node. Nothing if the run has to stop.
    pub(super) fn closely(
        &self,
        task: &Task,
        column: u32,
        found: Found,
        room: &mut Room,
        ticker: &mut Ticker,
    ) -> Option<Found> {
        let found = match found.is_rough() {
            true => self.look_exactly(task, column as usize, room, ticker)?.unwrap_or(found),
            false => found,
        };
        let is_complete = || self.table.columns.iter().all(|coded| coded.is_complete);
        if found.exact.is_some() || !self.rules[0].impurity.rounds() && is_complete() {
            return Some(found);
        }
        // The masses are summed up here, and kept with the gain.
        let n_masses = self.table.n_classes * found.cut.n_branches();
        self.go_on(ticker.tick(2 * task.rows + n_masses))?;
        let _held = self.go_on(self.budget.reserve(16 * n_masses as u64))?;
        let branches = self.branch_masses(task, column, &found.cut, room);
        let whole: Vec<u64> =
            (0..self.table.n_classes).map(|class| branches.iter().map(|masses| masses[class]).sum()).collect();
        let exact = self.rule(task).impurity.exact_gain(branches.iter().map(|masses| &masses[..]), &whole);
        Some(Found { exact: exact.map(Box::new), ..found })
    }

    /// The best split of a column at a node that the rough look has entered, with its gain as it is. Nothing if the run has
    /// to stop.
    fn look_exactly(&self, task: &Task, column: usize, room: &mut Room, ticker: &mut Ticker) -> Option<Option<Found>> {
        let (rule, set, node) = (self.rule(task), &task.set, (&task.side, task.count));
        let work = (&mut room.sides, &mut *ticker);
        let look = room.rough.closely((rule, self.table), column, (set, node.0), work, false);
        if let Some(look) = self.go_on(look)? {
            return Some(look.found());
        }
        room.cells.enter(self.table, set);
        room.cells.collect(self.table, column, set);
        let coded = &self.table.columns[column];
        self.go_on(rule.best(coded, &room.cells.cells, node, &mut room.sides, ticker))
    }

    /// Class masses of the branches of a split, of the cases with a value. Complexity: O(cases + branches x classes).
    fn branch_masses(&self, task: &Task, column: u32, cut: &Cut, room: &mut Room) -> Vec<Vec<u64>> {
        let mut branches = vec![vec![0; self.table.n_classes]; cut.n_branches()];
        let mut add = |cell: Cell| {
            let branch = match cut {
                Cut::AtMost { below, .. } => usize::from(cell.code > *below),
                Cut::Is(same) => usize::from(cell.code != *same),
                Cut::In(codes) => usize::from(codes.binary_search(&cell.code).is_err()),
                Cut::Each(codes) => codes.binary_search(&cell.code).expect("every code that came has a branch"),
            };
            branches[branch][cell.class as usize] += cell.mass;
        };
        if let Some(chain) = &task.chain {
            chain.cells(self.table, column).for_each(add);
        } else if let Some((_, entries)) = task.orders.iter().find(|(live, _)| *live == column) {
            entries.iter().for_each(|&entry| add(self.layout.cell_of(self.table, entry)));
        } else {
            room.cells.enter(self.table, &task.set);
            room.cells.collect(self.table, column as usize, &task.set);
            room.cells.cells.iter().for_each(|&cell| add(cell));
        }
        branches
    }
}
