"""What the scripts of this folder share: data sets, one run in a process of its own, a timed run of lattree.

A figure is the CPU seconds of one run, on one thread and one core, in a freshly forked process (Linux). Before the
clock starts, the process solves a problem of eight rows, and a run of less than a second is made twice and the second
one counts: what is imported late, the start of thread pools, and the memory that a new process takes from the system
page by page are not part of any figure, of lattree's or of another's.
"""

import argparse
import gc
import importlib
import math
import multiprocessing
import os
import resource
import signal
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

import lattree

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
T = TypeVar("T")

ENDINGS = ("_categorical_bin", "_converted", "_train", "_bin")
"""What file names say about how a table was made."""
PATIENCE = 20.0
"""Seconds of wall clock per second of CPU time after which a process counts as hung: the core may be shared."""
POLL = 0.1
"""Seconds between looks at the CPU time of a process."""


def plain_name(path: Path) -> str:
    """Return the name of a file without its endings."""
    name = path.name.removesuffix(".gz").removesuffix(".txt").removesuffix(".reconstructed")
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    return name


def data_sets(folder: Path) -> dict[str, Path]:
    """Return every ``.txt`` and ``.txt.gz`` file below a folder by its name: the subfolder and the plain name."""
    files = sorted(path for path in folder.rglob("*.txt*") if path.name.endswith((".txt", ".txt.gz")))
    names = {(path.parent.relative_to(folder) / plain_name(path)).as_posix(): path for path in files}
    if len(names) < len(files):
        raise SystemExit(f"{folder}: two files of one name")
    return names


def choose(folder: Path, wanted: Sequence[str] | None) -> dict[str, Path]:
    """Return the data sets of the given names, with or without their subfolder; all if none are given."""
    known = data_sets(folder)
    if not known:
        raise SystemExit(f"{folder}: no data sets")
    if not wanted:
        return known
    for name in wanted:
        if not any(name in (full, Path(full).name) for full in known):
            raise SystemExit(f"{folder}: no data set {name}")
    return {full: path for full, path in known.items() if full in wanted or Path(full).name in wanted}


def read(path: Path) -> tuple[Floats, Labels]:
    """Read features and labels of a blank-separated file, the label first."""
    # Not by polars: its thread pool would be started before the process forks.
    values = np.loadtxt(path, ndmin=2)
    return np.ascontiguousarray(values[:, 1:]), values[:, 0].astype(np.int64)


@dataclass(frozen=True)
class Failure:
    """A run without a result."""

    reason: str
    limit: bool = False
    """Whether it only took too long."""
    seconds: float = 0.0
    """The CPU seconds that it took at least."""


def _child(work: Callable[[], object], sender: Connection, core: int | None, memory: float) -> None:
    """Send what the work returns."""
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    if core is not None:
        os.sched_setaffinity(0, {core})
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (int(memory * 2**30), int(memory * 2**30)))
    gc.freeze()  # what the parent has imported is no garbage of this run
    try:
        outcome = work()
    except BaseException as error:
        outcome = Failure(f"{type(error).__name__}: {error}".split("\n")[0][:100])
    sender.send(outcome)


def spent(pid: int) -> float:
    """Return the CPU seconds of a process, to a hundredth of a second or so; 0 once it has gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def apart(work: Callable[[], T], *, core: int | None, limit: float, memory: float = 8.0) -> T | Failure:
    """Run something in a forked process, killed after ``limit`` CPU seconds; ``memory`` in GiB.

    It runs on one core, or for None on all that this process may use.
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(work, sender, core, memory))
    process.start()
    sender.close()
    # Not by RLIMIT_CPU: under it, Linux reads a process's CPU clock to a few milliseconds only.
    end = time.monotonic() + 60 + PATIENCE * limit
    while not receiver.poll(POLL):
        if spent(process.pid or 0) > limit:
            break
        if time.monotonic() > end:
            break
    else:
        try:
            outcome: T | Failure = receiver.recv()
        except EOFError:
            process.join()
            number = -(process.exitcode or 0)
            outcome = Failure(signal.Signals(number).name if number > 0 else "ended without a result")
        process.join()
        return outcome
    used = spent(process.pid or 0)
    process.kill()
    process.join()
    return Failure(f"> {limit:g} s" if used > limit else f"hung after {used:.1f} s", limit=True, seconds=used)


