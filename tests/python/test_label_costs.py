"""Costs of labels: what is minimised is the least that brute force finds, and names decide, not places."""

import itertools
import json
import pickle
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import lattree
from helpers import ALL
from lattree import Binarizer, Costs, DataError, Dataset, GreedyTreeSearch, OptimalTreeSearch, ParameterError, Tree

CLASSES = ["no", "so", "yes"]


def least(X, costs, depth, penalty=0.0, min_leaf=1):
    """The least cost of a tree of `depth` over all thresholds; `costs` has a row per case and a column per label."""
    best = costs.sum(axis=0).min()
    if depth == 0 or len(X) < 2:
        return best
    for column in X.T:
        for threshold in np.unique(column)[:-1]:
            left = column <= threshold
            if min(left.sum(), (~left).sum()) < min_leaf:
                continue
            parts = [least(X[part], costs[part], depth - 1, penalty, min_leaf) for part in (left, ~left)]
            best = min(best, sum(parts) + penalty)
    return best


def paid(tree, table, costs, labels):
    """What the labels of a tree cost, by their names."""
    label_of = [node.prediction for node in tree.nodes()]
    given = [labels.index(label_of[leaf]) for leaf in tree.apply(table)]
    return costs[np.arange(len(given)), given].sum()


class Problem:
    """A small random table, with the costs of each case, of which some are whole."""

    def __init__(self, seed):
        self.random = random = np.random.default_rng(seed)
        n = int(random.integers(6, 25))
        self.X = random.integers(0, 4, (n, 3)).astype(float)
        self.k = int(random.integers(2, 4))
        self.classes = CLASSES[: self.k]
        self.y = np.append(random.integers(0, self.k, n - self.k), np.arange(self.k))
        self.depth = int(random.integers(1, 3))
        self.penalty = float(random.choice([0, 0, 0.25, 1]))
        self.min_leaf = int(random.choice([1, 1, 2, 4]))
        self.frame = pl.DataFrame(self.X, schema=["a", "b", "c"])
        self.labelled = self.frame.with_columns(y=pl.Series([self.classes[code] for code in self.y]))

    def search(self, **keywords):
        return OptimalTreeSearch(
            max_depth=self.depth,
            node_penalty=self.penalty,
            min_leaf=self.min_leaf,
            binarizer=ALL,
            engine=str(self.random.choice(["tests", "continuous"])),
            **keywords,
        )

    def check(self, result, costs, labels):
        expected = least(self.X, costs, self.depth, self.penalty, self.min_leaf)
        assert result.status == "optimal"
        assert result.objective == pytest.approx(expected, abs=1e-9)
        assert result.lower_bound == result.objective
        found = paid(result.tree, self.frame, costs, labels) + self.penalty * result.tree.n_nodes
        assert found == pytest.approx(expected, abs=1e-9)
        assert Tree.from_json(result.tree.to_json()) == pickle.loads(pickle.dumps(result)).tree == result.tree
        assert result.tree.schema.classes == labels


@pytest.mark.parametrize("seed", range(100))
def test_a_matrix_by_names_in_any_order(seed):
    problem = Problem(seed)
    random = problem.random
    extra = ["refer"][: int(random.integers(0, 2))]
    labels = problem.classes + extra
    matrix = random.integers(-2, 7, (problem.k, len(labels))) / random.choice([1, 4])
    rows, columns = random.permutation(problem.k), random.permutation(len(labels))
    given = pd.DataFrame(
        matrix[rows][:, columns], index=[problem.classes[row] for row in rows], columns=[labels[c] for c in columns]
    )
    if seed % 2:
        given = pl.DataFrame({"of": given.index.to_list(), **{name: given[name].to_list() for name in given}})
    result = problem.search(objective=Costs(given)).run(Dataset(problem.labelled, "y"))
    problem.check(result, matrix[problem.y], labels)


