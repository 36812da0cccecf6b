"""What went wrong in greedy trees once, or nearly did."""

import pickle

import pytest

import lattree


def test_huge_counts_are_counted():
    data = lattree.Dataset({"x": [0, 1], "y": ["a", "b"]}, "y", counts=[2**40, 2**40 + 1])
    assert str(lattree.GreedyTreeSearch().run(data).tree) == "x <= 0: a (1099511627776)\nx > 0: b (1099511627777)"
    labels = list("ababba")
    few, many = ([2 * n, 2 * n, n, n, n, n] for n in (1, 2**42))
    trees = [
        lattree.GreedyTreeSearch().run(lattree.Dataset({"x": range(6), "y": labels}, "y", counts=counts)).tree
        for counts in (few, many)
    ]
    assert [rule.conditions for rule in trees[0].rules()] == [rule.conditions for rule in trees[1].rules()]
    assert trees[1].rules()[0].mass == 2**43


def test_a_cost_that_would_be_nothing_beside_another_is_refused():
    data = lattree.Dataset({"x": [0, 0, 1, 1], "y": list("aabb")}, "y")
    search = lattree.GreedyTreeSearch(costs=[[0, 1e20], [1, 0]])
    with pytest.raises(lattree.ParameterError, match="`costs` must be 0 or at least 2\\^-20 of the greatest"):
        search.run(data)


@pytest.mark.parametrize("cost", [3e6, 1e7])
def test_no_cost_is_nothing_beside_another(cost):
    data = lattree.Dataset({"x": [0, 0, 1, 1], "y": list("aabb")}, "y")
    tree = lattree.GreedyTreeSearch(costs=[[0, cost], [1, 0]]).run(data).tree
    assert tree.predict({"x": [0, 1]}).to_list() == ["a", "b"]


def test_costs_decide_where_leaves_are_mixed():
    search = lattree.GreedyTreeSearch(max_depth=1, costs=[[0, 5], [1, 0]])
    tree = search.run(lattree.datasets.load("weather")).tree
    unknown = {"outlook": [None]}
    no, yes = tree.predict_proba(unknown).row(0)
    assert no < yes < 5 * no
    for same in (tree, pickle.loads(pickle.dumps(tree))):
        assert same.predict(unknown).to_list() == ["no"]


@pytest.mark.parametrize("errors", [7, 14, 28])
def test_a_gain_that_is_just_enough(errors):
    data = lattree.Dataset({"x": [0] * (100 - errors) + [1] * errors, "y": [0] * (100 - errors) + [1] * errors}, "y")
    gains = [errors / 100, errors / 100 + 1e-6]
    trees = [lattree.GreedyTreeSearch(criterion="error", min_gain=gain).run(data).tree for gain in gains]
    assert [tree.n_nodes for tree in trees] == [1, 0]


def test_a_column_without_values_drops_no_row():
    data = lattree.Dataset({"x": [0, 1, None], "empty": [None] * 3, "y": list("aba")}, "y", nominal=["empty"])
    tree = lattree.GreedyTreeSearch(missing="drop").run(data).tree
    assert str(tree) == "x <= 0: a (1)\nx > 0: b (1)"


def test_a_weight_that_would_be_nothing_is_refused():
    data = lattree.Dataset({"x": list("aabbc"), "y": list("nnyyy")}, "y", weight=[1, 1, 1, 1, 1e-20])
    with pytest.raises(lattree.DataError, match="the weight at row 4 is 1e-20; it must be at least"):
        lattree.GreedyTreeSearch().run(data)


def test_parts_of_cases_that_do_not_fit_are_a_limit():
    n = 200_000
    data = lattree.Dataset({"x": [None if i % 2 else str(i) for i in range(n)], "y": [i % 3 for i in range(n)]}, "y")
    result = lattree.GreedyTreeSearch().run(data)
    assert result.status == "memory_limit"
    assert result.tree.n_nodes == 0


def test_errors_of_many_classes_cost_no_matrix():
    data = lattree.Dataset({"x": list(range(20_000)), "y": list(range(20_000))}, "y", task="classes")
    assert lattree.GreedyTreeSearch(max_depth=1).run(data).tree.n_nodes == 1


def test_rules_with_missing_values_read_one_way():
    data = lattree.Dataset({"x": [0, 1, 1, None], "z": [0, 0, 1, 1], "y": list("abcc")}, "y")
    rules = lattree.GreedyTreeSearch(missing="mean").run(data).tree.rules()
    assert [repr(rule) for rule in rules] == [
        "if (z <= 0 or missing) and x <= 0: a (1)",
        "if (z <= 0 or missing) and (x > 0 or missing): b (1)",
        "if z > 0: c (2)",
    ]


def test_balanced_classes_whose_masses_have_no_small_multiple_in_common():
    """Counts of 60 classes that are primes, or near them: the least common multiple has hundreds of digits."""
    counts = [10**6 + 33 * i * i + 7 * i + 1 for i in range(60)]
    data = lattree.Dataset({"x": list(range(60)), "y": [f"c{i}" for i in range(60)]}, "y", counts=counts)
    tree = lattree.GreedyTreeSearch(class_weight="balanced").run(data).tree
    assert tree.n_leaves == 60
    masses = [rule.mass for rule in tree.rules()]
    assert max(masses) == pytest.approx(min(masses), rel=1e-4)
    assert sum(masses) == pytest.approx(sum(counts), rel=1e-4)
