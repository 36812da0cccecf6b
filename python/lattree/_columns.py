"""One column of a table as plain arrays and back: numbers, or codes of named levels.

Here and in ``_levels``, ``_numbers``, ``_series``, ``_frames``, ``_target`` and ``_describe`` only those operations of
polars are used that need none of its threads. After these have run in a process, a fork of it would wait for them for
ever. Operations that do use them: `sort`, `unique` (unless it maintains the order), `fill_null`, `fill_nan`, `is_in`,
`replace_strict`, `dt.replace_time_zone`, `str.to_datetime`, ...
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from lattree._core import DataError, Feature
from lattree._dtypes import dtype_from_text, dtype_to_text, list_names, quoted, shown
from lattree._levels import MISSING, codes_like, codes_of, is_text, level_names, levels_from_text
from lattree._numbers import (
    cast_or_keep,
    cast_time,
    integers_if_whole,
    number_kind,
    per_second_of,
    rescaled,
    to_floats,
    to_numbers,
    wrong_dtype,
)
from lattree._text import base, cells_like, numbers_beside_marks, without_marks


@dataclass(frozen=True, slots=True)
class Column:
    """The cells of one column, ready to be copied by the compiled module."""

    name: str
    kind: str
    """The number of a feature (``float``, ``integer``, ``date``, ``time``, ``datetime_us``, ``duration_us``, ...), or
    ``ordinal``, ``nominal``."""
    dtype: str
    """The text from which :func:`decode_column` restores the polars dtype."""
    values: npt.NDArray[Any]
    """float64 (NaN is missing), int64, or uint32 codes; unseen level j has the code ``len(levels) + j``."""
    missing: npt.NDArray[np.bool_] | None
    """Only for int64 values with missing cells."""
    levels: list[str]
    unseen: list[str]
    """Levels that the schema does not know; empty without a schema."""


def encode_column(
    series: pl.Series, *, nominal: bool, ordinal: bool, levels: Sequence[Any] | None, marks: Sequence[str] | None = None
) -> Column:
    """Return a column under the kind that its dtype implies, or the one asked for.

    Parameters
    ----------
    series : polars.Series
        The cells; null and NaN are missing.
    nominal, ordinal : bool
        Ask for that kind; at most one of them.
    levels : sequence or None
        The levels of an ordinal column in order. None: the categories of an Enum, else the values in ascending order.
    marks : sequence of str or None
        What stood for missing cells where a reader of text has looked for that. None: look here.

    Raises
    ------
    DataError
        The dtype cannot be used, an integer does not fit 64 bits, or a value is not among `levels`.
    """
    if series.dtype == pl.String and marks is None and not (nominal or ordinal):
        found = numbers_beside_marks(series)
        if found is not None:
            series, marks = found[0].alias(series.name), found[1]
    dtype = series.dtype
    text = dtype_to_text(dtype, marks or ())
    number = number_kind(series)
    if not (nominal or ordinal) and number is not None:
        values, missing = to_numbers(series, number)
        return Column(series.name, number, text, values, missing, [], [])
    if isinstance(dtype, pl.Enum) and not nominal:
        ordinal = True
        levels = dtype.categories.to_list() if levels is None else levels
    if not ordinal:
        codes, names, _ = codes_of(series, None)
        return Column(series.name, "nominal", text, codes, None, names, [])
    codes, names, unseen = codes_of(series, None if levels is None else level_names(series.name, levels))
    if unseen:
        row = int(np.flatnonzero((codes >= len(names)) & (codes != MISSING))[0])
        raise DataError(
            f"column {quoted(series.name)} is {shown(series[row])} at row {row}, which is not among the levels "
            f"given for it: {list_names(names)}"
        )
    return Column(series.name, "ordinal", text, codes, None, names, [])


def encode_column_like(series: pl.Series, feature: Feature) -> Column:
    """Return a column as `feature` describes it: same kind of number, levels mapped by name.

    A level is matched as it is written. Where one side has text and the other numbers, dates or booleans, text that
    stands for the same value is the level if the values were trained (``0300`` is the integer 300), and an error if the
    text was (the integer 300 may have been ``0300`` or ``300.0``) unless it is written as the value is. Booleans are
    also the numbers 0 and 1, and text that is either, on both sides. Text is read where the feature has numbers.

    Raises
    ------
    DataError
        The column holds another kind of values: words instead of numbers, times of day instead of dates.
    """
    name, trained, text = feature.name, feature.number, dtype_to_text(series.dtype)
    if _is_empty(series):  # which says nothing about its dtype: a CSV reader calls it text
        return _empty_column(len(series), feature)
    if trained is None:
        codes, levels, unseen = codes_like(series, feature)
        return Column(name, feature.kind, text, codes, None, levels, unseen)
    if trained in ("float", "integer") and base(feature.dtype) not in ("Duration", "Time"):
        if series.dtype == pl.Boolean:
            series = series.cast(pl.UInt8)
        elif is_text(series.dtype):
            series = cells_like(without_marks(series.cast(pl.String).alias(name)), feature)
    number = number_kind(series)
    if trained == "float" and base(feature.dtype) in ("Duration", "Time"):  # a tree of version 0.1
        if base(text) != base(feature.dtype):
            raise wrong_dtype(series, base(feature.dtype))
        return Column(name, trained, text, to_floats(series), None, [], [])
    if trained in ("float", "integer"):
        if number not in ("float", "integer"):
            raise wrong_dtype(series, "numbers")
        if trained == "integer" and number == "float":
            # Fractions stay as they are, and compare exactly with integer thresholds.
            values, missing = integers_if_whole(to_floats(series))
            number = "float" if values.dtype == np.float64 else "integer"
            return Column(name, number, text, values, missing, [], [])
        number = trained
    elif trained == "time" or trained.startswith("duration"):
        if base(text) != base(feature.dtype):
            raise wrong_dtype(series, base(feature.dtype))
        if number != trained:
            series = rescaled(series, trained.removeprefix("duration_"))
        number = trained
    elif number is None or not (number == "date" or number.startswith("datetime")):
        raise wrong_dtype(series, "dates" if trained == "date" else "dates with time")
    else:
        series = cast_time(series, trained, feature.dtype)
        number = trained
    values, missing = to_numbers(series, number)
    return Column(name, number, text, values, missing, [], [])


def _is_empty(series: pl.Series) -> bool:
    """Whether every cell is missing."""
    if series.null_count() == len(series):
        return True
    if not series.dtype.is_float() or (series[0] is not None and series[0] == series[0]):
        return False
    return bool(series.alias("").is_nan().drop_nulls().all())


def _empty_column(n_rows: int, feature: Feature) -> Column:
    """A column of missing cells of the kind that a feature has, which searches ask for."""
    if feature.number is None:
        codes = np.full(n_rows, MISSING, dtype=np.uint32)
        return Column(feature.name, feature.kind, feature.dtype, codes, None, feature.levels, [])
    if feature.number == "float":
        return Column(feature.name, "float", feature.dtype, np.full(n_rows, np.nan), None, [], [])
    none = np.ones(n_rows, dtype=np.bool_)
    return Column(feature.name, feature.number, feature.dtype, np.zeros(n_rows, dtype=np.int64), none, [], [])


def decode_column(column: Column) -> pl.Series:
    """Return the cells with their dtype; a dtype that cannot hold them (fractions in an Int64) is left out."""
    return _decoded(column).alias(column.name)


def _decoded(column: Column) -> pl.Series:
    """The cells without a name, since polars takes some names for patterns."""
    dtype = dtype_from_text(column.dtype)
    if column.kind in ("ordinal", "nominal"):
        text = pl.Series(column.levels + column.unseen, dtype=pl.String)
        if isinstance(dtype, pl.Enum):
            dtype = pl.Enum(list(dict.fromkeys(dtype.categories.to_list() + text.to_list())))
        codes = pl.Series(column.values).cast(pl.UInt32)
        return levels_from_text(text, dtype).gather(codes.set(codes == MISSING, None))
    series = pl.Series(column.values)
    unit: Any
    if column.kind == "float":
        series = series.set(series.is_nan(), None)
        per_second = None if dtype is None else per_second_of(dtype)
        if per_second is not None:
            return cast_or_keep((series * per_second).round().cast(pl.Int64), dtype)
        return cast_or_keep(series, dtype) if dtype is not None and not dtype.is_integer() else series
    if column.missing is not None:
        series = series.set(pl.Series(column.missing), None)
    if column.kind == "date":
        series, dtype = series.cast(pl.Int32), pl.Date()
    elif column.kind == "time":
        dtype = pl.Time()
    elif column.kind.startswith("duration"):
        unit = column.kind.removeprefix("duration_")
        dtype = pl.Duration(unit)
    elif column.kind != "integer":
        unit = column.kind.removeprefix("datetime_")
        dtype = pl.Datetime(unit, dtype.time_zone if isinstance(dtype, pl.Datetime) else None)
    return cast_or_keep(series, dtype)
