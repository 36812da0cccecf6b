"""OptimalTreeSearch from Python: parameters, outcomes, and trees that mean what they say."""

import copy
import inspect
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

import lattree
import oracle
from helpers import ALL, train
from lattree import Binarizer, DataError, Dataset, OptimalTreeSearch, ParameterError, datasets

STATUSES = {"optimal", "time_limit", "node_limit", "memory_limit", "interrupted"}


@pytest.fixture(scope="module")
def endless():
    """A table whose proof takes hours at depth 4."""
    rng = np.random.default_rng(0)
    return Dataset.from_arrays(rng.normal(size=(2000, 10)), np.arange(2000) % 2)


class TestParameters:
    @pytest.mark.parametrize(
        ("name", "value", "accepted", "given"),
        [
            ("max_depth", -1, "from 0 to 20", "-1"),
            ("max_depth", 21, "from 0 to 20", "21"),
            ("max_nodes", -1, "at least 0", "-1"),
            ("min_leaf", 0, "at least 1", "0"),
            ("objective", "gini", '"errors"', '"gini"'),
            ("node_penalty", -0.5, "finite and not negative", "-0.5"),
            ("node_penalty", float("nan"), "finite and not negative", "NaN"),
            ("node_penalty", float("inf"), "finite and not negative", "inf"),
            ("rank", "nodes", "objective", "nodes"),
            ("rank", (), "objective", '""'),
            ("rank", ("nodes", "objective"), "objective", "nodes"),
            ("unseen", "ignore", '"majority", "missing", "error"', '"ignore"'),
            ("time_limit", -1, "not negative", "-1"),
            ("time_limit", float("nan"), "finite", "NaN"),
            ("time_limit", float("inf"), "finite number of seconds, not negative, or None", "inf"),
            ("node_limit", -1, "at least 0", "-1"),
            ("memory_limit", -1, "at least 0", "-1"),
            ("engine", "rows", 'one of "auto", "tests", "continuous"', "rows"),
            ("discrepancies", -1, "at least 0", "-1"),
            ("discrepancies", 101, "from 0 to 100", "101"),
            ("effort", "both", 'one of "proof", "tree"', "both"),
            ("seed", -1, "from 0 to", "-1"),
            ("seed", 2**64, "from 0 to", str(2**64)),
            ("threads", 0, "at least 1", "0"),
            ("threads", 1025, "from 1 to 1024", "1025"),
        ],
    )
    def test_out_of_range(self, name, value, accepted, given):
        with pytest.raises(ParameterError, match=f"`{name}` must be .*{accepted}.*, got .*{given}"):
            OptimalTreeSearch(**{name: value})
        with pytest.raises(ValueError):
            OptimalTreeSearch(**{name: value})

    def test_a_depth_beyond_32_bits_is_out_of_range(self):
        with pytest.raises(ParameterError, match="max_depth"):
            OptimalTreeSearch(max_depth=2**32 + 3)

    @pytest.mark.parametrize(
        "parameters",
        [
            {"max_depth": 2.0},
            {"max_depth": None},
            {"max_nodes": "3"},
            {"objective": None},
            {"node_penalty": "1"},
            {"rank": 3},
            {"binarizer": "all"},
            {"engine": None},
            {"threads": 1.5},
            {"no_such_parameter": 1},
        ],
    )
    def test_wrong_type(self, parameters):
        with pytest.raises(TypeError):
            OptimalTreeSearch(**parameters)

    def test_keywords_only(self):
        with pytest.raises(TypeError, match="positional"):
            OptimalTreeSearch(3)
        with pytest.raises(TypeError, match="positional"):
            Binarizer("all")

    @pytest.mark.parametrize(
        ("parameters", "accepted"),
        [
            (
                {"thresholds": "some"},
                '`thresholds` must be one of "auto", "all", "exact", "quantile", "mdlp", got "some"',
            ),
            ({"max_tests": 0}, "`max_tests` must be at least 1, got 0"),
            ({"max_thresholds": 0}, "`max_thresholds` must be at least 1, or None, got 0"),
            ({"max_thresholds": 3, "thresholds": "all"}, "`max_thresholds` must be None where"),
            ({"max_thresholds": 3, "thresholds": "mdlp"}, "`max_thresholds` must be None where"),
            ({"nominal": "each"}, '`nominal` must be one of "one_vs_rest", "subsets", got "each"'),
            ({"missing": "own"}, '`missing` must be one of "own_test", "fails", got "own"'),
        ],
    )
    def test_binarizer(self, parameters, accepted):
        with pytest.raises(ParameterError, match=accepted):
            Binarizer(**parameters)

    @pytest.mark.parametrize("made", [OptimalTreeSearch(), Binarizer()], ids=["OptimalTreeSearch", "Binarizer"])
    def test_defaults_of_the_signature_are_those_in_use(self, made):
        signature = inspect.signature(type(made))
        assert len(signature.parameters) > 4
        for name, parameter in signature.parameters.items():
            assert parameter.kind is parameter.KEYWORD_ONLY
            expected = {"binarizer": Binarizer(), "rank": ("objective", "nodes")}.get(name, parameter.default)
            value = getattr(made, name)
            assert value == expected, name
            assert type(value) is type(expected), name

    def test_what_is_given_is_kept(self):
        given = {
            "max_depth": 3,
            "max_nodes": 5,
            "min_leaf": 7,
            "objective": "errors",
            "node_penalty": 0.25,
            "rank": ("objective",),
            "binarizer": Binarizer(thresholds="quantile", max_thresholds=3, nominal="subsets", missing="fails"),
            "engine": "tests",
            "unseen": "error",
            "time_limit": 1.5,
            "node_limit": 100,
            "memory_limit": 10**9,
            "threads": 2,
        }
        search = OptimalTreeSearch(**given)
        for same in (search, pickle.loads(pickle.dumps(search)), copy.deepcopy(search), copy.copy(search)):
            assert {name: getattr(same, name) for name in given} == given
            assert repr(same) == repr(search)
        assert eval(repr(search), vars(lattree)).binarizer == given["binarizer"]
        assert OptimalTreeSearch(rank="objective").rank == ("objective",)
        assert OptimalTreeSearch(max_depth=np.int64(2), node_penalty=np.float32(0.5)).node_penalty == 0.5
        with pytest.raises(AttributeError):
            search.max_depth = 4

    def test_equal_binarizers_are_one_key(self):
        one, same = Binarizer(max_tests=9), Binarizer(max_tests=9)
        assert one == same
        assert {one: 1}[same] == 1
        assert one != Binarizer()
        assert pickle.loads(pickle.dumps(one)) == one

    def test_of_run_are_checked_before_any_work(self, endless):
        search = OptimalTreeSearch()  # would take hours
        with pytest.raises(ParameterError, match='`on_interrupt` must be one of "raise", "return", got "ignore"'):
            search.run(endless, on_interrupt="ignore")
        for wrong in (None, 3, datasets.load_frame("iris"), endless.schema):
            with pytest.raises(TypeError):
                search.run(wrong)

    def test_progress_must_be_callable(self):
        with pytest.raises(TypeError):
            OptimalTreeSearch(max_depth=1).run(datasets.load("iris"), progress=3)


