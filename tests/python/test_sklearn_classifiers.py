"""Estimators that are trees: what they learn from, what they say of themselves, what they predict."""

import json
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.tree import DecisionTreeClassifier

import lattree
from lattree.sklearn import GreedyTreeClassifier, OptimalTreeClassifier

BOTH = [OptimalTreeClassifier(max_depth=3), GreedyTreeClassifier(max_depth=4)]


@pytest.fixture(name="people")
def people_fixture():
    """A pandas table of numbers, text, categories and dates, all with missing cells."""
    rng = np.random.default_rng(3)
    n = 200
    age, city = rng.integers(18, 80, n).astype(float), rng.choice(["Bern", "Basel", "Genf"], n)
    size = pd.Categorical(rng.choice(["S", "M", "L"], n), categories=["S", "M", "L"], ordered=True)
    y = np.where((age > 40) ^ (city == "Bern"), "buys", "leaves")
    X = pd.DataFrame({"age": age, "city": city, "size": size, "since": pd.Timestamp("2024-01-01")})
    X["since"] += pd.to_timedelta(rng.integers(0, 300, n), unit="D")
    for name in X.columns:
        X.loc[rng.random(n) < 0.05, name] = None
    return X, y


@pytest.mark.parametrize("model", BOTH, ids=str)
def test_frames_as_they_are(model, people):
    X, y = people
    by_pandas = model.fit(X, y).predict(X)
    assert list(model.feature_names_in_) == list(X.columns)
    assert model.n_features_in_ == 4
    assert model.score(X, y) > 0.9
    assert set(model.selected_features_) >= {"age", "city"}
    polars = pl.DataFrame(
        {name: X[name].astype(object if name == "city" else X[name].dtype) for name in ["age", "city"]}
    )
    for frame in (polars, polars.lazy(), polars.to_arrow()):
        model.fit(frame, y)
        assert list(model.feature_names_in_) == ["age", "city"]
        assert (model.predict(frame) == by_pandas).mean() > 0.9
        assert isinstance(model.predict(frame), np.ndarray)
    cells = X[["age", "city"]].to_numpy()
    assert cells.dtype == object
    assert (model.fit(cells, y).predict(cells) == by_pandas).mean() > 0.9
    assert model.tree_.schema.features[1].kind == "nominal"


@pytest.mark.parametrize(
    "make", [pd.DataFrame, lambda rows: pl.DataFrame(rows, orient="row")], ids=["pandas", "polars"]
)
def test_at_most_eight_lines_for_a_frame(make):
    rows = [{"age": 22, "city": "Bern"}, {"age": None, "city": "Basel"}, {"age": 50, "city": None}] * 5
    table = make(rows)
    labels = ["no", "yes", "yes"] * 5
    model = OptimalTreeClassifier(max_depth=2).fit(table, labels)
    assert model.score(table, labels) == 1.0
    assert model.tree_.to_text() == "age <= 40: no (5)\nage > 40 or missing: yes (10)"
    assert model.predict(table).tolist() == labels


def test_at_most_eight_lines_for_an_array():
    X = np.array([[22.0, 1.0], [np.nan, 2.0], [50.0, np.nan]] * 5)
    model = OptimalTreeClassifier(max_depth=2).fit(X, [0, 1, 1] * 5)
    assert model.predict(X).tolist() == [0, 1, 1] * 5
    assert [str(rule.conditions[0]) for rule in model.tree_.rules()] == ["x0 <= 40", "x0 > 40 or missing"]


def test_infinity_is_a_number_in_arrays_and_frames():
    X = np.array([[np.inf], [-np.inf], [0.0], [1.0]])
    y = [1, 0, 0, 1]
    for table in (X, pd.DataFrame(X, columns=["a"]), pl.DataFrame(X, schema=["a"])):
        assert OptimalTreeClassifier().fit(table, y).score(table, y) == 1.0


