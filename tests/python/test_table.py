"""Every kind of table, column and target comes in exactly, or is refused with its column, row and value.

Ids like B13 are the cases of the users' bug log.
"""

import datetime as dt
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from helpers import encode
from lattree import DataError, Dataset, ParameterError, _table
from lattree._dtypes import dtype_from_text, dtype_to_text

MISSING = 2**32 - 1
NAMED_CATEGORIES = pl.Categorical(pl.Categories("x"))


def column(values, **options):
    return encode({"x": values}, **options).columns[0]


EVERY_DTYPE = {
    "float64": pl.Series([1.5, None, -0.25]),
    "float32": pl.Series([0.1, None, 2.0], dtype=pl.Float32),
    "decimal": pl.Series([Decimal("1.50"), None, Decimal("2.00")]),
    "int8": pl.Series([-128, None, 127], dtype=pl.Int8),
    "uint64": pl.Series([0, None, 2**63 - 1], dtype=pl.UInt64),
    "int128": pl.Series([-(2**63), None, 2**63 - 1], dtype=pl.Int128),
    "date": pl.Series([dt.date(2020, 2, 29), None, dt.date(1907, 1, 1)]),
    "datetime_ms": pl.Series(
        [dt.datetime(2020, 1, 1, 1, 2, 3), None, dt.datetime(1960, 1, 1)], dtype=pl.Datetime("ms")
    ),
    "datetime_us": pl.Series([dt.datetime(2020, 1, 1, 1, 2, 3, 4), None, dt.datetime(1960, 1, 1)]),
    "datetime_ns": pl.Series([1, None, -1], dtype=pl.Int64).cast(pl.Datetime("ns")),
    "datetime_zone": pl.Series([dt.datetime(2020, 1, 1), None]).dt.replace_time_zone("Europe/Berlin"),
    "duration": pl.Series([dt.timedelta(days=-1, microseconds=1), None, dt.timedelta(0)]),
    "time": pl.Series([dt.time(1, 2, 3, 4), None, dt.time(0)]),
    "string": pl.Series(["b", None, "", "a,b", '3 "speed"', "\U0001f333"]),
    "boolean": pl.Series([True, None, False]),
    "categories": pl.Series(["y", None, "x"], dtype=NAMED_CATEGORIES),
    "categorical": pl.Series(["y", None, "x"], dtype=pl.Categorical),
    "enum": pl.Series(["y", None, "x"], dtype=pl.Enum(["z", "y", "x"])),
    "null": pl.Series([None, None]),
}


@pytest.mark.parametrize("name", EVERY_DTYPE)
def test_every_dtype_comes_back_as_it_was(name):
    frame = pl.DataFrame({"x": EVERY_DTYPE[name], "n": range(len(EVERY_DTYPE[name]))})
    encoded = encode(frame)
    assert _table.decode(encoded.columns, None, None, None).equals(frame, null_equal=True)
    assert _table.decode(encoded.columns, None, None, None).schema == frame.schema
    assert all(column.values.flags.c_contiguous for column in encoded.columns)


@pytest.mark.parametrize("name", sorted(EVERY_DTYPE.keys() - {"duration", "time", "decimal"}))
def test_every_dtype_can_be_nominal(name):
    frame = pl.DataFrame({"x": EVERY_DTYPE[name]})
    encoded = encode(frame, nominal=["x"])
    assert encoded.columns[0].kind == "nominal"
    assert _table.decode(encoded.columns, None, None, None).equals(frame, null_equal=True)


@pytest.mark.parametrize("dtype", [pl.Duration("us"), pl.Time()])
def test_times_of_day_are_no_levels(dtype):
    with pytest.raises(DataError, match=r'column "x" is .*expected text, numbers or dates'):
        column(pl.Series([None], dtype=dtype), nominal="x")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1.0], "float"),
        ([1], "integer"),
        ([dt.date(2020, 1, 1)], "date"),
        (pl.Series([dt.datetime(2020, 1, 1)], dtype=pl.Datetime("ns")), "datetime_ns"),
        ([dt.timedelta(1)], "duration_us"),
        ([dt.time(1)], "time"),
        (["a"], "nominal"),
        ([True], "nominal"),
        (pl.Series(["a"], dtype=pl.Categorical), "nominal"),
        (pl.Series(["a"], dtype=pl.Enum(["b", "a"])), "ordinal"),
        ([None], "float"),
    ],
)
def test_kind_follows_dtype(values, kind):
    assert column(values).kind == kind