class TestTarget:
    def test_absent(self):
        with pytest.raises(DataError, match="needs classes, but the target is absent"):
            OptimalTreeSearch().run(Dataset({"x": [1, 2]}))

    def test_numbers(self):
        with pytest.raises(DataError, match=r"needs classes, but the target is numbers \(cast that column"):
            OptimalTreeSearch().run(Dataset({"x": [1, 2]}, [0.5, 1.5]))
        with pytest.raises(DataError, match="needs classes"):
            OptimalTreeSearch().run(Dataset({"x": [1, 2]}, [0, 1], task="numbers"))
        with pytest.raises(DataError, match=r"mdlp.* needs classes"):
            Binarizer(thresholds="mdlp").tests(Dataset({"x": [1, 2]}))

    @pytest.mark.parametrize("labels", [["n", "y"], [3, 10], [False, True], [0.0, 1.0], [-(2**62), 2**62]])
    def test_values_and_dtype_come_back(self, labels):
        target = pl.Series("y", [labels[0], labels[1], labels[1]])
        data = Dataset({"x": [1, 2, 3]}, target)
        tree = OptimalTreeSearch().run(data).tree
        assert tree.predict(data).equals(target)
        assert tree.predict(data).name == "y"
        assert tree.schema.classes == labels
        assert [type(rule.prediction) for rule in tree.rules()] == [type(labels[0])] * 2
        assert tree.predict_proba(data).rows() == [(1, 0), (0, 1), (0, 1)]


