"""Datasets straight from files: CSV, Parquet and Arrow IPC."""

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
import polars as pl

from lattree._core import DataError, Dataset, Schema, Tree
from lattree._errors import first_line, without_traces
from lattree._files import UnreadableError, column_names, lacks_type, read_columns, taste
from lattree._frames import Frame, Part, check_distinct, to_frame
from lattree._text import cells_like, infer, infer_all, labels_like

FilePath = str | PathLike[str]
_T = TypeVar("_T")


def read_csv(
    path: FilePath,
    target: Any = None,
    *,
    null_values: Sequence[str] = ("", "?"),
    separator: str | None = None,
    **options: Any,
) -> Dataset:
    """Read a CSV file with a header row, plain or compressed with gzip or zstd.

    Dtypes are inferred from the whole file; dates and times are recognised, and ``+1``, ``inf`` and ``nan``, which is
    missing, are numbers. Columns listed under `nominal`, or under `ordinal` with their levels, are read as text, so
    that the level ``007`` keeps its zeros. With `like` nothing is inferred: cells are levels as they are written, and
    numbers, dates or times where the schema has these, or an error. Columns that are not needed are not looked at.

    Parameters
    ----------
    path : str or path-like
        The file.
    target : str, array-like of shape (n_rows,), or None, default=None
        As for :class:`Dataset`.
    null_values : sequence of str, default=("", "?")
        Cells that mean missing.
    separator : str or None, default=None
        None: a tab for names that end in ``.tsv`` or ``.tab`` (before ``.gz`` or ``.zst``), else a comma.
    **options
        `task`, `nominal`, `ordinal`, `counts`, `weight`, `drop`, `like` of :class:`Dataset`.

    Returns
    -------
    Dataset

    Raises
    ------
    OSError
        The file does not exist or cannot be read.
    DataError
        The file is empty, damaged or no CSV file, two columns have one name, a cell is not what `like` says (with
        column, row and value), or as for :class:`Dataset`.

    Notes
    -----
    Not for a forked process whose parent has used polars, whose readers then wait for ever for threads that do not
    survive a fork: start it by "spawn" or "forkserver", or read the file before the fork.
    """
    return Dataset(csv_frame(path, target, null_values, separator, options), target, **options)


def read_parquet(path: FilePath, target: Any = None, **options: Any) -> Dataset:
    """Read a Parquet file.

    Parameters
    ----------
    path : str or path-like
        The file.
    target : str, array-like of shape (n_rows,), or None, default=None
        As for :class:`Dataset`.
    **options
        `task`, `nominal`, `ordinal`, `counts`, `weight`, `drop`, `like` of :class:`Dataset`.

    Returns
    -------
    Dataset

    Raises
    ------
    OSError
        The file does not exist or cannot be read.
    DataError
        The file is empty, damaged or no Parquet file, or as for :class:`Dataset`.

    Notes
    -----
    Columns that are not needed are not read. Since a damaged file can end the process that reads it, another process,
    which starts with the first such file and waits for the next, reads each first:
    ``Dataset(polars.read_parquet(path))`` does without. Not for a forked process whose parent has used polars, whose
    readers then wait for ever for threads that do not survive a fork: start it by "spawn" or "forkserver", or read the
    file before the fork.
    """
    return Dataset(_binary_frame(path, "Parquet", target, options), target, **options)


def read_ipc(path: FilePath, target: Any = None, **options: Any) -> Dataset:
    """Read an Arrow IPC file (Feather version 2).

    Parameters
    ----------
    path : str or path-like
        The file.
    target : str, array-like of shape (n_rows,), or None, default=None
        As for :class:`Dataset`.
    **options
        `task`, `nominal`, `ordinal`, `counts`, `weight`, `drop`, `like` of :class:`Dataset`.

    Returns
    -------
    Dataset

    Raises
    ------
    OSError
        The file does not exist or cannot be read.
    DataError
        The file is empty, damaged or no Arrow IPC file, or as for :class:`Dataset`.

    Notes
    -----
    Columns that are not needed are not read. Since a damaged file can end the process that reads it, another process,
    which starts with the first such file and waits for the next, reads each first:
    ``Dataset(polars.read_ipc(path))`` does without. Not for a forked process whose parent has used polars, whose
    readers then wait for ever for threads that do not survive a fork: start it by "spawn" or "forkserver", or read the
    file before the fork.
    """
    return Dataset(_binary_frame(path, "Arrow IPC", target, options), target, **options)


