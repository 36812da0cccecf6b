"""lattree.experiments: each function against values computed by hand, in closed form or by brute force."""

import dataclasses
import inspect
import itertools
import math
import pickle
import re

import numpy as np
import polars as pl
import pytest
from scipy import stats  # comes with scikit-learn

import lattree
from lattree import Dataset, GreedyTreeSearch, ParameterError, datasets, experiments
from lattree.experiments import (
    MethodError,
    Triple,
    compare,
    error_rate,
    every_feature,
    paired_t_test,
    stability,
    triples,
)


@pytest.fixture(scope="module")
def iris():
    return datasets.load("iris")


def eliminate(building, search):
    """Backward elimination, literally: the stand-in for a search over subsets."""
    names = building.schema.feature_names

    def error(names):
        return error_rate(GreedyTreeSearch().run(building.select(names)).tree, search)

    best = error(names)
    while names:
        found = [(error([name for name in names if name != gone]), gone) for gone in names]
        least, gone = min(found, key=lambda pair: pair[0])
        if least > best:
            break
        best, names = least, [name for name in names if name != gone]
    return names


@dataclasses.dataclass
class Found:
    features: tuple
    status: str = "optimal"


class TestTriples:
    def test_sets(self, iris):
        rows = iris.to_polars().with_row_index("row")
        numbered = Dataset(rows, "class")
        dealt = list(triples(numbered, k=5, repeats=2, search_fraction=0.25, seed=3))
        assert [(t.repeat, t.fold) for t in dealt] == [(r, f) for r in range(2) for f in range(5)]

        def of(data):
            return set(data.to_polars()["row"].to_list())

        for triple in dealt:
            assert of(triple.building) | of(triple.search) == of(triple.training)
            assert not of(triple.building) & of(triple.search)
            assert of(triple.training) | of(triple.test) == set(range(150))
            assert (len(triple.building), len(triple.search), len(triple.test)) == (90, 30, 30)
            assert triple.search.target.value_counts()["count"].to_list() == [10, 10, 10]
        for repeat in range(2):
            tested = [row for t in dealt if t.repeat == repeat for row in of(t.test)]
            assert sorted(tested) == list(range(150))
        assert of(dealt[0].test) != of(dealt[5].test)

    def test_as_documented_from_the_seed(self, iris):
        triple = list(triples(iris, k=4, repeats=3, seed=5))[2 * 4 + 1]
        training, test = iris.folds(4, seed=7)[1]
        building, search = training.split(0.3, seed=7)
        for got, expected in zip(
            (triple.training, triple.test, triple.building, triple.search),
            (training, test, building, search),
            strict=True,
        ):
            assert got.to_polars().equals(expected.to_polars())

    @pytest.mark.parametrize(
        ("options", "text"),
        [
            ({"repeats": 0}, "`repeats` must be at least 1, got 0"),
            ({"search_fraction": 0.0}, "`search_fraction` must be between 0 and 1, got 0.0"),
            ({"search_fraction": 1}, "`search_fraction` must be between 0 and 1, got 1"),
            ({"search_fraction": math.nan}, "`search_fraction` must be between 0 and 1, got nan"),
        ],
    )
    def test_out_of_range_at_once(self, iris, options, text):
        with pytest.raises(ParameterError, match=re.escape(text)):
            triples(iris, **options)

    def test_too_many_folds(self, iris):
        with pytest.raises(ValueError, match="151"):
            list(triples(iris, k=151))

    def test_no_target(self):
        with pytest.raises(ParameterError, match="`data` must have a target"):
            triples(Dataset({"x": [1, 2]}))

    def test_a_part_without_rows(self):
        data = Dataset({"x": [1, 2, 3, 4], "y": ["a", "b", "a", "b"]}, "y")
        with pytest.raises(ParameterError, match=r"`search_fraction` must leave rows in both parts, got 0\.01"):
            list(triples(data, k=2, search_fraction=0.01))