def test_columns_without_text_names_go_by_position():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 1] > 0).astype(int)
    by_array = OptimalTreeClassifier().fit(X, y)
    numbered = pd.DataFrame(X)
    assert (by_array.predict(numbered) == y).all()
    assert (OptimalTreeClassifier().fit(numbered, y).predict(X) == y).all()
    named = pd.DataFrame(X, columns=["a", "b", "c"])
    with pytest.warns(UserWarning, match="fitted without feature names"):
        assert (by_array.predict(named) == y).all()
    with pytest.warns(UserWarning, match="fitted without feature names"):
        assert (by_array.predict(pl.DataFrame(X, schema=["a", "b", "c"])) == y).all()
    by_name = OptimalTreeClassifier().fit(named, y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert (by_name.predict(X) == y).all()
    with pytest.raises(ValueError, match="feature names should match"):
        by_name.predict(named[["b", "a", "c"]])


@pytest.mark.parametrize("model", BOTH, ids=str)
@pytest.mark.parametrize(
    "values",
    [
        ["no", "yes", "ja✓"],
        np.array(["no", "yes", "ja✓"]),
        np.array([3, 10, -2], dtype=np.int16),
        np.array([3, 10, 2**40]),
        np.array([2.0, 10.0, -1.0]),
        np.array([10, 2, 1], dtype=object),
        np.array([False, True, True]),
        pd.Series(["b", "a", "c"], dtype="category"),
        pd.Series(["b", "a", "c"], dtype="string"),
        pl.Series(["b", "a", "c"], dtype=pl.Enum(["c", "b", "a", "unused"])),
    ],
    ids=str,
)
def test_labels_come_back_as_they_were(model, values):
    codes = np.arange(60) % 3
    y = values.iloc[codes] if isinstance(values, pd.Series) else np.asarray(values)[codes]
    if isinstance(values, pl.Series):
        y = values[codes.tolist()]
    X = codes.reshape(-1, 1).astype(float)
    predicted = model.fit(X, y).predict(X)
    given = np.asarray(y)
    assert predicted.dtype == model.classes_.dtype == given.dtype
    assert predicted.tolist() == given.tolist()
    assert model.classes_.tolist() == sorted(set(given.tolist()))
    assert model.predict_proba(X).argmax(axis=1).tolist() == np.searchsorted(model.classes_, given).tolist()


@pytest.mark.parametrize(
    ("y", "says"),
    [
        ([0.5, 1.0, 2.0, 0.1], "continuous"),
        (np.array(["a", None, "b", "a"], dtype=object), "NaN or None"),
        (np.array(["a", np.nan, "b", "a"], dtype=object), "NaN or None"),
        (np.array(["a", 1, "b", 2], dtype=object), "Unknown label type: y holds int, str"),
        (None, "requires y to be passed, but the target y is None"),
        (["a", "b"], "2 rows"),
    ],
)
def test_labels_that_are_none(y, says):
    with pytest.raises(ValueError, match=says):
        OptimalTreeClassifier().fit([[0.0], [1.0], [2.0], [3.0]], y)


def test_what_a_search_says(people):
    X, y = people
    model = OptimalTreeClassifier(max_depth=2).fit(X, y)
    result = lattree.OptimalTreeSearch(max_depth=2).run(lattree.Dataset(X, y))
    assert model.tree_.to_text() == result.tree.to_text()
    assert model.tree_ is model.result_.tree
    assert (model.objective_, model.lower_bound_, model.gap_) == (result.objective, result.lower_bound, 0.0)
    assert model.status_ == "optimal"
    assert [entry[1:] for entry in model.trace_][-1] == (result.objective, result.objective)
    assert (1 - model.score(X, y)) * len(y) == pytest.approx(model.objective_)
    assert (model.get_depth(), model.get_n_leaves()) == (result.tree.depth, result.tree.n_leaves)


@pytest.mark.parametrize("model", [OptimalTreeClassifier(), GreedyTreeClassifier()], ids=str)
def test_what_an_unfitted_one_says(model):
    for name in ("tree_", "status_", "feature_importances_", "selected_features_"):
        assert not hasattr(model, name)
    for call in (model.predict, model.apply, model.decision_path, model.predict_proba):
        with pytest.raises(NotFittedError):
            call([[0.0]])
    with pytest.raises(NotFittedError):
        model.get_depth()


def test_ways_and_importances_are_those_of_scikit_learn():
    X, y = make_classification(300, 8, n_informative=4, random_state=1)
    ours = GreedyTreeClassifier(criterion="gini", max_depth=4).fit(X, y)
    theirs = DecisionTreeClassifier(criterion="gini", max_depth=4, random_state=0).fit(X, y)
    assert (ours.predict(X) == theirs.predict(X)).all()
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-9)
    assert (ours.apply(X) == theirs.apply(X)).all()
    ways, others = ours.decision_path(X), theirs.decision_path(X)
    assert ways.shape == others.shape
    assert (ways != others).nnz == 0


