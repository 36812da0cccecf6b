"""Time lattree beside a prototype of its search, on tables of 0/1 features.

    python benches/peers/prototype.py --data DIR --prototype BINARY [--budget-prototype BINARY] [--depths 4 5]
        [--sets NAME ...] [--max-nodes K ...] [--runs 5] [--limit 120] [--core N] [--csv OUT]

The prototype is a throw-away program, and no part of this repository. It finds the least number of errors only, without
a tree: ``BINARY FILE DEPTH`` reads a blank-separated file, the label first, and prints ``err=`` and ``cpu=``, its CPU
seconds once the file is read. With ``--max-nodes`` the other program is called in its place, with K in the environment.

DIR, names of sets and the conditions are those of ``optimal.py``: runs taken in turn, the median of each, one thread,
one core, CPU seconds; those of lattree run from arrays to the canonical tree, "table" and "rebuild" are shares of them.
OVER marks a row where lattree takes over 25 % and over 2 ms more than the prototype. Exit status 1 if errors differ, or
lattree fails in any way other than the limit.
"""

import argparse
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from common import POLL, Failure, Run, apart, choose, default_core, interleaved, read, solve, spent
from report import (
    DATASET,
    DEPTH,
    DIFFERENCE,
    NODES,
    NOTES,
    OUR_ERRORS,
    OURS,
    OVER,
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

COLUMNS = (
    DATASET,
    DEPTH,
    NODES,
    ROWS,
    TESTS,
    OUR_ERRORS,
    THEIR_ERRORS,
    OURS,
    TABLE,
    REBUILD,
    THEIRS,
    RATIO,
    DIFFERENCE,
    OVER,
    NOTES,
)


def run_prototype(binary: Path, table: Path, depth: int, nodes: int | None, core: int, limit: float) -> Run | Failure:
    """Run the prototype once."""
    environment = dict(os.environ) if nodes is None else {**os.environ, "K": str(nodes)}
    command = ["taskset", "-c", str(core), str(binary), str(table), str(depth)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        while True:
            try:
                text = process.communicate(timeout=POLL)[0]
                break
            except subprocess.TimeoutExpired:
                if spent(process.pid) > limit:
                    process.kill()
                    process.communicate()
                    return Failure(f"> {limit:g} s", limit=True, seconds=limit)
    errors, seconds = re.search(r"\berr[ =](\d+)", text), re.search(r"\bcpu[ =]([0-9.]+)", text)
    if process.returncode or not errors or not seconds:
        return Failure(f"exit status {process.returncode}")
    return Run(float(seconds[1]), int(errors[1]), proved="exact=false" not in text)


def unzipped(path: Path, folder: str) -> Path:
    """Return a plain text copy of a file."""
    copy = Path(folder) / "table.txt"
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as source, copy.open("wb") as target:
        shutil.copyfileobj(source, target)
    return copy


def measure(dataset: str, path: Path, depth: int, nodes: int | None, arguments: argparse.Namespace) -> Row:
    """Run lattree and the prototype in turn."""
    X, y = read(path)
    binary = arguments.prototype if nodes is None else arguments.budget_prototype
    ours = partial(apart, partial(solve, X, y, depth, nodes), core=arguments.core, limit=arguments.limit)
    with tempfile.TemporaryDirectory() as folder:
        table = unzipped(path, folder)
        other = partial(run_prototype, binary, table, depth, nodes, arguments.core, arguments.limit)
        first, second = interleaved([ours, other], arguments.runs)
    return Row(dataset, depth, nodes, len(y), "prototype", first, second)


def main() -> int:
    """Measure and print a line per problem."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with murtree/")
    parser.add_argument("--prototype", type=Path, help="program for as many nodes as the depth allows")
    parser.add_argument("--budget-prototype", type=Path, help="program for --max-nodes")
    parser.add_argument("--depths", type=int, nargs="+", default=[4, 5])
    parser.add_argument("--sets", nargs="+", metavar="NAME", help="default: all")
    parser.add_argument("--max-nodes", type=int, nargs="+", metavar="K", help="default: as many as the depth allows")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--limit", type=float, default=120.0, metavar="SECONDS", help="CPU time of one run")
    parser.add_argument("--core", type=int, default=default_core())
    parser.add_argument("--csv", type=Path, help="file for the rows, written as they come")
    arguments = parser.parse_args()
    wanted = "budget_prototype" if arguments.max_nodes else "prototype"
    if getattr(arguments, wanted) is None:
        parser.error(f"--{wanted.replace('_', '-')} is missing")

    sets = choose(arguments.data / "murtree", arguments.sets)
    with Output(COLUMNS, arguments.csv) as output:
        for depth in arguments.depths:
            for nodes in arguments.max_nodes or [None]:
                for name, path in sets.items():
                    output.add(measure(name, path, depth, nodes, arguments))
    for group in groups(output.rows):
        print_ratios(group)
        print(f"  OVER: {', '.join(row.dataset for row in group if row.over) or 'none'}")
    return status(output.rows)


if __name__ == "__main__":
    sys.exit(main())
