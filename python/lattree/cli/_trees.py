"""`lattree optimal` and `lattree greedy`: one tree from a table."""

from typing import Annotated, Literal

import lattree
from lattree import experiments
from lattree._choices import Engine, Thresholds
from lattree._progress import number
from lattree.cli._options import Gaps, Growth, Limits, MinLeaf, MinLeafMass, Test, option
from lattree.cli._output import Form, held_out, progress, summarize
from lattree.cli._table import Table


def optimal(
    table: Table,
    limits: Limits,
    form: Form,
    test: Test = None,
    max_depth: Annotated[int, option(metavar="N", help="Most splits on a path from the root to a leaf.")] = 4,
    max_nodes: Annotated[int | None, option(metavar="N", help="Most splits in the tree.")] = None,
    min_leaf: MinLeaf = 1,
    min_leaf_mass: MinLeafMass = 0.0,
    node_penalty: Annotated[float, option(metavar="X", help="What each split costs, in errors.")] = 0.0,
    rank: Annotated[
        Literal["objective", "objective,nodes"] | None,
        option(help="The best tree has the fewest errors (objective), and of those the fewest splits (nodes)."),
    ] = None,
    thresholds: Annotated[
        Thresholds,
        option(
            help="Where columns of numbers are cut: at all values (all and exact are the same), at quantiles, where "
            "the description is shortest (mdlp); auto: at all values unless that is hopeless."
        ),
    ] = "auto",
    max_thresholds: Annotated[int | None, option(metavar="N", help="Most cuts of one column.")] = None,
    engine: Annotated[
        Engine, option(help="How to search: by yes/no tests, or on columns of numbers as they are. Same trees.")
    ] = "auto",
) -> None:
    """Find a tree with the fewest training errors, and prove it."""
    data = table.load_to_learn()
    rows = None if test is None else table.read_like(test, data)
    keywords = limits.keywords() | ({} if rank is None else {"rank": rank.split(",")})
    search = lattree.OptimalTreeSearch(
        max_depth=max_depth,
        max_nodes=max_nodes,
        min_leaf=min_leaf,
        min_leaf_mass=min_leaf_mass,
        node_penalty=node_penalty,
        binarizer=lattree.Binarizer(thresholds=thresholds, max_thresholds=max_thresholds),
        engine=engine,
        **keywords,
    )
    with progress() as report:
        result = search.run(data, progress=report, on_interrupt="return")
    form.write(result.tree)
    over = _over(result, chosen=thresholds != "auto" or max_thresholds is not None)
    found = f"; objective {number(result.objective)}, lower bound {number(result.lower_bound)}"
    summarize(result, over + found + held_out(result.tree, data, rows))


def _over(result: lattree.OptimalResult, *, chosen: bool) -> str:
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
