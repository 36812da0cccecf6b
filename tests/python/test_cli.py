"""The command line: results to stdout, the rest to stderr, and exit codes that a script can trust."""

import json
import os
import signal
import subprocess
import sys
import time

import polars as pl
import psutil
import pytest

import lattree

COMMAND = [sys.executable, "-m", "lattree"]


def run(*arguments, **options):
    environment = os.environ | {"COLUMNS": "100", "NO_COLOR": "1"}
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, timeout=60, check=False, env=environment, **options
    )


def failed(*arguments):
    """The one error line of a call that is wrong."""
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("code,size,y\n007,1,no\n007,2,no\n010,3,yes\n010,4,yes\n")
    return path


def test_optimal_prints_the_tree_and_a_summary():
    done = run("optimal", "iris", "--max-depth", "2")
    assert done.returncode == 0
    tree = lattree.OptimalTreeSearch(max_depth=2).run(lattree.datasets.load("iris")).tree
    assert done.stdout == tree.to_text().rstrip("\n") + "\n"
    assert done.stderr.startswith("status optimal")
    assert "objective 6, lower bound 6" in done.stderr
    assert done.stderr.count("\n") == 1  # no progress where stderr is no terminal


def test_optimal_json_and_dot():
    done = run("optimal", "weather", "--max-depth", "2", "--json")
    assert lattree.Tree.from_json(done.stdout).depth <= 2
    json.loads(done.stdout)
    assert run("optimal", "weather", "--max-depth", "1", "--dot").stdout.startswith("digraph")
    assert run("optimal", "weather", "--json", "--dot").returncode == 2


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".arrow", ".feather"])
def test_optimal_reads_files(tmp_path, table, suffix):
    path = tmp_path / f"copy{suffix}"
    frame = pl.read_csv(table)
    match suffix:
        case ".csv":
            path = table
        case ".csv.gz":
            import gzip

            path.write_bytes(gzip.compress(table.read_bytes()))
        case ".parquet":
            frame.write_parquet(path)
        case _:
            frame.write_ipc(path)
    done = run("optimal", str(path), "--target", "y", "--max-depth", "1", "--drop", "code")
    assert done.returncode == 0, done.stderr
    assert "size" in done.stdout
    assert "objective 0" in done.stderr


def test_optimal_options(table):
    done = run("optimal", str(table), "--target", "y", "--nominal", "code", "--drop", "size", "--max-depth", "1")
    assert "007" in done.stdout
    done = run(
        *("optimal", str(table), "--target", "y", "--max-nodes", "0", "--min-leaf", "2", "--time-limit", "5"),
        *("--node-penalty", "0.5", "--thresholds", "quantile", "--max-thresholds", "3", "--threads", "1", "--text"),
    )
    assert done.returncode == 0, done.stderr
    assert "objective 2" in done.stderr


def test_engines_and_thresholds():
    data = lattree.datasets.load("ionosphere")
    done = run("optimal", "ionosphere", "--max-depth", "2", "--engine", "continuous")
    tree = lattree.OptimalTreeSearch(max_depth=2, engine="continuous").run(data).tree
    assert done.stdout == tree.to_text().rstrip("\n") + "\n"
    assert done.stderr.startswith("status optimal; objective 29, lower bound 29")
    thinned = run("optimal", "ionosphere", "--max-depth", "2", "--engine", "tests")
    tests = lattree.OptimalTreeSearch(max_depth=0, engine="tests").run(data).tests
    over = f"over thresholds thinned out to {len(tests)} tests"
    assert thinned.stderr.startswith(f"status optimal_over_tests, {over} (--thresholds exact takes all); objective ")
    over_tests = lattree.OptimalTreeSearch(max_depth=2, engine="tests").run(data).tests_bound
    assert f", lower bound 0, over these thresholds {over_tests:g}" in thinned.stderr
    limited = run("optimal", "ionosphere", "--max-depth", "7", "--time-limit", "0.5")
    assert limited.stderr.startswith("status time_limit; objective ")
    hopeless = run("optimal", "ionosphere", "--max-depth", "7", "--time-limit", "0.5", "--memory-limit", "2")
    assert f"_limit, {over} (--thresholds exact takes all); objective " in hopeless.stderr
    alone = run("optimal", "ionosphere", "--max-depth", "3", "--effort", "tree", "--seed", "3")
    search = lattree.OptimalTreeSearch(max_depth=3, effort="tree", seed=3)
    assert alone.stdout == search.run(data).tree.to_text().rstrip("\n") + "\n"
    assert alone.stderr.startswith("status complete; objective ")
    exact = run("optimal", "ionosphere", "--max-depth", "1", "--engine", "tests", "--thresholds", "exact")
    assert exact.stderr.startswith("status optimal; objective ")
    chosen = run("optimal", "ionosphere", "--max-depth", "1", "--max-thresholds", "2")
    assert "--thresholds exact" not in chosen.stderr  # which --max-thresholds excludes
    assert "over thresholds thinned out to " in chosen.stderr
    assert run("optimal", "iris", "--engine", "rows").returncode == 2


def test_greedy_prints_the_tree_and_a_summary():
    done = run("greedy", "vote")
    assert done.returncode == 0
    data = lattree.datasets.load("vote")
    tree = lattree.GreedyTreeSearch().run(data).tree
    wrong = (tree.predict(data) != data.target).sum()
    assert done.stdout == tree.to_text().rstrip("\n") + "\n"
    size = f"splits {tree.n_nodes}, leaves {tree.n_leaves}, depth {tree.depth}, training errors {wrong}, "
    assert done.stderr.startswith(f"status complete; {size}")
    assert done.stderr.count("\n") == 1


