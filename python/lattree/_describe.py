"""The repr of a dataset: what a person wants to see of a table at first glance."""

from typing import Literal

import polars as pl

from lattree._core import Dataset, Feature, _shown
from lattree._dtypes import NAMES_SHOWN, list_names, marks_of, quoted
from lattree._errors import typed

FEATURES_SHOWN = 20
_NAME_WIDTH = 32
_VALUES_WIDTH = 56
_PER_DAY = {"days": 1, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


@typed
def describe(dataset: Dataset, most: int | None = FEATURES_SHOWN) -> str:
    """Return sizes, kinds, ranges or levels, missing cells and classes of a dataset, in aligned lines.

    One line says which words among numbers were read as missing, if any were. At most `most` features are listed, so
    the cost hardly grows with the width of the table; None lists all.
    """
    schema = dataset.schema
    features = schema.features[:most]
    frame = dataset.select([feature.name for feature in features]).to_polars()
    lines = [f"Dataset: {_plural(dataset.n_rows, 'row')}, {_plural(dataset.n_features, 'feature')}"]
    rows = [("feature", "kind", "missing", "values")]
    for feature in features:
        column = frame.get_column(feature.name)
        missing = str(column.null_count()) if column.null_count() else "-"
        rows.append(
            (_cut(_shown(feature.name), _NAME_WIDTH), feature.number or feature.kind, missing, _values(feature, column))
        )
    widths = [max(len(row[place]) for row in rows) for place in range(3)]
    if features:
        for name, kind, missing, values in rows:
            lines.append(f"  {name:<{widths[0]}}  {kind:<{widths[1]}}  {missing:>{widths[2]}}  {values}".rstrip())
    if dataset.n_features > len(features):
        lines.append(f"  ... and {dataset.n_features - len(features)} more")
    marks = {feature.name: marks_of(feature.dtype) for feature in schema.features}
    marked = [name for name in marks if marks[name]]
    if marked:
        words = list_names(dict.fromkeys(mark for name in marked for mark in marks[name]))
        lines.append(f"read as missing: {words} in {list_names(marked)}")
    if schema.target is not None and schema.target in frame.columns:
        lines.append(f"target {quoted(schema.target)}: {_target(frame.get_column(schema.target), schema.task)}")
    for column in frame.get_columns()[len(features) + (schema.target is not None) :]:
        lines.append(f"{_shown(column.name)}: total {column.sum():,}")
    if dataset.costs is not None:
        lines.append(f"costs of each row: {list_names(dataset.costs.columns)}")
    return "\n".join(lines)


def _values(feature: Feature, column: pl.Series) -> str:
    if feature.number is None:
        names = ", ".join(quoted(level) for level in feature.levels[:NAMES_SHOWN])
        return _cut(f"{_plural(len(feature.levels), 'level')}: {names}", _VALUES_WIDTH)
    if column.null_count() == len(column):
        return "all missing" if len(column) else ""
    return f"{_number(_extreme(column, 'min'))} to {_number(_extreme(column, 'max'))}"


def _extreme(column: pl.Series, which: Literal["min", "max"]) -> object:
    """Return the least or the greatest value; a date or an instant that Python has no year for as trees print it."""
    unit = "days" if column.dtype == pl.Date else getattr(column.dtype, "time_unit", None)
    if unit is None or not column.dtype.is_temporal() or column.dtype == pl.Duration:
        return getattr(column, which)()
    value = getattr(column.to_physical(), which)()
    years_1_to_9998 = range(-719_162 * _PER_DAY[unit], 2_932_532 * _PER_DAY[unit])
    return getattr(column, which)() if value in years_1_to_9998 else f"{value} {unit} since 1970-01-01"


def _target(column: pl.Series, task: str | None) -> str:
    if len(column) == 0:
        return "no rows"
    if task == "numbers":
        return f"numbers from {_number(column.min())} to {_number(column.max())}"
    sizes = column.value_counts(sort=True)
    shown = [f"{_label(label)} ({size:,})" for label, size in sizes.head(NAMES_SHOWN).iter_rows()]
    more = f", and {sizes.height - NAMES_SHOWN} more" if sizes.height > NAMES_SHOWN else ""
    return f"{sizes.height} {'class' if sizes.height == 1 else 'classes'}: {', '.join(shown)}{more}"


def _number(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _label(label: object) -> str:
    """Return a class as trees print it."""
    if isinstance(label, str):
        return _shown(label, is_class=True)
    if isinstance(label, bool):
        return "true" if label else "false"
    return f"{label:.0f}" if isinstance(label, float) else str(label)


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."
