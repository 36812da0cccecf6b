"""The command line: trees from a file, optimal or greedy, and their features, without writing Python.

Results go to stdout; summaries, progress and errors to stderr. Exit codes: 0 done, also when a limit was met (the
summary says so); 2 the call or the data are wrong; 130 interrupted, after printing the best tree so far.
"""

import contextlib
import json as json_format
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console

import lattree
from lattree import datasets
from lattree._core import _shown
from lattree._describe import describe as describe_dataset
from lattree._dtypes import list_names
from lattree._options import (
    CountLimit,
    Criterion,
    Dot,
    Drop,
    Engine,
    Estimator,
    Gaps,
    Json,
    MaxDepth,
    MemoryLimit,
    Method,
    MinBranch,
    MinCases,
    MinGain,
    MinLeaf,
    Missing,
    MissingInSubsets,
    Nominal,
    Nominals,
    NominalSplits,
    Order,
    Required,
    SelectedJson,
    Source,
    Split,
    SubsetGaps,
    Target,
    Text,
    Threads,
    Thresholds,
    TimeLimit,
    Weights,
    in_bytes,
    of_text,
    reads_tables,
)
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
@reads_tables
def optimal(
    source: Source,
    target: Target = None,
    max_depth: Annotated[int, typer.Option(help="Longest path from root to leaf, in tests.")] = 4,
    max_nodes: Annotated[int | None, typer.Option(help="Most tests in the tree.")] = None,
    min_leaf: Annotated[int, typer.Option(help="Fewest cases in a leaf.")] = 1,
    node_penalty: Annotated[float, typer.Option(help="Cost of a test, in errors.")] = 0.0,
    thresholds: Annotated[
        Thresholds, typer.Option(help="Cuts offered for continuous columns; all = exact.")
    ] = Thresholds.auto,
    max_thresholds: Annotated[int | None, typer.Option(help="Most cuts offered per column.")] = None,
    engine: Annotated[Engine, typer.Option(help="On 0/1 tests, or on continuous columns as they are.")] = Engine.auto,
    nominal: Nominal = None,
    drop: Drop = None,
    *,
    reading: dict[str, Any],
    time_limit: TimeLimit = None,
    memory_limit: MemoryLimit = None,
    threads: Threads = None,
    text: Text = False,
    json: Json = False,
    dot: Dot = False,
) -> None:
    """Find a tree with the fewest training errors, and prove it."""
    write = _writer(text, json, dot)
    with _user_errors():
        data = _load_to_learn(source, target, nominal, drop, reading)
        search = lattree.OptimalTreeSearch(
            max_depth=max_depth,
            max_nodes=max_nodes,
            min_leaf=min_leaf,
            node_penalty=node_penalty,
            binarizer=lattree.Binarizer(thresholds=thresholds.value, max_thresholds=max_thresholds),
            engine=engine.value,
            time_limit=time_limit,
            memory_limit=in_bytes(memory_limit),
            threads=threads,
        )
        with _progress(_how_near) as progress:
            result = search.run(data, progress=progress, on_interrupt="return")
        write(result.tree)
    over = _over(result, chosen=thresholds is not Thresholds.auto or max_thresholds is not None)
    _summarize(
        result,
        f"{over}; objective {_number(result.objective)}, lower bound {_number(result.lower_bound)}",
    )


def _over(result: lattree.OptimalResult, *, chosen: bool) -> str:
    """Say which thresholds a result is about, unless they are all or a limit struck before they were known."""
    if result.exact_thresholds or not result.tests:
        return ""
    more = "" if chosen else " (--thresholds exact takes all)"
    return f", over thresholds thinned out to {len(result.tests):,} tests{more}"


