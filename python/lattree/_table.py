"""Tables to plain arrays and back: the Python half of :class:`lattree.Dataset`.

The compiled module calls :func:`encode`, :func:`encode_arrays` or :func:`encode_for_prediction` and copies the arrays
it gets, but for those to predict on that it reads where they are (:func:`exact_floats`); the way back is
:func:`decode`, :func:`decode_costs`, :func:`label_series` and :func:`number_series`.
"""

from collections.abc import Container, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from lattree import _case_costs
from lattree._case_costs import CaseCosts
from lattree._case_costs import decode as decode_costs
from lattree._columns import Column, decode_column, encode_column, encode_column_like
from lattree._core import DataError, ParameterError, Schema
from lattree._describe import describe
from lattree._dtypes import NAMES_SHOWN, list_names, quoted
from lattree._errors import typed, warn
from lattree._frames import Cells, Frame, Source, arrays_to_frame, exact_floats, lazy_to_frame, to_frame
from lattree._levels import MISSING, level_names
from lattree._series import flat, is_pandas, to_series
from lattree._target import (
    Target,
    Task,
    check_marks,
    decode_target,
    encode_counts,
    encode_label_array,
    encode_target,
    encode_target_like,
    encode_weight,
    is_label_array,
    label_series,
    number_series,
)

__all__ = [
    "CaseCosts",
    "Column",
    "Encoded",
    "Target",
    "decode",
    "decode_costs",
    "decode_target",
    "describe",
    "encode",
    "encode_arrays",
    "encode_for_prediction",
    "exact_floats",
    "label_series",
    "number_series",
]

Ordinal = Mapping[str, Sequence[Any]] | Sequence[str]


@dataclass(frozen=True, slots=True)
class Encoded:
    """A whole table, ready to be copied by the compiled module."""

    columns: list[Column] | Cells
    n_rows: int
    target: Target | None
    counts: npt.NDArray[np.uint64] | None
    weight: npt.NDArray[np.float64] | None
    costs: CaseCosts | None = None


@typed
def encode(
    table: Any,
    target: Any,
    *,
    task: Task | None,
    nominal: Sequence[str],
    ordinal: Ordinal,
    counts: Any,
    weight: Any,
    drop: Sequence[str],
    schema: Schema | None,
    max_missing: float | None = None,
    costs: Any = None,
    rewards: Any = None,
) -> Encoded:
    """Encode a table with column names.

    Parameters
    ----------
    table : polars or pandas DataFrame, pyarrow Table, object with ``__arrow_c_stream__``, or mapping of columns
        Shape (n_rows, any). Names that are no text are turned into text; a pandas index is ignored.
    target : str, array-like of shape (n_rows,) or (n_rows, 1), or None
        A column's name, or the labels themselves; with `schema`, None takes the schema's target if the table has it.
    task : {"classes", "numbers"} or None
        None: floats that are not all whole mean numbers, everything else classes.
    nominal : sequence of str
        Columns to be taken as named levels whatever their dtype. The target may be among them: it has classes then.
    ordinal : mapping of str to sequence, or sequence of str
        Columns to be taken as ordered levels: in the order given, else in the order of the Enum or the values.
    counts, weight : str, array-like of shape (n_rows,), or None
        Whole numbers >= 0 and finite numbers >= 0; a column named here is no feature.
    drop : sequence of str
        Columns to leave out.
    schema : Schema or None
        Map columns by name and levels by name onto this one; columns that it does not know are left out.
    max_missing : float or None
        Leave out columns of which a larger share of rows than this is missing; of no effect with `schema`.
    costs, rewards : sequence of str, frame, array-like of shape (n_rows, n_labels), mapping, or None
        What labels cost in each row, or are worth; at most one of both. Columns named here are no features.

    Raises
    ------
    TypeError
        `table` is no table with names.
    ParameterError
        `task` or `max_missing` is none of these, kinds are asked for that contradict `schema`, or there are costs and
        rewards.
    DataError
        A name is unknown or occurs twice, or a cell cannot be used; the text names column, row and value.

    Warns
    -----
    UserWarning
        A target of many integers is taken for classes, or a level is none of the schema's.
    """
    frame = to_frame(table)
    left_out, of_cases = as_list(drop, "drop"), _case_costs.given(costs, rewards)
    return _encode(
        frame,
        target,
        task,
        as_list(nominal, "nominal"),
        ordinal,
        counts,
        weight,
        left_out,
        schema,
        max_missing,
        of_cases,
    )


