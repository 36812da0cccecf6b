"""Numbers, dates and times of a column as arrays, and in other units."""

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from lattree._core import DataError
from lattree._dtypes import dtype_from_text, dtype_name, quoted

ACCEPTED = "numbers, dates, times, text, categories or booleans"

_PER_SECOND = {"ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def number_kind(series: pl.Series) -> str | None:
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
    raise wrong_dtype(series, f"{ACCEPTED}; drop or convert it")


def to_numbers(series: pl.Series, kind: str) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]:
    """The numbers of a column as float64 or int64, and which integers are missing, if any are."""
    if kind == "float":
        return to_floats(series), None
    whole = to_int64(series, f"column {quoted(series.name)}")
    if whole.null_count() == 0:
        return np.ascontiguousarray(whole.to_numpy()), None
    missing = whole.is_null()
    return np.ascontiguousarray(whole.set(missing, 0).to_numpy()), missing.to_numpy()


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
    per_second = per_second_of(series.dtype)
    if per_second is not None:
        series = series.alias("").to_physical() / per_second
    return np.ascontiguousarray(series.cast(pl.Float64).to_numpy())


def integers_if_whole(values: npt.NDArray[np.float64]) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]:
    """Floats as integers, and which are missing, if all are whole and of 64 bits; else as they are."""
    missing = np.isnan(values)
    if not (missing | ((np.floor(values) == values) & (np.abs(values) < 2.0**63))).all():
        return values, None
    whole = np.where(missing, 0.0, values).astype(np.int64)
    return whole, missing if missing.any() else None


def cast_time(series: pl.Series, kind: str, trained: str) -> pl.Series:
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
        raise wrong_dtype(series.alias(name), f"dates and times {expected}")
    return rescaled(series, kind.removeprefix("datetime_"))


def rescaled(series: pl.Series, unit: Any) -> pl.Series:
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


def per_second_of(dtype: pl.DataType) -> int | None:
    """How many units of a length of time or a time of day make a second; None for other dtypes."""
    if dtype == pl.Time:
        return _PER_SECOND["ns"]
    return _PER_SECOND[dtype.time_unit] if isinstance(dtype, pl.Duration) else None


def cast_or_keep(series: pl.Series, dtype: pl.DataType | None) -> pl.Series:
    """Return `series` as `dtype`, or as it is where that would lose a value."""
    if dtype is None or dtype == series.dtype:
        return series
    try:
        cast: pl.Series = series.cast(dtype, strict=False)
    except pl.exceptions.PolarsError:
        return series
    return cast if cast.null_count() == series.null_count() else series


def wrong_dtype(series: pl.Series, expected: str) -> DataError:
    return DataError(f"column {quoted(series.name)} is {dtype_name(series.dtype)}; expected {expected}")