class TestRuns:
    def test_twice_the_same(self):
        search, data = OptimalTreeSearch(max_depth=3), datasets.load("vote")
        one, two = search.run(data), search.run(data)
        assert (one.tree, one.objective, one.tests) == (two.tree, two.objective, two.tests)
        assert one.tree.to_json() == two.tree.to_json()

    def test_several_threads_at_once(self):
        search = OptimalTreeSearch(max_depth=2, threads=2)
        tables = [datasets.load(name) for name in ("anneal", "iris", "vote", "soybean")] * 4
        alone = [search.run(data).tree for data in tables[:4]] * 4
        with ThreadPoolExecutor(8) as pool:
            results = list(pool.map(search.run, tables))
        assert [result.tree for result in results] == alone
        assert {result.status for result in results} == {"optimal"}

    def test_cancel_from_another_thread(self, endless, errors):
        search = OptimalTreeSearch(max_depth=4, threads=2)
        timer = threading.Timer(0.4, search.cancel)
        timer.start()
        result = search.run(endless)
        timer.join()
        assert result.status == "interrupted"
        assert 0 <= result.lower_bound <= result.objective == errors(endless, result.tree)
        assert 0 < result.gap <= 1
        assert search.run(datasets.load("iris")).status == "optimal", "a cancelled search can be used again"

    def test_cancel_stops_all_runs_under_way(self, endless):
        search = OptimalTreeSearch(max_depth=4, threads=1)
        search.cancel()  # nothing to stop; not remembered
        with ThreadPoolExecutor(3) as pool:
            runs = [pool.submit(search.run, endless) for _ in range(3)]
            time.sleep(0.4)
            assert not any(run.done() for run in runs)
            search.cancel()
            assert [run.result(timeout=30).status for run in runs] == ["interrupted"] * 3

    def test_progress(self, endless):
        seen, callers = [], set()

        def progress(report):
            seen.append(report)
            callers.add(threading.get_ident())

        result = OptimalTreeSearch(max_depth=5, time_limit=1.2, threads=1).run(endless, progress=progress)
        assert callers == {threading.get_ident()}
        assert 3 <= len(seen) <= 13
        for before, after in pairwise(seen):
            assert before.seconds < after.seconds
            assert before.nodes <= after.nodes
            assert before.lower_bound <= after.lower_bound
            assert before.objective is None or before.objective >= after.objective
        last = seen[-1]
        assert result.lower_bound >= last.lower_bound
        assert result.objective <= last.objective
        assert last.gap == pytest.approx((last.objective - last.lower_bound) / last.objective)
        assert str(last.objective).removesuffix(".0") in repr(last)

    @pytest.mark.parametrize("error", [ZeroDivisionError("mine"), KeyboardInterrupt("mine"), SystemExit(3)])
    def test_what_progress_raises_stops_the_search(self, endless, error):
        calls = []

        def progress(report):
            calls.append(report)
            if len(calls) == 2:
                raise error

        with pytest.raises(type(error)) as raised:
            OptimalTreeSearch(max_depth=4).run(endless, progress=progress)
        # An interrupt is one of the search, which has found something.
        assert raised.value is error or raised.value.__cause__ is error
        assert len(calls) == 2, "not called again"

    def test_progress_may_use_the_search_and_other_data(self, endless):
        search = OptimalTreeSearch(max_depth=4)
        inner = []

        def progress(report):
            inner.append(OptimalTreeSearch(max_depth=2).run(datasets.load("iris")).objective)
            search.cancel()

        assert search.run(endless, progress=progress).status == "interrupted"
        assert inner
        assert set(inner) == {6.0}

    def test_trace_is_monotone(self, endless, errors):
        result = OptimalTreeSearch(max_depth=5, time_limit=1.0).run(endless)
        assert result.status == "time_limit"
        self.check_trace(result)
        for name in ("iris", "anneal", "soybean"):
            self.check_trace(OptimalTreeSearch(max_depth=3).run(datasets.load(name)))

    @staticmethod
    def check_trace(result):
        seconds, objectives, bounds = zip(*result.trace, strict=True)
        assert list(seconds) == sorted(seconds)
        assert list(objectives) == sorted(objectives, reverse=True)
        assert list(bounds) == sorted(bounds)
        assert all(bound <= objective for _, objective, bound in result.trace)
        assert (objectives[-1], bounds[-1]) == (result.objective, result.lower_bound)
        assert 0 <= seconds[0] <= seconds[-1] <= result.seconds

    def test_results_pickle_and_copy(self):
        data = datasets.load("anneal")
        result = OptimalTreeSearch(max_depth=2).run(data)
        fields = [name for name in dir(result) if not name.startswith("_")]
        assert {"tree", "objective", "tests", "trace", "stats", "status", "gap"} <= set(fields)
        for same in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result), copy.copy(result)):
            assert {name: getattr(same, name) for name in fields} == {name: getattr(result, name) for name in fields}
            assert same.tree.predict(data).equals(result.tree.predict(data))
            assert repr(same) == repr(result)
        again = pickle.loads(pickle.dumps(data))
        assert again.to_polars().equals(data.to_polars(), null_equal=True)
        assert again.schema == data.schema


