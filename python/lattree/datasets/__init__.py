"""Small real tables that come with the package; ``SOURCES.md`` beside this file says where each is from."""

from importlib.resources import files
from io import BytesIO

import polars as pl

from lattree._core import Dataset, ParameterError
from lattree._dtypes import list_names

__all__ = ["describe", "load", "load_frame", "names"]

TARGET = "class"
"""The target of every bundled table."""

_UCI = "UCI Machine Learning Repository, CC BY 4.0"

_ORIGINS = {
    "anneal": f"steel annealing grades, mixed columns with many missing cells ({_UCI})",
    "hypothyroid": f"thyroid diagnoses, mixed columns with missing cells ({_UCI})",
    "ionosphere": f"radar returns from the ionosphere, continuous columns ({_UCI})",
    "iris": f"lengths and widths of iris flowers in cm ({_UCI})",
    "kr-vs-kp": f"chess end games, king and rook against king and pawn ({_UCI})",
    "restaurant": "whether to wait for a table, 12 cases (Russell and Norvig, Artificial Intelligence)",
    "soybean": f"soybean diseases, 19 classes, nominal columns with missing cells ({_UCI})",
    "titanic": "survival on the Titanic by class, age and sex (Dawson 1995)",
    "vote": f"votes of the US House in 1984 by party, with missing cells ({_UCI})",
    "weather": "whether to play, 14 days, numeric version (Quinlan 1986)",
}


def names() -> list[str]:
    """Return the names that :func:`load` takes, in alphabetical order."""
    return list(_ORIGINS)


def describe(name: str) -> str:
    """Return one line on what a bundled table holds and where it is from.

    Parameters
    ----------
    name : str
        One of :func:`names`.

    Returns
    -------
    str

    Raises
    ------
    ParameterError
        There is no table of that name; the text lists the names.
    """
    return _ORIGINS[_checked(name)]


def load(name: str) -> Dataset:
    """Return a bundled table with its target, ``class``.

    Parameters
    ----------
    name : str
        One of :func:`names`.

    Returns
    -------
    Dataset

    Raises
    ------
    ParameterError
        There is no table of that name; the text lists the names.

    Notes
    -----
    Not for a forked process whose parent has used polars, whose readers then wait for ever for threads that do not
    survive a fork: start it by "spawn" or "forkserver", or load the table before the fork.

    Examples
    --------
    >>> data = lattree.datasets.load("iris")
    >>> data.n_rows, data.n_features
    (150, 4)
    """
    return Dataset(load_frame(name), TARGET)


def load_frame(name: str) -> pl.DataFrame:
    """Return a bundled table as a polars frame: nominal columns as String, numbers as integers or floats.

    Parameters
    ----------
    name : str
        One of :func:`names`.

    Returns
    -------
    polars.DataFrame

    Raises
    ------
    ParameterError
        There is no table of that name; the text lists the names.

    Notes
    -----
    Not for a forked process whose parent has used polars, whose readers then wait for ever for threads that do not
    survive a fork: start it by "spawn" or "forkserver", or load the table before the fork.
    """
    # Through bytes, so that it works from a zip archive too.
    return pl.read_parquet(BytesIO(files(__name__).joinpath(f"{_checked(name)}.parquet").read_bytes()))


def _checked(name: str) -> str:
    if name not in _ORIGINS:
        raise ParameterError(f"there is no bundled table {name!r}; there are {list_names(_ORIGINS)}")
    return name
