"""`lattree describe`, `lattree datasets` and `lattree demo`."""

import typer
from rich.console import Console

from lattree import datasets
from lattree._describe import describe as describe_dataset
from lattree.cli._table import Table


def describe(table: Table) -> None:
    """Show the columns of a table, and its classes."""
    typer.echo(describe_dataset(table.load(), most=None))


def list_datasets() -> None:
    """List the bundled tables."""
    for name in datasets.names():
        typer.echo(f"{name:<12} {datasets.describe(name)}")


def demo() -> None:
    """Show in a few seconds what lattree does, on bundled real data."""
    from lattree._demo import run_demo

    run_demo(Console())
