"""Set lattree's greedy trees beside scikit-learn's: are they the same, and how long do they take.

    python benches/peers/greedy.py --data DIR --check [--sets NAME ...] [--depth 6] [--cases 20] [--seeds 5]
    python benches/peers/greedy.py --data DIR [--sets NAME ...] [--balanced] [--runs 5] [--core N]

DIR holds ``contree/`` (blank-separated, the label first) and ``uci/`` (CSV with a header, the label last). Columns are
cast to float32 for both, as scikit-learn does.

``--check`` grows trees by entropy and by Gini, of that depth and with that least number of cases at a split, and walks
them together (``greedy_check.py`` says what may differ, and why); then it counts the nodes of trees of full depth, for
several ``random_state`` of scikit-learn, which breaks ties at random. Exit status 1 if a difference has no reason.

Without it, trees of full depth by entropy are timed: the median of ``--runs`` runs, taken in turn; a run is a freshly
forked process on one core and one thread, and its seconds are CPU seconds (see ``common.py``). "fit" is
``GreedyTreeSearch.run`` on a dataset that is there, "table" what ``Dataset`` takes before that, from the array. On
``adult`` lattree reads the table with its missing values as it is, fractional, and scikit-learn an array with a
column per level, whose making is not timed. "predict" is for the training table, and the least of three calls: from
an array, or on ``adult`` from the frame, of which scikit-learn's encoder first makes an array; and from the dataset
that is there, against the array that is there. Ratios are scikit-learn's seconds over lattree's, so below 1 lattree
lost. ``--balanced`` is ``class_weight="balanced"`` for both. In the end the largest table is grown by one thread and
by two, without it, in seconds of wall clock.
"""

import argparse
import csv
import gzip
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl
from common import Failure, apart, default_core, read, tiny
from greedy_check import CRITERIA, Cells, Codes, check, sizes
from sklearn.datasets import make_classification
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import lattree

CONTREE = ("avila", "bank", "eeg", "fault", "htru", "magic", "page", "raisin", "rice", "segment")
UCI = ("ionosphere", "letter", "optdigits", "sonar", "spambase")
SYNTHETIC = ("informative", "noise")
Weight: TypeAlias = Literal["balanced"] | None
"""The weights of the classes."""
LIMIT = 600.0
"""CPU seconds after which a run is killed."""


def csv_rows(folder: Path, name: str) -> list[list[str]]:
    """Return a CSV file, the header first."""
    plain = folder / "uci" / f"{name}.csv"
    with plain.open(newline="") if plain.exists() else gzip.open(f"{plain}.gz", "rt", newline="") as file:
        return list(csv.reader(file))


def table(folder: Path, name: str) -> tuple[Cells, Codes]:
    """Return columns as float32, and class codes."""
    if name in SYNTHETIC:
        return synthetic(name)
    if name in UCI:
        _, *rows = csv_rows(folder, name)
        X = np.array([row[:-1] for row in rows], dtype=np.float64)
        labels: Any = np.array([row[-1] for row in rows])
    else:
        path = folder / "contree" / f"{name}.txt"
        X, labels = read(path if path.exists() else path.with_suffix(".txt.gz"))
    return X.astype(np.float32), np.unique(labels, return_inverse=True)[1].astype(np.int64)


def synthetic(name: str) -> tuple[Cells, Codes]:
    """Return 200,000 rows of 20 columns: classes that can be learned but for a tenth of the labels, or not at all."""
    if name == "noise":
        random = np.random.default_rng(0)
        return random.standard_normal((200_000, 20), dtype=np.float32), random.integers(0, 2, 200_000)
    X, y = make_classification(200_000, 20, n_informative=10, flip_y=0.2, random_state=0)
    return X.astype(np.float32), y.astype(np.int64)


def adult(folder: Path) -> tuple[dict[str, list[Any]], Cells, Codes]:
    """Return the table as it is, and with a column per level; a missing value is none of them."""
    header, *rows = csv_rows(folder, "adult")
    columns: dict[str, list[Any]] = {}
    dense = []
    for name, cells in zip(header, zip(*rows, strict=True), strict=True):
        try:
            columns[name] = [int(cell) for cell in cells]
            dense.append(np.array(columns[name], dtype=np.float32))
        except ValueError:
            columns[name] = [cell or None for cell in cells]
            if name != header[-1]:
                levels = sorted(set(cells) - {""})
                dense += [np.array([cell == level for cell in cells], dtype=np.float32) for level in levels]
    labels = np.unique(columns[header[-1]], return_inverse=True)[1].astype(np.int64)
    columns[header[-1]] = labels.tolist()  # the same for both
    return columns, np.stack(dense, axis=1), labels


@dataclass(frozen=True)
class Seconds:
    """CPU seconds of the parts of one run, and the nodes of its tree."""

    table: float
    fit: float
    predict: float
    predict_dataset: float
    nodes: float


