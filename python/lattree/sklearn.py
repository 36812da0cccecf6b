"""Estimators for scikit-learn: trees that pipelines, grids and ensembles take for one of their own.

They need ``pip install 'lattree[sklearn]'``. Tables are learnt from as they are: columns of a pandas or polars frame
keep their names and kinds, text and categories need no encoding, and cells may be missing. The tree itself, with all
that it says of itself, is the attribute ``tree_``.

>>> from sklearn.datasets import load_iris
>>> from lattree.sklearn import OptimalTreeClassifier
>>> X, y = load_iris(as_frame=True, return_X_y=True)
>>> model = OptimalTreeClassifier(max_depth=2).fit(X, y)
>>> model.status_, float(model.objective_), model.score(X, y)
('optimal', 6.0, 0.96)
"""

import json
import warnings
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

try:
    from joblib import effective_n_jobs
    from scipy.sparse import csr_matrix
    from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.utils import compute_sample_weight
    from sklearn.utils._param_validation import Interval, StrOptions
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, validate_data
except ImportError as error:  # pragma: no cover
    raise ImportError("lattree.sklearn needs scikit-learn 1.6 or later: pip install 'lattree[sklearn]'") from error

from lattree._core import Binarizer, Dataset, GreedyResult, GreedyTreeSearch, OptimalResult, OptimalTreeSearch, Tree
from lattree._frames import is_pandas

__all__ = ["GreedyTreeClassifier", "OptimalTreeClassifier"]

_AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")
_NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
_LIMITS: dict[str, list[Any]] = {
    "unseen": [StrOptions({"majority", "missing", "error"})],
    "time_limit": [_NOT_NEGATIVE, None],
    "memory_limit": [Interval(Integral, 0, None, closed="left"), None],
    "n_jobs": [Integral, None],
}


class _TreeEstimator(BaseEstimator):  # type: ignore[misc]
    """What all estimators of one tree have in common: tables in, and what the tree says of itself."""

    _parameter_constraints: ClassVar[dict[str, Any]]
    n_jobs: int | None
    tree_: Tree

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def _table(self, X: Any, *, reset: bool) -> Any:
        """A frame as it is, or an array that was checked."""
        if is_pandas(X, "DataFrame") or isinstance(X, pl.DataFrame):
            validate_data(self, X, reset=reset, skip_check_array=True)
            if not (len(X) and len(X.columns)):
                what = "sample" if len(X) == 0 else "feature"
                raise ValueError(f"Found array with 0 {what}(s) (shape={X.shape}) while a minimum of 1 is required.")
            return X
        if hasattr(X, "__arrow_c_stream__"):
            return self._table(pl.DataFrame(X), reset=reset)
        # Cells that are text are levels; arrays of objects else are numbers.
        dtype = None if _has_text(X) else "numeric"
        return validate_data(self, X, reset=reset, dtype=dtype, ensure_all_finite="allow-nan")

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._table(X, reset=False)

    def _threads(self) -> int:
        return int(effective_n_jobs(self.n_jobs))

    def apply(self, X: Any) -> npt.NDArray[np.int64]:
        """Return the leaf that each row ends in.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of int64, shape (n_samples,)
            Places among the nodes of the tree in preorder. Where missing values share a row out to several leaves, the
            heavier branch counts.
        """
        rows = self._rows(X)
        return self.tree_.apply(rows).astype(np.int64)

    def decision_path(self, X: Any) -> csr_matrix:
        """Return the nodes that each row comes through.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)

        Returns
        -------
        csr_matrix of shape (n_samples, n_nodes)
            1 where a row comes through a node (in preorder), else 0.
        """
        leaves = self.apply(X)
        nodes = _nodes(self.tree_)
        paths: list[list[int]] = [[] for _ in nodes]
        for index, node in enumerate(nodes):
            paths[index].append(index)
            for child in node.get("children", ()):
                paths[child].extend(paths[index])
        indices = [sorted(paths[leaf]) for leaf in leaves]
        starts = np.concatenate([[0], np.cumsum([len(path) for path in indices])])
        flat = np.array([node for path in indices for node in path], dtype=np.int64)
        return csr_matrix((np.ones(len(flat), dtype=np.int64), flat, starts), shape=(len(leaves), len(nodes)))

    def get_depth(self) -> int:
        """Return the number of tests on the longest way to a leaf."""
        check_is_fitted(self)
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """By how much each feature lowers the Gini impurity of the training cases, as a share of the whole.

        ndarray of float64, shape (n_features_in_,); all 0 where no test does.
        """
        check_is_fitted(self)
        nodes = _nodes(self.tree_)
        masses = [np.zeros(0)] * len(nodes)
        importances = np.zeros(self.n_features_in_)

        def impurity(masses: npt.NDArray[np.float64]) -> float:
            total = masses.sum()
            return float(total - (masses**2).sum() / total) if total > 0 else 0.0

        for index in reversed(range(len(nodes))):  # children come after their parents
            node = nodes[index]
            if "children" not in node:
                masses[index] = np.asarray(node["masses"], dtype=np.float64)
                continue
            children = [masses[child] for child in node["children"]]
            masses[index] = np.sum(children, axis=0)
            (test,) = node["test"].values()
            importances[test["feature"]] += impurity(masses[index]) - sum(map(impurity, children))
        importances = np.maximum(importances, 0.0)
        total = importances.sum()
        return importances / total if total > 0 else importances


