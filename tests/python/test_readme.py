"""The README's examples run as they stand, in their order, and print what it says."""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
PAGES = [README.parent / "docs" / name for name in ("nodes.md", "costs.md", "anytime.md")]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page=README):
    """(line, language, code, what the text block directly below it says) of each fenced block."""
    text = page.read_text(encoding="utf-8")
    found = list(BLOCK.finditer(text))
    for block, below in zip(found, [*found[1:], None], strict=True):
        line = text.count("\n", 0, block.start()) + 1
        directly = below is not None and below[1] == "text" and text[block.end() : below.start()].strip() == ""
        yield line, block[1], block[2], below[2] if directly else None


def shell_output(commands):
    """What a console block says, and what its commands print in truth."""
    printed = ""
    for command in commands:
        name, *arguments = shlex.split(command)
        assert name == "lattree", command
        done = subprocess.run(
            [sys.executable, "-m", "lattree", *arguments],
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
            env=os.environ | {"COLUMNS": "100", "NO_COLOR": "1", "PYTHONUTF8": "1"},
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
        printed += f"$ {command}\n{done.stdout}"
    return printed


def test_examples(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "readme"}
    run = {"python": 0, "console": 0}
    for line, language, code, expected in blocks():
        where = f"README.md, line {line}"
        if language == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile("\n" * line + code, README, "exec"), namespace)  # so that tracebacks show the line
            if expected is None:
                assert printed.getvalue() == "", where
            else:
                assert printed.getvalue().rstrip() == expected.rstrip(), where
        elif language == "console":
            commands = [text[2:] for text in code.splitlines() if text.startswith("$ ")]
            assert shell_output(commands).rstrip() == code.rstrip(), where
        else:
            assert language in ("text", "sh"), where
            continue
        run[language] += 1
    assert run["python"] >= 10
    assert run["console"] >= 3


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_of_pages(page):
    namespace = {"__name__": "page"}
    run = 0
    for line, language, code, expected in blocks(page):
        if language == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile("\n" * line + code, page, "exec"), namespace)
            assert printed.getvalue().rstrip() == (expected or "").rstrip(), f"{page}, line {line}"
            run += 1
        elif language == "console":
            commands = [text[2:] for text in code.splitlines() if text.startswith("$ ")]
            assert shell_output(commands).rstrip() == code.rstrip(), f"{page}, line {line}"
    assert run >= 5


def test_links_lead_somewhere():
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", README.read_text(encoding="utf-8")):
        assert (README.parent / target).exists(), target


def test_the_two_commands():
    text = README.read_text(encoding="utf-8")
    for marker, ending in (("demo", "lattree demo"), ("tests", "-m pytest")):
        commands = re.findall(rf"^<!-- {marker} -->\n```sh\n(.*)\n```$", text, re.MULTILINE)
        assert len(commands) == 1
        assert commands[0].startswith("python3 -m venv .venv && ")
        assert commands[0].endswith(ending)


def test_versions_needed():
    text = README.read_text(encoding="utf-8")
    for file, pattern, says in (
        ("Cargo.toml", r'^rust-version = "(.+?)"', "Rust {} or later"),
        ("pyproject.toml", r'^requires-python = ">=(.+?)"', "Python {} or later"),
    ):
        needed = re.search(pattern, (README.parent / file).read_text(encoding="utf-8"), re.MULTILINE)
        assert needed, file
        assert says.format(needed[1]) in text


def test_files_that_the_prose_names_are_there():
    root = README.parent
    folders = ("src", "tests", "benches", "examples")
    sources = [path.relative_to(root).as_posix() for folder in folders for path in root.glob(f"{folder}/**/*.rs")]
    pages = [*root.glob("*.md"), *root.glob("docs/*.md"), root / "src" / "lib.rs"]
    named = {(page.name, name) for page in pages for name in re.findall(r"`([\w/]+\.rs)`", page.read_text("utf-8"))}
    assert len(named) > 10
    lost = {(page, name) for page, name in named if not any(f"/{path}".endswith(f"/{name}") for path in sources)}
    assert lost == set()
