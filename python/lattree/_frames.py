"""Any table as named columns.

Columns are converted when they are asked for, so that those which no one needs may hold anything.
"""

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import polars as pl
from polars import selectors

from lattree._core import DataError
from lattree._dtypes import quoted
from lattree._errors import first_line
from lattree._series import is_pandas, is_sparse, pandas_column, sparse_words, to_series, without_runs

ACCEPTED_TABLES = (
    "a polars or pandas DataFrame, a polars LazyFrame, a pyarrow Table, any object with __arrow_c_stream__, or a "
    "mapping of columns"
)

_PLAIN = {
    "b1": "Boolean",
    **{f"i{size}": f"Int{8 * size}" for size in (1, 2, 4, 8)},
    **{f"u{size}": f"UInt{8 * size}" for size in (1, 2, 4, 8)},
    **{f"f{size}": f"Float{8 * size}" for size in (4, 8)},
}
"""The numpy dtypes that the compiled module reads itself, with the text of the polars dtype."""


@dataclass(frozen=True, slots=True)
class Cells:
    """A 2-D array of numbers or booleans as a frame whose columns become series only when they are asked for."""

    array: np.ndarray
    places: Mapping[str, int]
    """Where in `array` each column is."""
    dtype: str
    """The text of the columns' polars dtype."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.places)

    def get_column(self, name: str) -> pl.Series:
        """Return the column named."""
        return to_series(name, self.array[:, self.places[name]])

    def select(self, names: Sequence[str]) -> "Cells":
        """Return the columns named, in that order."""
        if names == self.columns:
            return self
        array = self.array[:, [self.places[name] for name in names]]
        return Cells(array, {name: index for index, name in enumerate(names)}, self.dtype)


class Source(Protocol):
    """What has named columns: a polars frame, or one of the classes here."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""

    def get_column(self, name: str) -> pl.Series:
        """Return the column named."""


class Columns:
    """Columns of any kind, each of which becomes a series when it is first asked for."""

    def __init__(self, given: Mapping[str, Callable[[], Any]]) -> None:
        self._given = given
        self._series: dict[str, pl.Series] = {}
        self.nominal: set[str] = set()
        """pandas categories that are numbers, of the columns asked for so far."""
        self.ordinal: dict[str, list[Any]] = {}
        """Ordered ones, in their order."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._given)

    def get_column(self, name: str) -> pl.Series:
        """Return the column named; a DataError if it cannot be read, or is not as long as those before it."""
        found = self._series.get(name)
        if found is None:
            found = self._series[name] = self._convert(name)
        return found

    def _convert(self, name: str) -> pl.Series:
        try:
            series, levels, ordered = _column(name, self._given[name]())
        except (DataError, MemoryError, UnicodeEncodeError):
            raise
        except (Exception, pl.exceptions.PanicException) as error:  # of whoever made the column
            raise DataError(f"column {quoted(name)} cannot be read: {first_line(error)}") from error
        for other, one in self._series.items():
            if len(series) != len(one):
                raise DataError(f"column {quoted(name)} has {len(series)} rows, column {quoted(other)} has {len(one)}")
            break
        if levels is not None and ordered:
            self.ordinal[name] = levels
        elif levels is not None:
            self.nominal.add(name)
        return series

    def length(self, needed: Iterable[str]) -> int:
        """Return the length of the first column that is needed; if none is, of the first that says its own."""
        for name in needed:
            if name in self._given:
                return len(self.get_column(name))
        for given in self._given.values():
            value = given()
            if isinstance(value, str) or not hasattr(value, "__len__"):
                continue
            return len(value)
        return 0


@dataclass(frozen=True, slots=True)
class Part:
    """A frame of some of the columns that a file has; the others are known by name."""

    columns: list[str]
    data: Source

    def get_column(self, name: str) -> pl.Series:
        """Return the column named, which must be one of those that were read."""
        return self.data.get_column(name)


@dataclass(frozen=True, slots=True)
class Frame:
    """A table, and what its polars dtypes cannot say."""

    data: Source
    given_rows: int | None
    """Kept beside the frame, which forgets it when there are no columns; None: as many as the columns have."""
    nominal: Set[str] = frozenset()
    """pandas categories that are numbers, of the columns that were asked for."""
    ordinal: Mapping[str, list[Any]] = field(default_factory=dict)
    """Ordered pandas categories that are numbers, in their order."""
    marks: Mapping[str, list[str]] | None = None
    """What stood for missing cells in columns of a file of text; None: no reader has looked for such."""

    def n_rows(self, needed: Iterable[str]) -> int:
        """How many rows there are, as the first of the columns needed says."""
        if self.given_rows is None:
            assert isinstance(self.data, Columns)
            return self.data.length(needed)
        return self.given_rows


@dataclass(frozen=True, slots=True)
class _Stream:
    """An Arrow table as a stream and nothing else; pyarrow's polars converts with threads (see _columns.py)."""

    __arrow_c_stream__: Callable[..., object]


