"""Rows that set lattree beside another program: on the terminal, in a CSV file, and in sum."""

import csv
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, TextIO

from common import Failure, Run


@dataclass(frozen=True)
class Row:
    """Lattree and another program on one problem; None if the other cannot solve such problems."""

    dataset: str
    depth: int
    nodes: int | None
    n: int
    peer: str
    ours: Run | Failure
    theirs: Run | Failure | None

    @property
    def proofs(self) -> tuple[Run, Run] | None:
        """The runs, if both claim a proof."""
        ours, theirs = self.ours, self.theirs
        if isinstance(ours, Run) and isinstance(theirs, Run) and ours.proved and theirs.proved:
            return ours, theirs
        return None

    @property
    def different(self) -> bool:
        """Whether both claim a proof of different numbers."""
        return self.proofs is not None and self.proofs[0].errors != self.proofs[1].errors

    @property
    def ratio(self) -> float | None:
        """How many times longer the other took, where both have a proof."""
        return None if self.proofs is None else self.proofs[1].seconds / max(self.proofs[0].seconds, 1e-9)

    @property
    def difference(self) -> float | None:
        """Seconds that lattree took more, where both have a proof."""
        return None if self.proofs is None else self.proofs[0].seconds - self.proofs[1].seconds

    @property
    def over(self) -> bool:
        """Whether lattree took over 25 % and over 2 ms more."""
        return self.proofs is not None and self.proofs[0].seconds > max(
            1.25 * self.proofs[1].seconds, self.proofs[1].seconds + 0.002
        )

    @property
    def notes(self) -> list[str]:
        """What went otherwise than hoped."""
        notes = ["DIFFERENT"] if self.different else []
        for who, run in (("lattree", self.ours), (self.peer, self.theirs)):
            if isinstance(run, Failure):
                notes.append(f"{who}: {run.reason}")
            elif run is not None and not run.proved:
                notes.append(f"{who}: not proved")
        return notes

    @property
    def budget(self) -> str:
        """Return the number of nodes in words."""
        return "all" if self.nodes is None else str(self.nodes)


class Column(NamedTuple):
    """A column: name in the CSV file, heading, width (negative: to the left), text of a row."""

    name: str
    heading: str
    width: int
    text: Callable[[Row], str]


def _part(of: Run | Failure | None, take: Callable[[Run], float | None], form: str = "") -> str:
    """Return a figure of a run, or a dash."""
    value = take(of) if isinstance(of, Run) else None
    return "-" if value is None else format(value, form)


DATASET = Column("dataset", "dataset", -32, lambda row: row.dataset)
DEPTH = Column("depth", "depth", 5, lambda row: str(row.depth))
NODES = Column("nodes", "nodes", 5, lambda row: row.budget)
ROWS = Column("n", "n", 6, lambda row: str(row.n))
TESTS = Column("tests", "tests", 5, lambda row: _part(row.ours, lambda run: run.tests))
PEER = Column("peer", "peer", -10, lambda row: row.peer)
OUR_ERRORS = Column("errors_lattree", "errors", 7, lambda row: _part(row.ours, lambda run: run.errors))
THEIR_ERRORS = Column("errors_peer", "of peer", 7, lambda row: _part(row.theirs, lambda run: run.errors))
OURS = Column("lattree_s", "lattree s", 9, lambda row: _part(row.ours, lambda run: run.seconds, ".4f"))
TABLE = Column("table_s", "table s", 8, lambda row: _part(row.ours, lambda run: run.table, ".4f"))
REBUILD = Column("rebuild_s", "rebuild s", 9, lambda row: _part(row.ours, lambda run: run.rebuild, ".4f"))
THEIRS = Column("peer_s", "peer s", 9, lambda row: _part(row.theirs, lambda run: run.seconds, ".4f"))
RATIO = Column("ratio", "ratio", 8, lambda row: "-" if row.ratio is None else f"{row.ratio:.2f}")
DIFFERENCE = Column(
    "difference_ms", "diff. ms", 9, lambda row: "-" if row.difference is None else f"{1000 * row.difference:+.2f}"
)
OVER = Column("over", "", -4, lambda row: "OVER" if row.over else "")
NOTES = Column("notes", "", -1, lambda row: "; ".join(row.notes))


class Output:
    """Rows on the terminal, and in a file, as they come."""

    def __init__(self, columns: Sequence[Column], path: Path | None) -> None:
        self.columns = columns
        self.rows: list[Row] = []
        self.file: TextIO | None = path.open("w", newline="") if path else None

    def __enter__(self) -> "Output":
        """Print the headings."""
        self._line([column.heading for column in self.columns])
        if self.file:
            csv.writer(self.file).writerow(column.name for column in self.columns)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        if self.file:
            self.file.close()

    def _line(self, cells: Sequence[str]) -> None:
        """Print aligned cells."""
        widths = [column.width for column in self.columns]
        aligned = (cell.rjust(w) if w > 0 else cell.ljust(-w) for cell, w in zip(cells, widths, strict=True))
        print(" ".join(aligned).rstrip(), flush=True)

    def add(self, row: Row) -> None:
        """Print a row."""
        self.rows.append(row)
        cells = [column.text(row) for column in self.columns]
        self._line(cells)
        if self.file:
            csv.writer(self.file).writerow(cells)
            self.file.flush()


def groups(rows: Sequence[Row]) -> list[list[Row]]:
    """Return the rows of each depth, number of nodes and peer that were measured."""
    measured = [row for row in rows if row.theirs is not None]
    keys = dict.fromkeys((row.depth, row.nodes, row.peer) for row in measured)
    return [[row for row in measured if (row.depth, row.nodes, row.peer) == key] for key in keys]


def print_ratios(rows: Sequence[Row]) -> None:
    """Print geometric mean, least ratio and losses of a group, and the rows without a ratio."""
    ratios = sorted((row.ratio, row.dataset) for row in rows if row.ratio is not None)
    print(f"\ndepth {rows[0].depth}, {rows[0].budget} nodes, {rows[0].peer}: ", end="")
    if ratios:
        mean, (least, where) = statistics.geometric_mean(ratio for ratio, _ in ratios), ratios[0]
        print(f"rows {len(ratios)} of {len(rows)}, geometric mean {mean:.2f}, least {least:.2f} ({where})")
        losses = [f"{name} {ratio:.2f}" for ratio, name in ratios if ratio < 1]
        print(f"  losses: {', '.join(losses) or 'none'}")
    else:
        print("no ratios")
    for row in rows:
        if row.ratio is None:
            ours = f"{row.ours.seconds:.4f} s" if isinstance(row.ours, Run) else "no result"
            print(f"  without a ratio: {row.dataset}, lattree {ours}; {'; '.join(row.notes)}")


def status(rows: Sequence[Row]) -> int:
    """Print what must not be, and return the exit status."""
    different = [row.dataset for row in rows if row.different]
    failed = [row.dataset for row in rows if isinstance(row.ours, Failure) and not row.ours.limit]
    if different:
        print(f"\nDIFFERENT: {', '.join(different)}")
    if failed:
        print(f"\nlattree failed: {', '.join(dict.fromkeys(failed))}")
    return 1 if different or failed else 0
