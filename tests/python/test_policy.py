"""Policy trees: the greatest reward that brute force finds, and all that a search says, in rewards."""

import pickle

import numpy as np
import polars as pl
import pytest

import lattree
from helpers import ALL
from lattree import DataError, Dataset, Interrupted, ParameterError, PolicyProgress, PolicyResult, PolicyTreeSearch


def greatest(X, rewards, depth, penalty=0.0):
    """The greatest reward of a tree over all thresholds."""
    best = rewards.sum(axis=0).max()
    for column in X.T if depth else ():
        for threshold in np.unique(column)[:-1]:
            left = column <= threshold
            parts = [greatest(X[part], rewards[part], depth - 1, penalty) for part in (left, ~left)]
            best = max(best, sum(parts) - penalty)
    return best


@pytest.mark.parametrize("seed", range(60))
def test_it_is_the_greatest_reward(seed):
    random = np.random.default_rng(seed)
    n, k = int(random.integers(5, 25)), int(random.integers(2, 5))
    X = random.integers(0, 4, (n, 3)).astype(float)
    rewards = random.integers(-4, 9, (n, k)) / random.choice([1, 4])
    depth, penalty = int(random.integers(1, 3)), float(random.choice([0, 0.5]))
    abstain = float(random.choice([0.5, 2])) if seed % 3 == 0 else None
    actions = [f"action {place}" for place in range(k)]
    table = pl.DataFrame(X, schema=["a", "b", "c"]).with_columns(
        pl.Series(name, rewards[:, place]) for place, name in enumerate(actions)
    )
    search = PolicyTreeSearch(max_depth=depth, node_penalty=penalty, abstain=abstain, binarizer=ALL)
    result = search.run(Dataset(table, rewards=actions))
    if abstain is not None:
        rewards, actions = np.column_stack([rewards, np.full(n, abstain)]), [*actions, "abstain"]
    assert result.reward == pytest.approx(greatest(X, rewards, depth, penalty), abs=1e-9)
    assert (result.status, result.gap, result.upper_bound) == ("optimal", 0, result.reward)
    given = [actions.index(action) for action in result.tree.predict(table)]
    earned = rewards[np.arange(n), given].sum() - penalty * result.tree.n_nodes
    assert earned == pytest.approx(result.reward, abs=1e-9)
    assert result.tree.schema.classes == actions
    root = result.tree.root.costs
    assert [-root[action] for action in actions] == pytest.approx(rewards.sum(axis=0))


def exhaustive(X, rewards):
    """The greatest reward of a tree of depth two, over every cut of every column at each of its three nodes."""
    orders = np.argsort(X, axis=0, kind="stable").T
    ends = np.array([np.append(np.diff(column[order]) > 0, True) for column, order in zip(X.T, orders, strict=True)])

    def stump(inside):
        # Rows outside count for nothing, so that a cut between them and a row inside is that of the rows inside.
        sums = np.cumsum((rewards * inside[:, None])[orders], axis=1)
        split = sums.max(axis=2) + (sums[:, -1:] - sums).max(axis=2)
        return split[ends].max()

    best = stump(np.ones(len(X)))
    for column in X.T:
        for threshold in np.unique(column)[:-1]:
            left = (column <= threshold).astype(float)
            best = max(best, stump(left) + stump(1 - left))
    return best


@pytest.mark.parametrize("signal", [0.0, 1.0])
def test_against_an_exhaustive_search_of_depth_two(signal):
    random = np.random.default_rng(5)
    X = np.round(random.normal(size=(2_000, 10)), 1)
    rewards = random.integers(-16, 17, (2_000, 3)) / 8
    rewards[:, 1] += signal * ((X[:, 0] > 0.2) & (X[:, 3] <= 0.5))
    rewards[:, 2] += signal * ((X[:, 0] <= 0.2) & (X[:, 7] > -0.4))
    result = PolicyTreeSearch(max_depth=2, binarizer=ALL).run(Dataset.from_arrays(X, rewards=rewards))
    assert (result.status, result.reward) == ("optimal", exhaustive(X, rewards))


def data(n=60, k=3, seed=0, **options):
    random = np.random.default_rng(seed)
    return Dataset.from_arrays(random.normal(size=(n, 4)), rewards=random.normal(size=(n, k)), **options)


