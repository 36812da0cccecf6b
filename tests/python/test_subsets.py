"""Searches over subsets of the features from Python: parameters, results, limits. Iteration: test_distinct.py."""

import copy
import inspect
import itertools
import pickle
import threading
import time

import numpy as np
import polars as pl
import pytest

import lattree
from helpers import subsets, text
from lattree import (
    AcceptableSubsetSearch,
    BackwardEliminationSearch,
    DataError,
    Dataset,
    DistinctTreeSearch,
    ExhaustiveSubsetSearch,
    GreedyTreeSearch,
    ParameterError,
    Removal,
    SubsetProgress,
    datasets,
)
from test_limits import PATIENCE, POSIX, USABLE, interrupt

SELECTING = (AcceptableSubsetSearch, BackwardEliminationSearch, ExhaustiveSubsetSearch)
SEARCHES = (DistinctTreeSearch, *SELECTING)
OWN = {
    DistinctTreeSearch: {"order": "fixed", "ordered": False},
    AcceptableSubsetSearch: {"delta": 0.25, "feature_penalty": 0.125, "error": "training"},
    BackwardEliminationSearch: {"error": "pessimistic", "white_box": False},
    ExhaustiveSubsetSearch: {"feature_penalty": 0.5, "error": "training", "max_features": 3},
}
every = pytest.mark.parametrize("kind", SEARCHES, ids=lambda kind: kind.__name__)
selecting = pytest.mark.parametrize("kind", SELECTING, ids=lambda kind: kind.__name__)


@pytest.fixture(scope="module")
def weather():
    return datasets.load("weather")


@pytest.fixture
def parts(mixed):
    """A building set and a search set: columns of every kind, missing values."""
    return Dataset(mixed, "y").split(0.3, seed=1)


@pytest.fixture(scope="module")
def noise():
    """A table whose subsets nobody can search to the end."""
    rng = np.random.default_rng(0)
    return Dataset.from_arrays(rng.normal(size=(600, 30)), rng.integers(0, 2, 600)).split(0.3)


def wrong(tree, data):
    return (tree.predict(data) != data.target).mean()