def test_values_of_numbers():
    assert column([1.5, None, float("nan")]).values[0] == 1.5
    assert np.isnan(column([1.5, None, float("nan")]).values[1:]).all()
    whole = column([2**62 + 1, None])
    assert whole.values.dtype == np.int64
    assert whole.values[0] == 2**62 + 1
    assert whole.missing.tolist() == [False, True]
    assert column([1, 2]).missing is None
    assert column([dt.timedelta(seconds=1.5)]).values.tolist() == [1_500_000]
    assert column([dt.time(0, 0, 2)]).values.tolist() == [2_000_000_000]
    zoned = pl.Series([dt.datetime(1970, 1, 1, 1)]).dt.replace_time_zone("Europe/Berlin")
    assert column(zoned).values.tolist() == [0]


def test_codes_of_levels():
    text = column(["b", None, "", "b"])
    assert text.levels == ["", "b"]
    assert text.values.tolist() == [1, MISSING, 0, 1]
    assert text.values.dtype == np.uint32
    assert column([True, False, None]).levels == ["false", "true"]
    assert column([True]).levels == ["true"]
    numbers = column([10.0, 9.0, -0.0, 2.5, float("nan"), None], nominal=["x"])
    assert numbers.levels == ["0", "2.5", "9", "10"]
    assert numbers.values.tolist() == [3, 2, 0, 1, MISSING, MISSING]
    assert column(pl.Series(["x", "y"], dtype=pl.Enum(["y", "unused", "x"]))).levels == ["y", "unused", "x"]
    categories = pl.Series(["x", "y"], dtype=pl.Categorical).filter(pl.Series([True, False]))
    assert column(categories).levels == ["x"]


def test_ordinal_in_the_order_given():
    sized = column(["M", "L", None, "S"], ordinal={"x": ["S", "M", "L", "XL"]})
    assert sized.kind == "ordinal"
    assert sized.levels == ["S", "M", "L", "XL"]
    assert sized.values.tolist() == [1, 2, MISSING, 0]
    assert column([10, 9], ordinal=["x"]).levels == ["9", "10"]
    assert column([3, 1], ordinal={"x": [3, 2, 1]}).values.tolist() == [0, 2]
    enum = column(pl.Series(["a"], dtype=pl.Enum(["b", "a"])), ordinal="x")
    assert enum.levels == ["b", "a"]


def test_ordinal_errors_name_row_and_value():
    with pytest.raises(DataError, match=r'column "x" is "XS" at row 1, .*"S", "M"'):
        column(["S", "XS"], ordinal={"x": ["S", "M"]})
    with pytest.raises(DataError, match=r'list "S" twice'):
        column(["S"], ordinal={"x": ["S", "S"]})
    with pytest.raises(DataError, match="missing one, at place 1"):
        column(["S"], ordinal={"x": ["S", None]})
    with pytest.raises(ParameterError, match="`nominal` and `ordinal` both name"):
        column(["S"], ordinal=["x"], nominal=["x"])


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([[1], [1, 2]], "List"),
        ([{"a": 1}], "Struct"),
        ([b"a"], "Binary"),
        (pl.Series([object()], dtype=pl.Object), "Object"),
    ],
)
def test_cells_that_are_no_values(values, dtype):
    with pytest.raises(DataError, match=rf'column "x" is {dtype}.*; expected numbers, dates'):
        column(values)
    assert encode({"x": values, "n": range(len(values))}, drop=["x"]).columns[0].name == "n"


