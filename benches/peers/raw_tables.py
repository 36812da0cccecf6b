"""Search raw tables end to end by default settings, from a polars frame to the tree.

    python benches/peers/raw_tables.py [--data DIR] [--sets NAME ...] [--depth 3] [--limit 600]

DIR, or the environment variable LATTREE_DATA, holds ``uci/``: a CSV file per table, with a JSON file beside it. Nothing
is said of engine, tests or threads: what is run is
``OptimalTreeSearch(max_depth=..., rank="objective", time_limit=...)``.

A line says how the search ended, the errors of the tree, counted by predicting the table, and the bound on them;
whether all thresholds were offered, and to which engine; seconds, of making a ``Dataset`` of the frame and of all, and
CPU seconds of all threads; the most memory that the process had, and the most that it had before the frame was used.

Exit status 1 if a run fails, or a table of PROVED is not proved over all thresholds at depth 3.
"""

import argparse
import os
import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bundle_datasets import read
from common import Failure, apart, data_option

import lattree

TABLES = ("adult", "spambase", "ionosphere", "sonar", "optdigits")
PROVED = ("ionosphere", "sonar")
"""What is claimed to be proved at depth 3."""
TARGET = "class"
GRACE = 120.0
"""CPU seconds beyond those of the limit, for what reads the table and for a search that stops late."""


@dataclass(frozen=True)
class Found:
    """What a search came to."""

    size: str
    status: str
    errors: int
    bound: float
    exact: bool
    engine: str
    table: float
    seconds: float
    cpu: float
    before: float
    peak: float


def most_memory() -> float:
    """Return the most memory in MB that this process has had since it was forked."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def run(stem: Path, depth: int, limit: float) -> Found:
    """Search a table."""
    frame = read(stem)
    before = most_memory()
    wall, cpu = time.perf_counter(), time.process_time()
    data = lattree.Dataset(frame, TARGET)
    table = time.perf_counter() - wall
    result = lattree.OptimalTreeSearch(max_depth=depth, rank="objective", time_limit=limit).run(data)
    seconds, cpu, peak = time.perf_counter() - wall, time.process_time() - cpu, most_memory()
    errors = int((result.tree.predict(data) != frame[TARGET]).sum())
    if errors != result.objective:
        raise AssertionError(f"the tree makes {errors} errors, not {result.objective:g}")
    return Found(
        size=f"{data.n_rows} x {data.n_features}",
        status=result.status,
        errors=errors,
        bound=result.lower_bound,
        exact=result.exact_thresholds,
        engine=engine(result),
        table=table,
        seconds=seconds,
        cpu=cpu,
        before=before,
        peak=peak,
    )


def engine(result: lattree.OptimalResult) -> str:
    """Return which engine did the work."""
    return "continuous" if "cuts_tried" in result.stats else "tests"


def main() -> int:
    """Print a line per table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data_option(parser, "folder with uci/")
    parser.add_argument("--sets", nargs="+", metavar="NAME", default=TABLES, help=f"default: {' '.join(TABLES)}")
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--limit", type=float, default=600.0, metavar="SECONDS", help="wall clock of a search")
    arguments = parser.parse_args()
    cpus = len(os.sched_getaffinity(0))
    print(f"lattree {lattree.__version__}, depth {arguments.depth}, {cpus} threads, at most {arguments.limit:g} s each")
    print(
        f"{'':<12}{'rows x features':>16}  {'status':<12}{'errors':>7}{'bound':>9}  {'thresholds':<12}{'engine':<12}",
        end="",
    )
    print(f"{'table s':>8}{'s':>9}{'CPU s':>9}{'peak MB':>9}{'before':>8}")
    failed = []
    for file in arguments.sets:
        work = partial(run, arguments.data / "uci" / file, arguments.depth, arguments.limit)
        found = apart(work, core=None, limit=arguments.limit * cpus + GRACE)
        if isinstance(found, Failure):
            failed.append(file)
            print(f"{file:<12}{found.reason}", flush=True)
            continue
        proved = found.status == "optimal" and found.exact
        if arguments.depth == 3 and file in PROVED and not proved:
            failed.append(file)
        thresholds = "all" if found.exact else "some"
        print(
            f"{file:<12}{found.size:>16}  {found.status:<12}{found.errors:>7}{found.bound:>9g}  {thresholds:<12}",
            end="",
        )
        print(f"{found.engine:<12}{found.table:>8.3f}{found.seconds:>9.3f}{found.cpu:>9.3f}", end="")
        print(f"{found.peak:>9.0f}{found.before:>8.0f}", flush=True)
    print(f"failed, or not proved as claimed: {', '.join(failed) or 'none'}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
