"""Predictions in the kind of the table that was predicted on, so that they can be compared with its columns.

A polars series equals no pandas one, silently; so each caller gets what its own table is made of: of a pandas frame
what has its index, of a pyarrow table what pyarrow computes with, of an array or a list of rows an array, and else
polars.
"""

import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from lattree._series import is_pandas
from lattree._target import Labels, label_values, number_series


def labels(table: Any, name: str, dtype: str, labels: Labels, codes: npt.NDArray[np.uint32], n_extra: int = 0) -> Any:
    """Return predicted classes.

    Parameters
    ----------
    table
        What was predicted on.
    name, dtype : str
        The target's name, and the text of its polars dtype.
    labels : list
        The class labels.
    codes : ndarray of uint32, shape (n_rows,)
        Positions in `labels`.
    n_extra : int
        How many labels at the end are no classes.
    """
    values = label_values(dtype, labels, n_extra)
    if is_pandas(table, "DataFrame"):
        # A position for each row rather than a value: text is converted label by label.
        index = sys.modules["pandas"].Index(_for_pandas(values))
        return sys.modules["pandas"].Series(index.take(codes), index=table.index, name=name)
    if _is_array(table):
        return values.to_numpy()[codes]
    return _column(table, values.alias(name)[codes])  # without polars' query engine, as `gather` would


def numbers(table: Any, name: str, dtype: str, values: npt.NDArray[np.float64]) -> Any:
    """Return predicted numbers; the parameters are those of :func:`labels`."""
    return _column(table, number_series(name, dtype, values))


def leaves(table: Any, places: npt.NDArray[np.uint32]) -> Any:
    """Return the places of leaves."""
    return _column(table, pl.Series("leaf", places))


def shares(table: Any, labels: Labels, values: npt.NDArray[np.float64]) -> Any:
    """Return the shares of classes, shape (n_rows, n_classes): a frame with a column per class, or an array."""
    if is_pandas(table, "DataFrame"):
        return sys.modules["pandas"].DataFrame(values, index=table.index, columns=labels)
    if _is_array(table):
        return values
    classes = [label for label in labels if type(label) is type(labels[0])]  # names may follow these
    names = [*pl.Series(classes).cast(pl.String), *labels[len(classes) :]]
    frame = pl.DataFrame(dict(zip(names, values.T, strict=True)))
    return frame.to_arrow() if _is_pyarrow(table) else frame


def _column(table: Any, series: pl.Series) -> Any:
    if is_pandas(table, "DataFrame"):
        return sys.modules["pandas"].Series(series.to_numpy(), index=table.index, name=series.name)
    if _is_array(table):
        return series.to_numpy()
    return series.to_arrow() if _is_pyarrow(table) else series


def _for_pandas(values: pl.Series) -> Any:
    """Labels as pandas takes them: categories as text, dates as Python's, since its own times equal none of them."""
    if values.dtype.is_numeric() or isinstance(values.dtype, (pl.Boolean, pl.Datetime)):
        return values.to_numpy()
    return values.to_list()


def _is_array(table: Any) -> bool:
    return isinstance(table, (np.ndarray, list, tuple))


def _is_pyarrow(table: Any) -> bool:
    arrow = sys.modules.get("pyarrow")
    return arrow is not None and isinstance(table, (arrow.Table, arrow.RecordBatch, arrow.RecordBatchReader))
