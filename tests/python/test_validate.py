"""Searches compared by cross-validation: figures from first principles, folds of every kind, the choice."""

import math
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import model_selection

import lattree
from lattree import (
    AcceptableSubsetSearch,
    BackwardEliminationSearch,
    DataError,
    Dataset,
    DistinctTreeSearch,
    ExhaustiveSubsetSearch,
    GreedyTreeSearch,
    Interrupted,
    OptimalTreeSearch,
    ParameterError,
)
from lattree.experiments import MethodError, _validate, cross_validate, error_rate

DEPTHS = [OptimalTreeSearch(max_depth=depth, threads=1) for depth in (0, 1, 2)]


@pytest.fixture(scope="module")
def iris():
    return lattree.datasets.load("iris")


@pytest.fixture(scope="module")
def vote():
    return lattree.datasets.load("vote").take(range(0, 435, 3))


class TestFigures:
    def test_they_are_those_of_the_folds(self, iris):
        found = cross_validate(DEPTHS, iris, cv=4, seed=3)
        assert found["search"].to_list() == [f"OptimalTreeSearch(max_depth={d}, threads=1)" for d in (0, 1, 2)]
        for row, search in zip(found.iter_rows(named=True), DEPTHS, strict=True):
            folds = iris.folds(4, seed=3)
            trees = [search.run(training).tree for training, _ in folds]
            errors = [error_rate(tree, test) for tree, (_, test) in zip(trees, folds, strict=True)]
            mean = sum(errors) / 4
            variance = sum((error - mean) ** 2 for error in errors) / 3
            assert row["folds"] == 4
            assert row["errors"] == errors
            assert row["error"] == pytest.approx(mean)
            assert row["standard_error"] == pytest.approx(math.sqrt(variance / 4))
            learned = [error_rate(tree, training) for tree, (training, _) in zip(trees, folds, strict=True)]
            assert row["training_error"] == pytest.approx(sum(learned) / 4)
            assert row["leaves"] == pytest.approx(sum(tree.n_leaves for tree in trees) / 4)
            assert row["depth"] == pytest.approx(sum(tree.depth for tree in trees) / 4)
            assert row["seconds"] > 0
            assert row["unfinished"] == 0

    def test_weights_and_counts_are_cases(self):
        rows = {"x": [0, 0, 1, 1] * 3, "y": ["a", "a", "b", "a"] * 3}
        data = Dataset(rows, "y", counts=[3, 1, 2, 1] * 3, weight=[1.0, 2.0, 0.5, 4.0] * 3)
        found = cross_validate(OptimalTreeSearch(max_depth=0), data, cv=[(range(4), range(4, 8))])
        assert found["errors"].to_list() == [[1.0 / 10.0]]
        assert found["standard_error"].to_list() == [None]
        assert found["one_standard_error"].to_list() == [True]

    def test_limits_are_counted(self, iris):
        searches = {"stopped": OptimalTreeSearch(max_depth=5, time_limit=0), "ended": GreedyTreeSearch()}
        found = cross_validate(searches, iris, cv=3)
        assert found["unfinished"].to_list() == [3, 0]

    def test_seeds(self, iris):
        first, again, other = (cross_validate(DEPTHS, iris, seed=seed).drop("seconds") for seed in (1, 1, 2))
        assert first.equals(again)
        assert not first.equals(other)


