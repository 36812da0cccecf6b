"""Prove the optima of reference files again, and report every difference.

    python benches/peers/check_optima.py --data DIR --reference FILE [FILE ...] [--limit 60] [--depths 3 4 5]

A reference, such as ``tests/data/optima.csv``, has the columns ``dataset, max_depth, max_nodes, errors``; a data set is
``murtree/<dataset>*.txt[.gz]`` or ``contree/<dataset>*.txt[.gz]`` below DIR: blank-separated, the label first. Murtree
sets have 0/1 features and are checked at depth 3 without a limit and at greater depth within ``--limit`` seconds each;
ConTree sets have real-valued features and are reported at depth 2 where all their midpoints make at most
``--most-tests`` tests.

A value below the file's is checked by predicting it back from the tree, and reported as such. Exit status 1 if a proven
value differs from the file's, or a depth-3 row is not proved.
"""

import argparse
import csv
import sys
import time
from pathlib import Path

import numpy as np
from common import Floats, data_sets, read

import lattree


def find(data: Path, dataset: str) -> tuple[str, Path] | None:
    """Find the family and file of a data set."""
    for family in ("murtree", "contree"):
        known = data_sets(data / family)
        if dataset in known:
            return family, known[dataset]
    return None


def count_tests(X: Floats) -> int:
    """Count the midpoints of all columns."""
    return sum(len(np.unique(column)) - 1 for column in X.T)


def main() -> int:
    """Run the checks and print a line per row of the reference."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--reference", type=Path, required=True, nargs="+")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for a row beyond depth 3")
    parser.add_argument("--depths", type=int, nargs="*", default=[2, 3, 4, 5, 6])
    parser.add_argument("--most-tests", type=int, default=25_000)
    parser.add_argument("--threads", type=int, default=None)
    arguments = parser.parse_args()

    proved = failed = unproved = absent = 0
    started = time.perf_counter()
    rows = []
    for reference in arguments.reference:
        with reference.open(newline="") as file:
            rows += [row for row in csv.DictReader(file) if int(row["max_depth"]) in arguments.depths]
    for row in rows:
        depth, nodes, errors = int(row["max_depth"]), int(row["max_nodes"]), int(row["errors"])
        label = f"{row['dataset']:<28} depth {depth} nodes {nodes:>2} errors {errors:>6}"
        found = find(arguments.data, row["dataset"])
        if found is None:
            absent += 1
            print(f"{label}  no such data set")
            continue
        family, path = found
        X, y = read(path)
        if family == "contree" and (depth > 2 or count_tests(X) > arguments.most_tests):
            continue
        data = lattree.Dataset.from_arrays(X, y)
        strict = family == "murtree" and depth <= 3
        search = lattree.OptimalTreeSearch(
            max_depth=depth,
            max_nodes=nodes,
            binarizer=lattree.Binarizer(thresholds="all"),
            time_limit=None if strict else arguments.limit if family == "murtree" else 600.0,
            threads=arguments.threads,
        )
        result = search.run(data)
        wrong = int((result.tree.predict(data).to_numpy() != y).sum())
        verdict = "proved"
        if wrong != result.objective:
            verdict = f"WRONG: the tree makes {wrong} errors, not {result.objective:g}"
        elif result.status != "optimal":
            verdict = f"{result.status}, {result.lower_bound:g} to {result.objective:g}"
            bad = strict or not result.lower_bound <= errors
            verdict = f"NOT PROVED: {verdict}" if strict else f"WRONG BOUND: {verdict}" if bad else verdict
        elif result.objective < errors:
            verdict = f"proved {result.objective:g}, below the reference, with a witness tree"
        elif result.objective > errors:
            verdict = f"WRONG: {result.objective:g}"
        proved += verdict.startswith("proved")
        failed += verdict.startswith(("WRONG", "NOT"))
        unproved += not verdict.startswith(("proved", "WRONG", "NOT"))
        print(f"{label}  {len(result.tests):>5} tests  {result.seconds:8.3f} s  {verdict}", flush=True)
    seconds = time.perf_counter() - started
    print(f"{proved} proved, {failed} failed, {unproved} not proved in time, {absent} absent, {seconds:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
