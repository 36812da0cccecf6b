"""`lattree optimal`, `lattree policy` and `lattree greedy`: one tree from a table."""

from typing import Annotated, Literal

import polars as pl
import typer

import lattree
from lattree import experiments
from lattree._choices import Objective
from lattree._errors import first_line
from lattree._progress import number
from lattree.cli._options import (
    Aim,
    Cuts,
    Depth,
    Gaps,
    Growth,
    Limits,
    MaxCuts,
    MaxNodes,
    MinLeaf,
    MinLeafMass,
    Search,
    Seed,
    Test,
    columns,
    option,
)
from lattree.cli._output import Form, held_out, progress, summarize
from lattree.cli._table import Table


def optimal(
    table: Table,
    limits: Limits,
    form: Form,
    test: Test = None,
    max_depth: Depth = 4,
    max_nodes: MaxNodes = None,
    min_leaf: MinLeaf = 1,
    min_leaf_mass: MinLeafMass = 0.0,
    objective: Annotated[
        Objective | None,
        option(help="What the tree has least of: errors, or the mean over the classes of their shares of errors."),
    ] = None,
    matrix: Annotated[
        str | None,
        option(
            "--costs",
            metavar="FILE",
            help="CSV of what it costs to give a class, in its first column, a label, the name of another; in place "
            "of errors.",
        ),
    ] = None,
    costs: Annotated[
        list[str] | None,
        option(
            "--case-costs",
            metavar="COL,COL",
            help="Columns, named by label, of what each label costs in each row; in place of errors. Repeatable.",
        ),
    ] = None,
    class_weight: Annotated[Literal["balanced"] | None, option(help="All classes weigh the same in total.")] = None,
    abstain: Annotated[
        float | None, option(metavar="X", help="Leaves may abstain, which costs X per row, where an error costs 1.")
    ] = None,
    node_penalty: Annotated[float, option(metavar="X", help="What each split costs, in errors.")] = 0.0,
    rank: Annotated[
        Literal["objective", "objective,nodes"] | None,
        option(help="The best tree has the fewest errors (objective), and of those the fewest splits (nodes)."),
    ] = None,
    thresholds: Cuts = "auto",
    max_thresholds: MaxCuts = None,
    engine: Search = "auto",
    effort: Aim = "proof",
    seed: Seed = 0,
) -> None:
    """Find a tree of the fewest errors or least costs, and prove it."""
    if sum(given is not None for given in (objective, matrix, costs)) > 1:
        raise typer.BadParameter("--objective, --costs and --case-costs exclude each other")
    data = table.load_to_learn(costs=columns(costs))
    rows = None if test is None else table.read_like(test, data)
    keywords = limits.keywords() | ({} if rank is None else {"rank": rank.split(",")})
    if matrix is not None:
        keywords["objective"] = _read_costs(matrix)
    elif costs is not None:
        keywords["objective"] = "costs"
    elif objective is not None:
        keywords["objective"] = objective
    search = lattree.OptimalTreeSearch(
        max_depth=max_depth,
        max_nodes=max_nodes,
        min_leaf=min_leaf,
        min_leaf_mass=min_leaf_mass,
        abstain=abstain,
        node_penalty=node_penalty,
        binarizer=lattree.Binarizer(thresholds=thresholds, max_thresholds=max_thresholds),
        engine=engine,
        effort=effort,
        seed=seed,
        class_weight=class_weight,
        **keywords,
    )
    with progress() as report:
        result = search.run(data, progress=report, on_interrupt="return")
    form.write(result.tree)
    over = _over(result, chosen=thresholds != "auto" or max_thresholds is not None)
    found = f"; objective {number(result.objective)}, lower bound {number(result.lower_bound)}"
    found += _over_tests(result.lower_bound, result.tests_bound)
    summarize(result, over + found + held_out(result.tree, data, rows))


