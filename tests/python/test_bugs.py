"""Cases of the users' bug log (ids B..) against the search: the right answer, or an error that says what is wrong.

B09 (Ctrl-C) is in test_limits.py, B28 (processes, pickle) in test_processes.py; the tables' side of B11, B13, B25, B27
and B29 is in test_table.py, test_target.py and test_like.py.
"""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import lattree
import oracle
from lattree import Binarizer, DataError, Dataset, OptimalTreeSearch, ParameterError

ALL = Binarizer(thresholds="all")


def bits(rows):
    return np.array([[int(bit) for bit in row] for row in rows.split(",")])


def solve(X, y, *, counts=None, weight=None, **parameters):
    data = Dataset.from_arrays(X, y, counts=counts, weight=weight)
    return data, OptimalTreeSearch(**({"binarizer": ALL} | parameters)).run(data)


def brute_force(X, y, depth, **limits):
    tests = [test for column in np.asarray(X).T for test in oracle.ordered_tests(column.tolist())]
    return float(oracle.least_cost(tests, list(y), depth, **limits))


def equals_brute_force(errors, X, y, depth, *, min_leaf=1, nodes=None, penalty=0.0, counts=None, weight=None):
    data, result = solve(
        X, y, counts=counts, weight=weight, max_depth=depth, min_leaf=min_leaf, max_nodes=nodes, node_penalty=penalty
    )
    least = brute_force(X, y, depth, min_leaf=min_leaf, nodes=nodes, penalty=penalty, counts=counts, weight=weight)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(least, rel=0, abs=1e-9)
    assert result.lower_bound == result.objective
    cost = errors(data, result.tree) + penalty * result.tree.n_nodes
    assert cost == pytest.approx(least, rel=0, abs=1e-9)
    return result


class TestOracle:
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    xor = (0, 1, 1, 0)

    def test_limits(self):
        costs = {depth: brute_force(self.X, self.xor, depth) for depth in range(4)}
        assert costs == {0: 2, 1: 2, 2: 0, 3: 0}
        assert [brute_force(self.X, self.xor, 2, nodes=nodes) for nodes in range(4)] == [2, 2, 1, 0]
        assert brute_force(self.X, self.xor, 2, min_leaf=2) == 2
        assert brute_force(self.X, self.xor, 2, min_leaf=2, counts=[2, 2, 2, 2]) == 0
        assert brute_force(self.X, self.xor, 2, penalty=0.5) == 1.5
        assert brute_force(self.X, self.xor, 2, penalty=0.75) == 2

    def test_masses(self):
        assert brute_force(self.X, self.xor, 0, counts=[3, 1, 1, 1]) == 2
        assert brute_force(self.X, self.xor, 0, weight=[0.25, 1, 1, 0]) == 0.25
        assert brute_force(self.X, self.xor, 1, weight=[1, 1, 0, 1]) == 0.0 + 1
        assert brute_force(self.X, self.xor, 1, counts=[1, 1, 0, 0]) == 0

    def test_tests(self):
        assert oracle.ordered_tests([3, None, 1, 2, 1]) == [0b10100, 0b11100]
        assert oracle.level_tests(["b", None, "a"]) == [0b100, 0b001]
        assert sorted(oracle.level_tests(["b", "c", "a"], subsets=True)) == [1, 2, 3, 4, 5, 6, 7]
        assert oracle.missing_test([None, 0, None]) == [0b101]


def test_b02_min_leaf_holds_in_the_depth_two_solver(errors):
    X = bits("0011,1101,1110,1011,1110,0110,0110,1110,0101,0010")
    y = [0, 1, 2, 1, 1, 2, 2, 0, 2, 1]
    result = equals_brute_force(errors, X, y, 2, min_leaf=3)
    assert result.objective == 3
    assert min(rule.mass for rule in result.tree.rules()) >= 3


def test_b04_min_leaf_of_two_still_splits(errors):
    X = bits("11,10,01,11,00,10")
    result = equals_brute_force(errors, X, [1, 0, 1, 0, 0, 1], 2, min_leaf=2)
    assert result.objective == 2


