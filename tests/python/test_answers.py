"""Predictions are of the kind of the table: what is compared with its own columns compares row by row."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lattree
from lattree import DataError, Dataset, GreedyTreeSearch, OptimalTreeSearch

LABELS = {
    "bool": [True, False],
    "int": [3, -7],
    "float": [1.0, 0.0],
    "string": ["yes", "no"],
    "date-like string": ["2024-01-02", "2023-12-31"],
    "date": [dt.date(2024, 1, 2), dt.date(2023, 12, 31)],
    "datetime": [dt.datetime(2024, 1, 2, 3, 4, 5, 678), dt.datetime(2023, 12, 31)],
}
X = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
HITS = 7 / 8
"""A tree of one split gets all but one of the rows."""
INDEX = [5, 3, 9, 9, 0, 2, 1, 7]
"""Not in order, and one occurs twice."""


def labels_of(kind):
    first, second = LABELS[kind]
    return [first, first, first, second, first, second, second, second]


def polars_frame(kind, dtype=None):
    return pl.DataFrame({"x": X, "y": pl.Series(labels_of(kind), dtype=dtype)})


def pandas_frame(kind, dtype=None):
    return pd.DataFrame({"x": X, "y": pd.Series(labels_of(kind), dtype=dtype)}).set_axis(INDEX)


def stump(data):
    return OptimalTreeSearch(max_depth=1).run(data).tree


def places(tree, frame):
    """The place of each predicted label among the labels, ascending."""
    predicted = tree.predict(frame).tolist()
    return [sorted(set(predicted)).index(label) for label in predicted]


PANDAS = [(kind, None) for kind in LABELS]
PANDAS += [("string", dtype) for dtype in ("category", "string", "object", "string[pyarrow]")]
PANDAS += [("int", dtype) for dtype in ("category", "Int8", "int16", "int64[pyarrow]", "float32")]
PANDAS += [("bool", dtype) for dtype in ("boolean", "category", "object", "bool[pyarrow]")]
PANDAS += [("string", pd.CategoricalDtype(["no", "other", "yes"], ordered=True))]
PANDAS += [("date", "date32[day][pyarrow]"), ("datetime", "datetime64[ns]"), ("datetime", "datetime64[ms]")]


class TestFaultI:
    @pytest.mark.parametrize(("kind", "dtype"), PANDAS, ids=str)
    def test_fault_i_pandas(self, kind, dtype):
        frame = pandas_frame(kind, dtype)
        if str(dtype) == "datetime64[ms]":
            frame["y"] = frame["y"].dt.floor("s")
        tree = stump(Dataset(frame, "y"))
        predicted = tree.predict(frame)
        assert isinstance(predicted, pd.Series)
        assert (predicted == frame["y"]).mean() == HITS
        assert (frame["y"] == predicted).sum() == 7
        assert predicted.index.equals(frame.index)
        assert predicted.name == "y"

    @pytest.mark.parametrize("kind", LABELS)
    def test_fault_i_pandas_frames_of_other_rows_and_categories(self, kind):
        """Categories of which some are gone are other categories, to pandas."""
        frame = pandas_frame(kind, "category" if kind == "string" else None)
        tree = stump(Dataset(frame, "y"))
        some = frame[frame["x"] < 3]
        if kind == "string":
            some = some.assign(y=some["y"].cat.remove_unused_categories())
        assert (tree.predict(some) == some["y"]).mean() == 1.0
        assert len(tree.predict(frame[:0]) == frame["y"][:0]) == 0

    @pytest.mark.parametrize(
        ("kind", "dtype"),
        [
            *((kind, None) for kind in LABELS),
            ("string", pl.Categorical),
            ("string", pl.Enum(["no", "other", "yes"])),
            ("int", pl.Int8),
            ("float", pl.Float32),
            ("datetime", pl.Datetime("ns")),
        ],
        ids=str,
    )
    def test_fault_i_polars_and_all_that_has_no_kind_of_its_own(self, kind, dtype):
        frame = polars_frame(kind, dtype)
        data = Dataset(frame, "y")
        tree = stump(data)
        for given in (frame, frame.lazy(), data, frame.to_dict(), frame.to_dict(as_series=False)):
            predicted = tree.predict(given)
            assert isinstance(predicted, pl.Series)
            assert (predicted == frame["y"]).mean() == HITS
            assert predicted.dtype == frame["y"].dtype
            assert predicted.name == "y"
        assert (tree.predict(data) == data.target).mean() == HITS

    @pytest.mark.parametrize("kind", LABELS)
    def test_fault_i_numpy(self, kind):
        rows = np.array(X)[:, None]
        for y in (polars_frame(kind)["y"].to_numpy(), np.array(labels_of(kind)), np.array(labels_of(kind), dtype="O")):
            tree = stump(Dataset.from_arrays(rows, y))
            for given in (rows, np.asfortranarray(rows), rows.astype("f4"), rows.astype(object), rows.tolist()):
                predicted = tree.predict(given)
                assert isinstance(predicted, np.ndarray)
                assert (predicted == y).mean() == HITS

    @pytest.mark.parametrize("kind", LABELS)
    def test_fault_i_pyarrow(self, kind):
        table = pa.table({"x": X, "y": labels_of(kind)})
        tree = stump(Dataset(table, "y"))
        for given in (table, table.to_batches()[0], table.to_reader()):
            assert pc.mean(pc.equal(tree.predict(given), table["y"])).as_py() == HITS

    def test_fault_i_the_case_that_was_found(self):
        flowers = lattree.datasets.load_frame("iris").to_pandas()
        tree = OptimalTreeSearch(max_depth=2).run(lattree.datasets.load("iris")).tree
        assert (tree.predict(flowers) == flowers["class"]).mean() == 0.96

    def test_fault_i_frames_without_the_columns_that_a_tree_needs_none_of(self):
        """Only the number of rows can be known then."""
        tree = OptimalTreeSearch(max_depth=0).run(Dataset(polars_frame("string"), "y")).tree
        assert tree.features == []
        frame = pandas_frame("string")
        assert (tree.predict(frame[["y"]]) == frame["y"]).mean() == 0.5
        lazy = pl.LazyFrame({"a": [1, 2, 3]})
        assert len(tree.predict(lazy)) == len(tree.predict(lazy.collect())) == 3

    def test_pandas_subclasses_and_several_levels_of_index(self):
        class Frame(pd.DataFrame):
            pass

        frame = pandas_frame("string")
        tree = stump(Dataset(frame, "y"))
        deep = frame.set_index([frame["x"] > 2, frame["x"].astype(str)], drop=False)
        assert (tree.predict(deep) == deep["y"]).mean() == HITS
        assert (tree.predict(Frame(frame)) == frame["y"]).mean() == HITS


class TestSharesAndLeaves:
    @pytest.mark.parametrize("kind", LABELS)
    def test_pandas(self, kind):
        frame = pandas_frame(kind)
        tree = stump(Dataset(frame, "y"))
        shares, leaves = tree.predict_proba(frame), tree.apply(frame)
        assert isinstance(shares, pd.DataFrame)
        assert list(shares.columns) == tree.schema.classes
        assert shares.index.equals(frame.index)
        assert (shares.sum(axis=1) == 1).all()
        assert (shares.to_numpy().argmax(axis=1) == places(tree, frame)).all()
        assert isinstance(leaves, pd.Series)
        assert leaves.index.equals(frame.index)
        assert set(leaves) == {1, 2}
        assert leaves.groupby(leaves).size().sum() == 8

    def test_labels_choose_columns(self):
        for kind in ("bool", "int", "string"):
            frame = pandas_frame(kind)
            tree = stump(Dataset(frame, "y"))
            certain = tree.predict_proba(frame)[LABELS[kind][0]]
            assert ((certain > 0.5) == (tree.predict(frame) == LABELS[kind][0])).all()

    def test_polars(self):
        frame = polars_frame("bool")
        data = Dataset(frame, "y")
        tree = stump(data)
        for given in (frame, frame.lazy(), data, frame.to_dict()):
            shares, leaves = tree.predict_proba(given), tree.apply(given)
            assert isinstance(shares, pl.DataFrame)
            assert shares.columns == ["false", "true"]
            assert shares.sum_horizontal().to_list() == [1.0] * 8
            assert isinstance(leaves, pl.Series)
            assert leaves.dtype == pl.UInt32
        assert tree.predict_proba(frame[:0]).shape == (0, 2)

    def test_arrays_and_arrow(self):
        rows = np.array(X)[:, None]
        tree = stump(Dataset.from_arrays(rows, labels_of("string")))
        assert tree.predict_proba(rows).shape == (8, 2)
        assert isinstance(tree.predict_proba(rows), np.ndarray)
        assert tree.apply(rows.tolist()).dtype == np.uint32
        table = pa.table({"x0": X})
        assert tree.predict_proba(table).column_names == ["no", "yes"]
        assert tree.apply(table).to_pylist() == tree.apply(rows).tolist()


class TestLazyFrames:
    def test_only_the_columns_that_are_needed_are_computed(self):
        def fails(series):
            raise AssertionError("computed")

        frame = polars_frame("string")
        tree = stump(Dataset(frame, "y"))
        lazy = frame.lazy().with_columns(pl.col("x").map_batches(fails, return_dtype=pl.Float64).alias("^other.*$"))
        assert (tree.predict(lazy) == frame["y"]).mean() == HITS

    def test_a_dataset_of_one(self):
        frame = polars_frame("string")
        assert Dataset(frame.lazy(), "y").to_polars().equals(Dataset(frame, "y").to_polars())

    def test_names_that_polars_takes_for_patterns(self):
        frame = pl.DataFrame({"^a.*$": X, "ab": X[::-1], "y": labels_of("int")})
        tree = stump(Dataset(frame, "y", drop=["ab"]))
        assert (tree.predict(frame.lazy()) == frame["y"]).mean() == HITS

    def test_errors_are_typed(self):
        tree = stump(Dataset(polars_frame("int"), "y"))
        with pytest.raises(DataError, match='the table lacks "x"; its columns are "z"'):
            tree.predict(pl.LazyFrame({"z": [1]}))
        with pytest.raises(DataError, match="polars cannot handle"):
            tree.predict(pl.LazyFrame({"z": ["a"]}).select(pl.col("z").cast(pl.Float64).alias("x")))


class TestTimesAsClasses:
    @pytest.mark.parametrize("kind", ["date", "datetime"])
    def test_printed_kept_and_mapped(self, kind):
        frame = polars_frame(kind)
        data = Dataset(frame, "y")
        tree = GreedyTreeSearch().run(data).tree
        again = lattree.Tree.from_json(tree.to_json())
        assert again.predict(frame).equals(frame["y"])
        assert data.target.equals(frame["y"])
        assert (
            data.schema.classes
            == {
                "date": ["2023-12-31", "2024-01-02"],
                "datetime": ["2023-12-31 00:00:00", "2024-01-02 03:04:05.000678"],
            }[kind]
        )
        assert Dataset(frame, "y", like=tree).target.equals(frame["y"])

    def test_those_that_cannot_be_are_refused(self):
        zone = pl.Series([dt.datetime(2024, 1, 2), dt.datetime(2024, 1, 3)]).dt.replace_time_zone("Asia/Tokyo")
        for labels in (zone, pl.Series([dt.time(1), dt.time(2)]), pl.Series([dt.timedelta(1), dt.timedelta(2)])):
            with pytest.raises(DataError, match=r"expected text, .* dates or times without a zone: cast it to String"):
                Dataset({"x": [1, 2]}, labels)