class TestParameters:
    @pytest.mark.parametrize(
        ("kinds", "name", "value", "accepted", "given"),
        [
            (SEARCHES, "min_cases", 0, "at least 1", "0"),
            (SEARCHES, "criterion", "entropy", '"information_gain"', '"entropy"'),
            (SEARCHES, "memory_limit", -1, "at least 0, or None", "-1"),
            (SEARCHES, "time_limit", -1, "not negative", "-1"),
            (SEARCHES, "missing", "drop", "other than .*: the split of a node must not depend on more", "drop"),
            (SEARCHES, "max_leaves", 3, "None .*: the split of a node must not depend on more than its cases", "3"),
            (SELECTING, "error", "errors", 'one of "search", "training", "pessimistic"', '"errors"'),
            (SELECTING[:1], "delta", -0.1, "finite and not negative", "-0.1"),
            (SELECTING[:1], "delta", float("nan"), "finite and not negative", "NaN"),
            (SELECTING[::2], "feature_penalty", -1, "finite and not negative", "-1"),
            (SELECTING[::2], "feature_penalty", float("inf"), "finite and not negative", "inf"),
            (SELECTING[2:], "max_features", -1, "at least 0, or None", "-1"),
            (SEARCHES[:1], "order", "last", 'one of "frontier", "frontier_cases", "reverse", "fixed"', '"last"'),
        ],
    )
    def test_out_of_range(self, kinds, name, value, accepted, given):
        for kind in kinds:
            with pytest.raises(ParameterError, match=f"`{name}` must be .*{accepted}.*, got .*{given}"):
                kind(**{name: value})

    @every
    @pytest.mark.parametrize(
        "parameters",
        [
            *({name: 2.5} for name in ("required", "candidates", "min_cases", "memory_limit", "criterion")),
            *({name: None} for name in ("required", "min_cases", "criterion", "min_gain")),
            {"required": [1]},
            {"no_such_parameter": 1},
        ],
    )
    def test_wrong_type(self, kind, parameters):
        (name,) = parameters
        with pytest.raises(TypeError, match=f"(`{name}` must be|unexpected keyword argument '{name}')"):
            kind(**parameters)
        with pytest.raises(TypeError, match="positional"):
            kind("gini")

    @every
    def test_parameters_of_other_searches(self, kind):
        for name in {name for own in OWN.values() for name in own} - set(OWN[kind]):
            with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
                kind(**{name: None})

    @every
    def test_defaults_of_the_signature_are_those_in_use(self, kind):
        made = kind()
        parameters = inspect.signature(kind).parameters
        greedy = set(inspect.signature(GreedyTreeSearch).parameters) - {"max_leaves"}
        assert set(parameters) == {"required", "candidates", "memory_limit"} | set(OWN[kind]) | greedy
        for name, parameter in parameters.items():
            assert parameter.kind is parameter.KEYWORD_ONLY
            assert getattr(made, name) == parameter.default, name
            assert type(getattr(made, name)) is type(parameter.default), name

    @every
    def test_what_is_given_is_kept(self, kind):
        given = {
            "required": ("b", "a"),
            "candidates": ("c",),
            **OWN[kind],
            "criterion": "gini",
            "min_cases": 5,
            "min_branch": 3,
            "min_leaf": 2,
            "min_leaf_mass": 0.0,
            "max_depth": 7,
            "min_gain": 0.125,
            "nominal_splits": "subsets",
            "missing": "level",
            "class_weight": {"yes": 2.0, "no": 0.5},
            "costs": [[0.0, 1.0], [2.5, 0.0]],
            "unseen": "error",
            "time_limit": 1.5,
            "memory_limit": 10**7,
            "threads": 2,
        }
        assert list(given) == list(inspect.signature(kind).parameters)
        search = kind(**given)
        again = eval(repr(search), vars(lattree))
        for same in (search, pickle.loads(pickle.dumps(search)), copy.deepcopy(search), copy.copy(search), again):
            assert type(same) is kind
            assert {name: getattr(same, name) for name in given} == given
            assert repr(same) == repr(search)
        assert (kind(required="a").required, kind(candidates="ab").candidates) == (("a",), ("ab",))
        with pytest.raises(AttributeError):
            search.required = ()

    @every
    def test_names_must_be_those_of_columns(self, kind, weather):
        for name in ("required", "candidates"):
            with pytest.raises(DataError, match='no column "rain"; the columns are "outlook", "temperature"'):
                go(kind(**{name: ["wind", "rain"]}), weather)
            assert go(kind(**{name: ["wind", "outlook", "wind"]}), weather), "once or twice is the same"

    @every
    def test_labels_and_costs_must_be_those_of_the_target(self, kind, weather):
        with pytest.raises(ParameterError, match=r"`class_weight` must be .*\['no', 'yes'\], got 'maybe'"):
            go(kind(class_weight={"yes": 1, "maybe": 2}), weather)
        with pytest.raises(ParameterError, match=r"`costs` must be .*2"):
            go(kind(costs=[[0, 1, 1], [1, 0, 1], [1, 1, 0]]), weather)

    @every
    def test_data_must_be_of_use(self, kind, weather):
        for data in (Dataset({"x": [1, 2]}), Dataset({"x": [1, 2]}, [0.5, 1.5])):
            with pytest.raises(DataError, match="needs classes, but the target is"):
                go(kind(), data)
        with pytest.raises(DataError, match="no case"):
            go(kind(), weather.take([]))
        for nothing in (None, 3, datasets.load_frame("weather"), weather.schema):
            with pytest.raises(TypeError, match=r"`(data|building)` must be a lattree\.Dataset"):
                go(kind(), nothing)

    @selecting
    def test_search_sets_must_be_of_use(self, kind, weather):
        with pytest.raises(ParameterError, match=r"`search` must be .*, got None"):
            kind().run(weather)
        with pytest.raises(TypeError, match=r"`search` must be a lattree\.Dataset"):
            kind().run(weather, datasets.load_frame("weather"))
        with pytest.raises(ParameterError, match="`search` must be a table with at least one row"):
            kind().run(weather, weather.take([]))
        for other in (datasets.load("iris"), weather.select(["wind", "outlook"]), Dataset({"x": [1]}, ["yes"])):
            with pytest.raises(lattree.LattreeError, match="`search` must be as in the building set"):
                kind().run(weather, other)

    def test_of_run_are_checked(self, weather):
        for run in (*(kind(error="training").run for kind in SELECTING), DistinctTreeSearch().count):
            with pytest.raises(ParameterError, match='`on_interrupt` must be one of "raise", "return", got "ignore"'):
                run(weather, on_interrupt="ignore")
            with pytest.raises(TypeError, match="`progress` must be True, False, a callable or None"):
                run(weather, progress=3)


