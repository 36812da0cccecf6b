"""Datasets straight from files: CSV, Parquet and Arrow IPC."""

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import IO, Any

import polars as pl

from lattree._core import DataError, Dataset
from lattree._frames import check_distinct

FilePath = str | PathLike[str]

_LIKE_A_TIME = re.compile(r"\d+[-/.:]\d+")


def read_csv(
    path: FilePath,
    target: Any = None,
    *,
    null_values: Sequence[str] = ("", "?"),
    separator: str | None = None,
    **options: Any,
) -> Dataset:
    """Read a CSV file with a header row, plain or compressed with gzip or zstd.

    Dtypes are inferred from the whole file; dates and times are recognised. Columns listed under `nominal`, or under
    `ordinal` with their levels, are read as text, so that the level ``007`` keeps its zeros.

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
        The file is empty or no CSV file, two columns have one name, or as for :class:`Dataset`.

    Notes
    -----
    Not for a forked process whose parent has used polars, whose readers then wait for ever for threads that do not
    survive a fork: start it by "spawn" or "forkserver", or read the file before the fork.
    """
    return Dataset(csv_frame(path, null_values, separator, options), target, **options)


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
        The file is empty or no Parquet file, or as for :class:`Dataset`.

    Notes
    -----
    Not for a forked process whose parent has used polars, whose readers then wait for ever for threads that do not
    survive a fork: start it by "spawn" or "forkserver", or read the file before the fork.
    """
    return Dataset(_read(path, "Parquet", pl.read_parquet), target, **options)


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
        The file is empty or no Arrow IPC file, or as for :class:`Dataset`.

    Notes
    -----
    Not for a forked process whose parent has used polars, whose readers then wait for ever for threads that do not
    survive a fork: start it by "spawn" or "forkserver", or read the file before the fork.
    """
    return Dataset(_read(path, "Arrow IPC", pl.read_ipc), target, **options)


def csv_frame(
    path: FilePath, null_values: Sequence[str], separator: str | None, options: Mapping[str, Any]
) -> pl.DataFrame:
    """Return a CSV file as a frame, read as :func:`read_csv` says."""
    if separator is None:
        suffixes = [suffix.lower() for suffix in Path(path).suffixes]
        separator = "\t" if {".tsv", ".tab"} & set(suffixes[-2:]) else ","

    def header(file: IO[bytes]) -> pl.DataFrame:
        return pl.read_csv(file, separator=separator, has_header=False, n_rows=1, infer_schema=False)

    # polars renames the second of two equal names, so they are compared before it gets the chance.
    check_distinct(["" if name is None else name for name in _read(path, "CSV", header).row(0)])
    nominal, ordinal = options.get("nominal", ()), options.get("ordinal", ())
    as_text = [nominal] if isinstance(nominal, str) else list(nominal)
    as_text += list(ordinal) if isinstance(ordinal, Mapping) else []

    def body(file: IO[bytes]) -> pl.DataFrame:
        return pl.read_csv(
            file,
            separator=separator,
            null_values=list(null_values),
            schema_overrides={str(name): pl.String for name in as_text},
            infer_schema_length=None,
        )

    frame = _read(path, "CSV", body)
    # With both a full inference and try_parse_dates polars takes twenty times as long as for each alone.
    return frame.with_columns(_as_times(column) for column in frame if column.name not in as_text)


def _as_times(column: pl.Series) -> pl.Series:
    """A text column as dates, instants or times of day, if all its cells are such."""
    first = column.drop_nulls().head(1).to_list() if column.dtype == pl.String else []
    if not first or not _LIKE_A_TIME.match(first[0]):
        return column
    kinds: tuple[tuple[Any, str | None], ...] = (
        (pl.Date, "%Y-%m-%d"),
        (pl.Datetime("us"), None),
        (pl.Time, "%H:%M:%S"),
    )
    for dtype, form in kinds:
        with contextlib.suppress(pl.exceptions.PolarsError):  # no format fits
            parsed = column.str.strptime(dtype, form, strict=False)
            if parsed.null_count() == column.null_count():
                return parsed
    return column


def _read(path: FilePath, kind: str, reader: Callable[[IO[bytes]], pl.DataFrame]) -> pl.DataFrame:
    """Read an open file: polars would take a path as a pattern or URL, and report a directory as a data error."""
    with Path(path).open("rb") as file:
        if Path(path).is_file() and Path(path).stat().st_size == 0:
            raise DataError(f"{path} is empty; expected a {kind} file")
        try:
            return reader(file)
        except pl.exceptions.NoDataError:
            raise DataError(f"{path} is empty; expected a {kind} file") from None
        except pl.exceptions.PolarsError as error:
            raise DataError(f"{path} cannot be read as {kind}: {str(error).splitlines()[0]}") from error
