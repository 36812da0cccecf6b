"""Cells of text as numbers, dates and times: where a CSV file is read, and where a level is told from another.

What is a number: what polars' casts of text take, which is what its CSV reader takes and besides a sign ``+``, ``inf``,
``infinity`` and ``nan`` in any case. No spaces, no thousands separators, no ``_``, no ``0x``. Where the decimal mark is
a comma, a point is none.

What is missing: where all other cells of a column are numbers, or of a file also dates, times or booleans, a cell that
programs write for a missing value. Among other text it is a level like any.
"""

import contextlib
import re
from typing import Any

import numpy as np
import polars as pl

from lattree._core import DataError, Feature, Schema
from lattree._dtypes import list_names, quoted

_LIKE_A_TIME = re.compile(r"\d+[-/.:]\d+", re.ASCII)
_ISO = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?)?", re.ASCII)
_WRITTEN_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_INTEGERS = ("Int8", "Int16", "Int32", "Int64", "Int128", "UInt8", "UInt16", "UInt32", "UInt64", "UInt128")
_NUMBERS = (*_INTEGERS, "Float16", "Float32", "Float64", "Decimal")
_TIMES_OF_DAY = ("%H:%M:%S", "%H:%M:%S%.f", "%H:%M")
_DATETIME_TEXT = "%Y-%m-%d %H:%M:%S%.f"  # as many decimals as needed, whatever the time unit
_TRUTHS = ("true", "false")
_BOOLEANS = {"true": "true", "false": "false", "1": "true", "0": "false", "1.0": "true", "0.0": "false"}
_WHOLE = 2.0**53  # every float below is exact as an integer
_MOST_SHAPES = 100
"""How many forms of a date one column may mix."""
_MARKS = ("", "?", "na", "n/a", "nan", "-nan", "null", "none", "<na>", "#n/a", "#na")
"""What programs write for a missing value, in lower case."""
_FIRST = 16
"""How many cells are looked at before a whole column."""


def base(dtype: str) -> str:
    """Return the name of a dtype without its parameters."""
    return dtype.partition("[")[0]


def is_mark(cell: str) -> bool:
    """Say whether a cell among numbers means that the value is missing."""
    return cell.lower() in _MARKS


def numbers_beside_marks(text: pl.Series) -> tuple[pl.Series, list[str]] | None:
    """Return text that is numbers but for marks of missing cells as these numbers, and the marks; None for other text.

    None also where there is no mark, or no number. For a column of words the cost does not grow with the rows. Usable
    in a forked process (see _columns.py).
    """
    text = text.alias("")
    first = next((cell for cell in text.drop_nulls().head(_FIRST).to_list() if not is_mark(cell)), None)
    if first is not None and parse_numbers(pl.Series([first])).null_count():
        return None
    odd = np.isnan(text.cast(pl.Float64, strict=False).to_numpy()) & text.is_not_null().to_numpy()
    n_odd = int(odd.sum())
    if n_odd in (0, len(text) - text.null_count()):
        return None
    marks = text.filter(pl.Series(odd)).unique(maintain_order=True).to_list()
    if not all(map(is_mark, marks)):
        return None
    rest = text.set(pl.Series(odd), None)
    return _exact(rest, parse_numbers(rest)), marks


def without_marks(text: pl.Series) -> pl.Series:
    """Return text with null for cells that mean missing where numbers, dates, times or booleans are due."""
    lower = text.alias("").str.to_lowercase()
    marked = lower == _MARKS[0]
    for mark in _MARKS[1:]:
        marked |= lower == mark
    return text.alias("").set(marked, None).alias(text.name) if marked.any() else text


def parse_numbers(text: pl.Series, decimal: str = ".") -> pl.Series:
    """Return text as Int64 if all its cells are such, else as Float64; null where a cell is no number."""
    if decimal != ".":  # a point may separate thousands
        name = text.name
        text = text.alias("").str.replace_all(".", "_", literal=True).str.replace_all(decimal, ".", literal=True)
        text = text.alias(name)
    whole: pl.Series = text.cast(pl.Int64, strict=False)
    if whole.null_count() == text.null_count():
        return whole
    floats: pl.Series = text.cast(pl.Float64, strict=False)
    return floats


def canonical(texts: list[str], dtype: str) -> list[str | None]:
    """Return for each text the name of the level that it is in a column of this dtype; None if it is none there.

    ``0300`` and ``3e2`` are the level ``300`` of integers, ``True`` and ``1`` are the level ``true``, a date with ``T``
    the one without. Text of a column of text is only itself.
    """
    name = base(dtype)
    if name == "Boolean":
        return [_BOOLEANS.get(text.lower()) for text in texts]
    if name in _NUMBERS:
        given = pl.Series(texts, dtype=pl.String)
        whole, floats = (given.cast(dtype, strict=False) for dtype in (pl.Int64, pl.Float64))
        levels = level_text(whole).zip_with(whole.is_not_null(), level_text(floats + 0.0))
        return [None if level == "NaN" else level for level in levels.to_list()]
    if name in ("Date", "Datetime"):
        return [_level_of_time(text, name) for text in texts]
    return [None] * len(texts)


