"""The command line: trees from a file, optimal or greedy, and their features, without writing Python.

Results go to stdout; summaries, progress and errors to stderr. Exit codes: 0 done, also when a limit was met (the
summary says so); 2 the call or the data are wrong; 130 interrupted, after printing the best tree so far.
"""

from typing import Annotated

import typer

import lattree
from lattree.cli._about import demo, describe, list_datasets
from lattree.cli._command import command
from lattree.cli._evaluate import evaluate
from lattree.cli._subsets import distinct, select
from lattree.cli._trees import greedy, optimal, policy

# Without markup, help is plain text that breaks between words only, at any width.
app = typer.Typer(name="lattree", no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lattree {lattree.__version__}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version)
]


@app.callback()
def common(version: Version = False) -> None:
    """Decision trees, provably optimal or greedy, in the words of your own columns."""


for _function in (optimal, policy, greedy, evaluate, distinct, select, describe):
    command(app)(_function)
command(app, "datasets")(list_datasets)
command(app)(demo)
