"""Time lattree beside other programs for optimal classification trees, on tables of 0/1 features.

    python benches/peers/optimal.py --data DIR [--depths 4 5] [--sets NAME ...] [--max-nodes K ...] [--runs 5]
        [--peer-limit 120] [--core N] [--peers pystreed ...] [--csv OUT]

DIR holds ``murtree/``: blank-separated files ``*.txt`` or ``*.txt.gz`` in subfolders, the label first. A set is named
with or without its subfolder; without ``--sets`` all are run. Peers are those of PEERS below that are installed.

A figure is the median of ``--runs`` runs, taken in turn with those of the peers; one run is a freshly forked process
on one core and one thread, and its seconds are CPU seconds (see ``common.py``). For lattree they are those of
``Dataset.from_arrays`` and ``OptimalTreeSearch.run``: columns to tests, search, canonical tree. "table" and "rebuild"
are the shares of the first and the last of these. For a peer they are those of its ``fit``, with its defaults, and on
arrays of the type that it wants. Any run, of lattree too, is killed after ``--peer-limit`` CPU seconds and may take
8 GiB; a peer whose run took more than 20 s is not run again. What a peer cannot do, such as node budgets, shows as "-".

Errors are counted by predicting the table from each tree. Exit status 1 if lattree and a peer both claim a proof and
differ, which is printed as DIFFERENT, or if lattree fails in any way other than the limit.
"""

import argparse
import importlib.util
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from common import Floats, Labels, Run, apart, choose, default_core, interleaved, module, read, settled, solve, tiny
from report import (
    DATASET,
    DEPTH,
    NODES,
    NOTES,
    OUR_ERRORS,
    OURS,
    PEER,
    RATIO,
    REBUILD,
    ROWS,
    TABLE,
    TESTS,
    THEIR_ERRORS,
    THEIRS,
    Output,
    Row,
    groups,
    print_ratios,
    status,
)

ONCE_OVER = 20.0
"""Seconds after which a peer is measured once."""
FOREVER = 1_000_000
"""A peer's own limit, in seconds of wall clock: the process is killed instead, by CPU seconds."""


def fitted(model: Any, X: Any, y: Any) -> float:
    """Return the CPU seconds of ``fit``."""
    start = time.process_time()
    model.fit(X, y)
    return time.process_time() - start


def count(predicted: Any, y: Labels) -> int:
    """Return the errors of predictions."""
    return int((np.asarray(predicted).ravel() != y).sum())


def pystreed(X: Floats, y: Labels, depth: int, nodes: int | None) -> Run:
    """STreeD: depth and number of nodes."""
    cells = X.astype(np.intc)
    model = module("pystreed").STreeDClassifier("accuracy", max_depth=depth, max_num_nodes=nodes, time_limit=FOREVER)
    seconds = fitted(model, cells, y.astype(np.intc))
    return Run(seconds, count(model.predict(cells), y), bool(model.fit_result.is_optimal()))


def gosdt(X: Floats, y: Labels, depth: int, nodes: int | None) -> Run:
    """GOSDT: errors plus a penalty per leaf.

    Without a penalty it does not promise an optimum of a given depth. All leaves together cost less than half an error
    here, so its optimum has the fewest errors; of these it also has to find one with the fewest leaves.
    """
    cells = X.astype(bool)
    penalty = 0.5 / (len(y) * 2**depth)
    model = module("gosdt").GOSDTClassifier(regularization=penalty, allow_small_reg=True, depth_budget=depth)
    seconds = fitted(model, cells, y)
    # Not by its own `predict`, which scikit-learn has outgrown.
    errors = count(model.trees_[0].predict(cells), y)
    return Run(seconds, errors, model.result_.status == module("gosdt").Status.CONVERGED)


def pydl85(X: Floats, y: Labels, depth: int, nodes: int | None) -> Run:
    """DL8.5: depth only."""
    cells = X.astype(np.int32)
    model = module("pydl85").DL85Classifier(max_depth=depth, min_sup=1)
    seconds = fitted(model, cells, y.astype(np.int32))
    return Run(seconds, count(model.predict(cells), y), not model.timeout_)