@pytest.mark.parametrize("seed", range(100, 200))
def test_costs_of_each_case(seed):
    problem = Problem(seed)
    random = problem.random
    labels = problem.classes + ["refer"][: int(random.integers(0, 2))]
    costs = random.integers(-3, 6, (len(problem.X), len(labels))) / random.choice([1, 10])
    order = random.permutation(len(labels))
    table = problem.labelled.with_columns(pl.Series(labels[place], costs[:, place]) for place in order)
    data = Dataset(table, "y", costs=[labels[place] for place in order])
    assert data.schema.feature_names == ["a", "b", "c"]
    result = problem.search(objective="costs").run(data)
    problem.check(result, costs, labels)
    for node in result.tree.nodes():
        assert node.costs[node.prediction] == pytest.approx(min(node.costs.values()))
    assert list(result.tree.root.costs) == labels
    assert list(result.tree.root.costs.values()) == pytest.approx(costs.sum(axis=0))


@pytest.mark.parametrize("seed", range(200, 260))
def test_abstaining_at_a_price(seed):
    problem = Problem(seed)
    price = float(problem.random.choice([0.05, 0.2, 1 / 3, 0.45]))
    result = problem.search(abstain=price).run(Dataset(problem.labelled, "y"))
    errors = 1.0 - np.eye(problem.k)[problem.y]
    costs = np.column_stack([errors, np.full(len(errors), price)])
    problem.check(result, costs, [*problem.classes, "abstain"])
    assert result.tree.root.costs is None


@pytest.mark.parametrize("seed", range(260, 320))
def test_balanced_errors(seed):
    problem = Problem(seed)
    problem.penalty /= 8
    result = problem.search(objective="balanced_errors").run(Dataset(problem.labelled, "y"))
    sizes = np.bincount(problem.y)
    costs = (1.0 - np.eye(problem.k)[problem.y]) / (sizes[problem.y] * problem.k)[:, None]
    problem.check(result, costs, problem.classes)


@pytest.mark.parametrize("seed", range(320, 360))
def test_class_weights(seed):
    problem = Problem(seed)
    weights = problem.random.integers(1, 9, problem.k) / 4
    named = {problem.classes[place]: weights[place] for place in problem.random.permutation(problem.k)}
    result = problem.search(class_weight=named).run(Dataset(problem.labelled, "y"))
    problem.check(result, (1.0 - np.eye(problem.k)[problem.y]) * weights[problem.y][:, None], problem.classes)
    balanced = problem.search(class_weight="balanced").run(Dataset(problem.labelled, "y"))
    of_class = len(problem.y) / (problem.k * np.bincount(problem.y))
    problem.check(balanced, (1.0 - np.eye(problem.k)[problem.y]) * of_class[problem.y][:, None], problem.classes)


@pytest.mark.parametrize("seed", range(360, 400))
def test_counts_and_weights_multiply_costs(seed):
    problem = Problem(seed)
    n = len(problem.X)
    counts, weight = problem.random.integers(0, 4, n), problem.random.integers(0, 4, n) / 2
    if not (counts * weight).any():
        counts[0] = weight[0] = 1
    problem.min_leaf = 1
    costs = problem.random.integers(0, 6, (n, 2)).astype(float)
    rewards = problem.random.random() < 0.5
    given = {"rewards": -costs} if rewards else {"costs": costs}
    data = Dataset(problem.frame, counts=counts, weight=weight, **given)
    present = counts * weight > 0
    result = problem.search(objective="costs").run(data)
    mass = (counts * weight)[present][:, None]
    expected = least(problem.X[present], costs[present] * mass, problem.depth, problem.penalty)
    assert result.objective == pytest.approx(expected)
    assert result.tree.schema.classes == ["0", "1"]
    assert list(result.tree.root.costs.values()) == pytest.approx((costs[present] * mass).sum(axis=0))


@pytest.fixture
def weather():
    return lattree.datasets.load("weather")


MATRIX = [[0.0, 1.0, 0.25], [5.0, 0.0, 0.5]]
NAMES = ["no", "yes", "refer"]


