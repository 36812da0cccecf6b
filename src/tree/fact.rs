//! Facts: what a branch says of one feature, and how two facts of one feature are merged.

use super::{Split, Test, Threshold};

/// What a branch says of one feature.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Fact {
    /// `x <= t`
    AtMost(Threshold),
    /// `x > t`
    Above(Threshold),
    /// `x in levels`, ascending.
    Among(Vec<u32>),
    /// `x not in levels`, ascending.
    NotAmong(Vec<u32>),
    /// `x is missing`, or known.
    Missing(bool),
    /// `x is missing` and `x is known`: no case.
    Never,
}

/// What a branch says of one feature, and whether cases without a value take it too.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BranchFact {
    pub fact: Fact,
    pub or_missing: bool,
}

/// The kinds of facts: facts of one feature and one aspect can be merged into one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Aspect {
    Upper,
    Lower,
    Levels,
    Missing,
}

impl BranchFact {
    /// The fact of a branch; `or_missing` is the branch that cases without a value take, if the condition is to say so.
    pub(super) fn of(split: &Split, branch: usize, or_missing: Option<usize>) -> Self {
        BranchFact { fact: Fact::of(&split.test, branch), or_missing: or_missing == Some(branch) }
    }
}

impl Fact {
    /// What holds for all cases with a value that take a branch of a test.
    pub(super) fn of(test: &Test, branch: usize) -> Self {
        match (test, branch) {
            (Test::AtMost { threshold, .. }, 0) => Fact::AtMost(*threshold),
            (Test::AtMost { threshold, .. }, _) => Fact::Above(*threshold),
            (Test::Is { level, .. }, 0) => Fact::Among(vec![*level]),
            (Test::Is { level, .. }, _) => Fact::NotAmong(vec![*level]),
            (Test::In { levels, .. }, 0) => Fact::Among(levels.clone()),
            (Test::In { levels, .. }, _) => Fact::NotAmong(levels.clone()),
            (Test::EachLevel { .. }, level) => Fact::Among(vec![level as u32]),
            (Test::EachOf { levels, missing, .. }, branch) => match levels.get(branch) {
                Some(&level) => Fact::Among(vec![level]),
                None if *missing && branch == levels.len() => Fact::Missing(true),
                None => Fact::NotAmong(levels.clone()),
            },
            (Test::Missing { .. }, branch) => Fact::Missing(branch == 0),
        }
    }

    pub(super) fn aspect(&self) -> Aspect {
        match self {
            Fact::AtMost(_) => Aspect::Upper,
            Fact::Above(_) => Aspect::Lower,
            Fact::Among(_) | Fact::NotAmong(_) => Aspect::Levels,
            Fact::Missing(_) | Fact::Never => Aspect::Missing,
        }
    }

    /// The fact that holds where both do; they must be of the same feature and aspect.
    pub(super) fn and(&self, other: &Fact) -> Fact {
        let keep = |from: &[u32], set: &[u32], inside: bool| {
            from.iter().copied().filter(|code| set.binary_search(code).is_ok() == inside).collect()
        };
        match (self, other) {
            (Fact::AtMost(a), Fact::AtMost(b)) => Fact::AtMost(if below(*a, *b) { *a } else { *b }),
            (Fact::Above(a), Fact::Above(b)) => Fact::Above(if below(*a, *b) { *b } else { *a }),
            (Fact::Among(a), Fact::Among(b)) => Fact::Among(keep(a, b, true)),
            (Fact::Among(a), Fact::NotAmong(b)) => Fact::Among(keep(a, b, false)),
            (Fact::NotAmong(a), Fact::Among(b)) => Fact::Among(keep(b, a, false)),
            (Fact::NotAmong(a), Fact::NotAmong(b)) => {
                let mut all = [a.as_slice(), b].concat();
                all.sort_unstable();
                all.dedup();
                Fact::NotAmong(all)
            }
            (Fact::Missing(a), Fact::Missing(b)) if a == b => self.clone(),
            (Fact::Missing(_) | Fact::Never, _) => Fact::Never,
            (_, other) => other.clone(),
        }
    }
}

/// `a < b`; thresholds of one feature are of one kind.
fn below(a: Threshold, b: Threshold) -> bool {
    match (a, b) {
        (Threshold::Float(a), Threshold::Float(b)) => a < b,
        (Threshold::Integer(a), Threshold::Integer(b)) => a < b,
        (Threshold::Level(a), Threshold::Level(b)) => a < b,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_facts() -> impl Strategy<Value = (Fact, Fact)> {
        let levels = || prop::collection::btree_set(0..6u32, 0..4).prop_map(|set| set.into_iter().collect::<Vec<_>>());
        let threshold = || (0..6u32).prop_map(Threshold::Level);
        let set = || prop_oneof![levels().prop_map(Fact::Among), levels().prop_map(Fact::NotAmong)];
        prop_oneof![
            (threshold().prop_map(Fact::AtMost), threshold().prop_map(Fact::AtMost)),
            (threshold().prop_map(Fact::Above), threshold().prop_map(Fact::Above)),
            (set(), set()),
        ]
    }

    fn holds(fact: &Fact, level: u32) -> bool {
        match fact {
            Fact::AtMost(Threshold::Level(t)) => level <= *t,
            Fact::Above(Threshold::Level(t)) => level > *t,
            Fact::Among(set) => set.contains(&level),
            Fact::NotAmong(set) => !set.contains(&level),
            other => panic!("{other:?}"),
        }
    }

    proptest! {
        #[test]
        fn merged_facts_say_what_both_said((a, b) in any_facts()) {
            let both = a.and(&b);
            prop_assert_eq!(both.aspect(), a.aspect());
            for level in 0..7 {
                prop_assert_eq!(holds(&both, level), holds(&a, level) && holds(&b, level));
            }
        }
    }
}
