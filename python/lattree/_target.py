"""The target, the counts and the weights: what is to be predicted, and how much a case matters."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from lattree._core import DataError, ParameterError, Schema
from lattree._dtypes import dtype_from_text, dtype_name, dtype_to_text, list_names, quoted, shown
from lattree._errors import warn
from lattree._frames import plain_dtype
from lattree._levels import distinct_cells, distinct_values
from lattree._numbers import cast_or_keep, to_floats, to_int64
from lattree._text import is_mark, numbers_beside_marks

Task = Literal["classes", "numbers"]
_INSTANT = "%Y-%m-%d %H:%M:%S%.f"
"""How an instant is written as a class label: with the fraction of a second only where there is one."""
Labels = list[str] | list[int] | list[float] | list[bool] | list[str | int | float | bool]

_MANY_CLASSES = 20
"""With more different whole numbers than this a target may not be one of classes."""


@dataclass(frozen=True, slots=True)
class Target:
    """What is to be predicted, ready to be copied by the compiled module."""

    name: str
    kind: Task
    dtype: str
    """The text from which :func:`label_series` restores the polars dtype."""
    values: npt.NDArray[Any]
    """uint32 codes into `labels`, or float64."""
    labels: Labels
    """The labels that occur, ascending; empty for numbers."""


def encode_target(series: pl.Series, task: Task | None) -> Target:
    """Return labels or numbers.

    Parameters
    ----------
    series : polars.Series
        One label per row: text, integers, whole floats, booleans, categories, dates, instants; or numbers.
    task : {"classes", "numbers"} or None
        None: floats that are not all whole mean numbers, everything else means classes.

    Raises
    ------
    ParameterError
        `task` is none of these.
    DataError
        A label is missing, a number is not finite (with the row), or the dtype cannot be a target.

    Warns
    -----
    UserWarning
        More than 20 different whole numbers are taken for classes without being told to.
    """
    if task not in (None, "classes", "numbers"):
        raise ParameterError(f'`task` must be "classes", "numbers" or None, got {task!r}')
    dtype, told = dtype_to_text(series.dtype), task is not None
    series = _present(series)
    if task is None:
        values = series.alias("")
        fractions = values.dtype.is_float() and ((values.floor() != values) | values.is_infinite()).any()
        task = "numbers" if fractions else "classes"
    if task == "numbers":
        return Target(series.name, task, dtype, _finite(series), [])
    labels, codes = distinct_values(_label_values(series))
    target = Target(series.name, task, dtype, codes, labels.to_list())
    if not told:
        _warn_of_many(target)
    return target


def _warn_of_many(target: Target) -> None:
    labels = target.labels
    if len(labels) > _MANY_CLASSES and isinstance(labels[0], (int, float)):
        warn(
            f"the target {quoted(target.name)} has {len(labels):,} different whole numbers, from {labels[0]} to "
            f'{labels[-1]}, which are taken for classes: pass task="classes", or list it under nominal, '
            'if they are names of classes, task="numbers" if they are amounts'
        )


def check_marks(series: pl.Series) -> None:
    """Raise a DataError if labels are numbers as text but for some that mean a missing one."""
    if series.dtype == pl.String and numbers_beside_marks(series) is not None:
        row = next(row for row, label in enumerate(series) if label is not None and is_mark(label))
        raise DataError(
            f"the target {quoted(series.name)} is {quoted(series[row])} at row {row} and has numbers elsewhere; drop "
            'that row, or pass task="classes" if it is a class'
        )


def is_label_array(values: Any) -> bool:
    """Say whether `values` is an array of booleans, or of integers that all fit 64 bits with a sign."""
    return plain_dtype(values) not in (None, "Float32", "Float64", "UInt64") and values.ndim == 1


def encode_label_array(name: str, array: npt.NDArray[Any], task: Task | None) -> Target:
    """Return such an array as classes, as :func:`encode_target` does of a series.

    A series costs more than all the rest of a small table.
    """
    found, codes = distinct_cells(array)
    target = Target(name, "classes", plain_dtype(array) or "", codes.astype(np.uint32), found.tolist())
    if task is None:
        _warn_of_many(target)
    return target


def encode_target_like(series: pl.Series, schema: Schema) -> Target:
    """Return labels as codes into the schema's, or numbers if those were trained.

    Raises
    ------
    DataError
        A label is missing or is none of the schema's (with row and value).
    """
    name, dtype = schema.target or series.name, schema.target_dtype or ""
    series = _present(series.alias(name))
    if schema.task == "numbers":
        return Target(name, "numbers", dtype, _finite(series), [])
    values, known = _label_values(series), _labels_to_series(schema.classes)
    classes = list_names(str(label) for label in schema.classes)
    if values.dtype != known.dtype and not (values.dtype.is_numeric() and known.dtype.is_numeric()) and len(values):
        raise DataError(
            f"the target {quoted(name)} is {dtype_name(series.dtype)}; expected {known.dtype} labels: {classes}"
        )
    # A dict compares integers and whole floats exactly.
    place = {label: index for index, label in enumerate(schema.classes)}
    distinct, codes = distinct_values(values)
    places = np.array([place.get(label, -1) for label in distinct.to_list()], dtype=np.int64)[codes]
    if (places < 0).any():
        row = int(np.argmax(places < 0))
        raise DataError(f"the target {quoted(name)} is {shown(values[row])} at row {row}; the classes are {classes}")
    return Target(name, "classes", dtype, places.astype(np.uint32), schema.classes)


def decode_target(target: Target) -> pl.Series:
    """Return the target with the dtype it had."""
    if target.kind == "classes":
        return label_series(target.name, target.dtype, target.labels, target.values)
    return cast_or_keep(pl.Series(target.name, target.values), dtype_from_text(target.dtype))


def label_series(name: str, dtype: str, labels: Labels, codes: npt.NDArray[np.uint32], n_extra: int = 0) -> pl.Series:
    """Return predicted labels in the caller's values and dtype.

    Parameters
    ----------
    name : str
        The target's name.
    dtype : str
        The target's dtype as :attr:`Target.dtype` has it; a text that is none, or does not fit, is ignored.
    labels : list
        The class labels.
    codes : ndarray of uint32, shape (n_rows,)
        Positions in `labels`.
    n_extra : int
        How many labels at the end are no classes, but names: these where classes are text, else null.
    """
    return label_values(dtype, labels, n_extra).alias(name)[codes]  # without polars' query engine, as `gather` would


def label_values(dtype: str, labels: Labels, n_extra: int = 0) -> pl.Series:
    """Return the labels, each once, in the caller's values and dtype; see :func:`label_series`."""
    if n_extra:
        classes: Any = labels[:-n_extra]
        values = label_values(dtype, classes)
        if isinstance(values.dtype, (pl.String, pl.Categorical, pl.Enum)):
            values = values.cast(pl.String)
            others = pl.Series(labels[-n_extra:], dtype=pl.String)
        else:
            others = pl.Series([None] * n_extra, dtype=values.dtype)
        every: pl.Series = pl.concat([values, others])
        return every
    values, known = _labels_to_series(labels), dtype_from_text(dtype)
    try:
        if isinstance(known, pl.Date):
            return values.str.to_date()
        if isinstance(known, pl.Datetime) and values.dtype == pl.String:
            return values.str.to_datetime(_INSTANT, time_unit=known.time_unit)
    except pl.exceptions.PolarsError:  # a text of a tree file that does not fit
        return values
    return cast_or_keep(values, known)


