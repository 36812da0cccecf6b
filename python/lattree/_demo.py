"""What ``lattree demo`` shows: proofs on real tables, what bins cost, greedy trees, those over subsets of the columns,
one tree in words, its predictions.
"""

import time
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

import lattree
from lattree import datasets

_TASKS = (("iris", 2), ("titanic", 3), ("vote", 3), ("ionosphere", 3), ("kr-vs-kp", 3), ("anneal", 3))
_BINNED = (("iris", 3), ("ionosphere", 3))
_SECONDS = 15.0
"""For all searches of one table. They need about 4 s on two cores; a slower machine shows the bound it has reached."""
_SHOWN = "titanic"
_SUBSETS = "vote"


def run_demo(console: Console) -> None:
    """Search trees on bundled tables, optimal and greedy, and print what came out; under 20 seconds."""
    console.print("[bold]Trees with the fewest errors that any tree of that depth can have[/bold]")
    console.print("The proof covers every tree of that depth over the tests: none does better on these rows.\n")
    table = Table(box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    table.add_column("data", no_wrap=True)
    for heading in ("rows", "columns", "tests", "depth", "errors,\na leaf", "errors,\nthe tree", "seconds"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("proof")
    shown = None
    optimal: dict[str, lattree.OptimalResult] = {}
    start = time.perf_counter()
    for name, depth in _TASKS:
        data = datasets.load(name)
        with console.status(f"{name}, depth {depth}"):
            result = _search(data, depth, start)
            leaf = lattree.OptimalTreeSearch(max_depth=0).run(data)
        optimal[name] = result
        table.add_row(
            name,
            f"{data.n_rows:,}",
            str(data.n_features),
            f"{len(result.tests):,}",
            str(depth),
            f"{leaf.objective:g}",
            f"{result.objective:g}",
            f"{result.seconds:.2f}",
            _proof(result),
        )
        if name == _SHOWN:
            shown = data, result.tree
    console.print(table)
    console.print(f"All of it took {time.perf_counter() - start:.1f} s. Errors are counted on the rows searched;")
    console.print("what a tree does on new rows is another question: hold some out with data.split().\n")
    _unbin(console)
    _compare(console, optimal)
    _select(console)
    if shown is not None:
        _show_tree(console, *shown)
    console.print(
        "\nYour own table:  [bold]lattree optimal FILE.csv --target COLUMN --max-depth 3[/bold]", soft_wrap=True
    )
    console.print("or:              [bold]lattree greedy FILE.csv --target COLUMN[/bold]", soft_wrap=True)
    console.print("or:              [bold]lattree select FILE.csv --target COLUMN[/bold]", soft_wrap=True)
    console.print("In Python:       [bold]help(lattree.OptimalTreeSearch)[/bold]", soft_wrap=True)


def _unbin(console: Console) -> None:
    """Show what it costs to cut numbers into bins first, and how long a search over all thresholds takes."""
    console.print("[bold]Numbers without bins[/bold]: a proof over all thresholds, and proofs over a few of them\n")
    table = Table(box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    table.add_column("data", no_wrap=True)
    for heading in ("depth", "errors,\n4 cuts", "errors,\nMDLP cuts", "errors,\nall cuts", "tests", "seconds"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("proof")
    start = time.perf_counter()
    for name, depth in _BINNED:
        data = datasets.load(name)
        row = [name, str(depth)]
        with console.status(f"{name}, depth {depth}, all thresholds"):
            for binarizer in (
                lattree.Binarizer(thresholds="quantile", max_thresholds=4),
                lattree.Binarizer(thresholds="mdlp"),
            ):
                row.append(f"{_search(data, depth, start, binarizer=binarizer).objective:g}")
            result = _search(data, depth, start, binarizer=lattree.Binarizer(thresholds="exact"))
        row += [f"{result.objective:g}", f"{len(result.tests):,}", f"{result.seconds:.2f}", _proof(result)]
        table.add_row(*row)
    console.print(table)
    console.print("First 4 quantiles a column, then cuts by minimum description length, then all thresholds:")
    console.print("no tree of that depth makes fewer errors, wherever it cuts. The seconds are those of that proof;")
    console.print("the smallest such tree would be a second one.\n")


def _search(data: lattree.Dataset, depth: int, start: float, **options: Any) -> lattree.OptimalResult:
    """Search within what is left of the time since `start`."""
    left = max(0.5, _SECONDS - (time.perf_counter() - start))
    return lattree.OptimalTreeSearch(max_depth=depth, rank="objective", time_limit=left, **options).run(data)


def _proof(result: lattree.OptimalResult) -> str:
    return result.status if result.status == "optimal" else f"{result.status}, at least {result.lower_bound:g}"


def _compare(console: Console, optimal: dict[str, lattree.OptimalResult]) -> None:
    """Show what greedy trees of the same depth over the same tests come to, and those of any depth."""
    console.print("[bold]Greedy trees on the same rows[/bold]: split by split, without a way back\n")
    table = Table(box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    table.add_column("data", no_wrap=True)
    for heading in (
        *("depth", "errors,\noptimal", "errors,\ngreedy", "seconds"),
        *("any depth:\nerrors", "leaves", "seconds"),
    ):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, depth in _TASKS:
        data = datasets.load(name)
        row = [name, str(depth), f"{optimal[name].objective:g}"]
        for limit in (depth, None):
            # With these two, greedy splits are the tests of the default binarizer.
            search = lattree.GreedyTreeSearch(max_depth=limit, nominal_splits="one_vs_rest", missing="level")
            grown = search.run(data)
            row.append(f"{sum(rule.errors for rule in grown.tree.rules()):g}")
            row += [str(grown.tree.n_leaves)] if limit is None else []
            row.append(f"{grown.seconds:.3f}")
        table.add_row(*row)
    console.print(table)
    console.print("A tree of any depth can fit its rows to the last one; that says little about new rows.\n")


def _select(console: Console) -> None:
    """Show how many trees subsets of the columns lead to, and what a tree of fewer columns does on rows held out."""
    data = datasets.load(_SUBSETS)
    console.print(f"[bold]Fewer columns[/bold]: {_SUBSETS}, a greedy tree for every subset of its {data.n_features}\n")
    with console.status(_SUBSETS):
        counts = lattree.DistinctTreeSearch(min_cases=32, time_limit=3).count(data)
        learn, test = data.split(0.3, seed=0)
        building, search = learn.split(0.3, seed=0)
        selected = lattree.BackwardEliminationSearch().run(building, search)
        all_columns = lattree.GreedyTreeSearch().run(building).tree
    sofar = "" if counts.status == "complete" else " so far"
    console.print(
        f"{2**data.n_features:,} subsets lead to {counts.distinct:,} distinct trees{sofar}, where nodes of 32 rows or"
        f" more are split: {counts.built:,} trees built in {counts.seconds:.2f} s."
    )
    console.print(f"Backward elimination keeps: {', '.join(selected.features)} ({selected.seconds:.2f} s)\n")
    table = Table(box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    table.add_column("tree over", no_wrap=True)
    for heading in ("columns", "leaves", "errors,\nsearch rows", "errors,\nnew rows"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, tree in (("all columns", all_columns), ("the selected ones", selected.tree)):
        errors = [f"{(tree.predict(rows) != rows.target).sum() / len(rows):.1%}" for rows in (search, test)]
        table.add_row(name, str(len(tree.features)), str(tree.n_leaves), *errors)
    console.print(table)
    console.print("Columns were selected by the errors on the search rows; only new rows say what that is worth.\n")


def _show_tree(console: Console, data: lattree.Dataset, tree: lattree.Tree) -> None:
    console.print(f"[bold]The tree of {_SHOWN}[/bold]: {datasets.describe(_SHOWN)}")
    console.print(tree.to_text().rstrip("\n"), markup=False, highlight=False)
    console.print("\n[bold]A few of its rows[/bold]")
    rows = data.take([0, data.n_rows // 3, data.n_rows // 2, data.n_rows - 1]).to_polars()
    table = Table(*rows.columns, "predicted", box=SIMPLE_HEAD)
    for row, label in zip(rows.iter_rows(), tree.predict(rows), strict=True):
        table.add_row(*(str(cell) for cell in (*row, label)))
    console.print(table)
