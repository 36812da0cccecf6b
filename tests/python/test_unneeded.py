"""A column that no one needs is never converted, whatever it holds."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pytest

from lattree import DataError, Dataset, GreedyTreeSearch, OptimalTreeSearch, read_ipc


class Silent:
    """What cannot be printed, compared, or made an array."""

    def __str__(self):
        raise RuntimeError("no text")

    __repr__ = __str__

    def __eq__(self, other):
        raise RuntimeError("no comparison")

    __hash__ = None

    def __array__(self, *_, **__):
        raise RuntimeError("no array")


def cyclic():
    values = [1]
    values.append(values)
    return values


PANDAS = {
    "period": pd.period_range("2026-01", periods=4, freq="M"),
    "interval": pd.interval_range(0, 4),
    "cut": pd.cut([1, 2, 3, 4], 2),
    "mixed": pd.Series(["a", 1, None, 2.5], dtype=object),
    "complex": pd.Series([1j, 2, 3, 4]),
    "cyclic": pd.Series([cyclic(), 1, None, cyclic()], dtype=object),
    "silent": pd.Series([Silent(), Silent(), None, 1], dtype=object),
    "nested": pd.Series([[1], [[2]], {"a": 1}, None], dtype=object),
    "struct": pd.Series([{"a": 1}] * 4, dtype=pd.ArrowDtype(pa.struct([("a", pa.int64())]))),
    "bytes": pd.Series([b"a", b"b", None, b"c"], dtype=object),
    "years": pd.Series(np.array(["0001", "9999", "2020", "NaT"], dtype="M8[s]")),
}
ARROW = {
    "runs": pc.run_end_encode(pa.array([1, 1, 2, 2])),
    "union": pa.UnionArray.from_sparse(pa.array([0] * 4, pa.int8()), [pa.array([1, 2, 3, 4])]),
    "interval": pa.array([None] * 4, pa.month_day_nano_interval()),
    "nested": pa.array([[{"a": [1]}]] * 4),
    "uuid": pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0" * 16] * 4, pa.binary(16))),
    "null_map": pa.array([None] * 4, pa.map_(pa.string(), pa.int64())),
}
X, Y = [1, 2, 3, 4], ["n", "n", "p", "p"]


@pytest.fixture
def tree():
    return OptimalTreeSearch(max_depth=1).run(Dataset({"x": X, "z": X, "y": Y}, "y").select(["x"])).tree


def unneeded_everywhere(table, name, tree):
    """Make, map and predict on a table with a column that is not needed."""
    made = Dataset(table, "y", drop=[name])
    assert made.schema.feature_names == ["x"]
    assert made.to_polars()["x"].to_list() == X
    assert Dataset(table, like=made).schema == made.schema
    assert Dataset(table, "y", like=made, drop=[name]).n_rows == 4
    assert list(np.asarray(tree.predict(table))) == Y
    assert tree.predict_proba(table).shape == (4, 2)
    assert list(np.asarray(tree.apply(table))) == [1, 1, 2, 2]
    leaf = GreedyTreeSearch(max_depth=0).run(made).tree
    assert len(leaf.predict(table)) == 4


@pytest.mark.parametrize("name", PANDAS)
def test_fault_c_pandas(name, tree):
    unneeded_everywhere(pd.DataFrame({"x": X, name: PANDAS[name], "y": Y}), name, tree)
    unneeded_everywhere(pd.DataFrame({name: PANDAS[name], "x": X, "y": Y}), name, tree)


@pytest.mark.parametrize("name", PANDAS)
def test_fault_c_mappings(name, tree):
    unneeded_everywhere({name: PANDAS[name], "x": X, "y": Y}, name, tree)
    unneeded_everywhere({name: list(PANDAS[name]), "x": X, "y": Y}, name, tree)
    ragged = {name: [Silent()], "x": X, "y": Y}
    assert tree.predict(ragged).to_list() == Y
    assert Dataset(ragged, np.array([0, 0, 1, 1]), drop=[name, "y"]).n_rows == 4


@pytest.mark.parametrize("name", ARROW)
def test_fault_c_arrow(name, tree):
    table = pa.table({"x": X, name: ARROW[name], "y": Y})
    unneeded_everywhere(table, name, tree)
    unneeded_everywhere(table.to_batches()[0], name, tree)
    assert list(np.asarray(tree.predict(pa.RecordBatchReader.from_batches(table.schema, table.to_batches())))) == Y

    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            return table.__arrow_c_stream__(requested_schema)

    unneeded_everywhere(Stream(), name, tree)


@pytest.mark.parametrize("values", [[[1], [1, 2], None, []], [{"a": 1}] * 4, [object()] * 4, [b"a"] * 4])
def test_fault_c_polars(values, tree):
    dtype = pl.Object if type(values[0]) is object else None
    frame = pl.DataFrame({"odd": pl.Series(values, dtype=dtype), "x": X, "y": Y})
    unneeded_everywhere(frame, "odd", tree)
    unneeded_everywhere(frame.to_dict(), "odd", tree)


def test_fault_c_columns_of_the_schema_that_the_tree_does_not_ask_for(tree):
    assert tree.schema.feature_names == ["x"]
    made = Dataset({"x": X, "z": X, "y": Y}, "y")
    asks = OptimalTreeSearch(max_depth=1).run(made).tree
    assert asks.features == ["x"]
    for column in PANDAS.values():
        assert asks.predict(pd.DataFrame({"x": X, "z": column})).to_list() == Y
        rows = [[x, cell] for x, cell in zip(X, column, strict=True)]
        array = np.empty((4, 2), dtype=object)
        for row, cells in enumerate(rows):
            array[row, 0], array[row, 1] = cells
        assert asks.predict(array).tolist() == Y
        assert asks.predict(rows).tolist() == Y


@pytest.mark.parametrize("name", PANDAS)
def test_columns_that_are_needed_are_refused_by_name(name):
    if name == "years":
        assert Dataset(pd.DataFrame({"x": PANDAS[name]})).schema.features[0].number == "datetime_us"
        return
    with pytest.raises(DataError, match='column "odd" '):
        Dataset(pd.DataFrame({"x": X, "odd": PANDAS[name]}))


@pytest.mark.parametrize("name", sorted(ARROW.keys() - {"runs", "uuid"}))
def test_arrow_columns_that_are_needed_are_refused_by_name(name):
    with pytest.raises(DataError, match='column "odd" '):
        Dataset(pa.table({"x": X, "odd": ARROW[name]}))


def test_fault_x12_runs_are_written_out(tmp_path, tree):
    runs = {
        "x": pc.run_end_encode(pa.array([1, 1, 2, None])),
        "s": pc.run_end_encode(pa.array(["a", "a", None, "b"])),
        "y": pc.run_end_encode(pa.array(Y)),
    }
    table = pa.table(runs)
    chunked = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    for one in (table, chunked, chunked.to_reader(), table.to_batches()[0]):
        frame = Dataset(one, "y").to_polars()
        assert frame.to_dict(as_series=False) == {"x": [1, 1, 2, None], "s": ["a", "a", None, "b"], "y": Y}
    assert Dataset({"x": X}, runs["y"]).target.to_list() == Y
    assert list(np.asarray(tree.predict(table))) == ["n"] * 2 + ["n", "n"]
    with pyarrow.ipc.new_file(tmp_path / "runs.arrow", table.schema) as writer:
        writer.write_table(table)
    assert read_ipc(tmp_path / "runs.arrow", "y").to_polars()["s"].to_list() == ["a", "a", None, "b"]
    assert tree.predict(read_ipc(tmp_path / "runs.arrow", like=tree)).to_list() == ["n"] * 4


def test_names_that_polars_takes_for_patterns():
    days = [dt.datetime(2020, 1, 1)] * 3
    for cells in (["x", "y", None], [1.5, None, 2], [True, False, None], days, pd.array([1, None, 2], dtype="Int64")):
        data = Dataset({"^b$": cells, "y": [0, 1, 1]}, "y")
        assert data.to_polars().columns == ["^b$", "y"]
        assert Dataset(data.to_polars(), like=data).n_rows == 3
        assert Dataset({"^b$": cells, "y": [0, 1, 1]}, "y", nominal=["^b$"]).schema.features[0].kind == "nominal"
    assert Dataset({"x": [1, 2], "^y$": ["p", "q"]}, "^y$").target.to_list() == ["p", "q"]