def test_importances_with_empty_leaves_and_missing_values(people):
    X, y = people
    importances = GreedyTreeClassifier().fit(X, y).feature_importances_
    assert importances.shape == (4,)
    assert importances.sum() == pytest.approx(1.0)
    assert importances.argmax() in (0, 1)
    leaf = GreedyTreeClassifier(max_depth=0).fit(X, y)
    assert leaf.feature_importances_.tolist() == [0.0] * 4
    assert leaf.decision_path(X).shape == (len(X), 1)
    assert leaf.selected_features_.tolist() == []


@pytest.mark.parametrize("model", BOTH, ids=str)
def test_probabilities(model, people):
    X, y = people
    model.fit(X, y)
    shares = model.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert (model.classes_[shares.argmax(axis=1)] == model.predict(X)).all()
    np.testing.assert_array_equal(np.exp(model.predict_log_proba(X)) > 0, shares > 0)


@pytest.mark.parametrize("model", BOTH, ids=str)
def test_weights_and_class_weights(model):
    rng = np.random.default_rng(5)
    X, weight = rng.random((80, 4)), rng.integers(0, 4, 80)
    y = rng.integers(0, 3, 80)
    repeated = np.repeat(np.arange(80), weight)
    weighted = model.fit(X, y, sample_weight=weight).predict_proba(X)
    np.testing.assert_allclose(weighted, model.fit(X[repeated], y[repeated]).predict_proba(X))
    by_class = type(model)(**model.get_params() | {"class_weight": {0: 2.0, 2: 5.0}}).fit(X, y)
    by_row = model.fit(X, y, sample_weight=np.array([2.0, 1.0, 5.0])[y])
    assert by_class.tree_ == by_row.tree_
    balanced = type(model)(**model.get_params() | {"class_weight": "balanced"}).fit(X, y)
    by_row = model.fit(X, y, sample_weight=80 / (3 * np.bincount(y))[y])
    assert balanced.tree_ == by_row.tree_


@pytest.mark.parametrize("model", BOTH, ids=str)
def test_least_part_of_the_weights_in_a_leaf(model):
    rng = np.random.default_rng(6)
    X, y, weight = rng.random((100, 3)), rng.integers(0, 2, 100), rng.random(100)
    loose = model.fit(X, y, sample_weight=weight)
    leaves = np.bincount(loose.apply(X), weights=weight)
    assert leaves[leaves > 0].min() < 0.1 * weight.sum()
    tight = type(model)(**model.get_params() | {"min_weight_fraction_leaf": 0.1}).fit(X, y, sample_weight=weight)
    leaves = np.bincount(tight.apply(X), weights=weight)
    assert leaves[leaves > 0].min() >= 0.1 * weight.sum()
    assert tight.get_n_leaves() > 1


def test_costs_are_in_the_order_of_the_classes():
    X, y = [[0.0]] * 3 + [[1.0]], ["keep", "keep", "sell", "sell"]
    cheap = GreedyTreeClassifier(costs=[[0, 1], [1, 0]]).fit(X, y)
    dear = GreedyTreeClassifier(costs=[[0, 1], [5, 0]]).fit(X, y)
    assert cheap.predict([[0.0]]) == ["keep"]
    assert dear.predict([[0.0]]) == ["sell"]


def test_a_limit_that_strikes_warns_and_says_the_gap():
    X, y = make_classification(400, 20, flip_y=0.4, random_state=0)
    binarizer = lattree.Binarizer(thresholds="quantile", max_thresholds=5)
    model = OptimalTreeClassifier(max_depth=5, node_limit=100, binarizer=binarizer)
    with pytest.warns(ConvergenceWarning, match=r"node_limit at an objective of .* a gap of \d+\.\d%") as caught:
        model.fit(X, y)
    assert [warned.filename for warned in caught if warned.category is ConvergenceWarning] == [__file__]
    assert model.status_ == "node_limit"
    assert 0 < model.gap_ <= 1
    assert model.lower_bound_ <= model.objective_
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        GreedyTreeClassifier(time_limit=0).fit(X, y)


