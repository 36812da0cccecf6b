"""What commands print: trees to stdout; how the search ended, and its progress on a terminal, to stderr."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, TypeVar

import typer
from rich.console import Console

import lattree
from lattree import experiments
from lattree._core import _shown
from lattree.cli._options import OUTPUT, option

Result = lattree.OptimalResult | lattree.GreedyResult | lattree.DistinctCounts | lattree.SubsetResult


@dataclass
class Form:
    """The form that a tree is printed in."""

    text: Annotated[bool, option("--text", part=OUTPUT, help="Print the tree as text (the default).")] = False
    json: Annotated[bool, option("--json", part=OUTPUT, help="Print JSON; Tree.from_json reads the tree.")] = False
    dot: Annotated[bool, option("--dot", part=OUTPUT, help="Print the tree for Graphviz.")] = False

    def __post_init__(self) -> None:
        """Refuse two forms at once."""
        if self.text + self.json + self.dot > 1:
            raise typer.BadParameter("--text, --json and --dot exclude each other")

    def write(self, tree: lattree.Tree) -> None:
        """Print a tree."""
        form = lattree.Tree.to_json if self.json else lattree.Tree.to_dot if self.dot else lattree.Tree.to_text
        typer.echo(form(tree).rstrip("\n"))


def summarize(result: Result, found: str) -> None:
    """Print the line that says how a search ended, and exit with its code if that was by Ctrl-C."""
    typer.echo(f"status {result.status}{found}, {result.seconds:.2f} s", err=True)
    if result.status == "interrupted":
        raise typer.Exit(130)


def held_out(tree: lattree.Tree, learned: lattree.Dataset, test: lattree.Dataset | None) -> str:
    """Say how a tree does on rows that it was not grown on, beside always the most frequent class."""
    if test is None:
        return ""
    most_frequent = lattree.GreedyTreeSearch(max_depth=0).run(learned).tree
    errors, least = (number(experiments.error_rate(each, test)) for each in (tree, most_frequent))
    return f", test error {errors} (of the most frequent class {least})"


def names(features: Iterable[str]) -> str:
    """Return names of columns in one line."""
    return ", ".join(_shown(name) for name in features) or "none"


_Report = TypeVar("_Report")


@contextlib.contextmanager
def progress(words: Callable[[_Report], str]) -> Iterator[Callable[[_Report], None] | None]:
    """A callback that keeps one line on stderr up to date, or None where stderr is no terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    with console.status("searching") as status:
        yield lambda report: status.update(words(report))


def how_near(report: lattree.Progress) -> str:
    """Say how far an exact search is."""
    gap = "" if report.gap is None else f"  gap {report.gap:.1%}"
    return f"{_best(report.objective, report.lower_bound)}{gap}  {report.seconds:.1f} s"


def how_good(report: lattree.SubsetProgress) -> str:
    """Say how far a search for a subset is."""
    best = _best(report.error, report.lower_bound)
    return f"{best}  trees {report.built:,}  {report.covered:.1%} of all subsets  {report.seconds:.1f} s"


def how_many(report: lattree.SubsetProgress) -> str:
    """Say how many trees were found."""
    found = f"trees {report.distinct:,}  built {report.built:,}"
    # What is covered says how many there may be: as many as there are subsets left, at most.
    return f"{found}  {report.covered:.1%} of all subsets  {report.seconds:.1f} s"


def _best(value: float | None, lower_bound: float) -> str:
    return f"best {'none yet' if value is None else number(value)}  bound {number(lower_bound)}"


def number(value: float) -> str:
    """Return a number with as many digits as it needs, six at most after the point."""
    return f"{value:.0f}" if value == round(value) else f"{value:.6g}"