class TestErrorRate:
    def test_by_hand(self):
        data = Dataset({"x": [1, 2, 3, 4], "y": ["a", "a", "b", "b"]}, "y")
        tree = GreedyTreeSearch().run(data).tree
        other = Dataset({"x": [1, 4, 4, 1, 1], "y": ["a", "a", "b", "b", "a"]}, like=data)
        assert error_rate(tree, data) == 0
        assert error_rate(tree, other) == 2 / 5

    def test_counts_and_weights(self):
        learned = Dataset({"counts": [1, 2, 3, 4], "weight": ["a", "a", "b", "b"]}, "weight")
        tree = GreedyTreeSearch().run(learned).tree
        columns = {"counts": [1, 4, 4, 1], "weight": ["a", "a", "b", "b"]}
        data = Dataset(columns, like=learned, counts=[1, 2, 3, 0], weight=[1, 0.5, 1, 9])
        assert error_rate(tree, data) == 1 / 5

    @pytest.mark.parametrize("labels", [[True, False], [3, 7], [1.0, 2.0], ["x", "y"]])
    def test_labels_of_any_dtype(self, labels):
        data = Dataset({"x": [1, 1, 1, 2, 2, 1], "y": [labels[i] for i in (0, 0, 0, 1, 1, 1)]}, "y")
        assert error_rate(GreedyTreeSearch().run(data).tree, data) == 1 / 6

    def test_as_predicted(self, mixed):
        data = Dataset(mixed, "y")
        learn, test = data.split(0.4, seed=1)
        tree = GreedyTreeSearch(max_depth=3).run(learn).tree
        wrong = tree.predict(test).to_numpy() != test.to_polars()["y"].to_numpy()
        assert 0 < error_rate(tree, test) == wrong.mean()

    def test_of_a_result(self, iris):
        result = GreedyTreeSearch(max_depth=1).run(iris)
        assert error_rate(result, iris) == error_rate(result.tree, iris) == 1 / 3

    def test_wrong_types(self, iris):
        tree = GreedyTreeSearch().run(iris).tree
        with pytest.raises(TypeError, match=r"`tree` must be a lattree\.Tree or a result with a `tree`, got str"):
            error_rate("tree", iris)
        with pytest.raises(TypeError, match=r"`data` must be a lattree\.Dataset, got DataFrame; make one"):
            error_rate(tree, iris.to_polars())

    def test_nothing_to_compare_with(self, iris):
        tree = GreedyTreeSearch().run(iris).tree
        with pytest.raises(ParameterError, match="`data` must have a target"):
            error_rate(tree, Dataset(iris.to_polars().drop("class")))
        with pytest.raises(ParameterError, match="positive mass, got none"):
            error_rate(tree, iris.take([]))


class TestPairedT:
    def test_by_hand(self):
        # Differences 1, 2, 3, 6: mean 3, variance (4 + 1 + 0 + 9) / 3.
        found = paired_t_test([2, 4, 6, 8], [1, 2, 3, 2])
        assert found.difference == 3
        assert found.degrees == 3
        assert found.statistic == pytest.approx(3 / math.sqrt(14 / 3 / 4), rel=1e-14)

    @pytest.mark.parametrize(
        ("degrees", "t", "p"),
        # From tables of Student's distribution.
        [
            (1, 12.7062047, 0.05),
            (4, 2.7764451, 0.05),
            (9, 2.2621572, 0.05),
            (9, 3.2498355, 0.01),
            (99, 1.9842169, 0.05),
        ],
    )
    def test_quantiles(self, degrees, t, p):
        assert sample(degrees, t).p_value == pytest.approx(p, rel=1e-6)

    @pytest.mark.parametrize("t", [0.001, 0.3, 1, 2.5, 40, 1e4])
    def test_closed_forms(self, t):
        assert sample(1, t).p_value == pytest.approx(2 / math.pi * math.atan(1 / t), rel=1e-9)
        assert sample(2, t).p_value == pytest.approx(1 - t / math.sqrt(2 + t * t), rel=1e-6)

    @pytest.mark.parametrize("n", [2, 3, 5, 10, 100, 1000])
    def test_against_scipy(self, n):
        rng = np.random.default_rng(n)
        for shift in (0, 0.1, 1, 5):
            first, second = rng.normal(size=n), rng.normal(size=n) + shift
            expected = stats.ttest_rel(first, second)
            found = paired_t_test(first, second)
            assert found.statistic == pytest.approx(expected.statistic, rel=1e-10)
            assert found.p_value == pytest.approx(expected.pvalue, rel=1e-9, abs=1e-300)
            back = paired_t_test(second, first)
            assert (back.statistic, back.p_value) == (-found.statistic, found.p_value)

    def test_corrected(self):
        rng = np.random.default_rng(0)
        first, second = rng.normal(size=10), rng.normal(size=10) + 0.5
        plain, corrected = paired_t_test(first, second), paired_t_test(first, second, test_ratio=1 / 9)
        assert corrected.statistic == pytest.approx(plain.statistic * math.sqrt(0.1 / (0.1 + 1 / 9)), rel=1e-12)
        assert corrected.p_value == pytest.approx(2 * stats.t.sf(abs(corrected.statistic), 9), rel=1e-9)
        assert corrected.p_value > plain.p_value

    def test_without_spread(self):
        same = paired_t_test([0.1, 0.2], [0.1, 0.2])
        assert (same.statistic, same.p_value) == (0, 1)
        less = paired_t_test([0, 1, 2], [1, 2, 3])
        assert (less.difference, less.statistic, less.p_value) == (-1, -math.inf, 0)

    @pytest.mark.parametrize(
        ("first", "second", "options", "text"),
        [
            ([1], [2], {}, "one length of at least 2, got 1 and 1"),
            ([1, 2], [2, 3, 4], {}, "one length of at least 2, got 2 and 3"),
            ([1, math.nan], [1, 2], {}, "must be finite"),
            ([1, 2], [2, 4], {"test_ratio": -1}, "`test_ratio` must be finite and not negative, got -1"),
        ],
    )
    def test_wrong_calls(self, first, second, options, text):
        with pytest.raises(ParameterError, match=text):
            paired_t_test(first, second, **options)


