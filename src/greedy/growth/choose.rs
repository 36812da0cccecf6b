//! The best split of a node while a tree grows.

use rayon::prelude::*;
use smallvec::SmallVec;

use super::{Grower, Room, Task};
use crate::budget::Ticker;
use crate::criterion::Impurity;
use crate::criterion::roughly::MARGIN;
use crate::greedy::chain::{Chain, Links};
use crate::greedy::orders::Entry;
use crate::greedy::rough::{Rough, RoughLook};
use crate::greedy::split::{Found, Known, better};

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
        let of_order = |(column, entries): &(u32, &mut [Entry]), room: &mut Room| {
            let known = Known { side, count, node_mass: side.total };
            let found = self.layout.best(rule, self.table, entries, &known, &mut room.sides);
            found.map(|found| (*column, found))
        };
        // And whether the column varies. The room has entered the node.
        let of_cells = |&column: &u32, room: &mut Room| {
            room.cells.collect(self.table, column as usize, set);
            let (coded, cells) = (&self.table.columns[column as usize], &room.cells.cells);
            let found = rule.best(coded, cells, side, count, &mut room.sides);
            let varies = cells.first().map(|cell| cell.code) != cells.last().map(|cell| cell.code);
            (found.map(|found| (column, found)), varies)
        };
        if self.is_parallel(task) {
            let of_order = |live| if self.checks() { self.lend(|room| of_order(live, room)) } else { None };
            let of_cells = |live| {
                if !self.checks() {
                    return (None, true);
                }
                self.lend(|room| {
                    room.cells.enter(self.table, set);
                    of_cells(live, room)
                })
            };
            // Folded in the order that one thread has.
            let (orders, others) = rayon::join(
                || task.orders.par_iter().map(of_order).collect::<Vec<_>>(),
                || task.others.par_iter().map(of_cells).collect::<Vec<_>>(),
            );
            let best = orders.into_iter().fold(None, better);
            let mut varies = others.iter().map(|(_, varies)| *varies).collect::<Vec<_>>().into_iter();
            task.others.retain(|_| varies.next() != Some(false));
            let best = others.into_iter().map(|(found, _)| found).fold(best, better);
            return best.filter(|_| !self.has_stopped());
        }
        if set.has_fractions() && Rough::fits(rule, self.table, side) {
            return self.choose_roughly(task, room, ticker);
        }
        // What leaves no impurity can only be equalled, and that matters for earlier columns alone.
        let perfect = rule.impurity.perfect(side).filter(|_| !rule.ratio);
        let is_perfect = |found: &(u32, Found)| Some(found.1.gain) == perfect;
        let mut tick = || ticker.tick(2 * task.rows).map_err(|stop| self.stop.set(stop)).is_ok();
        let mut best = None;
        for live in &task.orders {
            if !tick() {
                return None;
            }
            best = better(best, of_order(live, room));
            if best.as_ref().is_some_and(is_perfect) {
                break;
            }
        }
        if !task.others.is_empty() {
            room.cells.enter(self.table, set);
        }
        task.others.retain(|live| {
            if best.as_ref().is_some_and(|best| is_perfect(best) && best.0 < *live) {
                return true;
            }
            if !tick() {
                return true;
            }
            let (found, varies) = of_cells(live, room);
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
                Err(stop) => {
                    let _ = self.stop.set(stop);
                    return Some(None);
                }
            }
        }
        let chain = task.chain.as_ref()?;
        if let Err(stop) = ticker.tick(chain.work()) {
            let _ = self.stop.set(stop);
            return Some(None);
        }
        Some(chain.choose((self.table, rule), (&task.side, task.count), &mut room.sides))
    }

    /// [`Growth::choose`] at a node of parts of cases: columns that may be the best are looked at exactly.
    fn choose_roughly(&self, task: &mut Task, room: &mut Room, ticker: &mut Ticker<'t>) -> Option<(u32, Found)> {
        let (rule, side, count, set) = (self.rule(task), &task.side, task.count, &task.set);
        let go_on = || ticker.tick(2 * task.rows).map_err(|stop| self.stop.set(stop)).is_ok();
        let columns: SmallVec<[usize; 32]> = task.others.iter().map(|&column| column as usize).collect();
        let mut constant: SmallVec<[u32; 32]> = SmallVec::new();
        let saw = |column: usize, look: &RoughLook| {
            if matches!(look, RoughLook::Constant) {
                constant.push(column as u32);
            }
        };
        let rules = (rule, self.table);
        let mut best = room.rough.survey(rules, (set, side), &columns, &mut room.sides, go_on, saw);
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
            if self.has_stopped() {
                break;
            }
            let look = room.rough.closely(rules, column, (set, side), &mut room.sides, false);
            let found = match look {
                Some(look) => look.found(),
                None => {
                    room.cells.enter(self.table, set);
                    room.cells.collect(self.table, column, set);
                    rule.best(&self.table.columns[column], &room.cells.cells, side, count, &mut room.sides)
                }
            };
            best = better(best, found.map(|found| (column as u32, found)));
        }
        task.others.retain(|column| !constant.contains(column));
        best.filter(|_| !self.has_stopped())
    }

    /// The split chosen for a node, as the one of its column, with its gain as it is if that was known roughly only. The
    /// rough look is still at this node.
    pub(super) fn closely(&self, task: &Task, column: u32, found: Found, room: &mut Room) -> Found {
        if !found.is_rough() {
            return found;
        }
        let (rule, side, set) = (self.rule(task), &task.side, &task.set);
        let look = room.rough.closely((rule, self.table), column as usize, (set, side), &mut room.sides, false);
        let exact = look.and_then(|look| look.found()).or_else(|| {
            room.cells.enter(self.table, set);
            room.cells.collect(self.table, column as usize, set);
            let coded = &self.table.columns[column as usize];
            rule.best(coded, &room.cells.cells, side, task.count, &mut room.sides)
        });
        exact.unwrap_or(found)
    }
}
