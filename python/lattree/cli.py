"""The command line: trees from a file, optimal or greedy, without writing Python.

Results go to stdout; summaries, progress and errors to stderr. Exit codes: 0 done, also when a limit was met (the
summary says so); 2 the call or the data are wrong; 130 interrupted, after printing the best tree so far.
"""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

import lattree
from lattree import datasets
from lattree._describe import describe as describe_dataset
from lattree._dtypes import list_names
from lattree._readers import read_csv, read_ipc, read_parquet

app = typer.Typer(
    name="lattree",
    help="Decision trees, provably optimal or greedy, in the words of your own columns.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

_CSV = (".csv", ".tsv", ".tab", ".txt", ".data")
_READERS: dict[str, Callable[..., lattree.Dataset]] = {
    **dict.fromkeys(_CSV, read_csv),
    ".parquet": read_parquet,
    ".pq": read_parquet,
    **dict.fromkeys((".arrow", ".feather", ".ipc"), read_ipc),
}

Source = Annotated[str, typer.Argument(metavar="FILE|NAME", help="CSV, TSV, Parquet or Arrow IPC; or a bundled table.")]
Target = Annotated[str | None, typer.Option(help="Column to predict; bundled tables know theirs.")]
Nominal = Annotated[list[str] | None, typer.Option(metavar="COL", help="Take COL as names, not numbers. Repeatable.")]
Drop = Annotated[list[str] | None, typer.Option(metavar="COL", help="Leave COL out. Repeatable.")]
TimeLimit = Annotated[float | None, typer.Option(help="Seconds; the best tree so far comes back.")]
Threads = Annotated[int | None, typer.Option(help="Threads; default: those available.")]
Text = Annotated[bool, typer.Option("--text", help="Print the tree as text (the default).")]
Json = Annotated[bool, typer.Option("--json", help="Print the tree as JSON, for Tree.from_json.")]
Dot = Annotated[bool, typer.Option("--dot", help="Print the tree for Graphviz.")]


class Thresholds(str, Enum):
    """Which cuts of continuous columns are offered to the search."""

    auto = "auto"
    all = "all"
    quantile = "quantile"
    mdlp = "mdlp"


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


class ClassWeight(str, Enum):
    """How much the cases of each class matter."""

    balanced = "balanced"


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lattree {lattree.__version__}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version)
]


@app.callback()
def common(version: Version = False) -> None:
    """Decision trees, provably optimal or greedy, in the words of your own columns."""


@app.command()
def optimal(
    source: Source,
    target: Target = None,
    max_depth: Annotated[int, typer.Option(help="Longest path from root to leaf, in tests.")] = 4,
    max_nodes: Annotated[int | None, typer.Option(help="Most tests in the tree.")] = None,
    min_leaf: Annotated[int, typer.Option(help="Fewest cases in a leaf.")] = 1,
    node_penalty: Annotated[float, typer.Option(help="Cost of a test, in errors.")] = 0.0,
    thresholds: Annotated[Thresholds, typer.Option(help="Cuts offered for continuous columns.")] = Thresholds.auto,
    max_thresholds: Annotated[int | None, typer.Option(help="Most cuts offered per column.")] = None,
    nominal: Nominal = None,
    drop: Drop = None,
    time_limit: TimeLimit = None,
    threads: Threads = None,
    text: Text = False,
    json: Json = False,
    dot: Dot = False,
) -> None:
    """Find a tree with the fewest training errors, and prove it."""
    write = _writer(text, json, dot)
    with _user_errors():
        data = _load_to_learn(source, target, nominal, drop)
        search = lattree.OptimalTreeSearch(
            max_depth=max_depth,
            max_nodes=max_nodes,
            min_leaf=min_leaf,
            node_penalty=node_penalty,
            binarizer=lattree.Binarizer(thresholds=thresholds.value, max_thresholds=max_thresholds),
            time_limit=time_limit,
            threads=threads,
        )
        with _progress() as progress:
            result = search.run(data, progress=progress, on_interrupt="return")
        write(result.tree)
    offered = "" if result.exact_thresholds else ", over the thresholds offered"
    _summarize(
        result,
        f"{offered}; objective {_number(result.objective)}, lower bound {_number(result.lower_bound)}",
    )


