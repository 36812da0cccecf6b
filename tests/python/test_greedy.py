"""GreedyTreeSearch from Python: parameters, results, limits. What it grows: test_greedy_growth.py."""

import copy
import inspect
import pickle
import threading
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest

import lattree
from helpers import MISSING, NOMINAL_SPLITS, grow, text
from lattree import DataError, Dataset, GreedyTreeSearch, ParameterError, datasets
from test_limits import BOTH, PATIENCE, POSIX, USABLE, interrupt

WEATHER = """\
outlook is overcast: yes (4)
outlook is rainy
|   wind is strong: no (2)
|   wind is weak: yes (3)
outlook is sunny
|   humidity <= 77: yes (2)
|   humidity > 77: no (3)"""


@pytest.fixture(scope="module")
def weather():
    return datasets.load("weather")


@pytest.fixture(scope="module")
def noise():
    """A table whose trees have many thousand leaves."""
    rng = np.random.default_rng(0)
    return Dataset.from_arrays(rng.normal(size=(400_000, 12)), rng.integers(0, 3, 400_000))


class TestParameters:
    @pytest.mark.parametrize(
        ("name", "value", "accepted", "given"),
        [
            ("criterion", "entropy", 'one of "information_gain", "gain_ratio", "gini", "error"', '"entropy"'),
            ("min_cases", 0, "at least 1", "0"),
            ("min_branch", 0, "at least 1, or None", "0"),
            ("min_leaf", 0, "at least 1", "0"),
            ("min_leaf", -(2**200), "at least 1", "-1606"),
            ("max_depth", -1, "at least 0, or None", "-1"),
            ("min_gain", -0.5, "finite and not negative", "-0.5"),
            ("min_gain", float("nan"), "finite and not negative", "NaN"),
            ("max_leaves", 0, "at least 1, or None", "0"),
            ("nominal_splits", "each", 'one of "multiway", "one_vs_rest", "subsets"', '"each"'),
            ("missing", "false", 'one of "fractional", "drop", "mean", "class_mean", "level"', '"false"'),
            ("class_weight", "equal", '"balanced", a dict of labels and their weights, or None', "'equal'"),
            ("class_weight", {"yes": -1}, "finite and not negative", "-1"),
            ("class_weight", {"yes": float("inf")}, "finite and not negative", "inf"),
            ("costs", [[0, -1], [1, 0]], "finite, not negative, and 0 on the diagonal", "-1 in row 0, column 1"),
            ("costs", [[0, 1], [1, 2]], "finite, not negative, and 0 on the diagonal", "2 in row 1, column 1"),
            ("costs", [[0, 1], [1]], "a matrix of numbers", r"\[\[0, 1\], \[1\]\]"),
            ("costs", [0, 1], "a matrix of numbers", r"\[0, 1\]"),
            ("costs", "high", "a matrix of numbers", "'high'"),
            ("unseen", "ignore", '"majority", "missing", "error"', '"ignore"'),
            ("time_limit", -1, "not negative", "-1"),
            ("threads", 0, "at least 1", "0"),
            ("threads", 1025, "from 1 to 1024", "1025"),
        ],
    )
    def test_out_of_range(self, name, value, accepted, given):
        with pytest.raises(ParameterError, match=f"`{name}` must be .*{accepted}.*, got .*{given}"):
            GreedyTreeSearch(**{name: value})

    @pytest.mark.parametrize(
        "parameters",
        [
            {"criterion": None},
            {"min_cases": 2.5},
            {"min_leaf": None},
            {"max_depth": "3"},
            {"min_gain": "1"},
            {"class_weight": 2},
            {"class_weight": {"yes": "2"}},
            {"threads": 1.5},
            {"no_such_parameter": 1},
        ],
    )
    def test_wrong_type(self, parameters):
        with pytest.raises(TypeError):
            GreedyTreeSearch(**parameters)

    def test_keywords_only(self):
        with pytest.raises(TypeError, match="positional"):
            GreedyTreeSearch("gini")

    def test_defaults_of_the_signature_are_those_in_use(self):
        made = GreedyTreeSearch()
        parameters = inspect.signature(GreedyTreeSearch).parameters
        assert len(parameters) == 16
        for name, parameter in parameters.items():
            assert parameter.kind is parameter.KEYWORD_ONLY
            assert getattr(made, name) == parameter.default, name
            assert type(getattr(made, name)) is type(parameter.default), name

    def test_what_is_given_is_kept(self):
        given = {
            "criterion": "gini",
            "min_cases": 5,
            "min_branch": 3,
            "min_leaf": 2,
            "min_leaf_mass": 0.0,
            "max_depth": 7,
            "min_gain": 0.125,
            "max_leaves": 9,
            "nominal_splits": "subsets",
            "missing": "class_mean",
            "class_weight": {"yes": 2.0, "no": 0.5},
            "costs": [[0.0, 1.0], [2.5, 0.0]],
            "unseen": "error",
            "time_limit": 1.5,
            "memory_limit": 10**9,
            "threads": 2,
        }
        assert list(given) == list(inspect.signature(GreedyTreeSearch).parameters)
        search = GreedyTreeSearch(**given)
        again = eval(repr(search), vars(lattree))
        for same in (search, pickle.loads(pickle.dumps(search)), copy.deepcopy(search), copy.copy(search), again):
            assert {name: getattr(same, name) for name in given} == given
            assert repr(same) == repr(search)
        assert GreedyTreeSearch(class_weight="balanced").class_weight == "balanced"
        with pytest.raises(AttributeError):
            search.max_depth = 4

    def test_a_search_keeps_copies(self):
        weights, costs = {"yes": 2, "no": 1}, np.array([[0, 1], [2, 0]])
        search = GreedyTreeSearch(class_weight=weights, costs=costs)
        weights["yes"], costs[1, 0] = 9, 9
        search.class_weight["yes"] = 9
        search.costs[1][0] = 9
        assert search.class_weight == {"yes": 2, "no": 1}
        assert search.costs == [[0, 1], [2, 0]]

    @pytest.mark.parametrize("kind", [list, tuple, np.array, pl.DataFrame, pd.DataFrame, np.float32, np.asfortranarray])
    def test_costs_in_any_form(self, kind):
        costs = [[0, 1, 2], [3, 0, 4], [5, 6, 0]]
        frame = {"orient": "row"} if kind is pl.DataFrame else {}
        assert GreedyTreeSearch(costs=kind(costs, **frame)).costs == costs

    def test_of_run_are_checked(self, weather):
        with pytest.raises(ParameterError, match='`on_interrupt` must be one of "raise", "return", got "ignore"'):
            GreedyTreeSearch().run(weather, on_interrupt="ignore")
        for wrong in (None, 3, datasets.load_frame("weather"), weather.schema):
            with pytest.raises(TypeError, match=r"`data` must be a lattree\.Dataset"):
                GreedyTreeSearch().run(wrong)

    def test_labels_must_be_those_of_the_target(self, weather):
        search = GreedyTreeSearch(class_weight={"yes": 1, "maybe": 2})
        with pytest.raises(ParameterError, match=r"`class_weight` must be .*\['no', 'yes'\], got 'maybe'"):
            search.run(weather)
        numbers = Dataset({"x": range(30)}, [code // 2 for code in range(30)])
        with pytest.raises(ParameterError, match=r"\[0, 1, .*, 9\] and more, got '1'"):
            GreedyTreeSearch(class_weight={"1": 2}).run(numbers)

    @pytest.mark.parametrize("costs", [[[0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]], [[0, 1]], [[0, 1], [1, 0], [1, 1]]])
    def test_costs_must_fit_the_classes(self, weather, costs):
        with pytest.raises(ParameterError, match=r"`costs` must be .*2"):
            GreedyTreeSearch(costs=costs).run(weather)

    def test_the_target_must_have_classes(self):
        with pytest.raises(DataError, match="GreedyTreeSearch needs classes, but the target is absent"):
            GreedyTreeSearch().run(Dataset({"x": [1, 2]}))
        for weights in (None, {"yes": 2}):
            with pytest.raises(DataError, match=r"needs classes, but the target is numbers \(cast that column"):
                GreedyTreeSearch(class_weight=weights).run(Dataset({"x": [1, 2]}, [0.5, 1.5]))


class TestResults:
    def test_weather(self, weather):
        """The tree of Quinlan's papers and books, at the thresholds of this library."""
        result = GreedyTreeSearch().run(weather)
        assert (result.status, text(result.tree)) == ("complete", WEATHER)
        assert result.seconds > 0
        assert repr(result).startswith("GreedyResult: complete, 5 leaves, depth 2, ")
        assert repr(result).rstrip().endswith(WEATHER)
        with pytest.raises(AttributeError):
            result.status = "optimal"

    def test_pickle_and_copy(self, weather):
        result = GreedyTreeSearch(missing="level").run(datasets.load("vote"))
        for same in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result), copy.copy(result)):
            assert (same.tree, same.status, same.seconds) == (result.tree, result.status, result.seconds)
            assert same.tree.to_json() == result.tree.to_json()
            assert repr(same) == repr(result)

    @pytest.mark.parametrize("labels", [["n", "y"], [3, 10], [False, True], [0.0, 1.0], [-(2**62), 2**62]])
    def test_values_and_dtype_come_back(self, labels):
        target = pl.Series("y", [labels[0], labels[1], labels[1]])
        data = Dataset({"x": [1, 2, 3]}, target)
        tree = grow(data, class_weight={labels[1]: 2})
        assert tree.predict(data).equals(target)
        assert [(type(rule.prediction), rule.mass) for rule in tree.rules()] == [
            (type(labels[0]), 1),
            (type(labels[0]), 4),
        ]

    @pytest.mark.parametrize("missing", MISSING)
    @pytest.mark.parametrize("nominal_splits", NOMINAL_SPLITS)
    def test_trees_predict_the_same_after_a_round_trip(self, mixed, missing, nominal_splits):
        data = Dataset(mixed, "y")
        tree = grow(data, missing=missing, nominal_splits=nominal_splits, max_depth=5)
        again = lattree.Tree.from_json(tree.to_json())
        assert again == tree
        assert again.predict(mixed).equals(tree.predict(data))
        assert again.predict_proba(mixed).equals(tree.predict_proba(data))
        assert (again.apply(mixed) == tree.apply(data)).all()
        shares = tree.predict_proba(data).to_numpy()
        assert np.allclose(shares.sum(axis=1), 1)
        best = shares.max(axis=1)
        predicted = (tree.predict(data).to_numpy() == "yes").astype(int)
        assert np.allclose(shares[np.arange(len(data)), predicted], best)

    @pytest.mark.parametrize("kind", ["pandas", "pyarrow", "dict", "array"])
    def test_tables_of_any_kind_give_the_same_tree(self, kind):
        frame = datasets.load_frame("iris")
        match kind:
            case "pandas":
                data = Dataset(frame.to_pandas(), "class")
            case "pyarrow":
                data = Dataset(frame.to_arrow(), "class")
            case "dict":
                data = Dataset(frame.to_dict(as_series=False), "class")
            case _:
                columns = frame.drop("class")
                data = Dataset.from_arrays(columns.to_numpy(), frame["class"].to_list(), columns.columns)
        tree = grow(data)
        assert text(tree) == text(grow(datasets.load("iris")))
        assert tree.predict(data).to_list() == list(tree.predict(frame))


