//! The reference: a search that tries all roots by recursion, with a cache and two bounds, as the paper tells it.
//!
//! `search` holds the order of things: trivial cases, bounds, cache, the depth-two solver, the recursion over the roots of a
//! `node`. `depth_two` finds all best trees of depth two from `pair_counts` (Algorithm 4 of Demirovic et al., *MurTree*, JMLR
//! 2022), `similarity` bounds branches by those of other roots, `greedy` gives first trees, and `canonical` finds the tree that
//! users get. It serves depth one and two, and where the pair counts of the binary search do not fit; the other engines are
//! tested against it.

pub(in crate::optimal) mod canonical;
pub(in crate::optimal) mod depth_two;
pub(in crate::optimal) mod engine;
pub(in crate::optimal) mod greedy;
pub(in crate::optimal) mod node;
pub(in crate::optimal) mod pair_counts;
pub(in crate::optimal) mod search;
pub(in crate::optimal) mod similarity;
