//! The least errors of a tree over all thresholds, by a second method: it shares no code and no bound with the search.
//!
//! - *Stump.* A segment tree per column over its distinct values, where a value's weight is its cases of class 1 less
//!   those of class 0, and a node knows the least sum of a prefix. The errors of a stump that says 0 up to a value and
//!   1 beyond are the cases of class 0 and the prefix up to there; those of the reverse, the cases of class 1 less that
//!   prefix. So the roots tell the least errors of a stump, and a case comes or goes in O(log values) per column.
//! - *Depth two.* Per column of the root, cases move from the right to the left in the order of its values.
//! - *Deeper.* Per column of the root, cuts are solved one by one, each the most promising between two that are, until
//!   those left can have no fewer errors than the best.
//!
//! Only the last leaves cuts out, by one lemma: to the least errors of trees of some depth, k more cases add at least 0
//! and at most k. For a tree has no more errors on fewer cases, and at most k more on k more.
//!
//! Two classes, no missing cells, each row one case.

/// What a node of a segment tree knows of its values: weights on the left and on the right, then both times -1.
#[derive(Clone, Copy, Default)]
#[repr(align(32))]
struct Node {
    sum: [i32; 4],
    /// The least sum of a prefix, be it empty: so a leaf is a stump too.
    low: [i32; 4],
}

impl Node {
    fn joined(self, next: Node) -> Node {
        let mut node = Node::default();
        for lane in 0..4 {
            node.sum[lane] = self.sum[lane] + next.sum[lane];
            node.low[lane] = self.low[lane].min(self.sum[lane] + next.low[lane]);
        }
        node
    }

    fn add(&mut self, left: i32, right: i32) {
        for (lane, change) in [left, right, -left, -right].into_iter().enumerate() {
            self.sum[lane] += change;
            self.low[lane] = self.sum[lane].min(0);
        }
    }
}

/// A set of rows: per column, ordered by its values.
pub type Orders = Vec<Vec<u32>>;

/// A cut of a column: how many rows are left of it, and the least errors that trees left and right of it can have.
#[derive(Clone, Copy)]
struct Solved {
    at: usize,
    least: [u32; 2],
}

pub struct Sweep {
    /// Per column and row, which of the column's values it has, in their order.
    ranks: Vec<Vec<u32>>,
    classes: Vec<bool>,
    /// How many sets a tree of depth two was asked of.
    pub problems: u64,
    /// Segment trees, one per column, one after the other; and as they are when all rows are right.
    nodes: Vec<Node>,
    start: Vec<Node>,
    /// Per column, where its nodes begin and end: of the first k, node 1 is the root, those from k/2 on are leaves.
    trees: Vec<(usize, usize)>,
    /// Per row and column, its leaf.
    leaves: Vec<u32>,
}

impl Sweep {
    /// Columns without missing cells, and classes 0 and 1.
    pub fn new(columns: &[Vec<f64>], classes: &[u32]) -> (Self, Orders) {
        assert!(classes.iter().all(|&class| class < 2), "two classes");
        assert!(columns.iter().flatten().all(|value| !value.is_nan()), "no missing cells");
        let mut orders: Orders = vec![(0..classes.len() as u32).collect(); columns.len()];
        for (order, column) in orders.iter_mut().zip(columns) {
            order.sort_by(|&a, &b| column[a as usize].partial_cmp(&column[b as usize]).expect("numbers"));
        }
        let ranks_of = |(column, order): (&Vec<f64>, &Vec<u32>)| {
            let mut ranks = vec![0; classes.len()];
            for pair in order.windows(2) {
                let [before, row] = [pair[0] as usize, pair[1] as usize];
                ranks[row] = ranks[before] + u32::from(column[before] < column[row]);
            }
            ranks
        };
        let sweep = Sweep {
            ranks: columns.iter().zip(&orders).map(ranks_of).collect(),
            classes: classes.iter().map(|&class| class == 1).collect(),
            problems: 0,
            nodes: Vec::new(),
            start: Vec::new(),
            trees: Vec::new(),
            leaves: vec![0; classes.len() * columns.len()],
        };
        (sweep, orders)
    }

    /// The least errors of a tree; of those that are not below `cap`, perhaps only that.
    pub fn least(&mut self, set: &Orders, depth: u32, cap: u32) -> u32 {
        let [zeros, ones] = self.count(&set[0]);
        match depth {
            _ if zeros == 0 || ones == 0 => 0,
            0 => zeros.min(ones),
            1 | 2 => self.sweep(set, depth),
            _ => {
                let whole = self.least(set, depth - 1, u32::MAX);
                let solve = |best, column| self.least_below(set, column, depth, whole, best);
                (0..set.len()).fold(whole.min(cap), solve)
            }
        }
    }

    /// Cases by class.
    fn count(&self, rows: &[u32]) -> [u32; 2] {
        let ones = rows.iter().filter(|&&row| self.classes[row as usize]).count();
        [rows.len() - ones, ones].map(|count| count as u32)
    }

