"""The examples of the page on estimators, and those of their docstrings, run as they stand."""

import contextlib
import doctest
import importlib
import inspect
import io
import re
from pathlib import Path

import pytest

import lattree.sklearn
from test_readme import BLOCK

PAGE = Path(__file__).parents[2] / "docs" / "sklearn.md"


def test_the_page():
    blocks = list(BLOCK.finditer(PAGE.read_text(encoding="utf-8")))
    pairs = list(zip(blocks[::2], blocks[1::2], strict=True))
    namespace = {"__name__": "page"}
    for example, expected in pairs:
        assert (example[1], expected[1]) == ("python", "text")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(example[2], PAGE, "exec"), namespace)
        assert printed.getvalue().rstrip() == expected[2].rstrip()
    assert len(pairs) >= 5


@pytest.mark.parametrize("module", ["", "._binarizer", "._classifiers", "._policy", "._selectors"])
def test_docstrings(module):
    failed, tried = doctest.testmod(importlib.import_module(f"lattree.sklearn{module}"))
    assert tried
    assert not failed


ESTIMATORS = [getattr(lattree.sklearn, name) for name in lattree.sklearn.__all__]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: estimator.__name__)
def test_methods_say_what_they_take_give_and_raise(estimator):
    parameters = inspect.signature(estimator).parameters
    documented = re.findall(r"^(\w[\w, ]*) :|^(\w[\w, ]*)$", inspect.getdoc(estimator), re.MULTILINE)
    assert set(parameters) <= {name.strip() for names in documented for part in names for name in part.split(",")}
    names = ("fit", "predict", "predict_proba", "predict_log_proba", "transform", "apply", "decision_path")
    methods = [getattr(estimator, name) for name in names if hasattr(estimator, name)]
    assert len(methods) >= 2
    for method in methods:
        text = inspect.getdoc(method)
        for section in ("Parameters", "Returns", "Raises"):
            assert f"\n{section}\n---" in text, (method, section)