@pytest.mark.parametrize("seed", range(30))
def test_b04_min_leaf_equals_brute_force(errors, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 81))
    X = rng.integers(0, 2, (n, 5))
    y = rng.integers(0, 2 + seed % 2, n)
    result = equals_brute_force(errors, X, y.tolist(), 2 + seed % 3 // 2, min_leaf=int(rng.integers(2, 9)))
    assert result.tree.n_nodes <= 7


@pytest.mark.parametrize("seed", range(24))
def test_b05_deep_trees_with_a_node_penalty_equal_brute_force(errors, seed):
    rng = np.random.default_rng(100 + seed)
    n, columns = int(rng.integers(20, 41)), int(rng.integers(4, 7))
    values = 2 if seed % 2 else 4 if columns < 5 else 3
    X = rng.integers(0, values, (n, columns))
    y = rng.integers(0, 2 + seed % 3 // 2, n)
    penalty = [0.0, 0.01 * n, 0.15 * n, 0.25, 1.0, 0.05 * n][seed % 6]
    equals_brute_force(errors, X, y.tolist(), 5 + seed % 2, penalty=penalty)


@pytest.mark.parametrize("seed", range(12))
def test_b05_deep_trees_with_a_node_budget_equal_brute_force(errors, seed):
    rng = np.random.default_rng(200 + seed)
    n = int(rng.integers(20, 41))
    X, y = rng.integers(0, 2, (n, 4)), rng.integers(0, 2, n)
    nodes = int(rng.integers(2, 12))
    result = equals_brute_force(errors, X, y.tolist(), 5, nodes=nodes, penalty=[0.0, 0.5][seed % 2])
    assert result.tree.n_nodes <= nodes


@pytest.mark.parametrize("engine", ["auto", "tests"])
def test_fault_x13_branches_of_a_leaf_or_a_stump_are_not_searched(engine):
    """On noise, where bounds are weak, each branch solved for its cost as a leaf takes a tree of depth two."""
    rng = np.random.default_rng(0)
    data = Dataset.from_arrays(rng.random((200, 5)), rng.integers(0, 2, 200))
    search = OptimalTreeSearch(max_depth=4, max_nodes=5, rank="objective", engine=engine, threads=1)
    result = search.run(data)
    assert result.status == "optimal"
    assert result.stats["depth_two"] < 6_000  # 15,000 if they are


@pytest.mark.parametrize("seed", range(12))
def test_b06_rows_that_contradict_each_other_equal_brute_force(errors, seed):
    rng = np.random.default_rng(300 + seed)
    vectors = rng.integers(0, 2, (6, 5))
    X = vectors[rng.integers(0, 6, 40)]
    y = rng.integers(0, 2 + seed % 3, 40)
    equals_brute_force(errors, X, y.tolist(), 3, min_leaf=1 + seed % 2, penalty=[0.0, 0.3][seed % 2])


def test_b06_a_split_must_earn_its_penalty(errors):
    x0 = [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    zero_gain = [0, 1, 0, 1, 0, 0, 0, 1, 1, 1]
    y = [0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    assert equals_brute_force(errors, np.c_[x0], y, 2, penalty=0.5).tree.n_nodes == 0
    saves_one = [0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    result = equals_brute_force(errors, np.c_[x0, zero_gain, saves_one], y, 2, penalty=0.5)
    assert (result.tree.features, result.objective) == (["x2"], 0.5)
    # 0.9 of an error is less than one; a whole error is not worth a whole error: a leaf is first among equals.
    assert equals_brute_force(errors, np.c_[saves_one], y, 2, penalty=0.9).tree.n_nodes == 1
    assert equals_brute_force(errors, np.c_[saves_one], y, 2, penalty=1.0).tree.n_nodes == 0
    assert equals_brute_force(errors, np.c_[saves_one], y, 2, penalty=1.1).tree.n_nodes == 0


def test_b07_parameters_stay_as_given_and_a_small_penalty_counts():
    rng = np.random.default_rng(7)
    X = rng.integers(0, 2, (50, 4))
    data = Dataset.from_arrays(X, X[:, 0])
    search = OptimalTreeSearch(max_depth=3, node_penalty=1e-4, threads=2)
    before = repr(search)
    result = search.run(data)
    assert (search.node_penalty, search.max_depth, search.threads) == (1e-4, 3, 2)
    assert repr(search) == before
    assert result.status == "optimal"
    assert result.objective == pytest.approx(1e-4, rel=1e-12)
    assert result.tree.features == ["x0"]


def test_b07_same_tree_for_every_number_of_threads_again_and_again():
    rng = np.random.default_rng(8)
    X = rng.integers(0, 2, (120, 45))
    data = Dataset.from_arrays(X, rng.integers(0, 3, 120))
    search = {threads: OptimalTreeSearch(max_depth=3, node_penalty=1e-4, threads=threads) for threads in range(1, 9)}
    first = search[1].run(data)
    for threads, one in search.items():
        for _ in range(4):
            result = one.run(data)
            assert (result.status, result.objective) == ("optimal", first.objective)
            assert result.tree == first.tree, f"{threads} threads"
            assert result.tree.to_json() == first.tree.to_json()
    parallel = solve(rng.integers(0, 2, (2000, 70)), rng.integers(0, 2, 2000), max_depth=3, threads=4, time_limit=0.5)
    assert parallel[1].stats["threads"] == 4, "the runs above may be too small for a pool, this one is not"


def normals(rng):
    return rng.normal(size=(600, 8)), rng.integers(0, 2, 600)


def coins(rng):
    return rng.integers(0, 2, (1500, 70)), rng.integers(0, 2, 1500)


@pytest.mark.parametrize(
    ("make", "depth", "threads"),
    [
        pytest.param(normals, 20, 1, id="600 x 8 normals, no depth limit, one thread"),
        pytest.param(normals, 20, None, id="600 x 8 normals, no depth limit"),
        pytest.param(coins, 6, None, id="1500 x 70 bits, depth 6"),
    ],
)
def test_b08_a_limit_of_one_second_is_kept(errors, make, depth, threads):
    data = Dataset.from_arrays(*make(np.random.default_rng(9)))
    search = OptimalTreeSearch(max_depth=depth, binarizer=ALL, time_limit=1.0, threads=threads)
    result = search.run(data)
    assert result.seconds >= 1.0
    assert result.status == "time_limit"
    assert result.lower_bound <= result.objective == errors(data, result.tree)
    assert result.objective < np.bincount(data.to_polars()["target"]).min(), "better than a leaf after a second"


@pytest.mark.parametrize("labels", [(0, 1_000_000), (0, 2**40), (-(2**62), 2**40), (-1, 0)])
def test_b12_huge_labels_cost_nothing(labels):
    rng = np.random.default_rng(10)
    X = rng.integers(0, 2, (60, 6))
    codes = np.where(rng.random(60) < 0.2, 1 - X[:, 0] * X[:, 1], X[:, 0] * X[:, 1])
    plain = solve(X, codes, max_depth=3)[1]
    y = np.array(labels, dtype=np.int64)[codes]
    data, huge = solve(X, y, max_depth=3)
    assert huge.objective == plain.objective
    counters = [{k: v for k, v in r.stats.items() if not k.endswith("_us")} for r in (huge, plain)]
    assert counters[0] == counters[1]
    predicted = huge.tree.predict(data)
    assert predicted.dtype == pl.Int64
    assert set(predicted) == set(labels)
    assert [rule.conditions for rule in huge.tree.rules()] == [rule.conditions for rule in plain.tree.rules()]


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(lambda rng: rng.normal(size=60), id="normals"),
        pytest.param(lambda rng: rng.choice([-1, 1], 60), id="minus one and one"),
        pytest.param(lambda rng: rng.random(60), id="below one"),
        pytest.param(lambda rng: rng.choice([0, 2**40], 60), id="2**40"),
        pytest.param(lambda rng: rng.choice([2**62, 2**62 + 1], 60), id="neighbours beyond 2**53"),
        pytest.param(lambda rng: pd.Categorical(rng.choice(["p", "q"], 60)), id="categories"),
        pytest.param(lambda rng: rng.choice([True, False], 60), id="booleans"),
        pytest.param(lambda rng: rng.choice([0.0, 5e-324], 60), id="smallest float"),
    ],
)
def test_b13_no_column_loses_its_values(values, errors):
    column = values(np.random.default_rng(11))
    labels = np.asarray(pd.Series(column).rank(method="dense") > pd.Series(column).nunique() // 2)
    data = Dataset(pd.DataFrame({"x": column}), labels)
    result = OptimalTreeSearch(max_depth=1, binarizer=ALL).run(data)
    assert len(result.tests) >= 1
    assert (result.objective, result.tree.n_nodes) == (0, 1)
    assert errors(data, result.tree) == 0
    assert (result.tree.predict(pd.DataFrame({"x": column})).to_numpy() == labels).all()


class TestB19:
    """Counts are repetitions; weights scale the objective; what has none of either is not there."""

    rng = np.random.default_rng(12)
    X = rng.random((20, 40)).round(2)
    y = rng.integers(0, 3, 20)
    many = rng.integers(0, 5, 20)

    @pytest.mark.parametrize("min_leaf", [1, 2, 3, 7])
    def test_b19_counts_are_repeated_rows(self, min_leaf):
        rows = np.repeat(np.arange(20), self.many)
        counted = solve(self.X, self.y, counts=self.many, max_depth=2, min_leaf=min_leaf)[1]
        repeated = solve(self.X[rows], self.y[rows], max_depth=2, min_leaf=min_leaf)[1]
        assert counted.objective == repeated.objective
        assert counted.tests == repeated.tests
        assert counted.tree.to_text() == repeated.tree.to_text()

    def test_b19_whole_weights_are_repeated_rows_without_a_min_leaf(self):
        rows = np.repeat(np.arange(20), self.many)
        weighted = solve(self.X, self.y, weight=self.many, max_depth=2)[1]
        repeated = solve(self.X[rows], self.y[rows], max_depth=2)[1]
        assert weighted.objective == repeated.objective
        assert weighted.tree.to_text() == repeated.tree.to_text()

    def test_b19_weights_do_not_count_toward_min_leaf(self):
        weighted = solve(self.X, self.y, weight=np.full(20, 100.0), max_depth=2, min_leaf=11)[1]
        assert weighted.tree.n_nodes == 0
        light = solve(self.X, self.y, weight=np.full(20, 0.25), max_depth=2, min_leaf=5)[1]
        plain = solve(self.X, self.y, max_depth=2, min_leaf=5)[1]
        assert light.objective == plain.objective / 4
        assert light.resolution == 0.25
        assert [rule.conditions for rule in light.tree.rules()] == [rule.conditions for rule in plain.tree.rules()]

    @pytest.mark.parametrize("role", ["counts", "weight"])
    def test_b19_zero_is_as_if_the_row_were_not_there(self, role):
        keep = np.flatnonzero(self.many)
        X = self.X.copy()
        X[self.many == 0] = 99.0  # would offer tests if it counted
        zeroed = solve(X, self.y, **{role: (self.many > 0).astype(int)}, max_depth=2)[1]
        without = solve(X[keep], self.y[keep], max_depth=2)[1]
        assert zeroed.tests == without.tests
        assert zeroed.objective == without.objective
        assert zeroed.tree.to_text() == without.tree.to_text()

    def test_b19_a_class_without_weight_has_probability_zero(self):
        data, result = solve(self.X, self.y, weight=np.where(self.y == 1, 0.0, 1.5), max_depth=2)
        assert data.schema.classes == [0, 1, 2]
        proba = result.tree.predict_proba(data)
        assert proba.shape == (20, 3)
        assert (proba[:, 1] == 0).all()
        assert 1 not in set(result.tree.predict(data))

    @pytest.mark.parametrize("seed", range(8))
    def test_b19_real_weights_equal_brute_force(self, seed, errors):
        rng = np.random.default_rng(seed)
        X, y = rng.integers(0, 3, (25, 3)), rng.integers(0, 3, 25)
        weight = rng.choice([0.0, 0.1, 0.49, 0.5, 1.0, 3.7], 25)
        counts = rng.integers(0, 3, 25)
        equals_brute_force(
            errors, X, y.tolist(), 3, weight=weight.tolist(), counts=counts.tolist(), min_leaf=1 + seed % 3
        )


class TestB24:
    """A minimum leaf that no split can meet leaves the single leaf, which is always allowed."""

    rng = np.random.default_rng(13)
    X = rng.integers(0, 2, (60, 4))
    y = X[:, 0]

    @pytest.mark.parametrize("min_leaf", [31, 60, 61, 1000, 2**40])
    def test_b24_no_split_fits(self, min_leaf):
        data, result = solve(self.X, self.y, max_depth=2, min_leaf=min_leaf)
        assert result.status == "optimal"
        assert (result.tree.n_nodes, result.tree.n_leaves) == (0, 1)
        assert result.objective == result.lower_bound == np.bincount(self.y).min()
        assert result.tree.predict(data).n_unique() == 1

    def test_b24_half_and_half_fits_exactly(self):
        y = np.repeat([0, 1], 30)
        assert solve(y[:, None], y, max_depth=2, min_leaf=30)[1].objective == 0
        assert solve(y[:, None], y, max_depth=2, min_leaf=31)[1].objective == 30

    def test_b24_zero_is_refused(self):
        with pytest.raises(ParameterError, match="`min_leaf` must be at least 1, got 0"):
            OptimalTreeSearch(min_leaf=0)


class TestB25:
    """Degenerate tables give a leaf, or an error that says why."""

    @pytest.mark.parametrize(
        ("X", "y"),
        [
            pytest.param(np.ones((5, 3)), [0, 1, 1, 0, 1], id="constant columns"),
            pytest.param(np.eye(4), [7, 7, 7, 7], id="one class"),
            pytest.param(np.ones((1, 1)), ["only"], id="one row"),
            pytest.param(np.empty((3, 0)), [1, 2, 1], id="no column"),
            pytest.param(np.repeat([[1, 2]], 6, axis=0), [0, 1, 0, 1, 0, 1], id="one row repeated"),
            pytest.param(np.full((4, 2), np.nan), [0, 1, 1, 1], id="all missing"),
        ],
    )
    @pytest.mark.parametrize("depth", [0, 1, 4, 20])
    def test_b25_a_single_leaf(self, X, y, depth):
        data, result = solve(X, y, max_depth=depth)
        assert result.status == "optimal"
        assert result.tree.n_nodes == 0
        least = len(y) - max(y.count(label) for label in y)
        assert result.objective == result.lower_bound == least
        assert result.gap == 0
        assert set(result.tree.predict(data)) == {max(sorted(set(y)), key=y.count)}
        assert result.tree.apply(data).to_list() == [0] * len(y)
        assert result.tree.to_text()
        assert len(result.tree.rules()) == 1
        assert lattree.Tree.from_json(result.tree.to_json()) == result.tree

    def test_b25_no_rows(self):
        data = Dataset.from_arrays(np.empty((0, 3)), [])
        with pytest.raises(DataError, match="no case to learn from: the table has no row"):
            OptimalTreeSearch().run(data)
        tree = solve([[0], [1]], [0, 1])[1].tree
        assert tree.predict(np.empty((0, 1))).tolist() == []
        assert tree.predict_proba(np.empty((0, 1))).shape == (0, 2)
        for role in ("counts", "weight"):
            data = Dataset({"x": [1, 2]}, [0, 1], **{role: [0, 0]})
            with pytest.raises(DataError, match="every row has count or weight 0"):
                OptimalTreeSearch().run(data)

    def test_b25_more_columns_than_rows(self, errors):
        rng = np.random.default_rng(14)
        data, result = solve(rng.normal(size=(5, 300)), [0, 1, 0, 1, 1], max_depth=3)
        assert result.objective == errors(data, result.tree) == 0

    def test_b25_any_layout_gives_the_same_tree(self):
        rng = np.random.default_rng(15)
        X = rng.integers(0, 3, (40, 6)).astype(float)
        y = rng.integers(0, 2, 40)
        read_only = X.copy()
        read_only.flags.writeable = False
        wide = np.repeat(X, 2, axis=1)[:, ::2]
        expected = solve(X, y, max_depth=2)[1].tree
        for same in (read_only, np.asfortranarray(X), wide, X[::-1][::-1], X.astype(np.float32), X.tolist()):
            assert solve(same, y, max_depth=2)[1].tree == expected
