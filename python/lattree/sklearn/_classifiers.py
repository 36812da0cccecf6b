"""Classification trees: the optimal one, and those grown greedily."""

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils import compute_sample_weight
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from lattree._core import Binarizer, GreedyResult, GreedyTreeSearch, OptimalResult, OptimalTreeSearch
from lattree._costs import Costs
from lattree.sklearn._base import (
    ABSTAIN_LABEL,
    AT_LEAST_ONE,
    GROWTH,
    LIMITS,
    NOT_NEGATIVE,
    BoundsMixin,
    TreeEstimator,
    abstain_value,
    dataset,
    labels,
    seed_of,
)

_COUNTED = {"min_leaf": 1, "min_cases": 2, "min_branch": None}
"""Parameters that count rows, and their defaults, by which they ask nothing of a leaf that is weighed."""

_FRACTION = Interval(Real, 0.0, 0.5, closed="both")


class TreeClassifier(ClassifierMixin, TreeEstimator):  # type: ignore[misc]
    """A tree that predicts classes."""

    class_weight: Mapping[Any, float] | str | None
    min_weight_fraction_leaf: float
    classes_: npt.NDArray[Any]

    def _search(self, min_leaf_mass: float) -> OptimalTreeSearch | GreedyTreeSearch:
        """Return the search that the parameters describe."""
        raise NotImplementedError

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        counted = [name for name, least in _COUNTED.items() if getattr(self, name, least) != least]
        if counted and self.min_weight_fraction_leaf > 0:
            raise ValueError(
                f"min_weight_fraction_leaf={self.min_weight_fraction_leaf} is for leaves that are weighed, and "
                f"{counted[0]}={getattr(self, counted[0])} for rows that are counted: give one of them"
            )
        table = self._table(X, reset=True)
        y_dtype = np.asarray(y).dtype
        y = labels(y, self)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, y, dtype=np.float64, ensure_non_negative=True)
        if self.class_weight is not None:
            of_classes: npt.NDArray[np.float64] = compute_sample_weight(self.class_weight, y)
            weights = of_classes if weights is None else weights * of_classes
        data = dataset(table, y, weight=weights)
        mass = float(len(y) if weights is None else weights.sum())
        known = data.schema.classes
        abstains = self._abstains(known)
        self.result_ = self._search(self.min_weight_fraction_leaf * mass).run(data)
        # Labels of leaves that are no classes; where none would pay the price, the tree is without "abstain".
        others = [name for name in self._schema.classes[len(known) :] if not abstains or name != "abstain"]
        self.classes_ = _label_array(known, [*others, *abstains], y_dtype)

    def _abstains(self, known: Sequence[Any]) -> list[Any]:
        """The value that stands for a leaf that abstains, if leaves may."""
        return []

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of each row.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), with the dtype of ``classes_``

        Raises
        ------
        NotFittedError
            :meth:`fit` comes first.
        ValueError
            `X` lacks a column, or a cell is of another kind than those that were learnt from.
        """
        rows = self._rows(X)
        predicted = np.asarray(self.tree_.predict(rows))
        known = self._schema.classes
        return self.classes_[np.searchsorted(np.array(known, dtype=predicted.dtype), predicted)]

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the share of each class in the leaf, or the leaves, that a row ends in.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)
            In the order of ``classes_``.

        Raises
        ------
        NotFittedError
            :meth:`fit` comes first.
        ValueError
            `X` lacks a column, or a cell is of another kind than those that were learnt from.
        """
        rows = self._rows(X)
        return np.asarray(self.tree_.predict_proba(rows), dtype=np.float64)

    def predict_log_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the natural logarithm of :meth:`predict_proba`; minus infinity for 0.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)

        Raises
        ------
        NotFittedError
            :meth:`fit` comes first.
        ValueError
            `X` lacks a column, or a cell is of another kind than those that were learnt from.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


