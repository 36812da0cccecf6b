"""Count distinct trees by m, as Figures 4 and 5 of Ruggieri (JMLR 2019) do on Adult, and plot them.

    python benches/peers/distinct.py --data DIR [--sets adult ...] [--m 2 4 ... 1024] [--limit 600] [--plot FILE]

For each data set and each m, the least number of cases at a split: how many distinct trees by information gain there
are over all subsets of the features, and how many are built for one that is listed, by the order of the visit: the
frontier order, its reverse, and a fixed one. Beside that, what an exhaustive search builds, 2^N, per distinct tree, and
the seconds of wall clock of both on ``--threads`` threads. Each enumeration is given ``--limit`` seconds; what it had
counted by then is a prefix of the visit and marked ``>``: its ratio need not be that of the whole.

The exit status is 1 if the frontier order builds more than 1.00035 trees for one that is distinct, the paper's claim,
in an enumeration that ended. ``--plot`` writes a figure (PNG or SVG) for the first data set: distinct trees by size,
trees built per distinct one, seconds per tree at m = 8, seconds in all. Per size of the subset the third has the
exhaustive search, measured on a few random subsets, and DTdistinct as the mean over all of its trees.
"""

import argparse
import math
import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import module
from ruggieri import arguments_of, names, table

import lattree
from lattree import Dataset

ORDERS = ("frontier", "reverse", "fixed")
MOST = 1.00035
"""Trees built per distinct one, as the paper has it."""
FIGURE_M = 8
"""The m of the paper's Figure 5(a)."""
SUBSETS = 8
"""Random subsets of each size that are timed."""


@dataclass(frozen=True)
class Counted:
    """What an enumeration came to."""

    built: int
    distinct: int
    by_size: list[int]
    seconds: float
    ended: bool

    @property
    def overhead(self) -> float:
        """Trees built per distinct one."""
        return self.built / max(self.distinct, 1)

    def shown(self, figure: float, form: str) -> str:
        """Return a figure for a cell, marked if it is of a prefix."""
        return f"{'' if self.ended else '>'}{figure:{form}}"


@dataclass(frozen=True)
class Line:
    """All that was measured for one m."""

    m: int
    orders: dict[str, Counted]
    exhaustive: Counted

    @property
    def frontier(self) -> Counted:
        """The enumeration in the order that is the default."""
        return self.orders["frontier"]


def count(data: Dataset, m: int, order: Any, limit: float, threads: int) -> Counted:
    """Count the distinct trees."""
    search = lattree.DistinctTreeSearch(min_cases=m, order=order, time_limit=limit, threads=threads)
    counts = search.count(data)
    ended = counts.status == "complete"
    return Counted(counts.built, counts.distinct, list(counts.by_size), counts.seconds, ended)


def exhaust(data: Dataset, m: int, limit: float, threads: int) -> Counted:
    """Grow a tree for every subset."""
    search = lattree.ExhaustiveSubsetSearch(min_cases=m, error="training", time_limit=limit, threads=threads)
    result = search.run(data)
    # It is over when it has proved the best subset.
    ended = result.status not in ("time_limit", "memory_limit", "node_limit", "interrupted")
    return Counted(result.stats["built"], 0, [], result.seconds, ended)


def measure(data: Dataset, m: int, arguments: argparse.Namespace) -> Line:
    """Enumerate in all orders, and exhaustively."""
    limit, threads = arguments.limit, arguments.threads
    orders = {order: count(data, m, order, limit, threads) for order in arguments.orders}
    distinct = {counted.distinct for counted in orders.values() if counted.ended}
    if len(distinct) > 1:
        raise AssertionError(f"m = {m}: the orders found {distinct} distinct trees")
    exhaustive = exhaust(data, m, min(limit, arguments.exhaustive_limit), threads)
    return Line(m, orders, exhaustive)


def printed(line: Line, features: int) -> bool:
    """Print a line; return whether what is claimed is not refuted."""
    frontier = line.frontier
    print(f"{line.m:>6}{frontier.shown(frontier.distinct, ','):>18}", end="")
    for order in ORDERS:
        counted = line.orders.get(order)
        print(f"{'-' if counted is None else counted.shown(counted.overhead, '.6f'):>16}", end="")
    # Of a prefix there may be many more distinct trees: the ratio is at most this.
    ratio = f"{'' if frontier.ended else '<'}{2**features / max(frontier.distinct, 1):.4g}"
    print(f"{ratio:>12}{frontier.shown(frontier.seconds, '.2f'):>12}", end="")
    print(f"{line.exhaustive.shown(line.exhaustive.seconds, '.2f'):>12}", end="")
    print(f" ({line.exhaustive.built / 2**features:.1%})" if not line.exhaustive.ended else "", end="")
    holds = not frontier.ended or frontier.overhead <= MOST
    print("" if holds else f"  FAILED: more than {MOST}", flush=True)
    return holds


