//! The shape of a tree, as searches make it.

/// The shape of a tree: its tests. What leaves predict follows from the cases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    Leaf,
    /// A test, its passing and its failing branch.
    Split(u32, Box<[Shape; 2]>),
}

impl Shape {
    /// How many tests it has.
    pub(super) fn n_nodes(&self) -> u64 {
        match self {
            Shape::Leaf => 0,
            Shape::Split(_, branches) => 1 + branches.iter().map(Shape::n_nodes).sum::<u64>(),
        }
    }
}
