"""Greedy trees and tests at the edges: chains, as many classes as rows, lists of tests; in time and in memory."""

import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from lattree import Binarizer, Dataset, GreedyTreeSearch, OptimalTreeSearch

pytestmark = pytest.mark.timeout(120)
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/status")


def alternating(n, n_classes=2, **more):
    return Dataset({"x": np.arange(n), **more, "y": np.arange(n) % n_classes}, "y")


def peak_above(data, run):
    """Bytes at the peak of a run, above those of its data, in a process of its own; and what it printed."""
    text = f"""
        import numpy as np
        from lattree import Binarizer, Dataset, GreedyTreeSearch, OptimalTreeSearch
        def bytes_of(name):
            lines = open("/proc/self/status").read().splitlines()
            return 1024 * int(next(line for line in lines if line.startswith(name)).split()[1])
        {data}
        open("/proc/self/clear_refs", "w").write("5")
        before = bytes_of("VmRSS")
        {run}
        print(bytes_of("VmHWM") - before)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, timeout=100, check=True
    )
    *printed, peak = done.stdout.split()
    return int(peak), printed


@pytest.mark.parametrize(
    "parameters",
    [{}, {"criterion": "gini"}, {"criterion": "gain_ratio"}, {"max_leaves": 100_000}],
)
def test_fault_q_a_chain_of_many_nodes_is_grown(parameters):
    # The limit is many times what it takes, and a fraction of what all cuts of all nodes would.
    n = 60_000
    data = alternating(n)
    result = GreedyTreeSearch(time_limit=30, **parameters).run(data)
    assert result.status == "complete"
    assert result.tree.n_nodes == n - 1
    assert (result.tree.predict(data).to_numpy() == np.arange(n) % 2).all()


def test_fault_q_with_other_columns_and_missing_values():
    n = 20_000
    z = np.random.default_rng(0).normal(size=n)
    z[::7] = np.nan
    for missing in ["fractional", "level"]:
        result = GreedyTreeSearch(time_limit=30, missing=missing).run(alternating(n, z=z))
        assert result.status == "complete"


def test_fault_q_of_levels():
    n = 10_000
    data = Dataset({"x": [str(i) for i in range(n)], "y": np.arange(n) % 2}, "y")
    result = GreedyTreeSearch(time_limit=30, nominal_splits="one_vs_rest").run(data)
    assert (result.status, result.tree.n_nodes) == ("complete", n // 2)


@LINUX
def test_fault_x13_the_limit_of_memory_holds_with_as_many_classes_as_rows():
    for rows, limit in [(3000, 20), (3000, 60), (6000, 100)]:
        peak, (status, n_nodes) = peak_above(
            f"data = Dataset({{'x': np.arange({rows}), 'y': np.arange({rows})}}, 'y')",
            f"result = GreedyTreeSearch(memory_limit={limit}_000_000).run(data); "
            "print(result.status, result.tree.n_nodes)",
        )
        assert status == "memory_limit"
        assert int(n_nodes) > 0
        assert peak < 1.1 * limit * 1e6 + 32e6, (rows, limit, peak)


@LINUX
@pytest.mark.parametrize("limit", [1, 8, 30])
def test_fault_x1_greedy_keeps_its_limit_of_memory(limit):
    peak, (status,) = peak_above(
        "rng = np.random.default_rng(0); n = 100_000; "
        "data = Dataset.from_arrays(rng.normal(size=(n, 10)), rng.integers(0, 50, n))",
        f"result = GreedyTreeSearch(memory_limit={limit}_000_000, max_depth=8).run(data); print(result.status)",
    )
    assert status == "memory_limit"
    assert peak < 1.1 * limit * 1e6 + 32e6


@LINUX
def test_fault_x2_tests_are_listed_in_little_memory():
    peak, (n,) = peak_above(
        "data = Dataset.from_arrays(np.random.default_rng(0).normal(size=(20_000, 10)), np.arange(20_000) % 2)",
        "print(len(Binarizer(thresholds='all').tests(data)))",
    )
    assert int(n) == 10 * 19_999
    assert peak < 200e6, peak


def test_fault_x2_pickles_hold_tests_in_few_bytes():
    data = Dataset.from_arrays(np.random.default_rng(0).normal(size=(2000, 5)), np.arange(2000) % 2)
    for engine in ["tests", "continuous"]:
        result = OptimalTreeSearch(max_depth=1, engine=engine, binarizer=Binarizer(thresholds="exact")).run(data)
        pickled = pickle.dumps(result)
        assert len(pickled) < 9 * len(result.tests) + 5000
        again = pickle.loads(pickled)
        assert again.tests == result.tests
        assert pickle.loads(pickle.dumps(again)).tests == result.tests
    assert len(result.tests) == 5 * 1999


def test_fault_x2_pickles_of_all_kinds_of_tests():
    data = Dataset(
        {
            "x": [1.5, None, 2.5, 3.5, 4.0, 9.0],
            "n": [1, 2, 3, 4, 5, 6],
            "c": ["a", "b", "c", "a", None, "b"],
            "y": [0, 1, 0, 1, 1, 0],
        },
        "y",
    )
    for nominal in ["one_vs_rest", "subsets"]:
        binarizer = Binarizer(thresholds="all", nominal=nominal)
        result = OptimalTreeSearch(max_depth=2, engine="tests", binarizer=binarizer).run(data)
        assert result.tests == binarizer.tests(data)
        assert pickle.loads(pickle.dumps(result)).tests == result.tests


def test_gains_that_are_equal_but_for_rounding_do_not_hide_a_perfect_split():
    """Beside masses of 5 10^16 the logarithms of 1 and 2 are rounded to the same number."""
    few = {"level": ["a"] * 3, "x": [23.0, 18.0, 7.0], "z": [0.0, -1.0, 7.0], "y": [1, 0, 1], "w": [1.0, 0.5, 1.0]}
    many = {"level": ["b"] * 20, "x": [0.0] * 20, "z": [0.0] * 20, "y": [0] * 20, "w": [5e16] * 20}
    table = {name: few[name] + many[name] for name in few}
    tree = GreedyTreeSearch().run(Dataset(table, "y", weight="w")).tree
    assert [[str(condition) for condition in rule.conditions] for rule in tree.rules()] == [
        ["level is a", "z <= -0.5"],
        ["level is a", "z > -0.5"],
        ["level is b"],
    ]
