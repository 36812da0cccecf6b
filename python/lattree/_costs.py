"""What it costs to give cases of a class a label: a matrix that is read by names."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from lattree._core import ParameterError
from lattree._dtypes import list_names, quoted
from lattree._frames import to_frame
from lattree._series import is_pandas

_CLASS = "class"
"""The name of a column that holds the classes of the rows."""


@dataclass(frozen=True, slots=True, init=False)
class Costs:
    """What it costs to give a case of a class, a row, a label, a column.

    ``OptimalTreeSearch(objective=Costs(...))`` minimises them, and greedy searches take them for `costs`. Frozen and
    hashable; pickles.

    Parameters
    ----------
    matrix : array-like of shape (n_classes, n_labels), pandas, polars or pyarrow frame, or mapping of columns
        Finite numbers of any sign. Rows and columns of an array are in the order of the classes of the dataset
        (``schema.classes``). A frame is read by its names, in whatever order they stand: that of pandas has the classes
        as its index and the labels as its columns; any other has labels as columns, and the classes in its first
        column, if that is named "class" or holds no numbers.
    classes : sequence or None, default=None
        The classes of the rows, where the matrix does not name them.
    labels : sequence or None, default=None
        The labels of the columns, where the matrix does not name them; None: the classes. Labels that are no classes,
        such as "refer", are labels of their own, which only leaves have; they stand after the classes.

    Attributes
    ----------
    matrix : tuple of tuple of float
        The costs, row by row.
    classes, labels : tuple of str, or None
        The names of rows and columns; None: they are in the order of the classes.

    Raises
    ------
    ParameterError
        A cost is no finite number, a name is there twice, or names and costs differ in number; the text names row,
        column and value.
    TypeError
        `matrix` is neither an array nor a frame.

    Notes
    -----
    Classes are matched by their text: 1, 1.0 and "1" name the class 1, and True, "True" and "true" the class True. That
    names and classes agree is checked when a search runs: only then there are classes.

    Examples
    --------
    >>> costs = Costs([[0, 1], [5, 0]], classes=["no", "yes"])
    >>> costs.labels
    ('no', 'yes')
    """

    matrix: tuple[tuple[float, ...], ...]
    classes: tuple[str, ...] | None
    labels: tuple[str, ...] | None

    def __init__(
        self, matrix: Any, *, classes: Sequence[Any] | None = None, labels: Sequence[Any] | None = None
    ) -> None:
        of_rows, of_columns, rows = _read(matrix)
        names = {
            "classes": _names("classes", classes, of_rows),
            "labels": _names("labels", labels, of_columns),
        }
        if names["labels"] is None:
            names["labels"] = names["classes"]
        if of_columns is not None and names["classes"] is None:
            raise ParameterError(
                "`classes` must name the rows of a frame that does not: its first column holds numbers and is not "
                f"named {quoted(_CLASS)}"
            )
        width = len(rows[0]) if rows else 0
        for name, expected, what in (("classes", len(rows), "row"), ("labels", width, "column")):
            given = names[name]
            if given is not None and len(given) != expected:
                raise ParameterError(
                    f"`{name}` must be one for each of the {expected} {what}s of the matrix, got {len(given)}: "
                    f"{list_names(given)}"
                )
        for row, costs in enumerate(rows):
            if len(costs) != width:
                raise ParameterError(
                    f"`matrix` must have as many costs in each row, got {len(costs)} in {_place('row', row, names)} "
                    f"and {width} in the first"
                )
        checked = tuple(
            tuple(_cost(cost, row, column, names) for column, cost in enumerate(costs))
            for row, costs in enumerate(rows)
        )
        if not width:
            raise ParameterError("`matrix` must have a row for each class and a column for each label, got none")
        object.__setattr__(self, "matrix", checked)
        object.__setattr__(self, "classes", names["classes"])
        object.__setattr__(self, "labels", names["labels"])

    def _matrix_for(self, classes: list[Any], parameter: str) -> tuple[list[list[float]], list[str]]:
        """Return a row for each class and a column for each label, and the names of the labels after the classes.

        `parameter` is what the costs were given as, for error texts.
        """
        texts = [text_of(label) for label in classes]
        rows = _places("row", self.classes, len(self.matrix), classes, parameter)
        if unknown := [self.classes[row] for row in range(len(self.matrix)) if row not in rows] if self.classes else []:
            raise ParameterError(
                f"`{parameter}` must have rows of classes of the data, {list_names(texts)}, got {list_names(unknown)}"
            )
        columns = _places("column", self.labels, len(self.matrix[0]), classes, parameter)
        extra: list[str] = []
        if self.labels is not None:
            others = [column for column in range(len(self.labels)) if column not in columns]
            extra = [self.labels[column] for column in others]
            columns = columns + others
        return [[self.matrix[row][column] for column in columns] for row in rows], extra


def named(given: Any) -> Costs | None:
    """Return costs that are `Costs`, or a labelled frame of them; None for all else, which has no names."""
    if isinstance(given, Costs):
        return given
    is_empty = isinstance(given, Mapping) and not given
    return Costs(given) if _is_frame(given) and not is_empty and not _is_nameless(given) else None


def text_of(label: Any) -> str:
    """Return a class label as trees print it, whatever type it has."""
    if isinstance(label, (bool, np.bool_)):
        return "true" if label else "false"
    if isinstance(label, (float, np.floating)) and math.isfinite(label) and label == int(label):
        return str(int(label))
    return str(label)


def place_of(label: Any, names: Sequence[str]) -> int | None:
    """Return the place of a class among names, if one is its text; of booleans and floats also as Python has them."""
    for text in (text_of(label), str(label)):
        if text in names:
            return names.index(text)
    if isinstance(label, (int, float)) and not isinstance(label, bool) and f"{float(label)}" in names:
        return names.index(f"{float(label)}")
    return None


def _places(what: str, names: tuple[str, ...] | None, length: int, classes: list[Any], parameter: str) -> list[int]:
    """The place of each class among the rows or columns; an error that names a class without one."""
    n_classes = len(classes)
    if names is None:
        if length != n_classes:
            more = ": name the others, labels=[...]" if length > n_classes and what == "column" else ""
            raise ParameterError(
                f"`{parameter}` must be costs with a {what} for each of the {n_classes} classes, "
                f"{list_names(text_of(label) for label in classes)}, got {length} {what}s{more}"
            )
        return list(range(n_classes))
    places = [place_of(label, names) for label in classes]
    for label, place in zip(classes, places, strict=True):
        if place is None:
            raise ParameterError(
                f"`{parameter}` must be costs with a {what} for each class, got none for {quoted(text_of(label))}: its "
                f"{what}s are {list_names(names)}"
            )
    return [place for place in places if place is not None]


def _is_frame(given: Any) -> bool:
    return (
        isinstance(given, (pl.DataFrame, pl.LazyFrame, Mapping))
        or is_pandas(given, "DataFrame")
        or (
            hasattr(given, "__arrow_c_stream__") and not isinstance(given, pl.Series) and not is_pandas(given, "Series")
        )
    )


def _is_nameless(frame: Any) -> bool:
    """Whether a frame has no names but those that pandas or polars number rows and columns by: it is an array then."""
    if is_pandas(frame, "DataFrame"):
        return all(type(names).__name__ == "RangeIndex" for names in (frame.index, frame.columns))
    return isinstance(frame, pl.DataFrame) and frame.columns == [f"column_{place}" for place in range(frame.width)]


def _read(matrix: Any) -> tuple[list[Any] | None, list[Any] | None, list[list[Any]]]:
    """The names of rows and columns, as far as a matrix has them, and its cells."""
    if _is_frame(matrix) and _is_nameless(matrix):
        matrix = matrix.to_numpy()
    if is_pandas(matrix, "DataFrame"):
        index = list(matrix.index) if type(matrix.index).__name__ != "RangeIndex" else None
        columns = list(matrix.columns)
        cells = [list(matrix.iloc[:, place]) for place in range(len(columns))]
    elif _is_frame(matrix):
        frame = to_frame(matrix).data
        index, columns = None, list(frame.columns)
        cells = [frame.get_column(name).to_list() for name in columns]
    elif isinstance(matrix, (str, bytes)) or (not hasattr(matrix, "__len__") and not hasattr(matrix, "__array__")):
        raise TypeError(
            f"`matrix` must be an array of costs with a row per class and a column per label, or a frame, "
            f"got {matrix!r}"
        )
    else:
        rows = matrix.tolist() if isinstance(matrix, np.ndarray) else np.asarray(matrix, dtype=object).tolist()
        if not all(isinstance(row, (list, tuple)) for row in rows):
            raise ParameterError(
                f"`matrix` must have two dimensions, a row per class and a column per label, got {rows!r}"
            )
        return None, None, [list(row) for row in rows]
    if index is None and columns and (str(columns[0]) == _CLASS or not all(map(_is_number, cells[0]))):
        index, columns, cells = cells[0], columns[1:], cells[1:]
    height = len(cells[0]) if cells else 0
    return index, columns, [[column[row] for column in cells] for row in range(height)]


def _names(name: str, given: Any, own: list[Any] | None) -> tuple[str, ...] | None:
    """Names given, or those that the matrix has, as text; an error if they differ, or one is there twice."""
    if isinstance(given, (str, bytes)) or (given is not None and not hasattr(given, "__iter__")):
        raise TypeError(f"`{name}` must be a sequence of labels or None, got {given!r}")
    texts = None if given is None else tuple(text_of(label) for label in given)
    if own is not None:
        of_matrix = tuple(text_of(label) for label in own)
        if texts not in (None, of_matrix):
            raise ParameterError(
                f"`{name}` must be None where the matrix names them, {list_names(of_matrix)}, "
                f"got {list_names(texts or ())}"
            )
        texts = of_matrix
    for place, text in enumerate(texts or ()):
        if text in (texts or ())[:place]:
            raise ParameterError(f"`{name}` must be distinct, got {quoted(text)} twice")
    return texts


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, (bool, np.bool_))


def _cost(value: Any, row: int, column: int, names: Mapping[str, tuple[str, ...] | None]) -> float:
    try:
        cost = float(value) if _is_number(value) or type(value).__name__ == "Decimal" else math.nan
    except OverflowError:
        cost = math.inf
    if not math.isfinite(cost):
        place = f"{_place('row', row, names)}, {_place('column', column, names)}"
        raise ParameterError(f"`matrix` must hold finite numbers, got {value!r} in {place}")
    return cost


def _place(what: str, place: int, names: Mapping[str, tuple[str, ...] | None]) -> str:
    given = names["classes" if what == "row" else "labels"]
    return f"{what} {place if given is None or place >= len(given) else quoted(given[place])}"


Costs.__module__ = "lattree"
