//! Chains of nodes: where split after split takes only a few cases away, the columns of the large branch are kept up to date
//! rather than parted and read anew. A tree of as many nodes as there are cases then takes O(n log^2 n) per column rather
//! than O(n^2).
//!
//! The splits are those that all cases would give: columns are summed up in a way that tells which splits may be best
//! (`hull`, `boxes`), and these few are compared as elsewhere. Only nodes of whole cases are kept so, and only where each
//! column can be: ordered ones of a few classes, nominal ones whose levels are split off one by one, and those of few
//! values.

mod boxes;
mod hull;
mod levels;

use smallvec::SmallVec;

use super::cells::Cell;
use super::orders::{self, Entry, Layout};
use super::split::{Cut, Found, Known, Rule, Sides, better};
use super::table::{NONE, Table};
use super::{NominalSplits, cases::CaseSet};
use crate::bits;
use crate::budget::{Reserved, Stop, Ticker};
use crate::criterion::{Impurity, Side};
use boxes::Boxes;
use hull::{Cuts, Hulls};
use levels::Levels;

/// Where chains begin and end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chains {
    /// So many splits with a small branch make a chain.
    pub links: u32,
    /// Nodes of fewer rows are read anew: that takes no longer.
    pub few_rows: usize,
    /// A branch with less than one in so many of the cases is small.
    pub small: usize,
}

impl Default for Chains {
    fn default() -> Self {
        Chains { links: 12, few_rows: 4096, small: 32 }
    }
}
/// Values times classes up to which a column is read anew, value by value.
const FEW_SUMS: usize = 256;

/// How many splits with a small branch lead to a node; no number where it cannot be kept as one of a chain.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Links(Option<u32>);

impl Links {
    /// Of the root.
    pub fn none() -> Self {
        Links(Some(0))
    }

    /// Of a branch with so many of the rows.
    pub fn of_branch(self, chains: Chains, rows: usize, of: usize) -> Self {
        // A branch of parts of cases may have them all.
        let is_large = of.saturating_sub(rows) * chains.small < of;
        Links(match self.0 {
            Some(links) if is_large => Some(links + 1),
            // What could not be kept cannot be further below either, unless it is much smaller.
            None if is_large => None,
            _ => Some(0),
        })
    }

    /// Whether it is time to keep columns up to date.
    pub fn make_chain(self, chains: Chains, rows: usize) -> bool {
        self.0.is_some_and(|links| links >= chains.links) && rows >= chains.few_rows
    }

    /// Of a node that could not be kept.
    pub fn refused() -> Self {
        Links(None)
    }
}

/// The columns of a node in a chain.
pub(super) struct Chain<'t> {
    /// Whether each case of the table came here.
    is_here: Vec<u64>,
    rows: usize,
    columns: Vec<Column<'t>>,
    layout: Layout,
    chains: Chains,
    _held: Reserved<'t>,
}

struct Column<'t> {
    id: u32,
    entries: Entries<'t>,
    /// Where entries of cases that are still here begin and end.
    range: std::ops::Range<usize>,
    summed: Summed,
}

/// The cases that came in the order of a column, and others that have left since.
enum Entries<'t> {
    /// The node's part of a sorted column.
    Sorted(&'t mut [Entry]),
    Own(Vec<Entry>),
}

impl Entries<'_> {
    fn all(&self) -> &[Entry] {
        match self {
            Entries::Sorted(entries) => entries,
            Entries::Own(entries) => entries,
        }
    }
}

/// What is known of a column.
enum Summed {
    Hulls(Hulls),
    Boxes(Boxes),
    Levels(Levels),
    /// Codes, ascending, and the sum per code and class.
    Few(Vec<u32>, Vec<(u64, u64)>),
}

/// What leaves a chain with a split.
pub(super) struct Left {
    /// Ascending.
    pub cases: Vec<u32>,
    /// The branch that they take.
    pub branch: usize,
}

/// What becomes of the columns at the end of a chain.
pub(super) struct Ended<'t> {
    pub orders: Vec<(u32, &'t mut [Entry])>,
    pub others: Vec<u32>,
    pub set: CaseSet,
}

