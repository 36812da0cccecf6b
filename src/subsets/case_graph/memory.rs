//! The memory that case sets, splits and trees take: bytes, counted as they come and go.

use std::cell::Cell;
use std::rc::Rc;

/// The bytes of all case sets, splits and trees of one worker.
#[derive(Debug, Default)]
pub(crate) struct MemoryAccount {
    case_sets: Cell<usize>,
    trees: Cell<usize>,
}

impl MemoryAccount {
    /// Bytes of case sets and splits.
    pub fn case_sets(&self) -> usize {
        self.case_sets.get()
    }

    /// Bytes of case sets, splits and trees.
    pub fn total(&self) -> usize {
        self.case_sets.get() + self.trees.get()
    }
}

/// The bytes of a case set and its splits, which leave the account with it.
#[derive(Debug)]
pub(crate) struct AccountedBytes {
    account: Rc<MemoryAccount>,
    bytes: Cell<usize>,
}

impl AccountedBytes {
    /// No bytes so far.
    pub fn new(account: &Rc<MemoryAccount>) -> Self {
        AccountedBytes { account: account.clone(), bytes: Cell::new(0) }
    }

    /// Replaces `from` bytes by `to`.
    pub fn resize(&self, from: usize, to: usize) {
        self.account.case_sets.set(self.account.case_sets.get() + to - from);
        self.bytes.set(self.bytes.get() + to - from);
    }

    /// Adds a tree on the case set to the account.
    pub fn add_tree(&self, bytes: usize) {
        self.account.trees.set(self.account.trees.get() + bytes);
    }

    /// Takes a tree that is dropped off the account.
    pub fn remove_tree(&self, bytes: usize) {
        self.account.trees.set(self.account.trees.get() - bytes);
    }
}

impl Drop for AccountedBytes {
    fn drop(&mut self) {
        self.account.case_sets.set(self.account.case_sets.get() - self.bytes.get());
    }
}
