"""One case of the part `limits` in a process of its own: forked from one that has imported the package and has searched
nothing, so that no threads are about but those that polars keeps for its allocator. It measures itself, and tells its
parent line by line.
"""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import searches
import tables

import lattree

STATUS = Path("/proc/self/status")
SCHEDSTAT = Path("/proc/thread-self/schedstat")
RUNNING = False


def on_signal(_number: int, _frame: object) -> None:
    """Ctrl-C as Python takes it, but only while the search runs: the signal may come late."""
    if RUNNING:
        raise KeyboardInterrupt


def memory(what: str) -> int:
    """Bytes now (VmRSS), or the most since `reset` (VmHWM)."""
    for line in STATUS.read_text().splitlines():
        if line.startswith(what):
            return int(line.split()[1]) * 1024
    return 0


def waits() -> float:
    """Seconds that this thread has waited for a processor."""
    return int(SCHEDSTAT.read_text().split()[1]) / 1e9 if SCHEDSTAT.exists() else 0.0


def reset() -> None:
    """The most from now on."""
    Path("/proc/self/clear_refs").write_text("5")


def live(case: dict[str, Any], out: int) -> None:
    """Run the case, say what came of it."""

    def tell(**message: Any) -> None:
        os.write(out, (json.dumps(message) + "\n").encode())

    signal.signal(signal.SIGINT, on_signal)
    try:
        _live(case, tell)
    except BaseException as error:
        tell(event="broken", error=f"{type(error).__name__}: {error}"[:400])


def _live(case: dict[str, Any], tell: Any) -> None:
    global RUNNING
    data, reading = tables.dataset(case)
    try:
        search = searches.Search(case)
    except lattree.LattreeError as error:
        tell(event="refused", error=str(error)[:400])
        return
    search.prepare(data)
    _warm(case)
    outcome, error, result = "returned", "", None
    before = memory("VmRSS")
    reset()
    tell(event="start", at=time.monotonic(), before=before, reading=reading)
    before_waited = waits()
    begin = time.monotonic()
    try:
        RUNNING = True
        result = search.run()
        RUNNING = False
    except lattree.LattreeError as caught:
        outcome, error = "refused", str(caught)
    except KeyboardInterrupt:
        outcome = "raised"
    except BaseException as caught:
        outcome, error = "broken", f"{type(caught).__name__}: {caught}"
    end = time.monotonic()
    RUNNING = False
    peak = memory("VmHWM")
    # The parent sees how long threads waited for a processor now and then; this one knows to the last.
    waited = int(SCHEDSTAT.read_text().split()[1]) / 1e9 - before_waited if SCHEDSTAT.exists() else 0.0
    tell(
        event="end", waited=waited, at=end, seconds=end - begin, peak=peak - before, outcome=outcome, error=error[:400]
    )
    if result is None:
        return
    problems, figures = search.check(result)
    tell(event="checked", problems=problems, figures=figures)


def beside(case: dict[str, Any], out: int) -> None:
    """The cost of a greedy tree for the same case, and what growing it took."""
    data, _ = tables.dataset(case)
    search = searches.Search(case)
    _warm(case)
    before = memory("VmRSS")
    reset()
    begin = time.monotonic()
    result = search.greedy().run(data)
    seconds, peak = time.monotonic() - begin, memory("VmHWM") - before
    classes, mass = searches.classes_and_masses(data)
    cost = searches.errors(result.tree, data, classes, mass)
    cost += search.parameters["node_penalty"] * (result.tree.n_leaves - 1)
    told = {"event": "greedy", "status": result.status, "seconds": seconds, "peak": peak, "cost": cost}
    os.write(out, (json.dumps(told) + "\n").encode())


def _warm(case: dict[str, Any]) -> None:
    """Bring in the code, and what threads take, before it is measured."""
    x = np.arange(60.0).reshape(20, 3) % 7
    data = lattree.Dataset.from_arrays(x, np.arange(20) % 2)
    lattree.GreedyTreeSearch(threads=case["threads"]).run(data)
    for engine in ("tests", "continuous"):
        lattree.OptimalTreeSearch(max_depth=3, engine=engine, threads=case["threads"]).run(data)