impl<'t> Chain<'t> {
    /// Of a node of whole cases: its sorted columns and the others, with its cases if there are others. Gives them back
    /// where some column cannot be kept, or there is no memory for it; not where time is up.
    ///
    /// Complexity: O(rows log rows) per column.
    pub fn new(
        (table, layout, chains): (&Table, Layout, Chains),
        (nominal, is_concave): (NominalSplits, bool),
        orders: &mut Vec<(u32, &'t mut [Entry])>,
        (others, set): (&[u32], &CaseSet),
        rows: usize,
        ticker: &mut Ticker<'t>,
    ) -> Result<Option<Self>, Stop> {
        let budget = ticker.budget();
        let kind = |column: u32, n_values: usize| {
            let coded = &table.columns[column as usize];
            match () {
                () if n_values * table.n_classes <= FEW_SUMS => Some(Kind::Few),
                () if !layout.fits(coded.n_codes) => None,
                () if coded.ordered && table.n_classes == 2 => Some(Kind::Hulls),
                () if coded.ordered && table.n_classes <= boxes::MOST_CLASSES && is_concave => Some(Kind::Boxes),
                () if !coded.ordered && nominal == NominalSplits::OneVsRest => {
                    (n_values * table.n_classes <= 16 * rows).then_some(Kind::Levels)
                }
                () => None,
            }
        };
        let n_values =
            |entries: &[Entry]| 1 + entries.windows(2).filter(|pair| layout.differ(pair[0], pair[1])).count();
        let n_others = |&column: &u32| (table.columns[column as usize].n_codes as usize).min(rows);
        let sorted: Vec<usize> = orders.iter().map(|(_, entries)| n_values(entries)).collect();
        let ids = orders.iter().map(|(id, _)| *id).zip(sorted).map(|(id, n)| (id, n, false));
        let ids = ids.chain(others.iter().map(|id| (*id, n_others(id), true)));
        let mut planned: Vec<(u32, Kind)> = Vec::new();
        let (mut bytes, mut codes) = (bits::words(table.n_cases) * 8, 0);
        for (id, n_values, is_other) in ids {
            let Some(kind) = kind(id, n_values) else { return Ok(None) };
            // Codes of all cases are made when they are asked for.
            codes += if table.columns[id as usize].has_codes() { 0 } else { 4 * table.n_cases };
            bytes += 200 + if is_other { 8 * rows } else { 0 };
            bytes += match kind {
                Kind::Hulls => Hulls::bytes(n_values),
                Kind::Boxes => Boxes::bytes(n_values, table.n_classes),
                Kind::Levels => Levels::bytes(n_values, table.n_classes),
                Kind::Few => FEW_SUMS * 20,
            };
            planned.push((id, kind));
        }
        let Ok(held) = budget.reserve(bytes as u64) else { return Ok(None) };
        // The table keeps codes once they are made.
        let Ok(codes) = budget.reserve(codes as u64) else { return Ok(None) };
        codes.keep();
        let mut is_here = vec![0; bits::words(table.n_cases)];
        match orders.first() {
            _ if !others.is_empty() => set.cases().iter().for_each(|&case| bits::set(&mut is_here, case as usize)),
            Some((_, entries)) => {
                entries.iter().for_each(|&entry| bits::set(&mut is_here, orders::case(entry) as usize))
            }
            None => return Ok(None),
        }
        let own = |&id: &u32| {
            let codes = table.columns[id as usize].codes();
            let known = set.cases().iter().filter(|&&case| codes[case as usize] != NONE);
            let entry = |&case: &u32| layout.entry(codes[case as usize], table.classes[case as usize], case);
            let mut entries: Vec<Entry> = known.map(entry).collect();
            entries.sort_unstable();
            (id, Entries::Own(entries))
        };
        let sorted = std::mem::take(orders).into_iter().map(|(id, entries)| (id, Entries::Sorted(entries)));
        let mut columns: Vec<Column> = Vec::with_capacity(planned.len());
        for ((id, entries), (_, kind)) in sorted.chain(others.iter().map(own)).zip(planned) {
            ticker.tick(30 * rows)?;
            let cells = || entries.all().iter().map(|&entry| layout.cell_of(table, entry));
            let summed = match kind {
                Kind::Hulls => Summed::Hulls(Hulls::new(cells())),
                Kind::Boxes => Summed::Boxes(Boxes::new(cells(), table.n_classes)),
                Kind::Levels => Summed::Levels(Levels::new(cells(), table.n_classes)),
                Kind::Few => few(cells(), table.n_classes),
            };
            columns.push(Column { id, range: 0..entries.all().len(), entries, summed });
        }
        columns.sort_by_key(|column| column.id);
        Ok(Some(Chain { is_here, rows, columns, layout, chains, _held: held }))
    }

    /// All columns, ascending.
    pub fn others(&self) -> Vec<u32> {
        self.columns.iter().map(|column| column.id).collect()
    }

    /// Whether it is better to go on without.
    pub fn is_short(&self) -> bool {
        self.rows < self.chains.few_rows
    }

    /// The best split of the node; ties: the first column.
    pub fn choose<I: Impurity>(
        &self,
        (table, rule): (&Table, &Rule<I>),
        (node, count): (&Side, u64),
        sides: &mut Sides,
        ticker: &mut Ticker,
    ) -> Result<Option<(u32, Found)>, Stop> {
        let mut best: Option<(u32, Found)> = None;
        for column in &self.columns {
            if best.as_ref().is_some_and(|(_, found)| rule.is_perfect(found, node)) {
                break;
            }
            ticker.tick(2000)?;
            let found = column.best((table, rule), (node, count), sides, ticker)?;
            best = better(best, found.map(|found| (column.id, found)));
        }
        Ok(best)
    }

    /// The cases that take the smaller branch of a split of a node of so many, if they are few and there is no other than these two and no part
    /// of a case; they are taken away from all columns.
    pub fn part(&mut self, table: &Table, (id, cut): (u32, &Cut), count: u64) -> Option<Left> {
        let most = self.rows / self.chains.small;
        let (is_here, layout) = (&self.is_here, self.layout);
        let column = self.columns.iter_mut().find(|column| column.id == id)?;
        if column.known() != count {
            return None;
        }
        let coded = &table.columns[id as usize];
        let (mut cases, branch) = match (cut, &column.summed) {
            (Cut::AtMost { above, .. }, _) => column.smaller(is_here, layout, *above, most)?,
            (Cut::Is(own), _) if coded.ordered && Some(*own) == coded.own => {
                let (cases, branch) = column.smaller(is_here, layout, *own, most)?;
                (cases, 1 - branch)
            }
            (Cut::Is(code), Summed::Levels(levels)) if levels.rows_of(*code) <= most => {
                let entries = column.entries.all();
                let start = entries.partition_point(|&entry| layout.code(entry) < *code);
                let of_code = entries[start..].iter().take_while(|&&entry| layout.code(entry) == *code);
                let cases = of_code.map(|&entry| orders::case(entry)).filter(|&case| bits::get(is_here, case as usize));
                (cases.collect(), 0)
            }
            _ => return None,
        };
        cases.sort_unstable();
        cases.iter().for_each(|&case| bits::clear(&mut self.is_here, case as usize));
        self.rows -= cases.len();
        for column in &mut self.columns {
            column.remove(table, &cases);
        }
        Some(Left { cases, branch })
    }

    /// The cases of the node with a value in a column. Complexity: O(rows at its start).
    pub fn cells(&self, table: &Table, id: u32) -> impl Iterator<Item = Cell> {
        let entries = self.columns.iter().filter(move |column| column.id == id);
        let entries = entries.flat_map(|column| &column.entries.all()[column.range.clone()]);
        let here = entries.filter(|&&entry| bits::get(&self.is_here, orders::case(entry) as usize));
        here.map(|&entry| self.layout.cell_of(table, entry))
    }

    /// Whether some case has a missing value that counts as one in a column.
    pub fn has_own(&self, table: &Table, id: u32) -> bool {
        let Some(own) = table.columns[id as usize].own else { return false };
        self.columns.iter().filter(|column| column.id == id).any(|column| column.count_of(own, table.n_classes) > 0)
    }

    /// Gives back the columns, those that are constant left out. Complexity: O(rows at its start) per column.
    pub fn end(self) -> Ended<'t> {
        let mut ended = Ended { orders: Vec::new(), others: Vec::new(), set: CaseSet::default() };
        for column in self.columns {
            match column.entries {
                Entries::Own(_) => ended.others.push(column.id),
                Entries::Sorted(entries) => {
                    let entries = &mut entries[column.range];
                    let mut n = 0;
                    for place in 0..entries.len() {
                        let entry = entries[place];
                        entries[n] = entry;
                        n += usize::from(bits::get(&self.is_here, orders::case(entry) as usize));
                    }
                    let entries = &mut entries[..n];
                    if !self.layout.is_constant(entries) {
                        ended.orders.push((column.id, entries));
                    }
                }
            }
        }
        if !ended.others.is_empty() {
            ended.set = CaseSet::whole(bits::ones(&self.is_here).map(|case| case as u32).collect());
        }
        ended
    }
}