def sample(degrees, t):
    """A test whose statistic is t: differences of mean t and of variance as many as there are."""
    n = degrees + 1
    spread = np.zeros(n)
    spread[:2] = 1, -1
    spread *= math.sqrt(n / (2 / degrees))
    found = paired_t_test(spread + t, np.zeros(n))
    assert found.statistic == pytest.approx(t, rel=1e-9)
    return found


class TestStability:
    def test_by_hand(self):
        # Of four features {a, b} and {b, c}: covariance 1/4 - 1/4 = 0; {a, b} and {c, d}: -1.
        features = ["a", "b", "c", "d"]
        assert stability(["ab", "bc"], features) == experiments.Stability(0.0, None, 1)
        assert stability(["ab", "cd"], features).mean == -1
        # {a}, {a}, {b}: 1, and twice (0 - 1/16) / (3/16).
        found = stability(["a", "a", "b"], features)
        assert found.mean == pytest.approx((1 - 1 / 3 - 1 / 3) / 3)
        assert found.sd == pytest.approx(np.std([1, -1 / 3, -1 / 3], ddof=1))
        assert found.n_pairs == 3

    def test_against_numpy(self):
        rng = np.random.default_rng(1)
        features = [f"x{column}" for column in range(13)]
        chosen = rng.random((20, 13)) < 0.4
        subsets = [{name for name, is_in in zip(features, row, strict=True) if is_in} for row in chosen]
        pairs = [np.corrcoef(a, b)[0, 1] for a, b in itertools.combinations(chosen.astype(float), 2)]
        found = stability(subsets, features)
        assert found.mean == pytest.approx(np.mean(pairs), abs=1e-12)
        assert found.sd == pytest.approx(np.std(pairs, ddof=1), abs=1e-12)

    def test_equal_subsets_are_exactly_stable(self):
        features = [f"x{column}" for column in range(997)]
        assert stability([features[:331]] * 4, features) == experiments.Stability(1.0, 0.0, 6)

    def test_none_or_all(self):
        every, none = ["a", "b"], []
        assert stability([every, every], every).mean == 1
        assert stability([none, none], every).mean == 1
        assert stability([every, none], every).mean == 0
        assert stability([every, ["a"]], every).mean == 0
        assert stability([none, ["a"]], every).mean == 0
        assert stability([none, none], []).mean == 1

    def test_the_conventions_of_the_paper(self):
        # Adult in its Table 4: 92 trees of all 14 features and 8 of 13, a mean of 13.92, gave 0.85 and 0.36.
        features = [f"x{column}" for column in range(14)]
        found = stability([features] * 92 + [features[1:]] * 8, features)
        assert (round(found.mean, 2), round(found.sd, 2)) == (0.85, 0.36)

    def test_wrong_calls(self):
        with pytest.raises(ParameterError, match="`subsets` must be at least 2, got 1"):
            stability([["a"]], ["a"])
        with pytest.raises(ParameterError, match='names \'c\', which is no feature; there are "a", "b"'):
            stability([["a"], ["c"]], ["a", "b"])