class TestLimits:
    @pytest.mark.parametrize("share", [0, 0.01, 0.2, 0.9])
    def test_node_limit(self, share, errors):
        data = datasets.load("anneal")
        needed = OptimalTreeSearch(max_depth=3, threads=1).run(data).stats["nodes"]
        limit = int(share * needed)
        search = OptimalTreeSearch(max_depth=3, node_limit=limit, threads=1)
        result, again = search.run(data), search.run(data)
        assert result.status == "node_limit"
        assert result.lower_bound <= 20 <= result.objective == errors(data, result.tree)
        assert (result.tree, result.lower_bound) == (again.tree, again.lower_bound), "repeatable with one thread"
        assert OptimalTreeSearch(max_depth=3, node_limit=10**6).run(data).status == "optimal"

    @pytest.mark.parametrize("limit", [0, 1, 10**3, 10**4, 10**5, 10**6, 10**7, 10**8])
    @pytest.mark.parametrize("name", ["anneal", "soybean"])
    def test_memory_limit(self, limit, name, errors):
        data = datasets.load(name)
        exact = OptimalTreeSearch(max_depth=3).run(data)
        seconds = 0.5 if limit < 10**7 else None  # little memory, much work
        result = OptimalTreeSearch(max_depth=3, memory_limit=limit, time_limit=seconds).run(data)
        assert result.objective == errors(data, result.tree)
        assert result.lower_bound <= exact.objective <= result.objective
        if result.status == "optimal":
            assert result.tree == exact.tree
        else:
            assert result.status in ("memory_limit", "time_limit")
        if limit < 10**4:
            assert result.status == "memory_limit"
        if limit >= 10**7:
            assert result.status == "optimal", "a full cache is no reason to stop"

    @pytest.mark.parametrize("limits", [{"time_limit": 0}, {"memory_limit": 0}])
    def test_a_leaf_is_the_least_that_comes_back(self, limits):
        data = datasets.load("iris")
        result = OptimalTreeSearch(**limits).run(data)
        assert result.status == f"{next(iter(limits))}"
        assert (result.lower_bound, result.gap) == (0, 1)
        # A greedy tree takes less than the moment that may pass after the end of the time, but it takes memory.
        assert (result.objective == 100) == ("memory_limit" in limits)
        assert result.objective == (result.tree.predict(data) != data.target).sum()


