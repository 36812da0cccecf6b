"""Part `limits`: shapes x classes x levels x searches x limits, each case in a child process that is measured.

A case passes if

- the peak of memory above that of the data is within `memory_limit` + 10 % + 32 MB,
- the time is within `time_limit` + 0.2 s + 2 % of the time that reading the table took,
- Ctrl-C is answered within 0.5 s, by what `on_interrupt` says,
- nothing crashes, panics or raises what is not documented,
- the result is what its own predictions say, with a true bound, no worse than a leaf, and no worse than a greedy tree
  that takes less than half of the time and of the memory (where errors are counted, all thresholds are offered, and no
  value is missing).

For how long a child's threads waited for a processor that others used (`/proc/PID/task/*/schedstat`, the longest of its
threads) is taken off its times. What may still come from the machine's load (time, Ctrl-C, and greedy beside a search
that ended by time) is tried up to twice again, and counts only if it fails each time.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import select
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import child
import searches
import tables
from tables import log_uniform

MB = 1_000_000
# Beyond the limit, before a child is stopped: the machine is to survive.
STOP_MEMORY = 3_000 * MB
STOP_SECONDS = 20.0
LONGEST = 600.0
KINDS = {
    "optimal": 50,
    "greedy": 14,
    "distinct": 5,
    "count": 7,
    "acceptable": 7,
    "exhaustive": 5,
    "elimination": 6,
    "binarizer": 4,
    "dataset": 2,
}

# Those that have a limit of time.
TIMED = KINDS.keys() - {"binarizer", "dataset"} | {"probe"}


def draw(seed: int, number: int, small: bool = False) -> dict[str, Any]:
    """A case: all it takes to run it again. Small ones take a fraction of a second each."""
    rng = random.Random(f"limits-{seed}-{number}")
    kind = rng.choices(list(KINDS), list(KINDS.values()))[0]
    most = searches.LISTED if kind == "binarizer" else None
    case = tables.draw(rng, 100_000 if small else most)
    interrupt = rng.random() < 0.15 and kind in TIMED
    limit = round(log_uniform(rng, 0.05, 2.0), 3)
    # Drawn apart: all else in a case stays what it was before there were objectives.
    if kind == "optimal":
        case |= tables.draw_costs(random.Random(f"costs-{seed}-{number}"), case)
    return case | {
        "search": kind,
        "parameters": searches.draw(rng, case, kind),
        "memory_limit": int(log_uniform(rng, 1, 1000) * MB),
        "time_limit": 2.0 if interrupt else limit / 4 if small else limit,
        "threads": rng.choice([1, 2, None]),
        # Seconds after the start.
        "interrupt": round(log_uniform(rng, 0.001, 0.3 if small else 1.5), 4) if interrupt else None,
        "on_interrupt": rng.choice(["raise", "return"]),
    }


def run(case: dict[str, Any], patience: float = 1.0) -> dict[str, Any]:
    """What came of a case: `problems`, and figures. What the machine's load may have done is tried again."""
    result = _once(case, patience)
    for _ in range(2):
        if not result["noisy"]:
            break
        again = _once(case, patience)
        again["tries"] = result.get("tries", 1) + 1
        result = again
    result["problems"] += result.pop("noisy")
    return result


def _once(case: dict[str, Any], patience: float) -> dict[str, Any]:
    told = _live(case, child.live)
    result: dict[str, Any] = {"problems": [], "noisy": [], "search": case["search"]}
    problems = result["problems"]
    problems += told["stopped"]
    if told["signal"] and not told["stopped"]:
        problems.append(f"ended by signal {told['signal']}: {told['stderr'][-300:]}")
    if "panicked" in told["stderr"]:
        problems.append(f"a panic: {told['stderr'][:300]}")
    for event in ("broken", "refused"):
        if event in told:
            result["outcome"] = event
            if event == "broken":
                problems.append(f"not documented: {told[event]['error']}")
            else:
                result["refused"] = told[event]["error"]
    if "start" in told and "end" in told:
        start, end = told["start"], told["end"]
        result |= {"seconds": round(end["seconds"], 4), "peak_mb": round(end["peak"] / MB, 1)}
        result |= {"outcome": end["outcome"], "data_mb": round(start["before"] / MB)}
        _judge(case, told, result, patience)
    elif not problems and "refused" not in told:
        problems.append(f"no word from the child: {told['stderr'][-300:]}")
    return result


