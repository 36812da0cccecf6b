"""Prove the optima of reference files again, and report every difference.

    python benches/peers/check_optima.py --data DIR --reference FILE [FILE ...] [--limit 60] [--depths 3 4 5]

A reference, such as ``tests/data/optima.csv`` and ``tests/data/optima_contree.csv``, has the columns ``dataset,
max_depth, max_nodes, errors``; a data set is ``murtree/<dataset>*.txt[.gz]`` or ``contree/<dataset>*.txt[.gz]`` below
DIR: blank-separated, the label first. Murtree sets have 0/1 features and are checked at depth 3 without a limit and at
greater depth within ``--limit`` seconds each. ConTree sets have real-valued features, and all thresholds are searched;
each of their rows must be proved, within ``--contree-limit`` seconds.

The errors of every tree are counted by predicting the table from it. A value below the file's has that tree as its
witness and is reported as such. The values of ConTree sets are those of programs that take close values for one (see
``continuous.py``): if ours is below, the table is merged as they do, and then ours must be the file's.

Exit status 1 if a proven value differs from the file's, or a row is not proved that must be.
"""

import argparse
import csv
import sys
import time
from pathlib import Path
from typing import NamedTuple

from common import Floats, Labels, data_sets, read
from continuous import merged

import lattree


class Optimum(NamedTuple):
    """A row of a reference."""

    dataset: str
    depth: int
    nodes: int
    errors: int


class Proof(NamedTuple):
    """What a search found."""

    result: lattree.OptimalResult
    wrong: int
    """The errors of its tree, counted."""


def rows_of(references: list[Path], depths: list[int]) -> list[Optimum]:
    """Return the rows of all files, each once."""
    rows = []
    for reference in references:
        with reference.open(newline="") as file:
            rows += [
                Optimum(row["dataset"], int(row["max_depth"]), int(row["max_nodes"]), int(row["errors"]))
                for row in csv.DictReader(file)
            ]
    return [row for row in dict.fromkeys(rows) if row.depth in depths]


def find(data: Path, dataset: str) -> tuple[str, Path] | None:
    """Find the family and file of a data set."""
    for family in ("murtree", "contree"):
        known = data_sets(data / family)
        if dataset in known:
            return family, known[dataset]
    return None


def prove(X: Floats, y: Labels, row: Optimum, family: str, limit: float | None, threads: int | None) -> Proof:
    """Search, and count the errors of the tree."""
    data = lattree.Dataset.from_arrays(X, y)
    search = lattree.OptimalTreeSearch(
        max_depth=row.depth,
        max_nodes=row.nodes,
        rank="objective",
        binarizer=lattree.Binarizer(thresholds="all"),
        engine="continuous" if family == "contree" else "tests",
        time_limit=limit,
        threads=threads,
    )
    result = search.run(data)
    return Proof(result, int((result.tree.predict(data).to_numpy() != y).sum()))


def judged(proof: Proof, errors: int, strict: bool) -> str:
    """Say how a proof compares with the least errors of the reference."""
    result, wrong = proof
    if wrong != result.objective:
        return f"WRONG: the tree makes {wrong} errors, not {result.objective:g}"
    if result.status != "optimal":
        verdict = f"{result.status}, {result.lower_bound:g} to {result.objective:g}"
        if strict:
            return f"NOT PROVED: {verdict}"
        return verdict if result.lower_bound <= errors else f"WRONG BOUND: {verdict}"
    if result.objective > errors:
        return f"WRONG: {result.objective:g}"
    if result.objective < errors:
        return f"proved {result.objective:g}, below the reference, with a witness tree of {wrong} errors"
    return "proved"


def main() -> int:
    """Run the checks and print a line per row of the reference."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--reference", type=Path, required=True, nargs="+")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for a row of 0/1 features beyond depth 3")
    parser.add_argument("--contree-limit", type=float, default=600.0, help="seconds for a row of continuous features")
    parser.add_argument("--depths", type=int, nargs="*", default=[2, 3, 4, 5, 6])
    parser.add_argument("--threads", type=int, default=None)
    arguments = parser.parse_args()

    proved = failed = unproved = absent = 0
    started = time.perf_counter()
    for row in rows_of(arguments.reference, arguments.depths):
        label = f"{row.dataset:<28} depth {row.depth} nodes {row.nodes:>2} errors {row.errors:>6}"
        found = find(arguments.data, row.dataset)
        if found is None:
            absent += 1
            print(f"{label}  no such data set")
            continue
        family, path = found
        X, y = read(path)
        contree = family == "contree"
        strict = contree or row.depth <= 3
        limit = arguments.contree_limit if contree else None if strict else arguments.limit
        proof = prove(X, y, row, family, limit, arguments.threads)
        verdict = judged(proof, row.errors, strict)
        if contree and verdict.startswith("proved") and proof.result.objective < row.errors:
            after = judged(prove(merged(X), y, row, family, limit, arguments.threads), row.errors, strict)
            verdict = f"{verdict}; close values merged: {after}" if after == "proved" else f"WRONG: {verdict}, {after}"
        proved += verdict.startswith("proved")
        failed += verdict.startswith(("WRONG", "NOT"))
        unproved += not verdict.startswith(("proved", "WRONG", "NOT"))
        print(f"{label}  {len(proof.result.tests):>6} tests  {proof.result.seconds:8.3f} s  {verdict}", flush=True)
    seconds = time.perf_counter() - started
    print(f"{proved} proved, {failed} failed, {unproved} not proved in time, {absent} absent, {seconds:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