def number_series(name: str, dtype: str, values: npt.NDArray[np.float64]) -> pl.Series:
    """Return predicted numbers: Float32 where the target was, else Float64, since a mean of integers is none."""
    series = pl.Series(name, values, dtype=pl.Float64)
    return cast_or_keep(series, pl.Float32()) if dtype == "Float32" else series


def encode_counts(series: pl.Series) -> npt.NDArray[np.uint64]:
    """Return repetitions as uint64, or raise a DataError with row and value of one that is no whole number >= 0."""
    counts = _mass(series, "count").alias("")
    fraction = counts.floor() != counts if counts.dtype.is_float() else counts.is_null()
    narrow = counts.cast(pl.UInt64, strict=False)
    _refuse(counts, fraction | (counts < 0) | narrow.is_null(), "count", "a whole number that is not negative")
    return np.ascontiguousarray(narrow.to_numpy())


def encode_weight(series: pl.Series) -> npt.NDArray[np.float64]:
    """Return weights as float64, or raise a DataError with row and value of one that is negative or not finite."""
    weights = _mass(series, "weight").cast(pl.Float64).alias("")
    _refuse(weights, ~weights.is_finite() | (weights < 0), "weight", "finite and not negative")
    return to_floats(weights)


def _mass(series: pl.Series, what: str) -> pl.Series:
    if not series.dtype.is_numeric() and series.dtype != pl.Null:
        raise DataError(f"the {what} column {quoted(series.name)} is {dtype_name(series.dtype)}; expected numbers")
    if isinstance(series.dtype, (pl.Decimal, pl.Null)):
        series = series.cast(pl.Float64)
    _refuse(series, series.alias("").is_null(), what, "a number")
    return series