def _judge(case: dict[str, Any], told: dict[str, Any], result: dict[str, Any], patience: float) -> None:
    problems, noisy = result["problems"], result["noisy"]
    start, end = told["start"], told["end"]
    kind = case["search"]
    if end["outcome"] == "broken":
        problems.append(f"not documented: {end['error']}")
    if end["outcome"] == "refused":
        result["refused"] = end["error"]
    limited = kind == "probe" or hasattr(_class(kind), "memory_limit")
    allowed = case["memory_limit"] * 1.1 + 32 * MB
    if kind == "binarizer":
        # A list of names: what it holds, and as much again.
        allowed = 64 * MB + 400 * told.get("checked", {}).get("figures", {}).get("tests", 0)
    if limited or kind == "binarizer":
        result["memory_ratio"] = round(end["peak"] / allowed, 3)
        if end["peak"] > allowed:
            problems.append(f"memory: {end['peak'] / MB:.0f} MB above the data, allowed {allowed / MB:.0f}")
    if kind in TIMED:
        waited = max(end["waited"], _longest(told["waits"], told["first_waits"]))
        seconds = end["seconds"] - waited
        allowed = case["time_limit"] + 0.2 * patience + 0.02 * start["reading"]
        result |= {"waited": round(waited, 3)}
        result["time_over"] = round(seconds - case["time_limit"] - 0.02 * start["reading"], 3)
        if seconds > allowed:
            noisy.append(f"time: {seconds:.3f} s, limit {case['time_limit']} s, allowed {allowed:.3f}")
    if "sent" in told and told["sent"] < end["at"]:
        answered = end["at"] - told["sent"] - _longest(told["waits"], told["sent_waits"])
        result["answered"] = round(answered, 4)
        if answered > 0.5 * patience:
            noisy.append(f"Ctrl-C: answered after {answered:.3f} s")
        # A signal that comes as the search ends is Python's.
        late = end["at"] - told["sent"] < 0.2
        if end["outcome"] == "raised" and case["on_interrupt"] == "return" and kind != "distinct" and not late:
            noisy.append("Ctrl-C: raised, but the best so far was asked for")
    elif end["outcome"] == "raised":
        problems.append("KeyboardInterrupt from nobody")
    if "checked" in told:
        result |= told["checked"]["figures"]
        problems += told["checked"]["problems"]
    if "objective" in result and not ("objective" in case or case["missing"] or case["interrupt"]):
        greedy = _live(case, child.beside).get("greedy")
        if greedy is not None:
            _beside_greedy(case, greedy, result)


def _beside_greedy(case: dict[str, Any], greedy: dict[str, Any], result: dict[str, Any]) -> None:
    seconds = case["time_limit"] - result["waited"]
    fits = greedy["status"] == "complete" and greedy["seconds"] <= seconds / 2
    if not fits or greedy["peak"] > case["memory_limit"] / 2:
        return
    result["greedy"] = greedy["cost"]
    if result["objective"] <= greedy["cost"] + 1e-6 * (result["total"] + abs(greedy["cost"])):
        return
    words = f"worse than greedy: {result['objective']:g} and {greedy['cost']:g}, status {result['status']}"
    binarizer = case["parameters"]["binarizer"] or {"thresholds": "auto"}
    all_offered = case["kind"] == "nominal" or binarizer["thresholds"] == "all"
    if not (result["exact"] or all_offered or case["parameters"]["engine"] == "continuous"):
        # Over thinned thresholds the greedy tree may be none of those searched.
        result["thinned"] = words
    elif result["status"] == "time_limit":
        result["noisy"].append(f"{words}; greedy took {greedy['seconds']:.3f} s of {case['time_limit']} s")
    else:
        result["problems"].append(words)


def _class(kind: str) -> Any:
    kinds: dict[str, Any] = {"optimal": searches.OptimalTreeSearch, "greedy": searches.GreedyTreeSearch}
    return (kinds | searches.SUBSETS).get(kind, object)


