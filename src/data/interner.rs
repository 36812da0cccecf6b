//! Consecutive numbers for distinct items: equal items get the same number, a new item the next one.

use crate::bits;

/// The numbers given so far. Open addressing; the items themselves are kept by the caller.
#[derive(Debug)]
pub(super) struct Interner {
    /// A number plus one, or 0 for an empty slot. More than half of the slots are empty.
    slots: Vec<u32>,
    /// The hash of each number's item.
    hashes: Vec<u64>,
}

impl Interner {
    pub(super) fn new() -> Self {
        Interner { slots: vec![0; 64], hashes: Vec::new() }
    }

    /// How many distinct items there are.
    pub(super) fn len(&self) -> usize {
        self.hashes.len()
    }

    /// The number of the item with this hash: that of an equal item, or the next one. The hash says where to look,
    /// `equals` decides whether the item is the one of a given number.
    pub(super) fn number(&mut self, hash: u64, equals: impl Fn(usize) -> bool) -> u32 {
        let last = self.slots.len() - 1;
        let mut slot = bits::mix(hash) as usize & last;
        while let Some(number) = self.slots[slot].checked_sub(1) {
            if self.hashes[number as usize] == hash && equals(number as usize) {
                return number;
            }
            slot = (slot + 1) & last;
        }
        self.hashes.push(hash);
        self.slots[slot] = self.hashes.len() as u32;
        if 2 * self.hashes.len() > last {
            self.grow();
        }
        self.hashes.len() as u32 - 1
    }

    fn grow(&mut self) {
        self.slots = vec![0; 4 * self.slots.len()];
        let last = self.slots.len() - 1;
        for (next, &hash) in (1..).zip(&self.hashes) {
            let mut slot = bits::mix(hash) as usize & last;
            while self.slots[slot] != 0 {
                slot = (slot + 1) & last;
            }
            self.slots[slot] = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equals_have_one_number(things in proptest::collection::vec(0u64..400, 0..900), hashes in 1u64..500) {
            let (mut interner, mut firsts) = (Interner::new(), Vec::new());
            for thing in things {
                let known = firsts.iter().position(|&first| first == thing);
                // Few hashes are those of several things.
                let number = interner.number(thing % hashes, |number| firsts[number] == thing) as usize;
                prop_assert_eq!(number, known.unwrap_or(firsts.len()));
                if known.is_none() {
                    firsts.push(thing);
                }
                prop_assert_eq!(interner.len(), firsts.len());
            }
        }
    }
}