def level_text(values: pl.Series) -> pl.Series:
    """Return the names of values as levels, one per value."""
    dtype = values.dtype
    if isinstance(dtype, pl.Datetime):
        return values.dt.convert_time_zone("UTC").dt.strftime(_DATETIME_TEXT)
    text: pl.Series = values.cast(pl.String)
    if dtype.is_float():
        # 1.0 is the level "1": the same column is integers in one table and floats, for a missing cell, in another.
        whole = (values.floor() == values) & (values.abs() < _WHOLE)
        integers = values.cast(pl.Int64, strict=False).cast(pl.String)
        text = integers.zip_with(whole, text)
    return text


def _level_of_time(text: str, name: str) -> str | None:
    if not _ISO.fullmatch(text):
        return None
    try:
        time = np.datetime64(text.replace(" ", "T"), "ns" if len(text) > 26 else "us")
    except ValueError:  # a 13th month
        return None
    day, _, clock = str(time).partition("T")
    clock, _, fraction = clock.partition(".")
    if name == "Date":
        return day if clock == "00:00:00" and not fraction.strip("0") else None
    fraction = fraction.rstrip("0")
    while fraction and len(fraction) % 3:
        fraction += "0"
    return f"{day} {clock}" + (f".{fraction}" if fraction else "")


def cells_like(column: pl.Series, feature: Feature, decimal: str = ".") -> pl.Series:
    """Return cells of text as the numbers, dates or times that a feature has; as they are where it has levels.

    Booleans are the numbers 1 and 0.

    Raises
    ------
    DataError
        A cell is no such: column, row and value are in the text.
    """
    if feature.number is None:
        return column
    name = base(feature.dtype)
    if name == "Time":
        return _strict(column, _times_of_day(column), "a time of day such as 08:30:00")
    if name == "Duration":
        return _strict(column, pl.Series([None] * len(column), dtype=pl.Float64), "a length of time, which no text is")
    first = column.drop_nulls().head(1)
    if feature.number in ("float", "integer") and len(first) and first[0].lower() in _TRUTHS:
        truths: pl.Series = _strict(column, parse_booleans(column), "true or false, as in the rows before").cast(
            pl.UInt8
        )
        return truths
    if feature.number == "float":
        numbers: pl.Series = _strict(column, parse_numbers(column, decimal), "a number").cast(pl.Float64)
        return numbers
    if feature.number == "integer":
        return _whole(column, decimal)
    unit: Any = feature.number.removeprefix("datetime_") if feature.number != "date" else "us"
    wanted = "a date such as 2020-01-31" + ("" if feature.number == "date" else ", with or without a time of day")
    return _strict(column, _dates(column, unit), wanted)


def labels_like(column: pl.Series, schema: Schema, decimal: str = ".") -> pl.Series:
    """Return a target of text as labels of the kind that a schema has, or as numbers; text where it has text.

    Raises
    ------
    DataError
        A cell is no such: row and value are in the text.
    """
    if schema.task == "numbers":
        return _strict(column, parse_numbers(column, decimal), "a number", what="the target")
    label = schema.classes[0] if schema.classes else ""
    if isinstance(label, str):
        return column
    expected = f"one of the classes {list_names(str(one) for one in schema.classes)}"
    parsed = parse_booleans(column) if isinstance(label, bool) else parse_numbers(column, decimal)
    return _strict(column, parsed, expected, what="the target")


def parse_booleans(text: pl.Series) -> pl.Series:
    """Return text as booleans; null where it is neither true nor false, in any case."""
    lower = text.str.to_lowercase()
    known = ((lower == "true") | (lower == "false")).to_list()
    values: pl.Series = lower == "true"
    return values.set(pl.Series([one is False for one in known], dtype=pl.Boolean), None)


def infer(column: pl.Series, decimal: str = ".") -> pl.Series:
    """Return a column of text as what all its cells are: numbers, dates, instants or times of day; else as it is."""
    if column.dtype != pl.String or column.null_count() == len(column):
        return column
    first = column.drop_nulls().head(1)
    if parse_numbers(first, decimal).null_count() == 0:
        numbers = parse_numbers(column, decimal)
        if numbers.null_count() == column.null_count():
            return _exact(column, numbers)
    if _LIKE_A_TIME.match(first[0]):
        times = _times_of_one_form(column, "us")
        return times if times is not None and times.null_count() == column.null_count() else column
    return column


def infer_all(column: pl.Series, decimal: str = ".") -> pl.Series:
    """Return a column of text as :func:`infer` does, and booleans: as a reader that knows nothing of its file."""
    first = column.drop_nulls().head(1)
    if len(first) and first[0].lower() in _TRUTHS:
        values = parse_booleans(column)
        return values if values.null_count() == column.null_count() else column
    return infer(column, decimal)


