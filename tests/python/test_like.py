"""A second table is mapped onto a schema by column name and level name, exactly or with an error."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest

from helpers import UNSEEN, encode
from lattree import DataError, Dataset, OptimalTreeSearch, ParameterError, _table

MISSING = 2**32 - 1
NAMED_CATEGORIES = pl.Categorical(pl.Categories("x"))


class TestLike:
    table = pl.DataFrame(
        {
            "n": ["a", "b", "c"],
            "f": [0.5, 1.0, 2.0],
            "i": [1, 2, 3],
            "t": [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2), dt.datetime(2020, 1, 3)],
            "d": [dt.date(2020, 1, 1), dt.date(2020, 1, 2), dt.date(2020, 1, 3)],
            "b": [True, False, True],
            "y": ["p", "q", "p"],
        }
    )

    @pytest.fixture
    def schema(self):
        return Dataset(self.table, "y").schema

    def encoded(self, schema, **changes):
        frame = self.table.with_columns(**changes)
        return {c.name: c for c in encode(frame, schema=schema).columns}

    def test_by_name_whatever_the_order(self, schema):
        shuffled = self.table.select("extra" if name == "extra" else name for name in reversed(self.table.columns))
        encoded = encode(shuffled.with_columns(extra=1), schema=schema)
        assert [c.name for c in encoded.columns] == ["n", "f", "i", "t", "d", "b"]
        assert encoded.target.values.tolist() == [0, 1, 0]
        assert encode(self.table.drop("y"), schema=schema).target is None
        with pytest.raises(DataError, match=r'the table lacks "f", "n"|the table lacks "n", "f"'):
            encode(self.table.drop("f", "n"), schema=schema)

    @UNSEEN
    @pytest.mark.parametrize(
        "levels",
        [
            pl.Series(["d", None, "", "c"]),
            pl.Series(["d", None, "", "c"], dtype=pl.Categorical),
            pl.Series(["d", None, "", "c"], dtype=NAMED_CATEGORIES),
            pl.Series(["d", None, "", "c"], dtype=pl.Enum(["d", "", "c", "b"])),
            pd.Series(pd.Categorical(["d", None, "", "c"], categories=["d", "c", "b", "a", ""])),
        ],
    )
    def test_b29_levels_by_name_not_code(self, levels):
        schema = Dataset({"n": ["a", "b", "c"], "y": [0, 1, 1]}, "y").schema
        column = _table.encode_for_prediction({"n": levels}, schema, ["n"], "majority").columns[0]
        assert column.levels == ["a", "b", "c"]
        assert column.unseen == ["", "d"]
        assert column.values.tolist() == [4, MISSING, 3, 2]
        assert _table.decode([column], None, None, None)["n"].to_list() == ["d", None, "", "c"]

    def test_numbers(self, schema):
        assert self.encoded(schema, f=pl.Series([1, 2, 3]))["f"].kind == "float"
        fractions = self.encoded(schema, i=pl.Series([0.5, 2, None]))["i"]
        assert fractions.kind == "float"
        assert fractions.values[0] == 0.5
        assert self.encoded(schema, i=pl.lit(None))["i"].missing.all()
        whole = self.encoded(schema, i=pl.Series([3.0, None, -0.0]))["i"]
        assert (whole.kind, whole.values.tolist(), whole.missing.tolist()) == (
            "integer",
            [3, 0, 0],
            [False, True, False],
        )
        assert np.isnan(self.encoded(schema, f=pl.lit(None, dtype=pl.String))["f"].values).all()
        assert (self.encoded(schema, n=pl.lit(None))["n"].values == MISSING).all()
        for given in (pl.lit("1"), pl.lit(True), pl.lit("+1.0", dtype=pl.Categorical)):
            assert (self.encoded(schema, f=given)["f"].values == 1.0).all()
            assert (self.encoded(schema, i=given)["i"].values == 1).all()
        for wrong in (pl.lit(dt.date(2020, 1, 1)), pl.lit(dt.timedelta(1))):
            with pytest.raises(DataError, match=r'column "f" is .*; expected numbers'):
                self.encoded(schema, f=wrong)
        with pytest.raises(DataError, match='column "f" is "one" at row 0; expected a number'):
            self.encoded(schema, f=pl.lit("one"))
        with pytest.raises(DataError, match='column "b" is 2 at row 0; expected true or false'):
            self.encoded(schema, b=pl.lit(2, dtype=pl.Int32))

    def test_times(self, schema):
        expected = encode(self.table).columns[3].values.tolist()
        for unit in ("ms", "ns"):
            column = self.encoded(schema, t=pl.col("t").cast(pl.Datetime(unit)))["t"]
            assert column.kind == "datetime_us"
            assert column.values.tolist() == expected
        assert self.encoded(schema, t=pl.col("t").cast(pl.Date))["t"].values.tolist() == expected
        assert self.encoded(schema, d=pl.col("d").cast(pl.Datetime("ms")))["d"].kind == "date"
        with pytest.raises(DataError, match=r'column "d" is 2020-01-01 01:00:00 at row 0; expected dates without time'):
            self.encoded(schema, d=pl.lit(dt.datetime(2020, 1, 1, 1)))
        with pytest.raises(DataError, match="expected dates and times without time zone"):
            self.encoded(schema, t=pl.col("t").dt.replace_time_zone("UTC"))
        zoned = self.table.select(t=pl.col("t").dt.replace_time_zone("UTC"), y="y")
        other = zoned.with_columns(pl.col("t").dt.convert_time_zone("Asia/Tokyo"))
        zoned_schema = Dataset(zoned, "y").schema
        assert encode(other, schema=zoned_schema).columns[0].values.tolist() == expected

    def test_labels(self, schema):
        assert encode(self.table, ["q", "p", "q"], schema=schema).target.values.tolist() == [1, 0, 1]
        with pytest.raises(DataError, match=r'the target "y" is "r" at row 1; the classes are "p", "q"'):
            encode(self.table, ["q", "r", "q"], schema=schema)
        with pytest.raises(DataError, match='the target "y" is Int64; expected String labels'):
            encode(self.table, [1, 2, 3], schema=schema)
        with pytest.raises(DataError, match='the target "y" is missing at row 0'):
            encode(self.table, [None, "p", "q"], schema=schema)
        integers = Dataset({"x": [1, 2]}, [3, 2**60 + 1]).schema
        assert encode({"x": [1]}, [3.0], schema=integers).target.labels == [3, 2**60 + 1]
        with pytest.raises(DataError, match="at row 0"):
            encode({"x": [1]}, [float(2**60)], schema=integers)
        numbers = Dataset({"x": [1, 2]}, [0.5, 2]).schema
        assert encode({"x": [1]}, [3], schema=numbers).target.values.tolist() == [3.0]

    def test_fixed_by_the_schema(self, schema):
        with pytest.raises(ParameterError, match='`nominal` names "i", which is continuous in `like`'):
            encode(self.table, nominal=["i"], schema=schema)
        with pytest.raises(ParameterError, match="`task` must be"):
            encode(self.table, task="numbers", schema=schema)

    def test_prediction_takes_arrays_by_position(self):
        schema = Dataset.from_arrays([[1, 2.5], [2, 3.5]], [0, 1]).schema
        encoded = _table.encode_for_prediction(np.array([[1, 2.5]]), schema, ["x0", "x1"], "majority")
        assert [c.values.tolist() for c in encoded.columns] == [[1.0], [2.5]]
        used = _table.encode_for_prediction([[1, 2.5]], schema, ["x1"], "majority")
        assert [c.name for c in used.columns] == ["x1"]
        with pytest.raises(DataError, match="2 feature names, but X has 3 columns"):
            _table.encode_for_prediction([[1, 2, 3]], schema, ["x0"], "majority")

    def test_prediction_needs_only_what_the_tree_asks(self, schema):
        table = {"f": [1, 2], "unrelated": ["", ""]}
        assert [c.name for c in _table.encode_for_prediction(table, schema, ["f"], "majority").columns] == ["f"]
        assert _table.encode_for_prediction(table, schema, [], "majority").n_rows == 2
        with pytest.raises(DataError, match='the table lacks "i"; its columns are "f", "unrelated"'):
            _table.encode_for_prediction(table, schema, ["f", "i"], "majority")

    def test_whole_floats_are_the_levels_of_integers(self):
        schema = Dataset({"x": [1, 2]}, [0, 1], nominal=["x"]).schema
        assert _table.encode_for_prediction({"x": [2.0, None]}, schema, ["x"], "majority").columns[
            0
        ].values.tolist() == [
            1,
            MISSING,
        ]


class TestFarDates:
    """A sentinel such as 9999-12-31 does not fit nanoseconds; it still lies after every date that does."""

    @pytest.mark.parametrize("unit", ["ms", "us", "ns"])
    def test_dates_beyond_the_unit_compare_as_they_should(self, unit):
        days = [dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1)]
        frame = pl.DataFrame({"a": pl.Series(days).cast(pl.Datetime(unit)), "y": [0, 1]})
        tree = OptimalTreeSearch(max_depth=1).run(Dataset(frame, "y")).tree
        for given in (
            [dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31), None],
            pl.Series([dt.date(1, 1, 1), dt.date(9999, 12, 31), None]),
        ):
            assert tree.predict({"a": given}).to_list() == [0, 1, 0]

    def test_what_polars_cannot_print_is_a_data_error(self):
        far = pl.DataFrame({"a": pl.Series([2**63 - 1, 0]).cast(pl.Datetime("ms")), "y": [0, 1]})
        with pytest.raises(DataError, match="polars cannot handle"):
            Dataset(far, "y", nominal=["a"])


def test_a_list_within_itself_is_no_table():
    rows: list = []
    rows.append(rows)
    with pytest.raises(DataError, match="holds lists of lists at row 0"):
        Dataset.from_arrays(rows, [0])
