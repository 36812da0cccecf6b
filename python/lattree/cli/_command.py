"""Commands: options in groups, help in parts, errors in the words of the command line."""

import contextlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_type_hints

import typer
from typer.core import TyperCommand

import lattree
from lattree.cli._options import INPUT, LIMITS, OUTPUT, TREE


class Command(TyperCommand):
    """A command that lists its options in parts, and turns what a user can put right into one line and exit code 2."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options of each part."""
        parts: dict[str, list[tuple[str, str]]] = {"Arguments": [], INPUT: [], TREE: [], LIMITS: [], OUTPUT: []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and parameter.param_type_name == "argument":
                parts["Arguments"].append((parameter.metavar or record[0], record[1]))
            elif record is not None:  # --help is in no part
                parts[getattr(parameter, "rich_help_panel", None) or OUTPUT].append(record)
        for part, records in parts.items():
            if records:
                with formatter.section(part):
                    formatter.write_dl(records)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with _user_errors({parameter.name: parameter.opts[0] for parameter in self.params}):
            return super().invoke(ctx)


def command(app: typer.Typer, name: str | None = None) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command of a function. A parameter that is a dataclass stands for the options that are its fields."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(function, include_extras=True)
        groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
        options: list[inspect.Parameter] = []
        for parameter in inspect.signature(function).parameters.values():
            if parameter.name in groups:
                options += _options(groups[parameter.name])
            else:
                options.append(_option(parameter.name, hints[parameter.name], parameter.default))

        def call(**given: Any) -> None:
            for name, group in groups.items():
                given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
            function(**given)

        vars(call)["__signature__"] = inspect.Signature(options)
        call.__annotations__ = {option.name: option.annotation for option in options}
        call.__name__, call.__doc__ = function.__name__, function.__doc__
        app.command(name, cls=Command)(call)
        return function

    return register


def _options(group: Any) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        yield _option(field.name, hints[field.name], default)


def _option(name: str, hint: object, default: object) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def as_typed(text: str, options: dict[str | None, str]) -> str:
    """Return an error text with the options as they are typed: ``--max-depth``, where Python says `max_depth`."""

    def with_value(found: re.Match[str]) -> str:
        return f"{options[found[1]]} {found[2]}" if found[1] in options else found[0]

    text = re.sub(r'`?\b(\w+)="(\w+)"`?', with_value, text)
    text = re.sub(r"`(\w+)`", lambda found: options.get(found[1], found[0]), text)
    # Leaving an option out is what None means.
    return re.sub(r",? or None\b[^,]*, got", ", got", text)


@contextlib.contextmanager
def _user_errors(options: dict[str | None, str]) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:  # a search is stopped by itself; this is a table being read
        typer.echo("interrupted", err=True)
        raise typer.Exit(130) from None
    except BrokenPipeError:  # the reader of a pipe, `head` say, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    except (lattree.LattreeError, OSError, ValueError, TypeError) as error:
        text = as_typed(" ".join(line.strip() for line in str(error).splitlines()), options)
        typer.echo(f"error: {text}", err=True)
        raise typer.Exit(2) from None
