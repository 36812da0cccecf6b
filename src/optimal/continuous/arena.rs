//! Memory handed out piece by piece and taken back all at once, that neither moves nor is cleared.

/// Where a piece is.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    block: u32,
    start: u32,
    end: u32,
}

#[derive(Debug)]
pub(super) struct Arena<T> {
    blocks: Vec<Vec<T>>,
    /// The block that pieces are cut from, and how much of it is handed out.
    now: usize,
    handed: usize,
    /// How many elements of all blocks are handed out or were passed over, how many there are, and as many may be
    /// either, but for one piece.
    used: usize,
    held: usize,
    most: usize,
}

impl<T: Copy + Default> Arena<T> {
    /// Blocks have at least so many elements where there may be as many, and at most so many times that but for one
    /// piece.
    const BLOCK: usize = 1 << 17;
    const GREATEST: usize = 64;

    /// For about so many elements.
    pub(super) fn new(most: usize) -> Self {
        Arena { blocks: vec![], now: 0, handed: 0, used: 0, held: 0, most }
    }

    /// Whether a piece may be handed out besides what is; the first always may.
    pub(super) fn may_take(&self, length: usize) -> bool {
        self.used == 0 || self.used + length <= self.most
    }

    /// Takes all pieces back, and gives up the memory if it is more than there may be: pieces that never fit what is
    /// there would add up.
    pub(super) fn clear(&mut self) {
        if self.held > self.most {
            self.blocks.clear();
            self.held = 0;
        }
        (self.now, self.handed, self.used) = (0, 0, 0);
    }

    /// Hands out a piece. What it holds is anything.
    pub(super) fn take(&mut self, length: usize) -> Place {
        while self.now < self.blocks.len() && self.blocks[self.now].capacity() < self.handed + length {
            self.used += self.blocks[self.now].capacity() - self.handed;
            (self.now, self.handed) = (self.now + 1, 0);
        }
        if self.now == self.blocks.len() {
            // As much again as there is: few blocks hold all.
            let wanted = self.held.clamp(Self::BLOCK, Self::GREATEST * Self::BLOCK);
            let block = Vec::with_capacity(length.max(wanted.min(self.most.saturating_sub(self.held))));
            self.held += block.capacity();
            self.blocks.push(block);
        }
        let (block, start) = (&mut self.blocks[self.now], self.handed);
        let end = start + length;
        if block.len() < end {
            block.resize(end, T::default());
        }
        (self.handed, self.used) = (end, self.used + length);
        Place { block: self.now as u32, start: start as u32, end: end as u32 }
    }

    pub(super) fn at(&self, place: Place) -> &[T] {
        &self.blocks[place.block as usize][place.start as usize..place.end as usize]
    }

    pub(super) fn at_mut(&mut self, place: Place) -> &mut [T] {
        &mut self.blocks[place.block as usize][place.start as usize..place.end as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pieces_do_not_overlap_and_memory_is_bounded(
            most in prop_oneof![Just(0usize), Just(100_000), Just(1 << 20), Just(1 << 22)],
            rounds in proptest::collection::vec(proptest::collection::vec(0usize..300_000, 1..6), 1..12),
        ) {
            let mut arena = Arena::<u32>::new(most);
            for round in rounds {
                arena.clear();
                let mut pieces: Vec<Place> = Vec::new();
                for &length in &round {
                    if arena.may_take(length) {
                        pieces.push(arena.take(length));
                        let i = pieces.len() as u32;
                        arena.at_mut(pieces[pieces.len() - 1]).fill(i);
                    }
                    prop_assert!(arena.used <= arena.held && arena.held <= most + 300_000);
                }
                prop_assert_eq!(arena.at(pieces[0]).len(), round[0]);
                for (i, &piece) in (1..).zip(&pieces) {
                    prop_assert!(arena.at(piece).iter().all(|&element| element == i));
                }
            }
        }
    }
}
