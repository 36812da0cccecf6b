"""Costs of labels on the command line: objectives, matrices, costs of rows, abstention, policies."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import lattree
from lattree import Costs, Dataset, OptimalTreeSearch, PolicyTreeSearch
from lattree.cli import app


def run(*arguments, code=0):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == code, done.output
    return done


def test_other_objectives():
    weather = lattree.datasets.load("weather")
    for option, keywords in (
        (["--objective", "balanced_errors"], {"objective": "balanced_errors"}),
        (["--class-weight", "balanced"], {"class_weight": "balanced"}),
        (["--abstain", 0.2], {"abstain": 0.2}),
        (["--objective", "balanced_errors", "--abstain", 0.2], {"objective": "balanced_errors", "abstain": 0.2}),
    ):
        result = OptimalTreeSearch(max_depth=1, **keywords).run(weather)
        done = run("optimal", "weather", "--max-depth", 1, *option)
        assert done.stdout == result.tree.to_text().rstrip("\n") + "\n"
        assert f"objective {lattree._progress.number(result.objective)}, lower bound" in done.stderr
    assert "abstain (" in done.stdout


@pytest.mark.parametrize(
    "text", ["class,refer,yes,no\nyes,2,0,5\nno,0.5,1,0\n", "of,no,yes,refer\nno,0,1,0.5\nyes,5,0,2\n"]
)
def test_a_matrix_in_a_file(tmp_path, text):
    path = tmp_path / "costs.csv"
    path.write_text(text)
    done = run("optimal", "weather", "--max-depth", 1, "--costs", path, "--json")
    costs = Costs([[0, 1, 0.5], [5, 0, 2]], classes=["no", "yes"], labels=["no", "yes", "refer"])
    found = OptimalTreeSearch(max_depth=1, objective=costs).run(lattree.datasets.load("weather"))
    assert lattree.Tree.from_json(done.stdout) == found.tree


def test_classes_that_are_numbers(tmp_path):
    pl.DataFrame({"x": [0, 0, 1, 1, 1], "y": [0, 1, 1, 1, 0]}).write_csv(tmp_path / "t.csv")
    (tmp_path / "costs.csv").write_text("0,1,0\n1,0,7\n0,1,0\n")
    run("optimal", tmp_path / "t.csv", "--target", "y", "--costs", tmp_path / "costs.csv", code=2)
    (tmp_path / "costs.csv").write_text("y,1,0\n1,0,7\n0,1,0\n")
    done = run("optimal", tmp_path / "t.csv", "--target", "y", "--costs", tmp_path / "costs.csv")
    assert "objective 2" in done.stderr


@pytest.fixture
def table(tmp_path):
    random = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "x": random.integers(0, 5, 40),
            "y": random.choice(["no", "yes"], 40),
            "no": random.integers(0, 9, 40),
            "yes": random.integers(0, 9, 40),
            "wait": random.integers(0, 9, 40),
        }
    )
    frame.write_csv(tmp_path / "t.csv")
    return tmp_path / "t.csv", frame


def test_costs_of_rows(table):
    path, frame = table
    result = OptimalTreeSearch(max_depth=2, objective="costs").run(Dataset(frame, "y", costs=["no", "yes", "wait"]))
    for option in (["--case-costs", "no,yes,wait"], ["--case-costs", "no,yes", "--case-costs", "wait"]):
        done = run("optimal", path, "--target", "y", "--max-depth", 2, *option, "--test", path)
        assert done.stdout.rstrip() == str(result.tree).rstrip()
        assert f"objective {lattree._progress.number(result.objective)}" in done.stderr
        assert "test error" in done.stderr
    done = run("optimal", path, "--max-depth", 2, "--drop", "y", "--case-costs", "no,yes,wait", "--json")
    assert json.loads(done.stdout)["schema"]["target"]["name"] == "label"


def test_policies(table):
    path, frame = table
    data = Dataset(frame, rewards=["no", "yes", "wait"], drop=["y"])
    result = PolicyTreeSearch(max_depth=2, node_penalty=1.0).run(data)
    done = run(
        "policy", path, "--drop", "y", "--max-depth", 2, "--rewards", "no,yes", "--rewards", "wait", "--node-penalty", 1
    )
    assert done.stdout.rstrip() == str(result.tree).rstrip()
    number = lattree._progress.number(result.reward)
    assert f"status optimal; reward {number}, upper bound {number}" in done.stderr
    abstains = run("policy", path, "--drop", "y", "--max-depth", 1, "--rewards", "no,yes", "--abstain", 8.5, "--dot")
    assert "abstain" in abstains.stdout


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["optimal", "weather", "--costs", "nowhere.csv"], "nowhere.csv"),
        (["optimal", "weather", "--costs", "x.csv", "--objective", "errors"], "exclude each other"),
        (["optimal", "weather", "--case-costs", "outlook,wind"], "--case-costs has no column for the class"),
        (["optimal", "weather", "--case-costs", "no,yes"], 'names "no", which is no column'),
        (
            ["optimal", "weather", "--objective", "balanced_errors", "--class-weight", "balanced"],
            "--class-weight must be",
        ),
        (["policy", "weather", "--target", "wind", "--rewards", "humidity"], "a policy has no use for --target"),
        (["policy", "weather"], "--rewards"),
    ],
)
def test_errors(arguments, text):
    done = run(*arguments, code=2)
    assert text in " ".join(done.output.split())
