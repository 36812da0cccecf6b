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
    features: int | None = None
    classes: int | None = None
    """Where they are more than a matter of the data set: rows are then summed up for two classes and more apart."""
    merges: bool = False
    """Whether the other takes close values of a feature for one, so that lattree may find fewer errors."""
    slack: float = 0.002
    """Seconds over the other that do not count as over."""

    @property
    def proofs(self) -> tuple[Run, Run] | None:
        """The runs, if both claim a proof."""
        ours, theirs = self.ours, self.theirs
        if isinstance(ours, Run) and isinstance(theirs, Run) and ours.proved and theirs.proved:
            return ours, theirs
        return None

    @property
    def different(self) -> bool:
        """Whether both claim a proof of different numbers, other than those that merged values explain."""
        return self.proofs is not None and self.proofs[0].errors != self.proofs[1].errors and not self.fewer

    @property
    def fewer(self) -> bool:
        """Whether lattree's proof is of fewer errors, over thresholds that the other does not know."""
        return self.merges and self.proofs is not None and self.proofs[0].errors < self.proofs[1].errors

    @property
    def ratio(self) -> float | None:
        """How many times longer the other took, where both have a proof."""
        return None if self.proofs is None else self.proofs[1].seconds / max(self.proofs[0].seconds, 1e-9)

    @property
    def bound(self) -> float | None:
        """How many times longer the other took at least, where only lattree came to an end in time."""
        ours, theirs = self.ours, self.theirs
        if isinstance(ours, Run) and ours.proved and isinstance(theirs, Failure) and theirs.limit:
            return theirs.seconds / max(ours.seconds, 1e-9)
        return None

    @property
    def difference(self) -> float | None:
        """Seconds that lattree took more, where both have a proof."""
        return None if self.proofs is None else self.proofs[0].seconds - self.proofs[1].seconds

    @property
    def over(self) -> bool:
        """Whether lattree took over 25 % and over the slack more."""
        return self.proofs is not None and self.proofs[0].seconds > max(
            1.25 * self.proofs[1].seconds, self.proofs[1].seconds + self.slack
        )

    @property
    def notes(self) -> list[str]:
        """What went otherwise than hoped."""
        notes = ["DIFFERENT"] * self.different + ["fewer errors"] * self.fewer
        for who, run in (("lattree", self.ours), (self.peer, self.theirs)):
            if isinstance(run, Failure):
                notes.append(f"{who}: {run.reason}")
            elif run is not None and not run.proved:
                notes.append(f"{who}: not proved")
        return notes

    @property
    def ratio_text(self) -> str:
        """Return the ratio, or what it is at least."""
        if self.ratio is not None:
            return f"{self.ratio:.2f}"
        return "-" if self.bound is None else f"> {self.bound:.1f}"

    @property
    def kind(self) -> str:
        """Return which rows this one is summed up with."""
        return "" if self.classes is None else "two classes" if self.classes <= 2 else "more classes"

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
FEATURES = Column("features", "features", 8, lambda row: str(row.features))
CLASSES = Column("classes", "classes", 7, lambda row: str(row.classes))
TESTS = Column("tests", "tests", 5, lambda row: _part(row.ours, lambda run: run.tests))
PEER = Column("peer", "peer", -10, lambda row: row.peer)
OUR_ERRORS = Column("errors_lattree", "errors", 7, lambda row: _part(row.ours, lambda run: run.errors))
THEIR_ERRORS = Column("errors_peer", "of peer", 7, lambda row: _part(row.theirs, lambda run: run.errors))
OURS = Column("lattree_s", "lattree s", 9, lambda row: _part(row.ours, lambda run: run.seconds, ".4f"))
TABLE = Column("table_s", "table s", 8, lambda row: _part(row.ours, lambda run: run.table, ".4f"))
REBUILD = Column("rebuild_s", "rebuild s", 9, lambda row: _part(row.ours, lambda run: run.rebuild, ".4f"))
THEIRS = Column("peer_s", "peer s", 9, lambda row: _part(row.theirs, lambda run: run.seconds, ".4f"))
CONVERT = Column("convert_s", "convert s", 9, lambda row: _part(row.theirs, lambda run: run.table, ".4f"))
RATIO = Column("ratio", "ratio", 8, lambda row: row.ratio_text)
DIFFERENCE = Column(
    "difference_ms", "diff. ms", 9, lambda row: "-" if row.difference is None else f"{1000 * row.difference:+.2f}"
)
OVER = Column("over", "", -4, lambda row: "OVER" if row.over else "")
NOTES = Column("notes", "", -1, lambda row: "; ".join(row.notes))
STATUS = Column("status", "status", -1, lambda row: "; ".join(row.notes) or ("equal" if row.proofs else ""))


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


def means(rows: Sequence[Row]) -> str:
    """Return the geometric mean of the ratios, and with those that are known to be no less than something."""
    ratios = [row.ratio for row in rows if row.ratio is not None]
    bounds = [row.bound for row in rows if row.bound is not None]
    text = f"geometric mean {statistics.geometric_mean(ratios):.2f} of {len(ratios)}" if ratios else "no ratios"
    if bounds:
        together = statistics.geometric_mean([*ratios, *bounds])
        text += f", > {together:.2f} with {len(bounds)} that only lattree ended in time"
    return f"rows {len(rows)}, {text}"


def print_ratios(rows: Sequence[Row]) -> None:
    """Print geometric means, least ratio and losses of a group, and the rows without a ratio."""
    ratios = sorted((row.ratio, row.dataset) for row in rows if row.ratio is not None)
    print(f"\ndepth {rows[0].depth}, {rows[0].budget} nodes, {rows[0].peer}: {means(rows)}", end="")
    print(f", least {ratios[0][0]:.2f} ({ratios[0][1]})" if ratios else "")
    for kind in sorted({row.kind for row in rows} - {""}, reverse=True):
        print(f"  {kind}: {means([row for row in rows if row.kind == kind])}")
    if ratios:
        losses = [f"{name} {ratio:.2f}" for ratio, name in ratios if ratio < 1]
        print(f"  losses: {', '.join(losses) or 'none'}")
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
