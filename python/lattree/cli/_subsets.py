"""`lattree distinct` and `lattree select`: trees over subsets of the columns."""

import contextlib
import json as json_format
import sys
from typing import Annotated, Literal, TypeAlias

import typer

import lattree
from lattree._choices import Estimator, Order
from lattree._progress import number
from lattree.cli._options import OUTPUT, Growth, Limits, Required, SubsetGaps, option
from lattree.cli._output import Form, names, progress, summarize
from lattree.cli._table import Table

Method: TypeAlias = Literal["elimination", "best", "accept"]
"""How columns are selected."""


def distinct(
    table: Table,
    growth: Growth,
    limits: Limits,
    required: Required = None,
    missing: SubsetGaps = "fractional",
    order: Annotated[
        Order,
        option(
            help="Which column is taken away first: the one that the most others hang on (frontier), that most rows "
            "come to (frontier_cases), the reverse of frontier, or the last (fixed). The trees are the same; "
            "frontier is the fastest as a rule."
        ),
    ] = "frontier",
    list_: Annotated[
        bool, option("--list", part=OUTPUT, help="Print the columns of every tree, one tree per line.")
    ] = False,
    json: Annotated[bool, option("--json", part=OUTPUT, help="Print JSON.")] = False,
) -> None:
    """Count or list the greedy trees over all subsets of the columns."""
    data = table.load_to_learn()
    keywords = growth.keywords() | limits.keywords()
    search = lattree.DistinctTreeSearch(order=order, required=required or (), missing=missing, **keywords)
    if list_:
        counts = _list_trees(search.run(data), json)
    else:
        with progress() as report:
            counts = search.count(data, progress=report, on_interrupt="return")
        typer.echo(_counts_as_json(counts) if json else _counts_as_text(counts))
    each = "" if counts.overhead is None else f" ({counts.overhead:.2f} for each)"
    summarize(counts, f"; trees {counts.distinct}, built {counts.built}{each}")


def select(
    table: Table,
    growth: Growth,
    limits: Limits,
    form: Form,
    method: Annotated[
        Method,
        option(
            help="elimination: take away column by column while the error does not grow; best: the least error of all "
            "subsets, proved; accept: one at most DELTA from that."
        ),
    ] = "elimination",
    delta: Annotated[
        float | None, option(metavar="DELTA", help="For accept: how far from the least error, as a share of the rows.")
    ] = None,
    feature_penalty: Annotated[
        float | None,
        option(metavar="X", help="For best and accept: what each column adds to the error, as a share of the rows."),
    ] = None,
    error: Annotated[
        Estimator,
        option(help="What is small: the error on rows held out (search), in training, or C4.5's pessimistic estimate."),
    ] = "search",
    search: Annotated[
        str | None, option(metavar="FILE", help="The rows held out; if not given, a part of the table.")
    ] = None,
    fraction: Annotated[
        float | None, option("--search-fraction", metavar="X", help="How large a part; 0.3 if not given.")
    ] = None,
    seed: Annotated[int, option(metavar="N", help="Which rows this part has.")] = 0,
    required: Required = None,
    missing: SubsetGaps = "fractional",
) -> None:
    """Select columns whose greedy tree has few errors on other rows."""
    _check(method, error, delta, feature_penalty, search, fraction)
    building, judge = table.load_to_learn(), None
    if search is not None:
        judge = table.read_like(search, building)
    elif error == "search":
        building, judge = building.split(0.3 if fraction is None else fraction, seed=seed)
    keywords = growth.keywords() | limits.keywords()
    keywords |= {"error": error, "missing": missing, "required": required or ()}
    if method == "elimination":
        run = lattree.BackwardEliminationSearch(**keywords).run
    else:
        penalty = feature_penalty or 0.0
        run = lattree.AcceptableSubsetSearch(delta=delta or 0.0, feature_penalty=penalty, **keywords).run
    with progress() as report:
        result = run(building, judge, progress=report, on_interrupt="return")
    if form.json:
        typer.echo(_selected_as_json(result))
    else:
        if not form.dot:
            typer.echo(f"features: {names(result.features)}")
        form.write(result.tree)
    of = f"features {len(result.features)} of {building.n_features}"
    proof = f", objective {number(result.objective)}, lower bound {number(result.lower_bound)}"
    if method == "elimination":  # which has no penalty, and proves nothing
        proof = ""
    summarize(result, f"; {of}, error {number(result.error)}{proof}, trees built {result.stats['built']}")


def _check(
    method: Method,
    error: Estimator,
    delta: float | None,
    feature_penalty: float | None,
    search: str | None,
    fraction: float | None,
) -> None:
    if delta is not None and method != "accept":
        raise typer.BadParameter("--delta is for --method accept")
    if feature_penalty is not None and method == "elimination":
        raise typer.BadParameter("--feature-penalty is for --method best and accept")
    if search is not None and fraction is not None:
        raise typer.BadParameter("--search and --search-fraction exclude each other")
    if error != "search" and (search is not None or fraction is not None):
        raise typer.BadParameter("--search and --search-fraction are for --error search")


def _list_trees(trees: lattree.DistinctTrees, json: bool) -> lattree.DistinctCounts:
    """Print the features of each tree as it comes."""
    with trees, contextlib.suppress(KeyboardInterrupt):  # the counts say "interrupted"
        for tree in trees:
            print(json_format.dumps(tree.features) if json else names(tree.features))
    sys.stdout.flush()
    return trees.counts


def _counts_as_json(counts: lattree.DistinctCounts) -> str:
    shown = ("distinct", "built", "overhead", "by_size", "status", "seconds")
    return json_format.dumps({name: getattr(counts, name) for name in shown})


def _counts_as_text(counts: lattree.DistinctCounts) -> str:
    width = max(5, len(str(counts.distinct)))
    rows = [f"{size:>8}  {n:>{width}}" for size, n in enumerate(counts.by_size) if n]
    ended = counts.status == "complete"
    rows.append(f"{'all' if ended else 'so far':>8}  {counts.distinct:>{width}}")
    rows += [] if ended else [f"{counts.status}: there may be more"]
    return "\n".join([f"features  {'trees':>{width}}", *rows])


def _selected_as_json(result: lattree.SubsetResult) -> str:
    shown = ("features", "status", "error", "objective", "lower_bound")
    found = {name: getattr(result, name) for name in shown}
    return json_format.dumps(found | {"tree": json_format.loads(result.tree.to_json())})
