"""Labels keep their values and dtypes; counts, weights and unusable labels are refused with their row."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from helpers import encode
from lattree import DataError, ParameterError, _table


class TestTarget:
    bits = pl.DataFrame({"x": [0, 1, 1, 0]})

    @pytest.mark.parametrize(
        ("labels", "expected"),
        [
            (["no", "yes", "yes", "no"], ["no", "yes"]),
            (["não", "ja✓", "ja✓", "não"], ["ja✓", "não"]),
            ([3, 10, 10, 3], [3, 10]),
            ([True, False, True, True], [False, True]),
            ([True] * 4, [True]),
            ([0.0, 1.0, 1.0, -0.0], [0.0, 1.0]),
            ([-(2**62), 2**40, 1_000_000, 0], [-(2**62), 0, 1_000_000, 2**40]),
            (np.array([3, 10, 10, 3], dtype=np.int8), [3, 10]),
            (np.array([[3], [10], [10], [3]]), [3, 10]),
            ([[3], [10], [10], [3]], [3, 10]),
            (pl.DataFrame({"a": [3, 10, 10, 3]}), [3, 10]),
            (pd.DataFrame({"a": [3, 10, 10, 3]}), [3, 10]),
            (pd.Series(["b", "a", "b", "a"], index=[9, 8, 7, 6]), ["a", "b"]),
            (pd.Series(pd.Categorical(["b", "a", "b", "a"], categories=["unused", "b", "a"])), ["a", "b"]),
            (pl.Series(["b", "a", "b", "a"], dtype=pl.Enum(["unused", "b", "a"])), ["a", "b"]),
            (pa.array(["b", "a", "b", "a"]), ["a", "b"]),
            (np.array(["b", "a", "b", "a"]), ["a", "b"]),
            (np.array(["b", "a", "b", "a"], dtype=object), ["a", "b"]),
            (pl.Series([Decimal(1), Decimal(2), Decimal(2), Decimal(2)]), [1.0, 2.0]),
        ],
    )
    def test_b11_b12_labels_keep_value_and_dtype(self, labels, expected):
        target = encode(self.bits, labels).target
        assert target.kind == "classes"
        assert target.labels == expected
        assert [type(label) for label in target.labels] == [type(label) for label in expected]
        assert target.values.dtype == np.uint32
        back = _table.label_series(target.name, target.dtype, target.labels, target.values)
        if isinstance(labels, pl.Series):
            assert back.equals(labels)
            assert back.dtype == labels.dtype
        flat = [cell[0] if isinstance(cell, (list, np.ndarray)) else cell for cell in getattr(labels, "values", labels)]
        if not isinstance(labels, (pl.DataFrame, pa.Array)):
            assert back.to_list() == list(flat)

    @pytest.mark.parametrize("dtype", ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4", "f8"])
    @pytest.mark.parametrize("labels", [[0, 1, 1, 0, 1], [100, 7, 7, 9, 100], [1] * 5, [3, 2, 1, 0, 5]])
    def test_arrays_are_read_as_series_are(self, labels, dtype):
        strided = np.repeat(np.array(labels).astype(dtype), 2)[::-2]
        table = {"x": [0, 1, 1, 0, 2]}
        for array in (strided, strided.copy(), strided[:, None]):
            target = encode(table, array).target
            expected = encode(table, pl.Series("target", strided.astype(strided.dtype.newbyteorder("=")))).target
            assert (target.name, target.kind, target.dtype) == (expected.name, expected.kind, expected.dtype)
            assert repr(target.labels) == repr(expected.labels)
            assert target.values.dtype == expected.values.dtype
            assert (target.values == expected.values).all()

    def test_arrays_beside_a_column_of_their_name(self):
        array = np.array([1, 0, 1, 1])
        assert encode({"target": [0, 1, 1, 0]}, array).target.name == "target_"
        with pytest.raises(DataError, match="is also a column of the table"):
            encode({"target": array}, array)
        assert encode(self.bits, array, task="numbers").target.kind == "numbers"
        with pytest.raises(ParameterError, match="`task` must be"):
            encode(self.bits, array, task="labels")
        with pytest.raises(DataError, match="the target has 3 rows, the table has 4"):
            encode(self.bits, array[:3])

    def test_by_name(self):
        encoded = encode({"a": [1], "y": ["p"], "w": [1.5], "n": [2]}, "y", counts="n", weight="w")
        assert [c.name for c in encoded.columns] == ["a"]
        assert encoded.target.name == "y"
        assert encoded.counts.tolist() == [2]
        assert encoded.weight.tolist() == [1.5]
        assert encode(pd.DataFrame([[1, 0]]), target=1).target.name == "1"
        with pytest.raises(DataError, match=r'`target` names "z", which is no column; the columns are "a"'):
            encode({"a": [1]}, "z")
        with pytest.raises(DataError, match='"a" cannot be both target and counts'):
            encode({"a": [1]}, "a", counts="a")

    def test_names_stay_distinct(self):
        assert encode(self.bits, [0, 1, 0, 1]).target.name == "target"
        assert encode({"target": [0, 1]}, [5, 6]).target.name == "target_"
        assert encode({"y": [0, 1]}, pl.Series("y", [5, 6])).target.name == "y_"
        assert encode(self.bits, pd.Series([0, 1, 0, 1], name="label")).target.name == "label"
        with pytest.raises(DataError, match="also a column of the table"):
            encode({"y": [0, 1]}, pl.Series("y", [0, 1]))

    def test_task(self):
        assert encode(self.bits, [0.5, 1, 2, 3]).target.kind == "numbers"
        assert encode(self.bits, [0, 1, 2, 3], task="numbers").target.values.tolist() == [0, 1, 2, 3]
        assert encode({"y": [1.5]}, "y", nominal=["y"], task="numbers").target.kind == "numbers"
        with pytest.raises(DataError, match=r"0\.5 at row 0, which is no class label"):
            encode(self.bits, [0.5, 1, 2, 3], task="classes")
        with pytest.raises(DataError, match='"target" is String; expected numbers'):
            encode(self.bits, list("abab"), task="numbers")
        with pytest.raises(ParameterError, match="`task` must be"):
            encode(self.bits, [0, 1, 0, 1], task="regression")

    @pytest.mark.parametrize(
        "missing", [["a", None, "b", "a"], [1, None, 2, 3], [1.5, float("nan"), 2.0, 1.0], [None] * 4]
    )
    def test_missing_label(self, missing):
        row = 0 if missing[0] is None else 1
        with pytest.raises(DataError, match=f'the target "target" is missing at row {row}'):
            encode(self.bits, missing)

    def test_refused(self):
        with pytest.raises(DataError, match=r"inf at row 2; numbers must be finite"):
            encode(self.bits, [0.5, 1, float("inf"), 2])
        with pytest.raises(DataError, match="cast it to String"):
            encode(self.bits, [dt.time(8)] * 4)
        with pytest.raises(DataError, match="the target has 3 rows, the table has 4"):
            encode(self.bits, [0, 1, 2])
        with pytest.raises(DataError, match=r"has the shape \(4, 2\)"):
            encode(self.bits, np.ones((4, 2)))
        with pytest.raises(DataError, match="9223372036854775808 at row 1"):
            encode(self.bits, pl.Series([0, 2**63, 0, 0], dtype=pl.UInt64))

    def test_counts_and_weight(self):
        encoded = encode(self.bits, counts=[0, 1.0, 2, 3], weight=np.array([0, 0.5, 1, 2], dtype=np.float32))
        assert encoded.counts.dtype == np.uint64
        assert encoded.counts.tolist() == [0, 1, 2, 3]
        assert encoded.weight.tolist() == [0, 0.5, 1, 2]
        for wrong in ([0, -1, 1, 1], [0, 1.5, 1, 1], [0, None, 1, 1], [0, float("nan"), 1, 1], [0, 1e300, 1, 1]):
            with pytest.raises(DataError, match="the count at row 1 is"):
                encode(self.bits, counts=wrong)
        for wrong in ([0, -1, 1, 1], [0, float("inf"), 1, 1], [0, None, 1, 1], [0, float("nan"), 1, 1]):
            with pytest.raises(DataError, match="the weight at row 1 is"):
                encode(self.bits, weight=wrong)
        with pytest.raises(DataError, match='the weight column "weight" is String'):
            encode(self.bits, weight=list("abcd"))
        with pytest.raises(DataError, match="counts has 1 rows, the table has 4"):
            encode(self.bits, counts=[1])