class TestLimits:
    @BOTH
    @pytest.mark.parametrize("limit", [0, 0.05, 0.3])
    def test_a_time_limit_gives_the_tree_so_far(self, noise, threads, limit):
        start = time.perf_counter()
        result = GreedyTreeSearch(time_limit=limit, threads=threads).run(noise)
        assert time.perf_counter() - start < PATIENCE
        assert result.status == "time_limit"
        assert sum(rule.mass for rule in result.tree.rules()) == len(noise)
        assert len(result.tree.predict(noise.take(range(5)))) == 5

    def test_a_limit_that_is_not_met_changes_nothing(self, weather):
        for limit in (60, 1e300):
            result = GreedyTreeSearch(time_limit=limit).run(weather)
            assert (result.status, text(result.tree)) == ("complete", WEATHER)

    @BOTH
    @pytest.mark.parametrize("max_leaves", [None, 10**9])
    def test_cancel_from_another_thread(self, noise, threads, max_leaves):
        search = GreedyTreeSearch(threads=threads, max_leaves=max_leaves, time_limit=60)
        search.cancel()  # nothing to stop; not remembered
        timer = threading.Timer(0.3, search.cancel)
        timer.start()
        start = time.perf_counter()
        result = search.run(noise)
        assert time.perf_counter() - start < PATIENCE
        timer.join()
        assert result.status == "interrupted"
        assert sum(rule.mass for rule in result.tree.rules()) == len(noise)
        assert search.run(datasets.load("iris")).status == "complete", "a cancelled search can be used again"

    @POSIX
    @BOTH
    @pytest.mark.parametrize("rows", [100_000, 400_000], ids=["small", "large"])
    @pytest.mark.parametrize("on_interrupt", ["raise", "return"])
    def test_ctrl_c(self, threads, rows, on_interrupt):
        """One thread works on the caller's, if the table is small."""
        rows = max(rows, 100_000 * threads)  # more threads would be done before they are interrupted
        script = f"""
            table = Dataset.from_arrays(rng.normal(size=({rows}, 10)), rng.integers(0, 3, {rows}))
            search = lattree.GreedyTreeSearch(threads=threads, time_limit=30)
            say("ready")
            try:
                while True:  # growth takes about a second
                    result = search.run(table, on_interrupt={on_interrupt!r})
                    if result.status != "complete":
                        break
                say(result.status, result.tree.n_leaves > 0)
            except KeyboardInterrupt:
                say("raised")
            usable(before)
            """
        said, error = interrupt(script, threads=threads, after=0.3)
        assert [line for line, _ in said] == ["raised" if on_interrupt == "raise" else "interrupted True", USABLE]
        assert said[0][1] < PATIENCE
        assert error == ""