@pytest.mark.parametrize("values", [pl.Series([1, 2**63], dtype=pl.UInt64), pl.Series([1, 2**63], dtype=pl.Int128)])
def test_integers_beyond_64_bits(values):
    with pytest.raises(DataError, match=r'column "x" is 9223372036854775808 at row 1'):
        column(values)
    with pytest.raises(DataError, match="at row 1"):
        column([1, 2**200])


class TestTables:
    frame = pl.DataFrame({"i": [1, None, 3], "s": ["a", None, "b"], "f": [0.5, None, 1.5], "b": [True, None, False]})

    def same(self, table):
        encoded = encode(table)
        assert [c.name for c in encoded.columns] == self.frame.columns
        assert _table.decode(encoded.columns, None, None, None).equals(self.frame, null_equal=True)

    def test_polars(self):
        self.same(self.frame)
        self.same(self.frame.lazy())
        with pytest.raises(TypeError, match="single Series"):
            encode(self.frame["i"])

    def test_arrow(self):
        self.same(self.frame.to_arrow())

        class Stream:
            def __arrow_c_stream__(self, requested_schema=None, frame=self.frame):
                return frame.__arrow_c_stream__(requested_schema)

        self.same(Stream())
        with pytest.raises(DataError, match='two columns are named "a"'):
            encode(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]))

    def test_mapping(self):
        self.same(self.frame.to_dict(as_series=False))
        self.same(self.frame.to_dict())
        with pytest.raises(DataError, match=r'column "b" has 1 rows, column "a" has 2'):
            encode({"a": [1, 2], "b": [1]})
        with pytest.raises(DataError, match=r'"a" is a int; expected a list'):
            encode({"a": 1})
        with pytest.raises(DataError, match="mixes int and str"):
            encode({"a": [1, "x"]})
        assert encode({"a": [1, 2.5, None]}).columns[0].kind == "float"
        assert encode({"a": ["x", float("nan")]}).columns[0].values.tolist() == [0, MISSING]

    @pytest.mark.parametrize("table", [np.ones((2, 2)), [[1, 2]], np.float64(1)])
    def test_arrays_are_sent_to_from_arrays(self, table):
        with pytest.raises(TypeError, match=r"Dataset\.from_arrays"):
            encode(table)

    @pytest.mark.parametrize("table", [None, 1, "iris.csv", object()])
    def test_no_tables(self, table):
        with pytest.raises(TypeError, match="pass a polars or pandas DataFrame"):
            encode(table)

    def test_duplicate_names(self):  # B27
        with pytest.raises(DataError, match='two columns are named "1"'):
            encode({1: [1], "1": [2]})
        with pytest.raises(DataError, match='two columns are named "a"'):
            encode(pd.DataFrame([[1, 2]], columns=["a", "a"]))

    @pytest.mark.parametrize(
        "name", ['a"b', "c<d", "e&f", "g\\h", "two\nlines", "", "\U0001f333", 7, ("a", 1), np.int64(3)]
    )
    def test_b27_any_name_is_kept_as_text(self, name):
        assert encode({name: [1]}).columns[0].name == str(name)
        assert encode(pd.DataFrame({name: [1]}) if not isinstance(name, tuple) else {name: [1]}).columns[0].name == str(
            name
        )