class TestCompare:
    def test_rows_by_hand(self, iris):
        chosen = {"all": every_feature, "one": lambda building, search: ["petalwidth"], "none": lambda b, s: []}
        found = compare(iris, chosen, k=5, repeats=1, seed=4)
        assert found.methods == ["all", "one", "none"]
        dealt = list(triples(iris, k=5, repeats=1, seed=4))
        for row, (triple, name) in zip(found.rows, itertools.product(dealt, chosen), strict=True):
            assert (row.repeat, row.fold, row.method, row.status) == (triple.repeat, triple.fold, name, None)
            features = {"all": iris.schema.feature_names, "one": ["petalwidth"], "none": []}[name]
            assert row.selected == tuple(features)

            def right(learned, judged, features=features):
                tree = GreedyTreeSearch().run(learned.select(features)).tree
                return tree, (tree.predict(judged).to_numpy() != judged.target.to_numpy()).mean()

            assert row.search_error == right(triple.building, triple.search)[1]
            tree, error = right(triple.training, triple.test)
            assert row.generalisation_error == error
            assert set(row.used) == set(tree.features)
            assert row.n_features == len(tree.features)
            assert row.seconds >= 0
            assert row.cpu_seconds >= 0
        assert found.values("n_features", "none") == [0] * 5
        assert found.values("generalisation_error", "none") == pytest.approx([2 / 3] * 5)

    def test_the_same_from_the_same_seed(self, iris):
        methods = {"sbe": eliminate, "all": every_feature}
        clock = ["seconds", "cpu_seconds"]
        first, again, other = (
            compare(iris, methods, k=3, repeats=2, seed=seed).frame.drop(clock) for seed in (1, 1, 2)
        )
        assert first.equals(again)
        assert not first.equals(other)
        assert (
            (first["search_error"].filter(first["method"] == "sbe"))
            .le(first["search_error"].filter(first["method"] == "all"))
            .all()
        )

    @pytest.mark.parametrize("name", ["ionosphere", "anneal"])  # without and with missing values
    def test_searches_over_subsets(self, name):
        data = datasets.load(name)
        search = lattree.BackwardEliminationSearch()
        found = compare(data, {"sbe": search.run, "all": every_feature}, k=5, repeats=1, folds=3)
        for row, triple in zip(found.rows[::2], triples(data, k=5, repeats=1), strict=False):
            result = search.run(triple.building, triple.search)
            assert row.status == result.status == "complete"
            assert row.finished
            assert set(row.selected) == set(result.features)
            # What is judged is what the search judged.
            assert row.search_error == pytest.approx(result.error, abs=1e-12)

    def test_fewer_folds_are_the_first_ones(self, iris):
        every = compare(iris, {"all": every_feature}, k=4, repeats=2)
        some = compare(iris, {"all": every_feature}, k=4, repeats=2, folds=5)
        assert [dataclasses.replace(row, seconds=0, cpu_seconds=0) for row in some.rows] == [
            dataclasses.replace(row, seconds=0, cpu_seconds=0) for row in every.rows[:5]
        ]

    def test_other_trees(self, iris):
        found = compare(iris, {"all": every_feature}, k=2, repeats=1, tree_search=GreedyTreeSearch(max_depth=0))
        assert found.values("search_error", "all") == pytest.approx([2 / 3] * 2, abs=0.05)
        optimal = lattree.OptimalTreeSearch(max_depth=1)
        assert compare(iris, {"all": every_feature}, k=2, repeats=1, tree_search=optimal).values(
            "n_features", "all"
        ) == [1, 1]

    def test_order_and_status(self, iris):
        # Names come back in the table's order, by which ties between columns are settled.
        found = compare(
            iris,
            {"a": lambda b, s: Found(("petalwidth", "sepallength")), "b": lambda b, s: Found((), "time_limit")},
            k=2,
            repeats=1,
        )
        assert found.rows[0].selected == ("sepallength", "petalwidth")
        assert [(row.status, row.finished) for row in found.rows[:2]] == [("optimal", True), ("time_limit", False)]
        counted = found.summary().group_by("method", maintain_order=True).agg(pl.col("unfinished").unique())
        assert counted.rows() == [("a", [0]), ("b", [2])]

    def test_progress(self, iris):
        seen = []
        found = compare(
            iris, {"all": every_feature, "sbe": eliminate}, k=2, repeats=1, progress=lambda *a: seen.append(a)
        )
        assert seen == [(row, done, 4) for done, row in enumerate(found.rows, 1)]

        def stop(row, done, total):
            raise InterruptedError(done)

        with pytest.raises(InterruptedError, match="1"):
            compare(iris, {"all": every_feature}, k=2, repeats=1, progress=stop)

    @pytest.mark.parametrize(
        ("method", "text"),
        [
            (lambda b, s: 1 / 0, "ZeroDivisionError: division by zero"),
            (lambda b, s: "petalwidth", "must return names of features .*, got 'petalwidth'"),
            (lambda b, s: None, "must return names of features .*, got None"),
            (lambda b, s: ["petals"], "selected 'petals', which is no feature; there are \"sepallength\""),
            (lambda b, s: ["petalwidth"] * 2, 'selected a feature twice: "petalwidth", "petalwidth"'),
        ],
    )
    def test_failures_are_named(self, iris, method, text):
        def late(building, search):
            late.calls += 1
            return method(building, search) if late.calls == 4 else ["petalwidth"]

        late.calls = 0
        with pytest.raises(MethodError, match=f"^method 'late', repeat 1, fold 0: .*{text}") as caught:
            compare(iris, {"all": every_feature, "late": late}, k=3, repeats=2)
        assert caught.value.__cause__ is not None
        assert isinstance(caught.value, lattree.LattreeError)

    def test_failures_of_the_tree_search_are_not_the_methods(self, iris):
        wrong = GreedyTreeSearch(class_weight={"rose": 2})
        with pytest.raises(
            MethodError, match=r"^tree_search for method 'all', repeat 0, fold 0: ParameterError: .*rose"
        ):
            compare(iris, {"all": every_feature}, tree_search=wrong)

    def test_of_a_tree_its_features_are_taken(self, iris):
        one, two = GreedyTreeSearch(max_depth=1), lattree.OptimalTreeSearch(max_depth=2)
        methods = {
            "result": lambda building, search: one.run(building),
            "tree": lambda building, search: one.run(building).tree,
            "optimal": lambda building, search: two.run(building),
        }
        found = compare(iris, methods, k=3, repeats=1)
        for fold, triple in enumerate(triples(iris, k=3, repeats=1)):
            rows = found.rows[3 * fold : 3 * fold + 3]
            trees = [search.run(triple.building).tree for search in (one, one, two)]
            assert [row.selected for row in rows] == [tuple(tree.features) for tree in trees]
            assert [row.status for row in rows] == ["complete", None, "optimal"]

    def test_figures_and_methods_there_are(self, iris):
        found = compare(iris, {"all": every_feature, "none": lambda b, s: []}, k=2, repeats=1)
        with pytest.raises(ParameterError, match=r"`measure` must be one of .*, got 'error'"):
            found.values("error", "all")
        for figures in (found.stability, lambda method: found.values("seconds", method)):
            with pytest.raises(ParameterError, match='`method` must be one of "all", "none", got \'some\''):
                figures("some")

    def test_repr(self, iris):
        found = compare(iris, {"all": every_feature, "none": lambda b, s: []}, k=2, repeats=1)
        assert repr(found) == 'Comparison: 2 folds, methods "all", "none"; see summary() and frame'

    def test_interrupts_pass(self, iris):
        def interrupted(building, search):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            compare(iris, {"a": interrupted}, k=2)

    def test_wrong_calls(self, iris):
        with pytest.raises(ParameterError, match="`methods` must name at least one method"):
            compare(iris, {})
        for folds in (0, 21):
            with pytest.raises(ParameterError, match=f"`folds` must be from 1 to 20, or None, got {folds}"):
                compare(iris, {"all": every_feature}, k=10, repeats=2, folds=folds)

    @pytest.mark.parametrize(
        ("given", "text"),
        [
            ({"data": {"x": [1]}}, r"`data` must be a lattree\.Dataset, got dict; make one: lattree\.Dataset\(table"),
            ({"data": pl.DataFrame({"x": [1]})}, r"`data` must be a lattree\.Dataset, got DataFrame; make one"),
            ({"methods": [every_feature]}, "`methods` must be a dict of names and callables, .*, got list"),
            ({"methods": {1: every_feature}}, "`methods` must have names that are strings, got 1"),
            ({"methods": {"a": ["x"]}}, r"`methods` must have callables, got \['x'\] for 'a'$"),
            ({"methods": {"a": lattree.BackwardEliminationSearch()}}, "for 'a'; pass `search.run`, not the search"),
            ({"methods": {"a": lattree.BackwardEliminationSearch}}, "for 'a'; pass `search.run`, not the search"),
            ({"tree_search": GreedyTreeSearch}, "`tree_search` must be a search, such as .*, got <class"),
            ({"tree_search": GreedyTreeSearch().run}, "`tree_search` must be a search, such as .*, got <b"),
        ],
    )
    def test_wrong_types(self, iris, given, text):
        with pytest.raises(TypeError, match=text):
            compare(**{"data": iris, "methods": {"all": every_feature}, **given})

    def test_pickle(self, iris):
        found = compare(iris, {"all": every_feature}, k=2, repeats=1)
        assert pickle.loads(pickle.dumps(found)) == found