class _TreeClassifier(ClassifierMixin, _TreeEstimator):  # type: ignore[misc]
    """What classifiers have in common."""

    classes_: npt.NDArray[Any]

    def _search(self) -> OptimalTreeSearch | GreedyTreeSearch:
        raise NotImplementedError

    def _weights(self, y: npt.NDArray[Any], sample_weight: npt.NDArray[Any] | None) -> npt.NDArray[Any] | None:
        """The weights of cases as the search is to see them."""
        return sample_weight

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Any:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: requires y to be passed"
            )
        table = self._table(X, reset=True)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, table, dtype=np.float64, ensure_non_negative=True)
        weights = self._weights(y, weights)
        make = Dataset.from_arrays if isinstance(table, np.ndarray) else Dataset
        data = make(table, _labels(self.classes_)[codes], weight=weights)
        result = self._search().run(data)
        self.tree_, self.result_, self.status_ = result.tree, result, result.status
        return result

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of each row.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), with the dtype of ``classes_``
        """
        rows = self._rows(X)
        predicted = self.tree_.predict(rows).to_numpy()
        known = _labels(self.classes_)
        return self.classes_[np.searchsorted(known, predicted.astype(known.dtype))]

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the share of each class in the leaf, or the leaves, that a row ends in.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        rows = self._rows(X)
        return self.tree_.predict_proba(rows)

    def predict_log_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the natural logarithm of :meth:`predict_proba`; minus infinity for 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


class OptimalTreeClassifier(_TreeClassifier):
    """The tree of fewest training errors, proved to be that, under limits of depth and size.

    Parameters
    ----------
    max_depth : int, default=4
        The most tests on the way to a leaf.
    max_nodes : int or None, default=None
        The most tests in the tree.
    min_leaf : int, default=1
        The fewest cases of a leaf.
    node_penalty : float, default=0.0
        What a test must save, in errors (or in mass, with weights), to be in the tree.
    binarizer : lattree.Binarizer or None, default=None
        Which tests are offered.
    engine : {"auto", "tests", "continuous"}, default="auto"
        How tests are searched.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, as scikit-learn's.
    unseen : {"majority", "missing", "error"}, default="majority"
        Where a row goes whose level was not there in training.
    time_limit : float or None, default=None
        Seconds, from the start of the search. Results under it are not repeatable.
    memory_limit : int or None, default=None
        Bytes; None: a quarter of what there is.
    n_jobs : int or None, default=None
        Threads; None: one, unless joblib says otherwise; -1: one per core. The tree does not depend on it.

    Attributes
    ----------
    tree_ : lattree.Tree
        The tree.
    result_ : lattree.OptimalResult
        What the search said.
    status_ : str
        "optimal", or the limit that struck.
    objective_, lower_bound_, gap_ : float
        Training errors and penalty; what no tree undercuts; (objective - bound) / objective.
    trace_ : list of (float, float, float)
        Seconds, objective and bound at each improvement.
    selected_features_ : ndarray of str
        The features that the tree asks about.
    classes_ : ndarray of shape (n_classes,)
        The labels, ascending.
    n_features_in_ : int
        How many columns there were.
    feature_names_in_ : ndarray of str
        Their names, where all were text.
    feature_importances_ : ndarray of shape (n_features_in_,)
        By how much each lowers the Gini impurity.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(as_frame=True, return_X_y=True)
    >>> OptimalTreeClassifier(max_depth=3).fit(X, y).objective_
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "max_depth": [Interval(Integral, 0, None, closed="left")],
        "max_nodes": [Interval(Integral, 0, None, closed="left"), None],
        "min_leaf": [_AT_LEAST_ONE],
        "node_penalty": [_NOT_NEGATIVE],
        "binarizer": [Binarizer, None],
        "engine": [StrOptions({"auto", "tests", "continuous"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        **_LIMITS,
    }

    def __init__(
        self,
        *,
        max_depth: int = 4,
        max_nodes: int | None = None,
        min_leaf: int = 1,
        node_penalty: float = 0.0,
        binarizer: Binarizer | None = None,
        engine: str = "auto",
        class_weight: Mapping[Any, float] | str | None = None,
        unseen: str = "majority",
        time_limit: float | None = None,
        memory_limit: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.max_depth = max_depth
        self.max_nodes = max_nodes
        self.min_leaf = min_leaf
        self.node_penalty = node_penalty
        self.binarizer = binarizer
        self.engine = engine
        self.class_weight = class_weight
        self.unseen = unseen
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs

    def _search(self) -> OptimalTreeSearch:
        return OptimalTreeSearch(
            max_depth=self.max_depth,
            max_nodes=self.max_nodes,
            min_leaf=self.min_leaf,
            node_penalty=self.node_penalty,
            binarizer=self.binarizer,
            engine=self.engine,  # type: ignore[arg-type]
            unseen=self.unseen,  # type: ignore[arg-type]
            time_limit=self.time_limit,
            memory_limit=self.memory_limit,
            threads=self._threads(),
        )

    def _weights(self, y: npt.NDArray[Any], sample_weight: npt.NDArray[Any] | None) -> npt.NDArray[Any] | None:
        if self.class_weight is None:
            return sample_weight
        of_classes: npt.NDArray[Any] = compute_sample_weight(self.class_weight, y)
        return of_classes if sample_weight is None else of_classes * sample_weight

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "OptimalTreeClassifier":
        """Search for the best tree.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array-like of shape (n_samples, n_features)
            Numbers, text, categories, dates, booleans; NaN and None are missing values.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,) or None
            Not negative; 0 leaves a row out.

        Returns
        -------
        OptimalTreeClassifier
            The estimator itself.

        Warns
        -----
        ConvergenceWarning
            A limit struck before the proof was done; the warning says how far the tree may be from the best.
        """
        result: OptimalResult = self._fit(X, y, sample_weight)
        self.objective_, self.lower_bound_, self.gap_ = result.objective, result.lower_bound, result.gap
        self.trace_ = result.trace
        self.selected_features_ = np.array(result.tree.features, dtype=object)
        if result.status != "optimal":
            warnings.warn(
                f"the search ended with {result.status} at an objective of {result.objective:g}; no tree is below "
                f"{result.lower_bound:g} (a gap of {result.gap:.1%})",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self


class GreedyTreeClassifier(_TreeClassifier):
    """A tree grown split by split, as C4.5 and CART do.

    Parameters
    ----------
    criterion : {"information_gain", "gain_ratio", "gini", "error"}, default="information_gain"
        What splits are judged by.
    min_cases : int, default=2
        The fewest cases of a node that is split.
    min_branch : int or None, default=None
        The fewest cases of two branches at least.
    min_leaf : int, default=1
        The fewest cases of each branch.
    max_depth : int or None, default=None
        The most tests on the way to a leaf.
    min_gain : float, default=0.0
        The least gain per unit of mass.
    max_leaves : int or None, default=None
        Splits of the greatest total gain come first, until there are so many leaves.
    nominal_splits : {"multiway", "one_vs_rest", "subsets"}, default="multiway"
        How columns of levels are split.
    missing : {"fractional", "drop", "mean", "class_mean", "level"}, default="fractional"
        What becomes of missing values.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes.
    costs : array-like of shape (n_classes, n_classes) or None, default=None
        What it costs to take a class (row) for another (column).
    unseen : {"majority", "missing", "error"}, default="majority"
        Where a row goes whose level was not there in training.
    time_limit : float or None, default=None
        Seconds, from the start of growth. Results under it are not repeatable.
    memory_limit : int or None, default=None
        Bytes; None: a quarter of what there is.
    n_jobs : int or None, default=None
        Threads; None: one, unless joblib says otherwise; -1: one per core. The tree does not depend on it.

    Attributes
    ----------
    tree_ : lattree.Tree
        The tree.
    result_ : lattree.GreedyResult
        What the search said.
    status_ : str
        "complete", or the limit that struck.
    selected_features_ : ndarray of str
        The features that the tree asks about.
    classes_ : ndarray of shape (n_classes,)
        The labels, ascending.
    n_features_in_ : int
        How many columns there were.
    feature_names_in_ : ndarray of str
        Their names, where all were text.
    feature_importances_ : ndarray of shape (n_features_in_,)
        By how much each lowers the Gini impurity.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(as_frame=True, return_X_y=True)
    >>> GreedyTreeClassifier(max_depth=2).fit(X, y).score(X, y)
    0.96
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "criterion": [StrOptions({"information_gain", "gain_ratio", "gini", "error"})],
        "min_cases": [_AT_LEAST_ONE],
        "min_branch": [_AT_LEAST_ONE, None],
        "min_leaf": [_AT_LEAST_ONE],
        "max_depth": [Interval(Integral, 0, None, closed="left"), None],
        "min_gain": [_NOT_NEGATIVE],
        "max_leaves": [_AT_LEAST_ONE, None],
        "nominal_splits": [StrOptions({"multiway", "one_vs_rest", "subsets"})],
        "missing": [StrOptions({"fractional", "drop", "mean", "class_mean", "level"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "costs": ["array-like", None],
        **_LIMITS,
    }

    def __init__(
        self,
        *,
        criterion: str = "information_gain",
        min_cases: int = 2,
        min_branch: int | None = None,
        min_leaf: int = 1,
        max_depth: int | None = None,
        min_gain: float = 0.0,
        max_leaves: int | None = None,
        nominal_splits: str = "multiway",
        missing: str = "fractional",
        class_weight: Mapping[Any, float] | str | None = None,
        costs: npt.ArrayLike | None = None,
        unseen: str = "majority",
        time_limit: float | None = None,
        memory_limit: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.min_cases = min_cases
        self.min_branch = min_branch
        self.min_leaf = min_leaf
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

    def _search(self) -> GreedyTreeSearch:
        return GreedyTreeSearch(
            criterion=self.criterion,  # type: ignore[arg-type]
            min_cases=self.min_cases,
            min_branch=self.min_branch,
            min_leaf=self.min_leaf,
            max_depth=self.max_depth,
            min_gain=self.min_gain,
            max_leaves=self.max_leaves,
            nominal_splits=self.nominal_splits,  # type: ignore[arg-type]
            missing=self.missing,  # type: ignore[arg-type]
            class_weight=self._class_weight(),  # type: ignore[arg-type]
            costs=self.costs,
            unseen=self.unseen,  # type: ignore[arg-type]
            time_limit=self.time_limit,
            memory_limit=self.memory_limit,
            threads=self._threads(),
        )

    def _class_weight(self) -> Mapping[Any, float] | str | None:
        """As the search takes it; classes that are not named weigh one."""
        if not isinstance(self.class_weight, Mapping):
            return self.class_weight
        known = _labels(self.classes_).tolist()
        return {label: self.class_weight.get(given, 1.0) for label, given in zip(known, self.classes_, strict=True)}

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "GreedyTreeClassifier":
        """Grow the tree.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array-like of shape (n_samples, n_features)
            Numbers, text, categories, dates, booleans; NaN and None are missing values.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,) or None
            Not negative; 0 leaves a row out.

        Returns
        -------
        GreedyTreeClassifier
            The estimator itself.

        Warns
        -----
        ConvergenceWarning
            A limit struck before the tree was grown to its end.
        """
        result: GreedyResult = self._fit(X, y, sample_weight)
        self.selected_features_ = np.array(result.tree.features, dtype=object)
        if result.status != "complete":
            warnings.warn(f"growth ended with {result.status}", ConvergenceWarning, stacklevel=3)
        return self


def _has_text(X: Any) -> bool:
    """Whether an array of objects, or lists of cells, have a cell that is text and no number."""
    array = X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object) if isinstance(X, (list, tuple)) else None
    if array is None or array.ndim != 2 or array.dtype.kind not in "OUS":
        return False
    return array.dtype.kind in "US" or any(isinstance(cell, str) for cell in array.flat)


def _labels(classes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Classes as labels that a data set takes: text, whole numbers or booleans."""
    if classes.dtype.kind in "OU":
        return np.array([str(label) for label in classes], dtype=object if len(classes) == 0 else None)
    if classes.dtype.kind == "f":
        return classes.astype(np.int64)
    return classes


def _nodes(tree: Tree) -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = json.loads(tree.to_json())["nodes"]
    return nodes