def _live(case: dict[str, Any], task: Callable[[dict[str, Any], int], None]) -> dict[str, Any]:
    """What a child tells, by event, and how it ended."""
    told: dict[str, Any] = {"stopped": [], "waits": {}, "first_waits": {}}
    inlet, outlet = os.pipe()
    with tempfile.TemporaryFile() as stderr:
        pid = os.fork()
        if pid == 0:
            try:
                os.close(inlet)
                os.dup2(stderr.fileno(), 2)
                task(case, outlet)
            finally:
                os._exit(0)
        os.close(outlet)
        _listen(case, pid, inlet, told)
        os.close(inlet)
        _, status = os.waitpid(pid, 0)
        told["signal"] = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        stderr.seek(0)
        told["stderr"] = stderr.read().decode(errors="replace")
    return told


def _listen(case: dict[str, Any], pid: int, inlet: int, told: dict[str, Any]) -> None:
    text = b""
    born = time.monotonic()
    page = os.sysconf("SC_PAGE_SIZE")
    while True:
        ready, _, _ = select.select([inlet], [], [], 0.005)
        if ready:
            read = os.read(inlet, 1 << 16)
            if not read:
                return
            text += read
            *lines, text = text.split(b"\n")
            for line in lines:
                message = json.loads(line)
                told[message.pop("event")] = message
        now = time.monotonic()
        running = "start" in told and "end" not in told
        if running:
            told["waits"] |= _waits(pid)
        elif "start" not in told:
            told["first_waits"] = _waits(pid)
        begun = told["start"]["at"] if "start" in told else born
        waits = running and case["interrupt"] is not None and "sent" not in told
        if waits and now >= begun + case["interrupt"]:
            told["sent_waits"] = dict(told["waits"])
            # The child may answer before this process has another turn.
            told["sent"] = time.monotonic()
            os.kill(pid, signal.SIGINT)
        taken = now - begun - _longest(told["waits"], told["first_waits"])
        late = running and taken > case["time_limit"] + STOP_SECONDS and case["search"] in TIMED
        try:
            held = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * page
        except (OSError, IndexError):
            held = 0
        base = told["start"]["before"] if "start" in told else 2_000 * MB
        large = held > base + case["memory_limit"] + STOP_MEMORY
        if late or large or now > born + LONGEST:
            os.kill(pid, signal.SIGKILL)
            what = f"{held / MB:.0f} MB" if large else f"{taken:.1f} s"
            limits = f"{case['memory_limit'] / MB:.0f} MB and {case['time_limit']} s"
            told["stopped"].append(f"stopped by force: {what}, limits {limits}")
            return


def _waits(pid: int) -> dict[str, float]:
    """Seconds that each thread of a process has waited for a processor."""
    waits = {}
    for task in Path(f"/proc/{pid}/task").glob("*"):
        with contextlib.suppress(OSError, IndexError):
            waits[task.name] = int((task / "schedstat").read_text().split()[1]) / 1e9
    return waits


def _longest(waits: dict[str, float], before: dict[str, float]) -> float:
    return max((wait - before.get(task, 0.0) for task, wait in waits.items()), default=0.0)


def summary(results: dict[int, dict[str, Any]]) -> list[str]:
    """What all cases came to, in lines."""
    lines = []
    for kind in KINDS:
        of = [r for r in results.values() if r.get("search") == kind]
        if not of:
            continue
        memory = max((r.get("memory_ratio", 0) for r in of), default=0)
        peak = max((r.get("peak_mb", 0) for r in of), default=0)
        over = max((r.get("time_over", -9) for r in of), default=0)
        answer = max((r.get("answered", 0) for r in of), default=0)
        failed = sum(bool(r["problems"]) for r in of)
        refused = sum("refused" in r for r in of)
        lines.append(
            f"{kind:12} {len(of):5} cases, {failed:4} fail, {refused:3} refused; worst: {peak:.0f} MB, {memory:.2f} of "
            f"what is allowed; {over:+.3f} s beyond the limit; Ctrl-C {answer:.3f} s"
        )
    thinned = sum("thinned" in r for r in results.values())
    beside = sum("greedy" in r for r in results.values())
    again = sum("tries" in r for r in results.values())
    lines.append(
        f"{beside} beside greedy trees, {thinned} worse over thinned thresholds (no failure); {again} tried again"
    )
    for words in sorted({r["refused"] for r in results.values() if "refused" in r})[:20]:
        lines.append(f"refused: {words}")
    return lines
