//! Feature importances: how much each feature lowered the impurity of the training cases.

use super::{Leaf, Node, Tree};

/// A measure of how mixed the classes of some cases are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImpurityMeasure {
    /// The probability that two cases differ in class.
    Gini,
    /// The entropy of the classes.
    Entropy,
    /// The share of cases of other classes than the most frequent one.
    Errors,
}

impl Tree {
    /// How much each feature of the schema lowered the impurity. A split counts with the mass that came to it times its
    /// impurity, less the same of its branches; these are added up by feature and divided by the sum of all. All are 0
    /// if no split lowers the impurity. In a tree that predicts numbers the impurity is the variance of the
    /// predictions, whatever the measure: a split lowers the variance of the training numbers by the same amount.
    ///
    /// Masses include class weights and case weights; costs of errors do not count. Source: Breiman, Friedman, Olshen
    /// and Stone, Classification and Regression Trees, 1984, without surrogates; as `feature_importances_` of
    /// scikit-learn.
    ///
    /// Complexity: O(nodes x classes + features).
    pub fn importances(&self, measure: ImpurityMeasure) -> Vec<f64> {
        let summaries = self.summaries();
        let mut gains = vec![0.0; self.schema.features.len()];
        for (summary, node) in summaries.iter().zip(&self.nodes) {
            if let Node::Split(split) = node {
                let children = || split.children.iter().map(|&child| &summaries[child as usize].leaf);
                let gain = match &summary.leaf {
                    Leaf::Class { .. } => {
                        measure.of(&summary.leaf) - children().map(|child| measure.of(child)).sum::<f64>()
                    }
                    Leaf::Number { mean, .. } => {
                        let spread = |child: &Leaf| match child {
                            Leaf::Number { mean: of_child, mass } => mass * (of_child - mean).powi(2),
                            Leaf::Class { .. } => 0.0,
                        };
                        children().map(spread).sum()
                    }
                };
                gains[split.test.feature() as usize] += gain.max(0.0); // negative only by rounding
            }
        }
        let total: f64 = gains.iter().sum();
        if total > 0.0 {
            gains.iter_mut().for_each(|gain| *gain /= total);
        }
        gains
    }
}

impl ImpurityMeasure {
    /// The mass of a leaf times its impurity.
    fn of(self, leaf: &Leaf) -> f64 {
        let Leaf::Class { masses, empty: false, .. } = leaf else { return 0.0 };
        let total: f64 = masses.iter().sum();
        let present = masses.iter().filter(|&&mass| mass > 0.0);
        match self {
            ImpurityMeasure::Gini => present.map(|mass| mass * (1.0 - mass / total)).sum(),
            ImpurityMeasure::Entropy => present.map(|mass| mass * (total / mass).log2()).sum(),
            ImpurityMeasure::Errors => total - masses.iter().copied().fold(0.0, f64::max),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::fixtures;
    use super::*;

    #[test]
    fn iris() {
        let tree = fixtures::iris();
        // 100 - 50 = 50 by the first split, 50 - (54 - (49^2 + 5^2) / 54) - (46 - (1 + 45^2) / 46) by the second.
        let second = 50.0 - (54.0 - 2426.0 / 54.0) - (46.0 - 2026.0 / 46.0);
        let gini = tree.importances(ImpurityMeasure::Gini);
        assert!((gini[0] - 50.0 / (50.0 + second)).abs() < 1e-12 && (gini[1] - second / (50.0 + second)).abs() < 1e-12);
        assert_eq!(gini[2..], [0.0; 9]);
        // 100 errors, then 50, then 6.
        assert_eq!(tree.importances(ImpurityMeasure::Errors)[..2], [50.0 / 94.0, 44.0 / 94.0]);
        assert_eq!(fixtures::iris_leaf().importances(ImpurityMeasure::Entropy), [0.0; 11]);
    }

    #[test]
    fn numbers_are_weighed_by_mass() {
        let number = |mean, mass| Node::Leaf(Leaf::Number { mean, mass });
        let split =
            |feature, children: &[u32]| fixtures::split(fixtures::below(feature, 0.0), children, &[1.0, 1.0], 0);
        let nodes = vec![split(0, &[1, 2]), number(1.0, 2.0), split(1, &[3, 4]), number(3.0, 1.0), number(9.0, 1.0)];
        let tree = Tree::new(fixtures::number_schema(), fixtures::DEFAULT, nodes).unwrap();
        // 2 (1 - 3.5)^2 + 2 (6 - 3.5)^2 = 25, and (3 - 6)^2 + (9 - 6)^2 = 18.
        assert_eq!(tree.importances(ImpurityMeasure::Gini)[..2], [25.0 / 43.0, 18.0 / 43.0]);
    }

    proptest! {
        #[test]
        fn importances_are_shares(tree in fixtures::any_tree()) {
            for measure in [ImpurityMeasure::Gini, ImpurityMeasure::Entropy, ImpurityMeasure::Errors] {
                let shares = tree.importances(measure);
                let total: f64 = shares.iter().sum();
                prop_assert!(shares.iter().all(|share| (0.0..=1.0 + 1e-9).contains(share)));
                prop_assert!(total == 0.0 || (total - 1.0).abs() < 1e-9, "{total}");
                let used: Vec<u32> = tree.features();
                prop_assert!((0u32..).zip(&shares).all(|(f, share)| *share == 0.0 || used.contains(&f)));
            }
        }
    }
}