def test_the_tree_does_not_depend_on_threads_or_random_state():
    X, y = make_classification(200, 6, flip_y=0.2, random_state=0)
    one = OptimalTreeClassifier(max_depth=3).fit(X, y)
    two = OptimalTreeClassifier(max_depth=3, n_jobs=2, random_state=7).fit(X, y)
    assert one.tree_ == two.tree_
    assert two.result_.stats["threads"] <= 2
    assert one.result_.stats["threads"] == 1


@pytest.mark.parametrize("n_rows", [200, 20_000])
@pytest.mark.parametrize("model", [OptimalTreeClassifier(max_depth=1), GreedyTreeClassifier(max_depth=5)], ids=str)
def test_size_of_a_pickle_is_that_of_the_tree(model, n_rows):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((n_rows, 10)), columns=[f"column {i}" for i in range(10)])
    model.fit(X, np.where(X["column 3"] + 0.3 * rng.random(n_rows) > 0.6, "high", "low"))
    pickled = pickle.dumps(model)
    assert len(pickled) < 2 * len(model.tree_.to_json()) + 8192
    again = pickle.loads(pickled)
    assert (again.predict(X) == model.predict(X)).all()
    assert again.tree_ == model.tree_
    assert again.status_ == model.status_
    assert json.loads(again.tree_.to_json()) == json.loads(model.tree_.to_json())


def test_without_scikit_learn():
    says = "lattree.sklearn needs scikit-learn 1.6 or later: pip install 'lattree[sklearn]'"
    code = f"""
import sys
sys.modules["sklearn"] = None
import lattree
try:
    import lattree.sklearn
except ImportError as error:
    assert str(error) == {says!r}, error
else:
    raise AssertionError("it was imported")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("model", BOTH, ids=str)
def test_representations(model, people):
    X, y = people
    html = clone(model).set_params(max_depth=7).fit(X, y)._repr_html_()
    assert type(model).__name__ in html
    assert "max_depth" in html
    assert repr(clone(model).set_params(max_depth=7)) == f"{type(model).__name__}(max_depth=7)"


@pytest.mark.parametrize("model", BOTH, ids=str)
def test_lists_of_numbers_and_text(model):
    X = [[x / 2, c] for x in range(12) for c in "ab"]
    y = [int(x > 3 and c == "a") for x, c in X]
    fitted = clone(model).fit(X, y)
    assert [feature.kind for feature in fitted.tree_.schema.features] == ["continuous", "nominal"]
    assert fitted.score(X, y) == 1
    assert fitted.predict([[3.4, "a"], [0.1, "b"]]).tolist() == [1, 0]


@pytest.mark.parametrize("model", BOTH, ids=str)
@pytest.mark.parametrize("make", [pd.Series, pl.Series, np.array])
def test_a_table_has_two_dimensions(model, make):
    with pytest.raises(ValueError, match=r"Expected 2D array|Expected a 2-dimensional"):
        clone(model).fit(make([1.0, 2.0, 3.0]), [0, 1, 1])


@pytest.mark.parametrize("model", BOTH, ids=str)
def test_dates_are_no_labels(model):
    y = np.array(["2024-01-01", "2024-01-02"] * 5, dtype="datetime64[s]")
    with pytest.raises(ValueError, match="Unknown label type: y holds datetime64"):
        clone(model).fit(np.arange(10.0)[:, None], y)


@pytest.mark.parametrize("model", BOTH, ids=str)
def test_leaves_are_counted_or_weighed(model):
    X, y = make_classification(40, random_state=0)
    with pytest.raises(ValueError, match=r"min_weight_fraction_leaf=0\.1 .* min_leaf=2 .* give one of them"):
        clone(model).set_params(min_leaf=2, min_weight_fraction_leaf=0.1).fit(X, y)


def test_warnings_name_the_line_of_the_caller():
    rng = np.random.default_rng(0)
    X, y = rng.random((3_000, 20)), rng.integers(0, 2, 3_000)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        OptimalTreeClassifier(max_depth=2, engine="tests", node_limit=1).fit(X, y)
    assert [warning.category for warning in caught] == [UserWarning, ConvergenceWarning]
    assert {warning.filename for warning in caught} == {__file__}
