"""The table that a command works on: a file, standard input or a bundled table, and what its columns are."""

import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import lattree
from lattree import datasets
from lattree._dtypes import list_names
from lattree._readers import read_csv, read_ipc, read_parquet
from lattree.cli._options import INPUT, option

_CSV = (".csv", ".tsv", ".tab", ".txt", ".data")
_READERS: dict[str, Callable[..., lattree.Dataset]] = {
    **dict.fromkeys(_CSV, read_csv),
    ".parquet": read_parquet,
    ".pq": read_parquet,
    **dict.fromkeys((".arrow", ".feather", ".ipc"), read_ipc),
}
_BEGINNINGS = {b"PAR1": read_parquet, b"ARROW1": read_ipc}
STDIN = "-"


@dataclass
class Table:
    """A table and the roles of its columns."""

    source: Annotated[
        str,
        typer.Argument(metavar="FILE", help="CSV, TSV, Parquet or Arrow IPC; - is standard input; or a bundled table."),
    ]
    target: Annotated[
        str | None, option(part=INPUT, metavar="COL", help="Column to predict; bundled tables know theirs.")
    ] = None
    nominal: Annotated[
        list[str] | None, option(part=INPUT, metavar="COL", help="COL holds names, not numbers. Repeatable.")
    ] = None
    ordinal: Annotated[
        list[str] | None,
        option(
            part=INPUT,
            metavar="COL=A,B,...",
            help="COL holds levels in this order, such as size=S,M,L. COL alone: in the order of the alphabet. "
            "Repeatable.",
        ),
    ] = None
    counts: Annotated[
        str | None, option(part=INPUT, metavar="COL", help="Column that says how often each row is repeated.")
    ] = None
    weight: Annotated[
        str | None, option(part=INPUT, metavar="COL", help="Column that says how much each row matters.")
    ] = None
    drop: Annotated[list[str] | None, option(part=INPUT, metavar="COL", help="Leave COL out. Repeatable.")] = None
    max_missing: Annotated[
        float | None,
        option(part=INPUT, metavar="SHARE", help="Leave out columns with more missing cells; 0.7 is 70%."),
    ] = None
    null_values: Annotated[
        list[str] | None,
        option(
            part=INPUT,
            metavar="TEXT",
            help="Cell that means missing, beside empty ones. Repeatable; if not given: ?, NA and such.",
        ),
    ] = None
    separator: Annotated[
        str | None,
        option(part=INPUT, metavar="CHAR", help="What separates columns, or tab; if not given, as the header shows."),
    ] = None
    decimal: Annotated[
        str | None, option(part=INPUT, metavar="CHAR", help="The decimal mark: a point, if not given, or a comma.")
    ] = None
    encoding: Annotated[
        str | None, option(part=INPUT, metavar="NAME", help="The encoding of a text file, such as cp1252.")
    ] = None

    def load(self, **of_cases: Any) -> lattree.Dataset:
        """Read it, with costs or rewards of cases, if any are named."""
        return self._read(
            self.source,
            nominal=self.nominal or (),
            ordinal=_ordinal(self.ordinal or []),
            drop=self.drop or (),
            max_missing=self.max_missing,
            **of_cases,
        )

    def load_to_learn(self, **of_cases: Any) -> lattree.Dataset:
        """Read it; it must have a target, or costs of cases."""
        data = self.load(**of_cases)
        if data.schema.target is None and data.costs is None:
            raise ValueError(f"--target is needed for a file; its columns are {list_names(data.schema.feature_names)}")
        return data

    def read_like(self, source: str, data: lattree.Dataset) -> lattree.Dataset:
        """Read another table that has the columns of the one read before."""
        if source == STDIN == self.source:
            raise ValueError("standard input can be read once only; put one of the two tables into a file")
        return self._read(source, like=data)

    def _read(self, source: str, **options: Any) -> lattree.Dataset:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            data = self._read_quietly(source, options | {"counts": self.counts, "weight": self.weight})
        for warning in caught:
            typer.echo(f"warning: {warning.message}", err=True)
        return data

    def _of_text(self) -> dict[str, Any]:
        """Return the options given that are for files of text."""
        separator = "\t" if self.separator in ("tab", "\\t") else self.separator
        options = {"null_values": self.null_values, "separator": separator}
        options |= {"decimal": self.decimal, "encoding": self.encoding}
        return {name: value for name, value in options.items() if value is not None}

    def _read_quietly(self, source: str, options: dict[str, Any]) -> lattree.Dataset:
        of_text = self._of_text()
        if source == STDIN:
            return _from_stdin(self.target, options, of_text)
        path = Path(source)
        if path.exists() and not path.is_dir():
            suffixes = [suffix.lower() for suffix in path.suffixes]
            if suffixes and suffixes[-1] in (".gz", ".zst"):
                suffixes.pop()
            reader = _READERS.get(suffixes[-1] if suffixes else "")
            if reader is None:
                known = ", ".join(_READERS)
                raise ValueError(f"{source}: the name must end in {known} or, for text, one of them and .gz")
            if reader is read_csv:
                return read_csv(source, self.target, **options, **of_text)
            _refuse(of_text, f"{source} is no file of text")
            return reader(source, self.target, **options)
        if source in datasets.names():
            _refuse(of_text, f"{source} is a bundled table")
            target = datasets.TARGET if self.target is None else self.target
            return lattree.Dataset(datasets.load_frame(source), target, **options)
        bundled = list_names(datasets.names())
        raise FileNotFoundError(f"there is no file {source!r} and no bundled table of that name; bundled are {bundled}")


def _refuse(of_text: dict[str, Any], what: str) -> None:
    for name in of_text:
        raise ValueError(f"{what}; `{name}` is for files of text")


def _ordinal(given: list[str]) -> dict[str, list[str]] | list[str]:
    """Return what `ordinal` of a dataset takes: levels by column, or names of columns alone."""
    if not any("=" in text for text in given):
        return given
    parts = [text.partition("=") for text in given]
    if alone := [name for name, _, levels in parts if not levels]:
        raise ValueError(f"--ordinal must give the levels of {list_names(alone)} too, as of the others")
    return {name: levels.split(",") for name, _, levels in parts}


def _from_stdin(target: str | None, options: dict[str, Any], of_text: dict[str, Any]) -> lattree.Dataset:
    """Read a table from standard input, in a format that its first bytes tell: text unless they say otherwise."""
    data = sys.stdin.buffer.read()
    reader = next((reader for start, reader in _BEGINNINGS.items() if data.startswith(start)), read_csv)
    if reader is read_csv:
        options = options | of_text
    else:
        _refuse(of_text, "standard input is no text")
    with tempfile.TemporaryDirectory() as folder:  # readers look at a file more than once
        path = Path(folder) / "table"
        path.write_bytes(data)
        try:
            return reader(path, target, **options)
        except (lattree.LattreeError, OSError) as error:
            raise ValueError(str(error).replace(str(path), "standard input")) from None