@app.command()
def greedy(
    source: Source,
    target: Target = None,
    criterion: Annotated[Criterion, typer.Option(help="What makes a split good.")] = Criterion.information_gain,
    min_cases: Annotated[int, typer.Option(help="Fewest cases in a node that is split.")] = 2,
    min_branch: Annotated[int | None, typer.Option(help="Fewest cases in two branches of a split.")] = None,
    min_leaf: Annotated[int, typer.Option(help="Fewest cases in a leaf.")] = 1,
    max_depth: Annotated[int | None, typer.Option(help="Longest path from root to leaf, in tests.")] = None,
    min_gain: Annotated[float, typer.Option(help="Least gain of a split, per case.")] = 0.0,
    max_leaves: Annotated[int | None, typer.Option(help="Most leaves; the best splits come first.")] = None,
    nominal_splits: Annotated[NominalSplits, typer.Option(help="Splits of nominal columns.")] = NominalSplits.multiway,
    missing: Annotated[Missing, typer.Option(help="What becomes of missing values.")] = Missing.fractional,
    class_weight: Annotated[ClassWeight | None, typer.Option(help="All classes matter the same in total.")] = None,
    nominal: Nominal = None,
    drop: Drop = None,
    time_limit: TimeLimit = None,
    threads: Threads = None,
    text: Text = False,
    json: Json = False,
    dot: Dot = False,
) -> None:
    """Grow a tree from the root, split by split, as C4.5 and CART do."""
    write = _writer(text, json, dot)
    with _user_errors():
        data = _load_to_learn(source, target, nominal, drop)
        search = lattree.GreedyTreeSearch(
            criterion=criterion.value,
            min_cases=min_cases,
            min_branch=min_branch,
            min_leaf=min_leaf,
            max_depth=max_depth,
            min_gain=min_gain,
            max_leaves=max_leaves,
            nominal_splits=nominal_splits.value,
            missing=missing.value,
            class_weight=None if class_weight is None else class_weight.value,
            time_limit=time_limit,
            threads=threads,
        )
        result = search.run(data, on_interrupt="return")
        tree = result.tree
        write(tree)
        wrong = (tree.predict(data) != data.target).sum()
    _summarize(result, f"; nodes {tree.n_nodes}, leaves {tree.n_leaves}, depth {tree.depth}, training errors {wrong}")


@app.command()
def describe(source: Source, target: Target = None, nominal: Nominal = None, drop: Drop = None) -> None:
    """Show the columns of a table: kinds, levels, ranges, missing cells, classes."""
    with _user_errors():
        typer.echo(describe_dataset(_load(source, target, nominal, drop), most=None))


@app.command("datasets")
def list_datasets() -> None:
    """List the bundled tables."""
    with _user_errors():
        for name in datasets.names():
            typer.echo(f"{name:<12} {datasets.describe(name)}")


@app.command()
def demo() -> None:
    """Show in a few seconds what lattree does, on bundled real data."""
    from lattree._demo import run_demo

    with _user_errors():
        run_demo(Console())


def _load(source: str, target: str | None, nominal: list[str] | None, drop: list[str] | None) -> lattree.Dataset:
    options: dict[str, Any] = {"nominal": nominal or (), "drop": drop or ()}
    path = Path(source)
    if path.exists() and not path.is_dir():
        suffixes = [suffix.lower() for suffix in path.suffixes]
        if suffixes and suffixes[-1] in (".gz", ".zst"):
            suffixes.pop()
        reader = _READERS.get(suffixes[-1] if suffixes else "")
        if reader is None:
            raise ValueError(f"{source}: the name must end in {', '.join(_READERS)} or, for text, one of them and .gz")
        return reader(source, target, **options)
    if source in datasets.names():
        return lattree.Dataset(datasets.load_frame(source), datasets.TARGET if target is None else target, **options)
    bundled = list_names(datasets.names())
    raise FileNotFoundError(f"there is no file {source!r} and no bundled table of that name; bundled are {bundled}")


def _load_to_learn(
    source: str, target: str | None, nominal: list[str] | None, drop: list[str] | None
) -> lattree.Dataset:
    data = _load(source, target, nominal, drop)
    if data.schema.target is None:
        raise ValueError(f"--target is needed for a file; its columns are {list_names(data.schema.feature_names)}")
    return data


def _writer(text: bool, json: bool, dot: bool) -> Callable[[lattree.Tree], None]:
    """Return what prints a tree in the form asked for."""
    if text + json + dot > 1:
        raise typer.BadParameter("--text, --json and --dot exclude each other")
    form = lattree.Tree.to_json if json else lattree.Tree.to_dot if dot else lattree.Tree.to_text
    return lambda tree: typer.echo(form(tree).rstrip("\n"))


def _summarize(result: lattree.OptimalResult | lattree.GreedyResult, found: str) -> None:
    """Print the line that says how a search ended, and exit with its code if that was by Ctrl-C."""
    typer.echo(f"status {result.status}{found}, {result.seconds:.2f} s", err=True)
    if result.status == "interrupted":
        raise typer.Exit(130)


@contextlib.contextmanager
def _user_errors() -> Iterator[None]:
    """Turn what a user can put right into one line and exit code 2."""
    try:
        yield
    except KeyboardInterrupt:  # a search is stopped by itself; this is a table being read
        typer.echo("interrupted", err=True)
        raise typer.Exit(130) from None
    except BrokenPipeError:  # the reader of a pipe, `head` say, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    except (lattree.LattreeError, OSError, ValueError, TypeError) as error:
        typer.echo(f"error: {' '.join(str(error).split())}", err=True)
        raise typer.Exit(2) from None


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[lattree.Progress], None] | None]:
    """A callback that keeps one line on stderr up to date, or None where stderr is no terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    with console.status("searching") as status:

        def show(progress: lattree.Progress) -> None:
            best = "none yet" if progress.objective is None else _number(progress.objective)
            gap = "" if progress.gap is None else f"  gap {progress.gap:.1%}"
            status.update(f"best {best}  bound {_number(progress.lower_bound)}{gap}  {progress.seconds:.1f} s")

        yield show


def _number(value: float) -> str:
    return f"{value:.0f}" if value == round(value) else f"{value:.6g}"
