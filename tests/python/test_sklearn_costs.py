"""Estimators with costs: other objectives, abstention, and rewards of actions."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import lattree
from lattree.sklearn import GreedyTreeClassifier, OptimalTreeClassifier, PolicyTreeEstimator

X = np.array([[0.0]] * 20 + [[1.0]] * 10 + [[2.0]] * 20)


def labels(first, second):
    return [first] * 20 + [first, second] * 5 + [second] * 20


class TestAbstaining:
    @pytest.mark.parametrize(
        ("y", "given", "stands"),
        [
            (labels("no", "yes"), None, "abstain"),
            (labels("no", "yes"), "somebody should look at it", "somebody should look at it"),
            (np.array(labels("no", "yes"), dtype=object), None, "abstain"),
            (labels(3, 8), None, -1),
            (labels(3, 8), 99, 99),
            (labels(0.0, 1.0), 9.0, 9.0),
            (labels(False, True), None, -1),
        ],
    )
    def test_it_is_predicted_and_stands_last(self, y, given, stands):
        model = OptimalTreeClassifier(max_depth=2, abstain=0.3, abstain_label=given).fit(X, y)
        assert model.classes_.tolist() == [y[0], y[-1], stands]
        predicted = model.predict([[0.0], [1.0], [2.0]])
        assert predicted.dtype == model.classes_.dtype
        assert predicted.tolist() == [y[0], stands, y[-1]]
        assert model.predict_proba([[0.0], [1.0]]).tolist() == [[1, 0, 0], [0.5, 0.5, 0]]
        assert model.score(X, y) == 0.8
        copied = pickle.loads(pickle.dumps(model))
        assert copied.predict(X).tolist() == model.predict(X).tolist()
        assert "abstain" in str(model.tree_)

    def test_a_dear_price_leaves_it_in_the_classes(self):
        model = OptimalTreeClassifier(max_depth=2, abstain=2.0).fit(X, labels("no", "yes"))
        assert model.classes_.tolist() == ["no", "yes", "abstain"]
        assert model.predict_proba(X).shape == (50, 3)
        assert set(model.predict(X)) == {"no", "yes"}

    @pytest.mark.parametrize(
        ("y", "given", "text"),
        [
            (labels("no", "yes"), -1, "abstain_label must be text, as labels are text, got -1"),
            (
                labels(0, 1),
                "abstain",
                "abstain_label must be a number, as labels are booleans or numbers, got 'abstain'",
            ),
            (labels(0, 1), float("nan"), "abstain_label must be a number"),
            (labels(0, 1), 1, "abstain_label must be no label of the data, got 1"),
            (labels(-1, 1), None, "abstain_label must be no label of the data, got -1"),
        ],
    )
    def test_its_value_must_be_one_of_its_own(self, y, given, text):
        with pytest.raises(ValueError, match=text):
            OptimalTreeClassifier(abstain=0.3, abstain_label=given).fit(X, y)

    def test_in_a_pipeline_and_a_grid(self):
        y = np.array(labels("no", "yes"))
        model = make_pipeline(FunctionTransformer(), OptimalTreeClassifier(max_depth=2, abstain=0.3))
        assert len(cross_val_score(model, X, y, cv=3)) == 3
        grid = GridSearchCV(OptimalTreeClassifier(max_depth=2), {"abstain": [None, 0.3]}, cv=3).fit(X, y)
        assert grid.best_params_["abstain"] is None

    def test_not_fitted(self):
        for model in (OptimalTreeClassifier(), PolicyTreeEstimator()):
            with pytest.raises(NotFittedError):
                model.predict(X)


class TestObjectives:
    y = np.array(["no"] * 60 + ["yes"] * 6)
    X = np.array([[0.0]] * 40 + [[1.0]] * 20 + [[1.0]] * 6)

    def test_balanced_errors(self):
        plain = OptimalTreeClassifier(max_depth=1).fit(self.X, self.y)
        balanced = OptimalTreeClassifier(max_depth=1, objective="balanced_errors").fit(self.X, self.y)
        assert plain.objective_ == 6
        assert balanced.objective_ == pytest.approx((20 / 60 + 0) / 2)
        with pytest.raises(ValueError, match="`class_weight` must be None where the objective"):
            OptimalTreeClassifier(objective="balanced_errors", class_weight="balanced").fit(self.X, self.y)

    def test_costs_by_name(self):
        costs = lattree.Costs([[0, 1, 0.5], [8, 0, 2]], classes=["no", "yes"], labels=["no", "yes", "refer"])
        model = clone(OptimalTreeClassifier(max_depth=1, objective=costs)).fit(self.X, self.y)
        assert model.classes_.tolist() == ["no", "yes", "refer"]
        assert model.predict([[0.0], [1.0]]).tolist() == ["no", "yes"]
        assert model.objective_ == 20
        dear = lattree.Costs([[0, 2, 0.5], [8, 0, 2]], classes=["no", "yes"], labels=["no", "yes", "refer"])
        model = OptimalTreeClassifier(max_depth=1, objective=dear).fit(self.X, self.y)
        assert model.predict([[1.0]]).tolist() == ["refer"]
        assert model.objective_ == 22
        numbers = OptimalTreeClassifier(
            max_depth=1, objective=lattree.Costs([[0, 2, 0.5], [8, 0, 2]], labels=[0, 1, "refer"])
        ).fit(self.X, (self.y == "yes").astype(int))
        assert numbers.classes_.tolist() == [0, 1, "refer"]
        assert numbers.predict([[0.0], [1.0]]).tolist() == [0, "refer"]

    @pytest.mark.parametrize("kind", ["pandas", "Costs", "polars"])
    def test_greedy_estimators_read_names(self, kind):
        frame = pd.DataFrame([[0, 8], [1, 0]], index=["yes", "no"], columns=["yes", "no"])
        costs = {"pandas": frame, "Costs": lattree.Costs(frame), "polars": pl.from_pandas(frame.reset_index())}[kind]
        model = clone(GreedyTreeClassifier(max_depth=1, criterion="gini", costs=costs)).fit(self.X, self.y)
        plain = GreedyTreeClassifier(max_depth=1, criterion="gini", costs=[[0, 1], [8, 0]]).fit(self.X, self.y)
        assert model.tree_ == plain.tree_


class TestPolicy:
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 3))
    rewards = np.column_stack([X[:, 0], -X[:, 0], np.full(80, 0.1)]).round(3)

    def test_actions_by_position(self):
        model = PolicyTreeEstimator(max_depth=2).fit(self.X, self.rewards)
        assert model.actions_.tolist() == [0, 1, 2]
        predicted = model.predict(self.X)
        earned = self.rewards[np.arange(80), predicted]
        assert model.reward_ == pytest.approx(earned.sum())
        assert model.score(self.X, self.rewards) == pytest.approx(earned.mean())
        assert (model.status_, model.gap_, model.upper_bound_) == ("optimal", 0, model.reward_)
        assert model.n_features_in_ == 3
        assert model.apply(self.X).shape == (80,)

    @pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, lambda columns: pl.DataFrame(columns).to_arrow()])
    def test_actions_by_name(self, kind):
        columns = dict(zip(("go", "stay", "wait"), self.rewards.T, strict=True))
        model = PolicyTreeEstimator(max_depth=2).fit(pd.DataFrame(self.X, columns=["a", "b", "c"]), kind(columns))
        plain = PolicyTreeEstimator(max_depth=2).fit(self.X, self.rewards)
        assert model.actions_.tolist() == ["go", "stay", "wait"]
        frame = pd.DataFrame(self.X, columns=["a", "b", "c"])
        assert model.predict(frame).tolist() == [("go", "stay", "wait")[place] for place in plain.predict(self.X)]
        turned = kind({name: columns[name] for name in ("wait", "go", "stay")})
        assert model.score(frame, turned) == pytest.approx(plain.score(self.X, self.rewards))
        assert model.score(frame, self.rewards) == pytest.approx(plain.score(self.X, self.rewards))
        with pytest.raises(ValueError, match="rewards lack a column for 'stay'"):
            model.score(frame, pd.DataFrame({"go": np.ones(80), "wait": np.ones(80)}))

    def test_no_action(self):
        model = PolicyTreeEstimator(max_depth=2, abstain=0.5).fit(self.X, self.rewards)
        assert model.actions_.tolist() == [0, 1, 2, -1]
        predicted = model.predict(self.X)
        assert -1 in predicted
        every = np.column_stack([self.rewards, np.full(80, 0.5)])
        assert model.score(self.X, self.rewards) == pytest.approx(every[np.arange(80), predicted].mean())
        named = PolicyTreeEstimator(max_depth=2, abstain=0.5).fit(
            self.X, pd.DataFrame(self.rewards, columns=list("abc"))
        )
        assert named.actions_.tolist() == ["a", "b", "c", "abstain"]

    def test_weights_copies_and_grids(self):
        weights = np.arange(80) % 3
        model = PolicyTreeEstimator(max_depth=2).fit(self.X, self.rewards, sample_weight=weights)
        repeated = PolicyTreeEstimator(max_depth=2).fit(
            self.X.repeat(weights, axis=0), self.rewards.repeat(weights, axis=0)
        )
        assert model.reward_ == pytest.approx(repeated.reward_)
        copied = pickle.loads(pickle.dumps(model))
        assert copied.result_.tests == []
        assert (copied.predict(self.X) == model.predict(self.X)).all()
        assert model.score(self.X, self.rewards, sample_weight=weights) == pytest.approx(
            model.reward_ / weights.sum(), abs=1e-9
        )
        grid = GridSearchCV(PolicyTreeEstimator(), {"max_depth": [0, 1, 2]}, cv=4).fit(self.X, self.rewards)
        assert grid.best_params_["max_depth"] in (1, 2)

    def test_a_limit_is_told(self):
        X, rewards = self.random.normal(size=(500, 5)), self.random.normal(size=(500, 3))
        with pytest.warns(ConvergenceWarning, match="node_limit at a reward of .* upper bound"):
            PolicyTreeEstimator(max_depth=4, node_limit=1000).fit(X, rewards)

    @pytest.mark.parametrize(
        ("rewards", "text"),
        [
            (None, "requires rewards to be passed"),
            (np.ones(80), "a row per sample and a column per action"),
            (np.ones((80, 0)), "a row per sample and a column per action"),
            (np.ones((79, 2)), "rewards have 79 rows, X has 80"),
            (np.where(np.arange(160).reshape(80, 2) == 7, np.nan, 1), "the reward at row 3 of action 1 is nan"),
        ],
    )
    def test_wrong_rewards(self, rewards, text):
        with pytest.raises(ValueError, match=text):
            PolicyTreeEstimator().fit(self.X, rewards)

    def test_every_parameter_has_a_constraint(self):
        model = PolicyTreeEstimator()
        assert set(model._parameter_constraints) == set(model.get_params())
        for name in model.get_params():
            with pytest.raises(ValueError, match=f"The '{name}' parameter of PolicyTreeEstimator must be"):
                PolicyTreeEstimator(**{name: object()}).fit(self.X, self.rewards)