class TestPandas:
    def test_dtypes(self):
        frame = pd.DataFrame(
            {
                "object": pd.Series(["x", None, "y"], dtype=object),
                "nan": pd.Series(["x", np.nan, "y"], dtype=object),
                "str": pd.Series(["x", None, "y"], dtype="str"),
                "python": pd.Series(["x", None, "y"], dtype=pd.StringDtype("python")),
                "arrow": pd.Series(["x", None, "y"], dtype=pd.ArrowDtype(pa.string())),
                "flag": pd.Series([True, None, False], dtype=object),
                "boolean": pd.Series([True, None, False], dtype="boolean"),
                "bool": [True, True, False],
                "Int64": pd.Series([2**62 + 1, None, 1], dtype="Int64"),
                "UInt8": pd.Series([1, None, 255], dtype="UInt8"),
                "Float32": pd.Series([0.5, None, 1], dtype="Float32"),
                "int": [1, 2, 3],
                "float": [1.5, np.nan, 2],
                "sparse": pd.arrays.SparseArray([0, 0, 1]),
                "naive": pd.to_datetime(["2020-01-01", None, "2021-01-01"]),
                "zone": pd.to_datetime(["2020-01-01", None, "2021-01-01"]).tz_localize("Europe/Berlin"),
                "offset": pd.to_datetime(["2020-01-01T00:00+01:00", None, "2021-01-01T00:00+01:00"]),
                "delta": pd.to_timedelta(["1s", None, "2s"]),
                "dates": pd.Series([dt.date(2020, 1, 1), None, dt.date(2021, 1, 1)], dtype=object),
            }
        )
        frame.index = [5, 5, 9]
        encoded = encode(frame)
        kinds = {c.name: c.kind for c in encoded.columns}
        for name in ("object", "nan", "str", "python", "arrow"):
            assert kinds[name] == "nominal"
            found = next(c for c in encoded.columns if c.name == name)
            assert found.levels == ["x", "y"]
            assert found.values.tolist() == [0, MISSING, 1]
        assert [kinds[name] for name in ("flag", "boolean", "bool")] == ["nominal"] * 3
        assert [kinds[name] for name in ("Int64", "UInt8", "int", "sparse")] == ["integer"] * 4
        assert [kinds[name] for name in ("Float32", "float")] == ["float"] * 2
        assert kinds["delta"].startswith("duration_")
        assert all(kinds[name].startswith("datetime_") for name in ("naive", "zone", "offset"))
        assert kinds["dates"] == "date"
        back = _table.decode(encoded.columns, None, None, None)
        assert back["Int64"].to_list() == [2**62 + 1, None, 1]
        assert back["zone"].dtype.time_zone == "Europe/Berlin"
        expected = dt.datetime(2019, 12, 31, 23, tzinfo=dt.timezone.utc)
        assert back["zone"][0] == expected
        assert back["offset"][0] == expected
        assert back["delta"].null_count() == 1

    def test_categories(self):
        frame = pd.DataFrame(
            {
                "text": pd.Categorical(["b", None, "a"], categories=["unused", "b", "a"]),
                "ordered": pd.Categorical(["b", None, "a"], categories=["c", "b", "a"], ordered=True),
                "numbers": pd.Categorical([10, None, 9], categories=[10, 9, 1]),
                "grades": pd.Categorical([10, None, 9], categories=[10, 9, 1], ordered=True),
                "nothing": pd.Categorical([None, None, None]),
            }
        )
        text, ordered, numbers, grades, nothing = encode(frame).columns
        assert (text.kind, text.levels) == ("nominal", ["a", "b"])
        assert (ordered.kind, ordered.levels) == ("ordinal", ["c", "b", "a"])
        assert (numbers.kind, numbers.levels) == ("nominal", ["9", "10"])
        assert (grades.kind, grades.levels) == ("ordinal", ["10", "9", "1"])
        assert (nothing.kind, nothing.levels) == ("nominal", [])
        assert encode(frame, nominal=["grades"]).columns[3].kind == "nominal"
        assert encode(frame, ordinal={"numbers": [1, 9, 10]}).columns[2].levels == ["1", "9", "10"]

    def test_refused(self):
        with pytest.raises(DataError, match=r'column "x" has the pandas dtype period'):
            encode(pd.DataFrame({"x": pd.period_range("2020-01", periods=2, freq="M")}))
        with pytest.raises(DataError, match=r'column "x" mixes int and str'):
            encode(pd.DataFrame({"x": pd.Series(["a", 1], dtype=object)}))
        with pytest.raises(DataError, match='column "x" is Object'):
            encode(pd.DataFrame({"x": [1j]}))

    def test_without_pyarrow(self):
        """pandas decides at import how it stores text, so this needs a process of its own."""
        code = """if True:
            import sys
            sys.modules["pyarrow"] = None
            import pandas as pd
            from lattree import Dataset
            frame = pd.DataFrame({"i": [1, 2], "s": ["x", None], "o": pd.Series(["x", None], dtype=object),
                                  "c": pd.Categorical(["b", "a"]), "n": pd.array([1, None], dtype="Int64")})
            schema = Dataset(frame, ["p", "q"]).schema
            print([feature.kind for feature in schema.features], schema.features[3].levels)
        """
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
        assert run.stderr == ""
        assert run.stdout == "['continuous', 'nominal', 'nominal', 'nominal', 'continuous'] ['a', 'b']\n"


