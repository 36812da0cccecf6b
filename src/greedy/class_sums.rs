//! Class masses of a grown node, in little memory.

use std::borrow::Cow;

/// Mass per class. With many classes of which few occur at the node, only those are stored: a tree with as many leaves
/// as classes would take quadratic memory otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ClassSums {
    /// The mass of every class.
    All(Box<[u64]>),
    /// Classes with mass, ascending, and their masses.
    Some { n_classes: u32, masses: Box<[(u32, u64)]> },
}

/// Below this many classes, all masses are stored.
const FEW: usize = 16;

impl From<Vec<u64>> for ClassSums {
    fn from(all: Vec<u64>) -> Self {
        let came = || (0..).zip(&all).filter(|(_, mass)| **mass > 0).map(|(class, &mass)| (class, mass));
        if all.len() < FEW || 2 * came().count() > all.len() {
            return ClassSums::All(all.into());
        }
        ClassSums::Some { n_classes: all.len() as u32, masses: came().collect() }
    }
}

impl ClassSums {
    /// At most this many bytes for a node of so many rows.
    pub fn bytes(n_classes: usize, rows: usize) -> u64 {
        (8 * n_classes).min(16 * rows + 8 * FEW) as u64
    }

    /// Bytes on the heap.
    pub fn held(&self) -> u64 {
        match self {
            ClassSums::All(masses) => 8 * masses.len() as u64,
            ClassSums::Some { masses, .. } => 16 * masses.len() as u64,
        }
    }

    /// The mass of all classes.
    pub fn total(&self) -> u64 {
        match self {
            ClassSums::All(masses) => masses.iter().sum(),
            ClassSums::Some { masses, .. } => masses.iter().map(|(_, mass)| mass).sum(),
        }
    }

    /// The mass of every class.
    pub fn all(&self) -> Cow<'_, [u64]> {
        match self {
            ClassSums::All(masses) => Cow::Borrowed(masses),
            ClassSums::Some { n_classes, masses } => {
                let mut all = vec![0; *n_classes as usize];
                masses.iter().for_each(|&(class, mass)| all[class as usize] = mass);
                Cow::Owned(all)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masses_come_back() {
        for n_classes in [1usize, 2, 15, 16, 17, 200] {
            for step in [1usize, 2, 3, 50] {
                let all: Vec<u64> =
                    (0..n_classes).map(|class| if class % step == 0 { class as u64 } else { 0 }).collect();
                let sums = ClassSums::from(all.clone());
                assert_eq!((sums.total(), &*sums.all()), (all.iter().sum(), &all[..]));
            }
        }
        let one = |class: usize| (0..1000).map(|other| u64::from(other == class)).collect::<Vec<_>>();
        assert!(matches!(ClassSums::from(one(7)), ClassSums::Some { masses, .. } if *masses == [(7, 1)]));
    }
}