def forms():
    """The same costs, in all forms that have names, columns and rows in other orders."""
    frame = pd.DataFrame(MATRIX, index=["no", "yes"], columns=NAMES)
    turned = frame.loc[["yes", "no"], ["refer", "no", "yes"]]
    columns = {"class": ["yes", "no"], "refer": [0.5, 0.25], "no": [5, 0], "yes": [0, 1]}
    yield "array", Costs(np.array(MATRIX), classes=["no", "yes"], labels=NAMES)
    yield "list", Costs(MATRIX, labels=NAMES)
    yield "pandas", Costs(frame)
    yield "pandas turned", Costs(turned)
    yield "pandas with a column", Costs(pd.DataFrame(columns))
    yield "polars", Costs(pl.DataFrame(columns))
    yield "lazy", Costs(pl.LazyFrame(columns))
    yield "pyarrow", Costs(pa.table(columns))
    yield "dict", Costs(columns)
    yield "another name", Costs({"truth": ["yes", "no"], "no": [5, 0], "yes": [0, 1], "refer": [0.5, 0.25]})
    yield "dict and classes", Costs({"yes": [1, 0], "no": [0, 5], "refer": [0.25, 0.5]}, classes=["no", "yes"])


class TestCosts:
    @pytest.mark.parametrize(("name", "costs"), [pytest.param(*form, id=form[0]) for form in forms()])
    def test_forms(self, name, costs, weather):
        assert costs._matrix_for(["no", "yes"], "objective") == (MATRIX, ["refer"])
        result = OptimalTreeSearch(max_depth=1, objective=costs).run(weather)
        assert result.tree.schema.classes == NAMES
        assert eval(repr(costs)) == pickle.loads(pickle.dumps(costs)) == costs
        assert hash(eval(repr(costs))) == hash(costs)

    @pytest.mark.parametrize("kind", [pd.DataFrame, lambda rows: pl.DataFrame(rows, orient="row")])
    def test_frames_without_names_are_arrays(self, kind):
        costs = Costs(kind([[0, 1], [2, 0]]))
        assert costs == Costs([[0, 1], [2, 0]])
        assert GreedyTreeSearch(costs=kind([[0, 1], [2, 0]])).costs == [[0, 1], [2, 0]]

    def test_it_is_frozen_and_compares(self):
        costs = Costs([[0, 1], [2, 0]])
        assert costs == Costs(np.array([[0, 1], [2, 0]]))
        assert costs != Costs([[0, 1], [2, 0]], classes=["a", "b"])
        assert (costs.matrix, costs.classes, costs.labels) == (((0.0, 1.0), (2.0, 0.0)), None, None)
        assert Costs([[0, 1], [2, 0]], classes=["a", "b"]).labels == ("a", "b")
        with pytest.raises(AttributeError):
            costs.matrix = ()

    @pytest.mark.parametrize(
        ("labels", "rows"),
        [
            ([False, True], [False, True]),
            ([False, True], ["False", "True"]),
            ([False, True], ["false", "true"]),
            ([0, 1], [0, 1]),
            ([0, 1], ["0", "1"]),
            ([0, 1], [0.0, 1.0]),
            ([0.0, 1.0], ["0.0", "1.0"]),
            ([0.0, 1.0], [0, 1]),
            ([date(2020, 1, 1), date(2021, 1, 1)], [date(2020, 1, 1), date(2021, 1, 1)]),
        ],
    )
    def test_classes_match_by_text(self, labels, rows):
        table = pl.DataFrame({"x": [0, 0, 0, 1, 1, 1], "y": [labels[0], *labels, *labels, labels[1]]})
        data = Dataset(table, "y")
        costs = Costs([[0, 9], [1, 0]], classes=rows)
        turned = Costs([[0, 1], [9, 0]], classes=rows[::-1])
        first, second = (OptimalTreeSearch(max_depth=1, objective=one).run(data) for one in (costs, turned))
        assert first.tree == second.tree
        assert first.objective == 3
        assert Dataset(table, "y", costs={row: [0, 1, 2, 3, 4, 5] for row in rows}).costs.columns == [
            OptimalTreeSearch(max_depth=0).run(data).tree.predict_proba(table).columns[place].removesuffix(".0")
            for place in range(2)
        ]

    @pytest.mark.parametrize(
        ("given", "keywords", "text"),
        [
            ([[0, float("nan")], [1, 0]], {}, "`matrix` must hold finite numbers, got nan in row 0, column 1"),
            ([[0, float("inf")], [1, 0]], {}, "got inf in row 0, column 1"),
            ([[0, 1], [None, 0]], {"classes": ["a", "b"]}, 'got None in row "b", column "a"'),
            ([[0, "x"], [1, 0]], {}, "got 'x' in row 0, column 1"),
            ([[0, True], [1, 0]], {}, "got True in row 0, column 1"),
            ({"class": ["a", "b"], "a": [0, 1], "b": [None, 0]}, {}, 'got None in row "a", column "b"'),
            ([[0, 1], [1]], {}, "as many costs in each row, got 1 in row 1 and 2 in the first"),
            ([0, 1], {}, "two dimensions"),
            ([], {}, "got none"),
            ([[]], {}, "got none"),
            (pd.DataFrame({"a": [0, 1], "b": [1, 0]}), {}, "`classes` must name the rows of a frame that does not"),
            ({"a": [0, 1], "b": [1, 0]}, {}, "`classes` must name the rows of a frame that does not"),
            ([[0, 1], [1, 0]], {"classes": ["a"]}, '`classes` must be one for each of the 2 rows .*, got 1: "a"'),
            ([[0, 1], [1, 0]], {"classes": ["a", "a"]}, '`classes` must be distinct, got "a" twice'),
            ([[0, 1, 2], [1, 0, 2]], {"labels": ["a", "b"]}, "`labels` must be one for each of the 3 columns"),
            ([[0, 1, 2], [1, 0, 2]], {"classes": ["a", "b"]}, "`labels` must be one for each of the 3 columns"),
            (pl.DataFrame({"class": ["a"], "a": [0]}), {"labels": ["b"]}, "`labels` must be None where the matrix"),
        ],
    )
    def test_errors(self, given, keywords, text):
        with pytest.raises(ParameterError, match=text):
            Costs(given, **keywords)

    @pytest.mark.parametrize("given", ["high", 3, None])
    def test_what_is_no_matrix(self, given):
        with pytest.raises(TypeError, match="`matrix` must be an array of costs"):
            Costs(given)

    @pytest.mark.parametrize(
        ("costs", "text"),
        [
            (Costs([[0]]), '`objective` must be costs with a row for each of the 2 classes, "no", "yes", got 1 rows'),
            (Costs([[0, 1, 2], [1, 0, 2]]), "a column for each of the 2 classes, .*, got 3 columns: name the others"),
            (Costs([[0, 1], [1, 0]], classes=["no", "maybe"]), 'none for "yes": its rows are "no", "maybe"'),
            (Costs([[0, 1]] * 3, classes=["no", "yes", "so"], labels=["no", "yes"]), 'got "so"'),
            (Costs([[0, 1]] * 2, labels=["no", "so"]), 'a column for each class, got none for "yes"'),
        ],
    )
    def test_costs_must_be_those_of_the_classes(self, costs, text, weather):
        with pytest.raises(ParameterError, match=text):
            OptimalTreeSearch(objective=costs).run(weather)

    def test_greedy_searches_read_names(self, weather):
        plain = GreedyTreeSearch(criterion="gini", max_depth=2, costs=[[0, 1], [5, 0]]).run(weather).tree
        frame = pd.DataFrame([[0, 5], [1, 0]], index=["yes", "no"], columns=["yes", "no"])
        for costs in (
            frame,
            pl.from_pandas(frame.reset_index()),
            Costs(frame),
            {"class": ["no", "yes"], "yes": [1, 0], "no": [0, 5]},
        ):
            search = GreedyTreeSearch(criterion="gini", max_depth=2, costs=costs)
            assert search.run(weather).tree == plain
            assert isinstance(search.costs, Costs)
            assert pickle.loads(pickle.dumps(search)).run(weather).tree == plain
            assert eval(repr(search), vars(lattree)).costs == search.costs
        chosen = lattree.ExhaustiveSubsetSearch(error="training", costs=frame).run(weather)
        same = lattree.ExhaustiveSubsetSearch(error="training", costs=[[0, 1], [5, 0]]).run(weather)
        assert (chosen.tree, chosen.error) == (same.tree, same.error)

    @pytest.mark.parametrize(
        ("costs", "text"),
        [
            (Costs(MATRIX, labels=NAMES), '`costs` must be costs of labels that are classes, got "refer"'),
            (Costs([[1, 1], [1, 0]]), "`costs` must be finite, not negative, and 0 on the diagonal"),
            (Costs([[0, -1], [1, 0]], classes=["no", "yes"]), "`costs` must be finite, not negative"),
            (pd.DataFrame([[0, 1], [1, 0]], index=["no", "so"], columns=["no", "so"]), '`costs` .* got none for "yes"'),
        ],
    )
    def test_greedy_searches_take_costs_of_errors_only(self, costs, text, weather):
        for search in (GreedyTreeSearch, lattree.BackwardEliminationSearch):
            with pytest.raises(ParameterError, match=text):
                search(costs=costs).run(weather)


