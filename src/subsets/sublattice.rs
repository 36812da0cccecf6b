//! SublatticeParts of the lattice of feature subsets: the pairs R, S that the algorithms of the paper recur over.

use super::feature_set::FeatureSet;

/// R ⋈ Pow(S) of the paper: the subsets that contain all `required` features R and any of the `optional` features S. It
/// is the argument of a call of Algorithms 2 and 3.
#[derive(Debug, Clone)]
pub(super) struct Sublattice<S> {
    pub required: S,
    pub optional: S,
}

impl<S: FeatureSet> Sublattice<S> {
    /// R ∪ S, the features that the tree of the call is built over.
    pub fn features(&self) -> S {
        self.required.union(&self.optional)
    }

    /// The part of this one where some optional features are required.
    pub fn requiring(&self, features: &S) -> Self {
        Sublattice { required: self.required.union(features), optional: self.optional.minus(features) }
    }

    /// Moves a required feature out of the sublattice. The feature is optional in the parts that come after this one:
    /// [`Sublattice::put_back`].
    pub fn remove(&mut self, feature: usize) {
        self.required.remove(feature);
    }

    /// Makes a feature that was removed an optional one.
    pub fn put_back(&mut self, feature: usize) {
        self.optional.insert(feature);
    }

    /// The parts that the loop of Algorithm 2 (lines 6 to 12) recurs into, for the optional features that the tree of
    /// the call uses, in their `order`: each part lacks one of them, requires those after it, and leaves those before
    /// it optional.
    pub fn parts(&self, used: &S, order: smallvec::SmallVec<[u32; 16]>) -> SublatticeParts<S> {
        SublatticeParts { order: order.into_iter(), rest: self.requiring(used) }
    }
}

/// Iterates over the parts of a sublattice, with the feature that each of them lacks.
pub(super) struct SublatticeParts<S> {
    order: smallvec::IntoIter<[u32; 16]>,
    rest: Sublattice<S>,
}

impl<S: FeatureSet> Iterator for SublatticeParts<S> {
    type Item = (usize, Sublattice<S>);

    fn next(&mut self) -> Option<Self::Item> {
        let feature = self.order.next()? as usize;
        self.rest.remove(feature);
        let part = self.rest.clone();
        self.rest.put_back(feature);
        Some((feature, part))
    }
}