@pytest.mark.parametrize("argument", ["nominal", "ordinal", "drop"])
def test_unknown_names(argument):
    with pytest.raises(DataError, match=rf'`{argument}` names "z", which is no column; the columns are "x", "y"'):
        encode({"x": [1], "y": [2]}, **{argument: ["z"]})


class TestFromArrays:
    def encode(self, X, y=None, names=None, **options):
        """What the dataset holds, as pickle sees it."""
        return Dataset.from_arrays(X, y, names, **options).__reduce__()[1][0]

    def test_names(self):
        assert [c.name for c in self.encode(np.ones((2, 3))).columns] == ["x0", "x1", "x2"]
        assert [c.name for c in self.encode([[1, 2]], names=["a", 7]).columns] == ["a", "7"]
        with pytest.raises(DataError, match="1 feature names, but X has 2 columns"):
            self.encode([[1, 2]], names=["a"])
        with pytest.raises(DataError, match="two columns are named"):
            self.encode([[1, 2]], names=["a", "a"])

    def test_b13_b25_any_layout_and_dtype(self):
        values = np.arange(12.0).reshape(4, 3)
        frozen = values.copy()
        frozen.setflags(write=False)
        wide = np.zeros((8, 6))
        wide[::2, ::2] = values
        for X in (values, frozen, np.asfortranarray(values), wide[::2, ::2], values.astype(">f8"), values.tolist()):
            columns = self.encode(X).columns
            assert [c.values.tolist() for c in columns] == values.T.tolist()
        assert self.encode(np.array([[-1], [1]])).columns[0].values.tolist() == [-1, 1]
        assert self.encode(np.array([[0], [2**40]])).columns[0].values.tolist() == [0, 2**40]
        assert self.encode(np.array([[True], [False]])).columns[0].levels == ["false", "true"]
        assert self.encode(np.array([["a"], ["b"]])).columns[0].kind == "nominal"
        assert [c.kind for c in self.encode([[1, "a"], [2.5, "b"]]).columns] == ["float", "nominal"]
        assert [c.kind for c in self.encode(np.array([[1, "a"]], dtype=object)).columns] == ["integer", "nominal"]
        masked = np.ma.array([[1.0], [2.0]], mask=[[True], [False]])
        assert np.isnan(self.encode(masked).columns[0].values).tolist() == [True, False]
        seconds = np.array([["2020-01-01T00:00:01"]], dtype="M8[s]")
        assert self.encode(seconds).columns[0].kind == "datetime_us"

    def test_b25_empty(self):
        assert self.encode(np.empty((5, 0)), [0, 1, 0, 1, 1]).n_rows == 5
        assert self.encode(np.empty((0, 3)), []).n_rows == 0
        assert encode({}, [1, 2]).n_rows == 2
        assert encode(pd.DataFrame(index=range(3))).n_rows == 3
        assert len(self.encode(np.ones((5, 300))).columns) == 300

    def test_refused(self):
        with pytest.raises(DataError, match=r"shape \(3,\); expected two dimensions"):
            self.encode(np.ones(3))
        with pytest.raises(DataError, match="row 1 of X has 1 values, row 0 has 2"):
            self.encode([[1, 2], [1]])
        with pytest.raises(DataError, match="row 0 is a int"):
            self.encode([1, 2])
        with pytest.raises(TypeError, match=r"use Dataset\(table, target\)"):
            self.encode(pl.DataFrame({"a": [1]}))


