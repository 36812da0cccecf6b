"""Datasets straight from files: CSV, Parquet and Arrow IPC."""

import codecs
import contextlib
import gzip
import io
import itertools
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import IO, Any, Literal, TypeVar

import numpy as np
import polars as pl

from lattree import _case_costs
from lattree._core import DataError, Dataset, Feature, ParameterError, Schema, Tree
from lattree._errors import first_line, without_traces
from lattree._files import UnreadableError, column_names, lacks_type, read_columns, taste
from lattree._frames import Frame, Part, check_distinct, to_frame
from lattree._table import as_list
from lattree._text import cells_like, infer, infer_all, infer_beside_marks, labels_like, without_marks

FilePath = str | PathLike[str]

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_COMPRESSED = (_GZIP, _ZSTD)
"""How compressed files begin."""

_T = TypeVar("_T")


def read_csv(
    path: FilePath,
    target: Any = None,
    *,
    null_values: str | Sequence[str] | None = None,
    separator: str | None = None,
    decimal: Literal[".", ","] = ".",
    encoding: str = "utf-8",
    **options: Any,
) -> Dataset:
    """Read a CSV file with a header row, plain or compressed with gzip or zstd.

    Dtypes are inferred from the whole file; times and dates that have the year first are recognised. ``+1``, ``inf``
    and ``nan``, which is missing, are numbers. So is a column that is numbers, dates, times or booleans but for cells
    such as ``NA``, ``N/A``, ``NaN``, ``null`` and ``None``, in any case: these are missing, and ``print(data)`` says
    so. Blank lines at the end of a file of several columns are left out, unless it is compressed. Columns listed under
    `nominal`, or under `ordinal` with their levels, are read as text, so that the level ``007`` keeps its zeros. With
    `like` nothing is inferred: cells are levels as they are written, and numbers, dates or times where the schema has
    these, or an error. Columns that are not needed are not looked at.

    Parameters
    ----------
    path : str or path-like
        The file.
    target : str, array-like of shape (n_rows,), or None, default=None
        As for :class:`Dataset`.
    null_values : str, sequence of str, or None, default=None
        Cells that mean missing, in all columns: these, the empty cell, and no other. None: the empty cell and ``?``,
        and in columns that have no other words what programs write for a missing value, as said above.
    separator : str or None, default=None
        One character. None: a tab for names that end in ``.tsv`` or ``.tab`` (before ``.gz`` or ``.zst``), else a comma
        or, where the header has none outside quotes, a semicolon, a tab or a bar if that is there.
    decimal : {".", ","}, default="."
        The decimal mark of numbers. With a comma, ``1,5`` is a number and ``1.500`` is none.
    encoding : str, default="utf-8"
        What Python calls the encoding of the text: ``"cp1252"``, ``"latin-1"``, ``"utf-16"``, ...
    **options
        `task`, `nominal`, `ordinal`, `counts`, `weight`, `drop`, `like`, `max_missing`, `costs` and `rewards` of
        :class:`Dataset`.

    Returns
    -------
    Dataset

    Raises
    ------
    OSError
        The file does not exist or cannot be read.
    ParameterError
        `separator` is not one character or is the decimal mark, or `decimal` or `encoding` is unknown.
    DataError
        The file is empty, damaged or no CSV file, its text is in another encoding, two columns have one name, a cell is
        not what `like` says (with column, row and value), or as for :class:`Dataset`.

    Notes
    -----
    Not for a forked process whose parent has used polars, whose readers then wait for ever for threads that do not
    survive a fork: start it by "spawn" or "forkserver", or read the file before the fork.
    """
    _check_path(path, "read_csv")
    source = csv_frame(path, target, null_values, separator, options, decimal=decimal, encoding=encoding)
    return Dataset(source, target, **options)


