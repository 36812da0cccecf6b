"""The policy tree: which action each row should get."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from lattree._core import Binarizer
from lattree._frames import to_frame
from lattree._policy import PolicyTreeSearch
from lattree._policy_result import PolicyResult
from lattree._series import is_pandas
from lattree.sklearn._base import (
    ABSTAIN_LABEL,
    AT_LEAST_ONE,
    LIMITS,
    NOT_NEGATIVE,
    TreeEstimator,
    abstain_value,
    dataset,
    is_frame,
    seed_of,
)


class PolicyTreeEstimator(TreeEstimator):
    """The tree that gives rows actions of the greatest sum of rewards, proved to be that.

    Parameters
    ----------
    max_depth : int, default=4
        The most tests on the way to a leaf. Time grows steeply with it.
    max_nodes : int or None, default=None
        The most tests in the tree.
    min_leaf : int, default=1
        The fewest cases of a leaf, weights left aside.
    abstain : float or None, default=None
        What a row earns that gets no action. None: each gets one.
    abstain_label : str, number or None, default=None
        What is predicted there, and stands last in `actions_`; None: "abstain" where actions have names, else -1.
    node_penalty : float, default=0.0
        What a test must earn to be in the tree.
    rank : "objective" or sequence of str, default=("objective", "nodes")
        Which of several optimal trees: one of the smallest, or, with "objective" and faster, the first.
    binarizer : lattree.Binarizer or None, default=None
        Which tests are offered; None: all thresholds, where that is not hopeless.
    engine : {"auto", "tests", "continuous"}, default="auto"
        How tests are searched.
    unseen : {"majority", "missing", "error"}, default="majority"
        Where a row goes whose level was not there in training.
    time_limit : float or None, default=None
        Seconds, from the start of the search. Results under it are not repeatable.
    node_limit : int or None, default=None
        Search nodes. With one thread, results under it are repeatable.
    memory_limit : int or None, default=None
        Bytes; None: a quarter of what there is.
    discrepancies : int or None, default=None
        How far the search for good trees departs from the greedy one before the proof begins; None: it does not.
    effort : {"proof", "tree"}, default="proof"
        What the limits are spent on: the proof, or the tree alone, with ``status_ == "complete"``.
    n_jobs : int or None, default=None
        Threads; None: one, unless joblib says otherwise; -1: one per core. The tree does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Where the random numbers of the neighbourhood search start, as an int; None: 0. Results that are proved do not
        depend on it.

    Attributes
    ----------
    tree_ : lattree.Tree
        The tree: it prints itself, and exports rules, DOT and JSON.
    result_ : lattree.PolicyResult
        What the search said. After pickling or copying, its list of `tests` is empty.
    status_ : str
        "optimal", "optimal_over_tests" (thresholds were thinned out), "complete", or the limit that struck.
    reward_, upper_bound_, gap_ : float
        The sum of the rewards of training rows, with penalties; what no tree exceeds; the part between them.
    actions_ : ndarray of shape (n_actions,)
        The names of the columns of rewards, or their positions; last `abstain_label`, if rows may get no action.
    selected_features_ : ndarray of str
        The features that the tree asks about.
    feature_importances_ : ndarray of shape (n_features_in_,)
        By how much each lowers the impurity of actions, as a share of the whole.
    n_features_in_ : int
        How many columns there were.
    feature_names_in_ : ndarray of str
        Their names, where all were text.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[20.0], [30.0], [40.0], [50.0]])
    >>> rewards = np.array([[1, 0], [2, 0], [0, 3], [1, 2]])
    >>> model = PolicyTreeEstimator(max_depth=1).fit(X, rewards)
    >>> model.predict(X).tolist(), model.score(X, rewards)
    ([0, 0, 1, 1], 2.0)
    """

    result_: PolicyResult

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "max_depth": [Interval(Integral, 0, None, closed="left")],
        "max_nodes": [Interval(Integral, 0, None, closed="left"), None],
        "min_leaf": [AT_LEAST_ONE],
        "abstain": [Interval(Real, None, None, closed="neither"), None],
        "abstain_label": ABSTAIN_LABEL,
        "node_penalty": [NOT_NEGATIVE],
        "rank": [StrOptions({"objective"}), tuple, list],
        "binarizer": [Binarizer, None],
        "engine": [StrOptions({"auto", "tests", "continuous"})],
        "node_limit": [Interval(Integral, 0, None, closed="left"), None],
        "discrepancies": [Interval(Integral, 0, None, closed="left"), None],
        "effort": [StrOptions({"proof", "tree"})],
        **LIMITS,
    }

    def __init__(
        self,
        *,
        max_depth: int = 4,
        max_nodes: int | None = None,
        min_leaf: int = 1,
        abstain: float | None = None,
        abstain_label: Any = None,
        node_penalty: float = 0.0,
        rank: str | Sequence[str] = ("objective", "nodes"),
        binarizer: Binarizer | None = None,
        engine: str = "auto",
        unseen: str = "majority",
        time_limit: float | None = None,
        node_limit: int | None = None,
        memory_limit: int | None = None,
        discrepancies: int | None = None,
        effort: str = "proof",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.max_depth = max_depth
        self.max_nodes = max_nodes
        self.min_leaf = min_leaf
        self.abstain = abstain
        self.abstain_label = abstain_label
        self.node_penalty = node_penalty
        self.rank = rank
        self.binarizer = binarizer
        self.engine = engine
        self.unseen = unseen
        self.time_limit = time_limit
        self.node_limit = node_limit
        self.memory_limit = memory_limit
        self.discrepancies = discrepancies
        self.effort = effort
        self.n_jobs = n_jobs
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, rewards: Any, sample_weight: Any = None) -> "PolicyTreeEstimator":
        """Search for the best tree.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array-like of shape (n_samples, n_features)
            Numbers, text, categories, dates, booleans; NaN and None are missing values.
        rewards : pandas or polars DataFrame, or array-like of shape (n_samples, n_actions)
            What each action is worth in each row, by position; a frame names the actions.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            By what the rewards of each row are multiplied: not negative; 0 leaves the row out.

        Returns
        -------
        PolicyTreeEstimator
            The estimator itself.

        Warns
        -----
        ConvergenceWarning
            A limit struck before the proof was done; the warning says how far the tree may be from the best.

        Raises
        ------
        ValueError
            A parameter is out of range, or `X` or `rewards` cannot be learnt from; the text says which, and why.
        """
        table = self._table(X, reset=True)
        names, values = _read(rewards, table)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, values, dtype=np.float64, ensure_non_negative=True)
        actions: list[Any] = list(range(values.shape[1])) if names is None else names
        if self.abstain is not None:
            actions = [*actions, abstain_value(self.abstain_label, actions)]
        given = values if names is None else dict(zip(names, values.T, strict=True))
        self.result_ = self._search().run(dataset(table, weight=weights, rewards=given))
        self.actions_ = np.array(actions)
        self._warn_of_limit()
        return self

    def _search(self) -> PolicyTreeSearch:
        return PolicyTreeSearch(
            max_depth=self.max_depth,
            max_nodes=self.max_nodes,
            min_leaf=self.min_leaf,
            node_penalty=self.node_penalty,
            abstain=self.abstain,
            rank=self.rank,
            binarizer=self.binarizer,
            engine=self.engine,  # type: ignore[arg-type]
            unseen=self.unseen,  # type: ignore[arg-type]
            time_limit=self.time_limit,
            node_limit=self.node_limit,
            memory_limit=self.memory_limit,
            discrepancies=self.discrepancies,
            effort=self.effort,  # type: ignore[arg-type]
            seed=0 if self.random_state is None else seed_of(self.random_state),
            threads=self._threads(),
        )

    @property
    def reward_(self) -> float:
        """The sum of the rewards of training rows, with penalties."""
        reward: float = self._fitted().reward
        return reward

    @property
    def upper_bound_(self) -> float:
        """What no tree exceeds."""
        bound: float = self._fitted().upper_bound
        return bound

    @property
    def gap_(self) -> float:
        """The part of the reward that is not proved: 0 for the greatest one."""
        gap: float = self._fitted().gap
        return gap

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the action of each row.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), with the dtype of ``actions_``

        Raises
        ------
        NotFittedError
            :meth:`fit` comes first.
        ValueError
            `X` lacks a column, or a cell is of another kind than those that were learnt from.
        """
        check_is_fitted(self)
        return self._leaf_labels(X, self.actions_)

    def score(self, X: Any, rewards: Any, sample_weight: Any = None) -> float:
        """Return the mean of the rewards that the rows earn by the actions predicted.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)
        rewards : frame or array-like of shape (n_samples, n_actions)
            A frame is read by the names of its columns, an array in the order of ``actions_``.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            How much each row counts in the mean.

        Returns
        -------
        float

        Raises
        ------
        NotFittedError
            :meth:`fit` comes first.
        ValueError
            `X` or `rewards` lacks a column, or a cell is of another kind than those that were learnt from.
        """
        predicted = self.predict(X)
        names, values = _read(rewards, predicted)
        actions = self.actions_ if self.abstain is None else self.actions_[:-1]
        if names is not None:
            if absent := [str(action) for action in actions if str(action) not in names]:
                raise ValueError(f"rewards lack a column for {', '.join(map(repr, absent))}; they are for {names}")
            values = values[:, [names.index(str(action)) for action in actions]]
        elif values.shape[1] != len(actions):
            raise ValueError(f"rewards have {values.shape[1]} columns, and there are {len(actions)} actions")
        if self.abstain is not None:
            values = np.column_stack([values, np.full(len(values), self.abstain)])
        place = {action: place for place, action in enumerate(self.actions_.tolist())}
        earned = values[np.arange(len(values)), [place[action] for action in predicted.tolist()]]
        return float(np.average(earned, weights=sample_weight))


def _read(rewards: Any, table: Any) -> tuple[list[str] | None, npt.NDArray[np.float64]]:
    """The names of actions, if there are any, and the rewards of as many rows as a table has."""
    if rewards is None:
        raise ValueError("PolicyTreeEstimator requires rewards to be passed, one column per action, but they are None")
    names = None
    if not is_frame(rewards) and hasattr(rewards, "__arrow_c_stream__") and not is_pandas(rewards, "Series"):
        rewards = pl.DataFrame(rewards)
    if is_frame(rewards):
        frame = to_frame(rewards).data
        names = list(frame.columns)
        rewards = np.column_stack([frame.get_column(name).to_numpy() for name in names]) if names else np.empty((0, 0))
    values = np.asarray(rewards, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] == 0:
        raise ValueError(f"rewards must have a row per sample and a column per action, got the shape {values.shape}")
    if len(values) != len(table):
        raise ValueError(f"rewards have {len(values)} rows, X has {len(table)}")
    if not np.isfinite(values).all():
        row, place = np.argwhere(~np.isfinite(values))[0]
        action = place if names is None else repr(names[place])
        raise ValueError(f"the reward at row {row} of action {action} is {values[row, place]}; it must be finite")
    return names, values
