"""What the stub, the signatures, the docstrings and the list of public names say is one and the same."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lattree
from lattree import _core, datasets

#: Public callables of functions and methods, by dotted name.
PUBLIC = {name: getattr(lattree, name) for name in lattree.__all__}
CLASSES = {name: value for name, value in PUBLIC.items() if inspect.isclass(value) and not issubclass(value, Exception)}
CALLABLES = (
    {name: value for name, value in PUBLIC.items() if inspect.isroutine(value)}
    | {f"datasets.{name}": getattr(datasets, name) for name in datasets.__all__ if callable(getattr(datasets, name))}
    | {
        f"{owner}.{name}": getattr(value, name)
        for owner, value in CLASSES.items()
        for name in vars(value)
        if not name.startswith("_") and callable(getattr(value, name))
    }
    | {
        name: value
        for name, value in CLASSES.items()
        if name.endswith("Search") or name in ("Dataset", "Binarizer", "Costs")
    }
)
STUB = ast.parse(Path(_core.__file__).with_name("_core.pyi").read_text(encoding="utf-8"))


def stub_functions():
    """The functions of the stub by dotted name; a class has the signature of its constructor."""
    for statement in STUB.body:
        if isinstance(statement, ast.FunctionDef):
            yield statement.name, statement
        elif isinstance(statement, ast.ClassDef):
            for inner in statement.body:
                if isinstance(inner, ast.FunctionDef) and not any(
                    isinstance(decorator, ast.Name) and decorator.id == "property" for decorator in inner.decorator_list
                ):
                    name = "" if inner.name == "__new__" else f".{inner.name}"
                    yield statement.name + name, inner


def stub_parameters(function):
    """(name, kind, default as text) of each parameter but `self` and `cls`."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + arguments.defaults
    found = [(a.arg, "positional", d) for a, d in zip(positional, defaults, strict=True)]
    found += [(a.arg, "keyword", d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    return [(name, kind, d and repr(ast.literal_eval(d))) for name, kind, d in found if name not in ("self", "cls")]


def real_parameters(value):
    return [
        (
            p.name,
            "keyword" if p.kind is p.KEYWORD_ONLY else "positional",
            None if p.default is p.empty else repr(p.default),
        )
        for p in inspect.signature(value).parameters.values()
        if p.name != "self"
    ]


@pytest.mark.parametrize(("name", "function"), [pytest.param(n, f, id=n) for n, f in stub_functions()])
def test_signatures_are_those_of_the_stub(name, function):
    owner, _, method = name.partition(".")
    value = getattr(_core, owner)
    value = getattr(value, method) if method else value
    if method.startswith("__"):
        assert callable(value)
        return
    assert real_parameters(value) == stub_parameters(function)


def test_every_signature_is_in_the_stub():
    known = dict(stub_functions())
    in_python = tuple(name for name, value in CLASSES.items() if not hasattr(_core, name))
    assert set(in_python) == {"Costs", "PolicyProgress", "PolicyResult", "PolicyTreeSearch"}
    public = {name for name in CALLABLES if not name.startswith(("read_", "plot", "datasets.", *in_python))}
    assert public <= set(known)


@pytest.mark.timeout(300)
def test_stubtest():
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "lattree._core"],
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_all_is_complete():
    assert sorted(lattree.__all__) == list(lattree.__all__)
    assert len(set(lattree.__all__)) == len(lattree.__all__)
    public = {name for name in vars(_core) if not name.startswith("_")}
    assert public <= set(lattree.__all__)
    visible = {name for name in vars(lattree) if not name.startswith("_") and name not in ("cli", "sklearn")}
    assert visible <= set(lattree.__all__)
    namespace = {}
    exec("from lattree import *", namespace)
    assert set(lattree.__all__) <= set(namespace)
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", lattree.__version__)


def test_public_names_say_where_they_are_from():
    for name, value in PUBLIC.items():
        if inspect.isclass(value):
            assert (value.__module__, value.__qualname__) == ("lattree", name)
    assert issubclass(lattree.DataError, (lattree.LattreeError, ValueError))
    for error in (lattree.DataError, lattree.ParameterError, lattree.TreeError):
        assert issubclass(error, lattree.LattreeError)
        assert issubclass(error, ValueError)


@pytest.mark.parametrize("name", [name for name in PUBLIC if name != "__version__"])
def test_every_public_name_has_a_docstring(name):
    text = inspect.getdoc(PUBLIC[name])
    assert text
    first = text.split("\n\n")[0]
    assert first.rstrip().endswith((".", ":")), first


@pytest.mark.parametrize("name", sorted(CALLABLES))
def test_every_parameter_is_documented(name):
    text = inspect.getdoc(CALLABLES[name])
    assert text
    parameters = [parameter for parameter, *_ in real_parameters(CALLABLES[name])]
    if not parameters:
        return
    assert "Parameters\n----------\n" in text
    if others := re.search(r"The other parameters, and errors, are those of :class:`(\w+)`", text):
        inherited = [parameter for parameter, *_ in real_parameters(CLASSES[others[1]])]
        parameters = [parameter for parameter in parameters if parameter not in inherited]
    listed = {
        listed.strip(" *")
        for line in text.split("Parameters\n----------\n")[1].split("\n")
        if not line.startswith(" ")
        for listed in line.partition(":")[0].split(",")
    }
    assert set(parameters) <= listed | {"options"}


@pytest.mark.parametrize("name", sorted(CALLABLES))
def test_errors_are_documented(name):
    text = inspect.getdoc(CALLABLES[name])
    said = re.search(r"^Raises\n------$|, and errors, are those of|, as are errors", text, re.MULTILINE)
    assert said or not real_parameters(CALLABLES[name])


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (owner, name)
        for owner, value in CLASSES.items()
        for name, member in sorted(vars(value).items())
        if inspect.isgetsetdescriptor(member) or isinstance(member, property)
    ],
)
def test_every_attribute_is_documented(owner, name):
    text = inspect.getdoc(CLASSES[owner])
    own = getattr(CLASSES[owner], name).__doc__
    assert own or re.search(rf"^(\w+, )*{name}(, \w+)* :", text, re.MULTILINE), "in the class or by itself"
