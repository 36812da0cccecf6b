//! Sets of features as words of bits. Where features are few, the number of words is known to the compiler.

/// A set of features. All sets of one search have the same number of words.
pub(super) trait FeatureSet: Clone + PartialEq + AsRef<[u64]> + AsMut<[u64]> + 'static {
    /// The empty set, for a table of `n` features.
    fn empty(n: usize) -> Self;

    #[inline]
    fn has(&self, feature: usize) -> bool {
        self.as_ref()[feature / 64] >> (feature % 64) & 1 == 1
    }
    #[inline]
    fn insert(&mut self, feature: usize) {
        self.as_mut()[feature / 64] |= 1 << (feature % 64);
    }
    #[inline]
    fn remove(&mut self, feature: usize) {
        self.as_mut()[feature / 64] &= !(1 << (feature % 64));
    }
    #[inline]
    fn add(&mut self, other: &Self) {
        self.as_mut().iter_mut().zip(other.as_ref()).for_each(|(a, b)| *a |= b);
    }
    #[inline]
    fn subtract(&mut self, other: &Self) {
        self.as_mut().iter_mut().zip(other.as_ref()).for_each(|(a, b)| *a &= !b);
    }
    #[inline]
    fn union(&self, other: &Self) -> Self {
        let mut union = self.clone();
        union.add(other);
        union
    }
    #[inline]
    fn minus(&self, other: &Self) -> Self {
        let mut rest = self.clone();
        rest.subtract(other);
        rest
    }
    #[inline]
    fn intersection(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.as_mut().iter_mut().zip(other.as_ref()).for_each(|(a, b)| *a &= b);
        both
    }
    #[inline]
    fn is_subset(&self, other: &Self) -> bool {
        self.as_ref().iter().zip(other.as_ref()).all(|(a, b)| a & !b == 0)
    }
    #[inline]
    fn is_disjoint(&self, other: &Self) -> bool {
        self.as_ref().iter().zip(other.as_ref()).all(|(a, b)| a & b == 0)
    }
    #[inline]
    fn is_empty(&self) -> bool {
        self.as_ref().iter().all(|&word| word == 0)
    }
    #[inline]
    fn count(&self) -> usize {
        self.as_ref().iter().map(|word| word.count_ones() as usize).sum()
    }
    /// How many features are in both sets.
    #[inline]
    fn count_and(&self, other: &Self) -> usize {
        self.as_ref().iter().zip(other.as_ref()).map(|(a, b)| (a & b).count_ones() as usize).sum()
    }
    /// The features, ascending.
    fn list(&self) -> Vec<usize> {
        self.iter().collect()
    }
    /// Iterates over the features, ascending.
    fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        crate::bits::ones(self.as_ref())
    }
    /// The set of these features, for a table of `n`.
    fn of(n: usize, features: &[usize]) -> Self {
        let mut set = Self::empty(n);
        features.iter().for_each(|&feature| set.insert(feature));
        set
    }
}

impl<const WORDS: usize> FeatureSet for [u64; WORDS] {
    fn empty(_: usize) -> Self {
        [0; WORDS]
    }
}

impl FeatureSet for Box<[u64]> {
    fn empty(n: usize) -> Self {
        vec![0; crate::bits::words(n)].into()
    }
}

/// A search that is compiled for each width of feature sets.
pub(super) trait WithFeatureSet {
    type Output;
    fn run<S: FeatureSet + Send + Sync>(self) -> Self::Output;
}

/// Runs a search with the narrowest sets that hold `n` features.
pub(super) fn with_feature_set<W: WithFeatureSet>(n: usize, work: W) -> W::Output {
    match n {
        0..=64 => work.run::<[u64; 1]>(),
        65..=128 => work.run::<[u64; 2]>(),
        129..=256 => work.run::<[u64; 4]>(),
        _ => work.run::<Box<[u64]>>(),
    }
}
