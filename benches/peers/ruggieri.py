"""What the scripts on Ruggieri's experiments share: the figures that he gives, and the tables that they are about.

Source: Ruggieri, Complete search for feature selection in decision trees, JMLR 2019. ``ruggieri.csv`` holds Tables 1, 2
and 4 for the data sets below: means and standard deviations, errors in percent, seconds of wall clock on eight cores.
A table is ``uci/<file>.csv[.gz]`` below the data folder, with its facts in ``uci/<file>.json``.
"""

import argparse
import csv
import json
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path

from bundle_datasets import read
from common import data_option

from lattree import Dataset
from lattree.experiments import Triple, triples

SPEED_UP = 7
"""What eight cores save, as the paper has it: its seconds times this are CPU seconds."""
METHODS = ("baseline", "DTsbe", "DTaccept")
SEED = 1


@dataclass(frozen=True)
class Figure:
    """A figure of the paper."""

    mean: float
    sd: float | None


@cache
def figures() -> dict[tuple[str, str, str], Figure]:
    """Return the paper's figures by file, measure and method."""
    with Path(__file__).with_name("ruggieri.csv").open(newline="") as file:
        return {
            (row["file"], row["measure"], row["method"]): Figure(
                float(row["mean"]), float(row["sd"]) if row["sd"] else None
            )
            for row in csv.DictReader(file)
        }


@cache
def names() -> dict[str, str]:
    """Return what the paper calls each file, in its order."""
    with Path(__file__).with_name("ruggieri.csv").open(newline="") as file:
        return {row["file"]: row["name"] for row in csv.DictReader(file)}


def facts(folder: Path, file: str) -> dict[str, int]:
    """Return the size of a table, and that of the paper's."""
    found: dict[str, int] = json.loads((folder / "uci" / f"{file}.json").read_text())
    return {key: found[key] for key in ("n", "features", "expected_n", "expected_features")}


def differs(folder: Path, file: str) -> bool:
    """Say whether a table has other rows or columns than the paper's."""
    size = facts(folder, file)
    return (size["n"], size["features"]) != (size["expected_n"], size["expected_features"])


def table(folder: Path, file: str) -> Dataset:
    """Return a table."""
    return Dataset(read(folder / "uci" / file), "class")


def fold(folder: Path, file: str, number: int) -> Triple:
    """Return the sets of one fold of the first repeat."""
    dealt = triples(table(folder, file), k=10, repeats=1, search_fraction=0.3, seed=SEED)
    return next(islice(dealt, number, None))


def arguments_of(parser: argparse.ArgumentParser, default: tuple[str, ...] | None = None) -> argparse.Namespace:
    """Add which tables and where they are, and parse."""
    data_option(parser, "folder")
    parser.add_argument("--sets", nargs="+", choices=tuple(names()), help="default: " + " ".join(default or ("all",)))
    arguments = parser.parse_args()
    wanted = arguments.sets or default or tuple(names())
    known = [file for file in names() if file in wanted]
    arguments.sets = [file for file in known if (arguments.data / "uci" / f"{file}.json").exists()]
    for file in known:
        if file not in arguments.sets:
            print(f"{file}: no such table below {arguments.data}")
    return arguments
