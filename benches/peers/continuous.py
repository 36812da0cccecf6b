"""Time lattree beside other programs for optimal classification trees over all thresholds of continuous features.

    python benches/peers/continuous.py [--data DIR] [--depths 2 3] [--sets NAME ...] [--merge] [--runs 3]
        [--peer-limit 60] [--limit 600] [--core N] [--peers pycontree ...] [--prototype PATH] [--csv OUT]

DIR, or the environment variable LATTREE_DATA, holds ``contree/``: blank-separated files ``*.txt`` or ``*.txt.gz``, the
label first. Peers are those of PEERS below that are installed; of the others the script says that it goes without them.

The conditions are those of ``optimal.py``: runs taken in turn, the median of each, one thread, one core, CPU seconds.
For lattree they are those of ``Dataset.from_arrays`` and ``OptimalTreeSearch.run``, up to the canonical tree, "table"
being the share of the first; for a peer those of its ``fit``, with its defaults, and of what turns the arrays into the
types that it wants, "convert" being the share of that. A peer's run is killed after ``--peer-limit`` CPU seconds, any
other after ``--limit``. Where that ends a peer, the ratio is shown as what it is at least, and geometric means are
printed without such rows and with them, of all sets, of those with two classes and of those with more.

pycontree rounds features to float32 and takes values for one that are closer than 1e-7 to the one before them. Where
that loses thresholds, lattree may find fewer errors, which is printed as such. With ``--merge`` the table is merged in
this way before any program sees it: all must then agree.

The prototype is a throw-away program, and no part of this repository. ``PATH FILE DEPTH`` reads a table, merges it in
the same way and prints ``err`` and ``cpu``, its seconds once the file is read, for the least number of errors without a
tree. OVER marks a row where lattree takes over 25 % and over 5 ms more.

Errors are counted by predicting the table from each tree. Exit status 1 if lattree and a peer both claim a proof and
differ, other than by merged values, which is printed as DIFFERENT, or if lattree fails in any way other than the limit.
"""

import argparse
import sys
import tempfile
import time
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
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
    solve,
)
from optimal import FOREVER, ONCE_OVER, Peer, count, fitted, present
from prototype import run_prototype, unzipped
from report import (
    CLASSES,
    CONVERT,
    DATASET,
    DEPTH,
    FEATURES,
    OUR_ERRORS,
    OURS,
    OVER,
    PEER,
    RATIO,
    ROWS,
    STATUS,
    TABLE,
    THEIR_ERRORS,
    THEIRS,
    Output,
    Row,
    groups,
    print_ratios,
    status,
)

import lattree

CLOSE = np.float32(1e-7)
"""What pycontree takes for the least difference of two values."""
SLACK = 0.005
"""Seconds over the prototype that do not count."""
MERGING = ("pycontree", "prototype")
"""Programs that merge close values."""


def merged(X: Floats) -> Floats:
    """Return a table as pycontree sees it: float32, each value that of the first in its run of close ones."""
    table = X.astype(np.float32)
    for column in table.T:
        order = np.argsort(column, kind="stable")
        ascending = column[order]
        starts = np.concatenate([[True], np.diff(ascending) >= CLOSE])
        column[order] = ascending[starts][np.cumsum(starts) - 1]
    return table.astype(np.float64)


def pycontree(X: Floats, y: Labels, depth: int, nodes: int | None) -> Run:
    """ConTree: depth only."""
    start = time.process_time()
    labels = y.astype(np.intc)
    convert = time.process_time() - start
    model = module("pycontree").ConTree(max_depth=depth, time_limit=FOREVER)
    seconds = convert + fitted(model, X, labels)
    proved = bool(model._config.is_within_time_limit())
    return Run(seconds, count(model.predict(X), y), proved, table=convert)


def pytrees(X: Floats, y: Labels, depth: int, nodes: int | None) -> Run:
    """ConTree in Rust: depth only. It takes the arrays as they are."""
    model = module("pytrees").ConTreeClassifier(max_depth=depth, max_time=float(FOREVER))
    seconds = fitted(model, X, y)
    return Run(seconds, count(model.predict(X), y), model.status_ == "optimal")