def read_parquet(path: FilePath, target: Any = None, **options: Any) -> Dataset:
    """Read a Parquet file.

    Parameters
    ----------
    path : str or path-like
        The file.
    target : str, array-like of shape (n_rows,), or None, default=None
        As for :class:`Dataset`.
    **options
        `task`, `nominal`, `ordinal`, `counts`, `weight`, `drop`, `like`, `max_missing`, `costs` and `rewards` of
        :class:`Dataset`.

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
    _check_path(path, "read_parquet")
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
        `task`, `nominal`, `ordinal`, `counts`, `weight`, `drop`, `like`, `max_missing`, `costs` and `rewards` of
        :class:`Dataset`.

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
    _check_path(path, "read_ipc")
    return Dataset(_binary_frame(path, "Arrow IPC", target, options), target, **options)


def csv_frame(
    path: FilePath,
    target: Any,
    null_values: Sequence[str] | None,
    separator: str | None,
    options: Mapping[str, Any],
    *,
    decimal: Literal[".", ","] = ".",
    encoding: str = "utf-8",
) -> Frame:
    """Return a CSV file as a frame, read as :func:`read_csv` says."""
    if separator is not None and (not isinstance(separator, str) or len(separator.encode()) != 1):
        raise ParameterError(f"`separator` must be one character of ASCII or None, got {separator!r}")
    if decimal not in (".", ","):
        raise ParameterError(f'`decimal` must be "." or ",", got {decimal!r}')
    marks = ["", "?"] if null_values is None else as_list(null_values, "null_values")
    text = _text_of(path, encoding)
    if separator is None:
        suffixes = [suffix.lower() for suffix in Path(path).suffixes]
        separator = "\t" if {".tsv", ".tab"} & set(suffixes[-2:]) else _separator(path, text, decimal)
    if separator == decimal:
        raise ParameterError(f"`separator` and `decimal` are both {decimal!r}; a file has one meaning for it")

    def header(file: IO[bytes]) -> pl.DataFrame:
        return pl.read_csv(file, separator=separator, has_header=False, n_rows=1, infer_schema=False)

    # polars renames the second of two equal names, so they are compared before it gets the chance.
    first = _read(path, "CSV", header, text=text)
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
        known = _read(path, "CSV", names, text=text)
        columns = _needed(known, schema, target, options) or known[:1]

    def body(typed: bool) -> Callable[[IO[bytes]], pl.DataFrame]:
        return lambda file: pl.read_csv(
            file,
            columns=columns,
            separator=separator,
            null_values=marks,
            schema_overrides=dict.fromkeys(as_text, pl.String),
            infer_schema=typed,
            infer_schema_length=None,
            decimal_comma=decimal == ",",
        )

    find = infer
    try:
        frame = _read(path, "CSV", body(typed=True), text=text)
    except DataError:  # some cells break the inference of polars, such as integers of 40 digits
        frame, find = _read(path, "CSV", body(typed=False), text=text), infer_all
    if first.width > 1:
        frame = _without_blank_end(frame, path, text)
    cells = _Cells(find, decimal, use_marks=null_values is None)
    if schema is None:
        # With both a full inference and try_parse_dates polars takes twenty times as long as for each alone.
        found = [column if column.name in as_text else cells.inferred(column) for column in frame]
    else:
        features, labels = {feature.name: feature for feature in schema.features}, _target_like(schema, target)
        found = []
        for column in frame:
            if column.name in labels:
                found.append(labels_like(column, schema, decimal))
            elif column.name in features:
                found.append(cells.like(column, features[column.name]))
            else:
                found.append(column if column.name in as_text else cells.inferred(column))
    data = pl.DataFrame({column.name: column for column in found})
    return Frame(Part(known or frame.columns, data), frame.height, marks=cells.marks)


def _without_blank_end(frame: pl.DataFrame, path: FilePath, text: bytes | None) -> pl.DataFrame:
    """Leave out the rows that are blank lines at the end of a file of several columns, unless it is compressed."""
    end = text
    if end is None and Path(path).is_file():  # no pipe, which has been read
        with Path(path).open("rb") as file:
            if file.read(4).startswith(_COMPRESSED):
                return frame
            file.seek(max(0, Path(path).stat().st_size - (1 << 16)))
            end = file.read()
    lines = (end or b"").split(b"\n")
    blank = len(list(itertools.takewhile(lambda line: line in (b"", b"\r"), reversed(lines)))) - 1
    if blank > 0 and all(column.tail(blank).is_null().all() for column in frame):
        return frame.head(frame.height - blank)
    return frame


class _Cells:
    """How the cells of one file are read, and what stood for missing ones in its columns."""

    def __init__(self, find: Callable[[pl.Series, str], pl.Series], decimal: str, *, use_marks: bool) -> None:
        self._find, self._decimal, self._use_marks = find, decimal, use_marks
        self.marks: dict[str, list[str]] = {}

    def inferred(self, column: pl.Series) -> pl.Series:
        """Return a column as it is found to be."""
        found = self._find(column, self._decimal)
        if self._use_marks:
            found, marks = infer_beside_marks(found, self._decimal)
            if marks:
                self.marks[column.name] = marks
        return found

    def like(self, column: pl.Series, feature: Feature) -> pl.Series:
        """Return a column of text as a feature has it."""
        if feature.number is not None and self._use_marks:
            column = without_marks(column)
        return cells_like(column, feature, self._decimal)


def _text_of(path: FilePath, encoding: str) -> bytes | None:
    """The text of a file in UTF-8; None if the file is in that itself.

    Raises
    ------
    ParameterError
        Python does not know the encoding.
    DataError
        The text is none in this encoding.
    """
    try:
        name = codecs.lookup(encoding).name
        "".encode(name)  # there are others than for text
    except (LookupError, TypeError, ValueError):
        raise ParameterError(f'`encoding` must be one that Python knows, such as "cp1252", got {encoding!r}') from None
    if name in ("utf-8", "ascii"):
        return None
    data = Path(path).read_bytes()
    if data.startswith(_ZSTD):
        raise DataError(f"{path} is compressed with zstd; unpack it to read it in {name}")
    try:
        if data.startswith(_GZIP):
            data = gzip.decompress(data)
        return data.decode(name).encode()
    except (OSError, EOFError, ValueError) as error:
        raise DataError(f"{path} cannot be read as CSV in {name}: {first_line(error)}") from error


def _separator(path: FilePath, text: bytes | None, decimal: str) -> str:
    """The separator of a file as its first line, of names, shows it."""

    def line(file: IO[bytes]) -> pl.DataFrame:
        return pl.read_csv(file, separator="\x1f", quote_char=None, has_header=False, n_rows=1, infer_schema=False)

    first = _read(path, "CSV", line, text=text)
    names = re.sub(r'"[^"]*"', "", str(first.row(0)[0])) if first.height else ""
    likely = [one for one in ",;\t|" if one != decimal]
    return next((one for one in likely if one in names), likely[0])


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
    costs = _case_costs.given(options.get("costs"), options.get("rewards"))
    needed |= set() if costs is None else {*costs.columns()}
    if schema is None:
        return [name for name in known if name in needed or name not in dropped]
    needed |= {*schema.feature_names, *_target_like(schema, target)}
    return [name for name in known if name in needed]


def _check_path(path: Any, reader: str) -> None:
    """Raise an error for an address or an open file, and say what reads these."""
    is_address = isinstance(path, str) and re.match(r"[a-z0-9]+://", path) is not None
    if is_address or not isinstance(path, (str, PathLike)):
        got = f"the address {path!r}" if is_address else type(path).__name__
        error = ParameterError if is_address else TypeError
        raise error(
            f"`path` must be the path of a file, got {got}; polars reads it: Dataset(polars.{reader}(...), ...)"
        )


def _read(
    path: FilePath,
    kind: str,
    reader: Callable[[IO[bytes]], _T],
    given: FilePath | None = None,
    text: bytes | None = None,
) -> _T:
    """Read an open file, or its text: polars would take a path as a pattern or URL, and call a directory damaged."""
    shown = path if given is None else given
    with Path(path).open("rb") as file:
        if Path(path).is_file() and Path(path).stat().st_size == 0:
            raise DataError(f"{shown} is empty; expected a {kind} file")
        try:
            with without_traces():
                return reader(file if text is None else io.BytesIO(text))
        except pl.exceptions.NoDataError:
            raise DataError(f"{shown} is empty; expected a {kind} file") from None
        except OSError as error:
            if error.errno is not None:
                raise
            raise DataError(f"{shown} cannot be read as {kind}: {first_line(error)}") from error
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError, OverflowError) as error:
            reason = first_line(error)
            if kind == "CSV" and "utf" in reason.lower():
                reason += '; if it is in another encoding than UTF-8, pass that, such as encoding="cp1252"'
            raise DataError(f"{shown} cannot be read as {kind}: {reason}") from error