def _refuse(series: pl.Series, wrong: pl.Series, what: str, expected: str) -> None:
    if wrong.any():
        row = wrong.arg_true()[0]
        got = "missing" if series[row] is None else series[row]
        raise DataError(f"the {what} at row {row} is {got}; it must be {expected}")


def _present(series: pl.Series) -> pl.Series:
    """The target with decimals as floats and no level of zero but 0.0; a DataError if a label is missing."""
    if isinstance(series.dtype, pl.Decimal):
        series = series.cast(pl.Float64)
    is_float = series.dtype.is_float()
    if is_float:
        series = series + 0.0
    if is_float or series.null_count():
        missing = series.alias("").is_null()  # polars takes some names for patterns
        if is_float:
            missing |= series.alias("").is_nan()
        if missing.any():
            row = missing.arg_true()[0]
            raise DataError(
                f"the target {quoted(series.name)} is missing at row {row}; drop that row or give it a label"
            )
    return series.cast(pl.String) if series.dtype == pl.Null else series


def _finite(series: pl.Series) -> npt.NDArray[np.float64]:
    if not series.dtype.is_numeric():
        raise DataError(f"the target {quoted(series.name)} is {dtype_name(series.dtype)}; expected numbers")
    values = series.cast(pl.Float64).alias("")
    infinite = values.is_infinite()
    if infinite.any():
        row = infinite.arg_true()[0]
        raise DataError(f"the target {quoted(series.name)} is {values[row]} at row {row}; numbers must be finite")
    return to_floats(values)


def _label_values(series: pl.Series) -> pl.Series:
    """Labels as one of the four kinds there are: String, Int64, Float64, Boolean."""
    dtype = series.dtype
    what = f"the target {quoted(series.name)}"
    if isinstance(dtype, (pl.String, pl.Categorical, pl.Enum)):
        text: pl.Series = series.cast(pl.String)
        return text
    if isinstance(dtype, pl.Date):
        days: pl.Series = series.cast(pl.String)
        return days
    if isinstance(dtype, pl.Datetime) and dtype.time_zone is None:
        instants: pl.Series = series.dt.to_string(_INSTANT)
        return instants
    if isinstance(dtype, pl.Boolean):
        return series
    if dtype.is_integer():
        return to_int64(series, what)
    if not dtype.is_float():
        raise DataError(
            f"{what} is {dtype_name(dtype)}; expected text, integers, whole floats, booleans, categories, dates or "
            "times without a zone: cast it to String to predict its values as classes"
        )
    values: pl.Series = series.cast(pl.Float64).alias("")
    fraction = (values.floor() != values) | values.is_infinite()
    if fraction.any():
        row = fraction.arg_true()[0]
        raise DataError(
            f'{what} is {values[row]} at row {row}, which is no class label; use task="numbers" or cast it to String'
        )
    return values


def _labels_to_series(labels: Labels) -> pl.Series:
    return pl.Series(labels, dtype=None if labels else pl.String)
