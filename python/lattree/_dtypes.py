"""Polars dtypes as text and back, and the wording that all error texts share."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from lattree._core import _quoted

NAMES_SHOWN = 10
"""How many names an error text lists before it counts the rest."""

# Only these can come out of a tree file, whatever text stands in it. Older polars releases lack the last ones.
_PLAIN: dict[str, type[pl.DataType]] = {
    name: getattr(pl, name)
    for name in (
        *("Boolean", "String", "Null", "Date", "Time", "Float32", "Float64"),
        *("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"),
        *("Float16", "Int128", "UInt128"),
    )
    if hasattr(pl, name)
}


LONGEST_NAME = 200
"""Characters of a name in an error text: of a damaged file a name may be the whole first line."""


def quoted(text: str) -> str:
    """Return `text` in double quotes for an error text, with what does not show escaped, as the core prints names.

    Of a very long one its beginning and its end.
    """
    half = LONGEST_NAME // 2
    return _quoted(text) if len(text) <= LONGEST_NAME else f"{_quoted(text[:half])} ... {_quoted(text[-half:])}"


def list_names(names: Iterable[str]) -> str:
    """Return names for an error text: all of them, or the first ten and how many more."""
    every = [quoted(name) for name in names]
    if not every:
        return "none"
    more = len(every) - NAMES_SHOWN
    return ", ".join(every[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def shown(value: Any) -> str:
    """Return one cell for an error text: text in quotes, everything else as Python prints it."""
    return quoted(value) if isinstance(value, str) else str(value)


def dtype_name(dtype: pl.DataType) -> str:
    """Return a dtype for an error text, without the hundreds of categories that an Enum may have."""
    return "Enum" if isinstance(dtype, pl.Enum) else str(dtype)


_MARKED = ("Int64", "Int128", "Float64", "Date", "Boolean")
"""Dtypes that cells of text become, and that have no parameters."""


def dtype_to_text(dtype: pl.DataType, marks: Sequence[str] = ()) -> str:
    """Return the text from which :func:`dtype_from_text` makes the dtype again.

    The name alone (``Int32``), or the name and its parameters as a JSON list (``Datetime["us", "Europe/Berlin"]``). For
    a column that was read from text, the list has what stood there for missing values (``Int64["NA"]``).
    """
    arguments: list[Any] = list(marks) if str(dtype) in _MARKED else []
    if isinstance(dtype, pl.Datetime):
        arguments = [dtype.time_unit, dtype.time_zone]
    elif isinstance(dtype, pl.Duration):
        arguments = [dtype.time_unit]
    elif isinstance(dtype, pl.Decimal):
        arguments = [dtype.precision, dtype.scale]
    elif isinstance(dtype, pl.Enum):
        arguments = dtype.categories.to_list()
    elif isinstance(dtype, pl.Categorical) and dtype.categories.name():
        arguments = [dtype.categories.name(), dtype.categories.namespace()]
    name = dtype.base_type().__name__  # of an instance or, as old polars has some of them, of a class
    return f"{name}{json.dumps(arguments, ensure_ascii=False)}" if arguments else name


def marks_of(text: str) -> list[str]:
    """Return what stood for missing values in a column with this text of its dtype."""
    name, bracket, rest = text.partition("[")
    if name not in _MARKED or not bracket:
        return []
    try:
        marks = json.loads(bracket + rest)
    except ValueError:
        return []
    return [mark for mark in marks if isinstance(mark, str)]


def dtype_from_text(text: str) -> pl.DataType | None:
    """Return the dtype that :func:`dtype_to_text` wrote, or ``None`` for a text it did not write.

    The text may come from a file that someone else made, so anything is taken without an error.
    """
    name, bracket, rest = text.partition("[")
    try:
        arguments = json.loads(bracket + rest) if bracket else []
        match name:
            case "Datetime":
                return pl.Datetime(*arguments)
            case "Duration":
                return pl.Duration(*arguments)
            case "Decimal":
                return pl.Decimal(*arguments)
            case "Enum":
                return pl.Enum(arguments)
            case "Categorical" if arguments:
                return pl.Categorical(pl.Categories(arguments[0], namespace=arguments[1]))
            case "Categorical":
                return pl.Categorical()
            case _:
                plain = _PLAIN.get(name)
                marked = name in _MARKED and all(isinstance(mark, str) for mark in arguments)
                return plain() if plain is not None and (marked or not arguments) else None
    except (AttributeError, IndexError, TypeError, ValueError, pl.exceptions.PolarsError):
        return None
