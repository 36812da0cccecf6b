"""scikit-learn's own checks of estimators, none of which is expected to fail."""

from unittest import SkipTest

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from lattree.sklearn import (
    BackwardEliminationSelector,
    BestSubsetSelector,
    Binarizer,
    GreedyTreeClassifier,
    OptimalTreeClassifier,
)

ESTIMATORS = [
    OptimalTreeClassifier(),
    OptimalTreeClassifier(max_depth=2, rank="objective", engine="tests", class_weight="balanced", n_jobs=2),
    GreedyTreeClassifier(),
    GreedyTreeClassifier(criterion="gini", max_leaves=5, missing="mean", min_weight_fraction_leaf=0.05),
    BackwardEliminationSelector(),
    BackwardEliminationSelector(error="training", required="x0"),
    BestSubsetSelector(),
    BestSubsetSelector(error="pessimistic", delta=0.01),
    Binarizer(),
    Binarizer(thresholds="quantile", max_thresholds=3, missing="fails"),
    Binarizer(thresholds="mdlp"),
]


@parametrize_with_checks(ESTIMATORS)
def test_check(estimator, check):
    try:
        check(estimator)
    except SkipTest as skipped:
        if "SCIPY_ARRAY_API" not in str(skipped):  # arrays of other libraries, which it looks at only when asked to
            raise


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_every_parameter_has_a_constraint(estimator):
    assert set(estimator._parameter_constraints) == set(estimator.get_params())
    for name in estimator.get_params():
        wrong = type(estimator)(**{name: object()})
        with pytest.raises(ValueError, match=f"The '{name}' parameter of {type(estimator).__name__} must be"):
            wrong.fit([[0.0], [1.0], [0.0], [1.0]], [0, 1, 0, 1])