MODES = [
    Binarizer(thresholds=thresholds, nominal=nominal, missing=missing, max_thresholds=most)
    for thresholds, most in [("auto", None), ("auto", 2), ("all", None), ("quantile", 3), ("mdlp", None)]
    for nominal in ["one_vs_rest", "subsets"]
    for missing in ["own_test", "fails"]
]


@pytest.mark.parametrize("binarizer", MODES, ids=str)
@pytest.mark.parametrize("name", ["anneal", "iris", "restaurant", "soybean", "titanic", "vote", "weather"])
def test_the_objective_is_what_the_tree_gets_wrong(name, binarizer, errors):
    data = datasets.load(name)
    result = OptimalTreeSearch(max_depth=2, binarizer=binarizer).run(data)
    assert result.status == "optimal"
    assert result.objective == result.lower_bound == errors(data, result.tree)
    assert sum(rule.errors for rule in result.tree.rules()) == result.objective
    assert sum(rule.mass for rule in result.tree.rules()) == data.n_rows
    assert result.tests == binarizer.tests(data)
    assert len(set(result.tests)) == len(result.tests)
    if binarizer.nominal == "one_vs_rest":  # with subsets, `in` all levels comes first and says the same
        own = binarizer.missing == "own_test" and name in ("anneal", "soybean", "vote")
        assert any(test.endswith(" is missing") for test in result.tests) == own
    if binarizer.thresholds == "all":
        assert result.exact_thresholds


@pytest.mark.parametrize("name", ["hypothyroid", "ionosphere", "kr-vs-kp"])
@pytest.mark.parametrize("limits", [{"max_nodes": 2}, {"min_leaf": 40}, {"node_penalty": 3.5}])
def test_the_objective_is_what_the_tree_gets_wrong_under_limits(name, limits, errors):
    data = datasets.load(name)
    binarizer = Binarizer(thresholds="quantile", max_thresholds=4)
    result = OptimalTreeSearch(max_depth=3, binarizer=binarizer, **limits).run(data)
    assert result.status == "optimal"
    penalty = limits.get("node_penalty", 0) * result.tree.n_nodes
    assert result.objective == errors(data, result.tree) + penalty
    assert result.tree.n_nodes <= limits.get("max_nodes", 7)
    assert min(rule.mass for rule in result.tree.rules()) >= limits.get("min_leaf", 1)


class TestAgainstBruteForce:
    """Python's tests of a column are those of an independent list, and the best tree over them is found."""

    def offered(self, frame, subsets, own):
        tests = []
        for name in ("length", "age", "since", "size"):
            tests += oracle.ordered_tests(frame[name].to_physical().to_list())
        for name in ("color", "member"):
            tests += oracle.level_tests(frame[name].to_list(), subsets)
        for name in frame.columns[:-1] if own else ():
            tests += oracle.missing_test(frame[name].to_list())
        return tests

    @pytest.mark.parametrize("missing", ["own_test", "fails"])
    @pytest.mark.parametrize("nominal", ["one_vs_rest", "subsets"])
    @pytest.mark.parametrize("part", range(3))
    def test_every_kind_of_column(self, mixed, nominal, missing, part, errors):
        frame = mixed.slice(40 * part, 40)
        data = Dataset(frame, "y")
        binarizer = Binarizer(thresholds="all", nominal=nominal, missing=missing)
        result = OptimalTreeSearch(max_depth=2, binarizer=binarizer).run(data)
        tests = self.offered(frame, nominal == "subsets", missing == "own_test")
        labels = frame["y"].to_list()
        assert result.objective == oracle.least_cost(tests, labels, 2) == errors(data, result.tree)
        every = (1 << len(frame)) - 1
        distinct = {min(test, every & ~test) for test in tests} - {0}
        assert len(result.tests) == len(distinct), "constant, equal and complementary tests are offered once"

    def test_counts_weights_min_leaf_and_penalty(self, mixed, errors):
        frame = mixed.head(40)
        rng = np.random.default_rng(3)
        counts, weight = rng.integers(0, 4, 40), rng.choice([0.5, 1.25, 3.0], 40)
        data = Dataset(frame, "y", counts=counts, weight=weight)
        result = OptimalTreeSearch(max_depth=2, binarizer=ALL, min_leaf=9, node_penalty=1.5).run(data)
        tests = self.offered(frame, False, True)
        labels = frame["y"].to_list()
        least = oracle.least_cost(tests, labels, 2, min_leaf=9, penalty=1.5, counts=counts, weight=weight)
        assert result.objective == least == errors(data, result.tree) + 1.5 * result.tree.n_nodes
        assert result.resolution == 0.25


