"""DistinctTreeSearch from Python: the trees are those of all subsets, and iteration costs what is asked for."""

import contextlib
import copy
import gc
import pickle
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from helpers import CRITERIA, NOMINAL_SPLITS, subsets, text
from lattree import Dataset, DistinctCounts, DistinctTree, DistinctTreeSearch, GreedyTreeSearch, datasets
from test_limits import PATIENCE, POSIX, USABLE, interrupt
from test_processes import FORK, forked

ORDERS = ("frontier", "frontier_cases", "reverse", "fixed")


@pytest.fixture(scope="module")
def noise():
    """A table with far more trees than anyone can wait for."""
    rng = np.random.default_rng(0)
    return Dataset.from_arrays(rng.normal(size=(300, 30)), rng.integers(0, 2, 300))


def of_all_subsets(data, **parameters):
    """The distinct trees by brute force: how many use each set of features, and their words."""
    grown = [GreedyTreeSearch(**parameters).run(data.select(s)).tree for s in subsets(data)]
    return {tuple(tree.features): text(tree) for tree in grown}


def listed(data, **parameters):
    trees = list(DistinctTreeSearch(**parameters).run(data))
    found = {tree.features: text(tree.tree) for tree in trees}
    assert len(found) == len(trees), "each once"
    return found


def random_table(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 60))
    columns = {
        "a": rng.integers(0, 3, n).astype(float),
        "b": rng.normal(size=n).round(1),
        "c": np.array(["r", "g", "b"])[rng.integers(0, 3, n)].astype(object),
        "d": np.array(["x", "y"])[rng.integers(0, 2, n)].astype(object),
        "e": rng.integers(0, 2, n).astype(float),
    }
    for values in columns.values():
        values[rng.random(n) < 0.1] = None
    return Dataset({name: values.tolist() for name, values in columns.items()}, rng.integers(0, 3, n).tolist())


class TestTrees:
    @pytest.mark.parametrize("name", ["weather", "titanic", "iris"])
    def test_of_all_subsets_each_once(self, name):
        data = datasets.load(name)
        assert listed(data) == of_all_subsets(data)

    @pytest.mark.parametrize("seed", range(12))
    def test_of_random_tables(self, seed):
        data = random_table(seed)
        parameters = {
            "criterion": CRITERIA[seed % 4],
            "nominal_splits": NOMINAL_SPLITS[seed % 3],
            "missing": ("fractional", "mean", "class_mean", "level")[seed // 3],
            "min_cases": (2, 5)[seed % 2],
        }
        expected = of_all_subsets(data, **parameters)
        for order in ORDERS:
            assert listed(data, order=order, **parameters) == expected

    def test_with_weights_costs_and_repetitions(self):
        data = datasets.load("weather")
        costs = [[0, 2], [1, 0]]
        parameters = {"costs": costs, "class_weight": {"no": 1.5}, "criterion": "gini"}
        assert listed(data, **parameters) == of_all_subsets(data, **parameters)
        repeated = Dataset(datasets.load_frame("weather"), "class", counts=list(range(1, 15)))
        assert listed(repeated) == of_all_subsets(repeated)

    def test_required_and_candidates(self):
        data = random_table(1)
        of_all = of_all_subsets(data)
        assert listed(data, required="b") == {s: t for s, t in of_all.items() if "b" in s}
        assert listed(data, required=["a", "c"]) == {s: t for s, t in of_all.items() if {"a", "c"} <= set(s)}
        assert listed(data, candidates=["b", "c", "d"]) == of_all_subsets(data.select(["b", "c", "d"]))
        assert listed(data, candidates=[]) == of_all_subsets(data.select([]))
        some = listed(data, required=["e"], candidates=["a", "b"])
        assert some == {s: t for s, t in of_all_subsets(data.select(["a", "b", "e"])).items() if "e" in s}

    def test_the_order_does_not_depend_on_threads(self):
        rng = np.random.default_rng(5)
        data = Dataset.from_arrays(rng.normal(size=(40, 13)).round(1), rng.integers(0, 3, 40))
        for order in ORDERS:
            first, *others = (
                [(tree.features, hash(tree.tree)) for tree in DistinctTreeSearch(order=order, threads=n).run(data)]
                for n in (1, 2, 4)
            )
            assert len(first) > 100
            assert all(other == first for other in others)
        unordered = [tree.features for tree in DistinctTreeSearch(ordered=False, threads=2).run(data)]
        assert Counter(unordered) == Counter(features for features, _ in first)

    def test_the_first_tree_is_that_of_all_features(self):
        data = datasets.load("weather")
        first = next(DistinctTreeSearch().run(data))
        assert text(first.tree) == text(GreedyTreeSearch().run(data).tree)
        assert first.features == tuple(first.tree.features)
        assert first.tree is first.tree
        assert repr(first) == f"DistinctTree: features {first.features!r}\n{first.tree.to_text(max_depth=5)}"
        assert first.tree.predict(data).len() == 14

    def test_pickle_and_copy(self):
        for tree in DistinctTreeSearch().run(datasets.load("weather")):
            for same in (pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree), copy.copy(tree)):
                assert isinstance(same, DistinctTree)
                assert (same.features, same.tree, repr(same)) == (tree.features, tree.tree, repr(tree))