/// How a column is kept.
#[derive(Clone, Copy)]
enum Kind {
    Hulls,
    Boxes,
    Levels,
    Few,
}

/// Sums of cells that ascend by code.
fn few(cells: impl Iterator<Item = Cell>, n_classes: usize) -> Summed {
    let (mut codes, mut sums): (Vec<u32>, Vec<(u64, u64)>) = (Vec::new(), Vec::new());
    for cell in cells {
        if codes.last() != Some(&cell.code) {
            codes.push(cell.code);
            sums.resize(sums.len() + n_classes, (0, 0));
        }
        let place = sums.len() - n_classes + cell.class as usize;
        let (mass, count) = &mut sums[place];
        (*mass, *count) = (*mass + cell.mass, *count + cell.count);
    }
    Summed::Few(codes, sums)
}

impl Column<'_> {
    fn count_of(&self, code: u32, n_classes: usize) -> u64 {
        match &self.summed {
            Summed::Hulls(hulls) => hulls.count_of(code),
            Summed::Boxes(boxes) => boxes.count_of(code),
            Summed::Levels(levels) => levels.rows_of(code) as u64,
            Summed::Few(codes, sums) => match codes.binary_search(&code) {
                Ok(place) => sums[place * n_classes..][..n_classes].iter().map(|(_, count)| count).sum(),
                Err(_) => 0,
            },
        }
    }

    /// How many cases have a value here.
    fn known(&self) -> u64 {
        match &self.summed {
            Summed::Hulls(hulls) => hulls.all().1,
            Summed::Boxes(boxes) => boxes.all().1,
            Summed::Levels(levels) => levels.all().1,
            Summed::Few(_, sums) => sums.iter().map(|(_, count)| count).sum(),
        }
    }

    /// The best split.
    fn best<I: Impurity>(
        &self,
        (table, rule): (&Table, &Rule<I>),
        (node, count): (&Side, u64),
        sides: &mut Sides,
        ticker: &mut Ticker,
    ) -> Result<Option<Found>, Stop> {
        let coded = &table.columns[self.id as usize];
        match &self.summed {
            Summed::Few(codes, sums) => {
                let of_code = codes.iter().zip(sums.chunks_exact(table.n_classes));
                let cells = of_code.flat_map(|(&code, sums)| {
                    let cells = (0..).zip(sums).filter(|(_, (_, count))| *count > 0);
                    cells.map(move |(class, &(mass, count))| Cell { code, class, mass, count })
                });
                let cells: SmallVec<[Cell; 64]> = cells.collect();
                rule.best(coded, &cells, (node, count), sides, ticker)
            }
            Summed::Levels(levels) => {
                let (masses, known) = levels.all();
                let side = if known == count { None } else { Some(rule.impurity.side(masses.to_vec())) };
                let known = Known { side: side.as_ref().unwrap_or(node), count: known, node_mass: node.total };
                let Some(cells) = levels.cells() else { return Ok(None) };
                rule.one_vs_rest(&cells, &known, sides, ticker)
            }
            Summed::Boxes(boxes) => {
                let (masses, known) = boxes.all();
                let side = if known == count { None } else { Some(rule.impurity.side(masses.to_vec())) };
                let known = Known { side: side.as_ref().unwrap_or(node), count: known, node_mass: node.total };
                Ok(boxes.best(rule, &known, sides, ticker)?.map(|found| found.of(coded)))
            }
            Summed::Hulls(hulls) => {
                let (masses, known) = hulls.all();
                let side = if known == count { None } else { Some(rule.impurity.side(masses.to_vec())) };
                let known = Known { side: side.as_ref().unwrap_or(node), count: known, node_mass: node.total };
                Ok(best_cut(hulls, rule, &known, sides, ticker)?.map(|found| found.of(coded)))
            }
        }
    }

    /// The cases of the smaller side of a cut below `above`, if they are at most so many, and the side.
    fn smaller(&mut self, is_here: &[u64], layout: Layout, above: u32, most: usize) -> Option<(Vec<u32>, usize)> {
        let entries = self.entries.all();
        let is_gone = |place: usize| !bits::get(is_here, orders::case(entries[place]) as usize);
        let (mut start, mut end) = (self.range.start, self.range.end);
        while start < end && is_gone(start) {
            start += 1;
        }
        while start < end && is_gone(end - 1) {
            end -= 1;
        }
        let cut = start + entries[start..end].partition_point(|&entry| layout.code(entry) < above);
        // From both ends, a step here and a step there: whichever comes to the cut first.
        let mut sides = [Vec::new(), Vec::new()];
        let mut step = 0;
        let side = loop {
            if start + step >= cut {
                break 0;
            }
            if end - step <= cut {
                break 1;
            }
            for (side, place) in sides.iter_mut().zip([start + step, end - step - 1]) {
                if !is_gone(place) {
                    side.push(orders::case(entries[place]));
                }
            }
            step += 1;
            if sides.iter().all(|side| side.len() > most) {
                self.range = start..end;
                return None;
            }
        };
        let [left, right] = sides;
        let cases = if side == 0 { left } else { right };
        let is_few = cases.len() <= most;
        // Those that leave are not looked at again.
        self.range = match side {
            0 if is_few => cut..end,
            1 if is_few => start..cut,
            _ => start..end,
        };
        is_few.then_some((cases, side))
    }

    fn remove(&mut self, table: &Table, cases: &[u32]) {
        let codes = table.columns[self.id as usize].codes();
        let cells = cases.iter().map(|&case| Cell {
            code: codes[case as usize],
            class: table.classes[case as usize],
            mass: table.mass(case),
            count: table.count(case),
        });
        let cells = cells.filter(|cell| cell.code != NONE);
        match &mut self.summed {
            Summed::Hulls(hulls) => {
                cells.for_each(|cell| hulls.remove(cell));
                hulls.settle();
            }
            Summed::Boxes(boxes) => {
                cells.for_each(|cell| boxes.remove(cell));
                boxes.settle();
            }
            Summed::Levels(levels) => cells.for_each(|cell| levels.remove(cell)),
            Summed::Few(codes, sums) => cells.for_each(|cell| {
                if let Ok(place) = codes.binary_search(&cell.code) {
                    let (mass, count) = &mut sums[place * table.n_classes + cell.class as usize];
                    (*mass, *count) = (*mass - cell.mass, *count - cell.count);
                }
            }),
        }
    }
}

