"""The two engines of the exact search: which one does the work, and that a proof does not depend on it.

What all thresholds come to is known without a search where the label was made of one threshold of thousands.
"""

import copy
import datetime as dt
import itertools
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

from helpers import ALL
from lattree import Binarizer, Dataset, OptimalTreeSearch, ParameterError, datasets

ENGINES = ("tests", "continuous")


def continuous(data, **parameters):
    return OptimalTreeSearch(engine="continuous", **parameters).run(data)


def both(data, **parameters):
    """What each engine finds, all thresholds offered."""
    return [OptimalTreeSearch(**({"engine": engine, "binarizer": ALL} | parameters)).run(data) for engine in ENGINES]


def assert_same_proof(data, **parameters):
    tests, whole = both(data, **parameters)
    assert tests.status == whole.status == "optimal"
    assert tests.exact_thresholds
    assert whole.exact_thresholds
    assert whole.objective == whole.lower_bound == tests.objective
    assert whole.tree == tests.tree
    return whole


@pytest.fixture(scope="module")
def planted():
    """5000 rows, all values distinct, and a label that only one tree of depth two gets right, by exact thresholds."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(5000, 3))
    y = (X[:, 0] <= 0.25) ^ (X[:, 2] <= -0.5)
    return X, y


@pytest.fixture(scope="module")
def noisy():
    """500 rows of six floats and labels by chance: depth 5 takes hours."""
    rng = np.random.default_rng(6)
    return Dataset.from_arrays(rng.normal(size=(500, 6)), rng.integers(0, 2, 500))


class TestOption:
    def test_kept_by_repr_pickle_and_copy(self):
        assert OptimalTreeSearch().engine == "auto"
        for engine in ("auto", *ENGINES):
            search = OptimalTreeSearch(engine=engine)
            for same in (search, pickle.loads(pickle.dumps(search)), copy.deepcopy(search)):
                assert same.engine == engine
                assert f"engine='{engine}'" in repr(same)

    @pytest.mark.parametrize("wrong", ["", "Tests", "exact", "contree"])
    def test_wrong_name(self, wrong):
        accepted = f'`engine` must be one of "auto", "tests", "continuous", got "{wrong}"'
        with pytest.raises(ParameterError, match=accepted):
            OptimalTreeSearch(engine=wrong)

    @pytest.mark.parametrize(
        "binarizer",
        [
            Binarizer(thresholds="quantile"),
            Binarizer(thresholds="quantile", max_thresholds=3),
            Binarizer(thresholds="mdlp"),
            Binarizer(max_thresholds=3),
        ],
        ids=str,
    )
    def test_thinned_thresholds_are_not_for_the_continuous_engine(self, binarizer):
        with pytest.raises(ParameterError, match="`engine` must be "):
            OptimalTreeSearch(engine="continuous", binarizer=binarizer)
        for engine in ("auto", "tests"):
            result = OptimalTreeSearch(max_depth=1, engine=engine, binarizer=binarizer).run(datasets.load("iris"))
            assert result.tests == binarizer.tests(datasets.load("iris"))

    def test_exact_is_another_word_for_all(self):
        exact = Binarizer(thresholds="exact")
        assert exact.thresholds == "all"
        assert exact == ALL
        assert hash(exact) == hash(ALL)
        assert pickle.loads(pickle.dumps(exact)) == exact
        assert "thresholds='all'" in repr(exact)
        assert exact.tests(datasets.load("iris")) == ALL.tests(datasets.load("iris"))
        with pytest.raises(ParameterError, match="`max_thresholds` must be None where"):
            Binarizer(thresholds="exact", max_thresholds=3)


class TestAuto:
    """Which engine did the work shows in its counters."""

    def took(self, result):
        return "continuous" if "cuts_tried" in result.stats else "tests"

    def test_few_tests_are_for_the_engine_over_tests(self):
        for name in ("iris", "vote", "anneal"):
            result = OptimalTreeSearch(max_depth=2).run(datasets.load(name))
            assert (self.took(result), result.exact_thresholds) == ("tests", True)

    def test_more_of_them_are_for_the_continuous_one(self, planted):
        X, y = planted
        result = OptimalTreeSearch(max_depth=2).run(Dataset.from_arrays(X, y))
        assert (self.took(result), result.exact_thresholds, result.objective) == ("continuous", True, 0)

    def test_what_is_few_is_said_by_max_tests(self):
        iris = datasets.load("iris")
        few = OptimalTreeSearch(max_depth=3, binarizer=Binarizer(max_tests=50)).run(iris)
        more = OptimalTreeSearch(max_depth=3).run(iris)
        assert (self.took(few), self.took(more)) == ("continuous", "tests")
        assert few.exact_thresholds
        assert (few.tree, few.objective) == (more.tree, more.objective)

    def test_very_many_classes_are_for_the_one_over_tests(self):
        n = 70_000
        data = Dataset.from_arrays(np.arange(n, dtype=float)[:, None], np.arange(n))
        result = OptimalTreeSearch(max_depth=1, binarizer=Binarizer(thresholds="all"), time_limit=0.5).run(data)
        assert "cuts_tried" not in result.stats
        assert result.lower_bound <= result.objective <= n - 1
        accepted = r'"auto" or "tests" for 70000 classes \("continuous" tells 65535 apart\)'
        with pytest.raises(ParameterError, match=accepted):
            OptimalTreeSearch(max_depth=1, engine="continuous").run(data)

    @pytest.mark.parametrize("binarizer", [Binarizer(thresholds="mdlp"), Binarizer(max_thresholds=9)], ids=str)
    def test_thresholds_that_were_thinned_on_purpose(self, binarizer):
        result = OptimalTreeSearch(max_depth=2, binarizer=binarizer).run(datasets.load("ionosphere"))
        assert (self.took(result), result.exact_thresholds) == ("tests", False)

    def test_hopeless_searches_thin_thresholds_out_unless_forbidden_or_limited(self, noisy):
        rng = np.random.default_rng(5)
        x = rng.normal(size=(500, 6))
        x[:, 0] = np.sign(x[:, 0])
        easy = Dataset.from_arrays(x, x[:, 0] > 0)
        thinned = OptimalTreeSearch(max_depth=9).run(easy)
        assert (self.took(thinned), thinned.exact_thresholds) == ("tests", False)
        assert len(thinned.tests) <= 1000
        exact = OptimalTreeSearch(max_depth=9, binarizer=Binarizer(thresholds="exact")).run(easy)
        limited = OptimalTreeSearch(max_depth=9, node_limit=10).run(noisy)
        for result, n_tests in [(exact, 1 + 5 * 499), (limited, 6 * 499)]:
            assert (self.took(result), result.exact_thresholds, len(result.tests)) == ("continuous", True, n_tests)
        needs_memory = OptimalTreeSearch(max_depth=9, node_limit=10, memory_limit=700_000).run(noisy)
        assert (self.took(needs_memory), needs_memory.exact_thresholds) == ("tests", False)

    def test_hope_is_for_distinct_rows(self):
        rng = np.random.default_rng(6)
        x = rng.normal(size=(500, 6))
        for rows, engine in [(np.repeat(x, 4, axis=0), "continuous"), (rng.normal(size=(2000, 6)), "tests")]:
            rows[:, 0] = np.sign(rows[:, 0])
            data = Dataset.from_arrays(rows, rows[:, 0] > 0)
            assert self.took(OptimalTreeSearch(max_depth=5).run(data)) == engine

    def test_nothing_is_thinned_out_where_there_is_hope(self):
        rng = np.random.default_rng(8)
        data = Dataset.from_arrays(rng.integers(0, 5, (60, 300)), rng.integers(0, 2, 60))
        result = OptimalTreeSearch(max_depth=1).run(data)
        assert (result.exact_thresholds, len(result.tests)) == (True, 300 * 4)
        assert self.took(OptimalTreeSearch(max_depth=1, binarizer=ALL).run(data)) == "tests"


class TestSameProof:
    @pytest.mark.parametrize("depth", [0, 1, 2, 3])
    @pytest.mark.parametrize("name", ["anneal", "iris", "kr-vs-kp", "restaurant", "titanic", "vote", "weather"])
    def test_bundled_tables(self, name, depth, errors):
        data = datasets.load(name)
        result = assert_same_proof(data, max_depth=depth)
        assert result.objective == errors(data, result.tree)

    @pytest.mark.parametrize("name", ["hypothyroid", "ionosphere", "soybean"])
    def test_larger_tables(self, name):
        assert_same_proof(datasets.load(name), max_depth=2)

    @pytest.mark.parametrize(
        "parameters",
        [
            {"max_nodes": 4},
            {"max_nodes": 2},
            {"min_leaf": 12},
            {"node_penalty": 0.75},
            {"rank": ("objective", "nodes")},
            {"max_nodes": 5, "min_leaf": 5, "node_penalty": 0.5},
        ],
        ids=str,
    )
    @pytest.mark.parametrize("name", ["iris", "titanic", "vote", "weather"])
    def test_under_limits(self, name, parameters):
        assert_same_proof(datasets.load(name), max_depth=3, **parameters)

    @pytest.mark.parametrize("missing", ["own_test", "fails"])
    @pytest.mark.parametrize("nominal", ["one_vs_rest", "subsets"])
    @pytest.mark.parametrize("seed", range(3))
    def test_every_kind_of_column_with_counts_and_weights(self, mixed, nominal, missing, seed, errors):
        rng = np.random.default_rng(seed)
        n = len(mixed)
        data = Dataset(mixed, "y", counts=rng.integers(0, 4, n), weight=rng.choice([0.25, 1.5, 2.0], n))
        binarizer = Binarizer(thresholds="exact", nominal=nominal, missing=missing)
        result = assert_same_proof(data, max_depth=3, binarizer=binarizer, min_leaf=3, node_penalty=0.5)
        assert result.objective == errors(data, result.tree) + 0.5 * result.tree.n_nodes

    @pytest.mark.parametrize("classes", [2, 3, 5])
    def test_noise_of_distinct_values(self, classes):
        rng = np.random.default_rng(classes)
        data = Dataset.from_arrays(rng.normal(size=(300, 4)), rng.integers(0, classes, 300))
        assert len(assert_same_proof(data, max_depth=2).tests) == 4 * 299

    @pytest.mark.parametrize("threads", [1, 2, 3])
    def test_threads(self, threads):
        data = datasets.load("ionosphere")
        one, more = continuous(data, max_depth=3, threads=1), continuous(data, max_depth=3, threads=threads)
        assert (more.status, more.objective, more.tree) == ("optimal", one.objective, one.tree)
        assert more.stats["threads"] <= threads

    def test_bins_cannot_beat_all_thresholds(self):
        data = datasets.load("ionosphere")
        whole = continuous(data, max_depth=3)
        for binarizer in (Binarizer(thresholds="mdlp"), Binarizer(thresholds="quantile", max_thresholds=8)):
            binned = OptimalTreeSearch(max_depth=3, binarizer=binarizer).run(data)
            assert binned.status == whole.status == "optimal"
            assert binned.objective > whole.objective


class TestThousandsOfThresholds:
    def test_the_one_perfect_tree_is_found(self, planted):
        X, y = planted
        result = continuous(Dataset.from_arrays(X, y), max_depth=2)
        assert (result.status, result.objective, result.exact_thresholds) == ("optimal", 0, True)
        assert len(result.tests) == 3 * 4999
        values = np.sort(X[:, 0])
        place = np.searchsorted(values, 0.25)
        first, last = result.tree.rules()[0], result.tree.rules()[-1]
        conditions = [first.conditions[0], last.conditions[0]]
        threshold = conditions[0].threshold
        assert {(condition.operator, condition.threshold) for condition in conditions} == {
            ("<=", threshold),
            (">", threshold),
        }
        assert values[place - 1] <= threshold < values[place]
        # For missing values, of which there were none.
        assert [condition.or_missing for condition in conditions].count(True) == 1

    def test_thinned_thresholds_miss_it_and_say_so(self, planted):
        X, y = planted
        result = OptimalTreeSearch(max_depth=2, engine="tests").run(Dataset.from_arrays(X, y))
        assert (result.status, result.exact_thresholds) == ("optimal_over_tests", False)
        assert len(result.tests) <= 1000
        assert 0 == result.lower_bound < result.tests_bound == result.objective
        assert all(bound == 0 for _, _, bound in result.trace)
        assert repr(result).startswith("OptimalResult: optimal_over_tests, objective ")
        same = pickle.loads(pickle.dumps(result))
        assert (same.lower_bound, same.tests_bound) == (0, result.objective)

    def test_thinned_thresholds_that_were_asked_for_are_those_it_is_about(self, planted):
        X, y = planted
        binarizer = Binarizer(thresholds="quantile", max_thresholds=20)
        result = OptimalTreeSearch(max_depth=2, binarizer=binarizer).run(Dataset.from_arrays(X, y))
        assert (result.status, result.exact_thresholds) == ("optimal", False)
        assert 0 < result.lower_bound == result.tests_bound == result.objective
        assert "over the thresholds offered" in repr(result)

    def test_rows_that_are_equal_bound_trees_over_any_thresholds(self):
        rng = np.random.default_rng(0)
        x = np.repeat(rng.random((1_500, 3)), 2, axis=0)
        x[::20] = np.nan
        y = rng.integers(0, 2, 3_000)
        table = pl.DataFrame(x).with_columns(y=y, w=rng.integers(1, 5, 3_000) * 0.5).fill_nan(None)
        data = Dataset(table, "y", weight="w")
        thinned = OptimalTreeSearch(max_depth=2, engine="tests").run(data)
        groups = table.group_by(pl.exclude("y", "w"), maintain_order=True).agg(
            zero=pl.col("w").filter(pl.col("y") == 0).sum(), one=pl.col("w").filter(pl.col("y") == 1).sum()
        )
        assert thinned.status == "optimal_over_tests"
        assert thinned.lower_bound == groups.select(pl.min_horizontal("zero", "one").sum()).item()
        assert thinned.lower_bound <= OptimalTreeSearch(max_depth=2).run(data).objective <= thinned.objective

    @pytest.mark.parametrize("seed", range(150))
    def test_bounds_of_thinned_searches_are_those_of_all_thresholds(self, seed):
        """Ties, duplicates, constants, missing values, one class, one row, weights."""
        rng = np.random.default_rng(seed)
        rows, columns = [1, 8, 30, 80][seed % 4], 1 + seed % 3
        x = rng.integers(0, [1, 3, 10, 60][seed // 4 % 4], size=(rows, columns)).astype(float)
        x[rng.random(x.shape) < [0, 0.15][seed % 2]] = np.nan
        weights = rng.integers(1, 4, rows) * 0.5 if seed % 3 == 0 else None
        data = Dataset.from_arrays(x, rng.integers(0, [1, 2, 3][seed % 3], rows), weight=weights)
        search = {"max_depth": 1 + seed % 3, "rank": "objective"}
        thinned = OptimalTreeSearch(binarizer=Binarizer(max_tests=2 + seed % 3), engine="tests", **search).run(data)
        exact = OptimalTreeSearch(binarizer=Binarizer(thresholds="exact"), **search).run(data)
        assert thinned.lower_bound <= exact.objective <= thinned.objective
        assert thinned.lower_bound <= thinned.tests_bound == thinned.objective
        if thinned.status == "optimal":
            assert thinned.objective == exact.objective
        else:
            assert (thinned.status, thinned.exact_thresholds) == ("optimal_over_tests", False)

    def test_every_kind_of_table(self, planted):
        X, y = planted
        names = ["x0", "x1", "x2"]
        frame = pl.DataFrame(X, schema=names)
        tables = [
            Dataset(frame, pl.Series("target", y)),
            Dataset(pd.DataFrame(X, columns=names), y),
            Dataset(pd.DataFrame(X, columns=names, dtype="Float64"), y),
            Dataset({name: X[:, i] for i, name in enumerate(names)}, y),
            Dataset.from_arrays(np.asfortranarray(X), y, names),
        ]
        trees = [continuous(table, max_depth=2).tree for table in tables]
        text = trees[0].to_text()
        assert "x2" in text
        assert all(tree.to_text() == text for tree in trees)
        assert (trees[0].predict(frame).to_numpy() == y).all()

    def test_single_precision_keeps_its_values(self):
        values = np.nextafter(np.float32(0.1), np.float32(1), dtype=np.float32)
        X = np.array([[0.1], [values]], dtype=np.float32).repeat(5, axis=0)
        result = continuous(Dataset.from_arrays(X, [0] * 5 + [1] * 5), max_depth=1)
        assert result.objective == 0

    def test_stats(self, planted):
        X, y = planted
        stats = continuous(Dataset.from_arrays(X, y), max_depth=2).stats
        assert stats["patterns"] == 5000
        assert min(stats[name] for name in ("cuts_tried", "instances_scanned", "nodes", "threads")) > 0


class TestNeighbours:
    """Values next to each other, which nothing may take for one."""

    @pytest.mark.parametrize(
        "values",
        [
            pytest.param([2**53, 2**53 + 1, 2**53 + 2, 2**53 + 3], id="integers beyond 2^53"),
            pytest.param([-(2**63), -(2**63) + 1, 2**63 - 2, 2**63 - 1], id="ends of 64 bits"),
            pytest.param([0.1, np.nextafter(0.1, 1), 0.5, np.nextafter(0.5, 0)], id="adjacent floats"),
            pytest.param([-np.inf, -1.7e308, 1.7e308, np.inf], id="infinities"),
            pytest.param([5e-324, 0.0, -5e-324, 1e-323], id="denormals"),
            pytest.param(
                [dt.date(1999, 12, 31), dt.date(2000, 1, 1), dt.date(2000, 1, 2), dt.date(1, 1, 1)], id="dates"
            ),
            pytest.param(
                [dt.datetime(2000, 1, 1, microsecond=i) for i in range(3)] + [dt.datetime(1969, 1, 1)],
                id="microseconds",
            ),
        ],
    )
    @pytest.mark.parametrize("first", [0, 1])
    def test_are_told_apart(self, values, first):
        values = sorted(values)
        labels = [(i + first) % 2 for i in range(4)]  # no two neighbours alike
        frame = pl.DataFrame({"x": values * 3, "y": labels * 3})
        data = Dataset(frame, "y")
        result = assert_same_proof(data, max_depth=2)
        assert result.objective == 0
        assert len(result.tests) == 3
        assert result.tree.predict(frame).to_list() == labels * 3
        assert continuous(data, max_depth=1).objective == 3

    def test_negative_zero_is_zero(self):
        result = continuous(Dataset({"x": [0.0, -0.0, 1.0], "y": ["a", "b", "b"]}, "y"), max_depth=2)
        assert (result.objective, len(result.tests)) == (1, 1)

    def test_missing_has_its_own_test_or_fails(self):
        frame = pl.DataFrame({"x": [1.5, None, 2.5, float("nan"), 3.5, 4.5], "y": list("abbbaa")})
        data = Dataset(frame, "y")
        assert "x is missing" in assert_same_proof(data, max_depth=2).tests
        own, fails = (
            assert_same_proof(data, max_depth=3, binarizer=Binarizer(missing=m)) for m in ("own_test", "fails")
        )
        assert (own.objective, fails.objective) == (0, 1)  # above a threshold or missing: one side
        assert own.tree.predict(frame).to_list() == list("abbbaa")
        assert not any("is missing" in test for test in fails.tests)

    def test_one_value_and_no_value(self):
        frame = {"same": [7, 7, 7], "none": pl.Series([None, None, None], dtype=pl.Float64), "y": ["a", "b", "b"]}
        result = continuous(Dataset(frame, "y"))
        assert (result.status, result.tests, result.objective, result.exact_thresholds) == ("optimal", [], 1, True)


class TestLimits:
    def test_time(self, noisy, errors):
        result = continuous(noisy, max_depth=6, time_limit=0.3)
        assert result.status == "time_limit"
        assert 0.3 <= result.seconds < 10
        assert 0 <= result.lower_bound < result.objective == errors(noisy, result.tree)
        assert result.exact_thresholds

    @pytest.mark.parametrize("limit", [0, 1, 50, 2000])
    def test_nodes_with_one_thread_can_be_repeated(self, noisy, limit, errors):
        one, again = (continuous(noisy, max_depth=5, node_limit=limit, threads=1) for _ in range(2))
        assert one.status == again.status == "node_limit"
        assert one.tree == again.tree
        assert (one.objective, one.lower_bound, one.stats) == (again.objective, again.lower_bound, again.stats)
        assert one.objective == errors(noisy, one.tree)
        assert one.stats["nodes"] <= limit + 1

    def test_more_nodes_never_give_a_worse_tree_or_bound(self, noisy):
        results = [continuous(noisy, max_depth=4, node_limit=n, threads=1) for n in (0, 100, 10_000)]
        objectives, bounds = [r.objective for r in results], [r.lower_bound for r in results]
        assert objectives == sorted(objectives, reverse=True)
        assert objectives[0] > objectives[2]
        assert bounds == sorted(bounds)

    def test_no_time_at_all(self, noisy):
        result = continuous(noisy, time_limit=0)
        leaf = min((noisy.target != label).sum() for label in noisy.schema.classes)
        assert (result.status, result.lower_bound) == ("time_limit", 0)
        assert result.objective <= leaf

    def test_cancelled_from_the_callback(self, noisy):
        search = OptimalTreeSearch(max_depth=6, engine="continuous", time_limit=30)
        seen = []

        def progress(report):
            seen.append(report)
            search.cancel()

        result = search.run(noisy, progress=progress)
        assert result.status == "interrupted"
        assert result.seconds < 10
        assert seen

    def test_an_exception_in_the_callback_stops_it(self, noisy):
        def progress(report):
            raise LookupError("enough")

        with pytest.raises(LookupError, match="enough"):
            OptimalTreeSearch(max_depth=6, engine="continuous", time_limit=30).run(noisy, progress=progress)


class TestReports:
    def test_trace_and_progress_only_get_better(self, noisy):
        seen = []
        search = OptimalTreeSearch(max_depth=3, engine="continuous")
        result = search.run(noisy, progress=seen.append)
        assert result.status == "optimal"
        trace = result.trace
        assert len(trace) > 2
        assert trace[-1][1:] == (result.objective, result.lower_bound)
        reports = [(r.seconds, r.objective, r.lower_bound) for r in seen if r.objective is not None]
        for steps in (trace, reports):
            for before, after in itertools.pairwise(steps):
                assert before[0] <= after[0]
                assert before[1] >= after[1]
                assert before[2] <= after[2]
            assert all(bound <= result.objective <= objective for _, objective, bound in steps)
        nodes = [r.nodes for r in seen]
        assert nodes == sorted(nodes)

    def test_result_pickles(self):
        result = continuous(datasets.load("iris"), max_depth=3)
        same = pickle.loads(pickle.dumps(result))
        for name in ("tree", "objective", "status", "tests", "exact_thresholds", "trace", "stats", "resolution"):
            assert getattr(same, name) == getattr(result, name), name
        assert repr(same) == repr(result)
        assert "over the thresholds offered" not in repr(result)

    def test_the_tree_is_saved_bit_by_bit(self, planted):
        X, y = planted
        tree = continuous(Dataset.from_arrays(X, y), max_depth=2).tree
        same = type(tree).from_json(tree.to_json())
        assert same == tree
        assert (same.predict(X) == y).all()