class TestCounts:
    @pytest.mark.parametrize("order", ORDERS)
    def test_are_those_of_the_iteration(self, order):
        for data in (datasets.load("iris"), datasets.load("weather"), random_table(3)):
            search = DistinctTreeSearch(order=order)
            trees = search.run(data)
            sizes = Counter(len(tree.features) for tree in trees)
            for counts in (trees.counts, search.count(data)):
                assert counts.distinct == sum(sizes.values())
                assert counts.built >= counts.distinct
                assert counts.overhead == counts.built / counts.distinct
                assert {size: n for size, n in enumerate(counts.by_size) if n} == sizes
                assert (counts.status, trees.status) == ("complete", "complete")
                assert counts.seconds > 0

    def test_pickle_and_repr(self):
        counts = DistinctTreeSearch().count(datasets.load("weather"))
        for same in (pickle.loads(pickle.dumps(counts)), copy.deepcopy(counts)):
            assert isinstance(same, DistinctCounts)
            assert same == counts
        assert repr(counts).startswith(f"DistinctCounts: complete, {counts.distinct} distinct of {counts.built} built")

    def test_of_no_trees(self):
        data = Dataset({"x": [1, 2, 3, 4], "same": [1, 1, 1, 1]}, ["a", "a", "b", "b"])
        counts = DistinctTreeSearch(required="same").count(data)
        assert (counts.distinct, counts.overhead, sum(counts.by_size)) == (0, None, 0)
        assert list(DistinctTreeSearch(required="same").run(data)) == []


def settled(trees):
    """The number of trees listed once it no longer grows."""
    end = time.monotonic() + PATIENCE
    before = -1
    while (now := trees.counts.distinct) != before and time.monotonic() < end:
        before = now
        time.sleep(0.3)
    return now


def names_of_threads():
    found = []
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # it has just ended
            found.append((task / "comm").read_text().strip())
    return found