class TestChoice:
    @pytest.fixture
    def frame_of(self):
        def frame(**scores):
            made = {}
            for name, (errors, leaves) in scores.items():
                n = len(errors)
                made[name] = _validate._Scores(list(errors), [0.0] * n, [leaves] * n, [1] * n, [0.1] * n)
            return _validate._frame(made)

        return frame

    def test_the_simplest_within_one_standard_error_of_the_best(self, frame_of):
        best = [0.10, 0.20, 0.30]  # 0.2 with a standard error of 0.0577
        found = frame_of(stump=([0.3] * 3, 2), small=([0.25] * 3, 3), medium=([0.24] * 3, 5), large=(best, 9))
        assert found.filter("best")["search"].to_list() == ["large"]
        assert found.filter("one_standard_error")["search"].to_list() == ["small"]

    def test_the_best_itself_if_none_is_as_good(self, frame_of):
        found = frame_of(stump=([0.5] * 3, 2), large=([0.1, 0.2, 0.3], 9))
        assert found.filter("one_standard_error")["search"].to_list() == ["large"]

    def test_ties(self, frame_of):
        found = frame_of(large=([0.2, 0.2], 9), small=([0.2, 0.2], 3), same=([0.2, 0.2], 3))
        assert found.filter("best")["search"].to_list() == ["small"]
        assert found.filter("one_standard_error")["search"].to_list() == ["small"]
        found = frame_of(worse=([0.2, 0.3], 3), better=([0.2, 0.25], 3), best=([0.1, 0.3], 4))
        assert found.filter("one_standard_error")["search"].to_list() == ["better"]

    def test_on_a_table_where_depth_one_is_enough(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(400, 4))
        y = (X[:, 0] > 0) ^ (rng.random(400) < 0.2)
        searches = {f"depth {depth}": OptimalTreeSearch(max_depth=depth) for depth in range(4)}
        found = cross_validate(searches, Dataset.from_arrays(X, y), cv=10)
        assert found.filter("one_standard_error")["search"].to_list() == ["depth 1"]


class TestSearches:
    @pytest.mark.parametrize("error", ["search", "training", "pessimistic"])
    @pytest.mark.parametrize(
        "kind", [AcceptableSubsetSearch, BackwardEliminationSearch, ExhaustiveSubsetSearch], ids=lambda k: k.__name__
    )
    def test_over_subsets(self, vote, kind, error):
        few = vote.select(vote.schema.feature_names[:5])
        search = kind(error=error, max_depth=2, criterion="gini", class_weight="balanced")
        found = cross_validate(search, few, cv=3, seed=1, search_fraction=0.4)
        errors = []
        for training, test in few.folds(3, seed=1):
            if error == "search":
                names = search.run(*training.split(0.4, seed=1)).features
                grower = GreedyTreeSearch(max_depth=2, criterion="gini", class_weight="balanced")
                tree = grower.run(training.select(names)).tree
            else:
                tree = search.run(training).tree
            errors.append(error_rate(tree, test))
        assert found["errors"].to_list() == [errors]
        assert found["depth"].item() <= 2

    def test_a_limit_of_the_selection_counts(self, vote):
        found = cross_validate(AcceptableSubsetSearch(time_limit=0), vote, cv=2)
        assert found["unfinished"].to_list() == [2]

    def test_anything_that_has_a_run(self, iris):
        class Own:
            def run(self, data):
                return GreedyTreeSearch(max_depth=1).run(data)

        found = cross_validate({"own": Own(), "greedy": GreedyTreeSearch(max_depth=1)}, iris)
        assert found["error"].n_unique() == 1
        assert "Own object" in cross_validate(Own(), iris)["search"].item()

    def test_names(self, iris):
        searches = [GreedyTreeSearch(), GreedyTreeSearch(criterion="gini", max_depth=1), OptimalTreeSearch(max_depth=1)]
        assert cross_validate(searches, iris, cv=2)["search"].to_list() == [
            "GreedyTreeSearch()",
            "GreedyTreeSearch(criterion='gini', max_depth=1)",
            "OptimalTreeSearch(max_depth=1)",
        ]

    def test_wrong_ones(self, iris):
        with pytest.raises(TypeError, match="DistinctTreeSearch lists trees and chooses none"):
            cross_validate(DistinctTreeSearch(), iris)
        for wrong in (GreedyTreeSearch, [OptimalTreeSearch], {"a": 3}, [3]):
            with pytest.raises(TypeError, match="`search` must be a search, such as "):
                cross_validate(wrong, iris)
        for wrong in (3, "GreedyTreeSearch", None):
            with pytest.raises(TypeError, match="`search` must be a search, a list or a dict of them, got "):
                cross_validate(wrong, iris)
        with pytest.raises(TypeError, match="names that are strings, got 1"):
            cross_validate({1: GreedyTreeSearch()}, iris)
        for none in ([], {}):
            with pytest.raises(ParameterError, match="at least one search, got none"):
                cross_validate(none, iris)
        with pytest.raises(ParameterError, match=r"has GreedyTreeSearch\(max_depth=1\) twice"):
            cross_validate([GreedyTreeSearch(max_depth=1)] * 2, iris)

    def test_one_that_fails_is_named(self, iris):
        class Fails:
            def run(self, data):
                raise ValueError("no")

        with pytest.raises(MethodError, match="search 'b', fold 0: ValueError: no") as caught:
            cross_validate({"a": GreedyTreeSearch(), "b": Fails()}, iris)
        assert isinstance(caught.value.__cause__, ValueError)
        weights = GreedyTreeSearch(class_weight={"rose": 2})
        with pytest.raises(MethodError, match="ParameterError: `class_weight` must be "):
            cross_validate(weights, iris)
        Fails.run = lambda self, data: data
        with pytest.raises(MethodError, match="AttributeError"):
            cross_validate(Fails(), iris)