class TestResult:
    def test_what_it_says(self):
        result = PolicyTreeSearch(max_depth=2, binarizer=ALL).run(data())
        inner = lattree.OptimalTreeSearch(max_depth=2, objective="costs", binarizer=ALL).run(data())
        assert (result.reward, result.upper_bound) == (-inner.objective, -inner.lower_bound)
        assert (result.tests, result.exact_thresholds, result.resolution) == (inner.tests, True, inner.resolution)
        assert result.trace[-1][1:] == (result.reward, result.upper_bound)
        assert all(bound >= reward for _, reward, bound in result.trace)
        assert result.stats.keys() == inner.stats.keys()
        assert result.seconds > 0
        assert result.tree == inner.tree == result.costs.tree
        assert repr(result).startswith(f"PolicyResult: optimal, reward {result.reward!r}, upper bound")
        again = pickle.loads(pickle.dumps(result))
        assert isinstance(again, PolicyResult)
        assert repr(again) == repr(result)
        with pytest.raises(AttributeError, match="frozen"):
            result.reward = 3
        with pytest.raises(AttributeError, match="frozen"):
            del result._result

    def test_no_reward_is_no_negative_zero(self):
        result = PolicyTreeSearch(max_depth=1).run(Dataset({"x": [0, 1]}, rewards=[[0, 0], [0, 0]]))
        assert str(result.reward) == str(result.upper_bound) == "0.0"


class TestSearch:
    def test_it_reads_back(self):
        search = PolicyTreeSearch(max_depth=2, abstain=1.5, rank="objective", time_limit=3.0, threads=1, min_leaf=4)
        for again in (pickle.loads(pickle.dumps(search)), eval(repr(search), vars(lattree))):
            assert repr(again) == repr(search)
            assert (again.abstain, again.min_leaf, again.rank, again.unseen) == (1.5, 4, ("objective",), "majority")
        assert (search.max_nodes, search.min_leaf_mass, search.node_penalty) == (None, 0, 0)
        assert (search.engine, search.node_limit, search.memory_limit, search.discrepancies) == (
            "auto",
            None,
            None,
            None,
        )
        assert (search.max_depth, search.time_limit, search.threads) == (2, 3.0, 1)
        assert search.binarizer == lattree.Binarizer()
        search.cancel()

    @pytest.mark.parametrize(
        ("keywords", "text"),
        [
            ({"max_depth": -1}, "`max_depth`"),
            ({"abstain": float("inf")}, "`abstain` must be a finite"),
            ({"engine": "fast"}, "`engine`"),
        ],
    )
    def test_wrong_parameters(self, keywords, text):
        with pytest.raises(ParameterError, match=text):
            PolicyTreeSearch(**keywords)
        with pytest.raises(TypeError, match="`abstain` must be a number"):
            PolicyTreeSearch(abstain="x")
        with pytest.raises(TypeError, match="unexpected keyword argument 'objective'"):
            PolicyTreeSearch(objective="costs")

    def test_a_target_is_refused(self):
        table = {"x": [0, 1], "y": ["a", "b"], "a": [1, 0], "b": [0, 1]}
        with pytest.raises(DataError, match='no use for a target, and the data have "y"'):
            PolicyTreeSearch().run(Dataset(table, "y", rewards=["a", "b"]))

    def test_rewards_must_be_there(self):
        with pytest.raises(DataError, match="needs rewards of actions, and the data have none"):
            PolicyTreeSearch().run(Dataset({"x": [0, 1]}))
        with pytest.raises(TypeError, match=r"must be a lattree\.Dataset"):
            PolicyTreeSearch().run({"x": [0, 1]})

    def test_limits_leave_a_tree_and_a_bound(self):
        result = PolicyTreeSearch(max_depth=4, node_limit=500, threads=1).run(data(400))
        assert result.status == "node_limit"
        assert result.reward < result.upper_bound
        assert result.gap == pytest.approx((result.upper_bound - result.reward) / result.upper_bound)

    def test_progress_is_told_in_rewards(self):
        reports = []
        result = PolicyTreeSearch(max_depth=4, time_limit=0.6).run(data(600), progress=reports.append)
        assert reports
        for report in reports:
            assert isinstance(report, PolicyProgress)
            assert pickle.loads(pickle.dumps(report)) == report
            assert report.reward is None or report.reward <= report.upper_bound
            assert report.nodes >= 0 < report.seconds
        assert reports[-1].reward <= result.reward <= result.upper_bound <= reports[-1].upper_bound

    def test_a_line_shows_rewards(self, capsys):
        result = PolicyTreeSearch(max_depth=1).run(data(), progress=True)
        shown = capsys.readouterr().err
        assert f"best {lattree._progress.number(result.reward)}" in shown

    def test_an_interrupt_has_the_result_so_far(self):
        def stop(_):
            raise KeyboardInterrupt

        with pytest.raises(Interrupted) as caught:
            PolicyTreeSearch(max_depth=5).run(data(800), progress=stop)
        assert isinstance(caught.value.result, PolicyResult)
        assert caught.value.result.status == "interrupted"
        result = PolicyTreeSearch(max_depth=5).run(data(800), progress=stop, on_interrupt="return")
        assert result.status == "interrupted"
        assert result.reward <= result.upper_bound