@app.command()
@reads_tables
def greedy(
    source: Source,
    target: Target = None,
    criterion: Split = Criterion.information_gain,
    min_cases: MinCases = 2,
    min_branch: MinBranch = None,
    min_leaf: MinLeaf = 1,
    max_depth: MaxDepth = None,
    min_gain: MinGain = 0.0,
    max_leaves: Annotated[int | None, typer.Option(help="Most leaves; the best splits come first.")] = None,
    nominal_splits: Nominals = NominalSplits.multiway,
    missing: Gaps = Missing.fractional,
    class_weight: Weights = None,
    nominal: Nominal = None,
    drop: Drop = None,
    *,
    reading: dict[str, Any],
    time_limit: TimeLimit = None,
    memory_limit: MemoryLimit = None,
    threads: Threads = None,
    text: Text = False,
    json: Json = False,
    dot: Dot = False,
) -> None:
    """Grow a tree from the root, split by split, as C4.5 and CART do."""
    write = _writer(text, json, dot)
    with _user_errors():
        data = _load_to_learn(source, target, nominal, drop, reading)
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
            memory_limit=in_bytes(memory_limit),
            threads=threads,
        )
        result = search.run(data, on_interrupt="return")
        tree = result.tree
        write(tree)
        wrong = (tree.predict(data) != data.target).sum()
    _summarize(result, f"; nodes {tree.n_nodes}, leaves {tree.n_leaves}, depth {tree.depth}, training errors {wrong}")