class TestParameters:
    def test_they_read_back(self):
        costs = Costs([[0, 1], [2, 0]])
        for keywords in (
            {"objective": "balanced_errors", "abstain": 0.25},
            {"objective": costs, "class_weight": {"no": 2.0}},
            {"objective": "costs", "class_weight": "balanced", "abstain": -1.5},
        ):
            search = OptimalTreeSearch(**keywords)
            again = pickle.loads(pickle.dumps(search))
            for name, value in keywords.items():
                assert getattr(search, name) == getattr(again, name) == value
            assert repr(
                eval(repr(search), {"Binarizer": Binarizer, "Costs": Costs, "OptimalTreeSearch": OptimalTreeSearch})
            ) == repr(search)
            assert repr(again) == repr(search)

    @pytest.mark.parametrize(
        ("keywords", "text"),
        [
            ({"objective": "error"}, '`objective` must be one of "errors", "balanced_errors", "costs", got "error"'),
            ({"abstain": float("nan")}, "`abstain` must be a finite cost"),
            ({"class_weight": "even"}, '`class_weight` must be "balanced"'),
            ({"class_weight": {"no": -1}}, "`class_weight`"),
            ({"objective": "balanced_errors", "class_weight": "balanced"}, "`class_weight` must be None where"),
            ({"objective": "balanced_errors", "class_weight": {"no": 2}}, "`class_weight` must be None where"),
        ],
    )
    def test_they_are_checked_at_once(self, keywords, text):
        with pytest.raises(ParameterError, match=text):
            OptimalTreeSearch(**keywords)

    @pytest.mark.parametrize("objective", [3, None, [[0, 1], [1, 0]], np.eye(2)])
    def test_an_objective_is_a_name_or_costs(self, objective):
        with pytest.raises(TypeError, match=r"`objective` must be one of .*, or a lattree\.Costs, got"):
            OptimalTreeSearch(objective=objective)

    def test_a_frame_is_an_objective(self, weather):
        frame = pd.DataFrame([[0, 1], [5, 0]], index=["no", "yes"], columns=["no", "yes"])
        search = OptimalTreeSearch(max_depth=1, objective=frame)
        assert search.objective == Costs(frame)

    def test_class_weights_name_classes(self, weather):
        with pytest.raises(
            ParameterError, match=r"`class_weight` must be weights of labels among \['no', 'yes'\], got"
        ):
            OptimalTreeSearch(class_weight={"maybe": 1}).run(weather)

    def test_what_needs_a_target(self):
        data = Dataset({"x": [0, 1]}, costs=np.eye(2))
        for keywords in ({}, {"objective": Costs([[0, 1], [1, 0]])}, {"objective": "costs", "class_weight": {"0": 2}}):
            with pytest.raises(DataError, match="OptimalTreeSearch needs classes, but the target is absent"):
                OptimalTreeSearch(**keywords).run(data)

    def test_costs_must_be_there(self, weather):
        with pytest.raises(ParameterError, match='"costs" only for a dataset that has costs'):
            OptimalTreeSearch(objective="costs").run(weather)

    def test_a_label_is_named_once(self):
        data = Dataset({"x": [0, 1], "y": ["abstain", "no"]}, "y")
        with pytest.raises(DataError, match='the label "abstain" is that of a class already'):
            OptimalTreeSearch(abstain=0.1).run(data)

    def test_the_gap_where_costs_are_negative(self):
        random = np.random.default_rng(0)
        data = Dataset.from_arrays(random.normal(size=(400, 6)), rewards=random.normal(size=(400, 3)) + 1)
        reports = []
        result = OptimalTreeSearch(max_depth=4, objective="costs", node_limit=2000, threads=1).run(
            data, progress=reports.append
        )
        assert result.lower_bound <= result.objective < 0
        assert 0 <= result.gap <= 2
        if result.status != "optimal":
            assert result.gap == (result.objective - result.lower_bound) / -result.lower_bound
        assert all(report.gap is None or 0 <= report.gap <= 2 for report in reports)