@typed
def encode_arrays(
    X: Any,
    y: Any,
    feature_names: Sequence[str] | None,
    *,
    task: Task | None,
    nominal: Sequence[str],
    ordinal: Ordinal,
    counts: Any,
    weight: Any,
    schema: Schema | None,
    max_missing: float | None = None,
    costs: Any = None,
    rewards: Any = None,
) -> Encoded:
    """Encode a two-dimensional array or a list of rows; for the rest see :func:`encode`.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
        A numpy array of any dtype, strides and flags, or a list of rows.
    y : array-like of shape (n_rows,), str, or None
        The labels, or the name of the column that holds them.
    feature_names : sequence or None
        Names of the columns. None: those of `schema`, else ``x0``, ``x1``, ...
    """
    names = None if feature_names is None else [str(name) for name in feature_names]
    if names is None and schema is not None:
        names = schema.feature_names
    frame, of_cases = arrays_to_frame(X, names), _case_costs.given(costs, rewards)
    return _encode(
        frame, y, task, as_list(nominal, "nominal"), ordinal, counts, weight, [], schema, max_missing, of_cases
    )


@typed
def encode_for_prediction(table: Any, schema: Schema, names: Sequence[str], unseen: str) -> Encoded:
    """Encode the features that a tree asks about; the target and all other columns are ignored.

    Parameters
    ----------
    table : as for :func:`encode`, or array-like of shape (n_rows, n_features)
        An array or a list of rows has all of the schema's columns, in its order.
    schema : Schema
        The tree's.
    names : sequence of str
        The features that are needed, in the order of the schema.
    unseen : {"majority", "missing", "error"}
        What the tree does with levels that the schema does not know. But for the last, which raises, a ``UserWarning``
        names them.

    Raises
    ------
    TypeError, DataError
        As :func:`encode`; also if columns are missing from the table.
    """
    if isinstance(table, (np.ndarray, list, tuple)):
        frame = arrays_to_frame(table, schema.feature_names)
    elif isinstance(table, pl.LazyFrame):
        frame = lazy_to_frame(table, names)
    else:
        frame = to_frame(table)
    columns = _columns_like(frame.data, schema, names)
    if unseen == "majority":
        _warn_of_unseen(columns, "they take the branch that most of the training rows took")
    elif unseen == "missing":
        _warn_of_unseen(columns, "they are treated as missing")
    return Encoded(columns, frame.n_rows(names), None, None, None)


@typed
def decode(
    columns: list[Column],
    target: Target | None,
    counts: npt.NDArray[np.uint64] | None,
    weight: npt.NDArray[np.float64] | None,
) -> pl.DataFrame:
    """Return the table in the caller's values and dtypes: the features, the target, ``counts`` and ``weight``.

    The last two get a ``_`` appended where a column of that name exists.
    """
    series = {column.name: decode_column(column) for column in columns}
    if target is not None:
        series[target.name] = decode_target(target)
    for name, values in (("counts", counts), ("weight", weight)):
        if values is not None:
            series[_distinct(name, series)] = pl.Series(values)
    return pl.DataFrame(series)


