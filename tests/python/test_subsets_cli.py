"""`lattree distinct` and `lattree select`: what is printed where, options, errors."""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest

import lattree
from lattree import datasets
from test_cli import COMMAND, failed, run


@pytest.fixture
def noise(tmp_path):
    """A table whose subsets nobody can search to the end."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({f"x{i}": rng.normal(size=400) for i in range(40)})
    frame.with_columns(y=pl.Series(rng.integers(0, 2, 400))).write_csv(path := tmp_path / "noise.csv")
    return str(path)


def selected(printed):
    """What `select --json` printed, with its tree."""
    found = json.loads(printed)
    return found | {"tree": lattree.Tree.from_json(json.dumps(found["tree"]))}


class TestDistinct:
    def test_prints_sizes_and_a_summary(self):
        done = run("distinct", "weather")
        counts = lattree.DistinctTreeSearch().count(datasets.load("weather"))
        lines = [line.split() for line in done.stdout.splitlines()]
        assert lines[0] == ["features", "trees"]
        assert lines[1:-1] == [[str(size), str(n)] for size, n in enumerate(counts.by_size) if n]
        assert lines[-1] == ["all", str(counts.distinct)]
        assert done.returncode == 0
        found = f"trees {counts.distinct}, built {counts.built} (1.00 for each), "
        assert done.stderr.startswith(f"status complete; {found}")
        assert done.stderr.count("\n") == 1

    def test_lists_the_features_of_every_tree(self):
        trees = [tree.features for tree in lattree.DistinctTreeSearch().run(datasets.load("weather"))]
        done = run("distinct", "weather", "--list")
        assert done.stdout.splitlines() == [", ".join(features) or "none" for features in trees]
        assert f"trees {len(trees)}, " in done.stderr
        done = run("distinct", "weather", "--list", "--json")
        assert [tuple(json.loads(line)) for line in done.stdout.splitlines()] == trees

    def test_json(self):
        found = json.loads(run("distinct", "weather", "--json").stdout)
        counts = lattree.DistinctTreeSearch().count(datasets.load("weather"))
        assert found.pop("seconds") > 0
        assert found == {name: getattr(counts, name) for name in ("distinct", "built", "overhead", "by_size", "status")}

    def test_options(self):
        done = run(
            *("distinct", "vote", "--order", "reverse", "--require", "crime", "--require", "immigration"),
            *("--criterion", "gini", "--min-cases", "64", "--min-branch", "3", "--min-leaf", "2", "--max-depth", "3"),
            *("--min-gain", "0.01", "--nominal-splits", "subsets", "--missing", "level", "--class-weight", "balanced"),
            *("--time-limit", "60", "--threads", "1", "--drop", "mx-missile", "--nominal", "crime", "--json"),
        )
        assert done.returncode == 0, done.stderr
        data = lattree.Dataset(datasets.load_frame("vote"), "class", nominal=["crime"], drop=["mx-missile"])
        search = lattree.DistinctTreeSearch(
            order="reverse",
            required=["crime", "immigration"],
            criterion="gini",
            min_cases=64,
            min_branch=3,
            min_leaf=2,
            max_depth=3,
            min_gain=0.01,
            nominal_splits="subsets",
            missing="level",
            class_weight="balanced",
            threads=1,
        )
        counts, found = search.count(data), json.loads(done.stdout)
        assert (found["distinct"], found["built"], found["by_size"]) == (counts.distinct, counts.built, counts.by_size)
        assert counts.distinct > 1

    def test_a_time_limit(self, noise):
        for more in ((), ("--list",)):
            done = run("distinct", noise, "--target", "y", "--time-limit", "2", *more)
            assert done.returncode == 0
            assert done.stderr.startswith("status time_limit; trees ")
            assert done.stdout
            if not more:
                *_, total, words = done.stdout.splitlines()
                assert total.startswith("  so far  ")
                assert words == "time_limit: there may be more"

    @pytest.mark.skipif(sys.platform == "win32", reason="SIGINT to one process needs POSIX")
    @pytest.mark.parametrize("more", [[], ["--list"]])
    def test_interrupt(self, noise, more, tmp_path):
        command = [*COMMAND, "distinct", noise, "--target", "y", *more]
        with (
            (tmp_path / "out").open("w") as out,
            subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE, text=True) as process,
        ):
            time.sleep(2)
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=20)
        assert process.returncode == 130
        assert (tmp_path / "out").stat().st_size > 0
        assert err.startswith("status interrupted; trees ")

    @pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
    def test_a_closed_pipe_ends_a_list(self, noise):
        command = f"'{sys.executable}' -m lattree distinct '{noise}' --target y --list | head -n 3"
        done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60)
        assert done.stdout.count("\n") == 3
        assert done.stderr == ""

    @pytest.mark.parametrize("command", ["distinct", "select"])
    def test_missing_values_cannot_be_dropped(self, command):
        done = run(command, "weather", "--missing", "drop")
        assert done.returncode == 2
        assert "'fractional', 'mean', 'class_mean', 'level'" in done.stderr

    def test_errors(self):
        assert 'no column "rain"; the columns are "outlook"' in failed("distinct", "weather", "--require", "rain")
        assert run("distinct", "weather", "--missing", "drop").returncode == 2
        assert "--min-cases must be at least 1" in failed("distinct", "weather", "--min-cases", "0")
        assert run("distinct", "weather", "--order", "last").returncode == 2


class TestSelect:
    @pytest.mark.parametrize("method", ["elimination", "best", "accept"])
    def test_prints_features_and_tree(self, method):
        done = run("select", "iris", "--method", method, "--seed", "3")
        building, search = datasets.load("iris").split(0.3, seed=3)
        kind = lattree.BackwardEliminationSearch if method == "elimination" else lattree.AcceptableSubsetSearch
        result = kind().run(building, search)
        assert done.returncode == 0, done.stderr
        assert done.stdout == f"features: {', '.join(result.features)}\n{result.tree.to_text().rstrip()}\n"
        assert done.stderr.startswith(f"status {result.status}; features {len(result.features)} of 4, error ")
        for words in ("objective", "lower bound"):
            assert (words in done.stderr) == (method != "elimination")
        assert done.stderr.count("\n") == 1

    def test_json_and_dot(self):
        found = selected(run("select", "iris", "--json").stdout)
        result = lattree.BackwardEliminationSearch().run(*datasets.load("iris").split(0.3))
        assert found.pop("tree").to_json() == result.tree.to_json()
        assert found.pop("features") == list(result.features)
        assert found == {name: getattr(result, name) for name in ("status", "error", "objective", "lower_bound")}
        assert run("select", "iris", "--dot").stdout.startswith("digraph")

    def test_delta_and_penalty(self):
        options = ("--method", "accept", "--delta", "0.1", "--feature-penalty", "0.02", "--search-fraction", "0.5")
        done = run("select", "iris", *options, "--require", "sepalwidth", "--min-cases", "4", "--json")
        search = lattree.AcceptableSubsetSearch(delta=0.1, feature_penalty=0.02, required="sepalwidth", min_cases=4)
        result = search.run(*datasets.load("iris").split(0.5))
        found = selected(done.stdout)
        assert found["tree"] == result.tree
        assert found["objective"] == result.objective > result.error == found["error"]
        numbers = f"error {result.error:.6g}, objective {result.objective:.6g}, lower bound {result.lower_bound:.6g}, "
        assert f"features {len(result.features)} of 4, {numbers}" in done.stderr

    def test_a_file_to_search(self, tmp_path):
        building, search = datasets.load("vote").split(0.3, seed=1)
        for name, part in (("building", building), ("search", search)):
            part.to_polars().write_parquet(tmp_path / f"{name}.parquet")
        files = (str(tmp_path / "building.parquet"), "--target", "class", "--search", str(tmp_path / "search.parquet"))
        done = run("select", *files, "--min-cases", "20", "--json")
        building = lattree.read_parquet(tmp_path / "building.parquet", "class")
        search = lattree.read_parquet(tmp_path / "search.parquet", "class", like=building)
        expected = lattree.BackwardEliminationSearch(min_cases=20).run(building, search)
        assert selected(done.stdout)["tree"] == expected.tree

    @pytest.mark.parametrize("error", ["training", "pessimistic"])
    def test_other_errors_take_all_rows(self, error):
        done = run("select", "weather", "--error", error, "--method", "best", "--json")
        tree = selected(done.stdout)["tree"]
        assert tree == lattree.AcceptableSubsetSearch(error=error).run(datasets.load("weather")).tree
        assert sum(rule.mass for rule in tree.rules()) == 14

    def test_a_time_limit(self, noise):
        done = run("select", noise, "--target", "y", "--method", "best", "--time-limit", "0.5")
        assert done.returncode == 0
        assert done.stderr.startswith("status time_limit; features ")
        assert done.stdout.startswith("features: ")

    @pytest.mark.skipif(sys.platform == "win32", reason="SIGINT to one process needs POSIX")
    def test_interrupt_prints_the_best_so_far(self, noise):
        command = [*COMMAND, "select", noise, "--target", "y", "--method", "best"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            time.sleep(2)
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=20)
        assert process.returncode == 130
        assert out.startswith("features: ")
        assert err.startswith("status interrupted; features ")

    @pytest.mark.parametrize(
        ("options", "says"),
        [
            (("--delta", "0.1"), "--delta is for --method accept"),
            (("--method", "best", "--delta", "0.1"), "--delta is for --method accept"),
            (("--feature-penalty", "0.1"), "--feature-penalty is for"),
            (("--search", "iris", "--search-fraction", "0.3"), "exclude each other"),
            (("--error", "training", "--search-fraction", "0.3"), "are for --error search"),
            (("--error", "training", "--search", "iris"), "are for --error search"),
            (("--json", "--dot"), "exclude each other"),
        ],
    )
    def test_options_that_do_not_go_together(self, options, says):
        done = run("select", "iris", *options)
        assert (done.returncode, done.stdout) == (2, "")
        assert says in done.stderr

    def test_errors(self):
        assert 'lacks "sepallength"' in failed("select", "iris", "--search", "titanic")
        assert "--search-fraction must be from 0 to 1" in failed("select", "iris", "--search-fraction", "2")
        assert "--delta must be finite and not negative" in failed(
            "select", "iris", "--method", "accept", "--delta", "-1"
        )
        assert "no file 'none.csv'" in failed("select", "iris", "--search", "none.csv")
        assert 'no column "rain"' in failed("select", "weather", "--require", "rain")