@dataclass(frozen=True)
class Run:
    """One run: CPU seconds, errors, whether they are proved least."""

    seconds: float
    errors: int
    proved: bool
    tests: int = 0
    table: float = 0.0
    """Seconds of the above that made the data set, or whatever a peer wants."""
    rebuild: float | None = None
    """Seconds of the above that built the canonical tree, where the search says so."""


def tiny() -> tuple[Floats, Labels]:
    """Return the problem solved before the clock starts."""
    cells = np.array([[row & 1, row >> 1 & 1, row >> 2] for row in range(8)], dtype=np.float64)
    return cells, np.array([0, 1, 1, 0, 0, 1, 1, 1])


def settled(work: Callable[[], Run]) -> Run:
    """Return a run, the second of two if it is short."""
    run = work()
    return work() if run.seconds < 1.0 else run


def solve(X: Floats, y: Labels, depth: int, nodes: int | None, **parameters: Any) -> Run:
    """Time lattree from arrays to tree, with further parameters of the search, and count the errors of the tree."""
    _solve(*tiny(), 2, None, **parameters)
    return settled(lambda: _solve(X, y, depth, nodes, **parameters))


def _solve(X: Floats, y: Labels, depth: int, nodes: int | None, **parameters: Any) -> Run:
    """Do it, without anything before."""
    search = lattree.OptimalTreeSearch(max_depth=depth, max_nodes=nodes, rank="objective", threads=1, **parameters)
    start = time.process_time()
    data = lattree.Dataset.from_arrays(X, y)
    table = time.process_time() - start
    result = search.run(data)
    seconds = time.process_time() - start
    errors = int((result.tree.predict(data).to_numpy() != y).sum())
    if errors != result.objective:
        raise AssertionError(f"the tree makes {errors} errors, not {result.objective:g}")
    rebuild = result.stats.get("rebuild_us")
    proved = result.status == "optimal" and result.exact_thresholds
    return Run(seconds, errors, proved, len(result.tests), table, None if rebuild is None else rebuild / 1e6)


def summary(runs: Sequence[Run | Failure]) -> Run | Failure:
    """Return the medians of runs that agree, or the first failure."""
    done = [run for run in runs if isinstance(run, Run)]
    for run in runs:
        if isinstance(run, Failure):
            return run
        if (run.errors, run.proved) != (done[0].errors, done[0].proved):
            return Failure(f"runs differ: {done[0].errors} and {run.errors} errors")
    rebuilds = [run.rebuild for run in done if run.rebuild is not None]
    return Run(
        seconds=statistics.median(run.seconds for run in done),
        errors=done[0].errors,
        proved=done[0].proved,
        tests=done[0].tests,
        table=statistics.median(run.table for run in done),
        rebuild=statistics.median(rebuilds) if rebuilds else None,
    )


def interleaved(
    tasks: Sequence[Callable[[], Run | Failure]], runs: int, once_over: float = math.inf
) -> list[Run | Failure]:
    """Return the medians of all tasks, run in turn.

    A task that fails is not run again, nor is one other than the first that takes longer than ``once_over`` seconds.
    """
    results: list[list[Run | Failure]] = [[] for _ in tasks]
    for _ in range(runs):
        for number, (task, before) in enumerate(zip(tasks, results, strict=True)):
            last = before[-1] if before else None
            if isinstance(last, Failure) or (number > 0 and last is not None and last.seconds > once_over):
                continue
            before.append(task())
    return [summary(each) for each in results]


def data_option(parser: argparse.ArgumentParser, holds: str) -> None:
    """Add where the data are."""
    place = os.environ.get("LATTREE_DATA")
    parser.add_argument("--data", type=Path, default=place, required=place is None, help=f"{holds} (or LATTREE_DATA)")


def default_core() -> int:
    """Return the last core that this process may use."""
    return max(os.sched_getaffinity(0))


def module(name: str) -> Any:
    """Import a package that need not be installed."""
    return importlib.import_module(name)