class TestIteration:
    def test_a_stop_is_early(self, noise):
        start = time.perf_counter()
        seen = []
        with DistinctTreeSearch().run(noise) as trees:
            assert trees.status is None
            for tree in trees:
                seen.append(tree)
                if len(seen) == 3000:
                    break
            assert trees.counts.status is None
            assert "running" in repr(trees)
        assert len({tree.features for tree in seen}) == 3000
        assert (trees.status, trees.counts.status, next(trees, None)) == ("interrupted", "interrupted", None)
        assert trees.counts.distinct >= 3000
        assert time.perf_counter() - start < PATIENCE
        trees.close()
        assert seen[0].tree.n_leaves > 1, "trees outlive their iterator"

    def test_nothing_is_ahead_without_bound(self, noise):
        with DistinctTreeSearch().run(noise) as trees:
            next(trees)
            waiting = settled(trees)
            assert waiting < 20_000
            for _ in range(waiting):
                next(trees)
            assert settled(trees) > waiting

    @pytest.mark.skipif(sys.platform != "linux", reason="looks for threads in /proc")
    def test_the_last_reference_ends_it(self, noise):
        trees = DistinctTreeSearch().run(noise)
        next(trees)
        assert "distinct trees" in names_of_threads()
        del trees
        gc.collect()
        assert "distinct trees" not in names_of_threads()

    def test_an_exception_ends_it(self, noise):
        trees = DistinctTreeSearch().run(noise)
        with pytest.raises(ZeroDivisionError), trees:
            raise ZeroDivisionError
        assert trees.status == "interrupted"

    def test_closed_with_trees_left(self):
        data = datasets.load("weather")
        trees = DistinctTreeSearch().run(data)
        next(trees)
        settled(trees)
        assert trees.status is None, "there are trees to take"
        trees.close()
        assert trees.status == "interrupted"
        with DistinctTreeSearch().run(data) as trees:
            assert len(list(trees)) == len(of_all_subsets(data))
        assert trees.status == "complete"

    def test_a_time_limit_ends_it(self, noise):
        start = time.perf_counter()
        trees = DistinctTreeSearch(time_limit=0.5).run(noise)
        n = sum(1 for _ in trees)
        assert time.perf_counter() - start < PATIENCE
        assert (trees.status, trees.counts.distinct) == ("time_limit", n)
        assert n == sum(trees.counts.by_size) > 0

    def test_a_time_limit_while_nobody_takes_trees(self, noise):
        trees = DistinctTreeSearch(time_limit=0.5).run(noise)
        time.sleep(1)
        n = sum(1 for _ in trees)
        assert 0 < n < 20_000
        assert trees.status == "time_limit"

    def test_cancel_ends_it(self, noise):
        search = DistinctTreeSearch()
        trees = search.run(noise)
        timer = threading.Timer(0.3, search.cancel)
        timer.start()
        n = sum(1 for _ in trees)
        timer.join()
        assert n > 0
        assert trees.status == "interrupted"

    def test_threads_may_share_it(self, noise):
        data = Dataset.from_arrays(noise.to_polars().head(40).drop("target").to_numpy()[:, :12], [0, 1] * 20)
        trees = DistinctTreeSearch().run(data)
        taken = []
        takers = [threading.Thread(target=lambda: taken.extend(tree.features for tree in trees)) for _ in range(4)]
        for taker in takers:
            taker.start()
        for taker in takers:
            taker.join(PATIENCE)
        assert Counter(taken) == Counter(tree.features for tree in DistinctTreeSearch().run(data))

    def test_two_at_once(self):
        search = DistinctTreeSearch()
        pairs = zip(search.run(datasets.load("weather")), search.run(datasets.load("weather")), strict=True)
        assert all(one.features == other.features for one, other in pairs)

    @FORK
    @pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
    def test_a_forked_child_has_no_thread_for_it(self, noise):
        trees = DistinctTreeSearch().run(noise)
        next(trees)
        settled(trees)

        def take_all():
            try:
                for _ in trees:
                    pass
            except RuntimeError as error:
                return str(error)

        assert "forked" in forked(take_all)
        assert next(trees).features
        trees.close()

    @POSIX
    @pytest.mark.parametrize("threads", [1, 2])
    def test_ctrl_c_while_it_waits(self, threads):
        """No tree uses the constant column that is required, so there is none to come."""
        said, error = interrupt(
            """
            X = rng.normal(size=(600, 30))
            X[:, 29] = 0
            data = Dataset.from_arrays(X, rng.integers(0, 2, 600))
            trees = lattree.DistinctTreeSearch(required="x29", threads=threads, time_limit=30).run(data)
            say("ready")
            try:
                next(trees)
            except KeyboardInterrupt:
                say("raised", trees.status)
            usable(before)
            """,
            threads=threads,
        )
        assert [line for line, _ in said] == ["raised interrupted", USABLE]
        assert said[0][1] < PATIENCE
        assert error == ""

    @POSIX
    def test_ctrl_c_while_trees_come(self):
        said, error = interrupt(
            """
            data = Dataset.from_arrays(rng.normal(size=(600, 30)), rng.integers(0, 2, 600))
            trees = lattree.DistinctTreeSearch().run(data)
            next(trees)
            say("ready")
            try:
                with trees:
                    for tree in trees:
                        pass
            except KeyboardInterrupt:
                say("raised", trees.status)
            usable(before)
            """
        )
        assert [line for line, _ in said] == ["raised interrupted", USABLE]
        assert error == ""
