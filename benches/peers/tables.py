"""Print Tables 1, 2 and 4 of Ruggieri (JMLR 2019) again, with the paper's figures below ours.

    python benches/peers/tables.py --data DIR [--sets NAME ...] [--folds 5] [--limit 60] [--methods DTsbe ...]
                                      [--min-branch M]

The protocol is that of the paper (``lattree.experiments``): 10 x 10-fold cross-validation, of which ``--folds`` are run
and the paper has all 100; information gain, m = 2, missing values as C4.5. The first line of each data set is ours, the
second the paper's. Table 1 has seconds per fold: ours are CPU seconds of one thread, the paper's wall clock on eight
cores, which it says are seven times as fast as one. Errors are in percent.

``!`` marks the best method, ``*`` those not different from it in a paired t-test at the 95 % level; ``~`` says that a
search was ended by ``--limit`` on some fold, and what it had found by then counts. The paper has no such figures, and
its marks are left out. Data sets with ``(differs)`` are not of the size the paper has. Table 1's SBE is the black box.

With ``--min-branch 2`` two branches of a split must have two cases, as in the C4.5 program. The paper defines m without
that, but its figures of Kr-vs-kp and Letter are nearer to ours with it.
"""

import argparse
import sys
from typing import Any

import polars as pl
from ruggieri import METHODS, SEED, arguments_of, differs, facts, figures, names, table

import lattree
from lattree.experiments import Comparison, FoldRow, Method, MethodError, compare, every_feature

TABLES = {
    2: {"search_error": "search error", "generalisation_error": "generalisation error"},
    4: {"n_features": "features used", "stability": "stability"},
}
WIDTH = 17


def methods(wanted: list[str], limit: float, branch: int | None) -> dict[str, Method]:
    """Return the methods of the names wanted, and the baseline."""
    sbe = lattree.BackwardEliminationSearch(min_branch=branch, time_limit=limit, threads=1)
    black = lattree.BackwardEliminationSearch(white_box=False, min_branch=branch, time_limit=limit, threads=1)
    best = lattree.AcceptableSubsetSearch(delta=0, min_branch=branch, time_limit=limit, threads=1)
    every: dict[str, Method] = {"DTsbe": sbe.run, "SBE": black.run, "DTaccept": best.run}
    return {"baseline": every_feature} | {name: every[name] for name in every if name in wanted}


def said(row: FoldRow, done: int, runs: int) -> None:
    """Say how far a data set is."""
    end = "\n" if done == runs else "\r"
    print(f"  {done}/{runs}: {row.method} took {row.cpu_seconds:.2f} s   ", end=end, file=sys.stderr, flush=True)


def cell(mean: float | None, sd: float | None, mark: str = "") -> str:
    """Return a mean and its deviation."""
    if mean is None:
        return f"{'-':>{WIDTH - 3}}   "
    spread = "" if sd is None else f"±{sd:5.2f}"
    return f"{mean:7.2f} {spread:<6}{mark:<3}"


def cell_of(row: dict[str, Any] | None, scale: float) -> str:
    """Return the cell of a row of a summary."""
    if row is None:
        return cell(None, None)
    mark = {"best": "!", "same": "*", "": ""}[row["mark"]] + ("~" if row["unfinished"] else "")
    return cell(scale * row["mean"], None if row["sd"] is None else scale * row["sd"], mark)


def printed(comparisons: dict[str, Comparison], number: int) -> None:
    """Print Table 2 or 4."""
    measures = TABLES[number]
    print(f"\nTable {number}\n{'':<12}" + "".join(f"{title:<{3 * WIDTH}}" for title in measures.values()))
    print(f"{'':<12}" + "".join(f"{name:>{WIDTH - 3}}   " for name in METHODS * 2))
    for file, found in comparisons.items():
        summary = {(row["measure"], row["method"]): row for row in marked(found).iter_rows(named=True)}
        ours, paper = [], []
        for measure in measures:
            for method in METHODS:
                scale = 100.0 if measure.endswith("error") else 1.0
                ours.append(cell_of(summary.get((measure, method)), scale))
                of = figures().get((file, measure, method))
                paper.append(cell(None, None) if of is None else cell(of.mean, of.sd))
        print(f"{names()[file]:<12}" + "".join(ours))
        print(f"{'':<12}" + "".join(paper))


def marked(found: Comparison) -> pl.DataFrame:
    """Return a summary of the methods of Tables 2 and 4: SBE is DTsbe there."""
    rows = tuple(row for row in found.rows if row.method != "SBE")
    return Comparison(rows, found.features, found.k, found.search_fraction).summary()


def seconds(comparisons: dict[str, Comparison], sizes: dict[str, str]) -> None:
    """Print Table 1."""
    titles = ("DTsbe", "SBE", "ratio", "DTaccept")
    print(f"\nTable 1, seconds\n{'':<12}{'rows x features':<28}" + "".join(f"{title:>12}" for title in titles))
    for file, found in comparisons.items():
        summary = found.summary().filter(pl.col("measure") == "cpu_seconds")
        ours = {row["method"]: (row["mean"], bool(row["unfinished"])) for row in summary.iter_rows(named=True)}
        paper = {
            method: (figure.mean, False) for method in titles if (figure := figures().get((file, "seconds", method)))
        }
        print(f"{names()[file]:<12}{sizes[file]:<28}" + "".join(times(ours)))
        print(f"{'':<40}" + "".join(times(paper)))


def times(of: dict[str, tuple[float, bool]]) -> list[str]:
    """Return the cells of a line of Table 1; a search that a limit ended would have taken longer."""
    shown = {name: f"{'> ' if unfinished else ''}{mean:.3f}" for name, (mean, unfinished) in of.items()}
    if "DTsbe" in of and "SBE" in of and not of["DTsbe"][1] and not of["SBE"][1]:
        shown["ratio"] = f"{of['DTsbe'][0] / of['SBE'][0]:.3f}"
    return [f"{shown.get(title, '-'):>12}" for title in ("DTsbe", "SBE", "ratio", "DTaccept")]


def main() -> int:
    """Run the protocol and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folds", type=int, default=5, help="of 100")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each search")
    parser.add_argument("--min-branch", type=int, help="cases in two branches of every split")
    parser.add_argument("--methods", nargs="+", choices=("DTsbe", "SBE", "DTaccept"), help="default: all")
    arguments = arguments_of(parser)
    wanted = arguments.methods or ["DTsbe", "SBE", "DTaccept"]
    grown = lattree.GreedyTreeSearch(min_branch=arguments.min_branch, threads=1)
    comparisons, sizes, failed = {}, {}, False
    for file in arguments.sets:
        print(f"{names()[file]}:", file=sys.stderr)
        try:
            comparisons[file] = compare(
                table(arguments.data, file),
                methods(wanted, arguments.limit, arguments.min_branch),
                folds=arguments.folds,
                seed=SEED,
                tree_search=grown,
                progress=said,
            )
        except MethodError as error:
            failed = True
            print(f"{names()[file]}: {error}")
            continue
        size = facts(arguments.data, file)
        note = " (differs)" if differs(arguments.data, file) else ""
        sizes[file] = f"{size['n']:,} x {size['features']:,}{note}"
    print(f"lattree {lattree.__version__}, {arguments.folds} of 100 folds, at most {arguments.limit:g} s for a search")
    seconds(comparisons, sizes)
    for number in TABLES:
        printed(comparisons, number)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
