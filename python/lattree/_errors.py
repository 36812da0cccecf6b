"""What polars raises and prints, as the errors of this package, and warnings at the line of the caller."""

import contextlib
import functools
import os
import shutil
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import IO, ParamSpec, TypeVar

import polars as pl

from lattree._core import DataError, _quoted

_P = ParamSpec("_P")
_T = TypeVar("_T")


def typed(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Make a DataError of what polars raises where it cannot handle a value or a column, a panic included.

    Values beyond the calendar and rare Arrow types are such; a panic would pass by ``except Exception``. So is text
    that cannot be encoded: half of a surrogate pair, as file names of undecodable bytes have it.
    """

    @functools.wraps(function)
    def wrapped(*args: _P.args, **keywords: _P.kwargs) -> _T:
        try:
            return function(*args, **keywords)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise DataError(f"polars cannot handle a value or column of this table: {first_line(error)}") from error
        except UnicodeEncodeError as error:
            raise DataError(
                f"{_quoted(str(error.object)[:100])} holds half of a surrogate pair; expected valid text"
            ) from error

    return wrapped


_BETWEEN = ("lattree", "sklearn", "joblib")
"""Packages whose functions call this one on behalf of somebody else."""


def warn(text: str) -> None:
    """Warn the caller of this package, with a ``UserWarning`` that says in which line of his it is."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in _BETWEEN:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, UserWarning, stacklevel=level)


# Characters of an error of another library: it may show a cell that is a whole file.
_MOST_SHOWN = 1000


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text, cut where it goes on and on, or its type where it has none."""
    try:
        text = str(error)
    except Exception:  # an error made of values that cannot be printed
        text = ""
    line = (text.strip().splitlines() or [type(error).__name__])[0]
    return line if len(line) <= _MOST_SHOWN else f"{line[: _MOST_SHOWN // 2]} ... {line[-_MOST_SHOWN // 2 :]}"


class _Held:
    """What goes to stderr while readers run, and how many they are."""

    lock = threading.Lock()
    readers = 0
    panicked = False
    stderr = -1
    sink: IO[bytes] | None = None


@contextlib.contextmanager
def without_traces() -> Iterator[None]:
    """Hold back stderr, and drop what came there if polars panics, whose trace no user can read.

    All else, also what other threads write meanwhile, follows at the end.
    """
    with _Held.lock:
        if _Held.readers == 0:
            _hold()
        _Held.readers += 1
    try:
        yield
    except pl.exceptions.PanicException:
        _Held.panicked = True
        raise
    finally:
        with _Held.lock:
            _Held.readers -= 1
            if _Held.readers == 0:
                _release()


def _hold() -> None:
    _Held.panicked = False
    with contextlib.suppress(OSError):  # no stderr, or no place for a file
        _Held.sink = tempfile.TemporaryFile()  # noqa: SIM115
        _Held.stderr = os.dup(2)
        os.dup2(_Held.sink.fileno(), 2)


def _release() -> None:
    if _Held.stderr >= 0:
        os.dup2(_Held.stderr, 2, inheritable=True)
        os.close(_Held.stderr)
    sink, _Held.sink, stderr, _Held.stderr = _Held.sink, None, _Held.stderr, -1
    if sink is None:
        return
    with sink, contextlib.suppress(OSError):
        if stderr >= 0 and not _Held.panicked:
            sink.seek(0)
            with os.fdopen(os.dup(2), "wb") as held:
                shutil.copyfileobj(sink, held)


def _forked() -> None:
    """In a forked process: give it its stderr, and a lock that no one here holds."""
    _Held.lock = threading.Lock()
    if _Held.readers:
        _Held.readers, _Held.panicked = 0, True
        _release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
