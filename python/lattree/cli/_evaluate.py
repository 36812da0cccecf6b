"""`lattree evaluate`: how trees of several depths do on rows that they were not grown on."""

import json as json_format
import time
from typing import Annotated, Any

import polars as pl
import typer

import lattree
from lattree import experiments
from lattree.cli._options import OUTPUT, Limits, MinLeaf, MinLeafMass, option
from lattree.cli._output import line
from lattree.cli._table import Table

_COLUMNS = ("search", "error", "standard_error", "training_error", "leaves", "unfinished", "one_standard_error")


def evaluate(
    table: Table,
    limits: Limits,
    cv: Annotated[int, option("--folds", metavar="N", help="Parts, each of which is held out once.")] = 10,
    seed: Annotated[int, option(metavar="N", help="Which rows the parts have.")] = 0,
    max_depth: Annotated[
        list[int] | None,
        option(metavar="N", help="Most splits on a path; 4 if not given. Repeat it to compare several."),
    ] = None,
    min_leaf: MinLeaf = 1,
    min_leaf_mass: MinLeafMass = 0.0,
    json: Annotated[bool, option("--json", part=OUTPUT, help="Print JSON.")] = False,
) -> None:
    """Cross-validate optimal and greedy trees.

    Beside them: always the most frequent class. Errors are shares of the rows held out: their mean over the folds, and
    its standard error. A star marks the smallest tree whose error is within one standard error of the least. A limit of
    time is for each search; "unfinished" counts the folds on which it struck.
    """
    data = table.load_to_learn()
    searches: dict[str, Any] = {"most frequent class": lattree.GreedyTreeSearch(max_depth=0)}
    for depth in dict.fromkeys(max_depth or [4]):
        keywords = {"max_depth": depth, "min_leaf": min_leaf, "min_leaf_mass": min_leaf_mass, **limits.keywords()}
        searches[f"greedy, depth {depth}"] = lattree.GreedyTreeSearch(**keywords)
        searches[f"optimal, depth {depth}"] = lattree.OptimalTreeSearch(**keywords)
    started = time.perf_counter()
    interrupted = False
    with line() as show:

        def report(name: str, done: int, runs: int) -> None:
            if show is not None:
                show(f"{done} of {runs} runs: {name}")

        try:
            found = experiments.cross_validate(searches, data, cv=cv, seed=seed, progress=report)
        except lattree.Interrupted as stopped:
            found, interrupted = stopped.result, True
    if found is not None:
        chosen = found.select(_COLUMNS)
        typer.echo(json_format.dumps(chosen.to_dicts()) if json else _as_text(chosen))
    if interrupted:
        typer.echo(f"interrupted after {0 if found is None else found['folds'][0]} of {cv} folds", err=True)
        raise typer.Exit(130)
    typer.echo(f"{cv} folds, seed {seed}, {time.perf_counter() - started:.2f} s", err=True)


def _as_text(found: pl.DataFrame) -> str:
    limited = sum(found["unfinished"]) > 0
    width = max(map(len, found["search"]))
    lines = [f"{'search':<{width}}  error  std. error  training error  leaves{'  unfinished' if limited else ''}"]
    for row in found.iter_rows(named=True):
        spread = "-" if row["standard_error"] is None else f"{row['standard_error']:.3f}"  # of one fold
        error = f"{row['error']:.3f}  {spread:>10}  {row['training_error']:14.3f}"
        more = f"  {row['unfinished']:10}" if limited else ""
        star = "  *" if row["one_standard_error"] else ""
        lines.append(f"{row['search']:<{width}}  {error}  {row['leaves']:6.1f}{more}{star}")
    return "\n".join(lines)