def folds_of(data, cv, groups=None):
    """The rows that each fold learns from and tests on, as a search and its error see them."""
    numbered = Dataset({"row": np.arange(len(data))}, data.target)
    seen = []

    class Spy:
        def run(self, training):
            seen.append(set(training.to_polars()["row"].to_list()))
            return OptimalTreeSearch(max_depth=0).run(training)

    cross_validate({"spy": Spy()}, numbered, cv=cv, groups=groups)
    return seen


class TestFolds:
    @pytest.mark.parametrize(
        "splitter",
        [
            model_selection.KFold(4),
            model_selection.StratifiedKFold(4, shuffle=True, random_state=1),
            model_selection.ShuffleSplit(3, random_state=2),
            model_selection.RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=3),
        ],
        ids=lambda splitter: type(splitter).__name__,
    )
    def test_splitters_of_scikit_learn(self, iris, splitter):
        expected = [set(learn.tolist()) for learn, _ in splitter.split(np.zeros((150, 1)), iris.target.to_numpy())]
        assert folds_of(iris, splitter) == expected

    @pytest.mark.parametrize(
        "splitter",
        [model_selection.GroupKFold(3), model_selection.LeaveOneGroupOut(), model_selection.StratifiedGroupKFold(3)],
        ids=lambda splitter: type(splitter).__name__,
    )
    def test_splitters_of_groups(self, iris, splitter):
        groups = np.arange(150) // 7 % 6
        for learn in folds_of(iris, splitter, groups):
            held_out = set(range(150)) - learn
            assert {groups[row] for row in learn}.isdisjoint({groups[row] for row in held_out})

    @pytest.mark.parametrize(
        "make",
        [
            list,
            np.array,
            pl.Series,
            pd.Series,
            lambda g: pd.Series(g, index=range(1, 151)),
            lambda g: [f"g{i}" for i in g],
        ],
    )
    def test_whole_groups(self, iris, make):
        groups = [i % 11 for i in range(150)]
        learned = folds_of(iris, 3, make(groups))
        held_out = [set(range(150)) - learn for learn in learned]
        assert sorted(row for rows in held_out for row in rows) == list(range(150))
        for rows in held_out:
            assert rows == {row for row in range(150) if groups[row] in {groups[one] for one in rows}}
            assert 40 <= len(rows) <= 60

    def test_groups_are_dealt_by_the_seed(self, iris):
        groups = [i % 30 for i in range(150)]
        frames = [cross_validate(DEPTHS, iris, groups=groups, seed=seed).drop("seconds") for seed in (0, 0, 1)]
        assert frames[0].equals(frames[1])
        assert not frames[0].equals(frames[2])

    def test_pairs(self, iris):
        pairs = [(range(100), range(100, 150)), (np.arange(50, 150), [1, 2, 3])]
        assert folds_of(iris, pairs) == [set(range(100)), set(range(50, 150))]
        assert folds_of(iris, iter(pairs)) == [set(range(100)), set(range(50, 150))]

    def test_wrong_ones(self, iris):
        search = GreedyTreeSearch()
        for cv in (0, 1, -3, 151):
            with pytest.raises(
                ParameterError, match=f"`cv` must be from 2 to the number of rows, which is 150, got {cv}"
            ):
                cross_validate(search, iris, cv=cv)
        with pytest.raises(ParameterError, match="`cv` must be from 2 to the number of groups, which is 3, got 5"):
            cross_validate(search, iris, groups=[0, 1, 2] * 50)
        for cv in (True, 2.5, "5", None, model_selection.KFold, {}):
            with pytest.raises(TypeError, match="`cv` must be a number of folds, a splitter or pairs"):
                cross_validate(search, iris, cv=cv)
        for cv, match in (
            ([], "at least one fold, got none"),
            ([([], [1])], "rows to learn from, got none for fold 0"),
            ([([1], [])], "rows to test on, got none for fold 0"),
            ([([1], [2]), ([1], [150])], "rows from 0 to 149, got 150 for fold 1"),
            ([([-1], [2])], "rows from 0 to 149, got -1 for fold 0"),
        ):
            with pytest.raises(ParameterError, match=match):
                cross_validate(search, iris, cv=cv)
        for cv in ([3], [([1], [2], [3])], [([0.5], [1])], [([True], [1])], [("a", "b")]):
            with pytest.raises(TypeError, match="`cv` must give "):
                cross_validate(search, iris, cv=cv)

    def test_wrong_groups(self, iris):
        search = GreedyTreeSearch()
        with pytest.raises(ParameterError, match="`groups` must have a value per row, 150, got 2"):
            cross_validate(search, iris, groups=[1, 2])
        with pytest.raises(ParameterError, match="`groups` must name a group for each row, got none at row 1"):
            cross_validate(search, iris, groups=["a", None] * 75)
        with pytest.raises(TypeError, match="`groups` must have a value per row, got the text"):
            cross_validate(search, iris, groups="class")
        with pytest.raises(ParameterError, match="`groups` must be None where"):
            cross_validate(search, iris, cv=[([1], [2])], groups=[0] * 150)
        with pytest.raises(DataError):
            cross_validate(search, iris, groups=[1, "a"] * 75)


