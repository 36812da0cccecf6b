"""A small part of the stress suite (tests/stress), each time the same; and that the suite sees what it is to see."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SUITE = Path(__file__).parents[1] / "stress"
# Seconds on a calm machine; minutes on one that is busy with other things.
pytestmark = pytest.mark.timeout(600)
POSIX = pytest.mark.skipif(sys.platform != "linux", reason="the suite measures its children by /proc")
CALM = {
    "part": "limits",
    "rows": 100,
    "columns": 2,
    "kind": "numeric",
    "values": 5,
    "levels": 2,
    "classes": 2,
    "signal": "columns",
    "missing": 0.0,
    "masses": None,
    "table_seed": 1,
    "search": "probe",
    "parameters": {},
    "memory_limit": 10_000_000,
    "time_limit": 0.1,
    "threads": 1,
    "interrupt": None,
    "on_interrupt": "raise",
}


def stress(*arguments):
    """Exit code and output. In a process of its own: the suite forks, which needs one without threads."""
    done = subprocess.run([sys.executable, SUITE, *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@POSIX
def test_limits_hold_on_random_tables():
    code, output = stress("--part", "limits", "--small", "--cases", "16", "--seed", "19", "--patience", "5")
    assert code == 0, output


def test_extreme_weights_are_exact_or_refused():
    code, output = stress("--part", "weights", "--cases", "200", "--seed", "19")
    assert code == 0, output


@POSIX
def test_what_a_search_must_not_do_is_seen():
    """Searches that misbehave on purpose."""
    cases = {
        "": {},
        "memory: 2": {"parameters": {"bytes": 200_000_000}},
        "time: ": {"parameters": {"seconds": 1.0}},
        "ended by signal 6": {"parameters": {"crashes": True}},
        "Ctrl-C: answered": {"parameters": {"seconds": 2.0, "deaf": True}, "interrupt": 0.1, "time_limit": 3.0},
    }
    good = {"parameters": {"seconds": 9.0}, "interrupt": 0.1, "time_limit": 3.0}
    code, output = stress("--replay", json.dumps([CALM | case for case in [*cases.values(), good]]), "--patience", "3")
    assert code == 1
    *found, answered = [result["problems"] for result in json.loads(output)]
    for words, problems in zip(cases, found, strict=True):
        assert len(problems) == bool(words), output
        assert all(words in problem for problem in problems), output
    assert answered == []


def test_an_interrupted_run_goes_on_where_it_was(tmp_path):
    state = tmp_path / "state"
    options = ("--part", "weights", "--seed", "3", "--state", str(state))
    stress(*options, "--cases", "5")
    lines = state.read_text().splitlines()
    # The last line is cut short, as by a power cut: that case is run again, the others are not.
    state.write_text("\n".join(lines)[:-9])
    stress(*options, "--cases", "8")
    assert state.read_text().splitlines()[:6] == lines
    numbers = [json.loads(line)["number"] for line in state.read_text().splitlines()[1:]]
    assert numbers == list(range(8))
    assert "is of seed 3, not 4" in stress(*options[:2], "--seed", "4", "--state", str(state))[1]