def _encode(
    source: Frame,
    target: Any,
    task: Task | None,
    nominal: list[str],
    ordinal: Ordinal,
    counts: Any,
    weight: Any,
    drop: list[str],
    schema: Schema | None,
    max_missing: float | None,
    costs: _case_costs.Given | None,
) -> Encoded:
    if max_missing is not None and not (_is_number(max_missing) and 0 <= max_missing <= 1):
        raise ParameterError(f"`max_missing` must be a share of rows from 0 to 1, or None, got {max_missing!r}")
    frame = source.data
    known = dict.fromkeys(frame.columns)
    if isinstance(target, tuple) and str(target) in known:
        target = str(target)  # a pandas column with names of several levels
    ordered = _ordinal_levels(ordinal)
    both = [name for name in nominal if name in ordered]
    if both:
        raise ParameterError(f"`nominal` and `ordinal` both name {quoted(both[0])}; a column has one kind")
    for what, names in (("nominal", nominal), ("ordinal", list(ordered)), ("drop", drop)):
        for name in names:
            _check_column(known, name, f"`{what}`")
    if schema is not None:
        _check_kinds(schema, nominal, ordered, drop)

    dropped = set(drop)
    if target is None and schema is not None and schema.target in known and schema.target not in dropped:
        target = schema.target
    given = [_column_name(one) for one in (target, counts, weight)]
    if costs is not None:
        for name in costs.columns():
            _check_column(known, name, f"`{costs.what}`")
            if name in given:
                raise DataError(f"`{costs.what}` names column {quoted(name)}, which has another role already")
        given += costs.columns()
    if schema is None:
        features = [name for name in known if name not in dropped and name not in given]
    else:
        features = _features_like(frame, schema, schema.feature_names)
    n_rows = source.n_rows([*features, *(name for name in given if name in known)])
    roles: dict[str, str] = {}
    labels = None
    if is_label_array(target) and len(target) == n_rows > 0:
        # What may be said of a series does not concern these.
        plain = schema is None and "target" not in known and task in (None, "classes")
        labels = target if plain else None
    target_series = None if labels is not None else _take_role(frame, known, target, "target", roles)
    counts_series = _take_role(frame, known, counts, "counts", roles)
    weight_series = _take_role(frame, known, weight, "weight", roles)

    if not known and n_rows == 0 and target_series is not None:
        n_rows = len(target_series)  # a mapping without columns does not know how long it is
    for what, one in (("the target", target_series), ("counts", counts_series), ("weight", weight_series)):
        if one is not None and len(one) != n_rows:
            raise DataError(f"{what} has {len(one)} rows, the table has {n_rows}")

    columns: list[Column] | Cells
    if schema is not None:
        columns = _columns_like(frame, schema, features)
        _warn_of_unseen(columns, "no test for a level holds for them, and trees treat them as their `unseen` says")
    elif isinstance(frame, Cells) and not nominal and not ordered:
        columns = frame.select(features)
    else:
        columns = []
        for name in features:
            series = frame.get_column(name)  # after which `source` knows more of it
            columns.append(
                encode_column(
                    series,
                    nominal=name in nominal or (name in source.nominal and name not in ordered),
                    ordinal=name in ordered or (name in source.ordinal and name not in nominal),
                    levels=ordered[name] if ordered.get(name) is not None else source.ordinal.get(name),
                    marks=None if source.marks is None else source.marks.get(name, ()),
                )
            )
    if schema is None and max_missing is not None and n_rows > 0:
        columns = _without_mostly_missing(columns, max_missing)

    encoded = None
    if labels is not None:
        encoded = encode_label_array("target", labels, task)
    elif target_series is not None and schema is not None and schema.target is not None:
        if task is not None and task != schema.task:
            raise ParameterError(f'`task` must be "{schema.task}" as in `like`, got {task!r}')
        encoded = encode_target_like(target_series, schema)
    elif target_series is not None:
        if target_series.name not in roles:
            target_series = _named_apart(target_series, frame, features)
        task = "classes" if task is None and target_series.name in nominal else task
        if task is None and source.marks is None:
            check_marks(target_series)
        encoded = encode_target(target_series, task)
    classes = None if encoded is None or encoded.kind != "classes" else encoded.labels
    return Encoded(
        columns,
        n_rows,
        encoded,
        None if counts_series is None else encode_counts(counts_series),
        None if weight_series is None else encode_weight(weight_series),
        None if costs is None else _case_costs.encode(costs, frame, n_rows, classes),
    )


def _features_like(frame: Source, schema: Schema, needed: Sequence[str]) -> list[str]:
    """The features needed, in the order of the schema; a DataError if the table lacks one."""
    known, wanted = set(frame.columns), set(needed)
    features = [name for name in schema.feature_names if name in wanted]
    absent = [name for name in features if name not in known]
    if absent:
        raise DataError(f"the table lacks {list_names(absent)}; its columns are {list_names(frame.columns)}")
    return features


def _columns_like(frame: Source, schema: Schema, needed: Sequence[str]) -> list[Column]:
    wanted = set(_features_like(frame, schema, needed))
    return [encode_column_like(frame.get_column(f.name), f) for f in schema.features if f.name in wanted]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _without_mostly_missing(columns: list[Column] | Cells, most: float) -> list[Column] | Cells:
    """The columns of which no larger share of rows is missing."""
    if not isinstance(columns, Cells):
        return [column for column in columns if _missing(column).mean() <= most]
    if not columns.dtype.startswith("Float"):
        return columns
    places = columns.places
    return columns.select([name for name in places if np.isnan(columns.array[:, places[name]]).mean() <= most])


def _missing(column: Column) -> npt.NDArray[np.bool_]:
    """Which rows are missing."""
    missing = np.zeros(len(column.values), dtype=np.bool_) if column.missing is None else column.missing
    if column.kind == "float":
        missing = np.isnan(column.values)
    elif column.kind in ("ordinal", "nominal"):
        missing = np.equal(column.values, MISSING)
    return missing


