//! What case sets, splits and trees weigh: bytes, counted as they come and go.

use std::cell::Cell;
use std::rc::Rc;

/// What those of one worker weigh together.
#[derive(Debug, Default)]
pub(super) struct Account {
    sets: Cell<usize>,
    trees: Cell<usize>,
}

impl Account {
    /// Bytes of case sets and splits.
    pub fn sets(&self) -> usize {
        self.sets.get()
    }

    /// Bytes of all.
    pub fn all(&self) -> usize {
        self.sets.get() + self.trees.get()
    }
}

/// The bytes of a case set or split, which go with it.
#[derive(Debug)]
pub(super) struct Weight {
    account: Rc<Account>,
    bytes: Cell<usize>,
}

impl Weight {
    pub fn new(account: &Rc<Account>, bytes: usize) -> Self {
        account.sets.set(account.sets.get() + bytes);
        Weight { account: account.clone(), bytes: bytes.into() }
    }

    /// Makes it so many.
    pub fn set(&self, bytes: usize) {
        self.account.sets.set(self.account.sets.get() - self.bytes.get() + bytes);
        self.bytes.set(bytes);
    }
}

impl Drop for Weight {
    fn drop(&mut self) {
        self.account.sets.set(self.account.sets.get() - self.bytes.get());
    }
}

/// The bytes of a tree, which go with it.
#[derive(Debug)]
pub(super) struct TreeWeight {
    account: Rc<Account>,
    bytes: usize,
}

impl TreeWeight {
    pub fn new(account: &Rc<Account>, bytes: usize) -> Self {
        account.trees.set(account.trees.get() + bytes);
        TreeWeight { account: account.clone(), bytes }
    }
}

impl Drop for TreeWeight {
    fn drop(&mut self) {
        self.account.trees.set(self.account.trees.get() - self.bytes);
    }
}
