"""Errors that a limit of time leaves, beside the least known: lattree, and the peers that take a limit or need little.

    python benches/peers/anytime.py --best FILE [--data DIR] [--seconds 0.1 1 10] [--tables NAME ...] [--runs 3]
        [--peers scikit-learn ...] [--csv OUT] [--core N]

FILE is a CSV file with the columns ``table``, ``depth``, ``errors`` (the least known) and ``source``. DIR, or the
environment variable LATTREE_DATA, holds ``contree/`` (raw tables) and ``murtree/`` (tables of 0/1 features), files as
for ``continuous.py`` and ``optimal.py``. Peers are those of PEERS below that are installed.

lattree runs ``OptimalTreeSearch(max_depth=..., time_limit=..., threads=1)`` on one core, all else by default, and the
limit counts ``Dataset.from_arrays`` too. What turns the arrays into the types that a peer wants is not counted.
A limit is wall clock: let nothing else run on the core. Errors are those of the trees on the table, and ``seconds``
CPU seconds; the median of ``--runs`` runs, taken in turn.

Geometric means of the ratio to the least known are over rows of ten errors or more, apart for raw and 0/1 tables. A
line at the end counts the rows where a peer leaves fewer errors than lattree within the seconds that the peer took.
"""

import argparse
import csv
import math
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from common import Failure, Floats, Labels, apart, data_option, data_sets, default_core, module, read, tiny

import lattree

FEW = 10
"""Least errors from which the ratio to them counts."""
GRACE = 30.0
"""CPU seconds beyond the limit after which a run is killed."""


@dataclass(frozen=True)
class Left:
    """What a limit left."""

    seconds: float
    errors: int
    bound: float | None = None
    status: str = ""


def ours(X: Floats, y: Labels, depth: int, limit: float) -> Left:
    """Run lattree by default settings."""
    start, cpu = time.perf_counter(), time.process_time()
    data = lattree.Dataset.from_arrays(X, y)
    left = max(limit - (time.perf_counter() - start), 0.001)
    result = lattree.OptimalTreeSearch(max_depth=depth, time_limit=left, threads=1).run(data)
    seconds = time.process_time() - cpu
    errors = int((result.tree.predict(data).to_numpy() != y).sum())
    if errors != result.objective:
        raise AssertionError(f"the tree makes {errors} errors, not {result.objective:g}")
    return Left(seconds, errors, result.lower_bound, result.status)


def fitted(model: Any, X: Any, y: Any) -> Left:
    """Fit an estimator and count its errors."""
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    return Left(seconds, int((np.asarray(model.predict(X)).ravel() != y).sum()))


def cart(X: Floats, y: Labels, depth: int, limit: float) -> Left:
    """Fit scikit-learn's trees, which need no limit."""
    return fitted(module("sklearn.tree").DecisionTreeClassifier(max_depth=depth, random_state=0), X, y)


def streed(X: Floats, y: Labels, depth: int, limit: float) -> Left:
    """Fit STreeD with the limit, on 0/1 features."""
    model = module("pystreed").STreeDClassifier("accuracy", max_depth=depth, time_limit=max(limit, 1.0))
    return fitted(model, X.astype(np.intc), y.astype(np.intc))


def contree(X: Floats, y: Labels, depth: int, limit: float) -> Left:
    """Fit ConTree with the limit."""
    return fitted(module("pycontree").ConTree(max_depth=depth, time_limit=max(limit, 1.0)), X, y.astype(np.intc))


def lickety(X: Floats, y: Labels, depth: int, limit: float, look_ahead: int = 1) -> Left:
    """Fit LicketySPLIT, on 0/1 features: it has no limit of time."""
    classifier = module("licketysplit").LicketySPLITClassifier
    model = classifier(depth_budget=depth, lookahead_k=look_ahead, lambda_leaf=0.0)
    return fitted(model, X.astype(np.uint8), y)


@dataclass(frozen=True)
class Peer:
    """Another program: its module, how to run it, and which tables it takes."""

    module: str
    fit: Callable[[Floats, Labels, int, float], Left]
    raw: bool = True
    binary: bool = True


PEERS = {
    "scikit-learn": Peer("sklearn", cart),
    "pystreed": Peer("pystreed", streed, raw=False),
    "pycontree": Peer("pycontree", contree, binary=False),
    "licketysplit": Peer("licketysplit", lickety, raw=False),
}


@dataclass(frozen=True)
class Problem:
    """A table at a depth, and the least errors known."""

    name: str
    depth: int
    least: int
    path: Path
    raw: bool


def problems(best: Path, folder: Path, wanted: list[str] | None) -> list[Problem]:
    """Return the rows of the file of least errors, with the files of their tables."""
    raw = {Path(name).name: path for name, path in data_sets(folder / "contree").items()}
    raw |= {path.name.split(".")[0]: path for path in raw.values()}
    binary = {Path(name).name: path for name, path in data_sets(folder / "murtree").items()}
    found = []
    with best.open(newline="") as file:
        for row in csv.DictReader(file):
            name = row["table"]
            if wanted and name not in wanted:
                continue
            path = raw.get(name) or binary.get(name)
            if path is None:
                raise SystemExit(f"{folder}: no table {name}")
            found.append(Problem(name, int(row["depth"]), int(row["errors"]), path, name in raw))
    return found


