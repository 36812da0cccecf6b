"""Selectors of features: which rows judge, what is selected, and what becomes of frames."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import lattree
from lattree.sklearn import BackwardEliminationSelector, BestSubsetSelector, GreedyTreeClassifier

BOTH = [BackwardEliminationSelector, BestSubsetSelector]


@pytest.fixture(name="table")
def table_fixture():
    """A polars table whose labels need `color` and `length`, and its labels."""
    rng = np.random.default_rng(1)
    n = 300
    X = pl.DataFrame(
        {
            "noise": rng.random(n),
            "color": pl.Series(rng.choice(["red", "green", "blue"], n), dtype=pl.Enum(["red", "green", "blue"])),
            "when": pl.Series(rng.integers(19000, 19009, n)).cast(pl.Int32).cast(pl.Date),
            "length": pl.Series(rng.random(n)).set(pl.Series(rng.random(n) < 0.02), None),
        }
    )
    y = ((X["color"] == "red") & (X["length"].fill_null(0) > 0.4)).to_numpy()
    return X, y


@pytest.mark.parametrize("make", BOTH)
def test_features_that_matter(make, table):
    X, y = table
    selector = make(random_state=0, max_depth=3).fit(X, y)
    assert selector.selected_features_.tolist() == ["color", "length"]
    assert selector.get_support().tolist() == [False, True, False, True]
    assert selector.get_feature_names_out().tolist() == ["color", "length"]
    assert selector.status_ in ("complete", "optimal")
    assert selector.lower_bound_ <= selector.objective_ == selector.error_ < 0.05
    assert set(selector.tree_.features) == {"color", "length"}


@pytest.mark.parametrize("make", BOTH)
def test_frames_keep_their_kind_and_their_dtypes(make, table):
    X, y = table
    selector = make(random_state=0, max_depth=3).fit(X, y)
    assert selector.transform(X).equals(X.select("color", "length"))
    pandas = X.to_pandas()
    pd.testing.assert_frame_equal(selector.fit(pandas, y).transform(pandas), pandas[["color", "length"]])
    assert selector.set_output(transform="polars").transform(pandas).columns == ["color", "length"]
    assert isinstance(selector.set_output(transform="pandas").transform(pandas), pd.DataFrame)
    array = np.random.default_rng(0).random((50, 3)).astype(np.float32)
    kept = make(random_state=0, required="x1").fit(array, array[:, 1] > 0.5).transform(array)
    assert isinstance(kept, np.ndarray)
    assert kept.dtype == np.float32
    np.testing.assert_array_equal(kept, array[:, [1]])


def test_searches_are_those_of_the_package(table):
    X, y = table
    data = lattree.Dataset(X, y)
    for make, search in (
        (BackwardEliminationSelector, lattree.BackwardEliminationSearch(error="training", max_depth=2)),
        (BestSubsetSelector, lattree.AcceptableSubsetSearch(error="training", max_depth=2)),
    ):
        selector, result = make(error="training", max_depth=2).fit(X, y), search.run(data)
        assert tuple(selector.selected_features_) == result.features
        assert selector.error_ == result.error
        if make is BackwardEliminationSelector:
            assert selector.trace_ == [(removal.feature, removal.error) for removal in result.path]
            assert {name for name, _ in selector.trace_} == set(X.columns) - set(selector.selected_features_)
    penalty = BestSubsetSelector(error="training", feature_penalty=1.0).fit(X, y)
    assert penalty.selected_features_.tolist() == []
    with pytest.warns(UserWarning, match="no features were selected"):
        assert penalty.transform(X).width == 0


@pytest.mark.parametrize("make", BOTH)
def test_rows_that_judge(make, table):
    X, y = table
    given = make(max_depth=3).fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])
    assert given.tree_ == make(max_depth=3, random_state=5).fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:]).tree_
    wrong = (given.tree_.predict(X[200:]).to_numpy() != y[200:]).mean()
    assert given.error_ == pytest.approx(wrong)
    drawn = [make(random_state=seed).fit(X, y).tree_.to_text() for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    masses = sum(rule.mass for rule in make(random_state=0, validation_fraction=0.25).fit(X, y).tree_.rules())
    assert masses == pytest.approx(225)
    state = np.random.RandomState(0)
    make(random_state=state).fit(X, y)
    assert state.randint(1 << 30) != np.random.RandomState(0).randint(1 << 30)


def test_rows_that_cannot_judge(table):
    X, y = table
    selector = BestSubsetSelector(max_depth=2)
    with pytest.raises(ValueError, match="together or not at all"):
        selector.fit(X, y, X_val=X)
    with pytest.raises(ValueError, match='error="training" judges trees by the rows of X'):
        BestSubsetSelector(error="training").fit(X, y, X_val=X, y_val=y)
    with pytest.raises(ValueError, match="needs a validation_fraction, or X_val and y_val"):
        BestSubsetSelector(validation_fraction=None).fit(X, y)
    with pytest.raises(ValueError, match="feature names should match"):
        selector.fit(X, y, X_val=X.select("noise", "color", "length", "when"), y_val=y)
    with pytest.raises(TypeError, match="sample_weight"):
        selector.fit(X, y, sample_weight=np.ones(len(y)))


@pytest.mark.parametrize("make", BOTH)
def test_required_candidates_classes_and_costs(make, table):
    X, y = table
    selector = make(required=["when"], candidates="color", random_state=0).fit(X, y)
    assert set(selector.selected_features_) <= {"when", "color"}
    assert "when" in selector.selected_features_
    with pytest.raises(ValueError, match="nothing"):
        make(required="nothing").fit(X, y)
    weighted = make(error="training", class_weight={True: 50}, max_depth=1).fit(X, y)
    assert weighted.tree_ != make(error="training", max_depth=1).fit(X, y).tree_
    priced = make(error="training", costs=[[0, 1], [3, 0]], max_depth=0).fit(X, y)
    assert priced.error_ == pytest.approx(min(3 * y.mean(), 1 - y.mean()))


@pytest.mark.parametrize("make", BOTH)
def test_a_limit_that_strikes(make):
    rng = np.random.default_rng(0)
    X, y = rng.random((500, 40)), rng.integers(0, 2, 500)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        selector = make(time_limit=0, random_state=0).fit(X, y)
    assert selector.status_ == "time_limit"


@pytest.mark.parametrize("make", BOTH)
def test_pickles_and_pipelines(make, table):
    X, y = table
    selector = make(random_state=0, max_depth=3).fit(X, y)
    pickled = pickle.dumps(selector)
    assert len(pickled) < 2 * len(selector.tree_.to_json()) + 8192
    assert pickle.loads(pickled).get_support().tolist() == selector.get_support().tolist()
    both = make_pipeline(make(random_state=0, max_depth=3), GreedyTreeClassifier(max_depth=3)).fit(X, y)
    assert both[-1].feature_names_in_.tolist() == ["color", "length"]
    assert both.score(X, y) > 0.95
    name = make.__name__.lower()
    grid = GridSearchCV(both, {f"{name}__min_cases": [2, 50]}, cv=3).fit(X, y)
    assert grid.best_score_ > 0.9
    with pytest.raises(NotFittedError):
        make().transform(X)


@pytest.mark.parametrize("make", BOTH)
def test_frames_without_columns_keep_their_rows(make):
    X = pl.DataFrame({"a": [1.0] * 40, "b": [2.0] * 40})
    selector = make(random_state=0).fit(X, [0, 1] * 20)
    with pytest.warns(UserWarning, match="no features were selected"):
        assert selector.transform(X).shape == (40, 0)


@pytest.mark.parametrize("make", BOTH)
def test_validation_rows_of_another_kind_go_by_position(make):
    rng = np.random.default_rng(0)
    X = rng.random((80, 3))
    y = (X[:, 1] > 0.5).astype(int)
    by_frame = make().fit(X[:50], y[:50], X_val=pd.DataFrame(X[50:]), y_val=y[50:])
    by_array = make().fit(X[:50], y[:50], X_val=X[50:], y_val=y[50:])
    assert by_frame.tree_ == by_array.tree_
    assert by_frame.selected_features_.tolist() == ["x1"]
