"""Columns as 0/1 tests, as a transformer."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import lattree
from lattree.sklearn import Binarizer


@pytest.fixture(name="table")
def table_fixture():
    return pl.DataFrame(
        {
            "age": [22, 35, None, 58, 41],
            "city": ["Bern", "Basel", "Bern", None, "Genf"],
            "size": pl.Series(["S", "L", "M", "L", "M"], dtype=pl.Enum(["S", "M", "L"])),
            "since": pl.Series([19000, 19001, 19000, 19003, None]).cast(pl.Int32).cast(pl.Date),
            "dose": [0.5, 1.5, float("nan"), 0.5, 2.5],
        }
    )


def test_each_test_by_hand(table):
    binarizer = Binarizer().fit(table)
    cells = binarizer.transform(table)
    assert cells.dtype == np.int8
    assert binarizer.tests_ == lattree.Binarizer().tests(lattree.Dataset(table))
    assert binarizer.get_feature_names_out().tolist() == binarizer.tests_
    columns = dict(zip(binarizer.tests_, cells.T.tolist(), strict=True))
    assert columns["age is missing"] == [0, 0, 1, 0, 0]
    assert columns["city is Bern"] == [1, 0, 1, 0, 0]
    assert columns["city is missing"] == [0, 0, 0, 1, 0]
    assert columns["size <= M"] == [1, 0, 1, 0, 1]
    ages = {name: cells for name, cells in columns.items() if name.startswith("age <=")}
    assert list(ages.values()) == [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 0, 0, 1]]


def test_new_rows_are_asked_the_same(table):
    binarizer = Binarizer(missing="fails").fit(table)
    assert not any("missing" in test for test in binarizer.tests_)
    new = pl.DataFrame({"age": [10.5, None], "city": ["Zug", "Bern"], "size": ["S", None], "since": None, "dose": 9})
    columns = dict(zip(binarizer.tests_, binarizer.transform(new).T.tolist(), strict=True))
    assert all(columns[test] == [1, 0] for test in columns if test.startswith(("age", "size")))
    assert columns["city is Bern"] == [0, 1]
    assert columns["city is Genf"] == [0, 0]
    assert all(columns[test] == [0, 0] for test in columns if test.startswith(("since", "dose")))


def test_trees_over_tests_are_trees_over_columns():
    data = lattree.datasets.load("iris")
    frame = data.to_polars()
    X, y = frame.drop(data.schema.target), frame[data.schema.target].to_numpy()
    cells = Binarizer(thresholds="all").fit_transform(X)
    for depth in (1, 2, 3):
        by_tests = lattree.OptimalTreeSearch(max_depth=depth).run(lattree.Dataset.from_arrays(cells, y))
        assert by_tests.objective == lattree.OptimalTreeSearch(max_depth=depth).run(data).objective


def test_frames_come_out_as_asked(table):
    for kind, frame in (("polars", pl.DataFrame), ("pandas", pd.DataFrame)):
        out = Binarizer(nominal="subsets").set_output(transform=kind).fit_transform(table)
        assert isinstance(out, frame)
        assert "city in {Basel, Bern}" in out.columns


def test_names_for_columns_without():
    X = np.array([[1.0, 5.0], [2.0, 6.0]])
    binarizer = Binarizer().fit(X)
    assert binarizer.tests_ == ["x0 <= 1.5"]  # x1 tells the rows apart as x0 does
    assert binarizer.get_feature_names_out(["a", "b"]).tolist() == ["a <= 1.5"]
    with pytest.raises(ValueError, match="input_features"):
        binarizer.get_feature_names_out(["a"])
    named = Binarizer().fit(pd.DataFrame(X, columns=["p", "q"]))
    with pytest.raises(ValueError, match="input_features"):
        named.get_feature_names_out(["a", "b"])


def test_thresholds_that_ask_about_labels():
    rng = np.random.default_rng(0)
    X = rng.random((300, 2))
    y = np.where(X[:, 0] > 0.5, "high", "low")
    binarizer = Binarizer(thresholds="mdlp").fit(X, y)
    assert len(binarizer.tests_) == 1
    assert (binarizer.transform(X)[:, 0] == (y == "low")).all()
    with pytest.raises(ValueError, match="requires y"):
        Binarizer(thresholds="mdlp").fit(X)
    assert Binarizer(max_thresholds=3).fit(X, rng.random(300)).transform(X).shape == (300, 6)


def test_pipelines_and_pickles(table):
    binarizer = Binarizer().fit(table)
    again = pickle.loads(pickle.dumps(binarizer))
    np.testing.assert_array_equal(again.transform(table), binarizer.transform(table))
    assert again.tests_ == binarizer.tests_
    y = [0, 1, 0, 1, 1]
    assert make_pipeline(Binarizer(), LogisticRegression()).fit(table, y).score(table, y) == 1.0
    with pytest.raises(NotFittedError):
        Binarizer().transform(table)


def test_tests_of_another_table_are_refused(table):
    offered = Binarizer().fit(table)._offered
    assert len(offered) == len(offered.words())
    with pytest.raises(lattree.ParameterError, match="same schema"):
        offered.passes(lattree.Dataset(table.select("age")))
