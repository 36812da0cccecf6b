"""What polars raises, as the errors of this package."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

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
            raise DataError(f"polars cannot handle a value or column of this table: {error}") from error
        except UnicodeEncodeError as error:
            raise DataError(
                f"{_quoted(str(error.object)[:100])} holds half of a surrogate pair; expected valid text"
            ) from error

    return wrapped