def pytrees(X: Floats, y: Labels, depth: int, nodes: int | None) -> Run:
    """DL8.5 in Rust: depth only."""
    model = module("pytrees").DL85Classifier(max_depth=depth, min_sup=1, max_time=float(FOREVER))
    seconds = fitted(model, X, y)
    return Run(seconds, count(model.predict(X), y), model.status_ == "optimal")


@dataclass(frozen=True)
class Peer:
    """Another program: its module, how to run it, whether it can limit the number of nodes."""

    module: str
    fit: Callable[[Floats, Labels, int, int | None], Run]
    nodes: bool = False

    def run(self, X: Floats, y: Labels, depth: int, nodes: int | None) -> Run:
        """Time one run, after one of a few rows."""
        self.fit(*tiny(), 2, None)
        return settled(lambda: self.fit(X, y, depth, nodes))


PEERS = {
    "pystreed": Peer("pystreed", pystreed, nodes=True),
    "gosdt": Peer("gosdt", gosdt),
    "pydl8.5": Peer("pydl85", pydl85),
    "pytrees-rs": Peer("pytrees", pytrees),
}


def present(known: dict[str, Peer], wanted: list[str] | None, parser: argparse.ArgumentParser) -> list[str]:
    """Return the peers that are wanted, or all that are installed, imported before any process forks."""
    installed = [name for name, peer in known.items() if importlib.util.find_spec(peer.module)]
    for name in wanted or ():
        if name not in installed:
            parser.error(f"{name} is not installed")
    chosen = installed if wanted is None else wanted
    for name in chosen:
        module(known[name].module)
    return chosen


COLUMNS = (
    DATASET,
    DEPTH,
    NODES,
    ROWS,
    TESTS,
    PEER,
    OUR_ERRORS,
    THEIR_ERRORS,
    OURS,
    TABLE,
    REBUILD,
    THEIRS,
    RATIO,
    NOTES,
)


def measure(name: str, path: Path, depth: int, nodes: int | None, arguments: argparse.Namespace) -> list[Row]:
    """Run lattree and the peers in turn."""
    X, y = read(path)
    able = [peer for peer in arguments.peers if nodes is None or PEERS[peer].nodes]
    works = [partial(solve, X, y, depth, nodes), *(partial(PEERS[peer].run, X, y, depth, nodes) for peer in able)]
    tasks = [partial(apart, work, core=arguments.core, limit=arguments.peer_limit) for work in works]
    ours, *rest = interleaved(tasks, arguments.runs, ONCE_OVER)
    theirs = dict(zip(able, rest, strict=True))
    return [Row(name, depth, nodes, len(y), peer, ours, theirs.get(peer)) for peer in arguments.peers or ["-"]]


def main() -> int:
    """Measure and print a line per problem and peer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with murtree/")
    parser.add_argument("--depths", type=int, nargs="+", default=[4, 5])
    parser.add_argument("--sets", nargs="+", metavar="NAME", help="default: all")
    parser.add_argument("--max-nodes", type=int, nargs="+", metavar="K", help="default: as many as the depth allows")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--peer-limit", type=float, default=120.0, metavar="SECONDS", help="CPU time of one run")
    parser.add_argument("--core", type=int, default=default_core())
    parser.add_argument("--peers", nargs="*", choices=PEERS, help="default: all that are installed")
    parser.add_argument("--csv", type=Path, help="file for the rows, written as they come")
    arguments = parser.parse_args()
    arguments.peers = present(PEERS, arguments.peers, parser)
    print(", ".join(f"{name} {version(name)}" for name in ("lattree", *arguments.peers)))

    sets = choose(arguments.data / "murtree", arguments.sets)
    with Output(COLUMNS, arguments.csv) as output:
        for depth in arguments.depths:
            for nodes in arguments.max_nodes or [None]:
                for name, path in sets.items():
                    for row in measure(name, path, depth, nodes, arguments):
                        output.add(row)
    for group in groups(output.rows):
        print_ratios(group)
    return status(output.rows)


if __name__ == "__main__":
    sys.exit(main())
