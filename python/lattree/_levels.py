"""Named levels of a column as codes.

Work on cells is done by polars and numpy; Python loops run over levels only. Levels are compared as text, so that a
level keeps its identity when a second table stores it as another dtype: whole floats read as the integers they are.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from lattree._core import DataError, Feature
from lattree._dtypes import dtype_name, dtype_to_text, quoted, shown
from lattree._numbers import cast_or_keep, number_kind, per_second_of, wrong_dtype
from lattree._series import to_series
from lattree._text import base, canonical, is_mark, level_text, without_marks

MISSING = 2**32 - 1
"""The code of a missing level."""

_TEXT = ("String", "Categorical", "Enum", "Null")
"""Dtypes whose levels are text, which is equal only to itself."""

_TRUTH = {"true": True, "false": False, "1": True, "0": False}
"""Levels in lower case that are booleans."""

_TIME = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d(\.\d{1,9})?)?", re.ASCII)  # as levels have them


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


def codes_of(
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


def codes_like(series: pl.Series, feature: Feature) -> tuple[npt.NDArray[np.uint32], list[str], list[str]]:
    """Codes, levels and unseen levels of a column that is mapped onto a feature."""
    trained, given, levels = base(feature.dtype), series.dtype, feature.levels
    is_text = isinstance(given, (pl.String, pl.Categorical, pl.Enum))
    if trained == "Boolean" and not (is_text or given == pl.Boolean or given.is_numeric()):
        raise wrong_dtype(series, "true or false")
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

    codes, _, unseen = codes_of(series, levels, named)
    if is_text and trained not in _TEXT and any(map(is_mark, unseen)):
        return codes_like(without_marks(series.cast(pl.String)), feature)
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


def distinct_values(series: pl.Series) -> tuple[pl.Series, npt.NDArray[np.uint32]]:
    """Return the values that occur, ascending, and for each cell its place among them, MISSING where it is null.

    Text is in the order of code points, and so are categories, which are returned as text. By Python and numpy, since a
    forked process cannot use polars' `sort` and `replace_strict` (see the top of `_columns.py`).
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


def _enum_codes(series: pl.Series) -> npt.NDArray[np.uint32]:
    """Return the places of the cells of an Enum among its categories, MISSING where they are null."""
    places = series.to_physical().cast(pl.UInt32)
    if places.null_count():
        places = places.set(places.is_null(), MISSING)
    return np.ascontiguousarray(places.to_numpy())


def levels_from_text(text: pl.Series, dtype: pl.DataType | None) -> pl.Series:
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


def _check_levels(series: pl.Series) -> None:
    """Raise a DataError if the dtype cannot have levels."""
    if per_second_of(series.dtype) is not None or (number_kind(series) is None and not is_text(series.dtype)):
        raise wrong_dtype(series, "text, numbers or dates where levels are needed; cast it to String")


def is_text(dtype: pl.DataType) -> bool:
    return isinstance(dtype, (pl.String, pl.Categorical, pl.Enum, pl.Boolean))