class TestCalls:
    def test_other_wrong_calls(self, iris):
        search = GreedyTreeSearch()
        with pytest.raises(TypeError, match=r"`data` must be a lattree\.Dataset, got dict"):
            cross_validate(search, {"x": [1]})
        with pytest.raises(DataError, match="needs classes, but the target is"):
            cross_validate(search, Dataset({"x": [1, 2]}))
        with pytest.raises(DataError, match="needs classes, but the target is"):
            cross_validate(search, Dataset({"x": [1, 2, 3]}, [0.5, 1.5, 2.5]))
        for fraction in (0, 1, -0.5, float("nan")):
            with pytest.raises(ParameterError, match="`search_fraction` must be between 0 and 1"):
                cross_validate(search, iris, search_fraction=fraction)
        for groups in (None, [0, 1, 2] * 50):
            with pytest.raises(ParameterError, match="`seed` must be from 0 to 2"):
                cross_validate(search, iris, cv=3, seed=-1, groups=groups)
        with pytest.raises(TypeError, match="`progress` must be True, False, a callable or None, got int"):
            cross_validate(search, iris, progress=1)

    def test_progress(self, iris, capsys):
        told = []
        cross_validate({"a": GreedyTreeSearch(), "b": DEPTHS[0]}, iris, cv=2, progress=lambda *what: told.append(what))
        assert told == [("a", 1, 4), ("b", 2, 4), ("a", 3, 4), ("b", 4, 4)]
        assert capsys.readouterr().err == ""
        cross_validate(DEPTHS, iris, cv=2, progress=True)
        assert "6 of 6 runs" in capsys.readouterr().err

    def test_fault_p_ctrl_c_keeps_the_folds_that_are_done(self, iris):
        def stop(name, done, runs):
            if done == 5:
                raise KeyboardInterrupt

        with pytest.raises(Interrupted, match="after 5 of 15 runs") as caught:
            cross_validate(DEPTHS, iris, progress=stop)
        # The second was not done by all.
        assert caught.value.result["folds"].to_list() == [1, 1, 1]
        whole = cross_validate(DEPTHS, iris)
        assert caught.value.result["errors"].to_list() == [errors[:1] for errors in whole["errors"].to_list()]

        class Stopped:
            def run(self, data):
                raise KeyboardInterrupt

        with pytest.raises(Interrupted) as caught:
            cross_validate(Stopped(), iris)
        assert caught.value.result is None

    def test_fault_p_ctrl_c_keeps_a_comparison(self, iris):
        def stop(row, done, runs):
            if done == 3:
                raise KeyboardInterrupt

        methods = {"all": lattree.experiments.every_feature}
        with pytest.raises(Interrupted, match="after 3 of 4 runs") as caught:
            lattree.experiments.compare(iris, methods, k=2, repeats=2, progress=stop)
        assert caught.value.result.frame.height == 3

    def test_scikit_learn_is_not_needed(self):
        script = (
            "import sys; sys.modules['sklearn'] = None; import lattree; iris = lattree.datasets.load('iris'); "
            "print(lattree.experiments.cross_validate(lattree.GreedyTreeSearch(), iris, cv=3).height)"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert done.stdout == "1\n"

    def test_what_comes_back_is_a_frame(self, iris):
        found = cross_validate(DEPTHS, iris)
        assert isinstance(found, pl.DataFrame)
        assert found.columns == [
            "search", "folds", "error", "standard_error", "training_error", "leaves", "depth", "seconds", "unfinished",
            "best", "one_standard_error", "errors",
        ]  # fmt: skip
        assert found["best"].sum() == found["one_standard_error"].sum() == 1


@pytest.mark.parametrize("kind", [list, np.array, pl.Series])
def test_missing_groups_are_refused(kind):
    with pytest.raises(ParameterError, match="none at row 1"):
        cross_validate(
            GreedyTreeSearch(), lattree.datasets.load("weather"), groups=kind([1.0, float("nan")] + [2.0] * 12)
        )


def test_folds_half_done_are_left_out(monkeypatch):
    real, calls = _validate.error_rate, []

    def interrupt(tree, data):
        calls.append(tree)
        if len(calls) == 7:  # in the second search of the second fold
            raise KeyboardInterrupt
        return real(tree, data)

    monkeypatch.setattr(_validate, "error_rate", interrupt)
    searches = [GreedyTreeSearch(max_depth=depth) for depth in (0, 1)]
    with pytest.raises(Interrupted, match="after 3 of 6 runs") as caught:
        cross_validate(searches, lattree.datasets.load("iris"), cv=3)
    assert caught.value.result["folds"].to_list() == [1, 1]


@pytest.mark.parametrize("wrong", [{"search_fraction": "a"}, {"seed": 1.5}, {"seed": 1.5, "groups": list(range(14))}])
def test_the_parameter_of_a_wrong_type_is_named(wrong):
    with pytest.raises(TypeError, match=next(iter(wrong))):
        cross_validate(GreedyTreeSearch(), lattree.datasets.load("weather"), **wrong)