def csv_frame(
    path: FilePath, target: Any, null_values: Sequence[str], separator: str | None, options: Mapping[str, Any]
) -> Frame:
    """Return a CSV file as a frame, read as :func:`read_csv` says."""
    if separator is None:
        suffixes = [suffix.lower() for suffix in Path(path).suffixes]
        separator = "\t" if {".tsv", ".tab"} & set(suffixes[-2:]) else ","

    def header(file: IO[bytes]) -> pl.DataFrame:
        return pl.read_csv(file, separator=separator, has_header=False, n_rows=1, infer_schema=False)

    # polars renames the second of two equal names, so they are compared before it gets the chance.
    first = _read(path, "CSV", header)
    if first.height == 0:
        raise DataError(f"{path} cannot be read as CSV: it has no row of names")
    check_distinct(["" if name is None else name for name in first.row(0)])
    schema = _schema_of(options.get("like"))
    as_text = _names(options.get("nominal", ()))
    as_text |= set() if not isinstance(ordinal := options.get("ordinal", ()), Mapping) else set(map(str, ordinal))
    if schema is not None:
        as_text |= {*schema.feature_names, *_target_like(schema, target)}

    def names(file: IO[bytes]) -> list[str]:
        return pl.read_csv(file, separator=separator, n_rows=0, infer_schema=False).columns

    columns = known = None
    if schema is not None or options.get("drop"):
        known = _read(path, "CSV", names)
        columns = _needed(known, schema, target, options) or known[:1]

    def body(typed: bool) -> Callable[[IO[bytes]], pl.DataFrame]:
        return lambda file: pl.read_csv(
            file,
            columns=columns,
            separator=separator,
            null_values=list(null_values),
            schema_overrides=dict.fromkeys(as_text, pl.String),
            infer_schema=typed,
            infer_schema_length=None,
        )

    find = infer
    try:
        frame = _read(path, "CSV", body(typed=True))
    except DataError:  # some cells break the inference of polars, such as integers of 40 digits
        frame, find = _read(path, "CSV", body(typed=False)), infer_all
    if schema is None:
        # With both a full inference and try_parse_dates polars takes twenty times as long as for each alone.
        found = [column if column.name in as_text else find(column) for column in frame]
    else:
        found = _columns_like(frame, schema, target, as_text, find)
    return Frame(Part(known or frame.columns, pl.DataFrame({column.name: column for column in found})), frame.height)


def _columns_like(
    frame: pl.DataFrame, schema: Schema, target: Any, as_text: set[str], find: Callable[[pl.Series], pl.Series]
) -> list[pl.Series]:
    """Columns of text as a schema has them; the others as they are found to be."""
    features, labels = {feature.name: feature for feature in schema.features}, _target_like(schema, target)
    columns = []
    for column in frame:
        if column.name in labels:
            columns.append(labels_like(column, schema))
        elif column.name in features:
            columns.append(cells_like(column, features[column.name]))
        else:
            columns.append(column if column.name in as_text else find(column))
    return columns