def to_frame(table: Any) -> Frame:
    """Return any table as columns with distinct text names.

    Raises
    ------
    TypeError
        `table` is no table, or sparse; the text says what is accepted, and what to call instead.
    DataError
        Two columns have one name. What is wrong with a column is found when it is asked for.
    """
    if isinstance(table, Frame):
        return table
    if is_sparse(table):
        raise TypeError(f"the table is {sparse_words(table)}")
    if isinstance(table, pl.DataFrame):
        return Frame(table, table.height)
    if isinstance(table, pl.LazyFrame):
        table = table.collect()
        return Frame(table, table.height)
    if is_pandas(table, "DataFrame"):
        return _from_pandas(table)
    if isinstance(table, Mapping):
        return _from_columns([str(name) for name in table], list(table.values()))
    if isinstance(table, pl.Series) or is_pandas(table, "Series"):
        raise TypeError(f"the table is a single Series; pass {ACCEPTED_TABLES}")
    if hasattr(table, "__arrow_c_stream__"):
        return _from_arrow(table)
    if isinstance(table, (np.ndarray, list, tuple)) or hasattr(table, "__array__"):
        raise TypeError(
            f"the table is a {type(table).__name__}, which has no column names; "
            f"use Dataset.from_arrays(X, y, feature_names), or pass {ACCEPTED_TABLES}"
        )
    raise TypeError(f"the table is a {type(table).__name__}; pass {ACCEPTED_TABLES}")


def lazy_to_frame(table: pl.LazyFrame, needed: Sequence[str]) -> Frame:
    """Return the columns needed of a lazy frame; the others are known by name, and never computed."""
    names = table.collect_schema().names()
    read = [name for name in names if name in set(needed)]
    if not read:
        return Frame(Part(names, pl.DataFrame()), table.select(pl.len()).collect().item())
    frame = table.select(selectors.by_name(*read)).collect()  # a bare name may be taken for a pattern
    return Frame(Part(names, frame), frame.height)


def arrays_to_frame(X: Any, names: Sequence[str] | None) -> Frame:
    """Return a 2-D array or a list of rows as a frame; columns are named ``x0``, ``x1``, ... where no names are given.

    Raises
    ------
    TypeError
        `X` is a table with names of its own, or sparse.
    DataError
        `X` is not two-dimensional, its rows differ in length, or there are more or fewer names than columns.
    """
    if is_sparse(X):  # one kind of which is also a mapping
        raise TypeError(f"X is {sparse_words(X)}")
    if isinstance(X, (pl.DataFrame, pl.LazyFrame, Mapping)) or hasattr(X, "__arrow_c_stream__"):
        raise TypeError(f"X is a {type(X).__name__}, which has column names of its own; use Dataset(table, target)")
    array, columns = None, []
    if isinstance(X, (list, tuple)) and not any(isinstance(row, np.ndarray) for row in X[:1]):
        columns = _transposed(X)
        width = len(columns)
    else:
        array = X if isinstance(X, np.ndarray) else np.asarray(X)
        if array.ndim != 2:
            raise DataError(f"X has the shape {array.shape}; expected two dimensions, rows by columns")
        width = array.shape[1]
    if names is None:
        names = [f"x{index}" for index in range(width)]
    if len(names) != width:
        raise DataError(f"there are {len(names)} feature names, but X has {width} columns")
    if array is not None:
        dtype = plain_dtype(array)
        if dtype is not None and _is_readable(array):
            check_distinct(names)
            places = dict(zip(names, range(width), strict=True))
            return Frame(Cells(array, places, dtype), len(X))
        columns = [array[:, index] for index in range(width)]
    return _from_columns(list(names), columns, n_rows=len(X))


def plain_dtype(values: Any) -> str | None:
    """Return the text of the polars dtype that an array of numbers or booleans would have; None for all else."""
    if type(values) not in (np.ndarray, np.memmap):  # others may mean something else, as masked arrays do
        return None
    return _PLAIN.get(values.dtype.str[1:]) if values.dtype.isnative else None


