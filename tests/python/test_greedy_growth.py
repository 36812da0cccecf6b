"""The trees that GreedyTreeSearch grows: rules to stop, kinds of splits, missing values, masses and costs."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest

from helpers import ALL, CRITERIA, MISSING, NOMINAL_SPLITS, grow, questions, text
from lattree import DataError, Dataset, GreedyTreeSearch, OptimalTreeSearch, datasets


@pytest.fixture(scope="module")
def weather():
    return datasets.load("weather")


class TestGrowth:
    @pytest.mark.parametrize("criterion", CRITERIA)
    @pytest.mark.parametrize("name", ["iris", "titanic", "vote", "soybean"])
    @pytest.mark.parametrize("depth", [1, 2])
    def test_never_better_than_the_optimum(self, criterion, name, depth, errors):
        """With these parameters the splits are the tests that the exact search may use."""
        data = datasets.load(name)
        best = OptimalTreeSearch(max_depth=depth, binarizer=ALL).run(data)
        tree = grow(data, criterion=criterion, max_depth=depth, nominal_splits="one_vs_rest", missing="level")
        assert best.status == "optimal"
        assert best.objective <= errors(data, tree) == sum(rule.errors for rule in tree.rules())
        if criterion == "error" and depth == 1:
            assert errors(data, tree) == best.objective

    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_without_a_limit_all_that_can_be_told_apart_is(self, criterion, errors):
        data = datasets.load("ionosphere")
        tree = grow(data, criterion=criterion)
        if criterion != "error":  # which may have no gain where others have
            assert errors(data, tree) == 0
        assert errors(data, tree) == sum(rule.errors for rule in tree.rules())

    def test_sizes_of_nodes_and_branches(self):
        data = datasets.load("ionosphere")
        for m in (1, 5, 20):
            masses = [rule.mass for rule in grow(data, min_leaf=m).rules()]
            assert m <= min(masses)
            assert sum(masses) == len(data)
            assert min(rule.mass for rule in grow(data, min_branch=m).rules()) >= m, "splits have two branches"
            assert grow(data, max_depth=m).depth <= m
        assert grow(data, min_cases=351).depth >= 1
        assert grow(data, min_cases=352).depth == grow(data, max_depth=0).depth == 0

    def test_min_branch_lets_small_branches_be(self):
        """Two branches are large enough, the third is not."""
        data = Dataset({"x": [*"aaabbbc"]}, [*"nnnyyyn"])
        assert grow(data, min_branch=3).n_leaves == 3
        assert grow(data, min_branch=4).n_leaves == grow(data, min_leaf=2).n_leaves == 1

    @pytest.mark.parametrize(
        ("criterion", "gain"),
        [
            ("information_gain", np.log2(3) - 2 / 3),
            ("gini", 1 / 3),
            ("error", 1 / 3),
        ],
    )
    def test_min_gain_is_per_unit_of_mass(self, criterion, gain):
        """Iris has 50 flowers of each of three classes, of which the first split makes one pure."""
        data = datasets.load("iris")
        assert grow(data, criterion=criterion, min_gain=gain - 1e-6).n_nodes >= 1
        assert grow(data, criterion=criterion, min_gain=gain + 1e-6).n_nodes == 0

    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_max_leaves_takes_the_best_splits_first(self, criterion):
        data = datasets.load("vote")
        settings = {"criterion": criterion, "nominal_splits": "one_vs_rest", "missing": "level"}
        full = grow(data, **settings)
        sizes = [grow(data, max_leaves=k, **settings).n_leaves for k in range(1, full.n_leaves + 2)]
        assert sizes == [*range(1, full.n_leaves + 1), full.n_leaves]
        assert grow(data, max_leaves=full.n_leaves, **settings) == full
        wrong = [
            sum(rule.errors for rule in grow(data, max_leaves=k, **settings).rules())
            for k in range(1, full.n_leaves + 1)
        ]
        assert wrong == sorted(wrong, reverse=True)

    def test_nominal_splits(self):
        data = Dataset({"x": [*"aabbccdd"]}, [*"nnyynnyy"])
        assert text(grow(data)) == "x is a: n (2)\nx is b: y (2)\nx is c: n (2)\nx is d: y (2)"
        assert text(grow(data, nominal_splits="subsets")) == "x in {a, c}: n (4)\nx not in {a, c}: y (4)"
        one = grow(data, nominal_splits="one_vs_rest")
        assert text(one) == "x is a: n (2)\nx is not a\n|   x is c: n (2)\n|   x is not c: y (4)"

    def test_an_ordinal_column_is_cut(self):
        data = Dataset({"size": [*"SMLSML"]}, [*"nyynyy"], ordinal={"size": ["S", "M", "L"]})
        assert text(grow(data)) == "size <= S: n (2)\nsize > S: y (4)"

    @pytest.mark.parametrize("missing", MISSING)
    @pytest.mark.parametrize("nominal_splits", NOMINAL_SPLITS)
    @pytest.mark.parametrize("max_leaves", [None, 12])
    def test_the_tree_does_not_depend_on_threads(self, mixed, missing, nominal_splits, max_leaves):
        frame = pl.concat([mixed] * 40)
        noise = pl.Series(np.random.default_rng(3).normal(size=len(frame)))
        frame = frame.with_columns(length=pl.col("length") + 0.01 * noise)
        data = Dataset(frame, "y")
        settings = {"missing": missing, "nominal_splits": nominal_splits, "max_leaves": max_leaves}
        alone = grow(data, threads=1, **settings)
        assert alone.n_nodes > 5
        for threads in (2, 3, None):
            assert grow(data, threads=threads, **settings).to_json() == alone.to_json()

    def test_several_runs_at_once(self):
        search = GreedyTreeSearch(threads=2)
        tables = [datasets.load(name) for name in ("anneal", "iris", "vote", "soybean")] * 4
        alone = [search.run(data).tree for data in tables[:4]] * 4
        with ThreadPoolExecutor(8) as pool:
            assert [result.tree for result in pool.map(search.run, tables)] == alone


class TestAnotherProgram:
    """On numbers without ties there is one greedy tree, and scikit-learn grows it too."""

    @pytest.mark.parametrize(
        ("ours", "theirs"),
        [
            ({"max_depth": 4}, {"max_depth": 4}),
            ({"max_depth": 6, "min_leaf": 20}, {"max_depth": 6, "min_samples_leaf": 20}),
            ({"min_cases": 150}, {"min_samples_split": 150}),
            ({"max_leaves": 11, "min_leaf": 5}, {"max_leaf_nodes": 11, "min_samples_leaf": 5}),
            ({"max_depth": 4, "class_weight": "balanced"}, {"max_depth": 4, "class_weight": "balanced"}),
            (
                {"min_leaf": 30, "class_weight": {0: 2, 2: 0.5}},
                {"min_samples_leaf": 30, "class_weight": {0: 2, 1: 1, 2: 0.5}},
            ),
        ],
    )
    @pytest.mark.parametrize(("criterion", "name"), [("information_gain", "entropy"), ("gini", "gini")])
    def test_scikit_learn(self, ours, theirs, criterion, name):
        sklearn_tree = pytest.importorskip("sklearn.tree", reason="comes with lattree[sklearn]")
        rng = np.random.default_rng(4)
        X = rng.normal(size=(1000, 6)).astype(np.float32)
        y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=1000), [-0.7, 1.2])
        model = sklearn_tree.DecisionTreeClassifier(criterion=name, random_state=0, **theirs).fit(X, y)
        tree = grow(Dataset.from_arrays(X, y), criterion=criterion, **ours)
        assert (tree.n_leaves, tree.depth) == (model.get_n_leaves(), model.get_depth())
        # Between the values of the table thresholds differ: half-way there, of few digits here.
        assert np.allclose(tree.predict_proba(X), model.predict_proba(X))


class TestMissing:
    """A third of a cell missing: the example of Quinlan, *C4.5*, 1993, chapter 3."""

    @pytest.fixture
    def golf(self):
        frame = datasets.load_frame("weather")
        gone = (pl.col("outlook") == "overcast") & (pl.col("humidity") == 90)
        assert len(frame.filter(gone)) == 1
        return Dataset(frame.with_columns(outlook=pl.when(~gone).then(pl.col("outlook"))), "class")

    def test_fractions_of_cases(self, golf):
        tree = grow(golf, min_branch=2)
        leaves = [(rule.prediction, rule.mass, rule.errors) for rule in tree.rules()]
        expected = [("yes", 3 + 3 / 13, 0), ("no", 2 + 5 / 13, 5 / 13), ("yes", 3, 0), ("yes", 2, 0)]
        expected.append(("no", 3 + 5 / 13, 5 / 13))
        assert [label for label, *_ in leaves] == [label for label, *_ in expected]
        assert np.allclose([numbers for _, *numbers in leaves], [numbers for _, *numbers in expected], atol=1e-6)

    def test_fractions_in_prediction(self, golf):
        tree = grow(golf, min_branch=2)
        case = {"outlook": ["sunny"], "temperature": [70], "humidity": [None], "wind": ["weak"]}
        whole = 2 + 3 + 5 / 13
        assert np.allclose(tree.predict_proba(case).to_numpy(), [[3 / whole, (2 + 5 / 13) / whole]], atol=1e-6)
        assert tree.predict(case).to_list() == ["no"]

    def test_fractions_keep_the_mass(self, mixed):
        data = Dataset(mixed, "y")
        for nominal_splits in NOMINAL_SPLITS:
            rules = grow(data, nominal_splits=nominal_splits, min_cases=20).rules()
            assert sum(rule.mass for rule in rules) == pytest.approx(len(data), rel=1e-12)
            assert np.allclose(
                np.sum([rule.masses for rule in rules], axis=0), [(mixed["y"] == y).sum() for y in ("no", "yes")]
            )

    def test_drop(self, mixed):
        data = Dataset(mixed, "y")
        tree = grow(data, missing="drop")
        assert tree == grow(Dataset(mixed.drop_nulls(), like=data))
        assert sum(rule.mass for rule in tree.rules()) == len(mixed.drop_nulls())
        with pytest.raises(DataError, match="no case to learn from"):
            grow(Dataset({"x": [1, None], "z": [None, 2]}, ["n", "y"]), missing="drop")

    def test_mean(self):
        x, z = [0.0, 1.0, None, 5.0], ["a", "a", None, "b"]
        target = ["n", "n", "y", "y"]
        filled = Dataset({"x": [0.0, 1.0, 2.0, 5.0], "z": ["a", "a", "a", "b"]}, target)
        data = Dataset({"x": x, "z": z}, target)
        assert text(grow(filled)) == "x <= 1.5: n (2)\nx > 1.5: y (2)"
        assert text(grow(data, missing="mean")) == "x <= 1.5: n (2)\nx > 1.5 or missing: y (2)"
        names = data.select("z")
        assert text(grow(filled.select("z"))) == "z is a: n (3/1)\nz is b: y (1)"
        assert text(grow(names, missing="mean")) == "z is a or missing: n (3/1)\nz is b: y (1)"
        tree = grow(data, missing="mean")
        assert tree.predict({"x": [None]}).to_list() == ["y"], "2 in prediction too"

    def test_class_mean(self):
        data = Dataset({"x": [0.0, 1.0, None, 5.0], "z": ["a", "a", None, "b"]}, ["n", "n", "y", "y"])
        assert text(grow(data.select("x"), missing="class_mean")) == "x <= 3 or missing: n (2)\nx > 3: y (2)"
        names = grow(data.select("z"), missing="class_mean")
        assert text(names) == "z is a or missing: n (2)\nz is b: y (2)"
        assert names.predict({"z": [None]}).to_list() == ["n"], "in prediction the most frequent level of all rows"

    def test_level(self):
        data = Dataset({"x": [0, 1, None, None], "z": ["a", "b", None, None]}, ["n", "n", "y", "y"])
        for name in ("x", "z"):
            part = data.select(name)
            for nominal_splits in NOMINAL_SPLITS:
                tree = grow(part, missing="level", nominal_splits=nominal_splits)
                assert tree.predict(part).equals(part.target)
                assert tree.predict({name: [None]}).to_list() == ["y"]
            assert "missing" in text(tree)
            # Without a level of their own they cannot be told apart.
            assert grow(part).predict_proba({name: [None]}).max_horizontal()[0] < 1

    @pytest.mark.parametrize("missing", MISSING)
    def test_without_missing_values_all_are_the_same(self, missing):
        for name in ("iris", "titanic"):
            data = datasets.load(name)
            tree, plain = grow(data, missing=missing), grow(data)
            # Where a missing value would go is another matter.
            assert text(tree).replace(" or missing", "") == text(plain)
            assert tree.predict(data).equals(plain.predict(data))


class TestMasses:
    @pytest.mark.parametrize("missing", MISSING)
    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_counts_are_repetitions(self, mixed, missing, criterion):
        counts = np.random.default_rng(5).integers(0, 4, len(mixed))
        data = Dataset(mixed.with_columns(times=pl.Series(counts)), "y", counts="times")
        repeated = Dataset(mixed[np.repeat(np.arange(len(mixed)), counts).tolist()], like=data)
        settings = {"missing": missing, "criterion": criterion, "min_cases": 6, "min_leaf": 2}
        tree = grow(data, **settings)
        assert tree.n_nodes > 1
        assert tree == grow(repeated, **settings)
        assert text(tree) == text(grow(repeated, **settings))

    def test_weights_are_masses_and_no_cases(self, mixed):
        plain = Dataset(mixed, "y")
        heavy = Dataset(mixed.with_columns(mass=pl.lit(8.0)), "y", weight="mass")
        light = Dataset(mixed.with_columns(mass=pl.lit(0.25)), "y", weight="mass")
        settings = {"min_cases": 10, "min_leaf": 4}
        tree = grow(plain, **settings)
        assert questions(tree) == questions(grow(heavy, **settings)) == questions(grow(light, **settings))
        for data, factor in ((heavy, 8), (light, 0.25)):
            masses = [(rule.mass, rule.errors) for rule in grow(data, **settings).rules()]
            expected = [(rule.mass * factor, rule.errors * factor) for rule in tree.rules()]
            assert np.allclose(masses, expected)

    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_weights_of_classes_are_weights_of_their_rows(self, mixed, criterion):
        weighted = Dataset(
            mixed.with_columns(mass=pl.when(pl.col("y") == "yes").then(3.0).otherwise(0.5)), "y", weight="mass"
        )
        plain = Dataset(mixed, "y")
        tree = grow(plain, criterion=criterion, class_weight={"yes": 3, "no": 0.5})
        assert tree == grow(weighted, criterion=criterion)
        assert text(tree) == text(grow(weighted, criterion=criterion))
        assert tree != grow(plain, criterion=criterion, max_depth=0)
        # A class that is not named counts 1; both kinds of weights together multiply.
        half = grow(plain, criterion=criterion, class_weight={"yes": 0.5})
        assert half == grow(plain, criterion=criterion, class_weight={"yes": 0.5, "no": 1})
        squared = Dataset(
            mixed.with_columns(mass=pl.when(pl.col("y") == "yes").then(9.0).otherwise(0.25)), "y", weight="mass"
        )
        assert grow(weighted, class_weight={"yes": 3, "no": 0.5}, criterion=criterion) == grow(
            squared, criterion=criterion
        )

    def test_balanced(self):
        data = datasets.load("anneal")
        leaf = grow(data, class_weight="balanced", max_depth=0)
        masses = leaf.rules()[0].masses
        assert np.allclose(masses, len(data) / len(masses))
        # The majority class no longer takes it all: a stump of errors finds the rare ones.
        tree = grow(data, class_weight="balanced", criterion="error", max_depth=3)
        rates = [
            (tree.predict(data).to_numpy() == label)[data.target.to_numpy() == label].mean()
            for label in data.schema.classes
        ]
        plain = grow(data, criterion="error", max_depth=3)
        assert np.mean(rates) >= np.mean(
            [
                (plain.predict(data).to_numpy() == label)[data.target.to_numpy() == label].mean()
                for label in data.schema.classes
            ]
        )

    def test_a_class_of_weight_0_does_not_matter(self, weather):
        tree = grow(weather, class_weight={"no": 0})
        assert text(tree) == "yes (9)"
        with pytest.raises(DataError, match="no case to learn from"):
            grow(weather, class_weight={"no": 0, "yes": 0})

    @pytest.mark.parametrize("criterion", CRITERIA)
    @pytest.mark.parametrize("name", ["iris", "soybean", "vote"])
    def test_leaves_predict_what_costs_least(self, criterion, name):
        data = datasets.load(name)
        classes = data.schema.classes
        costs = np.random.default_rng(1).integers(1, 9, (len(classes), len(classes))) * (1 - np.eye(len(classes)))
        tree = grow(data, criterion=criterion, costs=costs, max_depth=3)
        assert tree.n_nodes > 0
        for rule in tree.rules():
            if rule.mass > 0:  # a branch that no case took predicts as its parent would
                expected = np.array(rule.masses) @ costs
                assert expected[classes.index(rule.prediction)] == pytest.approx(expected.min(), rel=1e-9)

    def test_costs_change_leaves_and_splits(self, weather):
        costs = [[0, 5], [1, 0]]
        assert text(grow(weather, max_depth=1, costs=costs)) == (
            "outlook is overcast: yes (4)\noutlook is rainy: no (5/3)\noutlook is sunny: no (5/2)"
        )
        frame = {"x": [0, 0, 0, 1, 1, 1, 1, 1], "z": [0, 1, 1, 1, 1, 1, 1, 1]}
        data = Dataset(frame, [*"yyynnnny"])
        assert text(grow(data, criterion="error", max_depth=1)) == "x <= 0: y (3)\nx > 0: n (5/1)"
        # Taking y for n costs nothing here: there is nothing to gain.
        assert grow(data, criterion="error", costs=[[0, 0], [1, 0]]).n_nodes == 0
        assert grow(data, criterion="gini", costs=[[0, 0], [0, 0]]).n_nodes == 0

    @pytest.mark.parametrize("criterion", CRITERIA)
    def test_costs_of_one_are_no_costs(self, criterion):
        for name in ("iris", "soybean"):
            data = datasets.load(name)
            k = len(data.schema.classes)
            assert grow(data, criterion=criterion, costs=1 - np.eye(k)) == grow(data, criterion=criterion)