def _binary_frame(path: FilePath, kind: str, target: Any, options: Mapping[str, Any]) -> Frame:
    """Return a Parquet or Arrow IPC file as a frame, once another process has read it and come to no harm."""
    schema = _schema_of(options.get("like"))
    with _regular(path, kind) as file:
        known = _tasted(path, file, kind, lambda kind, source: column_names(kind, source), names=True)
        check_distinct(known)
        needed = set(_needed(known, schema, target, options))
        places = [place for place, name in enumerate(known) if name in needed] or ([0] if known else [])
        every = len(places) == len(known)
        chosen = None if every else places
        table = _tasted(path, file, kind, lambda kind, source: read_columns(kind, source, chosen), places=chosen)
    if not isinstance(table, pl.DataFrame):
        return Frame(Part(known, to_frame(table).data), table.num_rows)
    return Frame(Part(known, table), table.height)


def _tasted(path: FilePath, file: str, kind: str, read: Callable[[str, IO[bytes]], _T], **request: Any) -> _T:
    """What is read from a file that another process could read; types that polars lacks are read by pyarrow."""
    reader = kind
    try:
        taste(file, kind, **request)
    except UnreadableError as error:
        if kind != "Arrow IPC" or not lacks_type(str(error)):
            raise DataError(f"{path} cannot be read as {kind}: {error}") from None
        try:
            taste(file, reader := "pyarrow", **request)
        except UnreadableError:
            raise DataError(f"{path} cannot be read as {kind}: {error}") from None
    return _read(file, kind, lambda opened: read(reader, opened), path)


@contextlib.contextmanager
def _regular(path: FilePath, kind: str) -> Iterator[str]:
    """The name of a file that can be read twice: what comes from a pipe is kept in one."""
    with Path(path).open("rb") as file:
        if Path(path).is_file():
            if Path(path).stat().st_size == 0:
                raise DataError(f"{path} is empty; expected a {kind} file")
            yield os.path.abspath(path)  # noqa: PTH100
            return
        data = file.read()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "table"
        copy.write_bytes(data)
        yield str(copy)


def _schema_of(like: Any) -> Schema | None:
    """The schema that `like` refers to, if it does; `Dataset` says what it may be."""
    if isinstance(like, (Dataset, Tree)):
        return like.schema
    return like if isinstance(like, Schema) else None


def _names(given: Any) -> set[str]:
    """Names as they were given: one, or several; not what is neither, which `Dataset` refuses."""
    if isinstance(given, str):
        return {given}
    try:
        return set(map(str, given))
    except TypeError:
        return set()


def _role(given: Any) -> list[str]:
    """The name of the column that a target, counts or weights are given by, if they are."""
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        given = str(given)
    return [given] if isinstance(given, str) else []


def _target_like(schema: Schema, target: Any) -> list[str]:
    """The column with labels as a schema has them."""
    if schema.target is None:
        return []
    return [schema.target] if target is None else _role(target)


def _needed(known: list[str], schema: Schema | None, target: Any, options: Mapping[str, Any]) -> list[str]:
    """The columns that a dataset is made of, in the order of the file."""
    dropped = _names(options.get("drop", ()))
    needed = {*_role(target), *_role(options.get("counts")), *_role(options.get("weight"))}
    if schema is None:
        return [name for name in known if name in needed or name not in dropped]
    needed |= {*schema.feature_names, *_target_like(schema, target)}
    return [name for name in known if name in needed]


def _read(path: FilePath, kind: str, reader: Callable[[IO[bytes]], _T], given: FilePath | None = None) -> _T:
    """Read an open file: polars would take a path as a pattern or URL, and report a directory as a data error."""
    shown = path if given is None else given
    with Path(path).open("rb") as file:
        if Path(path).is_file() and Path(path).stat().st_size == 0:
            raise DataError(f"{shown} is empty; expected a {kind} file")
        try:
            with without_traces():
                return reader(file)
        except pl.exceptions.NoDataError:
            raise DataError(f"{shown} is empty; expected a {kind} file") from None
        except OSError as error:
            if error.errno is not None:
                raise
            raise DataError(f"{shown} cannot be read as {kind}: {first_line(error)}") from error
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError, OverflowError) as error:
            raise DataError(f"{shown} cannot be read as {kind}: {first_line(error)}") from error
