"""The tree alone: what `effort="tree"` and `seed` do."""

import threading
import time

import numpy as np
import pytest

from lattree import Costs, Dataset, OptimalTreeSearch, PolicyTreeSearch, datasets

ENGINES = pytest.mark.parametrize("engine", ["tests", "continuous"])


def noisy(rows, columns, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, 12, size=(rows, columns)).astype(float)
    return Dataset.from_arrays(numbers, rng.integers(0, classes, rows))


def run(data, **parameters):
    return OptimalTreeSearch(**({"max_depth": 5, "effort": "tree", "threads": 1} | parameters)).run(data)


@ENGINES
@pytest.mark.parametrize("seed", range(20))
def test_never_below_the_proof_and_seldom_above_it(engine, seed, errors):
    data = noisy(60 + 5 * seed, 2 + seed % 3, 2 + seed % 2, seed)
    proof = OptimalTreeSearch(max_depth=4, engine=engine).run(data)
    found = run(data, max_depth=4, engine=engine, node_limit=20_000)
    assert found.status == ("optimal" if found.gap == 0 else "complete")
    assert found.lower_bound <= proof.objective <= found.objective == errors(data, found.tree)
    assert found.objective <= proof.objective + 2


@ENGINES
@pytest.mark.parametrize("seed", range(120))
def test_any_small_table(engine, seed, errors):
    """Ties, duplicates, constants, missing values, one class, one row, weights: no tree is better than the best."""
    rng = np.random.default_rng(1_000 + seed)
    rows, columns = [1, 7, 20, 60][seed % 4], 1 + seed % 3
    numbers = rng.integers(0, [1, 2, 5, 40][seed // 4 % 4], size=(rows, columns)).astype(float)
    numbers[rng.random(numbers.shape) < [0, 0.2][seed % 2]] = np.nan
    weights = rng.integers(1, 4, rows) * 0.25 if seed % 3 == 0 else None
    data = Dataset.from_arrays(numbers, rng.integers(0, [1, 2, 4][seed % 3], rows), weight=weights)
    parameters = {"max_depth": 4, "engine": engine, "min_leaf": 1 + seed % 2, "node_penalty": [0.0, 0.25][seed % 2]}
    proof = OptimalTreeSearch(**parameters).run(data)
    found = run(data, node_limit=2_000, **parameters)
    assert found.status == ("optimal" if found.gap == 0 else "complete")
    assert found.lower_bound <= proof.objective <= found.objective
    assert found.objective == errors(data, found.tree) + parameters["node_penalty"] * found.tree.n_nodes
    leaf = OptimalTreeSearch(**(parameters | {"max_depth": 0})).run(data)
    assert found.objective <= leaf.objective


@ENGINES
def test_the_same_steps_leave_the_same_tree(engine):
    data = noisy(150, 5)
    limits = {"engine": engine, "node_limit": 5_000}
    first = run(data, seed=7, **limits)
    assert run(data, seed=7, **limits).tree == first.tree
    others = [run(data, seed=seed, **limits).tree for seed in range(8)]
    assert any(tree != first.tree for tree in others)


@ENGINES
def test_without_a_limit_it_takes_a_fixed_number_of_steps(engine):
    data = noisy(150, 4)
    result = run(data, engine=engine)
    assert (result.status, result.stats["steps"]) == ("complete", 2_000)
    assert run(data, engine=engine, threads=2).tree == result.tree
    assert result.lower_bound < result.objective


@ENGINES
def test_a_limit_of_time_is_the_end_of_the_work(engine):
    data = noisy(2_000, 8, 3)
    started = time.monotonic()
    result = run(data, max_depth=6, engine=engine, time_limit=0.5)
    assert result.status == "complete"
    assert time.monotonic() - started < 5
    assert result.stats["steps"] > 0


def test_other_limits_are_still_named():
    data = noisy(3_000, 40)
    assert run(data, memory_limit=100_000).status == "memory_limit"
    search = OptimalTreeSearch(max_depth=8, effort="tree", time_limit=60)
    timer = threading.Timer(0.3, search.cancel)
    timer.start()
    result = search.run(data, on_interrupt="return")
    timer.join()
    assert (result.status, result.lower_bound <= result.objective) == ("interrupted", True)


@pytest.mark.parametrize("parameters", [{"max_depth": 2}, {"max_depth": 1}, {"max_depth": 0}, {"max_nodes": 4}])
def test_what_is_proved_as_fast_is_proved(parameters):
    data = noisy(80, 3)
    result = run(data, **parameters)
    assert result.status == "optimal"
    proof = run(data, effort="proof", **parameters)
    assert (result.objective, result.tree) == (proof.objective, proof.tree)


def test_proofs_do_not_depend_on_the_seed():
    data = noisy(120, 4)
    trees = [OptimalTreeSearch(max_depth=4, seed=seed).run(data).tree for seed in (0, 1, 2**64 - 1)]
    assert trees[0] == trees[1] == trees[2]


def test_costs_constraints_and_policies():
    data = datasets.load("iris")
    costs = Costs([[0, 1, 5], [1, 0, 2], [9, 1, 0]])
    result = run(data, max_depth=4, objective=costs, min_leaf=3, node_penalty=0.25)
    assert result.status in ("complete", "optimal")
    best = OptimalTreeSearch(max_depth=4, objective=costs, min_leaf=3, node_penalty=0.25).run(data)
    assert best.objective <= result.objective <= best.objective + 1
    rng = np.random.default_rng(0)
    table = Dataset({"a": rng.random(200), "b": rng.random(200)}, rewards={"x": rng.random(200), "y": rng.random(200)})
    search = PolicyTreeSearch(max_depth=4, effort="tree", seed=3, node_limit=2_000)
    assert (search.effort, search.seed) == ("tree", 3)
    assert search.run(table).status == "complete"


def test_estimators():
    from lattree.sklearn import OptimalTreeClassifier, PolicyTreeEstimator

    rng = np.random.default_rng(4)
    X, y = rng.random((150, 4)), rng.integers(0, 2, 150)
    parameters = {"max_depth": 5, "effort": "tree", "node_limit": 3_000}
    models = [OptimalTreeClassifier(random_state=seed, **parameters).fit(X, y) for seed in (3, 3, None, None)]
    assert [model.status_ for model in models] == ["complete"] * 4
    assert (models[0].tree_, models[2].tree_) == (models[1].tree_, models[3].tree_)
    others = [OptimalTreeClassifier(random_state=seed, **parameters).fit(X, y).tree_ for seed in range(6)]
    assert any(tree != models[0].tree_ for tree in others)
    model = PolicyTreeEstimator(random_state=np.random.RandomState(0), **parameters).fit(X, rng.random((150, 2)))
    assert model.status_ == "complete"
    with pytest.raises(ValueError, match="effort"):
        OptimalTreeClassifier(effort="both").fit(X, y)