@app.command()
@reads_tables
def distinct(
    source: Source,
    target: Target = None,
    list_: Annotated[bool, typer.Option("--list", help="Print the features of every tree, one tree per line.")] = False,
    order: Annotated[Order, typer.Option(help="In which order features are taken away.")] = Order.frontier,
    require: Required = None,
    criterion: Split = Criterion.information_gain,
    min_cases: MinCases = 2,
    min_branch: MinBranch = None,
    min_leaf: MinLeaf = 1,
    max_depth: MaxDepth = None,
    min_gain: MinGain = 0.0,
    nominal_splits: Nominals = NominalSplits.multiway,
    missing: SubsetGaps = MissingInSubsets.fractional,
    class_weight: Weights = None,
    nominal: Nominal = None,
    drop: Drop = None,
    *,
    reading: dict[str, Any],
    time_limit: CountLimit = None,
    memory_limit: MemoryLimit = None,
    threads: Threads = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Count, or list, the distinct greedy trees over all subsets of the columns."""
    with _user_errors():
        data = _load_to_learn(source, target, nominal, drop, reading)
        keywords = _keywords(
            order=order,
            required=require or (),
            criterion=criterion,
            min_cases=min_cases,
            min_branch=min_branch,
            min_leaf=min_leaf,
            max_depth=max_depth,
            min_gain=min_gain,
            nominal_splits=nominal_splits,
            missing=missing,
            class_weight=class_weight,
            time_limit=time_limit,
            memory_limit=in_bytes(memory_limit),
            threads=threads,
        )
        search = lattree.DistinctTreeSearch(**keywords)
        if list_:
            counts = _list_trees(search.run(data), json)
        else:
            with _progress(_how_many) as progress:
                counts = search.count(data, progress=progress, on_interrupt="return")
            typer.echo(_counts_as_json(counts) if json else _counts_as_text(counts))
    overhead = "" if counts.overhead is None else f", overhead {counts.overhead:.6f}"
    _summarize(counts, f"; trees {counts.distinct}, built {counts.built}{overhead}")


@app.command()
@reads_tables
def select(
    source: Source,
    target: Target = None,
    method: Annotated[Method, typer.Option(help="Elimination, the best, or one within DELTA of it.")] = Method.sbe,
    delta: Annotated[float | None, typer.Option(help="For accept: how far from the least error.")] = None,
    feature_penalty: Annotated[float | None, typer.Option(help="What a feature adds to the error.")] = None,
    error: Annotated[Estimator, typer.Option(help="How errors are estimated.")] = Estimator.search,
    search: Annotated[str | None, typer.Option(metavar="FILE|NAME", help="Rows to estimate errors on.")] = None,
    search_fraction: Annotated[float | None, typer.Option(help="Or: the share of rows for that; 0.3.")] = None,
    seed: Annotated[int, typer.Option(help="Which rows these are.")] = 0,
    require: Required = None,
    criterion: Split = Criterion.information_gain,
    min_cases: MinCases = 2,
    min_branch: MinBranch = None,
    min_leaf: MinLeaf = 1,
    max_depth: MaxDepth = None,
    min_gain: MinGain = 0.0,
    nominal_splits: Nominals = NominalSplits.multiway,
    missing: SubsetGaps = MissingInSubsets.fractional,
    class_weight: Weights = None,
    nominal: Nominal = None,
    drop: Drop = None,
    *,
    reading: dict[str, Any],
    time_limit: TimeLimit = None,
    memory_limit: MemoryLimit = None,
    threads: Threads = None,
    text: Text = False,
    json: SelectedJson = False,
    dot: Dot = False,
) -> None:
    """Select columns: those whose greedy tree has a small error on rows that it was not grown on."""
    write = _writer(text, json, dot)
    if delta is not None and method is not Method.accept:
        raise typer.BadParameter("--delta is for --method accept")
    if feature_penalty is not None and method is Method.sbe:
        raise typer.BadParameter("--feature-penalty is for --method best and accept")
    if search is not None and search_fraction is not None:
        raise typer.BadParameter("--search and --search-fraction exclude each other")
    if error is not Estimator.search and (search is not None or search_fraction is not None):
        raise typer.BadParameter("--search and --search-fraction are for --error search")
    with _user_errors():
        building = _load_to_learn(source, target, nominal, drop, reading)
        judge = None
        if search is not None:
            judge = _read(search, target, like=building, **reading)
        elif error is Estimator.search:
            building, judge = building.split(0.3 if search_fraction is None else search_fraction, seed=seed)
        keywords = _keywords(
            error=error,
            required=require or (),
            criterion=criterion,
            min_cases=min_cases,
            min_branch=min_branch,
            min_leaf=min_leaf,
            max_depth=max_depth,
            min_gain=min_gain,
            nominal_splits=nominal_splits,
            missing=missing,
            class_weight=class_weight,
            time_limit=time_limit,
            memory_limit=in_bytes(memory_limit),
            threads=threads,
        )
        if method is Method.sbe:
            run = lattree.BackwardEliminationSearch(**keywords).run
        else:
            penalty = feature_penalty or 0.0
            run = lattree.AcceptableSubsetSearch(delta=delta or 0.0, feature_penalty=penalty, **keywords).run
        with _progress(_how_good) as progress:
            result = run(building, judge, progress=progress, on_interrupt="return")
        if json:
            typer.echo(_selected_as_json(result))
        else:
            if not dot:
                typer.echo(f"features: {_names(result.features)}")
            write(result.tree)
    of = f"features {len(result.features)} of {building.n_features}"
    proof = f", objective {_number(result.objective)}, lower bound {_number(result.lower_bound)}"
    if method is Method.sbe:  # which has no penalty, and proves nothing
        proof = ""
    _summarize(result, f"; {of}, error {_number(result.error)}{proof}, trees built {result.stats['built']}")


@app.command()
@reads_tables
def describe(
    source: Source, target: Target = None, nominal: Nominal = None, drop: Drop = None, *, reading: dict[str, Any]
) -> None:
    """Show the columns of a table: kinds, levels, ranges, missing cells, classes."""
    with _user_errors():
        typer.echo(describe_dataset(_load(source, target, nominal, drop, reading), most=None))


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


def _load(
    source: str, target: str | None, nominal: list[str] | None, drop: list[str] | None, reading: dict[str, Any]
) -> lattree.Dataset:
    return _read(source, target, nominal=nominal or (), drop=drop or (), **reading)


def _read(source: str, target: str | None, **options: Any) -> lattree.Dataset:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        data = _read_quietly(source, target, options)
    for warning in caught:
        typer.echo(f"warning: {warning.message}", err=True)
    return data


def _read_quietly(source: str, target: str | None, options: dict[str, Any]) -> lattree.Dataset:
    path, for_text = Path(source), of_text(options)
    if path.exists() and not path.is_dir():
        suffixes = [suffix.lower() for suffix in path.suffixes]
        if suffixes and suffixes[-1] in (".gz", ".zst"):
            suffixes.pop()
        reader = _READERS.get(suffixes[-1] if suffixes else "")
        if reader is None:
            raise ValueError(f"{source}: the name must end in {', '.join(_READERS)} or, for text, one of them and .gz")
        if for_text and reader is not read_csv:
            raise ValueError(f"{source} is no file of text; --{for_text[0].replace('_', '-')} is for these")
        if options.get("separator") in ("tab", "\\t"):
            options["separator"] = "\t"
        return reader(source, target, **options)
    if source in datasets.names():
        if for_text:
            raise ValueError(f"{source} is a bundled table; --{for_text[0].replace('_', '-')} is for files of text")
        return lattree.Dataset(datasets.load_frame(source), datasets.TARGET if target is None else target, **options)
    bundled = list_names(datasets.names())
    raise FileNotFoundError(f"there is no file {source!r} and no bundled table of that name; bundled are {bundled}")


def _load_to_learn(
    source: str, target: str | None, nominal: list[str] | None, drop: list[str] | None, reading: dict[str, Any]
) -> lattree.Dataset:
    data = _load(source, target, nominal, drop, reading)
    if data.schema.target is None:
        raise ValueError(f"--target is needed for a file; its columns are {list_names(data.schema.feature_names)}")
    return data


def _keywords(**options: Any) -> dict[str, Any]:
    return {name: option.value if isinstance(option, Enum) else option for name, option in options.items()}


def _writer(text: bool, json: bool, dot: bool) -> Callable[[lattree.Tree], None]:
    """Return what prints a tree in the form asked for."""
    if text + json + dot > 1:
        raise typer.BadParameter("--text, --json and --dot exclude each other")
    form = lattree.Tree.to_json if json else lattree.Tree.to_dot if dot else lattree.Tree.to_text
    return lambda tree: typer.echo(form(tree).rstrip("\n"))


def _list_trees(trees: lattree.DistinctTrees, json: bool) -> lattree.DistinctCounts:
    """Print the features of each tree as it comes."""
    with trees, contextlib.suppress(KeyboardInterrupt):  # the counts say "interrupted"
        for tree in trees:
            print(json_format.dumps(tree.features) if json else _names(tree.features))
    sys.stdout.flush()
    return trees.counts


def _names(features: Iterable[str]) -> str:
    return ", ".join(_shown(name) for name in features) or "none"


def _counts_as_json(counts: lattree.DistinctCounts) -> str:
    names = ("distinct", "built", "overhead", "by_size", "status", "seconds")
    return json_format.dumps({name: getattr(counts, name) for name in names})


def _selected_as_json(result: lattree.SubsetResult) -> str:
    names = ("features", "status", "error", "objective", "lower_bound")
    found = {name: getattr(result, name) for name in names}
    return json_format.dumps(found | {"tree": json_format.loads(result.tree.to_json())})


def _counts_as_text(counts: lattree.DistinctCounts) -> str:
    width = max(5, len(str(counts.distinct)))
    rows = [f"{size:>8}  {n:>{width}}" for size, n in enumerate(counts.by_size) if n]
    ended = counts.status == "complete"
    rows.append(f"{'all' if ended else 'so far':>8}  {counts.distinct:>{width}}")
    rows += [] if ended else [f"{counts.status}: there may be more"]
    return "\n".join([f"features  {'trees':>{width}}", *rows])


_Result = lattree.OptimalResult | lattree.GreedyResult | lattree.DistinctCounts | lattree.SubsetResult


def _summarize(result: _Result, found: str) -> None:
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
        typer.echo(f"error: {' '.join(line.strip() for line in str(error).splitlines())}", err=True)
        raise typer.Exit(2) from None


_Report = TypeVar("_Report")


@contextlib.contextmanager
def _progress(words: Callable[[_Report], str]) -> Iterator[Callable[[_Report], None] | None]:
    """A callback that keeps one line on stderr up to date, or None where stderr is no terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    with console.status("searching") as status:
        yield lambda report: status.update(words(report))


def _how_near(progress: lattree.Progress) -> str:
    gap = "" if progress.gap is None else f"  gap {progress.gap:.1%}"
    return f"{_best(progress.objective, progress.lower_bound)}{gap}  {progress.seconds:.1f} s"


def _how_good(progress: lattree.SubsetProgress) -> str:
    best = _best(progress.error, progress.lower_bound)
    return f"{best}  trees {progress.built:,}  {progress.covered:.1%} of all subsets  {progress.seconds:.1f} s"


def _how_many(progress: lattree.SubsetProgress) -> str:
    found = f"trees {progress.distinct:,}  built {progress.built:,}"
    # What is covered says how many there may be: as many as there are subsets left, at most.
    return f"{found}  {progress.covered:.1%} of all subsets  {progress.seconds:.1f} s"


def _best(value: float | None, lower_bound: float) -> str:
    return f"best {'none yet' if value is None else _number(value)}  bound {_number(lower_bound)}"


def _number(value: float) -> str:
    return f"{value:.0f}" if value == round(value) else f"{value:.6g}"
