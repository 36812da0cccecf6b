"""Options that commands share."""

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import typer

import lattree
from lattree._choices import Criterion, Effort, Engine, Missing, MissingInSubsets, NominalSplits, Thresholds

INPUT, TREE, LIMITS, OUTPUT = "Table", "Tree", "Limits", "Output"
"""The parts that the options of a command are listed in, in this order."""


def option(*names: str, part: str = TREE, **keywords: Any) -> Any:
    """Return an option, listed in a part of the help."""
    return typer.Option(*names, rich_help_panel=part, **keywords)


MaxDepth = Annotated[int | None, option(metavar="N", help="Most splits on a path from the root to a leaf.")]
MinLeaf = Annotated[int, option(metavar="N", help="Fewest rows in a leaf.")]
MinLeafMass = Annotated[float, option(metavar="X", help="Least weight of the rows in a leaf, where rows have weights.")]
_MISSING = "Rows without a value: down every branch in part (fractional), {}or with the mean, that of their class, or a"
Gaps = Annotated[Missing, option("--missing", help=_MISSING.format("left out (drop), ") + " level of its own.")]
SubsetGaps = Annotated[MissingInSubsets, option("--missing", help=_MISSING.format("") + " level of its own.")]
MaxNodes = Annotated[int | None, option(metavar="N", help="Most splits in the tree.")]
Depth = Annotated[int, option(metavar="N", help="Most splits on a path from the root to a leaf.")]
Cuts = Annotated[
    Thresholds,
    option(
        help="Where columns of numbers are cut: at all values (all and exact are the same), at quantiles, where the "
        "description is shortest (mdlp); auto: at all values unless that is hopeless."
    ),
]
MaxCuts = Annotated[int | None, option(metavar="N", help="Most cuts of one column.")]
Search = Annotated[
    Engine, option(help="How to search: by yes/no tests, or on columns of numbers as they are. Same trees.")
]
Aim = Annotated[
    Effort, option("--effort", help="What limits are spent on: the proof, or a good tree alone, without a proof.")
]
Seed = Annotated[int, option(metavar="N", help="Where the random numbers of the search for good trees start.")]
Required = Annotated[list[str] | None, option("--require", metavar="COL", help="Keep COL in any case. Repeatable.")]
Test = Annotated[
    str | None,
    option(metavar="FILE", part=INPUT, help="Rows that were held out: the errors of the tree on them are printed."),
]


@dataclass
class Growth:
    """How greedy trees grow."""

    criterion: Annotated[Criterion, option(help="What makes a split good.")] = "information_gain"
    min_cases: Annotated[int, option(metavar="N", help="Fewest rows in a node that is split.")] = 2
    min_branch: Annotated[int | None, option(metavar="N", help="Fewest rows in at least two branches of a split.")] = (
        None
    )
    min_leaf: MinLeaf = 1
    min_leaf_mass: MinLeafMass = 0.0
    max_depth: MaxDepth = None
    min_gain: Annotated[float, option(metavar="X", help="Least gain of a split, per row.")] = 0.0
    nominal_splits: Annotated[
        NominalSplits,
        option(help="Columns of names: a branch per level, one level against the rest, or sets of levels."),
    ] = "multiway"
    class_weight: Annotated[Literal["balanced"] | None, option(help="All classes weigh the same in total.")] = None

    def keywords(self) -> dict[str, Any]:
        """Return them as the searches take them."""
        return dict(vars(self))


@dataclass
class Limits:
    """When a search ends, whatever it has."""

    time_limit: Annotated[
        float | None, option(part=LIMITS, metavar="SECONDS", help="Then the best found so far is printed.")
    ] = None
    memory_limit: Annotated[
        float | None,
        option(part=LIMITS, metavar="MB", help="Megabytes; if not given, a quarter of the memory there is."),
    ] = None
    threads: Annotated[int | None, option(part=LIMITS, metavar="N", help="If not given, as many as can run.")] = None

    def keywords(self) -> dict[str, Any]:
        """Return them as the searches take them."""
        memory = self.memory_limit
        if memory is not None:
            if not 0 <= memory < math.inf:
                raise lattree.ParameterError(f"`memory_limit` must be a number of megabytes from 0 on, got {memory:g}")
            memory = int(memory * 1_000_000)
        return {"time_limit": self.time_limit, "memory_limit": memory, "threads": self.threads}


def columns(given: list[str] | None) -> list[str] | None:
    """Return names of columns, of which an option has several with commas between them."""
    return None if given is None else [name for text in given for name in text.split(",")]
