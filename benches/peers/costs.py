"""Time lattree beside STreeD's cost-sensitive classifier, on tables of 0/1 features with costs of wrong labels.

    python benches/peers/costs.py --data DIR [--depths 3 4] [--sets NAME ...] [--runs 5] [--peer-limit 120] [--core N]

DIR holds ``murtree/`` as for ``optimal.py``, and ``cost_sensitive/``: tables ``X/X-train-1.csv`` with cost matrices in
the first lines of ``X/X-LEVEL-costs.csv``. A set of ``cost_sensitive`` is run with each of its matrices, one of
``murtree`` with a random matrix of whole numbers from 1 to 10. Tests cost nothing: lattree has no costs of tests.

A figure is the median of ``--runs`` runs in turn, each in a process of its own, in CPU seconds (see ``common.py``).
What a tree costs is summed over the table, from the labels that it predicts. Exit status 1 if both claim a proof and
differ.
"""

import argparse
import math
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from common import (
    Failure,
    Floats,
    Labels,
    Run,
    apart,
    choose,
    data_option,
    default_core,
    interleaved,
    module,
    read,
    settled,
)
from optimal import FOREVER, ONCE_OVER

import lattree

Matrix = npt.NDArray[np.float64]
LEVELS = ("low", "middle", "high")
MURTREE = ("anneal", "german-credit", "hypothyroid", "vehicle")
LITTLE = 0.02
"""Seconds from which a run of the peer counts for the mean ratio."""


def total(predicted: Any, y: Labels, costs: Matrix) -> int:
    """Return what predictions cost, in millionths."""
    return round(float(costs[y, np.asarray(predicted, dtype=np.int64).ravel()].sum()) * 1e6)


def ours(X: Floats, y: Labels, costs: Matrix, depth: int) -> Run:
    """Time lattree from arrays to tree."""
    search = lattree.OptimalTreeSearch(max_depth=depth, rank="objective", threads=1, objective=lattree.Costs(costs))
    start = time.process_time()
    result = search.run(lattree.Dataset.from_arrays(X, y))
    seconds = time.process_time() - start
    predicted = result.tree.predict(lattree.Dataset.from_arrays(X, y)).to_numpy()
    return Run(seconds, total(predicted, y, costs), result.status == "optimal")


def theirs(X: Floats, y: Labels, costs: Matrix, depth: int) -> Run:
    """Time STreeD's ``fit``."""
    rows = [" ".join(map(repr, row)) for row in costs.tolist()]
    tests = [f"x{j} 0 0 x {j} {j}" for j in range(X.shape[1])]
    lines = [*rows, "Attribute-name test-cost discount group binarize-begin binarize-end", *tests]
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        specifier = module("pystreed.data").CostSpecifier(file.name, len(costs))
        cells = X.astype(np.intc)
        model = module("pystreed").STreeDCostSensitiveClassifier(max_depth=depth, time_limit=FOREVER)
        start = time.process_time()
        model.fit(cells, y.astype(np.intc), specifier)
        seconds = time.process_time() - start
    return Run(seconds, total(model.predict(cells), y, costs), bool(model.fit_result.is_optimal()))


def problems(folder: Path, wanted: list[str] | None) -> dict[str, tuple[Floats, Labels, Matrix]]:
    """Return tables with their cost matrices, by name."""
    found = {}
    for path in sorted((folder / "cost_sensitive").glob("*/*-train-1.csv")):
        name = path.parent.name
        if wanted and name not in wanted:
            continue
        X, y = read(path)
        for level in LEVELS:
            lines = (path.parent / f"{name}-{level}-costs.csv").read_text().splitlines()
            matrix = np.array([[float(cell) for cell in line.split()] for line in lines[: int(y.max()) + 1]])
            found[f"{name}-{level}"] = (X, y, matrix)
    murtree = [name for name in wanted or MURTREE if name not in {key.rpartition("-")[0] for key in found}]
    for name, path in (choose(folder / "murtree", murtree) if murtree else {}).items():
        X, y = read(path)
        n = int(y.max()) + 1
        found[name] = (X, y, np.random.default_rng(0).integers(1, 11, (n, n)) * (1.0 - np.eye(n)))
    return found


def main() -> int:
    """Measure and print a line per problem."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data_option(parser, "folder with murtree/ and cost_sensitive/")
    parser.add_argument("--depths", type=int, nargs="+", default=[3, 4])
    parser.add_argument("--sets", nargs="+", metavar="NAME", help="default: all of cost_sensitive, and MURTREE")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--peer-limit", type=float, default=120)
    parser.add_argument("--core", type=int, default=default_core())
    arguments = parser.parse_args()
    module("pystreed")
    differ, logarithms = 0, []
    for name, problem in problems(arguments.data, arguments.sets).items():
        for depth in arguments.depths:
            runs = [partial(settled, partial(run, *problem, depth)) for run in (ours, theirs)]
            tasks = [partial(apart, run, core=arguments.core, limit=arguments.peer_limit) for run in runs]
            mine, other = interleaved(tasks, arguments.runs, ONCE_OVER)
            if isinstance(mine, Failure) or isinstance(other, Failure):
                print(f"{name:32} depth {depth}: {mine} {other}", flush=True)
                continue
            same = mine.errors == other.errors or not (mine.proved and other.proved)
            differ += not same
            if other.seconds >= LITTLE:
                logarithms.append(math.log(other.seconds / mine.seconds))
            print(
                f"{name:32} depth {depth}: cost {mine.errors / 1e6:12.4f} {other.errors / 1e6:12.4f}, seconds "
                f"{mine.seconds:8.4f} {other.seconds:8.4f}, ratio {other.seconds / mine.seconds:7.1f}"
                f"{'' if same else ' DIFFERENT'}",
                flush=True,
            )
    if logarithms:
        mean = math.exp(sum(logarithms) / len(logarithms))
        print(f"geometric mean of {len(logarithms)} ratios where the peer takes {LITTLE} s or more: {mean:.1f}")
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