class TestSummary:
    @pytest.fixture
    def found(self, iris):
        methods = {"all": every_feature, "sbe": eliminate, "none": lambda b, s: [], "again": every_feature}
        return compare(iris, methods, k=5, repeats=2)

    def test_figures(self, found):
        summary = found.summary()
        assert summary.height == 6 * 4
        for row in summary.filter(pl.col("measure") != "stability").iter_rows(named=True):
            values = found.values(row["measure"], row["method"])
            assert row["n"] == 10
            assert row["mean"] == pytest.approx(np.mean(values))
            assert row["sd"] == pytest.approx(np.std(values, ddof=1))
        for row in summary.filter(pl.col("measure") == "stability").iter_rows(named=True):
            stable = stability([r.used for r in found.rows if r.method == row["method"]], found.features)
            assert (row["n"], row["mean"], row["sd"]) == (45, stable.mean, stable.sd)
            assert row["p_value"] is None

    @pytest.mark.parametrize("corrected", [False, True])
    def test_marks(self, found, corrected):
        summary = found.summary(corrected=corrected)
        # The error without features is far from the others', and two of these are the same.
        generalisation = {r["method"]: r for r in summary.rows(named=True) if r["measure"] == "generalisation_error"}
        best = min(generalisation.values(), key=lambda row: row["mean"])
        assert generalisation["none"]["mark"] == ""
        for name, row in generalisation.items():
            if name == best["method"]:
                assert (row["mark"], row["p_value"]) == ("best", None)
                continue
            test = paired_t_test(
                found.values("generalisation_error", name),
                found.values("generalisation_error", best["method"]),
                test_ratio=1 / 4 if corrected else 0,
            )
            assert row["p_value"] == test.p_value
            assert row["mark"] == ("same" if test.p_value >= 0.05 else "")
        sizes = {r["method"]: r["mark"] for r in summary.rows(named=True) if r["measure"] == "n_features"}
        assert sizes == {"all": "", "sbe": "", "none": "best", "again": ""}

    def test_of_search_sets_the_ratio_is_theirs(self, found):
        values = {name: found.values("search_error", name) for name in ("sbe", "all")}
        row = found.summary(corrected=True).row(
            by_predicate=(pl.col("measure") == "search_error") & (pl.col("method") == "all"), named=True
        )
        assert row["p_value"] == paired_t_test(values["all"], values["sbe"], test_ratio=0.3 / 0.7).p_value

    def test_times_have_no_mark(self, found):
        times = found.summary().filter(pl.col("measure").is_in(["seconds", "cpu_seconds"]))
        assert (set(times["mark"]), times["p_value"].null_count(), times.height) == ({""}, 8, 8)

    def test_alpha(self, found):
        strict = found.summary(alpha=1e-300)
        marks = strict.filter(pl.col("measure") == "generalisation_error")["mark"].to_list()
        assert marks.count("best") == 1
        assert marks.count("same") == 3
        with pytest.raises(ParameterError, match="`alpha` must be between 0 and 1, got 1"):
            found.summary(alpha=1)

    def test_one_fold(self, iris):
        summary = compare(iris, {"all": every_feature, "none": lambda b, s: []}, k=2, folds=1).summary()
        assert summary.height == 5 * 2
        assert summary["sd"].null_count() == summary["p_value"].null_count() == 10
        assert set(summary["mark"]) == {"best", ""}


@pytest.mark.parametrize("name", [name for name in experiments.__all__ if name != "Method"])  # an alias has no text
def test_documentation(name):
    value = getattr(experiments, name)
    text = inspect.getdoc(value)
    assert text
    if inspect.isfunction(value):
        for parameter in inspect.signature(value).parameters:
            assert re.search(rf"^(\w+, )*{parameter}(, \w+)*( : .+)?$", text, re.MULTILINE), parameter


def test_triples_are_frozen(iris):
    triple = Triple(0, 0, iris, iris, iris, iris)
    with pytest.raises(dataclasses.FrozenInstanceError):
        triple.fold = 1