class TestCaseCosts:
    """`Dataset(..., costs=...)`."""

    table = pl.DataFrame({"x": [1, 2, 3], "y": ["b", "a", "b"], "a": [0, 1, 2], "b": [3, 4, 5], "c": [6.5, 7, 8]})
    costs = table.select("a", "b", "c").cast(pl.Float64)

    def forms(self):
        costs, table = self.costs, self.table.select("x", "y")
        yield Dataset(self.table, "y", costs=["c", "b", "a"]), ["c", "b", "a"]
        yield Dataset(table, "y", costs=costs), ["a", "b", "c"]
        yield Dataset(table, "y", costs=costs.lazy()), ["a", "b", "c"]
        yield Dataset(table, "y", costs=costs.to_pandas()), ["a", "b", "c"]
        yield Dataset(table, "y", costs=costs.to_arrow()), ["a", "b", "c"]
        yield Dataset(table, "y", costs=costs.to_dict(as_series=False)), ["a", "b", "c"]
        yield Dataset(self.table, "y", costs={"b": "b", "c": "c", "a": [0, 1, 2]}, drop=["a"]), ["b", "c", "a"]
        yield Dataset(self.table.to_pandas(), "y", costs=["a", "b", "c"]), ["a", "b", "c"]
        yield Dataset(table.to_arrow(), "y", rewards=costs * -1), ["a", "b", "c"]
        yield Dataset.from_arrays(np.ones((3, 1)), ["b", "a", "b"], ["x"], costs=costs), ["a", "b", "c"]

    def test_forms(self):
        for data, labels in self.forms():
            assert data.costs.equals(self.costs.select(labels)), labels
            assert data.schema.feature_names == ["x"]

    def test_arrays_are_in_the_order_of_the_classes(self):
        table = self.table.select("x", "y")
        for array in (np.array([[0, 3], [1, 4], [2, 5]]), [[0, 3], [1, 4], [2, 5]], [(0, 3), (1, 4), (2, 5)]):
            assert Dataset(table, "y", costs=array).costs.equals(self.costs.select("a", "b"))
            assert Dataset(table, costs=array).costs.columns == ["0", "1"]
        rewards = Dataset(table, "y", rewards=np.array([[0.0, 3], [1, 4], [2, 5]]))
        assert rewards.costs["b"].to_list() == [-3, -4, -5]

    def test_they_follow_their_rows(self):
        data = Dataset(self.table, "y", costs=["a", "b", "c"])
        assert Dataset(self.table, "y").costs is None
        taken = data.take([2, 0, 2])
        assert taken.costs.equals(self.costs[[2, 0, 2]])
        assert data.select([]).costs.equals(self.costs)
        assert pickle.loads(pickle.dumps(taken)).costs.equals(taken.costs)
        assert [part.costs.height for pair in data.folds(3, stratify=False) for part in pair] == [2, 1] * 3
        assert 'costs of each row: "a", "b", "c"' in repr(data)
        assert data.to_polars().columns == ["x", "y"]
        mapped = Dataset(self.table.select("x"), like=data)
        assert mapped.costs is None
        again = Dataset(self.table, like=data, costs=["c", "b", "a"])
        assert again.costs.equals(self.costs.select("c", "b", "a"))
        assert again.schema == data.schema

    def test_files_have_them_too(self, tmp_path):
        self.table.write_csv(tmp_path / "t.csv")
        self.table.write_parquet(tmp_path / "t.parquet")
        data = lattree.read_csv(tmp_path / "t.csv", "y", costs=["a", "b", "c"])
        assert data.costs.equals(self.costs)
        assert lattree.read_csv(tmp_path / "t.csv", like=data, costs=["a", "b", "c"]).costs.equals(self.costs)
        assert lattree.read_csv(tmp_path / "t.csv", like=data).costs is None
        assert lattree.read_parquet(tmp_path / "t.parquet", "y", rewards=["a", "b"]).costs["a"].to_list() == [0, -1, -2]

    @pytest.mark.parametrize(
        ("keywords", "text"),
        [
            ({"costs": {"a": [0, None, 1], "b": [1, 2, 3]}}, '`costs` at row 1 for the label "a" is missing'),
            ({"costs": {"a": [0, 1, float("nan")], "b": [1, 2, 3]}}, '`costs` at row 2 for the label "a" is missing'),
            (
                {"rewards": {"a": [0, 1, 2], "b": [1.0, float("-inf"), 3]}},
                '`rewards` at row 1 for the label "b" is -inf',
            ),
            (
                {"costs": {"a": [0, 1, 2], "b": ["x", "y", "z"]}},
                "`costs` for the label \"b\" is String, from 'x' at row 0",
            ),
            ({"costs": {"a": [0, 1, 2], "b": [None, None, None]}}, '`costs` at row 0 for the label "b" is missing'),
            ({"costs": ["a", "d"]}, '`costs` names "d", which is no column; the columns are'),
            ({"costs": ["a", "y"]}, '`costs` names column "y", which has another role already'),
            ({"costs": ["a", "c"]}, '`costs` has no column for the class "b", only for "a", "c"'),
            ({"costs": ["a", "b", "a"]}, '`costs` has the label "a" twice'),
            ({"costs": np.ones((3, 3))}, "`costs` has 3 columns, and there are 2 classes"),
            ({"costs": np.ones((2, 2))}, '`costs` has 2 rows for the label "a", the table has 3'),
            ({"costs": np.ones(3)}, r"`costs` must be of shape \(n_rows, n_labels\)"),
            ({"rewards": [[1, 2], [3]]}, r"`rewards` must be of shape \(n_rows, n_labels\)"),
            ({"costs": pl.DataFrame({"a": [1, 2], "b": [1, 2]})}, '`costs` has 2 rows for the label "a"'),
        ],
    )
    def test_errors(self, keywords, text):
        with pytest.raises(DataError, match=text):
            Dataset(self.table, "y", **keywords)

    def test_costs_or_rewards(self):
        with pytest.raises(ParameterError, match="`costs` and `rewards` exclude each other"):
            Dataset(self.table, "y", costs=["a", "b"], rewards=["a", "b"])
        for wrong in (3, pl.Series([1, 2, 3]), b"a", {"a", "b"}):
            with pytest.raises(TypeError, match="`costs` must be names of columns"):
                Dataset(self.table, "y", costs=wrong)

    def test_a_feature_may_be_called_label(self):
        data = Dataset({"label": [0, 1, 0, 1]}, rewards=[[1, 0], [0, 1], [1, 0], [0, 2]])
        tree = OptimalTreeSearch(max_depth=1, objective="costs").run(data).tree
        assert tree.schema.target not in tree.schema.feature_names
        assert tree.predict({"label": [1, 0]}).to_list() == ["1", "0"]
        assert Dataset({"label": [1, 0]}, like=tree).n_features == 1


