"""Features selected by the greedy trees that grow over them."""

import inspect
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl
from sklearn.base import _fit_context
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

from lattree._core import AcceptableSubsetSearch, BackwardEliminationSearch, Dataset, SubsetResult
from lattree._costs import Costs
from lattree.sklearn._base import (
    GROWTH,
    LIMITS,
    NOT_NEGATIVE,
    BoundsMixin,
    SearchEstimator,
    dataset,
    is_frame,
    labels,
    renamed,
    seed_of,
)

_KNOWS_HEIGHT = "height" in inspect.signature(pl.DataFrame).parameters
"""Whether a polars frame without columns can have rows."""


class SubsetSelector(SelectorMixin, BoundsMixin, SearchEstimator):  # type: ignore[misc]
    """What selectors have in common: rows to grow trees on, and rows to judge them by."""

    result_: SubsetResult
    error: str
    validation_fraction: float | None
    random_state: int | np.random.RandomState | None
    class_weight: Mapping[Any, float] | str | None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "required": [str, "array-like"],
        "candidates": [str, "array-like", None],
        "error": [StrOptions({"search", "training", "pessimistic"})],
        "validation_fraction": [Interval(RealNotInt, 0.0, 1.0, closed="neither"), None],
        **GROWTH,
        "missing": [StrOptions({"fractional", "mean", "class_mean", "level"})],
        **LIMITS,
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _search(self, growth: dict[str, Any]) -> AcceptableSubsetSearch | BackwardEliminationSearch:
        """Return the search that the parameters describe; `growth` are those of all selectors."""
        raise NotImplementedError

    @property
    def selected_features_(self) -> npt.NDArray[np.object_]:
        """The features selected, in the order of the table."""
        return np.array(self._fitted().features, dtype=object)

    @property
    def error_(self) -> float:
        """The estimated error of the tree, as a share of the cases or, with `costs`, what it costs per case."""
        error: float = self._fitted().error
        return error

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, *, X_val: Any = None, y_val: Any = None) -> "SubsetSelector":
        """Search for the features.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array-like of shape (n_samples, n_features)
            Numbers, text, categories, dates, booleans; NaN and None are missing values.
        y : array-like of shape (n_samples,)
            Labels: text, booleans or whole numbers.
        X_val : frame or array-like of shape (n_validation, n_features), or None, default=None
            Rows to judge trees by, for ``error="search"``; all rows of `X` are then for growing them. None: a part of
            the rows of `X`, `validation_fraction`.
        y_val : array-like of shape (n_validation,) or None, default=None
            Their labels.

        Returns
        -------
        SubsetSelector
            The selector itself.

        Warns
        -----
        ConvergenceWarning
            A limit struck before the search had come to its end.

        Raises
        ------
        ValueError
            A parameter is out of range, or `X` or `y` cannot be learnt from; the text says which, and why.
        """
        data = dataset(self._table(X, reset=True), labels(y, self))
        building, search = self._parts(data, X_val, y_val)
        growth = {name: getattr(self, name) for name in (*GROWTH, "missing", "required", "candidates", "error")}
        for name in ("required", "candidates"):
            if growth[name] is not None and not isinstance(growth[name], str):
                growth[name] = [str(feature) for feature in growth[name]]
        if isinstance(self.class_weight, Mapping):  # classes that are not named weigh one
            growth["class_weight"] = {label: self.class_weight.get(label, 1.0) for label in data.schema.classes}
        growth |= {name: getattr(self, name) for name in ("unseen", "time_limit", "memory_limit")}
        self.result_ = self._search(growth | {"threads": self._threads()}).run(building, search)
        self._warn_of_limit()
        return self

    def _parts(self, data: Dataset, X_val: Any, y_val: Any) -> tuple[Dataset, Dataset | None]:
        """The rows to grow trees on, and those to judge them by."""
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val are given together or not at all")
        if self.error != "search":
            if X_val is not None:
                raise ValueError(f'X_val is for error="search"; error="{self.error}" judges trees by the rows of X')
            return data, None
        if X_val is not None:
            return data, dataset(renamed(self._table(X_val, reset=False), data.schema), labels(y_val, self), like=data)
        if self.validation_fraction is None:
            raise ValueError('error="search" needs a validation_fraction, or X_val and y_val')
        building, search = data.split(self.validation_fraction, seed=seed_of(self.random_state))
        if not (len(building) and len(search)):
            raise ValueError(
                f"n_samples={len(data)} are too few for validation_fraction={self.validation_fraction}: "
                "trees need rows to grow on and rows to be judged by"
            )
        return building, search

    def _get_support_mask(self) -> npt.NDArray[np.bool_]:
        return np.isin(np.array(self._schema.feature_names, dtype=object), self.selected_features_)

    def transform(self, X: Any) -> Any:
        """Return the columns selected.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)

        Returns
        -------
        frame or ndarray of shape (n_samples, n_selected_features)
            A frame of the kind given, its columns as they were, or an array; or as ``set_output`` says.

        Raises
        ------
        NotFittedError
            :meth:`fit` comes first.
        ValueError
            `X` lacks a column, or a cell is of another kind than those that were learnt from.
        """
        self._fitted()
        table = self._table(X, reset=False)
        if not is_frame(table):
            return self._transform(table)
        selected = np.flatnonzero(self.get_support()).tolist()
        if not selected:
            warnings.warn(
                "no features were selected: a single leaf does as well as any tree", UserWarning, stacklevel=2
            )
        if isinstance(table, pl.DataFrame):
            return table[:, selected] if selected or not _KNOWS_HEIGHT else pl.DataFrame(height=len(table))
        return table.iloc[:, selected]


