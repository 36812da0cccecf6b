"""Thresholds are as people write them, and a rule pasted back as a filter selects the rows of the tree."""

import datetime as dt
import importlib.util
import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from lattree import Binarizer, Dataset, GreedyTreeSearch, OptimalTreeSearch, Tree, datasets

SPEC = importlib.util.spec_from_file_location("shortest", Path(__file__).parents[1] / "stress" / "shortest.py")
shortest = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(shortest)

N = 60
START = dt.datetime(2024, 3, 30, 22, 17, 31)


def times(rng):
    """Instants around the hour that clocks skip in Europe, some of them near each other."""
    return [
        START + dt.timedelta(minutes=int(rng.integers(0, 400)), microseconds=int(rng.integers(0, 5))) for _ in range(N)
    ]


def zoned(zone, unit="us"):
    def make(rng):
        instants = pl.Series("x", times(rng)).dt.replace_time_zone("UTC")
        return instants.dt.convert_time_zone(zone).dt.cast_time_unit(unit)

    return make


MAKE = {
    "datetime": lambda rng: pl.Series("x", times(rng)),
    "datetime[ms]": lambda rng: pl.Series("x", times(rng), dtype=pl.Datetime("ms")),
    "UTC": zoned("UTC"),
    "Asia/Tokyo": zoned("Asia/Tokyo"),
    "Europe/Berlin": zoned("Europe/Berlin"),
    "America/St_Johns[ns]": zoned("America/St_Johns", "ns"),
    "time": lambda rng: pl.Series("x", [dt.time(13, int(m), int(s)) for m, s in rng.integers(0, 60, (N, 2))]),
    "time[us]": lambda rng: pl.Series("x", [dt.time(13, 15, 0, int(us)) for us in rng.integers(0, 999999, N)]),
    "duration": lambda rng: pl.Series("x", [dt.timedelta(seconds=int(s)) for s in rng.integers(0, 10**7, N)]),
    "duration[ns]": lambda rng: pl.Series("x", rng.integers(0, 10**12, N)).cast(pl.Duration("ns")),
    "duration[ms]": lambda rng: pl.Series("x", rng.integers(0, 10**12, N)).cast(pl.Duration("ms")),
    "date": lambda rng: pl.Series("x", [dt.date(2023, 12, 1) + dt.timedelta(int(d)) for d in rng.integers(0, 90, N)]),
    "float32": lambda rng: pl.Series("x", rng.integers(0, 40, N) / 10, dtype=pl.Float32),
    "float32, near": lambda rng: pl.Series(
        "x", np.float32(0.3) + np.arange(N) % 7 * np.float32(3e-8), dtype=pl.Float32
    ),
    "float64": lambda rng: pl.Series("x", rng.normal(size=N)),
    "integer": lambda rng: pl.Series("x", rng.integers(-300, 300, N)),
}


def grown(data):
    yield GreedyTreeSearch().run(data).tree
    for engine in ("tests", "continuous"):
        yield OptimalTreeSearch(max_depth=3, engine=engine, binarizer=Binarizer(thresholds="all")).run(data).tree


def words(rule):
    """The first condition, whatever it says of missing values."""
    return str(rule.conditions[0]).removesuffix(" or missing")


def parts(condition):
    name, relation, constant = str(condition).removesuffix(" or missing").split(" ", 2)
    assert name == "x"
    return relation, constant


def in_sql(dtype, condition):
    relation, constant = parts(condition)
    if isinstance(dtype, pl.Duration):
        return f"x {relation} INTERVAL '{constant}'"
    return f"x {relation} '{constant}'" if dtype.is_temporal() else f"x {relation} {constant}"


def in_pandas(column, condition):
    relation, constant = parts(condition)
    if isinstance(column.iloc[0], dt.time):
        value = dt.time.fromisoformat(constant)
    elif pd.api.types.is_numeric_dtype(column.dtype):
        value = float(constant)
    else:
        value = constant
    return column <= value if relation == "<=" else column > value