def noisy(labels, dtype=None):
    """A table where x says the label, but in the middle, where it is any."""
    y = [labels[0]] * 20 + [labels[0], labels[1]] * 5 + [labels[1]] * 20
    return pl.DataFrame({"x": [0] * 20 + [1] * 10 + [2] * 20, "y": pl.Series(y, dtype=dtype)})


LABELS = {
    "text": (["no", "yes"], None, "abstain"),
    "enum": (["no", "yes"], pl.Enum(["no", "yes"]), "abstain"),
    "category": (["no", "yes"], pl.Categorical(), "abstain"),
    "int": ([3, 8], pl.Int64(), None),
    "small": ([3, 8], pl.UInt8(), None),
    "bool": ([False, True], None, None),
    "float": ([0.0, 2.0], None, None),
    "date": ([date(2020, 1, 1), date(2021, 5, 7)], None, None),
}


class TestAbstaining:
    @pytest.mark.parametrize("kind", LABELS)
    def test_what_is_predicted(self, kind):
        labels, dtype, stands = LABELS[kind]
        table = noisy(labels, dtype)
        result = OptimalTreeSearch(max_depth=2, abstain=0.3).run(Dataset(table, "y"))
        tree = result.tree
        assert result.objective == pytest.approx(3)
        assert tree.schema.classes[-1] == "abstain"
        rows = pl.DataFrame({"x": [0, 1, 2]})
        expected = [labels[0], stands, labels[1]]
        assert tree.predict(rows).to_list() == expected
        assert tree.predict(Dataset(rows, like=tree)).to_list() == expected
        assert tree.predict(rows.to_arrow()).to_pylist() == expected
        for found in (tree.predict(rows.to_pandas()).to_list(), tree.predict(rows.to_numpy()).tolist()):
            assert found[1] == stands or (stands is None and (found[1] is None or pd.isna(found[1])))
            assert pd.Series([found[0], found[2]]).astype(str).str.startswith(tuple(map(str, labels))).all()
        shares = tree.predict_proba(rows)
        assert shares.columns[-1] == "abstain"
        assert shares["abstain"].to_list() == [0, 0, 0]
        assert shares.row(1)[:2] == (0.5, 0.5)
        assert tree.predict_proba(rows.to_pandas()).columns.to_list()[-1] == "abstain"
        node = next(node for node in tree.nodes() if node.prediction == "abstain")
        assert (node.is_leaf, node.mass, node.errors) == (True, 10, 10)
        assert tree.to_frame()["prediction"][node.index] == stands
        assert "abstain" in tree.to_text()
        assert "abstain" in tree.to_dot()
        assert "abstain" in tree.explain({"x": 1})
        assert [rule.prediction for rule in tree.rules()].count("abstain") == 1
        assert pickle.loads(pickle.dumps(tree.rules())) == tree.rules()
        assert Tree.from_json(tree.to_json()) == pickle.loads(pickle.dumps(tree)) == tree
        assert json.loads(tree.to_json())["schema"]["target"]["task"]["classes"]["with_extra"]["extra"] == ["abstain"]
        assert lattree.experiments.error_rate(tree, Dataset(table, "y")) == pytest.approx(10 / 50)

    def test_a_table_like_the_tree_is_searched_again(self):
        table = noisy(["no", "yes"])
        tree = OptimalTreeSearch(max_depth=2, abstain=0.3).run(Dataset(table, "y")).tree
        for like in (tree, tree.schema):
            data = Dataset(table, like=like)
            assert data.schema.classes == ["no", "yes"]
            assert pickle.loads(pickle.dumps(data)).schema == data.schema
            assert OptimalTreeSearch(max_depth=2, abstain=0.3).run(data).tree == tree

    def test_a_dear_price_is_never_paid(self, weather):
        plain = OptimalTreeSearch(max_depth=2).run(weather)
        dear = OptimalTreeSearch(max_depth=2, abstain=1.0).run(weather)
        assert (dear.objective, dear.tree.schema.classes) == (plain.objective, ["no", "yes"])

    def test_two_labels_that_are_no_classes(self):
        table = noisy([3, 8])
        costs = Costs([[0, 1, 0.3], [1, 0, 0.3]], labels=[3, 8, "refer"])
        tree = OptimalTreeSearch(max_depth=2, objective=costs, abstain=0.25).run(Dataset(table, "y")).tree
        assert tree.schema.classes == [3, 8, "refer", "abstain"]
        assert tree.predict({"x": [0, 1]}).to_list() == [3, None]
        assert {node.prediction for node in tree.nodes() if node.is_leaf} == {3, 8, "abstain"}


def test_brute_force_is_right():
    X = np.array([[0.0], [1.0], [2.0]])
    costs = np.array([[0, 5], [3, 0], [0, 2]], dtype=float)
    assert [least(X, costs, depth) for depth in (0, 1, 2)] == [3, 2, 0]
    assert least(X, costs, 2, penalty=1) == 2
    trees = itertools.product(range(2), repeat=3)
    assert min(costs[np.arange(3), list(labels)].sum() for labels in trees) == 0