class TestSmallAndLarge:
    @pytest.mark.parametrize("limits", [{"max_nodes": 0}, {"max_depth": 0}, {"max_depth": 0, "max_nodes": 5}])
    def test_no_split_allowed(self, limits, errors):
        data = datasets.load("vote")
        result = OptimalTreeSearch(**limits).run(data)
        assert result.status == "optimal"
        assert (result.tree.n_nodes, result.tree.depth, result.tree.features) == (0, 0, [])
        assert result.objective == result.lower_bound == errors(data, result.tree) == 168

    def test_one_node_is_the_best_stump(self):
        data = datasets.load("vote")
        stump = OptimalTreeSearch(max_depth=1).run(data)
        for depth in (1, 2, 20):
            assert OptimalTreeSearch(max_depth=depth, max_nodes=1).run(data).tree == stump.tree

    def test_great_depth_on_few_rows(self, errors):
        data = datasets.load("restaurant")
        shallow = OptimalTreeSearch(max_depth=3).run(data)
        deep = OptimalTreeSearch(max_depth=20, time_limit=20).run(data)
        assert (deep.status, deep.objective, errors(data, deep.tree)) == ("optimal", 0, 0)
        assert shallow.objective == 0
        assert deep.tree.n_nodes <= 11, "at most one leaf per row"

    def test_more_depth_or_nodes_never_cost_more(self):
        data = datasets.load("soybean")
        by_depth = [OptimalTreeSearch(max_depth=depth).run(data).objective for depth in range(4)]
        by_nodes = [OptimalTreeSearch(max_depth=3, max_nodes=nodes).run(data).objective for nodes in range(8)]
        assert by_depth == sorted(by_depth, reverse=True)
        assert by_nodes == sorted(by_nodes, reverse=True)
        assert (by_nodes[0], by_nodes[7]) == (by_depth[0], by_depth[3])

    def test_a_class_per_row(self):
        n = 300
        result = train({"x": range(n), "y": range(n)}, max_depth=2)
        assert result.objective == n - 4
        assert len(result.tree.schema.classes) == n


def test_rank_by_nodes_finds_the_smallest_of_the_best_trees():
    data = datasets.load("iris")
    best = OptimalTreeSearch(max_depth=4, rank="objective").run(data)
    ranked = OptimalTreeSearch(max_depth=4).run(data)
    assert ranked.status == "optimal"
    assert ranked.objective == best.objective
    assert ranked.tree.n_nodes <= best.tree.n_nodes
    fewer = OptimalTreeSearch(max_depth=4, max_nodes=ranked.tree.n_nodes - 1).run(data)
    assert fewer.objective > best.objective
    same = OptimalTreeSearch(max_depth=4, max_nodes=ranked.tree.n_nodes).run(data)
    assert same.tree == ranked.tree


@pytest.mark.parametrize(("name", "n_nodes"), [("restaurant", 4), ("iris", 7)])
def test_fault_r_the_smallest_of_the_optimal_trees_is_the_default(name, n_nodes):
    data = datasets.load(name)
    smallest = OptimalTreeSearch(max_depth=4).run(data)
    fastest = OptimalTreeSearch(max_depth=4, rank="objective").run(data)
    assert (smallest.status, smallest.objective) == ("optimal", fastest.objective)
    assert smallest.tree.n_nodes == n_nodes < fastest.tree.n_nodes
    fewer = OptimalTreeSearch(max_depth=4, max_nodes=n_nodes - 1, rank="objective").run(data)
    assert fewer.objective > smallest.objective