@pytest.mark.parametrize("kind", MAKE)
@pytest.mark.parametrize("seed", range(3))
def test_fault_j_a_rule_is_a_filter(kind, seed):
    rng = np.random.default_rng(seed)
    x = MAKE[kind](rng)
    order = x.rank("dense").to_numpy()
    labels = np.where(order % 7 < 3, "a", "b")
    frame = pl.DataFrame({"x": x, "row": np.arange(N)})
    for tree in grown(Dataset(frame.select("x"), labels)):
        assert tree.n_nodes > 1
        leaves = tree.apply(frame)
        for rule in tree.rules():
            rows = np.flatnonzero(leaves == rule.leaf)
            condition = " AND ".join(in_sql(x.dtype, condition) for condition in rule.conditions)
            assert frame.sql(f"SELECT row FROM self WHERE {condition}")["row"].to_list() == rows.tolist(), condition
            column = frame.to_pandas()["x"]
            selected = np.logical_and.reduce([in_pandas(column, condition) for condition in rule.conditions])
            assert np.flatnonzero(selected).tolist() == rows.tolist(), rule.conditions


def separated(low, high):
    """What a tree says that separates two values of a column, where one threshold does."""
    data = Dataset({"x": [low] * 3 + [high] * 3}, ["a"] * 3 + ["b"] * 3)
    return words(OptimalTreeSearch(max_depth=1).run(data).tree.rules()[0])


def test_fault_j_times_are_written_in_the_terms_of_the_column():
    tokyo = [pd.Timestamp("2024-01-31 07:10", tz="Asia/Tokyo"), pd.Timestamp("2024-01-31 20:40", tz="Asia/Tokyo")]
    data = Dataset(pd.DataFrame({"x": tokyo}), ["a", "b"])
    tree = OptimalTreeSearch(max_depth=1).run(data).tree
    assert words(tree.rules()[0]) == "x <= 2024-01-31 14:00:00+09:00"
    assert Tree.from_json(tree.to_json()).to_text() == tree.to_text()
    assert separated(dt.time(13, 14, 59), dt.time(13, 15, 1)) == "x <= 13:15:00"
    assert separated(dt.time(8), dt.time(20)) == "x <= 14:00:00"
    assert separated(dt.timedelta(hours=20), dt.timedelta(hours=31)) == "x <= 1 day"
    assert separated(dt.timedelta(seconds=-8), dt.timedelta(seconds=-3)) == "x <= -6s"
    assert separated(dt.timedelta(0), dt.timedelta(hours=51, minutes=1)) == "x <= 1 day"
    assert separated(dt.datetime(2024, 1, 30, 18), dt.datetime(2024, 1, 31, 11)) == "x <= 2024-01-31 00:00:00"
    assert separated(dt.date(2024, 1, 30), dt.date(2024, 1, 31)) == "x <= 2024-01-30"


