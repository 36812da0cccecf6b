"""What commands print: trees to stdout; how the search ended, and its progress on a terminal, to stderr."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.console import Console

import lattree
from lattree import experiments
from lattree._core import _shown
from lattree._progress import Report, number, words
from lattree.cli._options import OUTPUT, option

Result = (
    lattree.OptimalResult | lattree.PolicyResult | lattree.GreedyResult | lattree.DistinctCounts | lattree.SubsetResult
)


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


@contextlib.contextmanager
def line() -> Iterator[Callable[[str], None] | None]:
    """A function that shows a text on stderr in place of the one before, or None where stderr is no terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    with console.status("searching") as status:
        yield status.update


@contextlib.contextmanager
def progress() -> Iterator[Callable[[Report], None] | None]:
    """A callback for a search that shows how far it is, or None where stderr is no terminal."""
    with line() as show:
        yield None if show is None else lambda report: show(words(report))
