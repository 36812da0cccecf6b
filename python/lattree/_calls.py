"""What a wrong call is told: which argument has the wrong type, and which keyword was meant.

Constructors of the core ask :func:`unexpected` and :func:`positional` when they are called wrongly. Methods and
functions are wrapped by :func:`explain`, which has next to no cost until a call fails.
"""

import difflib
import functools
import inspect
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from lattree._core import Dataset

_ELSEWHERE = {
    "categorical": "nominal",
    "delimiter": "separator",
    "max_leaf_nodes": "max_leaves",
    "min_samples_leaf": "min_leaf",
    "min_samples_split": "min_cases",
    "n_jobs": "threads",
    "n_splits": "k",
    "na_values": "null_values",
    "random_state": "seed",
    "sample_weight": "weight",
    "sep": "separator",
    "timeout": "time_limit",
    "y": "target",
}
"""What other libraries call a parameter, and its name here."""

_NOTE = "while processing "
"""How PyO3 begins to say which argument it could not convert."""


def unexpected(function: Callable[..., object], name: str) -> TypeError:
    """Return the error for a keyword that a function or class does not have, with the nearest one that it has."""
    known = _keywords(function)
    near = difflib.get_close_matches(name, known, n=1)
    if _ELSEWHERE.get(name) in known:
        near = [_ELSEWHERE[name]]
    hint = f". Did you mean {near[0]!r}?" if near else f"; it takes {', '.join(known) or 'none'}"
    return TypeError(f"{function.__qualname__}() got an unexpected keyword argument {name!r}{hint}")


def positional(function: Callable[..., object], given: Sequence[object]) -> TypeError:
    """Return the error for arguments without names, where a class takes them by name only."""
    name, first = function.__qualname__, _keywords(function)[0]
    return TypeError(f"{name}() takes no positional arguments, got {len(given)}; name them, as in {name}({first}=...)")


def explain_constructor(kind: type) -> None:
    """Make the errors of wrong calls of a class helpful, as those of the core's classes are; it takes keywords only."""
    make: Callable[..., None] = vars(kind)["__init__"]

    @functools.wraps(make)
    def init(self: object, *args: Any, **keywords: Any) -> None:
        known = _keywords(kind)
        if args:
            raise positional(kind, args)
        if unknown := [name for name in keywords if name not in known]:
            raise unexpected(kind, unknown[0])
        make(self, **keywords)

    type.__setattr__(kind, "__init__", init)


def explain(owner: Any) -> None:
    """Make the errors of wrong calls helpful, of all public functions and methods of a module or class."""
    public = getattr(owner, "__all__", None) or [name for name in vars(owner) if not name.startswith("_")]
    for name in public:
        member = vars(owner)[name]
        is_static = isinstance(member, staticmethod)
        if isinstance(member, (type, ModuleType)):
            explain(member)
        elif inspect.isroutine(member):
            call = _explained(getattr(owner, name))
            # Where it is found again, for pickle.
            if isinstance(owner, ModuleType):
                call.__module__, call.__qualname__ = owner.__name__, name
            else:
                call.__module__, call.__qualname__ = owner.__module__, f"{owner.__qualname__}.{name}"
            setattr(owner, name, staticmethod(call) if is_static else call)


def _explained(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        try:
            return function(*args, **keywords)
        except TypeError as error:
            if (better := _better(function, args, keywords, error)) is None:
                raise
            raise better from None

    return call


def _keywords(function: Callable[..., object]) -> list[str]:
    """Return the keywords of a function; what takes others passes them to `Dataset`."""
    parameters = inspect.signature(function).parameters.values()
    known = [parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD]
    more = _keywords(Dataset) if len(known) < len(parameters) else []
    return [name for name in [*known, *more] if name not in ("self", "table")]


def _better(
    function: Callable[..., object], args: Sequence[object], keywords: dict[str, object], error: TypeError
) -> TypeError | None:
    """Return an error that says more than the one raised, where that is about the call; else None."""
    known = _keywords(function)
    unknown = [name for name in keywords if name not in known]
    name = function.__qualname__
    if known[:1] == ["data"] and name.endswith((".run", ".count")) and (len(args) > 2 or {"target", "y"} & {*unknown}):
        short = name.rpartition(".")[2]
        return TypeError(
            f"{name}() takes one Dataset, which is a table with its target: {short}(lattree.Dataset(table, "
            f'"target")), or {short}(lattree.Dataset.from_arrays(X, y))'
        )
    if unknown:
        return unexpected(function, unknown[0])
    for note in getattr(error, "__notes__", ()):
        if note.startswith(_NOTE):
            said, argument = str(error), note[len(_NOTE) :].strip("'")
            return TypeError(f"`{argument}` {said}" if said.startswith("must be ") else f"`{argument}`: {said}")
    return None