@pytest.mark.parametrize(
    "text",
    ["", "Int64[", "Int64[1]", "Enum[1]", "Datetime[]", "Datetime[1, 2]", "__name__", "Decimal[999, 1]", "Enum{}"],
)
def test_any_text_is_a_dtype_text(text):
    """The text may come from a file that someone else made."""
    dtype_from_text(text)
    assert _table.label_series("y", text, ["a", "b"], np.array([1, 0], dtype=np.uint32)).to_list() == ["b", "a"]


def test_dtype_text_is_readable():
    assert dtype_to_text(pl.Int64()) == "Int64"
    assert dtype_to_text(pl.Datetime("us", "UTC")) == 'Datetime["us", "UTC"]'
    assert dtype_to_text(pl.Categorical()) == "Categorical"


def test_predicted_numbers_are_floats():
    assert _table.number_series("y", "Int64", np.array([0.5])).dtype == pl.Float64
    assert _table.number_series("y", "Float32", np.array([0.5])).dtype == pl.Float32


def test_dataset_round_trip_and_repr():
    table = pl.DataFrame({**{name: series.head(2) for name, series in EVERY_DTYPE.items()}, "y": ["p", "q"]})
    data = Dataset(table, "y", counts=[1, 2], weight=[0.5, 1])
    back = data.to_polars()
    assert back.drop("counts", "weight").equals(table, null_equal=True)
    assert back["counts"].to_list() == [1, 2]
    again = Dataset(back, "y", counts="counts", weight="weight")
    assert again.schema == data.schema
    text = repr(data)
    assert text.startswith("Dataset: 2 rows, 19 features\n")
    assert 'enum           ordinal            1  3 levels: "z", "y", "x"' in text
    assert 'target "y": 2 classes: p (1), q (1)' in text
    assert "counts: total 3" in text
    assert "weight: total 1.5" in text


def test_repr_of_odd_tables():
    assert repr(Dataset({})) == "Dataset: 0 rows, 0 features"
    assert "no rows" in repr(Dataset({"a": pl.Series([], dtype=pl.Int64)}, []))
    assert "numbers from 0.5 to 2" in repr(Dataset({"a": [1, 2]}, [0.5, 2]))
    wide = Dataset({f"c{i}": [i] for i in range(30)}, [1])
    assert "... and 10 more" in repr(wide)
    assert "two\\nlines" in repr(Dataset({"two\nlines": [1]}))


def test_a_million_rows():
    """1,000,000 rows x 20 mixed columns: 0.45 s for the Python half on two cores; the limit leaves room for CI."""
    n = 1_000_000
    rng = np.random.default_rng(0)
    levels = pl.Series([f"level {i}" for i in range(30)])
    table = pl.DataFrame(
        {
            **{f"f{i}": rng.normal(size=n) for i in range(8)},
            **{f"i{i}": rng.integers(0, 100, n) for i in range(5)},
            **{f"s{i}": levels.gather(rng.integers(0, 30, n)) for i in range(5)},
            "b": rng.random(n) > 0.5,
            "e": levels.gather(rng.integers(0, 30, n)).cast(pl.Enum(levels)),
            "y": rng.integers(0, 3, n),
        }
    )
    data = Dataset(table, "y")
    assert data.n_rows == n


@pytest.mark.parametrize("levels", [{"S", "M", "L"}, "SML", 3])
def test_levels_without_an_order_are_refused(levels):
    with pytest.raises(TypeError, match='`ordinal` must list the levels of "s" in their order'):
        Dataset({"s": ["S", "M", "L"]}, ordinal={"s": levels})


def test_a_column_with_names_of_two_levels_can_be_the_target():
    frame = pd.DataFrame({("a", "b"): [1, 2], ("a", "c"): ["u", "v"]})
    data = Dataset(frame, ("a", "c"))
    assert (data.schema.feature_names, data.schema.target) == (["('a', 'b')"], "('a', 'c')")


def test_lists_of_instants_of_numpy():
    days = [np.datetime64("2020-01-01"), np.datetime64("NaT"), None, np.datetime64("2021-01-01")]
    assert Dataset({"day": days}).to_polars()["day"].to_list() == pl.Series(np.array(days, "M8[D]")).to_list()