def clocked(work: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> tuple[float, Any]:
    """Return the seconds that something takes, and its result."""
    start = clock()
    result = work()
    return clock() - start, result


def least(work: Callable[[], Any]) -> float:
    """Return the least CPU seconds of three calls: the first one in a process pays for what it touches first."""
    return min(clocked(work)[0] for _ in range(3))


def settled(work: Callable[[], Seconds]) -> Seconds:
    """Return a run, the second of two if it is short."""
    run = work()
    return work() if run.fit < 1.0 else run


def ours(make: Callable[[], lattree.Dataset], rows: Any, weight: Weight) -> Seconds:
    """Time lattree from a table to predictions."""
    search = lattree.GreedyTreeSearch(threads=1, class_weight=weight)
    search.run(lattree.Dataset.from_arrays(*tiny())).tree.predict(tiny()[0])

    def run() -> Seconds:
        seconds, data = clocked(make)
        fit, result = clocked(lambda: search.run(data))
        tree = result.tree
        predict = least(lambda: tree.predict(rows).to_numpy())
        predict_dataset = least(lambda: tree.predict(data).to_numpy())
        return Seconds(seconds, fit, predict, predict_dataset, tree.n_nodes + tree.n_leaves)

    return settled(run)


def ours_of_arrays(X: Cells, y: Codes, weight: Weight) -> Seconds:
    """Time lattree on an array."""
    os.environ["LATTREE_NUM_THREADS"] = "1"
    return ours(lambda: lattree.Dataset.from_arrays(X, y), X, weight)


def ours_of_frame(columns: dict[str, list[Any]], weight: Weight) -> Seconds:
    """Time lattree on a frame whose last column is the target."""
    os.environ["LATTREE_NUM_THREADS"] = "1"
    frame, target = pl.DataFrame(columns), list(columns)[-1]
    return ours(lambda: lattree.Dataset(frame, target), frame, weight)


def theirs(X: Cells, y: Codes, weight: Weight, make: Callable[[], Cells] | None = None) -> Seconds:
    """Time scikit-learn. An array is all that it reads: predicting a table takes what makes one of it, too."""
    DecisionTreeClassifier(criterion="entropy").fit(*tiny()).predict(tiny()[0])

    def run() -> Seconds:
        tree = DecisionTreeClassifier(criterion="entropy", class_weight=weight, random_state=0)
        fit, model = clocked(lambda: tree.fit(X, y))
        predict = least(lambda: model.predict(X))
        of_table = least(lambda: model.predict(make())) if make else predict
        return Seconds(0.0, fit, of_table, predict, model.tree_.node_count)

    return settled(run)


def theirs_of_frame(columns: dict[str, list[Any]], X: Cells, y: Codes, weight: Weight) -> Seconds:
    """Time scikit-learn on the array of a frame whose last column is the target."""
    features = list(columns.values())[:-1]
    is_nominal = [any(isinstance(cell, str) for cell in cells) for cells in features]
    nominal = np.array([cells for cells, of in zip(features, is_nominal, strict=True) if of], dtype=object).T
    numbers = np.array([cells for cells, of in zip(features, is_nominal, strict=True) if not of], dtype=np.float32).T
    encoder = OneHotEncoder(sparse_output=False, handle_unknown="ignore", dtype=np.float32).fit(nominal)
    # Columns in another order than those of the array, and one more per column for what is missing: as much work.
    return theirs(X, y, weight, lambda: np.hstack([numbers, encoder.transform(nominal)])[:, : X.shape[1]])


def medians(tasks: list[Callable[[], Seconds | Failure]], runs: int) -> list[Seconds | Failure]:
    """Return the medians of all tasks, run in turn; the first failure instead, if there is one."""
    results: list[list[Seconds | Failure]] = [[] for _ in tasks]
    for _ in range(runs):
        for task, before in zip(tasks, results, strict=True):
            if not (before and isinstance(before[-1], Failure)):
                before.append(task())
    return [median(each) for each in results]


def median(runs: list[Seconds | Failure]) -> Seconds | Failure:
    """Return the medians of one task's runs."""
    done = []
    for run in runs:
        if isinstance(run, Failure):
            return run
        done.append(astuple(run))
    return Seconds(*(statistics.median(part) for part in zip(*done, strict=True)))


RATIOS: dict[str, Callable[[Seconds, Seconds], float]] = {
    "fit": lambda a, b: b.fit / a.fit,
    "table and fit": lambda a, b: b.fit / (a.table + a.fit),
    "predict": lambda a, b: b.predict / a.predict,
    "predict dataset": lambda a, b: b.predict_dataset / a.predict_dataset,
}


def timings(folder: Path, names: list[str], weight: Weight, runs: int, core: int) -> int:
    """Print a line per table, and the means; return the exit status."""
    print(f"{'table':<12} {'rows':>6} {'nodes':>6} {'of peer':>7} ", end="")
    print(f"{'table s':>8} {'fit s':>8} {'peer s':>8} {'predict':>8} {'dataset':>8} {'peer s':>8} ", end="")
    print("  ".join(RATIOS))
    ratios: dict[str, dict[str, float]] = {kind: {} for kind in RATIOS}
    failed = False
    for name in names:
        if name == "adult":
            columns, X, y = adult(folder)
            works = [partial(ours_of_frame, columns, weight), partial(theirs_of_frame, columns, X, y, weight)]
        else:
            X, y = table(folder, name)
            works = [partial(ours_of_arrays, X, y, weight), partial(theirs, X, y, weight)]
        a, b = medians([partial(apart, work, core=core, limit=LIMIT) for work in works], runs)
        print(f"{name:<12} {len(y):>6} ", end="")
        if isinstance(a, Failure) or isinstance(b, Failure):
            failed = True
            print("; ".join(run.reason for run in (a, b) if isinstance(run, Failure)), flush=True)
            continue
        print(f"{a.nodes:>6.0f} {b.nodes:>7.0f} {a.table:>8.4f} {a.fit:>8.4f} {b.fit:>8.4f} ", end="")
        print(f"{a.predict:>8.5f} {a.predict_dataset:>8.5f} {b.predict:>8.5f} ", end="")
        for kind, ratio in RATIOS.items():
            ratios[kind][name] = ratio(a, b)
            print(f"{ratios[kind][name]:>{len(kind)}.2f}  ", end="")
        print(flush=True)
    for kind, of in ratios.items():
        if of:
            losses = ", ".join(f"{name} {ratio:.2f}" for name, ratio in of.items() if ratio < 1)
            print(f"{kind}: geometric mean {statistics.geometric_mean(of.values()):.2f}, losses: {losses or 'none'}")
    return int(failed)


def wall(X: Cells, y: Codes, threads: int) -> float:
    """Return the seconds of wall clock of a search, on as many cores."""
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    data = lattree.Dataset.from_arrays(X, y)
    return clocked(lambda: lattree.GreedyTreeSearch(threads=threads).run(data), time.perf_counter)[0]


def threads(folder: Path, name: str, runs: int, core: int) -> None:
    """Print what a second thread saves."""
    X, y = table(folder, name)
    taken: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(runs):
        for number, before in taken.items():
            seconds = apart(partial(wall, X, y, number), core=core, limit=LIMIT)
            if isinstance(seconds, Failure):
                print(f"{number} threads: {seconds.reason}")
                return
            before.append(seconds)
    one, two = (statistics.median(taken[number]) for number in (1, 2))
    print(f"{name}: {one:.3f} s of wall clock by one thread, {two:.3f} s by two, ratio {one / two:.2f}")


def main() -> int:
    """Check or measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with contree/ and uci/")
    parser.add_argument("--check", action="store_true", help="compare trees instead of times")
    parser.add_argument("--sets", nargs="+", choices=(*SYNTHETIC, "adult", *CONTREE, *UCI), help="default: all")
    parser.add_argument("--balanced", action="store_true", help="classes of the same weight")
    parser.add_argument("--depth", type=int, default=6)
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=5, help="values of random_state")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--core", type=int, default=default_core())
    arguments = parser.parse_args()
    print(", ".join(f"{name} {version(name)}" for name in ("lattree", "scikit-learn")))
    folder = arguments.data
    if not arguments.check:
        names = arguments.sets or [*SYNTHETIC, "adult", *CONTREE, *UCI]
        weight: Weight = "balanced" if arguments.balanced else None
        status = timings(folder, names, weight, arguments.runs, arguments.core)
        largest = [name for name in names if name in SYNTHETIC]
        if largest:
            threads(folder, largest[-1], arguments.runs, arguments.core)
        return status
    names = [name for name in arguments.sets or (*CONTREE, *UCI) if name != "adult"]
    tables = {name: table(folder, name) for name in names}
    print(f"\ndepth {arguments.depth}, splits of {arguments.cases} cases or more: lattree and scikit-learn")
    passed = [
        check(name, X, y, criterion, arguments.depth, arguments.cases)
        for name, (X, y) in tables.items()
        for criterion in CRITERIA
    ]
    print(f"\nnodes at full depth: lattree, scikit-learn by {arguments.seeds} random states,")
    print("difference from the mean and from the nearest of them")
    for name, (X, y) in tables.items():
        for criterion in CRITERIA:
            sizes(name, X, y, criterion, arguments.seeds)
    print(f"\n{sum(passed)} of {len(passed)} pairs of trees are identical or explained")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