def go(search, data):
    """Run any of the searches to its end."""
    return list(search.run(data)) if isinstance(search, DistinctTreeSearch) else search.run(data, data)


class TestResults:
    @selecting
    @pytest.mark.parametrize("missing", ["fractional", "mean", "class_mean", "level"])
    def test_the_error_is_that_of_the_tree(self, kind, parts, missing):
        building, search = parts
        for estimator, judge in (("search", search), ("training", building)):
            result = kind(error=estimator, missing=missing).run(building, search)
            assert result.error == pytest.approx(wrong(result.tree, judge), abs=1e-12)
            assert set(result.tree.features) == set(result.features)
            assert result.objective == result.error
            assert result.features == tuple(name for name in building.schema.feature_names if name in result.features)
            again = GreedyTreeSearch(missing=missing).run(building.select(result.features)).tree
            assert text(again) == text(result.tree)
            assert result.status == ("complete" if kind is BackwardEliminationSearch else "optimal")
            assert result.seconds > 0

    def test_the_best_subset_is_found(self, parts):
        building, search = parts
        errors = {s: wrong(GreedyTreeSearch().run(building.select(s)).tree, search) for s in subsets(building)}
        least = min(errors.values())
        exhaustive = ExhaustiveSubsetSearch().run(building, search)
        acceptable = AcceptableSubsetSearch().run(building, search)
        for result in (exhaustive, acceptable):
            assert result.error == pytest.approx(least, abs=1e-12)
            assert (result.lower_bound, result.gap, result.status) == (pytest.approx(least), 0, "optimal")
        within = AcceptableSubsetSearch(delta=0.02).run(building, search)
        assert within.status in ("optimal", "acceptable")
        assert within.lower_bound <= least + 1e-12
        assert within.error <= least + 0.02 + 1e-12
        assert within.gap == pytest.approx((within.error - within.lower_bound) / within.error)
        few = ExhaustiveSubsetSearch(max_features=2).run(building, search)
        assert few.error == pytest.approx(min(e for s, e in errors.items() if len(s) <= 2), abs=1e-12)

    def test_a_penalty_of_features(self, parts):
        building, search = parts
        grown = [GreedyTreeSearch().run(building.select(s)).tree for s in subsets(building)]
        least = min(wrong(tree, search) + 0.03 * len(tree.features) for tree in grown)
        for kind in (AcceptableSubsetSearch, ExhaustiveSubsetSearch):
            result = kind(feature_penalty=0.03).run(building, search)
            assert result.error == pytest.approx(wrong(result.tree, search), abs=1e-12)
            assert result.objective == pytest.approx(result.error + 0.03 * len(result.tree.features))
            assert result.objective == pytest.approx(least)
            assert (result.lower_bound, result.gap) == (pytest.approx(least), pytest.approx(0, abs=1e-9))

    def test_a_tiny_penalty_gives_the_smallest_of_equal_subsets(self, parts):
        building, search = parts
        grown = [GreedyTreeSearch().run(building.select(s)).tree for s in subsets(building)]
        least = min((wrong(tree, search), len(tree.features)) for tree in grown)
        result = AcceptableSubsetSearch(feature_penalty=1e-9).run(building, search)
        assert (wrong(result.tree, search), len(result.features)) == least

    def test_required_and_candidates(self, parts):
        building, search = parts
        names = building.schema.feature_names
        for kind in SELECTING:
            result = kind(required=names[4], candidates=names[:3]).run(building, search)
            assert set(result.features) == {names[4], *result.tree.features}
            assert set(result.tree.features) <= {names[4], *names[:3]}

    @pytest.mark.parametrize("error", ["search", "training", "pessimistic"])
    def test_elimination_takes_a_path(self, parts, error):
        building, search = parts
        results = [BackwardEliminationSearch(error=error, white_box=w).run(building, search) for w in (True, False)]
        white, black = results
        assert (white.path, white.features, white.error) == (black.path, black.features, black.error)
        assert text(white.tree) == text(black.tree)
        assert all(isinstance(removal, Removal) for removal in white.path)
        gone = [removal.feature for removal in white.path]
        assert sorted([*gone, *white.features]) == sorted(building.schema.feature_names)
        errors = [removal.error for removal in white.path]
        assert errors == sorted(errors, reverse=True)
        assert errors[-1:] in ([], [white.error])
        if error != "pessimistic":
            left = set(building.schema.feature_names)
            for removal in white.path:
                left.remove(removal.feature)
                tree = (
                    GreedyTreeSearch()
                    .run(building.select([n for n in building.schema.feature_names if n in left]))
                    .tree
                )
                judge = search if error == "search" else building
                assert removal.error == pytest.approx(wrong(tree, judge), abs=1e-12)

    def test_elimination_keeps_what_is_needed(self):
        """The classes of all eight combinations of three columns differ."""
        rows = np.array(list(itertools.product([0, 1], repeat=3)) * 2)
        data = Dataset.from_arrays(rows, rows @ [4, 2, 1], ["a", "b", "c"])
        result = BackwardEliminationSearch(min_cases=1).run(data, data)
        assert (result.features, result.path, result.error) == (("a", "b", "c"), [], 0)

    @selecting
    def test_pickle_copy_and_repr(self, kind, parts):
        result = kind().run(*parts)
        names = ("features", "tree", "error", "objective", "lower_bound", "gap", "status", "path", "stats", "seconds")
        for same in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result), copy.copy(result)):
            for name in names:
                assert getattr(same, name) == getattr(result, name), name
            assert same.tree.to_json() == result.tree.to_json()
            assert repr(same) == repr(result)
        assert repr(result).startswith(f"SubsetResult: {result.status}, error {result.error:g}, lower bound ")
        assert f"{len(result.features)} of 6 features" in repr(result)
        assert repr(result).rstrip().endswith(text(result.tree))
        assert set(result.stats) == {"built", "pruned", "evaluations", "case_sets", "flushes"}
        assert result.stats["built"] > 0
        with pytest.raises(AttributeError):
            result.error = 0

    def test_removals(self, parts):
        path = BackwardEliminationSearch().run(*parts).path
        assert path
        for removal in path:
            assert pickle.loads(pickle.dumps(removal)) == removal
            assert repr(removal).startswith(f"Removal(feature={removal.feature!r}, error=0.")
        assert path[0] != path[-1] or len(path) == 1

    @pytest.mark.parametrize("kind", ["polars", "pandas", "dict"])
    @pytest.mark.parametrize("labels", [["n", "y"], [3, 10], [False, True], [0.0, 1.0]])
    def test_tables_and_labels_of_any_kind(self, kind, labels):
        rng = np.random.default_rng(3)
        table = pl.DataFrame({name: rng.integers(0, 4, 90) for name in "abc"})
        target = pl.Series("y", [labels[(a > 1) ^ (b > 2)] for a, b, _ in table.iter_rows()])
        table = table.with_columns(target)
        match kind:
            case "pandas":
                data = Dataset(table.to_pandas(), "y")
            case "dict":
                data = Dataset(table.to_dict(as_series=False), "y")
            case _:
                data = Dataset(table, "y")
        for search in SELECTING:
            result = search(class_weight={labels[1]: 2}).run(data, data)
            assert (result.features, result.error) == (("a", "b"), 0)
            assert result.tree.predict(table).to_list() == target.to_list()
        trees = list(DistinctTreeSearch(class_weight={labels[1]: 2}).run(data))
        assert trees[-1].tree.predict(table)[0] in labels