def infer_beside_marks(column: pl.Series, decimal: str = ".") -> tuple[pl.Series, list[str]]:
    """Return a column of text as what all its cells are but for marks of missing ones, and the marks.

    Text that is not such is returned as it is, and other dtypes are, with ``NaN`` as the mark of floats that are none.
    """
    if column.dtype.is_float():
        return column, ["NaN"] if column.alias("").is_nan().any() else []
    if column.dtype != pl.String:
        return column, []
    first = next((cell for cell in column.drop_nulls().head(_FIRST).to_list() if not is_mark(cell)), None)
    if (
        first is not None
        and infer_all(pl.Series([first]), decimal).dtype == pl.String
        and not _LIKE_A_TIME.match(first)
    ):
        return column, []
    rest = without_marks(column)
    found = infer_all(rest, decimal)
    if rest.null_count() in (column.null_count(), len(column)) or found.dtype == pl.String:
        return column, []
    marked = rest.alias("").is_null() & column.alias("").is_not_null()
    return found, column.filter(marked).unique(maintain_order=True).to_list()


def _exact(text: pl.Series, numbers: pl.Series) -> pl.Series:
    """Numbers; wider integers where all are integers, so that none is rounded without a word."""
    if numbers.dtype == pl.Float64:
        wide: pl.Series = text.cast(pl.Int128, strict=False)
        if wide.null_count() == text.null_count():
            return wide
    return numbers


def _strict(text: pl.Series, parsed: pl.Series, expected: str, what: str = "column") -> pl.Series:
    """The parsed cells; a DataError at the first that could not be."""
    if parsed.null_count() != text.null_count():
        row = (parsed.alias("").is_null() & text.alias("").is_not_null()).arg_true()[0]
        raise DataError(f"{what} {quoted(text.name)} is {quoted(text[row])} at row {row}; expected {expected}")
    return parsed


def _whole(text: pl.Series, decimal: str) -> pl.Series:
    """Integers, or floats where some are fractions; none of either rounded."""
    numbers = _exact(text, _strict(text, parse_numbers(text, decimal), "a number"))
    if numbers.dtype == pl.Float64:
        for row in (numbers.is_finite() & (numbers.abs() >= 2.0**53)).arg_true():
            whole = _WRITTEN_WHOLE.fullmatch(text[row]) is not None  # a float may be rounded
            if whole and int(text[row]) != int(numbers[row]):
                raise DataError(
                    f"column {quoted(text.name)} is {quoted(text[row])} at row {row}; beside fractions expected "
                    "integers that are floats of 64 bits"
                )
    return numbers


def _times_of_day(text: pl.Series) -> pl.Series:
    times: pl.Series = pl.Series(text.name, [None] * len(text), dtype=pl.Time)
    for form in _TIMES_OF_DAY:
        with contextlib.suppress(pl.exceptions.PolarsError):
            times = times.zip_with(times.is_not_null(), text.str.strptime(pl.Time, form, strict=False))
    return times


def _times_of_one_form(text: pl.Series, unit: Any) -> pl.Series | None:
    """Dates, instants or times of day in one form, if any cell is such; null where a cell is not."""
    forms: tuple[tuple[Any, str | None], ...] = (
        (pl.Date, "%Y-%m-%d"),
        (pl.Datetime(unit), None),
        (pl.Time, "%H:%M:%S"),
    )
    best = None
    # Whether 01/02/2020 is in January or February depends on who wrote it, so that the year has to come first.
    year_first = text.set(~text.str.contains(r"^\s*[0-9]{4}\D"), None)
    for dtype, form in forms:
        with contextlib.suppress(pl.exceptions.PolarsError):  # no format fits
            cells = year_first if form is None else text
            parsed = cells.str.strptime(dtype, form, strict=False)
            if parsed.null_count() == text.null_count():
                return parsed
            if best is None or parsed.null_count() < best.null_count():
                best = parsed
    return best


def _dates(text: pl.Series, unit: Any) -> pl.Series:
    """Dates, or instants if some have a time of day; null where a cell is neither. Cells may differ in form."""
    parsed = _times_of_one_form(text, unit)
    if parsed is not None and parsed.dtype != pl.Time and parsed.null_count() == text.null_count():
        return parsed
    form = text.str.replace_all(r"[0-9]", "0")
    groups = []
    for one in form.unique(maintain_order=True).drop_nulls().head(_MOST_SHAPES).to_list():
        mask = (form == one) & form.is_not_null()
        group = _times_of_one_form(text.filter(mask), unit)
        if group is not None and group.dtype != pl.Time:
            groups.append((mask, group))
    zones = {group.dtype.time_zone for _, group in groups if isinstance(group.dtype, pl.Datetime)}
    dtype: Any = pl.Datetime(unit, zones.pop() if len(zones) == 1 else None) if zones else pl.Date()
    result = pl.Series(text.name, [None] * len(text), dtype=dtype)
    for mask, group in groups:
        if isinstance(group.dtype, pl.Datetime) and group.dtype.time_zone != getattr(dtype, "time_zone", None):
            continue  # an instant beside times without a zone
        result = result.scatter(mask.arg_true(), group.cast(dtype))
    return result
