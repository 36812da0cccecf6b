"""One column of a table as plain arrays and back: numbers, or codes of named levels.

Work on cells is done by polars and numpy; Python loops run over levels only. Levels are compared as text, so that a
level keeps its identity when a second table stores it as another dtype: whole floats read as the integers they are.

Here and in ``_target``, ``_frames`` and ``_describe`` only those operations of polars are used that need none of its
threads. Once they have run in a process, a fork of it would wait for them for ever: in `sort`, `unique` (unless it
maintains the order), `fill_null`, `fill_nan`, `is_in`, `replace_strict`, `dt.replace_time_zone`, `str.to_datetime`, ...
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from lattree._core import DataError, Feature
from lattree._dtypes import dtype_from_text, dtype_name, dtype_to_text, list_names, quoted, shown
from lattree._frames import to_series
from lattree._text import (
    base,
    canonical,
    cells_like,
    is_mark,
    level_text,
    numbers_beside_marks,
    without_marks,
)

MISSING = 2**32 - 1
"""The code of a missing level."""

ACCEPTED = "numbers, dates, times, text, categories or booleans"

_TEXT = ("String", "Categorical", "Enum", "Null")
"""Dtypes whose levels are text, which is equal only to itself."""

_TRUTH = {"true": True, "false": False, "1": True, "0": False}
"""Levels in lower case that are booleans."""
_PER_SECOND = {"ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_TIME = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d(\.\d{1,9})?)?", re.ASCII)  # as levels have them


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
    number = _number_kind(series)
    if not (nominal or ordinal) and number is not None:
        values, missing = _numbers(series, number)
        return Column(series.name, number, text, values, missing, [], [])
    if isinstance(dtype, pl.Enum) and not nominal:
        ordinal = True
        levels = dtype.categories.to_list() if levels is None else levels
    if not ordinal:
        codes, names, _ = _codes(series, None)
        return Column(series.name, "nominal", text, codes, None, names, [])
    codes, names, unseen = _codes(series, None if levels is None else level_names(series.name, levels))
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
        codes, levels, unseen = _codes_like(series, feature)
        return Column(name, feature.kind, text, codes, None, levels, unseen)
    if trained in ("float", "integer") and base(feature.dtype) not in ("Duration", "Time"):
        if series.dtype == pl.Boolean:
            series = series.cast(pl.UInt8)
        elif _is_text(series.dtype):
            series = cells_like(without_marks(series.cast(pl.String).alias(name)), feature)
    number = _number_kind(series)
    if trained == "float" and base(feature.dtype) in ("Duration", "Time"):  # a tree of version 0.1
        if base(text) != base(feature.dtype):
            raise _wrong_dtype(series, base(feature.dtype))
        return Column(name, trained, text, to_floats(series), None, [], [])
    if trained in ("float", "integer"):
        if number not in ("float", "integer"):
            raise _wrong_dtype(series, "numbers")
        if trained == "integer" and number == "float":
            # Fractions stay as they are, and compare exactly with integer thresholds.
            values, missing = _whole(to_floats(series))
            number = "float" if values.dtype == np.float64 else "integer"
            return Column(name, number, text, values, missing, [], [])
        number = trained
    elif trained == "time" or trained.startswith("duration"):
        if base(text) != base(feature.dtype):
            raise _wrong_dtype(series, base(feature.dtype))
        if number != trained:
            series = _rescaled(series, trained.removeprefix("duration_"))
        number = trained
    elif number is None or not (number == "date" or number.startswith("datetime")):
        raise _wrong_dtype(series, "dates" if trained == "date" else "dates with time")
    else:
        series = _cast_time(series, trained, feature.dtype)
        number = trained
    values, missing = _numbers(series, number)
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


def _whole(values: npt.NDArray[np.float64]) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]:
    """Floats as integers, and which are missing, if all are whole and of 64 bits; else as they are."""
    missing = np.isnan(values)
    if not (missing | ((np.floor(values) == values) & (np.abs(values) < 2.0**63))).all():
        return values, None
    whole = np.where(missing, 0.0, values).astype(np.int64)
    return whole, missing if missing.any() else None


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
        return _from_text(text, dtype).gather(codes.set(codes == MISSING, None))
    series = pl.Series(column.values)
    unit: Any
    if column.kind == "float":
        series = series.set(series.is_nan(), None)
        per_second = None if dtype is None else _per_second(dtype)
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


def level_names(name: str, levels: Sequence[Any]) -> list[str]:
    """Return the text of levels that a caller gave for a column, and check that they are distinct.

    Raises
    ------
    DataError
        A level is missing, or listed twice.
    """
    given = to_series(name, list(levels))
    _check_levels(given)
    names: list[str | None] = level_text(given.alias("")).to_list()
    distinct: dict[str, None] = {}
    for index, level in enumerate(names):
        if level is None:
            raise DataError(f"the levels given for column {quoted(name)} include a missing one, at place {index}")
        if level in distinct:
            raise DataError(f"the levels given for column {quoted(name)} list {quoted(level)} twice")
        distinct[level] = None
    return list(distinct)


def to_int64(series: pl.Series, what: str) -> pl.Series:
    """Return integers, dates or times as Int64, or raise a DataError that names row and value of one that is wider."""
    series = series.alias("")
    physical = series if series.dtype.is_integer() else series.to_physical()
    narrow: pl.Series = physical.cast(pl.Int64, strict=False)
    if narrow.null_count() != physical.null_count():
        row = (narrow.is_null() & physical.is_not_null()).arg_true()[0]
        raise DataError(
            f"{what} is {physical[row]} at row {row}; integers must fit 64 bits with a sign: cast to Float64 or "
            "String, or name the column in `nominal` or `drop`"
        )
    return narrow


def to_floats(series: pl.Series) -> npt.NDArray[np.float64]:
    """Return numbers as float64 with NaN for null; lengths and times of day in seconds, as trees of version 0.1 do."""
    per_second = _per_second(series.dtype)
    if per_second is not None:
        series = series.alias("").to_physical() / per_second
    return np.ascontiguousarray(series.cast(pl.Float64).to_numpy())


def distinct_values(series: pl.Series) -> tuple[pl.Series, npt.NDArray[np.uint32]]:
    """Return the values that occur, ascending, and for each cell its place among them, MISSING where it is null.

    Text is in the order of code points, and so are categories, which are returned as text. By Python and numpy, since a
    forked process cannot use polars' `sort` and `replace_strict` (see the top of this file).
    Complexity: O(rows) hashing and O(values log values) sorting for text, O(rows) for booleans and for integers of a
    small range, else O(rows log rows).
    """
    series = series.alias("")
    dtype = series.dtype
    if isinstance(dtype, (pl.String, pl.Categorical, pl.Enum)):
        occurring = series.unique(maintain_order=True).drop_nulls().cast(pl.String)
        values = pl.Series(sorted(occurring.to_list()), dtype=pl.String)
        return values, _enum_codes(series.cast(pl.Enum(values)))
    # Calls are counted here: of polars' methods, those that go through its query engine take 30 microseconds each.
    physical = series if dtype.is_numeric() or dtype == pl.Boolean else series.to_physical()
    present = physical.drop_nulls() if physical.null_count() else physical
    wide = str(physical.dtype) in ("Int128", "UInt128")  # numpy has no such integers
    cells = np.array(present.to_list(), dtype=object) if wide else present.to_numpy()
    found, inverse = distinct_cells(cells)
    values = pl.Series(found.tolist(), dtype=physical.dtype).cast(dtype)
    if len(cells) == len(series):
        return values, inverse.astype(np.uint32)
    codes = np.full(len(series), MISSING, dtype=np.uint32)
    codes[series.is_not_null().to_numpy()] = inverse
    return values, codes


def _enum_codes(series: pl.Series) -> npt.NDArray[np.uint32]:
    """Return the places of the cells of an Enum among its categories, MISSING where they are null."""
    places = series.to_physical().cast(pl.UInt32)
    if places.null_count():
        places = places.set(places.is_null(), MISSING)
    return np.ascontiguousarray(places.to_numpy())


def distinct_cells(cells: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp]]:
    """Return the distinct values, ascending, and for each cell its place among them."""
    if cells.dtype.kind in "biu" and len(cells):
        low, high = int(cells.min()), int(cells.max())
        if high - low <= len(cells) and high < 2**63:
            offsets = cells.astype(np.int64) - low
            if high - low < 2:  # these are all there are
                return np.array([low, high][: high - low + 1], dtype=cells.dtype), offsets
            occurs = np.zeros(high - low + 1, dtype=np.bool_)
            occurs[offsets] = True
            places = offsets if occurs.all() else (np.cumsum(occurs) - 1)[offsets]
            return (np.flatnonzero(occurs) + low).astype(cells.dtype), places
    found, inverse = np.unique(cells, return_inverse=True)
    return found, inverse


def cast_or_keep(series: pl.Series, dtype: pl.DataType | None) -> pl.Series:
    """Return `series` as `dtype`, or as it is where that would lose a value."""
    if dtype is None or dtype == series.dtype:
        return series
    try:
        cast: pl.Series = series.cast(dtype, strict=False)
    except pl.exceptions.PolarsError:
        return series
    return cast if cast.null_count() == series.null_count() else series


def _per_second(dtype: pl.DataType) -> int | None:
    """How many units of a length of time or a time of day make a second; None for other dtypes."""
    if dtype == pl.Time:
        return _PER_SECOND["ns"]
    return _PER_SECOND[dtype.time_unit] if isinstance(dtype, pl.Duration) else None


def _wrong_dtype(series: pl.Series, expected: str) -> DataError:
    return DataError(f"column {quoted(series.name)} is {dtype_name(series.dtype)}; expected {expected}")


def _number_kind(series: pl.Series) -> str | None:
    """The kind of the numbers in a column, None for levels; a DataError for what is neither."""
    dtype = series.dtype
    if dtype.is_integer():
        return "integer"
    if dtype.is_float() or isinstance(dtype, (pl.Decimal, pl.Null)):
        return "float"
    if isinstance(dtype, pl.Date):
        return "date"
    if dtype == pl.Time:
        return "time"
    if isinstance(dtype, pl.Duration):
        return f"duration_{dtype.time_unit}"
    if isinstance(dtype, pl.Datetime):
        return f"datetime_{dtype.time_unit}"
    if isinstance(dtype, (pl.String, pl.Categorical, pl.Enum, pl.Boolean)):
        return None
    raise _wrong_dtype(series, f"{ACCEPTED}; drop or convert it")


def _numbers(series: pl.Series, kind: str) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]:
    if kind == "float":
        return to_floats(series), None
    whole = to_int64(series, f"column {quoted(series.name)}")
    if whole.null_count() == 0:
        return np.ascontiguousarray(whole.to_numpy()), None
    missing = whole.is_null()
    return np.ascontiguousarray(whole.set(missing, 0).to_numpy()), missing.to_numpy()


def _cast_time(series: pl.Series, kind: str, trained: str) -> pl.Series:
    """Dates or times in the unit of `kind`, where that loses nothing a threshold could see."""
    name, series = series.name, series.alias("")
    if kind == "date":
        dates: pl.Series = series.cast(pl.Date)
        if series.dtype != pl.Date and (dates.cast(series.dtype) != series).any():
            row = (dates.cast(series.dtype) != series).arg_true()[0]
            raise DataError(f"column {quoted(name)} is {series[row]} at row {row}; expected dates without time")
        return dates
    zone = dtype.time_zone if isinstance(dtype := dtype_from_text(trained), pl.Datetime) else None
    if isinstance(series.dtype, pl.Datetime) and (series.dtype.time_zone is None) != (zone is None):
        expected = "without time zone" if zone is None else "with a time zone"
        raise _wrong_dtype(series.alias(name), f"dates and times {expected}")
    return _rescaled(series, kind.removeprefix("datetime_"))


def _rescaled(series: pl.Series, unit: Any) -> pl.Series:
    """Dates, instants or durations in another unit, rounded down; the zone only says how an instant is printed.

    What is beyond the range of the unit stands at its end, where it compares with a threshold as it did before.
    """
    per_second = _PER_SECOND[unit]
    missing = series.is_null()
    values = series.to_physical().cast(pl.Int64).set(missing, 0).to_numpy()
    have = _PER_SECOND[series.dtype.time_unit] if isinstance(series.dtype, (pl.Datetime, pl.Duration)) else None
    if have is not None and have > per_second:
        scaled = values // (have // per_second)
    else:
        factor = 86_400 * per_second if have is None else per_second // have
        most = (2**63 - 1) // factor
        scaled = np.clip(values, -most, most) * factor
        scaled[values > most] = 2**63 - 1
        scaled[values < -most] = -(2**63)
    dtype = pl.Duration(unit) if isinstance(series.dtype, pl.Duration) else pl.Datetime(unit)
    rescaled: pl.Series = pl.Series(series.name, scaled).set(missing, None).cast(dtype)
    return rescaled


def _check_levels(series: pl.Series) -> None:
    """Raise a DataError if the dtype cannot have levels."""
    if _per_second(series.dtype) is not None or (_number_kind(series) is None and not _is_text(series.dtype)):
        raise _wrong_dtype(series, "text, numbers or dates where levels are needed; cast it to String")


def _is_text(dtype: pl.DataType) -> bool:
    return isinstance(dtype, (pl.String, pl.Categorical, pl.Enum, pl.Boolean))


def _from_text(text: pl.Series, dtype: pl.DataType | None) -> pl.Series:
    """Level names as values of the dtype they had; as text where that cannot be."""
    if isinstance(dtype, pl.Boolean):
        return text == "true" if set(text.to_list()) <= {"true", "false"} else text
    if isinstance(dtype, (pl.Date, pl.Datetime)):
        names = text.to_list()
        if not all(map(_TIME.fullmatch, names)):
            return text
        try:
            times = np.array(names, dtype=f"M8[{dtype.time_unit if isinstance(dtype, pl.Datetime) else 'D'}]")
        except ValueError:  # a 13th month
            return text
        parsed: pl.Series = pl.Series(text.name, times.astype(np.int64)).cast(dtype)
        return parsed if level_text(parsed).to_list() == names else text
    return cast_or_keep(text, dtype)


def _codes_like(series: pl.Series, feature: Feature) -> tuple[npt.NDArray[np.uint32], list[str], list[str]]:
    """Codes, levels and unseen levels of a column that is mapped onto a feature."""
    trained, given, levels = base(feature.dtype), series.dtype, feature.levels
    is_text = isinstance(given, (pl.String, pl.Categorical, pl.Enum))
    if trained == "Boolean" and not (is_text or given == pl.Boolean or given.is_numeric()):
        raise _wrong_dtype(series, "true or false")
    if trained == "Datetime" and given == pl.Date:
        series = series.cast(pl.Datetime("us"))
    elif trained == "Date" and isinstance(given, pl.Datetime):
        dates = series.cast(pl.Date)
        series = dates if (dates.cast(given) == series).all() else series

    def named(found: list[str]) -> list[str]:
        """Text that stands for a value that was trained, under the name of that; booleans under theirs."""
        if is_text and trained not in _TEXT:
            found = [own or level for level, own in zip(found, canonical(found, trained), strict=True)]
        return _same_truth(found, feature)

    codes, _, unseen = _codes(series, levels, named)
    if is_text and trained not in _TEXT and any(map(is_mark, unseen)):
        return _codes_like(without_marks(series.cast(pl.String)), feature)
    if trained == "Boolean":
        wrong = [len(levels) + at for at, level in enumerate(unseen) if level not in ("true", "false")]
        found = np.isin(codes, wrong)
        if found.any():
            row = int(np.argmax(found))
            raise DataError(
                f"column {quoted(feature.name)} is {shown(series[row])} at row {row}; expected true or false"
            )
    if unseen and trained in _TEXT and not is_text:
        text = dtype_to_text(given)
        alike = {own: level for level, own in zip(levels, canonical(levels, text), strict=True) if own is not None}
        for at, level in enumerate(unseen):
            if level in alike:
                row = int(np.argmax(codes == len(levels) + at))
                raise DataError(
                    f"column {quoted(feature.name)} is {dtype_name(given)}, with {level} at row {row}; the level is "
                    f"written {quoted(alike[level])} in the schema: pass the column as text, as it was written"
                )
    return codes, levels, unseen


def _same_truth(found: list[str], feature: Feature) -> list[str]:
    """Levels under the names that a feature has for the same booleans, if booleans are all that it has."""
    truths = {_TRUTH.get(level.lower()): level for level in feature.levels}
    if None in truths or len(truths) < len(feature.levels):
        return found
    if base(feature.dtype) == "Boolean":  # which of them occurred in training does not matter
        truths = {True: "true", False: "false"}
    return [truths.get(_TRUTH.get(level.lower()), level) for level in found]


def _codes(
    series: pl.Series, levels: list[str] | None, named: Callable[[list[str]], list[str]] = list
) -> tuple[npt.NDArray[np.uint32], list[str], list[str]]:
    """Codes, levels and unseen levels of a column.

    Without `levels`: the levels are those that occur, ascending: numbers, dates and booleans by value, text by code
    points. With them `named` has the last word on what those that occur are called. Complexity: that of
    :func:`distinct_values`; with `levels`, O(rows) hashing for text that has no others.
    """
    _check_levels(series)
    series = series.alias("")  # polars takes some names for patterns
    if isinstance(series.dtype, pl.Decimal):
        series = series.cast(pl.Float64)
    if series.dtype.is_float():
        series = series.set(series.is_nan(), None) + 0.0  # -0.0 is the level "0"
    if levels is not None and series.dtype == pl.String:
        known = series.cast(pl.Enum(levels), strict=False)
        if known.null_count() == series.null_count():  # none is unseen, so nothing need be counted or sorted
            return _enum_codes(known), levels, []
    values, codes = distinct_values(series)
    found: list[str] = level_text(values).to_list()
    if levels is None:
        return codes, found, []
    place = {level: index for index, level in enumerate(levels)}
    if any(level not in place for level in found):
        others = [level for level in found if level not in place]
        names = dict(zip(others, named(others), strict=True))
        found = [names.get(level, level) for level in found]
    unseen = list(dict.fromkeys(level for level in found if level not in place))
    place |= {level: len(levels) + index for index, level in enumerate(unseen)}
    places = np.array([place[level] for level in found] + [MISSING], dtype=np.uint32)
    return places[np.minimum(codes, len(found))], levels, unseen
