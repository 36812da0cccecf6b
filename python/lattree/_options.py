"""Options that commands of the command line share, and the values that they may have."""

import functools
import inspect
from collections.abc import Callable
from enum import Enum
from typing import Annotated, Any

import typer


class Thresholds(str, Enum):
    """Which cuts of continuous columns are offered to the search."""

    auto = "auto"
    all = "all"
    exact = "exact"
    quantile = "quantile"
    mdlp = "mdlp"


class Engine(str, Enum):
    """Which exact search does the work."""

    auto = "auto"
    tests = "tests"
    continuous = "continuous"


class Criterion(str, Enum):
    """How greedy splits are judged."""

    information_gain = "information_gain"
    gain_ratio = "gain_ratio"
    gini = "gini"
    error = "error"


class NominalSplits(str, Enum):
    """How nominal columns are split."""

    multiway = "multiway"
    one_vs_rest = "one_vs_rest"
    subsets = "subsets"


class Missing(str, Enum):
    """What becomes of missing values."""

    fractional = "fractional"
    drop = "drop"
    mean = "mean"
    class_mean = "class_mean"
    level = "level"


class MissingInSubsets(str, Enum):
    """The same where the split of a node must not depend on more than its cases."""

    fractional = "fractional"
    mean = "mean"
    class_mean = "class_mean"
    level = "level"


class ClassWeight(str, Enum):
    """How much the cases of each class matter."""

    balanced = "balanced"


class Order(str, Enum):
    """In which order the features of a tree are taken away."""

    frontier = "frontier"
    frontier_cases = "frontier_cases"
    reverse = "reverse"
    fixed = "fixed"


class Method(str, Enum):
    """How features are selected."""

    sbe = "sbe"
    best = "best"
    accept = "accept"


class Estimator(str, Enum):
    """How the error of a tree is estimated."""

    search = "search"
    training = "training"
    pessimistic = "pessimistic"


Source = Annotated[str, typer.Argument(metavar="FILE|NAME", help="CSV, TSV, Parquet or Arrow IPC; or a bundled table.")]
Target = Annotated[str | None, typer.Option(help="Column to predict; bundled tables know theirs.")]
Nominal = Annotated[list[str] | None, typer.Option(metavar="COL", help="Take COL as names, not numbers. Repeatable.")]
Drop = Annotated[list[str] | None, typer.Option(metavar="COL", help="Leave COL out. Repeatable.")]
TimeLimit = Annotated[float | None, typer.Option(help="Seconds; the best tree so far comes back.")]
CountLimit = Annotated[float | None, typer.Option("--time-limit", help="Seconds; what was found so far is printed.")]
MemoryLimit = Annotated[
    float | None, typer.Option(metavar="MB", min=0, help="Megabytes; default: a quarter of the memory there is.")
]
Threads = Annotated[int | None, typer.Option(help="Threads; default: those available.")]
Text = Annotated[bool, typer.Option("--text", help="Print the tree as text (the default).")]
Json = Annotated[bool, typer.Option("--json", help="Print the tree as JSON, for Tree.from_json.")]
SelectedJson = Annotated[bool, typer.Option("--json", help="Print features, errors, bound and tree as JSON.")]
Dot = Annotated[bool, typer.Option("--dot", help="Print the tree for Graphviz.")]

Split = Annotated[Criterion, typer.Option("--criterion", help="What makes a split good.")]
MinCases = Annotated[int, typer.Option(help="Fewest cases in a node that is split.")]
MinBranch = Annotated[int | None, typer.Option(help="Fewest cases in two branches of a split.")]
MinLeaf = Annotated[int, typer.Option(help="Fewest cases in a leaf.")]
MaxDepth = Annotated[int | None, typer.Option(help="Longest path from root to leaf, in tests.")]
MinGain = Annotated[float, typer.Option(help="Least gain of a split, per case.")]
Nominals = Annotated[NominalSplits, typer.Option("--nominal-splits", help="Splits of nominal columns.")]
Gaps = Annotated[Missing, typer.Option("--missing", help="What becomes of missing values.")]
SubsetGaps = Annotated[MissingInSubsets, typer.Option("--missing", help="What becomes of missing values.")]
Weights = Annotated[ClassWeight | None, typer.Option("--class-weight", help="All classes matter the same in total.")]
Required = Annotated[list[str] | None, typer.Option("--require", metavar="COL", help="Keep COL. Repeatable.")]


NullValues = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TEXT", help="Cell that means missing, beside empty ones. Repeatable; default: ?, NA and such."
    ),
]
Separator = Annotated[
    str | None, typer.Option(metavar="CHAR", help="What separates columns, or tab; default: as the header shows.")
]
Decimal = Annotated[str, typer.Option(metavar="CHAR", help="The decimal mark of numbers, a point or a comma.")]
Encoding = Annotated[str, typer.Option(metavar="NAME", help="The encoding of a text file, such as cp1252.")]
MaxMissing = Annotated[
    float | None, typer.Option(metavar="SHARE", help="Leave out columns with more missing cells; 0.7 is 70%.")
]

_TEXT_OPTIONS: dict[str, tuple[Any, Any]] = {
    "null_values": (NullValues, None),
    "separator": (Separator, None),
    "decimal": (Decimal, "."),
    "encoding": (Encoding, "utf-8"),
}
"""Options of ``read_csv``, with their defaults."""


def reads_tables(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of how tables are read; it gets those that were given as the keyword `reading`.

    ``max_missing`` is among them, and is for the table to learn from.
    """
    options = _TEXT_OPTIONS | {"max_missing": (MaxMissing, None)}

    @functools.wraps(command)
    def wrapped(**keywords: Any) -> None:
        given = {name: keywords.pop(name) for name in options}
        command(**keywords, reading={name: value for name, value in given.items() if value != options[name][1]})

    signature = inspect.signature(command)
    own = [parameter for parameter in signature.parameters.values() if parameter.name != "reading"]
    keyword = inspect.Parameter.KEYWORD_ONLY
    more = [
        inspect.Parameter(name, keyword, default=default, annotation=kind) for name, (kind, default) in options.items()
    ]
    parameters = [parameter.replace(kind=keyword) for parameter in own] + more
    wrapped.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return wrapped


def of_text(reading: dict[str, Any]) -> list[str]:
    """Return which of the options given are for files of text only."""
    return [name for name in reading if name in _TEXT_OPTIONS]


def in_bytes(memory_limit: float | None) -> int | None:
    """A limit of memory as the searches take it."""
    return None if memory_limit is None else int(memory_limit * 1_000_000)
