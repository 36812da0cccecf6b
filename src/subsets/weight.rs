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

/// The bytes of a case set and of the splits it knows, which go with it; and the account of the trees on it.
#[derive(Debug)]
pub(super) struct Weight {
    account: Rc<Account>,
    bytes: Cell<usize>,
}

impl Weight {
    /// Of nothing so far.
    pub fn new(account: &Rc<Account>) -> Self {
        Weight { account: account.clone(), bytes: Cell::new(0) }
    }

    /// Replaces `from` bytes by `to` in the account.
    pub fn resize(&self, from: usize, to: usize) {
        self.account.sets.set(self.account.sets.get() + to - from);
        self.bytes.set(self.bytes.get() + to - from);
    }

    /// Adds a tree to the account.
    pub fn enter(&self, bytes: usize) {
        self.account.trees.set(self.account.trees.get() + bytes);
    }

    /// Takes a tree that is dropped off the account.
    pub fn leave(&self, bytes: usize) {
        self.account.trees.set(self.account.trees.get() - bytes);
    }
}

impl Drop for Weight {
    fn drop(&mut self) {
        self.account.sets.set(self.account.sets.get() - self.bytes.get());
    }
}