def test_greedy_options():
    done = run(
        *("greedy", "vote", "--criterion", "gini", "--min-cases", "9", "--min-branch", "3", "--min-leaf", "2"),
        *("--max-depth", "4", "--min-gain", "0.01", "--max-leaves", "6", "--nominal-splits", "subsets"),
        *("--missing", "level", "--class-weight", "balanced", "--time-limit", "60", "--threads", "1", "--json"),
        *("--nominal", "crime", "--drop", "immigration"),
    )
    assert done.returncode == 0, done.stderr
    data = lattree.Dataset(lattree.datasets.load_frame("vote"), "class", nominal=["crime"], drop=["immigration"])
    search = lattree.GreedyTreeSearch(
        criterion="gini",
        min_cases=9,
        min_branch=3,
        min_leaf=2,
        max_depth=4,
        min_gain=0.01,
        max_leaves=6,
        nominal_splits="subsets",
        missing="level",
        class_weight="balanced",
    )
    tree = lattree.Tree.from_json(done.stdout)
    assert tree.n_leaves > 2
    assert tree.to_json() == search.run(data).tree.to_json()


def test_greedy_on_a_file(table):
    done = run("greedy", str(table), "--target", "y", "--drop", "code", "--dot")
    assert done.stdout.startswith("digraph")
    assert "size <= 2" in done.stdout
    assert "splits 1, leaves 2, depth 1, training errors 0" in done.stderr


def test_a_file_wins_over_a_bundled_table(tmp_path, table):
    (tmp_path / "iris.csv").write_text(table.read_text())
    assert "code" in run("describe", "iris.csv", cwd=tmp_path).stdout
    (tmp_path / "iris").mkdir()
    assert "petallength" in run("describe", "iris", cwd=tmp_path).stdout


def test_describe(table):
    done = run("describe", str(table), "--target", "y")
    assert done.returncode == 0
    assert done.stdout.startswith("Dataset: 4 rows, 2 features")
    assert 'target "y": 2 classes' in done.stdout
    assert "3 features" in run("describe", str(table)).stdout


def test_datasets_and_version():
    assert [line.split()[0] for line in run("datasets").stdout.splitlines()] == lattree.datasets.names()
    assert run("--version").stdout == f"lattree {lattree.__version__}\n"


def test_errors_are_one_line(tmp_path, table):
    assert "no file 'none.csv' and no bundled table" in failed("optimal", "none.csv", "--target", "y")
    assert '--target is needed for a file; its columns are "code", "size", "y"' in failed("optimal", str(table))
    assert '--target names "z"' in failed("optimal", str(table), "--target", "z")
    assert '--drop names "z"' in failed("optimal", str(table), "--target", "y", "--drop", "z")
    assert "--max-depth must be from 0 to 20, got 99" in failed("optimal", "iris", "--max-depth", "99")
    assert "--time-limit must be " in failed("optimal", "iris", "--time-limit", "-1")
    (tmp_path / "table.xlsx").write_text("")
    assert "must end in .csv" in failed("optimal", str(tmp_path / "table.xlsx"), "--target", "y")
    (tmp_path / "empty.csv").write_text("")
    assert "is empty" in failed("describe", str(tmp_path / "empty.csv"))
    assert "--target is needed for a file" in failed("greedy", str(table))
    assert "--min-leaf must be at least 1, got 0" in failed("greedy", "iris", "--min-leaf", "0")
    assert "--min-gain must be finite and not negative, got -1" in failed("greedy", "iris", "--min-gain", "-1")
    assert run("optimal").returncode == 2
    assert run("greedy", "iris", "--criterion", "entropy").returncode == 2
    assert run("greedy", "iris", "--json", "--text").returncode == 2
    assert run("optimal", "iris", "--max-depth", "two").returncode == 2


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT to one process needs POSIX")
def test_interrupt_prints_the_best_tree_so_far():
    command = [*COMMAND, "optimal", "ionosphere", "--max-depth", "8", "--thresholds", "all"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        # By the processor's time, whatever else runs: starting up takes one second of it, the search takes hours.
        watched = psutil.Process(process.pid)
        while process.poll() is None and sum(watched.cpu_times()[:2]) < 3:
            time.sleep(0.05)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert out.strip()
    assert err.startswith("status interrupted")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_a_closed_pipe_is_no_error():
    done = subprocess.run(
        f"'{sys.executable}' -m lattree datasets | head -n 1", shell=True, capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""
    assert done.stdout.startswith("anneal")


@pytest.mark.timeout(60)
def test_demo():
    done = run("demo")
    assert done.returncode == 0, done.stderr
    for word in (
        "iris",
        "titanic",
        "kr-vs-kp",
        "optimal",
        "greedy",
        "distinct",
        "elimination",
        "predicted",
        "without bins",
    ):
        assert word in done.stdout


def test_without_the_extra():
    code = "import sys; sys.modules['typer'] = None; from lattree.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "pip install 'lattree[cli]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_import_is_lean():
    code = """if True:
        import sys
        import lattree
        heavy = {"pandas", "pyarrow", "typer", "rich", "matplotlib", "sklearn"} & set(sys.modules)
        print(sorted(heavy))
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "[]\n", done.stderr
