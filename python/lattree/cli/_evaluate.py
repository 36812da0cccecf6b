"""`lattree evaluate`: how trees of several depths do on rows that they were not grown on."""

import json as json_format
import math
import statistics
import time
from collections.abc import Callable
from typing import Annotated, Any

import typer

import lattree
from lattree.cli._options import OUTPUT, Limits, MinLeaf, option
from lattree.cli._output import progress
from lattree.cli._table import Table
from lattree.experiments import error_rate

_COLUMNS = ("method", "error", "std_error", "training_error", "splits", "unfinished")


def evaluate(
    table: Table,
    limits: Limits,
    k: Annotated[int, option("--folds", metavar="N", help="Parts, each of which is held out once.")] = 10,
    seed: Annotated[int, option(metavar="N", help="Which rows the parts have.")] = 0,
    max_depth: Annotated[
        list[int] | None,
        option(metavar="N", help="Most splits on a path; 4 if not given. Repeat it to compare several."),
    ] = None,
    min_leaf: MinLeaf = 1,
    json: Annotated[bool, option("--json", part=OUTPUT, help="Print JSON.")] = False,
) -> None:
    """Cross-validate optimal and greedy trees.

    Beside them: always the most frequent class. Errors are shares of the rows held out: their mean over the folds, and
    its standard error. A limit of time is for each search; "unfinished" counts the folds on which it struck.
    """
    data = table.load_to_learn()
    searches: dict[str, Any] = {"most frequent class": lattree.GreedyTreeSearch(max_depth=0)}
    for depth in dict.fromkeys(max_depth or [4]):
        keywords = {"max_depth": depth, "min_leaf": min_leaf, **limits.keywords()}
        searches[f"greedy, depth {depth}"] = lattree.GreedyTreeSearch(**keywords)
        searches[f"optimal, depth {depth}"] = lattree.OptimalTreeSearch(**keywords)
    started = time.perf_counter()
    with progress(str) as report:
        rows = _cross_validated(searches, data, k, seed, report)
    typer.echo(json_format.dumps(rows) if json else _as_text(rows))
    typer.echo(f"{k} folds, seed {seed}, {time.perf_counter() - started:.2f} s", err=True)


def _cross_validated(
    searches: dict[str, Any], data: lattree.Dataset, k: int, seed: int, report: Callable[[str], None] | None
) -> list[dict[str, Any]]:
    """Run each search on all folds but one, and judge its trees by that one."""
    found: dict[str, list[tuple[float, ...]]] = {name: [] for name in searches}
    for fold, (training, test) in enumerate(data.folds(k, seed=seed)):
        for name, search in searches.items():
            if report is not None:
                report(f"fold {fold + 1} of {k}: {name}")
            result = search.run(training)
            tree, ended = result.tree, result.status in ("optimal", "complete")
            found[name].append((error_rate(tree, test), error_rate(tree, training), tree.n_nodes, not ended))
    return [_row(name, folds) for name, folds in found.items()]


def _row(name: str, folds: list[tuple[float, ...]]) -> dict[str, Any]:
    errors, training, splits, unfinished = zip(*folds, strict=True)
    spread = statistics.stdev(errors) / math.sqrt(len(errors))
    means = (statistics.fmean(errors), spread, statistics.fmean(training), statistics.fmean(splits))
    return dict(zip(_COLUMNS, (name, *means, sum(unfinished)), strict=True))


def _as_text(rows: list[dict[str, Any]]) -> str:
    limited = any(row["unfinished"] for row in rows)
    width = max(len(row["method"]) for row in rows)
    lines = [f"{'method':<{width}}  error  std. error  training error  splits{'  unfinished' if limited else ''}"]
    for row in rows:
        numbers = f"{row['error']:.3f}  {row['std_error']:10.3f}  {row['training_error']:14.3f}  {row['splits']:6.1f}"
        more = f"  {row['unfinished']:10}" if limited else ""
        lines.append(f"{row['method']:<{width}}  {numbers}{more}")
    return "\n".join(lines)