def _warn_of_unseen(columns: list[Column], then: str) -> None:
    """Warn, once for a table, of levels that were not there in training."""
    found = []
    for column in columns:
        codes, n_levels = column.values, len(column.levels)
        for at, level in enumerate(column.unseen):
            rows = int((codes == n_levels + at).sum())
            if rows > 0:
                found.append(
                    f"column {quoted(column.name)} is {quoted(level)} in {rows:,} row{'' if rows == 1 else 's'}"
                )
    if found:
        more = f" and {len(found) - NAMES_SHOWN} more" if len(found) > NAMES_SHOWN else ""
        warn(f"levels that were not there in training: {', '.join(found[:NAMES_SHOWN])}{more}; {then}")


def _check_kinds(
    schema: Schema, nominal: list[str], ordered: Mapping[str, Sequence[Any] | None], drop: list[str]
) -> None:
    """Raise a ParameterError if kinds that are asked for, or columns left out, contradict the schema."""
    features = {feature.name: feature for feature in schema.features}
    for name in drop:
        if name in features:
            raise ParameterError(f"`drop` names {quoted(name)}, which is a feature of `like`")
    for what, names in (("nominal", nominal), ("ordinal", list(ordered))):
        for name in names:
            kind: str | None = features[name].kind if name in features else None
            if name == schema.target:
                kind = what if schema.task == "classes" and what == "nominal" else f"a target of {schema.task}"
            if kind not in (None, what):
                raise ParameterError(f"`{what}` names {quoted(name)}, which is {kind} in `like`")
    for name, levels in ordered.items():
        if levels is None or name not in features:
            continue
        given, known = level_names(name, levels), features[name].levels
        if given != known:
            raise ParameterError(
                f"`ordinal` gives {quoted(name)} the levels {list_names(given)}; in `like` they are "
                f"{list_names(known)}, in this order: give these, or none"
            )


def _column_name(given: Any) -> str | None:
    """The name of a column that a role is given by, if it is."""
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        return str(given)  # a pandas frame without header has the columns 0, 1, 2, ...
    return given if isinstance(given, str) else None


def _take_role(
    frame: Source, known: Mapping[str, None], given: Any, role: str, roles: dict[str, str]
) -> pl.Series | None:
    """The column that `given` names, which then is in `roles`, or the values that it is."""
    if given is None:
        return None
    name = _column_name(given)
    if name is None:
        return flat(to_series(_own_name(given) or role, given))
    _check_column(known, name, f"`{role}`")
    if name in roles:
        raise DataError(f"column {quoted(name)} cannot be both {roles[name]} and {role}")
    roles[name] = role
    return frame.get_column(name)


def _own_name(values: Any) -> str:
    """The name that labels given as a series or a one-column frame bring along, or nothing."""
    if isinstance(values, pl.DataFrame) or is_pandas(values, "DataFrame"):
        return str(values.columns[0]) if len(values.columns) == 1 else ""
    name = getattr(values, "name", None) if isinstance(values, pl.Series) or is_pandas(values, "Series") else None
    return "" if name is None else str(name)


def _named_apart(target: pl.Series, frame: Source, features: list[str]) -> pl.Series:
    """The target under a name that no feature has; a DataError if a feature is the target itself."""
    name = target.name
    if name in features and frame.get_column(name).equals(target):
        raise DataError(
            f"the target {quoted(name)} is also a column of the table, which would explain it perfectly; "
            f"pass its name, target={quoted(name)}, or drop the column"
        )
    return target.alias(_distinct(name, features))


def _distinct(name: str, names: Container[str]) -> str:
    while name in names:
        name += "_"
    return name


def _check_column(known: Mapping[str, None], name: str, where: str) -> None:
    if name not in known:
        raise DataError(f"{where} names {quoted(name)}, which is no column; the columns are {list_names(known)}")


def as_list(names: Any, what: str) -> list[str]:
    """Return names, of which one may stand for itself, as a list; `what` is the parameter they are given for."""
    if isinstance(names, str):
        return [names]
    if isinstance(names, (bytes, Mapping)) or not isinstance(names, Iterable):
        raise TypeError(f"`{what}` must be a text or a list of texts, got {type(names).__name__}")
    return [str(name) for name in names]


def _ordinal_levels(ordinal: Ordinal) -> dict[str, Sequence[Any] | None]:
    if not isinstance(ordinal, Mapping):
        return dict.fromkeys(as_list(ordinal, "ordinal"))
    for name, levels in ordinal.items():
        unordered = isinstance(levels, (str, bytes, Mapping, Set)) or not isinstance(levels, Iterable)
        if levels is not None and unordered:
            got = type(levels).__name__
            raise TypeError(f"`ordinal` must list the levels of {quoted(str(name))} in their order, got a {got}")
    return {str(name): levels for name, levels in ordinal.items()}
