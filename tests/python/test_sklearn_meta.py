"""Estimators inside those of scikit-learn: pipelines, grids, ensembles, copies, other processes."""

import copy
import pickle

import cloudpickle
import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.datasets import load_iris
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.impute import SimpleImputer
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline

from lattree.sklearn import (
    BackwardEliminationSelector,
    Binarizer,
    GreedyTreeClassifier,
    OptimalTreeClassifier,
)

BOTH = [OptimalTreeClassifier(max_depth=2), GreedyTreeClassifier(max_depth=3)]


@pytest.fixture(name="iris", scope="module")
def iris_fixture():
    X, y = load_iris(return_X_y=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.fixture(name="visits", scope="module")
def visits_fixture():
    """A pandas table of numbers, text and categories with missing cells, and labels."""
    rng = np.random.default_rng(3)
    n = 150
    X = pd.DataFrame({"age": rng.normal(50, 10, n), "city": rng.choice(["Bern", "Basel"], n), "dose": rng.random(n)})
    y = np.where((X["age"] > 50) | (X["city"] == "Bern"), "ill", "well")
    X["city"] = X["city"].astype("category")
    for name in X.columns:
        X.loc[rng.random(n) < 0.05, name] = None
    return X, y


@pytest.mark.parametrize("model", BOTH, ids=str)
def test_pipelines_and_column_transformers(model, visits):
    X, y = visits
    numbers = make_column_selector(dtype_include=np.number)
    columns = ColumnTransformer([("numbers", SimpleImputer(), numbers), ("tests", Binarizer(), ["city"])])
    pipeline = Pipeline([("columns", columns), ("tree", clone(model))]).fit(X, y)
    assert pipeline.score(X, y) > 0.85
    names = columns.fit(X).get_feature_names_out().tolist()
    assert names == ["numbers__age", "numbers__dose", *(f"tests__city is {level}" for level in ("Basel", "Bern", "missing"))]
    passed = ColumnTransformer([("rest", "passthrough", ["city", "age"])])  # an array of objects
    assert make_pipeline(passed, clone(model)).fit(X, y).score(X, y) > 0.85
    selected = make_pipeline(BackwardEliminationSelector(random_state=0), clone(model)).fit(X, y)
    assert selected.score(X, y) > 0.85


@pytest.mark.parametrize("model", BOTH, ids=str)
def test_grids(model, visits):
    X, y = visits
    for table in (X, pl.from_pandas(X)):
        grid = GridSearchCV(model, {"max_depth": [0, 1, 2]}, cv=3).fit(table, y)
        assert grid.best_params_ == {"max_depth": 2}
        assert grid.best_estimator_.feature_names_in_.tolist() == ["age", "city", "dose"]
    assert model.get_params() == clone(model).get_params()


@pytest.mark.parametrize("model", BOTH, ids=str)
def test_cross_validation(model, iris):
    scores = cross_validate(
        model, *iris, cv=4, scoring=["accuracy", "neg_log_loss", "roc_auc_ovr"], return_estimator=True
    )
    assert scores["test_accuracy"].min() > 0.85
    assert len({estimator.tree_.to_text() for estimator in scores["estimator"]}) > 1


@pytest.mark.parametrize("backend", ["threading", "loky"])
@pytest.mark.parametrize("model", BOTH, ids=str)
def test_joblib(model, backend, visits):
    X, y = visits
    alone = cross_val_score(model, X, y, cv=4)
    with joblib.parallel_backend(backend, n_jobs=2):
        np.testing.assert_array_equal(cross_val_score(model, X, y, cv=4, n_jobs=2), alone)
        bagged = BaggingClassifier(model, 4, random_state=0, n_jobs=2).fit(*load_iris(return_X_y=True))
    assert bagged.score(*load_iris(return_X_y=True)) > 0.9


@pytest.mark.parametrize("model", BOTH, ids=str)
def test_ensembles(model, iris):
    X, y = iris
    for ensemble in (
        BaggingClassifier(model, 5, max_features=0.7, random_state=0),
        AdaBoostClassifier(model, n_estimators=5, random_state=0),
        CalibratedClassifierCV(model, cv=3),
        VotingClassifier([("tree", model), ("line", LogisticRegression(max_iter=1000))], voting="soft"),
        StackingClassifier([("tree", model)], LogisticRegression(max_iter=1000), cv=3),
        OneVsRestClassifier(model),
    ):
        ensemble.fit(X, y)
        assert ensemble.score(X, y) > 0.9, ensemble
        assert ensemble.predict_proba(X).shape == (150, 3)


@pytest.mark.parametrize("model", BOTH, ids=str)
@pytest.mark.parametrize(
    "copied", [copy.deepcopy, *(lambda m, p=p: p.loads(p.dumps(m)) for p in (pickle, cloudpickle))]
)
def test_copies(model, copied, visits):
    X, y = visits
    model = clone(model).fit(X, y)
    again = copied(model)
    assert (again.predict(X) == model.predict(X)).all()
    assert again.tree_ == model.tree_
    assert again.get_params() == model.get_params()
    assert again.feature_importances_.tolist() == model.feature_importances_.tolist()


def test_permutation_importance(visits):
    X, y = visits
    model = GreedyTreeClassifier(max_depth=3).fit(X, y)
    found = permutation_importance(model, X, y, n_repeats=2, random_state=0)
    assert found.importances_mean[:2].min() > found.importances_mean[2]


def test_weights_are_routed(iris):
    X, y = iris
    weight = np.where(y == "setosa", 0.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        model = OptimalTreeClassifier(max_depth=2).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=True)
        scores = cross_validate(model, X, y, cv=3, params={"sample_weight": weight}, return_estimator=True)
        assert scores["test_score"].min() > 0.8
        assert all("setosa" not in estimator.tree_.to_text() for estimator in scores["estimator"])


def test_rows_that_judge_are_routed(iris):
    X, y = iris
    with sklearn.config_context(enable_metadata_routing=True):
        selector = BackwardEliminationSelector().set_fit_request(X_val=True, y_val=True)
        pipeline = make_pipeline(selector, GreedyTreeClassifier().set_fit_request(sample_weight=False))
        pipeline.fit(X[::2], y[::2], X_val=X[1::2], y_val=y[1::2])
    assert pipeline[0].tree_ == BackwardEliminationSelector().fit(X[::2], y[::2], X_val=X[1::2], y_val=y[1::2]).tree_