class TestLimits:
    @pytest.mark.parametrize("kind", SELECTING[::2], ids=lambda kind: kind.__name__)
    @pytest.mark.parametrize("limit", [0, 0.05, 0.4])
    def test_a_time_limit_gives_the_best_so_far(self, kind, noise, limit):
        building, search = noise
        start = time.perf_counter()
        result = kind(time_limit=limit).run(building, search)
        assert time.perf_counter() - start < PATIENCE
        assert result.status == "time_limit"
        assert result.error == pytest.approx(wrong(result.tree, search), abs=1e-12)
        assert result.lower_bound <= result.error
        assert 0 <= result.gap <= 1
        assert len(result.tree.predict(search)) == len(search)

    def test_elimination_within_no_time(self, noise):
        building, search = noise
        result = BackwardEliminationSearch(time_limit=0).run(building, search)
        assert (result.status, result.path) == ("time_limit", [])
        assert result.error == pytest.approx(wrong(result.tree, search), abs=1e-12)

    def test_a_count_within_a_time_limit(self, noise):
        counts = DistinctTreeSearch(time_limit=0.4).count(noise[0])
        assert counts.status == "time_limit"
        assert counts.built >= counts.distinct == sum(counts.by_size) > 0
        assert 0.4 <= counts.seconds < PATIENCE

    def test_progress(self, noise):
        for run in (
            lambda seen: AcceptableSubsetSearch(time_limit=0.6).run(*noise, progress=seen),
            lambda seen: ExhaustiveSubsetSearch(time_limit=0.6).run(*noise, progress=seen),
            lambda seen: DistinctTreeSearch(time_limit=0.6).count(noise[0], progress=seen),
        ):
            seen, threads = [], set()
            result = run(
                lambda report, seen=seen, threads=threads: (seen.append(report), threads.add(threading.get_ident()))
            )
            assert 2 <= len(seen) <= 8
            assert threads == {threading.get_ident()}
            assert all(isinstance(report, SubsetProgress) and 0 <= report.covered <= 1 for report in seen)
            for name in ("seconds", "built", "distinct", "covered", "lower_bound"):
                values = [getattr(report, name) for report in seen]
                assert values == sorted(values), name
            assert seen[-1].built > 0
            if isinstance(result, lattree.DistinctCounts):
                assert seen[-1].error is None
                assert 0 < seen[-1].distinct <= result.distinct
            else:
                errors = [report.error for report in seen if report.error is not None]
                assert errors == sorted(errors, reverse=True)
                assert min(errors, default=1) >= result.error
            assert repr(seen[-1]).startswith("SubsetProgress(seconds=0.")

    def test_what_a_callback_raises_stops_the_search(self, noise):
        def progress(_report):
            raise ZeroDivisionError("stop")

        start = time.perf_counter()
        with pytest.raises(ZeroDivisionError, match="stop"):
            AcceptableSubsetSearch(time_limit=60).run(*noise, progress=progress)
        with pytest.raises(ZeroDivisionError, match="stop"):
            DistinctTreeSearch(time_limit=60).count(noise[0], progress=progress)
        assert time.perf_counter() - start < PATIENCE

    def test_cancel_from_another_thread(self, noise):
        search = AcceptableSubsetSearch(time_limit=60)
        search.cancel()  # nothing to stop; not remembered
        timer = threading.Timer(0.3, search.cancel)
        timer.start()
        start = time.perf_counter()
        result = search.run(*noise)
        timer.join()
        assert time.perf_counter() - start < PATIENCE
        assert result.status == "interrupted"
        assert result.error == pytest.approx(wrong(result.tree, noise[1]), abs=1e-12)

    def test_a_small_memory_limit_only_slows(self, parts):
        full = AcceptableSubsetSearch(threads=1).run(*parts)
        small = AcceptableSubsetSearch(threads=1, memory_limit=1_000_000).run(*parts)
        assert (small.error, small.status, small.features) == (full.error, "optimal", full.features)
        assert small.stats["flushes"] > full.stats["flushes"]

    def test_trees_that_do_not_fit_into_memory_are_a_limit(self, parts):
        tiny = AcceptableSubsetSearch(threads=1, memory_limit=1_000).run(*parts)
        assert (tiny.status, tiny.lower_bound <= tiny.objective) == ("memory_limit", True)
        assert tiny.error == pytest.approx(wrong(tiny.tree, parts[1]), abs=1e-12)

    @POSIX
    @pytest.mark.parametrize("threads", [1, 2])
    @pytest.mark.parametrize("on_interrupt", ["raise", "return"])
    def test_ctrl_c(self, threads, on_interrupt):
        script = f"""
            from lattree import AcceptableSubsetSearch, DistinctTreeSearch
            data = Dataset.from_arrays(rng.normal(size=(1000, 40)), rng.integers(0, 2, 1000))
            building, search = data.split(0.4)
            options = dict(time_limit=30, threads=threads)
            say("ready")
            for run in (
                lambda: DistinctTreeSearch(**options).count(data, on_interrupt={on_interrupt!r}),
                lambda: AcceptableSubsetSearch(**options).run(building, search, on_interrupt={on_interrupt!r}),
            ):
                try:
                    say(run().status)
                except KeyboardInterrupt:
                    say("raised")
                threading.Timer(0.4, os.kill, (os.getpid(), 2)).start()
            try:
                time.sleep(5)  # the last of the signals
            except KeyboardInterrupt:
                pass
            usable(before)
            """
        said, error = interrupt(script, threads=threads)
        stopped = "raised" if on_interrupt == "raise" else "interrupted"
        assert [line for line, _ in said] == [stopped, stopped, USABLE]
        assert said[1][1] < PATIENCE
        assert error == ""
