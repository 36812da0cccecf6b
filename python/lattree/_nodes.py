"""Nodes as a frame, and rows as tables of one row."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

#: Of those that may have no value, or lists, and so say too little by themselves.
_DTYPES: dict[str, pl.DataType] = {
    "index": pl.UInt32(),
    "parent": pl.UInt32(),
    "depth": pl.UInt32(),
    "condition": pl.String(),
    "test": pl.String(),
    "column": pl.String(),
    "kind": pl.String(),
    "threshold": pl.Float64(),
    "levels": pl.List(pl.String()),
    "missing": pl.UInt32(),
    "is_leaf": pl.Boolean(),
    "n_rows": pl.UInt64(),
    "mass": pl.Float64(),
    "share": pl.Float64(),
    "errors": pl.Float64(),
    "masses": pl.List(pl.Float64()),
}


def frame_of(columns: Mapping[str, Any]) -> pl.DataFrame:
    """Return the columns of all nodes as a frame; the predictions come as a series in the dtype of the target."""
    return pl.DataFrame({name: pl.Series(name, values, dtype=_DTYPES.get(name)) for name, values in columns.items()})


def one_row(row: Any) -> Any:
    """Return what :meth:`Tree.predict` takes as a table of one row, if `row` is a row; else what was given.

    A row is a mapping of values by column, a pandas series (``frame.iloc[0]``), or one value after the other.
    """
    if isinstance(row, Mapping):
        return {name: value if _is_column(value) else [_cell(value)] for name, value in row.items()}
    if hasattr(row, "iloc") and getattr(row, "ndim", 0) == 1:
        return {name: [_cell(value)] for name, value in row.items()}
    if isinstance(row, np.ndarray) and row.ndim == 1:
        return row.reshape(1, -1)
    if isinstance(row, (list, tuple)) and not any(_is_column(value) for value in row):
        return [list(row)]
    if row is None or isinstance(row, (str, bytes, int, float)):
        got = type(row).__name__
        raise TypeError(f"`row` must be a mapping of values by column, a list of values or a table, got {got}")
    return row


def _is_column(value: Any) -> bool:
    return not isinstance(value, (str, bytes)) and hasattr(value, "__len__") and getattr(value, "ndim", 1) > 0


def _cell(value: Any) -> Any:
    """Return None for the missing values of numpy and pandas, which would be numbers or objects in a column of one."""
    if isinstance(value, np.ndarray):
        value = value[()]
    is_nan = isinstance(value, (float, np.floating)) and bool(np.isnan(value))
    is_nat = isinstance(value, (np.datetime64, np.timedelta64)) and bool(np.isnat(value))
    return None if is_nan or is_nat or type(value).__name__ in ("NAType", "NaTType") else value
