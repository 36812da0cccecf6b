"""The stress suite: ``python tests/stress --seed 1 --cases 2000 --state FILE``, with the package installed.

Three parts, each a stream of numbered cases that depend on the seed alone: `limits` (limits of memory and time, and
Ctrl-C), `weights` (extreme masses against exact rationals) and `files` (damaged files). The heads of the modules say
what each checks. A failing case is printed as a line of JSON, for ``--replay``. With --state a run that was interrupted
goes on where it was. Exit code: 1 if any case failed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

# Before numpy is there: the process that forks has one thread.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# Cases where nothing is said: those that a release is held to.
DEFAULTS = {"limits": 2_000, "weights": 100_000, "files": 3_000}
# Files are damaged so many at a time.
BATCH = 100


class State:
    """Results by part and number, in a file of JSON lines if there is one."""

    def __init__(self, path: Path | None, seed: int, small: bool) -> None:
        self.path = path
        self.results: dict[str, dict[int, dict[str, Any]]] = {part: {} for part in DEFAULTS}
        if path is None:
            return
        text = path.read_text() if path.exists() else ""
        # A line that was not written to its end is none.
        lines = text[: text.rfind("\n") + 1].splitlines()
        if not lines:
            lines = [json.dumps({"seed": seed, "small": small})]
        kept = json.loads(lines[0])
        if kept != {"seed": seed, "small": small}:
            sys.exit(
                f"{path} is of seed {kept['seed']}{' and small' * kept['small']}, not {seed}{' and small' * small}"
            )
        path.write_text("".join(line + "\n" for line in lines))
        for line in map(json.loads, lines[1:]):
            self.results[line.pop("part")][line.pop("number")] = line

    def add(self, part: str, number: int, result: dict[str, Any]) -> None:
        """Keep a result, also for the next run."""
        self.results[part][number] = result
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps({"part": part, "number": number} | result) + "\n")


def main() -> int:
    """Run what the command line says."""
    parser = argparse.ArgumentParser(prog="python tests/stress", description=__doc__)
    parser.add_argument("--part", choices=[*DEFAULTS, "all"], default="all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, help=f"of each part (default: {DEFAULTS})")
    parser.add_argument("--first", type=int, default=0, help="the first number")
    parser.add_argument("--state", type=Path, help="a file that keeps what was done")
    parser.add_argument("--small", action="store_true", help="small tables and short limits")
    parser.add_argument("--patience", type=float, default=1.0, help="factor for 0.2 s and 0.5 s on a busy machine")
    parser.add_argument("--replay", metavar="JSON", help="run a case again, or a list of them")
    options = parser.parse_args()
    if options.replay:
        cases = json.loads(options.replay)
        results = [
            importlib.import_module(case["part"]).run(case, options.patience)
            for case in (cases if isinstance(cases, list) else [cases])
        ]
        print(json.dumps(results, indent=1))
        return int(any(result["problems"] for result in results))
    state = State(options.state, options.seed, options.small)
    for part in DEFAULTS if options.part == "all" else [options.part]:
        cases = DEFAULTS[part] if options.cases is None else options.cases
        run = _files if part == "files" else _cases
        try:
            run(part, options, cases, state)
        except KeyboardInterrupt:
            print("interrupted")
            _summarise(state)
            return 1
    return _summarise(state)


def _cases(part: str, options: argparse.Namespace, cases: int, state: State) -> None:
    module = importlib.import_module(part)
    begin = time.monotonic()
    for number in range(options.first, options.first + cases):
        if number in state.results[part]:
            continue
        case = module.draw(options.seed, number, options.small)
        result = module.run(case, options.patience)
        state.add(part, number, result)
        for problem in result["problems"]:
            print(f"{part} {number}: {problem}")
        if result["problems"]:
            print("  --replay " + repr(json.dumps({"part": part} | case)), flush=True)
        if time.monotonic() - begin > 60:
            begin = time.monotonic()
            failed = sum(bool(result["problems"]) for result in state.results[part].values())
            print(f"{part}: {len(state.results[part])} done, {failed} failed", flush=True)


def _files(part: str, options: argparse.Namespace, cases: int, state: State) -> None:
    try:
        module = importlib.import_module(part)
    except ModuleNotFoundError:
        print("files: there is no such part here")
        return
    for first in range(options.first, options.first + cases, BATCH):
        if first in state.results[part]:
            continue
        n = min(BATCH, options.first + cases - first)
        problems = module.run(options.seed, first, n)
        state.add(part, first, {"problems": problems, "cases": n})
        for problem in problems:
            print(f"{part} {first}: {problem}", flush=True)


def _summarise(state: State) -> int:
    failed = 0
    for part, results in state.results.items():
        if not results:
            continue
        of = sum(bool(result["problems"]) for result in results.values())
        failed += of
        print(f"\n{part}: {sum(r.get('cases', 1) for r in results.values())} cases, {of} failed")
        if part != "files":
            print("\n".join(importlib.import_module(part).summary(results)))
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