@pytest.mark.parametrize(
    ("trained", "given"),
    [
        (pl.Duration("us"), pl.Duration("ns")),
        (pl.Duration("ms"), pl.Duration("us")),
        (pl.Duration("ns"), pl.Duration("ms")),
        (pl.Time(), pl.Time()),
    ],
)
def test_fault_j_durations_and_times_of_day_in_another_unit(trained, given):
    seconds = np.arange(40) * 1_001
    x = pl.Series("x", seconds * 10**9).cast(pl.Duration("ns")).dt.cast_time_unit("us").cast(pl.Duration("us"))
    x = pl.Series("x", seconds * 10**9).cast(pl.Time) if trained == pl.Time() else x
    labels = (seconds // 5_000 % 2).tolist()
    tree = GreedyTreeSearch().run(Dataset({"x": x.cast(trained)}, labels)).tree
    assert tree.predict({"x": x.cast(given)}).to_list() == labels
    back = Dataset({"x": x.cast(given)}, like=tree).to_polars()["x"]
    assert back.dtype == trained
    assert back.to_list() == x.to_list()


def test_fault_j_trees_of_old_files_read_times_in_seconds():
    """Version 0.1 had times of day and durations as floats."""
    for x in (pl.Series([dt.time(8), dt.time(9)]), pl.Series([dt.timedelta(hours=8), dt.timedelta(hours=9)])):
        tree = OptimalTreeSearch(max_depth=1).run(Dataset({"x": x}, ["a", "b"])).tree
        written = json.loads(tree.to_json())
        written["schema"]["features"][0]["kind"] = {"continuous": "float"}
        written["nodes"][0]["test"]["at_most"]["threshold"] = {"float": 30_600.0}
        old = Tree.from_json(json.dumps(written))
        assert old.predict({"x": x}).to_list() == ["a", "b"]
        assert "x <= 30600" in old.to_text()


@pytest.mark.parametrize(
    ("low", "high", "constant"),
    [
        (4.9, 5.0, "4.95"),
        (0.61107, 0.61109, "0.61108"),
        (0.9, 1.3, "1"),
        (0.1, 0.2, "0.15"),
        (10.0, 27.0, "20"),
        (3, 4, "3"),
        (18, 26, "20"),
        (-1, 1, "0"),
    ],
)
def test_fault_s_one_number_everywhere(low, high, constant):
    data = Dataset({"x": [low, high] * 3}, ["a", "b"] * 3)
    for tree in grown(data):
        assert words(tree.rules()[0]) == f"x <= {constant}"
        assert f"x <= {constant}" in tree.to_text()
        assert f"x <= {constant}" in tree.to_dot()
        threshold = json.loads(tree.to_json())["nodes"][0]["test"]["at_most"]["threshold"]
        assert list(threshold.values()) == [float(constant)]
    assert Binarizer(thresholds="all").tests(data) == [f"x <= {constant}"]


def thresholds(tree):
    for node in json.loads(tree.to_json())["nodes"]:
        if "at_most" in node.get("test", {}):
            test = node["test"]["at_most"]
            yield tree.schema.feature_names[test["feature"]], test["threshold"].get("float")


@pytest.mark.parametrize("name", ["iris", "ionosphere", "hypothyroid"])
def test_fault_s_neighbours_are_those_of_the_whole_column(name):
    data = datasets.load(name)
    frame = data.to_polars()
    trees = [GreedyTreeSearch().run(data).tree, OptimalTreeSearch(max_depth=2, time_limit=20).run(data).tree]
    for tree in trees:
        cuts = [(feature, t) for feature, t in thresholds(tree) if t is not None]
        assert cuts or name == "hypothyroid"
        for feature, t in cuts:
            column = frame[feature].drop_nulls().unique().to_numpy()
            single = frame[feature].dtype == pl.Float32
            below, above = column[column <= t].max(), column[column > t].min()
            assert t == shortest.between(float(below), float(above), single=single), (feature, t)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fault_s_digits_of_the_dtype(dtype):
    rng = np.random.default_rng(3)
    X = (rng.integers(0, 1000, (300, 4)) / 1000).astype(dtype)
    y = (X[:, 0] + X[:, 1] > 1).astype(int)
    for tree in grown(Dataset.from_arrays(X, y)):
        texts = [str(condition).split(" ")[2] for rule in tree.rules() for condition in rule.conditions]
        assert texts
        assert max(map(len, texts)) <= len("0.9995")
        assert (tree.predict(X) == tree.predict(X.astype(np.float64))).all()


def test_fault_s_masses_of_a_leaf_have_one_precision():
    weight = np.array([9.33, 0.0599995, 1.0, 660.0, 0.541872, 1.5])
    data = Dataset({"x": [0, 0, 1, 2, 2, 1], "w": weight}, list("abbabb"), weight="w")
    text = GreedyTreeSearch(max_depth=0).run(data).tree.to_text()
    assert text == "a (672.432/3.102)"
    data = Dataset({"x": [0, 0], "w": [9.33, 0.0599995]}, list("ab"), weight="w")
    assert GreedyTreeSearch(max_depth=0).run(data).tree.to_text() == "a (9.39/0.06)"
    data = Dataset({"x": [0, 0], "w": [123456.5, 0.00123]}, list("ab"), weight="w")
    assert GreedyTreeSearch(max_depth=0).run(data).tree.to_text() == "a (123457/0.001)"
