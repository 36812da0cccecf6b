"""Anything with one value per row as a polars series.

pandas and pyarrow are never imported here: an object of theirs shows that they are loaded. pandas columns are converted
one by one through numpy, because `polars.from_pandas` needs pyarrow, loses the order of ordered categories and turns
categories that are numbers into plain numbers.
"""

import importlib
import math
import sys
from typing import Any

import numpy as np
import polars as pl

from lattree._core import DataError
from lattree._dtypes import quoted
from lattree._text import is_mark


def is_pandas(value: Any, cls: str) -> bool:
    """Say whether `value` is an instance of the pandas class named, without importing pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, getattr(pandas, cls, ()))


def is_sparse(values: Any) -> bool:
    """Say whether `values` is a sparse matrix or array of scipy, or one that works like it."""
    return hasattr(values, "toarray") and hasattr(values, "nnz")


def sparse_words(values: Any) -> str:
    """What a sparse matrix is, and what to pass in its place, for an error text."""
    shape = " x ".join(map(str, values.shape))
    size = math.prod(values.shape) * values.dtype.itemsize
    return f"a sparse {type(values).__name__} of {shape}; pass what its .toarray() returns, of {size:,} bytes"


def to_series(name: str, values: Any) -> pl.Series:
    """Return one value per row as a series named `name`; an n x 1 array or frame counts as one value per row.

    Lists within a column stay lists, which no column can have; see :func:`flat` for labels.

    Raises
    ------
    DataError
        `values` mixes kinds, is not one-dimensional, or holds objects that are no cells.
    """
    if is_pandas(values, "DataFrame") and values.shape[1] == 1:
        values = values.iloc[:, 0]
    if is_pandas(values, "Series"):
        return pandas_column(name, values)[0]
    if isinstance(values, pl.DataFrame) and values.width == 1:
        values = values.to_series()
    if isinstance(values, pl.Series):
        return values.alias(name)
    if isinstance(values, (list, tuple, range)):
        return _list_to_series(name, list(values))
    if isinstance(values, np.ndarray):
        return _array_to_series(name, values)
    if hasattr(values, "__arrow_c_array__") or hasattr(values, "__arrow_c_stream__"):
        return _series(name, without_runs(values))
    if is_sparse(values):
        raise DataError(f"{quoted(name)} is {sparse_words(values)}")
    if hasattr(values, "__array__"):
        return _array_to_series(name, np.asarray(values))
    raise DataError(f"{quoted(name)} is a {type(values).__name__}; expected a list, an array or a series")


def flat(series: pl.Series) -> pl.Series:
    """Return labels that are one-element lists as a series of their elements, which is how some tools hold labels."""
    if isinstance(series.dtype, (pl.List, pl.Array)):
        name, series = series.name, series.alias("")
        lengths = series.list.len() if isinstance(series.dtype, pl.List) else series.arr.len()
        return (series.explode() if (lengths == 1).all() else series).alias(name)
    return series


def pandas_column(name: str, column: Any) -> tuple[pl.Series, list[Any] | None]:
    """One pandas Series, and the categories of a categorical one whose categories are not text."""
    dtype = column.dtype
    if is_pandas(dtype, "CategoricalDtype"):
        return _pandas_categories(name, column)
    if isinstance(dtype, np.dtype):
        values = column.to_numpy()
        if dtype.kind == "O":
            values = np.where(column.isna().to_numpy(), None, values)
        return _array_to_series(name, values), None
    if is_pandas(dtype, "ArrowDtype") or is_pandas(dtype, "StringDtype"):
        if getattr(dtype, "storage", "pyarrow") == "pyarrow":
            return _series(name, pl.from_pandas(column)), None
        values = np.where(column.isna().to_numpy(), None, column.to_numpy(dtype=object))
        return _series(name, list(values), dtype=pl.String), None
    if is_pandas(dtype, "DatetimeTZDtype"):
        values = column.dt.tz_convert("UTC").dt.tz_localize(None)
        naive = pandas_column("", values)[0]
        utc = naive.to_physical().cast(pl.Datetime(getattr(naive.dtype, "time_unit", "us"), "UTC"))
        try:
            return utc.dt.convert_time_zone(str(dtype.tz)).alias(name), None
        except pl.exceptions.PolarsError:  # a fixed offset, which polars has no time zone for
            return utc.alias(name), None
    if is_pandas(dtype, "SparseDtype"):
        return pandas_column(name, column.sparse.to_dense())
    numpy_dtype = getattr(dtype, "numpy_dtype", None)  # Int64, Float32, boolean and their like
    if numpy_dtype is None:
        raise DataError(f"column {quoted(name)} has the pandas dtype {dtype}; convert it to numbers, text or dates")
    values = column.to_numpy(dtype=numpy_dtype, na_value=numpy_dtype.type(0))
    return _masked(_array_to_series(name, values), column.isna().to_numpy()), None


def _pandas_categories(name: str, column: Any) -> tuple[pl.Series, list[Any] | None]:
    categories = pandas_column(name, column.dtype.categories.to_series())[0].alias("")
    codes = column.cat.codes.to_numpy()
    values = categories.gather(_masked(pl.Series(codes.astype(np.int64)), codes < 0)).alias(name)
    if categories.dtype in (pl.String, pl.Null) or len(categories) == 0:
        text = categories.cast(pl.String)
        return values.cast(pl.String).cast(pl.Enum(text) if column.dtype.ordered else pl.Categorical()), None
    return values, categories.to_list()


def _list_to_series(name: str, values: list[Any]) -> pl.Series:
    for row, value in enumerate(values):
        # Lists of one label each are fine; polars would follow a list within itself for ever.
        if isinstance(value, (list, tuple)) and any(isinstance(inner, (list, tuple)) for inner in value):
            raise DataError(f"column {quoted(name)} holds lists of lists at row {row}; expected single values")
    try:
        return _series(name, values)
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        return _mixed_to_series(name, values)


def _mixed_to_series(name: str, values: list[Any]) -> pl.Series:
    """A list that polars refuses: whole numbers before fractions and NaN among text are fine, the rest is an error.

    So are numbers beside text that marks missing ones; that is all text then, as a file would have it.
    """
    cells = [None if isinstance(value, (float, np.floating)) and value != value else value for value in values]
    kinds = {type(value) for value in cells if value is not None}
    try:
        if kinds and all(issubclass(kind, (int, np.integer)) and kind is not bool for kind in kinds):
            return _series(name, cells, dtype=pl.Int128)
        if kinds and all(issubclass(kind, (int, float, np.number)) and kind is not bool for kind in kinds):
            return _series(name, cells, dtype=pl.Float64)
        if len(kinds) == 1:
            kind = next(iter(kinds))
            if kind in (np.datetime64, np.timedelta64):  # polars knows arrays of them
                return _series(name, np.array([kind("NaT") if value is None else value for value in cells]))
            return _series(name, cells)
        numbers = [kind for kind in kinds if issubclass(kind, (int, float, np.number)) and kind is not bool]
        words = [value for value in cells if isinstance(value, str)]
        if len(numbers) == len(kinds) - 1 and words and all(map(is_mark, words)):
            return _series(name, [None if value is None else str(value) for value in cells], dtype=pl.String)
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        for row, value in enumerate(cells):
            if isinstance(value, int) and not -(2**63) <= value < 2**63:
                raise DataError(
                    f"column {quoted(name)} is {value} at row {row}; integers must fit 64 bits with a sign"
                ) from None
    mix = " and ".join(sorted(kind.__name__ for kind in kinds))
    raise DataError(f"column {quoted(name)} mixes {mix}; expected values of one kind") from None


def _array_to_series(name: str, array: np.ndarray) -> pl.Series:
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise DataError(f"{quoted(name)} has the shape {array.shape}; expected one value per row")
    if isinstance(array, np.ma.MaskedArray):
        return _masked(_array_to_series(name, array.data), np.ma.getmaskarray(array))
    if array.dtype.kind == "O":
        return _list_to_series(name, array.tolist())
    if array.dtype.kind in "Mm" and np.datetime_data(array.dtype)[0] not in ("D", "ms", "us", "ns"):
        array = array.astype(f"{array.dtype.kind}8[us]")
    if array.dtype.kind == "m" and np.datetime_data(array.dtype)[0] == "D":
        array = array.astype("m8[us]")
    if array.dtype == np.longdouble:
        array = array.astype(np.float64)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return _series(name, array)


def _masked(series: pl.Series, mask: np.ndarray) -> pl.Series:
    """The series with null where `mask` is true."""
    if not mask.any():
        return series
    masked = pl.select(pl.when(pl.Series(~mask)).then(series.alias("")).alias("masked")).to_series()
    return masked.alias(series.name)


def _series(name: str, values: Any, dtype: Any = None) -> pl.Series:
    """A series, named last: polars takes some names for patterns, and none for a stream."""
    return pl.Series(values=values, dtype=dtype).alias(name)


def without_runs(values: Any) -> Any:
    """Runs of values, which polars does not know, written out by pyarrow."""
    while str(getattr(values, "type", "")).startswith("run_end_encoded"):
        values = importlib.import_module("pyarrow.compute").run_end_decode(values)
    return values