def policy(
    table: Table,
    limits: Limits,
    form: Form,
    rewards: Annotated[
        list[str],
        option(metavar="COL,COL", help="Columns, named by action, of what each is worth in each row. Repeatable."),
    ],
    max_depth: Depth = 4,
    max_nodes: MaxNodes = None,
    min_leaf: MinLeaf = 1,
    min_leaf_mass: MinLeafMass = 0.0,
    abstain: Annotated[
        float | None, option(metavar="X", help="Leaves may give no action, which is worth X per row.")
    ] = None,
    node_penalty: Annotated[float, option(metavar="X", help="What each split costs, in rewards.")] = 0.0,
    rank: Annotated[
        Literal["objective", "objective,nodes"] | None,
        option(help="The best tree has the greatest reward (objective), and of those the fewest splits (nodes)."),
    ] = None,
    thresholds: Cuts = "auto",
    max_thresholds: MaxCuts = None,
    engine: Search = "auto",
    effort: Aim = "proof",
    seed: Seed = 0,
) -> None:
    """Find the tree of actions with the greatest reward, and prove it."""
    data = table.load(rewards=columns(rewards))
    keywords = limits.keywords() | ({} if rank is None else {"rank": rank.split(",")})
    search = lattree.PolicyTreeSearch(
        max_depth=max_depth,
        max_nodes=max_nodes,
        min_leaf=min_leaf,
        min_leaf_mass=min_leaf_mass,
        abstain=abstain,
        node_penalty=node_penalty,
        binarizer=lattree.Binarizer(thresholds=thresholds, max_thresholds=max_thresholds),
        engine=engine,
        effort=effort,
        seed=seed,
        **keywords,
    )
    with progress() as report:
        result = search.run(data, progress=report, on_interrupt="return")
    form.write(result.tree)
    over = _over(result, chosen=thresholds != "auto" or max_thresholds is not None)
    found = f"; reward {number(result.reward)}, upper bound {number(result.upper_bound)}"
    summarize(result, over + found + _over_tests(result.upper_bound, result.tests_bound))


def _read_costs(path: str) -> lattree.Costs:
    """Read a matrix of costs: the classes in the first column, then a column per label."""
    try:
        frame = pl.read_csv(path, infer_schema_length=None)
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"{path} cannot be read as CSV: {first_line(error)}") from None
    if frame.width < 2:
        raise ValueError(f"{path} must have a column of classes and one for each label, got {frame.width}")
    return lattree.Costs(frame[:, 1:], classes=frame.to_series(0).to_list())


def _over_tests(bound: float, tests_bound: float) -> str:
    """Say the bound over the tests offered, where it is another one."""
    return "" if tests_bound == bound else f", over these thresholds {number(tests_bound)}"


def _over(result: lattree.OptimalResult | lattree.PolicyResult, *, chosen: bool) -> str:
    """Say which thresholds a result is about, unless they are all or a limit struck before they were known."""
    if result.exact_thresholds or not result.tests:
        return ""
    more = "" if chosen else " (--thresholds exact takes all)"
    return f", over thresholds thinned out to {len(result.tests):,} tests{more}"


def greedy(
    table: Table,
    growth: Growth,
    limits: Limits,
    form: Form,
    test: Test = None,
    max_leaves: Annotated[int | None, option(metavar="N", help="Most leaves; the best splits come first.")] = None,
    missing: Gaps = "fractional",
) -> None:
    """Grow a tree from the root, split by split, as C4.5 and CART do."""
    data = table.load_to_learn()
    rows = None if test is None else table.read_like(test, data)
    keywords = growth.keywords() | limits.keywords()
    result = lattree.GreedyTreeSearch(max_leaves=max_leaves, missing=missing, **keywords).run(
        data, on_interrupt="return"
    )
    tree = result.tree
    form.write(tree)
    wrong = number(experiments.error_rate(tree, data) * tree.root.mass)
    size = f"splits {tree.n_nodes}, leaves {tree.n_leaves}, depth {tree.depth}"
    summarize(result, f"; {size}, training errors {wrong}{held_out(tree, data, rows)}")
