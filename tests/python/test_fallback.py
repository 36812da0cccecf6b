"""A search that a limit stops gives back no less than the greedy tree of the same limits."""

import numpy as np
import polars as pl
import pytest

from lattree import Binarizer, Dataset, GreedyTreeSearch, OptimalTreeSearch

ENGINES = pytest.mark.parametrize("engine", ["auto", "tests", "continuous"])


def noisy(rows, columns, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(rows, columns))
    labels = (numbers[:, 0] + numbers[:, 1] * numbers[:, 2] + rng.normal(size=rows) > 0).astype(int)
    labels[: rows // 3] = rng.integers(0, classes, rows // 3)
    return Dataset.from_arrays(numbers, labels)


def greedy_errors(data, errors, max_depth, **parameters):
    result = GreedyTreeSearch(max_depth=max_depth, nominal_splits="one_vs_rest", **parameters).run(data)
    assert result.status == "complete"
    return errors(data, result.tree)


@ENGINES
@pytest.mark.parametrize("shape", [(20_000, 12, 2), (300, 2_000, 2), (2_000, 6, 40)])
def test_fault_x13_what_does_not_fit_leaves_no_less_than_a_greedy_tree(engine, shape, errors):
    data = noisy(*shape)
    result = OptimalTreeSearch(max_depth=4, engine=engine, memory_limit=4_000_000, time_limit=5).run(data)
    assert result.status in ("memory_limit", "time_limit")
    assert 0 <= result.lower_bound <= result.objective == errors(data, result.tree)
    fits = GreedyTreeSearch(max_depth=4, memory_limit=4_000_000).run(data)
    if fits.status == "complete":
        assert result.objective <= greedy_errors(data, errors, 4)
    else:
        assert result.objective <= min((data.target != label).sum() for label in data.schema.classes)


@pytest.mark.parametrize("engine", ["tests", "continuous"])
@pytest.mark.parametrize("megabytes", [4, 6, 12])
def test_the_table_that_a_search_made_leaves_its_memory_to_the_greedy_tree(engine, megabytes, errors):
    data = noisy(1_300, 90, 100)
    limits = {"memory_limit": megabytes * 1_000_000, "time_limit": 1}
    result = OptimalTreeSearch(max_depth=5, min_leaf=20, engine=engine, **limits).run(data)
    assert result.objective == errors(data, result.tree) <= greedy_errors(data, errors, 5, min_leaf=20, **limits)


def test_fault_x13_nor_does_a_short_time(errors):
    """500 rows of 5,000 columns take the search longer to set up than a greedy tree to grow."""
    data = noisy(500, 5_000)
    result = OptimalTreeSearch(max_depth=4, time_limit=3).run(data)
    assert result.status == "time_limit"
    assert result.objective == errors(data, result.tree) <= greedy_errors(data, errors, 4)
    objectives = [objective for _, objective, _ in result.trace]
    assert objectives == sorted(objectives, reverse=True)
    assert objectives[-1] == result.objective


def test_penalties_nodes_and_small_leaves_bind_the_greedy_tree_too(errors):
    data = noisy(3_000, 8)
    search = OptimalTreeSearch(
        max_depth=6,
        max_nodes=5,
        min_leaf=40,
        node_penalty=3.0,
        engine="continuous",
        memory_limit=1_000_000,
        time_limit=5,
    )
    result = search.run(data)
    assert result.status in ("memory_limit", "time_limit")
    assert result.tree.n_nodes <= 5
    assert result.objective == errors(data, result.tree) + 3.0 * result.tree.n_nodes
    _, sizes = np.unique(result.tree.apply(data), return_counts=True)
    assert sizes.min() >= 40


def test_where_missing_values_may_not_be_asked_for_they_are_not(errors):
    rng = np.random.default_rng(0)
    column = rng.normal(size=20_000)
    column[rng.random(20_000) < 0.3] = np.nan
    frame = pl.DataFrame({"a": column, "y": np.isnan(column) ^ (rng.random(20_000) < 0.1)})
    data = Dataset(frame, "y")
    search = OptimalTreeSearch(binarizer=Binarizer(missing="fails"), memory_limit=100_000, time_limit=5)
    result = search.run(data)
    assert result.objective == errors(data, result.tree)
    assert "is missing" not in result.tree.to_text()