class BackwardEliminationSelector(SubsetSelector):
    """Take away the feature whose absence leaves the tree with the smallest error, until that error would grow.

    Fast at thousands of features, and no proof that no other subset is better: see :class:`BestSubsetSelector`.

    Parameters
    ----------
    required : str or sequence of str, default=()
        Features that are always selected; ``x0``, ``x1``, ... where a table has no names.
    candidates : str or sequence of str, or None, default=None
        Features that may be selected beside those; None: all others.
    error : {"search", "training", "pessimistic"}, default="search"
        What trees are judged by. "search": their errors on rows that they were not grown on. "training": those on the
        rows they were grown on. "pessimistic": C4.5's estimate from these.
    validation_fraction : float or None, default=0.3
        The share of the rows, drawn at random and stratified by class, that trees are judged by for ``error="search"``;
        not used where :meth:`fit` is given `X_val`.
    criterion : {"information_gain", "gain_ratio", "gini", "error"}, default="information_gain"
        What splits are judged by.
    min_cases : int, default=2
        The fewest cases of a node that is split.
    min_branch : int or None, default=None
        The fewest cases that two branches of a split must have.
    min_leaf : int, default=1
        The fewest cases of each branch.
    max_depth : int or None, default=None
        The most tests on the way to a leaf.
    min_gain : float, default=0.0
        The least gain per unit of mass.
    nominal_splits : {"multiway", "one_vs_rest", "subsets"}, default="multiway"
        How columns of levels are split: a branch per level, one level against the others, or two sets of levels.
    missing : {"fractional", "mean", "class_mean", "level"}, default="fractional"
        What becomes of missing values, as in :class:`GreedyTreeClassifier`.
    class_weight : dict, "balanced" or None, default=None
        What each class weighs in the growth of trees; their errors are counted without.
    costs : array-like of shape (n_classes, n_classes), lattree.Costs, frame or None, default=None
        What it costs to take a class (row) for another (column), classes ascending; frames and Costs by name.
    unseen : {"majority", "missing", "error"}, default="majority"
        Where a row goes whose level was not there in training.
    time_limit : float or None, default=None
        Seconds, from the start of the search. Results under it are not repeatable.
    memory_limit : int or None, default=None
        Bytes; None: a quarter of what there is.
    n_jobs : int or None, default=None
        Threads; None: one, unless joblib says otherwise; -1: one per core. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Draws the rows of `validation_fraction`.

    Attributes
    ----------
    selected_features_ : ndarray of str
        The features selected, in the order of the table.
    tree_ : lattree.Tree
        The tree over them, grown without the rows that trees were judged by.
    result_ : lattree.SubsetResult
        What the search said.
    status_ : str
        "complete", or the limit that struck.
    error_ : float
        The estimated error of the tree. The least of many, it is optimistic for new rows.
    objective_, lower_bound_, gap_ : float
        The error; a bound, which elimination does not look for; ``(objective - bound) / objective``.
    trace_ : list of (str, float)
        The features taken away, in that order, and the error without each.
    n_features_in_ : int
        How many columns there were.
    feature_names_in_ : ndarray of str
        Their names, where all were text.

    Notes
    -----
    Rows are split at random, so there is no `sample_weight`. Source: Ruggieri, *Complete search for feature selection
    in decision trees*, JMLR 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(as_frame=True, return_X_y=True)
    >>> list(BackwardEliminationSelector(min_cases=10, random_state=0).fit(X, y).selected_features_)
    ['petal width (cm)']
    """

    def __init__(
        self,
        *,
        required: str | Sequence[str] = (),
        candidates: str | Sequence[str] | None = None,
        error: str = "search",
        validation_fraction: float | None = 0.3,
        criterion: str = "information_gain",
        min_cases: int = 2,
        min_branch: int | None = None,
        min_leaf: int = 1,
        max_depth: int | None = None,
        min_gain: float = 0.0,
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
        self.required = required
        self.candidates = candidates
        self.error = error
        self.validation_fraction = validation_fraction
        self.criterion = criterion
        self.min_cases = min_cases
        self.min_branch = min_branch
        self.min_leaf = min_leaf
        self.max_depth = max_depth
        self.min_gain = min_gain
        self.nominal_splits = nominal_splits
        self.missing = missing
        self.class_weight = class_weight
        self.costs = costs
        self.unseen = unseen
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def trace_(self) -> list[tuple[str, float]]:
        """The features taken away, in that order, and the error without each."""
        return [(removal.feature, removal.error) for removal in self._fitted().path]

    def _search(self, growth: dict[str, Any]) -> BackwardEliminationSearch:
        return BackwardEliminationSearch(**growth)


class BestSubsetSelector(SubsetSelector):
    """Find the features whose tree has the least error of all subsets, or an error within `delta` of it, and prove it.

    Subsets are as many as two to the number of features: set a `time_limit` where there are more than a few dozen. The
    search begins with :class:`BackwardEliminationSelector`'s, and gives no less than that where a limit strikes later.

    Parameters
    ----------
    required : str or sequence of str, default=()
        Features that are always selected; ``x0``, ``x1``, ... where a table has no names.
    candidates : str or sequence of str, or None, default=None
        Features that may be selected beside those; None: all others.
    delta : float, default=0.0
        By how much another subset may be better, as a share of the cases.
    feature_penalty : float, default=0.0
        What each feature that a tree uses adds to its error. A tiny one, such as 1e-9, gives the smallest of equally
        good subsets.
    error : {"search", "training", "pessimistic"}, default="search"
        What trees are judged by. "search": their errors on rows that they were not grown on. "training": those on the
        rows they were grown on. "pessimistic": C4.5's estimate from these.
    validation_fraction : float or None, default=0.3
        The share of the rows, drawn at random and stratified by class, that trees are judged by for ``error="search"``;
        not used where :meth:`fit` is given `X_val`.
    criterion, min_cases, min_branch, min_leaf, max_depth, min_gain, nominal_splits, missing, class_weight, costs
        As in :class:`BackwardEliminationSelector`.
    unseen, time_limit, memory_limit, n_jobs, random_state
        As in :class:`BackwardEliminationSelector`.

    Attributes
    ----------
    selected_features_ : ndarray of str
        The features selected, in the order of the table.
    tree_ : lattree.Tree
        The tree over them, grown without the rows that trees were judged by.
    result_ : lattree.SubsetResult
        What the search said.
    status_ : str
        "optimal", "acceptable" (no subset is better by more than `delta`), or the limit that struck.
    error_ : float
        The estimated error of the tree. The least of many, it is optimistic for new rows.
    objective_, lower_bound_, gap_ : float
        The error and the penalty of the features; what no subset undercuts; ``(objective - bound) / objective``.
    n_features_in_ : int
        How many columns there were.
    feature_names_in_ : ndarray of str
        Their names, where all were text.

    Notes
    -----
    Rows are split at random, so there is no `sample_weight`. Source: Ruggieri, *Complete search for feature selection
    in decision trees*, JMLR 2019, algorithms 3 and 4.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(as_frame=True, return_X_y=True)
    >>> selector = BestSubsetSelector(feature_penalty=1e-9, random_state=0).fit(X, y)
    >>> selector.status_, list(selector.selected_features_)
    ('optimal', ['petal width (cm)'])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SubsetSelector._parameter_constraints,
        "delta": [NOT_NEGATIVE],
        "feature_penalty": [NOT_NEGATIVE],
    }

    def __init__(
        self,
        *,
        required: str | Sequence[str] = (),
        candidates: str | Sequence[str] | None = None,
        delta: float = 0.0,
        feature_penalty: float = 0.0,
        error: str = "search",
        validation_fraction: float | None = 0.3,
        criterion: str = "information_gain",
        min_cases: int = 2,
        min_branch: int | None = None,
        min_leaf: int = 1,
        max_depth: int | None = None,
        min_gain: float = 0.0,
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
        self.required = required
        self.candidates = candidates
        self.delta = delta
        self.feature_penalty = feature_penalty
        self.error = error
        self.validation_fraction = validation_fraction
        self.criterion = criterion
        self.min_cases = min_cases
        self.min_branch = min_branch
        self.min_leaf = min_leaf
        self.max_depth = max_depth
        self.min_gain = min_gain
        self.nominal_splits = nominal_splits
        self.missing = missing
        self.class_weight = class_weight
        self.costs = costs
        self.unseen = unseen
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _search(self, growth: dict[str, Any]) -> AcceptableSubsetSearch:
        return AcceptableSubsetSearch(delta=self.delta, feature_penalty=self.feature_penalty, **growth)