    /// The least errors of a tree whose root cuts this column, or `cap` if they are not below it.
    ///
    /// `whole`: the least errors on the set of a tree that is less deep by one.
    pub fn least_below(&mut self, set: &Orders, column: usize, depth: u32, whole: u32, cap: u32) -> u32 {
        let (order, ranks) = (&set[column], &self.ranks[column]);
        let is_cut = |&at: &usize| ranks[order[at - 1] as usize] != ranks[order[at] as usize];
        let cuts: Vec<usize> = (1..order.len()).filter(is_cut).collect();
        let mut best = cap;
        let ends = [Solved { at: 0, least: [0, whole] }, Solved { at: order.len(), least: [whole, 0] }];
        let mut open = vec![(ends, 0..cuts.len())];
        while let Some(([before, after], between)) = open.pop() {
            // By the lemma, for a cut between two that are solved.
            let bounds = |at: usize| {
                let [fewer, more] = [at - before.at, after.at - at].map(|rows| rows as u32);
                let left = before.least[0].max(after.least[0].saturating_sub(more));
                [left, after.least[1].max(before.least[1].saturating_sub(fewer))]
            };
            // The most promising, and of equal ones that in the middle.
            let middle = (before.at + after.at) / 2;
            let key = |&cut: &usize| (bounds(cuts[cut]).iter().sum::<u32>(), cuts[cut].abs_diff(middle));
            let Some(cut) = between.clone().min_by_key(key) else { continue };
            let at = cuts[cut];
            let mut least = bounds(at);
            if least[0] + least[1] >= best {
                continue; // and so have all others
            }
            let sides = self.sides(set, column, at);
            // With so many errors here no cut of the interval has fewer than `best`: more need not be known.
            let enough = best + (at - before.at).max(after.at - at) as u32;
            let small = usize::from(at > order.len() / 2);
            for side in [small, 1 - small] {
                if least[0] + least[1] < enough {
                    let cap = enough - least[1 - side];
                    least[side] = least[side].max(self.least(&sides[side], depth - 1, cap));
                }
            }
            // If their sum is below `enough`, both are exact.
            best = best.min(least[0] + least[1]);
            let solved = Solved { at, least };
            open.push(([before, solved], between.start..cut));
            open.push(([solved, after], cut + 1..between.end));
        }
        best
    }

    /// The rows before and after a cut.
    fn sides(&self, set: &Orders, column: usize, at: usize) -> [Orders; 2] {
        let ranks = &self.ranks[column];
        let first = ranks[set[column][at] as usize];
        let part = |order: &Vec<u32>| order.iter().partition::<Vec<u32>, _>(|&&row| ranks[row as usize] < first);
        let (left, right) = set.iter().map(part).unzip();
        [left, right]
    }

    /// The least errors of a tree of depth one or two.
    fn sweep(&mut self, set: &Orders, depth: u32) -> u32 {
        self.plant(set);
        let all = self.count(&set[0]);
        let mut best = self.stump(1, all);
        self.problems += u64::from(depth == 2);
        for (column, order) in set.iter().enumerate().filter(|_| depth == 2) {
            self.nodes.clone_from(&self.start);
            let (mut left, mut right) = ([0, 0], all);
            for pair in order.windows(2) {
                let [row, next] = [pair[0] as usize, pair[1] as usize];
                self.shift(row);
                let class = usize::from(self.classes[row]);
                (left[class], right[class]) = (left[class] + 1, right[class] - 1);
                if self.ranks[column][row] < self.ranks[column][next] {
                    best = best.min(self.stump(0, left) + self.stump(1, right));
                }
            }
        }
        best
    }

    /// The least errors of a stump, or a leaf, on one side of the root, of so many cases per class.
    fn stump(&self, side: usize, [zeros, ones]: [u32; 2]) -> u32 {
        let errors = |&(begin, _): &(usize, usize)| {
            let low = self.nodes[begin + 1].low;
            (zeros as i32 + low[side]).min(ones as i32 + low[side + 2]) as u32
        };
        self.trees.iter().map(errors).min().expect("a column")
    }

    /// Builds the trees, with all rows on the right.
    fn plant(&mut self, set: &Orders) {
        let n_columns = set.len();
        self.nodes.clear();
        self.trees.clear();
        for (column, order) in set.iter().enumerate() {
            let ranks = &self.ranks[column];
            let is_new = |pair: &[u32]| ranks[pair[0] as usize] != ranks[pair[1] as usize];
            let n_values = 1 + order.windows(2).filter(|pair| is_new(pair)).count();
            let (begin, n_leaves) = (self.nodes.len(), n_values.next_power_of_two());
            self.nodes.resize(begin + 2 * n_leaves, Node::default());
            self.trees.push((begin, self.nodes.len()));
            let mut leaf = begin + n_leaves;
            for (index, &row) in order.iter().enumerate() {
                leaf += usize::from(index > 0 && is_new(&order[index - 1..=index]));
                self.leaves[row as usize * n_columns + column] = leaf as u32;
                self.nodes[leaf].add(0, if self.classes[row as usize] { 1 } else { -1 });
            }
            let tree = &mut self.nodes[begin..];
            (1..n_leaves).rev().for_each(|node| tree[node] = tree[2 * node].joined(tree[2 * node + 1]));
        }
        self.start.clone_from(&self.nodes);
    }

    /// Moves a row from the right to the left.
    fn shift(&mut self, row: usize) {
        let weight = if self.classes[row] { 1 } else { -1 };
        let n_columns = self.trees.len();
        for (&(begin, end), &leaf) in self.trees.iter().zip(&self.leaves[row * n_columns..]) {
            let tree = &mut self.nodes[begin..end];
            let mut node = leaf as usize - begin;
            tree[node].add(weight, -weight);
            while node > 1 {
                node /= 2;
                tree[node] = tree[2 * node].joined(tree[2 * node + 1]);
            }
        }
    }
}

/// The least errors of a tree of this depth, if they are below `below`.
#[allow(dead_code)] // each that includes this file uses its part
pub fn least_errors(columns: &[Vec<f64>], classes: &[u32], depth: u32, below: u32) -> Option<u32> {
    let (mut sweep, all) = Sweep::new(columns, classes);
    Some(sweep.least(&all, depth, below)).filter(|&errors| errors < below)
}