/// The best cut of an ordered column of two classes: [`Rule::ordered`] over the cuts that may be the best.
fn best_cut<I: Impurity>(
    hulls: &Hulls,
    rule: &Rule<I>,
    known: &Known,
    sides: &mut Sides,
    ticker: &mut Ticker,
) -> Result<Option<Found>, Stop> {
    let impurity = &rule.impurity;
    let all = &known.side.masses;
    let worth = |[zeros, ones]: [u64; 2]| impurity.pair(zeros, ones) + impurity.pair(all[0] - zeros, all[1] - ones);
    let (base, noise) = (impurity.pair(all[0], all[1]), impurity.noise(known.side.total, 2));
    let (count, least) = (known.count, rule.min_side().max(1));
    if impurity.is_slow(known.side.total) {
        // Roughly first, within less than this.
        let doubt = (known.side.total as f64 * impurity.unit() * 2f64.powi(-28)) as i64 + 4 * noise + 4;
        let pair = |zeros: u64, ones: u64| impurity.about(zeros) + impurity.about(ones) - impurity.about(zeros + ones);
        let about = |[zeros, ones]: [u64; 2]| (pair(zeros, ones) + pair(all[0] - zeros, all[1] - ones)) as i64;
        let cuts = Cuts { count, least, worth: about };
        let Some(best) = hulls.best(&cuts) else { return Ok(None) };
        if best > pair(all[0], all[1]) as i64 + doubt {
            let mut near = std::mem::take(&mut sides.cuts);
            hulls.near(&cuts, best - doubt, false, &mut near);
            let found = rule.best_of_two(near.iter().copied(), known);
            sides.cuts = near;
            return Ok(found);
        }
    }
    let cuts = Cuts { count, least, worth };
    let Some(best) = hulls.best(&cuts) else { return Ok(None) };
    if best <= base + noise {
        // Perhaps there is a gain that rounding hides.
        return match noise == 0 || hulls.is_even() {
            true => Ok(None),
            false => rule.ordered(hulls.cells(), known, sides, ticker),
        };
    }
    // Rounding may put any cut as far from where it belongs as the noise.
    let mut near = std::mem::take(&mut sides.cuts);
    hulls.near(&cuts, best - 4 * noise, noise == 0, &mut near);
    let found = rule.best_of_two(near.iter().copied(), known);
    sides.cuts = near;
    Ok(found)
}

#[cfg(test)]
mod tests;