def run(fit: Callable[[Floats, Labels, int, float], Left], path: Path, depth: int, limit: float) -> Left:
    """Read a table and run a program on it, after a problem of a few rows."""
    X, y = read(path)
    y = np.unique(y, return_inverse=True)[1].astype(np.int64)
    fit(*tiny(), 2, 1.0)
    return fit(X, y, depth, limit)


def median(runs: list[Left | Failure]) -> Left | Failure:
    """Return the run of the median number of errors, or the first failure."""
    done = [one for one in runs if isinstance(one, Left)]
    if len(done) < len(runs):
        return next(one for one in runs if isinstance(one, Failure))
    middle = statistics.median_low(one.errors for one in done)
    return min((one for one in done if one.errors == middle), key=lambda one: one.seconds)


def shown(left: Left | Failure) -> str:
    """Return a result as a cell."""
    if isinstance(left, Failure):
        return left.reason[:24]
    bound = "" if left.bound is None else f" >= {left.bound:g}" if left.status != "optimal" else " proved"
    return f"{left.errors}{bound} ({left.seconds:.2f} s)"


def print_means(rows: list[tuple[Problem, str, float, Left | Failure]]) -> None:
    """Print the mean ratios to the least known, by program, limit and kind of table."""
    for raw, kind in ((True, "raw tables"), (False, "0/1 tables")):
        for program, limit in dict.fromkeys((program, limit) for _, program, limit, _ in rows):
            ratios = {
                f"{problem.name} {problem.depth}": left.errors / problem.least
                for problem, name, seconds, left in rows
                if (name, seconds, problem.raw) == (program, limit, raw)
                and problem.least >= FEW
                and isinstance(left, Left)
            }
            if ratios:
                mean = math.exp(sum(math.log(ratio) for ratio in ratios.values()) / len(ratios))
                worst = max(ratios, key=ratios.__getitem__)
                said = f"{mean:.3f} times the least known, geometric mean of {len(ratios)}"
                print(f"{kind}, {program}, {limit:g} s: {said}; at most {ratios[worst]:.2f} ({worst})")


def main() -> int:
    """Measure and print a line per problem and limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data_option(parser, "folder with contree/ and murtree/")
    parser.add_argument("--best", type=Path, required=True, metavar="FILE", help="the least errors known")
    parser.add_argument("--seconds", type=float, nargs="+", default=[0.1, 1.0, 10.0])
    parser.add_argument("--tables", nargs="+", metavar="NAME", help="default: all of FILE")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--peers", nargs="*", choices=PEERS, help="default: all that are installed")
    parser.add_argument("--csv", type=Path, metavar="OUT", help="a line per program and limit")
    parser.add_argument("--core", type=int, default=default_core())
    arguments = parser.parse_args()
    installed = [name for name, peer in PEERS.items() if find_spec(peer.module)]
    peers = installed if arguments.peers is None else arguments.peers
    for name in peers:
        module(PEERS[name].module)
    rows: list[tuple[Problem, str, float, Left | Failure]] = []
    beaten = failed = 0
    for problem in problems(arguments.best, arguments.data, arguments.tables):
        suits = [name for name in peers if (PEERS[name].raw if problem.raw else PEERS[name].binary)]
        fits = {"lattree": ours} | {name: PEERS[name].fit for name in suits}
        for limit in arguments.seconds:
            left: dict[str, Left | Failure] = {}
            for program, fit in fits.items():
                task = partial(run, fit, problem.path, problem.depth, limit)
                runs = arguments.runs if program == "lattree" else 1
                bounded = partial(apart, task, core=arguments.core, limit=limit + GRACE)
                left[program] = median([bounded() for _ in range(runs)])
                rows.append((problem, program, limit, left[program]))
            mine = left["lattree"]
            failed += isinstance(mine, Failure)
            others = [other for name, other in left.items() if name != "lattree" and isinstance(other, Left)]
            if isinstance(mine, Left):
                beaten += any(other.errors < mine.errors and other.seconds <= limit for other in others)
            cells = ", ".join(f"{name} {shown(one)}" for name, one in left.items())
            print(f"{problem.name} {problem.depth}, {limit:g} s: least known {problem.least}, {cells}", flush=True)
    print_means(rows)
    print(f"rows and limits where a peer left fewer errors within the limit: {beaten}")
    if arguments.csv:
        with arguments.csv.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("table", "depth", "least", "program", "limit", "errors", "bound", "status", "seconds"))
            for problem, program, limit, one in rows:
                cells_of = (
                    (one.errors, one.bound, one.status, one.seconds)
                    if isinstance(one, Left)
                    else ("", "", one.reason, "")
                )
                writer.writerow((problem.name, problem.depth, problem.least, program, limit, *cells_of))
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