PEERS = {"pycontree": Peer("pycontree", pycontree), "pytrees-rs": Peer("pytrees", pytrees)}
COLUMNS = (
    DATASET,
    DEPTH,
    ROWS,
    FEATURES,
    CLASSES,
    PEER,
    OUR_ERRORS,
    THEIR_ERRORS,
    OURS,
    TABLE,
    THEIRS,
    CONVERT,
    RATIO,
    OVER,
    STATUS,
)


def measure(name: str, path: Path, depth: int, arguments: argparse.Namespace) -> list[Row]:
    """Run lattree, the peers and the prototype in turn."""
    X, y = read(path)
    if arguments.merge:
        X = merged(X)
    one = partial(apart, core=arguments.core)
    every = lattree.Binarizer(thresholds="all")
    mine = partial(solve, X, y, depth, None, binarizer=every, engine=arguments.engine)
    ours = partial(one, mine, limit=arguments.limit)
    theirs = {
        peer: partial(one, partial(PEERS[peer].run, X, y, depth, None), limit=arguments.peer_limit)
        for peer in arguments.peers
    }
    with tempfile.TemporaryDirectory() as folder:
        if arguments.prototype:
            program, table = arguments.prototype, unzipped(path, folder)
            theirs["prototype"] = partial(run_prototype, program, table, depth, None, arguments.core, arguments.limit)
        first, *others = interleaved([ours, *theirs.values()], arguments.runs, ONCE_OVER)
    runs: dict[str, Run | Failure | None] = dict(zip(theirs, others, strict=True))
    n, features = X.shape
    row = partial(Row, name, depth, None, n, features=features, classes=len(np.unique(y)), slack=SLACK)
    return [
        row(peer=peer, ours=first, theirs=run, merges=peer in MERGING and not arguments.merge)
        for peer, run in (runs or {"-": None}).items()
    ]


def main() -> int:
    """Measure and print a line per problem and peer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data_option(parser, "folder with contree/")
    parser.add_argument("--depths", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--sets", nargs="+", metavar="NAME", help="default: all")
    parser.add_argument("--merge", action="store_true", help="merge close values before any program sees them")
    parser.add_argument("--engine", choices=("auto", "continuous", "tests"), default="continuous", help="lattree's")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--peer-limit", type=float, default=60.0, metavar="SECONDS", help="CPU time of a peer's run")
    parser.add_argument("--limit", type=float, default=600.0, metavar="SECONDS", help="CPU time of any other run")
    parser.add_argument("--core", type=int, default=default_core())
    parser.add_argument("--peers", nargs="*", choices=PEERS, help="default: all that are installed")
    parser.add_argument("--prototype", type=Path, help="program to run as a peer")
    parser.add_argument("--csv", type=Path, help="file for the rows, written as they come")
    arguments = parser.parse_args()
    wanted = arguments.peers
    arguments.peers = present(PEERS, wanted, parser)
    print(", ".join(f"{name} {version(name)}" for name in ("lattree", *arguments.peers)))
    for name in PEERS if wanted is None else ():
        if name not in arguments.peers:
            print(f"WITHOUT {name}: it is not installed")

    sets = choose(arguments.data / "contree", arguments.sets)
    with Output(COLUMNS, arguments.csv) as output:
        for depth in arguments.depths:
            for name, path in sets.items():
                for row in measure(name, path, depth, arguments):
                    output.add(row)
    for group in groups(output.rows):
        print_ratios(group)
        fewer = [row.dataset for row in group if row.fewer]
        if fewer:
            print(f"  fewer errors, by thresholds that {group[0].peer} merges (see --merge): {', '.join(fewer)}")
        if group[0].peer == "prototype":
            print(f"  OVER: {', '.join(row.dataset for row in group if row.over) or 'none'}")
    return status(output.rows)


if __name__ == "__main__":
    sys.exit(main())
