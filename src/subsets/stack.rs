//! The stack of a thread, on which searches recur as deep as trees are: how much of it there is.

use std::hint::black_box;

/// A stack, from where the work on it began.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stack {
    base: usize,
    bytes: usize,
}

/// Bytes for each level of a tree, for what recurs along it.
pub(super) const PER_LEVEL: usize = 1 << 10;
/// What is left for work that does not recur.
const MARGIN: usize = 96 << 10;
/// What a thread that was not started here is taken to have left: threads of C libraries have 128 KB to 8 MB, those of Rust
/// 2 MB.
const UNKNOWN: usize = 256 << 10;

impl Stack {
    /// That of this thread, of so many bytes, or of unknown size.
    pub fn here(bytes: Option<usize>) -> Self {
        Stack { base: address(), bytes: bytes.unwrap_or(UNKNOWN) }
    }

    /// Bytes in use.
    pub fn used(&self) -> usize {
        address().abs_diff(self.base)
    }

    /// Whether there is room for so many levels of a tree, where so many bytes are in use.
    pub fn has_room(&self, used: usize, levels: u64) -> bool {
        let levels = usize::try_from(levels).unwrap_or(usize::MAX).saturating_mul(PER_LEVEL);
        used.saturating_add(MARGIN).saturating_add(levels) <= self.bytes
    }
}

/// About where the stack ends.
#[inline(never)]
fn address() -> usize {
    let here = 0u8;
    std::ptr::from_ref(black_box(&here)).addr()
}

#[cfg(test)]
mod tests {
    use super::super::features::Set;
    use super::super::ground::Ground;
    use super::super::trees::Forest;
    use super::super::{Estimator, Params};
    use super::*;
    use crate::budget::{Budget, Limits, Stop};
    use crate::data::{Column, Dataset, Feature, Kind, Labels, NumericType, Schema, Target, TargetSchema, Task};

    /// Alternating classes make a chain of splits.
    fn chain(n: i64) -> Dataset {
        let task = Task::Classes(Labels::Booleans(vec![false, true]));
        let target = TargetSchema { name: "y".into(), task, dtype: String::new() };
        let feature = Feature { name: "x".into(), kind: Kind::Continuous(NumericType::Integer), dtype: String::new() };
        let schema = Schema { features: vec![feature], target: Some(target) };
        let column = Column::Integers { values: (0..n).collect(), missing: None };
        let classes = Target::Classes((0..n).map(|x| (x % 2) as u32).collect());
        Dataset::new(schema.into(), vec![column], n as usize, classes, None, None).expect("a good table")
    }

    /// Fault X4: where there is no stack for a tree, a search ends as if memory was spent; and what it built can be dropped.
    #[test]
    fn fault_x4_a_short_stack_ends_a_search() {
        let data = chain(2_000);
        let checked = Params::default().checked().expect("good parameters");
        let budget = Budget::new(Limits { memory: Some(1 << 30), ..Limits::default() });
        let ground = Ground::new(&data, None, &checked, Some(Estimator::Training), &budget);
        let ground = ground.expect("a good call").expect("it fits");
        let depth = |stack: Stack| {
            let mut forest = Forest::<[u64; 1]>::new(&ground, (&budget, stack), 1, None)?;
            let tree = forest.tree(&Set::of(1, &[0]))?;
            let tree = ground.finish(&forest.grown(&tree));
            Ok::<usize, Stop>(tree.nodes().len())
        };
        let whole = ground.deep(depth).expect("there is room");
        assert!(whole > 1_000);
        let on = |bytes: usize| {
            std::thread::scope(|scope| {
                let work = |bytes: Option<usize>| depth(Stack::here(bytes));
                let thread = crate::threads::start(scope, [Some(bytes)], work).ok().expect("a thread");
                thread.join().expect("no panic")
            })
        };
        assert_eq!((on(256 << 10), on(512 << 10)), (Err(Stop::Memory), Err(Stop::Memory)));
        assert_eq!(on(8 << 20), Ok(whole));
        assert_eq!(budget.check(), Ok(()));
    }

    /// Work that no thread can be started for is done by the caller.
    #[test]
    fn fault_x4_work_comes_back_where_no_thread_can_be_started() {
        std::thread::scope(|scope| {
            // No system has so much room.
            let work = |bytes: Option<usize>| bytes;
            let Err(work) = crate::threads::start(scope, [Some(usize::MAX / 2), Some(usize::MAX / 4)], work) else {
                panic!("there is no such stack")
            };
            assert_eq!(work(None), None);
            let started = crate::threads::start(scope, [Some(usize::MAX / 2), Some(1 << 20)], work);
            assert_eq!(started.ok().expect("a thread").join().expect("no panic"), Some(1 << 20));
        });
    }
}
