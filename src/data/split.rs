//! Parts of a table: train and test rows, and folds. They are seeded, the same on every platform, and stratified by
//! class on request.
//!
//! Rows are dealt as a whole: the repetitions of a row stay together.

use super::dataset::{Dataset, Target};
use crate::bits::mix;
use crate::error::{Error, Result};

impl Dataset {
    /// Splits the rows in two: `1 - fraction` of them to learn from, `fraction` to test on; both keep the table's row
    /// order. Stratified, each class is split in that proportion (the rounding goes where it is owed most).
    pub fn split(&self, fraction: f64, seed: u64, stratify: bool) -> Result<(Self, Self)> {
        if !(0.0..=1.0).contains(&fraction) {
            return Err(Error::InvalidParameter {
                name: "fraction",
                expected: "from 0 to 1".into(),
                got: fraction.to_string(),
            });
        }
        let order = self.dealt(seed, stratify);
        let share = |position: usize| (position as f64 * fraction).round() as usize;
        // A row is held out where the running share steps up: any run of neighbours in `order` is split fairly.
        let held_out = order.iter().enumerate().filter(|&(i, _)| share(i + 1) > share(i)).map(|(_, &row)| row);
        Ok(self.parts(held_out.collect()))
    }

    /// `k` pairs of (the other folds, this fold); each row is in exactly one fold.
    pub fn folds(&self, k: usize, seed: u64, stratify: bool) -> Result<Vec<(Self, Self)>> {
        if !(2..=self.n_rows()).contains(&k) {
            return Err(Error::InvalidParameter {
                name: "k",
                expected: format!("from 2 to the number of rows, {}", self.n_rows()),
                got: k.to_string(),
            });
        }
        let order = self.dealt(seed, stratify);
        Ok((0..k).map(|fold| self.parts(order.iter().copied().skip(fold).step_by(k).collect())).collect())
    }

    /// The rows in random order, if stratified class by class.
    fn dealt(&self, seed: u64, stratify: bool) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.n_rows()).collect();
        let mut state = mix(seed);
        for i in (1..order.len()).rev() {
            state = mix(state);
            // The bias of the remainder is below rows / 2^64.
            order.swap(i, (state % (i as u64 + 1)) as usize);
        }
        if let (true, Target::Classes(classes)) = (stratify, self.target()) {
            order.sort_by_key(|&row| classes[row]);
        }
        order
    }

    fn parts(&self, mut held_out: Vec<usize>) -> (Self, Self) {
        held_out.sort_unstable();
        let mut rest = held_out.iter().peekable();
        let kept: Vec<usize> = (0..self.n_rows()).filter(|row| rest.next_if_eq(&row).is_none()).collect();
        (self.take(&kept), self.take(&held_out))
    }
}