def sizes(lines: list[Line], features: int) -> None:
    """Print the distinct trees by the number of features that they use."""
    print("\ndistinct trees by features used (> of a prefix)")
    print(f"{'used':>6}" + "".join(f"{f'm={line.m}':>14}" for line in lines) + f"{'subsets':>22}")
    for size in range(features + 1):
        cells = [sum(line.frontier.by_size[size : size + 1]) for line in lines]
        shown = [line.frontier.shown(cell, ",") for line, cell in zip(lines, cells, strict=True)]
        if any(cells):
            print(f"{size:>6}" + "".join(f"{cell:>14}" for cell in shown) + f"{math.comb(features, size):>22,}")


def by_size(data: Dataset, threads: int) -> list[tuple[int, float]]:
    """Return the mean seconds of growing a tree over random subsets, by their size."""
    draw, every = random.Random(0), data.schema.feature_names
    search = lattree.GreedyTreeSearch(min_cases=FIGURE_M, threads=threads)
    found = []
    for size in range(1, len(every) + 1):
        parts = [data.select([name for name in every if name in chosen]) for chosen in samples(draw, every, size)]
        start = time.perf_counter()
        for part in parts:
            search.run(part)
        found.append((size, (time.perf_counter() - start) / len(parts)))
    return found


def samples(draw: random.Random, every: list[str], size: int) -> list[set[str]]:
    """Return random subsets of one size."""
    return [set(draw.sample(every, size)) for _ in range(SUBSETS)]


def curve(axis: Any, points: list[tuple[int, float, bool]], label: str) -> None:
    """Draw figures by m, hollow where an enumeration did not end."""
    if points:
        (drawn,) = axis.plot([m for m, _, _ in points], [figure for _, figure, _ in points], label=label)
        for m, figure, ended in points:
            colour = drawn.get_color()
            axis.plot(m, figure, marker="o", color=colour, markerfacecolor=colour if ended else "white")


def plot(path: Path, name: str, data: Dataset, lines: list[Line], threads: int) -> None:
    """Write the figure."""
    module("matplotlib").use("Agg")
    figure, ((left, right), (low, last)) = module("matplotlib.pyplot").subplots(2, 2, figsize=(11, 8))
    n = data.n_features
    for line in lines:
        label = f"m = {line.m}" + ("" if line.frontier.ended else " (prefix)")
        left.plot(range(len(line.frontier.by_size)), line.frontier.by_size, marker=".", label=label)
    left.plot(range(n + 1), [math.comb(n, size) for size in range(n + 1)], "k:", label="all subsets")
    left.set(title=f"{name}: distinct trees", xlabel="features used", ylabel="trees")
    for order in ORDERS:
        there = [(line.m, line.orders[order]) for line in lines if order in line.orders]
        curve(right, [(m, counted.overhead, counted.ended) for m, counted in there], f"{order} order")
    whole = [(line.m, 2**n / line.frontier.distinct, True) for line in lines if line.frontier.ended]
    curve(right, whole, "exhaustive: 2^N")
    right.set(title="trees built per distinct one (hollow: of a prefix)", xlabel="m", xscale="log", yscale="log")
    low.plot(*zip(*by_size(data, threads), strict=True), marker=".", label="exhaustive, by size of subset")
    for line in lines:
        if line.m == FIGURE_M:
            mean = line.frontier.seconds / line.frontier.built
            low.axhline(mean, linestyle="--", label="DTdistinct, mean of all")
    low.set(title=f"seconds per tree, m = {FIGURE_M}", xlabel="features", yscale="log")
    curve(last, [(line.m, line.frontier.seconds, line.frontier.ended) for line in lines], "DTdistinct")
    curve(last, [(line.m, line.exhaustive.seconds, line.exhaustive.ended) for line in lines], "exhaustive")
    last.set(title=f"seconds, {threads} thread(s) (hollow: not ended)", xlabel="m", xscale="log", yscale="log")
    for axis in (left, right, low, last):
        axis.legend(fontsize="x-small")
    figure.tight_layout()
    figure.savefig(path)
    print(f"\n{path} written")


def main() -> int:
    """Count, print and plot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--m", type=int, nargs="+", default=[2**power for power in range(1, 11)])
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for each enumeration")
    parser.add_argument("--exhaustive-limit", type=float, default=600.0, help="seconds for each exhaustive search")
    parser.add_argument("--orders", nargs="+", choices=ORDERS, default=ORDERS, help="the frontier order is always run")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--plot", type=Path, help="where to write a figure")
    arguments = arguments_of(parser, ("adult",))
    arguments.orders = [order for order in ORDERS if order == "frontier" or order in arguments.orders]
    print(f"lattree {lattree.__version__}, at most {arguments.limit:g} s each, > a prefix of the visit")
    failed = 0
    for position, file in enumerate(arguments.sets):
        data = table(arguments.data, file)
        print(f"\n{names()[file]}, {len(data):,} cases, {data.n_features} features: trees built per distinct one")
        heads = [f"{order:>16}" for order in ORDERS]
        print(f"{'m':>6}{'distinct':>18}" + "".join(heads) + f"{'2^N':>12}{'seconds':>12}{'exhaustive':>12}")
        lines = []
        for m in arguments.m:
            lines.append(measure(data, m, arguments))
            failed += not printed(lines[-1], data.n_features)
        sizes(lines, data.n_features)
        if arguments.plot is not None and position == 0:
            plot(arguments.plot, names()[file], data, lines, arguments.threads)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