def _label_array(classes: Sequence[Any], others: list[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Class labels in the dtype that they came with, where that also holds the other labels."""
    if not others:
        return np.array(classes, dtype=dtype if dtype.kind in "OUbiuf" else None)
    labels = [*classes, *others]
    mixed = len({isinstance(label, str) for label in labels}) > 1
    return np.array(labels, dtype=object if mixed or dtype.kind == "O" else None)


class OptimalTreeClassifier(BoundsMixin, TreeClassifier):
    """The tree of least training errors or costs, proved to be that, under limits of depth and size.

    Parameters
    ----------
    max_depth : int, default=4
        The most tests on the way to a leaf. Time grows steeply with it.
    max_nodes : int or None, default=None
        The most tests in the tree.
    min_leaf : int, default=1
        The fewest cases of a leaf, weights left aside.
    min_weight_fraction_leaf : float, default=0.0
        The least part of the sum of all weights (of cases and classes) that a leaf has; at most 0.5.
    objective : {"errors", "balanced_errors"} or lattree.Costs, default="errors"
        What is minimised: the mass of errors, the mean over the classes of the share of errors, or costs of labels by
        class, whose names are those of the classes, or in the order of `classes_`.
    abstain : float or None, default=None
        What it costs to abstain, per unit of mass: leaves may then say "don't know" in place of a class. None: they do
        not.
    abstain_label : str, number or None, default=None
        What is predicted there, and stands last in `classes_`; None: "abstain" where labels are text, else -1.
    node_penalty : float, default=0.0
        What a test must save, in units of the objective, to be in the tree.
    rank : "objective" or sequence of str, default=("objective", "nodes")
        Which of several optimal trees: one of the smallest, or, with "objective" and faster, the first.
    binarizer : lattree.Binarizer or None, default=None
        Which tests are offered; None: all thresholds, where that is not hopeless.
    engine : {"auto", "tests", "continuous"}, default="auto"
        How tests are searched.
    class_weight : dict, "balanced" or None, default=None
        What errors in each class weigh. "balanced": inversely to how many cases it has.
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
    result_ : lattree.OptimalResult
        What the search said. After pickling or copying, its list of `tests` is empty.
    status_ : str
        "optimal", "optimal_over_tests" (thresholds were thinned out), "complete", or the limit that struck.
    objective_, lower_bound_, gap_ : float
        The mass of training errors, or the costs, with penalties; what no tree undercuts; the part between them.
    trace_ : list of (float, float, float)
        Seconds, objective and bound at each change.
    selected_features_ : ndarray of str
        The features that the tree asks about.
    feature_importances_ : ndarray of shape (n_features_in_,)
        By how much each lowers the Gini impurity, as a share of the whole.
    classes_ : ndarray of shape (n_classes,)
        The labels, ascending; after them labels of `objective` that are no classes, as text, and `abstain_label`.
    n_features_in_ : int
        How many columns there were.
    feature_names_in_ : ndarray of str
        Their names, where all were text.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(as_frame=True, return_X_y=True)
    >>> OptimalTreeClassifier(max_depth=3).fit(X, y).objective_
    1.0
    """

    result_: OptimalResult

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "max_depth": [Interval(Integral, 0, None, closed="left")],
        "max_nodes": [Interval(Integral, 0, None, closed="left"), None],
        "min_leaf": [AT_LEAST_ONE],
        "min_weight_fraction_leaf": [_FRACTION],
        "objective": [StrOptions({"errors", "balanced_errors"}), Costs],
        "abstain": [Interval(Real, None, None, closed="neither"), None],
        "abstain_label": ABSTAIN_LABEL,
        "node_penalty": [NOT_NEGATIVE],
        "rank": [StrOptions({"objective"}), tuple, list],
        "binarizer": [Binarizer, None],
        "engine": [StrOptions({"auto", "tests", "continuous"})],
        "class_weight": GROWTH["class_weight"],
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
        min_weight_fraction_leaf: float = 0.0,
        objective: str | Costs = "errors",
        abstain: float | None = None,
        abstain_label: Any = None,
        node_penalty: float = 0.0,
        rank: str | Sequence[str] = ("objective", "nodes"),
        binarizer: Binarizer | None = None,
        engine: str = "auto",
        class_weight: Mapping[Any, float] | str | None = None,
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
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.objective = objective
        self.abstain = abstain
        self.abstain_label = abstain_label
        self.node_penalty = node_penalty
        self.rank = rank
        self.binarizer = binarizer
        self.engine = engine
        self.class_weight = class_weight
        self.unseen = unseen
        self.time_limit = time_limit
        self.node_limit = node_limit
        self.memory_limit = memory_limit
        self.discrepancies = discrepancies
        self.effort = effort
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def trace_(self) -> list[tuple[float, float, float]]:
        """Seconds, objective and bound at each change."""
        trace: list[tuple[float, float, float]] = self._fitted().trace
        return trace

    def _search(self, min_leaf_mass: float) -> OptimalTreeSearch:
        return OptimalTreeSearch(
            max_depth=self.max_depth,
            max_nodes=self.max_nodes,
            min_leaf=self.min_leaf,
            min_leaf_mass=min_leaf_mass,
            objective=self.objective,  # type: ignore[arg-type]
            # Weights of cases hold those of classes, but for an objective that refuses these.
            class_weight=self.class_weight if self.objective == "balanced_errors" else None,  # type: ignore[arg-type]
            abstain=self.abstain,
            node_penalty=self.node_penalty,
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

    def _abstains(self, known: Sequence[Any]) -> list[Any]:
        return [] if self.abstain is None else [abstain_value(self.abstain_label, known)]

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the label of each row: a class or, where leaves may have others, one of these.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), with the dtype of ``classes_``

        Raises
        ------
        NotFittedError
            :meth:`fit` comes first.
        ValueError
            `X` lacks a column, or a cell is of another kind than those that were learnt from.
        """
        check_is_fitted(self)
        return self._leaf_labels(X, self.classes_)

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the share of each class in the leaf that a row ends in.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)
            In the order of ``classes_``; 0 for labels that are no classes.

        Raises
        ------
        NotFittedError
            :meth:`fit` comes first.
        ValueError
            `X` lacks a column, or a cell is of another kind than those that were learnt from.
        """
        shares = super().predict_proba(X)
        return np.pad(shares, ((0, 0), (0, len(self.classes_) - shares.shape[1])))

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "OptimalTreeClassifier":
        """Search for the best tree.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array-like of shape (n_samples, n_features)
            Numbers, text, categories, dates, booleans; NaN and None are missing values.
        y : array-like of shape (n_samples,)
            Labels: text, booleans or whole numbers.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            What an error in each row costs: not negative; 0 leaves the row out.

        Returns
        -------
        OptimalTreeClassifier
            The estimator itself.

        Warns
        -----
        ConvergenceWarning
            A limit struck before the proof was done; the warning says how far the tree may be from the best.

        Raises
        ------
        ValueError
            A parameter is out of range, or `X` or `y` cannot be learnt from; the text says which, and why.
        """
        self._fit(X, y, sample_weight)
        self._warn_of_limit()
        return self


class GreedyTreeClassifier(TreeClassifier):
    """A tree grown split by split, as C4.5 and CART do.

    Parameters
    ----------
    criterion : {"information_gain", "gain_ratio", "gini", "error"}, default="information_gain"
        What splits are judged by.
    min_cases : int, default=2
        The fewest cases of a node that is split.
    min_branch : int or None, default=None
        The fewest cases that two branches of a split must have.
    min_leaf : int, default=1
        The fewest cases of each branch, weights left aside.
    min_weight_fraction_leaf : float, default=0.0
        The least part of the sum of all weights (of cases and classes) that a leaf has; at most 0.5.
    max_depth : int or None, default=None
        The most tests on the way to a leaf.
    min_gain : float, default=0.0
        The least gain per unit of mass.
    max_leaves : int or None, default=None
        Splits of the greatest total gain come first, until there are so many leaves.
    nominal_splits : {"multiway", "one_vs_rest", "subsets"}, default="multiway"
        How columns of levels are split: a branch per level, one level against the others, or two sets of levels.
    missing : {"fractional", "drop", "mean", "class_mean", "level"}, default="fractional"
        What becomes of missing values: rows go down all branches in part, are left out, take the mean (or most frequent
        level) of the column or of their class, or missing is a level of its own.
    class_weight : dict, "balanced" or None, default=None
        What each class weighs. "balanced": inversely to how many cases it has.
    costs : array-like of shape (n_classes, n_classes), lattree.Costs, frame or None, default=None
        What it costs to take a class (row) for another (column), in the order of `classes_`; frames and Costs by name.
    unseen : {"majority", "missing", "error"}, default="majority"
        Where a row goes whose level was not there in training.
    time_limit : float or None, default=None
        Seconds, from the start of growth. Results under it are not repeatable.
    memory_limit : int or None, default=None
        Bytes; None: a quarter of what there is.
    n_jobs : int or None, default=None
        Threads; None: one, unless joblib says otherwise; -1: one per core. The tree does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Not used, for nothing here is random: present for those who set it on every estimator.

    Attributes
    ----------
    tree_ : lattree.Tree
        The tree: it prints itself, and exports rules, DOT and JSON.
    result_ : lattree.GreedyResult
        What the search said.
    status_ : str
        "complete", or the limit that struck.
    selected_features_ : ndarray of str
        The features that the tree asks about.
    feature_importances_ : ndarray of shape (n_features_in_,)
        By how much each lowers the Gini impurity, as a share of the whole.
    classes_ : ndarray of shape (n_classes,)
        The labels, ascending.
    n_features_in_ : int
        How many columns there were.
    feature_names_in_ : ndarray of str
        Their names, where all were text.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(as_frame=True, return_X_y=True)
    >>> GreedyTreeClassifier(max_depth=2).fit(X, y).score(X, y)
    0.96
    """

    result_: GreedyResult

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **GROWTH,
        "min_weight_fraction_leaf": [_FRACTION],
        "max_leaves": [AT_LEAST_ONE, None],
        "missing": [StrOptions({"fractional", "drop", "mean", "class_mean", "level"})],
        **LIMITS,
    }

    def __init__(
        self,
        *,
        criterion: str = "information_gain",
        min_cases: int = 2,
        min_branch: int | None = None,
        min_leaf: int = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_depth: int | None = None,
        min_gain: float = 0.0,
        max_leaves: int | None = None,
        nominal_splits: str = "multiway",
        missing: str = "fractional",
        class_weight: Mapping[Any, float] | str | None = None,
        costs: npt.ArrayLike | Costs | None = None,
        unseen: str = "majority",
        time_limit: float | None = None,
        memory_limit: int | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.criterion = criterion
        self.min_cases = min_cases
        self.min_branch = min_branch
        self.min_leaf = min_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_depth = max_depth
        self.min_gain = min_gain
        self.max_leaves = max_leaves
        self.nominal_splits = nominal_splits
        self.missing = missing
        self.class_weight = class_weight
        self.costs = costs
        self.unseen = unseen
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _search(self, min_leaf_mass: float) -> GreedyTreeSearch:
        return GreedyTreeSearch(
            criterion=self.criterion,  # type: ignore[arg-type]
            min_cases=self.min_cases,
            min_branch=self.min_branch,
            min_leaf=self.min_leaf,
            min_leaf_mass=min_leaf_mass,
            max_depth=self.max_depth,
            min_gain=self.min_gain,
            max_leaves=self.max_leaves,
            nominal_splits=self.nominal_splits,  # type: ignore[arg-type]
            missing=self.missing,  # type: ignore[arg-type]
            costs=self.costs,
            unseen=self.unseen,  # type: ignore[arg-type]
            time_limit=self.time_limit,
            memory_limit=self.memory_limit,
            threads=self._threads(),
        )

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "GreedyTreeClassifier":
        """Grow the tree.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array-like of shape (n_samples, n_features)
            Numbers, text, categories, dates, booleans; NaN and None are missing values.
        y : array-like of shape (n_samples,)
            Labels: text, booleans or whole numbers.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            What each row weighs: not negative; 0 leaves it out.

        Returns
        -------
        GreedyTreeClassifier
            The estimator itself.

        Warns
        -----
        ConvergenceWarning
            A limit struck before the tree was grown to its end.

        Raises
        ------
        ValueError
            A parameter is out of range, or `X` or `y` cannot be learnt from; the text says which, and why.
        """
        self._fit(X, y, sample_weight)
        self._warn_of_limit()
        return self