def exact_floats(table: Any, n_columns: int) -> str | None:
    """Return the text of the polars dtype of an array that can be predicted on as it is; None for others.

    That is one of `n_columns` columns, in one piece, of numbers that floats of 64 bits hold exactly.
    """
    dtype = plain_dtype(table)
    if dtype in (None, "Boolean", "Int64", "UInt64") or table.ndim != 2 or table.shape[1] != n_columns:
        return None
    whole = table.flags.c_contiguous or table.flags.f_contiguous
    return dtype if whole and _is_readable(table) else None


def _is_readable(array: np.ndarray) -> bool:
    """Whether the compiled module can read a plain array where it is, and no conversion of a column can fail."""
    dtype = array.dtype
    return (
        array.size > 0
        and array.flags.aligned
        and all(stride % dtype.itemsize == 0 for stride in array.strides)
        and not (dtype == np.uint64 and int(array.max()) >= 2**63)
    )


def check_distinct(names: Sequence[str]) -> None:
    """Raise a DataError that names the first name that occurs twice."""
    if len(set(names)) == len(names):
        return
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DataError(f"two columns are named {quoted(name)}; names must be distinct, rename one of them")
        seen.add(name)


def _from_columns(names: list[str], columns: list[Any], n_rows: int | None = None) -> Frame:
    check_distinct(names)
    given = Columns({name: _giver(values) for name, values in zip(names, columns, strict=True)})
    return Frame(given, n_rows, given.nominal, given.ordinal)


def _giver(values: Any) -> Callable[[], Any]:
    return lambda: values


def _column(name: str, values: Any) -> tuple[pl.Series, list[Any] | None, bool]:
    """One column, the categories of a pandas one whose categories are not text, and whether they are in order."""
    if not is_pandas(values, "Series"):
        return to_series(name, values), None, False
    series, levels = pandas_column(name, values)
    return series, levels, levels is not None and bool(values.dtype.ordered)


def _from_arrow(table: Any) -> Frame:
    """An Arrow table: column by column where it is one of pyarrow, else as a whole."""
    arrow = sys.modules.get("pyarrow")
    if arrow is not None and isinstance(table, (arrow.Table, arrow.RecordBatch, arrow.RecordBatchReader)):
        return _from_pyarrow(arrow, table)
    try:
        frame = pl.DataFrame(_Stream(table.__arrow_c_stream__))
    except pl.exceptions.DuplicateError as error:
        raise DataError(f"two columns have one name; rename one of them ({error})") from None
    except (ValueError, TypeError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        try:
            arrow = importlib.import_module("pyarrow")
            return _from_pyarrow(arrow, arrow.table(table))
        except DataError:
            raise
        except Exception:  # no pyarrow, or a stream that can be read once only
            raise DataError(
                f"polars cannot take a column of this {type(table).__name__}: {first_line(error)}; leave it out, or "
                "pass a pyarrow Table, whose columns are converted one by one"
            ) from error
    return Frame(frame, frame.height)


def _from_pyarrow(arrow: Any, table: Any) -> Frame:
    if isinstance(table, arrow.RecordBatchReader):
        table = table.read_all()
    elif isinstance(table, arrow.RecordBatch):
        table = arrow.Table.from_batches([table])
    names = [str(name) for name in table.schema.names]
    check_distinct(names)
    return Frame(Columns({name: _arrow_giver(table, place) for place, name in enumerate(names)}), table.num_rows)


def _arrow_giver(table: Any, place: int) -> Callable[[], _Stream]:
    return lambda: _arrow_column(table.column(place))


def _arrow_column(column: Any) -> _Stream:
    """A column of a pyarrow table as polars takes it."""
    return _Stream(without_runs(column).__arrow_c_stream__)


def _transposed(rows: Sequence[Any]) -> list[Any]:
    """Columns of a list of rows. Not through one array, which would make text of the numbers in a mixed table."""
    for index, row in enumerate(rows):
        if not isinstance(row, (list, tuple)):
            raise DataError(f"X is a list whose row {index} is a {type(row).__name__}; expected a list of rows")
        if len(row) != len(rows[0]):
            raise DataError(f"row {index} of X has {len(row)} values, row 0 has {len(rows[0])}")
    return list(zip(*rows, strict=True))


def _from_pandas(table: Any) -> Frame:
    names = [str(name) for name in table.columns]
    check_distinct(names)
    given = Columns({name: _pandas_giver(table, place) for place, name in enumerate(names)})
    return Frame(given, len(table), given.nominal, given.ordinal)


def _pandas_giver(table: Any, place: int) -> Callable[[], Any]:
    return lambda: table.iloc[:, place]
