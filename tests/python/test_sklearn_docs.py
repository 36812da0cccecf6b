"""The examples of the page on estimators, and those of their docstrings, run as they stand."""

import contextlib
import doctest
import importlib
import io
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("module", ["", "._binarizer", "._classifiers", "._selectors"])
def test_docstrings(module):
    failed, tried = doctest.testmod(importlib.import_module(f"lattree.sklearn{module}"))
    assert tried
    assert not failed
