"""What labels cost in each case of a table, and rewards, which are costs with the opposite sign."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from lattree._core import DataError, ParameterError
from lattree._costs import place_of, text_of
from lattree._dtypes import dtype_name, list_names, quoted
from lattree._frames import Source, to_frame
from lattree._numbers import to_floats
from lattree._series import is_pandas, to_series


@dataclass(frozen=True, slots=True)
class CaseCosts:
    """A cost for each row and label, ready to be copied by the compiled module."""

    labels: list[str]
    values: npt.NDArray[np.float64]
    """Shape (n_rows, n_labels); finite."""


@dataclass(frozen=True, slots=True)
class Given:
    """Costs or rewards as a caller has them: values by label, or columns of the table."""

    what: str
    """The parameter: "costs" or "rewards"."""
    labels: list[str] | None
    """None: those of the classes, in their order."""
    values: list[Any]
    """For each label its values, or the name of a column of the table."""

    def columns(self) -> list[str]:
        """Return the columns of the table that are meant."""
        return [values for values in self.values if isinstance(values, str)]


def given(costs: Any, rewards: Any) -> Given | None:
    """Return what was given, if anything was.

    Raises
    ------
    ParameterError
        Both were.
    DataError
        It is an array, and not of two dimensions, or a label is there twice.
    """
    if costs is not None and rewards is not None:
        raise ParameterError("`costs` and `rewards` exclude each other: a reward is a cost with the opposite sign")
    for what, one in (("costs", costs), ("rewards", rewards)):
        if one is None:
            continue
        found = _given(what, one)
        labels = found.labels or []
        for place, label in enumerate(labels):
            if label in labels[:place]:
                raise DataError(f"`{what}` has the label {quoted(label)} twice; names must be distinct")
        return found
    return None


def _given(what: str, values: Any) -> Given:
    if isinstance(values, str):
        values = [values]
    if isinstance(values, Mapping):
        names = [text_of(label) for label in values]
        return Given(what, names, [str(one) if _is_name(one) else one for one in values.values()])
    if isinstance(values, (pl.DataFrame, pl.LazyFrame)) or is_pandas(values, "DataFrame") or _is_stream(values):
        frame = to_frame(values).data
        return Given(what, list(frame.columns), [frame.get_column(name) for name in frame.columns])
    if isinstance(values, (list, tuple)) and values and all(_is_name(one) for one in values):
        names = [str(name) for name in values]
        return Given(what, names, list(names))
    if isinstance(values, (pl.Series, bytes, set, frozenset)) or not (
        isinstance(values, Iterable) or hasattr(values, "__array__")
    ):
        raise TypeError(
            f"`{what}` must be names of columns, a frame with a column for each, an array of shape (n_rows, n_labels), "
            f"a mapping of label to values, or None, got {type(values).__name__}"
        )
    array = _array(what, values)
    return Given(what, None, [array[:, place] for place in range(array.shape[1])])


def _array(what: str, values: Any) -> npt.NDArray[Any]:
    try:
        array = np.asarray(values)
        if array.dtype.kind in "US":
            array = np.asarray(values, dtype=object)
    except ValueError:  # rows of unequal length
        array = np.empty(0)
    if array.ndim != 2:
        raise DataError(f"`{what}` must be of shape (n_rows, n_labels), got an array of shape {np.shape(array)}")
    return array


def _is_name(value: Any) -> bool:
    return isinstance(value, (str, int, np.integer)) and not isinstance(value, (bool, np.bool_))


def _is_stream(values: Any) -> bool:
    is_series = isinstance(values, pl.Series) or is_pandas(values, "Series")
    return hasattr(values, "__arrow_c_stream__") and not is_series


def encode(found: Given, table: Source, n_rows: int, classes: Sequence[Any] | None) -> CaseCosts:
    """Return costs by label.

    Parameters
    ----------
    found : Given
        What was given.
    table : frame
        Has the columns that are named.
    n_rows : int
        The rows of the table.
    classes : sequence or None
        The classes of the target; None without such a target.

    Raises
    ------
    DataError
        A value is missing, infinite or no number (with row and label), a class has no column, or there are more or
        fewer values than rows.
    """
    what, labels = found.what, found.labels
    n_labels = len(found.values)
    if labels is None:
        if classes is not None and n_labels != len(classes):
            raise DataError(
                f"`{what}` has {n_labels} columns, and there are {len(classes)} classes: "
                f"{list_names(text_of(label) for label in classes)}; name them to have labels that are no classes"
            )
        labels = [str(label) for label in range(n_labels)] if classes is None else list(map(text_of, classes))
    elif classes is not None:
        labels = _by_class(what, labels, classes)
    if not labels:
        raise DataError(f"`{what}` has no column; at least one label is needed")
    columns = [
        _finite(what, label, table.get_column(values) if isinstance(values, str) else to_series(label, values), n_rows)
        for label, values in zip(labels, found.values, strict=True)
    ]
    sign = -1.0 if what == "rewards" else 1.0
    return CaseCosts(labels, np.ascontiguousarray(np.stack(columns, axis=1) * sign + 0.0))


def decode(costs: CaseCosts) -> pl.DataFrame:
    """Return costs as a frame with a column per label."""
    return pl.DataFrame([pl.Series(label, costs.values[:, place]) for place, label in enumerate(costs.labels)])


def _by_class(what: str, labels: list[str], classes: Sequence[Any]) -> list[str]:
    """Labels, with those that are classes in the text that these have."""
    found = list(labels)
    for label in classes:
        place = place_of(label, labels)
        if place is None:
            raise DataError(
                f"`{what}` has no column for the class {quoted(text_of(label))}, only for {list_names(labels)}; each "
                "class needs one"
            )
        found[place] = text_of(label)
    return found


def _finite(what: str, label: str, series: pl.Series, n_rows: int) -> npt.NDArray[np.float64]:
    if len(series) != n_rows:
        raise DataError(f"`{what}` has {len(series)} rows for the label {quoted(label)}, the table has {n_rows}")
    if n_rows and not series.dtype.is_numeric() and series.dtype != pl.Null:
        raise DataError(
            f"`{what}` for the label {quoted(label)} is {dtype_name(series.dtype)}, from {series[0]!r} at row 0 on; "
            "expected numbers"
        )
    values = series.cast(pl.Float64).alias("")
    bad = ~values.is_finite()
    bad = bad.fill_null(value=True)
    if bad.any():
        row = bad.arg_true()[0]
        got = "missing" if values[row] is None or values[row] != values[row] else values[row]
        raise DataError(f"`{what}` at row {row} for the label {quoted(label)} is {got}; it must be a finite number")
    return to_floats(values)
