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
    /// How much of all blocks is handed out.
    used: usize,
    /// How much there is.
    held: usize,
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Arena { blocks: vec![], now: 0, handed: 0, used: 0, held: 0 }
    }
}

impl<T: Copy + Default> Arena<T> {
    const BLOCK: usize = 1 << 17;

    pub(super) fn used(&self) -> usize {
        self.used
    }

    /// Takes all pieces back, and gives up the memory if it is for more than so many elements: pieces that never fit what
    /// is there would add up.
    pub(super) fn clear(&mut self, most: usize) {
        if self.held > most {
            self.blocks.clear();
            self.held = 0;
        }
        (self.now, self.handed, self.used) = (0, 0, 0);
    }

    /// Hands out a piece. What it holds is anything.
    pub(super) fn take(&mut self, length: usize) -> Place {
        while self.now < self.blocks.len() && self.blocks[self.now].capacity() < self.handed + length {
            (self.now, self.handed) = (self.now + 1, 0);
        }
        if self.now == self.blocks.len() {
            let block = Vec::with_capacity(length.max(self.held.clamp(Self::BLOCK, 64 * Self::BLOCK)));
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
            rounds in proptest::collection::vec(proptest::collection::vec(0usize..400_000, 1..6), 1..12),
        ) {
            const MOST: usize = 1 << 20;
            let mut arena = Arena::<u32>::default();
            for round in rounds {
                arena.clear(MOST);
                let pieces: Vec<Place> = round.iter().map(|&length| arena.take(length)).collect();
                (0..).zip(&pieces).for_each(|(i, &piece)| arena.at_mut(piece).fill(i));
                for ((i, &piece), length) in (0..).zip(&pieces).zip(round) {
                    prop_assert_eq!(arena.at(piece).len(), length);
                    prop_assert!(arena.at(piece).iter().all(|&element| element == i));
                }
                prop_assert!(arena.held <= MOST + 2 * arena.used().max(Arena::<u32>::BLOCK));
            }
        }
    }
}
